//! `[topology]` of kind `links`: any graph of hosts and switches.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use spinewise_policy::Span;

use super::node_names::{self, NAMES, NodeNames};
use super::{DEFAULT_ROUNDING, KINDS, MOST_HOSTS, TxTimeRounding};
use crate::keys::{Default, Kind, Reader, SpecError, Unit, Zero, keys, tidy};
use crate::topology::Topology;
use crate::warden::ALWAYS;

/// Maximum number of switches.
const MOST_SWITCHES: u64 = 1 << 16;
/// Maximum number of leaves that traffic can name.
const MOST_LEAVES: usize = 4096;
/// Maximum number of pairs of a switch and a leaf: each has a route of 8 bytes.
const MOST_ROUTES: usize = 1 << 24;
/// Maximum number of links between switches, as in a leaf-spine.
const MOST_CABLES: usize = 1 << 17;
/// Ports are numbered in 16 bits; the last two numbers have a meaning.
const MOST_PORTS: usize = 65_534;
/// A node of a graph, by number.
const NODE: Kind = Kind::Integer { min: 0, max: MOST_HOSTS + MOST_SWITCHES - 1 };
const LINK: &str = "[node, node, rate_gbps, delay_ns], or a table with a, b, rate_gbps and delay_ns";
const ROUTE: &str = "[switch, host, node], or a table with switch, dst and next";

keys! {
    /// `[topology]` of kind `links`.
    GraphKeys {
        /// Any graph, link by link.
        _kind as "kind": String, Kind::Words(KINDS), Default::Required;
        /// Hosts: the nodes 0 to hosts - 1. Each has one link, to a switch, its leaf.
        hosts: u32, Kind::Integer { min: 1, max: MOST_HOSTS }, Default::Required;
        /// Switches: the nodes that follow the hosts.
        switches: u32, Kind::Integer { min: 1, max: MOST_SWITCHES }, Default::Required;
        /// Names of the nodes, in the order of their numbers: reports, links, faults and captures then name nodes so, and
        /// links and routes here may too.
        names: Option<Vec<Value>>, Kind::List(NAMES), Default::Nothing("hosts host0, host1, …; switches by their numbers, such as switch130");
        /// All links, each as [node, node, rate_gbps, delay_ns]: the same in both directions. Two switches may have
        /// parallel links.
        links: Vec<Value>, Kind::List("a list of links"), Default::Required;
        /// Static routes, each as [switch, host, next node]: they replace the shortest paths from that switch to that
        /// host's switch. Several routes for one switch and host are equal choices. All hosts of a switch must have the
        /// same routes.
        routes: Vec<Value>, Kind::List("a list of routes"), Default::Empty;
        /// Time from the arrival of a packet's last bit at a switch until the packet is queued at its output.
        switch_latency_ns: Span, Kind::Time(Unit::Nanoseconds, Zero::Allowed), Default::Number(0.0);
        /// Is each transmission time exact, or floored to a whole nanosecond as in ns-3.19? If floored, ns-3.19's event
        /// order also applies: arrivals at an instant go before transmissions that end at it.
        tx_time_rounding: TxTimeRounding, Kind::Words(TxTimeRounding::WORDS), DEFAULT_ROUNDING;
    }
}

keys! {
    /// An entry of `links`.
    LinkKeys {
        /// One end.
        a: u32, NODE, Default::Required;
        /// The other end.
        b: u32, NODE, Default::Required;
        /// Rate, in each direction.
        rate_gbps: u64, Kind::Rate(Zero::Refused), Default::Required;
        /// Propagation delay, one way.
        delay_ns: Span, Kind::Time(Unit::Nanoseconds, Zero::Allowed), Default::Required;
    }
}

keys! {
    /// An entry of `routes`.
    RouteKeys {
        /// The switch that has the route.
        switch: u32, NODE, Default::Required;
        /// The host that packets go to.
        dst: u32, NODE, Default::Required;
        /// The neighbour that the switch sends them to.
        next: u32, NODE, Default::Required;
    }
}

