//! Queues that are older than the scenario.

use sojourn_trace::Output;

use crate::lab::{Named, run, run_with};

/// A flood over `link`, and the instant of its first drop.
fn first_drop(link: &str, top: &str) -> f64 {
    let output = run(&format!(
        "duration = \"2s\"\nstep = \"1ms\"\n{top}\n[[link]]\nname = \"bneck\"\nrate = \"50Mbit\"\n\
         shaper = \"htb\"\ndelay = \"10ms\"\n{link}\n[link.reverse]\nrate = \"none\"\n\
         [[flow]]\nname = \"c\"\napp = \"cbr rate 60Mbit size 1200\"\nstart = \"10ms\"\n"
    ));
    let drops = output.series("queue.bneck.drops");
    drops.iter().find(|(_, n)| *n > 0.0).expect("a drop").0
}

// Linux 7.2 with the queue created 1 s before the flood: first drops at 300 and 330 ms.
#[test]
fn a_pie_that_was_there_before_the_flow_drops_as_soon_as_its_burst_is_over() {
    for qdisc in ["pie", "fq_pie flows 1"] {
        let link = format!("qdisc = \"{qdisc}\"");
        for seed in 1..6 {
            let at = first_drop(&link, &format!("seed = {seed}"));
            assert!((0.25..0.4).contains(&at), "{qdisc}: {at}");
        }
        // The timer of a new one starts after half a second.
        let at = first_drop(&link, "queue_age = \"0s\"");
        assert!((0.55..0.75).contains(&at), "{qdisc}: {at}");
    }
}

#[test]
fn the_phase_of_a_timer_is_drawn_from_the_seed() {
    let qdisc = "qdisc = \"pie\"";
    let at = |seed: u32| first_drop(qdisc, &format!("seed = {seed}"));
    let starts: Vec<f64> = (1..5).map(at).collect();
    assert!(starts.windows(2).any(|w| w[0] != w[1]), "{starts:?}");
    assert_eq!(at(1), starts[0]);
}

#[test]
fn a_queue_that_is_replaced_is_new() {
    let text = "qdisc = \"pfifo\"\n[[schedule]]\nat = \"0s\"\n\
                replace = { \"link.bneck.forward.qdisc\" = \"pie\" }\n";
    let text = format!(
        "duration = \"2s\"\nstep = \"1ms\"\n[[link]]\nname = \"bneck\"\nrate = \"50Mbit\"\n\
         shaper = \"htb\"\n{text}[[flow]]\nname = \"c\"\napp = \"cbr rate 60Mbit size 1200\"\n"
    );
    let drops = run(&text).series("queue.bneck.drops");
    let first = drops.iter().find(|(_, n)| *n > 0.0).expect("a drop").0;
    assert!(first > 0.5, "{first}");
}

const TWO: &str = r#"
duration = "4s"
[[link]]
name = "bneck"
rate = "20Mbit"
shaper = "htb"
qdisc = "pfifo"
ingress = ["netem delay 10ms 2ms loss 0.1%"]
[[flow]]
name = "a"
cc = "cubic"
[[flow]]
name = "b"
cc = "prague"
[[ping]]
name = "p"
"#;

fn same(a: &Output, b: &Output, what: &str) {
    let text = |o: &Output| format!("{:?}{:?}{:?}", o.summary.flows, o.summary.pings, o.queues);
    assert_eq!(text(a), text(b), "{what}");
}

#[test]
fn age_changes_nothing_but_timers() {
    let queues = [
        "pfifo",
        "codel",
        "fq_codel",
        "cake bandwidth 20Mbit",
        "red min 30000 max 90000 avpkt 1500 \
         limit 400000 burst 55 bandwidth 20Mbit",
        "fq",
        "cobalt",
        "sfb",
        "pfifo_fast",
    ];
    let other = |shaper: &str, rate: &str| {
        [("link.bneck.shaper", shaper.to_owned()), ("link.bneck.rate", rate.to_owned())]
    };
    let cases = queues.map(|qdisc| vec![("link.bneck.qdisc", qdisc.to_owned())]);
    let links = [
        "tbf burst 5kb latency 50ms",
        "netem delay 1ms",
        "wifi half-duplex",
        "grant request 5ms",
        "police burst 20kb",
    ];
    let links = links.map(|shaper| other(shaper, "20Mbit").to_vec());
    for case in cases.into_iter().chain(links) {
        let with = |age: &str| {
            let mut overrides = case.clone();
            overrides.push(("queue_age", age.to_owned()));
            run_with(TWO, &overrides)
        };
        same(&with("0s"), &with("10s"), &format!("{case:?}"));
    }
}
