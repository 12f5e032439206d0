//! A switch: routes a packet, lets the scheme choose among equal-cost ports, and queues it.

mod buffer;
mod dice;
mod followed;
mod kept;
mod looks;
mod own_ports;
mod planned;
mod scheme;
mod trimming;
mod watched;

use crate::bank::Bank;
use crate::choices::Fate;
use crate::control::plan_ticks;
use crate::faults::{Frail, Step};
use crate::ids::{LinkId, NodeId, SwitchId};
use crate::net::Net;
use crate::packet::{InHand, Packet, Tags};
use crate::port::{Control, Fifo, Freed, Kept, Lane, Lanes, Port, Trimmer};
use crate::prefetch;
use crate::series::Counted;
use crate::shell::{Probes, Shell, take_asked};
use crate::spec::sizing;
use crate::timers::{Timers, What};
use crate::topology::Topology;
use crate::world::World;
pub(crate) use buffer::SharedBuffer;
use dice::{Dice, Mrg32k3a};
use kept::{Admitted, takes_at_once};
pub(crate) use looks::{Looks, Seen, State};
use own_ports::OwnPorts;
use planned::steps_of;
use scheme::discards;
use spinewise_policy::{Hashes, Hooks, Kind, Peers, Port as PortId, Rng, Tier, Time, Verdict, Way};
use std::collections::BTreeSet;

/// The in-port of a packet that did not come in but was made here.
const MADE_HERE: u16 = u16::MAX;

/// A switch.
#[derive(Debug)]
pub struct Switch {
    id: SwitchId,
    node: NodeId,
    tier: Tier,
    host_ports: u16,
    salt: u64,
    /// Hooks of its scheme.
    hooks: Hooks,
    /// The scheme only hashes the header.
    hashes: bool,
    /// Nothing inspects a packet once its way is chosen: it is queued.
    just_queues: bool,
    /// Index of its first route: see [`Topology::choices`](crate::topology::Topology::choices).
    row: u32,
    /// The number of the map of the fabric that it knows.
    map: u32,
    /// Present if any of the links into it break.
    pub frail: Option<Box<Frail>>,
    /// Its changes, by number.
    changes: Vec<Step>,
    /// Ports whose links it considers down.
    down: BTreeSet<u16>,
    /// Its egress ports.
    pub ports: Vec<Port>,
    /// The buffer its ports share, if they do.
    pub buffer: Option<Box<SharedBuffer>>,
    /// Among the lines that become free at this instant, those of ports below this number have done so: in numerical
    /// order, either all before the first arrival or all after the last.
    freed: u16,
    /// Random streams of the ports, for marking by a ramp.
    dice: Dice,
    /// Its plans.
    pub timers: Timers,
    probes: Probes,
    /// The counts of its ports at the last sample, if series are kept.
    before: Vec<Counted>,
    /// The peers for which the scheme keeps rows.
    peers: Peers,
    /// Observations for the choice trace.
    pub looks: Option<Box<Looks>>,
}

impl Switch {
    /// Switch `id` of the network.
    pub fn new(id: SwitchId, net: &Net, fabric: &Bank) -> Self {
        let topology = &net.topology;
        let node = topology.switch_node(id);
        let tier = topology.tier(id);
        let packet = net.largest_packet;
        let buffer = net.shared.as_ref().map(|shared| {
            let cables = sizing::cables(topology, node, packet, net.clock);
            Box::new(SharedBuffer::new(shared, &cables, packet))
        });
        let ports = ports_of(id, net, fabric.layout(id.number()).queues);
        let mut timers = Timers::default();
        plan_ticks(&mut timers, fabric, id.number());
        if let Some(interval) = net.series_interval {
            timers.plan(Time::ZERO + interval, What::Sample);
        }
        let steps = steps_of(id, net, fabric);
        for (number, &(at, _)) in (0u32..).zip(&steps) {
            timers.plan(at, What::LinkChange(number));
        }
        Switch {
            id,
            node,
            tier,
            host_ports: topology.host_ports(id),
            hooks: fabric.hooks(),
            hashes: fabric.hashes() == Hashes::Evenly,
            just_queues: !(net.counts_reroutes || topology.as_wired || fabric.hooks().has(Hooks::EGRESS)),
            salt: net.switch_salt(id),
            row: topology.first_row(id),
            map: 0,
            frail: net.frail(node),
            changes: steps.into_iter().map(|(_, step)| step).collect(),
            down: (0..topology.ports(node)).filter(|&port| !topology.out(node, port).up).collect(),
            buffer,
            freed: if net.arrivals_first() { 0 } else { u16::MAX },
            dice: match net.shared {
                Some(_) if net.habits.one_stream_for_marks => Dice::Ns3(Box::new(Mrg32k3a::ns3_stream_0())),
                _ => Dice::PerPort(
                    ports
                        .iter()
                        .map(|port| Rng::stream(net.seed, "ecn", u64::from(port.line().link.number())))
                        .collect(),
                ),
            },
            before: vec![Counted::default(); if net.has_series() { ports.len() } else { 0 }],
            peers: fabric.layout(id.number()).peers,
            ports,
            timers,
            probes: Probes::default(),
            looks: None,
        }
    }

