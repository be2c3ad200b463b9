//! `grant`: a cellular link. A scheduler grants a transport block per slot; a block that fails is
//! sent again a HARQ round trip later, in place of new data; acknowledged mode (RLC AM) releases
//! packets in order and turns loss into delay. After 3GPP TS 38.321 5.4 (HARQ, buffer status) and
//! TS 38.322 (RLC), reduced to one process queue and one user.

use std::collections::VecDeque;

use crate::aqm::{
    Backlog, Discipline, Entry, Env, Fifo, Kernel, Log, Qdisc, Reason, Spec, Stats, TXQUEUELEN,
    accepts, entry, spec,
};
use crate::impair::shell::Shell;
use crate::traces::{RateCursor, RateSteps, Steps, digest, file, unit};
use sojourn_core::grammar::forms::{custom, maybe, number, percentage};
use sojourn_core::grammar::{Args, Given, GrammarError};
use sojourn_core::packet::Packet;
use sojourn_core::parameters;
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::{Dur, Rate, Time};

pub(crate) const ENTRY: Entry = entry::<Params>(
    "grant",
    "Cellular link: slots, block errors, HARQ, in-order release, grant delay",
    "3GPP TS 38.321 and 38.322, simplified",
    Kernel::Nowhere,
);

parameters! {
    /// Parameters of `grant`.
    pub(crate) struct Params {
        /// Constant rate of the grants, layer-2 bytes.
        rate: Option<Rate> = None, default "(required without file)";
        /// Rate trace instead of `rate`, read as `rate_trace` does.
        file: Option<String> = None => maybe(file()), default "none";
        /// What the file's content must give; the resolved scenario states it.
        digest: Option<String> = None => maybe(digest()), default "that of the file";
        /// What a bandwidth of 1 in the file means.
        unit: Rate = Rate(1000) => unit();
        /// After the last step of the file, start over or keep its rate.
        repeats: bool = true, name "repeat|hold";
        /// Period of the grants: 1ms in LTE, 500us in NR at 30 kHz.
        slot: Dur = Dur::from_millis(1) => custom("TIME", read_slot, Dur::to_string);
        /// Probability that a block fails, in each attempt.
        loss_percent: f64 = 0.0 => percentage(0.0..=99.0), name "loss";
        /// From an attempt to the next, in whole slots.
        harq: Dur = Dur::from_millis(8);
        /// Attempts until HARQ gives a block up.
        attempts: u32 = 4 => number(1..=1000);
        /// From the arrival of bytes to the first grant for them (buffer status report).
        request: Dur = Dur::ZERO;
        /// Acknowledged mode: in order, and a block given up is sent as if it were new; or
        /// unacknowledged: as they complete, and without those given up.
        is_acknowledged: bool = true, name "am|um";
    }
    keeps {
        /// The file's content, once checked.
        steps: Option<Steps<Rate>> = None;
    }
    settle has_source;
}

fn read_slot(args: &mut Args<'_>) -> Result<Dur, GrammarError> {
    let time = |word| Dur::parse_tc(word).filter(|d| d.0 >= 1000 && *d <= Dur::from_secs(1));
    args.value("a time from 1us to 1s", time)
}

impl Params {
    fn has_source(&self, _given: &Given) -> Result<(), String> {
        if self.rate.is_some_and(|rate| rate > Rate(0)) == self.file.is_some() {
            return Err("either `rate`, above zero, or `file` is required".to_owned());
        }
        Ok(())
    }

    fn constant(&self) -> Rate {
        self.rate.unwrap_or_default()
    }
}

