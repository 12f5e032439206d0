//! `[switch]`: output queues, drop-tail and marking.

use serde_json::{Map, Value};

use super::error::SpecError;
use super::key::{Default, Kind, LARGEST_EXACT};
use super::reader::{Reader, keys, words};

const MOST_PACKETS: u64 = u32::MAX as u64;

keys! {
    /// `[switch]`.
    SwitchKeys {
        /// Room of each output queue of a switch, in packets; a packet that does not fit is dropped.
        buffer_packets: Option<u64>, Kind::Integer { min: 1, max: MOST_PACKETS }, Default::Preset;
        /// The same in bytes; give one of the two.
        buffer_bytes: Option<u64>, Kind::Integer { min: 1, max: LARGEST_EXACT }, Default::Preset;
        /// ECN step marking: a packet that finds this many packets queued is marked; 0 marks nothing.
        ecn_threshold_packets: Option<u64>, Kind::Integer { min: 0, max: MOST_PACKETS }, Default::Preset;
        /// The same in bytes; give one of the two.
        ecn_threshold_bytes: Option<u64>, Kind::Integer { min: 0, max: LARGEST_EXACT }, Default::Preset;
        /// When the queue is compared with the threshold: as a packet is queued, or as its transmission starts.
        ecn_at: EcnAt, Kind::Words(EcnAt::WORDS), Default::Preset;
        /// Does the packet in transmission count as queued?
        queue_counts: QueueCounts, Kind::Words(QueueCounts::WORDS), Default::Preset;
        /// How the engine serves a port; the results are the same.
        ports: PortKind, Kind::Words(PortKind::WORDS), Default::Word("fifo");
    }
}

words! {
    /// When a packet is compared with the marking threshold.
    EcnAt {
        /// As it is queued.
        Enqueue = "enqueue",
        /// As its transmission starts.
        Dequeue = "dequeue",
    }
}

words! {
    /// What the length of a queue counts.
    QueueCounts {
        /// Packets waiting only.
        Waiting = "waiting",
        /// The packet in transmission too.
        InService = "in_service",
    }
}

words! {
    /// How a port is served.
    PortKind {
        /// The departure is known as a packet is queued: one event per packet and hop.
        Fifo = "fifo",
        /// A transmission is decided as it starts.
        CommitAtStart = "commit_at_start",
    }
}

/// A bound on a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// In packets.
    Packets(u32),
    /// In bytes on the wire.
    Bytes(u64),
}

/// The output queues.
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchSpec {
    /// Drop-tail bound.
    pub buffer: Limit,
    /// Marking threshold; `None` marks nothing.
    pub ecn_threshold: Option<Limit>,
    /// When a packet is compared with it.
    pub ecn_at: EcnAt,
    /// What counts.
    pub queue_counts: QueueCounts,
    /// How ports are served.
    pub ports: PortKind,
}

/// Reads `[switch]`.
pub(crate) fn read(given: &Map<String, Value>, preset: Map<String, Value>) -> Result<(SwitchSpec, Value), SpecError> {
    let reader = Reader::new("switch", SwitchKeys::KEYS, given)?;
    let mut preset = preset;
    for [packets, bytes] in [["buffer_packets", "buffer_bytes"], ["ecn_threshold_packets", "ecn_threshold_bytes"]] {
        match (reader.given(packets), reader.given(bytes)) {
            (Some(_), Some(_)) => return Err(reader.refuse(bytes, format!("either {packets} or {bytes}, not both"))),
            (None, None) => {}
            // The preset's value in the other unit does not apply.
            _ => preset.retain(|name, _| name != packets && name != bytes),
        }
    }
    let mut reader = reader.with_defaults(preset);
    let keys = SwitchKeys::read(&mut reader)?;
    let limit = |packets: Option<u64>, bytes: Option<u64>| match (packets, bytes) {
        (Some(packets), _) => Some(Limit::Packets(packets as u32)),
        (_, bytes) => bytes.map(Limit::Bytes),
    };
    let Some(buffer) = limit(keys.buffer_packets, keys.buffer_bytes) else {
        return Err(reader.refuse("buffer_bytes", "buffer_packets or buffer_bytes"));
    };
    let ecn_threshold = limit(keys.ecn_threshold_packets, keys.ecn_threshold_bytes)
        .filter(|limit| !matches!(limit, Limit::Packets(0) | Limit::Bytes(0)));
    let switch =
        SwitchSpec { buffer, ecn_threshold, ecn_at: keys.ecn_at, queue_counts: keys.queue_counts, ports: keys.ports };
    Ok((switch, reader.finish()))
}
