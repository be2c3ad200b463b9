use super::*;

const SECOND: u32 = 65_536;

/// Queue delays at 10 per second for `seconds` with an empty queue and a clock that runs
/// faster by this share, ticks.
fn delays(base: &mut BaseDelay, seconds: u32, drift: f64) -> Vec<u32> {
    (0..seconds * 10)
        .map(|n| {
            let now = n * (SECOND / 10);
            if n % 10 == 0 {
                base.drifts();
            }
            let one_way = (f64::from(now) * drift) as u32;
            match base.sample(Ticks(now), one_way.wrapping_sub(100), None) {
                Sample::Delay(delay) => delay,
                Sample::Restarted => panic!("a drift of one sign"),
            }
        })
        .collect()
}

// KAT scream2 11: a clock that is 0.02 % fast reads as 100 ms after 500 s
#[test]
fn a_fast_clock_is_compensated_for() {
    let mut plain = BaseDelay::new(Ticks(0), false);
    let standing = delays(&mut plain, 700, 0.0002);
    assert!(standing[6990].abs_diff(SECOND / 10) < SECOND / 200, "{}", standing[6990]);
    let mut compensating = BaseDelay::new(Ticks(0), true);
    let delays = delays(&mut compensating, 700, 0.0002);
    assert!(delays[6990] < SECOND / 200, "{}", delays[6990]);
}

// KAT scream2 7: a slow clock lowers the base all the time
#[test]
fn a_slow_clock_and_one_that_started_later_show_no_queue() {
    let mut base = BaseDelay::new(Ticks(0), false);
    assert!(delays(&mut base, 100, -0.0002).iter().all(|&delay| delay == 0));
    let mut base = BaseDelay::new(Ticks(0), false);
    // Around the wrap of the difference of the two clocks.
    assert_eq!(base.sample(Ticks(1), 5, None), Sample::Delay(0));
    assert_eq!(base.sample(Ticks(2), 5_u32.wrapping_sub(10), None), Sample::Delay(0));
    assert_eq!(base.sample(Ticks(3), 5, None), Sample::Delay(10));
}

/// Queue delays, ms, at 100 per second for this many seconds on a path of 100 ms there and back, half
/// of it each way, with `queue` ms there; one-way delays are off by `step` ms from `at` s on for
/// `length` s.
fn lied_to(seconds: u32, queue: u32, step: i32, at: f32, length: f32) -> Vec<u32> {
    let ticks = |ms: u32| ms * SECOND / 1000;
    let mut base = BaseDelay::new(Ticks(0), false);
    (0..seconds * 100)
        .map(|n| {
            let now = n as f32 / 100.0;
            // The first second finds the queue empty.
            let queue = if n < 100 { 0 } else { queue };
            let lie = if (at..at + length).contains(&now) { step } else { 0 };
            let one_way = i64::from(50 + queue as i32 + lie) * i64::from(SECOND) / 1000;
            let rtt = ticks(100 + queue);
            let trip = Trip { rtt, smoothed: rtt };
            match base.sample(Ticks(n * (SECOND / 100)), one_way as u32, Some(trip)) {
                Sample::Delay(delay) => (delay * 1000).div_ceil(SECOND),
                Sample::Restarted => panic!("no drift"),
            }
        })
        .collect()
}

#[test]
fn forged_times_of_arrival_are_no_queue_for_the_rest_of_the_run() {
    for step in [-10_000, -90, -30, 30, 90, 10_000] {
        let delays = lied_to(20, 0, step, 5.0, 0.2);
        assert!(delays.iter().all(|&ms| ms <= 11), "{step} ms: {:?}", delays.iter().max());
        assert!(delays[800..].iter().all(|&ms| ms <= 1), "{step} ms: healed after 3 s");
    }
    // A queue that is there stays seen, before, during and after.
    for step in [-10_000, -90, 90, 10_000] {
        let delays = lied_to(20, 80, step, 5.0, 0.2);
        assert!(delays[100..500].iter().all(|&ms| ms.abs_diff(80) <= 1), "{step} ms");
        assert!(delays[530..].iter().all(|&ms| (79..=91).contains(&ms)), "{step} ms");
    }
}

#[test]
fn a_step_of_the_receivers_clock_is_no_queue() {
    for step in [-60_000, -1000, 1000, 60_000] {
        let delays = lied_to(20, 40, step, 5.0, 100.0);
        assert!(delays.iter().all(|&ms| ms <= 51), "{step} ms: {:?}", delays.iter().max());
        let late = &delays[800..];
        assert!(step < 0 || late.iter().all(|&ms| ms.abs_diff(40) <= 1), "{step} ms: {late:?}");
    }
}

// KAT scream2 2: fifty slots of ten seconds
#[test]
fn the_base_is_forgotten_after_500_seconds() {
    let mut base = BaseDelay::new(Ticks(0), false);
    base.sample(Ticks(1), 0, None);
    let later = |base: &mut BaseDelay, second: u32| base.sample(Ticks(second * SECOND), 1000, None);
    for second in 1..500 {
        assert_eq!(later(&mut base, second), Sample::Delay(1000));
    }
    for second in 500..520 {
        later(&mut base, second);
    }
    assert_eq!(later(&mut base, 520), Sample::Delay(0));
}
