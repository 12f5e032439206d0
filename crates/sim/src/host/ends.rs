//! The two ends of flows: what a host does with data, acknowledgements and the timers of transports.

use super::account::{keep_account, lost_way};
use super::{Host, World};
use crate::flows::{Connection, Machine, Receiver, ReceivingMachine, Sender};
use crate::net::Net;
use crate::packet::{BODY, CE, CNP, CWR, ECE, InHand, MASKED, NACK, Packet, RETRANSMIT, SYN};
use crate::timers::What;
use crate::transport::rdma::get_sack;
use crate::transport::{Ack, AckOut, Arrival, Expired, Opening, RdmaAck, RdmaSender, Sack, TcpConfig, TcpReceiver};
use crate::transport::{TcpSender, Transport, UdpSender};
use crate::workload::Upon;
use spinewise_policy::{Event, FlowKey, Hooks, Kind, Span, Time, Way};
use std::collections::VecDeque;

/// The step in which acknowledgements tell one-way delays.
const ECHO_STEP: Span = Span::from_ns(256);

impl Host {
    pub(super) fn receive_data(&mut self, w: &mut World<'_>, now: Time, hand: &InHand) {
        let packet = &hand.packet;
        let flow = packet.flow;
        w.flows.left(flow);
        w.log.arrived += 1;
        if packet.payload == 0 {
            return self.receive_greeting(w, now, packet);
        }
        let Some(&spec) = w.flows.specs.get(flow as usize) else { return self.receive_on_subflow(w, now, hand) };
        let tcp = w.flows.is_tcp(flow);
        let record = &mut w.flows.records[flow as usize];
        record.arrived += 1;
        record.marks += u32::from(packet.is(CE));
        if !tcp {
            record.received += u64::from(packet.payload);
            self.tally.received += u64::from(packet.payload);
            if record.received == spec.size {
                record.fct = now.since(spec.start).0;
                if let Some(edge) = w.edge.as_mut() {
                    edge.forget(self.id, FlowKey(flow << 1));
                }
            }
            return;
        }
        let net = w.net;
        match &net.transport {
            Transport::Rdma(config) => self.receive_rdma(w, now, config, packet),
            Transport::Tcp(config) => match &config.resequencing {
                None => self.receive_tcp(w, now, config, now, packet),
                Some(rules) => self.resequence(w, now, rules, packet),
            },
        }
    }

    /// TCP is given a data packet that has `arrived` now or earlier.
    #[inline(always)]
    pub(super) fn receive_tcp(
        &mut self,
        w: &mut World<'_>,
        now: Time,
        config: &TcpConfig,
        arrived: Time,
        packet: &Packet,
    ) {
        let flow = packet.flow;
        let spec = w.flows.specs[flow as usize];
        let record = &mut w.flows.records[flow as usize];
        let done = record.fct != 0;
        let slot = &mut w.flows.receivers[flow as usize];
        if done && slot.is_none() {
            // Everything is here, and said so; the sender has missed that.
            record.out_of_order += u32::from(packet.seq + u64::from(packet.payload) < spec.size);
            let ack = AckOut {
                cumulative: spec.size,
                ece: packet.is(CE),
                echo: packet.stamp,
                echo_retransmit: packet.is(RETRANSMIT),
                echo_tag: tag_of(arrived, packet),
            };
            let twice = (packet.seq, packet.seq + u64::from(packet.payload));
            let told = config.recovery.has_sack().then(|| Sack::of(&[twice]));
            self.send_ack(w, now, flow, &ack, told.as_ref());
            return;
        }
        let receiver = slot.get_or_insert_with(|| Receiver::new(ReceivingMachine::Tcp(TcpReceiver::new(spec.size))));
        let ReceivingMachine::Tcp(machine) = &mut receiver.machine else { return };
        let got = machine.on_data(config, now, &arrival(packet, arrived));
        let told = config.recovery.has_sack().then(|| machine.sack());
        record.out_of_order += u32::from(got.out_of_order);
        record.received += got.new_bytes;
        if got.completed {
            record.fct = now.since(spec.start).0;
        }
        self.tally.received += got.new_bytes;
        for ack in got.acks.iter().flatten() {
            self.send_ack(w, now, flow, ack, told.as_ref());
        }
        self.after_receiving(w, flow);
        if got.completed {
            self.completed(w, now, flow, Upon::Received);
        }
    }

