//! Algorithms that the user wrote in Python: their definitions, and what happens when they fail.
//!
//! A definition is a class with its parameters. In the registries of the core it is an entry like any
//! other, whose function finds the class here by name. One run is one thread: the first failure
//! of its Python parts waits in that thread, all of them are still from then on, and the run ends
//! at its next sample.

mod arguments;
mod controller;
mod qdisc;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyException, PyRuntimeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTraceback};
use sojourn_cc as cc;
use sojourn_core::grammar::Parameter;
use sojourn_core::{Dur, Time};
use sojourn_queue::aqm::{self, Kernel};
use sojourn_queue::qdiscs;

use arguments::{Arguments, Kind};
pub(crate) use controller::{Ack, AckEvent, Lost, Path, RateSample, Sent, Window};
pub(crate) use qdisc::Packet;

/// A class that stands for an algorithm.
struct Definition {
    name: &'static str,
    class: Py<PyAny>,
    /// The file that defines it, as Python's tracebacks name it.
    file: String,
    params: Vec<Parameter>,
    kinds: Vec<Kind>,
}

/// The definitions of one sort, by name.
type Table = Mutex<BTreeMap<&'static str, Arc<Definition>>>;

static CONTROLLERS: Table = Mutex::new(BTreeMap::new());
static QDISCS: Table = Mutex::new(BTreeMap::new());

/// Makes the class the controller of this name. A parameter is its name, the kind of its value, how
/// that is read, and the default as it would be written.
#[pyfunction]
pub(crate) fn define_controller(
    name: String,
    class: Py<PyAny>,
    file: String,
    summary: String,
    parameters: Vec<(String, String, String, String)>,
) -> PyResult<()> {
    let (params, kinds) = arguments::params(parameters).map_err(PyValueError::new_err)?;
    let name: &'static str = name.leak();
    let (summary, reference) = (summary.leak(), file.clone().leak());
    define(&CONTROLLERS, name, Definition { name, class, file, params, kinds });
    let entry = cc::Entry {
        name,
        summary,
        reference,
        kernel: Kernel::Nowhere,
        table: |name| named(&CONTROLLERS, name).params.clone(),
        default: controller::External::default,
    };
    cc::redefine(entry).map_err(crate::refuse)
}

/// Makes the class the queue discipline of this name; parameters as of a controller.
#[pyfunction]
pub(crate) fn define_qdisc(
    name: String,
    class: Py<PyAny>,
    file: String,
    summary: String,
    parameters: Vec<(String, String, String, String)>,
) -> PyResult<()> {
    let (params, kinds) = arguments::params(parameters).map_err(PyValueError::new_err)?;
    let name: &'static str = name.leak();
    let (summary, reference) = (summary.leak(), file.clone().leak());
    define(&QDISCS, name, Definition { name, class, file, params, kinds });
    let entry = aqm::Entry {
        name,
        summary,
        reference,
        kernel: Kernel::Nowhere,
        table: |name| named(&QDISCS, name).params.clone(),
        default: qdisc::External::default,
    };
    qdiscs::redefine(entry).map_err(crate::refuse)
}

fn define(table: &Table, name: &'static str, definition: Definition) {
    let mut table = table.lock().unwrap_or_else(PoisonError::into_inner);
    table.insert(name, Arc::new(definition));
}

/// The definition behind a line.
fn named(table: &Table, name: &str) -> Arc<Definition> {
    let table = table.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(table.get(name).expect("it was put before its line"))
}

impl Definition {
    /// An object of the class, with a source of random numbers in `random`.
    fn instance<'py>(
        &self,
        py: Python<'py>,
        arguments: &Arguments,
        seed: u64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let class = self.class.bind(py);
        let object = class.call_method1(intern!(py, "__new__"), (class,))?;
        let random = py.import(intern!(py, "random"))?.call_method1("Random", (seed,))?;
        // A class with slots has chosen to do without.
        let _ = object.setattr(intern!(py, "random"), random);
        let keywords = arguments.keywords(py)?;
        object.call_method("__init__", (), Some(&keywords))?;
        Ok(object)
    }

    /// Notes that `method` raised `error`.
    fn fail(&self, py: Python<'_>, place: &str, method: &str, error: PyErr) {
        let failure = if error.is_instance_of::<PyException>(py) {
            let failure = PyRuntimeError::new_err(self.line(py, place, method, &error));
            failure.set_cause(py, Some(error));
            failure
        } else {
            error // an interrupt or an exit stays what it is
        };
        FAILURE.with_borrow_mut(|first| {
            first.get_or_insert(failure);
        });
    }

    /// Where and what: the innermost line of the user's own file, and Python's last line.
    fn line(&self, py: Python<'_>, place: &str, method: &str, error: &PyErr) -> String {
        let line = error.traceback(py).and_then(|trace| self.line_number(&trace).ok().flatten());
        let at = line.map_or(String::new(), |line| format!(":{line}"));
        let message = error.value(py).to_string();
        let kind = error.get_type(py).name().map_or(String::new(), |name| name.to_string());
        let what = if message.is_empty() { kind } else { format!("{kind}: {message}") };
        let what = what.split_whitespace().collect::<Vec<_>>().join(" ");
        format!("{place}: {}{at}: {method}: {what}", self.file)
    }

    fn line_number(&self, trace: &Bound<'_, PyTraceback>) -> PyResult<Option<u32>> {
        let (mut line, mut at) = (None, Some(trace.clone().into_any()));
        while let Some(frame) = at {
            let code = frame.getattr("tb_frame")?.getattr("f_code")?;
            if code.getattr("co_filename")?.extract::<String>()? == self.file {
                line = Some(frame.getattr("tb_lineno")?.extract()?);
            }
            at = frame.getattr("tb_next")?.extract::<Option<_>>()?;
        }
        Ok(line)
    }
}

