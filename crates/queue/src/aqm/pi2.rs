//! `pi2`: one queue under a linear PI controller whose output is squared for classic traffic and
//! multiplied for scalable traffic. De Schepper et al., CoNEXT 2016; arithmetic of Linux 6.17
//! `sch_dualpi2`.

use std::collections::VecDeque;

use super::{Backlog, Env, Kernel, Log, OldEntry, Qdisc, Reason, Stats};
use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::{Dur, Time};

pub(crate) const ENTRY: OldEntry = OldEntry {
    name: "pi2",
    summary: "One queue for classic and scalable traffic: a squared and a linear PI output",
    reference: "De Schepper, Bondarenko, Tsang and Briscoe 2016",
    kernel: Kernel::Tree("olgabo/dualpi2"),
    params: &[
        Param { name: "limit", value: "PACKETS", default: "1000p", doc: "Packets that may wait." },
        Param { name: "target", value: "TIME", default: "20ms", doc: "Delay aimed at." },
        Param { name: "tupdate", value: "TIME", default: "32ms", doc: "Period of the controller." },
        Param {
            name: "alpha",
            value: "HZ",
            default: "0.3125",
            doc: "Integral gain per update, truncated to 1/256.",
        },
        Param {
            name: "beta",
            value: "HZ",
            default: "3.125",
            doc: "Proportional gain per update, truncated to 1/256.",
        },
        Param {
            name: "coupling_factor",
            value: "NUMBER",
            default: "2",
            doc: "Ratio of the scalable probability to the controller's, 1 to 255.",
        },
        Param {
            name: "ecn|noecn",
            value: "",
            default: "ecn",
            doc: "Mark ECN-capable packets, or drop all by the squared probability.",
        },
    ],
    build: |args, env| Ok(Box::new(Pi2::parse(args, env)?)),
};

/// Probability 1.
const MAX_PROB: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Params {
    limit: u32,
    target: Dur,
    tupdate: Dur,
    /// In 1/256 Hz.
    alpha: u32,
    beta: u32,
    coupling: u8,
    ecn: bool,
}

impl Params {
    fn read(mut self, args: &mut Args<'_>) -> Result<Self, GrammarError> {
        while let Some(key) = args.key() {
            match key {
                "limit" => self.limit = args.number(1..=u64::from(u32::MAX))? as u32,
                "target" => self.target = args.time()?,
                "tupdate" => {
                    let expected = "a time from 1us such as `32ms`";
                    self.tupdate =
                        args.value(expected, |w| Dur::parse_tc(w).filter(|d| d.0 >= 1000))?;
                }
                "alpha" => self.alpha = (args.decimal(0.0..=256.0)? * 256.0) as u32,
                "beta" => self.beta = (args.decimal(0.0..=256.0)? * 256.0) as u32,
                "coupling_factor" => self.coupling = args.number(1..=255)? as u8,
                "ecn" => self.ecn = true,
                "noecn" => self.ecn = false,
                _ => return Err(args.unknown()),
            }
        }
        Ok(self)
    }

    /// A gain times 2^32 per 2^6 ns of delay.
    const fn gain(per_256: u32) -> i64 {
        (per_256 as u64 * MAX_PROB as u64 / 4 / 1_000_000_000) as i64
    }
}

/// A FIFO under the controller.
#[derive(Debug)]
pub struct Pi2 {
    params: Params,
    /// Bytes below which nothing is signalled.
    guard: u64,
    prob: u32,
    last_delay: Dur,
    queue: VecDeque<Packet>,
    backlog: Backlog,
    rng: Rng,
    next_update: Time,
    /// `next_update`, or never while an update could change nothing.
    wake: Time,
    counters: Counters,
}

#[derive(Debug, Default)]
struct Counters {
    packets_in: u64,
    overlimit: u64,
    dropped: u64,
    max_queue: u32,
    ecn_mark: u64,
}

impl Pi2 {
    fn parse(args: &mut Args<'_>, env: Env) -> Result<Self, GrammarError> {
        let params = Params {
            limit: 1000,
            target: Dur::from_millis(20),
            tupdate: Dur::from_millis(32),
            alpha: 80,
            beta: 800,
            coupling: 2,
            ecn: true,
        }
        .read(args)?;
        Ok(Self {
            params,
            guard: 2 * u64::from(env.psched_mtu),
            prob: 0,
            last_delay: Dur::ZERO,
            queue: VecDeque::new(),
            backlog: Backlog::default(),
            rng: env.rng,
            next_update: env.now + params.tupdate,
            wake: Time::NEVER,
            counters: Counters::default(),
        })
    }

    /// The controller's step with this delay of the oldest packet.
    fn update(&mut self, delay: Dur) {
        let error = delay.0 as i64 - self.params.target.0 as i64;
        let growth = delay.0 as i64 - self.last_delay.0 as i64;
        let error = error.saturating_mul(Params::gain(self.params.alpha));
        let growth = growth.saturating_mul(Params::gain(self.params.beta));
        let delta = error.saturating_add(growth) / 64;
        let prob = i64::from(self.prob).saturating_add(delta);
        self.prob = prob.clamp(0, i64::from(MAX_PROB)) as u32;
        self.last_delay = delay;
    }

