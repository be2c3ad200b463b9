//! The engines and their runs, as Python has them.

use std::borrow::{Borrow, Cow};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sojourn_core::{Dur, Time};
use sojourn_linux::{Carrier, Kernel, Launch, Place};
use sojourn_scenario::{self as scenario, Status};
use sojourn_sim::Simulator;
use sojourn_trace::{Column, Output};

use crate::arrays::array;
use crate::linux::Capabilities;
use crate::own;

/// One series: name, unit, times in seconds, values.
type Series<'py> = (String, Cow<'static, str>, Bound<'py, PyAny>, Bound<'py, PyAny>);

fn series(
    py: Python<'_>,
    columns: impl IntoIterator<Item = impl Borrow<Column>>,
) -> PyResult<Vec<Series<'_>>> {
    let arrays = |column: &Column| {
        let Column { name, unit, t, v } = column;
        Ok((name.clone(), unit.clone(), array(py, t)?, array(py, v)?))
    };
    columns.into_iter().map(|column| arrays(column.borrow())).collect()
}

/// What one run left behind.
#[pyclass(frozen)]
pub(crate) struct RunResult(Output);

#[pymethods]
impl RunResult {
    #[getter]
    fn summary(&self) -> String {
        self.0.summary_json()
    }

    #[getter]
    fn queues(&self) -> String {
        self.0.queues_json()
    }

    #[getter]
    fn complete(&self) -> bool {
        self.0.summary.complete
    }

    #[getter]
    fn kernel(&self) -> Option<&str> {
        self.0.kernel.as_deref()
    }

    #[getter]
    fn series<'py>(&self, py: Python<'py>) -> PyResult<Vec<Series<'py>>> {
        series(py, &self.0.series)
    }

    /// All series for `series_table`.
    fn packed<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &py.detach(|| crate::series::packed(&self.0.series)))
    }
}

/// What the user chooses of an engine with kernel hosts: any object with these attributes.
#[derive(FromPyObject)]
pub(crate) struct Options {
    /// Packets pass the simulator's network if there is a bound of its lateness, s, else the kernel's.
    bound_s: Option<f64>,
    /// Whether the hosts before it may send several packets as one.
    super_packets: bool,
    /// Whether idle CPUs poll while it runs.
    keep_awake: bool,
    /// Before the names that the hosts have in `ip netns`.
    names: Option<String>,
    /// Whether a scenario may run programs.
    allows_exec: bool,
}

/// What carries out scenarios.
#[pyclass(frozen)]
pub(crate) struct Engine(Box<dyn scenario::Engine>);

#[pymethods]
impl Engine {
    #[staticmethod]
    fn simulator() -> Self {
        Self(Box::new(Simulator::new(crate::version(), sojourn_tap::simulated)))
    }

    /// Hosts of a kernel: in virtual time, which `launcher` starts, or this machine's without one.
    #[staticmethod]
    fn linux(
        identity: &str,
        capabilities: &Capabilities,
        launcher: Vec<String>,
        agent: Vec<String>,
        stall_s: u64,
        limit_s: u64,
        options: Options,
    ) -> Self {
        let [stall, limit] = [stall_s, limit_s].map(Duration::from_secs);
        let place = if launcher.is_empty() { Place::Machine } else { Place::Virtual };
        let launch = Launch { launcher, agent, stall, limit };
        let version = format!("{} {identity}", crate::version());
        let carrier = match options.bound_s {
            None => Carrier::Kernel,
            Some(bound) => Carrier::Middlebox {
                bound: Dur((bound * 1e9) as u64),
                has_super_packets: options.super_packets,
                keeps_awake: options.keep_awake,
            },
        };
        let capabilities = capabilities.0.clone();
        let Options { names, allows_exec, .. } = options;
        Self(Box::new(Kernel { version, launch, capabilities, place, carrier, names, allows_exec }))
    }

    #[getter]
    fn version(&self) -> String {
        self.0.version()
    }

    fn check(&self, text: &str) -> PyResult<()> {
        self.0.check(&load(text)?).map_err(PyValueError::new_err)
    }

    fn commands(&self, text: &str) -> PyResult<Vec<String>> {
        self.0.commands(&load(text)?).map_err(PyValueError::new_err)
    }

