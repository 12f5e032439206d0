//! `[[traffic]]`: the list of traffic sources. Each entry has the keys of all (`common.rs`), and those of its kind.

mod common;
mod dag;
mod given;
mod groups;
mod random;
mod steps;

use common::Common;
use dag::DagKeys;
use serde_json::{Map, Value};
use spinewise_policy::hash;
use std::fs::File;
use std::io::Read as _;

use super::carrier::Carriers;
use super::metrics::SizeClass;
use crate::keys::{Key, Kind, Reader, SpecError, one_of};
use crate::topology::TopologySpec;
use crate::transport::UdpConfig;
use crate::workload::{Workload, WorkloadError};

pub(crate) use common::{CarriedKeys, EntryKeys};
pub(crate) use given::{FlowKeys, IncastKeys, ListKeys, PermutationKeys, StepKeys, UdpKeys};
pub(crate) use random::{OnOffKeys, PoissonKeys};
pub(crate) use steps::{AllReduceKeys, AllToAllKeys, RpcKeys};

/// Entries are numbered in 8 bits.
const MOST_ENTRIES: usize = 256;

/// One entry of the traffic.
#[derive(Clone, Debug, PartialEq)]
pub struct TrafficEntry {
    /// Its name.
    pub name: String,
    /// The word of its kind.
    pub kind: &'static str,
    /// The source of its traffic.
    pub source: Traffic,
    /// Priority of its data packets in switches with several data queues, 0 to 6.
    pub priority: u8,
    /// Subflows of each connection, if not `transport.subflows`.
    pub subflows: Option<u8>,
    /// Classes that summaries of it are made for, if not those of all.
    pub size_classes: Option<Vec<SizeClass>>,
    /// The place of its transport among those of the run: 0 is `[transport]`.
    pub carrier: u8,
}

impl TrafficEntry {
    /// Whether it is a UDP source.
    pub fn is_udp(&self) -> bool {
        matches!(self.source, Traffic::Udp(_))
    }
}

/// The source of traffic of an entry.
#[derive(Clone, Debug, PartialEq)]
pub enum Traffic {
    /// Flows of the run's transport.
    Transported(Workload),
    /// A constant-rate UDP source.
    Udp(UdpFlow),
}

/// A UDP source and its receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct UdpFlow {
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// Rates and packets.
    pub config: UdpConfig,
}

/// Reads an entry of its kind.
type Read = fn(&mut Reader<'_>, &TopologySpec) -> Result<Traffic, SpecError>;

/// A kind of traffic.
pub(crate) struct Entry {
    /// The word of a spec.
    pub kind: &'static str,
    /// The traffic it makes, in one line.
    pub doc: &'static str,
    /// The traffic it makes, at length.
    pub about: &'static str,
    /// Its source.
    pub source: &'static str,
    /// Its own keys.
    pub keys: &'static [Key],
    /// The carrier of its flows.
    carrier: Carrier,
    read: Read,
}

/// The carrier of the flows of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Carrier {
    /// The transport of the run.
    Transport,
    /// UDP.
    Udp,
}

impl Entry {
    /// The keys it shares with all kinds that are carried alike.
    pub(super) fn carried(&self) -> &'static [Key] {
        match self.carrier {
            Carrier::Transport => CarriedKeys::KEYS,
            Carrier::Udp => &[],
        }
    }

    /// All keys of such a table but its kind.
    pub(super) fn further_keys(&self) -> Vec<Key> {
        let of_all = EntryKeys::KEYS.iter().filter(|key| key.name != "kind");
        self.keys.iter().chain(of_all).chain(self.carried()).copied().collect()
    }
}

