//! The spec of a run: read strictly from a TOML file, with every default, unit, range and name in one place.
//!
//! | file | contents |
//! |---|---|
//! | `switch.rs`, `transport.rs`, `scheme.rs`, `traffic.rs`, `run.rs`, `metrics.rs` | one table each: its keys, its type, its checks |
//! | `fault.rs`, `detection.rs` | `[[fault]]` and `[detection]` |
//! | `follow.rs` | `[follow]`: the rules of a program that is followed event by event |
//! | `sizing.rs` | how a shared buffer is divided, and whether it suffices |
//! | `warning.rs` | what is allowed but may not be intended |
//! | `presets.rs`, `presets/` | named defaults |
//! | `describe.rs` | all of it as JSON, for the command line and the reference |
//! | `schema.rs` | the allowed values of a key, as JSON Schema |
//!
//! A key that is not declared is refused, never ignored. Null counts as not given.

mod capture;
mod carrier;
mod describe;
mod detection;
mod fault;
mod follow;
mod metrics;
mod presets;
mod run;
mod schema;
mod scheme;
pub mod sizing;
mod switch;
mod traffic;
mod transport;
mod warning;

#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

pub use crate::topology::{
    Cable, Change, Direction, FatTree, FatTreeOverride, Graph, LeafSpine, LinkOverride, StaticRoute, TopologySpec,
    TxTimeRounding, Wiring,
};
pub use capture::CaptureSpec;
pub use describe::describe;
pub use detection::{Detection, Mode as DetectionMode};
pub use fault::{Broken, Effect, Fault, FaultSpec, Pairs, Way as FaultWay};
pub use follow::{Habits, Rules};
pub use metrics::{Ideal, IdealFrame, MetricsSpec, SeriesLinks, SizeClass};
pub use run::{EngineKind, Follow, RunSpec, Stop};
pub use scheme::{AckPaths, HashKind, HeaderBytes, PathTag, SchemeSpec, comparable_schemes};
pub use switch::{
    EcnAt, EgressThreshold, HeadroomUse, Limit, Nics, OutputQueued, PauseRenewal, PortKind, QueueCounts,
    SharedBufferSpec, SwitchSpec, TrimmingSpec,
};
pub use traffic::{Traffic, TrafficEntry, UdpFlow, workload_error};
pub use warning::Warning;

use crate::bank::Entry;
pub use crate::keys::{Auto, SpecError};
use crate::keys::{Default, Kind, Reader, is_printable, keys};
use crate::transport::TransportSpec;
use crate::transport::rdma::Recovery;
use presets::{PRESETS, Preset};
use transport::TransportPreset;

/// Longest name of a run.
const LONGEST_NAME: usize = 100;
const NAME: &str = "a name of 1 to 100 printable characters other than / and \\, not starting with a dot or a blank";

keys! {
    /// The whole spec.
    RootKeys {
        /// Name of the run: the name of its folder and the title of its tables.
        name: String, Kind::Text(NAME), Default::Word("run");
        /// Seed of all random choices. The traffic is a function of the spec and the seed, never of the scheme.
        seed: u64, Kind::Integer { min: 0, max: u64::MAX }, Default::Number(1.0);
        /// Where the defaults of [topology], [switch], [transport] and [scheme] come from.
        preset: String, Kind::Words(presets::NAMES), Default::Word(presets::DEFAULT);
        /// The fabric.
        topology: Map<String, Value>, Kind::Table("a table [topology]"), Default::Empty;
        /// Buffers and queues of switches: their model and size, marking, flow control, trimming.
        switch: Map<String, Value>, Kind::Table("a table [switch]"), Default::Empty;
        /// The transport: TCP, RDMA or Ultra Ethernet. A traffic entry may have its own.
        transport: Map<String, Value>, Kind::Table("a table [transport]"), Default::Empty;
        /// The load-balancing scheme.
        scheme: Map<String, Value>, Kind::Table("a table [scheme]"), Default::Empty;
        /// What is sent: one or more entries.
        traffic: Vec<Value>, Kind::List("a list of [[traffic]] tables"), Default::Required;
        /// What breaks during the run.
        fault: Option<Vec<Value>>, Kind::List("a list of [[fault]] tables"), Default::Nothing("nothing breaks");
        /// How faults are found and repaired.
        detection: Option<Map<String, Value>>, Kind::Table("a table [detection]"),
            Default::Nothing("its defaults, with faults");
        /// When the run ends, and by which engine.
        run: Map<String, Value>, Kind::Table("a table [run]"), Default::Empty;
        /// The rules of the program that run.follow names: each is on unless it is turned off.
        follow: Option<Map<String, Value>>, Kind::Table("a table [follow]"),
            Default::Nothing("all rules, if run.follow names a program");
        /// What is kept.
        metrics: Map<String, Value>, Kind::Table("a table [metrics]"), Default::Empty;
    }
}

