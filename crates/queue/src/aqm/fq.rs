//! `fq`: fair queuing between flows with pacing of each, for hosts. Linux 7.2 `sch_fq`.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::pfifo_fast::priority;
use super::{
    Backlog, Discipline, Entry, Env, Kernel, Log, Qdisc, Reason, Spec, Stats, entry, spec,
};
use sojourn_core::grammar::Given;
use sojourn_core::jiffies::Jiffies;
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Dur, Time};

mod params;

use params::Params;

pub(crate) const ENTRY: Entry = entry::<Params>(
    "fq",
    "Fair queuing between flows, each paced at a rate, in three weighted bands",
    "Linux 7.2 sch_fq; tc-fq(8)",
    Kernel::Mainline("3.12"),
);

const BANDS: usize = 3;
/// Packets that may take the fast path while paced flows wait for their times.
const FAST_PATH: usize = 8;
/// The longest pause between two packets of a flow, so that a new rate takes effect soon.
const LONGEST_PAUSE: Dur = Dur::from_secs(1);

/// Where a flow waits for service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// Never seen.
    #[default]
    Unknown,
    /// On no list since this many jiffies.
    Detached(u64),
    /// On a band's list of new or old flows.
    Listed,
    /// Waiting for its time.
    Throttled,
}

#[derive(Debug, Default)]
struct Flow {
    queue: VecDeque<Packet>,
    place: Place,
    band: u8,
    /// Bytes that it may send before it must let others go first, or wait.
    credit: i32,
    /// When the pause after its last packet ends, if it was ever paced.
    due: Option<Time>,
}

#[derive(Debug, Default)]
struct Band {
    /// Flows that have just become busy, which go first.
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    credit: i64,
    packets: u32,
    drops: u64,
}

#[derive(Debug, Default)]
struct Counters {
    flows: u32,
    fastpath: u64,
    throttled: u64,
    flows_plimit: u64,
    pkts_too_long: u64,
    ce_mark: u64,
    /// How late flows were released, averaged over about eight releases.
    latency: u64,
}

/// Flow queues with pacing.
#[derive(Debug)]
pub struct Fq {
    params: Params,
    jiffies: Jiffies,
    /// By the masked hash.
    flows: Vec<Flow>,
    bands: [Band; BANDS],
    /// The band in service.
    band: usize,
    /// Packets that found no other flow ready.
    fast: VecDeque<Packet>,
    /// Throttled flows by time, equal times in the order of throttling.
    throttled: BinaryHeap<Reverse<(Time, u64, u32)>>,
    /// Flows with packets.
    busy: u32,
    backlog: Backlog,
    counters: Counters,
}

impl Discipline for Params {
    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        Box::new(Fq::new(*self, &env))
    }
}

impl Fq {
    fn new(params: Params, env: &Env) -> Self {
        let mut fq = Self {
            params,
            jiffies: Jiffies::new(env.hz),
            flows: Vec::new(),
            bands: Default::default(),
            band: 0,
            fast: VecDeque::new(),
            throttled: BinaryHeap::new(),
            busy: 0,
            backlog: Backlog::default(),
            counters: Counters::default(),
        };
        fq.restart();
        fq
    }

    /// Room for all flows, full credit for all bands.
    fn restart(&mut self) {
        self.flows.clear();
        self.flows.resize_with(self.params.orphan_mask as usize + 1, Flow::default);
        for (band, weight) in self.bands.iter_mut().zip(self.params.weights) {
            (band.credit, band.packets) = (i64::from(weight), 0);
            band.new.clear();
            band.old.clear();
        }
        (self.band, self.busy, self.backlog) = (0, 0, Backlog::default());
        self.throttled.clear();
        self.counters.flows = 0;
    }

    /// Whether an arrival may go past the flow queues: nothing that waits could leave before it.
    /// Linux 7.2 `fq_fastpath_check`.
    #[inline]
    fn is_fast(&self, now: Time) -> bool {
        self.params.max_rate.is_none()
            && (self.backlog.packets == 0
                || self.busy as usize == self.throttled.len()
                    && self.fast.len() < FAST_PATH
                    && self.throttled.peek().is_none_or(|Reverse((due, ..))| *due > now))
    }

