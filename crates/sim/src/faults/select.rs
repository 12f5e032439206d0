//! The links that a fault affects, by the names in the spec.

use crate::ids::{LinkId, SwitchId};
use crate::spec::{Broken, Effect, Fault, FaultWay, Pairs, SpecError};
use crate::topology::{Names, Topology};
use serde_json::json;

/// A fabric and the names of its nodes.
pub(super) struct Map<'a> {
    topology: &'a Topology,
    names: Names<'a>,
}

impl Map<'_> {
    /// Creates the map of this fabric.
    pub(super) fn new(topology: &Topology) -> Map<'_> {
        Map { topology, names: Names::of(topology) }
    }

    /// The switch that is broken, if a switch is.
    pub(super) fn switch(&self, broken: &Broken) -> Option<SwitchId> {
        let Broken::Switch(name) = broken else { return None };
        self.topology.as_switch(self.names.get(name)?)
    }

    /// The links that fault number `n` affects.
    ///
    /// # Errors
    /// It names something that does not exist, a link that is already down, or a rate that is no lower.
    pub(super) fn links(&self, n: usize, fault: &Fault) -> Result<Vec<LinkId>, SpecError> {
        let topology = self.topology;
        let takes_down = fault.effect.takes_down();
        let works = |&forth: &LinkId| topology.links[forth].up && topology.links[topology.back(forth)].up;
        let cables: Vec<LinkId> = match &fault.broken {
            Broken::Link(ends, which) => {
                let cables = self.cables_between(n, ends, *which)?;
                if takes_down && !cables.iter().all(works) {
                    let allowed = "a working link: topology.override has taken this one down";
                    return Err(SpecError::new(format!("fault[{n}].ends"), &json!(ends), allowed));
                }
                cables
            }
            Broken::Switch(name) => {
                let key = || format!("fault[{n}].switch");
                let node = self.names.find(key, name)?;
                if topology.is_host(node) {
                    return Err(SpecError::new(key(), &json!(name), "a switch; for a host, name its link with ends"));
                }
                let cables = (0..topology.ports(node)).map(|port| topology.out_number(node, port));
                cables.filter(|link| !takes_down || works(link)).collect()
            }
        };
        let there = cables.iter().copied().filter(|_| fault.way != FaultWay::Backward);
        let back = cables.iter().filter(|_| fault.way != FaultWay::Forward).map(|&link| topology.back(link));
        let hit: Vec<LinkId> = there.chain(back).collect();
        self.check(n, fault, &hit)?;
        Ok(hit)
    }

    fn check(&self, n: usize, fault: &Fault, hit: &[LinkId]) -> Result<(), SpecError> {
        match &fault.effect {
            Effect::Rate(rate) => {
                let as_slow = |&&link: &&LinkId| self.topology.links[link].rate <= *rate;
                let Some(&link) = hit.iter().find(as_slow) else { return Ok(()) };
                let (name, gbps) = (self.topology.link_name(link), self.topology.links[link].rate as f64 / 1e9);
                let allowed = format!("less than the {gbps} Gbps of {name}");
                Err(SpecError::new(format!("fault[{n}].rate_gbps"), &json!(*rate as f64 / 1e9), allowed))
            }
            Effect::BlackHole(Pairs::Listed(pairs)) => {
                let hosts = self.topology.hosts;
                let Some(pair) = pairs.iter().find(|pair| pair.0.max(pair.1) >= hosts) else { return Ok(()) };
                let allowed = format!("numbers of hosts, from 0 to {}", hosts - 1);
                Err(SpecError::new(format!("fault[{n}].pairs"), &json!([pair.0, pair.1]), allowed))
            }
            _ => Ok(()),
        }
    }

    /// The links from the first end to the second, or only the one with the given number.
    fn cables_between(&self, n: usize, ends: &[String; 2], which: Option<u32>) -> Result<Vec<LinkId>, SpecError> {
        let topology = self.topology;
        let key = || format!("fault[{n}].ends");
        let [a, b] = [self.names.find(key, &ends[0])?, self.names.find(key, &ends[1])?];
        let all: Vec<LinkId> = (0..topology.ports(a))
            .map(|port| topology.out_number(a, port))
            .filter(|&link| topology.links[link].to.0 == b)
            .collect();
        if all.is_empty() {
            let mut near: Vec<String> =
                (0..topology.ports(a)).map(|port| topology.node_name(topology.out(a, port).to.0)).collect();
            near.dedup();
            let list = if near.len() > 6 {
                format!("{}, … {}", near[..5].join(", "), near[near.len() - 1])
            } else {
                near.join(", ")
            };
            let allowed = format!("two nodes that are linked; {} is linked to {list}", ends[0]);
            return Err(SpecError::new(key(), &json!(ends), allowed));
        }
        match which {
            None => Ok(all),
            Some(which) => match all.get(which as usize) {
                Some(&link) => Ok(vec![link]),
                None => {
                    let allowed = format!("a link from 0 to {}", all.len() - 1);
                    Err(SpecError::new(format!("fault[{n}].link"), &json!(which), allowed))
                }
            },
        }
    }
}
