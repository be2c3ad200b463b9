use super::*;

// Linux 7.2 at HZ 1000: 125 updates of a PIE with `tupdate 15ms` in 2.001 s.
#[test]
fn short_timers_fire_one_jiffy_late() {
    let j = Jiffies::new(1000);
    assert_eq!(j.of(Dur::from_millis(15)), 15);
    assert_eq!(j.expiry(Time(0), 15), Time(16_000_000));
    assert_eq!(j.expiry(Time(16_999_999), 15), Time(32_000_000));
    let j = Jiffies::new(250);
    assert_eq!((j.of(Dur::from_millis(15)), j.of(Dur(16_000_001))), (4, 5));
    assert_eq!(j.expiry(Time(0), 4), Time(20_000_000));
}

#[test]
fn long_timers_fire_at_multiples_of_eight_jiffies() {
    let j = Jiffies::new(1000);
    assert_eq!(j.half_second(), 500);
    for (now, fires) in [(0, 504), (3, 504), (4, 512), (504, 1008)] {
        assert_eq!(j.expiry(Time(now * 1_000_000), 500), Time(fires * 1_000_000), "{now}");
    }
}

// Linux 7.2 at HZ 1000: an sfq of `perturb 1` takes its packets to other buckets at these times since boot, to
// the packet (docs/kernel-judge.md).
#[test]
fn multiples_of_sixty_four_jiffies_lie_half_way_between_those_since_boot() {
    let j = Jiffies::new(1000);
    assert_eq!(j.expiry(Time(0), 1000), Time(1_056_000_000));
    assert_eq!(j.expiry(Time(1_056_000_000), 1000), Time(2_080_000_000));
}

// Linux 7.2 at HZ 1000: a segment into a blackout, sent again after the timeouts of 600, 1200 and 2400 ms.
#[test]
fn timeouts_that_double_stay_at_multiples_of_sixty_four_jiffies() {
    let j = Jiffies::new(1000);
    let times: Vec<Time> = [600, 1200, 2400]
        .iter()
        .scan(Time(0), |now, timeout| {
            *now = j.expiry(*now, *timeout);
            Some(*now)
        })
        .collect();
    let gaps: Vec<f64> =
        times.windows(2).map(|pair| pair[1].since(pair[0]).as_millis_f64()).collect();
    assert_eq!(gaps, [1216.0, 2432.0]);
}
