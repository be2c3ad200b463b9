//! The simulator as one of the engines.

use std::sync::Arc;

use sojourn_core::Time;
use sojourn_scenario::{Engine, Run, Scenario, Status};
use sojourn_trace::{Column, Output};

use crate::engine::{Simulation, Standstill};

/// The engine that is this crate.
#[derive(Clone, Debug)]
pub struct Simulator {
    version: &'static str,
}

impl Simulator {
    /// `version` is that of the whole build, which only its outermost crate knows.
    pub fn new(version: &'static str) -> Self {
        Self { version }
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

    fn start(&self, scenario: Arc<Scenario>) -> Result<Box<dyn Run>, String> {
        self.check(&scenario)?;
        Ok(Box::new(Simulation::new(scenario)))
    }
}

impl Run for Simulation {
    fn now(&self) -> Time {
        self.now()
    }

    fn advance(&mut self, until: Time) -> Result<Status, String> {
        self.advance(until).map_err(|still| still.to_string())
    }

    fn drain(&mut self, columns: &mut Vec<Column>) {
        columns.extend(self.drain());
    }

    fn finish(self: Box<Self>) -> Result<Output, String> {
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
