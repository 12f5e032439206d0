//! An estimate of a run before it is made: from its flows as drawn, on paths without queues.
//!
//! Packets and packet-hops are counted, except retransmissions, probes and messages of schemes, which are not known in
//! advance. The end is estimated from how long the busiest link of a host or leaf has something to send.

use crate::engine::Sim;
use crate::flows::Carried;
use crate::ids::FlowId;
use crate::log;
use crate::setup::memory::{POINT_BYTES, RING, fabric_bytes};
use crate::spec::{Spec, Stop, Traffic};
use crate::transport::UdpConfig;
use crate::workload::dag::OPERATION_BYTES;
use crate::workload::{FLOW_BYTES, FlowSpec, GATED_FLOW_BYTES, Workload};
use serde_json::{Value, json};
use spinewise_policy::{Span, Time};

/// A row of flows: its columns, and the bytes that Python gets.
const ROW_BYTES: u64 = 400;
/// Packets that open and close a connection, or all that a queue pair needs.
const HANDSHAKE: u64 = 3;

/// The expected cost of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Flows.
    pub flows: u64,
    /// Payload of all flows, bytes.
    pub bytes: u64,
    /// Data packets, each once.
    pub packets: u64,
    /// Packets times links crossed, acknowledgements too.
    pub packet_hops: u64,
    /// Simulated time at the end, ps.
    pub end: u64,
    /// Rows of series of the engine.
    pub series_rows: u64,
    /// Rows of flows.
    pub flow_rows: u64,
    /// Memory of the engine, bytes.
    pub memory: u64,
}

impl Estimate {
    /// Estimates a run that is set up and has not begun.
    pub fn of(spec: &Spec, sim: &Sim<'_>) -> Estimate {
        let mut fluid = Fluid::new(sim);
        let flows = &sim.world.flows;
        let ends: Vec<Time> = flows.specs.numbered().map(|(id, flow)| fluid.add(id, flow)).collect();
        let latency = closed_loop_latency(spec, sim);
        let done = ends.iter().copied().max().unwrap_or(Time::ZERO) + latency;
        let end = if spec.run.stop == Stop::Time || !sim.limits.flows_done { spec.run.until } else { done };
        let end = end.min(spec.run.until);
        let mut estimate = Estimate { flows: flows.specs.len() as u64, end: end.0, ..Estimate::default() };
        for ((id, flow), &done) in flows.specs.numbered().zip(&ends) {
            estimate.count(spec, sim, (id, flow), done);
        }
        let keeps = estimate.flows <= spec.metrics.keep_flows_up_to;
        estimate.flow_rows = if keeps { estimate.flows } else { 0 };
        estimate.series_rows = series_rows(spec, sim, end, &ends);
        estimate.memory = memory(spec, sim, &estimate);
        estimate
    }

    /// Adds the packets of a flow that is `done` when nothing but full links delays it.
    fn count(&mut self, spec: &Spec, sim: &Sim<'_>, (id, flow): (FlowId, &FlowSpec), done: Time) {
        let topology = &sim.net.topology;
        let (from, to) = (topology.leaf(flow.sender()), topology.leaf(flow.receiver()));
        let hops = 2 + topology.hops(from, to);
        if let Some(udp) = sim.world.flows.schedule(id) {
            let bytes = udp_bytes(udp, Time(self.end));
            let packets = bytes.div_ceil(u64::from(udp.packet_bytes).max(1));
            self.bytes += bytes;
            self.packets += packets;
            self.packet_hops += packets * hops;
            return;
        }
        // The part of it that is done when the run ends.
        let (left, whole) = (spec.run.until.0.saturating_sub(flow.start.0), done.0.saturating_sub(flow.start.0).max(1));
        let part = (left as f64 / whole as f64).min(1.0);
        let Carried { facts, frame } = sim.world.flows.carried(id);
        let packets = (flow.size.div_ceil(u64::from(frame.mss)).max(1) as f64 * part).ceil() as u64;
        let acks = packets.div_ceil(u64::from(facts.answers_every));
        let handshake = if facts.opens { HANDSHAKE } else { 0 };
        self.bytes += flow.size;
        self.packets += packets;
        self.packet_hops += (packets + acks + handshake) * hops;
    }

    /// Returns it in the form of the boundary to Python.
    pub fn json(&self) -> Value {
        json!({
            "flows": self.flows,
            "bytes": self.bytes,
            "packets": self.packets,
            "packet_hops": self.packet_hops,
            "end_ps": self.end,
            "series_rows": self.series_rows,
            "flow_rows": self.flow_rows,
            "memory_bytes": self.memory,
        })
    }
}

/// Memory needed by the engine, bytes.
fn memory(spec: &Spec, sim: &Sim<'_>, estimate: &Estimate) -> u64 {
    // Every flow meets as many links at most, there and back, as the longest path has.
    let links =
        (sim.net.topology.links.len() as u64).min(estimate.flows * 2 * sim.net.topology.nominal_path.len() as u64);
    let flow = if sim.world.flows.gates.is_empty() { FLOW_BYTES } else { GATED_FLOW_BYTES };
    let operations = u64::from(sim.world.flows.operations.count()) * OPERATION_BYTES;
    let flows = estimate.flows * flow + estimate.flow_rows * ROW_BYTES + operations;
    fabric_bytes(&spec.topology) + links * RING + flows + estimate.series_rows.saturating_mul(POINT_BYTES)
}

/// Links of hosts and of leaves that send their flows one after the other.
struct Fluid<'a> {
    sim: &'a Sim<'a>,
    /// Until when each is busy: out of hosts, into hosts, out of leaves, into leaves.
    busy: [Vec<Time>; 4],
    /// Bits per second of leaves, up and down.
    leaf_rates: [Vec<u64>; 2],
}

