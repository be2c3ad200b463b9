use super::super::Event;
use super::*;
use crate::qdiscs::build;
use sojourn_core::ecn::Ecn;

fn env() -> Env {
    Env::ethernet(Rng::named(1, "t"))
}

fn make(options: &str) -> CurvyRed {
    let spec: Spec = format!("curvy_red {options}").parse().unwrap();
    CurvyRed::new(*spec.params().unwrap(), env())
}

const N: u32 = 200_000;

/// Share of packets signalled at this average delay, which a Classic sojourn keeps.
fn share(options: &str, side: Side, average_ms: u64, sojourn: Dur) -> f64 {
    let mut q = make(options);
    q.average = Dur::from_millis(average_ms).as_secs_f64();
    let hits = (0..N).filter(|_| q.signal(side, sojourn).is_some()).count();
    hits as f64 / f64::from(N)
}

#[track_caller]
fn near(share: f64, expected: f64) {
    // Five standard deviations.
    let tolerance = 5.0 * (expected * (1.0 - expected) / f64::from(N)).sqrt() + 1e-9;
    assert!((share - expected).abs() <= tolerance, "{share} {expected}");
}

// KAT curvy-red 1: range_C 1/2 s, range_L 1/4 s, k = 2.
#[test]
fn classic_is_signalled_by_the_square_and_l4s_by_twice_the_root() {
    let at = Dur::from_millis(550);
    near(share("", Side::Classic, 550, at), 0.01);
    near(share("", Side::L4s, 550, Dur::ZERO), 0.2);
    near(share("min_th 0", Side::Classic, 50, Dur::from_millis(50)), 0.01);
    near(share("min_th 0 s_c -2", Side::Classic, 50, Dur::from_millis(50)), 0.04);
    near(share("min_th 0 coupling_exponent 2", Side::L4s, 50, Dur::ZERO), 0.4);
    near(share("min_th 0 curviness 2", Side::L4s, 50, Dur::ZERO), 0.04);
    near(share("min_th 0 curviness 2", Side::Classic, 250, Dur::from_millis(250)), 0.0625);
}

// KAT curvy-red 2: minTh as printed lets half a second of Classic delay pass.
#[test]
fn nothing_is_signalled_up_to_the_threshold() {
    for side in [Side::Classic, Side::L4s] {
        let sojourn = if side == Side::L4s { Dur::ZERO } else { Dur::from_millis(500) };
        assert_eq!(share("", side, 500, sojourn), 0.0);
    }
}

// KAT curvy-red 3: the average moves by 1/32 at each Classic departure.
#[test]
fn average_moves_with_classic_departures_only() {
    let (mut q, mut log) = (make(""), Log::default());
    for (ecn, n) in [(Ecn::Ect0, 2), (Ecn::Ect1, 1)] {
        for id in 0..n {
            let pkt = Packet { id, len: 1514, tos: ecn as u8, ..Packet::default() };
            q.enqueue(Time::ZERO, pkt, &mut log);
        }
    }
    q.dequeue(Time::ZERO, &mut log);
    assert_eq!(q.average, 0.0);
    q.dequeue(Time(32_000_000), &mut log);
    assert!((q.average - 0.001).abs() < 1e-15);
    q.dequeue(Time(33_000_000), &mut log);
    assert!((q.average - 0.002).abs() < 1e-15);
}

// KAT curvy-red 4: an L4S packet is marked above 1 ms.
#[test]
fn step_is_strictly_above_its_threshold() {
    let mut q = make("");
    assert_eq!(q.signal(Side::L4s, Dur(1_000_000)), None);
    assert_eq!(q.signal(Side::L4s, Dur(1_000_001)), Some(Reason::Step));
}

// KAT curvy-red 5: Not-ECT is dropped, ECT marked.
#[test]
fn signal_marks_who_is_capable_and_drops_the_others() {
    for (ecn, marked) in [(Ecn::Ect0, true), (Ecn::NotEct, false)] {
        let (mut q, mut log) = (make("min_th 0 g_c 0 s_c -20"), Log::default());
        q.enqueue(Time::ZERO, Packet { len: 60, tos: ecn as u8, ..Packet::default() }, &mut log);
        let left = q.dequeue(Time(9_000_000), &mut log);
        assert_eq!(left.map(|p| p.ecn()), marked.then_some(Ecn::Ce));
        let is_mark = matches!(log.events(), [Event::Mark(_, Reason::RedEarly)]);
        let is_drop = matches!(log.events(), [Event::Drop(_, Reason::RedEarly)]);
        assert_eq!((is_mark, is_drop), (marked, !marked));
    }
}

#[test]
fn wrong_parameters_are_refused() {
    for wrong in ["s_c 7", "s_c -21", "g_c 31", "curviness 0", "coupling_exponent 9"] {
        assert!(build(&format!("curvy_red {wrong}"), env()).is_err(), "{wrong}");
    }
}