impl Discipline for Params {
    fn check(&mut self, env: &Env) -> Result<(), String> {
        if let (Some(file), None) = (&self.file, &self.steps) {
            let trace: RateSteps = env.traces.find("file", Some(file), &mut self.digest)?;
            self.steps = Some(trace.in_unit(self.unit, self.repeats)?);
        }
        Ok(())
    }

    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        self.around(env, Box::new(Fifo::pfifo(TXQUEUELEN)))
    }

    fn is_shaper(&self) -> bool {
        true
    }

    fn around(&self, env: Env, leaf: Box<dyn Qdisc>) -> Box<dyn Qdisc> {
        let rate = |steps| RateCursor::new(steps, self.repeats, env.start());
        Box::new(Grant {
            params: self.clone(),
            rate: self.steps.clone().map(rate),
            anchor: (env.start(), 0),
            rng: env.rng,
            next_slot: 0,
            on_air: None,
            again: VecDeque::new(),
            window: VecDeque::new(),
            first: 0,
            held: Backlog::default(),
            reports: VecDeque::new(),
            known: 0,
            fraction: 0,
            shell: Shell::new(leaf),
            counters: Counters::default(),
        })
    }

    fn accepts(&self, to: &Spec) -> Result<(), String> {
        let source = |p: &Self| (p.file.clone(), p.digest.clone(), p.repeats, p.unit);
        accepts(to, |to: &Self| source(to) == source(self), "another trace needs a replace")
    }

    fn set_rate(&mut self, rate: Rate) -> Result<(), String> {
        if self.rate.is_none() {
            return Err("there is no rate to change".to_owned());
        }
        self.rate = Some(rate);
        self.has_source(&Given::default())
    }

    fn capacity(&self) -> Option<Rate> {
        self.rate
    }
}

/// A packet of which at least one byte was granted.
#[derive(Clone, Copy, Debug)]
struct Segmented {
    pkt: Packet,
    /// Bytes not granted yet.
    unsent: u32,
    /// Blocks with a part of it that have not arrived.
    blocks: u32,
    is_lost: bool,
    /// Released or dropped already, behind one that is not.
    is_gone: bool,
}

impl Segmented {
    fn is_complete(&self) -> bool {
        self.unsent == 0 && self.blocks == 0
    }
}

/// A transport block: parts of the packets `first..=last`.
#[derive(Clone, Copy, Debug)]
struct Block {
    first: u64,
    last: u64,
    attempts: u32,
    /// Slot of the latest attempt or, for a block that waits, of the next.
    slot: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    blocks: u64,
    failed: u64,
    retransmitted: u64,
    given_up: u64,
    padding: u64,
}

/// The link, in front of its queue.
struct Grant {
    params: Params,
    rng: Rng,
    rate: Option<RateCursor>,
    /// Slot `anchor.1` begins at `anchor.0`.
    anchor: (Time, u64),
    /// The first slot that is not served.
    next_slot: u64,
    /// The block of the slot before, whose fate its end decides.
    on_air: Option<Block>,
    /// Failed blocks in order of their next attempt.
    again: VecDeque<Block>,
    /// Packets from the first that was not released to the last that was granted a byte.
    window: VecDeque<Segmented>,
    /// Number of the first of them.
    first: u64,
    held: Backlog,
    /// Bytes of which the scheduler hears in a slot.
    reports: VecDeque<(u64, u64)>,
    /// Bytes of which it knows.
    known: u64,
    /// A fraction of a byte that the last slots left, in bits times nanoseconds per second.
    fraction: u128,
    shell: Shell,
    counters: Counters,
}

impl Grant {
    #[inline]
    fn time_of(&self, slot: u64) -> Time {
        self.anchor.0 + self.params.slot * (slot - self.anchor.1)
    }

    /// The first slot that begins at `at` or later.
    #[inline]
    fn slot_at(&self, at: Time) -> u64 {
        self.anchor.1 + at.since(self.anchor.0).0.div_ceil(self.params.slot.0)
    }

    #[inline]
    fn is_idle(&self) -> bool {
        self.window.is_empty() && !self.shell.is_waiting()
    }

    /// Bytes that wait for a grant.
    #[inline]
    fn ungranted(&self) -> u64 {
        let rest = self.window.back().map_or(0, |packet| u64::from(packet.unsent));
        self.shell.leaf.backlog().bytes + rest
    }

