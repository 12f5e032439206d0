//! ECMP: equal-cost multi-path by a hash of the header (RFC 2992).
//!
//! | our word | the literature's |
//! |---|---|
//! | salt | the hash seed that operators set per switch, so that tiers do not polarise |
//!
//! Departures: none. The hash is ours (all bits mixed); vendors' CRCs differ in quality, not in kind.

use crate::{AtSwitch, Aware, Compared, Cx, Decides, Hashes, Needs, Packet, Policy, Sees, Sheet, Way};

crate::params! {
    /// ECMP has no parameters.
    Config {}
}

/// Flow-level hashing at every switch.
#[derive(Clone, Copy, Debug)]
pub struct Ecmp;

impl Policy for Ecmp {
    const SHEET: Sheet = Sheet {
        name: "ecmp",
        summary: "hashes each packet's header with a salt per switch: a flow stays on its path while uplinks do not \
                  change",
        source: "RFC 2992",
        unit: "flow",
        compared: Some(Compared {
            aware: Aware::No,
            senses: &[],
            state: "none",
            needs: Needs::Nothing,
            order: "a flow stays on its path",
            pick: "O(1)",
            update: "–",
        }),
        sees: Sees { decides: Decides::Hashes, ..Sees::NOTHING },
        ..Sheet::AT_SWITCH
    };
    const HASHES: Hashes = Hashes::Evenly;
    type Site = AtSwitch;
    type Config = Config;
    crate::rows! {}

    fn new(_: &Config) -> Self {
        Ecmp
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, _: &mut (), packet: &Packet, _: &mut ()) -> Way {
        let candidates = cx.view.candidates.len() as u32;
        Way(packet.spread(cx.view.salt, candidates) as u16)
    }
}
