//! Hosts that take time: `hosts.noise`.

use sojourn_trace::Output;

use crate::lab::{Named, run};

const PATH: &str = "duration = \"5s\"\n[[link]]\nname = \"bneck\"\nrate = \"50Mbit\"\ndelay = \"10ms\"\n\
                    qdisc = \"dualpi2\"\n[link.reverse]\nrate = \"none\"\nqdisc = \"pfifo\"\n";

/// A distribution of one value.
fn always(us: u32) -> String {
    vec![format!("{us}us"); 5].join("/")
}

fn with(noise: &str, seed: u32, traffic: &str) -> Output {
    let links = PATH.split_once('\n').expect("lines");
    run(&format!("seed = {seed}\n{}\n[hosts]\nnoise = \"{noise}\"\n{}{traffic}", links.0, links.1))
}

const PING: &str = "[[ping]]\nname = \"p\"\ninterval = \"200ms\"\n";
const FLOW: &str = "[[flow]]\nname = \"a\"\ncc = \"prague\"\n";

fn rtt(noise: &str) -> f64 {
    let values = with(noise, 1, PING).series("ping.p.rtt");
    values.iter().map(|(_, rtt)| rtt).sum::<f64>() / values.len() as f64
}

#[test]
fn an_echo_waits_at_both_hosts() {
    let none = rtt("none");
    let turn = format!("turn {} turn_idle {}", always(30), always(100));
    // Both hosts have been idle for longer than half a millisecond.
    assert!((rtt(&format!("linux {turn}")) - none - 0.2).abs() < 1e-6);
    let never = rtt(&format!("linux {turn} idle_after 10s"));
    assert!((never - none - 0.06).abs() < 1e-6);
    // Where the path's delays are timers' too, each way is late by one.
    let timers = format!("timer {0} timer_idle {0}", always(50));
    assert!((rtt(&format!("linux {turn} {timers} emulated")) - none - 0.3).abs() < 1e-6);
}

#[test]
fn interrupts_keep_their_distance() {
    let one_way = |coalesce: &str| {
        let cbr = "[[flow]]\nname = \"c\"\napp = \"cbr rate 10Mbit size 1200\"\n";
        let delays = with(&format!("linux coalesce {coalesce}"), 1, cbr).series("flow.c.one_way");
        delays.iter().map(|(_, ms)| ms).sum::<f64>() / delays.len() as f64
    };
    // Packets that arrive evenly wait for half the interval on average.
    let more = one_way("4ms") - one_way("0us");
    assert!((1.9..2.1).contains(&more), "{more}");
}

#[test]
fn noise_is_drawn_from_the_seed_and_is_nothing_if_off() {
    let series = |noise: &str, seed: u32| with(noise, seed, FLOW).series("flow.a.rtt");
    assert_eq!(series("linux", 1), series("linux", 1));
    assert_ne!(series("linux", 1), series("linux", 2));
    assert_ne!(series("linux", 1), series("none", 1));
    let plain = run(&format!("seed = 1\n{PATH}{FLOW}")).series("flow.a.rtt");
    assert_eq!(series("none", 1), plain);
}
