//! LBSP in a fat-tree of its switches: the paper's worked examples to the port, what failure messages say and which
//! switches they reach, and that random failures and repairs leave nothing behind.

mod fabric;

use fabric::{End, Fabric, packet, tree};
use spinewise_policy::schemes::lbsp::failures::{Escalation, Failure, MOST_KNOWN, State};
use spinewise_policy::schemes::lbsp::table::Row;
use spinewise_policy::schemes::lbsp::{Assignment, Config, InputPort, Lbsp, RoundRobin};
use spinewise_policy::*;
use std::collections::{BTreeMap, BTreeSet};

fn eight() -> Fabric {
    Fabric::new(tree(8), &Config::default())
}

/// The uplinks of `switch` in `used`.
fn of(used: &BTreeMap<(u32, u32), u32>, switch: u32) -> Vec<u32> {
    used.keys().filter(|(at, _)| *at == switch).map(|(_, link)| *link).collect()
}

/// The newest failure messages that a switch knows, as switch, type, range.
fn known(fabric: &Fabric, switch: u32) -> Vec<(u32, u8, u32, u32)> {
    let gone = fabric.switches[switch as usize].node.known.all().iter().filter(|failure| failure.gone);
    gone.map(|failure| (failure.origin, failure.kind, failure.first, failure.last)).collect()
}

/// The part of a row that matters for choices.
fn decides(row: &Row) -> (u16, u64) {
    (row.forbidden, row.dead)
}

// LBSP §3.1: S2 -> T11 -> {A8, A10} -> {C0, C2, C8, C10} -> {A4, A6} -> T5.
#[test]
fn the_path_of_s2_when_a11_t11_is_down() {
    let mut fabric = eight();
    let (t11, a11) = (fabric.leaf(11), fabric.aggregation(11));
    fabric.change((a11, 3), Change::Down);
    fabric.settle();
    // S2 under T11; D2 under T5, whose lowest bit selects the group of A9 and A11, and the second even cores.
    let (src, dst) = (4 * 11, 4 * 5 + 1);
    let mut passed: [BTreeSet<u32>; 5] = Default::default();
    for flow in 0..16 {
        let (path, arrives) = fabric.walk(&packet(src, dst, flow));
        assert!(arrives && path.len() == 5, "{path:?}");
        path.iter().zip(&mut passed).for_each(|((switch, _), passed)| _ = passed.insert(*switch));
    }
    let (agg, core) = (|n| fabric.aggregation(n), |n| fabric.core(n));
    assert_eq!(passed[0], [t11].into());
    assert_eq!(passed[1], [8, 10].map(agg).into());
    assert_eq!(passed[2], [0, 2, 8, 10].map(core).into());
    assert_eq!(passed[3], [4, 6].map(agg).into());
    assert_eq!(passed[4], [5].into());
    // The flow would have passed A9 and A11 by default.
    let used = eight().used(src, dst, 16);
    assert_eq!(of(&used, t11), [1, 3]);
}

#[test]
fn a_leaf_that_heard_nothing_knows_after_the_repeat() {
    let mut fabric = eight();
    let (leaf, dead) = (fabric.leaf(4), fabric.aggregation(0));
    let row = |fabric: &Fabric| decides(&fabric.switches[leaf as usize].rows[0]);
    fabric.deaf = Some(leaf);
    for (change, expected) in [(Change::Down, (1, 1)), (Change::Up, (0, 0))] {
        let before = row(&fabric);
        (0..8).for_each(|port| fabric.change((dead, port), change));
        fabric.settle();
        assert_eq!(row(&fabric), before);
        // What is repeated may be lost, too.
        fabric.repeat();
        fabric.settle();
        assert_eq!(row(&fabric), before);
        fabric.deaf = None;
        fabric.repeat();
        fabric.settle();
        assert_eq!(row(&fabric), expected, "column 0, whose group is even");
        fabric.deaf = Some(leaf);
    }
}

