//! The routes that a switch uses, based on what it has learned.
//!
//! It immediately stops using its own ports that are down. After hearing of a change it computes for some time and
//! then, taking into account everything heard meanwhile, uses the shortest paths. In a fabric of tiers these never go up
//! again once they have gone down, so packets cannot loop, even while some switches know more than others. In a graph they
//! can, as with any link-state protocol, until all switches know the same; a hop limit bounds that ([`HOP_LIMIT`]). A static
//! route stays as long as one of its links works.

use super::Step;
use super::detect::Seen;
use super::news::News;
use crate::ids::{LinkId, SwitchId, Table};
use crate::topology::{Reach, Topology};
use crate::warden::GoOn;
use spinewise_policy::{Span, Time};
use std::collections::{BTreeMap, BTreeSet};

/// The knowledge a switch acts on.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Known {
    /// Links whose senders consider them down, according to the news when it last computed its routes.
    links: BTreeSet<LinkId>,
    /// Ports of its own that are down.
    ports: BTreeSet<u16>,
}

impl Known {
    /// Both links of each unused cable: a cable is used if both its ends say that it works.
    fn cables(&self, topology: &Topology) -> BTreeSet<LinkId> {
        self.links.iter().flat_map(|&link| [link, topology.back(link)]).collect()
    }
}

/// Results computed once for all switches.
struct Shared<'a> {
    topology: &'a mut Topology,
    go_on: GoOn<'a>,
    /// Routes for some links that are down.
    reaches: BTreeMap<BTreeSet<LinkId>, Reach>,
    /// The sets of links that some switch considers down at some time, by number.
    maps: Vec<BTreeSet<LinkId>>,
}

impl Shared<'_> {
    fn map(&mut self, down: &BTreeSet<LinkId>) -> u32 {
        let at = self.maps.iter().position(|known| known == down).unwrap_or_else(|| {
            self.maps.push(down.clone());
            self.maps.len() - 1
        });
        at as u32
    }

    /// The row of the routes that a switch uses with this knowledge: its first row if the routes are the same.
    fn add_row(&mut self, switch: SwitchId, known: &Known) -> u32 {
        let base = self.topology.first_row(switch);
        let down = known.cables(self.topology);
        if !down.is_empty() && !self.reaches.contains_key(&down) {
            self.reaches.insert(down.clone(), Reach::over(self.topology, &down, self.go_on));
        }
        let (topology, reach) = (&mut *self.topology, self.reaches.get(&down));
        let routes: Vec<Vec<u16>> = topology
            .leaf_ids()
            .map(|leaf| {
                let works = |port: &u16| !known.ports.contains(port);
                let given = topology.fixed_ports(switch, leaf);
                match reach {
                    _ if given.iter().any(works) => given.iter().copied().filter(works).collect(),
                    Some(reach) => reach.ports(topology, switch, leaf, &down).into_iter().filter(works).collect(),
                    None => topology.uplinks(switch, leaf).iter().copied().filter(works).collect(),
                }
            })
            .collect();
        let same = topology.leaf_ids().zip(&routes).all(|(leaf, ports)| topology.uplinks(switch, leaf) == ports);
        if same { base } else { topology.add_row(&routes) }
    }
}

/// Maximum number of switches a packet may pass where recomputed routes can loop: the default IPv4 time to live of
/// hosts.
pub(super) const HOP_LIMIT: u8 = 64;

/// The changes at each switch, and when they happen.
type Steps = Table<SwitchId, Vec<(Time, Step)>>;

/// Returns the changes at each switch, and when they happen, if it recomputes its routes `control` after it has heard
/// of a change; and the maps that the steps name. Adds the routes to `topology`, unless its routes stay as wired: a
/// scheme that routes around dead links itself is only notified of them.
pub(super) fn steps(
    news: &Table<SwitchId, Vec<(Time, News)>>,
    control: Span,
    topology: &mut Topology,
    go_on: GoOn<'_>,
) -> (Steps, Vec<BTreeSet<LinkId>>) {
    let mut shared = Shared { topology, go_on, reaches: BTreeMap::new(), maps: vec![BTreeSet::new()] };
    let of = |(switch, news): (SwitchId, &Vec<(Time, News)>)| {
        Router::new(switch, shared.topology).live(news, control, &mut shared)
    };
    (news.numbered().map(of).collect(), shared.maps)
}

/// A switch that learns, and the resulting changes.
struct Router {
    switch: SwitchId,
    known: Known,
    /// Links whose senders consider them down, as far as it has heard.
    heard: BTreeSet<LinkId>,
    /// When it will have computed its routes from that.
    due: Option<Time>,
    row: u32,
    rows: BTreeMap<Known, u32>,
    map: u32,
    steps: Vec<(Time, Step)>,
}

impl Router {
    fn new(switch: SwitchId, topology: &Topology) -> Router {
        let row = topology.first_row(switch);
        Router {
            switch,
            known: Known::default(),
            heard: BTreeSet::new(),
            due: None,
            row,
            rows: BTreeMap::from([(Known::default(), row)]),
            map: 0,
            steps: Vec::new(),
        }
    }

    fn learn(&mut self, news: News, at: Time, control: Span) {
        match news {
            News::Own(port, Seen::Down) => _ = self.known.ports.insert(port),
            News::Own(port, _) => _ = self.known.ports.remove(&port),
            News::Heard { link, down } => {
                if down {
                    self.heard.insert(link);
                } else {
                    self.heard.remove(&link);
                }
                self.due.get_or_insert(at + control);
            }
        }
    }

    /// Learns all news in turn. Returns what changes, and when.
    fn live(mut self, news: &[(Time, News)], control: Span, shared: &mut Shared<'_>) -> Vec<(Time, Step)> {
        for news in news.chunk_by(|a, b| a.0 == b.0).take_while(|_| (shared.go_on)()) {
            let at = news[0].0;
            if let Some(due) = self.due.filter(|&due| due < at) {
                self.compute(due, shared);
            }
            news.iter().for_each(|&(_, item)| self.learn(item, at, control));
            self.compute(at, shared);
            self.tell(news);
        }
        if let Some(due) = self.due {
            self.compute(due, shared);
        }
        self.steps
    }

    /// Uses its knowledge at `at`, including everything it has heard if its computation is done by then.
    fn compute(&mut self, at: Time, shared: &mut Shared<'_>) {
        if self.due.is_some_and(|due| due <= at) {
            self.due = None;
            self.known.links.clone_from(&self.heard);
        }
        if shared.topology.as_wired {
            return;
        }
        let row = match self.rows.get(&self.known) {
            Some(&row) => row,
            None => {
                let row = shared.add_row(self.switch, &self.known);
                self.rows.insert(self.known.clone(), row);
                row
            }
        };
        if row != self.row {
            self.row = row;
            self.steps.push((at, Step::Routes(row)));
        }
        let map = shared.map(&self.known.cables(shared.topology));
        if map != self.map {
            self.map = map;
            self.steps.push((at, Step::Map(map)));
        }
    }

    /// Notifies the scheme about the switch's own ports.
    fn tell(&mut self, news: &[(Time, News)]) {
        self.steps.extend(news.iter().filter_map(|&(at, item)| match item {
            News::Own(port, Seen::Down) => Some((at, Step::Down(port))),
            News::Own(port, Seen::Degraded) => Some((at, Step::Degraded(port))),
            News::Own(port, Seen::Up) => Some((at, Step::Up(port))),
            News::Heard { .. } => None,
        }));
    }
}
