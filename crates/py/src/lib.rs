//! The Python module `sojourn._core`: conversions between Python and the engine, nothing else.

#![expect(clippy::needless_pass_by_value, reason = "PyO3 hands values over")]

mod linux;
mod own;
mod scream;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use numpy::{IntoPyArray, PyArray1};
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde_json::{Value, json};
use sojourn_cc as cc;
use sojourn_core::grammar::{Parameter, usage};
use sojourn_linux::{Launch, Measured, Network};
use sojourn_queue::aqm::Kernel;
use sojourn_queue::qdiscs as queues;
use sojourn_scream_tool::End;
use sojourn_trace::Output;
use sojourn_trace::fairness::{self, Better};
use sojourn_transport::app;
use sojourn_transport::tcp::{Config, Overlay, Owner, PARAMETERS};

create_exception!(_core, ScenarioError, PyValueError, "A line for the user: what, where, allowed.");

/// One series: name, unit, times in seconds, values.
type Series<'py> = (String, &'static str, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// What one run left behind.
#[pyclass(frozen)]
struct RunResult {
    output: Output,
    queues: String,
    kernel: Option<String>,
}

impl From<Output> for RunResult {
    fn from(output: Output) -> Self {
        Self { queues: output.queues_json(), output, kernel: None }
    }
}

impl From<Measured> for RunResult {
    fn from(measured: Measured) -> Self {
        let queues = measured.queues_json();
        Self { output: measured.output, queues, kernel: Some(measured.kernel) }
    }
}

#[pymethods]
impl RunResult {
    #[getter]
    fn summary(&self) -> String {
        self.output.summary_json()
    }

    #[getter]
    fn queues(&self) -> String {
        self.queues.clone()
    }

    #[getter]
    fn complete(&self) -> bool {
        self.output.summary.complete
    }

    /// The release of the kernel that it ran on; none for the simulator.
    #[getter]
    fn kernel(&self) -> Option<&str> {
        self.kernel.as_deref()
    }

    #[getter]
    fn series<'py>(&self, py: Python<'py>) -> Vec<Series<'py>> {
        let columns = self.output.series.iter();
        columns
            .map(|c| {
                let (t, v) = (c.t.clone().into_pyarray(py), c.v.clone().into_pyarray(py));
                (c.name.clone(), c.unit, t, v)
            })
            .collect()
    }
}

/// The package's version and a hash of the sources (`build.rs`).
#[pyfunction]
fn version() -> &'static str {
    concat!(env!("CARGO_PKG_VERSION"), "+", env!("SOJOURN_SOURCES"))
}

#[pyfunction]
fn schema() -> String {
    sojourn_scenario::schema()
}

#[pyfunction]
fn resolve(
    text: &str,
    file: &str,
    overrides: Vec<(String, String)>,
) -> PyResult<(String, Vec<String>)> {
    let parsed = sojourn_scenario::load(text, file, &overrides).map_err(refuse)?;
    Ok((sojourn_scenario::to_toml(&parsed.scenario), parsed.warnings))
}

/// The runs of a file's sweep: axis values and resolved scenario.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "the shape of the Python value")]
fn expand(
    text: &str,
    file: &str,
    overrides: Vec<(String, String)>,
) -> PyResult<Vec<(Vec<(String, String)>, String)>> {
    let points = sojourn_scenario::expand(text, file, &overrides).map_err(refuse)?;
    Ok(points.into_iter().map(|p| (p.values, sojourn_scenario::to_toml(&p.scenario))).collect())
}

/// `conditions` of the summary of a run of this scenario, which need not have been made.
#[pyfunction]
fn conditions(text: &str) -> PyResult<String> {
    let parsed = sojourn_scenario::load(text, "scenario.toml", &[]).map_err(refuse)?;
    Ok(json!(sojourn_scenario::conditions(&parsed.scenario)).to_string())
}

