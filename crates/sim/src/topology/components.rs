//! Symmetric components: which paths between two leaves are equivalent, as computed by a controller from a map of the
//! fabric.
//!
//! Every link is labelled with the pairs of leaves whose shortest paths use it. Two paths of a pair are equivalent if,
//! hop by hop, their links have the same rate and the same label. Equivalent paths form a component (source: DRILL
//! §3.4, from memory).

use super::adjacency::Adjacency;
use super::{Reach, Topology};
use crate::ids::{LinkId, SwitchId, Table};
use crate::warden::ALWAYS;
use spinewise_policy::hash;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::OnceLock;

/// Paths of a pair that are examined; if there are more, all are taken to be alike.
const MOST_PATHS: usize = 4096;

/// The links of a path, by number.
type Path = Vec<LinkId>;
/// Rate and label of each link of a path.
type Looks = Vec<(u64, u64)>;

/// The share of each pair of leaves' traffic that crosses each link, summed over all pairs.
type Loads = Table<LinkId, f64>;

/// Equivalent paths between two leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// Bits per second that they can carry: the sum, over its paths, of the minimum that one of the path's links has
    /// for each pair of leaves, if all leaves sent equally to all others and the fabric were as built.
    pub capacity: u64,
    /// The ports by which packets leave each switch on them, in order.
    pub ports: BTreeMap<SwitchId, Vec<u16>>,
}

impl Component {
    fn of(topology: &Topology, paths: &[Path], loads: &Loads) -> Component {
        let mut component = Component { capacity: 0, ports: BTreeMap::new() };
        let of_each_pair = |&link: &LinkId| {
            let (rate, load) = (topology.links[link].rate, loads[link]);
            // A detour leads over links that no pair uses in the fabric as built: nothing shares these.
            if load > 0.0 { (rate as f64 / load) as u64 } else { rate }
        };
        for path in paths {
            component.capacity += path.iter().map(of_each_pair).min().unwrap_or_default();
            for &link in path {
                let (node, port) = topology.links[link].from;
                let ports = component.ports.entry(topology.switch_number(node)).or_default();
                if let Err(place) = ports.binary_search(&port) {
                    ports.insert(place, port);
                }
            }
        }
        component
    }
}

/// Components by the links known to be down. Computed on demand, since most pairs may never send.
#[derive(Debug, Default)]
pub struct Components {
    maps: Vec<(BTreeSet<LinkId>, OnceLock<Map>)>,
    /// The loads of the fabric as built.
    loads: OnceLock<Loads>,
}

/// A fabric as known to one observer.
#[derive(Debug)]
struct Map {
    leaves: u32,
    /// Equal-cost ports by `switch * leaves + leaf`; those of the topology if nothing is down.
    routes: Option<Vec<Vec<u16>>>,
    /// Indexed by link: a sum of a random number for each pair of leaves that uses it.
    labels: Table<LinkId, u64>,
    /// Indexed by `from * leaves + to`: the components, if there is more than one.
    pairs: Vec<OnceLock<Box<[Component]>>>,
}

impl Components {
    /// Creates components for these sets of links that are down, each with its reverse link; the first one is empty.
    pub fn new(maps: Vec<BTreeSet<LinkId>>) -> Components {
        let maps = maps.into_iter().map(|down| (down, OnceLock::new())).collect();
        Components { maps, loads: OnceLock::new() }
    }

    /// The components of the paths from one leaf to another by map number `map`; none if all paths are alike.
    pub fn between(&self, topology: &Topology, map: u32, from: SwitchId, to: SwitchId) -> &[Component] {
        let Some((down, map)) = self.maps.get(map as usize) else { return &[] };
        let map = map.get_or_init(|| Map::new(topology, down));
        map.pairs[topology.pair(from, to)].get_or_init(|| {
            let loads = || self.loads.get_or_init(|| even_loads(topology));
            map.split(topology, (from, to), loads)
        })
    }
}

