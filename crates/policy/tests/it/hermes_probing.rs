//! Hermes' probing for the rack, and its rules as in the public code.

use crate::common::data;
use crate::common::hermes::*;
use spinewise_policy::out::Action;
use spinewise_policy::schemes::hermes::path::Class;
use spinewise_policy::schemes::hermes::probing::{self, News};
use spinewise_policy::schemes::hermes::released;
use spinewise_policy::schemes::hermes::{Compat, Config, Hermes};
use spinewise_policy::*;

type Host = crate::common::Shell<Hermes>;

/// The probes of the last hook: host and way.
fn probes(shell: &Host) -> Vec<(u32, u16)> {
    let probe = |action: &Action| match *action {
        Action::Probe { to: To::Host(host), way, wire: 64, ttl: 0, .. } => Some((host, way.0)),
        Action::Probe { .. } => panic!("an odd probe: {action:?}"),
        _ => None,
    };
    shell.did.iter().filter_map(probe).collect()
}

/// The entries of the messages of the last hook.
fn shared(shell: &Host) -> Vec<(u32, u16, News)> {
    let body = |action: &Action| match *action {
        Action::Send { to: To::Rack, at, len, way: Way::ANY, wire, .. } => {
            assert_eq!(wire, 42 + len);
            Some(shell.bodies[at as usize..(at + len) as usize].to_vec())
        }
        _ => None,
    };
    let bodies: Vec<Vec<u8>> = shell.did.iter().filter_map(body).collect();
    bodies.iter().flat_map(|body| probing::entries(body).map(|(leaf, way, news)| (leaf, way.0, news))).collect()
}

fn answer(shell: &mut Host, leaf: u32, way: u16, us: u64, marked: bool) {
    let by = Device::Host(4 * leaf);
    let event = Event::ProbeReply { rtt: Span::from_us(2 * us), one_way: Span::from_us(us), marked, by, port: Port(0) };
    shell.feedback(leaf, Feedback { way: Way(way), flow: None, event });
}

#[test]
fn the_first_host_of_a_rack_probes_the_best_and_two_others() {
    let mut shell = host(&Config::default());
    shell.tick();
    let first = probes(&shell);
    assert_eq!(first.iter().map(|(host, _)| *host).collect::<Vec<_>>(), [4, 4, 8, 8, 12, 12]);
    assert!(first.chunks(2).all(|pair| pair[0].1 != pair[1].1), "two different paths: {first:?}");
    for (n, &(host, way)) in first.iter().enumerate() {
        answer(&mut shell, host / 4, way, if n % 2 == 0 { 50 } else { 20 }, false);
        let last = n + 1 == first.len();
        assert_eq!(shared(&shell).len(), if last { 6 } else { 0 }, "shared when all are answered");
    }
    shell.tick();
    assert!(shared(&shell).is_empty(), "once");
    let second = probes(&shell);
    assert_eq!(second.len(), 9);
    for (n, trio) in second.chunks(3).enumerate() {
        assert_eq!(trio[0], first[2 * n + 1], "the best of the first round");
        assert!(trio[1].1 != trio[2].1 && trio[1].1 != trio[0].1 && trio[2].1 != trio[0].1);
    }
    // Outstanding answers are shared no later than the next round.
    answer(&mut shell, 1, second[0].1, 30, true);
    assert!(shared(&shell).is_empty());
    shell.tick();
    let news = News { delay: Span::from_us(30), marked: true, lost: false };
    assert_eq!(shared(&shell), [(1, second[0].1, news)]);
}

#[test]
fn hosts_that_are_no_agent_learn_from_messages_only() {
    let mut shell = host_at(&Config::default(), 1);
    shell.tick();
    assert!(shell.did.is_empty());
    let entry =
        |leaf, way, us, lost| probing::put(leaf, Way(way), News { delay: Span::from_us(us), marked: lost, lost }.put());
    let mut body = vec![0u8; 16];
    for entry in [entry(1, 2, 10, false), entry(1, 9, 10, false), entry(77, 0, 10, false), entry(1, 3, 10_000, true)] {
        body.extend(entry);
    }
    let hear = |shell: &mut Host, body: &[u8]| {
        let message = Message { from: Device::Host(0), class: 0, flow: None, in_port: Port(0), body };
        shell.call(Some(0), None, |policy, cx, _| policy.message(cx, None, &message));
    };
    hear(&mut shell, &body);
    assert_eq!([2, 3].map(|way| class(&mut shell, way)), [Class::Good, Class::Congested]);
    assert_eq!(pick(&mut shell, 1), 2);
    hear(&mut shell, &body);
    assert_eq!(class(&mut shell, 3), Class::Congested);
    hear(&mut shell, &body);
    assert_eq!(class(&mut shell, 3), Class::Failed, "lost three times");
    // Anything that is not one of our messages says nothing.
    for rubbish in [&body[..5], &[0xff; 31][..], &[]] {
        hear(&mut shell, rubbish);
    }
    assert_eq!(class(&mut shell, 2), Class::Good);
}

