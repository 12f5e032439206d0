//! Host 0 of rack 0 under Hermes, and what its last hook call requested.

use super::{Shell, data};
use spinewise_policy::schemes::hermes::path::{Class, Seen};
use spinewise_policy::schemes::hermes::{Config, Hermes};
use spinewise_policy::*;

pub(crate) const WAYS: u16 = 4;
/// The rack of host 4, the destination of all data here.
pub(crate) const LEAF: u32 = 1;

/// Host 0 of rack 0; of the configured base of 10 µs, 6 are the way there. Thresholds: 26 and 146 µs.
pub(crate) fn host(config: &Config) -> Shell<Hermes> {
    host_at(config, 0)
}

pub(crate) fn host_at(config: &Config, device: u32) -> Shell<Hermes> {
    let mut shell = Shell::new(config, Tier::Host, device, WAYS);
    shell.now = Time(1_000_000_000);
    // As with `all_peers`.
    (0..4).for_each(|leaf| shell.call(Some(leaf), None, |_, _, _| ()));
    shell
}

pub(crate) fn tell(shell: &mut Shell<Hermes>, flow: u32, way: u16, event: Event) {
    shell.feedback(LEAF, Feedback { way: Way(way), flow: Some(FlowKey(flow)), event });
}

pub(crate) fn ack(us: u64, marked: bool) -> Event {
    Event::Ack { bytes: 1460, rtt: Span::from_us(3 * us), one_way: Span::from_us(us), marked }
}

/// `count` acknowledgements of packets on `way`, `marks` of them marked.
pub(crate) fn acks(shell: &mut Shell<Hermes>, way: u16, us: u64, count: u32, marks: u32) {
    (0..count).for_each(|n| tell(shell, 900, way, ack(us, n < marks)));
}

pub(crate) fn seen(shell: &mut Shell<Hermes>, way: u16) -> Seen {
    shell.call(Some(LEAF), None, |policy, cx, _| {
        let (limits, senses) = policy.sensing(&cx.view);
        cx.peers.current().1[usize::from(way)].seen(cx.now, 0, &limits, &senses)
    })
}

pub(crate) fn class(shell: &mut Shell<Hermes>, way: u16) -> Class {
    seen(shell, way).class
}

/// The way of the flow's next packet.
pub(crate) fn pick(shell: &mut Shell<Hermes>, flow: u32) -> u16 {
    shell.pick(LEAF, &data(flow), &mut ()).0
}
