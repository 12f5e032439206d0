//! The load-balancing schemes of Spinewise and the contract they are written against.
//!
//! A scheme is one file in [`schemes`] with a [`Policy`] implementation, which includes its fact sheet ([`Sheet`]). It
//! owns its *configuration* and nothing else. The **shell** (the simulator or the Linux agent) keeps all state in rows
//! that the scheme declares: per flow, per peer, per (peer, way), per port, per device. It lends them to each hook
//! together with the time, a random stream, a [`Site::View`] of what this place can honestly know, and an [`Out`] for
//! the actions it requests.
//!
//! ```text
//!            arrives           leaves
//!   host ── pick ──▶ link ──▶ switch: pick, egress ──▶ … ──▶ last switch: ingress ──▶ host: ingress
//!     ▲                                                                              │
//!     └── feedback (ACK, loss, timeout, probe)  ◀────────────────────────────────────┘
//! ```
//!
//! Rules: `pick`, `feedback`, `ingress` and `egress` are integer-only, bounded and allocation-free. Only `tick` may use
//! floating point; it publishes its result in rows that `pick` reads. The crate is `no_std`, without `alloc` and
//! `unsafe`, so a scheme cannot read clocks, files or memory that is not its own.
#![no_std]
#![forbid(unsafe_code)]
// A sheet that fills in all fields keeps its base, which gives the next new field its default.
#![allow(clippy::needless_update)]

pub mod config;
pub mod edge;
pub mod events;
pub mod fabric;
pub mod flowlet;
pub mod hash;
pub mod layout;
pub mod out;
pub mod packet;
pub mod rng;
pub mod rows;
pub mod schemes;
pub mod sees;
pub mod sheet;
pub mod site;
pub mod time;
pub mod tree;

pub use config::{Facts, Params, Value};
pub use events::{Change, Event, Feedback, Message, Verdict};
pub use layout::{Layout, Peers, Phase, Shape, Tier};
pub use out::{Key, Out, To};
pub use packet::{Hashed, Kind, Packet};
pub use rng::Rng;
pub use rows::{Table, Wire};
pub use sees::{Decides, Listed, Quantity, Rule, Sees, Series, Sight};
pub use sheet::{Aware, Compared, Needs, Sheet};
pub use site::{AtHost, AtSwitch, HostView, Site, SwitchView};
pub use time::{Span, Time};
pub use tree::{Tree, Uneven};

/// An equal-cost candidate at the device that chooses: an uplink for a switch, an end-to-end path for a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Way(pub u16);

impl Way {
    /// "No choice of mine": the fabric's own scheme decides.
    pub const ANY: Way = Way(u16::MAX);

    /// Returns it as an index into the rows of a peer.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A port of this switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port(pub u16);

impl Port {
    /// Returns it as an index into the port rows.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A held queue of a port, `0..Layout::queues`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue(pub u16);

/// A host or a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Device {
    /// Host by number.
    Host(u32),
    /// Switch by number: leaves first, then spines.
    Switch(u32),
}

/// One direction of one flow, as rows are keyed: data and acknowledgements have different keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey(pub u32);

impl FlowKey {
    /// The data of flow `number`.
    #[inline(always)]
    pub const fn data(number: u32) -> FlowKey {
        FlowKey(number << 1)
    }

    /// The acknowledgements of flow `number`.
    #[inline(always)]
    pub const fn ack(number: u32) -> FlowKey {
        FlowKey(number << 1 | 1)
    }
}

/// The hooks that a scheme implements in addition to `pick`: a hook that is not listed is never called and costs
/// nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hooks(pub u16);

impl Hooks {
    /// Only `pick`.
    pub const NONE: Hooks = Hooks(0);
    /// [`Policy::egress`].
    pub const EGRESS: Hooks = Hooks(1);
    /// [`Policy::ingress`].
    pub const INGRESS: Hooks = Hooks(2);
    /// [`Policy::feedback`], except losses.
    pub const FEEDBACK: Hooks = Hooks(4);
    /// [`Policy::feedback`] for `Retransmit` and `Timeout` too: the shell then remembers the way of every outstanding segment.
    pub const LOSS: Hooks = Hooks(8);
    /// [`Policy::message`].
    pub const MESSAGE: Hooks = Hooks(16);
    /// [`Policy::timer`].
    pub const TIMER: Hooks = Hooks(32);
    /// [`Policy::tick`].
    pub const TICK: Hooks = Hooks(64);
    /// [`Policy::link`].
    pub const LINK: Hooks = Hooks(128);
    /// [`Policy::drained`].
    pub const DRAINED: Hooks = Hooks(256);
    /// Everything.
    pub const ALL: Hooks = Hooks(511);

