//! A host: a NIC that builds a packet when it is free to send one, and the ends of flows.
//!
//! **NIC pull.** Flows that may send stand in a round; when the last data packet has left, the NIC asks the next flow
//! for one. So nothing queues in the host, and marks come from the network. Acknowledgements, probes and messages are
//! made by events; they are committed at once, behind what is already on its way out.

use crate::bank::{Asked, Bank, Call, NO_PEER, Room};
use crate::flows::{Flows, Machine, Receiver, Sender};
use crate::link::Wires;
use crate::log::{EDGE_SERIES, Log};
use crate::net::Net;
use crate::packet::{BODY, CE, ECE, ECT, InHand, NO_FLOW, Packet, RETRANSMIT, SWITCH, Serializer};
use crate::port::Counters;
use crate::timers::{Timers, What};
use crate::transport::{Ack, AckOut, Kind as Transport, TcpReceiver, TcpSender, UdpSender};
use spinewise_policy::out::{Action, To};
use spinewise_policy::{
    Device, Event, Feedback, FlowKey, Hooks, HostView, Key, Kind, Message, Peers, Phase, Port, Span, Time, Verdict, Way,
};
use std::collections::{BTreeMap, VecDeque};

/// What a host touches besides itself.
pub struct World<'a> {
    /// Fixed facts.
    pub net: &'a Net,
    /// The links.
    pub wires: &'a mut Wires,
    /// The scheme at the hosts, if any.
    pub edge: &'a mut Option<Bank>,
    /// The flows that start or end here.
    pub flows: &'a mut Flows,
    /// The account.
    pub log: &'a mut Log,
}

/// The network interface: a line, and what has been promised to it.
#[derive(Debug)]
struct Nic {
    line: Serializer,
    delay: Span,
    link: u32,
    /// End of everything committed.
    busy_until: Time,
    /// End of the last data packet pulled: then the next one is.
    pulled_until: Time,
    counters: Counters,
}

/// A probe that has not been answered.
#[derive(Clone, Copy, Debug)]
struct Probing {
    peer: u32,
    way: Way,
}

/// What a host counts for the series, since the last sample.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    sent: u64,
    received: u64,
    dupack3: u64,
}

/// A host.
#[derive(Debug)]
pub struct Host {
    id: u32,
    nic: Nic,
    /// When the NIC pulls again, [`Time::NEVER`] if nobody waits.
    pub wake: Time,
    round: VecDeque<u32>,
    /// Its plan.
    pub timers: Timers,
    next_flow: u32,
    last_flow: u32,
    probes: BTreeMap<u32, Probing>,
    next_probe: u32,
    tally: Tally,
}

impl Host {
    /// Host `id` of the network, with its flows planned.
    pub fn new(id: u32, net: &Net, flows: &Flows, edge: Option<&Bank>) -> Self {
        let link = net.topology.out_number(id, 0);
        let spec = &net.topology.links[link as usize];
        let mut timers = Timers::default();
        let (next_flow, last_flow) = (flows.first[id as usize], flows.first[id as usize + 1]);
        if next_flow < last_flow {
            timers.plan(flows.specs[flows.by_host[next_flow as usize] as usize].start, What::FlowStart);
        }
        if let Some(edge) = edge {
            plan_ticks(&mut timers, edge, id);
        }
        if let Some(interval) = net.series_interval {
            timers.plan(Time::ZERO + interval, What::Sample);
        }
        Host {
            id,
            nic: Nic {
                line: Serializer::new(spec.rate),
                delay: spec.delay,
                link,
                busy_until: Time::ZERO,
                pulled_until: Time::ZERO,
                counters: Counters::default(),
            },
            wake: Time::NEVER,
            round: VecDeque::new(),
            timers,
            next_flow,
            last_flow,
            probes: BTreeMap::new(),
            next_probe: 0,
            tally: Tally::default(),
        }
    }

    /// What its link has sent by `stop`.
    pub fn counters(&self, stop: Time) -> Counters {
        Counters { busy: self.nic.counters.busy - self.nic.busy_until.since(stop), ..self.nic.counters }
    }

    // ---- the NIC ----------------------------------------------------------------------------------------------

