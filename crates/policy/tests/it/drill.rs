//! DRILL at a leaf with eight uplinks, and its queues against those of random spraying.

use crate::common::{Shell, data};
use spinewise_policy::schemes::drill::{Config, Drill, Memory, Within};
use spinewise_policy::{Hashed, Kind, Packet, Peers, Policy, Port, Rng, Shape, Tier};

const UPLINKS: usize = 8;

fn drill(d: u32, m: u32, memory: Memory) -> Shell<Drill> {
    Shell::new(&Config { d, m, memory, components: Within::Off }, Tier::Leaf, 0, UPLINKS as u16)
}

fn queues(shell: &mut Shell<Drill>, bytes: [u64; UPLINKS]) {
    shell.room.ports.bytes[4..].copy_from_slice(&bytes);
}

/// The uplink, from zero, of a packet to host `dst` of leaf 1.
fn pick_to(shell: &mut Shell<Drill>, dst: u32) -> usize {
    let way = shell.pick(dst, &Packet { dst, ..data(1) }, &mut ()).index();
    shell.room.candidates[way] as usize - 4
}

fn pick(shell: &mut Shell<Drill>) -> usize {
    pick_to(shell, 4)
}

#[test]
fn the_remembered_port_wins_ties() {
    let mut shell = drill(2, 1, Memory::Dst);
    let first = pick(&mut shell);
    for bytes in [0, 1, 90_000] {
        queues(&mut shell, [bytes; UPLINKS]);
        assert!((0..200).all(|_| pick(&mut shell) == first), "all queues hold {bytes} bytes");
    }
}

#[test]
fn a_port_goes_before_the_remembered_one_only_with_a_strictly_shorter_queue() {
    for (other, moves) in [(1_001, false), (1_000, false), (999, true)] {
        let mut shell = drill(2, 1, Memory::Dst);
        let first = pick(&mut shell);
        let mut bytes = [1_000_000; UPLINKS];
        (bytes[first], bytes[(first + 3) % UPLINKS]) = (1_000, other);
        queues(&mut shell, bytes);
        let picked: Vec<usize> = (0..200).map(|_| pick(&mut shell)).collect();
        let end = if moves { (first + 3) % UPLINKS } else { first };
        // With two drawn of eight, the other is seen within a few packets.
        assert_eq!(*picked.last().unwrap(), end);
        assert!(picked.iter().all(|port| *port == first || *port == end), "no longer queue: {picked:?}");
        assert!(picked.is_sorted_by_key(|port| *port == end), "not back again: {picked:?}");
    }
}

#[test]
fn all_ports_are_seen_with_d_of_them_and_without_memory_each_draw_stands_alone() {
    let bytes = [40, 30, 20, 10, 50, 60, 70, 80];
    let mut all = drill(UPLINKS as u32, 0, Memory::Dst);
    queues(&mut all, bytes);
    assert!((0..50).all(|_| pick(&mut all) == 3));
    // The shortest of two drawn is the r-th shortest in (8 − r) of 28 pairs.
    let mut two = drill(2, 0, Memory::Dst);
    queues(&mut two, bytes);
    let mut counts = [0u32; UPLINKS];
    (0..28_000).for_each(|_| counts[pick(&mut two)] += 1);
    let mut ranks: Vec<usize> = (0..UPLINKS).collect();
    ranks.sort_by_key(|port| bytes[*port]);
    for (rank, port) in ranks.iter().enumerate() {
        let expected = (UPLINKS - 1 - rank) as u32 * 1_000;
        assert!(counts[*port].abs_diff(expected) < 300, "{port} came {} times, not {expected}", counts[*port]);
    }
}

#[test]
fn a_port_that_is_gone_is_never_picked_and_a_remembered_one_comes_back() {
    for m in [1, 2] {
        for memory in [Memory::Dst, Memory::Engine, Memory::Port] {
            let mut shell = drill(2, m, memory);
            let first = pick(&mut shell);
            shell.room.candidates.retain(|port| *port as usize != first + 4);
            let after: Vec<usize> = (0..500).map(|_| pick(&mut shell)).collect();
            assert!(after.iter().all(|port| *port != first), "although its queue is empty");
            shell.room.candidates = vec![first as u16 + 4];
            assert!((0..20).all(|_| pick(&mut shell) == first), "the only one left");
        }
    }
}

