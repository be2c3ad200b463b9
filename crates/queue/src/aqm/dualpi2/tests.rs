use super::super::Event;
use super::*;
use crate::qdiscs::{build, change};
use sojourn_core::ecn::Ecn;

fn env() -> Env {
    Env::ethernet(Rng::named(1, "t"))
}

fn make(text: &str) -> DualPi2 {
    make_in(env(), text)
}

fn make_in(env: Env, text: &str) -> DualPi2 {
    DualPi2::new(*text.parse::<Spec>().unwrap().params().unwrap(), env)
}

fn packet(ecn: Ecn) -> Packet {
    Packet { len: 1514, tos: ecn as u8, ..Packet::default() }
}

fn fill(q: &mut DualPi2, now: Time, ecn: Ecn, packets: u32) {
    let mut log = Log::default();
    for id in 0..packets {
        q.enqueue(now, Packet { id, ..packet(ecn) }, &mut log);
    }
    assert!(log.is_empty());
}

/// Lets the controller see a delay of `delay` at its next update.
fn update_at(q: &mut DualPi2, delay: Dur) -> u32 {
    let now = Time(1_000_000_000);
    q.classic.clear();
    q.classic.push_back(Packet { stamp: now - delay, ..packet(Ecn::Ect0) });
    q.update(now);
    q.controller.prob
}

// KAT dualpi2 1
#[test]
fn mainline_controller_moves_by_the_kernels_steps() {
    let mut q = make("dualpi2");
    assert_eq!(update_at(&mut q, Dur::from_millis(16)), 220_437_500);
    assert_eq!(update_at(&mut q, Dur::from_millis(16)), 220_437_500 + 687_500);
}

// KAT dualpi2 2
#[test]
fn controller_of_2019_moves_by_half_and_that_of_march_2020_by_as_much_as_mainline_s() {
    let moved = |options: &str| {
        let mut q = make(options);
        update_at(&mut q, Dur::from_millis(16))
    };
    assert_eq!(moved("dualpi2 version 2020"), moved("dualpi2"));
    let mut q = make("dualpi2 version 2019");
    let first = update_at(&mut q, Dur::from_millis(16));
    assert_eq!(update_at(&mut q, Dur::from_millis(16)), first + 346_456);
    let risen = update_at(&mut q, Dur::from_millis(17)) - first - 346_456;
    let share = f64::from(risen - 2 * 346_456) / f64::from(MAX_PROB);
    assert!((share - 1.61e-3).abs() < 1e-5, "{share}");
}

/// Fractions marked and dropped among many packets of `ecn` at probability `prob`.
fn signals(options: &str, prob: f64, ecn: Ecn) -> (f64, f64) {
    let mut q = make(&format!("dualpi2 step_thresh 10s {options}"));
    q.controller.prob = (prob * f64::from(MAX_PROB)) as u32;
    let (mut log, rounds) = (Log::default(), 40_000);
    fill(&mut q, Time::ZERO, ecn, 50);
    for id in 50..rounds + 50 {
        q.enqueue(Time::ZERO, Packet { id, ..packet(ecn) }, &mut log);
        q.dequeue(Time::ZERO, &mut log);
        if q.backlog.packets < 20 {
            let held = q.controller.prob;
            q.controller.prob = 0;
            fill(&mut q, Time::ZERO, ecn, 30);
            q.controller.prob = held;
        }
    }
    let (mut marks, mut drops) = (0, 0);
    for event in log.drain() {
        match event {
            Event::Mark(..) => marks += 1,
            Event::Drop(..) => drops += 1,
            Event::Duplicate(..) => panic!("dualpi2 copies nothing"),
        }
    }
    let offered = f64::from(marks + drops).max(f64::from(rounds) + f64::from(drops));
    (f64::from(marks) / offered, f64::from(drops) / offered)
}

fn near(value: f64, expected: f64) -> bool {
    (value - expected).abs() < 0.01
}

