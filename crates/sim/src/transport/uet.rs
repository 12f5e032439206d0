//! Connections of Ultra Ethernet: packets of a flow arrive in any order and on any path, and answers report which have
//! arrived.
//!
//! | file | contents |
//! |---|---|
//! | `uet/config.rs` | [`UetConfig`] and its presets |
//! | `uet/sender.rs` | [`UetSender`]: windows, retransmissions, the timeout |
//! | `uet/records.rs` | a sender's knowledge of each packet under way |
//! | `uet/sleek.rs` | losses without trimming (SLEEK) |
//! | `uet/receiver.rs` | [`UetReceiver`]: which packets are here, and when to say so |
//! | `uet/credit.rs` | the credit that receivers grant (RCCC) |
//! | `uet/fields.rs` | the content of answers |
//! | `uet/ends.rs` | [`Connection`]: both ends, by the contract of transports |
//!
//! The rules are those of the reference simulator of Ultra Ethernet (ultraethernet/uet-htsim, `htsim/sim/uec.cpp` at
//! 40ccb05), from a description of that code and from reading a later version of it. The text of the specification (UET
//! 1.0) was not available. Packets are numbered from 0 (PSN): packet `n` begins at byte `n` times the payload of a full
//! packet.
//!
//! Omitted: messages within a connection, the receiver's penalty on windows (always none in that code), and the set-up
//! of connections, which costs nothing there either.

pub(crate) mod config;
mod credit;
mod ends;
mod fields;
mod receiver;
mod records;
mod sender;
mod sleek;

pub(crate) use config::UetConfig;
pub(crate) use ends::Connection;
pub(crate) use fields::blocks;
pub(crate) use receiver::UetReceiver;
pub(crate) use sender::UetSender;

/// The number of a packet in a flow.
pub(crate) type Psn = u32;

/// A flow cut into packets by its ends: all but the last have `mss` bytes of payload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    /// Bytes of the flow.
    pub size: u64,
    /// Payload of a full packet.
    pub mss: u32,
    /// Additional bytes of each packet on the wire.
    pub header: u32,
}

impl Cut {
    /// A flow of `size` bytes under `config`.
    pub(crate) fn of(size: u64, config: &UetConfig) -> Cut {
        Cut { size, mss: config.mss, header: config.header }
    }

    /// Number of its packets.
    #[inline]
    pub(crate) fn packets(&self) -> Psn {
        self.size.div_ceil(u64::from(self.mss)) as Psn
    }

    /// The packet that begins at byte `seq`.
    #[inline]
    pub(crate) fn psn(&self, seq: u64) -> Psn {
        (seq / u64::from(self.mss)) as Psn
    }

    /// Number of packets that end at byte `seq`.
    #[inline]
    pub(crate) fn packets_by(&self, seq: u64) -> Psn {
        if seq >= self.size { self.packets() } else { self.psn(seq) }
    }

    /// The first byte of a packet; of one past the last, the size.
    #[inline]
    pub(crate) fn seq(&self, psn: Psn) -> u64 {
        (u64::from(psn) * u64::from(self.mss)).min(self.size)
    }

    /// Payload of a packet.
    #[inline]
    pub(crate) fn len(&self, psn: Psn) -> u32 {
        (self.size - self.seq(psn)).min(u64::from(self.mss)) as u32
    }

    /// Its bytes on the wire.
    #[inline]
    pub(crate) fn wire(&self, psn: Psn) -> u32 {
        self.len(psn) + self.header
    }

    /// Bytes on the wire of this many packets. `with_last` says whether the last packet of the flow, which may be shorter, is
    /// among them.
    #[inline]
    fn wire_of(&self, packets: Psn, with_last: bool) -> u64 {
        let full = u64::from(self.mss + self.header);
        let short = if with_last { full - u64::from(self.wire(self.packets() - 1)) } else { 0 };
        u64::from(packets) * full - short
    }

    /// Bytes on the wire of all packets from `psn` on.
    pub(crate) fn wire_from(&self, psn: Psn) -> u64 {
        self.size - self.seq(psn) + u64::from(self.header) * u64::from(self.packets() - psn)
    }
}

#[cfg(test)]
mod tests;
