//! Marks and losses, and what the sender did.

use super::{Check, Kind, OfTcp, Seen, part};
use crate::report::{EcnMode, Family};
use crate::rounds::Round;

/// Nearly all.
const MOSTLY: f64 = 0.9;
/// Marks or losses below which chance may be at work.
const SEVERAL: u64 = 10;
/// Losses, of which one may be a bit error's.
const LOSSES: u64 = 3;
/// A window this many times that of a scalable controller at the same marks ignores them.
const TIMES: f64 = 4.0;
/// Rounds in which it would have come down.
const STRETCH: usize = 16;
/// Part of marks in each of them.
const HEAVY: f64 = 0.25;
/// Round trips before losses of a full queue, of the least.
const QUEUED: f64 = 1.25;
/// A tick of timestamps, ns.
const TICK: f64 = 1e6;
/// Delay of a queue that is none, ns: with that tick.
const EMPTY: f64 = 1.5e6;
/// Growth in segments a round, under SCE in most packets, of a sender that does not hear it: Reno's is 1.
const GROWS: f64 = 0.3;

pub(super) const CHECKS: &[OfTcp] = &[
    Check {
        kind: Kind {
            name: "l4s-works",
            text: "L4S works end to end: packets with ECT(1) are marked, AccECN reports it, and the sender follows",
            when: "AccECN, 90 % of the data ECT(1) or CE, at least 10 CE, fewer losses than CE, and the sender looks scalable",
            source: "RFC 9331 4.1 to 4.3",
        },
        look: l4s_works,
    },
    Check {
        kind: Kind {
            name: "marks-without-response",
            text: "marks arrive, and the sender does not slow down",
            when: "16 round trips on end with 25 % CE or more each, behind which the window is still 80 % of before and 4 times 2/p, at which a scalable sender stands",
            source: "RFC 9331 4.3; RFC 3168 6.1.2",
        },
        look: marks_without_response,
    },
    Check {
        kind: Kind {
            name: "ece-always",
            text: "ECE never ends although the sender answers with CWR: a receiver or middlebox sets it, or all is marked",
            when: "RFC 3168 feedback, 3 CWR or more, ECE in 95 % of 50 ACKs or more, and no CE in sight",
            source: "RFC 3168 6.1.3",
        },
        look: ece_always,
    },
    Check {
        kind: Kind {
            name: "bottleneck-without-ecn",
            text: "the bottleneck drops and never marks, although the data are ECN-capable",
            when: "90 % of the data ECT, 3 losses or more, no CE, and round trips with losses 1.25 times the least",
            source: "RFC 7567 4.2.1",
        },
        look: bottleneck_without_ecn,
    },
    Check {
        kind: Kind {
            name: "losses-without-queue",
            text: "losses although no queue grows: bit errors, a policer, or a very short queue",
            when: "3 losses or more, behind round trips within 1.5 ms of the least (a tick of the timestamps and a packet)",
            source: "RFC 5681 3.1 takes each loss as congestion",
        },
        look: losses_without_queue,
    },
    Check {
        kind: Kind {
            name: "unresponsive",
            text: "the sender answers neither marks nor losses",
            when: "the family is unresponsive",
            source: "RFC 2914 3.2",
        },
        look: |seen| {
            let family = seen.flow.family.as_ref()?;
            (family.family == Family::Unresponsive).then(|| family.evidence.clone())
        },
    },
    Check {
        kind: Kind {
            name: "sce-marks-not-answered",
            text: "the receiver returns SCE marks, and the sender grows all the same",
            when: "40 round trips or more with ESCE for half of the payload and neither CE nor loss, in which the window grows by 0.3 segments or more on average",
            source: "draft-morton-tsvwg-sce 5",
        },
        look: sce_not_answered,
    },
];

fn l4s_works(seen: &Seen<'_>) -> Option<String> {
    let ecn = &seen.data.data_ecn;
    let l4s = part(ecn.ect1 + ecn.ce, seen.data.data_packets);
    let is_scalable = seen.flow.family.as_ref().is_some_and(|a| a.family == Family::Scalable);
    let works = seen.connection.ecn == Some(EcnMode::AccEcn)
        && l4s >= MOSTLY
        && seen.ce() >= SEVERAL
        && seen.losses() < seen.ce()
        && is_scalable;
    works.then(|| {
        format!(
            "{:.0} % of the data ECT(1), {} CE and {} losses in {} packets",
            100.0 * l4s,
            seen.ce(),
            seen.losses(),
            seen.data.data_packets
        )
    })
}

