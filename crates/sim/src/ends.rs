//! The end points of a scenario, and what is recorded of them. Whoever drives them, the simulator or a
//! host of real packets, gets the same series and summaries.

use std::sync::Arc;

use sojourn_core::{Ecn, Time};
use sojourn_scenario::Scenario;
use sojourn_trace::{Column, Cursor, Frames, GroupId, Recorder};
use sojourn_transport::{Body, Endpoint};

use crate::host::{End, ends};

mod totals;

/// The end points of flows and pings. Those of the flow or ping number n, flows first, are 2n, which
/// opens it, and 2n + 1.
pub struct Ends {
    scenario: Arc<Scenario>,
    pub(crate) list: Vec<End>,
    recorder: Recorder,
    drained: Cursor,
    /// Series of each flow or ping, and of its controllers.
    groups: Vec<(GroupId, GroupId)>,
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
        let names = scenario.flows.iter().map(|f| format!("flow.{}.", f.name));
        let names = names.chain(scenario.pings.iter().map(|p| format!("ping.{}.", p.name)));
        let groups = names
            .map(|name| (recorder.group(name.clone()), recorder.group(format!("{name}cc."))))
            .collect();
        let was_alive = vec![false; scenario.flows.len()];
        Self { scenario, list, recorder, drained: Cursor::default(), groups, was_alive }
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
            if was_alive.is_some_and(|was| std::mem::replace(was, tx.is_alive()) || *was) {
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
                recorder.sample(*group, now, |probe| {
                    probe.put("one_way", "ms", mean);
                    probe.put("one_way_max", "ms", max);
                });
            }
            let arrivals = self.list[2 * n + 1].arrivals.as_mut();
            let frames = arrivals.and_then(|a| a.windows[0].frames.as_mut());
            if let Some((mean, max)) = frames.and_then(Frames::take_step) {
                recorder.sample(*group, now, |probe| {
                    probe.put("frame_delay", "ms", mean);
                    probe.put("frame_delay_max", "ms", max);
                });
            }
            self.list[2 * n].endpoint.take_samples(&mut |at, name, unit, value| {
                recorder.sample(*group, at, |probe| probe.put(name, unit, value));
            });
        }
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
