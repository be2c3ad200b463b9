use std::sync::mpsc::{Receiver, sync_channel};

use proptest::prelude::*;
use sojourn_core::Dur;

use super::*;

const TEXT: &str = r#"name = "m"
duration = "3000000000s"
step = "1000s"
[[link]]
name = "box"
rate = "10mbit"
qdisc = "codel"
[[flow]]
name = "hosts"
app = "cbr rate 1Mbit"
"#;

fn plan() -> (Plan, Receiver<Order>) {
    let scenario = load(TEXT, "m", &[]).expect("a scenario").scenario;
    let (send, orders) = sync_channel(4);
    (Plan::new(&scenario, Clock::start(), send), orders)
}

/// Answers, and carries out what is ordered in a network of the same form.
fn talk_to(lines: &[&str]) -> Vec<String> {
    let (mut plan, orders) = plan();
    let carrier = thread::spawn(move || {
        let scenario = load(TEXT, "m", &[]).expect("a scenario").scenario;
        let mut simulation = Simulation::new(Arc::new(scenario));
        let mut until = Time::ZERO;
        for order in orders {
            until += Dur::from_millis(20);
            while simulation.advance(until).expect("it moves") == sojourn_scenario::Status::Going {}
            order.carry_out(&mut simulation).expect("it moves");
        }
        simulation.queues().into_iter().map(|queue| queue.qdisc).collect::<Vec<_>>()
    });
    let latest = Latest::default();
    let answer = |line: &&str| match plan.answer(line.as_bytes(), &latest) {
        Ok(value) => value.to_string(),
        Err(error) => error,
    };
    let mut answers: Vec<String> = lines.iter().map(answer).collect();
    drop(plan);
    answers.extend(carrier.join().expect("no panic"));
    answers
}

#[test]
fn queues_are_changed_and_replaced_while_packets_pass() {
    let answers = talk_to(&[
        r#"{"request": "change", "direction": "down", "qdisc": "codel target 9ms"}"#,
        r#"{"request": "replace", "direction": "up", "qdisc": "dualpi2"}"#,
        r#"{"request": "change", "direction": "up", "qdisc": "dualpi2 target 7ms"}"#,
        r#"{"request": "rate", "direction": "down", "rate": "2mbit"}"#,
        r#"{"request": "delay", "direction": "up", "delay": "2ms"}"#,
    ]);
    assert_eq!(answers[..5], ["true"; 5]);
    assert!(answers[5].starts_with("codel") && answers[5].contains("target 9ms"), "{}", answers[5]);
    assert!(
        answers[6].starts_with("dualpi2") && answers[6].contains("target 7ms"),
        "{}",
        answers[6]
    );
}

#[test]
fn what_cannot_be_done_is_said_in_a_line() {
    let cases = [
        (r"{}", "request: missing field `request`"),
        (r"[1,2", "request: "),
        (r#"{"request": "reboot"}"#, "request: unknown variant `reboot`"),
        (r#"{"request": "rate", "direction": "down"}"#, "request: missing field `rate`"),
        (r#"{"request": "rate", "direction": "down", "rate": "fast"}"#, "expected"),
        (
            r#"{"request": "rate", "direction": "down", "rate": "1mbit", "link": "x"}"#,
            "link \"x\": expected",
        ),
        (r#"{"request": "change", "direction": "up", "qdisc": "dualpi2"}"#, ""),
        (
            r#"{"request": "replace", "direction": "up", "qdisc": "x\"\n[[link]]\nname = \"y"}"#,
            "unknown",
        ),
        (r#"{"request": "stats"}"#, "no reading yet"),
    ];
    let lines: Vec<_> = cases.iter().map(|(line, _)| *line).collect();
    for ((line, start), answer) in cases.iter().zip(talk_to(&lines)) {
        assert!(answer.starts_with(start) && answer != "true", "{line}: {answer}");
        assert!(!answer.contains('\n'), "{line}: {answer}");
    }
}

#[test]
fn a_client_that_talks_too_long_is_answered_and_left() {
    let folder = std::env::temp_dir().join(format!("sojourn-control-{}", std::process::id()));
    let control = Control::bind(&folder).expect("a socket");
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &fs::metadata(&folder).expect("there").permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
    assert!(Control::bind(&folder).is_err_and(|error| error.to_string().contains("another")));
    let (plan, _orders) = plan();
    let control = control.serve(plan, Latest::default()).expect("a thread");
    let answer = request(&folder, r#"{"request": "stats"}"#).expect("an answer");
    assert!(answer.starts_with("{\"error\":\"no reading yet"), "{answer}");
    let long = "x".repeat(LONGEST as usize + 10);
    // It may be cut off before it has sent everything.
    let answer = request(&folder, &long).unwrap_or_default();
    assert!(answer.is_empty() || answer.contains("expected at most"), "{answer}");
    let silent: Vec<_> =
        (0..CLIENTS + 3).map(|_| UnixStream::connect(&folder).expect("taken")).collect();
    drop(silent);
    drop(control);
    assert!(!folder.exists());
    // One that a program left behind is replaced.
    drop(UnixListener::bind(&folder).expect("a socket"));
    drop(Control::bind(&folder).expect("replaced"));
    fs::write(&folder, "mine").expect("a file");
    assert!(Control::bind(&folder).is_err());
    assert_eq!(fs::read(&folder).expect("still there"), b"mine");
    fs::remove_file(&folder).expect("removed");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_line_has_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let (mut plan, orders) = plan();
        drop(orders);
        prop_assert!(plan.answer(&bytes, &Latest::default()).is_err());
    }

    #[test]
    fn any_text_in_a_request_has_an_answer(text in "\\PC{0,60}", up: bool, verb in 0..4_usize) {
        let (mut plan, orders) = plan();
        drop(orders);
        let (request, key) =
            [("change", "qdisc"), ("replace", "qdisc"), ("rate", "rate"), ("delay", "delay")][verb];
        let line = json!({"request": request, "direction": if up { "up" } else { "down" }, key: text});
        // Whatever is right cannot be carried out here.
        prop_assert!(plan.answer(line.to_string().as_bytes(), &Latest::default()).is_err());
    }
}
