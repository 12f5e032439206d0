//! Data that waits below its transport for what it has overtaken: see `transport/resequencer.rs`.

use super::Host;
use crate::timers::What;
use crate::transport::contract::Arrival;
use crate::world::World;
use spinewise_policy::Time;

impl Host {
    /// Data has arrived, or a packet of a handshake: passes on what may go on.
    pub(super) fn resequence(&mut self, w: &mut World<'_>, flow: u32, packet: Arrival) {
        if w.flows.records[flow as usize].fct != 0 {
            self.ready.push(packet);
        } else {
            let size = w.flows.specs[flow as usize].size;
            w.flows.ends.hold(w.now, (flow, size), packet, &mut self.ready, &mut w.log.resequenced);
        }
        self.pass_on(w, flow);
    }

    /// The time of data that waits may be over.
    pub(super) fn waited(&mut self, w: &mut World<'_>, flow: u32) {
        if w.flows.ends.release(w.now, flow, &mut self.ready, &mut w.log.resequenced) {
            self.pass_on(w, flow);
        }
    }

    /// Gives the transport what is ready, and plans for what is not.
    fn pass_on(&mut self, w: &mut World<'_>, flow: u32) {
        let mut ready = std::mem::take(&mut self.ready);
        for packet in ready.drain(..) {
            if packet.syn {
                self.answer_greeting(w, flow, &packet);
            } else if packet.len > 0 {
                self.take(w, flow, &packet, || &[]);
            }
        }
        self.ready = ready;
        // When the last byte has gone on, the receiving end is through and gone.
        let at = w.flows.ends.release_at(flow);
        if at != Time::NEVER {
            self.timers.plan(at, What::Resequence(flow));
        }
    }
}
