//! The controller in place of Prague in a run of the suite ect1.

use std::sync::Once;

use sojourn_cc as cc;
use sojourn_sim::run;

/// Mbit/s, of the 50 of the link.
fn goodput(controller: &str) -> f64 {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| cc::register(rust_controller::ENTRY).expect("a free name"));
    let text = include_str!("../../scenario.toml");
    let overrides = [("flow.prague.cc".to_owned(), controller.to_owned())];
    let parsed = sojourn_scenario::load(text, "scenario.toml", &overrides).expect("valid");
    let output = run(&parsed.scenario).expect("time moves");
    output.summary.flows.iter().find(|flow| flow.name == "prague").expect("it").goodput_mbps
}

#[test]
fn it_fills_the_link_of_the_suite_and_its_words_count() {
    let (own, meek) = (goodput("myaimd"), goodput("myaimd beta 0.3 boost 1"));
    assert!((40.0..50.0).contains(&own), "{own} Mbit/s");
    assert!(meek < own, "{meek} against {own} Mbit/s");
}

#[test]
fn its_name_is_taken_once() {
    goodput("myaimd");
    let said = cc::register(rust_controller::ENTRY).expect_err("taken").0;
    assert_eq!(said, "congestion controller `myaimd`: the name is already taken");
}
