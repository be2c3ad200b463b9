//! The engine in a browser: conversions between JavaScript and the engine, nothing else.
//!
//! The functions are those of `sojourn._core`. Structures travel as JSON, series as typed arrays. Errors are
//! thrown as texts of one line; those of a scenario as JSON of that line, as the command line prints it, and its place.

#![warn(missing_docs)]
#![expect(clippy::needless_pass_by_value, reason = "wasm-bindgen hands values over")]

mod run;

use serde::Serialize;
use serde_json::json;
use sojourn_linux::network;
use sojourn_scenario::outline::Outline;
use sojourn_scenario::{self as scenario, Scenario, ScenarioError, tables};
use wasm_bindgen::prelude::*;

/// What messages call the text of the page.
const FILE: &str = "scenario.toml";

/// Version of the engine: that of the native one from the same sources.
#[wasm_bindgen]
pub fn version() -> String {
    concat!(env!("CARGO_PKG_VERSION"), "+", env!("SOJOURN_SOURCES")).to_owned()
}

/// JSON of a scenario: `toml` with every default, `brief` without, `warnings`, `conditions`, and `outline` for a
/// drawing of it. `overrides` is a JSON array of pairs of a dotted name and a text.
///
/// # Errors
/// JSON with `message`, the line for the user, and `line` of the text, if it is one of its lines.
#[wasm_bindgen]
pub fn resolve(text: &str, overrides: &str) -> Result<String, String> {
    let parsed = scenario::load(text, FILE, &pairs(overrides)?).map_err(refuse)?;
    let answer = json!({
        "toml": scenario::to_toml(&parsed.scenario),
        "brief": scenario::to_brief_toml(&parsed.scenario),
        "warnings": parsed.warnings,
        "conditions": scenario::conditions(&parsed.scenario),
        "outline": Outline::of(&parsed.scenario),
    });
    Ok(answer.to_string())
}

/// JSON array of the runs of a scenario's sweep: `values`, pairs of name and value, and `toml`.
///
/// # Errors
/// As of [`resolve`].
#[wasm_bindgen]
pub fn expand(text: &str, overrides: &str) -> Result<String, String> {
    /// One run.
    #[derive(Serialize)]
    struct Point {
        values: Vec<(String, String)>,
        toml: String,
    }
    let points = scenario::expand(text, FILE, &pairs(overrides)?).map_err(refuse)?;
    let point =
        |p: scenario::SweepPoint| Point { values: p.values, toml: scenario::to_toml(&p.scenario) };
    Ok(json!(points.into_iter().map(point).collect::<Vec<_>>()).to_string())
}

/// The text with another value at a dotted name, or without it; comments and layout stay.
///
/// # Errors
/// As of [`resolve`].
#[wasm_bindgen]
pub fn edit(text: &str, key: &str, value: Option<String>) -> Result<String, String> {
    scenario::edit(text, FILE, key, value.as_deref()).map_err(refuse)
}

/// JSON of the tables `qdiscs`, `controllers` and `apps`. The JSON Schema of the scenario file is a file of its own:
/// what makes it would be a tenth of the module.
#[wasm_bindgen]
pub fn tables() -> String {
    json!({
        "qdiscs": tables::qdiscs(),
        "controllers": tables::controllers(),
        "apps": tables::apps(),
    })
    .to_string()
}

/// JSON of the script that builds the network of a scenario on Linux: `script`, and its `limits`.
///
/// # Errors
/// As of [`resolve`].
#[wasm_bindgen]
pub fn tc(text: &str) -> Result<String, String> {
    let script = network::script(&load(text)?)?;
    Ok(json!({ "script": script.to_string(), "limits": script.limits() }).to_string())
}

fn load(text: &str) -> Result<Scenario, String> {
    Ok(scenario::load(text, FILE, &[]).map_err(refuse)?.scenario)
}

fn pairs(json: &str) -> Result<Vec<(String, String)>, String> {
    serde_json::from_str(json).map_err(|error| format!("overrides: {error}"))
}

fn refuse(error: ScenarioError) -> String {
    json!({ "message": error.to_string(), "line": error.line(), "key": error.key }).to_string()
}

#[cfg(test)]
mod tests;
