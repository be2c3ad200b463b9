//! Congestion control feedback (RFC 8888) on what the other end sends: what it says, against what the capture
//! shows.
//!
//! Reports overlap, so that a packet's last verdict counts, once: received if any report says so, lost if every
//! report of it does.

use sojourn_core::wire::ccfb::{self, Count, Counting, Report};
use sojourn_core::wire::rtp::{PAYLOAD_TYPE, TOOL_SSRC};
use sojourn_core::wire::ticks::{PER_SECOND, Ticks};
use sojourn_core::{Ecn, Time};

use super::source::{Sent, Source, Verdict};
use crate::clock::{Delays, Fit, Floor, KEPT};
use crate::report::{Codepoints, Media, ScreamForm, Transitions};
use crate::samples::Samples;

/// Offsets of this many 1/1024 s and more say only that it was long ago (RFC 8888 3.1).
const LONGEST_OFFSET: u32 = 0x1ffe << 6;
/// Of the first byte, those of the format (RFC 4585 6.1).
const FORMAT_BITS: u32 = 5;
/// SCReAM's tool sends up to ten streams.
const TOOL_SSRCS: std::ops::Range<u32> = TOOL_SSRC..TOOL_SSRC + 10;
/// New packets with which its receiver reports, whatever the time (half of the 64 that a report covers).
const TOOL_ACKDIFF: u32 = 32;
/// Its receiver of 2024 reports after 5 ms, that of 2026 after 40 ms.
const TOOL_PATIENCE_S: f64 = 0.030;

#[derive(Clone, Debug, Default)]
pub(super) struct Feedback {
    counting: Counting,
    pub(super) reports: u64,
    unreadable: u64,
    /// Reports of the tool's receiver, and those in the format of before 2024.
    by_tool: u64,
    early: u64,
    /// Reports that neither the end of a frame nor the number of packets explains; of these, those that followed
    /// another one too soon for the receiver of 2026.
    timed: u64,
    impatient: u64,
    last: Option<Time>,
    interval: Samples,
    rtt: Samples,
    /// Arrivals by the receiver's clock less those by the capture's.
    delays: Delays,
    floor: Floor,
    /// Receiver's clock at the first report; what follows is counted from there, over the wrap.
    stamp: Option<Stamp>,
    received: Codepoints,
    lost: u64,
    unseen: u64,
    path: Transitions,
}

/// The receiver's clock without its wrap.
#[derive(Clone, Copy, Debug)]
struct Stamp {
    last: Ticks,
    count: i64,
}

impl Feedback {
    /// Reads a report on these sources.
    pub(super) fn on_report(&mut self, now: Time, packet: &[u8], sources: &mut [Source]) {
        let Ok(report) = Report::parse(packet, &mut self.counting) else {
            self.unreadable += 1;
            return;
        };
        let since_last = self.last.map(|last| now.since(last).as_secs_f64());
        if let Some(passed) = since_last {
            self.interval.record(passed * 1e3);
        }
        self.last = Some(now);
        self.reports += 1;
        self.by_tool += u64::from(report.sender == ccfb::TOOL_SSRC);
        self.early += u64::from(packet[0].trailing_zeros() >= FORMAT_BITS);
        let stamp = self.advance(report.stamp);
        let (mut new, mut ends_frame) = (0, false);
        for block in report.blocks() {
            // The tool names its first stream whatever it received.
            let only = (sources.len() == 1).then_some(0);
            let named = sources.iter().position(|source| source.ssrc() == block.ssrc).or(only);
            let Some(source) = named.map(|at| &mut sources[at]) else { continue };
            let (metrics, begin) = (block.metrics(), block.begin);
            let mut metrics = metrics.enumerate();
            for (at, sent) in source.known_mut(begin, metrics.len()) {
                let Some((_, metric)) = metrics.by_ref().find(|(index, _)| *index == at) else {
                    break;
                };
                let Some(received) = metric.received else {
                    self.lose(sent);
                    continue;
                };
                let was_received = matches!(sent.verdict, Verdict::Received { .. });
                self.receive(sent, metric.ecn);
                ends_frame |= !was_received && sent.marker;
                let offset = report.stamp.since(received);
                if was_received || offset >= LONGEST_OFFSET {
                    continue;
                }
                new += 1;
                if let Some((seen, _)) = sent.seen {
                    self.time(now, seen, stamp, offset);
                }
            }
        }
        if new > 0 && new < TOOL_ACKDIFF && !ends_frame {
            self.timed += 1;
            self.impatient += u64::from(since_last.is_some_and(|passed| passed < TOOL_PATIENCE_S));
        }
    }

