//! The minimum time of one packet from a switch to a leaf, alone, by any path that packets can take.

use crate::ids::{SwitchId, Table};
use crate::packet::Clock;
use crate::topology::{LinkSpec, Topology};
use std::collections::{BTreeMap, BTreeSet};

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
    /// The same path behind one more link, of this rate and delay.
    fn behind(&self, rate: u64, delay: u64) -> Path {
        let mut rates = self.rates.clone();
        rates.insert(rates.partition_point(|&other| other >= rate), rate);
        Path { delay: self.delay + delay, rates }
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

/// The number of a set of paths.
type SetId = u32;

/// A link, as far as paths over it differ: its rate, its delay, and the set of paths behind it.
type Onward = (u64, u64, SetId);

/// The paths between switches and leaves that could be the fastest for a packet of some size; computed on demand. In a
/// regular fabric most switches have the same as others, so each set of paths is kept once.
#[derive(Debug)]
pub(super) struct Crossings {
    sets: Vec<Vec<Path>>,
    /// The set that follows from different links of a switch.
    over: BTreeMap<Vec<Onward>, SetId>,
    /// By leaf: the set of each switch, if it is known.
    known: BTreeMap<SwitchId, Table<SwitchId, Option<SetId>>>,
}

/// The set of the leaf itself: nothing is to be crossed.
const HERE: SetId = 0;

impl Default for Crossings {
    fn default() -> Self {
        Crossings { sets: vec![vec![Path::default()]], over: BTreeMap::new(), known: BTreeMap::new() }
    }
}

impl Crossings {
    /// The paths from a switch to a leaf; none if no path leads there.
    pub(super) fn between(&mut self, topology: &Topology, from: SwitchId, to: SwitchId) -> &[Path] {
        let Crossings { sets, over, known } = self;
        let known = known.entry(to).or_insert_with(|| Table::filled(None, topology.switches() as usize));
        known[to] = Some(HERE);
        let mut open = vec![from];
        while let Some(&switch) = open.last() {
            if known[switch].is_some() {
                open.pop();
                continue;
            }
            let out = |&port: &u16| topology.out(topology.switch_node(switch), port);
            let links = topology.uplinks(switch, to).iter().map(out);
            let next = |link: &LinkSpec| topology.switch_number(link.to.0);
            let waiting = open.len();
            open.extend(links.clone().map(next).filter(|&next| known[next].is_none()));
            if open.len() > waiting {
                continue;
            }
            let mut different: Vec<Onward> = Vec::new();
            for link in links {
                let onward = (link.rate, link.delay.0, known[next(link)].unwrap_or(HERE));
                if !different.contains(&onward) {
                    different.push(onward);
                }
            }
            known[switch] = Some(set_over(sets, over, different));
            open.pop();
        }
        &sets[known[from].unwrap_or(HERE) as usize]
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

/// The least time of a packet between two switches over any links; `tx` is its time on the wire at a rate. Zero if no
/// way leads there.
pub(super) fn fastest(topology: &Topology, (from, to): (SwitchId, SwitchId), tx: impl Fn(u64) -> u64) -> u64 {
    let mut open = BTreeSet::from([(0, from)]);
    let mut done = Table::filled(false, topology.switches() as usize);
    while let Some((time, switch)) = open.pop_first() {
        if switch == to {
            return time;
        }
        if std::mem::replace(&mut done[switch], true) {
            continue;
        }
        let node = topology.switch_node(switch);
        let links = (0..topology.ports(node)).map(|port| topology.out(node, port));
        for link in links.filter(|link| link.up && !topology.is_host(link.to.0)) {
            open.insert((time + tx(link.rate) + link.delay.0, topology.switch_number(link.to.0)));
        }
    }
    0
}

/// The set of paths over these links.
fn set_over(sets: &mut Vec<Vec<Path>>, over: &mut BTreeMap<Vec<Onward>, SetId>, links: Vec<Onward>) -> SetId {
    if let Some(&set) = over.get(&links) {
        return set;
    }
    let mut kept = Vec::new();
    for &(rate, delay, behind) in &links {
        sets[behind as usize].iter().for_each(|rest| keep(&mut kept, rest.behind(rate, delay)));
    }
    let set = sets.len() as SetId;
    sets.push(kept);
    over.insert(links, set);
    set
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
