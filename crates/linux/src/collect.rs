//! From the lines that the inside wrote to series, statistics and totals, under the names of the
//! simulator.

use std::borrow::Cow;

use serde_json::{Map, Value};
use sojourn_core::{Rate, Time};
use sojourn_scenario::{Edit, PortSpec, Role, Scenario, Topology};
use sojourn_trace::rfc5166::{Bins, Metrics};
use sojourn_trace::summary::Totals;
use sojourn_trace::{
    FlowSummary, GroupId, Output, PingSummary, QueueSummary, Recorder, Statistics, Summary, Window,
};

use crate::job::{Device, FlowSample, Line};

/// Counters of marks in `tc -s -j`, of any discipline. DualPI2's step marks are among its `ecn_mark`s.
const MARKS: [&str; 3] = ["ecn_mark", "ce_mark", "marked"];
/// TCP's threshold before the first congestion.
const NO_THRESHOLD: u32 = 0x7fff_ffff;

/// What a run on the kernel left behind.
#[derive(Debug)]
pub struct Measured {
    /// Series, statistics and totals.
    pub output: Output,
    /// The kernel's release, such as `7.2.13`.
    pub kernel: String,
}

impl Measured {
    /// `queue.json`. `tc` counts no bytes of dropped packets, so that what depends on them is null.
    pub fn queues_json(&self) -> String {
        let mut rows = serde_json::to_value(&self.output.queues).expect("plain data serialises");
        for row in rows.as_array_mut().into_iter().flatten() {
            if row["dropped"] != 0 {
                row["dropped_bytes"] = Value::Null;
                row["received_bytes"] = Value::Null;
            }
        }
        serde_json::to_string_pretty(&rows).expect("plain data serialises")
    }
}

/// A queue as it was sampled.
#[derive(Debug)]
struct Queue {
    port: String,
    /// Its words at the end of the run.
    qdisc: String,
    group: GroupId,
    device: usize,
    depth: usize,
    /// The last row of `tc`.
    last: Value,
    /// Bytes sent when the measuring window opened and closed.
    window_bytes: [f64; 2],
    /// Rate that bounds it at the end of the run.
    rate: Option<Rate>,
}

/// Reads the lines one by one.
#[derive(Debug)]
pub(crate) struct Collector<'s> {
    scenario: &'s Scenario,
    recorder: Recorder,
    flows: Vec<(GroupId, FlowSample)>,
    pings: Vec<(GroupId, u64, u64)>,
    queues: Vec<Queue>,
    clock: Time,
    kernel: String,
}

impl<'s> Collector<'s> {
    pub(crate) fn new(scenario: &'s Scenario, devices: &[Device]) -> Self {
        let mut recorder = Recorder::default();
        let flows = scenario.flows.iter();
        let flows =
            flows.map(|f| (recorder.group(format!("flow.{}.", f.name)), FlowSample::default()));
        let flows = flows.collect();
        let pings = scenario.pings.iter();
        let pings = pings.map(|p| (recorder.group(format!("ping.{}.", p.name)), 0, 0)).collect();
        let mut queues = Vec::new();
        // In the order of the simulator's queues.
        for spec in Topology::new(scenario).ports {
            for (device, place) in devices.iter().enumerate().flat_map(|(n, d)| {
                d.queues.iter().filter(|q| q.port == spec.name).map(move |q| (n, q))
            }) {
                let (qdisc, rate) = at_the_end(scenario, &spec);
                queues.push(Queue {
                    port: spec.name.clone(),
                    qdisc,
                    group: recorder.group(format!("queue.{}.", spec.name)),
                    device,
                    depth: place.depth,
                    last: Value::Null,
                    window_bytes: [0.0; 2],
                    rate,
                });
            }
        }
        let kernel = String::new();
        Self { scenario, recorder, flows, pings, queues, clock: Time::ZERO, kernel }
    }

