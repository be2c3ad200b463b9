use super::*;
use crate::aqm::Event;
use crate::qdiscs::{build, change};

fn make(text: &str) -> Box<dyn Qdisc> {
    build(text, Env::ethernet(Rng::named(1, "t"))).unwrap()
}

/// Flows of the tests have hashes far apart; with 65536 buckets none share one here.
fn packet(flow: u32, id: u32, len: u32) -> Packet {
    Packet { id, hash: flow.wrapping_mul(0x9e37_79b9), len, tos: 2, ..Packet::default() }
}

/// What was dropped: ids and reasons.
fn dropped(log: &mut Log) -> Vec<(u32, Reason)> {
    let drop = |event| match event {
        Event::Drop(pkt, reason) => Some((pkt.id, reason)),
        _ => None,
    };
    log.drain().filter_map(drop).collect()
}

fn fill(q: &mut dyn Qdisc, log: &mut Log, flow: u32, ids: std::ops::Range<u32>) {
    ids.for_each(|id| q.enqueue(Time::ZERO, packet(flow, id, 1514), log));
}

fn leave(q: &mut dyn Qdisc) -> Vec<u32> {
    let mut log = Log::default();
    std::iter::from_fn(|| q.dequeue(Time::ZERO, &mut log)).map(|pkt| pkt.id).collect()
}

#[test]
fn bounds_follow_from_each_other_as_tc_shows_them_on_linux_7_2() {
    for (options, described) in [
        ("", "perturb 0 quantum 1514b divisor 1024 flows 128 depth 127"),
        ("limit 10", "limit 10 perturb 0 quantum 1514b divisor 1024 flows 10 depth 127"),
        (
            "limit 100000 depth 200 flows 2000 divisor 2048",
            "limit 100000 perturb 0 quantum 1514b divisor 2048 flows 2000 depth 127",
        ),
        ("flows 4096", "perturb 0 quantum 1514b flows 4096 depth 127"),
        ("depth 10 flows 5", "perturb 0 quantum 1514b divisor 1024 flows 5 depth 10"),
        ("quantum 0 depth 0 flows 0", "perturb 0 quantum 1514b divisor 1024 flows 128 depth 127"),
        ("quantum 100 flows 70000", "perturb 0 quantum 256b flows 65408 depth 127"),
        (
            "headdrop perturb 10",
            "perturb 10 quantum 1514b divisor 1024 flows 128 depth 127 headdrop",
        ),
        (
            "redflowlimit 100000 ecn",
            "perturb 0 quantum 1514b divisor 1024 flows 128 depth 127 redflowlimit 100000 min 8333 \
             max 25000 avpkt 1000 burst 13 probability 0.02 ecn",
        ),
    ] {
        let text = make(&format!("sfq {options}")).describe();
        assert_eq!(text, format!("sfq {described}"), "{options}");
        assert_eq!(make(&text).describe(), text, "reads the same");
    }
    for (options, ewma) in [
        ("redflowlimit 100000", 3.0),
        ("redflowlimit 100000 avpkt 500", 4.0),
        ("redflowlimit 100000 min 8000 max 60000", 6.0),
    ] {
        let mut stats = Stats::default();
        make(&format!("sfq {options}")).stats(&mut stats);
        assert_eq!(stats.value("ewma"), Some(ewma), "{options}");
    }
}

#[test]
fn parameters_that_tc_refuses_are_refused() {
    for (options, why) in [
        ("limit 1", "2"),
        ("divisor 1000", "power of two"),
        ("divisor 131072", "power of two"),
        ("perturb 10s", "10s"),
        ("min 8000", "`redflowlimit`"),
        ("ecn", "`redflowlimit`"),
        ("redflowlimit 50000 min 8000 max 60000", "larger"),
        ("redflowlimit 50000 min 8000 max 6000", "smaller"),
        ("redflowlimit 100000 burst 2", "too small"),
    ] {
        let refused = build(&format!("sfq {options}"), Env::ethernet(Rng::named(1, "t")));
        let Err(error) = refused else { panic!("{options}") };
        assert!(error.0.contains(why), "{options}: {error}");
    }
    let mut q = make("sfq");
    let refused = change(&mut *q, Time::ZERO, "sfq limit 60", &mut Log::default());
    assert!(refused.is_err_and(|e| e.0.contains("cannot be changed")));
}

#[test]
fn flows_send_a_quantum_in_turn_and_a_new_one_joins_at_the_end() {
    let mut q = make("sfq quantum 3028 divisor 65536");
    let mut log = Log::default();
    fill(&mut *q, &mut log, 1, 10..15);
    fill(&mut *q, &mut log, 2, 20..23);
    assert_eq!(q.dequeue(Time::ZERO, &mut log).map(|p| p.id), Some(10));
    fill(&mut *q, &mut log, 3, 30..31);
    assert_eq!(leave(&mut *q), [11, 20, 21, 30, 12, 13, 22, 14]);
}

