//! The engine: windows of time, node by node.
//!
//! What a node sends in a window arrives after the window's end, because no window is longer than the shortest link
//! delay. So within a window each node gathers what arrives, sorts it once, and works it off together with its own
//! plans, touching nothing but itself and the far ends of its own links. That is the conservative parallel algorithm,
//! run by one thread, and it is what keeps a node's state in the cache for a whole window.

use super::{Grid, Interrupted, Sim, WATCH_EVERY, Watch};
use crate::packet::InHand;
use crate::timers::Class;
use spinewise_policy::{Span, Time};

/// Sort keys are (offset in the window, in-port): 40 and 24 bits.
const PORT_BITS: u32 = 24;

/// Runs to the end, in windows of at most `window`. Returns the instant it stopped at.
///
/// # Errors
/// [`Interrupted`] if `watch` says so.
pub fn run(sim: &mut Sim, window: Span, watch: Watch<'_>) -> Result<Time, Interrupted> {
    assert!(window > Span::ZERO && window.0 < 1 << (64 - PORT_BITS), "windows last from 1 ps to 1.09 s");
    let nodes = sim.net.topology.nodes();
    for node in 0..nodes {
        sim.wires.due[node as usize] = sim.planned(node).0;
    }
    let mut grid = Grid::new(sim.limits);
    let (mut todo, mut keys) = (Vec::new(), Vec::new());
    let mut touched = 0;
    let mut count = 0u64;
    loop {
        let start = sim.wires.due.iter().copied().min().unwrap_or(Time::NEVER);
        if let Some(stop) = grid.over(start, &sim.flows) {
            std::hint::black_box(touched);
            return Ok(stop);
        }
        let end = (start + window).min(grid.barrier());
        todo.clear();
        todo.extend((0..nodes).filter(|&node| sim.wires.due[node as usize] < end));
        for (i, &node) in todo.iter().enumerate() {
            if let Some(&next) = todo.get(i + 1) {
                touched ^= touch(sim, next, end);
            }
            work(sim, node, start, end, &mut keys);
        }
        count += 1;
        if count.is_multiple_of(WATCH_EVERY) && !watch(sim.progress(end)) {
            return Err(Interrupted);
        }
    }
}

/// One node's window.
#[inline]
fn work(sim: &mut Sim, node: u32, start: Time, end: Time, keys: &mut Vec<u64>) {
    let first = sim.net.topology.first_link[node as usize];
    gather(sim, node, start, end, keys);
    std::hint::black_box(touch_ports(sim, node, keys.len()));
    let mut hand = InHand::default();
    let mut arrivals = keys.iter();
    let mut next = arrivals.next();
    loop {
        let arrival = next.map_or(Time::NEVER, |key| Time(start.0 + (key >> PORT_BITS)));
        let (planned, class) = sim.planned(node);
        if (planned, class) < (arrival, Class::Arrival) {
            if planned >= end {
                break;
            }
            sim.do_planned(node, planned);
        } else if let Some(key) = next {
            let link = first + (key & ((1 << PORT_BITS) - 1)) as u32;
            sim.wires.pop(link, &mut hand);
            sim.arrive(node, link, arrival, &mut hand);
            next = arrivals.next();
        } else {
            break;
        }
    }
    let visit = settle(sim, node, end);
    let links = first as usize..sim.net.topology.first_link[node as usize + 1] as usize;
    let head = sim.wires.heads[links].iter().copied().min().unwrap_or(Time::NEVER);
    sim.wires.due[node as usize] = head.min(sim.planned(node).0).min(visit);
}

/// Reads what a node will need whose turn is next: loads that nothing waits for, while another node is at work.
#[inline]
fn touch(sim: &Sim, node: u32, end: Time) -> u64 {
    let (first, last) = (sim.net.topology.first_link[node as usize], sim.net.topology.first_link[node as usize + 1]);
    let mut touched = 0;
    for link in first..last {
        if sim.wires.heads[link as usize] < end {
            let ring = sim.wires.ring(link);
            touched ^= ring.get(0).seq ^ ring.get(ring.len().min(2) - 1).seq;
            if node < sim.net.topology.hosts {
                touched ^= sim.flows.touch(ring.get(0));
            }
        }
    }
    touched
}

/// Reads the ports of a switch that is about to do much.
#[inline]
fn touch_ports(sim: &Sim, node: u32, arrivals: usize) -> u64 {
    let Some(switch) = node.checked_sub(sim.net.topology.hosts) else { return 0 };
    let ports = &sim.switches[switch as usize].ports;
    if arrivals < ports.len() {
        return 0;
    }
    ports.iter().fold(0, |touched, port| touched ^ port.touch(&sim.wires))
}

/// Collects what arrives before `end`, in the order it is worked off.
#[inline]
fn gather(sim: &Sim, node: u32, start: Time, end: Time, keys: &mut Vec<u64>) {
    keys.clear();
    let (first, last) = (sim.net.topology.first_link[node as usize], sim.net.topology.first_link[node as usize + 1]);
    for link in first..last {
        if sim.wires.heads[link as usize] >= end {
            continue;
        }
        let ring = sim.wires.ring(link);
        for i in 0..ring.len() {
            let at = ring.get(i).at;
            if at >= end {
                break;
            }
            keys.push((at.0 - start.0) << PORT_BITS | u64::from(link - first));
        }
    }
    if last - first > 1 && keys.len() > 1 {
        keys.sort_unstable();
        break_ties(sim, first, start, keys);
    }
}

/// Arrivals at the same instant go in an order mixed afresh for each instant.
#[inline]
fn break_ties(sim: &Sim, first: u32, start: Time, keys: &mut [u64]) {
    let mut i = 1;
    while i < keys.len() {
        if keys[i] >> PORT_BITS != keys[i - 1] >> PORT_BITS {
            i += 1;
            continue;
        }
        let from = i - 1;
        let offset = keys[from] >> PORT_BITS;
        while i < keys.len() && keys[i] >> PORT_BITS == offset {
            i += 1;
        }
        keys[from..i].sort_unstable_by_key(|key| {
            let link = first + (key & ((1 << PORT_BITS) - 1)) as u32;
            (sim.net.tie(Time(start.0 + offset), link), link)
        });
        i += 1;
    }
}

/// Settles the marks of packets that start before the window's end: after it, their receivers may read them. Returns
/// when the next one starts: in that window the node is visited even if nothing happens there.
#[inline]
fn settle(sim: &mut Sim, node: u32, end: Time) -> Time {
    let hosts = sim.net.topology.hosts;
    let mut visit = Time::NEVER;
    if node >= hosts && sim.net.rules.marks_at_dequeue() {
        for port in &mut sim.switches[(node - hosts) as usize].ports {
            port.settle(end - Span(1), &sim.net.rules, &mut sim.wires);
            visit = visit.min(port.next_start());
        }
    }
    visit
}
