//! Reads captures: pcap and pcapng, compressed or not, from files and standard input.
//!
//! Files are read as streams through one buffer. A file that ends early or contradicts itself gives the records
//! that are whole, and its [`Facts`] say what is wrong and where.

mod compressed;
mod pcap;
mod pcapng;
mod window;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sojourn_core::Time;

use crate::facts::{Facts, Format};
use crate::{LinkType, Record};

pub use pcapng::Options;
use window::Window;

/// Bytes of a record at the most: more than the 512 KiB of the largest super-packets (Linux's GSO_MAX_SIZE).
const MOST_RECORD: u32 = 1 << 20;

/// Why a capture cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be opened, or its first bytes cannot be read.
    #[error("{}: {error}", path.display())]
    Open {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It begins like no capture.
    #[error("{}: expected a capture (pcap or pcapng, plain, .gz, .xz or .zst), found {found}", path.display())]
    Format {
        /// Which.
        path: PathBuf,
        /// How it begins.
        found: String,
    },
}

/// A capture that is being read.
pub struct Capture {
    window: Window,
    reader: Reader,
    facts: Facts,
}

enum Reader {
    Pcap(pcap::Reader),
    PcapNg(pcapng::Reader),
}

/// Where in the window a record is, and what it says.
struct Found {
    time: Time,
    interface: u32,
    link: LinkType,
    original_len: u32,
    at: usize,
    len: usize,
    options: (usize, usize),
    is_big_endian: bool,
}

impl Capture {
    /// Opens a file; `-` is standard input.
    ///
    /// # Errors
    /// It cannot be read, or is no capture.
    pub fn open(path: &Path) -> Result<Self, Error> {
        if path == Path::new("-") {
            return Self::read(io::stdin(), Path::new("standard input"));
        }
        let file =
            File::open(path).map_err(|error| Error::Open { path: path.to_owned(), error })?;
        Self::read(file, path)
    }

    /// Reads a stream, whose `path` is for messages.
    ///
    /// # Errors
    /// It cannot be read, or is no capture.
    pub fn read(source: impl Read + Send + 'static, path: &Path) -> Result<Self, Error> {
        let open = |error| Error::Open { path: path.to_owned(), error };
        let (source, compression) = compressed::plain(Box::new(source)).map_err(open)?;
        let mut window = Window::new(source);
        let mut facts = Facts { compression, ..Facts::default() };
        let reader = if let Some(reader) = pcap::Reader::begin(&mut window, &mut facts) {
            facts.format = Format::Pcap;
            Reader::Pcap(reader)
        } else if pcapng::is_section(&mut window) {
            facts.format = Format::PcapNg;
            Reader::PcapNg(pcapng::Reader::default())
        } else {
            return Err(match window.error() {
                Some(error) => open(error),
                None => Error::Format { path: path.to_owned(), found: window.beginning() },
            });
        };
        Ok(Self { window, reader, facts })
    }

    /// The next record, or None at the end of what can be read.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "a record borrows the buffer")]
    pub fn next(&mut self) -> Option<Record<'_>> {
        let found = match &mut self.reader {
            Reader::Pcap(reader) => reader.next(&mut self.window, &mut self.facts),
            Reader::PcapNg(reader) => reader.next(&mut self.window, &mut self.facts),
        }?;
        let Found { time, interface, link, original_len, at, len, .. } = found;
        let is_cut = (len as u32) < original_len;
        self.facts.count(time, interface, is_cut);
        let (from, to) = found.options;
        let bytes = self.window.at(at, len);
        let options = Options::new(self.window.at(from, to - from), found.is_big_endian);
        Some(Record { time, interface, link, original_len, bytes, options })
    }

    /// What is known so far; all of it when [`Capture::next`] has given None.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }
}

#[cfg(test)]
mod tests;