    /// This host has received all of `flow`, or has all of it acknowledged: flows that wait for it may start.
    pub(super) fn completed(&mut self, w: &mut World<'_>, now: Time, flow: u32, upon: Upon) {
        for (gate, gap) in w.flows.gates.note(flow, upon) {
            self.timers.plan(now + gap, What::Gate(gate));
        }
        if !w.flows.operations.is_empty() {
            self.carried(w, now, flow, upon);
        }
    }

    /// Plans the delayed-ACK timer, or drops the receiving end when it is through.
    pub(super) fn after_receiving(&mut self, w: &mut World<'_>, flow: u32) {
        let Some(receiver) = w.flows.receiver(flow) else { return };
        match receiver.machine.deadline() {
            Some(at) if at < receiver.timer_at => {
                receiver.timer_at = at;
                self.timers.plan(at, What::DelayedAck(flow));
            }
            Some(_) => {}
            None if receiver.machine.is_complete() => {
                w.flows.receivers[flow as usize] = None;
                self.forget(w, flow);
            }
            None => {}
        }
    }

    /// The scheme may drop its rows of a flow that is through, or of its subflows.
    pub(super) fn forget(&self, w: &mut World<'_>, flow: u32) {
        let Some(edge) = w.edge.as_mut() else { return };
        for number in w.flows.numbers(flow) {
            edge.forget(self.id, FlowKey(number << 1));
            edge.forget(self.id, FlowKey(number << 1 | 1));
        }
    }

    /// Tells the scheme of the start or the end of a flow; with MPTCP of each of its subflows, which are flows to it.
    pub(super) fn tell_all(&mut self, w: &mut World<'_>, now: Time, flow: u32, event: Event) {
        let dst = w.flows.specs[flow as usize].dst;
        for number in w.flows.numbers(flow) {
            self.tell(w, now, dst, Way::ANY, Some(FlowKey(number << 1)), event);
        }
    }

    pub(super) fn send_ack(&mut self, w: &mut World<'_>, now: Time, flow: u32, ack: &AckOut, told: Option<&Sack>) {
        let packet = self.ack_packet(w, flow, w.flows.specs[flow as usize].src, ack);
        match told.filter(|told| !told.is_empty()) {
            None => self.send(w, now, packet),
            Some(told) => self.send_tagged(w, now, attached(packet(), told)),
        }
    }

    /// An acknowledgement to `dst`, without options.
    #[inline(always)]
    pub(super) fn ack_packet(&self, w: &World<'_>, flow: u32, dst: u32, ack: &AckOut) -> impl Fn() -> Packet + use<> {
        let (src, wire, ack) = (self.id, w.net.frame.ack_bytes as u16, *ack);
        move || Packet {
            stamp: ack.echo,
            seq: ack.cumulative,
            flow,
            src,
            dst,
            wire,
            way: Way::ANY,
            echo: ack.echo_tag as u16,
            payload: (ack.echo_tag >> 16) as u16,
            kind: Kind::Ack,
            flags: if ack.ece { ECE } else { 0 } | if ack.echo_retransmit { RETRANSMIT } else { 0 },
            ..Packet::default()
        }
    }

