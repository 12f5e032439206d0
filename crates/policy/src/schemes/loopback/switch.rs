//! Loopback at switches: holding and releasing, headers over every hop, markers consumed at the far leaf, messages to
//! leaf, rack and neighbours, probes between leaves, and timers per flow, way and device. Flows stay on one path, so
//! that what a release does to their order can be seen at the receiver.

use super::{ACTIONS, Alarms, BODIES, Body, Count, MESSAGE_WIRE, Rule, SERIES, Stamp, Witness, owns};
use crate::out::To;
use crate::{
    AtSwitch, Change, Cx, Device, Event, Feedback, FlowKey, Hashes, Hooks, Key, Kind, Layout, Message, Packet, Sheet,
};
use crate::{Peers, Phase, Policy, Port, Queue, Shape, Span, Tier, Time, Verdict, Way};

crate::choice! {
    /// The event that releases a held queue.
    Release {
        /// A timer of the flow; until then all data of the flow is held.
        Timer = "timer",
        /// The first packet after `hold_packets` were held; the timer only if none comes.
        Packet = "packet",
        /// Both in turn.
        Alternate = "alternate",
    }
}

crate::params! {
    /// Parameters of loopback at switches.
    Config {
        /// Period of ticks, microseconds; every tick sends a message and, from a leaf, a probe.
        tick_us: f64 = 100.0, Allowed::Number { min: 0.1, max: 1e6 };
        /// How far ahead timers are armed, microseconds.
        alarm_us: f64 = 20.0, Allowed::Number { min: 0.001, max: 1e6 };
        /// A probe without an answer for this long counts as lost, microseconds.
        give_up_us: f64 = 1000.0, Allowed::Number { min: 0.001, max: 1e6 };
        /// At its last switch, every n-th data packet of a flow opens a held queue; 0: none does.
        hold_every: u32 = 16, Allowed::Integer { min: 0.0, max: 1e9 };
        /// Packets held before a later one releases them.
        hold_packets: u32 = 2, Allowed::Integer { min: 1.0, max: 1e9 };
        /// A held queue is released by the timer after this long, microseconds.
        hold_us: f64 = 20.0, Allowed::Number { min: 0.001, max: 1e6 };
        /// What releases.
        release: Release = Release::Alternate, Allowed::Words(Release::WORDS);
        /// Held queues per port.
        queues: u32 = 4, Allowed::Integer { min: 0.0, max: 64.0 };
        /// A flow row that has been idle this long is forgotten, microseconds (short, so that pinned rows are at stake).
        flow_idle_us: f64 = 50.0, Allowed::Number { min: 0.001, max: 1e9 };
        /// Consume messages to hosts at their last switch (not over a host scheme that sends messages).
        consume: bool = true, Allowed::Bool;
    }
}

/// Life of a held queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Hold {
    /// The queue is not in use.
    #[default]
    Idle,
    /// Packets are held here.
    Holding(Port, Queue),
    /// Released, not yet drained.
    Draining(Port, Queue),
}

/// Row per flow and direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    owner: Option<FlowKey>,
    alarms: Alarms,
    sent: u32,
    seen: u32,
    hold: Hold,
    held: u32,
    holds: u32,
}

/// Row per (leaf, way).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Route {
    alarms: Alarms,
    /// When the outstanding probe was sent, and its TTL.
    asked: Option<(Time, u8)>,
}

/// Row per port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Bit per held queue in use.
    queues: u64,
    down: bool,
}

/// Row of the switch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Node {
    /// Its observations.
    pub witness: Witness,
    alarms: Alarms,
    turn: u32,
}

/// The test of the shell at switches.
#[derive(Clone, Copy, Debug)]
pub struct LoopbackSwitch {
    tick: Span,
    alarm: Span,
    give_up: Span,
    hold_every: u32,
    hold_packets: u32,
    hold: Span,
    release: Release,
    queues: u16,
    flow_idle: Span,
    consume: bool,
}

