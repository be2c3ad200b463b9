//! TCP Prague, each published generation under its own law. This file holds the parameters and
//! picks the law; [`v2019`], [`v2020`], [`draft`] and [`current`] are one controller each. Sources: the
//! modules net/ipv4/tcp_prague.c of L4STeam, and draft-briscoe-iccrg-prague-congestion-control-04.

mod current;
mod draft;
mod v2019;
mod v2020;

use self::current::Mode;
use self::v2020::{Fallback, RttMode};
use super::algorithm::{Algorithm, Entry, entry};
use super::or_reno::OrReno;
use super::{Controller, Feedback, Kernel, Needs};
use sojourn_core::ecn::Ecn;
use sojourn_core::grammar::forms::{maybe, number, one_of, time_in, whole};
use sojourn_core::grammar::{Given, Parameter, table, written};
use sojourn_core::units::Dur;
use sojourn_core::{choices, parameters};

pub(super) const ENTRY: Entry = entry::<Params>(
    "prague",
    "Cuts by half the marked share per round trip; the L4S controller for TCP.",
    "draft-briscoe-iccrg-prague-congestion-control-04; L4STeam/linux tcp_prague.c of 2019 (p0, p1), \
     e741f5ac (p2a), 0e7cf8ac (p2b), b256daed (p2c), 0.6 (p3) and 893e1479 (current); fallback: arXiv \
     1911.00710",
    Kernel::Tree("L4STeam/linux"),
);

parameters! {
    /// Parameters of `prague`, without those that the version does not have.
    #[derive(Copy, PartialEq)]
    struct Params {
        /// p0: mid-2019; p1: 5 November 2019; p2a: 8 April 2020, ignores losses in slow start;
        /// p2b: 24 April 2020, fixed; p2c: 4 August 2020; p3: module 0.6, 2021 and 2022; draft04: the
        /// draft of 24 July 2024; current: module 0.7, 2024.
        version: Version = Version::Current;
        /// Classic ECN queue: 0 do not look, 1 detect and respond, 2 detect only (p2a to p3).
        ecn_fallback: Option<Fallback> = None, default "1, p2c and p3: 0";
        /// How growth depends on the RTT below rtt_target (p2a to p3).
        rtt_mode: Option<RttMode> = None, default "none, p2a and p3: rate";
        /// RTT whose dynamics shorter paths imitate (p2a and later).
        // At least one unit of the kernel's RTT clock.
        rtt_target: Option<Dur> = None =>
            maybe(time_in(Dur::from_micros(128)..=Dur::from_secs(10))),
            default "25ms, p2a: 10ms, p2b and p2c: 15ms";
        /// Round trips after slow start before rtt_target acts (p2a to p3, current).
        rtt_transition: Option<u32> = None => maybe(whole("ROUNDS", 0..=u32::MAX.into(), "")),
            default "4, p2a to p2c: 100, p3: 500";
        /// Bursts last 2^-N seconds at the pacing rate (p2a and later).
        burst_shift: Option<u32> = None => maybe(number(0..=31)), default "12";
        /// Whose size bursts have: the module's, by burst_shift, or TSO autosizing's, as in mainline
        /// kernels, which ask no module (current).
        bursts: Option<bool> = None =>
            maybe(one_of("module|kernel", &[("module", false), ("kernel", true)])), default "module";
        /// What grows and is cut: the window, the rate, or the rate up to a cwnd of 6000 bytes
        /// (current).
        cwnd_mode: Option<Mode> = None, default "switch";
        /// First alpha: 0 with a halving at the first mark, or 1 (current).
        alpha_init: Option<bool> = None => maybe(one_of("0|1", &[("0", false), ("1", true)])),
            default "0";
    }
    derive complete;
    settle version_has;
}

choices! {
    enum Version {
        P0 = "p0",
        P1 = "p1",
        P2a = "p2a",
        P2b = "p2b",
        P2c = "p2c",
        P3 = "p3",
        Draft04 = "draft04",
        Current = "current",
    }
}

/// What a version runs with; of no effect where it has no such parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Law {
    version: Version,
    fallback: Fallback,
    rtt_mode: RttMode,
    /// RTT that shorter ones imitate.
    rtt_target: Dur,
    /// Rounds after slow start before they do.
    rtt_transition: u32,
    burst_shift: u32,
    /// The kernel has no `tso_segs` callback, so that bursts are those of its TSO autosizing.
    kernel_bursts: bool,
    mode: Mode,
    alpha_starts_at_one: bool,
}

