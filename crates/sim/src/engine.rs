//! A run: nodes, links and banks, advanced by one of two engines to the same result, bit for bit.
//!
//! * [`windows`]: time advances in windows no longer than the shortest link delay; within one, each node works alone.
//! * [`events`]: one global heap of the next arrival of each link and the next plan of each node. Slower and simpler;
//!   the oracle of the other, and the engine for links without delay.
//!
//! [`parts`] runs the first of these on several threads. Two more engines follow a program down to its order of events,
//! so their results differ: [`planned`] follows ns-3, [`htsim`] htsim.
//!
//! All engines stop on a time grid given in the spec, never at a boundary of their own.

pub mod events;
pub mod htsim;
pub mod parts;
pub mod planned;
mod plans;
pub mod windows;

use crate::deadlock;
use crate::host::Host;
use crate::ids::{FlowId, HostId, LinkId, NodeId, SwitchId, Table};
use crate::line::Line;
use crate::net::Net;
use crate::operations::News;
use crate::packet::InHand;
use crate::samples::{Samples, State};
use crate::spec::Warning;
use crate::switch::Switch;
use crate::timers::{Class, What};
use crate::warden::{Interrupted, Progress, Watch};
use crate::world::World;
use spinewise_policy::{Span, Time};

/// The whole state of a run.
pub struct Sim<'n> {
    /// Facts that do not change during the run.
    pub net: &'n Net,
    /// The hosts.
    pub hosts: Table<HostId, Host>,
    /// The switches: leaves, then spines.
    pub switches: Table<SwitchId, Switch>,
    /// Everything that hosts and switches share.
    pub world: World<'n>,
    /// Samples of links at fixed intervals, if any are taken.
    pub samples: Option<Box<Samples>>,
    /// The conditions for stopping.
    pub limits: Limits,
    /// Findings of setup that may not be intended.
    pub warnings: Vec<Warning>,
}

/// The conditions under which a run stops.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Stop when all flows are done.
    pub flows_done: bool,
    /// Stop at this time at the latest.
    pub until: Time,
    /// The run may end only at multiples of this.
    pub grid: Span,
}

/// Events between two checks of the watch.
const WATCH_EVERY: u64 = 4096;

/// Scanning this many nodes costs about as much as one event.
const NODES_PER_EVENT: u32 = 64;

