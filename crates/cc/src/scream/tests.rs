//! The sender before a path of its own: a link with a queue that marks or drops, and a receiver that
//! reports every 10 ms. The originals' logs are in the tests of the crate `transport`.

use std::collections::VecDeque;

use sojourn_core::Ecn;

use super::*;

const SECOND: u32 = 65_536;
const DELAY: u32 = SECOND / 80;
const FIRST: u32 = 65;

fn config(version: Version) -> Config {
    Config { l4s: true, ..Config::new(version) }
}

fn rtp(seq: u16, bytes: u32, now: u32) -> Rtp {
    let timestamp = (u64::from(now) * 90_000 / u64::from(SECOND)) as u32;
    Rtp { seq, bytes, timestamp, marker: true, queued: Ticks(now), handle: u64::from(seq) }
}

struct Bench {
    sender: Sender,
    now: u32,
    /// bit/s.
    link: f64,
    free: f64,
    /// Arrival at the receiver, stream, number, mark.
    path: VecDeque<(u32, usize, u16, Ecn)>,
    arrived: Vec<VecDeque<(u32, u16, Ecn)>>,
    next: Vec<u16>,
    sent: Vec<u64>,
    targets: Vec<f32>,
    /// First numbers and timestamps.
    origin: (u16, u32),
    lose_every: u16,
    padded: bool,
}

impl Bench {
    fn new(config: Config, streams: &[Stream], link: f64) -> Self {
        let mut sender = Sender::new(config, Ticks(FIRST));
        for stream in streams {
            sender.add_stream(*stream).unwrap();
        }
        let count = streams.len();
        Self {
            sender,
            now: FIRST,
            link,
            free: 0.0,
            path: VecDeque::new(),
            arrived: vec![VecDeque::new(); count],
            next: vec![0; count],
            sent: vec![0; count],
            targets: vec![0.0; count],
            origin: (0, 0),
            lose_every: 0,
            padded: false,
        }
    }

    fn run(&mut self, seconds: u32) {
        for _ in 0..seconds * SECOND / 8 {
            self.step();
            self.now += 8; // an eighth of a millisecond
        }
    }

    fn step(&mut self) {
        let now = Ticks(self.now);
        if (self.now - FIRST).is_multiple_of(1312) {
            self.frames();
        }
        while let Some(&(at, stream, seq, ecn)) = self.path.front()
            && at <= self.now
        {
            self.path.pop_front();
            self.arrived[stream].push_back((at, seq, ecn));
        }
        if (self.now - FIRST).is_multiple_of(656) {
            self.reports();
        }
        while let Permit::Send { stream, after } = self.sender.may_transmit(now)
            && after * 65_536.0 < 8.0
        {
            let packet = self.sender.transmit(now, stream).unwrap().packet;
            self.sent[stream] += u64::from(packet.bytes);
            let time = f64::from(self.now);
            let start = self.free.max(time);
            self.free = start + f64::from(packet.bytes * 8) / self.link * f64::from(SECOND);
            let ecn = if start - time > 66.0 { Ecn::Ce } else { Ecn::Ect1 };
            let is_lost = self.lose_every > 0 && packet.seq.is_multiple_of(self.lose_every);
            if !is_lost {
                self.path.push_back((self.free as u32 + DELAY, stream, packet.seq, ecn));
            }
        }
    }

    fn frames(&mut self) {
        for stream in 0..self.next.len() {
            let Some(target) = self.sender.target(Ticks(self.now), stream) else { continue };
            self.targets[stream] = target;
            let mut bytes = (target / 50.0 / 8.0) as u32;
            while bytes > 0 {
                let payload = bytes.min(1200);
                bytes -= payload;
                let seq = self.next[stream].wrapping_add(self.origin.0);
                let mut packet = rtp(seq, payload + 12, self.now);
                packet.timestamp = packet.timestamp.wrapping_add(self.origin.1);
                packet.marker = bytes == 0;
                self.next[stream] = self.next[stream].wrapping_add(1);
                self.sender.push(Ticks(self.now), stream, packet);
            }
        }
        while self.sender.take_discarded().is_some() {}
    }

