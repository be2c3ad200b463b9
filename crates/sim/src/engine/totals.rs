//! What a run's queues and windows amount to.

use sojourn_core::Rate;
use sojourn_scenario::Measure;
use sojourn_scenario::topology::carried;
use sojourn_trace::summary::{QueueWindow, WindowSummary};

use super::Simulation;

impl Simulation {
    /// The windows with a name; `rates` are those of [`Self::rates`].
    pub(super) fn window_summaries(&self, rates: &[Option<Rate>]) -> Vec<WindowSummary> {
        let windows = self.scenario.windows.iter().enumerate();
        let summary = |(index, (name, window)): (usize, &(String, Measure))| {
            let (number, window) = (index + 1, *window);
            WindowSummary {
                name: name.clone(),
                from_s: window.from.as_secs_f64(),
                to_s: window.to.as_secs_f64(),
                flows: self.ends.flow_windows((number, window), self.now, rates),
                pings: self.ends.ping_windows(window),
                queues: self.queue_windows(number, window),
            }
        };
        windows.map(summary).collect()
    }

    /// The queues within a window, which has this number.
    pub(super) fn queue_windows(&self, number: usize, window: Measure) -> Vec<QueueWindow> {
        let (flows, pings) = (&self.scenario.flows, &self.scenario.pings);
        let name = |n: usize| match flows.get(n) {
            Some(flow) => flow.name.clone(),
            None => pings[n - flows.len()].name.clone(),
        };
        self.ports.iter().map(|port| port.window(number, window, self.now, name)).collect()
    }

    /// What the way of each flow's data carries, as it is at the end of the run.
    pub(super) fn rates(&self) -> Vec<Option<Rate>> {
        let rate = |(n, flow)| {
            let ways = self.topology.data_ways(flow, n);
            carried(&ways, |port| self.ports[port].capacity(), |_| {})
        };
        self.scenario.flows.iter().enumerate().map(rate).collect()
    }
}
