//! A flow of the scenario as it was sampled: its series and totals, under the names of the simulator.

use sojourn_cc as cc;
use sojourn_core::{Dur, Rate, Time};
use sojourn_scenario::{Flow, Measure, Stack};
use sojourn_trace::summary::{FlowWindow, Totals};
use sojourn_trace::{
    Completions, FlowSummary, Goodput, GroupId, Marks, OneWay, OneWaySummary, Recorder, Statistics,
    Voice,
};
use sojourn_transport::app::{App, voip};

use crate::job::{Arrival, FlowSample, Receiving, Sending, ShortSample, UdpSample};

/// TCP's threshold before the first congestion.
const NO_THRESHOLD: u32 = 0x7fff_ffff;
/// The smallest RTT of a connection that has none yet.
const NO_RTT: u32 = u32::MAX;

/// What was sampled of all flows until the end of the run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Series<'r> {
    pub(crate) recorder: &'r Recorder,
    pub(crate) end: Time,
    pub(crate) step: Dur,
}

#[derive(Debug)]
pub(crate) struct Sampled {
    pub(crate) group: GroupId,
    /// Of one connection, or the sums over many.
    last: FlowSample,
    last_short: Option<ShortSample>,
    last_udp: Option<UdpSample>,
    one_way: OneWay,
    /// Requests and responses.
    answers: Option<(u64, u64)>,
}

impl Sampled {
    pub(crate) fn new(group: GroupId) -> Self {
        Self {
            group,
            last: FlowSample::default(),
            last_short: None,
            last_udp: None,
            one_way: OneWay::default(),
            answers: None,
        }
    }

    /// Data segments sent.
    pub(crate) fn segments(&self) -> u64 {
        self.last.tx.segments_sent.into()
    }

    pub(crate) fn connection(&mut self, at: Time, sample: FlowSample, series: &mut Recorder) {
        self.last = sample;
        let answered = self.answers.map(|(_, answered)| answered);
        series.sample(self.group, at, |probe| {
            // A connection that has measured none yet reports 0.
            let known = |name: &str| name != "rtt" || sample.tx.rtt_us > 0;
            for (name, unit, value) in columns(&sample).into_iter().filter(|c| known(c.0)) {
                probe.put(name, unit, value);
            }
            if let Some(answered) = answered {
                probe.put("completed", "responses", answered as f64);
            }
        });
    }

    pub(crate) fn answers(&mut self, asked: u64, answered: u64) {
        self.answers = Some((asked, answered));
    }

    pub(crate) fn short(&mut self, at: Time, sample: ShortSample, series: &mut Recorder) {
        self.last = sample.sums;
        self.last_short = Some(sample);
        series.sample(self.group, at, |probe| {
            probe.put("goodput_bytes", "bytes", sample.sums.read as f64);
            probe.put("connections", "connections", sample.open.into());
            probe.put("completed", "connections", sample.completed as f64);
            probe.put("retransmits", "segments", sample.sums.tx.retransmits.into());
        });
    }

    pub(crate) fn done(&self, at: Time, took: Dur, bytes: u64, series: &mut Recorder) {
        series.sample(self.group, at, |probe| {
            probe.put("fct", "ms", took.as_millis_f64());
            probe.put("fct_bytes", "bytes", bytes as f64);
        });
    }

    pub(crate) fn arrivals(&mut self, arrivals: &[Arrival], window: Measure) {
        for packet in arrivals {
            let sent = Time(packet.sent);
            let measured = window.from <= sent && sent < window.to;
            self.one_way.record(Time(packet.at), packet.seq, sent, measured);
        }
    }

