//! The wiring of a fabric: nodes, ports, links, and which ports lead to which leaf.
//!
//! Nodes are numbered hosts first, then the switches that have hosts, which are the leaves, then the other switches. A
//! link is numbered at its receiver, so that the in-links of a node are contiguous in the order of its ports; the two
//! directions of a cable are two links. The ports of a switch to hosts come first.
//!
//! | file | contents |
//! |---|---|
//! | `wiring.rs` | from a list of cables to ports, links and places; leaf-spine fabrics and graphs |
//! | `fat_tree.rs` | fat-trees |
//! | `names.rs` | nodes by name, and likely intentions |
//! | `routes.rs` | shortest paths and static routes; the numbering of ways |
//! | `components.rs` | which paths between two leaves are equivalent |
//! | `nominal.rs` | the path and the rates that are reported for a fabric |
//! | `reach.rs` | which switches reach which leaves |
//! | `paths.rs` | whole paths: by way, all that differ, the nominal one |

mod adjacency;
mod components;
mod fat_tree;
mod names;
mod nominal;
mod paths;
mod reach;
mod routes;
pub(crate) mod spec;
mod wiring;

use crate::ids::{HostId, LinkId, NodeId, SwitchId, Table};
use crate::keys::SpecError;
use crate::prefetch;
use crate::warden::{ALWAYS, GoOn};
use spinewise_policy::tree::Spot;
use spinewise_policy::{Span, Tier, Tree};
use std::collections::BTreeMap;
use std::ops::Range;

pub use components::{Component, Components};
pub(crate) use names::Names;
pub(crate) use nominal::Fabric;
pub use paths::BestPaths;
pub use reach::Reach;
pub use spec::{
    Cable, Change, Direction, FatTree, FatTreeOverride, Graph, LeafSpine, LinkOverride, StaticRoute, TopologySpec,
    TxTimeRounding, Wiring,
};

/// One direction of a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkSpec {
    /// Sending node and its port.
    pub from: (NodeId, u16),
    /// Receiving node and its port.
    pub to: (NodeId, u16),
    /// Bits per second.
    pub rate: u64,
    /// Bits per second before overrides.
    pub nominal_rate: u64,
    /// Propagation, with the latency of the receiving switch.
    pub delay: Span,
    /// Whether it works.
    pub up: bool,
}

/// The location of a host, in one load: a switch needs to know whether the host is its own, and which port leads to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Home {
    /// Its leaf.
    pub leaf: SwitchId,
    /// The port of the leaf that leads to it.
    pub port: u16,
}

/// The wiring, immutable.
#[derive(Debug)]
pub struct Topology {
    /// Number of hosts.
    pub hosts: u32,
    /// Number of leaves: switches that have hosts.
    pub leaves: u32,
    /// All links, by number.
    pub links: Table<LinkId, LinkSpec>,
    /// First link of each node, one more at the end.
    pub first_link: Vec<LinkId>,
    /// The link that a node's port feeds, by the link that comes in there.
    pub out_link: Table<LinkId, LinkId>,
    /// Leaf of each host, numbered as in workloads and schemes. See [`Topology::leaf`].
    pub leaf_of: Vec<u32>,
    /// Ways between leaves: `ways[from * leaves + to]`. Where [`Topology::tags_name_paths`] does not hold, the equal
    /// choices of the first leaf.
    pub ways: Vec<u16>,
    /// At least the number of ways between any two leaves, of a leaf's links to switches, which schemes also number,
    /// and of the equal-cost ports of any switch.
    pub most_ways: u16,
    /// Whether a packet between leaves has at most two choices on its way, one at its leaf and one at the next switch,
    /// so that a way is a whole path.
    pub tags_name_paths: bool,
    /// Rate and delay of each link of the nominal path between two racks, host to host. Leaf-spine: as if there were no
    /// overrides. Graphs: the most common host link at both ends, and between them the shortest path of the two leaves
    /// farthest apart in hops, then in delay.
    pub nominal_path: Vec<(u64, Span)>,
    /// The numbering of a fat-tree.
    pub tree: Option<Tree>,
    /// Whether routes use the whole fabric, whatever links are down. For a scheme that routes around dead links itself;
    /// a packet sent to a dead link is then lost.
    pub as_wired: bool,
    /// Static routes: the ports of a switch towards a leaf.
    fixed: BTreeMap<(SwitchId, SwitchId), Vec<u16>>,
    homes: Table<HostId, Home>,
    /// Hosts by leaf, in the order of its ports.
    hosts_by_leaf: Vec<HostId>,
    /// The first of each switch's hosts there, and one more entry at the end.
    first_host: Vec<u32>,
    /// Bits per second of each leaf's links to switches, before overrides.
    nominal_uplinks: Vec<u64>,
    /// Number of each switch in the spec.
    labels: Table<SwitchId, u32>,
    tiers: Table<SwitchId, Tier>,
    naming: Naming,
    /// Names of the nodes by their numbers in the spec, if it gives them.
    given_names: Vec<String>,
    candidates: Vec<u16>,
    routes: Vec<(u32, u16)>,
    /// Set when all links work and each uplink has this many links beyond it, whatever the leaves.
    uniform: Option<u16>,
}