/// Data packets between two markers of a flow.
const MARKER_EVERY: u32 = 64;

impl Policy for LoopbackSwitch {
    const SHEET: Sheet = Sheet {
        name: "loopback_switch",
        summary: "a test of the simulator, not a load balancer: uses every switch hook and checks the contract",
        source: "own",
        unit: "flow",
        tiers: &["leaf", "spine"],
        told: &["leaf of every host"],
        series: SERIES,
        three_tiers: "a test of the engine: every switch hashes",
        ..Sheet::AT_SWITCH
    };
    const HOOKS: Hooks = Hooks::EGRESS
        .and(Hooks::INGRESS)
        .and(Hooks::FEEDBACK)
        .and(Hooks::MESSAGE)
        .and(Hooks::TIMER)
        .and(Hooks::TICK)
        .and(Hooks::LINK)
        .and(Hooks::DRAINED);
    const HASHES: Hashes = Hashes::OwnWay;
    type Site = AtSwitch;
    type Config = Config;
    crate::rows! { flow: Flow, peer: Option<u32>, route: Route, port: Held, node: Node, header: Stamp }

    fn new(config: &Config) -> Self {
        LoopbackSwitch {
            tick: Span::from_us_f64(config.tick_us),
            alarm: Span::from_us_f64(config.alarm_us),
            give_up: Span::from_us_f64(config.give_up_us),
            hold_every: config.hold_every,
            hold_packets: config.hold_packets,
            hold: Span::from_us_f64(config.hold_us),
            release: config.release,
            queues: config.queues as u16,
            flow_idle: Span::from_us_f64(config.flow_idle_us),
            consume: config.consume,
        }
    }

    fn layout(&self, shape: &Shape) -> Layout {
        Layout {
            picks_acks: false,
            draws_tags: false,
            peers: if shape.tier == Tier::Leaf { Peers::Leaves } else { Peers::None },
            all_peers: false,
            slots: 0,
            flow_idle: self.flow_idle,
            tick: self.tick,
            phase: Phase::Random,
            actions: ACTIONS,
            bytes: BODIES,
            queues: self.queues,
            free_queues: false,
            path_rates: false,
            components: false,
        }
    }

    fn pick(&self, cx: &mut Cx<'_, Self>, flow: &mut Flow, packet: &Packet, header: &mut Stamp) -> Way {
        cx.node.witness.enter(Count::Pick, cx.now, &mut cx.out);
        let n = cx.view.candidates.len() as u32;
        let way = Way(packet.spread(cx.view.salt, n) as u16);
        if cx.view.tier != Tier::Leaf {
            return way;
        }
        let to = cx.peers.ids[cx.peers.current];
        check_peer(cx, to);
        *header = Stamp { ours: true, hops: 0, from: cx.view.switch as u16, to, at: cx.now.0 };
        if !matches!(packet.kind, Kind::Data | Kind::Ack) {
            return way;
        }
        let (witness, out) = (&mut cx.node.witness, &mut cx.out);
        witness.check(owns(&mut flow.owner, packet.flow), Rule::FlowRow, out);
        witness.check(packet.in_port.0 < cx.view.host_ports, Rule::PortSide, out);
        if packet.kind == Kind::Data {
            flow.alarms.exercise(cx.now, self.alarm, |i| Key::Flow(packet.flow, i), witness, out);
            if flow.sent.is_multiple_of(MARKER_EVERY) {
                self.send(cx, To::Host(packet.dst), Count::HeardHost, Some(packet.flow), way);
            }
            flow.sent = flow.sent.wrapping_add(1);
        }
        way
    }

    fn egress(&self, cx: &mut Cx<'_, Self>, port: Port, packet: &Packet, header: &mut Stamp) {
        let (witness, out) = (&mut cx.node.witness, &mut cx.out);
        witness.enter(Count::Egress, cx.now, out);
        witness.check(port.0 >= cx.view.host_ports, Rule::PortSide, out);
        if matches!(packet.kind, Kind::Data | Kind::Ack) {
            witness.check(header.ours && header.at <= cx.now.0, Rule::Header, out);
        }
        header.hops = header.hops.saturating_add(1);
    }

