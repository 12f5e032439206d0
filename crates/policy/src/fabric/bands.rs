//! The measures by which a switch with adaptive routing compares ports: levels of their queues and of their use, and
//! pauses.
//!
//! Levels, periods and comparisons are those of the public code of htsim (`queue.cpp`, `fat_tree_switch.cpp`, of
//! uet-htsim and of a fork of it), which calls them bands. The rules of commercial switches are not published.
//!
//! | rule | function |
//! |---|---|
//! | a queue below 5, 10, 20 % of its room has level 0, 1, 2; any other 3 | [`Bands::queue`] |
//! | a link unused, used below 15, 50 % has level 0, 1, 2; any other 3 | [`Bands::usage`] |
//! | a level is looked up again when it is older than 0.1 µs | [`Level`] |
//! | a port that is not paused is better than one that is | [`Bands::rank`] |
//!
//! Departures:
//! - The use of a link is that of the last one to two windows of 30 µs; htsim's window slides, but hears only of queues
//!   that report what they send, which those of its switches do not.
//! - Where a buffer is shared, the room of a queue is what it could have alone.

use crate::config::Allowed;
use crate::{Port, Rng, Span, SwitchView, Time};
use core::cmp::Ordering;

crate::choice! {
    /// The measures by which ports are compared, most important first.
    Compare {
        /// Level of the queue.
        Queue = "queue",
        /// Level of the use of the link.
        Bandwidth = "bandwidth",
        /// Whether it is paused.
        Pause = "pause",
        /// Pause, queue, bandwidth.
        Pqb = "pqb",
        /// Pause, queue.
        Pq = "pq",
        /// Pause, bandwidth.
        Pb = "pb",
        /// Queue, bandwidth.
        Qb = "qb",
    }
}

impl Compare {
    const fn pause(self) -> bool {
        matches!(self, Compare::Pause | Compare::Pqb | Compare::Pq | Compare::Pb)
    }

    const fn queue(self) -> bool {
        matches!(self, Compare::Queue | Compare::Pqb | Compare::Pq | Compare::Qb)
    }

    const fn bandwidth(self) -> bool {
        matches!(self, Compare::Bandwidth | Compare::Pqb | Compare::Pb | Compare::Qb)
    }
}

/// A level, and when it was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Level {
    at: Time,
    level: u8,
}

/// A counter of busy time, read once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Reading {
    at: Time,
    busy: Span,
}

/// Row per port: its levels as last measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Levels {
    queue: Level,
    usage: Level,
    /// The counter when the previous window began, and when this one did.
    readings: [Reading; 2],
}

/// The comparison of ports.
#[derive(Clone, Copy, Debug)]
pub struct Bands {
    by: Compare,
    /// Starts of the queue's levels 1, 2 and 3, millionths of its room.
    queue: [u32; 3],
    /// Bytes of a queue's room; 0: that of the port.
    room: u64,
    refresh: Span,
}

/// Starts of levels 2 and 3 of use, percent.
const USED: [u64; 2] = [15, 50];

/// The time over which use is measured.
const WINDOW: Span = Span::from_us(30);

impl Bands {
    /// Queue levels that begin at these percentages of `room` bytes (0: of what each port has), measured again when
    /// they are older than `refresh`.
    pub fn new(by: Compare, percent: [f64; 3], room: u64, refresh: Span) -> Bands {
        Bands { by, queue: percent.map(|percent| (percent * 1e4 + 0.5) as u32), room, refresh }
    }

    /// A level that begins before the one below it: for [`Policy::clash`](crate::Policy::clash).
    pub fn clash(&self) -> Option<(&'static str, Allowed, &'static str)> {
        let names = ["level_1_percent", "level_2_percent", "level_3_percent"];
        let at = (1..3).find(|&at| self.queue[at] < self.queue[at - 1])?;
        let allowed = Allowed::Number { min: f64::from(self.queue[at - 1]) / 1e4, max: 100.0 };
        Some((names[at], allowed, names[at - 1]))
    }

    /// The level of the queue at `port`.
    pub fn queue(&self, row: &mut Levels, now: Time, view: &SwitchView<'_>, port: Port) -> u8 {
        if now.since(row.queue.at) > self.refresh {
            let room = if self.room > 0 { self.room } else { view.queue_room(port) };
            let queued = u128::from(view.data_bytes(port)) * 1_000_000;
            let level = self.queue.iter().filter(|&&from| queued >= u128::from(room) * u128::from(from)).count();
            row.queue = Level { at: now, level: level as u8 };
        }
        row.queue.level
    }

