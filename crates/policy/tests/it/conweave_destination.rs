//! ConWeave's destination half with explicit times: packets that the last leaf holds, answers and releases.

use crate::common::conweave::{Leaf, US, armed, classes, hear, leaf, points, sent};
use crate::common::{ack, data};
use spinewise_policy::fabric::reorder::header::{Body, CLEAR, Header, Mark, NO_QUEUE, Stamp};
use spinewise_policy::fabric::reorder::{NewEpoch, Order, Release, TIMER};
use spinewise_policy::out::Action;
use spinewise_policy::schemes::conweave::{Config, Flow, NOTIFY, OldEpochs, REPLY};
use spinewise_policy::*;

/// The last leaf, leaf 1, with reorder queue 2 free at every port.
fn last_leaf(config: &Config, now: u64) -> Leaf {
    let mut shell = leaf(config, 1);
    shell.room.ports.free = Some(Queue(2));
    shell.now = Time(now);
    shell
}

/// A header of epoch 1, phase 0, on path 3, sent at `tx`.
fn phase0(tx: u64) -> Header {
    Header { stamped: true, epoch: 1, way: Way(3), tx: Stamp::of(Time(tx)), ..Header::default() }
}

fn tail(tx: u64) -> Header {
    Header { mark: Mark::Tail, tail: Stamp::of(Time(tx)), ..phase0(tx) }
}

fn phase1(tx: u64, tail: u64) -> Header {
    Header { rerouted: true, way: Way(0), tail: Stamp::of(Time(tail)), ..phase0(tx) }
}

/// A packet of flow `flow` arrives from leaf 0.
fn arrive(shell: &mut Leaf, now: u64, flow: u32, header: Header) -> Verdict {
    shell.now = Time(now);
    let packet = Packet { in_port: Port(5), out_port: Port(0), ..data(flow) };
    shell.ingress(0, &packet, &mut { header })
}

fn order(shell: &Leaf, flow: u32) -> Order {
    match shell.flows[&FlowKey(flow)] {
        Flow::Destination(row) => row.order(),
        other => panic!("{other:?}"),
    }
}

const HELD: Verdict = Verdict::Hold(Queue(2));

fn release() -> Action {
    Action::Release { port: Port(0), queue: Queue(2) }
}

fn cancel(flow: u32) -> Action {
    Action::Cancel { key: Key::Flow(FlowKey(flow), TIMER) }
}

#[test]
fn init_and_tail_are_answered_and_marks_reported() {
    let mut shell = last_leaf(&Config { control_bytes: 64, ..Config::default() }, 0);
    let body = Body { epoch: 1, way: Way(3) };
    assert_eq!(arrive(&mut shell, 10, 5, Header { mark: Mark::Init, ..phase0(2) }), Verdict::Forward);
    assert_eq!(sent(&shell), [(REPLY, 0, 5, body, 64)]);
    assert_eq!(arrive(&mut shell, 20, 5, phase0(3)), Verdict::Forward);
    assert_eq!(sent(&shell), []);
    assert_eq!(arrive(&mut shell, 30, 5, tail(4)), Verdict::Forward);
    assert_eq!(sent(&shell), [(CLEAR, 0, 5, body, 64)]);
    assert_eq!(points(&shell, "clears"), [1.0]);
    let marked = Packet { ce: true, in_port: Port(5), out_port: Port(0), ..data(5) };
    for _ in 0..3 {
        shell.ingress(0, &marked, &mut phase0(5));
        assert_eq!(sent(&shell), [(NOTIFY, 0, 5, body, 64)], "one for every marked packet");
    }
    // All three at once fit the room of one call.
    shell.ingress(0, &marked, &mut tail(6));
    assert_eq!(classes(&shell), [NOTIFY, CLEAR]);
}

#[test]
fn notify_can_be_limited_per_path_and_leaf() {
    let mut shell = last_leaf(&Config { notify_gap_us: 4.0, ..Config::default() }, 0);
    let marked = |src| Packet { ce: true, in_port: Port(5), out_port: Port(0), src, ..data(5) };
    let mut told = vec![];
    for (at, leaf, way) in [(0, 0, 3), (1, 0, 3), (1, 0, 2), (1, 2, 3), (3, 0, 3), (4, 0, 3), (7, 0, 3), (8, 0, 3)] {
        shell.now = Time(at * US);
        shell.ingress(leaf, &marked(leaf * 4), &mut Header { way: Way(way), ..phase0(at) });
        told.push(classes(&shell).len());
    }
    assert_eq!(told, [1, 0, 1, 1, 0, 1, 0, 1]);
}

