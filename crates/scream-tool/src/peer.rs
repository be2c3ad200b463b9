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
/// and after a sender that said that it ends. Its last packets may still come, and who only pretended
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
    /// It said that it ends.
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
    told: Option<Time>,
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
        if known.told.is_some_and(|told| now.since(told) < BUSY_INTERVAL) || !self.busy.take(now) {
            return None;
        }
        known.told = Some(now);
        Some(self.expected(from))
    }

    /// Whether the session's sender said that it ends.
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
            told: None,
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
mod tests {
    use super::*;

    fn addr(n: u8) -> SocketAddr {
        ([10, 0, 0, n], 5000).into()
    }

    fn ms(n: u64) -> Time {
        Time(n * 1_000_000)
    }

    /// A session of address 1 whose last packet is number 99 at 99 ms.
    fn session() -> Peer {
        let mut peer = Peer::new(None);
        for n in 0..100 {
            let expected = if n == 0 { Source::Learned } else { Source::Peer };
            assert_eq!(peer.judge(ms(n), addr(1), 100, n as u16), expected);
        }
        peer
    }

    #[test]
    fn a_live_session_cannot_be_taken_over() {
        let mut peer = session();
        for n in 100..1000 {
            // Both send, the other with the very numbers that come next.
            assert_eq!(peer.judge(ms(n), addr(2), 100, n as u16), Source::Unknown);
            assert_eq!(peer.judge(ms(n), addr(1), 100, n as u16), Source::Peer);
        }
        assert_eq!((peer.addr(), peer.unknown()), (Some(addr(1)), 900));
    }

    #[test]
    fn a_sender_that_moved_goes_on_after_five_packets_and_a_silence() {
        let mut peer = session();
        let took = (100..1000).find(|n| {
            let source = peer.judge(ms(*n), addr(2), 100, *n as u16);
            assert!([Source::Unknown, Source::Moved].contains(&source));
            source == Source::Moved
        });
        assert_eq!(took, Some(99 + 200), "200 ms after the old address's last packet");
        assert!(peer.is(addr(2)) && !peer.is(addr(1)));
    }

    #[test]
    fn a_source_that_does_not_know_the_numbers_has_to_wait_for_the_end() {
        for (ssrc, first) in [(100, 30_000_u16), (100, 50), (7, 100)] {
            let mut peer = session();
            let took = (1..400_u16).find(|n| {
                let now = ms(99 + 10 * u64::from(*n));
                peer.judge(now, addr(2), ssrc, first.wrapping_add(*n)) == Source::Next
            });
            assert_eq!(took, Some(200), "2 s of silence: SSRC {ssrc}, from {first}");
        }
    }

    #[test]
    fn packets_out_of_sequence_prove_nothing() {
        let mut peer = session();
        for n in 0..100_u16 {
            let source = peer.judge(ms(5000 + u64::from(n)), addr(2), 100, n.wrapping_mul(997));
            assert_eq!(source, Source::Unknown);
        }
    }

    #[test]
    fn a_flood_of_invented_sources_neither_wins_nor_keeps_the_sender_out() {
        let mut peer = session();
        let mut took = false;
        for n in 0..100_u16 {
            let now = ms(5000 + u64::from(n));
            for flood in 0..50 {
                let from = SocketAddr::from(([192, 0, 2, flood], 1000 + n));
                assert_eq!(peer.judge(now, from, 100, 100 + n), Source::Unknown);
            }
            took |= peer.judge(now, addr(2), 100, 100 + n) == Source::Moved;
            if took {
                break;
            }
        }
        assert!(took);
    }

    #[test]
    fn one_packet_from_elsewhere_at_the_start_does_not_lock_the_sender_out() {
        let mut peer = Peer::new(None);
        assert_eq!(peer.judge(ms(0), addr(66), 1, 1), Source::Learned);
        let took = (0..10).find(|n| peer.judge(ms(*n), addr(1), 100, *n as u16) == Source::Next);
        assert_eq!(took, Some(4));
    }

    #[test]
    fn a_named_sender_is_the_only_one_but_may_use_any_port() {
        let mut peer = Peer::new(Some(addr(1).ip()));
        assert_eq!(peer.judge(ms(0), addr(2), 100, 0), Source::Unknown);
        let natted = SocketAddr::new(addr(1).ip(), 61_234);
        assert_eq!(peer.judge(ms(1), natted, 100, 0), Source::Learned);
        assert_eq!(peer.addr(), Some(natted));
    }

