//! The laws of version 1 by values computed by hand.

use super::super::{Metric, Permit};
use super::stream::Media;
use super::*;
use sojourn_core::ecn::Ecn;

const SECOND: u32 = 65_536;
const NOW: Ticks = Ticks(100 * SECOND);

fn stream(ssrc: u32) -> Stream {
    Stream { ssrc, min_rate: 100e3, init_rate: 1e6, max_rate: 50e6, ..Stream::new(ssrc) }
}

/// A sender with one stream, a window of 20000 bytes that is full, packets of 1000 bytes, and 2000 bytes
/// newly acknowledged.
fn sender(version: Version) -> V1 {
    let mut v1 = V1::new(Config::new(version), Ticks(65));
    v1.add_stream(stream(1)).unwrap();
    (v1.mss, v1.previous_mss) = (1000, 1000);
    (v1.cwnd, v1.in_flight, v1.newly_acked) = (20_000, 20_000, 2000);
    v1.control.flights.see(100_000);
    (v1.srtt, v1.srtt_ticks) = (0.1, 6554);
    v1.control.fast_increase = false;
    v1.last_congestion = NOW;
    v1.last_cwnd = Ticks(NOW.0 - SECOND / 4);
    v1
}

fn rates(v1: &mut V1, rate: f32) {
    let mean = &mut v1.streams[0].rates;
    (mean.media, mean.sent, mean.acked) = (rate, rate, rate);
}

fn updated(version: Version, change: impl FnOnce(&mut V1)) -> V1 {
    let mut v1 = sender(version);
    change(&mut v1);
    match v1.control.law {
        Law::Rfc8298 => v1.update_window_rfc8298(NOW),
        Law::Y2020 => v1.update_window_2020(NOW),
    }
    v1
}

// KAT scream1 2: window
#[test]
fn rfc_8298s_window_follows_the_distance_from_the_delay_target() {
    let cwnd = |change: fn(&mut V1)| updated(Version::Rfc8298, change).cwnd;
    // 0.5 * 2000 * 1000 / 20000
    assert_eq!(cwnd(|v1| v1.queue_delay = 0.05), 20_050);
    assert_eq!(cwnd(|v1| v1.queue_delay = 0.2), 19_900);
    // 14400 * 1.25 + 2000 = 20000: not used.
    assert_eq!(cwnd(|v1| v1.in_flight = 14_400), 20_000);
    assert_eq!(cwnd(|v1| v1.in_flight = 14_401), 20_100);
    // Not used, but the queue is too long.
    assert_eq!(
        cwnd(|v1| {
            v1.in_flight = 5000;
            v1.queue_delay = 0.2;
        }),
        19_900
    );
    assert_eq!(cwnd(|v1| v1.control.fast_increase = true), 22_000);
    // 12000 * 1.5 + 2000 = 20000
    assert_eq!(
        cwnd(|v1| {
            v1.control.fast_increase = true;
            v1.in_flight = 12_000;
        }),
        20_000
    );
    // 1.1 * 10000
    assert_eq!(
        cwnd(|v1| {
            v1.control.flights = InFlight::new(HISTORY);
            v1.control.flights.see(10_000);
        }),
        11_000
    );
}

// KAT scream1 3: loss and ECN, fast increase
#[test]
fn rfc_8298_reacts_to_losses_marks_and_trends() {
    let lost = updated(Version::Rfc8298, |v1| {
        (v1.loss_event, v1.ce_event, v1.control.fast_increase) = (true, true, true);
    });
    assert_eq!((lost.cwnd, lost.control.fast_increase), (16_000, false));
    let marked = updated(Version::Rfc8298, |v1| v1.ce_event = true);
    assert_eq!(marked.cwnd, 18_000);
    let leaves = |version, trend| {
        updated(version, |v1| {
            v1.control.fast_increase = true;
            v1.control.trend = Trend::new(NOW);
            v1.control.trend.now = trend;
        })
    };
    for version in [Version::Rfc8298, Version::V2020] {
        assert!(!leaves(version, 0.21).control.fast_increase);
        assert!(leaves(version, 0.19).control.fast_increase);
    }
    let resumes = |version, seconds: u32| {
        updated(version, |v1| v1.last_congestion = Ticks(NOW.0 - seconds * SECOND - 1))
            .control
            .fast_increase
    };
    assert!(!resumes(Version::Rfc8298, 4) && resumes(Version::Rfc8298, 5));
    assert!(!resumes(Version::V2020, 0) && resumes(Version::V2020, 1));
}

