use super::super::{Backlog, Event, Log, Qdisc, Spec};
use super::law::{Control, Law, MAX_PROB};
use super::*;
use crate::qdiscs::{build, build_shaped, change};
use sojourn_core::ecn::Ecn;
use sojourn_core::units::Dur;

fn env() -> Env {
    Env::ethernet(Rng::named(1, "t"))
}

fn make(text: &str) -> JudgedFifo<Pie> {
    JudgedFifo::new(*text.parse::<Spec>().unwrap().params().unwrap(), env())
}

fn packet(id: u32, ecn: Ecn) -> Packet {
    Packet { id, len: 1514, tos: ecn as u8, ..Packet::default() }
}

const fn ticks(us: u64) -> u64 {
    (us * 1000) >> 6
}

/// A controller past its initial burst at probability `prob`.
fn control(prob: f64) -> Control {
    let mut c = Control::default();
    c.departed(&law(), Time(0), &Packet::default(), 1);
    c.departed(&law(), Time(200_000_000), &Packet::default(), 0);
    c.prob = (prob * MAX_PROB as f64) as u64;
    c
}

fn law() -> Law {
    Law::default()
}

/// One update that sees `us` of delay.
fn update(c: &mut Control, us: u64) -> f64 {
    c.qdelay = ticks(us);
    c.update(&law(), u64::from(us > 0) * 100_000);
    c.probability()
}

// KAT pie 1
#[test]
fn gains_per_tick_are_the_kernels() {
    assert_eq!((Law::gain(2), Law::gain(20)), (576_460_752, 5_764_607_522));
}

// KAT pie 2
#[test]
fn standing_delay_of_20_ms_raises_the_probability_by_the_tuned_gains() {
    let mut c = Control::default();
    for expected in [1.2512e-5, 1.7395e-5, 2.2278e-5, 2.7161e-5] {
        let p = update(&mut c, 20_000);
        assert!((p - expected).abs() < 1e-9, "{p} {expected}");
    }
    let mut reached = [0; 2];
    for n in 5..=500 {
        let p = update(&mut c, 20_000);
        for (at, threshold) in reached.iter_mut().zip([0.01, 0.1]) {
            if *at == 0 && p >= threshold {
                *at = n;
            }
        }
    }
    assert_eq!(reached, [181, 469]);
}

// KAT pie 3
#[test]
fn probability_decays_by_a_64th_beyond_its_integral_without_delay() {
    let mut c = control(0.5);
    for expected in [0.49034, 0.48083, 0.47148, 0.46226] {
        let p = update(&mut c, 0);
        assert!((p - expected).abs() < 5e-6, "{p} {expected}");
    }
}

// Linux 7.2: an idle `pie` read every 20 updates.
#[test]
fn decay_to_zero_is_the_kernels() {
    let mut c = control(0.273046);
    for expected in [0.167357, 0.0920545, 0.0512246, 0.0214265, 0.00613383, 0.000830434, 0.0] {
        for _ in 0..20 {
            update(&mut c, 0);
        }
        assert!((c.probability() - expected).abs() < 2e-6, "{} {expected}", c.probability());
    }
}

// KAT pie 4
#[test]
fn delay_above_250_ms_adds_two_percent_to_the_cap_of_two() {
    let mut c = control(0.2);
    for n in 1..=5 {
        let p = update(&mut c, 300_000);
        assert!((p - 0.2 - 0.04 * f64::from(n)).abs() < 1e-12, "{p}");
    }
    let mut c = control(0.2);
    assert!((update(&mut c, 240_000) - 0.22).abs() < 1e-12);
}

// Linux 7.2: under a standing delay above 250 ms, 31 updates add 1.24.
#[test]
fn mainline_probability_winds_up_past_one_and_that_of_5_4_does_not() {
    let old = Law { version: law::Version::Old, ..law() };
    let (mut new, mut c) = (control(0.305414), control(0.305414));
    c.avg_dq_rate = 256;
    for _ in 0..31 {
        update(&mut new, 500_000);
        c.update(&old, ticks(500_000));
        c.qdelay = ticks(500_000);
    }
    assert!((new.probability() - 1.545414).abs() < 1e-9, "{}", new.probability());
    assert_eq!(c.prob, MAX_PROB);
    new.prob = u64::MAX - 1;
    update(&mut new, 500_000);
    assert_eq!(new.prob, MAX_PROB);
}

