use super::*;
use crate::qdiscs::{build, change};
use sojourn_core::ecn::Ecn;
use sojourn_core::rng::Rng;

const UNIT: u64 = 1024;

fn make(text: &str) -> Box<dyn Qdisc> {
    build(text, Env::ethernet(Rng::named(1, "t"))).unwrap()
}

fn law(ecn: bool) -> Law {
    Law::new(&LawParams { ecn, ..LawParams::default() }, (0, 0))
}

/// A packet that has waited `units` of CoDel's clock at `now`.
fn waited(now: u64, units: u64) -> Packet {
    let stamp = Time((now + BOOT_NS - units * UNIT).wrapping_sub(BOOT_NS));
    Packet { len: 1514, tos: Ecn::Ect0 as u8, stamp, ..Packet::default() }
}

/// Units since the first dequeue at which `marks` packets were marked, with a queue that never
/// drains and a dequeue every `step` units from `start` on.
fn mark_times(start: u64, step: u64, marks: usize) -> Vec<u64> {
    let (mut control, mut counters) = (Control::default(), Counters::default());
    let (law, mut log, mut times) = (law(true), Log::default(), Vec::new());
    let mut now = start * UNIT;
    while times.len() < marks {
        let pkt = waited(now, 10_000);
        let sent =
            control.dequeue(&law, &mut counters, Time(now), &mut log, || Some((pkt, 100_000)));
        if sent.unwrap().ecn() == Ecn::Ce {
            times.push(now / UNIT);
        }
        now += step * UNIT;
    }
    assert_eq!(counters.ecn_mark as usize, marks);
    times
}

// KAT codel 2
#[test]
fn marks_follow_the_kernels_schedule_at_every_tick() {
    let start = 20_000;
    let expected = [
        100.001, 199.998, 249.999, 306.249, 355.027, 399.178, 439.584, 477.101, 512.252, 545.433,
        576.937, 606.994,
    ];
    for (units, ms) in mark_times(start, 1, 12).iter().zip(expected) {
        let us = ((units - start) * UNIT + 500) / 1000;
        assert_eq!(us, (ms * 1000.0_f64).round() as u64);
    }
}

// KAT codel 2
#[test]
fn marks_follow_the_kernels_schedule_at_coarse_dequeues() {
    let times = mark_times(1000, 1000, 12);
    let expected = [
        99000, 197000, 246000, 301000, 349000, 392000, 431000, 468000, 502000, 534000, 565000,
        595000,
    ];
    assert_eq!(times, expected);
}

// KAT codel 1
#[test]
fn newton_series_is_the_kernels() {
    let mut control = Control { inv_sqrt: u16::MAX, count: 1, ..Control::default() };
    let mut series = vec![control.inv_sqrt];
    for count in 2..=10 {
        control.count = count;
        control.newton_step();
        series.push(control.inv_sqrt);
    }
    let expected = [0xFFFF, 0x8001, 0x9000, 0x7CE0, 0x7107, 0x6771, 0x600C, 0x59FD, 0x54F2, 0x50A7];
    assert_eq!(series, expected);
}

// KAT codel 3, codel 4
#[test]
fn equal_to_target_counts_as_above_and_one_packet_of_backlog_does_not() {
    for (units, remaining, signalled) in
        [(4882, 1515, true), (4881, 1515, false), (90_000, 1514, false)]
    {
        let (mut control, mut counters) = (Control::default(), Counters::default());
        let mut log = Log::default();
        for now in [0, 97_656, 97_657, 200_000] {
            let pkt = waited(now * UNIT, units);
            control.dequeue(&law(true), &mut counters, Time(now * UNIT), &mut log, || {
                Some((pkt, remaining))
            });
        }
        assert_eq!(counters.ecn_mark > 0, signalled, "{units} units, {remaining} bytes");
    }
}

// KAT codel 5
#[test]
fn episode_resumes_where_a_recent_one_ended() {
    let recent = ctime(Time(0)).wrapping_sub(15 * 97_656);
    let old = ctime(Time(0)).wrapping_sub(16 * 97_656);
    for (last_count, drop_next, resumed) in [(4, recent, 6), (9, recent, 1), (4, old, 1)] {
        let mut control =
            Control { count: 10, last_count, drop_next, inv_sqrt: 0x50A7, ..Control::default() };
        control.enter_dropping(&law(true), ctime(Time(0)));
        assert_eq!((control.count, control.last_count), (resumed, resumed));
    }
}

#[test]
fn not_ect_is_dropped_where_ect_is_marked() {
    for (tos, ecn, marks, drops) in
        [(0, "ecn", 0, 1), (1, "ecn", 1, 0), (2, "ecn", 1, 0), (2, "noecn", 0, 1)]
    {
        let (mut q, mut log) = (make(&format!("codel {ecn}")), Log::default());
        for id in 0..50 {
            q.enqueue(Time::ZERO, Packet { id, len: 1514, tos, ..Packet::default() }, &mut log);
        }
        for ms in [10, 120] {
            assert!(q.dequeue(Time(ms * 1_000_000), &mut log).is_some());
        }
        let (mut marked, mut dropped) = (0, 0);
        for event in log.drain() {
            match event {
                super::super::Event::Mark(_, Reason::Codel) => marked += 1,
                super::super::Event::Drop(_, Reason::Codel) => dropped += 1,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!((marked, dropped), (marks, drops), "tos {tos} {ecn}");
    }
}

#[test]
fn ce_threshold_marks_each_packet_that_waited_longer() {
    let (mut q, mut log) = (make("codel ce_threshold 1ms"), Log::default());
    for id in 0..3 {
        q.enqueue(Time::ZERO, Packet { id, len: 100, tos: 1, ..Packet::default() }, &mut log);
    }
    assert_eq!(q.dequeue(Time(999_000), &mut log).unwrap().ecn(), Ecn::Ect1);
    assert_eq!(q.dequeue(Time(1_002_000), &mut log).unwrap().ecn(), Ecn::Ce);
    assert_eq!(log.events().len(), 1);
}

#[test]
fn change_keeps_packets_and_control_state() {
    let (mut q, mut log) = (make("codel ecn"), Log::default());
    for id in 0..50 {
        q.enqueue(Time::ZERO, Packet { id, len: 1514, tos: 2, ..Packet::default() }, &mut log);
    }
    for ms in [10, 120] {
        q.dequeue(Time(ms * 1_000_000), &mut log);
    }
    change(&mut *q, Time(120_000_000), "codel target 6ms", &mut Log::default()).unwrap();
    let mut stats = Stats::default();
    q.stats(&mut stats);
    assert_eq!((q.backlog().packets, stats.value("dropping")), (48, Some(1.0)));
    assert_eq!(q.describe(), "codel limit 1000p target 6ms interval 100ms ecn");
}
