//! Whole paths through the fabric.

use super::{LinkSpec, Topology};
use crate::ids::{HostId, LinkId, SwitchId};
use spinewise_policy::Span;
use std::collections::BTreeMap;

/// Maximum number of paths kept when none is better than another in every respect.
const MOST_KEPT: usize = 256;

/// The links of a path between two switches, by number.
type Path = Vec<LinkId>;

impl Topology {
    /// The links from host `src` to host `dst` by `way`; where ways do not number whole paths, by the first candidate
    /// of each switch after the first.
    pub fn path(&self, src: HostId, dst: HostId, way: u16) -> Vec<&LinkSpec> {
        let (from, to) = (self.leaf(src), self.leaf(dst));
        let mut path = vec![&self.links[self.host_link(src)]];
        let (first, second) = if from == to { (0, 0) } else { self.split(from, to, way) };
        let mut switch = from;
        for choice in [first, second].into_iter().chain(std::iter::repeat(0)) {
            if switch == to {
                break;
            }
            let port = self.uplinks(switch, to)[usize::from(choice)];
            path.push(self.out(self.switch_node(switch), port));
            switch = self.behind(switch, port);
        }
        path.push(self.last_link(dst));
        path
    }

    /// Returns how many whole paths lead from one leaf to another; 0 if no switch after the first has a choice, so that
    /// an uplink determines the path, and where tags do not name paths.
    pub fn whole_paths(&self, from: SwitchId, to: SwitchId) -> u16 {
        let ways = self.ways[self.pair(from, to)];
        let is_more = self.tags_name_paths && usize::from(ways) > self.uplinks(from, to).len();
        if is_more { ways } else { 0 }
    }

    /// The port that `switch` has on path `way` between two leaves when nothing is broken, if it is one of the two
    /// switches there that may have a choice.
    pub fn port_on(&self, from: SwitchId, to: SwitchId, way: u16, switch: SwitchId) -> Option<u16> {
        if !self.tags_name_paths || way >= self.ways[self.pair(from, to)] {
            return None;
        }
        let (first, second) = self.split(from, to, way);
        let up = *self.uplinks(from, to).get(usize::from(first))?;
        match switch {
            _ if switch == from => Some(up),
            _ if switch == self.behind(from, up) => self.uplinks(switch, to).get(usize::from(second)).copied(),
            _ => None,
        }
    }

    /// Bits per second of each way from each leaf, by `to * most_ways + way`: the slowest link between the two; 0 where
    /// there is no such way. For whole paths only: see [`Topology::tags_name_paths`].
    pub fn path_rates(&self) -> Vec<Box<[u64]>> {
        let ways = |to| (0..self.most_ways).map(move |way| (to, way));
        let from_leaf = |from| self.leaf_ids().flat_map(ways).map(|(to, way)| self.path_rate(from, to, way)).collect();
        self.leaf_ids().map(from_leaf).collect()
    }

    fn path_rate(&self, from: SwitchId, to: SwitchId, way: u16) -> u64 {
        if from == to || way >= self.ways[self.pair(from, to)] {
            return 0;
        }
        let (first, second) = self.split(from, to, way);
        let (mut switch, mut rate) = (from, u64::MAX);
        for choice in [first, second].into_iter().chain(std::iter::repeat(0)) {
            if switch == to {
                break;
            }
            let port = self.uplinks(switch, to)[usize::from(choice)];
            rate = rate.min(self.out(self.switch_node(switch), port).rate);
            switch = self.behind(switch, port);
        }
        rate
    }

    /// See [`Topology::nominal_path`], for a graph.
    pub(super) fn longest_path(&self) -> Vec<(u64, Span)> {
        let mut host_links: BTreeMap<(u64, Span, Span), u32> = BTreeMap::new();
        for host in self.host_ids() {
            let (out, back) = (&self.links[self.host_link(host)], self.last_link(host));
            *host_links.entry((out.rate, out.delay, back.delay)).or_default() += 1;
        }
        // Among equally common links, the fastest and then the longest.
        let common = host_links.iter().max_by_key(|&(link, count)| (count, link)).map(|(&link, _)| link);
        let (rate, there, back) = common.unwrap_or((1, Span::ZERO, Span::ZERO));
        let mut longest: (usize, u64, Path) = (0, 0, Vec::new());
        for from in self.leaf_ids() {
            for to in self.leaf_ids().filter(|&to| to != from) {
                let path = self.first_path(from, to);
                let delay = path.iter().map(|&link| self.links[link].delay.0).sum();
                if (path.len(), delay) > (longest.0, longest.1) {
                    longest = (path.len(), delay, path);
                }
            }
        }
        let inner = longest.2.iter().map(|&link| &self.links[link]).map(|link| (link.rate, link.delay));
        [(rate, there)].into_iter().chain(inner).chain([(rate, back)]).collect()
    }

