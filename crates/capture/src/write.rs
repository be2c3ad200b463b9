//! Writes pcapng: several interfaces in one file, times to the nanosecond, and comments on packets.
//!
//! Source: draft-ietf-opsawg-pcapng-04. What is written depends on the arguments alone and is little-endian on
//! every machine, so that the same run gives the same bytes.
//!
//! ```no_run
//! use sojourn_capture::write::{Interface, Packet, Section, Writer};
//! # fn main() -> std::io::Result<()> {
//! let mut capture = Writer::create("run.pcapng".as_ref(), &Section::default())?;
//! let queue = capture.interface(&Interface { name: "bneck", ..Interface::default() })?;
//! let packet = [0x45; 40];
//! capture.packet(&Packet { interface: queue, bytes: &packet, ..Packet::default() })?;
//! capture.keep()?;
//! # Ok(())
//! # }
//! ```

mod new_file;

use std::io::{self, Write};
use std::path::Path;

use sojourn_core::Time;

use crate::LinkType;
use crate::pcapng::{BYTE_ORDER_MAGIC, FRAME_BYTES, block, option, padding};

pub use new_file::NewFile;

/// Who has captured. Empty texts are left out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Section<'a> {
    /// The machine.
    pub hardware: &'a str,
    /// The operating system.
    pub os: &'a str,
    /// The program, with its version.
    pub application: &'a str,
    /// Anything else, for people.
    pub comment: &'a str,
}

/// A place where packets are captured. Empty texts are left out.
#[derive(Clone, Copy, Debug)]
pub struct Interface<'a> {
    /// As in the names that tools show.
    pub name: &'a str,
    /// What it is.
    pub description: &'a str,
    /// What packets begin with.
    pub link: LinkType,
    /// Bytes that are kept of each packet; 0: all.
    pub snap_len: u32,
}

impl Default for Interface<'_> {
    fn default() -> Self {
        Self { name: "", description: "", link: LinkType::RAW, snap_len: 0 }
    }
}

/// An interface of a file that is being written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterfaceId(u32);

/// Which way a packet passed its interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// It is not said.
    #[default]
    Unknown,
    /// Received.
    Inbound,
    /// Sent.
    Outbound,
}

/// What is written of one packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packet<'a> {
    /// Where.
    pub interface: InterfaceId,
    /// When, since 1970-01-01 00:00 UTC.
    pub time: Time,
    /// What there is of it; what is longer than the interface's snap length is cut.
    pub bytes: &'a [u8],
    /// Bytes that it had, where `bytes` is only its beginning; less than these are is taken as their number.
    pub original_len: u32,
    /// Which way.
    pub direction: Direction,
    /// The same number for the same packet wherever it was captured.
    pub id: Option<u64>,
    /// For people, such as the state of a queue; empty: none.
    pub comment: &'a str,
}

/// Writes one capture.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    interfaces: Vec<Captured>,
    first: Option<Time>,
    last: Time,
    /// The body of the block that is being made, and whether options are in it.
    body: Vec<u8>,
    has_options: bool,
}

/// What an interface has captured so far.
#[derive(Debug)]
struct Captured {
    snap_len: u32,
    written: u64,
    lost: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a capture.
    ///
    /// # Errors
    /// Writing fails.
    pub fn new(out: W, section: &Section<'_>) -> io::Result<Self> {
        let body = Vec::with_capacity(2048);
        let mut writer = Self {
            out,
            interfaces: Vec::new(),
            first: None,
            last: Time::ZERO,
            body,
            has_options: false,
        };
        writer.put(&BYTE_ORDER_MAGIC.to_le_bytes());
        // 4.1: version 1.0, and the length of a section that is not known before its end.
        writer.put(&[1, 0, 0, 0]);
        writer.put(&[0xff; 8]);
        writer.text(option::COMMENT, section.comment);
        writer.text(option::SECTION_HARDWARE, section.hardware);
        writer.text(option::SECTION_OS, section.os);
        writer.text(option::SECTION_APPLICATION, section.application);
        writer.block(block::SECTION)?;
        Ok(writer)
    }

    /// Adds an interface, whose packets can follow from now on.
    ///
    /// # Errors
    /// Writing fails.
    pub fn interface(&mut self, interface: &Interface<'_>) -> io::Result<InterfaceId> {
        const NANOSECONDS: u8 = 9;
        let id = InterfaceId(self.interfaces.len() as u32);
        let snap_len = interface.snap_len;
        self.put(&interface.link.0.to_le_bytes());
        self.put(&[0; 2]);
        self.put(&snap_len.to_le_bytes());
        self.text(option::INTERFACE_NAME, interface.name);
        self.text(option::INTERFACE_DESCRIPTION, interface.description);
        self.option(option::INTERFACE_RESOLUTION, &[NANOSECONDS]);
        self.block(block::INTERFACE)?;
        self.interfaces.push(Captured { snap_len, written: 0, lost: 0 });
        Ok(id)
    }

