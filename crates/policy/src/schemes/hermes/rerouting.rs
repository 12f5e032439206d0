//! The choice of a flow's path (Algorithm 2): a placement takes the best, a move only one that is notably better.

use super::path::{Class, Seen};
use crate::{Rng, Way};

/// The way with the smallest value so far; among equals one at random.
#[derive(Clone, Copy, Debug, Default)]
pub struct Least {
    best: Option<(u32, Way)>,
    equals: u32,
}

impl Least {
    /// Considers another way.
    pub fn offer(&mut self, way: Way, value: u32, rng: &mut Rng) {
        match self.best {
            Some((best, _)) if value > best => {}
            Some((best, _)) if value == best => {
                self.equals += 1;
                if rng.below(self.equals) == 0 {
                    self.best = Some((value, way));
                }
            }
            _ => *self = Least { best: Some((value, way)), equals: 1 },
        }
    }

    /// The result, if any way was offered.
    pub fn way(self) -> Option<Way> {
        self.best.map(|(_, way)| way)
    }
}

/// The way of a flow that is new, timed out, or on a failed path: a good one with the smallest local sending rate, or
/// else such a gray one, or else any that has not failed. None if all have.
// Hermes Algorithm 2, lines 3 to 12.
pub fn place(ways: u16, see: impl Fn(Way) -> Seen, rng: &mut Rng) -> Option<Way> {
    let (mut good, mut gray, mut bad) = (Least::default(), Least::default(), Least::default());
    for way in (0..ways).map(Way) {
        let seen = see(way);
        match seen.class {
            Class::Good => good.offer(way, seen.rate, rng),
            Class::Gray => gray.offer(way, seen.rate, rng),
            Class::Congested => bad.offer(way, 0, rng),
            Class::Failed => {}
        }
    }
    good.way().or(gray.way()).or(bad.way())
}

/// The margins by which a path must be better for a flow to move there.
#[derive(Clone, Copy, Debug)]
pub struct Margins {
    /// Δ_RTT, ns.
    pub delay: u32,
    /// Δ_ECN, in 65536ths; none if marks do not count.
    pub ecn: Option<u32>,
}

impl Margins {
    /// Whether `other` is notably better than `own`.
    // Hermes Algorithm 2: t_RTT(p) − t_RTT(p') > Δ_RTT and f_ECN(p) − f_ECN(p') > Δ_ECN.
    pub(crate) fn are_met(&self, own: &Seen, other: &Seen) -> bool {
        own.delay.saturating_sub(other.delay) > self.delay
            && self.ecn.is_none_or(|margin| own.ecn.saturating_sub(other.ecn) > margin)
    }
}

/// The way to which a flow on the congested path `own` moves: a good one that is notably better, with the smallest
/// local sending rate, or else such a gray one. None: it stays.
// Hermes Algorithm 2, lines 16 to 24.
pub fn better(ways: u16, own: &Seen, margins: Margins, see: impl Fn(Way) -> Seen, rng: &mut Rng) -> Option<Way> {
    let (mut good, mut gray) = (Least::default(), Least::default());
    for way in (0..ways).map(Way) {
        let seen = see(way);
        if !margins.are_met(own, &seen) {
            continue;
        }
        match seen.class {
            Class::Good => good.offer(way, seen.rate, rng),
            Class::Gray => gray.offer(way, seen.rate, rng),
            Class::Congested | Class::Failed => {}
        }
    }
    good.way().or(gray.way())
}
