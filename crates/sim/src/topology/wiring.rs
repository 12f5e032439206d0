//! Converts a list of cables to ports, links and the places of hosts.

use super::spec::{Change, Direction, Graph, LeafSpine, LinkOverride};
use super::{Home, LinkSpec, Naming, Topology};
use crate::ids::{HostId, LinkId, NodeId, SwitchId, Table};
use crate::keys::SpecError;
use crate::warden::GoOn;
use spinewise_policy::{Span, Tier};
use std::collections::BTreeMap;

/// A cable between two nodes, both ways.
#[derive(Clone, Copy)]
pub(super) struct Cable {
    pub ends: (NodeId, NodeId),
    pub rate: u64,
    pub delay: Span,
}

/// A fabric before its ports are numbered.
pub(super) struct Plan {
    pub hosts: u32,
    pub leaves: u32,
    /// Number in the spec of each switch; leaves first.
    pub labels: Table<SwitchId, u32>,
    pub cables: Vec<Cable>,
    pub latency: Span,
    pub naming: Naming,
}

/// A fabric with its ports and links, but no routes yet.
pub(super) struct Laid {
    pub topology: Topology,
    /// Per cable: the link from its first end and the reverse link.
    pub links_of: Vec<(LinkId, LinkId)>,
    latency: Span,
}

impl Plan {
    /// Numbers ports by the neighbour's number in the spec, then by the order of cables. Hosts have the lowest numbers.
    pub(super) fn lay(self) -> Laid {
        let nodes = self.hosts as usize + self.labels.len();
        let label = |node: NodeId| match node.number().checked_sub(self.hosts) {
            Some(switch) => self.labels[SwitchId::new(switch)],
            None => node.number(),
        };
        let mut ports: Table<NodeId, Vec<(u32, usize)>> = Table::filled(Vec::new(), nodes);
        for (number, cable) in self.cables.iter().enumerate() {
            ports[cable.ends.0].push((label(cable.ends.1), number));
            ports[cable.ends.1].push((label(cable.ends.0), number));
        }
        let mut first_link = vec![LinkId::default()];
        let mut port_of = vec![(0u16, 0u16); self.cables.len()];
        for node in ports.ids() {
            let ports = &mut ports[node];
            ports.sort_unstable();
            for (port, &(_, cable)) in (0u16..).zip(ports.iter()) {
                let first_end = self.cables[cable].ends.0 == node;
                *(if first_end { &mut port_of[cable].0 } else { &mut port_of[cable].1 }) = port;
            }
            first_link.push(LinkId::new(first_link[node.index()].number() + ports.len() as u32));
        }
        let nowhere = (NodeId::default(), 0);
        let blank = LinkSpec { from: nowhere, to: nowhere, rate: 1, nominal_rate: 1, delay: Span::ZERO, up: true };
        let mut links = Table::filled(blank, self.cables.len() * 2);
        let mut out_link = Table::filled(LinkId::default(), links.len());
        let mut links_of = Vec::with_capacity(self.cables.len());
        for (cable, &port) in self.cables.iter().zip(&port_of) {
            let ends = ((cable.ends.0, port.0), (cable.ends.1, port.1));
            let number = |(node, port): (NodeId, u16)| first_link[node.index()].plus(port);
            for (from, to) in [ends, (ends.1, ends.0)] {
                out_link[number(from)] = number(to);
                links[number(to)] =
                    LinkSpec { from, to, rate: cable.rate, nominal_rate: cable.rate, delay: cable.delay, up: true };
            }
            links_of.push((number(ends.1), number(ends.0)));
        }
        let topology = self.topology(links, first_link, out_link);
        Laid { topology, links_of, latency: self.latency }
    }

    /// The places of hosts.
    fn topology(
        &self,
        links: Table<LinkId, LinkSpec>,
        first_link: Vec<LinkId>,
        out_link: Table<LinkId, LinkId>,
    ) -> Topology {
        let mut homes = Table::filled(Home::default(), self.hosts as usize);
        let (mut hosts_by_leaf, mut first_host) = (Vec::with_capacity(homes.len()), vec![0]);
        let mut nominal_uplinks = Vec::with_capacity(self.leaves as usize);
        for switch in self.labels.ids() {
            let node = (self.hosts + switch.number()) as usize;
            let mut rate = 0;
            for link in &links[first_link[node]..first_link[node + 1]] {
                let from = HostId::new(link.from.0.number());
                if from.number() < self.hosts {
                    homes[from] = Home { leaf: switch, port: link.to.1 };
                    hosts_by_leaf.push(from);
                } else {
                    rate += link.rate;
                }
            }
            first_host.push(hosts_by_leaf.len() as u32);
            if switch.number() < self.leaves {
                nominal_uplinks.push(rate);
            }
        }
        Topology {
            hosts: self.hosts,
            leaves: self.leaves,
            tiers: tiers(self, &links),
            links,
            first_link,
            out_link,
            leaf_of: homes.iter().map(|home| home.leaf.number()).collect(),
            ways: Vec::new(),
            most_ways: 0,
            tags_name_paths: false,
            nominal_path: Vec::new(),
            tree: None,
            as_wired: false,
            fixed: BTreeMap::new(),
            homes,
            hosts_by_leaf,
            first_host,
            nominal_uplinks,
            labels: self.labels.clone(),
            naming: self.naming,
            given_names: Vec::new(),
            candidates: Vec::new(),
            routes: Vec::new(),
            uniform: None,
        }
    }
}

