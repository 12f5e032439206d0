//! Shared by the tests of whole runs: running a spec, and reading the outcome.

pub(crate) mod wire;

use serde_json::{Value, json};
use spinewise_policy::Time;
use spinewise_sim::faults::{Faults, Step};
use spinewise_sim::ids::SwitchId;
use spinewise_sim::outcome::{Column, Outcome, Values};
use spinewise_sim::setup::{Tuning, simulate};
use spinewise_sim::spec::{EngineKind, Spec, resolve};
use spinewise_sim::topology::Topology;
use spinewise_sim::trace::{CHOICE_COLUMNS, HOP_COLUMNS, LOSS_COLUMNS, Trace};
use std::sync::LazyLock;

/// `spec`, in the world of most papers unless it names its preset: the values that tests derive by hand assume that
/// world.
pub(crate) fn in_papers_world(spec: &Value) -> Value {
    if spec["preset"].is_null() {
        merged(&json!({"preset": "datacenter"}), &without_trimming(spec))
    } else {
        spec.clone()
    }
}

/// `spec` for switches that do not trim: REPS has a rule for them, which is not its default.
pub(crate) fn without_trimming(spec: &Value) -> Value {
    match spec["scheme"]["name"] == "reps" {
        true => merged(&json!({"scheme": {"params": {"freezing": "idle_timeout"}}}), spec),
        false => spec.clone(),
    }
}

/// Resolves a spec that must be valid; without a preset, in the world of most papers.
pub(crate) fn resolved(spec: &Value) -> Spec {
    resolve(&in_papers_world(spec)).unwrap_or_else(|error| panic!("{error}\n{spec}"))
}

/// Names the spec being run if that panics, as a mistake in a scheme may cause.
struct Running<'a>(&'a Value);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("while scheme {} ran: {}", self.0["scheme"]["name"], self.0);
        }
    }
}

/// Runs a spec with a choice of engine.
pub(crate) fn run_with(spec: &Value, tuning: Tuning) -> Outcome {
    let _running = Running(spec);
    simulate(&resolved(spec), tuning, &mut |_| true).unwrap_or_else(|failure| panic!("{failure:?}\n{spec}"))
}

/// Runs a spec.
pub(crate) fn run(spec: &Value) -> Outcome {
    run_with(spec, Tuning::default())
}

/// The event-queue engine.
pub(crate) fn events() -> Tuning {
    Tuning { engine: Some(EngineKind::Events), ..Tuning::default() }
}

/// Lays `change` over `base`, table by table.
pub(crate) fn merged(base: &Value, change: &Value) -> Value {
    match (base, change) {
        (Value::Object(base), Value::Object(change)) => {
            let mut all = base.clone();
            for (key, value) in change {
                let merged = merged(all.get(key).unwrap_or(&Value::Null), value);
                all.insert(key.clone(), merged);
            }
            Value::Object(all)
        }
        _ => change.clone(),
    }
}

/// One listed flow.
pub(crate) fn flow(src: u32, dst: u32, size_bytes: u64, start_ns: u64) -> Value {
    json!({"src": src, "dst": dst, "size_bytes": size_bytes, "start_ns": start_ns})
}

/// A constant-rate source without end.
pub(crate) fn udp(src: u32, dst: u32, rate_gbps: f64) -> Value {
    json!({"kind": "udp", "src": src, "dst": dst, "schedule": [{"at_us": 0, "rate_gbps": rate_gbps}]})
}

/// The report of the link called `name`.
pub(crate) fn link<'a>(outcome: &'a Outcome, name: &str) -> &'a Value {
    let links = outcome.report["links"].as_array().expect("the report lists the links");
    links.iter().find(|link| link["name"] == name).unwrap_or_else(|| panic!("no link {name}"))
}

/// A number from that link's report.
pub(crate) fn of_link(outcome: &Outcome, name: &str, what: &str) -> u64 {
    link(outcome, name)[what].as_u64().unwrap_or_else(|| panic!("no {what} of {name}"))
}

