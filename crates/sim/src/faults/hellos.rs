//! Hellos, by which neighbours find that a link is down: each end sends one at an interval, and considers the link down
//! when none has arrived for some intervals, or when those that arrive say that its own do not (as in BFD, RFC 5880:
//! both ends agree). What happens to each hello follows from the schedule, so all of this is computed before the run;
//! hellos are not packets and take no bandwidth.

use super::Interval;
use super::schedule::{LinkFaults, union};
use crate::ids::LinkId;
use crate::packet::Clock;
use crate::spec::{Detection, SpecError};
use crate::topology::Topology;
use serde_json::json;
use spinewise_policy::{Rng, Span, Time};

/// Bytes of a hello on the wire.
const HELLO_BYTES: u64 = 64;
/// The most hellos of a link that are examined one by one: those that may be lost by chance.
const MOST_HELLOS: u64 = 1_000_000;
/// The number of a hello that is never sent.
const NONE: u64 = u64::MAX;

/// The hellos over a link.
#[derive(Debug)]
pub(super) struct Hellos<'a> {
    faults: &'a LinkFaults,
    interval: Span,
    dead: u64,
    first: Time,
    flight: Span,
    dice: u64,
}

impl<'a> Hellos<'a> {
    /// Creates the hellos of this link; `None` between a switch and a host.
    pub(super) fn new(
        how: &Detection,
        link: LinkId,
        faults: &'a LinkFaults,
        topology: &Topology,
        seed: u64,
    ) -> Option<Self> {
        let spec = &topology.links[link];
        if !topology.joins_switches(link) {
            return None;
        }
        // Not all switches send at the same time.
        let phase = Rng::stream(seed, "hello phase", u64::from(link.number())).bits() % how.hello.0;
        Some(Hellos {
            faults,
            interval: how.hello,
            dead: u64::from(how.dead_count),
            first: Time(phase),
            flight: spec.delay + Span(Clock::Exact.tx_time(HELLO_BYTES, spec.rate)),
            dice: Rng::stream(seed, "hello loss", u64::from(link.number())).bits(),
        })
    }

    fn sent(&self, n: u64) -> Time {
        if n == NONE { Time::NEVER } else { self.first + self.interval * n }
    }

    fn arrives(&self, n: u64) -> Time {
        if n == NONE { Time::NEVER } else { self.sent(n) + self.flight + self.faults.added(self.sent(n)) }
    }

    /// The first hello that is sent at `at` or later.
    fn first_from(&self, at: Time) -> u64 {
        if at == Time::NEVER { NONE } else { at.since(self.first).0.div_ceil(self.interval.0) }
    }

    /// Returns the lost hellos, as ranges of numbers, first and last, in order; the last may have no end.
    fn lost(&self, end: Time) -> Result<Vec<(u64, u64)>, SpecError> {
        let mut runs = Vec::new();
        for &(from, until) in &self.faults.outages {
            // This covers any that is on the line; delays only ever grow.
            let longest = self.faults.delays.iter().map(|&(_, added)| added).max().unwrap_or(Span::ZERO);
            let mut first = self.first_from(Time(from.0.saturating_sub(self.flight.0 + longest.0)));
            while self.arrives(first) <= from {
                first += 1;
            }
            let behind = self.first_from(until);
            if first < behind {
                runs.push((first, if behind == NONE { NONE } else { behind - 1 }));
            }
        }
        for &((from, until), odds) in &self.faults.losses {
            let numbers = self.first_from(from)..self.first_from(until.min(end));
            let many = numbers.end.saturating_sub(numbers.start);
            if many > MOST_HELLOS {
                let given = json!(self.interval.as_us_f64());
                let allowed =
                    format!("at most {MOST_HELLOS} hellos on a link that loses packets; there would be {many}");
                return Err(SpecError::new("detection.hello_interval_us", &given, allowed));
            }
            let unlucky = |&n: &u64| Rng::stream(self.dice, "hello", n).unit() < odds;
            runs.extend(numbers.filter(unlucky).map(|n| (n, n)));
        }
        runs.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for (first, last) in runs {
            match joined.last_mut() {
                Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
                _ => joined.push((first, last)),
            }
        }
        Ok(joined)
    }

    /// When the receiver considers the sender dead: from a time-out until the next hello.
    fn silence(&self, lost: &[(u64, u64)]) -> Vec<Interval> {
        let timeout = self.interval * self.dead;
        let silent = |before: Option<u64>, next: u64| {
            // Each has just heard from the other at the start.
            let heard = before.map_or(Time::ZERO, |n| self.arrives(n));
            let (from, until) = (heard + timeout, self.arrives(next));
            (from < until).then_some((from, until))
        };
        let behind = |last: u64| if last == NONE { NONE } else { last + 1 };
        let runs = lost.iter().map(|&(first, last)| (first.checked_sub(1), behind(last)));
        // A delay that sets in makes one gap longer.
        let late = self.faults.delays.iter().map(|&((from, _), _)| self.first_from(from));
        let late = late.filter(|&n| n != NONE).map(|n| (n.checked_sub(1), n));
        let mut all: Vec<Interval> = runs.chain(late).filter_map(|(before, next)| silent(before, next)).collect();
        all.sort_unstable();
        union(all.into_iter())
    }

