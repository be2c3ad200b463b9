//! A queue of the scenario as it was sampled.

use serde_json::Value;
use sojourn_core::{Rate, Time};
use sojourn_queue::aqm::{Reason, Spec};
use sojourn_scenario::{Edit, Measure, PortSpec, Role, Scenario};
use sojourn_trace::summary::Totals;
use sojourn_trace::{GroupId, QueueSummary, Recorder};

use crate::network::Device;
use crate::tc::{Accounts, Below, action_at, add, at_depth, count, counters, delay_ms};

#[derive(Debug)]
pub(crate) struct Queue {
    port: String,
    /// Its text at the end of the run.
    qdisc: String,
    group: GroupId,
    /// Device and depth of its discipline; none of a policer alone.
    place: Option<(usize, usize)>,
    /// Whether the discipline below it is another queue of the scenario.
    has_below: bool,
    /// Device and place of the policers before it, and their last counters, in order.
    policers: Vec<(usize, usize, Value)>,
    /// The last row of `tc`, and that of the queue below.
    last: [Value; 2],
    /// Packets that disciplines dropped that were below before.
    dropped_below: u64,
    /// Accounts of the disciplines that were here before.
    before: Accounts,
    /// Bytes sent when the measuring window opened and closed.
    window_bytes: [u64; 2],
    /// Rate that bounds it at the end of the run.
    rate: Option<Rate>,
}

impl Queue {
    pub(crate) fn new(
        scenario: &Scenario,
        spec: &PortSpec,
        group: GroupId,
        devices: &[Device],
    ) -> Self {
        let (qdisc, rate) = at_the_end(scenario, spec);
        let (mut place, mut has_below, mut policers) = (None, false, Vec::new());
        for (number, device) in devices.iter().enumerate() {
            for own in device.queues.iter().filter(|queue| queue.port == spec.name) {
                if device.hook.is_none() {
                    place = Some((number, own.depth));
                    has_below = device.queues.iter().any(|other| other.depth == own.depth + 1);
                } else {
                    policers.push((number, own.depth, Value::Null));
                }
            }
        }
        Self {
            port: spec.name.clone(),
            qdisc,
            group,
            place,
            has_below,
            policers,
            last: [Value::Null, Value::Null],
            dropped_below: 0,
            before: Accounts::default(),
            window_bytes: [0; 2],
            rate,
        }
    }

    /// Takes the rows of a device, if it is there; a sample goes into the series. Policers are asked
    /// for before disciplines.
    pub(crate) fn take(
        &mut self,
        device: usize,
        at: Time,
        rows: &[Value],
        window: Measure,
        series: Option<&mut Recorder>,
    ) {
        let mut is_here = false;
        for (_, place, counters) in self.policers.iter_mut().filter(|(on, ..)| *on == device) {
            if let Some(stats) = action_at(rows, *place) {
                *counters = stats.clone();
                is_here = self.place.is_none();
            }
        }
        if let Some((_, depth)) = self.place.filter(|(on, _)| *on == device) {
            is_here = self.take_row(rows, depth);
        }
        if is_here {
            self.sample(at, window, series);
        }
    }

    /// Whether there is a discipline.
    fn take_row(&mut self, rows: &[Value], depth: usize) -> bool {
        let Some(row) = at_depth(rows, depth) else { return false };
        let below = self.has_below.then(|| at_depth(rows, depth + 1)).flatten();
        let below = below.unwrap_or(&Value::Null);
        // Every discipline that is added has a handle of its own.
        let is_new = |old: &Value, new: &Value| !old.is_null() && old["handle"] != new["handle"];
        if is_new(&self.last[0], row) {
            let mut gone = Accounts::of(&self.last[0], self.below());
            add(&mut gone.drops, Reason::Purge.name(), self.held().0);
            self.before = self.before.and(&gone);
            self.dropped_below = 0;
        } else if is_new(&self.last[1], below) {
            self.dropped_below += count(&self.last[1], "drops") + count(&self.last[1], "qlen");
        }
        self.last = [row.clone(), below.clone()];
        true
    }

