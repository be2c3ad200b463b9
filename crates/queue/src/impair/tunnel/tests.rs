use super::*;
use crate::aqm::Event;
use sojourn_core::units::Time;

const ALL: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];

fn tunnel() -> Tunnel {
    Tunnel { hash: 7, hosts: (8, 9), ..Tunnel::default() }
}

fn packet(id: u32, tos: u8) -> Packet {
    Packet {
        id,
        tos,
        hash: 1234 + id,
        src: 1,
        dst: 2,
        len: 1514,
        ace: 0b101,
        ack: 99,
        sacked: 3,
        kind: Kind::TcpAck,
        ..Packet::default()
    }
}

fn pass(q: &mut dyn Qdisc, pkt: Packet) -> Result<Packet, Reason> {
    let mut log = Log::default();
    q.enqueue(Time(5), pkt, &mut log);
    match (q.dequeue(Time(5), &mut log), log.events()) {
        (Some(sent), []) => Ok(sent),
        (None, [Event::Drop(_, reason)]) => Err(*reason),
        other => panic!("neither sent nor dropped: {other:?}"),
    }
}

// Every cell of RFC 6040 figure 4, as also measured with Linux 7.2 (ipip).
#[test]
fn egress_combines_the_codepoints_by_rfc_6040() {
    use Ecn::{Ce, Ect0, Ect1, NotEct};
    for (inner, row) in [
        (NotEct, [Some(NotEct), Some(NotEct), Some(NotEct), None]),
        (Ect1, [Some(Ect1), Some(Ect1), Some(Ect1), Some(Ce)]),
        (Ect0, [Some(Ect0), Some(Ect1), Some(Ect0), Some(Ce)]),
        (Ce, [Some(Ce), Some(Ce), Some(Ce), Some(Ce)]),
    ] {
        for (outer, expected) in ALL.into_iter().zip(row) {
            let (mut encap, mut decap, _) = tunnel().ends();
            let mut pkt = pass(&mut *encap, packet(0, inner.on_tos(0x28))).unwrap();
            pkt.set_ecn(outer);
            let out = pass(&mut *decap, pkt);
            let expected = expected.map(|ecn| ecn.on_tos(0x28)).ok_or(Reason::Middlebox);
            assert_eq!(out.map(|p| p.tos), expected, "{inner:?} in {outer:?}");
        }
    }
}

// RFC 6040 4.1, RFC 3168 9.1.1; the last as measured with Linux 7.2 (ipip, vxlan).
#[test]
fn ingress_copies_the_codepoint_or_hides_it() {
    for ecn in ALL {
        let tos = ecn.on_tos(0xb8);
        for (mode, dscp, outer) in [
            (Mode::Normal, Dscp::Copy, tos),
            (Mode::Normal, Dscp::Zero, ecn as u8),
            (Mode::Compatibility, Dscp::Copy, 0xb8),
            (Mode::Compatibility, Dscp::Zero, 0),
            (Mode::FullFunctionality, Dscp::Copy, if ecn == Ecn::Ce { 0xba } else { tos }),
        ] {
            let (mut encap, mut decap, _) = Tunnel { mode, dscp, ..tunnel() }.ends();
            let pkt = pass(&mut *encap, packet(0, tos)).unwrap();
            assert_eq!(pkt.tos, outer);
            assert_eq!(pass(&mut *decap, pkt).unwrap().tos, tos);
        }
    }
}

#[test]
fn packets_between_the_ends_are_one_udp_flow_unless_entropy_is_kept() {
    for (entropy, hashes) in [(Entropy::One, [7, 7]), (Entropy::Inner, [1234, 1235])] {
        let (mut encap, _, _) = Tunnel { entropy, ..tunnel() }.ends();
        for (id, hash) in [0, 1].into_iter().zip(hashes) {
            let outer = pass(&mut *encap, packet(id, 1)).unwrap();
            assert_eq!((outer.hash, outer.src, outer.dst), (hash, 8, 9));
            assert_eq!((outer.kind, outer.ace, outer.sacked), (Kind::Udp, 0, 0));
        }
    }
}