// KAT dualpi2 3
#[test]
fn classic_is_signalled_by_the_square_and_l4s_by_twice_the_probability() {
    let (marks, drops) = signals("", 0.1, Ecn::Ect0);
    assert!((marks - 0.01).abs() < 0.002 && drops == 0.0, "{marks} {drops}");
    let (marks, drops) = signals("", 0.1, Ecn::NotEct);
    assert!(marks == 0.0 && (drops - 0.01).abs() < 0.002, "{marks} {drops}");
    let (marks, drops) = signals("", 0.1, Ecn::Ect1);
    assert!(near(marks, 0.2) && drops == 0.0, "{marks} {drops}");
}

// KAT dualpi2 6
#[test]
fn overload_drops_by_the_square_and_marks_the_rest() {
    let (marks, drops) = signals("", 0.6, Ecn::Ect1);
    assert!(near(drops, 0.36) && near(marks, 0.64), "{marks} {drops}");
    let (marks, drops) = signals("", 0.6, Ecn::Ect0);
    assert!(near(drops, 0.36) && marks == 0.0, "{marks} {drops}");
    let (marks, drops) = signals("overflow", 0.6, Ecn::Ect1);
    assert!(near(marks, 1.0) && drops == 0.0, "{marks} {drops}");
}

// KAT dualpi2 4
#[test]
fn step_is_strictly_above_its_threshold() {
    for (sojourn, ecn) in [(1_000_000, Ecn::Ect1), (1_000_001, Ecn::Ce)] {
        let (mut q, mut log) = (make("dualpi2"), Log::default());
        fill(&mut q, Time::ZERO, Ecn::Ect1, 1);
        assert_eq!(q.dequeue(Time(sojourn), &mut log).unwrap().ecn(), ecn);
        assert_eq!(q.counters.step_mark, u64::from(ecn == Ecn::Ce));
    }
}

// KAT dualpi2 5
#[test]
fn versions_2019_and_2020_exempt_the_first_two_in_the_queue_from_the_step() {
    for (options, marked) in [
        ("", [true, true, true, true]),
        ("min_qlen_step 1", [false, true, true, true]),
        ("version 2019", [false, false, true, true]),
        ("version 2020", [false, false, true, true]),
        ("version l4steam", [false, false, true, true]),
    ] {
        let (mut q, mut log) = (make(&format!("dualpi2 {options}")), Log::default());
        fill(&mut q, Time::ZERO, Ecn::Ect1, 4);
        let seen = [(); 4].map(|()| q.dequeue(Time(2_000_000), &mut log).unwrap().ecn());
        assert_eq!(seen.map(|ecn| ecn == Ecn::Ce), marked, "{options}");
    }
}

#[test]
fn step_in_packets_looks_at_what_remains() {
    let (mut q, mut log) = (make("dualpi2 step_thresh 2p"), Log::default());
    fill(&mut q, Time::ZERO, Ecn::Ect1, 4);
    let seen = [(); 4].map(|()| q.dequeue(Time(1), &mut log).unwrap().ecn() == Ecn::Ce);
    assert_eq!(seen, [true, false, false, false]);
}

// KAT dualpi2 7
#[test]
fn nine_l4s_packets_leave_for_one_classic() {
    let (mut q, mut log) = (make("dualpi2 step_thresh 10s"), Log::default());
    fill(&mut q, Time::ZERO, Ecn::Ect0, 200);
    fill(&mut q, Time::ZERO, Ecn::Ect1, 1000);
    let order: Vec<bool> =
        (0..200).map(|_| q.dequeue(Time::ZERO, &mut log).unwrap().ecn() == Ecn::Ect1).collect();
    for round in order.chunks(10) {
        assert_eq!(round.iter().filter(|l4s| **l4s).count(), 9, "{round:?}");
    }
    assert_eq!(q.credit_init, -121_120);
}

#[test]
fn l4s_identifier_selects_the_queue() {
    for (options, l4s) in
        [("l4s_ect", [false, true, false, true]), ("any_ect", [false, true, true, true])]
    {
        let mut q = make(&format!("dualpi2 {options}"));
        for (ecn, expected) in [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce].into_iter().zip(l4s) {
            let before = q.l4s.len();
            fill(&mut q, Time::ZERO, ecn, 1);
            assert_eq!(q.l4s.len() > before, expected, "{options} {ecn:?}");
        }
    }
}

