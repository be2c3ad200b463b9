//! What a discipline finds around it.

use crate::medium::Medium;
use crate::traces::Traces;
use sojourn_core::rng::Rng;
use sojourn_core::units::Time;

/// MTU plus layer-2 header: `psched_mtu`, 1514 on Ethernet.
pub const PSCHED_MTU: u32 = 1514;

/// Transmit queue length of a device, the default limit of FIFOs, in packets.
pub const TXQUEUELEN: u32 = 1000;

/// What a discipline may know of its surroundings when it is built.
#[derive(Clone, Debug)]
pub struct Env {
    /// The element's dotted name, such as `link.bneck.qdisc`, for messages.
    pub name: String,
    /// This element's own random stream.
    pub rng: Rng,
    /// Kernel tick rate (jiffies per second), for timers that Linux counts in jiffies.
    pub hz: u32,
    /// Whether it precedes a queue, as an action of an ingress filter does, which sees frames
    /// without their Ethernet header.
    pub at_ingress: bool,
    /// Instant of creation, on the queue's clock.
    pub now: Time,
    /// Instant on the same clock at which the scenario starts.
    pub origin: Time,
    /// The link traces that texts may name.
    pub traces: Traces,
    /// What the two directions of a half-duplex link share.
    pub medium: Medium,
}

impl Env {
    /// An Ethernet device (MTU 1500, txqueuelen 1000, HZ 1000) with the given random stream.
    pub fn ethernet(rng: Rng) -> Self {
        Self {
            name: String::new(),
            rng,
            hz: 1000,
            at_ingress: false,
            now: Time::ZERO,
            origin: Time::ZERO,
            traces: Traces::default(),
            medium: Medium::default(),
        }
    }

    /// When what is built begins to serve traffic, from which traces and slots count: its creation,
    /// or the scenario's start if it has been there before.
    pub fn start(&self) -> Time {
        self.now.max(self.origin)
    }
}
