//! Derives the faults of each link from the spec.

use super::Interval;
use super::select::Map;
use crate::ids::{HostId, LinkId, SwitchId};
use crate::spec::{Broken, Effect, Fault, Pairs, SpecError};
use crate::topology::Topology;
use serde_json::json;
use spinewise_policy::{Rng, Span, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Maximum number of outages of one fault.
const MOST_OUTAGES: u64 = 10_000;

/// The schedule of one link. Intervals are in order; those of one kind do not overlap, except black holes.
#[derive(Debug, Default)]
pub struct LinkFaults {
    /// Nothing gets through.
    pub outages: Vec<Interval>,
    /// Each packet is lost with this probability.
    pub losses: Vec<(Interval, f64)>,
    /// Packets of some pairs of hosts are lost.
    pub holes: Vec<(Interval, Arc<Hole>)>,
    /// The rate is reduced to this many bits per second.
    pub rates: Vec<(Interval, u64)>,
    /// This much is added to the delay.
    pub delays: Vec<(Interval, Span)>,
    /// The receiver needs to know when packets left, whatever is lost.
    pub watched: bool,
}

impl LinkFaults {
    /// Whether it loses packets.
    pub fn loses(&self) -> bool {
        !(self.outages.is_empty() && self.losses.is_empty() && self.holes.is_empty())
    }

    /// Whether its rate or its delay changes.
    pub fn changes(&self) -> bool {
        !(self.rates.is_empty() && self.delays.is_empty())
    }

    /// Whether its receiver must ask when a packet left.
    pub fn asks_when(&self) -> bool {
        self.changes() && (self.watched || !self.outages.is_empty())
    }

    /// Whether it is down at this instant.
    pub fn is_down(&self, at: Time) -> bool {
        let next = self.outages.partition_point(|&(_, until)| until <= at);
        self.outages.get(next).is_some_and(|&(from, _)| from <= at)
    }

    /// Its rate at this instant, if reduced.
    pub fn rate(&self, at: Time) -> Option<u64> {
        held(&self.rates, at)
    }

    /// Returns the addition to its delay at this instant.
    pub fn added(&self, at: Time) -> Span {
        held(&self.delays, at).unwrap_or(Span::ZERO)
    }
}

fn held<T: Copy>(list: &[(Interval, T)], at: Time) -> Option<T> {
    list.iter().find(|&&((from, until), _)| from <= at && at < until).map(|&(_, value)| value)
}

/// A black hole: one for all links of a fault, so that an affected switch swallows the same pairs whichever way they
/// come.
#[derive(Debug)]
pub struct Hole {
    pairs: Pairs,
    salt: u64,
}

impl Hole {
    fn new(n: usize, pairs: &Pairs, seed: u64) -> Hole {
        Hole { pairs: pairs.clone(), salt: Rng::stream(seed, "black hole", n as u64).bits() }
    }

    /// Whether it swallows packets from one host to another.
    pub fn swallows(&self, src: HostId, dst: HostId) -> bool {
        let (src, dst) = (src.number(), dst.number());
        match &self.pairs {
            Pairs::Share(share) => {
                Rng::stream(self.salt, "pair", u64::from(src) << 32 | u64::from(dst)).unit() < *share
            }
            Pairs::Listed(listed) => listed.contains(&(src, dst)),
        }
    }
}

/// The schedule of links and switches in the spec.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    /// Indexed by link.
    pub links: BTreeMap<LinkId, Arc<LinkFaults>>,
    /// When switches die, by switch.
    pub deaths: BTreeMap<SwitchId, Vec<Time>>,
    /// Links that are permanently down and must not cut hosts off: fault and link.
    pub for_good: Vec<(usize, LinkId)>,
}

/// An interval, and the number of its fault.
type Of = (Interval, usize);

/// The faults of one link, by kind.
#[derive(Default)]
struct Said {
    outages: Vec<Of>,
    losses: Vec<Of>,
    holes: Vec<Of>,
    rates: Vec<Of>,
    delays: Vec<Of>,
}

impl Said {
    fn of(&mut self, effect: &Effect) -> &mut Vec<Of> {
        match effect {
            Effect::Down | Effect::Flap { .. } => &mut self.outages,
            Effect::Loss(_) => &mut self.losses,
            Effect::BlackHole(_) => &mut self.holes,
            Effect::Rate(_) => &mut self.rates,
            Effect::Delay(_) => &mut self.delays,
        }
    }
}

