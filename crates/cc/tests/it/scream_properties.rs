//! SCReAM's sender under any sequence of calls and any reports: duplicate, old, future, wrapped, of
//! unknown streams. Nothing panics, and nothing grows or falls below its bounds.

use proptest::prelude::*;
use sojourn_cc::scream::{Config, Metric, Permit, Rtp, Sender, Stream, Ticks, Version};
use sojourn_core::Ecn;

#[derive(Clone, Debug)]
enum Call {
    Wait(u32),
    Target(usize),
    Push { stream: usize, bytes: u32, seq: u16, timestamp: u32, marker: bool },
    Send(u8),
    Report { ssrc: u32, begin: u16, metrics: Vec<Option<(u32, u8)>>, detailed: bool },
    Acknowledge { stream: usize, count: u8, ce: bool },
    Discarded,
    Priority(usize, f32),
    Rates(usize, f32, f32),
    Most(Option<f32>),
}

fn calls() -> impl Strategy<Value = Call> {
    let metric = prop_oneof![Just(None), (0..200_000_u32, 0..4_u8).prop_map(Some)];
    prop_oneof![
        4 => prop_oneof![0..100_u32, 0..2000_u32, 0..200_000_u32, any::<u32>()].prop_map(Call::Wait),
        2 => (0..3_usize).prop_map(Call::Target),
        6 => (0..3_usize, 13..1500_u32, 0..3_u16, any::<bool>()).prop_map(
            |(stream, bytes, skip, marker)| {
                Call::Push { stream, bytes, seq: skip, timestamp: 0, marker }
            }
        ),
        1 => (0..3_usize, any::<u32>(), any::<u16>(), any::<u32>(), any::<bool>()).prop_map(
            |(stream, bytes, seq, timestamp, marker)| {
                Call::Push { stream, bytes, seq, timestamp, marker }
            }
        ),
        6 => (1..40_u8).prop_map(Call::Send),
        3 => (0..4_u32, any::<u16>(), prop::collection::vec(metric, 0..100), any::<bool>())
            .prop_map(|(ssrc, begin, metrics, detailed)| {
                Call::Report { ssrc, begin, metrics, detailed }
            }),
        6 => (0..3_usize, 1..80_u8, any::<bool>())
            .prop_map(|(stream, count, ce)| Call::Acknowledge { stream, count, ce }),
        1 => Just(Call::Discarded),
        1 => (0..4_usize, -1.0..2.0_f32).prop_map(|(stream, to)| Call::Priority(stream, to)),
        1 => (0..4_usize, 0.0..1e7_f32, 0.0..1e8_f32)
            .prop_map(|(stream, min, max)| Call::Rates(stream, min, max)),
        1 => prop::option::of(-1.0..1e8_f32).prop_map(Call::Most),
    ]
}

fn configs() -> impl Strategy<Value = Config> {
    let versions = prop::sample::select(Version::ALL);
    (versions, any::<[bool; 9]>(), 0.1..1.0_f32).prop_map(|((_, version), flags, beta)| {
        let [parity, l4s, pacing, open, relaxed, drift, bottleneck, policer, tune] = flags;
        Config {
            parity,
            l4s,
            pacing,
            open_window: open,
            relaxed_pacing: relaxed,
            clock_drift: drift,
            shared_bottleneck: bottleneck,
            policer_protection: policer,
            autotune_least_cwnd: tune,
            loss_beta: beta,
            ecn_beta: beta,
            mtus: vec![300, 600, 1200],
            least_packets_in_flight: 10 * u32::from(tune),
            ..Config::new(version)
        }
    })
}

struct Driver {
    sender: Sender,
    parity: bool,
    /// Least window, bytes: two small packets if it is tuned.
    floor: u32,
    now: u32,
    next: [u16; 3],
    rates: [(f32, f32); 3],
    newest: [u16; 3],
    pushed: u64,
    sent: u64,
}

/// The queues' greatest size, and that of the tables of packets sent.
const QUEUE: u64 = 1 << 13;
const FLIGHT: u64 = 1 << 14;

