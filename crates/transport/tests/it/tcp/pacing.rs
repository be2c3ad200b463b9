//! Departure times.

use sojourn_cc::Feedback;
use sojourn_core::{Rate, RateOrNone, Time};
use sojourn_transport::tcp::{Config, Era};

use super::pipe::{Fate, Pipe, at_ms, config, ms};

/// Departure times of the data of the first `until` milliseconds.
fn departures(cc: &str, config: Config, rtt: u64, until: u64) -> Vec<u64> {
    let mut pipe = Pipe::new(cc, config, ms(rtt / 2)).start();
    pipe.run_until(at_ms(until));
    pipe.data().map(|p| p.at.0).collect()
}

fn paced(ratio: u32) -> Config {
    Config {
        initial_cwnd: 100,
        pacing: true,
        pacing_ss_ratio: ratio,
        ..config(Feedback::None, None)
    }
}

// KAT pacing 1, pacing 2, pacing 3: a window of 100 over 80 ms at 120 and 40 percent; both are below
// two segments per millisecond, so two segments leave together. The first ten are not paced, the
// burst that starts with the eleventh is.
#[test]
fn paced_segments_leave_in_pairs_at_the_rate_of_the_window() {
    for (ratio, bytes_per_second) in [(120, 2.172e6), (40, 0.724e6)] {
        let sent = departures("reno", paced(ratio), 80, 100);
        let first = sent[0];
        assert_eq!(sent[..12], [first; 12], "ten unpaced segments and the pair that starts pacing");
        let pairs: Vec<&[u64]> = sent[12..].chunks_exact(2).collect();
        assert!(pairs.len() >= 4);
        for (n, pair) in pairs.iter().enumerate() {
            let due = first as f64 + (n + 1) as f64 * 2896.0 / bytes_per_second * 1e9;
            assert_eq!(pair[0], pair[1]);
            assert!((pair[0] as f64 - due).abs() < due * 0.001, "pair {n} of {ratio} %");
        }
    }
}

// socket(7) SO_MAX_PACING_RATE: the socket paces at its controller's rate and at no more than the bound, whose bytes are
// payload (`tcp_update_skb_after_send`).
#[test]
fn a_bound_of_the_rate_paces_any_controller() {
    for (cc, feedback) in [("reno", Feedback::None), ("prague", Feedback::AccEcn)] {
        let max_pacing_rate = RateOrNone(Some(Rate(10_000_000)));
        let config = Config { initial_cwnd: 100, max_pacing_rate, ..config(feedback, None) };
        let sent = departures(cc, config, 80, 150);
        let (first, last) = (sent[12], sent[sent.len() - 1]);
        let paced = (sent.len() - 13) as f64 * 1448.0 * 8.0 / ((last - first) as f64 / 1e9);
        assert!(sent.len() > 15, "{cc}: {}", sent.len());
        assert!((9.5e6..10.6e6).contains(&paced), "{cc}: {paced}");
    }
}

#[test]
fn pacing_in_slow_start_leaves_at_twice_the_rate_of_the_window() {
    let mut pipe = Pipe::new("prague", config(Feedback::AccEcn, None), ms(50)).start();
    pipe.run_until(at_ms(590));
    // 160 segments of the fifth round leave within half of it and a burst or two.
    let times: Vec<Time> = pipe.data().map(|p| p.at).filter(|at| *at >= at_ms(500)).collect();
    assert_eq!(times.len(), 160);
    let span = times[159].since(times[0]).as_millis_f64();
    assert!((45.0..=90.0).contains(&span), "{span}");
}

