//! From the lines that the inside wrote to series, statistics and totals, under the names of the
//! simulator.

use std::sync::Arc;

use serde_json::Value;
use sojourn_core::{Dur, Rate, Time};
use sojourn_scenario::topology::carried;
use sojourn_scenario::{Flow, Measure, Scenario, Topology};
use sojourn_trace::rfc5166::{Bins, Metrics};
use sojourn_trace::summary::{PingWindow, WindowSummary};
use sojourn_trace::{
    Column, Cursor, FlowSummary, Goodput, GroupId, Output, PingSummary, ProgramSummary, Recorder,
    Share, Statistics, Summary, Window,
};

use crate::flow::{Sampled, Series, samples};
use crate::job::{Carried, Line};
use crate::network::Device;
use crate::queue::{Queue, at_the_end};

/// A ping as it was sampled: its series, requests and replies.
#[derive(Debug)]
struct Echoes {
    group: GroupId,
    sent: u64,
    received: u64,
}

/// Reads the lines one by one.
#[derive(Debug)]
pub(crate) struct Collector {
    scenario: Arc<Scenario>,
    recorder: Recorder,
    drained: Cursor,
    flows: Vec<Sampled>,
    pings: Vec<Echoes>,
    queues: Vec<Queue>,
    /// The instant of the last whole sample.
    clock: Time,
    /// The kernel's release.
    kernel: Option<String>,
    /// Series of a middlebox or of end points of ours, and which of them were not drained.
    series: Vec<Column>,
    undrained: Vec<Column>,
    carried: Option<Box<Carried>>,
    /// Of each flow.
    programs: Vec<Vec<ProgramSummary>>,
}

impl Collector {
    pub(crate) fn new(scenario: Arc<Scenario>, devices: &[Device]) -> Self {
        let mut recorder = Recorder::default();
        let flows = scenario.flows.iter();
        let flows = flows.map(|f| Sampled::new(recorder.group(format!("flow.{}.", f.name))));
        let flows = flows.collect();
        let mut pings = Vec::new();
        for ping in &scenario.pings {
            let group = recorder.group(format!("ping.{}.", ping.name));
            pings.push(Echoes { group, sent: 0, received: 0 });
        }
        let mut queues = Vec::new();
        // In the order of the simulator's queues.
        for spec in Topology::new(&scenario).ports {
            let is_there =
                devices.iter().any(|device| device.queues.iter().any(|q| q.port == spec.name));
            if is_there {
                let group = recorder.group(format!("queue.{}.", spec.name));
                queues.push(Queue::new(&scenario, &spec, group, devices));
            }
        }
        let drained = Cursor::default();
        let (clock, kernel) = (Time::ZERO, None);
        let (series, undrained, carried) = (Vec::new(), Vec::new(), None);
        let programs = vec![Vec::new(); scenario.flows.len()];
        Self {
            scenario,
            recorder,
            drained,
            flows,
            pings,
            queues,
            clock,
            kernel,
            series,
            undrained,
            carried,
            programs,
        }
    }

    /// Takes one line; the error is what stopped the run.
    pub(crate) fn take(&mut self, text: &str) -> Result<(), String> {
        let line: Line = serde_json::from_str(text).map_err(|e| format!("samples: {e}"))?;
        let (flows, recorder) = (&mut self.flows, &mut self.recorder);
        match line {
            Line::Kernel(release) => self.kernel = Some(release),
            Line::Clock(at) => self.clock = Time(at),
            Line::Failed(error) => return Err(error),
            Line::Flow(index, at, sample) => flows[index].connection(Time(at), sample, recorder),
            Line::Answers(index, asked, answered) => flows[index].answers(asked, answered),
            Line::Short(index, at, sample) => flows[index].short(Time(at), sample, recorder),
            Line::Udp(index, at, sample) => flows[index].datagrams(Time(at), sample, recorder),
            Line::Arrivals(index, arrivals) => {
                flows[index].arrivals(&arrivals, self.scenario.measure);
            }
            Line::Done(index, at, took, bytes) => {
                flows[index].done(Time(at), Dur(took), bytes, recorder);
            }
            Line::Ping(index, at, rtt) => {
                let put = |p: &mut sojourn_core::Probe<'_>| p.put("rtt", "ms", rtt as f64 / 1e6);
                recorder.sample(self.pings[index].group, Time(at), put);
            }
            Line::Pings(index, sent, received) => {
                self.pings[index].sent = sent;
                self.pings[index].received = received;
            }
            Line::Queues(device, at, rows) => self.queues_at(device, Time(at), &rows, true)?,
            Line::Series(columns) => {
                for column in &columns {
                    self.extend(column);
                }
                self.undrained.extend(columns);
            }
            Line::Program(index, program) => self.programs[index].push(program),
            Line::Carried(carried) => self.carried = Some(carried),
            Line::Before(device, at, rows) => self.queues_at(device, Time(at), &rows, false)?,
        }
        Ok(())
    }

    /// Adds to the series of a middlebox.
    fn extend(&mut self, more: &Column) {
        match self.series.iter_mut().find(|column| column.name == more.name) {
            Some(column) => {
                column.t.extend_from_slice(&more.t);
                column.v.extend_from_slice(&more.v);
            }
            None => self.series.push(more.clone()),
        }
    }

    /// The instant of the last whole sample.
    pub(crate) fn clock(&self) -> Time {
        self.clock
    }

    /// Whether it has got any line.
    pub(crate) fn has_begun(&self) -> bool {
        self.kernel.is_some()
    }

