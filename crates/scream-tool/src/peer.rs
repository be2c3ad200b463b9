//! Whom the receiver answers. It is no reflector: reports go to one address, the session's, and all
//! of them together are never larger than what came from there. NATs may move a sender to another
//! address: that one proves itself with several packets that go on where the old one fell silent.
//! Another sender gets a challenge now and then, in fewer bytes than it sent; who gives it back has
//! the address that it writes into its packets, and need not wait as long for a sender that is gone.

use std::hash::{BuildHasher as _, RandomState};
use std::net::{IpAddr, SocketAddr};

use sojourn_core::{Dur, Time};

use super::gaps::Allowance;

/// Packets in sequence that an address proves itself with.
const PROOF: u32 = 5;
/// Silence of the old address after which a new one may continue the session.
const SILENCE: Dur = Dur::from_millis(200);
/// A new session may begin then,
const END: Dur = Dur::from_secs(2);
/// of a sender that answered its challenge,
const END_IF_ANSWERED: Dur = Dur::from_millis(300);
/// and after a sender that announced its end. Its last packets may still come, and who only pretended
/// to be it is proven wrong by the next one.
const END_IF_TOLD: Dur = Dur::from_millis(100);
/// How far behind the newest a packet may be to count as one of the last of a sender that ended.
const STRAGGLERS: u16 = 512;
/// Least time between two notices to an address that the receiver is busy.
const BUSY_INTERVAL: Dur = Dur::from_millis(500);
/// Sequence numbers that may lie between the session's last packet and the first from elsewhere.
const LEAP: u16 = 4096;
/// And between two packets of one proof, which may lose some.
const STEP: u16 = 64;
/// Addresses that are watched beside the session's: enough to find the sender in a flood of others.
const CANDIDATES: usize = 256;
/// IP and UDP headers, in both directions.
const HEADERS: u64 = 28;
/// Greatest credit: what a few late reports need.
const CREDIT: u64 = 64 * 1024;

/// What a packet's source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The session's.
    Peer,
    /// The first of a session, which begins.
    Learned,
    /// Proven by this packet: the session goes on from here.
    Moved,
    /// Proven by this packet: another session begins here.
    Next,
    /// None of these: to be left without an answer.
    Unknown,
}

/// What is known of sources.
#[derive(Debug)]
pub(super) struct Peer {
    /// The only sender that there may be.
    named: Option<IpAddr>,
    session: Option<Session>,
    candidates: Vec<Candidate>,
    unknown: u64,
    credit: u64,
    /// Answers to others, all together.
    busy: Allowance,
    secret: RandomState,
}

#[derive(Clone, Copy, Debug)]
struct Session {
    addr: SocketAddr,
    ssrc: u32,
    highest: u16,
    packets: u32,
    last: Time,
    /// It announced its end.
    ended: bool,
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    addr: SocketAddr,
    ssrc: u32,
    highest: u16,
    proof: u32,
    last: Time,
    /// Its first packet fits behind the session's last.
    continues: bool,
    /// When it was informed that the receiver is busy.
    notified: Option<Time>,
    /// It gave the challenge back.
    answered: bool,
}

impl Peer {
    pub(super) fn new(named: Option<IpAddr>) -> Self {
        let candidates = Vec::with_capacity(CANDIDATES);
        Self {
            named,
            session: None,
            candidates,
            unknown: 0,
            credit: 0,
            busy: Allowance::default(),
            secret: RandomState::new(),
        }
    }

    /// Judges the source of a media packet.
    pub(super) fn judge(&mut self, now: Time, from: SocketAddr, ssrc: u32, seq: u16) -> Source {
        if self.named.is_some_and(|named| named != from.ip()) {
            self.unknown += 1;
            return Source::Unknown;
        }
        let fresh = Session { addr: from, ssrc, highest: seq, packets: 1, last: now, ended: false };
        let Some(session) = &mut self.session else {
            self.session = Some(fresh);
            return Source::Learned;
        };
        let silence = now.since(session.last);
        let is_over = session.ended && silence >= END_IF_TOLD;
        if session.addr == from && session.ssrc == ssrc && !is_over {
            let behind = session.highest.wrapping_sub(seq);
            if session.ended && behind < STRAGGLERS {
                return Source::Peer;
            }
            if (STRAGGLERS..1 << 15).contains(&behind) {
                return self.goes_back(now, fresh, silence);
            }
            session.ended = false;
            session.last = session.last.max(now);
            session.packets = session.packets.saturating_add(1);
            if seq.wrapping_sub(session.highest) < 1 << 15 {
                session.highest = seq;
            }
            return Source::Peer;
        }
        if session.addr == from && is_over {
            // The same program's next run, or another one's on the same port.
            self.begin(fresh);
            return Source::Next;
        }
        let session = *session;
        let candidate = self.watch(now, &session, from, ssrc, seq);
        let may_follow = session.packets < PROOF
            || silence >= END
            || is_over
            || (candidate.answered && silence >= END_IF_ANSWERED);
        let may_go_on = candidate.continues && silence >= SILENCE;
        if candidate.proof < PROOF || !(may_follow || may_go_on) {
            self.unknown += 1;
            return Source::Unknown;
        }
        self.begin(Session { packets: PROOF, ..fresh });
        if candidate.continues && !session.ended { Source::Moved } else { Source::Next }
    }

