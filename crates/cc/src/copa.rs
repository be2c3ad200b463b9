//! Copa (NSDI 2018): aims at the rate 1/(delta · queuing delay), which keeps 1/delta segments per
//! flow in the queue on average, and imitates AIMD while somebody else holds the queue full.
//! Arun and Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet".

use super::algorithm::{Algorithm, Entry, entry};
use super::{Ack, Controller, Kernel, Needs, Output, Path, Window};
use sojourn_core::grammar::forms::decimal;
use sojourn_core::parameters;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Dur, Rate, Time};

pub(super) const ENTRY: Entry = entry::<Params>(
    "copa",
    "Aims at a rate inverse to the queuing delay: two segments of queue per flow.",
    "Arun and Balakrishnan, Copa, NSDI 2018",
    Kernel::Nowhere,
);

parameters! {
    /// Parameters of `copa`.
    #[derive(Copy)]
    struct Params {
        /// Weight of delay: the inverse is the queue per flow in segments.
        delta: f64 = 0.5 => decimal("NUMBER", 0.001..=1.0);
        /// Compete with flows that fill the queue.
        competitive: bool = true, name "competitive|nocompetitive";
    }
}

impl Algorithm for Params {
    fn build(&self) -> Box<dyn Controller> {
        Box::new(Copa::new(*self))
    }
}

const MIN_CWND: f64 = 2.0;
const MIN_RTT_WINDOW: Dur = Dur::from_secs(10);
/// Round trips of which the largest RTT tells how full the queue gets.
const MAX_RTT_ROUNDS: u64 = 4;
/// Share of that swing below which the queue counts as empty.
const NEARLY_EMPTY: f64 = 0.1;
/// Round trips without an empty queue until Copa competes.
const COMPETE_ROUNDS: u64 = 5;
/// Round trips in one direction before the velocity doubles.
const STEADY_ROUNDS: u32 = 3;
/// Keeps the velocity, which doubles per round trip, finite.
const MAX_VELOCITY: f64 = 65_536.0;

/// Least and largest value of between half a window and a window of time.
#[derive(Clone, Copy, Debug)]
struct Extremes {
    began: Time,
    now: (Dur, Dur),
    before: (Dur, Dur),
}

impl Default for Extremes {
    fn default() -> Self {
        Self { began: Time::ZERO, now: Self::NONE, before: Self::NONE }
    }
}

impl Extremes {
    const NONE: (Dur, Dur) = (Dur::MAX, Dur::ZERO);

    fn update(&mut self, now: Time, window: Dur, value: Dur) {
        if now.since(self.began) >= window / 2 {
            let fresh = now.since(self.began) < window;
            self.before = if fresh { self.now } else { Self::NONE };
            self.now = Self::NONE;
            self.began = now;
        }
        self.now = (self.now.0.min(value), self.now.1.max(value));
    }

    fn least(&self) -> Dur {
        self.now.0.min(self.before.0)
    }

    fn most(&self) -> Dur {
        self.now.1.max(self.before.1)
    }
}

#[derive(Debug, Default)]
struct Copa {
    params: Params,
    /// Window in segments; the endpoint has the whole part.
    cwnd: f64,
    slow_start: bool,
    velocity: f64,
    /// Direction of the last round trip, and how many round trips it has lasted.
    up: bool,
    steady: u32,
    round_end: u64,
    round_cwnd: f64,
    standing: Extremes,
    min_rtt: Extremes,
    max_rtt: Extremes,
    /// When the queue was last nearly empty.
    emptied: Time,
    /// 1/delta in competition.
    weight: f64,
    competing: bool,
    lost_in_round: bool,
    pacing: Rate,
}

impl Copa {
    fn new(params: Params) -> Self {
        Self {
            params,
            cwnd: MIN_CWND,
            slow_start: true,
            velocity: 1.0,
            up: true,
            round_cwnd: MIN_CWND,
            weight: 1.0 / params.delta,
            pacing: Rate(u64::MAX),
            ..Self::default()
        }
    }

    fn queuing_delay(&self) -> Dur {
        self.standing.least().saturating_sub(self.min_rtt.least())
    }

