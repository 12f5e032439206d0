//! The bytes of a stream that have arrived: those in order, and islands beyond the first gap.

/// The bytes of a stream that are here.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reassembly {
    /// Everything before this has arrived.
    expected: u64,
    /// The bytes beyond a gap: ascending, disjoint, not touching, all beyond `expected`.
    beyond: Vec<(u64, u64)>,
}

impl Reassembly {
    /// The first byte that is missing.
    #[inline]
    pub(crate) fn expected(&self) -> u64 {
        self.expected
    }

    /// Returns the bytes beyond it, as ranges `start..end` in ascending order.
    pub(crate) fn beyond(&self) -> &[(u64, u64)] {
        &self.beyond
    }

    /// One past the last byte that is here.
    #[inline]
    pub(crate) fn highest(&self) -> u64 {
        self.beyond.last().map_or(self.expected, |last| last.1)
    }

    /// Whether `seq` is the first missing byte, with nothing beyond it here.
    #[inline]
    pub(crate) fn is_next(&self, seq: u64) -> bool {
        seq == self.expected && self.beyond.is_empty()
    }

    /// Takes bytes `seq..end`; returns how many of them are new.
    #[inline]
    pub(crate) fn take(&mut self, seq: u64, end: u64) -> u64 {
        if self.is_next(seq) {
            self.expected = end;
            return end - seq;
        }
        self.store(seq, end)
    }

    /// The same when these bytes or others are out of order.
    fn store(&mut self, seq: u64, end: u64) -> u64 {
        let start = seq.max(self.expected);
        if start >= end {
            return 0;
        }
        if start == self.expected {
            return self.fill(start, end);
        }
        // Packets mostly arrive at the end of the last range.
        match self.beyond.last_mut() {
            Some(last) if start == last.1 => {
                last.1 = end;
                end - start
            }
            Some(last) if start < last.1 => self.merge(start, end),
            _ => {
                self.beyond.push((start, end));
                end - start
            }
        }
    }

    /// Takes bytes at `expected`, and those that they join up with.
    fn fill(&mut self, start: u64, end: u64) -> u64 {
        let joined = self.beyond.partition_point(|interval| interval.0 <= end);
        let here = overlap(&self.beyond[..joined], start, end);
        self.expected = self.beyond[..joined].last().map_or(end, |last| last.1.max(end));
        self.beyond.drain(..joined);
        end - start - here
    }

    /// Bytes among the intervals beyond the gap: joins all that touch.
    fn merge(&mut self, start: u64, end: u64) -> u64 {
        let from = self.beyond.partition_point(|interval| interval.1 < start);
        let to = from + self.beyond[from..].partition_point(|interval| interval.0 <= end);
        let touching = &self.beyond[from..to];
        let here = overlap(touching, start, end);
        if let (Some(first), Some(last)) = (touching.first(), touching.last()) {
            self.beyond[from] = (first.0.min(start), last.1.max(end));
            self.beyond.drain(from + 1..to);
        } else {
            self.beyond.insert(from, (start, end));
        }
        end - start - here
    }
}

/// Bytes of `start..end` that lie in `intervals`.
fn overlap(intervals: &[(u64, u64)], start: u64, end: u64) -> u64 {
    intervals.iter().map(|i| i.1.min(end).saturating_sub(i.0.max(start))).sum()
}
