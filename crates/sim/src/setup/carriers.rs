//! The ends of flows, and what their transports declare of them: those of the run's transport, and of others that traffic
//! entries have.

use crate::flows::Carried;
use crate::spec::Spec;
use crate::transport::{Ends, TransportSpec};

/// The ends of `flows` flows with `paths` further numbers each, and what is declared of all of them, or by traffic entry.
pub(super) fn of(spec: &Spec, flows: usize, paths: usize) -> (Ends, Vec<Carried>) {
    let of = |transport: &TransportSpec| {
        let facts = Ends::new(transport, spec.seed, 0, paths).facts();
        Carried { facts, frame: transport.frame() }
    };
    if spec.beside.is_empty() {
        return (Ends::new(&spec.transport, spec.seed, flows, paths), vec![of(&spec.transport)]);
    }
    let transports: Vec<&TransportSpec> = spec.transports().collect();
    let part_of_entry = spec.traffic.iter().map(|entry| entry.carrier).collect();
    let carried = spec.traffic.iter().map(|entry| of(spec.transport_of(entry))).collect();
    (Ends::of_several(&transports, part_of_entry, spec.seed, flows), carried)
}
