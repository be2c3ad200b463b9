//! Receivers that are not there, not yet, not any more, or busy with another sender.

use std::net::UdpSocket;
use std::time::Duration;

use rustix::process::Signal;

use crate::process::{Program, port, rx, tx};

/// The object of this type on stdout.
fn object(program: &Program, kind: &str) -> serde_json::Value {
    let mut objects = program.out.iter().map(|l| serde_json::from_str(l).expect("only JSON"));
    objects.find(|o: &serde_json::Value| o["type"] == kind).expect("an object")
}

#[test]
fn without_feedback_nothing_is_reported_as_measured() {
    let port = port();
    let mut text = tx(&format!("-time 1.3 -verbose 127.0.0.1 {port}"));
    let mut json = tx(&format!("-time 1.3 -json -verbose 127.0.0.1 {port}"));
    assert_eq!((text.end(), json.end()), (1, 1));
    for label in ["Bitrate min/max/avg", "RTT     min", "Queue delay max", "Packet loss", "NotECT"]
    {
        let line = text.out.iter().find(|l| l.contains(label)).expect("a summary");
        let (_, value) = line.split_once(" : ").expect("a value");
        assert!(value.contains('-') && !value.contains(|c: char| c.is_ascii_digit()), "{line}");
    }
    let verbose = text.out.iter().find(|l| l.ends_with(",  ")).expect("a line each 200 ms");
    let known: Vec<&str> = verbose.split(',').map(str::trim).collect();
    assert_eq!((known[1], known[2], known[6], known[7]), ("-", "-", "-", "-"), "{verbose}");
    let last = object(&json, "final");
    for key in ["rtt_mean_s", "queue_delay_mean_s", "loss_pct", "ect1_pct", "rate_mean_kbps"] {
        assert!(last[key].is_null(), "{key} in {last}");
    }
    assert!(object(&json, "verbose")["srtt_s"].is_null());
    assert!(
        text.err.iter().any(|l| l == "warning: no feedback for 1.3 of 1.3 s"),
        "{:#?}",
        text.err
    );
}

#[test]
fn a_receiver_that_is_lost_before_the_end_is_an_error_with_the_time_without_it() {
    let port = port();
    let rx = rx(&format!("{port}"));
    let mut tx = tx(&format!("-fixedrate 1000 -time 6 127.0.0.1 {port}"));
    tx.wait_for(" summary ");
    rx.signal(Signal::KILL);
    assert_eq!(tx.end(), 1);
    let line = tx.err.iter().find(|l| l.starts_with("warning: no feedback for ")).expect("a line");
    let missing: f64 = line.split(' ').nth(4).and_then(|n| n.parse().ok()).expect("seconds");
    assert!((1.0..4.5).contains(&missing), "{line}");
    assert!(tx.err.iter().any(|l| l.contains("was lost before the end")), "{:#?}", tx.err);
    assert!(tx.number("RTT     min/max/avg") >= 0.0, "what was measured is printed");
}

#[test]
fn nobody_listens_is_not_forgotten_until_a_report_comes() {
    let port = port();
    let mut tx = tx(&format!("-time 2.5 127.0.0.1 {port}"));
    tx.wait_for("Scream sender started!");
    // Refused once, as a remote host does for one packet a second at most; silent from then on.
    std::thread::sleep(Duration::from_millis(300));
    let _silent = UdpSocket::bind(("127.0.0.1", port)).expect("it is free");
    assert_eq!(tx.end(), 1);
    assert!(tx.err.iter().any(|l| l.contains("nobody listens at")), "{:#?}", tx.err);
}

#[test]
fn runs_one_after_the_other_from_other_ports_lose_nothing() {
    let port = port();
    let mut rx = rx(&format!("{port}"));
    for _ in 0..3 {
        let mut tx = tx(&format!("-maxrate 5000 -time 1.5 -json -ect 1 127.0.0.1 {port}"));
        assert_eq!(tx.end(), 0, "{:#?}", tx.err);
        let last = object(&tx, "final");
        assert_eq!((&last["loss_pct"], &last["without_feedback_s"]), (&0.0.into(), &0.0.into()));
    }
    assert_eq!(rx.interrupt(), 0);
    assert_eq!(rx.number("Packets lost / duplicates"), 0.0);
    assert!(!rx.err.iter().any(|l| l.contains("lost or reordered")), "{:#?}", rx.err);
}

#[test]
fn a_second_sender_waits_for_the_first_and_loses_nothing() {
    let port = port();
    let mut rx = rx(&format!("{port}"));
    let mut first = tx(&format!("-fixedrate 1000 -verbose 127.0.0.1 {port}"));
    rx.wait_for(",  ");
    let mut second = tx(&format!("-maxrate 5000 -time 6 -ect 1 127.0.0.1 {port}"));
    second.wait_for("is busy with another sender");
    // As a crash ends it: without a word.
    first.signal(Signal::KILL);
    first.end();
    rx.wait_for("Another sender");
    assert_eq!(second.end(), 0, "{:#?}", second.err);
    assert_eq!(second.number("Packet loss avg"), 0.0);
    assert_eq!(rx.interrupt(), 0);
    assert_eq!(rx.number("Packets lost / duplicates"), 0.0);
}
