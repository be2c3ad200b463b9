use sojourn_core::Ecn;

use super::{MOST, Round, Rounds};
use crate::events::Again;
use crate::facts::{Ack, Data, Facts};

const MSS: u32 = 1000;
const MS: u64 = 1_000_000;

fn facts(at: u64, timestamps: Option<(u32, u32)>) -> Facts {
    let ecn = Ecn::Ect0;
    Facts { at, forward: true, ecn, flags: 0, window: 1 << 20, timestamps, data: None, ack: None }
}

/// A path of which the capture point is some way from the sender: each round the sender sends a window.
struct Path {
    /// Full round trip.
    rtt: u64,
    /// From the capture point to the receiver and back.
    ahead: u64,
    stamps: bool,
}

impl Path {
    /// Rounds of windows of this number of packets, the first of which is CE-marked in each round given.
    fn rounds(&self, windows: &[u32], marked: &[usize]) -> Vec<Round> {
        let mut rounds = Rounds::default();
        let mut events = Vec::new();
        let mut seq = 1;
        for (n, &packets) in windows.iter().enumerate() {
            let start = MS * 100 + self.rtt * n as u64;
            for packet in 0..packets {
                let at = start + u64::from(packet) * 1000;
                // The receiver's clock ticks in ms and is 7 ms ahead.
                let value = |at: u64| (at / MS) as u32 + 7;
                let echo = value(at.saturating_sub(self.rtt - self.ahead));
                let mut sent = facts(at, self.stamps.then_some((0, echo)));
                sent.data = Some(Data { seq, len: MSS, again: Again::New, in_flight: 0 });
                if packet == 0 && marked.contains(&n) {
                    sent.ecn = Ecn::Ce;
                }
                seq += i64::from(MSS);
                let back = at + self.ahead;
                let mut answer = facts(back, self.stamps.then_some((value(back), 0)));
                answer.ack = Some(Ack {
                    ack: seq,
                    high: seq,
                    acked: u64::from(MSS),
                    segments: 1,
                    rtt: Some(self.ahead),
                    ..Ack::default()
                });
                events.extend([sent, answer]);
            }
        }
        events.sort_by_key(|facts| facts.at);
        for facts in &events {
            rounds.data(facts, Some(self.rtt));
            rounds.ack(facts);
        }
        rounds.finish().0
    }
}

#[test]
fn a_round_is_a_round_trip_wherever_the_capture_was_made() {
    for ahead in [1, 10 * MS, 40 * MS - 2] {
        for stamps in [true, false] {
            let path = Path { rtt: 40 * MS, ahead, stamps };
            let found = path.rounds(&[10, 11, 12, 13, 14, 15], &[]);
            assert_eq!(found.len(), 5, "{ahead} {stamps}");
            for (round, packets) in found.iter().zip(10..) {
                assert_eq!((round.packets, round.duration), (packets, 40 * MS), "{ahead} {stamps}");
                assert_eq!(round.bytes, u64::from(packets * MSS));
            }
        }
    }
}

#[test]
fn marks_count_in_the_round_in_which_they_passed() {
    let found = Path { rtt: 20 * MS, ahead: 5 * MS, stamps: true }.rounds(&[10; 6], &[1, 3]);
    let marks: Vec<u32> = found.iter().map(|round| round.ce_seen).collect();
    assert_eq!(marks, [0, 1, 0, 1, 0]);
    assert!((found[1].ce_fraction() - 0.1).abs() < 1e-9);
}

#[test]
fn a_round_after_silence_is_idle_but_not_one_after_a_timeout() {
    for (again, is_idle) in [(Again::New, true), (Again::Rto, false)] {
        let mut rounds = Rounds::default();
        for (n, at) in [100, 120, 140, 400].into_iter().enumerate() {
            let mut sent = facts(at * MS, None);
            let seq = 1 + n as i64 * i64::from(MSS);
            let again = if n == 3 { again } else { Again::New };
            sent.data = Some(Data { seq, len: MSS, again, in_flight: u64::from(MSS) });
            rounds.data(&sent, Some(20 * MS));
            let mut answer = facts(at * MS + 19 * MS, None);
            let ack = seq + i64::from(MSS);
            answer.ack = Some(Ack { ack, high: ack, segments: 1, ..Ack::default() });
            rounds.ack(&answer);
        }
        let found: Vec<bool> = rounds.finish().0.iter().map(|round| round.is_idle).collect();
        assert_eq!(found, [false, false, is_idle]);
    }
}

#[test]
fn memory_has_a_bound() {
    let path = Path { rtt: MS, ahead: 1, stamps: false };
    let found = path.rounds(&vec![1; MOST + 100], &[]);
    assert_eq!(found.len(), MOST);
}

#[test]
fn durations_at_signals_are_those_around_the_beginning_of_each_but_the_first() {
    let rounds = |lost: &[usize]| {
        (0..20)
            .map(|at| Round {
                duration: (20 + at as u64) * MS,
                lost: u32::from(lost.contains(&at)),
                ..Round::default()
            })
            .collect::<Vec<_>>()
    };
    let (all, at_signals) = super::durations(&rounds(&[4, 10, 11, 12]));
    assert_eq!(all.map(|of| (of.n, of.min, of.max)), Some((20, 20.0, 39.0)));
    assert_eq!(at_signals.map(|of| (of.n, of.max)), Some((1, 31.0)));
    let (_, at_signals) = super::durations(&rounds(&[19]));
    assert_eq!(at_signals.map(|of| (of.n, of.max)), Some((1, 39.0)));
    assert_eq!(super::durations(&rounds(&[])).1, None);
    assert_eq!(super::durations(&[]), (None, None));
}
