//! Sizes of transfers: lognormal, bounded Pareto, or a fixed list in turn.

use sojourn_core::Rng;
use sojourn_core::grammar::{Args, GrammarError, Param};

use super::udp::normal;

/// No transfer is larger, whatever a heavy tail draws.
const MAX_BYTES: f64 = 1e12;

/// The words of a distribution.
pub(super) const PARAMS: [Param; 6] = [
    Param {
        name: "sizes",
        value: "lognormal|pareto|LIST",
        default: "lognormal",
        doc: "Distribution of sizes, or sizes in turn such as `10kb,100kb`.",
    },
    Param { name: "median", value: "SIZE", default: "10kb", doc: "lognormal: the median." },
    Param {
        name: "sigma",
        value: "NUMBER",
        default: "1.5",
        doc: "lognormal: standard deviation of the logarithm, 0 to 5.",
    },
    Param {
        name: "shape",
        value: "NUMBER",
        default: "1.2",
        doc: "pareto: exponent of the tail, 0.1 to 10.",
    },
    Param { name: "min", value: "SIZE", default: "1kb", doc: "pareto: the smallest size." },
    Param { name: "max", value: "SIZE", default: "10mb", doc: "pareto: the largest size." },
];

/// A distribution of sizes in bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Sizes {
    /// `exp(N(ln median, sigma^2))`.
    Lognormal {
        /// Median, bytes.
        median: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// Pareto between bounds.
    Pareto {
        /// Exponent of the tail.
        shape: f64,
        /// Smallest, bytes.
        min: f64,
        /// Largest, bytes.
        max: f64,
    },
    /// These, in turn.
    List(Vec<u64>),
}

impl Sizes {
    /// Mean size in bytes.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Lognormal { median, sigma } => median * (sigma * sigma / 2.0).exp(),
            Self::Pareto { shape, min, max } if (shape - 1.0).abs() < 1e-9 => {
                min * max / (max - min) * (max / min).ln()
            }
            Self::Pareto { shape: a, min: l, max: h } => {
                l.powf(*a) / (1.0 - (l / h).powf(*a)) * a / (a - 1.0)
                    * (l.powf(1.0 - a) - h.powf(1.0 - a))
            }
            Self::List(sizes) => sizes.iter().sum::<u64>() as f64 / sizes.len() as f64,
        }
    }

    /// Size of transfer number `n`, counted from 0.
    pub fn draw(&self, n: u64, rng: &mut Rng) -> u64 {
        let bytes = match self {
            Self::Lognormal { median, sigma } => median * (sigma * normal(rng)).exp(),
            Self::Pareto { shape, min, max } => {
                let tail = 1.0 - rng.unit() * (1.0 - (min / max).powf(*shape));
                min / tail.powf(1.0 / shape)
            }
            Self::List(sizes) => return sizes[(n % sizes.len() as u64) as usize],
        };
        bytes.clamp(1.0, MAX_BYTES).round() as u64
    }
}

/// The words of a distribution as they are read.
#[derive(Debug)]
pub(super) struct Words {
    pareto: bool,
    list: Option<Vec<u64>>,
    median: f64,
    sigma: f64,
    shape: f64,
    min: f64,
    max: f64,
}

impl Default for Words {
    fn default() -> Self {
        let (median, min, max) = (10_240.0, 1024.0, 10_485_760.0);
        Self { pareto: false, list: None, median, sigma: 1.5, shape: 1.2, min, max }
    }
}

impl Words {
    /// Reads the value of `key` if it is a word of a distribution; false if it is none.
    pub(super) fn read(&mut self, key: &str, args: &mut Args<'_>) -> Result<bool, GrammarError> {
        let positive = |args: &mut Args<'_>| {
            args.value("a size above zero such as `10kb`", bytes).map(|n| n as f64)
        };
        match key {
            "sizes" => {
                let word =
                    args.value("`lognormal`, `pareto` or sizes such as `10kb,100kb`", |w| {
                        Some(match w {
                            "lognormal" => (false, None),
                            "pareto" => (true, None),
                            list => {
                                (false, Some(list.split(',').map(bytes).collect::<Option<_>>()?))
                            }
                        })
                    })?;
                (self.pareto, self.list) = word;
            }
            "median" => self.median = positive(args)?,
            "sigma" => self.sigma = args.decimal(0.0..=5.0)?,
            "shape" => self.shape = args.decimal(0.1..=10.0)?,
            "min" => self.min = positive(args)?,
            "max" => self.max = positive(args)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The distribution.
    pub(super) fn finish(self, args: &Args<'_>) -> Result<Sizes, GrammarError> {
        if let Some(list) = self.list {
            return Ok(Sizes::List(list));
        }
        if !self.pareto {
            return Ok(Sizes::Lognormal { median: self.median, sigma: self.sigma });
        }
        if self.min >= self.max {
            return Err(args.invalid("expected `min` below `max`"));
        }
        Ok(Sizes::Pareto { shape: self.shape, min: self.min, max: self.max })
    }
}

fn bytes(word: &str) -> Option<u64> {
    sojourn_core::Bytes::parse_tc(word).map(|size| size.0).filter(|n| *n > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(sizes: &Sizes, n: u64) -> Vec<f64> {
        let mut rng = Rng::named(3, "sizes");
        (0..n).map(|i| sizes.draw(i, &mut rng) as f64).collect()
    }

    #[test]
    fn drawn_sizes_have_the_mean_that_the_formula_gives() {
        for (sizes, tolerance) in [
            (Sizes::Lognormal { median: 10_000.0, sigma: 1.0 }, 0.02),
            (Sizes::Pareto { shape: 1.2, min: 1000.0, max: 1e6 }, 0.03),
            (Sizes::Pareto { shape: 1.0, min: 1000.0, max: 1e5 }, 0.02),
        ] {
            let all = drawn(&sizes, 200_000);
            let mean = all.iter().sum::<f64>() / all.len() as f64;
            assert!((mean / sizes.mean() - 1.0).abs() < tolerance, "{sizes:?}: {mean}");
        }
    }

    #[test]
    fn pareto_keeps_its_bounds_and_its_tail() {
        let all = drawn(&Sizes::Pareto { shape: 2.0, min: 1000.0, max: 1e9 }, 100_000);
        assert!(all.iter().all(|x| (1000.0..=1e9).contains(x)));
        // P(X > 10 min) = 10^-shape.
        let tail = all.iter().filter(|x| **x > 10_000.0).count() as f64 / all.len() as f64;
        assert!((tail / 0.01 - 1.0).abs() < 0.1, "{tail}");
    }

    #[test]
    fn a_list_is_taken_in_turn() {
        assert_eq!(drawn(&Sizes::List(vec![5, 7]), 3), [5.0, 7.0, 5.0]);
    }
}
