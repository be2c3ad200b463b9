//! The receiver's options (EricssonResearch/scream, scream_receiver.cpp).

use super::args::{self, Group, Opt, Parsed, flag, opt};
use super::generation::Generation;
use super::{Count, HELP_HEAD_RX, Local};

/// What the receiver was asked to do.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RxOptions {
    pub(super) generation: Generation,
    /// The sender, if it was named.
    pub(super) host: Option<String>,
    pub(super) port: u16,
    pub(super) local: Local,
    pub(super) count: Count,
    /// New packets after which a report is due.
    pub(super) ack_diff: u16,
    /// Sequence numbers in a report.
    pub(super) reported: u16,
    pub(super) duration_s: Option<f64>,
    pub(super) json: bool,
    pub(super) no_summary: bool,
}

/// Entries of the history that a report is made from.
const GREATEST_REPORT: u64 = 512;

impl RxOptions {
    /// Reads a command line without the program's name.
    pub(super) fn parse(args: &[String]) -> Result<Self, String> {
        let parsed = Parsed::new(args, OPTIONS)?;
        let mut o = Self { reported: 64, ..Self::default() };
        parsed.apply(&mut o)?;
        let (host, port) = match parsed.others.as_slice() {
            [host, port] => (Some(host.clone()), port),
            [port] => (None, port),
            others => {
                return Err(super::wrong_count(
                    others,
                    "sender's address or name (may be left out), port",
                ));
            }
        };
        o.host = host;
        o.port = super::port(port)?;
        if o.ack_diff == 0 {
            let share = if o.generation == Generation::V2020 { 4 } else { 2 };
            o.ack_diff = (o.reported / share).max(1);
        }
        Ok(o)
    }
}

/// The text of `-help`.
pub(super) fn help() -> String {
    format!("{HELP_HEAD_RX}{}", args::help(OPTIONS))
}

const OPTIONS: &[Group<RxOptions>] =
    &[("Feedback", FEEDBACK), ("Network", NETWORK), ("Run and output", OUTPUT)];

const FEEDBACK: &[Opt<RxOptions>] = &[
    opt(
        "ackdiff n",
        "a report after n new sequence numbers, default half of -nreported (2020: a quarter)",
        |o, v| v.whole(0, 1, GREATEST_REPORT).map(|n| o.ack_diff = n),
    ),
    opt("nreported n", "sequence numbers in a report, default 64", |o, v| {
        v.whole(0, 1, GREATEST_REPORT).map(|n| o.reported = n)
    }),
    opt(
        "feedback coding",
        "how reports count: legacy (count minus 1, as the original; default) or rfc8888",
        |o, v| {
            v.choice(0, &["legacy", "rfc8888"])
                .map(|at| o.count = [Count::Legacy, Count::Rfc8888][at])
        },
    ),
    opt(
        "generation build",
        "2020-03-20, 2024-10-28, 2024-10-31 or 2026-06-30 (default): when that build reports",
        |o, v| Generation::parse(v.text(0)).map(|g| o.generation = g),
    ),
];

const NETWORK: &[Opt<RxOptions>] = &[
    opt("if name", "binds the socket to a network interface", |o, v| {
        o.local.interface = Some(v.text(0).into());
        Ok(())
    }),
    opt(
        "ipv6",
        "IPv6 only; without it the sender's address says it, and both if none is given",
        |o, _| o.local.family(true),
    ),
    opt("ipv4", "IPv4 only", |o, _| o.local.family(false)),
    opt("dscp n", "DSCP of the feedback, 0 to 63, default 0", |o, v| {
        v.whole(0, 0, 63).map(|n| o.local.dscp = n)
    }),
];

const OUTPUT: &[Opt<RxOptions>] = &[
    opt(
        "time|duration s",
        "run time; below 0 or absent: until Ctrl-C; -duration is the same",
        |o, v| v.duration(0).map(|s| o.duration_s = s),
    ),
    opt("nosummary", "no counts at the end", |o, _| flag(&mut o.no_summary)),
    opt("json", "stdout is JSON, one object a line", |o, _| flag(&mut o.json)),
];

#[cfg(test)]
mod tests;
