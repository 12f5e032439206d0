//! What hosts note of a flow: the ways its segments took, and what its sender has counted.

use crate::flows::{Flows, Machine, Record, Sender};
use crate::packet::Packet;
use crate::transport::TcpSender;
use spinewise_policy::Way;

/// The way the segment that starts at `seq` was last sent on.
pub(super) fn lost_way(flows: &mut Flows, flow: u32, seq: u64) -> Way {
    let Some(sender) = flows.sender(flow) else { return Way::ANY };
    match sender.ways.binary_search_by_key(&seq, |&(first, _)| first) {
        Ok(at) => sender.ways[at].1,
        Err(_) => Way::ANY,
    }
}

/// Notes the way of a data packet: changes are counted, and outstanding segments remembered for schemes that want losses.
pub(super) fn note_way(flows: &mut Flows, packet: &Packet, remember: bool) {
    let Some(sender) = flows.sender(packet.flow) else { return };
    let mut changed = false;
    if sender.last_way != packet.way {
        changed = sender.last_way != Way::ANY;
        sender.last_way = packet.way;
    }
    // Only acknowledgements take them off again.
    if remember && !matches!(sender.machine, Machine::Udp(..)) {
        match sender.ways.binary_search_by_key(&packet.seq, |&(first, _)| first) {
            Ok(at) => sender.ways[at].1 = packet.way,
            Err(at) => sender.ways.insert(at, (packet.seq, packet.way)),
        }
    }
    if changed {
        let (flow, _) = flows.flow_of(packet.flow);
        flows.records[flow as usize].path_changes += 1;
    }
}

/// Copies what a sender has counted into its flow's record.
pub fn keep_account(flows: &mut Flows, flow: u32) {
    let Some(sender) = flows.senders[flow as usize].as_deref() else { return };
    let record = &mut flows.records[flow as usize];
    let zero = [
        &mut record.packets,
        &mut record.retransmits,
        &mut record.timeouts,
        &mut record.fast_retransmits,
        &mut record.dupack3_events,
        &mut record.spurious_retransmits,
    ];
    zero.into_iter().for_each(|count| *count = 0);
    add_sender(record, sender);
}

/// Adds what a sender has counted.
fn add_sender(record: &mut Record, sender: &Sender) {
    match &sender.machine {
        Machine::Tcp(tcp) => add_tcp(record, tcp),
        Machine::Sack(sack) => {
            add_tcp(record, sack.tcp());
            record.spurious_retransmits += sack.spurious_retransmits();
        }
        Machine::Opening(opening) => record.timeouts += opening.timeouts(),
        Machine::Mptcp(connection) => {
            connection.subflows.iter().for_each(|subflow| add_sender(record, &subflow.sender));
            // To their subflow they are new.
            record.retransmits += connection.data.reinjections();
        }
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

fn add_tcp(record: &mut Record, tcp: &TcpSender) {
    record.packets += tcp.packets();
    record.retransmits += tcp.retransmits();
    record.timeouts += tcp.timeouts();
    record.fast_retransmits += tcp.fast_retransmits();
    record.dupack3_events += tcp.dupack3_events();
}
