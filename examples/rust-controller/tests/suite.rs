//! The controller beside CUBIC in a run of the suite ect1.

use std::sync::Once;

use sojourn_core::cc;
use sojourn_sim::run;

fn goodputs(controller: &str) -> [f64; 2] {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| cc::register(rust_controller::ENTRY).expect("a free name"));
    let text = include_str!("../scenario.toml");
    let overrides = [("flow.prague.cc".to_owned(), controller.to_owned())];
    let parsed = sojourn_scenario::load(text, "scenario.toml", &overrides).expect("valid");
    let summary = run(&parsed.scenario, &mut |_| true).summary;
    ["cubic", "prague"].map(|name| {
        summary.flows.iter().find(|flow| flow.name == name).expect("a flow").goodput_mbps
    })
}

#[test]
fn it_competes_in_a_run_of_the_suite_and_its_words_count() {
    let [cubic, own] = goodputs("myaimd");
    assert!(own > 5.0 && cubic > 5.0 && own + cubic < 50.0, "{own} beside {cubic} Mbit/s");
    let [_, meek] = goodputs("myaimd beta 0.3 boost 1");
    assert!(meek < own, "{meek} against {own} Mbit/s");
}

#[test]
fn its_name_is_taken_once() {
    goodputs("myaimd");
    let said = cc::register(rust_controller::ENTRY).expect_err("taken").0;
    assert_eq!(said, "congestion controller `myaimd`: the name is already taken");
}
