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

/// Links between nodes that their names begin with, at rates in Mbit/s and delays in ms, and a flow.
fn graph(links: &[(&str, u32, u32)], flow: &str, seed: u64) -> Conditions {
    let link = |(name, rate, delay): &(&str, u32, u32)| {
        let (from, to) = (&name[..1], &name[1..2]);
        format!(
            "[[link]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{rate}Mbit\"\n\
             delay = \"{delay}ms\"\n"
        )
    };
    let flow = format!("[[flow]]\nname = \"a\"\ncc = \"cubic\"\n{flow}\n");
    let links: String = links.iter().map(link).collect();
    let text = format!("name = \"x\"\nseed = {seed}\nduration = \"10s\"\n{links}{flow}");
    conditions(&load(&text, "x.toml", &[]).expect("a scenario").scenario)
}

#[test]
fn paths_by_packet_add_what_their_bottlenecks_carry() {
    let by_packet = |links: &[(&str, u32, u32)], path: &str| {
        let found = graph(links, &format!("path = {path}\nmultipath = 'packet'"), 1);
        assert_eq!(found.capacity.len(), 1);
        (found.capacity[0].mbps, found.bottlenecks.join(" "), found.base_rtt_ms.least)
    };
    let parted = [("st", 10, 20), ("su", 50, 1), ("ut", 20, 5)];
    let both = "[['st'], ['su', 'ut']]";
    assert_eq!(by_packet(&parted, both), (Some(30.0), "st ut".to_owned(), 12.0));
    // A shared link counts once, whether it is the bottleneck or what the other leaves of it.
    let shared = [("rs", 25, 0), ("st", 10, 20), ("st2", 20, 5)];
    let both = "[['rs', 'st'], ['rs', 'st2']]";
    assert_eq!(by_packet(&shared, both), (Some(25.0), "rs st".to_owned(), 10.0));
    let narrow = [("rs", 5, 0), ("st", 10, 20), ("st2", 20, 5)];
    assert_eq!(by_packet(&narrow, both), (Some(5.0), "rs".to_owned(), 10.0));
}

#[test]
fn a_flow_over_one_of_several_paths_has_the_conditions_of_that_one() {
    let links = [("st", 10, 20), ("st2", 20, 5)];
    let drawn = |seed| graph(&links, "path = [['st'], ['st2']]", seed);
    let all: Vec<_> = (0..20).map(drawn).map(|found| found.capacity[0].mbps).collect();
    assert!(all.iter().all(|mbps| [Some(10.0), Some(20.0)].contains(mbps)), "{all:?}");
    assert!(all.contains(&Some(10.0)) && all.contains(&Some(20.0)), "{all:?}");
}

#[test]
fn of_different_paths_the_links_are_drawn_with_their_nodes() {
    let links = [("ut", 20, 5), ("us", 10, 20), ("tv", 20, 5)];
    let found = graph(&links, "from = 's'\nto = 't'", 1);
    assert_eq!(
        (found.queues.join(" "), found.bottlenecks.join(" ")),
        ("pfifo".into(), "us.reverse".into())
    );
    let other = "[[flow]]\nname = \"b\"\ncc = \"reno\"\npath = ['ut']";
    let found = graph(&links, &format!("from = 's'\nto = 't'\n{other}"), 1);
    assert_eq!(found.queues, ["ut from u to t; us from s to u"]);
}