// LBSP §3.3.2: host 15 to host 115 while A31-C15 is down: T3 by ports 1 and 3, A1 and A3 by ports 0 and 2.
#[test]
fn the_path_from_15_to_115_when_a31_c15_is_down() {
    let mut fabric = eight();
    let (t3, a1, a3) = (fabric.leaf(3), fabric.aggregation(1), fabric.aggregation(3));
    let used = fabric.used(15, 115, 16);
    assert_eq!([of(&used, t3), of(&used, a1), of(&used, a3)], [[1, 3]; 3], "without a failure");
    assert!(used.iter().all(|((switch, _), packets)| *packets == if *switch == t3 { 8 } else { 4 }), "{used:?}");
    fabric.change((fabric.core(15), 7), Change::Down);
    fabric.settle();
    let used = fabric.used(15, 115, 16);
    assert_eq!([of(&used, t3), of(&used, a1), of(&used, a3)], [[1, 3], [0, 2], [0, 2]]);
    // The core's message says type 3 and 112 to 127; leaves are not affected by it.
    assert!(known(&fabric, a1).contains(&(fabric.core(15), 3, 112, 127)), "{:?}", known(&fabric, a1));
    let other_pods = (0..28).all(|leaf| fabric.switches[leaf].rows.iter().all(|row| decides(row) == (0, 0)));
    assert!(other_pods, "type 3 does not affect ToR switches");
    for leaf in 0..32 {
        let expected = if leaf >= 28 { 0b10 } else { 0 };
        assert_eq!(fabric.switches[a1 as usize].rows[leaf].forbidden, expected, "A1 towards T{leaf}");
    }
    // Outside the range nothing changes: A1 still takes its ports 1 and 3 to host 111.
    assert_eq!(of(&fabric.used(15, 111, 8), a1), [1, 3]);
}

// LBSP §3.3.1: A31-T31 is down. A31's message has type 1 and 124 to 127; T3 must not use group 1 for them.
#[test]
fn t3_keeps_off_group_1_for_exactly_124_to_127_when_a31_t31_is_down() {
    let mut fabric = eight();
    let a31 = fabric.aggregation(31);
    fabric.change((a31, 3), Change::Down);
    fabric.settle();
    assert!(known(&fabric, 3).contains(&(a31, 1, 124, 127)), "{:?}", known(&fabric, 3));
    // T31's own message is about all hosts, and only T31 acts on it.
    assert!(known(&fabric, 3).contains(&(31, 1, 0, 127)));
    for leaf in 0..31 {
        for to in 0..32 {
            let row = &fabric.switches[leaf].rows[to];
            assert_eq!(decides(row), if to == 31 { (0b10, 0b1000) } else { (0, 0) }, "T{leaf} to T{to}");
        }
    }
    assert!(fabric.switches[31].rows.iter().all(|row| decides(row) == (0b10, 0b1000)), "T31: to everybody");
    let aggregations = fabric.aggregation(0)..fabric.core(0);
    assert!(aggregations.into_iter().all(|at| fabric.switches[at as usize].rows.iter().all(|row| row.forbidden == 0)));
    for dst in 120..128 {
        let links = if dst % 2 == 1 && dst < 124 { [1, 3] } else { [0, 2] };
        assert_eq!(of(&fabric.used(12, dst, 8), 3), links, "host {dst}");
    }
    // The same holds in the same pod.
    assert_eq!(of(&fabric.used(112, 125, 8), 28), [0, 2]);
}

#[test]
fn messages_reach_every_leaf_and_aggregation_switch_that_needs_them_in_three_hops() {
    for k in [4u32, 8, 16] {
        let half = k / 2;
        for (level, what) in [(0, "leaf"), (1, "core")] {
            let mut fabric = Fabric::new(tree(k), &Config::default());
            let (leaves, cores) = (fabric.tree.leaves(), fabric.core(0));
            // The link from the last aggregation switch to its last leaf, or to its last core.
            let end: End = match level {
                0 => (cores - 1, half as u16 - 1),
                _ => (fabric.tree.switches() - 1, k as u16 - 1),
            };
            // Only the upper end detects it: a link that fails in one direction.
            fabric.change_one_way(end, Change::Down);
            fabric.settle();
            // No core is used within a pod.
            let needs = if level == 0 { 0..leaves } else { leaves..cores - half };
            let mut most = 0;
            for switch in needs.filter(|switch| *switch != end.0) {
                let hops = fabric.switches[switch as usize].heard_after;
                most = most.max(hops.unwrap_or(u8::MAX));
            }
            assert_eq!(most, 3, "k = {k}: a link to a {what}");
        }
    }
}