/// The naming of switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Naming {
    /// `leaf0`, `spine3`.
    Tiers,
    /// `leaf0`, `aggregation3`, `core5`.
    FatTree {
        /// Aggregation switches, which are between leaves and cores.
        aggregations: u32,
    },
    /// `switch17`, by the number in the spec.
    Numbers,
}

impl Topology {
    /// Builds the fabric of a spec.
    ///
    /// # Errors
    /// When an override selects nothing, or static routes form a loop.
    pub fn new(spec: &TopologySpec) -> Result<Topology, SpecError> {
        Topology::build(spec, ALWAYS)
    }

    /// Builds the fabric of a spec as long as `go_on` allows it; if stopped, it has no routes.
    ///
    /// # Errors
    /// When an override selects nothing, or static routes form a loop.
    pub fn build(spec: &TopologySpec, go_on: GoOn<'_>) -> Result<Topology, SpecError> {
        match &spec.wiring {
            Wiring::LeafSpine(fabric) => Topology::leaf_spine(fabric, go_on),
            Wiring::FatTree(fabric) => Topology::fat_tree(fabric, go_on),
            Wiring::Links(graph) => Topology::links(graph, go_on),
        }
    }

    /// The ports and links of a spec, without routes, which is fast.
    ///
    /// # Errors
    /// When an override selects nothing, or static routes form a loop.
    pub fn unrouted(spec: &TopologySpec) -> Result<Topology, SpecError> {
        Topology::build(spec, &|| false)
    }

    /// Routes as if all links worked.
    pub fn route_as_wired(&mut self, go_on: GoOn<'_>) {
        self.as_wired = true;
        if self.links.iter().any(|link| !link.up) {
            self.candidates.clear();
            self.fill_routes(u32::MAX, go_on);
        }
    }

    /// Whether it is a general graph, without tiers for routes to follow.
    pub fn is_graph(&self) -> bool {
        self.naming == Naming::Numbers
    }

    /// The ports that static routes name, from a switch to a leaf.
    pub fn fixed_ports(&self, from: SwitchId, to: SwitchId) -> &[u16] {
        self.fixed.get(&(from, to)).map_or(&[], Vec::as_slice)
    }

    /// The node of a leaf.
    pub fn leaf_node(&self, leaf: SwitchId) -> NodeId {
        self.switch_node(leaf)
    }

    /// The node of a switch: hosts come first.
    #[inline]
    pub fn switch_node(&self, switch: SwitchId) -> NodeId {
        NodeId::new(self.hosts + switch.number())
    }

    /// The node of a host.
    #[inline]
    pub fn host_node(&self, host: HostId) -> NodeId {
        NodeId::new(host.number())
    }

