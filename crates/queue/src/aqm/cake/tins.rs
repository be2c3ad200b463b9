//! Tins: the rate and the queues of one priority.

use super::QUEUES;
use super::flows::{Flow, List, Lists, SetState};
use super::hosts::Hosts;
use super::params::{Params, Version};
use super::sce::Ramp;
use super::shaper::RateTargets;
use crate::aqm::cobalt;
use crate::aqm::control_law::{EXACT, NEWTON};
use crate::aqm::virtual_clock::ByteTime;
use sojourn_core::rng::Rng;
use sojourn_core::units::Time;

/// Counters of a tin by the meaning that tc gives them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counters {
    pub(super) packets: u64,
    pub(super) bytes: u64,
    pub(super) drops: u64,
    pub(super) marks: u64,
    pub(super) sce: u64,
    pub(super) ack_drops: u64,
    pub(super) way_hits: u64,
    pub(super) way_misses: u64,
    pub(super) way_collisions: u64,
    pub(super) unresponsive: u32,
    pub(super) max_len: u32,
    pub(super) peak_delay: u64,
    pub(super) avg_delay: u64,
    pub(super) base_delay: u64,
}

/// One priority: its flows, and what it may send.
#[derive(Debug)]
pub(super) struct Tin {
    pub(super) flows: Box<[Flow]>,
    pub(super) lists: Lists,
    pub(super) hosts: Hosts,
    /// Flows in each state that has one.
    pub(super) sparse: u32,
    pub(super) bulk: u32,
    pub(super) decaying: u32,
    pub(super) backlog: u64,
    pub(super) law: cobalt::Params,
    pub(super) ramp: Ramp,
    pub(super) rate: u64,
    pub(super) time: ByteTime,
    pub(super) next: Time,
    pub(super) quantum: i32,
    pub(super) deficit: i32,
    pub(super) flow_quantum: u32,
    pub(super) counters: Counters,
}

impl Tin {
    pub(super) fn new(fresh_root: u32) -> Self {
        Self {
            flows: (0..QUEUES).map(|_| Flow::new(fresh_root)).collect(),
            lists: Lists::default(),
            hosts: Hosts::new(),
            sparse: 0,
            bulk: 0,
            decaying: 0,
            backlog: 0,
            law: cobalt::Params { target: 0, interval: 0, mtu_time: 0, roots: &EXACT },
            ramp: Ramp::default(),
            rate: 0,
            time: ByteTime::default(),
            next: Time::ZERO,
            quantum: 0,
            deficit: 0,
            flow_quantum: 1514,
            counters: Counters::default(),
        }
    }

    /// New rate, delays and ramp; packets and control state stay. Linux 6.12 `cake_set_rate`.
    pub(super) fn configure(&mut self, index: usize, p: &Params) {
        let (rate, quantum) = p.tins.share(index, p.bytes_per_sec());
        let t = RateTargets::new(rate, p.target().0, p.rtt.0);
        (self.rate, self.quantum, self.time) = (rate, quantum, t.time);
        self.flow_quantum = t.flow_quantum;
        let roots = match p.version {
            Version::Mainline => &EXACT,
            Version::Chromi => &NEWTON,
        };
        self.law =
            cobalt::Params { target: t.target, interval: t.interval, mtu_time: t.mtu_time, roots };
        self.ramp = Ramp::new(p.sce, t.target);
    }

    /// Whether a queue waits to be served (perhaps an empty one).
    #[inline]
    pub(super) fn is_active(&self) -> bool {
        self.sparse + self.bulk > 0
    }

    /// Bytes that flow `index` may send in this round; dithered, so that a share is exact on
    /// average. Linux 6.12 `cake_dequeue`.
    #[inline(always)]
    pub(super) fn flow_share(&self, index: u16, p: &Params, rng: &mut Rng) -> i32 {
        let flow = &self.flows[usize::from(index)];
        let load = self.hosts.load(flow, p.flows);
        let dither = rng.u32() >> 16;
        ((self.flow_quantum * (65535 / u32::from(load)) + dither) >> 16) as i32
    }

