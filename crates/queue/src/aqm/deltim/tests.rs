use super::super::Event;
use super::*;
use crate::aqm::Env;
use crate::qdiscs::{build, change};
use sojourn_core::ecn::Ecn;
use sojourn_core::rng::Rng;

const MS: u64 = 1_000_000;
const BURST: Dur = Dur::from_millis(5);

fn make(options: &str) -> JudgedFifo<Deltim> {
    JudgedFifo::read(options)
}

fn packet(id: u32, ecn: Ecn) -> Packet {
    Packet { id, len: 1514, tos: ecn as u8, ..Packet::default() }
}

// scim's DelticMDS.
#[test]
fn constant_delay_is_marked_at_a_rate_that_grows_with_time() {
    let mut control = Control::NEW;
    control.step(Time(MS), Dur::ZERO, BURST);
    let mut marks = Vec::new();
    for ms in 1..=10_000 {
        control.step(Time((ms + 1) * MS), Dur::from_millis(1), BURST);
        if control.take(1.0) {
            marks.push(ms);
        }
    }
    // e (t + t²/2) / burst² marks until t, and half a mark at first: 40 per second for 1 ms.
    assert_eq!(marks[..3], [13, 37, 61]);
    assert_eq!(marks.len(), 40 * (10 + 50));
    // Change and integral: 1 ms + 1 ms * 10 s in units of 5 ms * 1 s.
    assert!((control.accumulator - 11.0 / 5.0).abs() < 1e-9);
}

// scim's DelticMDS.
#[test]
fn error_is_the_delay_of_the_packet_that_is_next() {
    let (mut q, mut log) = (make(""), Log::default());
    for (id, ms) in [(1, 0), (2, 3), (3, 9)] {
        q.enqueue(Time(ms * MS), packet(id, Ecn::Ect0), &mut log);
    }
    for (ms, error_ms) in [(10, 7.0), (11, 2.0), (12, 0.0)] {
        assert!(q.dequeue(Time(ms * MS), &mut log).is_some());
        assert!((q.judge.control.error * 1000.0 - error_ms).abs() < 1e-9, "{ms}");
    }
}

// scim's DelticMDS.
#[test]
fn accumulator_fades_over_the_idle_time_of_a_burst() {
    for (idle_us, left) in [(0, 1.0), (1_000, 0.8), (2_500, 0.5), (5_000, 0.0), (900_000, 0.0)] {
        let (mut q, mut log) = (make(""), Log::default());
        q.judge.control = Control { accumulator: 3.0, at: Time(MS), ..Control::NEW };
        q.enqueue(Time(MS + idle_us * 1000), packet(1, Ecn::Ect0), &mut log);
        assert!((q.judge.control.accumulator - 3.0 * left).abs() < 1e-9, "{idle_us}");
        assert_eq!(q.judge.control.oscillator, 0.5);
        // While packets wait nothing fades.
        let before = q.judge.control.accumulator;
        q.enqueue(Time(5000 * MS), packet(2, Ecn::Ect0), &mut log);
        assert_eq!(q.judge.control.accumulator, before);
    }
}

// scim's DelticMDS.
#[test]
fn second_version_takes_the_least_delay_of_a_burst() {
    let mut window = Window::default();
    let mut least = |ms: u64, value: u64| window.least(Time(ms * MS), Dur(value), BURST).0;
    let series = [(0, 9), (1, 4), (2, 7), (3, 6), (6, 8), (7, 9), (8, 9), (9, 3), (20, 5)];
    assert_eq!(series.map(|(ms, value)| least(ms, value)), [9, 4, 4, 4, 4, 6, 6, 3, 5]);
}

/// Marks of a queue that is filled to `depth` packets every `period` ms, at one packet per ms.
fn bursts(options: &str, depth: u32, period: u64) -> usize {
    let (mut q, mut log) = (make(options), Log::default());
    for ms in 0..1000 {
        let now = Time(ms * MS);
        if ms % period == 0 {
            for id in 0..depth {
                q.enqueue(now, packet(id, Ecn::Ect0), &mut log);
            }
        }
        q.dequeue(now, &mut log);
    }
    log.drain().filter(|event| matches!(event, Event::Mark(..))).count()
}

