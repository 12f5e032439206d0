//! The hash of everything that happened.

use super::links::LinkAccount;
use crate::engine::Sim;
use crate::flows::Record;
use crate::port::Counters;
use crate::transport::contract::Protocol;
use crate::transport::resequencer::Tally;
use spinewise_policy::{Time, hash};

/// Hashes every flow, link and point of a series: the same spec gives the same hash.
///
/// Left out: reroutes, which are counted only if asked for; pauses of ports; and the account of packets.
pub(super) fn outcome_hash(sim: &Sim<'_>, links: &[LinkAccount], stop: Time) -> u64 {
    let mut h = hash::mix2(hash::name("outcome"), stop.0);
    let mut add = |x: u64| h = hash::mix2(h, x);
    for (flow, record) in sim.world.flows.records.numbered() {
        let pair = |a: u32, b: u32| u64::from(a) << 32 | u64::from(b);
        // All fields by name: a new one must say here whether it is hashed.
        let &Record {
            fct,
            sender_fct,
            close_fct,
            packets,
            retransmits,
            timeouts,
            fast_retransmits,
            dupack3_events,
            nacks,
            cnps,
            out_of_order,
            marks,
            spurious_retransmits,
            path_changes,
            reroutes: _,
            arrived,
            received,
        } = record;
        add(fct);
        add(sender_fct);
        add(pair(packets, retransmits));
        add(pair(timeouts, fast_retransmits));
        add(pair(dupack3_events, out_of_order));
        add(pair(marks, path_changes));
        add(pair(arrived, spurious_retransmits));
        add(received);
        if close_fct > 0 {
            add(close_fct);
        }
        match sim.world.flows.carried(flow).facts.protocol {
            Protocol::Tcp => {}
            Protocol::Roce | Protocol::Uet => add(pair(nacks, cnps)),
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
        let Counters { packets, bytes, drops, dropped_bytes, marks, busy, longest_queue, paused: _, trimmed: _ } =
            link.counters;
        for x in [packets, bytes, drops, dropped_bytes, marks, busy.0, longest_queue] {
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
