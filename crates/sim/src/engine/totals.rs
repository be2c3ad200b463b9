//! What a run amounts to: statistics of its series over the measuring window, and metrics.

use sojourn_core::{Dur, Rate, Time};
use sojourn_scenario::Flow;
use sojourn_trace::metrics::Statistics;
use sojourn_trace::rfc5166::Bins;
use sojourn_trace::summary::{MediaSummary, Totals};
use sojourn_trace::{Completions, FlowSummary, GroupId, OneWaySummary, PingSummary, Voice};
use sojourn_transport::app::{self, voip};

use super::{Engine, capacity};
use crate::link::Hop;

/// Width of the bins in which rates are compared.
const BIN: Dur = Dur::from_millis(1000);

impl Engine<'_> {
    /// Samples of one series of a group within the measuring window: times in seconds and values.
    fn samples(&self, group: GroupId, name: &str) -> impl Iterator<Item = f64> {
        let window = self.scenario.measure;
        let (from, to) = (window.from.as_secs_f64(), window.to.as_secs_f64());
        let column = self.recorder.columns(group).iter().find(|c| c.name.ends_with(name));
        let pairs = column.into_iter().flat_map(|c| c.t.iter().zip(&c.v));
        pairs.filter(move |(t, _)| (from..=to).contains(*t)).map(|(_, v)| *v)
    }

    fn in_window(&self, group: GroupId, name: &str) -> Option<Statistics> {
        Statistics::of(self.samples(group, name))
    }

    /// Bytes delivered until `time`, to the sample before it.
    fn delivered_bytes(&self, group: GroupId, time: Time) -> f64 {
        let columns = self.recorder.columns(group);
        let Some(bytes) = columns.iter().find(|c| c.name.ends_with(".goodput_bytes")) else {
            return 0.0;
        };
        let after = bytes.t.partition_point(|t| *t <= time.as_secs_f64() + 1e-9);
        if after == 0 { 0.0 } else { bytes.v[after - 1] }
    }

    fn goodput_mbps(&self, group: GroupId) -> f64 {
        let window = self.scenario.measure;
        self.rate_mbps(group, window.from, window.to)
    }

    /// Goodput from one instant to another.
    fn rate_mbps(&self, group: GroupId, from: Time, to: Time) -> f64 {
        let length = to.since(from);
        if length == Dur::ZERO {
            return 0.0;
        }
        let bytes = self.delivered_bytes(group, to) - self.delivered_bytes(group, from);
        bytes * 8.0 / length.as_secs_f64() / 1e6
    }

    pub(super) fn flow_summary(&self, n: usize) -> FlowSummary {
        let flow = &self.scenario.flows[n];
        let group = self.flow_groups[n].0;
        let totals = |e: usize| self.ends[e].endpoint.totals().0.into_iter().collect::<Totals>();
        let (sender, receiver) = (totals(2 * n), totals(2 * n + 1));
        FlowSummary {
            name: flow.name.clone(),
            app: (flow.app != "bulk").then(|| flow.app.clone()),
            cc: flow.cc.clone(),
            start_s: flow.start.as_secs_f64(),
            goodput_mbps: self.goodput_mbps(group),
            delivery_rate_mbps: self.in_window(group, ".delivery_rate"),
            rtt_ms: self.in_window(group, ".rtt"),
            cwnd_segments: self.in_window(group, ".cwnd"),
            one_way: self.one_way(n),
            media: self.media(n),
            completions: self.completions(n, &sender),
            sender,
            receiver,
        }
    }

    fn one_way(&self, n: usize) -> Option<OneWaySummary> {
        let arrivals = self.ends[2 * n + 1].arrivals.as_ref()?;
        let mut summary = arrivals.one_way.summary()?;
        if let Some(voice) = arrivals.voice {
            let lost_or_late = arrivals.one_way.missed(voice.buffer)?;
            let r_factor = voice.r_factor(summary.min_ms, lost_or_late);
            summary.voice = Some(Voice { r_factor, mos: voip::Voice::mos(r_factor), lost_or_late });
        }
        Some(summary)
    }

    fn media(&self, n: usize) -> Option<MediaSummary> {
        let arrivals = self.ends[2 * n + 1].arrivals.as_ref()?;
        let frames = arrivals.frames.as_ref()?.summary();
        let sampled = |name| self.in_window(self.flow_groups[n].0, name);
        Some(MediaSummary {
            target_mbps: sampled(".target_rate"),
            sent_mbps: sampled(".sent_rate"),
            sender_delay_ms: sampled(".sender_delay"),
            sender_queue_bytes: sampled(".sender_queue"),
            frames,
        })
    }

    /// Completion times; the ideal has the least rate on the data's way, and the least RTT seen.
    fn completions(&self, n: usize, opener: &Totals) -> Option<Completions> {
        let group = self.flow_groups[n].0;
        let (ms, bytes) = (self.samples(group, ".fct"), self.samples(group, ".fct_bytes"));
        let done: Vec<(f64, f64)> = ms.zip(bytes).collect();
        let rtt = opener.0.iter().find(|(name, _)| name == "min_rtt_ms").map_or(0.0, |(_, v)| *v);
        let rate = self.path_rate(n);
        Completions::of(&done, rate, Dur((rtt * 1e6) as u64))
    }

    /// The smallest capacity on the way of a flow's data, as it is at the end of the run.
    fn path_rate(&self, n: usize) -> Option<Rate> {
        let flow = &self.scenario.flows[n];
        let source = 2 * n + usize::from(flow.up != flow.opens_far);
        let (mut hop, mut least) = (self.ends[source].first, None);
        while let Hop::Port(p) = hop {
            let port = &self.ports[p as usize];
            least = least.into_iter().chain(capacity(port)).min();
            hop = port.next[source];
        }
        least
    }

    pub(super) fn ping_summary(&self, n: usize) -> PingSummary {
        let number = self.scenario.flows.len() + n;
        PingSummary {
            name: self.scenario.pings[n].name.clone(),
            rtt_ms: self.in_window(self.flow_groups[number].0, ".rtt"),
            totals: self.ends[2 * number].endpoint.totals().0.into_iter().collect(),
        }
    }

    /// Goodputs in bins of a second; a last bin that is not full is left away.
    pub(super) fn bins(&self) -> Bins {
        let window = self.scenario.measure;
        let flows = || self.scenario.flows.iter().zip(&self.flow_groups);
        let bins = |group: GroupId, from: Time, to: Time| -> Vec<f64> {
            let edges = |i: u64| from + BIN * i;
            let whole = to.since(from).0 / BIN.0;
            (0..whole).map(|i| self.rate_mbps(group, edges(i), edges(i + 1))).collect()
        };
        let to = window.to.min(self.now);
        let windowed = flows().map(|(_, groups)| bins(groups.0, window.from, to)).collect();
        let compared: Vec<usize> =
            flows().enumerate().filter(|(_, (f, _))| is_compared(f)).map(|(n, _)| n).collect();
        let of = |n: &usize| &self.scenario.flows[*n];
        let from = compared.iter().map(|n| of(n).start).max().unwrap_or(self.now);
        let to = compared.iter().filter_map(|n| of(n).stop).min().unwrap_or(self.now).min(self.now);
        let rates: Vec<Vec<f64>> =
            compared.iter().map(|n| bins(self.flow_groups[*n].0, from, to)).collect();
        let length = rates.first().map_or(0, Vec::len);
        let since_last_start =
            (0..length).map(|bin| rates.iter().map(|r| r[bin]).collect()).collect();
        Bins { windowed, compared, since_last_start }
    }
}

/// Whether a flow wants all that it can get to the end, so that its share tells of fairness.
fn is_compared(flow: &Flow) -> bool {
    flow.bytes.is_none() && app::build(&flow.app).is_ok_and(|app| app == app::App::Bulk)
}
