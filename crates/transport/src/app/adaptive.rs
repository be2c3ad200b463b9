//! What a call and a game are under a media controller: packets at the same distances, as large as the
//! controller's target allows between two rates. Audio codecs choose among rates (RFC 6716 2.1.1); how
//! a game's or a haptic device's updates shrink is not standardised.

use sojourn_core::grammar::Given;
use sojourn_core::grammar::forms::maybe;
use sojourn_core::{Dur, Rate, parameters};

use super::udp::positive_rate;
use super::{App, MediaFlow};
use crate::media::{Encoder, HEADERS, source};

parameters! {
    /// What makes packets follow a media controller.
    #[derive(Copy)]
    pub(super) struct Adaptive {
        /// Packets are as large as the flow's media controller allows.
        pub(super) on: bool = false, name "adaptive", default "with a controller";
        /// Least rate of IP bytes under a controller.
        least: Option<Rate> = None => maybe(positive_rate()), default "see below";
        /// Greatest rate of IP bytes under a controller.
        most: Option<Rate> = None => maybe(positive_rate()), default "see below";
    }
    settle check;
}

impl Adaptive {
    fn check(&self, _given: &Given) -> Result<(), String> {
        if self.least.or(self.most).is_some() && !self.on {
            return Err("`least` and `most` are of `adaptive`".to_owned());
        }
        Ok(())
    }

    /// Sets the rates that are not given.
    pub(super) fn complete(&mut self, rates: [Rate; 2]) -> Result<(), String> {
        if self.on {
            let least = *self.least.get_or_insert(rates[0]);
            let most = *self.most.get_or_insert(rates[1]);
            if least > most {
                return Err(format!("`least` {least} is more than `most` {most}"));
            }
        }
        Ok(())
    }

    /// The source, if it is adaptive: a packet of a size about its mean (`sigma`, of the logarithm) in
    /// every `interval`.
    pub(super) fn media(&self, interval: Dur, sigma: f64) -> Option<App> {
        let params = source::Params {
            fps: 1e9 / interval.0 as f64,
            gop: 1,
            key: 1.0,
            sigma,
            packet: 1500,
            delay: Dur::ZERO,
            queue: Dur::from_secs(1),
            least: self.least?,
            most: self.most?,
        };
        Some(App::Media(MediaFlow { encoder: Encoder::Video(params), priorities: vec![1.0] }))
    }
}

/// The rate of IP bytes of packets of `size` bytes, RTP's header added to those of UDP.
pub(super) fn rate(size: u32, interval: Dur) -> Rate {
    let bits = u128::from(size) * 8 * 1_000_000_000;
    Rate((bits / u128::from(interval.0.max(1))) as u64)
}

/// Bytes of a packet's headers and one of payload.
pub(super) const SMALLEST: u32 = HEADERS + 1;

/// Applications that a media controller makes adaptive.
pub const ADAPTIVES: [&str; 2] = ["game", "voip"];

#[cfg(test)]
mod tests;