    /// The paper's standing and minimum RTT, and its mode switch: who sees no nearly empty queue
    /// for five round trips competes with a buffer-filling flow.
    fn measure(&mut self, now: Time, rtt: Dur, srtt: Dur) {
        self.standing.update(now, srtt / 2, rtt);
        self.min_rtt.update(now, MIN_RTT_WINDOW, rtt);
        self.max_rtt.update(now, srtt * MAX_RTT_ROUNDS, rtt);
        let swing = self.max_rtt.most().saturating_sub(self.min_rtt.least());
        let empty = swing.as_secs_f64() * NEARLY_EMPTY;
        if self.queuing_delay().as_secs_f64() <= empty {
            self.emptied = now;
        }
        let full = now.since(self.emptied) > srtt * COMPETE_ROUNDS;
        let competing = self.params.competitive && !self.slow_start && full;
        if competing != self.competing {
            self.competing = competing;
            self.weight = 1.0 / self.params.delta;
        }
    }

    /// Once per round trip: the paper's velocity, and AIMD on 1/delta in competition.
    fn end_round(&mut self, path: &Path) {
        let up = self.cwnd > self.round_cwnd;
        if up == self.up {
            self.steady += 1;
            if self.steady >= STEADY_ROUNDS {
                self.velocity = (self.velocity * 2.0).min(MAX_VELOCITY);
            }
        } else {
            self.up = up;
            self.steady = 0;
            self.velocity = 1.0;
        }
        if self.competing {
            let least = 1.0 / self.params.delta;
            self.weight = if self.lost_in_round { self.weight / 2.0 } else { self.weight + 1.0 };
            self.weight = self.weight.max(least);
        }
        self.lost_in_round = false;
        self.round_end = path.snd_nxt;
        self.round_cwnd = self.cwnd;
    }

    /// The paper's update per ACK: v / (delta * cwnd) towards the target rate 1 / (delta * queuing
    /// delay).
    fn steer(&mut self, ack: &Ack<'_>) {
        let acked = f64::from(ack.delivered());
        let standing = self.standing.least().as_secs_f64();
        // rate = cwnd/standing <= target = weight/queuing, without the division by no queue.
        let below = self.cwnd * self.queuing_delay().as_secs_f64() <= self.weight * standing;
        if self.slow_start {
            if below {
                if ack.path.cwnd_limited || ack.path.paced {
                    self.cwnd += acked;
                }
                return;
            }
            self.slow_start = false;
        }
        let step = self.velocity * acked * self.weight / self.cwnd;
        self.cwnd += if below { step } else { -step };
    }
}

impl Controller for Copa {
    fn needs(&self) -> Needs {
        Needs { owns_cwnd: true, pacing: true, ..Needs::default() }
    }

    fn on_established(&mut self, now: Time, path: &Path, win: &mut Window) {
        self.cwnd = f64::from(win.cwnd);
        self.round_cwnd = self.cwnd;
        self.round_end = path.snd_nxt;
        self.emptied = now;
        self.pacing = path.window_rate(win.cwnd, path.mss, 200);
    }

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>, win: &mut Window) {
        let path = ack.path;
        self.lost_in_round |= ack.lost > 0;
        if let Some(rtt) = ack.rtt {
            self.measure(now, rtt, path.srtt);
        }
        if self.standing.least() == Dur::MAX || ack.delivered() == 0 {
            return;
        }
        self.steer(ack);
        self.cwnd = self.cwnd.clamp(MIN_CWND, f64::from(win.clamp));
        if path.snd_una >= self.round_end {
            self.end_round(path);
        }
        win.cwnd = self.cwnd as u32;
        win.ssthresh = win.cwnd; // the framework's slow start has no part in this
        let standing = Path { srtt: self.standing.least(), ..*path };
        self.pacing = standing.window_rate(win.cwnd, path.mss, 200);
    }

    fn ssthresh(&mut self, _now: Time, _path: &Path, win: &Window) -> u32 {
        self.lost_in_round = true;
        self.slow_start = false;
        win.ssthresh
    }

    fn output(&self, _path: &Path, _win: &Window) -> Output {
        Output { pacing_rate: Some(self.pacing), burst: Some(1), ..Output::default() }
    }

    fn probe(&self, out: &mut Probe<'_>) {
        if self.standing.least() != Dur::MAX {
            out.put("queuing_delay", "ms", self.queuing_delay().as_millis_f64());
        }
        out.put("velocity", "1", self.velocity);
        out.put("delta", "1", 1.0 / self.weight);
        out.put("competing", "1", f64::from(u8::from(self.competing)));
    }
}

#[cfg(test)]
mod tests;
