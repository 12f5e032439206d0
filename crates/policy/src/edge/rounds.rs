//! Rounds of probes towards one peer: the ways asked, the best answer, and the best of the round before.
//!
//! Power of two choices with memory (Mitzenmacher, TPDS 2001): a few ways drawn at random, and the one that was best
//! last time.

use crate::{Rng, Way};

/// The most ways in one round.
pub const MOST: usize = 4;

/// The best answers towards one peer; a smaller score is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rounds {
    now: Option<(Way, u64)>,
    before: Option<(Way, u64)>,
}

impl Rounds {
    /// Begins a round: the best answer so far becomes that of the previous round; none if all were lost.
    pub fn begin(&mut self) {
        self.before = self.now.take();
    }

    /// `way` answered.
    pub fn answered(&mut self, way: Way, score: u64) {
        if self.now.is_none_or(|(_, best)| score < best) {
            self.now = Some((way, score));
        }
    }

    /// A probe on `way` was lost: the way is neither the best of its round nor remembered.
    pub fn lost(&mut self, way: Way) {
        self.now = self.now.filter(|&(best, _)| best != way);
        self.before = self.before.filter(|&(best, _)| best != way);
    }

    /// The best answer of this round, or of the last one until there is one: way and score.
    pub fn best(&self) -> Option<(Way, u64)> {
        self.now.or(self.before)
    }

    /// The best answer of the previous round.
    pub fn remembered(&self) -> Option<(Way, u64)> {
        self.before
    }
}

/// The ways of one round, each once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Picks {
    ways: [Way; MOST],
    len: usize,
}

impl Picks {
    /// Adds a way that is not in it yet, if there is room. Returns whether it was added.
    pub fn add(&mut self, way: Way) -> bool {
        let fits = self.len < MOST && !self.ways().contains(&way);
        if fits {
            self.ways[self.len] = way;
            self.len += 1;
        }
        fits
    }

    /// Adds one of `0..ways` that is `wanted` and not in it yet, all equally likely. Returns whether there was any.
    pub fn draw(&mut self, ways: u16, rng: &mut Rng, wanted: impl Fn(Way) -> bool) -> bool {
        let all = (0..ways).map(Way);
        let fits = |way: &Way| !self.ways().contains(way) && wanted(*way);
        let choices = all.clone().filter(fits).count() as u32;
        if choices == 0 {
            return false;
        }
        let drawn = all.filter(fits).nth(rng.below(choices) as usize);
        drawn.is_some_and(|way| self.add(way))
    }

    /// The ways, in the order in which they were added.
    pub fn ways(&self) -> &[Way] {
        &self.ways[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_answer_is_remembered_for_one_round() {
        let mut rounds = Rounds::default();
        rounds.begin();
        assert_eq!(rounds.best(), None);
        rounds.answered(Way(3), 40);
        rounds.answered(Way(1), 20);
        rounds.answered(Way(2), 20);
        assert_eq!((rounds.best(), rounds.remembered()), (Some((Way(1), 20)), None), "the first of equals");
        rounds.begin();
        assert_eq!((rounds.best(), rounds.remembered()), (Some((Way(1), 20)), Some((Way(1), 20))));
        rounds.answered(Way(3), 90);
        assert_eq!(rounds.best(), Some((Way(3), 90)), "this round's, though worse");
        rounds.begin();
        rounds.begin();
        assert_eq!(rounds.best(), None, "a round without answers leaves nothing");
    }

    #[test]
    fn a_lost_way_is_not_remembered() {
        let mut rounds = Rounds::default();
        rounds.answered(Way(1), 20);
        rounds.begin();
        rounds.lost(Way(2));
        assert_eq!(rounds.remembered(), Some((Way(1), 20)));
        rounds.lost(Way(1));
        assert_eq!((rounds.best(), rounds.remembered()), (None, None));
    }

    #[test]
    fn draws_are_even_and_never_repeat() {
        let mut rng = Rng::stream(1, "test", 0);
        let mut seen = [0u32; 6];
        for _ in 0..12_000 {
            let mut picks = Picks::default();
            assert!(picks.add(Way(2)) && !picks.add(Way(2)));
            assert!(picks.draw(6, &mut rng, |way| way.0 != 4));
            seen[picks.ways()[1].index()] += 1;
        }
        assert_eq!((seen[2], seen[4]), (0, 0));
        assert!([0, 1, 3, 5].iter().all(|&way: &usize| seen[way].abs_diff(3_000) < 250), "{seen:?}");
        let mut picks = Picks::default();
        assert!(!picks.draw(0, &mut rng, |_| true), "no path");
        assert!(picks.draw(1, &mut rng, |_| true) && !picks.draw(1, &mut rng, |_| true), "a single path");
    }

    #[test]
    fn a_round_has_an_end() {
        let mut picks = Picks::default();
        assert!((0..MOST as u16).all(|way| picks.add(Way(way))));
        assert!(!picks.add(Way(100)) && !picks.draw(200, &mut Rng::default(), |_| true));
        assert_eq!(picks.ways().len(), MOST);
    }
}
