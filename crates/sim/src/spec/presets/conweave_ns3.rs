//! Preset conweave-ns3: the public ns-3 code of ConWeave.

use spinewise_policy::Value::{Number, Word};

use super::{Followed, Preset, Switch, TransportPreset, Window, shared_buffer, table};
use crate::tape::Draws;
use crate::transport::RdmaConfig;

pub(super) const PRESET: Preset = Preset {
    name: "conweave-ns3",
    doc: "RDMA as in the public ns-3 code of ConWeave, in whole nanoseconds",
    source: "conweave-project/conweave-ns3: rdma-hw.cc, switch-mmu.cc, run.py",
    topology: || table([("tx_time_rounding", "floor_1ns".into())]),
    switch: Switch::Shared(|| {
        let mut buffer = shared_buffer();
        buffer.insert("headroom_bytes".into(), 27_096.into());
        buffer.insert("headroom_use".into(), "pool_full".into());
        buffer.insert("pause_us".into(), 5.into());
        buffer.insert("pause_renewal".into(), "packets".into());
        buffer.insert("egress_threshold".into(), "always".into());
        buffer
    }),
    scheme: || table([("header_bytes", "free".into()), ("acks", "ecmp".into()), ("hash", "murmur3".into())]),
    transport: TransportPreset::Rdma(RdmaConfig::in_whole_ns, Window::Fits),
    params: &[
        ("letflow", &[("flowlet_gap_us", Number(100.0))]),
        (
            "conga",
            &[
                ("flowlet_gap_us", Number(100.0)),
                ("dre_period_us", Number(50.0)),
                ("age_ms", Number(0.5)),
                ("tie", Word("random")),
                ("candidates", Word("four_consecutive")),
                ("ce_at_source", Word("local")),
                ("feedback", Word("random")),
            ],
        ),
        // As many reorder queues as flows want.
        ("conweave", &[("reorder_queues", Number(0.0))]),
        ("selb", &[("reorder_queues", Number(0.0))]),
    ],
    ..Preset::RDMA
};

/// The schemes of that code, and what the rules that it is followed by mean for them.
pub(crate) const FOLLOWED: &[Followed] = &[
    Followed { name: "ecmp", ..Followed::NOTHING },
    Followed { name: "letflow", ..Followed::NOTHING },
    Followed {
        name: "conga",
        params: &[
            ("conga_draws_first", ("feedback", Word("drawn_first"))),
            ("conga_draws_first", ("tie", Word("drawn"))),
            ("conga_beats_begin", ("beats", Word("first_packet"))),
            ("conga_by_doubles", ("register", Word("double"))),
        ],
        ..Followed::NOTHING
    },
    Followed { name: "drill", draws: Some(("drill_shuffles", Draws::Shuffle)), ..Followed::NOTHING },
    Followed {
        name: "conweave",
        draws: Some(("conweave_draws_three", Draws::Three)),
        rows_of_flows: true,
        params: &[
            ("old_epochs_unread", ("old_epochs", Word("unread"))),
            ("new_epoch_overtakes", ("new_epoch", Word("overtakes"))),
            ("late_release", ("release", Word("late"))),
        ],
    },
];
