//! Known answers of NADA's signal and rate, and its parts.

#![allow(clippy::disallowed_methods, reason = "what is expected may be the platform's")]

use super::*;
use crate::build;

fn nada(options: &str) -> Nada {
    Nada::new(crate::params(&format!("nada {options}")))
}

/// Packets 10 ms apart, each of 1250 bytes, with this queuing delay beyond 30 ms.
fn feed(cc: &mut Nada, from: u64, delays_ms: &[Option<f64>], ecn: Ecn) {
    for (i, delay) in delays_ms.iter().enumerate() {
        let seq = from + i as u64;
        let sent = Time(seq * 10_000_000);
        let received = delay.map(|d| sent + Dur(30_000_000 + (d * 1e6) as u64));
        let report = PacketReport { seq, bytes: 1250, sent, received, ecn };
        cc.take(&report, Dur::from_millis(50));
    }
    cc.aggregate();
}

// KAT nada 1: x = PRIO XREF RMAX / r is where the gradual update rests
#[test]
fn gradual_update_rests_where_the_signal_is_xref_times_rmax_over_the_rate() {
    for (share, x) in [(1.0, 10.0), (0.5, 20.0), (0.25, 40.0)] {
        let mut cc = nada("rmax 4Mbit");
        let rate = share * 4e6;
        let hundredths = |cc: &mut Nada, signal: f64| {
            (cc.x_curr, cc.x_prev, cc.r_ref, cc.accelerated) = (signal, signal, rate, false);
            cc.updated = None;
            cc.update(Time::ZERO, Dur::from_millis(50));
            (cc.r_ref / rate - 1.0) * 1e4
        };
        assert!(hundredths(&mut cc, x).abs() < 1e-6, "{share}");
        assert!(hundredths(&mut cc, x * 1.05) < -0.1, "{share}");
        if share < 1.0 {
            assert!(hundredths(&mut cc, x * 0.95) > 0.1, "{share}");
        }
    }
}

// KAT nada 2
#[test]
fn ramp_up_is_bounded_by_the_delay_that_it_may_cause() {
    let mut cc = nada("rmax 10Mbit");
    (cc.r_recv, cc.accelerated) = (1e6, true);
    cc.update(Time::ZERO, Dur::from_millis(80));
    assert!((cc.r_ref / 1e6 - (1.0 + 50.0 / 300.0)).abs() < 1e-9, "gamma 0.167");
    // Never down, and at most GAMMA_MAX.
    cc.r_recv = 0.5e6;
    cc.update(Time::ZERO, Dur::from_millis(80));
    assert!(cc.r_ref > 1.16e6);
    let mut cc = nada("rmax 10Mbit delta 1ms dfilt 1ms");
    cc.r_recv = 1e6;
    cc.update(Time::ZERO, Dur::from_millis(1));
    assert_eq!(cc.r_ref, 1.5e6);
}

#[test]
fn gradual_update_is_equation_7() {
    let mut cc = nada("rmax 3Mbit");
    cc.updated = Some(Time::ZERO);
    (cc.r_ref, cc.x_prev, cc.x_curr, cc.accelerated) = (1e6, 20.0, 40.0, false);
    cc.update(Time::ZERO + Dur::from_millis(100), Dur::from_millis(50));
    // offset 40 - 10 * 3 = 10, difference 20.
    let expected = 1e6 * (1.0 - 0.5 * (100.0 / 500.0) * (10.0 / 500.0) - 0.5 * 2.0 * 20.0 / 500.0);
    assert!((cc.r_ref - expected).abs() < 1e-6);
}

#[test]
fn delay_is_the_least_of_fifteen_above_the_base() {
    let mut cc = nada("");
    feed(&mut cc, 0, &[Some(0.0)], Ecn::Ect0);
    feed(&mut cc, 1, &[Some(30.0); 14], Ecn::Ect0);
    assert_eq!(cc.d_queue, 0.0, "the base is one of the last fifteen");
    feed(&mut cc, 15, &[Some(30.0)], Ecn::Ect0);
    assert_eq!((cc.d_queue, cc.x_curr), (30.0, 30.0));
    feed(&mut cc, 16, &[Some(80.0), Some(12.0)], Ecn::Ect0);
    assert_eq!(cc.x_curr, 12.0);
}

