//! The words of `dualq`: `dualpi2_params_init` of RFC 9332 A.1.

use super::super::dual_queue::{self, Room, Scheduler};
use super::super::recur::{self, Signal};
use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::units::Dur;

pub(super) const PARAMS: &[Param] = &[
    dual_queue::LIMIT,
    dual_queue::RATE,
    Param { name: "target", value: "TIME", default: "15ms", doc: "Delay aimed at." },
    Param {
        name: "max_rtt",
        value: "TIME",
        default: "100ms",
        doc: "Longest usual round-trip time, from which period and gains follow.",
    },
    Param {
        name: "tupdate",
        value: "TIME",
        default: "min(target, max_rtt / 3), at least 1ms",
        doc: "Period of the controller.",
    },
    Param {
        name: "alpha",
        value: "HZ",
        default: "0.1 * tupdate / max_rtt^2",
        doc: "Integral gain per update: 0.15 with the other defaults.",
    },
    Param {
        name: "beta",
        value: "HZ",
        default: "0.3 / max_rtt",
        doc: "Proportional gain per update: 3 with the other defaults.",
    },
    Param {
        name: "coupling_factor",
        value: "NUMBER",
        default: "2",
        doc: "k, the ratio of the coupled L4S probability to the controller's, 1 to 255.",
    },
    Param {
        name: "l_aqm",
        value: "ramp|step",
        default: "ramp",
        doc: "The L4S queue's own law: a ramp from min_th, or a step above step_thresh.",
    },
    Param {
        name: "min_th",
        value: "TIME",
        default: "800us",
        doc: "Sojourn where the ramp starts.",
    },
    Param { name: "range", value: "TIME", default: "400us", doc: "Length of the ramp." },
    Param {
        name: "step_thresh",
        value: "TIME",
        default: "1ms",
        doc: "Sojourn above which the step marks.",
    },
    Param {
        name: "th_len",
        value: "PACKETS",
        default: "1p",
        doc: "Packets in the L4S queue, the leaving one included, that its own law spares.",
    },
    Param {
        name: "p_lmax",
        value: "FRACTION",
        default: "1",
        doc: "Coupled probability from which the overload rules hold.",
    },
    Param {
        name: "p_cmax",
        value: "FRACTION",
        default: "1 / coupling_factor^2",
        doc: "Classic probability from which ECN-capable packets are dropped too.",
    },
    recur::SIGNAL,
    dual_queue::scheduler_param("wrr"),
    dual_queue::CLASSIC_WEIGHT,
    dual_queue::TSHIFT,
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LaqmKind {
    Ramp,
    Step,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Params {
    pub(super) room: Room,
    pub(super) target: Dur,
    max_rtt: Dur,
    tupdate: Option<Dur>,
    alpha: Option<f64>,
    beta: Option<f64>,
    /// 1 to 255, whole.
    pub(super) coupling: f64,
    pub(super) l_aqm: LaqmKind,
    pub(super) min_th: Dur,
    pub(super) range: Dur,
    pub(super) step_thresh: Dur,
    pub(super) th_len: u32,
    pub(super) p_lmax: f64,
    p_cmax: Option<f64>,
    pub(super) signal: Signal,
    pub(super) scheduler: Scheduler,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            room: Room::default(),
            target: Dur::from_millis(15),
            max_rtt: Dur::from_millis(100),
            tupdate: None,
            alpha: None,
            beta: None,
            coupling: 2.0,
            l_aqm: LaqmKind::Ramp,
            min_th: Dur::from_micros(800),
            range: Dur::from_micros(400),
            step_thresh: Dur::from_millis(1),
            th_len: 1,
            p_lmax: 1.0,
            p_cmax: None,
            signal: Signal::Recur,
            scheduler: Scheduler::WRR,
        }
    }
}

impl Params {
    pub(super) fn read(mut self, args: &mut Args<'_>) -> Result<Self, GrammarError> {
        while let Some(key) = args.key() {
            match key {
                "target" => self.target = args.time()?,
                "max_rtt" => self.max_rtt = read_period(args)?,
                "tupdate" => self.tupdate = Some(read_period(args)?),
                "alpha" => self.alpha = Some(args.decimal(0.0..=1e6)?),
                "beta" => self.beta = Some(args.decimal(0.0..=1e6)?),
                "coupling_factor" => self.coupling = args.number(1..=255)? as f64,
                "l_aqm" => {
                    let kinds = [LaqmKind::Ramp, LaqmKind::Step];
                    self.l_aqm = kinds[args.choice(&["ramp", "step"])?];
                }
                "min_th" => self.min_th = args.time()?,
                "range" => self.range = args.time()?,
                "step_thresh" => self.step_thresh = args.time()?,
                "th_len" => self.th_len = args.number(0..=u64::from(u32::MAX))? as u32,
                "p_lmax" => self.p_lmax = args.decimal(0.0..=1.0)?,
                "p_cmax" => self.p_cmax = Some(args.decimal(0.0..=1.0)?),
                "signal" => self.signal = Signal::read(args)?,
                _ => {
                    if !self.room.read(key, args)? && !self.scheduler.read(key, args)? {
                        return Err(args.unknown());
                    }
                }
            }
        }
        Ok(self)
    }

    /// RFC 9332 A.1, with a floor, since a target of zero would ask for endless updates.
    pub(super) fn tupdate(&self) -> Dur {
        let derived = self.target.min(self.max_rtt / 3).max(Dur::from_millis(1));
        self.tupdate.unwrap_or(derived)
    }

    /// In Hz.
    pub(super) fn alpha(&self) -> f64 {
        let rtt = self.max_rtt.as_secs_f64();
        self.alpha.unwrap_or_else(|| 0.1 * self.tupdate().as_secs_f64() / (rtt * rtt))
    }

    /// In Hz.
    pub(super) fn beta(&self) -> f64 {
        self.beta.unwrap_or_else(|| 0.3 / self.max_rtt.as_secs_f64())
    }

    pub(super) fn p_cmax(&self) -> f64 {
        self.p_cmax.unwrap_or(1.0 / (self.coupling * self.coupling))
    }

    /// The words, each after a space; those that follow from others stay unsaid.
    pub(super) fn describe(&self) -> String {
        fn given(name: &str, value: Option<impl std::fmt::Display>) -> String {
            value.map_or(String::new(), |value| format!(" {name} {value}"))
        }
        let l_aqm = if self.l_aqm == LaqmKind::Ramp { "ramp" } else { "step" };
        let mut text = self.room.describe();
        text += &format!(" target {} max_rtt {}", self.target, self.max_rtt);
        text += &given("tupdate", self.tupdate);
        text += &(given("alpha", self.alpha) + &given("beta", self.beta));
        text += &format!(
            " coupling_factor {} l_aqm {l_aqm} min_th {} range {} step_thresh {} th_len {}p",
            self.coupling, self.min_th, self.range, self.step_thresh, self.th_len
        );
        text += &format!(" p_lmax {}{}", self.p_lmax, given("p_cmax", self.p_cmax));
        text + &format!(" signal {} {}", self.signal.name(), self.scheduler.describe())
    }
}

/// A time that something is divided by.
fn read_period(args: &mut Args<'_>) -> Result<Dur, GrammarError> {
    args.value("a time from 1us such as `16ms`", |w| Dur::parse_tc(w).filter(|d| d.0 >= 1000))
}