/// Arrivals at a standing queue in which the controller has settled at `percent`.
fn arrivals(text: &str, percent: f64, ecn: Ecn, n: u32) -> (Vec<u32>, Vec<u32>) {
    let mut q = make(text);
    let mut log = Log::default();
    (q.judge.control, q.fifo.queue.backlog) =
        (control(percent / 100.0), Backlog { packets: 10, bytes: 15_140 });
    q.judge.control.qdelay = ticks(20_000);
    let (mut marks, mut drops) = (Vec::new(), Vec::new());
    for id in 1..=n {
        q.enqueue(Time::ZERO, packet(id, ecn), &mut log);
        for event in log.drain() {
            match event {
                Event::Mark(p, Reason::Pi) => marks.push(p.id),
                Event::Drop(p, Reason::Pi) => drops.push(p.id),
                other => panic!("{other:?}"),
            }
        }
    }
    let mut stats = Stats::default();
    q.stats(&mut stats);
    assert_eq!(stats.value("dropped"), Some(drops.len() as f64));
    assert_eq!(stats.value("pkts_in"), Some(f64::from(n) - drops.len() as f64));
    if ecn != Ecn::Ce {
        assert_eq!(stats.value("ecn_mark"), Some(marks.len() as f64));
    }
    (marks, drops)
}

// KAT pie 5
#[test]
fn above_ten_percent_ect_packets_are_dropped() {
    for (text, percent, ecn, is_marked) in [
        ("pie ecn limit 100000", 9.9, Ecn::Ect0, true),
        ("pie ecn limit 100000", 9.9, Ecn::Ect1, true),
        ("pie ecn limit 100000", 11.0, Ecn::Ect0, false),
        ("pie ecn limit 100000", 9.9, Ecn::NotEct, false),
        ("pie limit 100000", 9.9, Ecn::Ect0, false),
    ] {
        let (marks, drops) = arrivals(text, percent, ecn, 2000);
        assert_eq!((marks.is_empty(), drops.is_empty()), (!is_marked, is_marked), "{text} {ecn:?}");
        // One in 1/p plus the 0.85/p without a chance.
        let share = (marks.len() + drops.len()) as f64 / 2000.0;
        let expected = percent / 100.0 / 1.85;
        assert!((share / expected - 1.0).abs() < 0.2, "{share} {expected}");
    }
}

// KAT pie 6
#[test]
fn distances_between_drops_are_bounded_on_both_sides() {
    let (_, drops) = arrivals("pie limit 1000000", 1.0, Ecn::NotEct, 300_000);
    assert!((1500..1800).contains(&drops.len()), "{}", drops.len());
    assert!(drops[0] >= 85 && drops[0] <= 851);
    assert!(drops.windows(2).all(|w| (85..=851).contains(&(w[1] - w[0]))));
    let least = drops.windows(2).map(|w| w[1] - w[0]).min();
    assert!(least.is_some_and(|gap| gap < 90), "{least:?}");
    // The 850th is forced and draws no random number.
    let mut c = control(0.0);
    (c.qdelay, c.prob) = (ticks(20_000), MAX_PROB / 100 + 1);
    c.accu_prob = 849 * c.prob;
    let (mut rng, untouched) = (Rng::named(1, "t"), Rng::named(1, "t").u64());
    assert!(c.drop_early(&law(), 10_000, 1514, &mut rng));
    assert_eq!(rng.u64(), untouched);
}