/// See [`Topology::tier`].
fn tiers(plan: &Plan, links: &Table<LinkId, LinkSpec>) -> Table<SwitchId, Tier> {
    let switch = |node: NodeId| SwitchId::new(node.number() - plan.hosts);
    let is_switch = |node: NodeId| node.number() >= plan.hosts;
    let between = || links.iter().filter(|link| is_switch(link.from.0) && is_switch(link.to.0));
    let is_leaf = |node: NodeId| node.number() < plan.hosts + plan.leaves;
    let mut next_to_leaf = Table::filled(false, plan.labels.len());
    for link in between().filter(|link| is_leaf(link.from.0)) {
        next_to_leaf[switch(link.to.0)] = true;
    }
    let mut tiers = Table::filled(Tier::Spine, plan.labels.len());
    for link in between() {
        let (low, high) = (switch(link.from.0), switch(link.to.0));
        if next_to_leaf[low] && !next_to_leaf[high] && !is_leaf(link.to.0) {
            tiers[low] = Tier::Aggregation;
        }
    }
    SwitchId::first(plan.leaves).for_each(|leaf| tiers[leaf] = Tier::Leaf);
    tiers
}

impl Laid {
    /// Adds the latency of the receiving switch to all links.
    pub(super) fn add_latency(&mut self) {
        let hosts = self.topology.hosts;
        for link in self.topology.links.iter_mut().filter(|link| link.to.0.number() >= hosts) {
            link.delay += self.latency;
        }
    }
}

/// A cable of a leaf-spine fabric, for overrides.
struct Place {
    host: Option<u32>,
    leaf: u32,
    spine: Option<u32>,
    parallel: u32,
}

impl Place {
    fn matches(&self, change: &LinkOverride) -> bool {
        if change.host.is_some() {
            return self.host == change.host;
        }
        let all = change.leaf.is_none_or(|leaf| leaf == self.leaf)
            && change.spine.is_none_or(|spine| Some(spine) == self.spine)
            && change.link.is_none_or(|link| link == self.parallel);
        self.host.is_none() && all
    }
}

/// Changes the links of a cable: the upward one, and the other.
pub(super) fn apply(change: &Change, (up, down): (LinkId, LinkId), links: &mut Table<LinkId, LinkSpec>) {
    let numbers: &[LinkId] = match change.direction {
        Direction::Both => &[up, down],
        Direction::Up => &[up],
        Direction::Down => &[down],
    };
    for &number in numbers {
        let link = &mut links[number];
        link.rate = change.rate.unwrap_or(link.rate);
        link.delay = change.delay.unwrap_or(link.delay);
        link.up = change.up.unwrap_or(link.up);
    }
}

/// Packets go up to a spine and down again; never by two spines.
const LEAF_SPINE_HOPS: u32 = 2;

impl Topology {
    /// Builds a leaf-spine fabric.
    ///
    /// # Errors
    /// When an override selects nothing.
    pub fn leaf_spine(spec: &LeafSpine, go_on: GoOn<'_>) -> Result<Topology, SpecError> {
        let (plan, places) = leaf_spine_plan(spec);
        let mut laid = plan.lay();
        for change in &spec.overrides {
            let mut hit = false;
            for (place, &links) in places.iter().zip(&laid.links_of).filter(|(place, _)| place.matches(change)) {
                debug_assert!(place.host.is_some() || place.spine.is_some());
                hit = true;
                apply(&change.change, links, &mut laid.topology.links);
            }
            if !hit {
                return Err(selects_nothing(change, spec));
            }
        }
        laid.add_latency();
        let mut topology = laid.topology;
        topology.nominal_path = spec.nominal_path();
        topology.fill_routes(LEAF_SPINE_HOPS, go_on);
        topology.fill_ways(true, go_on)?;
        Ok(topology)
    }

