//! Preset linux: today's hosts.

use super::{AUTO, BURST_BYTES, Preset, Switch, TransportPreset, queues};
use crate::transport::TcpConfig;

pub(super) const PRESET: Preset = Preset {
    name: "linux",
    doc: "today's hosts: DCTCP with Linux's loss recovery (RACK-TLP and SACK); RDMA over a lossless fabric",
    source: "recovery: RFC 8985 as in Linux (net/ipv4/tcp_recovery.c), on by default since Linux 4.18; timeouts: \
             tcp_rtt_estimator, HZ = 1000; buffers and marking: derived from the fabric; the rest as in datacenter. \
             With transport.kind = \"rdma\": DCQCN and a shared buffer as in selb, with priority flow control unless \
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
