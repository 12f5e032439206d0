//! `[topology]`: the fabric. Its `kind` says which keys there are.

mod fat_tree;
mod leaf_spine;
mod links;
mod node_names;
mod overrides;
mod transit;

use serde_json::{Map, Value};
use spinewise_policy::Span;

use crate::keys::{Default, Key, SpecError, one_of, words};
use crate::packet::Clock;

pub use fat_tree::{FatTree, FatTreeOverride};
pub(crate) use fat_tree::{FatTreeKeys, FatTreeOverrideKeys};
pub use leaf_spine::{LeafSpine, LinkOverride};
pub(crate) use leaf_spine::{LeafSpineKeys, OverrideKeys};
pub use links::{Cable, Graph, StaticRoute};
pub(crate) use links::{GraphKeys, LinkKeys, RouteKeys};
pub(super) use node_names::some_of;
pub use overrides::{Change, Direction};

/// A million hosts.
const MOST_HOSTS: u64 = 1 << 20;
/// Ways between leaves are numbered in 16 bits; the last number says "no way".
pub(super) const MOST_WAYS: u64 = 65_534;
/// The default unless a preset says otherwise.
const DEFAULT_ROUNDING: Default = Default::Word(TxTimeRounding::Exact.word());

words! {
    /// Rounding of transmission times.
    TxTimeRounding {
        /// A packet ends at the floor of the exact instant in picoseconds; remainders are carried.
        Exact = "exact",
        /// Each transmission time is floored to a whole nanosecond.
        Floor1ns = "floor_1ns",
    }
}

/// A kind of topology.
pub(crate) struct Entry {
    /// The word of a spec.
    pub kind: &'static str,
    /// Its description.
    pub doc: &'static str,
    /// Its source.
    pub source: &'static str,
    /// Its keys, `kind` first.
    pub keys: &'static [Key],
    /// Reads them.
    read: Read,
}

/// Reads the keys of a kind, given those of the spec and the defaults of the preset; also returns what they were resolved to.
type Read = fn(&Map<String, Value>, Map<String, Value>) -> Result<(Wiring, TxTimeRounding, Value), SpecError>;

/// The words for [`ENTRIES`], whose keys refer to them, the default first.
const KINDS: &[&str] = &["leaf_spine", "fat_tree", "links"];

/// All kinds.
pub(crate) const ENTRIES: &[Entry] = &[
    Entry {
        kind: KINDS[0],
        doc: "two tiers, every leaf linked to every spine; any counts, rates, delays, parallel links, overrides",
        source: "the two-tier Clos fabric of most load-balancing papers",
        keys: LeafSpineKeys::KEYS,
        read: |given, defaults| {
            leaf_spine::read(given, defaults)
                .map(|(fabric, rounding, told)| (Wiring::LeafSpine(fabric), rounding, told))
        },
    },
    Entry {
        kind: KINDS[1],
        doc: "three tiers: k pods of leaves and aggregation switches under cores; any counts, rates, delays, overrides",
        source: "Al-Fares et al., SIGCOMM 2008",
        keys: FatTreeKeys::KEYS,
        read: |given, defaults| {
            fat_tree::read(given, defaults).map(|(fabric, rounding, told)| (Wiring::FatTree(fabric), rounding, told))
        },
    },
    Entry {
        kind: KINDS[2],
        doc: "any graph of hosts and switches, link by link; shortest paths, or static routes",
        source: "the node and link lists of the public ns-3 codes of HPCC and ConWeave",
        keys: GraphKeys::KEYS,
        read: |given, defaults| {
            links::read(given, defaults).map(|(graph, rounding, told)| (Wiring::Links(graph), rounding, told))
        },
    },
];

/// The wiring of nodes.
#[derive(Clone, Debug, PartialEq)]
pub enum Wiring {
    /// Every leaf to every spine.
    LeafSpine(LeafSpine),
    /// Pods under cores.
    FatTree(FatTree),
    /// Any graph.
    Links(Graph),
}

/// The fabric, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct TopologySpec {
    /// The wiring of nodes.
    pub wiring: Wiring,
    /// The rounding of transmission times.
    pub tx_time_rounding: TxTimeRounding,
}

impl Wiring {
    /// The word of a spec for it.
    pub fn kind(&self) -> &'static str {
        match self {
            Wiring::LeafSpine(_) => KINDS[0],
            Wiring::FatTree(_) => KINDS[1],
            Wiring::Links(_) => KINDS[2],
        }
    }
}

impl TopologySpec {
    /// Number of hosts.
    pub fn hosts(&self) -> u32 {
        match &self.wiring {
            Wiring::LeafSpine(fabric) => fabric.hosts(),
            Wiring::FatTree(fabric) => fabric.hosts(),
            Wiring::Links(graph) => graph.hosts,
        }
    }

    /// Number of leaves: switches that have hosts.
    pub fn leaves(&self) -> u32 {
        match &self.wiring {
            Wiring::LeafSpine(fabric) => fabric.leaves,
            Wiring::FatTree(fabric) => fabric.leaves(),
            Wiring::Links(graph) => graph.leaves,
        }
    }

