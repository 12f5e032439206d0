//! When each switch hears of changes that others have detected.
//!
//! Each end of a link that detects a change floods it, over links that work and are believed to work, by the fastest
//! path. News that cannot reach a switch reaches it when some link works again.

use super::detect::{Changes, Links, Seen};
use crate::ids::{LinkId, SwitchId, Table};
use crate::spec::{Detection, DetectionMode};
use crate::topology::Topology;
use crate::warden::GoOn;
use spinewise_policy::{Span, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// News that a switch learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// A change of one of its own ports.
    Own(u16, Seen),
    /// The belief of a link's sender.
    Heard {
        /// The link.
        link: LinkId,
        /// Whether it is down now.
        down: bool,
    },
}

/// Returns the news of each switch and when it learns them, in order.
pub(super) fn by_switch(
    links: &Links,
    changes: &Changes,
    how: &Detection,
    topology: &Topology,
    go_on: GoOn<'_>,
) -> Table<SwitchId, Vec<(Time, News)>> {
    let mut all = Table::filled(Vec::new(), topology.switches() as usize);
    let at_once = how.mode == DetectionMode::Oracle;
    let comes_up = |&&(_, seen): &&(Time, Seen)| seen != Seen::Down;
    let mut ups: Vec<Time> = changes.values().flatten().filter(comes_up).map(|&(at, _)| at).collect();
    ups.sort_unstable();
    let flood = Flood { topology, links, changes, ups, hop: how.flood_hop, at_once };
    for (&link, changes) in changes {
        let spec = &topology.links[link];
        let Some(switch) = topology.as_switch(spec.from.0) else { continue };
        // A switch that keeps the routes of the whole fabric does not need such news.
        let tells = how.reconverge && !topology.is_host(spec.to.0) && !topology.as_wired;
        let mut heard = Table::filled(Time::ZERO, all.len());
        let mut was_down = false;
        for &(at, seen) in changes.iter().take_while(|_| go_on()) {
            all[switch].push((at, News::Own(spec.from.1, seen)));
            let down = seen == Seen::Down;
            if !tells || down == was_down {
                continue;
            }
            was_down = down;
            for (switch, arrives) in flood.arrivals(at, switch).numbered() {
                // Later news of a link does not overtake earlier news: the newer counts.
                heard[switch] = heard[switch].max(*arrives);
                if heard[switch] < Time::NEVER {
                    all[switch].push((heard[switch], News::Heard { link, down }));
                }
            }
        }
    }
    // Sort by time; for one link at one time, in the order found.
    all.iter_mut().for_each(|news| news.sort_by_key(|&(at, _)| at));
    all
}

/// The spread of news.
struct Flood<'a> {
    topology: &'a Topology,
    links: &'a Links,
    changes: &'a Changes,
    /// When links are detected to work again, in order.
    ups: Vec<Time>,
    hop: Span,
    at_once: bool,
}

impl Flood<'_> {
    /// When each switch hears what one of them knows at `at`.
    fn arrivals(&self, at: Time, origin: SwitchId) -> Table<SwitchId, Time> {
        let switches = self.topology.switches() as usize;
        if self.at_once {
            return Table::filled(at, switches);
        }
        let mut arrivals = Table::filled(Time::NEVER, switches);
        // Switches that hear of it pass it on again whenever a link is detected to work again.
        let (mut known, mut since): (Vec<(Time, SwitchId)>, Time) = (vec![(at, origin)], at);
        loop {
            self.spread(since, &known, &mut arrivals);
            if arrivals.iter().all(|&arrival| arrival < Time::NEVER) {
                return arrivals;
            }
            let Some(&next) = self.ups.get(self.ups.partition_point(|&at| at <= since)) else { return arrivals };
            since = next;
            let has = arrivals.numbered().filter(|(_, arrival)| **arrival < Time::NEVER);
            known = has.map(|(switch, &arrival)| (arrival.max(next), switch)).collect();
        }
    }

    /// Whether a link works at this instant, and its sender believes so.
    fn passes(&self, link: LinkId, at: Time) -> bool {
        let taken = self.changes.get(&link).and_then(|changes| {
            let next = changes.partition_point(|&(since, _)| since <= at);
            changes[..next].last()
        });
        self.topology.links[link].up
            && !self.links.get(&link).is_some_and(|faults| faults.is_down(at))
            && taken.is_none_or(|&(_, seen)| seen != Seen::Down)
    }

    /// Notes earlier arrivals of the knowledge of some switches, over links that pass it on at `at`.
    fn spread(&self, at: Time, known: &[(Time, SwitchId)], arrivals: &mut Table<SwitchId, Time>) {
        let mut heap: BinaryHeap<Reverse<(Time, SwitchId)>> = BinaryHeap::new();
        for &(time, switch) in known {
            arrivals[switch] = arrivals[switch].min(time);
            heap.push(Reverse((time, switch)));
        }
        let topology = self.topology;
        while let Some(Reverse((time, switch))) = heap.pop() {
            let node = topology.switch_node(switch);
            for port in topology.host_ports(switch)..topology.ports(node) {
                let number = topology.out_number(node, port);
                let link = &topology.links[number];
                let (next, arrives) = (topology.switch_number(link.to.0), time + link.delay + self.hop);
                if arrives < arrivals[next] && self.passes(number, at) {
                    arrivals[next] = arrives;
                    heap.push(Reverse((arrives, next)));
                }
            }
        }
    }
}
