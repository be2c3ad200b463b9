//! `netem`: delay, jitter, loss, duplication, corruption, reordering, rate and slots. Linux 6.12
//! `sch_netem`; the syntax is that of iproute2 7.3.

mod dist;
mod loss;
mod params;

use std::collections::VecDeque;

use self::dist::sample;
use self::loss::{Correlated, State};
use self::params::{
    CORRUPT, Chance, DELAY, Delay, LOSS, Params, REORDER, SLOT, Slot, Spacing, share,
};
use crate::DelayLine;
use crate::aqm::{
    Backlog, Discipline, Entry, Env, Kernel, Log, Qdisc, Reason, Spec, Stats, accepts, entry, spec,
};
use crate::traces::DelayCursor;
use sojourn_core::ecn::Ecn;
use sojourn_core::grammar::{Given, Written};
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::{Dur, Rate, Time};

/// The line of the registry.
pub const ENTRY: Entry = entry::<Params>(
    "netem",
    "Delay, loss and other impairments",
    "Linux 6.12 sch_netem",
    Kernel::Mainline("2.6"),
);

/// The delay of a netem that does nothing else.
pub fn constant_delay(spec: &Spec) -> Option<Dur> {
    let does_more = |part: &Written| part.name != DELAY && part.name != "limit";
    let params = spec.params::<Params>().filter(|_| !spec.brief().iter().any(does_more))?;
    match params.delay {
        Some(Delay::Drawn { time, jitter: 0, correlation: None | Some(0) }) => Some(time),
        _ => None,
    }
}

impl Discipline for Params {
    fn check(&mut self, env: &Env) -> Result<(), String> {
        if let (Some(Delay::Trace(name)), None) = (&self.delay, &self.trace) {
            self.trace = Some(env.traces.find("delay trace", Some(name), &mut self.digest)?);
        }
        Ok(())
    }

    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        Box::new(Netem::new(self, env, None))
    }

    fn accepts(&self, to: &Spec) -> Result<(), String> {
        accepts(
            to,
            |to: &Self| {
                to.trace_name().is_none()
                    || (to.trace_name(), &to.digest) == (self.trace_name(), &self.digest)
            },
            "another trace needs a replace",
        )
    }

    fn is_shaper(&self) -> bool {
        true
    }

    fn around(&self, env: Env, leaf: Box<dyn Qdisc>) -> Box<dyn Qdisc> {
        Box::new(Netem::new(self, env, Some(leaf)))
    }

    fn set_rate(&mut self, rate: Rate) -> Result<(), String> {
        let Some(wire) = &mut self.rate else {
            return Err("there is no rate to change".to_owned());
        };
        wire.rate = rate;
        if rate < Rate(8) { Err("`rate` must be at least 8bit".to_owned()) } else { Ok(()) }
    }

    fn capacity(&self) -> Option<Rate> {
        self.rate.map(|wire| wire.rate)
    }

    fn delays(&self) -> bool {
        self.delay.is_some()
    }
}

/// Bursts: when the next opens, and what it may still send.
#[derive(Clone, Copy, Debug, Default)]
struct Opening {
    at: Time,
    packets_left: i64,
    bytes_left: i64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    requeues: u64,
    dropped: u64,
    corrupted: u64,
    duplicated: u64,
    reordered: u64,
    ecn_marked: u64,
}

/// The impairments, in front of an optional child that takes the packets when they are due.
struct Netem {
    params: Params,
    /// The measured series that the delay follows.
    series: Option<DelayCursor>,
    /// Mean and spread of the delay.
    drawn: (i64, i32),
    /// Whether more than delay can happen to a packet.
    perturbs: bool,
    /// Whether all packets wait equally long and nothing else happens to them, as in most scenarios.
    is_steady: bool,
    rng: Rng,
    delays: Correlated,
    losses: Correlated,
    duplicates: Correlated,
    reorders: Correlated,
    corruptions: Correlated,
    state: State,
    /// How many packets were put in line before the last one that was sent ahead.
    counted: u64,
    /// Packets sent ahead; the youngest is at the front.
    ahead: VecDeque<Packet>,
    line: DelayLine,
    child: Option<Box<dyn Qdisc>>,
    opening: Opening,
    counters: Counters,
}

