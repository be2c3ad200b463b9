//! CUBIC in Linux's integers (RFC 9438's curve; net/ipv4/tcp_cubic.c), and the parameters of
//! both versions; the RFC's own numbers are in `cubic_rfc9438.rs`. With `abe` a mark costs less than
//! a loss (RFC 8511).

use super::algorithm::{Algorithm, Entry, entry};
use super::cubic_rfc9438::{self, Rfc9438};
use super::hystart::{self, Era, Hystart};
use super::hystart_pp::HystartPp;
use super::reno::Abe;
use super::{Ack, Controller, Kernel, Path, State, StateChange, Window};
use sojourn_core::grammar::forms::{Form, Value, custom, number};
use sojourn_core::grammar::{Args, Given};
use sojourn_core::probe::Probe;
use sojourn_core::units::{Dur, Time};
use sojourn_core::{choices, parameters};

pub(super) const ENTRY: Entry = entry::<Params>(
    "cubic",
    "Grows along a cubic of the time since the last reduction; Linux's default.",
    "RFC 9438; Linux net/ipv4/tcp_cubic.c with its HyStart; HyStart++: RFC 9406; abe: RFC 8511",
    Kernel::Mainline("2.6.13"),
);

parameters! {
    /// Parameters of `cubic`.
    #[derive(Copy, PartialEq)]
    pub(super) struct Params {
        /// Linux's integers, or RFC 9438 in real numbers.
        version: Version = Version::Linux;
        /// Multiplier of cwnd on a reduction, in 1/1024.
        // Below one half the Reno-friendly step would round to nothing.
        beta: u32 = 717 => number(512..=1023);
        /// Steepness: C is ten times this, in 1/1024.
        pub(super) bic_scale: u32 = 41 => number(1..=1000);
        /// Remember less than cwnd if the flow lost again below its last maximum.
        fast_convergence: bool = true, name "fast_convergence|nofast_convergence";
        /// Never grow slower than Reno with the same mean window.
        tcp_friendliness: bool = true, name "tcp_friendliness|notcp_friendliness";
        /// What leaves slow start before the first loss: Linux's HyStart, RFC 9406 (default of
        /// version rfc9438), or nothing.
        pub(super) hystart: Exit = Exit::Linux => exit();
    }
    groups {
        pub(super) detect: hystart::Params = hystart::Params::default();
        abe: Abe = Abe::default();
    }
    also {
        /// The same as `hystart off`.
        "nohystart" => |params, _, _| {
            params.hystart = Exit::Off;
            Ok(())
        };
    }
    derive default_exit;
    settle has_exit;
}

choices! {
    /// Whose arithmetic.
    enum Version { Linux = "linux", Rfc9438 = "rfc9438" }
}

choices! {
    /// What leaves slow start before the first loss.
    pub(super) enum Exit { Linux = "linux", Rfc9406 = "++", Off = "off" }
}

/// One of the texts, or none for Linux's.
fn exit() -> impl Form<Exit> {
    let read = |args: &mut Args<'_>| {
        let is_stated = Exit::ALL.iter().any(|(text, _)| args.peek() == Some(text));
        if is_stated { Exit::FORM.read("", "", args) } else { Ok(Exit::Linux) }
    };
    custom(Exit::VALUE, read, |exit: &Exit| exit.text().to_owned())
}

impl Params {
    fn default_exit(&mut self, given: &Given) {
        let is_given = given.has("hystart") || given.has("nohystart");
        if self.version == Version::Rfc9438 && !is_given {
            self.hystart = Exit::Rfc9406;
        }
    }

    fn has_exit(&self, _: &Given) -> Result<(), String> {
        if (self.version, self.hystart) == (Version::Rfc9438, Exit::Linux) {
            return Err("version rfc9438 takes `hystart ++` or `hystart off`".to_owned());
        }
        Ok(())
    }

    /// The same in real numbers: 717/1024 stands for 0.7, 410/1024 for 0.4.
    fn rfc9438(&self) -> cubic_rfc9438::Params {
        let decimal = |binary: u32| (f64::from(binary) / 1.024).round() / 1000.0;
        cubic_rfc9438::Params {
            beta: decimal(self.beta),
            c: decimal(self.bic_scale * 10),
            fast_convergence: self.fast_convergence,
            friendliness: self.tcp_friendliness,
            hystart: self.hystart == Exit::Rfc9406,
            abe: self.abe,
        }
    }
}

impl Algorithm for Params {
    fn build(&self) -> Box<dyn Controller> {
        match self.version {
            Version::Linux => Box::new(Cubic::new(*self)),
            Version::Rfc9438 => Box::new(Rfc9438::new(self.rfc9438())),
        }
    }

    fn follows_hystart(&self) -> bool {
        self.version == Version::Linux && self.detect.era.is_none()
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
    era: Era,
    hystart: Hystart,
    hystart_pp: HystartPp,
}

impl Cubic {
    pub(super) fn new(params: Params) -> Self {
        let era = params.detect.era.unwrap_or_default();
        Self {
            params,
            // Linux cubictcp_register(): the same constants, computed once.
            friendly_scale: 8 * (SCALE + params.beta) / 3 / (SCALE - params.beta),
            cube_factor: (1 << 40) / u64::from(params.bic_scale * 10),
            hz: 1000,
            unit: 1,
            curve: Curve::default(),
            era,
            hystart: Hystart::new(params.detect, era),
            hystart_pp: HystartPp::new(),
        }
    }

