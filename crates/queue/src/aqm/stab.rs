//! `stab`: size tables and framings, what a frame weighs on a link layer that is not Ethernet, and
//! the wrapper that lets every discipline inside see that weight ([`Stab`]). Linux 6.12
//! `qdisc_calculate_pkt_len`, tables as iproute2 7.3 fills them.

mod wrapper;

pub(crate) use self::wrapper::ENTRY;
pub use self::wrapper::Stab;
use super::psched::LinkLayer;
use sojourn_core::grammar::Given;
use sojourn_core::grammar::forms::{integer, number, whole};
use sojourn_core::parameters;

/// Framing of an access link, without a table's rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// ATM cells of 53 bytes for each 48 begun, after this many bytes are added.
    Atm(i32),
    /// PTM (64b/65b): one byte for each 64 begun.
    Ptm,
    /// Preamble, checksum and gap of Ethernet: 24 bytes, at least 84 in all.
    EthernetWire,
    /// DOCSIS: checksum of 4 bytes, at least 64 in all.
    Docsis,
}

impl Framing {
    /// Bytes on the link for a frame of `len` bytes.
    pub fn wire_len(self, len: u32) -> u32 {
        match self {
            Self::Atm(overhead) => len.saturating_add_signed(overhead).div_ceil(48) * 53,
            Self::Ptm => len + len.div_ceil(64),
            Self::EthernetWire => (len + 24).max(84),
            Self::Docsis => (len + 4).max(64),
        }
    }
}

parameters! {
    /// Parameters of a size table.
    #[derive(Copy, PartialEq, Eq)]
    pub struct SizeTableParams {
        /// Largest size with an entry of its own in the table.
        pub mtu: u32 = DEFAULT_MTU => whole("BYTES", 0..=MAX, "");
        /// Entries of the table.
        pub tsize: u32 = DEFAULT_TSIZE => number(0..=1 << 16);
        /// Least size.
        pub mpu: u32 = 0 => whole("BYTES", 0..=MAX, "");
        /// Added to each frame; may be negative.
        pub overhead: i32 = 0 => integer("BYTES", -65_536..=65_536);
        /// Framing: as it is, or cells of 53 bytes for each 48 begun.
        pub linklayer: LinkLayer = LinkLayer::Ethernet;
    }
    derive fill;
}

/// Sizes in a table; more is a slip.
const MAX: u64 = 1 << 24;
const DEFAULT_MTU: u32 = 2047;
const DEFAULT_TSIZE: u32 = 512;

impl SizeTableParams {
    /// Zero means the default, as in tc.
    fn fill(&mut self, _given: &Given) {
        self.mtu = if self.mtu == 0 { DEFAULT_MTU } else { self.mtu };
        self.tsize = if self.tsize == 0 { DEFAULT_TSIZE } else { self.tsize };
    }
}

/// A size table. It is empty if only an overhead is to be added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeTable {
    overhead: i32,
    cell_log: u32,
    size_log: u32,
    table: Vec<u16>,
}

impl SizeTable {
    /// The table that tc computes.
    pub fn new(p: SizeTableParams) -> Self {
        let (mtu, tsize) = (p.mtu, p.tsize);
        let mut this = Self { overhead: p.overhead, cell_log: 0, size_log: 0, table: Vec::new() };
        if p.linklayer == LinkLayer::Ethernet && p.mpu == 0 {
            return this;
        }
        while (mtu - 1) >> this.cell_log >= tsize {
            this.cell_log += 1;
        }
        let adjusted = |slot: u32| {
            let size = ((u64::from(slot) + 1) << this.cell_log).max(u64::from(p.mpu));
            match p.linklayer {
                LinkLayer::Ethernet => size,
                LinkLayer::Atm => size.div_ceil(48) * 53,
            }
        };
        // The last entry is the largest; all must fit into 16 bits.
        let mut size_log = 0;
        while adjusted(tsize - 1) >> size_log > u64::from(u16::MAX) {
            size_log += 1;
        }
        this.table = (0..tsize).map(|slot| (adjusted(slot) >> size_log) as u16).collect();
        this.size_log = size_log;
        this
    }

    /// The length that replaces `len` for every discipline below.
    /// Linux 6.12 `__qdisc_calculate_pkt_len`.
    #[inline]
    pub fn map(&self, len: u32) -> u32 {
        let len = i64::from(len) + i64::from(self.overhead);
        let (Some(last), size) = (self.table.last(), self.table.len()) else {
            return len.max(1) as u32;
        };
        let slot = ((len - 1).max(0) as usize) >> self.cell_log;
        let entry = |slot: usize| u64::from(self.table[slot]);
        let mapped = match self.table.get(slot) {
            Some(entry) => u64::from(*entry),
            None => u64::from(*last) * (slot / size) as u64 + entry(slot % size),
        };
        // DEVIATION: the kernel's length wraps at 4 GB.
        u32::try_from(mapped << self.size_log).unwrap_or(u32::MAX).max(1)
    }
}

#[cfg(test)]
mod tests;