impl Netem {
    fn new(params: &Params, env: Env, child: Option<Box<dyn Qdisc>>) -> Self {
        let mut netem = Self {
            params: params.clone(),
            series: params.trace.as_ref().map(|trace| trace.cursor(env.start())),
            drawn: (0, 0),
            perturbs: true,
            is_steady: false,
            rng: params.seed.map_or(env.rng, Self::seeded),
            delays: Correlated::default(),
            losses: Correlated::default(),
            duplicates: Correlated::default(),
            reorders: Correlated::default(),
            corruptions: Correlated::default(),
            state: State::default(),
            counted: 0,
            ahead: VecDeque::new(),
            line: DelayLine::default(),
            child,
            opening: Opening::default(),
            counters: Counters::default(),
        };
        let mut given = Given::default();
        for name in [CORRUPT, REORDER, SLOT] {
            given.add(name);
        }
        netem.configure(env.now, params, &given, true);
        netem
    }

    fn seeded(seed: u64) -> Rng {
        Rng::named(seed, "netem")
    }

    /// Takes over `params`; what was given starts afresh.
    fn configure(&mut self, now: Time, params: &Params, given: &Given, correlates: bool) {
        // A seed that is only repeated does not repeat the numbers.
        if let Some(seed) = params.seed.filter(|_| params.seed != self.params.seed) {
            self.rng = Self::seeded(seed);
        }
        self.params = params.clone();
        self.perturbs = params.perturbs();
        let (mean, jitter) = params.drawn();
        self.drawn = (i64::try_from(mean.0).unwrap_or(i64::MAX), jitter);
        let draws = self.perturbs || jitter != 0 || self.series.is_some() || params.gap.is_some();
        let is_line = params.rate.is_none() && params.slot.is_none() && self.child.is_none();
        self.is_steady = is_line && !draws;
        (self.line.delay, self.line.limit) = (mean, params.limit);
        let rng = &mut self.rng;
        if correlates {
            let [delay, loss, duplicate] = params.correlations;
            self.delays = Correlated::new(delay, rng);
            self.losses = Correlated::new(loss, rng);
            self.duplicates = Correlated::new(duplicate, rng);
        }
        let of_reorder = params.ahead.correlation();
        if given.has(REORDER) || of_reorder == 0 {
            self.reorders = Correlated::new(of_reorder, rng);
        }
        if given.has(CORRUPT) {
            let correlation = params.corrupt.map_or(0, Chance::correlation);
            self.corruptions = Correlated::new(correlation, rng);
        }
        if given.has(LOSS) {
            self.state = State::default();
        }
        if let (true, Some(slot)) = (given.has(SLOT), params.slot) {
            self.open(&slot, now);
        }
    }

    /// A burst with full allowance opens `at`.
    fn open(&mut self, slot: &Slot, at: Time) {
        let most = |n: u64| if n == 0 { i64::from(i32::MAX) } else { n as i64 };
        let (packets_left, bytes_left) = (most(slot.packets.into()), most(slot.bytes));
        self.opening = Opening { at, packets_left, bytes_left };
    }

    // Linux 6.12 `get_slot_next`.
    fn open_next(&mut self, slot: &Slot, now: Time) {
        let rng = &mut self.rng;
        let wait = match slot.spacing {
            Spacing::Between(min, max) => {
                let spread = u128::from(max.0 - min.0) * u128::from(rng.u32());
                min + Dur((spread >> 32) as u64)
            }
            Spacing::Drawn(shape, delay, jitter) => {
                let sigma = jitter.0.min(i32::MAX as u64) as i32;
                let mean = i64::try_from(delay.0).unwrap_or(i64::MAX);
                Dur(sample(mean, sigma, Some(shape), || rng.u32()).max(0) as u64)
            }
        };
        self.open(slot, now + wait);
    }