/// All kinds.
pub(crate) const ENTRIES: &[Entry] = &[
    Entry {
        kind: "poisson",
        doc: "Poisson arrivals at a target load, sizes from a distribution",
        about: "Poisson arrivals at every sending host, at a target load, with sizes from a distribution.",
        source: "load as in the public ns-3 codes: ns3-load-balance (leaf_uplinks), conweave-ns3 (host_links)",
        keys: PoissonKeys::KEYS,
        carrier: Carrier::Transport,
        read: random::read_poisson,
    },
    Entry {
        kind: "on_off",
        doc: "a number of flows in bursts, sizes heavy-tailed (PDLB, \"Basic performance\")",
        about: "Flows in bursts: Poisson arrivals while a sender is ON, separated by normally distributed OFF periods, \
                with sizes from a bounded Pareto distribution (PDLB, \"Basic performance\"; what the paper leaves open \
                is assumed here).",
        source: "PDLB, \"Basic performance\"; rates, periods and tail index are assumptions",
        keys: OnOffKeys::KEYS,
        carrier: Carrier::Transport,
        read: random::read_on_off,
    },
    Entry {
        kind: "flows",
        doc: "flows given one by one, in a CSV file or here",
        about: "Flows given one by one.",
        source: "given",
        keys: ListKeys::KEYS,
        carrier: Carrier::Transport,
        read: given::read_list,
    },
    Entry {
        kind: "permutation",
        doc: "every host sends one flow and receives one, at once",
        about: "Every host sends one flow and receives one, all at once; a new permutation each round.",
        source: "the worst case of one flow per host, as in htsim",
        keys: PermutationKeys::KEYS,
        carrier: Carrier::Transport,
        read: given::read_permutation,
    },
    Entry {
        kind: "incast",
        doc: "many hosts send to one at once",
        about: "Many hosts send to one at once.",
        source: "DCTCP (SIGCOMM 2010), section 2.3",
        keys: IncastKeys::KEYS,
        carrier: Carrier::Transport,
        read: given::read_incast,
    },
    Entry {
        kind: "rpc",
        doc: "one host queries several, repeatedly: their answers converge on its link",
        about: "One host queries several, drawn at random for each request, and their answers converge on its link.",
        source: "partition/aggregate, DCTCP (SIGCOMM 2010), section 2.1",
        keys: RpcKeys::KEYS,
        carrier: Carrier::Transport,
        read: steps::read_rpc,
    },
    Entry {
        kind: "all_reduce",
        doc: "ring all-reduce: each step starts when the previous one has arrived",
        about: "Ring all-reduce: 2(n - 1) steps, in each of which every host sends one n-th of its data to the next \
                host, as soon as it has received the previous step's data from the host before it.",
        source: "Patarasuk and Yuan, J. Parallel Distrib. Comput. 69(2), 2009",
        keys: AllReduceKeys::KEYS,
        carrier: Carrier::Transport,
        read: steps::read_all_reduce,
    },
    Entry {
        kind: "all_to_all",
        doc: "every host sends to every other, step by step or all at once",
        about: "All-to-all: in step s of n - 1, host i sends to host i + s; its next step starts when that is \
                acknowledged and what it receives in this step has arrived.",
        source: "the linear shift of MPI libraries: Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005",
        keys: AllToAllKeys::KEYS,
        carrier: Carrier::Transport,
        read: steps::read_all_to_all,
    },
    Entry {
        kind: "dag",
        doc: "dependent operations from a table: sends, receives and computations of ranks",
        about: "Dependent operations of ranks, as in traces of programs: sends, receives and computations, one per \
                line of a CSV file. See docs/interop.md for its columns and for importers of GOAL, Chakra, SimAI and \
                htsim files.",
        source: "the operations of GOAL: Hoefler, Siebert and Lumsdaine, ICPP 2009",
        keys: DagKeys::KEYS,
        carrier: Carrier::Transport,
        read: dag::read_dag,
    },
    Entry {
        kind: "udp",
        doc: "one constant-rate UDP source with a schedule of rates",
        about: "One UDP source whose constant rate follows a schedule.",
        source: "PDLB, \"Adaptive Granularity\", and exactness tests",
        keys: UdpKeys::KEYS,
        carrier: Carrier::Udp,
        read: given::read_udp,
    },
];

/// Their words.
pub(crate) const KINDS: [&str; ENTRIES.len()] = {
    let mut kinds = [""; ENTRIES.len()];
    let mut at = 0;
    while at < kinds.len() {
        kinds[at] = ENTRIES[at].kind;
        at += 1;
    }
    kinds
};

/// Reads the list of entries.
pub(crate) fn read(
    list: &[Value],
    fabric: &TopologySpec,
    carriers: &mut Carriers<'_>,
) -> Result<(Vec<TrafficEntry>, Value), SpecError> {
    if list.is_empty() || list.len() > MOST_ENTRIES {
        let value = if list.is_empty() { Value::Array(Vec::new()) } else { list.len().into() };
        return Err(SpecError::new("traffic", &value, format!("from 1 to {MOST_ENTRIES} [[traffic]] tables")));
    }
    let names = common::names(list);
    let mut traffic = Vec::with_capacity(list.len());
    let mut resolved = Vec::with_capacity(list.len());
    for (number, value) in list.iter().enumerate() {
        let path = format!("traffic[{number}]");
        let table = value.as_object().ok_or_else(|| SpecError::new(&path, value, "a table with a kind"))?;
        let entry = find(&path, table)?;
        let read = read_entry(entry, table, number, &names, (fabric, carriers));
        let (entry, told) = read.map_err(|error| error.of_entry(number, &names[number].name, list.len()))?;
        traffic.push(entry);
        resolved.push(told);
    }
    Ok((traffic, Value::Array(resolved)))
}

