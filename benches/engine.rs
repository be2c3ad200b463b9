//! What a data packet costs the simulator: CPU time and instructions, by flows, hops and rates.
//!
//! ```sh
//! cargo bench -p sojourn-sim --bench engine                     # the table; names of cases choose
//! cargo bench -p sojourn-sim --bench engine -- --json           # the same as JSON
//! cargo bench -p sojourn-sim --bench engine -- --instructions   # counts these too, with valgrind
//! ```
//!
//! Each run is a process of its own, which reads the CPU time of its thread: other programs of the machine lengthen
//! wall time. Every round runs all cases once, and ratios are taken within a round, so that a machine that becomes
//! slower slows both sides. A data packet counts once, when it reaches its receiver, however many hops it took.
//! Instructions of a longer run less those of a shorter one, divided by the packets between, are nearly the same on
//! every machine; CPU times are not.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints")]

#[path = "engine/cases.rs"]
mod cases;
#[path = "engine/child.rs"]
mod child;
#[path = "clock.rs"]
mod clock;

use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

use cases::{CASES, Case, NO_SERIES, REFERENCE, SERIES};
use child::{Run, counted, one_run, spawned};

const ROUNDS: usize = 5;

const USAGE: &str = "expected [--json] [--instructions] [--rounds N] [--list] [NAME ...], or run NAME SECONDS, or \
                     file SCENARIO.toml";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    match told(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("engine: {why}");
            ExitCode::from(2)
        }
    }
}

fn told(words: &[String]) -> Result<(), String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["run", name, seconds] => {
            let case = Case::named(name).ok_or_else(|| unknown(name))?;
            let seconds: f64 = seconds.parse().map_err(|_| format!("{seconds}: no seconds"))?;
            println!("{}", one_run(&case.text(seconds), Path::new("bench.toml"))?.json());
            Ok(())
        }
        ["file", path] => {
            let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
            println!("{}", one_run(&text, Path::new(path))?.json());
            Ok(())
        }
        ["--list"] => {
            for case in CASES {
                println!("{:<12} {}", case.name, case.question);
            }
            Ok(())
        }
        words => measure(&Options::read(words)?),
    }
}

fn unknown(name: &str) -> String {
    let names: Vec<&str> = CASES.iter().map(|case| case.name).collect();
    format!("no case '{name}': expected one of {}; {USAGE}", names.join(", "))
}

struct Options {
    json: bool,
    instructions: bool,
    rounds: usize,
    cases: Vec<&'static Case>,
}

impl Options {
    fn read(words: &[&str]) -> Result<Self, String> {
        let mut options =
            Self { json: false, instructions: false, rounds: ROUNDS, cases: Vec::new() };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--json" => options.json = true,
                "--instructions" => options.instructions = true,
                "--rounds" => {
                    let number = words.next().and_then(|word| word.parse().ok());
                    options.rounds = number.ok_or("--rounds: expected a number")?;
                }
                name => options.cases.push(Case::named(name).ok_or_else(|| unknown(name))?),
            }
        }
        if options.cases.is_empty() {
            options.cases = CASES.iter().collect();
        }
        Ok(options)
    }
}

/// What is known of one case.
struct Measured {
    case: &'static Case,
    runs: Vec<Run>,
    /// Instructions per data packet.
    instructions: Option<f64>,
}

fn measure(options: &Options) -> Result<(), String> {
    let new = |&case| Measured { case, runs: Vec::new(), instructions: None };
    let mut all: Vec<Measured> = options.cases.iter().map(new).collect();
    for _ in 0..options.rounds {
        for one in &mut all {
            one.runs.push(spawned(one.case)?);
        }
    }
    if options.instructions {
        for one in &mut all {
            one.instructions = counted(one.case)?;
        }
    }
    if options.json {
        let cases: Vec<Value> = all.iter().map(|one| one.json(&all)).collect();
        let memory = memory(&all).map(
            |(flow, sample)| json!({ "bytes_per_flow": flow, "bytes_per_flow_and_sample": sample }),
        );
        let found = json!({ "rounds": options.rounds, "cases": cases, "memory": memory });
        println!("{found:#}");
    } else {
        table(&all);
    }
    Ok(())
}

impl Measured {
    fn sorted(&self, of: impl Fn(&Run) -> f64) -> Vec<f64> {
        let mut values: Vec<f64> = self.runs.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values
    }

    fn median(&self, of: impl Fn(&Run) -> f64) -> Option<f64> {
        let values = self.sorted(of);
        values.get(values.len() / 2).copied()
    }

