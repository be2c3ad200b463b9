//! Per-ACK logs of the original tools of 2024-10-28 and 2026-06-30 in the models A, B, C and F.

use std::path::PathBuf;
use std::process::Command;

use sojourn_core::Ecn;
use sojourn_core::cc::scream::{AckLine, Config, Version};

use crate::model::{Model, Transmit, run};

fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("SOJOURN_REFERENCE").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../../shared/reference")),
        PathBuf::from,
    );
    Some(folder.join("scream")).filter(|folder| folder.is_dir())
}

fn original(name: &str) -> Option<String> {
    let path = folder()?.join(name);
    let out = Command::new("gzip").arg("-dc").arg(path).output().ok()?;
    out.status.success().then(|| String::from_utf8(out.stdout).unwrap())
}

fn text(line: &AckLine, version: Version) -> String {
    let separator = if version == Version::V2026 { ", " } else { " " };
    format!(
        "{:.4},{:.4},{:.4}, {},{},0,{:.0},{},{},{},{},{:.0},{:.0},{:.0},{:.0},{:.0},{},{:.0},{:.3}{separator}{}",
        line.time.as_secs(),
        line.queue_delay,
        line.rtt,
        line.cwnd,
        line.in_flight,
        line.total_rate,
        line.stream,
        line.seq,
        line.acked,
        line.acked_ce,
        line.media_rate,
        line.sent_rate,
        line.acked_rate,
        line.lost_rate,
        line.ce_rate,
        u8::from(line.marker),
        line.target,
        line.rtp_queue_delay,
        line.cwnd_i,
    )
}

fn tool(version: Version) -> Config {
    Config { parity: true, ..Config::new(version) }
}

fn model(name: char, version: Version) -> Model {
    let a = Model {
        config: Config { l4s: true, ..tool(version) },
        max_rate: 200e6,
        ecn: Ecn::Ect1,
        seconds: 30,
        rates: vec![(0, 50e6)],
        forward: 819,
        back: 819,
        limit: 1_000_000,
        threshold: 66.0,
        payload: 1200,
        overhead: 28,
        transmit: Transmit::Paced,
        variation: 0.0,
        mark: None,
    };
    let classic = tool(version);
    match name {
        'A' => a,
        'B' => Model {
            config: classic,
            ecn: Ecn::NotEct,
            rates: vec![(0, 20e6)],
            forward: 1638,
            back: 1638,
            limit: 500_000,
            ..a
        },
        'C' => Model {
            config: classic,
            ecn: Ecn::Ect0,
            rates: vec![(0, 20e6)],
            limit: 500_000,
            threshold: 328.0,
            ..a
        },
        'D' => Model { rates: vec![(0, 50e6), (10, 10e6), (20, 50e6)], ..a },
        'E' => Model {
            config: classic,
            ecn: Ecn::NotEct,
            rates: vec![(0, 10e6)],
            forward: 1311,
            back: 1311,
            limit: 30_000,
            ..a
        },
        _ => Model {
            config: Config { least_cwnd: 2 * 1372, ..a.config },
            rates: vec![(0, 100e6)],
            forward: 3,
            back: 1638,
            limit: 5_000_000,
            payload: 1360,
            overhead: 42,
            transmit: Transmit::Bursts(0.5e-3),
            ..a
        },
    }
}

#[test]
fn explore() {
    let Ok(which) = std::env::var("G") else { return };
    let (name, version) = which.split_once('_').unwrap();
    let version = if version == "2024" { Version::V2024 } else { Version::V2026 };
    let out = run(&model(name.chars().next().unwrap(), version));
    let text: Vec<String> = out.lines.iter().map(|line| text(line, version)).collect();
    std::fs::write(format!("/tmp/b5/s1-{which}.csv"), text.join("\n")).unwrap();
    println!("{} lines, {} drops, {} received", out.lines.len(), out.drops, out.received);
}
