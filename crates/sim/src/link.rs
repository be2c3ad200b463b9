//! A port: a queue, the wire behind it, and the packets on the way to the next hop. Packets in
//! flight wait in one FIFO whose head is the port's only pending arrival.

use std::collections::VecDeque;

use sojourn_core::packet::Side;
use sojourn_core::{Dur, FlowId, Packet, Probe, Rate, Time};
use sojourn_queue::aqm::{Backlog, Event, Log, Qdisc, Reason, Stats};
use sojourn_scenario::Measure;
use sojourn_scenario::topology::{PortSpec, Role};
use sojourn_trace::summary::{QueueWindow, Totals};
use sojourn_trace::{QueueSummary, Sojourn};
use sojourn_transport::Body;

use crate::events::Slot;
use crate::slab::Slab;

/// Where a packet goes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hop {
    /// Into this port.
    Port(u32),
    /// To this end point.
    End(u32),
    /// Where this split sends it.
    Split(u32),
    /// Past this place, where a tap sees it.
    Seen(u32),
}

/// Counters of one kind of event.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
}

impl Count {
    fn add(&mut self, pkt: &Packet) {
        self.packets += 1;
        self.bytes += u64::from(pkt.len);
    }
}

/// A packet has left the first queue of its path, or was dropped there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    pub(crate) flow: FlowId,
    pub(crate) connection: u32,
    pub(crate) bytes: u32,
}

impl Departure {
    fn of(pkt: &Packet, slab: &Slab) -> Self {
        let connection = match slab.get(pkt.id) {
            Body::Tcp(segment) => segment.connection,
            _ => 0,
        };
        Self { flow: pkt.flow, connection, bytes: pkt.len }
    }
}

/// Where a port's events are in the queue of events.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slots {
    pub(crate) queue: Slot,
    /// Of a port with a wire.
    pub(crate) wire: Slot,
    /// Of a port with a line.
    pub(crate) line: Slot,
}

/// A queue and its wire.
pub(crate) struct Port {
    pub(crate) name: String,
    pub(crate) link: usize,
    pub(crate) forward: bool,
    pub(crate) role: Role,
    pub(crate) slots: Slots,
    /// When the event of the queue's timer is; [`Time::NEVER`] while it is being handled.
    pub(crate) armed: Time,
    /// Whether the queue is a line of constant delay.
    is_line: bool,
    /// Bytes that a packet gains on arrival: at the ends of a tunnel its outer headers come and go.
    growth: i32,
    pub(crate) qdisc: Box<dyn Qdisc>,
    /// How far the queue's clock is ahead of the scenario's: its age at the start.
    pub(crate) age: Dur,
    /// Shaper and size table around the queue that scheduled changes mean.
    pub(crate) wrappers: usize,
    pub(crate) wire: Option<Rate>,
    pub(crate) delay: Dur,
    /// The wire is serialising until then.
    busy_until: Time,
    line: VecDeque<(Time, Packet)>,
    /// Next hop per flow direction.
    pub(crate) next: Vec<Hop>,
    /// Who wants to know of the packets of each flow direction ([`watch`]); empty if nobody.
    pub(crate) watched: Vec<u8>,
    /// Packets of those that have left and were not reported yet.
    pub(crate) departures: Vec<Departure>,
    pub(crate) received: Count,
    pub(crate) sent: Count,
    pub(crate) dropped: Count,
    pub(crate) duplicated: Count,
    marked: u64,
    drops: [u64; Reason::COUNT],
    marks: [u64; Reason::COUNT],
    /// What has left since the set of windows last changed, and what left within each: first the
    /// main window, then those with a name.
    recent: Sojourn,
    windows: Vec<Sojourn>,
    /// What bounds what leaves, from each instant on.
    capacities: Vec<(Time, Option<Rate>)>,
    recent_sojourn: Dur,
    recent_packets: u64,
}

/// Bits of what is to be known of packets at a port.
pub(crate) mod watch {
    /// Their sender wants to know what has left, as its way begins here.
    pub(crate) const REPORTS: u8 = 1;
    /// A tap sees what arrives.
    pub(crate) const ENTERS: u8 = 2;
    /// A tap sees what leaves.
    pub(crate) const LEAVES: u8 = 4;
    /// A tap sees what is dropped.
    pub(crate) const DROPPED: u8 = 8;
}