impl Sim<'_> {
    /// Takes the first packet off `link`, arriving now, with the marks that its sender has given it by now.
    fn take_off(&mut self, link: LinkId, now: Time) -> InHand {
        let from = self.net.topology.links[link].from;
        if let Some(switch) = self.net.topology.as_switch(from.0)
            && self.net.marks_later()
        {
            self.switches[switch].settle_port(from.1, now, &self.net.rules, &mut self.world.wires);
        }
        let mut hand = InHand::default();
        self.world.wires.pop(link, &mut hand);
        hand
    }

    /// The line that feeds a link.
    fn line(&self, link: LinkId) -> &Line {
        let (node, port) = self.net.topology.links[link].from;
        match self.net.topology.as_host(node) {
            Some(host) => self.hosts[host].line(),
            None => self.switches[self.net.topology.switch_number(node)].ports[usize::from(port)].line(),
        }
    }

    /// Counts an event at `node`.
    #[inline]
    fn note_event(&mut self, node: NodeId, now: Time) {
        self.world.now = now;
        self.world.log.events += 1;
        if let Some(samples) = &mut self.samples {
            samples.touch(node);
        }
    }

    /// A packet arrives at `node` over the in-link `link`.
    #[inline]
    fn arrive(&mut self, node: NodeId, link: LinkId, now: Time, hand: &mut InHand) {
        self.note_event(node, now);
        if let Some(host) = self.net.topology.as_host(node) {
            self.hosts[host].arrive(&mut self.world, hand);
        } else {
            let port = link.port(self.net.topology.first_link[node.index()]);
            let switch = &mut self.switches[self.net.topology.switch_number(node)];
            switch.arrive(&mut self.world, port, hand);
        }
    }

    /// Delivers what hosts have sent to other hosts outside the network. Returns those hosts and the arrival times.
    #[cold]
    fn spread(&mut self, news: Vec<News>) -> Vec<(HostId, Time)> {
        for &News { host, at, operation } in &news {
            self.hosts[host].timers.plan(at, What::Landed(operation));
        }
        news.into_iter().map(|news| (news.host, news.at)).collect()
    }

    /// Something that `node` planned is due.
    fn fire(&mut self, node: NodeId, now: Time, what: What) {
        self.note_event(node, now);
        if let Some(host) = self.net.topology.as_host(node) {
            self.hosts[host].fire(&mut self.world, what);
        } else {
            self.switches[self.net.topology.switch_number(node)].fire(&mut self.world, what);
        }
    }

    /// The NIC of a host is free for data.
    fn pull(&mut self, host: HostId, now: Time) {
        self.note_event(self.net.topology.host_node(host), now);
        self.hosts[host].pull(&mut self.world);
    }

    /// The time and class of the next thing that `node` has planned.
    #[inline]
    fn planned(&self, node: NodeId) -> (Time, Class) {
        if let Some(host) = self.net.topology.as_host(node) {
            let host = &self.hosts[host];
            host.timers.next().min((host.wake, self.net.wake_class()))
        } else {
            self.switches[self.net.topology.switch_number(node)].timers.next()
        }
    }

    /// Does the next planned work of `node`, which is due at `now`.
    #[inline]
    fn do_planned(&mut self, node: NodeId, now: Time) {
        if let Some(number) = self.net.topology.as_host(node) {
            let host = &mut self.hosts[number];
            if (host.wake, self.net.wake_class()) <= host.timers.next() {
                self.pull(number, now);
                return;
            }
            if let Some((_, what)) = host.timers.pop() {
                self.fire(node, now, what);
            }
        } else if let Some((_, what)) = self.switches[self.net.topology.switch_number(node)].timers.pop() {
            self.fire(node, now, what);
        }
    }

    /// Publishes what the oracle reveals, at an instant of the grid, with everything before it done.
    #[cold]
    pub(crate) fn publish(&mut self) {
        for (host, free) in self.net.topology.host_ids().zip(&mut self.world.free_queues) {
            let home = self.net.topology.home(host);
            let port = &self.switches[home.leaf].ports[usize::from(home.port)];
            *free = port.lanes().map_or(0, |lanes| lanes.free_queues());
        }
    }

    /// The first instant after `now` at which pacing lets a queue pair with data left send, whether or not its window
    /// does.
    fn next_available(&self, host: HostId, now: Time) -> Option<Time> {
        let started = self.hosts[host].started(&self.world.flows).iter();
        started.filter_map(|&flow| self.world.flows.ends.paced_from(flow)).filter(|&at| at > now).min()
    }

    /// The flow that starts next at a host.
    fn next_flow(&self, host: HostId) -> Option<FlowId> {
        let place = self.hosts[host].next_flow()?;
        Some(self.world.flows.by_host[place as usize])
    }

    /// Checks that the run may continue. It may not if its series have outgrown the memory.
    #[cold]
    fn may_go_on(&self, now: Time, watch: &mut Watch<'_>) -> Result<(), Interrupted> {
        if !self.world.log.full && watch(self.progress(now)) { Ok(()) } else { Err(Interrupted) }
    }

    /// Takes the samples due by `now`; everything before `now` has been done.
    #[inline]
    pub(crate) fn sample_until(&mut self, now: Time) {
        if self.next_sample() <= now {
            self.catch_up_samples(now);
        }
    }

    #[cold]
    #[inline(never)]
    fn catch_up_samples(&mut self, now: Time) {
        let Sim { net, world: World { wires, .. }, hosts, switches, samples, .. } = self;
        if let Some(samples) = samples {
            samples.catch_up(now, &State { net, wires, hosts, switches });
        }
    }

    /// The run ends at `stop`: also writes the points of series whose interval ends there. They cover what happened
    /// before that instant, as all counters do.
    pub(crate) fn end_series(&mut self, stop: Time) {
        let Some(interval) = self.net.series_interval else { return };
        if stop == Time::ZERO || !stop.0.is_multiple_of(interval.0) {
            return;
        }
        for host in &mut self.hosts {
            host.end_series(&mut self.world, (stop, interval));
        }
        for switch in &mut self.switches {
            switch.end_series(&mut self.world, (stop, interval));
        }
    }

    /// The time of the next sample; no window reaches beyond it.
    #[inline]
    pub(crate) fn next_sample(&self) -> Time {
        self.samples.as_ref().map_or(Time::NEVER, |samples| samples.next())
    }

    fn progress(&self, now: Time) -> Progress {
        let flows = &self.world.flows;
        Progress { now, packet_hops: self.world.wires.hops, open: flows.open, flows: flows.ending }
    }
}