#[test]
fn an_agent_holds_a_path_of_lost_probes_to_have_failed() {
    let mut shell = host(&Config::default());
    for n in 0..3 {
        shell.feedback(1, Feedback { way: Way(2), flow: None, event: Event::ProbeLost });
        assert_eq!(shared(&shell).len(), 1, "with nothing under way it is shared at once");
        assert_eq!(class(&mut shell, 2) == Class::Failed, n == 2);
    }
    let mut shell = host(&Config::default());
    for _ in 0..5 {
        shell.wait(GIVE_UP);
        lose(&mut shell, 2);
        answer(&mut shell, 1, 2, 10, false);
    }
    assert_eq!(class(&mut shell, 2), Class::Good, "never three in a row, and the last was answered");
    shell.wait(GIVE_UP);
    lose(&mut shell, 2);
    assert_eq!(class(&mut shell, 2), Class::Congested);
    acks(&mut shell, 2, 10, 1, 0);
    assert_eq!(class(&mut shell, 2), Class::Good, "data gets through");
}

/// A probe that was sent 10 ms ago and is given up now.
const GIVE_UP: Span = Span::from_ms(10);

fn lose(shell: &mut Host, way: u16) {
    shell.feedback(1, Feedback { way: Way(way), flow: None, event: Event::ProbeLost });
}

/// A loss is reported 10 ms late. What was sent after that probe and has got through says more.
#[test]
fn a_loss_does_not_outdo_what_was_sent_later() {
    let mut shell = host(&Config::default());
    let us = Span::from_us;
    shell.wait(Span::from_ms(50));
    // Sent 20 µs ago, a probe on way 1 and data on way 2.
    answer(&mut shell, 1, 1, 10, false);
    tell(&mut shell, 1, 2, Event::Ack { bytes: 1, rtt: us(20), one_way: us(10), marked: false });
    shell.wait(GIVE_UP - us(30));
    for way in [1, 2].repeat(5) {
        lose(&mut shell, way);
        assert!(shared(&shell).is_empty(), "nor is the rack told");
        assert_eq!(class(&mut shell, way), Class::Good, "that probe was sent 10 µs before");
    }
    shell.wait(us(20));
    for way in [1, 2] {
        lose(&mut shell, way);
        assert_eq!(shared(&shell).len(), 1);
        assert_eq!(class(&mut shell, way), Class::Congested, "and that one 10 µs after");
    }
}

/// The rack's other hosts have their own packets as evidence.
#[test]
fn what_the_agent_tells_is_as_old_as_the_probe() {
    let mut shell = host_at(&Config::default(), 1);
    shell.wait(Span::from_ms(50));
    let lost = News { delay: GIVE_UP, marked: true, lost: true };
    let body = [&[0u8; 16][..], &probing::put(1, Way(2), lost.put())].concat();
    for (wait, expected) in [(9, Class::Good), (11, Class::Congested)] {
        acks(&mut shell, 2, 10, 1, 0);
        shell.wait(Span::from_ms(wait));
        let message = Message { from: Device::Host(0), class: 0, flow: None, in_port: Port(0), body: &body };
        shell.call(Some(0), None, |policy, cx, _| policy.message(cx, None, &message));
        assert_eq!(class(&mut shell, 2), expected, "data got through {wait} ms ago");
    }
}

#[test]
fn without_paths_or_probing_nothing_is_done() {
    let mut shell = host(&Config::default());
    shell.room.ways[1] = 0;
    assert_eq!(shell.pick(LEAF, &data(1), &mut ()), Way::ANY);
    shell.tick();
    assert!(probes(&shell).iter().all(|&(host, _)| host != 4));
    // Late answers of a path that no longer exists.
    answer(&mut shell, 1, 2, 10, false);
    assert_eq!(shell.pick(LEAF, &crate::common::ack(1), &mut ()), Way::ANY, "acknowledgements are left to the fabric");
    let shape = Shape { tier: Tier::Host, hosts: 16, leaves: 4, ports: 1, ways: WAYS };
    let silent = Hermes::new(&Config { probing: false, ..Config::default() });
    assert_eq!(silent.layout(&shape).tick, Span::ZERO);
}

// ---- the public code ----------------------------------------------------------------------------------------------

fn released() -> Host {
    host(&Config { compat: Compat::Ns3, base_us: 5.0, s_bytes: 0, ..Config::default() })
}

/// Acknowledges packets of `flow`, unmarked, one way in 1 to 4096 µs.
fn released_ack(shell: &mut Host, flow: u32, way: u16, us: u64) {
    tell(shell, flow, way, ack(us, true));
}