// LBSP §3.4: 2h(N - h) / N(N - 1).
#[test]
fn the_share_of_pairs_that_one_failure_concerns() {
    for (k, percent) in [(8u32, 6.10), (16, 1.55)] {
        let mut fabric = Fabric::new(tree(k), &Config::default());
        let end = (fabric.core(0) - 1, (k / 2 - 1) as u16);
        fabric.change(end, Change::Down);
        fabric.settle();
        let hosts = fabric.tree.hosts();
        let leaf = |host: u32| (host / fabric.tree.hosts_per_leaf) as usize;
        let (mut concerned, mut moved) = (0u32, 0u32);
        for (src, dst) in (0..hosts).flat_map(|src| (0..hosts).map(move |dst| (src, dst))) {
            if leaf(src) != leaf(dst) {
                let forbidden = fabric.switches[leaf(src)].rows[leaf(dst)].forbidden;
                concerned += u32::from(forbidden != 0);
                moved += u32::from(forbidden >> (dst % 2) & 1);
            }
        }
        let pairs = f64::from(hosts) * f64::from(hosts - 1);
        let share = 100.0 * f64::from(concerned) / pairs;
        println!(
            "k = {k}: {share:.3} % of pairs concerned, {:.3} % change their group",
            100.0 * f64::from(moved) / pairs
        );
        assert!((share - percent).abs() < 0.005, "k = {k}: {share}");
        assert_eq!(2 * moved, concerned, "half of them used that group");
    }
}

#[test]
fn path_groups_are_as_many_and_as_large_as_asked_for_and_evenly_loaded() {
    // §3.4: at k = 16 four groups of 16 paths, or sixteen of four.
    for (k, leaf_bits, aggregation_bits) in [(8u32, 1, 1), (16, 1, 1), (16, 2, 2), (16, 2, 1), (8, 2, 2), (16, 3, 3)] {
        let config = Config { leaf_bits, aggregation_bits, ..Config::default() };
        let mut fabric = Fabric::new(tree(k), &config);
        let paths = (k * k / 4) >> (leaf_bits + aggregation_bits);
        let mut groups = BTreeMap::<Vec<u32>, u32>::new();
        let per_leaf = fabric.tree.hosts_per_leaf;
        // From a leaf of another pod to all hosts of the last four leaves.
        for dst in fabric.tree.hosts() - 4 * per_leaf..fabric.tree.hosts() {
            let mut cores = BTreeMap::<u32, u32>::new();
            for flow in 0..2 * paths {
                let (path, arrives) = fabric.walk(&packet(0, dst, flow));
                assert!(arrives);
                *cores.entry(path[2].0).or_default() += 1;
            }
            assert!(cores.values().all(|packets| *packets == 2), "k = {k}, host {dst}: {cores:?}");
            *groups.entry(cores.into_keys().collect()).or_default() += 1;
        }
        assert!(groups.keys().all(|group| group.len() as u32 == paths));
        let expected = (1u32 << (leaf_bits + aggregation_bits)).min(4 * per_leaf);
        assert_eq!(groups.len() as u32, expected, "k = {k}");
        assert!(groups.values().all(|hosts| *hosts == 4 * per_leaf / expected), "as many hosts each: {groups:?}");
        let all: BTreeSet<u32> = groups.keys().flatten().copied().collect();
        assert_eq!(all.len(), groups.keys().flatten().count(), "no two groups share a path");
    }
}

