//! CUBIC in Linux's integers (RFC 9438's curve; net/ipv4/tcp_cubic.c), and the words of both
//! versions; the RFC's own numbers are in `cubic_rfc9438.rs`. With `abe` a mark costs less than a
//! loss (RFC 8511). Facts: `cc.md` 2.3, 3.2, 3.3.

use super::cubic_rfc9438::{self, Rfc9438};
use super::hystart::{self, Era, Hystart};
use super::hystart_pp::HystartPp;
use super::reno::{ABE, abe_applies};
use super::{Ack, Controller, Needs, Output, Path, State, StateChange, Window};
use crate::legacy::OldEntry;
use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::probe::Probe;
use sojourn_core::units::{Dur, Time};

pub(super) const ENTRY: OldEntry = OldEntry {
    name: "cubic",
    summary: "Grows along a cubic of the time since the last reduction; Linux's default.",
    reference: "RFC 9438; Linux net/ipv4/tcp_cubic.c with its HyStart; HyStart++: RFC 9406; abe: RFC \
                8511",
    params: PARAMS,
    build: |args| {
        let params = Params::parse(args)?;
        Ok(match params.version {
            Version::Linux => Box::new(Cubic::new(params)),
            Version::Rfc9438 => Box::new(Rfc9438::new(params.rfc9438())),
        })
    },
};

const PARAMS: &[Param] = &[
    Param {
        name: "version",
        value: "linux|rfc9438",
        default: "linux",
        doc: "Linux's integers, or RFC 9438 in real numbers.",
    },
    Param {
        name: "beta",
        value: "NUMBER",
        default: "717",
        doc: "Multiplier of cwnd on a reduction, in 1/1024.",
    },
    Param {
        name: "bic_scale",
        value: "NUMBER",
        default: "41",
        doc: "Steepness: C is ten times this, in 1/1024.",
    },
    Param {
        name: "fast_convergence|nofast_convergence",
        value: "",
        default: "fast_convergence",
        doc: "Remember less than cwnd if the flow lost again below its last maximum.",
    },
    Param {
        name: "tcp_friendliness|notcp_friendliness",
        value: "",
        default: "tcp_friendliness",
        doc: "Never grow slower than Reno with the same mean window.",
    },
    Param {
        name: "hystart",
        value: "linux|++|off",
        default: "linux",
        doc: "What leaves slow start before the first loss: Linux's HyStart, RFC 9406 (default of \
              version rfc9438), or nothing, which is also `nohystart`.",
    },
    Param {
        name: "hystart_detect",
        value: "train|delay|both",
        default: "both",
        doc: "What HyStart looks at.",
    },
    Param {
        name: "hystart_low_window",
        value: "SEGMENTS",
        default: "16",
        doc: "Smallest cwnd at which HyStart acts.",
    },
    Param {
        name: "hystart_ack_delta",
        value: "TIME",
        default: "2ms",
        doc: "Largest gap between the ACKs of one train.",
    },
    Param {
        name: "hystart_era",
        value: "kernel|2020|5.15|newer",
        default: "kernel",
        doc: "The endpoint's era, or kernels up to 5.5 (milliseconds, half the delay), up to 5.15 \
              (microseconds), from 5.16 (rounds advance whatever limits).",
    },
    ABE,
];

const DETECT: [&str; 3] = ["train", "delay", "both"];
const ERA: [&str; 4] = ["kernel", "2020", "5.15", "newer"];
const ERAS: [Option<Era>; 4] = [None, Some(Era::Until2020), Some(Era::Until5_15), Some(Era::Newer)];
const VERSION: [&str; 2] = ["linux", "rfc9438"];
const EXIT: [&str; 3] = ["linux", "++", "off"];

/// Whose arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    Linux,
    Rfc9438,
}

/// What leaves slow start before the first loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    Linux,
    Rfc9406,
    Off,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Params {
    version: Version,
    beta: u32,
    pub(super) bic_scale: u32,
    fast_convergence: bool,
    tcp_friendliness: bool,
    pub(super) hystart: Exit,
    /// `None` follows the endpoint.
    pub(super) hystart_era: Option<Era>,
    detect: hystart::Params,
    abe: bool,
}

