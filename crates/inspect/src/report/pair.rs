//! What two captures of the same packets say together.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Clocks, Diagnosis, Distribution, End, Protocol, Transitions};

/// Version of the JSON document: it grows when a reader of an older one would be wrong.
pub const FORMAT: u32 = 1;

/// All of it. Times are seconds of the first capture's clock since its first packet.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// [`FORMAT`].
    pub format: u32,
    /// IP packets read, in each capture.
    pub packets: [u64; 2],
    /// Packets seen at both points.
    pub matched: u64,
    /// Packets before the first and behind the last one that both captures have: they were not both running.
    pub outside: [u64; 2],
    /// Packets that are compared with none: fragments, what stays on its link (such as `ff02::` and 224.0.0.0/24), and
    /// records without an IP packet that could be read.
    pub skipped: [u64; 2],
    /// Unmatched packets that were given up because the window was full. Where there are any, some of what is
    /// counted as lost may not be.
    pub given_up: [u64; 2],
    /// The second capture's clock beside the first's.
    pub clocks: Option<Clocks>,
    /// Flows in the order of their first packets in the first capture.
    pub flows: Vec<Flow>,
}

/// A connection, or datagrams between two ports.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Flow {
    /// TCP, UDP, ICMP or other.
    pub protocol: Protocol,
    /// Who sent the first packet, as the first capture has it.
    pub opener: End,
    /// The other end.
    pub peer: End,
    /// Both as the second capture has them, where addresses or ports are translated between.
    pub translated: Option<[End; 2]>,
    /// From the opener to its peer.
    pub forward: Way,
    /// Back.
    pub backward: Way,
}

/// One direction of a flow. "Before" and "behind" are the points in the order in which its packets pass them.
///
/// What diagnoses need: `path` has marks ([`Transitions::marked`]), bleaching and re-marking; `queue_delay_marked_ms`
/// less than `queue_delay_unmarked_ms` is a queue that marks at random, much greater a threshold; losses without
/// marks at a queue delay that stands still at its maximum are a bottleneck without ECN; a queue delay near zero with
/// losses or marks elsewhere is a queue that is not the bottleneck; `tcp_flags` tells who mangles AccECN.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Way {
    /// Its packets pass the first capture's point first. Absent where nothing tells, and then this is assumed.
    pub first_before: Option<bool>,
    /// Packets seen at both points.
    pub both: u64,
    /// Packets seen at the point before alone: lost between the two.
    pub lost: u64,
    /// Packets seen at the point behind alone: the capture before did not get them, or they come from between.
    pub added: u64,
    /// Packets whose order changed between the points.
    pub reordered: u64,
    /// Codepoints before and behind.
    pub path: Transitions,
    /// Changes of DSCP.
    pub dscp: Vec<DscpChange>,
    /// Changes of TCP's flags, by their names: `AE`, `CWR`, `ECE` and the others.
    pub tcp_flags: BTreeMap<String, FlagChange>,
    /// Kinds of TCP options that were there before and not behind, and how often.
    pub options_removed: BTreeMap<u8, u64>,
    /// Kinds that were there behind only.
    pub options_added: BTreeMap<u8, u64>,
    /// Times to live before less those behind, smallest and largest: routers between.
    pub hops: Option<[i16; 2]>,
    /// Packets kept whole whose transport checksum is wrong, at the first and second point. Where the capturing host
    /// leaves sums to its network interface, those it sends have none yet.
    pub wrong_checksums: [u64; 2],
    /// One-way delay between the points, if that of the empty path is the same in both directions, ms: wrong by
    /// [`Clocks::offset_error_s`] at most.
    pub one_way_ms: Option<Distribution>,
    /// Its part over the empty path's, which needs no such assumption, ms.
    pub queue_delay_ms: Option<Distribution>,
    /// Of packets that got CE between the points.
    pub queue_delay_marked_ms: Option<Distribution>,
    /// Of packets with ECT that did not.
    pub queue_delay_unmarked_ms: Option<Distribution>,
    /// What the path between the points does to its packets.
    pub diagnoses: Vec<Diagnosis>,
}

/// A change of DSCP (RFC 2474).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct DscpChange {
    /// Before.
    pub from: u8,
    /// Behind.
    pub to: u8,
    /// Packets.
    pub packets: u64,
}

/// Changes of a flag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FlagChange {
    /// Packets that had it behind only.
    pub set: u64,
    /// Packets that had it before only.
    pub cleared: u64,
}
