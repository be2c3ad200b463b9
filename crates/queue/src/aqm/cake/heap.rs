//! The longest queue over all tins: a max-heap that is only kept in order while overflows are
//! recent.

use super::QUEUES;
use super::tins::Tin;

/// Tins that have a place, used or not.
const TINS: usize = 8;
const SIZE: usize = TINS * QUEUES as usize;
/// Deliveries after the last overflow for which the order is kept up.
const KEEP: u16 = u16::MAX;

/// Queue numbers `flow * 8 + tin` in heap order.
#[derive(Debug)]
pub(super) struct Longest {
    heap: Box<[u16]>,
    place: Box<[u16]>,
    keep: u16,
}

impl Longest {
    pub(super) fn new() -> Self {
        let order: Box<[u16]> = (0..SIZE as u16).collect();
        Self { place: order.clone(), heap: order, keep: 0 }
    }

    /// Tin and flow of the longest queue. Linux 6.12 `cake_heapify`, called by `cake_drop`.
    pub(super) fn find(&mut self, tins: &[Tin]) -> (usize, u16) {
        if self.keep == 0 {
            for i in (0..SIZE / 2).rev() {
                self.sift_down(tins, i);
            }
        }
        self.keep = KEEP;
        let top = self.heap[0];
        (usize::from(top) % TINS, top / TINS as u16)
    }

    /// The queue has become longer.
    #[inline]
    pub(super) fn grown(&mut self, tins: &[Tin], tin: usize, flow: u16) {
        if self.keep > 0 {
            let mut i = usize::from(self.place[number(tin, flow)]);
            while i > 0 {
                let parent = (i - 1) / 2;
                if self.bytes(tins, i) <= self.bytes(tins, parent) {
                    break;
                }
                self.swap(i, parent);
                i = parent;
            }
        }
    }

    /// The queue has become shorter.
    #[inline]
    pub(super) fn shrunk(&mut self, tins: &[Tin], tin: usize, flow: u16) {
        if self.keep > 0 {
            self.sift_down(tins, usize::from(self.place[number(tin, flow)]));
        }
    }

    /// A packet was delivered.
    #[inline]
    pub(super) fn tick(&mut self) {
        self.keep = self.keep.saturating_sub(1);
    }

    /// Queues have changed in other ways: the next overflow starts anew.
    pub(super) fn forget(&mut self) {
        self.keep = 0;
    }

    fn bytes(&self, tins: &[Tin], i: usize) -> u32 {
        let queue = usize::from(self.heap[i]);
        tins.get(queue % TINS).map_or(0, |tin| tin.flows[queue / TINS].bytes)
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.place[usize::from(self.heap[a])] = a as u16;
        self.place[usize::from(self.heap[b])] = b as u16;
    }

    fn sift_down(&mut self, tins: &[Tin], mut i: usize) {
        loop {
            let (mut most, mut bytes) = (i, self.bytes(tins, i));
            for child in [2 * i + 1, 2 * i + 2] {
                if child < SIZE && self.bytes(tins, child) > bytes {
                    (most, bytes) = (child, self.bytes(tins, child));
                }
            }
            if most == i {
                return;
            }
            self.swap(i, most);
            i = most;
        }
    }
}

const fn number(tin: usize, flow: u16) -> usize {
    flow as usize * TINS + tin
}