    /// Prefetches its ports and routes.
    #[inline]
    pub fn fetch_parts(&self, topology: &Topology) {
        prefetch::all(&self.ports);
        topology.fetch_choices(self.row);
    }

    /// A packet arrived.
    #[inline(always)]
    pub fn arrive(&mut self, w: &mut World<'_>, in_port: u16, hand: &mut InHand) {
        if self.frail.is_some() && self.never_comes(w, in_port, hand) {
            return;
        }
        if hand.packet.ttl > 0 && self.ends_here(w, in_port, &mut hand.packet) {
            return;
        }
        self.forward(w, in_port, hand);
    }

    /// Whether a packet that is due is lost on its link.
    #[cold]
    fn never_comes(&mut self, w: &mut World<'_>, in_port: u16, hand: &InHand) -> bool {
        let lost = self.frail.as_deref_mut().is_some_and(|frail| frail.loses(in_port, w.now, hand, &mut w.wires));
        if lost {
            w.lost(&hand.packet, self.came(w.net, in_port), Fate::OnLink);
        }
        lost
    }

    /// Whether a packet that counts switches ends at this one.
    #[cold]
    fn ends_here(&mut self, w: &mut World<'_>, in_port: u16, packet: &mut Packet) -> bool {
        if packet.kind == Kind::Pause {
            self.obey(w, in_port, packet);
            return true;
        }
        let ends = packet.count_hop();
        if ends && packet.asks_for_answer() {
            w.delivered(packet);
            self.answer(w, in_port, packet);
        } else if ends {
            self.lose(w, in_port, packet, Fate::Circled);
        }
        ends
    }

    /// Sends a packet on towards its destination.
    #[inline(always)]
    fn forward(&mut self, w: &mut World<'_>, in_port: u16, hand: &mut InHand) {
        let Some(dst) = hand.packet.dst.as_host() else {
            self.for_switch(w, in_port, hand);
            return;
        };
        let home = w.net.topology.home(dst);
        if home.leaf != self.id {
            self.inner_hop(w, in_port, home.leaf, hand);
            return;
        }
        let from_fabric = in_port >= self.host_ports && in_port != MADE_HERE;
        if from_fabric && self.hooks.has(Hooks::INGRESS) && !is_unseen(w.net, &hand.packet) {
            self.leave_fabric(w, in_port, home.port, hand);
        } else {
            strip_header(&mut hand.packet);
            self.queue(w, in_port, home.port, hand);
        }
    }

    /// Takes a packet addressed to this switch, or forwards one addressed to another: only leaves can be reached.
    #[cold]
    fn for_switch(&mut self, w: &mut World<'_>, in_port: u16, hand: &mut InHand) {
        match hand.packet.dst.as_switch() {
            // A packet that a switch sends to itself is lost, because it has no route: it would arrive before the hook
            // that sends it has ended.
            Some(switch) if switch == self.id && in_port != MADE_HERE => self.deliver(w, in_port, hand),
            Some(leaf) if leaf.number() < w.net.topology.leaves => self.inner_hop(w, in_port, leaf, hand),
            _ => self.lose(w, in_port, &hand.packet, Fate::NoWay),
        }
    }

    /// The last hop of a packet from the fabric, where the scheme has a say.
    fn leave_fabric(&mut self, w: &mut World<'_>, in_port: u16, out: u16, hand: &mut InHand) {
        let packet = &mut hand.packet;
        let view = packet.view(&w.net.hashing, in_port, out);
        let verdict = self.consult(w, packet.src, |fabric, call| fabric.ingress(call, &view, &mut packet.header));
        let asked = take_asked::<Switch>(w);
        strip_header(packet);
        let asked = if w.net.habits.messages_first { self.perform_first(w, asked) } else { asked };
        match verdict {
            Verdict::Consume => w.consumed(packet),
            Verdict::Forward => self.queue(w, in_port, out, hand),
            Verdict::Hold(queue) => self.hold(w, (in_port, out), queue, hand),
        }
        self.perform_later(w, asked);
    }

