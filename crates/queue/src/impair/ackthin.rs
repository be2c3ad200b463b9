//! `ackthin`: a middlebox that thins pure TCP ACKs, as modems and radio links do: one in N, or the
//! newest of each flow per time. RFC 3449 5.2 (ACK filtering, ACK congestion control), RFC 9768
//! 3.3 for what thinning must not lose.

use std::collections::VecDeque;

use crate::aqm::{
    Backlog, Discipline, Entry, Env, Fifo, Kernel, Log, Qdisc, Reason, Spec, Stats, TXQUEUELEN,
    entry, spec,
};
use sojourn_core::grammar::Given;
use sojourn_core::grammar::forms::{maybe, number, time_from};
use sojourn_core::packet::{FlowId, Kind, Packet};
use sojourn_core::parameters;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Dur, Time};

pub(crate) const ENTRY: Entry = entry::<Params>(
    "ackthin",
    "Thins pure ACKs: one in N, or the newest of a flow per time",
    "RFC 3449 5.2",
    Kernel::Nowhere,
);

/// The default of `every`.
const EVERY: u32 = 2;

parameters! {
    /// Parameters of `ackthin`.
    #[derive(Copy, PartialEq)]
    pub(crate) struct Params {
        /// Of this number of consecutive ACKs of a flow only the last passes.
        every: Option<u32> = None => maybe(number(1..=10_000)), default "2 without hold";
        /// An ACK waits this long, and a newer one takes its place; with `every`, until
        /// whichever comes first.
        hold: Option<Dur> = None => maybe(time_from(Dur(1)));
        /// Pass at once, behind what is held, an ACK with other ECN feedback flags or TOS
        /// than the one before, with other SACK blocks, or that acknowledges nothing new;
        /// or thin it as any other.
        is_careful: bool = true, name "careful|careless";
    }
    derive fill;
}

impl Params {
    fn fill(&mut self, _given: &Given) {
        if self.every.is_none() && self.hold.is_none() {
            self.every = Some(EVERY);
        }
    }
}

impl Discipline for Params {
    fn build(&self, env: Env) -> Box<dyn Qdisc> {
        self.around(env, Box::new(Fifo::pfifo(TXQUEUELEN)))
    }

    fn is_shaper(&self) -> bool {
        true
    }

    fn around(&self, _env: Env, leaf: Box<dyn Qdisc>) -> Box<dyn Qdisc> {
        Box::new(AckThin {
            params: *self,
            flows: vec![State::default(); BUCKETS].into(),
            timers: VecDeque::new(),
            held: Backlog::default(),
            leaf,
            acks: 0,
            thinned: 0,
        })
    }
}

/// Flows that the hash keeps apart; of two with the same place the later one takes it over.
const BUCKETS: usize = 1024;

/// One direction of a flow.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    flow: Option<(FlowId, u32)>,
    /// The last ACK that arrived.
    last: Packet,
    /// ACKs since the last that passed.
    skipped: u32,
    held: Option<Packet>,
    /// When the held one must go.
    due: Time,
}

/// The middlebox, in front of its queue.
struct AckThin {
    params: Params,
    flows: Box<[State]>,
    /// Places with a held ACK by the time it is due; one that has gone by then is passed over.
    timers: VecDeque<(Time, u32)>,
    held: Backlog,
    leaf: Box<dyn Qdisc>,
    acks: u64,
    thinned: u64,
}

impl AckThin {
    /// Lets the held ACK of a place go.
    fn flush(&mut self, place: usize, now: Time, log: &mut Log) {
        let state = &mut self.flows[place];
        state.skipped = 0;
        if let Some(ack) = state.held.take() {
            self.held.remove(&ack);
            self.leaf.enqueue(now, ack, log);
        }
    }

    fn thin(&mut self, pkt: &Packet, log: &mut Log) {
        self.thinned += 1;
        log.drop(pkt, Reason::AckFilter);
    }

    /// Whether a later ACK cannot replace `pkt`, which follows `last`.
    /// RFC 9768 3.3 for the counter; RFC 3449 5.2.
    fn is_news(pkt: &Packet, last: &Packet) -> bool {
        let advances = pkt.ack.wrapping_sub(last.ack).cast_signed() > 0;
        pkt.ace != last.ace || pkt.tos != last.tos || pkt.sacked != last.sacked || !advances
    }

