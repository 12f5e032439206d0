//! The registry for people: every key of a spec, and the schemes, workloads, transports and presets there are.

use serde_json::{Map, Value, json};
use spinewise_policy::config::Allowed;
use spinewise_policy::{Aware, Compared, Needs, Quantity, Sees};

use super::RootKeys;
use super::capture::CaptureKeys;
use super::detection::DetectionKeys;
use super::fault::FaultKeys;
use super::follow::FollowKeys;
use super::metrics::{ClassKeys, MetricsKeys};
use super::presets::{DEFAULT, PRESETS, Preset};
use super::run::RunKeys;
use super::schema;
use super::scheme::{self, SchemeKeys};
use super::switch::{self, EcnKeys, SharedKeys, SwitchKeys, TrimmingKeys};
use super::traffic::{self, CarriedKeys, EntryKeys, FlowKeys, StepKeys};
use crate::bank::{Entry, REGISTRY};
use crate::keys::{AUTO, Default, Key, one_of, unit_of};
use crate::topology::spec::{self as topology, FatTreeOverrideKeys, LinkKeys, OverrideKeys, RouteKeys};
use crate::transport::congestion::window::Kind as Control;
use crate::transport::congestion::{delivery, rate};
use crate::transport::{RdmaConfig, TcpConfig, UetConfig};
use crate::workload::builtins;

/// A table of a spec.
struct Table {
    /// The header as written in TOML.
    header: String,
    doc: &'static str,
    keys: &'static [Key],
    preset: Says,
}

/// Returns the preset's values for the keys of a table.
type Says = fn(&Preset) -> Map<String, Value>;

fn says_nothing(_: &Preset) -> Map<String, Value> {
    Map::new()
}

/// The preset's keys of TCP, and its kind of transport.
fn of_tcp(preset: &Preset) -> Map<String, Value> {
    of_this_preset("kind", preset.transport.tcp(), preset.transport.values())
}

/// The preset's keys of RDMA, and its kind of transport.
fn of_rdma(preset: &Preset) -> Map<String, Value> {
    of_this_preset("kind", preset.transport.rdma(), preset.transport.values())
}

/// The preset's keys of Ultra Ethernet, and its kind of transport.
fn of_uet(preset: &Preset) -> Map<String, Value> {
    of_this_preset("kind", preset.transport.uet(), preset.transport.values())
}

/// The preset's keys of queues that trim, and its model of a switch.
fn of_trimming(preset: &Preset) -> Map<String, Value> {
    of_this_preset("model", switch::of_model(switch::TRIMMING, preset, preset.switch()), preset.switch())
}

/// The preset's keys of output queues, and its model of a switch.
fn of_queues(preset: &Preset) -> Map<String, Value> {
    of_this_preset("model", switch::of_model(switch::OUTPUT_QUEUED, preset, preset.switch()), preset.switch())
}

/// The preset's keys of a shared buffer, and its model of a switch.
fn of_shared(preset: &Preset) -> Map<String, Value> {
    of_this_preset("model", switch::of_model(switch::SHARED_BUFFER, preset, preset.switch()), preset.switch())
}

/// Returns `table`, with the preset's own value of one key.
fn of_this_preset(key: &str, mut table: Map<String, Value>, mut said: Map<String, Value>) -> Map<String, Value> {
    table.extend(said.remove_entry(key));
    table
}

fn tables() -> Vec<Table> {
    let root = table(TOP, "The run as a whole.", RootKeys::KEYS);
    [vec![root], fabric_tables(), transport_tables(), traffic_tables(), run_tables()].into_iter().flatten().collect()
}

/// A table whose keys no preset sets.
fn table(header: &str, doc: &'static str, keys: &'static [Key]) -> Table {
    Table { header: header.into(), doc, keys, preset: says_nothing }
}