    /// A hop inside the fabric: the scheme chooses among the equal-cost ports.
    #[inline(always)]
    fn inner_hop(&mut self, w: &mut World<'_>, in_port: u16, leaf: SwitchId, hand: &mut InHand) {
        let candidates = w.net.topology.choices(self.row, leaf);
        let tagged = hand.packet.way != Way::ANY && (w.net.hashing.tags == Tags::Explicit || in_port == MADE_HERE);
        let choice = match candidates {
            [] => {
                self.lose(w, in_port, &hand.packet, Fate::NoWay);
                return;
            }
            &[only] if in_port >= self.host_ports => {
                if w.log.recorder.is_some() && !tagged {
                    self.note_only(w, (in_port, only), leaf, &hand.packet);
                }
                0
            }
            _ if tagged => self.tagged(w.net, &hand.packet, leaf, candidates),
            // Where the scheme only hashes, it need not be asked, unless its choices are recorded.
            _ if self.hashes && w.log.recorder.is_none() || !asks_scheme(w.net, in_port, &hand.packet) => {
                hand.packet.hashed(&w.net.hashing).spread(self.salt, candidates.len() as u32) as usize
            }
            _ => {
                self.pick(w, in_port, candidates, hand);
                return;
            }
        };
        let choice = if choice < candidates.len() { choice } else { choice % candidates.len() };
        self.queue_inside(w, in_port, candidates[choice], hand);
    }

    /// Asks the scheme for the way, and takes it.
    #[inline]
    fn pick(&mut self, w: &mut World<'_>, in_port: u16, candidates: &[u16], hand: &mut InHand) {
        if w.log.recorder.is_some() || w.fabric.is_apart() {
            self.pick_watched(w, in_port, candidates, hand);
            return;
        }
        // Written out: as a closure of `consult` it is not inlined.
        let ports = OwnPorts { owner: self, wires: &w.wires, now: w.now, net: w.net };
        let call = self.call(w.net, w.now, hand.packet.dst, &ports, candidates, &w.free_queues);
        let picked = w.fabric.pick(call, &mut hand.packet, (&w.net.hashing, in_port));
        self.take(w, in_port, candidates, hand, picked);
    }

    /// Takes the way picked, with a header of `header` bytes.
    #[inline(always)]
    fn take(
        &mut self,
        w: &mut World<'_>,
        in_port: u16,
        candidates: &[u16],
        hand: &mut InHand,
        (way, header): (Way, u32),
    ) {
        let packet = &mut hand.packet;
        if header > 0 && in_port < self.host_ports && w.net.charge_headers {
            packet.wire += header as u16;
            packet.fabric_header = header as u8;
            w.log.header_bytes += u64::from(header);
        }
        let choice = way.index();
        let choice = if choice < candidates.len() { choice } else { choice % candidates.len() };
        if w.fabric.has_asked() {
            self.queue_and_perform(w, in_port, candidates[choice], hand);
        } else {
            self.queue_inside(w, in_port, candidates[choice], hand);
        }
    }

    /// Queues a packet and then carries out the requests of the preceding hook, so that packets sent or released go
    /// behind it.
    #[cold]
    fn queue_and_perform(&mut self, w: &mut World<'_>, in_port: u16, out: u16, hand: &mut InHand) {
        let asked = take_asked::<Switch>(w);
        self.queue_inside(w, in_port, out, hand);
        self.perform_later(w, asked);
    }

    /// The candidate that a path tag names here. Tags name paths as they are when nothing is broken; if the named port
    /// is no longer a candidate, the packet is hashed among those that remain.
    fn tagged(&self, net: &Net, packet: &Packet, leaf: SwitchId, candidates: &[u16]) -> usize {
        let named = match packet.src.as_host() {
            None => packet.way.index(),
            Some(src) => {
                let (first, second) = net.topology.split(net.topology.leaf(src), leaf, packet.way.0);
                usize::from(if self.tier == Tier::Leaf { first } else { second })
            }
        };
        if self.row == net.topology.first_row(self.id) {
            return named;
        }
        let before = net.topology.uplinks(self.id, leaf);
        let port = before.get(named % before.len().max(1));
        let still = port.and_then(|port| candidates.iter().position(|candidate| candidate == port));
        still.unwrap_or_else(|| packet.hashed(&net.hashing).spread(self.salt, candidates.len() as u32) as usize)
    }

