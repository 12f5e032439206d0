//! HULA at one switch: which probes it accepts, what it learns from them, where it forwards them, and which hop
//! flowlets take.

use crate::common::{Shell, ack, data};
use spinewise_policy::out::Action;
use spinewise_policy::schemes::hula::{Config, Hula, PROBE, Probe, SameHop};
use spinewise_policy::*;

/// Leaf 0 with uplinks at ports 4 to 7, at 1 ms.
fn leaf(config: &Config) -> Shell<Hula> {
    at(config, Tier::Leaf, 0)
}

fn at(config: &Config, tier: Tier, device: u32) -> Shell<Hula> {
    let mut shell = Shell::new(config, tier, device, 4);
    shell.now = Time(1_000_000_000);
    shell
}

/// A message with this body comes by `port`; returns which probes are passed on, and by which ports.
fn hear_bytes(shell: &mut Shell<Hula>, port: u16, body: &[u8]) -> Vec<(u16, Probe)> {
    let message = Message { from: Device::Switch(9), class: PROBE, flow: None, in_port: Port(port), body };
    shell.call(None, None, |policy, cx, _| policy.message(cx, None, &message));
    sent(shell)
}

fn hear(shell: &mut Shell<Hula>, port: u16, leaf: u32, util: u8) -> Vec<(u16, Probe)> {
    hear_bytes(shell, port, &Probe { leaf, util }.put())
}

/// Probes that the last hook call sent, by port.
fn sent(shell: &Shell<Hula>) -> Vec<(u16, Probe)> {
    let of = |action: &Action| match *action {
        Action::Send { to: To::Port(port), class: PROBE, flow: None, way: Way::ANY, at, len, wire: 64 } => {
            (port.0, Probe::get(&shell.bodies[at as usize..(at + len) as usize]).expect("a probe"))
        }
        _ => panic!("an odd action: {action:?}"),
    };
    shell.did.iter().map(of).collect()
}

/// The switch's best hop to leaf 1: port and use.
fn best(shell: &Shell<Hula>) -> (Option<u16>, u8) {
    (shell.peers[1].port, shell.peers[1].util)
}

/// The port that a packet to leaf 1 leaves by.
fn port_of(shell: &mut Shell<Hula>, packet: &Packet) -> u16 {
    let way = shell.pick(1, packet, &mut ()).index();
    shell.room.candidates[way]
}

/// Fills the link of `port` to `share` 256ths of U's full value of 500,000 bytes (10 Gbps, τ of 400 µs).
fn fill(shell: &mut Shell<Hula>, port: u16, share: u64) {
    let bytes = (share * 500_000).div_ceil(256) as u32;
    shell.egress(Port(port), &Packet { wire: bytes, ..data(1) }, &mut ());
}

#[test]
fn a_leaf_probes_by_every_uplink_and_no_host_port() {
    let mut shell = at(&Config::default(), Tier::Leaf, 2);
    shell.tick();
    let probe = Probe { leaf: 2, util: 0 };
    assert_eq!(sent(&shell), [4, 5, 6, 7].map(|port| (port, probe)));
    let period =
        |shell: &Shell<Hula>, tier| shell.policy.layout(&Shape { tier, hosts: 16, leaves: 4, ports: 8, ways: 4 }).tick;
    assert_eq!(period(&shell, Tier::Leaf), Span::from_us(200));
    assert_eq!([Tier::Aggregation, Tier::Spine].map(|tier| period(&shell, tier)), [Span::ZERO; 2]);
}

#[test]
fn a_spine_passes_a_probe_to_all_other_leaves_and_a_leaf_to_nobody() {
    let mut spine = at(&Config::default(), Tier::Spine, 4);
    let passed = hear(&mut spine, 1, 1, 40);
    assert_eq!(passed, [0, 2, 3].map(|port| (port, Probe { leaf: 1, util: 40 })));
    assert_eq!(hear(&mut leaf(&Config::default()), 6, 1, 40), []);
}

#[test]
fn an_aggregation_switch_passes_up_and_down_what_comes_from_below_and_only_down_what_comes_from_above() {
    // Leaves 0 and 1 below at ports 0 and 1, cores above at ports 2 and 3, which lead to leaves 2 and 3.
    let mut switch = at(&Config::default(), Tier::Aggregation, 5);
    switch.room.ports.routes = vec![vec![0], vec![1], vec![2, 3], vec![2, 3]];
    let ports = |passed: Vec<(u16, Probe)>| passed.into_iter().map(|(port, _)| port).collect::<Vec<_>>();
    assert_eq!(ports(hear(&mut switch, 0, 0, 0)), [1, 2, 3]);
    assert_eq!(ports(hear(&mut switch, 3, 2, 0)), [0, 1]);
    // A probe loops on a way that does not lead there: neither accepted nor passed on.
    for (port, leaf) in [(2, 0), (1, 0), (0, 2)] {
        let before = switch.peers.clone();
        assert_eq!(ports(hear(&mut switch, port, leaf, 0)), [], "leaf {leaf} by port {port}");
        assert_eq!(switch.peers, before);
    }
}

