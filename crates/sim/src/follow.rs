//! What schemes are given where the public ns-3 code of ConWeave is followed ([`crate::engine::planned`]).
//!
//! All its switches draw paths from the C library's `rand()`, seeded with 1: one stream, drawn from in the order of
//! events. And its keys for flowlets take some flows for one: they leave out the source and lay
//! the priority over the destination's port.

use crate::choices::Recorder;
use crate::engine::Sim;
use crate::spec::Rules;
use spinewise_policy::{FlowKey, Rng};
use std::collections::BTreeMap;

/// What `run.py` of that code seeds `rand()` with.
const SEED: u32 = 1;
/// The priority of all its data.
const PRIORITY: u32 = 3;

impl Sim {
    /// Makes schemes follow that code.
    #[cold]
    pub fn follow(&mut self, rules: &Rules) {
        if rules.conweave {
            self.fabric.follow_ns3();
        }
        if rules.one_stream_for_paths {
            self.fabric.draw_from(Rng::of_c(SEED));
        }
        if rules.habits.messages_by_flow {
            self.net.hashing.ends = self.flows.specs.iter().map(|flow| (flow.src, flow.dst)).collect();
        }
        if rules.shared_flowlets && self.fabric.ns3_shares_flowlets() {
            self.net.shared_rows = self.shared_rows();
        }
        // Choices are then watched, if only to swap that stream in.
        self.log.recorder = Some(Box::new(Recorder::new(self.flows.count(), &[])));
    }

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
