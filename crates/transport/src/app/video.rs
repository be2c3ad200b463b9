//! Video of variable bit rate: frames at equal distances, every Nth a larger key frame, sizes
//! lognormal about their mean. With `rate` it adapts to nothing, and each frame leaves as packets
//! back to back; without, it is the encoder of [`crate::media`] and follows a controller.

use sojourn_core::grammar::Given;
use sojourn_core::grammar::forms::{decimal, maybe, number, time_in};
use sojourn_core::math;
use sojourn_core::{Dur, Rate, Rng, parameters};

use super::application::line;
use super::udp::{Departure, HEADERS, normal, positive_rate, positive_time, size};
use super::{App, Application, Entry, MediaFlow, Source};
use crate::media;

pub(super) const ENTRY: Entry = line::<Params>(
    "video",
    "UDP in frames of varying size with key frames, unresponsive or under a media controller",
    "RFC 8593 (frames of varying size, key frames)",
);

parameters! {
    /// Parameters of `video`.
    #[derive(Copy)]
    struct Params {
        /// Mean bits of payload per second; without, it follows the flow's controller.
        rate: Option<Rate> = None => maybe(positive_rate()), default "the controller's";
        /// Frames per second, 1 to 1000.
        fps: f64 = 30.0 => decimal("NUMBER", 1.0..=1000.0);
        /// Frames from one key frame to the next.
        gop: u64 = 60 => number(1..=1_000_000);
        /// Size of a key frame over that of another, 1 to 100.
        key: f64 = 4.0 => decimal("NUMBER", 1.0..=100.0);
        /// Standard deviation of the logarithm of sizes, 0 to 2.
        sigma: f64 = 0.15 => decimal("NUMBER", 0.0..=2.0);
        /// IP bytes of a packet, 29 to 65535.
        size: u32 = 1200 => size();
        /// Time from a controller's new rate to the first frame that has it, up to 10s.
        delay: Option<Dur> = None => maybe(time_in(Dur::ZERO..=Dur::from_secs(10))), default "100ms";
        /// The sender's queue is emptied when its oldest packet is older.
        queue: Option<Dur> = None => maybe(positive_time()), default "1s";
    }
    settle complete;
}

/// Headers below which no media packet is worth its while.
const MIN_MEDIA_PACKET: u32 = 100;

impl Params {
    fn complete(&mut self, _given: &Given) -> Result<(), String> {
        if self.rate.is_none() {
            if self.size < MIN_MEDIA_PACKET {
                return Err(format!("without `rate`, `size` is at least {MIN_MEDIA_PACKET}"));
            }
            self.delay.get_or_insert(Dur::from_millis(100));
            self.queue.get_or_insert(Dur::from_secs(1));
        } else if self.delay.is_some() || self.queue.is_some() {
            return Err("`delay` and `queue` are of a video without `rate`".to_owned());
        }
        Ok(())
    }

    /// The encoder, if it follows a controller.
    fn encoder(&self) -> Option<media::Encoder> {
        Some(media::Encoder::Video(media::source::Params {
            fps: self.fps,
            gop: self.gop,
            key: self.key,
            sigma: self.sigma,
            packet: self.size,
            delay: self.delay?,
            queue: self.queue?,
            least: Rate(0),
            most: Rate(u64::MAX),
        }))
    }
}

impl Application for Params {
    fn build(&self) -> App {
        let Self { fps, gop, key, sigma, size, .. } = *self;
        if let Some(encoder) = self.encoder() {
            return App::Media(MediaFlow { encoder, priorities: vec![1.0] });
        }
        // A group of pictures has one frame of `key` units and gop - 1 of one unit.
        let units = key + (gop - 1) as f64;
        let rate = self.rate.map_or(0.0, |rate| rate.0 as f64);
        let unit = rate / 8.0 / fps * gop as f64 / units;
        let interval = Dur((1e9 / fps).round() as u64);
        let payload = size - HEADERS;
        App::Udp(Box::new(Video {
            interval,
            gop,
            key_size: key,
            unit,
            sigma,
            payload,
            frame: 0,
            left: 0,
        }))
    }
}

#[derive(Debug)]
struct Video {
    interval: Dur,
    gop: u64,
    key_size: f64,
    /// Mean bytes of a frame that is no key frame.
    unit: f64,
    sigma: f64,
    payload: u32,
    /// Frames begun.
    frame: u64,
    /// Bytes of the current frame still to be sent.
    left: u64,
}

impl Source for Video {
    fn next(&mut self, rng: &mut Rng) -> Departure {
        let mut after = Dur::ZERO;
        if self.left == 0 {
            if self.frame > 0 {
                after = self.interval;
            }
            let mean =
                if self.frame.is_multiple_of(self.gop) { self.key_size } else { 1.0 } * self.unit;
            // The mean of a lognormal is exp(mu + sigma^2 / 2).
            let log = self.sigma * normal(rng) - self.sigma * self.sigma / 2.0;
            self.left = (mean * math::exp(log)).round().max(1.0) as u64;
            self.frame += 1;
        }
        let bytes = self.left.min(u64::from(self.payload));
        self.left -= bytes;
        Departure { after, size: HEADERS + bytes as u32 }
    }

    fn fresh(&self) -> Box<dyn Source> {
        Box::new(Self { frame: 0, left: 0, ..*self })
    }
}

#[cfg(test)]
mod tests;
