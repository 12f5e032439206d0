//! Flowlets at the host: silence for half a round trip, and how long a label is kept.

use crate::common::{Shell, ack, data};
use spinewise_policy::schemes::host_flowlet::{Config, HostFlowlet};
use spinewise_policy::*;

/// The base round trip is 10 µs.
#[test]
fn half_a_round_trip_of_silence_takes_another_label_once_in_a_while() {
    let mut shell: Shell<HostFlowlet> = Shell::new(&Config { hold_us: 100.0, ..Config::default() }, Tier::Host, 0, 8);
    let send = |shell: &mut Shell<HostFlowlet>| shell.pick(4, &data(2), &mut ());
    let hear = |shell: &mut Shell<HostFlowlet>| {
        let event = Event::Ack { bytes: 1460, rtt: Span::from_us(10), one_way: Span::from_us(5), marked: false };
        shell.feedback(4, Feedback { way: Way::ANY, flow: Some(FlowKey(2)), event });
    };
    let first = send(&mut shell);
    shell.wait(Span::from_us(50));
    assert_eq!(send(&mut shell), first, "silent, but the label is young");
    shell.wait(Span::from_us(50));
    hear(&mut shell);
    shell.wait(Span::from_us(5));
    assert_eq!(send(&mut shell), first, "half a round trip is not longer than that");
    shell.wait(Span(1));
    let second = send(&mut shell);
    assert_ne!(second, first);
    shell.wait(Span::from_us(99));
    assert_eq!(send(&mut shell), second);
    shell.wait(Span::from_us(1));
    assert_ne!(send(&mut shell), second);
    assert_eq!(shell.pick(4, &ack(2), &mut ()), Way::ANY);
}