    /// Queues a packet at a port that leads to a switch, where the scheme may inspect it.
    #[inline(always)]
    fn queue_inside(&mut self, w: &mut World<'_>, in_port: u16, out: u16, hand: &mut InHand) {
        if self.just_queues {
            self.queue(w, in_port, out, hand);
        } else {
            self.look_and_queue(w, in_port, out, hand);
        }
    }

    /// The same where reroutes are counted, routes may be stale, or the scheme inspects queues.
    #[inline(never)]
    fn look_and_queue(&mut self, w: &mut World<'_>, in_port: u16, out: u16, hand: &mut InHand) {
        if in_port < self.host_ports && hand.packet.kind == Kind::Data {
            w.flows.leaves_rack(hand.packet.subflow(), out);
        }
        if w.net.topology.as_wired && self.down.contains(&out) {
            self.lose(w, in_port, &hand.packet, Fate::NoWay);
        } else if self.hooks.has(Hooks::EGRESS) && !is_unseen(w.net, &hand.packet) {
            self.show_and_queue(w, in_port, out, hand);
        } else {
            self.queue(w, in_port, out, hand);
        }
    }

    /// Shows the scheme a packet and then queues it at a port that leads to a switch.
    #[inline(always)]
    fn show_and_queue(&mut self, w: &mut World<'_>, in_port: u16, out: u16, hand: &mut InHand) {
        let Some(admitted) = self.admit(w, (in_port, out), hand) else {
            drop_packet(w, &hand.packet, (self.node, out), Fate::NoRoom);
            return;
        };
        self.ask_at_egress(w, out, &mut hand.packet);
        let asked = take_asked::<Switch>(w);
        if discards(asked.as_ref()) {
            self.give_up(w, out, &hand.packet, admitted);
        } else {
            self.enqueue(w, out, hand, admitted);
        }
        self.perform_later(w, asked);
    }

    /// Admits a packet if there is room.
    #[inline(always)]
    fn admit(&mut self, w: &mut World<'_>, (in_port, out): (u16, u16), hand: &mut InHand) -> Option<Admitted> {
        match &mut self.ports[usize::from(out)] {
            Port::Fifo(port) => {
                let rules = w.net.rules.of(port.class());
                let found = port.admit(w.now, u32::from(hand.packet.wire), rules, &mut w.wires)?;
                Some(Admitted { lane: Lane::Data(0), in_port, found })
            }
            Port::Kept(_) => self.admit_kept(w, (in_port, out), None, hand),
            Port::Trims(port) => {
                port.settle(w.now, &mut w.wires, || self.dice.roll(out));
                self.admit_or_trim(w, (in_port, out), hand)
            }
        }
    }

    /// Queues an admitted packet.
    #[inline(always)]
    fn enqueue(&mut self, w: &mut World<'_>, out: u16, hand: &mut InHand, admitted: Admitted) {
        match &mut self.ports[usize::from(out)] {
            Port::Fifo(port) => port.enqueue(w.now, hand, admitted.found, w.net.rules.of(port.class()), &mut w.wires),
            Port::Kept(_) | Port::Trims(_) => self.keep(w, out, hand, admitted),
        }
    }

    /// Shows the scheme a packet that is about to be queued.
    #[inline]
    fn ask_at_egress(&mut self, w: &mut World<'_>, out: u16, packet: &mut Packet) {
        let view = packet.view(&w.net.hashing, 0, out);
        self.consult(w, packet.dst, |fabric, call| {
            fabric.egress(call, PortId(out), &view, &mut packet.header);
        });
    }