#[test]
fn a_dead_aggregation_switch_is_avoided_by_all_leaves_and_its_column_elsewhere() {
    let mut fabric = eight();
    let a31 = fabric.aggregation(31);
    (0..8).for_each(|port| fabric.change((a31, port), Change::Down));
    fabric.settle();
    // Cores 12 to 15 report types 2 and 3; A3, A7, ... have no way left, and escalate.
    let a27 = &fabric.switches[fabric.aggregation(27) as usize];
    assert_eq!((decides(&a27.rows[31]), a27.rows[31].state), ((0b11, 0b1111), State::Lost));
    let a26 = &fabric.switches[fabric.aggregation(26) as usize];
    assert_eq!(decides(&a26.rows[31]), (0, 0), "other columns keep their groups");
    for src in 0..112 {
        for dst in 112..128 {
            let used = fabric.used(src, dst, 8);
            assert_eq!(of(&used, src / 4), [0, 2], "{src} to {dst}");
            assert_eq!(of(&fabric.used(dst, src, 8), dst / 4), [0, 2], "{dst} to {src}");
        }
    }
    for dst in 112..128 {
        assert_eq!(of(&fabric.used((dst + 4) % 16 + 112, dst, 8), (dst + 4) % 16 / 4 + 28), [0, 2], "inside the pod");
    }
    let elsewhere = fabric.used(0, 101, 8);
    assert_eq!(of(&elsewhere, 0), [1, 3], "others are not affected");
}

#[test]
fn an_aggregation_switch_without_links_up_is_avoided_by_its_own_leaves() {
    let mut fabric = eight();
    let a1 = fabric.aggregation(1);
    // Only one direction is down: no core can report it to any switch.
    (4..8).for_each(|port| fabric.change_one_way((a1, port), Change::Down));
    fabric.settle();
    for dst in 16..128 {
        assert_eq!(of(&fabric.used(12, dst, 8), 3), [0, 2], "host {dst}");
    }
    for dst in 0..12 {
        assert_eq!(of(&fabric.used(12, dst, 8), 3), if dst % 2 == 1 { [1, 3] } else { [0, 2] }, "in the pod");
    }
    let others = (4..32).all(|leaf| fabric.switches[leaf].rows.iter().all(|row| decides(row) == (0, 0)));
    assert!(others, "no other switch acts on the failure of an uplink");
}

#[test]
fn where_no_group_is_left_packets_take_every_link_that_still_leads_there() {
    let mut fabric = eight();
    // T3 loses uplink 0, and T31 its link to A31: of T3's groups neither is whole for T31.
    fabric.change((3, 4), Change::Down);
    fabric.change((31, 4 + 3), Change::Down);
    fabric.settle();
    let used = fabric.used(12, 125, 8);
    assert_eq!(
        used.iter().filter(|((at, _), _)| *at == 3).map(|(at, n)| (at.1, *n)).collect::<Vec<_>>(),
        [(1, 4), (2, 4)]
    );
    // Group 1 is whole for others.
    assert_eq!(of(&fabric.used(12, 100, 8), 3), [1, 3]);
    // An aggregation switch with one link of each group left.
    let mut fabric = eight();
    let a0 = fabric.aggregation(0);
    fabric.change((a0, 4), Change::Down);
    fabric.change((a0, 5), Change::Down);
    fabric.settle();
    assert_eq!(fabric.switches[a0 as usize].rows[31].state, State::Uneven);
    assert_eq!(of(&fabric.used(12, 124, 8), 3), [1, 3], "its leaves prefer the group without it");
    // This holds until they have no other.
    fabric.change((fabric.aggregation(1), 3), Change::Down);
    fabric.settle();
    let used = fabric.used(12, 124, 12);
    assert_eq!((of(&used, 3), of(&used, a0)), (vec![0, 2, 3], vec![2, 3]));
}

#[test]
fn a_degraded_link_is_avoided_like_one_that_is_down_unless_told_not_to() {
    for avoid_degraded in [true, false] {
        let mut fabric = Fabric::new(tree(8), &Config { avoid_degraded, ..Config::default() });
        let a31 = fabric.aggregation(31);
        fabric.change((a31, 3), Change::Degraded);
        fabric.settle();
        assert_eq!(of(&fabric.used(12, 125, 8), 3), if avoid_degraded { [0, 2] } else { [1, 3] });
        // A change from slow to dead sends no further message; one from slow to whole does.
        let sent = fabric.sent;
        fabric.change((a31, 3), Change::Down);
        fabric.settle();
        assert_eq!(fabric.sent == sent, avoid_degraded);
        assert_eq!(of(&fabric.used(12, 125, 8), 3), [0, 2]);
        fabric.change((a31, 3), Change::Up);
        fabric.settle();
        assert_eq!(of(&fabric.used(12, 125, 8), 3), [1, 3]);
        assert!(fabric.tables().iter().flatten().all(|row| *row == Row::default()));
    }
}

