//! TCP Prague, each published generation under its own law. This file holds the words and picks
//! the law; [`v2019`], [`v2020`], [`draft`] and [`current`] are one controller each. Facts: `cc.md` 3.5.

mod current;
mod draft;
mod v2019;
mod v2020;

use super::{Feedback, Needs};
use crate::legacy::OldEntry;
use sojourn_core::ecn::Ecn;
use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::units::Dur;

pub(super) const ENTRY: OldEntry = OldEntry {
    name: "prague",
    summary: "Cuts by half the marked share per round trip; the L4S controller for TCP.",
    reference: "draft-briscoe-iccrg-prague-congestion-control-04; L4STeam/linux tcp_prague.c of \
                2019 (p0, p1), e741f5ac (p2a), 0e7cf8ac (p2b), b256daed (p2c), 0.6 (p3) and 893e1479 (current); \
                fallback: arXiv 1911.00710",
    params: PARAMS,
    build: |args| {
        Ok(match parse(args)? {
            Variant::V2019(version) => Box::new(v2019::Prague::new(version)),
            Variant::V2020(params) => Box::new(v2020::Prague::new(params)),
            Variant::Draft(params) => Box::new(draft::Prague::new(params)),
            Variant::Current(params) => Box::new(current::Prague::new(params)),
        })
    },
};

const PARAMS: &[Param] = &[
    Param {
        name: "version",
        value: "p0|p1|p2a|p2b|p2c|p3|draft04|current",
        default: "current",
        doc: "p0: mid-2019; p1: 5 November 2019; p2a: 8 April 2020, ignores losses in slow start; \
              p2b: 24 April 2020, fixed; p2c: 4 August 2020; p3: module 0.6, 2021 and 2022; draft04: the \
              draft of 24 July 2024; current: module 0.7, 2024.",
    },
    Param {
        name: "ecn_fallback",
        value: "0|1|2",
        default: "1, p2c and p3: 0",
        doc: "Classic ECN queue: 0 do not look, 1 detect and respond, 2 detect only (p2a to p3).",
    },
    Param {
        name: "rtt_mode",
        value: "none|rate|scalable|additive",
        default: "none, p2a and p3: rate",
        doc: "How growth depends on the RTT below rtt_target (p2a to p3).",
    },
    Param {
        name: "rtt_target",
        value: "TIME",
        default: "25ms, p2a: 10ms, p2b and p2c: 15ms",
        doc: "RTT whose dynamics shorter paths imitate (p2a and later).",
    },
    Param {
        name: "rtt_transition",
        value: "ROUNDS",
        default: "4, p2a to p2c: 100, p3: 500",
        doc: "Round trips after slow start before rtt_target acts (p2a to p3, current).",
    },
    Param {
        name: "burst_shift",
        value: "NUMBER",
        default: "12",
        doc: "Bursts last 2^-N seconds at the pacing rate (p2a and later).",
    },
    Param {
        name: "bursts",
        value: "module|kernel",
        default: "module",
        doc: "Whose size bursts have: the module's, by burst_shift, or TSO autosizing's, as in mainline \
              kernels, which ask no module (current).",
    },
    Param {
        name: "cwnd_mode",
        value: "window|rate|switch",
        default: "switch",
        doc: "What grows and is cut: the window, the rate, or the rate up to a cwnd of 6000 bytes \
              (current).",
    },
    Param {
        name: "alpha_init",
        value: "0|1",
        default: "0",
        doc: "First alpha: 0 with a halving at the first mark, or 1 (current).",
    },
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    P0,
    P1,
    P2a,
    P2b,
    P2c,
    P3,
    Draft04,
    Current,
}

impl Version {
    const WORDS: [&'static str; 8] = ["p0", "p1", "p2a", "p2b", "p2c", "p3", "draft04", "current"];
    const ALL: [Self; 8] = [
        Self::P0,
        Self::P1,
        Self::P2a,
        Self::P2b,
        Self::P2c,
        Self::P3,
        Self::Draft04,
        Self::Current,
    ];

    /// A module of 2020 or 0.6.
    fn is_2020(self) -> bool {
        matches!(self, Self::P2a | Self::P2b | Self::P2c | Self::P3)
    }

    fn word(self) -> &'static str {
        Self::WORDS[self as usize]
    }

    /// Whether a parameter exists in this version.
    fn takes(self, key: &str) -> bool {
        match key {
            "ecn_fallback" | "rtt_mode" => self.is_2020(),
            "rtt_transition" => self.is_2020() || self == Self::Current,
            "rtt_target" | "burst_shift" => !matches!(self, Self::P0 | Self::P1),
            "cwnd_mode" | "alpha_init" | "bursts" => self == Self::Current,
            _ => true,
        }
    }
}

/// A version with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Variant {
    V2019(Version),
    V2020(v2020::Params),
    Draft(draft::Params),
    Current(current::Params),
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

