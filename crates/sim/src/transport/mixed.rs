//! Flows of several transports in one run: the ends of each transport, and which of them a flow uses. The methods that ask for
//! the flow's own stand in the list of those that forward (`registry.rs`).

use super::Ends;
use super::contract::{Facts, Order};
use crate::ids::{FlowId, Table};

/// The ends of several transports, none of which has several paths.
#[derive(Debug)]
pub struct Mixed {
    parts: Vec<Ends>,
    /// The place among them of the transport of each traffic entry.
    part_of_entry: Vec<u8>,
    /// The same for each flow.
    part_of: Table<FlowId, u8>,
}

impl Mixed {
    /// Of these transports, the first of which is the run's. Traffic entries have them by these places.
    pub(super) fn new(parts: Vec<Ends>, part_of_entry: Vec<u8>) -> Mixed {
        Mixed { parts, part_of_entry, part_of: Table::default() }
    }

    /// Flows are numbered: these are their traffic entries.
    pub(super) fn number(&mut self, entries: impl Iterator<Item = u8>) {
        self.part_of = entries.map(|entry| self.part_of_entry[usize::from(entry)]).collect();
    }

    /// The ends of a flow's transport.
    pub(super) fn of(&self, flow: FlowId) -> &Ends {
        &self.parts[usize::from(self.part_of[flow])]
    }

    /// See [`Mixed::of`].
    pub(super) fn of_mut(&mut self, flow: FlowId) -> &mut Ends {
        &mut self.parts[usize::from(self.part_of[flow])]
    }

    /// What the run's transport says of itself; flows take turns at a NIC if those of any transport do.
    pub(super) fn facts(&self) -> Facts {
        let facts = self.parts[0].facts();
        let turns = self.parts.iter().any(|part| part.facts().order == Order::Turns);
        Facts { order: if turns { Order::Turns } else { facts.order }, ..facts }
    }

    /// Subflows of each flow: none.
    pub(super) fn paths(&self) -> usize {
        0
    }
}
