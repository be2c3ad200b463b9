//! What a kernel has, as Python holds it.

use std::time::Duration;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use sojourn_linux::{Launch, network};

/// What a kernel and the tc inside it have.
#[pyclass(frozen)]
pub(crate) struct Capabilities(pub(crate) sojourn_linux::Capabilities);

#[pymethods]
impl Capabilities {
    #[new]
    fn read(text: &str) -> PyResult<Self> {
        serde_json::from_str(text).map(Self).map_err(crate::refuse)
    }

    #[staticmethod]
    fn ask(
        py: Python<'_>,
        launcher: Vec<String>,
        agent: Vec<String>,
        limit_s: u64,
    ) -> PyResult<Self> {
        let limit = Duration::from_secs(limit_s);
        let launch = Launch { launcher, agent, stall: limit, limit };
        let mut signal = Ok(());
        let found = py.detach(|| {
            let mut goes_on = || {
                Python::attach(|py| {
                    signal = py.check_signals();
                    signal.is_ok()
                })
            };
            sojourn_linux::Capabilities::ask(&launch, &mut goes_on)
        });
        signal?;
        found.map(Self).map_err(PyRuntimeError::new_err)
    }

    /// The nearest scenario that the kernel can do, and a JSON array of what differs.
    fn nearest(&self, text: &str) -> PyResult<(String, String)> {
        let parsed = sojourn_scenario::load(text, "scenario.toml", &[]).map_err(crate::refuse)?;
        let (used, differences) = sojourn_linux::nearest(&parsed.scenario, &self.0);
        Ok((sojourn_scenario::to_toml(&used), serde_json::json!(differences).to_string()))
    }

    /// As JSON, which `read` takes.
    #[getter]
    fn json(&self) -> PyResult<String> {
        serde_json::to_string(&self.0).map_err(|e| PyValueError::new_err(e.to_string()))
    }
}

/// A script, its commands with their times in seconds, and what a stock kernel cannot do.
type Script = (String, Vec<(f64, String)>, Vec<String>);

/// The script that builds a scenario on a Linux machine, from namespaces or on a real interface.
#[pyfunction]
#[pyo3(signature = (text, on=None, ingress=None))]
pub(crate) fn tc_script(text: &str, on: Option<&str>, ingress: Option<&str>) -> PyResult<Script> {
    let scenario = load(text)?;
    let script = match on {
        Some(device) => network::script_on(&scenario, device, ingress),
        None => network::script(&scenario),
    };
    let script = script.map_err(crate::refuse)?;
    let row = |own: &network::Command| (own.at_ns as f64 / 1e9, own.to_string());
    Ok((script.to_string(), script.commands().map(row).collect(), script.limits().to_vec()))
}

fn load(text: &str) -> PyResult<sojourn_scenario::Scenario> {
    Ok(sojourn_scenario::load(text, "scenario.toml", &[]).map_err(crate::refuse)?.scenario)
}
