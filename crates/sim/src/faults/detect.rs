//! When the ends of a link detect a change.
//!
//! *Carrier*: both ends detect a change once it has lasted for some time. Ethernet signals the other end, so a cable
//! that fails in one direction is down for both ends.
//!
//! *Hellos*: see `hellos.rs`. In both modes a port sees its own rate, and detects a lower one as it detects loss of
//! carrier.

use super::Interval;
use super::hellos::{Hellos, deaf};
use super::schedule::{LinkFaults, union};
use crate::ids::LinkId;
use crate::spec::{Detection, DetectionMode, SpecError};
use crate::topology::Topology;
use spinewise_policy::{Span, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// An end's belief about its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// It works.
    Up,
    /// It works, but at less than the rate it was built for.
    Degraded,
    /// It is down.
    Down,
}

/// The beliefs of each end and when they change, by the link that it feeds; in order, no two consecutive ones alike.
pub(super) type Changes = BTreeMap<LinkId, Vec<(Time, Seen)>>;

/// The faults of links.
pub(super) type Links = BTreeMap<LinkId, Arc<LinkFaults>>;

/// Returns the beliefs of the ends of all links that break, in a run of this seed that lasts until `end`.
///
/// # Errors
/// When there are too many hellos to examine each.
pub(super) fn changes(
    links: &Links,
    how: &Detection,
    topology: &Topology,
    (seed, end): (u64, Time),
) -> Result<Changes, SpecError> {
    let mut changes = Changes::new();
    let hold = match how.mode {
        DetectionMode::Carrier | DetectionMode::Hello => how.carrier,
        DetectionMode::Oracle => Span::ZERO,
        DetectionMode::Never => return Ok(changes),
    };
    let nothing = Arc::new(LinkFaults::default());
    let of = |link: LinkId| links.get(&link).unwrap_or(&nothing);
    // Both ends of each cable affected in either direction.
    let ends: std::collections::BTreeSet<LinkId> = links.keys().flat_map(|&link| [link, topology.back(link)]).collect();
    for link in ends {
        let back = topology.back(link);
        let down = if how.mode == DetectionMode::Hello {
            let hellos = |link| Hellos::new(how, link, of(link), topology, seed);
            match (hellos(link), hellos(back)) {
                (Some(there), Some(back)) => deaf(&there, &back, end)?,
                // Hosts send no hellos.
                _ => Vec::new(),
            }
        } else {
            let mut both: Vec<Interval> = [link, back].iter().flat_map(|&link| of(link).outages.clone()).collect();
            both.sort_unstable();
            found(&union(both.into_iter()), hold)
        };
        let spec = &topology.links[link];
        let slow = if spec.rate < spec.nominal_rate {
            vec![(Time::ZERO, Time::NEVER)]
        } else {
            found(&union(of(link).rates.iter().map(|&(interval, _)| interval)), hold)
        };
        changes.insert(link, merged(&down, &slow));
    }
    Ok(changes)
}

/// When a change is detected that must last for `hold` to be believed.
fn found(wrong: &[Interval], hold: Span) -> Vec<Interval> {
    let mut found: Vec<Interval> = Vec::new();
    // Since when it has been right again, if that is not believed yet.
    let mut right: Option<Time> = None;
    for &(from, until) in wrong {
        if let Some(since) = right
            && from.since(since) > hold
            && let Some(last) = found.last_mut()
        {
            last.1 = since + hold;
            right = None;
        }
        if right.is_none() && until.since(from) > hold {
            found.push((from + hold, Time::NEVER));
            right = Some(until);
        } else if right.is_some() {
            right = Some(until);
        }
    }
    if let (Some(since), Some(last)) = (right.filter(|&since| since < Time::NEVER), found.last_mut()) {
        last.1 = since + hold;
    }
    found
}

/// Returns the beliefs, given when the link is considered down and when slow.
fn merged(down: &[Interval], slow: &[Interval]) -> Vec<(Time, Seen)> {
    let mut instants: Vec<Time> = down.iter().chain(slow).flat_map(|&(from, until)| [from, until]).collect();
    instants.sort_unstable();
    instants.dedup();
    // Both are in order of time, and none overlap: the last that has begun decides.
    let holds = |list: &[Interval], at: Time| {
        let begun = list.partition_point(|&(from, _)| from <= at);
        begun.checked_sub(1).is_some_and(|last| at < list[last].1)
    };
    let seen = |at: Time| match () {
        () if holds(down, at) => Seen::Down,
        () if holds(slow, at) => Seen::Degraded,
        () => Seen::Up,
    };
    // A switch knows the state at the start without any notification.
    let mut before = if slow.first().is_some_and(|&(from, _)| from == Time::ZERO) { Seen::Degraded } else { Seen::Up };
    let mut changes = Vec::new();
    for at in instants.into_iter().filter(|&at| at < Time::NEVER) {
        if seen(at) != before {
            before = seen(at);
            changes.push((at, before));
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intervals(list: &[(u64, u64)]) -> Vec<Interval> {
        list.iter().map(|&(from, until)| (Time(from), Time(until))).collect()
    }

    #[test]
    fn what_does_not_last_is_not_found() {
        const NEVER: u64 = u64::MAX;
        for (outages, expected) in [
            (&[(100, 200)][..], &[(110, 210)][..]),
            (&[(100, 110), (120, 125)], &[]),
            (&[(100, 200), (205, 300)], &[(110, 310)]),
            (&[(100, 200), (205, 208)], &[(110, 218)]),
            (&[(100, 200), (220, NEVER)], &[(110, 210), (230, NEVER)]),
        ] {
            assert_eq!(found(&intervals(outages), Span(10)), intervals(expected), "{outages:?}");
        }
    }

    #[test]
    fn a_slow_link_that_comes_up_is_still_slow() {
        let seen = |down: &[(u64, u64)], slow: &[(u64, u64)]| {
            let changes = merged(&intervals(down), &intervals(slow));
            changes.into_iter().map(|(at, seen)| (at.0, seen)).collect::<Vec<_>>()
        };
        use Seen::{Degraded, Down, Up};
        assert_eq!(seen(&[(10, 20)], &[]), [(10, Down), (20, Up)]);
        assert_eq!(seen(&[(10, 20)], &[(5, 30)]), [(5, Degraded), (10, Down), (20, Degraded), (30, Up)]);
        assert_eq!(seen(&[(10, 20)], &[(12, 20)]), [(10, Down), (20, Up)]);
        assert_eq!(seen(&[(10, 20)], &[(0, u64::MAX)]), [(10, Down), (20, Degraded)], "slow from the start");
        assert_eq!(seen(&[(10, u64::MAX)], &[(20, 30)]), [(10, Down)]);
    }
}
