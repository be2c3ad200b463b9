//! What the SCE team's queues have in common: words, shaper, admission, and COBALT2's parameters
//! for both classes. chromi/sce, trees of 2019 and 2020.

use super::cobalt2::{Law, Params};
use super::virtual_clock::{
    BANDWIDTH, CELLS, FRAME, Framing, MPU, OVERHEAD, UNLIMITED, VirtualClock,
};
use super::{Backlog, Env, Log, Reason};
use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::packet::Packet;
use sojourn_core::rng::Rng;
use sojourn_core::units::{Dur, Rate, Time};

/// The common words; `sce` is the default of SCE's interval.
pub(super) const fn params(sce: &'static str) -> [Param; 14] {
    let [rtt, target, divisor, switch, interval] = law_params(sce);
    [
        LIMIT,
        BANDWIDTH,
        UNLIMITED,
        rtt,
        target,
        divisor,
        switch,
        interval,
        FRAME,
        OVERHEAD,
        MPU,
        CELLS,
        Param {
            name: "law",
            value: "2019|2020|2022",
            default: "2020",
            doc: "Version of COBALT2; not a word of tc.",
        },
        UPTIME,
    ]
}

/// The words of COBALT2 itself.
pub(super) const fn law_params(sce: &'static str) -> [Param; 5] {
    [
        Param {
            name: "rtt",
            value: "TIME",
            default: "100ms",
            doc: "CE interval; BLUE acts above four times as much delay.",
        },
        Param { name: "target", value: "TIME", default: "5ms", doc: "CE target; SCE's is half." },
        Param {
            name: "sce-thresh",
            value: "NUMBER",
            default: sce,
            doc: "Marks SCE with the CE interval divided by this, 1 to 1024, as SCE interval.",
        },
        Param {
            name: "sce|no-sce",
            value: "",
            default: sce,
            doc: "`sce` is `sce-thresh 1`, `no-sce` marks none.",
        },
        Param {
            name: "sce-interval",
            value: "TIME",
            default: sce,
            doc: "SCE interval itself; not a word of tc.",
        },
    ]
}

/// The common words and one of the queue's own.
pub(super) const fn params_and(sce: &'static str, own: Param) -> [Param; 15] {
    let (mut all, common, mut i) = ([own; 15], params(sce), 0);
    while i < common.len() {
        all[i] = common[i];
        i += 1;
    }
    all
}

const UPTIME: Param = Param {
    name: "uptime",
    value: "TIME",
    default: "1000s",
    doc: "Age of the kernel when the run starts, seen by fresh state; not a word of tc.",
};
pub(super) const LIMIT: Param = Param {
    name: "limit",
    value: "PACKETS",
    default: "none",
    doc: "Packets that may wait; the kernel's 10240 is never enforced. Not a word of tc.",
};

/// Buckets of the flow hash.
pub(super) const FLOWS: usize = 1 << 16;

/// The flow of a packet.
#[inline]
pub(super) const fn flow_of(pkt: &Packet) -> usize {
    pkt.hash as usize % FLOWS
}

