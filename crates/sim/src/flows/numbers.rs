//! The numbers of subflows: behind those of all flows, those of one flow in a row. What is found by number, a packet's
//! for instance, may be either's.
//!
//! Queue pairs that a message is split over are numbered alike. Without either there are no such numbers, and nothing here
//! costs more than the bounds check it stands for.

use super::Flows;

impl Flows {
    /// How many numbers there are, of flows and subflows.
    pub fn count(&self) -> usize {
        self.specs.len() * (1 + self.subflows as usize)
    }

    /// How many subflows a flow has, 0 without MPTCP.
    pub fn subflows_of(&self, flow: u32) -> u32 {
        match self.specs[flow as usize].subflows {
            0 => self.subflows,
            fewer => u32::from(fewer).min(self.subflows),
        }
    }

    /// The number of subflow `n` of `flow`.
    #[inline]
    pub fn subflow(&self, flow: u32, n: usize) -> u32 {
        self.specs.len() as u32 + flow * self.subflows + n as u32
    }

    /// The number that packets of `flow` on this path go by.
    #[inline]
    pub fn number(&self, flow: u32, path: usize) -> u32 {
        if self.subflows == 0 { flow } else { self.subflow(flow, path) }
    }

    /// The numbers that the packets of `flow` go by: its own, or those of its subflows.
    pub fn numbers(&self, flow: u32) -> std::ops::Range<u32> {
        if self.subflows == 0 || !self.is_tcp(flow) {
            return flow..flow + 1;
        }
        self.subflow(flow, 0)..self.subflow(flow, self.subflows_of(flow) as usize)
    }

    /// Of which flow this is the number, and of which of its subflows, if it is one's.
    #[inline]
    pub fn flow_of(&self, number: u32) -> (u32, Option<usize>) {
        match number.checked_sub(self.specs.len() as u32) {
            None => (number, None),
            Some(above) => (above / self.subflows, Some((above % self.subflows) as usize)),
        }
    }

    /// Does this subflow join a connection that others have opened?
    pub fn joins(&self, number: u32) -> bool {
        self.flow_of(number).1.is_some_and(|n| n > 0)
    }
}
