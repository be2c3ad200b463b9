//! State updates of an online game: small packets, one per tick, as the clients of first-person
//! shooters send them (Färber, "Network game traffic modelling", NetGames 2002). Sizes are normally
//! distributed, which is simpler than what was measured. Under a media controller
//! ([`super::adaptive`]) they shrink with its target, as those of a haptic device might.

use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::{Dur, Rng};

use super::adaptive::{ADAPTIVE, LEAST, MOST, SMALLEST, Words, rate};
use super::udp::{Departure, HEADERS, normal, positive_time, size};
use super::{App, Entry, Source};

/// Registry line.
pub(super) const ENTRY: Entry = Entry {
    name: "game",
    summary: "Isochronous small UDP packets of varying size, as of an online game",
    reference: "Färber, NetGames 2002",
    params: &[
        Param {
            name: "tick",
            value: "TIME",
            default: "16.667ms",
            doc: "From one packet to the next.",
        },
        Param { name: "size", value: "BYTES", default: "120", doc: "Mean IP bytes of a packet." },
        Param {
            name: "spread",
            value: "BYTES",
            default: "20",
            doc: "Standard deviation of the size, 0 to 1000.",
        },
        ADAPTIVE,
        LEAST,
        MOST,
    ],
    build,
};

fn build(args: &mut Args<'_>) -> Result<App, GrammarError> {
    let mut game = Game { tick: Dur::from_micros(16_667), size: 120, spread: 20, started: false };
    let mut words = Words::default();
    while let Some(key) = args.key() {
        match key {
            "tick" => game.tick = positive_time(args)?,
            "size" => game.size = size(args)?,
            "spread" => game.spread = args.number(0..=1000)? as u32,
            _ if words.read(key, args)? => {}
            _ => return Err(args.unknown()),
        }
    }
    words.check(args)?;
    if words.adaptive {
        let Game { tick, size, spread, .. } = game;
        // Whole updates if the path takes them, and hardly more than headers if it does not.
        let rates = [SMALLEST, size.max(SMALLEST)].map(|size| rate(size, tick));
        return words.media(args, tick, f64::from(spread) / f64::from(size), rates);
    }
    Ok(App::Udp(Box::new(game)))
}

#[derive(Debug)]
struct Game {
    tick: Dur,
    size: u32,
    spread: u32,
    started: bool,
}

impl Source for Game {
    fn next(&mut self, rng: &mut Rng) -> Departure {
        let drawn = f64::from(self.size) + f64::from(self.spread) * normal(rng);
        let size = drawn.clamp(f64::from(HEADERS + 1), 1500.0_f64.max(f64::from(self.size))) as u32;
        let after = if std::mem::replace(&mut self.started, true) { self.tick } else { Dur::ZERO };
        Departure { after, size }
    }

    fn fresh(&self) -> Box<dyn Source> {
        Box::new(Self { started: false, ..*self })
    }
}

#[cfg(test)]
mod tests {
    use crate::app::udp::tests::departures;

    #[test]
    fn ticks_are_exact_and_sizes_vary_about_their_mean() {
        let all = departures("game tick 20ms size 200 spread 30", 100);
        assert!(all.iter().enumerate().all(|(n, p)| p.0 == n as u64 * 20_000_000));
        let mean = all.iter().map(|p| f64::from(p.1)).sum::<f64>() / all.len() as f64;
        assert!((mean - 200.0).abs() < 3.0, "{mean}");
        assert!(all.iter().any(|p| p.1 > 230) && all.iter().any(|p| p.1 < 170));
    }
}
