//! Preset ns2-pdlb: PDLB's public ns-2 program.

use super::{Preset, Switch, TransportPreset, queues};
use crate::transport::TcpConfig;

pub(super) const PRESET: Preset = Preset {
    name: "ns2-pdlb",
    doc: "the ns-2 settings of PDLB's public test program, with the buffer of its large-scale test",
    // The program's queue is 256 * 1460 bytes at 1 Gbps; the paper says 250 KB for the 10 Gbps runs. RED counts
    // bytes there (queue_in_bytes) in packets of 1460; the packet in transmission has left an ns-2 queue.
    source: "K = 65 * 1460 bytes, marked at enqueue, queue without the packet in transmission: PDLB's public ns-2 program; \
             buffer 250 KB: PDLB, \"Large-scale simulation test\"",
    switch: Switch::Queues(|| queues(250_000, 65 * 1460)),
    transport: TransportPreset::Tcp(TcpConfig::ns2_pdlb),
    ..Preset::TCP
};
