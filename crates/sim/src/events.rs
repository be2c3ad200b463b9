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

fn key(at: Time, order: u64, slot: Slot) -> Key {
    u128::from(at.0) << 64 | u128::from(order) << SLOT_BITS | u128::from(slot)
}

fn time(key: Key) -> Time {
    Time((key >> 64) as u64)
}

/// Time of the next event of each source, as a tournament: each source is a leaf of a complete binary
/// tree, and each node above holds the earlier of the two below. Whoever moves plays its way up, and
/// stops where nothing changes.
#[derive(Debug)]
pub(crate) struct EventQueue {
    /// The root at 1, the children of node n at 2n and 2n + 1, the leaves from `leaves` on.
    nodes: Vec<Key>,
    leaves: usize,
    order: u64,
    /// The slot whose event is being handled; it keeps its place until it is set again.
    current: Slot,
}

impl EventQueue {
    pub(crate) fn new(slots: usize) -> Self {
        assert!(slots < 1 << SLOT_BITS, "{slots} sources of events are too many");
        let leaves = slots.next_power_of_two();
        Self { nodes: vec![key(Time::NEVER, 0, 0); 2 * leaves], leaves, order: 0, current: NONE }
    }

    /// Sets the next event of `slot`; [`Time::NEVER`] removes it. Setting the same time again
    /// keeps its place among equal times.
    #[inline]
    pub(crate) fn set(&mut self, slot: Slot, at: Time) {
        if self.current == slot {
            self.current = NONE;
        } else if time(self.nodes[self.leaves + slot as usize]) == at {
            return;
        }
        self.order += 1;
        self.place(slot, key(at, self.order, slot));
    }

    /// The earliest event. It is over when the next one is asked for, unless it was set again.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<(Time, Slot)> {
        if self.current != NONE {
            let done = std::mem::replace(&mut self.current, NONE);
            self.place(done, key(Time::NEVER, 0, done));
        }
        let first = self.nodes[1];
        let (at, slot) = (time(first), first as Slot & ((1 << SLOT_BITS) - 1));
        if at == Time::NEVER {
            return None;
        }
        self.current = slot;
        Some((at, slot))
    }

    #[inline]
    fn place(&mut self, slot: Slot, key: Key) {
        let mut at = self.leaves + slot as usize;
        let mut first = key;
        self.nodes[at] = key;
        while at > 1 {
            first = first.min(self.nodes[at ^ 1]);
            at /= 2;
            if self.nodes[at] == first {
                break;
            }
            self.nodes[at] = first;
        }
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
    }
}
