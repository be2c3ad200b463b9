//! A telephone call over RTP: one packet per frame of a constant-rate codec, without silence
//! suppression (RFC 3551). Its listener's judgement is a simplification of the E-model.
//!
//! R = 94.2 - Id - Ie, with Id = 0.024 d + 0.11 (d - 177.3) H(d - 177.3) for a mouth-to-ear delay
//! of d ms, and Ie = a + b ln(1 + c e) for a share e of lost frames: Cole and Rosenbluth, "Voice
//! over IP performance monitoring", ACM CCR 31(2), 2001. MOS from R: ITU-T G.107 annex B. Under a media
//! controller ([`super::adaptive`]) frames are as large as its target allows, and are not judged.

use sojourn_core::grammar::Given;
use sojourn_core::grammar::forms::{maybe, time_in};
use sojourn_core::math;
use sojourn_core::{Dur, Rng, choices, parameters};

use super::adaptive::{Adaptive, rate};
use super::application::line;
use super::udp::{Departure, HEADERS, positive_time};
use super::{App, Application, Entry, Source};

/// RTP header.
const RTP: u32 = 12;

pub(super) const ENTRY: Entry = line::<Params>(
    "voip",
    "A call over RTP and UDP at constant rate, with its E-model quality",
    "RFC 3551; Cole and Rosenbluth 2001; ITU-T G.107",
);

choices! {
    enum Codec {
        G711 = "g711",
        G729 = "g729",
    }
}

impl Codec {
    /// Bits of speech per second.
    const fn rate(self) -> u128 {
        match self {
            Self::G711 => 64_000,
            Self::G729 => 8_000,
        }
    }

    /// a, b and c of the loss term.
    const fn impairment(self) -> [f64; 3] {
        match self {
            Self::G711 => [0.0, 30.0, 15.0],
            Self::G729 => [11.0, 40.0, 10.0],
        }
    }
}

parameters! {
    /// Parameters of `voip`.
    #[derive(Copy)]
    struct Params {
        /// 64 or 8 kbit/s.
        codec: Option<Codec> = None, default "g711";
        /// Speech in a packet, 1ms to 200ms.
        frame: Dur = Dur::from_millis(20) => time_in(Dur::from_millis(1)..=Dur::from_millis(200));
        /// Playout buffer: what comes later than this after the fastest packet is lost to the listener.
        buffer: Option<Dur> = None => maybe(positive_time()), default "60ms";
    }
    groups { adaptive: Adaptive = Adaptive::default(); }
    settle complete;
}

/// Defaults of a call.
const CODEC: Codec = Codec::G711;
const BUFFER: Dur = Dur::from_millis(60);

impl Params {
    fn complete(&mut self, _given: &Given) -> Result<(), String> {
        if !self.adaptive.on {
            self.codec.get_or_insert(CODEC);
            self.buffer.get_or_insert(BUFFER);
        } else if self.codec.is_some() || self.buffer.is_some() {
            let why = "`codec` and `buffer` are of a call that follows no controller";
            return Err(why.to_owned());
        }
        // From G.729's rate to G.711's; how good it sounds in between is not known.
        let sizes = [Codec::G729, Codec::G711].map(|codec| self.packet(codec));
        self.adaptive.complete(sizes.map(|size| rate(size, self.frame)))
    }

    /// IP bytes of a packet.
    fn packet(&self, codec: Codec) -> u32 {
        let speech = (u128::from(self.frame.0) * codec.rate() / 8_000_000_000) as u32;
        HEADERS + RTP + speech.max(1)
    }

    fn call(&self) -> Voip {
        let (codec, buffer) = (self.codec.unwrap_or(CODEC), self.buffer.unwrap_or(BUFFER));
        let voice = Voice { frame: self.frame, buffer, impairment: codec.impairment() };
        Voip { voice, size: self.packet(codec), started: false }
    }
}

impl Application for Params {
    fn build(&self) -> App {
        let media = self.adaptive.media(self.frame, 0.0);
        media.unwrap_or_else(|| App::Udp(Box::new(self.call())))
    }
}

/// What a listener needs to judge a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Voice {
    /// Speech in a packet.
    pub frame: Dur,
    /// Playout buffer.
    pub buffer: Dur,
    /// Codec's impairment: a, b, c of the loss term.
    impairment: [f64; 3],
}

impl Voice {
    /// Rating factor R for a one-way network delay of the fastest packets, ms, and the share of
    /// frames that are lost or too late. Packetisation and playout buffer are added to the delay.
    pub fn r_factor(&self, fastest_ms: f64, lost: f64) -> f64 {
        let d = fastest_ms + self.frame.as_millis_f64() + self.buffer.as_millis_f64();
        let delay = 0.024 * d + 0.11 * (d - 177.3).max(0.0);
        let [a, b, c] = self.impairment;
        94.2 - delay - (a + b * math::ln(1.0 + c * lost))
    }

    /// Mean opinion score, 1 to 4.5, of a rating factor.
    pub fn mos(r: f64) -> f64 {
        match r {
            r if r <= 0.0 => 1.0,
            r if r >= 100.0 => 4.5,
            r => (1.0 + 0.035 * r + 7e-6 * r * (r - 60.0) * (100.0 - r)).max(1.0),
        }
    }
}

#[derive(Debug)]
struct Voip {
    voice: Voice,
    size: u32,
    started: bool,
}

impl Source for Voip {
    fn next(&mut self, _rng: &mut Rng) -> Departure {
        let started = std::mem::replace(&mut self.started, true);
        Departure { after: if started { self.voice.frame } else { Dur::ZERO }, size: self.size }
    }

    fn fresh(&self) -> Box<dyn Source> {
        Box::new(Self { started: false, ..*self })
    }

    fn voice(&self) -> Option<Voice> {
        Some(self.voice)
    }
}

#[cfg(test)]
mod tests;
