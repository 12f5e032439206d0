//! TTC at one switch: the default port, when it is left, and for which other.

use crate::common::{Shell, data};
use spinewise_policy::schemes::ttc::{Config, Ttc};
use spinewise_policy::{Packet, Tier};

const UPLINKS: usize = 8;

fn at(tier: Tier, config: &Config) -> Shell<Ttc> {
    Shell::new(config, tier, if tier == Tier::Leaf { 0 } else { 9 }, UPLINKS as u16)
}

fn leaf() -> Shell<Ttc> {
    at(Tier::Leaf, &Config::default())
}

/// The way of a packet to host `dst`.
fn pick(shell: &mut Shell<Ttc>, dst: u32) -> usize {
    shell.pick(dst / 4, &Packet { dst, ..data(1) }, &mut ()).index()
}

/// Queues of the uplinks.
fn queues(shell: &mut Shell<Ttc>, bytes: [u64; UPLINKS]) {
    shell.room.ports.bytes[4..].copy_from_slice(&bytes);
}

#[test]
fn below_the_threshold_no_packet_leaves_the_default_port() {
    let mut shell = leaf();
    // Host 5's default is way 5: longer than all others by exactly the threshold.
    queues(&mut shell, [1_000, 1_000, 1_000, 1_000, 1_000, 16_000, 1_000, 1_000]);
    assert!((0..500).all(|_| pick(&mut shell, 5) == 5));
    for dst in 4..16 {
        queues(&mut shell, [0; UPLINKS]);
        assert_eq!(pick(&mut shell, dst), dst as usize % UPLINKS);
    }
}

#[test]
fn above_it_the_packet_goes_to_a_random_port_that_is_so_much_shorter() {
    let mut shell = leaf();
    queues(&mut shell, [1_000, 999, 40_000, 0, 1_000, 16_000, 500, 1_001]);
    let mut counts = [0; UPLINKS];
    (0..7_000).for_each(|_| counts[pick(&mut shell, 5)] += 1);
    // Each other way is drawn once in seven times; only 1, 3 and 6 are shorter by more than 15,000 bytes.
    for (way, &count) in counts.iter().enumerate() {
        let expected: u32 = match way {
            1 | 3 | 6 => 1_000,
            5 => 4_000,
            _ => 0,
        };
        assert!(u32::abs_diff(count, expected) <= expected / 8, "way {way} came {count} times, not {expected}");
    }
}

#[test]
fn without_a_threshold_it_is_the_shorter_of_two_and_the_default_wins_ties() {
    let mut shell = at(Tier::Leaf, &Config { threshold_bytes: 0.0 });
    queues(&mut shell, [7, 7, 7, 7, 7, 7, 7, 7]);
    assert!((0..200).all(|_| pick(&mut shell, 6) == 6));
    queues(&mut shell, [7, 7, 7, 7, 7, 7, 8, 7]);
    assert!((0..200).all(|_| pick(&mut shell, 6) != 6));
}

#[test]
fn tiers_read_different_digits_of_the_destination_and_one_port_is_no_choice() {
    let mut aggregation = at(Tier::Aggregation, &Config::default());
    assert_eq!([4, 7, 8, 15].map(|dst| pick(&mut aggregation, dst)), [0, 0, 1, 1]);
    let mut shell = leaf();
    shell.room.candidates = vec![6];
    shell.room.ports.bytes[6] = 1_000_000;
    assert_eq!([4, 5, 15].map(|dst| pick(&mut shell, dst)), [0; 3]);
    // One port lost: digits to the base of the remaining number.
    shell.room.candidates = vec![4, 5, 7];
    shell.room.ports.bytes[6] = 0;
    assert_eq!([4, 5, 6].map(|dst| pick(&mut shell, dst)), [1, 2, 0]);
}
