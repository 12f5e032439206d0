//! The oracle: one heap holding the next arrival of every link and the next plan of every node.
//!
//! It takes one event at a time and knows nothing of windows, sorting or lookahead. Tests compare its results with
//! those of the other engine.

use super::{Grid, Sim, WATCH_EVERY};
use crate::ids::{LinkId, NodeId, Table};
use crate::timers::Class;
use crate::warden::{Interrupted, Watch};
use spinewise_policy::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// (instant, class, tie, what): `what` is a link for arrivals, a node for plans.
type Event = Reverse<(Time, Class, u64, u32)>;

/// Runs to the end. Returns the instant it stopped at.
///
/// # Errors
/// [`Interrupted`] if `watch` asks for it.
pub fn run(sim: &mut Sim<'_>, mut watch: Watch<'_>) -> Result<Time, Interrupted> {
    sim.world.wires.agenda.fresh = Some(Vec::new());
    let mut heap: BinaryHeap<Event> = BinaryHeap::new();
    // The heap's current entry for each node: any other entry is stale.
    let mut listed = Table::filled((Time::NEVER, Class::Sample), sim.net.topology.nodes() as usize);
    for node in sim.net.topology.node_ids() {
        list(sim, node, &mut listed, &mut heap);
    }
    let mut grid = Grid::new(sim);
    let mut count = 0u64;
    loop {
        let now = heap.peek().map_or(Time::NEVER, |event| event.0.0);
        if grid.is_due(now) {
            sim.publish();
        }
        if let Some(stop) = grid.over(now, sim)? {
            sim.sample_until(stop);
            return Ok(stop);
        }
        sim.sample_until(now);
        let Some(top) = heap.peek_mut() else { return Ok(sim.limits.until) };
        let Reverse((_, class, _, what)) = *top;
        let node = if class == Class::Arrival {
            arrive(sim, LinkId::new(what), top)
        } else {
            PeekMut::pop(top);
            let node = NodeId::new(what);
            if listed[node] != (now, class) {
                continue;
            }
            listed[node] = (Time::NEVER, Class::Sample);
            sim.do_planned(node, now);
            node
        };
        let mut fresh = sim.world.wires.agenda.fresh.take().unwrap_or_default();
        for link in fresh.drain(..) {
            heap.push(arrival(sim, link));
        }
        sim.world.wires.agenda.fresh = Some(fresh);
        if !sim.world.flows.operations.news.is_empty() {
            let news = std::mem::take(&mut sim.world.flows.operations.news);
            for (host, _) in sim.spread(news) {
                list(sim, sim.net.topology.host_node(host), &mut listed, &mut heap);
            }
        }
        list(sim, node, &mut listed, &mut heap);
        count += 1;
        if count.is_multiple_of(WATCH_EVERY) {
            sim.may_go_on(now, &mut watch)?;
        }
    }
}

/// The next arrival on a link that is not empty.
fn arrival(sim: &Sim<'_>, link: LinkId) -> Event {
    let at = sim.world.wires.agenda.heads[link.index()];
    Reverse((at, Class::Arrival, sim.net.ties(at).place(link), link.number()))
}

/// Takes the first packet off `link` and delivers it; its successor takes its place in the heap.
fn arrive(sim: &mut Sim<'_>, link: LinkId, mut top: PeekMut<'_, Event>) -> NodeId {
    let now = top.0.0;
    let mut hand = sim.take_off(link, now);
    if sim.world.wires.agenda.heads[link.index()] == Time::NEVER {
        PeekMut::pop(top);
    } else {
        *top = arrival(sim, link);
        drop(top);
    }
    let node = sim.world.wires.agenda.to[link];
    sim.arrive(node, link, now, &mut hand);
    node
}

/// Puts a node's next plan into the heap unless it is there already.
fn list(sim: &Sim<'_>, node: NodeId, listed: &mut Table<NodeId, (Time, Class)>, heap: &mut BinaryHeap<Event>) {
    let next = sim.planned(node);
    if next.0 != Time::NEVER && next != listed[node] {
        listed[node] = next;
        heap.push(Reverse((next.0, next.1, 0, node.number())));
    }
}