    /// The report's time, without wrap.
    fn advance(&mut self, stamp: Ticks) -> i64 {
        let next = match self.stamp {
            None => 0,
            // Reports may be reordered.
            Some(Stamp { last, count }) => count + i64::from(stamp.since(last) as i32),
        };
        self.stamp = Some(Stamp { last: stamp, count: next });
        next
    }

    fn lose(&mut self, sent: &mut Sent) {
        if sent.verdict == Verdict::Unreported {
            sent.verdict = Verdict::Lost;
            self.lost += 1;
        }
    }

    fn receive(&mut self, sent: &mut Sent, ecn: Ecn) {
        let here = match sent.verdict {
            // RFC 8888 3.1: of several copies, one with CE counts.
            Verdict::Received { ecn: before, .. } if ecn != Ecn::Ce || before == Ecn::Ce => return,
            Verdict::Received { ecn: before, here } => {
                *self.received.slot(before) -= 1;
                match here {
                    Some(here) => self.path.remove(here, before),
                    None => self.unseen -= 1,
                }
                here
            }
            Verdict::Lost => {
                self.lost -= 1;
                sent.seen.map(|(_, here)| here)
            }
            Verdict::Unreported => sent.seen.map(|(_, here)| here),
        };
        sent.verdict = Verdict::Received { ecn, here };
        *self.received.slot(ecn) += 1;
        match here {
            Some(here) => self.path.add(here, ecn),
            None => self.unseen += 1,
        }
    }

    /// A packet that arrived `offset` ticks before the report was made.
    fn time(&mut self, now: Time, seen: Time, stamp: i64, offset: u32) {
        let age = f64::from(offset) / f64::from(PER_SECOND);
        let rtt = now.since(seen).as_secs_f64() - age;
        if rtt >= 0.0 {
            self.rtt.record(rtt * 1e3);
        }
        let arrived = stamp as f64 / f64::from(PER_SECOND) - age;
        let at = seen.as_secs_f64();
        self.floor.record(at, arrived - at);
        self.delays.record(at, arrived - at, KEPT);
    }

    pub(super) fn finish(self, media: &mut Media, has_reports: bool) {
        media.reports = self.reports;
        media.reports_unreadable = self.unreadable;
        let Codepoints { not_ect, ect0, ect1, ce } = self.received;
        media.reported_received = not_ect + ect0 + ect1 + ce;
        media.reported_lost = self.lost;
        media.reported_ce = ce;
        media.reported_ecn = self.received;
        media.reported_unseen = self.unseen;
        media.path = self.path;
        media.report_interval_ms = self.interval.distribution();
        media.rtt_ms = self.rtt.distribution();
        let fit = Fit::new(&self.floor, &Floor::default());
        media.queue_delay_ms = fit.and_then(|fit| self.delays.over_ms(&fit, 0, 0.0));
        let is_tools = |source: &crate::report::Source| {
            TOOL_SSRCS.contains(&source.ssrc) && source.payload_types == [PAYLOAD_TYPE]
        };
        media.scream = !has_reports
            && self.reports > 0
            && self.by_tool == self.reports
            && !media.sources.is_empty()
            && media.sources.iter().all(is_tools);
        media.scream_form = media.scream.then(|| {
            if self.early > 0 {
                ScreamForm::Before2024
            } else if self.timed == 0 {
                ScreamForm::Unknown
            } else if 2 * self.impatient > self.timed {
                ScreamForm::V2024
            } else {
                ScreamForm::V2026
            }
        });
        media.count_less_one = self.counting.known().map(|count| count == Count::LessOne);
    }
}
