//! The network interface of a host, and how what the host makes gets on its line.

use super::{Host, PRIORITIES, World};
use crate::faults::Outlet;
use crate::link::Wires;
use crate::packet::{BODY, InHand, Packet, Serializer};
use crate::port::{Counters, Pausing, Port};
use spinewise_policy::{Kind, Span, Time};

/// The network interface: a line, and what has been promised to it.
#[derive(Debug)]
pub(super) struct Nic {
    pub(super) line: Serializer,
    pub(super) delay: Span,
    pub(super) link: u32,
    /// End of everything committed.
    pub(super) busy_until: Time,
    /// End of the last data packet pulled: then the next one is.
    pub(super) pulled_until: Time,
    /// If its link changes.
    pub(super) outlet: Option<Box<Outlet>>,
    /// Instead of all this, where a NIC queues what it is given.
    pub(super) queue: Option<Box<Port>>,
    /// No data of a paused priority is pulled.
    pub(super) pausing: Box<[Pausing; PRIORITIES]>,
    /// Any of these lies in the future, as far as is known.
    pub(super) paused: bool,
    pub(super) counters: Counters,
}

impl Nic {
    /// Bits per second at `now`.
    pub(super) fn rate(&self, now: Time) -> u64 {
        self.outlet.as_ref().map_or(self.line.rate(), |outlet| outlet.at(now).0)
    }

    /// The rate of the transmission that starts at `start`.
    #[cold]
    fn set_rate(&mut self, start: Time) {
        if let Some(outlet) = &mut self.outlet {
            self.line.set_rate(outlet.rate(start));
        }
    }

    /// When what is sent from `start` to `ends` arrives.
    #[cold]
    fn late_arrival(&mut self, start: Time, ends: Time, wires: &mut Wires) -> Time {
        match &mut self.outlet {
            Some(outlet) => outlet.arrival(start, ends, wires),
            None => ends + self.delay,
        }
    }
}

impl Host {
    /// Sends a packet without a body: the host's scheme, if there is one, tags it. `make` is called once, where it goes
    /// straight to its place on the link, if it can: one that is put together elsewhere and copied at once waits until its
    /// fields have got there.
    #[inline(always)]
    pub(super) fn send(&mut self, w: &mut World<'_>, now: Time, make: impl Fn() -> Packet) {
        if w.edge.is_none() && self.nic.queue.is_none() {
            let packet = make();
            count_created(w, &packet);
            self.put_on_line(w, now, packet);
        } else {
            self.send_tagged(w, now, make().into());
        }
    }

    /// Sends a packet, tagged by the host's scheme, if there is one, and does what that asks for.
    #[inline(never)]
    pub(super) fn send_tagged(&mut self, w: &mut World<'_>, now: Time, mut hand: InHand) {
        self.choose(w, now, &mut hand.packet);
        self.commit(w, now, hand);
        self.perform(w, now, None);
    }

    /// Puts a packet on the line behind what is committed.
    pub(super) fn commit(&mut self, w: &mut World<'_>, now: Time, mut hand: InHand) {
        count_created(w, &hand.packet);
        if self.nic.queue.is_some() {
            self.hand_over(w, now, &mut hand);
            return;
        }
        self.put_on_line(w, now, hand.packet);
        if hand.packet.is(BODY) {
            w.wires.push_body(self.nic.link, hand.body);
        }
    }

    /// Puts a packet on the line behind what is committed; its body goes [beside it](Wires::push_body).
    #[inline(always)]
    fn put_on_line(&mut self, w: &mut World<'_>, now: Time, packet: Packet) {
        let start = self.nic.busy_until.max(now);
        let bytes = u32::from(packet.wire);
        if !self.nic.line.is_even() {
            self.nic.set_rate(start);
        }
        let took = self.nic.line.send(bytes, start > self.nic.busy_until);
        self.nic.busy_until = start + took;
        self.nic.counters.packets += 1;
        self.nic.counters.bytes += u64::from(bytes);
        self.nic.counters.busy += took;
        // A timestamp is written when a packet starts; a reply carries the one it echoes.
        let stamp = if matches!(packet.kind, Kind::Data | Kind::Probe) { start } else { packet.stamp };
        let ends = self.nic.busy_until;
        let even = self.nic.line.is_even();
        let arrives = if even { ends + self.nic.delay } else { self.nic.late_arrival(start, ends, w.wires) };
        *w.wires.slot(self.nic.link, arrives) = Packet { at: arrives, stamp, ..packet };
    }

    /// Gives a packet to a NIC that queues, which may mark or drop it. Its timestamp is that of the making.
    #[cold]
    fn hand_over(&mut self, w: &mut World<'_>, now: Time, hand: &mut InHand) {
        let Some(queue) = self.nic.queue.as_deref_mut() else { return };
        let packet = &mut hand.packet;
        if matches!(packet.kind, Kind::Data | Kind::Probe) {
            packet.stamp = now;
        }
        let rules = w.net.rules.of(queue);
        match queue.admit(now, u32::from(packet.wire), rules, w.wires) {
            Some(found) => queue.enqueue(now, hand, found, rules, w.wires),
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
