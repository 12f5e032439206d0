//! SELB rule by rule, at explicit times: leaf 0 with eight uplinks of 10 Gbps, and leaf 1.

use crate::common::{Shell, ack, data};
use spinewise_policy::fabric::reorder::header::{CLEAR, NO_QUEUE, Stamp};
use spinewise_policy::fabric::reorder::{Body, Header, Mark, TIMER};
use spinewise_policy::out::Action;
use spinewise_policy::schemes::selb::{Config, FirstPath, Flow, Monitor, Selb};
use spinewise_policy::*;

const UPLINKS: usize = 8;
const TAU: Span = Span::from_us(10);
/// A queue's growth in a period at θ = 0.2 of 10 Gbps.
const BOUND: u64 = 2_500;

/// Paths are judged at each measurement, which these tests take one by one.
fn timed() -> Config {
    Config { monitor: Monitor::Interval, ..Config::default() }
}

fn leaf(config: &Config) -> Shell<Selb> {
    let mut shell = Shell::new(config, Tier::Leaf, 0, UPLINKS as u16);
    measure(&mut shell, [0; UPLINKS]);
    shell
}

/// Sets these queues, and measures them a period later.
fn measure(shell: &mut Shell<Selb>, bytes: [u64; UPLINKS]) {
    shell.wait(TAU);
    shell.room.ports.bytes[4..].copy_from_slice(&bytes);
    shell.tick();
}

fn congested(shell: &Shell<Selb>) -> Vec<usize> {
    (0..UPLINKS).filter(|way| shell.ports[4 + way].congested).collect()
}

/// The next data packet of a flow to leaf 1: its way and header.
fn pick(shell: &mut Shell<Selb>, flow: u32) -> (usize, Header) {
    let mut header = Header::default();
    let way = shell.pick(1, &data(flow), &mut header);
    (way.index(), header)
}

/// Puts a flow on this path: the flow takes it on its own if all others are congested.
fn start_on(shell: &mut Shell<Selb>, flow: u32, way: usize) {
    let flags: Vec<bool> = shell.ports.iter().map(|port| port.congested).collect();
    (0..UPLINKS).for_each(|other| shell.ports[4 + other].congested = other != way);
    assert_eq!(pick(shell, flow).0, way);
    shell.ports.iter_mut().zip(flags).for_each(|(port, flag)| port.congested = flag);
}

/// A control packet from leaf 1 about a flow.
fn hear(shell: &mut Shell<Selb>, class: u8, flow: u32, epoch: u8) {
    let body = Body { epoch, way: Way(0) }.put();
    let flow = Some(FlowKey(flow));
    let message = Message { from: Device::Switch(1), class, flow, in_port: Port(4), body: &body };
    shell.call(Some(1), flow, |policy, cx, row| policy.message(cx, row, &message));
}

fn recorded(shell: &Shell<Selb>, name: &str) -> Vec<f64> {
    let wanted = Selb::SHEET.series.iter().position(|known| known.name == name).expect("a series of SELB");
    let value = |action: &Action| match action {
        Action::Record { series, value } if usize::from(*series) == wanted => Some(*value),
        _ => None,
    };
    shell.did.iter().filter_map(value).collect()
}

#[test]
fn a_leaf_between_the_first_and_the_last_neither_stamps_nor_moves() {
    let mut shell = leaf(&timed());
    let passing = Packet { in_port: Port(4), ..data(7) };
    let stamped = pick(&mut shell, 1).1;
    for before in [Header::default(), stamped] {
        let mut header = before;
        let ways: Vec<Way> = (0..20).map(|_| shell.pick(1, &passing, &mut header)).collect();
        assert!(ways.iter().all(|way| *way == ways[0]), "hashed");
        assert_eq!(header, before);
    }
}

