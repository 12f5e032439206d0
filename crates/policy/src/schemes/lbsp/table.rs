//! LBSP's forwarding table: for each destination leaf, which link groups a switch must not use.
//!
//! A row is a pure function of the switch's knowledge, so after repair it is as before.

use super::failures::{Known, Lost, State};
use crate::tree::{Spot, Tree};

/// The most uplinks of a switch: one bit each.
pub(crate) const MOST_UPLINKS: u32 = 64;

/// Row per destination leaf. While all of it is zero, as it is unless a failure affects it, nothing is looked up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Link groups not to use, one bit each.
    pub forbidden: u16,
    /// Uplinks that do not lead there, one bit each.
    pub dead: u64,
    /// At a leaf: uplinks to aggregation switches that reported [`State::Uneven`], and [`State::Lost`].
    pub told: [u64; 2],
    /// At an aggregation switch: the state last reported to its leaves.
    pub state: State,
}

/// Bits `0..n`.
pub const fn ones(n: u32) -> u64 {
    if n >= 64 { u64::MAX } else { (1 << n) - 1 }
}

/// The groups that have any of these links: link `j` is of group `j mod groups`, which for two groups is the parity of
/// its number.
pub(crate) fn groups_of(mut links: u64, groups: u32) -> u16 {
    let mut found = 0;
    while links != 0 {
        found |= 1 << (links.trailing_zeros() % groups);
        links &= links - 1;
    }
    found
}

/// Facts about its switch that a table needs.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The tree.
    pub tree: Tree,
    /// This switch.
    pub switch: u32,
    /// Link groups of a leaf, and of an aggregation switch.
    pub groups: [u32; 2],
    /// Its own failed uplinks, one bit each: the only ones whose message, about all hosts, has an effect, and only
    /// here.
    pub own: u64,
}

impl Place {
    /// Recomputes the row of `leaf` from everything known, except what was reported of it to the leaves below.
    pub(crate) fn work_out(&self, known: &Known, leaf: u32, row: &mut Row) {
        match self.tree.spot(self.switch) {
            Spot::Leaf { .. } => self.at_leaf(known, leaf, row),
            Spot::Aggregation { pod, column } if leaf / self.tree.leaves_per_pod != pod => {
                self.at_aggregation(known, leaf, column, row);
            }
            // There is no choice on the way down.
            Spot::Aggregation { .. } | Spot::Core { .. } => {}
        }
    }

    /// Types 0 and 1: an aggregation switch above `leaf` has lost its link to it; and this leaf's own links.
    fn at_leaf(&self, known: &Known, leaf: u32, row: &mut Row) {
        let [uneven, lost] = row.told;
        row.dead = self.own | lost;
        for failure in self.affecting(known, leaf) {
            if let Some(Lost::Aggregation { column }) = failure {
                row.dead |= 1 << column;
            }
        }
        row.forbidden = groups_of(row.dead | uneven, self.groups[0]);
    }

    /// Types 2 and 3: a core has lost its link to the pod of `leaf`; and this switch's own links.
    fn at_aggregation(&self, known: &Known, leaf: u32, column: u32, row: &mut Row) {
        let groups = self.groups[1];
        let every = ones(groups) as u16;
        // Cores of each column that do not lead there.
        let mut cores = [0u64; MOST_UPLINKS as usize];
        for failure in self.affecting(known, leaf) {
            if let Some(Lost::Core { column, row }) = failure {
                cores[column as usize] |= 1 << row;
            }
        }
        // LBSP §3.3.2: all aggregation switches change the group, including those that are not linked to that core. A
        // column that has no whole group left does so only for itself: leaves avoid it (escalation).
        let mut anywhere = 0;
        for cores in &cores[..self.tree.columns as usize] {
            let lost = groups_of(*cores, groups);
            anywhere |= if lost == every { 0 } else { lost };
        }
        row.dead = self.own | cores[column as usize];
        let own = groups_of(row.dead, groups);
        row.forbidden = own | anywhere;
        if row.forbidden == every && own != every {
            row.forbidden = own;
        }
        row.state = match () {
            () if row.dead == ones(self.tree.cores_per_column) => State::Lost,
            () if own == every => State::Uneven,
            () => State::Whole,
        };
    }

    /// The switches that have lost the hosts of a leaf.
    fn affecting<'a>(&'a self, known: &'a Known, leaf: u32) -> impl Iterator<Item = Option<Lost>> + 'a {
        let host = leaf * self.tree.hosts_per_leaf;
        let covers = move |first: u32, last: u32| (first..=last).contains(&host);
        let all = known.all().iter().filter(move |failure| failure.gone && covers(failure.first, failure.last));
        all.map(|failure| failure.lost_by(&self.tree))
    }
}

/// The group to use instead of `wanted`: itself unless forbidden, else the next that is not; none if all are.
#[inline]
pub fn allowed(wanted: u32, groups: u32, forbidden: u16) -> Option<u32> {
    let after = |step: u32| if wanted + step < groups { wanted + step } else { wanted + step - groups };
    (0..groups).map(after).find(|&group| forbidden >> group & 1 == 0)
}

/// The next of `links` links in turn that is not `dead`, from `from` on; `from` itself if all are.
pub(crate) fn next_alive(from: u32, links: u32, dead: u64) -> u32 {
    let after = |step: u32| (from + step) % links;
    (0..links).map(after).find(|&link| dead >> link.min(63) & 1 == 0).unwrap_or(from % links)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_parities_and_alternatives_the_next() {
        assert_eq!([groups_of(0b0101, 2), groups_of(0b1000, 2), groups_of(0b0011, 2)], [0b01, 0b10, 0b11]);
        assert_eq!([groups_of(0b1000_0010, 4), groups_of(1 << 63, 4)], [0b1010, 0b1000]);
        assert_eq!(
            [allowed(1, 2, 0), allowed(1, 2, 0b10), allowed(0, 2, 0b10), allowed(0, 2, 0b11)],
            [Some(1), Some(0), Some(0), None]
        );
        assert_eq!([allowed(3, 4, 0b1000), allowed(2, 4, 0b1100)], [Some(0), Some(0)]);
        assert_eq!([next_alive(0, 4, 0b0101), next_alive(2, 4, 0b0101), next_alive(7, 4, 0b1111)], [1, 3, 3]);
        assert_eq!([ones(0), ones(2), ones(64)], [0, 3, u64::MAX]);
    }
}
