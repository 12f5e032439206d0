//! The outcome of a run: columns for tables, a report, and a hash of everything that happened.
//!
//! | file | contents |
//! |---|---|
//! | `series.rs`, `collectives.rs`, `packets.rs` | the tables; that of flows is in `flows/record.rs` |
//! | `links.rs` | the traffic of every link |
//! | `operations.rs` | the outcome of operations that wait for each other |
//! | `report.rs` | counters and sums |
//! | `hash.rs` | the hash of it all |

mod collectives;
mod hash;
mod links;
mod operations;
mod packets;
mod report;
mod series;

pub use crate::columns::{Column, Values};
use crate::engine::Sim;
pub use crate::flows::FLOW_COLUMNS;
use crate::flows::Record;
use crate::spec::{Spec, Warning};
use crate::summary::Summary;
use crate::switch::Switch;
use crate::transport::resequencer::Tally;
use crate::warden::GoOn;
use crate::workload::FlowSpec;
use crate::workload::load::Loads;
pub use collectives::COLLECTIVE_COLUMNS;
pub use packets::{BLOCK_COLUMNS, PACKET_COLUMNS, Packets};
use serde_json::{Value, json};
pub use series::SERIES_COLUMNS;
use spinewise_policy::Time;
use spinewise_policy::time::BYTE_PS;

/// The results of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Values of [`FLOW_COLUMNS`]; empty columns when there are more flows than `metrics.keep_flows_up_to`.
    pub flows: Vec<Values>,
    /// Values of [`COLLECTIVE_COLUMNS`]; empty columns when there are more rows than `metrics.keep_flows_up_to`.
    pub collectives: Vec<Values>,
    /// Values of [`SERIES_COLUMNS`].
    pub series: Vec<Values>,
    /// Captured packets, if capture was requested.
    pub packets: Option<Packets>,
    /// Everything else.
    pub report: Value,
    /// Hash of everything that happened: flows, links, series. The same spec gives the same hash.
    pub hash: u64,
    /// The outcome of each flow.
    pub records: Vec<Record>,
    /// The specification of each flow.
    pub specs: Vec<FlowSpec>,
}

impl Outcome {
    /// Closes the account of a run that stopped at `stop`, while it may continue; if interrupted, the result is
    /// incomplete.
    pub fn close(spec: &Spec, mut sim: Sim, stop: Time, loads: Option<Loads>, go_on: GoOn<'_>) -> Outcome {
        for flow in sim.world.flows.specs.ids() {
            sim.world.flows.keep_account(flow);
        }
        debug_assert!(sim.switches.iter().all(Switch::accounts_agree), "a buffer's account");
        let links = links::close(&mut sim, stop);
        let packets = packets::packets(&mut sim, stop);
        sim.warnings.extend(packets.as_ref().and_then(captured_in_part));
        sim.world.log.points.sort_by_key(|point| (point.time, point.series, point.entity));
        let traffic_hash = sim.world.flows.traffic_hash;
        let hash = hash::outcome_hash(&sim, &links, stop);
        let ideal = crate::ideal::of_flows(&sim, &spec.metrics, go_on);
        let keep = sim.world.flows.specs.len() as u64 <= spec.metrics.keep_flows_up_to;
        let mut report = report::report(&sim, &links, stop, loads);
        if sim.world.flows.resequences() {
            let Tally { held, timeouts, overflows } = sim.world.log.resequenced;
            report["counters"]["resequencing"] =
                json!({"held_packets": held, "timeouts": timeouts, "overflows": overflows});
        }
        if let Some(packets) = &packets {
            report["captured"] = packets.told.clone();
        }
        let cut_off = report::cut_off(&sim, stop);
        if !sim.net.faults.is_empty() {
            report["unfinished"] = report::unfinished(&sim, &cut_off);
        }
        sim.warnings.extend(own_traffic(&sim, stop));
        sim.warnings.extend(no_interval(spec, stop));
        sim.warnings.extend(late_faults(spec, stop));
        let unfinished = operations::warnings(&sim);
        report["warnings"] = spec.warnings.iter().chain(&sim.warnings).chain(&unfinished).map(Warning::json).collect();
        if !sim.world.flows.operations.is_empty() {
            report["operations"] = operations::told(&sim);
        }
        report["outcome_hash"] = json!(format!("{hash:016x}"));
        report["traffic_hash"] = json!(format!("{traffic_hash:016x}"));
        let Summary { classes, entries, totals } = Summary::of(spec, &sim.world.flows, &ideal);
        (report["classes"], report["entries"], report["totals"]) = (classes, entries, totals);
        let jobs = collectives::jobs(spec, sim.net.topology.hosts);
        let collectives = collectives::columns_of(&sim.world.flows, &jobs, spec.metrics.keep_flows_up_to);
        let flows = if keep { sim.world.flows.columns(&jobs, &ideal, &cut_off) } else { Vec::new() };
        let series = series::columns_of(&sim.world.log.points);
        let (records, specs) = (sim.world.flows.records.into_list(), sim.world.flows.specs.into_list());
        Outcome { flows, collectives, series, packets, report, hash, records, specs }
    }
}

