//! What holds whatever the network does. The pipe itself asserts delivery in order, honest ACKs
//! and both windows at every step.

use proptest::prelude::*;
use sojourn_cc::{self as cc, Feedback};
use sojourn_core::{Dur, Ecn, Rate, Rng};
use sojourn_transport::tcp::{Config, Era};

use super::pipe::{Fate, Passing, Pipe, at_ms, ms};

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

/// What a middlebox does to ECN, always or in the handshake only, and how many ACKs it lets pass.
#[derive(Clone, Debug)]
struct Middlebox {
    /// Flags that are left of SYN, SYN/ACK, third ACK and all else.
    flags: [u8; 4],
    /// What codepoints become.
    codepoints: [Ecn; 4],
    drops_ecn_syn: bool,
    strips_option: bool,
    /// One ACK of this number passes, besides all that report loss.
    thins_to_one_of: u64,
}

const CODEPOINTS: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];

impl Middlebox {
    fn mangler(&self) -> impl FnMut(&mut Passing) -> bool + 'static {
        let (box_, mut acks) = (self.clone(), 0);
        move |p| {
            let (syn, ack) = (p.segment.flags.syn, p.segment.flags.ack);
            if syn && !ack && p.segment.ace != 0 && box_.drops_ecn_syn {
                return false;
            }
            let kind = match (syn, ack, p.forward && !p.data) {
                (true, false, _) => 0,
                (true, true, _) => 1,
                (false, _, true) => 2,
                _ => 3,
            };
            p.segment.ace &= box_.flags[kind];
            p.ecn = box_.codepoints[CODEPOINTS.iter().position(|c| *c == p.ecn).expect("listed")];
            if box_.strips_option {
                p.segment.accecn = None;
            }
            let plain_ack = !p.forward && !syn && p.segment.sack.is_empty();
            acks += u64::from(plain_ack);
            !plain_ack || acks % box_.thins_to_one_of == 0
        }
    }
}

prop_compose! {
    fn middlebox()(
        honest in any::<bool>(),
        flags in prop::array::uniform4(0_u8..8),
        spoils in prop::array::uniform4(prop::bool::weighted(0.3)),
        codepoints in prop::array::uniform4(prop::sample::select(&CODEPOINTS[..])),
        bends in prop::array::uniform4(prop::bool::weighted(0.2)),
        drops_ecn_syn in prop::bool::weighted(0.2),
        strips_option in any::<bool>(),
        thins_to_one_of in prop::sample::select(&[1_u64, 1, 1, 2, 4, 16][..]),
    ) -> Middlebox {
        let mut all = Middlebox {
            flags: [7; 4], codepoints: CODEPOINTS, drops_ecn_syn, strips_option, thins_to_one_of,
        };
        if honest {
            return Middlebox { drops_ecn_syn: false, strips_option: false, ..all };
        }
        for i in 0..4 {
            if spoils[i] { all.flags[i] = flags[i]; }
            if bends[i] { all.codepoints[i] = codepoints[i]; }
        }
        all
    }
}

#[derive(Clone, Debug)]
struct Case {
    cc: &'static str,
    config: Config,
    delay: Dur,
    bottleneck: Option<(u64, usize)>,
    weather: Weather,
    middlebox: Middlebox,
}

/// GSO, GRO and its timeout in microseconds.
fn offloads() -> impl Strategy<Value = (bool, bool, u64)> {
    (any::<bool>(), any::<bool>(), 0_u64..2000)
}

