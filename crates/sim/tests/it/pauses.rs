//! A run in turns: it may stop at any instant, shows what it has sampled, and ends as it would have.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use sojourn_core::{Dur, Time};
use sojourn_scenario::{Engine, Run, Scenario, Status, complete, load};
use sojourn_sim::Simulator;
use sojourn_trace::{Column, Output};

fn scenario(more: &str) -> Arc<Scenario> {
    let text = format!(
        "name = \"test\"\nduration = \"2s\"\n{more}\n[[link]]\nname = \"l\"\nrate = \"20Mbit\"\n\
         delay = \"5ms\"\nqdisc = \"dualpi2\"\n[[flow]]\nname = \"f\"\ncc = \"prague\"\n\
         [[flow]]\nname = \"g\"\ncc = \"cubic\"\nstart = \"500ms\"\n"
    );
    Arc::new(load(&text, "test.toml", &[]).unwrap_or_else(|e| panic!("{e}")).scenario)
}

fn start(scenario: &Arc<Scenario>) -> Box<dyn Run> {
    Simulator::new("test", |_, _| Ok(None))
        .start(Arc::clone(scenario), None)
        .expect("it runs everything")
}

fn documents(output: &Output) -> (String, String) {
    (output.summary_json(), output.queues_json())
}

fn until(run: &mut dyn Run, instant: Time) -> Status {
    loop {
        let status = run.advance(instant).expect("time moves");
        if status != Status::Going {
            return status;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn pauses_change_no_byte_and_what_is_drained_is_the_whole(
        mut pauses in prop::collection::vec(0..2_000_000_000_u64, 0..8)
    ) {
        let scenario = scenario("");
        let whole = complete(start(&scenario)).expect("time moves");
        pauses.sort_unstable();
        let mut run = start(&scenario);
        let mut drained = Vec::new();
        for pause in pauses {
            prop_assert_eq!(until(&mut *run, Time(pause)), Status::Paused);
            prop_assert_eq!(run.now(), Time(pause));
            run.drain(&mut drained);
            let last = drained.iter().filter_map(|c| c.t.last()).fold(0.0, |a: f64, b| a.max(*b));
            prop_assert!(last <= run.now().as_secs_f64());
        }
        prop_assert_eq!(until(&mut *run, Time::NEVER), Status::Ended);
        prop_assert_eq!(run.advance(Time::NEVER), Ok(Status::Ended));
        run.drain(&mut drained);
        let output = run.finish().expect("results");
        prop_assert_eq!(documents(&output), documents(&whole));
        let mut parts = BTreeMap::<&str, (Vec<f64>, Vec<f64>)>::new();
        for Column { name, t, v, .. } in &drained {
            let (times, values) = parts.entry(name).or_default();
            times.extend(t);
            values.extend(v);
        }
        for Column { name, t, v, .. } in &whole.series {
            // The last sample is that of the end itself.
            let (times, values) = parts.get(name.as_str()).expect("a series");
            prop_assert_eq!(times, &t[..times.len()]);
            prop_assert_eq!(values.len(), times.len());
            let same = values.iter().zip(v).all(|(a, b)| a.to_bits() == b.to_bits());
            prop_assert!(same && t.len() - times.len() <= 1, "{}", name);
        }
    }
}

#[test]
fn a_run_that_is_stopped_early_leaves_what_it_has() {
    let mut run = start(&scenario(""));
    assert_eq!(until(&mut *run, Time::ZERO + Dur::from_millis(700)), Status::Paused);
    let output = run.finish().expect("results");
    assert!(!output.summary.complete);
    assert!((output.summary.duration_s - 0.7).abs() < 1e-9, "{}", output.summary.duration_s);
    assert!(output.series.iter().any(|column| column.name == "flow.f.cwnd"));
}

#[test]
fn a_turn_is_short_however_rarely_the_run_is_sampled() {
    let mut run = start(&scenario("step = \"2s\""));
    let mut turns = 1;
    while run.advance(Time::NEVER).expect("time moves") == Status::Going {
        turns += 1;
    }
    let events = run.finish().expect("results").summary.events;
    assert!(events / turns < 4096, "{turns} turns for {events} events");
}