    /// Of each run beside the reference case's of the same round: least, median, most.
    fn beside(&self, all: &[Self], of: impl Fn(&Run, &Run) -> f64) -> Option<[f64; 3]> {
        let reference = all.iter().find(|one| one.case.name == REFERENCE)?;
        let mut values: Vec<f64> =
            self.runs.iter().zip(&reference.runs).map(|(run, base)| of(run, base)).collect();
        values.sort_by(f64::total_cmp);
        Some([*values.first()?, values[values.len() / 2], *values.last()?])
    }

    /// Cost of a packet as a ratio.
    fn ratios(&self, all: &[Self]) -> Option<[f64; 3]> {
        self.beside(all, |run, base| run.packet_ns() / base.packet_ns())
    }

    /// What each hop after the first adds to a packet, ns.
    fn hop_ns(&self, all: &[Self]) -> Option<f64> {
        let more = self.case.hops.checked_sub(2)? + 1;
        let added = |run: &Run, base: &Run| (run.packet_ns() - base.packet_ns()) / f64::from(more);
        self.beside(all, added).map(|[_, median, _]| median)
    }

    fn json(&self, all: &[Self]) -> Value {
        let first = self.runs.first();
        json!({
            "name": self.case.name,
            "question": self.case.question,
            "flows": self.case.flows,
            "hops": self.case.hops,
            "simulated_s": self.case.duration_s,
            "data_packets": first.map(|run| run.data_packets),
            "events": first.map(|run| run.events),
            "packet_ns": self.sorted(Run::packet_ns),
            "ratio": self.ratios(all),
            "hop_ns": self.hop_ns(all),
            "instructions_per_packet": self.instructions,
            "load_ms": self.median(|run| run.load_s * 1e3),
            "build_ms": self.median(|run| run.build_s * 1e3),
            "advance_ms": self.median(|run| run.advance_s * 1e3),
            "loaded_mb": self.median(|run| run.loaded_mb),
            "peak_mb": self.median(|run| run.peak_mb),
        })
    }
}

/// Bytes that a flow holds for itself, and for each sample of its series.
fn memory(all: &[Measured]) -> Option<(f64, f64)> {
    let held = |name| {
        let one = all.iter().find(|one| one.case.name == name)?;
        Some((one.case, one.median(|run| run.peak_mb - run.empty_mb)? * 1e6))
    };
    let (case, without) = held(NO_SERIES)?;
    let (_, with) = held(SERIES)?;
    let flows = f64::from(case.flows);
    let samples = case.duration_s / cases::STEP_S;
    Some((without / flows, (with - without) / flows / samples))
}

fn table(all: &[Measured]) {
    println!(
        "{:<12} {:>6} {:>5} {:>10} {:>14} {:>18} {:>7} {:>9} {:>9} {:>8}",
        "case",
        "flows",
        "hops",
        "packets",
        "CPU ns/packet",
        "ratio",
        "ns/hop",
        "instr/pkt",
        "load ms",
        "peak MB"
    );
    for one in all {
        let text = |value: Option<f64>| {
            value.map_or_else(|| "-".to_owned(), |value| format!("{value:.0}"))
        };
        let costs = one.sorted(Run::packet_ns);
        let spread = match costs.as_slice() {
            [] => "-".to_owned(),
            [least, ..] => format!("{:.0} ({least:.0})", costs[costs.len() / 2]),
        };
        let ratio = one.ratios(all).map_or_else(
            || "-".to_owned(),
            |[least, median, most]| format!("{median:.2} ({least:.2}-{most:.2})"),
        );
        println!(
            "{:<12} {:>6} {:>5} {:>10} {spread:>14} {ratio:>18} {:>7} {:>9} {:>9} {:>8}",
            one.case.name,
            one.case.flows,
            one.case.hops,
            one.runs.first().map_or_else(|| "-".to_owned(), |run| run.data_packets.to_string()),
            text(one.hop_ns(all)),
            text(one.instructions),
            one.median(|run| run.load_s * 1e3)
                .map_or_else(|| "-".to_owned(), |ms| format!("{ms:.1}")),
            text(one.median(|run| run.peak_mb)),
        );
    }
    println!(
        "CPU ns/packet: median (least); ratio: to {REFERENCE} in the same round, median (least-most)"
    );
    if let Some((flow, sample)) = memory(all) {
        println!(
            "memory: {:.1} kB for a flow, and {sample:.0} bytes for each of its samples",
            flow / 1e3
        );
    }
}