    fn sample(&mut self, at: Time, window: Measure, series: Option<&mut Recorder>) {
        let row = &self.last[0];
        let (accounts, held) = (self.accounts(), self.held());
        if at <= window.from {
            self.window_bytes[0] = accounts.sent_bytes;
        }
        if at <= window.to {
            self.window_bytes[1] = accounts.sent_bytes;
        }
        let Some(series) = series else { return };
        series.sample(self.group, at, |probe| {
            probe.put("backlog_packets", "packets", held.0 as f64);
            probe.put("backlog_bytes", "bytes", held.1 as f64);
            let received = accounts.sent_packets + accounts.dropped() + held.0;
            probe.put("received_packets", "packets", received as f64);
            probe.put("marks", "packets", accounts.marked() as f64);
            probe.put("drops", "packets", accounts.dropped() as f64);
            for (name, value) in delay_ms(row) {
                probe.put(name, "ms", value);
            }
            if let Some(probability) = row["prob"].as_f64() {
                probe.put("prob", "", probability);
            }
        });
    }

    fn below(&self) -> Below {
        let row = &self.last[1];
        Below {
            packets: count(row, "qlen"),
            bytes: count(row, "backlog"),
            drops: self.dropped_below + count(row, "drops"),
        }
    }

    /// Packets and bytes that wait.
    fn held(&self) -> (u64, u64) {
        let (row, below) = (&self.last[0], self.below());
        let own = |key, below: u64| count(row, key).saturating_sub(below);
        (own("qlen", below.packets), own("backlog", below.bytes))
    }

    fn accounts(&self) -> Accounts {
        let mut sum = self.before.and(&Accounts::of(&self.last[0], self.below()));
        for (_, _, row) in &self.policers {
            add(&mut sum.drops, Reason::Police.name(), count(row, "drops"));
        }
        // An action counts what it drops too.
        if let (None, Some((_, _, row))) = (self.place, self.policers.last()) {
            sum.sent_packets = count(row, "packets") - count(row, "drops");
            sum.sent_bytes = count(row, "bytes");
        }
        sum
    }

    /// The accounts at the end; `window_s` is the length of the measuring window, seconds. `tc` counts
    /// no bytes of dropped packets, so that what depends on them is unknown: what a queue got, and what
    /// a policer let through.
    pub(crate) fn summary(&self, window_s: f64) -> QueueSummary {
        let accounts = self.accounts();
        let (held, held_bytes) = self.held();
        let (sent, dropped) = (accounts.sent_packets, accounts.dropped());
        let bits_per_s = (self.window_bytes[1] - self.window_bytes[0]) as f64 * 8.0 / window_s;
        // What a policer alone lets through has no count of bytes.
        let rate = self.rate.filter(|_| window_s > 0.0 && self.place.is_some());
        let named = |counts: &[(&'static str, u64)]| -> Totals {
            counts.iter().map(|(name, n)| (*name, *n as f64)).collect()
        };
        let counted = |bytes: u64, is_counted: bool| (is_counted || dropped == 0).then_some(bytes);
        let is_policer = self.qdisc.starts_with("police ");
        QueueSummary {
            name: self.port.clone(),
            qdisc: self.qdisc.clone(),
            received_packets: (sent + dropped + held).saturating_sub(accounts.duplicated),
            received_bytes: counted(accounts.sent_bytes + held_bytes, is_policer),
            duplicated: accounts.duplicated,
            duplicated_bytes: 0,
            sent_packets: sent,
            sent_bytes: counted(accounts.sent_bytes, !is_policer),
            dropped,
            dropped_bytes: counted(0, false),
            marked: accounts.marked(),
            backlog_packets: held,
            backlog_bytes: held_bytes,
            drops: named(&accounts.drops),
            marks: named(&accounts.marks),
            stats: counters(match (self.place, self.policers.last()) {
                (None, Some((_, _, row))) => row,
                _ => &self.last[0],
            }),
            sojourn_ms: None,
            flows: vec![],
            queues: vec![],
            utilisation: rate.map(|rate| bits_per_s / rate.0 as f64),
        }
    }
}

/// Parameters and rate of a port after all scheduled changes.
pub(crate) fn at_the_end(scenario: &Scenario, spec: &PortSpec) -> (String, Option<Rate>) {
    let mut qdisc = spec.qdisc.as_ref();
    let mut rate = spec.wire.or_else(|| spec.shaper.as_ref()?.capacity());
    for change in &scenario.schedule {
        let is_way = if spec.forward { change.forward } else { change.reverse };
        if change.link != spec.link || !is_way {
            continue;
        }
        match (&change.edit, spec.role) {
            (Edit::Rate(new), Role::Egress) => rate = Some(*new),
            (Edit::Change(to, _) | Edit::Replace(to), Role::Egress) => qdisc = Some(to),
            (Edit::Ingress(n, to), Role::Ingress(own)) if *n == own => qdisc = Some(to),
            _ => {}
        }
    }
    let rate = rate.or_else(|| qdisc?.capacity());
    (qdisc.map_or_else(String::new, Spec::to_string), rate)
}
