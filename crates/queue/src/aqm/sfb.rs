//! `sfb`: stochastic fair BLUE, a Bloom filter of BLUE probabilities over flows. Feng, Kandlur,
//! Saha and Shin 2001; Linux 6.12 `sch_sfb`, with the defaults of iproute2 7.3.

use std::collections::VecDeque;

use super::{
    Backlog, Discipline, Entry, Env, Kernel, Log, Qdisc, Reason, Spec, Stats, TXQUEUELEN, entry,
    spec,
};
use sojourn_core::grammar::forms::{Form, custom, packets, whole};
use sojourn_core::grammar::{Args, Given};
use sojourn_core::jiffies::Jiffies;
use sojourn_core::packet::Packet;
use sojourn_core::parameters;
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::{Dur, Time};

pub(crate) const ENTRY: Entry = entry::<Params>(
    "sfb",
    "Stochastic fair BLUE: a Bloom filter of probabilities that finds greedy flows",
    "Feng, Kandlur, Saha and Shin 2001; Linux 6.12 sch_sfb",
    Kernel::Mainline("2.6.39"),
);

const LEVELS: usize = 8;
const BINS: usize = 16;
/// Probability 1.
const MAX_PROB: u32 = 0xffff;

parameters! {
    /// Parameters of `sfb`. As in tc, nothing is taken over from an earlier configuration.
    #[derive(Copy, PartialEq, Eq)]
    struct Params {
        /// Time between changes of the hash, a bare number; 0 is never.
        rehash: Dur = Dur::from_secs(600) => milliseconds();
        /// Time before a change in which the next filter learns the greedy flows.
        db: Dur = Dur::from_secs(60) => milliseconds();
        /// Packets that may wait; by default the device's txqueuelen.
        limit: u32 = TXQUEUELEN => packets(1..=u32::MAX.into());
        /// Packets of one flow that may wait.
        max: u32 = 0 => packets(1..=MOST_IN_BIN.into()), default "(5*target+1)/4, or 25";
        /// Packets in a bin that raise its probability.
        target: u32 = 0 => packets(1..=MOST_IN_BIN.into()), default "(4*max+3)/5, or 20";
        /// Step up, rounded to 1/65535.
        increment: u32 = 33 => step(), default "0.000503548";
        /// Step down, rounded to 1/65535.
        decrement: u32 = 3 => step(), default "0.0000457771";
        /// Packets per second that all flows at probability 1 may send.
        penalty_rate: u32 = 10 => whole("PPS", 0..=u32::MAX.into(), "");
        /// Burst of these packets.
        penalty_burst: u32 = 20 => packets(0..=u32::MAX.into());
    }
    begin forget;
    derive complete;
}

/// The kernel counts a bin's packets in 16 bits.
const MOST_IN_BIN: u32 = 0xffff;

impl Params {
    fn forget(&mut self) {
        *self = Self::default();
    }

    /// As tc does (iproute2 7.3, `sfb_parse_opt`).
    fn complete(&mut self, _given: &Given) {
        if self.max == 0 {
            self.max = if self.target > 0 { (self.target * 5 + 1) / 4 } else { 25 };
            self.max = self.max.min(MOST_IN_BIN);
        }
        if self.target == 0 {
            self.target = (self.max * 4 + 3) / 5;
        }
    }
}

fn milliseconds() -> impl Form<Dur> {
    let read = |args: &mut Args<'_>| Ok(Dur::from_millis(args.number(0..=u32::MAX.into())?));
    custom("MILLISECONDS", read, |time: &Dur| (time.0 / 1_000_000).to_string())
}

fn step() -> impl Form<u32> {
    let one = f64::from(MAX_PROB);
    let read = move |args: &mut Args<'_>| Ok((args.decimal(0.0..=1.0)? * one).round() as u32);
    custom("PROBABILITY", read, move |step: &u32| (f64::from(*step) / one).to_string())
}

impl Discipline for Params {
    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        Box::new(Sfb::new(*self, env))
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bin {
    prob: u32,
    packets: u32,
}

/// One generation of the filter.
#[derive(Debug, Default)]
struct Filter {
    /// Makes this generation's hash unlike the others'.
    salt: u32,
    bins: [[Bin; BINS]; LEVELS],
}

impl Filter {
    /// The flow's hash, never 0: four bits per level.
    #[inline]
    const fn hash(&self, pkt: &Packet) -> u32 {
        let mut h = pkt.hash ^ self.salt;
        h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
        h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
        h ^= h >> 16;
        if h == 0 { 1 } else { h }
    }

    #[inline]
    fn of(&mut self, hash: u32) -> impl Iterator<Item = &mut Bin> {
        let index = move |level: usize| (hash >> (4 * level)) as usize & (BINS - 1);
        self.bins.iter_mut().enumerate().map(move |(level, bins)| &mut bins[index(level)])
    }