#[inline]
fn watched(watched: &[u8], pkt: &Packet) -> u8 {
    watched.get(pkt.flow.0 as usize).copied().unwrap_or_default()
}

impl Port {
    pub(crate) fn new(
        spec: &PortSpec,
        qdisc: Box<dyn Qdisc>,
        age: Dur,
        flows: usize,
        windows: usize,
    ) -> Self {
        Self {
            name: spec.name.clone(),
            link: spec.link,
            forward: spec.forward,
            role: spec.role,
            slots: Slots::default(),
            armed: Time::NEVER,
            is_line: false,
            growth: spec.growth,
            qdisc,
            age,
            wrappers: usize::from(spec.shaper.is_some()) + usize::from(spec.stab.is_some()),
            wire: spec.wire,
            delay: spec.delay,
            busy_until: Time::ZERO,
            line: VecDeque::with_capacity(64),
            next: vec![Hop::End(u32::MAX); flows],
            watched: vec![],
            departures: vec![],
            received: Count::default(),
            sent: Count::default(),
            dropped: Count::default(),
            duplicated: Count::default(),
            marked: 0,
            drops: [0; Reason::COUNT],
            marks: [0; Reason::COUNT],
            recent: Sojourn::default(),
            windows: vec![Sojourn::default(); windows],
            capacities: Vec::new(),
            recent_sojourn: Dur::ZERO,
            recent_packets: 0,
        }
    }

    /// `now` on the queue's clock.
    #[inline]
    pub(crate) fn clock(&self, now: Time) -> Time {
        now + self.age
    }

    /// When the queue's timer fires.
    #[inline]
    pub(crate) fn wake(&self) -> Time {
        self.until(self.qdisc.wake())
    }

    /// A time on the queue's clock as one of the scenario's.
    #[inline]
    fn until(&self, at: Time) -> Time {
        if at == Time::NEVER { at } else { Time(at.0.saturating_sub(self.age.0)) }
    }

    /// Serves the queue's timer.
    pub(crate) fn on_wake(&mut self, now: Time, log: &mut Log) {
        if self.is_line {
            return; // taking out what is due is all there is
        }
        let clock = self.clock(now);
        self.qdisc.on_wake(clock, log);
        debug_assert!(self.qdisc.wake() > clock, "`{}` serves its timer", self.qdisc.describe());
    }

    /// Puts a packet into the queue. Gives when the queue has to be asked what leaves, if that is later than now:
    /// until then nothing does, and asking would change nothing.
    #[inline(always)]
    pub(crate) fn enqueue(&mut self, now: Time, mut pkt: Packet, log: &mut Log) -> Option<Time> {
        if self.growth != 0 {
            pkt.len = pkt.len.wrapping_add_signed(self.growth * i32::from(pkt.segs));
        }
        self.received.add(&pkt);
        let clock = self.clock(now);
        if self.is_line
            && let Some(line) = self.qdisc.line()
        {
            line.enqueue(clock, pkt, log);
            let due = line.due();
            return (due > clock).then(|| self.until(due));
        }
        self.qdisc.enqueue(clock, pkt, log);
        (self.busy_until > now || self.qdisc.is_asleep(clock)).then(|| self.wake())
    }

    /// The next packet that leaves the queue at `now`, with the time of its arrival at the next hop, and
    /// which queue of a dual queue it leaves; `None` while the wire is busy or the queue gives nothing.
    #[inline]
    pub(crate) fn transmit(
        &mut self,
        now: Time,
        measuring: bool,
        log: &mut Log,
    ) -> Option<(Time, Packet, Side)> {
        if self.busy_until > now {
            return None;
        }
        let clock = self.clock(now);
        let line = if self.is_line { self.qdisc.line() } else { None };
        let mut pkt = match line {
            Some(line) => line.dequeue(clock)?,
            None => self.qdisc.dequeue(clock, log)?,
        };
        let (sojourn, side) = (clock.since(pkt.stamp), pkt.take_side());
        self.sent.add(&pkt);
        self.recent_sojourn += sojourn;
        self.recent_packets += 1;
        if measuring {
            self.recent.record(pkt.flow, side, pkt.len, sojourn);
        }
        if let Some(rate) = self.wire {
            self.busy_until = now + rate.time_for(u64::from(pkt.len));
        }
        Some((self.busy_until.max(now) + self.delay, pkt, side))
    }

