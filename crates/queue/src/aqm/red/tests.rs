#![allow(clippy::disallowed_methods, reason = "what is expected may be the platform's")]

use super::super::{Event, Spec};
use super::*;
use crate::qdiscs::{build, build_shaped, change};
use sojourn_core::ecn::Ecn;
use sojourn_core::units::Dur;

const SEED_400: &str = "red limit 400000 avpkt 1000 adaptive bandwidth 50Mbit ecn";
const SEED_150: &str = "red limit 150000 avpkt 1000 adaptive bandwidth 50Mbit ecn";

fn env() -> Env {
    Env::ethernet(Rng::named(1, "t"))
}

fn make(text: &str) -> JudgedFifo<Red> {
    let spec: Spec = text.parse().unwrap();
    JudgedFifo::new(*spec.params().unwrap(), env())
}

fn error(text: &str) -> String {
    build(text, env()).err().unwrap().0
}

fn packet(id: u32, ecn: Ecn) -> Packet {
    Packet { id, len: 1000, tos: ecn as u8, ..Packet::default() }
}

/// Holds the average where it is: the backlog equals it and no arrival changes either.
fn pinned(q: &mut JudgedFifo<Red>, bytes: u64) {
    q.judge.law.idle_since = None;
    q.judge.law.average = bytes << q.judge.law.wlog;
}

// KAT red 1
#[test]
fn tc_derives_thresholds_burst_and_weight() {
    for (text, max, min, burst, wlog, scell_log, target) in [
        (SEED_150, 37_500, 12_500, 20, 4, 12, (22_500, 27_500)),
        (SEED_400, 100_000, 33_333, 55, 5, 13, (59_999, 73_332)),
    ] {
        let JudgedFifo { fifo: JudgedQueue { params, .. }, judge: Red { law, .. } } = make(text);
        assert_eq!((params.max, params.min, params.burst), (max, min, burst), "{text}");
        assert_eq!((law.wlog, law.scell_log, law.target), (wlog, scell_log, target), "{text}");
    }
    let law = make(SEED_150).judge.law;
    assert_eq!(u32::MAX / law.max_p_delta + 1, 1_250_355);
}

#[test]
fn tc_derives_the_same_as_iproute2_from_either_threshold() {
    for (options, min, max, wlog, scell_log) in [
        ("limit 60000 min 5000 max 20000 avpkt 1000 burst 20", 5000, 20_000, 6, 16),
        ("limit 60000 min 5000 avpkt 1000", 5000, 15_000, 3, 13),
        ("limit 60000 max 20000 avpkt 1000", 6666, 20_000, 3, 13),
        ("limit 150000 avpkt 1000", 12_500, 37_500, 4, 14),
    ] {
        let JudgedFifo { fifo: JudgedQueue { params, .. }, judge: Red { law, .. } } =
            make(&format!("red {options}"));
        let derived = (params.min, params.max, law.wlog, law.scell_log);
        assert_eq!(derived, (min, max, wlog, scell_log), "{options}");
    }
}

#[test]
fn what_tc_or_the_kernel_refuses_is_refused() {
    for (options, why) in [
        ("limit 150000", "required"),
        ("avpkt 1000", "required"),
        ("limit 0 avpkt 1000", "size from 1b"),
        ("limit 1000 avpkt 1000", "burst 0 is too small; at least 1"),
        ("limit 150000 avpkt 1000 min 20000 burst 3", "burst 3 is too small; at least 21"),
        ("limit 60000 min 50000 max 20000 avpkt 1000", "below `min`"),
        ("limit 150000 avpkt 1000 nodrop", "needs `ecn`"),
        ("limit 150000 avpkt 1000 probability 0", "above 0"),
        ("limit 150000 avpkt 1000 probability 1", "below 1"),
        ("limit 4gb avpkt 1000", "size from 1b"),
        ("limit 4000mb avpkt 1000", "too large"),
    ] {
        let text = error(&format!("red {options}"));
        assert!(text.contains(why), "{options}: {text}");
    }
}

