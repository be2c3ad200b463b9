//! What `tc -s -j qdisc show` prints, under the names of the simulator.

use std::borrow::Cow;

use serde_json::{Map, Value};
use sojourn_queue::aqm::Reason;
use sojourn_trace::summary::Totals;

/// Counters of marks in `tc -s -j`, of any discipline. DualPI2's step marks are among its `ecn_mark`s.
const MARKS: [&str; 4] = ["ecn_mark", "ce_mark", "marked", "ecn_marked"];

/// Accounts of a discipline since it was added.
#[derive(Clone, Debug, Default)]
pub(crate) struct Accounts {
    pub(crate) sent_packets: u64,
    pub(crate) sent_bytes: u64,
    /// Packets that the discipline made itself.
    pub(crate) duplicated: u64,
    pub(crate) drops: Vec<(&'static str, u64)>,
    pub(crate) marks: Vec<(&'static str, u64)>,
}

/// What a discipline counts as its own although another queue of the scenario below it has it. What
/// leaves it is counted when it leaves that one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Below {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    /// Since the discipline above was added.
    pub(crate) drops: u64,
}

impl Accounts {
    pub(crate) fn of(row: &Value, below: Below) -> Self {
        Self {
            sent_packets: count(row, "packets") + below.packets + below.drops,
            sent_bytes: count(row, "bytes") + below.bytes,
            duplicated: count(row, "duplicated"),
            drops: drops(row, count(row, "drops").saturating_sub(below.drops)),
            marks: marks(row),
        }
    }

    /// These and those of a discipline that came after.
    pub(crate) fn and(&self, later: &Self) -> Self {
        let mut sum = self.clone();
        sum.sent_packets += later.sent_packets;
        sum.sent_bytes += later.sent_bytes;
        sum.duplicated += later.duplicated;
        later.drops.iter().for_each(|(name, n)| add(&mut sum.drops, name, *n));
        later.marks.iter().for_each(|(name, n)| add(&mut sum.marks, name, *n));
        sum
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.drops.iter().map(|(_, n)| n).sum()
    }