/// A graph of hosts and switches, nodes numbered as given.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// Number of hosts, which are the first nodes.
    pub hosts: u32,
    /// Number of switches, which are the others.
    pub switches: u32,
    /// Names of the nodes, if they are given.
    pub names: Vec<String>,
    /// All links.
    pub links: Vec<Cable>,
    /// Next hops that replace shortest paths.
    pub routes: Vec<StaticRoute>,
    /// Time from arrival at a switch to its output queue.
    pub switch_latency: Span,
    /// Number of switches that have hosts.
    pub leaves: u32,
    /// At least the number of ways between any two leaves.
    pub most_ways: u16,
    /// Whether a way is a whole path. See [`Topology::tags_name_paths`].
    pub tags_name_paths: bool,
}

/// A link, the same in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cable {
    /// One end.
    pub a: u32,
    /// The other end.
    pub b: u32,
    /// Bits per second.
    pub rate: u64,
    /// One-way delay.
    pub delay: Span,
}

/// A next hop from `switch` for packets to `dst`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StaticRoute {
    /// The switch.
    pub switch: u32,
    /// The host packets go to.
    pub dst: u32,
    /// The neighbour that gets them, over any of the links to it.
    pub next: u32,
}

/// Reads `[topology]` of this kind; `defaults` are the preset's.
pub(super) fn read(
    given: &Map<String, Value>,
    defaults: Map<String, Value>,
) -> Result<(Graph, TxTimeRounding, Value), SpecError> {
    let mut reader = Reader::new("topology", GraphKeys::KEYS, given)?.with_defaults(defaults);
    let keys = GraphKeys::read(&mut reader)?;
    let mut graph = Graph {
        hosts: keys.hosts,
        switches: keys.switches,
        names: node_names::read(keys.names.as_deref(), keys.hosts, keys.switches)?,
        links: Vec::with_capacity(keys.links.len()),
        routes: Vec::with_capacity(keys.routes.len()),
        switch_latency: keys.switch_latency_ns,
        leaves: 0,
        most_ways: 0,
        tags_name_paths: false,
    };
    let own_names = graph.names.clone();
    let names = NodeNames::new(&own_names);
    let told = read_links(&keys.links, &mut graph, &names)?;
    reader.set_resolved("links", told);
    let leaf_of = check_graph(&graph, &reader, &names)?;
    let told = read_routes(&keys.routes, &mut graph, &leaf_of, &names)?;
    reader.set_resolved("routes", told);
    let wired = Topology::links(&graph, ALWAYS)?;
    graph.leaves = wired.leaves;
    graph.most_ways = wired.most_ways;
    graph.tags_name_paths = wired.tags_name_paths;
    Ok((graph, keys.tx_time_rounding, reader.finish()))
}

/// An entry as a table: one given as a list takes the names of the keys in order.
fn table(path: &str, value: &Value, names: &[&str], allowed: &str) -> Result<Map<String, Value>, SpecError> {
    match value {
        Value::Object(table) => Ok(table.clone()),
        Value::Array(list) if list.len() == names.len() => {
            Ok(names.iter().map(|name| (*name).to_string()).zip(list.iter().cloned()).collect())
        }
        _ => Err(SpecError::new(path, value, allowed)),
    }
}

