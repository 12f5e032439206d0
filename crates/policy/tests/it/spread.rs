//! Presto and LetFlow at a device with eight ways.

use crate::common::{Shell, ack, data};
use spinewise_policy::schemes::letflow::{self, LetFlow};
use spinewise_policy::schemes::presto::{self, Order, Presto};
use spinewise_policy::{Kind, Packet, Span, Tier, Way};

#[test]
fn presto_sends_44_packets_a_path_in_turn() {
    let mut shell = Shell::<Presto>::new(&presto::Config::default(), Tier::Host, 0, 8);
    let ways: Vec<u16> = (0..44 * 16).map(|_| shell.pick(4, &data(1), &mut ()).0).collect();
    for (cell, packets) in ways.chunks(44).enumerate() {
        let path = (ways[0] + cell as u16) % 8;
        assert!(packets.iter().all(|way| *way == path), "cell {cell}: {packets:?}");
    }
}

#[test]
fn presto_counts_bytes_by_its_algorithm_1() {
    let config = presto::Config { count: presto::Count::Bytes, flowcell_bytes: 4000, ..presto::Config::default() };
    let mut shell = Shell::<Presto>::new(&config, Tier::Host, 0, 8);
    let sizes = [1460, 1460, 1460, 1000, 1540, 1];
    let ways = sizes.map(|payload| shell.pick(4, &Packet { payload, ..data(1) }, &mut ()).0);
    // 2920 + 1460 > 4000; 1460 + 1000 + 1540 = 4000 fits; one byte more does not.
    assert_eq!(ways.map(|way| (way + 8 - ways[0]) % 8), [0, 0, 1, 1, 1, 2]);
}

#[test]
fn presto_starts_each_flow_at_random_and_leaves_acks_to_the_fabric() {
    let mut shell = Shell::<Presto>::new(&presto::Config::default(), Tier::Host, 0, 8);
    let mut starts = [0u32; 8];
    for flow in 0..8_000 {
        starts[shell.pick(4, &data(flow), &mut ()).index()] += 1;
    }
    assert!(starts.iter().all(|n| n.abs_diff(1_000) < 150), "{starts:?}");
    assert_eq!(shell.pick(4, &ack(1), &mut ()), Way::ANY);
}

#[test]
fn presto_strided_uses_every_path_once_a_round() {
    let config = presto::Config { flowcell_packets: 1, order: Order::Strided, ..presto::Config::default() };
    let mut shell = Shell::<Presto>::new(&config, Tier::Host, 0, 8);
    let mut orders = std::collections::BTreeSet::new();
    for flow in 0..50 {
        let round: Vec<u16> = (0..8).map(|_| shell.pick(4, &data(flow), &mut ()).0).collect();
        let mut sorted = round.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..8).collect::<Vec<_>>());
        orders.insert(round);
    }
    // Eight starts and four strides coprime to eight.
    assert!(orders.len() > 8, "{} orders", orders.len());
}

#[test]
fn presto_follows_a_shrinking_set_of_paths() {
    let mut shell = Shell::<Presto>::new(&presto::Config::default(), Tier::Host, 0, 8);
    assert!((0..20).any(|flow| shell.pick(4, &data(flow), &mut ()).0 >= 3));
    shell.room.ways = vec![3; 4];
    assert!((0..20).all(|flow| shell.pick(4, &data(flow), &mut ()).0 < 3));
    shell.room.ways = vec![0; 4];
    assert_eq!(shell.pick(4, &data(1), &mut ()), Way::ANY);
}

fn letflow(gap_us: f64) -> Shell<LetFlow> {
    Shell::new(&letflow::Config { flowlet_gap_us: gap_us }, Tier::Leaf, 0, 8)
}

#[test]
fn letflow_keeps_a_flowlet_together_and_draws_the_next_evenly() {
    let mut shell = letflow(500.0);
    let (mut counts, mut repeats, mut old) = ([0u32; 8], 0, Way::ANY);
    for _ in 0..8_000 {
        shell.wait(Span(500_000_001));
        let way = shell.pick(1, &data(1), &mut ());
        for _ in 0..3 {
            shell.wait(Span::from_us(500));
            assert_eq!(shell.pick(1, &data(1), &mut ()), way, "the gap itself is not longer than the gap");
        }
        counts[way.index()] += 1;
        repeats += (way == old) as u32;
        old = way;
    }
    assert!(counts.iter().all(|n| n.abs_diff(1_000) < 150), "{counts:?}");
    assert!(repeats.abs_diff(1_000) < 150, "the old path comes again one time in eight, not {repeats} in 8,000");
}

#[test]
fn letflow_without_a_gap_is_per_packet_and_with_an_endless_one_per_flow() {
    let (mut spray, mut stay) = (letflow(0.0), letflow(1e9));
    let mut used = [0u32; 8];
    let first = stay.pick(1, &data(1), &mut ());
    for _ in 0..8_000 {
        spray.wait(Span(1));
        stay.wait(Span::from_ms(10));
        used[spray.pick(1, &data(1), &mut ()).index()] += 1;
        assert_eq!(stay.pick(1, &data(1), &mut ()), first);
    }
    assert!(used.iter().all(|n| n.abs_diff(1_000) < 150), "{used:?}");
}

#[test]
fn letflow_leaves_a_port_that_is_gone_and_touches_no_row_for_probes() {
    let mut shell = letflow(1e9);
    let way = shell.pick(1, &data(1), &mut ()).index();
    let gone = shell.room.candidates.remove(way);
    let port = |shell: &mut Shell<LetFlow>| {
        let way = shell.pick(1, &data(1), &mut ()).index();
        shell.room.candidates[way]
    };
    let moved = port(&mut shell);
    assert_ne!(moved, gone);
    let probe = Packet { kind: Kind::Probe, ..data(1) };
    let probes: Vec<usize> = (0..50).map(|_| shell.pick(1, &probe, &mut ()).index()).collect();
    assert!(probes.iter().any(|way| shell.room.candidates[*way] != moved));
    shell.room.candidates.insert(0, gone);
    assert_eq!(port(&mut shell), moved, "kept by port, although its index has changed");
}