    /// Both.
    pub const fn and(self, other: Hooks) -> Hooks {
        Hooks(self.0 | other.0)
    }

    /// Whether this includes all of `other`.
    #[inline]
    pub const fn has(self, other: Hooks) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Which packets a scheme at switches sends by a hash of the header. For these packets, a value that a host wrote in
/// the header ([`Layout::draws_tags`]) chooses the path; under other schemes it has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hashes {
    /// No data.
    Nothing,
    /// Some of it, or all of it by its own hash.
    OwnWay,
    /// All of it, by [`Packet::spread`] over the candidates. The shell then hashes packets itself and calls
    /// [`Policy::pick`] only where choices are traced.
    Evenly,
}

/// The context lent to a hook.
pub struct Cx<'a, P: Policy> {
    /// The current time.
    pub now: Time,
    /// This device's row.
    pub node: &'a mut P::Node,
    /// Rows of peers and ways.
    pub peers: Table<'a, P::Peer, P::Route>,
    /// Rows of this switch's ports.
    pub ports: &'a mut [P::Port],
    /// Knowledge available at this place.
    pub view: <P::Site as Site>::View<'a>,
    /// This seat's random stream.
    pub rng: &'a mut Rng,
    /// The requested actions.
    pub out: Out<'a>,
}

/// A load-balancing scheme.
pub trait Policy: Sized {
    /// Its description for readers. It does not affect runs, except through the name, which seeds the random streams.
    const SHEET: Sheet;
    /// The hooks implemented beyond `pick`.
    const HOOKS: Hooks = Hooks::NONE;
    /// Whether it forwards by the numbering of a fat-tree ([`site::Ports::tree`]). If so, other fabrics are refused.
    /// Its candidates are those of the intact tree, whatever links are down: the scheme must avoid dead links itself,
    /// and packets it sends to a dead link are lost.
    const IN_TREES: bool = false;
    /// At switches: which packets it sends by a hash of the header.
    const HASHES: Hashes = Hashes::Nothing;
    /// Where it sits: [`AtHost`] or [`AtSwitch`].
    type Site: Site;
    /// Its parameters, with the paper's defaults.
    type Config: Params;
    /// Row per flow and direction.
    type Flow: Clone + Default;
    /// Row per peer.
    type Peer: Clone + Default;
    /// Row per (peer, way).
    type Route: Clone + Default;
    /// Row per port of a switch.
    type Port: Clone + Default;
    /// Row per device.
    type Node: Clone + Default;
    /// In-band header.
    type Header: Wire;

    /// The scheme with these parameters.
    fn new(config: &Self::Config) -> Self;

    /// [`Policy::HOOKS`]; for a scheme that wraps others, whose hooks are known only when it runs, their hooks.
    #[inline]
    fn hooks(&self) -> Hooks {
        Self::HOOKS
    }

    /// Which row is lent for a packet or event of this flow and direction. A scheme in which the ends of a connection
    /// send according to what they receive has one row for both directions: `FlowKey(key.0 & !1)`.
    #[inline(always)]
    fn row_of(key: FlowKey) -> FlowKey {
        key
    }

    /// The needs of a seat at this place.
    fn layout(&self, shape: &Shape) -> Layout {
        let _ = shape;
        Layout::default()
    }

    /// Most bytes that [`Policy::Header`] takes on the wire: shared buffers reserve room for them.
    fn header_bytes(&self) -> u32 {
        16
    }

