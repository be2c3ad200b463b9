use super::*;

fn plan(wanted: Measures, spin: Dur) -> Plan {
    Plan { wanted, spin, period: Dur::from_micros(200), departures: 50 }
}

#[test]
fn each_departure_is_counted_once_and_none_is_early() {
    for spin in [Dur::ZERO, Dur::from_micros(25)] {
        let start = Clock::start();
        let trial = plan(Measures::default(), spin).carry_out().expect("a thread");
        assert_eq!(trial.lateness_ms.count(), 50);
        assert!(start.now().0 >= 50 * 200_000, "{:?}", start.now());
        assert!(trial.refused.is_empty());
    }
}

#[test]
fn what_is_refused_has_its_reason() {
    let wanted = Measures { cpu: Some(1 << 20), exact_timers: true, ..Measures::default() };
    let trial = plan(wanted, Dur::ZERO).carry_out().expect("a thread");
    assert_eq!(trial.granted, Measures { exact_timers: true, ..Measures::default() });
    assert!(trial.refused[0].starts_with("a CPU of its own"), "{:?}", trial.refused);
    let written = serde_json::to_value(&trial).expect("plain values");
    assert_eq!(
        (&written["lateness_ms"]["n"], &written["granted"]["fifo"]),
        (&50.into(), &false.into())
    );
}
