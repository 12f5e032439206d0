//! The handshake and the closing of a connection, as hosts send and read them. Their packets go like those of the flow:
//! a SYN is pulled by the NIC as a segment is, and a host's scheme and the switches' treat it as data without payload.

use super::ends::{delay_echo, one_way};
use super::{Host, World};
use crate::flows::Machine;
use crate::packet::{InHand, Packet, RETRANSMIT, SYN};
use crate::transport::{Greeting, Transport};
use spinewise_policy::{Event, FlowKey, Kind, Time, Way};

impl Host {
    /// Sends what opens a connection; `blank` is a packet of its flow. Does data follow at once?
    #[cold]
    pub(super) fn greet(&mut self, w: &mut World<'_>, now: Time, blank: Packet) -> bool {
        let number = blank.flow;
        let Transport::Tcp(config) = &w.net.transport else { return false };
        let joins = w.flows.joins(number);
        let Some(sender) = w.flows.sender(number) else { return false };
        let Machine::Opening(opening) = &mut sender.machine else { return false };
        let Some(greeting) = opening.next(config, now) else { return false };
        let (wire, flags) = match greeting {
            // RFC 3168 §6.1.1: a SYN is not ECN-capable, nor is an acknowledgement.
            Greeting::Syn { again } => (config.syn_bytes, SYN | if again { RETRANSMIT } else { 0 }),
            Greeting::Ack => (config.ack_bytes, 0),
        };
        let wire = wire + config.options().on_greeting(joins, greeting);
        let opened = greeting == Greeting::Ack && opening.opens_at_once();
        if opened {
            w.flows.opened(config, number);
        }
        let mut hand = InHand::from(Packet { wire: wire as u16, flags, ..blank });
        self.choose(w, now, &mut hand.packet);
        w.log.handshakes.add(hand.packet.wire);
        self.commit(w, now, hand);
        self.plan_retransmit(w, number);
        self.perform(w, now, None);
        opened
    }

    /// A packet of a handshake arrived at the end that did not begin it: a SYN is answered by a SYN-ACK. Or one that
    /// closes a connection.
    #[cold]
    pub(super) fn receive_greeting(&mut self, w: &mut World<'_>, now: Time, packet: &Packet) {
        let net = w.net;
        let Transport::Tcp(config) = &net.transport else { return };
        if packet.is(SYN) {
            // The buffer of a socket that listens holds a SYN as it holds what is small.
            match &config.resequencing {
                Some(rules) if rules.periods.is_some() && w.flows.receivers[packet.flow as usize].is_none() => {
                    self.resequence(w, now, rules, packet);
                }
                _ => self.answer_greeting(w, now, packet),
            }
        } else if packet.seq > 0 {
            let (flow, _) = w.flows.flow_of(packet.flow);
            let start = w.flows.specs[flow as usize].start;
            w.flows.records[flow as usize].close_fct = now.since(start).0;
        } else if let Some(rules) = config.resequencing.as_ref().filter(|rules| rules.periods.is_some()) {
            self.resequence(w, now, rules, packet);
        } else if w.flows.joins(packet.flow) {
            self.answer_greeting(w, now, packet);
        }
    }

    /// Answers a SYN, or the third packet of a subflow that joins.
    pub(super) fn answer_greeting(&mut self, w: &mut World<'_>, now: Time, packet: &Packet) {
        let Transport::Tcp(config) = &w.net.transport else { return };
        let joins = w.flows.joins(packet.flow);
        let mut wire = config.syn_bytes + config.options().on_answer(joins);
        if !packet.is(SYN) {
            // RFC 8684 §3.2: only its acknowledgement opens a subflow that joins
            wire = config.ack_bytes;
        }
        let answer = Packet {
            stamp: packet.stamp,
            flow: packet.flow,
            src: self.id,
            dst: packet.src,
            wire: wire as u16,
            way: Way::ANY,
            echo: packet.way.0,
            payload: delay_echo(now, packet),
            kind: Kind::Ack,
            flags: packet.flags & (SYN | RETRANSMIT),
            ..Packet::default()
        };
        self.send_tagged(w, now, answer.into());
    }

    /// All of a flow is acknowledged, and the receiver's FIN with it: sends the answer, if connections are closed.
    pub(super) fn close(&mut self, w: &mut World<'_>, now: Time, number: u32) {
        let Transport::Tcp(config) = &w.net.transport else { return };
        if !config.fin {
            return;
        }
        let (flow, _) = w.flows.flow_of(number);
        let spec = w.flows.specs[flow as usize];
        let mut hand = InHand::from(Packet {
            seq: spec.size,
            flow: number,
            src: self.id,
            dst: spec.dst,
            wire: config.ack_bytes as u16,
            way: Way::ANY,
            echo: u16::from(spec.priority),
            kind: Kind::Data,
            ..Packet::default()
        });
        self.choose(w, now, &mut hand.packet);
        w.log.handshakes.add(hand.packet.wire);
        self.commit(w, now, hand);
        self.perform(w, now, None);
    }

    /// A SYN-ACK arrived. One that answers a second SYN says nothing new.
    #[cold]
    pub(super) fn receive_syn_ack(&mut self, w: &mut World<'_>, now: Time, packet: &Packet) {
        let number = packet.flow;
        let Some(sender) = w.flows.sender(number) else { return };
        let Machine::Opening(opening) = &mut sender.machine else { return };
        let rtt = now.since(packet.stamp);
        opening.on_syn_ack(rtt);
        let event = Event::Ack { bytes: 0, rtt, one_way: one_way(packet), marked: false };
        self.tell(w, now, packet.src, Way(packet.echo), Some(FlowKey(number << 1)), event);
        let (flow, _) = w.flows.flow_of(number);
        self.ready(w, now, flow);
    }
}
