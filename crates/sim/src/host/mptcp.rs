//! The ends of MPTCP connections. What a subflow sends and gets is TCP's; what is added here is its option, which
//! travels as a body beside its packets, and the news that it brings to the connection.

use super::ends::{ack_of, arrival, tag_of};
use super::{Host, World};
use crate::flows::{Assembly, Connection, Machine, Receiver, ReceivingMachine, Sender};
use crate::packet::{BODY, CE, InHand, Packet, RETRANSMIT, SYN};
use crate::transport::mptcp::Signal;
use crate::transport::{AckOut, Expired, Sack, TcpReceiver, Transport};
use crate::workload::Upon;
use spinewise_policy::{Event, Time};

impl Host {
    /// A connection sends on the subflow whose turn it is; `blank` is a packet of its flow.
    pub(super) fn send_on_subflow(&mut self, w: &mut World<'_>, now: Time, blank: Packet) {
        let flow = blank.flow;
        let Transport::Tcp(config) = &w.net.transport else { return };
        let Some(n) = connection(w, flow).and_then(|connection| connection.next(config)) else { return };
        let blank = Packet { flow: w.flows.subflow(flow, n), ..blank };
        let is_opening = matches!(w.flows.sender(blank.flow), Some(Sender { machine: Machine::Opening(_), .. }));
        if is_opening && !self.greet(w, now, blank) {
            return;
        }
        let Some((segment, data)) = connection(w, flow).and_then(|connection| connection.next_segment(config, now, n))
        else {
            return;
        };
        let packet = Packet {
            seq: segment.seq,
            payload: segment.len as u16,
            wire: (segment.len + w.net.frame.header) as u16,
            flags: if segment.retransmit { RETRANSMIT } else { 0 },
            ..blank
        };
        let signal = Signal { data, sack: Sack::NONE };
        let number = packet.flow;
        self.send_tagged(w, now, InHand::with_body(packet, signal.encode()));
        self.has_sent(w, number);
    }

    /// A data packet of a subflow arrived.
    #[cold]
    pub(super) fn receive_on_subflow(&mut self, w: &mut World<'_>, now: Time, hand: &InHand) {
        let (packet, number) = (&hand.packet, hand.packet.flow);
        let (flow, n) = w.flows.flow_of(number);
        let Transport::Tcp(config) = &w.net.transport else { return };
        let (Some(n), Some(told)) = (n, signal(hand)) else { return };
        let spec = w.flows.specs[flow as usize];
        let record = &mut w.flows.records[flow as usize];
        record.arrived += 1;
        record.marks += u32::from(packet.is(CE));
        if record.fct != 0 {
            // Everything is here, and said so; the sender has missed that.
            record.out_of_order += u32::from(told.data + u64::from(packet.payload) < spec.size);
            return self.answer_late_segment(w, now, packet);
        }
        let make = || Receiver::new(ReceivingMachine::Mptcp(Assembly::new(config.subflows)));
        let receiver = w.flows.receivers[flow as usize].get_or_insert_with(make);
        let ReceivingMachine::Mptcp(assembly) = &mut receiver.machine else { return };
        let make = || Receiver::new(ReceivingMachine::Tcp(TcpReceiver::new(u64::MAX)));
        let ReceivingMachine::Tcp(tcp) = &mut assembly.subflows[n].get_or_insert_with(make).machine else { return };
        let new_bytes = assembly.data.take(told.data, told.data + u64::from(packet.payload));
        let completed = new_bytes > 0 && assembly.data.expected() == spec.size;
        if completed {
            // DATA_FIN (RFC 8684 §3.3.3): it is acknowledged at once, as a FIN would be.
            tcp.finish_with(packet.seq + u64::from(packet.payload));
            record.fct = now.since(spec.start).0;
        }
        let got = tcp.on_data(config, now, &arrival(packet, now));
        let sack = if config.recovery.has_sack() { tcp.sack() } else { Sack::NONE };
        // Of the subflow: that data overtakes data on another one is how it should be.
        record.out_of_order += u32::from(got.out_of_order);
        record.received += new_bytes;
        self.tally.received += new_bytes;
        for ack in got.acks.iter().flatten() {
            self.send_subflow_ack(w, now, number, ack, sack);
        }
        if completed {
            w.flows.receivers[flow as usize] = None;
            self.forget(w, flow);
            self.completed(w, now, flow, Upon::Received);
        } else {
            self.after_receiving(w, number);
        }
    }

