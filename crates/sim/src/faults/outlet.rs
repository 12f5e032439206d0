//! The sender's end of a link whose rate or delay changes.

use super::schedule::LinkFaults;
use crate::ids::LinkId;
use crate::link::Wires;
use spinewise_policy::{Span, Time};

/// The state of a link from an instant on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    from: Time,
    rate: u64,
    delay: Span,
}

/// The changes of a link. Each transmission uses the state in force when it starts.
#[derive(Debug)]
pub struct Outlet {
    link: LinkId,
    /// In order; the first holds from the start.
    changes: Vec<Change>,
    /// Index of the change in force at the last transmission: transmissions start in order.
    now: usize,
    /// When the last packet arrives.
    last: Time,
    /// The receiver asks when each packet left: see [`Wires::note_start`].
    is_asked: bool,
}

impl Outlet {
    /// Creates the outlet of a link that has this rate and delay when nothing is wrong; `None` if they never change.
    pub fn new(link: LinkId, faults: &LinkFaults, rate: u64, delay: Span) -> Option<Box<Outlet>> {
        if !faults.changes() {
            return None;
        }
        let ends = |&(from, until)| [from, until];
        let rates = faults.rates.iter().map(|(interval, _)| interval);
        let delays = faults.delays.iter().map(|(interval, _)| interval);
        let mut instants: Vec<Time> = rates.chain(delays).flat_map(ends).filter(|&at| at < Time::NEVER).collect();
        instants.push(Time::ZERO);
        instants.sort_unstable();
        instants.dedup();
        let at =
            |from: Time| Change { from, rate: faults.rate(from).unwrap_or(rate), delay: delay + faults.added(from) };
        let changes = instants.into_iter().map(at).collect();
        Some(Box::new(Outlet { link, changes, now: 0, last: Time::ZERO, is_asked: faults.asks_when() }))
    }

    /// Rate and delay at an instant.
    pub fn at(&self, at: Time) -> (u64, Span) {
        let next = self.changes.partition_point(|change| change.from <= at);
        let change = &self.changes[next - 1];
        (change.rate, change.delay)
    }

    /// The rate of a transmission that starts at `start`, no earlier than the previous one.
    pub fn rate(&mut self, start: Time) -> u64 {
        while self.changes.get(self.now + 1).is_some_and(|next| next.from <= start) {
            self.now += 1;
        }
        self.changes[self.now].rate
    }

    /// When a packet arrives whose transmission, for which [`Outlet::rate`] was called, lasts from `start` to `ends`.
    /// If the delay has become shorter the packet does not overtake: it arrives right behind the previous one.
    pub fn arrival(&mut self, start: Time, ends: Time, wires: &mut Wires) -> Time {
        self.last = (ends + self.changes[self.now].delay).max(self.last + ends.since(start));
        if self.is_asked {
            wires.note_start(self.link, start);
        }
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{NodeId, Table};

    fn outlet() -> Outlet {
        let faults = LinkFaults {
            rates: vec![((Time(100), Time(200)), 5)],
            delays: vec![((Time(150), Time(300)), Span(1000))],
            ..LinkFaults::default()
        };
        *Outlet::new(LinkId::new(3), &faults, 10, Span(50)).expect("a link that changes")
    }

    #[test]
    fn what_holds_at_the_start_of_a_transmission_counts() {
        let mut outlet = outlet();
        let by_time = [
            (0, (10, 50)),
            (99, (10, 50)),
            (100, (5, 50)),
            (150, (5, 1050)),
            (199, (5, 1050)),
            (200, (10, 1050)),
            (300, (10, 50)),
            (u64::MAX - 1, (10, 50)),
        ];
        for (at, (rate, delay)) in by_time {
            assert_eq!(outlet.at(Time(at)), (rate, Span(delay)), "{at}");
            assert_eq!(outlet.rate(Time(at)), rate, "{at}");
        }
        assert!(Outlet::new(LinkId::new(3), &LinkFaults::default(), 10, Span(50)).is_none());
    }

    #[test]
    fn nobody_overtakes_where_a_delay_ends() {
        let (mut outlet, mut wires) = (outlet(), Wires::new(Table::filled(NodeId::new(0), 4), 1));
        let mut send = |start: u64, ends: u64| {
            outlet.rate(Time(start));
            outlet.arrival(Time(start), Time(ends), &mut wires).0
        };
        assert_eq!(send(140, 148), 198);
        assert_eq!(send(290, 298), 1348);
        assert_eq!(send(300, 308), 1356, "8 behind the one before, not at 358");
        assert_eq!(send(308, 316), 1364);
        assert_eq!(send(1400, 1408), 1458);
    }
}
