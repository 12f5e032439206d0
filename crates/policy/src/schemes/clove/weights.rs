//! CLOVE's weights: cutting and spreading them, and choosing paths by them. Integers only.

use super::Route;
use crate::{Rng, Span, Time};

crate::choice! {
    /// The recipients of the weight that a marked path loses.
    Redistribute {
        /// The paths that are not congested, in equal parts; if there are none, nothing is taken.
        Uncongested = "uncongested",
        /// All other paths, in equal parts.
        Others = "others",
        /// None: weights only fall.
        Off = "off",
    }
}

/// The weight of an equal share. 65,535 of them still make a `u32`.
pub(crate) const ONE: u32 = 1 << 16;

/// A fraction in 2⁻³².
pub fn fraction(of_one: f64) -> u64 {
    (of_one * (1u64 << 32) as f64 + 0.5) as u64
}

/// Gives all paths equal weight.
pub(crate) fn even_out(routes: &mut [Route]) {
    for route in routes {
        route.weight = ONE;
        route.owed = 0;
    }
}

/// A mark on path `way`: takes `fraction` (in 2⁻³²) of its weight, and spreads it.
// ELAB §3.1: the weight falls to two thirds.
pub fn cut(routes: &mut [Route], way: usize, fraction: u64, to: Redistribute, is_congested: impl Fn(&Route) -> bool) {
    let weight = routes[way].weight;
    let rounded = (u64::from(weight) * fraction + (1 << 31)) >> 32;
    // A path without any weight would never be tried, or marked, again.
    let taken = (rounded as u32).min(weight.saturating_sub(1));
    if to == Redistribute::Off {
        routes[way].weight -= taken;
        renew(routes);
        return;
    }
    let takes = |at: usize, route: &Route| at != way && (to == Redistribute::Others || !is_congested(route));
    let takers = routes.iter().enumerate().filter(|&(at, route)| takes(at, route)).count() as u32;
    if takers == 0 {
        return;
    }
    let (share, mut rest) = (taken / takers, taken % takers);
    for (at, route) in routes.iter_mut().enumerate() {
        if takes(at, route) {
            route.weight += share + u32::from(rest > 0);
            rest = rest.saturating_sub(1);
        }
    }
    routes[way].weight -= taken;
}

/// Only proportions count: doubles weights that have all fallen to half a share.
fn renew(routes: &mut [Route]) {
    while routes.iter().all(|route| route.weight <= ONE / 2) {
        for route in &mut *routes {
            route.weight *= 2;
        }
    }
}

/// Until when all paths are congested, each for `window` after its last mark: [`Time::ZERO`] if one was never marked.
pub(crate) fn all_congested_until(routes: &[Route], window: Span) -> Time {
    match routes.iter().map(|route| route.marked).min() {
        None | Some(Time::ZERO) => Time::ZERO,
        Some(first) => first + window,
    }
}

/// A path drawn with the probability given by its weight.
pub fn draw(routes: &[Route], rng: &mut Rng) -> u16 {
    let total: u32 = routes.iter().map(|route| route.weight).sum();
    let mut left = rng.below(total.max(1));
    for (at, route) in routes.iter().enumerate() {
        if left < route.weight {
            return at as u16;
        }
        left -= route.weight;
    }
    0
}
