//! The order of ns-3: simultaneous events are handled in the order in which they were planned.
//!
//! The other engines shuffle such ties, so that no link always wins; two runs then agree on average, never packet by
//! packet. To follow a recorded run of an ns-3 program exactly, its order must be followed too. ns-3 numbers its events
//! as they are planned. At the start of a transmission it plans the end, then the arrival; the end starts the next
//! transmission, or plans when to look again. The start of a flow is planned anew at its own instant, behind everything
//! else at that instant. This engine does the same, with one heap of (instant, number).
//!
//! The NICs of that program are part of its order. Everything that happens at a host makes its NIC look for something
//! to send. If no queue pair is ready, the NIC plans to look again when the first will be; a planned look is never
//! moved, even if another queue pair becomes ready sooner (source: `m_nextSend` in ConWeave's qbb-net-device.cc).
//! Packets that a host neither answers nor needs trigger no look (`ReceiveUdp` and `ReceiveAck` in rdma-hw.cc return
//! early). Under IRN a look changes the state it inspects (`GetBytesLeft` in rdma-queue-pair.cc), and so does the
//! program's count of open connections.

use super::Sim;
use super::plans::{self, FIRST, Plans};
use crate::ids::{HostId, LinkId, NodeId, Table};
use crate::operations::News;
use crate::timers::What;
use crate::warden::{Interrupted, Watch};
use crate::world::World;
use spinewise_policy::{Kind, Span, Time};
use std::collections::VecDeque;

/// Interval at which that program counts open connections (`periodic_monitoring`).
const COUNTS_EVERY: Span = Span::from_us(10);

/// A planned event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The first packet of a link arrives.
    Arrival(LinkId),
    /// A transmission on this link ends: a waiting packet starts, or the NIC looks for something to send.
    End(LinkId),
    /// The NIC of a host looks again, after a look that found no queue pair ready.
    Look(HostId),
    /// A pause of a host ends.
    Resume(HostId),
    /// Something a node planned for itself.
    Plan(NodeId, What),
    /// A flow starts at a host, after everything else at that instant.
    Flow(NodeId),
    /// All queue pairs are inspected to count those that have something left.
    Count,
}

/// A packet that has been put on a link, and which of its events are planned.
#[derive(Clone, Debug, Default)]
struct Sent {
    /// Packets in its ring that are known here.
    known: usize,
    /// Packets that have not started: when their last bits leave and arrive.
    waiting: VecDeque<(Time, Time)>,
    /// End of the last transmission begun, and the number of that event.
    end: (Time, u64),
    /// Whether that event lies ahead; kept only for the lines of hosts and those that something waits for.
    busy: bool,
}

struct Run {
    plans: Plans<Event>,
    sent: Table<LinkId, Sent>,
    /// Links out of each node.
    outs: Table<NodeId, Vec<LinkId>>,
    /// Per host: when its look is planned, [`Time::NEVER`] if none is.
    looks: Table<HostId, Time>,
    /// Per host: the end of the pause that is planned for.
    pauses: Table<HostId, Time>,
    hops: u64,
}

/// Runs to the end. Returns the instant it stopped at.
///
/// # Errors
/// [`Interrupted`] if `watch` asks for it.
pub fn run(sim: &mut Sim<'_>, watch: Watch<'_>) -> Result<Time, Interrupted> {
    let mut this = Run::new(sim);
    if sim.world.flows.facts.looks_change {
        this.plans.plan(Time::ZERO, Event::Count);
    }
    sim.net.topology.node_ids().for_each(|node| this.list(sim, node, Time::ZERO, false));
    plans::run(&mut this, sim, watch)
}

impl plans::Order for Run {
    type Event = Event;

    fn plans(&mut self) -> &mut Plans<Event> {
        &mut self.plans
    }

