//! One run on several threads.
//!
//! The property that lets a node run alone for a window ([`windows`]) also lets a set of nodes run on a processor of
//! its own. The fabric is cut into parts: consecutive racks, each with the switches that only they reach, and the
//! switches above shared out. A thread has a whole run at time zero, but works only on the nodes of its part. Between
//! two windows the threads [meet](Meeting), agree on the next, and hand over packets that arrive in it from one part in
//! another: these have left their ports, so their senders no longer change them.
//!
//! The result is that of one thread, bit for bit. It depends neither on how the fabric is cut nor on which thread is
//! first. At the end one thread [takes up](Sim::take_up) the shares of the others.

mod meeting;
mod share;

use super::windows::{self, BUSY, MOST_WINDOWS, Stretch, Worker, fetches, in_order_of_visits, spread, switches_around};
use super::{Grid, NODES_PER_EVENT, Sim, Whole};
use crate::bank::Bank;
use crate::ids::{LinkId, NodeId, SwitchId, Table};
use crate::operations::News;
use crate::topology::Topology;
use crate::warden::{Interrupted, Progress, Watch};
pub use meeting::Meeting;
use meeting::{Mail, Told};
pub use share::Share;
use spinewise_policy::{Span, Time};
use std::collections::BTreeSet;
use std::ops::Range;

/// The part that each node belongs to.
#[derive(Clone, Debug)]
pub struct Parts {
    of: Table<NodeId, usize>,
    count: usize,
    /// The one of two sets that each switch is in, and with it its hosts: no two switches of one set share a link, if
    /// that is possible.
    sets: Table<SwitchId, usize>,
    alternate: bool,
}

impl Parts {
    /// Cuts a fabric into `most` parts, but never into more than it has leaves. Where racks are alike, all parts have about
    /// the same number of links.
    pub fn new(topology: &Topology, most: usize) -> Parts {
        let around = switches_around(topology);
        let order = in_order_of_visits(topology, &around);
        let count = most.clamp(1, (topology.leaves as usize).max(1));
        let weight =
            |switch| u64::from(topology.ports(topology.switch_node(switch))) + u64::from(topology.host_ports(switch));
        let (racks, above): (Vec<_>, Vec<_>) = order.into_iter().partition(|&switch| topology.host_ports(switch) > 0);
        let all: u64 = racks.iter().map(|&switch| weight(switch)).sum();
        let mut loads = vec![0; count];
        let mut part_of: Table<_, Option<usize>> = Table::filled(None, around.len());
        let mut before = 0;
        for switch in racks {
            let part = (before * count as u64 / all.max(1)) as usize;
            before += weight(switch);
            loads[part] += weight(switch);
            part_of[switch] = Some(part);
        }
        for switch in above {
            let mut below = around[switch.index()].iter().filter_map(|&other| part_of[other]);
            let first = below.next();
            let part = match first {
                Some(part) if below.all(|other| other == part) => part,
                _ => (0..count).min_by_key(|&part| loads[part]).unwrap_or(0),
            };
            loads[part] += weight(switch);
            part_of[switch] = Some(part);
        }
        let of = topology.node_ids().map(|node| {
            let switch = match topology.as_host(node) {
                Some(host) => topology.home(host).leaf,
                None => topology.switch_number(node),
            };
            part_of[switch].unwrap_or(0)
        });
        let sets = two_sets(&around);
        let alternate = sets.is_some();
        let sets = sets.unwrap_or_else(|| Table::filled(0, around.len()));
        Parts { of: of.collect(), count, sets, alternate }
    }

    fn set(&self, switch: SwitchId) -> usize {
        self.sets[switch]
    }

    /// Number of parts.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The part of a node.
    pub fn of(&self, node: NodeId) -> usize {
        self.of[node]
    }
}

/// Puts switches into two sets so that none is linked to another of its own set; `None` if that cannot be done.
fn two_sets(around: &[BTreeSet<SwitchId>]) -> Option<Table<SwitchId, usize>> {
    let mut sets: Table<SwitchId, Option<usize>> = Table::filled(None, around.len());
    for first in sets.ids() {
        if sets[first].is_none() {
            sets[first] = Some(0);
            let mut reached = vec![first];
            while let Some(switch) = reached.pop() {
                let other_set = sets[switch].map(|set| 1 - set);
                for &other in &around[switch.index()] {
                    if sets[other].is_none() {
                        sets[other] = other_set;
                        reached.push(other);
                    } else if sets[other] != other_set {
                        return None;
                    }
                }
            }
        }
    }
    Some(sets.iter().map(|set| set.unwrap_or(0)).collect())
}