    /// Returns the bits per second that the paths over a switch's port can carry to a leaf: no more than the port's
    /// link, and beyond it no more than the equal-cost links of the next switch together.
    pub fn capacity(&self, switch: SwitchId, port: u16, leaf: SwitchId) -> u64 {
        self.capacity_of(switch, port, leaf, &mut BTreeMap::new())
    }

    fn capacity_of(&self, switch: SwitchId, port: u16, leaf: SwitchId, known: &mut BTreeMap<SwitchId, u64>) -> u64 {
        let (rate, next) = (self.out(self.switch_node(switch), port).rate, self.behind(switch, port));
        if next == leaf {
            return rate;
        }
        let beyond = known.get(&next).copied().unwrap_or_else(|| {
            let ports = self.uplinks(next, leaf).iter();
            let sum = ports.map(|&port| self.capacity_of(next, port, leaf, known)).sum();
            known.insert(next, sum);
            sum
        });
        rate.min(beyond)
    }

    /// Number of links between two leaves, by the first candidate of each switch.
    pub fn hops(&self, from: SwitchId, to: SwitchId) -> u64 {
        let (mut switch, mut hops) = (from, 0);
        while let Some(&port) = self.uplinks(switch, to).first() {
            hops += 1;
            switch = self.behind(switch, port);
        }
        hops
    }

    /// Number of switches a packet passes between two hosts, by the first candidate of each switch.
    pub fn switches_between(&self, src: HostId, dst: HostId) -> u32 {
        1 + self.hops(self.leaf(src), self.leaf(dst)) as u32
    }

    /// The links between two leaves by the first candidate of each switch.
    fn first_path(&self, from: SwitchId, to: SwitchId) -> Path {
        let (mut switch, mut path) = (from, Path::new());
        while let Some(&port) = self.uplinks(switch, to).first() {
            path.push(self.out_number(self.switch_node(switch), port));
            switch = self.behind(switch, port);
        }
        path
    }
}

/// The paths between switches and leaves that could be the fastest for some flow; computed on demand.
#[derive(Debug, Default)]
pub struct BestPaths {
    /// Indexed by (switch, leaf).
    known: BTreeMap<(SwitchId, SwitchId), Vec<Path>>,
}

impl BestPaths {
    /// The links from host `src` to host `dst` of all paths that packets can take, without those that another one
    /// outdoes: as many links, no link slower, and no greater total delay. At most 256 of the paths that none outdoes.
    pub fn between(&mut self, topology: &Topology, src: HostId, dst: HostId) -> impl Iterator<Item = Vec<LinkSpec>> {
        let (from, to) = (topology.leaf(src), topology.leaf(dst));
        self.find(topology, from, to);
        let (first, last) = (topology.links[topology.host_link(src)], *topology.last_link(dst));
        self.known[&(from, to)].iter().map(move |path| {
            let inner = path.iter().map(|&link| topology.links[link]);
            [first].into_iter().chain(inner).chain([last]).collect()
        })
    }

    /// Fills `known` for a switch and a leaf, and for all switches in between.
    fn find(&mut self, topology: &Topology, from: SwitchId, to: SwitchId) {
        self.known.entry((to, to)).or_insert_with(|| vec![Path::new()]);
        let mut open = vec![from];
        while let Some(&switch) = open.last() {
            if self.known.contains_key(&(switch, to)) {
                open.pop();
                continue;
            }
            let candidates = topology.uplinks(switch, to);
            let unknown = candidates.iter().map(|&port| topology.behind(switch, port));
            let waiting = open.len();
            open.extend(unknown.filter(|&next| !self.known.contains_key(&(next, to))));
            if open.len() > waiting {
                continue;
            }
            let mut best = Vec::new();
            for &port in candidates {
                let link = topology.out_number(topology.switch_node(switch), port);
                for rest in &self.known[&(topology.behind(switch, port), to)] {
                    keep(topology, &mut best, [link].into_iter().chain(rest.iter().copied()).collect());
                }
            }
            self.known.insert((switch, to), best);
            open.pop();
        }
    }
}

/// Adds a path unless one that is kept is at least as good; drops those it outdoes.
fn keep(topology: &Topology, kept: &mut Vec<Path>, path: Path) {
    let link = |&number: &LinkId| &topology.links[number];
    let delay = |path: &Path| path.iter().map(|number| link(number).delay.0).sum::<u64>();
    let outdoes = |a: &Path, b: &Path| {
        let as_fast = a.iter().zip(b).all(|(a, b)| link(a).rate >= link(b).rate);
        a.len() == b.len() && as_fast && delay(a) <= delay(b)
    };
    if kept.iter().any(|other| outdoes(other, &path)) {
        return;
    }
    kept.retain(|other| !outdoes(&path, other));
    if kept.len() < MOST_KEPT {
        kept.push(path);
    }
}
