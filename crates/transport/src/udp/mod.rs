//! Congestion control over UDP as in L4STeam/udp_prague: data packets with a sequence number and a
//! timestamp, each answered by a report of running totals. Nothing is sent
//! again. Messages are metadata; their headers are part of the payload length.

mod receiver;
mod sender;

pub use receiver::Receiver;
pub use sender::Sender;

use sojourn_core::Time;

/// Ethernet, IPv4 and UDP headers.
const HEADERS: u32 = 14 + 20 + 8;
/// IPv4 and UDP headers, what an MTU leaves no room for.
const IP_HEADERS: u32 = 28;
/// Payload of a report: type, six 32-bit fields and the error flag.
const REPORT_BYTES: u32 = 26;

/// Parameters of both ends.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// DSCP in the TOS byte.
    pub tos: u8,
    /// Path MTU in IP bytes.
    pub mtu: u32,
    /// Payload bytes to send; `None` is unlimited.
    pub bytes: Option<u64>,
}

/// What a datagram says.
#[derive(Clone, Copy, Debug)]
pub enum Message {
    /// Data of the sender.
    Data(Data),
    /// What the receiver has counted.
    Report(Report),
}

/// A data packet.
#[derive(Clone, Copy, Debug)]
pub struct Data {
    /// Number of the packet, from 1.
    pub seq: u64,
    /// When it was sent.
    pub sent: Time,
    /// Payload bytes, this header included.
    pub len: u32,
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub struct Report {
    /// The packet that it answers.
    pub seq: u64,
    /// Timestamp of that packet, moved by what the receiver held it back.
    pub echo: Time,
    /// Packets received.
    pub received: u64,
    /// Of those, marked CE.
    pub ce: u64,
    /// Packets missing; falls when one was only late.
    pub lost: u64,
    /// A packet arrived neither ECT(1) nor CE: the path is not fit for L4S.
    pub error: bool,
}
