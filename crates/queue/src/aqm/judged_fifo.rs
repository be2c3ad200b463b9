//! A FIFO whose packets are judged when they arrive or when they leave: the queue, the parameters and
//! the delay are the same in all of these disciplines, each adds its [`Judge`].

use std::fmt::Debug;

use super::plain_queue::PlainQueue;
use super::{Backlog, Discipline, Entry, Env, Log, Qdisc, Reason, Spec, Stats, spec};
use sojourn_core::grammar::{Given, Parameters};
use sojourn_core::packet::Packet;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Dur, Time};

/// What decides over the packets of one FIFO.
pub(super) trait Judge: Debug + Send + Sized + 'static {
    type Params: Discipline + Parameters + Copy + Default + Debug + Send + Sync + 'static;
    /// The line of the registry.
    const ENTRY: &'static Entry;
    /// Whether super-packets are queued segment by segment.
    const SPLITS: bool = false;
    /// Whether the next packet leaves as it waits, so that its length can be shown.
    const SHOWS_NEXT: bool = false;
    /// Whether a change puts an empty FIFO in the place of the old one.
    const IS_REPLACED: bool = false;

    /// The control state of a queue that is created.
    fn new(params: &Self::Params, env: Env) -> Self;
    /// Packets that may wait, for a judge that does not look at arrivals itself.
    fn limit(_params: &Self::Params) -> Option<u32> {
        None
    }
    /// Decides over `pkt`, which arrives and is not yet queued: marks it, or gives the reason to drop it.
    #[inline]
    fn arrive(
        &mut self,
        fifo: &JudgedQueue<Self::Params>,
        _now: Time,
        _pkt: &mut Packet,
        _log: &mut Log,
    ) -> Option<Reason> {
        fifo.overflow(Self::limit(&fifo.params))
    }
    /// Decides over `pkt`, which has left the queue: marks it, or gives the reason to drop it.
    #[inline]
    fn judge(
        &mut self,
        _fifo: &mut JudgedQueue<Self::Params>,
        _now: Time,
        _pkt: &mut Packet,
        _log: &mut Log,
    ) -> Option<Reason> {
        None
    }
    /// A packet is asked for, and none waits.
    #[inline]
    fn idle(&mut self, _params: &Self::Params, _now: Time) {}
    /// As [`Qdisc::wake`].
    #[inline]
    fn wake(&self) -> Time {
        Time::NEVER
    }
    /// The instant from [`Judge::wake`] has come.
    fn on_wake(&mut self, _fifo: &JudgedQueue<Self::Params>, _now: Time) {}
    /// The parameters change.
    fn change(&mut self, _from: &Self::Params, _to: &Self::Params, _now: Time) {}
    /// Counters under the names of `tc -s`.
    fn stats(&self, _params: &Self::Params, _out: &mut Stats) {}
    /// Control state for the trace.
    fn probe(&self, fifo: &JudgedQueue<Self::Params>, out: &mut Probe<'_>);
    /// Discards the control state.
    fn reset(&mut self);
}

/// The queue as its judge sees it.
#[derive(Debug)]
pub(super) struct JudgedQueue<P> {
    pub(super) params: P,
    pub(super) queue: PlainQueue,
    /// Sojourn of the packet that left last, as the judge counts it.
    pub(super) delay: Dur,
}

impl<P> JudgedQueue<P> {
    /// Whether no packet waits; when one is judged, whether it was the last.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.queue.packets.is_empty()
    }

    /// The reason to drop an arrival if this many packets wait.
    #[inline]
    pub(super) fn overflow(&self, limit: Option<u32>) -> Option<Reason> {
        let is_full = limit.is_some_and(|limit| self.queue.waiting().packets >= limit);
        is_full.then_some(Reason::TailLimit)
    }

    pub(super) fn probe_delay(&self, out: &mut Probe<'_>) {
        out.put("delay", "ms", self.delay.as_millis_f64());
    }
}

/// A FIFO under one judge.
#[derive(Debug)]
pub(super) struct JudgedFifo<J: Judge> {
    pub(super) fifo: JudgedQueue<J::Params>,
    pub(super) judge: J,
}

impl<J: Judge> JudgedFifo<J> {
    pub(super) fn new(params: J::Params, env: Env) -> Self {
        let judge = J::new(&params, env);
        Self { fifo: JudgedQueue { params, queue: PlainQueue::default(), delay: Dur::ZERO }, judge }
    }

    /// The discipline with these options, for tests of its state.
    #[cfg(test)]
    pub(super) fn read(options: &str) -> Self {
        let spec: Spec = format!("{} {options}", J::ENTRY.name).parse().expect("valid options");
        let env = Env::ethernet(sojourn_core::rng::Rng::named(1, "t"));
        Self::new(*spec.params().expect("its own parameters"), env)
    }
}

impl<J: Judge> Qdisc for JudgedFifo<J> {
    #[inline]
    fn enqueue(&mut self, now: Time, mut pkt: Packet, log: &mut Log) {
        match self.judge.arrive(&self.fifo, now, &mut pkt, log) {
            Some(why) => log.drop(&pkt, why),
            None => self.fifo.queue.push(now, pkt),
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<Packet> {
        loop {
            let Some(mut pkt) = self.fifo.queue.pop() else {
                self.judge.idle(&self.fifo.params, now);
                return None;
            };
            self.fifo.delay = now.since(pkt.stamp);
            match self.judge.judge(&mut self.fifo, now, &mut pkt, log) {
                Some(why) => log.drop(&pkt, why),
                None => return Some(pkt),
            }
        }
    }

    #[inline]
    fn next_len(&self) -> Option<u32> {
        if J::SHOWS_NEXT { self.fifo.queue.next_len() } else { None }
    }

    fn shows_next(&self) -> bool {
        J::SHOWS_NEXT
    }

    fn peeked(&mut self, held: Backlog) {
        self.fifo.queue.peeked = held;
    }

    #[inline]
    fn wake(&self) -> Time {
        self.judge.wake()
    }

    fn on_wake(&mut self, now: Time, _log: &mut Log) {
        if self.judge.wake() <= now {
            self.judge.on_wake(&self.fifo, now);
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.fifo.queue.backlog
    }

    fn change(&mut self, now: Time, to: &Spec, _given: &Given, log: &mut Log) {
        if let Some(params) = to.params::<J::Params>() {
            if J::IS_REPLACED {
                self.fifo.queue.purge(log);
            }
            self.judge.change(&self.fifo.params, params, now);
            self.fifo.params = *params;
        }
    }

    fn spec(&self) -> Spec {
        spec(J::ENTRY, self.fifo.params)
    }

    fn stats(&self, out: &mut Stats) {
        self.judge.stats(&self.fifo.params, out);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        self.judge.probe(&self.fifo, out);
    }

    fn splits(&self, _pkt: &Packet) -> bool {
        J::SPLITS
    }

    fn purge(&mut self, log: &mut Log) {
        self.fifo.queue.purge(log);
        self.judge.reset();
    }
}
