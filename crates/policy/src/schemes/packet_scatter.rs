//! Packet scatter: every packet on its own, at random (RPS) or in turn.
//!
//! RPS: Dixit, Prakash, Hu, Kompella, "On the impact of packet spraying in data center networks", INFOCOM 2013.
//! Round robin is what ns-2's multipath classifier does, and the `packet scatter` that LBSP is compared with may be
//! either, hence both. Every packet is scattered, acknowledgements too.

use crate::{About, AtSwitch, Aware, Compared, Cx, Needs, Packet, Policy, Rule, Sees, Sight, Way};

crate::params! {
    /// Packet scatter has no parameters.
    Config {}
}

/// Random packet spraying.
#[derive(Clone, Copy, Debug)]
pub struct Rps;

impl Policy for Rps {
    const ABOUT: About = About {
        name: "rps",
        summary: "random packet spraying: each packet on an uplink drawn uniformly",
        source: "Dixit et al., INFOCOM 2013",
        unit: "packet",
        tiers: &["leaf", "aggregation", "spine"],
        told: &[],
        series: &[],
    };
    const COMPARED: Option<Compared> = Some(Compared {
        aware: Aware::No,
        senses: &[],
        state: "none",
        needs: Needs::Nothing,
        order: "nothing",
        pick: "O(1)",
        update: "–",
    });
    const SEES: Sees = Sees { rules: &[Rule::Chooses("every packet: an uplink drawn at random")], ..Sees::NOTHING };
    type Site = AtSwitch;
    type Config = Config;
    type Flow = ();
    type Peer = ();
    type Route = ();
    type Port = ();
    type Node = ();
    type Header = ();

    fn new(_: &Config) -> Self {
        Rps
    }

    fn sees(&self, _: &Cx<'_, Self>, _: &(), _: &Packet, sight: &mut Sight<'_>) {
        sight.rule(0);
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, _: &mut (), _: &Packet, _: &mut ()) -> Way {
        Way(cx.rng.below(cx.view.candidates.len() as u32) as u16)
    }
}

/// Round-robin packet scatter: one pointer per switch, for all destinations (ns-2 keeps one per destination).
#[derive(Clone, Copy, Debug)]
pub struct PacketScatter;

/// Row per switch: who is next.
#[derive(Clone, Copy, Debug, Default)]
pub struct Turn(u32);

impl Policy for PacketScatter {
    const ABOUT: About = About {
        name: "packet_scatter",
        summary: "round-robin packet scatter: each packet on the next uplink in turn",
        source: "ns-2 classifier/multipath",
        unit: "packet",
        tiers: &["leaf", "aggregation", "spine"],
        told: &[],
        series: &[],
    };
    const COMPARED: Option<Compared> = Some(Compared {
        aware: Aware::No,
        senses: &[],
        state: "one counter, at every switch",
        needs: Needs::Nothing,
        order: "nothing",
        pick: "O(1)",
        update: "–",
    });
    const SEES: Sees = Sees { rules: &[Rule::Chooses("every packet: the next uplink in turn")], ..Sees::NOTHING };
    type Site = AtSwitch;
    type Config = Config;
    type Flow = ();
    type Peer = ();
    type Route = ();
    type Port = ();
    type Node = Turn;
    type Header = ();

    fn new(_: &Config) -> Self {
        PacketScatter
    }

    fn sees(&self, _: &Cx<'_, Self>, _: &(), _: &Packet, sight: &mut Sight<'_>) {
        sight.rule(0);
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, _: &mut (), _: &Packet, _: &mut ()) -> Way {
        let candidates = cx.view.candidates.len() as u32;
        let turn = if cx.node.0 < candidates { cx.node.0 } else { 0 };
        cx.node.0 = turn + 1;
        Way(turn as u16)
    }
}
