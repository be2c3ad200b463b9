//! LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus): LEDBAT with a gain that depends on the base delay,
//! a multiplicative decrease, a delay-limited slow start, and regular pauses in which the base
//! delay can be seen.

use super::algorithm::{Algorithm, Entry, entry};
use super::ledbat::{Fraction, MIN_CWND, QueuingDelay, target};
use super::{Ack, Controller, Kernel, Path, State, StateChange, Window};
use sojourn_core::parameters;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Dur, Time};

pub(super) const ENTRY: Entry = entry::<Params>(
    "ledbat++",
    "LEDBAT without its drift and latecomer's advantage, by regular slowdowns.",
    "draft-irtf-iccrg-ledbat-plus-plus-01",
    Kernel::Nowhere,
);

parameters! {
    /// Parameters of `ledbat++`.
    struct Params {
        /// Queuing delay to aim at.
        target: Dur = Dur::from_millis(60) => target();
    }
}

impl Algorithm for Params {
    fn build(&self) -> Box<dyn Controller> {
        Box::new(LedbatPlusPlus::new(self.target))
    }
}

/// Largest divisor of the gain.
const MAX_DIVISOR: u64 = 16;
/// Strength of the decrease.
const DECREASE: f64 = 1.0;
/// Share of the target that ends the first slow start.
const SLOW_START_SHARE: f64 = 0.75;
/// Round trips from the end of the first slow start to the first pause, and length of a pause.
const PAUSE_ROUNDS: u64 = 2;
/// Time between slowdowns, in lengths of the last one.
const SLOWDOWN_SHARE: u64 = 9;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The first slow start, which the queuing delay ends.
    SlowStart,
    Steady,
    /// Two segments per round trip until then.
    Pause(Time),
    /// Slow start back to ssthresh.
    Ramp,
}

#[derive(Debug)]
struct LedbatPlusPlus {
    target: Dur,
    delay: QueuingDelay,
    fraction: Fraction,
    phase: Phase,
    next_slowdown: Time,
    slowdown_began: Time,
    /// Window to return to after the pause.
    resume: u32,
}

impl LedbatPlusPlus {
    fn new(target: Dur) -> Self {
        Self {
            target,
            delay: QueuingDelay::new(),
            fraction: Fraction::default(),
            phase: Phase::SlowStart,
            next_slowdown: Time::NEVER,
            slowdown_began: Time::ZERO,
            resume: 0,
        }
    }

    /// 1 / min(16, ceil(2 target / base)): the draft's "slower than Reno" increase.
    fn gain(&self) -> f64 {
        let base = self.delay.base().0.max(1);
        1.0 / (2 * self.target.0).div_ceil(base).clamp(1, MAX_DIVISOR) as f64
    }

    /// Segments per round trip in congestion avoidance: the draft's additive increase and
    /// multiplicative decrease, at most half of the window.
    fn step(&self, cwnd: f64) -> f64 {
        let over = self.delay.get().as_secs_f64() / self.target.as_secs_f64() - 1.0;
        if over <= 0.0 {
            return self.gain();
        }
        (self.gain() - DECREASE * cwnd * over).max(-cwnd / 2.0)
    }

    /// The draft's periodic slowdown: for two round trips the queue is empty, and the base delay
    /// shows.
    fn slow_down(&mut self, now: Time, path: &Path, win: &mut Window) {
        self.resume = win.cwnd;
        self.slowdown_began = now;
        self.next_slowdown = Time::NEVER;
        self.phase = Phase::Pause(now + path.srtt * PAUSE_ROUNDS);
        win.cwnd = MIN_CWND;
    }

    /// Slow start is over: the first slowdown follows two round trips later, others after nine
    /// times the length of the last.
    fn settle(&mut self, now: Time, wait: Dur) {
        self.phase = Phase::Steady;
        self.next_slowdown = now + wait;
    }

    fn grow(&mut self, now: Time, ack: &Ack<'_>, win: &mut Window) {
        let acked = f64::from(ack.delivered());
        let cwnd = self.fraction.cwnd(win);
        match self.phase {
            Phase::SlowStart => {
                let limit = self.target.as_secs_f64() * SLOW_START_SHARE;
                if self.delay.get().as_secs_f64() > limit {
                    win.ssthresh = win.cwnd;
                    self.settle(now, ack.path.srtt * PAUSE_ROUNDS);
                } else if ack.path.cwnd_limited {
                    self.fraction.change(self.gain() * acked, f64::INFINITY, win);
                }
            }
            Phase::Steady => {
                let delta = self.step(cwnd) * acked / cwnd;
                if delta < 0.0 || ack.path.cwnd_limited {
                    self.fraction.change(delta, f64::INFINITY, win);
                }
            }
            Phase::Ramp => {
                self.fraction.change(self.gain() * acked, f64::from(self.resume), win);
            }
            Phase::Pause(_) => {}
        }
    }
}

impl Controller for LedbatPlusPlus {
    fn on_established(&mut self, _now: Time, _path: &Path, win: &mut Window) {
        win.cwnd = MIN_CWND;
    }

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>, win: &mut Window) {
        if let Some(rtt) = ack.rtt {
            self.delay.sample(now, rtt);
        }
        if !ack.may_raise {
            return;
        }
        match self.phase {
            Phase::Steady if now >= self.next_slowdown => self.slow_down(now, ack.path, win),
            Phase::Pause(end) if now < end => win.cwnd = MIN_CWND,
            Phase::Pause(_) => self.phase = Phase::Ramp,
            _ => {}
        }
        self.grow(now, ack, win);
        if self.phase == Phase::Ramp && win.cwnd >= self.resume {
            self.settle(now, now.since(self.slowdown_began) * SLOWDOWN_SHARE);
        }
    }

    fn ssthresh(&mut self, _now: Time, _path: &Path, win: &Window) -> u32 {
        (win.cwnd / 2).max(MIN_CWND)
    }

    fn on_state(&mut self, now: Time, change: StateChange, path: &Path, win: &mut Window) {
        if change.to < State::Cwr {
            return;
        }
        // A loss ends slow start at half the window.
        match self.phase {
            Phase::SlowStart => self.settle(now, path.srtt * PAUSE_ROUNDS),
            Phase::Ramp | Phase::Pause(_) => {
                self.settle(now, now.since(self.slowdown_began) * SLOWDOWN_SHARE);
            }
            Phase::Steady => {}
        }
        self.resume = win.ssthresh;
    }

    fn probe(&self, out: &mut Probe<'_>) {
        let phase = match self.phase {
            Phase::SlowStart => 0.0,
            Phase::Steady => 1.0,
            Phase::Pause(_) => 2.0,
            Phase::Ramp => 3.0,
        };
        out.put("queuing_delay", "ms", self.delay.get().as_millis_f64());
        out.put("gain", "1", self.gain());
        out.put("phase", "1", phase);
    }
}

#[cfg(test)]
mod tests;
