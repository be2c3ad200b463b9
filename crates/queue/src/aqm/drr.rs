//! Whose turn it is among flow queues: deficit round robin with a list of new flows that goes
//! first. RFC 8290 §4.2, as Linux's `fq_codel` and `fq_pie` do it.

use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    deficit: i32,
    /// On one of the two lists.
    linked: bool,
}

/// The two lists and each flow's deficit, in bytes.
#[derive(Debug, Default)]
pub(super) struct Rotation {
    turns: Vec<Turn>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    /// Flows that ever joined the new ones (`new_flow_count`).
    pub(super) joined: u64,
}

impl Rotation {
    pub(super) fn new(flows: u32) -> Self {
        Self { turns: vec![Turn::default(); flows as usize], ..Self::default() }
    }

    /// A packet of `flow` was queued: a flow that was idle becomes a new one. RFC 8290 4.1.
    #[inline]
    pub(super) fn arrived(&mut self, flow: u32, quantum: u32) {
        let turn = &mut self.turns[flow as usize];
        if !turn.linked {
            *turn = Turn { deficit: quantum as i32, linked: true };
            self.new.push_back(flow);
            self.joined += 1;
        }
    }

    /// The flow whose turn it is. Flows that have used up their deficit get a quantum and go to
    /// the end of the old ones. RFC 8290 4.2.
    #[inline]
    pub(super) fn next(&mut self, quantum: u32) -> Option<u32> {
        loop {
            let list = if self.new.is_empty() { &mut self.old } else { &mut self.new };
            let flow = *list.front()?;
            let turn = &mut self.turns[flow as usize];
            if turn.deficit > 0 {
                return Some(flow);
            }
            turn.deficit += quantum as i32;
            list.pop_front();
            self.old.push_back(flow);
        }
    }

    /// The flow of [`Rotation::next`] sent `bytes`.
    #[inline]
    pub(super) fn sent(&mut self, flow: u32, bytes: u32) {
        self.turns[flow as usize].deficit -= bytes as i32;
    }

    /// The flow of [`Rotation::next`] had nothing to send. A new one waits a round behind the old
    /// ones, so that it cannot stay new. RFC 8290 4.2.
    #[inline]
    pub(super) fn emptied(&mut self) {
        if let Some(flow) = self.new.pop_front() {
            if self.old.is_empty() {
                self.turns[flow as usize].linked = false;
            } else {
                self.old.push_back(flow);
            }
        } else if let Some(flow) = self.old.pop_front() {
            self.turns[flow as usize].linked = false;
        }
    }

    /// Forgets all flows.
    pub(super) fn clear(&mut self) {
        for flow in self.new.drain(..).chain(self.old.drain(..)) {
            self.turns[flow as usize].linked = false;
        }
    }

    /// Lengths of the new and the old list.
    pub(super) fn lengths(&self) -> [f64; 2] {
        [self.new.len() as f64, self.old.len() as f64]
    }
}

#[cfg(test)]
mod tests;
