//! The network interface of a host, and how what the host makes gets on its line.

use super::{Host, PRIORITIES};
use crate::line::Line;
use crate::packet::{BODY, InHand, Packet};
use crate::port::{Fifo, Pausing};
use crate::shell::Shell;
use crate::world::World;
use spinewise_policy::{Kind, Time};

/// The network interface: a line, and what has been promised to it.
#[derive(Debug)]
pub(super) struct Nic {
    pub(super) line: Line,
    /// End of the last data packet pulled: then the next one is.
    pub(super) pulled_until: Time,
    /// Instead of the line, where a NIC queues what it is given.
    pub(super) queue: Option<Box<Fifo>>,
    /// No data of a paused priority is pulled.
    pub(super) pausing: Box<[Pausing; PRIORITIES]>,
    /// Any of these lies in the future, as far as is known.
    pub(super) paused: bool,
    /// For how long, in ps, and how often data priorities have been paused, up to the last pause.
    pub(super) pauses: (u64, u64),
}

impl Host {
    /// Sends a packet without a body: the host's scheme, if there is one, tags it. `make` is called once, where it goes
    /// straight to its place on the link, if it can: one that is put together elsewhere and copied at once waits until its
    /// fields have got there.
    #[inline(always)]
    pub(super) fn send(&mut self, w: &mut World<'_>, make: impl Fn() -> Packet) {
        if w.edge.is_none() && self.nic.queue.is_none() {
            let packet = make();
            count_created(w, &packet);
            self.put_on_line(w, packet);
        } else {
            self.send_tagged(w, make().into());
        }
    }

    /// Sends a packet, tagged by the host's scheme, if there is one, and does what that asks for.
    #[inline(never)]
    pub(super) fn send_tagged(&mut self, w: &mut World<'_>, mut hand: InHand) {
        self.choose(w, &mut hand.packet);
        self.commit(w, hand);
        self.perform(w, None);
    }

    /// Puts a packet on the line behind what is committed.
    pub(super) fn commit(&mut self, w: &mut World<'_>, mut hand: InHand) {
        count_created(w, &hand.packet);
        if self.nic.queue.is_some() {
            self.hand_over(w, &mut hand);
            return;
        }
        self.put_on_line(w, hand.packet);
        if hand.packet.is(BODY) {
            w.wires.push_body(self.nic.line.link, hand.body);
        }
    }

    /// Puts a packet on the line behind what is committed; its body goes [beside it](Wires::push_body).
    #[inline(always)]
    fn put_on_line(&mut self, w: &mut World<'_>, packet: Packet) {
        let line = &mut self.nic.line;
        let start = line.free_at().max(w.now);
        // A timestamp is written when a packet starts; a reply carries the one it echoes.
        let stamp = if matches!(packet.kind, Kind::Data | Kind::Probe) { start } else { packet.stamp };
        let arrives = line.send(start, u32::from(packet.wire), &mut w.wires);
        *w.wires.slot(line.link, arrives) = Packet { at: arrives, stamp, ..packet };
    }

    /// Gives a packet to a NIC that queues, which may mark or drop it. Its timestamp is that of the making.
    #[cold]
    fn hand_over(&mut self, w: &mut World<'_>, hand: &mut InHand) {
        let Some(queue) = self.nic.queue.as_deref_mut() else { return };
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
                    w.flows.left(packet.flow);
                }
            }
        }
    }
}

/// Notes a packet that a host has made.
#[inline(always)]
fn count_created(w: &mut World<'_>, packet: &Packet) {
    w.log.created.add(packet.wire);
    match packet.kind {
        Kind::Data => w.flows.entered(packet.flow),
        Kind::Ack => {
            w.flows.entered(packet.flow);
            w.log.acks.add(packet.wire);
        }
        Kind::Probe | Kind::ProbeReply => w.log.probes.add(packet.wire),
        Kind::Message => w.log.messages.add(packet.wire),
        Kind::Pause => {}
    }
}
