use super::*;

fn ms(n: u64) -> Dur {
    Dur::from_millis(n)
}

fn with_delays(base: u64, queuing: u64) -> LedbatPlusPlus {
    let mut cc = LedbatPlusPlus::new(ms(60));
    cc.delay.sample(Time::ZERO, ms(base));
    for _ in 0..4 {
        cc.delay.sample(Time::ZERO, ms(base + queuing));
    }
    cc
}

// KAT ledbat++ 1
#[test]
fn gain_is_the_inverse_of_two_targets_per_base_delay_and_at_least_a_sixteenth() {
    for (base, divisor) in [(200, 1.0), (120, 1.0), (119, 2.0), (20, 6.0), (8, 15.0), (2, 16.0)] {
        assert_eq!(with_delays(base, 0).gain(), 1.0 / divisor, "{base} ms");
    }
}

#[test]
fn decrease_is_proportional_to_the_excess_and_at_most_a_half() {
    let step = |queuing| with_delays(120, queuing).step(100.0);
    assert_eq!((step(0), step(60)), (1.0, 1.0));
    assert!((step(66) - (1.0 - 10.0)).abs() < 1e-9);
    assert_eq!(step(200), -50.0);
}

#[test]
fn slowdowns_take_a_tenth_of_the_time() {
    let (mut cc, mut win) = (with_delays(120, 50), Window::new(2));
    let path = Path { srtt: ms(100), cwnd_limited: true, ..Path::default() };
    win.cwnd = 40;
    let mut windows = Vec::new();
    for n in 0..400_u64 {
        let now = Time::ZERO + ms(10) * n;
        let ack = Ack { acked: 1, may_raise: true, ..Ack::new(&path) };
        cc.on_ack(now, &ack, &mut win);
        windows.push((now, win.cwnd, cc.phase));
    }
    // 3/4 of the target is exceeded at once: steady, and a pause of 200 ms two rounds later.
    let pause = windows.iter().position(|w| w.1 == MIN_CWND).expect("a slowdown");
    assert_eq!(windows[pause].0, Time::ZERO + ms(200));
    let ramp = windows.iter().position(|w| w.2 == Phase::Ramp).expect("a ramp");
    assert_eq!(windows[ramp].0, Time::ZERO + ms(400));
    let steady = windows[ramp..].iter().find(|w| w.2 == Phase::Steady).expect("an end");
    assert_eq!(steady.1, 40);
    let length = steady.0.since(windows[pause].0);
    assert_eq!(cc.next_slowdown, steady.0 + length * 9);
}
