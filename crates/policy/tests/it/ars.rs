//! ARS at a leaf with eight uplinks: samples, bands, flowlets, packets, a full table, a member that leaves.

use crate::common::{Shell, data};
use spinewise_policy::schemes::ars::{Ars, Config, Mode};
use spinewise_policy::*;
use std::collections::BTreeSet;

fn leaf(config: &Config) -> Shell<Ars> {
    let mut shell = Shell::new(config, Tier::Leaf, 0, 8);
    shell.room.ports.busy = vec![Span::ZERO; 12];
    shell
}

fn pick(shell: &mut Shell<Ars>, flow: u32) -> u16 {
    let way = shell.pick(4, &data(flow), &mut ()).index();
    shell.room.candidates[way]
}

/// A sampling interval in which each link was busy for this long and each queue this long at its end.
fn sample(shell: &mut Shell<Ars>, busy_us: [u64; 8], bytes: [u64; 8]) {
    shell.wait(Span::from_us(16));
    for (counter, us) in shell.room.ports.busy[4..].iter_mut().zip(busy_us) {
        *counter += Span::from_us(us);
    }
    shell.room.ports.bytes[4..].copy_from_slice(&bytes);
    shell.tick();
}

#[test]
fn a_flowlet_goes_to_the_best_band_of_past_and_future_load() {
    let mut shell = leaf(&Config { exponent: 0, ..Config::default() });
    // Bands of past load 8, 0, 4, ... : uplinks 1 and 6 are best by it, and of these 6 has a queue.
    sample(&mut shell, [16, 1, 8, 8, 8, 16, 1, 12], [0, 0, 0, 0, 0, 0, 50_000, 0]);
    assert!((0..30).all(|flow| pick(&mut shell, flow) == 5));
    // They stay while their flowlets continue, whatever is sampled.
    sample(&mut shell, [1, 16, 1, 1, 1, 1, 1, 1], [0, 50_000, 0, 0, 0, 0, 0, 0]);
    assert!((0..30).all(|flow| pick(&mut shell, flow) == 5));
    // After the idle time they choose among seven that tie.
    shell.wait(Span::from_us(257));
    let chosen: BTreeSet<u16> = (0..100).map(|flow| pick(&mut shell, flow)).collect();
    assert!(chosen.len() == 7 && !chosen.contains(&5), "{chosen:?}");
}

#[test]
fn averages_take_samples_to_move() {
    let mut shell = leaf(&Config { mode: Mode::PerPacketQuality, future_weight: 0, ..Config::default() });
    let busy = [16, 0, 0, 0, 0, 0, 0, 0];
    // A quarter of the first sample counts: 25 %, the third band. The others are idle.
    sample(&mut shell, busy, [0; 8]);
    assert!((0..100).all(|_| pick(&mut shell, 1) != 4));
    // It is idle too: 18.75 %, 14.1 %, 10.5 %: in the first band after the third sample.
    for (n, there) in [(1, false), (2, false), (3, true)] {
        sample(&mut shell, [0; 8], [0; 8]);
        assert_eq!((0..200).any(|_| pick(&mut shell, 1) == 4), there, "sample {n}");
    }
}

#[test]
fn a_slow_port_counts_its_queue_as_longer() {
    for (scale_by_rate, chosen) in [(true, 5), (false, 4)] {
        let config =
            Config { mode: Mode::PerPacketQuality, past_weight: 0, exponent: 0, scale_by_rate, ..Config::default() };
        let mut shell = leaf(&config);
        shell.room.ports.rates[4] = 1_000_000_000;
        // 4,000 bytes at a tenth of the rate count as 40,000; 13,000 at the full rate are less.
        sample(&mut shell, [0; 8], [4_000, 13_000, 200_000, 200_000, 200_000, 200_000, 200_000, 200_000]);
        assert!((0..20).all(|_| pick(&mut shell, 1) == chosen));
    }
}

#[test]
fn random_modes_ask_for_no_quality_and_packets_for_no_flow() {
    let shape = Shape { tier: Tier::Leaf, hosts: 16, leaves: 4, ports: 12, ways: 8 };
    for (mode, packets, ticks) in [
        (Mode::FlowletRandom, false, false),
        (Mode::PerPacketRandom, true, false),
        (Mode::PerPacketQuality, true, true),
        (Mode::FlowletQuality, false, true),
        (Mode::Fixed, false, true),
    ] {
        let mut shell = leaf(&Config { mode, ..Config::default() });
        assert_eq!(shell.policy.layout(&shape).tick > Span::ZERO, ticks, "{mode:?}");
        let together: BTreeSet<u16> = (0..100).map(|_| pick(&mut shell, 1)).collect();
        assert_eq!(together.len() > 1, packets, "{mode:?}");
        shell.wait(Span::from_us(300));
        let later: BTreeSet<u16> = (0..40)
            .map(|_| {
                shell.wait(Span::from_us(300));
                pick(&mut shell, 1)
            })
            .collect();
        assert_eq!(later.len() > 1, mode != Mode::Fixed, "{mode:?}");
    }
}

#[test]
fn flows_beyond_the_table_are_hashed() {
    let mut shell = leaf(&Config { max_flows: 3, mode: Mode::FlowletRandom, ..Config::default() });
    (0..3).for_each(|flow| _ = pick(&mut shell, flow));
    // All these packets have one hash.
    let beyond: BTreeSet<u16> = (3..60).map(|flow| pick(&mut shell, flow)).collect();
    assert_eq!(beyond.len(), 1);
    // When the three are silent, others take their places.
    shell.wait(Span::from_us(600));
    let known: BTreeSet<u16> = (3..6).map(|flow| pick(&mut shell, flow)).collect();
    let static_hash = pick(&mut shell, 99);
    assert!(known.len() > 1 && beyond.contains(&static_hash), "{known:?}");
}

#[test]
fn a_flow_that_finds_room_or_loses_it_stays_where_it_is() {
    let config = |mode: Mode| Config { max_flows: 1, mode, ..Config::default() };
    let mut shell = leaf(&config(Mode::FlowletRandom));
    pick(&mut shell, 0);
    let hashed = pick(&mut shell, 1);
    // Flow 0 is silent until it leaves the table; flow 1 goes on, enters it, and is in the middle of a flowlet.
    for _ in 0..60 {
        shell.wait(Span::from_us(10));
        assert_eq!(pick(&mut shell, 1), hashed);
    }
    let mut shell = leaf(&config(Mode::Fixed));
    let fixed: Vec<u16> = (0..30)
        .map(|flow| {
            shell.wait(Span::from_us(600));
            pick(&mut shell, flow)
        })
        .collect();
    assert!(fixed.iter().collect::<BTreeSet<_>>().len() > 3, "each was alone when it came");
    // All speak up together: one of them is in the table.
    (0..30).for_each(|flow| assert_eq!(pick(&mut shell, flow), fixed[flow as usize]));
}

#[test]
fn a_flow_whose_member_goes_chooses_anew_and_the_others_stay() {
    let mut shell = leaf(&Config::default());
    let before: Vec<u16> = (0..60).map(|flow| pick(&mut shell, flow)).collect();
    shell.room.candidates.retain(|port| *port != 7);
    let after: Vec<u16> = (0..60).map(|flow| pick(&mut shell, flow)).collect();
    assert!(before.contains(&7) && !after.contains(&7));
    assert!(before.iter().zip(&after).all(|(before, after)| *before == 7 || before == after));
}