/// `[topology]`, `[switch]` and `[scheme]`.
fn fabric_tables() -> Vec<Table> {
    let with = |header: &str, doc, keys, preset| Table { header: header.into(), doc, keys, preset };
    let of_kinds = topology::ENTRIES.iter().map(|entry| Table {
        header: format!("[topology] kind = \"{}\"", entry.kind),
        doc: entry.doc,
        keys: entry.keys,
        preset: |preset| (preset.topology)(),
    });
    let others = [
        table("entries of topology.links", "One link.", LinkKeys::KEYS),
        table("entries of topology.routes", "One static route.", RouteKeys::KEYS),
        table(
            "[[topology.override]]",
            "Changes to the links of a leaf-spine fabric that match all given selectors.",
            OverrideKeys::KEYS,
        ),
        table(
            "[[topology.override]] of a fat-tree",
            "Changes to the links that match all given selectors.",
            FatTreeOverrideKeys::KEYS,
        ),
        with(
            "[switch] model = \"output_queued\"",
            "A drop-tail queue at each output, with ECN marking.",
            SwitchKeys::KEYS,
            of_queues,
        ),
        with(
            "[switch] model = \"shared_buffer\"",
            "One buffer for all ports of a switch, with dynamic thresholds, ramp ECN marking and optional priority \
             flow control. Control packets go first.",
            SharedKeys::KEYS,
            of_shared,
        ),
        with(
            "[switch] model = \"trimming\"",
            "Two queues at each output: data that does not fit loses its payload, and its header goes ahead of all \
             data.",
            TrimmingKeys::KEYS,
            of_trimming,
        ),
        with(
            "[scheme]",
            "The load-balancing scheme; its parameters are in [scheme.params].",
            SchemeKeys::KEYS,
            |preset| (preset.scheme)(),
        ),
    ];
    of_kinds.chain(others).collect()
}

/// `[[traffic]]` and its subtables.
fn traffic_tables() -> Vec<Table> {
    let every = [
        table("[[traffic]]", "What is sent. Every entry has these keys and those of its kind.", EntryKeys::KEYS),
        table(
            "[[traffic]] of any kind but \"udp\"",
            "Flows that the transport carries also have these keys.",
            CarriedKeys::KEYS,
        ),
    ];
    let of_kinds = traffic::ENTRIES.iter().map(|entry| Table {
        header: format!("[[traffic]] kind = \"{}\"", entry.kind),
        doc: entry.about,
        keys: entry.keys,
        preset: says_nothing,
    });
    let parts = [
        table("entries of list, [[traffic]] kind = \"flows\"", "One flow.", FlowKeys::KEYS),
        table("entries of switch.ecn", "How a data priority is marked.", EcnKeys::KEYS),
        table("entries of schedule, [[traffic]] kind = \"udp\"", "A rate and when it takes effect.", StepKeys::KEYS),
    ];
    every.into_iter().chain(of_kinds).chain(parts).collect()
}

/// The tables of faults, of the end of a run, and of the data kept.
fn run_tables() -> Vec<Table> {
    vec![
        table("[[fault]]", "What breaks during the run: a link or a switch.", FaultKeys::KEYS),
        table("[detection]", "How faults are found and repaired.", DetectionKeys::KEYS),
        table("[run]", "When a run ends, and by which engine.", RunKeys::KEYS),
        table(
            "[follow]",
            "The rules of the public ns-3 code of ConWeave, for a run that follows it (run.follow). Each is on unless \
             turned off.",
            FollowKeys::KEYS,
        ),
        table("[metrics]", "What is recorded and how it is summarized.", MetricsKeys::KEYS),
        table("entries of metrics.size_classes", "A class of flow sizes.", ClassKeys::KEYS),
        table("[metrics.capture]", "Packets captured as they pass chosen ports.", CaptureKeys::KEYS),
    ]
}

