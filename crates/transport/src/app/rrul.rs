//! Flent's "realtime response under load": four TCP flows each way, and the round trips of small
//! packets beside them. `rrul` gives each flow a class of its own, `rrul_be` is all best effort.
//! Flent's test definitions `rrul` and `rrul_be` (UDP measured by irtt).

use sojourn_core::Dur;
use sojourn_core::grammar::{Args, GrammarError, Param};

use super::udp::positive_time;
use super::{App, Entry};

const INTERVAL: Param = Param {
    name: "interval",
    value: "TIME",
    default: "200ms",
    doc: "Between the small packets of a round-trip measurement.",
};

/// Registry line.
pub(super) const ENTRY: Entry = Entry {
    name: "rrul",
    summary: "Four TCP flows up, four down, and pings, in the classes BE, BK, CS5 and EF",
    reference: "Flent, rrul",
    params: &[INTERVAL],
    build: |args| build(args, true),
};

/// Registry line.
pub(super) const ENTRY_BE: Entry = Entry {
    name: "rrul_be",
    summary: "Four TCP flows up, four down, and pings, all best effort",
    reference: "Flent, rrul_be",
    params: &[INTERVAL],
    build: |args| build(args, false),
};

/// Parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// Whether flows and pings have classes.
    pub classes: bool,
    /// Between the packets of a ping.
    pub interval: Dur,
}

impl Params {
    /// Part of the name and TOS byte of the four flows of a direction.
    pub fn flows(&self) -> [(&'static str, u8); 4] {
        if self.classes {
            [("be", 0), ("bk", 0x20), ("cs5", 0xa0), ("ef", 0xb8)]
        } else {
            [("be1", 0), ("be2", 0), ("be3", 0), ("be4", 0)]
        }
    }

    /// Part of the name and TOS byte of the three pings over UDP.
    pub fn udp_pings(&self) -> [(&'static str, u8); 3] {
        if self.classes {
            [("udp-ef", 0xb8), ("udp-bk", 0x20), ("udp-be", 0)]
        } else {
            [("udp-be1", 0), ("udp-be2", 0), ("udp-be3", 0)]
        }
    }
}

fn build(args: &mut Args<'_>, classes: bool) -> Result<App, GrammarError> {
    let mut interval = Dur::from_millis(200);
    while let Some(key) = args.key() {
        match key {
            "interval" => interval = positive_time(args)?,
            _ => return Err(args.unknown()),
        }
    }
    Ok(App::Rrul(Params { classes, interval }))
}
