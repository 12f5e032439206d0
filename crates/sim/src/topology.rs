//! The wiring of a fabric: nodes, ports, links, and which ports lead to which leaf.
//!
//! Nodes are numbered hosts first, then leaves, then spines. A link is numbered at its receiver, so that the in-links
//! of a node are contiguous in the order of its ports; the two directions of a cable are two links.

use crate::spec::{Direction, LeafSpine, LinkOverride, SpecError};
use spinewise_policy::{Span, Tier};

/// One direction of a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkSpec {
    /// Sending node and its port.
    pub from: (u32, u16),
    /// Receiving node and its port.
    pub to: (u32, u16),
    /// Bits per second.
    pub rate: u64,
    /// Propagation, with the latency of the receiving switch.
    pub delay: Span,
    /// Does it work?
    pub up: bool,
}

/// The wiring, immutable.
#[derive(Debug)]
pub struct Topology {
    /// Number of hosts.
    pub hosts: u32,
    /// Number of leaves.
    pub leaves: u32,
    /// Number of spines.
    pub spines: u32,
    /// Hosts per leaf; also the number of host ports of a leaf.
    pub hosts_per_leaf: u32,
    /// All links, by number.
    pub links: Vec<LinkSpec>,
    /// First link of each node, one more at the end.
    pub first_link: Vec<u32>,
    /// Link that a node's port feeds, by (first_link of the node + port).
    pub out_link: Vec<u32>,
    /// Leaf of each host.
    pub leaf_of: Vec<u32>,
    /// Ways between leaves: `ways[from * leaves + to]`.
    pub ways: Vec<u16>,
    /// No fewer than the ways between any two leaves, nor than the uplinks of a leaf, which schemes number too.
    pub most_ways: u16,
    candidates: Vec<u16>,
    routes: Vec<(u32, u16)>,
    /// Set when every (leaf, spine) pair has the same number of parallel links and none is down.
    uniform: Option<u16>,
}

impl Topology {
    /// Builds a leaf-spine fabric.
    ///
    /// # Errors
    /// When an override selects nothing, or two leaves cannot reach each other.
    pub fn leaf_spine(spec: &LeafSpine) -> Result<Topology, SpecError> {
        let wiring = Wiring::new(spec);
        let mut links = wiring.links();
        for (n, change) in spec.overrides.iter().enumerate() {
            let mut hit = false;
            for cable in &wiring.cables {
                if cable.matches(change) {
                    hit = true;
                    cable.apply(change, &mut links);
                }
            }
            if !hit {
                return Err(SpecError {
                    key: format!("topology.override[{n}]"),
                    value: "selects no link".into(),
                    allowed: format!(
                        "leaf 0..{}, spine 0..{}, link 0..{}, host 0..{}",
                        spec.leaves - 1,
                        spec.spines - 1,
                        spec.parallel_links - 1,
                        wiring.hosts - 1
                    ),
                    hint: None,
                });
            }
        }
        for link in &mut links {
            if link.to.0 >= wiring.hosts {
                link.delay += spec.switch_latency;
            }
        }
        Ok(Topology::route(spec, wiring, links))
    }

    fn route(spec: &LeafSpine, wiring: Wiring, links: Vec<LinkSpec>) -> Topology {
        let nodes = wiring.hosts + spec.leaves + spec.spines;
        let mut out_link = vec![0; links.len()];
        for (number, link) in links.iter().enumerate() {
            out_link[(wiring.first_link[link.from.0 as usize] + u32::from(link.from.1)) as usize] = number as u32;
        }
        let leaves = spec.leaves as usize;
        let mut topology = Topology {
            hosts: wiring.hosts,
            leaves: spec.leaves,
            spines: spec.spines,
            hosts_per_leaf: spec.hosts_per_leaf,
            uniform: links.iter().all(|link| link.up).then_some(spec.parallel_links as u16),
            links,
            leaf_of: (0..wiring.hosts).map(|host| host / spec.hosts_per_leaf).collect(),
            first_link: wiring.first_link,
            out_link,
            ways: vec![0; leaves * leaves],
            most_ways: (spec.spines * spec.parallel_links) as u16,
            candidates: Vec::new(),
            routes: Vec::new(),
        };
        debug_assert_eq!(topology.first_link.len(), nodes as usize + 1);
        topology.fill_routes(spec);
        topology.fill_ways();
        topology
    }

