//! A video encoder that follows a target rate: frames at equal distances, every Nth a larger key
//! frame, sizes lognormal about their mean (RFC 8593's ingredients).

use std::collections::VecDeque;

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
        let bytes = ((mean * log.exp()).round() as u64).max(least);
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
pub(super) mod tests {
    use super::*;

    pub(in crate::media) const PLAIN: Params = Params {
        fps: 50.0,
        gop: 1,
        key: 1.0,
        sigma: 0.0,
        packet: 1200,
        delay: Dur::ZERO,
        queue: Dur::from_secs(1),
        least: Rate(0),
        most: Rate(u64::MAX),
    };

    fn source(params: Params) -> Source {
        let mut source = Source::new(params, 1500, Rng::named(1, "source"));
        source.start(Time(7), Rate(2_000_000));
        source
    }

    #[test]
    fn frames_are_the_rate_over_the_frame_rate_and_split_into_packets() {
        let mut s = source(PLAIN);
        let frame = s.frame();
        assert_eq!(frame, Frame { number: 0, captured: Time(7), bytes: 5000, packets: 5 });
        let sizes: Vec<u32> = (0..5).map(|i| s.packet_size(&frame, i)).collect();
        assert_eq!(sizes, [1200, 1200, 1200, 1200, 200]);
        assert_eq!(s.due(), Time(20_000_007));
        let mut small = Source::new(PLAIN, 576, Rng::named(1, "source"));
        small.start(Time::ZERO, Rate(2_000_000));
        assert_eq!(small.frame().packets, 9, "the MTU bounds packets");
    }

    #[test]
    fn a_last_packet_has_its_headers_and_a_byte() {
        for rate in [1, 480_500, 480_001, 496_000] {
            let mut s = Source::new(PLAIN, 1500, Rng::named(1, "source"));
            s.start(Time::ZERO, Rate(rate));
            let frame = s.frame();
            assert!(s.packet_size(&frame, frame.packets - 1) > HEADERS, "{rate}");
        }
    }

    #[test]
    fn frames_follow_the_target_after_the_encoders_delay() {
        let mut s = source(Params { delay: Dur::from_millis(50), ..PLAIN });
        let mut bytes = vec![];
        for n in 0..6 {
            if n == 1 {
                s.set_target(s.due(), Rate(1_000_000)); // at 20 ms: from 70 ms on
                s.set_target(s.due(), Rate(1_000_000));
            }
            bytes.push(s.frame().bytes);
        }
        assert_eq!(bytes, [5000, 5000, 5000, 5000, 2500, 2500]);
        assert_eq!(s.rate(), Rate(1_000_000));
    }

    #[test]
    fn an_encoder_stays_between_its_least_and_greatest_rate() {
        let mut s = source(Params { least: Rate(400_000), most: Rate(800_000), ..PLAIN });
        assert_eq!(s.frame().bytes, 2000, "2 Mbit/s are asked for");
        s.set_target(s.due(), Rate(1));
        assert_eq!(s.frame().bytes, 1000);
        s.set_target(s.due(), Rate(600_000));
        assert_eq!(s.frame().bytes, 1500);
    }

    #[test]
    fn key_frames_and_noise_keep_the_mean() {
        let mut s = source(Params { gop: 50, key: 5.0, sigma: 0.15, ..PLAIN });
        let frames: Vec<Frame> = (0..5000).map(|_| s.frame()).collect();
        let mean = frames.iter().map(|f| f.bytes).sum::<u64>() as f64 / 5000.0;
        assert!((mean / 5000.0 - 1.0).abs() < 0.01, "{mean}");
        let keys = frames.iter().step_by(50).map(|f| f.bytes).sum::<u64>() as f64 / 100.0;
        let ratio = keys / ((mean * 50.0 - keys) / 49.0);
        assert!((ratio / 5.0 - 1.0).abs() < 0.05, "{ratio}");
    }
}
