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

fn mean(out: &crate::model::Outcome, from: f32) -> (f32, f32, f32) {
    let rows: Vec<_> = out.lines.iter().filter(|l| l.time.as_secs() > from).collect();
    let n = rows.len() as f32;
    let rate = rows.iter().map(|l| l.sent_rate).sum::<f32>() / n / 1e6;
    let delay = rows.iter().map(|l| l.queue_delay).sum::<f32>() / n * 1e3;
    let ce = rows.iter().map(|l| l.acked_ce as f32).sum::<f32>()
        / rows.iter().map(|l| l.acked as f32).sum::<f32>();
    (rate, delay, ce * 100.0)
}

#[test]
fn explore_tables() {
    if std::env::var("M").is_err() {
        return;
    }
    for version in [Version::V2024, Version::V2026] {
        for name in ['A', 'B', 'C', 'D', 'E', 'F'] {
            let out = run(&model(name, version));
            println!(
                "{name} {version:?} {:?} drops {} rx {}",
                mean(&out, 5.0),
                out.drops,
                out.received
            );
        }
        for (rtt, mb) in [
            (25, 0.25),
            (25, 0.5),
            (25, 1.0),
            (25, 2.0),
            (5, 0.5),
            (10, 0.5),
            (50, 0.5),
            (100, 0.5),
        ] {
            let f = model('F', version);
            let out = run(&Model {
                seconds: 60,
                back: rtt * 65536 / 1000,
                transmit: Transmit::Bursts(mb * 1e-3),
                ..f.clone()
            });
            let r = if mb == 0.5 {
                mean(
                    &run(&Model { seconds: 60, back: rtt * 65536 / 1000, variation: 50.0, ..f }),
                    5.0,
                )
                .0
            } else {
                0.0
            };
            println!("M {version:?} rtt {rtt} mb {mb} {:?} rand50 {r}", mean(&out, 5.0));
        }
        for p in [50.0, 40.0, 30.0, 20.0, 10.0, 5.0, 2.0, 1.5, 1.0, 0.5] {
            let f = model('F', version);
            let out = run(&Model {
                seconds: 60,
                rates: vec![(0, 1e9)],
                mark: Some(p / 100.0),
                threshold: 1e9,
                payload: 1348,
                max_rate: 500e6,
                ..f
            });
            println!("p {version:?} {p} {:?}", mean(&out, 20.0));
        }
    }
}