impl Driver {
    fn call(&mut self, call: Call) -> Result<(), TestCaseError> {
        let now = Ticks(self.now);
        match call {
            Call::Wait(ticks) => self.now = self.now.wrapping_add(ticks),
            Call::Target(stream) => {
                let (min, max) = self.rates[stream];
                let target = self.sender.target(now, stream);
                if self.parity {
                    // With the next packet only, after a change of the bounds.
                    prop_assert!(target.is_none_or(|target| target.is_finite() && target > 0.0));
                } else {
                    let target = target.unwrap();
                    prop_assert!((min..=max).contains(&target), "{target} {min} {max}");
                }
            }
            Call::Push { stream, bytes, seq, timestamp, marker } => {
                let seq = self.next[stream].wrapping_add(seq);
                self.next[stream] = seq.wrapping_add(1);
                let queued = now;
                let rtp = Rtp { seq, bytes, timestamp, marker, queued, handle: 0 };
                self.pushed += u64::from(self.sender.push(now, stream, rtp));
                let (min, max) = self.rates[stream];
                if bytes <= 65_535
                    && let Some(target) = self.sender.target(now, stream)
                {
                    // The original halves the least rate, too.
                    let least = if self.parity { min / 2.0 } else { min };
                    prop_assert!((least..=max).contains(&target), "{target} {min} {max}");
                }
            }
            Call::Send(count) => {
                for _ in 0..count {
                    let Permit::Send { stream, after } = self.sender.may_transmit(now) else {
                        break;
                    };
                    prop_assert!(after >= 0.0);
                    let left = self.sender.transmit(now, stream).unwrap();
                    self.newest[stream] = left.packet.seq;
                    self.sent += 1;
                    prop_assert!(left.pace.is_finite() && left.queue_delay >= 0.0);
                }
            }
            Call::Report { ssrc, begin, metrics, detailed } => {
                let metrics = metrics.into_iter().map(|metric| Metric {
                    received: metric.map(|(ago, _)| Ticks(self.now.wrapping_sub(ago))),
                    ecn: Ecn::from_tos(metric.map_or(0, |(_, ecn)| ecn)),
                });
                let mut bad = 0;
                self.sender.on_block(now, ssrc, begin, metrics, detailed, &mut |line| {
                    bad += u32::from(
                        !line.target.is_finite() || i32::try_from(line.in_flight).is_err(),
                    );
                });
                prop_assert_eq!(bad, 0);
            }
            Call::Acknowledge { stream, count, ce } => {
                let begin = self.newest[stream].wrapping_sub(u16::from(count) - 1);
                let ecn = if ce { Ecn::Ce } else { Ecn::Ect1 };
                let metrics = vec![Metric { received: Some(now), ecn }; usize::from(count)];
                let ssrc = stream as u32;
                self.sender.on_block(now, ssrc, begin, metrics.into_iter(), false, &mut |_| {});
            }
            Call::Discarded => while self.sender.take_discarded().is_some() {},
            Call::Priority(stream, priority) => {
                let accepted = self.sender.set_priority(stream, priority);
                prop_assert_eq!(accepted, stream < 3 && (0.001..=1.0).contains(&priority));
            }
            Call::Rates(stream, min, max) => {
                if self.sender.set_rates(stream, min, max) {
                    self.rates[stream] = (min, max);
                }
            }
            Call::Most(rate) => self.sender.set_max_total_rate(rate),
        }
        self.check()
    }

    fn check(&mut self) -> Result<(), TestCaseError> {
        let s = self.sender.snapshot();
        if self.pushed > 0 {
            prop_assert!(s.cwnd >= self.floor && i32::try_from(s.cwnd).is_ok(), "{s:?}");
        }
        prop_assert!(u64::from(s.in_flight) <= 3 * FLIGHT * 65_535, "{s:?}");
        for value in [s.queue_delay, s.queue_delay_mean, s.delay_target, s.srtt, s.pace] {
            prop_assert!(value.is_finite(), "{s:?}");
        }
        prop_assert!((0.0..=1.0).contains(&s.alpha) && (0.0..=1.0).contains(&s.loss_rate));
        let mut here = 0;
        for stream in 0..3 {
            let state = self.sender.stream_snapshot(Ticks(self.now), stream).unwrap();
            prop_assert!(u64::from(state.queue_packets) <= QUEUE);
            here += u64::from(state.queue_packets) + state.packets_discarded;
        }
        // Each packet is somewhere.
        prop_assert_eq!(here + self.sent, self.pushed);
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn any_calls_keep_the_bounds(config in configs(), start in any::<u32>(),
                                 calls in prop::collection::vec(calls(), 1..300)) {
        let parity = config.parity;
        let floor = if config.autotune_least_cwnd { 200 } else { config.least_cwnd };
        let mut sender = Sender::new(config, Ticks(start));
        let rates = [(1e5, 5e6), (1e6, 2e8), (1e3, 1e3)];
        for (ssrc, (min_rate, max_rate)) in rates.into_iter().enumerate() {
            let priority = [1.0, 0.3, 0.01][ssrc];
            let ssrc = ssrc as u32;
            let init_rate = min_rate;
            let stream = Stream { priority, min_rate, init_rate, max_rate, ..Stream::new(ssrc) };
            sender.add_stream(stream).unwrap();
        }
        let mut driver = Driver {
            sender, parity, floor, now: start, next: [0, 65_500, 7], rates, newest: [0; 3],
            pushed: 0, sent: 0,
        };
        for call in calls {
            driver.call(call)?;
        }
        driver.call(Call::Discarded)?;
    }
}
