//! Prefetches the data of the next nodes while another node is at work.
//!
//! A large network does not fit into the cache. The data of a node is behind pointers, so it is prefetched in steps,
//! each once the previous one has arrived.

use crate::engine::Sim;
use crate::ids::{LinkId, NodeId};
use crate::port::Port;
use crate::prefetch;
use spinewise_policy::Time;

/// How many of a link's first packets are prefetched. They are contiguous, and processors fetch the rest of the run on
/// their own.
const PACKETS: usize = 3;

/// How many nodes ahead of the current one are prefetched.
pub(super) const AHEAD: usize = 4;

/// Prefetches the data that the nodes of `todo` need until `end`. The first is being run.
#[inline]
pub(super) fn fetch_ahead(sim: &Sim<'_>, todo: &[NodeId], end: Time) {
    let steps: [fn(&Sim<'_>, NodeId, Time); 1 + AHEAD] =
        [fetch_waiting, fetch_room, fetch_ends, fetch_arrivals, |sim, node, _| fetch_node(sim, node)];
    for (&node, step) in todo.iter().zip(steps) {
        step(sim, node, end);
    }
}

/// The node itself, and where its arrivals are.
#[inline(always)]
fn fetch_node(sim: &Sim<'_>, node: NodeId) {
    sim.world.wires.fetch_all(sim.net.topology.in_links(node));
    match sim.net.topology.as_host(node) {
        Some(host) => prefetch::one(&sim.hosts[host]),
        None => prefetch::one(&sim.switches[sim.net.topology.switch_number(node)]),
    }
}

/// Its arrivals; for a switch, also its ports and routes.
#[inline(always)]
fn fetch_arrivals(sim: &Sim<'_>, node: NodeId, end: Time) {
    for link in due_links(sim, node, end) {
        sim.world.wires.fetch_first(link, PACKETS);
    }
    if sim.net.topology.as_host(node).is_none() {
        sim.switches[sim.net.topology.switch_number(node)].fetch_parts(&sim.net.topology);
    }
}

/// Prefetches, for a host, the ends of the flows that packets arrive for; for a switch, the queues of its ports. Also
/// the place where it sends.
#[inline(always)]
fn fetch_ends(sim: &Sim<'_>, node: NodeId, end: Time) {
    let Some(host) = sim.net.topology.as_host(node) else {
        let switch = &sim.switches[sim.net.topology.switch_number(node)];
        switch.ports.iter().for_each(|port| port.fetch_queues(&sim.world.wires));
        return;
    };
    sim.world.wires.fetch(sim.hosts[host].line().link);
    for link in due_links(sim, node, end) {
        sim.world.wires.first(link, PACKETS).for_each(|packet| sim.world.flows.fetch(packet));
    }
}

/// Prefetches room for the packets it sends.
#[inline(always)]
fn fetch_room(sim: &Sim<'_>, node: NodeId, _: Time) {
    match sim.net.topology.as_host(node) {
        Some(host) => sim.world.wires.fetch_room(sim.hosts[host].line().link),
        None => {
            let switch = &sim.switches[sim.net.topology.switch_number(node)];
            switch.ports.iter().for_each(|port| port.fetch_room(&sim.world.wires));
        }
    }
}

/// Prefetches, for a switch, the packets that wait at its ports.
#[inline(always)]
fn fetch_waiting(sim: &Sim<'_>, node: NodeId, _: Time) {
    if sim.net.topology.as_host(node).is_none() {
        sim.switches[sim.net.topology.switch_number(node)].ports.iter().for_each(Port::fetch_first);
    }
}

/// The links on which something arrives.
#[inline(always)]
fn due_links(sim: &Sim<'_>, node: NodeId, end: Time) -> impl Iterator<Item = LinkId> {
    LinkId::each(sim.net.topology.in_links(node)).filter(move |link| sim.world.wires.agenda.heads[link.index()] < end)
}
