//! One-line diagnoses of a flow, each with its evidence.
//!
//! A [`Check`] has its [`Kind`] beside it: name, meaning, condition with its threshold, and who says so. The guide's table
//! is written from these.

mod handshake;
mod limits;
mod path;
mod signals;
mod two;

use crate::family;
use crate::report::pair::Way;
use crate::report::{AccEcnFeedback, Connection, Diagnosis, Direction, Flow, TcpDirection};
use crate::rounds::Round;

/// Something that can be found.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its name, as in the report.
    pub name: &'static str,
    /// What it means.
    pub text: &'static str,
    /// The condition, with its thresholds.
    pub when: &'static str,
    /// Where these come from.
    pub source: &'static str,
}

impl Kind {
    fn found(&self, evidence: String) -> Diagnosis {
        Diagnosis { kind: self.name.to_owned(), text: self.text.to_owned(), evidence }
    }
}

/// A kind, and what looks for it and gives the evidence.
struct Check<F> {
    kind: Kind,
    look: F,
}

type OfTcp = Check<fn(&Seen<'_>) -> Option<String>>;
type OfFlow = Check<fn(&Flow) -> Option<String>>;
type OfWay = Check<fn(&Way) -> Option<String>>;

const OF_TCP: [&[OfTcp]; 3] = [signals::CHECKS, handshake::CHECKS, limits::CHECKS];

/// A TCP flow as checks see it: the direction of its data, and of its ACKs.
struct Seen<'a> {
    flow: &'a Flow,
    connection: &'a Connection,
    data: &'a Direction,
    sent: &'a TcpDirection,
    fed: &'a TcpDirection,
    rounds: &'a [Round],
    mss: f64,
}

impl<'a> Seen<'a> {
    fn new(flow: &'a Flow) -> Option<Self> {
        let data = family::sender(flow);
        let is_forward = std::ptr::eq(data, &raw const flow.forward);
        let acks = if is_forward { &flow.backward } else { &flow.forward };
        let (connection, sent, fed) = (flow.tcp.as_ref()?, data.tcp.as_ref()?, acks.tcp.as_ref()?);
        let (rounds, mss) = (&data.rounds, family::mss(flow));
        Some(Self { flow, connection, data, sent, fed, rounds, mss })
    }

    /// What AccECN's counters say of the data.
    fn accecn(&self) -> Option<&AccEcnFeedback> {
        self.fed.accecn.as_ref()
    }

    /// Part of the data packets with ECT or CE.
    fn ect(&self) -> f64 {
        part(
            self.data.data_packets - self.data.data_ecn.not_ect.min(self.data.data_packets),
            self.data.data_packets,
        )
    }

    /// CE seen or reported, as far as it is certain.
    fn ce(&self) -> u64 {
        let fed = self.accecn().map_or(self.fed.ece, |fed| fed.ce_packets_least);
        fed.max(self.data.data_ecn.ce)
    }

    /// Retransmissions of what was lost.
    fn losses(&self) -> u64 {
        let counts = &self.sent.retransmissions;
        (counts.fast + counts.rto).saturating_sub(counts.spurious)
    }

    /// Windows of rounds, segments.
    fn window(&self, round: &Round) -> f64 {
        round.bytes as f64 / self.mss
    }

    /// Least duration of a round, ns: the path without its queue.
    fn base(&self) -> Option<u64> {
        self.rounds.iter().filter(|round| round.packets > 1).map(|round| round.duration).min()
    }
}

fn part(some: u64, all: u64) -> f64 {
    if all > 0 { some as f64 / all as f64 } else { 0.0 }
}

/// All that are found in one flow.
pub(crate) fn flow(flow: &Flow) -> Vec<Diagnosis> {
    let of_tcp = Seen::new(flow).into_iter().flat_map(|seen| {
        let checks = OF_TCP.into_iter().flatten();
        let found =
            checks.filter_map(|check| (check.look)(&seen).map(|text| check.kind.found(text)));
        found.collect::<Vec<_>>()
    });
    let of_all = path::CHECKS.iter();
    of_tcp
        .chain(of_all.filter_map(|check| (check.look)(flow).map(|text| check.kind.found(text))))
        .collect()
}

/// All that are found in one direction of a flow between two captures.
pub fn way(way: &Way) -> Vec<Diagnosis> {
    two::CHECKS
        .iter()
        .filter_map(|check| (check.look)(way).map(|text| check.kind.found(text)))
        .collect()
}

/// All kinds, by group.
pub fn kinds() -> Vec<(&'static str, Vec<Kind>)> {
    vec![
        ("Signals and answers", signals::CHECKS.iter().map(|check| check.kind).collect()),
        ("Negotiation and feedback", handshake::CHECKS.iter().map(|check| check.kind).collect()),
        ("Limits other than congestion", limits::CHECKS.iter().map(|check| check.kind).collect()),
        ("Bursts and tunnels", path::CHECKS.iter().map(|check| check.kind).collect()),
        ("Between two captures", two::CHECKS.iter().map(|check| check.kind).collect()),
    ]
}

/// The guide's tables.
pub fn table() -> String {
    let mut text = String::new();
    for (heading, kinds) in kinds() {
        text += &format!(
            "\n## {heading}\n\n| diagnosis | means | when | source |\n|---|---|---|---|\n"
        );
        for Kind { name, text: means, when, source } in kinds {
            text += &format!("| `{name}` | {means} | {when} | {source} |\n");
        }
    }
    text
}

#[cfg(test)]
mod tests;
