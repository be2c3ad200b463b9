use super::super::Event;
use super::*;
use crate::qdiscs::{build, change};
use sojourn_core::ecn::Ecn;

fn env() -> Env {
    Env::ethernet(Rng::named(1, "t"))
}

fn make(options: &str) -> DualQ {
    let spec: Spec = format!("dualq {options}").parse().unwrap();
    DualQ::new(*spec.params().unwrap(), env())
}

fn packet(ecn: Ecn) -> Packet {
    Packet { len: 1514, tos: ecn as u8, ..Packet::default() }
}

fn fill(q: &mut DualQ, now: Time, ecn: Ecn, packets: u32) {
    let mut log = Log::default();
    for id in 0..packets {
        q.enqueue(now, Packet { id, ..packet(ecn) }, &mut log);
    }
    assert!(log.is_empty());
}

const N: u32 = 100_000;

/// Packets of `N` that were marked and dropped at the controller's output `prob`.
fn signals(options: &str, prob: f64, ecn: Ecn) -> (u32, u32) {
    let mut q = make(&format!("{options} limit 10Mb"));
    q.prob = prob;
    let (mut marks, mut drops) = (0, 0);
    for _ in 0..N {
        let pkt = packet(ecn);
        let verdict = match ecn {
            Ecn::Ect1 | Ecn::Ce => q.judge_l4s(Time::ZERO, &pkt),
            _ => q.judge_classic(&pkt),
        };
        marks += u32::from(matches!(verdict, Verdict::Mark(_)));
        drops += u32::from(matches!(verdict, Verdict::Drop(_)));
    }
    (marks, drops)
}

#[track_caller]
fn near(count: u32, share: f64) {
    // The counter spaces signals evenly; adding 100,000 fractions may round once.
    let expected = share * f64::from(N);
    assert!((f64::from(count) - expected).abs() <= 1.5, "{count} {expected}");
}

// KAT dualpi2 3
#[test]
fn classic_is_signalled_by_the_square_and_l4s_by_twice_the_probability() {
    for (ecn, marked, dropped) in
        [(Ecn::Ect0, 0.01, 0.0), (Ecn::NotEct, 0.0, 0.01), (Ecn::Ect1, 0.2, 0.0)]
    {
        let (marks, drops) = signals("", 0.1, ecn);
        near(marks, marked);
        near(drops, dropped);
    }
}

// KAT pi2 3: N Reno flows of W packets each need p_C = 1.5 / W^2, and p_CL = 2 sqrt(p_C).
#[test]
fn probabilities_that_reno_flows_need_give_those_shares_exactly() {
    for (mbit, flows, rtt_ms, p_c, p_cl) in
        [(50.0, 1.0, 25.0, 1.408e-4, 0.0237), (50.0, 10.0, 25.0, 0.01408, 0.2373)]
    {
        let w: f64 = mbit * 1e6 * rtt_ms / 1e3 / (8.0 * 1514.0 * flows);
        let p = (1.5 / (w * w)).sqrt();
        assert!((p * p / p_c - 1.0).abs() < 0.002 && (2.0 * p / p_cl - 1.0).abs() < 0.003);
        near(signals("", p, Ecn::Ect0).0, p * p);
        near(signals("", p, Ecn::Ect1).0, 2.0 * p);
    }
}

// KAT dualq 1: overload drops the L4S share p_C, marks the rest, and drops Classic ECT too.
#[test]
fn overload_drops_by_the_square_and_marks_the_rest() {
    let (marks, drops) = signals("", 0.6, Ecn::Ect1);
    near(drops, 0.36);
    near(marks, 0.64);
    let (marks, drops) = signals("", 0.6, Ecn::Ect0);
    near(drops, 0.36);
    assert_eq!(marks, 0);
    // Just below, nothing of either queue that can be marked is dropped.
    assert_eq!(signals("", 0.499, Ecn::Ect1).1 + signals("", 0.499, Ecn::Ect0).1, 0);
    // p_C at its maximum is overload already.
    assert_eq!(signals("", 0.5, Ecn::Ect0).0, 0);
    near(signals("p_cmax 0.4", 0.6, Ecn::Ect0).0, 0.36);
    // Independent draws: below certain marking, the shared counter ties drops to marks.
    let (_, drops) = signals("p_lmax 0.5 signal random", 0.3, Ecn::Ect1);
    assert!(drops.abs_diff(9000) < 5 * 91, "{drops}");
    assert_eq!(signals("p_lmax 0.7", 0.3, Ecn::Ect1).1, 0);
}

