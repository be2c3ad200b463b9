//! `netem`: delay, jitter, loss, duplication, corruption, reordering, rate and slots. Linux 6.12
//! `sch_netem`; the words follow iproute2 7.3.

mod dist;
mod loss;
mod params;

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

use self::dist::sample;
use self::loss::{Correlated, State};
use self::params::{Given, Params, Slot, Spacing};
use crate::aqm::{Backlog, Env, Kernel, Log, OldEntry, Qdisc, Reason, Stats};
use crate::impair::trace::{DelayCursor, FileWords};
use sojourn_core::ecn::Ecn;
use sojourn_core::grammar::{Args, GrammarError};
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::{Dur, Time};

pub(crate) const ENTRY: OldEntry = OldEntry {
    name: "netem",
    summary: "Delay, loss and other impairments",
    reference: "Linux 6.12 sch_netem",
    kernel: Kernel::Mainline("2.6"),
    params: params::PARAMS,
    build: |args, env| Ok(Box::new(Netem::parse(args, env, None)?)),
};

/// A packet with its time to send; equal times go in the order of arrival.
#[derive(Clone, Copy, Debug)]
struct Delayed {
    to_send: Time,
    number: u64,
    pkt: Packet,
}

impl Delayed {
    #[inline]
    fn key(&self) -> (Time, u64) {
        (self.to_send, self.number)
    }
}

impl PartialEq for Delayed {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Delayed {}

impl PartialOrd for Delayed {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Delayed {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// Packets by time to send. What comes in order is appended to a line; only what overtakes the
/// end of the line costs a heap operation. The end of the line is later than the whole heap.
#[derive(Debug, Default)]
struct DelayLine {
    line: VecDeque<Delayed>,
    early: BinaryHeap<Reverse<Delayed>>,
    numbers: u64,
}

impl DelayLine {
    #[inline]
    fn insert(&mut self, to_send: Time, pkt: Packet) {
        self.numbers += 1;
        let delayed = Delayed { to_send, number: self.numbers, pkt };
        if self.last().is_none_or(|last| last <= to_send) {
            self.line.push_back(delayed);
        } else {
            self.early.push(Reverse(delayed));
        }
    }

    /// The latest time to send.
    #[inline]
    fn last(&self) -> Option<Time> {
        self.line.back().map(|d| d.to_send)
    }

    #[inline]
    fn next(&self) -> Option<Time> {
        let line = self.line.front().map(|d| d.to_send);
        match self.early.peek() {
            Some(Reverse(early)) => line.map(|t| t.min(early.to_send)),
            None => line,
        }
    }

    #[inline]
    fn pop(&mut self) -> Option<Packet> {
        if let Some(Reverse(early)) = self.early.peek()
            && self.line.front().is_none_or(|front| early < front)
        {
            return self.early.pop().map(|Reverse(d)| d.pkt);
        }
        self.line.pop_front().map(|d| d.pkt)
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
    delayed: u64,
    dropped: u64,
    corrupted: u64,
    duplicated: u64,
    reordered: u64,
    ecn_marked: u64,
}

/// The impairments, in front of an optional child that takes the packets when they are due.
pub struct Netem {
    params: Params,
    /// The measured series that the delay follows.
    series: Option<(FileWords, DelayCursor)>,
    /// Whether more than delay can happen to a packet.
    perturbs: bool,
    rng: Rng,
    delays: Correlated,
    losses: Correlated,
    duplicates: Correlated,
    reorders: Correlated,
    corruptions: Correlated,
    state: State,
    /// Packets since the last one that was sent ahead.
    counter: u32,
    /// Packets sent ahead; the youngest is at the front.
    ahead: VecDeque<Packet>,
    line: DelayLine,
    child: Option<Box<dyn Qdisc>>,
    /// What is held before the child.
    held: Backlog,
    opening: Opening,
    watchdog: Time,
    counters: Counters,
}

impl Netem {
    /// The impairments that `args` describes (the words after `netem`), in front of `child`.
    pub(crate) fn parse(
        args: &mut Args<'_>,
        env: Env,
        child: Option<Box<dyn Qdisc>>,
    ) -> Result<Self, GrammarError> {
        let (params, mut given) = Params::default().read(args)?;
        let series = match given.trace.take() {
            Some(mut words) => {
                let cursor = env.traces.delays(&mut words, args, env.start())?;
                Some((words, cursor))
            }
            None => None,
        };
        let mut netem = Self {
            params,
            series,
            perturbs: true,
            rng: params.seed.map_or(env.rng, Self::seeded),
            delays: Correlated::default(),
            losses: Correlated::default(),
            duplicates: Correlated::default(),
            reorders: Correlated::default(),
            corruptions: Correlated::default(),
            state: State::default(),
            counter: 0,
            ahead: VecDeque::new(),
            line: DelayLine::default(),
            child,
            held: Backlog::default(),
            opening: Opening::default(),
            watchdog: Time::NEVER,
            counters: Counters::default(),
        };
        netem.configure(env.now, params, &given);
        Ok(netem)
    }

