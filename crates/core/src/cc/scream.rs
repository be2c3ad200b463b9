//! SCReAM: self-clocked rate adaptation for media. One window for up to ten streams, an RTP queue
//! for each, and the rates that encoders should have. Versions 1 (RFC 8298 and the tool of 2020) and
//! 2 (the tool of 2024 and later, draft-ietf-ccwg-rfc8298bis-screamv2). Facts: `scream.md` 4 to 6.
//!
//! The sender is more than a [`Controller`](super::Controller): it chooses the next packet, discards
//! old ones and looks at every word of a report. Whoever drives it (the simulated end point, the tool
//! on real sockets, the C library) owns clock, encoder and socket.

mod delay;
mod flight;
mod queue;
mod rates;
mod sender;
pub mod ticks;
mod v2;
pub(super) mod words;

pub use sender::Sender;
pub use ticks::Ticks;
pub use words::Setup;

use crate::ecn::Ecn;

/// Streams of a sender, at most.
pub const STREAMS: usize = 10;

/// Which text or tool is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// RFC 8298.
    Rfc8298,
    /// The tool of 2020-03-20 (version 1).
    V2020,
    /// The tool of 2024-10-28 (version 2), with which the test activity was done.
    V2024,
    /// The tool of 2024-10-31: emulates CUBIC with L4S, too.
    V2024b,
    /// draft-ietf-ccwg-rfc8298bis-screamv2.
    Draft,
    /// The tool of 2026-06-30, its defects mended.
    V2026,
}

/// Parameters of a sender. Constants of the algorithm that no tool makes an option are in its file.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Text or tool.
    pub version: Version,
    /// Keeps the original's quirks (`scream.md` 10, second paragraph).
    pub parity: bool,
    /// Reacts to CE as L4S (ECT(1)), not as classic ECN.
    pub l4s: bool,
    /// Share of the window that a loss leaves.
    pub loss_beta: f32,
    /// Share of the window that a classic CE leaves.
    pub ecn_beta: f32,
    /// Queue delay target, s.
    pub delay_target: f32,
    /// First window, bytes.
    pub initial_cwnd: u32,
    /// Least window, bytes.
    pub least_cwnd: u32,
    /// Paces packets.
    pub pacing: bool,
    /// Pacing rate over media rate.
    pub pace_headroom: f32,
    /// Greatest further factor for a frame that is larger than the mean.
    pub adaptive_pace_headroom: f32,
    /// The window may grow to so many times the bytes in flight.
    pub inflight_headroom: f32,
    /// Multiplicative increase per RTT.
    pub mul_increase: f32,
    /// Bytes in flight may exceed the window by this factor, at most.
    pub max_window_headroom: f32,
    /// No window.
    pub open_window: bool,
    /// Paces faster when the target is near the greatest rate.
    pub relaxed_pacing: bool,
    /// Compensates for a receiver's clock that runs faster.
    pub clock_drift: bool,
    /// A packet is lost when one sent so much later is acknowledged, s.
    pub reorder_time: f32,
    /// Raises the delay target beside flows that fill the queue.
    pub shared_bottleneck: bool,
    /// Looks for policers.
    pub policer_protection: bool,
    /// Least window from the least rates.
    pub autotune_least_cwnd: bool,
    /// Greatest rate of all streams, bit/s.
    pub max_total_rate: Option<f32>,
    /// RTP payload sizes to choose from, bytes, increasing.
    pub mtus: Vec<u32>,
    /// Chooses the payload so that so many packets are in flight; 0: the largest.
    pub least_packets_in_flight: u32,
    /// Version 1: reaction to a delay above the target.
    pub gain_down: f32,
    /// Version 1: greatest rise of the rate, bit/s per s.
    pub ramp_up_speed: f32,
    /// Version 1: greatest rise of the rate as a share of it, per s.
    pub ramp_up_scale: f32,
}

impl Config {
    /// What the tool of this version has without options.
    pub fn new(version: Version) -> Self {
        Self {
            version,
            parity: false,
            l4s: false,
            loss_beta: 0.7,
            ecn_beta: 0.7,
            delay_target: 0.06,
            initial_cwnd: 12_500,
            least_cwnd: 2424,
            pacing: true,
            pace_headroom: 1.5,
            adaptive_pace_headroom: 1.5,
            inflight_headroom: 2.0,
            mul_increase: 0.05,
            max_window_headroom: 5.0,
            open_window: false,
            relaxed_pacing: false,
            clock_drift: false,
            reorder_time: 0.03,
            shared_bottleneck: false,
            policer_protection: false,
            autotune_least_cwnd: false,
            max_total_rate: None,
            mtus: vec![1200],
            least_packets_in_flight: 0,
            gain_down: 10.0,
            ramp_up_speed: 10e6,
            ramp_up_scale: 0.5,
        }
    }
}

/// One stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stream {
    /// SSRC of its packets.
    pub ssrc: u32,
    /// Share of the whole rate beside the other streams' priorities, above 0 and at most 1.
    pub priority: f32,
    /// Rates, bit/s.
    pub min_rate: f32,
    /// First target.
    pub init_rate: f32,
    /// Greatest target.
    pub max_rate: f32,
    /// The RTP queue is emptied once its oldest packet is older, s.
    pub max_queue_delay: f32,
    /// A target that changes less (up by this share, down by a quarter of it) stays.
    pub hysteresis: f32,
    /// Corrects the target by what the encoder makes of it.
    pub scale_target: bool,
}

impl Stream {
    /// What the tool has without options.
    pub fn new(ssrc: u32) -> Self {
        Self {
            ssrc,
            priority: 1.0,
            min_rate: 1e6,
            init_rate: 1e6,
            max_rate: 200e6,
            max_queue_delay: 0.2,
            hysteresis: 0.0,
            scale_target: false,
        }
    }
}

/// A packet in an RTP queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rtp {
    /// Sequence number.
    pub seq: u16,
    /// Bytes with the RTP header.
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

/// What [`Sender::may_transmit`](self) says.
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

/// A line of the per-ACK log: the columns of all generations (`scream.md` 2.8).
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
    /// Bytes newly acknowledged since the last line (version 1: since the last window update).
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

/// What a report says of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// When it arrived, in the receiver's clock.
    pub received: Option<Ticks>,
    /// With which codepoint.
    pub ecn: Ecn,
}
