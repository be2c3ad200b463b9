//! Unresponsive UDP whose packets leave at exponentially distributed distances.

use sojourn_core::grammar::{Args, GrammarError, Param};
use sojourn_core::{Dur, Rng};

use super::udp::{Departure, SIZE, exponential, gaps, positive_rate, size};
use super::{App, Entry, Source};

/// Registry line.
pub(super) const ENTRY: Entry = Entry {
    name: "poisson",
    summary: "Unresponsive UDP at exponentially distributed distances",
    reference: "Poisson process",
    params: &[
        Param {
            name: "rate",
            value: "RATE",
            default: "none, required",
            doc: "Mean bits of IP packets per second.",
        },
        SIZE,
    ],
    build,
};

fn build(args: &mut Args<'_>) -> Result<App, GrammarError> {
    let (mut rate, mut bytes) = (None, 1200);
    while let Some(key) = args.key() {
        match key {
            "rate" => rate = Some(positive_rate(args)?),
            "size" => bytes = size(args)?,
            _ => return Err(args.unknown()),
        }
    }
    let rate = rate.ok_or_else(|| args.invalid("`rate` is missing"))?;
    gaps(args, rate, bytes)?;
    let gap = Dur((u128::from(bytes) * 8_000_000_000 / u128::from(rate.0)) as u64);
    Ok(App::Udp(Box::new(Poisson { gap, size: bytes })))
}

#[derive(Clone, Debug)]
struct Poisson {
    gap: Dur,
    size: u32,
}

impl Source for Poisson {
    fn next(&mut self, rng: &mut Rng) -> Departure {
        Departure { after: exponential(self.gap, rng), size: self.size }
    }

    fn fresh(&self) -> Box<dyn Source> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use crate::app::udp::tests::departures;

    #[test]
    fn gaps_have_the_mean_and_the_spread_of_an_exponential() {
        let all = departures("poisson rate 8Mbit size 1000", 100);
        let gaps: Vec<f64> = all.windows(2).map(|w| (w[1].0 - w[0].0) as f64 / 1e6).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean - 1.0).abs() < 0.015, "{mean} ms");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.02, "{variance}");
    }
}
