use super::*;
use crate::aqm::Event;
use crate::qdiscs::{build, build_shaped, change};
use crate::traces::{DelaySteps, Traces};

fn make(text: &str) -> Box<dyn Qdisc> {
    build(text, Env::ethernet(Rng::named(1, "t"))).unwrap()
}

fn refused(text: &str) -> String {
    let error = build(text, Env::ethernet(Rng::named(1, "t"))).err().expect("refused").0;
    assert_eq!(error.lines().count(), 1);
    error
}

fn packet(id: u32) -> Packet {
    Packet { id, len: 1514, ..Packet::default() }
}

fn stat(q: &dyn Qdisc, name: &str) -> f64 {
    let mut stats = Stats::default();
    q.stats(&mut stats);
    stats.value(name).unwrap()
}

/// What leaves until nothing is held, with the instants in microseconds.
fn departures(q: &mut dyn Qdisc, mut now: Time, log: &mut Log) -> Vec<(u32, u64)> {
    let mut left = Vec::new();
    loop {
        while let Some(pkt) = q.dequeue(now, log) {
            left.push((pkt.id, now.0 / 1000));
        }
        if q.wake() == Time::NEVER {
            assert_eq!(q.backlog(), Backlog::default());
            return left;
        }
        assert!(q.wake() > now);
        now = q.wake();
        q.on_wake(now, log);
        assert!(q.wake() > now);
    }
}

fn offered(text: &str, n: u32) -> (Box<dyn Qdisc>, Log) {
    let (mut q, mut log) = (make(text), Log::default());
    for id in 0..n {
        q.enqueue(Time::ZERO, packet(id), &mut log);
    }
    (q, log)
}

// KAT netem 6
#[test]
fn constant_delay_is_exact_and_keeps_order() {
    let mut log = Log::default();
    let (mut q, mut now) = (make("netem delay 40ms"), Time::ZERO);
    for id in 0..100 {
        q.enqueue(Time(id * 100), packet(id as u32), &mut log);
    }
    for id in 0..100 {
        assert!(q.dequeue(now, &mut log).is_none());
        now = q.wake();
        assert_eq!(now, Time(id * 100 + 40_000_000));
        q.on_wake(now, &mut log);
        assert_eq!(q.dequeue(now, &mut log).map(|p| p.id), Some(id as u32));
    }
    assert_eq!((q.wake(), log.is_empty()), (Time::NEVER, true));
}

// KAT netem 7
#[test]
fn full_loss_loses_everything_and_queues_nothing() {
    let (q, mut log) = offered("netem loss 100%", 100);
    assert_eq!((q.backlog().packets, stat(&*q, "dropped")), (0, 100.0));
    assert!(log.drain().all(|e| matches!(e, Event::Drop(_, Reason::Loss))));
}

// KAT netem 8
#[test]
fn full_duplication_gives_two_copies_of_one_id_and_never_three() {
    let (mut q, mut log) = offered("netem duplicate 100%", 3);
    assert_eq!(log.drain().filter(|e| matches!(e, Event::Duplicate(_))).count(), 3);
    assert_eq!(q.backlog(), Backlog { packets: 6, bytes: 6 * 1514 });
    let ids: Vec<u32> =
        departures(&mut *q, Time::ZERO, &mut log).into_iter().map(|(id, _)| id).collect();
    assert_eq!((ids, stat(&*q, "duplicated")), (vec![0, 0, 1, 1, 2, 2], 3.0));
}

// Linux 6.12 sch_netem.c netem_enqueue().
#[test]
fn loss_of_a_duplicated_packet_leaves_one() {
    let (mut q, mut log) = offered("netem duplicate 100% loss 100%", 5);
    // The loss takes one of two; what remains is queued, and no copy is made.
    assert_eq!((log.events().len(), stat(&*q, "dropped")), (0, 5.0));
    assert_eq!(departures(&mut *q, Time::ZERO, &mut log).len(), 5);
}

// KAT netem 9
#[test]
fn eleventh_packet_does_not_fit_into_ten() {
    let (q, log) = offered("netem limit 10 delay 1s", 11);
    assert_eq!((q.backlog().packets, log.events().len()), (10, 1));
}

