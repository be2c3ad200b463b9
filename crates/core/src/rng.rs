//! Random streams by name: `Rng::named(seed, "link.bneck.qdisc")`. Adding an element cannot
//! disturb another's dice, and the generator is the same on every platform.

use rand_core::Rng as _;
use rand_pcg::Pcg64;

/// A reproducible stream of random numbers.
#[derive(Clone, Debug)]
pub struct Rng(Pcg64);

impl Rng {
    /// The stream called `name` of the run with this `seed`.
    pub fn named(seed: u64, name: &str) -> Self {
        // FNV-1a: a stable hash, so streams survive compiler and library versions.
        let stream = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(Pcg64::new(u128::from(seed), u128::from(stream)))
    }

    /// Uniform over all 32-bit values, as the kernel's `get_random_u32`.
    #[inline]
    pub fn u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// Uniform over all 64-bit values.
    #[inline]
    pub fn u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in `0..bound`, as the kernel's `reciprocal_scale`.
    #[inline]
    pub fn below(&mut self, bound: u32) -> u32 {
        ((u64::from(self.u32()) * u64::from(bound)) >> 32) as u32
    }

    /// Uniform in `[0, 1)` with 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }
}

#[cfg(test)]
mod tests;