/// A Python object of a run, and the place that messages about it name.
struct Part {
    definition: Arc<Definition>,
    place: String,
    /// The object; none if it could not be made, which has ended the run.
    object: Option<Py<PyAny>>,
}

impl Part {
    /// The bound method, if the class has it. Looked up once: a call takes less than a microsecond.
    fn method(&self, name: &'static str) -> Method {
        let bound = self.object.as_ref().and_then(|object| {
            Python::attach(|py| object.bind(py).getattr(name).ok().map(Bound::unbind))
        });
        Method { name, bound }
    }

    /// What `call` makes of the method; none if there is no such method, or after a failure.
    fn call<T>(
        &self,
        method: &Method,
        call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Option<T> {
        let bound = method.bound.as_ref()?;
        if has_failed() {
            return None;
        }
        Python::attach(|py| match call(bound.bind(py)) {
            Ok(value) => Some(value),
            Err(error) => {
                self.definition.fail(py, &self.place, method.name, error);
                None
            }
        })
    }

    /// Ends the run for what a method did without raising anything.
    fn refuse(&self, method: &Method, why: &str) {
        Python::attach(|py| {
            self.definition.fail(
                py,
                &self.place,
                method.name,
                PyValueError::new_err(why.to_owned()),
            );
        });
    }
}

/// A method of an object.
struct Method {
    name: &'static str,
    bound: Option<Py<PyAny>>,
}

impl Method {
    fn exists(&self) -> bool {
        self.bound.is_some()
    }
}

thread_local! {
    /// The first failure of this thread's run.
    static FAILURE: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Does a run in this thread; the first failure of its Python parts, if any, is its own.
pub(crate) fn watched<T>(run: impl FnOnce() -> T) -> Result<T, PyErr> {
    /// Ends the run, also if the engine panics.
    struct Guard;
    impl Drop for Guard {
        fn drop(&mut self) {
            FAILURE.take();
        }
    }
    FAILURE.take();
    let guard = Guard;
    let output = run();
    let failure = FAILURE.take();
    drop(guard);
    failure.map_or(Ok(output), Err)
}

/// Whether a Python part of this thread's run has failed.
pub(crate) fn has_failed() -> bool {
    FAILURE.with_borrow(Option::is_some)
}

/// Seconds since the start of the run. A double holds nanoseconds exactly for 104 days.
fn seconds(at: Time) -> f64 {
    at.as_secs_f64()
}

/// A duration that is zero before its first sample.
fn known(duration: Dur) -> Option<f64> {
    (duration > Dur::ZERO).then(|| duration.as_secs_f64())
}

/// The instant that a method gave: none is never.
fn instant(answer: Option<f64>) -> PyResult<Time> {
    match answer {
        None => Ok(Time::NEVER),
        Some(s) if (0.0..1e9).contains(&s) => Ok(Time((s * 1e9).round() as u64)),
        Some(s) => Err(PyValueError::new_err(format!("expected seconds or None, found {s}"))),
    }
}

/// Values by name, each a number or a pair of number and unit.
fn values(answer: &Bound<'_, PyAny>) -> PyResult<Vec<(String, &'static str, f64)>> {
    const UNITS: [&str; 6] = ["1", "packets", "bytes", "segments", "ms", "Mbit/s"];
    let value = |(name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let name: String = name.extract()?;
        let Ok((number, unit)) = value.extract::<(f64, String)>() else {
            return Ok((name, "1", value.extract()?));
        };
        let unit = UNITS.into_iter().find(|u| *u == unit).ok_or_else(|| {
            PyValueError::new_err(format!("unit {unit:?}: expected one of {}", UNITS.join(", ")))
        })?;
        Ok((name, unit, number))
    };
    answer.cast::<PyDict>()?.iter().map(value).collect()
}