fn marks_without_response(seen: &Seen<'_>) -> Option<String> {
    seen.rounds.windows(STRETCH).find_map(|stretch| {
        let is_heavy = |round: &Round| round.ce_fraction() >= HEAVY && !round.is_limited();
        if !stretch.iter().all(is_heavy) {
            return None;
        }
        let p = stretch.iter().map(Round::ce_fraction).sum::<f64>() / STRETCH as f64;
        let mean = |some: &[Round]| {
            some.iter().map(|round| seen.window(round)).sum::<f64>() / some.len() as f64
        };
        let (first, last) = (mean(&stretch[..4]), mean(&stretch[STRETCH - 4..]));
        (last >= 0.8 * first && last >= TIMES * 2.0 / p).then(|| {
            format!(
                "{:.0} % marked in each of {STRETCH} round trips, window {first:.0} segments before and {last:.0} behind them",
                100.0 * p
            )
        })
    })
}

fn ece_always(seen: &Seen<'_>) -> Option<String> {
    let acks = seen.fed.pure_acks;
    let is_always = seen.connection.ecn == Some(EcnMode::Classic)
        && seen.sent.cwr >= LOSSES
        && acks >= 50
        && part(seen.fed.ece, acks) >= 0.95
        && seen.data.data_ecn.ce == 0;
    is_always.then(|| format!("ECE in {} of {acks} ACKs, {} CWR", seen.fed.ece, seen.sent.cwr))
}

/// Mean duration of rounds with losses by the least, and how many.
fn at_losses(seen: &Seen<'_>) -> Option<(f64, usize, u64)> {
    let base = seen.base()?;
    // A round with a loss lasts until it is mended; the one before shows the queue.
    let before: Vec<u64> = seen
        .rounds
        .windows(2)
        .filter(|pair| pair[1].lost > 0 && pair[0].lost == 0)
        .map(|pair| pair[0].duration)
        .collect();
    let mean = before.iter().sum::<u64>() as f64 / before.len().max(1) as f64;
    (!before.is_empty()).then(|| (mean / base as f64, before.len(), base))
}

fn bottleneck_without_ecn(seen: &Seen<'_>) -> Option<String> {
    let (times, n, base) = at_losses(seen)?;
    let queued = times >= QUEUED && (times - 1.0) * base as f64 > 2.0 * TICK;
    let is_one = seen.ect() >= MOSTLY && seen.ce() == 0 && seen.losses() >= LOSSES && queued;
    is_one.then(|| {
        format!(
            "{} losses and no CE in {} packets, {:.0} % of them ECT; round trips before {n} of the losses {times:.2} times the least",
            seen.losses(),
            seen.data.data_packets,
            100.0 * seen.ect()
        )
    })
}

fn losses_without_queue(seen: &Seen<'_>) -> Option<String> {
    let (times, n, base) = at_losses(seen)?;
    let is_empty = (times - 1.0) * base as f64 <= EMPTY;
    (n as u64 >= LOSSES && is_empty).then(|| {
        format!(
            "round trips before {n} losses {times:.2} times the least of {:.1} ms",
            base as f64 / 1e6
        )
    })
}

fn sce_not_answered(seen: &Seen<'_>) -> Option<String> {
    let is_other = |round: &Round| round.has_signal() || round.is_limited();
    let changes: Vec<f64> = seen
        .rounds
        .windows(3)
        .filter(|three| three[0].sce_fraction() >= 0.5 && !three.iter().any(is_other))
        .map(|three| (seen.window(&three[2]) - seen.window(&three[0])) / 2.0)
        .collect();
    let mean = changes.iter().sum::<f64>() / changes.len().max(1) as f64;
    (changes.len() >= 40 && mean >= GROWS).then(|| {
        format!("{mean:+.2} segments a round trip in {} round trips with ESCE", changes.len())
    })
}