    fn names(&self, text: &str) -> PyResult<Vec<String>> {
        self.0.names(&load(text)?).map_err(PyValueError::new_err)
    }

    #[pyo3(signature = (text, captures=None))]
    fn start(&self, py: Python<'_>, text: &str, captures: Option<PathBuf>) -> PyResult<Run> {
        let scenario = Arc::new(load(text)?);
        let duration_s = scenario.duration.as_secs_f64();
        let run = py.detach(|| own::watched(|| self.0.start(scenario, captures.as_deref())))?;
        Ok(Run { run: Mutex::new(Some(run.map_err(PyRuntimeError::new_err)?)), duration_s })
    }
}

fn load(text: &str) -> PyResult<scenario::Scenario> {
    Ok(scenario::load(text, "scenario.toml", &[]).map_err(crate::refuse)?.scenario)
}

/// A run under way.
#[pyclass]
pub(crate) struct Run {
    /// None once it is finished, or has failed. Python may hand it from thread to thread.
    run: Mutex<Option<Box<dyn scenario::Run>>>,
    #[pyo3(get)]
    duration_s: f64,
}

impl Run {
    fn held(&mut self) -> &mut Option<Box<dyn scenario::Run>> {
        self.run.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&mut self) -> PyResult<Box<dyn scenario::Run>> {
        self.held().take().ok_or_else(|| PyRuntimeError::new_err("this run is over"))
    }
}

#[pymethods]
impl Run {
    /// Seconds up to which it has come.
    #[getter]
    fn now_s(&mut self) -> f64 {
        let now = self.held().as_ref().map(|run| run.now().as_secs_f64());
        now.unwrap_or(self.duration_s)
    }

    #[pyo3(signature = (until_s=None, budget_s=0.05))]
    fn advance(
        &mut self,
        py: Python<'_>,
        until_s: Option<f64>,
        budget_s: f64,
    ) -> PyResult<&'static str> {
        let until = match until_s {
            None => Time::NEVER,
            Some(s) if (0.0..1e9).contains(&s) => Time((s * 1e9).round() as u64),
            Some(s) => {
                return Err(PyValueError::new_err(format!("until_s={s}: expected seconds")));
            }
        };
        let budget = Duration::try_from_secs_f64(budget_s)
            .map_err(|e| PyValueError::new_err(format!("budget_s={budget_s}: {e}")))?;
        // Dropped after a failure: a Python object that has raised is not called again.
        let mut run = self.take()?;
        let (status, run) = py.detach(|| {
            own::watched(|| {
                let status = turns(&mut *run, until, budget);
                (status, run)
            })
        })?;
        let status = status.map_err(PyRuntimeError::new_err)?;
        *self.held() = Some(run);
        Ok(match status {
            Status::Going => "going",
            Status::Paused => "paused",
            Status::Ended => "ended",
        })
    }

    /// What was sampled since the last call.
    fn drain<'py>(&mut self, py: Python<'py>) -> PyResult<Vec<Series<'py>>> {
        let mut columns = Vec::new();
        let mut run = self.take()?;
        run.drain(&mut columns);
        *self.held() = Some(run);
        series(py, columns)
    }

    fn finish(&mut self, py: Python<'_>) -> PyResult<RunResult> {
        let run = self.take()?;
        let output = py.detach(|| own::watched(|| run.finish()))?;
        Ok(RunResult(output.map_err(PyRuntimeError::new_err)?))
    }
}

/// Turns until the budget of wall time is used up.
#[expect(clippy::disallowed_methods, reason = "how often Python is asked reaches no result")]
fn turns(run: &mut dyn scenario::Run, until: Time, budget: Duration) -> Result<Status, String> {
    let start = Instant::now();
    loop {
        let status = run.advance(until)?;
        if status != Status::Going || start.elapsed() >= budget || own::has_failed() {
            return Ok(status);
        }
    }
}

/// What runs inside the kernel.
#[pyfunction]
pub(crate) fn linux_inside(py: Python<'_>, folder: PathBuf) -> PyResult<()> {
    py.detach(|| sojourn_linux::inside(&folder)).map_err(PyRuntimeError::new_err)
}
