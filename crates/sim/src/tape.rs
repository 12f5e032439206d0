//! The numbers from which a followed program draws paths: one tape for all switches, read in the order of events.

mod rand;

use rand::Rand;
use spinewise_policy::Rng;
use spinewise_policy::rng::LENT;

/// The seed of `rand()` in the followed program (source: `run.py` of ConWeave's public code).
const SEED: u32 = 1;

/// Numbers that a scheme takes from the tape as it chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draws {
    /// As many as it draws.
    AsNeeded,
    /// Three, the first of which is not used.
    Three,
    /// As many as a shuffle of all candidates takes.
    Shuffle,
}

/// The tape, and the numbers that schemes take from it.
#[derive(Clone, Debug)]
pub struct Tape {
    rand: Rand,
    /// The next numbers, already read.
    ahead: [u32; LENT],
    draws: Draws,
}

impl Tape {
    /// Creates a tape at its start.
    pub fn new(draws: Draws) -> Tape {
        let mut rand = Rand::new(SEED);
        let ahead = std::array::from_fn(|_| rand.next());
        Tape { rand, ahead, draws }
    }

    /// The next number.
    fn next(&mut self) -> u32 {
        let number = self.ahead[0];
        self.ahead.rotate_left(1);
        self.ahead[LENT - 1] = self.rand.next();
        number
    }

    /// Lends the numbers for a choice among `candidates` ways; [`Tape::take_back`] must follow.
    pub fn lend(&mut self, candidates: usize) -> Rng {
        match self.draws {
            Draws::AsNeeded => Rng::lent(self.ahead),
            Draws::Three => {
                let [_, second, third] = std::array::from_fn(|_| self.next());
                Rng::lent([second, third, third])
            }
            Draws::Shuffle => Rng::lent(places(&self.shuffled(candidates))),
        }
    }

    /// Takes back the numbers lent.
    pub fn take_back(&mut self, lent: &Rng) {
        match self.draws {
            Draws::AsNeeded => (lent.left()..LENT).for_each(|_| _ = self.next()),
            Draws::Three | Draws::Shuffle => {}
        }
    }

    /// Returns 0 to n − 1 in the order of `std::random_shuffle` of GCC's library: from the second on each changes
    /// places with one of those up to itself.
    fn shuffled(&mut self, n: usize) -> Vec<u32> {
        let mut order: Vec<u32> = (0..n as u32).collect();
        for at in 1..n {
            let other = self.next() as usize % (at + 1);
            order.swap(at, other);
        }
        order
    }
}

/// The first of an order, each by its place among those that are not before it: the numbers that draws without
/// repetition ask for.
fn places(order: &[u32]) -> [u32; LENT] {
    std::array::from_fn(|at| {
        let one = order.get(at).copied().unwrap_or_default();
        let below = order.iter().take(at).filter(|&&other| other < one).count();
        one - below as u32
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use spinewise_policy::fabric::draw::draw;

    /// The first numbers of glibc after `srand(1)`.
    const FIRST: [u32; 8] = [
        1_804_289_383,
        846_930_886,
        1_681_692_777,
        1_714_636_915,
        1_957_747_793,
        424_238_335,
        719_885_386,
        1_649_760_492,
    ];

    #[test]
    fn what_is_not_drawn_stays_on_the_tape() {
        let mut tape = Tape::new(Draws::AsNeeded);
        let mut at = 0;
        for many in [1, 0, 2, 3, 0, 1] {
            let mut rng = tape.lend(8);
            for _ in 0..many {
                assert_eq!(rng.below(1000), FIRST[at] % 1000);
                at += 1;
            }
            tape.take_back(&rng);
        }
    }

    #[test]
    fn three_are_taken_for_each_packet_and_the_first_is_not_used() {
        let mut tape = Tape::new(Draws::Three);
        let mut rng = tape.lend(8);
        assert_eq!(rng.below(1000), FIRST[1] % 1000);
        tape.take_back(&rng);
        tape.lend(8);
        let mut rng = tape.lend(8);
        assert_eq!(rng.below(1000), FIRST[7] % 1000);
    }

    #[test]
    fn a_shuffle_gives_its_first_two() {
        let mut tape = Tape::new(Draws::Shuffle);
        // Computed by hand: 0 1 2 3 4 5 6 7, places changed with 1804289383 % 2 = 1, 846930886 % 3 = 1, 1681692777 % 4
        // = 1, 1714636915 % 5 = 0, 1957747793 % 6 = 5, 424238335 % 7 = 3, 719885386 % 8 = 2.
        let order = tape.clone().shuffled(8);
        assert_eq!(order, [4, 3, 7, 6, 0, 5, 2, 1]);
        let mut rng = tape.lend(8);
        let (drawn, many) = draw(&mut rng, 8, 2);
        assert_eq!((&drawn[..many], tape.next()), (&[4, 3][..], FIRST[7]));
    }
}
