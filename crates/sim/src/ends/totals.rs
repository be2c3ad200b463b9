//! What end points amount to: statistics of their series over the measuring window, and metrics.

use sojourn_cc as cc;
use sojourn_core::{Dur, Rate, Time};
use sojourn_scenario::Measure;
use sojourn_trace::metrics::Statistics;
use sojourn_trace::rfc5166::Bins;
use sojourn_trace::summary::{FlowWindow, MediaSummary, PingWindow, Totals, WindowSummary};
use sojourn_trace::{
    ClassicDetection, Completions, FlowSummary, Goodput, GroupId, Marks, OneWaySummary,
    PingSummary, Share, Voice,
};
use sojourn_transport::app::voip;

use super::Ends;

impl Ends {
    /// Samples of one series of a group within a window.
    fn samples(&self, window: Measure, group: GroupId, name: &str) -> impl Iterator<Item = f64> {
        let (from, to) = (window.from.as_secs_f64(), window.to.as_secs_f64());
        let column = self.recorder.columns(group).iter().find(|c| c.name.ends_with(name));
        let pairs = column.into_iter().flat_map(|c| c.t.iter().zip(&c.v));
        pairs.filter(move |(t, _)| (from..=to).contains(*t)).map(|(_, v)| *v)
    }

    fn in_window(&self, window: Measure, group: GroupId, name: &str) -> Option<Statistics> {
        Statistics::of(self.samples(window, group, name))
    }

    /// The same of a flow; the window has this number.
    fn of_flow(
        &self,
        n: usize,
        (number, window): (usize, Measure),
        name: &str,
    ) -> Option<Statistics> {
        match self.members.running(n) {
            Some(running) => running.statistics(number, name.trim_start_matches('.')),
            None => self.in_window(window, self.groups[n].0, name),
        }
    }

