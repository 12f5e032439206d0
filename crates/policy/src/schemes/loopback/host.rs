//! Loopback at hosts: data picks, feedback of every kind, probes with and without TTL, messages to host, leaf and rack,
//! masking, and timers per flow, way and device.

use super::{ACTIONS, Alarms, BODIES, Body, Count, MESSAGE_WIRE, Rule, SERIES, Stamp, Witness, owns};
use crate::out::To;
use crate::{AtHost, Change, Cx, Device, Event, Feedback, FlowKey, Hooks, Key, Kind, Layout, Message, Packet, Sheet};
use crate::{Peers, Phase, Policy, Port, Shape, Span, Time, Verdict, Way};

crate::params! {
    /// Parameters of loopback at hosts.
    Config {
        /// Period of ticks, microseconds; every tick sends a probe.
        tick_us: f64 = 50.0, Allowed::Number { min: 0.1, max: 1e6 };
        /// How far ahead timers are armed, microseconds.
        alarm_us: f64 = 20.0, Allowed::Number { min: 0.001, max: 1e6 };
        /// A probe without an answer for this long counts as lost, microseconds.
        give_up_us: f64 = 1000.0, Allowed::Number { min: 0.001, max: 1e6 };
        /// Bytes of a probe on the wire.
        probe_bytes: u32 = 84, Allowed::Integer { min: 40.0, max: 1500.0 };
        /// A flow takes the next path after this many data packets; 0: never.
        reroute_packets: u32 = 64, Allowed::Integer { min: 0.0, max: 1e9 };
        /// Hide every CE mark from the transport.
        mask_ecn: bool = true, Allowed::Bool;
    }
}

/// Row per flow and direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    owner: Option<FlowKey>,
    alarms: Alarms,
    way: Option<Way>,
    sent: u32,
    size: Option<u64>,
    acked: u64,
    highest: u64,
    ended: bool,
}

/// Row per (peer, way).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Route {
    alarms: Alarms,
    /// When the outstanding probe was sent, and its TTL.
    asked: Option<(Time, u8)>,
}

/// Row of the host.
#[derive(Clone, Copy, Debug, Default)]
pub struct Node {
    /// Its observations.
    pub witness: Witness,
    alarms: Alarms,
    probes: u32,
    down: bool,
}

/// The test of the shell at hosts.
#[derive(Clone, Copy, Debug)]
pub struct LoopbackHost {
    tick: Span,
    alarm: Span,
    give_up: Span,
    probe_bytes: u32,
    reroute_packets: u32,
    mask_ecn: bool,
}

impl Policy for LoopbackHost {
    const SHEET: Sheet = Sheet {
        name: "loopback_host",
        summary: "a test of the simulator, not a load balancer: uses every host hook and checks the contract",
        source: "own",
        unit: "packet",
        told: &["leaf of every host", "paths to each leaf"],
        series: SERIES,
        three_tiers: "a test of the engine: any tag",
        ..Sheet::AT_HOST
    };
    const HOOKS: Hooks = Hooks::INGRESS
        .and(Hooks::FEEDBACK)
        .and(Hooks::LOSS)
        .and(Hooks::MESSAGE)
        .and(Hooks::TIMER)
        .and(Hooks::TICK)
        .and(Hooks::LINK);
    type Site = AtHost;
    type Config = Config;
    crate::rows! { flow: Flow, peer: Option<u32>, route: Route, node: Node, header: Stamp }

    fn new(config: &Config) -> Self {
        LoopbackHost {
            tick: Span::from_us_f64(config.tick_us),
            alarm: Span::from_us_f64(config.alarm_us),
            give_up: Span::from_us_f64(config.give_up_us),
            probe_bytes: config.probe_bytes,
            reroute_packets: config.reroute_packets,
            mask_ecn: config.mask_ecn,
        }
    }

    fn layout(&self, _: &Shape) -> Layout {
        Layout {
            picks_acks: true,
            peers: Peers::Hosts,
            tick: self.tick,
            phase: Phase::Random,
            actions: ACTIONS,
            bytes: BODIES,
            ..Layout::default()
        }
    }