/// All links between switches, by their lower ends.
fn links(fabric: &Fabric) -> Vec<End> {
    let up = |switch: u32| {
        let first = fabric.tree.downlinks(switch) as u16;
        (first..first + fabric.tree.uplinks(switch) as u16).map(move |port| (switch, port))
    };
    (0..fabric.core(0)).flat_map(up).collect()
}

#[test]
fn after_random_failures_and_repairs_tables_are_as_before_in_whatever_order_messages_come() {
    for seed in 0..60 {
        let k = if seed % 3 == 0 { 8 } else { 4 };
        let mut rng = Rng::stream(seed, "repairs", 0);
        let mut fabric = Fabric::new(tree(k), &Config::default());
        let links = links(&fabric);
        let mut down = BTreeSet::new();
        for _ in 0..40 {
            let link = links[rng.below(links.len() as u32) as usize];
            let back = down.remove(&link);
            if !back {
                down.insert(link);
            }
            fabric.change(link, if back { Change::Up } else { Change::Down });
            let most = rng.below(200) as usize;
            fabric.settle_anyhow(&mut rng, most);
        }
        assert!(fabric.tables().iter().flatten().any(|row| *row != Row::default()), "{seed}: nothing happened");
        for link in down {
            fabric.change(link, Change::Up);
            let most = rng.below(100) as usize;
            fabric.settle_anyhow(&mut rng, most);
        }
        fabric.settle_anyhow(&mut rng, usize::MAX);
        for (switch, rows) in fabric.tables().iter().enumerate() {
            assert!(rows.iter().all(|row| *row == Row::default()), "seed {seed}: switch {switch} kept {rows:?}");
            assert!(fabric.switches[switch].node.known.all().iter().all(|failure| !failure.gone));
        }
    }
}

#[test]
fn tables_do_not_depend_on_the_order_in_which_messages_come() {
    for seed in 0..20 {
        let mut rng = Rng::stream(seed, "orders", 0);
        let mut settled = Vec::new();
        let chosen: Vec<u32> = (0..5).map(|_| rng.below(64)).collect();
        for order in 0..4 {
            let mut fabric = Fabric::new(tree(4), &Config::default());
            let links = links(&fabric);
            for link in &chosen {
                fabric.change(links[*link as usize % links.len()], Change::Down);
            }
            if order == 0 {
                fabric.settle()
            } else {
                fabric.settle_anyhow(&mut rng, usize::MAX)
            }
            settled.push(fabric.tables());
        }
        assert!(settled.iter().all(|tables| *tables == settled[0]), "seed {seed}");
    }
}

/// Whether there is a path up and down over links that work.
fn connected(fabric: &Fabric, src: u32, dst: u32) -> bool {
    let tree = &fabric.tree;
    let (from, to) = (src / tree.hosts_per_leaf, dst / tree.hosts_per_leaf);
    let (pod, other) = (from / tree.leaves_per_pod, to / tree.leaves_per_pod);
    let works = |switch: u32, port: u32| fabric.switches[switch as usize].up[port as usize];
    let down = |pod: u32, column: u32| works(fabric.aggregation(pod * tree.columns + column), to % tree.leaves_per_pod);
    (0..tree.columns).any(|column| {
        let up = works(from, tree.hosts_per_leaf + column);
        let over = (0..tree.cores_per_column).any(|row| {
            let aggregation = fabric.aggregation(pod * tree.columns + column);
            works(aggregation, tree.leaves_per_pod + row)
                && works(fabric.core(column * tree.cores_per_column + row), other)
        });
        up && (pod == other || over) && down(other, column)
    })
}

