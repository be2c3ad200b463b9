//! The receiver behind the model's link: its reports as bytes, read again.

use sojourn_cc::scream::{Metric, Ticks, Version};
use sojourn_core::wire::ccfb::{Counting, Report as Bytes};
use sojourn_core::wire::rtp::{Header, PAYLOAD_TYPE, TOOL_SSRC};
use sojourn_core::{Ecn, Time};
use sojourn_transport::media::scream_rx::{self, Params, REPORT_BYTES, Timer};

/// A report: first number and metrics of its blocks.
pub(crate) type Report = Vec<(u16, Vec<Metric>)>;

pub(crate) struct Receiver(scream_rx::Receiver);

fn time(now: u32) -> Time {
    Ticks::reached(u64::from(now), Time::ZERO)
}

impl Receiver {
    pub(crate) fn new(version: Version) -> Self {
        let params = Params { timer: Timer::Grid, ..Params::new(version, true) };
        Self(scream_rx::Receiver::new(params, Time::ZERO))
    }

    pub(crate) fn receive(&mut self, now: u32, seq: u16, ecn: Ecn, marker: bool, bytes: u32) {
        let payload = bytes - 12;
        let (payload_type, ssrc) = (PAYLOAD_TYPE, TOOL_SSRC);
        let header = Header { marker, payload_type, seq, timestamp: 0, ssrc, payload };
        self.0.on_rtp(time(now), &header, bytes, ecn);
    }

    /// The next report that leaves now.
    pub(crate) fn report(&mut self, now: u32) -> Option<Report> {
        let mut out = [0; REPORT_BYTES];
        let len = self.0.next_report(time(now), &mut out)?;
        let report = Bytes::parse(&out[..len], &mut Counting::default()).unwrap();
        Some(report.blocks().map(|block| (block.begin, block.metrics().collect())).collect())
    }
}
