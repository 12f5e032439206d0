//! The switch's scheme: when its hooks are called, and how what they ask for is done.

use super::{MADE_HERE, OwnPorts, Switch, World};
use crate::bank::{Asked, Bank, Call, NO_PEER, Room};
use crate::control::{address, answer_of, message_of, message_to, peer_of, reply_to};
use crate::link::Wires;
use crate::log::FABRIC_SERIES;
use crate::net::Net;
use crate::packet::{ECT, InHand, Packet, SWITCH};
use crate::port::Drained;
use crate::timers::What;
use spinewise_policy::out::{Action, To};
use spinewise_policy::{Event, Feedback, Hooks, Kind, Port as PortId, Span, SwitchView, Time, Way};

impl Switch {
    pub(super) fn answer(&mut self, w: &mut World<'_>, now: Time, in_port: u16, packet: &Packet) {
        w.log.delivered.add(packet.wire - u16::from(packet.fabric_header));
        let wire = packet.wire - u16::from(packet.fabric_header);
        let reply = Packet { src: self.id | SWITCH, wire, ..reply_to(packet, now, in_port) };
        self.make(w, now, &mut reply.into());
    }

    pub(super) fn deliver(&mut self, w: &mut World<'_>, now: Time, in_port: u16, hand: &InHand) {
        let packet = &hand.packet;
        if packet.kind == Kind::Probe {
            self.answer(w, now, in_port, packet);
            return;
        }
        w.log.delivered.add(packet.wire - u16::from(packet.fabric_header));
        match packet.kind {
            Kind::Message if self.hooks.has(Hooks::MESSAGE) => {
                let body = hand.body.as_deref().unwrap_or(&[]);
                let message = message_of(packet, in_port, body);
                self.ask((w.net, w.wires, w.free_queues), now, packet.src, w.fabric, &[], |fabric, call| {
                    fabric.message(call, &message)
                });
                let asked = take_asked(w);
                self.perform(w, now, asked);
            }
            Kind::ProbeReply => {
                if let Some((peer, way)) = self.probes.remove(&packet.flow) {
                    self.tell(w, now, peer, way, answer_of(packet, now));
                }
            }
            _ => {}
        }
    }

    /// A packet made here sets out.
    pub(super) fn make(&mut self, w: &mut World<'_>, now: Time, hand: &mut InHand) {
        self.note_made(w, &hand.packet);
        self.forward(w, now, MADE_HERE, hand);
    }

    pub(super) fn note_made(&self, w: &mut World<'_>, packet: &Packet) {
        w.log.created.add(packet.wire);
        match packet.kind {
            Kind::Message => w.log.messages.add(packet.wire),
            Kind::Pause => w.log.pauses.add(packet.wire),
            _ => w.log.probes.add(packet.wire),
        }
    }

    pub(super) fn tell(&mut self, w: &mut World<'_>, now: Time, peer: u32, way: Way, event: Event) {
        if !self.hooks.has(Hooks::FEEDBACK) {
            return;
        }
        let feedback = Feedback { way, flow: None, event };
        self.ask((w.net, w.wires, w.free_queues), now, peer, w.fabric, &[], |fabric, call| {
            fabric.feedback(call, &feedback)
        });
        let asked = take_asked(w);
        self.perform(w, now, asked);
    }

    /// Tells the scheme that held queue `queue` of a port has drained and is free again.
    pub(super) fn tell_drained(&mut self, w: &mut World<'_>, now: Time, port: u16, (queue, owner): Drained) {
        self.ask((w.net, w.wires, w.free_queues), now, NO_PEER, w.fabric, &[], |fabric, call| {
            fabric.drained(call, owner, PortId(port), queue);
        });
        let asked = take_asked(w);
        self.perform(w, now, asked);
    }

