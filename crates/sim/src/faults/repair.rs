//! Which routes a switch uses by what it has learnt.
//!
//! At once it stops using its own ports that are down. When it has heard of a change and had time to compute, it uses
//! the shortest paths that never go up again once they have gone down: so packets cannot go round in a circle, even
//! while some switches know more than others.

use super::Step;
use super::detect::Seen;
use super::news::News;
use crate::topology::Topology;
use spinewise_policy::{Tier, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Hops to where no path leads.
const UNREACHED: u8 = u8::MAX;

/// How far every switch is from every leaf.
#[derive(Debug)]
pub struct Reach {
    leaves: u32,
    /// Hops, by `switch * leaves + leaf`.
    hops: Vec<u8>,
    /// Only downwards? If there is such a path no other is taken.
    falls: Vec<bool>,
}

fn rank(topology: &Topology, node: u32) -> u8 {
    match topology.tier(node - topology.hosts) {
        Tier::Host => 0,
        Tier::Leaf => 1,
        Tier::Aggregation => 2,
        Tier::Spine => 3,
    }
}

impl Reach {
    /// Over all links but those that are `down`.
    pub fn over(topology: &Topology, down: &BTreeSet<u32>) -> Reach {
        let (switches, leaves) = (topology.switches(), topology.leaves);
        let size = (switches * leaves) as usize;
        let mut reach = Reach { leaves, hops: vec![UNREACHED; size], falls: vec![false; size] };
        let mut by_rank: Vec<u32> = (0..switches).collect();
        by_rank.sort_by_key(|&switch| rank(topology, topology.hosts + switch));
        let works = |link: u32| topology.links[link as usize].up && !down.contains(&link);
        // Downwards, from the lowest tier on; then upwards, from the highest on.
        for (falls, order) in [(true, by_rank.clone()), (false, by_rank.into_iter().rev().collect())] {
            for switch in order {
                reach.fill(topology, &works, (switch, falls));
            }
        }
        reach
    }

    fn fill(&mut self, topology: &Topology, works: &impl Fn(u32) -> bool, (switch, falls): (u32, bool)) {
        let node = topology.hosts + switch;
        let own = (switch * self.leaves) as usize;
        if falls && switch < self.leaves {
            (self.hops[own + switch as usize], self.falls[own + switch as usize]) = (0, true);
        }
        for port in topology.host_ports(switch)..topology.ports(node) {
            let link = topology.out_number(node, port);
            let next = topology.links[link as usize].to.0;
            if !works(link) || (rank(topology, next) < rank(topology, node)) != falls {
                continue;
            }
            let behind = ((next - topology.hosts) * self.leaves) as usize;
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

    fn at(&self, switch: u32, leaf: u32) -> (u8, bool) {
        let at = (switch * self.leaves + leaf) as usize;
        (self.hops[at], self.falls[at])
    }

    /// Is there a path from one leaf to another?
    pub fn reaches(&self, from: u32, to: u32) -> bool {
        self.at(from, to).0 < UNREACHED
    }

    /// The ports of a switch on shortest paths to a leaf.
    pub fn ports(&self, topology: &Topology, switch: u32, leaf: u32, down: &BTreeSet<u32>) -> Vec<u16> {
        let node = topology.hosts + switch;
        let (hops, falls) = self.at(switch, leaf);
        if hops == 0 || hops == UNREACHED {
            return Vec::new();
        }
        let nearer = |port: &u16| {
            let number = topology.out_number(node, *port);
            let link = &topology.links[number as usize];
            let goes_down = rank(topology, link.to.0) < rank(topology, node);
            let (beyond, on) = self.at(link.to.0 - topology.hosts, leaf);
            link.up && !down.contains(&number) && goes_down == falls && beyond == hops - 1 && (on || !falls)
        };
        (topology.host_ports(switch)..topology.ports(node)).filter(nearer).collect()
    }
}

/// What a switch knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Known {
    /// Links whose senders take them for down, as it has heard.
    links: BTreeSet<u32>,
    /// Ports of its own that are down.
    ports: BTreeSet<u16>,
}

/// The sets of links that some switch takes for down at some time, by number.
struct Maps(Vec<BTreeSet<u32>>);

impl Maps {
    fn number(&mut self, down: &BTreeSet<u32>) -> u32 {
        let at = self.0.iter().position(|known| known == down).unwrap_or_else(|| {
            self.0.push(down.clone());
            self.0.len() - 1
        });
        at as u32
    }
}

/// What changes at each switch, and when.
type Steps = Vec<Vec<(Time, Step)>>;

/// What changes at each switch, and when; and the maps that the steps name. Adds the routes to `topology`, unless its
/// routes stay as wired: a scheme that goes round dead links by itself is only told of them.
pub fn steps(news: &[Vec<(Time, News)>], topology: &mut Topology) -> (Steps, Vec<BTreeSet<u32>>) {
    let mut reaches: BTreeMap<BTreeSet<u32>, Reach> = BTreeMap::new();
    let mut maps = Maps(vec![BTreeSet::new()]);
    let of = |(switch, news): (u32, &Vec<_>)| steps_of(switch, news, topology, &mut reaches, &mut maps);
    ((0u32..).zip(news).map(of).collect(), maps.0)
}

fn steps_of(
    switch: u32,
    news: &[(Time, News)],
    topology: &mut Topology,
    reaches: &mut BTreeMap<BTreeSet<u32>, Reach>,
    maps: &mut Maps,
) -> Vec<(Time, Step)> {
    let base = switch * topology.leaves;
    let mut rows: BTreeMap<Known, u32> = BTreeMap::from([(Known::default(), base)]);
    let (mut known, mut row, mut map, mut steps) = (Known::default(), base, 0, Vec::new());
    for news in news.chunk_by(|a, b| a.0 == b.0) {
        let at = news[0].0;
        news.iter().for_each(|&(_, item)| known.learn(item));
        let next = match rows.get(&known) {
            _ if topology.as_wired => base,
            Some(&next) => next,
            None => {
                let next = add_row(switch, &known, topology, reaches);
                rows.insert(known.clone(), next);
                next
            }
        };
        if next != row {
            row = next;
            steps.push((at, Step::Routes(row)));
        }
        let next = maps.number(&known.cables(topology));
        if next != map {
            map = next;
            steps.push((at, Step::Map(map)));
        }
        steps.extend(news.iter().filter_map(|&(_, item)| match item {
            News::Own(port, Seen::Down) => Some((at, Step::Down(port))),
            News::Own(port, Seen::Degraded) => Some((at, Step::Degraded(port))),
            News::Own(port, Seen::Up) => Some((at, Step::Up(port))),
            News::Heard { .. } => None,
        }));
    }
    steps
}

impl Known {
    fn learn(&mut self, news: News) {
        match news {
            News::Own(port, Seen::Down) => _ = self.ports.insert(port),
            News::Own(port, _) => _ = self.ports.remove(&port),
            News::Heard { link, down: true } => _ = self.links.insert(link),
            News::Heard { link, down: false } => _ = self.links.remove(&link),
        }
    }

    /// Both links of each cable that is not used: it is if both its ends say that it works.
    fn cables(&self, topology: &Topology) -> BTreeSet<u32> {
        self.links.iter().flat_map(|&link| [link, topology.back(link)]).collect()
    }
}

/// The row of the routes that a switch uses with this knowledge: its first if they are the same.
fn add_row(switch: u32, known: &Known, topology: &mut Topology, reaches: &mut BTreeMap<BTreeSet<u32>, Reach>) -> u32 {
    let base = switch * topology.leaves;
    let down = known.cables(topology);
    if !down.is_empty() && !reaches.contains_key(&down) {
        reaches.insert(down.clone(), Reach::over(topology, &down));
    }
    let reach = reaches.get(&down);
    let routes: Vec<Vec<u16>> = (0..topology.leaves)
        .map(|leaf| {
            let mut ports = match reach {
                Some(reach) => reach.ports(topology, switch, leaf, &down),
                None => topology.uplinks(switch, leaf).to_vec(),
            };
            ports.retain(|port| !known.ports.contains(port));
            ports
        })
        .collect();
    let same = (0u32..).zip(&routes).all(|(leaf, ports)| topology.uplinks(switch, leaf) == ports);
    if same { base } else { topology.add_row(&routes) }
}
