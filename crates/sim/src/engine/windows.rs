//! The engine: windows of time, node by node.
//!
//! Anything that a node sends in a window arrives after the window's end, because no window is longer than the shortest
//! link delay. So within a window each node gathers what arrives, sorts it once, and processes it together with its own
//! plans, touching nothing but itself and the far ends of its own links. That is the conservative parallel algorithm,
//! run by one thread here and by several in [`parts`](super::parts). It keeps a node's state in the cache for a whole
//! window, or for two: see [`blocks`].

mod blocks;
mod fetch;
mod sorter;

use super::{Grid, NODES_PER_EVENT, Sim, WATCH_EVERY};
use crate::ids::{HostId, LinkId, NodeId};
use crate::link::{Track, Wires};
use crate::net::Net;
use crate::operations::News;
use crate::packet::{InHand, Packet};
use crate::ring::Ring;
use crate::warden::{Interrupted, Watch};
use blocks::Blocks;
pub(super) use blocks::{Stretch, in_order_of_visits, switches_around};
use fetch::{AHEAD, fetch_ahead};
use sorter::{PLACE_BITS, Place, Sorter};
use spinewise_policy::{Span, Time};
use std::ops::Range;

/// A network with fewer links than this fits into the second-level cache as it is.
const LARGE: usize = 1024;
/// Blocks are used if at least one node in this many has something to do.
pub(super) const BUSY: usize = 16;
/// If this many nodes have something to do in a window, some are likely to in the next.
const MANY: usize = 8;
/// The engine prefetches if at least one node in this many has something to do; below that it gains little.
const DENSE: usize = 2;
/// Most windows in a stretch.
pub(super) const MOST_WINDOWS: u64 = 64;

/// Runs to the end, in windows of at most `window`. Returns the instant it stopped at.
///
/// # Errors
/// [`Interrupted`] if `watch` asks for it.
pub fn run(sim: &mut Sim<'_>, window: Span, watch: Watch<'_>) -> Result<Time, Interrupted> {
    check(window);
    let nodes = sim.net.topology.nodes();
    for node in sim.net.topology.node_ids() {
        sim.world.wires.agenda.due[node] = sim.planned(node).0;
    }
    let mut grid = Grid::new(sim);
    let mut todo = Vec::new();
    let mut worker = Worker::new(watch);
    // News that hosts send each other outside the network reaches beyond the neighbours of a block.
    let mut blocks = sim.world.flows.operations.is_empty().then(|| Blocks::of(&sim.net.topology));
    // If many nodes have something to do in one window, some will in the next, so the scan for the earliest instant is
    // skipped.
    let mut goes_on = None;
    loop {
        let first = || sim.world.wires.agenda.due.iter().copied().min().unwrap_or(Time::NEVER);
        let start = goes_on.take().unwrap_or_else(first);
        if grid.is_due(start) {
            sim.publish();
        }
        if let Some(stop) = grid.over(start, sim)? {
            sim.sample_until(stop);
            return Ok(stop);
        }
        sim.sample_until(start);
        let barrier = grid.barrier().min(sim.next_sample());
        let end = (start + window).min(barrier);
        todo.clear();
        todo.extend(sim.world.wires.agenda.due.numbered().filter(|&(_, &due)| due < end).map(|(node, _)| node));
        match &mut blocks {
            Some(blocks) if end < barrier && todo.len() * BUSY >= nodes as usize => {
                let stretch = Stretch { start, window, end: barrier.min(start + window * MOST_WINDOWS) };
                let fetches = fetches(sim, todo.len(), nodes as usize);
                run_blocks(sim, blocks, &stretch, fetches, &mut worker)?;
            }
            _ => {
                worker.run_all(sim, &todo, (start, end), nodes as usize)?;
                goes_on = (end < barrier && todo.len() >= MANY).then_some(end);
            }
        }
        worker.scanned += 1 + u64::from(nodes / NODES_PER_EVENT);
    }
}

/// Checks that sort keys can hold the instants of a window.
pub(super) fn check(window: Span) {
    assert!(window > Span::ZERO && window.0 < 1 << (64 - PLACE_BITS), "windows last from 1 ps to 1.09 s");
}

