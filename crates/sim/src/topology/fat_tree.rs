//! A fat-tree: pods of leaves and aggregation switches under cores.

use super::spec::{FatTree, FatTreeOverride};
use super::wiring::{Cable, Plan, apply};
use super::{Naming, Reach, Topology};
use crate::ids::NodeId;
use crate::keys::SpecError;
use crate::warden::GoOn;
use serde_json::Value;
use std::collections::BTreeSet;

/// A cable, for overrides.
#[derive(Clone, Copy)]
enum Place {
    Host(u32),
    /// Leaf, aggregation switch.
    Pod(u32, u32),
    /// Aggregation switch, core.
    Core(u32, u32),
}

impl Place {
    fn matches(self, change: &FatTreeOverride) -> bool {
        let is = |given: Option<u32>, number: u32| given.is_none_or(|given| given == number);
        match self {
            Place::Host(host) => change.host == Some(host),
            _ if change.host.is_some() => false,
            Place::Pod(leaf, aggregation) => {
                is(change.leaf, leaf) && is(change.aggregation, aggregation) && change.core.is_none()
            }
            Place::Core(aggregation, core) => {
                is(change.core, core) && is(change.aggregation, aggregation) && change.leaf.is_none()
            }
        }
    }
}

/// The cables, with the ends of each; the lower end first.
fn plan(spec: &FatTree) -> (Plan, Vec<Place>) {
    let hosts = spec.hosts();
    let (leaf_node, aggregation_node) = (hosts, hosts + spec.leaves());
    let core_node = aggregation_node + spec.aggregations();
    let (mut cables, mut places) = (Vec::new(), Vec::new());
    let mut lay = |tier: usize, ends: (u32, u32), place: Place| {
        let ends = (NodeId::new(ends.0), NodeId::new(ends.1));
        cables.push(Cable { ends, rate: spec.rates[tier], delay: spec.delays[tier] });
        places.push(place);
    };
    for host in 0..hosts {
        lay(0, (host, leaf_node + host / spec.hosts_per_leaf), Place::Host(host));
    }
    for pod in 0..spec.pods {
        for column in 0..spec.aggregations_per_pod {
            let aggregation = pod * spec.aggregations_per_pod + column;
            for leaf in pod * spec.leaves_per_pod..(pod + 1) * spec.leaves_per_pod {
                lay(1, (leaf_node + leaf, aggregation_node + aggregation), Place::Pod(leaf, aggregation));
            }
            for core in column * spec.cores_per_aggregation..(column + 1) * spec.cores_per_aggregation {
                lay(2, (aggregation_node + aggregation, core_node + core), Place::Core(aggregation, core));
            }
        }
    }
    let switches = spec.leaves() + spec.aggregations() + spec.cores();
    let plan = Plan {
        hosts,
        leaves: spec.leaves(),
        labels: (hosts..hosts + switches).collect(),
        cables,
        latency: spec.switch_latency,
        naming: Naming::FatTree { aggregations: spec.aggregations() },
    };
    (plan, places)
}

impl Topology {
    /// Builds a fat-tree. Ports, and so equal-cost choices, are in the order of [`FatTree`]'s numbering.
    ///
    /// # Errors
    /// When an override selects nothing, or overrides leave a host or a pair of leaves without a path.
    pub fn fat_tree(spec: &FatTree, go_on: GoOn<'_>) -> Result<Topology, SpecError> {
        let (plan, places) = plan(spec);
        let mut laid = plan.lay();
        for change in &spec.overrides {
            let mut hit = false;
            for (_, &links) in places.iter().zip(&laid.links_of).filter(|(place, _)| place.matches(change)) {
                hit = true;
                apply(&change.change, links, &mut laid.topology.links);
            }
            if !hit {
                return Err(selects_nothing(change));
            }
        }
        laid.add_latency();
        let mut topology = laid.topology;
        topology.tree = Some(spec.numbering());
        topology.fill_routes(u32::MAX, go_on);
        topology.refuse_cuts(spec, go_on)?;
        // A packet goes up by one of the leaf's ports and one of the aggregation switch's; there is no choice on the
        // way down.
        topology.fill_ways(true, go_on)?;
        topology.nominal_path = spec.nominal_path();
        Ok(topology)
    }

    /// Refuses overrides that cut off hosts or leaves.
    fn refuse_cuts(&self, spec: &FatTree, go_on: GoOn<'_>) -> Result<(), SpecError> {
        let cuts = |change: &FatTreeOverride| change.change.up == Some(false);
        let Some(last) = spec.overrides.iter().rfind(|change| cuts(change)) else { return Ok(()) };
        let cut = |what: String| {
            let key = format!("topology.override[{}].up", last.change.entry);
            Err(SpecError::new(key, &Value::Bool(false), format!("every host and leaf to remain reachable; {what}")))
        };
        if let Some(host) =
            self.host_ids().find(|&host| !self.links[self.host_link(host)].up || !self.last_link(host).up)
        {
            return cut(format!("the overrides cut off host {}", host.number()));
        }
        // A way that goes down and up again, by another leaf, is not a path of a fat-tree.
        let reach = Reach::over(self, &BTreeSet::new(), go_on);
        if !go_on() {
            return Ok(());
        }
        for (from, to) in self.leaf_ids().flat_map(|from| self.leaf_ids().map(move |to| (from, to))) {
            if !reach.reaches(from, to) {
                return cut(format!(
                    "the overrides leave no up-then-down path from leaf {} to leaf {}",
                    from.number(),
                    to.number()
                ));
            }
        }
        Ok(())
    }
}

fn selects_nothing(change: &FatTreeOverride) -> SpecError {
    let linked = "switches that are linked, each of a list with each of the other";
    let allowed = match (change.leaf, change.aggregation, change.core) {
        (Some(_), _, Some(_)) => "leaf or core, not both: no link leads from a leaf to a core".into(),
        (Some(leaf), Some(switch), None) => format!("{linked}: leaf {leaf} and aggregation switch {switch} are not"),
        (None, Some(switch), Some(core)) => format!("{linked}: aggregation switch {switch} and core {core} are not"),
        _ => "a leaf, aggregation switch, core or host of this fabric".into(),
    };
    SpecError::said(format!("topology.override[{}]", change.change.entry), "selects no link", allowed)
}
