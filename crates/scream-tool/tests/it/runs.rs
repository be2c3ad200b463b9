//! Runs between two ends that mean well.

use std::process::Command;

use rustix::process::Signal;

use crate::process::{Program, folder, port, rx, tx};

#[test]
fn both_ends_on_one_host_and_port_report_the_same_of_a_run() {
    let port = port();
    let dir = folder("run");
    let file = |name: &str| dir.join(name).display().to_string();
    let mut rx = rx(&format!("{port}"));
    let logs = format!(
        "-log {} -csv {} -jsonlog {} -txrxlog {}",
        file("log"),
        file("csv"),
        file("json"),
        file("txrx")
    );
    let mut tx = tx(&format!("-fixedrate 3000 -time 3 -ect 1 -verbose {logs} 127.0.0.1 {port}"));
    assert_eq!(tx.end(), 0, "{:#?}", tx.err);
    assert_eq!(rx.interrupt(), 0);

    let summary = tx.out.iter().find(|l| l.starts_with(" summary ")).expect("a line each 2 s");
    assert!(summary.contains("Transmit rate = ") && summary.ends_with(", MTU = 1200"), "{summary}");
    assert!(summary.contains("[ 0.0%,  0.0%, 100.0%,  0.0%]"), "all as ECT(1): {summary}");
    let diagnosis = tx.out.iter().find(|l| l.starts_with("Diagnosis: ")).expect("a line");
    assert!(diagnosis.contains("; ECN intact; "), "{diagnosis}");
    let verbose: Vec<&String> = tx.out.iter().filter(|l| l.ends_with(",  ")).collect();
    assert!(verbose.len() >= 5, "a line each 200 ms: {:#?}", tx.out);
    // The receiver prints them as well.
    assert!(verbose.iter().filter(|l| rx.out.contains(l)).count() >= 5, "{:#?}", rx.out);
    assert!(rx.err.iter().any(|l| l.starts_with("Learned sender address")), "{:#?}", rx.err);
    assert!(rx.number("Packets / payload bytes") > 100.0);
    let ecn = rx.out.iter().find(|l| l.contains("NotECT")).expect("shares");
    assert!(ecn.ends_with(":  0.0/ 0.0/100.0/ 0.0"), "{ecn}");

    let lines = |name: &str| -> Vec<String> {
        let text = std::fs::read_to_string(dir.join(name)).expect("a log");
        text.lines().map(String::from).collect()
    };
    let numbers = |line: &String| -> Vec<f64> {
        line.split(',').map(|v| v.trim().parse().expect("a number")).collect()
    };
    let log: Vec<Vec<f64>> = lines("log").iter().map(numbers).collect();
    assert!(log.len() > 50, "{} lines", log.len());
    assert!(log.iter().all(|row| row.len() == 20), "20 columns");
    assert!(log.is_sorted_by(|a, b| a[0] <= b[0]), "times rise");
    assert!(log.iter().all(|row| row[17] == 3e6), "the target is the fixed rate");
    assert_eq!(lines("csv").len(), log.len() + 1, "a header");
    assert_eq!(lines("json").len(), log.len());
    let json: serde_json::Value = serde_json::from_str(&lines("json")[0]).expect("JSON");
    assert_eq!(json["stream"], 0);
    let times = lines("txrx");
    assert!(times.len() as f64 > 0.9 * rx.number("Packets / payload bytes"), "{}", times.len());
    assert!(times.iter().all(|l| l.split(',').count() == 5));
    std::fs::remove_dir_all(dir).expect("removed");
}

#[test]
#[cfg_attr(not(ipv6), ignore = "no IPv6 on loopback")]
fn an_adaptive_run_over_ipv6_leaves_its_start_rate() {
    let port = port();
    let mut rx = rx(&format!("-ipv6 -feedback rfc8888 {port}"));
    let args = "-initrate 1000 -maxrate 20000 -time 4 -ect 0 -json -verbose";
    let mut tx = tx(&format!("{args} ::1 {port}"));
    assert_eq!(tx.end(), 0, "{:#?}", tx.err);
    assert_eq!(rx.interrupt(), 0);
    let objects: Vec<serde_json::Value> =
        tx.out.iter().map(|l| serde_json::from_str(l).expect("only JSON")).collect();
    let last = objects.last().expect("an end");
    assert_eq!((&last["type"], &last["ect0_pct"]), (&"final".into(), &100.0.into()));
    assert_eq!(last["diagnosis"]["ecn"], "intact");
    assert!(last["diagnosis"]["missed_deadlines"].is_u64(), "{last}");
    let rates = objects.iter().filter(|o| o["type"] == "verbose");
    let most = rates.filter_map(|o| o["rate_kbps"].as_f64()).fold(0.0, f64::max);
    assert!(most > 2000.0, "it rises: {most} kbit/s");
}

#[test]
fn each_signal_ends_both_ends_with_their_summaries() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let port = port();
        let mut rx = rx(&format!("127.0.0.1 {port}"));
        let mut tx = tx(&format!("-view -fixedrate 1000 -verbose 127.0.0.1 {port}"));
        tx.wait_for("note: -view needs a terminal; lines instead");
        rx.wait_for(",  ");
        tx.signal(signal);
        assert_eq!(tx.end(), 0, "{:#?}", tx.err);
        assert!(tx.out.iter().any(|l| l.contains("Bitrate min/max/avg")), "{:#?}", tx.out);
        rx.signal(signal);
        assert_eq!(rx.end(), 0, "{:#?}", rx.err);
        assert!(rx.number("Packets / payload bytes") > 0.0);
    }
}

