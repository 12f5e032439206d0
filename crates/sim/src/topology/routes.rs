//! The ports that lead to each leaf, and the numbering of the ways between leaves.

use super::adjacency::{Adjacency, Distances};
use super::spec::MOST_WAYS;
use super::{LinkSpec, Topology};
use crate::ids::{NodeId, SwitchId, Table};
use crate::keys::SpecError;
use crate::warden::GoOn;
use std::collections::BTreeSet;

impl Topology {
    /// Finds the equal-cost ports of every switch towards every leaf: all that lead one hop nearer, in the order of
    /// ports, over links that work, where the leaf is at most `most_hops` away; or those of static routes.
    pub(super) fn fill_routes(&mut self, most_hops: u32, go_on: GoOn<'_>) {
        let (switches, leaves) = (self.switches(), self.leaves);
        self.routes = vec![(0, 0); (switches * leaves) as usize];
        let mut last = Table::filled((0u32, 0u16), switches as usize);
        let mut ports = Vec::new();
        let adjacency = Adjacency::new(self, |link| link.up || self.as_wired);
        for leaf in SwitchId::first(leaves).take_while(|_| go_on()) {
            let distance = adjacency.distances(leaf, most_hops);
            for switch in SwitchId::first(switches) {
                match self.fixed.get(&(switch, leaf)) {
                    Some(given) => ports.clone_from(given),
                    None => adjacency.nearer(switch, &distance, &mut ports),
                }
                if ports.is_empty() {
                    continue;
                }
                // Most destinations share their candidates: keep one copy.
                let (at, len) = last[switch];
                let shared = &self.candidates[at as usize..at as usize + usize::from(len)];
                if shared != ports {
                    last[switch] = (self.candidates.len() as u32, ports.len() as u16);
                    self.candidates.extend_from_slice(&ports);
                }
                let place = self.pair(switch, leaf);
                self.routes[place] = last[switch];
            }
        }
    }

    /// Adds the routes of a switch, ports by leaf. Returns their row: see [`Topology::choices`].
    pub fn add_row(&mut self, routes: &[Vec<u16>]) -> u32 {
        let row = self.routes.len() as u32;
        let mut last = (0u32, 0u16);
        for ports in routes {
            let (at, len) = last;
            if self.candidates[at as usize..at as usize + usize::from(len)] != *ports {
                last = (self.candidates.len() as u32, ports.len() as u16);
                self.candidates.extend_from_slice(ports);
            }
            self.routes.push(last);
        }
        row
    }

    /// Whether a link that is down would be on a shortest path between two leaves if all links worked.
    pub fn loses_paths(&self, from: SwitchId, to: SwitchId) -> bool {
        let inner = |link: &&LinkSpec| !link.up && !self.is_host(link.from.0) && !self.is_host(link.to.0);
        let mut down = self.links.iter().filter(inner).peekable();
        if down.peek().is_none() {
            return false;
        }
        // The two directions of a cable exist together, so hops count the same both ways.
        let adjacency = Adjacency::new(self, |_| true);
        let (before, after) = (adjacency.distances(from, u32::MAX), adjacency.distances(to, u32::MAX));
        let whole = u64::from(before[to]);
        let by = |link: &LinkSpec| {
            let hops = |distance: &Distances, node: NodeId| u64::from(distance[self.switch_number(node)]);
            hops(&before, link.from.0) + 1 + hops(&after, link.to.0)
        };
        down.any(|link| by(link) == whole)
    }

    /// Whether some routes are given, not found.
    pub(crate) fn has_static_routes(&self) -> bool {
        !self.fixed.is_empty()
    }

    /// Refuses routes that loop; only static ones can.
    pub(super) fn refuse_loops(&self) -> Result<(), SpecError> {
        let leaves: BTreeSet<SwitchId> = self.fixed.keys().map(|&(_, leaf)| leaf).collect();
        for leaf in leaves {
            if let Some(circle) = self.circle(leaf) {
                let names: Vec<String> =
                    circle.iter().map(|&switch| self.node_name(self.switch_node(switch))).collect();
                return Err(SpecError::said(
                    "topology.routes",
                    names.join(" -> "),
                    format!("routes that end at {}", self.node_name(self.leaf_node(leaf))),
                )
                .hint(format!("packets to {} would loop", self.host_said(self.hosts_of(leaf)[0]))));
            }
        }
        Ok(())
    }

