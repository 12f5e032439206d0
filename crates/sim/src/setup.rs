//! From a checked spec to a run: traffic, wiring, seats, nodes.

use crate::bank::{Bank, Called, Places};
use crate::capture::Taps;
use crate::engine::{Limits, Sim, events, htsim, planned, windows};
use crate::faults::Faults;
use crate::flows::{Flows, Listed, Reroutes, Ties, Waits};
use crate::host::Host;
use crate::ids::HostId;
use crate::link::Wires;
use crate::log::Log;
use crate::net::Net;
use crate::outcome::Outcome;
use crate::samples::Samples;
use crate::series::Recorded;
use crate::spec::{
    EngineKind, Follow, HashKind, Spec, SpecError, Stop, Traffic, TrafficEntry, UdpFlow, Warning, workload_error,
};
use crate::switch::Switch;
use crate::tape::Tape;
use crate::topology::{Components, Topology};
use crate::transport::Frame;
use crate::warden::{GoOn, Interrupted, Progress, Warden, Watch};
use crate::workload::load::{Capacity, Loads};
use crate::workload::{self, FlowSpec, Workload};
use crate::world::World;
use spinewise_policy::{Span, Time};

mod carriers;
mod haste;
pub(crate) mod memory;
mod paths;
mod slow_links;
mod threads;

/// Choices that must not change any result; tests vary them. A run that does not fit into the `memory` is refused.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tuning {
    /// The engine to use instead of the spec's.
    pub engine: Option<EngineKind>,
    /// Windows shorter by this factor.
    pub window_divisor: u64,
    /// All ports keep their packets until transmission starts, including control.
    pub commit_at_start: bool,
    /// Call every hook, listed or not.
    pub all_hooks: bool,
    /// Memory that a run may take, bytes: a run that does not fit is refused.
    pub memory: Option<u64>,
    /// Threads that work on the run, if it can be split; one if 0, or if flows are traced. Each sets up the whole run:
    /// no more are used than there is `memory` for.
    pub threads: usize,
    /// No more threads than processors; and if they wait for each other more than they work, one thread repeats the
    /// run.
    pub threads_if_worth: bool,
}

/// Everything a spec describes, at time zero: fixed facts, and state that changes during a run.
pub struct Setup {
    /// Fixed facts.
    pub net: Net,
    /// The initial state of a run on them.
    pub start: Start,
    /// The loads its traffic offers, if it is given by load.
    pub loads: Option<Loads>,
}

/// The initial state of a run.
pub struct Start {
    flows: Flows,
    edge: Option<Bank>,
    fabric: Bank,
    log: Log,
    limits: Limits,
    samples: Option<Box<Samples>>,
    warnings: Vec<Warning>,
}

impl Setup {
    /// Everything a spec describes.
    ///
    /// # Errors
    /// When values do not fit each other: an override that selects nothing, leaves that cannot reach each other,
    /// traffic that names something that does not exist.
    pub fn new(spec: &Spec, tuning: Tuning) -> Result<Setup, SpecError> {
        let mut always = |_: Progress| true;
        Setup::build(spec, tuning, &Warden::new(&mut always)).map_err(|failure| match failure {
            Failure::Spec(error) => error,
            Failure::Interrupted => unreachable!("nobody stops it"),
        })
    }