    // RFC 3449 5.2.
    fn ack(&mut self, place: usize, now: Time, pkt: Packet, log: &mut Log) {
        self.acks += 1;
        let p = self.params;
        let state = &mut self.flows[place];
        let last = std::mem::replace(&mut state.last, pkt);
        // The first ACK of a flow has no predecessor that it could repeat.
        let is_first = state.flow.replace(pkt.connection()).is_none();
        if p.is_careful && (is_first || Self::is_news(&pkt, &last)) {
            self.flush(place, now, log);
            self.leaf.enqueue(now, pkt, log);
            return;
        }
        state.skipped += 1;
        let passes = p.every.is_some_and(|n| state.skipped >= n);
        let Some(hold) = p.hold else {
            if passes {
                state.skipped = 0;
                self.leaf.enqueue(now, pkt, log);
            } else {
                self.thin(&pkt, log);
            }
            return;
        };
        self.held.add(&pkt);
        if let Some(old) = state.held.replace(pkt) {
            self.held.remove(&old);
            self.thin(&old, log);
        } else {
            state.due = now + hold;
            self.timers.push_back((state.due, place as u32));
        }
        if passes {
            self.flush(place, now, log);
        }
    }
}

impl Qdisc for AckThin {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: Packet, log: &mut Log) {
        let place = pkt.hash as usize % BUCKETS;
        if self.flows[place].flow.is_some_and(|flow| flow != pkt.connection()) {
            self.flush(place, now, log);
            self.flows[place] = State::default();
        }
        if pkt.kind == Kind::TcpAck && !pkt.is_corrupt() {
            self.ack(place, now, pkt, log);
        } else {
            // Nothing overtakes a held ACK of its flow.
            self.flush(place, now, log);
            self.leaf.enqueue(now, pkt, log);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Time, log: &mut Log) -> Option<Packet> {
        self.leaf.dequeue(now, log)
    }

    #[inline]
    fn next_len(&self) -> Option<u32> {
        self.leaf.next_len()
    }

    #[inline]
    fn wake(&self) -> Time {
        self.timers.front().map_or(Time::NEVER, |(due, _)| *due).min(self.leaf.wake())
    }

    #[inline]
    fn on_wake(&mut self, now: Time, log: &mut Log) {
        if self.leaf.wake() <= now {
            self.leaf.on_wake(now, log);
        }
        while let Some(&(due, place)) = self.timers.front()
            && due <= now
        {
            self.timers.pop_front();
            let state = &self.flows[place as usize];
            if state.held.is_some() && state.due <= now {
                self.flush(place as usize, now, log);
            }
        }
    }

    fn shows_next(&self) -> bool {
        self.leaf.shows_next()
    }

    fn peeked(&mut self, held: Backlog) {
        self.leaf.peeked(held);
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.held + self.leaf.backlog()
    }

    /// What is held when `hold` changes goes at once.
    fn change(&mut self, now: Time, to: &Spec, _given: &Given, _log: &mut Log) {
        let Some(to) = to.params::<Params>() else { return };
        if to.hold != self.params.hold {
            for (due, place) in &mut self.timers {
                *due = now;
                self.flows[*place as usize].due = now;
            }
        }
        self.params = *to;
    }

    fn spec(&self) -> Spec {
        spec(&ENTRY, self.params)
    }

    fn stats(&self, out: &mut Stats) {
        out.put("acks", self.acks as f64);
        out.put("ack_drops", self.thinned as f64);
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("held_acks", "packets", f64::from(self.held.packets));
        out.put("ack_drops", "packets", self.thinned as f64);
        self.leaf.probe(out);
    }

    fn purge(&mut self, log: &mut Log) {
        for (_, place) in self.timers.drain(..) {
            if let Some(ack) = self.flows[place as usize].held.take() {
                log.drop(&ack, Reason::Purge);
            }
        }
        self.held = Backlog::default();
        self.leaf.purge(log);
    }

    fn leaf(&self) -> Option<&dyn Qdisc> {
        Some(&*self.leaf)
    }

    fn leaf_mut(&mut self) -> Option<&mut Box<dyn Qdisc>> {
        Some(&mut self.leaf)
    }
}

#[cfg(test)]
mod tests;
