//! SCReAM: self-clocked rate adaptation for media. One window for up to ten streams, an RTP queue
//! for each, and the rates that encoders should have. Versions 1 (RFC 8298 and the tool of 2020) and
//! 2 (the tool of 2024 and later, draft-ietf-ccwg-rfc8298bis-screamv2). The tool is
//! EricssonResearch/scream: f9deed2 is its version 2020-03-20, 994f9a4 2024-10-28, 76a298a 2024-10-31
//! and c8f84c3 2026-06-30.
//!
//! The sender is more than a [`Controller`](super::Controller): it chooses the next packet, discards
//! old ones and looks at every word of a report. Whoever drives it (the simulated end point, the tool
//! on real sockets, the C library) owns clock, encoder and socket.

mod config;
mod delay;
mod flight;
mod queue;
mod rates;
mod report;
mod schedule;
mod sender;
pub(super) mod setup;
mod snapshot;
mod stats;
mod stream;
mod transmitter;
mod v1;
mod v2;

pub use config::{Config, Stream, Version};
pub use sender::Sender;
pub use setup::Setup;
pub use snapshot::{Snapshot, StreamRates, StreamSnapshot};
pub use sojourn_core::wire::ccfb::Metric;
pub use sojourn_core::wire::ticks::{self, Ticks};
pub use stats::{Extremes, Shares, Summary};

/// Streams of a sender, at most.
pub const STREAMS: usize = 10;

/// A packet in an RTP queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rtp {
    /// Sequence number.
    pub seq: u16,
    /// Bytes with the RTP header, at most 65535.
    pub bytes: u32,
    /// RTP timestamp, 90 kHz.
    pub timestamp: u32,
    /// Last of its frame.
    pub marker: bool,
    /// When it was queued.
    pub queued: Ticks,
    /// The driver's name for its bytes.
    pub handle: u64,
}

/// What [`Sender::may_transmit`] says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Permit {
    /// No packet waits, or the window is full.
    No,
    /// This stream's oldest packet may leave, now or after so many seconds.
    Send {
        /// Index of the stream.
        stream: usize,
        /// Pacing says to wait, s.
        after: f32,
    },
}

/// A packet that leaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Departure {
    /// The packet.
    pub packet: Rtp,
    /// How long it was in the RTP queue, s.
    pub queue_delay: f32,
    /// Time to the next packet at the pacing rate, s; 0 without pacing.
    pub pace: f32,
}

/// A line of the per-ACK log: the columns of all generations of the tool.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AckLine {
    /// When.
    pub time: Ticks,
    /// Queue delay, s.
    pub queue_delay: f32,
    /// RTT of the packet, s.
    pub rtt: f32,
    /// Window, bytes.
    pub cwnd: u32,
    /// Bytes in flight.
    pub in_flight: u32,
    /// Fast increase (version 1).
    pub fast_increase: bool,
    /// All streams' rate, bit/s.
    pub total_rate: f32,
    /// Stream.
    pub stream: usize,
    /// RTP sequence number.
    pub seq: u16,
    /// Bytes newly acknowledged since the last line (version 1 in parity: since the last window update).
    pub acked: u32,
    /// Of these, with CE.
    pub acked_ce: u32,
    /// Encoder's rate, bit/s.
    pub media_rate: f32,
    /// Transmitted rate, bit/s.
    pub sent_rate: f32,
    /// Acknowledged rate, bit/s.
    pub acked_rate: f32,
    /// Lost rate, bit/s.
    pub lost_rate: f32,
    /// Marked rate, bit/s.
    pub ce_rate: f32,
    /// The packet ends a frame.
    pub marker: bool,
    /// Target, bit/s.
    pub target: f32,
    /// Delay of the packet in the RTP queue, s.
    pub rtp_queue_delay: f32,
    /// Inflection point of the window, bytes.
    pub cwnd_i: u32,
    /// Time of sending and, if the packet arrived, of arrival in the receiver's clock.
    pub sent: Ticks,
    /// When it arrived.
    pub received: Option<Ticks>,
}

#[cfg(test)]
mod tests;
