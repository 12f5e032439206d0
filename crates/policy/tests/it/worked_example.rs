//! The worked examples of CONTRIBUTING.md: they are quoted as they stand here, compile against the contract, and work.

// In the crate of schemes they are seen from outside.
#[allow(unreachable_pub)]
mod plb;
#[allow(unreachable_pub)]
mod power_of_two;

use plb::{Plb, Round};
use power_of_two::{Config, Flowlet, PowerOfTwo};
use spinewise_policy::site::Ports;
use spinewise_policy::*;

const PAGE: &str = include_str!("../../../../CONTRIBUTING.md");
const SCHEMES: &[&str] = &[include_str!("worked_example/power_of_two.rs"), include_str!("worked_example/plb.rs")];

/// Ports with these queues, in bytes.
struct Queues([u64; 5]);

impl Ports for Queues {
    fn leaf_of(&self, host: u32) -> u32 {
        host / 2
    }
    fn queue_bytes(&self, port: Port) -> u64 {
        self.0[port.index()]
    }
    fn queue_packets(&self, port: Port) -> u32 {
        self.0[port.index()].div_ceil(1500) as u32
    }
    fn rate(&self, _: Port) -> u64 {
        10_000_000_000
    }
    fn free_queue(&self, _: Port) -> Option<Queue> {
        None
    }
}

/// The uplinks: port 0 leads to a host.
const UPLINKS: [u16; 4] = [1, 2, 3, 4];

/// Asks for the uplink of a data packet at `now`.
fn pick(queues: [u64; 5], now: Time, rng: &mut Rng, flowlet: &mut Flowlet) -> usize {
    let queues = Queues(queues);
    let mut cx: Cx<'_, PowerOfTwo> = Cx {
        now,
        node: &mut (),
        peers: Table { ids: &[], peers: &mut [], routes: &mut [], stride: 0, current: 0 },
        ports: &mut [],
        view: SwitchView {
            switch: 0,
            tier: Tier::Leaf,
            candidates: &UPLINKS,
            host_ports: 1,
            salt: 1,
            ports: &queues,
            free_queues: &[],
        },
        rng,
        out: Out::new(&mut [], &mut []),
    };
    let scheme = PowerOfTwo::new(&Config::default());
    scheme.pick(&mut cx, flowlet, &Packet { kind: Kind::Data, ..Packet::default() }, &mut ()).index()
}

#[test]
fn the_page_quotes_the_schemes_as_they_stand() {
    let quoted: Vec<&str> = PAGE.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    for scheme in SCHEMES {
        let head = scheme.lines().next();
        assert!(quoted.contains(scheme), "CONTRIBUTING.md does not quote the worked example {head:?} as it stands");
    }
    // What the page tells to add to the registry names what the file defines.
    assert!(PAGE.contains("PowerOfTwo: $crate::schemes::power_of_two::PowerOfTwo,"));
}

#[test]
fn the_shorter_of_two_is_taken() {
    let mut rng = Rng::stream(1, "test", 0);
    let mut times = [0u32; 4];
    for _ in 0..6_000 {
        times[pick([0, 9_000, 3_000, 0, 6_000], Time::ZERO, &mut rng, &mut Flowlet::default())] += 1;
    }
    // Of the six pairs the shortest queue wins three, the next two, the next one, and the longest none.
    for (uplink, expected) in [(2, 3_000u32), (1, 2_000), (3, 1_000), (0, 0)] {
        assert!(times[uplink].abs_diff(expected) < 200, "{times:?}");
    }
    assert_eq!(times[0], 0);
}

#[test]
fn a_flowlet_stays_until_it_pauses() {
    let mut rng = Rng::stream(1, "test", 1);
    let mut flowlet = Flowlet::default();
    let mut now = Time::ZERO + Span::from_us(1_000);
    let first = pick([0; 5], now, &mut rng, &mut flowlet);
    let mut full = [0; 5];
    full[first + 1] = 100_000;
    for _ in 0..50 {
        now += Span::from_us(100);
        assert_eq!(pick(full, now, &mut rng, &mut flowlet), first, "the gap itself is not a pause");
    }
    now += Span(100_000_001);
    assert_ne!(pick(full, now, &mut rng, &mut flowlet), first, "the longest queue is never taken");
}

