//! What hosts note of a flow: the ways its segments took, and what its sender has counted.

use crate::flows::{Flows, Machine, Record};
use crate::packet::Packet;
use crate::transport::TcpSender;
use spinewise_policy::Way;

/// The way the segment that starts at `seq` was last sent on.
pub(super) fn lost_way(flows: &Flows, flow: u32, seq: u64) -> Way {
    let Some(sender) = flows.senders[flow as usize].as_deref() else { return Way::ANY };
    match sender.ways.binary_search_by_key(&seq, |&(first, _)| first) {
        Ok(at) => sender.ways[at].1,
        Err(_) => Way::ANY,
    }
}

/// Notes the way of a data packet: changes are counted, and outstanding segments remembered for schemes that want losses.
pub(super) fn note_way(flows: &mut Flows, packet: &Packet, remember: bool) {
    let Some(sender) = flows.senders[packet.flow as usize].as_deref_mut() else { return };
    if sender.last_way != packet.way {
        let first = sender.last_way == Way::ANY;
        sender.last_way = packet.way;
        flows.records[packet.flow as usize].path_changes += u32::from(!first);
    }
    // Only acknowledgements take them off again.
    if remember && !matches!(sender.machine, Machine::Udp(..)) {
        match sender.ways.binary_search_by_key(&packet.seq, |&(first, _)| first) {
            Ok(at) => sender.ways[at].1 = packet.way,
            Err(at) => sender.ways.insert(at, (packet.seq, packet.way)),
        }
    }
}

/// Copies what a sender has counted into its flow's record.
pub fn keep_account(flows: &mut Flows, flow: u32) {
    let Some(sender) = flows.senders[flow as usize].as_deref() else { return };
    let record = &mut flows.records[flow as usize];
    match &sender.machine {
        Machine::Tcp(tcp) => keep_tcp(record, tcp),
        Machine::Sack(sack) => {
            keep_tcp(record, sack.tcp());
            record.spurious_retransmits = sack.spurious_retransmits();
        }
        Machine::Opening(opening) => record.timeouts = opening.timeouts(),
        Machine::Rdma(pair) => {
            record.packets = pair.packets();
            record.retransmits = pair.retransmits();
            record.timeouts = pair.timeouts();
            record.nacks = pair.nacks();
            record.cnps = pair.cnps();
        }
        Machine::Udp(udp, due) => record.packets = udp.packets() - due.len() as u32,
    }
}

fn keep_tcp(record: &mut Record, tcp: &TcpSender) {
    record.packets = tcp.packets();
    record.retransmits = tcp.retransmits();
    record.timeouts = tcp.timeouts();
    record.fast_retransmits = tcp.fast_retransmits();
    record.dupack3_events = tcp.dupack3_events();
}
