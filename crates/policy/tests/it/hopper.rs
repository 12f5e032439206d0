//! Hopper at one host, hook by hook: averages, epochs, probes, the gain, how late a flow moves.

use crate::common::{Shell, data};
use spinewise_policy::out::Action;
use spinewise_policy::schemes::hopper::{Config, Hopper};
use spinewise_policy::*;

/// The base round trip is 10 µs. A probe with as many bytes as a packet is compared without adjustment.
fn host(config: Config) -> (Shell<Hopper>, Way) {
    let mut shell = Shell::new(&Config { probe_bytes: 1500, rtt_weight: 1.0, ..config }, Tier::Host, 0, 8);
    let label = shell.pick(4, &data(2), &mut ());
    (shell, label)
}

fn send(shell: &mut Shell<Hopper>) -> Way {
    shell.pick(4, &data(2), &mut ())
}

fn tell(shell: &mut Shell<Hopper>, way: Way, event: Event) {
    shell.feedback(4, Feedback { way, flow: Some(FlowKey(2)), event });
}

fn ack(shell: &mut Shell<Hopper>, way: Way, us: u64) -> Vec<Way> {
    tell(shell, way, Event::Ack { bytes: 1460, rtt: Span::from_us(us), one_way: Span::from_us(us / 2), marked: false });
    shell.did.iter().filter_map(|did| if let Action::Probe { way, .. } = did { Some(*way) } else { None }).collect()
}

fn answer(shell: &mut Shell<Hopper>, way: Way, us: u64) {
    let (rtt, one_way) = (Span::from_us(us), Span::from_us(us / 2));
    let event = Event::ProbeReply { rtt, one_way, marked: false, by: Device::Host(4), port: Port(0) };
    shell.feedback(4, Feedback { way, flow: None, event });
}

#[test]
fn only_round_trips_above_one_and_a_half_have_others_probed() {
    let (mut shell, label) = host(Config::default());
    assert!(ack(&mut shell, label, 15).is_empty());
    shell.wait(Span::from_us(20));
    assert!(ack(&mut shell, Way(label.0 ^ 1), 90).is_empty(), "of another path");
    let probes = ack(&mut shell, label, 16);
    assert!(probes.len() == 2 && probes[0] != probes[1] && !probes.contains(&label), "{probes:?}");
    shell.wait(Span::from_us(50));
    assert!(ack(&mut shell, label, 40).is_empty(), "those are not answered yet");
}

#[test]
fn the_average_moves_by_the_weight() {
    let config = Config { rtt_weight: 0.25, ..Config::default() };
    let mut shell: Shell<Hopper> = Shell::new(&config, Tier::Host, 0, 8);
    let label = send(&mut shell);
    ack(&mut shell, label, 10);
    // 10, then 10 + (26 - 10) / 4 = 14, then 14 + 12 / 4 = 17.
    shell.wait(Span::from_us(10));
    assert!(ack(&mut shell, label, 26).is_empty());
    shell.wait(Span::from_us(14));
    assert_eq!(ack(&mut shell, label, 26).len(), 2);
}

#[test]
fn a_flow_moves_to_the_better_probe_as_much_later_as_it_gains() {
    let (mut shell, label) = host(Config::default());
    let probes = ack(&mut shell, label, 40);
    answer(&mut shell, probes[0], 31);
    assert!(ack(&mut shell, label, 40).is_empty());
    answer(&mut shell, probes[1], 30);
    assert_eq!(send(&mut shell), label);
    ack(&mut shell, label, 40);
    // 10 us better than 40.
    shell.wait(Span::from_us(10) + Span(0));
    let before = Time(shell.now.0 - 1);
    let now = std::mem::replace(&mut shell.now, before);
    assert_eq!(send(&mut shell), label);
    shell.now = now;
    assert_eq!(send(&mut shell), probes[1]);
    // The old path is no longer heard of.
    shell.wait(Span::from_us(100));
    assert!(ack(&mut shell, label, 90).is_empty());
    assert_eq!(ack(&mut shell, probes[1], 16).len(), 2);
}

#[test]
fn a_gain_of_a_fifth_is_not_more_than_a_fifth_and_lost_probes_are_none() {
    for (first, second, moves) in [(32, 40, false), (31, 40, true), (90, 90, false)] {
        let (mut shell, label) = host(Config::default());
        let probes = ack(&mut shell, label, 40);
        answer(&mut shell, probes[0], first);
        answer(&mut shell, probes[1], second);
        ack(&mut shell, label, 40);
        shell.wait(Span::from_us(100));
        assert_eq!(send(&mut shell) != label, moves, "{first} and {second}");
    }
    let (mut shell, label) = host(Config::default());
    let probes = ack(&mut shell, label, 40);
    for way in &probes {
        shell.feedback(4, Feedback { way: *way, flow: None, event: Event::ProbeLost });
    }
    shell.wait(Span::from_us(100));
    // All have been reported: nothing to move to, and the next epoch asks again.
    assert_eq!(ack(&mut shell, label, 40).len(), 2);
    assert_eq!(send(&mut shell), label);
}

#[test]
fn flows_share_the_room_for_probes_and_leave_none_behind() {
    let (mut shell, _) = host(Config { probes: 4, ..Config::default() });
    let mut probed = vec![];
    for flow in [2, 4, 6] {
        let label = shell.pick(4, &data(flow), &mut ());
        let rtt = Span::from_us(40);
        let event = Event::Ack { bytes: 1460, rtt, one_way: rtt, marked: false };
        shell.feedback(4, Feedback { way: label, flow: Some(FlowKey(flow)), event });
        probed.push(shell.did.len());
    }
    assert_eq!(probed, [4, 4, 0]);
    shell.feedback(4, Feedback { way: Way::ANY, flow: Some(FlowKey(4)), event: Event::FlowEnd });
    let label = shell.pick(4, &data(6), &mut ());
    shell.wait(Span::from_us(50));
    let event = Event::Ack { bytes: 1460, rtt: Span::from_us(40), one_way: Span::from_us(20), marked: false };
    shell.feedback(4, Feedback { way: label, flow: Some(FlowKey(6)), event });
    assert_eq!(shell.did.len(), 4, "the room of the flow that has ended");
}
