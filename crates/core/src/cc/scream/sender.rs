//! The sender of any version.

use super::v2::V2;
use super::{AckLine, Config, Departure, Metric, Permit, Rtp, Stream, Ticks};

/// A sender: no clock, no socket, no encoder.
#[derive(Debug)]
pub struct Sender {
    law: V2,
    now: Ticks,
}

impl Sender {
    /// A sender without streams, at `now`.
    pub fn new(config: Config, now: Ticks) -> Self {
        Self { law: V2::new(config, now), now }
    }

    /// Adds a stream and gives its index; `None`: there are ten already.
    pub fn add_stream(&mut self, stream: Stream) -> Option<usize> {
        self.law.add_stream(stream, self.now)
    }

    /// The payload rate for the next frame, bit/s.
    pub fn target(&mut self, now: Ticks, stream: usize) -> Option<f32> {
        self.law.target(now, stream)
    }

    /// Queues a packet; false if the queue is full.
    pub fn push(&mut self, now: Ticks, stream: usize, packet: Rtp) -> bool {
        self.law.push(now, stream, packet)
    }

    /// Whether a packet may leave.
    pub fn may_transmit(&mut self, now: Ticks) -> Permit {
        self.law.may_transmit(now)
    }

    /// Takes the stream's oldest packet.
    pub fn transmit(&mut self, now: Ticks, stream: usize) -> Option<Departure> {
        self.law.transmit(now, stream)
    }

    /// A block of a report.
    pub fn on_block(
        &mut self,
        now: Ticks,
        ssrc: u32,
        begin: u16,
        metrics: impl ExactSizeIterator<Item = Metric>,
        detailed: bool,
        log: &mut dyn FnMut(&AckLine),
    ) {
        self.law.on_block(now, ssrc, begin, metrics, detailed, log);
    }

    /// A packet that was thrown away.
    pub fn take_discarded(&mut self) -> Option<u64> {
        self.law.take_discarded()
    }
}
