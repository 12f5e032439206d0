//! Whose turn it is at an RNIC: queue pairs in the order of their numbers, round and round.
//!
//! A queue pair that has something to send keeps its place while its pacing holds it back; the NIC looks past it. That
//! is the order of ns-3's RDMA NIC, which walks its list of queue pairs from behind the one that sent last.

use super::Host;
use crate::world::World;
use spinewise_policy::Time;

/// A queue pair that has something to send.
#[derive(Clone, Copy, Debug)]
struct Turn {
    flow: u32,
    /// Not before, by its pacing.
    at: Time,
}

/// The queue pairs of a host that have something to send.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// By number.
    waiting: Vec<Turn>,
    /// Who sent last.
    last: u32,
}

impl Turns {
    fn place(&self, flow: u32) -> Result<usize, usize> {
        self.waiting.binary_search_by_key(&flow, |turn| turn.flow)
    }

    /// `flow` has something to send from `at` on.
    fn join(&mut self, flow: u32, at: Time) {
        match self.place(flow) {
            Ok(n) => self.waiting[n].at = at,
            Err(n) => self.waiting.insert(n, Turn { flow, at }),
        }
    }

    fn leave(&mut self, flow: u32) {
        if let Ok(n) = self.place(flow) {
            self.waiting.remove(n);
        }
    }
}

impl Host {
    /// A queue pair may have something to send: it takes its place, and the NIC pulls if it is free.
    pub(super) fn join_turns(&mut self, w: &mut World<'_>, flow: u32) {
        let at = w.flows.may_send_from(flow);
        if at != Time::NEVER {
            self.turns.join(flow, at);
            self.set_going(w);
        }
    }

    /// The line is free: sends a packet of the queue pair whose turn it is, or says when to look again.
    pub(super) fn take_turn(&mut self, w: &mut World<'_>) {
        // Control goes first: what comes up before the line is free still overtakes the data.
        if self.nic.line.free_at() > w.now {
            self.wake = self.nic.line.free_at();
            return;
        }
        while let Some(flow) = self.next_turn(w) {
            if w.flows.may_send_from(flow) == Time::NEVER {
                self.turns.leave(flow);
                continue;
            }
            self.turns.last = flow;
            self.send_data(w, flow);
            self.nic.pulled_until = self.nic.line.free_at();
            match w.flows.may_send_from(flow) {
                Time::NEVER => self.turns.leave(flow),
                at => self.turns.join(flow, at),
            }
            if !self.turns.waiting.is_empty() {
                self.wake = self.nic.pulled_until;
            }
            return;
        }
    }

    /// The first queue pair behind the one that sent last that neither its pacing nor a pause holds back. If there is
    /// none, the NIC wakes when there may be one.
    fn next_turn(&mut self, w: &World<'_>) -> Option<u32> {
        let first = self.turns.waiting.partition_point(|turn| turn.flow <= self.turns.last);
        let (before, behind) = self.turns.waiting.split_at(first);
        let mut wake = Time::NEVER;
        for turn in behind.iter().chain(before) {
            let mut at = turn.at;
            if self.nic.paused {
                at = at.max(self.pausing(w.flows.specs[turn.flow as usize].priority).until());
            }
            if at <= w.now {
                return Some(turn.flow);
            }
            wake = wake.min(at);
        }
        self.wake = wake;
        None
    }
}
