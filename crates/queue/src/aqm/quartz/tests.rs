use super::*;
use crate::qdiscs::build;
use sojourn_core::ecn::Ecn;

const MS: u64 = 1_000_000;
const DSCP_3: u8 = 3 << 2;

fn make() -> JudgedFifo<Quartz> {
    make_with("")
}

fn make_with(options: &str) -> JudgedFifo<Quartz> {
    JudgedFifo::read(options)
}

fn packet(dscp: u8, ecn: Ecn) -> Packet {
    Packet { len: 1514, tos: dscp | ecn as u8, ..Packet::default() }
}

// KAT quartz 1
#[test]
fn slope_rises_by_half_octaves() {
    let mut q = make();
    for (ramp, expected) in [(0, 500_000), (1, 1_000_000), (2, 1_500_000), (3, 2_000_000)] {
        q.judge.ramp = ramp;
        assert_eq!(q.judge.weigh(Dur(MS)), expected);
        assert_eq!(q.judge.weigh(Dur::ZERO), 0);
    }
    q.judge.ramp = INFINITE;
    assert_eq!(q.judge.weigh(Dur(1)), u64::MAX);
}

// chromi/sce 2023 sch_quartz.
#[test]
fn slope_follows_the_balance_of_busy_times() {
    for (over, under, from, to) in [
        (0, 0, 5, 6),
        (21, 10, 5, 6),
        (20, 10, 5, 5),
        (10, 20, 5, 5),
        (10, 21, 5, 4),
        (0, 1, 0, 0),
        (1, 0, STEEPEST, INFINITE),
        (1, 0, INFINITE, INFINITE),
        (0, 1, INFINITE, STEEPEST),
    ] {
        let mut q = make();
        (q.judge.over, q.judge.under, q.judge.ramp) = (over, under, from);
        q.judge.adapt(Time(7));
        assert_eq!((q.judge.ramp, q.judge.over, q.judge.under), (to, 0, 0));
        assert_eq!(q.judge.interval_end, Some(Time(7 + INTERVAL_NS)));
    }
}

#[test]
fn busy_period_is_weighed_when_it_ends_and_clears_the_level() {
    let (mut q, mut log) = (make(), Log::default());
    q.enqueue(Time::ZERO, packet(0, Ecn::Ect0), &mut log);
    q.enqueue(Time::ZERO, packet(0, Ecn::Ect0), &mut log);
    q.dequeue(Time(4 * MS), &mut log).unwrap();
    // Half of 4 ms at the flattest slope, times a delay of 4 ms.
    assert_eq!((q.judge.level, q.judge.over, q.judge.under), (2 * MS * 4 * MS, 0, 0));
    q.dequeue(Time(13 * MS), &mut log).unwrap();
    assert_eq!((q.judge.level, q.judge.over, q.judge.under), (0, 3 * MS, 0));
    q.enqueue(Time(20 * MS), packet(0, Ecn::Ect0), &mut log);
    q.dequeue(Time(24 * MS), &mut log).unwrap();
    assert_eq!((q.judge.over, q.judge.under), (3 * MS, 6 * MS));
}

// chromi/sce 2023 sch_quartz.
#[test]
fn only_three_dscps_are_marked_sce() {
    for (dscp, marked) in [(3, true), (7, true), (11, true), (0, false), (4, false), (46, false)] {
        let (mut q, mut log) = (make(), Log::default());
        q.judge.ramp = INFINITE;
        q.enqueue(Time::ZERO, packet(dscp << 2, Ecn::Ect0), &mut log);
        q.enqueue(Time::ZERO, packet(dscp << 2, Ecn::NotEct), &mut log);
        let expected = if marked { Ecn::Ect1 } else { Ecn::Ect0 };
        assert_eq!(q.dequeue(Time(MS), &mut log).unwrap().ecn(), expected, "{dscp}");
        assert_eq!(q.dequeue(Time(MS), &mut log).unwrap().ecn(), Ecn::NotEct);
    }
}

#[test]
fn share_of_marks_is_the_level() {
    let (mut q, mut marks) = (make(), 0);
    // A quarter of the range of shifted random numbers.
    q.judge.level = 1 << (64 - RAMP_SHIFT - 2);
    for _ in 0..10_000 {
        marks += u32::from(q.judge.wants_sce(&packet(DSCP_3, Ecn::Ect0)));
    }
    assert!((2300..2700).contains(&marks), "{marks}");
}

// chromi/sce 2023 sch_quartz.
#[test]
fn beyond_fifty_milliseconds_all_are_marked_or_dropped_but_the_last() {
    let (mut q, mut log) = (make(), Log::default());
    for ecn in [Ecn::Ect0, Ecn::NotEct, Ecn::Ect1, Ecn::NotEct] {
        q.enqueue(Time::ZERO, packet(0, ecn), &mut log);
    }
    let late = Time(50 * MS + 1);
    let sent: Vec<Ecn> =
        std::iter::from_fn(|| q.dequeue(late, &mut log)).map(|pkt| pkt.ecn()).collect();
    assert_eq!(sent, [Ecn::Ce, Ecn::Ce, Ecn::NotEct]);
    let (mut q, mut log) = (make(), Log::default());
    q.enqueue(Time::ZERO, packet(0, Ecn::Ect0), &mut log);
    assert_eq!(q.dequeue(Time(50 * MS), &mut log).unwrap().ecn(), Ecn::Ect0);
}

// chromi/sce 2023 sch_quartz.
#[test]
fn builds_differ_in_limit_and_busy_target() {
    for (options, held, over, under) in
        [("", 1000, 0, 4 * MS), ("version early", 25, MS, 0), ("version later", 1000, 0, 4 * MS)]
    {
        let (mut q, mut log) = (make_with(options), Log::default());
        q.enqueue(Time::ZERO, packet(0, Ecn::Ect0), &mut log);
        q.dequeue(Time(6 * MS), &mut log).unwrap();
        assert_eq!((q.judge.over, q.judge.under), (over, under), "{options}");
        for _ in 0..1001 {
            q.enqueue(Time(7 * MS), packet(0, Ecn::Ect0), &mut log);
        }
        let limit = q.backlog().packets;
        assert_eq!((limit, log.events().len()), (held, 1001 - held as usize), "{options}");
    }
}

// chromi/sce 2023 sch_quartz.
#[test]
fn queue_that_falls_to_its_floor_is_idle_but_not_free_of_the_limit() {
    let (mut q, mut log) = (make_with("floor 2"), Log::default());
    for _ in 0..4 {
        q.enqueue(Time::ZERO, packet(0, Ecn::NotEct), &mut log);
    }
    q.dequeue(Time(4 * MS), &mut log).unwrap();
    assert_eq!((q.judge.level, q.judge.under), (2 * MS * 4 * MS, 0));
    q.dequeue(Time(6 * MS), &mut log).unwrap();
    assert_eq!((q.judge.level, q.judge.under), (0, 4 * MS));
    // Below the floor neither level nor busy time grows, yet late packets go.
    assert!(q.dequeue(Time(60 * MS), &mut log).is_some());
    assert_eq!((q.judge.level, q.judge.under, log.events().len()), (0, 4 * MS, 1));
}

#[test]
fn limit_is_no_parameter() {
    let error = build("quartz limit 5", Env::ethernet(Rng::named(1, "t"))).err().unwrap().0;
    assert_eq!(error, "quartz: unknown parameter `limit`; valid: version, floor");
}