#[test]
fn what_overtakes_its_tail_is_held_until_the_tail_has_passed() {
    // Works at any time, also where the 40-bit stamps wrap.
    for base in [0, (1 << 40) - 5 * US, 3 << 39] {
        let mut shell = last_leaf(&Config::default(), 0);
        let us = |n: u64| base + n * US;
        assert_eq!(arrive(&mut shell, us(10), 1, phase0(us(0))), Verdict::Forward);
        // Sent at 2 µs, TAIL at 1 µs. Last of phase 0: sent 0, came 10. So the TAIL should come at 11, or 16 later.
        assert_eq!(arrive(&mut shell, us(4 + 8), 1, phase1(us(2), us(1))), HELD);
        assert_eq!(armed(&shell), [Time(us(10 + 1 + 16))]);
        assert_eq!(points(&shell, "reorder_queues"), [1.0]);
        assert_eq!(arrive(&mut shell, us(14), 1, phase1(us(3), us(1))), HELD);
        assert_eq!((shell.did.len(), order(&shell, 1)), (0, Order::Holding(Port(0), Queue(2))));
        // Another of phase 0, 0.5 µs before the TAIL at the source: the deadline moves.
        assert_eq!(arrive(&mut shell, us(20), 1, phase0(us(0) + US / 2)), Verdict::Forward);
        assert_eq!(armed(&shell), [Time(us(20 + 16) + US / 2)]);
        assert_eq!(arrive(&mut shell, us(30), 1, tail(us(1))), Verdict::Forward, "before what it lets go");
        assert!(shell.did.contains(&release()) && shell.did.contains(&cancel(1)));
        assert_eq!(classes(&shell), [CLEAR]);
        assert_eq!(points(&shell, "held_us"), [18.0]);
        assert_eq!((points(&shell, "held_packets"), points(&shell, "early_us")), (vec![2.0], vec![18.0]));
        assert_eq!(points(&shell, "early_mean_us"), [17.0], "18 and 16 µs before the TAIL");
        assert_eq!(arrive(&mut shell, us(31), 1, phase1(us(4), us(1))), Verdict::Forward);
        assert_eq!((shell.did.len(), order(&shell, 1)), (0, Order::Cleared));
        shell.call(None, Some(FlowKey(1)), |policy, cx, row| policy.drained(cx, row, Port(0), Queue(2)));
        assert_eq!(points(&shell, "drained_queues"), [0.0]);
    }
}

#[test]
fn of_an_unknown_path_the_tail_is_waited_for_by_default() {
    let mut shell = last_leaf(&Config::default(), 0);
    assert_eq!(arrive(&mut shell, 5 * US, 1, phase1(3 * US, 2 * US)), HELD);
    assert_eq!(armed(&shell), [Time((5 + 200 + 16) * US)]);
    // The epoch's INIT comes after all: it was sent 1 µs before the TAIL.
    assert_eq!(arrive(&mut shell, 9 * US, 1, Header { mark: Mark::Init, ..phase0(US) }), Verdict::Forward);
    assert_eq!((armed(&shell), classes(&shell)), (vec![Time((9 + 1 + 16) * US)], vec![REPLY]));
    assert_eq!(order(&shell, 1), Order::Holding(Port(0), Queue(2)));
    // Knowledge of an older epoch's path says nothing about this one's.
    assert_eq!(arrive(&mut shell, 20 * US, 2, phase0(10 * US)), Verdict::Forward);
    assert_eq!(arrive(&mut shell, 21 * US, 2, Header { epoch: 2, ..phase1(12 * US, 11 * US) }), HELD);
    assert_eq!(armed(&shell), [Time((21 + 200 + 16) * US)]);
}

#[test]
fn a_tail_that_should_have_come_releases_at_once() {
    let mut shell = last_leaf(&Config::default(), 0);
    arrive(&mut shell, 10 * US, 1, phase0(0));
    assert_eq!(arrive(&mut shell, 60 * US, 1, phase1(20 * US, 5 * US)), HELD, "expected at 15 + 16 µs");
    assert_eq!(armed(&shell), [Time(60 * US)]);
}

