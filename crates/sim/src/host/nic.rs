//! The network interface of a host, and how what the host makes gets on its line.

use super::Host;
use super::pull::Pull;
use crate::choices::Fate;
use crate::packet::{InHand, Packet};
use crate::port::Fifo;
use crate::shell::Shell;
use crate::world::World;
use spinewise_policy::Kind;

/// The network interface, by what it does with packets.
#[derive(Debug)]
pub(super) enum Nic {
    /// It asks for data when its line is free, and puts all that the host makes besides on the line behind that.
    Pulls(Pull),
    /// It queues what it is given, and may mark or drop it.
    Queues(Box<Fifo>),
}

impl Host {
    /// Sends a packet without a body: the host's scheme, if there is one, tags it. `make` is called once, where it goes
    /// straight to its place on the link, if it can: one that is put together elsewhere and copied at once waits until its
    /// fields have got there.
    #[inline(always)]
    pub(super) fn send(&mut self, w: &mut World<'_>, make: impl Fn() -> Packet) {
        match &mut self.nic {
            Nic::Pulls(pull) if pull.is_plain => {
                let packet = make();
                count_created(w, &packet);
                pull.put_on_line(w, packet);
            }
            Nic::Pulls(_) | Nic::Queues(_) => self.send_tagged(w, &mut make().into()),
        }
    }

    /// Sends a packet, tagged by the host's scheme, if there is one, and does what that asks for.
    #[inline(never)]
    pub(super) fn send_tagged(&mut self, w: &mut World<'_>, hand: &mut InHand) {
        self.choose(w, &mut hand.packet);
        self.commit(w, hand);
        self.perform(w, None);
    }

    /// Puts a packet on the line behind what is committed.
    pub(super) fn commit(&mut self, w: &mut World<'_>, hand: &mut InHand) {
        count_created(w, &hand.packet);
        match &mut self.nic {
            Nic::Queues(queue) => hand_over(queue, w, hand),
            Nic::Pulls(pull) => match &mut pull.control {
                Some(control) if hand.packet.is_control() || hand.packet.is_question() => {
                    control.join(std::mem::take(hand));
                    self.set_going(w);
                }
                Some(_) | None => pull.put_whole(w, hand),
            },
        }
    }
}

/// Gives a packet to a NIC that queues, which may mark or drop it. Its timestamp is that of the making.
#[cold]
fn hand_over(queue: &mut Fifo, w: &mut World<'_>, hand: &mut InHand) {
    let packet = &mut hand.packet;
    if matches!(packet.kind, Kind::Data | Kind::Probe) {
        packet.stamp = w.now;
    }
    let rules = w.net.rules.of(queue.class());
    match queue.admit(w.now, u32::from(packet.wire), rules, &mut w.wires) {
        Some(found) => queue.enqueue(w.now, hand, found, rules, &mut w.wires),
        None => {
            w.log.dropped.add(packet.wire);
            if packet.of_flow() {
                w.flows.left(packet.subflow());
            }
            let link = queue.line().link;
            w.note_loss((w.net.topology.links[link].from.0, Some(link)), packet, Fate::NoRoom);
        }
    }
}

/// Notes a packet that a host has made.
#[inline(always)]
fn count_created(w: &mut World<'_>, packet: &Packet) {
    w.log.created.add(packet.wire);
    match packet.kind {
        Kind::Data => w.flows.entered(packet.subflow()),
        Kind::Ack => {
            w.flows.entered(packet.subflow());
            w.log.acks.add(packet.wire);
        }
        Kind::Probe | Kind::ProbeReply => w.log.probes.add(packet.wire),
        Kind::Message => w.log.messages.add(packet.wire),
        Kind::Pause => {}
    }
}