    fn reports(&mut self) {
        for (stream, arrived) in self.arrived.iter_mut().enumerate() {
            let (Some(&(_, first, _)), Some(&(_, last, _))) = (arrived.front(), arrived.back())
            else {
                continue;
            };
            let count = last.wrapping_sub(first) + 1 + 3 * u16::from(self.padded);
            let metrics: Vec<Metric> = (0..count)
                .map(|n| {
                    let seq = first.wrapping_add(n);
                    let known = arrived.iter().find(|(_, number, _)| *number == seq);
                    let ecn = known.map_or(Ecn::NotEct, |known| known.2);
                    Metric { received: known.map(|known| Ticks(known.0)), ecn }
                })
                .collect();
            arrived.clear();
            // The way back takes no time.
            let ssrc = stream as u32;
            self.sender.on_block(
                Ticks(self.now),
                ssrc,
                first,
                metrics.into_iter(),
                false,
                &mut |_| {},
            );
        }
    }

    fn rate(&mut self, seconds: u32) -> Vec<f64> {
        let before = self.sent.clone();
        self.run(seconds);
        let sent = self.sent.iter().zip(before);
        sent.map(|(after, before)| (after - before) as f64 * 8.0 / f64::from(seconds)).collect()
    }
}

fn stream(ssrc: u32) -> Stream {
    Stream { ssrc, min_rate: 100e3, init_rate: 500e3, max_rate: 100e6, ..Stream::new(ssrc) }
}

#[test]
fn every_version_fills_a_link_with_little_delay() {
    for &(_, version) in Version::ALL.iter().filter(|(_, version)| version.is_v2()) {
        let mut bench = Bench::new(config(version), &[stream(0)], 20e6);
        bench.run(20);
        let rate = bench.rate(10)[0];
        assert!((10e6..20e6).contains(&rate), "{version:?}: {rate}");
        let summary = bench.sender.summary();
        assert!(summary.queue_delays.mean < 0.005, "{version:?}: {summary:?}");
        assert_eq!(summary.loss.all, 0.0);
        assert!(summary.ce.all > 0.1 && summary.ecn[3] > 0.1, "{version:?}: {summary:?}");
    }
}

// KAT scream2 9: rates by priority
#[test]
fn streams_share_a_link_by_priority() {
    let streams = [stream(0), Stream { priority: 0.5, ..stream(1) }];
    let mut bench = Bench::new(config(Version::V2026), &streams, 20e6);
    bench.run(15);
    let rates = bench.rate(10);
    assert!((rates[0] / rates[1] - 2.0).abs() < 0.1, "{rates:?}");
    assert!(bench.sender.set_priority(0, 0.25));
    bench.run(5);
    let rates = bench.rate(10);
    assert!((rates[1] / rates[0] - 2.0).abs() < 0.1, "{rates:?}");
    // A stream that is bounded leaves the rest to the other.
    assert!(bench.sender.set_rates(1, 100e3, 1e6));
    bench.run(5);
    let rates = bench.rate(10);
    assert!(rates[1] < 1.1e6 && rates[0] > 10e6, "{rates:?}");
}

#[test]
fn ten_streams_of_one_priority_get_the_same_and_there_is_no_eleventh() {
    let streams: Vec<Stream> = (0..10).map(stream).collect();
    let mut bench = Bench::new(config(Version::V2026), &streams, 50e6);
    assert_eq!(bench.sender.add_stream(stream(10)), None);
    bench.run(20);
    let rates = bench.rate(10);
    let sum: f64 = rates.iter().sum();
    assert!(sum > 20e6, "{rates:?}");
    assert!(rates.iter().all(|rate| (rate / sum - 0.1).abs() < 0.0002), "{rates:?}");
}

// KAT scream-streams 2: credits
#[test]
fn full_queues_are_served_by_priority() {
    let mut sender = Sender::new(Config::fixed_rate(Version::V2026, 1200), Ticks(FIRST));
    for (ssrc, priority) in [(0, 1.0), (1, 0.5), (2, 0.25)] {
        sender.add_stream(Stream { priority, ..stream(ssrc) }).unwrap();
    }
    let mut served = [0; 3];
    for n in 0..700_u16 {
        let now = FIRST + u32::from(n) * 8;
        for index in 0..3 {
            sender.push(Ticks(now), index, rtp(n, 1212, now));
        }
        let Permit::Send { stream, .. } = sender.may_transmit(Ticks(now)) else { panic!() };
        sender.transmit(Ticks(now), stream).unwrap();
        served[stream] += 1;
    }
    // Whoever waited longest is next among those with credit: more than by priority for the first.
    assert!(served[0] > 2 * served[1] && served[1] > 2 * served[2] && served[2] > 50, "{served:?}");
}