/// `[transport]` of each family, and the keys that each congestion control adds to it.
fn transport_tables() -> Vec<Table> {
    let table = |header, doc, keys, preset| Table { header, doc, keys, preset };
    let tcp = format!("[transport] kind = {}", one_of(Control::NAMES.iter().copied()));
    let windows = Control::ALL.iter().map(|kind| {
        let header = format!("[transport] kind = \"{}\"", kind.name());
        table(header, "Additional keys of this congestion control.", kind.keys(), of_tcp as Says)
    });
    let rates = rate::Kind::ALL.iter().map(|kind| {
        let header = format!("[transport] congestion_control = \"{}\"", kind.name());
        table(header, "Additional keys of this congestion control of queue pairs.", kind.keys(), of_rdma as Says)
    });
    let about = "TCP: of all flows, except those of traffic entries with a transport of their own.";
    let mut tables = vec![table(tcp, about, TcpConfig::KEYS, of_tcp)];
    tables.extend(windows.filter(|table| !table.keys.is_empty()));
    let about = "Queue pairs of RNICs, one per flow unless queue_pairs says otherwise.";
    tables.push(table("[transport] kind = \"rdma\"".into(), about, RdmaConfig::KEYS, of_rdma));
    tables.extend(rates);
    let deliveries = delivery::Kind::ALL.iter().map(|kind| {
        let header = format!("[transport] congestion_control = \"{}\"", kind.name());
        table(header, "Additional keys of this congestion control of Ultra Ethernet.", kind.keys(), of_uet as Says)
    });
    let about = "Ultra Ethernet connections, one per flow.";
    tables.push(table("[transport] kind = \"uet\"".into(), about, UetConfig::KEYS, of_uet));
    tables.extend(deliveries.filter(|table| !table.keys.is_empty()));
    tables
}

/// The header of entries that are in no table.
const TOP: &str = "top level";

/// The tables that have a key of this name, by their headers.
pub(super) fn tables_with(name: &str) -> Vec<String> {
    let has = |table: &Table| table.keys.iter().any(|key| key.name == name);
    let said = |table: Table| if table.header == TOP { "the whole spec".to_owned() } else { table.header };
    tables().into_iter().filter(has).map(said).collect()
}

/// Everything a spec can say, for the command line and the reference.
///
/// `schemes`, `topologies`, `workloads`, `transports` and `presets` are lists of things with `name`, `about`, `source`
/// and further facts; `spec` is the list of tables. What takes keys has them under `params`, each with `name`, `type`,
/// `unit`, `default`, `allowed`, `doc` and `schema` (JSON Schema); a default in parentheses says what holds where there is no fixed value.
pub fn describe() -> Value {
    let tables = tables();
    let spec = tables
        .iter()
        .map(|table| json!({"name": table.header, "about": table.doc, "params": params(table.keys, table.preset)}));
    json!({
        "schemes": REGISTRY.iter().map(describe_scheme).collect::<Vec<_>>(),
        "topologies": topology::ENTRIES.iter().map(describe_topology).collect::<Vec<_>>(),
        "workloads": workloads(),
        "transports": transports(),
        "presets": presets(),
        "spec": spec.collect::<Vec<_>>(),
    })
}

fn params(keys: &[Key], says: Says) -> Vec<Value> {
    let param = |key: &Key| {
        json!({
            "name": key.name,
            "type": key.kind.type_name(),
            "unit": key.unit(),
            "default": default(key, says),
            "allowed": key.kind.allowed(),
            "doc": key.doc.trim(),
            "schema": key.kind.schema(),
        })
    };
    keys.iter().map(param).collect()
}

