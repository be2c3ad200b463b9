//! What else than congestion holds a flow back.

use super::{Check, Kind, OfTcp, Seen, part};

/// Rounds below which nothing is said.
const LEAST: usize = 10;

pub(super) const CHECKS: &[OfTcp] = &[
    Check {
        kind: Kind {
            name: "receiver-limited",
            text: "the receiver's window holds the flow back, not congestion control",
            when: "half of the round trips or more carry 90 % of the offered window",
            source: "RFC 9293 3.8.6; Linux `is_cwnd_limited`",
        },
        look: |seen| {
            let is_full = |n: usize| n * 2 >= seen.rounds.len();
            let n = seen.rounds.iter().filter(|round| round.is_window_limited).count();
            let window = seen.rounds.iter().map(|round| round.window).max()?;
            (seen.rounds.len() >= LEAST && is_full(n)).then(|| {
                format!("{n} of {} round trips, window at most {window} bytes", seen.rounds.len())
            })
        },
    },
    Check {
        kind: Kind {
            name: "application-limited",
            text: "the sender has pauses in which it has nothing to send",
            when: "a quarter of the round trips or more begin after a round trip of silence",
            source: "RFC 7661 1.2",
        },
        look: |seen| {
            let n = seen.rounds.iter().filter(|round| round.is_idle).count();
            (seen.rounds.len() >= LEAST && n * 4 >= seen.rounds.len())
                .then(|| format!("{n} of {} round trips", seen.rounds.len()))
        },
    },
    Check {
        kind: Kind {
            name: "reordering-as-loss",
            text: "packets that only came late are taken as lost, and the sender slows down for nothing",
            when: "3 spurious retransmissions or more, a tenth or more of all, and packets out of order or D-SACKs",
            source: "RFC 4653 1; RFC 2883 3; RFC 3522",
        },
        look: |seen| {
            let counts = &seen.sent.retransmissions;
            let shows = seen.sent.reordered > 0 || seen.sent.duplicates_reported > 0;
            let is_one = counts.spurious >= 3 && counts.spurious * 10 >= counts.all && shows;
            is_one.then(|| spurious(seen))
        },
    },
    Check {
        kind: Kind {
            name: "capture-incomplete",
            text: "the capture lacks packets that the receiver got: its counts are too low",
            when: "data are acknowledged that never appear, 0.1 % or more",
            source: "tcpdump's `packets dropped by kernel`",
        },
        look: |seen| {
            let missing = part(seen.sent.missing_bytes, seen.fed.acked_bytes);
            (missing >= 0.001)
                .then(|| format!("{} bytes, {:.1} %", seen.sent.missing_bytes, 100.0 * missing))
        },
    },
];

fn spurious(seen: &Seen<'_>) -> String {
    let counts = &seen.sent.retransmissions;
    format!(
        "{} of {} retransmissions spurious, {} packets late, {} D-SACKs",
        counts.spurious, counts.all, seen.sent.reordered, seen.sent.duplicates_reported
    )
}
