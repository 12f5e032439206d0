//! Which switches are next to each other, in lists that are made once and walked for every leaf.

use super::{LinkSpec, Topology};
use crate::ids::{SwitchId, Table};

/// Hops from each switch to a leaf.
pub(super) type Distances = Table<SwitchId, u32>;

/// Farther than any path.
const UNREACHED: u32 = u32::MAX;

/// The links between switches, from both ends.
pub(super) struct Adjacency {
    /// By the switch that sends: its ports, in order, with the switch that receives.
    out: Lists<(u16, SwitchId)>,
    /// By the switch that receives: those that send.
    into: Lists<SwitchId>,
}

impl Adjacency {
    /// The links between switches that `count`.
    pub(super) fn new(topology: &Topology, count: impl Fn(&LinkSpec) -> bool) -> Adjacency {
        let out = |switch| {
            let node = topology.switch_node(switch);
            let links =
                (topology.host_ports(switch)..topology.ports(node)).map(move |port| (port, topology.out(node, port)));
            links.filter(|&(_, link)| count(link)).map(|(port, link)| (port, topology.switch_number(link.to.0)))
        };
        let into = |switch| {
            let links = topology.links[topology.in_links(topology.switch_node(switch))].iter();
            let inner = links.filter(|link| !topology.is_host(link.from.0) && count(link));
            inner.map(|link| topology.switch_number(link.from.0))
        };
        let switches = || SwitchId::first(topology.switches());
        Adjacency { out: switches().map(out).collect(), into: switches().map(into).collect() }
    }

    /// Hops from every switch to a leaf, up to `most`. Hosts forward nothing.
    pub(super) fn distances(&self, leaf: SwitchId, most: u32) -> Distances {
        let mut distance = Table::filled(UNREACHED, self.into.len());
        distance[leaf] = 0;
        let mut nearest = vec![leaf];
        for hops in 1..=most {
            let mut next = Vec::new();
            for &from in nearest.iter().flat_map(|&switch| self.into.of(switch)) {
                if distance[from] == UNREACHED {
                    distance[from] = hops;
                    next.push(from);
                }
            }
            if next.is_empty() {
                break;
            }
            nearest = next;
        }
        distance
    }

    /// Replaces `ports` by those of a switch that lead one hop nearer.
    pub(super) fn nearer(&self, switch: SwitchId, distance: &Distances, ports: &mut Vec<u16>) {
        ports.clear();
        let own = distance[switch];
        if own != 0 && own != UNREACHED {
            let leads = |&&(_, next): &&(u16, SwitchId)| distance[next] == own - 1;
            ports.extend(self.out.of(switch).iter().filter(leads).map(|&(port, _)| port));
        }
    }
}

/// A list for each switch, one behind the other.
struct Lists<T> {
    all: Vec<T>,
    /// Where the list of each switch ends.
    ends: Vec<usize>,
}

impl<T> Lists<T> {
    fn of(&self, switch: SwitchId) -> &[T] {
        let before = switch.index().checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.all[before..self.ends[switch.index()]]
    }

    /// Number of lists.
    fn len(&self) -> usize {
        self.ends.len()
    }
}

impl<T, L: IntoIterator<Item = T>> FromIterator<L> for Lists<T> {
    fn from_iter<I: IntoIterator<Item = L>>(lists: I) -> Lists<T> {
        let (mut all, mut ends) = (Vec::new(), Vec::new());
        for list in lists {
            all.extend(list);
            ends.push(all.len());
        }
        Lists { all, ends }
    }
}
