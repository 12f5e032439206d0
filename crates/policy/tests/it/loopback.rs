//! The loopback schemes at a shell that keeps its promises, and at one that breaks them one at a time.

use crate::common::{Shell, data};
use spinewise_policy::out::Action;
use spinewise_policy::schemes::loopback::{Alarms, Body, Count, LoopbackHost, LoopbackSwitch, Rule, Stamp};
use spinewise_policy::*;

type Host = Shell<LoopbackHost>;
type Leaf = Shell<LoopbackSwitch>;

fn host() -> Host {
    Host::new(&Default::default(), Tier::Host, 0, 4)
}

/// The leaf at which flows from leaf 0 to host 4 leave the fabric.
fn last_leaf() -> Leaf {
    let mut shell = Leaf::new(&Default::default(), Tier::Leaf, 1, 4);
    shell.room.ports.free = Some(Queue(2));
    shell.now = Time(5_000);
    shell
}

/// The rules broken in the last hook call, by number.
fn broken<P: Policy>(shell: &Shell<P>) -> Vec<usize> {
    let violation = |action: &Action| match action {
        Action::Record { series: 0, value } => Some(*value as usize),
        _ => None,
    };
    shell.did.iter().filter_map(violation).collect()
}

fn armed<P: Policy>(shell: &Shell<P>, wanted: Key) -> Option<Time> {
    shell.did.iter().find_map(|action| match action {
        Action::Arm { key, at } if *key == wanted => Some(*at),
        _ => None,
    })
}

/// A data packet of flow 1 at its last leaf.
fn arrive(shell: &mut Leaf) -> Verdict {
    let packet = Packet { in_port: Port(5), out_port: Port(0), ..data(1) };
    let mut header = Stamp { ours: true, hops: 2, from: 0, to: 1, at: 1_000 };
    shell.ingress(0, &packet, &mut header)
}

/// Packets until one is held.
fn until_held(shell: &mut Leaf) {
    while arrive(shell) != Verdict::Hold(Queue(2)) {
        shell.wait(Span(1));
    }
}

fn released(shell: &Leaf) -> bool {
    shell.did.contains(&Action::Release { port: Port(0), queue: Queue(2) })
}

fn drain(shell: &mut Leaf) {
    shell.call(None, Some(FlowKey(1)), |policy, cx, row| policy.drained(cx, row, Port(0), Queue(2)));
}

#[test]
fn a_queue_is_released_by_the_timer_and_by_a_later_packet_in_turn() {
    let mut shell = last_leaf();
    for round in 0..6 {
        until_held(&mut shell);
        let due = armed(&shell, Key::Flow(FlowKey(1), Alarms::RELEASE)).expect("a timer to release it");
        assert_eq!(arrive(&mut shell), Verdict::Hold(Queue(2)));
        if round % 2 == 0 {
            assert_eq!(arrive(&mut shell), Verdict::Hold(Queue(2)), "held behind the held until the timer fires");
            shell.now = due;
            shell.timer(Key::Flow(FlowKey(1), Alarms::RELEASE));
        } else {
            assert_eq!(arrive(&mut shell), Verdict::Forward, "the packet that releases goes first");
            assert!(shell.did.contains(&Action::Cancel { key: Key::Flow(FlowKey(1), Alarms::RELEASE) }));
        }
        assert!(released(&shell));
        assert_eq!(arrive(&mut shell), Verdict::Forward);
        assert!(!released(&shell), "once");
        drain(&mut shell);
    }
    let witness = shell.node.witness;
    let counts = [Count::ReleasedByTimer, Count::ReleasedByPacket, Count::Drained, Count::Violation];
    assert_eq!(counts.map(|c| witness.get(c)), [3, 3, 6, 0]);
    assert_eq!(witness.get(Count::Held), 3 * 3 + 3 * 2);
}

