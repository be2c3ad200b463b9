use super::*;
use sojourn_core::grammar::{Args, read, table};

fn clock(rate: &str, options: &str) -> VirtualClock {
    let mut shaping = Shaping { bandwidth: Rate::parse_tc(rate), ..Shaping::default() };
    read(&mut shaping, &mut Args::of("t", &table::<Shaping>, options)).unwrap();
    VirtualClock::new(&shaping)
}

// KAT cake 1
#[test]
fn rate_becomes_the_kernels_multiplier_and_shift() {
    for (rate, rate_ns, shift) in [
        ("50Mbit", 10_737_418_240, 26),
        ("1Mbit", 16_777_216_000, 21),
        ("100kbit", 10_485_760_000, 17),
    ] {
        let clock = clock(rate, "");
        assert_eq!(clock.byte_time, ByteTime { ns: rate_ns, shift }, "{rate}");
    }
}

// KAT cake 4
#[test]
fn framing_charges_the_wire() {
    let charged = |options, len| {
        let framing = clock("1Gbit", options).framing;
        framing.on_wire(framing.counted(len))
    };
    assert_eq!(charged("overhead 48 atm", 1514), 1749);
    assert_eq!(charged("conservative", 1514), 1749);
    assert_eq!(charged("", 1514), 1514);
    assert_eq!(charged("ethernet", 1514), 1538);
    assert_eq!(charged("ethernet", 54), 84);
    assert_eq!(charged("ethernet ether-vlan", 1514), 1542);
    assert_eq!(charged("docsis", 50), 64);
    assert_eq!(charged("pppoe-ptm", 1514), 1530 + 24);
    assert_eq!(charged("overhead -64", 40), 0);
    assert_eq!(charged("conservative raw", 1514), 1514);
}

#[test]
fn clock_runs_by_its_own_past_and_forgets_idle_time() {
    let mut clock = clock("50Mbit", "");
    clock.restart(Time(1000));
    assert!(!clock.is_blocked(Time(1000)));
    clock.charge(1514);
    assert!(clock.is_blocked(Time(1001)));
    assert_eq!(clock.wake(), Time(243_240));
    // Served 10 ms late: 41 packets and the one due leave at once.
    let late = Time(243_240 + 10_000_000);
    clock.on_wake(late);
    let mut burst = 0;
    while !clock.is_blocked(late) {
        clock.charge(1514);
        burst += 1;
    }
    assert_eq!((burst, clock.overlimits), (42, 2));
    clock.restart(Time(1_000_000_000));
    assert!(!clock.is_blocked(Time(1_000_000_000)));
}