// KAT dualq 2: Tupdate 15 ms, alpha 0.15 Hz, beta 3 Hz, limit 250 ms of the link's rate.
#[test]
fn defaults_are_those_that_the_rfc_derives() {
    let p = make("").params;
    assert_eq!(p.tupdate(), Dur::from_millis(15));
    assert!((p.alpha() - 0.15).abs() < 1e-12 && (p.beta() - 3.0).abs() < 1e-12);
    assert_eq!((p.p_cmax(), p.link.limit()), (0.25, 3_125_000));
    assert_eq!(make("rate 1Gbit").params.link.limit(), 31_250_000);
    let p = make("max_rtt 30ms").params;
    assert_eq!(p.tupdate(), Dur::from_millis(10));
    assert!((p.beta() - 10.0).abs() < 1e-9, "{}", p.beta());
    assert_eq!(make("coupling_factor 4").params.p_cmax(), 0.0625);
}

// KAT dualq 3: alpha (curq - target) + beta (curq - prevq), per update.
#[test]
fn controller_moves_by_alpha_times_error_and_beta_times_growth() {
    let mut q = make("");
    fill(&mut q, Time::ZERO, Ecn::Ect0, 1);
    q.update(Time(25_000_000));
    let first = 0.15 * 0.010 + 3.0 * 0.025;
    assert!((q.prob - first).abs() < 1e-12, "{}", q.prob);
    // The younger head of the other queue does not matter.
    fill(&mut q, Time(20_000_000), Ecn::Ect1, 1);
    q.update(Time(25_000_000));
    assert!((q.prob - first - 0.0015).abs() < 1e-12, "{}", q.prob);
}

// KAT dualq 4: the ramp from 800 to 1200 us.
#[test]
fn ramp_rises_from_its_threshold_to_one() {
    let q = make("");
    for (us, expected) in [(800, 0.0), (900, 0.25), (1000, 0.5), (1200, 1.0), (9000, 1.0)] {
        assert_eq!(q.laqm(Dur::from_micros(us)), expected, "{us}");
    }
    // A ramp without length is a step.
    let q = make("range 0");
    assert_eq!((q.laqm(Dur::from_micros(800)), q.laqm(Dur(800_001))), (0.0, 1.0));
}

// KAT dualpi2 4: as `l_aqm step`.
#[test]
fn step_is_strictly_above_its_threshold() {
    let q = make("l_aqm step");
    assert_eq!((q.laqm(Dur(1_000_000)), q.laqm(Dur(1_000_001))), (0.0, 1.0));
}

// KAT dualpi2 5: the RFC exempts a packet that is alone in its queue.
#[test]
fn single_l4s_packet_is_not_marked_by_the_ramp() {
    for (options, marked) in
        [("", [true, true, false]), ("th_len 0", [true; 3]), ("th_len 2", [true, false, false])]
    {
        let (mut q, mut log) = (make(options), Log::default());
        // The counter exceeds one from the second certain mark on, so it starts with some.
        q.counts[Side::L4s as usize] = 0.5;
        fill(&mut q, Time::ZERO, Ecn::Ect1, 3);
        let seen = [(); 3].map(|()| q.dequeue(Time(5_000_000), &mut log).unwrap().ecn());
        assert_eq!(seen.map(|ecn| ecn == Ecn::Ce), marked, "{options}");
        assert!(log.events().iter().all(|e| matches!(e, Event::Mark(_, Reason::Step))));
    }
}

/// Which queue each of the next packets comes from.
fn order(q: &mut DualQ, now: Time, packets: usize) -> Vec<Ecn> {
    let mut log = Log::default();
    (0..packets).map(|_| q.dequeue(now, &mut log).unwrap().ecn()).collect()
}

// KAT dualq 5: WRR with weight 1/16 for the Classic queue.
#[test]
fn fifteen_l4s_packets_leave_for_one_classic() {
    let mut q = make("min_th 10s");
    fill(&mut q, Time::ZERO, Ecn::Ect0, 100);
    fill(&mut q, Time::ZERO, Ecn::Ect1, 1000);
    for round in order(&mut q, Time::ZERO, 320).chunks(16) {
        let (last, others) = round.split_last().unwrap();
        assert!(*last == Ecn::Ect0 && others.iter().all(|ecn| *ecn == Ecn::Ect1), "{round:?}");
    }
}

