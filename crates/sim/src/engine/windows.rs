//! The engine: windows of time, node by node.
//!
//! What a node sends in a window arrives after the window's end, because no window is longer than the shortest link
//! delay. So within a window each node gathers what arrives, sorts it once, and works it off together with its own
//! plans, touching nothing but itself and the far ends of its own links. That is the conservative parallel algorithm,
//! run by one thread, and it is what keeps a node's state in the cache for a whole window.

use super::{Grid, NODES_PER_EVENT, Sim, WATCH_EVERY};
use crate::ids::{HostId, LinkId, NodeId};
use crate::link::Wires;
use crate::net::Net;
use crate::packet::InHand;
use crate::port::Port;
use crate::warden::{Interrupted, Watch};
use spinewise_policy::{Span, Time};

/// Sort keys are (offset in the window, in-port): 40 and 24 bits.
const PORT_BITS: u32 = 24;
const PORT_MASK: u64 = (1 << PORT_BITS) - 1;

/// A network of fewer links fits into the second level of cache as it is.
const TOUCH_FROM: usize = 1024;
/// How many packets of each link are touched ahead: about as many as come in a window on a busy one.
const TOUCH_IN: usize = 6;

/// Runs to the end, in windows of at most `window`. Returns the instant it stopped at.
///
/// # Errors
/// [`Interrupted`] if `watch` says so.
pub fn run(sim: &mut Sim<'_>, window: Span, mut watch: Watch<'_>) -> Result<Time, Interrupted> {
    assert!(window > Span::ZERO && window.0 < 1 << (64 - PORT_BITS), "windows last from 1 ps to 1.09 s");
    let nodes = sim.net.topology.nodes();
    for node in sim.net.topology.node_ids() {
        sim.world.wires.due[node] = sim.planned(node).0;
    }
    let mut grid = Grid::new(sim);
    let (mut todo, mut room) = (Vec::new(), Room::default());
    let mut hand = InHand::default();
    let mut touched = 0;
    // Work since the beginning, in events, and how much of it there is to be before the next look at the watch.
    let (mut scanned, mut look_at) = (0, WATCH_EVERY);
    let ahead = sim.world.wires.heads.len() >= TOUCH_FROM;
    loop {
        let start = sim.world.wires.due.iter().copied().min().unwrap_or(Time::NEVER);
        if grid.is_due(start) {
            sim.publish();
        }
        if let Some(stop) = grid.over(start, sim) {
            std::hint::black_box(touched);
            sim.sample_until(stop);
            return Ok(stop);
        }
        sim.sample_until(start);
        let end = (start + window).min(grid.barrier()).min(sim.next_sample());
        todo.clear();
        todo.extend(sim.net.topology.node_ids().filter(|&node| sim.world.wires.due[node] < end));
        if let Some(samples) = &mut sim.samples {
            todo.iter().for_each(|&node| samples.touch(node));
        }
        for (i, &node) in todo.iter().enumerate() {
            if ahead && let Some(&next) = todo.get(i + 1) {
                touched ^= touch(sim, next, end);
            }
            if let Some(host) = sim.net.topology.as_host(node) {
                work_host(sim, (node, host), end, &mut hand);
                if !sim.world.flows.operations.news.is_empty() {
                    for (host, at) in sim.spread_news() {
                        let due = &mut sim.world.wires.due[sim.net.topology.host_node(host)];
                        *due = at.min(*due);
                    }
                }
            } else {
                work_switch(sim, node, (start, end), &mut room, &mut hand);
            }
            if sim.world.log.events + scanned >= look_at {
                look_at = sim.world.log.events + scanned + WATCH_EVERY;
                sim.may_go_on(start, &mut watch)?;
            }
        }
        scanned += 1 + u64::from(nodes / NODES_PER_EVENT);
    }
}

