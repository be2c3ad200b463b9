//! What every direction of a flow has, whatever its protocol: packets, codepoints, gaps, bursts, rate.

use sojourn_core::Ecn;

use crate::report::{self, Codepoints, Distribution};
use crate::samples::Samples;

/// Data packets that follow each other within this, in ns, are one burst.
const BURST_GAP: u64 = 100_000;

/// Counters of one direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stream {
    pub(crate) packets: u64,
    ip_bytes: u64,
    pub(crate) data_packets: u64,
    data_bytes: u64,
    pub(crate) ecn: Codepoints,
    pub(crate) data_ecn: Codepoints,
    ce: Option<Box<Runs>>,
    ect1: Option<Box<Runs>>,
    /// When the last packet came.
    last: Option<u64>,
    packet_gap_ms: Samples,
    /// When the last data packet came.
    last_data: Option<u64>,
    /// Bytes of the burst that it belongs to.
    burst: u64,
    gap_ms: Samples,
    bursts: Samples,
    rate: Rate,
}

impl Stream {
    /// Takes a packet with this many bytes of payload, if any.
    pub(crate) fn packet(&mut self, at: u64, ip_len: u32, data: u32, ecn: Ecn) {
        self.packets += 1;
        self.ip_bytes += u64::from(ip_len);
        count(&mut self.ecn, ecn);
        if let Some(last) = self.last.replace(at) {
            self.packet_gap_ms.record_ms(at.saturating_sub(last));
        }
        if data == 0 {
            return;
        }
        self.data_packets += 1;
        self.data_bytes += u64::from(data);
        count(&mut self.data_ecn, ecn);
        if ecn == Ecn::Ce || self.ce.is_some() {
            Runs::packet(&mut self.ce, at, ecn == Ecn::Ce);
        }
        if ecn == Ecn::Ect1 || self.ect1.is_some() {
            Runs::packet(&mut self.ect1, at, ecn == Ecn::Ect1);
        }
        self.rate.add(at, u64::from(data));
        if let Some(last) = self.last_data {
            let gap = at.saturating_sub(last);
            self.gap_ms.record_ms(gap);
            if gap > BURST_GAP {
                self.bursts.record_number(self.burst);
                self.burst = 0;
            }
        }
        self.burst += u64::from(data);
        self.last_data = Some(at.max(self.last_data.unwrap_or(0)));
    }

    /// Without what depends on the protocol: SCE's marks ([`Stream::report_sce`]), fractions per round trip.
    pub(crate) fn report(self) -> report::Direction {
        let rate = self.rate.samples.distribution();
        self.report_at(rate)
    }

    /// The same with a rate that is known better.
    pub(crate) fn report_at(mut self, rate_mbps: Option<Distribution>) -> report::Direction {
        if self.burst > 0 {
            self.bursts.record_number(self.burst);
        }
        let burst_bytes = self.bursts.distribution();
        let rate_mbps = rate_mbps.or_else(|| self.rate.samples.distribution());
        let (ce_runs, ce_gaps) = self.ce.map_or((None, None), |runs| runs.report());
        report::Direction {
            packets: self.packets,
            ip_bytes: self.ip_bytes,
            data_packets: self.data_packets,
            data_bytes: self.data_bytes,
            ecn: self.ecn,
            data_ecn: self.data_ecn,
            ce_percent: percent(self.data_ecn.ce, self.data_packets),
            ce_runs,
            ce_gaps,
            packet_gap_ms: self.packet_gap_ms.distribution(),
            gap_ms: self.gap_ms.distribution(),
            burst_bytes,
            burst_ms: burst_bytes
                .zip(rate_mbps)
                .filter(|(_, rate)| rate.p95 > 0.0)
                .map(|(bytes, rate)| bytes.scaled(8.0 / 1e3 / rate.p95)),
            rate_mbps,
            ..report::Direction::default()
        }
    }

    /// Time between packets with ECT(1), ms.
    pub(crate) fn sce_gap_ms(&self) -> Option<Distribution> {
        self.ect1.as_ref().and_then(|runs| runs.ms.distribution())
    }

    /// ECT(1) as SCE's mark, for a sender that sends ECT(0): percent, runs, gaps.
    pub(crate) fn take_sce(&mut self) -> (Option<f64>, Option<Distribution>, Option<Distribution>) {
        let (runs, gaps) = self.ect1.take().map_or((None, None), |runs| runs.report());
        (percent(self.data_ecn.ect1, self.data_packets), runs, gaps)
    }
}

/// A hundred times the quotient; none of nothing.
pub(crate) fn percent(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| 100.0 * part as f64 / whole as f64)
}

fn count(codepoints: &mut Codepoints, ecn: Ecn) {
    match ecn {
        Ecn::NotEct => codepoints.not_ect += 1,
        Ecn::Ect0 => codepoints.ect0 += 1,
        Ecn::Ect1 => codepoints.ect1 += 1,
        Ecn::Ce => codepoints.ce += 1,
    }
}

/// Lengths of runs of packets with a codepoint, and how many packets are between two. Begins with the first run.
#[derive(Clone, Debug, Default)]
struct Runs {
    run: u64,
    gap: u64,
    lengths: Samples,
    gaps: Samples,
    last: u64,
    /// Time between marked packets.
    ms: Samples,
}

impl Runs {
    /// Takes a packet; the first marked one begins them.
    fn packet(runs: &mut Option<Box<Self>>, at: u64, is_marked: bool) {
        let Some(runs) = runs else {
            *runs = Some(Box::new(Self { run: 1, last: at, ..Self::default() }));
            return;
        };
        if is_marked {
            runs.ms.record_ms(at.saturating_sub(std::mem::replace(&mut runs.last, at)));
            if runs.run == 0 {
                runs.gaps.record_number(runs.gap);
                runs.gap = 0;
            }
            runs.run += 1;
        } else {
            if runs.run > 0 {
                runs.lengths.record_number(runs.run);
                runs.run = 0;
            }
            runs.gap += 1;
        }
    }

    /// Runs, the last one too, and gaps.
    fn report(mut self) -> (Option<Distribution>, Option<Distribution>) {
        if self.run > 0 {
            self.lengths.record_number(self.run);
        }
        (self.lengths.distribution(), self.gaps.distribution())
    }
}

/// A rate over intervals of 100 ms, the first of which begins with the first bytes. An interval without bytes is
/// one if no more than a second passes without any; the last one, which the end of the capture cuts, is none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rate {
    start: Option<u64>,
    interval: u64,
    bytes: u64,
    pub(crate) samples: Samples,
}

/// Of [`Rate`], ns.
const INTERVAL: u64 = 100_000_000;
/// Intervals without bytes that are still a rate of zero, not a pause.
const PAUSE: u64 = 10;

impl Rate {
    pub(crate) fn add(&mut self, at: u64, bytes: u64) {
        let start = *self.start.get_or_insert(at);
        let interval = at.saturating_sub(start) / INTERVAL;
        if interval > self.interval {
            self.samples.record(self.bytes as f64 * 8e3 / INTERVAL as f64);
            let idle = interval - self.interval - 1;
            if idle <= PAUSE {
                (0..idle).for_each(|_| self.samples.record(0.0));
            }
            (self.interval, self.bytes) = (interval, 0);
        }
        self.bytes += bytes;
    }
}

#[cfg(test)]
mod tests;
