//! Traffic drawn at random: Poisson arrivals, bursts.

use serde_json::Value;
use spinewise_policy::{Span, Time};

use super::groups::{at_fault, read_group};
use super::{Traffic, read_file};
use crate::keys::{Default, Kind, LARGEST_EXACT, Reader, SpecError, Unit, Zero, keys, one_of, words};
use crate::topology::TopologySpec;
use crate::workload::collective::check_group;
use crate::workload::{Cdf, LoadOf, MOST_FLOWS, OnOff, Pairs, Poisson, Workload, builtin, builtins};

const START: Kind = Kind::Time(Unit::Microseconds, Zero::Allowed);
const LEAF: Kind = Kind::Integer { min: 0, max: 4095 };
const NO_LEAF: Default = Default::Nothing("0, for leaf_pair and one_to_one");

keys! {
    /// `[[traffic]]` of kind `poisson`.
    PoissonKeys {
        /// The distribution of flow sizes: a built-in one (see the list of workloads).
        cdf: Option<String>, Kind::Text("the name of a built-in distribution"), Default::Nothing("cdf_file is used");
        /// A file with the distribution of flow sizes, one "size probability" or "size percent" per line.
        cdf_file: Option<String>, Kind::Text("the path of a file"), Default::Nothing("cdf is used");
        /// Digest of the file: written to the resolved spec, and checked if given.
        cdf_file_digest: Option<String>, Kind::Text("16 hexadecimal digits"), Default::Nothing("not checked");
        /// Offered payload over capacity; above 1 is overload.
        load: f64, Kind::Positive { max: 2.0 }, Default::Required;
        /// The capacity that a load of 1 fills: the nominal uplinks of the sender's leaf, or the sender's own link.
        load_of: LoadWord, Kind::Words(LoadWord::WORDS), Default::Word("leaf_uplinks");
        /// Who sends to whom: every host to hosts of other racks, every host to any other, all hosts of from_leaf to
        /// those of to_leaf, or each host of from_leaf to its counterpart.
        pairs: PairsWord, Kind::Words(PairsWord::WORDS), Default::Word("inter_rack");
        /// The hosts that send and receive, such as those of one plane or one job. Each sends at the rate that it has if
        /// all take part.
        hosts: Option<Vec<Value>>, Kind::List("a list of hosts"), Default::Nothing("all hosts");
        /// Leaf of the senders, for leaf_pair and one_to_one.
        from_leaf: Option<u32>, LEAF, NO_LEAF;
        /// Leaf of the receivers, for leaf_pair and one_to_one.
        to_leaf: Option<u32>, LEAF, Default::Nothing("1, for leaf_pair and one_to_one");
        /// When the arrivals begin.
        start_us: Span, START, Default::Number(0.0);
        /// How long the arrivals last.
        duration_us: Option<Span>, Kind::Time(Unit::Microseconds, Zero::Refused), Default::Nothing("until max_flows");
        /// At most this many flows: the first to start, over all hosts together; 0 = no limit.
        max_flows: u64, Kind::Integer { min: 0, max: MOST_FLOWS }, Default::Number(0.0);
    }
}

keys! {
    /// `[[traffic]]` of kind `on_off`.
    OnOffKeys {
        /// Total number of flows.
        flows: u64, Kind::Integer { min: 1, max: MOST_FLOWS }, Default::Number(200.0);
        /// Smallest flow.
        min_bytes: u64, Kind::Integer { min: 1, max: LARGEST_EXACT }, Default::Number(50_000.0);
        /// Largest flow.
        max_bytes: u64, Kind::Integer { min: 1, max: LARGEST_EXACT }, Default::Number(200_000.0);
        /// Tail index of the sizes; smaller is heavier.
        tail_index: f64, Kind::Positive { max: 100.0 }, Default::Number(1.2);
        /// Flows per second from all senders together while all are ON.
        arrivals_per_second: f64, Kind::Positive { max: 1e12 }, Default::Number(100_000.0);
        /// Length of an ON period.
        on_us: Span, Kind::Time(Unit::Microseconds, Zero::Refused), Default::Number(500.0);
        /// Mean of the OFF periods.
        off_mean_us: Span, START, Default::Number(500.0);
        /// Standard deviation of the OFF periods; draws below zero count as zero.
        off_sd_us: Span, START, Default::Number(150.0);
        /// Who sends to whom, as for kind poisson.
        pairs: PairsWord, Kind::Words(PairsWord::WORDS), Default::Word("one_to_one");
        /// Leaf of the senders, for leaf_pair and one_to_one.
        from_leaf: Option<u32>, LEAF, NO_LEAF;
        /// Leaf of the receivers, for leaf_pair and one_to_one.
        to_leaf: Option<u32>, LEAF, Default::Nothing("1, for leaf_pair and one_to_one");
        /// When the senders begin.
        start_us: Span, START, Default::Number(0.0);
    }
}

words! {
    /// The capacity that a load of 1 fills.
    LoadWord {
        /// The uplinks of the sender's leaf.
        LeafUplinks = "leaf_uplinks",
        /// The sender's own link.
        HostLinks = "host_links",
    }
}

words! {
    /// The pairs of sender and receiver.
    PairsWord {
        /// Hosts of different racks.
        InterRack = "inter_rack",
        /// Any two hosts.
        Any = "any",
        /// A host of one leaf, and a host of another.
        LeafPair = "leaf_pair",
        /// Each host of a leaf, and its counterpart.
        OneToOne = "one_to_one",
    }
}