// KAT red 2
#[test]
fn average_follows_a_constant_backlog_with_its_weight() {
    for (wlog, arrivals) in [(5, 10), (6, 19), (7, 37), (8, 74), (9, 148)] {
        let mut law = make(SEED_150).judge.law;
        (law.wlog, law.idle_since) = (wlog, None);
        let mut n = 0;
        while law.average < 12_500 << wlog {
            law.sample(Time::ZERO, 50_000);
            n += 1;
        }
        assert_eq!(n, arrivals, "weight 2^-{wlog}");
    }
}

// KAT red 3
#[test]
fn gaps_between_marks_are_uniform_so_that_the_rate_is_twice_the_nominal() {
    let mut q = make("red limit 150000 avpkt 1000 ecn");
    let (mut gaps, mut gap) = (vec![0_u32; 102], 0);
    let (marks, midway) = (20_000, 25_000);
    let mut n = 0;
    while n < marks {
        pinned(&mut q, midway);
        gap += 1;
        if q.judge.law.action(&mut q.judge.rng) == Action::Early {
            gaps[gap] += 1;
            (gap, n) = (0, n + 1);
        }
    }
    // Apart from the arrival that enters the band, gaps are 1 to 101, about 200 of each.
    let mean = gaps.iter().zip(0..).map(|(n, gap)| f64::from(*n) * f64::from(gap)).sum::<f64>();
    let mean = mean / f64::from(marks);
    assert!((mean - 50.5).abs() < 1.0, "{mean}");
    assert!(gaps[1..=100].iter().all(|n| (120..290).contains(n)), "{gaps:?}");
    assert!(gaps[0] == 0 && gaps[101] < 20);
}

// KAT red 4
#[test]
fn adaptive_raises_by_a_quarter_up_to_one_percent_and_lowers_by_a_tenth() {
    let mut q = make(SEED_150);
    let mut percents = |bytes| {
        pinned(&mut q, bytes);
        assert_eq!(q.wake().0 % 504_000_000, 0);
        q.on_wake(q.wake(), &mut Log::default());
        f64::from(q.judge.law.max_p) / 4_294_967_296.0 * 100.0
    };
    for expected in [2.5, 3.125, 3.906, 4.883, 5.883, 6.883] {
        let percent = percents(27_501);
        assert!((percent - expected).abs() < 0.001, "{percent} {expected}");
    }
    assert!((percents(22_499) - 6.883 * 0.9).abs() < 0.001);
    let before = percents(22_500);
    assert_eq!(before, percents(27_500));
    for _ in 0..100 {
        percents(0);
    }
    assert!((0.9..1.0).contains(&percents(0)));
    for _ in 0..100 {
        percents(30_000);
    }
    assert!((50.0..51.0).contains(&percents(30_000)));
}

#[test]
fn adaptive_timer_counts_whole_jiffies() {
    let mut late = env();
    (late.hz, late.now) = (250, Time(3_999_999));
    let red = build(SEED_150, late.clone()).unwrap();
    // 125 jiffies and up to the next multiple of eight.
    assert_eq!(red.wake(), Time(512_000_000));
    assert_eq!(build("red limit 150000 avpkt 1000", late).unwrap().wake(), Time::NEVER);
}

/// Marks and drops of 100 arrivals per codepoint with the average held at `bytes`.
fn outcomes(text: &str, bytes: u64, ecn: Ecn) -> (u32, u32) {
    let (mut q, mut log) = (make(text), Log::default());
    let (mut marks, mut drops) = (0, 0);
    for id in 0..100 {
        pinned(&mut q, bytes);
        q.fifo.queue.backlog.bytes = bytes;
        q.enqueue(Time::ZERO, packet(id, ecn), &mut log);
        for event in log.drain() {
            match event {
                Event::Mark(_, Reason::RedForced) => marks += 1,
                Event::Drop(_, Reason::RedForced) => drops += 1,
                other => panic!("{other:?}"),
            }
        }
    }
    let mut stats = Stats::default();
    q.stats(&mut stats);
    if ecn != Ecn::Ce {
        assert_eq!(stats.value("marked"), Some(f64::from(marks)));
    }
    assert_eq!(stats.value("early"), Some(f64::from(drops)));
    assert_eq!(stats.value("overlimits"), Some(if bytes < 37_500 { 0.0 } else { 100.0 }));
    (marks, drops)
}

