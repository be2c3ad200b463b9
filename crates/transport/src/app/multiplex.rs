//! Many connections behind one end of a flow: packets go to the connection whose number they
//! carry, and one heap holds the timers, so that the engine sees one end point with one deadline.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use sojourn_core::Time;

use crate::endpoint::{Body, Endpoint, FlowProbe, Transmit};

/// Most connections at once: the low half of a number is its slot.
pub(super) const MAX_SLOTS: u32 = 1 << 16;

/// The place of a connection.
#[derive(Debug)]
struct Slot<E> {
    /// Number of the connection; above the slot a count of those that were here before.
    number: u32,
    end: Option<E>,
    /// When the heap wakes this slot, not after its deadline.
    armed: Time,
    /// Whether it waits in `ready`.
    ready: bool,
}

/// Connections in slots.
#[derive(Debug)]
pub(super) struct Multiplex<E> {
    slots: Vec<Slot<E>>,
    /// Slots that may have something to send.
    ready: VecDeque<u32>,
    timers: BinaryHeap<Reverse<(Time, u32)>>,
}

impl<E: Endpoint> Multiplex<E> {
    pub(super) fn new() -> Self {
        Self { slots: vec![], ready: VecDeque::new(), timers: BinaryHeap::new() }
    }

    /// Slots that were ever used.
    pub(super) fn len(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Number of the next connection in `slot`.
    pub(super) fn successor(&self, slot: u32) -> u32 {
        let before = self.slots.get(slot as usize).map_or(0, |s| s.number >> 16);
        // Zero is the number of flows with one connection.
        let count = if before == 0xffff { 1 } else { before + 1 };
        count << 16 | slot
    }

    /// Puts a connection into the slot of its number; gives the one that was there.
    pub(super) fn insert(&mut self, number: u32, end: E) -> Option<E> {
        let slot = number % MAX_SLOTS;
        while self.len() <= slot {
            self.slots.push(Slot { number: 0, end: None, armed: Time::NEVER, ready: false });
        }
        self.slots[slot as usize].number = number;
        let old = self.slots[slot as usize].end.replace(end);
        self.wake(slot);
        old
    }

    /// The connection with this number, if it is open.
    pub(super) fn get(&mut self, number: u32) -> Option<&mut E> {
        let slot = self.slots.get_mut((number % MAX_SLOTS) as usize)?;
        slot.end.as_mut().filter(|_| slot.number == number)
    }

    /// Whether `number` comes after the connection that has or had its slot.
    pub(super) fn is_news(&self, number: u32) -> bool {
        self.slots.get((number % MAX_SLOTS) as usize).is_none_or(|slot| {
            let ahead = (number >> 16).wrapping_sub(slot.number >> 16) as u16;
            (ahead.cast_signed()) > 0
        })
    }

    /// Takes a connection out.
    pub(super) fn remove(&mut self, number: u32) -> Option<E> {
        let slot = self.slots.get_mut((number % MAX_SLOTS) as usize)?;
        slot.end.take()
    }

    /// All open connections.
    pub(super) fn iter(&self) -> impl Iterator<Item = &E> {
        self.slots.iter().filter_map(|slot| slot.end.as_ref())
    }

    /// The connection in `slot` may have something to send.
    pub(super) fn wake(&mut self, slot: u32) {
        let place = &mut self.slots[slot as usize];
        if !std::mem::replace(&mut place.ready, true) {
            self.ready.push_back(slot);
        }
    }

    pub(super) fn poll(&mut self, now: Time) -> Option<Transmit> {
        while let Some(&slot) = self.ready.front() {
            let place = &mut self.slots[slot as usize];
            if let Some(mut tx) = place.end.as_mut().and_then(|end| end.poll(now)) {
                if let Body::Tcp(segment) = &mut tx.body {
                    segment.connection = place.number;
                }
                return Some(tx);
            }
            place.ready = false;
            self.ready.pop_front();
            self.rearm(slot);
        }
        None
    }

    /// A timer that only moves away keeps its entry and is looked at when that comes up.
    fn rearm(&mut self, slot: u32) {
        let place = &mut self.slots[slot as usize];
        let due = place.end.as_ref().map_or(Time::NEVER, Endpoint::deadline);
        if due < place.armed {
            place.armed = due;
            self.timers.push(Reverse((due, slot)));
        }
    }

    pub(super) fn deadline(&self) -> Time {
        self.timers.peek().map_or(Time::NEVER, |Reverse((at, _))| *at)
    }

    pub(super) fn on_timer(&mut self, now: Time) {
        while let Some(&Reverse((at, slot))) = self.timers.peek() {
            if at > now {
                break;
            }
            self.timers.pop();
            let place = &mut self.slots[slot as usize];
            if place.armed != at {
                continue; // replaced by an earlier one
            }
            place.armed = Time::NEVER;
            match &mut place.end {
                Some(end) if end.deadline() <= now => {
                    end.on_timer(now);
                    self.wake(slot);
                }
                _ => self.rearm(slot),
            }
        }
    }
}

/// Sums of the totals of many connections.
#[derive(Clone, Debug, Default)]
pub(super) struct Sum(Vec<(&'static str, f64)>);

impl Sum {
    pub(super) fn add(&mut self, totals: FlowProbe) {
        if self.0.is_empty() {
            self.0 = totals.0;
            return;
        }
        for (sum, one) in self.0.iter_mut().zip(totals.0) {
            debug_assert_eq!(sum.0, one.0, "ends of one kind have the same totals");
            sum.1 += one.1;
        }
    }

    /// These with those of connections that are still open.
    pub(super) fn with<'e, E: Endpoint + 'e>(
        &self,
        open: impl Iterator<Item = &'e E>,
    ) -> FlowProbe {
        let mut all = self.clone();
        open.for_each(|end| all.add(end.totals()));
        FlowProbe(all.0)
    }

    pub(super) fn get(&self, name: &str) -> f64 {
        self.0.iter().find(|(n, _)| *n == name).map_or(0.0, |(_, v)| *v)
    }
}
