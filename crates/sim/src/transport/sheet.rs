//! What a transport says of itself before a run, by its configuration: what the rest of a spec and the set-up ask of it.
//!
//! What it says of itself during a run are [`Facts`](super::contract::Facts).

use super::TransportSpec;
use spinewise_policy::time::Span;

/// The sizes of packets, bytes, whatever the transport.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Payload of a full data packet.
    pub mss: u32,
    /// What a data packet has on the wire besides its payload.
    pub header: u32,
    /// An acknowledgement on the wire.
    pub ack_bytes: u32,
}

impl Frame {
    /// A full data packet on the wire.
    #[inline]
    pub const fn mtu(&self) -> u32 {
        self.mss + self.header
    }
}

/// What a configuration says of its transport.
#[derive(Clone, Copy, Debug)]
pub struct Sheet {
    /// Its word in `transport.kind`.
    pub kind: &'static str,
    /// Its packets.
    pub frame: Frame,
    /// Its NIC asks its flows for packets, whatever `switch.nics` says.
    pub pulls: bool,
    /// Ports write into its packets what they find.
    pub collects_telemetry: bool,
    /// Senders hear of marks.
    pub hears_marks: bool,
    /// Receivers know what a packet without its payload means.
    pub knows_trims: bool,
    /// Receivers send packets that have entropy values of their own, whatever scheme there is.
    pub grants_by_value: bool,
    /// Connections or queue pairs from a host to another that messages share, if they do.
    pub connections: Option<u32>,
    /// Over how many paths of its own each flow is sent, by which key; 0: it goes by its own number.
    pub paths: (&'static str, u32),
    /// The most that `subflows` of a traffic entry may be.
    pub most_subflows: u32,
    /// Bytes of the longest flow whose packets it can number.
    pub most_bytes: u64,
    /// A timeout that does not follow the round trips that senders measure, and its key.
    pub fixed_timeout: Option<(&'static str, Span)>,
    /// What the first retransmission by timer waits for at least; none where no two are alike.
    pub least_timeout: Option<Span>,
}

impl TransportSpec {
    /// What it says of itself.
    pub fn sheet(&self) -> Sheet {
        match self {
            TransportSpec::Tcp(config) => config.sheet(),
            TransportSpec::Rdma(config) => config.sheet(),
            TransportSpec::Uet(config) => config.sheet(),
        }
    }

    /// Its packets.
    pub fn frame(&self) -> Frame {
        self.sheet().frame
    }
}
