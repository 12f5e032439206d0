//! Errors in a hook, kept until the engine checks, because hooks cannot fail.

use super::lent::Place;
use pyo3::PyErr;
use spinewise_policy::Tier;
use spinewise_sim::bank::Room;
use std::cell::RefCell;

/// An exception that a scheme raised.
pub(crate) struct Failure {
    /// The exception.
    pub error: PyErr,
    /// The place and time, worded to follow "PowerOfTwo.pick failed".
    pub place: String,
    /// Class and method.
    pub hook: String,
    /// Simulated time, ps.
    pub now_ps: u64,
    /// Number of the flow, if the hook was about one.
    pub flow: Option<u32>,
}

thread_local! {
    static FAILED: RefCell<Option<Failure>> = const { RefCell::new(None) };
}

/// Whether a hook has failed in the run of this thread.
pub(crate) fn has_failed() -> bool {
    FAILED.with_borrow(Option::is_some)
}

/// Keeps the first failure.
pub(crate) fn keep(failure: Failure) {
    FAILED.with_borrow_mut(|kept| {
        kept.get_or_insert(failure);
    });
}

/// Takes it.
pub(crate) fn take() -> Option<Failure> {
    FAILED.take()
}

/// An exception in a hook that was lent `place`.
pub(crate) fn in_hook(error: PyErr, hook: String, place: &dyn Place) -> Failure {
    let now_ps = place.now().0;
    let device = match place.room() {
        Room::Host(view) => format!("host {}", view.host),
        Room::Switch(view) => {
            let tier = match view.tier {
                Tier::Leaf => "leaf",
                Tier::Aggregation => "aggregation switch",
                Tier::Spine | Tier::Host => "spine",
            };
            format!("switch {} (a {tier})", view.switch)
        }
    };
    let packet = place.hook().packet().copied();
    let flow = super::views::flow_of(place).map(|key| key >> 1);
    let mut text = format!("at {} µs, {device}", now_ps as f64 / 1e6);
    if let Some(flow) = flow {
        text += &format!(", flow {flow}");
    }
    if let Some(packet) = packet {
        text += &format!(", a packet from host {} to host {}", packet.src, packet.dst);
    }
    Failure { error, place: text, hook, now_ps, flow }
}

/// An exception as a scheme was set up.
pub(crate) fn at_start(error: PyErr, hook: String) -> Failure {
    Failure { error, place: "before the run".into(), hook, now_ps: 0, flow: None }
}