    /// Whether a node is a host.
    #[inline]
    pub fn is_host(&self, node: NodeId) -> bool {
        node.number() < self.hosts
    }

    /// The host that a node is, if it is one.
    #[inline]
    pub fn as_host(&self, node: NodeId) -> Option<HostId> {
        self.is_host(node).then_some(HostId::new(node.number()))
    }

    /// The switch that a node is, if it is one.
    #[inline]
    pub fn as_switch(&self, node: NodeId) -> Option<SwitchId> {
        node.number().checked_sub(self.hosts).map(SwitchId::new)
    }

    /// The switch of a node that is not a host.
    #[inline]
    pub fn switch_number(&self, node: NodeId) -> SwitchId {
        SwitchId::new(node.number() - self.hosts)
    }

    /// All hosts.
    pub fn host_ids(&self) -> impl DoubleEndedIterator<Item = HostId> + ExactSizeIterator + Clone + use<> {
        HostId::first(self.hosts)
    }

    /// All nodes, in the order of their numbers.
    pub fn node_ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + ExactSizeIterator + Clone + use<> {
        NodeId::each(NodeId::new(0)..NodeId::new(self.nodes()))
    }

    /// The nodes that are switches.
    pub fn switch_nodes(&self) -> impl DoubleEndedIterator<Item = NodeId> + ExactSizeIterator + Clone + use<> {
        NodeId::each(NodeId::new(self.hosts)..NodeId::new(self.nodes()))
    }

    /// All switches.
    pub fn switch_ids(&self) -> impl DoubleEndedIterator<Item = SwitchId> + ExactSizeIterator + Clone + use<> {
        SwitchId::first(self.switches())
    }

    /// The switches that are leaves.
    pub fn leaf_ids(&self) -> impl DoubleEndedIterator<Item = SwitchId> + ExactSizeIterator + Clone + use<> {
        SwitchId::first(self.leaves)
    }

    /// The index of a switch and a leaf in a table by `switch * leaves + leaf`.
    #[inline]
    pub(crate) fn pair(&self, switch: SwitchId, leaf: SwitchId) -> usize {
        (switch.number() * self.leaves + leaf.number()) as usize
    }

    /// Index of the first route of a switch as long as nothing has broken: see [`Topology::choices`].
    #[inline]
    pub fn first_row(&self, switch: SwitchId) -> u32 {
        switch.number() * self.leaves
    }

    /// Leaf of a host.
    #[inline]
    pub fn leaf(&self, host: HostId) -> SwitchId {
        SwitchId::new(self.leaf_of[host.index()])
    }

    /// Number of switches.
    pub fn switches(&self) -> u32 {
        self.labels.len() as u32
    }

    /// Number of nodes.
    pub fn nodes(&self) -> u32 {
        self.hosts + self.switches()
    }

    /// Tier of a switch: a leaf has hosts; a switch next to a leaf and to a switch that is not next to any is in the
    /// middle; others are at the top.
    pub fn tier(&self, switch: SwitchId) -> Tier {
        self.tiers[switch]
    }

    /// Leaf of a host, and the port there.
    #[inline]
    pub fn home(&self, host: HostId) -> Home {
        self.homes[host]
    }

    /// Hosts of a switch, in the order of its ports, which are its first.
    pub fn hosts_of(&self, switch: SwitchId) -> &[HostId] {
        &self.hosts_by_leaf[self.first_host[switch.index()] as usize..self.first_host[switch.index() + 1] as usize]
    }

    /// Number of ports of a switch that lead to hosts.
    pub fn host_ports(&self, switch: SwitchId) -> u16 {
        self.hosts_of(switch).len() as u16
    }

    /// Number of a node in the spec: for a switch of a graph, its number in the list of links.
    pub fn label(&self, node: NodeId) -> u32 {
        self.as_switch(node).map_or(node.number(), |switch| self.labels[switch])
    }

    /// Nominal rate of a host's link, bits per second.
    pub fn host_rate(&self) -> u64 {
        self.nominal_path[0].0
    }

