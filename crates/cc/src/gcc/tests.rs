//! Known answers of GCC's detector and rates, and its parts.

#![allow(clippy::disallowed_methods, reason = "what is expected may be the platform's")]

use super::delay::Delta;
use super::*;
use crate::build;

fn gcc(options: &str) -> Gcc {
    Gcc::new(crate::params(&format!("gcc {options}")))
}

fn at(ms: f64) -> Time {
    Time((ms * 1e6) as u64)
}

fn path(rtt_ms: u64) -> Path {
    Path { srtt: Dur::from_millis(rtt_ms), mtu: 1500, ..Path::default() }
}

/// Reports of packets of 1250 bytes every 10 ms (1 Mbit/s); every `loss_of`-th is missing.
fn reports(from: u64, n: u64, loss_of: u64) -> Vec<PacketReport> {
    (from..from + n)
        .map(|seq| {
            let sent = Time(seq * 10_000_000);
            let received = ((seq + 1) % loss_of != 0).then_some(sent + Dur::from_millis(20));
            PacketReport { seq, bytes: 1250, sent, received, ecn: Ecn::NotEct }
        })
        .collect()
}

// KAT gcc 1
#[test]
fn twenty_percent_loss_takes_a_tenth_and_five_percent_nothing() {
    for (loss_of, factor) in [(5, 0.9), (20, 1.0), (100, 1.05)] {
        let mut cc = gcc("init_rate 1Mbit");
        cc.delay_rate = 2e6;
        (cc.lost, cc.received) = (100 / loss_of, 100 - 100 / loss_of);
        cc.control_loss(at(0.0), Dur::from_millis(50));
        assert!((cc.loss_rate / 1e6 - factor).abs() < 1e-12, "1 of {loss_of}: {}", cc.loss_rate);
    }
}

#[test]
fn losses_of_one_reaction_time_cut_once_and_twenty_packets_are_needed() {
    let mut cc = gcc("init_rate 1Mbit");
    cc.delay_rate = 2e6;
    let lossy = |cc: &mut Gcc, ms, packets: u32| {
        (cc.lost, cc.received) = (packets / 2, packets - packets / 2);
        cc.control_loss(at(ms), Dur::from_millis(50));
        cc.loss_rate
    };
    assert_eq!(lossy(&mut cc, 0.0, 19), 1e6);
    assert_eq!(lossy(&mut cc, 0.0, 20), 0.75e6);
    assert_eq!(lossy(&mut cc, 349.0, 20), 0.75e6);
    assert_eq!(lossy(&mut cc, 350.0, 20), 0.5625e6);
}

// KAT gcc 2
#[test]
fn over_use_leaves_beta_of_what_arrives() {
    let mut cc = gcc("init_rate 2Mbit");
    for report in reports(0, 100, u64::MAX) {
        cc.take(&report);
    }
    assert!((cc.incoming.rate().expect("half a second") - 1e6).abs() < 1e-6);
    cc.detector.signal = Signal::OverUse;
    cc.control_delay(at(1000.0), Dur::from_millis(50));
    assert!((cc.delay_rate - 0.85e6).abs() < 1e-6);
    assert_eq!(cc.target(), Rate(850_000));
}

// KAT gcc 3: from 0.85 to 1 in ln(1/0.85)/ln(1.08) = 2.11 s
#[test]
fn far_from_convergence_it_grows_by_eight_percent_per_second() {
    let mut cc = gcc("init_rate 850Kbit");
    let mut ms = 0.0;
    cc.control_delay(at(ms), Dur::from_millis(50));
    while cc.delay_rate < 1e6 {
        ms += 50.0;
        cc.control_delay(at(ms), Dur::from_millis(50));
    }
    assert!((ms - 2112.0).abs() <= 50.0, "{ms}");
    // A longer pause counts as a second.
    let rate = cc.delay_rate;
    cc.control_delay(at(ms + 60_000.0), Dur::from_millis(50));
    assert!((cc.delay_rate / rate - 1.08).abs() < 1e-9);
}

#[test]
fn near_convergence_it_grows_by_half_a_packet_per_response_time() {
    let mut cc = gcc("init_rate 1Mbit");
    cc.capacity.sample(1e6);
    // 1 Mbit/s at 30 frames per second: four packets of 8333 bits.
    let grown = cc.grown(150.0, 50.0, Some(1.01e6));
    assert!((grown - 1e6 - 0.5 * 8333.333).abs() < 0.01, "{grown}");
    let slow = cc.grown(15.0, 50.0, Some(1.01e6));
    assert_eq!(slow, 1e6 + MIN_GROWTH);
    // Three deviations are 3 sqrt(0.4 * 1000) = 60 kbit/s.
    assert!(cc.grown(1000.0, 50.0, Some(0.93e6)) > 1.07e6);
    assert!(cc.capacity.mean.is_some());
    assert!(cc.grown(1000.0, 50.0, Some(1.07e6)) > 1.07e6);
    assert!(cc.capacity.mean.is_none(), "above: the path has changed");
}

