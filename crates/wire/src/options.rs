//! TCP options (RFC 9293 3.2): maximum segment size, window scale and timestamps (RFC 7323), SACK (RFC
//! 2018), and AccECN's byte counters (RFC 9768 3.2.3).

use crate::{be16, be32, put16, put32};

/// Bytes of options that a header has room for.
pub const MAX: usize = 40;
/// SACK blocks that an option has room for.
pub const MAX_BLOCKS: usize = 4;

const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const ACCECN0: u8 = 172;
const ACCECN1: u8 = 174;

/// Blocks of received data, left and right edge (RFC 2018 3). The first may be a duplicate (RFC 2883).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    blocks: [(u32, u32); MAX_BLOCKS],
    len: u8,
}

impl Blocks {
    /// Appends a block, ignored when four are there.
    pub fn push(&mut self, block: (u32, u32)) {
        if let Some(free) = self.blocks.get_mut(usize::from(self.len)) {
            *free = block;
            self.len += 1;
        }
    }

    /// The blocks in their order.
    #[inline]
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.len)]
    }

    /// Whether the first block reports a duplicate (RFC 2883 4): it is below the acknowledgement, or
    /// within the second block.
    pub fn reports_duplicate(&self, ack: u32) -> bool {
        // Distances from the acknowledgement, over the wrap.
        let from_ack = |edge: u32| edge.wrapping_sub(ack) as i32;
        match *self.as_slice() {
            [(_, end), ..] if from_ack(end) <= 0 => true,
            [first, second, ..] => {
                from_ack(first.0) >= from_ack(second.0) && from_ack(first.1) <= from_ack(second.1)
            }
            [] | [_] => false,
        }
    }
}

/// Byte counters, 24 bits each, of an AccECN option (RFC 9768 3.2.3). A sender leaves out the last
/// ones of its order for which there is no room, or that have not changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccEcn {
    /// Which kind: AccECN1, where ECT(1) comes first, or AccECN0, where ECT(0) does.
    pub ect1_first: bool,
    /// Counters in the option's order: of ECT(0), CE, ECT(1), or of ECT(1), CE, ECT(0).
    counters: [u32; 3],
    len: u8,
}

impl AccEcn {
    /// All three counters: bytes with ECT(0), CE, ECT(1).
    pub fn new(bytes: [u32; 3], ect1_first: bool) -> Self {
        let mut counters = bytes.map(|counter| counter & 0x00ff_ffff);
        if ect1_first {
            counters.reverse();
        }
        Self { ect1_first, counters, len: 3 }
    }

    /// The counters that are there: bytes with ECT(0), CE, ECT(1).
    pub fn counters(&self) -> [Option<u32>; 3] {
        let mut counters = [0, 1, 2].map(|i| (i < self.len).then(|| self.counters[usize::from(i)]));
        if self.ect1_first {
            counters.reverse();
        }
        counters
    }

    /// Reads the bytes behind kind and length: none, or one to three counters.
    fn parse(kind: u8, body: &[u8]) -> Option<Self> {
        let len = body.len() / 3;
        if len > 3 || !body.len().is_multiple_of(3) {
            return None;
        }
        let mut counters = [0; 3];
        for (counter, bytes) in counters.iter_mut().zip(body.chunks_exact(3)) {
            *counter = u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]);
        }
        Some(Self { ect1_first: kind == ACCECN1, counters, len: len as u8 })
    }
}

/// The options of a header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Maximum segment size, of a SYN.
    pub mss: Option<u16>,
    /// Shift count of the window, of a SYN.
    pub window_scale: Option<u8>,
    /// SACK permitted, of a SYN.
    pub sack_permitted: bool,
    /// Timestamp value and echo reply.
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks.
    pub sack: Blocks,
    /// AccECN's counters.
    pub accecn: Option<AccEcn>,
}

impl Options {
    /// Reads what is between header and data. None if a length is not possible (RFC 9293 3.2, MUST-7);
    /// unknown options are skipped (MUST-6), and known ones of another length.
    pub fn parse(mut bytes: &[u8]) -> Option<Self> {
        let mut options = Self::default();
        loop {
            match *bytes {
                [] | [END, ..] => return Some(options),
                [NOP, ref rest @ ..] => bytes = rest,
                [kind, len, ref rest @ ..] => {
                    let (body, rest) = rest.split_at_checked(usize::from(len).checked_sub(2)?)?;
                    options.read(kind, body);
                    bytes = rest;
                }
                [_] => return None,
            }
        }
    }

