//! The receiving end of a queue pair: how a host answers its data.

use super::ends::delay_echo;
use super::{Host, World};
use crate::flows::{Receiver, ReceivingMachine};
use crate::packet::{CE, CNP, ECE, InHand, NACK, Packet, RETRANSMIT};
use crate::transport::rdma::put_sack;
use crate::transport::{RdmaAck, RdmaConfig, RdmaReceiver};
use crate::workload::Upon;
use spinewise_policy::{Kind, Time, Way};

impl Host {
    /// A data packet of a queue pair arrived; that it did is in its record.
    pub(super) fn receive_rdma(&mut self, w: &mut World<'_>, now: Time, config: &RdmaConfig, packet: &Packet) {
        let flow = packet.flow;
        let spec = w.flows.specs[flow as usize];
        let record = &mut w.flows.records[flow as usize];
        let slot = &mut w.flows.receivers[flow as usize];
        if record.fct != 0 && slot.is_none() {
            // Everything is here, and said so; the sender has missed that.
            record.out_of_order += u32::from(packet.seq + u64::from(packet.payload) < spec.size);
            let all = RdmaAck { cumulative: spec.size, cnp: packet.is(CE), ..RdmaAck::default() };
            self.send_answer(w, now, packet, &all);
            return;
        }
        let receiver = slot.get_or_insert_with(|| Receiver::new(ReceivingMachine::Rdma(RdmaReceiver::new(spec.size))));
        let ReceivingMachine::Rdma(pair) = &mut receiver.machine else { return };
        let got = pair.on_data(config, now, packet.seq, u32::from(packet.payload), packet.is(CE));
        record.out_of_order += u32::from(got.out_of_order);
        record.received += got.new_bytes;
        if got.completed {
            record.fct = now.since(spec.start).0;
        }
        self.tally.received += got.new_bytes;
        if let Some(answer) = got.answer {
            self.send_answer(w, now, packet, &answer);
        }
        self.after_receiving(w, flow);
        if got.completed {
            self.completed(w, now, flow, Upon::Received);
        }
    }

    /// Answers a data packet.
    fn send_answer(&mut self, w: &mut World<'_>, now: Time, data: &Packet, answer: &RdmaAck) {
        let flag = |flag: u8, on: bool| if on { flag } else { 0 };
        let (id, wire) = (self.id, w.net.frame.ack_bytes as u16);
        let packet = || Packet {
            stamp: data.stamp,
            seq: answer.cumulative,
            flow: data.flow,
            src: id,
            dst: data.src,
            wire,
            way: Way::ANY,
            echo: data.way.0,
            payload: delay_echo(now, data),
            kind: Kind::Ack,
            flags: flag(NACK, answer.nack) | flag(CNP, answer.cnp) | flag(ECE, data.is(CE)) | data.flags & RETRANSMIT,
            ..Packet::default()
        };
        match answer.sack {
            None => self.send(w, now, packet),
            // Not in the packet's header, which belongs to schemes.
            Some(sack) => self.send_tagged(w, now, InHand::with_body(packet(), Box::new(put_sack(sack)))),
        }
    }
}
