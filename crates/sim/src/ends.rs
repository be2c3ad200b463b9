//! The end points of a scenario, and what is recorded of them. Whoever drives them, the simulator or a
//! host of real packets, gets the same series and summaries.

use std::sync::Arc;

use sojourn_core::{Ecn, Time};
use sojourn_scenario::Scenario;
use sojourn_trace::{Column, Cursor, Frames, GroupId, Recorder};
use sojourn_transport::{Body, Endpoint};

use crate::host::{End, ends};

mod members;
mod totals;

use self::members::Members;

/// The end points of flows and pings. Those of the flow or ping number n, flows first, are 2n, which
/// opens it, and 2n + 1.
pub struct Ends {
    scenario: Arc<Scenario>,
    pub(crate) list: Vec<End>,
    recorder: Recorder,
    drained: Cursor,
    /// Series of each flow or ping, and of its controllers; empty for a flow that has none of its own.
    groups: Vec<(GroupId, GroupId)>,
    members: Members,
    /// Whether each flow was open at the last sample: its end is sampled once more.
    was_alive: Vec<bool>,
}

impl Ends {
    /// Those of `scenario`, where `outside` gives others that take the place of its own.
    pub fn with_outside(
        scenario: Arc<Scenario>,
        outside: impl Fn(usize) -> Option<Box<dyn Endpoint>>,
    ) -> Self {
        let mut list = ends(&scenario);
        for (number, end) in list.iter_mut().enumerate() {
            if let Some(endpoint) = outside(number) {
                end.endpoint = endpoint;
            }
        }
        let mut recorder = Recorder::default();
        let members = Members::new(&scenario, &mut recorder);
        let names = scenario.flows.iter().map(|f| format!("flow.{}.", f.name));
        let names = names.chain(scenario.pings.iter().map(|p| format!("ping.{}.", p.name)));
        let mut none = None;
        let groups = names.enumerate().map(|(number, name)| {
            if members.has_series(number) {
                return (recorder.group(name.clone()), recorder.group(format!("{name}cc.")));
            }
            let none = *none.get_or_insert_with(|| recorder.group(String::new()));
            (none, none)
        });
        let groups = groups.collect();
        let was_alive = vec![false; scenario.flows.len()];
        Self { scenario, list, recorder, drained: Cursor::default(), groups, members, was_alive }
    }

    /// An end point.
    ///
    /// # Panics
    /// If there is none with this number.
    pub fn get(&mut self, number: usize) -> &mut dyn Endpoint {
        self.list[number].endpoint.as_mut()
    }

    /// A packet arrives at an end point.
    ///
    /// # Panics
    /// If there is none with this number.
    #[inline]
    pub fn deliver(&mut self, now: Time, number: usize, body: &Body, ecn: Ecn) {
        let end = &mut self.list[number];
        if let Some(arrivals) = &mut end.arrivals {
            arrivals.record(now, body, &self.scenario);
        }
        end.endpoint.on_packet(now, body, ecn);
    }

    /// Records a sample.
    pub fn sample(&mut self, now: Time) {
        for (n, (group, cc)) in self.groups.iter().enumerate() {
            let [tx, rx] = [2 * n, 2 * n + 1].map(|e| &self.list[e].endpoint);
            let was_alive = self.was_alive.get_mut(n);
            let is_sampled =
                was_alive.is_some_and(|was| std::mem::replace(was, tx.is_alive()) || *was);
            let has_series = self.members.has_series(n);
            if is_sampled && !has_series {
                let pair = [&self.list[2 * n], &self.list[2 * n + 1]];
                self.members.sample(now, n, pair, !self.was_alive[n]);
            } else if is_sampled {
                self.recorder.sample(*group, now, |probe| {
                    rx.sample(now, probe);
                    tx.sample(now, probe);
                });
                self.recorder.sample(*cc, now, |probe| {
                    tx.sample_controller(probe);
                    rx.sample_controller(probe);
                });
            }
            let recorder = &mut self.recorder;
            let arrivals = self.list[2 * n + 1].arrivals.as_mut();
            if let Some((mean, max)) = arrivals.and_then(|a| a.windows[0].one_way.take_step()) {
                let values = [("one_way", "ms", mean), ("one_way_max", "ms", max)];
                put(&mut self.members, recorder, (n, *group), now, values);
            }
            let arrivals = self.list[2 * n + 1].arrivals.as_mut();
            let frames = arrivals.and_then(|a| a.windows[0].frames.as_mut());
            if let Some((mean, max)) = frames.and_then(Frames::take_step) {
                let values = [("frame_delay", "ms", mean), ("frame_delay_max", "ms", max)];
                put(&mut self.members, recorder, (n, *group), now, values);
            }
            if has_series {
                self.list[2 * n].endpoint.take_samples(&mut |at, name, unit, value| {
                    recorder.sample(*group, at, |probe| probe.put(name, unit, value));
                });
            } else {
                self.members.take_events(n, &mut self.list[2 * n]);
            }
        }
        self.members.close(now, &mut self.recorder);
    }

    /// What was sampled since the last call.
    pub fn drain(&mut self) -> impl Iterator<Item = Column> {
        self.recorder.since(&mut self.drained)
    }

    /// Forgets what was sampled so far.
    pub(crate) fn forget_series(&mut self) {
        self.recorder.clear();
        self.drained = Cursor::default();
    }

    /// All series, flow by flow.
    pub fn into_columns(self) -> Vec<Column> {
        self.recorder.into_columns()
    }
}

/// Records values of a step of the flow with this number, whose own series are `group`.
fn put<const N: usize>(
    members: &mut Members,
    recorder: &mut Recorder,
    (number, group): (usize, GroupId),
    now: Time,
    values: [(&'static str, &'static str, f64); N],
) {
    if members.has_series(number) {
        recorder.sample(group, now, |probe| {
            for (name, unit, value) in values {
                probe.put(name, unit, value);
            }
        });
    } else {
        for value in values {
            members.put(number, value);
        }
    }
}