    /// Whether there are none but timestamps.
    #[inline]
    pub fn is_plain(&self) -> bool {
        let Self { mss, window_scale, sack_permitted, timestamps: _, sack, accecn } = self;
        mss.is_none()
            && window_scale.is_none()
            && !sack_permitted
            && sack.as_slice().is_empty()
            && accecn.is_none()
    }

    fn read(&mut self, kind: u8, body: &[u8]) {
        match (kind, body.len()) {
            (MSS, 2) => self.mss = Some(be16(body, 0)),
            (WINDOW_SCALE, 1) => self.window_scale = Some(body[0]),
            (SACK_PERMITTED, 0) => self.sack_permitted = true,
            (TIMESTAMPS, 8) => self.timestamps = Some((be32(body, 0), be32(body, 4))),
            (SACK, len) if len.is_multiple_of(8) => {
                self.sack = Blocks::default();
                for block in body.chunks_exact(8) {
                    self.sack.push((be32(block, 0), be32(block, 4)));
                }
            }
            (ACCECN0 | ACCECN1, _) => self.accecn = AccEcn::parse(kind, body).or(self.accecn),
            _ => {}
        }
    }

    /// Writes the options, padded to multiples of four bytes, and gives their length. Order and padding are
    /// those of Linux 7.2; SACK blocks that find no room are left out, then counters.
    pub(crate) fn write(&self, out: &mut [u8]) -> usize {
        let mut writer = Writer { out: &mut out[..MAX], len: 0 };
        if let Some(mss) = self.mss {
            put16(writer.option(MSS, 2), 0, mss);
        }
        if self.sack_permitted && self.timestamps.is_some() {
            // Both together need no padding.
            writer.unaligned(SACK_PERMITTED, 0);
        } else if self.sack_permitted {
            writer.option(SACK_PERMITTED, 0);
        }
        if let Some((value, echo)) = self.timestamps {
            let body = writer.option(TIMESTAMPS, 8);
            put32(body, 0, value);
            put32(body, 4, echo);
        }
        let scale_len = if self.window_scale.is_some() { 4 } else { 0 };
        let room = MAX - writer.len - scale_len;
        let blocks = self.sack.as_slice();
        let blocks = &blocks[..blocks.len().min(room.saturating_sub(4) / 8)];
        let sack_len = if blocks.is_empty() { 0 } else { 4 + 8 * blocks.len() };
        let least = |accecn: &AccEcn| if accecn.len == 0 { 4 } else { 8 };
        if let Some(accecn) = self.accecn.filter(|accecn| room - sack_len >= least(accecn)) {
            let counters = usize::from(accecn.len).min((room - sack_len - 2) / 3);
            let kind = if accecn.ect1_first { ACCECN1 } else { ACCECN0 };
            let body = writer.unaligned(kind, 3 * counters);
            for (bytes, counter) in body.chunks_exact_mut(3).zip(accecn.counters) {
                bytes.copy_from_slice(&counter.to_be_bytes()[1..]);
            }
            writer.pad(0);
        }
        if let Some(shift) = self.window_scale {
            writer.option(WINDOW_SCALE, 1)[0] = shift;
        }
        if !blocks.is_empty() {
            let body = writer.option(SACK, 8 * blocks.len());
            for (bytes, (left, right)) in body.chunks_exact_mut(8).zip(blocks) {
                put32(bytes, 0, *left);
                put32(bytes, 4, *right);
            }
        }
        writer.len
    }
}

struct Writer<'a> {
    out: &'a mut [u8],
    len: usize,
}

impl Writer<'_> {
    /// An option that ends at a multiple of four bytes; gives what follows kind and length.
    fn option(&mut self, kind: u8, body: usize) -> &mut [u8] {
        self.pad(2 + body);
        self.unaligned(kind, body)
    }

    /// Pads so that what has `len` bytes ends at a multiple of four.
    fn pad(&mut self, len: usize) {
        while !(self.len + len).is_multiple_of(4) {
            self.out[self.len] = NOP;
            self.len += 1;
        }
    }

    fn unaligned(&mut self, kind: u8, body: usize) -> &mut [u8] {
        let at = self.len + 2;
        self.out[self.len] = kind;
        self.out[self.len + 1] = 2 + body as u8;
        self.len = at + body;
        &mut self.out[at..at + body]
    }
}

#[cfg(test)]
mod tests;
