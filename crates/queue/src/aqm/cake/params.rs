//! CAKE's parameters.

use super::ack::AckFilter;
use super::hosts::FlowMode;
use super::priority::TinMode;
use super::sce;
use crate::aqm::PSCHED_MTU;
use crate::aqm::framing::Framing;
use sojourn_core::grammar::forms::{Form, custom, keywords, spelled};
use sojourn_core::grammar::{Args, Given, GrammarError};
use sojourn_core::units::{Bytes, Dur, Rate};
use sojourn_core::{choices, parameters};

parameters! {
    /// Parameters of `cake`.
    #[derive(Copy, PartialEq)]
    pub(crate) struct Params {
        /// Rate of the shaper.
        pub(super) bandwidth: Bandwidth = Bandwidth::UNLIMITED => bandwidth();
        /// Round-trip time to expect: COBALT's interval, and twenty times its target.
        pub(super) rtt: Dur = Dur::from_millis(100) => rtt();
        /// Priority tins by DSCP: 1, 8, 8, 4 or 3.
        pub(super) tins: TinMode = TinMode::Diffserv3 => keywords();
        /// What shares a queue, and for the last three what shares a turn.
        pub(super) flows: FlowMode = FlowMode::TripleIsolate => keywords();
        /// Accepted; no address is translated here.
        nat: bool = false, name "nat|nonat";
        /// Clear the DSCP after classification.
        pub(super) wash: bool = false, name "wash|nowash";
        /// Super-packets (`tcp.gso`) are queued segment by segment, or as one packet.
        pub(super) split_gso: bool = true, name "split-gso|no-split-gso";
        /// Discard acknowledgements that a later one in the queue makes superfluous.
        pub(super) ack_filter: AckFilter = AckFilter::Off => keywords();
        /// Memory of all packets, by the model of `psched::truesize`; 0 follows from the rate.
        memlimit: u32 = 0 => custom("SIZE", read_memory, |bytes| Bytes((*bytes).into()).to_string());
        /// Accepted; packets carry no firewall mark here.
        fwmark: u32 = 0 => custom("MASK", read_mask, |mask| format!("{mask:#x}"));
        /// Whether dropped packets are charged too.
        pub(super) ingress: bool = false, name "ingress|egress";
        /// SCE marking with the reciprocal of this, 1 to 1024, as probability at the target.
        pub(super) sce: u16 = 0 => spelled("NUMBER", read_divisor, |name, sce| write_sce(name, *sce)),
            name "sce-thresh";
        /// Linux 6.12, or the SCE tree of 2019: Newton's square roots, lower effort in the best effort
        /// tin, ESCE known to the ACK filter.
        pub(super) version: Version = Version::Mainline, tc false;
        /// Whether the first episode of a queue waits no interval, as in Linux, or one.
        pub(super) fresh_root: FreshRoot = FreshRoot::Zero, name "fresh-root", tc false;
    }
    groups { pub(super) link: Framing = Framing::default(); }
    also {
        /// No shaper.
        "unlimited" => |p, _, _| {
            p.bandwidth = Bandwidth::UNLIMITED;
            Ok(())
        };
        /// Shape to 15/16 of the estimated rate of arrivals; after `bandwidth`, which ends it.
        "autorate-ingress" => |p, _, _| {
            p.bandwidth.is_auto = true;
            Ok(())
        };
        /// `rtt` of 100us, 1ms, 10ms, 30ms, 100ms, 300ms, 1s or 1000s.
        "datacentre|lan|metro|regional|internet|oceanic|satellite|interplanetary" => |p, key, _| {
            p.rtt = RTTS.iter().find(|(name, _)| *name == key).map_or(p.rtt, |(_, rtt)| *rtt);
            Ok(())
        };
        /// Another name for `diffserv4`.
        "diffserv" => |p, _, _| {
            p.tins = TinMode::Diffserv4;
            Ok(())
        };
        /// SCE marking on a ramp that is certain at the target, none, or one from the target to twice
        /// the target. Other than none it selects `version chromi`.
        "sce|no-sce|sce-single" => |p, key, _| {
            p.sce = match key {
                "sce" => 1,
                "no-sce" => 0,
                _ => sce::SINGLE,
            };
            Ok(())
        };
    }
    derive choose_version;
}

