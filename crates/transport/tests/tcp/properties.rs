//! What holds whatever the network does. The pipe itself asserts delivery in order, honest ACKs
//! and both windows at every step.

use proptest::prelude::*;
use sojourn_core::cc::{self, Feedback};
use sojourn_core::{Dur, Rate, Rng};
use sojourn_transport::tcp::Config;

use crate::pipe::{Fate, Passing, Pipe, at_ms, ms};

const CONTROLLERS: [&str; 28] = [
    "bbr version v1",
    "bbr version v2",
    "bbr version v3 ecn",
    "bbr version v3",
    "copa",
    "cubic",
    "cubic-sce mode literal",
    "cubic-sce",
    "dctcp version rfc8257",
    "dctcp",
    "dctcp-sce",
    "ledbat",
    "ledbat++",
    "prague cwnd_mode switch",
    "prague version draft04",
    "prague version p0",
    "prague version p1",
    "prague version p2a",
    "prague version p2b ecn_fallback 0",
    "prague version p3",
    "prague",
    "reno abe",
    "reno",
    "reno-sce mode literal",
    "reno-sce version v2",
    "reno-sce",
    "scalable",
    "vegas",
];

const FEEDBACK: [Feedback; 5] =
    [Feedback::None, Feedback::Rfc3168, Feedback::AccEcn, Feedback::Dctcp, Feedback::Sce];

/// Chances in percent, and how far packets move.
#[derive(Clone, Debug)]
struct Weather {
    seed: u64,
    loss: u32,
    ack_loss: u32,
    mark: u32,
    sce: u32,
    twice: u32,
    late: u32,
    move_by: Dur,
}

impl Weather {
    fn rule(&self) -> impl FnMut(&Passing) -> Fate + 'static {
        let (w, mut rng) = (self.clone(), Rng::named(self.seed, "weather"));
        move |p| {
            let loss = if p.forward { w.loss } else { w.ack_loss };
            let mut dice = rng.below(100);
            let by = Dur(rng.u64() % (w.move_by.0 + 1));
            for (chance, fate) in [
                (loss, Fate::Drop),
                (w.mark, Fate::Mark),
                (w.sce, Fate::Sce),
                (w.twice, Fate::Twice(by)),
                (w.late, Fate::Late(by)),
            ] {
                if dice < chance {
                    // Only what is ECN-capable can be marked.
                    return if fate == Fate::Mark && !p.ecn.is_capable() {
                        Fate::Pass
                    } else {
                        fate
                    };
                }
                dice -= chance;
            }
            Fate::Pass
        }
    }
}

prop_compose! {
    fn weather()(
        seed in any::<u64>(),
        loss in 0_u32..25,
        ack_loss in 0_u32..40,
        mark in 0_u32..20,
        sce in 0_u32..30,
        twice in 0_u32..10,
        late in 0_u32..20,
        move_us in 0_u64..60_000,
    ) -> Weather {
        Weather { seed, loss, ack_loss, mark, sce, twice, late, move_by: Dur::from_micros(move_us) }
    }
}

#[derive(Clone, Debug)]
struct Case {
    cc: &'static str,
    config: Config,
    delay: Dur,
    bottleneck: Option<(u64, usize)>,
    weather: Weather,
}

prop_compose! {
    fn case()(
        weather in weather(),
        cc in prop::sample::select(&CONTROLLERS[..]),
        ecn in prop::sample::select(&FEEDBACK[..]),
        bytes in 0_u64..600_000,
        delay_us in 100_u64..100_000,
        bottleneck in prop::option::of((1_000_000_u64..50_000_000, 5_usize..100)),
        option in any::<bool>(),
        timestamps in any::<bool>(),
        pacing in any::<bool>(),
        control_rtts in 0_u32..3,
        hz in prop::sample::select(&[100_u32, 250, 1000][..]),
    ) -> Case {
        let config = Config {
            ecn, accecn_option: option, timestamps, pacing, control_rtts, hz,
            bytes: Some(bytes), ..Config::default()
        };
        Case { cc, config, delay: Dur::from_micros(delay_us), bottleneck, weather }
    }
}

