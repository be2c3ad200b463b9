//! Size of a packet on the link below, as CAKE and its relatives reckon it: overhead, least size,
//! cells. tc-cake(8); Linux 6.12 `sch_cake`, `cake_calc_overhead`.

use sojourn_core::choices;
use sojourn_core::grammar::forms::{Form, custom, keywords, or_off, whole};
use sojourn_core::grammar::{Args, Given};
use sojourn_core::parameters;

/// Bytes in front of the network header, an Ethernet header, which an overhead replaces.
pub(super) const NETWORK_OFFSET: u32 = 14;

const MOST: i32 = 256;

parameters! {
    /// How long a packet is on the wire.
    #[derive(Copy, PartialEq, Eq)]
    pub(super) struct Framing {
        /// Charge the network-layer packet and this, -64 to 256.
        overhead: Option<Overhead> = None => or_off(overhead(), "raw");
        /// Charge at least this, 0 to 256.
        mpu: u32 = 0 => whole("BYTES", 0..=256, "");
        /// Charge whole cells of 53 bytes for 48, or one byte in 65 for the code words of PTM.
        cells: Cells = Cells::None => keywords();
    }
    also {
        /// Charge the frame as it is: ends `overhead`, `atm` and `ptm`.
        "raw" => |framing, _, _| {
            (framing.overhead, framing.cells) = (None, Cells::None);
            Ok(())
        };
        /// `overhead` 48 atm, 38 mpu 84, 4 more, 18 mpu 64 noatm, 30 ptm, 22 ptm.
        "conservative|ethernet|ether-vlan|docsis|pppoe-ptm|bridged-ptm" => |framing, name, _| {
            framing.apply(name);
            Ok(())
        };
        /// `atm` and `overhead` 8, 16, 24, 32, 10, 14, 32, 40.
        "ipoa-vcmux|ipoa-llcsnap|bridged-vcmux|bridged-llcsnap|pppoa-vcmux|pppoa-llc|pppoe-vcmux\
         |pppoe-llcsnap" => |framing, name, _| {
            framing.apply(name);
            Ok(())
        };
    }
    derive end;
    settle check;
}

choices! {
    /// Units in which the link carries packets.
    enum Cells {
        None = "noatm",
        Atm = "atm",
        Ptm = "ptm",
    }
}

/// Counted from the network header; without one the frame's own length counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Overhead {
    bytes: i32,
    /// The text that is being read has stated it, so that a name adds to it, as in tc.
    is_open: bool,
}

fn overhead() -> impl Form<Overhead> {
    let in_range = |n: &i32| (-64..=MOST).contains(n);
    let read = move |args: &mut Args<'_>| {
        args.value("a whole number from -64 to 256", |word| {
            let bytes = word.parse().ok().filter(in_range)?;
            Some(Overhead { bytes, is_open: true })
        })
    };
    custom("BYTES", read, |overhead: &Overhead| overhead.bytes.to_string())
}

/// Names, their overhead, least size if they set one, and cells if they set them.
const NAMES: [(&str, i32, Option<u32>, Option<Cells>); 14] = [
    ("conservative", 48, None, Some(Cells::Atm)),
    ("ethernet", 38, Some(84), None),
    ("ether-vlan", 4, None, None),
    ("docsis", 18, Some(64), Some(Cells::None)),
    ("pppoe-ptm", 30, None, Some(Cells::Ptm)),
    ("bridged-ptm", 22, None, Some(Cells::Ptm)),
    ("pppoa-vcmux", 10, None, Some(Cells::Atm)),
    ("pppoa-llc", 14, None, Some(Cells::Atm)),
    ("pppoe-vcmux", 32, None, Some(Cells::Atm)),
    ("pppoe-llcsnap", 40, None, Some(Cells::Atm)),
    ("bridged-vcmux", 24, None, Some(Cells::Atm)),
    ("bridged-llcsnap", 32, None, Some(Cells::Atm)),
    ("ipoa-vcmux", 8, None, Some(Cells::Atm)),
    ("ipoa-llcsnap", 16, None, Some(Cells::Atm)),
];

impl Framing {
    fn apply(&mut self, name: &str) {
        if let Some((_, bytes, mpu, cells)) = NAMES.iter().find(|line| line.0 == name) {
            let before = self.overhead.filter(|o| o.is_open && name != "conservative");
            let bytes = before.map_or(0, |overhead| overhead.bytes) + bytes;
            self.overhead = Some(Overhead { bytes, is_open: true });
            self.mpu = mpu.unwrap_or(self.mpu);
            self.cells = cells.unwrap_or(self.cells);
        }
    }

    fn end(&mut self, _given: &Given) {
        self.overhead = self.overhead.map(|overhead| Overhead { is_open: false, ..overhead });
    }

    // DEVIATION: tc sends any sum, and prints one that it does not read again.
    fn check(&self, _given: &Given) -> Result<(), String> {
        match self.overhead {
            Some(Overhead { bytes, .. }) if bytes > MOST => Err(format!(
                "overheads add up to {bytes}: expected at most {MOST}, as for `overhead`"
            )),
            _ => Ok(()),
        }
    }

    /// What counts of a frame of `len` bytes: all, or what the network layer sees of it.
    #[inline]
    pub(super) const fn counted(&self, len: u32) -> u32 {
        if self.overhead.is_some() { len.saturating_sub(NETWORK_OFFSET) } else { len }
    }

    /// Bytes on the wire for a [`Self::counted`] length. Linux 6.12 `cake_calc_overhead`.
    #[inline]
    pub(super) fn on_wire(&self, counted: u32) -> u32 {
        let added = self.overhead.map_or(0, |overhead| overhead.bytes);
        let len = counted.saturating_add_signed(added).max(self.mpu);
        match self.cells {
            Cells::None => len,
            Cells::Atm => len.div_ceil(48) * 53,
            Cells::Ptm => len + len.div_ceil(64),
        }
    }
}

#[cfg(test)]
mod tests;