    /// Builds a general graph. Packets take the shortest paths, by hops, unless static routes say otherwise.
    ///
    /// # Errors
    /// When static routes form a loop, or there are more ways between two leaves than can be numbered.
    pub fn links(graph: &Graph, go_on: GoOn<'_>) -> Result<Topology, SpecError> {
        let mut has_hosts = vec![false; graph.switches as usize];
        for link in graph.links.iter().filter(|link| link.a.min(link.b) < graph.hosts) {
            has_hosts[(link.a.max(link.b) - graph.hosts) as usize] = true;
        }
        let with = |hosts: bool| (graph.hosts..).zip(&has_hosts).filter(move |&(_, &has)| has == hosts);
        let labels: Table<SwitchId, u32> = with(true).chain(with(false)).map(|(label, _)| label).collect();
        let mut node_of: Vec<NodeId> = (0..graph.hosts + graph.switches).map(NodeId::new).collect();
        for (node, &label) in (graph.hosts..).zip(&labels) {
            node_of[label as usize] = NodeId::new(node);
        }
        let node = |label: u32| node_of[label as usize];
        let cable = |link: &super::spec::Cable| Cable {
            ends: (node(link.a), node(link.b)),
            rate: link.rate,
            delay: link.delay,
        };
        let plan = Plan {
            hosts: graph.hosts,
            leaves: has_hosts.iter().filter(|has| **has).count() as u32,
            labels,
            cables: graph.links.iter().map(cable).collect(),
            latency: graph.switch_latency,
            naming: Naming::Numbers,
        };
        let mut laid = plan.lay();
        laid.add_latency();
        let mut topology = laid.topology;
        topology.given_names.clone_from(&graph.names);
        topology.fixed = topology.static_ports(graph, node);
        topology.fill_routes(u32::MAX, go_on);
        topology.refuse_loops()?;
        topology.fill_ways(topology.has_two_choices(), go_on)?;
        topology.nominal_path = topology.longest_path();
        Ok(topology)
    }

    /// Static routes as the ports of each (switch, leaf).
    fn static_ports(&self, graph: &Graph, node: impl Fn(u32) -> NodeId) -> BTreeMap<(SwitchId, SwitchId), Vec<u16>> {
        let mut fixed: BTreeMap<(SwitchId, SwitchId), Vec<u16>> = BTreeMap::new();
        for route in graph.routes.iter().filter(|route| route.next != route.dst) {
            let (from, next) = (node(route.switch), node(route.next));
            let leaf = self.leaf(HostId::new(route.dst));
            let ports = (0..self.ports(from)).filter(|&port| self.out(from, port).to.0 == next);
            fixed.entry((self.switch_number(from), leaf)).or_default().extend(ports);
        }
        for ports in fixed.values_mut() {
            ports.sort_unstable();
            ports.dedup();
        }
        fixed
    }
}

fn leaf_spine_plan(spec: &LeafSpine) -> (Plan, Vec<Place>) {
    let hosts = spec.leaves * spec.hosts_per_leaf;
    let (mut cables, mut places) = (Vec::new(), Vec::new());
    for leaf in 0..spec.leaves {
        for host in leaf * spec.hosts_per_leaf..(leaf + 1) * spec.hosts_per_leaf {
            let ends = (NodeId::new(host), NodeId::new(hosts + leaf));
            cables.push(Cable { ends, rate: spec.host_rate, delay: spec.host_delay });
            places.push(Place { host: Some(host), leaf, spine: None, parallel: 0 });
        }
        for spine in 0..spec.spines {
            let ends = (NodeId::new(hosts + leaf), NodeId::new(hosts + spec.leaves + spine));
            for parallel in 0..spec.parallel_links {
                cables.push(Cable { ends, rate: spec.fabric_rate, delay: spec.fabric_delay });
                places.push(Place { host: None, leaf, spine: Some(spine), parallel });
            }
        }
    }
    let plan = Plan {
        hosts,
        leaves: spec.leaves,
        labels: (hosts..hosts + spec.leaves + spec.spines).collect(),
        cables,
        latency: spec.switch_latency,
        naming: Naming::Tiers,
    };
    (plan, places)
}

fn selects_nothing(change: &LinkOverride, spec: &LeafSpine) -> SpecError {
    let allowed = format!(
        "leaf 0..{}, spine 0..{}, link 0..{}, host 0..{}",
        spec.leaves - 1,
        spec.spines - 1,
        spec.parallel_links - 1,
        spec.hosts() - 1
    );
    SpecError::said(format!("topology.override[{}]", change.change.entry), "selects no link", allowed)
}