#[test]
fn a_path_is_congested_for_the_period_in_which_its_queue_grew_faster_than_theta() {
    let mut shell = leaf(&timed());
    measure(&mut shell, [BOUND, BOUND + 1, 0, 12_500, 1, 0, 0, 0]);
    assert_eq!(congested(&shell), [1, 3]);
    assert_eq!(recorded(&shell, "congested_paths"), [2.0]);
    measure(&mut shell, [2 * BOUND, 0, 0, 12_500 + BOUND, 2 * BOUND + 2, 0, 0, 0]);
    assert_eq!(congested(&shell), [4], "growth is that of the last period, and shrinking is none");
    measure(&mut shell, [1_000_000; UPLINKS]);
    assert_eq!(congested(&shell).len(), UPLINKS);
    measure(&mut shell, [1_000_000; UPLINKS]);
    assert_eq!(congested(&shell), [], "long and stable");
    assert_eq!(recorded(&shell, "congested_paths"), [0.0]);
    measure(&mut shell, [1_000_000; UPLINKS]);
    assert_eq!(recorded(&shell, "congested_paths"), [], "no change, no point");
}

#[test]
fn theta_is_a_share_of_the_links_own_rate_and_time_is_what_has_passed() {
    let mut shell = leaf(&Config { theta: 0.5, ..timed() });
    shell.room.ports.rates[4 + 3] = 100_000_000_000;
    measure(&mut shell, [6_250, 6_251, 0, 6_251, 0, 0, 0, 0]);
    assert_eq!(congested(&shell), [1]);
    shell.wait(TAU);
    measure(&mut shell, [6_250 + 12_500, 6_251 + 12_501, 0, 6_251 + 125_001, 0, 0, 0, 0]);
    assert_eq!(congested(&shell), [1, 3], "over two periods");
    let mut first = Shell::<Selb>::new(&timed(), Tier::Leaf, 0, UPLINKS as u16);
    measure(&mut first, [1_000_000; UPLINKS]);
    assert_eq!(congested(&first), [], "one measurement knows no growth");
}

#[test]
fn a_long_queue_counts_only_if_told() {
    let long = [400_000, 400_001, 0, 0, 0, 0, 0, 0];
    for (also_len_bytes, expected) in [(0, vec![]), (400_000, vec![1])] {
        let mut shell = leaf(&Config { also_len_bytes, ..timed() });
        measure(&mut shell, long);
        measure(&mut shell, long);
        assert_eq!(congested(&shell), expected);
    }
}

#[test]
fn classes_follow_lengths_and_their_changes_are_told() {
    let mut shell = leaf(&timed());
    measure(&mut shell, [100_000, 1_000, 0, 250_000, 101_000, 0, 2_000, 251_000]);
    let clusters = |shell: &Shell<Selb>| shell.ports[4..].iter().map(|p| p.cluster).collect::<Vec<_>>();
    assert_eq!(clusters(&shell), [1, 0, 0, 2, 1, 0, 0, 2]);
    assert_eq!(recorded(&shell, "cluster_changes"), [4.0]);
    // A link that is down takes no part: its empty queue would take the middle class from the others.
    shell.call(None, None, |policy, cx, _| policy.link(cx, Port(4 + 5), Change::Down));
    measure(&mut shell, [200_000, 200_000, 200_000, 200_000, 200_000, 0, 210_000, 200_000]);
    assert_eq!(clusters(&shell), [0, 0, 0, 0, 0, 0, 1, 0]);
    shell.call(None, None, |policy, cx, _| policy.link(cx, Port(4 + 5), Change::Up));
    measure(&mut shell, [200_000, 200_000, 200_000, 200_000, 200_000, 0, 210_000, 200_000]);
    assert_eq!(clusters(&shell), [1, 1, 1, 1, 1, 0, 2, 1]);
}

#[test]
fn more_classes_than_paths_are_as_many_as_there_are_lengths() {
    let mut shell = leaf(&Config { k: 16, ..timed() });
    measure(&mut shell, [3, 1, 4, 1, 5, 9, 2, 6]);
    let clusters: Vec<u8> = shell.ports[4..].iter().map(|p| p.cluster).collect();
    assert_eq!(clusters, [2, 0, 3, 0, 4, 6, 1, 5]);
}

