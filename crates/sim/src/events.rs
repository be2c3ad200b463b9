//! The event queue: one slot per event source (a port's timers, an end point's deadline), ordered
//! by time, then whether they come first, and then by the order in which the times were set. A source that changes its mind moves
//! its slot, so pending events stay as few as there are links and flows.

use sojourn_core::Time;

/// An event source.
pub(crate) type Slot = u32;

/// A source of no event.
const NONE: Slot = Slot::MAX;
/// Low bits of a key that hold the slot; what is above them, below the time, is the order.
const SLOT_BITS: u32 = 20;

/// Time, order and slot in one number, so that one comparison tells which event comes first.
type Key = u128;

const NEVER: Key = Key::MAX;
/// Set in the order of every event but those that come first.
const LATER_BIT: u32 = 63 - SLOT_BITS;

#[inline]
fn key(at: Time, order: u64, slot: Slot) -> Key {
    u128::from(at.0) << 64 | u128::from(order << SLOT_BITS | u64::from(slot))
}

#[inline]
fn time(key: Key) -> Time {
    Time((key >> 64) as u64)
}

#[inline]
fn slot(key: Key) -> Slot {
    key as Slot & ((1 << SLOT_BITS) - 1)
}

/// Time of the next event of each source, as a tournament: each source is a leaf of a complete tree with
/// four children a node, and each node holds the earliest of what is below it. A source that moves away
/// is only noted, and placed when its earlier time comes up: most timers never do.
#[derive(Debug)]
pub(crate) struct EventQueue {
    /// Siblings stand together: entry c of row r is the winner of row 4r + c, below that a leaf; the
    /// root is row 1.
    rows: Vec<[Key; 4]>,
    /// First entry that is a leaf.
    leaves: usize,
    /// Next event of each slot, not before its leaf.
    wanted: Vec<Key>,
    order: u64,
    /// The slot whose event is being handled, until it is set again.
    current: Slot,
    /// The slot whose event came last, and is still in its leaf.
    latest: Slot,
}

impl EventQueue {
    pub(crate) fn new(slots: usize) -> Self {
        assert!(slots < 1 << SLOT_BITS, "{slots} sources of events are too many");
        let mut leaves = 4;
        while leaves < slots {
            leaves *= 4;
        }
        Self {
            rows: vec![[NEVER; 4]; leaves / 2],
            leaves,
            wanted: vec![NEVER; slots],
            order: 1 << LATER_BIT,
            current: NONE,
            latest: 0,
        }
    }

    /// Sets the next event of `slot`; [`Time::NEVER`] removes it. Setting the same time again
    /// keeps its place among equal times.
    #[inline]
    pub(crate) fn set(&mut self, slot: Slot, at: Time) {
        self.set_in(slot, at, false);
    }

    /// As [`EventQueue::set`]; `first`: before those of the same time that are not.
    #[inline(always)]
    pub(crate) fn set_in(&mut self, slot: Slot, at: Time, first: bool) {
        let wanted = &mut self.wanted[slot as usize];
        if self.current == slot {
            self.current = NONE;
        } else if time(*wanted) == at {
            return;
        }
        self.order += 1;
        let key = key(at, self.order - (u64::from(first) << LATER_BIT), slot);
        *wanted = key;
        let leaf = self.leaves + slot as usize;
        if key < self.rows[leaf / 4][leaf % 4] {
            self.advance(leaf, key);
        }
    }

    /// The earliest event. It is over when the next one is asked for, unless it was set again.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<(Time, Slot)> {
        if self.current != NONE {
            self.wanted[self.current as usize] = NEVER;
        }
        loop {
            // What was the earliest is over or has moved away.
            let first = self.retreat(self.latest, self.wanted[self.latest as usize]);
            if time(first) == Time::NEVER {
                self.current = NONE;
                return None;
            }
            self.latest = slot(first);
            if self.wanted[self.latest as usize] == first {
                self.current = self.latest;
                return Some((time(first), self.latest));
            }
        }
    }

    /// Puts an earlier `key` into a leaf.
    fn advance(&mut self, leaf: usize, key: Key) {
        let mut entry = leaf;
        while entry >= 4 {
            let place = &mut self.rows[entry / 4][entry % 4];
            if *place <= key {
                break;
            }
            *place = key;
            entry /= 4;
        }
    }

    /// Puts a later `key` into the leaf of `slot`; gives the earliest of all.
    #[inline]
    fn retreat(&mut self, slot: Slot, key: Key) -> Key {
        let (mut entry, mut first) = (self.leaves + slot as usize, key);
        while entry >= 4 {
            let row = &mut self.rows[entry / 4];
            row[entry % 4] = first;
            first = row[0].min(row[1]).min(row[2].min(row[3]));
            entry /= 4;
        }
        first
    }
}

#[cfg(test)]
mod tests;