// KAT scream1 4: pacing and send window
#[test]
fn rfc_8298_paces_at_the_windows_rate() {
    let v1 = updated(Version::Rfc8298, |v1| v1.queue_delay = 0.1);
    // off = 0: the window stays; 20000 bytes in 0.1 s, packets of 1000.
    assert_eq!((v1.cwnd, v1.pace), (20_000, 0.005));
    let slow = updated(Version::Rfc8298, |v1| v1.srtt = 100.0);
    assert_eq!(slow.pace, 8000.0 / 50e3);
    let mut v1 = sender(Version::Rfc8298);
    v1.last_transmit = NOW;
    v1.last_second = NOW;
    v1.last_rates = NOW;
    let rtp = Rtp { seq: 0, bytes: 1000, timestamp: 0, marker: true, queued: NOW, handle: 0 };
    assert!(v1.push(NOW, 0, rtp));
    for (queue_delay, in_flight, expected) in
        [(0.05, 20_000, true), (0.05, 20_001, false), (0.2, 19_000, true), (0.2, 19_001, false)]
    {
        (v1.queue_delay, v1.in_flight) = (queue_delay, in_flight);
        assert_eq!(v1.may_transmit(NOW) != Permit::No, expected, "{queue_delay} {in_flight}");
    }
}

fn cues() -> Cues {
    Cues { fast_increase: false, trend: 0.0, lasting_trend: 0.0, alpha: 0.0, competes: false }
}

fn target(
    version: Version,
    cues: Cues,
    config: &Config,
    change: impl FnOnce(&mut Media, &mut f32),
) -> f32 {
    let mut v1 = sender(version);
    let mut rate = 1e6;
    v1.streams[0].target = 1e6;
    change(&mut v1.streams[0], &mut rate);
    rates(&mut v1, rate);
    let law = v1.control.law;
    v1.streams[0].update_target(NOW, law, config, cues);
    v1.streams[0].target
}

fn rtp(bytes: u32, queued: Ticks) -> Rtp {
    Rtp { seq: 0, bytes, timestamp: 0, marker: true, queued, handle: 0 }
}

// KAT scream1 5: rate
#[test]
fn rfc_8298s_target_rises_by_its_ramp_and_falls_with_the_rtp_queue() {
    let target = |cues, change: fn(&mut Media, &mut f32)| {
        target(Version::Rfc8298, cues, &Config::new(Version::Rfc8298), change)
    };
    let fast = Cues { fast_increase: true, ..cues() };
    // 200 kbit/s in a second.
    assert_eq!(target(fast, |_, _| {}), 1.04e6);
    assert_eq!(target(cues(), |_, _| {}), 1.04e6);
    // Half of the target in a second, below 400 kbit/s.
    assert_eq!(target(fast, |media, _| media.target = 300e3), 330e3);
    // (4 * 0.1)^2 is less than 0.2; (4 * 0.2)^2.
    assert_eq!(target(fast, |media, _| media.own.inflection = Some(1e6 / 0.9)), 1.008e6);
    let near = target(fast, |media, _| media.own.inflection = Some(1.25e6));
    assert!((near - (1e6 + 0.64 * 40e3)).abs() < 1.0, "{near}");
    // At most twice what is used, less with a lasting trend.
    assert_eq!(target(cues(), |_, rate| *rate = 400e3), 800e3);
    let lasting = Cues { lasting_trend: 0.5, ..cues() };
    assert_eq!(target(lasting, |_, rate| *rate = 400e3), 600e3);
    // 25000 bytes behind: 10^6 - 200000 are left, more than the ramp; of 30 ms age.
    let queued = |media: &mut Media, _: &mut f32| {
        assert!(media.queue.push(rtp(25_000, Ticks(NOW.0 - SECOND * 3 / 100))));
    };
    assert!((target(cues(), queued) - 1.04e6 * 0.95).abs() < 0.5);
    // 150000 bytes: 200 kbit/s less, and 5 % for their age.
    let full = |media: &mut Media, _: &mut f32| {
        assert!(media.queue.push(rtp(150_000, Ticks(NOW.0 - SECOND * 3 / 100))));
    };
    assert!((target(cues(), full) - 0.8e6 * 0.95).abs() < 0.5);
    for (loss, ce) in [(true, false), (false, true)] {
        let mut v1 = sender(Version::Rfc8298);
        let media = &mut v1.streams[0];
        (media.own.loss_event, media.own.ce_event) = (loss, ce);
        media.update_target(NOW, Law::Rfc8298, &v1.config, cues());
        assert_eq!((media.target, media.own.inflection), (900e3, Some(1e6)));
    }
}

