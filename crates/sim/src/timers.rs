//! What a node has planned: its own small heap, ordered by (instant, class, what), never by insertion.

use spinewise_policy::{FlowKey, Key, Time, Way};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Order of classes at one instant. Transmit-done before arrivals is what makes a FIFO port equal a commit-at-start one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Class {
    /// A link changed.
    LinkChange = 0,
    /// A line became free.
    TransmitDone = 1,
    /// Ports are looked at for the choice trace, as arrivals of this instant will find them.
    Look = 2,
    /// A packet arrived.
    Arrival = 3,
    /// A line became free, on the clock of ns-3 ([`crate::net::Net::arrivals_first`]).
    LateTransmitDone = 4,
    /// A timer of a transport or a scheme expired.
    Timer = 5,
    /// A period of a scheme passed.
    Tick = 6,
    /// A period of the series passed.
    Sample = 7,
}

/// What is planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// Something about the links or routes of this switch changes: which, by number.
    LinkChange(u32),
    /// The line of this port is free.
    TransmitDone(u16),
    /// Ports are looked at.
    Look,
    /// The line of this port is free, behind the arrivals of that instant.
    LateTransmitDone(u16),
    /// The next flow of this host starts.
    FlowStart,
    /// The flows behind a gate of this host start.
    Gate(u32),
    /// Retransmission timer of a flow.
    Retransmit(u32),
    /// Delayed-ACK timer of a flow.
    DelayedAck(u32),
    /// Data of a flow that waits below TCP may be passed on.
    Resequence(u32),
    /// A paced packet of a flow is due.
    Pace(u32),
    /// Nobody answered this probe.
    ProbeLost(u32),
    /// A timer of the scheme.
    Scheme(Key),
    /// The scheme's period.
    Tick,
    /// The period of the series.
    Sample,
    /// A pause asked for at this port, for this priority, runs out unless it is renewed.
    RenewPause(u16, u8),
}

/// A planned event as one number, by which it is ordered: its instant, its rank at that instant, and whom it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u128);

/// Bits below the rank: whom it is about.
const SUBJECT: u32 = 58;
/// The first rank behind arrivals, which are planned nowhere.
const FIRST_BEHIND: u64 = 3;

impl Entry {
    #[inline]
    fn new(at: Time, what: What) -> Entry {
        // Ranks ascend with the classes.
        let (rank, subject) = match what {
            What::LinkChange(number) => (0, u64::from(number)),
            What::TransmitDone(port) => (1, u64::from(port)),
            What::Look => (2, 0),
            What::LateTransmitDone(port) => (3, u64::from(port)),
            What::FlowStart => (4, 0),
            What::Gate(gate) => (5, u64::from(gate)),
            What::Retransmit(flow) => (6, u64::from(flow)),
            What::DelayedAck(flow) => (7, u64::from(flow)),
            What::Pace(flow) => (8, u64::from(flow)),
            What::ProbeLost(probe) => (9, u64::from(probe)),
            What::Scheme(Key::Flow(flow, n)) => (10, u64::from(flow.0) << 8 | u64::from(n)),
            What::Scheme(Key::Route(peer, way, n)) => {
                (11, u64::from(peer) << 24 | u64::from(way.0) << 8 | u64::from(n))
            }
            What::Scheme(Key::Node(n)) => (12, u64::from(n)),
            What::RenewPause(port, priority) => (13, u64::from(port) << 8 | u64::from(priority)),
            What::Resequence(flow) => (14, u64::from(flow)),
            What::Tick => (15, 0),
            What::Sample => (16, 0),
        };
        Entry(u128::from(at.0) << 64 | u128::from(rank << SUBJECT | subject))
    }

    #[inline]
    fn at(self) -> Time {
        Time((self.0 >> 64) as u64)
    }

    #[inline]
    fn rank(self) -> u64 {
        self.0 as u64 >> SUBJECT
    }

    #[inline]
    fn class(self) -> Class {
        match self.rank() {
            0 => Class::LinkChange,
            1 => Class::TransmitDone,
            2 => Class::Look,
            3 => Class::LateTransmitDone,
            15 => Class::Tick,
            16 => Class::Sample,
            _ => Class::Timer,
        }
    }

