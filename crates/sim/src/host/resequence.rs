//! Data that waits below TCP for what it has overtaken: see `transport/resequencer.rs`.

use super::{Host, World};
use crate::flows::{Receiver, ReceivingMachine, Waiting};
use crate::packet::{Packet, SYN};
use crate::timers::What;
use crate::transport::resequencer::Rules;
use crate::transport::{TcpReceiver, Transport};
use spinewise_policy::Time;

impl Host {
    /// Data for TCP has arrived: passes on what may go on.
    pub(super) fn resequence(&mut self, w: &mut World<'_>, now: Time, rules: &Rules, packet: &Packet) {
        let flow = packet.flow;
        let is_through = w.flows.records[flow as usize].fct != 0;
        let slot = &mut w.flows.receivers[flow as usize];
        if is_through && slot.is_none() {
            self.ready.push((*packet, now));
        } else {
            let size = w.flows.specs[flow as usize].size;
            let receiver = slot.get_or_insert_with(|| Receiver::new(ReceivingMachine::Tcp(TcpReceiver::new(size))));
            let bytes = (packet.seq, u32::from(packet.payload));
            let waiting = receiver.waiting.get_or_insert_with(|| Waiting::new(rules));
            if packet.is(SYN) {
                waiting.packets.greet(rules, now, (*packet, now));
                return self.pass_on(w, now, rules, flow);
            }
            waiting.packets.arrive(rules, now, bytes, (*packet, now), &mut self.ready, &mut w.log.resequenced);
        }
        self.pass_on(w, now, rules, flow);
    }

    /// The time of data that waits may be over.
    pub(super) fn waited(&mut self, w: &mut World<'_>, now: Time, flow: u32) {
        let net = w.net;
        let Transport::Tcp(config) = &net.transport else { return };
        let Some(rules) = &config.resequencing else { return };
        let Some(receiver) = w.flows.receivers[flow as usize].as_deref_mut() else { return };
        let Some(waiting) = receiver.waiting.as_deref_mut() else { return };
        if waiting.timer_at != now {
            return;
        }
        waiting.timer_at = Time::NEVER;
        waiting.packets.expire(rules, now, &mut self.ready, &mut w.log.resequenced);
        self.pass_on(w, now, rules, flow);
    }

    /// Gives TCP what is ready, and plans for what is not.
    fn pass_on(&mut self, w: &mut World<'_>, now: Time, rules: &Rules, flow: u32) {
        let net = w.net;
        let Transport::Tcp(config) = &net.transport else { return };
        let mut ready = std::mem::take(&mut self.ready);
        for (packet, arrived) in ready.drain(..) {
            if packet.is(SYN) {
                self.answer_greeting(w, now, &packet);
            } else if packet.payload > 0 {
                self.receive_tcp(w, now, config, arrived, &packet);
            }
        }
        self.ready = ready;
        // When the last byte has gone on, the receiving end is through and gone.
        let Some(receiver) = w.flows.receivers[flow as usize].as_deref_mut() else { return };
        let Some(waiting) = receiver.waiting.as_deref_mut() else { return };
        if let Some(at) = waiting.packets.deadline(rules)
            && at < waiting.timer_at
        {
            waiting.timer_at = at;
            self.timers.plan(at, What::Resequence(flow));
        }
    }
}
