//! The receiver of SCReAM's tool: when and what it reports (RFC 8888). EricssonResearch/scream,
//! ScreamRx.cpp and scream_receiver.cpp, versions 2020-03-20, 2024-10-28 and 2026-06-30.
//!
//! Every report covers the newest [`Params::reported`] numbers, so that most are reported twice. It
//! leaves with the last packet of a frame, with [`Params::ackdiff`] new numbers, or when the last one
//! is too old. Late packets that a report does not cover have reports of their own.
//!
//! Absent in parity too: a search for late packets that never ends after duplicates, and a buffer that
//! large reports overflow.

mod stream;

use sojourn_cc::scream::{STREAMS, Ticks, Version};
use sojourn_core::wire::ccfb::{self, Count, Format, Writer};
use sojourn_core::wire::rtp::{self, Header};
use sojourn_core::{Ecn, Time};

use stream::{News, Stream};

/// Bytes that the longest report has.
pub const REPORT_BYTES: usize = 2048;

/// Numbers that a report covers by default.
const REPORTED: u16 = 64;
/// Numbers that are remembered: the tool of 2020, and later ones.
const HISTORY_2020: u16 = 128;
const HISTORY: u16 = 512;
/// A report takes no further block beyond this length.
const LONG: usize = 900;
/// Nor one that makes it longer than this: reports are not to be fragmented.
const DATAGRAM: usize = 1200;
/// The tool looks for reports that are due every 33 ticks (0.5 ms).
const GRID: u64 = 33;
/// Without a packet for 2 s the receiver begins anew.
const IDLE: u64 = 2 * 65_536;
/// The rate is measured over 100 ms at least.
const RATE_INTERVAL: u64 = 6553;
const FIRST_RATE: f64 = 1e5;
/// Greatest age of the last report: before the rate is known (200 ms), and later.
const FIRST_INTERVAL: u64 = 13_107;
const INTERVAL_2024: u64 = 327;
const INTERVAL_2026: u64 = 2621;
/// Older than this (10 ms), a report is followed by one however few packets came.
const PATIENCE_2024: u64 = 655;

/// When reports that only wait for their time are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Timer {
    /// At once when they are due.
    #[default]
    Exact,
    /// At multiples of 33 ticks, when the tool looks for them (every 0.5 ms).
    Grid,
}

/// Parameters of a receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// The tool whose rules hold.
    pub version: Version,
    /// The tool's quirks: one stream whatever its SSRC says, of copies the last counts, all numbers
    /// from 1 on are reported, differences of numbers do not know that these wrap.
    pub parity: bool,
    /// New numbers that make a report; none: half of [`Params::reported`] (2020: a quarter).
    pub ackdiff: Option<u16>,
    /// Numbers in a report.
    pub reported: u16,
    /// What count fields hold.
    pub count: Count,
    /// SSRC of reports.
    pub ssrc: u32,
    /// SSRC that blocks name; none: that of the packets.
    pub media_ssrc: Option<u32>,
    /// When reports that wait for their time are made.
    pub timer: Timer,
}

impl Params {
    /// Those of the tool of this version; without parity RFC 8888's count and SSRC.
    pub fn new(version: Version, parity: bool) -> Self {
        Self {
            version,
            parity,
            ackdiff: None,
            reported: REPORTED,
            count: if parity { Count::LessOne } else { Count::Exact },
            ssrc: ccfb::TOOL_SSRC,
            media_ssrc: parity.then_some(rtp::TOOL_SSRC),
            timer: Timer::Exact,
        }
    }

    /// Packets that are remembered: numbers that a report can cover.
    pub fn history(&self) -> u16 {
        if self.rules() == Rules::V2020 { HISTORY_2020 } else { HISTORY }
    }

    /// What is wrong with `ackdiff` and `reported`, by the names of their options.
    pub fn check(&self) -> Result<(), String> {
        let most = self.history();
        let range = |name, value: u16| {
            let ok = (1..=most).contains(&value);
            ok.then_some(()).ok_or_else(|| format!("{name} {value}: expected 1 to {most}"))
        };
        range("-nreported", self.reported)?;
        self.ackdiff.map_or(Ok(()), |n| range("-ackdiff", n))
    }

