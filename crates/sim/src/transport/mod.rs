//! The transports: state machines that are given the time and return their actions.
//!
//! Nothing here reads a clock, draws a random number, owns a queue or knows of hosts, links or schemes. The caller
//! passes in `now` and the arrivals, requests the next segment or acknowledgement, and keeps the timers whose deadlines
//! the machines report. Configuration is passed in on every call and never stored, so the row of each of a million
//! flows holds state alone.
//!
//! `contract.rs` defines a transport, `registry.rs` lists the transports, `ends.rs` keeps the ends of all flows of one of
//! them, and `mixed.rs` those of a run whose traffic entries have several.
//!
//! | file | contents |
//! |---|---|
//! | `contract.rs` | the traits [`contract::Transport`], [`contract::Sender`], [`contract::Receiver`], and messages |
//! | `registry.rs`, `ends.rs` | [`Ends`]: the ends of all flows of a run, by their transport |
//! | `mixed.rs` | [`mixed::Mixed`]: the ends of flows of several transports |
//! | `config.rs` | [`TcpConfig`] and its presets |
//! | `stream.rs` | [`stream::Stream`]: TCP without and with selective acknowledgements, as its layers need it |
//! | `one_path.rs` | [`one_path::Plain`], [`one_path::Selective`]: TCP on one path, from its layers |
//! | `greeting.rs`, `opening.rs` | [`Opening`]: the three-way handshake, and its packets; [`Opened`]: the layer around a sender |
//! | `tcp.rs` | [`TcpSender`]: slow start, congestion avoidance, Reno and NewReno recovery, timeouts |
//! | `tcp/sack.rs` | [`SackSender`]: the same with selective acknowledgements, RFC 6675 or RACK-TLP |
//! | `sack.rs` | [`Sack`]: the option of an acknowledgement |
//! | `pacing.rs` | [`pacing::PacedStream`]: the layer that keeps a sender's packets apart |
//! | `congestion.rs` | the contract of congestion control, and the registry of controllers: one file each in `congestion/` |
//! | `resequencer.rs` | [`Resequencer`]: holds data back below TCP until the data it has overtaken has come |
//! | `sheet.rs` | [`Sheet`]: a transport's declarations before a run |
//! | `rtt.rs` | the round-trip estimate and the retransmission timeout |
//! | `receiver.rs` | [`TcpReceiver`]: reassembly, delayed acknowledgements, ECN echo |
//! | `reassembly.rs` | which bytes of a stream have arrived |
//! | `mptcp.rs` | [`mptcp`]: the needs of a connection of subflows: data sequence numbers, coupling, options |
//! | `options.rs` | the options of MPTCP: their bytes, and what travels in them |
//! | `udp.rs` | [`UdpSender`]: constant bit rates by a schedule |
//! | `rdma.rs` | [`rdma::RdmaSender`] and [`rdma::RdmaReceiver`]: the queue pairs of an RNIC |
//! | `uet.rs` | [`uet`]: connections of Ultra Ethernet, which take any order |
//!
//! Deliberately omitted: flow control beyond a maximum window. A flow is a known number of bytes in one direction.

pub(crate) mod config;
pub(crate) mod congestion;
pub(crate) mod contract;
mod ends;
mod greeting;
mod mixed;
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
mod sheet;
pub(crate) mod stream;
pub(crate) mod tcp;
pub(crate) mod udp;
pub(crate) mod uet;

pub(crate) use config::TcpConfig;
pub(crate) use ends::{Expired, Heard, Lane, Sending};
pub(crate) use greeting::Greeting;
pub(crate) use opening::{Opened, Opening};
pub(crate) use rdma::RdmaConfig;
pub(crate) use reassembly::Reassembly;
pub(crate) use receiver::TcpReceiver;
pub(crate) use registry::Ends;
pub(crate) use sack::Sack;
pub(crate) use sheet::Frame;
pub(crate) use tcp::{Segment, TcpSender};
pub(crate) use udp::{MOST_PACKET_BYTES, Paced, UdpConfig};
pub(crate) use uet::UetConfig;

/// A transport as given in a spec: that of a run, or of one traffic entry.
#[derive(Clone, Debug, PartialEq)]
pub enum TransportSpec {
    /// TCP.
    Tcp(TcpConfig),
    /// The queue pairs of RNICs.
    Rdma(RdmaConfig),
    /// Connections of Ultra Ethernet.
    Uet(UetConfig),
}