/// A number from the report's packet account.
pub(crate) fn counter(outcome: &Outcome, fate: &str, unit: &str) -> u64 {
    outcome.report["counters"][fate][unit].as_u64().unwrap_or_else(|| panic!("no counter {fate}.{unit}"))
}

/// A point of a series: when (ps), of what, value.
pub(crate) type Point = (u64, String, f64);

/// The points of the series called `name`.
pub(crate) fn series(outcome: &Outcome, name: &str) -> Vec<Point> {
    let names = |key: &str| outcome.report[key].as_array().expect("names are listed").clone();
    let (of_series, of_entities) = (names("series_names"), names("entity_names"));
    let number = of_series.iter().position(|known| known == name).unwrap_or_else(|| panic!("no series {name}"));
    let [Values::U64(times), Values::U16(series), Values::U32(entities), Values::F64(values)] = &outcome.series[..]
    else {
        panic!("the columns of series have changed")
    };
    (0..times.len())
        .filter(|&row| usize::from(series[row]) == number)
        .map(|row| {
            let entity = of_entities[entities[row] as usize].as_str().unwrap_or_default().to_string();
            (times[row], entity, values[row])
        })
        .collect()
}

/// Columns of the flows that hold 64-bit numbers, by name.
pub(crate) fn flow_column(outcome: &Outcome, name: &str) -> Vec<u64> {
    let at = spinewise_sim::outcome::FLOW_COLUMNS.iter().position(|column| column.name == name);
    match &outcome.flows[at.unwrap_or_else(|| panic!("no column {name}"))] {
        Values::U64(values) => values.clone(),
        Values::U32(values) => values.iter().copied().map(u64::from).collect(),
        Values::U8(values) => values.iter().copied().map(u64::from).collect(),
        _ => panic!("{name} is no whole number"),
    }
}

/// Sum over all flows of one number of their records.
pub(crate) fn total(outcome: &Outcome, of: impl Fn(&spinewise_sim::flows::Record) -> u32) -> u64 {
    outcome.records.iter().map(|record| u64::from(of(record))).sum()
}

/// The wiring of a `[topology]`.
pub(crate) fn wired(topology: &Value) -> Topology {
    let traffic = json!([{"kind": "flows", "list": [flow(0, 1, 1, 0)]}]);
    let spec = resolved(&json!({"topology": topology, "traffic": traffic}));
    Topology::new(&spec.topology).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs with both engines, which must agree.
pub(crate) fn run_both(spec: &Value) -> Outcome {
    let outcome = run(spec);
    assert_eq!(outcome.hash, run_with(spec, events()).hash, "the engines disagree on {spec}");
    outcome
}

/// All schemes that run in any fabric.
pub(crate) fn schemes_for_any_fabric() -> impl Iterator<Item = &'static spinewise_sim::bank::Entry> {
    spinewise_sim::bank::REGISTRY.iter().filter(|entry| !entry.in_trees)
}

/// All schemes that sit at the switches of any fabric.
pub(crate) fn switch_schemes() -> Vec<&'static str> {
    let entries = schemes_for_any_fabric().filter(|entry| entry.site == "switch");
    entries.map(|entry| entry.name()).collect()
}

/// Fails unless every flow has arrived.
pub(crate) fn all_finished(outcome: &Outcome) {
    assert_eq!(outcome.report["finished"], outcome.records.len(), "{}", outcome.report["counters"]);
}

/// A `[topology]` of kind `links`.
pub(crate) fn graph(hosts: u32, switches: u32, links: Vec<Value>) -> Value {
    json!({"kind": "links", "hosts": hosts, "switches": switches, "links": links})
}