impl Params {
    pub(super) const DEFAULT: Self = Self {
        version: Version::Linux,
        beta: 717,
        bic_scale: 41,
        fast_convergence: true,
        tcp_friendliness: true,
        hystart: Exit::Linux,
        hystart_era: None,
        detect: hystart::Params {
            era: Era::Newer,
            train: true,
            delay: true,
            low_window: 16,
            ack_delta: Dur::from_millis(2),
        },
        abe: false,
    };

    fn parse(args: &mut Args<'_>) -> Result<Self, GrammarError> {
        let mut p = Self::DEFAULT;
        let mut hystart = None;
        while let Some(key) = args.key() {
            match key {
                "version" => {
                    p.version = [Version::Linux, Version::Rfc9438][args.choice(&VERSION)?];
                }
                // Below one half the Reno-friendly step would round to nothing.
                "beta" => p.beta = args.number(512..=1023)? as u32,
                "bic_scale" => p.bic_scale = args.number(1..=1000)? as u32,
                "fast_convergence" => p.fast_convergence = true,
                "nofast_convergence" => p.fast_convergence = false,
                "tcp_friendliness" => p.tcp_friendliness = true,
                "notcp_friendliness" => p.tcp_friendliness = false,
                "hystart" if args.peek().is_none_or(|word| !EXIT.contains(&word)) => {
                    hystart = Some(Exit::Linux);
                }
                "hystart" => {
                    hystart = Some([Exit::Linux, Exit::Rfc9406, Exit::Off][args.choice(&EXIT)?]);
                }
                "nohystart" => hystart = Some(Exit::Off),
                "hystart_detect" => {
                    let detect = args.choice(&DETECT)?;
                    p.detect.train = detect != 1;
                    p.detect.delay = detect != 0;
                }
                "hystart_low_window" => p.detect.low_window = args.number(0..=1 << 30)? as u32,
                "hystart_ack_delta" => p.detect.ack_delta = args.time()?,
                "hystart_era" => p.hystart_era = ERAS[args.choice(&ERA)?],
                "abe" => p.abe = true,
                "noabe" => p.abe = false,
                _ => return Err(args.unknown()),
            }
        }
        if p.version == Version::Rfc9438 {
            if hystart == Some(Exit::Linux) {
                return Err(args.invalid("version rfc9438 takes `hystart ++` or `hystart off`"));
            }
            p.hystart = Exit::Rfc9406;
        }
        p.hystart = hystart.unwrap_or(p.hystart);
        p.detect.era = p.hystart_era.unwrap_or_default();
        Ok(p)
    }

    /// The same in real numbers: 717/1024 stands for 0.7, 410/1024 for 0.4.
    fn rfc9438(self) -> cubic_rfc9438::Params {
        let decimal = |binary: u32| (f64::from(binary) / 1.024).round() / 1000.0;
        cubic_rfc9438::Params {
            beta: decimal(self.beta),
            c: decimal(self.bic_scale * 10),
            fast_convergence: self.fast_convergence,
            friendliness: self.tcp_friendliness,
            hystart: self.hystart == Exit::Rfc9406,
            abe: self.abe,
            text: self.describe(),
        }
    }

    fn describe(&self) -> String {
        let no = |on: bool| if on { "" } else { "no" };
        let d = &self.detect;
        format!(
            "cubic version {} beta {} bic_scale {} {}fast_convergence {}tcp_friendliness \
             hystart {} hystart_detect {} hystart_low_window {} hystart_ack_delta {} hystart_era {} \
             {}abe",
            VERSION[self.version as usize],
            self.beta,
            self.bic_scale,
            no(self.fast_convergence),
            no(self.tcp_friendliness),
            EXIT[self.hystart as usize],
            DETECT[if d.train && d.delay { 2 } else { usize::from(d.delay) }],
            d.low_window,
            d.ack_delta,
            ERA[ERAS.iter().position(|era| *era == self.hystart_era).unwrap_or(0)],
            no(self.abe),
        )
    }
}

/// The beta scale; also the curve's time unit, 1/1024 s.
const SCALE: u32 = 1024;