#[test]
fn memory_is_of_the_destination_or_of_the_switch() {
    for (memory, shared) in [(Memory::Dst, false), (Memory::Engine, true)] {
        let mut together = 0;
        for seed in 0..200 {
            let mut shell = drill(2, 1, memory);
            shell.rng = Rng::stream(seed, "drill", 0);
            let here = pick_to(&mut shell, 4);
            // With equal queues a memory decides, and without one the draw does.
            together += u32::from(pick_to(&mut shell, 5) == here);
            assert_eq!(pick_to(&mut shell, 4), here);
        }
        let shape = Shape { tier: Tier::Leaf, hosts: 16, leaves: 4, ports: 12, ways: 8 };
        let peers = drill(2, 1, memory).policy.layout(&shape).peers;
        assert_eq!(peers, if shared { Peers::None } else { Peers::Hosts });
        assert!(if shared { together == 200 } else { together < 50 }, "{memory:?}: {together} of 200");
    }
}

#[test]
fn an_engine_per_port_remembers_what_came_by_it() {
    let by = |port: u16| Packet { in_port: Port(port), ..data(1) };
    let mut together = 0;
    for seed in 0..200 {
        let mut shell = drill(2, 1, Memory::Port);
        shell.rng = Rng::stream(seed, "drill", 0);
        let mut pick = |port: u16| shell.pick(4, &by(port), &mut ());
        // A packet made here came by no port, and uses the switch's own memory.
        let first = [pick(0), pick(3), pick(u16::MAX)];
        assert_eq!([pick(0), pick(3), pick(u16::MAX)], first);
        together += u32::from(first[0] == first[1]) + u32::from(first[0] == first[2]);
    }
    assert!(together < 100, "each draws for itself, one in eight alike: {together} of 400");
}

#[test]
fn two_memories_keep_the_two_shortest() {
    let mut shell = drill(1, 2, Memory::Dst);
    let bytes = [50, 10, 40, 20, 60, 70, 80, 90];
    queues(&mut shell, bytes);
    (0..300).for_each(|_| {
        pick(&mut shell);
    });
    assert_eq!(pick(&mut shell), 1);
    // The shortest grows: the second is known, and no port but these two and the one drawn is sampled.
    let mut grown = bytes;
    grown[1] = 1_000;
    queues(&mut shell, grown);
    assert_eq!(pick(&mut shell), 3, "remembered, whatever is drawn");
    // If one port is sampled, one is remembered: 3 is back only if it is drawn.
    let again = (0..400).filter(|_| {
        queues(&mut shell, bytes);
        shell.room.candidates = (4..12).collect();
        (0..100).for_each(|_| {
            pick(&mut shell);
        });
        shell.room.candidates = vec![4 + 7];
        assert_eq!(pick(&mut shell), 7);
        shell.room.candidates = (4..12).collect();
        pick(&mut shell) == 3
    });
    let again = again.count();
    assert!((20..90).contains(&again), "{again} of 400, not one in eight");
}

/// Packets that arrive randomly at eight links; returns the mean over all arrivals of (the longest queue, the packet's
/// own queue), in packets. A slot is the time of a packet on a link; in each of 32 parts of a slot one arrives or none.
fn longest_and_own(arrivals: &mut Rng, mut choose: impl FnMut(&[u64]) -> usize) -> (f64, f64) {
    let mut queues = [0u64; UPLINKS];
    let (mut longest, mut own, mut packets) = (0, 0, 0);
    for part in 0..40_000u64 {
        // Every link sends in a period of its own, so that no draw is between links that have all just sent.
        let link = (part % 32) as usize;
        if link.is_multiple_of(4) {
            queues[link / 4] = queues[link / 4].saturating_sub(1_500);
        }
        // 0.8 of the eight links' capacity.
        if arrivals.below(100) < 20 {
            let port = choose(&queues);
            own += queues[port];
            queues[port] += 1_500;
            longest += queues.iter().max().unwrap();
            packets += 1;
        }
    }
    let mean = |bytes: u64| bytes as f64 / 1_500.0 / packets as f64;
    (mean(longest), mean(own))
}

