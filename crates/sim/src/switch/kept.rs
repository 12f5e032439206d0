//! Ports that keep their packets until transmission starts: shared buffers, priorities, flow control, held queues.

use super::buffer::{Came, SharedBuffer};
use super::{MADE_HERE, Switch, drop_packet};
use crate::address::Address;
use crate::choices::Fate;
use crate::net::Net;
use crate::packet::{InHand, Packet};
use crate::port::{Drained, Found, Freed, Kept, Lane, Lanes, Lost, Mark, Next, Port, Released};
use crate::timers::What;
use crate::world::World;
use spinewise_policy::{Kind, Queue, Span, Time};

/// The port and priority a packet came by, for its ingress account; `None` for packets made here.
#[inline]
fn came(in_port: u16, lane: Lane) -> Came {
    match lane {
        Lane::Data(priority) if in_port != MADE_HERE => Some((in_port, priority)),
        _ => None,
    }
}

/// A packet for which there is room: where it belongs, how it came, and whether the queue it found calls for a mark.
#[derive(Clone, Copy, Debug)]
pub(super) struct Admitted {
    pub lane: Lane,
    pub in_port: u16,
    pub found: Found,
}

/// Whether a line that is free from `free` on may take a packet at `now`. Where arrivals go first, a transmission that
/// ends at this very instant has not ended yet.
#[inline]
fn may_start(net: &Net, now: Time, free: Time) -> bool {
    free < now || (free == now && !net.arrivals_first())
}

/// Puts a packet on the line if it can start at once, or on the link if it is control that is committed as it is
/// queued; queues it if nothing else needs doing. Returns whether the packet is dealt with.
#[inline(always)]
pub(super) fn takes_at_once(
    w: &mut World<'_>,
    port: &mut Kept,
    buffer: Option<&mut SharedBuffer>,
    (in_port, freed): (u16, Freed),
    hand: &mut InHand,
) -> bool {
    if hand.packet.is_control() && port.commits_control() {
        let goes = port.has_ample_room(w.now, w.net.largest_packet);
        if goes {
            port.commit_control(w.now, hand, &mut w.wires);
        }
        return goes;
    }
    let free = may_start(w.net, w.now, port.line().free_at());
    if port.trims() {
        if !(free && port.passes(w.now)) {
            return port.joins((w.now, freed), hand, in_port);
        }
        port.pass(w.now, hand, w.net.rules.of(port.class()), &mut w.wires);
        port.note_start(port.lanes().lane_of(&hand.packet), u32::from(hand.packet.wire));
        return true;
    }
    let (true, Some(buffer)) = (free && port.passes(w.now), buffer) else { return false };
    // Most packets start at once and leave the shared buffer as it was: they need no queue and no account. There is one
    // data queue, and control has its own.
    let made_here = in_port == MADE_HERE;
    let passes =
        hand.packet.is_control() || (!made_here && buffer.passes((in_port, 0), u64::from(hand.packet.wire), w.now));
    if passes {
        port.pass(w.now, hand, w.net.rules.of(port.class()), &mut w.wires);
    }
    passes
}

impl Switch {
    /// Queues a packet that does not start at once, or drops it.
    #[inline(never)]
    pub(super) fn queue_up(&mut self, w: &mut World<'_>, (in_port, out): (u16, u16), hand: &mut InHand) {
        match self.admit_kept(w, (in_port, out), None, hand) {
            Some(admitted) => self.keep(w, out, hand, admitted),
            None => drop_packet(w, &hand.packet, (self.node, out), Fate::NoRoom),
        }
    }

    /// Admits a packet if there is room, in held queue `held` or else where it belongs.
    #[inline(always)]
    pub(super) fn admit_kept(
        &mut self,
        w: &mut World<'_>,
        (in_port, out): (u16, u16),
        held: Option<Queue>,
        hand: &mut InHand,
    ) -> Option<Admitted> {
        let port = self.ports[usize::from(out)].kept_mut()?;
        if port.trims() {
            return self.admit_or_trim(w, (in_port, out), hand);
        }
        let bytes = u32::from(hand.packet.wire);
        let lane = port.lanes().lane_of(&hand.packet);
        let Some(buffer) = self.buffer.as_deref_mut() else {
            let found = port.admit(w.now, bytes, held, w.net.rules.of(port.class()))?;
            return Some(Admitted { lane, in_port, found });
        };
        if lane != Lane::Control {
            let queue = held.map_or_else(|| port.lanes().bytes(lane), |q| port.lanes().bytes_held(q));
            port.note_queue(queue);
            if !buffer.admit(came(in_port, lane), queue, u64::from(bytes)) {
                port.refuse(bytes);
                return None;
            }
        }
        Some(Admitted { lane, in_port, found: Found::default() })
    }

