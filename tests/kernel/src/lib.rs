//! Feeds the same packet trains through a real Linux queue and through ours, and compares.

pub mod cases;
pub mod compare;
pub mod guest;
pub mod middlebox;
pub mod ours;
pub mod report;
pub mod train;

/// What became of one packet of a train.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Index in the train.
    pub seq: u32,
    /// When it left the queue, in nanoseconds of the guest's monotonic clock.
    pub time_ns: u64,
    /// DSCP and ECN with which it left.
    pub tos: u8,
}

/// One train through one queue. What is offered and does not leave was dropped.
#[derive(Clone, Debug, Default)]
pub struct Passage {
    /// Packets in the order in which they left.
    pub left: Vec<Arrival>,
    /// Counters by the names of `tc -s`.
    pub stats: Vec<(String, f64)>,
}