// KAT scream1 8: updateCwnd
#[test]
fn the_window_of_2020_follows_the_distance_from_the_delay_target() {
    let cwnd = |change: fn(&mut V1)| {
        updated(Version::V2020, |v1| {
            rates(v1, 1e6);
            change(v1);
        })
        .cwnd
    };
    // 0.5 * 2000 * 1000 / 20000
    assert_eq!(cwnd(|v1| v1.queue_delay = 0.03), 20_050);
    // Ten times as fast down: -0.5 * 10 * 2000 * 1000 / 20000.
    assert_eq!(cwnd(|v1| v1.queue_delay = 0.09), 19_500);
    // At most a quarter.
    assert_eq!(cwnd(|v1| v1.queue_delay = 6.0), 15_000);
    // 15000 * 1.2 + 2000 = 20000: not used.
    assert_eq!(cwnd(|v1| v1.in_flight = 15_000), 20_000);
    assert_eq!(cwnd(|v1| v1.in_flight = 15_001), 20_100);
    assert_eq!(cwnd(|v1| v1.control.fast_increase = true), 22_000);
    // 1.25 * 1 Mbit/s * 0.25 s / 8 = 39062 bytes, and twice the packet where little is known.
    assert_eq!(
        cwnd(|v1| {
            v1.control.fast_increase = true;
            v1.newly_acked = 50_000;
        }),
        59_062
    );
    assert_eq!(
        cwnd(|v1| {
            v1.control.fast_increase = true;
            v1.newly_acked = 50_000;
            rates(v1, 90e3);
        }),
        22_000
    );
    assert_eq!(cwnd(|v1| v1.loss_event = true), 18_000);
    assert_eq!(cwnd(|v1| v1.ce_event = true), 18_000);
    assert_eq!(
        cwnd(|v1| {
            v1.ce_event = true;
            (v1.config.l4s, v1.alpha) = (true, 0.5);
        }),
        15_000
    );
}

// KAT scream1 9: maxInFlight, short RTTs
#[test]
fn the_window_of_2020_stays_near_what_was_in_flight() {
    let with = |trend, srtt| {
        updated(Version::V2020, |v1| {
            rates(v1, 1e6);
            v1.queue_delay = 0.06;
            v1.srtt = srtt;
            v1.cwnd = 40_000;
            v1.control.trend = Trend::new(NOW);
            v1.control.trend.now = trend;
            v1.control.flights = InFlight::new(HISTORY_2020);
            v1.control.flights.see(20_000);
            v1.in_flight = 10_000;
        })
        .cwnd
    };
    assert_eq!(with(0.0, 0.1), 24_000);
    // 1.2 * (20000 * 0.5 + 10000 * 0.5)
    assert_eq!(with(0.5, 0.1), 18_000);
    // 1.5 * 24000
    assert_eq!(with(0.0, 0.009), 36_000);
}

// KAT scream1 10: queueDelayMinAvg
#[test]
fn the_tool_of_2020_forgets_a_base_that_hides_a_standing_queue() {
    for (standing, restarts) in [(0.014, false), (0.016, true)] {
        let v1 = updated(Version::V2020, |v1| {
            assert_eq!(v1.base.sample(NOW, 1000, None), super::super::delay::Sample::Delay(0));
            (v1.queue_delay, v1.control.delay_min_mean) = (1.0, standing);
        });
        let mut base = v1.base;
        let again = base.sample(NOW, 5000, None);
        let expected = if restarts { 0 } else { 4000 };
        assert_eq!(again, super::super::delay::Sample::Delay(expected));
    }
}

