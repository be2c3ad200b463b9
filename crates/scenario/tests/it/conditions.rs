//! What a run is made under, from topology and schedule alone.

use sojourn_scenario::{conditions, load};
use sojourn_trace::summary::{Capacity, Conditions, Span};

fn of(links: &str, rest: &str) -> Conditions {
    let flow = "[[flow]]\nname = \"a\"\ncc = \"cubic\"\n";
    let text = format!("name = \"x\"\nduration = \"10s\"\n{links}{flow}{rest}");
    conditions(&load(&text, "x.toml", &[]).expect("a scenario").scenario)
}

fn capacity(conditions: &Conditions) -> Vec<(f64, Option<f64>)> {
    conditions.capacity.iter().map(|Capacity { from_s, mbps }| (*from_s, *mbps)).collect()
}

const LINK: &str = "[[link]]\nname = \"b\"\nrate = \"10Mbit\"\ndelay = \"5ms\"\n";

#[test]
fn propagation_and_elements_of_both_ways_are_the_rtt() {
    let link =
        "ingress = [\"netem delay 20ms 2ms\"]\nreverse = { ingress = [], delay = \"1ms\" }\n";
    let found = of(&format!("{LINK}{link}"), "");
    assert_eq!(found.base_rtt_ms, Span { least: 26.0, greatest: 26.0 });
    assert_eq!(capacity(&found), [(0.0, Some(10.0))]);
    assert_eq!(found.bottlenecks, ["b"]);
}

#[test]
fn the_least_of_shaper_queue_and_policer_is_the_capacity() {
    for (keys, mbps, shapes) in [
        ("shaper = \"htb\"\nqdisc = \"fq_codel\"\n", 10.0, false),
        ("qdisc = \"cake bandwidth 4Mbit\"\n", 4.0, true),
        ("shaper = \"htb\"\nqdisc = \"cake bandwidth 4Mbit\"\n", 4.0, true),
        ("qdisc = \"cake bandwidth 40Mbit\"\n", 10.0, false),
        ("qdisc = \"red limit 400000 avpkt 1000 bandwidth 4Mbit\"\n", 10.0, false),
        ("ingress = [\"police rate 2Mbit burst 20kb drop\"]\n", 2.0, false),
    ] {
        let found = of(&format!("{LINK}{keys}"), "");
        assert_eq!(capacity(&found), [(0.0, Some(mbps))], "{keys}");
        assert_eq!(found.queue_shapes, shapes, "{keys}");
    }
    let free = of("[[link]]\nname = \"b\"\ndelay = \"5ms\"\n", "");
    assert_eq!((capacity(&free), free.bottlenecks.len()), (vec![(0.0, None)], 0));
}

#[test]
fn a_schedule_moves_the_capacity_and_the_bottleneck() {
    let links =
        format!("{LINK}shaper = \"htb\"\n{}", LINK.replace("\"b\"", "\"c\"").replace("10", "8"));
    let change = |at: u8, name: &str, rate: u8| {
        format!("[[schedule]]\nat = \"{at}s\"\nset = {{ \"link.{name}\" = \"{rate}Mbit\" }}\n")
    };
    let schedule =
        [change(2, "b.forward.rate", 5), change(3, "b.reverse.rate", 1), change(4, "b.rate", 20)];
    let found = of(&links, &schedule.concat());
    assert_eq!(capacity(&found), [(0.0, Some(8.0)), (2.0, Some(5.0)), (4.0, Some(8.0))]);
    assert_eq!(found.bottlenecks, ["b", "c"]);
    let up = of(&links, &format!("direction = \"up\"\n{}", schedule.concat()));
    assert_eq!(capacity(&up), [(0.0, Some(8.0)), (3.0, Some(1.0)), (4.0, Some(8.0))]);
    assert_eq!(up.bottlenecks, ["b.reverse", "c.reverse"]);
}