    /// Takes one line; the error is what stopped the run.
    pub(crate) fn take(&mut self, text: &str) -> Result<(), String> {
        let line: Line = serde_json::from_str(text).map_err(|e| format!("samples: {e}"))?;
        match line {
            Line::Kernel(release) => self.kernel = release,
            Line::Clock(at) => self.clock = Time(at),
            Line::Failed(error) => return Err(error),
            Line::Flow(index, at, sample) => {
                let (group, last) = &mut self.flows[index];
                *last = sample;
                self.recorder.sample(*group, Time(at), |probe| {
                    for (name, unit, value) in columns(&sample) {
                        probe.put(name, unit, value);
                    }
                });
            }
            Line::Ping(index, at, rtt) => {
                let put = |p: &mut sojourn_core::Probe<'_>| p.put("rtt", "ms", rtt as f64 / 1e6);
                self.recorder.sample(self.pings[index].0, Time(at), put);
            }
            Line::Pings(index, sent, received) => {
                self.pings[index].1 = sent;
                self.pings[index].2 = received;
            }
            Line::Queues(device, at, rows) => {
                let rows: Vec<Value> =
                    serde_json::from_str(&rows).map_err(|e| format!("tc: {e}: {rows}"))?;
                self.queues_at(device, Time(at), &rows);
            }
        }
        Ok(())
    }

    fn queues_at(&mut self, device: usize, at: Time, rows: &[Value]) {
        let window = self.scenario.measure;
        for queue in self.queues.iter_mut().filter(|q| q.device == device) {
            let Some(row) = at_depth(rows, queue.depth) else { continue };
            let sent = number(row, "bytes");
            if at <= window.from {
                queue.window_bytes[0] = sent;
            }
            if at <= window.to {
                queue.window_bytes[1] = sent;
            }
            let delay = delay_ms(row);
            self.recorder.sample(queue.group, at, |probe| {
                probe.put("backlog_packets", "packets", number(row, "qlen"));
                probe.put("backlog_bytes", "bytes", number(row, "backlog"));
                probe.put("marks", "packets", marks(row));
                probe.put("drops", "packets", number(row, "drops"));
                for (name, value) in delay {
                    probe.put(name, "ms", value);
                }
                if let Some(probability) = row["prob"].as_f64() {
                    probe.put("prob", "", probability);
                }
            });
            queue.last = row.clone();
        }
    }

    /// The results, whether or not the run came to its end.
    pub(crate) fn finish(self, complete: bool) -> Measured {
        let window = self.scenario.measure;
        let duration_s = self.clock.as_secs_f64();
        let length = window.to.min(self.clock).since(window.from).as_secs_f64();
        let flows = self.scenario.flows.iter().zip(&self.flows);
        let flows = flows.map(|(flow, (group, last))| FlowSummary {
            name: flow.name.clone(),
            app: None,
            cc: flow.cc.clone(),
            start_s: flow.start.as_secs_f64(),
            goodput_mbps: self.goodput_mbps(*group),
            delivery_rate_mbps: self.in_window(*group, ".delivery_rate"),
            rtt_ms: self.in_window(*group, ".rtt"),
            cwnd_segments: self.in_window(*group, ".cwnd"),
            one_way: None,
            media: None,
            completions: None,
            sender: [
                ("segments_sent", f64::from(last.segments_sent)),
                ("retransmits", f64::from(last.retransmits)),
                ("timeouts", f64::from(last.timeouts)),
                ("ce_reported", f64::from(last.delivered_ce)),
                ("acked_bytes", last.acked_bytes as f64),
            ]
            .into_iter()
            .collect(),
            receiver: [
                ("delivered_bytes", last.goodput_bytes as f64),
                ("segments_received", f64::from(last.segments_received)),
                ("ce_received", f64::from(last.received_ce)),
                ("acks_sent", f64::from(last.acks_sent)),
            ]
            .into_iter()
            .collect(),
        });
        let flows: Vec<FlowSummary> = flows.collect();
        let pings = self.scenario.pings.iter().zip(&self.pings);
        let pings = pings.map(|(ping, (group, sent, received))| PingSummary {
            name: ping.name.clone(),
            rtt_ms: self.in_window(*group, ".rtt"),
            totals: [("sent", *sent as f64), ("received", *received as f64)].into_iter().collect(),
        });
        let pings: Vec<PingSummary> = pings.collect();
        let queues: Vec<QueueSummary> = self.queues.iter().map(|q| q.summary(length)).collect();
        // Shares per second are the simulator's so far: no bins, no fairness over time.
        let windowed = vec![Vec::new(); flows.len()];
        let bins = Bins { windowed, compared: Vec::new(), since_last_start: Vec::new() };
        let metrics = Metrics::of(&flows, &pings, &queues, &bins);
        let summary = Summary {
            schema: "sojourn/summary/1",
            name: self.scenario.name.clone(),
            seed: self.scenario.seed,
            duration_s,
            complete,
            measure: Window { from_s: window.from.as_secs_f64(), to_s: window.to.as_secs_f64() },
            events: 0,
            data_packets: self.flows.iter().map(|(_, f)| u64::from(f.segments_sent)).sum(),
            flows,
            pings,
            metrics,
        };
        let series = self.recorder.into_columns();
        Measured { output: Output { summary, queues, series }, kernel: self.kernel }
    }