// KAT red 5
#[test]
fn above_max_every_ect_packet_is_marked_and_every_other_dropped() {
    let red = "red limit 150000 avpkt 1000 burst 50";
    for (flags, ecn, expected) in [
        ("ecn", Ecn::Ect0, (100, 0)),
        ("ecn", Ecn::Ect1, (100, 0)),
        ("ecn", Ecn::Ce, (0, 0)),
        ("ecn", Ecn::NotEct, (0, 100)),
        ("ecn nodrop", Ecn::NotEct, (0, 0)),
        ("ecn harddrop", Ecn::Ect0, (0, 100)),
        ("ecn harddrop nodrop", Ecn::Ect0, (0, 100)),
        ("", Ecn::Ect0, (0, 100)),
    ] {
        assert_eq!(outcomes(&format!("{red} {flags}"), 38_000, ecn), expected, "{flags} {ecn:?}");
        assert_eq!(outcomes(&format!("{red} {flags}"), 12_400, ecn), (0, 0), "{flags} {ecn:?}");
    }
}

// KAT red 6
#[test]
fn under_htb_an_idle_period_is_one_sample_of_an_empty_queue() {
    let run = |shaped: bool| {
        let mut log = Log::default();
        let mut q: Box<dyn Qdisc> = Box::new(make(SEED_150));
        if shaped {
            q = build_shaped("htb rate 1Gbit", q, &env()).unwrap();
        }
        for id in 0..40 {
            q.enqueue(Time::ZERO, packet(id, Ecn::Ect0), &mut log);
        }
        let mut now = Time::ZERO;
        while q.backlog().packets > 0 {
            q.dequeue(now, &mut log);
            now += Dur::from_micros(20);
        }
        // What a port does when the wire is free again.
        q.dequeue(now, &mut log);
        let average = |q: &dyn Qdisc| {
            let mut value = 0.0;
            q.probe(&mut Probe::new(&mut |name, _, v| {
                if name == "average" {
                    value = v;
                }
            }));
            (value * 16.0) as u64
        };
        let before = average(&*q);
        q.enqueue(now + Dur::from_secs(10), packet(99, Ecn::Ect0), &mut log);
        (before, average(&*q))
    };
    let (before, after) = run(true);
    assert_eq!(after, before - (before >> 4));
    assert!(before > 0);
    assert_eq!(run(false), (before, 0));
}

#[test]
fn idle_decay_is_22_times_too_slow_unless_exact() {
    let decayed = |idle: &str, us: u64| {
        let mut q = make(&format!("{SEED_150} idle {idle}"));
        q.judge.law.average = 30_000 << 4;
        q.judge.law.after_idle(Time::ZERO, Time(us * 1000)) as f64 / f64::from(30_000 << 4)
    };
    // One packet of 1000 bytes takes 160 us: designed are 15/16 for each.
    let halving_us = 160.0 / (16.0 / 15.0_f64).log2();
    for (idle, factor) in [("exact", 1.0), ("linux", 15.625 / std::f64::consts::LN_2)] {
        let shifts = decayed(idle, (halving_us * factor * 8.5) as u64).log2();
        assert!((-8.1..=-6.9).contains(&shifts), "{idle} {shifts}");
    }
    assert_eq!(decayed("linux", 0), 1.0);
}

#[test]
fn idle_decay_below_one_step_is_linear_and_at_most_a_half() {
    let mut law = make(SEED_150).judge.law;
    law.average = 480_000;
    assert_eq!(law.after_idle(Time::ZERO, Time(1_024_000)), 480_000 - 480_000 * 1024 / 4096);
    assert_eq!(law.after_idle(Time::ZERO, Time(4_000_000)), 240_000);
}