    /// Calls a hook of this switch's scheme that concerns the device `about`.
    #[inline]
    pub(super) fn ask<R>(
        &self,
        (net, wires, free_queues): (&Net, &Wires, &[u16]),
        now: Time,
        about: u32,
        fabric: &mut Bank,
        candidates: &[u16],
        hook: impl FnOnce(&mut Bank, Call<'_>) -> R,
    ) -> R {
        let ports = OwnPorts { owner: self, wires, now, net };
        hook(fabric, self.call(net, now, about, &ports, candidates, free_queues))
    }

    /// The call of a hook that concerns the device `about`.
    #[inline(always)]
    pub(super) fn call<'a>(
        &self,
        net: &Net,
        now: Time,
        about: u32,
        ports: &'a OwnPorts<'_>,
        candidates: &'a [u16],
        free_queues: &'a [u16],
    ) -> Call<'a> {
        let view = SwitchView {
            switch: self.id,
            tier: self.tier,
            candidates,
            host_ports: self.host_ports,
            salt: self.salt,
            ports,
            free_queues,
        };
        Call { seat: self.id, now, room: Room::Switch(view), peer: peer_of(about, self.peers, &net.topology) }
    }

    /// Carries out what a hook asked for.
    #[inline]
    pub(super) fn perform(&mut self, w: &mut World<'_>, now: Time, asked: Option<Asked>) {
        if let Some(asked) = asked {
            self.carry_out(w, now, asked);
        }
    }

    pub(super) fn carry_out(&mut self, w: &mut World<'_>, now: Time, asked: Asked) {
        for &action in &asked.actions[..asked.len] {
            match action {
                Action::Send { to, class, flow, way, at, len, wire } => {
                    let body = &asked.bytes[at as usize..(at + len) as usize];
                    let message = Packet { src: self.id | SWITCH, ..message_to(class, flow, way, wire) };
                    self.send_message(w, now, to, message, body);
                }
                Action::Probe { to, way, wire, ttl, give_up } => {
                    self.probe(w, now, address(to), way, wire, ttl, give_up);
                }
                Action::Arm { key, at } => {
                    if w.net.habits.timers_set_anew {
                        w.fabric.cancel(self.id, key);
                    }
                    if let Some(at) = w.fabric.arm(self.id, key, at.max(now)) {
                        self.timers.plan(at, What::Scheme(key));
                    }
                }
                Action::Cancel { key } => w.fabric.cancel(self.id, key),
                Action::Release { port, queue } => self.release(w, now, port.0, queue),
                // Marks are made at egress; there is no transport here to hide them from.
                Action::MaskEcn => {}
                // Done at egress, before the packet was queued.
                Action::Discard => {}
                Action::Record { series, value } => w.log.point(now, FABRIC_SERIES + series, self.node, value),
            }
        }
        w.fabric.give_back(asked);
    }

    pub(super) fn send_message(&mut self, w: &mut World<'_>, now: Time, to: To, message: Packet, body: &[u8]) {
        match to {
            To::Host(dst) => self.make(w, now, &mut InHand::with_body(Packet { dst, ..message }, body.into())),
            To::Leaf(leaf) => {
                self.make(w, now, &mut InHand::with_body(Packet { dst: leaf | SWITCH, ..message }, body.into()))
            }
            To::Rack => {
                let net = w.net;
                for &dst in net.topology.hosts_of(self.id) {
                    self.make(w, now, &mut InHand::with_body(Packet { dst, ..message }, body.into()));
                }
            }
            To::Neighbours { except } => {
                let behind = except.map(|port| w.net.topology.out(self.node, port.0).to.0);
                for port in self.host_ports..self.ports.len() as u16 {
                    if Some(w.net.topology.out(self.node, port).to.0) != behind {
                        self.send_over(w, now, port, message, body);
                    }
                }
            }
            To::Port(port) => {
                if (self.host_ports..self.ports.len() as u16).contains(&port.0) {
                    self.send_over(w, now, port.0, message, body);
                }
            }
        }
    }

    /// Sends a message to the switch behind `port`, unless it takes that link for down.
    fn send_over(&mut self, w: &mut World<'_>, now: Time, port: u16, message: Packet, body: &[u8]) {
        let link = w.net.topology.out(self.node, port);
        if !self.down.contains(&port) {
            let packet = Packet { dst: (link.to.0 - w.net.topology.hosts) | SWITCH, ..message };
            self.note_made(w, &packet);
            self.queue_inside(w, now, MADE_HERE, port, &mut InHand::with_body(packet, body.into()));
        }
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn probe(
        &mut self,
        w: &mut World<'_>,
        now: Time,
        dst: u32,
        way: Way,
        wire: u32,
        ttl: u8,
        give_up: Span,
    ) {
        let number = self.next_probe;
        self.next_probe = self.next_probe.wrapping_add(1);
        self.probes.insert(number, (dst, way));
        let packet = Packet {
            stamp: now,
            flow: number,
            src: self.id | SWITCH,
            dst,
            wire: wire as u16,
            way,
            kind: Kind::Probe,
            flags: ECT,
            ttl,
            ..Packet::default()
        };
        self.make(w, now, &mut packet.into());
        self.timers.plan(now + give_up, What::ProbeLost(number));
    }
}

/// What the last hook call asked for, if anything.
#[inline]
pub(super) fn take_asked(w: &mut World<'_>) -> Option<Asked> {
    w.fabric.has_asked().then(|| w.fabric.asked())
}

/// Does a hook want the packet in hand dropped?
#[inline]
pub(super) fn discards(asked: Option<&Asked>) -> bool {
    asked.is_some_and(|asked| asked.actions[..asked.len].contains(&Action::Discard))
}
