//! `docsis_pie`: PIE for the upstream of cable modems. RFC 8034.

use super::judged_fifo::{Judge, JudgedFifo, JudgedQueue};
use super::pie::Counters;
use super::update_timer::UpdateTimer;
use super::{Discipline, Entry, Env, Kernel, Log, Qdisc, Reason, Stats, entry};
use sojourn_core::grammar::forms::{Form, custom, decimal, maybe, rate_from, time_from};
use sojourn_core::grammar::{Args, Given, GrammarError};
use sojourn_core::packet::Packet;
use sojourn_core::parameters;
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::{Bytes, Dur, Rate, Time};

pub(crate) const ENTRY: Entry = entry::<Params>(
    "docsis_pie",
    "PIE of cable modems: delay from the service flow's rates, drops only",
    "RFC 8034",
    Kernel::Nowhere,
);

parameters! {
    /// Parameters of `docsis_pie`, by default RFC 8034's constants.
    #[derive(Copy, PartialEq)]
    struct Params {
        /// Maximum sustained rate of the service flow.
        msr: Rate = Rate(0) => rate_from(Rate(8)), default "(required)";
        /// Rate while the token bucket lasts, at least msr.
        peak_rate: Option<Rate> = None => maybe(rate_from(Rate(8))), default "msr";
        /// Depth of the token bucket: DOCSIS's maximum traffic burst.
        max_burst_bytes: Bytes = Bytes(3044);
        /// Bytes that may wait: BUFFER_SIZE.
        limit: Option<Bytes> = None, default "250ms of msr";
        /// LATENCY_TARGET; DOCSIS allows 10 to 100 ms.
        target: Dur = Dur::from_millis(10) => time_from(Dur::from_micros(1));
        /// Period of the controller.
        interval: Dur = Dur::from_millis(16) => time_from(Dur::from_micros(1));
        /// Integral gain A per update, above 0 up to 100.
        alpha: f64 = 0.25 => gain();
        /// Proportional gain B per update, above 0 up to 100.
        beta: f64 = 2.5 => gain();
        /// How long nothing is dropped after the drop that ends a quiet time.
        max_burst: Dur = Dur::from_millis(142);
        /// Quiet time after which the queue may fill to a third without a drop.
        burst_reset_timeout: Dur = Dur::from_secs(1);
        /// Packet size for which the probability holds.
        mean_pktsize: u32 = 1024 => pktsize();
        /// Smallest packet size, which bounds the probability.
        min_pktsize: u32 = 64 => pktsize();
        /// No drop below this accumulated probability; also the largest for one packet.
        prob_low: f64 = 0.85 => decimal("NUMBER", 0.0..=1.0);
        /// A certain drop from this accumulated probability.
        prob_high: f64 = 8.5 => decimal("NUMBER", 0.0..=1000.0);
        /// The probability decays while two delays are below.
        latency_low: Dur = Dur::from_millis(5);
        /// The probability rises by another 2 % per update above.
        latency_high: Dur = Dur::from_millis(200);
    }
    settle refuse;
}

fn gain() -> impl Form<f64> {
    let read = |args: &mut Args<'_>| -> Result<f64, GrammarError> {
        let in_range = |gain: &f64| *gain > 0.0 && *gain <= 100.0;
        args.value("a number above 0 up to 100", |w| w.parse().ok().filter(in_range))
    };
    custom("HZ", read, f64::to_string)
}

fn pktsize() -> impl Form<u32> {
    let read = |args: &mut Args<'_>| -> Result<u32, GrammarError> {
        args.value("a size from 1b to 64Kb", |w| {
            Bytes::parse_tc(w).filter(|b| (1..=65_536).contains(&b.0)).map(|b| b.0 as u32)
        })
    };
    custom("BYTES", read, |bytes: &u32| format!("{bytes}b"))
}

impl Params {
    fn refuse(&self, _given: &Given) -> Result<(), String> {
        if self.msr == Rate(0) {
            return Err("`msr` is required: the rate of the link, such as `20Mbit`".to_owned());
        }
        let peak_rate = self.peak_rate();
        if peak_rate < self.msr {
            return Err(format!("`peak_rate {peak_rate}` is below `msr {}`", self.msr));
        }
        if self.min_pktsize > self.mean_pktsize || self.prob_low > self.prob_high {
            return Err(
                "`min_pktsize` and `prob_low` cannot exceed `mean_pktsize` and `prob_high`"
                    .to_owned(),
            );
        }
        Ok(())
    }

    fn peak_rate(&self) -> Rate {
        self.peak_rate.unwrap_or(self.msr)
    }

    /// Bytes that may wait.
    #[inline]
    fn buffer_size(&self) -> u64 {
        self.limit.map_or_else(|| self.msr.bytes_in(Dur::from_millis(250)), |limit| limit.0)
    }

