//! The honesty gate: the information available at a place.
//!
//! A host scheme sees its NIC, its peers and what the operator has given it; it cannot read a switch's queue:
//!
//! ```compile_fail,E0599
//! fn peek(view: &spinewise_policy::HostView<'_>) -> u64 {
//!     view.queue_bytes(spinewise_policy::Port(0))
//! }
//! ```
//!
//! A switch scheme sees its own ports, exactly:
//!
//! ```
//! fn peek(view: &spinewise_policy::SwitchView<'_>) -> u64 {
//!     view.queue_bytes(spinewise_policy::Port(0))
//! }
//! ```

use core::ops::Deref;

use crate::time::Span;
use crate::{Packet, Port, Queue, Tree, Way};

/// A kind of place a scheme can sit at.
pub trait Site {
    /// The information available at that place.
    type View<'a>;
    /// Its name for people.
    const NAME: &'static str;
}

/// The sending and receiving hosts.
pub enum AtHost {}

/// The switches.
pub enum AtSwitch {}

impl Site for AtHost {
    type View<'a> = HostView<'a>;
    const NAME: &'static str = "host";
}

impl Site for AtSwitch {
    type View<'a> = SwitchView<'a>;
    const NAME: &'static str = "switch";
}

/// The information available to a host, including what its operator has given it.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostView<'a> {
    /// This host.
    pub host: u32,
    /// Its leaf.
    pub leaf: u32,
    /// Leaf of every host (addresses are assigned by rack).
    pub leaf_of: &'a [u32],
    /// Paths to each leaf from this rack (by discovery or configuration).
    pub ways: &'a [u16],
    /// Given: bits per second of this host's link.
    pub link_rate: u64,
    /// Given: bits per second of an unloaded path (the slowest link on it).
    pub path_rate: u64,
    /// Given, if [`crate::Layout::path_rates`] asks for it: bits per second of each path from this rack (the slowest
    /// link between the leaves), by leaf and way, with the same number of ways for each leaf. From the controller's
    /// knowledge of the wiring, not from measurement.
    pub path_rates: &'a [u64],
    /// Given: round-trip time of a full packet and its acknowledgement on an empty path between racks.
    pub base_rtt: Span,
    /// Given: how long the full packet of that round trip takes one way.
    pub base_one_way: Span,
    /// Largest payload of a packet, bytes.
    pub mss: u32,
    /// Largest packet, bytes on the wire.
    pub mtu: u32,
}

impl HostView<'_> {
    /// Returns how many paths lead to `host`.
    #[inline]
    pub fn ways_to_host(&self, host: u32) -> u16 {
        self.ways[self.leaf_of[host as usize] as usize]
    }

    /// Given: bits per second of one path to `host`, between the leaves; [`HostView::path_rate`] unless
    /// [`HostView::path_rates`] gives more detail.
    #[inline]
    pub fn rate_to_host(&self, host: u32, way: u16) -> u64 {
        let stride = self.path_rates.len() / self.ways.len().max(1);
        let at = self.leaf_of[host as usize] as usize * stride + usize::from(way);
        if usize::from(way) < stride { self.path_rates[at] } else { self.path_rate }
    }
}

/// The shell's information about the switch for a switch scheme: [`SwitchView`] has these methods too. A shell that
/// does not provide some information keeps the answer given here. For a leaf that the network does not have, the answer
/// is empty: no ports, no paths, no capacity.
pub trait Ports {
    /// Bytes queued at `port` now, by the convention of the spec (`switch.queue_counts`).
    fn queue_bytes(&self, port: Port) -> u64;

    /// Packets queued at `port` now.
    fn queue_packets(&self, port: Port) -> u32;

    /// Bytes of data queued at `port` now; control packets with their own queue do not count.
    fn data_bytes(&self, port: Port) -> u64 {
        self.queue_bytes(port)
    }

    /// Capacity of `port` for data, in bytes: its own, or, with a shared buffer, what one queue may take if all others
    /// are empty. [`u64::MAX`] if unbounded.
    fn queue_room(&self, port: Port) -> u64 {
        let _ = port;
        u64::MAX
    }

    /// Returns how long the link at `port` has been sending so far, in total: a counter of the port.
    fn busy_time(&self, port: Port) -> Span {
        let _ = port;
        Span::ZERO
    }

    /// Whether the neighbour behind `port` has paused data there (IEEE 802.1Qbb).
    fn is_paused(&self, port: Port) -> bool {
        let _ = port;
        false
    }

    /// Rate of the link at `port`, bits per second.
    fn rate(&self, port: Port) -> u64;

    /// A held queue of `port` that is free, if any.
    fn free_queue(&self, port: Port) -> Option<Queue>;

