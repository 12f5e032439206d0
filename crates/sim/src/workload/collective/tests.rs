//! The steps of collectives, against their definitions.

use std::collections::{BTreeMap, BTreeSet};

use super::super::plan::testing::depths;
use super::super::testing::Fabric;
use super::*;

fn plan(collective: &Collective, hosts: u32) -> Plan {
    collective.generate(3, 2, &Fabric::new(1, hosts, 1).places()).unwrap()
}

fn all_reduce(size: u64) -> Collective {
    Collective::new(Pattern::AllReduce { size })
}

fn all_to_all(share: Share, concurrent: bool) -> Collective {
    Collective::new(Pattern::AllToAll { share, concurrent })
}

/// Carries out the flows: each host begins with its own share of every chunk, and step by step the chunk that a host
/// sends is added to its neighbour's (first half) or replaces it (second half). In the end every host has everything.
#[test]
fn a_ring_reduces_and_gathers_every_chunk() {
    for n in 2..=9u32 {
        let size = 1_000 + u64::from(n);
        let plan = plan(&all_reduce(size), n);
        assert_eq!(plan.flows.len() as u32, 2 * (n - 1) * n);
        // have[host][chunk]: the hosts whose shares are in it.
        let mut have: Vec<Vec<BTreeSet<u32>>> = (0..n).map(|host| vec![BTreeSet::from([host]); n as usize]).collect();
        for (step, flows) in (0u32..).zip(plan.flows.chunks(n as usize)) {
            let before = have.clone();
            for flow in flows {
                assert_eq!(flow.dst, (flow.src + 1) % n);
                let chunk = ((flow.src + 2 * n - step) % n) as usize;
                assert_eq!(flow.size, size / u64::from(n) + u64::from((chunk as u64) < size % u64::from(n)));
                let sent = &before[flow.src as usize][chunk];
                let into = &mut have[flow.dst as usize][chunk];
                if step < n - 1 {
                    assert!(into.is_disjoint(sent), "step {step}: a share is added twice");
                    into.extend(sent);
                } else {
                    assert_eq!(sent.len() as u32, n, "step {step}: an unfinished sum goes round");
                    into.clone_from(sent);
                }
            }
        }
        assert!(have.iter().flatten().all(|shares| shares.len() as u32 == n));
        // 2 (n − 1)/n of the data leave each host, up to the odd bytes.
        for host in 0..n {
            let sent: u64 = plan.flows.iter().filter(|flow| flow.src == host).map(|flow| flow.size).sum();
            assert!(sent.abs_diff(size * 2 * u64::from(n - 1) / u64::from(n)) <= 2, "{sent}");
        }
    }
}

#[test]
fn a_step_of_a_ring_waits_for_the_one_before_of_its_predecessor_alone() {
    let n = 5;
    let plan = plan(&all_reduce(100), n);
    assert_eq!(plan.gates.len() as u32, (2 * (n - 1) - 1) * n);
    for gate in &plan.gates {
        let [number] = gate.flows[..] else { panic!("{gate:?}") };
        let (step, i) = (number / n, number % n);
        assert_eq!(gate.after, [((step - 1) * n + (i + n - 1) % n, Upon::Received)]);
        assert_eq!(plan.flows[gate.after[0].0 as usize].dst, gate.host);
    }
}

#[test]
fn all_to_all_meets_every_pair_once() {
    for n in 2..=8u32 {
        for (share, concurrent) in
            [(Share::OfHost(1_003), false), (Share::OfPair(70), false), (Share::OfHost(99), true)]
        {
            let plan = plan(&all_to_all(share, concurrent), n);
            let met: BTreeMap<(u32, u32), u64> =
                plan.flows.iter().map(|flow| ((flow.src, flow.dst), flow.size)).collect();
            assert_eq!(met.len() as u32, n * (n - 1));
            assert_eq!(plan.flows.len(), met.len());
            for host in 0..n {
                let sent: u64 = met.iter().filter(|((src, _), _)| *src == host).map(|(_, size)| size).sum();
                match share {
                    Share::OfHost(size) => assert_eq!(sent, size),
                    Share::OfPair(size) => assert_eq!(sent, size * u64::from(n - 1)),
                }
            }
            let expected = if concurrent { 0 } else { n * (n - 2) };
            assert_eq!(plan.gates.len() as u32, expected);
        }
    }
}

#[test]
fn a_step_of_all_to_all_waits_for_both_directions_of_the_one_before() {
    let n = 6;
    let plan = plan(&all_to_all(Share::OfPair(10), false), n);
    for gate in &plan.gates {
        let step = gate.flows[0] / n;
        let sent = plan.flows[gate.after[1].0 as usize];
        let received = plan.flows[gate.after[0].0 as usize];
        assert_eq!(gate.after.iter().map(|&(flow, _)| flow / n).collect::<Vec<_>>(), [step - 1; 2]);
        assert_eq!(gate.after.iter().map(|&(_, upon)| upon).collect::<Vec<_>>(), [Upon::Received, Upon::Acknowledged]);
        assert_eq!((sent.src, sent.dst), (gate.host, (gate.host + step) % n));
        assert_eq!((received.src, received.dst), ((gate.host + n - step) % n, gate.host));
    }
}