impl Fluid<'_> {
    fn new<'a>(sim: &'a Sim<'_>) -> Fluid<'a> {
        let topology = &sim.net.topology;
        let (_, up, down) = topology.leaf_rates();
        let busy = [topology.hosts, topology.hosts, topology.leaves, topology.leaves];
        Fluid { sim, busy: busy.map(|count| vec![Time::ZERO; count as usize]), leaf_rates: [up, down] }
    }

    /// Sends a flow after those before it. Returns when it is done.
    fn add(&mut self, id: FlowId, flow: &FlowSpec) -> Time {
        let topology = &self.sim.net.topology;
        if let Some(udp) = self.sim.world.flows.schedule(id) {
            return udp_end(udp).unwrap_or(flow.start);
        }
        let frame = self.sim.world.flows.carried(id).frame;
        let bytes = (flow.size as f64 * f64::from(frame.mtu()) / f64::from(frame.mss)) as u64;
        let (from, to) = (topology.leaf(flow.sender()).index(), topology.leaf(flow.receiver()).index());
        let mut places = vec![
            (0, flow.src as usize, topology.links[topology.host_link(flow.sender())].rate),
            (1, flow.dst as usize, topology.last_link(flow.receiver()).rate),
        ];
        if from != to {
            places.push((2, from, self.leaf_rates[0][from]));
            places.push((3, to, self.leaf_rates[1][to]));
        }
        let mut end = flow.start;
        for (kind, place, rate) in places {
            let takes = Span::sending(bytes, rate);
            let busy = &mut self.busy[kind][place];
            *busy = (*busy).max(flow.start) + takes;
            end = end.max(*busy);
        }
        end + self.round_trips(id, flow)
    }

    /// Slow start, from ten packets on.
    fn round_trips(&self, id: FlowId, flow: &FlowSpec) -> Span {
        let Carried { facts, frame } = self.sim.world.flows.carried(id);
        let packets = flow.size.div_ceil(u64::from(frame.mss));
        let rounds = if facts.starts_slowly { u64::from((packets / 10 + 1).ilog2()) + 1 } else { 1 };
        self.sim.net.base_rtt * rounds
    }
}

/// Latency of flows that wait for each other, besides full links: answers, and the gaps that are given.
fn closed_loop_latency(spec: &Spec, sim: &Sim<'_>) -> Span {
    let rtt = sim.net.base_rtt;
    let of = |traffic: &Traffic| match traffic {
        Traffic::Transported(Workload::Collective(collective)) => {
            let n = collective.largest_group(sim.net.topology.hosts);
            let rounds = u64::from(collective.rounds);
            rtt * (u64::from(collective.pattern.steps(n.max(2))) * rounds) + collective.gap * (rounds - 1)
        }
        Traffic::Transported(Workload::List(list)) => list.waits(rtt),
        Traffic::Transported(Workload::Dag(dag)) => dag.longest_chain(rtt),
        Traffic::Transported(Workload::Rpc(_)) => rtt,
        Traffic::Transported(
            Workload::Poisson(_) | Workload::OnOff(_) | Workload::Permutation(_) | Workload::Incast(_),
        )
        | Traffic::Udp(_) => Span::ZERO,
    };
    spec.traffic.iter().map(|entry| of(&entry.source)).max().unwrap_or(Span::ZERO)
}

/// Rows that the engine's series get: for links at every interval, for hosts where something was sent or received.
fn series_rows(spec: &Spec, sim: &Sim<'_>, end: Time, ends: &[Time]) -> u64 {
    let Some(interval) = spec.metrics.series_interval else { return 0 };
    let topology = &sim.net.topology;
    let samples = end.0 / interval.0;
    let active = |flow: &FlowSpec, done: Time| {
        let lasts = done.min(end).0.saturating_sub(flow.start.0);
        (lasts / interval.0 + 1).min(samples)
    };
    let mut busy = vec![0u64; 2 * topology.hosts as usize];
    for (flow, &done) in sim.world.flows.specs.iter().zip(ends) {
        let rows = active(flow, done);
        for end in [2 * flow.src as usize, 2 * flow.dst as usize + 1] {
            busy[end] = busy[end].saturating_add(rows).min(samples);
        }
    }
    samples.saturating_mul(log::rows_each_time(sim.net)).saturating_add(busy.iter().sum())
}

/// Bytes that a UDP source sends before `end`.
fn udp_bytes(udp: &UdpConfig, end: Time) -> u64 {
    let end = end.min(udp.end);
    let nexts = udp.schedule.iter().skip(1).map(|&(at, _)| at).chain([Time::NEVER]);
    let sent = udp.schedule.iter().zip(nexts).map(|(&(at, rate), next)| next.min(end).since(at).carries(rate));
    let sent = sent.fold(0, u64::saturating_add);
    udp.size_bytes.map_or(sent, |size| size.min(sent))
}

/// Time when a UDP source is done, if it ever is.
fn udp_end(udp: &UdpConfig) -> Option<Time> {
    let size = udp.size_bytes?;
    let (mut left, mut nexts) = (size, udp.schedule.iter().skip(1).map(|&(at, _)| at));
    for &(at, rate) in &udp.schedule {
        let next = nexts.next().unwrap_or(Time::NEVER);
        let sends = next.since(at).carries(rate);
        if sends >= left && rate > 0 {
            return Some(at + Span::sending(left, rate));
        }
        left -= sends.min(left);
    }
    None
}
