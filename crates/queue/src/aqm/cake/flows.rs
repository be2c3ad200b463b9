//! A flow queue and the three rotations it may be in.

use std::collections::VecDeque;

use super::super::cobalt::Cobalt;
use sojourn_core::packet::Packet;

const NIL: u16 = u16::MAX;

/// What a flow counts as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SetState {
    /// In no rotation.
    #[default]
    None,
    /// Served before the others until its deficit is used up.
    Sparse,
    /// Empty and without deficit: rotates with the bulk flows, counts as sparse.
    SparseWait,
    Bulk,
    /// Empty, kept until its control state has decayed.
    Decaying,
}

/// The rotations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    New,
    Old,
    Decaying,
}

/// A packet, and the bytes that it is charged with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queued {
    pub(super) pkt: Packet,
    pub(super) adjusted: u32,
}

#[derive(Debug)]
pub(super) struct Flow {
    pub(super) queue: VecDeque<Queued>,
    pub(super) bytes: u32,
    pub(super) deficit: i32,
    pub(super) state: SetState,
    pub(super) src: u16,
    pub(super) dst: u16,
    list: Option<List>,
    prev: u16,
    next: u16,
    /// Hash of the flow that uses the queue, or used it last.
    pub(super) tag: u32,
    pub(super) control: Cobalt,
}

impl Flow {
    pub(super) fn new(fresh_root: u32) -> Self {
        Self {
            queue: VecDeque::new(),
            bytes: 0,
            deficit: 0,
            state: SetState::None,
            src: 0,
            dst: 0,
            list: None,
            prev: NIL,
            next: NIL,
            tag: 0,
            control: Cobalt::new(fresh_root),
        }
    }
}

/// Heads and tails of the rotations; the links are in the flows. Many flows of one host have small shares of a quantum, so
/// that a packet passes many of them: what that needs is inlined even where the compiler optimises for size.
#[derive(Debug)]
pub(super) struct Lists([(u16, u16); 3]);

impl Default for Lists {
    fn default() -> Self {
        Self([(NIL, NIL); 3])
    }
}

impl Lists {
    #[inline(always)]
    pub(super) fn head(&self, list: List) -> Option<u16> {
        let head = self.0[list as usize].0;
        (head != NIL).then_some(head)
    }

    /// The flow whose turn it is.
    #[inline(always)]
    pub(super) fn next(&self) -> Option<u16> {
        self.head(List::New).or_else(|| self.head(List::Old)).or_else(|| self.head(List::Decaying))
    }

    #[inline(always)]
    pub(super) fn unlink(&mut self, flows: &mut [Flow], index: u16) {
        let flow = &mut flows[usize::from(index)];
        let Some(list) = flow.list.take() else { return };
        let (prev, next) = (flow.prev, flow.next);
        let (head, tail) = &mut self.0[list as usize];
        if prev == NIL {
            *head = next;
        } else {
            flows[usize::from(prev)].next = next;
        }
        if next == NIL {
            *tail = prev;
        } else {
            flows[usize::from(next)].prev = prev;
        }
    }

    #[inline(always)]
    pub(super) fn move_to_tail(&mut self, flows: &mut [Flow], index: u16, list: List) {
        self.unlink(flows, index);
        let (head, tail) = &mut self.0[list as usize];
        let flow = &mut flows[usize::from(index)];
        (flow.list, flow.prev, flow.next) = (Some(list), *tail, NIL);
        if *tail == NIL {
            *head = index;
        } else {
            flows[usize::from(*tail)].next = index;
        }
        *tail = index;
    }
}