/// A run, checked: everything the engine needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Name of the run.
    pub name: String,
    /// Seed of all random choices.
    pub seed: u64,
    /// The preset that defaults came from.
    pub preset: String,
    /// The fabric.
    pub topology: TopologySpec,
    /// Buffers and queues of switches.
    pub switch: SwitchSpec,
    /// The transport of entries without one of their own.
    pub transport: TransportSpec,
    /// Other transports that traffic entries have.
    pub beside: Vec<TransportSpec>,
    /// The load-balancing scheme.
    pub scheme: SchemeSpec,
    /// The traffic.
    pub traffic: Vec<TrafficEntry>,
    /// The faults, if any, and how they are found.
    pub faults: Option<FaultSpec>,
    /// When the run ends.
    pub run: RunSpec,
    /// The rules of the followed program.
    pub rules: Rules,
    /// The records kept.
    pub metrics: MetricsSpec,
    /// The spec with every default written out; resolving it again gives the same.
    pub resolved: Value,
    /// Settings that are allowed but may not be intended.
    pub warnings: Vec<Warning>,
}

/// Reads a spec in the form of a TOML file.
///
/// # Errors
/// A key that is not declared, a value that is not allowed, or values that do not fit each other: the first found.
pub fn resolve(value: &Value) -> Result<Spec, SpecError> {
    resolve_with(value, &[])
}

/// Like [`resolve`], where `[scheme]` may also name one of these guests.
///
/// # Errors
/// Those of [`resolve`].
pub fn resolve_with(value: &Value, guests: &[Entry]) -> Result<Spec, SpecError> {
    read(value, guests).map(|(spec, _)| spec)
}

/// Returns the values derived from the fabric where a spec or its preset says "auto", and how they were derived.
///
/// # Errors
/// Those of [`resolve`].
pub fn worked_out(value: &Value, guests: &[Entry]) -> Result<Vec<Auto>, SpecError> {
    read(value, guests).map(|(_, autos)| autos)
}

fn read(value: &Value, guests: &[Entry]) -> Result<(Spec, Vec<Auto>), SpecError> {
    read_tables(value, guests).map_err(|error| error.with_tables(describe::tables_with))
}

fn read_tables(value: &Value, guests: &[Entry]) -> Result<(Spec, Vec<Auto>), SpecError> {
    let given = value.as_object().ok_or_else(|| SpecError::new("spec", value, "a table of settings"))?;
    let mut reader = Reader::new("", RootKeys::KEYS, given)?;
    let keys = RootKeys::read(&mut reader)?;
    check_name(&reader, &keys.name)?;
    let preset = PRESETS.iter().find(|preset| preset.name == keys.preset).unwrap_or(&PRESETS[0]);
    let (topology, told) = crate::topology::spec::read(&keys.topology, (preset.topology)())?;
    reader.set_resolved("topology", told);
    let mut autos = Vec::new();
    let (mut transport, told) = transport::read(&keys.transport, preset.transport, &topology, &mut autos)?;
    reader.set_resolved("transport", told);
    let place = switch::Place { topology: &topology, transport: &transport };
    let (mut switch, told) = switch::read(&keys.switch, preset, place, &mut autos)?;
    reader.set_resolved("switch", told);
    check_room(&switch, &transport)?;
    check_pfc(preset, &switch, &transport)?;
    let frame = transport.frame();
    let place = scheme::Place { fabric: &topology, frame, marked: switch.marked_from(&topology, frame)? };
    let (run, told) = run::read(&keys.run, topology.shortest_delay())?;
    reader.set_resolved("run", told);
    let named = keys.scheme.get("name").and_then(Value::as_str).unwrap_or_default();
    let (rules, told) = follow::read(keys.follow.as_ref(), &run, named)?;
    if let Some(told) = told {
        reader.set_resolved("follow", told);
    }
    let (scheme, told) = scheme::read(&keys.scheme, place, (preset, &rules, guests), &mut autos)?;
    reader.set_resolved("scheme", told);
    scheme::check_ecn(&scheme, &transport)?;
    scheme::check_trimming(&scheme, (&switch, &transport), &keys.scheme)?;
    scheme::check_probes(&scheme, &transport)?;
    let mut carriers = carrier::Carriers::new((&transport, preset.transport), &topology, run.follow);
    let (traffic, told) = traffic::read(&keys.traffic, &topology, &mut carriers)?;
    let (beside, more) = carriers.finish()?;
    autos.extend(more);
    for transport in &beside {
        check_room(&switch, transport)?;
        scheme::check_ecn(&scheme, transport)?;
    }
    reader.set_resolved("traffic", told);
    let faults = read_faults(&keys, &mut reader, &topology, &switch)?;
    if run.follow != Follow::Nothing {
        follow::check(&topology, (&switch, &transport), scheme.name(), faults.as_ref())?;
        rules.set(&mut transport, &mut switch);
    }
    run::check_engine(run.engine, (&switch, &transport), faults.as_ref())?;
    let (metrics, told) = metrics::read(&keys.metrics)?;
    reader.set_resolved("metrics", told);
    let resolved = reader.finish();
    let mut spec = Spec {
        name: keys.name,
        seed: keys.seed,
        preset: keys.preset,
        topology,
        switch,
        transport,
        beside,
        scheme,
        traffic,
        faults,
        run,
        rules,
        metrics,
        resolved,
        warnings: Vec::new(),
    };
    sizing::check(&spec)?;
    spec.warnings = warning::warnings(&spec);
    Ok((spec, autos))
}

