//! What is put before the judge: configurations in tc's words, and the trains that make them act.

use crate::ours::TOLERANCE_NS;
use crate::train::{Recipe, Shape};

/// How a case is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// No randomness: every packet has the same fate, codepoint and place, and leaves at the same
    /// instant within this number of nanoseconds.
    Exact(u64),
    /// Randomness: the distributions over runs agree.
    Law,
}

/// One configuration.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Discipline under test, and the name of the case within it.
    pub name: (&'static str, &'static str),
    /// A shaper around the queue: HTB class.
    pub shaper: Option<&'static str>,
    /// The queue in tc's words.
    pub qdisc: &'static str,
    /// The queue in our words where they differ from tc's.
    pub ours: Option<&'static str>,
    /// How it is compared.
    pub how: How,
    /// Trains; the recipe's own shape is replaced by each of `shapes`.
    pub recipe: Recipe,
    /// The shapes of the trains.
    pub shapes: &'static [Shape],
}

const HTB: Option<&str> = Some("htb rate 10mbit");
const SECOND: u64 = 1_000_000_000;
const ALL_ECN: &[u8] = &[0, 1, 2];

const EXACT: Recipe = Recipe {
    shape: Shape::Mixed,
    rate_bps: 10_000_000,
    duration_ns: 3 * SECOND,
    flows: 1,
    tos: ALL_ECN,
    lens: &[1514, 1514, 514],
};
const FLOWS: Recipe = Recipe { flows: 4, ..EXACT };
const LAW: Recipe = Recipe { duration_ns: 4 * SECOND, ..EXACT };
/// CS1, AF41 and EF beside best effort.
const DSCP: Recipe = Recipe { tos: &[0x00, 0x02, 0x20, 0x22, 0x8a, 0x88, 0xb9, 0xb8], ..EXACT };
const HELD: Recipe =
    Recipe { shape: Shape::Held, duration_ns: 8 * SECOND, tos: &[2], lens: &[1514], ..EXACT };

const fn exact(
    name: (&'static str, &'static str),
    shaper: Option<&'static str>,
    qdisc: &'static str,
) -> Case {
    Case {
        name,
        shaper,
        qdisc,
        ours: None,
        how: How::Exact(TOLERANCE_NS),
        recipe: EXACT,
        shapes: &Shape::PLAIN,
    }
}

const fn tins(case: Case) -> Case {
    Case { recipe: DSCP, ..case }
}

const fn held(case: Case) -> Case {
    Case { recipe: HELD, shapes: &[Shape::Held], ..case }
}

const fn overload(case: Case) -> Case {
    let recipe = Recipe { duration_ns: 6 * SECOND, ..case.recipe };
    Case { recipe, shapes: &[Shape::Overload], ..case }
}

const fn flows(case: Case) -> Case {
    Case { recipe: FLOWS, ..case }
}

const fn law(
    name: (&'static str, &'static str),
    shaper: Option<&'static str>,
    qdisc: &'static str,
) -> Case {
    let shapes = &[Shape::Mixed];
    Case { name, shaper, qdisc, ours: None, how: How::Law, recipe: LAW, shapes }
}