    /// One slot: the fate of the block before, then a retransmission or new data.
    /// After 3GPP TS 38.321 5.4: a retransmission goes before new data.
    fn serve(&mut self, now: Time, log: &mut Log) {
        let slot = self.next_slot;
        self.next_slot += 1;
        if let Some(block) = self.on_air.take() {
            self.conclude(block, slot, log);
        }
        while self.reports.front().is_some_and(|(due, _)| *due <= slot) {
            self.known += self.reports.pop_front().map_or(0, |(_, bytes)| bytes);
        }
        if self.again.front().is_some_and(|block| block.slot <= slot) {
            self.counters.retransmitted += 1;
            self.on_air = self.again.pop_front().map(|block| Block {
                attempts: block.attempts + 1,
                slot,
                ..block
            });
        } else {
            self.on_air = self.fill(slot, now, log);
        }
        self.counters.blocks += u64::from(self.on_air.is_some());
    }

    /// The end of the slot in which `block` was sent. After 3GPP TS 38.321 5.4 (HARQ).
    fn conclude(&mut self, block: Block, slot: u64, log: &mut Log) {
        let percent = self.params.loss_percent;
        let fails = percent > 0.0 && self.rng.unit() * 100.0 < percent;
        self.counters.failed += u64::from(fails);
        let gives_up = fails && block.attempts >= self.params.attempts;
        self.counters.given_up += u64::from(gives_up);
        if fails && (!gives_up || self.params.is_acknowledged) {
            let distance = self.params.harq.0.div_ceil(self.params.slot.0);
            let attempts = if gives_up { 0 } else { block.attempts };
            let slot = slot.max(block.slot + distance);
            self.again.push_back(Block { attempts, slot, ..block });
            return;
        }
        for number in block.first..=block.last {
            let packet = &mut self.window[(number - self.first) as usize];
            packet.blocks -= 1;
            packet.is_lost |= fails;
            if packet.is_complete() && !self.params.is_acknowledged {
                Self::release(packet, &mut self.held, &mut self.shell, log);
            }
        }
        while let Some(packet) = self.window.front_mut().filter(|packet| packet.is_complete()) {
            Self::release(packet, &mut self.held, &mut self.shell, log);
            self.window.pop_front();
            self.first += 1;
        }
    }

    // After 3GPP TS 38.322 (RLC AM).
    fn release(packet: &mut Segmented, held: &mut Backlog, shell: &mut Shell, log: &mut Log) {
        if std::mem::replace(&mut packet.is_gone, true) {
            return;
        }
        held.remove(&packet.pkt);
        if packet.is_lost {
            log.drop(&packet.pkt, Reason::Loss);
        } else {
            shell.put(packet.pkt);
        }
    }

    /// A block of new data as large as the grant of `slot`.
    fn fill(&mut self, slot: u64, now: Time, log: &mut Log) -> Option<Block> {
        let rate = match &mut self.rate {
            Some(trace) => {
                trace.advance(now);
                trace.rate()
            }
            None => self.params.constant(),
        };
        let bits = u128::from(rate.0) * u128::from(self.params.slot.0) + self.fraction;
        let capacity = (bits / 8_000_000_000) as u64;
        self.fraction = bits % 8_000_000_000;
        let mut left = capacity;
        if self.params.request > Dur::ZERO {
            self.known = self.known.min(self.ungranted());
            left = left.min(self.known);
        }
        let granted = left;
        let mut first = None;
        while left > 0 {
            if self.window.back().is_none_or(|packet| packet.unsent == 0) {
                let Some(pkt) = self.shell.take(now, log) else { break };
                self.held.add(&pkt);
                let (unsent, blocks, is_lost, is_gone) = (pkt.len.max(1), 0, false, false);
                self.window.push_back(Segmented { pkt, unsent, blocks, is_lost, is_gone });
            }
            let Some(packet) = self.window.back_mut() else { break };
            let part = left.min(u64::from(packet.unsent));
            packet.unsent -= part as u32;
            packet.blocks += 1;
            left -= part;
            first = first.or(Some(self.first + self.window.len() as u64 - 1));
        }
        let sent = granted - left;
        self.known = self.known.saturating_sub(sent);
        let first = first?;
        self.counters.padding += capacity - sent;
        let last = self.first + self.window.len() as u64 - 1;
        Some(Block { first, last, attempts: 1, slot })
    }
}