    fn fill_routes(&mut self, spec: &LeafSpine) {
        let parallel = spec.parallel_links as u16;
        let host_ports = spec.hosts_per_leaf as u16;
        // Spines first in thought: a leaf uses an uplink towards a leaf only if its spine has a working link there.
        let spine_down: Vec<Vec<Vec<u16>>> = (0..self.spines)
            .map(|spine| {
                (0..self.leaves)
                    .map(|leaf| {
                        let ports = (0..parallel).map(|p| leaf as u16 * parallel + p);
                        ports.filter(|&port| self.out(self.spine_node(spine), port).up).collect()
                    })
                    .collect()
            })
            .collect();
        for leaf in 0..self.leaves {
            for to in 0..self.leaves {
                let mut ports = Vec::new();
                for spine in 0..self.spines {
                    if leaf == to || spine_down[spine as usize][to as usize].is_empty() {
                        continue;
                    }
                    let up = (0..parallel).map(|p| host_ports + spine as u16 * parallel + p);
                    ports.extend(up.filter(|&port| self.out(self.leaf_node(leaf), port).up));
                }
                self.add_route(&ports);
            }
        }
        for per_leaf in &spine_down {
            for ports in per_leaf {
                self.add_route(ports);
            }
        }
    }

    fn add_route(&mut self, ports: &[u16]) {
        // Most destinations share their candidates: keep one copy.
        let n = ports.len();
        let shared = self
            .routes
            .last()
            .copied()
            .filter(|&(at, len)| usize::from(len) == n && &self.candidates[at as usize..at as usize + n] == ports);
        let route = shared.unwrap_or_else(|| {
            let at = self.candidates.len() as u32;
            self.candidates.extend_from_slice(ports);
            (at, n as u16)
        });
        self.routes.push(route);
    }

    fn fill_ways(&mut self) {
        for from in 0..self.leaves {
            for to in 0..self.leaves {
                let ways: usize = self.uplinks(from, to).iter().map(|&up| self.beyond(from, up, to).len()).sum();
                self.ways[(from * self.leaves + to) as usize] = ways as u16;
                self.most_ways = self.most_ways.max(ways as u16);
            }
        }
    }

    /// Node number of a leaf.
    pub fn leaf_node(&self, leaf: u32) -> u32 {
        self.hosts + leaf
    }

    /// Node number of a spine.
    pub fn spine_node(&self, spine: u32) -> u32 {
        self.hosts + self.leaves + spine
    }

    /// Number of switches.
    pub fn switches(&self) -> u32 {
        self.leaves + self.spines
    }

    /// Number of nodes.
    pub fn nodes(&self) -> u32 {
        self.hosts + self.switches()
    }

    /// Tier of a switch.
    pub fn tier(&self, switch: u32) -> Tier {
        if switch < self.leaves { Tier::Leaf } else { Tier::Spine }
    }

    /// Ports of a node.
    pub fn ports(&self, node: u32) -> u16 {
        (self.first_link[node as usize + 1] - self.first_link[node as usize]) as u16
    }

    /// The link that `port` of `node` feeds.
    pub fn out(&self, node: u32, port: u16) -> &LinkSpec {
        &self.links[self.out_number(node, port) as usize]
    }

    /// Number of the link that `port` of `node` feeds.
    pub fn out_number(&self, node: u32, port: u16) -> u32 {
        self.out_link[(self.first_link[node as usize] + u32::from(port)) as usize]
    }

    /// Equal-cost ports of a switch towards a leaf.
    #[inline]
    pub fn uplinks(&self, switch: u32, leaf: u32) -> &[u16] {
        let (at, len) = self.routes[(switch * self.leaves + leaf) as usize];
        &self.candidates[at as usize..at as usize + usize::from(len)]
    }

