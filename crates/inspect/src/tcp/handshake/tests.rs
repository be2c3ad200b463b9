use sojourn_wire::options::Options;

use super::*;

fn segment(at: u64, forward: bool, flags: u16, ace: u8, ecn: Ecn) -> Segment {
    Segment {
        at,
        forward,
        ecn,
        ip_len: 40,
        id: 0,
        seq: 9,
        ack: 10,
        flags: flags | u16::from(ace) << 6,
        window: 0,
        data: 0,
        timestamps: None,
        is_cut: false,
        has_options: false,
    }
}

/// SYN, SYN/ACK and ACK with these ACE fields; the SYN has ECT(1), the SYN/ACK none.
fn opened(syn: u8, answer: u8, third: u8) -> Handshake {
    let mut handshake = Handshake::default();
    let codepoint = if syn == 0b111 { Ecn::Ect1 } else { Ecn::NotEct };
    assert!(handshake.segment(&segment(1, true, SYN, syn, codepoint), &Options::default()));
    assert!(
        handshake.segment(&segment(5, false, SYN | ACK, answer, Ecn::NotEct), &Options::default())
    );
    assert!(handshake.segment(&segment(6, true, ACK, third, Ecn::NotEct), &Options::default()));
    assert!(
        !handshake.segment(&segment(7, true, ACK, third, Ecn::NotEct), &Options::default()),
        "a counter"
    );
    handshake
}

// KAT inspect 4
#[test]
fn flags_of_the_handshake_agree_on_a_mode() {
    use EcnMode::{AccEcn, Classic, Mangled, None};
    for (syn, answer, third, mode) in [
        (0b000, 0b000, 0b000, None),
        (0b011, 0b000, 0b000, None),
        (0b011, 0b001, 0b000, Classic),
        (0b011, 0b011, 0b000, None),
        (0b111, 0b011, 0b010, AccEcn),
        (0b111, 0b110, 0b010, AccEcn),
        (0b111, 0b001, 0b000, Classic),
        (0b111, 0b101, 0b000, Classic),
        (0b111, 0b000, 0b000, None),
        (0b111, 0b111, 0b000, None),
        // The peer received another codepoint than ECT(1).
        (0b111, 0b010, 0b010, Mangled),
        (0b111, 0b100, 0b010, Mangled),
        // The ACK's ACE was cleared, or says ECT(1) of a SYN/ACK without ECT.
        (0b111, 0b011, 0b000, Mangled),
        (0b111, 0b011, 0b011, Mangled),
        (0b000, 0b001, 0b000, Mangled),
    ] {
        let handshake = opened(syn, answer, third);
        assert_eq!(handshake.mode(), Some(mode), "{syn:03b} {answer:03b} {third:03b}");
        assert_eq!(handshake.is_accecn(), mode == AccEcn || (mode == Mangled && syn == 0b111));
    }
}

#[test]
fn a_repeated_syn_without_ecn_counts() {
    let mut handshake = Handshake::default();
    handshake.segment(&segment(0, true, SYN, 0b111, Ecn::Ect1), &Options::default());
    handshake.segment(&segment(1_000_000_000, true, SYN, 0b000, Ecn::NotEct), &Options::default());
    handshake.segment(
        &segment(1_020_000_000, false, SYN | ACK, 0b000, Ecn::NotEct),
        &Options::default(),
    );
    handshake.segment(&segment(1_020_000_000, true, ACK, 0b000, Ecn::NotEct), &Options::default());
    let report = handshake.report(false);
    assert_eq!((report.ecn, report.syn_retransmissions), (Some(EcnMode::None), 1));
    assert_eq!((report.syn_rtt_ms, report.handshake_ms), (None, Some(1020.0)));
    assert_eq!(handshake.round_trip(), None);
}