impl Case {
    fn pipe(&self) -> Pipe {
        let pipe = Pipe::new(self.cc, self.config.clone(), self.delay).rule(self.weather.rule());
        match self.bottleneck {
            Some((rate, limit)) => pipe.bottleneck(Rate(rate), limit).start(),
            None => pipe.start(),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn every_transfer_completes(case in case()) {
        let mut pipe = case.pipe();
        // A loss may cost two minutes by law, and without timestamps the timeout stays there.
        pipe.finish(at_ms(1_000_000_000));
        prop_assert_eq!(pipe.rx.delivered(), case.config.bytes.unwrap_or(0));
        prop_assert_eq!(pipe.total("acked_bytes"), pipe.rx.delivered());
        // One segment is the window of a timeout; reductions stop at two (cc.md 3.12.2).
        prop_assert!(pipe.reductions.iter().all(|(_, ssthresh)| *ssthresh >= 2));
        prop_assert!(pipe.smallest_cwnd >= 1);
    }

    #[test]
    fn the_same_network_gives_the_same_history(case in case()) {
        let history = || {
            let mut pipe = case.pipe();
            pipe.run_until(at_ms(20_000));
            let packets = pipe.log.iter().map(|p| (p.at, p.segment.seq, p.segment.ack, p.segment.ace));
            (packets.collect::<Vec<_>>(), pipe.reductions)
        };
        prop_assert_eq!(history(), history());
    }

    /// Without loss nothing is sent twice and no timer of loss recovery ever fires.
    #[test]
    fn a_clean_path_needs_no_repair(mut case in case()) {
        case.weather = Weather { loss: 0, ack_loss: 0, twice: 0, late: 0, ..case.weather };
        case.bottleneck = None;
        let mut pipe = case.pipe();
        pipe.finish(at_ms(1_000_000));
        prop_assert_eq!(pipe.retransmissions().len(), 0);
        prop_assert_eq!(pipe.total("timeouts"), 0);
        prop_assert_eq!(pipe.total("lost"), 0);
    }

    /// Isolated losses of data are repaired by SACK, RACK and probes alone: no timeout, one copy.
    #[test]
    fn isolated_losses_never_wait_for_a_timeout(
        cc in prop::sample::select(&CONTROLLERS[..]),
        first in 0_u64..400,
        gap in 60_u64..400,
        delay_ms in 1_u64..100,
    ) {
        let config = Config { bytes: Some(600 * 1448), ..Config::default() };
        let lost = move |p: &Passing| p.data && p.copy == 0 && p.index >= first
            && (p.index - first).is_multiple_of(gap);
        let mut pipe = Pipe::new(cc, config, ms(delay_ms))
            .bottleneck(Rate(50_000_000), 1000)
            .rule(move |p| if lost(p) { Fate::Drop } else { Fate::Pass })
            .start();
        pipe.finish(at_ms(1_000_000));
        prop_assert_eq!(pipe.total("timeouts"), 0);
        prop_assert!(pipe.data().all(|p| p.copy <= 1 || p.probe));
    }

    /// Between two transmissions passes at most the timeout, doubled for each one in a row.
    #[test]
    fn silence_is_bounded_by_the_timeout(mut case in case()) {
        case.weather = Weather { move_by: Dur::ZERO, loss: case.weather.loss.min(10), ..case.weather };
        case.weather.ack_loss = case.weather.ack_loss.min(10);
        case.bottleneck = None;
        let mut pipe = case.pipe();
        pipe.finish(at_ms(10_000_000));
        // RTT samples lie between the path's RTT and that plus a delayed ACK of 200 ms.
        let rtt = case.delay * 2 + ms(200);
        let rto = rtt + (rtt * 2).max(ms(200)) + ms(20);
        let doublings = pipe.total("timeouts").min(12) as u32;
        let law = Dur(rto.0 << doublings).max(Dur::from_secs(1) * 8);
        prop_assert!(pipe.longest_silence <= law, "{:?} > {:?}", pipe.longest_silence, law);
    }
}

#[test]
fn every_controller_of_the_registry_is_among_these() {
    for entry in cc::REGISTRY {
        let needs = cc::build(entry.name).expect("defaults are valid").needs();
        if matches!(needs.feedback, Some(Feedback::Counters | Feedback::Ccfb)) {
            continue; // UDP
        }
        assert!(CONTROLLERS.iter().any(|c| c.split(' ').next() == Some(entry.name)));
    }
}
