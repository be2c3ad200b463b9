//! The words of `dualpi2`.

use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::units::{Bytes, Dur};

pub(super) const PARAMS: &[Param] = &[
    Param { name: "limit", value: "PACKETS", default: "10000p", doc: "Packets in both queues." },
    Param {
        name: "memlimit",
        value: "BYTES",
        default: "limit of 3028b each",
        doc: "Memory of both queues, as the kernel's truesize counts them; version mainline only.",
    },
    Param {
        name: "coupling_factor",
        value: "NUMBER",
        default: "2",
        doc: "Ratio of the coupled L4S probability to the controller's, 1 to 255.",
    },
    Param {
        name: "step_thresh",
        value: "TIME|PACKETS",
        default: "1ms",
        doc: "L4S packets are marked above it: sojourn (a bare number is microseconds), or `5p`.",
    },
    Param {
        name: "min_qlen_step",
        value: "PACKETS",
        default: "0p",
        doc: "Step only packets that found this many in the L4S queue; version mainline only.",
    },
    Param {
        name: "drop_on_overload|overflow",
        value: "",
        default: "drop_on_overload",
        doc: "On overload drop L4S packets too, or let both queues fill to the limit.",
    },
    Param {
        name: "drop_enqueue|drop_dequeue",
        value: "",
        default: "drop_dequeue",
        doc: "Where the controller signals.",
    },
    Param {
        name: "l4s_ect|any_ect",
        value: "",
        default: "l4s_ect",
        doc: "Who enters the L4S queue: ECT(1) and CE, or every ECN-capable packet.",
    },
    Param {
        name: "classic_protection",
        value: "PERCENT",
        default: "10%",
        doc: "Share of the classic queue when both are backlogged.",
    },
    Param {
        name: "max_rtt",
        value: "TIME",
        default: "6 * typical_rtt",
        doc: "Derives target, tupdate, alpha and beta from the longest round-trip time.",
    },
    Param {
        name: "typical_rtt",
        value: "TIME",
        default: "max_rtt / 6",
        doc: "Derives target, tupdate, alpha and beta from the usual round-trip time.",
    },
    Param { name: "target", value: "TIME", default: "15ms", doc: "Delay aimed at." },
    Param { name: "tupdate", value: "TIME", default: "16ms", doc: "Period of the controller." },
    Param {
        name: "alpha",
        value: "HZ",
        default: "0.16015625",
        doc: "Integral gain; tc truncates it to 1/256.",
    },
    Param {
        name: "beta",
        value: "HZ",
        default: "3.19921875",
        doc: "Proportional gain; tc truncates it to 1/256.",
    },
    Param {
        name: "split_gso|no_split_gso",
        value: "",
        default: "split_gso",
        doc: "Super-packets (`tcp.gso`) are queued segment by segment, or as one packet as all are in versions 2019 and 2020 by default.",
    },
    Param {
        name: "version",
        value: "2019|2020|l4steam|mainline",
        default: "mainline",
        doc: "Linux 6.17 (July 2025), or L4STeam in 2019, on 1 March 2020 or at e1ec6e7; not a word of tc.",
    },
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// L4STeam's tree of 2019: a timer in jiffies, half the gains.
    Y2019,
    /// L4STeam's tag testing/01-03-2020.
    Y2020,
    /// L4STeam's tree at e1ec6e7.
    L4steam,
    Mainline,
}

impl Version {
    const NAMES: [&str; 4] = ["2019", "2020", "l4steam", "mainline"];
    const ALL: [Self; 4] = [Self::Y2019, Self::Y2020, Self::L4steam, Self::Mainline];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Time(Dur),
    Packets(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Params {
    pub(super) version: Version,
    pub(super) limit: u32,
    memlimit: Option<u64>,
    pub(super) coupling: u8,
    pub(super) step: Step,
    pub(super) min_qlen_step: u32,
    pub(super) drop_on_overload: bool,
    pub(super) drop_enqueue: bool,
    pub(super) ecn_mask: u8,
    pub(super) protection: u8,
    pub(super) target: Dur,
    pub(super) tupdate: Dur,
    /// In 1/256 Hz.
    pub(super) alpha: u32,
    pub(super) beta: u32,
    pub(super) split_gso: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            version: Version::Mainline,
            limit: 10_000,
            memlimit: None,
            coupling: 2,
            step: Step::Time(Dur::from_millis(1)),
            min_qlen_step: 0,
            drop_on_overload: true,
            drop_enqueue: false,
            ecn_mask: 1,
            protection: 10,
            target: Dur::from_millis(15),
            tupdate: Dur::from_millis(16),
            alpha: 41,
            beta: 819,
            split_gso: true,
        }
    }
}