    /// What was sampled since the last call.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Column> {
        let carried = std::mem::take(&mut self.undrained);
        self.recorder.since(&mut self.drained).chain(carried)
    }

    fn queues_at(
        &mut self,
        device: usize,
        at: Time,
        text: &str,
        is_sample: bool,
    ) -> Result<(), String> {
        let rows: Vec<Value> =
            serde_json::from_str(text).map_err(|e| format!("tc: {e}: {text}"))?;
        for queue in &mut self.queues {
            let series = is_sample.then_some(&mut self.recorder);
            queue.take(device, at, &rows, self.scenario.measure, series);
        }
        Ok(())
    }

    /// The windows with a name; a kernel counts no packets in them.
    fn windows(&mut self) -> Vec<WindowSummary> {
        let scenario = &self.scenario;
        let summary = |(name, window): &(String, Measure)| WindowSummary {
            name: name.clone(),
            from_s: window.from.as_secs_f64(),
            to_s: window.to.as_secs_f64(),
            flows: (scenario.flows.iter().zip(&self.flows).enumerate())
                .map(|(n, (flow, sampled))| {
                    sampled.window(flow, self.series(), *window, self.path_rate(n))
                })
                .collect(),
            pings: (scenario.pings.iter().zip(&self.pings))
                .map(|(ping, echoes)| PingWindow {
                    name: ping.name.clone(),
                    rtt_ms: Statistics::of(samples(&self.recorder, echoes.group, ".rtt", *window)),
                })
                .collect(),
            queues: vec![],
        };
        let mut windows: Vec<_> = scenario.windows.iter().map(summary).collect();
        let carried = self.carried.iter_mut().flat_map(|carried| carried.windows.drain(..));
        for (window, carried) in windows.iter_mut().zip(carried) {
            window.queues = carried.queues;
            for own in carried.flows {
                if let Some(flow) = window.flows.iter_mut().find(|flow| flow.name == own.name) {
                    *flow = own;
                }
            }
        }
        windows
    }

    fn series(&self) -> Series<'_> {
        Series { recorder: &self.recorder, end: self.clock, step: self.scenario.step }
    }

    /// The results, whether or not the run came to its end.
    pub(crate) fn finish(mut self, complete: bool) -> Output {
        let window = self.scenario.measure;
        let duration_s = self.clock.as_secs_f64();
        let length = window.to.min(self.clock).since(window.from).as_secs_f64();
        let flows = self.scenario.flows.iter().zip(&self.flows).enumerate();
        let flows = flows.map(|(n, (flow, sampled))| {
            sampled.summary(flow, self.series(), window, self.path_rate(n))
        });
        let mut flows: Vec<FlowSummary> = flows.collect();
        for own in self.carried.iter_mut().flat_map(|carried| carried.flows.drain(..)) {
            if let Some(flow) = flows.iter_mut().find(|flow| flow.name == own.name) {
                *flow = own;
            }
        }
        for (flow, mut programs) in flows.iter_mut().zip(self.programs.drain(..)) {
            programs.sort_by_key(|program| program.end);
            flow.programs = programs;
        }
        let pings = self.scenario.pings.iter().zip(&self.pings);
        let pings = pings.map(|(ping, echoes)| PingSummary {
            name: ping.name.clone(),
            rtt_ms: Statistics::of(samples(&self.recorder, echoes.group, ".rtt", window)),
            totals: [("sent", echoes.sent as f64), ("received", echoes.received as f64)]
                .into_iter()
                .collect(),
        });
        let pings: Vec<PingSummary> = pings.collect();
        let windows = self.windows();
        let (queues, middlebox) = match self.carried.take().map(|carried| *carried) {
            Some(Carried { queues, record: Some(record), .. }) => (queues, Some(record)),
            _ => (self.queues.iter().map(|queue| queue.summary(length)).collect(), None),
        };
        let metrics = Metrics::of(&flows, &pings, &queues, &self.bins());
        let summary = Summary {
            schema: "sojourn/summary/1",
            name: self.scenario.name.clone(),
            seed: self.scenario.seed,
            duration_s,
            complete,
            measure: Window { from_s: window.from.as_secs_f64(), to_s: window.to.as_secs_f64() },
            conditions: sojourn_scenario::conditions(&self.scenario),
            events: 0,
            data_packets: self.flows.iter().map(Sampled::segments).sum(),
            flows,
            pings,
            metrics,
            middlebox,
            windows,
        };
        let mut series = self.recorder.into_columns();
        series.append(&mut self.series);
        Output { summary, queues, series, kernel: self.kernel }
    }

    fn bins(&self) -> Bins {
        let window = self.scenario.measure;
        let flows = self.scenario.flows.iter().zip(&self.flows);
        let goodput = |(flow, sampled): (&Flow, &Sampled)| -> Vec<Column> {
            let name = format!("flow.{}.goodput_bytes", flow.name);
            let columns = self.recorder.columns(sampled.group).iter().chain(&self.series);
            columns.filter(|column| column.name == name).cloned().collect()
        };
        let goodputs: Vec<_> = flows.map(goodput).collect();
        let shares = self.scenario.flows.iter().zip(&goodputs).map(|(flow, goodput)| Share {
            goodput: Goodput::of(goodput),
            start: flow.start,
            stop: flow.stop,
            is_compared: flow.is_greedy(),
        });
        Bins::of(
            &shares.collect::<Vec<_>>(),
            (window.from, window.to),
            self.clock,
            self.scenario.step,
        )
    }

    /// What the way of the data of flow number `n` carries, as it is at the end of the run.
    fn path_rate(&self, n: usize) -> Option<Rate> {
        let topology = Topology::new(&self.scenario);
        let ways = topology.data_ways(&self.scenario.flows[n], n);
        carried(&ways, |port| at_the_end(&self.scenario, &topology.ports[port]).1, |_| {})
    }
}

#[cfg(test)]
mod tests;