    /// BLUE's step on each bin of an arrival; gives the least probability and occupancy.
    /// Feng et al. 2001; Linux 6.12 `sfb_enqueue`.
    #[inline]
    fn arrive(&mut self, hash: u32, p: &Params) -> (u32, u32) {
        let mut least = (MAX_PROB, u32::MAX);
        for bin in self.of(hash) {
            if bin.packets == 0 {
                bin.prob = bin.prob.saturating_sub(p.decrement);
            } else if bin.packets >= p.target {
                bin.prob = (bin.prob + p.increment).min(MAX_PROB);
            }
            least = (least.0.min(bin.prob), least.1.min(bin.packets));
        }
        least
    }
}

/// A FIFO behind the filters.
#[derive(Debug)]
pub struct Sfb {
    params: Params,
    filters: [Filter; 2],
    /// The generation in use.
    current: usize,
    /// Whether the other one is learning.
    learning: bool,
    /// Jiffy of the last change of generation.
    rehashed: u64,
    tokens: u32,
    /// Jiffy at which the tokens were refilled.
    refilled: u64,
    /// Packets with their hash in each generation; 0: not counted there.
    queue: VecDeque<(Packet, [u32; 2])>,
    backlog: Backlog,
    rng: Rng,
    jiffies: Jiffies,
    counters: Counters,
}

#[derive(Debug, Default)]
struct Counters {
    early: u64,
    penalty: u64,
    bucket: u64,
    queue: u64,
    marked: u64,
}

impl Sfb {
    fn new(params: Params, env: Env) -> Self {
        let mut sfb = Self {
            params,
            filters: [Filter::default(), Filter::default()],
            current: 0,
            learning: false,
            rehashed: 0,
            tokens: 0,
            refilled: 0,
            queue: VecDeque::new(),
            backlog: Backlog::default(),
            rng: env.rng,
            jiffies: Jiffies::new(env.hz),
            counters: Counters::default(),
        };
        sfb.restart(env.now);
        sfb
    }

    /// Fresh filters and a full bucket of penalty tokens.
    fn restart(&mut self, now: Time) {
        let jiffy = self.jiffies.at(now);
        for filter in &mut self.filters {
            *filter = Filter { salt: self.rng.u32(), ..Filter::default() };
        }
        (self.current, self.learning, self.rehashed) = (0, false, jiffy);
        (self.tokens, self.refilled) = (self.params.penalty_burst, jiffy);
    }

    #[cold]
    fn discard(&mut self, log: &mut Log) {
        for (pkt, _) in self.queue.drain(..) {
            log.drop(&pkt, Reason::Purge);
        }
        self.backlog = Backlog::default();
    }

    /// Changes the generation when it is time.
    /// Linux 6.12 `sfb_enqueue`: flows that share bins with a bad one are parted by another hash.
    #[inline]
    fn rehash(&mut self, jiffy: u64) {
        if self.params.rehash == Dur::ZERO {
            return;
        }
        let due = self.rehashed + self.jiffies.of(self.params.rehash);
        let warmup = self.jiffies.of(self.params.db);
        if jiffy > due {
            self.filters[self.current].salt = self.rng.u32();
            self.current ^= 1;
            self.learning = false;
            self.rehashed = jiffy;
        } else if !self.learning && warmup > 0 && jiffy > due.saturating_sub(warmup) {
            self.learning = true;
        }
    }

    /// Whether a flow at probability 1 must wait for a token. Linux 6.12 `sfb_rate_limit`.
    fn is_penalised(&mut self, jiffy: u64) -> bool {
        let p = &self.params;
        if p.penalty_rate == 0 || p.penalty_burst == 0 {
            return true;
        }
        if self.tokens < 1 {
            let second = self.jiffies.second();
            let age = (jiffy - self.refilled).min(10 * second);
            let tokens = age * u64::from(p.penalty_rate) / second;
            self.tokens = tokens.min(u64::from(p.penalty_burst)) as u32;
            self.refilled = jiffy;
            if self.tokens < 1 {
                return true;
            }
        }
        self.tokens -= 1;
        false
    }

    /// BLUE's signal; gives false if the packet is to be dropped. Linux 6.12 `sfb_enqueue`.
    #[inline]
    fn survives(&mut self, prob: u32, pkt: &mut Packet, log: &mut Log) -> bool {
        let drawn = self.rng.u32() >> 16;
        if drawn >= prob {
            return true;
        }
        // Who is marked more than every second time does not respond, and is dropped as well.
        let half = MAX_PROB / 2;
        let unresponsive = prob > half && drawn < (prob - half) * 2;
        if !unresponsive && log.set_ce(pkt, Reason::Blue) {
            self.counters.marked += 1;
            return true;
        }
        self.counters.early += 1;
        false
    }

