//! The other side: the same trains through a real kernel, by a folder of jobs for `guest.sh`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sojourn_linux::Cpu;

use crate::cases::Case;
use crate::train::{Offered, Train};
use crate::{Arrival, Passage};

/// Seconds without a packet after which a passage is over: longer than any queue here holds one.
pub const SILENCE_S: u64 = 3;

/// CAKE's counters of a tin: tc's name in JSON, its name in text (which is ours), the unit of JSON in
/// that of the text.
const TIN: [(&str, &str, f64); 20] = [
    ("threshold_rate", "thresh", 8.0),
    ("target_us", "target", 1.0),
    ("interval_us", "interval", 1.0),
    ("peak_delay_us", "pk_delay", 1.0),
    ("avg_delay_us", "av_delay", 1.0),
    ("base_delay_us", "sp_delay", 1.0),
    ("backlog_bytes", "backlog", 1.0),
    ("sent_packets", "pkts", 1.0),
    ("sent_bytes", "bytes", 1.0),
    ("way_indirect_hits", "way_inds", 1.0),
    ("way_misses", "way_miss", 1.0),
    ("way_collisions", "way_cols", 1.0),
    ("drops", "drops", 1.0),
    ("ecn_mark", "marks", 1.0),
    ("ack_drops", "ack_drop", 1.0),
    ("sparse_flows", "sp_flows", 1.0),
    ("bulk_flows", "bk_flows", 1.0),
    ("unresponsive_flows", "un_flows", 1.0),
    ("max_pkt_len", "max_len", 1.0),
    ("flow_quantum", "quantum", 1.0),
];

/// One passage through the kernel.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The train as it was sent: instants of the guest's clock.
    pub offered: Vec<Offered>,
    /// When the queue was created.
    pub created_ns: u64,
    /// What happened.
    pub passage: Passage,
}

/// The command that runs a script in the kernel: `SOJOURN_LINUX` names a folder that holds `run`, or a
/// binary, which the engine's own `run` starts. The error says why there is none.
pub fn kernel() -> Result<Vec<PathBuf>, String> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err("the kernel in virtual time is built for x86-64 Linux".into());
    }
    let named = PathBuf::from(std::env::var_os("SOJOURN_LINUX").unwrap_or_default());
    let run = named.join("run");
    if run.is_file() {
        Ok(vec![run])
    } else if named.is_file() {
        let ours =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/sojourn/data/linux/run");
        Ok(vec!["bash".into(), ours, "--kernel".into(), named])
    } else {
        Err(format!(
            "SOJOURN_LINUX={}: expected a folder that holds `run`, or a User-Mode Linux binary",
            named.display()
        ))
    }
}

/// Runs every `(case, train)` in one guest; what stands in `out` from an earlier time is read again.
pub fn run(jobs: &[(&Case, &Train)], out: &Path) -> Result<Vec<Judged>, String> {
    let folders: Vec<PathBuf> = (0..jobs.len()).map(|i| out.join(format!("job{i:03}"))).collect();
    let is_done = |((case, train), folder): (&(&Case, &Train), &PathBuf)| {
        let is = |name, text: &str| fs::read_to_string(folder.join(name)).is_ok_and(|t| t == text);
        is("train", &train.text())
            && is("qdisc", case.qdisc)
            && is("shaper", case.shaper.unwrap_or_default())
            && folder.join("stats.json").is_file()
    };
    if !jobs.iter().zip(&folders).all(is_done) {
        enter(jobs, &folders, out)?;
    }
    jobs.iter().zip(&folders).map(|((_, train), folder)| read(train, folder)).collect()
}

fn enter(jobs: &[(&Case, &Train)], folders: &[PathBuf], out: &Path) -> Result<(), String> {
    for ((case, train), folder) in jobs.iter().zip(folders) {
        fs::create_dir_all(folder).map_err(|e| e.to_string())?;
        let write = |name, text: &str| {
            fs::write(folder.join(name), text).map_err(|e| format!("{}: {e}", folder.display()))
        };
        write("train", &train.text())?;
        write("qdisc", case.qdisc)?;
        write("silence", &SILENCE_S.to_string())?;
        write("shaper", case.shaper.unwrap_or_default())?;
    }
    boot("guest.sh", out)
}

/// Runs a script beside this crate's manifest inside the kernel, with `udp-train`; it has `out` as /run/out.
pub(crate) fn boot(script: &str, out: &Path) -> Result<(), String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let train = udp_train()?;
    let cpu = Cpu::claim();
    let done = Cpu::command(cpu.as_ref(), "timeout")
        .arg("120")
        .args(kernel()?)
        .arg("--out")
        .arg(out)
        .arg(here.join(script))
        .arg(&train)
        .output()
        .map_err(|e| format!("timeout: {e}"))?;
    if !done.status.success() {
        return Err(format!(
            "the guest failed with {}: {}{}",
            done.status,
            String::from_utf8_lossy(&done.stdout),
            String::from_utf8_lossy(&done.stderr)
        ));
    }
    Ok(())
}

/// The program that sends and receives, beside this one.
pub(crate) fn udp_train() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|e| e.to_string())?;
    Ok(own.with_file_name("udp-train"))
}

fn read(train: &Train, folder: &Path) -> Result<Judged, String> {
    let text =
        |name: &str| fs::read_to_string(folder.join(name)).map_err(|e| format!("{name}: {e}"));
    let numbers = |name: &str| -> Result<Vec<Vec<u64>>, String> {
        let line = |l: &str| l.split_whitespace().map(|w| w.parse().ok()).collect::<Option<_>>();
        text(name)?.lines().map(|l| line(l).ok_or_else(|| format!("{name}: `{l}`"))).collect()
    };
    let sent = numbers("sent")?;
    if sent.len() != train.packets.len() {
        return Err(format!("sent {} of {} packets", sent.len(), train.packets.len()));
    }
    let offered = train.packets.iter().zip(&sent);
    let offered = offered.map(|(p, sent)| Offered { time_ns: sent[0], ..*p }).collect();
    let left = numbers("got")?.into_iter().map(|row| match row[..] {
        [seq, time_ns, tos] if (seq as usize) < train.packets.len() => {
            Ok(Arrival { seq: seq as u32, time_ns, tos: tos as u8 })
        }
        _ => Err(format!("got {row:?}, which is not of the train")),
    });
    let left = left.collect::<Result<_, _>>()?;
    let json: Value = serde_json::from_str(&text("stats.json")?).map_err(|e| e.to_string())?;
    let rows = json.as_array().ok_or("tc gave no list")?;
    let row = rows.iter().find(|r| r["handle"] == "2:").ok_or("tc shows no queue 2:")?;
    let mut stats = Vec::new();
    let top = row.as_object().into_iter().flatten();
    // Names in text have underscores throughout.
    stats.extend(top.filter_map(|(k, v)| Some((k.replace('-', "_"), v.as_f64()?))));
    for (tin, nth) in row["tins"].as_array().into_iter().flatten().zip(0..) {
        for (json, name, unit) in TIN {
            stats.extend(tin[json].as_f64().map(|v| (format!("tin {nth} {name}"), v * unit)));
        }
    }
    for (name, value) in &mut stats {
        if name == "capacity_estimate" {
            *value *= 8.0;
        }
    }
    let created_ns =
        *numbers("created")?.first().and_then(|row| row.first()).ok_or("created: empty")?;
    Ok(Judged { offered, created_ns, passage: Passage { left, stats } })
}
