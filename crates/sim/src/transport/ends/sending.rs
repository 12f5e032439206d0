//! The sending end of a flow, and what a host keeps of each of its paths.

use super::timer::Timer;
use crate::transport::contract::{Counts, Sender};
use spinewise_policy::{Time, Way};
use std::collections::VecDeque;

/// The sending end of a flow.
#[derive(Debug)]
pub struct Sending<S> {
    /// The transport's sender.
    pub machine: S,
    /// Whether it is in the NIC's round.
    queued: bool,
    lane: Lane,
    /// Lanes of the other paths.
    further: Vec<Lane>,
}

/// What is kept of one path at its sending end.
#[derive(Debug)]
pub struct Lane {
    pub(super) timer: Timer,
    /// Way of the last data packet.
    last_way: Way,
    /// Way of every outstanding segment by its first byte, kept only for schemes that ask for losses.
    ways: VecDeque<(u64, Way)>,
}

impl<S> Sending<S> {
    /// A sending end with this many paths.
    pub fn new(machine: S, paths: usize) -> Box<Self> {
        let further = (1..paths).map(|_| Lane::default()).collect();
        Box::new(Sending { machine, queued: false, lane: Lane::default(), further })
    }

    /// The lane of a path.
    #[inline(always)]
    pub fn lane(&mut self, path: usize) -> &mut Lane {
        if path == 0 { &mut self.lane } else { &mut self.further[path - 1] }
    }

    /// Adds it to the NIC's round. Was it outside?
    #[inline(always)]
    pub fn enqueue(&mut self) -> bool {
        !std::mem::replace(&mut self.queued, true)
    }
}

impl<S: Sender> Sending<S> {
    /// Does it have something to send? If not, it leaves the NIC's round.
    #[inline(always)]
    pub fn stays(&mut self, config: &S::Config) -> bool {
        self.queued = self.machine.may_send_from(config) != Time::NEVER;
        self.queued
    }

    /// What it has counted.
    pub fn account(&self) -> Counts {
        let mut counts = Counts::default();
        self.machine.account(&mut counts);
        counts
    }

    /// A timer to plan for this path, or [`Time::NEVER`].
    #[inline(always)]
    pub(super) fn plan(&mut self, path: usize) -> Time {
        let deadline = self.machine.deadline(path);
        self.lane(path).timer.want(deadline)
    }
}

impl Default for Lane {
    fn default() -> Self {
        Lane { timer: Timer::NONE, last_way: Way::ANY, ways: VecDeque::new() }
    }
}

impl Lane {
    /// The way the segment that starts at `seq` was last sent on.
    pub fn way_of(&self, seq: u64) -> Way {
        self.ways.binary_search_by_key(&seq, |&(first, _)| first).map_or(Way::ANY, |at| self.ways[at].1)
    }

    /// A packet is sent on this way. Was the previous one sent on another?
    pub fn goes(&mut self, way: Way) -> bool {
        let last = std::mem::replace(&mut self.last_way, way);
        last != way && last != Way::ANY
    }

    /// Remembers the way of a segment until it is acknowledged. Most are new, and join the end.
    pub fn remember(&mut self, seq: u64, way: Way) {
        if self.ways.back().is_none_or(|&(last, _)| last < seq) {
            return self.ways.push_back((seq, way));
        }
        match self.ways.binary_search_by_key(&seq, |&(first, _)| first) {
            Ok(at) => self.ways[at].1 = way,
            Err(at) => self.ways.insert(at, (seq, way)),
        }
    }

    /// Everything below `seq` is acknowledged.
    #[inline]
    pub(super) fn forget(&mut self, seq: u64) {
        while self.ways.front().is_some_and(|&(first, _)| first < seq) {
            self.ways.pop_front();
        }
    }
}