    fn happen(&mut self, sim: &mut Sim<'_>, now: Time, number: u64, event: Event) {
        let mut looks = !matches!(event, Event::Plan(..));
        let node = match event {
            Event::Arrival(link) => {
                let (node, heard) = self.arrive(sim, link, now);
                looks = heard || !sim.net.habits.silent_arrivals;
                node
            }
            Event::End(link) => {
                self.sent[link].busy = false;
                let node = sim.net.topology.links[link].from.0;
                if !self.sent[link].waiting.is_empty() {
                    self.begin(sim, link);
                } else if let Some(host) = sim.net.topology.as_host(node) {
                    sim.pull(host, now);
                }
                node
            }
            Event::Look(host) => {
                if self.looks[host] == now {
                    self.looks[host] = Time::NEVER;
                }
                sim.net.topology.host_node(host)
            }
            Event::Plan(node, What::FlowStart) if number < FIRST => {
                self.plans.plan(now, Event::Flow(node));
                return;
            }
            Event::Count => return self.count(sim, now),
            Event::Resume(host) if sim.hosts[host].paused_until() != now => return,
            Event::Resume(host) => sim.net.topology.host_node(host),
            Event::Flow(node) => {
                sim.fire(node, now, What::FlowStart);
                node
            }
            Event::Plan(node, what) => {
                sim.fire(node, now, what);
                node
            }
        };
        for News { host, at, operation } in std::mem::take(&mut sim.world.flows.operations.news) {
            self.plans.plan(at, Event::Plan(sim.net.topology.host_node(host), What::Landed(operation)));
        }
        self.list(sim, node, now, looks);
    }
}

impl Run {
    fn new(sim: &Sim<'_>) -> Run {
        let topology = &sim.net.topology;
        Run {
            plans: Plans::default(),
            sent: Table::filled(Sent::default(), topology.links.len()),
            outs: plans::outs(topology),
            looks: Table::filled(Time::NEVER, topology.hosts as usize),
            pauses: Table::filled(Time::ZERO, topology.hosts as usize),
            hops: 0,
        }
    }

    /// Inspects all queue pairs, and plans to do so again while any is under way.
    fn count(&mut self, sim: &mut Sim<'_>, now: Time) {
        let Sim { hosts, world: World { flows, .. }, .. } = sim;
        for host in hosts.iter() {
            for place in host.places(flows) {
                flows.ends.look(flows.by_host[place]);
            }
        }
        if flows.open > 0 {
            self.plans.plan(now + COUNTS_EVERY, Event::Count);
        }
    }

    /// Takes the first packet off `link` and delivers it. Returns the node, and whether a host took notice: it answers
    /// the packet, the flow that the packet answers is under way, or the packet ends a pause.
    fn arrive(&mut self, sim: &mut Sim<'_>, link: LinkId, now: Time) -> (NodeId, bool) {
        let mut hand = sim.take_off(link, now);
        self.sent[link].known -= 1;
        let node = sim.world.wires.agenda.to[link];
        let kind = hand.packet.kind;
        let under_way = kind == Kind::Ack && {
            let flows = &sim.world.flows;
            flows.records[flows.flow_of(hand.packet.subflow())].sender_fct == 0
        };
        let hops = sim.world.wires.hops;
        sim.arrive(node, link, now, &mut hand);
        let heard = match kind {
            Kind::Ack => under_way,
            Kind::Data => sim.world.wires.hops > hops,
            Kind::Pause => sim.net.topology.as_host(node).is_some_and(|host| sim.hosts[host].paused_until() <= now),
            Kind::Probe | Kind::ProbeReply | Kind::Message => true,
        };
        (node, heard)
    }

    /// Starts the first packet that waits for a line.
    fn begin(&mut self, sim: &Sim<'_>, link: LinkId) {
        let sent = &mut self.sent[link];
        let Some((ends, arrives)) = sent.waiting.pop_front() else { return };
        sent.end = (ends, self.plans.number());
        self.plans.plan(arrives, Event::Arrival(link));
        if !sent.waiting.is_empty() || sim.net.topology.is_host(sim.net.topology.links[link].from.0) {
            sent.busy = true;
            self.plans.plan_as(sent.end.1, sent.end.0, Event::End(link));
        }
    }

    /// Lists the packets that `node` has sent and its plans.
    fn list(&mut self, sim: &mut Sim<'_>, node: NodeId, now: Time, looks: bool) {
        if let Some(host) = sim.net.topology.as_host(node) {
            self.list_sent(sim, node, now);
            self.list_host(sim, host, now, looks);
        } else {
            self.list_switch(sim, node, now);
        }
    }

