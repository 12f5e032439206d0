//! One queue of packets with their bodies.

use crate::packet::{BODY, Body, InHand, Packet};
use crate::prefetch;
use crate::ring::Ring;
use spinewise_policy::Time;
use std::collections::VecDeque;

/// One queue: first in, first out.
#[derive(Debug, Default)]
pub(super) struct Store {
    pub packets: Ring<Packet>,
    bodies: VecDeque<Body>,
    pub bytes: u64,
}

impl Store {
    #[inline(always)]
    pub(super) fn push(&mut self, hand: &mut InHand, in_port: u16) {
        self.bytes += u64::from(hand.packet.wire);
        let slot = self.packets.push();
        // Written to the slot, not to the packet in hand: a vector load after a narrow store stalls.
        *slot = hand.packet;
        slot.at = Time(u64::from(in_port));
        if hand.packet.is(BODY) {
            self.bodies.push_back(hand.body.take().unwrap_or_default());
        }
    }

    /// Moves the first packet, which must be there, into `slot`. Returns its body, if it has one.
    #[inline(always)]
    pub(super) fn pop_into(&mut self, slot: &mut Packet) -> Option<Body> {
        self.packets.pop_into(slot);
        self.bytes -= u64::from(slot.wire);
        self.packets.front().into_iter().for_each(prefetch::one);
        if slot.is(BODY) { self.bodies.pop_front() } else { None }
    }

    /// Takes the last packet, and the port it came by.
    #[cold]
    pub(super) fn pop_last(&mut self) -> Option<(InHand, u16)> {
        let packet = self.packets.pop_back()?;
        self.bytes -= u64::from(packet.wire);
        let body = if packet.is(BODY) { self.bodies.pop_back() } else { None };
        Some((InHand { packet, body }, packet.came_by()))
    }

    /// Moves all packets to the end of another queue.
    pub(super) fn move_to(&mut self, other: &mut Store) {
        other.bytes += std::mem::take(&mut self.bytes);
        self.packets.iter().for_each(|packet| *other.packets.push() = *packet);
        self.packets.clear();
        other.bodies.append(&mut self.bodies);
    }
}
