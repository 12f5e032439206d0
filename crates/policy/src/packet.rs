//! Packets as schemes see them, and the fields that switches hash.

use crate::{FlowKey, Port, Way, hash};

/// The kind of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Payload of a flow.
    #[default]
    Data,
    /// Acknowledgement of a flow.
    Ack,
    /// A probe sent by a scheme.
    Probe,
    /// The answer to a probe.
    ProbeReply,
    /// A message between schemes.
    Message,
    /// A frame of priority flow control (IEEE 802.1Qbb), from one port to the next; no scheme ever sees one.
    Pause,
}

/// The fields of the packet in hand that a scheme may read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packet {
    /// Its kind.
    pub kind: Kind,
    /// The flow and direction; meaningless unless `kind` is `Data` or `Ack`.
    pub flow: FlowKey,
    /// Source host.
    pub src: u32,
    /// Destination host.
    pub dst: u32,
    /// First payload byte of data, next byte expected of an acknowledgement.
    pub seq: u64,
    /// Bytes on the wire, scheme header included.
    pub wire: u32,
    /// Payload bytes.
    pub payload: u32,
    /// Congestion experienced (ECN codepoint CE).
    pub ce: bool,
    /// The sender has sent these bytes before.
    pub retransmit: bool,
    /// The header fields that this fabric's switches hash.
    pub hashed: Hashed,
    /// The path tag a host wrote, [`Way::ANY`] if none.
    pub way: Way,
    /// At a switch: the port it arrived at.
    pub in_port: Port,
    /// At `ingress`: the port it will leave through.
    pub out_port: Port,
}

/// The header fields that switches hash, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hashed {
    /// All bits mixed: the two hosts, what switches see of the inner flow, and a host's path tag.
    Mixed {
        /// Source and destination host.
        pair: u64,
        /// Flow, direction and kind; 0 where a tunnel hides them.
        inner: u64,
        /// One more than the path tag, 0 for none.
        tag: u64,
    },
    /// MurmurHash3 of source address, destination address and the two ports, modulo the number of choices.
    Murmur([u32; 3]),
}

impl Default for Hashed {
    fn default() -> Self {
        Hashed::Mixed { pair: 0, inner: 0, tag: 0 }
    }
}

impl Packet {
    /// Spreads packets evenly over `0..n` by a hash of the fields that this fabric's switches use and the switch's own
    /// `salt`: one flow, one result.
    #[inline]
    pub fn spread(&self, salt: u64, n: u32) -> u32 {
        self.hashed.spread(salt, n)
    }
}

impl Hashed {
    /// See [`Packet::spread`].
    #[inline]
    pub fn spread(&self, salt: u64, n: u32) -> u32 {
        match *self {
            Hashed::Mixed { pair, inner, tag } => {
                hash::spread(hash::mix(hash::mix2(hash::mix2(pair, inner), tag) ^ salt), n)
            }
            Hashed::Murmur(words) => hash::murmur3(words, salt as u32) % n,
        }
    }
}
