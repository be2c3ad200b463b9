//! Choice of the RTP payload: smaller packets on slow paths, so that enough of them are in flight to be
//! marked (EricssonResearch/scream c8f84c3, options `-mtu` and `-minpktsinflight`).

use super::super::{Config, Ticks};

const VIRTUAL_RTT: f32 = 0.025;
/// Not larger again before, ticks.
const INTERVAL: u32 = 10 * 65_536;
const RTP_HEADER: u32 = 12;

/// The sizes and which is used.
#[derive(Clone, Debug)]
pub(super) struct Payload {
    sizes: Vec<u32>,
    at: usize,
    packets: u32,
    changed: Ticks,
}

impl Payload {
    pub(super) fn new(config: &Config, now: Ticks) -> Self {
        let sizes = config.mtus.clone();
        let packets = config.least_packets_in_flight;
        Self { at: sizes.len().saturating_sub(1), sizes, packets, changed: now }
    }

    /// Bytes.
    pub(super) fn bytes(&self) -> u32 {
        self.sizes.get(self.at).copied().unwrap_or(1200)
    }

    /// A frame begins; the least window, if the size changes.
    pub(super) fn choose(&mut self, now: Ticks, cwnd: i32, srtt: f32) -> Option<u32> {
        if self.packets == 0 {
            return None;
        }
        let fitting = cwnd as f32 / self.packets as f32 * (VIRTUAL_RTT / srtt).min(1.0);
        let larger = self.sizes.get(self.at + 1);
        if larger.is_some_and(|&larger| fitting > larger as f32)
            && now.since(self.changed) > INTERVAL
        {
            self.at += 1;
        } else if self.at > 0 && fitting < self.sizes[self.at - 1] as f32 {
            self.at -= 1;
        } else {
            return None;
        }
        self.changed = now;
        Some(2 * (self.bytes() + RTP_HEADER))
    }
}