// KAT netem 3
#[test]
fn every_fifth_packet_jumps_the_delay() {
    let (mut q, mut log) = offered("netem delay 10ms gap 5 reorder 100%", 10);
    let left = departures(&mut *q, Time::ZERO, &mut log);
    let at_once: Vec<u32> = left.iter().filter(|(_, t)| *t == 0).map(|(id, _)| *id).collect();
    assert_eq!(at_once, [9, 4], "the younger is put before the older");
    let late = [0, 1, 2, 3, 5, 6, 7, 8].map(|id| (id, 10_000));
    assert_eq!(left[2..], late);
    assert_eq!((stat(&*q, "reordered"), stat(&*q, "delayed")), (2.0, 8.0));
}

// KAT netem 4
#[test]
fn rate_serialises_after_the_delay() {
    let (mut q, mut log) = (make("netem rate 8Mbit delay 10ms"), Log::default());
    for (id, at) in [(0, 0), (1, 0), (2, 5_000_000)] {
        q.enqueue(Time(at), Packet { len: 1000, ..packet(id) }, &mut log);
    }
    let left = departures(&mut *q, Time::ZERO, &mut log);
    assert_eq!(left, [(0, 11_000), (1, 12_000), (2, 16_000)]);
}

// Linux 6.12 sch_netem.c netem_enqueue(), packet_time_ns().
#[test]
fn rate_counts_overhead_and_whole_cells() {
    for (options, bytes) in [("20", 1020), ("-14", 986), ("0 48 5", 21 * 53), ("-40 48", 20 * 48)] {
        let (mut q, mut log) = (make(&format!("netem rate 8Mbit {options}")), Log::default());
        q.enqueue(Time::ZERO, Packet { len: 1000, ..packet(0) }, &mut log);
        assert_eq!(departures(&mut *q, Time::ZERO, &mut log), [(0, bytes)], "{options}");
    }
}

#[test]
fn jitter_reorders_unless_a_rate_serialises() {
    let sorted = |text| {
        let (mut q, mut log) = offered(text, 500);
        let left = departures(&mut *q, Time::ZERO, &mut log);
        assert_eq!(left.len(), 500);
        assert!(left.windows(2).all(|w| w[0].1 <= w[1].1));
        (left.windows(2).all(|w| w[0].0 < w[1].0), left)
    };
    let (in_order, left) = sorted("netem delay 10ms 5ms 10%");
    assert!(!in_order);
    assert!(left.iter().all(|(_, at)| (5_000..15_000).contains(at)));
    assert!(sorted("netem delay 10ms 5ms 10% rate 1Gbit").0);
    let (in_order, left) = sorted("netem delay 10ms 2ms distribution normal");
    assert!(!in_order);
    let mean = left.iter().map(|(_, at)| *at as f64).sum::<f64>() / 500.0;
    assert!((mean - 10_000.0).abs() < 300.0, "{mean}");
}

// Linux 6.12 sch_netem.c get_slot_next(), netem_dequeue().
#[test]
fn slot_releases_only_what_was_due_when_it_opened() {
    let (mut q, mut log) = (make("netem delay 1ms slot 10ms packets 3"), Log::default());
    for id in 0..5 {
        q.enqueue(Time::ZERO, packet(id), &mut log);
    }
    assert!(q.dequeue(Time::ZERO, &mut log).is_none());
    // The slot of time zero is older than the first packet: a new one opens at 10 ms.
    assert_eq!(q.wake(), Time(10_000_000));
    q.enqueue(Time(9_500_000), packet(5), &mut log);
    let left = departures(&mut *q, Time(9_600_000), &mut log);
    let expected: Vec<(u32, u64)> =
        [(0, 10_000), (1, 10_000), (2, 10_000), (3, 20_000), (4, 20_000), (5, 20_000)].into();
    assert_eq!(left, expected);
}

#[test]
fn slot_ends_when_its_bytes_are_used_up() {
    let (mut q, mut log) = offered("netem slot 1ms bytes 2000", 4);
    let left = departures(&mut *q, Time(5_000_000), &mut log);
    assert_eq!(left, [(0, 5_000), (1, 5_000), (2, 6_000), (3, 6_000)]);
}