    /// Candidates at the switch behind `port` of leaf `from`, towards leaf `to`.
    fn beyond(&self, from: u32, port: u16, to: u32) -> &[u16] {
        self.uplinks(self.out(self.leaf_node(from), port).to.0 - self.hosts, to)
    }

    /// Which candidate a path tag means at the first switch, and which at the second. Ways are numbered along the
    /// uplinks of the first switch, and along the links beyond for each.
    #[inline]
    pub fn split(&self, from: u32, to: u32, way: u16) -> (u16, u16) {
        if let Some(parallel) = self.uniform {
            return if parallel == 1 { (way, 0) } else { (way / parallel, way % parallel) };
        }
        let mut left = usize::from(way);
        for (first, &up) in self.uplinks(from, to).iter().enumerate() {
            let beyond = self.beyond(from, up, to).len();
            if left < beyond {
                return (first as u16, left as u16);
            }
            left -= beyond;
        }
        (0, 0)
    }

    /// The links from host `src` to host `dst` by `way`.
    pub fn path(&self, src: u32, dst: u32, way: u16) -> Vec<&LinkSpec> {
        let (from, to) = (self.leaf_of[src as usize], self.leaf_of[dst as usize]);
        let mut path = vec![self.out(src, 0)];
        if from != to {
            let (first, second) = self.split(from, to, way);
            let up = self.uplinks(from, to)[usize::from(first)];
            let spine = self.out(self.leaf_node(from), up).to.0;
            path.push(self.out(self.leaf_node(from), up));
            path.push(self.out(spine, self.uplinks(spine - self.hosts, to)[usize::from(second)]));
        }
        path.push(self.out(self.leaf_node(to), (dst % self.hosts_per_leaf) as u16));
        path
    }

    /// A link's name for people: `leaf0->spine3`, `host12->leaf0`, with `#1` for parallel ones.
    pub fn link_name(&self, number: u32) -> String {
        let link = &self.links[number as usize];
        let twins: Vec<u32> = (0..self.ports(link.from.0))
            .map(|port| self.out_number(link.from.0, port))
            .filter(|&other| self.links[other as usize].to.0 == link.to.0)
            .collect();
        let base = format!("{}->{}", self.node_name(link.from.0), self.node_name(link.to.0));
        match twins.iter().position(|&other| other == number) {
            Some(which) if twins.len() > 1 => format!("{base}#{which}"),
            _ => base,
        }
    }

    /// A node's name for people: `host3`, `leaf0`, `spine7`.
    pub fn node_name(&self, node: u32) -> String {
        if node < self.hosts {
            format!("host{node}")
        } else if node < self.hosts + self.leaves {
            format!("leaf{}", node - self.hosts)
        } else {
            format!("spine{}", node - self.hosts - self.leaves)
        }
    }

    /// Nominal and available bits per second between each leaf and the spines: `(nominal, available up, available down)`.
    pub fn leaf_rates(&self, nominal: u64) -> (Vec<u64>, Vec<u64>, Vec<u64>) {
        let mut rates = (Vec::new(), Vec::new(), Vec::new());
        for leaf in 0..self.leaves {
            let node = self.leaf_node(leaf);
            let up = (self.hosts_per_leaf as u16..self.ports(node)).map(|port| self.out_number(node, port));
            let down = self.first_link[node as usize] + self.hosts_per_leaf..self.first_link[node as usize + 1];
            let sum = |links: Vec<u32>| -> u64 {
                links.iter().map(|&l| &self.links[l as usize]).filter(|l| l.up).map(|l| l.rate).sum()
            };
            rates.0.push(nominal * u64::from(self.ports(node) - self.hosts_per_leaf as u16));
            rates.1.push(sum(up.collect()));
            rates.2.push(sum(down.collect()));
        }
        rates
    }

    /// The shortest delay of any link.
    pub fn shortest_delay(&self) -> Span {
        self.links.iter().map(|link| link.delay).min().unwrap_or(Span::ZERO)
    }
}