    fn seeded(seed: u64) -> Rng {
        Rng::named(seed, "netem")
    }

    /// Takes over `params`; what was given starts afresh.
    fn configure(&mut self, now: Time, params: Params, given: &Given) {
        // A seed that is only repeated does not repeat the numbers.
        if let Some(seed) = params.seed.filter(|_| params.seed != self.params.seed) {
            self.rng = Self::seeded(seed);
        }
        self.params = params;
        self.perturbs = params.perturbs();
        let rng = &mut self.rng;
        if given.correlation {
            self.delays = Correlated::new(params.delay_correlation, rng);
            self.losses = Correlated::new(params.loss_correlation, rng);
            self.duplicates = Correlated::new(params.duplicate_correlation, rng);
        }
        if given.reorder || params.reorder_correlation == 0 {
            self.reorders = Correlated::new(params.reorder_correlation, rng);
        }
        if given.corrupt {
            self.corruptions = Correlated::new(params.corrupt_correlation, rng);
        }
        if given.loss {
            self.state = State::default();
        }
        if let (true, Some(slot)) = (given.slot, params.slot) {
            self.open(&slot, now);
        }
    }

    /// A burst with full allowance opens `at`.
    fn open(&mut self, slot: &Slot, at: Time) {
        let most = |n: u64| if n == 0 { i64::from(i32::MAX) } else { n as i64 };
        let (packets_left, bytes_left) = (most(slot.packets.into()), most(slot.bytes));
        self.opening = Opening { at, packets_left, bytes_left };
    }

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

