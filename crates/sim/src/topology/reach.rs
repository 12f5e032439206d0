//! The distance from every switch to every leaf over the links that work. In a fabric of tiers paths never go up again
//! once they have gone down; a graph has no up and down, and any path counts.

use super::adjacency::Adjacency;
use super::{LinkSpec, Topology};
use crate::ids::{LinkId, NodeId, SwitchId};
use crate::warden::GoOn;
use spinewise_policy::Tier;
use std::collections::BTreeSet;

/// The hops where no path exists.
const UNREACHED: u32 = u32::MAX;

/// The distance from every switch to every leaf.
#[derive(Debug)]
pub struct Reach {
    leaves: u32,
    /// Hops, by `switch * leaves + leaf`.
    hops: Vec<u32>,
    /// Whether the path only goes down. If such a path exists no other is taken. Empty in a graph.
    falls: Vec<bool>,
}

fn rank(topology: &Topology, node: NodeId) -> u8 {
    match topology.tier(topology.switch_number(node)) {
        Tier::Host => 0,
        Tier::Leaf => 1,
        Tier::Aggregation => 2,
        Tier::Spine => 3,
    }
}

impl Reach {
    /// Computes reach over all links except those that are `down`; incomplete if `go_on` stops it.
    pub fn over(topology: &Topology, down: &BTreeSet<LinkId>, go_on: GoOn<'_>) -> Reach {
        if topology.is_graph() { Reach::by_any(topology, down, go_on) } else { Reach::by_tiers(topology, down, go_on) }
    }

    /// Uses shortest paths over any links.
    fn by_any(topology: &Topology, down: &BTreeSet<LinkId>, go_on: GoOn<'_>) -> Reach {
        let (switches, leaves) = (topology.switches(), topology.leaves);
        let mut reach = Reach { leaves, hops: vec![UNREACHED; (switches * leaves) as usize], falls: Vec::new() };
        let works = |link: &LinkSpec| link.up && !down.contains(&topology.out_number(link.from.0, link.from.1));
        let adjacency = Adjacency::new(topology, works);
        for leaf in topology.leaf_ids().take_while(|_| go_on()) {
            for (switch, &hops) in adjacency.distances(leaf, UNREACHED).numbered() {
                let at = reach.row(switch) + leaf.index();
                reach.hops[at] = hops;
            }
        }
        reach
    }

    /// Uses shortest paths that never go up again.
    fn by_tiers(topology: &Topology, down: &BTreeSet<LinkId>, go_on: GoOn<'_>) -> Reach {
        let (switches, leaves) = (topology.switches(), topology.leaves);
        let size = (switches * leaves) as usize;
        let mut reach = Reach { leaves, hops: vec![UNREACHED; size], falls: vec![false; size] };
        let mut by_rank: Vec<SwitchId> = SwitchId::first(switches).collect();
        by_rank.sort_by_key(|&switch| rank(topology, topology.switch_node(switch)));
        let works = |link: LinkId| topology.links[link].up && !down.contains(&link);
        // Downwards, from the lowest tier on; then upwards, from the highest on.
        for (falls, order) in [(true, by_rank.clone()), (false, by_rank.into_iter().rev().collect::<Vec<_>>())] {
            for switch in order.into_iter().take_while(|_| go_on()) {
                reach.fill(topology, &works, (switch, falls));
            }
        }
        reach
    }

    fn fill(&mut self, topology: &Topology, works: &impl Fn(LinkId) -> bool, (switch, falls): (SwitchId, bool)) {
        let node = topology.switch_node(switch);
        let own = self.row(switch);
        if falls && switch.number() < self.leaves {
            (self.hops[own + switch.index()], self.falls[own + switch.index()]) = (0, true);
        }
        for port in topology.host_ports(switch)..topology.ports(node) {
            let link = topology.out_number(node, port);
            let next = topology.links[link].to.0;
            if !works(link) || (rank(topology, next) < rank(topology, node)) != falls {
                continue;
            }
            let behind = self.row(topology.switch_number(next));
            for leaf in 0..self.leaves as usize {
                let by = self.hops[behind + leaf].saturating_add(1);
                let may = if falls { self.falls[behind + leaf] } else { !self.falls[own + leaf] };
                if may && by < self.hops[own + leaf] {
                    self.hops[own + leaf] = by;
                    self.falls[own + leaf] = falls;
                }
            }
        }
    }

    /// Index of a switch's first entry in the tables.
    fn row(&self, switch: SwitchId) -> usize {
        (switch.number() * self.leaves) as usize
    }

    fn hops(&self, switch: SwitchId, leaf: SwitchId) -> u32 {
        self.hops[self.row(switch) + leaf.index()]
    }

    fn falls(&self, switch: SwitchId, leaf: SwitchId) -> bool {
        self.falls[self.row(switch) + leaf.index()]
    }

    /// Whether a packet to `leaf` may go from one switch to another, which is one hop nearer.
    fn leads(&self, topology: &Topology, (from, to): (SwitchId, SwitchId), leaf: SwitchId) -> bool {
        if self.falls.is_empty() {
            return true;
        }
        let [above, below] = [from, to].map(|switch| rank(topology, topology.switch_node(switch)));
        let falls = self.falls(from, leaf);
        (below < above) == falls && (self.falls(to, leaf) || !falls)
    }

    /// Whether there is a path from one leaf to another.
    pub fn reaches(&self, from: SwitchId, to: SwitchId) -> bool {
        self.hops(from, to) < UNREACHED
    }

    /// The ports of a switch on shortest paths to a leaf.
    pub fn ports(&self, topology: &Topology, switch: SwitchId, leaf: SwitchId, down: &BTreeSet<LinkId>) -> Vec<u16> {
        let node = topology.switch_node(switch);
        let hops = self.hops(switch, leaf);
        if hops == 0 || hops == UNREACHED {
            return Vec::new();
        }
        let nearer = |port: &u16| {
            let number = topology.out_number(node, *port);
            let link = &topology.links[number];
            let next = topology.switch_number(link.to.0);
            let works = link.up && !down.contains(&number);
            works && self.hops(next, leaf) == hops - 1 && self.leads(topology, (switch, next), leaf)
        };
        (topology.host_ports(switch)..topology.ports(node)).filter(nearer).collect()
    }
}