    /// Adds a packet.
    ///
    /// # Errors
    /// Writing fails.
    ///
    /// # Panics
    /// The interface is another file's.
    pub fn packet(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        let interface = &mut self.interfaces[packet.interface.0 as usize];
        interface.written += 1;
        let kept = match interface.snap_len {
            0 => packet.bytes,
            most => &packet.bytes[..packet.bytes.len().min(most as usize)],
        };
        self.first = Some(self.first.map_or(packet.time, |first| first.min(packet.time)));
        self.last = self.last.max(packet.time);

        self.put(&packet.interface.0.to_le_bytes());
        self.time(packet.time);
        self.put(&(kept.len() as u32).to_le_bytes());
        let original_len = packet.original_len.max(packet.bytes.len() as u32);
        self.put(&original_len.to_le_bytes());
        self.put(kept);
        self.pad(kept.len());
        // 4.3.1: the lowest two bits are the direction.
        match packet.direction {
            Direction::Unknown => {}
            Direction::Inbound => self.option(option::PACKET_FLAGS, &1_u32.to_le_bytes()),
            Direction::Outbound => self.option(option::PACKET_FLAGS, &2_u32.to_le_bytes()),
        }
        if let Some(id) = packet.id {
            self.option(option::PACKET_ID, &id.to_le_bytes());
        }
        self.text(option::COMMENT, packet.comment);
        self.block(block::ENHANCED_PACKET)
    }

    /// Counts packets that passed the interface and that the capture has lost.
    ///
    /// # Panics
    /// The interface is another file's.
    pub fn lost(&mut self, interface: InterfaceId, packets: u64) {
        self.interfaces[interface.0 as usize].lost += packets;
    }

    /// Ends the capture with the statistics of each interface, and gives back what it was written to.
    ///
    /// # Errors
    /// Writing fails.
    pub fn finish(mut self) -> io::Result<W> {
        let (first, last) = (self.first, self.last);
        for (id, Captured { written, lost, .. }) in
            std::mem::take(&mut self.interfaces).into_iter().enumerate()
        {
            self.put(&(id as u32).to_le_bytes());
            self.time(last);
            if let Some(first) = first {
                self.option(option::STATISTICS_START, &halves(first));
                self.option(option::STATISTICS_END, &halves(last));
            }
            self.option(option::STATISTICS_RECEIVED, &(written + lost).to_le_bytes());
            self.option(option::STATISTICS_DROPPED, &lost.to_le_bytes());
            self.block(block::STATISTICS)?;
        }
        self.out.flush()?;
        Ok(self.out)
    }

    fn put(&mut self, bytes: &[u8]) {
        self.body.extend_from_slice(bytes);
    }

    fn pad(&mut self, len: usize) {
        self.put(&[0; 3][..padding(len)]);
    }

    fn time(&mut self, time: Time) {
        self.put(&halves(time));
    }

    fn text(&mut self, code: u16, text: &str) {
        if !text.is_empty() {
            let longest = text.len().min(usize::from(u16::MAX));
            let end = (0..=longest).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            self.option(code, &text.as_bytes()[..end]);
        }
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        self.put(&code.to_le_bytes());
        self.put(&(value.len() as u16).to_le_bytes());
        self.put(value);
        self.pad(value.len());
        self.has_options = true;
    }

    /// Writes what was put since the last block as the body of one.
    fn block(&mut self, kind: u32) -> io::Result<()> {
        if std::mem::take(&mut self.has_options) {
            self.put(&option::END.to_le_bytes());
            self.put(&[0; 2]);
        }
        let len = ((self.body.len() + FRAME_BYTES) as u32).to_le_bytes();
        self.out.write_all(&kind.to_le_bytes())?;
        self.out.write_all(&len)?;
        self.out.write_all(&self.body)?;
        self.out.write_all(&len)?;
        self.body.clear();
        Ok(())
    }
}

impl Writer<NewFile> {
    /// Begins a capture file. It has its name from [`Writer::keep`] on; without that call there is none.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn create(path: &Path, section: &Section<'_>) -> io::Result<Self> {
        Self::new(NewFile::create(path)?, section)
    }

    /// Ends the capture and gives the file its name.
    ///
    /// # Errors
    /// Writing fails.
    pub fn keep(self) -> io::Result<()> {
        self.finish()?.keep()
    }
}

/// 4.3: a time is two words of 32 bits, the upper one first in both byte orders.
fn halves(time: Time) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&((time.0 >> 32) as u32).to_le_bytes());
    bytes[4..].copy_from_slice(&(time.0 as u32).to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests;
