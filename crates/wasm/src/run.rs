//! A run that JavaScript advances, and what it leaves.

use std::sync::Arc;

use js_sys::{Float64Array, Uint8Array};
use sojourn_core::Time;
use sojourn_scenario::Status;
use sojourn_sim::Simulation;
use sojourn_tap::Kept;
use sojourn_trace::{Column, Output};
use wasm_bindgen::prelude::*;

/// A run under way.
#[wasm_bindgen]
pub struct Run {
    /// None once it is finished, or has failed.
    simulation: Option<Box<Simulation>>,
    captures: Kept,
    duration_s: f64,
}

#[wasm_bindgen]
impl Run {
    /// A run of a scenario, at 0 s; with `captures` the files of its `[[capture]]` are kept in memory.
    ///
    /// # Errors
    /// What is wrong with the scenario, as of `resolve`, or what it needs that a browser has not.
    #[wasm_bindgen(constructor)]
    pub fn new(text: &str, captures: bool) -> Result<Self, String> {
        let scenario = Arc::new(crate::load(text)?);
        if let Some(flow) = scenario.flows.iter().find(|flow| flow.exec.is_some()) {
            return Err(format!("flow.{}.exec: there are no programs in a browser", flow.name));
        }
        let mut simulation = Simulation::new(Arc::clone(&scenario));
        let mut kept = Kept::new();
        if captures && !scenario.captures.is_empty() {
            let (tap, files) = sojourn_tap::in_memory(&scenario)?;
            simulation.tap(tap);
            kept = files;
        }
        let duration_s = scenario.duration.as_secs_f64();
        Ok(Self { simulation: Some(Box::new(simulation)), captures: kept, duration_s })
    }

    /// Length of the scenario, s.
    #[wasm_bindgen(getter)]
    pub fn duration_s(&self) -> f64 {
        self.duration_s
    }

    /// Seconds of the scenario up to which it has come.
    #[wasm_bindgen(getter)]
    pub fn now_s(&self) -> f64 {
        let simulation = self.simulation.as_ref();
        simulation.map_or(self.duration_s, |simulation| simulation.now().as_secs_f64())
    }

    /// Goes on to `until_s`, to the end, or for `budget_ms` of wall time: `going`, `paused` or `ended`.
    ///
    /// # Errors
    /// What ended it early, in one line; after that it is over.
    pub fn advance(&mut self, until_s: Option<f64>, budget_ms: f64) -> Result<String, String> {
        let until = until_s.map_or(Time::NEVER, |s| Time((s.clamp(0.0, 1e9) * 1e9).round() as u64));
        let begin = js_sys::Date::now();
        // Dropped after a failure.
        let mut simulation = self.take()?;
        loop {
            let status = sojourn_scenario::Run::advance(&mut *simulation, until)?;
            if status == Status::Going && js_sys::Date::now() - begin < budget_ms {
                continue;
            }
            self.simulation = Some(simulation);
            let name = match status {
                Status::Going => "going",
                Status::Paused => "paused",
                Status::Ended => "ended",
            };
            return Ok(name.to_owned());
        }
    }

    /// What was sampled since the last call.
    ///
    /// # Errors
    /// It is over.
    pub fn drain(&mut self) -> Result<Columns, String> {
        let mut simulation = self.take()?;
        let columns = simulation.drain().collect();
        self.simulation = Some(simulation);
        Ok(Columns(columns))
    }

    /// The results so far; after that the run is over.
    ///
    /// # Errors
    /// Why there are none, in one line.
    pub fn finish(&mut self) -> Result<Finished, String> {
        let output = sojourn_scenario::Run::finish(self.take()?)?;
        let kept = std::mem::take(&mut self.captures);
        let captures = kept.into_iter().map(|(name, memory)| (name, memory.take())).collect();
        Ok(Finished { output, captures })
    }
}

impl Run {
    fn take(&mut self) -> Result<Box<Simulation>, String> {
        self.simulation.take().ok_or_else(|| "this run is over".to_owned())
    }
}

/// Series by number.
#[wasm_bindgen]
pub struct Columns(Vec<Column>);

#[wasm_bindgen]
impl Columns {
    /// Number of series.
    #[wasm_bindgen(getter)]
    pub fn length(&self) -> usize {
        self.0.len()
    }

    /// Name.
    pub fn name(&self, number: usize) -> String {
        self.0[number].name.clone()
    }

    /// Unit.
    pub fn unit(&self, number: usize) -> String {
        self.0[number].unit.clone().into_owned()
    }

    /// Times, s.
    pub fn t(&self, number: usize) -> Float64Array {
        Float64Array::from(&self.0[number].t[..])
    }

    /// Values.
    pub fn v(&self, number: usize) -> Float64Array {
        Float64Array::from(&self.0[number].v[..])
    }
}

/// What a run left behind.
#[wasm_bindgen]
pub struct Finished {
    output: Output,
    captures: Vec<(String, Vec<u8>)>,
}

#[wasm_bindgen]
impl Finished {
    /// `summary.json`.
    #[wasm_bindgen(getter)]
    pub fn summary(&self) -> String {
        self.output.summary_json()
    }

    /// `queue.json`.
    #[wasm_bindgen(getter)]
    pub fn queues(&self) -> String {
        self.output.queues_json()
    }

    /// Whether the run reached its end.
    #[wasm_bindgen(getter)]
    pub fn complete(&self) -> bool {
        self.output.summary.complete
    }

    /// All series, in a fixed order.
    pub fn columns(&self) -> Columns {
        Columns(self.output.series.clone())
    }

    /// Number of captures.
    #[wasm_bindgen(getter)]
    pub fn capture_count(&self) -> usize {
        self.captures.len()
    }

    /// Name of a capture's file.
    pub fn capture_name(&self, number: usize) -> String {
        self.captures[number].0.clone()
    }

    /// A capture, as pcapng.
    pub fn capture_bytes(&self, number: usize) -> Uint8Array {
        Uint8Array::from(&self.captures[number].1[..])
    }
}
