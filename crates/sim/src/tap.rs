//! Places of the network where a tap sees the packets that pass. A run without one has no trace of it on the
//! way of a packet: ways that are watched lead past [`Hop::Seen`], and queues ask what they ask anyway.

use std::collections::BTreeMap;

use sojourn_core::packet::Side;
use sojourn_core::{Dur, FlowId, Packet, Time};
use sojourn_queue::aqm::{Event, Log, Qdisc, Reason};
use sojourn_transport::Body;

use crate::ends::Ends;
use crate::link::{Hop, Port, watch};
use crate::slab::Slab;
use crate::split::Split;

/// Where a packet passes. Ports are numbered as in the [`Topology`](sojourn_scenario::Topology), ends as in
/// [`Ends`]: those of the flow or ping number n, flows first, are 2n, which opens it, and 2n + 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// This end has sent it.
    Sent(usize),
    /// It arrives at this end.
    Arrives(usize),
    /// It arrives at this port, and is not in its queue yet.
    Enters(usize),
    /// It leaves the queue of this port, and goes onto the wire.
    Leaves(usize),
    /// The queue of this port has discarded it.
    Dropped(usize),
}

/// A packet as it passes.
#[derive(Clone, Copy)]
pub struct Sight<'a> {
    /// With what the path has changed so far.
    pub packet: &'a Packet,
    /// Its header as it was sent.
    pub body: &'a Body,
    /// What a queue has done with it, where it leaves one or was dropped there.
    pub queue: Option<Queued<'a>>,
}

/// What a queue has done with a packet.
#[derive(Clone, Copy)]
pub struct Queued<'a> {
    /// How long the queue had it; none of the second of two duplicates that is dropped.
    pub sojourn: Option<Dur>,
    /// Which queue of a dual queue it leaves.
    pub side: Side,
    /// Why it was marked there, or dropped.
    pub reason: Option<Reason>,
    /// The discipline, in its present state.
    pub qdisc: &'a dyn Qdisc,
}

/// What sees packets pass.
pub trait Tap: Send {
    /// Whether it wants to see packets of this direction of a flow here. Asked before the first of them.
    fn wants(&self, passage: Passage, flow: FlowId) -> bool;

    /// A packet passes.
    fn see(&mut self, now: Time, passage: Passage, sight: &Sight<'_>);

    /// A super-packet is cut before a queue: its segment number `index` has an id of its own from now on.
    fn split(&mut self, whole: u32, segment: u32, index: u32);

    /// Why it cannot go on, if it cannot.
    fn failure(&mut self) -> Option<String> {
        None
    }

    /// The run is over, or ends early.
    ///
    /// # Errors
    /// What it had to do last has failed; one line.
    fn finish(self: Box<Self>) -> Result<(), String>;
}

/// A tap in a network.
pub(crate) struct Taps {
    pub(crate) tap: Box<dyn Tap>,
    /// By the number of a [`Hop::Seen`]: what passes there, and where it goes.
    places: Vec<(Passage, Hop)>,
    /// Events of the log that were looked at.
    noted: usize,
    /// Why packets, by port and id, are marked that are still in its queue.
    marks: BTreeMap<(usize, u32), Reason>,
    /// When packets, by port and id, came that may be dropped there.
    came: BTreeMap<(usize, u32), Time>,
}

impl Taps {
    /// Leads the ways that `tap` wants to see past it.
    pub(crate) fn install(
        tap: Box<dyn Tap>,
        ports: &mut [Port],
        splits: &mut [Split],
        ends: &mut Ends,
    ) -> Self {
        let (marks, came) = (BTreeMap::new(), BTreeMap::new());
        let mut taps = Self { tap, places: Vec::new(), noted: 0, marks, came };
        let count = ends.list.len();
        for (number, end) in ends.list.iter_mut().enumerate() {
            end.first = taps.past(end.first, end.flow, count, splits);
            if taps.tap.wants(Passage::Sent(number), end.flow) {
                end.first = taps.seen(Passage::Sent(number), end.first);
            }
        }
        for (number, port) in ports.iter_mut().enumerate() {
            for sender in 0..count {
                let flow = FlowId(sender as u32);
                port.next[sender] = taps.past(port.next[sender], flow, count, splits);
                let bits = [
                    (Passage::Enters(number), watch::ENTERS),
                    (Passage::Leaves(number), watch::LEAVES),
                    (Passage::Dropped(number), watch::DROPPED),
                ];
                let wanted = bits.iter().filter(|(passage, _)| taps.tap.wants(*passage, flow));
                let wanted = wanted.fold(0, |all, (_, bit)| all | bit);
                if wanted != 0 {
                    port.watched.resize(count, 0);
                    port.watched[sender] |= wanted;
                }
            }
        }
        taps
    }

