//! Bursts, and what packets were carried in.

use super::{Check, Kind, OfFlow, part};
use crate::family;
use crate::report::Flow;

/// Step threshold of an L queue, ms: a burst that takes longer is marked whatever the load.
const TARGET_MS: f64 = 1.0;
/// Bytes of a burst of three packets: on a slow link one packet takes longer than the target.
const THREE_PACKETS: f64 = 4500.0;
/// Part of the packets that are super-packets.
const UNCUT: f64 = 0.1;
/// Rate of which packets of 1500 bytes are 200 us apart: twice the gap that ends a burst.
const SLOW_MBPS: f64 = 60.0;
/// Part of the round trip that is ahead of a capture at the sender's side.
const AT_SENDER: f64 = 0.5;
/// Hidden codepoints, of all packets; and how many.
const HIDDEN: f64 = 0.1;
const SEVERAL: u64 = 10;

pub(super) const CHECKS: &[OfFlow] = &[
    Check {
        kind: Kind {
            name: "offload-trains",
            text: "the sender's trains are longer than the target of an immediate AQM: they are marked without a queue",
            when: "one burst in twenty (within 100 us) takes more than 1 ms at the delivery rate's 95th percentile, and has more than 4500 bytes; captured nearer to the sender, at 60 Mbit/s or less or with 10 % super-packets",
            source: "RFC 9331 4.3 (bursts of 250 us); Linux dualpi2 `step_thresh 1ms`",
        },
        look: trains,
    },
    Check {
        kind: Kind {
            name: "ect-lost-in-tunnel",
            text: "the tunnel hides ECT: its queues drop where they could mark",
            when: "10 % of the packets or more, and 10 packets, have ECT inside and none outside",
            source: "RFC 6040 4.1",
        },
        look: hidden,
    },
    Check {
        kind: Kind {
            name: "ce-outside-tunnel",
            text: "marks of the outer header are not inside: the egress must copy them, and drop what is Not-ECT inside",
            when: "10 packets or more with CE outside alone",
            source: "RFC 6040 4.2",
        },
        look: |flow| {
            let tunnel = flow.tunnel.as_ref()?;
            (tunnel.outer_ce >= SEVERAL)
                .then(|| format!("{} packets in {}", tunnel.outer_ce, tunnel.kind))
        },
    },
];

fn trains(flow: &Flow) -> Option<String> {
    let data = family::sender(flow);
    let (bytes, ms) = (data.burst_bytes?, data.burst_ms?);
    let ahead = data.tcp.as_ref()?.rtt_seq_ms?.p50;
    let whole = flow.tcp.as_ref()?.handshake_ms?;
    // Elsewhere packets of a fast link follow each other so closely without being a train.
    let is_train =
        part(data.super_packets, data.data_packets) >= UNCUT || data.rate_mbps?.p95 <= SLOW_MBPS;
    let is_at_sender = ahead >= AT_SENDER * whole;
    (is_at_sender && is_train && ms.p95 > TARGET_MS && bytes.p95 > THREE_PACKETS).then(|| {
        format!(
            "95th percentile of bursts {:.0} bytes, {:.1} ms; {} packets not cut yet",
            bytes.p95, ms.p95, data.super_packets
        )
    })
}

fn hidden(flow: &Flow) -> Option<String> {
    let tunnel = flow.tunnel.as_ref()?;
    let packets = flow.forward.packets + flow.backward.packets;
    let is_hidden = tunnel.ect_hidden >= SEVERAL && part(tunnel.ect_hidden, packets) >= HIDDEN;
    is_hidden.then(|| format!("{} of {packets} packets in {}", tunnel.ect_hidden, tunnel.kind))
}
