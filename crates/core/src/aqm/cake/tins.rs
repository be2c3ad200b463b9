//! Tins: which DSCP goes where, and the rate and queues of each.

use super::QUEUES;
use super::flows::{Flow, List, Lists, SetState};
use super::hash::Hosts;
use super::params::{Params, Version};
use super::sce::Ramp;
use super::shaper::{ByteTime, RateTargets};
use crate::aqm::cobalt::{self, Roots};
use crate::rng::Rng;
use crate::units::Time;

/// How traffic is divided by priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TinMode {
    Besteffort,
    Precedence,
    #[default]
    Diffserv3,
    Diffserv4,
    Diffserv8,
}

/// DSCP 0 to 63 to the tin of `diffserv8`.
#[rustfmt::skip]
const DIFFSERV8: [u8; 64] = [
    2, 0, 1, 2, 4, 2, 2, 2,
    1, 2, 1, 2, 1, 2, 1, 2,
    5, 2, 4, 2, 4, 2, 4, 2,
    3, 2, 3, 2, 3, 2, 3, 2,
    6, 2, 3, 2, 3, 2, 3, 2,
    6, 2, 2, 2, 6, 2, 6, 2,
    7, 2, 2, 2, 2, 2, 2, 2,
    7, 2, 2, 2, 2, 2, 2, 2,
];

impl TinMode {
    /// tc's words, in the order of the variants (`diffserv` is another name for `diffserv4`).
    pub(super) const WORDS: [&'static str; 5] =
        ["besteffort", "precedence", "diffserv3", "diffserv4", "diffserv8"];

    pub(super) fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "besteffort" => Self::Besteffort,
            "precedence" => Self::Precedence,
            "diffserv3" => Self::Diffserv3,
            "diffserv4" | "diffserv" => Self::Diffserv4,
            "diffserv8" => Self::Diffserv8,
            _ => return None,
        })
    }

    pub(super) const fn count(self) -> usize {
        match self {
            Self::Besteffort => 1,
            Self::Precedence | Self::Diffserv8 => 8,
            Self::Diffserv3 => 3,
            Self::Diffserv4 => 4,
        }
    }

    /// The tin of a packet; the lower-effort codepoint had none of its own at first.
    #[inline]
    pub(super) fn tin(self, dscp: u8, version: Version) -> usize {
        let lower_effort = dscp == 1 && version == Version::Chromi;
        match self {
            Self::Besteffort => 0,
            Self::Precedence => usize::from(dscp >> 3),
            Self::Diffserv8 if lower_effort => 2,
            Self::Diffserv8 => usize::from(DIFFSERV8[usize::from(dscp)]),
            _ if lower_effort => 0,
            Self::Diffserv3 => match dscp {
                1 | 8 => 1,
                4 | 44 | 46 | 48 | 56 => 2,
                _ => 0,
            },
            Self::Diffserv4 => match dscp {
                1 | 8 => 1,
                4 | 16 | 18 | 20 | 22 | 24 | 26 | 28 | 30 | 34 | 36 | 38 => 2,
                32 | 40 | 44 | 46 | 48 | 56 => 3,
                _ => 0,
            },
        }
    }

    /// Rate threshold and DRR quantum of tin `index` for the whole's `rate` in bytes per second.
    pub(super) fn share(self, index: usize, rate: u64) -> (u64, i32) {
        match (self, index) {
            (Self::Besteffort, _) => (rate, 65535),
            (Self::Precedence | Self::Diffserv8, _) => {
                let (mut rate, mut quantum) = (rate, 256);
                for _ in 0..index {
                    rate = (rate * 7) >> 3;
                    quantum = (quantum * 7) >> 3;
                }
                (rate, quantum.max(1))
            }
            (_, 0) => (rate, 1024),
            (_, 1) => (rate >> 4, 64),
            (Self::Diffserv4, 2) => (rate >> 1, 512),
            _ => (rate >> 2, 256),
        }
    }

    /// tc's names of the tins in the order in which it prints them, lowest priority first.
    pub(super) const fn display(self) -> &'static [(usize, Name)] {
        use Name::{BestEffort, Bulk, Tin, Video, Voice};
        match self {
            Self::Besteffort => &[(0, Tin(0))],
            Self::Diffserv3 => &[(1, Bulk), (0, BestEffort), (2, Voice)],
            Self::Diffserv4 => &[(1, Bulk), (0, BestEffort), (2, Video), (3, Voice)],
            Self::Precedence | Self::Diffserv8 => &[
                (0, Tin(0)),
                (1, Tin(1)),
                (2, Tin(2)),
                (3, Tin(3)),
                (4, Tin(4)),
                (5, Tin(5)),
                (6, Tin(6)),
                (7, Tin(7)),
            ],
        }
    }
}

/// Name of a tin in statistics.
#[derive(Clone, Copy, Debug)]
pub(super) enum Name {
    Bulk,
    BestEffort,
    Video,
    Voice,
    Tin(u8),
}

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
            law: cobalt::Params::default(),
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

    /// New rate, delays and ramp; packets and control state stay.
    pub(super) fn configure(&mut self, index: usize, p: &Params, mtu: u32) {
        let (rate, quantum) = p.tins.share(index, p.bytes_per_sec());
        let t = RateTargets::new(rate, mtu, p.target().0, p.rtt.0);
        (self.rate, self.quantum, self.time) = (rate, quantum, t.time);
        self.flow_quantum = t.flow_quantum;
        let roots = match p.version {
            Version::Mainline => Roots::Exact,
            Version::Chromi => Roots::Newton,
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
    /// average.
    #[inline]
    pub(super) fn flow_share(&self, index: u16, p: &Params, rng: &mut Rng) -> i32 {
        let flow = &self.flows[usize::from(index)];
        let load = self.hosts.load(flow, p.flows);
        let dither = rng.u32() >> 16;
        ((self.flow_quantum * (65535 / u32::from(load)) + dither) >> 16) as i32
    }

    /// Charges `len` bytes to the tin's clock.
    #[inline]
    pub(super) fn charge(&mut self, now: Time, len: u32) {
        let time = crate::units::Dur(self.time.of(len));
        if self.next < now {
            self.next += time;
        } else if self.next < now + time {
            self.next = now + time;
        }
    }

    /// An arrival for flow `index` gives it a place in the rotation.
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
    /// means something.
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

    /// Follows the delay of a delivered packet.
    #[inline]
    pub(super) fn observe(&mut self, delay: u64) {
        use super::shaper::ewma;
        let c = &mut self.counters;
        c.avg_delay = ewma(c.avg_delay, delay, 8);
        c.peak_delay = ewma(c.peak_delay, delay, if delay > c.peak_delay { 2 } else { 8 });
        c.base_delay = ewma(c.base_delay, delay, if delay < c.base_delay { 2 } else { 8 });
    }
}
