//! What a path between two captures did to packets.

use super::{Check, Kind, OfWay, part};
use crate::report::pair::Way;

/// Packets below which a change may be a damaged packet.
const SEVERAL: u64 = 3;
/// Part of the packets with ECT or CE.
const BLEACHED: f64 = 0.01;
/// Queue delay that is a packet's own time and the clocks' error, ms.
const NONE_MS: f64 = 0.5;
/// Packets that show it.
const ENOUGH: u64 = 1000;

pub(super) const CHECKS: &[OfWay] = &[
    Check {
        kind: Kind {
            name: "bleached",
            text: "ECT or CE is cleared between the two points",
            when: "3 packets or more, 1 % of those with ECT or CE",
            source: "RFC 3168 5; RFC 9331 5.1",
        },
        look: |way| {
            let capable = way.path.total() - way.path.not_ect.total();
            let bleached = way.path.bleached();
            (bleached >= SEVERAL && part(bleached, capable) >= BLEACHED)
                .then(|| format!("{bleached} of {capable} packets"))
        },
    },
    Check {
        kind: Kind {
            name: "re-marked",
            text: "codepoints change between the two points as no standard allows",
            when: "3 packets or more from Not-ECT to any, ECT(1) to ECT(0), or CE to ECT",
            source: "RFC 3168 5; RFC 9331 5.1",
        },
        look: |way| {
            let path = &way.path;
            let from_none = path.not_ect.ect0 + path.not_ect.ect1 + path.not_ect.ce;
            (path.forbidden() >= SEVERAL).then(|| {
                format!(
                    "{from_none} from Not-ECT, {} from ECT(1) to ECT(0), {} from CE",
                    path.ect1.ect0,
                    path.ce.ect0 + path.ce.ect1
                )
            })
        },
    },
    Check {
        kind: Kind {
            name: "flags-changed",
            text: "a middlebox changes the flags that carry ECN's feedback",
            when: "3 packets or more whose AE, CWR or ECE differ",
            source: "RFC 9768 3.2.2.4; RFC 3168 6.1",
        },
        look: flags_changed,
    },
    Check {
        kind: Kind {
            name: "queue-not-here",
            text: "what is between the two points is not the bottleneck: marks come from before it",
            when: "1000 packets or more, the 99th percentile of queue delay below 0.5 ms, neither loss nor mark between the points, 3 CE or more already before",
            source: "RFC 7567 4.1",
        },
        look: |way| {
            let delay = way.queue_delay_ms?;
            let marked = way.path.ce.total();
            let is_elsewhere = way.both >= ENOUGH
                && delay.p99 < NONE_MS
                && way.lost == 0
                && way.path.marked() == 0
                && marked >= SEVERAL;
            is_elsewhere.then(|| {
                format!("queue delay p99 {:.2} ms, {marked} of {} CE before", delay.p99, way.both)
            })
        },
    },
];

fn flags_changed(way: &Way) -> Option<String> {
    let changes = ["AE", "CWR", "ECE"].into_iter().filter_map(|name| {
        let change = way.tcp_flags.get(name)?;
        Some((name, change.set + change.cleared))
    });
    let changes: Vec<(&str, u64)> = changes.filter(|&(_, n)| n >= SEVERAL).collect();
    let texts: Vec<String> =
        changes.iter().map(|(name, n)| format!("{name} of {n} packets")).collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}
