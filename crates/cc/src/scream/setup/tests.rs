use super::super::config::SIZES;
use super::*;
use crate as cc;

fn setup(text: &str) -> Setup {
    cc::read(text).expect("valid").scream().expect("SCReAM").clone()
}

fn error(text: &str) -> String {
    cc::read(text).expect_err("refused").0
}

// EricssonResearch/scream c8f84c3, scream_sender.cpp.
#[test]
fn parameters_are_the_tools_options() {
    let plain = setup("scream");
    assert_eq!((plain.config.version, plain.ecn), (Version::V2026, Ecn::Ect1));
    assert_eq!((plain.stream.max_rate, plain.microburst), (500e6, Dur::from_micros(500)));
    assert_eq!((plain.timer_slack, plain.count), (Dur::ZERO, Count::Exact));
    assert_eq!((plain.config.initial_cwnd, plain.config.least_cwnd), (12_500, 2424));
    let old = setup("scream version 2024-10-28 parity ect0 mtu 1000,1360 scale 0.8 queue 100ms");
    assert_eq!((old.stream.max_rate, old.microburst), (200e6, Dur::from_millis(1)));
    assert_eq!((old.timer_slack, old.packet_cost), (Dur::from_micros(60), Dur::from_micros(5)));
    assert_eq!((old.count, old.config.l4s, old.config.parity), (Count::LessOne, false, true));
    assert_eq!((old.config.mtus.as_slice(), old.config.least_cwnd), (&[1000, 1360][..], 2744));
    assert_eq!((old.config.ecn_beta, old.stream.max_queue_delay), (0.8, 0.1));
    let fixed = setup("scream fixed_rate 20Mbit");
    assert_eq!((fixed.stream.min_rate, fixed.stream.max_rate), (20e6, 20e6));
    assert_eq!((fixed.config.loss_beta, fixed.stream.max_queue_delay), (1.0, 10.0));
    assert_eq!(setup("scream min_rate 3Mbit").stream.init_rate, 3e6);
    let first = setup("scream version 2020-03-20 ect0 ramp_up 1Mbit");
    assert_eq!((first.config.ecn_beta, first.config.ramp_up_speed), (0.9, 1e6));
    assert_eq!((first.config.drain_interval, first.config.least_cwnd), (Some(30.0), 5000));
    assert_eq!(setup("scream version 2020-03-20 drain 0").config.drain_interval, None);
    assert!(!setup("scream version 2020-03-20 fixed_rate 5Mbit").config.pacing);
    let rfc = setup("scream version rfc8298 ect0").config;
    assert_eq!((rfc.delay_target, rfc.initial_cwnd, rfc.reorder_time), (0.1, 3000, 0.01));
    assert_eq!(setup("scream max_rate 500kbit").stream.min_rate, 500e3);
}

#[test]
fn the_text_form_reads_the_same() {
    for text in [
        "scream",
        "scream version 2024-10-31 parity noecn max_rate 20Mbit fixed_rate 5Mbit mtu 500,900",
        "scream nopace clock_drift scale 0.5 microburst 2ms ackdiff 1 reported 1 count legacy",
        "scream version 2020-03-20 ramp_up 3Mbit gain_down 2 drain 60s",
        "scream timer_slack 10us packet_cost 0 packets_in_flight 20 hysteresis 0.1 policer",
    ] {
        let first = cc::read(text).expect("valid");
        let again = cc::read(&first.to_string()).expect("valid");
        assert_eq!((&again, again.scream()), (&first, first.scream()));
    }
}

#[test]
fn errors_say_what_is_expected() {
    assert_eq!(
        error("scream version 2025-01-29"),
        "scream: `version 2025-01-29`: expected one of rfc8298, 2020-03-20, 2024-10-28, \
         2024-10-31, draft, 2026-06-30"
    );
    assert_eq!(
        error("scream microburst 50us"),
        "scream: `microburst 50us`: expected a time from 200us to 20ms"
    );
    assert_eq!(error("scream mtu 1200,900"), format!("scream: `mtu 1200,900`: expected {SIZES}"));
    assert_eq!(
        error("scream min_rate 3Mbit max_rate 2Mbit"),
        "scream: min_rate 3Mbit is more than max_rate 2Mbit"
    );
}