    fn ingress(&self, cx: &mut Cx<'_, Self>, flow: &mut Flow, packet: &Packet, header: &mut Stamp) -> Verdict {
        cx.node.witness.enter(Count::Ingress, cx.now, &mut cx.out);
        let (witness, out) = (&mut cx.node.witness, &mut cx.out);
        witness.check(packet.out_port.0 < cx.view.host_ports, Rule::PortSide, out);
        match packet.kind {
            Kind::Message if self.consume => {
                witness.add(Count::Consumed);
                return Verdict::Consume;
            }
            Kind::Data | Kind::Ack => witness.check(owns(&mut flow.owner, packet.flow), Rule::FlowRow, out),
            _ => return Verdict::Forward,
        }
        // A packet that stayed in its rack came in from a host, and carries no stamp.
        if packet.in_port.0 >= cx.view.host_ports {
            let from = header.from as u32;
            // One egress at the source leaf, and at least one more above it.
            let whole = header.ours && header.to == cx.view.switch && header.hops >= 2 && header.at < cx.now.0;
            witness.check(whole, Rule::Header, out);
            check_peer(cx, from);
        }
        if packet.kind == Kind::Data { self.hold(cx, flow, packet) } else { Verdict::Forward }
    }

    fn feedback(&self, cx: &mut Cx<'_, Self>, flow: Option<&mut Flow>, feedback: &Feedback) {
        cx.node.witness.enter(Count::Feedback, cx.now, &mut cx.out);
        let peer = cx.peers.ids[cx.peers.current];
        check_peer(cx, peer);
        let (witness, out) = (&mut cx.node.witness, &mut cx.out);
        witness.check(flow.is_none() && feedback.flow.is_none(), Rule::FlowRow, out);
        let asked = cx.peers.current().1.get_mut(feedback.way.index()).and_then(|route| route.asked.take());
        witness.check(asked.is_some(), Rule::ProbeOnce, out);
        let Some((at, ttl)) = asked else { return };
        match feedback.event {
            Event::ProbeReply { rtt, one_way, by, .. } => {
                let right = match by {
                    Device::Switch(switch) if ttl == 1 => switch != cx.view.switch && switch != peer,
                    Device::Switch(switch) => switch == peer,
                    Device::Host(_) => false,
                };
                let possible = one_way > Span::ZERO && one_way < rtt && rtt <= cx.now.since(at);
                witness.check(right && possible, Rule::ProbeAnswer, out);
                witness.add(if ttl == 1 { Count::SwitchReply } else { Count::PeerReply });
            }
            Event::ProbeLost => {
                witness.check(cx.now.since(at) >= self.give_up, Rule::ProbeAnswer, out);
                witness.add(Count::ProbeLost);
            }
            _ => witness.check(false, Rule::FlowRow, out),
        }
    }

    fn message(&self, cx: &mut Cx<'_, Self>, flow: Option<&mut Flow>, message: &Message<'_>) {
        let (witness, out) = (&mut cx.node.witness, &mut cx.out);
        witness.enter(Count::Message, cx.now, out);
        witness.check(flow.is_none() && message.flow.is_none(), Rule::FlowRow, out);
        let Some(body) = Body::get(message.body) else {
            witness.check(false, Rule::Body, out);
            return;
        };
        witness.add(body.target);
        let direct = body.hops > 0 || body.origin == message.from;
        let to_switches = matches!(body.target, Count::HeardLeaf | Count::HeardNeighbours);
        witness.check(direct && to_switches && body.at < cx.now, Rule::Body, out);
        witness.check(body.origin != Device::Switch(cx.view.switch), Rule::Flood, out);
        if body.target == Count::HeardNeighbours && body.hops == 0 {
            let on = Body { hops: 1, ..body };
            let to = To::Neighbours { except: Some(message.in_port) };
            out.send(to, message.class, None, Way::ANY, &on.put(), MESSAGE_WIRE);
        }
    }

