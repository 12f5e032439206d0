//! Data that waits below its transport for data that it has overtaken: see `transport/resequencer.rs`.

use super::Host;
use crate::ids::SubflowId;
use crate::timers::What;
use crate::transport::contract::Arrival;
use crate::world::World;
use spinewise_policy::Time;

impl Host {
    /// Data or a handshake packet has arrived: passes on what may go on.
    pub(super) fn resequence(&mut self, w: &mut World<'_>, subflow: SubflowId, packet: Arrival) {
        let flow = w.flows.flow_of(subflow);
        if w.flows.records[flow].fct != 0 {
            self.ready.push(packet);
        } else {
            let size = w.flows.specs[flow].size;
            w.flows.ends.hold(w.now, (flow, size), packet, &mut self.ready, &mut w.log.resequenced);
        }
        self.pass_on(w, subflow);
    }

    /// The waiting time of data may be over.
    pub(super) fn waited(&mut self, w: &mut World<'_>, subflow: SubflowId) {
        if w.flows.ends.release(w.now, w.flows.flow_of(subflow), &mut self.ready, &mut w.log.resequenced) {
            self.pass_on(w, subflow);
        }
    }

    /// Gives the transport what is ready, and plans for what is not.
    fn pass_on(&mut self, w: &mut World<'_>, subflow: SubflowId) {
        let mut ready = std::mem::take(&mut self.ready);
        for packet in ready.drain(..) {
            if packet.syn {
                self.answer_greeting(w, subflow, &packet);
            } else if packet.len > 0 {
                self.take(w, subflow, &packet, || &[]);
            }
        }
        self.ready = ready;
        // When the last byte has gone on, the receiving end is finished and gone.
        let at = w.flows.ends.release_at(w.flows.flow_of(subflow));
        if at != Time::NEVER {
            self.timers.plan(at, What::Resequence(subflow));
        }
    }
}
