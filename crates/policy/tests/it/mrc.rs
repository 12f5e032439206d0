//! MRC at one host, hook by hook: what marks, trims, losses and probes do to the values of a flow, and to no other.

use crate::common::{Shell, ack, data};
use spinewise_policy::config::Allowed;
use spinewise_policy::out::Action;
use spinewise_policy::schemes::mrc::{Config, Mrc};
use spinewise_policy::*;

/// Sixteen values in rotation of four planes, and two backups of each.
fn sixteen() -> Config {
    Config { values: 16, planes: 4, backups: 2, ..Config::default() }
}

fn host(config: &Config) -> Shell<Mrc> {
    Shell::new(config, Tier::Host, 0, 4)
}

fn send(shell: &mut Shell<Mrc>, flow: u32, many: usize) -> Vec<u16> {
    (0..many).map(|_| shell.pick(4, &data(flow), &mut ()).0).collect()
}

/// Reports one of its packets to a flow. Returns the values probed.
fn tell(shell: &mut Shell<Mrc>, flow: u32, value: u16, event: Event) -> Vec<u16> {
    shell.feedback(4, Feedback { way: Way(value), flow: Some(FlowKey(flow)), event });
    shell.did.iter().filter_map(|did| if let Action::Probe { way, .. } = did { Some(way.0) } else { None }).collect()
}

fn answered(marked: bool) -> Event {
    Event::Ack { bytes: 1460, rtt: Span::from_us(10), one_way: Span::from_us(5), marked }
}

fn probe_answered(shell: &mut Shell<Mrc>, value: u16, marked: bool) {
    let (rtt, one_way) = (Span::from_us(10), Span::from_us(5));
    let event = Event::ProbeReply { rtt, one_way, marked, by: Device::Host(4), port: Port(0) };
    shell.feedback(4, Feedback { way: Way(value), flow: None, event });
}

/// The values of one round, sorted.
fn sorted(mut values: Vec<u16>) -> Vec<u16> {
    values.sort_unstable();
    values
}

/// The plane of a value: blocks of values begin at a multiple of 32.
fn plane(value: u16) -> u16 {
    value % 4
}

#[test]
fn a_flow_has_as_many_values_of_each_plane_and_acknowledgements_none() {
    let mut shell = host(&sixteen());
    let values = send(&mut shell, 2, 16);
    let of = |p: u16| values.iter().filter(|&&value| plane(value) == p).count();
    assert_eq!([0, 1, 2, 3].map(of), [4; 4]);
    assert_eq!(send(&mut shell, 2, 16), values, "the order stays");
    let other = send(&mut shell, 4, 16);
    assert_ne!(other, values, "another flow draws its own");
    assert_eq!(shell.pick(4, &ack(3), &mut ()), Way::ANY);
}

#[test]
fn marks_and_trims_inside_skip_one_turn_and_those_at_the_last_hop_none() {
    let trimmed = |last_hop| Event::Trimmed { last_hop, marked: false };
    for (event, skips) in [
        (answered(true), true),
        (trimmed(false), true),
        (answered(false), false),
        (trimmed(true), false),
        (Event::Trimmed { last_hop: true, marked: true }, false),
        (Event::Retransmit, false),
    ] {
        let mut shell = host(&sixteen());
        let values = send(&mut shell, 2, 16);
        tell(&mut shell, 2, values[3], event);
        let next = send(&mut shell, 2, 15);
        assert_eq!(!next.contains(&values[3]), skips, "{event:?}");
        if skips {
            assert_eq!(send(&mut shell, 2, 16), values, "{event:?}");
        }
    }
}