    /// Queues an admitted packet.
    #[inline(always)]
    pub(super) fn keep(&mut self, w: &mut World<'_>, out: u16, hand: &mut InHand, admitted: Admitted) {
        let Admitted { lane, in_port, found } = admitted;
        let port = match &mut self.ports[usize::from(out)] {
            Port::Fifo(_) => return,
            Port::Kept(port) => port,
            Port::Trims(port) => return port.commit(w.now, hand, &mut w.wires),
        };
        if lane == Lane::Control && port.commits_control() {
            port.commit_control(w.now, hand, &mut w.wires);
            return;
        }
        port.keep(lane, hand, in_port, found);
        self.ask_pause(w, came(in_port, lane));
        self.set_going(w, out);
    }

    /// Drops an admitted packet after all: its port refuses it, and the buffer gets its bytes back.
    #[cold]
    pub(super) fn give_up(&mut self, w: &mut World<'_>, out: u16, packet: &Packet, admitted: Admitted) {
        let Admitted { lane, in_port, .. } = admitted;
        let came = came(in_port, lane);
        let port = &mut self.ports[usize::from(out)];
        port.refuse(u32::from(packet.wire));
        drop_packet(w, packet, (self.node, out), Fate::Discarded);
        if let (Some(buffer), Some(lanes), Lane::Data(_)) = (self.buffer.as_deref_mut(), port.lanes(), lane)
            && buffer.leave(came, lanes.bytes(lane), u64::from(packet.wire), w.now)
            && let Some(came) = came
        {
            self.send_pause(w, came, Span::ZERO);
        }
    }

    /// Parks a packet in a held queue of its output port.
    pub(super) fn hold(&mut self, w: &mut World<'_>, (in_port, out): (u16, u16), queue: Queue, hand: &mut InHand) {
        if w.net.holds_outside() {
            self.hold_outside(w, (in_port, out), queue, hand);
            return;
        }
        let owner = hand.packet.of_flow().then(|| hand.packet.key());
        let taken = self.ports[usize::from(out)].kept_mut().is_some_and(|port| port.take(queue, owner));
        if taken && let Some(owner) = owner {
            w.fabric.pin(self.id.number(), owner);
        }
        let admitted = self.admit_kept(w, (in_port, out), Some(queue), hand);
        let Some(admitted @ Admitted { lane, found, .. }) = admitted else {
            drop_packet(w, &hand.packet, (self.node, out), Fate::NoRoom);
            return;
        };
        if lane == Lane::Control {
            // Trimmed: its header does not wait.
            return self.keep(w, out, hand, admitted);
        }
        if let Some(port) = self.ports[usize::from(out)].kept_mut() {
            port.hold(queue, hand, in_port, found);
        }
        self.ask_pause(w, came(in_port, lane));
    }

    /// Releases a held queue.
    pub(super) fn release_held(&mut self, w: &mut World<'_>, out: u16, queue: Queue) {
        if w.net.holds_outside() {
            self.take_up(w, out, queue);
            return;
        }
        let Some(port) = self.ports[usize::from(out)].kept_mut() else { return };
        match port.release(queue) {
            Released::Nothing => {}
            Released::Drained(drained) => self.tell_drained(w, out, drained),
            Released::Joined { before, joined, .. } => {
                if let Some(buffer) = self.buffer.as_deref_mut() {
                    buffer.merge(before, joined);
                }
                self.set_going(w, out);
            }
        }
    }

    /// Whether the line of this port has become free, if it does so at this instant.
    #[inline]
    pub(crate) fn freed(&self, port: u16) -> Freed {
        Freed::up_to(self.freed, port)
    }

    /// The line of a port may be free, or a pause may have ended.
    pub(super) fn transmit_done(&mut self, w: &mut World<'_>, out: u16) {
        let freed = std::mem::replace(&mut self.freed, out + 1);
        self.line_is_free(w, out);
        self.freed = freed;
    }

