//! `cake`: a shaper in deficit mode, priority tins, flow and host isolation, COBALT on each queue,
//! and optionally an ACK filter and SCE marking. Linux 6.12 `sch_cake`; chromi/sce 2019 for SCE.

mod ack;
mod flows;
mod hash;
mod heap;
mod hosts;
mod params;
mod priority;
mod sce;
mod shaper;
mod sizes;
mod stats;
mod tins;

use self::flows::{List, Queued};
use self::heap::Longest;
use self::params::{Bandwidth, Params};
use self::shaper::{Autorate, Shaper};
use self::sizes::Sizes;
use self::tins::Tin;
use super::psched::truesize;
use super::{
    Backlog, Discipline, Entry, Env, Kernel, Log, Qdisc, Reason, Spec, Stats, entry, spec,
};
use sojourn_core::grammar::Given;
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::rng::Rng;
use sojourn_core::units::{Rate, Time};

pub(crate) const ENTRY: Entry = entry::<Params>(
    "cake",
    "Shaper, priority tins, fair queuing between hosts and flows, COBALT on each queue",
    "Linux 6.12 sch_cake; chromi/sce 2019 for SCE",
    Kernel::Mainline("4.19"),
);

/// Queues per tin.
const QUEUES: u16 = 1024;

/// The discipline.
#[derive(Debug)]
struct Cake {
    params: Params,
    tins: Vec<Tin>,
    shaper: Shaper,
    autorate: Autorate,
    sizes: Sizes,
    longest: Longest,
    backlog: Backlog,
    memory: u64,
    memory_most: u64,
    memory_limit: u64,
    watchdog: Time,
    /// Tin and queue served last.
    current: (usize, u16),
    rng: Rng,
    overlimits: u64,
    drop_overlimit: u64,
}

impl Discipline for Params {
    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        Box::new(Cake::new(*self, env))
    }

    fn set_rate(&mut self, rate: Rate) -> Result<(), String> {
        self.bandwidth = Bandwidth::of(rate);
        Ok(())
    }

    fn capacity(&self) -> Option<Rate> {
        (self.bandwidth.rate > Rate(0)).then_some(self.bandwidth.rate)
    }
}

impl Cake {
    fn new(params: Params, env: Env) -> Self {
        let mut cake = Self {
            params,
            tins: Vec::new(),
            shaper: Shaper::default(),
            autorate: Autorate::new(env.now, params.bytes_per_sec()),
            sizes: Sizes::default(),
            longest: Longest::new(),
            backlog: Backlog::default(),
            memory: 0,
            memory_most: 0,
            memory_limit: 0,
            watchdog: Time::NEVER,
            current: (0, 0),
            rng: env.rng,
            overlimits: 0,
            drop_overlimit: 0,
        };
        cake.reconfigure();
        cake
    }

    /// Derives everything from the parameters. Linux 6.12 `cake_reconfigure`.
    fn reconfigure(&mut self) {
        let count = self.params.tins.count();
        while self.tins.len() < count {
            self.tins.push(Tin::new(self.params.fresh_root.root()));
        }
        for (index, tin) in self.tins.iter_mut().enumerate().take(count) {
            tin.configure(index, &self.params);
        }
        self.shaper.rate = self.tins[0].time;
        self.memory_limit = self.params.memory_limit();
    }

    /// Discards the packets of tins that a `change` has abolished.
    #[cold]
    fn abolish(&mut self, log: &mut Log) {
        let count = self.params.tins.count();
        for tin in self.tins.split_off(count) {
            for Queued { pkt, .. } in tin.flows.iter().flat_map(|flow| &flow.queue) {
                self.backlog.remove(pkt);
                self.memory -= u64::from(truesize(pkt.len));
                log.drop(pkt, Reason::Purge);
            }
        }
        self.longest.forget();
        self.current = (0, 0);
    }