impl Qdisc for Grant {
    fn enqueue(&mut self, now: Time, pkt: Packet, log: &mut Log) {
        if self.is_idle() {
            self.next_slot = self.next_slot.max(self.slot_at(now));
        }
        let before = self.shell.leaf.backlog().bytes;
        self.shell.leaf.enqueue(now, pkt, log);
        let more = self.shell.leaf.backlog().bytes.saturating_sub(before);
        if self.params.request > Dur::ZERO && more > 0 {
            let due = self.slot_at(now + self.params.request);
            match self.reports.back_mut().filter(|(slot, _)| *slot == due) {
                Some((_, bytes)) => *bytes += more,
                None => self.reports.push_back((due, more)),
            }
        }
    }

    #[inline]
    fn dequeue(&mut self, _now: Time, _log: &mut Log) -> Option<Packet> {
        self.shell.fetch()
    }

    #[inline]
    fn next_len(&self) -> Option<u32> {
        self.shell.next_len()
    }

    #[inline]
    fn wake(&self) -> Time {
        let leaf = self.shell.leaf.wake();
        if self.is_idle() { leaf } else { leaf.min(self.time_of(self.next_slot)) }
    }

    fn on_wake(&mut self, now: Time, log: &mut Log) {
        self.shell.wake_leaf(now, log);
        while !self.is_idle() && self.time_of(self.next_slot) <= now {
            self.serve(now, log);
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.shell.backlog([]) + self.held
    }

    fn change(&mut self, now: Time, to: &Spec, _given: &Given, _log: &mut Log) {
        let Some(to) = to.params::<Params>() else { return };
        // The slot that follows stays where it is; the new period begins with it.
        self.next_slot = self.next_slot.max(self.slot_at(now));
        self.anchor = (self.time_of(self.next_slot), self.next_slot);
        self.params = to.clone();
        // What waits is known from now on, so that no report is needed twice or never.
        self.reports.clear();
        self.known = self.ungranted();
    }

    fn spec(&self) -> Spec {
        spec(&ENTRY, self.params.clone())
    }

    fn stats(&self, out: &mut Stats) {
        let c = &self.counters;
        out.put("blocks", c.blocks as f64);
        out.put("failed_blocks", c.failed as f64);
        out.put("retransmitted_blocks", c.retransmitted as f64);
        out.put("given_up_blocks", c.given_up as f64);
        out.put("padding_bytes", c.padding as f64);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        let rate = self.rate.as_ref().map_or_else(|| self.params.constant(), RateCursor::rate);
        out.put("rate", "Mbit/s", rate.as_mbps());
        out.put("reordering_packets", "packets", f64::from(self.held.packets));
        out.put("failed_blocks", "packets", self.counters.failed as f64);
        self.shell.leaf.probe(out);
    }

    fn purge(&mut self, log: &mut Log) {
        for packet in self.window.drain(..).filter(|packet| !packet.is_gone) {
            log.drop(&packet.pkt, Reason::Purge);
        }
        self.held = Backlog::default();
        self.on_air = None;
        self.again.clear();
        self.reports.clear();
        self.known = 0;
        self.shell.purge([], log);
    }

    fn leaf(&self) -> Option<&dyn Qdisc> {
        Some(&*self.shell.leaf)
    }

    fn leaf_mut(&mut self) -> Option<&mut Box<dyn Qdisc>> {
        Some(&mut self.shell.leaf)
    }
}

#[cfg(test)]
mod tests;