    fn in_window(&self, group: GroupId, name: &str) -> Option<Statistics> {
        let window = self.scenario.measure;
        let (from, to) = (window.from.as_secs_f64(), window.to.as_secs_f64());
        let column = self.recorder.columns(group).iter().find(|c| c.name.ends_with(name))?;
        let pairs = column.t.iter().zip(&column.v);
        Statistics::of(pairs.filter(|(t, _)| (from..=to).contains(*t)).map(|(_, v)| *v))
    }

    fn goodput_mbps(&self, group: GroupId) -> f64 {
        let window = self.scenario.measure;
        let columns = self.recorder.columns(group);
        let bytes = columns.iter().find(|c| c.name.ends_with(".goodput_bytes"));
        let length = window.to.since(window.from).as_secs_f64();
        let (Some(bytes), true) = (bytes, length > 0.0) else { return 0.0 };
        let at = |time: Time| {
            let after = bytes.t.partition_point(|t| *t <= time.as_secs_f64() + 1e-9);
            if after == 0 { 0.0 } else { bytes.v[after - 1] }
        };
        (at(window.to) - at(window.from)) * 8.0 / length / 1e6
    }
}

impl Queue {
    fn summary(&self, window_s: f64) -> QueueSummary {
        let row = &self.last;
        let count = |key: &str| number(row, key) as u64;
        let (sent, dropped, held) = (count("packets"), count("drops"), count("qlen"));
        let sent_in_window = self.window_bytes[1] - self.window_bytes[0];
        let bits_per_s = sent_in_window * 8.0 / window_s;
        let rate = self.rate.filter(|_| window_s > 0.0);
        QueueSummary {
            name: self.port.clone(),
            qdisc: self.qdisc.clone(),
            received_packets: sent + dropped + held,
            received_bytes: count("bytes") + count("backlog"),
            sent_packets: sent,
            sent_bytes: count("bytes"),
            dropped,
            dropped_bytes: 0,
            marked: marks(row) as u64,
            backlog_packets: held,
            backlog_bytes: count("backlog"),
            drops: Totals::default(),
            marks: Totals::default(),
            stats: counters(row),
            sojourn_ms: None,
            utilisation: rate.map(|rate| bits_per_s / rate.0 as f64),
        }
    }
}

fn columns(s: &FlowSample) -> [(&'static str, &'static str, f64); 11] {
    let mbps = |bytes_per_s: u64| bytes_per_s as f64 * 8.0 / 1e6;
    let ssthresh = if s.ssthresh >= NO_THRESHOLD { f64::NAN } else { s.ssthresh.into() };
    let pacing = if s.pacing_rate == u64::MAX { 0.0 } else { mbps(s.pacing_rate) };
    [
        ("goodput_bytes", "bytes", s.goodput_bytes as f64),
        ("rcv_wnd", "bytes", s.rcv_wnd.into()),
        ("ce_received", "packets", s.received_ce.into()),
        ("delivery_rate", "Mbit/s", mbps(s.delivery_rate)),
        ("rtt", "ms", f64::from(s.rtt_us) / 1e3),
        ("cwnd", "segments", s.cwnd.into()),
        ("ssthresh", "segments", ssthresh),
        ("in_flight", "segments", s.in_flight.into()),
        ("pacing_rate", "Mbit/s", pacing),
        ("retransmits", "segments", s.retransmits.into()),
        ("ce", "segments", s.delivered_ce.into()),
    ]
}

