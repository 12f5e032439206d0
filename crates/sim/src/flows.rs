//! The flows: their fixed facts, the state of their ends (made on first use, dropped when done), and their outcome.

mod connections;
mod numbers;
mod record;
mod sending;

use crate::gates::Gates;
use crate::ids::{FlowId, SubflowId, Table};
use crate::operations::Operations;
use crate::packet::Packet;
use crate::transport::contract::Facts;
use crate::transport::{Ends, Frame, Paced, Sending, UdpConfig};
use crate::workload::plan::sort_by_key;
use crate::workload::{FlowSpec, Gate, Programme};
use connections::Connections;
pub use record::{FLOW_COLUMNS, Record};
use spinewise_policy::{Kind, Time, hash};
use std::collections::BTreeSet;

/// All flows of a run.
#[derive(Debug)]
pub struct Flows {
    /// Their specifications, by flow number; sorted by start. For a flow behind a gate the start is written when it
    /// starts.
    pub specs: Table<FlowId, FlowSpec>,
    /// Position in `udp` of flows that have a schedule there.
    udp_of: Table<FlowId, u32>,
    /// Schedules of UDP flows.
    udp: Vec<UdpConfig>,
    /// Sending ends of UDP flows, by position in `udp`.
    udp_ends: Vec<Option<Box<Sending<Paced>>>>,
    /// Both ends of all other flows.
    pub ends: Ends,
    /// What NICs must know of the run's transports: the declarations of the one of `[transport]`.
    pub facts: Facts,
    /// Declarations and packets of a flow's transport, where all flows have that of `[transport]`.
    carried: Carried,
    /// The same by traffic entry, where some have their own.
    carried_by_entry: Box<[Carried]>,
    /// Their outcome.
    pub records: Table<FlowId, Record>,
    /// Flow numbers by sending host, in the order of starting by the clock: `by_host[first[h]..first[h + 1]]`.
    pub by_host: Vec<FlowId>,
    /// See `by_host`.
    pub first: Vec<u32>,
    /// Subflows of each flow of MPTCP, or queue pairs of a flow that is split over them; 0 without either.
    pub subflows: u32,
    /// The port by which the last data packet of each subflow left the leaf of its host; empty if not counted.
    uplinks: Table<SubflowId, u16>,
    /// Connections that messages share and that keep what they learn, if there are any.
    connections: Option<Connections>,
    /// The gates of flows that wait for others.
    pub gates: Gates,
    /// Operations that start flows.
    pub operations: Operations,
    /// Hash of the traffic: equal for two runs exactly if they were offered the same.
    pub traffic_hash: u64,
    /// Flows that end on their own and have not been sent and acknowledged in full.
    pub open: u64,
    /// All flows that end on their own.
    pub ending: u64,
    /// Packets of such flows in the network.
    pub alive: i64,
    /// Flows that another thread has started, if several threads have worked on the run.
    pub started_elsewhere: BTreeSet<FlowId>,
}

/// The declarations of a flow's transport about itself, and its packets.
#[derive(Clone, Copy, Debug)]
pub struct Carried {
    /// What it declares.
    pub facts: Facts,
    /// Its packets.
    pub frame: Frame,
}

/// States that reroutes are counted, which takes a little time.
#[derive(Clone, Copy, Debug)]
pub struct Reroutes;

/// Value in `uplinks`: no packet has left yet.
const NO_UPLINK: u16 = u16::MAX;

/// Value in `udp_of`: a flow with a transport.
const NO_SCHEDULE: u32 = u32::MAX;

/// Dependencies of flows.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    /// Dependencies on other flows.
    pub gates: Vec<Gate>,
    /// Dependencies on operations.
    pub programmes: Vec<Programme>,
}

/// A flow, with its schedule if it is UDP.
pub type Listed = (FlowSpec, Option<UdpConfig>);

/// The numbering of flows that start at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// Ordered by their hosts.
    ByHosts,
    /// In list order.
    AsListed,
}