    /// When address 2, which sends from 99 ms on every 10 ms, has the session; ms.
    fn follows(mut peer: Peer, mut on: impl FnMut(&mut Peer, Time)) -> u64 {
        let mut times = (99..4000).step_by(10);
        let taken = times.find(|n| {
            on(&mut peer, ms(*n));
            peer.judge(ms(*n), addr(2), 100, (n / 10) as u16 + 40_000) == Source::Next
        });
        taken.expect("a session") - 99
    }

    #[test]
    fn a_sender_that_said_that_it_ends_is_followed_at_once() {
        let mut peer = session();
        peer.ends(addr(1));
        assert_eq!(follows(peer, |_, _| ()), 100);
        // What a stranger says of it does not count.
        let mut peer = session();
        peer.ends(addr(2));
        assert_eq!(follows(peer, |_, _| ()), 2000);
    }

    #[test]
    fn the_same_port_begins_anew_after_the_end_and_stragglers_do_not() {
        let mut peer = session();
        peer.ends(addr(1));
        assert_eq!(peer.judge(ms(120), addr(1), 100, 98), Source::Peer);
        assert_eq!(peer.judge(ms(199), addr(1), 100, 0), Source::Next);
        assert_eq!(peer.judge(ms(200), addr(1), 100, 1), Source::Peer);
    }

    #[test]
    fn a_run_after_a_crash_on_the_same_port_is_another_session() {
        let mut peer = session();
        assert_eq!(peer.judge(ms(100), addr(1), 100, 9000), Source::Peer);
        let next = (0..100).find(|n| {
            let source = peer.judge(ms(150 + 10 * n), addr(1), 100, *n as u16);
            assert!([Source::Peer, Source::Next].contains(&source));
            source == Source::Next
        });
        assert_eq!(next, Some(5), "100 ms after the last packet of the run before");
        // Old packets beside new ones are none.
        for n in 0..1000 {
            assert_eq!(peer.judge(ms(300 + n), addr(1), 100, 5000 + n as u16), Source::Peer);
            assert_eq!(peer.judge(ms(300 + n), addr(1), 100, n as u16), Source::Peer);
        }
    }

    #[test]
    fn a_forged_end_does_not_give_a_live_session_away() {
        let mut peer = session();
        for n in 100..1000 {
            peer.ends(addr(1));
            for burst in 0..10 {
                let seq = (n * 10 + burst) as u16;
                assert_eq!(peer.judge(ms(n), addr(2), 100, seq), Source::Unknown);
            }
            assert_eq!(peer.judge(ms(n), addr(1), 100, n as u16), Source::Peer);
        }
    }

    #[test]
    fn who_answers_the_challenge_waits_for_300_ms() {
        let answer = |peer: &mut Peer, now| {
            if let Some(challenge) = peer.challenge(now, addr(2)) {
                peer.answers(addr(2), challenge);
            }
        };
        assert_eq!(follows(session(), answer), 300);
        // From another address, or with another number, it is no answer.
        let wrong = |peer: &mut Peer, now| {
            if let Some(challenge) = peer.challenge(now, addr(2)) {
                peer.answers(addr(3), challenge);
                peer.answers(addr(2), challenge ^ 1);
            }
        };
        assert_eq!(follows(session(), wrong), 2000);
    }

    #[test]
    fn challenges_are_few_however_many_addresses_send() {
        let mut peer = session();
        let mut told = 0;
        for n in 0..10_000_u16 {
            let now = ms(100 + u64::from(n) / 10);
            let from = SocketAddr::from(([192, 0, 2, n as u8], n));
            assert_eq!(peer.judge(now, addr(1), 100, 100 + n), Source::Peer);
            assert_eq!(peer.judge(now, from, 100, n), Source::Unknown);
            told += u32::from(peer.challenge(now, from).is_some());
        }
        assert!(told <= 120, "{told} in a second: a burst of 100, then 10 a second");
    }

    #[test]
    fn reports_are_never_larger_than_what_came() {
        let mut peer = session();
        assert!(!peer.can_pay(0), "nothing came yet");
        let (mut earned, mut paid) = (0, 0);
        for n in 0..10_000 {
            peer.earn(40);
            earned += 40 + 28;
            if peer.can_pay(964) {
                peer.pay(148 + n % 800);
                paid += 148 + n % 800 + 28;
            }
            assert!(paid <= earned);
        }
        assert!(paid > earned * 9 / 10, "and what came is enough for them: {paid} of {earned}");
    }
}