    /// One copy of an arrival; `is_copy` exempts it from duplication. Linux 6.12 `netem_enqueue`.
    fn perturb(&mut self, now: Time, mut pkt: Packet, is_copy: bool, log: &mut Log) {
        let (p, rng) = (&self.params, &mut self.rng);
        let mut count = 1;
        if !is_copy && self.duplicates.hits(share(p.duplicate), rng) {
            count += 1;
        }
        let (state, losses) = (&mut self.state, &mut self.losses);
        // A packet both lost and duplicated leaves once. With `ecn` a marked packet counts as
        // dropped, too.
        if p.loss.is_some_and(|loss| loss.happens(state, losses, rng)) {
            self.counters.dropped += 1;
            if p.ecn && pkt.ecn() != Ecn::NotEct {
                self.counters.ecn_marked += 1;
                let _capable = log.set_ce(&mut pkt, Reason::Loss);
            } else {
                count -= 1;
            }
        }
        if count == 0 {
            log.drop(&pkt, Reason::Loss);
            return;
        }
        let copy = pkt;
        if self.corruptions.hits(share(p.corrupt), rng) {
            self.counters.corrupted += 1;
            pkt.set_corrupt();
        }
        if count > 1 && !self.is_full() {
            self.counters.duplicated += 1;
            log.duplicate(&copy);
            self.perturb(now, copy, true, log);
            self.delay(now, pkt);
        } else {
            self.admit(now, pkt, log);
        }
    }

    /// Packets since the last one that was sent ahead.
    fn since_ahead(&self) -> u32 {
        (self.line.numbers - self.counted) as u32
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.backlog().packets >= self.params.limit
    }

    // Linux 6.12 `netem_enqueue`.
    #[inline]
    fn admit(&mut self, now: Time, pkt: Packet, log: &mut Log) {
        if self.is_full() {
            log.drop(&pkt, Reason::TailLimit);
        } else {
            self.delay(now, pkt);
        }
    }

    // Linux 6.12 `netem_enqueue`.
    #[inline]
    fn delay(&mut self, now: Time, mut pkt: Packet) {
        pkt.stamp = now;
        self.line.held.add(&pkt);
        let since_ahead = self.since_ahead();
        let (p, rng) = (&self.params, &mut self.rng);
        let is_delayed = p
            .gap
            .is_none_or(|gap| since_ahead < gap - 1 || share(p.reorder) < self.reorders.draw(rng));
        if !is_delayed {
            self.counted = self.line.numbers;
            self.counters.reordered += 1;
            self.counters.requeues += 1;
            self.ahead.push_front(pkt);
            return;
        }
        let mut delay = if let Some(series) = &mut self.series {
            series.advance(now);
            series.value().0 as i64
        } else {
            let (mean, jitter) = self.drawn;
            sample(mean, jitter, p.distribution, || self.delays.draw(rng))
        };
        let mut base = now;
        if let Some(wire) = &p.rate {
            // The wire is busy until the last packet has left; waiting for it uses up the delay.
            let last = self.line.last().max(self.ahead.back().map(|p| p.stamp));
            if let Some(last) = last {
                let ahead = last.0.cast_signed().wrapping_sub(now.0.cast_signed());
                delay = delay.saturating_sub(ahead).max(0);
                base = last;
            }
            delay = delay.saturating_add(wire.time_for(pkt.len) as i64);
        }
        let mut to_send = Time(base.0.saturating_add_signed(delay));
        if let (Some(_), Some(last)) = (&self.series, self.line.last()) {
            // A path whose delay falls does not reorder: what came before goes first.
            to_send = to_send.max(last);
        }
        self.line.insert(now, to_send, pkt);
    }

    /// The next packet that is due and has its burst open; else sets the watchdog.
    /// Linux 6.12 `netem_dequeue`.
    #[inline]
    fn release(&mut self, now: Time) -> Option<Packet> {
        let to_send = self.line.next()?;
        let Some(slot) = self.params.slot else {
            if to_send > now {
                self.line.watchdog = to_send;
                return None;
            }
            return self.line.pop();
        };
        // A packet that was not ready when the slot opened waits for a fresh one.
        if self.opening.at < to_send {
            self.open_next(&slot, now);
        }
        if to_send > now || self.opening.at > now {
            self.line.watchdog = to_send.max(self.opening.at);
            return None;
        }
        let pkt = self.line.pop()?;
        self.opening.packets_left -= 1;
        self.opening.bytes_left -= i64::from(pkt.len);
        if self.opening.packets_left <= 0 || self.opening.bytes_left <= 0 {
            self.open_next(&slot, now);
        }
        Some(pkt)
    }
}