// KAT scream1 11: paceInterval
#[test]
fn the_tool_of_2020_paces_once_there_is_a_queue() {
    let pace = |fraction, l4s| {
        updated(Version::V2020, |v1| {
            rates(v1, 1e6);
            v1.config.l4s = l4s;
            v1.control.trend.fraction = fraction;
        })
        .pace
    };
    assert_eq!(pace(0.02, false), 0.0);
    // 1.5 * 20000 * 8 / 0.1 s
    for paced in [pace(0.03, false), pace(0.0, true)] {
        assert!((paced - 8000.0 / 2.4e6).abs() < 1e-8, "{paced}");
    }
}

// KAT scream1 12: updateTarget
#[test]
fn the_target_of_2020_follows_what_the_path_carries() {
    let config = Config::new(Version::V2020);
    let with =
        |cues, change: fn(&mut Media, &mut f32)| target(Version::V2020, cues, &config, change);
    let near = |ours: f32, theirs: f32| assert!((ours - theirs).abs() < 1.0, "{ours} {theirs}");
    let fast = Cues { fast_increase: true, ..cues() };
    // Half of the target in a second.
    near(with(fast, |_, _| {}), 1.1e6);
    near(with(fast, |media, _| media.about.priority = 0.25), 1.05e6);
    near(with(fast, |media, _| media.own.inflection = Some(1.25e6)), 1e6 + 0.64 * 0.1e6);
    near(with(fast, |media, _| media.own.inflection = Some(1e6)), 1e6 + 0.05 * 0.1e6);
    near(with(Cues { competes: true, ..fast }, |_, _| {}), 1.2e6);
    // The target is more than 1.25 times what is carried.
    near(with(fast, |_, rate| *rate = 790e3), 1e6);
    // 1.01 Mbit/s * (1 + 0.05 * 0.05)
    near(with(cues(), |_, rate| *rate = 1.01e6), 1.01e6 * 1.0025);
    let ahead = Cues { trend: 0.5, ..cues() };
    near(with(ahead, |_, rate| *rate = 1.1e6), 1.1e6 * 1.0025 * 0.975);
    // Down: only if the encoder uses the target and follows it.
    near(with(cues(), |_, rate| *rate = 900e3), 1e6);
    let ours = target(Version::V2020, cues(), &config, |media, rate| {
        *rate = 900e3;
        media.target = 890e3 / 0.99;
    });
    near(ours, 900e3 * (1.0 + 0.05 * 50e3 / (890e3 / 0.99)));
    // 20 ms of the target are in the queue: no more than that counts, half of it at once, and it stops
    // growth.
    let queued = |media: &mut Media, rate: &mut f32| {
        *rate = 1.2e6;
        assert!(media.queue.push(rtp(60_000, NOW)));
    };
    near(with(cues(), queued), 1e6);
}

// KAT scream1 13: target after a loss or mark, inflection point
#[test]
fn the_target_of_2020_backs_off_once_per_event() {
    let with = |loss, ce, l4s, alpha| {
        let mut v1 = sender(Version::V2020);
        rates(&mut v1, 950e3);
        v1.config.l4s = l4s;
        let media = &mut v1.streams[0];
        (media.own.loss_event, media.own.ce_event) = (loss, ce);
        let cues = Cues { alpha, ..cues() };
        media.update_target(NOW, Law::Y2020, &v1.config, cues);
        let after = media.target;
        media.update_target(NOW, Law::Y2020, &v1.config, cues);
        assert!(!media.own.loss_event && !media.own.ce_event);
        (after, media.own.inflection)
    };
    assert_eq!(with(true, false, false, 0.0), (900e3, Some(950e3)));
    assert_eq!(with(false, true, false, 0.0), (900e3, Some(950e3)));
    assert_eq!(with(false, true, true, 0.4), (900e3, Some(950e3)));
    assert_eq!(with(true, true, true, 0.4), (900e3, Some(950e3)));
    // Only 30 s after the last one.
    let mut media = sender(Version::V2020).streams.remove(0);
    media.own.last_inflection = Ticks(NOW.0 - 2_000_000);
    media.own.loss_event = true;
    media.back_off_2020(NOW, &Config::new(Version::V2020), 0.0);
    assert_eq!(media.own.inflection, None);
}

