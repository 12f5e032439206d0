//! A node's plans: its own small heap, and a short queue for when its lines become free. Both are ordered by (instant,
//! class, what), never by insertion.

use crate::ids::{FlowId, SubflowId};
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

/// A planned event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// Something about the links or routes of this switch changes: which, by number.
    LinkChange(u32),
    /// The line of this port is free.
    TransmitDone(u16),
    /// Ports are observed.
    Look,
    /// The line of this port is free, after the arrivals of that instant.
    LateTransmitDone(u16),
    /// The next flow of this host starts.
    FlowStart,
    /// The flows behind a gate of this host start.
    Gate(u32),
    /// An operation of this host may start, or continue.
    Operation(u32),
    /// The data that this operation receives has come without the network.
    Landed(u32),
    /// Retransmission timer of a subflow.
    Retransmit(SubflowId),
    /// Delayed-ACK timer of a subflow.
    DelayedAck(SubflowId),
    /// A receiver that paces its senders grants credit.
    Credit,
    /// It reviews the progress of its senders.
    Adapt,
    /// Data of a subflow that waits below TCP may be passed on.
    Resequence(SubflowId),
    /// A paced packet of a flow is due.
    Pace(FlowId),
    /// This probe was not answered.
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

/// A planned event as one number, by which it is ordered: its instant, its rank at that instant, and its subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u128);

/// Bits below the rank: the subject.
const SUBJECT: u32 = 58;
/// The first rank after arrivals, which are planned nowhere.
const FIRST_BEHIND: u64 = LATE;
/// The rank of [`What::LateTransmitDone`].
const LATE: u64 = 3;

/// Every plan: its rank at its instant, its class, whom it is about as a number, and the plan of that rank about `of`.
/// Ranks ascend with the classes.
macro_rules! ranks {
    ($($rank:literal $class:ident $plan:pat => $number:expr, $of:ident => $back:expr;)*) => {
        impl Entry {
            #[inline]
            fn new(at: Time, what: What) -> Entry {
                let (rank, number): (u64, u64) = match what { $($plan => ($rank, $number),)* };
                Entry(u128::from(at.0) << 64 | u128::from(rank << SUBJECT | number))
            }

            #[inline]
            fn class(self) -> Class {
                match self.rank() {
                    $($rank => Class::$class,)*
                    // [`Entry::NONE`], which never comes.
                    _ => Class::Sample,
                }
            }

            #[inline]
            fn what(self) -> What {
                let number = self.0 as u64 & ((1 << SUBJECT) - 1);
                match self.rank() {
                    $($rank => {
                        let $of = number;
                        $back
                    })*
                    _ => unreachable!("no plan has this rank"),
                }
            }
        }
    };
}

ranks! {
    0 LinkChange What::LinkChange(number) => number.into(), of => What::LinkChange(of as u32);
    1 TransmitDone What::TransmitDone(port) => port.into(), of => What::TransmitDone(of as u16);
    2 Look What::Look => 0, _of => What::Look;
    3 LateTransmitDone What::LateTransmitDone(port) => port.into(), of => What::LateTransmitDone(of as u16);
    4 Timer What::FlowStart => 0, _of => What::FlowStart;
    5 Timer What::Gate(gate) => gate.into(), of => What::Gate(of as u32);
    6 Timer What::Operation(number) => number.into(), of => What::Operation(of as u32);
    7 Timer What::Landed(number) => number.into(), of => What::Landed(of as u32);
    8 Timer What::Retransmit(subflow) => subflow.number().into(), of => What::Retransmit(SubflowId::new(of as u32));
    9 Timer What::DelayedAck(subflow) => subflow.number().into(), of => What::DelayedAck(SubflowId::new(of as u32));
    10 Timer What::Pace(flow) => flow.number().into(), of => What::Pace(FlowId::new(of as u32));
    11 Timer What::ProbeLost(probe) => probe.into(), of => What::ProbeLost(of as u32);
    12 Timer What::Scheme(Key::Flow(flow, n)) => u64::from(flow.0) << 8 | u64::from(n),
        of => What::Scheme(Key::Flow(FlowKey((of >> 8) as u32), of as u8));
    13 Timer What::Scheme(Key::Route(peer, way, n)) => u64::from(peer) << 24 | u64::from(way.0) << 8 | u64::from(n),
        of => What::Scheme(Key::Route((of >> 24) as u32, Way((of >> 8) as u16), of as u8));
    14 Timer What::Scheme(Key::Node(n)) => n.into(), of => What::Scheme(Key::Node(of as u8));
    15 Timer What::RenewPause(port, priority) => u64::from(port) << 8 | u64::from(priority),
        of => What::RenewPause((of >> 8) as u16, of as u8);
    16 Timer What::Resequence(subflow) => subflow.number().into(), of => What::Resequence(SubflowId::new(of as u32));
    17 Timer What::Credit => 0, _of => What::Credit;
    18 Timer What::Adapt => 0, _of => What::Adapt;
    19 Tick What::Tick => 0, _of => What::Tick;
    20 Sample What::Sample => 0, _of => What::Sample;
}

