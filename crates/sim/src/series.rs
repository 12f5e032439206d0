//! Time series of links: each link's are written by the node that sends on it.

use crate::log::Log;
use crate::net::Net;
use crate::spec::{SeriesLinks, SpecError};
use crate::topology::Topology;
use serde_json::json;
use spinewise_policy::{Span, Time};
use std::collections::BTreeSet;

/// Of which links series are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Recorded {
    /// Of those between switches: use and queue.
    #[default]
    Fabric,
    /// Of all: with marks, drops and pauses.
    All,
    /// Of these, by number: likewise.
    These(BTreeSet<u32>),
}

impl Recorded {
    /// From the spec.
    ///
    /// # Errors
    /// When a name is none of a link.
    pub fn new(given: &SeriesLinks, topology: &Topology) -> Result<Recorded, SpecError> {
        let names = match given {
            SeriesLinks::Fabric => return Ok(Recorded::Fabric),
            SeriesLinks::All => return Ok(Recorded::All),
            SeriesLinks::Named(names) => names,
        };
        let known: Vec<String> = (0..topology.links.len() as u32).map(|link| topology.link_name(link)).collect();
        let number = |(n, name): (usize, &String)| match known.iter().position(|other| other == name) {
            Some(link) => Ok(link as u32),
            None => {
                let last = known.last().map_or("", String::as_str);
                let allowed = format!("names of links as reports print them: {}, … {last}", known[0]);
                let error = SpecError::new(format!("metrics.series_links[{n}]"), &json!(name), allowed);
                Err(error.did_you_mean(name, known.iter().map(String::as_str)))
            }
        };
        names.iter().enumerate().map(number).collect::<Result<_, _>>().map(Recorded::These)
    }

    /// Are series kept of this link?
    pub fn has(&self, topology: &Topology, link: u32) -> bool {
        match self {
            Recorded::Fabric => topology.joins_switches(link),
            Recorded::All => true,
            Recorded::These(links) => links.contains(&link),
        }
    }
}

/// Rows that are written at every interval, whatever happens: the use of each link, and its queue if it has one.
pub fn rows_each_time(net: &Net) -> u64 {
    let topology = &net.topology;
    let recorded = (0..topology.links.len() as u32).filter(|&link| net.series_links.has(topology, link));
    let has_queue = |link: u32| net.nics_queue || topology.links[link as usize].from.0 >= topology.hosts;
    recorded.map(|link| 1 + u64::from(has_queue(link))).sum()
}

/// What a link's sender has counted so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counted {
    /// Time spent sending.
    pub busy: Span,
    /// Packets marked CE.
    pub marks: u64,
    /// Packets dropped.
    pub drops: u64,
    /// For how long its data priorities were paused, all together, ps.
    pub paused: u64,
}

/// Writes the points of a link at `now`: what has been `counted` since `before`, and its queue, if it has one.
pub fn write(
    log: &mut Log,
    (net, now, interval): (&Net, Time, Span),
    link: u32,
    before: &mut Counted,
    (counted, queue): (Counted, Option<u64>),
) {
    let entity = net.topology.nodes() + link;
    let share = |ps: u64| ps as f64 / interval.0 as f64;
    log.point(now, 0, entity, share((counted.busy - before.busy).0));
    if let Some(bytes) = queue {
        log.point(now, 1, entity, bytes as f64);
    }
    if net.series_links != Recorded::Fabric {
        let further = [
            (5, (counted.marks - before.marks) as f64),
            (6, (counted.drops - before.drops) as f64),
            (7, share(counted.paused - before.paused)),
        ];
        for (series, value) in further.into_iter().filter(|&(_, value)| value > 0.0) {
            log.point(now, series, entity, value);
        }
    }
    *before = counted;
}
