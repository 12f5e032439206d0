//! A host: a NIC that builds a packet whenever it is free to send one, and the ends of flows.
//!
//! **NIC pull.** Flows that may send wait in a round; when the last data packet has left, the NIC asks the next flow
//! for one. So nothing queues in the host, and marks come from the network. Acknowledgements, probes and messages are
//! triggered by events; they are committed at once, behind what is already on its way out.

mod control_queue;
mod ends;
mod opening;
mod operations;
mod pacer;
mod pull;
mod resequence;
mod scheme;
mod sending;
mod turns;

use crate::bank::Bank;
use crate::choices::Fate;
use crate::control::plan_ticks;
use crate::faults::Frail;
use crate::flows::Flows;
use crate::ids::{FlowId, HostId};
use crate::line::Line;
use crate::link::Wires;
use crate::log::{self, Log, OfEngine};
use crate::net::Net;
use crate::packet::{InHand, Packet};
use crate::port::{AllRules, Counters, Fifo};
use crate::series::Counted;
use crate::shell::{Probes, Shell};
use crate::timers::{Timers, What};
use crate::transport::contract::Arrival;
use crate::world::World;
use pacer::Pacer;
use pull::Pull;
use scheme::call;
use spinewise_policy::{Hooks, Kind, Span, Time, Verdict};
use std::ops::Range;

/// The network interface, by how it handles packets.
#[derive(Debug)]
enum Nic {
    /// It asks for data when its line is free, and puts everything else that the host makes on the line behind that.
    Pulls(Pull),
    /// It queues what it is given, and may mark or drop it.
    Queues(Box<Fifo>),
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
    id: HostId,
    nic: Nic,
    /// Present if the link into the host breaks.
    pub frail: Option<Box<Frail>>,
    /// When the NIC pulls again, [`Time::NEVER`] if nothing waits.
    pub wake: Time,
    /// Whether the end of its last transmission has happened, where that is ordered among simultaneous events.
    pub is_freed: bool,
    /// What it has planned.
    pub timers: Timers,
    next_flow: u32,
    last_flow: u32,
    probes: Probes,
    tally: Tally,
    /// What its NIC had counted at the last sample.
    before: Counted,
    /// Grants credit to its senders, where receivers pace.
    pacer: Option<Box<Pacer>>,
    /// Room for data being passed on to its transport.
    ready: Vec<Arrival>,
}

impl Host {
    /// Host `id` of the network, with its flow starts planned.
    pub fn new(id: HostId, net: &Net, flows: &Flows, edge: Option<&Bank>) -> Self {
        let link = net.topology.host_link(id);
        let spec = &net.topology.links[link];
        let mut timers = Timers::default();
        let (next_flow, last_flow) = (flows.first[id.index()], flows.first[id.index() + 1]);
        if next_flow < last_flow {
            timers.plan(flows.specs[flows.by_host[next_flow as usize]].start, What::FlowStart);
        }
        for (n, at) in flows.operations.begin(id) {
            timers.plan(at, What::Operation(n));
        }
        if let Some(edge) = edge {
            plan_ticks(&mut timers, edge, id.number());
        }
        if let Some(interval) = net.series_interval {
            timers.plan(Time::ZERO + interval, What::Sample);
        }
        let pacer = Pacer::new(id, net, flows.facts.credit, spec.rate, &mut timers).map(Box::new);
        Host {
            id,
            frail: net.frail(net.topology.host_node(id)),
            nic: if net.nics_queue {
                Nic::Queues(Box::new(Fifo::new(net.line(link), net.rules.class(spec.rate))))
            } else {
                let pull = Pull::new(net.line(link), flows.facts.order);
                Nic::Pulls(if edge.is_some() { pull.tagged() } else { pull })
            },
            wake: Time::NEVER,
            is_freed: false,
            timers,
            next_flow,
            last_flow,
            probes: Probes::default(),
            tally: Tally::default(),
            before: Counted::default(),
            pacer,
            ready: Vec::new(),
        }
    }

    /// The end of the last pause of data, if it lies ahead.
    pub fn paused_until(&self) -> Time {
        match &self.nic {
            Nic::Pulls(pull) => pull.paused_until(),
            Nic::Queues(_) => Time::ZERO,
        }
    }

