use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use super::{flow, kinds, table, way};
use crate::report::pair::{FlagChange, Way};
use crate::report::{
    AccEcnFeedback, Answer, Codepoints, Connection, Direction, Distribution, EcnMode, End, Family,
    Flow, Protocol, Retransmissions, TcpDirection, Transitions, Tunnel,
};
use crate::rounds::Round;

const MS: u64 = 1_000_000;

fn all(value: f64) -> Distribution {
    let [min, mean, p50, p95, p99, max] = [value; 6];
    Distribution { n: 10_000, min, mean, stddev: 0.0, p50, p95, p99, max }
}

/// A download of 1000 segments whose ends agreed on AccECN, captured at the sender; nothing stands out.
fn quiet() -> Flow {
    let end = |port| End { address: IpAddr::V4(Ipv4Addr::LOCALHOST), port };
    let data = Direction {
        packets: 1010,
        data_packets: 1000,
        data_bytes: 1_448_000,
        data_ecn: Codepoints { ect1: 1000, ..Codepoints::default() },
        burst_bytes: Some(all(3000.0)),
        burst_ms: Some(all(0.6)),
        rate_mbps: Some(all(40.0)),
        tcp: Some(TcpDirection { rtt_seq_ms: Some(all(20.0)), ..TcpDirection::default() }),
        rounds: vec![round(); 60],
        ..Direction::default()
    };
    let fed = AccEcnFeedback {
        options: 100,
        ect0_bytes: Some(0),
        ect1_bytes: Some(1_448_000),
        ce_bytes: Some(0),
        ..AccEcnFeedback::default()
    };
    let acks = Direction {
        packets: 500,
        tcp: Some(TcpDirection {
            pure_acks: 500,
            acked_bytes: 1_448_000,
            accecn: Some(fed),
            ..TcpDirection::default()
        }),
        ..Direction::default()
    };
    Flow {
        protocol: Protocol::Tcp,
        opener: end(40_000),
        peer: end(443),
        start_s: 0.0,
        end_s: 10.0,
        tunnel: None,
        packets_not_analysed: 0,
        forward: data,
        backward: acks,
        tcp: Some(Connection {
            syn: true,
            syn_ack: true,
            syn_flags: Some("111".into()),
            syn_ack_flags: Some("010".into()),
            ecn: Some(EcnMode::AccEcn),
            mss: [Some(1460); 2],
            timestamps: true,
            handshake_ms: Some(20.0),
            ..Connection::default()
        }),
        media: None,
        quic: None,
        family: None,
        diagnoses: Vec::new(),
    }
}

fn round() -> Round {
    Round {
        duration: 20 * MS,
        packets: 40,
        bytes: 40 * 1448,
        acked_packets: 40,
        delivered: 40 * 1448,
        window: 1 << 20,
        ..Round::default()
    }
}

fn sent(flow: &mut Flow) -> &mut TcpDirection {
    flow.forward.tcp.as_mut().expect("TCP")
}

fn fed(flow: &mut Flow) -> &mut TcpDirection {
    flow.backward.tcp.as_mut().expect("TCP")
}

fn accecn(flow: &mut Flow) -> &mut AccEcnFeedback {
    fed(flow).accecn.as_mut().expect("AccECN")
}

fn connection(flow: &mut Flow) -> &mut Connection {
    flow.tcp.as_mut().expect("TCP")
}

fn looks(flow: &mut Flow, family: Family) {
    flow.family = Some(Answer { family, kept: None, evidence: "so it looks".into() });
}

/// Feedback of RFC 3168 on data with ECT(0).
fn classic(flow: &mut Flow) {
    connection(flow).ecn = Some(EcnMode::Classic);
    fed(flow).accecn = None;
    flow.forward.data_ecn = Codepoints { ect0: 1000, ..Codepoints::default() };
}

/// What a change of [`quiet`] makes of it.
fn found(change: impl FnOnce(&mut Flow)) -> Vec<String> {
    let mut changed = quiet();
    change(&mut changed);
    flow(&changed).into_iter().map(|diagnosis| diagnosis.kind).collect()
}

fn is(kind: &str, change: impl FnOnce(&mut Flow)) {
    let kinds = found(change);
    assert!(kinds.iter().any(|found| found == kind), "{kind}: {kinds:?}");
}

