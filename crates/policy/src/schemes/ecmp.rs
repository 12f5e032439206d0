//! ECMP: equal-cost multi-path by a hash of the header (RFC 2992).
//!
//! | our word | the literature's |
//! |---|---|
//! | salt | the hash seed that operators set per switch, so that tiers do not polarise |
//!
//! Departures: none. The hash is ours (all bits mixed); vendors' CRCs differ in quality, not in kind.

use crate::{About, AtSwitch, Aware, Compared, Cx, Decides, Needs, Packet, Policy, Sees, Way};

crate::params! {
    /// ECMP has no parameters.
    Config {}
}

/// Flow-level hashing at every switch.
#[derive(Clone, Copy, Debug)]
pub struct Ecmp;

impl Policy for Ecmp {
    const ABOUT: About = About {
        name: "ecmp",
        summary: "hashes the header of each packet, with a salt per switch: a flow stays on one path",
        source: "RFC 2992",
        unit: "flow",
        tiers: &["leaf", "aggregation", "spine"],
        told: &[],
        series: &[],
    };
    const COMPARED: Option<Compared> = Some(Compared {
        aware: Aware::No,
        senses: &[],
        state: "none",
        needs: Needs::Nothing,
        order: "a flow stays on its path",
        pick: "O(1)",
        update: "–",
    });
    const SEES: Sees = Sees { decides: Decides::HashesEvenly, ..Sees::NOTHING };
    type Site = AtSwitch;
    type Config = Config;
    type Flow = ();
    type Peer = ();
    type Route = ();
    type Port = ();
    type Node = ();
    type Header = ();

    fn new(_: &Config) -> Self {
        Ecmp
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, _: &mut (), packet: &Packet, _: &mut ()) -> Way {
        let candidates = cx.view.candidates.len() as u32;
        Way(packet.spread(cx.view.salt, candidates) as u16)
    }
}
