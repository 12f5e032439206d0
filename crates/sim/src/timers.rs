//! What a node has planned: its own small heap, ordered by (instant, class, what), never by insertion.

use spinewise_policy::{Key, Time};
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
    /// A packet arrived.
    Arrival = 2,
    /// A line became free, on the clock of ns-3 ([`crate::net::Net::arrivals_first`]).
    LateTransmitDone = 3,
    /// A timer of a transport or a scheme expired.
    Timer = 4,
    /// A period of a scheme passed.
    Tick = 5,
    /// A period of the series passed.
    Sample = 6,
}

/// What is planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// The link at this port is down.
    LinkDown(u16),
    /// The line of this port is free.
    TransmitDone(u16),
    /// The same, behind the arrivals of that instant.
    LateTransmitDone(u16),
    /// The next flow of this host starts.
    FlowStart,
    /// The flows behind a gate of this host start.
    Gate(u32),
    /// Retransmission timer of a flow.
    Retransmit(u32),
    /// Delayed-ACK timer of a flow.
    DelayedAck(u32),
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

impl What {
    /// Its class at one instant.
    pub fn class(self) -> Class {
        match self {
            What::LinkDown(_) => Class::LinkChange,
            What::TransmitDone(_) => Class::TransmitDone,
            What::LateTransmitDone(_) => Class::LateTransmitDone,
            What::Tick => Class::Tick,
            What::Sample => Class::Sample,
            _ => Class::Timer,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    at: Time,
    class: Class,
    what: What,
}

/// The plan of one node.
#[derive(Debug, Default)]
pub struct Timers(BinaryHeap<Reverse<Entry>>);

impl Timers {
    /// Plans `what` at `at`.
    pub fn plan(&mut self, at: Time, what: What) {
        self.0.push(Reverse(Entry { at, class: what.class(), what }));
    }

    /// When and of which class the next one is.
    #[inline]
    pub fn next(&self) -> (Time, Class) {
        self.0.peek().map_or((Time::NEVER, Class::Sample), |entry| (entry.0.at, entry.0.class))
    }

    /// When the next one is.
    #[inline]
    pub fn next_at(&self) -> Time {
        self.next().0
    }

    /// Takes the next one.
    pub fn pop(&mut self) -> Option<(Time, What)> {
        self.0.pop().map(|entry| (entry.0.at, entry.0.what))
    }
}