    /// Adds what has left lately to the windows that were open meanwhile.
    pub(crate) fn close(&mut self, open: &[bool]) {
        for (window, _) in self.windows.iter_mut().zip(open).filter(|(_, open)| **open) {
            window.add(&self.recent);
        }
        self.recent.clear();
    }

    /// Puts a packet on the line; true if it is the only one there.
    #[inline]
    pub(crate) fn launch(&mut self, arrival: Time, pkt: Packet) -> bool {
        // A wire does not reorder, even when its delay has just been shortened.
        let arrival = self.line.back().map_or(arrival, |(last, _)| arrival.max(*last));
        self.line.push_back((arrival, pkt));
        self.line.len() == 1
    }

    /// The head of the line if it has arrived by `now`.
    #[inline]
    pub(crate) fn land(&mut self, now: Time) -> Option<Packet> {
        let (arrival, _) = self.line.front()?;
        if *arrival > now {
            return None;
        }
        self.line.pop_front().map(|(_, pkt)| pkt)
    }

    /// Whether packets may be on the way to the next hop: a link's ingress and a tunnel's ends are places, and
    /// what leaves them is at the next one.
    pub(crate) fn has_line(&self) -> bool {
        self.role == Role::Egress
    }

    /// Whether nothing is on the line.
    pub(crate) fn line_is_empty(&self) -> bool {
        self.line.is_empty()
    }

    /// When the head of the line arrives.
    #[inline]
    pub(crate) fn arrival(&self) -> Time {
        self.line.front().map_or(Time::NEVER, |(at, _)| *at)
    }

    /// When the wire is free again, if packets wait for it.
    #[inline]
    pub(crate) fn free_at(&self, now: Time) -> Time {
        if self.busy_until > now { self.busy_until } else { Time::NEVER }
    }

    /// Counts marks, drops and duplicates, and keeps `slab` in step.
    pub(crate) fn settle(&mut self, log: &mut Log, slab: &mut Slab) {
        for event in log.drain() {
            match event {
                Event::Mark(_, reason) => {
                    self.marked += 1;
                    self.marks[reason as usize] += 1;
                }
                Event::Drop(pkt, reason) => {
                    self.dropped.add(&pkt);
                    self.drops[reason as usize] += 1;
                    if watched(&self.watched, &pkt) & watch::REPORTS != 0 {
                        self.departures.push(Departure::of(&pkt, slab));
                    }
                    slab.release(pkt.id);
                }
                Event::Duplicate(pkt) => {
                    self.duplicated.add(&pkt);
                    slab.share(pkt.id);
                }
            }
        }
    }

    /// What is to be known of a packet here.
    #[inline]
    pub(crate) fn watched(&self, pkt: &Packet) -> u8 {
        watched(&self.watched, pkt)
    }

    /// Notes that a packet has left the queue.
    #[inline]
    pub(crate) fn departed(&mut self, pkt: &Packet, slab: &Slab) {
        self.departures.push(Departure::of(pkt, slab));
    }

    /// Packets and bytes on the line.
    pub(crate) fn on_line(&self) -> Backlog {
        let mut backlog = Backlog::default();
        for (_, pkt) in &self.line {
            backlog.add(pkt);
        }
        backlog
    }

    /// Panics unless `received + duplicated = sent + dropped + backlog` in packets and bytes.
    pub(crate) fn assert_balanced(&self) {
        let held = self.qdisc.backlog();
        assert_eq!(
            (
                self.received.packets + self.duplicated.packets,
                self.received.bytes + self.duplicated.bytes
            ),
            (
                self.sent.packets + self.dropped.packets + u64::from(held.packets),
                self.sent.bytes + self.dropped.bytes + held.bytes
            ),
            "accounts of queue `{}` ({})",
            self.name,
            self.qdisc.describe()
        );
    }

    /// Sampled values since the last call.
    pub(crate) fn sample(&mut self, probe: &mut Probe<'_>) {
        let backlog = self.qdisc.backlog();
        let sojourn = if self.recent_packets == 0 {
            f64::NAN
        } else {
            self.recent_sojourn.as_millis_f64() / self.recent_packets as f64
        };
        self.recent_sojourn = Dur::ZERO;
        self.recent_packets = 0;
        probe.put("backlog_packets", "packets", f64::from(backlog.packets));
        probe.put("backlog_bytes", "bytes", backlog.bytes as f64);
        probe.put("sojourn", "ms", sojourn);
        probe.put("received_packets", "packets", self.received.packets as f64);
        probe.put("marks", "packets", self.marked as f64);
        probe.put("drops", "packets", self.dropped.packets as f64);
        self.qdisc.probe(probe);
    }

