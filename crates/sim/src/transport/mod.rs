//! The transports: state machines that are given the time and say what to do.
//!
//! Nothing here reads a clock, draws a random number, owns a queue or knows of hosts, links or
//! schemes. The caller hands in `now` and what arrived, asks for the next segment or
//! acknowledgement, and keeps the timers whose deadlines the machines report. Configuration is
//! passed in on every call and never stored, so that a row of a million flows is state alone.
//!
//! `contract.rs` says what a transport is, `registry.rs` lists the transports, and `ends.rs` keeps the ends of all flows
//! of the one a run has.
//!
//! | file | what it holds |
//! |---|---|
//! | `contract.rs` | the traits [`contract::Transport`], [`contract::Sender`], [`contract::Receiver`], and what they say |
//! | `registry.rs`, `ends.rs` | [`Ends`]: the ends of all flows of a run, by their transport |
//! | `config.rs` | [`TcpConfig`] and its presets |
//! | `stream.rs` | [`stream::Stream`]: TCP without and with selective acknowledgements, as its layers need it |
//! | `one_path.rs` | [`one_path::Plain`], [`one_path::Selective`]: TCP on one path |
//! | `greeting.rs`, `opening.rs` | [`Opening`]: the three-way handshake, and its packets; [`Opened`]: the layer around a sender |
//! | `tcp.rs` | [`TcpSender`]: slow start, congestion avoidance, Reno and NewReno recovery, timeouts |
//! | `tcp/sack.rs` | [`SackSender`]: the same with selective acknowledgements, RFC 6675 or RACK-TLP |
//! | `sack.rs` | [`Sack`]: the option of an acknowledgement |
//! | `pacing.rs` | [`pacing::PacedStream`]: the layer that keeps a sender's packets apart |
//! | `congestion.rs` | the contract of congestion control, and the registry of controllers: one file each in `congestion/` |
//! | `resequencer.rs` | [`Resequencer`]: holds data back below TCP until what it has overtaken has come |
//! | `rtt.rs` | the round-trip estimate and the retransmission timeout |
//! | `receiver.rs` | [`TcpReceiver`]: reassembly, delayed acknowledgements, ECN echo |
//! | `reassembly.rs` | which bytes of a stream have arrived |
//! | `mptcp.rs` | [`mptcp`]: what a connection of subflows needs: data sequence numbers, coupling, options |
//! | `options.rs` | the options of MPTCP: their bytes, and what travels in them |
//! | `udp.rs` | [`UdpSender`]: constant bit rates by a schedule |
//! | `rdma.rs` | [`rdma::RdmaSender`] and [`rdma::RdmaReceiver`]: the queue pairs of an RNIC |
//! | `uet.rs` | [`uet`]: connections of Ultra Ethernet, which take any order |
//!
//! Left out on purpose: flow control beyond a greatest window. A flow is a known number of bytes in one direction.

pub(crate) mod config;
pub(crate) mod congestion;
pub(crate) mod contract;
mod ends;
mod greeting;
pub(crate) mod mptcp;
pub(crate) mod one_path;
pub(crate) mod opening;
pub(crate) mod options;
pub(crate) mod pacing;
pub(crate) mod rdma;
mod reassembly;
pub(crate) mod receiver;
mod registry;
pub(crate) mod resequencer;
mod rtt;
pub(crate) mod sack;
pub(crate) mod stream;
pub(crate) mod tcp;
pub(crate) mod udp;
pub(crate) mod uet;

pub(crate) use config::TcpConfig;
pub(crate) use congestion::window::Kind;
pub(crate) use ends::{Expired, Heard, Lane, Sending};
pub(crate) use greeting::Greeting;
pub(crate) use opening::{Opened, Opening};
pub(crate) use rdma::RdmaConfig;
pub(crate) use reassembly::Reassembly;
pub(crate) use receiver::TcpReceiver;
pub(crate) use registry::Ends;
pub(crate) use sack::Sack;
pub(crate) use tcp::{Segment, TcpSender};
pub(crate) use udp::{MOST_PACKET_BYTES, Paced, UdpConfig};
pub(crate) use uet::UetConfig;

/// The transport of all flows of a run but UDP, as a spec says it.
#[derive(Clone, Debug, PartialEq)]
pub enum TransportSpec {
    /// TCP.
    Tcp(TcpConfig),
    /// The queue pairs of RNICs.
    Rdma(RdmaConfig),
    /// Connections of Ultra Ethernet.
    Uet(UetConfig),
}

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

impl TransportSpec {
    /// Do ports write into its packets what they find?
    pub fn collects_telemetry(&self) -> bool {
        match self {
            TransportSpec::Tcp(_) | TransportSpec::Uet(_) => false,
            TransportSpec::Rdma(rdma) => rdma.kind.collects_telemetry(),
        }
    }

    /// Is its NIC one that asks its flows for packets in any case?
    pub fn pulls(&self) -> bool {
        match self {
            TransportSpec::Tcp(tcp) => tcp.paces(),
            TransportSpec::Rdma(_) | TransportSpec::Uet(_) => true,
        }
    }

    /// Do its receivers send packets that have entropy values of their own, whatever scheme there is?
    pub const fn grants_by_value(&self) -> bool {
        matches!(self, TransportSpec::Uet(uet) if uet.receiver_credit && uet.pull_values > 1)
    }

    /// Connections or queue pairs from a host to another that messages share, if they do.
    pub const fn connections(&self) -> Option<u32> {
        match self {
            TransportSpec::Tcp(_) => None,
            TransportSpec::Rdma(rdma) => rdma.queue_pairs,
            TransportSpec::Uet(uet) => uet.connections,
        }
    }

    /// Bytes of the longest flow whose packets it can number.
    pub fn most_bytes(&self) -> u64 {
        match self {
            TransportSpec::Tcp(_) | TransportSpec::Rdma(_) => u64::MAX,
            // One number stands for no packet.
            TransportSpec::Uet(uet) => u64::from(uet.mss) * u64::from(uet::Psn::MAX - 1),
        }
    }

    /// Its packets.
    pub const fn frame(&self) -> Frame {
        match self {
            TransportSpec::Tcp(tcp) => {
                let options = tcp.options();
                Frame { mss: tcp.mss, header: tcp.header + options.data, ack_bytes: tcp.ack_bytes + options.ack }
            }
            TransportSpec::Uet(uet) => Frame { mss: uet.mss, header: uet.header, ack_bytes: uet.ack_bytes },
            TransportSpec::Rdma(rdma) => Frame { mss: rdma.mss, header: rdma.header, ack_bytes: rdma.ack_bytes },
        }
    }
}