/// Sends `count` packets, and has them reported with these codepoints.
fn report(v1: &mut V1, marks: &[Ecn]) -> u32 {
    let sent = Ticks(NOW.0 - 6554);
    v1.last_transmit = sent;
    for seq in 0..marks.len() as u16 {
        let rtp = Rtp { seq, ..rtp(1000, sent) };
        assert!(v1.push(sent, 0, rtp));
        v1.transmit(sent, 0).unwrap();
    }
    let metrics: Vec<Metric> =
        marks.iter().map(|&ecn| Metric { received: Some(Ticks(7)), ecn }).collect();
    let mut lines = 0;
    v1.on_block(NOW, 1, 0, metrics.into_iter(), false, &mut |_| lines += 1);
    lines
}

// KAT scream1 19: the tool of 2020 saw marks of the last packet of a report only
#[test]
fn a_mark_of_any_packet_of_a_report_counts() {
    for parity in [false, true] {
        let mut v1 = sender(Version::V2020);
        v1.config.parity = parity;
        v1.control.fast_increase = true;
        let lines = report(&mut v1, &[Ecn::Ect0, Ecn::Ce, Ecn::Ect0]);
        assert_eq!((v1.cwnd, v1.control.fast_increase, lines), (18_000, false, 1));
    }
}

// KAT scream1 14: alpha per RTT, up twice as fast
#[test]
fn alpha_rises_twice_as_fast_as_it_falls() {
    let alpha = |marks: &[Ecn]| {
        let mut v1 = sender(Version::V2020);
        v1.config.l4s = true;
        report(&mut v1, marks);
        v1.alpha
    };
    let (ce, not) = (Ecn::Ce, Ecn::Ect1);
    assert!((alpha(&[ce, ce, not, not]) - (0.25 * 0.5 + 0.75 * 0.1)).abs() < 1e-6);
    assert!((alpha(&[not; 4]) - 0.875 * 0.1).abs() < 1e-6);
}

// KAT scream1 15: loss after 10 ms
#[test]
fn a_gap_is_a_loss_after_ten_milliseconds() {
    for (later, lost) in [(655, 0), (656, 1)] {
        let mut v1 = sender(Version::V2020);
        v1.config.parity = true;
        let first = Ticks(NOW.0 - 6554);
        for (seq, at) in [(0, first), (1, Ticks(first.0 + later))] {
            let rtp = Rtp { seq, ..rtp(1000, at) };
            assert!(v1.push(at, 0, rtp));
            v1.transmit(at, 0).unwrap();
        }
        let metric = |received| Metric { received, ecn: Ecn::NotEct };
        let metrics = [metric(None), metric(Some(Ticks(7)))];
        v1.on_block(NOW, 1, 0, metrics.into_iter(), false, &mut |_| {});
        assert_eq!(v1.streams[0].packets_lost, lost);
        assert_eq!(v1.cwnd == 18_000, lost > 0);
    }
}

// KAT scream-streams 3: adjustPriorities
#[test]
fn streams_that_want_more_than_they_make_give_way() {
    for (trend, expected) in [(0.03, [0.9e6, 1e6]), (0.01, [1e6, 1e6])] {
        let mut v1 = sender(Version::V2020);
        v1.add_stream(stream(2)).unwrap();
        v1.control.trend.now = trend;
        for (media, lost) in v1.streams.iter_mut().zip([100.0, 300.0]) {
            (media.active, media.turn.lost) = (true, lost);
        }
        v1.adjust_priorities();
        assert_eq!([v1.streams[0].target, v1.streams[1].target], expected);
        assert_eq!(v1.streams[1].turn.lost, 0.0);
    }
}

// KAT scream1 16: sRtt starts at 0
#[test]
fn the_first_rtt_counts_whole_but_in_parity() {
    for (parity, srtt) in [(true, 0.1 / 8.0 / 8.0), (false, 0.1)] {
        let mut v1 = V1::new(Config { parity, ..Config::new(Version::V2020) }, Ticks(65));
        v1.add_stream(stream(1)).unwrap();
        report(&mut v1, &[Ecn::NotEct]);
        assert!((v1.srtt - srtt).abs() < 2e-4, "{}", v1.srtt);
    }
}