    /// Puts a packet on the line behind what is committed.
    fn commit(&mut self, w: &mut World<'_>, now: Time, hand: &mut InHand) {
        let packet = &mut hand.packet;
        let start = self.nic.busy_until.max(now);
        let bytes = u32::from(packet.wire);
        let took = self.nic.line.send(bytes, start > self.nic.busy_until);
        self.nic.busy_until = start + took;
        self.nic.counters.packets += 1;
        self.nic.counters.bytes += u64::from(bytes);
        self.nic.counters.busy += took;
        w.log.created.add(packet.wire);
        match packet.kind {
            Kind::Data => w.flows.entered(packet.flow),
            Kind::Ack => {
                w.flows.entered(packet.flow);
                w.log.acks.add(packet.wire);
            }
            Kind::Probe | Kind::ProbeReply => w.log.probes.add(packet.wire),
            Kind::Message => w.log.messages.add(packet.wire),
        }
        match packet.kind {
            // A timestamp is written when a packet starts; a reply carries the one it echoes.
            Kind::Data | Kind::Probe => packet.stamp = start,
            _ => {}
        }
        w.wires.push(self.nic.link, hand, self.nic.busy_until + self.nic.delay);
    }

    /// A flow may send: it joins the round, and the NIC pulls if it is free.
    fn ready(&mut self, w: &mut World<'_>, now: Time, flow: u32) {
        let Some(sender) = w.flows.senders[flow as usize].as_deref_mut() else { return };
        if sender.queued {
            return;
        }
        sender.queued = true;
        self.round.push_back(flow);
        if self.wake != Time::NEVER {
            return;
        }
        if now >= self.nic.pulled_until {
            self.pull(w, now);
        } else {
            self.wake = self.nic.pulled_until;
        }
    }

    /// The NIC is free for data: builds and sends one packet of the next flow in the round.
    pub fn pull(&mut self, w: &mut World<'_>, now: Time) {
        self.wake = Time::NEVER;
        while let Some(flow) = self.round.pop_front() {
            let Some(sender) = w.flows.senders[flow as usize].as_deref_mut() else { continue };
            if !sender.may_send(w.net) {
                sender.queued = false;
                continue;
            }
            self.send_data(w, now, flow);
            if let Some(sender) = w.flows.senders[flow as usize].as_deref_mut() {
                if sender.may_send(w.net) {
                    self.round.push_back(flow);
                } else {
                    sender.queued = false;
                }
            }
            self.nic.pulled_until = self.nic.busy_until;
            if !self.round.is_empty() {
                self.wake = self.nic.pulled_until;
            }
            return;
        }
    }

    fn send_data(&mut self, w: &mut World<'_>, now: Time, flow: u32) {
        let spec = w.flows.specs[flow as usize];
        let blank = Packet { flow, src: self.id, dst: spec.dst, way: Way::ANY, kind: Kind::Data, ..Packet::default() };
        let mut hand = InHand::from(blank);
        let packet = &mut hand.packet;
        let Some(sender) = w.flows.senders[flow as usize].as_deref_mut() else { return };
        match &mut sender.machine {
            Machine::Tcp(tcp) => {
                let segment = tcp.next_segment(&w.net.tcp, now);
                packet.seq = segment.seq;
                packet.payload = segment.len as u16;
                packet.wire = (segment.len + w.net.tcp.header) as u16;
                packet.flags = if w.net.tcp.kind == Transport::Dctcp { ECT } else { 0 };
                if segment.retransmit {
                    packet.flags |= RETRANSMIT;
                }
            }
            Machine::Udp(udp, due) => {
                let bytes = due.pop_front().unwrap_or(0);
                packet.seq = udp.sent_bytes();
                packet.wire = bytes as u16;
                packet.payload = bytes as u16;
            }
        }
        self.choose(w, now, &mut hand.packet);
        let asked = take_asked(w);
        self.commit(w, now, &mut hand);
        if w.net.has_series() {
            self.tally.sent += 1;
        }
        self.plan_retransmit(w, flow);
        self.perform(w, now, asked, None);
    }

