//! The Python module `sojourn._core`: conversions between Python and the engine, nothing else.

#![expect(clippy::needless_pass_by_value, reason = "PyO3 hands values over")]

mod arrays;
mod engine;
mod inspect;
#[cfg(target_os = "linux")]
mod inspect_live;
mod linux;
#[cfg(target_os = "linux")]
mod middlebox;
mod own;
mod scream;
mod series;
mod timers;
mod toml;

use std::path::PathBuf;

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;
use sojourn_cc as cc;
use sojourn_core::grammar::{Parameter, usage};
use sojourn_core::{Bytes, Rate};
use sojourn_draw::{Kinds, Stratum};
use sojourn_queue::qdiscs as queues;
use sojourn_scenario::outline::Outline;
use sojourn_scenario::tables;
use sojourn_scream_tool::End;
use sojourn_trace::fairness::{self, Better};
use sojourn_transport::app;

create_exception!(_core, ScenarioError, PyValueError, "A line for the user: what, where, allowed.");

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
#[pyo3(signature = (text, file, overrides, within = None))]
fn resolve(
    text: &str,
    file: &str,
    overrides: Vec<(String, String)>,
    within: Option<PathBuf>,
) -> PyResult<(String, Vec<String>)> {
    let within = within.as_deref();
    let parsed = sojourn_scenario::load_within(within, text, file, &overrides).map_err(refuse)?;
    Ok((sojourn_scenario::to_toml(&parsed.scenario), parsed.warnings))
}

/// The same for several seeds, of which nothing else of a resolved text depends: it is read once.
#[pyfunction]
#[pyo3(signature = (text, file, overrides, seeds, within = None))]
fn resolve_seeds(
    text: &str,
    file: &str,
    overrides: Vec<(String, String)>,
    seeds: Vec<u64>,
    within: Option<PathBuf>,
) -> PyResult<(Vec<String>, Vec<String>)> {
    let within = within.as_deref();
    let mut parsed =
        sojourn_scenario::load_within(within, text, file, &overrides).map_err(refuse)?;
    let texts = seeds.into_iter().map(|seed| {
        parsed.scenario.seed = seed;
        sojourn_scenario::to_toml(&parsed.scenario)
    });
    Ok((texts.collect(), parsed.warnings))
}

/// Method, points, seed and names of a file's `[sample]`; None if it has none.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "the shape of the Python value")]
fn design(
    text: &str,
    file: &str,
    overrides: Vec<(String, String)>,
) -> PyResult<Option<(String, usize, u64, Vec<String>)>> {
    let found = sojourn_scenario::design(text, file, &overrides).map_err(refuse)?;
    Ok(found.map(|d| (d.method.to_string(), d.points, d.seed, d.keys)))
}

/// How many runs a file's sweep and sample make.
#[pyfunction]
fn runs(text: &str, file: &str, overrides: Vec<(String, String)>) -> PyResult<usize> {
    sojourn_scenario::runs(text, file, &overrides).map_err(refuse)
}

/// The runs of a file's sweep and of its sample, for which `cube` has the points: axis values and
/// resolved scenario.
#[pyfunction]
#[pyo3(signature = (text, file, overrides, cube = vec![], within = None))]
#[expect(clippy::type_complexity, reason = "the shape of the Python value")]
fn expand(
    text: &str,
    file: &str,
    overrides: Vec<(String, String)>,
    cube: Vec<Vec<f64>>,
    within: Option<PathBuf>,
) -> PyResult<Vec<(Vec<(String, String)>, String)>> {
    let within = within.as_deref();
    let points =
        sojourn_scenario::expand_within(within, text, file, &overrides, &cube).map_err(refuse)?;
    Ok(points.into_iter().map(|p| (p.values, sojourn_scenario::to_toml(&p.scenario))).collect())
}

/// Grows with every change of what cases are drawn.
#[pyfunction]
fn draw_rules() -> u32 {
    sojourn_draw::RULES
}