/// Defaults depend on the version, which may stand anywhere: words first, then the law.
fn parse(args: &mut Args<'_>) -> Result<Variant, GrammarError> {
    let mut version = Version::Current;
    let (mut fallback, mut rtt_mode, mut rtt_target) = (None, None, None);
    let (mut rtt_transition, mut burst_shift) = (None, None);
    let (mut cwnd_mode, mut alpha_init, mut kernel_bursts) = (None, None, None);
    let mut keys = Vec::new();
    while let Some(key) = args.key() {
        match key {
            "version" => version = Version::ALL[args.choice(&Version::WORDS)?],
            "ecn_fallback" => {
                use v2020::Fallback::{DetectOnly, Off, Respond};
                fallback = Some([Off, Respond, DetectOnly][args.number(0..=2)? as usize]);
            }
            "rtt_mode" => {
                use v2020::RttMode::{Additive, None, Rate, Scalable};
                let modes = [None, Rate, Scalable, Additive];
                rtt_mode = Some(modes[args.choice(&v2020::RTT_MODES)?]);
            }
            "rtt_target" => {
                // At least one unit of the kernel's RTT clock.
                rtt_target = Some(args.value("a time from 128us to 10s", |word| {
                    let range = Dur::from_micros(128)..=Dur::from_secs(10);
                    Dur::parse_tc(word).filter(|time| range.contains(time))
                })?);
            }
            "rtt_transition" => {
                rtt_transition = Some(args.number(0..=u64::from(u32::MAX))? as u32);
            }
            "burst_shift" => burst_shift = Some(args.number(0..=31)? as u32),
            "cwnd_mode" => {
                use current::Mode::{Rate, Switch, Window};
                cwnd_mode = Some([Window, Rate, Switch][args.choice(&current::MODES)?]);
            }
            "bursts" => kernel_bursts = Some(args.choice(&current::BURSTS)? == 1),
            "alpha_init" => alpha_init = Some(args.number(0..=1)? == 1),
            _ => return Err(args.unknown()),
        }
        keys.push(key);
    }
    if let Some(key) = keys.into_iter().find(|key| !version.takes(key)) {
        return Err(args.invalid(format_args!("version {} has no `{key}`", version.word())));
    }
    Ok(match version {
        Version::P0 | Version::P1 => Variant::V2019(version),
        Version::P2a | Version::P2b | Version::P2c | Version::P3 => {
            let default = v2020::Params::default_of(version);
            Variant::V2020(v2020::Params {
                version,
                fallback: fallback.unwrap_or(default.fallback),
                rtt_mode: rtt_mode.unwrap_or(default.rtt_mode),
                rtt_target: rtt_target.unwrap_or(default.rtt_target),
                rtt_transition: rtt_transition.unwrap_or(default.rtt_transition),
                burst_shift: burst_shift.unwrap_or(default.burst_shift),
            })
        }
        Version::Draft04 => {
            let default = draft::Params::DEFAULT;
            Variant::Draft(draft::Params {
                rtt_target: rtt_target.unwrap_or(default.rtt_target),
                burst_shift: burst_shift.unwrap_or(default.burst_shift),
            })
        }
        Version::Current => {
            let default = current::Params::DEFAULT;
            Variant::Current(current::Params {
                mode: cwnd_mode.unwrap_or(default.mode),
                alpha_starts_at_one: alpha_init.unwrap_or(default.alpha_starts_at_one),
                rtt_target: rtt_target.unwrap_or(default.rtt_target),
                rtt_transition: rtt_transition.unwrap_or(default.rtt_transition),
                burst_shift: burst_shift.unwrap_or(default.burst_shift),
                kernel_bursts: kernel_bursts.unwrap_or(default.kernel_bursts),
            })
        }
    })
}

#[cfg(test)]
fn parsed(words: &str) -> Result<Variant, GrammarError> {
    parse(&mut Args::new("prague", PARAMS, words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_those_of_the_version_wherever_its_word_stands() {
        for version in Version::ALL {
            let expected = match version {
                Version::P0 | Version::P1 => Variant::V2019(version),
                Version::P2a | Version::P2b | Version::P2c | Version::P3 => {
                    Variant::V2020(v2020::Params::default_of(version))
                }
                Version::Draft04 => Variant::Draft(draft::Params::DEFAULT),
                Version::Current => Variant::Current(current::Params::DEFAULT),
            };
            assert_eq!(parsed(&format!("version {}", version.word())), Ok(expected));
        }
        assert_eq!(parsed(""), parsed("version current"));
        assert_eq!(parsed("ecn_fallback 1 version p3"), parsed("version p3 ecn_fallback 1"),);
    }

    #[test]
    fn a_parameter_of_another_version_is_refused() {
        for (words, error) in [
            ("rtt_mode none", "prague: version current has no `rtt_mode`"),
            ("version p1 burst_shift 11", "prague: version p1 has no `burst_shift`"),
            ("cwnd_mode rate version p2b", "prague: version p2b has no `cwnd_mode`"),
            ("version draft04 alpha_init 1", "prague: version draft04 has no `alpha_init`"),
        ] {
            assert_eq!(parsed(words).unwrap_err().0, error);
        }
    }
}
