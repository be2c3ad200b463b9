//! Whom the receiver answers. It is no reflector: reports go to one address, the session's, and all
//! of them together are never larger than what came from there. NATs may move a sender to another
//! address: that one proves itself with several packets that go on where the old one fell silent.

use std::net::{IpAddr, SocketAddr};

use sojourn_core::{Dur, Time};

/// Packets in sequence that an address proves itself with.
const PROOF: u32 = 5;
/// A new address may go on with the session when the old one has been silent for so long.
const SILENCE: Dur = Dur::from_millis(200);
/// A new session may begin then.
const END: Dur = Dur::from_secs(2);
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
}

#[derive(Clone, Copy, Debug)]
struct Session {
    addr: SocketAddr,
    ssrc: u32,
    highest: u16,
    packets: u32,
    last: Time,
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
}

impl Peer {
    pub(super) fn new(named: Option<IpAddr>) -> Self {
        let candidates = Vec::with_capacity(CANDIDATES);
        Self { named, session: None, candidates, unknown: 0, credit: 0 }
    }

    /// Judges the source of a media packet.
    pub(super) fn judge(&mut self, now: Time, from: SocketAddr, ssrc: u32, seq: u16) -> Source {
        if self.named.is_some_and(|named| named != from.ip()) {
            self.unknown += 1;
            return Source::Unknown;
        }
        let fresh = Session { addr: from, ssrc, highest: seq, packets: 1, last: now };
        let Some(session) = &mut self.session else {
            self.session = Some(fresh);
            return Source::Learned;
        };
        if session.addr == from && session.ssrc == ssrc {
            session.last = session.last.max(now);
            session.packets = session.packets.saturating_add(1);
            if seq.wrapping_sub(session.highest) < 1 << 15 {
                session.highest = seq;
            }
            return Source::Peer;
        }
        let session = *session;
        let candidate = self.watch(now, &session, from, ssrc, seq);
        let silence = now.since(session.last);
        let may_follow = session.packets < PROOF || silence >= END;
        let may_go_on = candidate.continues && silence >= SILENCE;
        if candidate.proof < PROOF || !(may_follow || may_go_on) {
            self.unknown += 1;
            return Source::Unknown;
        }
        self.session = Some(Session { packets: PROOF, ..fresh });
        self.candidates.clear();
        self.credit = 0;
        if candidate.continues { Source::Moved } else { Source::Next }
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
        let fresh = Candidate { addr, ssrc, highest: seq, proof: 1, last: now, continues };
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
