//! What packets are charged with, and extremes of it.

use super::shaper::ewma;
use crate::aqm::framing::{Framing, NETWORK_OFFSET};

/// Extremes of the sizes seen, for `tc -s`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) max_net: u32,
    pub(super) max_adj: u32,
    pub(super) min_net: u32,
    pub(super) min_adj: u32,
    avg_offset: u64,
}

impl Default for Sizes {
    fn default() -> Self {
        let unset = u32::from(u16::MAX);
        Self { max_net: 0, max_adj: 0, min_net: unset, min_adj: unset, avg_offset: 0 }
    }
}

impl Sizes {
    /// The size that a frame of `len` bytes is charged with; of a super-packet the sum over its segments,
    /// which are taken to be equally long. Linux 6.12 `cake_overhead`.
    #[inline]
    pub(super) fn adjusted(&mut self, link: &Framing, len: u32, segments: u8) -> u32 {
        if segments <= 1 {
            return self.of_one(link, len);
        }
        let each = len.div_ceil(u32::from(segments));
        let others = u32::from(segments) - 1;
        let last = self.of_one(link, len - others * each);
        others * self.of_one(link, each) + last
    }

    fn of_one(&mut self, link: &Framing, len: u32) -> u32 {
        self.avg_offset = ewma(self.avg_offset, u64::from(NETWORK_OFFSET) << 16, 8);
        let net = link.counted(len);
        let adj = link.on_wire(net);
        self.max_net = self.max_net.max(net);
        self.min_net = self.min_net.min(net);
        self.max_adj = self.max_adj.max(adj);
        self.min_adj = self.min_adj.min(adj);
        adj
    }

    /// Average distance of the network header, rounded.
    pub(super) const fn offset(&self) -> u64 {
        (self.avg_offset + 0x8000) >> 16
    }
}