#[test]
fn no_burst_exceeds_a_quarter_of_a_millisecond_of_prague() {
    // Prague's bursts: pacing_rate/4096 bytes, at least one segment (module 0.7, prague_tso_segs).
    let mut pipe = Pipe::new("prague", config(Feedback::AccEcn, None), ms(10))
        .bottleneck(Rate(40_000_000), 100)
        .rule(|p| if p.data && p.index % 20 == 0 { Fate::Mark } else { Fate::Pass })
        .start();
    pipe.run_until(at_ms(4000));
    let times: Vec<u64> = pipe.data().filter(|p| p.at >= at_ms(2000)).map(|p| p.at.0).collect();
    let together = times.chunk_by(|a, b| a == b).map(<[u64]>::len).max();
    assert_eq!(together, Some(1), "40 Mbit/s is 0.8 segments in 250 us");
}

#[test]
fn without_pacing_acks_clock_the_data_out() {
    let sent = departures("reno", config(Feedback::None, None), 80, 165);
    assert_eq!(sent[..10], [80_000_000; 10]);
    assert_eq!(sent[10..], [160_000_000; 20]);
}

#[test]
fn retransmissions_are_paced_too() {
    let mut pipe = Pipe::new("prague", config(Feedback::AccEcn, 2000), ms(50))
        .rule(|p| {
            let burst = p.copy == 0 && (200..230).contains(&p.index);
            if p.data && burst { Fate::Drop } else { Fate::Pass }
        })
        .start();
    pipe.finish(at_ms(20_000));
    let again: Vec<Time> = pipe.retransmissions().iter().map(|p| p.at).collect();
    assert_eq!(again.len(), 30);
    assert!(again.windows(2).all(|w| w[0] < w[1]), "none leave together");
}

/// Of the bursts of an unpaced flow at 18 Mbit/s and 45 ms, whose ACKs are 1.35 ms apart, the share of one segment.
fn lone_segments(tso_defer_soon: bool) -> f64 {
    let ecn = Feedback::None;
    let config = Config { ecn, tso_defer_soon, tso_buffers: false, ..Config::of(Era::E7) };
    let mut pipe = Pipe::new("reno", config, ms(22)).bottleneck(Rate(18_000_000), 200).start();
    pipe.run_until(at_ms(6000));
    let late: Vec<u64> = pipe.data().map(|p| p.at.0).filter(|at| *at > 3_000_000_000).collect();
    let bursts: Vec<usize> = late.chunk_by(|a, b| a == b).map(<[u64]>::len).collect();
    bursts.iter().filter(|n| **n == 1).count() as f64 / bursts.len() as f64
}

#[test]
fn what_an_ack_releases_waits_only_for_an_ack_within_a_millisecond() {
    let [waits, leaves] = [false, true].map(lone_segments);
    assert!(waits < 0.01, "{waits}");
    assert!(leaves > 0.03, "{leaves}");
}

/// Bursts of paced slow start at 200 Mbit/s and 80 ms, in segments, while cwnd grows from 640 to 1280.
fn slow_start_bursts(tso_buffers: bool) -> Vec<usize> {
    let ecn = Feedback::None;
    let config = Config { ecn, pacing: true, tso_buffers, ..Config::of(Era::E7) };
    let mut pipe = Pipe::new("reno", config, ms(40)).bottleneck(Rate(200_000_000), 2000).start();
    pipe.run_until(at_ms(690));
    let late: Vec<u64> = pipe.data().map(|p| p.at.0).filter(|at| *at > 640_000_000).collect();
    late.chunk_by(|a, b| a == b).map(<[u64]>::len).collect()
}

// Linux 7.2 there: 29, 20, 29, 25, 29, 23, 24, 30. Buffers of 45 segments end in the short ones.
#[test]
fn a_burst_that_reaches_the_end_of_a_buffer_leaves_at_once() {
    let short = |bursts: &[usize]| {
        assert!(bursts.len() > 40, "{bursts:?}");
        bursts.windows(2).filter(|pair| pair[1] * 8 < pair[0] * 7).count()
    };
    let [waits, leaves] = [false, true].map(slow_start_bursts);
    assert!(2 * short(&waits) < short(&leaves), "{waits:?} {leaves:?}");
}
