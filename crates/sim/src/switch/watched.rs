//! Choices outside the fast path: for traced flows, runs that follow a program, and guests.

use super::{OwnPorts, Switch, asks_scheme};
use crate::ids::SwitchId;
use crate::packet::{InHand, Packet};
use crate::world::World;

impl Switch {
    /// Asks the scheme, which may be a guest, for the way, and records the choices of traced flows. Where a program is
    /// followed, all switches may draw from one tape, and some flows may share a row.
    #[cold]
    #[inline(never)]
    pub(super) fn pick_watched(&mut self, w: &mut World<'_>, in_port: u16, candidates: &[u16], hand: &mut InHand) {
        let own = hand.packet.key();
        let shared = w.net.shared_rows.get(&own.0);
        let mut tape = w.fabric.tape.take();
        let mut lent = tape.as_deref_mut().map(|tape| tape.lend(candidates.len()));
        if let Some(stream) = &mut lent {
            w.fabric.swap_stream(self.id.number(), stream);
        }
        if let Some(&shared) = shared {
            w.fabric.copy_row(self.id.number(), shared, own);
        }
        let ports = OwnPorts { owner: self, wires: &w.wires, now: w.now, net: w.net };
        let call = self.call(w.net, w.now, hand.packet.dst, &ports, candidates, &w.free_queues);
        let seen = (&w.net.hashing, in_port);
        let leaf = hand.packet.dst.as_host().map(|dst| w.net.topology.leaf(dst));
        let wired = leaf.map_or(0, |leaf| w.net.topology.uplinks(self.id, leaf).len());
        let place = (self.node, candidates.len(), candidates.len().max(wired));
        let picked = match &mut w.log.recorder {
            Some(recorder) => recorder.pick(&mut w.fabric, call, &mut hand.packet, seen, place),
            None => w.fabric.pick_any(call, &mut hand.packet, seen),
        };
        if let Some(&shared) = shared {
            w.fabric.copy_row(self.id.number(), own, shared);
        }
        if let (Some(stream), Some(tape)) = (&mut lent, &mut tape) {
            w.fabric.swap_stream(self.id.number(), stream);
            tape.take_back(stream);
        }
        w.fabric.tape = tape;
        self.take(w, in_port, candidates, hand, picked);
    }

    /// Records that a packet of a traced flow passes by its only port, if faults have removed the others: no scheme is
    /// asked about it.
    #[cold]
    #[inline(never)]
    pub(super) fn note_only(&self, w: &mut World<'_>, (in_port, only): (u16, u16), leaf: SwitchId, packet: &Packet) {
        if asks_scheme(w.net, in_port, packet)
            && w.net.topology.uplinks(self.id, leaf).len() > 1
            && let Some(recorder) = &mut w.log.recorder
        {
            recorder.pass(&w.fabric.sheet().sees, (w.now, self.node), packet, only);
        }
    }
}