    /// Queues a packet, or drops it.
    #[inline(always)]
    fn queue(&mut self, w: &mut World<'_>, in_port: u16, out: u16, hand: &mut InHand) {
        match &mut self.ports[usize::from(out)] {
            Port::Fifo(port) => {
                let rules = w.net.rules.of(port.class());
                match port.admit(w.now, u32::from(hand.packet.wire), rules, &mut w.wires) {
                    Some(found) => port.enqueue(w.now, hand, found, rules, &mut w.wires),
                    None => drop_packet(w, &hand.packet, (self.node, out), Fate::NoRoom),
                }
            }
            Port::Kept(port) => {
                let from = (in_port, Freed::up_to(self.freed, out));
                if !takes_at_once(w, port, self.buffer.as_deref_mut(), from, hand) {
                    self.queue_up(w, (in_port, out), hand);
                }
            }
            Port::Trims(port) => {
                port.settle(w.now, &mut w.wires, || self.dice.roll(out));
                if !port.takes(w.now, hand, w.net.largest_packet, &mut w.wires) {
                    self.queue_or_trim(w, (in_port, out), hand);
                }
            }
        }
    }

    /// Drops a packet for which this switch has no route.
    #[cold]
    fn lose(&mut self, w: &mut World<'_>, in_port: u16, packet: &Packet, fate: Fate) {
        w.log.unroutable += 1;
        w.dropped(packet, self.came(w.net, in_port), fate);
    }

    /// This node, and the link that a packet came by.
    fn came(&self, net: &Net, in_port: u16) -> (NodeId, Option<LinkId>) {
        (self.node, (in_port != MADE_HERE).then(|| net.topology.in_link(self.node, in_port)))
    }

    /// Something planned is due.
    #[inline(always)]
    pub fn fire(&mut self, w: &mut World<'_>, what: What) {
        if let What::TransmitDone(port) | What::LateTransmitDone(port) = what {
            self.transmit_done(w, port);
            return;
        }
        // Changes of links go before all lines that become free at this instant, timers after them.
        let freed = match what {
            What::LinkChange(_) => 0,
            What::Look => self.freed,
            _ => u16::MAX,
        };
        let freed = std::mem::replace(&mut self.freed, freed);
        self.fire_timer(w, what);
        self.freed = freed;
    }
}

/// The egress ports of switch `id`, with `queues` held queues each.
fn ports_of(id: SwitchId, net: &Net, queues: u16) -> Vec<Port> {
    let topology = &net.topology;
    let node = topology.switch_node(id);
    let keeps = net.commit_at_start || net.shared.is_some() || queues > 0 || net.faults.keeps(id, topology);
    let priorities = net.shared.as_ref().map_or(1, |shared| shared.priorities as usize);
    let control = if net.shared.is_some() || net.trimming.is_some() { Control::Apart } else { Control::WithData };
    // When a switch dies, its waiting control is lost.
    let ahead = control == Control::Apart && !net.keeps_control && !net.faults.keeps(id, topology);
    (0..topology.ports(node))
        .map(|port| {
            let link = topology.out_number(node, port);
            let spec = &topology.links[link];
            let (line, class) = (net.line(link), net.rules.class(spec.rate));
            if !keeps && net.trimming.is_none() {
                return Port::Fifo(Fifo::new(line, class));
            }
            let trims = net.trim_rules(link);
            if let Some(rules) = trims.as_ref().filter(|rules| !keeps && ahead && Trimmer::can_serve(&line, rules)) {
                return Port::Trims(Trimmer::new(line, rules.clone()));
            }
            let port = Kept::new(line, Lanes::new(priorities, control, queues), class);
            let port = if net.collects_telemetry { port.with_stamps() } else { port };
            let port = match trims {
                Some(rules) => port.with_trimming(*rules),
                None => port,
            };
            Port::Kept(if ahead { port.with_control_ahead() } else { port })
        })
        .collect()
}

/// Whether it is invisible to schemes.
#[inline]
fn is_unseen(net: &Net, packet: &Packet) -> bool {
    net.acks_by_ecmp && packet.kind == Kind::Ack
}

/// Whether the fabric's scheme chooses its way. Control packets are hashed, whatever the scheme does with traffic.
#[inline(always)]
fn asks_scheme(net: &Net, in_port: u16, packet: &Packet) -> bool {
    in_port != MADE_HERE && packet.kind != Kind::Message && !is_unseen(net, packet)
}

/// Takes the fabric scheme's header off a packet that leaves the fabric.
#[inline]
fn strip_header(packet: &mut Packet) {
    if packet.fabric_header > 0 {
        packet.wire -= u16::from(packet.fabric_header);
        packet.fabric_header = 0;
    }
}

/// Drops a packet that should have left by this port.
#[cold]
fn drop_packet(w: &mut World<'_>, packet: &Packet, (node, out): (NodeId, u16), fate: Fate) {
    w.dropped(packet, (node, Some(w.net.topology.out_number(node, out))), fate);
}