fn is_not(kind: &str, change: impl FnOnce(&mut Flow)) {
    let kinds = found(change);
    assert!(!kinds.iter().any(|found| found == kind), "{kind}: {kinds:?}");
}

#[test]
fn nothing_stands_out_of_a_quiet_flow() {
    assert_eq!(found(|_| ()), Vec::<String>::new());
}

#[test]
fn l4s_works_needs_the_sender_to_follow() {
    let marked = |flow: &mut Flow, family| {
        flow.forward.data_ecn = Codepoints { ect1: 960, ce: 40, ..Codepoints::default() };
        accecn(flow).ce_packets_least = 40;
        looks(flow, family);
    };
    is("l4s-works", |flow| marked(flow, Family::Scalable));
    is_not("l4s-works", |flow| marked(flow, Family::Classic));
    is_not("l4s-works", |flow| {
        marked(flow, Family::Scalable);
        flow.forward.data_ecn = Codepoints { ect0: 960, ce: 40, ..Codepoints::default() };
    });
    is_not("l4s-works", |flow| {
        marked(flow, Family::Scalable);
        sent(flow).retransmissions = Retransmissions { all: 80, fast: 80, ..Default::default() };
    });
}

#[test]
fn marks_are_without_response_if_the_window_is_far_above_what_they_allow() {
    let marks = |ce: u32, from: u64, to: u64| {
        move |flow: &mut Flow| {
            for (n, round) in flow.forward.rounds.iter_mut().enumerate() {
                let window = if n < 30 { from } else { to };
                (round.ce_seen, round.packets) = (ce * window as u32 / 40, window as u32);
                round.bytes = window * 1448;
            }
        }
    };
    is("marks-without-response", marks(20, 40, 40));
    // 2/p is 16, and 40 is not four times that.
    is_not("marks-without-response", marks(5, 40, 40));
    // A scalable sender at its equilibrium.
    is_not("marks-without-response", marks(20, 5, 4));
    is_not("marks-without-response", |flow| {
        let mut window = 400.0;
        for round in &mut flow.forward.rounds {
            (round.packets, round.bytes) = (window as u32, window as u64 * 1448);
            round.ce_seen = round.packets / 2;
            window = (window * 0.75_f64).max(4.0);
        }
    });
}

#[test]
fn ece_is_always_there_only_if_cwr_does_not_end_it() {
    let ece = |ece, cwr| {
        move |flow: &mut Flow| {
            classic(flow);
            fed(flow).ece = ece;
            sent(flow).cwr = cwr;
        }
    };
    is("ece-always", ece(495, 40));
    is_not("ece-always", ece(100, 40));
    is_not("ece-always", ece(495, 0));
    is_not("ece-always", |flow| {
        ece(495, 40)(flow);
        flow.forward.data_ecn = Codepoints { ect0: 100, ce: 900, ..Codepoints::default() };
    });
}

/// Losses after rounds of this duration.
fn lossy(flow: &mut Flow, ms: u64, ect: bool) {
    sent(flow).retransmissions = Retransmissions { all: 5, fast: 5, ..Default::default() };
    for n in (10..60).step_by(10) {
        flow.forward.rounds[n].lost = 1;
        flow.forward.rounds[n - 1].duration = ms * MS;
    }
    if !ect {
        flow.forward.data_ecn = Codepoints { not_ect: 1000, ..Codepoints::default() };
    }
}

#[test]
fn a_bottleneck_has_no_ecn_if_it_drops_what_it_may_mark_behind_a_queue() {
    is("bottleneck-without-ecn", |flow| lossy(flow, 45, true));
    is_not("bottleneck-without-ecn", |flow| lossy(flow, 20, true));
    is_not("bottleneck-without-ecn", |flow| lossy(flow, 45, false));
    is_not("bottleneck-without-ecn", |flow| {
        lossy(flow, 45, true);
        accecn(flow).ce_packets_least = 3;
    });
}

#[test]
fn losses_are_without_a_queue_if_the_round_trip_does_not_grow() {
    is("losses-without-queue", |flow| lossy(flow, 20, false));
    is_not("losses-without-queue", |flow| lossy(flow, 24, false));
}

#[test]
fn an_unresponsive_sender_is_named() {
    is("unresponsive", |flow| looks(flow, Family::Unresponsive));
    is_not("unresponsive", |flow| looks(flow, Family::BbrLike));
}