// KAT dualq 6: TS-FIFO serves L4S iff its head's age and the shift reach that of Classic.
#[test]
fn time_shifted_fifo_serves_the_older_after_the_shift() {
    for (options, shift) in
        [("scheduler tsfifo", 50_000_000), ("scheduler tsfifo tshift 40ms", 40_000_000)]
    {
        for (l4s_arrival, first) in [(shift, Ecn::Ect1), (shift + 1, Ecn::Ect0)] {
            let mut q = make(&format!("{options} min_th 10s"));
            fill(&mut q, Time::ZERO, Ecn::Ect0, 1);
            fill(&mut q, Time(l4s_arrival), Ecn::Ect1, 1);
            assert_eq!(order(&mut q, Time(l4s_arrival + 5), 1), [first], "{options}");
        }
    }
}

// KAT dualq 8: the page's options for the tree before L4STeam's.
#[test]
fn oldest_linux_tree_is_a_line_of_parameters() {
    let q = make(
        "target 20ms tupdate 32ms alpha 0.3125 beta 3.125 l_aqm step signal random \
         scheduler tsfifo tshift 40ms",
    );
    let p = q.params;
    assert_eq!((p.alpha(), p.beta()), (80.0 / 256.0, 800.0 / 256.0));
    assert_eq!((p.target, p.tupdate()), (Dur::from_millis(20), Dur::from_millis(32)));
    assert_eq!((p.scheduler.order.text(), p.scheduler.tshift), ("tsfifo", Dur::from_millis(40)));
}

#[test]
fn random_signals_have_the_same_shares() {
    let (marks, _) = signals("signal random", 0.1, Ecn::Ect1);
    let (drops, _) = signals("signal random", 0.1, Ecn::Ect0);
    assert!(marks.abs_diff(20_000) < 5 * 127 && drops.abs_diff(1000) < 5 * 32, "{marks} {drops}");
}

// KAT dualq 7: no arrival is taken unless a full frame would fit.
#[test]
fn arrival_needs_room_for_a_full_frame() {
    let (mut q, mut log) = (make("limit 5000"), Log::default());
    for _ in 0..10 {
        q.enqueue(Time::ZERO, Packet { len: 500, ..packet(Ecn::Ect0) }, &mut log);
    }
    // 3486 bytes leave room for 1514 more, 3500 do not.
    assert_eq!((q.backlog().packets, q.queue.overlimits), (7, 3));
    assert!(log.events().iter().all(|e| matches!(e, Event::Drop(_, Reason::TailLimit))));
}

#[test]
fn timer_sleeps_only_while_an_update_changes_nothing() {
    let (mut q, mut log) = (make(""), Log::default());
    assert_eq!(q.wake(), Time::NEVER);
    fill(&mut q, Time(1), Ecn::Ect0, 1);
    assert_eq!(q.wake(), Time(15_000_000));
    q.on_wake(Time(15_000_000), &mut log);
    assert!(q.prob > 0.04, "{}", q.prob);
    while q.dequeue(Time(16_000_000), &mut log).is_some() {}
    assert_eq!(q.wake(), Time(30_000_000));
    q.on_wake(Time(30_000_000), &mut log);
    assert_eq!((q.prob, q.wake()), (0.0, Time::NEVER));
    fill(&mut q, Time(60_000_000), Ecn::Ect0, 1);
    assert_eq!(q.wake(), Time(75_000_000));
}

#[test]
fn change_keeps_packets_and_probability() {
    let mut q = make("alpha 0.5");
    fill(&mut q, Time::ZERO, Ecn::Ect1, 3);
    q.prob = 0.125;
    change(&mut q, Time::ZERO, "dualq target 5ms scheduler tsfifo", &mut Log::default()).unwrap();
    assert_eq!((q.backlog().packets, q.prob, q.params.alpha()), (3, 0.125, 0.5));
    for wrong in ["alpha -1", "p_lmax 2", "scheduler drr", "tupdate 0", "th_len x", "rate 0bit"] {
        assert!(build(&format!("dualq {wrong}"), env()).is_err(), "{wrong}");
    }
}
