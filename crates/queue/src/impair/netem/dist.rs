//! Delay distributions as inverse distribution functions: 4096 samples in units of sigma/8192,
//! drawn with equal probability. Generated from their definitions, once per process.

use std::sync::OnceLock;

use sojourn_core::choices;
use sojourn_core::math;

/// One sigma in the units of a table.
const SCALE: i64 = 8192;

/// Samples in a table.
const SIZE: usize = 4096;

choices! {
    /// Shape of a random delay.
    pub(super) enum Shape {
        /// Gaussian.
        Normal = "normal",
        /// Pareto with exponent 3, shifted to mean zero and stretched by 4/3.
        Pareto = "pareto",
        /// A quarter of the Gaussian quantile plus three quarters of the Pareto quantile.
        ParetoNormal = "paretonormal",
    }
}

impl Shape {
    pub(super) fn table(self) -> &'static [i16; SIZE] {
        static TABLES: [OnceLock<Box<[i16; SIZE]>>; 3] = [const { OnceLock::new() }; 3];
        TABLES[self as usize].get_or_init(|| {
            let mut table = Box::new([0; SIZE]);
            for (i, entry) in table.iter_mut().enumerate() {
                let sigmas = self.quantile((i as f64 + 0.5) / SIZE as f64);
                let scaled = (sigmas * SCALE as f64).round();
                *entry = scaled.clamp(f64::from(i16::MIN), f64::from(i16::MAX)) as i16;
            }
            table
        })
    }

    /// Deviation from the mean, in sigmas, below which lies the share `p`.
    fn quantile(self, p: f64) -> f64 {
        match self {
            Self::Normal => normal_quantile(p),
            Self::Pareto => pareto_quantile(p),
            Self::ParetoNormal => 0.25 * normal_quantile(p) + 0.75 * pareto_quantile(p),
        }
    }
}

/// Mean 3/2 removed; what exceeds the range of a table is cut off at four sigmas, as in tc's.
fn pareto_quantile(p: f64) -> f64 {
    ((1.0 / math::cbrt(1.0 - p) - 1.5) * (4.0 / 3.0)).min(f64::from(i16::MAX) / SCALE as f64)
}

/// Wichura's algorithm AS 241 (PPND7), good to seven digits; `p` no closer to 0 or 1 than e^-25.
fn normal_quantile(p: f64) -> f64 {
    let q = p - 0.5;
    let poly = |x: f64, c: &[f64]| c.iter().rev().fold(0.0, |sum, c| sum * x + c);
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        let above = [3.387_132_717_9, 50.434_271_938, 159.291_132_02, 59.109_374_720];
        let below = [1.0, 17.895_169_469, 78.757_757_664, 67.187_563_600];
        return q * poly(r, &above) / poly(r, &below);
    }
    let r = (-math::ln(p.min(1.0 - p))).sqrt() - 1.6;
    let above = [1.423_437_277_7, 2.756_815_390_0, 1.306_728_481_6, 0.170_238_211_03];
    let below = [1.0, 0.737_001_642_50, 0.120_211_329_75];
    (poly(r, &above) / poly(r, &below)).copysign(q)
}

/// Delay in nanoseconds for mean `mu` and spread `sigma`: uniform in `mu - sigma..mu + sigma`, or
/// from the table of `shape`. May be negative. `draw` is asked once, and only if there is a spread.
/// Linux 6.12 `tabledist`.
#[inline]
pub(super) fn sample(mu: i64, sigma: i32, shape: Option<Shape>, draw: impl FnOnce() -> u32) -> i64 {
    if sigma == 0 {
        return mu;
    }
    let (rnd, sigma) = (draw(), i64::from(sigma));
    let Some(shape) = shape else {
        return (i64::from(rnd) % (2 * sigma)).saturating_add(mu) - sigma;
    };
    let t = i64::from(shape.table()[rnd as usize % SIZE]);
    let part = (sigma % SCALE) * t;
    let rounded = (part + if part >= 0 { SCALE / 2 } else { -SCALE / 2 }) / SCALE;
    mu.saturating_add(rounded + sigma / SCALE * t)
}

#[cfg(test)]
mod tests;