impl Schedule {
    /// The faults of each link and switch in a run of this seed that lasts until `end`.
    ///
    /// # Errors
    /// A fault names something that does not exist or is already down, or two faults contradict each other about a link
    /// at one time.
    pub(super) fn new(faults: &[Fault], topology: &Topology, seed: u64, end: Time) -> Result<Schedule, SpecError> {
        let map = Map::new(topology);
        let mut schedule = Schedule::default();
        let mut said: BTreeMap<LinkId, Said> = BTreeMap::new();
        let mut holes: BTreeMap<usize, Arc<Hole>> = BTreeMap::new();
        for (n, fault) in faults.iter().enumerate() {
            let (hit, times) = (map.links(n, fault)?, times(n, fault, end)?);
            for &link in &hit {
                said.entry(link).or_default().of(&fault.effect).extend(times.iter().map(|&interval| (interval, n)));
            }
            if let Effect::BlackHole(pairs) = &fault.effect {
                holes.insert(n, Arc::new(Hole::new(n, pairs, seed)));
            }
            if fault.effect == Effect::Down && fault.until == Time::NEVER && !fault.may_cut_off {
                schedule.for_good.extend(hit.iter().map(|&link| (n, link)));
            }
            if let (true, Some(switch)) = (fault.effect.takes_down(), map.switch(&fault.broken)) {
                schedule.deaths.entry(switch).or_default().extend(times.iter().map(|&(from, _)| from));
            }
        }
        for (link, said) in said {
            schedule.links.insert(link, Arc::new(settled(said, faults, &holes, &topology.link_name(link))?));
        }
        schedule.deaths.values_mut().for_each(|deaths| deaths.sort_unstable());
        Ok(schedule)
    }
}

impl Schedule {
    /// The receiver of a link needs to know when packets left.
    pub(super) fn note_starts(&mut self, link: LinkId) {
        if let Some(faults) = self.links.get_mut(&link).and_then(Arc::get_mut) {
            faults.watched = true;
        }
    }
}

/// The faults of a link, from everything said about it.
fn settled(
    mut said: Said,
    faults: &[Fault],
    holes: &BTreeMap<usize, Arc<Hole>>,
    link: &str,
) -> Result<LinkFaults, SpecError> {
    for list in [&mut said.outages, &mut said.losses, &mut said.rates, &mut said.delays] {
        list.sort_unstable();
        // A switch that fails takes along links that fail on their own: that is no contradiction.
        let alone = |of: &&Of| !faults[of.1].effect.takes_down() || matches!(faults[of.1].broken, Broken::Link(..));
        refuse_overlaps(list.iter().filter(alone), faults, link)?;
    }
    fn each<T>(list: &[Of], faults: &[Fault], value: impl Fn(&Effect) -> Option<T>) -> Vec<(Interval, T)> {
        list.iter().filter_map(|&(interval, n)| Some((interval, value(&faults[n].effect)?))).collect()
    }
    Ok(LinkFaults {
        outages: union(said.outages.iter().map(|&(interval, _)| interval)),
        losses: each(&said.losses, faults, |effect| if let Effect::Loss(odds) = *effect { Some(odds) } else { None }),
        holes: said.holes.iter().map(|&(interval, n)| (interval, holes[&n].clone())).collect(),
        rates: each(&said.rates, faults, |effect| if let Effect::Rate(rate) = *effect { Some(rate) } else { None }),
        delays: each(
            &said.delays,
            faults,
            |effect| if let Effect::Delay(added) = *effect { Some(added) } else { None },
        ),
        watched: false,
    })
}

/// When a fault is in force, in a run that lasts until `end`.
pub(super) fn times(n: usize, fault: &Fault, end: Time) -> Result<Vec<Interval>, SpecError> {
    let Effect::Flap { period, down } = fault.effect else { return Ok(vec![(fault.from, fault.until)]) };
    let last = fault.until.min(end);
    let outages = last.since(fault.from).0.div_ceil(period.0);
    if outages > MOST_OUTAGES {
        let allowed =
            format!("at most {MOST_OUTAGES} outages before until_us or the end of the run; there would be {outages}");
        let mut error = SpecError::new(format!("fault[{n}].period_us"), &json!(period.as_us_f64()), allowed);
        error.hint = Some("give until_us or a shorter run.until_us".into());
        return Err(error);
    }
    let begins = (0..outages).map(|outage| fault.from + period * outage);
    Ok(begins.map(|from| (from, (from + down).min(fault.until))).collect())
}

/// Refuses faults of an ordered list that hold at one time and contradict each other.
fn refuse_overlaps<'a>(list: impl Iterator<Item = &'a Of>, faults: &[Fault], link: &str) -> Result<(), SpecError> {
    let mut before: Option<Of> = None;
    for &(interval, n) in list {
        if let Some((earlier, m)) = before
            && m != n
            && interval.0 < earlier.1
        {
            let (first, second) = (m.min(n), m.max(n));
            let at = json!(faults[second].from.since(Time::ZERO).as_us_f64());
            let allowed = format!("a time at which fault[{first}], also on {link}, does not apply");
            return Err(SpecError::new(format!("fault[{second}].at_us"), &at, allowed));
        }
        before = Some((interval, n));
    }
    Ok(())
}

/// The union of intervals given in order of their starts.
pub(super) fn union(intervals: impl Iterator<Item = Interval>) -> Vec<Interval> {
    let mut all: Vec<Interval> = Vec::new();
    for (from, until) in intervals {
        match all.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(until),
            _ => all.push((from, until)),
        }
    }
    all
}
