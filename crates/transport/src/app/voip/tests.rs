#![allow(clippy::disallowed_methods, reason = "what is expected may be the platform's")]

use super::*;
use crate::app::build;
use crate::app::udp::tests::{departures, mbps};

fn voice(text: &str) -> Voice {
    let App::Udp(source) = build(text).unwrap() else { panic!() };
    source.voice().expect("a call")
}

#[test]
fn a_g711_call_is_eighty_kilobits_of_ip_and_fifty_packets_per_second() {
    assert_eq!(departures("voip", 1).len(), 50);
    assert!((mbps("voip", 10) - 0.080).abs() < 1e-9);
    assert!((mbps("voip codec g729", 10) - 0.024).abs() < 1e-9);
}

// The two figures that Cole and Rosenbluth's formula gives by hand: 100 ms without loss, and
// 200 ms with 2 % of loss.
#[test]
fn rating_falls_with_delay_and_loss_as_the_formula_says() {
    let call = voice("voip buffer 60ms");
    assert!((call.r_factor(20.0, 0.0) - 91.8).abs() < 1e-9);
    let (delay, loss) = (0.024 * 200.0 + 0.11 * 22.7, 30.0 * 1.3_f64.ln());
    assert!((call.r_factor(120.0, 0.02) - (94.2 - delay - loss)).abs() < 1e-9);
    assert!(voice("voip codec g729").r_factor(20.0, 0.0) < call.r_factor(20.0, 0.0) - 10.0);
    assert!((Voice::mos(93.2) - 4.41).abs() < 0.01);
    assert_eq!((Voice::mos(-3.0), Voice::mos(120.0)), (1.0, 4.5));
}
