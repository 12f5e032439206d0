//! The traffic of every link, and its state at the samples.

use crate::engine::Sim;
use crate::ids::LinkId;
use crate::port::Counters;
use crate::samples::Samples;
use serde_json::{Value, json};
use spinewise_policy::Time;

/// The account of a link.
pub(super) struct LinkAccount {
    /// Its number.
    pub number: LinkId,
    /// The counters of its sender's port.
    pub counters: Counters,
    /// Packets lost on it.
    pub lost: u64,
}

/// Closes all ports at `stop`; packets they have committed beyond that never happened.
pub(super) fn close(sim: &mut Sim<'_>, stop: Time) -> Vec<LinkAccount> {
    let mut links = Vec::with_capacity(sim.net.topology.links.len());
    for (id, host) in sim.net.topology.host_ids().zip(&mut sim.hosts) {
        let counters = host.counters(stop, &sim.net.rules, &mut sim.world.wires);
        links.push(LinkAccount { number: sim.net.topology.host_link(id), counters, lost: 0 });
    }
    for switch in &mut sim.switches {
        switch.settle(stop, &sim.net.rules, &mut sim.world.wires);
        for port in &mut switch.ports {
            let counters = port.finish(stop, sim.net.rules.of(port.class()), &mut sim.world.wires);
            links.push(LinkAccount { number: port.line().link, counters, lost: 0 });
        }
    }
    links.sort_by_key(|link| link.number);
    for link in &mut links {
        let (node, port) = sim.net.topology.links[link.number].to;
        let frail = match sim.net.topology.as_host(node) {
            Some(host) => &sim.hosts[host].frail,
            None => &sim.switches[sim.net.topology.switch_number(node)].frail,
        };
        link.lost = frail.as_deref().map_or(0, |frail| frail.lost(port));
    }
    links
}

/// Returns the report of each link, in numerical order.
pub(super) fn told(sim: &Sim<'_>, links: &[LinkAccount], stop: Time) -> Value {
    links.iter().map(|link| link_told(sim, link, stop)).collect()
}

fn link_told(sim: &Sim<'_>, link: &LinkAccount, stop: Time) -> Value {
    let (topology, c) = (&sim.net.topology, &link.counters);
    let (queue_bytes, use_max) = sampled(sim, link, stop);
    let mut told = json!({
        "name": topology.link_name(link.number),
        "fabric": topology.joins_switches(link.number),
        "rate_bps": topology.links[link.number].rate,
        "packets": c.packets,
        "bytes": c.bytes,
        "lost": link.lost,
        "drops": c.drops,
        "dropped_bytes": c.dropped_bytes,
        "marks": c.marks,
        "longest_queue_bytes": c.longest_queue,
        "queue_bytes": queue_bytes,
        "paused_ps": c.paused.0,
        "pauses": c.paused.1,
        "utilisation": if stop == Time::ZERO { 0.0 } else { c.busy.0 as f64 / stop.0 as f64 },
        "use_max": use_max,
    });
    if sim.net.trimming.is_some() {
        (told["trimmed"], told["headers_lost"]) = (c.trimmed.0.into(), c.trimmed.1.into());
    }
    told
}

/// Bytes that waited for a link, and its highest utilisation in an interval. Null where nothing was sampled; a NIC that
/// makes packets only as it sends them has no queue.
fn sampled(sim: &Sim<'_>, link: &LinkAccount, stop: Time) -> (Value, Value) {
    let Some((samples, taken)) = taken(sim, stop) else { return (Value::Null, Value::Null) };
    let from = sim.net.topology.links[link.number].from;
    let seen = samples.of(sim.net, from);
    let lengths = &seen.lengths;
    let percentile = |percent| lengths.percentile(percent, taken);
    let queue = json!({
        "mean": lengths.mean(taken),
        "p50": percentile(50),
        "p95": percentile(95),
        "p99": percentile(99),
        "max": lengths.longest().max(link.counters.longest_queue),
    });
    let queues = sim.net.topology.as_host(from.0).is_none_or(|host| sim.hosts[host].nic_queue().is_some());
    let most = seen.most_busy.0 as f64 / samples.interval().0 as f64;
    (if queues { queue } else { Value::Null }, json!(most))
}

/// Number of times links were sampled; null if never.
pub(super) fn samples(sim: &Sim<'_>, stop: Time) -> Value {
    taken(sim, stop)
        .map_or(Value::Null, |(samples, taken)| json!({"interval_ps": samples.interval().0, "taken": taken}))
}

/// Unevenness of the use of links of equal cost by switches; null if not measured, or if nothing was sent over any.
pub(super) fn balance(sim: &Sim<'_>, stop: Time) -> Value {
    let imbalance = taken(sim, stop).and_then(|(samples, _)| samples.imbalance());
    imbalance.map_or(Value::Null, |found| {
        json!({
            "imbalance_mean": found.mean,
            "imbalance_max": found.greatest,
            "most_uneven": sim.net.topology.node_name(sim.net.topology.switch_node(found.switch)),
        })
    })
}

/// The samples of a run that stopped at `stop`, and how many, if any were taken.
fn taken<'a>(sim: &'a Sim<'_>, stop: Time) -> Option<(&'a Samples, u64)> {
    let samples = sim.samples.as_deref()?;
    let taken = samples.taken(stop);
    (taken > 0).then_some((samples, taken))
}