#[test]
fn forced_mark_is_repeated_until_a_drop() {
    let mut q = make("pie ecn");
    (q.judge.control, q.fifo.queue.backlog.bytes) = (control(0.01), 15_140);
    q.judge.control.qdelay = ticks(20_000);
    q.judge.control.accu_prob = MAX_PROB / 2 * 17;
    let mut log = Log::default();
    for (id, ecn) in [(1, Ecn::Ect0), (2, Ecn::Ect1), (3, Ecn::NotEct), (4, Ecn::Ect0)] {
        q.enqueue(Time::ZERO, packet(id, ecn), &mut log);
    }
    let ids: Vec<u32> = log
        .events()
        .iter()
        .map(|e| match e {
            Event::Mark(p, _) => p.id,
            Event::Drop(p, _) => 10 * p.id,
            Event::Duplicate(p) => panic!("pie copied {}", p.id),
        })
        .collect();
    assert_eq!(ids, [1, 2, 30]);
}

#[test]
fn nothing_is_signalled_in_a_burst_in_calm_or_below_two_frames() {
    let mut rng = Rng::named(1, "t");
    let mut signalled = |qdelay_us, prob: f64, backlog, fresh: bool| {
        let mut c = if fresh { Control::default() } else { control(prob) };
        (c.prob, c.qdelay) = ((prob * MAX_PROB as f64) as u64, ticks(qdelay_us));
        (0..1000).any(|_| c.drop_early(&law(), backlog, 1514, &mut rng))
    };
    assert!(signalled(20_000, 0.1, 3028, false));
    assert!(!signalled(20_000, 0.1, 3027, false));
    assert!(!signalled(20_000, 0.1, 3028, true));
    assert!(!signalled(7_400, 0.19, 3028, false));
    assert!(signalled(7_600, 0.19, 3028, false));
    assert!(signalled(7_400, 0.21, 3028, false));
}

#[test]
fn bytemode_counts_a_small_packet_in_proportion() {
    let signals = |len, bytemode| {
        let (mut c, mut rng) = (control(0.1), Rng::named(3, "t"));
        c.qdelay = ticks(20_000);
        let law = Law { bytemode, ..law() };
        let mut signals = 0_u32;
        for _ in 0..100_000 {
            if c.drop_early(&law, 9000, len, &mut rng) {
                c.dropped();
                signals += 1;
            }
        }
        f64::from(signals)
    };
    let full = signals(1514, false);
    assert_eq!(signals(66, false), full);
    assert!((signals(1514, true) / full - 1.0).abs() < 0.05);
    assert!((signals(757, true) / full - 0.5).abs() < 0.05);
}

#[test]
fn updates_start_after_half_a_second_and_count_jiffies() {
    let mut q = build("pie", env()).unwrap();
    assert_eq!(q.wake(), Time::NEVER);
    let mut log = Log::default();
    q.enqueue(Time(7), packet(1, Ecn::Ect0), &mut log);
    assert_eq!(q.wake(), Time(504_000_000));
    q.on_wake(Time(504_000_000), &mut log);
    assert_eq!(q.wake(), Time(520_000_000));
    q.dequeue(Time(510_000_000), &mut log);
    q.on_wake(Time(520_000_000), &mut log);
    assert_eq!(q.wake(), Time::NEVER);
    q.enqueue(Time(600_000_000), packet(2, Ecn::Ect0), &mut log);
    assert_eq!(q.wake(), Time(616_000_000));
}

/// Serves a queue kept at `packets` at 50 Mbit/s for `ms` and returns what the statistics say.
fn serve(text: &str, packets: u32, ms: u64) -> (Stats, Box<dyn Qdisc>) {
    let (mut q, mut log) = (build(text, env()).unwrap(), Log::default());
    let (mut now, mut id) = (Time::ZERO, 0);
    while now.0 < ms * 1_000_000 {
        while q.backlog().packets < packets {
            id += 1;
            q.enqueue(now, packet(id, Ecn::NotEct), &mut log);
        }
        q.dequeue(now, &mut log);
        now += Dur(242_240);
        while q.wake() <= now {
            let due = q.wake();
            q.on_wake(due, &mut log);
        }
    }
    let mut stats = Stats::default();
    q.stats(&mut stats);
    (stats, q)
}