impl Default for Law {
    fn default() -> Self {
        Self::of(Version::Current)
    }
}

impl Law {
    /// What the module of this version loads with. Sources: `docs/algorithms/prague.md`.
    const fn of(version: Version) -> Self {
        let (fallback, rtt_mode, target_ms, rtt_transition) = match version {
            Version::P2a => (Fallback::Respond, RttMode::Rate, 10, 100),
            Version::P2b => (Fallback::Respond, RttMode::None, 15, 100),
            Version::P2c => (Fallback::Off, RttMode::None, 15, 100),
            Version::P3 => (Fallback::Off, RttMode::Rate, 25, 500),
            _ => (Fallback::Off, RttMode::None, 25, 4),
        };
        Self {
            version,
            fallback,
            rtt_mode,
            rtt_target: Dur::from_millis(target_ms),
            rtt_transition,
            burst_shift: 12,
            kernel_bursts: false,
            mode: Mode::Switch,
            alpha_starts_at_one: false,
        }
    }
}

impl Params {
    fn law(&self) -> Law {
        let module = Law::of(self.version);
        Law {
            version: self.version,
            fallback: self.ecn_fallback.unwrap_or(module.fallback),
            rtt_mode: self.rtt_mode.unwrap_or(module.rtt_mode),
            rtt_target: self.rtt_target.unwrap_or(module.rtt_target),
            rtt_transition: self.rtt_transition.unwrap_or(module.rtt_transition),
            burst_shift: self.burst_shift.unwrap_or(module.burst_shift),
            kernel_bursts: self.bursts.unwrap_or(module.kernel_bursts),
            mode: self.cwnd_mode.unwrap_or(module.mode),
            alpha_starts_at_one: self.alpha_init.unwrap_or(module.alpha_starts_at_one),
        }
    }

    /// States what the version has.
    fn complete(&mut self, _: &Given) {
        use Version::{Current, P0, P1, P2a, P2b, P2c, P3};
        let law = self.law();
        let after_2019 = !matches!(law.version, P0 | P1);
        let of_2020 = matches!(law.version, P2a | P2b | P2c | P3);
        let current = law.version == Current;
        *self = Self {
            version: law.version,
            ecn_fallback: of_2020.then_some(law.fallback),
            rtt_mode: of_2020.then_some(law.rtt_mode),
            rtt_target: after_2019.then_some(law.rtt_target),
            rtt_transition: (of_2020 || current).then_some(law.rtt_transition),
            burst_shift: after_2019.then_some(law.burst_shift),
            bursts: current.then_some(law.kernel_bursts),
            cwnd_mode: current.then_some(law.mode),
            alpha_init: current.then_some(law.alpha_starts_at_one),
        };
    }

    fn version_has(&self, given: &Given) -> Result<(), String> {
        let has = written(self);
        let is_foreign = |p: &Parameter| given.has(p.name) && has.iter().all(|w| w.name != p.name);
        match table::<Self>().iter().find(|p| is_foreign(p)) {
            Some(p) => Err(format!("version {} has no `{}`", self.version.text(), p.name)),
            None => Ok(()),
        }
    }
}

impl Algorithm for Params {
    fn build(&self) -> Box<dyn Controller> {
        let law = self.law();
        match law.version {
            Version::P0 | Version::P1 => Box::new(or_reno(v2019::Prague::new(law))),
            Version::P2a | Version::P2b | Version::P2c | Version::P3 => {
                Box::new(or_reno(v2020::Prague::new(law)))
            }
            Version::Draft04 => Box::new(or_reno(draft::Prague::new(law))),
            Version::Current => Box::new(or_reno(current::Prague::new(law))),
        }
    }
}

/// No version takes less than AccECN.
fn or_reno<C>(inner: C) -> OrReno<C> {
    OrReno::new(inner, |feedback| feedback == Feedback::AccEcn)
}

/// What every version asks of its endpoint as long as the peer has AccECN.
const NEEDS: Needs = Needs {
    owns_cwnd: true,
    pacing: true,
    feedback: Some(Feedback::AccEcn),
    accecn_only: false,
    codepoint: Some(Ecn::Ect1),
    ect_on_control: true,
};

#[cfg(test)]
mod tests;