/// The discipline with so many others above it on its device; one that was added last stands last.
fn at_depth(rows: &[Value], depth: usize) -> Option<&Value> {
    let mut row = rows.iter().find(|r| r["root"] == true)?;
    for _ in 0..depth {
        let handle = row["handle"].as_str()?;
        let is_below = |r: &&Value| r["parent"].as_str().is_some_and(|p| p.starts_with(handle));
        row = rows.iter().find(is_below)?;
    }
    Some(row)
}

fn number(row: &Value, key: &str) -> f64 {
    row[key].as_f64().unwrap_or(0.0)
}

/// `tc` writes some names with dashes in JSON.
fn normal(key: &str) -> String {
    key.replace('-', "_")
}

fn marks(row: &Value) -> f64 {
    let of = |object: &Map<String, Value>| -> f64 {
        let marks = object.iter().filter(|(key, _)| MARKS.contains(&normal(key).as_str()));
        marks.filter_map(|(_, value)| value.as_f64()).sum()
    };
    let tins = row["tins"].as_array().into_iter().flatten();
    row.as_object().map_or(0.0, of) + tins.filter_map(Value::as_object).map(of).sum::<f64>()
}

/// What a discipline itself says of its delay, by series name; JSON has it in microseconds.
fn delay_ms(row: &Value) -> impl Iterator<Item = (&'static str, f64)> {
    let names =
        [("delay", "delay"), ("delay-c", "delay_c"), ("delay-l", "delay_l"), ("ldelay", "ldelay")];
    names.into_iter().filter_map(|(key, name)| Some((name, row[key].as_f64()? / 1e3)))
}

/// The numbers of a row under the names of the text.
fn counters(row: &Value) -> Totals {
    let accounts = ["bytes", "packets", "drops", "backlog", "qlen", "refcnt"];
    let mut totals = Vec::new();
    for (key, value) in row.as_object().into_iter().flatten() {
        match value.as_f64() {
            Some(value) if !accounts.contains(&key.as_str()) => {
                totals.push((Cow::Owned(normal(key)), value));
            }
            _ => {}
        }
    }
    for (n, tin) in row["tins"].as_array().into_iter().flatten().enumerate() {
        for (key, value) in tin.as_object().into_iter().flatten() {
            totals.extend(value.as_f64().map(|v| (Cow::Owned(format!("tin{n}_{key}")), v)));
        }
    }
    Totals(totals)
}

/// Words and rate of a port after all scheduled changes.
fn at_the_end(scenario: &Scenario, spec: &PortSpec) -> (String, Option<Rate>) {
    let mut qdisc = spec.qdisc.clone();
    let mut rate = spec.wire.or_else(|| shaped(spec.shaper.as_deref()?));
    for change in &scenario.schedule {
        let is_way = if spec.forward { change.forward } else { change.reverse };
        if change.link != spec.link || !is_way {
            continue;
        }
        match (&change.edit, spec.role) {
            (Edit::Rate(new), Role::Egress) => rate = Some(*new),
            (Edit::Change(text) | Edit::Replace(text), Role::Egress) => qdisc.clone_from(text),
            (Edit::Ingress(n, text), Role::Ingress(own)) if *n == own => qdisc.clone_from(text),
            _ => {}
        }
    }
    (qdisc, rate)
}

/// The rate of a shaper's words: its ceiling if it has one.
fn shaped(words: &str) -> Option<Rate> {
    let words: Vec<&str> = words.split_whitespace().collect();
    let after = |key: &str| words.iter().position(|w| *w == key).and_then(|at| words.get(at + 1));
    Rate::parse_tc(after("ceil").or_else(|| after("rate"))?)
}

#[cfg(test)]
#[path = "collect_tests.rs"]
mod tests;
