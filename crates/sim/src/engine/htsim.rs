//! The order of htsim: simultaneous events are handled in the order in which they were planned.
//!
//! [`planned`](super::planned) does the same for ns-3, which plans its events differently. In htsim each component has
//! at most one event planned (`eventlist.cpp`, `pipe.cpp`, `compositequeue.cpp`, `fat_tree_switch.cpp`, `uec.cpp`). A
//! pipe plans its next arrival once the one before has arrived. What arrives at a switch passes through it one packet
//! at a time, without delay but after everything else planned for that instant. A host's NIC and the port behind it
//! each plan the end of a transmission: the port first for data, the NIC first for control.

use super::Sim;
use super::plans::{self, Plans};
use crate::ids::{HostId, LinkId, NodeId, SwitchId, Table};
use crate::operations::News;
use crate::packet::InHand;
use crate::timers::What;
use crate::warden::{Interrupted, Watch};
use spinewise_policy::Time;
use std::collections::VecDeque;

/// A planned event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The first packet in flight on a link arrives.
    Arrival(LinkId),
    /// The first packet inside a switch gets to its port.
    Through(SwitchId),
    /// A transmission on a link ends.
    End(LinkId),
    /// The NIC of a host is free.
    Free(HostId),
    /// Something a node planned for itself.
    Plan(NodeId, What),
}

/// A packet that has been put on a link.
#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    /// Packets in its ring whose transmission has ended.
    flying: usize,
    /// A transmission is in progress; its end is planned.
    busy: bool,
    /// Its port waits for that end.
    wanted: bool,
}

struct Run {
    plans: Plans<Event>,
    sent: Table<LinkId, Sent>,
    /// Links out of each node.
    outs: Table<NodeId, Vec<LinkId>>,
    /// Per host: packets in the ring of its link that its NIC has sent.
    known: Table<HostId, usize>,
    /// Per switch: packets inside, with the links they came by.
    inside: Table<SwitchId, VecDeque<(LinkId, InHand)>>,
}

/// Runs to the end. Returns the instant it stopped at.
///
/// # Errors
/// [`Interrupted`] if `watch` asks for it.
pub fn run(sim: &mut Sim<'_>, watch: Watch<'_>) -> Result<Time, Interrupted> {
    let mut this = Run::new(sim);
    sim.hosts.iter_mut().for_each(|host| host.is_freed = true);
    sim.net.topology.node_ids().for_each(|node| this.list(sim, node, Time::ZERO));
    plans::run(&mut this, sim, watch)
}

impl plans::Order for Run {
    type Event = Event;

    fn plans(&mut self) -> &mut Plans<Event> {
        &mut self.plans
    }

    fn happen(&mut self, sim: &mut Sim<'_>, now: Time, _: u64, event: Event) {
        match event {
            Event::Arrival(link) => self.arrive(sim, link, now),
            Event::Through(switch) => self.pass(sim, switch, now),
            Event::End(link) => self.end(sim, link, now),
            Event::Free(host) => {
                sim.hosts[host].is_freed = true;
                sim.pull(host, now);
                self.list_host(sim, host, now);
            }
            Event::Plan(node, what) => {
                sim.fire(node, now, what);
                self.list(sim, node, now);
            }
        }
        for News { host, at, operation } in std::mem::take(&mut sim.world.flows.operations.news) {
            self.plans.plan(at, Event::Plan(sim.net.topology.host_node(host), What::Landed(operation)));
        }
    }
}

impl Run {
    fn new(sim: &Sim<'_>) -> Run {
        let topology = &sim.net.topology;
        Run {
            plans: Plans::default(),
            sent: Table::filled(Sent::default(), topology.links.len()),
            outs: plans::outs(topology),
            known: Table::filled(0, topology.hosts as usize),
            inside: Table::filled(VecDeque::new(), topology.switches() as usize),
        }
    }

    /// A packet arrives: at a host, or in a switch.
    fn arrive(&mut self, sim: &mut Sim<'_>, link: LinkId, now: Time) {
        let mut hand = sim.take_off(link, now);
        self.sent[link].flying -= 1;
        let from = sim.net.topology.links[link].from.0;
        if let Some(host) = sim.net.topology.as_host(from) {
            self.known[host] -= 1;
        }
        let node = sim.world.wires.agenda.to[link];
        if sim.net.topology.is_host(node) {
            sim.arrive(node, link, now, &mut hand);
            self.list(sim, node, now);
        } else {
            let switch = sim.net.topology.switch_number(node);
            let inside = &mut self.inside[switch];
            inside.push_back((link, hand));
            if inside.len() == 1 {
                self.plans.plan(now, Event::Through(switch));
            }
        }
        if self.sent[link].flying > 0 {
            self.plans.plan(sim.world.wires.ring(link).get(0).at, Event::Arrival(link));
        }
    }

