//! ECMP that leaves the worst port, at a leaf with eight uplinks.

use crate::common::{Shell, data};
use spinewise_policy::schemes::host_ar::{Config, HostAr};
use spinewise_policy::*;

fn leaf(replace_probability: f64, bytes: [u64; 8]) -> Shell<HostAr> {
    let mut shell = Shell::new(&Config { replace_probability, ..Config::default() }, Tier::Leaf, 0, 8);
    shell.room.ports.bytes[4..].copy_from_slice(&bytes);
    shell.now = Time(1_000_000_000);
    shell
}

/// A packet that is hashed to this uplink.
fn hashed_to(uplink: u32) -> Packet {
    let packet = |pair: u64| Packet { hashed: Hashed::Mixed { pair, inner: 0, tag: 0 }, ..data(1) };
    (0..10_000).map(packet).find(|packet| packet.spread(99, 8) == uplink).expect("one of them")
}

fn taken(shell: &mut Shell<HostAr>, packet: &Packet) -> [u32; 8] {
    let mut taken = [0; 8];
    (0..4_000).for_each(|_| taken[shell.pick(4, packet, &mut ()).index()] += 1);
    taken
}

/// Levels 3, 3, 2, 2, 0, 0, 1, 1.
const QUEUES: [u64; 8] = [50_000, 20_000, 12_000, 11_000, 100, 0, 6_000, 7_000];

#[test]
fn what_is_hashed_to_a_worst_port_goes_to_a_best_one() {
    let mut shell = leaf(1.0, QUEUES);
    for worst in [0, 1] {
        let counts = taken(&mut shell, &hashed_to(worst));
        assert!([4, 5].iter().all(|best: &usize| counts[*best].abs_diff(2_000) < 160), "{counts:?}");
    }
    for other in 2..8 {
        assert_eq!(taken(&mut shell, &hashed_to(other))[other as usize], 4_000, "a better one stays");
    }
}

#[test]
fn a_coin_decides_whether_the_port_is_looked_at() {
    let counts = taken(&mut leaf(0.5, QUEUES), &hashed_to(0));
    assert!(counts[0].abs_diff(2_000) < 160 && counts[4].abs_diff(1_000) < 120, "{counts:?}");
    assert_eq!(taken(&mut leaf(0.0, QUEUES), &hashed_to(0))[0], 4_000);
}

#[test]
fn where_all_are_alike_the_worst_is_the_best() {
    let counts = taken(&mut leaf(1.0, [0; 8]), &hashed_to(3));
    assert!(counts.iter().all(|count| count.abs_diff(500) < 90), "{counts:?}");
}