    fn rules(&self) -> Rules {
        match self.version {
            Version::Rfc8298 | Version::V2020 => Rules::V2020,
            Version::V2024 | Version::V2024b => Rules::V2024,
            Version::Draft | Version::V2026 => Rules::V2026,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rules {
    V2020,
    V2024,
    V2026,
}

/// What a packet meant for the receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// The receiver began anew since nothing had come for 2 s.
    pub reset: bool,
    /// Number of the packet that came before this one if others are missing between or the order is
    /// wrong; the first packet compares with 0.
    pub jumped_from: Option<u16>,
}

/// Totals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Media packets.
    pub packets: u64,
    /// Bytes of their RTP payload.
    pub payload: u64,
    /// Packets by codepoint: Not-ECT, ECT(1), ECT(0), CE.
    pub ecn: [u64; 4],
    /// Copies of packets that had come.
    pub duplicates: u64,
    /// Packets whose numbers are so far off that the next must confirm them, of no known stream, or
    /// too old.
    pub ignored: u64,
    /// Reports.
    pub reports: u64,
}

/// Why a report is made now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Trigger {
    /// A frame is complete, or time is up: one packet is enough.
    any: bool,
    /// By a packet: late ones have reports of their own behind it.
    packet: bool,
}

/// The receiver.
#[derive(Clone, Debug)]
pub struct Receiver {
    params: Params,
    rules: Rules,
    ackdiff: u16,
    epoch: Time,
    streams: Vec<Stream>,
    trigger: Option<Trigger>,
    /// Timestamp of the report whose late packets are reported next.
    late: Option<Ticks>,
    /// Ticks of the last packet, the last report, and the start of the rate's measurement.
    arrived: u64,
    reported: u64,
    measured: Option<u64>,
    bytes: u64,
    rate: f64,
    interval: u64,
    previous: u16,
    counts: Counts,
}

impl Receiver {
    /// A receiver whose clock starts now. Parameters out of range ([`Params::check`]) become the
    /// nearest that are in it.
    pub fn new(mut params: Params, now: Time) -> Self {
        let range = |n: u16| n.clamp(1, params.history());
        let (reported, ackdiff) = (range(params.reported), params.ackdiff.map(range));
        params.reported = reported;
        let rules = params.rules();
        let share = if rules == Rules::V2020 { 4 } else { 2 };
        Self {
            params,
            rules,
            ackdiff: ackdiff.unwrap_or_else(|| (params.reported / share).max(1)),
            epoch: now,
            streams: Vec::new(),
            trigger: None,
            late: None,
            arrived: 0,
            reported: 0,
            measured: None,
            bytes: 0,
            rate: FIRST_RATE,
            interval: FIRST_INTERVAL,
            previous: 0,
            counts: Counts::default(),
        }
    }

    /// Its parameters.
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// Totals since the start.
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Rate of arrivals, bit/s of RTP, as the tool's timing sees it: never more than 5 % below the
    /// last.
    pub const fn rate(&self) -> f64 {
        self.rate
    }

    /// A media packet came; `bytes` with its RTP header. [`Receiver::next_report`] follows.
    pub fn on_rtp(&mut self, now: Time, header: &Header, bytes: u32, ecn: Ecn) -> Arrival {
        let ticks = Ticks::count(now, self.epoch);
        let reset = ticks.saturating_sub(self.arrived) > IDLE;
        if reset {
            self.begin_anew();
        }
        self.arrived = ticks;
        let (seq, previous) = (header.seq, self.previous);
        self.previous = seq;
        let jumped_from = (seq.wrapping_sub(previous) > 1).then_some(previous);
        self.counts.packets += 1;
        self.counts.payload += u64::from(header.payload);
        self.counts.ecn[ecn as usize] += 1;
        self.measure(ticks, bytes);
        self.record(ticks, header, ecn);
        Arrival { reset, jumped_from }
    }

