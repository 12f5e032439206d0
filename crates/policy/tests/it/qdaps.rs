//! QDAPS with explicit queues: which queue keeps order, and when a long flow leaves it.

use crate::common::{Shell, ack, data};
use spinewise_policy::schemes::qdaps::{Config, Qdaps};
use spinewise_policy::*;

/// Uplinks are ports 4 to 7 of a leaf, of 10 Gbps: a byte takes 0.8 ns, a full packet 1.2 µs.
fn leaf(config: &Config) -> Shell<Qdaps> {
    Shell::new(config, Tier::Leaf, 0, 4)
}

fn queues(shell: &mut Shell<Qdaps>, bytes: [u64; 4]) {
    shell.room.ports.bytes[4..].copy_from_slice(&bytes);
}

fn send(shell: &mut Shell<Qdaps>, packet: &Packet) -> u16 {
    shell.pick(4, packet, &mut ()).0
}

#[test]
fn a_first_packet_takes_the_shortest_queue_and_others_the_shortest_that_is_long_enough() {
    let mut shell = leaf(&Config::default());
    queues(&mut shell, [9_000, 6_000, 3_000, 12_000]);
    assert_eq!(send(&mut shell, &data(1)), 2);
    // The last packet has 4,500 bytes before its end at way 2.
    queues(&mut shell, [9_000, 3_000, 4_500, 3_001]);
    assert_eq!(send(&mut shell, &data(1)), 3, "as late as the last one might pass it; one byte more is behind it");
    queues(&mut shell, [0, 0, 0, 9_000]);
    assert_eq!(send(&mut shell, &data(1)), 3, "its own port is behind it, whatever the others are");
    assert_ne!(send(&mut shell, &data(2)), 3, "another flow has no past");
    // 10,500 bytes at 10 Gbps have passed: nothing of it is left.
    shell.wait(Span(10_500 * 800));
    queues(&mut shell, [0, 9_000, 9_000, 9_000]);
    assert_eq!(send(&mut shell, &data(1)), 0);
}

#[test]
fn a_shorter_packet_must_start_later_where_paths_meet_again() {
    let short = Packet { wire: 100, payload: 60, ..data(1) };
    for (merge_hops, least) in [(1, 2_401), (2, 3_801), (4, 6_601)] {
        // The order is kept at k transmissions from here: s + 100 k > 1,000 + 1,500 k, s in bytes waited for.
        for (bytes, way) in [(least, 1), (least - 1, 0)] {
            let mut shell = leaf(&Config { merge_hops, ..Config::default() });
            queues(&mut shell, [1_000, 2_000, 9_000, 9_000]);
            assert_eq!(send(&mut shell, &data(1)), 0);
            queues(&mut shell, [9_000, bytes, 99_000, 99_000]);
            assert_eq!(send(&mut shell, &short), way, "{merge_hops} hops, {bytes} bytes");
        }
    }
}

#[test]
fn rates_count_and_a_port_that_is_gone_leaves_the_longest_queue() {
    let mut shell = leaf(&Config::default());
    shell.room.ports.rates[4] = 1_000_000_000;
    queues(&mut shell, [0, 12_000, 14_000, 99_000]);
    assert_eq!(send(&mut shell, &data(1)), 1, "1,500 bytes at 1 Gbps end later than 13,500 at 10");
    shell.room.candidates = vec![4, 6];
    queues(&mut shell, [0, 0, 500, 0]);
    assert_eq!(send(&mut shell, &data(1)), 0, "both would overtake it, and the slow port ends last");
}

#[test]
fn long_flows_are_rerouted_if_order_costs_more_than_told() {
    // The flow is at way 0, where 10,000 bytes wait, which take 8 µs; the others are empty but would overtake it.
    for (packets, cost_us, rerouted) in [(3, 7.9, true), (2, 7.9, false), (3, 8.0, false)] {
        let config = Config { reroute_after_bytes: 3_000.0, reroute_delay_us: cost_us, ..Config::default() };
        let mut shell = leaf(&config);
        queues(&mut shell, [10_000, 90_000, 90_000, 90_000]);
        (0..packets).for_each(|_| assert_eq!(send(&mut shell, &data(1)), 0));
        queues(&mut shell, [10_000, 0, 0, 0]);
        let way = send(&mut shell, &data(1));
        assert_eq!(way != 0, rerouted, "{packets} packets of 1,460 bytes, {cost_us} µs");
        // After that it has its order there.
        queues(&mut shell, [0, 0, 0, 0]);
        assert!(!rerouted || send(&mut shell, &data(1)) == way);
    }
}

#[test]
fn acknowledgements_have_an_order_of_their_own_and_are_never_rerouted() {
    let config = Config { reroute_after_bytes: 0.0, reroute_delay_us: 0.0, ..Config::default() };
    let mut shell = leaf(&config);
    queues(&mut shell, [1_000, 9_000, 9_000, 9_000]);
    assert_eq!(send(&mut shell, &ack(1)), 0);
    queues(&mut shell, [5_000, 900, 900, 900]);
    assert_eq!(send(&mut shell, &ack(1)), 0);
    let probe = Packet { kind: Kind::Probe, ..ack(1) };
    assert_ne!(send(&mut shell, &probe), 0);
    assert_eq!(send(&mut shell, &ack(1)), 0, "the probe is of no flow");
}

#[test]
fn equal_queues_are_drawn_from_evenly() {
    let mut shell = leaf(&Config::default());
    let mut seen = [0u32; 4];
    for flow in 0..4_000 {
        seen[send(&mut shell, &data(flow)) as usize] += 1;
    }
    assert!(seen.iter().all(|n| n.abs_diff(1_000) < 150), "{seen:?}");
}
