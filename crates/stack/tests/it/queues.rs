//! Both ends are ours, with a queue between them.

use std::sync::Arc;

use sojourn_scenario::Scenario;
use sojourn_stack::Host;

use crate::lab::{flow, forward, run, scenario, seat, total};
use crate::plug::cable;

const BYTES: usize = 3_000_000;

/// Both ends of all flows, until each has delivered its bytes and knows it.
fn transfer(scenario: &Arc<Scenario>) -> (sojourn_stack::Report, sojourn_middlebox::Report) {
    let [near, middle] = cable();
    let [far, end] = cable();
    let network = forward(scenario, [middle, end]);
    let flows = scenario.flows.len();
    let seats: Vec<_> = (0..2 * flows).map(|end| seat(end, end % 2)).collect();
    let host = Host::new(scenario, &seats, vec![near, far]).unwrap();
    let report = run(host, move |ends| {
        (0..flows).all(|n| {
            total(ends, 2 * n, "acked_bytes") == BYTES as f64 && !ends.get(2 * n).is_alive()
        })
    });
    let report = report.join();
    (report, network.stop())
}

#[test]
fn prague_reacts_to_the_marks_of_dualpi2() {
    let scenario = scenario("40Mbit", "dualpi2", &flow("p", "prague", BYTES));
    let (mut report, network) = transfer(&scenario);
    let (sender, receiver) = (&mut report.ends, 1);
    assert_eq!(total(sender, receiver, "delivered_bytes"), BYTES as f64);
    let received = total(sender, receiver, "ce_received");
    assert!(received > 0.0);
    assert_eq!(total(sender, 0, "ce_reported"), received, "each mark is reported once");
    let queue = &network.output.queues[0];
    assert!(received <= queue.marked as f64, "{received} of {}", queue.marked);
    assert_eq!(queue.dropped, 0);
    assert!(report.lateness.count() > 0);
    for counts in &report.sides {
        let odd = [counts.strays, counts.corrupt, counts.outside, counts.resets, counts.unsent];
        assert_eq!(odd, [0; 5]);
    }
    // Series and summary are those of the simulator.
    let rates = [None];
    let summary = &report.ends.flow_summaries(report.until, &rates)[0];
    assert!(summary.goodput_mbps > 0.0 && summary.rtt_ms.is_some());
    let columns = report.ends.into_columns();
    for name in ["flow.p.cwnd", "flow.p.goodput_bytes", "flow.p.cc.alpha"] {
        assert!(columns.iter().any(|c| c.name == name && !c.t.is_empty()), "{name}");
    }
}

#[test]
fn classic_controllers_react_to_codel() {
    let flows = flow("c", "cubic", BYTES) + &flow("d", "dctcp", BYTES);
    let scenario = scenario("40Mbit", "codel ecn", &flows);
    let (mut report, network) = transfer(&scenario);
    assert!(network.output.queues[0].marked > 0);
    let reported: f64 = [0, 2].iter().map(|end| total(&mut report.ends, *end, "ce_reported")).sum();
    assert!(reported > 0.0);
}

#[test]
fn the_sce_trio_reacts_to_sce() {
    let flows = ["reno-sce", "cubic-sce", "dctcp-sce"].map(|cc| flow(cc, cc, BYTES)).concat();
    for qdisc in ["cake sce", "cnq_cobalt bandwidth 38Mbit sce-thresh 4"] {
        let scenario = scenario("40Mbit", qdisc, &flows);
        let (mut report, _) = transfer(&scenario);
        for (name, first) in [("sce_received", 1), ("sce_reported", 0)] {
            let sum: f64 = (0..3).map(|n| total(&mut report.ends, 2 * n + first, name)).sum();
            assert!(sum > 10.0, "{qdisc}: {sum} {name}");
        }
    }
}

#[test]
fn what_a_link_loses_comes_again() {
    let flows = flow("c", "cubic", BYTES) + &flow("p", "prague", BYTES);
    let scenario = scenario("40Mbit", "drop every 50", &flows);
    let (mut report, network) = transfer(&scenario);
    assert!(network.output.queues[0].dropped > 20);
    for sender in [0, 2] {
        let ends = &mut report.ends;
        assert_eq!(total(ends, sender + 1, "delivered_bytes"), BYTES as f64);
        assert!(total(ends, sender, "retransmits") > 0.0);
    }
}