#[test]
fn a_queue_that_drains_twice_unreleased_or_shared_is_noticed() {
    let drained_once = vec![Rule::DrainedOnce as usize];
    let mut shell = last_leaf();
    until_held(&mut shell);
    drain(&mut shell);
    assert_eq!(broken(&shell), drained_once, "not released");
    let mut shell = last_leaf();
    until_held(&mut shell);
    while !released(&shell) {
        shell.wait(Span::from_us(20));
        shell.timer(Key::Flow(FlowKey(1), Alarms::RELEASE));
    }
    drain(&mut shell);
    assert_eq!(broken(&shell), []);
    drain(&mut shell);
    assert_eq!(broken(&shell), drained_once, "twice");
    let mut shell = last_leaf();
    until_held(&mut shell);
    let packet = Packet { in_port: Port(5), out_port: Port(0), ..data(2) };
    for _ in 0..16 {
        let mut header = Stamp { ours: true, hops: 2, from: 0, to: 1, at: 1_000 };
        shell.ingress(0, &packet, &mut header);
    }
    assert_eq!(broken(&shell), [Rule::QueueFree as usize], "the queue of flow 1 was lent to flow 2");
}

#[test]
fn headers_rows_and_ports_that_are_wrong_are_noticed() {
    let good = Stamp { ours: true, hops: 2, from: 0, to: 1, at: 1_000 };
    let packet = Packet { in_port: Port(5), out_port: Port(0), ..data(1) };
    for (stamp, packet, peer, rule) in [
        (Stamp { ours: false, ..good }, packet, 0, Some(Rule::Header)),
        (Stamp { hops: 1, ..good }, packet, 0, Some(Rule::Header)),
        (Stamp { to: 3, ..good }, packet, 0, Some(Rule::Header)),
        (Stamp { at: 5_000, ..good }, packet, 0, Some(Rule::Header)),
        (good, packet, 2, Some(Rule::PeerRow)),
        (good, Packet { out_port: Port(6), ..packet }, 0, Some(Rule::PortSide)),
        (Stamp::default(), Packet { in_port: Port(1), ..packet }, 1, None),
        (good, packet, 0, None),
    ] {
        let mut shell = last_leaf();
        shell.ingress(peer, &packet, &mut { stamp });
        assert_eq!(broken(&shell), rule.iter().map(|r| *r as usize).collect::<Vec<_>>(), "{stamp:?}");
    }
    let mut shell = last_leaf();
    arrive(&mut shell);
    let row = shell.flows[&FlowKey(1)];
    shell.flows.insert(FlowKey(2), row);
    shell.ingress(0, &Packet { flow: FlowKey(2), ..packet }, &mut { good });
    assert_eq!(broken(&shell), [Rule::FlowRow as usize]);
}

#[test]
fn markers_are_sent_by_the_first_leaf_and_consumed_by_the_last() {
    let mut first = Leaf::new(&Default::default(), Tier::Leaf, 0, 4);
    let mut header = Stamp::default();
    first.pick(1, &data(1), &mut header);
    assert_eq!((header.from, header.to, broken(&first)), (0, 1, vec![]));
    let sent = first.did.iter().filter(|a| matches!(a, Action::Send { to: To::Host(4), .. })).count();
    assert_eq!(sent, 1);
    let mut last = last_leaf();
    let marker = Packet { kind: Kind::Message, in_port: Port(5), out_port: Port(0), ..data(1) };
    assert_eq!(last.ingress(0, &marker, &mut Stamp::default()), Verdict::Consume);
    assert_eq!(last.node.witness.get(Count::Consumed), 1);
}