#[test]
fn a_lost_value_leaves_for_a_backup_of_its_plane_and_no_other_flow_or_plane_hears_of_it() {
    let mut shell = host(&sixteen());
    let [values, other] = [2, 4].map(|flow| send(&mut shell, flow, 16));
    tell(&mut shell, 2, values[0], Event::Timeout);
    let after = send(&mut shell, 2, 16);
    let (gone, come): (Vec<u16>, Vec<u16>) = (
        values.iter().copied().filter(|value| !after.contains(value)).collect(),
        after.iter().copied().filter(|value| !values.contains(value)).collect(),
    );
    assert_eq!((gone.as_slice(), come.len()), (&values[..1], 1));
    assert_eq!(plane(come[0]), plane(values[0]));
    assert_eq!(after[1..], values[1..], "nothing else moves");
    assert_eq!(send(&mut shell, 4, 16), other, "the other flow has lost nothing");
    // All values of a plane may fail: it then has no backup left, and others do not help.
    for value in values.iter().chain(&after).filter(|&&value| plane(value) == plane(values[0])) {
        tell(&mut shell, 2, *value, Event::Timeout);
    }
    let left = send(&mut shell, 2, 16);
    for p in (0..4).filter(|&p| p != plane(values[0])) {
        let all: Vec<u16> = values.iter().copied().filter(|&value| plane(value) == p).collect();
        assert!(all.iter().all(|value| left.contains(value)), "plane {p}");
    }
}

#[test]
fn bad_values_are_probed_after_a_period_and_come_back_with_the_answer() {
    for marked in [false, true] {
        let config = Config { backups: 0, probe_period_us: 50.0, ..sixteen() };
        let mut shell = host(&config);
        let values = send(&mut shell, 2, 16);
        assert!(tell(&mut shell, 2, values[5], Event::Timeout).is_empty());
        assert!(!send(&mut shell, 2, 15).contains(&values[5]), "there is no backup: the others share its turns");
        shell.wait(Span(Span::from_us(50).0 - 1));
        assert!(tell(&mut shell, 2, values[0], answered(false)).is_empty());
        shell.wait(Span(1));
        assert_eq!(tell(&mut shell, 2, values[0], answered(false)), [values[5]]);
        assert!(tell(&mut shell, 2, values[0], answered(false)).is_empty(), "one is under way");
        probe_answered(&mut shell, values[5], marked);
        assert!(!send(&mut shell, 2, 15).contains(&values[5]), "the flow has not looked yet");
        tell(&mut shell, 2, values[0], answered(false));
        // Good at once, or after one more turn.
        assert_eq!(send(&mut shell, 2, 15).contains(&values[5]), !marked);
        assert_eq!(sorted(send(&mut shell, 2, 16)), sorted(values), "{marked}");
    }
}

#[test]
fn a_lost_probe_is_sent_again_a_period_later_and_rounds_are_bounded() {
    let mut shell = host(&Config { probes: 2, ..sixteen() });
    let values = send(&mut shell, 2, 16);
    values[..3].iter().for_each(|&value| _ = tell(&mut shell, 2, value, Event::Timeout));
    let mut probed = vec![];
    for _ in 0..3 {
        shell.wait(Span::from_us(100));
        let round = tell(&mut shell, 2, values[9], answered(false));
        assert_eq!(round.len(), 2);
        for &value in &round {
            shell.feedback(4, Feedback { way: Way(value), flow: None, event: Event::ProbeLost });
        }
        probed.extend(round);
    }
    // Each in its turn.
    assert_eq!(sorted(probed[..3].to_vec()), sorted(values[..3].to_vec()));
    assert_eq!(probed[3..], probed[..3]);
    // A flow that ends leaves no probes behind.
    shell.wait(Span::from_us(100));
    tell(&mut shell, 2, values[9], answered(false));
    tell(&mut shell, 2, Way::ANY.0, Event::FlowEnd);
    assert_eq!(shell.peers[0].room(), 32);
}

#[test]
fn what_does_not_go_together_is_said() {
    let power = |max| Allowed::PowerOfTwo { max };
    let whole = |max| Allowed::Integer { min: 0.0, max };
    for (config, clash) in [
        (Config::default(), None),
        (Config { values: 8, planes: 16, ..sixteen() }, Some(("planes", power(8.0), "values"))),
        (Config { planes: 16, backups: 9, ..Config::default() }, Some(("backups", whole(8.0), "planes"))),
        (Config { denied_planes: 4, ..sixteen() }, Some(("denied_planes", whole(3.0), "planes"))),
        (Config { denied_values: 4, ..sixteen() }, Some(("denied_values", whole(3.0), "values"))),
    ] {
        assert_eq!(Mrc::new(&config).clash(), clash, "{config:?}");
    }
}
