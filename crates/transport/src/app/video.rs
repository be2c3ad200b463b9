//! Video of variable bit rate: frames at equal distances, every Nth a larger key frame, sizes
//! lognormal about their mean. With `rate` it adapts to nothing, and each frame leaves as packets
//! back to back; without, it is the encoder of [`crate::media`] and follows a controller.

use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::{Dur, Rate, Rng};

use super::udp::{Departure, HEADERS, SIZE, normal, positive_rate, positive_time, size};
use super::{App, Entry, MediaFlow, Source};
use crate::media;

/// Registry line.
pub(super) const ENTRY: Entry = Entry {
    name: "video",
    summary: "UDP in frames of varying size with key frames, unresponsive or under a media controller",
    reference: "RFC 8593 (frames of varying size, key frames)",
    params: &[
        Param {
            name: "rate",
            value: "RATE",
            default: "the controller's",
            doc: "Mean bits of payload per second; without, it follows the flow's controller.",
        },
        Param { name: "fps", value: "NUMBER", default: "30", doc: "Frames per second, 1 to 1000." },
        Param {
            name: "gop",
            value: "NUMBER",
            default: "60",
            doc: "Frames from one key frame to the next.",
        },
        Param {
            name: "key",
            value: "NUMBER",
            default: "4",
            doc: "Size of a key frame over that of another, 1 to 100.",
        },
        Param {
            name: "sigma",
            value: "NUMBER",
            default: "0.15",
            doc: "Standard deviation of the logarithm of sizes, 0 to 2.",
        },
        SIZE,
        Param {
            name: "delay",
            value: "TIME",
            default: "100ms",
            doc: "Time from a controller's new rate to the first frame that has it, up to 10s.",
        },
        Param {
            name: "queue",
            value: "TIME",
            default: "1s",
            doc: "The sender's queue is emptied when its oldest packet is older.",
        },
    ],
    build,
};

/// Headers below which no media packet is worth its while.
const MIN_MEDIA_PACKET: u32 = 100;

fn build(args: &mut Args<'_>) -> Result<App, GrammarError> {
    let (mut rate, mut fps, mut gop, mut key_size, mut sigma, mut packet) =
        (None, 30.0, 60, 4.0, 0.15, 1200);
    let (mut delay, mut queue) = (None, None);
    while let Some(key) = args.key() {
        match key {
            "rate" => rate = Some(positive_rate(args)?),
            "fps" => fps = args.decimal(1.0..=1000.0)?,
            "gop" => gop = args.number(1..=1_000_000)?,
            "key" => key_size = args.decimal(1.0..=100.0)?,
            "sigma" => sigma = args.decimal(0.0..=2.0)?,
            "size" => packet = size(args)?,
            "delay" => {
                delay = Some(args.value("a time up to 10s", |w| {
                    Dur::parse_tc(w).filter(|t| *t <= Dur::from_secs(10))
                })?);
            }
            "queue" => queue = Some(positive_time(args)?),
            _ => return Err(args.unknown()),
        }
    }
    let Some(rate): Option<Rate> = rate else {
        if packet < MIN_MEDIA_PACKET {
            return Err(args.invalid("without `rate`, `size` is at least 100"));
        }
        let params = media::source::Params {
            fps,
            gop,
            key: key_size,
            sigma,
            packet,
            delay: delay.unwrap_or(Dur::from_millis(100)),
            queue: queue.unwrap_or(Dur::from_secs(1)),
            least: Rate(0),
            most: Rate(u64::MAX),
        };
        let encoder = media::Encoder::Video(params);
        return Ok(App::Media(MediaFlow { encoder, priorities: vec![1.0] }));
    };
    if delay.is_some() || queue.is_some() {
        return Err(args.invalid("`delay` and `queue` are of a video without `rate`"));
    }
    // A group of pictures has one frame of `key` units and gop - 1 of one unit.
    let units = key_size + (gop - 1) as f64;
    let unit = rate.0 as f64 / 8.0 / fps * gop as f64 / units;
    let interval = Dur((1e9 / fps).round() as u64);
    let payload = packet - HEADERS;
    Ok(App::Udp(Box::new(Video {
        interval,
        gop,
        key_size,
        unit,
        sigma,
        payload,
        frame: 0,
        left: 0,
    })))
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
            self.left = (mean * log.exp()).round().max(1.0) as u64;
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
mod tests {
    use std::collections::BTreeMap;

    use crate::app::udp::tests::departures;

    #[test]
    fn frames_have_the_rate_and_key_frames_their_size() {
        let mut frames = BTreeMap::<u64, u64>::new();
        for (at, size) in departures("video rate 4Mbit fps 25 gop 50 key 5", 200) {
            *frames.entry(at).or_default() += u64::from(size) - 28;
        }
        assert_eq!(frames.len(), 5000);
        let rate = frames.values().sum::<u64>() as f64 * 8e-6 / 200.0;
        assert!((rate / 4.0 - 1.0).abs() < 0.01, "{rate} Mbit/s");
        let (mut keys, mut others) = (0.0, 0.0);
        for (n, bytes) in frames.values().enumerate() {
            *(if n % 50 == 0 { &mut keys } else { &mut others }) += *bytes as f64;
        }
        let ratio = (keys / 100.0) / (others / 4900.0);
        assert!((ratio / 5.0 - 1.0).abs() < 0.05, "{ratio}");
    }
}