#[test]
fn the_sum_of_the_rates_can_be_bounded() {
    let mut bench = Bench::new(config(Version::V2026), &[stream(0), stream(1)], 50e6);
    bench.sender.set_max_total_rate(Some(6e6));
    bench.run(15);
    let sum: f64 = bench.rate(5).iter().sum();
    assert!((4e6..6.6e6).contains(&sum), "{sum}");
}

// KAT scream-tx 12: the tool of 2026 is stuck at 3 to 5 Mbit/s
#[test]
fn a_fixed_rate_is_sent_with_every_version() {
    for &(_, version) in Version::ALL {
        for parity in [false, true] {
            let rate = 80e6;
            let fixed = Stream {
                min_rate: rate,
                init_rate: rate,
                max_rate: rate,
                max_queue_delay: 10.0,
                ..stream(0)
            };
            let config = Config { parity, l4s: true, ..Config::fixed_rate(version, 1200) };
            let mut bench = Bench::new(config, &[fixed], 1e9);
            bench.run(2);
            let sent = bench.rate(5)[0];
            assert!(
                (sent / f64::from(rate) / 1.01 - 1.0).abs() < 0.01,
                "{version:?} {parity}: {sent}"
            );
        }
    }
}

// KAT scream2 10: the window of the original is its least for ever after about 100 s
#[test]
fn the_window_survives_a_long_session() {
    for parity in [false, true] {
        let mut bench = Bench::new(Config { parity, ..config(Version::V2026) }, &[stream(0)], 5e6);
        bench.run(150);
        let rate = bench.rate(10)[0];
        assert!(rate > 2.5e6, "{rate}");
    }
}

// KAT scream2 15: a random first timestamp freezes the original's view of losses (issue 76)
#[test]
fn losses_are_seen_from_any_first_number_and_timestamp() {
    for origin in [(0, 0), (65_500, u32::MAX - 45_000), (1000, 3_000_000_000)] {
        let mut bench = Bench::new(config(Version::V2024), &[stream(0)], 20e6);
        (bench.origin, bench.lose_every) = (origin, 100);
        bench.run(3);
        let sent = u64::from(bench.next[0]);
        let lost = bench.sender.stream_snapshot(Ticks(bench.now), 0).unwrap().packets_lost;
        assert!((sent / 100).abs_diff(lost) <= 2 + sent / 1000, "{origin:?}: {lost} of {sent}");
        assert!(bench.sender.take_loss_epoch(0) && !bench.sender.take_loss_epoch(0));
    }
}

// KAT scream2 1: the original's control loop runs only if the last word of a block has R = 1
#[test]
fn blocks_may_end_in_packets_that_did_not_arrive() {
    for (parity, runs) in [(true, false), (false, true)] {
        let mut bench = Bench::new(Config { parity, ..config(Version::V2026) }, &[stream(0)], 20e6);
        bench.padded = true;
        bench.run(5);
        assert_eq!(bench.sender.snapshot().cwnd > 12_500, runs);
    }
}

// KAT scream2 3: the original forgets the first rate with its first packet
#[test]
fn the_first_rate_lasts_until_the_first_report() {
    for (parity, then) in [(true, 100e3), (false, 500e3)] {
        let config = Config { parity, ..config(Version::V2026) };
        let mut sender = Sender::new(config, Ticks(FIRST));
        sender.add_stream(stream(0)).unwrap();
        assert_eq!(sender.target(Ticks(FIRST), 0), Some(500e3));
        assert!(sender.push(Ticks(FIRST), 0, rtp(0, 1212, FIRST)));
        assert_eq!(sender.target(Ticks(FIRST + 1310), 0), Some(then));
    }
}