    fn pick(&self, cx: &mut Cx<'_, Self>, flow: &mut Flow, packet: &Packet, header: &mut Stamp) -> Way {
        let (now, witness) = (cx.now, &mut cx.node.witness);
        witness.enter(Count::Pick, now, &mut cx.out);
        check_peer(cx, packet.dst);
        if !matches!(packet.kind, Kind::Data | Kind::Ack) {
            return packet.way;
        }
        let witness = &mut cx.node.witness;
        witness.check(owns(&mut flow.owner, packet.flow), Rule::FlowRow, &mut cx.out);
        *header = Stamp { ours: true, hops: 0, from: Way::ANY.0, to: packet.flow.0, at: now.0 };
        let ways = cx.view.ways_to_host(packet.dst);
        if packet.kind == Kind::Ack || ways == 0 {
            return Way::ANY;
        }
        witness.check(!flow.ended, Rule::FlowLife, &mut cx.out);
        flow.alarms.exercise(now, self.alarm, |i| Key::Flow(packet.flow, i), witness, &mut cx.out);
        let mut way = flow.way.unwrap_or_else(|| Way(cx.rng.below(ways as u32) as u16));
        if self.reroute_packets > 0 && flow.sent == self.reroute_packets {
            (way, flow.sent) = (Way((way.0 + 1) % ways), 0);
        }
        flow.sent = flow.sent.saturating_add(1);
        flow.way = Some(way);
        header.from = way.0;
        way
    }

    fn ingress(&self, cx: &mut Cx<'_, Self>, flow: &mut Flow, packet: &Packet, header: &mut Stamp) -> Verdict {
        cx.node.witness.enter(Count::Ingress, cx.now, &mut cx.out);
        if !matches!(packet.kind, Kind::Data | Kind::Ack) {
            return Verdict::Forward;
        }
        check_peer(cx, packet.src);
        let (witness, out) = (&mut cx.node.witness, &mut cx.out);
        witness.check(owns(&mut flow.owner, packet.flow), Rule::FlowRow, out);
        if cx.view.leaf_of[packet.src as usize] != cx.view.leaf {
            let same = header.ours && header.to == packet.flow.0 && header.from == packet.way.0;
            witness.check(same && header.at < cx.now.0, Rule::Header, out);
        }
        if packet.kind == Kind::Data {
            if packet.seq < flow.highest {
                witness.add(Count::Inversion);
            }
            flow.highest = flow.highest.max(packet.seq);
            if packet.ce && self.mask_ecn {
                witness.add(Count::Masked);
                out.mask_ecn();
            }
        }
        Verdict::Forward
    }

    fn feedback(&self, cx: &mut Cx<'_, Self>, flow: Option<&mut Flow>, feedback: &Feedback) {
        let loss = matches!(feedback.event, Event::Retransmit | Event::Timeout);
        let hook = if loss { Count::Loss } else { Count::Feedback };
        cx.node.witness.enter(hook, cx.now, &mut cx.out);
        let peer = cx.peers.ids[cx.peers.current];
        check_peer(cx, peer);
        let (witness, out) = (&mut cx.node.witness, &mut cx.out);
        let exists = feedback.way == Way::ANY || feedback.way.0 < cx.view.ways_to_host(peer);
        witness.check(exists, Rule::WayExists, out);
        witness.check(flow.is_some() == feedback.flow.is_some(), Rule::FlowRow, out);
        match (flow, feedback.flow) {
            (Some(flow), Some(key)) => {
                witness.check(owns(&mut flow.owner, key), Rule::FlowRow, out);
                self.flow_event(cx, flow, key, peer, feedback.event);
            }
            _ => self.probe_event(cx, peer, feedback),
        }
    }

    fn message(&self, cx: &mut Cx<'_, Self>, flow: Option<&mut Flow>, message: &Message<'_>) {
        let (now, witness, out) = (cx.now, &mut cx.node.witness, &mut cx.out);
        witness.enter(Count::Message, now, out);
        let named = match (flow, message.flow) {
            (Some(flow), Some(key)) => owns(&mut flow.owner, key),
            (flow, key) => flow.is_none() && key.is_none(),
        };
        witness.check(named, Rule::FlowRow, out);
        let body = Body::get(message.body);
        let whole = body.is_some_and(|b| {
            let to_hosts = matches!(b.target, Count::HeardHost | Count::HeardRack);
            to_hosts && b.origin == message.from && b.flow == message.flow && b.at < now
        });
        witness.check(whole && body.map(|b| b.origin) != Some(Device::Host(cx.view.host)), Rule::Body, out);
        if let Some(body) = body {
            witness.add(body.target);
        }
    }

