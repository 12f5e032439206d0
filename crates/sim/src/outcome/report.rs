//! The report: counters and links.

use super::links::{self, LinkAccount};
use super::series;
use crate::deadlock;
use crate::engine::Sim;
use crate::flows::Flows;
use crate::host::Host;
use crate::ids::{FlowId, Table};
use crate::packet::Packet;
use crate::switch::SharedBuffer;
use crate::workload::load::Loads;
use serde_json::{Value, json};
use spinewise_policy::Time;

/// Reports the events of a run, as JSON.
pub(super) fn report(sim: &Sim<'_>, links: &[LinkAccount], stop: Time, loads: Option<Loads>) -> Value {
    let topology = &sim.net.topology;
    let log = &sim.world.log;
    let deadlock =
        deadlock::is_possible(&sim.switches).then(|| deadlock::find(&sim.switches, &sim.net.topology, stop)).flatten();
    let entities: Vec<String> = topology
        .node_ids()
        .map(|node| topology.node_name(node))
        .chain(topology.links.ids().map(|link| topology.link_name(link)))
        .collect();
    let in_flight = in_network(sim);
    let account = |a: crate::log::Account| json!({ "packets": a.packets, "bytes": a.bytes });
    let most = sim.switches.iter().filter_map(|switch| switch.buffer.as_deref()).map(SharedBuffer::most);
    let finished = sim.world.flows.records.iter().filter(|r| r.fct != 0).count();
    let mut told = json!({
        "seed": sim.net.seed,
        "stop_ps": stop.0,
        "events": log.events,
        "packet_hops": links.iter().map(|link| link.counters.packets).sum::<u64>(),
        "flows": sim.world.flows.specs.len(),
        "finished": finished,
        "counters": {
            "created": account(log.created),
            "delivered": account(log.delivered),
            "dropped": account(log.dropped),
            "lost": account(log.lost),
            "lost_in_switches": log.lost_in_switches,
            "consumed": account(log.consumed),
            "in_network_at_stop": account(in_flight),
            "acks": account(log.acks),
            "handshakes": account(log.handshakes),
            "probes": account(log.probes),
            "messages": account(log.messages),
            "pause_frames": account(log.pauses),
            "lossless_drops": if sim.net.is_lossless() { log.dropped.packets - log.unroutable - log.lossy_drops } else { 0 },
            "most_buffer_bytes": most.clone().map(|most| most.0).collect::<Vec<_>>(),
            "most_headroom_bytes": most.map(|most| most.1).max().unwrap_or(0),
            "scheme_header_bytes": log.header_bytes,
            "unroutable": log.unroutable,
        },
        "loads": loads.as_ref().map(|loads| loads.json(|leaf| topology.leaf_name(leaf))),
        "deadlock": deadlock.map(|links| links.into_iter().map(|link| topology.link_name(link)).collect::<Vec<_>>()),
        "series_names": series::names(sim),
        "entity_names": if log.points.is_empty() { Vec::new() } else { entities },
        "samples": links::samples(sim, stop),
        "balance": links::balance(sim, stop),
        "links": links::told(sim, links, stop),
    });
    if sim.net.trimming.is_some() {
        told["counters"]["trimmed"] = account(log.trimmed);
        told["counters"]["headers_lost"] = links.iter().map(|link| link.counters.trimmed.1).sum::<u64>().into();
    }
    told
}

/// Returns which flows have not arrived in full and have hosts that are cut off from each other when the run ends.
pub(super) fn cut_off(sim: &Sim<'_>, stop: Time) -> Table<FlowId, bool> {
    let Flows { specs, records, .. } = &sim.world.flows;
    let mut found = Table::filled(false, specs.len());
    let open: Vec<FlowId> = specs.ids().filter(|&flow| records[flow].fct == 0).collect();
    let pairs: Vec<_> = open.iter().map(|&flow| (specs[flow].sender(), specs[flow].receiver())).collect();
    let cut = sim.net.faults.cut_off(&sim.net.topology, stop, &pairs);
    open.into_iter().zip(cut).for_each(|(flow, cut)| found[flow] = cut);
    found
}

/// Counts the flows that have not arrived in full, by cause: cut off, or not enough time. UDP sources do not count as
/// flows.
pub(super) fn unfinished(sim: &Sim<'_>, cut_off: &Table<FlowId, bool>) -> Value {
    let flows = &sim.world.flows;
    let open = flows.records.numbered().filter(|&(flow, record)| record.fct == 0 && flows.has_transport(flow));
    let (cut, late): (Vec<bool>, Vec<bool>) = open.map(|(flow, _)| cut_off[flow]).partition(|&cut| cut);
    json!({"cut_off": cut.len(), "out_of_time": late.len()})
}

/// Packets on links and in ports when the run stopped.
fn in_network(sim: &Sim<'_>) -> crate::log::Account {
    let mut account = crate::log::Account::default();
    let mut add = |packet: &Packet| account.add(packet.wire - u16::from(packet.fabric_header));
    sim.world.wires.in_flight().for_each(&mut add);
    sim.hosts.iter().flat_map(Host::waiting).for_each(&mut add);
    sim.switches
        .iter()
        .flat_map(|switch| &switch.ports)
        .for_each(|port| port.lanes().into_iter().flat_map(|lanes| lanes.packets()).for_each(&mut add));
    account
}