#[test]
fn clocks_of_the_ends_need_not_agree() {
    let mut cc = nada("");
    for seq in 0..20_u64 {
        let sent = Time(1_000_000_000 * 3600 + seq * 10_000_000);
        let queued = if seq == 0 { 0 } else { 25_000_000 };
        let received = Some(Time(5_000_000_000 + seq * 10_000_000 + queued));
        cc.take(&PacketReport { seq, bytes: 1250, sent, received, ecn: Ecn::Ect0 }, Dur::ZERO);
    }
    cc.aggregate();
    assert_eq!(cc.d_queue, 25.0);
}

// KAT nada 3
#[test]
fn marks_and_losses_add_the_square_of_their_ratio() {
    let mut cc = nada("alpha 1");
    let steady = [Some(0.0); 98];
    feed(&mut cc, 0, &steady, Ecn::Ect0);
    feed(&mut cc, 98, &[Some(0.0)], Ecn::Ce);
    // One of the 50 packets of LOGWIN: 2 % is twice PMRREF.
    assert!((cc.p_mark - 0.02).abs() < 1e-12);
    assert!((cc.x_curr - 2.0 * 4.0).abs() < 1e-9);
    let mut cc = nada("alpha 1");
    feed(&mut cc, 0, &steady, Ecn::Ect0);
    feed(&mut cc, 98, &[None, Some(0.0)], Ecn::Ect0);
    // A missing packet takes the time of the one before: 51 are in the window.
    assert!((cc.p_loss - 1.0 / 50.0).abs() < 1e-12, "{}", cc.p_loss);
    assert!((cc.x_curr - 10.0 * 4.0).abs() < 1e-9);
    feed(&mut cc, 100, &[None; 40], Ecn::Ect0);
    feed(&mut cc, 140, &[Some(0.0)], Ecn::Ect0);
    assert_eq!(cc.x_curr, 500.0, "bounded");
    let mut deaf = nada("alpha 1 noecn");
    feed(&mut deaf, 0, &steady, Ecn::Ce);
    assert_eq!(deaf.x_curr, 0.0);
}

#[test]
fn mode_is_gradual_for_logwin_after_a_loss_a_mark_or_a_queue() {
    for (event, ecn) in [(None, Ecn::Ect0), (Some(0.0), Ecn::Ce), (Some(10.0), Ecn::Ect0)] {
        let mut cc = nada("alpha 1");
        feed(&mut cc, 0, &[Some(0.0); 60], Ecn::Ect0);
        assert!(cc.accelerated);
        // Two marks of 50 are 8 ms and more.
        feed(&mut cc, 60, &[event, event, event], ecn);
        feed(&mut cc, 63, &[Some(0.0)], Ecn::Ect0);
        assert!(!cc.accelerated, "{event:?} {ecn:?}");
        feed(&mut cc, 64, &[Some(0.0); 45], Ecn::Ect0);
        assert!(!cc.accelerated || ecn == Ecn::Ce, "{event:?} {ecn:?}");
        feed(&mut cc, 109, &[Some(0.0); 6], Ecn::Ect0);
        assert!(cc.accelerated, "{event:?} {ecn:?}");
    }
}

// KAT nada 4
#[test]
fn long_delay_is_warped_while_losses_are_recent() {
    let mut cc = nada("dloss 1ms plrref 1");
    feed(&mut cc, 0, &[Some(0.0); 20], Ecn::Ect0);
    feed(&mut cc, 20, &[Some(100.0); 20], Ecn::Ect0);
    assert_eq!(cc.d_tilde, 100.0, "no loss yet");
    feed(&mut cc, 40, &[None, Some(100.0)], Ecn::Ect0);
    assert!((cc.d_tilde - 50.0 * (-0.5_f64).exp()).abs() < 1e-9, "{}", cc.d_tilde);
    // 41 packets before the loss: it expires after seven times as many.
    feed(&mut cc, 42, &[Some(100.0); 286], Ecn::Ect0);
    assert!(cc.d_tilde < 50.0);
    feed(&mut cc, 328, &[Some(100.0)], Ecn::Ect0);
    assert_eq!(cc.d_tilde, 100.0);
}