#[test]
fn what_is_passed_on_is_the_use_of_the_best_path_and_of_the_most_used_link_on_it() {
    let mut switch = at(&Config::default(), Tier::Aggregation, 5);
    switch.room.ports.routes = vec![vec![0], vec![2, 3], vec![2, 3], vec![2, 3]];
    fill(&mut switch, 2, 100);
    let util = |passed: Vec<(u16, Probe)>| passed[0].1.util;
    assert_eq!(util(hear(&mut switch, 2, 1, 30)), 100, "its own link is the most used");
    assert_eq!(util(hear(&mut switch, 2, 1, 130)), 130, "one beyond is");
    assert_eq!(util(hear(&mut switch, 3, 1, 50)), 50, "the other way is better");
    assert_eq!(util(hear(&mut switch, 2, 1, 60)), 50, "worse than the best: the best is told");
    assert_eq!(best(&switch), (Some(3), 50));
}

#[test]
fn a_better_path_goes_first_an_equal_one_does_not_and_the_best_hop_renews_its_own_entry() {
    let mut shell = leaf(&Config::default());
    for (port, util, then) in [
        (5, 80, (Some(5), 80)),
        (6, 80, (Some(5), 80)),
        (6, 79, (Some(6), 79)),
        (6, 200, (Some(6), 200)),
        (5, 199, (Some(5), 199)),
        (4, 201, (Some(5), 199)),
    ] {
        hear(&mut shell, port, 1, util);
        assert_eq!(best(&shell), then, "{util} by port {port}");
    }
    assert!([0, 2, 3].iter().all(|&leaf: &usize| shell.peers[leaf].port.is_none()), "the others are untouched");
}

#[test]
fn where_the_best_hop_competes_its_entry_stays_as_good_until_it_ages() {
    let mut shell = leaf(&Config { same_hop: SameHop::Competes, aging_intervals: 1.0, ..Config::default() });
    hear(&mut shell, 5, 1, 10);
    shell.wait(Span::from_us(200));
    hear(&mut shell, 5, 1, 90);
    assert_eq!(best(&shell), (Some(5), 10), "one interval old, and no older");
    shell.wait(Span(1));
    hear(&mut shell, 5, 1, 90);
    assert_eq!(best(&shell), (Some(5), 90));
}

#[test]
fn a_hop_that_falls_silent_is_given_up_for_any_other() {
    let mut shell = leaf(&Config::default());
    hear(&mut shell, 5, 1, 0);
    shell.wait(Span::from_us(600));
    hear(&mut shell, 6, 1, 250);
    assert_eq!(best(&shell), (Some(5), 0), "three intervals old, and no older");
    shell.wait(Span(1));
    hear(&mut shell, 6, 1, 250);
    assert_eq!(best(&shell), (Some(6), 250));
    // A hop that still sends is not given up, however bad.
    for _ in 0..10 {
        shell.wait(Span::from_us(200));
        hear(&mut shell, 6, 1, 250);
        hear(&mut shell, 7, 1, 250);
    }
    assert_eq!(best(&shell), (Some(6), 250));
}

#[test]
fn a_flowlet_keeps_its_hop_and_a_new_one_takes_the_best() {
    let mut shell = leaf(&Config::default());
    hear(&mut shell, 5, 1, 10);
    assert_eq!(port_of(&mut shell, &data(1)), 5);
    hear(&mut shell, 6, 1, 0);
    shell.wait(Span::from_us(100));
    assert_eq!(port_of(&mut shell, &data(1)), 5, "the gap itself opens no flowlet");
    assert_eq!(port_of(&mut shell, &ack(2)), 6, "acknowledgements are flows of their own");
    assert_eq!(port_of(&mut shell, &Packet { kind: Kind::Probe, ..data(1) }), 6, "belongs to no flow");
    shell.wait(Span(Span::from_us(100).0 + 1));
    assert_eq!(port_of(&mut shell, &data(1)), 6);
}

#[test]
fn without_a_probe_or_a_route_by_the_best_hop_flowlets_are_hashed_and_stay() {
    let mut shell = leaf(&Config::default());
    let ports: Vec<u16> = (0..64).map(|flow| port_of(&mut shell, &hashed(flow))).collect();
    assert!((4..8).all(|port| ports.contains(&port)), "{ports:?}");
    hear(&mut shell, 5, 1, 10);
    assert!((0..64).all(|flow| port_of(&mut shell, &hashed(flow)) == ports[flow as usize]));
    shell.wait(Span::from_ms(1));
    shell.room.candidates = vec![4, 6, 7];
    let ports: Vec<u16> = (0..64).map(|flow| port_of(&mut shell, &hashed(flow))).collect();
    assert!([4, 6, 7].iter().all(|port| ports.contains(port)), "{ports:?}");
}

fn hashed(flow: u32) -> Packet {
    Packet { hashed: Hashed::Mixed { pair: 4, inner: flow.into(), tag: 0 }, ..data(flow) }
}

#[test]
fn what_is_no_probe_or_of_no_leaf_is_ignored() {
    let mut spine = at(&Config::default(), Tier::Spine, 4);
    hear(&mut spine, 1, 1, 40);
    let before = spine.peers.clone();
    for body in [&[][..], &[0, 0, 1], &[0, 0, 1, 0, 0], &[0, 0, 4, 0], &[0xff; 4]] {
        assert_eq!(hear_bytes(&mut spine, 1, body), [], "{body:?}");
        assert_eq!(spine.peers, before, "{body:?}");
    }
}
