//! Packet scatter: every packet on its own, at random (RPS) or in turn.
//!
//! RPS: Dixit, Prakash, Hu, Kompella, "On the impact of packet spraying in data center networks", INFOCOM 2013. Round
//! robin is the rule of ns-2's multipath classifier, and the `packet scatter` that LBSP is compared with may be either,
//! so both are here. Every packet is scattered, acknowledgements too.
//!
//! **Whose turn.** In ns-2.35 a node with several next hops to a destination node installs a `Classifier/MultiPath` for
//! that destination (`Node instproc add-routes`, tcl/lib/ns-node.tcl), and each classifier counts for itself
//! (`MultiPathForwarder::classify`, classifier/classifier-mpath.cc). Hosts are nodes there, so the pointer belongs to the
//! pair of switch and destination host: `pointer = "destination"`. The default, `"switch"`, takes one pointer for all.
//! Every pointer starts at the first port, as in ns-2.

use crate::{
    AtSwitch, Aware, Compared, Cx, Layout, Listed, Needs, Packet, Peers, Policy, Rule, Sees, Shape, Sheet, Sight, Way,
};

crate::choice! {
    /// The owner of a pointer of round-robin packet scatter.
    Pointer {
        /// The switch: one for all packets.
        Switch = "switch",
        /// The destination host, at each switch: as in ns-2.
        Destination = "destination",
    }
}

crate::params! {
    /// Random packet spraying has no parameters.
    Config {}
}

crate::params! {
    /// Round-robin packet scatter's parameters.
    InTurn {
        /// Whose pointer says which uplink is next: the switch's, one for all packets, or the destination host's, as in
        /// ns-2's multipath classifier.
        pointer: Pointer = Pointer::Switch, Allowed::Words(Pointer::WORDS);
    }
}

/// Random packet spraying.
#[derive(Clone, Copy, Debug)]
pub struct Rps;

crate::listed! {
    /// The rule that gave a packet its way.
    enum Drawn: Rule {
        Always = Rule::Chooses("every packet: an uplink drawn at random"),
    }
}

impl Policy for Rps {
    const SHEET: Sheet = Sheet {
        name: "rps",
        summary: "random packet spraying: each packet on an uplink drawn uniformly",
        source: "Dixit et al., INFOCOM 2013",
        unit: "packet",
        compared: Some(Compared {
            aware: Aware::No,
            senses: &[],
            state: "none",
            needs: Needs::Nothing,
            order: "nothing",
            pick: "O(1)",
            update: "–",
        }),
        sees: Sees { rules: Drawn::ALL, ..Sees::NOTHING },
        ..Sheet::AT_SWITCH
    };
    type Site = AtSwitch;
    type Config = Config;
    crate::rows! {}

    fn new(_: &Config) -> Self {
        Rps
    }

    fn sees(&self, _: &Cx<'_, Self>, _: &(), _: &Packet, sight: &mut Sight<'_>) {
        sight.rule(Drawn::Always);
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, _: &mut (), _: &Packet, _: &mut ()) -> Way {
        Way(cx.rng.below(cx.view.candidates.len() as u32) as u16)
    }
}

/// Round-robin packet scatter.
#[derive(Clone, Copy, Debug)]
pub struct PacketScatter {
    pointer: Pointer,
}

/// Row per switch and per destination host: the next way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Turn(u32);

impl Turn {
    /// Takes its turn among `candidates` ways.
    #[inline]
    fn next(&mut self, candidates: u32) -> Way {
        let turn = if self.0 < candidates { self.0 } else { 0 };
        self.0 = turn + 1;
        Way(turn as u16)
    }
}

crate::listed! {
    /// The rule that gave a packet its way.
    enum Next: Rule {
        Always = Rule::Chooses("every packet: the next uplink in turn"),
    }
}

impl Policy for PacketScatter {
    const SHEET: Sheet = Sheet {
        name: "packet_scatter",
        summary: "round-robin packet scatter: each packet on the next uplink in turn",
        source: "ns-2 classifier/multipath",
        unit: "packet",
        compared: Some(Compared {
            aware: Aware::No,
            senses: &[],
            state: "one counter, or one per destination, at every switch",
            needs: Needs::Nothing,
            order: "nothing",
            pick: "O(1)",
            update: "–",
        }),
        sees: Sees { rules: Next::ALL, ..Sees::NOTHING },
        ..Sheet::AT_SWITCH
    };
    type Site = AtSwitch;
    type Config = InTurn;
    crate::rows! { peer: Turn, node: Turn }

    fn new(config: &InTurn) -> Self {
        PacketScatter { pointer: config.pointer }
    }

    fn layout(&self, _: &Shape) -> Layout {
        let peers = if self.pointer == Pointer::Destination { Peers::Hosts } else { Peers::None };
        Layout { peers, ..Layout::default() }
    }

    fn sees(&self, _: &Cx<'_, Self>, _: &(), _: &Packet, sight: &mut Sight<'_>) {
        sight.rule(Next::Always);
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, _: &mut (), _: &Packet, _: &mut ()) -> Way {
        let candidates = cx.view.candidates.len() as u32;
        match self.pointer {
            Pointer::Switch => cx.node.next(candidates),
            Pointer::Destination => cx.peers.current().0.next(candidates),
        }
    }
}
