//! Scenario text in, output and its values out.

use sojourn_scenario::load;
use sojourn_trace::{FlowSummary, Output, PingSummary, QueueSummary};

/// Runs a scenario file's text after its name, and checks every queue's account.
pub(crate) fn run(text: &str) -> Output {
    run_with(text, &[])
}

pub(crate) fn run_with(text: &str, overrides: &[(&str, String)]) -> Output {
    let overrides: Vec<(String, String)> =
        overrides.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
    let text = format!("name = \"test\"\n{text}");
    let parsed = load(&text, "test.toml", &overrides).unwrap_or_else(|e| panic!("{e}"));
    let output = sojourn_sim::run(&parsed.scenario).unwrap_or_else(|e| panic!("{e}"));
    assert!(output.summary.complete);
    for q in &output.queues {
        let packets = q.sent_packets + q.dropped + q.backlog_packets;
        let bytes = known(q.sent_bytes) + known(q.dropped_bytes) + q.backlog_bytes;
        let come =
            (q.received_packets + q.duplicated, known(q.received_bytes) + q.duplicated_bytes);
        assert_eq!(come, (packets, bytes), "{}", q.name);
        let by_reason: f64 = q.drops.0.iter().map(|(_, n)| n).sum();
        assert_eq!(by_reason, q.dropped as f64, "drops of {} have reasons", q.name);
        let by_reason: f64 = q.marks.0.iter().map(|(_, n)| n).sum();
        assert_eq!(by_reason, q.marked as f64, "marks of {} have reasons", q.name);
    }
    output
}

/// Bytes, which the simulator counts of every queue.
pub(crate) fn known(bytes: Option<u64>) -> u64 {
    bytes.expect("a count")
}

/// Values by name.
pub(crate) trait Named {
    fn queue(&self, name: &str) -> &QueueSummary;
    fn flow(&self, name: &str) -> &FlowSummary;
    fn ping(&self, name: &str) -> &PingSummary;
    fn series(&self, name: &str) -> Vec<(f64, f64)>;
}

impl Named for Output {
    fn queue(&self, name: &str) -> &QueueSummary {
        self.queues.iter().find(|q| q.name == name).expect("a queue of this name")
    }

    fn flow(&self, name: &str) -> &FlowSummary {
        self.summary.flows.iter().find(|f| f.name == name).expect("a flow of this name")
    }

    fn ping(&self, name: &str) -> &PingSummary {
        self.summary.pings.iter().find(|p| p.name == name).expect("a ping of this name")
    }

    fn series(&self, name: &str) -> Vec<(f64, f64)> {
        let column = self.series.iter().find(|c| c.name == name).expect("a series of this name");
        column.t.iter().copied().zip(column.v.iter().copied()).collect()
    }
}

/// A total of either end.
pub(crate) fn total(totals: &sojourn_trace::summary::Totals, name: &str) -> f64 {
    totals.0.iter().find(|(n, _)| *n == name).map_or(0.0, |(_, v)| *v)
}

/// Asserts that `value` is within `percent` of `expected`.
#[track_caller]
pub(crate) fn close(value: f64, expected: f64, percent: f64) {
    let off = (value / expected - 1.0) * 100.0;
    assert!(off.abs() <= percent, "{value:.4} instead of {expected:.4}: {off:+.2} %");
}

/// Slope of the least-squares line.
pub(crate) fn slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let (mt, mv) = points.iter().fold((0.0, 0.0), |(a, b), (t, v)| (a + t / n, b + v / n));
    let (sxy, sxx) = points
        .iter()
        .fold((0.0, 0.0), |(a, b), (t, v)| (a + (t - mt) * (v - mv), b + (t - mt) * (t - mt)));
    sxy / sxx
}
