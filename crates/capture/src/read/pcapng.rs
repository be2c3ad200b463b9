//! The format of blocks: sections, interfaces, packets and statistics. Other blocks are passed over.
//!
//! Source: draft-ietf-opsawg-pcapng-04. Every block says its length at both ends, so that the next one behind a
//! damaged place can be found.

mod options;

use sojourn_core::Time;
use sojourn_core::math;

use self::options::read;
use super::window::Window;
use super::{Found, MOST_RECORD};
use crate::LinkType;
use crate::facts::{Facts, Interface, Section};
use crate::pcapng::{BYTE_ORDER_MAGIC, FRAME_BYTES, block, option, padding};

pub use options::Options;

/// Bytes of a block at the most; longer ones are taken for damage.
const MOST_BLOCK: usize = 1 << 24;
/// Interfaces of a file at the most.
const MOST_INTERFACES: usize = 1 << 16;

/// Whether a section begins here (4.1).
pub(super) fn is_section(window: &mut Window) -> bool {
    window.has(FRAME_BYTES) && section_order(window.bytes()).is_some()
}

/// Whether the section whose header these twelve bytes begin is big-endian.
fn section_order(bytes: &[u8]) -> Option<bool> {
    if word(bytes, 0, false) != block::SECTION {
        return None;
    }
    [false, true].into_iter().find(|order| word(bytes, 8, *order) == BYTE_ORDER_MAGIC)
}

#[derive(Default)]
pub(super) struct Reader {
    is_big_endian: bool,
    /// Of the interfaces of the file that this section's begin after.
    base: usize,
    clocks: Vec<Clock>,
    last: Time,
    sections: u64,
    has_ended: bool,
}

/// How an interface's times are to be read.
#[derive(Clone, Copy)]
struct Clock {
    unit: Unit,
    /// if_tsoffset: seconds to be added.
    offset: i64,
    link: LinkType,
    snap_len: u32,
}

/// One step of a clock (if_tsresol, 4.2).
#[derive(Clone, Copy)]
enum Unit {
    /// This number of nanoseconds.
    Nanoseconds(u64),
    /// This part of a nanosecond.
    Part(u64),
    /// Two to the power of minus this of a second.
    Binary(u32),
}

impl Reader {
    #[inline]
    pub(super) fn next(&mut self, window: &mut Window, facts: &mut Facts) -> Option<Found> {
        while !self.has_ended {
            match self.block(window) {
                Ok((kind, len)) => {
                    let found = self.body(kind, len, window, facts);
                    window.consume(len);
                    facts.bytes += len as u64;
                    match found {
                        Ok(Some(found)) => return Some(found),
                        Ok(None) => {}
                        Err(reason) => {
                            let offset = window.offset() - len as u64;
                            facts.damaged(offset, len as u64, reason.to_owned());
                        }
                    }
                }
                Err(Some(reason)) => self.resume(reason, window, facts),
                Err(None) => {
                    self.has_ended = true;
                    if let Some(error) = window.error() {
                        facts.damaged(window.offset(), 0, error.to_string());
                    }
                }
            }
        }
        None
    }

    /// Type and length of the block that begins here, all of which is then in the window; or what is wrong
    /// with it, or nothing at the end of the file.
    #[inline]
    fn block(&mut self, window: &mut Window) -> Result<(u32, usize), Option<String>> {
        if !window.has(FRAME_BYTES) {
            let is_end = window.bytes().is_empty();
            return Err((!is_end).then(|| "the file ends within a block".to_owned()));
        }
        let order = section_order(window.bytes());
        if let Some(order) = order {
            self.is_big_endian = order;
        }
        let kind = word(window.bytes(), 0, self.is_big_endian);
        let len = word(window.bytes(), 4, self.is_big_endian) as usize;
        if !(FRAME_BYTES..=MOST_BLOCK).contains(&len) || !len.is_multiple_of(4) {
            return Err(Some(format!("a block of {len} bytes")));
        }
        if !window.has(len) {
            return Err(Some(format!("the file ends within a block of {len} bytes")));
        }
        match word(window.bytes(), len - 4, self.is_big_endian) as usize {
            again if again == len => Ok((kind, len)),
            again => {
                Err(Some(format!("a block of {len} bytes at its beginning and {again} at its end")))
            }
        }
    }

