//! A queue in a ring that fits its contents.

use crate::prefetch;

/// First in, first out, in a ring of a power of two slots that doubles when full and halves when it has been mostly empty
/// for a whole round: a ring much longer than its queue would walk through the cache for nothing.
#[derive(Debug)]
pub struct Ring<T> {
    slots: Box<[T]>,
    head: u32,
    len: u32,
    /// Length at which [`Ring::reach`] is called: with all slots taken, or with a quarter while it has not held more
    /// since the head last came round. One number, so that a packet is compared with it once.
    limit: u32,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Ring { slots: Box::default(), head: 0, len: 0, limit: 0 }
    }
}

impl<T: Copy + Default> Ring<T> {
    const FIRST: usize = 8;

    /// Number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether it is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    fn slot(&self, i: usize) -> usize {
        (self.head as usize + i) & (self.slots.len().wrapping_sub(1))
    }

    /// The `i`-th from the front.
    #[inline]
    pub fn get(&self, i: usize) -> &T {
        &self.slots[self.slot(i)]
    }

    /// The first.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        if self.len == 0 { None } else { self.slots.get(self.head as usize) }
    }

    /// The `i`-th from the back, 0 the last.
    #[inline]
    pub fn nth_back_mut(&mut self, i: usize) -> &mut T {
        let at = self.slot(self.len() - 1 - i);
        &mut self.slots[at]
    }

    /// Prefetches the first ones, at most this many, up to where the ring wraps.
    #[inline]
    pub fn fetch_first(&self, most: usize) {
        let end = self.slots.len().min(self.head as usize + most.min(self.len()));
        prefetch::all(&self.slots[self.head as usize..end]);
    }

    /// Prefetches the last `of`, at most the first `most` of those, up to where the ring wraps.
    #[inline]
    pub fn fetch_last(&self, of: usize, most: usize) {
        let of = of.min(self.len());
        let first = self.slot(self.len() - of);
        prefetch::all(&self.slots[first..self.slots.len().min(first + of.min(most))]);
    }

    /// Prefetches the places of the next ones, at most this many, up to where the ring wraps.
    #[inline]
    pub fn fetch_room(&self, most: usize) {
        let first = self.slot(self.len());
        prefetch::all(&self.slots[first..self.slots.len().min(first + most)]);
    }

    /// All, from the front, in two pieces.
    #[inline]
    pub fn slices(&self) -> (&[T], &[T]) {
        let (head, len) = (self.head as usize, self.len());
        let first = len.min(self.slots.len() - head);
        (&self.slots[head..head + first], &self.slots[..len - first])
    }

    /// All, from the front.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len()).map(|i| self.get(i))
    }

    /// Makes room for one more at the back, to be written.
    #[inline(always)]
    pub fn push(&mut self) -> &mut T {
        if self.len >= self.limit {
            self.reach();
        }
        let at = self.slot(self.len());
        self.len += 1;
        &mut self.slots[at]
    }

    /// Takes the first, which must be there. A ring that is empty begins anew: those slots are in the cache.
    #[inline(always)]
    pub fn pop_into(&mut self, into: &mut T) {
        debug_assert!(self.len > 0, "nothing to pop");
        *into = self.slots[self.head as usize];
        self.head = self.slot(1) as u32;
        self.len -= 1;
        if self.len == 0 {
            self.head = 0;
        } else if self.head == 0 {
            self.come_round();
        }
    }

    /// The head has come round.
    #[inline(never)]
    fn come_round(&mut self) {
        if (self.limit as usize) < self.slots.len() {
            self.resize(self.slots.len() / 2);
        }
        let (all, quarter) = (self.slots.len() as u32, self.slots.len() as u32 / 4);
        self.limit = if all as usize > Self::FIRST && self.len <= quarter { quarter } else { all };
    }

    /// More are held than a quarter, for the first time in this round, or all slots are taken.
    #[cold]
    fn reach(&mut self) {
        if self.len() == self.slots.len() {
            self.resize((self.slots.len() * 2).max(Self::FIRST));
        }
        self.limit = self.slots.len() as u32;
    }

    /// Takes the last.
    pub fn pop_back(&mut self) -> Option<T> {
        let last = self.len().checked_sub(1)?;
        self.len -= 1;
        Some(self.slots[self.slot(last)])
    }

    /// Drops all; the room stays.
    pub fn clear(&mut self) {
        self.head = 0;
        self.len = 0;
    }

    #[cold]
    fn resize(&mut self, capacity: usize) {
        let mut slots = Vec::with_capacity(capacity);
        slots.extend(self.iter().copied());
        slots.resize(capacity, T::default());
        self.slots = slots.into();
        self.head = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spinewise_policy::Rng;
    use std::collections::VecDeque;

    #[test]
    fn it_is_a_queue() {
        let (mut ring, mut queue) = (Ring::<u32>::default(), VecDeque::new());
        let mut rng = Rng::stream(1, "ring", 0);
        for n in 0..200_000u32 {
            // Long swells, so that it grows and shrinks.
            let up = (n / 5_000).is_multiple_of(2);
            if rng.below(100) < if up { 60 } else { 40 } {
                *ring.push() = n;
                queue.push_back(n);
            } else if !queue.is_empty() {
                assert_eq!(ring.front(), queue.front());
                let mut first = 0;
                ring.pop_into(&mut first);
                assert_eq!(Some(first), queue.pop_front());
            }
            if n.is_multiple_of(211) {
                assert_eq!(ring.pop_back(), queue.pop_back());
            }
            if n.is_multiple_of(30_011) {
                ring.clear();
                queue.clear();
            }
            assert_eq!(ring.len(), queue.len());
            if n.is_multiple_of(997) {
                assert!(ring.iter().eq(queue.iter()));
                if let Some(last) = queue.back() {
                    assert_eq!(ring.nth_back_mut(0), last);
                }
            }
        }
        assert!(ring.slots.len() < 8192, "{}", ring.slots.len());
    }
}
