//! Draws by name: what one property draws does not disturb another's.

use sojourn_core::{Rng, math};

/// The dice of one case.
pub(crate) struct Dice {
    seed: u64,
    index: u64,
}

impl Dice {
    pub(crate) fn of(seed: u64, index: u64) -> Self {
        Self { seed, index }
    }

    /// Those of one property.
    pub(crate) fn named(&self, name: &str) -> Draw {
        Draw(Rng::named(self.seed, &format!("case.{}.{name}", self.index)))
    }
}

/// The dice of one property of a case.
pub(crate) struct Draw(Rng);

impl Draw {
    /// True in a share `p` of the cases.
    pub(crate) fn chance(&mut self, p: f64) -> bool {
        self.0.unit() < p
    }

    /// One of them, each as likely.
    pub(crate) fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.0.below(all.len() as u32) as usize]
    }

    /// A whole number of the range, its ends included.
    pub(crate) fn whole(&mut self, least: u32, most: u32) -> u32 {
        least + self.0.below(most - least + 1)
    }

    /// Between the two, uniform.
    pub(crate) fn between(&mut self, least: f64, most: f64) -> f64 {
        least + self.0.unit() * (most - least)
    }

    /// Between the two, uniform in the logarithm, with three significant digits.
    pub(crate) fn decades(&mut self, least: f64, most: f64) -> f64 {
        let value = least * math::pow(most / least, self.0.unit());
        let digit = math::pow(10.0, math::log10(value).floor() - 2.0);
        ((value / digit).round() * digit).clamp(least, most)
    }

    /// A whole number, uniform in the logarithm.
    pub(crate) fn count(&mut self, least: u32, most: u32) -> u32 {
        (self.decades(f64::from(least), f64::from(most)) as u32).clamp(least, most)
    }
}
