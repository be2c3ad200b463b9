//! The event queue: one slot per event source (a port's timers, an end point's deadline), ordered
//! by time and then by the order in which the times were set. A source that changes its mind moves
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
            order: 0,
            current: NONE,
            latest: 0,
        }
    }

    /// Sets the next event of `slot`; [`Time::NEVER`] removes it. Setting the same time again
    /// keeps its place among equal times.
    #[inline]
    pub(crate) fn set(&mut self, slot: Slot, at: Time) {
        let wanted = &mut self.wanted[slot as usize];
        if self.current == slot {
            self.current = NONE;
        } else if time(*wanted) == at {
            return;
        }
        self.order += 1;
        let key = key(at, self.order, slot);
        *wanted = key;
        let leaf = self.leaves + slot as usize;
        if key < self.rows[leaf / 4][leaf % 4] {
            self.advance(leaf, key);
        }
    }

    /// The earliest event. It is over when the next one is asked for, unless it was set again.
    #[inline]
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
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn equal_times_come_in_the_order_in_which_they_were_set() {
        let mut queue = EventQueue::new(3);
        queue.set(2, Time(5));
        queue.set(0, Time(5));
        queue.set(1, Time(4));
        queue.set(1, Time(5));
        let order: Vec<Slot> = std::iter::from_fn(|| queue.next()).map(|(_, s)| s).collect();
        assert_eq!(order, [2, 0, 1]);
    }

    proptest! {
        #[test]
        fn pops_the_last_time_of_each_slot_in_order(
            sets in prop::collection::vec((0..20_u32, 0..50_u64), 0..200)
        ) {
            let mut queue = EventQueue::new(20);
            let mut last = [Time::NEVER; 20];
            for (slot, at) in sets {
                let at = if at == 0 { Time::NEVER } else { Time(at) };
                queue.set(slot, at);
                last[slot as usize] = at;
            }
            let popped: Vec<(Time, Slot)> = std::iter::from_fn(|| queue.next()).collect();
            prop_assert!(popped.windows(2).all(|w| w[0].0 <= w[1].0));
            let mut expected: Vec<(Time, Slot)> = (0..20)
                .map(|s| (last[s as usize], s))
                .filter(|(t, _)| *t != Time::NEVER)
                .collect();
            let mut got = popped.clone();
            expected.sort_unstable();
            got.sort_unstable();
            prop_assert_eq!(got, expected);
        }

        /// Times are few, so that many are equal, and slots enough for several rows.
        #[test]
        fn order_is_that_of_a_list_while_events_are_set_between(
            steps in prop::collection::vec(
                prop::collection::vec((0..70_u32, 0..8_u64), 0..6), 0..100
            )
        ) {
            let mut queue = EventQueue::new(70);
            let mut list = vec![None; 70];
            let (mut order, mut now, mut current) = (0, 0, None);
            for sets in steps {
                for (slot, ahead) in sets {
                    let at = (ahead < 7).then_some(now + ahead);
                    queue.set(slot, at.map_or(Time::NEVER, Time));
                    let place: &mut Option<(u64, u64)> = &mut list[slot as usize];
                    if current == Some(slot) || place.map(|(t, _)| t) != at {
                        order += 1;
                        *place = at.map(|at| (at, order));
                        current = current.filter(|c| *c != slot);
                    }
                }
                if let Some(done) = current.take() {
                    list[done as usize] = None;
                }
                let events = list.iter().enumerate();
                let first = events.filter_map(|(slot, key)| Some((((*key)?), slot as Slot))).min();
                prop_assert_eq!(queue.next(), first.map(|((at, _), slot)| (Time(at), slot)));
                if let Some(((at, _), slot)) = first {
                    (now, current) = (at, Some(slot));
                }
            }
        }
    }
}