#[test]
fn below_qth_nothing_is_warped() {
    let mut cc = nada("plrref 1");
    feed(&mut cc, 0, &[Some(0.0); 20], Ecn::Ect0);
    feed(&mut cc, 20, &[None], Ecn::Ect0);
    feed(&mut cc, 21, &[Some(49.0); 16], Ecn::Ect0);
    assert_eq!(cc.d_tilde, 49.0);
}

#[test]
fn loss_intervals_are_weighted_and_those_of_one_rtt_are_one() {
    let mut losses = LossIntervals::default();
    let rtt = Dur::from_millis(50);
    let mut now = Time::ZERO;
    for interval in [100, 10] {
        for _ in 0..interval {
            losses.packet();
        }
        now += Dur::from_millis(1000);
        losses.loss(now, rtt);
        losses.loss(now + Dur::from_millis(20), rtt);
    }
    assert_eq!(losses.mean(), Some(55.0));
    for _ in 0..7 {
        now += Dur::from_millis(1000);
        losses.packet();
        losses.loss(now, rtt);
    }
    // The 100 has left; the oldest of eight weighs 0.2.
    assert_eq!(losses.mean(), Some((5.8 + 0.2 * 10.0) / 6.0));
}

#[test]
fn received_rate_is_what_arrived_within_logwin() {
    let mut cc = nada("");
    feed(&mut cc, 0, &[Some(0.0); 200], Ecn::Ect0);
    assert_eq!(cc.r_recv, 1e6);
}

#[test]
fn a_packet_that_comes_late_stays_lost() {
    let mut cc = nada("alpha 1");
    feed(&mut cc, 0, &[Some(0.0), None, Some(0.0)], Ecn::Ect0);
    let lost = cc.log.lost;
    feed(&mut cc, 1, &[Some(20.0)], Ecn::Ect0);
    assert_eq!((cc.log.lost, lost), (1, 1));
}

#[test]
fn the_senders_queue_slows_the_encoder_and_speeds_the_pacer() {
    let mut cc = nada("rmax 4Mbit");
    cc.r_ref = 2e6;
    let rates = |queued| {
        let out = cc.output(&Path { queued, ..Path::default() }, &Window::new(10));
        (out.media_target.expect("a target").0, out.pacing_rate.expect("a pace").0)
    };
    assert_eq!(rates(0), (2_000_000, 2_000_000));
    // 0.1 * 8 * 1000 * 30 = 24 kbit/s.
    assert_eq!(rates(1000), (1_976_000, 2_024_000));
    assert_eq!(rates(1_000_000), (1_900_000, 2_100_000), "at most 5 %");
}

#[test]
fn rates_stay_between_rmin_and_rmax_whatever_is_reported() {
    let mut rng = sojourn_core::rng::Rng::named(3, "nada");
    let mut cc = nada("rmax 5Mbit");
    let mut now = Time::ZERO;
    let mut seq = 0_u64;
    for _ in 0..2000 {
        let weather = rng.below(4);
        let reports: Vec<PacketReport> = (0..rng.below(20))
            .map(|_| {
                seq += u64::from(1 + rng.below(3));
                now += Dur(u64::from(rng.below(20_000_000)));
                let wait = Dur(u64::from(rng.below(1 + 300_000_000 * weather / 3)));
                let received = (rng.below(10) >= weather).then_some(now + wait);
                let ecn = if rng.below(10) < weather { Ecn::Ce } else { Ecn::Ect0 };
                PacketReport { seq, bytes: 1 + rng.below(1500), sent: now, received, ecn }
            })
            .collect();
        let path = Path { srtt: Dur(u64::from(rng.below(500_000_000))), ..Path::default() };
        cc.on_ack(now, &Ack { reports: &reports, ..Ack::new(&path) }, &mut Window::new(10));
        assert!((150e3..=5e6).contains(&cc.r_ref), "{}", cc.r_ref);
        assert!((0.0..=500.0).contains(&cc.x_curr));
    }
}

#[test]
fn wrong_parameters_are_refused_with_what_is_allowed() {
    let error = |text| build(text).err().expect("refused").0;
    assert_eq!(error("nada rmin 2Mbit"), "nada: expected 5Kbit <= rmin <= rmax <= 10Gbit");
    assert!(error("nada tau 0ms").contains("expected a time from 1ms to 10s"));
    assert!(error("nada rmx 1Mbit").contains("did you mean `rmax`?"));
}