    fn timer(&self, cx: &mut Cx<'_, Self>, flow: Option<&mut Flow>, key: Key) {
        let (now, witness, out) = (cx.now, &mut cx.node.witness, &mut cx.out);
        witness.enter(Count::Timer, now, out);
        match key {
            Key::Flow(flow_key, which) => {
                witness.add(Count::FlowTimer);
                match flow {
                    Some(flow) if flow.owner == Some(flow_key) => {
                        flow.alarms.fired(which, now, witness, out);
                        if which == Alarms::RELEASE {
                            release(flow, Count::ReleasedByTimer, witness, out);
                        }
                    }
                    _ => witness.check(false, Rule::FlowRow, out),
                }
            }
            Key::Route(peer, way, which) => {
                witness.add(Count::RouteTimer);
                match cx.peers.position(peer) {
                    Some(index) => cx.peers.at(index).1[way.index()].alarms.fired(which, now, witness, out),
                    None => witness.check(false, Rule::PeerRow, out),
                }
            }
            Key::Node(which) => {
                witness.add(Count::NodeTimer);
                cx.node.alarms.fired(which, now, witness, out);
                if which == 0 {
                    // Armed from within its own hook: the timer that must not be lost.
                    cx.node.alarms.arm(0, now + self.alarm, Key::Node, out);
                }
            }
        }
    }

    fn tick(&self, cx: &mut Cx<'_, Self>) {
        let (now, node) = (cx.now, &mut *cx.node);
        node.witness.tick(now, self.tick, &mut cx.out);
        node.alarms.exercise(now, self.alarm, Key::Node, &mut node.witness, &mut cx.out);
        let turn = node.turn as usize;
        node.turn = node.turn.wrapping_add(1);
        if cx.view.tier != Tier::Leaf || turn.is_multiple_of(3) {
            self.send(cx, To::Neighbours { except: None }, Count::HeardNeighbours, None, Way::ANY);
        } else if turn % 3 == 1 {
            self.send(cx, To::Rack, Count::HeardRack, None, Way::ANY);
        } else if !cx.peers.is_empty() {
            let leaf = cx.peers.ids[turn / 3 % cx.peers.len()];
            if leaf != cx.view.switch {
                self.send(cx, To::Leaf(leaf), Count::HeardLeaf, None, Way::ANY);
            }
        }
        self.probe_next(cx, turn);
    }

    fn link(&self, cx: &mut Cx<'_, Self>, port: Port, change: Change) {
        let (witness, out) = (&mut cx.node.witness, &mut cx.out);
        witness.enter(Count::Link, cx.now, out);
        let row = &mut cx.ports[port.index()];
        witness.check(row.down == (change == Change::Up), Rule::LinkChange, out);
        row.down = change != Change::Up;
    }

    fn drained(&self, cx: &mut Cx<'_, Self>, flow: Option<&mut Flow>, port: Port, queue: Queue) {
        let (witness, out) = (&mut cx.node.witness, &mut cx.out);
        witness.enter(Count::Drained, cx.now, out);
        let row = &mut cx.ports[port.index()];
        let bit = 1 << (queue.0 & 63);
        let in_use = row.queues & bit != 0;
        row.queues &= !bit;
        let ours = flow.is_some_and(|flow| {
            let ours = flow.hold == Hold::Draining(port, queue);
            if ours {
                flow.hold = Hold::Idle;
            }
            ours
        });
        witness.check(in_use && ours, Rule::DrainedOnce, out);
    }
}

/// Checks that the current peer row is `id`'s.
fn check_peer(cx: &mut Cx<'_, LoopbackSwitch>, id: u32) {
    let kept = cx.peers.ids.get(cx.peers.current) == Some(&id) && owns(cx.peers.current().0, id);
    cx.node.witness.check(kept, Rule::PeerRow, &mut cx.out);
}