    pub(crate) fn datagrams(&mut self, at: Time, sample: UdpSample, series: &mut Recorder) {
        self.last_udp = Some(sample);
        let step = self.one_way.take_step();
        series.sample(self.group, at, |probe| {
            probe.put("goodput_bytes", "bytes", sample.received_bytes as f64);
            probe.put("ce_received", "packets", sample.codepoints[3] as f64);
        });
        if let Some((mean, max)) = step {
            series.sample(self.group, at, |probe| {
                probe.put("one_way", "ms", mean);
                probe.put("one_way_max", "ms", max);
            });
        }
    }

    /// `rate` bounds the way of its data.
    pub(crate) fn summary(
        &self,
        flow: &Flow,
        series: Series<'_>,
        window: Measure,
        rate: Option<Rate>,
    ) -> FlowSummary {
        let within = self.window(flow, series, window, rate);
        let (sender, receiver) = self.totals();
        let (sender, receiver): (Totals, Totals) =
            (sender.into_iter().collect(), receiver.into_iter().collect());
        let under_way = f64::from(self.last.tx.in_flight);
        FlowSummary {
            name: within.name,
            app: (flow.app.name() != "bulk").then(|| flow.app.short()),
            cc: flow.cc.as_ref().map(cc::Spec::short),
            stack: Some(Stack::Kernel.name().to_owned()),
            start_s: flow.start.as_secs_f64(),
            goodput_mbps: within.goodput_mbps,
            goodput_over_time_mbps: within.goodput_over_time_mbps,
            delivery_rate_mbps: within.delivery_rate_mbps,
            rtt_ms: within.rtt_ms,
            cwnd_segments: within.cwnd_segments,
            classic_detection: None,
            one_way: self.one_way(flow),
            marks: Marks::of([&sender, &receiver], flow.tcp.ecn, under_way),
            media: None,
            completions: within.completions,
            sender,
            receiver,
            programs: vec![],
        }
    }

    /// The flow within a window with a name; packets are sampled within the main one alone.
    pub(crate) fn window(
        &self,
        flow: &Flow,
        series: Series<'_>,
        window: Measure,
        rate: Option<Rate>,
    ) -> FlowWindow {
        let goodput = Goodput::of(series.recorder.columns(self.group));
        let in_window = |name| Statistics::of(samples(series.recorder, self.group, name, window));
        FlowWindow {
            name: flow.name.clone(),
            goodput_mbps: goodput.mbps(window.from, window.to),
            goodput_over_time_mbps: goodput.over_time(
                window.from,
                window.to.min(series.end),
                series.step,
            ),
            delivery_rate_mbps: in_window(".delivery_rate"),
            rtt_ms: in_window(".rtt"),
            cwnd_segments: in_window(".cwnd"),
            one_way: None,
            media: None,
            completions: self.completions(series.recorder, window, rate),
        }
    }

    fn one_way(&self, flow: &Flow) -> Option<OneWaySummary> {
        let mut summary = self.one_way.summary()?;
        if let App::Udp(source) = flow.app.build()
            && let Some(voice) = source.voice()
        {
            let lost_or_late = self.one_way.missed(voice.buffer)?;
            let r_factor = voice.r_factor(summary.min_ms, lost_or_late);
            summary.voice = Some(Voice { r_factor, mos: voip::Voice::mos(r_factor), lost_or_late });
        }
        Some(summary)
    }

    /// Completion times; the ideal has the least rate on the data's way, and the least RTT seen.
    fn completions(
        &self,
        series: &Recorder,
        window: Measure,
        rate: Option<Rate>,
    ) -> Option<Completions> {
        let of = |name| samples(series, self.group, name, window);
        let done: Vec<(f64, f64)> = of(".fct").zip(of(".fct_bytes")).collect();
        let rtt = Dur::from_micros(self.min_rtt_us().unwrap_or(0).into());
        Completions::of(&done, rate, rtt)
    }

    fn min_rtt_us(&self) -> Option<u32> {
        Some(self.last.tx.min_rtt_us).filter(|rtt| *rtt > 0 && *rtt < NO_RTT)
    }