/// Whether prefetching is worthwhile when `due` of `nodes` nodes have something to do.
pub(super) fn fetches(sim: &Sim<'_>, due: usize, nodes: usize) -> bool {
    sim.world.wires.agenda.heads.len() >= LARGE && due * DENSE >= nodes
}

/// Runs all nodes through a stretch of time, block by block.
fn run_blocks(
    sim: &mut Sim<'_>,
    blocks: &mut Blocks,
    stretch: &Stretch,
    fetches: bool,
    worker: &mut Worker<'_>,
) -> Result<(), Interrupted> {
    let windows = stretch.windows();
    blocks.begin();
    while !blocks.have_run(windows) {
        for block in blocks.all() {
            let may_run = blocks.may_run(block, windows);
            let end = may_run.end;
            worker.run_block(sim, [blocks.nodes(block), blocks.nodes(block + 1)], (stretch, may_run), fetches)?;
            blocks.has_run(block, end);
        }
    }
    Ok(())
}

/// Runs one node after another, and checks the watch now and then.
pub(super) struct Worker<'w> {
    room: Room,
    hand: InHand,
    todo: Vec<NodeId>,
    watch: Watch<'w>,
    /// Work other than events, counted in events; and the total of both at which to check the watch next.
    pub(super) scanned: u64,
    look_at: u64,
    /// Leaves news that hosts send outside the network where it is: the caller delivers it to other parts.
    pub(super) keeps_news: bool,
}

/// Delivers to hosts the news that others have sent outside the network.
pub(super) fn spread(sim: &mut Sim<'_>, news: Vec<News>) {
    for (host, at) in sim.spread(news) {
        let due = &mut sim.world.wires.agenda.due[sim.net.topology.host_node(host)];
        *due = at.min(*due);
    }
}

impl<'w> Worker<'w> {
    pub(super) fn new(watch: Watch<'w>) -> Self {
        Worker {
            room: Room::default(),
            hand: InHand::default(),
            todo: Vec::new(),
            watch,
            scanned: 0,
            look_at: WATCH_EVERY,
            keeps_news: false,
        }
    }

    /// Runs one window of the nodes that are `due`, out of `nodes` in all.
    pub(super) fn run_all(
        &mut self,
        sim: &mut Sim<'_>,
        due: &[NodeId],
        window: (Time, Time),
        nodes: usize,
    ) -> Result<(), Interrupted> {
        let fetches = fetches(sim, due.len(), nodes);
        for (i, &node) in due.iter().enumerate() {
            if fetches {
                fetch_ahead(sim, &due[i..], window.1);
            }
            self.run(sim, node, window)?;
        }
        Ok(())
    }

    /// Runs some windows of a block of nodes; what nodes send to others in their block arrives in a later window.
    /// `next` is the block that runs next.
    #[inline]
    pub(super) fn run_block(
        &mut self,
        sim: &mut Sim<'_>,
        [block, next]: [&[NodeId]; 2],
        (stretch, windows): (&Stretch, Range<u64>),
        fetches: bool,
    ) -> Result<(), Interrupted> {
        let first = windows.start;
        let mut todo = std::mem::take(&mut self.todo);
        for n in windows {
            let (start, end) = stretch.window(n);
            let is_due = |&node: &NodeId| sim.world.wires.agenda.due[node] < end;
            todo.clear();
            todo.extend(block.iter().filter(|node| is_due(node)));
            let due = todo.len();
            if fetches && n == first {
                // The next block's nodes as they are now: later arrivals are not prefetched.
                todo.extend(next.iter().filter(|node| is_due(node)).take(AHEAD));
            }
            for i in 0..due {
                if fetches && n == first {
                    fetch_ahead(sim, &todo[i..], end);
                }
                self.run(sim, todo[i], (start, end))?;
            }
        }
        self.todo = todo;
        Ok(())
    }

    /// Runs a node's window.
    #[inline]
    fn run(&mut self, sim: &mut Sim<'_>, node: NodeId, (start, end): (Time, Time)) -> Result<(), Interrupted> {
        if let Some(samples) = &mut sim.samples {
            samples.touch(node);
        }
        if let Some(host) = sim.net.topology.as_host(node) {
            work_host(sim, (node, host), end, &mut self.hand);
            if !self.keeps_news && !sim.world.flows.operations.news.is_empty() {
                let news = std::mem::take(&mut sim.world.flows.operations.news);
                spread(sim, news);
            }
        } else if sim.net.trimming.is_some() {
            work_switch::<2>(sim, node, (start, end), &mut self.room, &mut self.hand);
        } else {
            work_switch::<1>(sim, node, (start, end), &mut self.room, &mut self.hand);
        }
        let done = sim.world.log.events + self.scanned;
        if done >= self.look_at {
            self.look_at = done + WATCH_EVERY;
            self.look(sim, start)?;
        }
        Ok(())
    }

