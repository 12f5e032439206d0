//! Queue lengths in bytes, over many samples: exact sums, and a count for every narrow bin of lengths.

use crate::summary::bin;

/// Lengths that differ by less than a 32nd.
#[derive(Clone, Copy, Debug)]
struct Bin {
    number: u32,
    /// The greatest length in it.
    greatest: u64,
    samples: u64,
}

/// Lengths of a queue. Samples that found nothing are not kept: the caller knows how many samples there were.
#[derive(Clone, Debug, Default)]
pub struct Lengths {
    sum: u64,
    samples: u64,
    /// Indexed by number.
    bins: Vec<Bin>,
}

impl Lengths {
    /// Adds a sample that found `bytes`, more than 0.
    pub fn add(&mut self, bytes: u64) {
        self.sum += bytes;
        self.samples += 1;
        let number = bin(bytes);
        match self.bins.binary_search_by_key(&number, |bin| bin.number) {
            Ok(at) => {
                let bin = &mut self.bins[at];
                bin.samples += 1;
                bin.greatest = bin.greatest.max(bytes);
            }
            Err(at) => self.bins.insert(at, Bin { number, greatest: bytes, samples: 1 }),
        }
    }

    /// Their mean over `taken` samples.
    pub fn mean(&self, taken: u64) -> f64 {
        self.sum as f64 / taken.max(1) as f64
    }

    /// The length that this share of `taken` samples does not exceed, by nearest rank: exact, or above it by less than a
    /// 32nd.
    pub fn percentile(&self, percent: u64, taken: u64) -> u64 {
        // Number of samples, the longest ones, that may exceed it.
        let above = taken - (taken * percent).div_ceil(100);
        let mut longer = 0;
        for bin in self.bins.iter().rev() {
            longer += bin.samples;
            if longer > above {
                return bin.greatest;
            }
        }
        0
    }

    /// The longest.
    pub fn longest(&self) -> u64 {
        self.bins.last().map_or(0, |bin| bin.greatest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spinewise_policy::Rng;

    #[test]
    fn percentiles_are_those_of_the_sorted_samples_or_a_little_above() {
        let mut rng = Rng::stream(1, "lengths", 0);
        for taken in [1u64, 2, 3, 50, 100, 101, 1000] {
            let mut lengths = Lengths::default();
            let mut all: Vec<u64> =
                (0..taken).map(|_| u64::from(rng.below(3)) * u64::from(rng.below(90_000))).collect();
            all.iter().filter(|&&bytes| bytes > 0).for_each(|&bytes| lengths.add(bytes));
            all.sort_unstable();
            for percent in [0, 1, 50, 95, 99, 100] {
                let rank = (taken * percent).div_ceil(100).max(1);
                let exact = all[rank as usize - 1];
                let found = lengths.percentile(percent, taken);
                // None need be below at 0 percent: the shortest is the first sample that is longer than nothing.
                assert!(percent == 0 || found >= exact, "{percent} of {taken}: {found}, {exact}");
                assert!(percent == 0 || found - exact <= exact / 32, "{percent} of {taken}: {found}, {exact}");
            }
            assert_eq!(lengths.longest(), all[taken as usize - 1]);
            let sum: u64 = all.iter().sum();
            assert!((lengths.mean(taken) - sum as f64 / taken as f64).abs() < 1e-9);
        }
        assert_eq!(Lengths::default().percentile(99, 0), 0);
    }
}
