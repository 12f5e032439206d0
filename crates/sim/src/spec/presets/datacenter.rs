//! Preset datacenter: the setting of most papers on load balancing.

use super::{Preset, Switch, TransportPreset, queues};
use crate::transport::TcpConfig;

pub(super) const PRESET: Preset = Preset {
    name: "datacenter",
    doc: "the setting of most load-balancing papers: DCTCP at 10 Gbps, losses detected by three duplicate \
          acknowledgements",
    // 65 packets of 1500 bytes mark at 10 Gbps (DCTCP, section 3.4); 250 KB is the buffer of PDLB's large runs.
    source: "K = 65 packets of 1500 bytes: DCTCP (SIGCOMM 2010) at 10 Gbps; buffer 250 KB per port: PDLB, \
             \"Large-scale simulation test\"",
    switch: Switch::Queues(|| queues(250_000, 97_500)),
    transport: TransportPreset::Tcp(TcpConfig::datacenter),
    ..Preset::TCP
};
