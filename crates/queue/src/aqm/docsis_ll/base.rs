//! The base probability p' of DOCSIS's coupled AQMs: the PI law of RFC 8034 without its table of
//! gains, which the square of the Classic probability replaces.

use sojourn_core::grammar::forms::decimal;
use sojourn_core::parameters;
use sojourn_core::units::Dur;

/// RFC 8034's LATENCY_LOW, and the latency above which the probability is pushed up.
const LATENCY_LOW: Dur = Dur::from_millis(5);
const LATENCY_HIGH: Dur = Dur::from_millis(200);

parameters! {
    /// Parameters of the law.
    #[derive(Copy, PartialEq)]
    pub(super) struct Law {
        /// Delay aimed at.
        target: Dur = Dur::from_millis(10);
        /// Integral gain per interval.
        a: f64 = 0.25 => decimal("HZ", 0.0..=1e6);
        /// Proportional gain per interval.
        b: f64 = 2.5 => decimal("HZ", 0.0..=1e6);
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct BaseProbability {
    pub(super) value: f64,
    last_delay: Dur,
}

impl BaseProbability {
    /// One INTERVAL has passed, with this delay at its end.
    /// RFC 8034 A, with its decay and its push above LATENCY_HIGH.
    pub(super) fn update(&mut self, law: &Law, delay: Dur) {
        let seconds = Dur::as_secs_f64;
        let mut p = self.value;
        p += law.a * (seconds(delay) - seconds(law.target));
        p += law.b * (seconds(delay) - seconds(self.last_delay));
        if delay > LATENCY_HIGH {
            p += 0.02;
        } else if delay < LATENCY_LOW && self.last_delay < LATENCY_LOW {
            p *= 0.98;
        }
        self.value = p.clamp(0.0, 1.0);
        self.last_delay = delay;
    }

    /// Whether updates without a queue change nothing any more.
    pub(super) fn rests(&self) -> bool {
        self.value == 0.0 && self.last_delay == Dur::ZERO
    }
}