#[test]
fn both_estimators_see_the_same_standing_delay() {
    let (by_time, _) = serve("pie", 60, 2000);
    let (by_rate, _) = serve("pie dq_rate_estimator", 60, 2000);
    let (old, _) = serve("pie version 5.4", 60, 2000);
    let us = 60.0 * 242.24;
    for stats in [&by_time, &by_rate, &old] {
        let delay = stats.value("delay").unwrap();
        assert!((delay / us - 1.0).abs() < 0.05, "{delay} {us}");
    }
    let rate = by_rate.value("avg_dq_rate").unwrap();
    assert!((rate / 6_250_000.0 - 1.0).abs() < 0.05, "{rate}");
    assert_eq!(by_time.value("avg_dq_rate"), None);
    assert_eq!(old.0, by_rate.0);
}

#[test]
fn without_a_measurement_cycle_the_rate_estimator_sees_no_delay() {
    // Ten packets never reach the 16 KB of a cycle.
    let (stats, _) = serve("pie dq_rate_estimator", 10, 2000);
    assert_eq!((stats.value("delay"), stats.value("prob")), (Some(0.0), Some(0.0)));
    let (stats, _) = serve("pie", 10, 2000);
    assert!(stats.value("delay").unwrap() > 2000.0);
}

#[test]
fn pie_under_htb_finds_its_target_against_unresponsive_load() {
    // 55 Mbit/s into 50 Mbit/s: a tenth must go.
    let (mut log, mut now, mut id) = (Log::default(), Time::ZERO, 0);
    let pie = build("pie", env()).unwrap();
    let mut q = build_shaped("htb rate 50Mbit", pie, &env()).unwrap();
    let (mut drops, mut delays, mut sent) = (0_u64, 0.0, 0_u64);
    while now.0 < 60_000_000_000 {
        id += 1;
        q.enqueue(now, packet(id, Ecn::NotEct), &mut log);
        let next = now + Dur(220_218);
        loop {
            while let Some(p) = q.dequeue(now, &mut log) {
                if now.0 > 30_000_000_000 {
                    (delays, sent) = (delays + now.since(p.stamp).as_millis_f64(), sent + 1);
                }
            }
            if q.wake() > next {
                break;
            }
            now = q.wake();
            q.on_wake(now, &mut log);
        }
        now = next;
        let late = now.0 > 30_000_000_000;
        drops +=
            log.drain().filter(|e| late && matches!(e, Event::Drop(_, Reason::Pi))).count() as u64;
    }
    let mean = delays / sent as f64;
    assert!((mean - 15.0).abs() < 2.0, "{mean} ms");
    let share = drops as f64 / (sent + drops) as f64;
    assert!((share - 1.0 / 11.0).abs() < 0.005, "{share}");
}

#[test]
fn change_keeps_what_it_does_not_name_and_purge_starts_anew() {
    let mut q = make("pie ecn target 5ms bytemode");
    q.judge.control.prob = 12345;
    change(&mut q, Time::ZERO, "pie limit 5", &mut Log::default()).unwrap();
    let described = "pie limit 5p target 5ms tupdate 15ms alpha 2 beta 20 ecn bytemode \
                     no_dq_rate_estimator version mainline";
    assert_eq!((q.describe().as_str(), q.judge.control.prob), (described, 12345));
    change(&mut q, Time::ZERO, "pie noecn dq_rate_estimator", &mut Log::default()).unwrap();
    assert!(q.describe().ends_with("beta 20 noecn bytemode dq_rate_estimator version mainline"));
    q.purge(&mut Log::default());
    assert_eq!(q.judge.control.prob, 0);
}

#[test]
fn what_tc_or_the_old_kernel_refuses_is_refused() {
    for options in ["alpha 33", "beta 0", "target 0", "tupdate 0", "limit 0"] {
        assert!(build(&format!("pie {options}"), env()).is_err(), "{options}");
    }
    assert!(make("pie version 5.4").describe().contains(" dq_rate_estimator version 5.4"));
    let text = build("pie version 5.4 no_dq_rate_estimator", env()).err().unwrap().0;
    assert_eq!(text, "pie: version 5.4 has only `dq_rate_estimator`");
}
