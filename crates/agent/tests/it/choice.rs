//! The fast half must equal `Policy::pick`: on the same packets the C of the data path, with the table made by a
//! rehearsal, takes the ways that the scheme itself takes, packet by packet.

use crate::native;
use crate::oracle::{Oracle, TO, scheme, view};
use spinewise_agent::layout::{Flow, SLOTS, Unit};
use spinewise_agent::plan::Plan;
use spinewise_agent::slow::Slow;
use spinewise_agent::table::{Manners, Paths, table};
use spinewise_policy::{Event, Rng, Span, Time, Way};

/// Packets of a few flows: bursts, and idle times around the flowlet gap.
fn packets(count: usize, seed: u64) -> Vec<(u64, u32)> {
    let mut rng = Rng::stream(seed, "packets", 0);
    let mut now = 1_000_000u64;
    let mut flow = 0;
    (0..count)
        .map(|_| {
            match rng.below(40) {
                0 => now += 400_000 + u64::from(rng.below(300_000)),
                1..=9 => now += u64::from(rng.below(60_000)),
                _ => now += 3_000,
            }
            if rng.below(3) == 0 {
                flow = rng.below(12);
            }
            (now, flow)
        })
        .collect()
}

/// Runs both on the same packets, and returns how many units were opened.
fn compare(plan: &Plan, ways: u16, seed: u64) -> u32 {
    let mut slow = Slow::new(plan.clone(), view(ways), seed, 16);
    let mut oracle = Oracle::new(plan, ways, seed);
    let mut paths = Paths::of((0..ways).map(|way| 50_000 + way).collect());
    if plan.by_port {
        paths = Paths::default();
    }
    let (mut flows, mut cursor, mut packets_of_units) = ([Flow::default(); 12], 0u32, 0u32);
    let mut published = None;
    let mut told = (0, 0);
    for (place, (now, flow)) in packets(4_000, seed).into_iter().enumerate() {
        // Now and then, and before the slots run out, the packets sent are reported and the next decisions are
        // published.
        if place % 50 == 0 || cursor - told.0 > SLOTS as u32 - 2 {
            let at = Time(now * 1000);
            slow.sent(at, TO, (cursor - told.0, packets_of_units - told.1), 1500);
            told = (cursor, packets_of_units);
            let said = slow.rehearse(at, TO);
            if plan.by_port {
                paths.follow(&said.offered);
            }
            published = Some(table(plan, &said, &paths, Manners::default(), (cursor, 1448)));
        }
        let table = published.as_ref().expect("published at first");
        let (way, _) = native::choose(table, &mut flows[flow as usize], &mut cursor, now, 1);
        packets_of_units += 1;
        let expected = oracle.pick(now, flow);
        let expected = paths.number(plan, expected).expect("a known way");
        assert_eq!(usize::from(way), expected, "{} packet {place} at {now} ns, flow {flow}", plan.asked);
    }
    cursor
}

#[test]
fn flows_packets_and_flowcells_go_as_the_scheme_says() {
    for seed in 0..5 {
        for ways in [2, 4, 7] {
            assert_eq!(compare(&scheme("ecmp", "{}"), ways, seed), 12, "one unit a flow");
            assert_eq!(compare(&scheme("packet_scatter", "{}"), ways, seed), 4_000, "one unit a packet");
            compare(&scheme("flowcell", r#"{"packets": 7, "dispatch": "random"}"#), ways, seed);
            compare(&scheme("flowcell", r#"{"packets": 7, "dispatch": "round_robin"}"#), ways, seed);
            compare(&scheme("presto", r#"{"flowcell_packets": 10}"#), ways, seed);
            compare(&scheme("presto", r#"{"count": "bytes", "flowcell_bytes": 14480}"#), ways, seed);
            compare(&scheme("pdlb", r#"{"initial_packets": 9}"#), ways, seed);
        }
    }
}

#[test]
fn flowlets_go_as_the_scheme_says() {
    for seed in 0..5 {
        for ways in [2, 4, 7] {
            for name in ["letflow", "clove", "meet"] {
                let units = compare(&scheme(name, r#"{"flowlet_gap_us": 500}"#), ways, seed);
                // MEET's flows stay where they are while nothing is known of the paths.
                assert!(units > 12 || name == "meet" && units == 12, "{name}: {units} flowlets");
            }
            compare(&scheme("meet", r#"{"tie": "random"}"#), ways, seed);
            compare(&scheme("clove", r#"{"choice": "weighted_random"}"#), ways, seed);
        }
    }
}

#[test]
fn elab_goes_as_it_says_before_it_has_found_more_than_one_path() {
    assert_eq!(scheme("elab", "{}").unit, Unit::Packet);
    compare(&scheme("elab", "{}"), 4, 1);
}

#[test]
fn paths_may_become_fewer_and_others() {
    for name in ["ecmp", "letflow", "flowcell", "presto", "pdlb", "clove", "meet"] {
        let plan = scheme(name, "{}");
        let mut slow = Slow::new(plan.clone(), view(9), 3, 16);
        for (step, ways) in [9, 2, 16, 1, 4].into_iter().enumerate() {
            let now = Time((step as u64 + 1) * 1_000_000_000_000);
            slow.view.ways[1] = ways;
            slow.begin_anew(now);
            slow.learnt(now, TO, Way::ANY, Event::FlowStart { size: 1 << 20 });
            slow.catch_up(now + Span::from_ms(10));
            for way in 0..ways {
                let rtt = Span::from_us(400 + 50 * u64::from(way));
                slow.learnt(now, TO, Way(way), Event::Ack { bytes: 1448, rtt, one_way: rtt, marked: false });
            }
            slow.catch_up(now + Span::from_ms(20));
            let paths = Paths::of((0..ways).map(|way| 50_000 + way).collect());
            slow.sent(now + Span::from_ms(21), TO, (5, 50), 1500);
            let said = slow.rehearse(now + Span::from_ms(22), TO);
            let table = table(&plan, &said, &paths, Manners::default(), (0, 1448));
            assert!(table.slots.iter().all(|&way| way < ways), "{name}, {ways} ways");
        }
    }
}
