//! Places, and the needs of a scheme there: rows, timers and room for its actions.

use crate::Span;

/// The tier of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// A host.
    Host,
    /// The switch hosts are attached to.
    Leaf,
    /// The middle tier of a fat-tree.
    Aggregation,
    /// The top: spine of a leaf-spine, core of a fat-tree.
    Spine,
}

/// The place a seat is made for: input to [`Policy::layout`].
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Tier of this device.
    pub tier: Tier,
    /// Hosts in the network.
    pub hosts: u32,
    /// Leaves in the network.
    pub leaves: u32,
    /// Ports of this device.
    pub ports: u16,
    /// Rows per peer in [`Table::routes`]: at least the number of ways to any peer, of a leaf's uplinks, and of the
    /// equal-cost ports of any switch.
    pub ways: u16,
}

/// The peers for which `Peer` and `Route` rows are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Peers {
    /// None.
    #[default]
    None,
    /// Destination hosts.
    Hosts,
    /// Destination leaves (racks).
    Leaves,
}

/// When the first tick comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// After one period, the same at every place.
    #[default]
    Zero,
    /// After a random part of the period, from a named stream of the place.
    Random,
}

/// The needs of a seat: rows, timers and room for actions.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The peers.
    pub peers: Peers,
    /// Whether the rows of all peers exist from the beginning, in the order of their ids. If not, each exists from the
    /// first meeting.
    pub all_peers: bool,
    /// Rows per peer in [`Table::routes`] if they are not for ways; 0: one per way.
    pub slots: u16,
    /// A flow row that is idle for longer than this is forgotten ([`Span::FOREVER`]: never). Rows with an armed timer
    /// or a held queue are pinned.
    pub flow_idle: Span,
    /// Period of [`Policy::tick`].
    pub tick: Span,
    /// Phase of the ticks.
    pub phase: Phase,
    /// Most actions of one hook call.
    pub actions: usize,
    /// Most bytes of message bodies of one hook call.
    pub bytes: usize,
    /// Held queues per port.
    pub queues: u16,
    /// Asks for an oracle: [`SwitchView::free_queues`].
    pub free_queues: bool,
    /// Asks the operator for the rate of each path: [`HostView::path_rates`].
    pub path_rates: bool,
    /// At switches: whether a controller is asked which paths are equivalent:
    /// [`site::Ports::told_component`](crate::site::Ports::told_component).
    pub components: bool,
    /// At hosts: whether [`Policy::pick`] is called for acknowledgements too. If not, the fabric's own scheme spreads
    /// them.
    pub picks_acks: bool,
    /// At hosts: whether tags are flow labels or source ports of a tunnel, any 16-bit number, for switches to hash. If
    /// so, the spec reads them as such by default and refuses to take them for paths.
    pub draws_tags: bool,
}

impl Default for Layout {
    fn default() -> Self {
        Layout {
            peers: Peers::None,
            all_peers: false,
            slots: 0,
            flow_idle: Span::FOREVER,
            tick: Span::ZERO,
            phase: Phase::Zero,
            actions: 8,
            bytes: 0,
            queues: 0,
            free_queues: false,
            path_rates: false,
            components: false,
            picks_acks: false,
            draws_tags: false,
        }
    }
}
