//! Turns by weight: smooth weighted round robin over the ways to one peer.
//!
//! Each way earns its weight with every turn; the way with the most credit is taken, and pays the sum of all weights.
//! Over any stretch each way is taken in proportion to its weight, and its turns are evenly spread: weights 2 and 1
//! give a b a a b a, never a a a a b b.
//!
//! Credit is in the unit of the weights. So the sum of the weights should stay as it is when they change, or earlier
//! credit weighs more, or less, than it should: [`share`] makes such weights.

/// A way in a round robin.
pub trait Turns {
    /// Its weight; with a weight of zero it has no turn.
    fn weight(&self) -> u32;

    /// Its credit; negative if it has had too much. Initially zero.
    fn owed(&mut self) -> &mut i64;
}

/// The sum of all weights, apart from rounding.
pub(crate) const WHOLE: u32 = 1 << 16;

/// The weight of a way that has `part` of `all`, rounded down, but never to zero.
#[inline]
pub const fn share(part: u64, all: u64) -> u32 {
    if part >= all {
        return if part == 0 { 0 } else { WHOLE };
    }
    let share = (part as u128 * WHOLE as u128 / all as u128) as u32;
    if share == 0 && part > 0 { 1 } else { share }
}

/// The way whose turn it is. Among ways with equal credit, the next from `first` on; [`None`] if none has a weight.
#[inline]
pub fn take_turn<W: Turns>(ways: &mut [W], first: u16) -> Option<u16> {
    let mut total = 0i64;
    let mut best: Option<(i64, usize)> = None;
    for step in 0..ways.len() {
        let at = (usize::from(first) + step) % ways.len();
        let way = &mut ways[at];
        let weight = i64::from(way.weight());
        if weight == 0 {
            // No credit is kept: it starts afresh with its next weight.
            *way.owed() = 0;
            continue;
        }
        total += weight;
        *way.owed() += weight;
        let owed = *way.owed();
        if best.is_none_or(|(most, _)| owed > most) {
            best = Some((owed, at));
        }
    }
    let (_, at) = best?;
    *ways[at].owed() -= total;
    Some(at as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::vec::Vec;

    #[derive(Clone, Copy, Default)]
    struct Way {
        weight: u32,
        owed: i64,
    }

    impl Turns for Way {
        fn weight(&self) -> u32 {
            self.weight
        }

        fn owed(&mut self) -> &mut i64 {
            &mut self.owed
        }
    }

    fn ways(weights: &[u32]) -> Vec<Way> {
        weights.iter().map(|&weight| Way { weight, owed: 0 }).collect()
    }

    fn turns(ways: &mut [Way], first: u16, count: usize) -> Vec<u16> {
        (0..count).map(|_| take_turn(ways, first).expect("some have a weight")).collect()
    }

    #[test]
    fn turns_are_as_many_as_weights_say_and_evenly_spread() {
        assert_eq!(turns(&mut ways(&[2, 1]), 0, 6), [0, 1, 0, 0, 1, 0]);
        assert_eq!(turns(&mut ways(&[5, 1, 1]), 1, 7), [0, 0, 1, 0, 2, 0, 0]);
        for weights in
            [&[3, 6][..], &[1, 2, 3, 58], &[7, 7, 7], &[WHOLE / 3, WHOLE / 3 * 2], &[40_000, 9, 10_000, 15_527]]
        {
            let all: f64 = weights.iter().map(|&weight| f64::from(weight)).sum();
            let mut taken = std::vec![0.0; weights.len()];
            for (turn, way) in turns(&mut ways(weights), 0, 5_000).into_iter().enumerate() {
                taken[usize::from(way)] += 1.0;
                for (taken, &weight) in taken.iter().zip(weights) {
                    let due = (turn + 1) as f64 * f64::from(weight) / all;
                    assert!((taken - due).abs() < 1.5, "{weights:?} after {turn}: {taken} of {due}");
                }
            }
        }
    }

    #[test]
    fn the_first_of_equals_goes_first() {
        assert_eq!(turns(&mut ways(&[1; 4]), 2, 8), [2, 3, 0, 1, 2, 3, 0, 1]);
    }

    #[test]
    fn a_way_without_a_weight_has_no_turn_and_no_debts() {
        let mut all = ways(&[1, 0, 1]);
        assert!(!turns(&mut all, 1, 100).contains(&1));
        all[1].weight = 1;
        all[2].weight = 0;
        assert!(!turns(&mut all, 0, 100).contains(&2));
        assert_eq!(all[2].owed, 0);
        assert_eq!(take_turn(&mut ways(&[0, 0]), 0), None);
        assert_eq!(take_turn::<Way>(&mut [], 0), None);
    }

    #[test]
    fn shares_make_a_whole_and_are_never_nothing() {
        let rates = [3_000_000_000, 6_000_000_000, 1];
        let all = rates.iter().sum();
        let shares = rates.map(|rate| share(rate, all));
        assert_eq!(shares, [WHOLE / 3, WHOLE / 3 * 2, 1]);
        assert_eq!([share(0, 9), share(9, 9), share(u64::MAX - 1, u64::MAX)], [0, WHOLE, WHOLE - 1]);
        assert_eq!([share(10, 9), share(1, 0), share(0, 0)], [WHOLE, WHOLE, 0], "more than all is all");
    }

    #[test]
    fn debts_of_before_do_not_outweigh_new_shares() {
        let mut all = ways(&[share(9, 10), share(1, 10)]);
        for stretch in 0..50 {
            // Rates that shrink and change places: shares still add up to one whole.
            let (part, rest) = if stretch % 2 == 0 { (9, 1) } else { (1, 9) };
            let scale = 10u64.pow(8 - stretch % 9);
            all[0].weight = share(part * scale, 10 * scale);
            all[1].weight = share(rest * scale, 10 * scale);
            let first = turns(&mut all, 0, 40).iter().filter(|&&way| way == 0).count() as u64;
            assert!(first.abs_diff(4 * part) <= 1, "{stretch}: {first} of {}", 4 * part);
        }
    }
}