    /// Checks the watch.
    pub(super) fn look(&mut self, sim: &Sim<'_>, now: Time) -> Result<(), Interrupted> {
        sim.may_go_on(now, &mut self.watch)
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
        let (arrival, timer) = (world.wires.agenda.heads[link.index()], host.timers.next_at());
        let next = arrival.min(timer).min(host.wake);
        if next >= end {
            world.wires.agenda.due[node] = next;
            break;
        }
        events += 1;
        world.now = next;
        // Order at one instant: transmit-done, then arrival (or the other way round), then timers.
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

/// A switch's window. `TRACKS` is the number of tracks in use on each link: 2 where ports trim.
fn work_switch<const TRACKS: usize>(
    sim: &mut Sim<'_>,
    node: NodeId,
    (start, end): (Time, Time),
    room: &mut Room,
    hand: &mut InHand,
) {
    let Room { keys, sorter } = room;
    let links = sim.net.topology.in_links(node);
    let first = links.start;
    let next = gather::<TRACKS>(sim.net, &mut sim.world.wires, links, (start, end), keys, sorter);
    let Sim { net, switches, world, .. } = sim;
    let switch = &mut switches[net.topology.switch_number(node)];
    let mut events = keys.len() as u64;
    for &key in keys.iter() {
        let now = Time(start.0 + (key >> PLACE_BITS));
        while switch.timers.precede_arrival(now) {
            if let Some((at, what)) = switch.timers.pop() {
                events += 1;
                world.now = at;
                switch.fire(world, what);
            }
        }
        let Place { port, track } = Place::of(key);
        world.wires.take(first.plus(port), if TRACKS == 1 { Track::Main } else { track }, hand);
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
    if net.marks_later() {
        // Marks decided before the window's end become final: after it, receivers may read them. The switch is visited
        // when the next mark may be due, even if nothing happens there.
        due = due.min(switch.settle(end, &net.rules, &mut world.wires));
    }
    world.wires.agenda.due[node] = due.min(next);
}

/// Reused room for sorting.
#[derive(Default)]
struct Room {
    keys: Vec<u64>,
    sorter: Sorter,
}

/// Collects the packets that arrive before `end`, in processing order. The caller takes all of them: the heads of the
/// links are set to later arrivals. Returns the earliest of those.
#[inline]
fn gather<const TRACKS: usize>(
    net: &Net,
    wires: &mut Wires,
    links: std::ops::Range<LinkId>,
    (start, end): (Time, Time),
    keys: &mut Vec<u64>,
    sorter: &mut Sorter,
) -> Time {
    keys.clear();
    let mut earliest = Time::NEVER;
    for (port, (head, [main, ahead])) in (0..).zip(wires.each(links.clone())) {
        if *head < end {
            *head = gather_from(main, Place { port, track: Track::Main }, (start, end), keys);
            if TRACKS > 1 && !ahead.is_empty() {
                *head = (*head).min(gather_from(ahead, Place { port, track: Track::Ahead }, (start, end), keys));
            }
        }
        earliest = earliest.min(*head);
    }
    if sorter.sort(keys, end.since(start)) {
        sorter.break_ties(keys, |offset| {
            let ties = net.ties(Time(start.0 + offset));
            move |port| ties.place(links.start.plus(port))
        });
    }
    earliest
}

/// Collects the packets that arrive before `end` on one track of a link. Returns when the first packet after that
/// arrives.
#[inline(always)]
fn gather_from(flying: &Ring<Packet>, place: Place, (start, end): (Time, Time), keys: &mut Vec<u64>) -> Time {
    let (front, back) = flying.slices();
    // Nested loops: an iterator over both pieces is slower.
    for part in [front, back] {
        for packet in part {
            if packet.at >= end {
                return packet.at;
            }
            keys.push(place.at(Span(packet.at.0 - start.0)));
        }
    }
    Time::NEVER
}
