//! Adaptive routing at a leaf with eight uplinks: levels, how long they hold, ties, comparisons, small packets, flowlets.

use crate::common::{Shell, ack, data};
use spinewise_policy::fabric::bands::Compare;
use spinewise_policy::schemes::adaptive::{Adaptive, Config, Unit};
use spinewise_policy::*;

const UPLINKS: usize = 8;

/// A shell at a time when levels may be measured again.
fn leaf(config: &Config) -> Shell<Adaptive> {
    let mut shell = Shell::new(config, Tier::Leaf, 0, UPLINKS as u16);
    shell.now = Time(1_000_000_000);
    shell
}

fn queues(shell: &mut Shell<Adaptive>, bytes: [u64; UPLINKS]) {
    shell.room.ports.bytes[4..].copy_from_slice(&bytes);
}

fn pick(shell: &mut Shell<Adaptive>) -> usize {
    shell.pick(4, &data(1), &mut ()).index()
}

/// Counts how many times each uplink is taken, at one instant.
fn taken(shell: &mut Shell<Adaptive>, times: u32) -> [u32; UPLINKS] {
    let mut taken = [0; UPLINKS];
    (0..times).for_each(|_| taken[pick(shell)] += 1);
    taken
}

#[test]
fn queues_of_one_level_tie_and_are_drawn_evenly() {
    // Levels in a room of 100,000 bytes: 1, 0, 0, 1, 0, 2, 3, 0.
    let mut shell = leaf(&Config::default());
    queues(&mut shell, [5_000, 0, 4_999, 9_999, 1, 10_000, 20_000, 4_000]);
    let counts = taken(&mut shell, 8_000);
    for (uplink, count) in counts.into_iter().enumerate() {
        let expected = if [1, 2, 4, 7].contains(&uplink) { 2_000 } else { 0 };
        assert!(count.abs_diff(expected) < 160, "{counts:?}");
    }
    // The best available, whatever its level.
    let mut shell = leaf(&Config::default());
    queues(&mut shell, [90_000, 20_000, 99_999, 19_999, 20_001, 50_000, 60_000, 70_000]);
    assert_eq!(taken(&mut shell, 50)[3], 50);
}

#[test]
fn a_level_holds_for_a_tenth_of_a_microsecond() {
    let mut shell = leaf(&Config::default());
    queues(&mut shell, [30_000, 30_000, 0, 30_000, 30_000, 30_000, 30_000, 30_000]);
    assert_eq!(pick(&mut shell), 2);
    queues(&mut shell, [0, 30_000, 30_000, 30_000, 30_000, 30_000, 30_000, 30_000]);
    shell.wait(Span::from_ns(100));
    assert_eq!(pick(&mut shell), 2, "not older than the period");
    shell.wait(Span(1));
    assert_eq!(pick(&mut shell), 0, "older");
    let mut every = leaf(&Config { refresh_us: 0.0, ..Config::default() });
    queues(&mut every, [30_000; UPLINKS]);
    pick(&mut every);
    every.wait(Span(1));
    every.room.ports.bytes[4 + 5] = 0;
    assert_eq!(pick(&mut every), 5);
}

#[test]
fn small_packets_are_hashed_and_stay() {
    let mut shell = leaf(&Config::default());
    let hashed = |dst: u64| Packet { hashed: Hashed::Mixed { pair: dst, inner: 1, tag: 0 }, wire: 99, ..ack(1) };
    let mut seen = std::collections::BTreeSet::new();
    for pair in 0..50 {
        let first = shell.pick(4, &hashed(pair), &mut ());
        queues(&mut shell, [if pair % 2 == 0 { 90_000 } else { 0 }; UPLINKS]);
        shell.wait(Span::from_us(1));
        assert_eq!(shell.pick(4, &hashed(pair), &mut ()), first);
        seen.insert(first.0);
    }
    assert_eq!(seen.len(), UPLINKS);
    let large: std::collections::BTreeSet<u16> =
        (0..200).map(|_| shell.pick(4, &Packet { wire: 100, ..ack(1) }, &mut ()).0).collect();
    assert_eq!(large.len(), UPLINKS, "100 bytes are not few");
}

#[test]
fn what_is_compared_first_decides() {
    // Uplink 1 has the shortest queue, 2 is the only one unused, 3 the only one not paused.
    let choose = |compare: Compare| {
        let mut shell = leaf(&Config { compare, ..Config::default() });
        queues(&mut shell, [9_000, 0, 9_000, 9_000, 9_000, 9_000, 9_000, 9_000]);
        shell.room.ports.busy = vec![Span::from_us(900); 12];
        shell.room.ports.busy[6] = Span::ZERO;
        shell.room.ports.paused = (4..12).filter(|port| *port != 7).collect();
        taken(&mut shell, 20).iter().position(|times| *times == 20)
    };
    assert_eq!(choose(Compare::Queue), Some(1));
    assert_eq!(choose(Compare::Bandwidth), Some(2));
    assert_eq!(choose(Compare::Pause), Some(3));
    assert_eq!([Compare::Pqb, Compare::Pq, Compare::Pb].map(choose), [Some(3); 3]);
    assert_eq!(choose(Compare::Qb), Some(1));
}

