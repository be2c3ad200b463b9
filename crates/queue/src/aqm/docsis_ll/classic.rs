//! When DOCSIS's Classic queue drops at a given probability: RFC 8034's scaling by size and
//! de-randomisation.

use sojourn_core::rng::Rng;

const MEAN_PKTSIZE: u64 = 1024;
const PROB_LOW: f64 = 0.85;
const PROB_HIGH: f64 = 8.5;

/// The probability that has accrued since the last drop.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Spacing {
    accrued: f64,
}

impl Spacing {
    /// Whether an arrival of `len` bytes is dropped, with `held` bytes before it. RFC 8034 A.
    #[inline]
    pub(super) fn drops(&mut self, probability: f64, len: u32, held: u64, rng: &mut Rng) -> bool {
        if probability == 0.0 {
            self.accrued = 0.0;
        }
        if held <= 2 * MEAN_PKTSIZE {
            return false;
        }
        let scaled = (probability * f64::from(len) / MEAN_PKTSIZE as f64).min(PROB_LOW);
        self.accrued += scaled;
        let drops = self.accrued >= PROB_LOW && (self.accrued >= PROB_HIGH || rng.unit() < scaled);
        if drops {
            self.accrued = 0.0;
        }
        drops
    }
}