    /// Lets the host's scheme tag a packet that leaves the rack.
    fn choose(&mut self, w: &mut World<'_>, now: Time, packet: &mut Packet) {
        let Some(edge) = w.edge.as_mut() else { return };
        if packet.dst & SWITCH != 0 || w.net.same_rack(self.id, packet.dst) {
            return;
        }
        let hooks = edge.hooks();
        if packet.is(RETRANSMIT) && packet.kind == Kind::Data && hooks.has(Hooks::LOSS) {
            let way = lost_way(w.flows, packet.flow, packet.seq);
            self.tell(w, now, packet.dst, way, Some(packet.key()), Event::Retransmit);
        }
        let Some(edge) = w.edge.as_mut() else { return };
        let call = call(w.net, self.id, now, packet.dst, edge);
        let view = packet.view(w.net.tags, 0, 0);
        let (way, header) = edge.pick(call, &view, &mut packet.header);
        packet.way = way;
        if header > 0 && w.net.charge_headers {
            packet.wire += header as u16;
            w.log.header_bytes += u64::from(header);
        }
        if packet.kind == Kind::Data {
            note_way(w.flows, packet, hooks.has(Hooks::LOSS));
        }
    }

    // ---- arrivals ---------------------------------------------------------------------------------------------

    /// A packet arrived.
    pub fn arrive(&mut self, w: &mut World<'_>, now: Time, hand: &mut InHand) {
        let packet = &mut hand.packet;
        let mut asked = None;
        if let Some(edge) = w.edge.as_mut()
            && edge.hooks().has(Hooks::INGRESS)
            && packet.src & SWITCH == 0
            && !w.net.same_rack(self.id, packet.src)
        {
            let call = call(w.net, self.id, now, packet.src, edge);
            let view = packet.view(w.net.tags, 0, 0);
            let verdict = edge.ingress(call, &view, &mut packet.header);
            asked = take_asked(w);
            if verdict == Verdict::Consume {
                w.log.consumed.add(packet.wire);
                if packet.of_flow() {
                    w.flows.left(packet.flow);
                }
                self.perform(w, now, asked, None);
                return;
            }
        }
        self.perform(w, now, asked, Some(packet));
        w.log.delivered.add(packet.wire);
        match packet.kind {
            Kind::Data => self.receive_data(w, now, packet),
            Kind::Ack => self.receive_ack(w, now, packet),
            Kind::Probe => self.answer(w, now, packet),
            Kind::ProbeReply => self.probe_reply(w, now, packet),
            Kind::Message => self.receive_message(w, now, packet, hand.body.as_deref().unwrap_or(&[])),
        }
    }

