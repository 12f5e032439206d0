//! The seats of one scheme: each device's rows and timers.

use super::{Called, Lend};
use crate::packet::Tags;
use crate::rows::{FlowRows, NumberMap};
use crate::topology::Topology;
use spinewise_policy::{Hooks, Key, Layout, Peers, Policy, Rng, Shape, Sheet, Tier, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The rows of one device under scheme `P`.
pub(super) struct Seat<P: Policy> {
    /// It keeps rows for peers.
    pub(super) meets: bool,
    /// Rows per peer in `routes`.
    pub(super) stride: usize,
    pub(super) node: P::Node,
    pub(super) ports: Vec<P::Port>,
    pub(super) flows: FlowRows<P::Flow>,
    pub(super) index: NumberMap<u32>,
    pub(super) ids: Vec<u32>,
    pub(super) peers: Vec<P::Peer>,
    pub(super) routes: Vec<P::Route>,
    pub(super) rng: Rng,
    pub(super) armed: BTreeMap<Key, Armed>,
}

/// A timer of a scheme.
#[derive(Clone, Copy, Debug)]
pub(super) struct Armed {
    /// When it expires.
    pub(super) at: Time,
    /// When its event comes, which is not later.
    pub(super) planned: Time,
}

/// What the event of a timer led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fired {
    /// Nothing: the timer was cancelled or planned anew.
    Stale,
    /// Nothing yet: it was moved, and its event comes again at this instant.
    Early(Time),
    /// The scheme was called.
    Done,
}

/// All seats of one scheme.
pub struct Seats<P: Policy> {
    pub(super) policy: P,
    pub(super) sheet: &'static Sheet,
    pub(super) hooks: Hooks,
    pub(super) seed: u64,
    shapes: Vec<Shape>,
    pub(super) layouts: Arc<[Layout]>,
    /// Kind (index into `shapes`) of each seat.
    pub(super) kinds: Arc<[u16]>,
    pub(super) seats: Vec<Option<Box<Seat<P>>>>,
    /// Actions and bytes that any layout needs room for.
    pub(super) room: (usize, usize),
    /// A seat as it was before its rehearsal.
    rehearsed: Option<Box<Seat<P>>>,
}

/// The seats: the kinds of places, and the kind of each.
#[derive(Clone, Debug)]
pub struct Places {
    /// Kinds of places.
    pub shapes: Vec<Shape>,
    /// Kind of each seat.
    pub kinds: Vec<u16>,
    /// The meaning of path tags that a scheme writes there.
    pub tags: Tags,
}

impl Places {
    /// All hosts, which are alike.
    pub fn hosts(topology: &Topology, tags: Tags) -> Places {
        Places { shapes: vec![shape(topology, Tier::Host, 1)], kinds: vec![0; topology.hosts as usize], tags }
    }

    /// All switches. Those of one tier with the same number of ports are alike: a scheme may use its rows for its
    /// ports.
    pub fn switches(topology: &Topology, tags: Tags) -> Places {
        let place = |switch| (topology.tier(switch), topology.ports(topology.switch_node(switch)));
        let mut shapes: Vec<Shape> = Vec::new();
        let mut kinds = Vec::with_capacity(topology.switches() as usize);
        for (tier, ports) in topology.switch_ids().map(place) {
            let known = shapes.iter().position(|shape| (shape.tier, shape.ports) == (tier, ports));
            kinds.push(known.unwrap_or(shapes.len()) as u16);
            if known.is_none() {
                shapes.push(shape(topology, tier, ports));
            }
        }
        Places { shapes, kinds, tags }
    }
}

fn shape(topology: &Topology, tier: Tier, ports: u16) -> Shape {
    Shape { tier, hosts: topology.hosts, leaves: topology.leaves, ports, ways: topology.most_ways }
}