impl Params {
    pub(super) fn read(mut self, args: &mut Args<'_>) -> Result<Self, GrammarError> {
        let most = u64::from(u32::MAX);
        let (mut split, mut max_rtt, mut typical_rtt) = (None, None, None);
        let (mut target, mut tupdate, mut alpha, mut beta) = (None, None, None, None);
        while let Some(key) = args.key() {
            match key {
                "limit" => self.limit = args.number(1..=most)? as u32,
                "memlimit" => self.memlimit = Some(args.size()?.0),
                "coupling_factor" => self.coupling = args.number(1..=255)? as u8,
                "step_thresh" => self.step = read_step(args)?,
                "min_qlen_step" => self.min_qlen_step = args.number(0..=most)? as u32,
                "drop_on_overload" => self.drop_on_overload = true,
                "overflow" => self.drop_on_overload = false,
                "drop_enqueue" => self.drop_enqueue = true,
                "drop_dequeue" => self.drop_enqueue = false,
                "l4s_ect" => self.ecn_mask = 1,
                "any_ect" => self.ecn_mask = 3,
                "classic_protection" => {
                    self.protection = args.value("a percentage from 0% to 100%", |w| {
                        w.strip_suffix('%').unwrap_or(w).parse().ok().filter(|n| *n <= 100)
                    })?;
                }
                "max_rtt" => max_rtt = Some(read_period(args)?),
                "typical_rtt" => typical_rtt = Some(read_period(args)?),
                "target" => target = Some(args.time()?),
                "tupdate" => tupdate = Some(read_period(args)?),
                "alpha" => alpha = Some(read_gain(args)?),
                "beta" => beta = Some(read_gain(args)?),
                "split_gso" => split = Some(true),
                "no_split_gso" => split = Some(false),
                "version" => {
                    self.version = Version::ALL[args.choice(&Version::NAMES)?];
                    self.split_gso = matches!(self.version, Version::L4steam | Version::Mainline);
                }
                _ => return Err(args.unknown()),
            }
        }
        if self.version != Version::Mainline && (self.memlimit.is_some() || self.min_qlen_step != 0)
        {
            return Err(args.invalid("`memlimit` and `min_qlen_step` need `version mainline`"));
        }
        if max_rtt.is_some() || typical_rtt.is_some() {
            self.derive(max_rtt, typical_rtt);
        }
        self.split_gso = split.unwrap_or(self.split_gso);
        self.target = target.unwrap_or(self.target);
        self.tupdate = tupdate.unwrap_or(self.tupdate);
        self.alpha = alpha.unwrap_or(self.alpha);
        self.beta = beta.unwrap_or(self.beta);
        Ok(self)
    }

    /// tc's derivation, in whole microseconds. RFC 9332 A.1.
    fn derive(&mut self, max_rtt: Option<Dur>, typical_rtt: Option<Dur>) {
        let us = |d: Dur| Dur::from_micros(d.as_micros());
        let typical = typical_rtt.or_else(|| max_rtt.map(|m| us(m / 6))).unwrap_or(self.target);
        let max = max_rtt.unwrap_or(typical * 6);
        self.target = typical;
        self.tupdate = typical.min(us(max / 3)).max(Dur::from_micros(1));
        // In microseconds: 0.3 / 0.1 is below 3 in binary, and to_gain truncates.
        let rtt = max.as_micros() as f64;
        self.alpha = to_gain(0.1e6 * self.tupdate.as_micros() as f64 / (rtt * rtt));
        self.beta = to_gain(0.3e6 / rtt);
    }

    /// Bytes of memory; by default as much as `limit` packets of `per_packet` bytes.
    pub(super) fn memory_limit(&self, per_packet: u64) -> u64 {
        match (self.version, self.memlimit) {
            (Version::Mainline, Some(limit)) => limit,
            (Version::Mainline, None) => u64::from(self.limit) * per_packet,
            _ => u64::MAX,
        }
    }

    pub(super) fn describe(&self) -> String {
        let pick = |first: bool, a: &'static str, b: &'static str| if first { a } else { b };
        let mut text = format!("limit {}p", self.limit);
        if let Some(limit) = self.memlimit {
            text += &format!(" memlimit {}", Bytes(limit));
        }
        text += &format!(" coupling_factor {}", self.coupling);
        text += &match self.step {
            Step::Time(threshold) => format!(" step_thresh {threshold}"),
            Step::Packets(threshold) => format!(" step_thresh {threshold}p"),
        };
        if self.version == Version::Mainline {
            text += &format!(" min_qlen_step {}p", self.min_qlen_step);
        }
        text += &format!(
            " {} {} {} classic_protection {}%",
            pick(self.drop_on_overload, "drop_on_overload", "overflow"),
            pick(self.drop_enqueue, "drop_enqueue", "drop_dequeue"),
            pick(self.ecn_mask == 1, "l4s_ect", "any_ect"),
            self.protection,
        );
        let hz = |gain: u32| f64::from(gain) / 256.0;
        text += &format!(" target {} tupdate {}", self.target, self.tupdate);
        text += &format!(" alpha {} beta {}", hz(self.alpha), hz(self.beta));
        text += pick(self.split_gso, " split_gso", " no_split_gso");
        text + " version " + Version::NAMES[self.version as usize]
    }
}

fn read_step(args: &mut Args<'_>) -> Result<Step, GrammarError> {
    args.value("a time such as `1ms` or packets such as `5p`", |w| {
        match w.strip_suffix("pkt").or_else(|| w.strip_suffix('p')) {
            Some(packets) => packets.parse().ok().map(Step::Packets),
            None => Dur::parse_tc(w).map(Step::Time),
        }
    })
}

/// A time that something is divided by.
fn read_period(args: &mut Args<'_>) -> Result<Dur, GrammarError> {
    args.value("a time of at least 1us", |w| Dur::parse_tc(w).filter(|d| *d >= Dur::from_micros(1)))
}

fn read_gain(args: &mut Args<'_>) -> Result<u32, GrammarError> {
    Ok(to_gain(args.decimal(0.0..=16_777_215.0)?))
}

/// tc truncates, so that its `alpha 0.16` is 40/256 although the kernel's default is 41/256.
fn to_gain(hz: f64) -> u32 {
    (hz * 256.0) as u32
}