// KAT netem 5: the slots of the ECT(1) tests' scenario S5
#[test]
fn uniform_slots_delay_a_lone_packet_between_their_bounds() {
    let (mut q, mut log) = (make("netem delay 200us slot 800us 10ms packets 42"), Log::default());
    let (mut now, mut sum) = (Time::ZERO, 0);
    for id in 0..4000 {
        now += Dur::from_millis(50);
        q.enqueue(now, packet(id), &mut log);
        let at = departures(&mut *q, now, &mut log)[0].1 - now.0 / 1000;
        assert!((800..10_000).contains(&at), "{at}");
        sum += at;
    }
    let mean = sum as f64 / 4000.0;
    assert!((mean - 5400.0).abs() < 150.0, "{mean}");
}

#[test]
fn ecn_marks_what_it_would_lose_if_it_can() {
    let (mut q, mut log) = (make("netem loss 100% ecn"), Log::default());
    for tos in 0..4 {
        q.enqueue(Time::ZERO, Packet { tos, ..packet(tos.into()) }, &mut log);
    }
    let lost: Vec<u32> = log
        .drain()
        .filter_map(|e| if let Event::Drop(p, _) = e { Some(p.id) } else { None })
        .collect();
    assert_eq!(lost, [0]);
    let marked: Vec<u8> =
        std::iter::from_fn(|| q.dequeue(Time::ZERO, &mut log).map(|p| p.tos)).collect();
    assert_eq!(marked, [3, 3, 3]);
    assert_eq!((stat(&*q, "dropped"), stat(&*q, "ecn_marked")), (4.0, 3.0));
}

#[test]
fn corruption_flags_the_packet_but_not_its_copy() {
    let (mut q, mut log) = offered("netem corrupt 100%", 1);
    assert!(q.dequeue(Time::ZERO, &mut log).unwrap().is_corrupt());
    let (mut q, mut log) = offered("netem corrupt 50% duplicate 100%", 200);
    let all: Vec<Packet> = std::iter::from_fn(|| q.dequeue(Time::ZERO, &mut log)).collect();
    let corrupt = all.iter().filter(|p| p.is_corrupt()).count();
    assert_eq!(all.len(), 400);
    assert!((150..250).contains(&corrupt), "{corrupt}");
    let both = all.chunks(2).filter(|c| c.iter().all(Packet::is_corrupt)).count();
    assert!((25..80).contains(&both), "each copy has dice of its own: {both}");
}

// Linux 6.12 sch_netem.c netem_dequeue().
#[test]
fn child_takes_packets_when_they_are_due() {
    let env = Env::ethernet(Rng::named(1, "t"));
    let mut q = build_shaped("netem delay 10ms limit 4", make("pfifo limit 2"), &env).unwrap();
    let mut log = Log::default();
    for id in 0..5 {
        q.enqueue(Time::ZERO, packet(id), &mut log);
    }
    assert_eq!(log.drain().count(), 1, "the limit is netem's");
    assert!(q.dequeue(Time::ZERO, &mut log).is_none());
    q.on_wake(q.wake(), &mut log);
    let first = q.dequeue(Time(10_000_000), &mut log).unwrap();
    assert_eq!((first.id, first.stamp), (0, Time(10_000_000)));
    assert_eq!(log.drain().count(), 2, "the child holds two");
    assert_eq!(q.backlog(), Backlog { packets: 1, bytes: 1514 });
    assert_eq!(q.leaf().map(Qdisc::describe), Some("pfifo limit 2p".into()));
}

// Linux 6.12 sch_netem.c netem_change().
#[test]
fn change_resets_what_linux_resets_and_keeps_the_rest() {
    let mut q = make(
        "netem limit 50 delay 40ms 3ms 10% loss 5% ecn duplicate 2% corrupt 1% reorder 3% gap 4 \
         rate 1Mbit 20 slot 1ms",
    );
    change(&mut *q, Time::ZERO, "netem delay 10ms 1ms", &mut Log::default()).unwrap();
    assert_eq!(
        q.describe(),
        "netem limit 1000 delay 10ms 1ms 10% corrupt 1% rate 1Mbit 20 0 0 slot 1ms 1ms"
    );
    change(&mut *q, Time::ZERO, "netem loss 1% delay 2ms gap 3", &mut Log::default()).unwrap();
    assert_eq!(
        q.describe(),
        "netem limit 1000 delay 2ms 0ns 10% loss 1% ecn corrupt 1% reorder 100% gap 3 \
         rate 1Mbit 20 0 0 slot 1ms 1ms"
    );
}

