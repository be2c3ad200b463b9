//! Whose turn it is, and who gets how much: streams by priority as in EricssonResearch/scream c8f84c3,
//! ScreamV2Tx.cpp.

use super::Ticks;

/// What a stream is owed for the bytes of others, weighted by priority.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    /// Bytes.
    credit: f32,
    /// Credit that was lost for want of media since version 1 last looked, bytes.
    pub(super) lost: f32,
    last: Ticks,
}

impl Turn {
    pub(super) fn new(now: Ticks) -> Self {
        Self { credit: 0.0, lost: 0.0, last: now }
    }

    /// The stream itself sent.
    pub(super) fn served(&mut self, now: Ticks, bytes: u32) {
        self.credit = (self.credit - bytes as f32).max(0.0);
        self.last = now;
    }

    /// Another stream, with priority `served`, sent. A stream without media keeps at most `idle` bytes
    /// of credit.
    pub(super) fn waited(&mut self, bytes: u32, priority: f32, served: f32, idle: Option<f32>) {
        let credit = self.credit + bytes as f32 * priority / served;
        self.credit = idle.map_or(credit, |most| credit.min(most));
        self.lost += credit - self.credit;
    }
}

/// The stream whose packet is next. `waiting` has index, turn and priority of all that have media: the
/// one with most credit that waited longest, and without credit the one of highest priority.
pub(super) fn next(now: Ticks, waiting: impl Iterator<Item = (usize, Turn, f32)>) -> Option<usize> {
    let mut owed: Option<(usize, f32, u32)> = None;
    let mut first: Option<(usize, f32)> = None;
    for (index, turn, priority) in waiting {
        let idle = now.since(turn.last);
        let (credit, longest) = owed.map_or((1.0, None), |(_, credit, idle)| (credit, Some(idle)));
        if turn.credit >= credit && longest.is_none_or(|longest| idle > longest) {
            owed = Some((index, turn.credit, idle));
        }
        if first.is_none_or(|(_, highest)| priority > highest) {
            first = Some((index, priority));
        }
    }
    owed.map(|(index, ..)| index).or_else(|| first.map(|(index, _)| index))
}

/// One of those that share a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Share {
    pub(super) priority: f32,
    /// bit/s.
    pub(super) most: f32,
    /// What it gets, bit/s.
    pub(super) rate: f32,
    pub(super) is_full: bool,
}

/// Shares `rate` by priority; what a stream cannot use goes to the others.
pub(super) fn share(rate: f32, shares: &mut [Share]) {
    let mut left = rate;
    loop {
        let open = shares.iter().filter(|share| !share.is_full);
        let priorities: f32 = open.map(|share| share.priority).sum();
        if priorities <= 0.0 {
            return;
        }
        let (round, mut filled) = (left, false);
        for share in shares.iter_mut().filter(|share| !share.is_full) {
            share.rate = round * share.priority / priorities;
            if share.rate > share.most {
                share.rate = share.most;
                share.is_full = true;
                left -= share.most;
                filled = true;
            }
        }
        if !filled {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