    fn goodput(&self, n: usize) -> Goodput<'_> {
        match self.members.running(n) {
            Some(running) => running.into(),
            None => Goodput::of(self.recorder.columns(self.groups[n].0)),
        }
    }

    /// The flows. `now` is the end of what was recorded, and `rates` what the way of each flow's data
    /// carries then.
    pub fn flow_summaries(&self, now: Time, rates: &[Option<Rate>]) -> Vec<FlowSummary> {
        rates.iter().enumerate().map(|(n, rate)| self.flow_summary(n, now, *rate)).collect()
    }

    fn flow_summary(&self, n: usize, now: Time, rate: Option<Rate>) -> FlowSummary {
        let flow = &self.scenario.flows[n];
        let totals = |e: usize| self.list[e].endpoint.totals().0.into_iter().collect::<Totals>();
        let (sender, receiver) = (totals(2 * n), totals(2 * n + 1));
        let measure = self.scenario.measure;
        let main = self.flow_window(n, (0, measure), now, rate);
        let of_controller = self.recorder.columns(self.groups[n].1);
        let window = (measure.from, measure.to);
        let classic_detection = match self.members.running(n) {
            Some(running) => running.classic(flow.start),
            None => ClassicDetection::of(of_controller, window, flow.start),
        };
        FlowSummary {
            name: main.name,
            app: (flow.app.name() != "bulk").then(|| flow.app.short()),
            cc: flow.cc.as_ref().map(cc::Spec::short),
            stack: None,
            start_s: flow.start.as_secs_f64(),
            goodput_mbps: main.goodput_mbps,
            goodput_over_time_mbps: main.goodput_over_time_mbps,
            delivery_rate_mbps: main.delivery_rate_mbps,
            rtt_ms: main.rtt_ms,
            cwnd_segments: main.cwnd_segments,
            classic_detection,
            one_way: main.one_way,
            media: main.media,
            marks: self.marks(n, [&sender, &receiver]),
            completions: main.completions,
            sender,
            receiver,
            programs: vec![],
        }
    }

    /// The windows with a name, without queues; `now` and `rates` as for [`Self::flow_summaries`].
    pub fn window_summaries(&self, now: Time, rates: &[Option<Rate>]) -> Vec<WindowSummary> {
        let windows = self.scenario.windows.iter().enumerate();
        let summary = |(index, (name, window)): (usize, &(String, Measure))| WindowSummary {
            name: name.clone(),
            from_s: window.from.as_secs_f64(),
            to_s: window.to.as_secs_f64(),
            flows: self.flow_windows((index + 1, *window), now, rates),
            pings: self.ping_windows(*window),
            queues: vec![],
        };
        windows.map(summary).collect()
    }

    /// The flows within a window, which has this number.
    fn flow_windows(
        &self,
        window: (usize, Measure),
        now: Time,
        rates: &[Option<Rate>],
    ) -> Vec<FlowWindow> {
        rates.iter().enumerate().map(|(n, rate)| self.flow_window(n, window, now, *rate)).collect()
    }

    fn flow_window(
        &self,
        n: usize,
        (number, window): (usize, Measure),
        now: Time,
        rate: Option<Rate>,
    ) -> FlowWindow {
        let sampled = |name| self.of_flow(n, (number, window), name);
        let (goodput_mbps, goodput_over_time_mbps) = if let Some(running) = self.members.running(n)
        {
            (running.mbps(number), running.over_time(number, now))
        } else {
            let (goodput, to) = (self.goodput(n), window.to.min(now));
            let over_time = goodput.over_time(window.from, to, self.scenario.step);
            (goodput.mbps(window.from, window.to), over_time)
        };
        FlowWindow {
            name: self.scenario.flows[n].name.clone(),
            goodput_mbps,
            goodput_over_time_mbps,
            delivery_rate_mbps: sampled(".delivery_rate"),
            rtt_ms: sampled(".rtt"),
            cwnd_segments: sampled(".cwnd"),
            one_way: self.one_way(n, number),
            media: self.media(n, (number, window)),
            completions: self.completions(n, window, rate),
        }
    }

    fn marks(&self, n: usize, ends: [&Totals; 2]) -> Option<Marks> {
        let columns = self.recorder.columns(self.groups[n].0);
        let in_flight = columns.iter().find(|c| c.name.ends_with(".in_flight"));
        let under_way = match self.members.running(n) {
            Some(running) => running.under_way(),
            None => in_flight.and_then(|c| c.v.last()).copied().unwrap_or(0.0),
        };
        Marks::of(ends, self.scenario.flows[n].tcp.ecn, under_way)
    }

    fn one_way(&self, n: usize, number: usize) -> Option<OneWaySummary> {
        let arrivals = self.list[2 * n + 1].arrivals.as_ref()?;
        let one_way = &arrivals.windows[number].one_way;
        let mut summary = one_way.summary()?;
        if let Some(voice) = arrivals.voice {
            let lost_or_late = one_way.missed(voice.buffer)?;
            let r_factor = voice.r_factor(summary.min_ms, lost_or_late);
            summary.voice = Some(Voice { r_factor, mos: voip::Voice::mos(r_factor), lost_or_late });
        }
        Some(summary)
    }

    fn media(&self, n: usize, (number, window): (usize, Measure)) -> Option<MediaSummary> {
        let arrivals = self.list[2 * n + 1].arrivals.as_ref()?;
        let frames = arrivals.windows[number].frames.as_ref()?.summary();
        let sampled = |name| self.of_flow(n, (number, window), name);
        Some(MediaSummary {
            target_mbps: sampled(".target_rate"),
            sent_mbps: sampled(".sent_rate"),
            sender_delay_ms: sampled(".sender_delay"),
            sender_queue_bytes: sampled(".sender_queue"),
            frames,
        })
    }

    /// Completion times; the ideal has the least rate on the data's way, and the least RTT seen.
    fn completions(&self, n: usize, window: Measure, rate: Option<Rate>) -> Option<Completions> {
        let samples = |name| self.samples(window, self.groups[n].0, name);
        let done: Vec<(f64, f64)> = match self.members.running(n) {
            Some(running) => running.done((window.from, window.to)),
            None => samples(".fct").zip(samples(".fct_bytes")).collect(),
        };
        let opener = self.list[2 * n].endpoint.totals().0;
        let rtt = opener.iter().find(|(name, _)| *name == "min_rtt_ms").map_or(0.0, |(_, v)| *v);
        Completions::of(&done, rate, Dur((rtt * 1e6) as u64))
    }

    /// The pings within a window.
    fn ping_windows(&self, window: Measure) -> Vec<PingWindow> {
        (0..self.scenario.pings.len()).map(|n| self.ping_window(n, window)).collect()
    }

    fn ping_window(&self, n: usize, window: Measure) -> PingWindow {
        let group = self.groups[self.scenario.flows.len() + n].0;
        let rtt_ms = self.in_window(window, group, ".rtt");
        PingWindow { name: self.scenario.pings[n].name.clone(), rtt_ms }
    }

    /// The pings.
    pub fn ping_summaries(&self) -> Vec<PingSummary> {
        (0..self.scenario.pings.len()).map(|n| self.ping_summary(n)).collect()
    }

    fn ping_summary(&self, n: usize) -> PingSummary {
        let number = self.scenario.flows.len() + n;
        let PingWindow { name, rtt_ms } = self.ping_window(n, self.scenario.measure);
        PingSummary {
            name,
            rtt_ms,
            totals: self.list[2 * number].endpoint.totals().0.into_iter().collect(),
        }
    }

    /// Goodputs in bins of a second.
    pub fn bins(&self, now: Time) -> Bins {
        let window = self.scenario.measure;
        let shares = self.scenario.flows.iter().enumerate().map(|(n, flow)| Share {
            goodput: self.goodput(n),
            start: flow.start,
            stop: flow.stop,
            is_compared: flow.is_greedy(),
        });
        let (shares, step): (Vec<_>, _) = (shares.collect(), self.scenario.step);
        let mut bins = Bins::of(&shares, (window.from, window.to), now, step);
        self.members.add_together(now, &mut bins.together);
        bins
    }
}