#[test]
fn once_messages_have_come_no_packet_takes_a_dead_link_while_a_way_is_left_that_switches_know() {
    let (mut packets, mut stuck) = (0, 0);
    for seed in 0..60 {
        let k = if seed % 2 == 0 { 8 } else { 4 };
        let mut rng = Rng::stream(seed, "packets", 0);
        let mut fabric = Fabric::new(tree(k), &Config::default());
        let links = links(&fabric);
        for _ in 0..1 + rng.below(if k == 8 { 12 } else { 3 }) {
            fabric.change(links[rng.below(links.len() as u32) as usize], Change::Down);
        }
        fabric.settle();
        for _ in 0..400 {
            let (src, dst) = (rng.below(fabric.tree.hosts()), rng.below(fabric.tree.hosts()));
            if src / fabric.tree.hosts_per_leaf == dst / fabric.tree.hosts_per_leaf || !connected(&fabric, src, dst) {
                continue;
            }
            packets += 1;
            let (path, arrives) = fabric.walk(&packet(src, dst, 0));
            if !arrives {
                stuck += 1;
                println!("seed {seed}, k {k}: {src} to {dst} by {path:?}");
            }
            assert!(path.len() <= 5, "no loops");
        }
    }
    println!("{stuck} of {packets} packets on a dead link");
    assert!(packets > 10_000);
    assert_eq!(stuck, 0);
}

#[test]
fn round_robin_pointers_are_shared_as_told() {
    // Two alternating flows, to two hosts of one group.
    let split = |round_robin| {
        let mut fabric = Fabric::new(tree(8), &Config { round_robin, ..Config::default() });
        let mut first = Vec::new();
        for n in 0..8 {
            let (path, _) = fabric.walk(&packet(0, if n % 2 == 0 { 125 } else { 121 }, n % 2));
            first.push(path[0].1 - 4);
        }
        first
    };
    assert_eq!(split(RoundRobin::Switch), [1, 3, 1, 3, 1, 3, 1, 3], "each flow meets one link here");
    for own in [RoundRobin::Destination, RoundRobin::Flow] {
        assert_eq!(split(own), [1, 1, 3, 3, 1, 1, 3, 3], "{own:?}");
    }
}

#[test]
fn hashed_groups_are_the_same_at_all_switches_of_a_tier_and_even_over_flows() {
    let mut fabric = Fabric::new(tree(8), &Config { assignment: Assignment::Hash, ..Config::default() });
    let mut groups = BTreeMap::<BTreeSet<u32>, u32>::new();
    for flow in 0..400 {
        let mut cores = BTreeSet::new();
        for _ in 0..8 {
            cores.insert(fabric.walk(&packet(0, 127, flow)).0[2].0 - 64);
        }
        assert_eq!(cores.len(), 4, "one group of four paths: {cores:?}");
        *groups.entry(cores).or_default() += 1;
    }
    assert_eq!(groups.len(), 4);
    assert!(groups.values().all(|flows| (70..=130).contains(flows)), "{groups:?}");
}

// LBSP §5, static reading.
#[test]
fn with_input_ports_flows_to_one_host_take_different_groups() {
    let mut fabric = Fabric::new(tree(8), &Config { input_port: InputPort::Xor, ..Config::default() });
    for src in 0..4 {
        let used = fabric.used(src, 124, 8);
        assert_eq!(of(&used, 0), if src % 2 == 0 { [0, 2] } else { [1, 3] }, "host {src}");
        // All of T0's packets come to aggregation switches by port 0, and bit 1 of 124 is 0.
        assert!(used.keys().filter(|(at, _)| *at != 0).all(|(_, link)| link % 2 == 0), "{used:?}");
    }
    assert_eq!(of(&fabric.used(4, 124, 8), fabric.aggregation(0)), [1, 3], "T1 is at port 1 of A0");
    fabric.change((0, 4), Change::Down);
    fabric.settle();
    assert!((0..4).all(|src| of(&fabric.used(src, 124, 8), 0) == [1, 3]), "failures go first");
}