#[test]
fn gentle_replaces_the_step_at_max_by_a_slope_to_twice_max() {
    let share = |text: &str, bytes| {
        let mut q = make(text);
        let mut hits = 0;
        for _ in 0..20_000 {
            pinned(&mut q, bytes);
            hits += u32::from(q.judge.law.action(&mut q.judge.rng) != Action::Pass);
        }
        f64::from(hits) / 20_000.0
    };
    let (step, gentle) = ("red limit 150000 avpkt 1000", "red limit 150000 avpkt 1000 gentle");
    assert_eq!(share(step, 37_500), 1.0);
    assert_eq!(share(gentle, 75_000), 1.0);
    assert_eq!(share(step, 30_000), share(gentle, 30_000));
    // Uniform gaps from 1 to 1/p have the mean (1/p + 1) / 2.
    for (bytes, p) in [(37_500, 0.02), (56_250, 0.51)] {
        let expected = 2.0 / (1.0 / p + 1.0);
        assert!((share(gentle, bytes) - expected).abs() < 0.15 * expected, "{bytes}");
    }
}

#[test]
fn marked_packet_can_still_meet_a_full_queue() {
    let (mut q, mut log) =
        (make("red limit 40000 min 5000 max 10000 avpkt 1000 ecn"), Log::default());
    pinned(&mut q, 20_000);
    q.fifo.queue.backlog.bytes = 39_500;
    q.enqueue(Time::ZERO, packet(0, Ecn::Ect0), &mut log);
    assert!(matches!(
        log.events(),
        [Event::Mark(_, Reason::RedForced), Event::Drop(_, Reason::TailLimit)]
    ));
}

#[test]
fn change_is_a_whole_configuration_and_discards_what_waits() {
    let (mut q, mut log) =
        (make("red limit 150000 avpkt 1000 ecn harddrop adaptive"), Log::default());
    for id in 0..3 {
        q.enqueue(Time::ZERO, packet(id, Ecn::Ect0), &mut log);
    }
    assert!(
        change(&mut q, Time::ZERO, "red limit 200000", &mut log)
            .unwrap_err()
            .0
            .contains("required")
    );
    assert_eq!((q.backlog().packets, log.is_empty()), (3, true));
    change(&mut q, Time::ZERO, "red limit 200000 avpkt 1000", &mut log).unwrap();
    let dropped = log.drain().filter(|e| matches!(e, Event::Drop(_, Reason::Purge))).count();
    assert_eq!((dropped, q.backlog().packets), (3, 0));
    let described = "red limit 200000b min 16666b max 50000b avpkt 1000b burst 27 probability 0.02 \
                     bandwidth 10Mbit idle linux";
    assert_eq!(q.describe(), described);
    assert_eq!((q.wake(), q.judge.law.average, q.fifo.params.max), (Time::NEVER, 0, 50_000));
    q.enqueue(Time::ZERO, packet(3, Ecn::Ect0), &mut log);
    assert_eq!((log.is_empty(), q.backlog().packets), (true, 1));
}

/// Codepoints and drops of 20000 arrivals with the average held at `bytes`.
fn codepoints(text: &str, bytes: u64, ecn: Ecn) -> ([u32; 4], u32) {
    let (mut q, mut log) = (make(text), Log::default());
    let mut counts = [0; 4];
    for id in 0..20_000 {
        pinned(&mut q, bytes);
        q.fifo.queue.backlog.bytes = bytes;
        q.enqueue(Time::ZERO, packet(id, ecn), &mut log);
        if let Some(pkt) = q.fifo.queue.packets.pop_front() {
            counts[usize::from(pkt.tos & 3)] += 1;
        }
    }
    let drops = log.drain().filter(|e| matches!(e, Event::Drop(..))).count();
    (counts, drops as u32)
}

