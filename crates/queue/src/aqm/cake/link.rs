//! Size of a packet on the link below: overhead, least size, cells.

use super::shaper::ewma;

/// Bytes in front of the network header, an Ethernet header.
const NETWORK_OFFSET: u32 = 14;

/// Framing of the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Cells {
    /// None.
    #[default]
    Noatm,
    /// 53 bytes for each 48 begun.
    Atm,
    /// One byte for each 64 begun.
    Ptm,
}

impl Cells {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Noatm => "noatm",
            Self::Atm => "atm",
            Self::Ptm => "ptm",
        }
    }
}

/// What tc's keywords say of the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Link {
    /// Counted from the network header; absent (`raw`): the frame as the qdisc sees it.
    pub(super) overhead: Option<i32>,
    pub(super) mpu: u32,
    pub(super) cells: Cells,
}

/// A keyword that stands for several others.
pub(super) struct Preset {
    pub(super) name: &'static str,
    /// Set, or else keep.
    pub(super) cells: Option<Cells>,
    pub(super) overhead: i32,
    /// Replace the overhead given before instead of adding to it.
    pub(super) replace: bool,
    pub(super) mpu: Option<u32>,
}

const fn preset(name: &'static str, cells: Cells, overhead: i32) -> Preset {
    Preset { name, cells: Some(cells), overhead, replace: false, mpu: None }
}

pub(super) const PRESETS: &[Preset] = &[
    Preset { replace: true, ..preset("conservative", Cells::Atm, 48) },
    preset("ipoa-vcmux", Cells::Atm, 8),
    preset("ipoa-llcsnap", Cells::Atm, 16),
    preset("bridged-vcmux", Cells::Atm, 24),
    preset("bridged-llcsnap", Cells::Atm, 32),
    preset("pppoa-vcmux", Cells::Atm, 10),
    preset("pppoa-llc", Cells::Atm, 14),
    preset("pppoe-vcmux", Cells::Atm, 32),
    preset("pppoe-llcsnap", Cells::Atm, 40),
    preset("pppoe-ptm", Cells::Ptm, 30),
    preset("bridged-ptm", Cells::Ptm, 22),
    Preset { cells: None, mpu: Some(84), ..preset("ethernet", Cells::Noatm, 38) },
    Preset { cells: None, ..preset("ether-vlan", Cells::Noatm, 4) },
    Preset { mpu: Some(64), ..preset("docsis", Cells::Noatm, 18) },
];

impl Link {
    pub(super) fn apply(&mut self, preset: &Preset) {
        let before = if preset.replace { 0 } else { self.overhead.unwrap_or(0) };
        self.overhead = Some(before + preset.overhead);
        self.cells = preset.cells.unwrap_or(self.cells);
        self.mpu = preset.mpu.unwrap_or(self.mpu);
    }

    /// What a packet of network-layer (or, raw, frame) length `len` takes on the wire.
    #[inline]
    fn on_wire(&self, len: u32) -> u32 {
        let len = len.saturating_add_signed(self.overhead.unwrap_or(0)).max(self.mpu);
        match self.cells {
            Cells::Noatm => len,
            Cells::Atm => len.div_ceil(48) * 53,
            Cells::Ptm => len + len.div_ceil(64),
        }
    }
}

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
    /// which are taken to be equally long.
    #[inline]
    pub(super) fn adjusted(&mut self, link: &Link, len: u32, segments: u8) -> u32 {
        if segments <= 1 {
            return self.of_one(link, len);
        }
        let each = len.div_ceil(u32::from(segments));
        let others = u32::from(segments) - 1;
        let last = self.of_one(link, len - others * each);
        others * self.of_one(link, each) + last
    }

    fn of_one(&mut self, link: &Link, len: u32) -> u32 {
        self.avg_offset = ewma(self.avg_offset, u64::from(NETWORK_OFFSET) << 16, 8);
        let net = if link.overhead.is_some() { len.saturating_sub(NETWORK_OFFSET) } else { len };
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
