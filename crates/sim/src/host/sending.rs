//! What a host sends: a packet is built as the transport says, tagged by the host's scheme, counted, and put on the
//! line. Data comes here when the NIC has pulled its flow; answers, probes and messages come as they are made.

use super::scheme::call;
use super::{Host, Nic};
use crate::address::Address;
use crate::choices::Fate;
use crate::ids::{FlowId, HostId, SubflowId};
use crate::packet::{BARE, InHand, Packet, RETRANSMIT};
use crate::port::Fifo;
use crate::shell::Shell;
use crate::transport::contract::{Data, Outgoing, Sender};
use crate::world::World;
use spinewise_policy::{Event, Hooks, Kind, Time, Way};

impl Host {
    #[inline(always)]
    pub(super) fn send_data(&mut self, w: &mut World<'_>, flow: FlowId) {
        let mut timer = Time::NEVER;
        match w.flows.ends.next(w.now, flow, &mut timer) {
            // Read field by field, as it was written: a read of the whole would stall until the stores complete.
            Some(Outgoing::Data(Data { seq, len, flags, wire })) => {
                let spec = &w.flows.specs[flow];
                let (ends, priority) = ((self.id, spec.receiver()), spec.priority);
                self.send(w, || data_packet(ends, flow.whole(), priority, &Data { seq, len, flags, wire }));
                self.has_sent(w, (flow.whole(), timer));
            }
            Some(other) => self.send_otherwise(w, flow, (other, timer)),
            None => self.send_udp(w, flow),
        }
    }

    /// A data packet of this subflow has been sent, and its sender requests this timer.
    #[inline(always)]
    fn has_sent(&mut self, w: &World<'_>, (subflow, timer): (SubflowId, Time)) {
        if w.net.has_series() {
            self.tally.sent += 1;
        }
        self.plan_timer(subflow, timer);
    }

    /// A flow sends on one of several paths, asks its receiver, or opens its connection.
    #[cold]
    pub(super) fn send_otherwise(&mut self, w: &mut World<'_>, flow: FlowId, (what, timer): (Outgoing, Time)) {
        let spec = &w.flows.specs[flow];
        let (ends, priority) = ((self.id, spec.receiver()), spec.priority);
        match what {
            Outgoing::Data(data) => {
                let packet = data_packet(ends, flow.whole(), priority, &data);
                self.send_tagged(w, &mut packet.into());
                self.has_sent(w, (flow.whole(), timer));
            }
            Outgoing::OnPath(path, data, option) => {
                let subflow = w.flows.subflow(flow, path);
                let packet = data_packet(ends, subflow, priority, &data);
                self.send_tagged(w, &mut InHand::with_option(packet, option, w.net.options));
                self.has_sent(w, (subflow, timer));
            }
            Outgoing::Question { seq, wire, flags, option } => {
                let data = Data { seq, len: 0, wire, flags: BARE | flags };
                let packet = data_packet(ends, flow.whole(), priority, &data);
                self.send_tagged(w, &mut InHand::with_option(packet, option, w.net.options));
                self.plan_timer(flow.whole(), timer);
            }
            Outgoing::Greeting { path, wire, flags, follows } => {
                let subflow = w.flows.subflow(flow, path);
                self.greet(w, subflow, (0, wire, flags));
                self.plan_timer(subflow, timer);
                let mut timer = Time::NEVER;
                if follows && let Some(next) = w.flows.ends.next(w.now, flow, &mut timer) {
                    self.send_otherwise(w, flow, (next, timer));
                }
            }
        }
    }

    /// A UDP flow sends.
    #[cold]
    fn send_udp(&mut self, w: &mut World<'_>, flow: FlowId) {
        let Some((udp, config)) = w.flows.udp(flow) else { return };
        let Some(Outgoing::Data(data)) = udp.machine.next(config, w.now) else { return };
        // Only now: the last packets may have waited behind others at the NIC.
        let sent_in_full = udp.machine.is_sent();
        let spec = &w.flows.specs[flow];
        let packet = data_packet((self.id, spec.receiver()), flow.whole(), spec.priority, &data);
        self.send_tagged(w, &mut packet.into());
        self.has_sent(w, (flow.whole(), Time::NEVER));
        if sent_in_full {
            self.sent_in_full(w, flow);
        }
    }

