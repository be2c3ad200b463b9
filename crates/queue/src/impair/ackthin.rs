//! `ackthin`: a middlebox that thins pure TCP ACKs, as modems and radio links do: one in N, or the
//! newest of each flow per time. RFC 3449 5.2 (ACK filtering, ACK congestion control), RFC 9768
//! 3.3 for what thinning must not lose.

use std::collections::VecDeque;

use crate::aqm::{Backlog, Fifo, Kernel, Log, OldEntry, Qdisc, Reason, Stats};
use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::packet::{FlowId, Kind, Packet};
use sojourn_core::probe::Probe;
use sojourn_core::units::{Dur, Time};

pub(crate) const ENTRY: OldEntry = OldEntry {
    name: "ackthin",
    summary: "Thins pure ACKs: one in N, or the newest of a flow per time",
    reference: "RFC 3449 5.2",
    kernel: Kernel::Nowhere,
    params: &[
        Param {
            name: "every",
            value: "NUMBER",
            default: "2 without hold",
            doc: "Of so many ACKs of a flow in a row, only the last passes.",
        },
        Param {
            name: "hold",
            value: "TIME",
            default: "off",
            doc: "An ACK waits this long, and a newer one takes its place; with `every`, until \
                  whichever comes first.",
        },
        Param {
            name: "careful|careless",
            value: "",
            default: "careful",
            doc: "Pass at once, behind what is held, an ACK with other ECN feedback flags or TOS \
                  than the one before, with other SACK blocks, or that acknowledges nothing new; \
                  or thin it as any other.",
        },
    ],
    build: |args, env| {
        let leaf = Box::new(Fifo::pfifo(env.txqueuelen));
        Ok(Box::new(AckThin::around(args, leaf)?))
    },
};

/// The default of `every`.
const EVERY: u32 = 2;

/// Flows that are told apart by hash; one that meets another's place takes it over.
const BUCKETS: usize = 1024;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Params {
    every: Option<u32>,
    hold: Option<Dur>,
    careless: bool,
}

impl Params {
    fn read(mut self, args: &mut Args<'_>) -> Result<Self, GrammarError> {
        while let Some(key) = args.key() {
            match key {
                "every" => self.every = Some(args.number(1..=10_000)? as u32),
                "hold" => {
                    let time = |w| Dur::parse_tc(w).filter(|d| *d > Dur::ZERO);
                    self.hold = Some(args.value("a time above zero such as `5ms`", time)?);
                }
                "careful" => self.careless = false,
                "careless" => self.careless = true,
                _ => return Err(args.unknown()),
            }
        }
        if self.every.is_none() && self.hold.is_none() {
            self.every = Some(EVERY);
        }
        Ok(self)
    }
}

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
pub struct AckThin {
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
    /// The middlebox that `args` describes (the words after `ackthin`), in front of `leaf`.
    pub(crate) fn around(args: &mut Args<'_>, leaf: Box<dyn Qdisc>) -> Result<Self, GrammarError> {
        Ok(Self {
            params: Params::default().read(args)?,
            flows: vec![State::default(); BUCKETS].into(),
            timers: VecDeque::new(),
            held: Backlog::default(),
            leaf,
            acks: 0,
            thinned: 0,
        })
    }

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

    /// Whether a later ACK cannot stand for `pkt`, which follows `last`.
    fn is_news(pkt: &Packet, last: &Packet) -> bool {
        let advances = pkt.ack.wrapping_sub(last.ack).cast_signed() > 0;
        pkt.ace != last.ace || pkt.tos != last.tos || pkt.sacked != last.sacked || !advances
    }

    fn ack(&mut self, place: usize, now: Time, pkt: Packet, log: &mut Log) {
        self.acks += 1;
        let p = self.params;
        let state = &mut self.flows[place];
        let last = std::mem::replace(&mut state.last, pkt);
        // The first ACK of a flow has no predecessor that it could repeat.
        let is_first = state.flow.replace(pkt.connection()).is_none();
        if !p.careless && (is_first || Self::is_news(&pkt, &last)) {
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

    #[inline]
    fn backlog(&self) -> Backlog {
        self.held + self.leaf.backlog()
    }

    /// What is held when `hold` changes goes at once.
    fn old_change(
        &mut self,
        now: Time,
        args: &mut Args<'_>,
        _log: &mut Log,
    ) -> Result<(), GrammarError> {
        let params = self.params.read(args)?;
        if params.hold != self.params.hold {
            for (due, place) in &mut self.timers {
                *due = now;
                self.flows[*place as usize].due = now;
            }
        }
        self.params = params;
        Ok(())
    }

    fn describe(&self) -> String {
        let p = &self.params;
        let every = p.every.map_or(String::new(), |n| format!(" every {n}"));
        let hold = p.hold.map_or(String::new(), |time| format!(" hold {time}"));
        format!("ackthin{every}{hold} {}", if p.careless { "careless" } else { "careful" })
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
