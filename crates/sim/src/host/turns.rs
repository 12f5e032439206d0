//! Whose turn it is at an RNIC: queue pairs in numerical order, round-robin.
//!
//! A queue pair that has something to send keeps its place while its pacing holds it back; the NIC skips it. That is
//! the order of ns-3's RDMA NIC, which walks its list of queue pairs from the one after the last sender.

use crate::ids::FlowId;
use crate::world::World;
use spinewise_policy::Time;

/// A queue pair that has something to send.
#[derive(Clone, Copy, Debug)]
struct Turn {
    flow: FlowId,
    /// Not before this instant, by its pacing.
    at: Time,
}

/// The queue pairs of a host that have something to send.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// By number.
    waiting: Vec<Turn>,
    /// The queue pair that sent last.
    last: FlowId,
    /// The position of the queue pair whose turn came last.
    stood: usize,
}

impl Turns {
    #[inline]
    fn place(&self, flow: FlowId) -> Result<usize, usize> {
        if self.stands(flow) {
            return Ok(self.stood);
        }
        self.waiting.binary_search_by_key(&flow, |turn| turn.flow)
    }

    /// Is it at the position of the queue pair whose turn came last?
    #[inline]
    fn stands(&self, flow: FlowId) -> bool {
        self.waiting.get(self.stood).is_some_and(|turn| turn.flow == flow)
    }

    /// `flow` has something to send from `at` on.
    pub(super) fn join(&mut self, flow: FlowId, at: Time) {
        match self.place(flow) {
            Ok(n) => self.waiting[n].at = at,
            Err(n) => self.waiting.insert(n, Turn { flow, at }),
        }
    }

    pub(super) fn leave(&mut self, flow: FlowId) {
        if let Ok(n) = self.place(flow) {
            self.waiting.remove(n);
        }
    }

    /// Gives this queue pair its turn.
    pub(super) fn take(&mut self, flow: FlowId) {
        self.last = flow;
    }

    /// How many of these queue pairs, in numerical order, precede the one after the last sender.
    pub(super) fn passed(&self, flows: &[FlowId]) -> usize {
        flows.partition_point(|&flow| flow <= self.last)
    }

    /// How many have something to send.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Does no queue pair have anything to send?
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The first queue pair after the last sender that is held back neither by its pacing nor by a pause, as `held`
    /// says.
    ///
    /// # Errors
    /// When there may be one, if there is none now.
    #[inline]
    pub(super) fn next(&mut self, w: &World<'_>, held: impl Fn(&World<'_>, FlowId) -> Time) -> Result<FlowId, Time> {
        let first = match self.stands(self.last) {
            true => self.stood + 1,
            false => self.waiting.partition_point(|turn| turn.flow <= self.last),
        };
        let mut wake = Time::NEVER;
        for place in (first..self.waiting.len()).chain(0..first) {
            let turn = self.waiting[place];
            let at = turn.at.max(held(w, turn.flow));
            if at <= w.now {
                self.stood = place;
                return Ok(turn.flow);
            }
            wake = wake.min(at);
        }
        Err(wake)
    }
}