    /// A hop of this direction of a flow, past the tap if that wants to see where it leads.
    fn past(&mut self, hop: Hop, flow: FlowId, ends: usize, splits: &mut [Split]) -> Hop {
        let passage = match hop {
            Hop::Port(port) => Passage::Enters(port as usize),
            Hop::End(end) if (end as usize) < ends => Passage::Arrives(end as usize),
            Hop::Split(split) => {
                // A split is of one sender, and a single hop leads to it.
                let hops: Vec<Hop> = splits[split as usize].hops().collect();
                let hops = hops.into_iter().map(|hop| self.past(hop, flow, ends, splits)).collect();
                splits[split as usize].set_hops(hops);
                return hop;
            }
            Hop::End(_) | Hop::Seen(_) => return hop,
        };
        let is_wanted = self.tap.wants(passage, flow)
            || matches!(passage, Passage::Enters(port) if self.tap.wants(Passage::Dropped(port), flow));
        if is_wanted { self.seen(passage, hop) } else { hop }
    }

    fn seen(&mut self, passage: Passage, then: Hop) -> Hop {
        self.places.push((passage, then));
        Hop::Seen(self.places.len() as u32 - 1)
    }

    /// What passes at a hop, and where it goes from there.
    pub(crate) fn place(&self, number: u32) -> (Passage, Hop) {
        self.places[number as usize]
    }

    /// A packet is sent, or arrives at its end.
    pub(crate) fn see(&mut self, now: Time, passage: Passage, packet: &Packet, slab: &Slab) {
        let body = slab.get(packet.id);
        self.tap.see(now, passage, &Sight { packet, body, queue: None });
    }

    /// A packet arrives at a port.
    pub(crate) fn enters(
        &mut self,
        now: Time,
        (number, port): (usize, &Port),
        packet: &Packet,
        slab: &Slab,
    ) {
        let watched = port.watched(packet);
        if watched & watch::DROPPED != 0 {
            self.came.insert((number, packet.id), now);
        }
        if watched & watch::ENTERS != 0 {
            self.see(now, Passage::Enters(number), packet, slab);
        }
    }

    /// Notes why packets were marked, from the events of the log that are new.
    fn note(&mut self, number: usize, port: &Port, log: &Log) {
        for event in &log.events()[self.noted..] {
            if let Event::Mark(packet, reason) = event
                && port.watched(packet) & watch::LEAVES != 0
            {
                self.marks.insert((number, packet.id), *reason);
            }
        }
        self.noted = log.events().len();
    }

    /// A packet leaves the queue of a port; `log` has what the queue did until then.
    pub(crate) fn leaves(
        &mut self,
        now: Time,
        (number, port): (usize, &Port),
        (packet, side): (&Packet, Side),
        (slab, log): (&Slab, &Log),
    ) {
        self.note(number, port, log);
        self.came.remove(&(number, packet.id));
        let queue = Queued {
            sojourn: Some(port.clock(now).since(packet.stamp)),
            side,
            reason: self.marks.remove(&(number, packet.id)),
            qdisc: port.qdisc.as_ref(),
        };
        let sight = Sight { packet, body: slab.get(packet.id), queue: Some(queue) };
        self.tap.see(now, Passage::Leaves(number), &sight);
    }

    /// The log of a port is about to be settled.
    pub(crate) fn settle(
        &mut self,
        now: Time,
        (number, port): (usize, &Port),
        (slab, log): (&Slab, &Log),
    ) {
        self.note(number, port, log);
        self.noted = 0;
        for event in log.events() {
            let Event::Drop(packet, reason) = event else { continue };
            self.marks.remove(&(number, packet.id));
            if port.watched(packet) & watch::DROPPED == 0 {
                continue;
            }
            let mut packet = *packet;
            let side = packet.take_side();
            let sojourn = self.came.remove(&(number, packet.id)).map(|came| now.since(came));
            let qdisc = port.qdisc.as_ref();
            let queue = Queued { sojourn, side, reason: Some(*reason), qdisc };
            let sight = Sight { packet: &packet, body: slab.get(packet.id), queue: Some(queue) };
            self.tap.see(now, Passage::Dropped(number), &sight);
        }
    }
}
