//! Reports of each packet's arrival time and ECN codepoint, as RFC 8888 puts them on the wire: a
//! 16-bit word per packet with the time from arrival to report in 1/1024 s. The receiver records
//! arrivals, the sender keeps what it sent and reads the reports.

use sojourn_cc::PacketReport;
use sojourn_core::wire::ccfb::{self, Count, Counting, Format, Writer, metric, word};
use sojourn_core::wire::rtp;
use sojourn_core::wire::ticks::Ticks;
use sojourn_core::{Dur, Ecn, Time};

/// Packets in a report, at most; as many reach back from the newest, so that a lost report matters
/// little.
pub const REPORTED: usize = 52;
/// New packets after which a report does not wait for its time.
const FULL: u32 = 40;
/// Arrivals that the receiver remembers.
const REMEMBERED: usize = 512;
/// Packets that the sender remembers.
const HISTORY: usize = 4096;
/// Arrival time offset: none known, or too long ago to say.
const NO_OFFSET: u16 = 0x1ffe;
const OFFSET_BITS: u16 = 0x1fff;
const RECEIVED: u16 = 0x8000;
const ECN_SHIFT: u16 = 13;
/// RTCP header with its sender's SSRC, then media SSRC, first number and count, and the timestamp.
const FIXED_BYTES: u32 = 8 + 8 + 4;
const NS_PER_S: u64 = 1_000_000_000;

/// 1/65536 s, the unit of a report's timestamp.
fn ticks(time: Time) -> u64 {
    ((u128::from(time.0) << 16) / u128::from(NS_PER_S)) as u64
}

fn from_ticks(ticks: u64) -> Time {
    Time(((u128::from(ticks) * u128::from(NS_PER_S)) >> 16) as u64)
}

/// One report of one stream. Its metric words are stored elsewhere, so that it makes no packet's
/// [`crate::Body`] larger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// When it was made, in 1/65536 s of the receiver's clock.
    stamp: u32,
    /// Sequence number of the first word.
    begin: u16,
    words: Box<[u16]>,
}

impl Report {
    /// Bytes of the RTCP packet.
    pub fn bytes(&self) -> u32 {
        FIXED_BYTES + 2 * (self.words.len() as u32).next_multiple_of(2)
    }

    /// One word per packet: received, ECN, arrival time offset.
    pub fn words(&self) -> &[u16] {
        &self.words
    }

    /// Writes the RTCP packet; false if `out` has no room for [`Report::bytes`].
    pub fn write(&self, out: &mut [u8]) -> bool {
        let stamp = Ticks(self.stamp);
        let writer = Writer::new(out, Format::default(), ccfb::TOOL_SSRC, stamp);
        let Some(mut writer) = writer else { return false };
        let metrics = self.words.iter().map(|word| metric(*word, stamp));
        writer.block(rtp::TOOL_SSRC, self.begin, metrics) && writer.finish() > 0
    }

    /// Reads what [`Report::write`] writes; of several streams (RFC 8888 3.1) the block of ours.
    pub fn read(datagram: &[u8]) -> Option<Self> {
        let mut counting = Counting::fixed(Count::Exact);
        let report = ccfb::Report::parse(datagram, &mut counting).ok()?;
        let block = report.blocks().find(|block| block.ssrc == rtp::TOOL_SSRC)?;
        let words = block.metrics().map(|metric| word(metric, report.stamp)).collect();
        Some(Self { stamp: report.stamp.0, begin: block.begin, words })
    }
}

#[derive(Clone, Copy, Debug)]
struct Arrival {
    seq: u64,
    ticks: u64,
    ecn: Ecn,
}

/// The receiver's memory of arrivals.
#[derive(Debug)]
pub struct Recorder {
    ring: Vec<Option<Arrival>>,
    first: u64,
    highest: Option<u64>,
    /// First number that no report has covered.
    unreported: u64,
    /// Arrivals that no report has covered.
    fresh: u32,
}

impl Default for Recorder {
    fn default() -> Self {
        Self { ring: vec![None; REMEMBERED], first: 0, highest: None, unreported: 0, fresh: 0 }
    }
}

impl Recorder {
    /// A packet came. RFC 8888 3.1: of copies the first counts, and a mark on any of them.
    pub fn on_packet(&mut self, now: Time, seq: u64, ecn: Ecn) {
        match self.highest {
            None => (self.first, self.unreported, self.highest) = (seq, seq, Some(seq)),
            Some(highest) if seq > highest => self.highest = Some(seq),
            Some(highest) if seq < self.first || highest - seq >= REMEMBERED as u64 => return,
            Some(_) => {}
        }
        let slot = &mut self.ring[seq as usize % REMEMBERED];
        match slot {
            Some(known) if known.seq == seq => {
                if ecn == Ecn::Ce {
                    known.ecn = ecn;
                }
            }
            _ => {
                *slot = Some(Arrival { seq, ticks: ticks(now), ecn });
                self.fresh += 1;
            }
        }
    }

    /// Whether there is anything new to report.
    pub fn has_news(&self) -> bool {
        self.fresh > 0
    }

    /// Whether enough is new that a report should not wait.
    pub fn is_full(&self) -> bool {
        self.fresh >= FULL
    }