    #[inline(always)]
    fn line_is_free(&mut self, w: &mut World<'_>, out: u16) {
        let Some(port) = self.ports[usize::from(out)].kept_mut() else { return };
        let free = port.line().free_at();
        // Another event has set it going, or will: this plan is stale.
        if port.armed() == w.now {
            port.arm(Time::NEVER);
            // The waiting packets have waited since before the last packet was sent: they count for that packet's mark.
            port.settle(w.now, &mut w.wires, || self.dice.roll(out));
            if free <= w.now {
                self.start(w, out);
            }
            self.plan_start(w, out);
        }
    }

    /// Starts the next packet of a port if its line is free, or arranges for it to start when it is.
    #[inline(always)]
    fn set_going(&mut self, w: &mut World<'_>, out: u16) {
        if may_start(w.net, w.now, self.ports[usize::from(out)].line().free_at()) {
            self.start(w, out);
        }
        self.plan_start(w, out);
    }

    /// Plans the start of the next packet that waits at a port.
    #[inline(always)]
    fn plan_start(&mut self, w: &World<'_>, out: u16) {
        let freed = self.freed(out);
        let Some(port) = self.ports[usize::from(out)].kept() else { return };
        if !port.waits() {
            return;
        }
        let due = port.due((w.now, freed));
        // Otherwise nothing starts sooner than what is planned.
        if port.armed() > due.max(w.now) {
            self.plan_sooner(w, (out, due));
        }
    }

    fn plan_sooner(&mut self, w: &World<'_>, (out, due): (u16, Time)) {
        let Some(port) = self.ports[usize::from(out)].kept_mut() else { return };
        let at = port.lanes().next_start(w.now).max(due);
        if at < port.armed() {
            port.arm(at);
            let late = w.net.arrivals_first();
            self.timers.plan_line(at, if late { What::LateTransmitDone(out) } else { What::TransmitDone(out) });
        }
    }

    /// Starts the next packet of a port whose line is free.
    fn start(&mut self, w: &mut World<'_>, out: u16) {
        let Some(port) = self.ports[usize::from(out)].kept_mut() else { return };
        let Some(next) = port.next(w.now) else { return };
        let Next { lane, in_port, wire, left } = next;
        let came = came(in_port, lane);
        let (mut mark, mut resumes) = (Mark::AsRulesSay, false);
        if let (Some(buffer), Lane::Data(priority)) = (self.buffer.as_deref_mut(), lane) {
            resumes = buffer.leave(came, left, u64::from(wire), w.now);
            if buffer.marks(priority, left, || self.dice.roll(out)) {
                mark = Mark::CalledFor;
            }
        }
        port.send_next(w.now, next, mark, w.net.rules.of(port.class()), &mut w.wires);
        port.note_start(lane, wire);
        if port.lanes().drains() {
            while let Some(drained) = self.drained(out, lane) {
                self.tell_drained(w, out, drained);
            }
        }
        if let (true, Some(came)) = (resumes, came) {
            self.send_pause(w, came, Span::ZERO);
        }
    }

    /// A held queue of a port that has drained from this data queue, if there is one left.
    #[inline]
    fn drained(&mut self, out: u16, lane: Lane) -> Option<Drained> {
        self.ports[usize::from(out)].kept_mut()?.drained(lane)
    }

    /// The switch dies: packets that wait in its ports are lost. No pause is withdrawn.
    pub(super) fn lose_all(&mut self, w: &mut World<'_>) {
        for out in 0..self.ports.len() as u16 {
            while let Some(Lost { packet, lane, left, .. }) =
                self.ports[usize::from(out)].kept_mut().and_then(Kept::lose)
            {
                w.log.lost_in_switches += 1;
                let link = w.net.topology.out_number(self.node, out);
                w.lost(&packet, (self.node, Some(link)), Fate::Died);
                if let (Some(buffer), Lane::Data(_)) = (self.buffer.as_deref_mut(), lane) {
                    buffer.leave(came(packet.came_by(), lane), left, u64::from(packet.wire), w.now);
                }
                while let Some(drained) = self.drained(out, lane) {
                    self.tell_drained(w, out, drained);
                }
            }
        }
    }