/// 0, below 15 %, below 50 % and more of the time since the start of the previous window.
#[test]
fn the_use_of_a_link_is_that_of_the_last_windows() {
    let mut shell = leaf(&Config { compare: Compare::Bandwidth, ..Config::default() });
    shell.room.ports.busy = vec![Span::ZERO; 12];
    pick(&mut shell);
    shell.wait(Span::from_us(30));
    pick(&mut shell);
    // Only uplink 6 is idle for 100 us; then it alone sends, and after two windows it alone counts as used.
    let send = |shell: &mut Shell<Adaptive>, us: u64, sends: fn(usize) -> bool| {
        for _ in 0..us {
            shell.wait(Span::from_us(1));
            (4..12).filter(|port| sends(*port)).for_each(|port| shell.room.ports.busy[port] += Span::from_us(1));
            pick(shell);
        }
        taken(shell, 400)
    };
    let rested = send(&mut shell, 100, |port| port != 10);
    assert_eq!(rested[6], 400, "{rested:?}");
    let sent = send(&mut shell, 61, |port| port == 10);
    assert!(sent[6] == 0 && sent.iter().filter(|n| **n > 30).count() == 7, "{sent:?}");
}

#[test]
fn what_was_sent_before_a_pause_is_not_mixed_with_what_is_sent_after() {
    let mut shell = leaf(&Config { compare: Compare::Bandwidth, ..Config::default() });
    shell.room.ports.busy = vec![Span::ZERO; 12];
    pick(&mut shell);
    shell.wait(Span::from_us(30));
    pick(&mut shell);
    shell.wait(Span::from_us(1000));
    pick(&mut shell);
    // All are used for a millionth of a second of the last, uplink 6 for none: over the pause, too little for level 2.
    shell.wait(Span::from_us(1));
    (4..12).for_each(|port| shell.room.ports.busy[port] += Span::from_ns(if port == 10 { 100 } else { 900 }));
    assert_eq!(taken(&mut shell, 100)[6], 100);
}

#[test]
fn a_flow_moves_after_a_gap_to_a_strictly_better_port() {
    let flowlets = |move_probability: f64| {
        let config = Config { unit: Unit::Flowlet, move_probability, ..Config::default() };
        let mut shell = leaf(&config);
        queues(&mut shell, [30_000, 30_000, 30_000, 12_000, 30_000, 30_000, 30_000, 30_000]);
        assert_eq!(pick(&mut shell), 3, "a new flow takes the best");
        shell
    };
    let mut shell = flowlets(1.0);
    queues(&mut shell, [30_000, 0, 30_000, 12_000, 30_000, 30_000, 30_000, 30_000]);
    shell.wait(Span::from_us(10));
    assert_eq!(pick(&mut shell), 3, "the gap itself is not longer than the gap");
    shell.wait(Span::from_us(10) + Span(1));
    assert_eq!(pick(&mut shell), 1);
    // Equal is not better.
    queues(&mut shell, [0, 4_000, 0, 0, 0, 0, 0, 0]);
    shell.wait(Span::from_us(50));
    assert_eq!(pick(&mut shell), 1);
    // Its port leaves the group.
    shell.room.candidates.retain(|port| *port != 5);
    assert_ne!(pick(&mut shell), 8);
    let mut never = flowlets(0.0);
    queues(&mut never, [0, 0, 0, 90_000, 0, 0, 0, 0]);
    never.wait(Span::from_us(50));
    assert_eq!(pick(&mut never), 3, "the coin never says so");
    let moved = (0..1_000).filter(|seed| {
        let mut shell = flowlets(0.5);
        shell.rng = Rng::stream(*seed, "test", 0);
        queues(&mut shell, [0, 0, 0, 90_000, 0, 0, 0, 0]);
        shell.wait(Span::from_us(50));
        pick(&mut shell) != 3
    });
    assert!(moved.count().abs_diff(500) < 60);
}

#[test]
fn levels_must_rise() {
    let with = |config: Config| Adaptive::new(&config).clash();
    assert_eq!(with(Config::default()), None);
    let (key, allowed, beside) = with(Config { level_2_percent: 4.0, ..Config::default() }).unwrap();
    assert_eq!((key, beside), ("level_2_percent", "level_1_percent"));
    assert_eq!(allowed, config::Allowed::Number { min: 5.0, max: 100.0 });
}
