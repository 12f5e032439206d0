//! Deadlocks of priority flow control: ports that pause each other indefinitely.
//!
//! An egress queue is *stuck* if it is paused, has packets, and the switch behind its link still asks for the pause.
//! Queues that are not stuck drain eventually. So a stuck queue is freed if its pause would end once everything had
//! left except packets in other stuck queues; it is then no longer stuck, and so on (as operating systems look for
//! deadlocks: Holt, ACM Computing Surveys 1972). Those that remain wait for each other: only they hold the packets that
//! must leave first. Each waits for a queue of the next switch that holds packets which arrived on its link, so there
//! is a cycle.

use crate::ids::{LinkId, NodeId, SwitchId, Table};
use crate::switch::Switch;
use crate::topology::Topology;
use spinewise_policy::Time;
use std::collections::{BTreeMap, BTreeSet};

/// A queue of a data priority at an egress port: the link it feeds, and the priority.
type Queue = (LinkId, u8);

/// Whether flow control of this run can lead to a deadlock. Where pauses expire by themselves packets are dropped
/// instead.
pub(crate) fn is_possible(switches: &Table<SwitchId, Switch>) -> bool {
    switches.iter().any(|switch| switch.buffer.as_deref().is_some_and(|buffer| buffer.pauses_last()))
}

/// The links of a circle of queues that wait for each other at `now`, in order, from the node of the lowest number on.
pub(crate) fn find(switches: &Table<SwitchId, Switch>, topology: &Topology, now: Time) -> Option<Vec<LinkId>> {
    let mut stuck = stuck(switches, topology, now);
    while !stuck.is_empty() {
        let free: Vec<Queue> = free(switches, topology, &stuck);
        if free.is_empty() {
            return Some(circle(switches, topology, &stuck));
        }
        free.iter().for_each(|queue| {
            stuck.remove(queue);
        });
    }
    None
}

/// Returns the queues that are paused, have packets, and whose pause continues.
fn stuck(switches: &Table<SwitchId, Switch>, topology: &Topology, now: Time) -> BTreeSet<Queue> {
    let mut stuck = BTreeSet::new();
    for switch in switches {
        let Some(buffer) = switch.buffer.as_deref().filter(|buffer| buffer.pauses_last()) else { continue };
        for port in &switch.ports {
            let (Some(lanes), link) = (port.lanes(), port.line().link) else { continue };
            let paused = (0..buffer.priorities())
                .filter(|&priority| lanes.is_paused(priority, now) && lanes.waiting(priority).next().is_some());
            stuck.extend(
                paused
                    .filter(|&priority| asks(switches, topology, (link, priority), now))
                    .map(|priority| (link, priority)),
            );
        }
    }
    stuck
}

/// Whether the switch behind a link still asks for a pause.
fn asks(switches: &Table<SwitchId, Switch>, topology: &Topology, (link, priority): Queue, now: Time) -> bool {
    let (to, port) = topology.links[link].to;
    let buffer = topology.as_switch(to).and_then(|switch| switches[switch].buffer.as_deref());
    buffer.is_some_and(|buffer| buffer.is_pausing((port, priority), now))
}

/// Queues of `stuck` that would resume once all packets outside `stuck` have left.
fn free(switches: &Table<SwitchId, Switch>, topology: &Topology, stuck: &BTreeSet<Queue>) -> Vec<Queue> {
    let mut left: BTreeMap<NodeId, Vec<u64>> = BTreeMap::new();
    let mut free = Vec::new();
    for &(link, priority) in stuck {
        let (to, port) = topology.links[link].to;
        let switch = &switches[topology.switch_number(to)];
        let Some(buffer) = switch.buffer.as_deref() else { continue };
        let left = left.entry(to).or_insert_with(|| {
            let here = stuck.iter().filter(|&&(link, _)| topology.links[link].from.0 == to);
            let waiting = here.map(|&(link, priority)| (topology.links[link].from.1, priority));
            buffer.by_ingress(waiting.flat_map(|(port, priority)| switch.waiting(port, priority)))
        });
        if buffer.would_resume((port, priority), left) {
            free.push((link, priority));
        }
    }
    free
}

/// Returns a circle among queues that wait for each other: from the first, always to the first queue that holds packets
/// which must leave.
fn circle(switches: &Table<SwitchId, Switch>, topology: &Topology, stuck: &BTreeSet<Queue>) -> Vec<LinkId> {
    let next = |&(link, priority): &Queue| {
        let (to, port) = topology.links[link].to;
        let switch = &switches[topology.switch_number(to)];
        let behind = stuck.iter().filter(|&&(out, of)| topology.links[out].from.0 == to && of == priority);
        let holds = |&&(out, of): &&Queue| {
            let mut waiting = switch.waiting(topology.links[out].from.1, of);
            waiting.any(|(came, _)| came == Some((port, priority)))
        };
        behind.copied().find(|queue| holds(&queue))
    };
    let mut path: Vec<Queue> = stuck.first().copied().into_iter().collect();
    while let Some(queue) = path.last().and_then(next) {
        if let Some(start) = path.iter().position(|&seen| seen == queue) {
            path.drain(..start);
            break;
        }
        path.push(queue);
    }
    let first = (0..path.len()).min_by_key(|&at| topology.links[path[at].0].from);
    path.rotate_left(first.unwrap_or(0));
    path.into_iter().map(|(link, _)| link).collect()
}