    /// Nominal bits per second of the link of each host, before overrides.
    pub fn host_rates(&self) -> Vec<u64> {
        self.host_ids().map(|host| self.links[self.host_link(host)].nominal_rate).collect()
    }

    /// Ports of a node.
    pub fn ports(&self, node: NodeId) -> u16 {
        let links = self.in_links(node);
        links.end.port(links.start)
    }

    /// The links into a node, in the order of its ports.
    #[inline]
    pub fn in_links(&self, node: NodeId) -> Range<LinkId> {
        self.first_link[node.index()]..self.first_link[node.index() + 1]
    }

    /// The link that comes in at `port` of `node`.
    #[inline]
    pub fn in_link(&self, node: NodeId, port: u16) -> LinkId {
        self.first_link[node.index()].plus(port)
    }

    /// The link that `port` of `node` feeds.
    pub fn out(&self, node: NodeId, port: u16) -> &LinkSpec {
        &self.links[self.out_number(node, port)]
    }

    /// Number of the link that `port` of `node` feeds.
    pub fn out_number(&self, node: NodeId, port: u16) -> LinkId {
        self.out_link[self.in_link(node, port)]
    }

    /// The link that a host feeds.
    pub fn host_link(&self, host: HostId) -> LinkId {
        self.out_number(self.host_node(host), 0)
    }

    /// The link that leads to a host.
    pub fn last_link(&self, host: HostId) -> &LinkSpec {
        let home = self.home(host);
        self.out(self.leaf_node(home.leaf), home.port)
    }

    /// Equal-cost ports of a switch towards a leaf, before anything breaks.
    #[inline]
    pub fn uplinks(&self, switch: SwitchId, leaf: SwitchId) -> &[u16] {
        let (at, len) = self.routes[self.pair(switch, leaf)];
        &self.candidates[at as usize..at as usize + usize::from(len)]
    }

    /// Ways from the rack of one host to that of another.
    pub fn ways_between(&self, from: HostId, to: HostId) -> u16 {
        self.ways[self.pair(self.leaf(from), self.leaf(to))]
    }

    /// Whether any switch has a choice of ports towards any leaf, now or after a fault.
    pub fn has_choice(&self) -> bool {
        self.routes.iter().any(|&(_, ports)| ports > 1)
    }

    /// Ports towards a leaf of a switch that uses the routes from `row` on: [`Topology::first_row`] unless something
    /// has broken.
    #[inline]
    pub fn choices(&self, row: u32, leaf: SwitchId) -> &[u16] {
        let (at, len) = self.routes[(row + leaf.number()) as usize];
        &self.candidates[at as usize..at as usize + usize::from(len)]
    }

    /// Prefetches the data that [`Topology::choices`] reads first for these routes.
    #[inline]
    pub(crate) fn fetch_choices(&self, row: u32) {
        if let Some(routes) = self.routes.get(row as usize..(row + self.leaves) as usize) {
            prefetch::all(routes);
        }
    }

    /// The link in the other direction of the same cable.
    pub fn back(&self, link: LinkId) -> LinkId {
        let (node, port) = self.links[link].from;
        self.in_link(node, port)
    }

    /// The switch behind a port that leads to one.
    pub fn behind(&self, switch: SwitchId, port: u16) -> SwitchId {
        self.switch_number(self.out(self.switch_node(switch), port).to.0)
    }

    /// Whether a link leads from switch to switch.
    pub fn joins_switches(&self, number: LinkId) -> bool {
        let link = &self.links[number];
        !self.is_host(link.from.0) && !self.is_host(link.to.0)
    }

    /// A link's name in reports: `leaf0->spine3`, `host12->leaf0`, with `#1` for parallel ones.
    pub fn link_name(&self, number: LinkId) -> String {
        let link = &self.links[number];
        let twins: Vec<LinkId> = (0..self.ports(link.from.0))
            .map(|port| self.out_number(link.from.0, port))
            .filter(|&other| self.links[other].to.0 == link.to.0)
            .collect();
        let base = format!("{}->{}", self.node_name(link.from.0), self.node_name(link.to.0));
        match twins.iter().position(|&other| other == number) {
            Some(which) if twins.len() > 1 => format!("{base}#{which}"),
            _ => base,
        }
    }