impl Flows {
    /// Creates flows from the specs of all flows, with schedules for UDP flows, and the dependencies of some of them,
    /// which number flows as `list` does. `carried` says what is declared of their transport, or of that of each traffic
    /// entry. Flows are numbered by start. Flows that start at once are numbered by their
    /// hosts, or in list order where queue pairs have ports, which count up in that order.
    pub fn new(
        mut list: Vec<Listed>,
        waits: Waits,
        (hosts, ties): (u32, Ties),
        (mut ends, carried): (Ends, &[Carried]),
    ) -> Self {
        let Waits { mut gates, mut programmes } = waits;
        let hosts_of = |flow: &FlowSpec| match ties {
            Ties::ByHosts => (flow.src, flow.dst, flow.entry),
            Ties::AsListed => (0, 0, 0),
        };
        let to = sort_by_key(&mut list, |(flow, _)| (flow.start, hosts_of(flow)));
        gates.iter_mut().for_each(|gate| gate.renumber(&to));
        programmes.iter_mut().for_each(|programme| programme.renumber(|flow| to[flow as usize]));
        let udp_of = list.iter().scan(0, |next, (_, udp)| {
            let place = *next;
            *next += u32::from(udp.is_some());
            Some(udp.as_ref().map_or(NO_SCHEDULE, |_| place))
        });
        let udp_of = udp_of.collect();
        let (specs, udp): (Vec<FlowSpec>, Vec<Option<UdpConfig>>) = list.into_iter().unzip();
        let specs: Table<FlowId, FlowSpec> = specs.into_iter().collect();
        ends.number(specs.iter().map(|flow| flow.entry));
        let udp: Vec<UdpConfig> = udp.into_iter().flatten().collect();
        let mut flows = Flows {
            udp_of,
            udp_ends: udp.iter().map(|_| None).collect(),
            udp,
            subflows: ends.paths() as u32,
            facts: ends.facts(),
            carried: carried[0],
            carried_by_entry: if carried.len() > 1 { carried.into() } else { Box::default() },
            ends,
            records: Table::filled(Record::default(), specs.len()),
            by_host: Vec::new(),
            first: Vec::new(),
            uplinks: Table::default(),
            connections: None,
            gates: Gates::new(gates, &specs),
            operations: Operations::new(programmes, &specs, hosts),
            traffic_hash: 0,
            open: 0,
            ending: 0,
            alive: 0,
            started_elsewhere: BTreeSet::new(),
            specs,
        };
        flows.ending = flows.specs.ids().filter(|&flow| !flows.is_background(flow)).count() as u64;
        flows.open = flows.ending;
        flows.plan_starts(hosts);
        flows.traffic_hash = flows.hash_traffic();
        flows
    }

    /// What the transport of a flow declares. A UDP flow has what the run's transport would have declared.
    #[inline(always)]
    pub fn carried(&self, flow: FlowId) -> &Carried {
        if self.carried_by_entry.is_empty() { &self.carried } else { self.carried_by_other(flow) }
    }

    #[cold]
    fn carried_by_other(&self, flow: FlowId) -> &Carried {
        &self.carried_by_entry[usize::from(self.specs[flow].entry)]
    }

    /// Whether receivers of any transport hold data back below it.
    pub fn resequences(&self) -> bool {
        self.carried_by_entry.iter().chain([&self.carried]).any(|carried| carried.facts.resequences)
    }

    /// The same with reroutes counted, if they are.
    pub fn with_reroutes(mut self, counted: Option<Reroutes>) -> Self {
        self.uplinks = Table::filled(NO_UPLINK, counted.map_or(0, |Reroutes| self.count()));
        self
    }

    /// Whether reroutes are counted.
    pub fn counts_reroutes(&self) -> bool {
        !self.uplinks.is_empty()
    }

    /// A data packet of a subflow leaves the leaf of its host by this port.
    #[inline(always)]
    pub fn leaves_rack(&mut self, subflow: SubflowId, port: u16) {
        if let Some(last) = self.uplinks.get_mut(subflow)
            && *last != port
        {
            let first = std::mem::replace(last, port) == NO_UPLINK;
            if !first {
                let flow = self.flow_of(subflow);
                self.records[flow].reroutes += 1;
            }
        }
    }

