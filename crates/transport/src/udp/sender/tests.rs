use sojourn_cc as cc;

use super::*;

fn sender(bytes: Option<u64>) -> Sender {
    let cc = cc::build("udp-prague").expect("a known controller");
    let mut tx = Sender::new(Config { tos: 0, mtu: 1500, bytes }, cc);
    tx.start(Time::ZERO);
    tx
}

/// Lets the sender run to `end`; gives the times at which packets left.
fn run(tx: &mut Sender, end: Time) -> Vec<Time> {
    let (mut now, mut left) = (Time::ZERO, Vec::new());
    loop {
        while tx.poll(now).is_some() {
            left.push(now);
        }
        now = tx.deadline();
        if now > end {
            return left;
        }
        tx.on_timer(now);
    }
}

#[test]
fn first_packets_leave_at_100_kilobits_and_the_initial_window_bounds_them() {
    let mut tx = sender(None);
    let left = run(&mut tx, Time::ZERO + Dur::from_millis(1000));
    // 156 bytes at 103 % in the first 12.5 ms, then at 97 %.
    assert!((78..=80).contains(&left.len()), "{}", left.len());
    // Ninety of them, a second of silence, the rate again.
    let mut tx = sender(None);
    let left = run(&mut tx, Time::ZERO + Dur::from_millis(2100));
    assert_eq!((left.len(), tx.timeouts), (90, 0));
    let mut tx = sender(None);
    let left = run(&mut tx, Time::ZERO + Dur::from_millis(2400));
    assert_eq!(tx.timeouts, 1);
    assert!(left.len() > 100 && tx.in_flight() < 90);
}

#[test]
fn a_report_of_a_spoilt_codepoint_ends_ect_for_good() {
    let mut tx = sender(None);
    assert_eq!(tx.poll(Time::ZERO).expect("a packet").tos & 3, Ecn::Ect1 as u8);
    let at = Time::ZERO + Dur::from_millis(50);
    let report = Report { seq: 1, received: 1, error: true, ..Report::default() };
    tx.on_packet(at, &Body::Counted(Message::Report(report)), Ecn::Ect1);
    assert_eq!(tx.poll(at).expect("a packet").tos & 3, Ecn::NotEct as u8);
}

#[test]
fn as_many_bytes_leave_as_the_application_has() {
    let mut tx = sender(Some(1000));
    run(&mut tx, Time::ZERO + Dur::from_secs(5));
    assert_eq!((tx.sent, tx.sent_bytes), (7, 1000));
    assert!(tx.is_alive(), "the packets are on their way");
    let report = Report { seq: 7, received: 7, ..Report::default() };
    tx.on_packet(Time::ZERO, &Body::Counted(Message::Report(report)), Ecn::Ect1);
    assert!(!tx.is_alive());
}

#[test]
fn totals_of_packets_that_were_never_sent_change_nothing() {
    let mut tx = sender(None);
    run(&mut tx, Time::ZERO + Dur::from_millis(200));
    let (sent, at) = (tx.sent, Time::ZERO + Dur::from_millis(200));
    assert!(sent > 10);
    let state = |tx: &Sender| (tx.in_flight(), tx.out.pacing_rate, tx.win.cwnd, tx.seen.error);
    let before = state(&tx);
    let mut hears = |report| {
        tx.on_packet(at, &Body::Counted(Message::Report(report)), Ecn::Ect1);
        state(&tx)
    };
    let none = Report::default();
    for forged in [
        Report { received: 1 << 24, ..none },
        Report { lost: 1 << 31, ..none },
        Report { received: u64::MAX, lost: 2, ..none },
        Report { received: 1, ce: 2, ..none },
        Report { seq: sent + 1, ..none },
        Report { received: sent + 1, error: true, ..none },
        Report { received: sent, lost: 1, ..none },
    ] {
        assert_eq!(hears(forged), before, "{forged:?}");
    }
    let after = hears(Report { seq: sent - 1, received: sent - 1, ..none });
    assert_eq!(after.0, 1, "one is under way");
    assert!(after.1 != before.1, "the controller was asked");
}
