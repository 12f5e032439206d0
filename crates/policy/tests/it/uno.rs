//! UnoLB at one host, hook by hook: turns, stamps, and which subflows move after a loss.

use crate::common::{Shell, ack, data};
use spinewise_policy::out::Action;
use spinewise_policy::schemes::uno::{Config, Losses, Uno};
use spinewise_policy::*;

/// The base round trip is 10 us.
fn host(config: &Config) -> Shell<Uno> {
    Shell::new(config, Tier::Host, 0, 4)
}

fn send(shell: &mut Shell<Uno>, flow: u32, many: usize) -> Vec<u16> {
    (0..many).map(|_| shell.pick(4, &data(flow), &mut ()).0).collect()
}

/// Tells a flow of a packet. Returns which subflows have moved.
fn tell(shell: &mut Shell<Uno>, flow: u32, value: u16, event: Event) -> Vec<u16> {
    shell.feedback(4, Feedback { way: Way(value), flow: Some(FlowKey(flow)), event });
    let moved = |did: &Action| if let Action::Record { value, .. } = did { Some(*value as u16) } else { None };
    shell.did.iter().filter_map(moved).collect()
}

const ACK: Event = Event::Ack { bytes: 1460, rtt: Span(10_000_000), one_way: Span(5_000_000), marked: true };
const TRIM: Event = Event::Trimmed { last_hop: false, marked: false };

#[test]
fn packets_take_ten_subflows_in_turn_and_acknowledgements_none() {
    let mut shell = host(&Config::default());
    let values = send(&mut shell, 2, 10);
    assert!((0..).zip(&values).all(|(which, value)| value / 250 == which), "{values:?}");
    assert_eq!(send(&mut shell, 2, 20), [values.clone(), values.clone()].concat(), "nothing is heard, nothing moves");
    assert_ne!(send(&mut shell, 4, 10), values, "another flow draws its own");
    assert_eq!(shell.pick(4, &ack(3), &mut ()), Way::ANY);
}

#[test]
fn after_a_loss_the_silent_move_once_a_round_trip() {
    let mut shell = host(&Config::default());
    let values = send(&mut shell, 2, 10);
    let other = send(&mut shell, 4, 10);
    assert!(tell(&mut shell, 2, values[0], TRIM).is_empty(), "too early");
    shell.wait(Span::from_us(8));
    for value in &values[3..] {
        tell(&mut shell, 2, *value, ACK);
    }
    shell.wait(Span::from_us(4));
    // 12 us after their begin 0, 1 and 2 have not been heard of; 4 us of silence are not enough.
    assert_eq!(tell(&mut shell, 2, values[5], TRIM), [0, 1, 2]);
    let after = send(&mut shell, 2, 10);
    assert_eq!(after[3..], values[3..]);
    assert!((0..3).all(|which| after[which] / 250 == which as u16) && after[..3] != values[..3]);
    shell.wait(Span::from_us(2));
    // Those that moved stay for a round trip; the others have been silent for 6 us by now.
    assert_eq!(tell(&mut shell, 2, values[5], TRIM), [3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(send(&mut shell, 4, 10), other, "the other flow has lost nothing");
}

#[test]
fn timeouts_count_as_losses_unless_only_trims_do() {
    for (losses, moved) in [(Losses::All, 10), (Losses::Trims, 0)] {
        let mut shell = host(&Config { losses, ..Config::default() });
        let values = send(&mut shell, 2, 10);
        shell.wait(Span::from_us(11));
        assert_eq!(tell(&mut shell, 2, values[0], Event::Timeout).len(), moved, "{losses:?}");
        assert_eq!(tell(&mut shell, 2, values[0], TRIM).len(), 10 - moved);
    }
}
