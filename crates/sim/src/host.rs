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

use crate::address::Address;
use crate::bank::Bank;
use crate::control::plan_ticks;
use crate::faults::Frail;
use crate::flows::Flows;
use crate::line::Line;
use crate::link::Wires;
use crate::log;
use crate::net::Net;
use crate::packet::{InHand, Packet, RETRANSMIT};
use crate::port::{AllRules, Counters, Fifo, Pausing};
use crate::series::Counted;
use crate::shell::{Probes, Shell};
use crate::timers::{Timers, What};
use crate::transport::contract::{Arrival, Data, Order, Outgoing, Sender};
use crate::world::World;
use nic::Nic;
use scheme::call;
use spinewise_policy::{Event, Hooks, Kind, Time, Verdict, Way};
use std::collections::VecDeque;
use turns::Turns;

/// Data priorities.
const PRIORITIES: usize = 7;

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
    probes: Probes,
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
                queue: net.nics_queue.then(|| Box::new(Fifo::new(net.line(link), net.rules.class(spec.rate)))),
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
            probes: Probes::default(),
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
            return queue.finish(stop, rules.of(queue.class()), wires);
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
    pub fn nic_queue(&self) -> Option<&Fifo> {
        self.nic.queue.as_deref()
    }

    /// The line of its NIC.
    pub fn line(&self) -> &Line {
        self.nic.queue.as_ref().map_or(&self.nic.line, |queue| queue.line())
    }

    /// A NIC that queues takes all that the transport gives now.
    #[cold]
    fn push(&mut self, w: &mut World<'_>, flow: u32) {
        while w.flows.stays(flow) {
            self.send_data(w, flow);
        }
    }

    /// A flow may send: it joins the round, and the NIC pulls if it is free.
    fn ready(&mut self, w: &mut World<'_>, flow: u32) {
        match w.flows.facts.order {
            Order::Turns => self.join_turns(w, flow),
            Order::Round if self.nic.queue.is_some() => self.push(w, flow),
            Order::Round => {
                if w.flows.enqueue(flow) {
                    self.round.push_back(flow);
                    self.set_going(w);
                }
            }
        }
    }

    /// Lets the NIC pull, now or as soon as it is free.
    fn set_going(&mut self, w: &mut World<'_>) {
        if w.now > self.nic.pulled_until || (w.now == self.nic.pulled_until && !w.net.habits.nic_ties_wait) {
            self.pull(w);
        } else {
            self.wake = self.nic.pulled_until;
        }
    }

    /// The NIC is free for data: builds and sends one packet.
    pub fn pull(&mut self, w: &mut World<'_>) {
        self.wake = Time::NEVER;
        if !self.parked.is_empty() && self.send_probe(w) {
            return;
        }
        let probe = self.wake;
        match w.flows.facts.order {
            Order::Turns => self.take_turn(w),
            Order::Round => self.take_round(w),
        }
        if !self.parked.is_empty() {
            let sending = self.nic.pulled_until;
            self.wake = if sending > w.now { sending } else { self.wake.min(probe) };
        }
    }

    /// Sends a packet of the next flow in the round.
    #[inline]
    fn take_round(&mut self, w: &mut World<'_>) {
        let mut passed = 0;
        while passed < self.round.len()
            && let Some(flow) = self.round.pop_front()
        {
            if self.nic.paused && self.pass_over(w, flow) {
                passed += 1;
                continue;
            }
            if !w.flows.stays(flow) {
                continue;
            }
            self.send_data(w, flow);
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
    fn send_probe(&mut self, w: &mut World<'_>) -> bool {
        let Some(&probe) = self.parked.front() else { return false };
        let pausing = self.pausing(probe.priority());
        if pausing.is_on(w.now) {
            self.wake = pausing.until();
            return false;
        }
        self.parked.pop_front();
        self.commit(w, probe.into());
        self.nic.pulled_until = self.nic.line.free_at();
        self.wake = self.nic.pulled_until;
        true
    }

    /// A flow whose priority is paused goes to the end of the round. Is it one?
    #[cold]
    fn pass_over(&mut self, w: &World<'_>, flow: u32) -> bool {
        let pausing = self.pausing(w.flows.specs[flow as usize].priority);
        if pausing.is_on(w.now) {
            self.round.push_back(flow);
            self.wake = self.wake.min(pausing.until());
        }
        pausing.is_on(w.now)
    }

    #[inline(always)]
    fn send_data(&mut self, w: &mut World<'_>, flow: u32) {
        match w.flows.ends.next(w.now, flow) {
            Some((Outgoing::Data(data), timer)) => {
                let spec = &w.flows.specs[flow as usize];
                let (ends, priority) = ((self.id, spec.dst), spec.priority);
                self.send(w, || data_packet(ends, flow, priority, &data));
                self.has_sent(w, (flow, timer));
            }
            Some((other, timer)) => self.send_otherwise(w, flow, (other, timer)),
            None => self.send_udp(w, flow),
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
    fn send_otherwise(&mut self, w: &mut World<'_>, flow: u32, (what, timer): (Outgoing, Time)) {
        let spec = &w.flows.specs[flow as usize];
        let (ends, priority) = ((self.id, spec.dst), spec.priority);
        let number_of = |w: &World<'_>, path: usize| w.flows.number(flow, path);
        match what {
            Outgoing::Data(data) => {
                let packet = data_packet(ends, flow, priority, &data);
                self.send_tagged(w, packet.into());
                self.has_sent(w, (flow, timer));
            }
            Outgoing::OnPath(path, data, option) => {
                let number = number_of(w, path);
                let packet = data_packet(ends, number, priority, &data);
                self.send_tagged(w, InHand::with_body(packet, option));
                self.has_sent(w, (number, timer));
            }
            Outgoing::Greeting { path, wire, flags, follows } => {
                let number = number_of(w, path);
                self.greet(w, number, (0, wire, flags));
                self.plan_timer(number, timer);
                if follows && let Some(next) = w.flows.ends.next(w.now, flow) {
                    self.send_otherwise(w, flow, next);
                }
            }
        }
    }

    /// A UDP flow sends.
    #[cold]
    fn send_udp(&mut self, w: &mut World<'_>, flow: u32) {
        let Some((udp, config)) = w.flows.udp(flow) else { return };
        let Some(Outgoing::Data(data)) = udp.machine.next(config, w.now) else { return };
        // Only now: the last packets may have waited for others at the NIC.
        let sent_in_full = udp.machine.is_sent();
        let spec = &w.flows.specs[flow as usize];
        let packet = data_packet((self.id, spec.dst), flow, spec.priority, &data);
        self.send_tagged(w, packet.into());
        self.has_sent(w, (flow, Time::NEVER));
        if sent_in_full {
            self.sent_in_full(w, flow);
        }
    }

    /// Lets the host's scheme tag a packet that leaves the rack.
    fn choose(&mut self, w: &mut World<'_>, packet: &mut Packet) {
        let Some(edge) = w.edge.as_mut() else { return };
        let Some(dst) = packet.dst.as_host().filter(|&dst| !w.net.same_rack(self.id, dst)) else { return };
        if packet.kind == Kind::Ack && !edge.picks_acks(self.id) {
            return;
        }
        let hooks = edge.hooks();
        if packet.is(RETRANSMIT) && packet.kind == Kind::Data && hooks.has(Hooks::LOSS) {
            let way = w.flows.lane(packet.flow).map_or(Way::ANY, |lane| lane.way_of(packet.seq));
            self.tell(w, packet.dst, (way, Some(packet.key())), Event::Retransmit);
        }
        let Some(edge) = w.edge.as_mut() else { return };
        let call = call(w.net, self.id, w.now, packet.dst, edge);
        let (way, header) = match &mut w.log.recorder {
            None if edge.is_guest() => edge.pick_any(call, packet, (&w.net.hashing, 0)),
            None => edge.pick(call, packet, (&w.net.hashing, 0)),
            Some(recorder) => {
                let (ways, rows) = (w.net.topology.ways_between(self.id, dst), w.net.topology.most_ways);
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
            w.flows.note_way(packet, hooks);
        }
    }

    /// A packet arrived.
    pub fn arrive(&mut self, w: &mut World<'_>, hand: &mut InHand) {
        if let Some(frail) = &mut self.frail
            && frail.loses(0, w.now, hand, &mut w.wires)
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
            && packet.src.as_host().is_some_and(|src| !w.net.same_rack(self.id, src))
        {
            let call = call(w.net, self.id, w.now, packet.src, edge);
            let view = packet.view(&w.net.hashing, 0, 0);
            let verdict = edge.ingress(call, &view, &mut packet.header);
            if verdict == Verdict::Consume {
                w.log.consumed.add(packet.wire);
                if packet.of_flow() {
                    w.flows.left(packet.flow);
                }
                self.perform(w, None);
                return;
            }
        }
        self.perform(w, Some(packet));
        w.log.delivered.add(packet.wire);
        match packet.kind {
            Kind::Data => self.receive_data(w, hand),
            Kind::Ack => self.receive_ack(w, hand),
            Kind::Probe => self.answer(w, 0, packet),
            Kind::ProbeReply => self.probe_reply(w, packet),
            Kind::Pause => self.obey(w, packet),
            Kind::Message => self.receive_message(w, 0, packet, hand.body.as_deref().unwrap_or(&[])),
        }
    }

    /// The leaf asks this host to pause sending data, or lets it go on.
    fn obey(&mut self, w: &mut World<'_>, packet: &Packet) {
        let until = Time(w.now.0.saturating_add(packet.seq));
        let pausing = &mut self.nic.pausing[usize::from(packet.echo).min(PRIORITIES - 1)];
        pausing.set(w.now, until, &mut self.nic.pauses);
        self.nic.paused = self.nic.pausing.iter().any(|pausing| pausing.is_on(w.now));
        self.set_going(w);
    }

    /// Something planned is due.
    pub fn fire(&mut self, w: &mut World<'_>, what: What) {
        match what {
            What::TransmitDone(_) | What::LateTransmitDone(_) | What::LinkChange(_) | What::RenewPause(..) => {}
            What::Look => {}
            What::FlowStart => self.start_flows(w),
            What::Gate(gate) => self.open_gate(w, gate),
            What::Operation(n) => self.operate(w, n),
            What::Landed(n) => self.landed(w, n),
            What::Retransmit(flow) => self.retransmit(w, flow),
            What::DelayedAck(flow) => self.delayed_ack(w, flow),
            What::Resequence(flow) => self.waited(w, flow),
            What::Pace(flow) => self.pace(w, flow),
            What::ProbeLost(probe) => self.probe_lost(w, probe),
            What::Scheme(key) => self.scheme_timer(w, key),
            What::Tick => self.tick(w),
            What::Sample => self.sample(w),
        }
    }

    fn sample(&mut self, w: &mut World<'_>) {
        let tally = std::mem::take(&mut self.tally);
        for (series, value) in [(2, tally.sent), (3, tally.received), (4, tally.dupack3)] {
            if value > 0 {
                w.log.point(w.now, series, self.id, value as f64);
            }
        }
        let Some(interval) = w.net.series_interval else { return };
        let link = self.nic.line.link;
        if w.net.series_links.has(&w.net.topology, link) {
            let seen = self.seen(w);
            log::write_link(&mut w.log, (w.net, w.now, interval), link, &mut self.before, seen);
        }
        self.timers.plan(w.now + interval, What::Sample);
    }

    /// What its NIC has counted, and the bytes that wait there, if it has a queue.
    fn seen(&mut self, w: &mut World<'_>) -> (Counted, Option<u64>) {
        if let Some(queue) = self.nic.queue.as_deref_mut() {
            let counted = queue.counted(w.now, w.net.rules.of(queue.class()), &mut w.wires);
            return (counted, Some(queue.queue(w.now, w.net.rules.of(queue.class()), &w.wires).0));
        }
        (Counted { busy: self.nic.line.busy_by(w.now), paused: self.paused_by(w.now).0, ..Counted::default() }, None)
    }
}

/// A data packet between two hosts.
#[inline(always)]
fn data_packet((src, dst): (u32, u32), flow: u32, priority: u8, data: &Data) -> Packet {
    Packet {
        seq: data.seq,
        flow,
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
