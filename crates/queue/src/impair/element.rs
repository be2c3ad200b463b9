//! The shell of path elements that take no time: each packet is judged on arrival and leaves at
//! the same instant, unless the port's wire is busy.

use crate::aqm::{Backlog, Fifo, Log, Qdisc, Reason, Stats};
use sojourn_core::grammar::{Args, GrammarError};
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::units::Time;

/// What an element does to a packet that passes it.
pub(super) trait Element: Send {
    /// Rewrites `pkt`, or says why it goes no further.
    fn pass(&mut self, pkt: &mut Packet, log: &mut Log) -> Option<Reason>;

    /// As [`Qdisc::change`]. An element keeps its words if there are none, else takes the new.
    fn old_change(&mut self, args: &mut Args<'_>) -> Result<(), GrammarError>;

    /// As [`Qdisc::describe`].
    fn describe(&self) -> String;

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
    /// `limit` packets may wait for a busy wire.
    pub(super) fn new(element: E, limit: u32) -> Self {
        Self { element, queue: Fifo::pfifo(limit) }
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

    fn old_change(
        &mut self,
        _now: Time,
        args: &mut Args<'_>,
        _log: &mut Log,
    ) -> Result<(), GrammarError> {
        self.element.old_change(args)
    }

    fn describe(&self) -> String {
        self.element.describe()
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