#[test]
fn inner_header_comes_out_as_it_went_in() {
    let (mut outer_in, mut outer_out, _) = tunnel().ends();
    let (mut inner_in, mut inner_out, _) = Tunnel { hash: 70, ..tunnel() }.ends();
    let mut held = Vec::new();
    for id in [3, 0, 2] {
        let pkt = pass(&mut *inner_in, packet(id, 2)).unwrap();
        held.push((id, pass(&mut *outer_in, pkt).unwrap()));
    }
    for (id, pkt) in held.into_iter().rev() {
        let pkt = pass(&mut *outer_out, pkt).unwrap();
        assert_eq!(pkt.hash, 70);
        let pkt = pass(&mut *inner_out, pkt).unwrap();
        let before = Packet { stamp: Time(5), ..packet(id, 2) };
        assert_eq!(format!("{pkt:?}"), format!("{before:?}"));
    }
}

#[test]
fn bit_errors_stay_on_the_copy_that_has_them() {
    let (mut encap, mut decap, _) = tunnel().ends();
    let clean = pass(&mut *encap, packet(0, 2)).unwrap();
    let mut broken = clean;
    broken.set_corrupt();
    assert!(pass(&mut *decap, broken).unwrap().is_corrupt());
    assert!(!pass(&mut *decap, clean).unwrap().is_corrupt());
    let mut broken = packet(0, 2);
    broken.set_corrupt();
    assert!(pass(&mut *encap, broken).unwrap().is_corrupt());
}

#[test]
fn replay_window_takes_what_is_within_it_once() {
    let mut window = ReplayWindow::new(4);
    for (number, accepted) in [
        (1, true),
        (2, true),
        (2, false),
        (6, true),
        (3, true),
        (2, false), // four behind
        (3, false),
        (4, true),
        (5, true),
        (1000, true),
        (997, true),
        (996, false),
        (997, false),
    ] {
        assert_eq!(window.accepts(number), accepted, "{number}");
    }
}

#[test]
fn replay_window_agrees_with_a_set_of_numbers() {
    let mut rng = sojourn_core::rng::Rng::named(1, "replay");
    for size in [1, 2, 63, 64, 65, 128, 200] {
        let (mut window, mut seen) = (ReplayWindow::new(size), std::collections::HashSet::new());
        let mut highest = 0_u32;
        for _ in 0..5000 {
            let number = (highest + 1 + rng.below(8)).saturating_sub(rng.below(2 * size + 8));
            let number = number.max(1);
            let expected = number + size > highest && seen.insert(number);
            assert_eq!(window.accepts(number), expected, "{number} of {highest}, size {size}");
            highest = highest.max(number);
        }
    }
}

#[test]
fn overtaken_packets_are_dropped_behind_the_window() {
    let (mut encap, mut decap, _) = Tunnel { replay_window: Some(32), ..tunnel() }.ends();
    let late = pass(&mut *encap, packet(0, 2)).unwrap();
    for id in 1..=31 {
        let pkt = pass(&mut *encap, packet(id, 1)).unwrap();
        pass(&mut *decap, pkt).unwrap();
    }
    assert!(pass(&mut *decap, late).is_ok(), "31 behind is within 32");
    let late = pass(&mut *encap, packet(0, 2)).unwrap();
    for id in 1..=32 {
        let pkt = pass(&mut *encap, packet(id, 1)).unwrap();
        pass(&mut *decap, pkt).unwrap();
    }
    assert_eq!(pass(&mut *decap, late).unwrap_err(), Reason::Middlebox);
    let mut stats = Stats::default();
    decap.stats(&mut stats);
    assert_eq!(stats.value("replay_drops"), Some(1.0));
}