#[pyfunction]
#[pyo3(signature = (resolved_toml, progress=None))]
fn run(py: Python<'_>, resolved_toml: &str, progress: Option<Py<PyAny>>) -> PyResult<RunResult> {
    let parsed = sojourn_scenario::load(resolved_toml, "scenario.toml", &[]).map_err(refuse)?;
    let mut watch = Watch::new(progress);
    let output = py.detach(|| {
        let mut go_on = |fraction| !own::has_failed() && watch.told(fraction);
        own::watched(|| sojourn_sim::run(&parsed.scenario, &mut go_on))
    })?;
    if let Some(failure) = watch.failure {
        return Err(failure);
    }
    output.map(Into::into).map_err(|still| PyRuntimeError::new_err(still.to_string()))
}

/// One run on a real kernel. `network` is JSON; `folder` is empty and lives as long as the run.
#[pyfunction]
#[pyo3(signature = (resolved_toml, network, launcher, agent, folder, stall_s, limit_s, progress=None))]
#[expect(clippy::too_many_arguments, reason = "the shape of the Python call")]
fn run_linux(
    py: Python<'_>,
    resolved_toml: &str,
    network: &str,
    launcher: Vec<String>,
    agent: Vec<String>,
    folder: PathBuf,
    stall_s: u64,
    limit_s: u64,
    progress: Option<Py<PyAny>>,
) -> PyResult<RunResult> {
    let parsed = sojourn_scenario::load(resolved_toml, "scenario.toml", &[]).map_err(refuse)?;
    let network: Network = serde_json::from_str(network).map_err(refuse)?;
    let [stall, limit] = [stall_s, limit_s].map(Duration::from_secs);
    let launch = Launch { launcher, agent, stall, limit };
    let mut watch = Watch::new(progress);
    let measured = py.detach(|| {
        let mut told = |fraction| watch.told(fraction);
        sojourn_linux::run(&parsed.scenario, &network, &launch, &folder, &mut told)
    });
    if let Some(failure) = watch.failure {
        return Err(failure);
    }
    measured.map(Into::into).map_err(PyRuntimeError::new_err)
}

/// What runs inside the kernel.
#[pyfunction]
fn linux_inside(py: Python<'_>, folder: PathBuf) -> PyResult<()> {
    py.detach(|| sojourn_linux::inside(&folder)).map_err(PyRuntimeError::new_err)
}

/// One end of the SCReAM bandwidth test tool, until it is over; its exit code. `args` without the
/// program's name.
#[pyfunction]
fn scream_tool(py: Python<'_>, end: &str, args: Vec<String>) -> PyResult<u8> {
    let end = match end {
        "tx" => End::Sender,
        "rx" => End::Receiver,
        other => return Err(PyValueError::new_err(format!("expected tx or rx, got `{other}`"))),
    };
    let args = std::iter::once(String::new()).chain(args).map(Into::into);
    Ok(py.detach(|| sojourn_scream_tool::run(end, args)))
}

/// Tells Python of the progress now and then, and keeps its exception.
struct Watch {
    progress: Option<Py<PyAny>>,
    told_at: Option<Instant>,
    failure: Option<PyErr>,
}

/// Time between two calls of Python: short for whoever waits for an interrupt, and long enough to
/// cost nothing.
const PERIOD: Duration = Duration::from_millis(50);

impl Watch {
    fn new(progress: Option<Py<PyAny>>) -> Self {
        Self { progress, told_at: None, failure: None }
    }

    /// Whether to go on.
    #[expect(clippy::disallowed_methods, reason = "how often Python is asked reaches no result")]
    fn told(&mut self, fraction: f64) -> bool {
        let Some(progress) = &self.progress else { return true };
        let now = Instant::now();
        if self.told_at.is_some_and(|at| now - at < PERIOD) {
            return true;
        }
        self.told_at = Some(now);
        let answer = Python::attach(|py| progress.call1(py, (fraction,))?.extract::<bool>(py));
        answer.unwrap_or_else(|e| {
            self.failure = Some(e);
            false
        })
    }
}

#[pyfunction]
fn qdiscs() -> String {
    let entries = queues::entries().into_iter();
    let list = entries.map(|e| {
        let mut row = describe(e.name, e.summary, e.reference, &e.table());
        row["kernel"] = e.kernel.to_string().into();
        row["mainline"] = matches!(e.kernel, Kernel::Mainline(_)).into();
        row
    });
    Value::Array(list.collect()).to_string()
}