/// Whether the packet asks for the low-latency class: DSCP 4.
#[inline]
pub(super) const fn is_low_latency(pkt: &Packet) -> bool {
    pkt.tos >> 2 == 4
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Settings {
    limit: Option<u32>,
    rate: Rate,
    framing: Framing,
    cobalt: Params,
    uptime: Dur,
}

/// Whole microseconds, as tc hands times to the kernel.
const fn micros(d: Dur) -> Dur {
    Dur::from_micros(d.as_micros())
}

/// Shaper, admission and parameters of one queue.
#[derive(Debug)]
pub(super) struct Shell {
    settings: Settings,
    /// Parameters of the low-latency class.
    pub(super) low: Params,
    pub(super) clock: VirtualClock,
    pub(super) backlog: Backlog,
    pub(super) rng: Rng,
}

impl Shell {
    pub(super) fn parse(
        sce_interval: Dur,
        args: &mut Args<'_>,
        env: Env,
        extra: impl FnMut(&str, &mut Args<'_>) -> Result<bool, GrammarError>,
    ) -> Result<Self, GrammarError> {
        let settings = Settings {
            limit: None,
            rate: Rate(0),
            framing: Framing::default(),
            cobalt: Params::new(Law::V2020, sce_interval),
            uptime: Dur::from_secs(1000),
        }
        .read(args, extra)?;
        Ok(Self {
            settings,
            low: settings.cobalt.fifth(),
            clock: VirtualClock::new(settings.rate, settings.framing),
            backlog: Backlog::default(),
            rng: env.rng,
        })
    }

    pub(super) fn change(
        &mut self,
        args: &mut Args<'_>,
        extra: impl FnMut(&str, &mut Args<'_>) -> Result<bool, GrammarError>,
    ) -> Result<(), GrammarError> {
        let settings = self.settings.read(args, extra)?;
        if settings.uptime != self.settings.uptime {
            return Err(args.invalid("`uptime` is fixed at creation; use replace"));
        }
        self.settings = settings;
        self.low = settings.cobalt.fifth();
        self.clock.set(settings.rate, settings.framing);
        Ok(())
    }

    /// The common words after the queue's name.
    pub(super) fn describe(&self) -> String {
        self.settings.describe()
    }

    /// Parameters of the ordinary class.
    #[inline]
    pub(super) const fn params(&self) -> &Params {
        &self.settings.cobalt
    }

    /// Nanoseconds since the kernel's start.
    #[inline]
    pub(super) const fn kernel_time(&self, now: Time) -> u64 {
        now.0.wrapping_add(self.settings.uptime.0)
    }

    /// Takes account of an arrival; false if it was dropped at the limit.
    #[inline]
    pub(super) fn admit(&mut self, now: Time, pkt: &mut Packet, log: &mut Log) -> bool {
        if self.settings.limit.is_some_and(|limit| self.backlog.packets >= limit) {
            log.drop(pkt, Reason::TailLimit);
            return false;
        }
        if self.backlog.bytes == 0 {
            self.clock.restart(now);
        }
        pkt.stamp = now;
        self.backlog.add(pkt);
        true
    }
}

impl Settings {
    fn read(
        mut self,
        args: &mut Args<'_>,
        mut extra: impl FnMut(&str, &mut Args<'_>) -> Result<bool, GrammarError>,
    ) -> Result<Self, GrammarError> {
        let (mut sum, mut law) = (0, LawWords::default());
        while let Some(key) = args.key() {
            match key {
                "limit" => self.limit = Some(args.number(1..=u64::from(u32::MAX))? as u32),
                "bandwidth" => self.rate = args.rate()?,
                "unlimited" => self.rate = Rate(0),
                "law" => self.cobalt.law = Law::from_index(args.choice(&Law::WORDS)?),
                "uptime" => self.uptime = args.time()?,
                _ if law.read(&mut self.cobalt, key, args)?
                    || self.framing.read(&mut sum, key, args)?
                    || extra(key, args)? => {}
                _ => return Err(args.unknown()),
            }
        }
        law.apply(&mut self.cobalt);
        Ok(self)
    }

    fn describe(&self) -> String {
        let mut text = String::new();
        if let Some(limit) = self.limit {
            text += &format!("limit {limit}p ");
        }
        text += &match self.rate {
            Rate(0) => "unlimited".into(),
            rate => format!("bandwidth {rate}"),
        };
        let (law, version) = (describe_law(&self.cobalt), Law::WORDS[self.cobalt.law as usize]);
        text += &format!(" {law} {} law {version}", self.framing.describe());
        text + &format!(" uptime {}", self.uptime)
    }
}

/// Reads the words of [`law_params`].
#[derive(Debug, Default)]
pub(super) struct LawWords {
    divisor: Option<u64>,
}

impl LawWords {
    /// Reads one word; false if it is none of these.
    pub(super) fn read(
        &mut self,
        p: &mut Params,
        key: &str,
        args: &mut Args<'_>,
    ) -> Result<bool, GrammarError> {
        match key {
            "rtt" => p.set_rtt(micros(args.time()?)),
            "target" => p.set_target(micros(args.time()?)),
            "sce-thresh" => self.divisor = Some(args.number(1..=1024)?),
            "sce" => self.divisor = Some(1),
            "no-sce" => self.divisor = Some(0),
            "sce-interval" => (p.sce_interval, self.divisor) = (args.time()?.0, None),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Whatever the order of the words, the round-trip time comes first.
    pub(super) fn apply(self, p: &mut Params) {
        if let Some(divisor) = self.divisor {
            p.sce_interval = p.ce_interval.checked_div(divisor).map_or(0, |ns| ns.max(1));
        }
    }
}

/// The words of [`law_params`] that give `p`.
pub(super) fn describe_law(p: &Params) -> String {
    let Params { ce_interval, ce_target, sce_interval, .. } = *p;
    let divisor = ce_interval.checked_div(sce_interval).unwrap_or(0);
    let sce = if sce_interval == 0 {
        "no-sce".into()
    } else if (1..=1024).contains(&divisor) && ce_interval / divisor == sce_interval {
        format!("sce-thresh {divisor}")
    } else {
        format!("sce-interval {}", Dur(sce_interval))
    };
    format!("rtt {} target {} {sce}", Dur(ce_interval), Dur(ce_target))
}
