//! What an engine does with a scenario: the simulator, a kernel in virtual time, or a live network.
//!
//! A [`Run`] goes on in short turns, so that whoever holds it may show what it measures, pause, change
//! to another run, or stop, without threads and without callbacks.

use std::path::Path;
use std::sync::Arc;

use sojourn_core::Time;
use sojourn_trace::{Column, Output};

use crate::scenario::Scenario;

/// Carries out scenarios.
pub trait Engine: Send + Sync {
    /// What results are recognised by: those of two versions are never mixed.
    fn version(&self) -> String;

    /// Whether it can run this.
    ///
    /// # Errors
    /// The key of the scenario that it cannot do, and the reason, in one line.
    fn check(&self, scenario: &Scenario) -> Result<(), String>;

    /// The commands that build the hosts of a run; none without a kernel.
    ///
    /// # Errors
    /// As of [`Engine::check`].
    fn commands(&self, _scenario: &Scenario) -> Result<Vec<String>, String> {
        Ok(Vec::new())
    }

    /// The network namespaces in which other programs see the hosts while a run lasts; none unless it was
    /// asked to show them.
    ///
    /// # Errors
    /// As of [`Engine::check`].
    fn names(&self, _scenario: &Scenario) -> Result<Vec<String>, String> {
        Ok(Vec::new())
    }

    /// Builds a run, which stands at 0 s until it is advanced. The scenario's capture files are written to the
    /// folder `captures`, and complete when the run is finished; without a folder there are none.
    ///
    /// # Errors
    /// What is missing, in one line.
    fn start(
        &self,
        scenario: Arc<Scenario>,
        captures: Option<&Path>,
    ) -> Result<Box<dyn Run>, String>;
}

/// One scenario under way.
pub trait Run: Send {
    /// The instant up to which it has come.
    fn now(&self) -> Time;

    /// Goes on for one turn: to `until`, to the end of the scenario, or for at most 10 ms of this
    /// thread's time, whichever comes first.
    ///
    /// # Errors
    /// What ended the run early, in one line.
    fn advance(&mut self, until: Time) -> Result<Status, String>;

    /// Adds to `columns` what was sampled since the last call, one column per series.
    fn drain(&mut self, columns: &mut Vec<Column>);

    /// The results so far. They are complete if the run has ended.
    ///
    /// # Errors
    /// Why there are none, in one line.
    fn finish(self: Box<Self>) -> Result<Output, String>;
}

/// Where a turn has led.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// There is more to do before the instant that was asked for.
    Going,
    /// It has come to that instant.
    Paused,
    /// It has come to the end of the scenario.
    Ended,
}

/// Runs to the end.
///
/// # Errors
/// What ended the run early, in one line.
pub fn complete(mut run: Box<dyn Run>) -> Result<Output, String> {
    while run.advance(Time::NEVER)? != Status::Ended {}
    run.finish()
}