#[test]
fn packet_and_memory_limits_are_those_of_the_version() {
    let mut q = make("dualpi2 limit 5 memlimit 1Mb");
    fill(&mut q, Time::ZERO, Ecn::Ect0, 5);
    let mut log = Log::default();
    q.enqueue(Time::ZERO, packet(Ecn::Ect1), &mut log);
    assert!(matches!(log.events(), [Event::Drop(_, Reason::TailLimit)]));
    let (mut q, mut log) = (make("dualpi2 memlimit 5000"), Log::default());
    fill(&mut q, Time::ZERO, Ecn::Ect0, 2);
    q.enqueue(Time::ZERO, packet(Ecn::Ect1), &mut log);
    assert!(matches!(log.events(), [Event::Drop(_, Reason::MemoryLimit)]));
    assert_eq!(make("dualpi2").memory_limit, 30_280_000);
    assert_eq!(make("dualpi2 limit 100").memory_limit, 302_800);
    assert!(build("dualpi2 version 2020 memlimit 1Mb", env()).is_err());
    assert!(build("dualpi2 version l4steam min_qlen_step 1", env()).is_err());
}

// Values that tc of iproute2 7.3 derives.
#[test]
fn round_trip_times_derive_target_period_and_gains() {
    for (options, target_us, tupdate_us, alpha, beta) in [
        ("typical_rtt 20ms", 20_000, 20_000, 35, 640),
        ("max_rtt 100ms", 16_666, 16_666, 42, 768),
        ("typical_rtt 20ms max_rtt 100ms", 20_000, 20_000, 51, 768),
        ("alpha 0.16 beta 3.21", 15_000, 16_000, 40, 821),
    ] {
        let p = make(&format!("dualpi2 {options}")).params.law;
        assert_eq!((p.target.as_micros(), p.tupdate.as_micros()), (target_us, tupdate_us));
        assert_eq!((p.alpha, p.beta), (alpha, beta), "{options}");
    }
    assert_eq!((controller::scaled(41), controller::scaled(819)), (44, 879));
    let text = make("dualpi2 beta 2 typical_rtt 20ms target 5ms").describe();
    assert!(text.ends_with("target 5ms tupdate 20ms alpha 0.13671875 beta 2"), "{text}");
    assert!(!text.contains("rtt"), "{text}");
}

// KAT dualpi2 7, dualpi2 9
#[test]
fn timer_runs_in_multiples_from_creation() {
    for (options, first) in [("", 16), ("version 2020", 16), ("version 2019", 500)] {
        let mut q = make(&format!("dualpi2 {options}"));
        assert_eq!(q.wake(), Time::NEVER);
        fill(&mut q, Time(1), Ecn::Ect0, 100);
        for n in 0..10 {
            let now = Time((first + 16 * n) * 1_000_000);
            assert_eq!(q.wake(), now);
            q.on_wake(now, &mut Log::default());
        }
        assert!(q.controller.prob > 0);
    }
    let later = Env { hz: 250, now: Time(1_500_000), ..env() };
    let mut q = make_in(later, "dualpi2 version 2019");
    fill(&mut q, Time(1_500_000), Ecn::Ect0, 100);
    assert_eq!(q.wake(), Time(500_000_000));
    q.on_wake(Time(500_000_000), &mut Log::default());
    assert_eq!(q.wake(), Time(516_000_000));
}

// KAT dualpi2 10: gains and timer are mainline's, the delay is that of the last dequeue.
#[test]
fn l4steam_updates_with_the_delay_of_the_last_dequeue() {
    let (mut q, mut log) = (make("dualpi2 version l4steam step_thresh 10s"), Log::default());
    fill(&mut q, Time::ZERO, Ecn::Ect0, 2);
    q.dequeue(Time(16_000_000), &mut log);
    q.update(Time(200_000_000));
    assert_eq!(q.controller.prob, 220_437_500);
    // A leaf whose last packet has left under HTB is not asked again: the delay goes stale.
    q.dequeue(Time(16_000_000), &mut log);
    q.update(Time(300_000_000));
    assert_eq!((q.controller.prob, q.backlog.packets), (220_437_500 + 687_500, 0));
    q.dequeue(Time(300_000_000), &mut log);
    q.update(Time(316_000_000));
    assert!(q.controller.prob < 1_000_000, "{}", q.controller.prob);
}