    fn begin_anew(&mut self) {
        self.streams.clear();
        (self.trigger, self.late) = (None, None);
        (self.reported, self.measured) = (0, None);
        (self.bytes, self.rate, self.interval) = (0, FIRST_RATE, FIRST_INTERVAL);
    }

    fn measure(&mut self, ticks: u64, bytes: u32) {
        self.bytes += u64::from(bytes);
        let passed = ticks.saturating_sub(*self.measured.get_or_insert(ticks));
        if passed <= RATE_INTERVAL {
            return;
        }
        let rate = self.bytes as f64 * 8.0 * 65_536.0 / passed as f64;
        self.rate = (0.95 * self.rate).max(rate);
        (self.measured, self.bytes) = (Some(ticks), 0);
        match self.rules {
            Rules::V2020 => {}
            Rules::V2024 => self.interval = INTERVAL_2024,
            Rules::V2026 => self.interval = INTERVAL_2026,
        }
    }

    fn record(&mut self, ticks: u64, header: &Header, ecn: Ecn) {
        let ssrc = self.params.media_ssrc.unwrap_or(header.ssrc);
        let Some(index) = self.stream(ticks, ssrc) else {
            self.counts.ignored += 1;
            return;
        };
        let stream = &mut self.streams[index];
        let is_new = match stream.receive(ticks, header.seq, ecn) {
            News::Fresh => true,
            News::Copy => {
                self.counts.duplicates += 1;
                self.params.parity
            }
            News::Ignored => {
                self.counts.ignored += 1;
                return;
            }
        };
        stream.flush |= header.marker && is_new;
        if stream.fresh > 0 && (header.marker || stream.wants(self.ackdiff)) {
            let any = header.marker || self.trigger.is_some_and(|t| t.any);
            self.trigger = Some(Trigger { any, packet: true });
        }
    }

    /// Where a source's stream is; a new one takes a free place or that of a silent one.
    fn stream(&mut self, ticks: u64, ssrc: u32) -> Option<usize> {
        let mut streams = self.streams.iter();
        if let Some(known) = streams.position(|stream| stream.ssrc == ssrc) {
            return Some(known);
        }
        if self.streams.len() < STREAMS {
            self.streams.push(Stream::new(ssrc, &self.params));
            return Some(self.streams.len() - 1);
        }
        let is_silent = |stream: &Stream| ticks.saturating_sub(stream.arrived) > IDLE;
        let silent = self.streams.iter().position(is_silent)?;
        self.streams[silent] = Stream::new(ssrc, &self.params);
        Some(silent)
    }

    /// When [`Receiver::next_report`] has a report though nothing came; [`Time::NEVER`]: not before
    /// the next packet.
    pub fn deadline(&self) -> Time {
        self.due().map_or(Time::NEVER, |ticks| Ticks::reached(ticks, self.epoch))
    }

    fn due(&self) -> Option<u64> {
        let fresh: u32 = self.streams.iter().map(|s| s.fresh).max()?;
        if fresh == 0 {
            return None;
        }
        let full = self.streams.iter().any(|s| s.fresh > 0 && s.wants(self.ackdiff));
        let mut due = if full { 0 } else { self.reported + self.interval + 1 };
        // The tool of 2020 leaves out a stream with few packets even if its time has come.
        if self.rules == Rules::V2020 && fresh < self.few() {
            due = due.max(self.reported + PATIENCE_2024 + 1);
        }
        due = due.max(self.arrived);
        Some(match self.params.timer {
            Timer::Exact => due,
            Timer::Grid => due.next_multiple_of(GRID),
        })
    }

    /// Packets that are enough for a report of their stream.
    fn few(&self) -> u32 {
        let few: u16 = if self.rules == Rules::V2026 { 16 } else { 8 };
        u32::from(few.min(self.ackdiff))
    }

