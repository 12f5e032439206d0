//! Two leaves, the paths between them and the hosts' ports of the second, event by event: enough to see whether a
//! switch scheme with reordering keeps flows in order and returns its queues. Data goes from leaf 0 to leaf 1.

use crate::common::{Shell, data};
use spinewise_policy::out::Action;
use spinewise_policy::*;
use std::collections::{BTreeMap, VecDeque};

/// Wire bytes of data packets.
pub(crate) const WIRE: u32 = 1_000;

/// The properties of the fabric.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub seed: u64,
    /// One-way delay per link, for every path.
    pub delays: Vec<Span>,
    /// Bits per second of every link.
    pub rate: u64,
    /// Held queues of every port to a host.
    pub queues: usize,
    /// Cross traffic joins an uplink's queue at this interval on average, at most this many packets at a time.
    pub burst_every: Span,
    pub burst: u32,
    /// Time that a control packet takes.
    pub control: Span,
}

impl Default for Setting {
    fn default() -> Self {
        Setting {
            seed: 1,
            delays: vec![Span::from_us(1); 4],
            rate: 100_000_000_000,
            queues: 8,
            burst_every: Span::from_us(20),
            burst: 200,
            control: Span::from_us(4),
        }
    }
}

/// A data packet with the header its source leaf wrote.
#[derive(Clone, Debug)]
struct Carried<H> {
    packet: Packet,
    header: H,
}

enum Event<H> {
    /// The next packet of this flow reaches leaf 0.
    Send(u32),
    /// This many bytes have left this uplink.
    Left(u16, u64),
    /// Cross-traffic bytes join the queue of this way.
    Burst(usize),
    /// A packet reaches leaf 1.
    Arrive(Box<Carried<H>>),
    /// The port to this host has sent a packet.
    Sent(usize),
    /// Control packet: class, flow, body.
    Control(u8, Option<FlowKey>, Vec<u8>),
    /// A timer of leaf 1.
    Timer(Key),
    /// Tick of a leaf.
    Tick(usize),
}

/// A port to a host.
struct HostPort<H> {
    /// Packets, and the positions at which a released queue continues.
    queue: VecDeque<Result<Carried<H>, u16>>,
    lanes: Vec<Lane<H>>,
    sending: bool,
}

struct Lane<H> {
    packets: VecDeque<Carried<H>>,
    owner: Option<FlowKey>,
}

/// A flow, and its arrivals.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub sent: u64,
    pub next: u64,
    pub arrived: u64,
    pub inversions: u64,
}

/// The whole fabric.
pub(crate) struct Fabric<P: Policy<Site = AtSwitch>> {
    pub leaves: [Shell<P>; 2],
    pub flows: Vec<Seen>,
    /// Points recorded by the scheme: when, at which leaf, series, value.
    pub records: Vec<(Time, usize, u16, f64)>,
    setting: Setting,
    events: BTreeMap<(Time, u64), Event<P::Header>>,
    number: u64,
    armed: BTreeMap<Key, (Time, u64)>,
    /// When each link of a way (up, down) will be free.
    free_at: Vec<[Time; 2]>,
    ports: Vec<HostPort<P::Header>>,
    rng: Rng,
    stop: Time,
    now: Time,
}

impl<P: Policy<Site = AtSwitch>> Fabric<P> {
    pub(crate) fn new(config: &P::Config, setting: Setting) -> Self {
        let ways = setting.delays.len() as u16;
        let mut leaves = [0, 1].map(|leaf| Shell::<P>::new(config, Tier::Leaf, leaf, ways));
        for (leaf, shell) in leaves.iter_mut().enumerate() {
            shell.room.ports.rates.fill(setting.rate);
            shell.rng = Rng::stream(setting.seed, "scheme", leaf as u64);
        }
        let lane = || Lane { packets: VecDeque::new(), owner: None };
        let port = || HostPort {
            queue: VecDeque::new(),
            lanes: (0..setting.queues).map(|_| lane()).collect(),
            sending: false,
        };
        Fabric {
            leaves,
            flows: vec![],
            records: vec![],
            events: BTreeMap::new(),
            number: 0,
            armed: BTreeMap::new(),
            free_at: vec![[Time::ZERO; 2]; ways as usize],
            ports: (0..4).map(|_| port()).collect(),
            rng: Rng::stream(setting.seed, "fabric", 0),
            setting,
            stop: Time::ZERO,
            now: Time::ZERO,
        }
    }