#[test]
fn released_averages_start_at_the_low_threshold_and_creep_up() {
    let mut shell = released();
    released_ack(&mut shell, 1, 0, 45);
    let delay = |shell: &mut Host| shell.call(Some(LEAF), None, |_, cx, _| cx.peers.current().1[0].delay);
    assert_eq!(delay(&mut shell), 35_000, "half of 25 and of 45 us");
    // Goal: 37.5 us. T1 = 60: one step per 75 us, 1 % and a nanosecond.
    shell.wait(Span::from_us(76));
    pick(&mut shell, 5);
    assert_eq!(delay(&mut shell), 35_351);
    shell.wait(Span::from_ms(100));
    pick(&mut shell, 6);
    assert_eq!(delay(&mut shell), 37_500);
}

#[test]
fn released_placement_counts_flows_and_forgets_them_after_a_millisecond() {
    let mut shell = released();
    for way in 0..WAYS {
        released_ack(&mut shell, 900, way, if way < 2 { 1 } else { 60 });
    }
    let ways = [1, 2, 3, 4].map(|flow| pick(&mut shell, flow));
    assert_eq!([0, 1].map(|way| ways.iter().filter(|&&w| w == way).count()), [2, 2], "fewest flows of the good ones");
    tell(&mut shell, 1, ways[0], Event::FlowEnd);
    assert_eq!(pick(&mut shell, 5), ways[0]);
    // No acknowledgement for a millisecond: the next packet is that of a new flow, and goes where a new flow would.
    (0..3).for_each(|_| released_ack(&mut shell, 900, 3, 1));
    (0..8).for_each(|_| released_ack(&mut shell, 900, ways[1], 300));
    assert_eq!(pick(&mut shell, 2), ways[1]);
    shell.wait(Span::from_us(1_000));
    for way in 0..3 {
        (0..9).for_each(|_| released_ack(&mut shell, 900, way, 300));
    }
    (0..9).for_each(|_| released_ack(&mut shell, 900, 3, 1));
    assert_eq!(pick(&mut shell, 2), 3);
}

#[test]
fn released_flows_move_by_half_of_their_attempts_and_never_fail_a_path() {
    let mut shell = released();
    let (mut moved, mut stayed) = (0, 0);
    for flow in 1..=200 {
        (0..9).for_each(|_| released_ack(&mut shell, 900, 0, 1));
        (1..WAYS).for_each(|way| (0..9).for_each(|_| released_ack(&mut shell, 900, way, 300)));
        assert_eq!(pick(&mut shell, flow), 0);
        (0..9).for_each(|_| released_ack(&mut shell, 900, 0, 300));
        (0..9).for_each(|_| released_ack(&mut shell, 900, 1, 1));
        assert_eq!(pick(&mut shell, flow), 0, "not within 100 us");
        shell.wait(Span::from_us(101));
        released_ack(&mut shell, flow, 0, 300);
        // Marks do not count, nor do its sent bytes: the paper's gates do not exist here.
        match pick(&mut shell, flow) {
            1 => moved += 1,
            0 => stayed += 1,
            way => panic!("to {way}"),
        }
    }
    assert!((75..=125).contains(&moved), "{moved} of 200, {stayed} not");
    (0..50).for_each(|_| tell(&mut shell, 900, 1, Event::Timeout));
    let judged = |shell: &mut Host| {
        shell.call(Some(LEAF), None, |policy, cx, _| {
            released::judge(&cx.peers.current().1[1], cx.now, &policy.sensing(&cx.view).0)
        })
    };
    assert_eq!(judged(&mut shell), Class::Congested, "bad for T1");
    shell.wait(Span::from_us(60));
    assert_eq!(judged(&mut shell), Class::Good, "fifty timeouts are no failure");
}

#[test]
fn released_probes_are_two_at_random_and_the_first_answer_is_lost() {
    let mut shell = host_at(&Config { compat: Compat::Ns3, ..Config::default() }, 2);
    shell.tick();
    let sent = probes(&shell);
    assert!((1..=2).contains(&sent.len()) && sent.iter().all(|&(host, _)| host == 8), "rack 2 only: {sent:?}");
    answer(&mut shell, 2, 0, 10, false);
    assert!(shell.did.is_empty(), "ignored");
    answer(&mut shell, 2, 1, 10, false);
    assert_eq!(shared(&shell), [(2, 1, News { delay: Span::from_us(10), marked: false, lost: false })], "at once");
    shell.feedback(2, Feedback { way: Way(0), flow: None, event: Event::ProbeLost });
    assert!(shell.did.is_empty());
    let mut own = host_at(&Config { compat: Compat::Ns3, ..Config::default() }, 0);
    own.tick();
    assert!(own.did.is_empty(), "nobody probes the own rack");
}
