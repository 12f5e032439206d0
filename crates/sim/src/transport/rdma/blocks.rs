//! A set of byte ranges: those that a receiver holds beyond a hole, or those that were reported to a sender.

/// Byte ranges `start..end`, ascending, disjoint and not touching.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocks(Vec<(u64, u64)>);

impl Blocks {
    /// Whether it is empty.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The lowest range.
    #[inline]
    pub(super) fn first(&self) -> Option<(u64, u64)> {
        self.0.first().copied()
    }

    /// Takes the lowest range out.
    pub(super) fn remove_first(&mut self) {
        self.0.remove(0);
    }

    /// Whether every byte of `start..end` is in one range.
    pub(super) fn covers(&self, start: u64, end: u64) -> bool {
        let at = self.0.partition_point(|block| block.1 < end);
        self.0.get(at).is_some_and(|block| block.0 <= start)
    }

    /// Adds `start..end`; returns how many of its bytes were not there.
    pub(super) fn insert(&mut self, start: u64, end: u64) -> u64 {
        // Packets mostly come at the end of the last range.
        match self.0.last_mut() {
            Some(last) if start == last.1 => {
                last.1 = end;
                return end - start;
            }
            Some(last) if start < last.1 => {}
            _ => {
                self.0.push((start, end));
                return end - start;
            }
        }
        let from = self.0.partition_point(|block| block.1 < start);
        let to = from + self.0[from..].partition_point(|block| block.0 <= end);
        let touching = &self.0[from..to];
        let there: u64 = touching.iter().map(|block| block.1.min(end).saturating_sub(block.0.max(start))).sum();
        let low = touching.first().map_or(start, |first| first.0.min(start));
        let high = touching.last().map_or(end, |last| last.1.max(end));
        self.0.splice(from..to, [(low, high)]);
        end - start - there
    }

    /// Drops all bytes below `at`.
    pub(super) fn remove_below(&mut self, at: u64) {
        let gone = self.0.partition_point(|block| block.1 <= at);
        self.0.drain(..gone);
        if let Some(first) = self.0.first_mut() {
            first.0 = first.0.max(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_set_of_bytes(ops in proptest::collection::vec((0_u64..60, 1_u64..12, any::<bool>()), 1..60)) {
            let mut blocks = Blocks::default();
            let mut bytes = [false; 80];
            for (start, length, insert) in ops {
                let range = start as usize..(start + length) as usize;
                if insert {
                    let new = bytes[range.clone()].iter().filter(|there| !**there).count() as u64;
                    prop_assert_eq!(blocks.insert(start, start + length), new);
                    bytes[range].fill(true);
                } else {
                    let there = bytes[range].iter().all(|there| *there);
                    prop_assert_eq!(blocks.covers(start, start + length), there);
                    blocks.remove_below(start / 4);
                    bytes[..start as usize / 4].fill(false);
                }
                prop_assert!(blocks.0.is_sorted_by(|a, b| a.1 < b.0) && blocks.0.iter().all(|b| b.0 < b.1));
                for (byte, there) in bytes.iter().enumerate() {
                    prop_assert_eq!(blocks.0.iter().any(|b| (b.0..b.1).contains(&(byte as u64))), *there);
                }
            }
        }
    }
}