    /// The next report: up to the newest packet, or the next part of the way there. Reports
    /// overlap, so that little depends on a single one.
    pub fn report(&mut self, now: Time) -> Option<Report> {
        let highest = self.highest.filter(|_| self.has_news())?;
        let recent = (highest + 1).saturating_sub(REPORTED as u64);
        let oldest = (highest + 1).saturating_sub(REMEMBERED as u64).max(self.first);
        let begin = recent.min(self.unreported).max(oldest);
        let end = highest.min(begin + REPORTED as u64 - 1);
        let stamp = ticks(now);
        let word = |seq: u64| match self.ring[seq as usize % REMEMBERED] {
            Some(arrival) if arrival.seq == seq => {
                let offset = ((stamp - arrival.ticks) >> 6).min(u64::from(NO_OFFSET)) as u16;
                RECEIVED | ((arrival.ecn as u16) << ECN_SHIFT) | offset
            }
            _ => 0,
        };
        let words = (begin..=end).map(word).collect();
        self.unreported = end + 1;
        if end == highest {
            self.fresh = 0;
        }
        Some(Report { stamp: stamp as u32, begin: begin as u16, words })
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Fate {
    /// Not sent, or forgotten.
    #[default]
    None,
    InFlight,
    Received,
    Missing,
    /// No report covered it while it was in flight.
    Untold,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    seq: u64,
    sent: Time,
    bytes: u32,
    fate: Fate,
}

/// The sender's memory of what it sent.
#[derive(Debug)]
pub struct History {
    ring: Vec<Entry>,
    /// Number after the newest.
    next: u64,
    /// First that may be in flight.
    oldest: u64,
    /// Timestamp of the newest report, unwrapped.
    stamp: Option<u64>,
    packets: u32,
    bytes: u64,
}

/// What a report brought that is new.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct News {
    /// Packets received.
    pub received: u32,
    /// Their IP bytes.
    pub bytes: u64,
    /// Of those, marked CE.
    pub ce: u32,
    /// Of those, ECT(1).
    pub ect1: u32,
    /// Packets missing.
    pub missing: u32,
    /// Packets that had been missing and have come.
    pub late: u32,
    /// Round trip of the newest packet, without the time that the receiver held it.
    pub rtt: Option<Dur>,
}

impl Default for History {
    fn default() -> Self {
        let ring = vec![Entry::default(); HISTORY];
        Self { ring, next: 0, oldest: 0, stamp: None, packets: 0, bytes: 0 }
    }
}

impl History {
    /// A packet leaves; numbers rise, with gaps where packets were discarded before.
    pub fn on_send(&mut self, now: Time, seq: u64, bytes: u32) {
        if self.packets == 0 {
            self.oldest = seq;
        }
        self.next = seq + 1;
        self.settle(self.next.saturating_sub(HISTORY as u64));
        self.ring[seq as usize % HISTORY] = Entry { seq, sent: now, bytes, fate: Fate::InFlight };
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }

    /// Packets in flight.
    pub fn packets(&self) -> u32 {
        self.packets
    }

    /// IP bytes in flight.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Nothing is in flight any more.
    pub fn forget(&mut self) {
        self.settle(self.next);
    }

    /// What is in flight before number `before` will not be heard of.
    fn settle(&mut self, before: u64) {
        while self.oldest < before {
            let entry = &mut self.ring[self.oldest as usize % HISTORY];
            if entry.seq == self.oldest && entry.fate == Fate::InFlight {
                entry.fate = Fate::Untold;
                self.packets -= 1;
                self.bytes -= u64::from(entry.bytes);
            }
            self.oldest += 1;
        }
    }

    /// Reads a report that arrives now. What is new goes to `out` in the order of the numbers.
    pub fn read(&mut self, now: Time, report: &Report, out: &mut Vec<PacketReport>) -> News {
        let mut news = News::default();
        let first = u64::from(report.stamp);
        let newest = self.stamp.unwrap_or(first);
        let ahead = report.stamp.wrapping_sub(newest as u32) as i32;
        let Some(stamp) = newest.checked_add_signed(i64::from(ahead)) else { return news };
        self.stamp = Some(stamp.max(newest));
        // 16 bits are enough: fewer packets are remembered.
        let behind = u64::from((self.next as u16).wrapping_sub(report.begin));
        let Some(begin) = self.next.checked_sub(behind) else { return news };
        for (seq, word) in (begin..self.next).zip(report.words()) {
            let entry = &mut self.ring[seq as usize % HISTORY];
            if entry.seq != seq || entry.fate == Fate::None {
                continue;
            }
            let was = entry.fate;
            let received = word & RECEIVED != 0;
            match (was, received) {
                (Fate::Received, _) | (Fate::Missing | Fate::Untold, false) => continue,
                (_, true) => entry.fate = Fate::Received,
                (_, false) => entry.fate = Fate::Missing,
            }
            if was == Fate::InFlight {
                self.packets -= 1;
                self.bytes -= u64::from(entry.bytes);
            }
            let ecn = Ecn::from_tos((word >> ECN_SHIFT) as u8);
            let offset = word & OFFSET_BITS;
            if received {
                news.received += 1;
                news.bytes += u64::from(entry.bytes);
                news.ce += u32::from(ecn == Ecn::Ce);
                news.ect1 += u32::from(ecn == Ecn::Ect1);
                news.late += u32::from(was == Fate::Missing);
                if offset >= NO_OFFSET {
                    continue; // RFC 8888 3.1: its arrival is unknown or too long ago
                }
                let held = Dur(u64::from(offset) * NS_PER_S / 1024);
                news.rtt = Some(now.since(entry.sent + held));
            } else {
                news.missing += 1;
            }
            let arrived = from_ticks(stamp.saturating_sub(u64::from(offset) << 6));
            out.push(PacketReport {
                seq,
                bytes: entry.bytes,
                sent: entry.sent,
                received: received.then_some(arrived),
                ecn,
            });
        }
        // Reports come in order: one that covered these was lost.
        self.settle(begin);
        news
    }
}

#[cfg(test)]
mod tests;