    /// Reads a whole block; a packet's data are then in the window.
    #[inline]
    fn body(
        &mut self,
        kind: u32,
        len: usize,
        window: &Window,
        facts: &mut Facts,
    ) -> Result<Option<Found>, &'static str> {
        let body = &window.bytes()[8..len - 4];
        match kind {
            block::ENHANCED_PACKET => self.enhanced(body, window.position() + 8).map(Some),
            block::SIMPLE_PACKET => {
                facts.without_time += 1;
                self.simple(body, window.position() + 8).map(Some)
            }
            block::PACKET => self.obsolete(body, window.position() + 8).map(Some),
            block::SECTION => self.section(body, facts).map(|()| None),
            block::INTERFACE => self.interface(body, facts).map(|()| None),
            block::STATISTICS => self.statistics(body, facts).map(|()| None),
            _ => Ok(None),
        }
    }

    /// 4.3: interface, time, bytes kept, bytes of the packet, data, options.
    #[inline]
    fn enhanced(&mut self, body: &[u8], at: usize) -> Result<Found, &'static str> {
        let (head, data) = body.split_at_checked(20).ok_or(SHORT)?;
        let [interface, high, low, kept, original] =
            [0, 4, 8, 12, 16].map(|at| word(head, at, self.is_big_endian));
        self.packet(interface, Some((high, low)), kept, original, data.len(), at + 20)
    }

    /// 4.4: bytes of the packet, data. It is the first interface's, whose snap length applies.
    fn simple(&mut self, body: &[u8], at: usize) -> Result<Found, &'static str> {
        let (head, data) = body.split_at_checked(4).ok_or(SHORT)?;
        let original = word(head, 0, self.is_big_endian);
        let snap_len = match self.clocks.first().ok_or(NO_INTERFACE)?.snap_len {
            0 => u32::MAX,
            most => most,
        };
        let kept = original.min(snap_len).min(data.len() as u32);
        self.packet(0, None, kept, original, data.len(), at + 4)
    }

    /// A: the block before the enhanced one, with two more numbers of 16 bits.
    fn obsolete(&mut self, body: &[u8], at: usize) -> Result<Found, &'static str> {
        let (head, data) = body.split_at_checked(20).ok_or(SHORT)?;
        let [high, low, kept, original] =
            [4, 8, 12, 16].map(|at| word(head, at, self.is_big_endian));
        let interface = u32::from(half(head, 0, self.is_big_endian));
        self.packet(interface, Some((high, low)), kept, original, data.len(), at + 20)
    }

    #[inline]
    fn packet(
        &mut self,
        interface: u32,
        time: Option<(u32, u32)>,
        kept: u32,
        original: u32,
        room: usize,
        at: usize,
    ) -> Result<Found, &'static str> {
        let clock = self.clocks.get(interface as usize).ok_or(NO_INTERFACE)?;
        let len = kept as usize;
        if kept > MOST_RECORD || len > room {
            return Err("a packet longer than its block, or than 1 MiB");
        }
        if let Some((high, low)) = time {
            self.last = clock.time(u64::from(high) << 32 | u64::from(low));
        }
        let options = (len + padding(len)).min(room);
        Ok(Found {
            time: self.last,
            interface: self.base as u32 + interface,
            link: clock.link,
            original_len: original.max(kept),
            at,
            len,
            options: (at + options, at + room),
            is_big_endian: self.is_big_endian,
        })
    }

    /// 4.1: byte order, version, length of the section, options.
    fn section(&mut self, body: &[u8], facts: &mut Facts) -> Result<(), &'static str> {
        let (head, options) = body.split_at_checked(16).ok_or(SHORT)?;
        self.clocks.clear();
        self.base = facts.interfaces.len();
        self.sections += 1;
        if half(head, 4, self.is_big_endian) != 1 {
            return Err("a section of another version than 1");
        }
        if self.sections == 1 {
            let Section { hardware, os, application, comment } = &mut facts.section;
            for (code, value) in read(options, self.is_big_endian) {
                match code {
                    option::SECTION_HARDWARE => *hardware = text(value),
                    option::SECTION_OS => *os = text(value),
                    option::SECTION_APPLICATION => *application = text(value),
                    option::COMMENT if comment.is_empty() => *comment = text(value),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// 4.2: link type, snap length, options.
    fn interface(&mut self, body: &[u8], facts: &mut Facts) -> Result<(), &'static str> {
        let (head, options) = body.split_at_checked(8).ok_or(SHORT)?;
        if facts.interfaces.len() >= MOST_INTERFACES {
            return Err("more than 65536 interfaces");
        }
        let link = LinkType(half(head, 0, self.is_big_endian));
        let snap_len = word(head, 4, self.is_big_endian);
        let mut clock = Clock { unit: Unit::Nanoseconds(1000), offset: 0, link, snap_len };
        let mut interface = Interface { link, snap_len, ..Interface::default() };
        for (code, value) in read(options, self.is_big_endian) {
            match (code, value) {
                (option::INTERFACE_NAME, _) => interface.name = text(value),
                (option::INTERFACE_DESCRIPTION, _) => interface.description = text(value),
                (option::INTERFACE_RESOLUTION, [resolution]) => clock.unit = Unit::new(*resolution),
                (option::INTERFACE_TIME_OFFSET, [_, _, _, _, _, _, _, _]) => {
                    clock.offset = long(value, self.is_big_endian) as i64;
                }
                _ => {}
            }
        }
        interface.resolution_s = clock.unit.seconds();
        self.clocks.push(clock);
        facts.interfaces.push(interface);
        Ok(())
    }

    /// 4.6: interface, time, options.
    fn statistics(&mut self, body: &[u8], facts: &mut Facts) -> Result<(), &'static str> {
        let (head, options) = body.split_at_checked(12).ok_or(SHORT)?;
        let interface = word(head, 0, self.is_big_endian) as usize;
        if interface >= self.clocks.len() {
            return Err(NO_INTERFACE);
        }
        let interface = &mut facts.interfaces[self.base + interface];
        for (code, value) in read(options, self.is_big_endian).filter(|(_, value)| value.len() == 8)
        {
            match code {
                option::STATISTICS_RECEIVED => {
                    interface.received = Some(long(value, self.is_big_endian));
                }
                option::STATISTICS_DROPPED => {
                    interface.dropped = Some(long(value, self.is_big_endian));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Goes to the next block behind a damaged place.
    #[cold]
    fn resume(&mut self, mut reason: String, window: &mut Window, facts: &mut Facts) {
        let offset = window.offset();
        while window.has(4) {
            window.consume(4);
            if self.is_block(window) {
                break;
            }
        }
        if !window.has(4) {
            window.skip_all();
            self.has_ended = true;
            if let Some(error) = window.error() {
                reason = error.to_string();
            }
        }
        let passed = window.offset() - offset;
        facts.bytes += passed;
        facts.damaged(offset, passed, reason);
    }

    /// Whether a block of a known type, with the same length at both ends, begins here.
    fn is_block(&self, window: &mut Window) -> bool {
        if !window.has(FRAME_BYTES) {
            return false;
        }
        if section_order(window.bytes()).is_some() {
            return true;
        }
        let kind = word(window.bytes(), 0, self.is_big_endian);
        let len = word(window.bytes(), 4, self.is_big_endian) as usize;
        // 10.1: types of the standard are small numbers.
        (1..=0xff).contains(&kind)
            && (FRAME_BYTES..=MOST_BLOCK).contains(&len)
            && len.is_multiple_of(4)
            && window.has(len)
            && word(window.bytes(), len - 4, self.is_big_endian) as usize == len
    }
}

const SHORT: &str = "a block that is too short for its type";
const NO_INTERFACE: &str = "a block of an interface that is not described";

impl Clock {
    #[inline]
    fn time(&self, steps: u64) -> Time {
        let since = match self.unit {
            Unit::Nanoseconds(each) => steps.saturating_mul(each),
            Unit::Part(parts) => steps / parts,
            Unit::Binary(shift) => ((u128::from(steps) * 1_000_000_000) >> shift) as u64,
        };
        if self.offset == 0 {
            return Time(since);
        }
        Time(since.saturating_add_signed(self.offset.saturating_mul(1_000_000_000)))
    }
}

impl Unit {
    /// if_tsresol: the highest bit tells powers of two from powers of ten.
    fn new(resolution: u8) -> Self {
        let power = u32::from(resolution & 0x7f);
        match (resolution & 0x80 != 0, power) {
            (true, _) => Self::Binary(power),
            (false, 0..=9) => Self::Nanoseconds(10_u64.pow(9 - power)),
            // A clock so fine never leaves the year 1970.
            (false, _) => Self::Part(10_u64.checked_pow(power - 9).unwrap_or(u64::MAX)),
        }
    }

    fn seconds(self) -> f64 {
        match self {
            Self::Nanoseconds(each) => each as f64 / 1e9,
            Self::Part(parts) => 1e-9 / parts as f64,
            Self::Binary(shift) => math::exp2(-f64::from(shift)),
        }
    }
}

fn text(value: &[u8]) -> String {
    let end = value.iter().position(|byte| *byte == 0).unwrap_or(value.len());
    String::from_utf8_lossy(&value[..end]).into_owned()
}

#[inline]
fn word(bytes: &[u8], at: usize, is_big_endian: bool) -> u32 {
    let value = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
    if is_big_endian { u32::from_be_bytes(value) } else { u32::from_le_bytes(value) }
}

fn half(bytes: &[u8], at: usize, is_big_endian: bool) -> u16 {
    let value = [bytes[at], bytes[at + 1]];
    if is_big_endian { u16::from_be_bytes(value) } else { u16::from_le_bytes(value) }
}

fn long(bytes: &[u8], is_big_endian: bool) -> u64 {
    let value = *bytes.first_chunk().expect("the caller has looked at its length");
    if is_big_endian { u64::from_be_bytes(value) } else { u64::from_le_bytes(value) }
}
