//! Time series of links: each link's are written by the node that sends on it.

use crate::ids::LinkId;
use crate::keys::SpecError;
use crate::spec::SeriesLinks;
use crate::topology::Topology;
use serde_json::json;
use spinewise_policy::Span;
use std::collections::BTreeSet;

/// The links that series are kept of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Recorded {
    /// Links between switches: use and queue.
    #[default]
    Fabric,
    /// All links: with marks, drops and pauses.
    All,
    /// These links, by number: likewise.
    These(BTreeSet<LinkId>),
}

impl Recorded {
    /// Reads the selection of the spec.
    ///
    /// # Errors
    /// When a name is not one of a link.
    pub fn new(given: &SeriesLinks, topology: &Topology) -> Result<Recorded, SpecError> {
        let names = match given {
            SeriesLinks::Fabric => return Ok(Recorded::Fabric),
            SeriesLinks::All => return Ok(Recorded::All),
            SeriesLinks::Named(names) => names,
        };
        let known: Vec<String> = topology.links.ids().map(|link| topology.link_name(link)).collect();
        let number = |(n, name): (usize, &String)| match known.iter().position(|other| other == name) {
            Some(link) => Ok(LinkId::new(link as u32)),
            None => {
                let last = known.last().map_or("", String::as_str);
                let allowed = format!("names of links as reports print them: {}, … {last}", known[0]);
                let error = SpecError::new(format!("metrics.series_links[{n}]"), &json!(name), allowed);
                Err(error.did_you_mean(name, known.iter().map(String::as_str)))
            }
        };
        names.iter().enumerate().map(number).collect::<Result<_, _>>().map(Recorded::These)
    }

    /// Whether series are kept of this link.
    pub fn has(&self, topology: &Topology, link: LinkId) -> bool {
        match self {
            Recorded::Fabric => topology.joins_switches(link),
            Recorded::All => true,
            Recorded::These(links) => links.contains(&link),
        }
    }
}

/// Counts of a link's sender so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counted {
    /// Time spent sending.
    pub busy: Span,
    /// Packets marked CE.
    pub marks: u64,
    /// Packets dropped.
    pub drops: u64,
    /// How long its data priorities were paused, all together, ps.
    pub paused: u64,
}