    /// The largest probability: that of a packet of the mean size when one of the smallest size
    /// has `prob_low`. RFC 8034 A.
    fn max_prob(&self) -> f64 {
        self.prob_low * f64::from(self.mean_pktsize) / f64::from(self.min_pktsize)
    }
}

impl Discipline for Params {
    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        Box::new(JudgedFifo::<DocsisPie>::new(*self, env))
    }
}

/// Whether the controller may act.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Nothing is dropped until a third of the buffer is full.
    #[default]
    Inactive,
    /// The next drop starts a burst allowance.
    Quiescent,
    Active,
}

/// Tokens of the service flow's bucket, as the modem counts them for its requests.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    tokens: u64,
    /// Until when tokens have been added.
    filled: Time,
}

impl Bucket {
    #[inline]
    fn refill(&mut self, p: &Params, now: Time) {
        let bytes = p.msr.bytes_in(now.since(self.filled));
        if self.tokens + bytes >= p.max_burst_bytes.0 {
            (self.tokens, self.filled) = (p.max_burst_bytes.0, now);
        } else {
            // The fraction of a byte stays for the next time.
            self.tokens += bytes;
            self.filled += p.msr.time_for(bytes);
        }
    }

    /// RFC 8034 4.2: how long `bytes` take, at the peak rate as far as the tokens go.
    fn delay(&self, p: &Params, bytes: u64) -> Dur {
        let fast = bytes.min(self.tokens);
        p.peak_rate().time_for(fast) + p.msr.time_for(bytes - fast)
    }
}

/// The controller.
#[derive(Debug)]
struct DocsisPie {
    bucket: Bucket,
    state: State,
    /// Probability for a packet of the mean size; can exceed 1.
    drop_prob: f64,
    /// Probability since the last drop.
    accu_prob: f64,
    qdelay: Dur,
    /// Time left in which nothing is dropped.
    burst_allowance: Dur,
    /// For how long it has been quiet.
    burst_reset: Dur,
    rng: Rng,
    timer: UpdateTimer,
    counters: Counters,
}

impl DocsisPie {
    /// RFC 8034 A: whether an arrival of `len` bytes is to be dropped.
    #[inline]
    fn drop_early(&mut self, fifo: &JudgedQueue<Params>, len: u32) -> bool {
        let (p, waiting) = (&fifo.params, fifo.queue.backlog.bytes);
        if self.burst_allowance > Dur::ZERO {
            return false;
        }
        if self.drop_prob == 0.0 {
            self.accu_prob = 0.0;
        }
        if self.state == State::Inactive {
            if waiting < p.buffer_size() / 3 {
                return false;
            }
            self.state = State::Quiescent;
        }
        // RFC 8034 A: the probability is that of a packet of the mean size.
        let prob = self.drop_prob * f64::from(len) / f64::from(p.mean_pktsize);
        let prob = prob.min(p.prob_low);
        self.accu_prob += prob;
        let calm = self.qdelay < p.target / 2 && self.drop_prob < 0.2;
        if calm || waiting <= 2 * u64::from(p.mean_pktsize) {
            return false;
        }
        self.accu_prob >= p.prob_low && (self.accu_prob >= p.prob_high || self.rng.unit() < prob)
    }

    /// The controller's step. RFC 8034 A.
    fn update(&mut self, fifo: &JudgedQueue<Params>, now: Time) {
        let p = &fifo.params;
        self.bucket.refill(p, now);
        let qdelay = self.bucket.delay(p, fifo.queue.backlog.bytes);
        if self.burst_allowance > Dur::ZERO {
            self.drop_prob = 0.0;
            self.burst_allowance = self.burst_allowance.saturating_sub(p.interval);
        } else {
            self.drop_prob = self.next_prob(p, qdelay);
        }
        // RFC 8034 A: a controller at rest becomes inactive only after BURST_RESET_TIMEOUT.
        let is_low = |delay: Dur| delay < p.target / 2;
        let quiet = is_low(qdelay)
            && is_low(self.qdelay)
            && self.drop_prob == 0.0
            && self.burst_allowance == Dur::ZERO;
        match self.state {
            State::Active if quiet => {
                (self.state, self.burst_reset) = (State::Quiescent, Dur::ZERO);
            }
            State::Quiescent if quiet => {
                self.burst_reset += p.interval;
                if self.burst_reset > p.burst_reset_timeout {
                    (self.state, self.burst_reset) = (State::Inactive, Dur::ZERO);
                }
            }
            State::Quiescent => self.burst_reset = Dur::ZERO,
            State::Active | State::Inactive => {}
        }
        self.qdelay = qdelay;
    }