    /// The level of the use of the link at `port`.
    pub fn usage(&self, row: &mut Levels, now: Time, view: &SwitchView<'_>, port: Port) -> u8 {
        if now.since(row.usage.at) > self.refresh {
            let reading = Reading { at: now, busy: view.busy_time(port) };
            let [before, begun] = row.readings;
            // No packet asked for a whole window: what was sent before then says nothing of this one.
            let rested = now.since(begun.at) >= WINDOW * 2;
            let before = if rested { begun } else { before };
            let (busy, all) = (reading.busy.0 - before.busy.0, now.since(before.at).0);
            let level = match () {
                () if busy == 0 => 0,
                () => 1 + USED.iter().filter(|&&from| busy.saturating_mul(100) >= all.saturating_mul(from)).count(),
            };
            row.usage = Level { at: now, level: level as u8 };
            if now.since(begun.at) >= WINDOW {
                row.readings = [if rested { reading } else { begun }, reading];
            }
        }
        row.usage.level
    }

    /// Returns the rank of `port`: less is better. 16 if it is paused, plus 4 for each level of its queue, plus 1 for
    /// each level of its use.
    pub fn rank(&self, row: &mut Levels, now: Time, view: &SwitchView<'_>, port: Port) -> u8 {
        let paused = u8::from(self.by.pause() && view.is_paused(port));
        let queue = if self.by.queue() { self.queue(row, now, view, port) } else { 0 };
        let usage = if self.by.bandwidth() { self.usage(row, now, view, port) } else { 0 };
        paused << 4 | queue << 2 | usage
    }
}

/// A group of ports, compared at one instant.
pub struct Group<'a, 'v> {
    /// The rule of comparison.
    pub bands: &'a Bands,
    /// Rows of all ports of the switch.
    pub rows: &'a mut [Levels],
    /// The current time.
    pub now: Time,
    /// The switch, and the group as its candidates.
    pub view: &'a SwitchView<'v>,
}

impl Group<'_, '_> {
    /// The rank of a candidate. Measured again at the same instant it does not change.
    #[inline]
    pub fn rank(&mut self, way: usize) -> u8 {
        let port = self.view.candidates[way];
        self.bands.rank(&mut self.rows[usize::from(port)], self.now, self.view, Port(port))
    }

    /// The best and the worst rank, and how many have the best.
    #[inline]
    pub fn ranks(&mut self) -> Ranks {
        let mut all = Ranks { best: u8::MAX, worst: 0, many: 0 };
        (0..self.view.candidates.len()).for_each(|way| all.add(self.rank(way)));
        all
    }

    /// One of the candidates with the best rank, drawn at random.
    #[inline]
    pub fn one_of_best(&mut self, ranks: &Ranks, rng: &mut Rng) -> usize {
        let one = rng.below(ranks.many) as usize;
        (0..self.view.candidates.len()).filter(|&way| self.rank(way) == ranks.best).nth(one).unwrap_or_default()
    }
}

/// The best and the worst rank of a group, and how many have the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranks {
    /// The least.
    pub best: u8,
    /// The greatest.
    pub worst: u8,
    /// Number of ports with the least.
    pub many: u32,
}

impl Ranks {
    #[inline]
    fn add(&mut self, rank: u8) {
        self.worst = self.worst.max(rank);
        match rank.cmp(&self.best) {
            Ordering::Less => (self.best, self.many) = (rank, 1),
            Ordering::Equal => self.many += 1,
            Ordering::Greater => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_know_the_best_the_worst_and_ties() {
        let mut ranks = Ranks { best: u8::MAX, worst: 0, many: 0 };
        [2, 1, 3, 1].into_iter().for_each(|rank| ranks.add(rank));
        assert_eq!(ranks, Ranks { best: 1, worst: 3, many: 2 });
    }

    #[test]
    fn what_is_more_important_outweighs_the_rest() {
        let measures = |by: Compare| (by.pause(), by.queue(), by.bandwidth());
        assert_eq!(measures(Compare::Pqb), (true, true, true));
        assert_eq!(
            [Compare::Pq, Compare::Pb, Compare::Qb].map(measures),
            [(true, true, false), (true, false, true), (false, true, true)]
        );
        assert_eq!(
            [Compare::Pause, Compare::Queue, Compare::Bandwidth].map(measures),
            [(true, false, false), (false, true, false), (false, false, true)]
        );
    }
}
