//! Numbering of switches, ports and hosts in a fat-tree, as given by an operator to switches that forward by intervals.

/// The sizes of a fat-tree.
///
/// Switches are numbered leaves first, then aggregation switches, then cores. A leaf has its hosts at its first ports,
/// then a link to each aggregation switch of its pod; uplink `j` leads to the one of column `j`. An aggregation switch
/// has the leaves of its pod first, then the cores of its column. A core has one port per pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tree {
    /// Pods.
    pub pods: u32,
    /// Leaves of a pod.
    pub leaves_per_pod: u32,
    /// Aggregation switches of a pod: uplinks of a leaf.
    pub columns: u32,
    /// Cores of a column: uplinks of an aggregation switch.
    pub cores_per_column: u32,
    /// Hosts of a leaf.
    pub hosts_per_leaf: u32,
}

/// The position of a switch in a fat-tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    /// A leaf.
    Leaf {
        /// Its pod.
        pod: u32,
    },
    /// An aggregation switch.
    Aggregation {
        /// Its pod.
        pod: u32,
        /// The uplink of the leaves of its pod that leads to it.
        column: u32,
    },
    /// A core.
    Core {
        /// The column whose aggregation switches it is linked to.
        column: u32,
        /// The uplink of those switches that leads to it.
        row: u32,
    },
}

impl Tree {
    /// Number of leaves.
    pub const fn leaves(&self) -> u32 {
        self.pods * self.leaves_per_pod
    }

    /// Number of hosts.
    pub const fn hosts(&self) -> u32 {
        self.leaves() * self.hosts_per_leaf
    }

    /// Number of switches.
    pub const fn switches(&self) -> u32 {
        self.leaves() + self.columns * (self.pods + self.cores_per_column)
    }

    /// Returns the position of a switch.
    pub const fn spot(&self, switch: u32) -> Spot {
        let (leaves, aggregations) = (self.leaves(), self.pods * self.columns);
        if switch < leaves {
            Spot::Leaf { pod: switch / self.leaves_per_pod }
        } else if switch < leaves + aggregations {
            let number = switch - leaves;
            Spot::Aggregation { pod: number / self.columns, column: number % self.columns }
        } else {
            let number = switch - leaves - aggregations;
            Spot::Core { column: number / self.cores_per_column, row: number % self.cores_per_column }
        }
    }

    /// Uplinks of a switch.
    pub const fn uplinks(&self, switch: u32) -> u32 {
        match self.spot(switch) {
            Spot::Leaf { .. } => self.columns,
            Spot::Aggregation { .. } => self.cores_per_column,
            Spot::Core { .. } => 0,
        }
    }

    /// Ports of a switch that lead down, which are its first.
    pub const fn downlinks(&self, switch: u32) -> u32 {
        match self.spot(switch) {
            Spot::Leaf { .. } => self.hosts_per_leaf,
            Spot::Aggregation { .. } => self.leaves_per_pod,
            Spot::Core { .. } => self.pods,
        }
    }

    /// Returns the uplink number of a port; `None` if it leads down.
    pub const fn uplink(&self, switch: u32, port: u16) -> Option<u32> {
        (port as u32).checked_sub(self.downlinks(switch))
    }

    /// First and last address that a port leads to, as in a port's registers in interval routing: those below it, or
    /// all for one that leads up. None if there is no such port.
    pub const fn range(&self, switch: u32, port: u16) -> Option<(u32, u32)> {
        let port = port as u32;
        let (first, hosts) = match self.spot(switch) {
            _ if switch >= self.switches() || port >= self.downlinks(switch) + self.uplinks(switch) => return None,
            _ if port >= self.downlinks(switch) => (0, self.hosts()),
            Spot::Leaf { .. } => (switch * self.hosts_per_leaf + port, 1),
            Spot::Aggregation { pod, .. } => {
                ((pod * self.leaves_per_pod + port) * self.hosts_per_leaf, self.hosts_per_leaf)
            }
            Spot::Core { .. } => {
                let hosts = self.leaves_per_pod * self.hosts_per_leaf;
                (port * hosts, hosts)
            }
        };
        Some((first, first + hosts - 1))
    }
}

/// A parameter with which a scheme cannot divide the uplinks of a tier into equal groups: the answer of
/// [`crate::Policy::uneven`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uneven {
    /// The parameter.
    pub param: &'static str,
    /// Groups it asks for.
    pub groups: u32,
    /// Uplinks of a switch of that tier.
    pub uplinks: u32,
    /// The tier.
    pub tier: crate::Tier,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The 8-ary tree of LBSP's figures.
    const EIGHT: Tree = Tree { pods: 8, leaves_per_pod: 4, columns: 4, cores_per_column: 4, hosts_per_leaf: 4 };

    #[test]
    fn ranges_are_those_of_the_paper() {
        let (t31, a31, c15) = (31, 32 + 31, 64 + 15);
        assert_eq!((EIGHT.hosts(), EIGHT.switches()), (128, 80));
        assert_eq!(EIGHT.range(a31, 3), Some((124, 127)), "LBSP section 3.3.1: A31-T31");
        assert_eq!(EIGHT.range(c15, 7), Some((112, 127)), "LBSP section 3.3.2: A31-C15");
        assert_eq!(EIGHT.range(a31, 7), Some((0, 127)), "an uplink leads to every host");
        assert_eq!(EIGHT.range(t31, 2), Some((126, 126)));
        assert_eq!([EIGHT.range(c15, 8), EIGHT.range(a31, 8), EIGHT.range(80, 0)], [None; 3]);
        assert_eq!(EIGHT.spot(a31), Spot::Aggregation { pod: 7, column: 3 });
        assert_eq!(EIGHT.spot(c15), Spot::Core { column: 3, row: 3 });
        assert_eq!([EIGHT.uplink(t31, 3), EIGHT.uplink(t31, 4), EIGHT.uplink(a31, 7)], [None, Some(0), Some(3)]);
    }
}