/// The curve and its clock. A loss timeout forgets it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Curve {
    /// ACKed segments per segment of growth.
    cnt: u32,
    /// cwnd before the last reduction, less after fast convergence; 0 without one.
    last_max: u32,
    last_cwnd: u32,
    last_time: u32,
    /// Plateau of the curve.
    pub(super) origin: u32,
    /// Time from the epoch's start to the plateau, 2^-10 s.
    pub(super) k: u32,
    /// In units of [`Era::delay`]; 0 before the first sample.
    delay_min: u32,
    /// Jiffies at the first growth after the reduction.
    pub(super) epoch: Option<u32>,
    /// ACKed and not yet counted for the friendly window, in units of [`Cubic::unit`].
    pub(super) ack_cnt: i64,
    /// What Reno with this beta would have.
    friendly_cwnd: u32,
}

#[derive(Debug)]
pub(super) struct Cubic {
    pub(super) params: Params,
    /// 8 times the segments that the friendly window needs per segment of growth and cwnd.
    friendly_scale: u32,
    /// 2^40 / C, C in 1/1024.
    cube_factor: u64,
    pub(super) hz: u32,
    /// Parts of a segment in which [`Curve::ack_cnt`] counts: 1, or bytes for CUBIC-SCE.
    pub(super) unit: i64,
    pub(super) curve: Curve,
    hystart: Hystart,
    hystart_pp: HystartPp,
}

impl Cubic {
    pub(super) fn new(params: Params) -> Self {
        Self {
            params,
            friendly_scale: 8 * (SCALE + params.beta) / 3 / (SCALE - params.beta),
            cube_factor: (1 << 40) / u64::from(params.bic_scale * 10),
            hz: 1000,
            unit: 1,
            curve: Curve::default(),
            hystart: Hystart::new(params.detect),
            hystart_pp: HystartPp::new(),
        }
    }

    #[inline]
    pub(super) fn jiffies(&self, now: Time) -> u32 {
        let hz = u64::from(self.hz);
        (now.0 / 1_000_000_000 * hz + now.0 % 1_000_000_000 * hz / 1_000_000_000) as u32
    }

    /// Linux's `pkts_acked`: minimum delay and HyStart.
    fn on_rtt(&mut self, now: Time, rtt: Dur, path: &Path, win: &mut Window) {
        // Samples of the first second of an epoch still show the queue before the reduction.
        if self.curve.epoch.is_some_and(|e| self.jiffies(now).wrapping_sub(e) < self.hz) {
            return;
        }
        let delay = self.params.detect.era.delay(rtt);
        if self.curve.delay_min == 0 || delay < self.curve.delay_min {
            self.curve.delay_min = delay;
        }
        if self.params.hystart == Exit::Linux && win.in_slow_start() {
            self.hystart.on_sample(now, delay, self.curve.delay_min, path, win);
        }
    }

    fn update(&mut self, now: Time, cwnd: u32, acked: u32) {
        let jiffies = self.jiffies(now);
        let c = &mut self.curve;
        let acked = i64::from(acked) * self.unit;
        c.ack_cnt += acked;
        if c.last_cwnd == cwnd && jiffies.wrapping_sub(c.last_time) <= self.hz / 32 {
            return;
        }
        // Within one jiffy of an epoch the curve has not moved.
        if c.epoch.is_none() || jiffies != c.last_time {
            c.last_cwnd = cwnd;
            c.last_time = jiffies;
            let epoch = *c.epoch.get_or_insert_with(|| {
                c.ack_cnt = acked;
                c.friendly_cwnd = cwnd;
                let deficit = u64::from(c.last_max.saturating_sub(cwnd));
                c.k = cube_root(self.cube_factor * deficit);
                c.origin = c.last_max.max(cwnd);
                jiffies
            });
            let delay = self.params.detect.era.delay_jiffies(c.delay_min, self.hz);
            let t = u64::from(jiffies.wrapping_sub(epoch)) + u64::from(delay);
            let t = (t << 10) / u64::from(self.hz);
            let k = u64::from(c.k);
            let offset = u128::from(t.abs_diff(k));
            let delta = (u128::from(self.params.bic_scale * 10) * offset.pow(3)) >> 40;
            let delta = delta.min(u128::from(u32::MAX)) as u32;
            let target =
                if t < k { c.origin.saturating_sub(delta) } else { c.origin.saturating_add(delta) };
            c.cnt = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
            if c.last_max == 0 {
                c.cnt = c.cnt.min(20);
            }
        }
        if self.params.tcp_friendliness {
            let step = i64::from((cwnd * self.friendly_scale) >> 3) * self.unit;
            while c.ack_cnt > step {
                c.ack_cnt -= step;
                c.friendly_cwnd += 1;
            }
            if c.friendly_cwnd > cwnd {
                c.cnt = c.cnt.min(cwnd / (c.friendly_cwnd - cwnd));
            }
        }
        c.cnt = c.cnt.max(2);
    }
}