#[test]
fn the_tail_goes_the_old_way_and_what_follows_a_free_way_of_the_same_class() {
    let mut used = [0u32; UPLINKS];
    for seed in 0..3_000 {
        let mut shell = leaf(&timed());
        shell.rng = Rng::stream(seed, "test", 0);
        // Low: 1 2 5 6, of which 5 grows; middle: 0 4; high: 3 7.
        measure(&mut shell, [100_000, 1_000, 0, 250_000, 101_000, 0, 2_000, 251_000]);
        measure(&mut shell, [100_000, 1_000, 0, 250_000, 101_000, BOUND + 1, 2_000, 251_000]);
        start_on(&mut shell, 1, 1);
        start_on(&mut shell, 2, 5);
        shell.wait(Span(7));
        assert_eq!(pick(&mut shell, 1).1.mark, Mark::Data, "its path is not congested");
        let (way, tail) = pick(&mut shell, 2);
        assert_eq!((way, tail.mark, tail.rerouted, tail.way), (5, Mark::Tail, false, Way(5)));
        assert_eq!((tail.tx, tail.tail), (Stamp::of(shell.now), Stamp::of(shell.now)));
        shell.wait(Span(100));
        let (way, next) = pick(&mut shell, 2);
        assert_eq!((next.mark, next.rerouted, next.way), (Mark::Data, true, Way(way as u16)));
        assert_eq!((next.epoch, next.tail, next.tx), (tail.epoch, tail.tx, Stamp::of(shell.now)));
        assert_eq!(pick(&mut shell, 2).0, way, "and there it stays");
        used[way] += 1;
    }
    for (way, times) in used.iter().enumerate() {
        let expected = if [1, 2, 6].contains(&way) { 1_000 } else { 0 };
        assert!(times.abs_diff(expected) < 120, "uplink {way} came {times} times");
    }
}

/// Middle class 0 and 4, both growing; the shortest queues are elsewhere.
fn growing_class(seed: u64) -> Shell<Selb> {
    let mut shell = leaf(&timed());
    shell.rng = Rng::stream(seed, "test", 0);
    measure(&mut shell, [100_000, 1_000, 500, 250_000, 100_000, 900, 2_000, 251_000]);
    measure(&mut shell, [110_000, 1_000, 500, 250_000, 111_000, 900, 2_000, 251_000]);
    assert_eq!(congested(&shell), [0, 4]);
    start_on(&mut shell, 1, 4);
    shell
}

#[test]
fn with_all_of_a_class_congested_the_shortest_queue_of_this_moment_is_taken() {
    let mut shell = growing_class(1);
    shell.room.ports.bytes[4 + 6] = 100;
    let (way, tail) = pick(&mut shell, 1);
    assert_eq!((way, tail.mark), (4, Mark::Tail));
    assert_eq!((recorded(&shell, "reroutes"), recorded(&shell, "backup_reroutes")), (vec![6.0], vec![6.0]));
    assert_eq!(pick(&mut shell, 1).0, 6, "2 was shortest when measured, 6 is now");
    let mut drawn = [0u32; UPLINKS];
    for seed in 0..1_000 {
        let mut shell = growing_class(seed);
        [1, 5, 7].iter().for_each(|way| shell.room.ports.bytes[4 + way] = 0);
        shell.room.ports.bytes[4 + 7] = 1;
        pick(&mut shell, 1);
        drawn[pick(&mut shell, 1).0] += 1;
    }
    assert_eq!(drawn[1] + drawn[5], 1_000, "{drawn:?}");
    assert!(drawn[1].abs_diff(500) < 80, "{drawn:?}");
}

#[test]
fn a_flow_on_the_shortest_queue_stays_without_a_tail() {
    let mut shell = growing_class(1);
    (0..UPLINKS).for_each(|way| shell.room.ports.bytes[4 + way] = 111_000);
    let (way, header) = pick(&mut shell, 1);
    assert_eq!((way, header.mark, header.rerouted), (4, Mark::Data, false));
    shell.room.ports.bytes[4 + 3] -= 1;
    assert_eq!(pick(&mut shell, 1).1.mark, Mark::Tail, "now there is a shorter one");
    assert_eq!(pick(&mut shell, 1).0, 3);
}

/// A flow whose TAIL has been sent, and all its paths congested again; returns its way and epoch.
fn rerouted(config: &Config) -> (Shell<Selb>, usize, u8) {
    let mut shell = leaf(config);
    start_on(&mut shell, 1, 2);
    measure(&mut shell, [0, 0, BOUND + 1, 0, 0, 0, 0, 0]);
    let tail = pick(&mut shell, 1).1;
    assert_eq!(tail.mark, Mark::Tail);
    let (way, _) = pick(&mut shell, 1);
    let mut bytes = [0; UPLINKS];
    bytes[way] = 100_000;
    measure(&mut shell, bytes);
    assert_eq!(congested(&shell), [way]);
    (shell, way, tail.epoch)
}

