//! Round robin at a switch: each round has every port once, in an order that changes.

use crate::common::{Shell, data};
use spinewise_policy::schemes::round_robin::{Config, Lists, RoundRobin, Tiers};
use spinewise_policy::*;
use std::collections::BTreeSet;

fn switch(tier: Tier, tiers: Tiers, reshuffle_rounds: u32) -> Shell<RoundRobin> {
    Shell::new(&Config { tiers, reshuffle_rounds, least_bytes: 128, lists: Lists::Switch }, tier, 0, 8)
}

/// The uplinks of one round.
fn round(shell: &mut Shell<RoundRobin>) -> Vec<u16> {
    (0..8).map(|flow| shell.pick(4, &data(flow), &mut ()).0).collect()
}

#[test]
fn a_list_that_is_never_shuffled_stays_the_same_for_ever() {
    let mut shell = switch(Tier::Leaf, Tiers::All, 0);
    let first = round(&mut shell);
    assert!((0..70_000).all(|_| round(&mut shell) == first), "more rounds than 16 bits count");
}

#[test]
fn each_round_has_every_uplink_once_and_lasts_as_long_as_it_should() {
    for (rounds, changes) in [(1, 1), (5, 5), (0, usize::MAX)] {
        let mut shell = switch(Tier::Leaf, Tiers::All, rounds);
        let all: Vec<Vec<u16>> = (0..40).map(|_| round(&mut shell)).collect();
        for (n, one) in all.iter().enumerate() {
            assert_eq!(one.iter().collect::<BTreeSet<_>>().len(), 8, "{one:?}");
            assert_eq!(n > 0 && all[n - 1] != *one, n > 0 && n % changes == 0, "round {n} of {rounds}");
        }
        assert_ne!(all[0], (0..8).collect::<Vec<_>>(), "shuffled before the first packet");
    }
}

#[test]
fn every_order_is_as_likely() {
    let mut first = [[0u32; 8]; 8];
    let mut shell = switch(Tier::Leaf, Tiers::All, 1);
    for _ in 0..8_000 {
        for (at, uplink) in round(&mut shell).into_iter().enumerate() {
            first[at][usize::from(uplink)] += 1;
        }
    }
    assert!(first.as_flattened().iter().all(|times| times.abs_diff(1_000) < 150), "{first:?}");
}

#[test]
fn ports_that_do_not_lead_there_are_passed_over() {
    let mut shell = switch(Tier::Leaf, Tiers::All, 1);
    shell.room.candidates = vec![5, 7, 10];
    let counts = (0..3_000).fold([0u32; 3], |mut counts, _| {
        counts[shell.pick(4, &data(1), &mut ()).index()] += 1;
        counts
    });
    assert!(counts.iter().all(|count| count.abs_diff(1_000) < 120), "{counts:?}");
    // A single candidate leaves no turn to take.
    let node = shell.node;
    shell.room.candidates = vec![6];
    assert_eq!((shell.pick(4, &data(1), &mut ()), shell.node), (Way(0), node));
}

#[test]
fn other_switches_hash_if_leaves_alone_take_turns() {
    let mut spine = switch(Tier::Aggregation, Tiers::Leaf, 5);
    let all: BTreeSet<u16> = (0..50).map(|_| spine.pick(4, &data(1), &mut ()).0).collect();
    assert_eq!(all.len(), 1);
    let mut leaf = switch(Tier::Leaf, Tiers::Leaf, 5);
    assert_eq!(round(&mut leaf).iter().collect::<BTreeSet<_>>().len(), 8);
}

#[test]
fn small_packets_are_hashed_and_take_no_turn() {
    let mut shell = switch(Tier::Leaf, Tiers::All, 1);
    let small = Packet { wire: 127, ..data(1) };
    shell.pick(4, &data(2), &mut ());
    let before = shell.node;
    let all: BTreeSet<u16> = (0..50).map(|_| shell.pick(4, &small, &mut ()).0).collect();
    assert_eq!((all.len(), shell.node), (1, before));
    shell.pick(4, &Packet { wire: 128, ..small }, &mut ());
    assert_ne!(shell.node, before);
}

#[test]
fn a_destination_has_a_list_above_leaves_that_all_its_flows_share() {
    let config = Config { tiers: Tiers::All, reshuffle_rounds: 1, least_bytes: 128, lists: Lists::Destination };
    let mut shell: Shell<RoundRobin> = Shell::new(&config, Tier::Aggregation, 0, 8);
    let ways = |shell: &mut Shell<RoundRobin>, hosts: &dyn Fn(u32) -> u32| -> usize {
        (0..8).map(|flow| shell.pick(hosts(flow), &data(flow), &mut ()).0).collect::<BTreeSet<_>>().len()
    };
    for _ in 0..20 {
        assert_eq!(ways(&mut shell, &|_| 4), 8, "eight flows to one host: each uplink once");
    }
    let met: usize = (0..20).map(|_| ways(&mut shell, &|flow| flow)).sum();
    assert!(met < 150, "flows to eight hosts meet by chance: {met}");
}

/// The hash gives a position in the list: after each shuffle another uplink may be there.
#[test]
fn small_packets_of_a_flow_move_as_lists_are_shuffled() {
    let small = Packet { wire: 64, ..data(1) };
    for (tier, lists) in [(Tier::Leaf, Lists::Switch), (Tier::Aggregation, Lists::Destination)] {
        let config = |reshuffle_rounds| Config { tiers: Tiers::All, reshuffle_rounds, least_bytes: 128, lists };
        let uplinks = |reshuffle_rounds| {
            let mut shell = Shell::new(&config(reshuffle_rounds), tier, 0, 8);
            let mut used = [0u32; 8];
            for _ in 0..800 {
                used[shell.pick(4, &small, &mut ()).index()] += 1;
                round(&mut shell);
            }
            used
        };
        assert!(uplinks(1).iter().all(|times| times.abs_diff(100) < 50), "{:?}", uplinks(1));
        assert_eq!(uplinks(0).iter().filter(|&&times| times > 0).count(), 1, "never shuffled");
    }
}