    /// Returns flows whose times have come to their bands. Linux 7.2 `fq_check_throttled`.
    #[inline]
    fn release(&mut self, now: Time) {
        let Some(Reverse((first, ..))) = self.throttled.peek() else { return };
        if *first > now {
            return;
        }
        let c = &mut self.counters;
        c.latency = c.latency - (c.latency >> 3) + (now.since(*first).0 >> 3);
        while let Some(Reverse((due, _, index))) = self.throttled.peek().copied() {
            if due > now {
                break;
            }
            self.throttled.pop();
            let flow = &mut self.flows[index as usize];
            flow.place = Place::Listed;
            self.bands[usize::from(flow.band)].old.push_back(index);
        }
    }

    /// The flow at the head of the band whose turn it is, and whether that is a new one. A band
    /// without flows or credit passes the turn on. Linux 7.2 `fq_dequeue`.
    #[inline]
    fn head(&mut self) -> Option<(u32, bool)> {
        let mut empty = 0;
        loop {
            let band = &self.bands[self.band];
            if band.credit > 0 {
                if let Some(index) = band.new.front() {
                    return Some((*index, true));
                }
                if let Some(index) = band.old.front() {
                    return Some((*index, false));
                }
                if empty == BANDS {
                    return None;
                }
                empty += 1;
            }
            self.band = (self.band + 1) % BANDS;
            let weight = i64::from(self.params.weights[self.band]);
            let credit = &mut self.bands[self.band].credit;
            *credit = (*credit + weight).min(weight);
        }
    }

    /// Takes the flow that [`Fq::head`] gave off its list.
    #[inline]
    fn unlink(&mut self, is_new: bool) {
        let band = &mut self.bands[self.band];
        if is_new {
            band.new.pop_front()
        } else {
            band.old.pop_front()
        };
    }

    /// Charges a departure to flow and band, and sets the flow's next time. Linux 7.2 `fq_dequeue`.
    #[inline]
    fn charge(&mut self, now: Time, index: u32, len: u32) {
        let flow = &mut self.flows[index as usize];
        flow.credit -= len as i32;
        self.bands[self.band].credit -= i64::from(len);
        let Some(rate) = self.params.max_rate.filter(|_| self.params.paces) else { return };
        let bytes = if rate <= self.params.low_rate_threshold {
            flow.credit = 0;
            len
        } else if flow.credit > 0 {
            return;
        } else {
            len.max(self.params.quantum)
        };
        let mut pause = rate.time_for(u64::from(bytes));
        if pause > LONGEST_PAUSE {
            self.counters.pkts_too_long += 1;
            pause = LONGEST_PAUSE;
        }
        // What the last release was late is made up for, within half a pause.
        if let Some(due) = flow.due {
            pause -= now.since(due).min(pause / 2);
        }
        flow.due = Some(now + pause);
    }
}

impl Qdisc for Fq {
    // Linux 7.2 `fq_enqueue`.
    #[inline]
    fn enqueue(&mut self, now: Time, mut pkt: Packet, log: &mut Log) {
        let number = self.params.band_of[priority(&pkt)];
        let band = &mut self.bands[usize::from(number)];
        if band.packets >= self.params.limit {
            band.drops += 1;
            log.drop(&pkt, Reason::TailLimit);
            return;
        }
        pkt.stamp = now;
        if self.is_fast(now) {
            self.counters.fastpath += 1;
            self.backlog.add(&pkt);
            self.fast.push_back(pkt);
            return;
        }
        let index = pkt.hash & self.params.orphan_mask;
        let flow = &mut self.flows[index as usize];
        if flow.place == Place::Unknown {
            self.counters.flows += 1;
            flow.credit = self.params.initial_quantum as i32;
            flow.place = Place::Detached(self.jiffies.at(now));
        }
        if flow.queue.len() >= self.params.flow_limit as usize {
            self.counters.flows_plimit += 1;
            log.drop(&pkt, Reason::TailLimit);
            return;
        }
        if let Place::Detached(since) = flow.place {
            if self.jiffies.at(now) > since + self.jiffies.of(self.params.refill_delay) {
                flow.credit = flow.credit.max(self.params.quantum as i32);
            }
            flow.place = Place::Listed;
            // As in the kernel, the flow joins the band of its packets before: a fresh flow the
            // first band, whatever its priority.
            self.bands[usize::from(flow.band)].new.push_back(index);
        }
        flow.band = number;
        self.busy += u32::from(flow.queue.is_empty());
        self.bands[usize::from(number)].packets += 1;
        self.backlog.add(&pkt);
        flow.queue.push_back(pkt);
    }