    /// Returns how long a packet that joins the queue of `port` now waits until its transmission starts, if nothing
    /// pauses the port: exact if the port is a plain FIFO; otherwise from the queue alone, without the rest of the
    /// packet in transmission.
    fn queueing_delay(&self, port: Port) -> Span {
        let bits = u128::from(self.queue_bytes(port)) * 8;
        Span((bits * 1_000_000_000_000 / u128::from(self.rate(port))) as u64)
    }

    /// Leaf of a host: addresses are assigned by rack.
    fn leaf_of(&self, host: u32) -> u32;

    /// A salt that all switches of the fabric share, set by the operator, for decisions on which they must agree;
    /// [`SwitchView::salt`] is each switch's own.
    fn fabric_salt(&self) -> u64 {
        0
    }

    /// The switch's own routes: its equal-cost ports towards `leaf` in order, which are the candidates of a packet for
    /// that leaf; none for itself.
    fn towards(&self, leaf: u32) -> &[u16] {
        let _ = leaf;
        &[]
    }

    /// Given by the operator: the numbering of this fat-tree; `None` in other fabrics.
    fn tree(&self) -> Option<Tree> {
        None
    }

    /// Given by a fault manager that knows the topology as built: whether a link that is down lies on a shortest path
    /// from this leaf to `leaf`. Like everything given, it is set before the run, and a scheme that reads it says so in
    /// [`Sheet::told`](crate::Sheet::told).
    fn told_loss(&self, leaf: u32) -> bool {
        let _ = leaf;
        false
    }

    /// Given by a controller that knows the topology: the `n`-th of the equal-cost ports of leaf `from` towards leaf
    /// `to`, and the bits per second that the paths through it can carry; `None` if there are fewer.
    fn told_path(&self, from: u32, to: u32, n: usize) -> Option<(Port, u64)> {
        let _ = (from, to, n);
        None
    }

    /// Given by a controller that knows the topology: bits per second that the paths through `port` can carry to
    /// `leaf`: the lower of the port's link and what is beyond it. 0 for a port that leads to a host.
    fn told_capacity(&self, port: Port, leaf: u32) -> u64 {
        let _ = leaf;
        self.rate(port)
    }

    /// Given by a controller that knows the topology, if [`crate::Layout::components`] asks for it: the `n`-th
    /// symmetric component of the paths from leaf `from` to leaf `to`: the bits per second that it can carry, and this
    /// switch's ports on it, in order (none if it does not pass here). `None` if there are fewer, or if all paths are
    /// equivalent. It follows this switch's map of the fabric.
    fn told_component(&self, from: u32, to: u32, n: usize) -> Option<(u64, &[u16])> {
        let _ = (from, to, n);
        None
    }

    /// Given by a controller that knows the topology: how many whole paths lead from this leaf to `leaf` when nothing
    /// is broken, numbered like a host's path tags. 0 if an uplink fully determines a path, if a packet may have more
    /// than two choices, if no path begins with a current route, and at a switch that is not a leaf.
    fn told_paths(&self, leaf: u32) -> u16 {
        let _ = leaf;
        0
    }

    /// Given by a controller that knows the topology: this switch's port on whole path `way` from leaf `from` to leaf
    /// `to`, if it has a choice there when nothing is broken. The link may be down now.
    fn told_hop(&self, from: u32, to: u32, way: Way) -> Option<Port> {
        let _ = (from, to, way);
        None
    }
}

/// The information available to a switch about itself.
#[derive(Clone, Copy)]
pub struct SwitchView<'a> {
    /// This switch: leaves first, then spines.
    pub switch: u32,
    /// Its tier.
    pub tier: crate::Tier,
    /// Equal-cost output ports for the packet in hand (empty outside `pick`).
    pub candidates: &'a [u16],
    /// Ports `0..host_ports` lead to hosts, the others to switches.
    pub host_ports: u16,
    /// A salt of its own for hashing, as switch vendors configure.
    pub salt: u64,
    /// Its ports; a view has their methods.
    pub ports: &'a dyn Ports,
    /// An oracle that no real switch has: free held queues of every host's port at that host's leaf, as of the last
    /// instant of the run's grid. Empty unless [`crate::Layout::free_queues`] asks for it.
    pub free_queues: &'a [u16],
}

impl SwitchView<'_> {
    /// The place of a port among the candidates; none if it does not, or no longer, lead to the packet's destination.
    #[inline]
    pub fn way_of(&self, port: u16) -> Option<usize> {
        self.candidates.iter().position(|&candidate| candidate == port)
    }

    /// Whether this is the first leaf of the packet in hand: it came from a host. In a graph packets also pass through
    /// leaves between their first and their last one.
    #[inline]
    pub fn is_first_leaf(&self, packet: &Packet) -> bool {
        self.tier == crate::Tier::Leaf && packet.in_port.0 < self.host_ports
    }
}

impl<'a> Deref for SwitchView<'a> {
    type Target = dyn Ports + 'a;

    #[inline]
    fn deref(&self) -> &Self::Target {
        self.ports
    }
}
