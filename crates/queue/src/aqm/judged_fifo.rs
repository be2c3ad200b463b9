//! A FIFO whose packets are judged when they leave: the queue, the parameters and the delay are the
//! same in all of these disciplines, each adds its [`Judge`].

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

    /// The control state of a queue that is created.
    fn new(params: &Self::Params, env: Env) -> Self;
    /// Packets that may wait.
    fn limit(params: &Self::Params) -> Option<u32>;
    /// A packet arrives, which is not yet queued and may find no room.
    #[inline]
    fn arrive(&mut self, _fifo: &mut JudgedQueue<Self::Params>, _now: Time) {}
    /// Decides over `pkt`, which has left the queue: marks it, or gives the reason to drop it.
    fn judge(
        &mut self,
        fifo: &mut JudgedQueue<Self::Params>,
        now: Time,
        pkt: &mut Packet,
        log: &mut Log,
    ) -> Option<Reason>;
    /// The parameters are now these.
    fn change(&mut self, _to: &Self::Params) {}
    /// Counters under the names of `tc -s`.
    fn stats(&self, _out: &mut Stats) {}
    /// Control state for the trace, beside the delay.
    fn probe(&self, params: &Self::Params, out: &mut Probe<'_>);
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
    /// Whether the packet that has just left was the last.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.queue.packets.is_empty()
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
        let queue = PlainQueue::new(J::limit(&params));
        let judge = J::new(&params, env);
        Self { fifo: JudgedQueue { params, queue, delay: Dur::ZERO }, judge }
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
    fn enqueue(&mut self, now: Time, pkt: Packet, log: &mut Log) {
        self.judge.arrive(&mut self.fifo, now);
        self.fifo.queue.push(now, pkt, log);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<Packet> {
        loop {
            let mut pkt = self.fifo.queue.pop()?;
            self.fifo.delay = now.since(pkt.stamp);
            match self.judge.judge(&mut self.fifo, now, &mut pkt, log) {
                Some(why) => log.drop(&pkt, why),
                None => return Some(pkt),
            }
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.fifo.queue.backlog
    }

    fn change(&mut self, _now: Time, to: &Spec, _given: &Given, _log: &mut Log) {
        if let Some(params) = to.params::<J::Params>() {
            self.fifo.params = *params;
            self.fifo.queue.limit = J::limit(params);
            self.judge.change(params);
        }
    }

    fn spec(&self) -> Spec {
        spec(J::ENTRY, self.fifo.params)
    }

    fn stats(&self, out: &mut Stats) {
        self.judge.stats(out);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("delay", "ms", self.fifo.delay.as_millis_f64());
        self.judge.probe(&self.fifo.params, out);
    }

    fn splits(&self, _pkt: &Packet) -> bool {
        J::SPLITS
    }

    fn purge(&mut self, log: &mut Log) {
        self.fifo.queue.purge(log);
        self.judge.reset();
    }
}

/// Refuses to change a parameter that is fixed when the discipline is created.
pub(super) fn fixed(name: &str, is_same: bool) -> Result<(), String> {
    if is_same {
        return Ok(());
    }
    Err(format!("`{name}` is fixed at creation; use replace"))
}