    /// Moves the timer to its first instant after `now`.
    #[inline]
    fn skip_to_after(&mut self, now: Time) {
        if self.next_update <= now {
            let periods = now.since(self.next_update).0 / self.params.tupdate.0 + 1;
            self.next_update += self.params.tupdate * periods;
        }
    }

    #[inline]
    fn roll(&mut self, prob: u32) -> bool {
        self.rng.u32() <= prob
    }

    /// Marks `pkt` if it is its turn; gives the reason if it is to be dropped instead.
    #[inline]
    fn signal(&mut self, pkt: &mut Packet, log: &mut Log) -> Option<Reason> {
        if self.backlog.bytes < self.guard {
            return None;
        }
        let coupled = u64::from(self.prob) * u64::from(self.params.coupling);
        let overload = coupled > u64::from(MAX_PROB);
        let is_scalable = self.params.ecn && pkt.tos & 1 != 0;
        let reason = if is_scalable && !overload {
            if !self.roll(coupled as u32) {
                return None;
            }
            Reason::Coupled
        } else {
            // The square as two draws, the second only after a hit.
            let hit = self.roll(self.prob) && self.roll(self.prob);
            match (hit, is_scalable) {
                (true, _) if overload => return Some(Reason::Overload),
                (true, _) => Reason::Pi,
                (false, true) => Reason::Overload,
                (false, false) => return None,
            }
        };
        if self.params.ecn && log.set_ce(pkt, reason) {
            self.counters.ecn_mark += 1;
            return None;
        }
        Some(reason)
    }
}

impl Qdisc for Pi2 {
    #[inline]
    fn enqueue(&mut self, now: Time, mut pkt: Packet, log: &mut Log) {
        if self.backlog.packets >= self.params.limit {
            self.counters.overlimit += 1;
            log.drop(&pkt, Reason::TailLimit);
            return;
        }
        if self.wake == Time::NEVER {
            // An update that coincides with the first arrival finds no delay either.
            self.skip_to_after(now);
            self.wake = self.next_update;
        }
        self.counters.packets_in += 1;
        self.counters.max_queue = self.counters.max_queue.max(self.backlog.packets);
        pkt.stamp = now;
        self.backlog.add(&pkt);
        self.queue.push_back(pkt);
    }

    #[inline]
    fn dequeue(&mut self, _now: Time, log: &mut Log) -> Option<Packet> {
        loop {
            let mut pkt = self.queue.pop_front()?;
            self.backlog.remove(&pkt);
            let Some(reason) = self.signal(&mut pkt, log) else { return Some(pkt) };
            self.counters.dropped += 1;
            log.drop(&pkt, reason);
        }
    }

    #[inline]
    fn wake(&self) -> Time {
        self.wake
    }

    fn on_wake(&mut self, now: Time, _log: &mut Log) {
        if self.wake > now {
            return;
        }
        self.update(self.queue.front().map_or(Dur::ZERO, |p| now.since(p.stamp)));
        self.skip_to_after(now);
        let rests = self.backlog.packets == 0 && self.prob == 0 && self.last_delay == Dur::ZERO;
        self.wake = if rests { Time::NEVER } else { self.next_update };
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
        let p = &self.params;
        let hz = |gain: u32| f64::from(gain) / 256.0;
        format!(
            "pi2 limit {}p target {} tupdate {} alpha {} beta {} coupling_factor {} {}",
            p.limit,
            p.target,
            p.tupdate,
            hz(p.alpha),
            hz(p.beta),
            p.coupling,
            if p.ecn { "ecn" } else { "noecn" }
        )
    }

    fn stats(&self, out: &mut Stats) {
        out.put("prob", f64::from(self.prob) / f64::from(MAX_PROB));
        out.put("delay", self.last_delay.as_micros() as f64);
        out.put("pkts_in", self.counters.packets_in as f64);
        out.put("overlimit", self.counters.overlimit as f64);
        out.put("dropped", self.counters.dropped as f64);
        out.put("maxq", self.counters.max_queue);
        out.put("ecn_mark", self.counters.ecn_mark as f64);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        let prob = f64::from(self.prob) / f64::from(MAX_PROB);
        out.put("prob", "1", prob);
        out.put("prob_c", "1", prob * prob);
        out.put("prob_l", "1", (prob * f64::from(self.params.coupling)).min(1.0));
        out.put("qdelay", "ms", self.last_delay.as_millis_f64());
    }

    fn purge(&mut self, log: &mut Log) {
        for pkt in self.queue.drain(..) {
            log.drop(&pkt, Reason::Purge);
        }
        self.backlog = Backlog::default();
        (self.prob, self.last_delay, self.wake) = (0, Dur::ZERO, Time::NEVER);
    }
}

#[cfg(test)]
mod tests;
