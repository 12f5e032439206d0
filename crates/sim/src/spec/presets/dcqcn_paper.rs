//! Preset dcqcn-paper: DCQCN as in its paper.

use super::{Preset, Switch, TransportPreset, Window, shared_buffer};
use crate::transport::RdmaConfig;

pub(super) const PRESET: Preset = Preset {
    name: "dcqcn-paper",
    doc: "RDMA with DCQCN as its paper sets it, in exact time",
    // Section 5.2 finds these values for 40 Gbps: marks must come early, and few of them, for flows to converge.
    source: "g, timers, byte counter and the marking ramp (5 KB, 200 KB, 1 %): DCQCN (SIGCOMM 2015), section 5; \
             buffer, flow control and recovery as in selb",
    switch: Switch::Shared(|| {
        let mut buffer = shared_buffer();
        buffer.insert("ecn_min_bytes".into(), 5_000.into());
        buffer.insert("ecn_max_bytes".into(), 200_000.into());
        buffer.insert("ecn_max_probability".into(), 0.01.into());
        buffer
    }),
    transport: TransportPreset::Rdma(RdmaConfig::spacing_cnps, Window::Printed),
    ..Preset::RDMA
};
