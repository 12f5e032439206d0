//! Preset linux: hosts of today.

use super::{AUTO, BURST_BYTES, Preset, Switch, TransportPreset, queues};
use crate::transport::TcpConfig;

pub(super) const PRESET: Preset = Preset {
    name: "linux",
    doc: "hosts of today: DCTCP with RACK-TLP and SACK, as Linux recovers losses; RDMA over a lossless fabric",
    source: "recovery: RFC 8985 as Linux has it (net/ipv4/tcp_recovery.c), on by default since Linux 4.18; timeouts: \
             tcp_rtt_estimator, HZ = 1000; buffers and marking: what follows from the fabric; the rest as datacenter. \
             With transport.kind = \"rdma\": DCQCN and a shared buffer as selb, priority flow control unless \
             recovery = \"irn\"",
    switch: Switch::Fitting(|| {
        let mut queues = queues(BURST_BYTES, BURST_BYTES);
        queues.insert("buffer_us".into(), AUTO.into());
        queues.insert("ecn_threshold_us".into(), AUTO.into());
        queues
    }),
    transport: TransportPreset::Fitting(TcpConfig::linux),
    fits: true,
    ..Preset::TCP
};
