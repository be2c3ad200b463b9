//! Flows without series of their own: what the summary needs of each, and the series of their groups.

use sojourn_core::{Dur, Probe, Time};
use sojourn_scenario::{FlowSeries, Scenario};
use sojourn_trace::{Crowd, GroupId, Instants, Recorder, Running};

use crate::host::End;

/// Of a scenario's flows those that have no series of their own.
pub(super) struct Members {
    /// By flow.
    running: Vec<Option<Box<Member>>>,
    groups: Vec<Group>,
    /// Rates of all these flows together in the short bins of the main window, Mbit/s.
    together: Vec<f64>,
    step: Dur,
    /// Events since the last sample, such as completions of transfers, with their group.
    events: Vec<(Time, usize, Value)>,
}

/// Name, unit and value.
type Value = (&'static str, &'static str, f64);

struct Member {
    running: Running,
    /// Whose series it is in, if any.
    group: Option<usize>,
}

/// The series of a group.
struct Group {
    flows: Crowd,
    controllers: Crowd,
    events: GroupId,
    /// Flows that are open at this sample.
    open: u32,
}

impl Members {
    pub(super) fn new(scenario: &Scenario, recorder: &mut Recorder) -> Self {
        let mut members = Self {
            running: scenario.flows.iter().map(|_| None).collect(),
            groups: Vec::new(),
            together: Vec::new(),
            step: scenario.step,
            events: Vec::new(),
        };
        let instants = instants(scenario);
        let member = |group| Some(Box::new(Member { running: Running::new(&instants), group }));
        match scenario.series {
            FlowSeries::Flows => {}
            FlowSeries::None => members.running.fill_with(|| member(None)),
            FlowSeries::Groups => {
                for (number, group) in scenario.groups.iter().enumerate() {
                    let mut of =
                        |part: &str| recorder.group(format!("group.{}.{part}", group.name));
                    let (flows, controllers) = (of(""), of("cc."));
                    let (events, open) = (flows, 0);
                    let [flows, controllers] = [flows, controllers].map(Crowd::new);
                    members.groups.push(Group { flows, controllers, events, open });
                    members.running[group.members()].fill_with(|| member(Some(number)));
                }
            }
        }
        members
    }

    /// What is known of a flow, if it has no series of its own.
    pub(super) fn running(&self, flow: usize) -> Option<&Running> {
        self.running.get(flow)?.as_ref().map(|member| &member.running)
    }

    /// Whether it has series of its own.
    pub(super) fn has_series(&self, number: usize) -> bool {
        self.running(number).is_none()
    }

    /// Samples a flow that has none: `[tx, rx]` are its ends. `ends` if it is closed now.
    pub(super) fn sample(&mut self, now: Time, flow: usize, [tx, rx]: [&End; 2], ends: bool) {
        let Self { running, groups, together, step, .. } = self;
        let Some(member) = &mut running[flow] else { return };
        let Member { running, group } = &mut **member;
        let mut group = group.map(|number| &mut groups[number]);
        if let Some(group) = &mut group {
            group.open += u32::from(!ends);
            group.flows.next();
            group.controllers.next();
        }
        let mut put = |name: &str, unit: &'static str, value: f64| {
            if name == "goodput_bytes" {
                let bytes = running.deliver(now, value, |bin, mbps| {
                    let bin = bin as usize;
                    together.resize(together.len().max(bin + 1), 0.0);
                    together[bin] += mbps;
                });
                if let Some(group) = &mut group {
                    let mbps = bytes * 8.0 / step.as_secs_f64() / 1e6;
                    group.flows.put("goodput", "Mbit/s", mbps, ends);
                }
            } else {
                running.put(now, name, value);
            }
            if let Some(group) = &mut group {
                group.flows.put(name, unit, value, ends);
            }
        };
        let probe = &mut Probe::new(&mut put);
        rx.endpoint.sample(now, probe);
        tx.endpoint.sample(now, probe);
        let mut put = |name: &str, unit: &'static str, value: f64| {
            running.put_controller(now, name, value);
            if let Some(group) = &mut group {
                group.controllers.put(name, unit, value, ends);
            }
        };
        let probe = &mut Probe::new(&mut put);
        tx.endpoint.sample_controller(probe);
        rx.endpoint.sample_controller(probe);
    }

    /// A value of a step of a flow that has no series, beside those of its ends.
    pub(super) fn put(&mut self, flow: usize, (name, unit, value): Value) {
        let group = self.running[flow].as_ref().and_then(|member| member.group);
        if let Some(group) = group {
            self.groups[group].flows.put(name, unit, value, false);
        }
    }

    /// Takes what has happened at the opening end of a flow that has no series.
    pub(super) fn take_events(&mut self, flow: usize, tx: &mut End) {
        let Some(member) = &mut self.running[flow] else { return };
        let (first, group) = (self.events.len(), member.group.unwrap_or_default());
        tx.endpoint.take_samples(&mut |at, name, unit, value| {
            self.events.push((at, group, (name, unit, value)));
        });
        for pair in self.events[first..].chunks(2) {
            if let [(at, _, ("fct", _, ms)), (_, _, ("fct_bytes", _, bytes))] = *pair {
                member.running.complete(at, ms, bytes);
            }
        }
        if member.group.is_none() {
            self.events.truncate(first);
        }
    }

    /// Adds the rates of these flows in the short bins of the main window that end until `now`.
    pub(super) fn add_together(&self, now: Time, sums: &mut Vec<f64>) {
        let mut add = |bin: u64, mbps: f64| {
            let bin = bin as usize;
            sums.resize(sums.len().max(bin + 1), 0.0);
            sums[bin] += mbps;
        };
        self.together.iter().enumerate().for_each(|(bin, mbps)| add(bin as u64, *mbps));
        let running = self.running.iter().flatten();
        running.for_each(|member| member.running.rest(now, &mut add));
    }

    /// All flows have been sampled.
    pub(super) fn close(&mut self, now: Time, recorder: &mut Recorder) {
        self.events.sort_by_key(|(at, ..)| *at);
        for (at, group, (name, unit, value)) in self.events.drain(..) {
            recorder.sample(self.groups[group].events, at, |probe| probe.put(name, unit, value));
        }
        for group in &mut self.groups {
            group.flows.close(now, recorder);
            group.controllers.close(now, recorder);
            let open = f64::from(std::mem::take(&mut group.open));
            recorder.sample(group.events, now, |probe| probe.put("open", "flows", open));
        }
    }
}

fn instants(scenario: &Scenario) -> Instants {
    let compared = scenario.flows.iter().filter(|flow| flow.is_greedy()).map(|flow| flow.start);
    Instants {
        windows: scenario.all_windows().map(|window| (window.from, window.to)).collect(),
        compared_from: compared.max().unwrap_or(Time::NEVER),
        step: scenario.step,
    }
}
