//! CUBIC as RFC 9438 writes it: segments and seconds as real numbers, an additive increase of the
//! Reno-friendly window that becomes 1, and a state that a spurious loss restores. `cubic version
//! rfc9438`; Linux's integers are in `cubic.rs`. Section numbers are RFC 9438's.

use super::hystart_pp::HystartPp;
use super::reno::Abe;
use super::{Ack, Controller, Path, State, StateChange, Window};
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
        self.params.c * (t - self.curve.k).powi(3) + self.curve.w_max
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
            c.k = ((c.w_max - cwnd) / self.params.c).cbrt();
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
mod tests {
    use super::super::Signal;
    use super::*;

    fn cubic() -> Rfc9438 {
        Rfc9438::new(Params {
            beta: 0.7,
            c: 0.4,
            fast_convergence: true,
            friendliness: true,
            hystart: false,
            abe: Abe::default(),
        })
    }

    /// A reduction from `cwnd`, and the start of the stage after it at time zero.
    fn reduced(cwnd: u32) -> (Rfc9438, Window) {
        let mut c = cubic();
        let ssthresh = c.ssthresh(Time::ZERO, &Path::default(), &Window::new(cwnd));
        let win = Window { ssthresh, ..Window::new(ssthresh) };
        c.begin_epoch(Time::ZERO, f64::from(ssthresh));
        (c, win)
    }

    // KAT cubic 1: the RFC's column
    #[test]
    fn a_reduction_keeps_seven_tenths() {
        for (cwnd, expected) in [(100, 70), (10, 7), (1000, 700), (2, 2), (1, 2)] {
            assert_eq!(reduced(cwnd).1.cwnd, expected, "cwnd {cwnd}");
        }
    }

    #[test]
    fn abe_keeps_85_hundredths_after_a_mark_in_congestion_avoidance_only() {
        let mark = Path { signal: Signal::Mark, ..Path::default() };
        let asked = |abe, path: &Path, win: Window| {
            let params = Params { abe: Abe { abe }, ..cubic().params };
            Rfc9438::new(params).ssthresh(Time::ZERO, path, &win)
        };
        for (cwnd, marked, lost) in [(100, 85, 70), (333, 283, 233), (10, 8, 7), (2, 2, 2)] {
            let avoiding = Window { ssthresh: 2, ..Window::new(cwnd) };
            assert_eq!(asked(true, &mark, avoiding), marked, "cwnd {cwnd}");
            assert_eq!(asked(true, &Path::default(), avoiding), lost, "a loss");
            assert_eq!(asked(true, &mark, Window::new(cwnd)), lost, "slow start");
            assert_eq!(asked(false, &mark, avoiding), lost, "without abe");
        }
    }

    // KAT cubic 2
    #[test]
    fn time_to_the_plateau_is_the_cube_root() {
        for (cwnd, seconds) in [(10, 1.957), (100, 4.217), (1000, 9.086)] {
            let k = reduced(cwnd).0.curve.k;
            assert!((k / seconds - 1.0).abs() < 0.001, "cwnd {cwnd}: {k} s");
        }
    }

    // KAT cubic 7: 0.7, 1 and 1.3 of the maximum at 0, K and 2K
    #[test]
    fn the_curve_passes_through_its_plateau_at_k() {
        let (c, _) = reduced(100);
        for (t, expected) in [(0.0, 70.0), (c.curve.k, 100.0), (2.0 * c.curve.k, 130.0)] {
            assert!((c.w_cubic(t) - expected).abs() < 1e-9, "{t}: {}", c.w_cubic(t));
        }
        // Half of the deficit closes at K (1 - 2^(-1/3)).
        let half = c.w_cubic(c.curve.k * (1.0 - 0.5_f64.cbrt()));
        assert!((half - 85.0).abs() < 1e-9, "{half}");
    }

    // KAT cubic 3: by the RFC's rule: 80 · 1.7 / 2 = 68, 80 · 0.7 = 56
    #[test]
    fn fast_convergence_remembers_less() {
        let mut c = cubic();
        c.ssthresh(Time::ZERO, &Path::default(), &Window::new(100));
        let ssthresh = c.ssthresh(Time::ZERO, &Path::default(), &Window::new(80));
        assert_eq!(ssthresh, 56);
        assert!((c.curve.w_max - 68.0).abs() < 1e-9);
    }

    // KAT cubic 4: 0.5294 by the RFC
    #[test]
    fn the_friendly_window_grows_by_0_5294_and_by_one_beyond_the_old_maximum() {
        let (mut c, mut win) = reduced(20);
        let mut grown = vec![];
        for round in 0..14 {
            let before = c.curve.w_est;
            let window = f64::from(win.cwnd) + c.curve.fraction;
            c.avoid_congestion(Time(round), 1, Dur::from_millis(1), &mut win);
            grown.push((before, (c.curve.w_est - before) * window));
            for _ in 1..win.cwnd {
                c.avoid_congestion(Time(round), 1, Dur::from_millis(1), &mut win);
            }
        }
        for (w_est, alpha) in grown {
            let expected = if w_est < 20.0 { 0.5294 } else { 1.0 };
            assert!((alpha / expected - 1.0).abs() < 0.001, "W_est {w_est}: {alpha}");
        }
        assert!(c.curve.w_est > 20.0, "both phases were seen: {}", c.curve.w_est);
    }

    #[test]
    fn growth_never_exceeds_half_of_the_window_per_round_trip() {
        let (mut c, mut win) = reduced(100);
        let late = Time::ZERO + Dur::from_secs(60);
        let start = win.cwnd;
        c.avoid_congestion(late, start, Dur::from_millis(80), &mut win);
        assert_eq!(win.cwnd, start * 3 / 2);
    }

    #[test]
    fn a_spurious_loss_restores_the_curve() {
        let (mut c, _) = reduced(100);
        let before = c.curve;
        let win = Window { prior_cwnd: 90, ..Window::new(63) };
        c.ssthresh(Time::ZERO, &Path::default(), &Window::new(90));
        assert!((c.curve.w_max - before.w_max).abs() > 1.0);
        assert_eq!(c.undo_cwnd(&win), 90);
        assert!((c.curve.w_max - before.w_max).abs() < f64::EPSILON);
        assert_eq!(c.curve.epoch, before.epoch);
    }

    #[test]
    fn after_a_timeout_the_plateau_is_where_the_stage_begins() {
        let (mut c, _) = reduced(100);
        let change = StateChange { from: State::Open, to: State::Loss };
        let mut win = Window::new(1);
        c.on_state(Time::ZERO, change, &Path::default(), &mut win);
        c.begin_epoch(Time::ZERO, 35.0);
        assert!(c.curve.k == 0.0 && (c.curve.w_max - 35.0).abs() < f64::EPSILON);
    }
}
