//! One run in a process of its own: what it does there, and how it is started, alone or under valgrind.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use serde_json::{Value, json};
use sojourn_core::Time;
use sojourn_scenario::{Status, load};
use sojourn_sim::Simulation;

use crate::cases::Case;
use crate::clock::cpu_s;

/// What a run took.
pub(crate) struct Run {
    pub(crate) data_packets: u64,
    pub(crate) events: u64,
    /// CPU seconds of reading and checking the scenario, of building the network, and from the first event to the
    /// summary.
    pub(crate) load_s: f64,
    pub(crate) build_s: f64,
    pub(crate) advance_s: f64,
    /// The most memory held before the scenario is read, before the first event, and at the end; 0 where nothing says it.
    pub(crate) empty_mb: f64,
    pub(crate) loaded_mb: f64,
    pub(crate) peak_mb: f64,
}

impl Run {
    pub(crate) fn packet_ns(&self) -> f64 {
        self.advance_s * 1e9 / self.data_packets as f64
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "data_packets": self.data_packets,
            "events": self.events,
            "load_s": self.load_s,
            "build_s": self.build_s,
            "advance_s": self.advance_s,
            "empty_mb": self.empty_mb,
            "loaded_mb": self.loaded_mb,
            "peak_mb": self.peak_mb,
        })
    }

    fn read(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        let number = |key: &str| value.get(key)?.as_f64();
        Some(Self {
            data_packets: value.get("data_packets")?.as_u64()?,
            events: value.get("events")?.as_u64()?,
            load_s: number("load_s")?,
            build_s: number("build_s")?,
            advance_s: number("advance_s")?,
            empty_mb: number("empty_mb")?,
            loaded_mb: number("loaded_mb")?,
            peak_mb: number("peak_mb")?,
        })
    }
}

/// Runs a scenario in this process.
pub(crate) fn one_run(text: &str, path: &Path) -> Result<Run, String> {
    let empty_mb = peak_mb();
    let start = cpu_s();
    let loaded = load(text, &path.to_string_lossy(), &[]).map_err(|error| error.to_string())?;
    let read = cpu_s();
    let mut simulation = Simulation::new(Arc::new(loaded.scenario));
    let built = cpu_s();
    let loaded_mb = peak_mb();
    while simulation.advance(Time::NEVER).map_err(|still| still.to_string())? != Status::Ended {}
    let output = simulation.finish();
    let advance_s = cpu_s() - built;
    let received = output.summary.flows.iter().flat_map(|flow| &flow.receiver.0);
    let data_packets =
        received.filter(|(name, _)| name == "segments_received").map(|(_, n)| *n as u64).sum();
    Ok(Run {
        data_packets,
        events: output.summary.events,
        load_s: read - start,
        build_s: built - read,
        advance_s,
        empty_mb,
        loaded_mb,
        peak_mb: peak_mb(),
    })
}

/// The most memory that this process has held so far.
fn peak_mb() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or(0.0) * 1024.0 / 1e6
}

/// Runs a case in a process of its own.
pub(crate) fn spawned(case: &Case) -> Result<Run, String> {
    Ok(told(own(Command::new(this()?), case, case.duration_s))?.0)
}

/// The fastest of valgrind's tools that count every instruction; they agree to 0.1 %.
const COUNT: [&str; 3] = ["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"];

/// Instructions per data packet of a case, if it is counted at all.
pub(crate) fn counted(case: &Case) -> Result<Option<f64>, String> {
    let Some((short_s, long_s)) = case.counted_s else {
        return Ok(None);
    };
    let count = |seconds| {
        let mut valgrind = Command::new("valgrind");
        valgrind.args(COUNT).arg(this()?);
        let (run, said) = told(own(valgrind, case, seconds))?;
        let total = instructions(&said).ok_or("valgrind: expected its line 'I refs:'")?;
        Ok::<_, String>((total, run.data_packets))
    };
    let (short, long) = (count(short_s)?, count(long_s)?);
    Ok(Some((long.0 - short.0) as f64 / (long.1 - short.1) as f64))
}

fn this() -> Result<std::path::PathBuf, String> {
    std::env::current_exe().map_err(|error| error.to_string())
}

fn own(mut command: Command, case: &Case, seconds: f64) -> Command {
    command.args(["run", case.name, &seconds.to_string()]);
    command
}

/// Of a line such as `==7== I   refs:      39,888,238`, whose spaces differ between versions.
fn instructions(said: &str) -> Option<u64> {
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    said.lines().map(words).find_map(|words| match words.as_slice() {
        [_, i, refs, number] if i == "I" && refs == "refs:" => number.replace(',', "").parse().ok(),
        _ => None,
    })
}

/// What a child measured of itself, and what it said on its standard error.
fn told(mut command: Command) -> Result<(Run, String), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let done = command.stdin(Stdio::null()).output().map_err(|error| format!("{name}: {error}"))?;
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    let run = Run::read(&String::from_utf8_lossy(&done.stdout));
    match run {
        Some(run) if done.status.success() => Ok((run, said)),
        _ => Err(format!("{name}: {}: {}", done.status, said.trim())),
    }
}