    /// The counter and reason of what refuses `pkt`, or its hashes. Linux 6.12 `sfb_enqueue`.
    #[inline]
    fn admit(&mut self, jiffy: u64, pkt: &mut Packet, log: &mut Log) -> Result<[u32; 2], Reason> {
        if self.backlog.packets >= self.params.limit {
            self.counters.queue += 1;
            return Err(Reason::TailLimit);
        }
        self.rehash(jiffy);
        let mut hashes = [0; 2];
        let current = self.current;
        hashes[current] = self.filters[current].hash(pkt);
        let (prob, packets) = self.filters[current].arrive(hashes[current], &self.params);
        if packets >= self.params.max {
            self.counters.bucket += 1;
            return Err(Reason::FlowOverlimit);
        }
        if prob >= MAX_PROB {
            if self.learning {
                let next = current ^ 1;
                hashes[next] = self.filters[next].hash(pkt);
                self.filters[next].arrive(hashes[next], &self.params);
            }
            if self.is_penalised(jiffy) {
                self.counters.penalty += 1;
                return Err(Reason::Protection);
            }
        } else if !self.survives(prob, pkt, log) {
            return Err(Reason::Blue);
        }
        Ok(hashes)
    }

    /// Adds `change` to the occupancy of a packet's bins.
    /// Linux 6.12 `increment_qlen`, `decrement_qlen`.
    #[inline]
    fn count(&mut self, hashes: [u32; 2], arrival: bool) {
        for (filter, hash) in self.filters.iter_mut().zip(hashes) {
            if hash != 0 {
                for bin in filter.of(hash) {
                    bin.packets = if arrival { bin.packets + 1 } else { bin.packets - 1 };
                }
            }
        }
    }
}

impl Qdisc for Sfb {
    #[inline]
    fn enqueue(&mut self, now: Time, mut pkt: Packet, log: &mut Log) {
        match self.admit(self.jiffies.at(now), &mut pkt, log) {
            Ok(hashes) => {
                pkt.stamp = now;
                self.backlog.add(&pkt);
                self.count(hashes, true);
                self.queue.push_back((pkt, hashes));
            }
            Err(reason) => log.drop(&pkt, reason),
        }
    }

    // Linux 6.12 `sfb_dequeue`.
    #[inline]
    fn dequeue(&mut self, _now: Time, _log: &mut Log) -> Option<Packet> {
        let (pkt, hashes) = self.queue.pop_front()?;
        self.backlog.remove(&pkt);
        self.count(hashes, false);
        Some(pkt)
    }

    // Linux 7.2 `sfb_peek` looks into its FIFO.
    #[inline]
    fn next_len(&self) -> Option<u32> {
        self.queue.front().map(|(pkt, _)| pkt.len)
    }

    fn shows_next(&self) -> bool {
        true
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn change(&mut self, now: Time, to: &Spec, _given: &Given, log: &mut Log) {
        self.params = to.params().copied().unwrap_or(self.params);
        self.discard(log);
        self.restart(now);
    }

    fn spec(&self) -> Spec {
        spec(&ENTRY, self.params)
    }

    fn stats(&self, out: &mut Stats) {
        let bins = self.filters[self.current].bins.as_flattened();
        let most = |of: fn(&Bin) -> u32| f64::from(bins.iter().map(of).max().unwrap_or(0));
        let sum: u32 = bins.iter().map(|b| b.prob).sum();
        let one = f64::from(MAX_PROB);
        out.put("earlydrop", self.counters.early as f64);
        out.put("penaltydrop", self.counters.penalty as f64);
        out.put("bucketdrop", self.counters.bucket as f64);
        out.put("queuedrop", self.counters.queue as f64);
        out.put("childdrop", 0);
        out.put("marked", self.counters.marked as f64);
        out.put("maxqlen", most(|b| b.packets));
        out.put("maxprob", most(|b| b.prob) / one);
        out.put("avgprob", f64::from(sum) / bins.len() as f64 / one);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        let bins = self.filters[self.current].bins.as_flattened();
        let most = bins.iter().map(|b| b.prob).max().unwrap_or(0);
        out.put("maxprob", "1", f64::from(most) / f64::from(MAX_PROB));
    }

    fn purge(&mut self, log: &mut Log) {
        self.discard(log);
        for filter in &mut self.filters {
            filter.bins = Default::default();
        }
        (self.current, self.learning, self.tokens) = (0, false, self.params.penalty_burst);
    }
}

#[cfg(test)]
mod tests;