    /// Answers a segment that arrives when the connection is through at this end.
    fn answer_late_segment(&mut self, w: &mut World<'_>, now: Time, packet: &Packet) {
        let end = packet.seq + u64::from(packet.payload);
        let ack = AckOut {
            cumulative: end,
            ece: packet.is(CE),
            echo: packet.stamp,
            echo_retransmit: packet.is(RETRANSMIT),
            echo_tag: tag_of(now, packet),
        };
        let Transport::Tcp(config) = &w.net.transport else { return };
        let sack = if config.recovery.has_sack() { Sack::of(&[(packet.seq, end)]) } else { Sack::NONE };
        self.send_subflow_ack(w, now, packet.flow, &ack, sack);
    }

    /// Sends an acknowledgement of a subflow, which carries that of the data.
    pub(super) fn send_subflow_ack(&mut self, w: &mut World<'_>, now: Time, number: u32, ack: &AckOut, sack: Sack) {
        let (flow, _) = w.flows.flow_of(number);
        let Transport::Tcp(config) = &w.net.transport else { return };
        let spec = w.flows.specs[flow as usize];
        let data = match w.flows.receivers[flow as usize].as_deref().map(|receiver| &receiver.machine) {
            Some(ReceivingMachine::Mptcp(assembly)) => assembly.data.expected(),
            _ => spec.size,
        };
        let sack = Sack::of(&sack.blocks()[..sack.blocks().len().min(config.options().sack_blocks)]);
        let ack = self.ack_packet(w, number, spec.src, ack)();
        let packet = Packet { wire: ack.wire + sack.wire_bytes() as u16, ..ack };
        self.send_tagged(w, now, InHand::with_body(packet, Signal { data, sack }.encode()));
    }

    /// An acknowledgement of a subflow arrived.
    #[cold]
    pub(super) fn ack_of_subflow(&mut self, w: &mut World<'_>, now: Time, hand: &InHand) {
        let (packet, number) = (&hand.packet, hand.packet.flow);
        let (flow, n) = w.flows.flow_of(number);
        let Transport::Tcp(config) = &w.net.transport else { return };
        let (Some(n), Some(connection)) = (n, connection(w, flow)) else { return };
        if let Machine::Opening(opening) = &connection.subflows[n].sender.machine {
            if packet.is(SYN) {
                self.receive_syn_ack(w, now, packet);
            } else if opening.on_confirmed() {
                connection.opened(config, n);
                self.ready(w, now, flow);
            }
            return;
        }
        // What answers a second packet of a handshake has no DSS option.
        let Some(told) = signal(hand) else { return };
        let outcome = connection.on_ack(config, now, n, &ack_of(packet), &told);
        connection.subflows[n].sender.forget_ways(packet.seq);
        let done = connection.data.is_done();
        let may_send = !done && connection.next(config).is_some();
        self.tally.dupack3 += u64::from(outcome.dupack3);
        self.tell_of_ack(w, now, packet, outcome.newly_acked);
        if done {
            for number in w.flows.numbers(flow) {
                if !matches!(w.flows.sender(number), Some(Sender { machine: Machine::Opening(_), .. })) {
                    self.close(w, now, number);
                }
            }
            self.tell_all(w, now, flow, Event::FlowEnd);
            self.finish(w, now, flow);
            return;
        }
        self.plan_retransmit(w, number);
        if may_send {
            self.ready(w, now, flow);
        }
    }

    /// The timer of a subflow has expired.
    #[cold]
    pub(super) fn subflow_timed_out(&mut self, w: &mut World<'_>, now: Time, number: u32) {
        let (flow, n) = w.flows.flow_of(number);
        let Transport::Tcp(config) = &w.net.transport else { return };
        let (Some(n), Some(connection)) = (n, connection(w, flow)) else { return };
        let mut oldest = Some(0);
        if let Machine::Opening(opening) = &mut connection.subflows[n].sender.machine {
            opening.on_timeout();
        } else {
            oldest = connection.subflows[n].tcp().map(|tcp| tcp.acked());
            if connection.on_timeout(config, now, n) == Expired::Other {
                oldest = None;
            }
        }
        if let Some(seq) = oldest {
            self.tell_of_timeout(w, now, w.flows.specs[flow as usize].dst, (number, seq));
        }
        self.plan_retransmit(w, number);
        self.ready(w, now, flow);
    }
}

/// The sending end of `flow`, if it is not done.
fn connection<'a>(w: &'a mut World<'_>, flow: u32) -> Option<&'a mut Connection> {
    match &mut w.flows.senders[flow as usize].as_deref_mut()?.machine {
        Machine::Mptcp(connection) => Some(connection),
        _ => None,
    }
}

/// What the DSS option of a packet tells, if it has one.
fn signal(hand: &InHand) -> Option<Signal> {
    // The body in hand may be that of a packet before.
    Signal::decode(hand.body.as_deref().filter(|_| hand.packet.is(BODY))?)
}