#[test]
fn shorter_delay_lets_new_packets_overtake_old_ones_in_time_order() {
    let (mut q, mut log) = (make("netem delay 40ms"), Log::default());
    q.enqueue(Time::ZERO, packet(0), &mut log);
    change(&mut *q, Time::ZERO, "netem delay 10ms", &mut Log::default()).unwrap();
    q.enqueue(Time::ZERO, packet(1), &mut log);
    q.enqueue(Time::ZERO, packet(2), &mut log);
    let later = Time(50_000_000);
    let ids: Vec<u32> = std::iter::from_fn(|| q.dequeue(later, &mut log).map(|p| p.id)).collect();
    assert_eq!(ids, [1, 2, 0]);
}

#[test]
fn seed_repeats_the_run_whatever_the_elements_stream() {
    let lost = |text: &str, stream: &str| {
        let mut q = build(text, Env::ethernet(Rng::named(1, stream))).unwrap();
        let mut log = Log::default();
        for id in 0..200 {
            q.enqueue(Time::ZERO, packet(id), &mut log);
        }
        let ids = log.drain().map(|e| if let Event::Drop(p, _) = e { p.id } else { u32::MAX });
        ids.collect::<Vec<u32>>()
    };
    let seeded = lost("netem loss 10% seed 5", "a");
    assert_eq!(seeded, lost("netem loss 10% seed 5", "b"));
    assert_ne!(seeded, lost("netem loss 10% seed 6", "a"));
    assert_ne!(lost("netem loss 10%", "a"), lost("netem loss 10%", "b"));
}

#[test]
fn change_with_the_same_seed_goes_on_and_with_another_starts_afresh() {
    let second_half = |seed: u32| {
        let (mut q, mut log) = offered("netem loss 50% seed 5", 64);
        log.drain();
        change(&mut *q, Time::ZERO, &format!("netem loss 50% seed {seed}"), &mut Log::default())
            .unwrap();
        for id in 0..64 {
            q.enqueue(Time::ZERO, packet(id), &mut log);
        }
        log.drain().map(|e| if let Event::Drop(p, _) = e { p.id } else { u32::MAX }).collect()
    };
    let fresh = |seed: u32| -> Vec<u32> {
        let (_, mut log) = offered(&format!("netem loss 50% seed {seed}"), 64);
        log.drain().map(|e| if let Event::Drop(p, _) = e { p.id } else { u32::MAX }).collect()
    };
    let went_on: Vec<u32> = second_half(5);
    assert_ne!(went_on, fresh(5));
    let restarted: Vec<u32> = second_half(6);
    assert_eq!(restarted, fresh(6));
}

#[test]
fn parameters_are_written_as_tc_reads_them() {
    for (given, written) in [
        ("delay 1000", "limit 1000 delay 1us"),
        ("loss 1", "limit 1000 loss 1%"),
        ("drop random 0.001% 25", "limit 1000 loss 0.001% 25%"),
        ("delay 10ms 5s", "limit 1000 delay 10ms 2.147483647s"),
        ("loss state 1%", "limit 1000 loss state 1% 99% 0% 100% 0%"),
        ("loss gemodel 1% 30%", "limit 1000 loss gemodel 1% 30% 100% 0%"),
        ("delay 1ms reorder 25% 50%", "limit 1000 delay 1ms reorder 25% 50% gap 1"),
        ("delay 1ms reorder 0% gap 2", "limit 1000 delay 1ms reorder 0% gap 2"),
        ("rate 0bit", "limit 1000"),
        ("slot 800us 10ms packets 42 limit 9", "limit 9 slot 800us 10ms packets 42"),
        ("slot 0", "limit 1000"),
        ("seed 12345", "limit 1000 seed 12345"),
    ] {
        let written = format!("netem {written}");
        assert_eq!(make(&format!("netem {given}")).describe(), written);
        assert_eq!(make(&written).describe(), written);
    }
}

