//! Whether a run fits into the available memory: estimated in advance, as far as possible.

use crate::flows::Flows;
use crate::keys::bytes_said;
use crate::log::{self, Log};
use crate::net::Net;
use crate::spec::{Spec, SpecError, Stop, TopologySpec};
use crate::workload::dag::OPERATION_BYTES;
use crate::workload::{FLOW_BYTES, GATED_FLOW_BYTES};
use serde_json::json;
use spinewise_policy::{Span, Time};

/// Memory of a host once set up, bytes: measured, as are the following, on fabrics of 1,000 to 260,000 hosts.
const HOST: u64 = 300;
/// One direction of a cable: its port, its counters, its empty ring.
const LINK: u64 = 460;
/// The ring of a link in use.
pub(crate) const RING: u64 = 640;
/// Routes of a switch to a leaf.
const ROUTE: u64 = 8;
/// A point of a series: while it runs, while it is sorted, and as a row.
pub(crate) const POINT_BYTES: u64 = 110;

/// Memory of a fabric before anything is sent, bytes.
pub(crate) fn fabric_bytes(fabric: &TopologySpec) -> u64 {
    let [hosts, switches, leaves] = [fabric.hosts(), fabric.switches(), fabric.leaves()].map(u64::from);
    hosts * HOST + 2 * fabric.cables() * LINK + switches * leaves * ROUTE + leaves * leaves * 2
}

/// Refuses a fabric that does not fit. Returns the remaining memory, bytes.
pub(super) fn refuse_large_fabric(fabric: &TopologySpec, memory: u64) -> Result<u64, SpecError> {
    let takes = fabric_bytes(fabric);
    if takes <= memory {
        return Ok(memory - takes);
    }
    let size = format!("{} hosts, {} switches, {} cables", fabric.hosts(), fabric.switches(), fabric.cables());
    let allowed = format!(
        "a smaller fabric: this one needs about {}, and {} is available",
        bytes_said(takes),
        bytes_said(memory)
    );
    Err(SpecError::new("topology", &json!(size), allowed))
}

/// The minimum number of series points, the number at each instant among them, and the time by which they will have
/// come.
fn points_at_least(spec: &Spec, flows: &Flows, net: &Net) -> Option<(u64, u64, Span)> {
    let interval = spec.metrics.series_interval?;
    let ends = flows.specs.iter().map(|flow| {
        let rate = net.topology.links[net.topology.host_link(flow.sender())].rate;
        flow.start + Span::sending(flow.size, rate)
    });
    let end = match spec.run.stop {
        Stop::Time => spec.run.until,
        Stop::FlowsDone => ends.max().unwrap_or(Time::ZERO).min(spec.run.until),
    };
    let each = log::rows_each_time(net);
    Some(((end.0.saturating_sub(1) / interval.0).saturating_mul(each), each, end.since(Time::ZERO)))
}

/// Memory used by setting a run up, bytes.
fn set_up(spec: &Spec, flows: &Flows) -> u64 {
    let each = if flows.gates.is_empty() { FLOW_BYTES } else { GATED_FLOW_BYTES };
    let operations = u64::from(flows.operations.count()) * OPERATION_BYTES;
    fabric_bytes(&spec.topology) + flows.specs.len() as u64 * each + operations
}

/// Returns how many of `threads` there is memory for, if each sets the run up, and how many points of series in
/// addition. One thread may hold all of these points.
pub(super) fn most_threads(threads: usize, spec: &Spec, flows: &Flows, net: &Net, memory: u64) -> (usize, u64) {
    let each = set_up(spec, flows).max(1);
    let points = points_at_least(spec, flows, net).map_or(0, |(points, ..)| points.saturating_mul(POINT_BYTES));
    let most = memory.saturating_sub(points) / each;
    let threads = threads.min(usize::try_from(most).unwrap_or(usize::MAX));
    (threads, memory.saturating_sub(each.saturating_mul(threads as u64)) / POINT_BYTES)
}

/// Returns how many points of series there is room for.
///
/// # Errors
/// There will certainly be more.
pub(super) fn most_points(spec: &Spec, flows: &Flows, net: &Net, room: u64) -> Result<Option<usize>, SpecError> {
    if room == u64::MAX {
        return Ok(None);
    }
    let most = room.saturating_sub(flows.specs.len() as u64 * FLOW_BYTES) / POINT_BYTES;
    if let (Some((least, each, end)), Some(interval)) =
        (points_at_least(spec, flows, net), spec.metrics.series_interval)
        && least > most
    {
        let fits = interval.as_us_f64() * (least as f64 / most.max(1) as f64);
        let allowed = format!(
            "about {fits:.1e} us or more, or 0 for no series: {each} rows per interval over at least {} us make \
             {least}, which need about {}, and {} is available",
            end.as_us_f64(),
            bytes_said(least.saturating_mul(POINT_BYTES)),
            bytes_said(most * POINT_BYTES),
        );
        return Err(SpecError::new("metrics.series_interval_us", &json!(interval.as_us_f64()), allowed));
    }
    Ok(Some(usize::try_from(most).unwrap_or(usize::MAX)))
}

/// The run had to stop because its points outgrew the memory.
pub(super) fn too_many_points(spec: &Spec, log: &Log) -> SpecError {
    let at = log.points.last().map_or(0.0, |point| point.time.since(Time::ZERO).as_us_f64());
    let count = log.points.len();
    match spec.metrics.series_interval {
        Some(interval) => {
            let allowed = format!(
                "a longer interval, or a shorter run: after {at} us there were {count} rows of series and no memory \
                 for more"
            );
            SpecError::new("metrics.series_interval_us", &json!(interval.as_us_f64()), allowed)
        }
        None => {
            let allowed = format!("fewer points: after {at} us there were {count} and no memory for more");
            SpecError::new("scheme.params", &json!(spec.scheme.name()), allowed)
        }
    }
}
