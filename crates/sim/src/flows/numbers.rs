//! The numbers of subflows: behind those of all flows, those of one flow in a row. What is found by number, a packet's
//! for instance, may be either's.
//!
//! Without MPTCP there are no such numbers, and nothing here costs more than the bounds check it stands for.

use super::{Flows, Machine, Receiver, ReceivingMachine, Sender};
use crate::transport::TcpConfig;

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

    /// The handshake of a flow or a subflow is through.
    pub fn opened(&mut self, config: &TcpConfig, number: u32) {
        let (flow, n) = self.flow_of(number);
        let size = self.specs[flow as usize].size;
        match (self.senders[flow as usize].as_deref_mut().map(|sender| &mut sender.machine), n) {
            (Some(Machine::Mptcp(connection)), Some(n)) => connection.opened(config, n),
            (Some(machine), None) => {
                if let Machine::Opening(opening) = machine {
                    *machine = Machine::tcp(config, opening.sender(config, size).numbered(number));
                }
            }
            _ => {}
        }
    }

    /// The sending end of a flow or a subflow.
    #[inline(always)]
    pub fn sender(&mut self, number: u32) -> Option<&mut Sender> {
        if (number as usize) < self.senders.len() {
            return self.senders[number as usize].as_deref_mut();
        }
        self.sending_subflow(number)
    }

    #[cold]
    fn sending_subflow(&mut self, number: u32) -> Option<&mut Sender> {
        let (flow, n) = self.flow_of(number);
        match &mut self.senders[flow as usize].as_deref_mut()?.machine {
            Machine::Mptcp(connection) => Some(&mut connection.subflows[n?].sender),
            _ => None,
        }
    }

    /// The receiving end of a flow or a subflow.
    #[inline(always)]
    pub fn receiver(&mut self, number: u32) -> Option<&mut Receiver> {
        if (number as usize) < self.receivers.len() {
            return self.receivers[number as usize].as_deref_mut();
        }
        self.receiving_subflow(number)
    }

    #[cold]
    fn receiving_subflow(&mut self, number: u32) -> Option<&mut Receiver> {
        let (flow, n) = self.flow_of(number);
        match &mut self.receivers[flow as usize].as_deref_mut()?.machine {
            ReceivingMachine::Mptcp(assembly) => assembly.subflows[n?].as_deref_mut(),
            _ => None,
        }
    }
}
