//! Flent's "realtime response under load": four TCP flows each way, and the round trips of small
//! packets beside them. `rrul` gives each flow a class of its own, `rrul_be` is all best effort.
//! Flent's test definitions `rrul` and `rrul_be` (UDP measured by irtt).

use sojourn_core::{Dur, parameters};

use super::application::line;
use super::udp::positive_time;
use super::{App, Application, Entry};

pub(super) const ENTRY: Entry = line::<Classes>(
    "rrul",
    "Four TCP flows up, four down, and pings, in the classes BE, BK, CS5 and EF",
    "Flent, rrul",
);

pub(super) const ENTRY_BE: Entry = line::<BestEffort>(
    "rrul_be",
    "Four TCP flows up, four down, and pings, all best effort",
    "Flent, rrul_be",
);

parameters! {
    /// Parameters of both tests.
    #[derive(Copy)]
    struct Pings {
        /// Between the small packets of a round-trip measurement.
        interval: Dur = Dur::from_millis(200) => positive_time();
    }
}

parameters! {
    /// Parameters of `rrul`.
    struct Classes {}
    groups { pings: Pings = Pings::default(); }
}

parameters! {
    /// Parameters of `rrul_be`.
    struct BestEffort {}
    groups { pings: Pings = Pings::default(); }
}

impl Application for Classes {
    fn build(&self) -> App {
        App::Rrul(Params { classes: true, interval: self.pings.interval })
    }
}

impl Application for BestEffort {
    fn build(&self) -> App {
        App::Rrul(Params { classes: false, interval: self.pings.interval })
    }
}

/// What a test is made of.
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
