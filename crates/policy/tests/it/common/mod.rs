//! The smallest shell that can call a scheme's hooks: one device, its rows, and its requests.

pub(crate) mod conweave;
pub(crate) mod fabric;
pub(crate) mod hermes;
pub(crate) mod last_hop;
pub(crate) mod meet;

use spinewise_policy::out::Action;
use spinewise_policy::site::Ports;
use spinewise_policy::*;
use std::collections::BTreeMap;

/// Ports with rates, queues and a free held queue as the test sets them; initially empty.
pub(crate) struct FakePorts {
    pub rates: Vec<u64>,
    pub bytes: Vec<u64>,
    pub free: Option<Queue>,
    /// Packets queued at every port without an entry in `waiting`.
    pub packets: u32,
    /// Packets queued at each port.
    pub waiting: Vec<u32>,
    /// Ports towards each leaf.
    pub routes: Vec<Vec<u16>>,
    /// Leaves to which failures have removed paths.
    pub lost: Vec<u32>,
    /// Symmetric components to every other leaf: bits per second, and own ports.
    pub components: Vec<(u64, Vec<u16>)>,
    /// This device's port on each whole path; none where an uplink determines the path.
    pub hops: Vec<u16>,
    /// Bytes that each port has room for.
    pub room: u64,
    /// How long the link at each port has been sending; zero for ports without an entry.
    pub busy: Vec<Span>,
    /// Ports that are paused.
    pub paused: Vec<u16>,
}

impl Ports for FakePorts {
    fn leaf_of(&self, host: u32) -> u32 {
        host / 4
    }
    fn queue_bytes(&self, port: Port) -> u64 {
        self.bytes[port.index()]
    }
    fn queue_packets(&self, port: Port) -> u32 {
        self.waiting.get(port.index()).copied().unwrap_or(self.packets)
    }
    fn queue_room(&self, _: Port) -> u64 {
        self.room
    }
    fn busy_time(&self, port: Port) -> Span {
        self.busy.get(port.index()).copied().unwrap_or_default()
    }
    fn is_paused(&self, port: Port) -> bool {
        self.paused.contains(&port.0)
    }
    fn rate(&self, port: Port) -> u64 {
        self.rates[port.index()]
    }
    fn free_queue(&self, _: Port) -> Option<Queue> {
        self.free
    }
    fn told_loss(&self, leaf: u32) -> bool {
        self.lost.contains(&leaf)
    }
    fn told_component(&self, _: u32, _: u32, n: usize) -> Option<(u64, &[u16])> {
        self.components.get(n).map(|(capacity, ports)| (*capacity, &ports[..]))
    }
    fn told_paths(&self, _: u32) -> u16 {
        self.hops.len() as u16
    }
    fn told_hop(&self, _: u32, _: u32, way: Way) -> Option<Port> {
        self.hops.get(way.index()).copied().map(Port)
    }
    fn towards(&self, leaf: u32) -> &[u16] {
        &self.routes[leaf as usize]
    }
}

/// The position of the device: 4 leaves (0 to 3) of 4 hosts each; ports 0 to 3 of a leaf lead to its hosts, those of
/// another switch to the leaves.
pub(crate) struct Room {
    pub device: u32,
    pub tier: Tier,
    pub candidates: Vec<u16>,
    pub ports: FakePorts,
    pub leaf_of: Vec<u32>,
    pub ways: Vec<u16>,
    pub free_queues: Vec<u16>,
}

pub(crate) trait Lend: Site {
    fn view(room: &Room) -> Self::View<'_>;
}

impl Lend for AtHost {
    fn view(room: &Room) -> HostView<'_> {
        HostView {
            host: room.device,
            leaf: room.leaf_of[room.device as usize],
            leaf_of: &room.leaf_of,
            ways: &room.ways,
            link_rate: 10_000_000_000,
            path_rate: 10_000_000_000,
            path_rates: &[],
            base_rtt: Span::from_us(10),
            base_one_way: Span::from_us(6),
            mss: 1460,
            mtu: 1500,
        }
    }
}

impl Lend for AtSwitch {
    fn view(room: &Room) -> SwitchView<'_> {
        SwitchView {
            switch: room.device,
            tier: room.tier,
            candidates: &room.candidates,
            host_ports: if room.tier == Tier::Leaf { 4 } else { 0 },
            salt: 99,
            ports: &room.ports,
            free_queues: &room.free_queues,
        }
    }
}

/// One seat.
pub(crate) struct Shell<P: Policy> {
    pub policy: P,
    pub room: Room,
    pub now: Time,
    pub node: P::Node,
    pub ids: Vec<u32>,
    pub peers: Vec<P::Peer>,
    pub routes: Vec<P::Route>,
    pub ports: Vec<P::Port>,
    pub flows: BTreeMap<FlowKey, P::Flow>,
    pub rng: Rng,
    /// Requests of the last hook.
    pub did: Vec<Action>,
    /// The bodies of its messages.
    pub bodies: Vec<u8>,
}

