//! What schemes are given where a program is followed event by event ([`crate::engine::planned`]): numbers that all
//! switches draw from, and rows that some flows share. The rules that ask for these are of [`crate::spec::Rules`].

use crate::engine::Sim;
use crate::spec::Rules;
use crate::tape::Tape;
use spinewise_policy::FlowKey;
use std::collections::BTreeMap;

/// The priority of all data of ConWeave's public code.
const PRIORITY: u32 = 3;

impl Sim {
    /// Gives the schemes what these rules say.
    #[cold]
    pub fn follow(&mut self, rules: &Rules) {
        self.fabric.tape = rules.draws.map(|draws| Box::new(Tape::new(draws)));
        if rules.habits.messages_by_flow {
            self.net.hashing.ends = self.flows.specs.iter().map(|flow| (flow.src, flow.dst)).collect();
        }
        if rules.shared_flowlets {
            self.net.shared_rows = self.shared_rows();
        }
    }

    /// Of flows that are one to that code's keys, all but the first, and the first: the keys leave out the source and lay
    /// the priority over the destination's port.
    fn shared_rows(&self) -> BTreeMap<u32, FlowKey> {
        let Some(ports) = &self.net.hashing.ports else { return BTreeMap::new() };
        let mut first = BTreeMap::new();
        let mut shared = BTreeMap::new();
        for (number, (flow, ports)) in (0u32..).zip(self.flows.specs.iter().zip(ports)) {
            let leaf = self.net.topology.leaf_of[flow.src as usize];
            let key = FlowKey(number << 1);
            let known = *first.entry((leaf, flow.dst, ports | PRIORITY << 16)).or_insert(key);
            if known != key {
                shared.insert(key.0, known);
            }
        }
        shared
    }
}
