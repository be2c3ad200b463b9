//! CUBIC as RFC 9438 writes it: segments and seconds as real numbers, an additive increase of the
//! Reno-friendly window that becomes 1, and a state that a spurious loss restores. `cubic version
//! rfc9438`; Linux's integers are in `cubic.rs`. Section numbers are RFC 9438's.

use super::hystart_pp::HystartPp;
use super::reno::Abe;
use super::{Ack, Controller, Path, State, StateChange, Window};
use sojourn_core::math;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Dur, Time};

/// `beta_ecn` of RFC 8511 for CUBIC.
const ABE_BETA: f64 = 0.85;

/// What RFC 9438 lets vary.
#[derive(Clone, Copy, Debug)]
pub(super) struct Params {
    /// Multiplicative decrease factor.
    pub(super) beta: f64,
    /// Constant of the curve, segments per second cubed.
    pub(super) c: f64,
    pub(super) fast_convergence: bool,
    /// Reno-friendly region.
    pub(super) friendliness: bool,
    /// RFC 9406 in the first slow start.
    pub(super) hystart: bool,
    /// RFC 8511.
    pub(super) abe: Abe,
}

/// Variables of RFC 9438 §4.1.2, in segments and seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Curve {
    w_max: f64,
    k: f64,
    /// Start of the current congestion avoidance stage.
    epoch: Option<Time>,
    w_est: f64,
    /// cwnd before the latest reduction.
    cwnd_prior: f64,
    /// What cwnd has beyond whole segments.
    fraction: f64,
}

/// RFC 9438's sender.
#[derive(Debug)]
pub(super) struct Rfc9438 {
    params: Params,
    curve: Curve,
    /// The curve before the latest reduction (§4.9.2: spurious loss).
    before: Curve,
    hystart: HystartPp,
}

impl Rfc9438 {
    pub(super) fn new(params: Params) -> Self {
        Self {
            params,
            curve: Curve::default(),
            before: Curve::default(),
            hystart: HystartPp::new(),
        }
    }

    /// W_cubic of §4.2, `t` seconds into the stage.
    fn w_cubic(&self, t: f64) -> f64 {
        self.params.c * math::powi(t - self.curve.k, 3) + self.curve.w_max
    }

    fn begin_epoch(&mut self, now: Time, cwnd: f64) {
        let c = &mut self.curve;
        c.epoch = Some(now);
        c.w_est = cwnd;
        if c.w_max <= cwnd {
            // §4.8, 4.10: after a timeout or a slow start without loss the plateau is here.
            c.w_max = cwnd;
            c.k = 0.0;
        } else {
            // §4.2: K.
            c.k = math::cbrt((c.w_max - cwnd) / self.params.c);
        }
    }

    /// §4.3 to 4.5, `acked` segments.
    fn avoid_congestion(&mut self, now: Time, acked: u32, srtt: Dur, win: &mut Window) {
        let cwnd = f64::from(win.cwnd) + self.curve.fraction;
        if self.curve.epoch.is_none() {
            self.begin_epoch(now, cwnd);
        }
        let t = now.since(self.curve.epoch.unwrap_or(now)).as_secs_f64();
        let acked = f64::from(acked);
        let beta = self.params.beta;
        // §4.3: alpha_cubic, 1 once the window before the reduction is reached again.
        let alpha = if self.curve.w_est < self.curve.cwnd_prior {
            3.0 * (1.0 - beta) / (1.0 + beta)
        } else {
            1.0
        };
        // §4.3: W_est.
        self.curve.w_est += alpha * acked / cwnd;
        let friendly = self.params.friendliness && self.w_cubic(t) < self.curve.w_est;
        let next = if friendly {
            cwnd.max(self.curve.w_est)
        } else {
            // §4.2, the target one RTT ahead; §4.4 and 4.5, the share of it per ACK.
            let target = self.w_cubic(t + srtt.as_secs_f64()).clamp(cwnd, 1.5 * cwnd);
            cwnd + (target - cwnd) * acked / cwnd
        };
        win.cwnd = (next as u32).min(win.clamp);
        self.curve.fraction = next.fract();
    }
}

impl Controller for Rfc9438 {
    fn on_established(&mut self, _now: Time, path: &Path, _win: &mut Window) {
        self.hystart.start(path.snd_nxt);
    }

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>, win: &mut Window) {
        let grows = ack.may_raise && ack.path.cwnd_limited;
        let mut left = ack.delivered();
        if win.in_slow_start() {
            left = if self.params.hystart {
                self.hystart.on_ack(ack, grows, win)
            } else if grows {
                win.slow_start(left)
            } else {
                0
            };
        }
        if grows && left > 0 {
            self.avoid_congestion(now, left, ack.path.srtt, win);
        }
    }

    fn ssthresh(&mut self, _now: Time, path: &Path, win: &Window) -> u32 {
        let cwnd = f64::from(win.cwnd);
        self.before = self.curve;
        let c = &mut self.curve;
        c.cwnd_prior = cwnd;
        c.w_max = if cwnd < c.w_max && self.params.fast_convergence {
            cwnd * (1.0 + self.params.beta) / 2.0 // §4.7
        } else {
            cwnd
        };
        c.epoch = None;
        c.fraction = 0.0;
        let abe = self.params.abe.applies(path, win);
        // §4.6; with ABE, RFC 8511 3.
        let beta = if abe { ABE_BETA } else { self.params.beta };
        // A whole number of segments that binary fractions miss by a hair is still whole.
        ((beta * cwnd + 1e-9) as u32).max(2)
    }

    fn on_state(&mut self, _now: Time, change: StateChange, _path: &Path, _win: &mut Window) {
        if change.to == State::Loss {
            // §4.8: the stage after a timeout starts at its own plateau.
            self.curve.w_max = 0.0;
            self.curve.epoch = None;
        }
    }

    fn undo_cwnd(&mut self, win: &Window) -> u32 {
        // §4.9.2: after a spurious loss the curve continues.
        self.curve = self.before;
        win.cwnd.max(win.prior_cwnd)
    }

    fn on_restart(&mut self, _now: Time, idle: Dur, _win: &mut Window) {
        if let Some(epoch) = &mut self.curve.epoch {
            *epoch += idle; // §5.8: idle time is no time on the curve
        }
    }

    fn probe(&self, out: &mut Probe<'_>) {
        let c = &self.curve;
        out.put("w_max", "segments", c.w_max);
        out.put("k", "ms", c.k * 1000.0);
        out.put("w_est", "segments", c.w_est);
        out.put("css", "1", f64::from(u8::from(self.hystart.is_conservative())));
    }
}

#[cfg(test)]
mod tests;