    /// Charges a packet to the clocks. Linux 6.12 `cake_advance_shaper`.
    #[inline]
    fn charge(&mut self, tin: usize, now: Time, len: u32, dropped: bool) {
        if self.shaper.rate.ns != 0 {
            self.tins[tin].charge(now, len);
            self.shaper.charge(len, dropped);
        }
    }

    /// Drops the head of the longest queue. Linux 6.12 `cake_drop`.
    #[cold]
    fn drop_longest(&mut self, now: Time, log: &mut Log) {
        let (t, index) = self.longest.find(&self.tins);
        let Some(Queued { pkt, adjusted }) = self.pop(t, index) else {
            self.longest.forget();
            return;
        };
        let tin = &mut self.tins[t];
        if tin.flows[usize::from(index)].control.queue_full(&tin.law, now) {
            tin.counters.unresponsive += 1;
        }
        tin.counters.drops += 1;
        self.drop_overlimit += 1;
        log.drop(&pkt, Reason::FlowOverlimit);
        if self.params.ingress {
            self.charge(t, now, adjusted, true);
        }
    }

    // Linux 6.12 `cake_dequeue_one`.
    #[inline]
    fn pop(&mut self, t: usize, index: u16) -> Option<Queued> {
        let tin = &mut self.tins[t];
        let flow = &mut tin.flows[usize::from(index)];
        let queued = flow.queue.pop_front()?;
        let len = queued.pkt.len;
        flow.bytes -= len;
        tin.backlog -= u64::from(len);
        self.backlog.remove(&queued.pkt);
        self.memory -= u64::from(truesize(len));
        self.longest.shrunk(&self.tins, t, index);
        Some(queued)
    }

    /// Lets an acknowledgement go that the packet just queued makes superfluous. Its length.
    fn filter_ack(&mut self, t: usize, index: u16, now: Time, log: &mut Log) -> u32 {
        let tin = &mut self.tins[t];
        let flow = &mut tin.flows[usize::from(index)];
        let victim = ack::victim(&flow.queue, self.params.ack_filter, self.params.version);
        let Some(Queued { pkt, adjusted }) = victim.and_then(|i| flow.queue.remove(i)) else {
            return 0;
        };
        flow.bytes -= pkt.len;
        tin.backlog -= u64::from(pkt.len);
        tin.counters.ack_drops += 1;
        self.backlog.remove(&pkt);
        self.memory -= u64::from(truesize(pkt.len));
        log.drop(&pkt, Reason::AckFilter);
        if self.params.ingress {
            self.charge(t, now, adjusted, true);
        }
        pkt.len
    }

    /// The tin to serve: shaped, the highest within its share, or else the one due first; without
    /// a rate, in deficit round robin. Linux 6.12 `cake_dequeue`.
    #[inline]
    fn pick_tin(&mut self, now: Time) -> Option<usize> {
        let best = if self.params.bandwidth.rate == Rate(0) {
            self.tins.iter().any(Tin::is_active).then(|| self.next_in_turn())
        } else {
            let (mut best, mut earliest) = (None, i64::MAX);
            for (i, tin) in self.tins.iter().enumerate() {
                let wait = tin.next.0 as i64 - now.0 as i64;
                if tin.is_active() && (wait <= 0 || wait <= earliest) {
                    (best, earliest) = (Some(i), wait);
                }
            }
            best
        };
        self.current.0 = best?;
        best
    }

    // Linux 6.12 `cake_dequeue`, without a rate.
    fn next_in_turn(&mut self) -> usize {
        let mut t = self.current.0;
        loop {
            let tin = &mut self.tins[t];
            if tin.deficit >= 0 && tin.is_active() {
                return t;
            }
            if tin.deficit <= 0 {
                tin.deficit += tin.quantum;
            }
            t = (t + 1) % self.tins.len();
        }
    }