#[test]
fn one_reroute_at_a_time_and_clear_allows_the_next() {
    let (mut shell, way, epoch) = rerouted(&timed());
    for stale in [epoch.wrapping_sub(1), epoch.wrapping_add(1)] {
        hear(&mut shell, CLEAR, 1, stale);
        let (same, header) = pick(&mut shell, 1);
        assert_eq!((same, header.mark, header.rerouted, header.epoch), (way, Mark::Data, true, epoch));
    }
    hear(&mut shell, CLEAR, 1, epoch);
    let (old, tail) = pick(&mut shell, 1);
    assert_eq!((old, tail.mark, tail.rerouted), (way, Mark::Tail, false));
    assert_eq!(tail.epoch, epoch.wrapping_add(1), "the next epoch, of one packet");
    let (new, next) = pick(&mut shell, 1);
    assert!(new != way && next.rerouted && next.epoch == tail.epoch);
    hear(&mut shell, CLEAR, 1, epoch);
    assert!(pick(&mut shell, 1).1.rerouted, "the CLEAR of an epoch long past");
    hear(&mut shell, CLEAR, 1, tail.epoch);
    let (same, init) = pick(&mut shell, 1);
    assert_eq!((same, init.mark, init.rerouted, init.epoch), (new, Mark::Init, false, tail.epoch.wrapping_add(1)));
    assert_eq!(pick(&mut shell, 1).1.mark, Mark::Data);
    hear(&mut shell, CLEAR, 1, init.epoch);
    assert_eq!(pick(&mut shell, 1).1.epoch, init.epoch, "a CLEAR without a TAIL");
    hear(&mut shell, CLEAR, 7, 0);
    assert_eq!(shell.flows[&FlowKey(7)], Flow::Unseen, "a flow that was forgotten");
}

#[test]
fn a_silence_opens_an_epoch_on_a_path_that_is_not_congested() {
    let (mut shell, way, epoch) = rerouted(&timed());
    pick(&mut shell, 1);
    shell.wait(Span::from_us(300));
    assert!(pick(&mut shell, 1).1.rerouted, "300 µs are not longer than 300 µs");
    let mut used = [false; UPLINKS];
    for round in 0..200u32 {
        shell.wait(Span::from_us(300) + Span(1));
        let (new, init) = pick(&mut shell, 1);
        assert_eq!((init.mark, init.rerouted), (Mark::Init, false));
        assert_eq!(init.epoch, epoch.wrapping_add(1 + round as u8));
        assert_ne!(new, way, "congested");
        used[new] = true;
    }
    assert_eq!(used.iter().filter(|used| **used).count(), UPLINKS - 1);
    (0..UPLINKS).for_each(|way| shell.ports[4 + way].congested = true);
    shell.room.ports.bytes[4..].copy_from_slice(&[9, 8, 7, 6, 5, 4, 3, 8]);
    shell.wait(Span::from_us(301));
    assert_eq!(pick(&mut shell, 1).0, 6, "all are congested: the shortest");
}

#[test]
fn by_ecmp_a_flow_starts_where_its_hash_says() {
    let mut shell = leaf(&Config { first_path: FirstPath::Ecmp, ..timed() });
    (0..UPLINKS).for_each(|way| shell.ports[4 + way].congested = true);
    let mut used = [0u32; UPLINKS];
    for flow in 0..4_000 {
        let packet = Packet { hashed: Hashed::Mixed { pair: 1, inner: u64::from(flow), tag: 0 }, ..data(flow) };
        let mut header = Header::default();
        let way = shell.pick(1, &packet, &mut header);
        assert_eq!(header.mark, Mark::Init);
        let ack = Packet { hashed: packet.hashed, ..ack(flow + 10_000) };
        assert_eq!(shell.pick(1, &ack, &mut Header::default()), way);
        used[way.index()] += 1;
    }
    assert!(used.iter().all(|times| times.abs_diff(500) < 100), "{used:?}");
}