    fn hash_traffic(&self) -> u64 {
        let flows = self.specs.iter().fold(hash::name("traffic"), |h, flow| {
            let ends = u64::from(flow.src) << 32 | u64::from(flow.dst);
            // Priority 0 adds nothing.
            let kind = u64::from(flow.entry) | u64::from(flow.priority) << 8;
            [ends, flow.size, flow.start.0, kind].iter().fold(h, |h, &x| hash::mix2(h, x))
        });
        self.operations.fold(self.gates.fold(flows, hash::mix2), hash::mix2)
    }

    /// Lists the flows that start by the clock under their hosts.
    fn plan_starts(&mut self, hosts: u32) {
        let mut gated = Table::filled(false, self.specs.len());
        self.started_by_others().for_each(|flow| gated[flow] = true);
        let by_clock = || self.specs.numbered().filter(|&(flow, _)| !gated[flow]);
        self.first = vec![0; hosts as usize + 1];
        for (_, spec) in by_clock() {
            self.first[spec.src as usize + 1] += 1;
        }
        for host in 0..hosts as usize {
            self.first[host + 1] += self.first[host];
        }
        let mut at = self.first.clone();
        self.by_host = vec![FlowId::new(0); self.first[hosts as usize] as usize];
        for (flow, spec) in by_clock() {
            let slot = &mut at[spec.src as usize];
            self.by_host[*slot as usize] = flow;
            *slot += 1;
        }
    }

    /// The flows whose starts are written when they start: those that wait for others.
    pub fn started_by_others(&self) -> impl Iterator<Item = FlowId> {
        self.gates.flows().chain(self.operations.flows())
    }

    /// Whether its sender has ever been called.
    pub fn has_started(&self, flow: FlowId) -> bool {
        self.ends.sends(flow)
            || self.paces(flow)
            || self.records[flow].packets > 0
            || self.started_elsewhere.contains(&flow)
    }

    /// Whether it has a transport, not UDP.
    #[inline]
    pub fn has_transport(&self, flow: FlowId) -> bool {
        self.udp_of[flow] == NO_SCHEDULE
    }

    /// Whether it has a transport, not UDP, as all subflows of MPTCP do.
    #[inline]
    pub fn goes_by_transport(&self, subflow: SubflowId) -> bool {
        let is_flow = self.udp_of.get(subflow.as_whole());
        is_flow.is_none_or(|&udp| udp == NO_SCHEDULE)
    }

    /// Its rates over time, if it is UDP.
    #[inline]
    pub fn schedule(&self, flow: FlowId) -> Option<&UdpConfig> {
        self.udp.get(self.udp_of[flow] as usize)
    }

    /// A UDP flow without an end does not keep a run going: no size, no end, and no final rate of zero.
    #[inline]
    pub fn is_background(&self, flow: FlowId) -> bool {
        self.schedule(flow).is_some_and(|udp| {
            udp.size_bytes.is_none() && udp.end == Time::NEVER && udp.schedule.last().is_some_and(|&(_, rate)| rate > 0)
        })
    }

    /// Whether its packets keep a run going.
    #[inline(always)]
    fn keeps_going(&self, subflow: SubflowId) -> bool {
        self.goes_by_transport(subflow) || !self.is_background(self.flow_of(subflow))
    }

    /// Prefetches the end of a flow at the destination of `packet`.
    #[inline]
    pub fn fetch(&self, packet: &Packet) {
        match packet.kind {
            Kind::Data => self.ends.fetch_receiver(packet.subflow()),
            Kind::Ack => self.ends.fetch_sender(packet.subflow()),
            Kind::Probe | Kind::ProbeReply | Kind::Message | Kind::Pause => {}
        }
    }

    /// A packet of a subflow entered the network.
    #[inline]
    pub fn entered(&mut self, subflow: SubflowId) {
        if self.keeps_going(subflow) {
            self.alive += 1;
        }
    }

    /// A packet of a subflow left the network: delivered, dropped or consumed.
    #[inline]
    pub fn left(&mut self, subflow: SubflowId) {
        if self.keeps_going(subflow) {
            self.alive -= 1;
        }
    }

    /// Whether nothing more happens to any flow that ends on its own.
    pub fn all_done(&self) -> bool {
        self.open == 0 && self.alive == 0 && self.operations.open == 0
    }
}