#[test]
fn a_run_that_ignores_hangups_goes_on() {
    let port = port();
    let _rx = rx(&format!("{port}"));
    let options = format!("-fixedrate 1000 -verbose 127.0.0.1 {port}");
    let script = format!("trap '' HUP; exec {} {options}", env!("CARGO_BIN_EXE_scream-bw-test-tx"));
    let mut tx = Program::spawn(Command::new("sh").args(["-c", &script]));
    tx.wait_for(",  ");
    tx.signal(Signal::HUP);
    (0..5).for_each(|_| drop(tx.wait_for(",  ")));
    assert_eq!(tx.interrupt(), 0, "{:#?}", tx.err);
}

#[test]
fn a_full_disk_loses_the_log_and_not_the_measurement() {
    let port = port();
    let mut rx = rx(&format!("{port}"));
    let logs = "-log /dev/full -csv /dev/full -jsonlog /dev/full -txrxlog /dev/full";
    let args = format!("-fixedrate 1000 -time 3 {logs} 127.0.0.1 {port}");
    let mut tx = tx(&args);
    assert_eq!(tx.end(), 0, "{:#?}", tx.err);
    assert_eq!(tx.err.iter().filter(|l| l.contains("the log ends here")).count(), 4);
    assert!(tx.number("Bitrate min/max/avg") > 0.0);
    // What stdout does not take is on stderr at the end.
    let full = std::fs::File::options().write(true).open("/dev/full").expect("Linux");
    let mut command = Command::new(env!("CARGO_BIN_EXE_scream-bw-test-tx"));
    let options = format!("-verbose {args}");
    let mut tx = Program::spawn_to(command.args(options.split_whitespace()), full.into());
    assert_eq!(tx.end(), 0, "{:#?}", tx.err);
    assert_eq!(tx.err.iter().filter(|l| l.starts_with("warning: stdout: ")).count(), 1);
    assert!(tx.err.iter().any(|l| l.contains("Bitrate min/max/avg")), "{:#?}", tx.err);
    assert_eq!(rx.interrupt(), 0);
}

#[test]
fn pushed_traffic_needs_no_receiver() {
    let port = port();
    let mut tx = tx(&format!("-pushtraffic -fixedrate 2000 -time 2.5 127.0.0.1 {port}"));
    assert_eq!(tx.end(), 0, "{:#?}", tx.err);
    assert!(tx.err.iter().any(|l| l == "Scream sender started in push traffic mode 2000kbps"));
    assert!(tx.out.iter().any(|l| l.contains("Transmit rate = ")), "{:#?}", tx.out);
}

#[test]
fn a_sender_without_receiver_says_so_and_fails() {
    let port = port();
    let mut tx = tx(&format!("-time 2 127.0.0.1 {port}"));
    assert_eq!(tx.end(), 1);
    assert!(tx.err.iter().any(|l| l == "No RTCP feedback received"), "{:#?}", tx.err);
    assert!(tx.err.iter().any(|l| l.contains("nobody listens at")), "{:#?}", tx.err);
}

#[test]
fn a_closed_stdout_ends_quietly() {
    let port = port();
    let _rx = rx(&format!("{port}"));
    let program = env!("CARGO_BIN_EXE_scream-bw-test-tx");
    let pipe = format!("{program} -verbose -fixedrate 1000 127.0.0.1 {port} | head -n 1");
    let done = Command::new("sh").args(["-c", &pipe]).output().expect("a shell");
    assert!(done.status.success());
    assert!(!String::from_utf8_lossy(&done.stderr).contains("panicked"));
}

#[test]
fn a_wrong_command_line_is_one_line_and_code_two() {
    for (end, args, expected) in [
        ("tx", "-maxrat 5 h 1", "unknown option -maxrat (did you mean -maxrate?); -help lists all"),
        ("tx", "-mtu x 127.0.0.1 1", "-mtu: expected a whole number between 50 and 65495, got `x`"),
        ("tx", "-log /no/such/x 127.0.0.1 1", "-log: /no/such/x: No such file"),
        ("rx", "-ackdiff 0 1", "-ackdiff: expected a whole number between 1 and 512, got `0`"),
        ("rx", "", "expected an address and a port"),
        ("tx", "no.such.host.invalid 1", "no.such.host.invalid: "),
    ] {
        let mut program = if end == "tx" { tx(args) } else { start_rx(args) };
        assert_eq!(program.end(), 2, "{args}");
        assert_eq!(program.err.len(), 1, "{:#?}", program.err);
        let line = &program.err[0];
        assert!(
            line.starts_with(&format!("scream-bw-test-{end}: ")) && line.contains(expected),
            "{line}"
        );
    }
}

/// A receiver that need not get ready.
fn start_rx(args: &str) -> crate::process::Program {
    crate::process::Program::start(env!("CARGO_BIN_EXE_scream-bw-test-rx"), args)
}

#[test]
fn help_and_version_go_to_stdout() {
    for (mut program, name) in [(tx("-help"), "tx"), (start_rx("--help"), "rx")] {
        assert_eq!(program.end(), 0);
        assert!(program.out.iter().any(|l| l.contains("Example: ") && l.contains(name)));
        let compares = program.out.iter().any(|l| l == "Comparing with the original's figures");
        assert_eq!(compares, name == "tx");
    }
    for mut program in [tx("--version"), start_rx("-version")] {
        assert_eq!(program.end(), 0);
        assert!(program.out[0].contains("2026-06-30"), "{:?}", program.out);
    }
}
