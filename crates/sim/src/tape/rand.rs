//! The C library's `rand()`, as in glibc.

/// Numbers that a sum looks back over.
const LAG: usize = 31;
/// The nearer of the two numbers summed.
const NEAR: usize = 3;
/// Numbers thrown away at the start.
const UNUSED: usize = 310;

/// glibc's additive feedback generator of its default size: r(n) = r(n−3) + r(n−31) mod 2³², of which the lowest bit is
/// dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rand {
    /// The last numbers; the oldest is at `oldest`.
    last: [u32; LAG],
    oldest: u8,
}

impl Rand {
    /// The state after `srand(seed)`; a seed of 0 is one of 1.
    pub(crate) fn new(seed: u32) -> Rand {
        let mut last = [0; LAG];
        // Lehmer's generator modulo 2³¹ − 1, seeded with a signed number.
        let mut word = i64::from(seed.max(1) as i32);
        for number in &mut last {
            *number = word as u32;
            word = (word * 16_807) % 2_147_483_647;
            if word < 0 {
                word += 2_147_483_647;
            }
        }
        // The first three count as the newest.
        let mut rand = Rand { last, oldest: NEAR as u8 };
        (0..UNUSED).for_each(|_| _ = rand.next());
        rand
    }

    /// 31 bits.
    pub(crate) fn next(&mut self) -> u32 {
        let oldest = usize::from(self.oldest);
        let near = (oldest + LAG - NEAR) % LAG;
        let number = self.last[oldest].wrapping_add(self.last[near]);
        self.last[oldest] = number;
        self.oldest = ((oldest + 1) % LAG) as u8;
        number >> 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_numbers_are_those_of_glibc() {
        let mut rand = Rand::new(1);
        let first: [u32; 10] = std::array::from_fn(|_| rand.next());
        let expected = [1_804_289_383, 846_930_886, 1_681_692_777, 1_714_636_915, 1_957_747_793];
        assert_eq!(first[..5], expected);
        assert_eq!(first[5..], [424_238_335, 719_885_386, 1_649_760_492, 596_516_649, 1_189_641_421]);
        assert_eq!(Rand::new(0), Rand::new(1));
        assert_eq!(Rand::new(42).next(), 71_876_166);
    }
}
