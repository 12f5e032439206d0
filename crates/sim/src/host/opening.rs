//! The handshake and the closing of a connection, as hosts send and read them. These packets travel like those of the
//! flow: the NIC pulls a SYN as it pulls a segment, and a host's scheme and the switches' treat it as data without
//! payload.

use super::Host;
use super::ends::{answer_packet, arrival, tag_of};
use super::sending::data_packet;
use crate::ids::SubflowId;
use crate::packet::{InHand, Packet, SYN};
use crate::shell::Shell;
use crate::transport::contract::{Answer, Arrival, Data};
use crate::world::World;
use spinewise_policy::Way;

impl Host {
    /// Sends a packet that opens or closes a connection, given its first byte, its bytes on the wire and its flags.
    #[cold]
    pub(super) fn greet(&mut self, w: &mut World<'_>, subflow: SubflowId, (seq, wire, flags): (u64, u16, u8)) {
        let flow = w.flows.flow_of(subflow);
        let spec = w.flows.specs[flow];
        let greeting = Data { seq, len: 0, wire, flags };
        let mut hand = InHand::from(data_packet((self.id, spec.receiver()), subflow, spec.priority, &greeting));
        w.log.handshakes.add(wire);
        self.choose(w, &mut hand.packet);
        self.commit(w, &mut hand);
        self.perform(w, None);
    }

    /// All of a flow is acknowledged, including the receiver's FIN: sends the answer, if connections are closed.
    pub(super) fn close(&mut self, w: &mut World<'_>, subflow: SubflowId) {
        let flow = w.flows.flow_of(subflow);
        let Some(wire) = w.flows.carried(flow).facts.closing else { return };
        self.greet(w, subflow, (w.flows.specs[flow].size, wire, 0));
    }

    /// A handshake packet arrived at the end that did not begin it (a SYN is answered by a SYN-ACK), or a packet that
    /// closes a connection.
    #[cold]
    pub(super) fn receive_greeting(&mut self, w: &mut World<'_>, packet: &Packet) {
        let subflow = packet.subflow();
        let flow = w.flows.flow_of(subflow);
        let greeting = arrival(packet, w.now);
        if packet.is(SYN) {
            // The buffer of a listening socket holds a SYN as it holds anything small.
            if w.flows.ends.holds_greetings(flow) && !w.flows.ends.receives(flow) {
                self.resequence(w, subflow, greeting);
            } else {
                self.answer_greeting(w, subflow, &greeting);
            }
        } else if packet.seq > 0 {
            let start = w.flows.specs[flow].start;
            w.flows.records[flow].close_fct = w.now.since(start).0;
        } else if w.flows.ends.holds_greetings(flow) {
            self.resequence(w, subflow, greeting);
        } else if w.flows.joins(subflow) {
            self.answer_greeting(w, subflow, &greeting);
        }
    }

    /// Answers a SYN, or the third packet of a subflow that joins.
    pub(super) fn answer_greeting(&mut self, w: &mut World<'_>, subflow: SubflowId, greeting: &Arrival) {
        let flow = w.flows.flow_of(subflow);
        let tag = tag_of(w.now, greeting.stamp, Way(greeting.tag as u16));
        let wire = w.flows.ends.welcome(subflow, greeting);
        let answer = Answer {
            echo: greeting.stamp,
            echo_tag: tag,
            echo_retransmit: greeting.retransmit,
            nack_or_syn: greeting.syn,
            ..Answer::default()
        };
        let to = w.flows.specs[flow].sender();
        self.send_tagged(w, &mut answer_packet((self.id, to), subflow, wire, &answer).into());
    }
}
