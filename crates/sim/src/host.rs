//! A host: a NIC that builds a packet when it is free to send one, and the ends of flows.
//!
//! **NIC pull.** Flows that may send stand in a round; when the last data packet has left, the NIC asks the next flow
//! for one. So nothing queues in the host, and marks come from the network. Acknowledgements, probes and messages are
//! made by events; they are committed at once, behind what is already on its way out.

mod ends;
mod nic;
mod opening;
mod operations;
mod resequence;
mod scheme;
mod turns;

use crate::bank::Bank;
use crate::control::plan_ticks;
use crate::faults::Frail;
use crate::flows::Flows;
use crate::line::Line;
use crate::link::Wires;
use crate::log::{self, Log};
use crate::net::Net;
use crate::packet::{InHand, Packet, RETRANSMIT, SWITCH};
use crate::port::{AllRules, Counters, Pausing, Port};
use crate::series::Counted;
use crate::timers::{Timers, What};
use crate::transport::contract::{Arrival, Data, Order, Outgoing, Sender};
use nic::Nic;
use scheme::call;
use spinewise_policy::{Event, Hooks, Kind, Time, Verdict, Way};
use std::collections::{BTreeMap, VecDeque};
use turns::Turns;

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

/// Data priorities.
const PRIORITIES: usize = 7;

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
    /// If the link into it breaks.
    pub frail: Option<Box<Frail>>,
    /// When the NIC pulls again, [`Time::NEVER`] if nobody waits.
    pub wake: Time,
    round: VecDeque<u32>,
    /// Instead of the round, where the transport asks for turns.
    turns: Turns,
    /// Its plan.
    pub timers: Timers,
    next_flow: u32,
    last_flow: u32,
    probes: BTreeMap<u32, Probing>,
    next_probe: u32,
    /// Probes that wait to be pulled: where data can be paused, they go by its rules.
    parked: VecDeque<Packet>,
    tally: Tally,
    /// What its NIC had counted at the last sample.
    before: Counted,
    /// Room for data that is passed on to its transport.
    ready: Vec<Arrival>,
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
        for (n, at) in flows.operations.begin(id) {
            timers.plan(at, What::Operation(n));
        }
        if let Some(edge) = edge {
            plan_ticks(&mut timers, edge, id);
        }
        if let Some(interval) = net.series_interval {
            timers.plan(Time::ZERO + interval, What::Sample);
        }
        Host {
            id,
            frail: net.frail(id),
            nic: Nic {
                line: net.line(link),
                pulled_until: Time::ZERO,
                queue: net
                    .nics_queue
                    .then(|| Box::new(Port::new(net.line(link), None).in_class(net.rules.class(spec.rate)))),
                pausing: Box::new([Pausing::default(); PRIORITIES]),
                paused: false,
                pauses: (0, 0),
            },
            wake: Time::NEVER,
            round: VecDeque::new(),
            turns: Turns::default(),
            timers,
            next_flow,
            last_flow,
            probes: BTreeMap::new(),
            next_probe: 0,
            parked: VecDeque::new(),
            tally: Tally::default(),
            before: Counted::default(),
            ready: Vec::new(),
        }
    }

    /// The end of the last pause of data, if it lies ahead.
    pub fn paused_until(&self) -> Time {
        self.nic.pausing.iter().map(|pausing| pausing.until()).max().unwrap_or(Time::ZERO)
    }

    /// Flows of this host that have started, done ones too.
    pub fn started<'a>(&self, flows: &'a Flows) -> &'a [u32] {
        &flows.by_host[flows.first[self.id as usize] as usize..self.next_flow as usize]
    }

    /// The place of the flow that starts next, among the flows by host.
    pub fn next_flow(&self) -> Option<u32> {
        (self.next_flow < self.last_flow).then_some(self.next_flow)
    }

    /// What its link has sent by `stop`; packets and bytes with those committed by then and not yet on the line.
    pub fn counters(&mut self, stop: Time, rules: &AllRules, wires: &mut Wires) -> Counters {
        if let Some(queue) = &mut self.nic.queue {
            return queue.finish(stop, rules.of(queue), wires);
        }
        let (packets, bytes) = self.nic.line.sent();
        let (busy, paused) = (self.nic.line.busy_by(stop), self.paused_by(stop));
        Counters { packets, bytes, busy, paused, ..Counters::default() }
    }

    /// For how long, in ps, and how often its data priorities have been paused by `now`.
    fn paused_by(&self, now: Time) -> (u64, u64) {
        let (paused, pauses) = self.nic.pauses;
        let running: u64 = self.nic.pausing.iter().map(|pausing| pausing.running(now)).sum();
        (paused + running, pauses)
    }

    /// The queue of a NIC that has one.
    pub fn nic_queue(&self) -> Option<&Port> {
        self.nic.queue.as_deref()
    }

    /// The line of its NIC.
    pub fn line(&self) -> &Line {
        self.nic.queue.as_ref().map_or(&self.nic.line, |queue| queue.line())
    }

    /// A NIC that queues takes all that the transport gives now.
    #[cold]
    fn push(&mut self, w: &mut World<'_>, now: Time, flow: u32) {
        while w.flows.stays(flow) {
            self.send_data(w, now, flow);
        }
    }

    /// A flow may send: it joins the round, and the NIC pulls if it is free.
    fn ready(&mut self, w: &mut World<'_>, now: Time, flow: u32) {
        match w.flows.facts.order {
            Order::Turns => self.join_turns(w, now, flow),
            Order::Round if self.nic.queue.is_some() => self.push(w, now, flow),
            Order::Round => {
                if w.flows.enqueue(flow) {
                    self.round.push_back(flow);
                    self.set_going(w, now);
                }
            }
        }
    }

    /// Lets the NIC pull, now or as soon as it is free.
    fn set_going(&mut self, w: &mut World<'_>, now: Time) {
        if now > self.nic.pulled_until || (now == self.nic.pulled_until && !w.net.habits.nic_ties_wait) {
            self.pull(w, now);
        } else {
            self.wake = self.nic.pulled_until;
        }
    }

    /// The NIC is free for data: builds and sends one packet.
    pub fn pull(&mut self, w: &mut World<'_>, now: Time) {
        self.wake = Time::NEVER;
        if !self.parked.is_empty() && self.send_probe(w, now) {
            return;
        }
        let probe = self.wake;
        match w.flows.facts.order {
            Order::Turns => self.take_turn(w, now),
            Order::Round => self.take_round(w, now),
        }
        if !self.parked.is_empty() {
            let sending = self.nic.pulled_until;
            self.wake = if sending > now { sending } else { self.wake.min(probe) };
        }
    }

    /// Sends a packet of the next flow in the round.
    #[inline]
    fn take_round(&mut self, w: &mut World<'_>, now: Time) {
        let mut passed = 0;
        while passed < self.round.len()
            && let Some(flow) = self.round.pop_front()
        {
            if self.nic.paused && self.pass_over(w, now, flow) {
                passed += 1;
                continue;
            }
            if !w.flows.stays(flow) {
                continue;
            }
            self.send_data(w, now, flow);
            self.nic.pulled_until = self.nic.line.free_at();
            if w.flows.stays(flow) {
                self.round.push_back(flow);
            }
            if !self.round.is_empty() {
                self.wake = self.nic.pulled_until;
            }
            return;
        }
    }

    /// Flow control of a data priority.
    fn pausing(&self, priority: u8) -> Pausing {
        self.nic.pausing[usize::from(priority).min(PRIORITIES - 1)]
    }

    /// Sends the first probe that waits, if its priority is not paused. Has it?
    #[cold]
    fn send_probe(&mut self, w: &mut World<'_>, now: Time) -> bool {
        let Some(&probe) = self.parked.front() else { return false };
        let pausing = self.pausing(probe.priority());
        if pausing.is_on(now) {
            self.wake = pausing.until();
            return false;
        }
        self.parked.pop_front();
        self.commit(w, now, probe.into());
        self.nic.pulled_until = self.nic.line.free_at();
        self.wake = self.nic.pulled_until;
        true
    }

    /// A flow whose priority is paused goes to the end of the round. Is it one?
    #[cold]
    fn pass_over(&mut self, w: &World<'_>, now: Time, flow: u32) -> bool {
        let pausing = self.pausing(w.flows.specs[flow as usize].priority);
        if pausing.is_on(now) {
            self.round.push_back(flow);
            self.wake = self.wake.min(pausing.until());
        }
        pausing.is_on(now)
    }

    #[inline(always)]
    fn send_data(&mut self, w: &mut World<'_>, now: Time, flow: u32) {
        match w.flows.ends.next(now, flow) {
            Some((Outgoing::Data(data), timer)) => {
                let spec = &w.flows.specs[flow as usize];
                let (ends, priority) = ((self.id, spec.dst), spec.priority);
                self.send(w, now, || data_packet(ends, flow, priority, &data));
                self.has_sent(w, (flow, timer));
            }
            Some((other, timer)) => self.send_otherwise(w, now, flow, (other, timer)),
            None => self.send_udp(w, now, flow),
        }
    }

    /// A data packet of this number has been sent, and its sender wants this timer.
    #[inline(always)]
    fn has_sent(&mut self, w: &World<'_>, (number, timer): (u32, Time)) {
        if w.net.has_series() {
            self.tally.sent += 1;
        }
        self.plan_timer(number, timer);
    }

    /// A flow sends on one of several paths, or opens its connection.
    #[cold]
    fn send_otherwise(&mut self, w: &mut World<'_>, now: Time, flow: u32, (what, timer): (Outgoing, Time)) {
        let spec = &w.flows.specs[flow as usize];
        let (ends, priority) = ((self.id, spec.dst), spec.priority);
        let number_of = |w: &World<'_>, path: usize| w.flows.number(flow, path);
        match what {
            Outgoing::Data(data) => {
                let packet = data_packet(ends, flow, priority, &data);
                self.send_tagged(w, now, packet.into());
                self.has_sent(w, (flow, timer));
            }
            Outgoing::OnPath(path, data, option) => {
                let number = number_of(w, path);
                let packet = data_packet(ends, number, priority, &data);
                self.send_tagged(w, now, InHand::with_body(packet, option));
                self.has_sent(w, (number, timer));
            }
            Outgoing::Greeting { path, wire, flags, follows } => {
                let number = number_of(w, path);
                self.greet(w, now, number, (0, wire, flags));
                self.plan_timer(number, timer);
                if follows && let Some(next) = w.flows.ends.next(now, flow) {
                    self.send_otherwise(w, now, flow, next);
                }
            }
        }
    }

    /// A UDP flow sends.
    #[cold]
    fn send_udp(&mut self, w: &mut World<'_>, now: Time, flow: u32) {
        let Some((udp, config)) = w.flows.udp(flow) else { return };
        let Some(Outgoing::Data(data)) = udp.machine.next(config, now) else { return };
        // Only now: the last packets may have waited for others at the NIC.
        let sent_in_full = udp.machine.is_sent();
        let spec = &w.flows.specs[flow as usize];
        let packet = data_packet((self.id, spec.dst), flow, spec.priority, &data);
        self.send_tagged(w, now, packet.into());
        self.has_sent(w, (flow, Time::NEVER));
        if sent_in_full {
            self.sent_in_full(w, now, flow);
        }
    }

    /// Lets the host's scheme tag a packet that leaves the rack.
    fn choose(&mut self, w: &mut World<'_>, now: Time, packet: &mut Packet) {
        let Some(edge) = w.edge.as_mut() else { return };
        if packet.dst & SWITCH != 0 || w.net.same_rack(self.id, packet.dst) {
            return;
        }
        if packet.kind == Kind::Ack && !edge.picks_acks(self.id) {
            return;
        }
        let hooks = edge.hooks();
        if packet.is(RETRANSMIT) && packet.kind == Kind::Data && hooks.has(Hooks::LOSS) {
            let way = w.flows.lane(packet.flow).map_or(Way::ANY, |lane| lane.way_of(packet.seq));
            self.tell(w, now, packet.dst, way, Some(packet.key()), Event::Retransmit);
        }
        let Some(edge) = w.edge.as_mut() else { return };
        let call = call(w.net, self.id, now, packet.dst, edge);
        let (way, header) = match &mut w.log.recorder {
            None if edge.is_guest() => edge.pick_any(call, packet, (&w.net.hashing, 0)),
            None => edge.pick(call, packet, (&w.net.hashing, 0)),
            Some(recorder) => {
                let (ways, rows) = (w.net.topology.ways_between(self.id, packet.dst), w.net.topology.most_ways);
                let place = (self.id, usize::from(ways), usize::from(rows));
                recorder.pick(edge, call, packet, (&w.net.hashing, 0), place)
            }
        };
        packet.way = way;
        if header > 0 && w.net.charge_headers {
            packet.wire += header as u16;
            w.log.header_bytes += u64::from(header);
        }
        if packet.kind == Kind::Data {
            w.flows.note_way(packet, hooks.has(Hooks::LOSS));
        }
    }

    /// A packet arrived.
    pub fn arrive(&mut self, w: &mut World<'_>, now: Time, hand: &mut InHand) {
        if let Some(frail) = &mut self.frail
            && frail.loses(0, now, hand, w.wires)
        {
            let packet = &hand.packet;
            w.log.lost.add(packet.wire);
            if packet.of_flow() {
                w.flows.left(packet.flow);
            }
            return;
        }
        let packet = &mut hand.packet;
        if let Some(edge) = w.edge.as_mut()
            && edge.hooks().has(Hooks::INGRESS)
            && packet.src & SWITCH == 0
            && !w.net.same_rack(self.id, packet.src)
        {
            let call = call(w.net, self.id, now, packet.src, edge);
            let view = packet.view(&w.net.hashing, 0, 0);
            let verdict = edge.ingress(call, &view, &mut packet.header);
            if verdict == Verdict::Consume {
                w.log.consumed.add(packet.wire);
                if packet.of_flow() {
                    w.flows.left(packet.flow);
                }
                self.perform(w, now, None);
                return;
            }
        }
        self.perform(w, now, Some(packet));
        w.log.delivered.add(packet.wire);
        match packet.kind {
            Kind::Data => self.receive_data(w, now, hand),
            Kind::Ack => self.receive_ack(w, now, hand),
            Kind::Probe => self.answer(w, now, packet),
            Kind::ProbeReply => self.probe_reply(w, now, packet),
            Kind::Pause => self.obey(w, now, packet),
            Kind::Message => self.receive_message(w, now, packet, hand.body.as_deref().unwrap_or(&[])),
        }
    }

    /// The leaf asks this host to pause sending data, or lets it go on.
    fn obey(&mut self, w: &mut World<'_>, now: Time, packet: &Packet) {
        let until = Time(now.0.saturating_add(packet.seq));
        let pausing = &mut self.nic.pausing[usize::from(packet.echo).min(PRIORITIES - 1)];
        pausing.set(now, until, &mut self.nic.pauses);
        self.nic.paused = self.nic.pausing.iter().any(|pausing| pausing.is_on(now));
        self.set_going(w, now);
    }

    /// Something planned is due.
    pub fn fire(&mut self, w: &mut World<'_>, now: Time, what: What) {
        match what {
            What::TransmitDone(_) | What::LateTransmitDone(_) | What::LinkChange(_) | What::RenewPause(..) => {}
            What::Look => {}
            What::FlowStart => self.start_flows(w, now),
            What::Gate(gate) => self.open_gate(w, now, gate),
            What::Operation(n) => self.operate(w, now, n),
            What::Landed(n) => self.landed(w, now, n),
            What::Retransmit(flow) => self.retransmit(w, now, flow),
            What::DelayedAck(flow) => self.delayed_ack(w, now, flow),
            What::Resequence(flow) => self.waited(w, now, flow),
            What::Pace(flow) => self.pace(w, now, flow),
            What::ProbeLost(probe) => self.probe_lost(w, now, probe),
            What::Scheme(key) => self.scheme_timer(w, now, key),
            What::Tick => self.tick(w, now),
            What::Sample => self.sample(w, now),
        }
    }

    fn sample(&mut self, w: &mut World<'_>, now: Time) {
        let tally = std::mem::take(&mut self.tally);
        for (series, value) in [(2, tally.sent), (3, tally.received), (4, tally.dupack3)] {
            if value > 0 {
                w.log.point(now, series, self.id, value as f64);
            }
        }
        let Some(interval) = w.net.series_interval else { return };
        let link = self.nic.line.link;
        if w.net.series_links.has(&w.net.topology, link) {
            let seen = self.seen(w, now);
            log::write_link(w.log, (w.net, now, interval), link, &mut self.before, seen);
        }
        self.timers.plan(now + interval, What::Sample);
    }

    /// What its NIC has counted, and the bytes that wait there, if it has a queue.
    fn seen(&mut self, w: &mut World<'_>, now: Time) -> (Counted, Option<u64>) {
        if let Some(queue) = self.nic.queue.as_deref_mut() {
            let counted = queue.counted(now, w.net.rules.of(queue), w.wires);
            return (counted, Some(queue.queue(now, true, w.net.rules.of(queue), w.wires).0));
        }
        (Counted { busy: self.nic.line.busy_by(now), paused: self.paused_by(now).0, ..Counted::default() }, None)
    }
}

/// A data packet between two hosts.
#[inline(always)]
fn data_packet((src, dst): (u32, u32), flow: u32, priority: u8, data: &Data) -> Packet {
    Packet {
        seq: data.seq,
        flow,
        src,
        dst,
        wire: data.wire,
        payload: data.len,
        way: Way::ANY,
        echo: u16::from(priority),
        kind: Kind::Data,
        flags: data.flags,
        ..Packet::default()
    }
}
