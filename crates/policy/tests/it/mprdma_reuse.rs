//! Reuse of values by acknowledgements at one host, hook by hook.

use crate::common::{Shell, ack, data};
use spinewise_policy::schemes::mprdma_reuse::{AfterTrim, Config, MpRdmaReuse};
use spinewise_policy::*;

fn host(config: &Config) -> Shell<MpRdmaReuse> {
    Shell::new(config, Tier::Host, 0, 4)
}

fn send(shell: &mut Shell<MpRdmaReuse>, flow: u32) -> u16 {
    shell.pick(4, &data(flow), &mut ()).0
}

fn tell(shell: &mut Shell<MpRdmaReuse>, flow: u32, value: u16, event: Event) {
    shell.feedback(4, Feedback { way: Way(value), flow: Some(FlowKey(flow)), event });
}

fn answered(marked: bool) -> Event {
    Event::Ack { bytes: 0, rtt: Span::from_us(10), one_way: Span::from_us(5), marked }
}

/// Whether these packets' values are drawn. If all 30 of them, out of 65,535, are alike, they are not.
fn drawn(shell: &mut Shell<MpRdmaReuse>, flow: u32) -> bool {
    let values: Vec<u16> = (0..30).map(|_| send(shell, flow)).collect();
    values.iter().any(|value| *value != values[0])
}

#[test]
fn packets_take_the_value_of_the_acknowledgement_before_them() {
    let mut shell = host(&Config::default());
    assert!(drawn(&mut shell, 2));
    for (value, marked) in [(70, false), (71, true), (65_534, false)] {
        tell(&mut shell, 2, value, answered(marked));
        assert_eq!([(); 3].map(|()| send(&mut shell, 2)), [value; 3]);
    }
    assert!(drawn(&mut shell, 4), "another flow has heard nothing");
    assert_eq!(shell.pick(4, &ack(3), &mut ()), Way::ANY);
}

#[test]
fn losses_have_values_drawn_until_the_next_acknowledgement() {
    let trim = Event::Trimmed { last_hop: false, marked: true };
    for (after_trim, event, stays) in [
        (AfterTrim::Drawn, trim, false),
        (AfterTrim::ItsValue, trim, true),
        (AfterTrim::Drawn, Event::Timeout, false),
        (AfterTrim::ItsValue, Event::Timeout, false),
    ] {
        let mut shell = host(&Config { after_trim, ..Config::default() });
        tell(&mut shell, 2, 70, answered(false));
        tell(&mut shell, 2, 80, event);
        tell(&mut shell, 2, 80, Event::Retransmit);
        assert_eq!((!drawn(&mut shell, 2), send(&mut shell, 2) == 80), (stays, stays), "{event:?}");
        tell(&mut shell, 2, 90, answered(true));
        assert_eq!(send(&mut shell, 2), 90);
    }
}