    fn receive_data(&mut self, w: &mut World<'_>, now: Time, packet: &Packet) {
        let flow = packet.flow;
        w.flows.left(flow);
        let spec = w.flows.specs[flow as usize];
        let tcp = w.flows.is_tcp(flow);
        let record = &mut w.flows.records[flow as usize];
        record.arrived += 1;
        record.marks += u32::from(packet.is(CE));
        if !tcp {
            record.received += u64::from(packet.payload);
            self.tally.received += u64::from(packet.payload);
            if record.received == spec.size {
                record.fct = now.since(spec.start).0;
            }
            return;
        }
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
                echo_tag: packet.way.0,
            };
            self.send_ack(w, now, flow, &ack);
            return;
        }
        let receiver = slot
            .get_or_insert_with(|| Box::new(Receiver { machine: TcpReceiver::new(spec.size), timer_at: Time::NEVER }));
        let got = receiver.machine.on_data(
            &w.net.tcp,
            now,
            packet.seq,
            u32::from(packet.payload),
            packet.is(CE),
            packet.stamp,
            packet.is(RETRANSMIT),
            packet.way.0,
        );
        record.out_of_order += u32::from(got.out_of_order);
        record.received += got.new_bytes;
        if got.completed {
            record.fct = now.since(spec.start).0;
        }
        self.tally.received += got.new_bytes;
        for ack in got.acks.iter().flatten() {
            self.send_ack(w, now, flow, ack);
        }
        self.after_receiving(w, flow);
    }

    /// Plans the delayed-ACK timer, or drops the receiving end when it is through.
    fn after_receiving(&mut self, w: &mut World<'_>, flow: u32) {
        let Some(receiver) = w.flows.receivers[flow as usize].as_deref_mut() else { return };
        match receiver.machine.deadline() {
            Some(at) if at < receiver.timer_at => {
                receiver.timer_at = at;
                self.timers.plan(at, What::DelayedAck(flow));
            }
            Some(_) => {}
            None if receiver.machine.is_complete() => {
                w.flows.receivers[flow as usize] = None;
                if let Some(edge) = w.edge.as_mut() {
                    edge.forget(self.id, FlowKey(flow << 1));
                    edge.forget(self.id, FlowKey(flow << 1 | 1));
                }
            }
            None => {}
        }
    }

    fn send_ack(&mut self, w: &mut World<'_>, now: Time, flow: u32, ack: &AckOut) {
        let mut hand = InHand::from(Packet {
            stamp: ack.echo,
            seq: ack.cumulative,
            flow,
            src: self.id,
            dst: w.flows.specs[flow as usize].src,
            wire: w.net.tcp.ack_bytes as u16,
            way: Way::ANY,
            echo: ack.echo_tag,
            kind: Kind::Ack,
            flags: if ack.ece { ECE } else { 0 } | if ack.echo_retransmit { RETRANSMIT } else { 0 },
            ..Packet::default()
        });
        self.choose(w, now, &mut hand.packet);
        let asked = take_asked(w);
        self.commit(w, now, &mut hand);
        self.perform(w, now, asked, None);
    }

    fn receive_ack(&mut self, w: &mut World<'_>, now: Time, packet: &Packet) {
        let flow = packet.flow;
        w.flows.left(flow);
        let Some(sender) = w.flows.senders[flow as usize].as_deref_mut() else { return };
        let Machine::Tcp(tcp) = &mut sender.machine else { return };
        let ack = Ack {
            cumulative: packet.seq,
            echo: packet.stamp,
            ece: packet.is(ECE),
            echo_retransmit: packet.is(RETRANSMIT),
        };
        let outcome = tcp.on_ack(&w.net.tcp, now, &ack);
        self.tally.dupack3 += u64::from(outcome.dupack3);
        let may_send = !outcome.done && tcp.can_send(&w.net.tcp);
        while sender.ways.front().is_some_and(|&(seq, _)| seq < packet.seq) {
            sender.ways.pop_front();
        }
        if w.edge.is_some() {
            let event = Event::Ack { bytes: outcome.newly_acked, rtt: now.since(packet.stamp), marked: packet.is(ECE) };
            let key = Some(FlowKey(flow << 1));
            self.tell(w, now, packet.src, Way(packet.echo), key, event);
            if outcome.done {
                self.tell(w, now, packet.src, Way::ANY, key, Event::FlowEnd);
            }
        }
        if outcome.done {
            self.finish(w, now, flow);
            return;
        }
        self.plan_retransmit(w, flow);
        if may_send {
            self.ready(w, now, flow);
        }
    }

    /// Everything of a flow is acknowledged.
    fn finish(&mut self, w: &mut World<'_>, now: Time, flow: u32) {
        let start = w.flows.specs[flow as usize].start;
        w.flows.records[flow as usize].sender_fct = now.since(start).0;
        keep_account(w.flows, flow);
        w.flows.senders[flow as usize] = None;
        w.flows.open -= 1;
        if let Some(edge) = w.edge.as_mut() {
            edge.forget(self.id, FlowKey(flow << 1));
            edge.forget(self.id, FlowKey(flow << 1 | 1));
        }
    }

    fn plan_retransmit(&mut self, w: &mut World<'_>, flow: u32) {
        let Some(sender) = w.flows.senders[flow as usize].as_deref_mut() else { return };
        let Machine::Tcp(tcp) = &sender.machine else { return };
        // Lazily: a timer that fires early is planned again, so a later deadline costs nothing now.
        if let Some(at) = tcp.deadline()
            && at < sender.timer_at
        {
            sender.timer_at = at;
            self.timers.plan(at, What::Retransmit(flow));
        }
    }

    // ---- timers -----------------------------------------------------------------------------------------------

    /// Something planned is due.
    pub fn fire(&mut self, w: &mut World<'_>, now: Time, what: What) {
        match what {
            What::TransmitDone(_) => {}
            What::FlowStart => self.start_flows(w, now),
            What::Retransmit(flow) => self.retransmit(w, now, flow),
            What::DelayedAck(flow) => self.delayed_ack(w, now, flow),
            What::Pace(flow) => self.pace(w, now, flow),
            What::ProbeLost(probe) => self.probe_lost(w, now, probe),
            What::Scheme(key) => self.scheme_timer(w, now, key),
            What::Tick => self.tick(w, now),
            What::Sample => self.sample(w, now),
        }
    }

    fn start_flows(&mut self, w: &mut World<'_>, now: Time) {
        while self.next_flow < self.last_flow {
            let flow = w.flows.by_host[self.next_flow as usize];
            let spec = w.flows.specs[flow as usize];
            if spec.start > now {
                self.timers.plan(spec.start, What::FlowStart);
                return;
            }
            self.next_flow += 1;
            let machine = if w.flows.is_tcp(flow) {
                Machine::Tcp(TcpSender::new(&w.net.tcp, spec.size))
            } else {
                let udp = UdpSender::new(&w.flows.udp[w.flows.udp_of[flow as usize] as usize]);
                match udp.next_time() {
                    Some(at) => self.timers.plan(at.max(now), What::Pace(flow)),
                    // Its end comes before its first packet.
                    None if !w.flows.is_background(flow) => w.flows.open -= 1,
                    None => {}
                }
                Machine::Udp(udp, VecDeque::new())
            };
            w.flows.senders[flow as usize] = Some(Box::new(Sender {
                machine,
                queued: false,
                timer_at: Time::NEVER,
                last_way: Way::ANY,
                ways: VecDeque::new(),
            }));
            self.tell(w, now, spec.dst, Way::ANY, Some(FlowKey(flow << 1)), Event::FlowStart { size: spec.size });
            if w.flows.is_tcp(flow) {
                self.ready(w, now, flow);
            }
        }
    }

    fn retransmit(&mut self, w: &mut World<'_>, now: Time, flow: u32) {
        let Some(sender) = w.flows.senders[flow as usize].as_deref_mut() else { return };
        if sender.timer_at != now {
            return;
        }
        sender.timer_at = Time::NEVER;
        let Machine::Tcp(tcp) = &mut sender.machine else { return };
        if tcp.deadline().is_none_or(|at| at > now) {
            self.plan_retransmit(w, flow);
            return;
        }
        let oldest = tcp.acked();
        tcp.on_timeout(&w.net.tcp, now);
        if w.edge.as_ref().is_some_and(|edge| edge.hooks().has(Hooks::LOSS)) {
            let way = lost_way(w.flows, flow, oldest);
            let dst = w.flows.specs[flow as usize].dst;
            self.tell(w, now, dst, way, Some(FlowKey(flow << 1)), Event::Timeout);
        }
        self.plan_retransmit(w, flow);
        self.ready(w, now, flow);
    }

    fn delayed_ack(&mut self, w: &mut World<'_>, now: Time, flow: u32) {
        let Some(receiver) = w.flows.receivers[flow as usize].as_deref_mut() else { return };
        if receiver.timer_at != now {
            return;
        }
        receiver.timer_at = Time::NEVER;
        if receiver.machine.deadline().is_some_and(|at| at <= now)
            && let Some(ack) = receiver.machine.on_timeout(&w.net.tcp, now)
        {
            self.send_ack(w, now, flow, &ack);
        }
        self.after_receiving(w, flow);
    }

    fn pace(&mut self, w: &mut World<'_>, now: Time, flow: u32) {
        let config = &w.flows.udp[w.flows.udp_of[flow as usize] as usize];
        let Some(sender) = w.flows.senders[flow as usize].as_deref_mut() else { return };
        let Machine::Udp(udp, due) = &mut sender.machine else { return };
        due.push_back(udp.next_packet(config));
        match udp.next_time() {
            Some(at) => self.timers.plan(at.max(now), What::Pace(flow)),
            None if !w.flows.is_background(flow) => w.flows.open -= 1,
            None => {}
        }
        self.ready(w, now, flow);
    }

    fn sample(&mut self, w: &mut World<'_>, now: Time) {
        let tally = std::mem::take(&mut self.tally);
        for (series, value) in [(2, tally.sent), (3, tally.received), (4, tally.dupack3)] {
            if value > 0 {
                w.log.point(now, series, self.id, value as f64);
            }
        }
        if let Some(interval) = w.net.series_interval {
            self.timers.plan(now + interval, What::Sample);
        }
    }

    // ---- the scheme -------------------------------------------------------------------------------------------

    /// Tells the scheme what became of a flow, a way or a probe.
    fn tell(&mut self, w: &mut World<'_>, now: Time, peer: u32, way: Way, flow: Option<FlowKey>, event: Event) {
        let Some(edge) = w.edge.as_mut() else { return };
        let losses = matches!(event, Event::Retransmit | Event::Timeout);
        let wanted = if losses { Hooks::LOSS } else { Hooks::FEEDBACK };
        if !edge.hooks().has(wanted) || (peer & SWITCH == 0 && w.net.same_rack(self.id, peer)) {
            return;
        }
        let call = call(w.net, self.id, now, peer, edge);
        edge.feedback(call, &Feedback { way, flow, event });
        let asked = take_asked(w);
        self.perform(w, now, asked, None);
    }

    fn answer(&mut self, w: &mut World<'_>, now: Time, packet: &Packet) {
        let reply = Packet { src: self.id, ..reply_to(packet, now) };
        self.commit(w, now, &mut reply.into());
    }

    fn probe_reply(&mut self, w: &mut World<'_>, now: Time, packet: &Packet) {
        let Some(probing) = self.probes.remove(&packet.flow) else { return };
        let event = Event::ProbeReply {
            rtt: now.since(packet.stamp),
            one_way: Time(packet.seq).since(packet.stamp),
            marked: packet.is(ECE),
            by: device(packet.src),
        };
        self.tell(w, now, probing.peer, probing.way, None, event);
    }

    fn probe_lost(&mut self, w: &mut World<'_>, now: Time, probe: u32) {
        if let Some(probing) = self.probes.remove(&probe) {
            self.tell(w, now, probing.peer, probing.way, None, Event::ProbeLost);
        }
    }

    fn receive_message(&mut self, w: &mut World<'_>, now: Time, packet: &Packet, body: &[u8]) {
        let Some(edge) = w.edge.as_mut() else { return };
        if !edge.hooks().has(Hooks::MESSAGE) {
            return;
        }
        let call = call(w.net, self.id, now, packet.src, edge);
        edge.message(call, &message_of(packet, 0, body));
        let asked = take_asked(w);
        self.perform(w, now, asked, None);
    }

    fn scheme_timer(&mut self, w: &mut World<'_>, now: Time, key: Key) {
        let Some(edge) = w.edge.as_mut() else { return };
        let peer = if let Key::Route(peer, _, _) = key { peer } else { NO_PEER };
        let call = Call { peer, ..call(w.net, self.id, now, NO_PEER, edge) };
        if edge.timer(call, key) {
            let asked = take_asked(w);
            self.perform(w, now, asked, None);
        }
    }

    fn tick(&mut self, w: &mut World<'_>, now: Time) {
        let Some(edge) = w.edge.as_mut() else { return };
        let call = call(w.net, self.id, now, NO_PEER, edge);
        edge.tick(call);
        let period = edge.layout(self.id).tick;
        let asked = take_asked(w);
        self.perform(w, now, asked, None);
        self.timers.plan(now + period, What::Tick);
    }

    /// Carries out what a hook asked for; `packet` is the one in hand, if any.
    #[inline]
    fn perform(&mut self, w: &mut World<'_>, now: Time, asked: Option<Asked>, packet: Option<&mut Packet>) {
        if let Some(asked) = asked {
            self.carry_out(w, now, asked, packet);
        }
    }

    fn carry_out(&mut self, w: &mut World<'_>, now: Time, asked: Asked, mut packet: Option<&mut Packet>) {
        for &action in &asked.actions[..asked.len] {
            match action {
                Action::Send { to, class, flow, way, at, len, wire } => {
                    let body = &asked.bytes[at as usize..(at + len) as usize];
                    let message = message_to(class, flow, way, wire);
                    self.send_message(w, now, to, message, body);
                }
                Action::Probe { peer, way, wire, ttl, give_up } => self.probe(w, now, peer, way, wire, ttl, give_up),
                Action::Arm { key, at } => {
                    if let Some(edge) = w.edge.as_mut() {
                        edge.arm(self.id, key, at.max(now));
                    }
                    self.timers.plan(at.max(now), What::Scheme(key));
                }
                Action::Cancel { key } => {
                    if let Some(edge) = w.edge.as_mut() {
                        edge.cancel(self.id, key);
                    }
                }
                Action::MaskEcn => {
                    if let Some(packet) = packet.as_deref_mut() {
                        packet.flags &= !CE;
                    }
                }
                Action::Record { series, value } => w.log.point(now, EDGE_SERIES + series, self.id, value),
                // A host has no held queues: its layout refuses them.
                Action::Release { .. } => {}
            }
        }
        if let Some(edge) = w.edge.as_mut() {
            edge.give_back(asked);
        }
    }

    fn send_message(&mut self, w: &mut World<'_>, now: Time, to: To, message: Packet, body: &[u8]) {
        let per_leaf = w.net.topology.hosts_per_leaf;
        let rack = self.id / per_leaf * per_leaf;
        match to {
            To::Host(host) => self.send_one(w, now, host, message, body),
            To::Leaf(leaf) => self.send_one(w, now, leaf | SWITCH, message, body),
            To::Rack => {
                let me = self.id;
                for host in (rack..rack + per_leaf).filter(|&host| host != me) {
                    self.send_one(w, now, host, message, body);
                }
            }
            // A host's only neighbour is its leaf.
            To::Neighbours { except: None } => self.send_one(w, now, (self.id / per_leaf) | SWITCH, message, body),
            To::Neighbours { except: Some(_) } => {}
        }
    }

    fn send_one(&mut self, w: &mut World<'_>, now: Time, dst: u32, message: Packet, body: &[u8]) {
        let packet = Packet { src: self.id, dst, flags: BODY, ..message };
        self.commit(w, now, &mut InHand { packet, body: Some(body.into()) });
    }

    #[allow(clippy::too_many_arguments)]
    fn probe(&mut self, w: &mut World<'_>, now: Time, peer: u32, way: Way, wire: u32, ttl: u8, give_up: Span) {
        let Some(edge) = w.edge.as_ref() else { return };
        let to_leaves = edge.layout(self.id).peers == Peers::Leaves;
        let (dst, peer) = if to_leaves { (peer | SWITCH, peer | SWITCH) } else { (peer, peer) };
        let number = self.next_probe;
        self.next_probe = self.next_probe.wrapping_add(1);
        self.probes.insert(number, Probing { peer, way });
        let packet = Packet {
            flow: number,
            src: self.id,
            dst,
            wire: wire as u16,
            way,
            kind: Kind::Probe,
            flags: ECT,
            ttl,
            ..Packet::default()
        };
        self.commit(w, now, &mut packet.into());
        self.timers.plan(now + give_up, What::ProbeLost(number));
    }
}

