//! `docsis_pie`: PIE for the upstream of cable modems. RFC 8034.

use std::collections::VecDeque;

use super::{Backlog, Env, Kernel, Log, OldEntry, Qdisc, Reason, Stats};
use sojourn_core::grammar::{Args, GrammarError};
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::{Dur, Time};

mod params;

use params::Params;

pub(crate) const ENTRY: OldEntry = OldEntry {
    name: "docsis_pie",
    summary: "PIE of cable modems: delay from the service flow's rates, drops only",
    reference: "RFC 8034",
    kernel: Kernel::Nowhere,
    params: params::PARAMS,
    build: |args, env| Ok(Box::new(DocsisPie::parse(args, env)?)),
};

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
        if self.tokens + bytes >= p.bucket.0 {
            (self.tokens, self.filled) = (p.bucket.0, now);
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

/// A FIFO under one controller.
#[derive(Debug)]
pub struct DocsisPie {
    params: Params,
    queue: VecDeque<Packet>,
    backlog: Backlog,
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
    next_update: Time,
    /// `next_update`, or never while an update could change nothing.
    wake: Time,
    counters: Counters,
}

#[derive(Debug, Default)]
struct Counters {
    packets_in: u64,
    dropped: u64,
    overlimit: u64,
    max_queue: u32,
}

impl DocsisPie {
    fn parse(args: &mut Args<'_>, env: Env) -> Result<Self, GrammarError> {
        let params = Params::RFC.read(args)?;
        Ok(Self {
            params,
            queue: VecDeque::new(),
            backlog: Backlog::default(),
            bucket: Bucket { tokens: params.bucket.0, filled: env.now },
            state: State::Inactive,
            drop_prob: 0.0,
            accu_prob: 0.0,
            qdelay: Dur::ZERO,
            burst_allowance: Dur::ZERO,
            burst_reset: Dur::ZERO,
            rng: env.rng,
            next_update: env.now + params.interval,
            wake: Time::NEVER,
            counters: Counters::default(),
        })
    }

    /// RFC 8034 A: whether an arrival of `len` bytes is to be dropped.
    #[inline]
    fn drop_early(&mut self, len: u32) -> bool {
        let p = &self.params;
        if self.burst_allowance > Dur::ZERO {
            return false;
        }
        if self.drop_prob == 0.0 {
            self.accu_prob = 0.0;
        }
        if self.state == State::Inactive {
            if self.backlog.bytes < p.buffer_size() / 3 {
                return false;
            }
            self.state = State::Quiescent;
        }
        let prob = self.drop_prob * f64::from(len) / f64::from(p.mean_pktsize);
        let prob = prob.min(p.prob_low);
        self.accu_prob += prob;
        let calm = self.qdelay < p.target / 2 && self.drop_prob < 0.2;
        if calm || self.backlog.bytes <= 2 * u64::from(p.mean_pktsize) {
            return false;
        }
        self.accu_prob >= p.prob_low && (self.accu_prob >= p.prob_high || self.rng.unit() < prob)
    }

    /// The controller's step.
    fn update(&mut self, now: Time) {
        let p = self.params;
        self.bucket.refill(&p, now);
        let qdelay = self.bucket.delay(&p, self.backlog.bytes);
        if self.burst_allowance > Dur::ZERO {
            self.drop_prob = 0.0;
            self.burst_allowance = self.burst_allowance.saturating_sub(p.interval);
        } else {
            self.drop_prob = self.next_prob(qdelay);
        }
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
    fn next_prob(&self, qdelay: Dur) -> f64 {
        let p = &self.params;
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
        self.backlog.packets == 0
            && self.qdelay == Dur::ZERO
            && self.drop_prob == 0.0
            && self.burst_allowance == Dur::ZERO
            && self.state == State::Inactive
    }
}

impl Qdisc for DocsisPie {
    #[inline]
    fn enqueue(&mut self, now: Time, mut pkt: Packet, log: &mut Log) {
        let full = self.backlog.bytes + u64::from(pkt.len) > self.params.buffer_size();
        if full || self.drop_early(pkt.len) {
            self.counters.dropped += 1;
            self.accu_prob = 0.0;
            if full {
                self.counters.overlimit += 1;
            } else if self.state == State::Quiescent {
                self.state = State::Active;
                self.burst_allowance = self.params.max_burst;
            }
            log.drop(&pkt, if full { Reason::TailLimit } else { Reason::Pi });
            return;
        }
        if self.wake == Time::NEVER {
            if self.next_update <= now {
                let period = self.params.interval.0;
                self.next_update.0 += (now.since(self.next_update).0 / period + 1) * period;
            }
            self.wake = self.next_update;
        }
        self.counters.packets_in += 1;
        pkt.stamp = now;
        self.backlog.add(&pkt);
        self.queue.push_back(pkt);
        self.counters.max_queue = self.counters.max_queue.max(self.backlog.packets);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, _log: &mut Log) -> Option<Packet> {
        let pkt = self.queue.pop_front()?;
        self.backlog.remove(&pkt);
        self.bucket.refill(&self.params, now);
        self.bucket.tokens = self.bucket.tokens.saturating_sub(u64::from(pkt.len));
        Some(pkt)
    }

    fn next_len(&self) -> Option<u32> {
        self.queue.front().map(|pkt| pkt.len)
    }

    #[inline]
    fn wake(&self) -> Time {
        self.wake
    }

    fn on_wake(&mut self, now: Time, _log: &mut Log) {
        if self.wake > now {
            return;
        }
        self.update(now);
        while self.next_update <= now {
            self.next_update += self.params.interval;
        }
        self.wake = if self.rests() { Time::NEVER } else { self.next_update };
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn old_change(
        &mut self,
        _now: Time,
        args: &mut Args<'_>,
        _log: &mut Log,
    ) -> Result<(), GrammarError> {
        self.params = self.params.read(args)?;
        Ok(())
    }

    fn describe(&self) -> String {
        format!("docsis_pie {}", self.params.describe())
    }

    fn stats(&self, out: &mut Stats) {
        out.put("prob", self.drop_prob);
        out.put("delay", self.qdelay.as_micros() as f64);
        out.put("pkts_in", self.counters.packets_in as f64);
        out.put("overlimit", self.counters.overlimit as f64);
        out.put("dropped", self.counters.dropped as f64);
        out.put("maxq", self.counters.max_queue);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("prob", "1", self.drop_prob);
        out.put("qdelay", "ms", self.qdelay.as_millis_f64());
        out.put("burst_allowance", "ms", self.burst_allowance.as_millis_f64());
        out.put("active", "1", f64::from(self.state as u8));
    }

    fn purge(&mut self, log: &mut Log) {
        for pkt in self.queue.drain(..) {
            log.drop(&pkt, Reason::Purge);
        }
        self.backlog = Backlog::default();
        (self.state, self.drop_prob, self.accu_prob) = (State::Inactive, 0.0, 0.0);
        (self.qdelay, self.burst_allowance, self.burst_reset) = (Dur::ZERO, Dur::ZERO, Dur::ZERO);
        self.wake = Time::NEVER;
    }
}

#[cfg(test)]
mod tests;
