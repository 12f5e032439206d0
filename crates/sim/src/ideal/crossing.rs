//! The minimum time of one packet from a switch to a leaf, alone, by any path that packets can take.

use crate::ids::SwitchId;
use crate::packet::Clock;
use crate::topology::{LinkSpec, Topology};
use std::collections::BTreeMap;

/// Maximum number of paths kept for a switch and a leaf. If there are more, two become one that is as good as both.
const MOST_KEPT: usize = 64;

/// The quantities that determine the time of a packet on a path.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Path {
    /// The sum of its links' delays.
    delay: u64,
    /// Its links' rates, the highest first.
    rates: Vec<u64>,
}

impl Path {
    /// The same path, with one more link before it.
    fn behind(&self, link: &LinkSpec) -> Path {
        let mut rates = self.rates.clone();
        rates.insert(rates.partition_point(|&rate| rate >= link.rate), link.rate);
        Path { delay: self.delay + link.delay.0, rates }
    }

    /// Time from the first bit on its first link to the last bit at its end.
    pub(super) fn time(&self, bytes: u64, clock: Clock) -> u64 {
        self.delay + self.rates.iter().map(|&rate| clock.tx_time(bytes, rate)).sum::<u64>()
    }

    /// The rate of its slowest link; unlimited without links.
    pub(super) fn slowest(&self) -> u64 {
        self.rates.last().copied().unwrap_or(u64::MAX)
    }

    /// Whether it is as fast as the other for packets of any size.
    fn outdoes(&self, other: &Path) -> bool {
        self.delay <= other.delay
            && self.rates.len() <= other.rates.len()
            && self.rates.iter().zip(&other.rates).all(|(own, other)| own >= other)
    }

    /// Becomes one that outdoes both.
    fn absorb(&mut self, other: &Path) {
        self.delay = self.delay.min(other.delay);
        self.rates.truncate(other.rates.len());
        self.rates.iter_mut().zip(&other.rates).for_each(|(own, &other)| *own = (*own).max(other));
    }
}

/// The paths between switches and leaves that could be the fastest for a packet of some size; computed on demand.
#[derive(Debug, Default)]
pub(super) struct Crossings {
    /// Indexed by (switch, leaf).
    known: BTreeMap<(SwitchId, SwitchId), Vec<Path>>,
}

impl Crossings {
    /// The paths from a switch to a leaf; none if no path leads there.
    pub(super) fn between(&mut self, topology: &Topology, from: SwitchId, to: SwitchId) -> &[Path] {
        self.known.entry((to, to)).or_insert_with(|| vec![Path::default()]);
        let mut open = vec![from];
        while let Some(&switch) = open.last() {
            if self.known.contains_key(&(switch, to)) {
                open.pop();
                continue;
            }
            let out = |&port: &u16| topology.out(topology.switch_node(switch), port);
            let links: Vec<&LinkSpec> = topology.uplinks(switch, to).iter().map(out).collect();
            let next = |link: &LinkSpec| topology.switch_number(link.to.0);
            let waiting = open.len();
            open.extend(links.iter().map(|link| next(link)).filter(|&next| !self.known.contains_key(&(next, to))));
            if open.len() > waiting {
                continue;
            }
            let mut kept = Vec::new();
            for link in links {
                self.known[&(next(link), to)].iter().for_each(|rest| keep(&mut kept, rest.behind(link)));
            }
            self.known.insert((switch, to), kept);
            open.pop();
        }
        &self.known[&(from, to)]
    }

    /// The least time of a packet from a switch to a leaf.
    pub(super) fn time(
        &mut self,
        topology: &Topology,
        (from, to): (SwitchId, SwitchId),
        bytes: u64,
        clock: Clock,
    ) -> u64 {
        self.between(topology, from, to).iter().map(|path| path.time(bytes, clock)).min().unwrap_or(0)
    }
}

/// Adds a path unless one that is kept is at least as good; drops those it outdoes.
fn keep(kept: &mut Vec<Path>, path: Path) {
    if kept.iter().any(|other| other.outdoes(&path)) {
        return;
    }
    kept.retain(|other| !path.outdoes(other));
    if kept.len() < MOST_KEPT {
        kept.push(path);
    } else {
        kept[MOST_KEPT - 1].absorb(&path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(delay: u64, rates: &[u64]) -> Path {
        Path { delay, rates: rates.to_vec() }
    }

    #[test]
    fn of_too_many_paths_what_is_kept_is_as_fast_as_each() {
        let paths: Vec<Path> = (0..200).map(|n| path(1_000 - n, &[10_000 + 7 * n, 20_000 - 90 * n])).collect();
        let mut kept = Vec::new();
        paths.iter().for_each(|path| keep(&mut kept, path.clone()));
        assert!(kept.len() <= MOST_KEPT, "{}", kept.len());
        for bytes in [1, 40, 1_500, 9_000] {
            let least = |of: &[Path]| of.iter().map(|path| path.time(bytes, Clock::Exact)).min();
            assert!(least(&kept) <= least(&paths), "{bytes}");
        }
    }

    #[test]
    fn a_path_that_another_outdoes_is_dropped() {
        let mut kept = Vec::new();
        for one in [path(5, &[10, 4]), path(5, &[10, 3]), path(4, &[10, 4]), path(4, &[10]), path(9, &[50, 50])] {
            keep(&mut kept, one);
        }
        assert_eq!(kept, [path(4, &[10]), path(9, &[50, 50])]);
    }
}
