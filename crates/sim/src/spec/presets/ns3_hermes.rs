//! Preset ns3-hermes: the public ns-3 code of Hermes.

use spinewise_policy::Span;
use spinewise_policy::Value::{Bool, Number, Word};

use super::{Preset, Switch, TransportPreset, queues};
use crate::transport::TcpConfig;

pub(super) const PRESET: Preset = Preset {
    name: "ns3-hermes",
    doc: "the ns-3 settings of the Hermes code base, which MEET builds on",
    // RED used as a step, in bytes; the queue disc hands packets to the device before they are sent.
    source: "K = 65 * 1400 bytes, limit 600 * 1400 bytes, above a device queue of 10 packets, on every device \
             including those of hosts; at most 2 segments per acknowledgement: snowzjx/ns3-load-balance",
    switch: Switch::Queues(|| {
        let mut queues = queues(600 * 1400, 65 * 1400);
        queues.insert("device_queue_packets".into(), 10.into());
        queues.insert("nics".into(), "queue".into());
        queues
    }),
    transport: TransportPreset::Tcp(tcp),
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

/// 1400-byte segments, timeouts from 5 ms on a 100 us clock, 160 MB buffers. An initial round-trip estimate of 80 us leaves
/// the first timeout at 5 ms. Headers are ns-3's: IP 20, TCP 32 with timestamps, point-to-point 2 bytes. Flows are timed
/// from the SYN there, so there is a handshake, with SYNs of 58 bytes and a SYN timeout of 5 ms, and to the last packet, so
/// there is a closing, too. The socket leaves its sending loop after two packets: at most two an acknowledgement. Limited
/// transmit is on, segments that are here already are passed over in silence, and a window cut by marks is held.
pub(crate) fn tcp() -> TcpConfig {
    TcpConfig {
        mss: 1400,
        header: 54,
        ack_bytes: 54,
        max_window: 160_000_000 / 1400,
        max_burst: 2,
        limited_transmit: true,
        ack_duplicates: false,
        hold_after_mark: true,
        min_rto: Span::from_ms(5),
        initial_rto: Span::from_ms(5),
        rto_granularity: Span::from_us(100),
        delayed_ack_timeout: Span::from_ms(200),
        handshake: true,
        syn_bytes: 58,
        syn_timeout: Span::from_ms(5),
        fin: true,
        ..TcpConfig::datacenter()
    }
}
