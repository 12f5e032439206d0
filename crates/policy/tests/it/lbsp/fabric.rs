//! A fat-tree of LBSP switches: links that fail and come back, messages hop by hop, and the way of a packet.

use spinewise_policy::out::Action;
use spinewise_policy::schemes::lbsp::failures::Failure;
use spinewise_policy::schemes::lbsp::table::Row;
use spinewise_policy::schemes::lbsp::{Config, Lbsp, Link, Node};
use spinewise_policy::site::Ports;
use spinewise_policy::tree::Spot;
use spinewise_policy::*;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A k-ary tree.
pub(crate) fn tree(k: u32) -> Tree {
    let half = k / 2;
    Tree { pods: k, leaves_per_pod: half, columns: half, cores_per_column: half, hosts_per_leaf: half }
}

/// A switch's view of itself.
struct Own<'a> {
    tree: Tree,
    packets: &'a [u32],
}

impl Ports for Own<'_> {
    fn queue_bytes(&self, port: Port) -> u64 {
        1500 * u64::from(self.packets[port.index()])
    }
    fn queue_packets(&self, port: Port) -> u32 {
        self.packets[port.index()]
    }
    fn rate(&self, _: Port) -> u64 {
        1_000_000_000
    }
    fn free_queue(&self, _: Port) -> Option<Queue> {
        None
    }
    fn leaf_of(&self, host: u32) -> u32 {
        host / self.tree.hosts_per_leaf
    }
    fn tree(&self) -> Option<Tree> {
        Some(self.tree)
    }
}

/// One switch.
pub(crate) struct Switch {
    pub node: Node,
    pub rows: Vec<Row>,
    pointers: Vec<u16>,
    ports: Vec<Link>,
    /// Whether the link that leaves by a port works.
    pub up: Vec<bool>,
    /// Packets queued at each port.
    pub queued: Vec<u32>,
    /// Messages in transit to this port, as class and body.
    coming: Vec<VecDeque<(u8, Vec<u8>)>>,
    /// Hops that the first copy of the last failure message took here.
    pub heard_after: Option<u8>,
}

/// A switch and one of its ports.
pub(crate) type End = (u32, u16);

pub(crate) struct Fabric {
    pub tree: Tree,
    pub policy: Lbsp,
    pub switches: Vec<Switch>,
    /// Points recorded by the last hook.
    pub recorded: Vec<f64>,
    /// Messages sent so far.
    pub sent: u64,
    /// A switch that every message to is lost.
    pub deaf: Option<u32>,
    /// Switches whose timer is set.
    armed: BTreeSet<u32>,
    /// Ends that messages are in transit to: one entry per message.
    waiting: Vec<End>,
    ids: Vec<u32>,
}

impl Fabric {
    pub(crate) fn new(tree: Tree, config: &Config) -> Fabric {
        let policy = Lbsp::new(config);
        let (leaves, ids) = (tree.leaves() as usize, (0..tree.leaves()).collect());
        let switch = |number: u32| {
            let ports = (tree.downlinks(number) + tree.uplinks(number)) as usize;
            Switch {
                node: Node::default(),
                rows: vec![Row::default(); leaves],
                pointers: vec![0; leaves * usize::from(policy.layout(&shape(&tree, number)).slots)],
                ports: vec![Link::default(); ports],
                up: vec![true; ports],
                queued: vec![0; ports],
                coming: vec![VecDeque::new(); ports],
                heard_after: None,
            }
        };
        let switches = (0..tree.switches()).map(switch).collect();
        Fabric {
            tree,
            policy,
            switches,
            recorded: vec![],
            sent: 0,
            deaf: None,
            armed: BTreeSet::new(),
            waiting: vec![],
            ids,
        }
    }

    pub(crate) fn leaf(&self, number: u32) -> u32 {
        number
    }

    pub(crate) fn aggregation(&self, number: u32) -> u32 {
        self.tree.leaves() + number
    }

    pub(crate) fn core(&self, number: u32) -> u32 {
        self.tree.leaves() + self.tree.pods * self.tree.columns + number
    }

    /// The other end of a link; none of one to a host.
    pub(crate) fn far(&self, (switch, port): End) -> Option<End> {
        let tree = &self.tree;
        let up = tree.uplink(switch, port);
        Some(match (tree.spot(switch), up) {
            (Spot::Leaf { .. }, None) => return None,
            (Spot::Leaf { pod }, Some(column)) => {
                (self.aggregation(pod * tree.columns + column), (switch % tree.leaves_per_pod) as u16)
            }
            (Spot::Aggregation { pod, .. }, None) => {
                let column = self.column(switch);
                (pod * tree.leaves_per_pod + u32::from(port), (tree.hosts_per_leaf + column) as u16)
            }
            (Spot::Aggregation { pod, column }, Some(row)) => {
                (self.core(column * tree.cores_per_column + row), pod as u16)
            }
            (Spot::Core { column, row }, _) => {
                (self.aggregation(u32::from(port) * tree.columns + column), (tree.leaves_per_pod + row) as u16)
            }
        })
    }

