//! The shell of path elements that take no time: each packet is judged on arrival and leaves at
//! the same instant, unless the port's wire is busy.

use crate::aqm::{Backlog, Fifo, Log, Qdisc, Reason, Spec, Stats, TXQUEUELEN};
use sojourn_core::grammar::Given;
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::units::Time;

/// What an element does to a packet that passes it.
pub(super) trait Element: Send {
    /// Rewrites `pkt`, or says why it goes no further.
    fn pass(&mut self, pkt: &mut Packet, log: &mut Log) -> Option<Reason>;

    /// As [`Qdisc::change`].
    fn change(&mut self, to: &Spec, given: &Given);

    /// As [`Qdisc::spec`].
    fn spec(&self) -> Spec;

    /// As [`Qdisc::stats`].
    fn stats(&self, out: &mut Stats);

    /// As [`Qdisc::probe`].
    fn probe(&self, _out: &mut Probe<'_>) {}

    /// As [`Qdisc::splits`].
    fn splits(&self) -> bool {
        false
    }
}

/// An element and the FIFO behind it.
pub(super) struct InPath<E> {
    element: E,
    queue: Fifo,
}

impl<E: Element> InPath<E> {
    /// The FIFO holds what waits for a busy wire.
    pub(super) fn new(element: E) -> Self {
        Self { element, queue: Fifo::pfifo(TXQUEUELEN) }
    }
}

impl<E: Element> Qdisc for InPath<E> {
    #[inline]
    fn enqueue(&mut self, now: Time, mut pkt: Packet, log: &mut Log) {
        let arrived = pkt;
        match self.element.pass(&mut pkt, log) {
            Some(reason) => log.drop(&arrived, reason),
            None => self.queue.enqueue(now, pkt, log),
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<Packet> {
        self.queue.dequeue(now, log)
    }

    #[inline]
    fn next_len(&self) -> Option<u32> {
        self.queue.next_len()
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn change(&mut self, _now: Time, to: &Spec, given: &Given, _log: &mut Log) {
        self.element.change(to, given);
    }

    fn spec(&self) -> Spec {
        self.element.spec()
    }

    fn stats(&self, out: &mut Stats) {
        self.element.stats(out);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        self.element.probe(out);
    }

    fn splits(&self, _pkt: &Packet) -> bool {
        self.element.splits()
    }

    fn purge(&mut self, log: &mut Log) {
        self.queue.purge(log);
    }
}
