//! A leaf under ConWeave, and what its last hook call requested.

use super::Shell;
use spinewise_policy::fabric::reorder::TIMER;
use spinewise_policy::fabric::reorder::header::Body;
use spinewise_policy::out::Action;
use spinewise_policy::schemes::conweave::{ConWeave, Config};
use spinewise_policy::*;

/// A leaf under ConWeave.
pub(crate) type Leaf = Shell<ConWeave>;

/// A microsecond.
pub(crate) const US: u64 = 1_000_000;

/// Leaf `device`, at 1 µs.
pub(crate) fn leaf(config: &Config, device: u32) -> Leaf {
    let mut shell = Leaf::new(config, Tier::Leaf, device, 4);
    shell.now = Time(US);
    shell
}

/// Points of a series that the last hook call recorded.
pub(crate) fn points(shell: &Leaf, name: &str) -> Vec<f64> {
    let index = ConWeave::SHEET.series.iter().position(|series| series.name == name).expect("a series");
    let value = |action: &Action| match action {
        Action::Record { series, value } if *series as usize == index => Some(*value),
        _ => None,
    };
    shell.did.iter().filter_map(value).collect()
}

/// Control packets that the last hook call sent: class, leaf, flow, body, bytes.
pub(crate) fn sent(shell: &Leaf) -> Vec<(u8, u32, u32, Body, u32)> {
    let of = |action: &Action| match *action {
        Action::Send { to: To::Leaf(leaf), class, flow: Some(flow), way: Way::ANY, at, len, wire } => {
            let body = Body::get(&shell.bodies[at as usize..(at + len) as usize]).expect("a body");
            Some((class, leaf, flow.0, body, wire))
        }
        Action::Send { .. } => panic!("an odd message: {action:?}"),
        _ => None,
    };
    shell.did.iter().filter_map(of).collect()
}

/// Their classes.
pub(crate) fn classes(shell: &Leaf) -> Vec<u8> {
    sent(shell).iter().map(|message| message.0).collect()
}

/// Returns the times for which the flow's timer was armed.
pub(crate) fn armed(shell: &Leaf) -> Vec<Time> {
    let at = |action: &Action| match *action {
        Action::Arm { key: Key::Flow(_, TIMER), at } => Some(at),
        _ => None,
    };
    shell.did.iter().filter_map(at).collect()
}

/// A control packet comes from leaf `from`.
pub(crate) fn hear(shell: &mut Leaf, from: u32, class: u8, flow: u32, epoch: u8, way: Way) {
    let body = Body { epoch, way }.put();
    let message =
        Message { from: Device::Switch(from), class, flow: Some(FlowKey(flow)), in_port: Port(4), body: &body };
    shell.call(Some(from), message.flow, |policy, cx, row| policy.message(cx, row, &message));
}
