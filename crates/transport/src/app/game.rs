//! State updates of an online game: small packets, one per tick, as the clients of first-person
//! shooters send them (Färber, "Network game traffic modelling", NetGames 2002). Sizes are normally
//! distributed, which is simpler than what was measured. Under a media controller
//! ([`super::adaptive`]) they shrink with its target, as those of a haptic device might.

use sojourn_core::grammar::Given;
use sojourn_core::grammar::forms::whole;
use sojourn_core::{Dur, Rng, parameters};

use super::adaptive::{Adaptive, SMALLEST, rate};
use super::application::line;
use super::udp::{Departure, HEADERS, normal, positive_time, size};
use super::{App, Application, Entry, Source};

pub(super) const ENTRY: Entry = line::<Params>(
    "game",
    "Isochronous small UDP packets of varying size, as of an online game",
    "Färber, NetGames 2002",
);

parameters! {
    /// Parameters of `game`.
    #[derive(Copy)]
    struct Params {
        /// From one packet to the next.
        tick: Dur = Dur::from_micros(16_667) => positive_time();
        /// Mean IP bytes of a packet.
        size: u32 = 120 => size();
        /// Standard deviation of the size, 0 to 1000.
        spread: u32 = 20 => whole("BYTES", 0..=1000, "");
    }
    groups { adaptive: Adaptive = Adaptive::default(); }
    settle complete;
}

impl Params {
    /// Whole updates if the path takes them, and hardly more than headers if it does not.
    fn complete(&mut self, _given: &Given) -> Result<(), String> {
        let sizes = [SMALLEST, self.size.max(SMALLEST)];
        self.adaptive.complete(sizes.map(|size| rate(size, self.tick)))
    }
}

impl Application for Params {
    fn build(&self) -> App {
        let sigma = f64::from(self.spread) / f64::from(self.size);
        let media = self.adaptive.media(self.tick, sigma);
        media.unwrap_or_else(|| App::Udp(Box::new(Game { params: *self, started: false })))
    }
}

#[derive(Debug)]
struct Game {
    params: Params,
    started: bool,
}

impl Source for Game {
    fn next(&mut self, rng: &mut Rng) -> Departure {
        let Params { tick, size, spread, .. } = self.params;
        let drawn = f64::from(size) + f64::from(spread) * normal(rng);
        let size = drawn.clamp(f64::from(HEADERS + 1), 1500.0_f64.max(f64::from(size))) as u32;
        let after = if std::mem::replace(&mut self.started, true) { tick } else { Dur::ZERO };
        Departure { after, size }
    }

    fn fresh(&self) -> Box<dyn Source> {
        Box::new(Self { started: false, ..*self })
    }
}

#[cfg(test)]
mod tests;
