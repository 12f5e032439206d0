//! The shares that the threads of one run leave behind, and how one thread takes them up.

use super::{Parts, Sim};
use crate::flows::{Flows, Record};
use crate::host::Host;
use crate::ids::{FlowId, HostId, SwitchId, Table};
use crate::link::Wires;
use crate::log::Log;
use crate::operations::Operations;
use crate::samples::Samples;
use crate::switch::Switch;
use crate::workload::FlowSpec;
use crate::world::World;
use std::collections::BTreeSet;

/// A part's share: the final state of its own nodes, and their records.
#[derive(Debug)]
pub struct Share {
    hosts: Table<HostId, Host>,
    switches: Table<SwitchId, Switch>,
    wires: Wires,
    specs: Table<FlowId, FlowSpec>,
    records: Table<FlowId, Record>,
    started: BTreeSet<FlowId>,
    operations: Operations,
    log: Log,
    samples: Option<Box<Samples>>,
}

impl From<Sim<'_>> for Share {
    fn from(mut sim: Sim<'_>) -> Share {
        sim.keep_accounts();
        let flows = &sim.world.flows;
        let started = flows.specs.ids().filter(|&flow| flows.has_started(flow)).collect();
        // Anything not named here is not needed after a run or is the same in all parts.
        let Sim { hosts, switches, world: World { flows, wires, log, .. }, samples, .. } = sim;
        let Flows { specs, records, operations, .. } = flows;
        Share { hosts, switches, wires, specs, records, started, operations, log, samples }
    }
}

impl Share {
    /// The records of this part.
    pub fn into_log(self) -> Log {
        self.log
    }

    /// Whether the series of this part have outgrown the memory.
    pub fn is_full(&self) -> bool {
        self.log.full
    }
}

impl Sim<'_> {
    /// Takes up the shares of the other parts.
    pub fn take_up(&mut self, parts: &Parts, shares: Vec<Share>) {
        self.keep_accounts();
        for (part, share) in (1..).zip(shares) {
            self.take_up_one(parts, part, share);
        }
        let flows = &mut self.world.flows;
        for flow in flows.started_by_others().collect::<Vec<_>>() {
            flows.records[flow].shift(|at| at - flows.specs[flow].start.0);
        }
    }

    /// Copies the senders' counts into the records. A flow that waits for others gets its start from its sender, and
    /// the receiver does not know it: for now its times count from zero.
    fn keep_accounts(&mut self) {
        let flows = &mut self.world.flows;
        flows.specs.ids().for_each(|flow| flows.keep_account(flow));
        for flow in flows.started_by_others().collect::<Vec<_>>() {
            flows.records[flow].shift(|time| time + flows.specs[flow].start.0);
        }
    }

    fn take_up_one(&mut self, parts: &Parts, part: usize, mut share: Share) {
        let topology = &self.net.topology;
        for host in topology.host_ids().filter(|&host| parts.of(topology.host_node(host)) == part) {
            std::mem::swap(&mut self.hosts[host], &mut share.hosts[host]);
        }
        self.swap_switches(parts, part, &mut share.switches);
        // A packet still on a link belongs to its sender, whoever receives it.
        for (link, ends) in topology.links.numbered().filter(|(_, ends)| parts.of(ends.from.0) == part) {
            debug_assert!(parts.of(ends.to.0) > 0 || self.world.wires.ring(link).is_empty());
            self.world.wires.take_up(link, &mut share.wires);
        }
        self.world.wires.hops += share.wires.hops;
        let flows = &mut self.world.flows;
        for (record, other) in flows.records.iter_mut().zip(share.records.iter()) {
            record.add(other);
        }
        flows.started_elsewhere.extend(share.started);
        for flow in flows.started_by_others().collect::<Vec<_>>() {
            let spec = share.specs[flow];
            if parts.of(topology.host_node(spec.sender())) == part {
                flows.specs[flow].start = spec.start;
            }
        }
        let is_of = |host| parts.of(topology.host_node(host)) == part;
        flows.operations.take_up(&share.operations, is_of);
        self.world.log.add(share.log);
        if let (Some(samples), Some(others)) = (&mut self.samples, share.samples) {
            let nodes = topology.node_ids().filter(|&node| parts.of(node) == part);
            samples.take_up(self.net, nodes, *others);
        }
    }

    /// Swaps the switches of a part with those of another table.
    pub(super) fn swap_switches(&mut self, parts: &Parts, part: usize, other: &mut Table<SwitchId, Switch>) {
        let topology = &self.net.topology;
        for switch in topology.switch_ids().filter(|&switch| parts.of(topology.switch_node(switch)) == part) {
            std::mem::swap(&mut self.switches[switch], &mut other[switch]);
        }
    }
}