// KAT scream-tx 13: after a discard the original's source skips one frame, never two
#[test]
fn a_queue_that_is_too_old_is_thrown_away() {
    for parity in [true, false] {
        let mut sender = Sender::new(Config { parity, ..config(Version::V2026) }, Ticks(FIRST));
        sender.add_stream(stream(0)).unwrap();
        for n in 0..4_u16 {
            assert!(sender.push(Ticks(FIRST), 0, rtp(n, 1212, FIRST)));
        }
        let later = FIRST + SECOND / 2;
        assert!(sender.push(Ticks(later), 0, rtp(4, 1212, later)));
        let handles: Vec<u64> = std::iter::from_fn(|| sender.take_discarded()).collect();
        assert_eq!(handles, [0, 1, 2, 3, 4]);
        assert!(sender.take_loss_epoch(0));
        assert_eq!(sender.stream_snapshot(Ticks(later), 0).unwrap().packets_discarded, 5);
        assert_eq!(sender.target(Ticks(later), 0).is_none(), parity);
        assert!(sender.target(Ticks(later), 0).is_some());
    }
}

// KAT scream2 6: 0.5 s without a packet empties the table
#[test]
fn silence_of_the_receiver_opens_the_window_again_and_again() {
    let mut sender = Sender::new(config(Version::V2026), Ticks(FIRST));
    sender.add_stream(Stream { max_queue_delay: 60.0, ..stream(0) }).unwrap();
    for n in 0..300_u16 {
        assert!(sender.push(Ticks(FIRST), 0, rtp(n, 1212, FIRST)));
    }
    let mut leave = |now: u32| {
        let mut count = 0;
        while let Permit::Send { stream, .. } = sender.may_transmit(Ticks(now)) {
            sender.transmit(Ticks(now), stream).unwrap();
            count += 1;
        }
        count
    };
    // 5 * 12500 B + 1212 B in packets of 1212 B.
    assert_eq!(leave(FIRST + 1), 52);
    assert_eq!(leave(FIRST + SECOND / 2), 0);
    assert_eq!(leave(FIRST + SECOND / 2 + 2), 52);
}

// KAT scream2 12: payload sizes
#[test]
fn a_slow_path_gets_small_packets() {
    let config = Config {
        mtus: vec![300, 600, 1200],
        least_packets_in_flight: 10,
        ..config(Version::V2026)
    };
    let mut bench = Bench::new(config.clone(), &[stream(0)], 1e6);
    assert_eq!(bench.sender.payload(), 1200);
    bench.run(15);
    assert!(bench.sender.payload() < 1200, "{}", bench.sender.payload());
    let mut bench = Bench::new(config, &[stream(0)], 50e6);
    bench.run(30);
    assert_eq!(bench.sender.payload(), 1200);
}

// KAT scream2 13: quality index
#[test]
fn quality_is_rate_queue_and_rtt() {
    let mut bench = Bench::new(config(Version::V2026), &[stream(0)], 20e6);
    assert_eq!(bench.sender.quality_index(Ticks(bench.now), 0, 5e6, 0.0125), 0.0);
    bench.run(20);
    let now = Ticks(bench.now);
    let good = bench.sender.quality_index(now, 0, 5e6, 0.02);
    let poor = bench.sender.quality_index(now, 0, 50e6, 0.02);
    assert!(good > 50.0 && poor < good / 2.0, "{good} {poor}");
    assert_eq!(bench.sender.quality_index(now, 0, 5e6, 0.001), 0.0);
    assert_eq!(bench.sender.quality_index(now, 1, 5e6, 0.02), 0.0);
}

#[test]
fn options_do_what_they_say() {
    let base = config(Version::V2026);
    let mut relaxed = Bench::new(
        Config { relaxed_pacing: true, ..base.clone() },
        &[Stream { max_rate: 2e6, ..stream(0) }],
        50e6,
    );
    let mut plain = Bench::new(base.clone(), &[Stream { max_rate: 2e6, ..stream(0) }], 50e6);
    relaxed.run(10);
    plain.run(10);
    assert!(relaxed.sender.snapshot().pace < plain.sender.snapshot().pace / 3.0);

    let mut unpaced = Sender::new(Config { pacing: false, ..base.clone() }, Ticks(FIRST));
    unpaced.add_stream(stream(0)).unwrap();
    for n in 0..4_u16 {
        unpaced.push(Ticks(FIRST), 0, rtp(n, 1212, FIRST));
    }
    for _ in 0..4 {
        assert_eq!(unpaced.may_transmit(Ticks(FIRST)), Permit::Send { stream: 0, after: 0.0 });
        assert_eq!(unpaced.transmit(Ticks(FIRST), 0).unwrap().pace, 0.0);
    }

    let mut tuned = Bench::new(
        Config { autotune_least_cwnd: true, ..base },
        &[Stream { min_rate: 10e6, init_rate: 10e6, ..stream(0) }],
        2e6,
    );
    tuned.run(10);
    let snapshot = tuned.sender.snapshot();
    let least = 10e6 / 8.0 * snapshot.srtt;
    assert!(snapshot.cwnd as f32 > 0.8 * least, "{} {least}", snapshot.cwnd);
}

