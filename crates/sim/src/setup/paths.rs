//! The number of paths of each flow of a run (the subflows of MPTCP, or the queue pairs that a message is split over),
//! and the fields that switches hash to distinguish them.

use crate::flows::{Flows, Listed};
use crate::keys::SpecError;
use crate::packet::Fields;
use crate::spec::{HashKind, Spec};

/// Returns how many path numbers each of these flows has.
///
/// # Errors
/// There are more than there are numbers, or a message has fewer bytes than parts.
pub(super) fn paths(spec: &Spec, list: &[Listed]) -> Result<u32, SpecError> {
    let (key, paths) = spec.transport.sheet().paths;
    let refused = |allowed: String| Err(SpecError::said(format!("transport.{key}"), paths.to_string(), allowed));
    let flows = list.len();
    // Numbers of flows and paths have 31 bits: one bit is for the direction.
    let most = (1u64 << 31) / (flows as u64).max(1);
    if u64::from(paths) >= most {
        return refused(format!("fewer than {} {key} for each of {flows} flows, or fewer flows", most.max(2) - 1));
    }
    let least = list.iter().filter(|(_, udp)| udp.is_none()).map(|(flow, _)| (flow.size, flow.entry)).min();
    match least {
        Some((size, entry)) if key == "queue_pairs" && size < u64::from(paths) => {
            let entry = &spec.traffic[usize::from(entry)].name;
            refused(format!("at most {size} with queue_pair_use = \"split\": {entry} has a message of {size} bytes"))
        }
        _ => Ok(paths),
    }
}

/// Returns the fields that switches hash to distinguish flows and paths; `pairs` gives the shared connections, if any.
pub(super) fn fields(spec: &Spec, flows: &Flows, pairs: Option<Vec<u32>>) -> Fields {
    match spec.scheme.hash {
        HashKind::Murmur3 => Fields::Ports(flows.ports(pairs.as_deref())),
        HashKind::Mix => pairs.map_or(Fields::Header, Fields::Connections),
    }
}
