//! What every link has carried.

use crate::engine::Sim;
use crate::port::Counters;
use spinewise_policy::Time;

/// What a link has carried.
pub(super) struct LinkAccount {
    /// Its number.
    pub number: u32,
    /// What its sender's port has counted.
    pub counters: Counters,
    /// Packets lost on it.
    pub lost: u64,
}

/// Closes all ports at `stop`; what they have promised beyond it never happened.
pub(super) fn close(sim: &mut Sim, stop: Time) -> Vec<LinkAccount> {
    let mut links = Vec::with_capacity(sim.net.topology.links.len());
    for (id, host) in sim.hosts.iter_mut().enumerate() {
        let counters = host.counters(stop, &sim.net.rules, &mut sim.wires);
        links.push(LinkAccount { number: sim.net.topology.out_number(id as u32, 0), counters, lost: 0 });
    }
    for switch in &mut sim.switches {
        for port in &mut switch.ports {
            let counters = port.finish(stop, &sim.net.rules, &mut sim.wires);
            links.push(LinkAccount { number: port.link, counters, lost: 0 });
        }
    }
    links.sort_by_key(|link| link.number);
    for link in &mut links {
        let (node, port) = sim.net.topology.links[link.number as usize].to;
        let frail = match node.checked_sub(sim.net.topology.hosts) {
            Some(switch) => &sim.switches[switch as usize].frail,
            None => &sim.hosts[node as usize].frail,
        };
        link.lost = frail.as_deref().map_or(0, |frail| frail.lost(port));
    }
    links
}