    /// A loop in the routes towards a leaf: its switches, with the first repeated at the end.
    fn circle(&self, leaf: SwitchId) -> Option<Vec<SwitchId>> {
        let mut done = Table::filled(false, self.switches() as usize);
        let mut on_path = Table::filled(false, self.switches() as usize);
        for start in self.switch_ids() {
            // The path walked, and the next candidate of each switch.
            let mut path = vec![(start, 0)];
            while let Some((switch, at)) = path.last_mut() {
                let switch = *switch;
                let candidates = self.uplinks(switch, leaf);
                if done[switch] || *at == candidates.len() {
                    done[switch] = true;
                    on_path[switch] = false;
                    path.pop();
                    continue;
                }
                on_path[switch] = true;
                let next = self.behind(switch, candidates[*at]);
                *at += 1;
                if on_path[next] {
                    let begin = path.iter().position(|&(switch, _)| switch == next)?;
                    return Some(path[begin..].iter().map(|&(switch, _)| switch).chain([next]).collect());
                }
                path.push((next, 0));
            }
        }
        None
    }

    /// Counts the ways between leaves; `tags_name_paths` says whether those are whole paths.
    ///
    /// # Errors
    /// There are more between two leaves than can be numbered: only in a graph, because other fabrics are refused by
    /// their sizes.
    pub(super) fn fill_ways(&mut self, tags_name_paths: bool, go_on: GoOn<'_>) -> Result<(), SpecError> {
        self.tags_name_paths = tags_name_paths;
        let leaves = self.leaves;
        let (mut least, mut most) = (usize::MAX, 0);
        let mut counts = Vec::with_capacity((leaves * leaves) as usize);
        for (from, to) in pairs(leaves).take_while(|&(_, to)| to.number() > 0 || go_on()) {
            let mut ways = 0;
            for &up in self.uplinks(from, to) {
                let beyond = self.beyond(from, up, to);
                (least, most) = (least.min(beyond), most.max(beyond));
                ways += beyond;
            }
            if ways as u64 > MOST_WAYS {
                let [from, to] = [from, to].map(|leaf| self.node_name(self.leaf_node(leaf)));
                let allowed = format!("at most {MOST_WAYS} paths between two leaves");
                return Err(SpecError::said("topology.links", format!("{ways} paths from {from} to {to}"), allowed));
            }
            counts.push(ways as u16);
        }
        self.ways = counts;
        let all_up = self.links.iter().all(|link| link.up);
        self.uniform = (all_up && least == most).then_some(most as u16);
        let uplinks = SwitchId::first(leaves).map(|leaf| self.ports(self.leaf_node(leaf)) - self.host_ports(leaf));
        let choices = self.routes.iter().map(|&(_, len)| len);
        self.most_ways = self.ways.iter().copied().chain(uplinks).chain(choices).max().unwrap_or(0);
        Ok(())
    }

    /// Whether a packet between any two leaves has at most two choices: one at its leaf, and one at the next switch,
    /// which has no hosts.
    pub(super) fn has_two_choices(&self) -> bool {
        pairs(self.leaves).all(|(from, to)| {
            self.uplinks(from, to).iter().all(|&up| {
                let middle = self.behind(from, up);
                let settled = |&port: &u16| self.is_settled(self.behind(middle, port), to);
                middle == to || (middle.number() >= self.leaves && self.uplinks(middle, to).iter().all(settled))
            })
        })
    }

    /// Whether there is a single path from a switch to a leaf.
    fn is_settled(&self, mut switch: SwitchId, leaf: SwitchId) -> bool {
        while switch != leaf {
            let &[port] = self.uplinks(switch, leaf) else { return false };
            switch = self.behind(switch, port);
        }
        true
    }

    /// Number of ways that begin with `port` of leaf `from`, towards leaf `to`.
    fn beyond(&self, from: SwitchId, port: u16, to: SwitchId) -> usize {
        let middle = self.behind(from, port);
        if middle == to || !self.tags_name_paths { 1 } else { self.uplinks(middle, to).len() }
    }

    /// Returns the candidate that a path tag means at the first switch, and the one at the second. Ways are numbered
    /// along the uplinks of the first switch, and along the links beyond for each.
    #[inline]
    pub fn split(&self, from: SwitchId, to: SwitchId, way: u16) -> (u16, u16) {
        if let Some(parallel) = self.uniform {
            return if parallel == 1 { (way, 0) } else { (way / parallel, way % parallel) };
        }
        let mut left = usize::from(way);
        for (first, &up) in self.uplinks(from, to).iter().enumerate() {
            let beyond = self.beyond(from, up, to);
            if left < beyond {
                return (first as u16, left as u16);
            }
            left -= beyond;
        }
        (0, 0)
    }
}

/// All pairs of leaves, in the order of `ways`.
fn pairs(leaves: u32) -> impl Iterator<Item = (SwitchId, SwitchId)> {
    SwitchId::first(leaves).flat_map(move |from| SwitchId::first(leaves).map(move |to| (from, to)))
}
