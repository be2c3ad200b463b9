//! TCP as Linux runs it, at segment level: a sender half and a receiver half.
//!
//! Sequence numbers are 64-bit byte offsets from the initial sequence number, so nothing wraps;
//! the wire format of the live engine narrows them. Level and era are those of [`Config`].

mod ecn;
mod era;
mod gro;
mod pacer;
mod prr;
mod rack;
mod rate;
mod reassembly;
mod receiver;
mod rto;
mod sack;
mod segment;
mod sender;

pub use ecn::{AccEcnSender, Negotiation, SceFeedback};
pub use era::{AceReading, CwndLimited, Era, Kernel, PrrRule};
pub use prr::Prr;
pub use receiver::Receiver;
pub use rto::RttEstimator;
pub use segment::{Flags, SackBlocks, Segment};
pub use sender::Sender;

use sojourn_cc::Feedback;
use sojourn_core::Dur;

/// Parameters of both ends of a connection (sysctl names where there is one).
#[derive(Clone, Debug)]
pub struct Config {
    /// What changed between kernels.
    pub kernel: Kernel,
    /// ECN that the ends try to negotiate (`tcp_ecn`).
    pub ecn: Feedback,
    /// DSCP in the TOS byte.
    pub tos: u8,
    /// Path MTU in IP bytes.
    pub mtu: u32,
    /// Timestamp option.
    pub timestamps: bool,
    /// Initial window in segments (RFC 6928: 10).
    pub initial_cwnd: u32,
    /// `tcp_rmem[1]`.
    pub rmem_default: u64,
    /// `tcp_rmem[2]`.
    pub rmem_max: u64,
    /// `tcp_wmem[2]`.
    pub wmem_max: u64,
    /// `tcp_pacing_ss_ratio`, percent.
    pub pacing_ss_ratio: u32,
    /// `tcp_pacing_ca_ratio`, percent.
    pub pacing_ca_ratio: u32,
    /// Pace whatever the controller.
    pub pacing: bool,
    /// The segments of a burst leave as one super-packet.
    pub gso: bool,
    /// The receiving host merges segments before TCP sees them.
    pub gro: bool,
    /// How long it holds a merged packet (`gro_flush_timeout` of a network device).
    pub gro_flush_timeout: Dur,
    /// TCP small queues: bound what waits in the first queue of the path.
    pub tsq: bool,
    /// That bound for an unpaced connection (`tcp_limit_output_bytes`).
    pub limit_output_bytes: u64,
    /// Send the AccECN option (`tcp_ecn_option`).
    pub accecn_option: bool,
    /// How a receiver with SCE chooses the ACKs that carry ESCE.
    pub sce_feedback: SceFeedback,
    /// ECN++: control packets and retransmissions are ECN-capable as well
    /// (draft-ietf-tcpm-generalized-ecn).
    pub ecn_plus_plus: bool,
    /// Kernel tick rate.
    pub hz: u32,
    /// Round trips of the application's control connection before this one opens.
    pub control_rtts: u32,
    /// Bytes to send; `None` is unlimited.
    pub bytes: Option<u64>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            kernel: Kernel::default(),
            ecn: Feedback::AccEcn,
            tos: 0,
            mtu: 1500,
            timestamps: true,
            initial_cwnd: 10,
            rmem_default: 131_072,
            rmem_max: 6_291_456,
            wmem_max: 4_194_304,
            pacing_ss_ratio: 200,
            pacing_ca_ratio: 120,
            pacing: false,
            gso: false,
            gro: false,
            gro_flush_timeout: Dur::from_micros(20),
            tsq: false,
            limit_output_bytes: 1 << 20,
            accecn_option: false,
            sce_feedback: SceFeedback::Advanced,
            ecn_plus_plus: false,
            hz: 1000,
            control_rtts: 0,
            bytes: None,
        }
    }
}

impl Config {
    /// Payload bytes of a full segment: MTU less 40 bytes of headers and 12 of timestamps.
    pub fn mss(&self) -> u32 {
        self.mtu - 40 - if self.timestamps { 12 } else { 0 }
    }

    /// Whether segments are discarded for their timestamps.
    fn checks_timestamps(&self) -> bool {
        self.timestamps && self.kernel.paws
    }
}