#[test]
fn floods_are_passed_on_once_and_must_not_return() {
    let mut spine = Leaf::new(&Default::default(), Tier::Spine, 4, 4);
    spine.now = Time(9);
    let mut hear = |origin: u32, from: u32, hops: u8, at: u64| {
        let origin = Device::Switch(origin);
        let body = Body { target: Count::HeardNeighbours, hops, origin, at: Time(at), flow: None }.put();
        let from = Device::Switch(from);
        let message = Message { from, class: 7, flow: None, in_port: Port(2), body: &body };
        spine.call(None, None, |policy, cx, _| policy.message(cx, None, &message));
        let on = To::Neighbours { except: Some(Port(2)) };
        (spine.did.iter().any(|a| matches!(a, Action::Send { to, .. } if *to == on)), broken(&spine))
    };
    assert_eq!(hear(2, 2, 0, 5), (true, vec![]));
    assert_eq!(hear(3, 2, 1, 5), (false, vec![]));
    assert_eq!(hear(3, 2, 0, 5), (true, vec![Rule::Body as usize]), "not from whom it says");
    assert_eq!(hear(2, 2, 0, 9), (true, vec![Rule::Body as usize]), "it took no time");
    assert_eq!(hear(4, 2, 1, 5), (false, vec![Rule::Flood as usize]), "our own");
}

#[test]
fn ticks_use_every_kind_of_message_probe_and_timer() {
    let mut shell = Leaf::new(&Default::default(), Tier::Leaf, 0, 4);
    shell.pick(1, &data(1), &mut Stamp::default());
    let (mut targets, mut ttls) = ([false; 3], [false; 3]);
    for _ in 0..12 {
        shell.wait(Span::from_us(100));
        shell.tick();
        assert!(broken(&shell).iter().all(|rule| *rule == Rule::TimerMissed as usize));
        for action in shell.did.clone() {
            match action {
                Action::Send { to: To::Neighbours { except: None }, .. } => targets[0] = true,
                Action::Send { to: To::Rack, .. } => targets[1] = true,
                Action::Send { to: To::Leaf(1), .. } => targets[2] = true,
                Action::Probe { to: To::Host(peer) | To::Leaf(peer), way, ttl, .. } => {
                    ttls[ttl as usize] = true;
                    shell.feedback(peer, Feedback { way, flow: None, event: Event::ProbeLost });
                    assert_eq!(broken(&shell), [Rule::ProbeAnswer as usize], "given up too early");
                    shell.feedback(peer, Feedback { way, flow: None, event: Event::ProbeLost });
                    assert_eq!(broken(&shell), [Rule::ProbeOnce as usize]);
                }
                _ => {}
            }
        }
    }
    assert_eq!((targets, ttls), ([true; 3], [true; 3]));
    shell.wait(Span(1));
    shell.tick();
    assert!(broken(&shell).contains(&(Rule::TickPeriod as usize)));
    shell.now = Time(1);
    shell.tick();
    assert!(broken(&shell).contains(&(Rule::Monotone as usize)));
}

#[test]
fn a_host_flow_lives_as_promised_and_sends_to_host_leaf_and_rack() {
    let mut shell = host();
    shell.now = Time(1_000_000);
    let told = |event| Feedback { way: Way(1), flow: Some(FlowKey(1)), event };
    let ack = |bytes, marked| told(Event::Ack { bytes, rtt: Span(10), one_way: Span(5), marked });
    shell.feedback(4, told(Event::FlowStart { size: 3_000 }));
    let to: Vec<To> =
        shell.did.iter().filter_map(|a| if let Action::Send { to, .. } = a { Some(*to) } else { None }).collect();
    assert_eq!(to, [To::Host(4), To::Leaf(0), To::Rack]);
    let body = Body::get(&shell.bodies[..Body::BYTES]).unwrap();
    assert_eq!((body.origin, body.flow), (Device::Host(0), Some(FlowKey(1))));
    shell.feedback(4, ack(1_500, false));
    shell.feedback(4, told(Event::Retransmit));
    shell.feedback(4, told(Event::Timeout));
    shell.feedback(4, ack(0, true));
    assert_eq!(broken(&shell), [Rule::Masked as usize]);
    shell.feedback(4, told(Event::FlowEnd));
    assert_eq!(broken(&shell), [Rule::FlowLife as usize], "half is missing");
    shell.feedback(4, ack(1_500, false));
    shell.feedback(4, told(Event::FlowEnd));
    assert_eq!(broken(&shell), []);
    shell.pick(4, &data(1), &mut Stamp::default());
    assert_eq!(broken(&shell), [Rule::FlowLife as usize], "it is over");
    shell.feedback(4, ack(1, false));
    assert_eq!(broken(&shell), [Rule::FlowLife as usize], "more than there is");
    shell.feedback(4, Feedback { way: Way(4), ..ack(0, false) });
    assert!(broken(&shell).contains(&(Rule::WayExists as usize)), "there are four");
    let witness = shell.node.witness;
    assert_eq!([Count::Loss, Count::Retransmit, Count::Timeout].map(|c| witness.get(c)), [2, 1, 1]);
}