/// A host's window: its one link, its NIC and its timers, whichever comes first.
fn work_host(sim: &mut Sim<'_>, (node, host): (NodeId, HostId), end: Time, hand: &mut InHand) {
    let link = sim.net.topology.first_link[node.index()];
    let late = sim.net.arrivals_first();
    let Sim { hosts, world, .. } = sim;
    let host = &mut hosts[host];
    let mut events = 0;
    loop {
        let (arrival, timer) = (world.wires.heads[link.index()], host.timers.next_at());
        let next = arrival.min(timer).min(host.wake);
        if next >= end {
            world.wires.due[node] = next;
            break;
        }
        events += 1;
        world.now = next;
        // At one instant: transmit-done, then arrival (or the other way round), then timers.
        if host.wake == next && !(arrival == next && late) {
            host.pull(world);
        } else if arrival == next {
            world.wires.pop(link, hand);
            host.arrive(world, hand);
        } else if let Some((_, what)) = host.timers.pop() {
            host.fire(world, what);
        }
    }
    world.log.events += events;
}

/// A switch's window.
fn work_switch(sim: &mut Sim<'_>, node: NodeId, (start, end): (Time, Time), room: &mut Room, hand: &mut InHand) {
    let Room { keys, sorter } = room;
    let links = sim.net.topology.in_links(node);
    let first = links.start;
    gather(sim.net, &sim.world.wires, links.clone(), (start, end), keys, sorter);
    let Sim { net, switches, world, .. } = sim;
    let switch = &mut switches[net.topology.switch_number(node)];
    if world.wires.heads.len() >= TOUCH_FROM && keys.len() >= switch.ports.len() {
        std::hint::black_box(switch.ports.iter().fold(0, |touched, port| touched ^ port.touch(&world.wires)));
    }
    let mut events = keys.len() as u64;
    for &key in keys.iter() {
        let now = Time(start.0 + (key >> PORT_BITS));
        while switch.timers.precede_arrival(now) {
            if let Some((at, what)) = switch.timers.pop() {
                events += 1;
                world.now = at;
                switch.fire(world, what);
            }
        }
        let port = (key & PORT_MASK) as u16;
        world.wires.take(first.plus(port), hand);
        world.now = now;
        switch.arrive(world, port, hand);
    }
    while switch.timers.next_at() < end {
        if let Some((at, what)) = switch.timers.pop() {
            events += 1;
            world.now = at;
            switch.fire(world, what);
        }
    }
    world.log.events += events;
    let mut due = switch.timers.next_at();
    if net.rules.marks_at_dequeue() {
        // Marks of packets that start before the window's end become final: after it, their receivers may read them.
        // When the next one starts the switch is visited, even if nothing happens there.
        for port in &mut switch.ports {
            if let Port::Fifo(port) = port {
                port.settle(end - Span(1), net.rules.of(port.class()), &mut world.wires);
                due = due.min(port.next_start());
            }
        }
    }
    due = due.min(world.wires.refresh_heads(links, end));
    world.wires.due[node] = due;
}

/// Reads what a node will need whose turn is next: loads that nothing waits for, while another node is at work.
#[inline]
fn touch(sim: &Sim<'_>, node: NodeId, end: Time) -> u64 {
    let mut touched = 0;
    for link in LinkId::each(sim.net.topology.in_links(node)) {
        if sim.world.wires.heads[link.index()] < end {
            let ring = sim.world.wires.ring(link);
            touched ^= (0..ring.len().min(TOUCH_IN)).fold(0, |touched, i| touched ^ ring.get(i).seq);
            if sim.net.topology.is_host(node) {
                touched ^= sim.world.flows.touch(ring.get(0));
            }
        }
    }
    touched
}

/// Room to sort in, used again and again.
#[derive(Default)]
struct Room {
    keys: Vec<u64>,
    sorter: Sorter,
}

/// Sorts the keys of a window: arrivals spread over it fairly evenly, so they go into buckets by time first, and hardly
/// anything is left to be compared.
#[derive(Default)]
struct Sorter {
    spare: Vec<u64>,
}

impl Sorter {
    const MOST_BUCKETS: usize = 256;
    const FEW: usize = 24;