#[test]
fn sce_is_not_answered_if_the_window_grows_under_it() {
    let grows = |step: f64, esce: bool| {
        move |flow: &mut Flow| {
            classic(flow);
            for (n, round) in flow.forward.rounds.iter_mut().enumerate() {
                round.bytes = ((40.0 + step * n as f64) * 1448.0) as u64;
                round.delivered = round.bytes;
                round.esce_bytes = if esce { round.bytes } else { round.bytes / 10 };
            }
        }
    };
    is("sce-marks-not-answered", grows(1.0, true));
    is_not("sce-marks-not-answered", grows(0.0, true));
    is_not("sce-marks-not-answered", grows(1.0, false));
}

#[test]
fn a_fallback_is_one_if_accecn_was_asked_for() {
    is("fallback-3168", |flow| {
        classic(flow);
        connection(flow).syn_ack_flags = Some("001".into());
    });
    is_not("fallback-3168", |flow| {
        classic(flow);
        connection(flow).syn_flags = Some("011".into());
        connection(flow).syn_ack_flags = Some("001".into());
    });
    is("accecn-mangled", |flow| connection(flow).ecn = Some(EcnMode::Mangled));
    is_not("accecn-mangled", |flow| connection(flow).ecn = Some(EcnMode::None));
}

#[test]
fn feedback_tells_of_bleaching_and_of_other_codepoints() {
    is("bleached-by-feedback", |flow| accecn(flow).ect1_bytes = Some(1448));
    is_not("bleached-by-feedback", |flow| {
        accecn(flow).ect1_bytes = Some(1448);
        flow.forward.data_ecn = Codepoints { not_ect: 1000, ..Codepoints::default() };
    });
    is_not("bleached-by-feedback", |flow| {
        accecn(flow).ect1_bytes = Some(1448);
        accecn(flow).options = 1;
    });
    let to_ect0 = |flow: &mut Flow| {
        accecn(flow).ect1_bytes = Some(0);
        accecn(flow).ect0_bytes = Some(1_448_000);
    };
    is("re-marked-by-feedback", to_ect0);
    is_not("re-marked-by-feedback", |flow| {
        to_ect0(flow);
        flow.forward.data_ecn = Codepoints { ect0: 1000, ..Codepoints::default() };
    });
}

#[test]
fn ce_is_a_phantom_if_options_or_the_receiver_know_of_none() {
    is("phantom-ce", |flow| accecn(flow).ce_packets_safe = 16);
    is_not("phantom-ce", |flow| {
        accecn(flow).ce_packets_safe = 16;
        accecn(flow).ce_bytes = Some(20_000);
    });
    is_not("phantom-ce", |flow| accecn(flow).ce_packets_safe = 7);
    let without_options = |flow: &mut Flow| {
        *accecn(flow) = AccEcnFeedback { ce_packets_safe: 16, ..AccEcnFeedback::default() };
    };
    is_not("phantom-ce", without_options);
    is("phantom-ce", |flow| {
        without_options(flow);
        sent(flow).rtt_seq_ms = Some(all(0.1));
    });
}

#[test]
fn limits_need_a_good_part_of_the_rounds() {
    let limited = |n: usize| {
        move |flow: &mut Flow| {
            flow.forward.rounds.iter_mut().take(n).for_each(|round| round.is_window_limited = true);
        }
    };
    is("receiver-limited", limited(30));
    is_not("receiver-limited", limited(29));
    let idle = |n: usize| {
        move |flow: &mut Flow| {
            flow.forward.rounds.iter_mut().take(n).for_each(|round| round.is_idle = true);
        }
    };
    is("application-limited", idle(15));
    is_not("application-limited", idle(14));
}

#[test]
fn reordering_is_taken_as_loss_if_retransmissions_were_spurious() {
    let reordered = |spurious, all, late| {
        move |flow: &mut Flow| {
            sent(flow).retransmissions =
                Retransmissions { all, fast: all, spurious, ..Default::default() };
            sent(flow).reordered = late;
        }
    };
    is("reordering-as-loss", reordered(10, 20, 200));
    is_not("reordering-as-loss", reordered(0, 20, 200));
    is_not("reordering-as-loss", reordered(3, 100, 200));
    is_not("reordering-as-loss", reordered(10, 20, 0));
}

