//! Linux's labels without PLB: each timeout has one reconsidered, marks none.

use crate::common::{Shell, ack, data};
use spinewise_policy::edge::label::Receiver;
use spinewise_policy::schemes::txrehash::{Config, Txrehash};
use spinewise_policy::*;

#[test]
fn timeouts_alone_change_a_label() {
    let mut shell: Shell<Txrehash> = Shell::new(&Config::default(), Tier::Host, 0, 8);
    let tell = |shell: &mut Shell<Txrehash>, event: Event| {
        shell.feedback(4, Feedback { way: Way::ANY, flow: Some(FlowKey(2)), event });
    };
    tell(&mut shell, Event::Timeout);
    assert!(shell.did.is_empty(), "nothing was sent yet");
    let first = shell.pick(4, &data(2), &mut ());
    for n in 1..100 {
        let (rtt, one_way) = (Span::from_us(100), Span::from_us(50));
        tell(&mut shell, Event::Ack { bytes: 1460, rtt, one_way, marked: true });
        tell(&mut shell, Event::Retransmit);
        assert_eq!(shell.pick(4, &Packet { seq: n * 1460, ..data(2) }, &mut ()), first);
    }
    tell(&mut shell, Event::Timeout);
    assert_eq!(shell.did.len(), 1);
    assert_ne!(shell.pick(4, &data(2), &mut ()), first);
}

#[test]
fn older_receivers_move_when_the_same_segment_comes_again_and_again() {
    let mut shell: Shell<Txrehash> = Shell::new(&Config { receiver: Receiver::SameSegment }, Tier::Host, 4, 8);
    let first = shell.pick(0, &Packet { seq: 2920, ..ack(3) }, &mut ());
    let again = |shell: &mut Shell<Txrehash>| {
        shell.ingress(0, &Packet { way: Way(7), ..data(2) }, &mut ());
        shell.pick(0, &Packet { seq: 2920, ..ack(3) }, &mut ())
    };
    assert_eq!(again(&mut shell), first, "the first duplicate");
    assert_ne!(again(&mut shell), first, "the second of the same segment");
}
