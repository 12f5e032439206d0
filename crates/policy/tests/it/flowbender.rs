//! FlowBender at one host, hook by hook: a flow keeps its tag until a round trip of marks, or a timeout.

use crate::common::{Shell, ack, data};
use spinewise_policy::out::Action;
use spinewise_policy::schemes::flowbender::{Change, Config, FlowBender};
use spinewise_policy::*;

fn host(config: &Config) -> Shell<FlowBender> {
    Shell::new(config, Tier::Host, 0, 8)
}

/// Sends `count` packets of flow 1 from byte `from` on. Their tag, which must be one.
fn send(shell: &mut Shell<FlowBender>, from: u64, count: u64) -> u16 {
    let tags: Vec<Way> =
        (0..count).map(|n| shell.pick(1, &Packet { seq: from + n * 1460, ..data(1) }, &mut ())).collect();
    assert!(tags.iter().all(|tag| tag == &tags[0] && tag.0 < 8), "{tags:?}");
    tags[0].0
}

fn tell(shell: &mut Shell<FlowBender>, event: Event) {
    shell.feedback(1, Feedback { way: Way::ANY, flow: Some(FlowKey(1)), event });
}

fn acks(shell: &mut Shell<FlowBender>, count: u32, marks: u32) {
    for n in 0..count {
        let (rtt, one_way) = (Span::from_us(100), Span::from_us(50));
        tell(shell, Event::Ack { bytes: 1460, rtt, one_way, marked: n < marks });
    }
}

#[test]
fn one_marked_round_trip_changes_the_tag() {
    let mut shell = host(&Config::default());
    let first = send(&mut shell, 0, 20);
    acks(&mut shell, 19, 19);
    assert_eq!(send(&mut shell, 29_200, 1), first, "not before the round trip is over");
    acks(&mut shell, 1, 0);
    let second = send(&mut shell, 30_660, 20);
    assert_ne!(second, first);
    // The next round trip is the data outstanding by then: the packet at 29,200, without a mark.
    acks(&mut shell, 1, 0);
    assert_eq!(send(&mut shell, 59_860, 1), second);
    // Then 20 packets: one mark is 5 %, not more.
    acks(&mut shell, 20, 1);
    assert_eq!(send(&mut shell, 61_320, 20), second);
    acks(&mut shell, 1, 0);
    acks(&mut shell, 20, 2);
    assert!(matches!(shell.did[..], [Action::Record { series: 0, .. }]), "{:?}", shell.did);
    assert_ne!(send(&mut shell, 90_520, 1), second);
}

#[test]
fn a_timeout_changes_the_tag_if_it_may() {
    for (on_timeout, changes) in [(true, true), (false, false)] {
        let mut shell = host(&Config { on_timeout, ..Config::default() });
        tell(&mut shell, Event::Timeout);
        assert!(shell.did.is_empty(), "nothing was sent yet");
        let first = send(&mut shell, 0, 3);
        tell(&mut shell, Event::Timeout);
        assert_eq!(send(&mut shell, 0, 3) != first, changes);
    }
}

/// A rack has fewer paths than others where links are down: another tag is still another path.
#[test]
fn another_tag_is_another_path_where_there_are_few() {
    for change in [Change::Random, Change::Next] {
        let mut shell = host(&Config { change, ..Config::default() });
        shell.room.ways[1] = 3;
        for _ in 0..50 {
            let before = send(&mut shell, 0, 1);
            tell(&mut shell, Event::Timeout);
            let after = send(&mut shell, 0, 1);
            assert!(before != after && after < 3, "{change:?}: from {before} to {after}");
        }
    }
}

#[test]
fn n_round_trips_in_a_row() {
    let mut shell = host(&Config { n: 2, ..Config::default() });
    let first = send(&mut shell, 0, 10);
    for (round, marks, changes) in [(1, 9, false), (2, 0, false), (3, 9, false), (4, 9, true)] {
        acks(&mut shell, 10, marks);
        assert_eq!(send(&mut shell, round * 14_600, 10) != first, changes, "round trip {round}");
    }
}

#[test]
fn acknowledgements_and_unreachable_hosts_get_no_tag() {
    let mut shell = host(&Config::default());
    assert_eq!(shell.pick(1, &ack(1), &mut ()), Way::ANY);
    shell.room.ways[1] = 0;
    assert_eq!(shell.pick(1, &data(1), &mut ()), Way::ANY);
    let tags: Vec<u16> = (0..200).map(|flow| host_of(flow).0).collect();
    assert!((0..2).all(|v| tags.contains(&v)) && tags.iter().all(|&v| v < 2), "values = 2: {tags:?}");
}

fn host_of(flow: u32) -> Way {
    let mut shell = host(&Config { values: 2, ..Config::default() });
    shell.rng = Rng::stream(u64::from(flow), "test", 0);
    shell.pick(1, &data(flow), &mut ())
}