impl Sender {
    /// Has the transport anything to send now?
    #[inline]
    fn may_send(&self, net: &Net) -> bool {
        match &self.machine {
            Machine::Tcp(tcp) => tcp.can_send(&net.tcp),
            Machine::Udp(_, due) => !due.is_empty(),
        }
    }
}

/// The call of a hook of host `id`'s scheme that concerns the device `about`.
#[inline]
fn call<'a>(net: &'a Net, id: u32, now: Time, about: u32, edge: &Bank) -> Call<'a> {
    let topology = &net.topology;
    let leaf = topology.leaf_of[id as usize];
    let leaves = topology.leaves as usize;
    let ways = &topology.ways[leaf as usize * leaves..(leaf as usize + 1) * leaves];
    let peer = match (about, edge.layout(id).peers) {
        (NO_PEER, _) | (_, Peers::None) => NO_PEER,
        (host, Peers::Hosts) if host & SWITCH == 0 => host,
        (host, Peers::Leaves) if host & SWITCH == 0 => topology.leaf_of[host as usize],
        (switch, Peers::Leaves) if switch & !SWITCH < topology.leaves => switch & !SWITCH,
        _ => NO_PEER,
    };
    let view = HostView {
        host: id,
        leaf,
        leaf_of: &topology.leaf_of,
        ways,
        link_rate: net.host_rate,
        path_rate: net.path_rate,
        base_rtt: net.base_rtt,
        mss: net.tcp.mss,
        mtu: net.tcp.mss + net.tcp.header,
    };
    Call { seat: id, now, room: Room::Host(view), peer }
}

