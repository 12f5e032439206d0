//! Resilient hashing at a leaf with eight uplinks: what moves when members go and come back.

use crate::common::{Shell, data};
use spinewise_policy::schemes::resilient::{Config, Resilient};
use spinewise_policy::*;

/// The ports of 4,000 flows.
fn ports(shell: &mut Shell<Resilient>) -> Vec<u16> {
    let candidates = shell.room.candidates.clone();
    let packet = |pair: u64| Packet { hashed: Hashed::Mixed { pair, inner: 0, tag: 0 }, ..data(1) };
    (0..4_000).map(|pair| shell.pick(1, &packet(pair), &mut ()).index()).map(|way| candidates[way]).collect()
}

#[test]
fn only_flows_of_the_member_that_is_gone_move_and_they_come_back() {
    let mut shell: Shell<Resilient> = Shell::new(&Config::default(), Tier::Leaf, 0, 8);
    let all = ports(&mut shell);
    let of = |ports: &[u16], port: u16| ports.iter().filter(|p| **p == port).count();
    assert!((4..12).all(|port| of(&all, port).abs_diff(500) < 100));
    for gone in [vec![6], vec![6, 9]] {
        shell.room.candidates = (4..12).filter(|port| !gone.contains(port)).collect();
        let left = ports(&mut shell);
        assert!(all.iter().zip(&left).all(|(before, after)| gone.contains(before) || before == after));
        // The flows that moved are spread over all that remain.
        let moved: Vec<u16> =
            all.iter().zip(&left).filter(|(before, _)| gone.contains(before)).map(|(_, after)| *after).collect();
        let fair = moved.len() / shell.room.candidates.len();
        assert!(shell.room.candidates.iter().all(|&port| of(&moved, port) > fair / 3), "{moved:?}");
    }
    shell.room.candidates = (4..12).collect();
    assert_eq!(ports(&mut shell), all);
}

#[test]
fn a_second_failure_and_a_repair_leave_other_flows_alone() {
    let mut shell: Shell<Resilient> = Shell::new(&Config::default(), Tier::Leaf, 0, 8);
    let mut at = |gone: &[u16]| {
        shell.room.candidates = (4..12).filter(|port| !gone.contains(port)).collect();
        ports(&mut shell)
    };
    let (all, one, two, other) = (at(&[]), at(&[6]), at(&[6, 9]), at(&[9]));
    assert!(one.iter().zip(&two).all(|(before, after)| before == after || *before == 9));
    assert!(two.iter().zip(&other).all(|(before, after)| before == after || *after == 6));
    // What the member that returned has now is its own, and a share of the other's.
    assert!(all.iter().zip(&other).all(|(own, now)| *own == 9 || own == now));
    assert!(all.iter().zip(&other).any(|(own, now)| *own == 9 && *now == 6));
}

#[test]
fn with_two_buckets_two_members_carry_all() {
    let mut shell: Shell<Resilient> = Shell::new(&Config { buckets: 2 }, Tier::Leaf, 0, 8);
    let mut used = ports(&mut shell);
    used.sort_unstable();
    used.dedup();
    assert_eq!(used, [4, 5]);
}
