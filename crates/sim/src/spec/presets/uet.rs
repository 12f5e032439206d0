//! Preset uet: Ultra Ethernet as one would run it. It is uet-htsim without that program's artefacts and without what
//! its users are advised to avoid:
//!
//! | rule | uet-htsim | here |
//! |---|---|---|
//! | `transport.nscc_base_rtt_from_trims` | headers that overtake queues shorten the base round trip, and the largest window with it | round trips of data alone |
//! | `transport.nscc_flight_wraps` | bytes under way that count as less than none wrap, and marks are ignored from then on | they count as none |
//! | `transport.pull_heeds` | receivers without windows at the senders heed the fabric only where the core is oversubscribed | wherever it marks or trims |
//! | `transport.pull_after_end` | receivers go on granting a flow credit after its last byte | not so |
//! | `transport.ask_again` | a request for credit that is lost leaves its sender waiting for good | it asks again |
//! | `lists` of `round_robin` | above the leaves each destination has a list of uplinks, all with one counter | each switch has one |
//! | `timeout_blames` of `bitmap` and `uet_mixed` | a timeout blames value 0 | the value of the packet that was waited for |
//!
//! REPS with a timeout where nothing is trimmed, which aborts that program, is refused under every preset.

use super::{Preset, Switch, TransportPreset, trimming};
use crate::transport::UetConfig;

pub(super) const PRESET: Preset = Preset {
    name: "uet",
    doc: "Ultra Ethernet: uet-htsim without that program's artefacts",
    source: "as uet-htsim with seven rules changed: docs/model.md, Ultra Ethernet",
    switch: Switch::Trimming(trimming),
    transport: TransportPreset::Uet(UetConfig::uet),
    ..Preset::TCP
};