impl Spec {
    /// The run's transport, and others that traffic entries have: [`TrafficEntry::carrier`] is a place among them.
    pub fn transports(&self) -> impl Iterator<Item = &TransportSpec> {
        [&self.transport].into_iter().chain(&self.beside)
    }

    /// The transport of an entry's flows.
    pub fn transport_of(&self, entry: &TrafficEntry) -> &TransportSpec {
        usize::from(entry.carrier).checked_sub(1).map_or(&self.transport, |place| &self.beside[place])
    }
}

/// Reads faults and how they are found; a spec without faults says nothing of that.
fn read_faults(
    keys: &RootKeys,
    reader: &mut Reader<'_>,
    topology: &TopologySpec,
    switch: &SwitchSpec,
) -> Result<Option<FaultSpec>, SpecError> {
    let (faults, told) = fault::read(keys.fault.as_deref().unwrap_or_default(), topology, switch)?;
    if keys.fault.is_some() {
        reader.set_resolved("fault", told);
    }
    if faults.is_empty() && keys.detection.is_none() {
        return Ok(None);
    }
    let (detection, told) = detection::read(&keys.detection.clone().unwrap_or_default())?;
    reader.set_resolved("detection", told);
    Ok((!faults.is_empty()).then_some(FaultSpec { faults, detection }))
}

/// A name becomes a folder.
fn check_name(reader: &Reader<'_>, name: &str) -> Result<(), SpecError> {
    let fine = |c: char| is_printable(c) && c != '/' && c != '\\';
    let begins_well = !name.starts_with('.') && !name.starts_with(char::is_whitespace);
    if name.chars().count() <= LONGEST_NAME && name.chars().all(fine) && begins_well {
        return Ok(());
    }
    Err(reader.refuse("name", NAME))
}

/// The presets of RDMA mean either a lossless fabric or IRN, never both or neither.
fn check_pfc(preset: &Preset, switch: &SwitchSpec, transport: &TransportSpec) -> Result<(), SpecError> {
    let (TransportPreset::Rdma(..), SwitchSpec::SharedBuffer(shared), TransportSpec::Rdma(rdma)) =
        (preset.transport, switch, transport)
    else {
        return Ok(());
    };
    if shared.pfc == (rdma.recovery == Recovery::GoBackN) {
        return Ok(());
    }
    let allowed = "true with transport.recovery = \"go_back_n\", or false with \"irn\"";
    let hint =
        format!("preset {} has either flow control or IRN; preset datacenter allows any combination", preset.name);
    Err(SpecError::new("switch.pfc", &shared.pfc.into(), allowed).hint(hint))
}

/// A queue without room for one full packet would drop all of them.
fn check_room(switch: &SwitchSpec, transport: &TransportSpec) -> Result<(), SpecError> {
    let packet = u64::from(transport.frame().mtu());
    let room = match switch {
        SwitchSpec::OutputQueued(queues) => match queues.buffer {
            Limit::Bytes(bytes) => bytes,
            Limit::Line { .. } | Limit::Packets(_) => packet,
        },
        SwitchSpec::SharedBuffer(shared) => shared.buffer,
        SwitchSpec::Trimming(trimming) => trimming.buffer,
    };
    if room >= packet {
        return Ok(());
    }
    Err(SpecError::new(
        "switch.buffer_bytes",
        &room.into(),
        format!("room for at least one packet, {packet} bytes (transport.mss_bytes + header_bytes)"),
    ))
}