    #[inline]
    pub(super) fn jiffies(&self, now: Time) -> u32 {
        let hz = u64::from(self.hz);
        (now.0 / 1_000_000_000 * hz + now.0 % 1_000_000_000 * hz / 1_000_000_000) as u32
    }

    /// Linux cubictcp_acked(): minimum delay and HyStart.
    fn on_rtt(&mut self, now: Time, rtt: Dur, path: &Path, win: &mut Window) {
        // Samples of the first second of an epoch still show the queue before the reduction.
        if self.curve.epoch.is_some_and(|e| self.jiffies(now).wrapping_sub(e) < self.hz) {
            return;
        }
        let delay = self.era.delay(rtt);
        if self.curve.delay_min == 0 || delay < self.curve.delay_min {
            self.curve.delay_min = delay;
        }
        if self.params.hystart == Exit::Linux && win.in_slow_start() {
            self.hystart.on_sample(now, delay, self.curve.delay_min, path, win);
        }
    }

    /// RFC 9438 4.2 (the curve) and 4.3 (Reno-friendly region) as Linux bictcp_update() has them.
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
                // K of RFC 9438 4.2, from the cwnd that the epoch begins with.
                let deficit = u64::from(c.last_max.saturating_sub(cwnd));
                c.k = cube_root(self.cube_factor * deficit);
                c.origin = c.last_max.max(cwnd);
                jiffies
            });
            let delay = self.era.delay_jiffies(c.delay_min, self.hz);
            // The curve one minimum RTT ahead; RFC 9438 4.2 takes the smoothed RTT.
            let t = u64::from(jiffies.wrapping_sub(epoch)) + u64::from(delay);
            let t = (t << 10) / u64::from(self.hz);
            let k = u64::from(c.k);
            let offset = u128::from(t.abs_diff(k));
            // W_cubic of RFC 9438 4.2.
            let delta = (u128::from(self.params.bic_scale * 10) * offset.pow(3)) >> 40;
            let delta = delta.min(u128::from(u32::MAX)) as u32;
            let target =
                if t < k { c.origin.saturating_sub(delta) } else { c.origin.saturating_add(delta) };
            c.cnt = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
            // Without a maximum to aim at the curve starts flat: at least 5 % per round trip.
            if c.last_max == 0 {
                c.cnt = c.cnt.min(20);
            }
        }
        if self.params.tcp_friendliness {
            // W_est of RFC 9438 4.3: alpha of 3 (1 - beta) / (1 + beta), which Linux keeps below
            // the old maximum and above it.
            let step = i64::from((cwnd * self.friendly_scale) >> 3) * self.unit;
            while c.ack_cnt > step {
                c.ack_cnt -= step;
                c.friendly_cwnd += 1;
            }
            if c.friendly_cwnd > cwnd {
                c.cnt = c.cnt.min(cwnd / (c.friendly_cwnd - cwnd));
            }
        }
        // RFC 9438 4.2: at most half of cwnd per round trip.
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
    fn on_established(&mut self, now: Time, path: &Path, _win: &mut Window) {
        self.hz = path.hz;
        self.era = self.params.detect.era.unwrap_or(path.hystart);
        self.hystart = Hystart::new(self.params.detect, self.era);
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
        // Linux cubictcp_recalc_ssthresh(); RFC 9438 4.6 (decrease) and 4.7 (fast convergence).
        let Params { beta, fast_convergence, .. } = self.params;
        let cwnd = u64::from(win.cwnd);
        self.curve.epoch = None;
        self.curve.last_max = if win.cwnd < self.curve.last_max && fast_convergence {
            (cwnd * u64::from(SCALE + beta) / u64::from(2 * SCALE)) as u32
        } else {
            win.cwnd
        };
        let kept = if self.params.abe.applies(path, win) {
            cwnd * 17 / 20 // RFC 8511 3: beta_ecn of 0.85
        } else {
            cwnd * u64::from(beta) / u64::from(SCALE)
        };
        (kept as u32).max(2)
    }

    fn on_state(&mut self, now: Time, change: StateChange, path: &Path, _win: &mut Window) {
        // Linux cubictcp_state(): a timeout says that nothing known of the path holds.
        if change.to == State::Loss {
            self.curve = Curve::default();
            self.hystart.reset(now, path.snd_nxt);
        }
    }

    fn on_restart(&mut self, now: Time, idle: Dur, _win: &mut Window) {
        // Idle time is no time on the curve (Linux CA_EVENT_TX_START; RFC 9438 5.8).
        let now = self.jiffies(now);
        let idle = self.jiffies(Time(idle.0));
        if let Some(epoch) = &mut self.curve.epoch {
            *epoch += idle.min(now.wrapping_sub(*epoch));
        }
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
mod tests;
