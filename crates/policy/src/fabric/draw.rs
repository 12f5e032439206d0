//! Draws among ports without repetition, as DRILL makes them for each packet and Luopan for each sample.

use crate::Rng;

/// Most ports drawn at once.
pub(crate) const MOST_D: usize = 16;

/// Returns `d` different numbers below `n`, every sequence equally likely; all numbers if there are no more than `d`.
// The order matters: among queues of equal length the one drawn first is taken.
#[inline]
pub fn draw(rng: &mut Rng, n: usize, d: usize) -> ([usize; MOST_D], usize) {
    let many = d.min(n).min(MOST_D);
    let (mut drawn, mut sorted) = ([0; MOST_D], [0; MOST_D]);
    for i in 0..many {
        // The one-th of those not drawn yet: each drawn number at or below it moves it up by one.
        let (mut one, mut at) = (rng.below((n - i) as u32) as usize, 0);
        while at < i && sorted[at] <= one {
            one += 1;
            at += 1;
        }
        sorted[at..=i].rotate_right(1);
        (sorted[at], drawn[i]) = (one, one);
    }
    (drawn, many)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sequence_of_ports_is_as_likely() {
        let mut rng = Rng::stream(1, "test", 0);
        let mut seen = [[[0u32; 4]; 4]; 4];
        for _ in 0..24_000 {
            let (drawn, many) = draw(&mut rng, 4, 3);
            assert_eq!(many, 3);
            seen[drawn[0]][drawn[1]][drawn[2]] += 1;
        }
        for (i, times) in seen.as_flattened().as_flattened().iter().enumerate() {
            let (a, b, c) = (i / 16, i / 4 % 4, i % 4);
            let expected = if a == b || b == c || a == c { 0 } else { 1_000 };
            assert!(times.abs_diff(expected) < 150, "({a}, {b}, {c}) came {times} times");
        }
        for n in 1..20 {
            let (drawn, many) = draw(&mut rng, n, MOST_D);
            let mut drawn = drawn[..many].to_vec();
            drawn.sort_unstable();
            drawn.dedup();
            assert_eq!((drawn.len(), many), (n.min(MOST_D), n.min(MOST_D)));
            assert!(drawn.iter().all(|way| *way < n));
        }
    }
}
