//! Runs in which time stands still end, and say where.

use sojourn_scenario::load;

fn refused(text: &str) -> String {
    let text = format!("name = \"test\"\nduration = \"1s\"\n{text}");
    let parsed = load(&text, "test.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let output = sojourn_sim::run(&parsed.scenario);
    output.expect_err("time stands still").to_string()
}

const FLOW: &str = "[[flow]]\nname = \"f\"\ncc = \"cubic\"\n";

#[test]
fn a_path_that_loses_its_delay_ends_the_run_and_is_named() {
    let link = "[[link]]\nname = \"l\"\ndelay = \"1ms\"\n";
    let change = "[[schedule]]\nat = \"500ms\"\nset = { \"link.l.delay\" = \"0s\" }\n";
    let message = refused(&format!("{link}{FLOW}{change}"));
    assert_eq!(
        message,
        "flow.f: time stands still at 500ms: packets and answers cross link.l in no time; a rate \
         or a delay is missing"
    );
}

#[test]
fn a_source_that_sends_too_much_at_once_is_named() {
    let link = "[[link]]\nname = \"l\"\nrate = \"1Mbit\"\n";
    let app = "[[flow]]\nname = \"f\"\napp = \"video rate 10Tbit fps 1\"\n";
    let message = refused(&format!("{link}{app}"));
    assert!(message.contains("flow.f") && message.contains("without a gap"), "{message}");
}

#[test]
fn many_flows_may_start_at_one_instant() {
    let text = format!(
        "name = \"test\"\nduration = \"20ms\"\n[[link]]\nname = \"l\"\nrate = \"1Gbit\"\n\
         delay = \"5ms\"\n{FLOW}flows = 2000\ntcp.initial_cwnd = 1000\n"
    );
    let parsed = load(&text, "test.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    assert!(sojourn_sim::run(&parsed.scenario).is_ok());
}