#[test]
fn room_is_taken_from_the_tail_of_the_longest_flow_or_from_its_head() {
    for (options, id, reason) in [("", 14, Reason::TailLimit), ("headdrop", 10, Reason::HeadLimit)]
    {
        let mut q = make(&format!("sfq limit 6 divisor 65536 {options}"));
        let mut log = Log::default();
        fill(&mut *q, &mut log, 1, 10..15);
        fill(&mut *q, &mut log, 2, 20..21);
        fill(&mut *q, &mut log, 3, 30..31);
        assert_eq!(dropped(&mut log), [(id, reason)], "{options}");
    }
    // Of two equally long ones that which became so last loses.
    let mut q = make("sfq limit 4 divisor 65536");
    let mut log = Log::default();
    fill(&mut *q, &mut log, 1, 10..12);
    fill(&mut *q, &mut log, 2, 20..22);
    fill(&mut *q, &mut log, 3, 30..31);
    assert_eq!(dropped(&mut log), [(21, Reason::TailLimit)]);
    // Where all have one packet, the next to be served goes.
    let mut q = make("sfq limit 3 flows 8 divisor 65536");
    fill(&mut *q, &mut log, 1, 10..11);
    fill(&mut *q, &mut log, 2, 20..21);
    fill(&mut *q, &mut log, 3, 30..31);
    fill(&mut *q, &mut log, 4, 40..41);
    assert_eq!(dropped(&mut log), [(40, Reason::TailLimit)], "three flows at most, by the limit");
}

#[test]
fn a_flow_holds_its_depth_and_with_headdrop_its_newest_packets() {
    for (options, gone, kept) in
        [("", [13, 14], [10, 11, 12]), ("headdrop", [10, 11], [12, 13, 14])]
    {
        let mut q = make(&format!("sfq depth 3 {options}"));
        let mut log = Log::default();
        fill(&mut *q, &mut log, 1, 10..15);
        let drops = gone.map(|id| (id, Reason::FlowOverlimit));
        assert_eq!(dropped(&mut log), drops, "{options}");
        assert_eq!(leave(&mut *q), kept, "{options}");
    }
}

#[test]
fn red_marks_the_head_first_where_heads_are_dropped() {
    for (options, first, head) in
        [("headdrop", Some(0), true), ("", None, false), ("headdrop harddrop", None, false)]
    {
        let text = "sfq redflowlimit 100000 min 4000 max 9000 burst 7 ecn";
        let mut q = make(&format!("{text} {options}"));
        let mut log = Log::default();
        // Beyond the maximum every arrival is signalled.
        fill(&mut *q, &mut log, 1, 0..40);
        let marked: Vec<u32> = log
            .drain()
            .filter_map(|e| if let Event::Mark(pkt, _) = e { Some(pkt.id) } else { None })
            .collect();
        let mut stats = Stats::default();
        q.stats(&mut stats);
        let value = |name: &str| stats.value(name).unwrap_or(0.0);
        if head {
            assert_eq!(marked.first().copied(), first, "{options}");
            assert!(value("forced_mark_head") > 20.0 && value("forced_mark") == 0.0, "{options}");
        } else if options.is_empty() {
            assert!(value("forced_mark") > 20.0 && value("forced_mark_head") == 0.0);
            assert!(marked[0] > 3, "the arrival, not the head");
        } else {
            assert!(value("forced_drop") > 20.0 && value("forced_mark_head") == 0.0);
        }
    }
}

#[test]
fn another_hash_keeps_every_packet_and_the_order_of_each_flow() {
    let mut q = make("sfq perturb 1 limit 100 divisor 64 flows 64");
    let mut log = Log::default();
    for id in 0..60 {
        q.enqueue(Time::ZERO, packet(id % 6, id, 1000), &mut log);
    }
    // One second, by a timer that is rounded up to 64 jiffies.
    assert_eq!(q.wake(), Time(1_056_000_000));
    q.on_wake(q.wake(), &mut log);
    assert_eq!(q.wake(), Time(2_080_000_000));
    assert!(dropped(&mut log).is_empty());
    let order = leave(&mut *q);
    assert_eq!(order.len(), 60);
    for flow in 0..6 {
        let own: Vec<u32> = order.iter().copied().filter(|id| id % 6 == flow).collect();
        assert!(own.is_sorted(), "{own:?}");
    }
}

#[test]
fn a_flow_without_a_place_is_turned_away() {
    let mut q = make("sfq flows 2 divisor 65536");
    let mut log = Log::default();
    assert_eq!(q.describe(), "sfq perturb 0 quantum 1514b divisor 65536 flows 2 depth 127");
    for flow in 1..4 {
        fill(&mut *q, &mut log, flow, 10 * flow..10 * flow + 1);
    }
    assert_eq!(dropped(&mut log), [(30, Reason::TailLimit)]);
}
