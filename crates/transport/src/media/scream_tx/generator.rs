//! Encoders: when a stream has frames and of how many bytes.

use std::collections::VecDeque;

use sojourn_core::{Dur, Rate, Rng, Time};

use super::Frame;
use crate::media::source::{self, Source};

/// Frames that are remembered until their packets have left: more than a queue holds.
const REMEMBERED: usize = 4096;
/// Queues drain for so long, with frames of so many bytes.
const DRAIN: Dur = Dur::from_millis(100);
const DRAIN_FRAME: f32 = 10.0;
/// Largest frame, bytes: more than a queue holds.
const LARGEST: f32 = 16e6;

/// Frames that are larger than others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Key {
    /// Time from one to the next; the first comes after it.
    pub every: Dur,
    /// Its size over that of another.
    pub times: f32,
}

/// What the tool of 2020 does with an encoder beside its parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Habits {
    /// The original's dice.
    pub(super) parity: bool,
    /// Once in this time frames are tiny for [`DRAIN`].
    pub(super) drain: Option<Dur>,
    /// The frame clock sleeps between frames, and each sleep lasts longer by this.
    pub(super) late: Dur,
}

/// Encoder that come and go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnOff {
    /// Time with media, first.
    pub on: Dur,
    /// Time without.
    pub off: Dur,
}

/// The tool's encoder (EricssonResearch/scream, scream_sender.cpp).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tool {
    /// Frames per second.
    pub fps: f64,
    /// Sizes are uniform within so many percent of their mean; in parity within half of it.
    pub rand: f32,
    /// Key frames.
    pub key: Option<Key>,
    /// Silence.
    pub burst: Option<OnOff>,
}

impl Default for Tool {
    fn default() -> Self {
        Self { fps: 50.0, rand: 0.0, key: None, burst: None }
    }
}

/// An encoder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Encoder {
    /// The tool's.
    Tool(Tool),
    /// That of [`crate::media::source`]; of its parameters, SCReAM's own rule for old packets
    /// replaces `queue`.
    Video(source::Params),
}

/// A frame to be made.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Made {
    pub(super) number: u64,
    pub(super) captured: Time,
    /// Payload bytes of the frame, and of each packet but the last.
    pub(super) bytes: u32,
    pub(super) payload: u32,
    pub(super) packets: u32,
}

#[derive(Debug)]
enum Kind {
    Tool { params: Tool, interval: Dur, last_key: Time, habits: Habits },
    Video { params: source::Params, source: Option<Source> },
}

/// One stream's encoder.
#[derive(Debug)]
pub(super) struct Generator {
    pub(super) stream: usize,
    pub(super) ssrc: u32,
    /// When the next frame is ready.
    pub(super) due: Time,
    kind: Kind,
    began: Time,
    /// Instants so far, frames so far, and the next sequence number.
    instants: u64,
    frames: u64,
    seq: u16,
    /// Frames of which packets may still leave.
    waiting: VecDeque<Frame>,
}

impl Generator {
    pub(super) fn new(stream: usize, ssrc: u32, media: Encoder, habits: Habits) -> Self {
        let kind = match media {
            Encoder::Tool(params) => {
                // Whole microseconds, as the tool's timer has them.
                let interval = Dur::from_micros(((1e6 / params.fps) as u64).max(1)) + habits.late;
                Kind::Tool { params, interval, last_key: Time::ZERO, habits }
            }
            Encoder::Video(params) => Kind::Video { params, source: None },
        };
        let (due, began) = (Time::NEVER, Time::ZERO);
        let waiting = VecDeque::with_capacity(64);
        Self { stream, ssrc, due, kind, began, instants: 0, frames: 0, seq: 0, waiting }
    }

    pub(super) fn start(&mut self, now: Time) {
        (self.began, self.due) = (now, now);
        if let Kind::Tool { last_key, .. } = &mut self.kind {
            *last_key = now;
        }
    }

    /// What is due, at this target in bit/s; without one, nothing.
    pub(super) fn frame(&mut self, target: Option<f32>, mtu: u32, rng: &mut Rng) -> Made {
        let at = self.due;
        self.instants += 1;
        let (bytes, mtu) = match &mut self.kind {
            Kind::Tool { params, interval, last_key, habits } => {
                self.due = self.began + *interval * self.instants;
                // The dice are thrown for frames without bytes, too.
                let spread = if habits.parity { 1.0 } else { 2.0 } * (rng.unit() as f32 - 0.5);
                let mut scale = 1.0 + spread * params.rand / 100.0;
                if let Some(key) = params.key
                    && at.since(*last_key) >= key.every
                {
                    *last_key = at;
                    scale *= key.times;
                }
                let silent = params.burst.is_some_and(|media| {
                    let cycle = (media.on.0 + media.off.0).max(1);
                    at.since(self.began).0 % cycle >= media.on.0
                });
                let target = target.filter(|_| !silent).unwrap_or(0.0);
                let drains = habits.drain.is_some_and(|every| {
                    let slots = (every.0 / DRAIN.0).max(1);
                    at.since(self.began).0 / DRAIN.0 % slots == slots - 1
                });
                let bytes = target / params.fps as f32 / 8.0 * scale;
                (if drains && bytes > 0.0 { DRAIN_FRAME } else { bytes }, mtu)
            }
            Kind::Video { params, source } => {
                let source = source.get_or_insert_with(|| {
                    let mut source = Source::new(*params, u32::MAX, rng.clone());
                    source.start(at, Rate(target.unwrap_or(0.0) as u64));
                    source
                });
                if let Some(target) = target {
                    source.set_target(at, Rate(target as u64));
                }
                let frame = source.frame();
                self.due = source.due();
                let headers = u64::from(crate::media::HEADERS);
                let payload = frame.bytes.saturating_sub(headers * u64::from(frame.packets)).max(1);
                let mtu = params.packet - crate::media::HEADERS;
                (if target.is_some() { payload as f32 } else { 0.0 }, mtu)
            }
        };
        let bytes = bytes.clamp(0.0, LARGEST) as u32; // NaN becomes 0
        let mtu = mtu.max(1);
        let number = self.frames;
        self.frames += u64::from(bytes > 0);
        Made { number, captured: at, bytes, payload: mtu, packets: bytes.div_ceil(mtu) }
    }

    /// The number of the next packet.
    pub(super) fn number(&mut self) -> u16 {
        let seq = self.seq;
        self.seq = seq.wrapping_add(1);
        seq
    }

    pub(super) fn announce(&mut self, frame: Frame) {
        if self.waiting.len() == REMEMBERED {
            self.waiting.pop_front();
        }
        self.waiting.push_back(frame);
    }

    /// The frame of a packet that leaves: packets leave in their order.
    pub(super) fn frame_of(&mut self, handle: u64) -> Frame {
        while let Some(frame) = self.waiting.front() {
            if handle < frame.first + u64::from(frame.packets) {
                return *frame;
            }
            self.waiting.pop_front();
        }
        Frame::default()
    }
}