/// See [`Components::loads`]: every switch spreads evenly over its shortest paths.
fn even_loads(topology: &Topology) -> Loads {
    let (leaves, mut loads) = (topology.leaves, Table::filled(0.0, topology.links.len()));
    let mut amounts = Table::filled(0.0, topology.switches() as usize);
    let mut ports = Vec::new();
    let adjacency = Adjacency::new(topology, |_| true);
    for to in SwitchId::first(leaves) {
        let distance = adjacency.distances(to, u32::MAX);
        for from in SwitchId::first(leaves).filter(|&from| from != to) {
            amounts[from] = 1.0;
            let mut open = VecDeque::from([from]);
            // The order of hops ensures that all senders to a switch come before it.
            while let Some(switch) = open.pop_front() {
                let amount = std::mem::take(&mut amounts[switch]);
                adjacency.nearer(switch, &distance, &mut ports);
                for &port in &ports {
                    let link = topology.out_number(topology.switch_node(switch), port);
                    let next = topology.behind(switch, port);
                    let part = amount / ports.len() as f64;
                    loads[link] += part;
                    if amounts[next] == 0.0 && next != to {
                        open.push_back(next);
                    }
                    amounts[next] += part;
                }
            }
            amounts[to] = 0.0;
        }
    }
    loads
}

impl Map {
    fn new(topology: &Topology, down: &BTreeSet<LinkId>) -> Map {
        let (leaves, switches) = (topology.leaves, topology.switches());
        let routes = (!down.is_empty()).then(|| {
            let reach = Reach::over(topology, down, ALWAYS);
            let all =
                SwitchId::first(switches).flat_map(|switch| SwitchId::first(leaves).map(move |leaf| (switch, leaf)));
            all.map(|(switch, leaf)| reach.ports(topology, switch, leaf, down)).collect()
        });
        let pairs = (0..leaves * leaves).map(|_| OnceLock::new()).collect();
        let mut map = Map { leaves, routes, labels: Table::filled(0, topology.links.len()), pairs };
        let mut seen = Table::filled(u32::MAX, switches as usize);
        for pair in 0..leaves * leaves {
            map.label(topology, pair, &mut seen);
        }
        map
    }

    fn ports<'a>(&'a self, topology: &'a Topology, switch: SwitchId, leaf: SwitchId) -> &'a [u16] {
        match &self.routes {
            Some(routes) => &routes[topology.pair(switch, leaf)],
            None => topology.uplinks(switch, leaf),
        }
    }

    /// Adds a pair's number to the labels of all links that its paths use; `seen` says for which pair each switch was
    /// last visited.
    fn label(&mut self, topology: &Topology, pair: u32, seen: &mut Table<SwitchId, u32>) {
        let [from, to] = [pair / self.leaves, pair % self.leaves].map(SwitchId::new);
        let number = hash::mix(u64::from(pair) + 1);
        let mut open = vec![from];
        while let Some(switch) = open.pop() {
            if switch == to || std::mem::replace(&mut seen[switch], pair) == pair {
                continue;
            }
            for at in 0..self.ports(topology, switch, to).len() {
                let link = topology.out_number(topology.switch_node(switch), self.ports(topology, switch, to)[at]);
                self.labels[link] = self.labels[link].wrapping_add(number);
                open.push(topology.switch_number(topology.links[link].to.0));
            }
        }
    }

    fn split<'a>(
        &self,
        topology: &Topology,
        (from, to): (SwitchId, SwitchId),
        loads: impl Fn() -> &'a Loads,
    ) -> Box<[Component]> {
        let mut paths = Vec::new();
        if from == to || !self.walk(topology, (from, to), &mut Vec::new(), &mut paths) {
            return Box::default();
        }
        let look = |&link: &LinkId| (topology.links[link].rate, self.labels[link]);
        let mut alike: Vec<(Looks, Vec<Path>)> = Vec::new();
        for path in paths {
            let looks: Looks = path.iter().map(look).collect();
            match alike.iter_mut().find(|(other, _)| *other == looks) {
                Some((_, paths)) => paths.push(path),
                None => alike.push((looks, vec![path])),
            }
        }
        match alike.len() {
            0 | 1 => Box::default(),
            _ => alike.iter().map(|(_, paths)| Component::of(topology, paths, loads())).collect(),
        }
    }

    /// Collects the paths that continue from `at`, in the order of ports. False if there are too many.
    fn walk(
        &self,
        topology: &Topology,
        (at, to): (SwitchId, SwitchId),
        path: &mut Path,
        paths: &mut Vec<Path>,
    ) -> bool {
        if at == to {
            paths.push(path.clone());
            return paths.len() <= MOST_PATHS;
        }
        self.ports(topology, at, to).iter().all(|&port| {
            let link = topology.out_number(topology.switch_node(at), port);
            path.push(link);
            let few = self.walk(topology, (topology.behind(at, port), to), path, paths);
            path.pop();
            few
        })
    }
}