#[test]
fn other_packets_other_tiers_and_single_paths_bear_no_header() {
    let mut shell = leaf(&timed());
    let mut spine = Shell::<Selb>::new(&timed(), Tier::Spine, 4, 4);
    let probe = Packet { kind: Kind::Probe, ..data(1) };
    for packet in [ack(1), probe] {
        let mut header = Header::default();
        shell.pick(1, &packet, &mut header);
        assert_eq!(header, Header::default());
    }
    let mut header = Header { stamped: true, charged: 4, ..Header::default() };
    spine.pick(1, &data(1), &mut header);
    assert_eq!(header, Header { stamped: true, charged: 4, ..Header::default() }, "a spine leaves it alone");
    assert_eq!(pick(&mut shell, 1).1.wire(), 4);
    shell.room.candidates.truncate(1);
    assert_eq!(pick(&mut shell, 2), (0, Header::default()));
    let shape = |tier| Shape { tier, hosts: 16, leaves: 4, ports: 12, ways: 8 };
    let layouts = [Tier::Leaf, Tier::Spine].map(|tier| shell.policy.layout(&shape(tier)));
    assert_eq!(layouts.map(|layout| (layout.tick, layout.queues)), [(TAU, 8), (Span::ZERO, 0)]);
}

#[test]
fn only_candidates_are_chosen_and_a_path_that_is_gone_is_left_without_a_tail() {
    let mut shell = leaf(&timed());
    shell.room.candidates = vec![4, 7, 9];
    for flow in 0..300 {
        let (way, _) = pick(&mut shell, flow);
        let port = shell.room.candidates[way];
        assert!(way < 3);
        (0..UPLINKS).for_each(|other| shell.ports[4 + other].congested = 4 + other == usize::from(port));
        assert_eq!(pick(&mut shell, flow).1.mark, Mark::Tail);
        let (new, header) = pick(&mut shell, flow);
        assert!(new < 3 && new != way && header.rerouted);
    }
    let Flow::Source(source) = shell.flows[&FlowKey(1)] else { panic!("a flow at its source") };
    shell.room.candidates.retain(|port| *port != source.port);
    let (way, header) = pick(&mut shell, 1);
    assert_eq!((header.mark, header.rerouted, header.epoch), (Mark::Init, false, source.epoch.wrapping_add(1)));
    assert!(way < 2);
    shell.room.candidates.insert(0, source.port);
    assert_eq!(pick(&mut shell, 1).0, way + 1, "the same port, by another number");
}

/// Leaf 1 gets a packet of flow 1 with this header.
fn arrive(shell: &mut Shell<Selb>, header: Header) -> Verdict {
    let packet = Packet { in_port: Port(4), out_port: Port(0), ..data(1) };
    shell.ingress(0, &packet, &mut { header })
}

fn sent(shell: &Shell<Selb>) -> Vec<(u8, Option<Body>)> {
    let control = |action: &Action| match *action {
        Action::Send { to: To::Leaf(0), class, flow: Some(FlowKey(1)), at, len, wire: 64, .. } => {
            Some((class, Body::get(&shell.bodies[at as usize..(at + len) as usize])))
        }
        _ => None,
    };
    shell.did.iter().filter_map(control).collect()
}

/// Leaf 1, and the headers of a flow's first packet, its TAIL and what follows.
fn last_leaf(config: &Config) -> (Shell<Selb>, [Header; 3]) {
    let mut source = leaf(config);
    start_on(&mut source, 1, 2);
    let first = pick(&mut source, 1).1;
    measure(&mut source, [0, 0, BOUND + 1, 0, 0, 0, 0, 0]);
    let headers = [first, pick(&mut source, 1).1, pick(&mut source, 1).1];
    let mut last = Shell::<Selb>::new(config, Tier::Leaf, 1, UPLINKS as u16);
    (last.now, last.room.ports.free) = (source.now + Span::from_us(5), Some(Queue(3)));
    (last, headers)
}

