//! What the ends agreed on, and what their feedback says.

use super::{Check, Kind, OfTcp, Seen, part};
use crate::report::EcnMode;

/// Part of the payload that must have arrived with ECT for it not to be bleached; and that may have another codepoint.
const ARRIVED: f64 = 0.1;
/// Options that count bytes before they tell.
const OPTIONS: u64 = 3;
/// A wrap of the ACE field (RFC 9768 3.2.2).
const WRAP: u64 = 8;
/// Part of the round trip between capture and receiver below which the capture was made at the receiver.
const NEAR: f64 = 0.1;

pub(super) const CHECKS: &[OfTcp] = &[
    Check {
        kind: Kind {
            name: "fallback-3168",
            text: "AccECN was asked for, and the other end took RFC 3168: no L4S, one signal for each round trip",
            when: "flags AE, CWR, ECE of the SYN are 111, those of the SYN/ACK 001 or 101",
            source: "RFC 9768 3.1.2",
        },
        look: |seen| {
            let syn = seen.connection.syn_flags.as_deref().filter(|&flags| flags == "111")?;
            (seen.connection.ecn == Some(EcnMode::Classic)).then(|| flags(seen, syn))
        },
    },
    Check {
        kind: Kind {
            name: "accecn-mangled",
            text: "flags of the handshake changed on the way, or are none that a standard knows: no ECN",
            when: "AE, CWR, ECE of SYN, SYN/ACK and the third ACK fit no row of the table",
            source: "RFC 9768 3.1.2, table 2",
        },
        look: |seen| {
            let syn = seen.connection.syn_flags.as_deref()?;
            (seen.connection.ecn == Some(EcnMode::Mangled)).then(|| flags(seen, syn))
        },
    },
    Check {
        kind: Kind {
            name: "bleached-by-feedback",
            text: "the receiver says that the data arrive without ECT although they pass here with it",
            when: "90 % of the data ECT, 3 AccECN options or more, and their counters grow by less than 10 % of what is acknowledged",
            source: "RFC 9768 3.2.3; RFC 3168 5 forbids it",
        },
        look: bleached,
    },
    Check {
        kind: Kind {
            name: "re-marked-by-feedback",
            text: "the receiver says that the data arrive with ECT(0) although they pass here with ECT(1)",
            when: "90 % of the data ECT(1) or CE, 3 AccECN options or more, 10 % or more of what is acknowledged counted as ECT(0)",
            source: "RFC 9768 3.2.3; RFC 9331 5.1",
        },
        look: re_marked,
    },
    Check {
        kind: Kind {
            name: "phantom-ce",
            text: "ACKs of many packets are read as marks that nobody made: a wrap of ACE is believed where there was none",
            when: "8 CE or more read from the ACE field, while AccECN's options count no byte with CE, or a capture at the receiver shows no CE packet",
            source: "RFC 9768 A.2.1, the safe decoding",
        },
        look: phantom_ce,
    },
];

fn flags(seen: &Seen<'_>, syn: &str) -> String {
    let answer = seen.connection.syn_ack_flags.as_deref().unwrap_or("not captured");
    let third = seen.connection.third_ack_flags.as_deref().unwrap_or("unknown");
    format!("AE, CWR, ECE of the SYN {syn}, of the SYN/ACK {answer}, of the third ACK {third}")
}

fn bleached(seen: &Seen<'_>) -> Option<String> {
    let fed = seen.accecn().filter(|fed| fed.options >= OPTIONS)?;
    let counted = fed.ect0_bytes? + fed.ect1_bytes? + fed.ce_bytes?;
    let is_bleached = seen.ect() >= 0.9 && part(counted, seen.fed.acked_bytes) < ARRIVED;
    (is_bleached && seen.fed.acked_bytes > 0).then(|| {
        format!(
            "{:.0} % of {} data packets ECT here; {} of {} bytes counted with ECT or CE",
            100.0 * seen.ect(),
            seen.data.data_packets,
            counted,
            seen.fed.acked_bytes
        )
    })
}

fn re_marked(seen: &Seen<'_>) -> Option<String> {
    let fed = seen.accecn().filter(|fed| fed.options >= OPTIONS)?;
    let ecn = &seen.data.data_ecn;
    let ect0 = fed.ect0_bytes?;
    let is_l4s = part(ecn.ect1 + ecn.ce, seen.data.data_packets) >= 0.9;
    (is_l4s && part(ect0, seen.fed.acked_bytes) >= ARRIVED).then(|| {
        format!(
            "{} of {} data packets ECT(1) here; {ect0} of {} bytes counted with ECT(0)",
            ecn.ect1, seen.data.data_packets, seen.fed.acked_bytes
        )
    })
}

fn phantom_ce(seen: &Seen<'_>) -> Option<String> {
    let fed = seen.accecn().filter(|fed| fed.ce_packets_safe >= WRAP)?;
    let by_options = fed.options >= OPTIONS && fed.ce_bytes == Some(0);
    let whole = seen.connection.handshake_ms?;
    let ahead = seen.sent.rtt_seq_ms?.p50;
    let by_capture = ahead <= NEAR * whole && seen.data.data_ecn.ce == 0;
    (by_options || by_capture).then(|| {
        let witness = if by_options { "options count no byte with CE" } else { "no CE arrives" };
        format!("{} CE by ACE, {witness}", fed.ce_packets_safe)
    })
}