/// Releases the flow's held queue.
fn release(flow: &mut Flow, by: Count, witness: &mut Witness, out: &mut crate::Out<'_>) {
    if let Hold::Holding(port, queue) = flow.hold {
        flow.hold = Hold::Draining(port, queue);
        witness.add(by);
        out.release(port, queue);
    }
}

impl LoopbackSwitch {
    /// Holds some data packets of every flow at its last switch.
    fn hold(&self, cx: &mut Cx<'_, Self>, flow: &mut Flow, packet: &Packet) -> Verdict {
        let (witness, out) = (&mut cx.node.witness, &mut cx.out);
        let key = |i| Key::Flow(packet.flow, i);
        match flow.hold {
            Hold::Draining(..) => Verdict::Forward,
            Hold::Holding(port, queue) => {
                witness.check(port == packet.out_port, Rule::PortSide, out);
                let by_packet = match self.release {
                    Release::Timer => false,
                    Release::Packet => true,
                    Release::Alternate => flow.holds.is_multiple_of(2),
                };
                if by_packet && flow.held >= self.hold_packets {
                    flow.alarms.cancel(Alarms::RELEASE, key, out);
                    release(flow, Count::ReleasedByPacket, witness, out);
                    return Verdict::Forward;
                }
                flow.held = flow.held.saturating_add(1);
                witness.add(Count::Held);
                Verdict::Hold(queue)
            }
            Hold::Idle => {
                flow.seen = flow.seen.wrapping_add(1);
                if self.hold_every == 0 || !flow.seen.is_multiple_of(self.hold_every) {
                    return Verdict::Forward;
                }
                let Some(queue) = cx.view.free_queue(packet.out_port) else {
                    witness.add(Count::NoQueue);
                    return Verdict::Forward;
                };
                let row = &mut cx.ports[packet.out_port.index()];
                let bit = 1 << (queue.0 & 63);
                witness.check(row.queues & bit == 0 && queue.0 < self.queues, Rule::QueueFree, out);
                row.queues |= bit;
                flow.hold = Hold::Holding(packet.out_port, queue);
                (flow.held, flow.holds) = (1, flow.holds.wrapping_add(1));
                witness.add(Count::Held);
                flow.alarms.arm(Alarms::RELEASE, cx.now + self.hold, key, out);
                Verdict::Hold(queue)
            }
        }
    }

    fn send(&self, cx: &mut Cx<'_, Self>, to: To, target: Count, flow: Option<FlowKey>, way: Way) {
        let body = Body { target, hops: 0, origin: Device::Switch(cx.view.switch), at: cx.now, flow };
        cx.out.send(to, target as u8, flow, way, &body.put(), MESSAGE_WIRE);
    }

    /// At a leaf: probes the next way of the next leaf, end to end and with TTL 1 and 2 in turn.
    fn probe_next(&self, cx: &mut Cx<'_, Self>, turn: usize) {
        if cx.view.tier != Tier::Leaf || cx.peers.is_empty() {
            return;
        }
        let index = turn / 3 % cx.peers.len();
        let leaf = cx.peers.ids[index];
        if leaf == cx.view.switch || cx.peers.stride == 0 {
            return;
        }
        let (way, ttl) = (Way((turn % cx.peers.stride) as u16), (turn % 3) as u8);
        let route = &mut cx.peers.at(index).1[way.index()];
        let key = |i| Key::Route(leaf, way, i);
        route.alarms.exercise(cx.now, self.alarm, key, &mut cx.node.witness, &mut cx.out);
        if route.asked.is_none() {
            route.asked = Some((cx.now, ttl));
            cx.node.witness.add(Count::Probe);
            cx.out.probe(To::Leaf(leaf), way, MESSAGE_WIRE, ttl, self.give_up);
        }
    }
}
