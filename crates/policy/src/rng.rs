//! Random numbers: one named stream per (seed, purpose, entity), so that one component's draws never shift another's.

use crate::hash;

/// SplitMix64: a counter through [`hash::mix`]. Eight bytes of state, bit-identical everywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rng(u64);

impl Rng {
    /// The stream of this `purpose` and `entity` under `seed`.
    pub const fn stream(seed: u64, purpose: &str, entity: u64) -> Rng {
        Rng(hash::mix2(hash::mix2(seed, hash::name(purpose)), entity))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        hash::mix(self.0)
    }

    /// Uniform in `0..n`; `n` must not be zero. Bias below 2⁻³² · n.
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        hash::spread(self.bits(), n)
    }

    /// Uniform in [0, 1), 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}
