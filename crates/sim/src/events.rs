//! The event queue: one slot per event source (a port's timers, an end point's deadline), ordered
//! by time and then by the order in which the times were set. A source that changes its mind moves
//! its slot, so pending events stay as few as there are links and flows.

use sojourn_core::Time;

/// An event source.
pub(crate) type Slot = u32;

const IDLE: u32 = u32::MAX;

/// Time of the next event of each source, as an indexed binary heap.
#[derive(Debug)]
pub(crate) struct EventQueue {
    heap: Vec<Slot>,
    /// `(time, order)` per slot.
    key: Vec<(Time, u64)>,
    /// Position in the heap per slot, or `IDLE`.
    place: Vec<u32>,
    order: u64,
    /// The slot whose event is being handled; it keeps its place until it is set again.
    current: Slot,
}

impl EventQueue {
    pub(crate) fn new(slots: usize) -> Self {
        Self {
            heap: Vec::with_capacity(slots),
            key: vec![(Time::NEVER, 0); slots],
            place: vec![IDLE; slots],
            order: 0,
            current: IDLE,
        }
    }

    /// Sets the next event of `slot`; [`Time::NEVER`] removes it. Setting the same time again
    /// keeps its place among equal times.
    #[inline]
    pub(crate) fn set(&mut self, slot: Slot, at: Time) {
        let s = slot as usize;
        if self.current == slot {
            self.current = IDLE;
        } else if self.key[s].0 == at {
            return;
        }
        self.order += 1;
        self.key[s] = (at, self.order);
        let place = self.place[s];
        if at == Time::NEVER {
            self.remove(slot);
        } else if place == IDLE {
            self.place[s] = self.heap.len() as u32;
            self.heap.push(slot);
            self.up(self.heap.len() - 1);
        } else {
            let moved = self.up(place as usize);
            self.down(moved);
        }
    }

    /// The earliest event. It is over when the next one is asked for, unless it was set again.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<(Time, Slot)> {
        if self.current != IDLE {
            let done = std::mem::replace(&mut self.current, IDLE);
            self.key[done as usize].0 = Time::NEVER;
            self.remove(done);
        }
        let slot = *self.heap.first()?;
        self.current = slot;
        Some((self.key[slot as usize].0, slot))
    }

    fn remove(&mut self, slot: Slot) {
        let place = std::mem::replace(&mut self.place[slot as usize], IDLE);
        if place == IDLE {
            return;
        }
        let last = self.heap.pop().expect("a placed slot is in the heap");
        if last != slot {
            self.heap[place as usize] = last;
            self.place[last as usize] = place;
            let moved = self.up(place as usize);
            self.down(moved);
        }
    }

    fn up(&mut self, mut at: usize) -> usize {
        let slot = self.heap[at];
        let key = self.key[slot as usize];
        while at > 0 {
            let parent = (at - 1) / 2;
            let above = self.heap[parent];
            if self.key[above as usize] <= key {
                break;
            }
            self.heap[at] = above;
            self.place[above as usize] = at as u32;
            at = parent;
        }
        self.heap[at] = slot;
        self.place[slot as usize] = at as u32;
        at
    }

    fn down(&mut self, mut at: usize) {
        let slot = self.heap[at];
        let key = self.key[slot as usize];
        loop {
            let mut child = 2 * at + 1;
            if child >= self.heap.len() {
                break;
            }
            let other = child + 1;
            if other < self.heap.len()
                && self.key[self.heap[other] as usize] < self.key[self.heap[child] as usize]
            {
                child = other;
            }
            let below = self.heap[child];
            if key <= self.key[below as usize] {
                break;
            }
            self.heap[at] = below;
            self.place[below as usize] = at as u32;
            at = child;
        }
        self.heap[at] = slot;
        self.place[slot as usize] = at as u32;
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