/// Warns that the run was over before the first interval of its series.
fn no_interval(spec: &Spec, stop: Time) -> Option<Warning> {
    let interval = spec.metrics.series_interval.filter(|&interval| stop < Time::ZERO + interval)?;
    let text = format!(
        "The run ended after {} us, before the first interval of {} us was over, so there are no series of intervals. \
         An incomplete interval at the end is never reported.",
        stop.since(Time::ZERO).as_us_f64(),
        interval.as_us_f64()
    );
    Some(Warning::of("no_interval", "metrics.series_interval_us", text))
}

/// Warns of faults that began when the run was over though it could have continued: possibly a wrong unit.
fn late_faults(spec: &Spec, stop: Time) -> impl Iterator<Item = Warning> {
    let faults = spec.faults.iter().flat_map(|faults| &faults.faults).enumerate();
    let late = faults.filter(move |(_, fault)| (stop..spec.run.until).contains(&fault.from));
    late.map(move |(n, fault)| {
        let [begins, over] = [fault.from, stop].map(|at| at.since(Time::ZERO).as_us_f64());
        let text =
            format!("This fault begins after {begins} us, but the run was over after {over} us: it changed nothing.");
        Warning::of("fault_after_traffic", format!("fault[{n}].at_us"), text)
    })
}

/// A scheme's own packets are reported from this share of the leaves' uplinks on.
const MUCH: f64 = 0.1;

/// Warns that a scheme's own packets take much of the capacity: most probe periods are times that suit fast links.
fn own_traffic(sim: &Sim<'_>, stop: Time) -> Option<Warning> {
    let (uplinks, _, _) = sim.net.topology.leaf_rates();
    let capacity: f64 = uplinks.iter().map(|&rate| rate as f64).sum();
    let bytes = sim.world.log.probes.bytes + sim.world.log.messages.bytes;
    let share = bytes as f64 * BYTE_PS as f64 / stop.0 as f64 / capacity;
    if !(share > MUCH && share.is_finite()) {
        return None;
    }
    let under = sim.world.fabric.sheet().name;
    let name = sim.world.edge.as_ref().map_or(under.into(), |edge| format!("{} over {under}", edge.sheet().name));
    let text = format!(
        "Probes and messages of {name} took {:.0} % of the capacity of the leaves' uplinks. Most are sent at intervals \
         that suit fast links: see the scheme's parameters.",
        100.0 * share
    );
    Some(Warning::of("much_own_traffic", "scheme.params", text))
}

/// Names the ports with more packets than were to be kept.
fn captured_in_part(packets: &Packets) -> Option<Warning> {
    let full = packets.full();
    let first = full.first()?;
    let text = format!(
        "{} of the capturing ports saw more packets than they keep: {} kept the first {} of {}, up to {} us.",
        full.len(),
        first["name"].as_str().unwrap_or_default(),
        first["kept"],
        first["packets"],
        first["full_ps"].as_u64().unwrap_or_default() as f64 / 1e6,
    );
    Some(Warning::of("capture_full", "metrics.capture.max_packets", text))
}
