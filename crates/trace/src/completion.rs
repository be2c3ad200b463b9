//! Completion times of transfers, and what they could have been.

use serde::Serialize;
use sojourn_core::{Dur, Rate};

use crate::metrics::Statistics;

/// Transfers or responses that completed within the window.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Completions {
    /// From the SYN (or the request) to the acknowledgement (or arrival) of the last byte, ms.
    pub fct_ms: Statistics,
    /// Sizes, bytes.
    pub size_bytes: Statistics,
    /// Completion time over [`ideal`].
    pub slowdown: Statistics,
}

impl Completions {
    /// Statistics of `(ms, bytes)`; `rate` bounds the path, `rtt` is that of the empty path.
    pub fn of(done: &[(f64, f64)], rate: Option<Rate>, rtt: Dur) -> Option<Self> {
        let slowdown = |(ms, bytes): &(f64, f64)| ms / ideal(*bytes, rate, rtt).as_millis_f64();
        Some(Self {
            fct_ms: Statistics::of(done.iter().map(|d| d.0))?,
            size_bytes: Statistics::of(done.iter().map(|d| d.1))?,
            slowdown: Statistics::of(done.iter().map(slowdown))?,
        })
    }
}

/// What slowdown compares with: all bytes at the rate of the path, and one round trip. No protocol
/// with a handshake reaches it.
pub fn ideal(bytes: f64, rate: Option<Rate>, rtt: Dur) -> Dur {
    let serialisation = rate.map_or(0.0, |rate| bytes * 8e9 / rate.0 as f64);
    rtt + Dur(serialisation as u64)
}

/// Round trips that a TCP transfer of `segments` takes on a path without bottleneck: the handshake,
/// and slow start from `initial` segments that doubles every round.
pub fn slow_start_rounds(segments: u64, initial: u64) -> u64 {
    let (mut rounds, mut sent, mut window) = (1, 0, initial);
    while sent < segments {
        rounds += 1;
        sent += window;
        window *= 2;
    }
    rounds
}

/// Packets of `size` bytes that fill a path: rate times RTT.
pub fn bdp_packets(rate: Rate, rtt: Dur, size: u32) -> f64 {
    rate.0 as f64 * rtt.as_secs_f64() / 8.0 / f64::from(size)
}

/// Share of a frame that is payload, and so of a link's rate that can be goodput.
pub fn goodput_factor(mss: u32, frame: u32) -> f64 {
    f64::from(mss) / f64::from(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    // KAT completion 1
    #[test]
    fn a_transfer_of_150_segments_takes_five_round_trips() {
        assert_eq!(slow_start_rounds(150, 10), 5);
    }

    // KAT completion 2
    #[test]
    fn rounds_double_from_the_initial_window_as_the_closed_form_says() {
        assert_eq!([10, 11, 150, 310].map(|n| slow_start_rounds(n, 10)), [2, 3, 5, 6]);
        for n in 1..5000_u64 {
            let closed = 1.0 + (n as f64 / 10.0 + 1.0).log2().ceil();
            assert_eq!(slow_start_rounds(n, 10) as f64, closed, "{n} segments");
        }
    }

    // KAT path 1
    #[test]
    fn fifty_megabits_over_eighty_milliseconds_hold_333_packets() {
        let packets = bdp_packets(Rate(50_000_000), Dur::from_millis(80), 1500);
        assert_eq!(packets as u64, 333);
    }

    // KAT path 2
    #[test]
    fn goodput_is_at_most_0_956_of_the_rate() {
        assert!((goodput_factor(1448, 1514) - 0.956).abs() < 0.001);
    }

    #[test]
    fn slowdown_is_measured_against_serialisation_and_one_round_trip() {
        let rate = Some(Rate(8_000_000));
        assert_eq!(ideal(10_000.0, rate, Dur::from_millis(20)), Dur::from_millis(30));
        let done = [(60.0, 10_000.0), (30.0, 10_000.0)];
        let c = Completions::of(&done, rate, Dur::from_millis(20)).expect("two transfers");
        assert_eq!((c.slowdown.max, c.slowdown.mean, c.fct_ms.n), (2.0, 1.5, 2));
        assert!(Completions::of(&[], rate, Dur::ZERO).is_none());
    }
}