    #[inline]
    fn what(self) -> What {
        let subject = self.0 as u64 & ((1 << SUBJECT) - 1);
        match self.rank() {
            0 => What::LinkChange(subject as u32),
            1 => What::TransmitDone(subject as u16),
            2 => What::Look,
            3 => What::LateTransmitDone(subject as u16),
            4 => What::FlowStart,
            5 => What::Gate(subject as u32),
            6 => What::Retransmit(subject as u32),
            7 => What::DelayedAck(subject as u32),
            8 => What::Pace(subject as u32),
            9 => What::ProbeLost(subject as u32),
            10 => What::Scheme(Key::Flow(FlowKey((subject >> 8) as u32), subject as u8)),
            11 => What::Scheme(Key::Route((subject >> 24) as u32, Way((subject >> 8) as u16), subject as u8)),
            12 => What::Scheme(Key::Node(subject as u8)),
            13 => What::RenewPause((subject >> 8) as u16, subject as u8),
            14 => What::Resequence(subject as u32),
            15 => What::Tick,
            _ => What::Sample,
        }
    }
}

/// The plan of one node.
#[derive(Debug, Default)]
pub struct Timers(BinaryHeap<Reverse<Entry>>);

impl Timers {
    /// Plans `what` at `at`.
    #[inline]
    pub fn plan(&mut self, at: Time, what: What) {
        self.0.push(Reverse(Entry::new(at, what)));
    }

    /// When and of which class the next one is.
    #[inline]
    pub fn next(&self) -> (Time, Class) {
        self.0.peek().map_or((Time::NEVER, Class::Sample), |entry| (entry.0.at(), entry.0.class()))
    }

    /// Does the next one go before an arrival at `now`?
    #[inline]
    pub fn precede_arrival(&self, now: Time) -> bool {
        let arrival = u128::from(now.0) << 64 | u128::from(FIRST_BEHIND << SUBJECT);
        self.0.peek().is_some_and(|entry| entry.0.0 < arrival)
    }

    /// When the next one is.
    #[inline]
    pub fn next_at(&self) -> Time {
        self.0.peek().map_or(Time::NEVER, |entry| entry.0.at())
    }

    /// Takes the next one.
    pub fn pop(&mut self) -> Option<(Time, What)> {
        self.0.pop().map(|entry| (entry.0.at(), entry.0.what()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IN_ORDER: [(What, Class); 17] = [
        (What::LinkChange(u32::MAX), Class::LinkChange),
        (What::TransmitDone(u16::MAX), Class::TransmitDone),
        (What::Look, Class::Look),
        (What::LateTransmitDone(3), Class::LateTransmitDone),
        (What::FlowStart, Class::Timer),
        (What::Gate(u32::MAX), Class::Timer),
        (What::Retransmit(1), Class::Timer),
        (What::DelayedAck(0), Class::Timer),
        (What::Pace(7), Class::Timer),
        (What::ProbeLost(u32::MAX), Class::Timer),
        (What::Scheme(Key::Flow(FlowKey(u32::MAX), 3)), Class::Timer),
        (What::Scheme(Key::Route(u32::MAX, Way(u16::MAX), u8::MAX)), Class::Timer),
        (What::Scheme(Key::Node(200)), Class::Timer),
        (What::RenewPause(u16::MAX, 7), Class::Timer),
        (What::Resequence(u32::MAX), Class::Timer),
        (What::Tick, Class::Tick),
        (What::Sample, Class::Sample),
    ];

    #[test]
    fn what_is_planned_comes_back_by_instant_and_class() {
        let mut timers = Timers::default();
        for (i, &(what, _)) in IN_ORDER.iter().rev().enumerate() {
            timers.plan(Time(5), what);
            timers.plan(Time(100 + i as u64), What::Tick);
        }
        for (what, class) in IN_ORDER {
            assert_eq!(timers.next(), (Time(5), class));
            assert_eq!(timers.precede_arrival(Time(5)), class < Class::Arrival);
            assert!(timers.precede_arrival(Time(6)) && !timers.precede_arrival(Time(4)));
            assert_eq!(timers.pop(), Some((Time(5), what)));
        }
        assert_eq!(timers.next_at(), Time(100));
        assert!(IN_ORDER.is_sorted_by_key(|&(_, class)| class));
    }

    #[test]
    fn one_kind_at_one_instant_goes_by_its_subject() {
        let mut timers = Timers::default();
        let keys =
            [Key::Flow(FlowKey(1), 0), Key::Flow(FlowKey(1), 1), Key::Route(1, Way(2), 0), Key::Route(2, Way(0), 0)];
        keys.iter().rev().for_each(|&key| timers.plan(Time(1), What::Scheme(key)));
        for key in keys {
            assert_eq!(timers.pop(), Some((Time(1), What::Scheme(key))));
        }
    }
}