    /// Lets `flows` flows send until `stop`, then lets everything arrive. Returns the inversions.
    pub(crate) fn run(&mut self, flows: u32, stop: Time) -> u64 {
        self.stop = stop;
        self.flows = vec![Seen::default(); flows as usize];
        for flow in 0..flows {
            let start = Time(self.rng.below(20_000_000).into());
            self.plan(start, Event::Send(flow));
        }
        for way in 0..self.free_at.len() {
            let at = self.burst_time();
            self.plan(at, Event::Burst(way));
        }
        for leaf in 0..2 {
            let period = self.tick_period();
            if period > Span::ZERO {
                self.plan(Time::ZERO + period, Event::Tick(leaf));
            }
        }
        while let Some(((now, number), event)) = self.events.pop_first() {
            self.now = now;
            self.leaves.iter_mut().for_each(|shell| shell.now = now);
            self.happen(number, event);
        }
        self.flows.iter().map(|flow| flow.inversions).sum()
    }

    /// Values of one of the scheme's series.
    pub(crate) fn series(&self, name: &str) -> Vec<f64> {
        let index = P::SHEET.series.iter().position(|known| known.name == name).expect("a series of the scheme");
        self.records.iter().filter(|(_, _, series, _)| *series == index as u16).map(|(_, _, _, value)| *value).collect()
    }

    /// Checks that nothing remains in transit, held or armed, and everything sent has arrived.
    pub(crate) fn assert_empty(&self) {
        for port in &self.ports {
            assert!(port.queue.is_empty());
            assert!(port.lanes.iter().all(|lane| lane.owner.is_none() && lane.packets.is_empty()), "a queue leaked");
        }
        assert!(self.armed.is_empty(), "armed for ever: {:?}", self.armed);
        assert!(self.flows.iter().all(|flow| flow.sent == flow.arrived));
    }

    fn plan(&mut self, at: Time, event: Event<P::Header>) -> u64 {
        self.number += 1;
        self.events.insert((at, self.number), event);
        self.number
    }

    fn tick_period(&self) -> Span {
        let ways = self.free_at.len() as u16;
        let shape = Shape { tier: Tier::Leaf, hosts: 16, leaves: 4, ports: 4 + ways, ways };
        self.leaves[0].policy.layout(&shape).tick
    }

    fn burst_time(&mut self) -> Time {
        self.now + Span((self.rng.unit() * 2.0 * self.setting.burst_every.0 as f64) as u64)
    }

    fn transmission(&self, bytes: u64) -> Span {
        Span::sending(bytes, self.setting.rate)
    }

    fn happen(&mut self, number: u64, event: Event<P::Header>) {
        match event {
            Event::Send(flow) => self.send(flow),
            Event::Left(port, bytes) => self.leaves[0].room.ports.bytes[port as usize] -= bytes,
            Event::Burst(way) => {
                let bytes = u64::from(self.rng.below(self.setting.burst + 1)) * u64::from(WIRE);
                self.up(way, bytes);
                if self.now < self.stop {
                    let at = self.burst_time();
                    self.plan(at, Event::Burst(way));
                }
            }
            Event::Arrive(carried) => self.arrive(*carried),
            Event::Sent(port) => {
                self.ports[port].sending = false;
                self.start(port);
            }
            Event::Control(class, flow, body) => {
                let from = Device::Switch(1);
                let message = Message { from, class, flow, in_port: Port(4), body: &body };
                self.leaves[0].call(Some(1), flow, |policy, cx, row| policy.message(cx, row, &message));
                self.carry_out(0, None);
            }
            Event::Timer(key) => {
                if self.armed.get(&key) == Some(&(self.now, number)) {
                    self.armed.remove(&key);
                    self.leaves[1].timer(key);
                    self.carry_out(1, None);
                }
            }
            Event::Tick(leaf) => {
                self.leaves[leaf].tick();
                self.carry_out(leaf, None);
                if self.now < self.stop {
                    self.plan(self.now + self.tick_period(), Event::Tick(leaf));
                }
            }
        }
    }

    /// Bytes join the queue of a way's first link; returns when they have left it.
    fn up(&mut self, way: usize, bytes: u64) -> Time {
        let port = 4 + way as u16;
        self.leaves[0].room.ports.bytes[port as usize] += bytes;
        let left = self.free_at[way][0].max(self.now) + self.transmission(bytes);
        self.free_at[way][0] = left;
        self.plan(left, Event::Left(port, bytes));
        left
    }