    /// Writes the next report to send now into `out`, which has room for [`REPORT_BYTES`]; its length.
    /// To be called until there is none: after every packet, and at [`Receiver::deadline`].
    pub fn next_report(&mut self, now: Time, out: &mut [u8]) -> Option<usize> {
        let ticks = Ticks::count(now, self.epoch);
        let stamp = Ticks(ticks as u32);
        if let Some(stamp) = self.late {
            if let Some(len) = self.report_late(stamp, out) {
                return Some(len);
            }
            self.late = None;
        }
        if let Some(trigger) = self.trigger.take()
            && let Some(len) = self.report(ticks, trigger, out)
        {
            if trigger.packet && self.rules != Rules::V2020 {
                self.late = Some(stamp);
            }
            return Some(len);
        }
        if self.due().is_some_and(|due| due <= ticks) {
            if self.rules == Rules::V2020 {
                // As the tool of 2020 does it: while packets alone make reports, the first interval
                // stays. 2 % of the rate in reports of 100 bytes, 10 to 500 of them per second.
                let per_second = (0.02 * self.rate / 800.0).clamp(10.0, 500.0);
                self.interval = (65_536.0 / per_second) as u64;
            }
            return self.report(ticks, Trigger { any: true, packet: false }, out);
        }
        None
    }

    fn report(&mut self, ticks: u64, trigger: Trigger, out: &mut [u8]) -> Option<usize> {
        let patience = if self.rules == Rules::V2026 { self.interval } else { PATIENCE_2024 };
        let old = ticks.saturating_sub(self.reported) > patience;
        let any = trigger.any && self.rules != Rules::V2020;
        let few = self.few();
        let mut writer = self.writer(out, Ticks(ticks as u32))?;
        let limit = if self.params.parity { usize::MAX } else { DATAGRAM };
        let mut left = false;
        for stream in &mut self.streams {
            let flush = self.rules == Rules::V2026 && stream.flush;
            if stream.fresh == 0 || !(stream.fresh >= few || flush || old || any) {
                continue;
            }
            loop {
                let block = stream.window();
                let end = writer.len() + Writer::block_bytes(usize::from(block.words));
                let room = writer.is_empty() || end + ccfb::STAMP_BYTES <= limit;
                if writer.len() >= LONG || !room || !stream.write_block(block, &mut writer) {
                    left = true;
                    break;
                }
                stream.mark_reported(block);
                // The tool of 2024 sees no new packets behind its first block.
                let is_single = self.params.parity && self.rules == Rules::V2024;
                if stream.is_reported() || is_single {
                    stream.fresh = 0;
                    break;
                }
            }
            if self.params.parity {
                stream.fresh = 0;
            }
        }
        if writer.is_empty() {
            if left {
                self.streams.iter_mut().for_each(|stream| stream.fresh = 0); // no room for any
            }
            return None;
        }
        let len = writer.finish();
        if left && !self.params.parity {
            self.trigger = Some(Trigger { any: true, packet: trigger.packet });
        }
        self.reported = ticks;
        self.counts.reports += 1;
        Some(len)
    }

    /// A report of late packets alone.
    fn report_late(&mut self, stamp: Ticks, out: &mut [u8]) -> Option<usize> {
        let stream = self.streams.iter_mut().find(|stream| stream.has_late())?;
        let block = stream.late_window()?;
        let format = self.params.format(self.rules);
        let mut writer = Writer::new(out, format, self.params.ssrc, stamp)?;
        if !stream.write_block(block, &mut writer) {
            return None;
        }
        self.counts.reports += 1;
        Some(writer.finish())
    }

    fn writer<'a>(&self, out: &'a mut [u8], stamp: Ticks) -> Option<Writer<'a>> {
        Writer::new(out, self.params.format(self.rules), self.params.ssrc, stamp)
    }
}

impl Params {
    fn format(&self, rules: Rules) -> Format {
        Format { count: self.count, early: self.parity && rules == Rules::V2020 }
    }
}

#[cfg(test)]
mod tests;
