//! A fabric for people: its nodes, links and faults as data, to be drawn and to be named.

use crate::faults;
use crate::ids::{LinkId, NodeId, SwitchId};
use crate::keys::SpecError;
use crate::spec::Spec;
use crate::topology::Topology;
use serde_json::{Value, json};
use spinewise_policy::Tier;
use std::collections::BTreeMap;

/// The fabric of a spec as JSON, as it is built: `kind`, `nodes`, `links` (one a direction) and `faults`.
///
/// # Errors
/// When the fabric cannot be built, or a fault names something that does not exist.
pub fn drawing(spec: &Spec) -> Result<Value, SpecError> {
    let topology = Topology::new(&spec.topology)?;
    Ok(json!({
        "kind": spec.topology.wiring.kind(),
        "nodes": nodes(&topology),
        "links": topology.links.ids().map(|number| link(&topology, number)).collect::<Vec<_>>(),
        "faults": faults::listing(spec, &topology)?,
    }))
}

/// Nodes in the order of their numbers: name, tier, position among those of the tier, and of a host its leaf.
fn nodes(topology: &Topology) -> Vec<Value> {
    let mut so_far: BTreeMap<&str, u32> = BTreeMap::new();
    let one = |node: NodeId| {
        let switch = topology.as_switch(node);
        let tier = switch.map_or("host", |switch| tier(topology, switch));
        let count = so_far.entry(tier).or_default();
        let position = *count;
        *count += 1;
        let leaf = topology.as_host(node).map(|host| topology.node_name(topology.leaf_node(topology.leaf(host))));
        json!({"name": topology.node_name(node), "tier": tier, "position": position, "leaf": leaf})
    };
    topology.node_ids().map(one).collect()
}

/// The word for a tier, as in the names of nodes.
fn tier(topology: &Topology, switch: SwitchId) -> &'static str {
    match topology.tier(switch) {
        Tier::Host => "host",
        Tier::Leaf => "leaf",
        Tier::Aggregation => "aggregation",
        Tier::Spine if topology.tree.is_some() => "core",
        Tier::Spine => "spine",
    }
}

fn link(topology: &Topology, number: LinkId) -> Value {
    let link = &topology.links[number];
    json!({
        "name": topology.link_name(number),
        "from": topology.node_name(link.from.0),
        "to": topology.node_name(link.to.0),
        "rate_bps": link.rate,
        "nominal_rate_bps": link.nominal_rate,
        "delay_ps": link.delay.0,
        "up": link.up,
        "slow": link.rate < link.nominal_rate,
    })
}
