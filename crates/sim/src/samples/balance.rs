//! Evenness of the use of links among which a packet may choose.
//!
//! Throughput imbalance (source: CONGA §5): of the throughputs of a leaf's uplinks in an interval, (greatest - least) /
//! mean. Here throughput is the share of the interval that a link was sending, so that links of different rates are
//! even if they are equally full.

use crate::ids::{SwitchId, Table};
use crate::topology::Topology;
use spinewise_policy::Span;

/// Links of one node among which packets choose.
#[derive(Debug)]
struct Group {
    ports: Vec<u16>,
    /// Sum over intervals of (busy time of the busiest link - of the least busy), ps.
    spread: u64,
    /// Time its links spent sending, all together, ps.
    sent: u64,
}

impl Group {
    /// (Greatest - least) / mean, each summed over the intervals: so an interval weighs as much as is sent in it.
    fn imbalance(&self) -> Option<f64> {
        (self.sent > 0).then(|| self.spread as f64 * self.ports.len() as f64 / self.sent as f64)
    }
}

/// All such links.
#[derive(Debug, Default)]
pub(super) struct Balance {
    groups: Table<SwitchId, Vec<Group>>,
}

/// Their unevenness.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Imbalance {
    /// Mean over all nodes, weighted by the traffic they sent.
    pub mean: f64,
    /// Imbalance of the most uneven node.
    pub greatest: f64,
    /// Its number among the switches.
    pub switch: SwitchId,
}

impl Balance {
    /// All groups of a fabric.
    pub(super) fn new(topology: &Topology) -> Balance {
        let group = |ports| Group { ports, spread: 0, sent: 0 };
        let of = |switch| topology.choosable(switch).into_iter().map(group).collect();
        Balance { groups: topology.switch_ids().map(of).collect() }
    }

    /// Adds the time that each port of a switch has spent sending in an interval.
    pub(super) fn add(&mut self, switch: SwitchId, sent: &[Span]) {
        for group in &mut self.groups[switch] {
            let (mut least, mut greatest, mut sum) = (u64::MAX, 0, 0);
            for &port in &group.ports {
                let busy = sent[usize::from(port)].0;
                least = least.min(busy);
                greatest = greatest.max(busy);
                sum += busy;
            }
            group.spread += greatest - least;
            group.sent += sum;
        }
    }

    /// Replaces the sums of a switch by those added to another.
    pub(super) fn take_up(&mut self, switch: SwitchId, other: &mut Balance) {
        std::mem::swap(&mut self.groups[switch], &mut other.groups[switch]);
    }

    /// Returns the imbalance of everything added; `None` if no group has sent anything.
    pub(super) fn imbalance(&self) -> Option<Imbalance> {
        let all = self.groups.numbered().flat_map(|(switch, groups)| groups.iter().map(move |group| (switch, group)));
        let (mut spread, mut mean) = (0.0, 0.0);
        let mut worst = None;
        for (switch, group) in all {
            let Some(imbalance) = group.imbalance() else { continue };
            spread += group.spread as f64;
            mean += group.sent as f64 / group.ports.len() as f64;
            if worst.is_none_or(|(most, _)| imbalance > most) {
                worst = Some((imbalance, switch));
            }
        }
        worst.map(|(greatest, switch)| Imbalance { mean: spread / mean, greatest, switch })
    }
}

impl Topology {
    /// The ports of a switch among which packets to some leaf may choose, in groups: ports of which packets to any one
    /// leaf choose are in one group.
    pub fn choosable(&self, switch: SwitchId) -> Vec<Vec<u16>> {
        let mut groups: Vec<Vec<u16>> = Vec::new();
        let mut last: &[u16] = &[];
        for leaf in self.leaf_ids() {
            let ports = self.uplinks(switch, leaf);
            if ports.len() < 2 || ports == last {
                continue;
            }
            last = ports;
            let (met, others): (Vec<_>, Vec<_>) =
                groups.into_iter().partition(|group| ports.iter().any(|port| group.contains(port)));
            let mut merged: Vec<u16> = met.into_iter().flatten().chain(ports.iter().copied()).collect();
            merged.sort_unstable();
            merged.dedup();
            groups = others;
            groups.push(merged);
        }
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn balance(groups: &[&[&[u16]]]) -> Balance {
        let group = |ports: &&[u16]| Group { ports: ports.to_vec(), spread: 0, sent: 0 };
        Balance { groups: groups.iter().map(|of| of.iter().map(group).collect()).collect() }
    }

    fn spans(ps: &[u64]) -> Vec<Span> {
        ps.iter().map(|&ps| Span(ps)).collect()
    }

    #[test]
    fn it_is_what_conga_defines() {
        let mut one = balance(&[&[&[1, 2, 3]]]);
        assert_eq!(one.imbalance(), None, "nothing sent");
        one.add(SwitchId::new(0), &spans(&[999, 30, 60, 90]));
        let found = one.imbalance().expect("sent");
        assert_eq!((found.mean, found.greatest, found.switch), (1.0, 1.0, SwitchId::new(0)), "(90 - 30) / 60");
        // An interval in which all send the same amount: half as uneven.
        one.add(SwitchId::new(0), &spans(&[0, 60, 60, 60]));
        assert_eq!(one.imbalance().expect("sent").mean, 0.5);
        // An interval in which nothing is sent changes nothing.
        one.add(SwitchId::new(0), &spans(&[5, 0, 0, 0]));
        assert_eq!(one.imbalance().expect("sent").mean, 0.5);
    }

    #[test]
    fn the_most_uneven_node_is_named_and_the_mean_weighs_by_what_was_sent() {
        let mut two = balance(&[&[], &[&[0, 1]], &[&[0, 1], &[2, 3]]]);
        two.add(SwitchId::new(1), &spans(&[100, 100]));
        two.add(SwitchId::new(2), &spans(&[10, 0, 45, 45]));
        let found = two.imbalance().expect("sent");
        assert_eq!((found.greatest, found.switch), (2.0, SwitchId::new(2)), "(10 - 0) / 5");
        assert_eq!(found.mean, 10.0 / 150.0, "10 of means 100, 5 and 45");
    }
}