    /// Number of switches.
    pub fn switches(&self) -> u32 {
        match &self.wiring {
            Wiring::LeafSpine(fabric) => fabric.leaves + fabric.spines,
            Wiring::FatTree(fabric) => fabric.leaves() + fabric.aggregations() + fabric.cores(),
            Wiring::Links(graph) => graph.switches,
        }
    }

    /// Number of cables.
    pub fn cables(&self) -> u64 {
        match &self.wiring {
            Wiring::LeafSpine(fabric) => {
                let [leaves, spines, parallel] = [fabric.leaves, fabric.spines, fabric.parallel_links].map(u64::from);
                u64::from(fabric.hosts()) + leaves * spines * parallel
            }
            Wiring::FatTree(fabric) => {
                let uplinks = u64::from(fabric.leaves_per_pod) + u64::from(fabric.cores_per_aggregation);
                u64::from(fabric.hosts()) + u64::from(fabric.aggregations()) * uplinks
            }
            Wiring::Links(graph) => graph.links.len() as u64,
        }
    }

    /// At least the number of ways between any two leaves.
    pub fn most_ways(&self) -> u16 {
        match &self.wiring {
            Wiring::LeafSpine(fabric) => fabric.most_ways(),
            Wiring::FatTree(fabric) => fabric.most_ways(),
            Wiring::Links(graph) => graph.most_ways,
        }
    }

    /// Whether an explicit path tag can name a whole path: only where a packet has at most two choices on its way.
    pub fn tags_name_paths(&self) -> bool {
        match &self.wiring {
            Wiring::LeafSpine(_) | Wiring::FatTree(_) => true,
            Wiring::Links(graph) => graph.tags_name_paths,
        }
    }

    /// The shortest delay that any link can have.
    pub fn shortest_delay(&self) -> Span {
        match &self.wiring {
            Wiring::LeafSpine(fabric) => fabric.shortest_delay(),
            Wiring::FatTree(fabric) => fabric.shortest_delay(),
            Wiring::Links(graph) => graph.links.iter().map(|link| link.delay).min().unwrap_or(Span::ZERO),
        }
    }

    /// The fastest rate of any link before overrides, bits per second.
    pub fn fastest_rate(&self) -> u64 {
        match &self.wiring {
            Wiring::LeafSpine(fabric) => fabric.host_rate.max(fabric.fabric_rate),
            Wiring::FatTree(fabric) => fabric.rates.into_iter().max().unwrap_or(1),
            Wiring::Links(graph) => graph.links.iter().map(|link| link.rate).max().unwrap_or(1),
        }
    }

    /// Maximum addition of an override to the round trip over its links, compared with the nominal `path`.
    pub(crate) fn detour(&self, path: &[(u64, Span)]) -> Span {
        let nominal = |n: usize| path.get(n).map_or(Span::ZERO, |link| link.1);
        // A packet crosses a single link once; a switch's, by one link and another.
        let longer = |nominal: Span, change: &Change, is_one: bool| {
            let links = if is_one { 1 } else { 2 };
            let ways = if change.direction == Direction::Both { 2 } else { 1 };
            let works = change.up != Some(false);
            let more = change.delay.filter(|_| works).map_or(0, |delay| delay.0.saturating_sub(nominal.0));
            Span(more.saturating_mul(links * ways))
        };
        let most = match &self.wiring {
            Wiring::LeafSpine(fabric) => {
                let of = |one: &LinkOverride| match one.host {
                    Some(_) => longer(nominal(0), &one.change, true),
                    None => longer(nominal(1), &one.change, one.leaf.is_some()),
                };
                fabric.overrides.iter().map(of).max()
            }
            Wiring::FatTree(fabric) => {
                let of = |one: &FatTreeOverride| match (one.host, one.core) {
                    (Some(_), _) => longer(nominal(0), &one.change, true),
                    (None, Some(_)) => longer(nominal(2), &one.change, one.aggregation.is_some()),
                    (None, None) => longer(nominal(1), &one.change, one.leaf.is_some()),
                };
                fabric.overrides.iter().map(of).max()
            }
            Wiring::Links(_) => None,
        };
        most.unwrap_or_default()
    }

    /// The clock of transmissions.
    pub fn clock(&self) -> Clock {
        match self.tx_time_rounding {
            TxTimeRounding::Exact => Clock::Exact,
            TxTimeRounding::Floor1ns => Clock::Floor1Ns,
        }
    }
}

/// Reads `[topology]`; `defaults` are those of the preset, by key.
pub(crate) fn read(
    given: &Map<String, Value>,
    defaults: Map<String, Value>,
) -> Result<(TopologySpec, Value), SpecError> {
    let kind = given.get("kind").filter(|kind| !kind.is_null());
    let word = kind.map_or(Some(KINDS[0]), Value::as_str).unwrap_or_default();
    let Some(entry) = ENTRIES.iter().find(|entry| entry.kind == word) else {
        let (value, kinds) = (kind.unwrap_or(&Value::Null), || KINDS.iter().copied());
        return Err(SpecError::new("topology.kind", value, one_of(kinds())).did_you_mean(word, kinds()));
    };
    let (wiring, tx_time_rounding, told) = (entry.read)(given, defaults)?;
    Ok((TopologySpec { wiring, tx_time_rounding }, told))
}