/// One flow under PLB at a host, and what it recorded.
struct Sender {
    scheme: Plb,
    round: Round,
    rng: Rng,
    now: Time,
    sent: u64,
    moves: usize,
}

impl Sender {
    fn new(config: &plb::Config) -> Sender {
        let rng = Rng::stream(1, "test", 2);
        Sender { scheme: Plb::new(config), round: Round::default(), rng, now: Time::ZERO, sent: 0, moves: 0 }
    }

    fn hook<R>(&mut self, hook: impl FnOnce(&Plb, &mut Cx<'_, Plb>, &mut Round) -> R) -> R {
        let mut actions = [out::Action::MaskEcn; 8];
        let mut cx: Cx<'_, Plb> = Cx {
            now: self.now,
            node: &mut (),
            peers: Table { ids: &[], peers: &mut [], routes: &mut [], stride: 0, current: 0 },
            ports: &mut [],
            view: HostView::default(),
            rng: &mut self.rng,
            out: Out::new(&mut actions, &mut []),
        };
        let answer = hook(&self.scheme, &mut cx, &mut self.round);
        self.moves += cx.out.len();
        answer
    }

    /// Sends a packet of 1,000 bytes: its label.
    fn send(&mut self) -> Way {
        let packet = Packet { kind: Kind::Data, seq: self.sent, payload: 1000, ..Packet::default() };
        self.sent += 1000;
        self.hook(|scheme, cx, round| scheme.pick(cx, round, &packet, &mut ()))
    }

    fn tell(&mut self, event: Event) {
        let feedback = Feedback { way: Way(0), flow: Some(FlowKey(0)), event };
        self.hook(|scheme, cx, round| scheme.feedback(cx, Some(round), &feedback));
    }

    fn acknowledge(&mut self, marked: bool) {
        self.tell(Event::Ack { bytes: 1000, rtt: Span::from_us(20), one_way: Span::from_us(10), marked });
    }

    /// A round of four packets in which so many are marked, with one packet out ahead of it all the time.
    fn round(&mut self, marked: usize) {
        for _ in 0..4 {
            self.send();
        }
        (0..4).for_each(|n| self.acknowledge(n < marked));
    }
}

#[test]
fn plb_moves_after_congested_rounds_in_a_row() {
    let config = plb::Config { rehash_rounds: 3, ..plb::Config::default() };
    let mut flow = Sender::new(&config);
    let label = flow.send();
    assert_ne!(label, Way::ANY);
    // The first acknowledgement begins a round that ends with what had been sent by then.
    for marked in [4, 4, 1, 2, 2] {
        flow.round(marked);
    }
    assert_eq!((flow.moves, flow.send()), (0, label), "one clean round between, and one below the threshold of a half");
    let mut flow = Sender::new(&config);
    let label = flow.send();
    (0..4).for_each(|_| flow.round(4));
    assert_eq!(flow.moves, 1);
    assert_ne!(flow.send(), label);
}

#[test]
fn plb_moves_sooner_where_nothing_is_in_flight() {
    for (idle_rehash_rounds, moves) in [(2, 1), (0, 0)] {
        let config = plb::Config { rehash_rounds: 12, idle_rehash_rounds, ..plb::Config::default() };
        let mut flow = Sender::new(&config);
        for _ in 0..3 {
            flow.send();
            flow.acknowledge(true);
        }
        assert_eq!(flow.moves, moves, "M = {idle_rehash_rounds}");
    }
}

#[test]
fn plb_pauses_after_a_timeout() {
    let config = plb::Config { rehash_rounds: 1, suspend_us: 100.0, ..plb::Config::default() };
    let mut flow = Sender::new(&config);
    let label = flow.send();
    flow.tell(Event::Timeout);
    assert_eq!(flow.moves, 1, "the timeout itself changes the label");
    assert_ne!(flow.send(), label);
    flow.now += Span::from_us(99);
    (0..3).for_each(|_| flow.round(4));
    assert_eq!(flow.moves, 1, "no move for 100 to 200 us");
    flow.now += Span::from_us(101);
    flow.round(4);
    assert_eq!(flow.moves, 2);
}
