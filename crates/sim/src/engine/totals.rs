//! What a run's queues and windows amount to.

use sojourn_core::Rate;
use sojourn_scenario::Measure;
use sojourn_scenario::topology::carried;
use sojourn_trace::summary::{QueueSummary, QueueWindow, WindowSummary};

use super::Simulation;
use crate::link::Port;

impl Simulation {
    /// The windows with a name; `rates` are those of [`Self::rates`].
    pub(super) fn window_summaries(&self, rates: &[Option<Rate>]) -> Vec<WindowSummary> {
        let mut summaries = self.ends.window_summaries(self.now, rates);
        for (index, (summary, (_, window))) in
            summaries.iter_mut().zip(&self.scenario.windows).enumerate()
        {
            summary.queues = self.queue_windows(index + 1, *window);
        }
        summaries
    }

    /// The accounts of the queues so far, with the sojourn times and the utilisation since the last call.
    pub fn queues(&mut self) -> Vec<QueueSummary> {
        let window = Measure { from: std::mem::replace(&mut self.asked, self.now), to: self.now };
        let name = |n| self.name(n);
        let summary = |port: &Port| port.summary(port.recent(window, self.now, name));
        let queues = self.ports.iter().map(summary).collect();
        self.close_windows();
        queues
    }

    /// The queues within a window, which has this number.
    pub(super) fn queue_windows(&self, number: usize, window: Measure) -> Vec<QueueWindow> {
        let name = |n| self.name(n);
        self.ports.iter().map(|port| port.window(number, window, self.now, name)).collect()
    }

    /// Name of the flow or ping with this number.
    fn name(&self, n: usize) -> String {
        let (flows, pings) = (&self.scenario.flows, &self.scenario.pings);
        flows.get(n).map_or_else(|| pings[n - flows.len()].name.clone(), |flow| flow.name.clone())
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
