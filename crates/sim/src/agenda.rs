//! What happens at fixed times: starts, stops and scheduled changes.

use sojourn_core::Time;
use sojourn_scenario::Scenario;

/// An entry of the agenda.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Item {
    /// Scheduled change with this index.
    Change(usize),
    /// The flow or ping with this number opens.
    Start(usize),
    /// Its application stops.
    Stop(usize),
}

/// All entries in order of time; changes come before starts and stops of the same instant.
pub fn agenda(scenario: &Scenario) -> Vec<(Time, Item)> {
    let changes = scenario.schedule.iter().enumerate().map(|(i, c)| (c.at, Item::Change(i)));
    let flows = scenario.flows.iter().map(|f| (f.opens(scenario.seed), f.stop));
    let pings = scenario.pings.iter().map(|p| (p.start, p.stop));
    let ends = flows.chain(pings).enumerate().flat_map(|(i, (start, stop))| {
        [Some((start, Item::Start(i))), stop.map(|at| (at, Item::Stop(i)))].into_iter().flatten()
    });
    let mut items: Vec<_> = changes.chain(ends).collect();
    items.sort();
    items
}