impl<P: Policy> Shell<P>
where
    P::Site: Lend,
{
    /// A shell at device `device`, with `ways` uplinks of 10 Gbps (paths to every leaf).
    pub(crate) fn new(config: &P::Config, tier: Tier, device: u32, ways: u16) -> Self {
        let host_ports = if tier == Tier::Leaf { 4 } else { 0 };
        let ports = host_ports + ways;
        Shell {
            policy: P::new(config),
            room: Room {
                free_queues: Vec::new(),
                device,
                tier,
                candidates: (host_ports..ports).collect(),
                ports: FakePorts {
                    rates: vec![10_000_000_000; ports as usize],
                    bytes: vec![0; ports as usize],
                    free: None,
                    packets: 0,
                    waiting: vec![],
                    lost: vec![],
                    components: vec![],
                    hops: vec![],
                    room: 100_000,
                    busy: vec![],
                    paused: vec![],
                    routes: (0..4).map(|leaf| routes(tier, device, leaf, ports)).collect(),
                },
                leaf_of: (0..16).map(|host| host / 4).collect(),
                ways: vec![ways; 4],
            },
            now: Time::ZERO,
            node: P::Node::default(),
            ids: vec![],
            peers: vec![],
            routes: vec![],
            ports: vec![P::Port::default(); ports as usize],
            flows: BTreeMap::new(),
            rng: Rng::stream(1, "shell", device as u64),
            did: vec![],
            bodies: vec![],
        }
    }

    fn meet(&mut self, peer: Option<u32>) -> usize {
        let Some(peer) = peer else { return 0 };
        if let Some(index) = self.ids.iter().position(|id| *id == peer) {
            return index;
        }
        self.ids.push(peer);
        self.peers.push(P::Peer::default());
        self.routes.resize(self.ids.len() * self.room.ways[0] as usize, P::Route::default());
        self.ids.len() - 1
    }

    /// Calls a hook about this peer and flow.
    pub(crate) fn call<R>(
        &mut self,
        peer: Option<u32>,
        flow: Option<FlowKey>,
        hook: impl FnOnce(&P, &mut Cx<'_, P>, Option<&mut P::Flow>) -> R,
    ) -> R {
        let shape = Shape {
            tier: self.room.tier,
            hosts: 16,
            leaves: 4,
            ports: self.ports.len() as u16,
            ways: self.room.ways[0],
        };
        let layout = self.policy.layout(&shape);
        let mut actions = vec![Action::MaskEcn; layout.actions];
        let mut bytes = vec![0; layout.bytes];
        if layout.all_peers {
            let all = if layout.peers == Peers::Hosts { 16 } else { 4 };
            (0..all).for_each(|id| _ = self.meet(Some(id)));
        }
        let current = self.meet(peer);
        let flow = flow.map(P::row_of);
        let mut row = flow.map(|key| self.flows.get(&key).cloned().unwrap_or_default());
        let mut cx = Cx {
            now: self.now,
            node: &mut self.node,
            peers: Table {
                ids: &self.ids,
                peers: &mut self.peers,
                routes: &mut self.routes,
                stride: self.room.ways[0] as usize,
                current,
            },
            ports: &mut self.ports,
            view: P::Site::view(&self.room),
            rng: &mut self.rng,
            out: Out::new(&mut actions, &mut bytes),
        };
        let answer = hook(&self.policy, &mut cx, row.as_mut());
        let asked = cx.out.len();
        drop(cx);
        actions.truncate(asked);
        (self.did, self.bodies) = (actions, bytes);
        if let (Some(key), Some(row)) = (flow, row) {
            self.flows.insert(key, row);
        }
        answer
    }

    pub(crate) fn pick(&mut self, peer: u32, packet: &Packet, header: &mut P::Header) -> Way {
        self.call(Some(peer), Some(packet.flow), |policy, cx, row| policy.pick(cx, row.unwrap(), packet, header))
    }

    pub(crate) fn ingress(&mut self, peer: u32, packet: &Packet, header: &mut P::Header) -> Verdict {
        self.call(Some(peer), Some(packet.flow), |policy, cx, row| policy.ingress(cx, row.unwrap(), packet, header))
    }

    pub(crate) fn egress(&mut self, port: Port, packet: &Packet, header: &mut P::Header) {
        self.call(None, None, |policy, cx, _| policy.egress(cx, port, packet, header))
    }

    pub(crate) fn timer(&mut self, key: Key) {
        let flow = if let Key::Flow(flow, _) = key { Some(flow) } else { None };
        self.call(None, flow, |policy, cx, row| policy.timer(cx, row, key))
    }

    pub(crate) fn feedback(&mut self, peer: u32, feedback: Feedback) {
        self.call(Some(peer), feedback.flow, |policy, cx, row| policy.feedback(cx, row, &feedback))
    }

    pub(crate) fn tick(&mut self) {
        self.call(None, None, |policy, cx, _| policy.tick(cx))
    }

    pub(crate) fn wait(&mut self, span: Span) {
        self.now += span;
    }
}

/// The ports of a device towards a leaf.
fn routes(tier: Tier, device: u32, leaf: u32, ports: u16) -> Vec<u16> {
    match tier {
        Tier::Leaf if leaf == device => vec![],
        Tier::Leaf => (4..ports).collect(),
        _ => vec![leaf as u16],
    }
}

/// A full data packet of this flow from host 0 of leaf 0 to host 4 of leaf 1.
pub(crate) fn data(flow: u32) -> Packet {
    Packet { flow: FlowKey(flow), src: 0, dst: 4, wire: 1500, payload: 1460, way: Way::ANY, ..Packet::default() }
}

/// An acknowledgement in the same direction.
pub(crate) fn ack(flow: u32) -> Packet {
    Packet { kind: Kind::Ack, wire: 40, payload: 0, ..data(flow) }
}
