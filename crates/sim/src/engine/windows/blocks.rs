//! Blocks of nodes that run several windows per visit.
//!
//! A window is no longer than the shortest link delay, so everything that reaches a node in its next window has been
//! sent once its neighbours have run as many windows as it has. Hence a node may run one window ahead of each
//! neighbour, and no more. Nodes linked only through others may be further apart: a rack may run two windows while the
//! switches above it wait one window ahead; those then do the same. The data that a block of nodes reads and writes
//! stays in the cache for both windows.
//!
//! A block is a leaf with its hosts, or one switch above. Blocks are visited in an order in which a switch comes right
//! after the last of those below it: the racks of a pod, then the switches that join them, and the cores at the end.

use crate::ids::{NodeId, SwitchId};
use crate::topology::Topology;
use spinewise_policy::{Span, Time};
use std::collections::BTreeSet;
use std::ops::Range;

/// A stretch of time, cut into windows.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Stretch {
    /// Everything before this has been done.
    pub(in crate::engine) start: Time,
    /// The length of its windows; the last may be shorter.
    pub(in crate::engine) window: Span,
    /// The end of the block.
    pub(in crate::engine) end: Time,
}

impl Stretch {
    /// Number of its windows.
    pub(in crate::engine) fn windows(&self) -> u64 {
        self.end.since(self.start).0.div_ceil(self.window.0)
    }

    /// The start and end of window `n`.
    pub(in crate::engine) fn window(&self, n: u64) -> (Time, Time) {
        let start = self.start + self.window * n;
        (start, self.end.min(start + self.window))
    }
}

/// The blocks of a fabric, and how many windows of a stretch each has run.
#[derive(Debug)]
pub(super) struct Blocks {
    /// The nodes, block by block.
    nodes: Vec<NodeId>,
    /// Where each block begins in `nodes`, and where the last ends.
    first: Vec<usize>,
    /// The blocks linked to each block, block by block.
    neighbours: Vec<usize>,
    /// Where the neighbours of each block begin in `neighbours`, and where the last end.
    first_neighbour: Vec<usize>,
    /// Windows that each block has run.
    done: Vec<u64>,
}

impl Blocks {
    /// The blocks of a fabric.
    pub(super) fn of(topology: &Topology) -> Blocks {
        let around = switches_around(topology);
        let order = in_order_of_visits(topology, &around);
        let mut number = vec![0; around.len()];
        order.iter().enumerate().for_each(|(block, &switch)| number[switch.index()] = block);
        let mut blocks = Blocks {
            nodes: Vec::new(),
            first: vec![0],
            neighbours: Vec::new(),
            first_neighbour: vec![0],
            done: vec![0; order.len()],
        };
        for switch in order {
            let hosts = topology.hosts_of(switch).iter().map(|&host| topology.host_node(host));
            blocks.nodes.extend(hosts.chain([topology.switch_node(switch)]));
            blocks.first.push(blocks.nodes.len());
            blocks.neighbours.extend(around[switch.index()].iter().map(|&other| number[other.index()]));
            blocks.first_neighbour.push(blocks.neighbours.len());
        }
        blocks
    }

    /// Begins a stretch.
    pub(super) fn begin(&mut self) {
        self.done.fill(0);
    }

    /// All blocks, in visiting order.
    pub(super) fn all(&self) -> Range<usize> {
        0..self.done.len()
    }

    /// The nodes of a block; none for a block past the last.
    pub(super) fn nodes(&self, block: usize) -> &[NodeId] {
        let ends = self.first.get(block).zip(self.first.get(block + 1));
        ends.map_or(&[], |(&first, &end)| &self.nodes[first..end])
    }

    /// The windows that a block may run now, in a stretch of `windows`.
    pub(super) fn may_run(&self, block: usize, windows: u64) -> Range<u64> {
        let neighbours = &self.neighbours[self.first_neighbour[block]..self.first_neighbour[block + 1]];
        let least = neighbours.iter().map(|&other| self.done[other]).min().unwrap_or(windows);
        self.done[block]..windows.min(least + 1)
    }

    /// Records that a block has run its windows up to this one.
    pub(super) fn has_run(&mut self, block: usize, windows: u64) {
        self.done[block] = windows;
    }