/// Returns why a run must stay on one thread, if it must: something in it is visible to distant nodes at one instant.
pub fn reason_for_one(sim: &Sim<'_>) -> Option<&'static str> {
    if sim.world.fabric.is_guest() || sim.world.edge.as_ref().is_some_and(Bank::is_guest) {
        Some("its scheme is written in Python")
    } else if !sim.world.free_queues.is_empty() {
        Some("its scheme asks an oracle for the free queues of all hosts")
    } else {
        None
    }
}

/// Runs one part to the end, in windows of at most `window`. Returns the instant it stopped at, the same in all parts.
///
/// # Errors
/// [`Interrupted`] if `watch` asks for it, or another thread has left.
pub fn run(
    sim: &mut Sim<'_>,
    (parts, own): (&Parts, usize),
    window: Span,
    meeting: &Meeting,
    watch: Watch<'_>,
) -> Result<Time, Interrupted> {
    windows::check(window);
    let part = Part::new(&sim.net.topology, parts, own);
    for &node in &part.nodes {
        sim.world.wires.agenda.due[node] = sim.planned(node).0;
    }
    let began = Told::of(sim, Time::ZERO, 0);
    let mut watch = |progress: Progress| {
        let packet_hops = progress.packet_hops + meeting.others(own).map(|told| told.hops).sum::<u64>();
        watch(Progress { packet_hops, open: meeting.open(began.open), ..progress })
    };
    let mut worker = Worker::new(&mut watch);
    let mut grid = Grid::new(sim);
    worker.keeps_news = true;
    let alternate = parts.alternate && sim.world.flows.operations.is_empty();
    let (mut todo, mut busy, mut mail) = (Vec::new(), 0, Mail::new(parts.count()));
    loop {
        let news = part.share_news(sim, parts, meeting);
        let due = part.nodes.iter().map(|&node| sim.world.wires.agenda.due[node]);
        let sent = part.outlets.iter().flatten().map(|&(link, _)| sim.world.wires.agenda.heads[link.index()]);
        let next = due.chain(sent).chain(news).min().unwrap_or(Time::NEVER);
        meeting.tell(own, Told::of(sim, next, busy));
        meeting.wait(own)?;
        let start = meeting.next();
        if let Some(stop) = grid.over(start, &mut AllParts { sim, parts, own, meeting, began })? {
            sim.sample_until(stop);
            return Ok(stop);
        }
        sim.sample_until(start);
        let barrier = grid.barrier().min(sim.next_sample());
        let end = (start + window).min(barrier);
        let are_busy = meeting.busy() * BUSY >= sim.net.topology.nodes() as usize;
        part.hand_over(sim, meeting, &mut mail, [end; 2]);
        meeting.wait(own)?;
        // All threads have been set up by the first look, and have waited for those whose setup took longer.
        if own == 0 {
            meeting.look()?;
        }
        meeting.take_over(own, &mut mail, |carried| sim.world.wires.bring(carried));
        spread(sim, meeting.news_for(own));
        if alternate && are_busy && end < barrier {
            let stretch = Stretch { start, window, end: barrier.min(start + window * MOST_WINDOWS) };
            part.run_stretch(sim, &stretch, (meeting, &mut mail), &mut worker)?;
            busy = part.due(sim, stretch.end + window).count();
        } else {
            todo.clear();
            todo.extend(part.due(sim, end));
            busy = todo.len();
            worker.run_all(sim, &todo, (start, end), part.nodes.len())?;
            // The watcher also sees the other parts' progress, whether or not anything happens here.
            worker.look(sim, start)?;
        }
        worker.scanned += 1 + part.nodes.len() as u64 / u64::from(NODES_PER_EVENT);
    }
}

/// The whole run, as a thread sees it when all have met.
struct AllParts<'s, 'n> {
    sim: &'s mut Sim<'n>,
    parts: &'s Parts,
    own: usize,
    meeting: &'s Meeting,
    /// The report at the beginning.
    began: Told,
}

impl Whole for AllParts<'_, '_> {
    fn all_done(&self) -> bool {
        self.meeting.all_done(self.began)
    }

    fn arrived(&self) -> u64 {
        self.meeting.arrived()
    }

    /// The first thread borrows all switches, and reports the result to the others.
    fn is_locked(&mut self, at: Time) -> Result<bool, Interrupted> {
        let AllParts { sim, own, meeting, .. } = self;
        let own = *own;
        if own > 0 {
            meeting.put_switches(own, std::mem::take(&mut sim.switches));
            meeting.wait(own)?;
            // The first thread looks now.
            meeting.wait(own)?;
            sim.switches = meeting.take_switches(own);
            return Ok(meeting.is_locked());
        }
        meeting.wait(own)?;
        self.exchange_switches();
        let locked = self.sim.is_locked(at)?;
        self.exchange_switches();
        self.meeting.tell_locked(locked);
        self.meeting.wait(own)?;
        Ok(locked)
    }
}

impl AllParts<'_, '_> {
    /// Swaps the switches of other parts with their stand-ins here, in either direction.
    fn exchange_switches(&mut self) {
        for part in 1..self.parts.count() {
            let mut switches = self.meeting.take_switches(part);
            self.sim.swap_switches(self.parts, part, &mut switches);
            self.meeting.put_switches(part, switches);
        }
    }
}

/// The part of a run that one thread works on.
struct Part {
    own: usize,
    /// The nodes, those of each rack together: their shared data stays in the cache.
    nodes: Vec<NodeId>,
    /// The same in two sets of blocks, with no link between two blocks of one set, if such sets exist.
    blocks: [Vec<Range<usize>>; 2],
    /// The links that lead into other parts, by the set of their senders, with the part they lead to.
    outlets: [Vec<(LinkId, usize)>; 2],
}

impl Part {
    fn new(topology: &Topology, parts: &Parts, own: usize) -> Part {
        let mut part = Part { own, nodes: Vec::new(), blocks: Default::default(), outlets: Default::default() };
        for switch in in_order_of_visits(topology, &switches_around(topology)) {
            let node = topology.switch_node(switch);
            if parts.of(node) == own {
                let first = part.nodes.len();
                part.nodes.extend(topology.hosts_of(switch).iter().map(|&host| topology.host_node(host)));
                part.nodes.push(node);
                part.blocks[parts.set(switch)].push(first..part.nodes.len());
            }
        }
        for (link, ends) in topology.links.numbered() {
            let to = parts.of(ends.to.0);
            if let Some(switch) = topology.as_switch(ends.from.0)
                && parts.of(ends.from.0) == own
                && to != own
            {
                part.outlets[parts.set(switch)].push((link, to));
            }
        }
        part
    }

    /// The nodes that have something to do before `end`.
    fn due(&self, sim: &Sim<'_>, end: Time) -> impl Iterator<Item = NodeId> {
        self.nodes.iter().copied().filter(move |&node| sim.world.wires.agenda.due[node] < end)
    }

    /// Hands over packets that arrive in other parts before this instant, by the set that they come from.
    fn hand_over(&self, sim: &mut Sim<'_>, meeting: &Meeting, mail: &mut Mail, ends: [Time; 2]) {
        for (outlets, end) in self.outlets.iter().zip(ends) {
            for &(link, to) in outlets {
                if sim.world.wires.agenda.heads[link.index()] < end {
                    sim.world.wires.carry_off(link, end, &mut mail.out[to]);
                }
            }
        }
        meeting.hand_over(self.own, mail);
    }

    /// Delivers to hosts of this part the news that its other hosts have sent outside the network, and hands over news
    /// for other parts. Returns when the first of the latter arrives.
    fn share_news(&self, sim: &mut Sim<'_>, parts: &Parts, meeting: &Meeting) -> Option<Time> {
        let part_of = |news: &News| parts.of(sim.net.topology.host_node(news.host));
        let news = std::mem::take(&mut sim.world.flows.operations.news);
        let (stays, goes): (Vec<_>, Vec<_>) = news.into_iter().partition(|news| part_of(news) == self.own);
        goes.iter().for_each(|news| meeting.hand_over_news(part_of(news), *news));
        spread(sim, stays);
        goes.iter().map(|news| news.at).min()
    }

    /// Runs the part through a stretch of time, the two sets in turn. Each runs two windows per visit, one ahead of the
    /// other set, as blocks do on [one thread](super::windows).
    fn run_stretch(
        &self,
        sim: &mut Sim<'_>,
        stretch: &Stretch,
        (meeting, mail): (&Meeting, &mut Mail),
        worker: &mut Worker<'_>,
    ) -> Result<(), Interrupted> {
        let windows = stretch.windows();
        let fetches = fetches(sim, self.due(sim, stretch.end).count(), self.nodes.len());
        let mut done = [0; 2];
        for (set, other) in [(0, 1), (1, 0)].into_iter().cycle() {
            if done == [windows; 2] {
                return Ok(());
            }
            let run = done[set]..windows.min(done[other] + 1);
            for (n, block) in self.blocks[set].iter().enumerate() {
                let next = self.blocks[set].get(n + 1).map_or(&[][..], |next| &self.nodes[next.clone()]);
                worker.run_block(sim, [&self.nodes[block.clone()], next], (stretch, run.clone()), fetches)?;
            }
            done[set] = run.end;
            // Everything that arrives in the window after those has left by now.
            let mut ends = [Time::ZERO; 2];
            ends[set] = stretch.window(run.end).1;
            self.hand_over(sim, meeting, mail, ends);
            meeting.wait(self.own)?;
            // Packets of the other set may have come already; each waits on its link.
            meeting.take_over(self.own, mail, |carried| sim.world.wires.bring(carried));
            worker.look(sim, stretch.window(run.end.saturating_sub(1)).0)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::tests::fabric;
    use serde_json::{Value, json};

    #[test]
    fn parts_have_about_as_many_links_each_and_racks_are_whole() {
        for (table, most, count) in [
            (json!({"leaves": 8, "spines": 4, "hosts_per_leaf": 8}), 4, 4),
            (json!({"kind": "fat_tree", "k": 8}), 2, 2),
            (json!({"kind": "fat_tree", "k": 8}), 3, 3),
            (json!({"leaves": 3, "spines": 2, "hosts_per_leaf": 2}), 16, 3),
        ] {
            let topology = fabric(table);
            let parts = Parts::new(&topology, most);
            assert_eq!(parts.count(), count);
            for host in topology.host_ids() {
                let leaf = topology.switch_node(topology.leaf(host));
                assert_eq!(parts.of(topology.host_node(host)), parts.of(leaf));
            }
            let mut links = vec![0; count];
            topology.links.iter().for_each(|link| links[parts.of(link.to.0)] += 1);
            let (least, greatest) = (links.iter().min().unwrap(), links.iter().max().unwrap());
            assert!(greatest * 2 <= least * 3, "{links:?}");
            let all: usize = (0..count).map(|own| Part::new(&topology, &parts, own).nodes.len()).sum();
            assert_eq!(all, topology.nodes() as usize, "each node is somebody's");
        }
    }

    #[test]
    fn switches_take_turns_where_none_is_linked_to_one_of_its_own_set() {
        let ring = |switches: u32| {
            let hosts = (0..switches).map(|n| json!([n, switches + n, 100, 1000]));
            let around = (0..switches).map(|n| json!([switches + n, switches + (n + 1) % switches, 100, 1000]));
            let links: Vec<Value> = hosts.chain(around).collect();
            fabric(json!({"kind": "links", "hosts": switches, "switches": switches, "links": links}))
        };
        for (topology, alternate) in
            [(ring(4), true), (ring(5), false), (fabric(json!({"kind": "fat_tree", "k": 4})), true)]
        {
            let parts = Parts::new(&topology, 2);
            assert_eq!(parts.alternate, alternate);
            let joins = topology
                .links
                .iter()
                .filter_map(|link| topology.as_switch(link.from.0).zip(topology.as_switch(link.to.0)));
            assert!(!alternate || joins.into_iter().all(|(from, to)| parts.set(from) != parts.set(to)));
        }
    }
}
