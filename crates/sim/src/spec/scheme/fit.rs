//! Checks that a scheme fits the fabric, the transport and the switches. If not, the spec is refused, with the reason.

use serde_json::{Map, Value as Json};
use spinewise_policy::config::Allowed;
use spinewise_policy::{Hashes, Peers, Shape, Tier, Uneven};

use super::{PathTag, SchemeSpec, allowed, json, param_refused, rows, value_of};
use crate::bank::{Chosen, Entry, REGISTRY};
use crate::keys::{Reader, SpecError, one_of};
use crate::spec::switch::SwitchSpec;
use crate::topology::{TopologySpec, Wiring};
use crate::transport::TransportSpec;

/// The parameter by which schemes with probes give their size.
const PROBE_BYTES: &str = "probe_bytes";
/// Bytes of the least frame of Ethernet.
const LEAST_FRAME_BYTES: u32 = 64;

/// A place of this fabric, as far as a spec knows it.
pub(in crate::spec) fn shape(tier: Tier, fabric: &TopologySpec) -> Shape {
    Shape { tier, hosts: fabric.hosts(), leaves: fabric.leaves(), ports: 1, ways: fabric.most_ways() }
}

/// A parameter must not ask for more paths than there are, unless it has its default, which is then cut; nor for what
/// another parameter of the scheme rules out.
pub(super) fn check_fit(
    reader: &Reader<'_>,
    chosen: &Chosen,
    set: &Map<String, Json>,
    fabric: &TopologySpec,
) -> Result<(), SpecError> {
    let entry = chosen.entry();
    let tier = if entry.site == "host" { Tier::Host } else { Tier::Leaf };
    let shape = shape(tier, fabric);
    let default = |name: &str| entry.params.iter().find(|param| param.name == name).map(|param| json(param.default));
    let wanted = |name: &str| set.get(name).filter(|&value| default(name).as_ref() != Some(value));
    let misfit = chosen.misfit(&shape).and_then(|(name, range)| Some((name, range, wanted(name)?)));
    match misfit {
        Some((name, range, value)) => {
            let hint = match range {
                Allowed::Words(_) => String::from("the scheme's other parameters leave no other choice"),
                _ => format!("the fabric has {} leaves, and {} paths between two of them", shape.leaves, shape.ways),
            };
            Err(param_refused(&format!("{}.{name}", reader.path_of("params")), value, range).hint(hint))
        }
        None => Ok(()),
    }
}

/// A scheme that works by the numbering of a fat-tree needs one, and links up that make groups of one size; by default
/// it does not serve others, but parameters that were `set` are a mistake.
pub(super) fn check_tree(
    reader: &Reader<'_>,
    chosen: &Chosen,
    set: &Map<String, Json>,
    fabric: &TopologySpec,
) -> Result<(), SpecError> {
    let (name, entry) = (chosen.name(), chosen.entry());
    let tree = match &fabric.wiring {
        _ if !entry.in_trees => return Ok(()),
        Wiring::FatTree(tree) => tree.numbering(),
        Wiring::LeafSpine(_) | Wiring::Links(_) => {
            let hint = format!("{name} relies on the numbering of a fat-tree: topology.kind = \"fat_tree\"");
            let trees = REGISTRY.iter().filter(|entry| entry.in_trees).map(Entry::name).collect::<Vec<_>>();
            let allowed = format!("any scheme that `spinewise schemes` lists except {}", trees.join(", "));
            return Err(reader.refuse("name", allowed).hint(hint).unserved_if(true));
        }
    };
    let Some(Uneven { param, groups, uplinks, tier }) = chosen.uneven(&tree) else { return Ok(()) };
    let switch = if tier == Tier::Leaf { "leaf" } else { "aggregation switch" };
    let bits = (1..=uplinks.trailing_zeros()).map(|bits| bits.to_string());
    let allowed = match uplinks {
        0..=64 if uplinks.is_multiple_of(2) => one_of(bits.collect::<Vec<_>>().iter().map(String::as_str)),
        0..=64 => format!("a fat-tree whose {switch} has an even number of uplinks (k a multiple of 4)"),
        _ => format!("a fat-tree whose {switch} has at most 64 uplinks"),
    };
    let value = value_of(chosen, param);
    let hint = format!("{groups} equal link groups would have to share the {uplinks} uplinks of each {switch}");
    let error = SpecError::new(format!("{}.{param}", reader.path_of("params")), &value, allowed).hint(hint);
    Err(error.unserved_if(set.get(param).is_none_or(Json::is_null)))
}

