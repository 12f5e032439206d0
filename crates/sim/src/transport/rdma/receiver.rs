//! The receiving end of a queue pair: which data it takes, and how it answers each packet.

use super::blocks::Blocks;
use super::config::{RdmaConfig, Recovery};
use super::put_sack;
use crate::rider::Rider;
use crate::transport::contract::{Answer, Arrival, Received, Told};
use spinewise_policy::time::{Span, Time};

/// The state of a receiving end.
#[derive(Clone, Debug)]
pub struct RdmaReceiver {
    size: u64,
    expected: u64,
    /// One past the last byte that has arrived, kept or not.
    highest: u64,
    /// IRN: bytes beyond a hole.
    beyond: Blocks,
    /// Until when a NACK is not repeated, and the expected byte of the last one.
    nack_at: Time,
    nacked: u64,
    /// When the next CNP for a mark may be sent.
    cnp_at: Time,
}

impl RdmaReceiver {
    /// The receiver of a flow of `size` bytes, none of which has arrived.
    pub fn new(size: u64) -> Self {
        Self {
            size,
            expected: 0,
            highest: 0,
            beyond: Blocks::default(),
            nack_at: Time::ZERO,
            nacked: 0,
            cnp_at: Time::ZERO,
        }
    }

    /// Takes a data packet. New bytes are those that were not here before and are kept; the packet is out of order if a
    /// byte beyond it had arrived before, kept or not.
    #[inline(always)]
    pub fn on_data(&mut self, config: &RdmaConfig, now: Time, data: &Arrival) -> Received {
        let Arrival { seq, len, ce, .. } = *data;
        let end = data.end();
        debug_assert!(len > 0 && end <= self.size, "data outside the flow");
        let mut out = Received { out_of_order: self.highest > end, ..Received::default() };
        self.highest = self.highest.max(end);
        let ahead = seq > self.expected;
        let says_so = if !ahead {
            out.new_bytes = self.take_in_order(end);
            true
        } else if config.recovery == Recovery::GoBackN {
            self.may_nack(config, now)
        } else {
            let news = !self.beyond.covers(seq, end) || now >= self.nack_at;
            if news {
                self.nack_at = now + config.nack_interval;
                out.new_bytes = self.beyond.insert(seq, end);
            }
            news
        };
        out.completed = out.new_bytes > 0 && self.expected == self.size;
        if says_so {
            // IRN answers with a NACK as long as anything is missing before the bytes here.
            let holes = !self.beyond.is_empty();
            let mark = ce && self.may_cnp(config, now);
            out.answers[0] = Some(Answer {
                nack_or_syn: ahead || holes,
                cnp: mark || ahead && config.ooo_cnp,
                ..Answer::to(data, self.expected)
            });
            out.told = holes.then(|| told((seq, len)));
        }
        out
    }

    /// Whether every byte of the flow is here.
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.expected == self.size
    }

    /// The next byte expected.
    pub fn expected(&self) -> u64 {
        self.expected
    }

    /// Takes in-order bytes up to `end`: the new ones, and those that they join up with.
    #[inline]
    fn take_in_order(&mut self, end: u64) -> u64 {
        if end <= self.expected {
            return 0;
        }
        if self.beyond.is_empty() {
            return end - std::mem::replace(&mut self.expected, end);
        }
        self.join_up(end)
    }

    /// The same when there is data beyond a hole.
    fn join_up(&mut self, end: u64) -> u64 {
        // Counted as a set, in case packets should ever overlap.
        let new = self.beyond.insert(self.expected, end);
        self.expected = self.beyond.first().map_or(end, |first| first.1.max(end));
        self.beyond.remove_below(self.expected);
        new
    }

    /// Go-back-N: a NACK is due if the expected byte has changed since the last one, or some time has passed.
    fn may_nack(&mut self, config: &RdmaConfig, now: Time) -> bool {
        let due = now >= self.nack_at || self.nacked != self.expected;
        if due {
            self.nack_at = now + config.nack_interval;
            self.nacked = self.expected;
        }
        due
    }

    fn may_cnp(&mut self, config: &RdmaConfig, now: Time) -> bool {
        let due = config.cnp_interval == Span::ZERO || now >= self.cnp_at;
        if due {
            self.cnp_at = now + config.cnp_interval;
        }
        due
    }
}

/// Returns the report of an IRN NACK. It is charged no bytes.
#[cold]
fn told(sack: (u64, u32)) -> Told {
    Told { option: Rider::of(&put_sack(sack)), wire: 0 }
}

#[cfg(test)]
mod tests;
