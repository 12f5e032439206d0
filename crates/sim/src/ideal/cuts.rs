//! Sets of links of which every path between two leaves uses one: their capacity bounds that of the paths together.

use super::crossing::{Crossings, Path};
use crate::ids::{LinkId, SwitchId};
use crate::packet::Clock;
use crate::topology::Topology;
use std::collections::BTreeMap;

/// Identical links of a cut.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Gate {
    /// Bits per second of each.
    pub rate: u64,
    /// From the leaf to the link: the minimum time of a full packet, and the delays alone.
    pub before: (u64, u64),
    /// Delay of the link.
    pub delay: u64,
    /// Paths from its end to the other leaf.
    pub behind: Vec<Path>,
}

/// A cut: its links, and how many of each are identical.
pub(super) type Cut = Vec<(Gate, u64)>;

/// A link between two switches of the paths from one leaf to another.
struct Edge {
    number: LinkId,
    from: usize,
    to: usize,
}

/// All paths from one leaf to another.
struct Paths {
    /// Switches, each before those downstream of it.
    switches: Vec<SwitchId>,
    edges: Vec<Edge>,
}

/// Three cuts between two leaves: the links of the first, those of the second, and the minimum in bits per second.
pub(super) fn cuts(
    topology: &Topology,
    crossings: &mut Crossings,
    (from, to): (SwitchId, SwitchId),
    bytes: u64,
    clock: Clock,
) -> Vec<Cut> {
    let paths = Paths::between(topology, from, to);
    let before = paths.before(topology, bytes, clock);
    let last = paths.switches.len() - 1;
    let near = paths.near_side(topology);
    let mut found: Vec<Cut> = Vec::new();
    for which in 0..3 {
        let crosses = |edge: &Edge| match which {
            0 => edge.from == 0,
            1 => edge.to == last,
            _ => near[edge.from] && !near[edge.to],
        };
        let mut gates: BTreeMap<Gate, u64> = BTreeMap::new();
        for edge in paths.edges.iter().filter(|&edge| crosses(edge)) {
            let link = &topology.links[edge.number];
            let behind = crossings.between(topology, paths.switches[edge.to], to).to_vec();
            let gate = Gate { rate: link.rate, before: before[edge.from], delay: link.delay.0, behind };
            *gates.entry(gate).or_default() += 1;
        }
        let cut: Cut = gates.into_iter().collect();
        if !cut.is_empty() && !found.contains(&cut) {
            found.push(cut);
        }
    }
    found
}

impl Paths {
    fn between(topology: &Topology, from: SwitchId, to: SwitchId) -> Paths {
        // Depth first; a switch is done when all those downstream are.
        let (mut done, mut open) = (Vec::new(), vec![(from, 0)]);
        let mut seen = std::collections::BTreeSet::from([from]);
        while let Some((switch, at)) = open.last_mut() {
            match topology.uplinks(*switch, to).get(*at) {
                Some(&port) => {
                    let next = topology.behind(*switch, port);
                    *at += 1;
                    if seen.insert(next) {
                        open.push((next, 0));
                    }
                }
                None => {
                    done.push(*switch);
                    open.pop();
                }
            }
        }
        done.reverse();
        let place: BTreeMap<SwitchId, usize> =
            done.iter().enumerate().map(|(place, &switch)| (switch, place)).collect();
        let edges = done.iter().flat_map(|&switch| {
            let place = &place;
            topology.uplinks(switch, to).iter().map(move |&port| Edge {
                number: topology.out_number(topology.switch_node(switch), port),
                from: place[&switch],
                to: place[&topology.behind(switch, port)],
            })
        });
        Paths { edges: edges.collect(), switches: done }
    }

    /// Returns, from the first switch to each: the minimum time of a packet of `bytes`, and the delays alone.
    fn before(&self, topology: &Topology, bytes: u64, clock: Clock) -> Vec<(u64, u64)> {
        let mut least = vec![(u64::MAX, u64::MAX); self.switches.len()];
        least[0] = (0, 0);
        for edge in &self.edges {
            let link = &topology.links[edge.number];
            let (time, delay) = least[edge.from];
            let here = &mut least[edge.to];
            here.0 = here.0.min(time + clock.tx_time(bytes, link.rate) + link.delay.0);
            here.1 = here.1.min(delay + link.delay.0);
        }
        least
    }

    /// Returns the switches on the near side of the minimum cut: the maximum flow leaves room towards them (Ford and
    /// Fulkerson, Canadian Journal of Mathematics 8, 1956; by shortest augmenting paths, Edmonds and Karp, J. ACM 19,
    /// 1972).
    fn near_side(&self, topology: &Topology) -> Vec<bool> {
        let last = self.switches.len() - 1;
        let mut room: Vec<(u64, u64)> = self.edges.iter().map(|edge| (topology.links[edge.number].rate, 0)).collect();
        // The edges at each switch: where they lead, and whether in their direction.
        let mut at_switch = vec![Vec::new(); self.switches.len()];
        for (n, edge) in self.edges.iter().enumerate() {
            at_switch[edge.from].push((n, edge.to, true));
            at_switch[edge.to].push((n, edge.from, false));
        }
        loop {
            // The edge by which each switch is reached, and whether in its direction.
            let mut by: Vec<Option<(usize, bool)>> = vec![None; self.switches.len()];
            let mut reached = vec![0];
            let mut at = 0;
            while let Some(&switch) = reached.get(at) {
                at += 1;
                for &(n, to, along) in &at_switch[switch] {
                    let left = if along { room[n].0 } else { room[n].1 };
                    if left > 0 && to != 0 && by[to].is_none() {
                        by[to] = Some((n, along));
                        reached.push(to);
                    }
                }
            }
            if by[last].is_none() {
                return (0..self.switches.len()).map(|switch| switch == 0 || by[switch].is_some()).collect();
            }
            let mut walk = Vec::new();
            let mut switch = last;
            while let Some((n, along)) = by[switch] {
                walk.push((n, along));
                switch = if along { self.edges[n].from } else { self.edges[n].to };
            }
            let most = walk.iter().map(|&(n, along)| if along { room[n].0 } else { room[n].1 }).min().unwrap_or(0);
            for (n, along) in walk {
                let (ahead, back) = room[n];
                room[n] = if along { (ahead - most, back + most) } else { (ahead + most, back - most) };
            }
        }
    }
}
