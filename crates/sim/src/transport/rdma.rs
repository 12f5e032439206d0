//! The transport of an RNIC: one queue pair per flow, paced by DCQCN, with go-back-N or IRN.
//!
//! | file | what it holds |
//! |---|---|
//! | `rdma/config.rs` | [`RdmaConfig`], [`DcqcnConfig`] and their presets |
//! | `rdma/dcqcn.rs` | [`Dcqcn`]: the rate |
//! | `rdma/pacing.rs` | the instant of the next packet, remainders carried |
//! | `rdma/sender.rs` | [`RdmaSender`]: what to send, what to send again, the timeout |
//! | `rdma/receiver.rs` | [`RdmaReceiver`]: ACK, NACK, CNP |
//! | `rdma/blocks.rs` | sets of byte ranges |
//!
//! Where papers leave something open, the public ns-3 code of the ConWeave paper (rdma-hw.cc, rdma-queue-pair.h) decides.
//! Every packet is answered by itself. Left out: the set-up of queue pairs, message boundaries, and CNPs as packets of
//! their own: a CNP is a flag on the answer to the packet that caused it.

mod blocks;
pub mod config;
pub mod dcqcn;
mod pacing;
pub mod receiver;
pub mod sender;

pub use config::{DcqcnConfig, RdmaConfig, Recovery};
pub use dcqcn::Dcqcn;
pub use receiver::{RdmaReceived, RdmaReceiver};
pub use sender::{RdmaAckOutcome, RdmaSender};

/// The answer to a data packet, as it leaves the receiver and reaches the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RdmaAck {
    /// The next byte the receiver expects.
    pub cumulative: u64,
    /// Something before the newest packet is missing.
    pub nack: bool,
    /// IRN, on a NACK: first byte and length of the packet that made it, which has arrived.
    pub sack: Option<(u64, u32)>,
    /// Congestion notification.
    pub cnp: bool,
}

/// Writes [`RdmaAck::sack`] into the 16 header bytes of a packet: first byte (64 bits), length (32 bits, 0 = none), all
/// little endian.
pub fn put_sack(bytes: &mut [u8; 16], sack: Option<(u64, u32)>) {
    let (seq, len) = sack.unwrap_or_default();
    bytes[..8].copy_from_slice(&seq.to_le_bytes());
    bytes[8..12].copy_from_slice(&len.to_le_bytes());
}

/// What [`put_sack`] wrote.
pub fn get_sack(bytes: &[u8; 16]) -> Option<(u64, u32)> {
    let number = |from: usize, to: usize| bytes[from..to].iter().rev().fold(0_u64, |n, &byte| n << 8 | u64::from(byte));
    let len = number(8, 12) as u32;
    (len > 0).then(|| (number(0, 8), len))
}

#[cfg(test)]
mod tests;