    fn column(&self, switch: u32) -> u32 {
        if let Spot::Aggregation { column, .. } = self.tree.spot(switch) { column } else { 0 }
    }

    /// Calls a hook of a switch about a leaf, and sends its messages.
    fn call<R>(
        &mut self,
        switch: u32,
        about: u32,
        candidates: &[u16],
        hook: impl FnOnce(&Lbsp, &mut Cx<'_, Lbsp>) -> R,
    ) -> R {
        let shape = shape(&self.tree, switch);
        let layout = self.policy.layout(&shape);
        let (mut actions, mut bytes) = (vec![Action::MaskEcn; layout.actions], vec![0; layout.bytes]);
        let own = &mut self.switches[switch as usize];
        let ports = Own { tree: self.tree, packets: &own.queued };
        let mut cx = Cx {
            now: Time::ZERO,
            node: &mut own.node,
            peers: Table {
                ids: &self.ids,
                peers: &mut own.rows,
                routes: &mut own.pointers,
                stride: layout.slots.into(),
                current: about as usize,
            },
            ports: &mut own.ports,
            view: SwitchView {
                switch,
                tier: shape.tier,
                candidates,
                host_ports: if shape.tier == Tier::Leaf { self.tree.hosts_per_leaf as u16 } else { 0 },
                salt: u64::from(switch),
                ports: &ports,
                free_queues: &[],
            },
            rng: &mut Rng::default(),
            out: Out::new(&mut actions, &mut bytes),
        };
        let answer = hook(&self.policy, &mut cx);
        let asked = cx.out.len();
        self.recorded.clear();
        for action in &actions[..asked] {
            match *action {
                Action::Send { to, class, at, len, .. } => {
                    let body = bytes[at as usize..(at + len) as usize].to_vec();
                    self.send(switch, to, class, &body);
                }
                Action::Record { value, .. } => self.recorded.push(value),
                Action::Arm { key: Key::Node(0), .. } => assert!(self.armed.insert(switch), "one timer"),
                _ => panic!("an odd action: {action:?}"),
            }
        }
        answer
    }

    fn send(&mut self, switch: u32, to: To, class: u8, body: &[u8]) {
        let all = 0..self.switches[switch as usize].up.len() as u16;
        let ports: Vec<u16> = match to {
            To::Neighbours { except } => all.filter(|&port| Some(Port(port)) != except).collect(),
            To::Port(port) => vec![port.0],
            _ => panic!("an odd destination: {to:?}"),
        };
        for port in ports {
            let works = self.switches[switch as usize].up[usize::from(port)];
            if let Some((next, at)) = self.far((switch, port)).filter(|_| works) {
                self.switches[next as usize].coming[usize::from(at)].push_back((class, body.to_vec()));
                self.waiting.push((next, at));
                self.sent += 1;
            }
        }
    }

    /// The link behind a port changes, in both directions; what is on it is lost when it fails.
    pub(crate) fn change(&mut self, end: End, change: Change) {
        let far = self.far(end).expect("a link between switches");
        let up = change != Change::Down;
        for (switch, port) in [end, far] {
            let own = &mut self.switches[switch as usize];
            own.up[usize::from(port)] = up;
            if !up {
                own.coming[usize::from(port)].clear();
            }
        }
        for (switch, port) in [end, far] {
            self.tell(switch, port, change);
        }
    }

    /// The one direction that leaves by a port changes.
    pub(crate) fn change_one_way(&mut self, (switch, port): End, change: Change) {
        let up = change != Change::Down;
        self.switches[switch as usize].up[usize::from(port)] = up;
        if let Some((next, at)) = self.far((switch, port)).filter(|_| !up) {
            self.switches[next as usize].coming[usize::from(at)].clear();
        }
        self.tell(switch, port, change);
    }

    fn tell(&mut self, switch: u32, port: u16, change: Change) {
        self.call(switch, 0, &[], |policy, cx| policy.link(cx, Port(port), change));
    }

    /// All timers that are set expire.
    pub(crate) fn repeat(&mut self) {
        for switch in std::mem::take(&mut self.armed) {
            self.call(switch, 0, &[], |policy, cx| policy.timer(cx, None, Key::Node(0)));
        }
    }

    fn hear(&mut self, switch: u32, port: u16, (class, body): &(u8, Vec<u8>)) {
        if self.deaf == Some(switch) {
            return;
        }
        if *class == 0 {
            let hops = Failure::get(body, &self.tree).expect("a failure message").hops + 1;
            self.switches[switch as usize].heard_after.get_or_insert(hops);
        }
        let message = Message { from: Device::Switch(0), class: *class, flow: None, in_port: Port(port), body };
        self.call(switch, 0, &[], |policy, cx| policy.message(cx, None, &message));
    }

    /// Lets all messages arrive, those of one hop at a time, as if all links were alike.
    pub(crate) fn settle(&mut self) {
        loop {
            let mut round = Vec::new();
            for (switch, own) in (0u32..).zip(&mut self.switches) {
                for (port, coming) in (0u16..).zip(&mut own.coming) {
                    round.extend(coming.drain(..).map(|message| (switch, port, message)));
                }
            }
            self.waiting.clear();
            if round.is_empty() {
                return;
            }
            for (switch, port, message) in round {
                self.hear(switch, port, &message);
            }
        }
    }

    /// Lets `most` messages arrive, from links drawn at random; in order on each link.
    pub(crate) fn settle_anyhow(&mut self, rng: &mut Rng, most: usize) {
        for _ in 0..most {
            if self.waiting.is_empty() {
                return;
            }
            let (switch, port) = self.waiting.swap_remove(rng.below(self.waiting.len() as u32) as usize);
            // Some were lost with their link.
            if let Some(message) = self.switches[switch as usize].coming[usize::from(port)].pop_front() {
                self.hear(switch, port, &message);
            }
        }
    }

    /// The switches and ports that a packet passes; the last port's link is dead if it ends before its leaf.
    pub(crate) fn walk(&mut self, packet: &Packet) -> (Vec<End>, bool) {
        let (leaf, home) = (packet.dst / self.tree.hosts_per_leaf, packet.dst % self.tree.hosts_per_leaf);
        let mut switch = packet.src / self.tree.hosts_per_leaf;
        let mut in_port = (packet.src % self.tree.hosts_per_leaf) as u16;
        let mut path = Vec::new();
        while switch != leaf {
            let candidates = self.candidates(switch, leaf);
            let choice = if candidates.len() == 1 {
                0
            } else {
                let packet = Packet { in_port: Port(in_port), ..*packet };
                self.call(switch, leaf, &candidates, |policy, cx| policy.pick(cx, &mut (), &packet, &mut ())).index()
            };
            let port = candidates[choice];
            path.push((switch, port));
            if !self.switches[switch as usize].up[usize::from(port)] {
                return (path, false);
            }
            (switch, in_port) = self.far((switch, port)).expect("a switch");
        }
        path.push((switch, home as u16));
        (path, true)
    }

    /// Ports towards a leaf in the whole tree.
    fn candidates(&self, switch: u32, leaf: u32) -> Vec<u16> {
        let (tree, pod) = (&self.tree, leaf / self.tree.leaves_per_pod);
        let up = tree.downlinks(switch) as u16..(tree.downlinks(switch) + tree.uplinks(switch)) as u16;
        match tree.spot(switch) {
            Spot::Core { .. } => vec![pod as u16],
            Spot::Aggregation { pod: own, .. } if own == pod => vec![(leaf % tree.leaves_per_pod) as u16],
            _ => up.collect(),
        }
    }

    /// Uplinks that `count` packets from `src` to `dst` use, as `(switch, uplink)`, and how many each.
    pub(crate) fn used(&mut self, src: u32, dst: u32, count: u32) -> BTreeMap<(u32, u32), u32> {
        let mut used = BTreeMap::new();
        for flow in 0..count {
            let (path, arrives) = self.walk(&packet(src, dst, flow));
            assert!(arrives, "{src} to {dst}: {path:?}");
            for (switch, port) in path {
                if let Some(link) = self.tree.uplink(switch, port) {
                    *used.entry((switch, link)).or_default() += 1;
                }
            }
        }
        used
    }

    /// Everything that messages have left in forwarding tables.
    pub(crate) fn tables(&self) -> Vec<Vec<Row>> {
        self.switches.iter().map(|switch| switch.rows.clone()).collect()
    }

    pub(crate) fn tick(&mut self, switch: u32) {
        self.call(switch, 0, &[], |policy, cx| policy.tick(cx));
    }
}

fn shape(tree: &Tree, switch: u32) -> Shape {
    let tier = match tree.spot(switch) {
        Spot::Leaf { .. } => Tier::Leaf,
        Spot::Aggregation { .. } => Tier::Aggregation,
        Spot::Core { .. } => Tier::Spine,
    };
    let ports = (tree.downlinks(switch) + tree.uplinks(switch)) as u16;
    Shape { tier, hosts: tree.hosts(), leaves: tree.leaves(), ports, ways: 4 }
}

/// A data packet of this flow.
pub(crate) fn packet(src: u32, dst: u32, flow: u32) -> Packet {
    let hashed = Hashed::Mixed { pair: u64::from(src) << 32 | u64::from(dst), inner: flow.into(), tag: 0 };
    Packet { flow: FlowKey(flow), src, dst, wire: 1500, payload: 1460, way: Way::ANY, hashed, ..Packet::default() }
}