    /// Flows of this host that have started, including finished ones.
    pub fn started<'a>(&self, flows: &'a Flows) -> &'a [FlowId] {
        &flows.by_host[self.places(flows)]
    }

    /// Their places among the flows by host.
    pub fn places(&self, flows: &Flows) -> Range<usize> {
        flows.first[self.id.index()] as usize..self.next_flow as usize
    }

    /// The place of the flow that starts next, among the flows by host.
    pub fn next_flow(&self) -> Option<u32> {
        (self.next_flow < self.last_flow).then_some(self.next_flow)
    }

    /// What its link has sent by `stop`; packets and bytes include those committed by then and not yet on the line.
    pub fn counters(&mut self, stop: Time, rules: &AllRules, wires: &mut Wires) -> Counters {
        match &mut self.nic {
            Nic::Queues(queue) => queue.finish(stop, rules.of(queue.class()), wires),
            Nic::Pulls(pull) => {
                let (packets, bytes) = pull.line.sent();
                let (busy, paused) = (pull.line.busy_by(stop), pull.paused_by(stop));
                Counters { packets, bytes, busy, paused, ..Counters::default() }
            }
        }
    }

    /// The queue of a NIC that has one.
    pub(crate) fn nic_queue(&self) -> Option<&Fifo> {
        match &self.nic {
            Nic::Queues(queue) => Some(queue),
            Nic::Pulls(_) => None,
        }
    }

    /// Packets that the host has made and that wait for its line.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Packet> {
        let control = match &self.nic {
            Nic::Pulls(pull) => pull.control.as_deref(),
            Nic::Queues(_) => None,
        };
        control.into_iter().flat_map(|control| control.packets())
    }

    /// The line of its NIC.
    pub(crate) fn line(&self) -> &Line {
        match &self.nic {
            Nic::Queues(queue) => queue.line(),
            Nic::Pulls(pull) => &pull.line,
        }
    }

    /// A packet arrived.
    pub fn arrive(&mut self, w: &mut World<'_>, hand: &mut InHand) {
        if let Some(frail) = &mut self.frail
            && frail.loses(0, w.now, hand, &mut w.wires)
        {
            let node = w.net.topology.host_node(self.id);
            return w.lost(&hand.packet, (node, Some(w.net.topology.in_link(node, 0))), Fate::OnLink);
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
                w.consumed(packet);
                self.perform(w, None);
                return;
            }
        }
        self.perform(w, Some(packet));
        w.delivered(packet);
        match packet.kind {
            Kind::Data => self.receive_data(w, hand),
            Kind::Ack => self.receive_ack(w, hand),
            Kind::Probe => self.answer(w, 0, packet),
            Kind::ProbeReply => self.probe_reply(w, packet),
            Kind::Pause => self.obey(w, packet),
            Kind::Message => self.receive_message(w, 0, packet, hand.body.as_deref().unwrap_or(&[])),
        }
    }

    /// The leaf asks this host to pause sending data, or to resume.
    fn obey(&mut self, w: &mut World<'_>, packet: &Packet) {
        let until = Time(w.now.0.saturating_add(packet.seq));
        if let Nic::Pulls(pull) = &mut self.nic {
            pull.pause(packet.echo, w.now, until);
        }
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
            What::Credit => self.grant(w),
            What::Adapt => self.adapt(w),
            What::ProbeLost(probe) => self.probe_lost(w, probe),
            What::Scheme(key) => self.scheme_timer(w, key),
            What::Tick => self.tick(w),
            What::Sample => self.sample(w),
        }
    }

    fn sample(&mut self, w: &mut World<'_>) {
        let Some(interval) = w.net.series_interval else { return };
        let seen = self.seen(w);
        self.write_points(&mut w.log, (w.net, w.now, interval), seen);
        self.timers.plan(w.now + interval, What::Sample);
    }

    /// Writes its points for the interval that ends now.
    fn write_points(&mut self, log: &mut Log, (net, now, interval): (&Net, Time, Span), seen: (Counted, Option<u64>)) {
        let tally = std::mem::take(&mut self.tally);
        let counted = [
            (OfEngine::SentPackets, tally.sent),
            (OfEngine::ReceivedBytes, tally.received),
            (OfEngine::Dupack3Events, tally.dupack3),
        ];
        for (series, value) in counted {
            if value > 0 {
                log.point(now, series as u16, self.id.number(), value as f64);
            }
        }
        let link = self.line().link;
        if net.series_links.has(&net.topology, link) {
            log::write_link(log, (net, now, interval), link, &mut self.before, seen);
        }
    }

    /// Writes its points for an interval that ends with the run at `stop`, before anything else at that instant.
    pub(crate) fn end_series(&mut self, w: &mut World<'_>, (stop, interval): (Time, Span)) {
        let counted = self.counters(stop, &w.net.rules, &mut w.wires).counted();
        let queue = self.nic_queue().map(|port| port.queue(stop - Span(1), w.net.rules.of(port.class()), &w.wires).0);
        self.write_points(&mut w.log, (w.net, stop, interval), (counted, queue));
    }

    /// What its NIC has counted, and the bytes that wait there, if it has a queue.
    fn seen(&mut self, w: &mut World<'_>) -> (Counted, Option<u64>) {
        match &mut self.nic {
            Nic::Queues(queue) => {
                let rules = w.net.rules.of(queue.class());
                let counted = queue.counted(w.now, rules, &mut w.wires);
                (counted, Some(queue.queue(w.now, rules, &w.wires).0))
            }
            Nic::Pulls(pull) => {
                let (busy, paused) = (pull.line.busy_by(w.now), pull.paused_by(w.now).0);
                (Counted { busy, paused, ..Counted::default() }, None)
            }
        }
    }
}
