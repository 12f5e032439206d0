//! Captured packets as columns: one row for each packet at each port.

use crate::address::Address;
use crate::capture::{Point, Taken, Tap};
use crate::columns::Values;
use crate::columns::{Word8, Word32, columns};
use crate::engine::Sim;
use crate::faults::Frail;
use crate::ids::{HostId, LinkId};
use crate::packet::{BARE, CE, CNP, CWR, ECE, ECT, NACK, Packet, RETRANSMIT, SYN};
use crate::transport::Sack;
use crate::transport::contract::Protocol;
use crate::transport::options::Signal;
use crate::transport::rdma::get_sack;
use crate::transport::uet;
use serde_json::{Value, json};
use spinewise_policy::{Kind, Time};

/// Words of the column `kind`.
const KINDS: [&str; 6] = ["data", "ack", "probe", "probe_reply", "message", "pause"];
/// Words of the column `protocol`.
const PROTOCOLS: [&str; 4] = ["udp", "tcp", "rdma", "uet"];
/// The step in which a packet of the model reports the one-way delay of the packet it answers.
const ECHO_STEP_PS: u64 = 256_000;
/// No flow, and no number of data.
const NONE_32: u32 = u32::MAX;
const NONE_64: u64 = u64::MAX;

/// A packet at a port.
struct Row<'a> {
    time: Time,
    interface: u32,
    outbound: bool,
    lost: bool,
    packet: &'a Packet,
    /// The protocol of its flow; none for UDP, or without a flow.
    protocol: Option<Protocol>,
    of_flow: bool,
    flow: u32,
    subflow: u16,
    size: u64,
    data: u64,
    hosts: u32,
}

columns! {
    /// Columns of captured packets that have one value a row, in the order of time.
    PACKET_COLUMNS: PacketTable, |row: &Row<'_>| {
        time_ps: u64, "ps", "outbound: the transmission starts; inbound: the last bit has arrived" => row.time.0;
        interface: Word32, "", "the port, named after the link it sends on" => Word32(row.interface);
        outbound: bool, "", "true: it leaves by that link; false: it arrives by the reverse link" => row.outbound;
        lost: bool, "", "outbound: the link loses it (faults)" => row.lost;
        kind: Word8, "", "data (including handshake and closing), ack, probe, probe_reply, message, pause"
            => Word8(row.packet.kind as u8);
        protocol: Word8, "", "of the flow: udp, tcp, rdma or uet; null: no flow" => row.word();
        flow: u32, "", "number of the flow; 4294967295: none" => row.flow;
        subflow: u16, "", "MPTCP subflow, or queue pair of a split message, from 1; 0: none" => row.subflow;
        size_bytes: u64, "bytes", "payload of the flow; 0: no flow, or unlimited" => row.size;
        src: u32, "", "number of the node that sent it: hosts first, then switches" => row.node(row.packet.src);
        dst: u32, "", "number of the destination node" => row.node(row.packet.dst);
        seq: u64, "bytes", "data: first payload byte, from 0; probe, probe_reply: its number" => row.seq();
        ack: u64, "bytes", "ack: the next byte expected" => row.ack();
        payload_bytes: u32, "bytes", "data: payload" => row.payload();
        wire_bytes: u32, "bytes", "size of the packet on the wire in the model" => u32::from(row.packet.wire);
        syn: bool, "", "TCP: opens the connection, or answers the packet that does"
            => row.packet.is(SYN) && row.is_tcp() && row.is_greeting();
        retransmit: bool, "", "data: these bytes were sent before; ack: those it acknowledges were"
            => row.packet.is(RETRANSMIT);
        trimmed: bool, "", "data: a switch has trimmed its payload" => row.is_data() && row.packet.is(BARE) && row.packet.payload > 0;
        ect: bool, "", "ECN-capable" => row.packet.is(ECT);
        ce: bool, "", "congestion experienced" => row.packet.is(CE);
        ece: bool, "", "ack, probe_reply: the packet it answers was marked" => row.packet.is(ECE);
        cwr: bool, "", "data of TCP: the sender has reduced its window" => row.is_tcp() && row.is_data() && row.packet.is(CWR);
        nack: bool, "", "ack of RDMA: something is missing; of Ultra Ethernet: the packet it answers was trimmed"
            => !row.is_tcp() && row.is_ack() && row.packet.is(NACK);
        cnp: bool, "", "ack of RDMA: a congestion notification"
            => row.protocol == Some(Protocol::Roce) && row.is_ack() && row.packet.is(CNP);
        priority: u8, "", "priority of data, or that which a pause is for" => row.priority();
        tag: u16, "", "path tag of a scheme at the hosts; 65535: none" => row.packet.way.0;
        stamp_ps: u64, "ps", "when its sender began to send it; ack, probe_reply: when the packet it answers was sent"
            => row.packet.stamp.0;
        under_way_ps: u64, "ps", "ack: how long the packet it answers was in flight, in steps of 256 ns" => row.under_way();
        pause_ps: u64, "ps", "pause: how long; 0: resume" => if row.packet.kind == Kind::Pause { row.packet.seq } else { 0 };
        data_seq: u64, "bytes",
            "MPTCP: first byte, or next byte expected, of the connection; 18446744073709551615: none" => row.data;
    }
}

