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
    let timers = format!("timer {} timer_idle {}", always(50), always(70));
    assert!((rtt(&format!("linux {turn} {timers} emulated")) - none - 0.34).abs() < 1e-6);
    let never = rtt(&format!("linux {turn} {timers} idle_after 10s emulated"));
    assert!((never - none - 0.16).abs() < 1e-6);
}

#[test]
fn a_timer_of_the_path_is_idle_if_it_and_the_machine_were() {
    let one_way = |timers: &str, rate: &str| {
        let cbr = format!("[[flow]]\nname = \"c\"\napp = \"cbr rate {rate} size 1200\"\n");
        let turn = format!("turn {0} turn_idle {0}", always(0));
        let noise = format!("linux {turn} {timers} emulated");
        let delays = with(&noise, 1, &cbr).series("flow.c.one_way");
        delays.last().map(|(_, ms)| *ms).expect("packets")
    };
    let late = |rate: &str| {
        let none = format!("timer {0} timer_idle {0}", always(0));
        let some = format!("timer {} timer_idle {}", always(50), always(70));
        one_way(&some, rate) - one_way(&none, rate)
    };
    // Packets 0.96 ms apart find it idle, packets 0.24 ms apart at work.
    assert!((late("10Mbit") - 0.07).abs() < 1e-6, "{}", late("10Mbit"));
    assert!((late("40Mbit") - 0.05).abs() < 1e-6, "{}", late("40Mbit"));
}

#[test]
fn the_second_of_two_packets_finds_the_timer_awake() {
    let one_way = |flow: &str, us: (u32, u32)| {
        let cbr = |name: &str| {
            format!("[[flow]]\nname = \"{name}\"\napp = \"cbr rate 960kbit size 1200\"\n")
        };
        let turn = format!("turn {0} turn_idle {0}", always(0));
        let noise =
            format!("linux {turn} timer {} timer_idle {} emulated", always(us.0), always(us.1));
        let output = with(&noise, 1, &format!("{}{}", cbr("c"), cbr("d")));
        let delays = output.series(&format!("flow.{flow}.one_way"));
        delays.last().map(|(_, ms)| *ms).expect("packets")
    };
    // The wire takes 0.2 ms for a packet, and the machine wakes up every 5 ms.
    let late = |flow: &str| one_way(flow, (50, 70)) - one_way(flow, (0, 0));
    assert!((late("c") - 0.07).abs() < 1e-6, "{}", late("c"));
    assert!((late("d") - 0.05).abs() < 1e-6, "{}", late("d"));
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
