//! Preset ns2-pdlb: PDLB's public ns-2 program.

use super::{Preset, Switch, TransportPreset, queues};
use crate::transport::TcpConfig;
use spinewise_policy::Span;

pub(super) const PRESET: Preset = Preset {
    name: "ns2-pdlb",
    doc: "the ns-2 settings of PDLB's public test program, with the buffer of PDLB's large-scale test",
    // The program's queue is 256 * 1460 bytes at 1 Gbps; the paper says 250 KB for the 10 Gbps runs. RED counts
    // bytes there (queue_in_bytes) in packets of 1460; the packet in transmission has left an ns-2 queue.
    source: "K = 65 * 1460 bytes, marked at enqueue, queue without the packet in transmission: PDLB's public ns-2 program; \
             buffer 250 KB: PDLB, \"Large-scale simulation test\"",
    switch: Switch::Queues(|| queues(250_000, 65 * 1460)),
    transport: TransportPreset::Tcp(tcp),
    ..Preset::TCP
};

/// Window limit 1256 segments, timeouts from 10 ms on a 10 ms tick, each segment acknowledged, 40 ms delayed-ACK interval.
/// The initial window is ns-2's default of 2. The program does not state the initial alpha (1 here, RFC 8257). ns-2 takes
/// a round-trip sample from its handshake, which is off here: the first timeout is therefore `min_rto` and not ns-2's 3 s.
pub(crate) fn tcp() -> TcpConfig {
    TcpConfig {
        initial_window: 2,
        max_window: 1256,
        rto_granularity: Span::from_ms(10),
        delayed_ack_timeout: Span::from_ms(40),
        syn_bytes: 40,
        syn_timeout: Span::from_ms(3000),
        ..TcpConfig::datacenter()
    }
}
