//! Facts about flows that are fixed where a program is followed event by event ([`crate::engine::planned`]): the ends
//! that messages are hashed by, and rows that some flows share. The rules for these are in [`crate::spec::Rules`].

use crate::flows::Flows;
use crate::net::Net;
use crate::packet::Fields;
use crate::spec::Rules;
use spinewise_policy::FlowKey;
use std::collections::BTreeMap;

/// The priority of all data of the followed program (source: ConWeave's public code).
const PRIORITY: u32 = 3;

impl Net {
    /// Fixes the parts of these rules that concern flows.
    pub fn follow(&mut self, rules: &Rules, flows: &Flows) {
        if rules.habits.messages_by_flow {
            self.hashing.ends = flows.specs.iter().map(|flow| (flow.src, flow.dst)).collect();
        }
        if rules.shared_flowlets {
            self.shared_rows = self.shared_rows(flows);
        }
    }

    /// Flows that have the same key in that code, except the first, each with the first: the keys leave out the source
    /// and OR the priority into the destination's port.
    fn shared_rows(&self, flows: &Flows) -> BTreeMap<u32, FlowKey> {
        let Fields::Ports(ports) = &self.hashing.fields else { return BTreeMap::new() };
        let mut first = BTreeMap::new();
        let mut shared = BTreeMap::new();
        for ((id, flow), ports) in flows.specs.numbered().zip(ports) {
            let leaf = self.topology.leaf(flow.sender());
            let key = FlowKey::data(id.number());
            let known = *first.entry((leaf, flow.dst, ports | PRIORITY << 16)).or_insert(key);
            if known != key {
                shared.insert(key.0, known);
            }
        }
        shared
    }
}