/// All cases, by discipline.
pub const CASES: &[Case] = &[
    exact(("pfifo", "limit"), HTB, "pfifo limit 50"),
    exact(("htb", "default burst"), Some("htb rate 9500kbit"), "pfifo limit 1000"),
    exact(
        ("htb", "burst and ceil"),
        Some("htb rate 8mbit ceil 12mbit burst 15000 cburst 4000"),
        "pfifo limit 100",
    ),
    exact(
        ("htb", "overhead"),
        Some("htb rate 10mbit overhead 18 mpu 64 linklayer atm"),
        "pfifo limit 100",
    ),
    exact(("tbf", "burst"), None, "tbf rate 10mbit burst 5000 limit 60000"),
    exact(
        ("tbf", "peakrate"),
        None,
        "tbf rate 9mbit burst 20000 limit 60000 peakrate 15mbit mtu 1600",
    ),
    exact(("codel", "drop"), HTB, "codel"),
    exact(("codel", "ecn"), HTB, "codel ecn target 1ms interval 20ms limit 200"),
    exact(("codel", "ce_threshold"), HTB, "codel ecn ce_threshold 2ms"),
    flows(exact(("fq_codel", "default"), HTB, "fq_codel flows 65536")),
    // One flow: of equally long ones the first in the hash table loses packets, by chance.
    exact(("fq_codel", "overload"), HTB, "fq_codel flows 1 limit 60 quantum 300"),
    flows(exact(
        ("fq_codel", "ce_threshold"),
        HTB,
        "fq_codel flows 65536 ce_threshold 1ms ce_threshold_selector 0x1/0x3",
    )),
    exact(("fq_codel", "flows 1"), HTB, "fq_codel flows 1 target 1ms interval 20ms"),
    flows(exact(("sfq", "default"), HTB, "sfq divisor 65536")),
    overload(flows(exact(("sfq", "limit"), HTB, "sfq limit 30 quantum 3000 divisor 65536"))),
    overload(flows(exact(("sfq", "depth, headdrop"), HTB, "sfq depth 9 headdrop divisor 65536"))),
    flows(exact(("sfq", "limit, headdrop"), HTB, "sfq limit 20 headdrop divisor 65536")),
    exact(("sfq", "perturb, one flow"), HTB, "sfq perturb 1"),
    // OPEN: equal packet by packet in most runs, but not in all (24 of 6667 fates once, from a rehash on):
    // when the kernel's timer fires is not understood, so that only the distributions are judged.
    flows(law(("sfq", "perturb"), HTB, "sfq perturb 1 limit 60 divisor 65536")),
    flows(law(
        ("sfq", "red, ecn"),
        HTB,
        "sfq limit 500 divisor 65536 redflowlimit 60000 min 2000 max 12000 probability 0.1 ecn",
    )),
    flows(law(
        ("sfq", "red, head"),
        HTB,
        "sfq limit 500 divisor 65536 headdrop redflowlimit 60000 min 2000 max 8000 probability 0.1 ecn",
    )),
    overload(law(
        ("sfq", "red, harddrop"),
        HTB,
        "sfq limit 500 redflowlimit 60000 min 3000 max 20000 probability 0.1 ecn harddrop",
    )),
    exact(("cake", "flowblind"), None, "cake bandwidth 10mbit besteffort flowblind"),
    exact(
        ("cake", "overhead, rtt"),
        None,
        "cake bandwidth 10mbit besteffort flowblind rtt 20ms overhead 44 mpu 84 atm",
    ),
    tins(exact(("cake", "diffserv3"), None, "cake bandwidth 10mbit flowblind")),
    tins(exact(("cake", "diffserv4"), None, "cake bandwidth 10mbit diffserv4 flowblind rtt 50ms")),
    tins(exact(("cake", "diffserv8"), None, "cake bandwidth 10mbit diffserv8 flowblind wash")),
    tins(exact(("cake", "precedence"), None, "cake bandwidth 10mbit precedence flowblind ingress")),
    exact(("cake", "unlimited in htb"), HTB, "cake unlimited besteffort flowblind"),
    flows(law(("cake", "flows"), None, "cake bandwidth 10mbit besteffort flows")),
    exact(("netem", "delay"), None, "netem delay 20ms limit 1000"),
    exact(("netem", "delay, limit"), None, "netem delay 40ms limit 30"),
    exact(("netem", "delay, rate"), None, "netem delay 10ms rate 10mbit limit 100"),
    exact(("netem", "rate with cells"), None, "netem rate 11mbit 20 48 5 limit 100"),
    exact(("netem", "gap"), None, "netem delay 10ms reorder 100% gap 5"),
    law(("netem", "loss"), None, "netem delay 5ms loss 3%"),
    law(("netem", "correlated loss"), None, "netem delay 5ms loss 10% 25%"),
    law(("netem", "gemodel"), None, "netem delay 5ms loss gemodel 1% 30% 80% 0.1%"),
    law(("netem", "state"), None, "netem delay 5ms loss state 2% 40% 20% 50% 1%"),
    law(("netem", "jitter"), None, "netem delay 10ms 3ms"),
    law(("netem", "normal"), None, "netem delay 10ms 3ms 25% distribution normal"),
    law(("netem", "pareto, rate"), None, "netem delay 10ms 3ms distribution pareto rate 12mbit"),
    law(("netem", "duplicate"), None, "netem delay 5ms duplicate 5%"),
    law(("netem", "reorder"), None, "netem delay 10ms reorder 25% 50% gap 3"),
    law(("netem", "slot"), None, "netem slot 2ms 8ms packets 20"),
    law(("red", "drop"), HTB, "red limit 150000 avpkt 1000 bandwidth 10mbit"),
    law(
        ("red", "ecn"),
        HTB,
        "red limit 150000 min 10000 max 60000 avpkt 1000 probability 0.1 bandwidth 10mbit ecn",
    ),
    // tc hands `adaptive` over in a way that Linux 7.2 shows but does not act on.
    Case {
        ours: Some("red limit 400000 min 10000 max 30000 avpkt 1000 bandwidth 10mbit ecn"),
        ..held(law(
            ("red", "adaptive"),
            HTB,
            "red limit 400000 min 10000 max 30000 avpkt 1000 adaptive bandwidth 10mbit ecn",
        ))
    },
    law(
        ("red", "nodrop, harddrop"),
        HTB,
        "red limit 60000 avpkt 1000 bandwidth 10mbit ecn nodrop harddrop",
    ),
    law(("pie", "drop"), HTB, "pie"),
    overload(law(("pie", "overload"), HTB, "pie")),
    law(("pie", "ecn"), HTB, "pie ecn target 5ms tupdate 32ms"),
    law(("pie", "bytemode, gains"), HTB, "pie bytemode alpha 4 beta 30 limit 100"),
    law(("pie", "dq_rate_estimator"), HTB, "pie dq_rate_estimator ecn"),
    flows(law(("fq_pie", "default"), HTB, "fq_pie flows 1024")),
    overload(flows(law(("fq_pie", "overload"), HTB, "fq_pie flows 1024"))),
    flows(law(("fq_pie", "ecn"), HTB, "fq_pie flows 1024 ecn target 5ms limit 200 ecn_prob 30")),
    law(("dualpi2", "default"), HTB, "dualpi2"),
    overload(law(("dualpi2", "overload"), HTB, "dualpi2")),
    law(("dualpi2", "drop_enqueue"), HTB, "dualpi2 drop_enqueue target 10ms limit 300"),
    law(("dualpi2", "packets"), HTB, "dualpi2 step_thresh 5p any_ect overflow limit 200"),
    law(
        ("dualpi2", "coupling"),
        HTB,
        "dualpi2 coupling_factor 3 classic_protection 30% tupdate 10ms",
    ),
    // The judge before the judge: each gives ours another parameter than Linux.
    Case { ours: Some("codel interval 99ms"), ..exact(("wrong codel", "interval"), HTB, "codel") },
    Case { ours: Some("pie target 20ms"), ..overload(law(("wrong pie", "target"), HTB, "pie")) },
];
