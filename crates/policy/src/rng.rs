//! Random numbers: one named stream per (seed, purpose, entity), so that one component's draws never shift another's.

use crate::hash;

mod rand;

use rand::Rand;

/// A stream of random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rng(Source);

/// Where they come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// SplitMix64: a counter through [`hash::mix`], bit-identical everywhere.
    Counter(u64),
    /// The C library's `rand()`, to follow programs that draw from it.
    C(Rand),
}

impl Default for Rng {
    fn default() -> Self {
        Rng(Source::Counter(0))
    }
}

impl Rng {
    /// The stream of this `purpose` and `entity` under `seed`.
    pub const fn stream(seed: u64, purpose: &str, entity: u64) -> Rng {
        Rng(Source::Counter(hash::mix2(hash::mix2(seed, hash::name(purpose)), entity)))
    }

    /// The numbers of glibc's `rand()` after `srand(seed)`: [`Rng::below`] is then `rand() % n`.
    pub fn of_c(seed: u32) -> Rng {
        Rng(Source::C(Rand::new(seed)))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        match &mut self.0 {
            Source::Counter(counter) => {
                *counter = counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
                hash::mix(*counter)
            }
            Source::C(rand) => rand.bits(),
        }
    }

    /// Uniform in `0..n`; `n` must not be zero. Bias below 2⁻³² · n.
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        match &mut self.0 {
            Source::Counter(_) => hash::spread(self.bits(), n),
            Source::C(rand) => rand.below(n),
        }
    }

    /// Uniform in [0, 1), 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}
