//! The tables that the data path and the agent share, as in `bpf/edge.h`.

use bytemuck::{Pod, Zeroable};

/// Most paths to one peer.
pub const WAYS: usize = 64;
/// Decisions published at a time.
pub const SLOTS: usize = 256;
/// Most peers.
pub const PEERS: usize = 1024;
/// Headers of the scheme that may wait to be sent to one peer.
pub const HEADERS: usize = 64;
/// Flag in a slot: its packet belongs to the burst.
pub const BURST: u16 = 0x8000;

/// What is placed as a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Unit {
    /// Every packet separately.
    Packet = 0,
    /// Flowcells.
    Cell = 1,
    /// Flowlets.
    Flowlet = 2,
}

/// Where the next unit of a flow goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Then {
    /// The next slot.
    Turn = 0,
    /// The way after its own.
    After = 1,
    /// Its own way, as long as that may be kept.
    Keep = 2,
}

/// `struct edge_table`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Table {
    /// A longer idle time opens a flowlet, nanoseconds.
    pub gap_ns: u64,
    /// Ways that are alive, one bit each.
    pub open: u64,
    /// Ways on which a flow stays even if a flowlet opens.
    pub keep: u64,
    /// A full flowcell.
    pub cell_packets: u32,
    /// The cursor at publication.
    pub base: u32,
    /// A [`Unit`].
    pub unit: u8,
    /// A [`Then`].
    pub then: u8,
    /// Whether packets without payload are units like others.
    pub picks_acks: u8,
    /// 0: traffic is left plain.
    pub tunnel: u8,
    /// The peer hides marks of this traffic from its transport.
    pub hide: u8,
    /// Marks of traffic from this peer are hidden here.
    pub hide_here: u8,
    /// Number of ways.
    pub ways: u16,
    /// Number of the burst that slots with [`BURST`] belong to.
    pub burst: u16,
    /// Unused.
    pub spare: [u16; 3],
    /// Ways of the next units.
    pub slots: [u16; SLOTS],
    /// The way after a way.
    pub after: [u16; WAYS],
    /// Ways of packets that the scheme leaves to the fabric.
    pub fabric: [u16; WAYS],
    /// Source port of each way.
    pub ports: [u16; WAYS],
}

/// `struct edge_flow`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Flow {
    /// When its last packet left.
    pub last: u64,
    /// Packets of this unit.
    pub sent: u32,
    /// Its way.
    pub way: u16,
    /// Whether there has been a packet.
    pub seen: u16,
}

/// `struct edge_sent`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Sent {
    /// Packets.
    pub packets: u64,
    /// Bytes, outer headers included.
    pub bytes: u64,
}

/// `struct edge_received`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Received {
    /// Packets.
    pub packets: u64,
    /// Bytes, outer headers included.
    pub bytes: u64,
    /// Packets that were marked.
    pub marked: u64,
    /// When the newest was sent.
    pub stamp: u32,
    /// When it arrived.
    pub arrived: u32,
    /// The port it arrived by.
    pub port: u16,
    /// Life of the agent that sent it.
    pub instance: u16,
    /// Probes of this way that were answered.
    pub answered: u32,
}

/// `struct edge_echo`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Echo {
    /// Round trips, sum over samples, in 256 ns.
    pub rtt: u64,
    /// Arrivals less departures less `origin`, by two clocks, likewise.
    pub apart: i64,
    /// Samples.
    pub samples: u32,
    /// Packets the peer has received, as last reported.
    pub packets: u32,
    /// Stamp of the last sample.
    pub last: u32,
    /// What `apart` counts from. If it changes, so does the meaning of the sum.
    pub origin: u32,
    /// Life of the agent that reported.
    pub instance: u16,
    /// Unused.
    pub spare: [u16; 3],
}

/// `struct edge_burst`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Burst {
    /// When its first packet came, ns.
    pub first: u64,
    /// When its last one did.
    pub last: u64,
    /// Bytes of all but the first.
    pub bytes: u32,
    /// Its number.
    pub id: u16,
    /// Packets.
    pub packets: u16,
    /// Its way.
    pub way: u16,
    /// Its port.
    pub port: u16,
    /// Life of the agent that numbered it.
    pub instance: u16,
    /// Unused.
    pub spare: u16,
}

/// `struct edge_state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct State {
    /// Units opened.
    pub cursor: u32,
    /// Packets of units.
    pub packets: u32,
    /// Headers of the scheme sent.
    pub tail: u32,
    /// The way to report next.
    pub echo_next: u32,
    /// One more than the highest way by which something has arrived.
    pub received_ways: u32,
    /// Number of the last header that has arrived.
    pub last_header: u16,
    /// The life of the agent that sent it.
    pub instance: u16,
    /// The newest burst that has arrived.
    pub burst: Burst,
    /// Indexed by way.
    pub sent: [Sent; WAYS],
    /// Indexed by the peer's way.
    pub received: [Received; WAYS],
    /// Indexed by way.
    pub echo: [Echo; WAYS],
}

/// `struct edge_headers`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Headers {
    /// One more than the last.
    pub head: u32,
    /// Unused.
    pub spare: u32,
    /// Indexed by number, modulo their count.
    pub header: [[u8; 16]; HEADERS],
}

/// `struct edge_config`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Own {
    /// When the agent was last alive, ns.
    pub beat: u64,
    /// How long its tables hold, ns.
    pub lease_ns: u64,
    /// Own address, bytes as on the wire.
    pub address: [u8; 4],
    /// Port of the tunnel, bytes as on the wire.
    pub port: [u8; 2],
    /// The agent's life.
    pub instance: u16,
    /// MTU of the device.
    pub mtu: u32,
    /// Unused.
    pub spare: u32,
}

/// `struct edge_event`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Event {
    /// When, ns.
    pub at: u64,
    /// Number of the peer.
    pub peer: u32,
    /// Number of an answered probe.
    pub probe: u32,
    /// Its round trip, in 256 ns.
    pub rtt: u32,
    /// Its arrival there less its departure here, by two clocks.
    pub apart: u32,
    /// Way.
    pub way: u16,
    /// Port.
    pub port: u16,
    /// Number of the header.
    pub header_seq: u16,
    /// 0: a header of the scheme has arrived; 2: a probe was answered.
    pub kind: u8,
    /// The packet, or the probe on its way there, was marked.
    pub marked: u8,
    /// The header.
    pub header: [u8; 16],
}

/// The fates of packets, in the order of `enum edge_counter`.
pub const COUNTERS: [&str; 13] = [
    "sent_plain",
    "sent_tunnelled",
    "received_tunnelled",
    "too_big",
    "lease_over",
    "no_room",
    "probes_answered",
    "short",
    "foreign",
    "other_version",
    "malformed",
    "stranger",
    "events_lost",
];

/// The index among them of events that the kernel could not report.
pub const EVENTS_LOST: usize = COUNTERS.len() - 1;

/// One tick of a stamp, ns.
pub const TICK_NS: u64 = 256;
