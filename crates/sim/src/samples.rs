//! Samples of links at fixed intervals: the lengths of their queues, and how much of each interval they send.
//!
//! A sample is taken between events, after everything before its instant and before anything at it. So it plans
//! nothing, wakes no node and changes nothing, and both engines, all windows and both kinds of port give the same
//! samples. Only nodes at which something has happened since the last sample, or is in progress, are examined.

mod balance;
mod queue;

use balance::Balance;
pub(crate) use balance::Imbalance;
pub(crate) use queue::Lengths;

use crate::host::Host;
use crate::ids::{HostId, NodeId, SwitchId, Table};
use crate::line::Line;
use crate::link::Wires;
use crate::net::Net;
use crate::port::Freed;
use crate::switch::Switch;
use spinewise_policy::{Span, Time};

/// The state of the fabric between two events.
pub struct State<'a> {
    /// Fixed facts.
    pub net: &'a Net,
    /// The links.
    pub wires: &'a Wires,
    /// The hosts.
    pub hosts: &'a Table<HostId, Host>,
    /// The switches.
    pub switches: &'a Table<SwitchId, Switch>,
}

/// Observations of one link.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Time it had spent sending by the last sample at which it was looked at.
    busy: Span,
    /// The most time that it has spent sending in one interval.
    pub most_busy: Span,
    /// Bytes that waited for it.
    pub lengths: Lengths,
}

/// Samples of all links.
#[derive(Debug)]
pub struct Samples {
    interval: Span,
    /// When the next is taken.
    next: Time,
    /// By node: whether something has happened there since the last sample, or is in progress.
    active: Table<NodeId, bool>,
    /// Indexed by the place of a link in [`Topology::out_link`](crate::topology::Topology::out_link): by sender and
    /// port.
    seen: Vec<Seen>,
    balance: Balance,
    /// Time that each port of a node has spent sending in an interval; the storage is reused.
    sent: Vec<Span>,
}

/// An interval between two samples holds this many round trips on an empty path between racks,
const ROUND_TRIPS: u64 = 2;
/// and this many full packets of the fastest link: then a look at a port costs next to nothing beside what it has sent.
const PACKETS: u64 = 64;

impl Samples {
    /// Creates samples at this interval, or at one that follows from the fabric.
    pub fn new(interval: Option<Span>, net: &Net, grid: Span) -> Samples {
        let topology = &net.topology;
        let interval = interval.unwrap_or_else(|| fitting_interval(net, grid));
        Samples {
            interval,
            next: Time::ZERO + interval,
            active: Table::filled(false, topology.nodes() as usize),
            seen: vec![Seen::default(); topology.links.len()],
            balance: Balance::new(topology),
            sent: Vec::new(),
        }
    }

    /// The time from one sample to the next.
    pub fn interval(&self) -> Span {
        self.interval
    }

    /// Number of samples taken by `stop`.
    pub fn taken(&self, stop: Time) -> u64 {
        stop.0 / self.interval.0
    }

    /// Returns the observations of the link that this port of this node feeds.
    pub fn of(&self, net: &Net, (node, port): (NodeId, u16)) -> &Seen {
        &self.seen[net.topology.in_link(node, port).index()]
    }

    /// Returns how unevenly nodes have used their equal-cost links.
    pub fn imbalance(&self) -> Option<Imbalance> {
        self.balance.imbalance()
    }

    /// When the next is taken.
    #[inline]
    pub fn next(&self) -> Time {
        self.next
    }

    /// Something happens at this node.
    #[inline]
    pub fn touch(&mut self, node: NodeId) {
        self.active[node] = true;
    }

    /// Replaces the observations at these nodes by those of another thread, which took its samples of them.
    pub fn take_up(&mut self, net: &Net, nodes: impl Iterator<Item = NodeId>, mut other: Samples) {
        for node in nodes {
            for port in 0..net.topology.ports(node) {
                let place = net.topology.in_link(node, port).index();
                std::mem::swap(&mut self.seen[place], &mut other.seen[place]);
            }
            if let Some(switch) = net.topology.as_switch(node) {
                self.balance.take_up(switch, &mut other.balance);
            }
        }
    }

