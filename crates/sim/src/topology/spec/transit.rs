//! The leaves of a graph that only other leaves join.

use std::collections::BTreeSet;

use super::links::Graph;

/// Pairs of leaves whose packets must pass through another leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transit {
    /// The first pair, as nodes of the graph.
    pub first: (u32, u32),
    /// Number of pairs.
    pub pairs: usize,
}

impl Graph {
    /// Pairs of leaves without a path over switches that have no hosts; `None` where every switch has hosts, which are
    /// meant to forward for each other. Static routes are taken as intended, too.
    pub(crate) fn transit(&self) -> Option<Transit> {
        let leaves: BTreeSet<u32> = self.leaf_nodes();
        if leaves.len() == self.switches as usize || !self.routes.is_empty() {
            return None;
        }
        // Switches without hosts that reach each other without a leaf have one root.
        let mut root: Vec<u32> = (0..self.hosts + self.switches).collect();
        let between = || self.links.iter().filter(|link| link.a >= self.hosts && link.b >= self.hosts);
        for link in between().filter(|link| !leaves.contains(&link.a) && !leaves.contains(&link.b)) {
            let (a, b) = (find(&mut root, link.a), find(&mut root, link.b));
            root[a as usize] = b;
        }
        let mut above = vec![BTreeSet::new(); root.len()];
        for link in between() {
            for (leaf, other) in [(link.a, link.b), (link.b, link.a)] {
                if leaves.contains(&leaf) {
                    let end = if leaves.contains(&other) { other } else { find(&mut root, other) };
                    above[leaf as usize].insert(end);
                }
            }
        }
        let joined = |a: u32, b: u32| {
            let (one, other) = (&above[a as usize], &above[b as usize]);
            one.contains(&b) || !one.is_disjoint(other)
        };
        let leaves: Vec<u32> = leaves.into_iter().collect();
        let pairs = leaves.iter().enumerate().flat_map(|(n, &a)| leaves[n + 1..].iter().map(move |&b| (a, b)));
        let mut apart = pairs.filter(|&(a, b)| !joined(a, b));
        let first = apart.next()?;
        Some(Transit { first, pairs: 1 + apart.count() })
    }

    /// The switches that have hosts.
    fn leaf_nodes(&self) -> BTreeSet<u32> {
        let ends = self.links.iter().map(|link| (link.a.min(link.b), link.a.max(link.b)));
        ends.filter(|&(low, high)| low < self.hosts && high >= self.hosts).map(|(_, high)| high).collect()
    }
}

/// The root of a node; the path to it is shortened.
fn find(root: &mut [u32], mut node: u32) -> u32 {
    while root[node as usize] != node {
        let next = root[root[node as usize] as usize];
        root[node as usize] = next;
        node = next;
    }
    node
}