/// What the last hook call asked for, if anything.
#[inline]
fn take_asked(w: &mut World<'_>) -> Option<Asked> {
    w.edge.as_mut().filter(|edge| edge.has_asked()).map(Bank::asked)
}

/// The way the segment that starts at `seq` was last sent on.
fn lost_way(flows: &Flows, flow: u32, seq: u64) -> Way {
    let Some(sender) = flows.senders[flow as usize].as_deref() else { return Way::ANY };
    match sender.ways.binary_search_by_key(&seq, |&(first, _)| first) {
        Ok(at) => sender.ways[at].1,
        Err(_) => Way::ANY,
    }
}

/// Notes the way of a data packet: changes are counted, and outstanding segments remembered for schemes that want losses.
fn note_way(flows: &mut Flows, packet: &Packet, remember: bool) {
    let Some(sender) = flows.senders[packet.flow as usize].as_deref_mut() else { return };
    if sender.last_way != packet.way {
        let first = sender.last_way == Way::ANY;
        sender.last_way = packet.way;
        flows.records[packet.flow as usize].path_changes += u32::from(!first);
    }
    if remember {
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
        Machine::Tcp(tcp) => {
            record.packets = tcp.packets();
            record.retransmits = tcp.retransmits();
            record.timeouts = tcp.timeouts();
            record.fast_retransmits = tcp.fast_retransmits();
            record.dupack3_events = tcp.dupack3_events();
        }
        Machine::Udp(udp, due) => record.packets = udp.packets() - due.len() as u32,
    }
}