    /// Whether all blocks have run this many.
    pub(super) fn have_run(&self, windows: u64) -> bool {
        self.done.iter().all(|&done| done == windows)
    }
}

/// Returns, for each switch, the switches that share a link with it.
pub(in crate::engine) fn switches_around(topology: &Topology) -> Vec<BTreeSet<SwitchId>> {
    let mut around = vec![BTreeSet::new(); topology.switches() as usize];
    for link in topology.links.iter() {
        if let (Some(from), Some(to)) = (topology.as_switch(link.from.0), topology.as_switch(link.to.0)) {
            around[from.index()].insert(to);
            around[to.index()].insert(from);
        }
    }
    around
}

/// Leaves by number, each other switch after the last of those below it.
pub(in crate::engine) fn in_order_of_visits(topology: &Topology, around: &[BTreeSet<SwitchId>]) -> Vec<SwitchId> {
    // The position of the leaf, and how many steps above it.
    let mut places: Vec<Option<(usize, usize)>> = vec![None; around.len()];
    for switch in topology.switch_ids() {
        let below = around[switch.index()].iter().filter_map(|other| places[other.index()]).max();
        places[switch.index()] = Some(match below {
            Some((leaf, steps)) if topology.host_ports(switch) == 0 => (leaf, steps + 1),
            _ => (switch.index(), 0),
        });
    }
    let mut order: Vec<SwitchId> = topology.switch_ids().collect();
    order.sort_by_key(|&switch| (places[switch.index()], switch));
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::tests::fabric;
    use serde_json::json;

    #[test]
    fn switches_come_behind_what_is_below_them() {
        let topology = fabric(json!({"kind": "fat_tree", "k": 4}));
        let order = in_order_of_visits(&topology, &switches_around(&topology));
        let numbers: Vec<u32> = order.iter().map(|switch| switch.number()).collect();
        assert_eq!(numbers[..8], [0, 1, 8, 9, 2, 3, 10, 11], "edges of a pod, then its aggregations");
        assert_eq!(numbers[16..], [16, 17, 18, 19], "cores at the end");
        let blocks = Blocks::of(&topology);
        let mut nodes = blocks.nodes.clone();
        nodes.sort_unstable();
        assert!(nodes.into_iter().eq(topology.node_ids()), "each node is in one block");
        assert_eq!(blocks.nodes(0).len(), 3, "an edge and its two hosts");
        assert!(blocks.nodes(20).is_empty(), "past the last");
    }

    #[test]
    fn a_block_runs_two_windows_at_a_visit_and_none_before_its_neighbours_allow_it() {
        for table in [json!({"kind": "fat_tree", "k": 4}), json!({"leaves": 3, "spines": 2, "hosts_per_leaf": 2})] {
            let topology = fabric(table);
            let around = switches_around(&topology);
            let mut blocks = Blocks::of(&topology);
            let (windows, mut visits) = (10, 0);
            let mut done = vec![0; around.len()];
            blocks.begin();
            while !blocks.have_run(windows) {
                for block in blocks.all() {
                    let run = blocks.may_run(block, windows);
                    let switch = topology.switch_number(blocks.nodes(block)[blocks.nodes(block).len() - 1]);
                    for n in run.clone() {
                        assert_eq!(n, done[switch.index()], "in order");
                        let behind = around[switch.index()].iter().any(|other| done[other.index()] < n);
                        assert!(!behind, "{switch:?} runs window {n}: what comes in it has been sent");
                        done[switch.index()] += 1;
                    }
                    visits += usize::from(!run.is_empty());
                    blocks.has_run(block, run.end);
                }
            }
            assert!(done.iter().all(|&done| done == windows));
            assert!(visits <= 6 * around.len(), "{visits} visits for 10 windows of {} blocks", around.len());
        }
    }

    #[test]
    fn the_last_window_of_a_stretch_may_be_shorter() {
        let stretch = Stretch { start: Time(100), window: Span(30), end: Time(170) };
        let windows: Vec<_> = (0..stretch.windows()).map(|n| stretch.window(n)).collect();
        assert_eq!(windows, [(Time(100), Time(130)), (Time(130), Time(160)), (Time(160), Time(170))]);
    }
}
