//! The simulator as one of the engines.

use std::path::Path;
use std::sync::Arc;

use sojourn_core::Time;
use sojourn_scenario::{Engine, Run, Scenario, Status};
use sojourn_trace::{Column, Output};

use crate::engine::{Simulation, Standstill};
use crate::tap::Tap;

/// Makes the tap that writes the captures of a scenario into a folder, if it has any.
pub type Tapper = fn(&Arc<Scenario>, &Path) -> Result<Option<Box<dyn Tap>>, String>;

/// The engine that is this crate.
#[derive(Clone, Debug)]
pub struct Simulator {
    version: &'static str,
    tapper: Tapper,
}

impl Simulator {
    /// `version` is that of the whole build, which only its outermost crate knows, as it does how captures
    /// are written.
    pub fn new(version: &'static str, tapper: Tapper) -> Self {
        Self { version, tapper }
    }
}

impl Engine for Simulator {
    fn version(&self) -> String {
        self.version.to_owned()
    }

    fn check(&self, scenario: &Scenario) -> Result<(), String> {
        match scenario.flows.iter().find(|flow| flow.exec.is_some()) {
            Some(flow) => Err(format!(
                "flow.{}.exec: not on this engine: programs of your own run with --engine live only",
                flow.name
            )),
            None => Ok(()),
        }
    }

    fn start(
        &self,
        scenario: Arc<Scenario>,
        captures: Option<&Path>,
    ) -> Result<Box<dyn Run>, String> {
        self.check(&scenario)?;
        let mut simulation = Simulation::new(Arc::clone(&scenario));
        let tap = captures.map(|folder| (self.tapper)(&scenario, folder)).transpose()?;
        if let Some(tap) = tap.flatten() {
            simulation.tap(tap);
        }
        Ok(Box::new(simulation))
    }
}

impl Run for Simulation {
    fn now(&self) -> Time {
        self.now()
    }

    fn advance(&mut self, until: Time) -> Result<Status, String> {
        let status = self.advance(until).map_err(|still| still.to_string())?;
        self.tap_failure().map_or(Ok(status), Err)
    }

    fn drain(&mut self, columns: &mut Vec<Column>) {
        columns.extend(self.drain());
    }

    fn finish(mut self: Box<Self>) -> Result<Output, String> {
        self.end_tap()?;
        Ok((*self).finish())
    }
}

/// Runs a scenario to its end.
///
/// # Errors
/// If time stands still.
pub fn run(scenario: &Scenario) -> Result<Output, Standstill> {
    let mut simulation = Simulation::new(Arc::new(scenario.clone()));
    while simulation.advance(Time::NEVER)? != Status::Ended {}
    Ok(simulation.finish())
}