    /// Sorts `keys`, all of which lie in a window as long as this. Do any two arrivals fall on one instant?
    fn sort(&mut self, keys: &mut [u64], window: Span) -> bool {
        if keys.len() > Self::FEW {
            self.spread(keys, window);
        }
        let mut ties = false;
        for i in 1..keys.len() {
            let key = keys[i];
            let mut at = i;
            while at > 0 && keys[at - 1] > key {
                keys[at] = keys[at - 1];
                at -= 1;
            }
            keys[at] = key;
            ties |= at > 0 && (keys[at - 1] ^ key) >> PORT_BITS == 0;
            ties |= at < i && (keys[at + 1] ^ key) >> PORT_BITS == 0;
        }
        ties
    }

    /// Puts keys into the order of their buckets, about one bucket a key.
    fn spread(&mut self, keys: &mut [u64], window: Span) {
        let buckets = keys.len().next_power_of_two().min(Self::MOST_BUCKETS);
        // The largest offset falls into the last bucket or one before it.
        let bits = 64 - window.0.leading_zeros();
        let shift = PORT_BITS + bits.saturating_sub(buckets.trailing_zeros());
        let bucket = |key: u64| ((key >> shift) as usize).min(buckets - 1);
        let mut room = [0u32; Self::MOST_BUCKETS];
        let ends = &mut room[..buckets];
        for &key in keys.iter() {
            ends[bucket(key)] += 1;
        }
        let mut sum = 0;
        for end in ends.iter_mut() {
            sum += *end;
            *end = sum;
        }
        self.spare.resize(keys.len(), 0);
        for &key in keys.iter().rev() {
            let end = &mut ends[bucket(key)];
            *end -= 1;
            self.spare[*end as usize] = key;
        }
        keys.copy_from_slice(&self.spare);
    }
}

/// Collects what arrives before `end`, in the order it is worked off.
#[inline]
fn gather(
    net: &Net,
    wires: &Wires,
    links: std::ops::Range<LinkId>,
    (start, end): (Time, Time),
    keys: &mut Vec<u64>,
    sorter: &mut Sorter,
) {
    keys.clear();
    let heads = &wires.heads[links.start.index()..links.end.index()];
    'ports: for (port, &head) in heads.iter().enumerate() {
        if head >= end {
            continue;
        }
        let port = port as u64;
        let (front, back) = wires.ring(links.start.plus(port as u16)).slices();
        // One loop within the other: an iterator over both pieces is slower.
        for part in [front, back] {
            for packet in part {
                if packet.at >= end {
                    continue 'ports;
                }
                keys.push((packet.at.0 - start.0) << PORT_BITS | port);
            }
        }
    }
    if sorter.sort(keys, end.since(start)) {
        break_ties(net, links.start, start, keys);
    }
}

/// Arrivals at the same instant go in an order mixed afresh for each instant.
#[cold]
fn break_ties(net: &Net, first: LinkId, start: Time, keys: &mut [u64]) {
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
        let place = |key: &u64| {
            let link = first.plus((key & PORT_MASK) as u16);
            (net.tie(Time(start.0 + offset), link), link)
        };
        match &mut keys[from..i] {
            // As good as all of them.
            [one, other] => {
                if place(one) > place(other) {
                    std::mem::swap(one, other);
                }
            }
            many => many.sort_unstable_by_key(place),
        }
        i += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spinewise_policy::Rng;

    #[test]
    fn the_sorter_sorts() {
        let mut rng = Rng::stream(1, "sorter", 0);
        let mut sorter = Sorter::default();
        for round in 0..500u32 {
            let window = Span(1 + rng.bits() % (1 << (1 + round % 39)));
            let mut keys: Vec<u64> =
                (0..rng.below(300)).map(|_| (rng.bits() % window.0) << PORT_BITS | u64::from(rng.below(64))).collect();
            let mut expected = keys.clone();
            expected.sort_unstable();
            let ties = sorter.sort(&mut keys, window);
            assert_eq!(keys, expected);
            assert_eq!(ties, keys.windows(2).any(|pair| (pair[0] ^ pair[1]) >> PORT_BITS == 0));
        }
    }
}