    /// A parameter that asks for more than this place has, and its allowed values here: refused unless it is the
    /// default.
    fn misfit(&self, shape: &Shape) -> Option<(&'static str, config::Allowed)> {
        let _ = shape;
        None
    }

    /// A parameter with which the uplinks of this tree do not form groups of equal size (schemes [`Policy::IN_TREES`]).
    fn uneven(&self, tree: &Tree) -> Option<Uneven> {
        let _ = tree;
        None
    }

    /// A parameter that contradicts another, its allowed values given that other, and the other.
    fn clash(&self) -> Option<(&'static str, config::Allowed, &'static str)> {
        None
    }

    /// A parameter that makes the scheme wait for ECN echoes before it acts, and its allowed values with transports
    /// without ECN.
    fn wants_ecn(&self) -> Option<(&'static str, config::Allowed)> {
        None
    }

    /// A parameter with which the scheme draws conclusions from timeouts that do not hold where packets are dropped and
    /// not trimmed, and its allowed values there.
    fn wants_trimming(&self) -> Option<(&'static str, config::Allowed)> {
        None
    }

    /// Chooses the way of a packet that is about to leave this place. At a switch, the result is an index into
    /// `cx.view.candidates`. The first switch calls this for every packet that crosses the fabric, even with a single
    /// candidate; other switches call it if there is more than one candidate. It is not called for messages, which are
    /// hashed, or for packets with an explicit path tag, which follow it. At a host, the result is the path tag of a
    /// data packet that leaves the rack (with [`Layout::picks_acks`], of an acknowledgement too), or [`Way::ANY`].
    fn pick(&self, cx: &mut Cx<'_, Self>, flow: &mut Self::Flow, packet: &Packet, header: &mut Self::Header) -> Way;

    /// Reports what `pick` is about to consider for this packet of a traced flow, and which rule it will apply. Never
    /// called for other flows.
    fn sees(&self, cx: &Cx<'_, Self>, flow: &Self::Flow, packet: &Packet, sight: &mut Sight<'_>) {
        let _ = (cx, flow, packet, sight);
    }

    /// A packet has been admitted to a port that leads to another switch and is about to be queued; it is not yet
    /// counted in the queue. [`Out::discard`] drops it instead.
    fn egress(&self, cx: &mut Cx<'_, Self>, port: Port, packet: &Packet, header: &mut Self::Header) {
        let _ = (cx, port, packet, header);
    }

    /// A packet leaves the fabric here: at the last switch, once its route is known (switch schemes), or at its
    /// destination host (host schemes). `flow` is the row of the packet's own direction.
    fn ingress(
        &self,
        cx: &mut Cx<'_, Self>,
        flow: &mut Self::Flow,
        packet: &Packet,
        header: &mut Self::Header,
    ) -> Verdict {
        let _ = (cx, flow, packet, header);
        Verdict::Forward
    }

    /// Something was learned about a way (host schemes; for probes, also at switches).
    fn feedback(&self, cx: &mut Cx<'_, Self>, flow: Option<&mut Self::Flow>, feedback: &Feedback) {
        let _ = (cx, flow, feedback);
    }

    /// A message arrived.
    fn message(&self, cx: &mut Cx<'_, Self>, flow: Option<&mut Self::Flow>, message: &Message<'_>) {
        let _ = (cx, flow, message);
    }

    /// A timer armed with [`Out::arm`] expired.
    fn timer(&self, cx: &mut Cx<'_, Self>, flow: Option<&mut Self::Flow>, key: Key) {
        let _ = (cx, flow, key);
    }

    /// A period of [`Layout::tick`] has passed.
    fn tick(&self, cx: &mut Cx<'_, Self>) {
        let _ = cx;
    }

    /// A link of this device changed, in the direction leaving the device. Links that are down or degraded from the
    /// start are reported at time zero.
    fn link(&self, cx: &mut Cx<'_, Self>, port: Port, change: Change) {
        let _ = (cx, port, change);
    }

    /// A held queue that was released has emptied and is free again.
    fn drained(&self, cx: &mut Cx<'_, Self>, flow: Option<&mut Self::Flow>, port: Port, queue: Queue) {
        let _ = (cx, flow, port, queue);
    }
}
