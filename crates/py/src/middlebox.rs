//! A middlebox between two devices, for the command: `sojourn.cli.middlebox`.

use std::path::PathBuf;
use std::time::Duration;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use sojourn_middlebox::session::{Error, Session, request};

use super::ScenarioError;

/// It runs from its start to `finish`; texts are JSON.
#[pyclass(name = "Middlebox")]
pub(crate) struct PyMiddlebox(Option<Session>);

fn refuse(error: Error) -> PyErr {
    match error {
        Error::Forwarder(_) | Error::System(..) => PyOSError::new_err(error.to_string()),
        _ => ScenarioError::new_err(error.to_string()),
    }
}

#[pymethods]
impl PyMiddlebox {
    #[new]
    fn new(py: Python<'_>, settings: &str) -> PyResult<Self> {
        let settings = serde_json::from_str(settings).map_err(super::refuse)?;
        py.detach(|| Session::open(&settings)).map(|session| Self(Some(session))).map_err(refuse)
    }

    /// What the forwarding thread was not granted, with the reasons.
    #[getter]
    fn refused(&self) -> Vec<String> {
        self.0.as_ref().map(|session| session.grants().refused.clone()).unwrap_or_default()
    }

    /// What of the settings may not be meant.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.as_ref().map(|session| session.warnings().to_vec()).unwrap_or_default()
    }

    /// The next reading, if one comes within this time, s.
    fn next(&mut self, py: Python<'_>, wait_s: f64) -> Option<String> {
        let session = self.0.as_mut()?;
        let wait = Duration::try_from_secs_f64(wait_s).unwrap_or_default();
        let reading = py.detach(|| session.next(wait))?;
        serde_json::to_string(&*reading).ok()
    }

    /// Whether it has ended by itself.
    #[getter]
    fn is_over(&self) -> bool {
        self.0.as_ref().is_none_or(Session::is_over)
    }

    /// Ends it; the reading of the whole run.
    fn finish(&mut self, py: Python<'_>) -> PyResult<String> {
        let session = self.0.take().ok_or_else(|| PyOSError::new_err("it has ended before"))?;
        let reading = py.detach(|| session.finish()).map_err(refuse)?;
        serde_json::to_string(&reading).map_err(super::refuse)
    }
}

/// Sends a line of JSON to the middlebox whose socket has this name; its answer.
#[pyfunction]
pub(crate) fn middlebox_request(py: Python<'_>, socket: PathBuf, line: &str) -> PyResult<String> {
    Ok(py.detach(|| request(&socket, line))?)
}
