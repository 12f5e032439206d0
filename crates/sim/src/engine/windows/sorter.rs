//! Sorts the arrivals at a switch in one window.

use crate::link::Track;
use spinewise_policy::Span;

/// Sort keys are (offset in the window, [`Place`]): 40 and 24 bits.
pub(super) const PLACE_BITS: u32 = 24;
const PLACE_MASK: u64 = (1 << PLACE_BITS) - 1;

/// The place where something arrives: the in-port, and the track of its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) port: u16,
    pub(super) track: Track,
}

impl Place {
    /// The place encoded in a key.
    #[inline(always)]
    pub(super) fn of(key: u64) -> Place {
        let place = key & PLACE_MASK;
        Place { port: (place >> 1) as u16, track: if place & 1 == 0 { Track::Main } else { Track::Ahead } }
    }

    /// The key of an arrival here at this offset in the window.
    #[inline(always)]
    pub(super) fn at(self, offset: Span) -> u64 {
        offset.0 << PLACE_BITS | u64::from(self.port) << 1 | u64::from(self.track == Track::Ahead)
    }
}

/// Sorts the keys of a window. Arrivals are spread over it fairly evenly, so they go into buckets by time first, which
/// leaves hardly any comparisons.
pub(super) struct Sorter {
    spare: Vec<u64>,
    /// The ends of the buckets.
    ends: [u32; Sorter::MOST_BUCKETS],
    /// Arrivals at one instant: place and key.
    tied: Vec<(u64, u64)>,
}

impl Default for Sorter {
    fn default() -> Self {
        Sorter { spare: Vec::new(), ends: [0; Self::MOST_BUCKETS], tied: Vec::new() }
    }
}

impl Sorter {
    const MOST_BUCKETS: usize = 256;
    const FEW: usize = 24;

    /// Sorts `keys`, all of which lie in a window of this length. Returns whether any two arrivals fall on one instant.
    pub(super) fn sort(&mut self, keys: &mut Vec<u64>, window: Span) -> bool {
        if keys.len() > Self::FEW {
            self.spread(keys, window);
        }
        let Some(&(mut last)) = keys.first() else { return false };
        let tied = |one: u64, other: u64| (one ^ other) >> PLACE_BITS == 0;
        let mut ties = false;
        for i in 1..keys.len() {
            let key = keys[i];
            if last <= key {
                // The usual case.
                ties |= tied(last, key);
                last = key;
                continue;
            }
            let mut at = i;
            while at > 0 && keys[at - 1] > key {
                keys[at] = keys[at - 1];
                at -= 1;
            }
            keys[at] = key;
            ties |= at > 0 && tied(keys[at - 1], key);
            ties |= tied(keys[at + 1], key);
        }
        ties
    }

    /// Orders arrivals of one instant by the place that `places` gives to ports at an offset in the window; if two have
    /// the same place, the lower port goes first.
    #[cold]
    pub(super) fn break_ties<P: Fn(u16) -> u64>(&mut self, keys: &mut [u64], places: impl Fn(u64) -> P) {
        let mut next = 1;
        while next < keys.len() {
            let first = next - 1;
            let is_tied = |key: u64| (keys[first] ^ key) >> PLACE_BITS == 0;
            if !is_tied(keys[next]) {
                next += 1;
                continue;
            }
            next += 1 + keys[next + 1..].iter().take_while(|&&key| is_tied(key)).count();
            let place = places(keys[first] >> PLACE_BITS);
            let place = |key: u64| place(Place::of(key).port);
            match &mut keys[first..next] {
                // Nearly always two.
                [one, other] => {
                    if place(*one) > place(*other) {
                        std::mem::swap(one, other);
                    }
                }
                many => {
                    self.tied.clear();
                    self.tied.extend(many.iter().map(|&key| (place(key), key)));
                    self.tied.sort_unstable();
                    many.iter_mut().zip(&self.tied).for_each(|(key, &(_, sorted))| *key = sorted);
                }
            }
            next += 1;
        }
    }

    /// Puts keys into the order of their buckets, about one bucket per key.
    fn spread(&mut self, keys: &mut Vec<u64>, window: Span) {
        let buckets = keys.len().next_power_of_two().min(Self::MOST_BUCKETS);
        // The largest offset falls into the last bucket or the one before: no bit is masked off.
        let bits = 64 - window.0.leading_zeros();
        let shift = PLACE_BITS + bits.saturating_sub(buckets.trailing_zeros());
        let bucket = |key: u64| (key >> shift) as usize % Self::MOST_BUCKETS;
        let ends = &mut self.ends;
        ends[..buckets].fill(0);
        debug_assert!(keys.iter().all(|key| key >> shift < buckets as u64), "a key beyond the window");
        for &key in keys.iter() {
            ends[bucket(key)] += 1;
        }
        let mut sum = 0;
        for end in &mut ends[..buckets] {
            sum += *end;
            *end = sum;
        }
        self.spare.resize(keys.len(), 0);
        for &key in keys.iter().rev() {
            let end = &mut ends[bucket(key)];
            *end -= 1;
            self.spare[*end as usize] = key;
        }
        std::mem::swap(keys, &mut self.spare);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spinewise_policy::Rng;

    #[test]
    fn the_sorter_sorts() {
        let mut rng = Rng::stream(1, "sorter", 0);
        let mut sorter = Sorter::default();
        for round in 0..500u32 {
            let window = Span(1 + rng.bits() % (1 << (1 + round % 39)));
            let mut keys: Vec<u64> =
                (0..rng.below(300)).map(|_| (rng.bits() % window.0) << PLACE_BITS | u64::from(rng.below(64))).collect();
            let mut expected = keys.clone();
            expected.sort_unstable();
            let ties = sorter.sort(&mut keys, window);
            assert_eq!(keys, expected);
            assert_eq!(ties, keys.windows(2).any(|pair| (pair[0] ^ pair[1]) >> PLACE_BITS == 0));
        }
    }
}
