//! What a kernel, and the tc inside it, have: asked of them, once per kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::thread;
use std::time::Duration;

use crate::job::{Place, Request};
use crate::kernel::{Guest, Launch, POLL};
use crate::meeting::Meeting;
use serde::{Deserialize, Serialize};

/// Wall time after which the question is given up.
const LIMIT: Duration = Duration::from_secs(120);

/// What a kernel, and the tc inside it, have.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Capabilities {
    /// Release, such as `7.2.13`.
    pub release: String,
    /// Ticks per second.
    pub hz: u32,
    /// Congestion controllers, and the version that the module states, if any.
    pub controllers: BTreeMap<String, String>,
    /// Disciplines, and which of their parameters are refused, by the names in their tables.
    pub qdiscs: BTreeMap<String, BTreeSet<String>>,
    /// Actions of filters; `random` is the random choice of `gact`.
    pub actions: BTreeSet<String>,
    /// Settings below `net.ipv4`, of those that mean a parameter of `[tcp]`.
    pub settings: BTreeSet<String>,
    /// Whether `tcp_ecn` may be 3 (RFC 9768).
    pub accecn: bool,
}

impl Capabilities {
    /// Starts a kernel that reports them; it is ended when `goes_on` returns false. The error is one line.
    pub fn ask(launch: &Launch, goes_on: &mut dyn FnMut() -> bool) -> Result<Self, String> {
        let place = if launch.is_here() { Place::Machine } else { Place::Virtual };
        let meeting = Meeting::new(launch, &Request::Probe(place).text())?;
        let launch = Launch { limit: launch.limit.min(LIMIT), ..launch.clone() };
        let mut guest = Guest::start(&launch, &meeting)?;
        let is_good = loop {
            match guest.ended()? {
                Some(is_good) => break is_good,
                None if goes_on() => thread::sleep(POLL),
                None => {
                    guest.stop();
                    return Err("interrupted".to_owned());
                }
            }
        };
        let line = io::read_to_string(meeting.samples()?).unwrap_or_default();
        match serde_json::from_str(&line) {
            Ok(found) if is_good => Ok(found),
            _ => Err(guest.failure(&meeting, &launch)),
        }
    }

    /// Whether the release is before `major.minor`.
    fn is_before(&self, major: u32, minor: u32) -> bool {
        let mut numbers = self.release.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse().ok());
        let mut next = || numbers.next().flatten().unwrap_or(0);
        (next(), next()) < (major, minor)
    }

    /// Whether the kernel's own discipline is this version of it, as far as a release or a parameter
    /// tells. Of a tree beside mainline whoever built it has chosen the version.
    pub fn has_version(&self, kind: &str, version: &str) -> bool {
        let is_mainline = version == "mainline";
        match kind {
            // Out of the tree before Linux 6.17.
            "dualpi2" => is_mainline != self.is_before(6, 17),
            // `dq_rate_estimator` is a choice since Linux 5.5 (`pie_params`).
            "pie" | "fq_pie" => is_mainline != self.is_before(5, 5),
            // The tree chromi/sce has CAKE with SCE.
            "cake" => is_mainline == self.refuses(kind, "sce-thresh"),
            _ => true,
        }
    }

    /// The version of a discipline that the kernel has, if it is not mainline's.
    pub(crate) fn own_version(&self, kind: &str) -> Option<&'static str> {
        let version = match kind {
            // The one with which L4STeam's tree was published and measured.
            "dualpi2" => "2020",
            "pie" | "fq_pie" => "5.4",
            "cake" => "chromi",
            _ => return None,
        };
        self.has_version(kind, version).then_some(version)
    }

    /// The version of BBR that the kernel has; mainline's module states none.
    pub fn bbr(&self) -> String {
        let stated = self.controllers.get("bbr").map(String::as_str).filter(|v| !v.is_empty());
        format!("v{}", stated.unwrap_or("1"))
    }

    /// Whether tc or the kernel refuses a parameter, named as in its table.
    pub fn refuses(&self, kind: &str, parameter: &str) -> bool {
        self.qdiscs.get(kind).is_some_and(|refused| refused.contains(parameter))
    }
}

#[cfg(test)]
mod tests;
