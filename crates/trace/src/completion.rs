//! Completion times of transfers, and what they could have been.

use serde::{Deserialize, Serialize};
use sojourn_core::{Dur, Rate};

use crate::metrics::Statistics;

/// Transfers or responses that completed within the window.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
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
mod tests;
