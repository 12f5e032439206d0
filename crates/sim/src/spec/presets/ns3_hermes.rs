//! Preset ns3-hermes: the public ns-3 code of Hermes.

use spinewise_policy::Value::{Bool, Number, Word};

use super::{Preset, Switch, TransportPreset, queues};
use crate::transport::TcpConfig;

pub(super) const PRESET: Preset = Preset {
    name: "ns3-hermes",
    doc: "the ns-3 settings of the Hermes code base, which MEET builds on",
    // RED used as a step, in bytes; the queue disc hands packets to the device before they are sent.
    source: "K = 65 * 1400 bytes, limit 600 * 1400 bytes, above a device queue of 10 packets, on every device, those of \
             hosts too; at most 2 segments an acknowledgement: snowzjx/ns3-load-balance",
    switch: Switch::Queues(|| {
        let mut queues = queues(600 * 1400, 65 * 1400);
        queues.insert("device_queue_packets".into(), 10.into());
        queues.insert("nics".into(), "queue".into());
        queues
    }),
    transport: TransportPreset::Tcp(TcpConfig::ns3_hermes),
    params: &[
        ("hermes", &[("compat", Word("ns3")), ("base_us", Number(40.0))]),
        // MEET, section 4: "We set the parameter K = 60us".
        ("meet", &[("k_us", Number(60.0))]),
        ("presto", &[("flowcell_packets", Number(10.0)), ("acks", Word("cells")), ("first_cell", Word("any"))]),
        (
            "clove",
            &[
                ("choice", Word("weighted_random")),
                ("cut_fraction", Number(0.33)),
                ("redistribute", Word("others")),
                ("cut_interval_us", Number(40.0)),
                ("hide_ecn", Bool(false)),
            ],
        ),
    ],
    ..Preset::TCP
};