    /// The same, as long as `warden` allows.
    ///
    /// # Errors
    /// [`Failure`]: as [`Setup::new`]; it takes more memory than there is; or the caller stopped it.
    pub fn build(spec: &Spec, tuning: Tuning, warden: &Warden<'_>) -> Result<Setup, Failure> {
        let go_on = || warden.goes_on();
        let room = memory::refuse_large_fabric(&spec.topology, tuning.memory.unwrap_or(u64::MAX))?;
        let mut topology = Topology::build(&spec.topology, &go_on)?;
        warden.check()?;
        let Offer { list, waits, loads, mut warnings } = traffic(spec, &topology, (room, &go_on))?;
        warden.check()?;
        refuse_waiting(spec, &waits)?;
        check_reachable(&spec.traffic, &list, &topology)?;
        check_lengths(spec, &list)?;
        // Such a scheme is never combined with one at the hosts.
        if spec.scheme.chosen().entry().in_trees {
            topology.route_as_wired(&go_on);
        }
        let mut faults = Faults::build(spec, &mut topology, &go_on)?;
        let taps = Taps::new(spec.metrics.capture.as_ref(), &topology, room)?;
        faults.note_starts(taps.links());
        warden.check()?;
        let pairs: Vec<(HostId, HostId)> = list.iter().map(|(flow, _)| (flow.sender(), flow.receiver())).collect();
        faults.refuse_cuts(&topology, &pairs)?;
        drop(pairs);
        let paths = paths::paths(spec, &list)?;
        let (ends, carried) = carriers::of(spec, list.len(), paths as usize);
        // Where switches hash ports, queue pairs get them in the order in which flows are listed.
        let as_listed = spec.scheme.hash == HashKind::Murmur3 || spec.rules.habits.flows_as_listed;
        let ties = if as_listed { Ties::AsListed } else { Ties::ByHosts };
        let flows = Flows::new(list, waits, (topology.hosts, ties), (ends, &carried));
        let flows = flows.with_reroutes(spec.metrics.facts.then_some(Reroutes));
        let pairs = flows.shared_connections(&spec.transport);
        let flows = flows.with_connections(pairs.as_deref());
        let fields = paths::fields(spec, &flows, pairs);
        let net = Net::new(spec, topology, fields);
        let mut net = if tuning.commit_at_start { net.keeping() } else { net };
        net.hop_limit = faults.hop_limit;
        (net.faults, net.taps) = (faults, taps);
        net.series_links = Recorded::new(&spec.metrics.series_links, &net.topology)?;
        let called = if tuning.all_hooks { Called::Always } else { Called::AsItSays };
        let tags = net.hashing.tags;
        let edge =
            spec.scheme.edge.as_ref().map(|edge| edge.seat(&Places::hosts(&net.topology, tags), spec.seed, called));
        let mut fabric = spec.scheme.fabric.seat(&Places::switches(&net.topology, tags), spec.seed, called);
        if edge.as_ref().is_some_and(|edge| edge.layout(0).path_rates) {
            net.path_rates = net.topology.path_rates();
        }
        if fabric.layout(0).components {
            net.components = Components::new(net.faults.maps());
        }
        if spec.run.follow != Follow::Nothing {
            net.follow(&spec.rules, &flows);
            fabric.tape = spec.rules.draws.map(|draws| Box::new(Tape::new(draws)));
        }
        if net.topology.leaves > 1 && !net.topology.has_choice() {
            let text = "There is only one path from every rack to every other: no scheme has a choice.";
            warnings.push(Warning::of("one_path", "topology", text));
        }
        warnings.extend(slow_links::warnings(spec, &net, &flows));
        // Traffic that never ends on its own runs to the limit.
        let flows_done = spec.run.stop == Stop::FlowsDone && (flows.open > 0 || flows.specs.is_empty());
        let limits = Limits { flows_done, until: spec.run.until, grid: spec.run.grid };
        let log = Log { most_points: memory::most_points(spec, &flows, &net, room)?, ..Log::default() };
        let samples =
            spec.metrics.facts.then(|| Box::new(Samples::new(spec.metrics.sample_interval, &net, spec.run.grid)));
        Ok(Setup { net, start: Start { flows, edge, fabric, log, limits, samples, warnings }, loads })
    }
}