    /// Asks the sender behind an ingress to pause, if the ingress holds too much.
    #[inline(always)]
    fn ask_pause(&mut self, w: &mut World<'_>, came: Came) {
        let (Some(came), Some(buffer)) = (came, self.buffer.as_deref_mut()) else { return };
        match buffer.pause(came, w.now) {
            Some(length) => self.pause_sender(w, came, length),
            None if buffer.resumes_on_arrival(came, w.now) => {
                self.send_pause(w, came, Span::ZERO);
            }
            None => {}
        }
    }

    #[cold]
    fn pause_sender(&mut self, w: &mut World<'_>, came: (u16, u8), length: Span) {
        self.send_pause(w, came, length);
        self.plan_renewal(came, w.now);
    }

    fn plan_renewal(&mut self, came: (u16, u8), now: Time) {
        if let Some(at) = self.buffer.as_deref_mut().and_then(|buffer| buffer.plan_renewal(came)) {
            self.timers.plan(at.max(now), What::RenewPause(came.0, came.1));
        }
    }

    /// A requested pause may expire.
    pub(super) fn renew_pause(&mut self, w: &mut World<'_>, came: (u16, u8)) {
        let Some(buffer) = self.buffer.as_deref_mut() else { return };
        if let Some(length) = buffer.renew(came, w.now) {
            self.send_pause(w, came, length);
        }
        if self.buffer.as_deref().is_some_and(|buffer| buffer.renews_later(came, w.now)) {
            self.plan_renewal(came, w.now);
        }
    }

    /// Sends a frame of priority flow control (IEEE 802.1Qbb); a pause of zero length ends one.
    #[inline(never)]
    fn send_pause(&mut self, w: &mut World<'_>, (port, priority): (u16, u8), length: Span) {
        let Some(shared) = &w.net.shared else { return };
        let to = w.net.topology.out(self.node, port).to.0;
        let packet = Packet {
            seq: length.0,
            src: Address::switch(self.id),
            dst: Address::of_node(to, w.net.topology.hosts),
            wire: shared.pause_bytes as u16,
            echo: u16::from(priority),
            kind: Kind::Pause,
            ttl: 1,
            ..Packet::default()
        };
        let freed = self.freed(port);
        let Some(out) = self.ports[usize::from(port)].kept_mut() else { return };
        let committed = out.commits_control();
        let more = if committed {
            out.commit_pause(w.now, freed, &packet, &mut w.wires)
        } else if shared.pauses_queue {
            out.keep(Lane::Control, &mut InHand::from(packet), MADE_HERE, Found::default());
            true
        } else {
            out.keep_pause(&packet)
        };
        if more {
            self.note_made(w, &packet);
        }
        if !committed {
            self.set_going(w, port);
        }
    }

    /// A pause frame has come from the neighbour behind a port: pauses the port, or lets it resume.
    pub(super) fn obey(&mut self, w: &mut World<'_>, port: u16, packet: &Packet) {
        w.delivered(packet);
        let until = Time(w.now.0.saturating_add(packet.seq));
        if let Some(out) = self.ports[usize::from(port)].kept_mut() {
            out.pause(packet.echo as u8, w.now, until);
            self.set_going(w, port);
        }
    }

    /// Packets of a data priority that wait at a port, including held ones: how each came, and its bytes.
    pub(crate) fn waiting(&self, port: u16, priority: u8) -> impl Iterator<Item = (Came, u64)> {
        let lanes = self.ports[usize::from(port)].lanes();
        let packets = lanes.into_iter().flat_map(move |lanes| lanes.waiting(priority));
        packets.map(move |packet| (came(packet.came_by(), Lane::Data(priority)), u64::from(packet.wire)))
    }

    /// Whether the accounts of the buffer agree with the packets that the ports hold.
    pub(crate) fn accounts_agree(&self) -> bool {
        let Some(buffer) = self.buffer.as_deref() else { return true };
        let all = |port| (0..buffer.priorities()).flat_map(move |priority| self.waiting(port, priority));
        let packets: Vec<_> = (0..self.ports.len() as u16).flat_map(all).collect();
        buffer.agrees(&packets, self.ports.iter().filter_map(Port::lanes).flat_map(Lanes::queues))
    }
}
