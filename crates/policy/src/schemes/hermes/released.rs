//! `compat = "ns3"`: the rules of the public ns-3 code, including those that do not do what they claim.

use super::path::{Class, Limits, Route, nanoseconds};
use super::rerouting::Least;
use crate::{Rng, Span, Time, Way};

/// The code's record of a flow is dropped after this time without an acknowledgement, even while the flow is active.
pub(crate) const RECORD: Span = Span::from_us(1_000);
/// Minimum time between two attempts to move a flow.
pub(crate) const BETWEEN_ATTEMPTS: Span = Span::from_us(100);
/// One attempt in this many is made.
pub(crate) const ATTEMPTS: u32 = 2;
/// Paths are checked this often.
const CHECKS: Span = Span::from_us(25);
/// Width and number of the levels of delay.
const LEVEL: u32 = 10_000;
const LEVELS: u32 = 5;
/// After this many steps an estimate has long arrived.
const MOST_STEPS: u64 = 512;

/// The code's record of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Record {
    /// Bytes acknowledged on the current path.
    pub acked: u64,
    /// When a move was last tried, or the flow placed.
    pub tried: Time,
    /// Last acknowledgement, or the placement.
    pub live: Time,
    /// Last packet sent.
    pub active: Time,
}

impl Record {
    /// The record of a flow that is placed now.
    pub fn new(now: Time) -> Record {
        Record { acked: 0, tried: now, live: now, active: now }
    }

    /// Whether it still exists.
    #[inline]
    pub(crate) fn is_kept(&self, now: Time) -> bool {
        now.since(self.live) < RECORD
    }
}

/// A delay measured on a path: half of it counts at once, and a path never measured starts at T_RTT_low.
pub fn sample(route: &mut Route, now: Time, delay: Span, limits: &Limits, t1: Span) {
    age(route, now, limits, t1);
    let old = if route.delay == 0 { limits.low } else { route.delay };
    route.delay = old / 2 + nanoseconds(delay) / 2;
    route.sampled = now;
}

/// Without a sample for T1, an estimate moves by 1 % towards 1.5 T_RTT_low, again and again.
pub fn age(route: &mut Route, now: Time, limits: &Limits, t1: Span) {
    let idle = now.since(route.sampled);
    if route.delay == 0 || idle.0 <= t1.0 {
        return;
    }
    let step = (t1.0 / CHECKS.0 + 1) * CHECKS.0;
    let steps = idle.0 / step;
    let goal = limits.low / 2 * 3;
    for _ in 0..steps.min(MOST_STEPS) {
        let delay = u64::from(route.delay);
        route.delay = if route.delay < goal {
            ((delay * 101 / 100 + 1) as u32).min(goal)
        } else {
            ((delay * 99 / 100) as u32).max(goal)
        };
    }
    route.sampled += Span(steps * step);
}

/// The class: marks do not count, and a timeout makes the path bad until its window ends. Nothing ever fails, because
/// lost probes are booked with path and rack exchanged and the thresholds for losses are out of reach.
pub fn judge(route: &Route, now: Time, limits: &Limits) -> Class {
    let delay = if route.delay == 0 { limits.low } else { route.delay };
    let timeout = now < route.until;
    if delay < limits.low && !timeout {
        Class::Good
    } else if delay >= limits.high || timeout {
        Class::Congested
    } else {
        Class::Gray
    }
}

/// A timeout on the path: it is bad until its window ends.
pub fn timed_out(route: &mut Route, now: Time, t1: Span) {
    route.until = now + t1;
}

/// Returns the way of a flow that is new (`own` is `None`) or may leave `own`. Good paths need no margin; a gray path
/// must be better by Δ_RTT, and so must a bad one, of which the first is taken. Among good or gray ones the level of
/// delay decides, in steps of 10 µs, then the number of flows, then chance.
pub fn choose(routes: &[Route], own: Option<Way>, now: Time, limits: &Limits, rng: &mut Rng) -> Option<Way> {
    let delay = |route: &Route| if route.delay == 0 { limits.low } else { route.delay };
    let own = own.map_or(u32::MAX, |way| delay(&routes[way.index()]));
    let better = |route: &Route| own.saturating_sub(delay(route)) >= limits.margin;
    let (mut good, mut gray, mut bad) = (Least::default(), Least::default(), None);
    for (way, route) in routes.iter().enumerate() {
        let way = Way(way as u16);
        // The most flows at a level are fewer than the least of the next.
        let value = level(delay(route), limits) << 16 | u32::from(route.flows);
        match judge(route, now, limits) {
            Class::Good => good.offer(way, value, rng),
            Class::Gray if better(route) => gray.offer(way, value, rng),
            Class::Congested if bad.is_none() && better(route) => bad = Some(way),
            _ => {}
        }
    }
    good.way().or(gray.way()).or(bad)
}

/// The level of a delay: 0 up to 10 µs above T_RTT_low, and so on.
fn level(delay: u32, limits: &Limits) -> u32 {
    (delay.saturating_sub(limits.low + 1) / LEVEL).min(LEVELS - 1)
}

/// A flow moves from one path to another.
pub(crate) fn reassign(routes: &mut [Route], from: Option<Way>, to: Way) {
    if let Some(route) = from.and_then(|way| routes.get_mut(way.index())) {
        route.flows = route.flows.saturating_sub(1);
    }
    let route = &mut routes[to.index()];
    route.flows = route.flows.saturating_add(1);
}