#[test]
fn faults_of_parameters_are_named() {
    let base = Config::new(Version::V2026);
    let fault = |config: Config| config.check().unwrap_err();
    assert_eq!(base.check(), Ok(()));
    assert_eq!(
        fault(Config { loss_beta: f32::NAN, ..base.clone() }),
        "loss_beta: expected a number from 0 to 1"
    );
    assert_eq!(
        fault(Config { mtus: vec![1200, 900], ..base.clone() }),
        "mtus: expected 1 to 10 increasing sizes from 1 to 65495"
    );
    assert_eq!(
        Stream { min_rate: 2e6, ..Stream::new(1) }.check().unwrap_err(),
        "rates: expected 1 kbit/s <= min <= init <= max <= 100 Gbit/s"
    );
    let mut sender = Sender::new(base, Ticks(FIRST));
    sender.add_stream(stream(0)).unwrap();
    assert!(!sender.set_priority(0, 0.0) && !sender.set_priority(1, 1.0));
    assert!(!sender.set_rates(0, 2e6, 1e6) && sender.set_rates(0, 1e6, 2e6));
}

#[test]
fn a_late_report_empties_the_queue_only_in_parity() {
    let discarded = |parity| {
        let config = Config { parity, ..Config::new(Version::V2026) };
        let mut sender = Sender::new(config, Ticks(FIRST));
        sender.add_stream(stream(1)).unwrap();
        let mut now = FIRST;
        for seq in 0..2000 {
            now += 66;
            sender.push(Ticks(now), 0, rtp(seq, 1000, now));
            sender.may_transmit(Ticks(now));
            sender.transmit(Ticks(now), 0);
            let received = Some(Ticks(now));
            // The packet was not late, only its report: the receiver had no CPU.
            now += if seq == 1999 { SECOND / 10 } else { 7 };
            let metric = Metric { received, ecn: Ecn::NotEct };
            sender.on_block(Ticks(now), 1, seq, [metric].into_iter(), false, &mut |_| ());
        }
        std::iter::from_fn(|| sender.take_discarded()).for_each(drop);
        sender.push(Ticks(now), 0, rtp(2000, 1000, now));
        sender.take_discarded()
    };
    assert_eq!(discarded(true), Some(2000), "the original's quirk");
    assert_eq!(discarded(false), None);
}

#[test]
fn pacing_follows_any_rate_but_in_parity() {
    let pace = |parity| {
        let fixed = Config::fixed_rate(Version::V2026, 1200);
        let config = Config { parity, pace_headroom: 4.0, ..fixed };
        let rate = 400e6;
        let fast = Stream { min_rate: rate, init_rate: rate, max_rate: rate, ..stream(0) };
        let mut bench = Bench::new(config, &[fast], 10e9);
        bench.run(2);
        bench.sender.snapshot().pace
    };
    assert_eq!(pace(true), 10e-6);
    assert!(pace(false) < 7e-6, "{}", pace(false));
}

#[test]
fn version_1_keeps_streams_alive_and_a_bound_of_their_sum() {
    let streams = [stream(0), Stream { priority: 0.5, ..stream(1) }];
    let mut bench = Bench::new(config(Version::V2020), &streams, 10e6);
    bench.run(20);
    let rates = bench.rate(20);
    let sum = rates[0] + rates[1];
    // Packets are paced at the window's rate, not the target's: a step at 1 ms leaves a third.
    assert!((2e6..10.1e6).contains(&sum), "{rates:?}");
    assert!(rates.iter().all(|&rate| rate > 0.1 * sum), "{rates:?}");
    bench.sender.set_max_total_rate(Some(2e6));
    bench.run(5);
    let sum: f64 = bench.rate(5).iter().sum();
    assert!((1e6..2.2e6).contains(&sum), "{sum}");
}