#[test]
fn when_the_prediction_is_up_the_queue_goes_and_later_ones_pass_and_are_counted() {
    let mut shell = last_leaf(&Config::default(), 0);
    arrive(&mut shell, 10 * US, 1, phase0(0));
    assert_eq!(arrive(&mut shell, 12 * US, 1, phase1(2 * US, US)), HELD);
    shell.now = Time(27 * US);
    shell.timer(Key::Flow(FlowKey(1), TIMER));
    assert!(shell.did.contains(&release()));
    assert_eq!((points(&shell, "timeouts"), points(&shell, "held_us")), (vec![15.0], vec![15.0]));
    assert_eq!((points(&shell, "early_us"), sent(&shell)), (vec![], vec![]), "no TAIL, no CLEAR");
    assert_eq!(arrive(&mut shell, 28 * US, 1, phase1(3 * US, US)), Verdict::Forward);
    assert_eq!(points(&shell, "out_of_order"), [1.0]);
    shell.timer(Key::Flow(FlowKey(1), TIMER));
    assert!(shell.did.is_empty(), "once");
    // The TAIL, late: nothing to release, but the source may reroute again.
    assert_eq!(arrive(&mut shell, 29 * US, 1, tail(US)), Verdict::Forward);
    assert_eq!((classes(&shell), shell.did.contains(&release())), (vec![CLEAR], false));
    assert_eq!(arrive(&mut shell, 30 * US, 1, phase1(4 * US, US)), Verdict::Forward);
    assert!(shell.did.is_empty(), "in order again");
}

#[test]
fn older_epochs_pass_unanswered_and_newer_ones_start_afresh() {
    let mut shell = last_leaf(&Config::default(), 0);
    arrive(&mut shell, 10 * US, 1, tail(US));
    assert_eq!(order(&shell, 1), Order::Cleared);
    let second = |header: Header| Header { epoch: 2, ..header };
    assert_eq!(arrive(&mut shell, 20 * US, 1, second(phase0(15 * US))), Verdict::Forward);
    assert_eq!(order(&shell, 1), Order::Waiting);
    for old in [phase0(US / 2), phase1(2 * US, US), tail(US)] {
        assert_eq!(arrive(&mut shell, 21 * US, 1, old), Verdict::Forward);
        assert!(shell.did.is_empty() && order(&shell, 1) == Order::Waiting);
    }
    assert_eq!(arrive(&mut shell, 22 * US, 1, second(phase1(18 * US, 17 * US))), HELD);
    // A later INIT of the same number: the source has forgotten the flow and starts counting again.
    let again = Header { mark: Mark::Init, epoch: 2, ..phase0(900 * US) };
    let mut forgotten = last_leaf(&Config::default(), 0);
    arrive(&mut forgotten, 20 * US, 1, second(tail(15 * US)));
    arrive(&mut forgotten, 905 * US, 1, again);
    assert_eq!(order(&forgotten, 1), Order::Waiting);
    assert_eq!(arrive(&mut forgotten, 906 * US, 1, second(phase1(902 * US, 901 * US))), HELD);
}

#[test]
fn a_new_epoch_joins_what_an_old_one_left_behind() {
    let mut shell = last_leaf(&Config::default(), 0);
    assert_eq!(arrive(&mut shell, 5 * US, 1, phase1(3 * US, 2 * US)), HELD);
    // The TAIL is lost, the flow fell silent and starts again: its packet goes last and releases the queue.
    let second = |header: Header| Header { epoch: 2, ..header };
    assert_eq!(arrive(&mut shell, 50 * US, 1, second(phase0(40 * US))), HELD);
    assert!(shell.did.contains(&release()) && shell.did.contains(&cancel(1)));
    assert_eq!((points(&shell, "held_us"), points(&shell, "early_us")), (vec![45.0], vec![]));
    assert_eq!(order(&shell, 1), Order::Waiting);
    assert_eq!(arrive(&mut shell, 51 * US, 1, second(phase0(41 * US))), Verdict::Forward);
    assert!(shell.did.is_empty());
    // If the first packet seen of the new epoch is itself early, it needs a queue of its own.
    assert_eq!(arrive(&mut shell, 60 * US, 1, second(phase1(44 * US, 43 * US))), HELD);
    shell.room.ports.free = Some(Queue(5));
    let third = Header { epoch: 3, ..phase1(84 * US, 83 * US) };
    assert_eq!(arrive(&mut shell, 90 * US, 1, third), Verdict::Hold(Queue(5)));
    assert!(shell.did.contains(&release()));
    assert_eq!(order(&shell, 1), Order::Holding(Port(0), Queue(5)));
}

