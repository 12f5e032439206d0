//! The transport of an RNIC: one queue pair per flow, paced by a [congestion control](super::congestion::rate), with
//! go-back-N or IRN.
//!
//! | file | contents |
//! |---|---|
//! | `rdma/config.rs` | [`RdmaConfig`] and its presets |
//! | `rdma/pacing.rs` | the instant of the next packet, remainders carried |
//! | `rdma/sender.rs` | [`RdmaSender`]: what to send, what to send again, the timeout |
//! | `rdma/receiver.rs` | [`RdmaReceiver`]: ACK, NACK, CNP |
//! | `rdma/blocks.rs` | sets of byte ranges |
//! | `rdma/ends.rs` | [`QueuePair`]: both ends, by the contract of transports |
//! | `rdma/split.rs` | [`SplitQueuePairs`]: messages over several queue pairs at once |
//!
//! Where papers leave something open, this follows the public ns-3 code of the ConWeave paper (source: rdma-hw.cc,
//! rdma-queue-pair.h). Every packet is answered separately. Omitted: the set-up of queue pairs, message boundaries, and
//! CNPs as separate packets: a CNP is a flag on the answer to the packet that caused it.

mod blocks;
pub(crate) mod config;
mod ends;
mod pacing;
pub(crate) mod receiver;
pub(crate) mod sender;
pub(crate) mod split;

use spinewise_policy::time::Time;

pub(crate) use config::{RdmaConfig, Recovery};
pub(crate) use ends::QueuePair;
pub(crate) use receiver::RdmaReceiver;
pub(crate) use sender::RdmaSender;
pub(crate) use split::SplitQueuePairs;

use super::contract::Answer;

/// An answer in the form the sender reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RdmaAck {
    /// The next byte the receiver expects.
    pub cumulative: u64,
    /// Something before the newest packet is missing.
    pub nack: bool,
    /// IRN, on a NACK: first byte and length of the packet that caused it, which has arrived.
    pub sack: Option<(u64, u32)>,
    /// Congestion notification.
    pub cnp: bool,
    /// When the packet that it answers was sent.
    pub echo: Time,
}

impl RdmaAck {
    /// An answer with its option, which may be empty.
    #[inline]
    pub fn read(answer: &Answer, option: &[u8]) -> RdmaAck {
        RdmaAck {
            cumulative: answer.cumulative,
            nack: answer.nack_or_syn,
            sack: get_sack(option),
            cnp: answer.cnp,
            echo: answer.echo,
        }
    }
}

/// [`RdmaAck::sack`] in wire format: first byte (64 bits) and length (32 bits), little endian.
pub(crate) fn put_sack((seq, len): (u64, u32)) -> [u8; 12] {
    let mut bytes = [0; 12];
    bytes[..8].copy_from_slice(&seq.to_le_bytes());
    bytes[8..].copy_from_slice(&len.to_le_bytes());
    bytes
}

/// Decodes the bytes of [`put_sack`]; `None` if their length differs.
pub(crate) fn get_sack(bytes: &[u8]) -> Option<(u64, u32)> {
    let (seq, len) = bytes.split_first_chunk()?;
    Some((u64::from_le_bytes(*seq), u32::from_le_bytes(len.try_into().ok()?)))
}

#[cfg(test)]
mod tests;