    fn timer(&self, cx: &mut Cx<'_, Self>, flow: Option<&mut Flow>, key: Key) {
        let (now, witness, out) = (cx.now, &mut cx.node.witness, &mut cx.out);
        witness.enter(Count::Timer, now, out);
        match key {
            Key::Flow(flow_key, which) => {
                witness.add(Count::FlowTimer);
                match flow {
                    Some(flow) if flow.owner == Some(flow_key) => flow.alarms.fired(which, now, witness, out),
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
        self.probe_next(cx);
    }

    fn link(&self, cx: &mut Cx<'_, Self>, _: Port, change: Change) {
        let (node, out) = (&mut *cx.node, &mut cx.out);
        node.witness.enter(Count::Link, cx.now, out);
        node.witness.check(node.down == (change == Change::Up), Rule::LinkChange, out);
        node.down = change != Change::Up;
    }
}

/// Checks that the current peer row is `id`'s.
fn check_peer(cx: &mut Cx<'_, LoopbackHost>, id: u32) {
    let kept = cx.peers.ids.get(cx.peers.current) == Some(&id) && owns(cx.peers.current().0, id);
    cx.node.witness.check(kept, Rule::PeerRow, &mut cx.out);
}

impl LoopbackHost {
    fn flow_event(&self, cx: &mut Cx<'_, Self>, flow: &mut Flow, key: FlowKey, peer: u32, event: Event) {
        let (witness, out) = (&mut cx.node.witness, &mut cx.out);
        match event {
            Event::FlowStart { size } => {
                witness.add(Count::FlowStart);
                witness.check(flow.size.is_none() && size > 0, Rule::FlowLife, out);
                flow.size = Some(size);
                let origin = Device::Host(cx.view.host);
                for (to, target, named) in [
                    (To::Host(peer), Count::HeardHost, Some(key)),
                    (To::Leaf(cx.view.leaf), Count::HeardLeaf, None),
                    (To::Rack, Count::HeardRack, None),
                ] {
                    let body = Body { target, hops: 0, origin, at: cx.now, flow: named };
                    out.send(to, target as u8, named, Way::ANY, &body.put(), MESSAGE_WIRE);
                }
            }
            Event::Ack { bytes, rtt, one_way, marked } => {
                witness.add(Count::Ack);
                flow.acked += bytes;
                let possible = rtt > Span::ZERO && one_way <= rtt && rtt <= cx.now.since(Time::ZERO);
                witness.check(possible && flow.size.is_some_and(|size| flow.acked <= size), Rule::FlowLife, out);
                witness.check(!(marked && self.mask_ecn), Rule::Masked, out);
            }
            Event::FlowEnd => {
                witness.add(Count::FlowEnd);
                witness.check(flow.size == Some(flow.acked), Rule::FlowLife, out);
                flow.ended = true;
            }
            Event::Trimmed { .. } => witness.check(flow.size.is_some() && !flow.ended, Rule::FlowLife, out),
            Event::Retransmit => witness.add(Count::Retransmit),
            Event::Timeout => witness.add(Count::Timeout),
            Event::ProbeReply { .. } | Event::ProbeLost => witness.check(false, Rule::FlowRow, out),
        }
    }

    fn probe_event(&self, cx: &mut Cx<'_, Self>, peer: u32, feedback: &Feedback) {
        let (witness, out) = (&mut cx.node.witness, &mut cx.out);
        let asked = cx.peers.current().1.get_mut(feedback.way.index()).and_then(|route| route.asked.take());
        witness.check(asked.is_some(), Rule::ProbeOnce, out);
        let Some((at, ttl)) = asked else { return };
        match feedback.event {
            Event::ProbeReply { rtt, one_way, by, .. } => {
                let right = match (ttl, by) {
                    (0, Device::Host(host)) => host == peer,
                    (1, Device::Switch(switch)) => switch == cx.view.leaf,
                    (2.., Device::Switch(switch)) => switch != cx.view.leaf,
                    _ => false,
                };
                let possible = one_way > Span::ZERO && one_way < rtt && rtt <= cx.now.since(at);
                witness.check(right && possible, Rule::ProbeAnswer, out);
                witness.add(if ttl == 0 { Count::PeerReply } else { Count::SwitchReply });
            }
            Event::ProbeLost => {
                witness.check(cx.now.since(at) >= self.give_up, Rule::ProbeAnswer, out);
                witness.add(Count::ProbeLost);
            }
            _ => witness.check(false, Rule::FlowRow, out),
        }
    }

    /// Probes the next way of the next peer in another rack, end to end and with TTL 1 to 3 in turn.
    fn probe_next(&self, cx: &mut Cx<'_, Self>) {
        let turn = cx.node.probes;
        cx.node.probes = turn.wrapping_add(1);
        if cx.peers.is_empty() {
            return;
        }
        let index = (turn / 4) as usize % cx.peers.len();
        let peer = cx.peers.ids[index];
        let ways = cx.view.ways_to_host(peer) as u32;
        if cx.view.leaf_of[peer as usize] == cx.view.leaf || ways == 0 {
            return;
        }
        let (way, ttl) = (Way((turn % ways) as u16), (turn % 4) as u8);
        let route = &mut cx.peers.at(index).1[way.index()];
        let key = |i| Key::Route(peer, way, i);
        route.alarms.exercise(cx.now, self.alarm, key, &mut cx.node.witness, &mut cx.out);
        if route.asked.is_none() {
            route.asked = Some((cx.now, ttl));
            cx.node.witness.add(Count::Probe);
            cx.out.probe(To::Host(peer), way, self.probe_bytes, ttl, self.give_up);
        }
    }
}