prop_compose! {
    fn case()(
        weather in weather(),
        middlebox in middlebox(),
        era in prop::sample::select(&[Era::E2019, Era::E2020, Era::E5_15, Era::E6, Era::E7][..]),
        (gso, gro, hold_us) in offloads(),
        cc in prop::sample::select(&CONTROLLERS[..]),
        ecn in prop::sample::select(&FEEDBACK[..]),
        bytes in 0_u64..600_000,
        delay_us in 100_u64..100_000,
        bottleneck in prop::option::of((1_000_000_u64..50_000_000, 5_usize..100)),
        option in any::<bool>(),
        timestamps in any::<bool>(),
        pacing in any::<bool>(),
        control_rtts in 0_u32..3,
        ecn_plus_plus in any::<bool>(),
        hz in prop::sample::select(&[100_u32, 250, 1000][..]),
    ) -> Case {
        let config = Config {
            ecn, accecn_option: option, timestamps, pacing, control_rtts, hz,
            gso, gro, gro_flush_timeout: Dur::from_micros(hold_us),
            ecn_plus_plus, bytes: Some(bytes), ..Config::of(era)
        };
        Case { cc, config, delay: Dur::from_micros(delay_us), bottleneck, weather, middlebox }
    }
}

impl Case {
    /// draft-briscoe-iccrg-prague-congestion-control-04 has no least rate: where every packet is marked,
    /// each cut doubles the time to the next segment, and a transfer takes as long as one waits.
    fn starves(&self) -> bool {
        self.cc == "prague version draft04" && self.middlebox.codepoints[1] == Ecn::Ce
    }

    fn pipe(&self) -> Pipe {
        let pipe = Pipe::new(self.cc, self.config.clone(), self.delay)
            .mangler(self.middlebox.mangler())
            .rule(self.weather.rule());
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
        prop_assume!(!case.starves());
        let mut pipe = case.pipe();
        // A loss may cost two minutes by law, and without timestamps the timeout stays there.
        pipe.finish(at_ms(1_000_000_000));
        prop_assert_eq!(pipe.rx.delivered(), case.config.bytes.unwrap_or(0));
        prop_assert_eq!(pipe.total("acked_bytes"), pipe.rx.delivered());
        // One segment is the window of a timeout; reductions stop at two (Linux).
        prop_assert!(pipe.reductions.iter().all(|(_, ssthresh)| *ssthresh >= 2));
        prop_assert!(pipe.smallest_cwnd >= 1);
        let floor = if case.cc.starts_with("bbr") { 4 } else { 2 };
        // A marked SYN of ECN++ costs the initial window, and so does a second SYN that is lost.
        let syns = pipe.log.iter().filter(|p| p.segment.flags.syn && !p.segment.flags.ack).count();
        let opens_with_one = case.config.ecn_plus_plus || syns > 2;
        prop_assert!(opens_with_one || pipe.smallest_open_cwnd >= floor);
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
        case.middlebox = Middlebox { drops_ecn_syn: false, thins_to_one_of: 1, ..case.middlebox };
        prop_assume!(!case.starves());
        let mut pipe = case.pipe();
        pipe.finish(at_ms(1_000_000));
        prop_assert_eq!(pipe.retransmissions().len(), 0);
        prop_assert_eq!(pipe.total("retransmits"), 0);
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
        prop_assume!(!case.starves());
        case.weather = Weather { move_by: Dur::ZERO, loss: case.weather.loss.min(10), ..case.weather };
        // The answer to what was repeated because an ACK was lost echoes a time before the timeout (such a
        // segment lies below the window), which is an RTT sample.
        case.weather.ack_loss = 0;
        case.middlebox.thins_to_one_of = 1;
        case.bottleneck = None;
        let mut pipe = case.pipe();
        pipe.finish(at_ms(10_000_000));
        // RTT samples lie between the path's RTT and that plus a delayed ACK of 200 ms. A SYN/ACK that is repeated echoes
        // the first SYN, so that the handshake's sample is all the time since (more than a SYN and a SYN/ACK).
        let syns: Vec<_> = pipe.log.iter().filter(|p| p.segment.flags.syn).collect();
        let opened = pipe.data().next().map_or(Dur::ZERO, |data| data.at.since(syns[0].at));
        let handshake = if syns.len() > 2 { opened } else { Dur::ZERO };
        let rtt = (case.delay * 2 + ms(200)).max(handshake);
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
