//! What a source leaf knows of its uplinks, the paths of SELB: queue lengths now and one period ago, and their classes.

use super::kmeans::{Point, Start, classify};
use crate::schemes::conweave::reorder::InUse;
use crate::{Port, Rng, Span, SwitchView, Time};

/// Row per port: an uplink as a path, a port to a host as the place of reorder queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uplink {
    /// Its queue when it was last measured, bytes.
    pub length: u64,
    /// Its class, from the shortest queues on.
    pub cluster: u8,
    /// Its class before the last measurement.
    pub before: u8,
    /// Grew its queue faster than θ over the last period?
    pub congested: bool,
    /// Is its link down?
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

/// When a path is congested.
#[derive(Clone, Copy, Debug)]
pub struct Threshold {
    /// θ: growth of its queue, as a share of its link's rate.
    pub theta: f64,
    /// Or its queue, bytes; 0 leaves lengths out of it.
    pub also_length: u64,
}

impl Threshold {
    /// Is a path congested whose queue went from `before` to `length` bytes in `elapsed`, over a link of `rate` bits
    /// per second?
    pub fn congested(&self, before: u64, length: u64, elapsed: Span, rate: u64) -> bool {
        // SELB §"Rerouting Strategy": "when the queue length growth rate exceeds θ"
        let grown = length.saturating_sub(before) as f64 * 8.0e12;
        let bound = self.theta * rate as f64 * elapsed.0 as f64;
        // Without a period behind it there is no rate.
        let grows = elapsed > Span::ZERO && grown > bound && length > before;
        grows || self.also_length > 0 && length > self.also_length
    }
}

/// What the last measurement came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// When it was; none has been if `None`.
    pub at: Option<Time>,
    /// Paths congested.
    pub congested: u16,
    /// Paths that changed their class.
    pub changed: u16,
}

/// Measures the queues of `uplinks`, whose first is port `first`, and classifies them into at most `k` clusters.
// SELB §"Path Classification"
pub fn survey(
    uplinks: &mut [Uplink],
    first: u16,
    (now, last): (Time, Option<Time>),
    view: &SwitchView<'_>,
    threshold: &Threshold,
    (k, start, rng): (usize, Start, &mut Rng),
) -> Survey {
    let elapsed = last.map_or(Span::ZERO, |last| now.since(last));
    for (uplink, number) in uplinks.iter_mut().zip(first..) {
        let port = Port(number);
        let length = view.queue_bytes(port);
        uplink.congested = !uplink.down && threshold.congested(uplink.length, length, elapsed, view.rate(port));
        uplink.length = length;
        uplink.before = uplink.cluster;
    }
    classify(uplinks, k, start, rng);
    let count = |which: fn(&&Uplink) -> bool| uplinks.iter().filter(which).count() as u16;
    Survey { at: Some(now), congested: count(|u| u.congested), changed: count(|u| u.cluster != u.before) }
}

/// A draw among the ways below `n` that are `wanted`.
pub fn one_of(n: usize, rng: &mut Rng, wanted: impl Fn(usize) -> bool) -> Option<usize> {
    let many = (0..n).filter(|way| wanted(*way)).count() as u32;
    let skip = if many > 1 { rng.below(many) } else { 0 };
    (0..n).filter(|way| wanted(*way)).nth(skip as usize)
}

/// A draw among the ways below `n` with the shortest queue; `old`, if it is one of them.
pub fn shortest(n: usize, rng: &mut Rng, length: impl Fn(usize) -> u64, old: Option<usize>) -> usize {
    let least = (0..n).map(&length).min().unwrap_or(0);
    let drawn = || one_of(n, rng, |way| length(way) == least).unwrap_or(0);
    old.filter(|old| length(*old) == least).unwrap_or_else(drawn)
}
