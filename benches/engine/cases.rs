//! The scenarios that are measured. One differs from `prague-1` in as little as its question allows.

use std::fmt::Write as _;

/// One scenario.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) question: &'static str,
    pub(crate) flows: u32,
    /// Links from sender to receiver; the last one is the bottleneck.
    pub(crate) hops: u32,
    rate: &'static str,
    /// Keys of the bottleneck link besides its rate and delay.
    bottleneck: &'static str,
    /// Controllers that flows have in turn.
    ccs: &'static [&'static str],
    /// Whether `step` is the default one, so that every flow and queue is sampled 20 times a second; otherwise once.
    has_series: bool,
    pub(crate) duration_s: f64,
    /// Lengths of the two runs whose instructions are subtracted from one another: what start and end cost is in both.
    /// None where valgrind would take minutes.
    pub(crate) counted_s: Option<(f64, f64)>,
}

const DUALPI2: &str = "shaper = \"htb\"\nqdisc = \"dualpi2\"\n";
const PFIFO: &str = "qdisc = \"pfifo limit 250\"\n";
const MIXED: &[&str] = &["cubic", "prague"];

/// Milliseconds from one end of the path to the other and back.
const RTT_MS: f64 = 20.0;

/// Interval of series, the default of scenarios.
pub(crate) const STEP_S: f64 = 0.05;

/// Part of a run in which its flows start one after another.
const STARTS: f64 = 0.1;

const fn case(name: &'static str, question: &'static str) -> Case {
    Case {
        name,
        question,
        flows: 1,
        hops: 1,
        rate: "100Mbit",
        bottleneck: DUALPI2,
        ccs: &["prague"],
        has_series: true,
        duration_s: 60.0,
        counted_s: Some((1.0, 4.0)),
    }
}

/// What the other cases are ratios to.
pub(crate) const REFERENCE: &str = "prague-1";

/// Two runs that differ in their series alone, for the memory of each.
pub(crate) const SERIES: &str = "series";
pub(crate) const NO_SERIES: &str = "no-series";

pub(crate) const CASES: &[Case] = &[
    case(REFERENCE, "one Prague flow, htb + dualpi2, 100 Mbit/s, 20 ms"),
    Case { bottleneck: PFIFO, ccs: &["cubic"], ..case("cubic-1", "one CUBIC flow, pfifo") },
    Case {
        rate: "1Mbit",
        duration_s: 600.0,
        counted_s: Some((10.0, 40.0)),
        ..case("slow", "1 Mbit/s")
    },
    Case {
        rate: "10Gbit",
        duration_s: 2.0,
        counted_s: Some((0.3, 0.5)),
        ..case("fast", "10 Gbit/s")
    },
    Case { hops: 10, duration_s: 20.0, counted_s: Some((0.5, 1.5)), ..case("hops-10", "10 hops") },
    Case { hops: 50, duration_s: 5.0, counted_s: Some((0.5, 1.5)), ..case("hops-50", "50 hops") },
    Case {
        hops: 100,
        duration_s: 3.0,
        counted_s: Some((0.5, 1.0)),
        ..case("hops-100", "100 hops")
    },
    Case {
        flows: 100,
        rate: "1Gbit",
        ccs: MIXED,
        duration_s: 10.0,
        counted_s: Some((0.5, 1.0)),
        ..case("flows-100", "50 CUBIC and 50 Prague, 1 Gbit/s")
    },
    Case {
        flows: 1000,
        rate: "1Gbit",
        ccs: MIXED,
        duration_s: 5.0,
        counted_s: Some((0.5, 1.0)),
        ..case("dense-1000", "1,000 flows in the same 1 Gbit/s")
    },
    Case {
        flows: 1000,
        rate: "10Gbit",
        ccs: MIXED,
        duration_s: 2.0,
        counted_s: Some((0.2, 0.3)),
        ..case("flows-1000", "1,000 flows, 10 Gbit/s")
    },
    Case {
        flows: 10_000,
        rate: "100Gbit",
        ccs: MIXED,
        duration_s: 0.5,
        counted_s: None,
        ..case("flows-10000", "10,000 flows, 100 Gbit/s")
    },
    Case {
        flows: 10_000,
        rate: "1Gbit",
        ccs: MIXED,
        duration_s: 2.0,
        counted_s: None,
        ..case(SERIES, "10,000 flows in 1 Gbit/s, 40 samples")
    },
    Case {
        flows: 10_000,
        rate: "1Gbit",
        ccs: MIXED,
        has_series: false,
        duration_s: 2.0,
        counted_s: None,
        ..case(NO_SERIES, "the same, sampled once")
    },
];

impl Case {
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        CASES.iter().find(|case| case.name == name)
    }

    /// The scenario file of a run of this length.
    pub(crate) fn text(&self, duration_s: f64) -> String {
        let step_s = if self.has_series { STEP_S } else { duration_s };
        let mut text = format!(
            "name = \"{}\"\nduration = \"{duration_s}s\"\nstep = \"{step_s}s\"\n[tcp]\n\
             rmem_max = \"1Gb\"\nwmem_max = \"1Gb\"\n",
            self.name
        );
        let delay_ms = RTT_MS / 2.0 / f64::from(self.hops);
        for hop in 1..self.hops {
            let _ = write!(
                text,
                "[[link]]\nname = \"hop{hop}\"\nrate = \"10Gbit\"\nqdisc = \"pfifo\"\n\
                 delay = \"{delay_ms}ms\"\n"
            );
        }
        let _ = write!(
            text,
            "[[link]]\nname = \"bneck\"\nrate = \"{}\"\n{}ingress = [\"netem delay {delay_ms}ms \
             limit 10000000\"]\n",
            self.rate, self.bottleneck
        );
        for n in 0..self.flows {
            let cc = self.ccs[n as usize % self.ccs.len()];
            let start_ns =
                (duration_s * STARTS * 1e9 * f64::from(n) / f64::from(self.flows)) as u64;
            let _ = write!(
                text,
                "[[flow]]\nname = \"f{n}\"\ncc = \"{cc}\"\nstart = \"{start_ns}ns\"\n"
            );
        }
        text
    }
}