    /// Of the end that opens it and of the other.
    fn totals(&self) -> (Named, Named) {
        let (tx, rx) = (sending(&self.last.tx), receiving(self.last.read, &self.last.rx));
        let min_rtt = self.min_rtt_us().map(|us| ("min_rtt_ms", f64::from(us) / 1e3));
        if let Some(udp) = self.last_udp {
            let [_, ect1, ect0, ce] = udp.codepoints.map(|n| n as f64);
            let sender =
                vec![("packets_sent", udp.sent as f64), ("bytes_sent", udp.sent_bytes as f64)];
            let receiver = vec![
                ("delivered_bytes", udp.received_bytes as f64),
                ("packets_received", udp.received as f64),
                ("ect0_received", ect0),
                ("ect1_received", ect1),
                ("ce_received", ce),
            ];
            (sender, receiver)
        } else if let Some(short) = self.last_short {
            let own = [
                ("arrived", short.arrived as f64),
                ("turned_away", short.turned_away as f64),
                ("completed", short.completed as f64),
            ];
            (own.into_iter().chain(min_rtt).chain(tx).collect(), rx)
        } else if let Some((asked, answered)) = self.answers {
            let own = [("asked", asked as f64), ("completed", answered as f64)];
            (rx.into_iter().chain(own).chain(min_rtt).collect(), tx)
        } else {
            (tx, rx)
        }
    }
}

type Named = Vec<(&'static str, f64)>;

fn sending(tx: &Sending) -> Named {
    vec![
        ("segments_sent", tx.segments_sent.into()),
        ("retransmits", tx.retransmits.into()),
        ("timeouts", tx.timeouts.into()),
        ("dsack_dups", tx.dsack_dups.into()),
        ("ce_reported", tx.delivered_ce.into()),
        ("acked_bytes", tx.acked_bytes as f64),
    ]
}

fn receiving(read: u64, rx: &Receiving) -> Named {
    vec![
        ("delivered_bytes", read as f64),
        ("segments_received", rx.segments_received.into()),
        ("ce_received", rx.received_ce.into()),
        ("acks_sent", rx.acks_sent.into()),
    ]
}

/// Samples of a series of a group within the measuring window.
pub(crate) fn samples<'r>(
    series: &'r Recorder,
    group: GroupId,
    name: &str,
    window: Measure,
) -> impl Iterator<Item = f64> + use<'r> {
    let (from, to) = (window.from.as_secs_f64(), window.to.as_secs_f64());
    let column = series.columns(group).iter().find(|c| c.name.ends_with(name));
    let pairs = column.into_iter().flat_map(|c| c.t.iter().zip(&c.v));
    pairs.filter(move |(t, _)| (from..=to).contains(*t)).map(|(_, v)| *v)
}

fn columns(s: &FlowSample) -> [(&'static str, &'static str, f64); 11] {
    let mbps = |bytes_per_s: u64| bytes_per_s as f64 * 8.0 / 1e6;
    let (tx, rx) = (s.tx, s.rx);
    let ssthresh = if tx.ssthresh >= NO_THRESHOLD { f64::NAN } else { tx.ssthresh.into() };
    let pacing = if tx.pacing_rate == u64::MAX { 0.0 } else { mbps(tx.pacing_rate) };
    [
        ("goodput_bytes", "bytes", s.read as f64),
        ("rcv_wnd", "bytes", rx.rcv_wnd.into()),
        ("ce_received", "packets", rx.received_ce.into()),
        ("delivery_rate", "Mbit/s", mbps(tx.delivery_rate)),
        ("rtt", "ms", f64::from(tx.rtt_us) / 1e3),
        ("cwnd", "segments", tx.cwnd.into()),
        ("ssthresh", "segments", ssthresh),
        ("in_flight", "segments", tx.in_flight.into()),
        ("pacing_rate", "Mbit/s", pacing),
        ("retransmits", "segments", tx.retransmits.into()),
        ("ce", "segments", tx.delivered_ce.into()),
    ]
}
