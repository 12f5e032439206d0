//! From the spec to the outages and losses of each link.

use super::Interval;
use crate::spec::{Broken, Effect, Fault, FaultWay, SpecError};
use crate::topology::Topology;
use serde_json::json;
use spinewise_policy::Time;
use std::collections::BTreeMap;

/// Most outages of one fault.
const MOST_OUTAGES: u64 = 10_000;

/// What the schedule says of one link. Intervals are in order and do not touch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkFaults {
    /// Nothing gets through.
    pub outages: Vec<Interval>,
    /// Each packet is lost with this probability.
    pub losses: Vec<(Interval, f64)>,
}

/// An interval, and which fault it belongs to.
type Of = (Interval, usize);

/// What each link suffers in a run that lasts until `end`.
///
/// # Errors
/// A fault names what is not there or is down already, or two say different things of a link at one time.
pub fn links(faults: &[Fault], topology: &Topology, end: Time) -> Result<BTreeMap<u32, LinkFaults>, SpecError> {
    let names: BTreeMap<String, u32> = (0..topology.nodes()).map(|node| (topology.node_name(node), node)).collect();
    let (mut outages, mut losses): (BTreeMap<u32, Vec<Of>>, BTreeMap<u32, Vec<Of>>) = Default::default();
    for (n, fault) in faults.iter().enumerate() {
        let hit = select(n, fault, topology, &names)?;
        match fault.effect {
            Effect::Loss(_) => hit.iter().for_each(|&link| losses.entry(link).or_default().push((whole(fault), n))),
            Effect::Down | Effect::Flap { .. } => {
                let times = times(n, fault, end)?;
                for &link in &hit {
                    outages.entry(link).or_default().extend(times.iter().map(|&interval| (interval, n)));
                }
            }
        }
    }
    let mut links: BTreeMap<u32, LinkFaults> = BTreeMap::new();
    for (link, mut list) in outages {
        list.sort_unstable();
        // A switch that fails takes along links that fail by themselves: that is no contradiction.
        let of_links = list.iter().filter(|&&(_, n)| matches!(faults[n].broken, Broken::Link(..)));
        refuse_overlaps(of_links, faults, &topology.link_name(link))?;
        links.entry(link).or_default().outages = joined(&list);
    }
    for (link, mut list) in losses {
        list.sort_unstable();
        refuse_overlaps(list.iter(), faults, &topology.link_name(link))?;
        let with_odds = list.iter().filter_map(|&(interval, n)| match faults[n].effect {
            Effect::Loss(probability) => Some((interval, probability)),
            _ => None,
        });
        links.entry(link).or_default().losses = with_odds.collect();
    }
    Ok(links)
}

fn whole(fault: &Fault) -> Interval {
    (fault.from, fault.until)
}

/// When a fault that takes links down does so.
fn times(n: usize, fault: &Fault, end: Time) -> Result<Vec<Interval>, SpecError> {
    let Effect::Flap { period, down } = fault.effect else { return Ok(vec![whole(fault)]) };
    let last = fault.until.min(end);
    let outages = last.since(fault.from).0.div_ceil(period.0);
    if outages > MOST_OUTAGES {
        let allowed =
            format!("at most {MOST_OUTAGES} outages before until_us or the end of the run; these are {outages}");
        let mut error = SpecError::new(format!("fault[{n}].period_us"), &json!(period.as_us_f64()), allowed);
        error.hint = Some("give until_us or a shorter run.until_us".into());
        return Err(error);
    }
    let begins = (0..outages).map(|outage| fault.from + period * outage);
    Ok(begins.map(|from| (from, (from + down).min(fault.until))).collect())
}

/// Two faults of a list in order that hold at one time say different things.
fn refuse_overlaps<'a>(list: impl Iterator<Item = &'a Of>, faults: &[Fault], link: &str) -> Result<(), SpecError> {
    let mut before: Option<Of> = None;
    for &(interval, n) in list {
        if let Some((earlier, m)) = before
            && m != n
            && interval.0 < earlier.1
        {
            let (first, second) = (m.min(n), m.max(n));
            let at = json!(faults[second].from.since(Time::ZERO).as_us_f64());
            let allowed = format!("a time at which fault[{first}] does not hold, which is of {link} too");
            return Err(SpecError::new(format!("fault[{second}].at_us"), &at, allowed));
        }
        before = Some((interval, n));
    }
    Ok(())
}

/// The union of intervals in order.
fn joined(list: &[Of]) -> Vec<Interval> {
    union(list.iter().map(|&(interval, _)| interval))
}

/// The union of intervals that come in the order of their beginnings.
pub fn union(intervals: impl Iterator<Item = Interval>) -> Vec<Interval> {
    let mut all: Vec<Interval> = Vec::new();
    for (from, until) in intervals {
        match all.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(until),
            _ => all.push((from, until)),
        }
    }
    all
}

/// The links that a fault hits.
fn select(n: usize, fault: &Fault, topology: &Topology, names: &BTreeMap<String, u32>) -> Result<Vec<u32>, SpecError> {
    let takes_down = !matches!(fault.effect, Effect::Loss(_));
    let works = |&forth: &u32| topology.links[forth as usize].up && topology.links[topology.back(forth) as usize].up;
    let cables: Vec<u32> = match &fault.broken {
        Broken::Link(ends, which) => {
            let cables = cables_between(n, ends, *which, topology, names)?;
            if takes_down && !cables.iter().all(works) {
                let allowed = "a link that works: topology.override has taken this one down";
                return Err(SpecError::new(format!("fault[{n}].ends"), &json!(ends), allowed));
            }
            cables
        }
        Broken::Switch(name) => {
            let key = || format!("fault[{n}].switch");
            let node = find(key, name, topology, names)?;
            if node < topology.hosts {
                return Err(SpecError::new(key(), &json!(name), "a switch; of a host, name its link by ends"));
            }
            let cables = (0..topology.ports(node)).map(|port| topology.out_number(node, port));
            cables.filter(|link| !takes_down || works(link)).collect()
        }
    };
    let there = cables.iter().copied().filter(|_| fault.way != FaultWay::Backward);
    let back = cables.iter().filter(|_| fault.way != FaultWay::Forward).map(|&link| topology.back(link));
    Ok(there.chain(back).collect())
}

/// The links from the first end to the second, or the one of that number.
fn cables_between(
    n: usize,
    ends: &[String; 2],
    which: Option<u32>,
    topology: &Topology,
    names: &BTreeMap<String, u32>,
) -> Result<Vec<u32>, SpecError> {
    let key = || format!("fault[{n}].ends");
    let [a, b] = [find(key, &ends[0], topology, names)?, find(key, &ends[1], topology, names)?];
    let all: Vec<u32> = (0..topology.ports(a))
        .map(|port| topology.out_number(a, port))
        .filter(|&link| topology.links[link as usize].to.0 == b)
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

fn find(
    key: impl Fn() -> String,
    name: &str,
    topology: &Topology,
    names: &BTreeMap<String, u32>,
) -> Result<u32, SpecError> {
    names.get(name).copied().ok_or_else(|| {
        let last = topology.node_name(topology.nodes() - 1);
        let leaf = topology.node_name(topology.leaf_node(0));
        let allowed = format!("names of nodes as reports print them: host0, {leaf}, … {last}");
        SpecError::new(key(), &json!(name), allowed).did_you_mean(name, names.keys().map(String::as_str))
    })
}