    // Linux 7.2 `fq_dequeue`.
    #[inline]
    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<Packet> {
        if let Some(pkt) = self.fast.pop_front() {
            self.backlog.remove(&pkt);
            return Some(pkt);
        }
        // As in the kernel, flows that are empty stay listed until there is a packet to send.
        if self.backlog.packets == 0 {
            return None;
        }
        self.release(now);
        loop {
            let (index, is_new) = self.head()?;
            let flow = &mut self.flows[index as usize];
            if flow.credit <= 0 {
                flow.credit += self.params.quantum as i32;
                let band = usize::from(flow.band);
                self.unlink(is_new);
                self.bands[band].old.push_back(index);
                continue;
            }
            let Some(front) = flow.queue.front() else {
                if is_new {
                    // A round behind the others, so that it cannot stay new.
                    let band = usize::from(flow.band);
                    self.bands[band].old.push_back(index);
                } else {
                    flow.place = Place::Detached(self.jiffies.at(now));
                }
                self.unlink(is_new);
                continue;
            };
            let due = flow.due.map_or(front.stamp, |due| due.max(front.stamp));
            if due > now {
                flow.place = Place::Throttled;
                self.unlink(is_new);
                self.throttled.push(Reverse((due, self.counters.throttled, index)));
                self.counters.throttled += 1;
                continue;
            }
            let mut pkt = flow.queue.pop_front()?;
            self.busy -= u32::from(flow.queue.is_empty());
            self.bands[usize::from(self.params.band_of[priority(&pkt)])].packets -= 1;
            self.backlog.remove(&pkt);
            if self.params.ce_threshold.is_some_and(|threshold| now.since(due) > threshold) {
                // Packets that cannot carry the mark are counted as well.
                let _ = log.set_ce(&mut pkt, Reason::CeThreshold);
                self.counters.ce_mark += 1;
            }
            self.charge(now, index, pkt.len);
            return Some(pkt);
        }
    }

    #[inline]
    fn wake(&self) -> Time {
        // A timer with slack that no other coincides with fires at the end of its slack.
        let first = self.throttled.peek();
        first.map_or(Time::NEVER, |Reverse((due, ..))| *due + self.params.timer_slack)
    }

    #[inline]
    fn on_wake(&mut self, now: Time, _log: &mut Log) {
        self.release(now);
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn change(&mut self, _now: Time, to: &Spec, _given: &Given, _log: &mut Log) {
        self.params = to.params().copied().unwrap_or(self.params);
        for band in &mut self.bands {
            band.packets = 0;
        }
        for pkt in self.flows.iter().flat_map(|flow| &flow.queue) {
            self.bands[usize::from(self.params.band_of[priority(pkt)])].packets += 1;
        }
        // Flows beyond a smaller mask are served until they are empty.
        let flows = self.flows.len().max(self.params.orphan_mask as usize + 1);
        self.flows.resize_with(flows, Flow::default);
    }

    fn spec(&self) -> Spec {
        spec(&ENTRY, self.params)
    }

    fn stats(&self, out: &mut Stats) {
        let c = &self.counters;
        out.put("flows", c.flows);
        out.put("inactive", c.flows - self.busy);
        out.put("throttled_flows", self.throttled.len() as f64);
        for (band, [packets, drops]) in self.bands.iter().zip(BAND_STATS) {
            out.put(packets, band.packets);
            out.put(drops, band.drops as f64);
        }
        out.put("fastpath", c.fastpath as f64);
        out.put("throttled", c.throttled as f64);
        out.put("latency", c.latency as f64);
        out.put("ce_mark", c.ce_mark as f64);
        out.put("flows_plimit", c.flows_plimit as f64);
        out.put("pkts_too_long", c.pkts_too_long as f64);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("active_flows", "1", f64::from(self.busy));
        out.put("throttled_flows", "1", self.throttled.len() as f64);
    }

    fn purge(&mut self, log: &mut Log) {
        let queued = self.flows.iter_mut().flat_map(|flow| flow.queue.drain(..));
        for pkt in self.fast.drain(..).chain(queued) {
            log.drop(&pkt, Reason::Purge);
        }
        self.restart();
    }
}

const BAND_STATS: [[&str; 2]; BANDS] =
    [["band0_pkts", "band0_drops"], ["band1_pkts", "band1_drops"], ["band2_pkts", "band2_drops"]];

#[cfg(test)]
mod tests;
