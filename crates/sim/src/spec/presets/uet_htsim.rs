//! Preset uet-htsim: the reference simulator of Ultra Ethernet.

use spinewise_policy::Value::Word;

use super::{Preset, Switch, TransportPreset, trimming};
use crate::transport::UetConfig;

pub(super) const PRESET: Preset = Preset {
    name: "uet-htsim",
    doc: "Ultra Ethernet as in its reference simulator: trimming switches, NSCC, packets in any order",
    source: "ultraethernet/uet-htsim 40ccb05: main_uec.cpp, uec.cpp, compositequeue.cpp, from a description of them",
    switch: Switch::Trimming(trimming),
    transport: TransportPreset::Uet(UetConfig::uet_htsim),
    // Its senders do not keep the values of packets: a timeout blames value 0, whichever was lost. Its aggregation switches
    // have a list of uplinks for each destination.
    params: &[
        ("bitmap", &[("timeout_blames", Word("first"))]),
        ("uet_mixed", &[("timeout_blames", Word("first"))]),
        ("round_robin", &[("lists", Word("destination"))]),
    ],
    ..Preset::TCP
};