    /// When the first hello arrives that is sent at `at` or later and is not lost.
    fn next_arrival(&self, at: Time, lost: &[(u64, u64)]) -> Time {
        let mut next = self.first_from(at);
        for &(first, last) in lost {
            if first <= next && next <= last {
                next = if last == NONE { NONE } else { last + 1 };
            }
        }
        self.arrives(next)
    }
}

/// When the sender of `there`, who hears `back`, considers the link down in a run that lasts until `end`.
///
/// # Errors
/// When there are too many hellos to examine each.
pub(super) fn deaf(there: &Hellos<'_>, back: &Hellos<'_>, end: Time) -> Result<Vec<Interval>, SpecError> {
    let (lost_there, lost_back) = (there.lost(end)?, back.lost(end)?);
    let mut down = back.silence(&lost_back);
    // The hellos that come back say since when and until when nothing has arrived there.
    for (from, until) in there.silence(&lost_there) {
        let told = (back.next_arrival(from, &lost_back), back.next_arrival(until, &lost_back));
        down.extend((told.0 < told.1).then_some(told));
    }
    down.sort_unstable();
    Ok(union(down.into_iter()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEVER: u64 = u64::MAX;

    /// One hello per 100, three of which may be missed; 10 long on the line; the first at `first`.
    fn hellos(faults: &LinkFaults, first: u64) -> Hellos<'_> {
        Hellos { faults, interval: Span(100), dead: 3, first: Time(first), flight: Span(10), dice: 7 }
    }

    fn down(outages: &[(u64, u64)]) -> LinkFaults {
        let outages = outages.iter().map(|&(from, until)| (Time(from), Time(until))).collect();
        LinkFaults { outages, ..LinkFaults::default() }
    }

    fn times(intervals: Result<Vec<Interval>, SpecError>) -> Vec<(u64, u64)> {
        intervals.expect("few hellos").into_iter().map(|(from, until)| (from.0, until.0)).collect()
    }

    #[test]
    fn three_missed_hellos_take_a_link_down_and_one_brings_it_up() {
        let fine = LinkFaults::default();
        let broken = down(&[(1005, 1600)]);
        let (there, back) = (hellos(&broken, 0), hellos(&fine, 50));
        // Sent at 1000, on the line at 1005: lost, and with it five more. The last came at 910.
        assert_eq!(there.lost(Time(9999)), Ok(vec![(10, 15)]));
        let receiver = times(deaf(&back, &there, Time(9999)));
        assert_eq!(receiver, [(1210, 1610)]);
        // The hellos of 1250 and 1650 inform the sender.
        assert_eq!(times(deaf(&there, &back, Time(9999))), [(1260, 1660)]);
        let short = down(&[(1005, 1150)]);
        assert_eq!(times(deaf(&back, &hellos(&short, 0), Time(9999))), [], "two lost, the next comes in time");
        let good = down(&[(995, NEVER)]);
        assert_eq!(times(deaf(&back, &hellos(&good, 0), Time(9999))), [(1210, NEVER)]);
    }

    #[test]
    fn ends_of_a_cable_that_is_cut_find_it_each_by_itself() {
        let broken = down(&[(1005, 1600)]);
        let (there, back) = (hellos(&broken, 0), hellos(&broken, 50));
        assert_eq!(times(deaf(&there, &back, Time(9999))), [(1260, 1660)]);
        assert_eq!(times(deaf(&back, &there, Time(9999))), [(1210, 1710)], "the other hears it at 1660");
    }

    #[test]
    fn hellos_are_lost_by_chance_and_late_with_a_delay() {
        let lossy = LinkFaults { losses: vec![((Time(0), Time::NEVER), 0.5)], ..LinkFaults::default() };
        let lost = hellos(&lossy, 0).lost(Time(1_000_000)).expect("few");
        let many: u64 = lost.iter().map(|(first, last)| last - first + 1).sum();
        assert!(many.abs_diff(5000) < 200, "{many}");
        assert!(hellos(&lossy, 0).lost(Time(101 * MOST_HELLOS)).is_err());
        let late = LinkFaults { delays: vec![((Time(500), Time(900)), Span(350))], ..LinkFaults::default() };
        // The hello of 500 arrives at 860, the previous one at 410.
        assert_eq!(times(deaf(&hellos(&LinkFaults::default(), 50), &hellos(&late, 0), Time(9999))), [(710, 860)]);
    }
}