/// Reads one entry, whose kind is `entry`.
fn read_entry(
    entry: &'static Entry,
    table: &Map<String, Value>,
    number: usize,
    names: &[common::Named],
    (fabric, carriers): (&TopologySpec, &mut Carriers<'_>),
) -> Result<(TrafficEntry, Value), SpecError> {
    let lists = [EntryKeys::KEYS, entry.keys, entry.carried()];
    let [mut of_all, mut own, mut of_carried] = Reader::split(&format!("traffic[{number}]"), lists, table)?;
    let mut common = common::read(&mut of_all, names, number)?;
    let source = (entry.read)(&mut own, fabric)?;
    if entry.carrier == Carrier::Transport {
        common::read_carried(&mut of_carried, carriers, &mut common)?;
    }
    let Common { priority, subflows, size_classes, carrier } = common;
    let name = names[number].name.clone();
    let told = [of_all, own, of_carried].into_iter().flat_map(Reader::told).collect();
    let kind = entry.kind;
    Ok((TrafficEntry { name, kind, source, priority, subflows, size_classes, carrier }, Value::Object(told)))
}

/// The error of a workload that does not fit this topology, as an error about the spec.
pub fn workload_error(traffic: &[TrafficEntry], number: usize, error: WorkloadError) -> SpecError {
    let key = format!("traffic[{number}].{}", error.key);
    let error = SpecError::said(key, error.value, error.allowed);
    error.of_entry(number, &traffic[number].name, traffic.len())
}

fn find(path: &str, table: &Map<String, Value>) -> Result<&'static Entry, SpecError> {
    let kinds = || one_of(KINDS.iter().copied());
    let Some(given) = table.get("kind") else {
        return Err(SpecError::missing(format!("{path}.kind"), kinds()));
    };
    let word = given.as_str().unwrap_or_default();
    ENTRIES
        .iter()
        .find(|entry| entry.kind == word)
        .ok_or_else(|| SpecError::new(format!("{path}.kind"), given, kinds()).did_you_mean(word, KINDS.iter().copied()))
}

/// The kind of a host key.
const HOST: Kind = Kind::Integer { min: 0, max: (1 << 20) - 1 };

/// Refuses a host that is not there.
fn check_host(reader: &Reader<'_>, name: &str, host: u32, fabric: &TopologySpec) -> Result<(), SpecError> {
    match host < fabric.hosts() {
        true => Ok(()),
        false => Err(reader.refuse(name, format!("a host from 0 to {}", fabric.hosts() - 1))),
    }
}

/// Reads the file at `path`, given under `key`. Its digest goes under `digest_key` into the resolved spec; one given
/// there must be the same, since a spec and its seed determine the traffic.
fn read_file(reader: &mut Reader<'_>, key: &str, path: &str, digest_key: &str) -> Result<String, SpecError> {
    let text = read_ordinary(path).map_err(|why| reader.refuse(key, "a text file that can be read").hint(why))?;
    let digest = format!("{:016x}", digest(text.as_bytes()));
    if reader.given(digest_key).is_some_and(|given| given.as_str() != Some(&digest)) {
        return Err(reader
            .refuse(digest_key, format!("{digest}, the digest of {path}"))
            .hint(format!("the file has changed; leave out {digest_key} to read it as it is now")));
    }
    reader.set_resolved(digest_key, digest.into());
    // Editors of some systems put a byte order mark before UTF-8.
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// The longest file that is read, bytes.
const LONGEST_FILE: u64 = 1_000_000_000;

/// Returns the text of an ordinary file, or why there is none: devices have no end, and a pipe may never have one.
fn read_ordinary(path: &str) -> Result<String, String> {
    let about = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if about.is_dir() {
        return Err("it is a folder".into());
    }
    if !about.is_file() {
        return Err("it is a device or a pipe, not an ordinary file".into());
    }
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(LONGEST_FILE + 1).read_to_string(&mut text));
    match read {
        Ok(length) if length as u64 <= LONGEST_FILE => Ok(text),
        Ok(_) => Err(format!("it is longer than {LONGEST_FILE} bytes")),
        Err(error) => Err(error.to_string()),
    }
}

fn digest(bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(hash::mix(bytes.len() as u64), |seen, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash::mix2(seen, u64::from_le_bytes(word))
    })
}
