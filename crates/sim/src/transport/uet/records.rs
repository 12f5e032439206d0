//! A sender's knowledge of its packets between first sending and acknowledgement.

use super::Psn;
use spinewise_policy::time::Time;
use std::collections::{BTreeSet, VecDeque};

/// The state of a packet, as far as its sender knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// In flight.
    Flying,
    /// Waits to be sent again.
    Queued,
    /// It has arrived.
    Arrived,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    sent: Time,
    /// Number of times it was sent again.
    again: u8,
    state: State,
}

/// The packets from the first not yet acknowledged cumulatively to the last one sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Records {
    base: Psn,
    records: VecDeque<Record>,
    /// The packets that wait to be sent again.
    queued: BTreeSet<Psn>,
    /// All packets before this one have been sent again, are no longer in flight, or have no timer.
    first_new: Psn,
    /// Packets sent again, in order of sending; entries of those that have arrived or were sent again since are stale.
    again: VecDeque<(Time, Psn)>,
}

impl Records {
    fn record(&mut self, psn: Psn) -> Option<&mut Record> {
        self.records.get_mut(psn.checked_sub(self.base)? as usize)
    }

    /// The next new packet.
    #[inline]
    pub(super) fn next(&self) -> Psn {
        self.base + self.records.len() as Psn
    }

    /// The first packet to be sent again.
    #[inline]
    pub(super) fn first_queued(&self) -> Option<Psn> {
        self.queued.first().copied()
    }

    /// Returns the packets that are to be sent again.
    pub(super) fn queued(&self) -> impl Iterator<Item = Psn> {
        self.queued.iter().copied()
    }

    /// A packet is sent: the next new one, or one that waited to be sent again.
    pub(super) fn send(&mut self, psn: Psn, now: Time) {
        if psn == self.next() {
            self.records.push_back(Record { sent: now, again: 0, state: State::Flying });
            return;
        }
        self.queued.remove(&psn);
        self.again.push_back((now, psn));
        if let Some(record) = self.record(psn) {
            *record = Record { sent: now, again: record.again.saturating_add(1), state: State::Flying };
        }
    }

    /// Returns when an in-flight packet was sent, if an answer to it that says whether it had been sent again reveals
    /// its round trip.
    pub(super) fn timed(&mut self, psn: Psn, again: bool) -> Option<Time> {
        let record = self.record(psn).filter(|record| record.state == State::Flying)?;
        (record.again == u8::from(again)).then_some(record.sent)
    }

    /// Returns when an in-flight packet was sent.
    pub(super) fn flying(&mut self, psn: Psn) -> Option<Time> {
        self.record(psn).filter(|record| record.state == State::Flying).map(|record| record.sent)
    }

    /// An in-flight packet is queued to be sent again.
    pub(super) fn queue(&mut self, psn: Psn) {
        if let Some(record) = self.record(psn)
            && record.state == State::Flying
        {
            record.state = State::Queued;
            self.queued.insert(psn);
        }
    }

    /// A packet has arrived. Returns whether it was waiting to be sent again.
    pub(super) fn arrived(&mut self, psn: Psn) -> bool {
        let Some(record) = self.record(psn) else { return false };
        let was_queued = std::mem::replace(&mut record.state, State::Arrived) == State::Queued;
        if was_queued {
            self.queued.remove(&psn);
        }
        was_queued
    }

    /// All packets before `psn` have arrived. Reports which of them were waiting to be sent again.
    pub(super) fn all_arrived(&mut self, psn: Psn, mut was_queued: impl FnMut(Psn)) {
        while self.base < psn
            && let Some(record) = self.records.pop_front()
        {
            if record.state == State::Queued {
                self.queued.remove(&self.base);
                was_queued(self.base);
            }
            self.base += 1;
        }
    }

    /// Whether a packet that has not arrived was sent again.
    pub(super) fn was_sent_again(&mut self, psn: Psn) -> bool {
        self.record(psn).is_some_and(|record| record.again > 0)
    }

    /// Notes that no timer covers the [oldest](Self::oldest) packet, which was sent at `sent`, until it is sent again.
    pub(super) fn untimed(&mut self, sent: Time, psn: Psn) {
        if self.first_new == psn {
            self.first_new += 1;
        }
        self.again.retain(|&entry| entry != (sent, psn));
    }

    /// The packet that has been in flight longest, of those covered by a timer, and since when.
    #[inline]
    pub(super) fn oldest(&mut self) -> Option<(Time, Psn)> {
        let new = self.oldest_new();
        while let Some(&(sent, psn)) = self.again.front() {
            if self.flying(psn) == Some(sent) {
                return new.into_iter().chain([(sent, psn)]).min();
            }
            self.again.pop_front();
        }
        new
    }

    /// The same among packets sent once.
    #[inline]
    fn oldest_new(&mut self) -> Option<(Time, Psn)> {
        self.first_new = self.first_new.max(self.base);
        while let Some(record) = self.records.get((self.first_new - self.base) as usize) {
            if record.state == State::Flying && record.again == 0 {
                return Some((record.sent, self.first_new));
            }
            self.first_new += 1;
        }
        None
    }
}
