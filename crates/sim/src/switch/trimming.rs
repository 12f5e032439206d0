//! Packets that do not fit at ports that trim, and marks that are decided when a packet is already on the link.

use super::kept::Admitted;
use super::{Switch, drop_packet};
use crate::choices::Fate;
use crate::ids::NodeId;
use crate::link::Wires;
use crate::packet::InHand;
use crate::port::{AllRules, Found, Instant, Lane, Port, Room, Trimmed, Trims};
use crate::world::World;
use spinewise_policy::{Span, Time};

/// Trims a packet and records it. Returns whether its header is to be queued.
fn trim(w: &mut World<'_>, port: &mut impl Trims, (node, at): (NodeId, Instant), hand: &mut InHand) -> bool {
    match port.trim(at, hand, &w.wires) {
        Trimmed::By(cut) => {
            w.log.trimmed.add(cut);
            if w.log.recorder.is_some() {
                w.note_loss((node, Some(port.link())), &hand.packet, Fate::Trimmed);
            }
            true
        }
        Trimmed::HeaderLost | Trimmed::Never => {
            port.refuse(u32::from(hand.packet.wire));
            false
        }
    }
}

/// Admits a packet of this lane at a port that trims, if there is room. If not, a coin decides whether it loses its
/// payload or the last queued packet does. Returns where it is queued, if it is.
fn admit_or_trim(
    w: &mut World<'_>,
    port: &mut impl Trims,
    (node, at): (NodeId, Instant),
    (lane, hand): (Lane, &mut InHand),
    roll: impl FnOnce() -> f64,
) -> Option<Lane> {
    let wire = u32::from(hand.packet.wire);
    if port.room(at, lane, wire, &w.wires) == Room::Fits {
        return Some(lane);
    }
    if lane == Lane::Control {
        port.refuse(wire);
        return None;
    }
    let last = if roll() < 0.5 { port.take_last(&mut w.wires) } else { None };
    if let Some((mut last, came_by)) = last {
        if trim(w, port, (node, at), &mut last) {
            port.queue_control(w.now, &mut last, came_by, &mut w.wires);
        } else {
            w.dropped(&last.packet, (node, Some(port.link())), Fate::NoRoom);
        }
        // The coin has made place for it, even if the other packet was shorter: the room is then exceeded.
        return Some(lane);
    }
    trim(w, port, (node, at), hand).then_some(Lane::Control)
}

impl Switch {
    /// Queues or drops a packet at a port that trims, where room is not certain.
    #[cold]
    pub(super) fn queue_or_trim(&mut self, w: &mut World<'_>, (in_port, out): (u16, u16), hand: &mut InHand) {
        match self.admit_or_trim(w, (in_port, out), hand) {
            Some(admitted) => self.keep(w, out, hand, admitted),
            None => drop_packet(w, &hand.packet, (self.node, out), Fate::NoRoom),
        }
    }

    /// Admits a packet at a port that trims packets without room.
    pub(super) fn admit_or_trim(
        &mut self,
        w: &mut World<'_>,
        (in_port, out): (u16, u16),
        hand: &mut InHand,
    ) -> Option<Admitted> {
        let at = (w.now, self.freed(out));
        let roll = || self.dice.roll(out);
        let lane = match &mut self.ports[usize::from(out)] {
            Port::Fifo(_) => return None,
            Port::Kept(port) => {
                let lane = port.lanes().lane_of(&hand.packet);
                port.note_queue(match lane {
                    Lane::Data(_) => port.lanes().bytes(lane),
                    Lane::Pause | Lane::Control => port.control_waiting(at, &w.wires),
                });
                admit_or_trim(w, port, (self.node, at), (lane, hand), roll)?
            }
            Port::Trims(port) => {
                let lane = if hand.packet.is_control() { Lane::Control } else { Lane::Data(0) };
                port.note_found(w.now, lane, &w.wires);
                admit_or_trim(w, port, (self.node, at), (lane, hand), roll)?
            }
        };
        Some(Admitted { lane, in_port, found: Found::default() })
    }

    /// Processes events before `end` at ports that commit packets as they are queued, and sets their marks. Returns
    /// when the port must be checked next.
    #[inline]
    pub(crate) fn settle(&mut self, end: Time, rules: &AllRules, wires: &mut Wires) -> Time {
        let ports = 0..self.ports.len() as u16;
        ports.map(|out| self.settle_port(out, end - Span(1), rules, wires)).min().unwrap_or(Time::NEVER)
    }

    /// The same for one port, including what happens at `now`.
    #[inline]
    pub(crate) fn settle_port(&mut self, out: u16, now: Time, rules: &AllRules, wires: &mut Wires) -> Time {
        match &mut self.ports[usize::from(out)] {
            Port::Fifo(port) => {
                port.settle(now, rules.of(port.class()), wires);
                port.next_start()
            }
            Port::Kept(_) => Time::NEVER,
            Port::Trims(port) => {
                port.settle(now, wires, || self.dice.roll(out));
                port.due()
            }
        }
    }
}
