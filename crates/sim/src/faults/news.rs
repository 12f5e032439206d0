//! When each switch learns that a link is down or up again.
//!
//! Both ends of a cable find a change when it has lasted for some time (loss of carrier; Ethernet tells the other end,
//! so a cable that fails one way is down for both ends). They tell all other switches by flooding: over cables that work,
//! by the quickest way. What cannot reach a switch reaches it when some cable works again.

use super::Interval;
use super::schedule::{LinkFaults, union};
use crate::spec::{Detection, DetectionMode};
use crate::topology::Topology;
use spinewise_policy::{Span, Time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// What a switch learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum News {
    /// Of one of its own ports.
    Own {
        /// Which.
        port: u16,
        /// Is it down now?
        down: bool,
    },
    /// Of a cable anywhere, in time for new routes.
    Heard {
        /// The lower number of its two links.
        cable: u32,
        /// Is it down now?
        down: bool,
    },
}

/// What each switch learns and when, in order.
pub fn by_switch(links: &BTreeMap<u32, LinkFaults>, how: &Detection, topology: &Topology) -> Vec<Vec<(Time, News)>> {
    let mut all = vec![Vec::new(); topology.switches() as usize];
    let (hold, hop, control) = match how.mode {
        DetectionMode::Carrier => (how.carrier, how.flood_hop, how.control_plane),
        DetectionMode::Oracle => (Span::ZERO, Span::ZERO, Span::ZERO),
        DetectionMode::Never => return all,
    };
    let cables = cables(links, topology);
    let flood = Flood { topology, cables: &cables, hold, hop, at_once: how.mode == DetectionMode::Oracle };
    for (&cable, outages) in &cables {
        let ends = [topology.links[cable as usize].from, topology.links[cable as usize].to];
        let mut heard = vec![Time::ZERO; all.len()];
        for (at, down) in found(outages, hold) {
            for (node, port) in ends {
                if let Some(switch) = node.checked_sub(topology.hosts) {
                    all[switch as usize].push((at, News::Own { port, down }));
                }
            }
            if !how.reconverge || ends.iter().any(|&(node, _)| node < topology.hosts) {
                continue;
            }
            for (switch, arrives) in flood.arrivals(at, ends.map(|(node, _)| node - topology.hosts)).iter().enumerate()
            {
                // Later news of a cable does not overtake: what is newer counts.
                heard[switch] = heard[switch].max(*arrives + control);
                if heard[switch] < Time::NEVER {
                    all[switch].push((heard[switch], News::Heard { cable, down }));
                }
            }
        }
    }
    // In order of time; of one cable at one time, in the order found.
    all.iter_mut().for_each(|news| news.sort_by_key(|&(at, _)| at));
    all
}

/// When each cable is down, either way.
fn cables(links: &BTreeMap<u32, LinkFaults>, topology: &Topology) -> BTreeMap<u32, Vec<Interval>> {
    let mut cables: BTreeMap<u32, Vec<Interval>> = BTreeMap::new();
    for (&link, faults) in links.iter().filter(|(_, faults)| !faults.outages.is_empty()) {
        cables.entry(link.min(topology.back(link))).or_default().extend(&faults.outages);
    }
    for outages in cables.values_mut() {
        outages.sort_unstable();
        *outages = union(outages.iter().copied());
    }
    cables
}

/// When a change is found that must last for `hold` to be believed, and whether the link is down then.
fn found(outages: &[Interval], hold: Span) -> Vec<(Time, bool)> {
    let mut found = Vec::new();
    let mut up_since = None;
    let mut down = false;
    for &(from, until) in outages {
        if let Some(up) = up_since.take_if(|up: &mut Time| down && from.since(*up) > hold) {
            found.push((up + hold, false));
            down = false;
        }
        if !down && until.since(from) > hold {
            found.push((from + hold, true));
            down = true;
        }
        up_since = Some(until);
    }
    if let Some(up) = up_since.filter(|&up| down && up < Time::NEVER) {
        found.push((up + hold, false));
    }
    found
}

/// How news spreads.
struct Flood<'a> {
    topology: &'a Topology,
    cables: &'a BTreeMap<u32, Vec<Interval>>,
    hold: Span,
    hop: Span,
    at_once: bool,
}

impl Flood<'_> {
    /// When each switch hears what two of them know at `at`.
    fn arrivals(&self, at: Time, ends: [u32; 2]) -> Vec<Time> {
        let switches = self.topology.switches() as usize;
        if self.at_once {
            return vec![at; switches];
        }
        let mut arrivals = vec![Time::NEVER; switches];
        // Those that hear of it pass it on again whenever a cable is found to work again.
        let (mut known, mut since): (Vec<(Time, u32)>, Time) = (ends.map(|end| (at, end)).to_vec(), at);
        loop {
            self.spread(since, &known, &mut arrivals);
            if arrivals.iter().all(|&arrival| arrival < Time::NEVER) {
                return arrivals;
            }
            let ends = self.cables.values().flatten().map(|&(_, until)| until);
            let Some(next) = ends.filter(|&until| until > since && until < Time::NEVER).min() else { return arrivals };
            since = next;
            let has = (0u32..).zip(&arrivals).filter(|(_, arrival)| **arrival < Time::NEVER);
            known = has.map(|(switch, &arrival)| (arrival.max(next + self.hold), switch)).collect();
        }
    }

    /// Notes earlier arrivals of what some switches know, over cables that work at `at`.
    fn spread(&self, at: Time, known: &[(Time, u32)], arrivals: &mut [Time]) {
        let mut heap: BinaryHeap<Reverse<(Time, u32)>> = BinaryHeap::new();
        for &(time, switch) in known {
            arrivals[switch as usize] = arrivals[switch as usize].min(time);
            heap.push(Reverse((time, switch)));
        }
        let topology = self.topology;
        while let Some(Reverse((time, switch))) = heap.pop() {
            let node = topology.hosts + switch;
            for port in topology.host_ports(switch)..topology.ports(node) {
                let number = topology.out_number(node, port);
                let link = &topology.links[number as usize];
                let cable = self.cables.get(&number.min(topology.back(number)));
                let down = cable.is_some_and(|outages| outages.iter().any(|&(from, until)| from <= at && at < until));
                let (next, arrives) = (link.to.0 - topology.hosts, time + link.delay + self.hop);
                if link.up && !down && arrives < arrivals[next as usize] {
                    arrivals[next as usize] = arrives;
                    heap.push(Reverse((arrives, next)));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_last_is_not_found() {
        let found = |outages: &[(u64, u64)]| {
            let outages: Vec<Interval> = outages.iter().map(|&(from, until)| (Time(from), Time(until))).collect();
            super::found(&outages, Span(10)).into_iter().map(|(at, down)| (at.0, down)).collect::<Vec<_>>()
        };
        assert_eq!(found(&[(100, 200)]), [(110, true), (210, false)]);
        assert_eq!(found(&[(100, 110), (120, 125)]), []);
        assert_eq!(found(&[(100, 200), (205, 300)]), [(110, true), (310, false)], "a gap too short");
        assert_eq!(found(&[(100, 200), (205, 208)]), [(110, true), (218, false)]);
        assert_eq!(found(&[(100, 200), (220, u64::MAX)]), [(110, true), (210, false), (230, true)]);
    }
}