    /// The session's address sends numbers of long ago: old packets, or a new run after a crash.
    fn goes_back(&mut self, now: Time, fresh: Session, silence: Dur) -> Source {
        let Some(session) = self.session else { return Source::Unknown };
        let candidate = self.watch(now, &session, fresh.addr, fresh.ssrc, fresh.highest);
        if candidate.proof < PROOF || silence < END_IF_TOLD {
            return Source::Peer;
        }
        self.begin(Session { packets: PROOF, ..fresh });
        Source::Next
    }

    fn begin(&mut self, session: Session) {
        self.session = Some(session);
        self.candidates.clear();
        self.credit = 0;
    }

    /// The session's sender says that it ends.
    pub(super) fn ends(&mut self, from: SocketAddr) {
        if let Some(session) = self.session.as_mut().filter(|s| s.addr == from) {
            session.ended = true;
        }
    }

    /// Whether `from`, whose packet was not the session's, hears that the receiver is busy; the
    /// challenge for it.
    pub(super) fn challenge(&mut self, now: Time, from: SocketAddr) -> Option<u32> {
        if !self.is_proven() || self.is_leaving() {
            return None;
        }
        let known = self.candidates.iter_mut().find(|c| c.addr == from)?;
        if known.notified.is_some_and(|notified| now.since(notified) < BUSY_INTERVAL)
            || !self.busy.take(now)
        {
            return None;
        }
        known.notified = Some(now);
        Some(self.expected(from))
    }

    /// Whether the session's sender announced its end.
    pub(super) fn is_leaving(&self) -> bool {
        self.session.is_some_and(|s| s.ended)
    }

    /// Somebody gives a challenge back.
    pub(super) fn answers(&mut self, from: SocketAddr, challenge: u32) {
        if challenge == self.expected(from) {
            let all = self.candidates.iter_mut().filter(|c| c.addr == from);
            all.for_each(|c| c.answered = true);
        }
    }

    fn expected(&self, addr: SocketAddr) -> u32 {
        self.secret.hash_one(addr) as u32
    }

    /// Counts a packet for the proof of another address.
    fn watch(
        &mut self,
        now: Time,
        session: &Session,
        addr: SocketAddr,
        ssrc: u32,
        seq: u16,
    ) -> Candidate {
        let mut all = self.candidates.iter_mut();
        if let Some(known) = all.find(|c| c.addr == addr && c.ssrc == ssrc) {
            let step = seq.wrapping_sub(known.highest);
            known.proof = if (1..=STEP).contains(&step) { known.proof + 1 } else { 1 };
            (known.highest, known.last) = (seq, now);
            return *known;
        }
        let leap = seq.wrapping_sub(session.highest);
        let continues = ssrc == session.ssrc && (1..=LEAP).contains(&leap);
        let fresh = Candidate {
            addr,
            ssrc,
            highest: seq,
            proof: 1,
            last: now,
            continues,
            notified: None,
            answered: false,
        };
        if self.candidates.len() < CANDIDATES {
            self.candidates.push(fresh);
        } else {
            // Many invented addresses have proven little, and the oldest of these go.
            let least = self.candidates.iter_mut().min_by_key(|c| (c.proof, c.last));
            *least.expect("it is full") = fresh;
        }
        fresh
    }

    /// Where reports go.
    pub(super) fn addr(&self) -> Option<SocketAddr> {
        self.session.map(|s| s.addr)
    }

    /// Whether bytes from `from` are the session's.
    pub(super) fn is(&self, from: SocketAddr) -> bool {
        self.addr() == Some(from)
    }

    /// Whether the session has sent enough to be kept alive.
    pub(super) fn is_proven(&self) -> bool {
        self.session.is_some_and(|s| s.packets >= PROOF)
    }

    /// When the session's last packet came.
    pub(super) fn last(&self) -> Option<Time> {
        self.session.map(|s| s.last)
    }

    /// Packets of unknown sources.
    pub(super) fn unknown(&self) -> u64 {
        self.unknown
    }

    /// A datagram of the session came.
    pub(super) fn earn(&mut self, bytes: usize) {
        self.credit = (self.credit + bytes as u64 + HEADERS).min(CREDIT);
    }

    /// Whether a report of at most `bytes` may be sent.
    pub(super) fn can_pay(&self, bytes: usize) -> bool {
        self.credit >= bytes as u64 + HEADERS
    }

    /// A report was sent.
    pub(super) fn pay(&mut self, bytes: usize) {
        self.credit = self.credit.saturating_sub(bytes as u64 + HEADERS);
    }
}

#[cfg(test)]
mod tests;
