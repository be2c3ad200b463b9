use super::*;

#[test]
fn runs_and_gaps_begin_with_the_first_mark() {
    let mut stream = Stream::default();
    for ecn in "..XX.X...XXX".chars().map(|c| if c == 'X' { Ecn::Ce } else { Ecn::Ect1 }) {
        stream.packet(0, 100, 60, ecn);
    }
    let report = stream.report();
    let runs = report.ce_runs.expect("three runs");
    let gaps = report.ce_gaps.expect("two gaps");
    assert_eq!((runs.n, runs.min, runs.max, runs.mean), (3, 1.0, 3.0, 2.0));
    assert_eq!((gaps.n, gaps.min, gaps.max), (2, 1.0, 3.0));
    assert_eq!((report.ce_percent, report.data_ecn.ect1), (Some(50.0), 6));
}

#[test]
fn a_burst_ends_with_a_gap_of_more_than_100_us() {
    let mut stream = Stream::default();
    for at in [0, 10_000, 110_000, 210_001, 1_000_000] {
        stream.packet(at, 1500, 1000, Ecn::NotEct);
    }
    stream.packet(1_000_010, 40, 0, Ecn::NotEct);
    let bursts = stream.report().burst_bytes.expect("three bursts");
    assert_eq!((bursts.n, bursts.min, bursts.max), (3, 1000.0, 3000.0));
}

#[test]
fn a_rate_counts_idle_intervals_but_no_pause() {
    let mut rate = Rate::default();
    for ms in [0, 99, 100, 399, 5000, 5100] {
        rate.add(ms * 1_000_000, 12_500);
    }
    let rates = rate.samples.distribution().expect("rates");
    // 0 to 100 ms 2 Mbit/s, then 1, 0, 1, a pause, 1; the last interval is cut.
    assert_eq!((rates.n, rates.min, rates.max, rates.mean), (5, 0.0, 2.0, 1.0));
}
