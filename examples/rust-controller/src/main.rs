//! Runs a scenario file in which flows may use `myaimd`, and prints the summary as JSON.

use std::io::Write;
use std::process::ExitCode;
use std::{env, fs, io};

use sojourn_cc as cc;

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let Some(file) = arguments.next() else {
        return refuse("expected a scenario file, then KEY=VALUE, such as flow.prague.cc=myaimd");
    };
    let overrides: Option<Vec<(String, String)>> = arguments
        .map(|a| a.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())))
        .collect();
    let Some(overrides) = overrides else {
        return refuse("expected KEY=VALUE after the scenario file");
    };
    match run(&file, &overrides) {
        Ok(summary) => io::stdout()
            .write_all(summary.as_bytes())
            .map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS),
        Err(line) => refuse(&line),
    }
}

fn run(file: &str, overrides: &[(String, String)]) -> Result<String, String> {
    cc::register(rust_controller::ENTRY).map_err(|e| e.to_string())?;
    let text = fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))?;
    let parsed = sojourn_scenario::load(&text, file, overrides).map_err(|e| e.to_string())?;
    let output = sojourn_sim::run(&parsed.scenario).map_err(|e| e.to_string())?;
    Ok(output.summary_json())
}

fn refuse(line: &str) -> ExitCode {
    let _ = writeln!(io::stderr(), "rust-controller: {line}");
    ExitCode::from(2)
}