impl<'n> Sim<'n> {
    /// A run on these facts, at time zero.
    pub fn new(net: &'n Net, start: Start) -> Sim<'n> {
        let Start { flows, edge, fabric, log, limits, samples, warnings } = start;
        let hosts = net.topology.host_ids().map(|host| Host::new(host, net, &flows, edge.as_ref())).collect();
        let switches = net.topology.switch_ids().map(|switch| Switch::new(switch, net, &fabric)).collect();
        let wires = Wires::new(net.topology.links.iter().map(|l| l.to.0).collect(), net.topology.nodes() as usize);
        let asks = (0..net.topology.switches()).any(|switch| fabric.layout(switch).free_queues);
        let free_queues = vec![0; if asks { net.topology.hosts as usize } else { 0 }];
        let world = World { now: Time::ZERO, net, wires, edge, fabric, flows, log, free_queues };
        let mut sim = Sim { net, hosts, switches, world, samples, limits, warnings };
        sim.publish();
        sim
    }

    /// Runs to the end with the engine of the spec. Returns the instant it stopped at.
    ///
    /// # Errors
    /// [`Interrupted`] if `watch` says so.
    pub fn run(&mut self, spec: &Spec, tuning: Tuning, watch: Watch<'_>) -> Result<Time, Interrupted> {
        if spec.run.follow != Follow::Nothing {
            return planned::run(self, watch);
        }
        if spec.run.engine == EngineKind::Htsim {
            return htsim::run(self, watch);
        }
        match self.window(spec, tuning) {
            Some(window) => windows::run(self, window, watch),
            None => events::run(self, watch),
        }
    }

    /// The maximum length of windows; none where the event engine runs.
    fn window(&self, spec: &Spec, tuning: Tuning) -> Option<Span> {
        let lookahead = self.net.topology.shortest_delay();
        let window = Span(spec.run.window.map_or(lookahead, |window| window.min(lookahead)).0.min(MOST_WINDOW));
        let window = Span((window.0 / tuning.window_divisor.max(1)).max(1));
        if tuning.engine.unwrap_or(spec.run.engine) == EngineKind::Events || lookahead == Span::ZERO {
            return None;
        }
        let window = self.world.flows.operations.least_delay().map_or(window, |least| window.min(least));
        // A window must be short enough that clocked events cannot fill it forever.
        Some(window.min(self.shortest_period().map_or(window, |period| period * MOST_PERIODS)))
    }

    /// Runs to the end, as [`Sim::run`].
    ///
    /// # Errors
    /// [`Failure`]: the caller stopped the run, or its series outgrew the memory.
    pub fn finish(&mut self, spec: &Spec, tuning: Tuning, watch: Watch<'_>) -> Result<Time, Failure> {
        let stop = self.run(spec, tuning, watch).inspect(|&stop| self.end_series(stop));
        // It may have ended before anyone checked, with points missing.
        let stop = if self.world.log.full { Err(Interrupted) } else { stop };
        stop.map_err(|Interrupted| self.why_interrupted(spec))
    }

    /// The reason for an interruption.
    fn why_interrupted(&self, spec: &Spec) -> Failure {
        if self.world.log.full { memory::too_many_points(spec, &self.world.log).into() } else { Failure::Interrupted }
    }

    /// The shortest period at which nodes do something of their own accord.
    fn shortest_period(&self) -> Option<Span> {
        let at_hosts = self.world.edge.as_ref().map(|edge| edge.layout(0).tick);
        let at_switches = (0..self.net.topology.switches()).map(|switch| self.world.fabric.layout(switch).tick);
        let periods = at_hosts.into_iter().chain(at_switches).chain(self.net.series_interval);
        periods.filter(|&period| period > Span::ZERO).min()
    }
}

/// Does a run take events in the order of another program?
fn follows_a_program(spec: &Spec) -> bool {
    spec.run.follow != Follow::Nothing || spec.run.engine == EngineKind::Htsim
}

/// Maximum number of periods in one window.
const MOST_PERIODS: u64 = 10_000;

/// Longest window, ps: sort keys hold offsets of 40 bits.
const MOST_WINDOW: u64 = (1 << 40) - 1;

/// Builds, runs and closes the account.
///
/// # Errors
/// [`Failure`]: the spec is inconsistent, or the caller stopped the run.
pub fn simulate(spec: &Spec, tuning: Tuning, watch: Watch<'_>) -> Result<Outcome, Failure> {
    if let Some(outcome) = by_threads(spec, tuning, watch)? {
        return Ok(outcome);
    }
    // The threads were not worthwhile, and what they had set up is gone.
    let Setup { net, start, loads } = Setup::build(spec, tuning, &Warden::new(watch))?;
    let mut sim = Sim::new(&net, start);
    sim.warnings.push(threads::warning("its threads waited for each other longer than one thread would have worked"));
    let stop = sim.finish(spec, tuning, watch)?;
    closed(spec, sim, (stop, loads), watch)
}

/// A run on as many threads as the tuning says; none if it must be repeated on one.
fn by_threads(spec: &Spec, tuning: Tuning, watch: Watch<'_>) -> Result<Option<Outcome>, Failure> {
    let Setup { net, start, loads } = Setup::build(spec, tuning, &Warden::new(watch))?;
    let mut sim = Sim::new(&net, start);
    match threads::finish(&mut sim, spec, tuning, watch)? {
        Some(stop) => closed(spec, sim, (stop, loads), watch).map(Some),
        None => Ok(None),
    }
}

/// The account of a run, unless the caller stops its closing.
pub(crate) fn closed(
    spec: &Spec,
    sim: Sim<'_>,
    (stop, loads): (Time, Option<Loads>),
    watch: Watch<'_>,
) -> Result<Outcome, Failure> {
    let warden = Warden::new(watch);
    let outcome = Outcome::close(spec, sim, stop, loads, &|| warden.goes_on());
    warden.check()?;
    Ok(outcome)
}

/// Why there is no outcome.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// The spec is inconsistent, or does not fit into memory.
    Spec(SpecError),
    /// The caller stopped the run.
    Interrupted,
}