/// The hashed tags that fit a scheme with rows per path for these peers: an inner tag is another path for each flow.
fn hashed_tags(rows: &Peers) -> &'static str {
    if matches!(rows, Peers::Hosts) { "\"outer\"" } else { "\"outer\" or \"inner\"" }
}

/// A path tag must mean the same path to everything that shares a row (per peer and path) of the scheme.
pub(super) fn check_tag(
    reader: &Reader<'_>,
    chosen: &Chosen,
    tag: PathTag,
    fabric: &TopologySpec,
) -> Result<(), SpecError> {
    let shape = shape(Tier::Host, fabric);
    let (name, layout) = (chosen.name(), chosen.layout(&shape));
    let rows = rows(chosen, &shape);
    // Answers to probes are recorded per host, and must be of the path of data.
    let probes = layout.draws_tags && layout.peers != Peers::None;
    if tag == PathTag::Explicit && layout.draws_tags {
        let hint =
            format!("tags of {name} are flow labels or source ports, which switches hash; they do not number paths");
        let hashed = if probes { "\"outer\"" } else { hashed_tags(&rows) };
        return Err(reader.refuse("path_tag", hashed).hint(hint));
    }
    if !fabric.tags_name_paths() {
        let hint = format!(
            "{name} tags packets at the hosts, and tags name whole paths only where a packet has at most two choices: \
             at its leaf, and at a switch without hosts beyond it"
        );
        match (&rows, tag) {
            (Peers::Leaves, _) => {
                let error = reader.refuse("name", "a scheme at the switches for this graph");
                return Err(error.hint(hint).unserved_if(true));
            }
            (_, PathTag::Explicit) => {
                let error = reader.refuse("path_tag", format!("{} in this graph", hashed_tags(&rows)));
                return Err(error.hint(hint).unserved_if(reader.given("path_tag").is_none()));
            }
            _ => {}
        }
    }
    if tag != PathTag::Explicit && layout.path_rates {
        let hint =
            format!("with these parameters {name} is given the rates of paths, and a hashed tag does not name a path");
        return Err(reader.refuse("path_tag", "\"explicit\"").hint(hint));
    }
    match (rows, tag) {
        (Peers::Leaves, PathTag::Outer | PathTag::Inner) => {
            Err(reader.refuse("path_tag", "\"explicit\"").hint(format!(
                "{name} keeps state per rack and path, and a hashed tag is a different path for each pair of hosts"
            )))
        }
        (Peers::Hosts, PathTag::Inner) => Err(reader
            .refuse("path_tag", "\"explicit\" or \"outer\"")
            .hint(format!("{name} keeps state per host and path, and an inner tag is a different path for each flow"))),
        (Peers::None, PathTag::Inner) if probes => Err(reader.refuse("path_tag", "\"outer\"").hint(format!(
            "{name} probes what it draws, and an inner tag selects a different path for a probe than for a flow's data"
        ))),
        _ => Ok(()),
    }
}

/// Values that a host draws choose paths under switches that hash them, and do nothing under others.
pub(super) fn check_hashed(
    reader: &Reader<'_>,
    chosen: &Chosen,
    under: &Entry,
    fabric: &TopologySpec,
) -> Result<(), SpecError> {
    if under.hashes != Hashes::Nothing || !chosen.layout(&shape(Tier::Host, fabric)).draws_tags {
        return Ok(());
    }
    let hashing = REGISTRY.iter().filter(|entry| entry.hashes != Hashes::Nothing).map(Entry::name);
    let hint = format!(
        "{} does not hash the header of data packets: what {} writes there would choose no path",
        under.name(),
        chosen.name()
    );
    Err(reader.refuse("fabric", one_of(hashing)).hint(hint))
}

