use super::*;

fn column(mbps: &[f64]) -> Vec<Column> {
    let sums = mbps.iter().scan(0.0, |sum, rate| {
        *sum += rate * 1e6 / 8.0;
        Some(*sum)
    });
    let v: Vec<f64> = std::iter::once(0.0).chain(sums).collect();
    let t = (0..v.len()).map(|n| n as f64).collect();
    vec![Column { name: "flow.f.goodput_bytes".into(), unit: "bytes".into(), t, v }]
}

fn at(seconds: u64) -> Time {
    Time(seconds * 1_000_000_000)
}

#[test]
fn bins_are_whole_seconds_of_the_window() {
    let columns = column(&[8.0, 2.0, 4.0, 6.0]);
    let goodput = Goodput::of(&columns);
    assert_eq!(goodput.mbps(at(1), at(3)), 3.0);
    assert_eq!(goodput.mbps(at(1), at(1)), 0.0);
    assert_eq!(goodput.bins(BIN, at(1), Time(3_900_000_000)).collect::<Vec<_>>(), [2.0, 4.0]);
    assert_eq!(Goodput::of(&[]).mbps(at(0), at(1)), 0.0, "nothing was sampled");
}

#[test]
fn shares_are_compared_from_the_last_start_to_the_first_stop() {
    let columns = [column(&[9.0, 8.0, 7.0, 6.0]), column(&[0.0, 2.0, 3.0, 4.0])];
    let share = |n: usize, start, stop, is_compared| {
        let goodput = Goodput::of(&columns[n]);
        Share { goodput, start: at(start), stop, is_compared }
    };
    let flows = [share(0, 0, Some(at(3)), true), share(1, 0, None, false), share(1, 1, None, true)];
    let bins = Bins::of(&flows, (at(2), at(9)), at(4), BIN);
    assert_eq!(bins.windowed, [[7.0, 6.0], [3.0, 4.0], [3.0, 4.0]]);
    assert_eq!(bins.together, [13.0, 14.0]);
    assert_eq!(bins.compared, [0, 2]);
    assert_eq!(bins.since_last_start, [[8.0, 2.0], [7.0, 3.0]]);
}

#[test]
fn a_rate_over_time_is_that_of_tenths_of_a_second_or_of_whole_samples() {
    // 8 Mbit/s for one second, then nothing for another.
    let t: Vec<f64> = (0..=20).map(|n| f64::from(n) / 10.0).collect();
    let v = (0..=20).map(|n| f64::from(n.min(10)) * 1e5).collect();
    let columns = [Column { name: "flow.f.goodput_bytes".into(), unit: "bytes".into(), t, v }];
    let of = |step_ms| {
        Goodput::of(&columns).over_time(at(0), at(2), Dur::from_millis(step_ms)).expect("bins")
    };
    let fine = of(50);
    assert_eq!((fine.n, fine.p05, fine.mean), (20, 0.0, 4.0));
    assert!((fine.p95 - 8.0).abs() < 1e-9);
    assert_eq!([of(30).n, of(400).n, of(2000).n], [16, 5, 1]);
}