/// When no data has arrived anywhere for this long, the engine checks whether any still can.
const PATIENCE: Span = Span::from_ms(1);

/// The whole run, as the grid queries it.
trait Whole {
    /// Whether nothing more happens to any flow that ends on its own.
    fn all_done(&self) -> bool;

    /// Data packets that have arrived.
    fn arrived(&self) -> u64;

    /// Whether pauses are deadlocked at this instant.
    ///
    /// # Errors
    /// [`Interrupted`]: the thread whose part would have to be examined is gone.
    fn is_locked(&mut self, at: Time) -> Result<bool, Interrupted>;
}

impl Whole for Sim<'_> {
    fn all_done(&self) -> bool {
        self.world.flows.all_done()
    }

    fn arrived(&self) -> u64 {
        self.world.log.arrived
    }

    fn is_locked(&mut self, at: Time) -> Result<bool, Interrupted> {
        Ok(deadlock::find(&self.switches, &self.net.topology, at).is_some())
    }
}

/// The grid: where a run may end.
#[derive(Clone, Copy, Debug)]
struct Grid {
    limits: Limits,
    /// The next instant to check.
    next: Time,
    /// Pauses can deadlock.
    may_lock: bool,
    /// Data packets that had arrived by `quiet_since`, the first instant of the grid after the last of them.
    arrived: u64,
    quiet_since: Time,
}

impl Grid {
    fn new(sim: &Sim) -> Self {
        let next = Time::ZERO + sim.limits.grid;
        let may_lock = deadlock::is_possible(&sim.switches);
        Grid { limits: sim.limits, next, may_lock, arrived: 0, quiet_since: Time::ZERO }
    }

    /// Whether the next instant of the grid has been reached.
    #[inline]
    fn is_due(&self, now: Time) -> bool {
        now >= self.next
    }

    /// Everything before `now` has been done, and nothing is planned in between. Returns when the run has ended, if it
    /// has.
    ///
    /// # Errors
    /// Those of [`Whole::is_locked`].
    fn over(&mut self, now: Time, whole: &mut impl Whole) -> Result<Option<Time>, Interrupted> {
        if now >= self.next {
            if self.limits.flows_done && whole.all_done() {
                return Ok(Some(self.next.min(self.limits.until)));
            }
            if self.may_lock
                && let Some(at) = self.locked(now, whole)?
            {
                return Ok(Some(at));
            }
            self.next = self.after(now);
        }
        Ok((now >= self.limits.until).then_some(self.limits.until))
    }

    /// The first instant of the grid after `now`.
    fn after(&self, now: Time) -> Time {
        let steps = now.0 / self.limits.grid.0;
        Time(steps.saturating_mul(self.limits.grid.0)) + self.limits.grid
    }

    /// The first instant of the grid up to `now` at which no data has arrived for a long time and none can, because
    /// pauses are deadlocked. State that does not change between two events is examined as of the grid's instants
    /// between them, so how often an engine asks makes no difference.
    fn locked(&mut self, now: Time, whole: &mut impl Whole) -> Result<Option<Time>, Interrupted> {
        let arrived = whole.arrived();
        if arrived != self.arrived {
            self.arrived = arrived;
            self.quiet_since = self.next;
        }
        let patient = self.after(self.quiet_since + PATIENCE - Span(1));
        let at = self.next.max(patient);
        let looks = at <= now && at < self.limits.until;
        Ok((looks && whole.is_locked(at)?).then_some(at))
    }

    /// A window must not reach beyond this.
    fn barrier(&self) -> Time {
        self.next.min(self.limits.until)
    }
}

#[cfg(test)]
mod tests {
    use crate::topology::{Topology, TopologySpec};
    use serde_json::{Value, json};

    /// The fabric of a table [topology].
    pub(super) fn fabric(table: Value) -> Topology {
        let spec = crate::spec::resolve(&json!({
            "preset": "datacenter", "topology": table,
            "traffic": [{"kind": "flows", "list": [{"src": 0, "dst": 1, "size_bytes": 1, "start_ns": 0}]}],
        }));
        let spec: TopologySpec = spec.unwrap_or_else(|error| panic!("{error}")).topology;
        Topology::new(&spec).unwrap_or_else(|error| panic!("{error}"))
    }
}
