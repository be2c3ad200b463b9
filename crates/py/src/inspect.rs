//! Captures, as Python has them: a report as JSON, and the packets of flows as columns.

use std::net::IpAddr;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_capture::Capture;
use sojourn_capture::anonymise::{self, Addresses, Key};
use sojourn_capture::write::{Section, Writer};
use sojourn_inspect::events::Events;
use sojourn_inspect::files::{self, Analysis};
use sojourn_inspect::filter::Filter;
use sojourn_inspect::series::{Series, Window};
use sojourn_inspect::{Options, pair, scetrace};

use crate::arrays::array;

/// What captures say.
#[pyclass(frozen)]
pub(crate) struct Inspection(pub(crate) Analysis);

#[pymethods]
impl Inspection {
    /// The report as JSON text.
    #[getter]
    fn report(&self) -> PyResult<String> {
        json(&self.0.report)
    }

    /// The JSON of scetrace.
    #[getter]
    fn scetrace(&self) -> String {
        scetrace::document(&self.0.report).to_string()
    }

    /// Format, interfaces and damage of each file, as JSON text.
    #[getter]
    fn facts(&self) -> PyResult<String> {
        json(&self.0.facts)
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.warnings.clone()
    }

    /// Columns of a flow's packets by their names; None where they were not kept.
    fn packets<'py>(&self, py: Python<'py>, flow: usize) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.0.report.events.get(flow).map(|events| columns(py, events)).transpose()
    }

    /// What a flow's data of one direction did in intervals, or without these in round trips, as columns by their names;
    /// None where its packets were not kept.
    fn series<'py>(
        &self,
        py: Python<'py>,
        flow: usize,
        backward: bool,
        interval_ns: Option<u64>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let window = interval_ns.map_or(Window::RoundTrip, Window::Interval);
        let events = self.0.report.events.get(flow);
        let series = events.map(|events| py.detach(|| Series::of(events, backward, window)));
        series.map(|series| rows(py, series)).transpose()
    }
}

fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Puts vectors of a structure into a dictionary under their names.
macro_rules! into_columns {
    ($py:ident, $dict:ident, $from:ident, $($name:ident),*) => {
        $($dict.set_item(stringify!($name), array($py, &$from.$name)?)?;)*
    };
}

fn rows(py: Python<'_>, series: Series) -> PyResult<Bound<'_, PyDict>> {
    let found = PyDict::new(py);
    into_columns!(
        py,
        found,
        series,
        t_ns,
        duration_ns,
        sent,
        acked,
        ece_acked,
        ae_acked,
        rtt_ms,
        packets,
        ce,
        ect1,
        ce_reported,
        again,
        in_flight
    );
    Ok(found)
}

fn columns<'py>(py: Python<'py>, events: &Events) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    into_columns!(
        py,
        found,
        events,
        t_ns,
        backward,
        ecn,
        flags,
        seq,
        len,
        ack,
        window,
        rtt_ns,
        ce_reported,
        in_flight
    );
    let again: Vec<u8> = events.again.iter().map(|again| *again as u8).collect();
    found.set_item("again", array(py, &again)?)?;
    let sacks: Vec<i64> =
        events.sacks.iter().flat_map(|&(at, low, high)| [i64::from(at), low, high]).collect();
    found.set_item("sacks", array(py, &sacks)?)?;
    found.set_item("left_out", events.left_out)?;
    Ok(found)
}

/// Other addresses for those of captures, under one key that nobody has.
#[pyclass(frozen)]
pub(crate) struct Anonymiser(Mutex<Addresses>);

#[pymethods]
impl Anonymiser {
    #[new]
    fn new() -> PyResult<Self> {
        Ok(Self(Mutex::new(Addresses::new(&Key::random()?))))
    }

    /// What stands for each of these addresses.
    fn addresses(&self, of: Vec<IpAddr>) -> Vec<IpAddr> {
        let mut addresses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        of.into_iter().map(|address| addresses.map(address)).collect()
    }

    /// Copies what is left of captures into one; the number of packets.
    fn copy(&self, py: Python<'_>, paths: Vec<PathBuf>, to: PathBuf) -> PyResult<u64> {
        py.detach(|| {
            let mut addresses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let wrong = |error: std::io::Error| named(&to, &error);
            let section = Section { application: "Sojourn", ..Section::default() };
            let mut writer = Writer::create(&to, &section).map_err(wrong)?;
            let mut packets = 0;
            for path in &paths {
                let mut capture = open(path)?;
                packets +=
                    anonymise::copy(&mut capture, &mut writer, &mut addresses).map_err(wrong)?;
            }
            writer.keep().map_err(wrong)?;
            Ok(packets)
        })
    }
}

/// One line that names the file.
fn named(path: &Path, error: &std::io::Error) -> PyErr {
    PyValueError::new_err(format!("{}: {error}", path.display()))
}

/// Analyses files in their order as one capture; `-` is standard input.
#[pyfunction]
pub(crate) fn inspect(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    expression: Option<&str>,
    events: bool,
) -> PyResult<Inspection> {
    let filter = expression.map(parsed).transpose()?;
    let options = Options { events, ..Options::default() };
    let mut interrupted = Ok(());
    let found = py.detach(|| {
        files::analyse(&paths, filter.as_ref(), options, || {
            interrupted = Python::attach(|py: Python<'_>| -> PyResult<()> { py.check_signals() });
            if interrupted.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
    });
    interrupted?;
    found.map(Inspection).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Two captures of the same packets: a report as JSON, and warnings.
#[pyfunction]
pub(crate) fn inspect_pair(
    py: Python<'_>,
    first: PathBuf,
    second: PathBuf,
    translated: bool,
) -> PyResult<(String, Vec<String>)> {
    let (report, warnings) = py.detach(|| {
        let [mut a, mut b] = [open(&first)?, open(&second)?];
        let options = pair::Options { translated, ..pair::Options::default() };
        let report = pair::compare(&mut a, &mut b, options);
        let mut warnings = Vec::new();
        for (path, capture) in [(&first, &a), (&second, &b)] {
            files::warn(path, capture.facts(), &mut warnings);
        }
        PyResult::Ok((report, warnings))
    })?;
    Ok((json(&report)?, warnings))
}

fn open(path: &Path) -> PyResult<Capture> {
    Capture::open(path).map_err(|error| PyValueError::new_err(error.to_string()))
}

pub(crate) fn parsed(text: &str) -> PyResult<Filter> {
    Filter::parse(text).map_err(|error| PyValueError::new_err(format!("--filter {text}: {error}")))
}
