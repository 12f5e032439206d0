//! The information that a switch's scheme may read about the switch and the fabric.

use super::Switch;
use crate::ids::SwitchId;
use crate::link::Wires;
use crate::net::Net;
use crate::port::{Lanes, Port};
use spinewise_policy::site::Ports;
use spinewise_policy::{Port as PortId, Queue, Span, Time, Tree, Way};

/// A switch's own ports as its scheme sees them.
pub(super) struct OwnPorts<'a> {
    pub(super) owner: &'a Switch,
    pub(super) wires: &'a Wires,
    pub(super) now: Time,
    pub(super) net: &'a Net,
}

impl OwnPorts<'_> {
    /// Returns a leaf by number. Without this check, tables by pair would answer for another switch if no leaf has that
    /// number.
    #[inline]
    fn leaf(&self, number: u32) -> Option<SwitchId> {
        (number < self.net.topology.leaves).then(|| SwitchId::new(number))
    }

    fn queue(&self, port: PortId) -> (u64, u32) {
        let freed = self.owner.freed(port.0);
        let port = &self.owner.ports[port.index()];
        port.queue(self.now, freed, self.net.rules.of(port.class()), self.wires)
    }
}

impl Ports for OwnPorts<'_> {
    fn queue_bytes(&self, port: PortId) -> u64 {
        self.queue(port).0
    }
    fn queue_packets(&self, port: PortId) -> u32 {
        self.queue(port).1
    }
    fn data_bytes(&self, port: PortId) -> u64 {
        let own = &self.owner.ports[port.index()];
        let at = (self.now, self.owner.freed(port.0));
        // Headers of trimmed packets are data that did not fit.
        let occupancy = match own {
            Port::Fifo(_) => None,
            Port::Kept(kept) => kept.occupancy(at, self.wires),
            Port::Trims(port) => Some(port.occupancy(self.now, self.wires)),
        };
        if let Some(bytes) = occupancy {
            return bytes;
        }
        let apart = own.lanes().and_then(Lanes::data_apart);
        apart.unwrap_or_else(|| self.queue_bytes(port))
    }
    fn queue_room(&self, port: PortId) -> u64 {
        let own = &self.owner.ports[port.index()];
        let room = match own {
            Port::Fifo(_) => None,
            Port::Kept(kept) => kept.room_for_data(),
            Port::Trims(port) => Some(port.room_for_data()),
        };
        if let Some(room) = room {
            return room;
        }
        match &self.owner.buffer {
            Some(buffer) => buffer.most_of_one_queue(),
            None => self.net.rules.of(self.owner.ports[port.index()].class()).room(self.net.frame.mtu()),
        }
    }
    fn busy_time(&self, port: PortId) -> Span {
        self.owner.ports[port.index()].line().busy_by(self.now)
    }
    fn is_paused(&self, port: PortId) -> bool {
        self.owner.ports[port.index()].lanes().is_some_and(|lanes| lanes.any_paused(self.now))
    }
    fn rate(&self, port: PortId) -> u64 {
        self.owner.ports[port.index()].line().rate(self.now)
    }
    fn free_queue(&self, port: PortId) -> Option<Queue> {
        self.owner.ports[port.index()].lanes()?.free_queue()
    }
    fn queueing_delay(&self, port: PortId) -> Span {
        self.owner.ports[port.index()].queueing_delay(self.now, self.wires)
    }
    fn leaf_of(&self, host: u32) -> u32 {
        self.net.topology.leaf_of[host as usize]
    }
    fn told_path(&self, from: u32, to: u32, n: usize) -> Option<(PortId, u64)> {
        let topology = &self.net.topology;
        let (from, to) = (self.leaf(from)?, self.leaf(to)?);
        let &port = topology.uplinks(from, to).get(n)?;
        Some((PortId(port), topology.capacity(from, port, to)))
    }
    fn fabric_salt(&self) -> u64 {
        self.net.fabric_salt()
    }
    fn tree(&self) -> Option<Tree> {
        self.net.topology.tree
    }
    fn towards(&self, leaf: u32) -> &[u16] {
        self.leaf(leaf).map_or(&[], |leaf| self.net.topology.choices(self.owner.row, leaf))
    }
    fn told_loss(&self, leaf: u32) -> bool {
        self.leaf(leaf).is_some_and(|leaf| self.net.topology.loses_paths(self.owner.id, leaf))
    }
    fn told_component(&self, from: u32, to: u32, n: usize) -> Option<(u64, &[u16])> {
        let (net, from, to) = (self.net, self.leaf(from)?, self.leaf(to)?);
        let component = net.components.between(&net.topology, self.owner.map, from, to).get(n)?;
        Some((component.capacity, component.ports.get(&self.owner.id).map_or(&[], Vec::as_slice)))
    }
    fn told_paths(&self, leaf: u32) -> u16 {
        let (topology, own) = (&self.net.topology, self.owner);
        let (Some(_), Some(leaf)) = (self.leaf(own.id.number()), self.leaf(leaf)) else { return 0 };
        let paths = topology.whole_paths(own.id, leaf);
        let built = topology.uplinks(own.id, leaf);
        let leads = || topology.choices(own.row, leaf).iter().any(|port| built.contains(port));
        if paths == 0 || own.row == topology.first_row(own.id) || leads() { paths } else { 0 }
    }
    fn told_hop(&self, from: u32, to: u32, way: Way) -> Option<PortId> {
        self.net.topology.port_on(self.leaf(from)?, self.leaf(to)?, way.0, self.owner.id).map(PortId)
    }
    fn told_capacity(&self, port: PortId, leaf: u32) -> u64 {
        let leads = |_: &SwitchId| port.0 >= self.owner.host_ports;
        self.leaf(leaf).filter(leads).map_or(0, |leaf| self.net.topology.capacity(self.owner.id, port.0, leaf))
    }
}
