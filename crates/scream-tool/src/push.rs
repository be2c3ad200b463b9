//! `-pushtraffic`: packets of a constant rate without queue, congestion control and feedback.

use sojourn_core::wire::rtp::{CLOCK_RATE, Header, PAYLOAD_TYPE, TOOL_SSRC};
use sojourn_core::{Dur, Rate, Time};

/// A source of packets in bursts; a frame's last packet has the marker.
#[derive(Clone, Debug)]
pub(super) struct Push {
    rate: Rate,
    payload: u32,
    burst: Dur,
    frame: Dur,
    start: Time,
    /// The burst whose packets leave.
    due: Time,
    packets: u64,
}

impl Push {
    /// `rate` of payload in packets of `payload` bytes, from `start` on.
    pub(super) fn new(rate: Rate, payload: u32, burst: Dur, fps: f64, start: Time) -> Self {
        let frame = Dur((1e9 / fps) as u64);
        Self { rate, payload, burst, frame, start, due: start, packets: 0 }
    }

    pub(super) fn deadline(&self) -> Time {
        self.due
    }

    /// The next packet of the burst that is due.
    pub(super) fn poll(&mut self, now: Time) -> Option<Header> {
        if now < self.due {
            return None;
        }
        let passed = now.since(self.start);
        if self.rate.bytes_in(passed) < (self.packets + 1) * u64::from(self.payload) {
            // A slow rate waits for its next packet, a fast one for its next burst.
            let next =
                self.start + self.rate.time_for((self.packets + 1) * u64::from(self.payload));
            self.due = (now + self.burst).max(next + Dur(1));
            return None;
        }
        let number = self.packets;
        self.packets += 1;
        let frame_of = |n: u64| self.rate.time_for(n * u64::from(self.payload)).0 / self.frame.0;
        let frame = frame_of(number);
        Some(Header {
            marker: frame_of(number + 1) != frame,
            payload_type: PAYLOAD_TYPE,
            seq: number as u16,
            timestamp: (frame as u128 * u128::from(self.frame.0) * u128::from(CLOCK_RATE)
                / 1_000_000_000) as u32,
            ssrc: TOOL_SSRC,
            payload: self.payload,
        })
    }
}

#[cfg(test)]
mod tests;