#[test]
fn burst_that_is_gone_in_time_is_marked_by_the_first_version_only() {
    // Departures of five packets see 1, 2 and 3 ms of delay: 6 ms / 5 ms * 1 ms / 5 ms marks.
    assert_eq!(bursts("version 1", 5, 20), 12);
    assert_eq!(bursts("version 2", 5, 20), 0);
    // Of ten packets three leave after the empty queue is forgotten, and see the same.
    assert_eq!(bursts("version 2", 10, 20), 12);
}

/// Codepoints that leave a queue with 10 ms of standing delay in two seconds, and drops.
fn outcome(options: &str, ecn: Ecn) -> ([usize; 4], usize) {
    let (mut q, mut log) = (make(options), Log::default());
    let mut counts = [0; 4];
    let mut id = 0;
    for ms in 0..2000 {
        let now = Time(ms * MS);
        while q.backlog().packets < 11 {
            q.enqueue(now, packet(id, ecn), &mut log);
            id += 1;
        }
        if let Some(pkt) = q.dequeue(now, &mut log) {
            counts[usize::from(pkt.tos & 3)] += 1;
        }
    }
    let drops = log.drain().filter(|event| matches!(event, Event::Drop(..))).count();
    (counts, drops)
}

// scim's DelTiM2.
#[test]
fn one_currency_pays_for_sce_ce_and_drops() {
    for version in [1, 2] {
        let (counts, drops) = outcome(&format!("version {version}"), Ecn::Ect0);
        let [_, sce, none, ce] = counts;
        assert!(sce > 900 && none > 100 && drops == 0, "{counts:?} {drops}");
        assert_eq!(ce, (sce + ce) / 64);
        let (counts, drops) = outcome(&format!("version {version}"), Ecn::NotEct);
        assert_eq!(counts[1..], [0; 3]);
        assert!(drops.abs_diff(ce) <= 1, "as many drops as CE marks: {drops} {ce}");
    }
    // Where one mark per packet is not enough, the oscillator runs away from them to the drops.
    let (counts, drops) = outcome("burst 1ms tau 50", Ecn::Ect0);
    assert!(drops > 300, "{counts:?} {drops}");
    let (counts, drops) = outcome("burst 1ms tau 65535", Ecn::Ect0);
    assert!(counts[2] < 10 && drops == 0, "{counts:?} {drops}");
}

#[test]
fn oscillator_that_owes_a_ce_mark_drops_but_not_the_last_packet() {
    let (mut q, mut log) = (make(""), Log::default());
    for id in 0..3 {
        q.enqueue(Time::ZERO, packet(id, Ecn::Ect0), &mut log);
    }
    q.judge.control.oscillator = 3.0 * 64.0;
    assert_eq!(q.dequeue(Time::ZERO, &mut log).unwrap().id, 2);
    assert_eq!(q.judge.control.oscillator, 63.0);
    let reasons: Vec<Reason> = log
        .drain()
        .map(|event| match event {
            Event::Drop(_, reason) | Event::Mark(_, reason) => reason,
            Event::Duplicate(_) => unreachable!(),
        })
        .collect();
    assert_eq!(reasons, [Reason::Overload, Reason::Overload, Reason::Sce]);
}

#[test]
fn parameters_round_trip_and_errors_name_what_is_allowed() {
    let mut q = make("limit 50");
    assert_eq!(q.describe(), "deltim version 1 burst 5ms limit 50p tau 64");
    change(&mut q, Time::ZERO, "deltim version 2 burst 10ms tau 7", &mut Log::default()).unwrap();
    assert_eq!(q.describe(), "deltim version 2 burst 10ms limit 50p tau 7");
    let error = |options: &str| {
        let env = Env::ethernet(Rng::named(1, "t"));
        build(&format!("deltim {options}"), env).err().unwrap().0
    };
    assert!(error("version 3").contains("one of 1, 2"), "{}", error("version 3"));
    assert!(error("burst 0ms").contains("a time of at least"), "{}", error("burst 0ms"));
    assert!(error("tau 0").contains("from 1 to 65535"), "{}", error("tau 0"));
}
