//! One-way delays between machines whose clocks were never set to each other.
//!
//! Stamps count from the start of each machine. What arrival and departure differ by is therefore the delay plus an
//! unknown constant, the same on all paths to a peer. The least difference seen on any path is taken for an empty way
//! there, of half the least round trip. So delays of paths compare with each other exactly, and with the delay of an
//! empty path as far as some path was empty lately and takes as long there as back.

use crate::layout::TICK_NS;

/// The least is that of the current stretch of this length and of the previous one, ns: clocks drift.
const STRETCH: u64 = 5_000_000_000;

/// What is known of a peer's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clocks {
    /// The least differences (ticks, which wrap) and round trips (ns), of the current stretch and the previous one.
    least: [Option<(u32, u64)>; 2],
    stretch: u64,
}

impl Clocks {
    /// Handles a sample taken at `now`: arrival less departure in ticks of two clocks, and the round trip in ns. Returns
    /// the one-way delay in ns.
    pub fn one_way(&mut self, now: u64, apart: u32, rtt: u64) -> u64 {
        let age = now.saturating_sub(self.stretch);
        if age >= STRETCH {
            self.least = [None, self.least[0].filter(|_| age < 2 * STRETCH)];
            self.stretch = now;
        }
        let [current, previous] = self.least;
        let own = lesser((apart, rtt), current);
        self.least[0] = Some(own);
        let (least, trip) = lesser(own, previous);
        let beyond = u64::try_from(ahead(apart, least)).unwrap_or(0) * TICK_NS;
        // No way there takes longer than there and back.
        (trip / 2 + beyond).min(rtt)
    }
}

/// The lesser of two differences, and of two round trips.
fn lesser(one: (u32, u64), other: Option<(u32, u64)>) -> (u32, u64) {
    let Some((apart, trip)) = other else { return one };
    (if ahead(one.0, apart) < 0 { one.0 } else { apart }, one.1.min(trip))
}

/// How far one difference is ahead of another, although they wrap, in ticks.
fn ahead(one: u32, other: u32) -> i32 {
    one.wrapping_sub(other) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Delays of samples (departure, way there, round trip; ns), by clocks that differ by this many ticks.
    fn told(clocks: &mut Clocks, shift: u32, samples: &[(u64, u64, u64)]) -> Vec<u64> {
        let ticks = |ns: u64| (ns / TICK_NS) as u32;
        let one = |&(at, there, rtt): &(u64, u64, u64)| {
            let apart = ticks(at + there).wrapping_add(shift).wrapping_sub(ticks(at));
            clocks.one_way(at + rtt, apart, rtt)
        };
        samples.iter().map(one).collect()
    }

    #[test]
    fn delays_do_not_depend_on_what_the_clocks_differ_by() {
        // An empty path, one with a queue of 3 ms there, one with a queue of 3 ms back.
        let samples = [(10 * MS, MS, 2 * MS), (20 * MS, 4 * MS, 5 * MS), (30 * MS, MS, 5 * MS)];
        for shift in [0, 1, 1 << 24, 1 << 31, u32::MAX, u32::MAX - 4_000] {
            let told = told(&mut Clocks::default(), shift, &samples);
            for (told, (_, there, _)) in told.iter().zip(samples) {
                assert!(told.abs_diff(there) <= 2 * TICK_NS, "{shift}: {told} of {there}");
            }
        }
    }

    #[test]
    fn a_clock_that_is_set_back_is_believed_at_once_and_one_that_is_set_ahead_after_two_stretches() {
        let mut clocks = Clocks::default();
        assert_eq!(told(&mut clocks, 9_000_000, &[(MS, MS, 2 * MS)]), [MS]);
        assert_eq!(told(&mut clocks, 5, &[(2 * MS, MS, 2 * MS)]), [MS]);
        assert_eq!(told(&mut clocks, 9_000_000, &[(3 * MS, MS, 2 * MS)]), [2 * MS], "no longer than there and back");
        for at in 1..=2 {
            told(&mut clocks, 9_000_000, &[(at * STRETCH, MS, 2 * MS), (at * STRETCH + 5 * MS, MS, 2 * MS)]);
        }
        assert_eq!(told(&mut clocks, 9_000_000, &[(2 * STRETCH + 9 * MS, MS, 2 * MS)]), [MS]);
    }

    #[test]
    fn what_is_old_is_forgotten() {
        let mut clocks = Clocks::default();
        told(&mut clocks, 0, &[(0, MS, 2 * MS)]);
        let late = [(3 * STRETCH, 3 * MS, 6 * MS)];
        assert_eq!(told(&mut clocks, 0, &late), [3 * MS]);
    }
}
