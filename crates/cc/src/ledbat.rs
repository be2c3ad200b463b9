//! LEDBAT (RFC 6817): fills the link only to a fixed queuing delay, and yields to whoever queues
//! more.

use super::algorithm::{Algorithm, Entry, entry};
use super::{Ack, Controller, Kernel, Path, Window};
use sojourn_core::grammar::forms::{Form, decimal, time_in};
use sojourn_core::parameters;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Dur, Time};

pub(super) const ENTRY: Entry = entry::<Params>(
    "ledbat",
    "Background transport: grows until the queue delays it by a target, then yields.",
    "RFC 6817",
    Kernel::Nowhere,
);

parameters! {
    /// Parameters of `ledbat`.
    #[derive(Copy)]
    struct Params {
        /// Queuing delay to aim at.
        target: Dur = Dur::from_millis(100) => target();
        /// Segments of growth per window and round trip without a queue.
        gain: f64 = 1.0 => decimal("NUMBER", 0.001..=1.0);
    }
}

/// RFC 6817 wants no more than 100 ms.
pub(super) fn target() -> impl Form<Dur> {
    time_in(Dur::from_millis(1)..=Dur::from_millis(100))
}

impl Algorithm for Params {
    fn build(&self) -> Box<dyn Controller> {
        Box::new(Ledbat::new(*self))
    }
}

/// `INIT_CWND` and `MIN_CWND`.
pub(super) const MIN_CWND: u32 = 2;
/// Segments that cwnd may exceed the flight by.
const ALLOWED_INCREASE: f64 = 1.0;
/// Minutes of base delays.
const BASE_HISTORY: usize = 10;
const MINUTE: Dur = Dur::from_secs(60);
/// Samples of which the least is the current delay.
const CURRENT_FILTER: usize = 4;

/// Queuing delay: the least of the latest samples over the least of the last ten minutes
/// (RFC 6817 2.4.2, current_delay() and base_delay()).
// DEVIATION: RFC 6817 measures one-way delay; TCP's RTT holds the way back as well.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueuingDelay {
    base: [Dur; BASE_HISTORY],
    minute: Time,
    current: [Dur; CURRENT_FILTER],
    at: usize,
}

impl QueuingDelay {
    pub(super) const fn new() -> Self {
        Self {
            base: [Dur::MAX; BASE_HISTORY],
            minute: Time::ZERO,
            current: [Dur::MAX; CURRENT_FILTER],
            at: 0,
        }
    }

    pub(super) fn sample(&mut self, now: Time, rtt: Dur) {
        while now.since(self.minute) >= MINUTE {
            self.minute += MINUTE;
            self.base.rotate_right(1);
            self.base[0] = rtt;
        }
        self.base[0] = self.base[0].min(rtt);
        self.current[self.at] = rtt;
        self.at = (self.at + 1) % CURRENT_FILTER;
    }

    pub(super) fn base(&self) -> Dur {
        self.base.iter().copied().min().unwrap_or(Dur::MAX)
    }

    pub(super) fn get(&self) -> Dur {
        let current = self.current.iter().copied().min().unwrap_or(Dur::MAX);
        if current == Dur::MAX { Dur::ZERO } else { current.saturating_sub(self.base()) }
    }
}

/// A window with a fraction of a segment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fraction(f64);

impl Fraction {
    /// The whole window.
    pub(super) fn cwnd(self, win: &Window) -> f64 {
        f64::from(win.cwnd.max(1)) + self.0
    }

    /// Changes cwnd by `delta` segments, within limits.
    pub(super) fn change(&mut self, delta: f64, most: f64, win: &mut Window) {
        let cwnd = f64::from(win.cwnd) + self.0 + delta;
        let cwnd = cwnd.min(most).min(f64::from(win.clamp)).max(f64::from(MIN_CWND));
        win.cwnd = cwnd as u32;
        self.0 = cwnd - f64::from(win.cwnd);
    }
}

#[derive(Debug)]
struct Ledbat {
    params: Params,
    delay: QueuingDelay,
    fraction: Fraction,
}

impl Ledbat {
    fn new(params: Params) -> Self {
        Self { params, delay: QueuingDelay::new(), fraction: Fraction::default() }
    }
}

impl Controller for Ledbat {
    fn on_established(&mut self, now: Time, _path: &Path, win: &mut Window) {
        win.cwnd = MIN_CWND;
        win.ssthresh = MIN_CWND; // no slow start
        self.delay.minute = now;
    }

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>, win: &mut Window) {
        if let Some(rtt) = ack.rtt {
            self.delay.sample(now, rtt);
        }
        if !ack.may_raise {
            return;
        }
        let target = self.params.target.as_secs_f64();
        // RFC 6817 2.4.2: gain * off_target * bytes_newly_acked * MSS / cwnd.
        let off_target = (target - self.delay.get().as_secs_f64()) / target;
        let acked = f64::from(ack.delivered());
        let delta = self.params.gain * off_target * acked / self.fraction.cwnd(win);
        // DEVIATION: the bound by the flight holds unless the endpoint says that cwnd limits it; a
        // sender that waits for whole bursts has a segment or two less in flight even then.
        let most = if ack.path.cwnd_limited {
            f64::INFINITY
        } else {
            f64::from(ack.prior_in_flight) + ALLOWED_INCREASE
        };
        self.fraction.change(delta, most, win);
    }

    fn ssthresh(&mut self, _now: Time, _path: &Path, win: &Window) -> u32 {
        // RFC 6817 2.4.2: a loss halves, as in standard TCP.
        (win.cwnd / 2).max(MIN_CWND)
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("queuing_delay", "ms", self.delay.get().as_millis_f64());
    }
}

#[cfg(test)]
mod tests;
