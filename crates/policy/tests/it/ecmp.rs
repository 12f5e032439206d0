//! ECMP at a leaf: which candidate the hash picks, and which flows move when one goes.

use crate::common::{Shell, data};
use spinewise_policy::schemes::ecmp::{Config, Ecmp};
use spinewise_policy::*;

const FLOWS: u64 = 40_000;

/// The ports of many flows.
fn ports(shell: &mut Shell<Ecmp>) -> Vec<u16> {
    let candidates = shell.room.candidates.clone();
    let packet = |pair: u64| Packet { hashed: Hashed::Mixed { pair, inner: 0, tag: 0 }, ..data(1) };
    (0..FLOWS).map(|pair| shell.pick(1, &packet(pair), &mut ()).index()).map(|way| candidates[way]).collect()
}

/// As in docs/model.md: the hash threshold of RFC 2992, whose stretches are redistributed.
#[test]
fn flows_of_other_candidates_move_too() {
    for n in [2, 4, 8] {
        let mut shell: Shell<Ecmp> = Shell::new(&Config::default(), Tier::Leaf, 0, n);
        let all = ports(&mut shell);
        let whole = shell.room.candidates.clone();
        for (k, &gone) in whole.iter().enumerate() {
            shell.room.candidates = whole.iter().copied().filter(|&port| port != gone).collect();
            let left = ports(&mut shell);
            let moved = all.iter().zip(&left).filter(|(before, now)| before != now).count() as f64 / FLOWS as f64;
            let (k, n) = (k as f64, f64::from(n));
            let expected = 0.5 - k * (n - 1.0 - k) / (n * (n - 1.0));
            assert!((moved - expected).abs() < 0.01, "{k} of {n}: {moved} moved, not {expected}");
            shell.room.candidates.clone_from(&whole);
            assert_eq!(ports(&mut shell), all, "they return");
        }
    }
}
