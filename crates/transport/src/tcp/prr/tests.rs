use super::*;

const RULES: [PrrRule; 3] = [PrrRule::Linux5, PrrRule::Linux6, PrrRule::Rfc9937];

fn delivers(newly_delivered: u32, in_flight: u32) -> PrrAck {
    PrrAck { newly_delivered, in_flight, ..PrrAck::default() }
}

/// Runs one delivery per ACK, `deliveries` of them with the one that began it: segments sent
/// and the flight at the end.
fn run(mut prr: Prr, mut in_flight: u32, ssthresh: u32, deliveries: u32) -> (u32, u32) {
    let mut sent = 0;
    for n in 0..deliveries {
        in_flight -= u32::from(n > 0);
        let cwnd = prr.cwnd(delivers(1, in_flight), ssthresh).expect("each delivery counts");
        while in_flight < cwnd {
            in_flight += 1;
            sent += 1;
            prr.sent(1);
        }
    }
    (sent, in_flight)
}

/// One recovery episode: the first segment of the window is lost, three duplicates have
/// triggered recovery after two segments of limited transmit.
fn episode(rule: PrrRule, window: u32, ssthresh: u32) -> (u32, u32) {
    // RecoverFS: window + 2 out, two SACKed before the trigger.
    let prr = Prr::start(rule, window, window);
    // Three SACKs and one loss have left the flight.
    run(prr, window + 2 - 3 - 1, ssthresh, window - 3)
}

// KAT prr 1: (sent, in flight at the end)
#[test]
fn prr_releases_the_published_number_of_segments() {
    for rule in RULES {
        assert_eq!(episode(rule, 100, 70), (68, 70), "{rule:?}");
        assert_eq!(episode(rule, 20, 10), (8, 10), "{rule:?}");
        assert_eq!(episode(rule, 20, 14), (12, 14), "{rule:?}");
    }
}

// KAT prr 2: 70 segments in the round trip of a reduction from 100
#[test]
fn an_ecn_reduction_sends_its_threshold_within_the_window() {
    for rule in RULES {
        let (sent, in_flight) = run(Prr::start(rule, 100, 100), 99, 70, 100);
        assert_eq!((sent, in_flight), (70, 70), "{rule:?}");
    }
}

#[test]
fn below_the_threshold_each_rule_has_its_own_bound() {
    // Heavy loss: 20 of 100 in flight, threshold 50, ten delivered so far and nothing sent.
    let cwnd = |rule, ack: PrrAck| {
        let mut prr = Prr { delivered: 9, out: 2, ..Prr::start(rule, 100, 100) };
        prr.cwnd(ack, 50).expect("it delivers") - ack.in_flight
    };
    let plain = delivers(1, 20);
    let safe = PrrAck { safe: true, ..plain };
    let repaired = PrrAck { retransmit_acked: true, ..safe };
    let lost_again = PrrAck { retransmit_lost: true, safe: false, ..repaired };
    for (ack, v5, v6) in [(plain, 1, 8), (safe, 1, 9), (repaired, 9, 9), (lost_again, 1, 8)] {
        assert_eq!(cwnd(PrrRule::Linux5, ack), v5, "{ack:?}");
        assert_eq!(cwnd(PrrRule::Linux6, ack), v6, "{ack:?}");
        assert_eq!(cwnd(PrrRule::Rfc9937, ack), v6, "{ack:?}");
    }
}

#[test]
fn rfc_9937_is_proportional_to_the_flight_and_not_to_cwnd() {
    // An application-limited sender: cwnd 100, 50 in flight, threshold 35.
    let first = |rule| Prr::start(rule, 100, 50).cwnd(delivers(10, 40), 35);
    assert_eq!(first(PrrRule::Linux6), Some(44));
    assert_eq!(first(PrrRule::Rfc9937), Some(47));
}

#[test]
fn an_ack_without_delivery_leaves_cwnd_alone() {
    assert_eq!(Prr::start(PrrRule::Linux5, 10, 10).cwnd(delivers(0, 5), 3), None);
}