    /// The probability after an update that finds `qdelay`.
    /// RFC 8034 A.
    fn next_prob(&self, p: &Params, qdelay: Dur) -> f64 {
        let (new, old) = (qdelay.as_secs_f64(), self.qdelay.as_secs_f64());
        let mut step = p.alpha * (new - p.target.as_secs_f64()) + p.beta * (new - old);
        // Gains follow the magnitude of the probability, down and, above 1, up.
        step /= match self.drop_prob {
            d if d < 0.000_001 => 2048.0,
            d if d < 0.000_01 => 512.0,
            d if d < 0.000_1 => 128.0,
            d if d < 0.001 => 32.0,
            d if d < 0.01 => 8.0,
            d if d < 0.1 => 2.0,
            d if d < 1.0 => 0.5,
            d if d < 10.0 => 0.125,
            _ => 0.031_25,
        };
        if self.drop_prob >= 0.1 {
            step = step.min(0.02);
        }
        let mut prob = self.drop_prob + step;
        if qdelay < p.latency_low && self.qdelay < p.latency_low {
            prob *= 0.98;
        } else if qdelay > p.latency_high {
            prob += 0.02;
        }
        prob.clamp(0.0, p.max_prob())
    }

    /// Whether updates of an empty queue would change nothing.
    fn rests(&self) -> bool {
        self.qdelay == Dur::ZERO
            && self.drop_prob == 0.0
            && self.burst_allowance == Dur::ZERO
            && self.state == State::Inactive
    }
}

impl Judge for DocsisPie {
    type Params = Params;
    const ENTRY: &'static Entry = &ENTRY;
    const SHOWS_NEXT: bool = true;

    fn new(params: &Params, env: Env) -> Self {
        Self {
            bucket: Bucket { tokens: params.max_burst_bytes.0, filled: env.now },
            state: State::Inactive,
            drop_prob: 0.0,
            accu_prob: 0.0,
            qdelay: Dur::ZERO,
            burst_allowance: Dur::ZERO,
            burst_reset: Dur::ZERO,
            rng: env.rng,
            timer: UpdateTimer::new(env.now + params.interval, params.interval),
            counters: Counters::default(),
        }
    }

    #[inline]
    fn arrive(
        &mut self,
        fifo: &JudgedQueue<Params>,
        now: Time,
        pkt: &mut Packet,
        _log: &mut Log,
    ) -> Option<Reason> {
        let (p, waiting) = (&fifo.params, fifo.queue.backlog);
        let full = waiting.bytes + u64::from(pkt.len) > p.buffer_size();
        if full || self.drop_early(fifo, pkt.len) {
            self.counters.dropped += 1;
            self.accu_prob = 0.0;
            if full {
                self.counters.overlimit += 1;
            } else if self.state == State::Quiescent {
                self.state = State::Active;
                self.burst_allowance = p.max_burst;
            }
            return Some(if full { Reason::TailLimit } else { Reason::Pi });
        }
        self.timer.arm(now);
        self.counters.admitted(waiting.packets + 1);
        None
    }

    #[inline]
    fn judge(
        &mut self,
        fifo: &mut JudgedQueue<Params>,
        now: Time,
        pkt: &mut Packet,
        _log: &mut Log,
    ) -> Option<Reason> {
        self.bucket.refill(&fifo.params, now);
        self.bucket.tokens = self.bucket.tokens.saturating_sub(u64::from(pkt.len));
        None
    }

    #[inline]
    fn wake(&self) -> Time {
        self.timer.wake()
    }

    fn on_wake(&mut self, fifo: &JudgedQueue<Params>, now: Time) {
        self.update(fifo, now);
        self.timer.fired(now, fifo.is_empty() && self.rests());
    }

    fn change(&mut self, _from: &Params, to: &Params, _now: Time) {
        self.timer.set_period(to.interval);
    }

    fn stats(&self, _params: &Params, out: &mut Stats) {
        out.put("prob", self.drop_prob);
        out.put("delay", self.qdelay.as_micros() as f64);
        self.counters.stats(out);
    }

    fn probe(&self, _fifo: &JudgedQueue<Params>, out: &mut Probe<'_>) {
        out.put("prob", "1", self.drop_prob);
        out.put("qdelay", "ms", self.qdelay.as_millis_f64());
        out.put("burst_allowance", "ms", self.burst_allowance.as_millis_f64());
        out.put("active", "1", f64::from(self.state as u8));
    }

    fn reset(&mut self) {
        (self.state, self.drop_prob, self.accu_prob) = (State::Inactive, 0.0, 0.0);
        (self.qdelay, self.burst_allowance, self.burst_reset) = (Dur::ZERO, Dur::ZERO, Dur::ZERO);
        self.timer.sleep();
    }
}

#[cfg(test)]
mod tests;
