//! The last leaf of ConWeave with a port that keeps the contract of held queues, as the simulator's shell does.

use super::{Shell, data};
use spinewise_policy::fabric::reorder::header::{Body, Header};
use spinewise_policy::fabric::reorder::{InUse, TIMER};
use spinewise_policy::out::Action;
use spinewise_policy::schemes::conweave::{ConWeave, Config};
use spinewise_policy::*;
use std::collections::{BTreeMap, VecDeque};

/// A packet of a flow, by its position in the flow.
pub(crate) type Item = (u32, u64);

/// An item that waits for the line.
pub(crate) enum Waiting {
    Packet(Item),
    Lane(usize),
}

/// A held queue.
#[derive(Clone, Default)]
pub(crate) struct Lane {
    pub packets: VecDeque<Item>,
    pub taken: bool,
    pub released: bool,
}

/// The last leaf with the port to one host: what the simulator's shell does, at its simplest.
pub(crate) struct LastHop {
    pub leaf: Shell<ConWeave>,
    pub service: u64,
    pub queue: VecDeque<Waiting>,
    pub lanes: Vec<Lane>,
    pub free_at: u64,
    pub armed: BTreeMap<u32, u64>,
    /// Items that the host received, in order.
    pub host: Vec<Item>,
    /// Control packets on their way back: flow, class, body.
    pub replies: Vec<(u32, u8, Body)>,
    /// How many times each (flow, series) was recorded.
    pub recorded: BTreeMap<(u32, &'static str), u32>,
    pub drained: u32,
}

impl LastHop {
    pub(crate) fn new(config: &Config, service: u64, queues: usize) -> Self {
        LastHop {
            leaf: Shell::new(config, Tier::Leaf, 1, 2),
            service,
            queue: VecDeque::new(),
            lanes: vec![Lane::default(); queues],
            free_at: 0,
            armed: BTreeMap::new(),
            host: vec![],
            replies: vec![],
            recorded: BTreeMap::new(),
            drained: 0,
        }
    }

    /// Starts what may start until `now`.
    pub(crate) fn run_to(&mut self, now: u64) {
        while self.free_at <= now {
            let (item, drained) = match self.queue.pop_front() {
                None => return,
                Some(Waiting::Packet(item)) => (item, None),
                Some(Waiting::Lane(at)) => {
                    let lane = &mut self.lanes[at];
                    let item = lane.packets.pop_front().expect("a released lane with packets");
                    if lane.packets.is_empty() {
                        (item, Some(at))
                    } else {
                        self.queue.push_front(Waiting::Lane(at));
                        (item, None)
                    }
                }
            };
            self.host.push(item);
            self.leaf.now = Time(self.free_at);
            self.free_at += self.service;
            if let Some(at) = drained {
                self.drain(at, item.0);
            }
        }
    }

    pub(crate) fn drain(&mut self, at: usize, flow: u32) {
        self.lanes[at] = Lane::default();
        self.drained += 1;
        let queue = Queue(at as u16);
        self.leaf.call(None, Some(FlowKey(flow)), |policy, cx, row| policy.drained(cx, row, Port(0), queue));
        self.perform(flow);
    }

    /// A packet arrives; with `full` there is no room for it if it is to be held.
    pub(crate) fn arrive(&mut self, now: u64, item: Item, header: &Header, ce: bool, full: bool) {
        self.run_to(now);
        self.leaf.now = Time(now);
        self.leaf.room.ports.free = self.lanes.iter().position(|lane| !lane.taken).map(|at| Queue(at as u16));
        let mut bytes = [0; 16];
        header.put(&mut bytes);
        let packet = Packet { ce, in_port: Port(4), out_port: Port(0), ..data(item.0) };
        match self.leaf.ingress(0, &packet, &mut Header::get(&bytes)) {
            Verdict::Forward => {
                self.free_at = if self.queue.is_empty() { self.free_at.max(now) } else { self.free_at };
                self.queue.push_back(Waiting::Packet(item));
            }
            Verdict::Hold(queue) => {
                let lane = &mut self.lanes[queue.0 as usize];
                lane.taken = true;
                if !full {
                    lane.packets.push_back(item);
                }
            }
            Verdict::Consume => panic!("data"),
        }
        self.perform(item.0);
        self.run_to(now);
    }

    /// The timer of `flow` planned for `now` is due, if it still is.
    pub(crate) fn expire(&mut self, now: u64, flow: u32) {
        self.run_to(now);
        if self.armed.get(&flow) == Some(&now) {
            self.armed.remove(&flow);
            self.leaf.now = Time(now);
            self.leaf.timer(Key::Flow(FlowKey(flow), TIMER));
            self.perform(flow);
            self.run_to(now);
        }
    }

    pub(crate) fn perform(&mut self, flow: u32) {
        let (did, bodies) = (std::mem::take(&mut self.leaf.did), std::mem::take(&mut self.leaf.bodies));
        for action in did {
            match action {
                Action::Arm { key, at } => {
                    assert_eq!(key, Key::Flow(FlowKey(flow), TIMER));
                    assert!(at >= self.leaf.now);
                    self.armed.insert(flow, at.0);
                }
                Action::Cancel { .. } => drop(self.armed.remove(&flow)),
                Action::Release { port: Port(0), queue } => {
                    let at = queue.0 as usize;
                    assert!(self.lanes[at].taken && !self.lanes[at].released, "a queue is released once");
                    if self.lanes[at].packets.is_empty() {
                        self.drain(at, flow);
                    } else {
                        self.lanes[at].released = true;
                        self.free_at =
                            if self.queue.is_empty() { self.free_at.max(self.leaf.now.0) } else { self.free_at };
                        self.queue.push_back(Waiting::Lane(at));
                    }
                }
                Action::Send { to: To::Leaf(0), class, at, len, .. } => {
                    let body = Body::get(&bodies[at as usize..(at + len) as usize]).expect("a body");
                    self.replies.push((flow, class, body));
                }
                Action::Record { series, .. } => {
                    let name = ConWeave::SHEET.series[series as usize].name;
                    *self.recorded.entry((flow, name)).or_default() += 1;
                }
                other => panic!("{other:?}"),
            }
        }
    }

    pub(crate) fn count(&self, name: &str) -> u32 {
        self.recorded.iter().filter(|((_, series), _)| *series == name).map(|(_, n)| n).sum()
    }

    /// Flows with a packet that reached the host after a later one.
    pub(crate) fn inverted(&self) -> Vec<u32> {
        let mut newest = BTreeMap::new();
        let mut flows: Vec<u32> = vec![];
        for &(flow, place) in &self.host {
            let newest = newest.entry(flow).or_insert(place);
            if place < *newest && !flows.contains(&flow) {
                flows.push(flow);
            }
            *newest = (*newest).max(place);
        }
        flows
    }

    /// Checks that nothing waits, nothing is held, no timer runs, no queue is taken, and the ports' rows know it.
    pub(crate) fn assert_empty(&mut self) {
        self.run_to(u64::MAX / 2);
        assert!(self.queue.is_empty() && self.armed.is_empty());
        assert!(self.lanes.iter().all(|lane| !lane.taken && lane.packets.is_empty()), "a queue has leaked");
        assert_eq!(self.leaf.ports[0], InUse(0));
        let counts = (self.count("reorder_queues"), self.count("drained_queues"));
        assert_eq!(counts, (self.drained, self.drained), "each was taken once and drained once");
    }
}