#[test]
fn what_overtakes_is_held_until_the_tail_which_is_answered() {
    let (mut last, [first, tail, next]) = last_leaf(&timed());
    assert_eq!(arrive(&mut last, first), Verdict::Forward);
    for _ in 0..3 {
        last.wait(Span(100));
        assert_eq!(arrive(&mut last, next), Verdict::Hold(Queue(3)));
    }
    assert_eq!(last.ports[0].in_use.0, 1);
    last.wait(Span::from_us(1));
    assert_eq!(arrive(&mut last, tail), Verdict::Forward);
    assert!(last.did.contains(&Action::Release { port: Port(0), queue: Queue(3) }));
    assert_eq!(sent(&last), [(CLEAR, Some(Body { epoch: tail.epoch, way: Way(2) }))]);
    assert_eq!(recorded(&last, "held_packets"), [3.0]);
    assert_eq!(arrive(&mut last, next), Verdict::Forward);
    last.call(None, Some(FlowKey(1)), |policy, cx, row| policy.drained(cx, row, Port(0), Queue(3)));
    assert_eq!(last.ports[0].in_use.0, 0);
}

#[test]
fn a_tail_that_does_not_come_is_given_up() {
    let (mut last, [first, _, next]) = last_leaf(&timed());
    arrive(&mut last, first);
    assert_eq!(arrive(&mut last, next), Verdict::Hold(Queue(3)));
    let key = Key::Flow(FlowKey(1), TIMER);
    let due = last.did.iter().find_map(|action| match action {
        Action::Arm { key: armed, at } if *armed == key => Some(*at),
        _ => None,
    });
    last.now = due.expect("a timer for the TAIL");
    last.timer(key);
    assert!(last.did.contains(&Action::Release { port: Port(0), queue: Queue(3) }));
    assert_eq!(arrive(&mut last, next), Verdict::Forward);
}

#[test]
fn without_a_free_queue_packets_pass_and_the_flow_keeps_its_path_until_silent() {
    let (mut last, [first, tail, next]) = last_leaf(&timed());
    last.room.ports.free = None;
    arrive(&mut last, first);
    assert_eq!(arrive(&mut last, next), Verdict::Forward);
    assert_eq!(sent(&last), [(NO_QUEUE, Some(Body { epoch: tail.epoch, way: next.way }))]);
    assert_eq!(recorded(&last, "out_of_order"), [1.0]);
    let (mut untold, [first, _, next]) = last_leaf(&Config { keep_path_us: 0.0, ..timed() });
    untold.room.ports.free = None;
    arrive(&mut untold, first);
    assert_eq!((arrive(&mut untold, next), sent(&untold)), (Verdict::Forward, vec![]));

    for (keep_path_us, stays) in [(1e9, true), (100.0, false)] {
        let (mut source, way, epoch) = rerouted(&Config { keep_path_us, ..timed() });
        hear(&mut source, NO_QUEUE, 1, epoch.wrapping_add(1));
        assert_eq!(recorded(&source, "kept"), [], "of another epoch");
        hear(&mut source, NO_QUEUE, 1, epoch);
        assert_eq!(recorded(&source, "kept").len(), 1);
        hear(&mut source, NO_QUEUE, 1, epoch);
        assert_eq!(recorded(&source, "kept"), [], "no news");
        hear(&mut source, CLEAR, 1, epoch);
        let (same, header) = pick(&mut source, 1);
        assert_eq!((same, header.mark), (way, Mark::Init), "congested, yet it stays");
        source.wait(Span::from_us(100));
        assert_eq!(pick(&mut source, 1).1.mark, if stays { Mark::Data } else { Mark::Tail });
        source.wait(Span::from_us(301));
        let (new, header) = pick(&mut source, 1);
        assert_eq!(header.mark, Mark::Init);
        source.ports[4 + new].congested = true;
        assert_eq!(pick(&mut source, 1).1.mark, Mark::Tail, "after a silence it is as any other");
    }
}

#[test]
fn packets_without_a_stamp_pass_and_leave_no_trace() {
    let (mut last, [_, _, next]) = last_leaf(&timed());
    assert_eq!(arrive(&mut last, Header::default()), Verdict::Forward);
    let packet = Packet { in_port: Port(4), out_port: Port(0), ..ack(1) };
    assert_eq!(last.ingress(0, &packet, &mut { next }), Verdict::Forward);
    assert_eq!(last.flows[&FlowKey(1)], Flow::Unseen);
}