    pub(super) fn receive_ack(&mut self, w: &mut World<'_>, now: Time, hand: &InHand) {
        let packet = &hand.packet;
        let flow = packet.flow;
        w.flows.left(flow);
        let Some(slot) = w.flows.senders.get_mut(flow as usize) else { return self.ack_of_subflow(w, now, hand) };
        let Some(sender) = slot.as_deref_mut() else { return };
        let (newly_acked, done) = match (&mut sender.machine, &w.net.transport) {
            (Machine::Tcp(_), _) if packet.is(SYN) => return, // it answers a second SYN
            (Machine::Tcp(tcp), Transport::Tcp(config)) => {
                let outcome = tcp.on_ack(config, now, &ack_of(packet));
                self.tally.dupack3 += u64::from(outcome.dupack3);
                (outcome.newly_acked, outcome.done)
            }
            (Machine::Sack(_), _) if packet.is(SYN) => return,
            (Machine::Sack(tcp), Transport::Tcp(config)) => {
                let told = hand.body.as_deref().filter(|_| packet.is(BODY)).map_or(Sack::NONE, Sack::decode);
                let outcome = tcp.on_ack(config, now, &ack_of(packet), &told);
                self.tally.dupack3 += u64::from(outcome.dupack3);
                (outcome.newly_acked, outcome.done)
            }
            (Machine::Rdma(pair), Transport::Rdma(config)) => {
                let (nack, cnp) = (packet.is(NACK), packet.flags & (CNP | MASKED) == CNP);
                let ack = RdmaAck { cumulative: packet.seq, nack, sack: sack(hand), cnp };
                let outcome = pair.on_ack(config, now, &ack);
                (outcome.newly_acked, outcome.done)
            }
            (Machine::Opening(_), _) => return self.receive_syn_ack(w, now, packet),
            _ => return,
        };
        let may_send = !done && sender.may_send_from(w.net) != Time::NEVER;
        sender.forget_ways(packet.seq);
        let key = Some(FlowKey(flow << 1));
        self.tell_of_ack(w, now, packet, newly_acked);
        if done {
            // Before the scheme is told of the end, for it places that packet, too.
            self.close(w, now, flow);
            self.tell(w, now, packet.src, Way::ANY, key, Event::FlowEnd);
            self.finish(w, now, flow);
            return;
        }
        self.plan_retransmit(w, flow);
        if may_send {
            self.ready(w, now, flow);
        }
    }

    /// Tells the scheme of an acknowledgement of so many new bytes.
    #[inline(always)]
    pub(super) fn tell_of_ack(&mut self, w: &mut World<'_>, now: Time, packet: &Packet, bytes: u64) {
        if w.edge.is_some() {
            let rtt = now.since(packet.stamp);
            let event = Event::Ack { bytes, rtt, one_way: one_way(packet), marked: packet.is(ECE) };
            self.tell(w, now, packet.src, Way(packet.echo), Some(FlowKey(packet.flow << 1)), event);
        }
    }

    /// Everything of a flow is acknowledged.
    pub(super) fn finish(&mut self, w: &mut World<'_>, now: Time, flow: u32) {
        let start = w.flows.specs[flow as usize].start;
        w.flows.records[flow as usize].sender_fct = now.since(start).0;
        keep_account(w.flows, flow);
        w.flows.senders[flow as usize] = None;
        w.flows.open -= 1;
        self.forget(w, flow);
        self.completed(w, now, flow, Upon::Acknowledged);
    }

    pub(super) fn plan_retransmit(&mut self, w: &mut World<'_>, flow: u32) {
        let Some(sender) = w.flows.sender(flow) else { return };
        // Lazily: a timer that fires early is planned again, so a later deadline costs nothing now.
        if let Some(at) = sender.deadline()
            && at < sender.timer_at
        {
            sender.timer_at = at;
            self.timers.plan(at, What::Retransmit(flow));
        }
    }

    pub(super) fn start_flows(&mut self, w: &mut World<'_>, now: Time) {
        while self.next_flow < self.last_flow {
            let flow = w.flows.by_host[self.next_flow as usize];
            let start = w.flows.specs[flow as usize].start;
            if start > now {
                self.timers.plan(start, What::FlowStart);
                return;
            }
            self.next_flow += 1;
            self.start_flow(w, now, flow);
        }
    }

    /// The flows behind a gate start now.
    pub(super) fn open_gate(&mut self, w: &mut World<'_>, now: Time, gate: u32) {
        let mut n = 0;
        while let Some(flow) = w.flows.gates.flow(gate, n) {
            w.flows.specs[flow as usize].start = now;
            self.start_flow(w, now, flow);
            n += 1;
        }
    }

    pub(super) fn start_flow(&mut self, w: &mut World<'_>, now: Time, flow: u32) {
        let spec = w.flows.specs[flow as usize];
        let mut ended = false;
        let machine = if w.flows.is_tcp(flow) {
            match &w.net.transport {
                Transport::Tcp(config) if config.mptcp() => {
                    Machine::Mptcp(Box::new(Connection::new(config, spec.size, w.flows.subflows_of(flow))))
                }
                Transport::Tcp(config) if config.handshake => Machine::Opening(Opening::default()),
                Transport::Tcp(config) => Machine::tcp(config, TcpSender::new(config, spec.size).numbered(flow)),
                Transport::Rdma(config) => Machine::Rdma(RdmaSender::new(config, spec.size, self.nic.rate(now), now)),
            }
        } else {
            let udp = UdpSender::new(&w.flows.udp[w.flows.udp_of[flow as usize] as usize]);
            match udp.next_time() {
                Some(at) => self.timers.plan(at.max(now), What::Pace(flow)),
                // Its end comes before its first packet.
                None => ended = true,
            }
            Machine::Udp(udp, VecDeque::new())
        };
        w.flows.senders[flow as usize] = Some(Box::new(Sender::new(machine)));
        self.tell_all(w, now, flow, Event::FlowStart { size: spec.size });
        if w.flows.is_tcp(flow) {
            self.ready(w, now, flow);
        }
        if ended {
            self.sent_in_full(w, now, flow);
        }
    }

