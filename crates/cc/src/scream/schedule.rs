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
mod tests {
    use super::*;

    fn open(priority: f32, most: f32) -> Share {
        Share { priority, most, rate: 0.0, is_full: false }
    }

    fn rates<const N: usize>(rate: f32, mut shares: [Share; N]) -> [f32; N] {
        share(rate, &mut shares);
        shares.map(|share| share.rate)
    }

    // KAT scream2 9: rates by priority, surplus redistributed
    #[test]
    fn rates_go_by_priority_and_a_full_stream_leaves_the_rest_to_others() {
        assert_eq!(rates(6e6, [open(1.0, 50e6), open(0.5, 50e6)]), [4e6, 2e6]);
        assert_eq!(rates(6e6, [open(1.0, 1e6), open(0.5, 50e6)]), [1e6, 5e6]);
        assert_eq!(rates(12e6, [open(1.0, 1e6), open(0.5, 3e6), open(0.5, 50e6)]), [1e6, 3e6, 8e6]);
        assert_eq!(rates(12e6, [open(1.0, 1e6), open(0.5, 3e6)]), [1e6, 3e6]);
    }

    // KAT scream-streams 1: highest priority without credit, most credit first
    #[test]
    fn credit_goes_before_priority() {
        let turn = |credit, last| Turn { credit, lost: 0.0, last: Ticks(last) };
        let pick = |turns: &[(Turn, f32)]| {
            next(Ticks(100), turns.iter().enumerate().map(|(i, &(turn, prio))| (i, turn, prio)))
        };
        assert_eq!(pick(&[(turn(0.0, 0), 0.1), (turn(0.0, 50), 1.0)]), Some(1));
        assert_eq!(pick(&[(turn(2.0, 0), 0.1), (turn(0.0, 50), 1.0)]), Some(0));
        assert_eq!(pick(&[(turn(2.0, 50), 0.1), (turn(3.0, 0), 1.0)]), Some(1));
        // As much credit, but it waited less.
        assert_eq!(pick(&[(turn(2.0, 0), 0.1), (turn(3.0, 50), 1.0)]), Some(0));
        assert_eq!(pick(&[]), None);
    }
}