    /// A packet gets to its port.
    fn pass(&mut self, sim: &mut Sim<'_>, switch: SwitchId, now: Time) {
        let Some((link, mut hand)) = self.inside[switch].pop_front() else { return };
        let node = sim.net.topology.switch_node(switch);
        sim.arrive(node, link, now, &mut hand);
        self.list(sim, node, now);
        if !self.inside[switch].is_empty() {
            self.plans.plan(now, Event::Through(switch));
        }
    }

    /// A transmission ends: the packet is in flight, and the next one starts.
    fn end(&mut self, sim: &mut Sim<'_>, link: LinkId, now: Time) {
        let sent = &mut self.sent[link];
        sent.busy = false;
        sent.flying += 1;
        if sent.flying == 1 {
            self.plans.plan(sim.world.wires.ring(link).get(0).at, Event::Arrival(link));
        }
        let (node, port) = sim.net.topology.links[link].from;
        if std::mem::take(&mut self.sent[link].wanted) {
            sim.fire(node, now, What::LateTransmitDone(port));
            self.list(sim, node, now);
        } else {
            self.begin(sim, link);
        }
    }

    /// Starts the packet that was put on a link behind those in flight, if there is one.
    fn begin(&mut self, sim: &Sim<'_>, link: LinkId) {
        let (ring, sent) = (sim.world.wires.ring(link), &mut self.sent[link]);
        if !sent.busy && ring.len() > sent.flying {
            sent.busy = true;
            let ends = ring.get(sent.flying).at - sim.line(link).delay();
            self.plans.plan(ends, Event::End(link));
        }
    }

    /// Lists the packets that `node` has sent and its plans.
    fn list(&mut self, sim: &mut Sim<'_>, node: NodeId, now: Time) {
        if let Some(host) = sim.net.topology.as_host(node) {
            self.list_host(sim, host, now);
        } else {
            self.list_switch(sim, node, now);
        }
    }

    /// Lists the packets that a host has sent and its plans.
    fn list_host(&mut self, sim: &mut Sim<'_>, host: HostId, now: Time) {
        let node = sim.net.topology.host_node(host);
        let link = self.outs[node][0];
        let sent = sim.world.wires.ring(link).len();
        if sent > std::mem::replace(&mut self.known[host], sent) {
            sim.hosts[host].is_freed = false;
            let last = sim.world.wires.ring(link).get(sent - 1);
            if !(last.is_control() || last.is_question()) {
                self.begin(sim, link);
            }
            self.plans.plan(sim.line(link).free_at(), Event::Free(host));
            self.begin(sim, link);
        }
        while let Some((at, what)) = sim.hosts[host].timers.pop() {
            match (what, sim.next_flow(host)) {
                // All flow starts are planned before anything happens, in flow order.
                (What::FlowStart, Some(flow)) => self.plans.plan_as(flow.number().into(), at, Event::Plan(node, what)),
                _ => self.plans.plan(at.max(now), Event::Plan(node, what)),
            }
        }
    }

    /// Lists the packets that a switch has sent and its plans. The end of a transmission that a port waits for is
    /// already planned; if it has passed, the port continues at once.
    fn list_switch(&mut self, sim: &mut Sim<'_>, node: NodeId, now: Time) {
        let switch = sim.net.topology.switch_number(node);
        self.begin_all(sim, node);
        while let Some((at, what)) = sim.switches[switch].timers.pop() {
            let (What::TransmitDone(port) | What::LateTransmitDone(port)) = what else {
                self.plans.plan(at, Event::Plan(node, what));
                continue;
            };
            let sent = &mut self.sent[self.outs[node][usize::from(port)]];
            if sent.busy {
                sent.wanted = true;
            } else {
                sim.fire(node, now, what);
                self.begin_all(sim, node);
            }
        }
    }

    /// Starts the packets that have been put on the links out of a node.
    fn begin_all(&mut self, sim: &Sim<'_>, node: NodeId) {
        for port in 0..self.outs[node].len() {
            self.begin(sim, self.outs[node][port]);
        }
    }
}