    /// Takes all samples up to `until`, before which everything has been done.
    pub fn catch_up(&mut self, until: Time, of: &State<'_>) {
        while self.next <= until {
            let goes_on = self.take(self.next, of);
            self.next += self.interval;
            if !goes_on && self.next <= until {
                // Until the next event all links rest and nothing waits, and nodes that rest need not be looked at.
                let skipped = until.since(self.next).0 / self.interval.0 + 1;
                self.next += self.interval * skipped;
            }
        }
    }

    /// Takes the sample of `at`. Returns whether anything is in progress at any node.
    fn take(&mut self, at: Time, of: &State<'_>) -> bool {
        let topology = &of.net.topology;
        let mut goes_on = false;
        for node in topology.node_ids() {
            if !self.active[node] {
                continue;
            }
            let first = topology.first_link[node.index()].index();
            let active = match topology.as_host(node) {
                Some(host) => self.look_at_host(&of.hosts[host], first, at, of),
                None => {
                    let switch = topology.switch_number(node);
                    self.look_at_switch(switch, &of.switches[switch], first, at, of)
                }
            };
            self.active[node] = active;
            goes_on |= active;
        }
        goes_on
    }

    fn look_at_host(&mut self, host: &Host, first: usize, at: Time, of: &State<'_>) -> bool {
        let seen = &mut self.seen[first];
        match host.nic_queue() {
            Some(port) => {
                let rests = port.rests_from(at - self.interval);
                let queue = || port.queue(at - Span(1), of.net.rules.of(port.class()), of.wires).0;
                look_at((port.line(), rests), queue, seen, at);
                !port.rests_from(at)
            }
            None => {
                note_sent(seen, host.line().busy_by(at));
                host.line().free_at() > at
            }
        }
    }

    fn look_at_switch(&mut self, number: SwitchId, switch: &Switch, first: usize, at: Time, of: &State<'_>) -> bool {
        let seen = &mut self.seen[first..first + switch.ports.len()];
        let mut active = false;
        self.sent.clear();
        for (port, seen) in switch.ports.iter().zip(seen) {
            let rests = port.rests_from(at - self.interval);
            let queue = || port.queue(at - Span(1), Freed::Already, of.net.rules.of(port.class()), of.wires).0;
            self.sent.push(look_at((port.line(), rests), queue, seen, at));
            active |= !port.rests_from(at);
        }
        self.balance.add(number, &self.sent);
        active
    }
}

/// Looks at a port at `at`, unless it has rested in the interval before. Returns how long it has been sending in that.
#[inline]
fn look_at((line, rests): (&Line, bool), queue: impl Fn() -> u64, seen: &mut Seen, at: Time) -> Span {
    if rests {
        return Span::ZERO;
    }
    // The queue as events of `at` will find it: packets that start then have not started.
    let waiting = queue();
    if waiting > 0 {
        seen.lengths.add(waiting);
    }
    note_sent(seen, line.busy_by(at))
}

/// Notes how long a link has spent sending. Returns how much of that was since the last sample.
#[inline]
fn note_sent(seen: &mut Seen, busy: Span) -> Span {
    let sent = busy - seen.busy;
    seen.busy = busy;
    seen.most_busy = seen.most_busy.max(sent);
    sent
}

/// Returns an interval on the grid of the run, where engines look up anyway.
fn fitting_interval(net: &Net, grid: Span) -> Span {
    let fastest = net.topology.links.iter().map(|link| link.rate).max().unwrap_or(1);
    let packets = Span(net.clock.tx_time(u64::from(net.frame.mtu()), fastest)) * PACKETS;
    let least = (net.base_rtt * ROUND_TRIPS).max(packets);
    Span(least.0.div_ceil(grid.0).saturating_mul(grid.0))
}