columns! {
    /// Columns of captured packets that have a list a row: a block of selective acknowledgement each. Of a NACK of IRN:
    /// the packet that made it.
    BLOCK_COLUMNS: BlockTable, |block: &(u64, u64)| {
        sack_from: u64, "bytes", "first byte of each block of selective acknowledgement" => block.0;
        sack_to: u64, "bytes", "the byte after its last" => block.1;
    }
}

impl Row<'_> {
    fn is_tcp(&self) -> bool {
        self.protocol == Some(Protocol::Tcp)
    }

    /// Its index in [`PROTOCOLS`].
    fn word(&self) -> Word8 {
        match self.protocol {
            None if !self.of_flow => Word8::NONE,
            None => Word8(0),
            Some(Protocol::Tcp) => Word8(1),
            Some(Protocol::Roce) => Word8(2),
            Some(Protocol::Uet) => Word8(3),
        }
    }

    fn is_data(&self) -> bool {
        self.packet.kind == Kind::Data
    }

    fn is_ack(&self) -> bool {
        self.packet.kind == Kind::Ack
    }

    fn is_greeting(&self) -> bool {
        (self.is_data() && self.packet.payload == 0) || self.is_ack()
    }

    fn node(&self, device: Address) -> u32 {
        device.as_host().map_or(self.hosts + device.number(), HostId::number)
    }

    fn seq(&self) -> u64 {
        match self.packet.kind {
            Kind::Data => self.packet.seq,
            Kind::Probe | Kind::ProbeReply => u64::from(self.packet.flow),
            Kind::Ack | Kind::Message | Kind::Pause => 0,
        }
    }

    fn ack(&self) -> u64 {
        if self.is_ack() { self.packet.seq } else { 0 }
    }

    fn payload(&self) -> u32 {
        if self.is_data() { u32::from(self.packet.payload) } else { 0 }
    }

    fn priority(&self) -> u8 {
        if self.packet.kind == Kind::Pause { self.packet.echo as u8 } else { self.packet.priority() }
    }

    fn under_way(&self) -> u64 {
        if self.is_ack() { u64::from(self.packet.payload) * ECHO_STEP_PS } else { 0 }
    }
}

/// The captured packets of a run.
#[derive(Clone, Debug)]
pub struct Packets {
    /// Values of [`PACKET_COLUMNS`].
    pub rows: Vec<Values>,
    /// Offsets of the blocks of each row, and the end of the last.
    pub offsets: Vec<u32>,
    /// Values of [`BLOCK_COLUMNS`].
    pub blocks: Vec<Values>,
    /// By column, the words that its numbers encode.
    pub words: Value,
    /// The report of each port: `name`, `rate_bps`, `packets` seen, `kept`, and `full_ps`, the time of the last one
    /// kept if there were more.
    pub told: Value,
}

impl Packets {
    /// Ports that have seen more packets than they kept.
    pub fn full(&self) -> Vec<&Value> {
        let ports = self.told.as_array().map_or(&[][..], Vec::as_slice);
        ports.iter().filter(|port| !port["full_ps"].is_null()).collect()
    }
}

/// Returns the captures of a run that stopped at `stop`; `None` if capture was not requested.
pub(super) fn packets(sim: &mut Sim<'_>, stop: Time) -> Option<Packets> {
    if sim.net.taps.points.is_empty() {
        return None;
    }
    add_flying(sim, stop);
    let sim = &*sim;
    let (mut all, mut told) = (Vec::new(), Vec::new());
    for (interface, point) in (0u32..).zip(&sim.net.taps.points) {
        let (mut seen, count) = at_port(sim, *point);
        let kept = seen.len().min(usize::try_from(sim.net.taps.most()).unwrap_or(usize::MAX));
        let full = (count > kept as u64).then(|| seen[kept - 1].0.0);
        seen.truncate(kept);
        told.push(json!({
            "name": sim.net.topology.link_name(point.out),
            "rate_bps": sim.net.topology.links[point.out].rate,
            "packets": count,
            "kept": kept,
            "full_ps": full,
        }));
        all.extend(seen.into_iter().map(|(time, outbound, taken)| (time, interface, outbound, taken)));
    }
    all.sort_by_key(|&(time, interface, ..)| (time, interface));
    Some(table(sim, &all, told))
}

/// Adds the packets that had left and not arrived when the run stopped.
fn add_flying(sim: &mut Sim<'_>, stop: Time) {
    for link in sim.net.taps.links().collect::<Vec<_>>() {
        let flying = sim.world.wires.flying(link);
        if let Some(frail) = frail_mut(sim, link) {
            frail.note_flying(link, flying, stop);
        }
    }
}