impl<P: Policy> Seats<P>
where
    P::Site: Lend,
{
    pub(super) fn new(policy: P, sheet: &'static Sheet, places: &Places, seed: u64, called: Called) -> Self {
        let layouts: Arc<[Layout]> = places.shapes.iter().map(|shape| policy.layout(shape)).collect();
        let actions = layouts.iter().map(|layout| layout.actions).max().unwrap_or(0);
        let bytes = layouts.iter().map(|layout| layout.bytes).max().unwrap_or(0);
        Seats {
            hooks: match called {
                Called::AsItSays => policy.hooks(),
                Called::Always => Hooks::ALL,
            },
            policy,
            sheet,
            seed,
            shapes: places.shapes.clone(),
            layouts,
            kinds: places.kinds.clone().into(),
            seats: places.kinds.iter().map(|_| None).collect(),
            room: (actions, bytes),
            rehearsed: None,
        }
    }

    /// Keeps a copy of a seat.
    #[cold]
    pub(super) fn keep(&mut self, seat: u32) {
        self.rehearsed = self.seats[seat as usize].as_deref().map(|seat| Box::new(seat.twin()));
    }

    /// Restores a seat to the kept copy.
    #[cold]
    pub(super) fn restore(&mut self, seat: u32) {
        self.seats[seat as usize] = self.rehearsed.take();
    }

    /// The rows a device has for its peers, in the order of meeting: for tests of what a scheme remembers.
    pub fn peer_rows(&self, seat: u32) -> &[P::Peer] {
        self.seats[seat as usize].as_deref().map_or(&[], |seat| &seat.peers)
    }

    #[cold]
    pub(super) fn take_seat(&mut self, seat: u32) {
        let kind = usize::from(self.kinds[seat as usize]);
        let (shape, layout) = (&self.shapes[kind], &self.layouts[kind]);
        let place = u64::from(seat) << 1 | u64::from(shape.tier == Tier::Host);
        let mut taken = Box::new(Seat {
            meets: layout.peers != Peers::None,
            stride: match layout.slots {
                _ if size_of::<P::Route>() == 0 => 0,
                0 => usize::from(shape.ways),
                slots => usize::from(slots),
            },
            node: P::Node::default(),
            ports: vec![P::Port::default(); usize::from(shape.ports)],
            flows: FlowRows::new(layout.flow_idle),
            index: NumberMap::default(),
            ids: Vec::new(),
            peers: Vec::new(),
            routes: Vec::new(),
            rng: Rng::stream(self.seed, self.sheet.name, place),
            armed: BTreeMap::new(),
        });
        let known = match layout.peers {
            Peers::Hosts if layout.all_peers => shape.hosts,
            Peers::Leaves if layout.all_peers => shape.leaves,
            _ => 0,
        };
        for peer in 0..known {
            taken.meet(peer);
        }
        self.seats[seat as usize] = Some(taken);
    }
}

impl<P: Policy> Seat<P> {
    /// A copy of it.
    fn twin(&self) -> Self {
        Seat {
            meets: self.meets,
            stride: self.stride,
            node: self.node.clone(),
            ports: self.ports.clone(),
            flows: self.flows.clone(),
            index: self.index.clone(),
            ids: self.ids.clone(),
            peers: self.peers.clone(),
            routes: self.routes.clone(),
            rng: self.rng,
            armed: self.armed.clone(),
        }
    }

    pub(super) fn arm(&mut self, key: Key, at: Time) -> Option<Time> {
        if let Some(armed) = self.armed.get_mut(&key) {
            armed.at = at;
            // If it comes early, the event is planned again at that time: a timer moved with every packet costs one
            // event now and then.
            let earlier = at < armed.planned;
            armed.planned = armed.planned.min(at);
            return earlier.then_some(at);
        }
        self.armed.insert(key, Armed { at, planned: at });
        if let Key::Flow(flow, _) = key {
            self.flows.pin(P::row_of(flow).0);
        }
        Some(at)
    }

    /// The position of a peer's rows, made on first use.
    #[inline]
    pub(super) fn meet(&mut self, peer: u32) -> usize {
        if let Some(&at) = self.index.get(&peer) {
            return at as usize;
        }
        let at = self.ids.len();
        self.index.insert(peer, at as u32);
        self.ids.push(peer);
        self.peers.push(P::Peer::default());
        self.routes.resize((at + 1) * self.stride, P::Route::default());
        at
    }

    /// Resets a peer's rows to their state when it was met.
    #[cold]
    pub(super) fn forget_peer(&mut self, peer: u32) {
        let Some(&at) = self.index.get(&peer) else { return };
        let at = at as usize;
        self.peers[at] = P::Peer::default();
        self.routes[at * self.stride..(at + 1) * self.stride].fill(P::Route::default());
    }
}