/// SELB's Fig. 1 with one queue instead of two: flows that come when it is taken get no reordering.
#[test]
fn without_a_free_queue_packets_pass_and_the_source_is_told() {
    for (keep_path_us, told) in [(1e9, vec![NO_QUEUE]), (0.0, vec![])] {
        let mut shell = last_leaf(&Config { reorder_queues: 1, keep_path_us, ..Config::default() }, 0);
        assert_eq!(arrive(&mut shell, 5 * US, 1, phase1(3 * US, 2 * US)), HELD);
        shell.room.ports.free = None;
        for flow in [2, 3] {
            assert_eq!(arrive(&mut shell, 6 * US, flow, phase1(3 * US, 2 * US)), Verdict::Forward);
            assert_eq!(classes(&shell), told);
            assert_eq!((points(&shell, "no_queue"), points(&shell, "out_of_order")), (vec![1.0], vec![1.0]));
            assert!(armed(&shell).is_empty());
        }
        shell.room.ports.free = Some(Queue(2));
        // Too late: a queue now would hold packets whose predecessors have passed.
        assert_eq!(arrive(&mut shell, 7 * US, 2, phase1(4 * US, 2 * US)), Verdict::Forward);
        assert_eq!((points(&shell, "no_queue"), points(&shell, "out_of_order")), (vec![], vec![1.0]));
        assert_eq!(classes(&shell), []);
        assert_eq!(arrive(&mut shell, 8 * US, 2, tail(2 * US)), Verdict::Forward);
        assert_eq!(classes(&shell), [CLEAR]);
        assert!(!shell.did.contains(&release()), "flow 1's queue is not touched");
        assert_eq!(arrive(&mut shell, 9 * US, 2, phase1(5 * US, 2 * US)), Verdict::Forward);
        assert!(shell.did.is_empty());
        // The flow's next epoch may have one.
        arrive(&mut shell, 19 * US, 2, Header { epoch: 2, ..phase0(12 * US) });
        assert_eq!(arrive(&mut shell, 20 * US, 2, Header { epoch: 2, ..phase1(15 * US, 14 * US) }), HELD);
    }
}

#[test]
fn packets_without_a_header_and_others_than_data_are_left_alone() {
    let mut shell = last_leaf(&Config::default(), 0);
    let packet = Packet { ce: true, in_port: Port(1), out_port: Port(0), ..data(1) };
    assert_eq!(shell.ingress(1, &packet, &mut Header::default()), Verdict::Forward);
    let ack = Packet { ce: true, in_port: Port(5), out_port: Port(0), ..ack(1) };
    assert_eq!(shell.ingress(0, &ack, &mut phase1(2, 1)), Verdict::Forward);
    assert!(shell.did.is_empty() && shell.flows.values().all(|flow| *flow == Flow::New));
    hear(&mut shell, 1, CLEAR, 1, 1, Way(0));
    hear(&mut shell, 1, 77, 1, 1, Way(0));
    assert!(shell.did.is_empty());
}

#[test]
fn a_late_release_comes_a_nanosecond_after_the_tail() {
    let late = Config {
        old_epochs: OldEpochs::Unread,
        new_epoch: NewEpoch::Overtakes,
        release: Release::Late,
        ..Config::default()
    };
    let mut shell = last_leaf(&late, 0);
    let fire = |shell: &mut Leaf, now: u64| {
        shell.now = Time(now);
        shell.timer(Key::Flow(FlowKey(5), TIMER));
    };
    arrive(&mut shell, 10 * US, 5, phase0(US));
    assert_eq!(arrive(&mut shell, 11 * US, 5, phase1(3 * US, 2 * US)), HELD);
    // A packet of an older epoch passes unread, even if it is marked.
    let older = Header { epoch: 0, tx: Stamp::of(Time(0)), ..phase0(0) };
    let marked = Packet { ce: true, in_port: Port(5), out_port: Port(0), ..data(5) };
    assert_eq!(shell.ingress(0, &marked, &mut { older }), Verdict::Forward);
    assert_eq!(sent(&shell), []);
    // Until then all of phase 1 is held, and CLEAR is on its way.
    assert_eq!(arrive(&mut shell, 12 * US, 5, tail(2 * US)), Verdict::Forward);
    assert!(!shell.did.contains(&release()));
    assert_eq!(sent(&shell).len(), 1);
    assert_eq!(armed(&shell), [Time(12 * US + 1_000)]);
    assert_eq!(arrive(&mut shell, 12 * US, 5, phase1(4 * US, 2 * US)), HELD);
    fire(&mut shell, 12 * US + 1_000);
    assert!(shell.did.contains(&release()));
    assert_eq!(arrive(&mut shell, 13 * US, 5, phase1(5 * US, 2 * US)), Verdict::Forward);
}