fn read_links(list: &[Value], graph: &mut Graph, names: &NodeNames<'_>) -> Result<Value, SpecError> {
    let (hosts, nodes) = (graph.hosts, graph.hosts + graph.switches);
    let mut resolved = Vec::with_capacity(list.len());
    let mut link_of = vec![None; hosts as usize];
    for (index, value) in list.iter().enumerate() {
        let path = format!("topology.links[{index}]");
        let table = table(&path, value, &["a", "b", "rate_gbps", "delay_ns"], LINK)?;
        let table = names.numbered(&path, table, &["a", "b"])?;
        let mut reader = Reader::new(&path, LinkKeys::KEYS, &table)?;
        let keys = LinkKeys::read(&mut reader)?;
        let (a, b) = (keys.a, keys.b);
        check_node(&reader, "a", a, graph)?;
        check_node(&reader, "b", b, graph)?;
        if a == b {
            return Err(names.refuse(&reader, "b", b, "a node other than a"));
        }
        if a < hosts && b < hosts {
            let allowed = format!("a switch, {hosts} to {}: hosts are linked to switches", nodes - 1);
            return Err(names.refuse(&reader, "b", b, allowed));
        }
        if let Some(other) = link_of.get_mut(a.min(b) as usize).and_then(|link| link.replace(index)) {
            let allowed = format!("one link for each host; host {} already has links[{other}]", names.of(a.min(b)));
            return Err(SpecError::new(path, value, allowed).hint("a server with several NICs is as many hosts"));
        }
        graph.links.push(Cable { a, b, rate: keys.rate_gbps, delay: keys.delay_ns });
        resolved.push(json!([a, b, tidy(keys.rate_gbps as f64 / 1e9), tidy(keys.delay_ns.0 as f64 / 1e3)]));
    }
    match link_of.iter().position(Option::is_none) {
        Some(host) => Err(SpecError::new(
            "topology.hosts",
            &hosts.into(),
            format!("one link for each host; topology.links has none for host {}", names.of(host as u32)),
        )),
        None => Ok(Value::Array(resolved)),
    }
}

fn check_node(reader: &Reader<'_>, name: &str, node: u32, graph: &Graph) -> Result<(), SpecError> {
    let (hosts, nodes) = (graph.hosts, graph.hosts + graph.switches);
    if node < nodes {
        return Ok(());
    }
    let allowed = format!("a node from 0 to {}: hosts 0 to {}, switches {hosts} to {0}", nodes - 1, hosts - 1);
    Err(reader.refuse(name, allowed))
}

/// Refuses graphs that are disconnected or too large; returns the switch of each host.
fn check_graph(graph: &Graph, reader: &Reader<'_>, names: &NodeNames<'_>) -> Result<Vec<u32>, SpecError> {
    let (hosts, nodes) = (graph.hosts as usize, (graph.hosts + graph.switches) as usize);
    let mut neighbours = vec![Vec::new(); nodes];
    for link in &graph.links {
        neighbours[link.a as usize].push(link.b);
        neighbours[link.b as usize].push(link.a);
    }
    let most = neighbours.iter().map(Vec::len).enumerate().max_by_key(|&(_, ports)| ports);
    if let Some((node, ports)) = most.filter(|&(_, ports)| ports > MOST_PORTS) {
        let allowed = format!("at most {MOST_PORTS} links per switch; switch {} has {ports}", names.of(node as u32));
        return Err(reader.refuse("switches", allowed));
    }
    let cables = graph.links.len() - hosts;
    if cables > MOST_CABLES {
        return Err(
            reader.refuse("switches", format!("at most {MOST_CABLES} links between switches; there are {cables}"))
        );
    }
    let leaf_of: Vec<u32> = neighbours[..hosts].iter().map(|of_host| of_host[0]).collect();
    let leaves = leaf_of.iter().collect::<BTreeSet<_>>().len();
    if leaves > MOST_LEAVES || leaves * (nodes - hosts) > MOST_ROUTES {
        let allowed = format!(
            "at most {MOST_LEAVES} switches with hosts, and {MOST_ROUTES} pairs of a switch and a switch with hosts; \
             {leaves} of these have hosts"
        );
        return Err(reader.refuse("switches", allowed));
    }
    let mut reached = vec![false; nodes];
    let mut open = vec![graph.hosts];
    while let Some(node) = open.pop() {
        if !std::mem::replace(&mut reached[node as usize], true) {
            open.extend(&neighbours[node as usize]);
        }
    }
    match (hosts..nodes).chain(0..hosts).find(|&node| !reached[node]) {
        Some(node) => {
            let [from, to] = [hosts, node].map(|node| names.of(node as u32));
            let allowed = format!("switches that are all connected; no path leads from node {from} to node {to}");
            Err(reader.refuse("switches", allowed))
        }
        None => Ok(leaf_of),
    }
}

