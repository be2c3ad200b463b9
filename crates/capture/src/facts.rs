//! What a capture is, besides its packets: format, interfaces, counts, and what is damaged in it.

use serde::Serialize;
use sojourn_core::Time;

use crate::LinkType;

/// Damaged places that are listed one by one.
const MOST_DAMAGE: usize = 32;

/// Facts of a capture, as far as it was read.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Facts {
    /// How it is written.
    pub format: Format,
    /// What the file was compressed with.
    pub compression: Option<Compression>,
    /// What the first section says of who has captured (pcapng).
    pub section: Section,
    /// Of all sections, in their order.
    pub interfaces: Vec<Interface>,
    /// Packets that were read.
    pub records: u64,
    /// Those of which the capture keeps the beginning alone.
    pub cut_records: u64,
    /// Those with a time before that of a record before them.
    pub out_of_order: u64,
    /// Those without a time (Simple Packet Blocks), which get their predecessor's.
    pub without_time: u64,
    /// Earliest time, since 1970-01-01 00:00 UTC.
    #[serde(rename = "first_ns", serialize_with = "nanoseconds")]
    pub first: Option<Time>,
    /// Latest time.
    #[serde(rename = "last_ns", serialize_with = "nanoseconds")]
    pub last: Option<Time>,
    /// Bytes that were read, after decompression.
    pub bytes: u64,
    /// The first damaged places, in their order.
    pub damage: Vec<Damage>,
    /// How many there are in all.
    pub damaged_places: u64,
    /// Bytes that are in none of the records, because of damage.
    pub damaged_bytes: u64,
}

/// How a capture is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// The format of libpcap.
    #[default]
    Pcap,
    /// Blocks.
    PcapNg,
    /// None: an interface of this machine.
    Live,
}

/// What a file was compressed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// RFC 1952.
    Gzip,
    /// LZMA2 in the xz format.
    Xz,
    /// RFC 8878.
    Zstd,
}

/// Who has captured; empty where it does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Section {
    /// The machine.
    pub hardware: String,
    /// The operating system.
    pub os: String,
    /// The program.
    pub application: String,
    /// For people.
    pub comment: String,
}

/// Where packets were captured.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Interface {
    /// Its name, empty where the capture has none.
    pub name: String,
    /// What it is.
    pub description: String,
    /// What packets begin with.
    pub link: LinkType,
    /// Bytes that the capture keeps of a packet; 0: all.
    pub snap_len: u32,
    /// Step of its clock's numbers, s.
    pub resolution_s: f64,
    /// Packets that were read.
    pub records: u64,
    /// Packets that passed the filter, by the statistics of the capture.
    pub received: Option<u64>,
    /// Packets that the capture lost, by its statistics.
    pub dropped: Option<u64>,
}

/// A place where the file contradicts itself, or ends early.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// Where, in bytes after decompression.
    pub offset: u64,
    /// After how many records.
    pub after_records: u64,
    /// Bytes that were passed over.
    pub bytes: u64,
    /// What is wrong.
    pub reason: String,
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { offset, after_records, bytes, reason } = self;
        write!(
            f,
            "at byte {offset}, after {after_records} records: {reason}; {bytes} bytes not read"
        )
    }
}

impl Facts {
    /// Counts a packet.
    #[inline]
    pub(crate) fn count(&mut self, time: Time, interface: u32, is_cut: bool) {
        self.records += 1;
        self.cut_records += u64::from(is_cut);
        self.interfaces[interface as usize].records += 1;
        match self.last {
            Some(last) if time < last => self.earlier(time),
            Some(_) => {}
            None => self.first = Some(time),
        }
        self.last = self.last.max(Some(time));
    }

    #[cold]
    fn earlier(&mut self, time: Time) {
        self.out_of_order += 1;
        self.first = self.first.min(Some(time));
    }

    pub(crate) fn damaged(&mut self, offset: u64, bytes: u64, reason: String) {
        self.damaged_places += 1;
        self.damaged_bytes += bytes;
        if self.damage.len() < MOST_DAMAGE {
            self.damage.push(Damage { offset, after_records: self.records, bytes, reason });
        }
    }
}

#[expect(clippy::ref_option, reason = "serde hands over references to fields")]
fn nanoseconds<S: serde::Serializer>(time: &Option<Time>, to: S) -> Result<S::Ok, S::Error> {
    time.map(|time| time.0).serialize(to)
}
