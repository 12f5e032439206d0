//! Flowcells on their way: counting packets and drawing a path for each cell. Integers only.

use crate::sees::quantity;
use crate::{Quantity, Rng, Rule, Sight, Way};

crate::choice! {
    /// The choice of the next cell's path.
    Dispatch {
        /// Drawn uniformly over the live paths; the same one may come again.
        Random = "random",
        /// The next live path in turn, the first one drawn (the paper's "polling scattering").
        RoundRobin = "round_robin",
    }
}

/// The paths a cell may take.
#[derive(Clone, Copy, Debug)]
pub struct Live<F: Fn(u16) -> bool> {
    /// All of them.
    pub ways: u16,
    /// Number of dead ways.
    pub dead: u16,
    /// Whether this way is dead.
    pub is_dead: F,
}

impl<F: Fn(u16) -> bool> Live<F> {
    /// Whether `way` is closed. If all are dead, no way is closed: one of them may work again.
    fn closed(&self, way: u16) -> bool {
        self.dead > 0 && self.dead < self.ways && (self.is_dead)(way)
    }

    /// The `nth` open way.
    fn nth(&self, nth: u16) -> Way {
        if self.dead == 0 || self.dead >= self.ways {
            return Way(nth);
        }
        let mut left = nth;
        for way in 0..self.ways {
            if !(self.is_dead)(way) {
                if left == 0 {
                    return Way(way);
                }
                left -= 1;
            }
        }
        Way(nth)
    }

    fn draw(&self, rng: &mut Rng) -> Way {
        let open = if self.dead < self.ways { self.ways - self.dead } else { self.ways };
        self.nth(rng.below(u32::from(open)) as u16)
    }

    fn after(&self, way: Way) -> Way {
        let mut next = way.0;
        for _ in 0..self.ways {
            next = if next + 1 < self.ways { next + 1 } else { 0 };
            if !self.closed(next) {
                break;
            }
        }
        Way(next)
    }
}

crate::listed! {
    /// The next step of a flowcell, and so the rules of schemes with flowcells.
    pub(crate) enum Turn: Rule {
        GoesOn = Rule::Keeps("the flowcell is not full: it continues"),
        First = Rule::Chooses("the flow's first packet: a path is chosen"),
        Full = Rule::Chooses("the flowcell is full: a path is chosen for the next one"),
        Dead = Rule::Chooses("its path is considered dead: a path is chosen for a new flowcell"),
    }

    /// Quantities of a flow that schemes with flowcells report.
    pub(crate) enum OfCell: Quantity {
        Sent = quantity("cell_sent", "packets", "part of this flowcell sent so far"),
        Size = quantity("cell_size", "packets", "size of a full flowcell"),
    }
}

/// A flow's current cell. Counts packets as they are sent, retransmissions too, as in the authors' code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    way: Way,
    packets: u32,
}

impl Cell {
    /// Returns its next step at this packet.
    #[inline]
    fn turn<F: Fn(u16) -> bool>(&self, size: u32, live: &Live<F>) -> Turn {
        match () {
            () if self.packets == 0 => Turn::First,
            () if self.packets >= size => Turn::Full,
            () if live.closed(self.way.0) => Turn::Dead,
            () => Turn::GoesOn,
        }
    }

    /// Reports which [`Turn`] applies, and [`OfCell`].
    pub fn tell<F: Fn(u16) -> bool>(&self, size: u32, live: &Live<F>, sight: &mut Sight<'_>) {
        sight.rule(self.turn(size, live));
        sight.flow(OfCell::Sent, f64::from(self.packets));
        sight.flow(OfCell::Size, f64::from(size));
    }

    /// The way of the next packet, at a granularity of `size` packets. If the size shrinks below what this cell has
    /// sent, the cell ends at once; so does the death of its path.
    #[inline]
    pub fn next<F: Fn(u16) -> bool>(&mut self, size: u32, how: Dispatch, live: &Live<F>, rng: &mut Rng) -> Way {
        if !matches!(self.turn(size, live), Turn::GoesOn) {
            self.way = match how {
                Dispatch::RoundRobin if self.packets > 0 => live.after(self.way),
                _ => live.draw(rng),
            };
            self.packets = 0;
        }
        self.packets += 1;
        self.way
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::vec::Vec;

    fn walk(cell: &mut Cell, packets: usize, size: u32, how: Dispatch, dead: &[u16]) -> Vec<u16> {
        let mut rng = Rng::stream(7, "dispatch", 0);
        let live = Live { ways: 8, dead: dead.len() as u16, is_dead: |way| dead.contains(&way) };
        (0..packets).map(|_| cell.next(size, how, &live, &mut rng).0).collect()
    }

    #[test]
    fn a_cell_is_exactly_its_granularity() {
        for size in [1, 2, 7, 44] {
            let ways = walk(&mut Cell::default(), 400 * size as usize, size, Dispatch::RoundRobin, &[]);
            for (index, cell) in ways.chunks(size as usize).enumerate() {
                assert!(cell.iter().all(|&way| way == cell[0]), "size {size}");
                assert_eq!(cell[0], (ways[0] + index as u16) % 8, "in turn");
            }
        }
    }

    #[test]
    fn a_random_cell_changes_only_at_its_end_and_every_way_is_as_likely() {
        let ways = walk(&mut Cell::default(), 5 * 80_000, 5, Dispatch::Random, &[]);
        let mut count = [0u32; 8];
        let mut same = 0;
        let mut last = u16::MAX;
        for cell in ways.chunks(5) {
            assert!(cell.iter().all(|&way| way == cell[0]));
            count[usize::from(cell[0])] += 1;
            same += u32::from(cell[0] == last);
            last = cell[0];
        }
        // 80,000 draws, 10,000 each with standard deviation 94; a repeat is as likely as any other way.
        assert!(count.iter().all(|&n| (9_600..10_400).contains(&n)), "{count:?}");
        assert!((9_600..10_400).contains(&same), "{same}");
    }

    #[test]
    fn dead_ways_are_not_drawn_and_the_rest_stay_even() {
        for how in [Dispatch::Random, Dispatch::RoundRobin] {
            let ways = walk(&mut Cell::default(), 60_000, 1, how, &[1, 6]);
            let mut count = [0u32; 8];
            ways.iter().for_each(|&way| count[usize::from(way)] += 1);
            for (way, &n) in count.iter().enumerate() {
                let even = if way == 1 || way == 6 { n == 0 } else { (9_600..10_400).contains(&n) };
                assert!(even, "{how:?}: {count:?}");
            }
        }
        let all: Vec<u16> = (0..8).collect();
        let ways = walk(&mut Cell::default(), 800, 1, Dispatch::Random, &all);
        assert!((0..8).all(|way| ways.contains(&way)), "when all are dead all are tried");
    }

    #[test]
    fn a_new_granularity_or_a_death_acts_at_once() {
        let mut cell = Cell::default();
        let first = walk(&mut cell, 10, 44, Dispatch::RoundRobin, &[]);
        let shrunk = walk(&mut cell, 1, 10, Dispatch::RoundRobin, &[]);
        assert_eq!(shrunk[0], (first[0] + 1) % 8);
        let died = walk(&mut cell, 1, 44, Dispatch::RoundRobin, &[shrunk[0]]);
        assert_eq!(died[0], (shrunk[0] + 1) % 8);
        let grown = walk(&mut cell, 43, 44, Dispatch::RoundRobin, &[]);
        assert!(grown.iter().all(|&way| way == died[0]));
    }
}
