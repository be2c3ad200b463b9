//! Per-ACK logs of the original tools of 2024-10-28 and 2026-06-30 in the models A, B, C and F: every
//! column of every line is ours, and so is the last summary.

use std::path::{Path, PathBuf};
use std::process::Command;

use sojourn_cc::scream::{AckLine, Summary, Version};

use super::model::{model, run};

/// Where the originals' logs are: `build.rs` has looked.
fn logs() -> PathBuf {
    let named = std::env::var_os("SOJOURN_REFERENCE");
    let folder = named.map_or_else(|| PathBuf::from("../shared/reference"), PathBuf::from);
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder).join("scream")
}

fn unpacked(path: &Path) -> String {
    let out = Command::new("gzip").arg("-dc").arg(path).output().expect("gzip");
    assert!(out.status.success(), "{}: gzip failed", path.display());
    String::from_utf8(out.stdout).unwrap()
}

/// The tool's log (option `-log`): twenty columns.
pub(crate) fn text(line: &AckLine) -> String {
    let columns = [
        format!("{:.4}", line.time.as_secs()),
        format!("{:.4}", line.queue_delay),
        format!("{:.4}", line.rtt),
        line.cwnd.to_string(),
        line.in_flight.to_string(),
        u8::from(line.fast_increase).to_string(),
        format!("{:.0}", line.total_rate),
        line.stream.to_string(),
        line.seq.to_string(),
        line.acked.to_string(),
        line.acked_ce.to_string(),
        format!("{:.0}", line.media_rate),
        format!("{:.0}", line.sent_rate),
        format!("{:.0}", line.acked_rate),
        format!("{:.0}", line.lost_rate),
        format!("{:.0}", line.ce_rate),
        u8::from(line.marker).to_string(),
        format!("{:.0}", line.target),
        format!("{:.3}", line.rtp_queue_delay),
        line.cwnd_i.to_string(),
    ];
    columns.join(" ")
}

fn summary_text(time: f32, summary: &Summary) -> String {
    let Summary { rate, rtt, queue_delay, loss, ce, ecn: [not, ect0, ect1, marked], .. } = summary;
    format!(
        "summary {time:5.1}  Transmit rate = {:5.0}kbps, PLR = {:5.2}%({:5.2}%), \
         CE = {:5.2}%({:5.2}%)[{not:4.1}%, {ect0:4.1}%, {ect1:4.1}%, {marked:4.1}%], \
         RTT = {rtt:5.3}s, Queue delay = {queue_delay:5.3}s",
        rate / 1e3,
        loss.recent,
        loss.all,
        ce.recent,
        ce.all,
    )
}

/// The shares of the last samples depend on where their ring begins, which the specification does not
/// say; the rest of the line stays.
fn without_recent(line: &str) -> String {
    ["PLR = ", "CE = "].iter().fold(line.trim().to_owned(), |line, key| {
        let (before, after) = line.split_once(key).unwrap();
        format!("{before}{key}{}", &after[after.find('(').unwrap()..])
    })
}

fn compare(name: char, version: Version) {
    let suffix = if version == Version::V2026 { "head" } else { "2024" };
    let logs = logs();
    let log = std::fs::read_dir(&logs).unwrap().map(|entry| entry.unwrap().path()).find(|path| {
        let file = path.file_name().unwrap().to_str().unwrap();
        file.starts_with(&format!("{name}_")) && file.ends_with(&format!("_{suffix}.csv.gz"))
    });
    let log = unpacked(&log.expect("a log of this model"));
    let out = run(&model(name, version));
    // The columns' separators differ: ", ", "," and " ".
    let theirs = log
        .lines()
        .map(|line| line.replace(',', " ").split_whitespace().collect::<Vec<_>>().join(" "));
    for (number, (ours, theirs)) in out.lines.iter().zip(theirs).enumerate() {
        assert_eq!(text(ours), theirs, "{name} {suffix}: line {}", number + 1);
    }
    assert_eq!(out.lines.len(), log.lines().count(), "{name} {suffix}: lines");
    let theirs = std::fs::read_to_string(logs.join(format!("{name}_{suffix}.sum"))).unwrap();
    let mut lines = theirs.lines();
    let ours = summary_text(30.0, &out.summary);
    assert_eq!(without_recent(&ours), without_recent(lines.next().unwrap()));
    let counts = format!("drops {} rx {}", out.drops, out.received);
    assert_eq!(lines.next(), Some(counts.as_str()));
}

// KAT scream-golden 1: golden log of A, every line and column
#[test]
#[cfg_attr(not(reference), ignore = "SOJOURN_REFERENCE does not point to the originals' logs")]
fn l4s_is_the_original_of_2024_line_by_line() {
    compare('A', Version::V2024);
}

// KAT scream-golden 1: golden log of A, every line and column
#[test]
#[cfg_attr(not(reference), ignore = "SOJOURN_REFERENCE does not point to the originals' logs")]
fn l4s_is_the_original_of_2026_line_by_line() {
    compare('A', Version::V2026);
}

// KAT scream-golden 2: golden log of B, every line and column
#[test]
#[cfg_attr(not(reference), ignore = "SOJOURN_REFERENCE does not point to the originals' logs")]
fn delay_alone_is_the_original_of_2024_line_by_line() {
    compare('B', Version::V2024);
}

// KAT scream-golden 2: golden log of B, every line and column
#[test]
#[cfg_attr(not(reference), ignore = "SOJOURN_REFERENCE does not point to the originals' logs")]
fn delay_alone_is_the_original_of_2026_line_by_line() {
    compare('B', Version::V2026);
}

// KAT scream-golden 3: golden log of C, every line and column
#[test]
#[cfg_attr(not(reference), ignore = "SOJOURN_REFERENCE does not point to the originals' logs")]
fn classic_marks_are_the_original_of_2024_line_by_line() {
    compare('C', Version::V2024);
}

// KAT scream-golden 3: golden log of C, every line and column
#[test]
#[cfg_attr(not(reference), ignore = "SOJOURN_REFERENCE does not point to the originals' logs")]
fn classic_marks_are_the_original_of_2026_line_by_line() {
    compare('C', Version::V2026);
}

// KAT scream-golden 4: golden log of F, every line and column
#[test]
#[cfg_attr(not(reference), ignore = "SOJOURN_REFERENCE does not point to the originals' logs")]
fn microbursts_are_the_original_of_2024_line_by_line() {
    compare('F', Version::V2024);
}

// KAT scream-golden 4: golden log of F, every line and column
#[test]
#[cfg_attr(not(reference), ignore = "SOJOURN_REFERENCE does not point to the originals' logs")]
fn microbursts_are_the_original_of_2026_line_by_line() {
    compare('F', Version::V2026);
}