// LBSP §5, reactive reading.
#[test]
fn input_ports_migrate_while_their_group_is_fuller() {
    let config = Config { input_port: InputPort::Migrate, record_gap: true, ..Config::default() };
    let mut fabric = Fabric::new(tree(8), &config);
    fabric.switches[0].queued[4 + 1] = 20;
    fabric.switches[0].queued[4 + 3] = 6;
    for migrated in 1..=4 {
        fabric.tick(0);
        assert_eq!(fabric.recorded, [26.0]);
        for src in 0..4 {
            assert_eq!(of(&fabric.used(src, 125, 4), 0), if src < migrated { [0, 2] } else { [1, 3] }, "{migrated}");
            assert_eq!(of(&fabric.used(src, 124, 4), 0), [0, 2], "the other group stays");
        }
    }
    fabric.switches[0].queued[4 + 1] = 0;
    (0..4).for_each(|_| fabric.tick(0));
    assert!((0..4).all(|src| of(&fabric.used(src, 125, 4), 0) == [1, 3]));
}

#[test]
fn messages_survive_the_wire_and_odd_ones_are_ignored() {
    let tree = tree(8);
    let failure =
        Failure { origin: 79, port: 7, number: 0x0102_0304, kind: 3, gone: true, hops: 2, first: 112, last: 127 };
    assert_eq!(Failure::get(&failure.put(), &tree), Some(failure));
    for odd in [
        Failure { origin: 80, ..failure },
        Failure { port: 8, ..failure },
        Failure { last: 126, ..failure },
        Failure { first: 0, ..failure },
    ] {
        assert_eq!(Failure::get(&odd.put(), &tree), None, "{odd:?}");
    }
    assert_eq!(Failure::get(&failure.put()[..19], &tree), None);
    for state in [State::Whole, State::Uneven, State::Lost] {
        let told = Escalation { state, first: 0, last: 15 };
        assert_eq!(Escalation::get(&told.put(), &tree), Some(told));
        assert_eq!(Escalation::get(&Escalation { last: 128, ..told }.put(), &tree), None);
        assert_eq!(Escalation::get(&Escalation { first: 16, ..told }.put(), &tree), None);
    }
    assert_eq!(Escalation::get(&[3, 0, 0, 0, 0, 0, 0, 0, 0], &tree), None);
}

#[test]
fn a_switch_remembers_the_newest_and_forgets_repairs_first() {
    let mut known = spinewise_policy::schemes::lbsp::failures::Known::default();
    let news = |origin: u32, number: u32, gone| Failure { origin, number, gone, ..Failure::default() };
    assert!(known.learn(news(5, 2, false)), "a repair whose failure is still under way");
    assert!(!known.learn(news(5, 1, true)), "which then comes too late");
    assert!(known.learn(news(5, 3, true)) && !known.learn(news(5, 3, true)));
    (10..10 + MOST_KNOWN as u32 - 1).for_each(|origin| assert!(known.learn(news(origin, 1, origin != 20))));
    assert_eq!(known.all().len(), MOST_KNOWN);
    assert!(known.learn(news(900, 1, true)), "in the place of the repaired one");
    assert!(known.all().iter().all(|failure| failure.origin != 20));
    assert!(!known.learn(news(901, 1, true)), "no room");
}

#[test]
fn trees_whose_links_up_make_no_equal_groups_are_refused() {
    let uneven = |k: u32, leaf_bits, aggregation_bits| {
        let lbsp = Lbsp::new(&Config { leaf_bits, aggregation_bits, ..Config::default() });
        lbsp.uneven(&tree(k)).map(|uneven| (uneven.param, uneven.groups, uneven.uplinks))
    };
    assert_eq!(uneven(2, 1, 1), Some(("leaf_bits", 2, 1)));
    assert_eq!(uneven(6, 1, 1), Some(("leaf_bits", 2, 3)));
    assert_eq!(uneven(8, 1, 3), Some(("aggregation_bits", 8, 4)));
    assert_eq!([uneven(4, 1, 1), uneven(8, 2, 2), uneven(16, 3, 1), uneven(12, 1, 1)], [None; 4]);
}