#[test]
fn growth_ends_above_what_arrives_and_takes_nothing_from_an_idle_sender() {
    let cc = &mut gcc("init_rate 1Mbit");
    assert!((cc.grown(1000.0, 50.0, Some(0.68e6)) - 1.03e6).abs() < 1e-6);
    assert_eq!(cc.grown(1000.0, 50.0, Some(0.1e6)), 1e6);
}

#[test]
fn phases_follow_the_drafts_table() {
    use Phase::{Decrease, Hold, Increase};
    for (phase, over, normal, under) in [
        (Hold, Decrease, Increase, Hold),
        (Increase, Decrease, Increase, Hold),
        (Decrease, Decrease, Hold, Hold),
    ] {
        let after = [Signal::OverUse, Signal::Normal, Signal::UnderUse].map(|s| phase.after(s));
        assert_eq!(after, [over, normal, under], "{phase:?}");
    }
}

// KAT gcc 4
#[test]
fn threshold_moves_by_k_of_its_distance_per_millisecond() {
    let mut d = Detector::new(12.5, 0.01, 0.00018, 10.0);
    d.update(0.0, 5.0, at(0.0));
    d.update(0.0, 5.0, at(10.0));
    assert!((d.threshold - (12.5 - 10.0 * 0.00018 * 12.5)).abs() < 1e-12);
    let before = d.threshold;
    d.update(-20.0, 5.0, at(20.0));
    assert!((d.threshold - (before + 10.0 * 0.01 * (20.0 - before))).abs() < 1e-12);
    let before = d.threshold;
    d.update(before + 15.1, 5.0, at(30.0));
    assert_eq!(d.threshold, before, "an outlier");
    // Far above for long, in steps below 15: at most 600 ms. Nothing for an hour: at least 6 ms.
    for i in 0..100_000 {
        d.update(d.threshold + 14.9, 5.0, at(30.0 + 100.0 * f64::from(i)));
    }
    assert_eq!(d.threshold, 600.0);
    for i in 0..100_000 {
        d.update(0.0, 5.0, at(1e7 + 100.0 * f64::from(i)));
    }
    assert_eq!(d.threshold, 6.0);
}

#[test]
fn over_use_lasts_ten_milliseconds_and_does_not_fall() {
    let mut d = Detector::new(12.5, 0.0, 0.0, 10.0);
    let mut signals = |estimates: &[f64]| {
        d.update(0.0, 5.0, at(0.0));
        for estimate in estimates {
            d.update(*estimate, 5.0, at(0.0));
        }
        d.signal
    };
    // 2.5, 7.5 and 12.5 ms.
    assert_eq!(signals(&[20.0, 20.0]), Signal::Normal);
    assert_eq!(signals(&[20.0, 20.0, 20.0]), Signal::OverUse);
    assert_eq!(signals(&[20.0, 21.0, 20.0]), Signal::Normal, "falling");
    assert_eq!(signals(&[20.0, 21.0, 20.0, 20.0]), Signal::OverUse);
    assert_eq!(signals(&[20.0, 20.0, 10.0, 20.0]), Signal::Normal, "interrupted");
    assert_eq!(signals(&[-20.0]), Signal::UnderUse);
    assert_eq!(signals(&[]), Signal::Normal);
}

/// Differences of groups 5 ms apart whose delay grows by `slope` ms per ms.
fn ramp(estimator: &mut Estimator, slope: f64, groups: u32) -> f64 {
    let mut estimate = 0.0;
    for i in 1..=groups {
        let arrived = 5.0 * (1.0 + slope);
        let delta = Delta { sent: 5.0, arrived, at: at(f64::from(i) * arrived) };
        estimate = estimator.update(&delta);
    }
    estimate
}

#[test]
fn trendline_is_the_slope_of_the_delay_times_gain_and_sixty() {
    let trend = || Estimator::Trendline(Trendline::new(20, 0.9, 4.0));
    for slope in [0.1, 0.5, -0.1] {
        let expected = 240.0 * slope / (1.0 + slope);
        let estimate = ramp(&mut trend(), slope, 300);
        assert!((estimate / expected - 1.0).abs() < 1e-3, "{slope}: {estimate}, {expected}");
    }
    assert_eq!(ramp(&mut trend(), 0.5, 19), 0.0, "too few groups");
    assert!(ramp(&mut trend(), 0.5, 20) > 0.0);
}

