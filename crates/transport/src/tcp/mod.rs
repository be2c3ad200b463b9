//! TCP as Linux runs it, at segment level: a sender half and a receiver half, and both at each end of a [`Duplex`].
//!
//! Sequence numbers are 64-bit byte offsets from the initial sequence number, so nothing wraps;
//! the wire format of the live engine narrows them. Level and era are those of [`Config`].

mod config;
mod duplex;
mod ecn;
mod era;
mod gro;
mod pacer;
mod prr;
mod quiet;
mod rack;
mod rate;
mod reassembly;
mod receiver;
mod rto;
mod sack;
mod segment;
mod sender;
mod sysctl;

pub use config::{Config, Overlay, Owner, PARAMETERS, Parameter};
pub use duplex::Duplex;
pub use ecn::{AccEcnSender, Negotiation, SceFeedback};
pub use era::{AceReading, CwndLimited, Era, PrrRule};
pub use prr::Prr;
pub use quiet::{Arrival, Quiet, quiet_window};
pub use receiver::Receiver;
pub use rto::RttEstimator;
pub use segment::{Flags, SackBlocks, Segment};
pub use sender::Sender;
pub use sysctl::Form;