/// The integer cube root, rounded down.
// DEVIATION: Linux looks up a first guess and makes one Newton step, which errs by up to 0.2 %.
fn cube_root(a: u64) -> u32 {
    if a == 0 {
        return 0;
    }
    let mut root = 1_u64 << (64 - a.leading_zeros()).div_ceil(3);
    loop {
        let next = (2 * root + a / (root * root)) / 3;
        if next >= root {
            return root as u32;
        }
        root = next;
    }
}

impl Controller for Cubic {
    fn needs(&self) -> Needs {
        Needs::default()
    }

    fn on_established(&mut self, now: Time, path: &Path, _win: &mut Window) {
        self.hz = path.hz;
        self.params.detect.era = self.params.hystart_era.unwrap_or(path.hystart);
        self.hystart = Hystart::new(self.params.detect);
        self.hystart.reset(now, path.snd_nxt);
        self.hystart_pp.start(path.snd_nxt);
    }

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>, win: &mut Window) {
        if let Some(rtt) = ack.rtt {
            self.on_rtt(now, rtt, ack.path, win);
        }
        let grows = ack.may_raise && ack.path.cwnd_limited;
        let mut acked = ack.delivered();
        if self.params.hystart == Exit::Rfc9406 && win.in_slow_start() {
            acked = self.hystart_pp.on_ack(ack, grows, win);
        } else if grows && win.in_slow_start() {
            self.hystart.on_growth(now, ack.path);
            acked = win.slow_start(acked);
        }
        if !grows || acked == 0 {
            return;
        }
        self.update(now, win.cwnd, acked);
        win.additive_increase(self.curve.cnt, acked);
    }

    fn ssthresh(&mut self, _now: Time, path: &Path, win: &Window) -> u32 {
        let Params { beta, fast_convergence, .. } = self.params;
        let cwnd = u64::from(win.cwnd);
        self.curve.epoch = None;
        self.curve.last_max = if win.cwnd < self.curve.last_max && fast_convergence {
            (cwnd * u64::from(SCALE + beta) / u64::from(2 * SCALE)) as u32
        } else {
            win.cwnd
        };
        let kept = if self.params.abe && abe_applies(path, win) {
            cwnd * 17 / 20 // RFC 8511: beta_ecn of 0.85
        } else {
            cwnd * u64::from(beta) / u64::from(SCALE)
        };
        (kept as u32).max(2)
    }

    fn on_state(&mut self, now: Time, change: StateChange, path: &Path, _win: &mut Window) {
        if change.to == State::Loss {
            self.curve = Curve::default();
            self.hystart.reset(now, path.snd_nxt);
        }
    }

    fn on_restart(&mut self, now: Time, idle: Dur, _win: &mut Window) {
        // Idle time is no time on the curve.
        let now = self.jiffies(now);
        let idle = self.jiffies(Time(idle.0));
        if let Some(epoch) = &mut self.curve.epoch {
            *epoch += idle.min(now.wrapping_sub(*epoch));
        }
    }

    fn output(&self, _path: &Path, _win: &Window) -> Output {
        Output::default()
    }

    fn describe(&self) -> String {
        self.params.describe()
    }

    fn probe(&self, out: &mut Probe<'_>) {
        let c = &self.curve;
        out.put("w_max", "segments", f64::from(c.last_max));
        out.put("origin", "segments", f64::from(c.origin));
        out.put("k", "ms", f64::from(c.k) * 1000.0 / f64::from(SCALE));
        out.put("cnt", "segments", f64::from(c.cnt));
        out.put("friendly_cwnd", "segments", f64::from(c.friendly_cwnd));
        out.put("hystart_found", "1", f64::from(u8::from(self.hystart.found())));
    }
}

#[cfg(test)]
#[path = "cubic_tests.rs"]
mod tests;
