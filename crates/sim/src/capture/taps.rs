//! The selection of links to capture.

use super::{PACKET_BYTES, Tap};
use crate::ids::{HostId, LinkId};
use crate::keys::bytes_said;
use crate::spec::{CaptureSpec, SpecError};
use crate::topology::Topology;
use serde_json::json;
use spinewise_policy::Time;
use std::collections::{BTreeMap, BTreeSet};

/// A port at which packets are captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// The link it sends on.
    pub out: LinkId,
    /// The link back.
    pub back: LinkId,
}

/// The ends of a link that are captured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sides {
    /// Packets are captured as they leave.
    pub sent: bool,
    /// Packets are captured as they arrive.
    pub received: bool,
}

/// All ports at which packets are captured.
#[derive(Clone, Debug)]
pub struct Taps {
    /// Points in the order of their links.
    pub points: Vec<Point>,
    links: BTreeMap<LinkId, Sides>,
    span: (Time, Time),
    most: u64,
}

impl Default for Taps {
    /// None.
    fn default() -> Self {
        Taps { points: Vec::new(), links: BTreeMap::new(), span: (Time::ZERO, Time::NEVER), most: 0 }
    }
}

impl Taps {
    /// Creates the taps of the spec, on a machine with `room` bytes of memory.
    ///
    /// # Errors
    /// A name is not one of a node or a link, or there is no room for the packets that may be kept.
    pub fn new(spec: Option<&CaptureSpec>, topology: &Topology, room: u64) -> Result<Taps, SpecError> {
        let Some(spec) = spec else { return Ok(Taps::default()) };
        let mut found = BTreeSet::new();
        for (n, name) in spec.at.iter().enumerate() {
            found.extend(ports(n, name, topology)?);
        }
        let points: Vec<Point> = found.into_iter().map(|out| Point { out, back: topology.back(out) }).collect();
        refuse_too_many(spec.most, points.len() as u64, room)?;
        let mut links: BTreeMap<LinkId, Sides> = BTreeMap::new();
        for point in &points {
            links.entry(point.out).or_default().sent = true;
            links.entry(point.back).or_default().received = true;
        }
        Ok(Taps { points, links, span: (spec.from, spec.to), most: spec.most })
    }

    /// Creates the tap that keeps the packets of a link, if it is captured.
    pub fn tap(&self, link: LinkId) -> Option<Box<Tap>> {
        let sides = *self.links.get(&link)?;
        Some(Box::new(Tap::new(sides, self.span, self.most)))
    }

    /// The links that are captured.
    pub fn links(&self) -> impl Iterator<Item = LinkId> + '_ {
        self.links.keys().copied()
    }

    /// Maximum number of packets of a port.
    pub fn most(&self) -> u64 {
        self.most
    }
}

/// The links that the ports send on which `name` means.
fn ports(n: usize, name: &str, topology: &Topology) -> Result<Vec<LinkId>, SpecError> {
    if let Some(node) = topology.node_ids().find(|&node| topology.node_name(node) == name) {
        return Ok((0..topology.ports(node)).map(|port| topology.out_number(node, port)).collect());
    }
    let links = topology.links.ids();
    // A shell takes ">" for itself; a node's own name may have a "-" in it.
    let exact = links.clone().find(|&link| topology.link_name(link) == name);
    let dashed = |link: &LinkId| topology.link_name(*link).replacen("->", "-", 1) == name;
    if let Some(link) = exact.or_else(|| links.clone().find(dashed)) {
        return Ok(vec![link]);
    }
    let nodes = topology.node_ids().map(|node| topology.node_name(node));
    let known: Vec<String> = nodes.chain(links.map(|link| topology.link_name(link))).collect();
    let allowed = format!(
        "the name of a node or a link: {}, {}, …",
        topology.node_name(topology.host_node(HostId::new(0))),
        topology.link_name(topology.host_link(HostId::new(0)))
    );
    let error = SpecError::new(format!("metrics.capture.at[{n}]"), &json!(name), allowed);
    Err(error.did_you_mean(name, known.iter().map(String::as_str)))
}

/// Refuses what may not fit into memory.
fn refuse_too_many(most: u64, ports: u64, room: u64) -> Result<(), SpecError> {
    let takes = most.saturating_mul(ports).saturating_mul(PACKET_BYTES);
    if takes <= room {
        return Ok(());
    }
    let fits = room / PACKET_BYTES / ports.max(1);
    let allowed = format!(
        "{fits} at most, or fewer ports: packets of {ports} ports would need {}, and {} is available",
        bytes_said(takes),
        bytes_said(room)
    );
    Err(SpecError::new("metrics.capture.max_packets", &json!(most), allowed))
}