    /// One copy of an arrival; `is_copy` exempts it from duplication.
    fn perturb(&mut self, now: Time, mut pkt: Packet, is_copy: bool, log: &mut Log) {
        let (p, rng) = (&self.params, &mut self.rng);
        let mut count = 1;
        if !is_copy && self.duplicates.hits(p.duplicate, rng) {
            count += 1;
        }
        if p.loss.happens(&mut self.state, &mut self.losses, rng) {
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
        if self.corruptions.hits(p.corrupt, rng) {
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

    #[inline]
    fn is_full(&self) -> bool {
        self.backlog().packets >= self.params.limit
    }

    #[inline]
    fn admit(&mut self, now: Time, pkt: Packet, log: &mut Log) {
        if self.is_full() {
            log.drop(&pkt, Reason::TailLimit);
        } else {
            self.delay(now, pkt);
        }
    }

    #[inline]
    fn delay(&mut self, now: Time, mut pkt: Packet) {
        pkt.stamp = now;
        self.held.add(&pkt);
        let (p, rng) = (&self.params, &mut self.rng);
        let is_delayed =
            p.gap == 0 || self.counter < p.gap - 1 || p.reorder < self.reorders.draw(rng);
        if !is_delayed {
            self.counter = 0;
            self.counters.reordered += 1;
            self.counters.requeues += 1;
            self.ahead.push_front(pkt);
            return;
        }
        let mut delay = if let Some((_, series)) = &mut self.series {
            series.advance(now);
            series.value().0 as i64
        } else {
            let mean = i64::try_from(p.delay.0).unwrap_or(i64::MAX);
            sample(mean, p.jitter, p.shape, || self.delays.draw(rng))
        };
        let mut base = now;
        if p.wire.rate.0 != 0 {
            // The wire is busy until the last packet has left; waiting for it uses up the delay.
            let last = self.line.last().max(self.ahead.back().map(|p| p.stamp));
            if let Some(last) = last {
                let ahead = last.0.cast_signed().wrapping_sub(now.0.cast_signed());
                delay = delay.saturating_sub(ahead).max(0);
                base = last;
            }
            delay = delay.saturating_add(p.wire.time_for(pkt.len) as i64);
        }
        let mut to_send = Time(base.0.saturating_add_signed(delay));
        if let (Some(_), Some(last)) = (&self.series, self.line.last()) {
            // A path whose delay falls does not reorder: what came before goes first.
            to_send = to_send.max(last);
        }
        self.counter = self.counter.wrapping_add(1);
        self.counters.delayed += u64::from(to_send > now);
        self.line.insert(to_send, pkt);
    }

    /// The next packet that is due and has its burst open; else sets the watchdog.
    #[inline]
    fn release(&mut self, now: Time) -> Option<Packet> {
        let to_send = self.line.next()?;
        let Some(slot) = self.params.slot else {
            if to_send > now {
                self.watchdog = to_send;
                return None;
            }
            return self.line.pop();
        };
        if self.opening.at < to_send {
            self.open_next(&slot, now);
        }
        if to_send > now || self.opening.at > now {
            self.watchdog = to_send.max(self.opening.at);
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
        if self.perturbs {
            self.perturb(now, pkt, false, log);
        } else {
            self.admit(now, pkt, log);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<Packet> {
        self.watchdog = Time::NEVER;
        if let Some(pkt) = self.ahead.pop_front() {
            self.held.remove(&pkt);
            return Some(pkt);
        }
        while let Some(pkt) = self.release(now) {
            self.held.remove(&pkt);
            match &mut self.child {
                Some(child) => child.enqueue(now, pkt, log),
                None => return Some(pkt),
            }
        }
        self.child.as_mut().filter(|c| c.backlog().packets > 0)?.dequeue(now, log)
    }

    #[inline]
    fn wake(&self) -> Time {
        self.child.as_ref().map_or(self.watchdog, |child| self.watchdog.min(child.wake()))
    }

    #[inline]
    fn on_wake(&mut self, now: Time, log: &mut Log) {
        if let Some(child) = self.child.as_mut().filter(|c| c.wake() <= now) {
            child.on_wake(now, log);
        }
        if self.watchdog <= now {
            self.watchdog = Time::NEVER;
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        let Some(child) = &self.child else { return self.held };
        let inner = child.backlog();
        Backlog { packets: self.held.packets + inner.packets, bytes: self.held.bytes + inner.bytes }
    }

    fn old_change(
        &mut self,
        now: Time,
        args: &mut Args<'_>,
        _log: &mut Log,
    ) -> Result<(), GrammarError> {
        let (params, given) = self.params.read(args)?;
        match (&given.trace, &self.series) {
            (None, _) => self.series = None,
            (Some(words), Some((own, _))) if words.is_same_file(own) => {}
            _ => return Err(args.invalid("another trace needs a replace")),
        }
        self.configure(now, params, &given);
        Ok(())
    }

    fn describe(&self) -> String {
        let trace =
            |(words, _): &(FileWords, DelayCursor)| format!(" delay trace {}", words.stated());
        format!(
            "netem {}{}",
            self.params.words(),
            self.series.as_ref().map_or(String::new(), trace)
        )
    }

    fn delay(&self) -> Dur {
        self.params.delay
    }

    fn stats(&self, out: &mut Stats) {
        let c = &self.counters;
        for (name, count) in [
            ("requeues", c.requeues),
            ("delayed", c.delayed),
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
        let delay = self.series.as_ref().map_or(self.params.delay, |(_, series)| series.value());
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
        self.held = Backlog::default();
        self.watchdog = Time::NEVER;
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