    pub(crate) fn marked(&self) -> u64 {
        self.marks.iter().map(|(_, n)| n).sum()
    }
}

/// Adds to a count by name.
pub(crate) fn add(counts: &mut Vec<(&'static str, u64)>, name: &'static str, n: u64) {
    if n == 0 {
        return;
    }
    match counts.iter_mut().find(|(known, _)| *known == name) {
        Some((_, count)) => *count += n,
        None => counts.push((name, n)),
    }
}

/// Drops by reason where a counter means just that, else by `tc`'s own name; what no counter explains
/// is the discipline's only other reason, or `drops`.
fn drops(row: &Value, mut left: u64) -> Vec<(&'static str, u64)> {
    let count = |key: &str| count(row, key);
    let (tail, own) = (Reason::TailLimit.name(), "drops");
    let (named, rest): (Vec<(&str, u64)>, &str) = match kind(row) {
        "pfifo" | "bfifo" | "pfifo_fast" => (vec![], tail),
        "pfifo_head_drop" => (vec![], Reason::HeadLimit.name()),
        "codel" => (vec![(tail, count("drop_overlimit"))], Reason::Codel.name()),
        "fq_codel" => {
            let memory = count("drop_overmemory");
            let flow = count("drop_overlimit").saturating_sub(memory);
            let limits =
                vec![(Reason::FlowOverlimit.name(), flow), (Reason::MemoryLimit.name(), memory)];
            (limits, Reason::Codel.name())
        }
        "pie" | "fq_pie" => (vec![(tail, count("overlimit"))], Reason::Pi.name()),
        // Those between the thresholds and those above, as `tc` has them.
        "red" => (vec![("early", count("early")), (tail, count("pdrop"))], own),
        "sfb" => {
            let bins = vec![
                (Reason::Blue.name(), count("earlydrop")),
                (Reason::Protection.name(), count("penaltydrop")),
                (Reason::FlowOverlimit.name(), count("bucketdrop")),
                (tail, count("queuedrop")),
            ];
            (bins, own)
        }
        "sfq" => {
            let of_red = vec![
                (Reason::RedEarly.name(), of_options(row, "prob_drop")),
                (Reason::RedForced.name(), of_options(row, "forced_drop")),
            ];
            (of_red, own)
        }
        "cake" => (vec![(Reason::AckFilter.name(), of_tins(row, "ack_drops"))], own),
        "netem" if row["dropped"].is_u64() => (vec![(Reason::Loss.name(), count("dropped"))], tail),
        _ => (vec![], own),
    };
    let mut counts = Vec::new();
    for (name, n) in named {
        add(&mut counts, name, n.min(left));
        left -= n.min(left);
    }
    add(&mut counts, rest, left);
    counts
}

/// Marks by reason where a counter means just that, else by `tc`'s own name.
fn marks(row: &Value) -> Vec<(&'static str, u64)> {
    let mut counts = Vec::new();
    if kind(row) == "sfq" {
        for (reason, names) in [
            (Reason::RedEarly, ["prob_mark", "prob_mark_head"]),
            (Reason::RedForced, ["forced_mark", "forced_mark_head"]),
        ] {
            add(&mut counts, reason.name(), names.iter().map(|name| of_options(row, name)).sum());
        }
    }
    for name in MARKS {
        let (n, reason) = (count(row, name) + of_tins(row, name), name);
        let reason = match (kind(row), reason) {
            ("codel" | "fq_codel" | "cake", "ecn_mark") => Reason::Codel.name(),
            (_, "ce_mark") => Reason::CeThreshold.name(),
            ("pie" | "fq_pie", "ecn_mark") => Reason::Pi.name(),
            ("sfb", "marked") => Reason::Blue.name(),
            ("netem", "ecn_marked") => Reason::Loss.name(),
            ("dualpi2", "ecn_mark") => {
                let step = count(row, "step_mark").min(n);
                add(&mut counts, Reason::Step.name(), step);
                add(&mut counts, "ecn_mark", n - step);
                continue;
            }
            _ => name,
        };
        add(&mut counts, reason, n);
    }
    counts
}

/// The discipline with `depth` others above it on its device; of several the one added last.
pub(crate) fn at_depth(rows: &[Value], depth: usize) -> Option<&Value> {
    let mut row = rows.iter().find(|r| r["root"] == true)?;
    for _ in 0..depth {
        let handle = row["handle"].as_str()?;
        let is_below = |r: &&Value| r["parent"].as_str().is_some_and(|p| p.starts_with(handle));
        row = rows.iter().find(is_below)?;
    }
    Some(row)
}

/// The counters of an action in a filter's row.
pub(crate) fn action_at(rows: &[Value], place: usize) -> Option<&Value> {
    rows.iter().find_map(|row| row["options"]["actions"].get(place)?.get("stats"))
}

fn kind(row: &Value) -> &str {
    row["kind"].as_str().unwrap_or_default()
}

/// A counter, under the name of the text.
pub(crate) fn count(row: &Value, key: &str) -> u64 {
    let value = row.get(key).or_else(|| row.get(key.replace('_', "-")));
    value.and_then(Value::as_u64).unwrap_or(0)
}

/// The sum of a counter over the tins of CAKE.
fn of_tins(row: &Value, key: &str) -> u64 {
    row["tins"].as_array().into_iter().flatten().map(|tin| count(tin, key)).sum()
}

/// Counters of SFQ, which tc prints among its parameters.
fn of_options(row: &Value, key: &str) -> u64 {
    row["options"][key].as_u64().unwrap_or(0)
}

/// `tc` writes some names with dashes in JSON.
fn normal(key: &str) -> String {
    key.replace('-', "_")
}

/// The delays that a discipline reports, by series name; JSON has it in microseconds.
pub(crate) fn delay_ms(row: &Value) -> impl Iterator<Item = (&'static str, f64)> {
    let names =
        [("delay", "delay"), ("delay-c", "delay_c"), ("delay-l", "delay_l"), ("ldelay", "ldelay")];
    names.into_iter().filter_map(|(key, name)| Some((name, row[key].as_f64()? / 1e3)))
}

/// The numbers of a row under the names of the text.
pub(crate) fn counters(row: &Value) -> Totals {
    let accounts = ["bytes", "packets", "drops", "backlog", "qlen", "refcnt"];
    let mut totals = Vec::new();
    let own: Option<&Map<String, Value>> = row.as_object();
    for (key, value) in own.into_iter().flatten() {
        match value.as_f64() {
            Some(value) if !accounts.contains(&key.as_str()) => {
                totals.push((Cow::Owned(normal(key)), value));
            }
            _ => {}
        }
    }
    if kind(row) == "sfq" {
        let names = ["mark", "mark_head", "drop"];
        for name in names.iter().flat_map(|what| [format!("prob_{what}"), format!("forced_{what}")])
        {
            let value = row["options"][&name].as_f64();
            totals.extend(value.map(|value| (Cow::Owned(name), value)));
        }
    }
    for (n, tin) in row["tins"].as_array().into_iter().flatten().enumerate() {
        for (key, value) in tin.as_object().into_iter().flatten() {
            totals.extend(value.as_f64().map(|v| (Cow::Owned(format!("tin{n}_{key}")), v)));
        }
    }
    Totals(totals)
}

#[cfg(test)]
mod tests;
