//! A telephone call over RTP: one packet per frame of a constant-rate codec, without silence
//! suppression (RFC 3551). Its listener's judgement is a simplification of the E-model.
//!
//! R = 94.2 - Id - Ie, with Id = 0.024 d + 0.11 (d - 177.3) H(d - 177.3) for a mouth-to-ear delay
//! of d ms, and Ie = a + b ln(1 + c e) for a share e of lost frames: Cole and Rosenbluth, "Voice
//! over IP performance monitoring", ACM CCR 31(2), 2001. MOS from R: ITU-T G.107 annex B. Under a media
//! controller ([`super::adaptive`]) frames are as large as its target allows, and are not judged.

use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::{Dur, Rng};

use super::adaptive::{ADAPTIVE, LEAST, MOST, Words, rate};
use super::udp::{Departure, HEADERS, positive_time};
use super::{App, Entry, Source};

/// RTP header.
const RTP: u32 = 12;

/// Registry line.
pub(super) const ENTRY: Entry = Entry {
    name: "voip",
    summary: "A call over RTP and UDP at constant rate, with its E-model quality",
    reference: "RFC 3551; Cole and Rosenbluth 2001; ITU-T G.107",
    params: &[
        Param { name: "codec", value: "g711|g729", default: "g711", doc: "64 or 8 kbit/s." },
        Param {
            name: "frame",
            value: "TIME",
            default: "20ms",
            doc: "Speech in a packet, 1ms to 200ms.",
        },
        Param {
            name: "buffer",
            value: "TIME",
            default: "60ms",
            doc: "Playout buffer: what comes later than this after the fastest packet is lost to the listener.",
        },
        ADAPTIVE,
        LEAST,
        MOST,
    ],
    build,
};

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
        94.2 - delay - (a + b * (1.0 + c * lost).ln())
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

fn build(args: &mut Args<'_>) -> Result<App, GrammarError> {
    let (mut codec, mut frame, mut buffer) = (None, Dur::from_millis(20), None);
    let mut words = Words::default();
    while let Some(key) = args.key() {
        match key {
            "codec" => codec = Some(args.choice(&["g711", "g729"])?),
            "frame" => {
                frame = args.value("a time from 1ms to 200ms", |w| {
                    let fits = Dur::from_millis(1)..=Dur::from_millis(200);
                    Dur::parse_tc(w).filter(|t| fits.contains(t))
                })?;
            }
            "buffer" => buffer = Some(positive_time(args)?),
            _ if words.read(key, args)? => {}
            _ => return Err(args.unknown()),
        }
    }
    words.check(args)?;
    let packet =
        |bps: u128| HEADERS + RTP + ((u128::from(frame.0) * bps / 8_000_000_000) as u32).max(1);
    if words.adaptive {
        if codec.is_some() || buffer.is_some() {
            return Err(
                args.invalid("`codec` and `buffer` are of a call that follows no controller")
            );
        }
        // From G.729's rate to G.711's; how good it sounds in between is not known.
        let rates = [packet(8_000), packet(64_000)].map(|size| rate(size, frame));
        return words.media(args, frame, 0.0, rates);
    }
    let buffer = buffer.unwrap_or(Dur::from_millis(60));
    let (bps, impairment) =
        [(64_000, [0.0, 30.0, 15.0]), (8_000, [11.0, 40.0, 10.0])][codec.unwrap_or(0)];
    let voice = Voice { frame, buffer, impairment };
    let size = packet(bps);
    Ok(App::Udp(Box::new(Voip { voice, size, started: false })))
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
mod tests {
    use super::*;
    use crate::app::build;
    use crate::app::udp::tests::{departures, mbps};

    fn voice(text: &str) -> Voice {
        let App::Udp(source) = build(text).unwrap() else { panic!() };
        source.voice().expect("a call")
    }

    #[test]
    fn a_g711_call_is_eighty_kilobits_of_ip_and_fifty_packets_per_second() {
        assert_eq!(departures("voip", 1).len(), 50);
        assert!((mbps("voip", 10) - 0.080).abs() < 1e-9);
        assert!((mbps("voip codec g729", 10) - 0.024).abs() < 1e-9);
    }

    // The two figures that Cole and Rosenbluth's formula gives by hand: 100 ms without loss, and
    // 200 ms with 2 % of loss.
    #[test]
    fn rating_falls_with_delay_and_loss_as_the_formula_says() {
        let call = voice("voip buffer 60ms");
        assert!((call.r_factor(20.0, 0.0) - 91.8).abs() < 1e-9);
        let (delay, loss) = (0.024 * 200.0 + 0.11 * 22.7, 30.0 * 1.3_f64.ln());
        assert!((call.r_factor(120.0, 0.02) - (94.2 - delay - loss)).abs() < 1e-9);
        assert!(voice("voip codec g729").r_factor(20.0, 0.0) < call.r_factor(20.0, 0.0) - 10.0);
        assert!((Voice::mos(93.2) - 4.41).abs() < 0.01);
        assert_eq!((Voice::mos(-3.0), Voice::mos(120.0)), (1.0, 4.5));
    }
}