    /// Does the spec name the nodes?
    pub fn has_given_names(&self) -> bool {
        !self.given_names.is_empty()
    }

    /// A node's name in reports: the one that the spec gives it, or else `host3`, `leaf0`, `spine7`; in a graph
    /// `switch130`, by its number in the spec.
    pub fn node_name(&self, node: NodeId) -> String {
        if let Some(name) = self.given_names.get(self.label(node) as usize) {
            return name.clone();
        }
        let Some(switch) = self.as_switch(node) else { return format!("host{}", node.number()) };
        match self.naming {
            Naming::Numbers => format!("switch{}", self.label(node)),
            _ if switch.number() < self.leaves => format!("leaf{}", switch.number()),
            Naming::Tiers => format!("spine{}", switch.number() - self.leaves),
            Naming::FatTree { aggregations } => match switch.number() - self.leaves {
                number if number < aggregations => format!("aggregation{number}"),
                number => format!("core{}", number - aggregations),
            },
        }
    }

    /// A host in a sentence: `host 3`, or its name if the spec gives it one.
    pub fn host_said(&self, host: HostId) -> String {
        self.given_names.get(host.index()).cloned().unwrap_or_else(|| format!("host {}", host.number()))
    }

    /// A leaf in a sentence: `leaf 0`, or its name if the spec gives it one.
    pub fn leaf_said(&self, leaf: SwitchId) -> String {
        if self.has_given_names() { self.leaf_name(leaf) } else { format!("leaf {}", leaf.number()) }
    }

    /// A leaf's name in reports.
    pub fn leaf_name(&self, leaf: SwitchId) -> String {
        self.node_name(self.leaf_node(leaf))
    }

    /// Bits per second between each leaf and other switches: `(nominal, available up, available down)`. Nominal is
    /// before overrides. In a graph, transit traffic of leaves uses the same links.
    pub fn leaf_rates(&self) -> (Vec<u64>, Vec<u64>, Vec<u64>) {
        let (mut up, mut down) = (Vec::new(), Vec::new());
        for leaf in self.leaf_ids() {
            let node = self.leaf_node(leaf);
            let ports = self.host_ports(leaf)..self.ports(node);
            let sum = |number: &dyn Fn(u16) -> LinkId| -> u64 {
                let links = ports.clone().map(|port| &self.links[number(port)]);
                links.filter(|link| link.up).map(|link| link.rate).sum()
            };
            up.push(sum(&|port| self.out_number(node, port)));
            down.push(sum(&|port| self.in_link(node, port)));
        }
        (self.nominal_uplinks.clone(), up, down)
    }

    /// Bits per second between each pod of a fat-tree and its cores: `(available up, available down)`; none in other fabrics.
    pub fn pod_rates(&self) -> Option<(Vec<u64>, Vec<u64>)> {
        let tree = self.tree?;
        let mut rates = (vec![0; tree.pods as usize], vec![0; tree.pods as usize]);
        for link in self.links.iter().filter(|link| link.up) {
            let spot = |node| self.as_switch(node).map(|switch| tree.spot(switch.number()));
            match (spot(link.from.0), spot(link.to.0)) {
                (Some(Spot::Aggregation { pod, .. }), Some(Spot::Core { .. })) => rates.0[pod as usize] += link.rate,
                (Some(Spot::Core { .. }), Some(Spot::Aggregation { pod, .. })) => rates.1[pod as usize] += link.rate,
                _ => {}
            }
        }
        Some(rates)
    }

    /// The shortest delay of any link.
    pub fn shortest_delay(&self) -> Span {
        self.links.iter().map(|link| link.delay).min().unwrap_or(Span::ZERO)
    }
}