#[test]
fn combinations_that_tc_refuses_are_refused() {
    for (options, why) in [
        ("ecn", "needs a `loss` model"),
        ("reorder 25%", "not possible without some `delay`"),
        ("distribution normal delay 5ms", "needs `delay` with a time and a jitter"),
        ("delay 5ms 1ms distribution uniform", "one of normal, pareto, paretonormal"),
        ("loss 101%", "expected a percentage"),
        ("loss -1%", "expected a percentage"),
        ("loss ecn 1%", "expected a percentage"),
        ("slot 800us 100us", "not below the least"),
        ("frobnicate", "unknown parameter"),
    ] {
        let error = refused(&format!("netem {options}"));
        assert!(error.starts_with("netem: ") && error.contains(why), "{error}");
    }
}

fn followed(trace: &str, options: &str) -> Box<dyn Qdisc> {
    let mut traces = Traces::default();
    traces.add("t", DelaySteps::parse(trace).unwrap());
    let env = Env { traces, ..Env::ethernet(Rng::named(7, "netem")) };
    build(&format!("netem delay trace t {options}"), env).unwrap()
}

/// Departures in us of packets that arrive one by one at these us.
fn passed(q: &mut dyn Qdisc, arrivals: &[u64]) -> Vec<(u32, u64)> {
    let (mut log, mut sent) = (Log::default(), Vec::new());
    let mut serve = |q: &mut dyn Qdisc, until: Time| {
        let mut log = Log::default();
        while q.wake() < until {
            let now = q.wake();
            q.on_wake(now, &mut log);
            sent.extend(
                std::iter::from_fn(|| q.dequeue(now, &mut log)).map(|p| (p.id, now.0 / 1000)),
            );
        }
    };
    for (id, at) in arrivals.iter().enumerate() {
        let now = Time(at * 1000);
        serve(q, now);
        q.enqueue(now, packet(id as u32), &mut log);
        assert!(q.dequeue(now, &mut log).is_none());
    }
    serve(q, Time::NEVER);
    sent
}

#[test]
fn delay_follows_its_trace_and_starts_over() {
    // 20 ms, from 0.2 s on 30.5 ms; the last step is as long as the one before.
    let mut q = followed("7.0 20\n7.2 30.5\n", "");
    let sent = passed(&mut *q, &[0, 199_000, 200_000, 399_999, 400_000]);
    let at: Vec<_> = sent.iter().map(|(_, at)| *at).collect();
    // The delay falls at 400 ms; the fifth packet waits for the fourth.
    assert_eq!(at, [20_000, 219_000, 230_500, 430_499, 430_499]);
}

#[test]
fn a_delay_that_falls_does_not_reorder() {
    let mut q = followed("0 50\n0.001 10\n", "");
    let ids: Vec<_> = passed(&mut *q, &[0, 900, 1000, 1500]).iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, [0, 1, 2, 3]);
}

#[test]
fn a_trace_is_kept_by_a_change_that_names_it_and_ends_without() {
    let mut q = followed("0 20\n1 30\n", "loss 1%");
    let text = q.describe();
    assert!(text.starts_with("netem limit 1000 delay trace t digest "), "{text}");
    change(&mut *q, Time::ZERO, &text, &mut Log::default()).unwrap();
    assert_eq!(q.describe(), text);
    let other = "netem delay trace other";
    assert!(change(&mut *q, Time::ZERO, other, &mut Log::default()).is_err());
    change(&mut *q, Time::ZERO, "netem delay 5ms", &mut Log::default()).unwrap();
    assert_eq!(q.describe(), "netem limit 1000 delay 5ms");
    let none = refused("netem delay trace nowhere");
    assert!(none.contains("no trace of this name was read"), "{none}");
}

#[test]
fn a_delay_trace_says_which_line_is_wrong() {
    for (text, line, why) in [
        ("", 1, "at least one line"),
        ("0 20\n0 30\n", 2, "is not after the time"),
        ("0 20\n1 -3\n", 2, "a delay in milliseconds such as `0.2 31.5`"),
        ("# x\n0 200000\n", 2, "a delay in milliseconds"),
        ("0 nan\n", 1, "a delay in milliseconds"),
        ("0 1 2\n", 1, "a delay in milliseconds"),
    ] {
        let error = DelaySteps::parse(text).unwrap_err();
        assert!(error.line == line && error.message.contains(why), "{error}");
    }
}