#[test]
fn a_capture_is_incomplete_if_acknowledged_data_are_missing() {
    is("capture-incomplete", |flow| sent(flow).missing_bytes = 20_000);
    is_not("capture-incomplete", |flow| sent(flow).missing_bytes = 1000);
}

#[test]
fn trains_are_long_at_the_senders_side_only() {
    let train = |flow: &mut Flow| {
        (flow.forward.burst_bytes, flow.forward.burst_ms) = (Some(all(12_000.0)), Some(all(2.4)));
    };
    is("offload-trains", train);
    is_not("offload-trains", |flow| {
        train(flow);
        sent(flow).rtt_seq_ms = Some(all(1.0));
    });
    // One packet of a slow link.
    is_not("offload-trains", |flow| {
        (flow.forward.burst_bytes, flow.forward.burst_ms) = (Some(all(1500.0)), Some(all(12.0)));
    });
    // Packets of a fast link are closer than 100 us anyway.
    is_not("offload-trains", |flow| {
        train(flow);
        flow.forward.rate_mbps = Some(all(500.0));
    });
}

#[test]
fn tunnels_hide_codepoints() {
    let tunnel = |ect_hidden, outer_ce| {
        move |flow: &mut Flow| {
            flow.tunnel = Some(Tunnel { kind: "gre".into(), ect_hidden, outer_ce });
        }
    };
    is("ect-lost-in-tunnel", tunnel(1000, 0));
    is_not("ect-lost-in-tunnel", tunnel(100, 0));
    is("ce-outside-tunnel", tunnel(0, 10));
    is_not("ce-outside-tunnel", tunnel(0, 9));
}

fn between(change: impl FnOnce(&mut Way)) -> Vec<String> {
    let ect1 = Codepoints { ect1: 5000, ..Codepoints::default() };
    let path = Transitions { ect1, ..Transitions::default() };
    let mut changed = Way { both: 5000, path, queue_delay_ms: Some(all(0.1)), ..Way::default() };
    change(&mut changed);
    way(&changed).into_iter().map(|diagnosis| diagnosis.kind).collect()
}

#[test]
fn two_captures_tell_what_is_between_them() {
    assert_eq!(between(|_| ()), Vec::<String>::new());
    assert_eq!(between(|way| way.path.ect1.not_ect = 400), ["bleached"]);
    assert_eq!(between(|way| way.path.ect1.not_ect = 2), Vec::<String>::new());
    assert_eq!(between(|way| way.path.ect1.ect0 = 400), ["re-marked"]);
    assert_eq!(between(|way| way.path.ect1.ce = 400), Vec::<String>::new());
    // SCE's mark is none of it.
    assert_eq!(between(|way| way.path.ect0.ect1 = 400), Vec::<String>::new());
    let changed = |name: &'static str| {
        move |way: &mut Way| {
            way.tcp_flags.insert(name.into(), FlagChange { set: 0, cleared: 9 });
        }
    };
    assert_eq!(between(changed("ECE")), ["flags-changed"]);
    assert!(between(changed("PSH")).is_empty());
    assert_eq!(between(|way| way.path.ce.ce = 50), ["queue-not-here"]);
    let queue = |way: &mut Way| {
        way.path.ce.ce = 50;
        way.queue_delay_ms = Some(all(4.0));
    };
    assert!(between(queue).is_empty());
    let marks = |way: &mut Way| {
        way.path.ce.ce = 50;
        way.path.ect1.ce = 5;
    };
    assert!(between(marks).is_empty());
}

#[test]
fn each_kind_has_a_name_of_its_own_a_threshold_and_a_source() {
    let kinds: Vec<_> = kinds().into_iter().flat_map(|(_, kinds)| kinds).collect();
    let names: BTreeSet<&str> = kinds.iter().map(|kind| kind.name).collect();
    assert_eq!(names.len(), kinds.len());
    for kind in kinds {
        assert!(![kind.text, kind.when, kind.source].contains(&""), "{}", kind.name);
        assert!(
            include_str!("tests.rs").contains(&format!("\"{}\"", kind.name)),
            "no test of {}",
            kind.name
        );
    }
}

#[test]
fn the_guides_tables_are_those_of_the_code() {
    let page = include_str!("../../../../docs/guide/diagnoses.md");
    let (_, written) = page.split_once("do not edit from here -->\n").expect("the mark");
    assert_eq!(written, table(), "cargo run -p sojourn-inspect --example diagnoses");
}