pub(super) fn read_poisson(reader: &mut Reader<'_>, fabric: &TopologySpec) -> Result<Traffic, SpecError> {
    let keys = PoissonKeys::read(reader)?;
    let cdf = read_cdf(reader, &keys)?;
    let pairs = read_pairs(reader, keys.pairs, keys.from_leaf, keys.to_leaf, fabric)?;
    let hosts = keys.hosts.as_deref().map(|list| read_hosts(reader, list, fabric)).transpose()?;
    if keys.duration_us.is_none() && keys.max_flows == 0 {
        let allowed = "a number of microseconds above 0, unless max_flows limits the flows";
        return Err(reader.refuse("duration_us", allowed));
    }
    Ok(Traffic::Transported(Workload::Poisson(Poisson {
        cdf,
        load: keys.load,
        load_of: match keys.load_of {
            LoadWord::LeafUplinks => LoadOf::LeafUplinks,
            LoadWord::HostLinks => LoadOf::HostLinks,
        },
        pairs,
        hosts,
        start: Time(keys.start_us.0),
        duration: keys.duration_us.unwrap_or(Span::FOREVER),
        max_flows: keys.max_flows,
    })))
}

/// Some of the hosts, in order of their numbers.
fn read_hosts(reader: &Reader<'_>, list: &[Value], fabric: &TopologySpec) -> Result<Vec<u32>, SpecError> {
    let mut hosts = read_group(list, &reader.path_of("hosts"))?;
    check_group(&hosts, fabric.hosts()).map_err(|error| at_fault(reader, error))?;
    hosts.sort_unstable();
    Ok(hosts)
}

fn read_cdf(reader: &mut Reader<'_>, keys: &PoissonKeys) -> Result<Cdf, SpecError> {
    if keys.cdf_file.is_none() && keys.cdf_file_digest.is_some() {
        return Err(reader.refuse("cdf_file_digest", "no digest without cdf_file"));
    }
    match (&keys.cdf, &keys.cdf_file) {
        (Some(name), None) => {
            let Some(known) = builtin::find(name) else {
                let error = reader.refuse("cdf", one_of(builtins().iter().map(|known| known.name)));
                return Err(match builtin::nearest(name) {
                    Some(near) => error.hint(format!("did you mean \"{near}\"?")),
                    None => error,
                });
            };
            reader.set_resolved("cdf", known.name.into());
            Ok(known.cdf())
        }
        (None, Some(path)) => {
            let text = read_file(reader, "cdf_file", path, "cdf_file_digest")?;
            Cdf::parse(&text).map_err(|error| {
                reader.refuse("cdf_file", "a distribution, one \"size probability\" per line").hint(error.to_string())
            })
        }
        (Some(_), Some(_)) => Err(reader.refuse("cdf_file", "either cdf or cdf_file, not both")),
        (None, None) => Err(reader.refuse("cdf", "the name of a built-in distribution, or cdf_file")),
    }
}

pub(super) fn read_on_off(reader: &mut Reader<'_>, fabric: &TopologySpec) -> Result<Traffic, SpecError> {
    let keys = OnOffKeys::read(reader)?;
    if keys.max_bytes < keys.min_bytes {
        return Err(reader.refuse("max_bytes", format!("min_bytes, {}, or more", keys.min_bytes)));
    }
    let pairs = read_pairs(reader, keys.pairs, keys.from_leaf, keys.to_leaf, fabric)?;
    Ok(Traffic::Transported(Workload::OnOff(OnOff {
        flows: keys.flows,
        min_bytes: keys.min_bytes,
        max_bytes: keys.max_bytes,
        tail_index: keys.tail_index,
        arrivals_per_second: keys.arrivals_per_second,
        on: keys.on_us,
        off_mean: keys.off_mean_us,
        off_sd: keys.off_sd_us,
        pairs,
        start: Time(keys.start_us.0),
    })))
}

fn read_pairs(
    reader: &mut Reader<'_>,
    pairs: PairsWord,
    from: Option<u32>,
    to: Option<u32>,
    fabric: &TopologySpec,
) -> Result<Pairs, SpecError> {
    let between_leaves = matches!(pairs, PairsWord::LeafPair | PairsWord::OneToOne);
    for (name, leaf) in [("from_leaf", from), ("to_leaf", to)] {
        if leaf.is_some() && !between_leaves {
            return Err(reader.refuse(name, format!("no {name} unless pairs is \"leaf_pair\" or \"one_to_one\"")));
        }
    }
    let (from, to) = (from.unwrap_or(0), to.unwrap_or(1));
    if between_leaves {
        check_leaves(reader, from, to, fabric)?;
    }
    match pairs {
        PairsWord::InterRack if fabric.leaves() < 2 => {
            Err(reader.refuse("pairs", "\"any\", since there is only one leaf"))
        }
        PairsWord::Any if fabric.hosts() < 2 => Err(reader.refuse("pairs", "a topology with at least two hosts")),
        PairsWord::InterRack => Ok(Pairs::InterRack),
        PairsWord::Any => Ok(Pairs::Any),
        PairsWord::LeafPair => Ok(Pairs::LeafPair { from, to }),
        PairsWord::OneToOne => Ok(Pairs::OneToOne { from, to }),
    }
}

fn check_leaves(reader: &mut Reader<'_>, from: u32, to: u32, fabric: &TopologySpec) -> Result<(), SpecError> {
    for (name, leaf) in [("from_leaf", from), ("to_leaf", to)] {
        reader.set_resolved(name, leaf.into());
        if leaf >= fabric.leaves() {
            return Err(reader.refuse(name, format!("a leaf from 0 to {}", fabric.leaves() - 1)));
        }
    }
    if from == to {
        return Err(reader.refuse("to_leaf", format!("a leaf other than from_leaf, {from}")));
    }
    Ok(())
}