/// Mean and half-width of its 99 % interval.
fn interval(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0);
    // Student's t for 19 degrees of freedom.
    (mean, 2.861 * (variance / n).sqrt())
}

#[test]
fn queues_are_shorter_than_those_of_random_spraying_on_the_same_arrivals() {
    for (d, m, memory) in [(2, 1, Memory::Dst), (2, 1, Memory::Engine), (1, 1, Memory::Engine), (2, 1, Memory::Port)] {
        let (mut longest, mut own) = (vec![], vec![]);
        for run in 0..20 {
            let stream = || Rng::stream(run, "arrivals", 0);
            let mut spray = Rng::stream(run, "spray", 0);
            let sprayed = longest_and_own(&mut stream(), |_| spray.below(UPLINKS as u32) as usize);
            let mut shell = drill(d, m, memory);
            shell.rng = Rng::stream(run, "drill", 0);
            let mut destination = Rng::stream(run, "destination", 0);
            let drilled = longest_and_own(&mut stream(), |bytes| {
                queues(&mut shell, bytes.try_into().unwrap());
                pick_to(&mut shell, 4 + destination.below(12))
            });
            longest.push(drilled.0 - sprayed.0);
            own.push(drilled.1 - sprayed.1);
        }
        for (what, differences) in [("longest", longest), ("own", own)] {
            let (mean, half) = interval(&differences);
            assert!(mean + half < 0.0, "DRILL({d},{m}) {memory:?}: {what} queue longer by {mean} ± {half} packets");
        }
    }
}

/// A leaf whose first two uplinks carry 10 Gbps together, and the others 30.
fn two_components() -> Shell<Drill> {
    let config = Config { components: Within::Symmetric, ..Config::default() };
    let mut shell = Shell::<Drill>::new(&config, Tier::Leaf, 0, UPLINKS as u16);
    shell.room.ports.components = vec![(10_000_000_000, vec![4, 5]), (30_000_000_000, (6..12).collect())];
    shell
}

/// The uplink of a packet of flow `flow`.
fn pick_of(shell: &mut Shell<Drill>, flow: u64, kind: Kind) -> usize {
    let hashed = Hashed::Mixed { pair: 4, inner: flow << 8, tag: 0 };
    let way = shell.pick(4, &Packet { dst: 4, hashed, kind, ..data(1) }, &mut ()).index();
    shell.room.candidates[way] as usize - 4
}

#[test]
fn a_flow_keeps_to_its_component_and_flows_share_them_by_what_they_carry() {
    let mut shell = two_components();
    let mut first = 0;
    for flow in 0..4_000 {
        let picked = pick_of(&mut shell, flow, Kind::Data) < 2;
        first += u32::from(picked);
        // Half of the time the memory is of the other component, and does not count then.
        assert!((0..5).all(|_| (pick_of(&mut shell, flow, Kind::Data) < 2) == picked), "flow {flow}");
    }
    // A quarter; the deviation of 4,000 draws is 27.
    assert!(first.abs_diff(1_000) < 100, "{first}");
}

#[test]
fn within_a_component_the_shortest_queue_wins_and_dead_ports_do_not_count() {
    let mut shell = two_components();
    let flow = (0..).find(|&flow| pick_of(&mut shell, flow, Kind::Data) >= 2).expect("three quarters");
    // Shorter ones in the other component are not sampled.
    queues(&mut shell, [0, 0, 70, 60, 50, 10, 80, 90]);
    let last = (0..200).map(|_| pick_of(&mut shell, flow, Kind::Data)).last();
    assert_eq!(last, Some(5));
    shell.room.candidates = vec![4, 5, 6];
    assert!((0..20).all(|_| pick_of(&mut shell, flow, Kind::Data) == 2), "the only one left of its own");
    shell.room.candidates = vec![4, 5];
    assert!((0..20).all(|_| pick_of(&mut shell, flow, Kind::Data) < 2), "none left: any port");
}

#[test]
fn what_is_of_no_flow_chooses_among_all_ports() {
    let mut shell = two_components();
    queues(&mut shell, [5, 4, 9, 9, 9, 9, 9, 9]);
    let last = (0..200).map(|_| pick_of(&mut shell, 1, Kind::Probe)).last();
    assert_eq!(last, Some(1));
}
