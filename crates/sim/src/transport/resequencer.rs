//! Holds data that overtook other data, below TCP, until the rest has come or its time is up, with a clock for each gap
//! or with clocks that are checked once a period.
//!
//! It passes data on in the order of the flow's bytes, each packet as it came. In-order data is passed on at once, or
//! after waiting [`Rules::in_order`]. Data beyond a gap waits for the gap to close, but [`Rules::timeout`] at most. A
//! packet whose time is up goes, with all before it; the gaps before it are given up. Later arrivals for such a gap are
//! passed on at once, and so are duplicates.

use periodic::{Periodic, Periods};
use spinewise_policy::time::{Span, Time};
use std::collections::VecDeque;

pub(crate) mod periodic;

/// The time that data waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// In-order data waits this long, to be passed on in bursts; zero: not at all.
    pub in_order: Span,
    /// Data beyond a gap waits at most this long. No shorter than `in_order`.
    pub timeout: Span,
    /// Payload bytes held per flow; beyond that, all of it is passed on. 0: no limit.
    pub limit: u64,
    /// It checks its clocks only once a period, and keeps expecting data that it has given up.
    pub periods: Option<Periods>,
}

/// The data that has been held, and why it was passed on before its gap had closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets that waited beyond a gap.
    pub held: u64,
    /// Times a gap was given up because its time was over.
    pub timeouts: u64,
    /// Times a gap was given up because too much was held.
    pub overflows: u64,
}

/// The waiting packets of one flow, under either set of rules.
#[derive(Clone, Debug)]
pub(crate) enum Buffer<T> {
    /// Timed exactly.
    Exact(Resequencer<T>),
    /// Checked once a period.
    Periodic(Periods, Periodic<T>),
}

impl<T> Buffer<T> {
    /// An empty one.
    pub(crate) fn new(rules: &Rules) -> Self {
        match rules.periods {
            None => Buffer::Exact(Resequencer::default()),
            Some(periods) => Buffer::Periodic(periods, Periodic::default()),
        }
    }

    /// Bytes `seq..seq + len` arrive as `item`. Items that may continue now are added to `ready`, in order.
    pub(crate) fn arrive(
        &mut self,
        rules: &Rules,
        now: Time,
        bytes: (u64, u32),
        item: T,
        ready: &mut Vec<T>,
        tally: &mut Tally,
    ) {
        match self {
            Buffer::Exact(one) => one.arrive(rules, now, bytes, item, ready, tally),
            Buffer::Periodic(periods, one) => one.arrive((rules, periods), now, bytes, item, ready, tally),
        }
    }

    /// A SYN arrives, where a SYN also waits.
    pub(crate) fn greet(&mut self, now: Time, item: T) {
        if let Buffer::Periodic(periods, one) = self {
            one.greet(periods, now, item);
        }
    }

    /// Adds the items that may continue at `now` to `ready`.
    pub(crate) fn expire(&mut self, rules: &Rules, now: Time, ready: &mut Vec<T>, tally: &mut Tally) {
        match self {
            Buffer::Exact(one) => one.expire(rules, now, ready, tally),
            Buffer::Periodic(periods, one) => one.expire((rules, periods), now, ready, tally),
        }
    }

    /// When [`Self::expire`] is due, if anything waits.
    pub(crate) fn deadline(&self, rules: &Rules) -> Option<Time> {
        match self {
            Buffer::Exact(one) => one.deadline(rules),
            Buffer::Periodic(_, one) => one.deadline(),
        }
    }
}

/// A packet that waits.
#[derive(Clone, Debug)]
struct Held<T> {
    seq: u64,
    end: u64,
    since: Time,
    item: T,
}

/// The waiting packets of one flow.
#[derive(Clone, Debug)]
pub(crate) struct Resequencer<T> {
    /// Everything before this has been passed on, or given up.
    next: u64,
    /// Ordered by first byte, equal ones in order of arrival.
    held: VecDeque<Held<T>>,
    /// Their payload bytes.
    bytes: u64,
}

impl<T> Default for Resequencer<T> {
    fn default() -> Self {
        Resequencer { next: 0, held: VecDeque::new(), bytes: 0 }
    }
}

impl<T> Resequencer<T> {
    /// Bytes `seq..seq + len` arrive as `item`. Items that may continue now are added to `ready`, in order.
    pub(crate) fn arrive(
        &mut self,
        rules: &Rules,
        now: Time,
        (seq, len): (u64, u32),
        item: T,
        ready: &mut Vec<T>,
        tally: &mut Tally,
    ) {
        let end = seq + u64::from(len);
        let is_next = seq <= self.next && (rules.in_order == Span::ZERO || end <= self.next);
        if is_next {
            self.next = self.next.max(end);
            ready.push(item);
        } else {
            tally.held += u64::from(seq > self.run_end());
            let at = self.held.partition_point(|held| held.seq <= seq);
            self.held.insert(at, Held { seq, end, since: now, item });
            self.bytes += u64::from(len);
        }
        if !self.held.is_empty() {
            if rules.limit > 0 && self.bytes > rules.limit {
                let gaps = self.run_len() < self.held.len();
                tally.overflows += u64::from(gaps);
                self.pass(self.held.len(), ready);
            }
            self.expire(rules, now, ready, tally);
        }
    }

    /// Adds the items that may continue at `now` to `ready`.
    pub(crate) fn expire(&mut self, rules: &Rules, now: Time, ready: &mut Vec<T>, tally: &mut Tally) {
        let run = self.run_len();
        let over = |held: &Held<T>| held.since + rules.timeout <= now;
        if let Some(last) = self.held.iter().skip(run).rposition(over) {
            tally.timeouts += 1;
            self.pass(run + last + 1, ready);
        }
        let run = self.run_len();
        if self.held.iter().take(run).any(|held| held.since + rules.in_order <= now) {
            self.pass(run, ready);
        }
    }

    /// When [`Self::expire`] is due, if anything waits.
    pub(crate) fn deadline(&self, rules: &Rules) -> Option<Time> {
        let run = self.run_len();
        let wait = |at: usize| if at < run { rules.in_order } else { rules.timeout };
        self.held.iter().enumerate().map(|(at, held)| held.since + wait(at)).min()
    }

    /// Number of packets at the front that continue the data passed on, without a gap.
    fn run_len(&self) -> usize {
        let mut next = self.next;
        self.held
            .iter()
            .take_while(|held| {
                let follows = held.seq <= next;
                next = if follows { next.max(held.end) } else { next };
                follows
            })
            .count()
    }

    /// Returns where the first gap begins.
    fn run_end(&self) -> u64 {
        self.held.iter().take(self.run_len()).map(|held| held.end).fold(self.next, u64::max)
    }

    /// Passes on the first `count`.
    fn pass(&mut self, count: usize, ready: &mut Vec<T>) {
        for held in self.held.drain(..count) {
            self.next = self.next.max(held.end);
            self.bytes -= held.end - held.seq;
            ready.push(held.item);
        }
    }
}

#[cfg(test)]
mod tests;