#[test]
fn kalman_filter_finds_the_mean_variation() {
    let kalman = || Estimator::Kalman(Kalman::new(0.01));
    let estimate = ramp(&mut kalman(), 0.1, 3000);
    assert!((estimate - 60.0 * 0.5).abs() < 0.1, "{estimate}");
    // By hand: z = 0.5, var_v = 0.99^0.15 * 50 + ..., k = 0.101 / (var_v + 0.101).
    let first = ramp(&mut kalman(), 0.1, 1);
    let alpha = 0.99_f64.powf(0.15);
    let noise = alpha * 50.0 + (1.0 - alpha) * 0.25;
    assert!((first - 0.5 * 0.101 / (noise + 0.101)).abs() < 1e-12, "{first}");
}

#[test]
fn packets_of_five_milliseconds_are_a_group() {
    let mut groups = Groups::new(Dur::from_millis(5));
    let mut add = |sent, arrival| groups.add(at(sent), at(arrival));
    assert_eq!(add(0.0, 20.0), None);
    assert_eq!(add(4.0, 26.0), None);
    assert_eq!(add(10.0, 36.0), None, "the first group is complete, and has no predecessor");
    assert_eq!(add(9.0, 37.0), None, "out of order");
    let delta = add(20.0, 48.0).expect("the second is complete");
    assert_eq!((delta.sent, delta.arrived, delta.at), (6.0, 10.0, at(36.0)));
    // Close behind the one before, and less delayed: an outage has ended.
    assert_eq!(add(30.0, 49.0), None);
    assert_eq!(add(40.0, 50.0), None);
    let delta = add(50.0, 66.0).expect("both belonged to the third");
    assert_eq!((delta.sent, delta.arrived), (30.0, 14.0));
}

#[test]
fn a_late_packet_is_no_loss() {
    let mut cc = gcc("");
    for report in reports(0, 10, 5) {
        cc.take(&report);
    }
    assert_eq!((cc.received, cc.lost), (8, 2));
    let late = PacketReport { received: Some(at(200.0)), ..reports(4, 1, 5)[0] };
    cc.take(&late);
    assert_eq!((cc.received, cc.lost), (9, 1));
}

#[test]
fn pacing_multiplies_the_target_in_bursts_of_five_milliseconds() {
    let cc = gcc("init_rate 10Mbit");
    let out = cc.output(&path(50), &Window::new(1));
    assert_eq!(out.media_target, Some(Rate(10_000_000)));
    // 25 Mbit/s: 15625 bytes in 5 ms.
    assert_eq!((out.pacing_rate, out.burst), (Some(Rate(25_000_000)), Some(10)));
    let kalman = gcc("estimator kalman").output(&path(50), &Window::new(1));
    assert_eq!((kalman.pacing_rate, kalman.burst), (Some(Rate(300_000)), Some(1)));
}

#[test]
fn rates_stay_in_their_bounds_whatever_is_reported() {
    let mut rng = sojourn_core::rng::Rng::named(3, "gcc");
    for options in ["max_rate 5Mbit", "max_rate 5Mbit estimator kalman"] {
        let mut cc = gcc(options);
        let (mut now, mut seq) = (Time::ZERO, 0_u64);
        for _ in 0..2000 {
            let weather = rng.below(4);
            let reports: Vec<PacketReport> = (0..rng.below(20))
                .map(|_| {
                    seq += u64::from(1 + rng.below(3));
                    now += Dur(u64::from(rng.below(20_000_000)));
                    let wait = Dur(u64::from(rng.below(1 + 300_000_000 * weather / 3)));
                    let received = (rng.below(10) >= weather).then_some(now + wait);
                    let bytes = 1 + rng.below(1500);
                    PacketReport { seq, bytes, sent: now, received, ecn: Ecn::NotEct }
                })
                .collect();
            let path = path(u64::from(rng.below(500)));
            cc.on_ack(now, &Ack { reports: &reports, ..Ack::new(&path) }, &mut Window::new(10));
            assert!((30_000..=5_000_000).contains(&cc.target().0), "{}", cc.target());
            assert!((6.0..=600.0).contains(&cc.detector.threshold));
        }
    }
}

#[test]
fn wrong_parameters_are_refused_with_what_is_allowed() {
    let error = |text| build(text).err().expect("refused").0;
    assert_eq!(error("gcc min_rate 1Mbit"), "gcc: expected min_rate <= init_rate <= max_rate");
    assert_eq!(error("gcc estimator k"), "gcc: `estimator k`: expected one of trendline, kalman");
    assert!(error("gcc feedback 1ms").contains("expected a time from 5ms to 1s"));
}