fn read_routes(list: &[Value], graph: &mut Graph, leaf_of: &[u32], names: &NodeNames<'_>) -> Result<Value, SpecError> {
    let hosts = graph.hosts;
    let linked: BTreeSet<(u32, u32)> =
        graph.links.iter().flat_map(|link| [(link.a, link.b), (link.b, link.a)]).collect();
    let mut resolved = Vec::with_capacity(list.len());
    let mut seen = BTreeMap::new();
    for (index, value) in list.iter().enumerate() {
        let path = format!("topology.routes[{index}]");
        let table = table(&path, value, &["switch", "dst", "next"], ROUTE)?;
        let table = names.numbered(&path, table, &["switch", "dst", "next"])?;
        let mut reader = Reader::new(&path, RouteKeys::KEYS, &table)?;
        let RouteKeys { switch, dst, next } = RouteKeys::read(&mut reader)?;
        for (name, node) in [("switch", switch), ("dst", dst), ("next", next)] {
            check_node(&reader, name, node, graph)?;
        }
        if switch < hosts {
            let allowed = format!("a switch, {hosts} to {}; hosts have one link", hosts + graph.switches - 1);
            return Err(names.refuse(&reader, "switch", switch, allowed));
        }
        if dst >= hosts {
            return Err(names.refuse(&reader, "dst", dst, format!("a host, 0 to {}", hosts - 1)));
        }
        let own = leaf_of[dst as usize] == switch;
        if own && next != dst {
            let allowed = format!("{}, which is linked to switch {}", names.of(dst), names.of(switch));
            return Err(names.refuse(&reader, "next", next, allowed));
        }
        if !own && (next < hosts || !linked.contains(&(switch, next))) {
            let neighbours: Vec<String> =
                linked.range((switch, hosts)..=(switch, u32::MAX)).map(|&(_, node)| names.of(node)).collect();
            let allowed = format!("a switch linked to switch {}: {}", names.of(switch), neighbours.join(", "));
            return Err(names.refuse(&reader, "next", next, allowed));
        }
        let route = StaticRoute { switch, dst, next };
        if let Some(other) = seen.insert(route, index) {
            return Err(SpecError::new(path, value, format!("each route once; routes[{other}] is the same")));
        }
        graph.routes.push(route);
        resolved.push(json!([switch, dst, next]));
    }
    check_alike(graph, leaf_of, names)?;
    Ok(Value::Array(resolved))
}

/// Routes are kept per leaf: those to the hosts of one leaf must be the same.
fn check_alike(graph: &Graph, leaf_of: &[u32], names: &NodeNames<'_>) -> Result<(), SpecError> {
    let mut next_hops: BTreeMap<(u32, u32), BTreeSet<u32>> = BTreeMap::new();
    for route in graph.routes.iter().filter(|route| route.next != route.dst) {
        next_hops.entry((route.switch, route.dst)).or_default().insert(route.next);
    }
    let mut hosts_of: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (host, &leaf) in (0..).zip(leaf_of) {
        hosts_of.entry(leaf).or_default().push(host);
    }
    let told: BTreeSet<(u32, u32)> = next_hops.keys().map(|&(switch, dst)| (switch, leaf_of[dst as usize])).collect();
    for (switch, leaf) in told {
        let to = |host: u32| next_hops.get(&(switch, host)).into_iter().flatten().copied().collect::<Vec<_>>();
        let first = hosts_of[&leaf][0];
        if let Some(&other) = hosts_of[&leaf].iter().find(|&&host| to(host) != to(first)) {
            return Err(SpecError::said(
                "topology.routes",
                format!(
                    "from switch {} to host {} by {}, to host {} by {}",
                    names.of(switch),
                    names.of(first),
                    names.list(&to(first)),
                    names.of(other),
                    names.list(&to(other))
                ),
                format!("the same next nodes for all hosts of switch {} ([]: shortest paths)", names.of(leaf)),
            ));
        }
    }
    Ok(())
}