#[pyfunction]
fn controllers() -> String {
    let entries = cc::entries().into_iter();
    let list = entries.map(|e| {
        let mut row = describe(e.name, e.summary, e.reference, &e.table());
        row["kernel"] = e.kernel.to_string().into();
        row
    });
    Value::Array(list.collect()).to_string()
}

#[pyfunction]
fn apps() -> String {
    let entries = app::REGISTRY.iter();
    let list = entries.map(|e| describe(e.name, e.summary, e.reference, &e.table()));
    Value::Array(list.collect()).to_string()
}

#[pyfunction]
fn app_usage(name: &str) -> PyResult<String> {
    let e = app::entry(name).map_err(refuse)?;
    Ok(page(e.summary, e.reference, e.name, &e.table()))
}

/// What the kernels of an era do, as values of `[tcp]`.
#[pyfunction]
fn kernel_flags(era: &str) -> PyResult<String> {
    let era = serde_json::from_value(era.into()).map_err(refuse)?;
    let mut values = serde_json::to_value(Overlay::from(&Config::of(era))).map_err(refuse)?;
    let flags = PARAMETERS.iter().filter(|parameter| parameter.owner == Owner::Kernel);
    let flags = flags.map(|flag| (flag.key.to_owned(), values[flag.key].take())).collect();
    Ok(Value::Object(flags).to_string())
}

/// Harm that competition does: the lost share of what a flow has alone.
#[pyfunction]
fn harm(solo: f64, competing: f64, more_is_better: bool) -> Option<f64> {
    let better = if more_is_better { Better::More } else { Better::Less };
    fairness::harm(solo, competing, better)
}

#[pyfunction]
fn jain(shares: Vec<f64>) -> Option<f64> {
    fairness::jain(&shares)
}

#[pyfunction]
fn qdisc_usage(name: &str) -> PyResult<String> {
    let e = queues::entry(name).map_err(refuse)?;
    let reference = format!("{}\nKernel: {}", e.reference, e.kernel);
    Ok(page(e.summary, &reference, e.name, &e.table()))
}

/// A scenario without the parameters of algorithms that have their defaults.
#[pyfunction]
fn brief(text: &str) -> PyResult<String> {
    let parsed = sojourn_scenario::load(text, "scenario.toml", &[]).map_err(refuse)?;
    Ok(sojourn_scenario::to_brief_toml(&parsed.scenario))
}

#[pyfunction]
fn cc_usage(name: &str) -> PyResult<String> {
    let e = cc::entry(name).map_err(refuse)?;
    let reference = format!("{}\nKernel: {}", e.reference, e.kernel);
    Ok(page(e.summary, &reference, e.name, &e.table()))
}

fn page(summary: &str, reference: &str, name: &str, params: &[Parameter]) -> String {
    format!("{summary}\n{reference}\n\n{}", usage(name, params))
}

fn describe(name: &str, summary: &str, reference: &str, params: &[Parameter]) -> Value {
    let parameters: Vec<Value> = params
        .iter()
        .map(|p| {
            json!({
                "name": p.name,
                "value": p.value,
                "default": p.default,
                "doc": p.doc,
                "tc": p.is_tc,
            })
        })
        .collect();
    json!({"name": name, "summary": summary, "reference": reference, "parameters": parameters})
}

fn refuse(error: impl std::fmt::Display) -> PyErr {
    ScenarioError::new_err(error.to_string())
}

#[pymodule]
mod _core {
    #[pymodule_export]
    use super::linux::Capabilities;
    #[pymodule_export]
    use super::own::{
        Ack, AckEvent, Lost, Packet, Path, RateSample, Sent, Window, define_controller,
        define_qdisc,
    };
    #[pymodule_export]
    use super::scream::{PyReceiver, PySender};
    #[pymodule_export]
    use super::{
        RunResult, ScenarioError, app_usage, apps, brief, cc_usage, conditions, controllers,
        expand, harm, jain, kernel_flags, linux_inside, qdisc_usage, qdiscs, resolve, run,
        run_linux, schema, scream_tool, version,
    };
}
