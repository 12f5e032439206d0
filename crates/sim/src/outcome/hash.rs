//! The hash of everything that happened.

use super::links::LinkAccount;
use crate::engine::Sim;
use crate::transport::contract::Protocol;
use crate::transport::resequencer::Tally;
use spinewise_policy::{Time, hash};

/// Hashes every flow, link and point of a series: the same spec gives the same hash.
pub(super) fn outcome_hash(sim: &Sim<'_>, links: &[LinkAccount], stop: Time) -> u64 {
    let mut h = hash::mix2(hash::name("outcome"), stop.0);
    let mut add = |x: u64| h = hash::mix2(h, x);
    for (flow, record) in sim.world.flows.records.numbered() {
        let pair = |a: u32, b: u32| u64::from(a) << 32 | u64::from(b);
        add(record.fct);
        add(record.sender_fct);
        add(pair(record.packets, record.retransmits));
        add(pair(record.timeouts, record.fast_retransmits));
        add(pair(record.dupack3_events, record.out_of_order));
        add(pair(record.marks, record.path_changes));
        add(pair(record.arrived, record.spurious_retransmits));
        add(record.received);
        if record.close_fct > 0 {
            add(record.close_fct);
        }
        match sim.world.flows.carried(flow).facts.protocol {
            Protocol::Tcp => {}
            Protocol::Roce | Protocol::Uet => add(pair(record.nacks, record.cnps)),
        }
    }
    if !sim.world.flows.gates.is_empty() {
        sim.world.flows.specs.iter().for_each(|flow| add(flow.start.0));
    }
    let operations = &sim.world.flows.operations;
    if !operations.is_empty() {
        sim.world.flows.specs.iter().for_each(|flow| add(flow.start.0));
        (0..operations.count()).flat_map(|n| operations.times(n)).for_each(|time| add(time.0));
    }
    if sim.world.flows.resequences() {
        let Tally { held, timeouts, overflows } = sim.world.log.resequenced;
        [held, timeouts, overflows].into_iter().for_each(&mut add);
    }
    for link in links {
        let c = &link.counters;
        for x in [c.packets, c.bytes, c.drops, c.dropped_bytes, c.marks, c.busy.0, c.longest_queue] {
            add(x);
        }
    }
    if sim.net.trimming.is_some() {
        links.iter().for_each(|link| add(hash::mix2(link.counters.trimmed.0, link.counters.trimmed.1)));
    }
    if !sim.net.faults.is_empty() {
        links.iter().for_each(|link| add(link.lost));
    }
    for point in &sim.world.log.points {
        add(point.time.0);
        add(u64::from(point.series) << 32 | u64::from(point.entity));
        add(point.value.to_bits());
    }
    h
}