// draft-morton-taht-tsvwg-sce-00.
#[test]
fn sce_has_a_ramp_of_its_own_below_that_of_ce() {
    // CE from 12500 to 37500 bytes, SCE from a third of 12500 to 12500.
    let red = "red limit 150000 avpkt 1000 ecn sce";
    for (bytes, share) in [(4166, 0.0), (6250, 0.25), (8333, 0.5), (10_417, 0.75), (12_499, 1.0)] {
        let (counts, drops) = codepoints(red, bytes, Ecn::Ect0);
        assert_eq!((counts[Ecn::Ce as usize], drops), (0, 0));
        let marked = f64::from(counts[Ecn::Ect1 as usize]) / 20_000.0;
        // Three standard deviations of 20000 draws.
        assert!((marked - share).abs() <= 0.011, "{bytes}: {marked}");
    }
    let half = format!("{red} sce_max 12000 sce_min 2000 sce_probability 0.5");
    let (counts, _) = codepoints(&half, 7000, Ecn::Ect0);
    assert!(counts[Ecn::Ect1 as usize].abs_diff(5000) < 190, "{counts:?}");
    assert_eq!(codepoints(&half, 12_000, Ecn::Ect0).0, [0, 20_000, 0, 0]);
}

// draft-morton-taht-tsvwg-sce-00.
#[test]
fn decision_for_ce_or_a_drop_wins_over_sce() {
    let red = "red limit 150000 avpkt 1000 sce probability 0.1";
    let (counts, drops) = codepoints(&format!("{red} ecn"), 25_000, Ecn::Ect0);
    assert!(counts[3] > 1000 && counts[1] == 20_000 - counts[3] && drops == 0, "{counts:?}");
    assert_eq!(codepoints(&format!("{red} ecn"), 40_000, Ecn::Ect0), ([0, 0, 0, 20_000], 0));
    // Without `ecn` the signal that wins is a drop.
    let (counts, drops) = codepoints(red, 25_000, Ecn::Ect0);
    assert!(drops > 1000 && counts == [0, 20_000 - drops, 0, 0], "{counts:?}");
}

// draft-morton-taht-tsvwg-sce-00.
#[test]
fn sce_marks_nothing_but_ect0_and_only_if_asked_for() {
    for ecn in [Ecn::NotEct, Ecn::Ect1, Ecn::Ce] {
        let (counts, drops) = codepoints("red limit 150000 avpkt 1000 ecn sce", 12_000, ecn);
        assert_eq!((counts[ecn as usize], drops), (20_000, 0));
    }
    for bytes in [8_000, 12_499] {
        let (counts, _) = codepoints("red limit 150000 avpkt 1000 ecn", bytes, Ecn::Ect0);
        assert_eq!(counts, [0, 0, 20_000, 0]);
    }
    let names = |text| {
        let mut stats = Stats::default();
        make(text).stats(&mut stats);
        [stats.value("sce_mark"), stats.value("sce_min"), stats.value("sce_max")]
    };
    assert_eq!(names("red limit 150000 avpkt 1000"), [None; 3]);
    let expected = [Some(0.0), Some(4166.0), Some(12_500.0)];
    assert_eq!(names("red limit 150000 avpkt 1000 sce"), expected);
}

#[test]
fn sce_ramp_that_is_not_lower_is_refused() {
    for (options, why) in [
        ("sce_min 12500", "`sce_min` 12500 is not below `min` 12500"),
        ("sce_min 9000 sce_max 8000", "`sce_max` 8000 is not from 9000 to 37500"),
        ("sce_max 37501", "is not below `min`"),
        ("sce_min 10000 sce_max 37501", "`sce_max` 37501 is not from 10000 to 37500"),
        ("sce_probability 0", "above 0 and at most 1"),
        ("sce_probability 1.1", "above 0 and at most 1"),
    ] {
        let text = error(&format!("red limit 150000 avpkt 1000 {options}"));
        assert!(text.contains(why), "{options}: {text}");
    }
}