impl Entry {
    /// Later than all others: nothing.
    const NONE: Entry = Entry(u128::MAX);

    #[inline]
    fn at(self) -> Time {
        Time((self.0 >> 64) as u64)
    }

    #[inline]
    fn rank(self) -> u64 {
        self.0 as u64 >> SUBJECT
    }
}

/// The plan of one node.
#[derive(Debug)]
pub struct Timers {
    /// When lines become free.
    lines: Soon,
    /// Everything else.
    heap: BinaryHeap<Reverse<Entry>>,
    /// The first of it, [`Entry::NONE`] if there is nothing.
    first: Entry,
    /// When the next of all is due.
    next_at: Time,
}

impl Default for Timers {
    fn default() -> Self {
        Timers { lines: Soon::default(), heap: BinaryHeap::new(), first: Entry::NONE, next_at: Time::NEVER }
    }
}

impl Timers {
    /// Plans `what` at `at`.
    #[inline]
    pub fn plan(&mut self, at: Time, what: What) {
        if let What::TransmitDone(_) | What::LateTransmitDone(_) = what {
            return self.plan_line(at, what);
        }
        let entry = Entry::new(at, what);
        self.next_at = self.next_at.min(at);
        self.first = self.first.min(entry);
        self.heap.push(Reverse(entry));
    }

    /// The same of a line that becomes free: most plans are of this kind.
    #[inline(always)]
    pub fn plan_line(&mut self, at: Time, what: What) {
        self.next_at = self.next_at.min(at);
        self.lines.push(Entry::new(at, what));
    }

    #[inline]
    fn peek(&self) -> Entry {
        self.lines.first.min(self.first)
    }

    /// Returns when the next one is due, and its class.
    #[inline]
    pub fn next(&self) -> (Time, Class) {
        let next = self.peek();
        (next.at(), next.class())
    }

    /// Whether the next one goes before an arrival at `now`.
    #[inline]
    pub fn precede_arrival(&self, now: Time) -> bool {
        self.next_at <= now && self.peek().0 < u128::from(now.0) << 64 | u128::from(FIRST_BEHIND << SUBJECT)
    }

    /// Returns when the next one is due.
    #[inline]
    pub fn next_at(&self) -> Time {
        self.next_at
    }

    /// Takes the next one.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, What)> {
        if self.lines.first < self.first {
            let entry = self.lines.first;
            self.lines.pop();
            self.next_at = self.peek().at();
            let port = entry.0 as u16;
            let late = entry.rank() == LATE;
            return Some((entry.at(), if late { What::LateTransmitDone(port) } else { What::TransmitDone(port) }));
        }
        self.pop_other()
    }

    #[inline(never)]
    fn pop_other(&mut self) -> Option<(Time, What)> {
        let Reverse(entry) = self.heap.pop()?;
        self.first = self.heap.peek().map_or(Entry::NONE, |next| next.0);
        self.next_at = self.peek().at();
        Some((entry.at(), entry.what()))
    }
}

/// A short queue in order, for events planned a packet's time ahead: the one planned last is due last or nearly so, and
/// finds its place from the back in a step or two, where a heap would move it up and down through all its levels.
#[derive(Debug)]
struct Soon {
    /// The first, [`Entry::NONE`] if there is none.
    first: Entry,
    /// The others, in order from `head` on; what lies before has been taken.
    others: Vec<Entry>,
    head: usize,
}