    /// Lets the host's scheme tag a packet that leaves the rack. A header that the scheme adds is counted separately.
    pub(super) fn choose(&mut self, w: &mut World<'_>, packet: &mut Packet) {
        let Some(edge) = w.edge.as_mut() else { return };
        let Some(dst) = packet.dst.as_host().filter(|&dst| !w.net.same_rack(self.id, dst)) else { return };
        if packet.kind == Kind::Ack && !edge.picks_acks(self.id.number()) {
            return;
        }
        let hooks = edge.hooks();
        if packet.is(RETRANSMIT) && packet.kind == Kind::Data && hooks.has(Hooks::LOSS) {
            let way = w.flows.lane(packet.subflow()).map_or(Way::ANY, |lane| lane.way_of(packet.seq));
            self.tell(w, packet.dst, (way, Some(packet.key())), Event::Retransmit);
        }
        let Some(edge) = w.edge.as_mut() else { return };
        let call = call(w.net, self.id, w.now, packet.dst, edge);
        let (way, header) = match &mut w.log.recorder {
            None if edge.is_guest() => edge.pick_any(call, packet, (&w.net.hashing, 0)),
            None => edge.pick(call, packet, (&w.net.hashing, 0)),
            Some(recorder) => {
                let (ways, rows) = (w.net.topology.ways_between(self.id, dst), w.net.topology.most_ways);
                let place = (w.net.topology.host_node(self.id), usize::from(ways), usize::from(rows));
                recorder.pick(edge, call, packet, (&w.net.hashing, 0), place)
            }
        };
        packet.way = way;
        if header > 0 && w.net.charge_headers {
            packet.wire += header as u16;
            w.log.header_bytes += u64::from(header);
        }
        if packet.kind == Kind::Data {
            w.flows.note_way(packet, hooks);
        }
    }

    /// Sends a packet without a body; the host's scheme, if any, tags it. `make` is called once, if possible where its
    /// result goes straight to its place on the link: a packet built elsewhere and copied at once would stall until its
    /// fields are stored.
    #[inline(always)]
    pub(super) fn send(&mut self, w: &mut World<'_>, make: impl Fn() -> Packet) {
        match &mut self.nic {
            Nic::Pulls(pull) if pull.is_plain => {
                let packet = make();
                count_answer(w, &packet);
                count_created(w, &packet);
                pull.put_on_line(w, packet);
            }
            Nic::Pulls(_) | Nic::Queues(_) => self.send_tagged(w, &mut make().into()),
        }
    }

    /// Sends a packet, tagged by the host's scheme, if there is one, and does what the scheme requests.
    #[inline(never)]
    pub(super) fn send_tagged(&mut self, w: &mut World<'_>, hand: &mut InHand) {
        count_answer(w, &hand.packet);
        self.choose(w, &mut hand.packet);
        self.commit(w, hand);
        self.perform(w, None);
    }

    /// Sends a packet whose way no scheme chooses.
    pub(super) fn send_as_it_is(&mut self, w: &mut World<'_>, hand: &mut InHand) {
        count_answer(w, &hand.packet);
        self.commit(w, hand);
    }

    /// Puts a packet on the line behind what is committed.
    pub(super) fn commit(&mut self, w: &mut World<'_>, hand: &mut InHand) {
        count_created(w, &hand.packet);
        match &mut self.nic {
            Nic::Queues(queue) => hand_over(queue, w, hand),
            Nic::Pulls(pull) => match &mut pull.control {
                Some(control) if hand.packet.is_control() || hand.packet.is_question() => {
                    control.join(std::mem::take(hand));
                    self.set_going(w);
                }
                Some(_) | None => pull.put_whole(w, hand),
            },
        }
    }
}

/// Gives a packet to a NIC that queues, which may mark or drop it. Its timestamp is the time at which it was made.
#[cold]
fn hand_over(queue: &mut Fifo, w: &mut World<'_>, hand: &mut InHand) {
    let packet = &mut hand.packet;
    packet.limit_hops(w.net.hop_limit);
    if matches!(packet.kind, Kind::Data | Kind::Probe) {
        packet.stamp = w.now;
    }
    let rules = w.net.rules.of(queue.class());
    match queue.admit(w.now, u32::from(packet.wire), rules, &mut w.wires) {
        Some(found) => queue.enqueue(w.now, hand, found, rules, &mut w.wires),
        None => {
            let link = queue.line().link;
            w.dropped(packet, (w.net.topology.links[link].from.0, Some(link)), Fate::NoRoom);
        }
    }
}

/// Counts an acknowledgement that a host sends, before a scheme adds a header.
#[inline(always)]
fn count_answer(w: &mut World<'_>, packet: &Packet) {
    if packet.kind == Kind::Ack {
        w.log.acks.add(packet.wire);
    }
}

/// Counts a packet that a host has made.
#[inline(always)]
fn count_created(w: &mut World<'_>, packet: &Packet) {
    w.log.created.add(packet.wire);
    match packet.kind {
        Kind::Data | Kind::Ack => w.flows.entered(packet.subflow()),
        Kind::Probe | Kind::ProbeReply => w.log.probes.add(packet.wire),
        Kind::Message => w.log.messages.add(packet.wire),
        Kind::Pause => {}
    }
}

/// A data packet between two hosts.
#[inline(always)]
pub(super) fn data_packet((src, dst): (HostId, HostId), subflow: SubflowId, priority: u8, data: &Data) -> Packet {
    Packet {
        seq: data.seq,
        flow: subflow.number(),
        src: Address::host(src),
        dst: Address::host(dst),
        wire: data.wire,
        payload: data.len,
        way: Way::ANY,
        echo: u16::from(priority),
        kind: Kind::Data,
        flags: data.flags,
        ..Packet::default()
    }
}