    /// A UDP flow has sent its last packet, or has none to send.
    pub(super) fn sent_in_full(&mut self, w: &mut World<'_>, now: Time, flow: u32) {
        if !w.flows.is_background(flow) {
            w.flows.open -= 1;
        }
        let key = FlowKey(flow << 1);
        self.tell(w, now, w.flows.specs[flow as usize].dst, Way::ANY, Some(key), Event::FlowEnd);
        if let Some(edge) = w.edge.as_mut() {
            edge.forget(self.id, key);
        }
    }

    pub(super) fn retransmit(&mut self, w: &mut World<'_>, now: Time, flow: u32) {
        let subflows = w.flows.subflows;
        let Some(sender) = w.flows.sender(flow) else { return };
        if sender.timer_at != now {
            return;
        }
        sender.timer_at = Time::NEVER;
        if sender.deadline().is_none_or(|at| at > now) {
            self.plan_retransmit(w, flow);
            return;
        }
        if subflows > 0 {
            return self.subflow_timed_out(w, now, flow);
        }
        let oldest = match (&mut sender.machine, &w.net.transport) {
            (Machine::Tcp(tcp), Transport::Tcp(config)) => {
                let oldest = tcp.acked();
                tcp.on_timeout(config, now);
                oldest
            }
            (Machine::Opening(opening), _) => {
                opening.on_timeout();
                0
            }
            (Machine::Sack(sack), Transport::Tcp(config)) => {
                if sack.on_timeout(config, now) == Expired::Other {
                    self.plan_retransmit(w, flow);
                    self.ready(w, now, flow);
                    return;
                }
                sack.tcp().acked()
            }
            (Machine::Rdma(pair), Transport::Rdma(config)) => {
                pair.on_timeout(config, now);
                pair.acked()
            }
            _ => return,
        };
        self.tell_of_timeout(w, now, w.flows.specs[flow as usize].dst, (flow, oldest));
        self.plan_retransmit(w, flow);
        self.ready(w, now, flow);
    }

    /// Tells the scheme that a timer has expired for a segment, by flow and first byte.
    pub(super) fn tell_of_timeout(&mut self, w: &mut World<'_>, now: Time, dst: u32, (flow, seq): (u32, u64)) {
        if w.edge.as_ref().is_some_and(|edge| edge.hooks().has(Hooks::LOSS)) {
            let way = lost_way(w.flows, flow, seq);
            self.tell(w, now, dst, way, Some(FlowKey(flow << 1)), Event::Timeout);
        }
    }

    pub(super) fn delayed_ack(&mut self, w: &mut World<'_>, now: Time, flow: u32) {
        let Some(receiver) = w.flows.receiver(flow) else { return };
        if receiver.timer_at != now {
            return;
        }
        receiver.timer_at = Time::NEVER;
        if let (ReceivingMachine::Tcp(tcp), Transport::Tcp(config)) = (&mut receiver.machine, &w.net.transport)
            && tcp.deadline().is_some_and(|at| at <= now)
            && let Some(ack) = tcp.on_timeout(config, now)
        {
            if w.flows.subflows > 0 {
                self.send_subflow_ack(w, now, flow, &ack, Sack::NONE);
            } else {
                self.send_ack(w, now, flow, &ack, None);
            }
        }
        self.after_receiving(w, flow);
    }

    pub(super) fn pace(&mut self, w: &mut World<'_>, now: Time, flow: u32) {
        let Some(sender) = w.flows.senders[flow as usize].as_deref_mut() else { return };
        let Machine::Udp(udp, due) = &mut sender.machine else { return };
        let config = &w.flows.udp[w.flows.udp_of[flow as usize] as usize];
        due.push_back(udp.next_packet(config));
        if let Some(at) = udp.next_time() {
            self.timers.plan(at.max(now), What::Pace(flow));
        }
        self.ready(w, now, flow);
    }
}