    /// Marks and accounts for a packet that leaves.
    #[inline]
    fn deliver(&mut self, t: usize, index: u16, now: Time, adjusted: u32, sojourn: u64) {
        self.tins[t].observe(sojourn);
        self.charge(t, now, adjusted, false);
        self.take_deficit(t, index, adjusted);
        if self.shaper.next > now && self.backlog.packets > 0 {
            self.watchdog = self.shaper.due();
        }
        self.longest.tick();
    }

    /// A tin's deficit counts only without a rate; Linux lets it run down and wrap with one too.
    #[inline]
    fn take_deficit(&mut self, t: usize, index: u16, adjusted: u32) {
        let tin = &mut self.tins[t];
        tin.flows[usize::from(index)].deficit -= adjusted as i32;
        if self.params.bandwidth.rate == Rate(0) {
            tin.deficit -= adjusted as i32;
        }
    }
}

impl Qdisc for Cake {
    // Linux 6.12 `cake_enqueue`.
    #[inline]
    fn enqueue(&mut self, now: Time, mut pkt: Packet, log: &mut Log) {
        let t = self.params.tins.tin(pkt.tos >> 2, self.params.version);
        if self.params.wash {
            pkt.tos &= 3;
        }
        pkt.stamp = now;
        let tin = &mut self.tins[t];
        let index = tin.queue_of(&pkt, self.params.flows);
        if tin.backlog == 0 {
            tin.next = tin.next.max(now);
            if self.backlog.packets == 0 {
                self.shaper.refresh(now);
                if let Some(due) = self.shaper.blocked(now) {
                    self.overlimits += 1;
                    self.watchdog = due;
                }
            }
        }
        let flow = &mut tin.flows[usize::from(index)];
        let adjusted = self.sizes.adjusted(&self.params.link, pkt.len, pkt.segs);
        flow.queue.push_back(Queued { pkt, adjusted });
        flow.bytes += pkt.len;
        tin.backlog += u64::from(pkt.len);
        tin.counters.packets += 1;
        tin.counters.bytes += u64::from(pkt.len);
        tin.counters.max_len = tin.counters.max_len.max(pkt.len);
        self.backlog.add(&pkt);
        self.memory += u64::from(truesize(pkt.len));
        let mut added = u64::from(pkt.len);
        if self.params.ack_filter != ack::AckFilter::Off {
            added = added.saturating_sub(u64::from(self.filter_ack(t, index, now, log)));
        }
        self.longest.grown(&self.tins, t, index);
        if !self.params.bandwidth.is_auto {
            self.autorate.idle(now);
        } else if let Some(rate) = self.autorate.arrival(now, added) {
            self.params.bandwidth.rate = Rate(rate * 8);
            self.reconfigure();
        }
        self.tins[t].activate(index, &self.params, &mut self.rng);
        self.memory_most = self.memory_most.max(self.memory);
        while self.memory > self.memory_limit {
            self.drop_longest(now, log);
        }
    }