impl Default for Soon {
    fn default() -> Self {
        Soon { first: Entry::NONE, others: Vec::new(), head: 0 }
    }
}

impl Soon {
    /// Number that may have been taken before their room is used again.
    const TAKEN: usize = 64;

    #[inline]
    fn push(&mut self, entry: Entry) {
        if self.first == Entry::NONE {
            self.first = entry;
            return;
        }
        // The later of the two joins the others.
        let later = if entry < self.first { std::mem::replace(&mut self.first, entry) } else { entry };
        // If one has been taken there is room before the others: one that is due again at once goes there.
        if self.head > 0 && self.others.get(self.head).is_some_and(|&next| later < next) {
            self.head -= 1;
            self.others[self.head] = later;
            return;
        }
        self.others.push(later);
        let waiting = &mut self.others[self.head..];
        let mut at = waiting.len() - 1;
        while at > 0 && waiting[at - 1] > later {
            waiting[at] = waiting[at - 1];
            at -= 1;
        }
        waiting[at] = later;
    }

    /// Takes the first, which must be there.
    #[inline]
    fn pop(&mut self) {
        let Some(&next) = self.others.get(self.head) else {
            self.first = Entry::NONE;
            return;
        };
        self.first = next;
        self.head += 1;
        if self.head == self.others.len() {
            self.others.clear();
            self.head = 0;
        } else if self.head == Self::TAKEN {
            self.clear_taken();
        }
    }

    #[cold]
    fn clear_taken(&mut self) {
        self.others.drain(..self.head);
        self.head = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IN_ORDER: [(What, Class); 21] = [
        (What::LinkChange(u32::MAX), Class::LinkChange),
        (What::TransmitDone(u16::MAX), Class::TransmitDone),
        (What::Look, Class::Look),
        (What::LateTransmitDone(3), Class::LateTransmitDone),
        (What::FlowStart, Class::Timer),
        (What::Gate(u32::MAX), Class::Timer),
        (What::Operation(9), Class::Timer),
        (What::Landed(u32::MAX), Class::Timer),
        (What::Retransmit(SubflowId::new(1)), Class::Timer),
        (What::DelayedAck(SubflowId::new(0)), Class::Timer),
        (What::Pace(FlowId::new(7)), Class::Timer),
        (What::ProbeLost(u32::MAX), Class::Timer),
        (What::Scheme(Key::Flow(FlowKey(u32::MAX), 3)), Class::Timer),
        (What::Scheme(Key::Route(u32::MAX, Way(u16::MAX), u8::MAX)), Class::Timer),
        (What::Scheme(Key::Node(200)), Class::Timer),
        (What::RenewPause(u16::MAX, 7), Class::Timer),
        (What::Resequence(SubflowId::new(u32::MAX)), Class::Timer),
        (What::Credit, Class::Timer),
        (What::Adapt, Class::Timer),
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

    #[test]
    fn lines_and_all_else_come_in_one_order() {
        let mut rng = spinewise_policy::Rng::stream(1, "timers", 0);
        let (mut timers, mut plan) = (Timers::default(), Vec::new());
        let mut now = 0;
        for round in 0..20_000u32 {
            // Long swells, so that many wait at times.
            if rng.below(100) < if round / 500 % 2 == 0 { 60 } else { 40 } {
                let at = Time(now + u64::from(rng.below(200)));
                let port = rng.below(40) as u16;
                let what = match rng.below(4) {
                    0 => What::Retransmit(SubflowId::new(u32::from(port))),
                    1 => What::LateTransmitDone(port),
                    _ => What::TransmitDone(port),
                };
                timers.plan(at, what);
                plan.push(Entry::new(at, what));
            } else {
                plan.sort_unstable();
                let next = (!plan.is_empty()).then(|| plan.remove(0)).map(|entry| (entry.at(), entry.what()));
                assert_eq!(timers.next_at(), next.map_or(Time::NEVER, |next| next.0));
                assert_eq!(timers.pop(), next);
                now = next.map_or(now, |next| next.0.0);
            }
        }
    }
}
