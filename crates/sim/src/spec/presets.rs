//! Presets: named defaults of `[switch]` and `[transport]`, each with where its numbers come from.

use serde_json::{Map, Value};

use crate::transport::TcpConfig;

/// A set of defaults.
pub(crate) struct Preset {
    /// The word of a spec.
    pub name: &'static str,
    /// What it stands for.
    pub doc: &'static str,
    /// Where the numbers come from, and what is assumed.
    pub source: &'static str,
    buffer_bytes: u64,
    ecn_threshold_bytes: u64,
    /// Its TCP.
    pub transport: fn() -> TcpConfig,
}

/// The preset of a spec that names none.
pub(crate) const DEFAULT: &str = "datacenter";

/// All presets. Thresholds and buffers are in bytes, so that small acknowledgements and jumbo packets count for what
/// they are.
pub(crate) const PRESETS: &[Preset] = &[
    Preset {
        name: "datacenter",
        doc: "DCTCP as a tuned 10 Gbps datacenter runs it",
        // 65 packets of 1500 bytes mark at 10 Gbps (DCTCP, section 3.4); 250 KB is the buffer of PDLB's large runs.
        source: "K = 65 packets of 1500 bytes: DCTCP (SIGCOMM 2010) at 10 Gbps; buffer 250 KB a port: PDLB, \
                 \"Large-scale simulation test\"",
        buffer_bytes: 250_000,
        ecn_threshold_bytes: 97_500,
        transport: TcpConfig::datacenter,
    },
    Preset {
        name: "ns2-pdlb",
        doc: "the ns-2 settings of PDLB's public test program, with the buffer of its large-scale test",
        // The program's queue is 256 * 1460 bytes at 1 Gbps; the paper says 250 KB for the 10 Gbps runs. RED counts
        // bytes there (queue_in_bytes) in packets of 1460; the packet in transmission has left an ns-2 queue.
        source: "K = 65 * 1460 bytes, marked at enqueue, queue without the packet in transmission: PDLB's public ns-2 program; \
                 buffer 250 KB: PDLB, \"Large-scale simulation test\"",
        buffer_bytes: 250_000,
        ecn_threshold_bytes: 65 * 1460,
        transport: TcpConfig::ns2_pdlb,
    },
    Preset {
        name: "ns3-hermes",
        doc: "the ns-3 settings of the Hermes code base, which MEET builds on",
        // RED used as a step, in bytes; the queue disc hands packets to the device before they are sent.
        source: "K = 65 * 1400 bytes, limit 600 * 1400 bytes, queue without the packet in transmission: ns3-load-balance",
        buffer_bytes: 600 * 1400,
        ecn_threshold_bytes: 65 * 1400,
        transport: TcpConfig::ns3_hermes,
    },
];

/// The words for [`PRESETS`].
pub(crate) const NAMES: &[&str] = &[PRESETS[0].name, PRESETS[1].name, PRESETS[2].name];
const _: () = assert!(PRESETS.len() == NAMES.len(), "a preset without its word");

impl Preset {
    /// What it says of `[switch]`.
    pub fn switch(&self) -> Map<String, Value> {
        [
            ("buffer_bytes", Value::from(self.buffer_bytes)),
            ("ecn_threshold_bytes", self.ecn_threshold_bytes.into()),
            ("ecn_at", "enqueue".into()),
            ("queue_counts", "waiting".into()),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_string(), value))
        .collect()
    }
}