/// Plans the first tick of a seat.
pub fn plan_ticks(timers: &mut Timers, bank: &Bank, seat: u32) {
    let layout = bank.layout(seat);
    if !bank.hooks().has(Hooks::TICK) || layout.tick == Span::ZERO {
        return;
    }
    let first = match layout.phase {
        Phase::Zero => layout.tick,
        Phase::Random => bank.phase(seat, layout.tick) + Span(1),
    };
    timers.plan(Time::ZERO + first, What::Tick);
}

/// The answer to a probe, but for its source.
pub fn reply_to(packet: &Packet, now: Time) -> Packet {
    Packet {
        stamp: packet.stamp,
        seq: now.0,
        flow: packet.flow,
        dst: packet.src,
        wire: packet.wire,
        way: Way::ANY,
        echo: packet.way.0,
        kind: Kind::ProbeReply,
        flags: if packet.is(CE) { ECE } else { 0 },
        ..Packet::default()
    }
}

/// A message, but for its ends.
pub fn message_to(class: u8, flow: Option<FlowKey>, way: Way, wire: u32) -> Packet {
    Packet {
        flow: flow.map_or(NO_FLOW, |key| key.0),
        wire: wire as u16,
        way,
        echo: u16::from(class),
        kind: Kind::Message,
        ..Packet::default()
    }
}

/// A message as its scheme sees it.
pub fn message_of<'a>(packet: &Packet, in_port: u16, body: &'a [u8]) -> Message<'a> {
    Message {
        from: device(packet.src),
        class: packet.echo as u8,
        flow: (packet.flow != NO_FLOW).then_some(FlowKey(packet.flow)),
        in_port: Port(in_port),
        body,
    }
}

/// The device an address names.
pub fn device(address: u32) -> Device {
    if address & SWITCH == 0 { Device::Host(address) } else { Device::Switch(address & !SWITCH) }
}