/// A scenario drawn at random, resolved, and what it is about; of `linux` what a kernel can run too.
#[pyfunction]
fn draw(kinds: &str, seed: u64, index: u64) -> PyResult<(String, &'static str)> {
    let kinds = match kinds {
        "linux" => Kinds::Linux,
        "all" => Kinds::All,
        other => {
            return Err(PyValueError::new_err(format!("expected linux or all, got `{other}`")));
        }
    };
    let scenario = sojourn_draw::draw(kinds, seed, index).map_err(refuse)?;
    Ok((sojourn_scenario::to_toml(&scenario), Stratum::of(index).name()))
}

/// `conditions` of the summary of a run of this scenario, which need not have been made.
#[pyfunction]
fn conditions(text: &str) -> PyResult<String> {
    let parsed = sojourn_scenario::load(text, "scenario.toml", &[]).map_err(refuse)?;
    Ok(json!(sojourn_scenario::conditions(&parsed.scenario)).to_string())
}

/// The text of a scenario with another value at a dotted name, or without one.
#[pyfunction]
#[pyo3(signature = (text, file, key, value, within = None))]
fn edit(
    text: &str,
    file: &str,
    key: &str,
    value: Option<&str>,
    within: Option<PathBuf>,
) -> PyResult<String> {
    sojourn_scenario::edit_within(within.as_deref(), text, file, key, value).map_err(refuse)
}

/// JSON: links, nodes and the ways of flows, for a drawing.
#[pyfunction]
fn outline(text: &str) -> PyResult<String> {
    let parsed = sojourn_scenario::load(text, "scenario.toml", &[]).map_err(refuse)?;
    Ok(json!(Outline::of(&parsed.scenario)).to_string())
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

#[pyfunction]
fn qdiscs() -> String {
    tables::qdiscs().to_string()
}

#[pyfunction]
fn controllers() -> String {
    tables::controllers().to_string()
}

#[pyfunction]
fn apps() -> String {
    tables::apps().to_string()
}

#[pyfunction]
fn app_usage(name: &str) -> PyResult<String> {
    let e = app::entry(name).map_err(refuse)?;
    Ok(page(e.summary, e.reference, e.name, &e.table()))
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

/// bit/s of a text such as `100Mbit`, as tc reads it.
#[pyfunction]
fn rate_bps(text: &str) -> Option<u64> {
    Rate::parse_tc(text).map(|rate| rate.0)
}

/// Bytes of a text such as `10kb`, as tc reads it.
#[pyfunction]
fn size_bytes(text: &str) -> Option<u64> {
    Bytes::parse_tc(text).map(|size| size.0)
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

fn refuse(error: impl std::fmt::Display) -> PyErr {
    ScenarioError::new_err(error.to_string())
}

#[pymodule]
mod _core {
    #[pymodule_export]
    use super::engine::{Engine, Run, RunResult, linux_inside};
    #[pymodule_export]
    use super::inspect::{Anonymiser, Inspection, inspect, inspect_pair};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::inspect_live::InspectLive;
    #[pymodule_export]
    use super::linux::{Capabilities, tc_script};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::middlebox::{PyMiddlebox, middlebox_request};
    #[pymodule_export]
    use super::own::{
        Ack, AckEvent, Lost, Packet, Path, RateSample, Sent, Window, define_controller,
        define_qdisc,
    };
    #[pymodule_export]
    use super::scream::{PyReceiver, PySender};
    #[pymodule_export]
    use super::series::{series_names, series_read, series_table, table_file, table_read};
    #[pymodule_export]
    use super::timers::timer_trial;
    #[pymodule_export]
    use super::toml::toml;
    #[pymodule_export]
    use super::{
        ScenarioError, app_usage, apps, brief, cc_usage, conditions, controllers, design, draw,
        draw_rules, edit, expand, harm, jain, outline, qdisc_usage, qdiscs, rate_bps, resolve,
        resolve_seeds, runs, schema, scream_tool, size_bytes, version,
    };
}