/// Two hosts, each at a leaf of its own; 10 Gbps and 1 µs everywhere.
pub(crate) fn line(spines: u32) -> Value {
    json!({"leaves": 2, "spines": spines, "hosts_per_leaf": 1, "host_rate_gbps": 10, "fabric_rate_gbps": 10,
           "host_delay_ns": 1000, "fabric_delay_ns": 1000})
}

/// Packets of 1,500 bytes, 1.2 µs each, back to back from `from_us` on.
pub(crate) fn stream(src: u32, dst: u32, packets: u32, from_us: f64) -> Value {
    json!({"kind": "udp", "src": src, "dst": dst, "size_bytes": packets * 1500,
           "schedule": [{"at_us": from_us, "rate_gbps": 10}]})
}

/// A 4-ary tree, 10 Gbps.
pub(crate) fn fat_tree() -> Value {
    json!({"kind": "fat_tree", "k": 4, "host_rate_gbps": 10, "fabric_rate_gbps": 10})
}

/// Returns the changes at every switch.
pub(crate) fn steps(spec: &Value) -> Vec<(u32, Time, Step)> {
    let spec = resolved(spec);
    let mut topology = Topology::new(&spec.topology).expect("a topology");
    let faults = Faults::new(&spec, &mut topology).expect("faults that fit");
    let of = |switch: SwitchId| faults.steps(switch).iter().map(move |&(at, step)| (switch.number(), at, step));
    topology.switch_ids().flat_map(of).collect()
}

/// A column of whole numbers of a choice trace, or of its hops.
pub(crate) fn trace_column(trace: &Trace, name: &str) -> Vec<u64> {
    let place = |columns: &[Column]| columns.iter().position(|column| column.name == name);
    let values = match (place(CHOICE_COLUMNS), place(HOP_COLUMNS)) {
        (Some(at), _) => &trace.rows[at],
        (_, Some(at)) => &trace.hops[at],
        _ => panic!("no column {name}"),
    };
    whole(values)
}

/// The same for the lost packets of traced flows.
pub(crate) fn loss_column(trace: &Trace, name: &str) -> Vec<u64> {
    let place = LOSS_COLUMNS.iter().position(|column| column.name == name);
    whole(&trace.losses[place.unwrap_or_else(|| panic!("no column {name}"))])
}

/// Whole numbers.
pub(crate) fn whole(values: &Values) -> Vec<u64> {
    match values {
        Values::U8(v) => v.iter().map(|&x| x.into()).collect(),
        Values::U16(v) => v.iter().map(|&x| x.into()).collect(),
        Values::U32(v) => v.iter().map(|&x| x.into()).collect(),
        Values::U64(v) => v.clone(),
        Values::F64(_) => panic!("no whole numbers"),
    }
}

/// Runs a spec with a trace of these flows.
pub(crate) fn traced(spec: &Value, flows: &[u32], tuning: Tuning) -> (Outcome, Trace) {
    let traced = spinewise_sim::trace::simulate(&resolved(spec), tuning, flows, &mut |_| true);
    traced.unwrap_or_else(|failure| panic!("{failure:?}\n{spec}"))
}

/// The congestion controls of TCP, and of queue pairs, as the registry lists them.
pub(crate) static CONTROLS: LazyLock<[Vec<String>; 3]> = LazyLock::new(|| {
    let described = spinewise_sim::spec::describe();
    let words = |kind: &str, key: &str| -> Vec<String> {
        let header = format!("[transport] kind = \"{kind}\"");
        let mut tables = described["spec"].as_array().into_iter().flatten().filter(|table| table["name"] == header);
        let keys = tables.next().and_then(|table| table["params"].as_array()).into_iter().flatten();
        let words = keys.filter(|one| one["name"] == key).flat_map(|one| one["schema"]["enum"].as_array()).flatten();
        words.filter_map(Value::as_str).filter(|word| !["rdma", "uet"].contains(word)).map(String::from).collect()
    };
    [words("rdma", "kind"), words("rdma", "congestion_control"), words("uet", "congestion_control")]
});