/// One value if the presets agree, else that of each.
fn default(key: &Key, says: Says) -> Value {
    let (own, meaning) = match key.default {
        Default::Required => return "(required)".into(),
        Default::Nothing(meaning) => (None, Some(meaning)),
        Default::Preset => (None, None),
        _ => (Some(key.default.json(&key.kind).unwrap_or_default()), None),
    };
    let value = |preset| says(preset).remove(key.name).or_else(|| own.clone());
    let values: Vec<Option<Value>> = PRESETS.iter().map(value).collect();
    let told = PRESETS.iter().zip(&values).filter_map(|(preset, value)| Some((preset.name, value.as_ref()?)));
    let told: Vec<String> = told.map(|(preset, value)| format!("{preset}: {value}")).collect();
    match (meaning, values.iter().flatten().next()) {
        (None, None) => "(not set)".into(),
        (None, Some(first)) if values.iter().flatten().all(|value| value == first) => first.clone(),
        (None, Some(_)) => format!("({})", told.join(", ")).into(),
        (Some(meaning), None) => format!("({meaning})").into(),
        (Some(meaning), Some(_)) => format!("({meaning}; {})", told.join(", ")).into(),
    }
}

fn describe_topology(entry: &topology::Entry) -> Value {
    json!({"name": entry.kind, "about": entry.doc, "source": entry.source, "params": params(entry.keys, |preset| (preset.topology)())})
}

fn describe_scheme(entry: &Entry) -> Value {
    let sheet = entry.sheet;
    let params = entry.params.iter().map(|param| {
        let kind = match param.allowed {
            Allowed::Number { .. } => "number",
            Allowed::Integer { .. } | Allowed::PowerOfTwo { .. } => "integer",
            Allowed::Bool => "boolean",
            Allowed::Words(_) => "string",
        };
        json!({
            "name": param.name,
            "type": kind,
            "unit": unit_of(param.name),
            "default": scheme::json(param.default),
            "allowed": match param.auto {
                Some(auto) => format!("{}, or \"{AUTO}\": {}", scheme::allowed(param.allowed), auto.how),
                None => scheme::allowed(param.allowed),
            },
            "doc": param.doc.trim(),
            "schema": schema::of_param(param.allowed, param.auto.is_some()),
        })
    });
    json!({
        "name": sheet.name,
        "about": sheet.summary,
        "source": sheet.source,
        "site": entry.site,
        "fabrics": scheme::fabrics(entry),
        "tiers": sheet.tiers,
        "three_tiers": sheet.three_tiers,
        "unit": sheet.unit,
        "told": sheet.told,
        "series": sheet.series.iter().map(|series| format!("{}: {}", series.name, series.meaning)).collect::<Vec<_>>(),
        "sees": describe_sees(&sheet.sees),
        "rules": sheet.sees.rules.iter().map(|rule| rule.says()).collect::<Vec<_>>(),
        "compared": sheet.compared.map(describe_compared),
        "params": params.collect::<Vec<_>>(),
    })
}

/// Describes the quantities that a scheme looks at, for people.
fn describe_sees(sees: &Sees) -> Vec<String> {
    let unit = |q: &Quantity| if q.unit.is_empty() { String::new() } else { format!(" ({})", q.unit) };
    sees.flow.iter().chain(sees.way).map(|q| format!("{}: {}{}", q.name, q.meaning, unit(q))).collect()
}

fn describe_compared(compared: Compared) -> Value {
    json!({
        "aware": compared.aware.name(),
        "senses": compared.senses,
        "state": compared.state,
        "needs": compared.needs.name(),
        "order": compared.order,
        "pick": compared.pick,
        "update": compared.update,
    })
}

/// Kinds of traffic, then distributions of flow sizes.
fn workloads() -> Vec<Value> {
    let kinds = traffic::ENTRIES.iter().map(|entry| {
        json!({
            "name": entry.kind,
            "about": entry.doc,
            "source": entry.source,
            "use": format!("[[traffic]] kind = \"{}\"", entry.kind),
            "params": params(&entry.further_keys(), says_nothing),
        })
    });
    let cdfs = builtins().iter().map(|known| {
        json!({
            "name": known.name,
            "about": format!("flow sizes: {}", known.remark),
            "source": known.source,
            "use": format!("[[traffic]] kind = \"poisson\", cdf = \"{}\"", known.name),
            "aliases": known.aliases,
            "mean_bytes": known.mean_bytes,
            "deviation_bytes": known.cdf().deviation().round(),
            "points": known.cdf().points().len(),
            "params": [],
        })
    });
    kinds.chain(cdfs).collect()
}