    /// Charges `len` bytes to the tin's clock. Linux 6.12 `cake_advance_shaper`.
    #[inline]
    pub(super) fn charge(&mut self, now: Time, len: u32) {
        let time = sojourn_core::units::Dur(self.time.of(len));
        if self.next < now {
            self.next += time;
        } else if self.next < now + time {
            self.next = now + time;
        }
    }

    /// An arrival for flow `index` gives it a place in the rotation. Linux 6.12 `cake_enqueue`.
    #[inline]
    pub(super) fn activate(&mut self, index: u16, p: &Params, rng: &mut Rng) {
        match self.flows[usize::from(index)].state {
            SetState::None | SetState::Decaying => {
                if self.flows[usize::from(index)].state == SetState::Decaying {
                    self.decaying -= 1;
                }
                self.lists.move_to_tail(&mut self.flows, index, List::New);
                self.sparse += 1;
                self.flows[usize::from(index)].state = SetState::Sparse;
                self.flows[usize::from(index)].deficit = self.flow_share(index, p, rng);
            }
            SetState::SparseWait => self.become_bulk(index, p),
            SetState::Sparse | SetState::Bulk => {}
        }
    }

    fn become_bulk(&mut self, index: u16, p: &Params) {
        self.sparse -= 1;
        self.bulk += 1;
        let flow = &mut self.flows[usize::from(index)];
        flow.state = SetState::Bulk;
        self.hosts.count_in(flow, p.flows);
    }

    /// A flow without deficit left goes to the end of the rotation with a new one.
    /// Linux 6.12 `cake_dequeue`.
    #[inline]
    pub(super) fn rotate(&mut self, index: u16, p: &Params, rng: &mut Rng) {
        let flow = &mut self.flows[usize::from(index)];
        if flow.state == SetState::Sparse {
            if flow.queue.is_empty() {
                flow.state = SetState::SparseWait;
            } else {
                self.become_bulk(index, p);
            }
        }
        let share = self.flow_share(index, p, rng);
        self.flows[usize::from(index)].deficit += share;
        self.lists.move_to_tail(&mut self.flows, index, List::Old);
    }

    /// Flow `index` was found empty: it leaves the rotation, remembered while its law's state
    /// means something. Linux 6.12 `cake_dequeue`.
    #[inline]
    pub(super) fn retire(&mut self, index: u16, p: &Params, now: Time) {
        let flow = &mut self.flows[usize::from(index)];
        if flow.control.queue_empty(&self.law, now) {
            self.counters.unresponsive = self.counters.unresponsive.saturating_sub(1);
        }
        match flow.state {
            SetState::Bulk => {
                self.bulk -= 1;
                self.hosts.count_out(flow, p.flows);
            }
            SetState::Sparse | SetState::SparseWait => self.sparse -= 1,
            SetState::Decaying => self.decaying -= 1,
            SetState::None => {}
        }
        if flow.control.at_rest(now) {
            flow.state = SetState::None;
            self.lists.unlink(&mut self.flows, index);
        } else {
            flow.state = SetState::Decaying;
            self.decaying += 1;
            self.lists.move_to_tail(&mut self.flows, index, List::Decaying);
        }
    }

    /// Follows the delay of a delivered packet. Linux 6.12 `cake_dequeue`: averages for `tc -s`.
    #[inline]
    pub(super) fn observe(&mut self, delay: u64) {
        use super::shaper::ewma;
        let c = &mut self.counters;
        c.avg_delay = ewma(c.avg_delay, delay, 8);
        c.peak_delay = ewma(c.peak_delay, delay, if delay > c.peak_delay { 2 } else { 8 });
        c.base_delay = ewma(c.base_delay, delay, if delay < c.base_delay { 2 } else { 8 });
    }
}
