//! A host as a scheme's [shell](Shell).

use super::{Host, Nic};
use crate::address::Address;
use crate::bank::{Bank, Call, Room};
use crate::control::peer_of;
use crate::ids::HostId;
use crate::log::EDGE_SERIES;
use crate::net::Net;
use crate::packet::{InHand, Packet};
use crate::shell::{Probes, Shell};
use crate::timers::Timers;
use crate::world::World;
use spinewise_policy::{Event, Hooks, HostView, Port, Queue, Time, To};

impl Shell for Host {
    fn address(&self) -> Address {
        Address::host(self.id)
    }

    #[inline(always)]
    fn bank<'a>(w: &'a mut World<'_>) -> Option<&'a mut Bank> {
        w.edge.as_mut()
    }

    fn timers(&mut self) -> &mut Timers {
        &mut self.timers
    }

    fn probes(&mut self) -> &mut Probes {
        &mut self.probes
    }

    #[inline]
    fn ask<R>(&self, w: &mut World<'_>, about: Address, hook: impl FnOnce(&mut Bank, Call<'_>) -> R) -> Option<R> {
        let edge = w.edge.as_mut()?;
        let call = call(w.net, self.id, w.now, about, edge);
        Some(hook(edge, call))
    }

    #[inline]
    fn listens(&self, w: &World<'_>, peer: Address, event: Event) -> bool {
        let wanted = if event.is_loss() { Hooks::LOSS } else { Hooks::FEEDBACK };
        let in_rack = || peer.as_host().is_some_and(|peer| w.net.same_rack(self.id, peer));
        w.edge.as_ref().is_some_and(|edge| edge.hooks().has(wanted)) && !in_rack()
    }

    fn set_out(&mut self, w: &mut World<'_>, mut hand: InHand) {
        self.commit(w, &mut hand);
    }

    fn set_out_probing(&mut self, w: &mut World<'_>, probe: Packet) {
        match &mut self.nic {
            Nic::Pulls(pull) if w.net.is_lossless() => {
                // It joins the data queue, so it must stop where data does: at once, not behind what was committed
                // before.
                pull.parked.push_back(probe);
                self.set_going(w);
            }
            Nic::Pulls(_) | Nic::Queues(_) => self.commit(w, &mut probe.into()),
        }
    }

    fn spread(&mut self, w: &mut World<'_>, to: To, message: Packet, body: &[u8]) {
        let leaf = w.net.topology.leaf(self.id);
        match to {
            To::Rack => self.send_to_rack(w, leaf, message, body),
            // A host's only neighbour is its leaf.
            To::Neighbours { except: None } => {
                let message = Packet { dst: Address::switch(leaf), ..message };
                self.commit(w, &mut InHand::with_body(message, body.into()));
            }
            To::Neighbours { except: Some(_) } | To::Port(_) | To::Host(_) | To::Leaf(_) => {}
        }
    }

    /// A host has no held queues: its layout refuses them.
    fn release(&mut self, _: &mut World<'_>, _: Port, _: Queue) {}

    fn record(&self, w: &mut World<'_>, series: u16, value: f64) {
        w.log.point(w.now, EDGE_SERIES + series, self.id.number(), value);
    }
}

/// The call of a hook of host `id`'s scheme that concerns device `about`.
#[inline]
pub(super) fn call<'a>(net: &'a Net, id: HostId, now: Time, about: Address, edge: &Bank) -> Call<'a> {
    let topology = &net.topology;
    let leaf = topology.leaf(id);
    let leaves = topology.leaves as usize;
    let ways = &topology.ways[leaf.index() * leaves..(leaf.index() + 1) * leaves];
    let peer = peer_of(about, edge.peers(id.number()), topology);
    let view = HostView {
        host: id.number(),
        leaf: leaf.number(),
        leaf_of: &topology.leaf_of,
        ways,
        link_rate: net.host_rate,
        path_rate: net.path_rate,
        path_rates: net.path_rates.get(leaf.index()).map_or(&[], |rates| rates),
        base_rtt: net.base_rtt,
        base_one_way: net.base_one_way,
        mss: net.frame.mss,
        mtu: net.frame.mtu(),
    };
    Call { seat: id.number(), now, room: Room::Host(view), peer }
}