    // Linux 6.12 `cake_dequeue`.
    #[inline]
    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<Packet> {
        self.watchdog = Time::NEVER;
        let mut first = true;
        loop {
            if self.backlog.packets == 0 {
                return None;
            }
            if let Some(due) = self.shaper.blocked(now) {
                self.overlimits += 1;
                self.watchdog = due;
                return None;
            }
            let t = self.pick_tin(now)?;
            loop {
                let tin = &mut self.tins[t];
                // One remembered flow per call is looked at first, so that all decay in time.
                let decaying = if first { tin.lists.head(List::Decaying) } else { None };
                let index = decaying.or_else(|| tin.lists.next())?;
                first = false;
                self.current.1 = index;
                if tin.flows[usize::from(index)].deficit <= 0 {
                    tin.rotate(index, &self.params, &mut self.rng);
                    continue;
                }
                let Some(Queued { mut pkt, adjusted }) = self.pop(t, index) else {
                    self.tins[t].retire(index, &self.params, now);
                    break;
                };
                let before = pkt.ecn();
                let sojourn = now.since(pkt.stamp).0;
                let tin = &mut self.tins[t];
                let sharers = if self.params.ingress { tin.bulk } else { 0 };
                let flow = &mut tin.flows[usize::from(index)];
                let verdict = flow.control.judge(&tin.law, now, &mut pkt, sharers, &mut self.rng);
                let sce = tin.ramp.roll(sojourn, verdict, &mut self.rng);
                // The last packet of a flow is never dropped.
                if (verdict.drop || verdict.blue) && !flow.queue.is_empty() {
                    tin.counters.drops += 1;
                    let reason = if verdict.drop { Reason::Codel } else { Reason::Blue };
                    pkt.set_ecn(before);
                    log.drop(&pkt, reason);
                    if self.params.ingress {
                        self.charge(t, now, adjusted, true);
                        self.take_deficit(t, index, adjusted);
                    }
                    continue;
                }
                tin.counters.marks += u64::from(verdict.marked);
                if pkt.ecn() != before {
                    log.mark(&pkt, Reason::Codel);
                }
                if sce && pkt.set_sce() {
                    tin.counters.sce += 1;
                    log.mark(&pkt, Reason::Sce);
                }
                self.deliver(t, index, now, adjusted, sojourn);
                return Some(pkt);
            }
        }
    }

    #[inline]
    fn wake(&self) -> Time {
        self.watchdog
    }

    #[inline]
    fn on_wake(&mut self, now: Time, _log: &mut Log) {
        if self.watchdog <= now {
            self.watchdog = Time::NEVER;
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn change(&mut self, now: Time, to: &Spec, _given: &Given, log: &mut Log) {
        let Some(params) = to.params::<Params>() else { return };
        let before = std::mem::replace(&mut self.params, *params);
        if self.params.link != before.link {
            self.sizes = Sizes::default();
        }
        if self.params.flows != before.flows {
            for tin in &mut self.tins {
                tin.hosts.reset();
                for flow in &tin.flows {
                    if flow.state == flows::SetState::Bulk {
                        tin.hosts.count_in(flow, self.params.flows);
                    }
                }
            }
        }
        self.reconfigure();
        if self.tins.len() > self.params.tins.count() {
            self.abolish(log);
        }
        if self.backlog.packets > 0 {
            self.watchdog = self.shaper.due().max(now);
        }
    }

    fn spec(&self) -> Spec {
        spec(&ENTRY, self.params)
    }

    fn stats(&self, out: &mut Stats) {
        stats::report(self, out);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        let count = |f: fn(&Tin) -> u32| f64::from(self.tins.iter().map(f).sum::<u32>());
        let (t, index) = self.current;
        let control = &self.tins[t].flows[usize::from(index)].control;
        out.put("rate", "Mbit/s", self.params.bandwidth.rate.as_mbps());
        out.put("sparse_flows", "1", count(|tin| tin.sparse));
        out.put("bulk_flows", "1", count(|tin| tin.bulk));
        out.put("av_delay", "ms", self.tins[t].counters.avg_delay as f64 / 1e6);
        out.put("count", "1", f64::from(control.count));
        out.put("dropping", "1", f64::from(u8::from(control.dropping)));
        out.put("p_drop", "1", f64::from(control.p_drop) / (1_u64 << 32) as f64);
    }

    fn splits(&self, _pkt: &Packet) -> bool {
        self.params.split_gso
    }

    fn purge(&mut self, log: &mut Log) {
        for tin in &mut self.tins {
            for Queued { pkt, .. } in tin.flows.iter().flat_map(|flow| &flow.queue) {
                log.drop(pkt, Reason::Purge);
            }
        }
        self.tins.clear();
        self.reconfigure();
        self.longest.forget();
        self.current = (0, 0);
        (self.backlog, self.memory, self.watchdog) = (Backlog::default(), 0, Time::NEVER);
    }
}

#[cfg(test)]
mod tests;
