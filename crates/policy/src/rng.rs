//! Random numbers: one named stream per (seed, purpose, entity), so that one component's draws never shift another's.

use crate::hash;

/// A stream of random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rng(Source);

/// The source of the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// SplitMix64: a counter through [`hash::mix`], bit-identical everywhere.
    Counter(u64),
    /// Numbers drawn elsewhere, and how many of them (the last ones) are left.
    Lent { left: u8, numbers: [u32; LENT] },
}

/// Most numbers lent at once.
pub const LENT: usize = 3;

const _: () = assert!(size_of::<Rng>() <= 16, "a seat has one, and each port");

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

    /// Numbers that a shell has drawn elsewhere, for one call of a hook: [`Rng::below`] takes one after another, modulo
    /// its bound. Further draws are a mix of these numbers.
    pub const fn lent(numbers: [u32; LENT]) -> Rng {
        Rng(Source::Lent { left: LENT as u8, numbers })
    }

    /// Returns how many of the lent numbers are left; 0 for a stream.
    pub const fn left(&self) -> usize {
        match self.0 {
            Source::Counter(_) => 0,
            Source::Lent { left, .. } => left as usize,
        }
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        match &mut self.0 {
            Source::Counter(counter) => {
                *counter = counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
                hash::mix(*counter)
            }
            Source::Lent { numbers, .. } => mixed(numbers),
        }
    }

    /// Uniform in `0..n`; `n` must not be zero. Bias below 2⁻³² · n.
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        match &mut self.0 {
            Source::Counter(_) => hash::spread(self.bits(), n),
            Source::Lent { left, numbers } => taken(left, numbers) % n,
        }
    }

    /// Uniform in [0, 1), 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}

/// The next of the numbers lent.
#[cold]
fn taken(left: &mut u8, numbers: &mut [u32; LENT]) -> u32 {
    let Some(after) = left.checked_sub(1) else { return mixed(numbers) as u32 };
    *left = after;
    numbers[LENT - 1 - usize::from(after)]
}

#[cold]
fn mixed(numbers: &mut [u32; LENT]) -> u64 {
    let bits = numbers.iter().fold(0, |bits, &number| hash::mix2(bits, u64::from(number)));
    numbers[0] = bits as u32;
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lent_are_taken_one_after_the_other() {
        let mut rng = Rng::lent([10, 21, 32]);
        assert_eq!((rng.below(8), rng.left()), (2, 2));
        assert_eq!((rng.below(4), rng.left()), (1, 1));
        assert_eq!((rng.below(100), rng.left()), (32, 0));
        let beyond: [u32; 4] = core::array::from_fn(|_| rng.below(1_000_000));
        assert!(beyond.iter().all(|number| beyond.iter().filter(|other| *other == number).count() == 1));
        assert_eq!(rng.left(), 0);
    }

    #[test]
    fn a_stream_takes_nothing_that_is_lent() {
        let mut rng = Rng::stream(1, "test", 0);
        assert_eq!((rng.left(), size_of::<Rng>()), (0, 16));
        assert_ne!(rng.bits(), rng.bits());
    }
}
