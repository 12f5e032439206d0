//! SRED at one switch: which packets are marked, and which RED drops.

use crate::common::{Shell, data};
use spinewise_policy::out::Action;
use spinewise_policy::schemes::sred::{Config, Mark, Sred};
use spinewise_policy::*;

/// Leaf 0; paths to leaf 1 were lost.
fn leaf(config: &Config) -> Shell<Sred> {
    let mut shell = Shell::new(config, Tier::Leaf, 0, 4);
    shell.room.ports.lost = vec![1];
    shell
}

/// Whether a packet to leaf `to` is marked that comes in by this port with this mark.
fn marked(shell: &mut Shell<Sred>, to: u32, in_port: u16, affected: bool) -> bool {
    let mut mark = Mark { affected };
    shell.pick(to, &Packet { in_port: Port(in_port), ..data(1) }, &mut mark);
    mark.affected
}

/// Whether a packet is dropped that leaves by port 5.
fn dropped(shell: &mut Shell<Sred>, affected: bool) -> bool {
    shell.egress(Port(5), &data(1), &mut Mark { affected });
    match shell.did[..] {
        [] => false,
        [Action::Discard] => true,
        _ => panic!("odd actions: {:?}", shell.did),
    }
}

#[test]
fn the_first_leaf_marks_the_packets_of_affected_pairs_and_nobody_else_does() {
    let mut shell = leaf(&Config::default());
    assert_eq!([1, 2, 3, 1].map(|to| marked(&mut shell, to, 2, false)), [true, false, false, true]);
    // A packet that passes through keeps its mark.
    for affected in [true, false] {
        assert_eq!(marked(&mut shell, 1, 6, affected), affected);
        let mut spine = Shell::<Sred>::new(&Config::default(), Tier::Spine, 5, 4);
        spine.room.ports.lost = vec![1];
        assert_eq!(marked(&mut spine, 1, 0, affected), affected);
    }
}

#[test]
fn packets_are_sprayed_evenly() {
    let mut shell = leaf(&Config::default());
    let mut counts = [0u32; 4];
    (0..4_000).for_each(|_| counts[shell.pick(1, &data(1), &mut Mark::default()).index()] += 1);
    assert!(counts.iter().all(|times| times.abs_diff(1_000) < 130), "{counts:?}");
}

#[test]
fn only_marked_packets_are_dropped_and_only_where_the_average_is_long() {
    let config = Config { weight: 1.0, gentle: false, ..Config::default() };
    let mut shell = leaf(&config);
    let mut share = |queued: u32, affected: bool| -> u32 {
        shell.room.ports.packets = queued;
        (0..4_000).map(|_| u32::from(dropped(&mut shell, affected))).sum()
    };
    assert_eq!([0, 5, 10, 14, 15, 200].map(|queued| share(queued, false)), [0; 6]);
    assert_eq!([0, 4, 5].map(|queued| share(queued, true)), [0; 3]);
    // Evenly spaced: a chance of 1/20 is one drop in gaps of 1 to 20, 10.5 on average; of 0.09, in 1 to 12 but for 1 %.
    assert!(share(10, true).abs_diff(381) < 25);
    assert!(share(14, true).abs_diff(658) < 45);
    assert_eq!([15, 200].map(|queued| share(queued, true)), [4_000; 2]);
}

#[test]
fn every_packet_moves_the_average_and_one_that_is_dropped_makes_no_line_busy() {
    let mut shell = leaf(&Config { weight: 0.5, max_packets: 6.0, ..Config::default() });
    shell.room.ports.packets = 40;
    (0..6).for_each(|_| assert!(!dropped(&mut shell, false)));
    assert!(dropped(&mut shell, true), "what others queued counts");
    // The line was taken last by an unmarked packet: 1500 bytes at 10 Gbps.
    assert_eq!(shell.ports[5].idle_from, Time(1_200_000));
    shell.room.ports.packets = 0;
    shell.now = Time(1_200_000 * 11);
    assert!(!dropped(&mut shell, true), "idle for ten packets, half of the average gone with each");
    assert!(shell.ports[5].average < 40 << (24 - 9));
}

#[test]
fn the_greater_threshold_must_be_the_greater() {
    let clash = |min: f64, max: f64| {
        let policy = Sred::new(&Config { min_packets: min, max_packets: max, ..Config::default() });
        policy.clash().map(|(key, _, other)| (key, other))
    };
    assert_eq!(clash(5.0, 15.0), None);
    assert_eq!([clash(15.0, 15.0), clash(20.0, 5.0)], [Some(("max_packets", "min_packets")); 2]);
}