    /// Lists the packets that `node` has sent: messages between switches first, then pauses, then everything else.
    fn list_sent(&mut self, sim: &mut Sim<'_>, node: NodeId, now: Time) {
        let mut sent = sim.world.wires.hops - self.hops;
        self.hops = sim.world.wires.hops;
        let mut links: Vec<(u8, LinkId)> = Vec::new();
        for &link in &self.outs[node] {
            if sent == 0 {
                break;
            }
            let (ring, known) = (sim.world.wires.ring(link), self.sent[link].known);
            if ring.len() > known {
                sent -= (ring.len() - known) as u64;
                links.push((class(ring.get(known).kind), link));
            }
        }
        links.sort_by_key(|&(class, _)| class);
        for (_, link) in links {
            self.note_sent(sim, link, now);
        }
    }

    /// Notes the packets that have been put on a link.
    fn note_sent(&mut self, sim: &Sim<'_>, link: LinkId, now: Time) {
        let (ring, line) = (sim.world.wires.ring(link), sim.line(link));
        let known = std::mem::replace(&mut self.sent[link].known, ring.len());
        for packet in ring.iter().skip(known) {
            let sent = &mut self.sent[link];
            sent.waiting.push_back((packet.at - line.delay(), packet.at));
            if sent.waiting.len() == 1 {
                if line.left_at(packet) <= now && !sent.busy {
                    self.begin(sim, link);
                } else if !sent.busy {
                    sent.busy = true;
                    self.plans.plan_as(sent.end.1, sent.end.0, Event::End(link));
                }
            }
        }
    }

    /// Everything that happens at a host makes its NIC look for something to send; if nothing is ready, the NIC plans
    /// to look again when something will be.
    fn list_host(&mut self, sim: &mut Sim<'_>, host: HostId, now: Time, looks: bool) {
        let node = sim.net.topology.host_node(host);
        let link = self.outs[node][0];
        if looks && self.is_idle(link, now) {
            sim.pull(host, now);
            self.hops = sim.world.wires.hops;
            self.note_sent(sim, link, now);
        }
        if looks
            && self.is_idle(link, now)
            && let Some(at) = sim.next_available(host, now)
            && self.looks_again(sim, host, at)
        {
            self.plans.plan(at, Event::Look(host));
            self.looks[host] = at;
        }
        let paused = sim.hosts[host].paused_until();
        if paused > now && paused != self.pauses[host] {
            self.pauses[host] = paused;
            self.plans.plan(paused, Event::Resume(host));
        }
        while let Some((at, what)) = sim.hosts[host].timers.pop() {
            match (what, sim.next_flow(host)) {
                (What::FlowStart, Some(flow)) => {
                    self.plans.plan_as(flow.number().into(), at, Event::Plan(node, what));
                }
                _ => self.plans.plan(at.max(now), Event::Plan(node, what)),
            }
        }
    }

    /// Whether there is a reason to plan a look of this host's NIC at this instant.
    fn looks_again(&self, sim: &Sim<'_>, host: HostId, at: Time) -> bool {
        let planned = self.looks[host];
        planned == Time::NEVER || (at < planned && !sim.net.habits.nic_look_stays)
    }

    fn is_idle(&self, link: LinkId, now: Time) -> bool {
        let sent = &self.sent[link];
        !sent.busy && sent.waiting.is_empty() && sent.end.0 <= now
    }

    /// Lists the timers that a switch has set for its scheme, the packets it has sent, and the ends of transmissions it
    /// waits for.
    fn list_switch(&mut self, sim: &mut Sim<'_>, node: NodeId, now: Time) {
        let switch = sim.net.topology.switch_number(node);
        let mut later = Vec::new();
        while let Some((at, what)) = sim.switches[switch].timers.pop() {
            match what {
                What::TransmitDone(port) | What::LateTransmitDone(port) => later.push((at, port, what)),
                _ => self.plans.plan(at, Event::Plan(node, what)),
            }
        }
        self.list_sent(sim, node, now);
        for (at, port, what) in later {
            let end = self.sent[self.outs[node][usize::from(port)]].end;
            let number = if at == end.0 { end.1 } else { self.plans.number() };
            self.plans.plan_as(number, at, Event::Plan(node, what));
        }
    }
}

/// The order in which a switch sends what one event triggers.
fn class(kind: Kind) -> u8 {
    match kind {
        Kind::Message => 0,
        Kind::Pause => 1,
        _ => 2,
    }
}