impl Qdisc for Netem {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: Packet, log: &mut Log) {
        if self.is_steady {
            self.line.enqueue(now, pkt, log);
        } else if self.perturbs {
            self.perturb(now, pkt, false, log);
        } else {
            self.admit(now, pkt, log);
        }
    }

    // Linux 6.12 `netem_dequeue`: what was sent ahead goes first.
    #[inline]
    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<Packet> {
        self.line.watchdog = Time::NEVER;
        if let Some(pkt) = self.ahead.pop_front() {
            self.line.held.remove(&pkt);
            return Some(pkt);
        }
        if self.is_steady {
            return self.line.dequeue(now);
        }
        while let Some(pkt) = self.release(now) {
            self.line.held.remove(&pkt);
            match &mut self.child {
                Some(child) => child.enqueue(now, pkt, log),
                None => return Some(pkt),
            }
        }
        self.child.as_mut().filter(|c| c.backlog().packets > 0)?.dequeue(now, log)
    }

    #[inline]
    fn wake(&self) -> Time {
        self.child.as_ref().map_or(self.line.watchdog, |child| self.line.watchdog.min(child.wake()))
    }

    #[inline]
    fn line(&mut self) -> Option<&mut DelayLine> {
        (self.is_steady && self.ahead.is_empty()).then_some(&mut self.line)
    }

    #[inline]
    fn on_wake(&mut self, now: Time, log: &mut Log) {
        if let Some(child) = self.child.as_mut().filter(|c| c.wake() <= now) {
            child.on_wake(now, log);
        }
        if self.line.watchdog <= now {
            self.line.watchdog = Time::NEVER;
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        let Some(child) = &self.child else { return self.line.held };
        let inner = child.backlog();
        Backlog {
            packets: self.line.held.packets + inner.packets,
            bytes: self.line.held.bytes + inner.bytes,
        }
    }

    fn change(&mut self, now: Time, to: &Spec, given: &Given, _log: &mut Log) {
        if let Some(to) = to.params::<Params>() {
            self.series = self.series.take().filter(|_| to.trace_name().is_some());
            self.configure(now, to, given, to.is_correlated());
        }
    }

    fn spec(&self) -> Spec {
        spec(&ENTRY, self.params.clone())
    }

    fn delay(&self) -> Dur {
        self.params.drawn().0
    }

    fn stats(&self, out: &mut Stats) {
        let c = &self.counters;
        for (name, count) in [
            ("requeues", c.requeues),
            ("delayed", self.line.delayed),
            ("dropped", c.dropped),
            ("corrupted", c.corrupted),
            ("duplicated", c.duplicated),
            ("reordered", c.reordered),
            ("ecn_marked", c.ecn_marked),
        ] {
            out.put(name, count as f64);
        }
    }

    fn probe(&self, out: &mut Probe<'_>) {
        let delay = self.series.as_ref().map_or_else(|| self.params.drawn().0, DelayCursor::value);
        out.put("delay", "ms", delay.as_millis_f64());
        if let Some(child) = &self.child {
            child.probe(out);
        }
    }

    fn purge(&mut self, log: &mut Log) {
        let ahead = self.ahead.drain(..);
        for pkt in ahead.chain(std::iter::from_fn(|| self.line.pop())) {
            log.drop(&pkt, Reason::Purge);
        }
        if let Some(child) = &mut self.child {
            child.purge(log);
        }
        self.line.held = Backlog::default();
        self.line.watchdog = Time::NEVER;
    }

    fn leaf(&self) -> Option<&dyn Qdisc> {
        self.child.as_deref()
    }

    fn leaf_mut(&mut self) -> Option<&mut Box<dyn Qdisc>> {
        self.child.as_mut()
    }
}

#[cfg(test)]
mod tests;
