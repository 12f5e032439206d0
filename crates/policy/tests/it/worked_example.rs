//! The worked example of CONTRIBUTING.md: it is quoted as it stands here, compiles against the contract, and works.

mod power_of_two;

use power_of_two::{Config, Flowlet, PowerOfTwo};
use spinewise_policy::site::Ports;
use spinewise_policy::*;

const PAGE: &str = include_str!("../../../../CONTRIBUTING.md");
const SCHEME: &str = include_str!("worked_example/power_of_two.rs");

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
fn the_page_quotes_the_scheme_as_it_stands() {
    let quoted =
        PAGE.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next()).find(|text| *text == SCHEME);
    assert!(quoted.is_some(), "CONTRIBUTING.md does not quote crates/policy/tests/it/worked_example/power_of_two.rs");
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