/// For any numbers: no cycle, every flow starts, and the longest chain is one step after another.
#[test]
fn every_flow_starts_in_the_end() {
    let groups = Members::Groups(vec![vec![5, 1, 3], vec![0, 1], vec![7, 6, 5, 4, 3]]);
    for pattern in [
        Pattern::AllReduce { size: 77 },
        Pattern::AllToAll { share: Share::OfPair(5), concurrent: false },
        Pattern::AllToAll { share: Share::OfHost(50), concurrent: true },
    ] {
        for members in [Members::All, groups.clone()] {
            for order in [Order::Given, Order::Random] {
                let collective = Collective { members: members.clone(), order, rounds: 3, ..Collective::new(pattern) };
                for plan in [plan(&collective, 8), plan(&collective, 8).sorted()] {
                    let depths = depths(&plan);
                    let n = if members == Members::All { 8 } else { 5 };
                    let in_a_row = pattern.steps(n) / pattern.first_steps(n) * 3;
                    assert_eq!(depths.iter().copied().min(), Some(Some(0)), "a flow never starts");
                    assert_eq!(depths.iter().copied().max(), Some(Some(in_a_row - 1)));
                }
            }
        }
    }
}

#[test]
fn groups_are_numbered_and_keep_to_themselves() {
    let members = Members::Groups(vec![vec![4, 2], vec![1, 3, 0]]);
    let collective = Collective { members, rounds: 2, gap: Span(9), start: Time(50), ..all_reduce(30) };
    let plan = plan(&collective, 5);
    let jobs = collective.jobs(5);
    let hosts_of = |(round, group): (u32, u32)| -> BTreeSet<u32> {
        let is_of = |part| jobs.place(part).is_some_and(|place| (place.round, place.group) == (round, group));
        plan.flows.iter().filter(|flow| is_of(flow.part)).map(|flow| flow.src).collect()
    };
    let rounds = [(0, 0), (0, 1), (1, 0), (1, 1)].map(hosts_of);
    assert_eq!(rounds, [[2, 4].into(), [0, 1, 3].into(), [2, 4].into(), [0, 1, 3].into()]);
    assert_eq!([0, 1].map(|group| (jobs.job(group).steps, jobs.job(group).ranks)), [(2, 2), (4, 3)]);
    assert!(
        plan.flows
            .iter()
            .all(|flow| flow.start == Time(50) && flow.entry == 2 && flow.size == 30 / 2 || flow.size == 10)
    );
    let next = plan.flows.iter().find(|flow| flow.src == 1).unwrap().dst;
    assert_eq!(next, 3, "in the order given");
    // Between rounds a host waits for all of its flows, in and out; within a round there is no gap.
    let between: Vec<&Gate> = plan.gates.iter().filter(|gate| gate.gap > Span::ZERO).collect();
    assert_eq!(between.len(), 5);
    assert!(between.iter().all(|gate| gate.gap == Span(9)));
    assert_eq!(between.iter().map(|gate| gate.after.len()).collect::<Vec<_>>(), [4, 4, 8, 8, 8]);
}

#[test]
fn a_random_order_is_one_ring_of_all_and_the_same_every_round() {
    let collective = Collective { order: Order::Random, rounds: 2, ..all_reduce(64) };
    let plan = plan(&collective, 16);
    let next: BTreeMap<u32, u32> = plan.flows.iter().map(|flow| (flow.src, flow.dst)).collect();
    assert!(plan.flows.iter().all(|flow| next[&flow.src] == flow.dst));
    let mut at = 0;
    let ring: BTreeSet<u32> = std::iter::repeat_with(|| {
        at = next[&at];
        at
    })
    .take(16)
    .collect();
    assert_eq!(ring.len(), 16);
    assert!(next.iter().any(|(&from, &to)| to != (from + 1) % 16));
}

#[test]
fn bad_values_are_refused() {
    let fails = |collective: Collective| {
        let error = collective.generate(1, 0, &Fabric::new(1, 4, 1).places()).unwrap_err();
        (error.key, error.value)
    };
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let of = |groups: Vec<Vec<u32>>| Collective { members: Members::Groups(groups), ..all_reduce(100) };
    assert_eq!(fails(of(vec![])), pair("hosts", "[]"));
    assert_eq!(fails(of(vec![vec![0, 1], vec![2]])), pair("hosts", "[2]"));
    assert_eq!(fails(of(vec![vec![0, 4]])), pair("hosts", "4"));
    assert_eq!(fails(of(vec![vec![3, 1, 3]])), pair("hosts", "3"));
    assert_eq!(fails(all_reduce(3)), pair("size_bytes", "3"));
    assert_eq!(fails(all_to_all(Share::OfHost(2), true)), pair("size_bytes", "2"));
    assert_eq!(fails(all_to_all(Share::OfPair(0), false)), pair("pair_bytes", "0"));
    assert_eq!(fails(Collective { rounds: 0, ..all_reduce(4) }), pair("rounds", "0"));
    assert_eq!(fails(Collective { rounds: 5_000_000, ..all_reduce(4) }), pair("rounds", "5000000"));
    let alone = all_reduce(4).generate(1, 0, &Fabric::new(1, 1, 1).places()).unwrap_err();
    assert_eq!(alone.key, "hosts");
}
