//! Media over RTP under a congestion controller: a video source that follows the controller's
//! target, the queue of packets behind it, a paced sender, and a receiver that reports the fate of
//! each packet (RFC 8888). Nothing is sent again. Packets are metadata; headers are part of their
//! length.

pub mod feedback;
pub mod rtp_queue;
pub mod source;

mod receiver;
mod scream;
pub mod scream_rx;
pub mod scream_tx;
mod sender;

pub use receiver::Receiver;
pub use scream::{ScreamReceiver, ScreamSender};
pub use scream_tx::Encoder;
pub use sender::Sender;

use sojourn_core::Time;

use feedback::Report;

/// Ethernet header.
const L2_HEADER: u32 = 14;
/// IPv4, UDP and RTP headers.
pub const HEADERS: u32 = 20 + 8 + 12;

/// What a datagram says.
#[derive(Clone, Debug)]
pub enum Message {
    /// A media packet.
    Data(Data),
    /// A report of the receiver.
    Feedback(Report),
    /// A report of SCReAM's receiver, as the bytes that it would be on the wire.
    Rtcp(Box<[u8]>),
}

/// A media packet.
#[derive(Clone, Copy, Debug)]
pub struct Data {
    /// RTP sequence number, unwrapped; the queue's discards leave gaps.
    pub seq: u64,
    /// Which of the packets that left it is, from 0.
    pub number: u64,
    /// When it left the sender.
    pub sent: Time,
    /// IP bytes.
    pub bytes: u32,
    /// The frame that it is a part of, and how many packets that has.
    pub frame: u64,
    /// Packets of that frame.
    pub packets: u32,
    /// When the encoder had that frame.
    pub captured: Time,
    /// The last packet of its frame.
    pub marker: bool,
    /// Which of the flow's streams it is of.
    pub stream: u8,
}