    fn send(&mut self, flow: u32) {
        let number = self.flows[flow as usize].sent;
        self.flows[flow as usize].sent += 1;
        let packet = Packet {
            src: 0,
            dst: 4 + flow % 4,
            seq: number,
            wire: WIRE,
            payload: WIRE,
            in_port: Port(0),
            hashed: Hashed::Mixed { pair: 1, inner: u64::from(flow), tag: 0 },
            ..data(flow)
        };
        let mut header = P::Header::default();
        let way = self.leaves[0].pick(1, &packet, &mut header).index();
        self.carry_out(0, None);
        let left = self.up(way, u64::from(WIRE));
        // The second link carries traffic that leaf 0 does not see: now and then a packet waits there.
        let extra = Span(u64::from(self.rng.below(2)) * u64::from(self.rng.below(400_000)));
        let second = self.free_at[way][1].max(left + self.setting.delays[way]) + self.transmission(WIRE.into()) + extra;
        self.free_at[way][1] = second;
        self.plan(second + self.setting.delays[way], Event::Arrive(Box::new(Carried { packet, header })));
        // Mostly back to back, sometimes a pause, rarely a long silence.
        let gap = match self.rng.below(400) {
            0 => Span::from_us(350),
            1..8 => Span(u64::from(self.rng.below(60_000_000))),
            _ => Span(u64::from(self.rng.below(2_000_000))),
        };
        if self.now + gap < self.stop {
            self.plan(self.now + gap, Event::Send(flow));
        }
    }

    fn arrive(&mut self, carried: Carried<P::Header>) {
        let port = (carried.packet.dst - 4) as usize;
        let free = self.ports[port].lanes.iter().position(|lane| lane.owner.is_none());
        self.leaves[1].room.ports.free = free.map(|lane| Queue(lane as u16));
        let packet = Packet { in_port: Port(4), out_port: Port(port as u16), ..carried.packet };
        let mut header = carried.header;
        let verdict = self.leaves[1].ingress(0, &packet, &mut header);
        let carried = Carried { packet, header };
        match verdict {
            Verdict::Forward => self.ports[port].queue.push_back(Ok(carried)),
            Verdict::Hold(queue) => {
                let lane = &mut self.ports[port].lanes[queue.0 as usize];
                assert_eq!(*lane.owner.get_or_insert(packet.flow), packet.flow, "a queue for two flows");
                lane.packets.push_back(carried);
            }
            Verdict::Consume => panic!("data consumed"),
        }
        self.carry_out(1, Some(port));
    }

    /// Carries out the requests of the last hook of a leaf; the packet in hand has been queued.
    fn carry_out(&mut self, leaf: usize, arrived: Option<usize>) {
        let (did, bodies) = (self.leaves[leaf].did.clone(), self.leaves[leaf].bodies.clone());
        for action in did {
            match action {
                Action::Send { to, class, flow, at, len, .. } => {
                    assert_eq!((leaf, to), (1, To::Leaf(0)));
                    let body = bodies[at as usize..(at + len) as usize].to_vec();
                    self.plan(self.now + self.setting.control, Event::Control(class, flow, body));
                }
                Action::Arm { key, at } => {
                    let at = at.max(self.now);
                    let number = self.plan(at, Event::Timer(key));
                    self.armed.insert(key, (at, number));
                }
                Action::Cancel { key } => {
                    self.armed.remove(&key);
                }
                Action::Release { port, queue } => {
                    self.ports[port.index()].queue.push_back(Err(queue.0));
                    self.start(port.index());
                }
                Action::Record { series, value } => self.records.push((self.now, leaf, series, value)),
                other => panic!("not expected of a scheme here: {other:?}"),
            }
        }
        if let Some(port) = arrived {
            self.start(port);
        }
    }

    /// Starts the next transmission of a port, if there is one.
    fn start(&mut self, number: usize) {
        while !self.ports[number].sending {
            let port = &mut self.ports[number];
            let next = match port.queue.pop_front() {
                None => return,
                Some(Ok(carried)) => Some(carried),
                Some(Err(lane)) => {
                    let next = port.lanes[lane as usize].packets.pop_front();
                    if next.is_some() {
                        port.queue.push_front(Err(lane));
                    } else {
                        let owner = port.lanes[lane as usize].owner.take();
                        let (at, queue) = (Port(number as u16), Queue(lane));
                        self.leaves[1].call(None, owner, |policy, cx, row| policy.drained(cx, row, at, queue));
                        self.carry_out(1, None);
                    }
                    next
                }
            };
            if let Some(carried) = next {
                self.deliver(&carried.packet);
                self.ports[number].sending = true;
                self.plan(self.now + self.transmission(WIRE.into()), Event::Sent(number));
            }
        }
    }

    fn deliver(&mut self, packet: &Packet) {
        let flow = &mut self.flows[packet.flow.0 as usize];
        flow.arrived += 1;
        flow.inversions += u64::from(packet.seq < flow.next);
        flow.next = flow.next.max(packet.seq + 1);
    }
}