/// What a receiver echoes of a data packet that arrives now: its path tag, and above it how long it was under way, in
/// steps of [`ECHO_STEP`].
#[inline]
pub(super) fn tag_of(now: Time, data: &Packet) -> u32 {
    u32::from(data.way.0) | u32::from(delay_echo(now, data)) << 16
}

/// How long a data packet that arrives now was under way, as its acknowledgement says it.
#[inline]
pub(super) fn delay_echo(now: Time, data: &Packet) -> u16 {
    u16::try_from(now.since(data.stamp).0 / ECHO_STEP.0).unwrap_or(u16::MAX)
}

/// How long the data packet that an acknowledgement answers was under way.
#[inline]
pub(super) fn one_way(ack: &Packet) -> Span {
    Span(u64::from(ack.payload) * ECHO_STEP.0)
}

/// A data packet as TCP reads it, which has `arrived` now or earlier.
#[inline(always)]
pub(super) fn arrival(packet: &Packet, arrived: Time) -> Arrival {
    Arrival {
        seq: packet.seq,
        len: u32::from(packet.payload),
        ce: packet.is(CE),
        cwr: packet.is(CWR),
        stamp: packet.stamp,
        retransmit: packet.is(RETRANSMIT),
        tag: tag_of(arrived, packet),
    }
}

/// An acknowledgement as TCP reads it.
#[inline(always)]
pub(super) fn ack_of(packet: &Packet) -> Ack {
    Ack {
        cumulative: packet.seq,
        echo: packet.stamp,
        ece: packet.flags & (ECE | MASKED) == ECE,
        echo_retransmit: packet.is(RETRANSMIT),
    }
}

/// An acknowledgement with its SACK option, which takes bytes.
#[cold]
fn attached(ack: Packet, told: &Sack) -> InHand {
    InHand::with_body(Packet { wire: ack.wire + told.wire_bytes() as u16, ..ack }, told.encode())
}

/// What a NACK of IRN tells of.
fn sack(hand: &InHand) -> Option<(u64, u32)> {
    // The body in hand may be that of a packet before.
    hand.body.as_deref().filter(|_| hand.packet.is(BODY)).and_then(get_sack)
}

impl Sender {
    /// The queue pair, if it is one.
    pub fn pair(&self) -> Option<&RdmaSender> {
        if let Machine::Rdma(pair) = &self.machine { Some(pair) } else { None }
    }

    /// From when on the transport may send a packet; [`Time::NEVER`] if it has none to send.
    #[inline(always)]
    pub(super) fn may_send_from(&self, net: &Net) -> Time {
        let when = |may: bool, at: Time| if may { at } else { Time::NEVER };
        match (&self.machine, &net.transport) {
            (Machine::Tcp(tcp), Transport::Tcp(config)) => when(tcp.can_send(config), Time::ZERO),
            (Machine::Rdma(pair), Transport::Rdma(config)) => when(pair.may_send(config), pair.next_at()),
            (Machine::Udp(_, due), _) => when(!due.is_empty(), Time::ZERO),
            (Machine::Sack(sack), _) => when(sack.can_send(), Time::ZERO),
            (Machine::Opening(opening), _) => when(opening.may_send(), Time::ZERO),
            (Machine::Mptcp(connection), Transport::Tcp(config)) => when(connection.next(config).is_some(), Time::ZERO),
            _ => Time::NEVER,
        }
    }

    /// Everything below `seq` is acknowledged: forgets the ways it went.
    #[inline]
    pub(super) fn forget_ways(&mut self, seq: u64) {
        while self.ways.front().is_some_and(|&(first, _)| first < seq) {
            self.ways.pop_front();
        }
    }

    /// When the retransmission timer expires, if it runs.
    #[inline]
    fn deadline(&self) -> Option<Time> {
        match &self.machine {
            Machine::Tcp(tcp) => tcp.deadline(),
            Machine::Opening(opening) => opening.deadline(),
            Machine::Sack(sack) => sack.deadline(),
            Machine::Rdma(pair) => pair.deadline(),
            Machine::Udp(..) | Machine::Mptcp(_) => None,
        }
    }
}
