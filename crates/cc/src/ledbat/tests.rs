use super::*;

fn ms(n: u64) -> Dur {
    Dur::from_millis(n)
}

/// cwnd after one window of ACKs at this queuing delay.
fn after_a_window(cwnd: u32, queuing: u64) -> f64 {
    let mut ledbat = Ledbat::new(Params::default());
    let (path, mut win) = (Path::default(), Window::new(10));
    ledbat.on_established(Time::ZERO, &path, &mut win);
    ledbat.delay.sample(Time::ZERO, ms(50));
    ledbat.delay.current = [ms(50 + queuing); CURRENT_FILTER];
    win.cwnd = cwnd;
    let rtt = Some(ms(50 + queuing));
    for _ in 0..cwnd {
        let ack =
            Ack { acked: 1, may_raise: true, rtt, prior_in_flight: win.cwnd, ..Ack::new(&path) };
        ledbat.on_ack(Time::ZERO, &ack, &mut win);
    }
    f64::from(win.cwnd) + ledbat.fraction.0
}

// KAT ledbat 2
#[test]
fn a_window_moves_by_the_share_of_the_target_that_is_left() {
    // Every ACK adds share/W, so W² grows by twice the share times the ACKs.
    for (queuing, share) in [(0, 1.0), (50, 0.5), (100, 0.0), (150, -0.5), (300, -2.0)] {
        let expected = f64::sqrt(100.0 * 100.0 + 2.0 * share * 100.0);
        let cwnd = after_a_window(100, queuing);
        assert!((cwnd - expected).abs() < 1e-3, "{queuing} ms: {cwnd}, expected {expected}");
    }
}

// KAT ledbat 3
#[test]
fn starts_with_two_segments_and_never_exceeds_the_flight_by_more_than_one() {
    let mut ledbat = Ledbat::new(Params::default());
    let (path, mut win) = (Path::default(), Window::new(10));
    ledbat.on_established(Time::ZERO, &path, &mut win);
    assert_eq!((win.cwnd, win.in_slow_start()), (2, false));
    win.cwnd = 50;
    let ack = Ack { acked: 1, may_raise: true, prior_in_flight: 20, ..Ack::new(&path) };
    ledbat.on_ack(Time::ZERO, &ack, &mut win);
    assert_eq!(win.cwnd, 21);
}

#[test]
fn base_delay_is_forgotten_after_ten_minutes() {
    let mut delay = QueuingDelay::new();
    delay.sample(Time::ZERO, ms(20));
    for minute in 1..=10_u64 {
        assert_eq!(delay.base(), ms(20));
        delay.sample(Time::ZERO + MINUTE * minute, ms(80));
    }
    assert_eq!((delay.base(), delay.get()), (ms(80), Dur::ZERO));
}

#[test]
fn target_is_at_most_the_standard_s() {
    let error = super::super::build("ledbat target 101ms").err().expect("refused");
    assert_eq!(error.0, "ledbat: `target 101ms`: expected a time from 1ms to 100ms");
}