choices! {
    /// Whose CAKE, where trees differ.
    pub(super) enum Version {
        Mainline = "mainline",
        Chromi = "chromi",
    }
}

choices! {
    /// COBALT's reciprocal square root in a queue never used.
    pub(super) enum FreshRoot {
        Zero = "0",
        Max = "max",
    }
}

impl FreshRoot {
    pub(super) const fn root(self) -> u32 {
        match self {
            Self::Zero => 0,
            Self::Max => u32::MAX,
        }
    }
}

/// What the shaper lets through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bandwidth {
    /// Whole bytes per second; zero is unlimited.
    pub(super) rate: Rate,
    /// Whether the rate follows the arrivals.
    pub(super) is_auto: bool,
}

impl Bandwidth {
    const UNLIMITED: Self = Self { rate: Rate(0), is_auto: false };

    pub(super) const fn of(rate: Rate) -> Self {
        Self { rate: Rate(rate.bytes_per_sec() * 8), is_auto: false }
    }
}

fn bandwidth() -> impl Form<Bandwidth> {
    let read = |args: &mut Args<'_>| args.rate().map(Bandwidth::of);
    spelled("RATE", read, |name, &Bandwidth { rate, is_auto }| {
        let rate = match rate {
            Rate(0) => "unlimited".to_owned(),
            rate => format!("{name} {rate}"),
        };
        if is_auto { rate + " autorate-ingress" } else { rate }
    })
}

fn rtt() -> impl Form<Dur> {
    let read = |args: &mut Args<'_>| {
        args.value("a time such as `100ms`, up to 4294s", |word| {
            let micros = Dur::parse_tc(word)?.as_micros();
            (micros <= u32::MAX.into()).then_some(Dur::from_micros(micros))
        })
    };
    custom("TIME", read, Dur::to_string)
}

const RTTS: [(&str, Dur); 8] = [
    ("datacentre", Dur::from_micros(100)),
    ("lan", Dur::from_millis(1)),
    ("metro", Dur::from_millis(10)),
    ("regional", Dur::from_millis(30)),
    ("internet", Dur::from_millis(100)),
    ("oceanic", Dur::from_millis(300)),
    ("satellite", Dur::from_secs(1)),
    ("interplanetary", Dur::from_secs(1000)),
];

fn read_memory(args: &mut Args<'_>) -> Result<u32, GrammarError> {
    args.value("a size up to 4Gb", |word| u32::try_from(Bytes::parse_tc(word)?.0).ok())
}

fn read_mask(args: &mut Args<'_>) -> Result<u32, GrammarError> {
    args.value("a mask such as `0xff`", |word| match word.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => word.parse().ok(),
    })
}

fn read_divisor(args: &mut Args<'_>) -> Result<u16, GrammarError> {
    Ok(args.number(1..=1024)? as u16)
}

fn write_sce(name: &'static str, sce: u16) -> String {
    match sce {
        0 => "no-sce".to_owned(),
        1 => "sce".to_owned(),
        sce::SINGLE => "sce-single".to_owned(),
        divisor => format!("{name} {divisor}"),
    }
}

impl Params {
    fn choose_version(&mut self, given: &Given) {
        let is_stated = given.has("sce-thresh") || given.has("sce|no-sce|sce-single");
        if is_stated && self.sce != 0 && !given.has("version") {
            self.version = Version::Chromi;
        }
    }

    pub(super) const fn bytes_per_sec(&self) -> u64 {
        self.bandwidth.rate.bytes_per_sec()
    }

    /// COBALT's target before the rate is considered.
    pub(super) fn target(&self) -> Dur {
        Dur::from_micros((self.rtt.as_micros() / 20).max(1))
    }

    /// Memory that may be used.
    pub(super) fn memory_limit(&self) -> u64 {
        let configured = u64::from(self.memlimit);
        let wanted = match (configured, self.bytes_per_sec()) {
            (0, 0) => u64::from(u32::MAX),
            (0, rate) => {
                let quarter_rtts = u128::from(rate) * u128::from(self.rtt.as_micros()) / 250_000;
                quarter_rtts.clamp(4 << 20, u128::from(u32::MAX)) as u64
            }
            (configured, _) => configured,
        };
        wanted.min((10240 * u64::from(PSCHED_MTU)).max(configured))
    }
}
