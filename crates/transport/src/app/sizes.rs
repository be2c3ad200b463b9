//! Sizes of transfers: lognormal, bounded Pareto, or a fixed list in turn.

use sojourn_core::grammar::forms::{Form, custom, decimal};
use sojourn_core::grammar::{Args, Given, GrammarError};
use sojourn_core::math;
use sojourn_core::{Bytes, Rng, parameters};

use super::udp::normal;

/// No transfer is larger, whatever a heavy tail draws.
const MAX_BYTES: f64 = 1e12;

parameters! {
    /// A distribution of sizes in bytes.
    #[derive(PartialEq)]
    pub struct Sizes {
        /// Distribution of sizes, or sizes in turn such as `10kb,100kb`.
        distribution: Distribution = Distribution::Lognormal =>
            custom("lognormal|pareto|LIST", read_distribution, write_distribution), name "sizes";
        /// lognormal: the median.
        median: Bytes = Bytes(10 << 10) => positive();
        /// lognormal: standard deviation of the logarithm, 0 to 5.
        sigma: f64 = 1.5 => decimal("NUMBER", 0.0..=5.0);
        /// pareto: exponent of the tail, 0.1 to 10.
        shape: f64 = 1.2 => decimal("NUMBER", 0.1..=10.0);
        /// pareto: the smallest size.
        min: Bytes = Bytes(1 << 10) => positive();
        /// pareto: the largest size.
        max: Bytes = Bytes(10 << 20) => positive();
    }
    settle check;
}

#[derive(Clone, Debug, PartialEq)]
enum Distribution {
    /// `exp(N(ln median, sigma^2))`.
    Lognormal,
    /// Pareto between bounds.
    Pareto,
    /// These, in turn.
    List(Vec<Bytes>),
}

fn read_distribution(args: &mut Args<'_>) -> Result<Distribution, GrammarError> {
    let expected = "`lognormal`, `pareto` or sizes such as `10kb,100kb`";
    args.value(expected, |word| match word {
        "lognormal" => Some(Distribution::Lognormal),
        "pareto" => Some(Distribution::Pareto),
        list => list.split(',').map(bytes).collect::<Option<_>>().map(Distribution::List),
    })
}

fn write_distribution(distribution: &Distribution) -> String {
    match distribution {
        Distribution::Lognormal => "lognormal".to_owned(),
        Distribution::Pareto => "pareto".to_owned(),
        Distribution::List(sizes) => {
            sizes.iter().map(Bytes::to_string).collect::<Vec<_>>().join(",")
        }
    }
}

fn positive() -> impl Form<Bytes> {
    let read = |args: &mut Args<'_>| args.value("a size above zero such as `10kb`", bytes);
    custom("SIZE", read, Bytes::to_string)
}

fn bytes(word: &str) -> Option<Bytes> {
    Bytes::parse_tc(word).filter(|size| size.0 > 0)
}

impl Sizes {
    fn check(&self, _given: &Given) -> Result<(), String> {
        if self.distribution == Distribution::Pareto && self.min >= self.max {
            return Err("expected `min` below `max`".to_owned());
        }
        Ok(())
    }

    /// Mean size in bytes.
    pub fn mean(&self) -> f64 {
        let (l, h, a) = (self.min.0 as f64, self.max.0 as f64, self.shape);
        match &self.distribution {
            Distribution::Lognormal => {
                self.median.0 as f64 * math::exp(self.sigma * self.sigma / 2.0)
            }
            Distribution::Pareto if (a - 1.0).abs() < 1e-9 => l * h / (h - l) * math::ln(h / l),
            Distribution::Pareto => {
                math::pow(l, a) / (1.0 - math::pow(l / h, a)) * a / (a - 1.0)
                    * (math::pow(l, 1.0 - a) - math::pow(h, 1.0 - a))
            }
            Distribution::List(sizes) => {
                sizes.iter().map(|size| size.0).sum::<u64>() as f64 / sizes.len() as f64
            }
        }
    }

    /// Size of transfer number `n`, counted from 0.
    pub fn draw(&self, n: u64, rng: &mut Rng) -> u64 {
        let bytes = match &self.distribution {
            Distribution::Lognormal => self.median.0 as f64 * math::exp(self.sigma * normal(rng)),
            Distribution::Pareto => {
                let (min, max) = (self.min.0 as f64, self.max.0 as f64);
                let tail = 1.0 - rng.unit() * (1.0 - math::pow(min / max, self.shape));
                min / math::pow(tail, 1.0 / self.shape)
            }
            Distribution::List(sizes) => return sizes[(n % sizes.len() as u64) as usize].0,
        };
        bytes.clamp(1.0, MAX_BYTES).round() as u64
    }
}

#[cfg(test)]
mod tests;
