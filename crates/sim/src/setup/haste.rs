//! Lists of flows that start faster than all hosts together could send them: their times may be in another unit.

use crate::spec::Warning;
use crate::workload::{FlowSpec, Workload};
use spinewise_policy::Time;
use std::collections::BTreeSet;

/// The number of different start times from which a list is a recording, not a burst that somebody wants to see.
const INSTANTS: usize = 100;
/// How many times what hosts can send a list must carry to be reported.
const TIMES: f64 = 10.0;

/// The warning about such a list, if it is one.
pub(super) fn warning(entry: usize, workload: &Workload, flows: &[FlowSpec], host_rates: &[u64]) -> Option<Warning> {
    if !matches!(workload, Workload::List(_)) {
        return None;
    }
    let starts = || flows.iter().map(|flow| flow.start);
    let (first, last) = (starts().min()?, starts().max()?);
    let seconds = last.since(first).0 as f64 / 1e12;
    let bytes: f64 = flows.iter().map(|flow| flow.size as f64).sum();
    let sent = host_rates.iter().map(|&rate| rate as f64).sum::<f64>() / 8.0 * seconds;
    if bytes < TIMES * sent || starts().collect::<BTreeSet<Time>>().len() < INSTANTS {
        return None;
    }
    let text = format!(
        "{} flows with {:.3} MB in all start within {:.3} us, in which all hosts together can send {:.3} MB. If their \
         start times are in another unit than nanoseconds, `spinewise import flows FILE --start-unit UNIT --out FILE` \
         reads them.",
        flows.len(),
        bytes / 1e6,
        seconds * 1e6,
        sent / 1e6
    );
    Some(Warning::of("starts_in_haste", format!("traffic[{entry}]"), text))
}