/// MPTCP beside schemes.
const MPTCP: Compared = Compared {
    aware: Aware::Paths,
    senses: &["losses and round-trip times of subflows"],
    state: "per subflow, at the host",
    needs: Needs::Hosts,
    order: "a subflow stays on its path, and the receiver restores the order of the data",
    pick: "O(n)",
    update: "O(n) per ACK",
};

fn transports() -> Vec<Value> {
    let tcp = Control::ALL.iter().map(|control| {
        let keys: Vec<Key> = TcpConfig::KEYS.iter().chain(control.keys()).copied().collect();
        let mut entry = json!({
            "name": control.name(),
            "about": control.about().about,
            "source": control.about().source,
            "use": format!("[transport] kind = \"{}\"", control.name()),
            "family": "tcp",
            "params": params(&keys, of_tcp),
        });
        if *control == Control::Mptcp {
            // It balances load by itself, so papers compare it with schemes.
            entry["unit"] = json!("subflow");
            entry["tiers"] = json!(["host"]);
            entry["told"] = json!([]);
            entry["compared"] = describe_compared(MPTCP);
        }
        entry
    });
    let rates = rate::Kind::ALL.iter().map(|control| {
        json!({
            "name": control.name(),
            "about": control.about().about,
            "source": control.about().source,
            "use": format!("[transport] kind = \"rdma\", congestion_control = \"{}\"", control.name()),
            "controls": "rdma",
            "params": params(control.keys(), of_rdma),
        })
    });
    let udp = traffic::ENTRIES.iter().find(|entry| entry.kind == "udp");
    let udp_keys = udp.map(traffic::Entry::further_keys).unwrap_or_default();
    let udp = json!({
        "name": "udp",
        "about": "constant bit rate on a schedule, paced exactly",
        "source": "RFC 768",
        "use": "[[traffic]] kind = \"udp\"",
        "params": params(&udp_keys, says_nothing),
    });
    let rdma = json!({
        "name": "rdma",
        "about": "queue pairs of RNICs, with go-back-N or IRN",
        "source": "IRN (SIGCOMM 2018), the public ns-3 code of ConWeave (SIGCOMM 2023)",
        "use": "[transport] kind = \"rdma\"",
        "family": "rdma",
        "params": params(RdmaConfig::KEYS, of_rdma),
    });
    let uet = json!({
        "name": "uet",
        "about": "Ultra Ethernet connections, whose packets may arrive in any order",
        "source": "uet-htsim (uec.cpp), second-hand for the specification",
        "use": "[transport] kind = \"uet\"",
        "family": "uet",
        "params": params(UetConfig::KEYS, of_uet),
    });
    let deliveries = delivery::Kind::ALL.iter().map(|control| {
        json!({
            "name": control.name(),
            "about": control.about().about,
            "source": control.about().source,
            "use": format!("[transport] kind = \"uet\", congestion_control = \"{}\"", control.name()),
            "controls": "uet",
            "params": params(control.keys(), of_uet),
        })
    });
    tcp.chain([rdma]).chain(rates).chain([uet]).chain(deliveries).chain([udp]).collect()
}

fn presets() -> Vec<Value> {
    PRESETS
        .iter()
        .map(|preset| {
            json!({
                "name": preset.name,
                "about": preset.doc,
                "source": preset.source,
                "is_default": preset.name == DEFAULT,
                "topology": (preset.topology)(),
                "switch": preset.switch(),
                "transport": preset.transport.values(),
                "scheme": (preset.scheme)(),
            })
        })
        .collect()
}