/// A cable of a leaf-spine fabric, before overrides.
struct Cable {
    host: Option<u32>,
    leaf: u32,
    spine: Option<u32>,
    parallel: u32,
    /// Link number towards the spine (or from the host to its leaf), and the other one.
    up: u32,
    down: u32,
}

impl Cable {
    fn matches(&self, change: &LinkOverride) -> bool {
        if change.host.is_some() {
            return self.host == change.host;
        }
        let all = change.leaf.is_none_or(|leaf| leaf == self.leaf)
            && change.spine.is_none_or(|spine| Some(spine) == self.spine)
            && change.link.is_none_or(|link| link == self.parallel);
        self.host.is_none() && all
    }

    fn apply(&self, change: &LinkOverride, links: &mut [LinkSpec]) {
        let numbers: &[u32] = match change.direction {
            Direction::Both => &[self.up, self.down],
            Direction::Up => &[self.up],
            Direction::Down => &[self.down],
        };
        for &number in numbers {
            let link = &mut links[number as usize];
            link.rate = change.rate.unwrap_or(link.rate);
            link.delay = change.delay.unwrap_or(link.delay);
            link.up = change.up.unwrap_or(link.up);
        }
    }
}

struct Wiring {
    hosts: u32,
    first_link: Vec<u32>,
    cables: Vec<Cable>,
    host: (u64, Span),
    fabric: (u64, Span),
    ends: Vec<((u32, u16), (u32, u16))>,
}

impl Wiring {
    fn new(spec: &LeafSpine) -> Self {
        let hosts = spec.leaves * spec.hosts_per_leaf;
        let leaf_ports = spec.hosts_per_leaf + spec.spines * spec.parallel_links;
        let ports = (0..hosts)
            .map(|_| 1)
            .chain((0..spec.leaves).map(|_| leaf_ports))
            .chain((0..spec.spines).map(|_| spec.leaves * spec.parallel_links));
        let mut first_link = vec![0];
        for n in ports {
            first_link.push(first_link[first_link.len() - 1] + n);
        }
        let number = |(node, port): (u32, u16)| first_link[node as usize] + u32::from(port);
        let (mut cables, mut ends) = (Vec::new(), Vec::new());
        let mut lay = |low: (u32, u16), high: (u32, u16), host, leaf, spine, parallel| {
            cables.push(Cable { host, leaf, spine, parallel, up: number(high), down: number(low) });
            ends.push((low, high));
        };
        for leaf in 0..spec.leaves {
            for h in 0..spec.hosts_per_leaf {
                let host = leaf * spec.hosts_per_leaf + h;
                lay((host, 0), (hosts + leaf, h as u16), Some(host), leaf, None, 0);
            }
            for spine in 0..spec.spines {
                for p in 0..spec.parallel_links {
                    let up = (spec.hosts_per_leaf + spine * spec.parallel_links + p) as u16;
                    let down = (leaf * spec.parallel_links + p) as u16;
                    lay((hosts + leaf, up), (hosts + spec.leaves + spine, down), None, leaf, Some(spine), p);
                }
            }
        }
        Wiring {
            hosts,
            first_link,
            cables,
            host: (spec.host_rate, spec.host_delay),
            fabric: (spec.fabric_rate, spec.fabric_delay),
            ends,
        }
    }

    /// The links as built, before overrides.
    fn links(&self) -> Vec<LinkSpec> {
        let blank = LinkSpec { from: (0, 0), to: (0, 0), rate: 1, delay: Span::ZERO, up: true };
        let mut links = vec![blank; self.first_link[self.first_link.len() - 1] as usize];
        for (cable, &(low, high)) in self.cables.iter().zip(&self.ends) {
            let (rate, delay) = if cable.host.is_some() { self.host } else { self.fabric };
            links[cable.up as usize] = LinkSpec { from: low, to: high, rate, delay, up: true };
            links[cable.down as usize] = LinkSpec { from: high, to: low, rate, delay, up: true };
        }
        links
    }
}