    /// The discipline and, after a `;`, the one inside it, unless it names that itself.
    fn describe(&self) -> String {
        let mut text = self.qdisc.describe();
        let mut inside = self.qdisc.leaf();
        for _ in 0..self.wrappers.max(1) {
            let Some(leaf) = inside else { break };
            let own = leaf.describe();
            if !text.ends_with(&own) {
                text = format!("{text}; {own}");
            }
            inside = leaf.leaf();
        }
        text
    }

    /// The rate that bounds what leaves: the lesser one of the wire and of a queue that shapes.
    pub(crate) fn capacity(&self) -> Option<Rate> {
        self.wire.into_iter().chain(self.qdisc.capacity()).min()
    }

    /// Notes what the queue is from `now` on: the rate that is in force, and whether it only delays.
    pub(crate) fn note_queue(&mut self, now: Time) {
        self.is_line = self.wire.is_none() && self.qdisc.line().is_some();
        self.capacities.push((now, self.capacity()));
    }

    /// Bits that the rates in force have allowed until `now` within a window; none if some time
    /// had no rate.
    fn allowed(&self, window: Measure, now: Time) -> Option<f64> {
        let ends = self.capacities.iter().skip(1).map(|(at, _)| *at).chain([now]);
        let parts = self.capacities.iter().zip(ends).map(|((from, rate), end)| {
            match end.min(window.to).since((*from).max(window.from)) {
                Dur::ZERO => Some(0.0),
                length => rate.map(|rate| rate.0 as f64 * length.as_secs_f64()),
            }
        });
        parts.sum::<Option<f64>>().filter(|bits| *bits > 0.0)
    }

    /// Statistics until `now` of the window with this number; `name` tells the flow or ping of a
    /// number.
    pub(crate) fn window(
        &self,
        number: usize,
        window: Measure,
        now: Time,
        name: impl Fn(usize) -> String,
    ) -> QueueWindow {
        self.left(&self.windows[number], window, now, name)
    }

    /// The same of what has left since the set of windows last changed.
    pub(crate) fn recent(
        &self,
        window: Measure,
        now: Time,
        name: impl Fn(usize) -> String,
    ) -> QueueWindow {
        self.left(&self.recent, window, now, name)
    }

    fn left(
        &self,
        sojourn: &Sojourn,
        window: Measure,
        now: Time,
        name: impl Fn(usize) -> String,
    ) -> QueueWindow {
        let allowed = self.allowed(window, now);
        QueueWindow {
            name: self.name.clone(),
            sojourn_ms: sojourn.statistics(),
            flows: sojourn.flows(name),
            queues: sojourn.sides(),
            utilisation: allowed.map(|bits| sojourn.bytes() as f64 * 8.0 / bits),
        }
    }

    /// Accounts at the end of the run, and the statistics of a window.
    pub(crate) fn summary(&self, window: QueueWindow) -> QueueSummary {
        let held = self.qdisc.backlog();
        let mut stats = Stats::default();
        self.qdisc.stats(&mut stats);
        let reasons = |counts: &[u64; Reason::COUNT]| {
            let named = Reason::ALL.iter().zip(counts).filter(|(_, n)| **n > 0);
            named.map(|(r, n)| (r.name(), *n as f64)).collect::<Totals>()
        };
        QueueSummary {
            name: window.name,
            qdisc: self.describe(),
            received_packets: self.received.packets,
            received_bytes: Some(self.received.bytes),
            duplicated: self.duplicated.packets,
            duplicated_bytes: self.duplicated.bytes,
            sent_packets: self.sent.packets,
            sent_bytes: Some(self.sent.bytes),
            dropped: self.dropped.packets,
            dropped_bytes: Some(self.dropped.bytes),
            marked: self.marked,
            backlog_packets: u64::from(held.packets),
            backlog_bytes: held.bytes,
            drops: reasons(&self.drops),
            marks: reasons(&self.marks),
            stats: Totals(stats.0),
            sojourn_ms: window.sojourn_ms,
            flows: window.flows,
            queues: window.queues,
            utilisation: window.utilisation,
        }
    }
}
