//! Reports of each packet's arrival time and ECN codepoint, as RFC 8888 puts them on the wire: a
//! 16-bit word per packet with the time from arrival to report in 1/1024 s. The receiver records
//! arrivals, the sender keeps what it sent and reads the reports.

use sojourn_cc::PacketReport;
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
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time(n * 1_000_000)
    }

    /// Sends `n` packets 10 ms apart.
    fn sent(n: u64) -> History {
        let mut history = History::default();
        for seq in 0..n {
            history.on_send(ms(10 * seq), seq, 1000);
        }
        history
    }

    fn read(history: &mut History, now: Time, report: &Report) -> (News, Vec<PacketReport>) {
        let mut out = Vec::new();
        let news = history.read(now, report, &mut out);
        (news, out)
    }

    #[test]
    fn words_are_those_of_rfc_8888() {
        let mut recorder = Recorder::default();
        recorder.on_packet(ms(1000), 65_534, Ecn::Ect1);
        recorder.on_packet(ms(1010), 65_536, Ecn::Ce);
        recorder.on_packet(ms(2000), 65_537, Ecn::Ect0);
        let report = recorder.report(ms(2000)).expect("three arrivals");
        assert_eq!(report.begin, 65_534);
        assert_eq!(report.stamp, 2 << 16);
        // 1 s is 1024 units of the offset, 990 ms are 1013.76.
        assert_eq!(report.words(), [0xa400, 0, 0xe3f5, 0xc000]);
        // RTCP header 8, block 8 + 4 words of 2, timestamp 4.
        assert_eq!(report.bytes(), 28);
        recorder.on_packet(ms(3000), 65_538, Ecn::NotEct);
        assert_eq!(recorder.report(ms(12_000)).expect("one").words()[0], 0xa000 | 0x1ffe, "11 s");
    }

    #[test]
    fn arrival_times_are_within_a_unit_and_the_rtt_leaves_out_the_wait() {
        let mut history = sent(20);
        let mut recorder = Recorder::default();
        for seq in 0..20 {
            recorder.on_packet(ms(10 * seq + 33), seq, Ecn::NotEct);
        }
        let report = recorder.report(ms(290)).expect("twenty arrivals");
        let (news, out) = read(&mut history, ms(297), &report);
        assert_eq!((news.received, news.missing, news.bytes), (20, 0, 20_000));
        assert_eq!((history.packets(), history.bytes()), (0, 0));
        for report in &out {
            let owd = report.received.expect("all came").since(report.sent).as_millis_f64();
            assert!((33.0 - 0.02..34.0).contains(&owd), "{owd}");
        }
        let rtt = news.rtt.expect("a sample").as_millis_f64();
        assert!((40.0..41.0).contains(&rtt), "{rtt}");
    }

    #[test]
    fn each_fate_is_told_once_and_a_late_packet_again() {
        let mut history = sent(5);
        let mut recorder = Recorder::default();
        for seq in [0, 1, 3] {
            recorder.on_packet(ms(50), seq, Ecn::NotEct);
        }
        let first = recorder.report(ms(50)).expect("news");
        assert!(recorder.report(ms(60)).is_none(), "nothing is new");
        let (news, out) = read(&mut history, ms(60), &first);
        assert_eq!((news.received, news.missing, news.late), (3, 1, 0));
        let told: Vec<_> = out.iter().map(|r| (r.seq, r.received.is_some())).collect();
        assert_eq!(told, [(0, true), (1, true), (2, false), (3, true)]);
        assert_eq!(history.packets(), 1);
        assert_eq!(read(&mut history, ms(61), &first).0, News::default(), "a copy");
        recorder.on_packet(ms(70), 2, Ecn::NotEct);
        recorder.on_packet(ms(70), 3, Ecn::NotEct);
        let (news, out) = read(&mut history, ms(80), &recorder.report(ms(75)).expect("news"));
        assert_eq!((news.received, news.missing, news.late), (1, 0, 1));
        assert_eq!(out.len(), 1);
    }

    #[test]
    fn a_lost_report_is_made_up_by_the_next() {
        let mut history = sent(50);
        let mut recorder = Recorder::default();
        for seq in 0..25 {
            recorder.on_packet(ms(10 * seq), seq, Ecn::NotEct);
        }
        recorder.report(ms(250)).expect("lost on its way");
        for seq in 25..50 {
            recorder.on_packet(ms(10 * seq), seq, Ecn::NotEct);
        }
        let report = recorder.report(ms(500)).expect("news");
        assert_eq!(read(&mut history, ms(510), &report).0.received, 50);
    }

    #[test]
    fn a_gap_is_reported_in_parts_and_what_no_report_covered_is_given_up() {
        let mut history = sent(300);
        let mut recorder = Recorder::default();
        recorder.on_packet(ms(0), 0, Ecn::NotEct);
        recorder.on_packet(ms(3000), 299, Ecn::NotEct);
        let parts: Vec<Report> = std::iter::from_fn(|| recorder.report(ms(3000))).collect();
        assert_eq!(parts.len(), 6);
        let missing: u32 = parts.iter().map(|r| read(&mut history, ms(3010), r).0.missing).sum();
        assert_eq!((missing, history.packets()), (298, 0));
        let mut history = sent(300);
        read(&mut history, ms(3010), &parts[5]);
        assert_eq!(history.packets(), 0);
    }

    #[test]
    fn copies_keep_the_first_time_and_any_mark() {
        let mut recorder = Recorder::default();
        recorder.on_packet(ms(0), 0, Ecn::Ect0);
        recorder.on_packet(ms(1000), 0, Ecn::Ce);
        recorder.on_packet(ms(1000), 0, Ecn::Ect0);
        assert_eq!(recorder.report(ms(1000)).expect("news").words(), [0xe400]);
    }

    #[test]
    fn numbers_and_times_wrap() {
        // Past 18.2 hours and 65536 packets.
        let start = 70_000_000_u64;
        let mut history = History::default();
        let mut recorder = Recorder::default();
        for seq in 65_500..65_600_u64 {
            history.on_send(ms(start + seq), seq, 100);
            recorder.on_packet(ms(start + seq + 5), seq, Ecn::NotEct);
            if seq % 20 == 19 {
                let report = recorder.report(ms(start + seq + 6)).expect("news");
                let (news, out) = read(&mut history, ms(start + seq + 8), &report);
                assert_eq!((news.received, news.missing), (20, 0));
                // The first report's clock is taken as it stands, in 32 bits.
                let span = out[19].received.expect("it came").since(out[0].received.expect("too"));
                assert!((18.0..20.0).contains(&span.as_millis_f64()), "{span}");
            }
        }
    }

    #[test]
    fn a_report_makes_no_packet_larger_than_a_tcp_segment_does() {
        assert_eq!(size_of::<crate::Body>(), size_of::<crate::tcp::Segment>());
    }
}