/// One scheme writes the in-band header of a packet.
pub(super) fn check_headers(reader: &Reader<'_>, edge: &Entry, under: &Entry) -> Result<(), SpecError> {
    if edge.header && under.header {
        let allowed = format!(
            "a switch scheme without an in-band header: a packet has room for one, and {} writes it",
            edge.name()
        );
        return Err(reader.refuse("fabric", allowed));
    }
    Ok(())
}

/// Refuses keys of host schemes with a switch scheme.
pub(super) fn check_at_switches(reader: &Reader<'_>, scheme: &str) -> Result<(), SpecError> {
    for name in ["path_tag", "fabric", "fabric_params"] {
        if reader.given(name).is_some() {
            let allowed = format!("no {name}: {scheme} sits at the switches, and {name} is for host schemes");
            return Err(reader.refuse(name, allowed));
        }
    }
    Ok(())
}

/// A probe is a packet, and no link takes one that is larger than a full packet: headroom is for such packets.
pub(in crate::spec) fn check_probes(scheme: &SchemeSpec, transport: &TransportSpec) -> Result<(), SpecError> {
    let most = transport.frame().mtu().max(LEAST_FRAME_BYTES);
    let under = scheme.edge.is_some().then_some(("fabric_params", &scheme.fabric));
    for (table, chosen) in [("params", scheme.chosen())].into_iter().chain(under) {
        let bytes = value_of(chosen, PROBE_BYTES);
        if bytes.as_u64().is_some_and(|bytes| bytes > most.into()) {
            let allowed = format!("at most {most}, the bytes of a full packet of the transport");
            return Err(SpecError::new(format!("scheme.{table}.{PROBE_BYTES}"), &bytes, allowed));
        }
    }
    Ok(())
}

/// A scheme that acts on ECN echoes needs a transport that has them.
pub(in crate::spec) fn check_ecn(scheme: &SchemeSpec, transport: &TransportSpec) -> Result<(), SpecError> {
    let (chosen, sheet) = (scheme.chosen(), transport.sheet());
    match chosen.wants_ecn() {
        Some((name, range)) if !sheet.hears_marks => {
            let kind = Json::from(sheet.kind);
            let path = format!("scheme.params.{name}");
            let allowed = format!("{} with transport.kind = {kind}", allowed(range));
            let hint = format!("{} would wait for ECN echoes that never arrive", chosen.name());
            Err(SpecError::new(path, &value_of(chosen, name), allowed).hint(hint))
        }
        _ => Ok(()),
    }
}

/// A scheme that takes a timeout for a failure needs switches that trim: elsewhere a timeout may also mean congestion.
pub(in crate::spec) fn check_trimming(
    scheme: &SchemeSpec,
    (switch, transport): (&SwitchSpec, &TransportSpec),
    given: &Map<String, Json>,
) -> Result<(), SpecError> {
    let chosen = scheme.chosen();
    let Some((name, range)) = chosen.wants_trimming().filter(|_| !switch.trims()) else { return Ok(()) };
    let path = format!("scheme.params.{name}");
    let allowed = format!("{} where switches do not trim", allowed(range));
    let how = if transport.sheet().knows_trims {
        "switch.model = \"trimming\" and switch.trim = true"
    } else {
        "transport.kind = \"uet\", the only transport that supports it, and leave switch.model = \"trimming\", its default"
    };
    let hint = format!(
        "{} takes a timeout for a failed path, and here it may be congestion; to trim, set {how}",
        chosen.name()
    );
    let asked = given.get("params").and_then(|params| params.get(name)).is_some_and(|value| !value.is_null());
    Err(SpecError::new(path, &value_of(chosen, name), allowed).hint(hint).unserved_if(!asked))
}