/// The receiver's end of a link.
fn frail_mut<'a>(sim: &'a mut Sim<'_>, link: LinkId) -> Option<&'a mut Frail> {
    let node = sim.net.topology.links[link].to.0;
    match sim.net.topology.as_host(node) {
        Some(host) => sim.hosts[host].frail.as_deref_mut(),
        None => sim.switches[sim.net.topology.switch_number(node)].frail.as_deref_mut(),
    }
}

/// Returns the captures on a link.
fn tap<'a>(sim: &'a Sim<'_>, link: LinkId) -> Option<&'a Tap> {
    let (node, port) = sim.net.topology.links[link].to;
    let frail = match sim.net.topology.as_host(node) {
        Some(host) => sim.hosts[host].frail.as_deref(),
        None => sim.switches[sim.net.topology.switch_number(node)].frail.as_deref(),
    };
    frail.and_then(|frail| frail.tap(port))
}

/// A packet at a port: the time, whether it leaves, and the packet.
type Seen<'a> = (Time, bool, &'a Taken);

/// Returns the captures of a port, in order of time, and how many packets it has seen.
fn at_port<'a>(sim: &'a Sim<'_>, point: Point) -> (Vec<Seen<'a>>, u64) {
    let (mut all, mut count) = (Vec::new(), 0);
    if let Some(out) = tap(sim, point.out) {
        count += out.seen.0;
        all.extend(out.taken.iter().filter(|taken| out.sends(taken.left)).map(|taken| (taken.left, true, taken)));
    }
    if let Some(back) = tap(sim, point.back) {
        count += back.seen.1;
        let arrived = back.taken.iter().filter_map(|taken| Some((taken.arrived?, taken)));
        all.extend(arrived.filter(|&(at, _)| back.receives(at)).map(|(at, taken)| (at, false, taken)));
    }
    all.sort_by_key(|&(time, outbound, _)| (time, outbound));
    (all, count)
}

fn table(sim: &Sim<'_>, all: &[(Time, u32, bool, &Taken)], told: Vec<Value>) -> Packets {
    let mut rows = PacketTable::with_capacity(all.len());
    let mut blocks = BlockTable::with_capacity(all.len());
    let mut offsets = Vec::with_capacity(all.len() + 1);
    let mut count = 0u32;
    for &(time, interface, outbound, taken) in all {
        let (row, sack) = row(sim, (time, interface, outbound), taken);
        rows.push(&row);
        offsets.push(count);
        sack.iter().for_each(|block| blocks.push(block));
        count += sack.len() as u32;
    }
    offsets.push(count);
    let names: Vec<&Value> = told.iter().map(|port| &port["name"]).collect();
    let words = json!({"interface": names, "kind": KINDS, "protocol": PROTOCOLS});
    Packets { rows: rows.close(), offsets, blocks: blocks.close(), words, told: told.into() }
}

/// A row, and its blocks of selective acknowledgement.
fn row<'a>(
    sim: &Sim<'_>,
    (time, interface, outbound): (Time, u32, bool),
    taken: &'a Taken,
) -> (Row<'a>, Vec<(u64, u64)>) {
    let packet = &taken.hand.packet;
    let mut row = Row {
        time,
        interface,
        outbound,
        lost: outbound && taken.lost,
        packet,
        protocol: None,
        of_flow: packet.of_flow(),
        flow: NONE_32,
        subflow: 0,
        size: 0,
        data: NONE_64,
        hosts: sim.net.topology.hosts,
    };
    if !row.of_flow {
        return (row, Vec::new());
    }
    let flow = sim.world.flows.flow_of(packet.subflow());
    let path = sim.world.flows.path_of(packet.subflow());
    row.flow = flow.number();
    row.subflow = path.map_or(0, |n| n as u16 + 1);
    row.size = sim.world.flows.specs[flow].size;
    row.protocol = sim.world.flows.has_transport(flow).then_some(sim.world.flows.carried(flow).facts.protocol);
    let option = taken.hand.option(sim.net.options);
    let sack = match (row.protocol, path) {
        (None | Some(Protocol::Roce), _) => {
            get_sack(option).map(|(seq, bytes)| (seq, seq + u64::from(bytes))).into_iter().collect()
        }
        (Some(Protocol::Uet), _) if row.is_ack() => {
            uet::blocks(option, packet.seq, sim.world.flows.carried(flow).frame.mss)
        }
        (Some(Protocol::Uet), _) => Vec::new(),
        (Some(Protocol::Tcp), None) => Sack::decode(option).blocks().to_vec(),
        (Some(Protocol::Tcp), Some(_)) => {
            let told = Signal::decode(option);
            row.data = told.map_or(NONE_64, |told| told.data);
            told.map_or(Vec::new(), |told| told.sack.blocks().to_vec())
        }
    };
    (row, sack)
}
