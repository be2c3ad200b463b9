//! Unresponsive UDP that sends at a constant rate while it is on, and nothing while it is off.

use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::{Dur, Rate, Rng};

use super::udp::{Departure, Pacing, SIZE, exponential, gaps, positive_rate, positive_time, size};
use super::{App, Entry, Source};

/// Registry line.
pub(super) const ENTRY: Entry = Entry {
    name: "onoff",
    summary: "Unresponsive UDP that alternates between a constant rate and silence",
    reference: "RFC 7928 5.3",
    params: &[
        Param {
            name: "rate",
            value: "RATE",
            default: "none, required",
            doc: "Bits of IP packets per second while on.",
        },
        SIZE,
        Param { name: "on", value: "TIME", default: "1s", doc: "Length of an on period." },
        Param { name: "off", value: "TIME", default: "1s", doc: "Length of an off period." },
        Param {
            name: "fixed|exponential",
            value: "",
            default: "fixed",
            doc: "Whether the periods have these lengths, or these means.",
        },
    ],
    build,
};

fn build(args: &mut Args<'_>) -> Result<App, GrammarError> {
    let (mut rate, mut bytes, mut random) = (None, 1200, false);
    let [mut on, mut off] = [Dur::from_millis(1000); 2];
    while let Some(key) = args.key() {
        match key {
            "rate" => rate = Some(positive_rate(args)?),
            "size" => bytes = size(args)?,
            "on" => on = positive_time(args)?,
            "off" => off = positive_time(args)?,
            "fixed" => random = false,
            "exponential" => random = true,
            _ => return Err(args.unknown()),
        }
    }
    let rate = rate.ok_or_else(|| args.invalid("`rate` is missing"))?;
    gaps(args, rate, bytes)?;
    Ok(App::Udp(Box::new(OnOff::new(rate, bytes, on, off, random))))
}

#[derive(Debug)]
struct OnOff {
    rate: Rate,
    size: u32,
    on: Dur,
    off: Dur,
    random: bool,
    pacing: Pacing,
    /// Since the start of this on period.
    at: Dur,
    /// Length of this on period; zero before the first.
    length: Dur,
}

impl OnOff {
    fn new(rate: Rate, size: u32, on: Dur, off: Dur, random: bool) -> Self {
        let (pacing, at, length) = (Pacing::default(), Dur::ZERO, Dur::ZERO);
        Self { rate, size, on, off, random, pacing, at, length }
    }

    fn period(&self, mean: Dur, rng: &mut Rng) -> Dur {
        if self.random { exponential(mean, rng) } else { mean }
    }
}

impl Source for OnOff {
    fn next(&mut self, rng: &mut Rng) -> Departure {
        let gap = self.pacing.gap(self.rate, self.size);
        if self.length > Dur::ZERO && self.at + gap < self.length {
            self.at += gap;
            return Departure { after: gap, size: self.size };
        }
        // The rest of this on period, silence, and the first packet of the next on period.
        let mut after = Dur::ZERO;
        if self.length > Dur::ZERO {
            after = self.length.saturating_sub(self.at) + self.period(self.off, rng);
        }
        self.length = self.period(self.on, rng).max(Dur(1));
        (self.pacing, self.at) = (Pacing::default(), Dur::ZERO);
        self.pacing.gap(self.rate, self.size);
        Departure { after, size: self.size }
    }

    fn fresh(&self) -> Box<dyn Source> {
        Box::new(Self::new(self.rate, self.size, self.on, self.off, self.random))
    }
}

#[cfg(test)]
mod tests {
    use crate::app::udp::tests::{departures, mbps};

    #[test]
    fn periods_alternate_and_each_starts_with_a_packet() {
        let all = departures("onoff rate 8Mbit size 1000 on 10ms off 30ms", 1);
        assert_eq!(all.len(), 25 * 10);
        let at = |n: usize| all[n].0;
        assert_eq!((at(0), at(9), at(10), at(20)), (0, 9_000_000, 40_000_000, 80_000_000));
    }

    #[test]
    fn random_periods_keep_the_duty_cycle() {
        let rate = mbps("onoff rate 8Mbit size 1000 on 20ms off 60ms exponential", 400);
        assert!((rate / 2.0 - 1.0).abs() < 0.05, "{rate} Mbit/s");
    }
}