impl From<SpecError> for Failure {
    fn from(error: SpecError) -> Failure {
        Failure::Spec(error)
    }
}

impl From<Interrupted> for Failure {
    fn from(_: Interrupted) -> Failure {
        Failure::Interrupted
    }
}

/// All flows of a spec.
struct Offer {
    list: Vec<Listed>,
    /// What some of them wait for, numbered as in `list`.
    waits: Waits,
    loads: Option<Loads>,
    /// What was omitted.
    warnings: Vec<Warning>,
}

fn traffic(spec: &Spec, topology: &Topology, (room, go_on): (u64, GoOn<'_>)) -> Result<Offer, SpecError> {
    let (uplinks, up, down) = topology.leaf_rates();
    let host_rates = topology.host_rates();
    let mut places = workload::Places {
        bounds: workload::Bounds { until: spec.run.until, memory: room, go_on },
        hosts: topology.hosts,
        leaf_of: &topology.leaf_of,
        leaves: topology.leaves,
        host_rates: &host_rates,
        uplink_rate_of_leaf: &uplinks,
    };
    let mut hosts = vec![0; uplinks.len()];
    topology.leaf_of.iter().zip(&host_rates).for_each(|(&leaf, rate)| hosts[leaf as usize] += rate);
    let pods = topology.tree.map(|tree| tree.leaves_per_pod).zip(topology.pod_rates());
    let (mut list, mut waits) = (Vec::new(), Waits::default());
    let (mut offered, mut without) = (Vec::new(), Vec::new());
    let mut warnings = Vec::new();
    let capacity = |frame: Frame| Capacity {
        mss: u64::from(frame.mss),
        header: u64::from(frame.header),
        ack: u64::from(frame.ack_bytes),
        leaf_of: &topology.leaf_of,
        nominal: &uplinks,
        up: &up,
        down: &down,
        hosts: &hosts,
        pods: pods.as_ref().map(|(leaves, (up, down))| (*leaves, &up[..], &down[..])),
    };
    for (entry, traffic) in spec.traffic.iter().enumerate() {
        let TrafficEntry { source, priority, subflows, .. } = traffic;
        match source {
            Traffic::Transported(workload) => {
                places.bounds.memory = room.saturating_sub(list.len() as u64 * workload::FLOW_BYTES);
                let planned = workload.plan(spec.seed, entry as u8, &places);
                let mut plan = planned.map_err(|error| workload_error(&spec.traffic, entry, error))?;
                for flow in &mut plan.flows {
                    (flow.priority, flow.subflows) = (*priority, subflows.unwrap_or(0));
                }
                if workload.is_cut(plan.flows.len(), &places) {
                    warnings.push(left_out(entry, workload, spec));
                } else if plan.flows.is_empty() && matches!(workload, Workload::Poisson(_)) {
                    let text = "No flow starts: random arrivals have too little time at this load.";
                    warnings.push(Warning::of("no_flows", format!("traffic[{entry}].load"), text));
                }
                warnings.extend(haste::warning(entry, workload, &plan.flows, &host_rates));
                if workload.is_closed_loop() {
                    without.push(entry as u8);
                } else {
                    let during = workload.during(&plan.flows, &places);
                    let capacity = capacity(spec.transport_of(traffic).frame());
                    offered.push(capacity.offered(entry as u8, &plan.flows, during));
                }
                append(plan, &mut list, &mut waits);
            }
            Traffic::Udp(udp) => list.push((udp_flow(udp, entry as u8, *priority), Some(udp.config.clone()))),
        }
    }
    if list.is_empty() {
        let text = "NOTHING IS SENT: the run has no flows, and all of its numbers are empty.";
        warnings.push(Warning::of("nothing_sent", "traffic", text));
    }
    let loads = capacity(spec.transport.frame()).loads(&offered).map(|loads| loads.also_without(without));
    Ok(Offer { list, waits, loads, warnings })
}

/// Appends a plan to the existing flows.
fn append(mut plan: workload::Plan, list: &mut Vec<Listed>, waits: &mut Waits) {
    let before = list.len() as u32;
    plan.gates.iter_mut().for_each(|gate| gate.shift(before));
    plan.programmes.iter_mut().for_each(|programme| programme.renumber(|flow| flow + before));
    waits.gates.append(&mut plan.gates);
    waits.programmes.append(&mut plan.programmes);
    list.extend(plan.flows.into_iter().map(|flow| (flow, None)));
}

fn udp_flow(udp: &UdpFlow, entry: u8, priority: u8) -> FlowSpec {
    let start = udp.config.schedule.first().map_or(Time::ZERO, |&(at, _)| at);
    let size = udp.config.size_bytes.unwrap_or(0);
    FlowSpec { src: udp.src, dst: udp.dst, size, start, entry, priority, ..FlowSpec::default() }
}

/// Warns that flows of an entry start too late for the run; for a list their number is known.
fn left_out(entry: usize, workload: &Workload, spec: &Spec) -> Warning {
    let end =
        format!("at the end of the run (run.until_us = {}) or later", spec.run.until.since(Time::ZERO).as_us_f64());
    let text = match workload {
        Workload::List(list) if !list.is_closed_loop() => {
            let late = list.flows().iter().filter(|flow| flow.start >= spec.run.until).count();
            let (all, flows) = (list.flows().len(), if list.flows().len() == 1 { "flow" } else { "flows" });
            format!("{late} of {all} {flows} would start {end}, and are left out.")
        }
        _ => format!("Flows that would start {end} are left out."),
    };
    Warning::of("flows_after_end", format!("traffic[{entry}]"), text)
}

/// The program that a run may follow has no flows that wait for others, and its order of hosts none either.
fn refuse_waiting(spec: &Spec, waits: &Waits) -> Result<(), SpecError> {
    if spec.run.follow == Follow::Nothing || waits.gates.is_empty() && waits.programmes.is_empty() {
        return Ok(());
    }
    let allowed = "\"nothing\" with flows that wait for others: that code has none";
    Err(SpecError::new("run.follow", &spec.run.follow.word().into(), allowed))
}

/// Every flow and its acknowledgements must find a way.
fn check_reachable(traffic: &[TrafficEntry], list: &[Listed], topology: &Topology) -> Result<(), SpecError> {
    let wired = |host: HostId| {
        let there = topology.links[topology.host_link(host)];
        there.up && topology.out(there.to.0, there.to.1).up
    };
    for (flow, _) in list {
        let (from, to) = (topology.leaf(flow.sender()), topology.leaf(flow.receiver()));
        let ways = |a, b| a == b || topology.ways[topology.pair(a, b)] > 0;
        if !(wired(flow.sender()) && wired(flow.receiver()) && ways(from, to) && ways(to, from)) {
            let entry = usize::from(flow.entry);
            let error = SpecError::said(
                format!("traffic[{entry}]"),
                format!(
                    "a flow from {} ({}) to {} ({})",
                    topology.host_said(flow.sender()),
                    topology.leaf_said(from),
                    topology.host_said(flow.receiver()),
                    topology.leaf_said(to)
                ),
                "hosts that can reach each other in both directions; the links that are down leave no path",
            );
            return Err(error.of_entry(entry, &traffic[entry].name, traffic.len()));
        }
    }
    Ok(())
}

/// The transport must be able to number the packets of each flow.
fn check_lengths(spec: &Spec, list: &[Listed]) -> Result<(), SpecError> {
    let most = |flow: &FlowSpec| spec.transport_of(&spec.traffic[usize::from(flow.entry)]).sheet().most_bytes;
    let is_long = |(flow, udp): &&Listed| udp.is_none() && flow.size > most(flow);
    let Some((flow, _)) = list.iter().find(is_long) else { return Ok(()) };
    let most = most(flow);
    let entry = usize::from(flow.entry);
    let error = SpecError::said(
        format!("traffic[{entry}]"),
        format!("a flow of {} bytes", flow.size),
        format!("flows of at most {most} bytes: this transport cannot number more packets of transport.mss_bytes"),
    );
    Err(error.of_entry(entry, &spec.traffic[entry].name, spec.traffic.len()))
}