// KAT dualpi2 10: "non-empty" in the credit rule is an age other than 0.
#[test]
fn l4steam_charges_no_credit_while_the_other_head_has_no_age() {
    let (mut q, mut log) = (make("dualpi2 version l4steam step_thresh 10s"), Log::default());
    fill(&mut q, Time(5), Ecn::Ect0, 3);
    fill(&mut q, Time(5), Ecn::Ect1, 3);
    assert_eq!(q.dequeue(Time(5), &mut log).map(|p| p.ecn()), Some(Ecn::Ect1));
    assert_eq!(q.credit, q.credit_init);
    q.dequeue(Time(6), &mut log);
    assert_eq!(q.credit, q.credit_init + 10 * 1514);
}

#[test]
fn timer_that_sleeps_while_idle_gives_what_a_running_one_gives() {
    for options in
        ["", "version 2019", "version 2020", "version l4steam", "version l4steam target 0"]
    {
        let (mut lazy, mut eager) =
            (make(&format!("dualpi2 {options}")), make(&format!("dualpi2 {options}")));
        let (mut rng, mut log) = (Rng::named(9, "t"), Log::default());
        let first = if options == "version 2019" { 500 } else { 16 };
        let (mut next, mut now, mut slept) = (Time(first * 1_000_000), 0, false);
        for burst in 0..60 {
            // Bursts that build delay, then pauses; some arrivals coincide with updates.
            now += 16_000_000 * u64::from(rng.below(100)) + u64::from(rng.below(2)) * 7_000_000;
            now -= now % 1_000_000;
            for step in 0..200 {
                let at = Time(now);
                while next <= at {
                    eager.update(next);
                    next += Dur::from_millis(16);
                }
                while lazy.wake() <= at {
                    let due = lazy.wake();
                    lazy.on_wake(due, &mut log);
                }
                slept |= lazy.wake() == Time::NEVER;
                let arrivals = if step < 60 { 1 + rng.below(8) } else { 0 };
                for _ in 0..arrivals {
                    lazy.enqueue(at, packet(Ecn::Ect0), &mut log);
                    eager.enqueue(at, packet(Ecn::Ect0), &mut log);
                }
                for _ in 0..2 {
                    let a = lazy.dequeue(at, &mut log).map(|p| (p.stamp, p.tos));
                    let b = eager.dequeue(at, &mut log).map(|p| (p.stamp, p.tos));
                    assert_eq!(a, b, "burst {burst} step {step}");
                }
                assert_eq!(
                    lazy.controller.prob, eager.controller.prob,
                    "burst {burst} step {step}"
                );
                now += 1_000_000;
            }
        }
        assert!(slept);
    }
}

#[test]
fn change_keeps_packets_probability_and_credit() {
    let mut q = make("dualpi2");
    fill(&mut q, Time::ZERO, Ecn::Ect1, 10);
    fill(&mut q, Time::ZERO, Ecn::Ect0, 10);
    q.controller.prob = 12345;
    q.dequeue(Time::ZERO, &mut Log::default());
    let credit = q.credit;
    change(&mut q, Time::ZERO, "dualpi2 target 5ms overflow", &mut Log::default()).unwrap();
    assert_eq!((q.backlog.packets, q.controller.prob, q.credit), (19, 12345, credit));
    assert!(change(&mut q, Time::ZERO, "dualpi2 version 2020", &mut Log::default()).is_err());
    change(&mut q, Time::ZERO, "dualpi2 classic_protection 25%", &mut Log::default()).unwrap();
    assert_eq!(q.credit, 1514 * (25 - 75));
}

#[test]
fn super_packets_are_split_except_by_the_version_of_2020() {
    let whole = Packet { segs: 4, ..packet(Ecn::Ect1) };
    for (options, splits) in [
        ("dualpi2", true),
        ("dualpi2 no_split_gso", false),
        ("dualpi2 version 2020", false),
        ("dualpi2 version 2020 split_gso", true),
        ("dualpi2 split_gso version 2020", true),
        ("dualpi2 version l4steam", true),
    ] {
        assert_eq!(make(options).splits(&whole), splits, "{options}");
    }
}
