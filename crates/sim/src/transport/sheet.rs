//! A transport configuration's declarations before a run, for the rest of a spec and the set-up.
//!
//! A transport's declarations during a run are in [`Facts`](super::contract::Facts).

use super::TransportSpec;
use spinewise_policy::time::Span;

/// The sizes of packets, bytes, whatever the transport.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Payload of a full data packet.
    pub mss: u32,
    /// Bytes of a data packet on the wire in addition to its payload.
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

/// A configuration's declarations about its transport.
#[derive(Clone, Copy, Debug)]
pub struct Sheet {
    /// Its word in `transport.kind`.
    pub kind: &'static str,
    /// Its packets.
    pub frame: Frame,
    /// Its NIC asks its flows for packets, whatever `switch.nics` says.
    pub pulls: bool,
    /// Ports write telemetry into its packets.
    pub collects_telemetry: bool,
    /// Senders learn of marks.
    pub hears_marks: bool,
    /// Receivers know what a packet without its payload means.
    pub knows_trims: bool,
    /// Receivers send packets that have entropy values of their own, whatever the scheme.
    pub grants_by_value: bool,
    /// Connections or queue pairs from one host to another that messages share, if they do.
    pub connections: Option<u32>,
    /// The number of paths of its own over which each flow is sent, and the key that sets it; 0: a flow uses its own
    /// number.
    pub paths: (&'static str, u32),
    /// The maximum of `subflows` in a traffic entry.
    pub most_subflows: u32,
    /// Bytes of the longest flow whose packets it can number.
    pub most_bytes: u64,
    /// A timeout that does not depend on the round trips that senders measure, and its key.
    pub fixed_timeout: Option<(&'static str, Span)>,
    /// The least wait before the first retransmission by timer; none where no two are alike.
    pub least_timeout: Option<Span>,
}

impl TransportSpec {
    /// Its sheet.
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
