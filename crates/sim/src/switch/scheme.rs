//! A switch as a scheme's [shell](Shell).

use super::{MADE_HERE, OwnPorts, Switch};
use crate::address::Address;
use crate::bank::{Asked, Bank, Call, Room};
use crate::control::peer_of;
use crate::log::FABRIC_SERIES;
use crate::net::Net;
use crate::packet::{InHand, Packet};
use crate::port::Drained;
use crate::shell::{Probes, Shell};
use crate::timers::Timers;
use crate::world::World;
use spinewise_policy::out::Action;
use spinewise_policy::{Event, Hooks, Kind, Port as PortId, Queue, SwitchView, Time, To};

impl Shell for Switch {
    fn address(&self) -> Address {
        Address::switch(self.id)
    }

    #[inline(always)]
    fn bank<'a>(w: &'a mut World<'_>) -> Option<&'a mut Bank> {
        Some(&mut w.fabric)
    }

    fn timers(&mut self) -> &mut Timers {
        &mut self.timers
    }

    fn probes(&mut self) -> &mut Probes {
        &mut self.probes
    }

    #[inline]
    fn ask<R>(&self, w: &mut World<'_>, about: Address, hook: impl FnOnce(&mut Bank, Call<'_>) -> R) -> Option<R> {
        Some(self.consult(w, about, hook))
    }

    #[inline]
    fn listens(&self, _: &World<'_>, _: Address, _: Event) -> bool {
        self.hooks.has(Hooks::FEEDBACK)
    }

    fn set_out(&mut self, w: &mut World<'_>, mut hand: InHand) {
        self.note_made(w, &hand.packet);
        hand.packet.limit_hops(w.net.hop_limit);
        self.forward(w, MADE_HERE, &mut hand);
    }

    fn set_out_probing(&mut self, w: &mut World<'_>, probe: Packet) {
        self.set_out(w, probe.into());
    }

    fn spread(&mut self, w: &mut World<'_>, to: To, message: Packet, body: &[u8]) {
        let inside = self.host_ports..self.ports.len() as u16;
        match to {
            To::Rack => self.send_to_rack(w, self.id, message, body),
            To::Neighbours { except } => {
                let behind = except.map(|port| w.net.topology.out(self.node, port.0).to.0);
                for port in inside {
                    if Some(w.net.topology.out(self.node, port).to.0) != behind {
                        self.send_over(w, port, message, body);
                    }
                }
            }
            To::Port(port) if inside.contains(&port.0) => self.send_over(w, port.0, message, body),
            To::Port(_) | To::Host(_) | To::Leaf(_) => {}
        }
    }

    fn release(&mut self, w: &mut World<'_>, port: PortId, queue: Queue) {
        self.release_held(w, port.0, queue);
    }

    fn record(&self, w: &mut World<'_>, series: u16, value: f64) {
        w.log.point(w.now, FABRIC_SERIES + series, self.node.number(), value);
    }
}

impl Switch {
    /// A probe, an answer or a message for this switch has come.
    pub(super) fn deliver(&mut self, w: &mut World<'_>, in_port: u16, hand: &InHand) {
        let packet = &hand.packet;
        w.delivered(packet);
        match packet.kind {
            Kind::Probe => self.answer(w, in_port, packet),
            Kind::ProbeReply => self.probe_reply(w, packet),
            Kind::Message => self.receive_message(w, in_port, packet, hand.body.as_deref().unwrap_or(&[])),
            Kind::Data | Kind::Ack | Kind::Pause => {}
        }
    }

    pub(super) fn note_made(&self, w: &mut World<'_>, packet: &Packet) {
        w.log.created.add(packet.wire);
        match packet.kind {
            Kind::Message => w.log.messages.add(packet.wire),
            Kind::Pause => w.log.pauses.add(packet.wire),
            Kind::Data | Kind::Ack | Kind::Probe | Kind::ProbeReply => w.log.probes.add(packet.wire),
        }
    }

    /// Tells the scheme that held queue `queue` of a port has drained and is free again.
    pub(super) fn tell_drained(&mut self, w: &mut World<'_>, port: u16, (queue, owner): Drained) {
        self.consult(w, Address::NOBODY, |fabric, call| fabric.drained(call, owner, PortId(port), queue));
        self.perform(w, None);
    }

    /// Calls a hook that concerns device `about`.
    #[inline(always)]
    pub(super) fn consult<R>(
        &self,
        w: &mut World<'_>,
        about: Address,
        hook: impl FnOnce(&mut Bank, Call<'_>) -> R,
    ) -> R {
        let ports = OwnPorts { owner: self, wires: &w.wires, now: w.now, net: w.net };
        hook(&mut w.fabric, self.call(w.net, w.now, about, &ports, &[], &w.free_queues))
    }

    /// The call of a hook that concerns device `about`.
    #[inline(always)]
    pub(super) fn call<'a>(
        &self,
        net: &Net,
        now: Time,
        about: Address,
        ports: &'a OwnPorts<'_>,
        candidates: &'a [u16],
        free_queues: &'a [u16],
    ) -> Call<'a> {
        let view = SwitchView {
            switch: self.id.number(),
            tier: self.tier,
            candidates,
            host_ports: self.host_ports,
            salt: self.salt,
            ports,
            free_queues,
        };
        Call { seat: self.id.number(), now, room: Room::Switch(view), peer: peer_of(about, self.peers, &net.topology) }
    }

    /// Sends a message to the switch behind `port`, unless this switch considers that link down.
    fn send_over(&mut self, w: &mut World<'_>, port: u16, message: Packet, body: &[u8]) {
        let link = w.net.topology.out(self.node, port);
        if !self.down.contains(&port) {
            let packet = Packet { dst: Address::of_node(link.to.0, w.net.topology.hosts), ..message };
            self.note_made(w, &packet);
            self.queue_inside(w, MADE_HERE, port, &mut InHand::with_body(packet, body.into()));
        }
    }
}

/// Whether a hook requested that the packet in hand be dropped.
#[inline]
pub(super) fn discards(asked: Option<&Asked>) -> bool {
    asked.is_some_and(|asked| asked.actions[..asked.len].contains(&Action::Discard))
}