#[test]
fn host_probes_are_answered_by_the_right_device() {
    for (ttl, by, right) in [
        (0, Device::Host(4), true),
        (0, Device::Host(5), false),
        (1, Device::Switch(0), true),
        (1, Device::Switch(4), false),
        (2, Device::Switch(4), true),
        (3, Device::Switch(1), true),
        (3, Device::Host(4), false),
    ] {
        let mut shell = host();
        shell.pick(4, &data(1), &mut Stamp::default());
        let way = loop {
            shell.wait(Span::from_us(50));
            shell.tick();
            let probe = shell.did.iter().find_map(|a| match *a {
                Action::Probe { way, ttl, to: To::Host(4), .. } => Some((way, ttl)),
                _ => None,
            });
            if let Some((way, _)) = probe.filter(|(_, t)| *t == ttl) {
                break way;
            }
        };
        shell.wait(Span(30));
        let event = Event::ProbeReply { rtt: Span(30), one_way: Span(10), marked: false, by, port: Port(0) };
        shell.feedback(4, Feedback { way, flow: None, event });
        assert_eq!(broken(&shell), if right { vec![] } else { vec![Rule::ProbeAnswer as usize] }, "{ttl} {by:?}");
    }
}

#[test]
fn host_picks_rotate_and_timers_of_flows_and_ways_are_kept() {
    let mut shell = host();
    let ways: Vec<u16> = (0..256).map(|_| shell.pick(4, &data(1), &mut Stamp::default()).0).collect();
    assert!(ways.chunks(64).enumerate().all(|(i, c)| c.iter().all(|w| *w == (ways[0] + i as u16) % 4)));
    let key = Key::Flow(FlowKey(1), 1);
    shell.now = armed(&shell, key).expect("moved at every packet");
    shell.timer(key);
    assert_eq!(broken(&shell), []);
    shell.timer(key);
    assert_eq!(broken(&shell), [Rule::TimerUnarmed as usize]);
    shell.flows.remove(&FlowKey(1));
    shell.timer(Key::Flow(FlowKey(1), 0));
    assert_eq!(broken(&shell), [Rule::FlowRow as usize], "the row was forgotten under an armed timer");
    shell.timer(Key::Route(9, Way(0), 0));
    assert_eq!(broken(&shell), [Rule::PeerRow as usize], "a peer never met");
}

#[test]
fn a_host_masks_marks_and_sees_reordering() {
    let mut shell = Host::new(&Default::default(), Tier::Host, 4, 4);
    shell.now = Time(100);
    let mut arrive = |seq, ce| {
        let packet = Packet { seq, ce, way: Way(2), ..data(1) };
        let mut header = Stamp { ours: true, hops: 0, from: 2, to: 1, at: 50 };
        shell.ingress(0, &packet, &mut header);
        assert_eq!(broken(&shell), []);
        (shell.did.contains(&Action::MaskEcn), shell.node.witness.get(Count::Inversion))
    };
    assert_eq!(arrive(0, false), (false, 0));
    assert_eq!(arrive(2_920, true), (true, 0));
    assert_eq!(arrive(1_460, false), (false, 1));
}

#[test]
fn links_go_down_before_they_come_up() {
    let mut leaf = last_leaf();
    for (change, kept) in [(Change::Down, true), (Change::Down, false), (Change::Up, true), (Change::Up, false)] {
        leaf.call(None, None, |policy, cx, _| policy.link(cx, Port(6), change));
        assert_eq!(broken(&leaf).is_empty(), kept);
    }
}
