//! A video encoder that follows a target rate: frames at equal distances, every Nth a larger key
//! frame, sizes lognormal about their mean (RFC 8593's ingredients).

use std::collections::VecDeque;

use sojourn_core::math;
use sojourn_core::{Dur, Rate, Rng, Time};

use super::HEADERS;
use crate::app::udp::normal;

/// The encoder and the queue behind it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// Frames per second.
    pub fps: f64,
    /// Frames from one key frame to the next.
    pub gop: u64,
    /// Size of a key frame over that of another.
    pub key: f64,
    /// Standard deviation of the logarithm of sizes.
    pub sigma: f64,
    /// IP bytes of a full packet.
    pub packet: u32,
    /// Time from a new target to the first frame that has it.
    pub delay: Dur,
    /// A sender's queue that holds a packet for longer is emptied.
    pub queue: Dur,
    /// Rates of IP bytes between which the encoder can be.
    pub least: Rate,
    /// See `least`.
    pub most: Rate,
}

/// An encoded frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Number, from 0.
    pub number: u64,
    /// When it was ready.
    pub captured: Time,
    /// IP bytes of all its packets.
    pub bytes: u64,
    /// Packets.
    pub packets: u32,
}

/// The encoder.
#[derive(Debug)]
pub struct Source {
    params: Params,
    rng: Rng,
    /// IP bytes of a full packet that the path takes.
    packet: u64,
    began: Time,
    frames: u64,
    rate: Rate,
    /// Targets on their way through the encoder: from when on they hold.
    targets: VecDeque<(Time, Rate)>,
}

impl Source {
    /// An encoder that starts with [`Source::start`]; `mtu` bounds its packets.
    pub fn new(params: Params, mtu: u32, rng: Rng) -> Self {
        let packet = u64::from(params.packet.min(mtu));
        let targets = VecDeque::with_capacity(64);
        Self { params, rng, packet, began: Time::ZERO, frames: 0, rate: Rate(0), targets }
    }

    /// The first frame is due now, at this rate.
    pub fn start(&mut self, now: Time, rate: Rate) {
        (self.began, self.rate) = (now, self.within(rate));
    }

    /// The rate that frames should have from now on, of IP bytes.
    pub fn set_target(&mut self, now: Time, rate: Rate) {
        let rate = self.within(rate);
        let newest = self.targets.back().map_or(self.rate, |(_, rate)| *rate);
        if rate != newest {
            self.targets.push_back((now + self.params.delay, rate));
        }
    }

    fn within(&self, rate: Rate) -> Rate {
        Rate(rate.0.clamp(self.params.least.0, self.params.most.0))
    }

    /// When the next frame is ready.
    pub fn due(&self) -> Time {
        self.began + Dur((self.frames as f64 * 1e9 / self.params.fps).round() as u64)
    }

    /// The frame that is due.
    pub fn frame(&mut self) -> Frame {
        let (number, captured) = (self.frames, self.due());
        while let Some((from, rate)) = self.targets.front().copied()
            && from <= captured
        {
            self.rate = rate;
            self.targets.pop_front();
        }
        let Params { fps, gop, key, sigma, .. } = self.params;
        // A group of pictures has one frame of `key` units and gop - 1 of one unit.
        let unit = self.rate.0 as f64 / 8.0 / fps * gop as f64 / (key + (gop - 1) as f64);
        let mean = if number.is_multiple_of(gop) { key * unit } else { unit };
        // The mean of a lognormal is exp(mu + sigma^2 / 2).
        let log = sigma * normal(&mut self.rng) - sigma * sigma / 2.0;
        let least = u64::from(HEADERS) + 1;
        let bytes = ((mean * math::exp(log)).round() as u64).max(least);
        // The last packet of a frame has room for its headers and a byte.
        let full = bytes.div_ceil(self.packet);
        let bytes = bytes.max((full - 1) * self.packet + least);
        self.frames += 1;
        Frame { number, captured, bytes, packets: full as u32 }
    }

    /// IP bytes of packet number `index` of a frame.
    pub fn packet_size(&self, frame: &Frame, index: u32) -> u32 {
        (frame.bytes - u64::from(index) * self.packet).min(self.packet) as u32
    }

    /// The rate of the newest frame.
    pub fn rate(&self) -> Rate {
        self.rate
    }
}

#[cfg(test)]
pub(super) mod tests;
