//! A source leaf's knowledge of its uplinks, the paths of SELB: their queues when it last looked, and their classes.

use super::Monitor;
use super::kmeans::{Point, Start, classify};
use crate::fabric::reorder::InUse;
use crate::{Port, Rng, Span, SwitchView, Time};

/// Row per port: an uplink as a path, a port to a host as the location of reorder queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uplink {
    /// Its queue when it was last measured, bytes.
    pub length: u64,
    /// Its queue as found by the last packet that took it, bytes, and when that was.
    pub found: (u64, Option<Time>),
    /// Its class, numbered from the shortest queues.
    pub cluster: u8,
    /// Its class before the last measurement.
    pub before: u8,
    /// Whether it was congested when it was last measured.
    pub congested: bool,
    /// Whether its link is down.
    pub down: bool,
    /// Reorder queues in use here (at the destination leaf).
    pub in_use: InUse,
}

impl Point for Uplink {
    fn length(&self) -> Option<u64> {
        (!self.down).then_some(self.length)
    }

    fn cluster(&self) -> u8 {
        self.cluster
    }

    fn assign(&mut self, cluster: u8) {
        self.cluster = cluster;
    }
}

/// The threshold at which a path is congested.
#[derive(Clone, Copy, Debug)]
pub struct Threshold {
    /// θ: growth of its queue, as a share of its link's rate.
    pub theta: f64,
    /// Its queue alone, bytes, may also make it congested; 0 ignores lengths.
    pub also_length: u64,
}

impl Threshold {
    /// Whether a path is congested whose queue went from `before` to `length` bytes in `elapsed`, over a link of `rate`
    /// bits per second. Growth in no time exceeds every θ; `None` means that the queue was not measured before.
    pub fn congested(&self, before: u64, length: u64, elapsed: Option<Span>, rate: u64) -> bool {
        // SELB §"Rerouting Strategy": "when the queue length growth rate exceeds θ"
        let grown = length.saturating_sub(before) as f64 * 8.0e12;
        let exceeds = |elapsed: Span| grown > self.theta * rate as f64 * elapsed.0 as f64 && length > before;
        elapsed.is_some_and(exceeds) || self.also_length > 0 && length > self.also_length
    }
}

/// The result of the last measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// When it was made; `None` if never.
    pub at: Option<Time>,
    /// Paths congested.
    pub congested: u16,
    /// Paths that changed class.
    pub changed: u16,
}

/// The inputs of every judgement of an uplink: the switch at an instant, and the last measurement.
#[derive(Clone, Copy)]
pub struct Moment<'a> {
    /// The instant.
    pub now: Time,
    /// When all uplinks were last measured, if ever.
    pub measured: Option<Time>,
    /// The switch.
    pub view: SwitchView<'a>,
}

impl Moment<'_> {
    /// Whether `uplink`, which is `port`, is congested at this moment.
    // SELB §"Rerouting Strategy"
    #[inline]
    pub fn congested(&self, monitor: Monitor, threshold: &Threshold, uplink: &Uplink, port: Port) -> bool {
        let (before, at) = match monitor {
            Monitor::Interval => return uplink.congested,
            Monitor::Measured => (uplink.length, self.measured),
            Monitor::Packet => uplink.found,
        };
        self.grown(threshold, before, at, port)
    }

    /// Whether the queue of `port` has grown too fast, from `before` bytes at the instant `at`.
    fn grown(&self, threshold: &Threshold, before: u64, at: Option<Time>, port: Port) -> bool {
        let elapsed = at.map(|at| self.now.since(at));
        threshold.congested(before, self.view.queue_bytes(port), elapsed, self.view.rate(port))
    }
}

/// Measures the queues of `uplinks`, whose first is port `first`, and classifies them into at most `k` clusters.
// SELB §"Path Classification"
pub(crate) fn survey(
    uplinks: &mut [Uplink],
    first: u16,
    moment: &Moment<'_>,
    (monitor, threshold): (Monitor, &Threshold),
    (k, start, rng): (usize, Start, &mut Rng),
) -> Survey {
    for (uplink, number) in uplinks.iter_mut().zip(first..) {
        let port = Port(number);
        let (before, at) = if monitor == Monitor::Packet { uplink.found } else { (uplink.length, moment.measured) };
        uplink.congested = !uplink.down && moment.grown(threshold, before, at, port);
        uplink.length = moment.view.queue_bytes(port);
        uplink.before = uplink.cluster;
    }
    classify(uplinks, k, start, rng);
    let count = |which: fn(&&Uplink) -> bool| uplinks.iter().filter(which).count() as u16;
    Survey { at: Some(moment.now), congested: count(|u| u.congested), changed: count(|u| u.cluster != u.before) }
}

/// A random draw among the ways below `n` that are `wanted`.
pub fn one_of(n: usize, rng: &mut Rng, wanted: impl Fn(usize) -> bool) -> Option<usize> {
    let many = (0..n).filter(|way| wanted(*way)).count() as u32;
    let skip = if many > 1 { rng.below(many) } else { 0 };
    (0..n).filter(|way| wanted(*way)).nth(skip as usize)
}

/// A random draw among the ways below `n` with the shortest queue; `old`, if it is one of them.
pub fn shortest(n: usize, rng: &mut Rng, length: impl Fn(usize) -> u64, old: Option<usize>) -> usize {
    let least = (0..n).map(&length).min().unwrap_or(0);
    let drawn = || one_of(n, rng, |way| length(way) == least).unwrap_or(0);
    old.filter(|old| length(*old) == least).unwrap_or_else(drawn)
}
