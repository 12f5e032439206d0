//! SRED, selective RED with random packet spraying: early drops only for flows that a failure cuts off from some paths.
//!
//! Dixit, Prakash, Hu, Kompella, "On the impact of packet spraying in data center networks", INFOCOM 2013, from LBSP's
//! description of related work; the paper itself was not available. RED: Floyd, Jacobson, "Random early detection
//! gateways for congestion avoidance", IEEE/ACM ToN 1(4), 1993.
//!
//! | rule | function |
//! |---|---|
//! | every packet on an uplink drawn uniformly (RPS) | `pick` |
//! | a fault manager that knows the topology has leaves mark the packets of affected flows | `pick`, [`Mark`] |
//! | downstream switches employ RED on marked packets only | `egress` |
//! | RED: average queue, chance of a drop, drops evenly spaced | [`red`] |
//!
//! | our word | the paper's |
//! |---|---|
//! | affected | of a flow that cannot use all the multiple paths |
//! | mark | a mark in the packet's header, no ECN mark |
//!
//! **Who is affected.** The flows between two racks, if a link that is down lies on a shortest path between them as the
//! fabric was built: they have fewer paths than others and so cause queues of unequal length. The fault manager knows
//! of links that are down from the start, and leaves know from it; nothing is measured, and no time passes.
//!
//! **The average** is of the whole queue of a port, whose packets may be of any flow, and is brought up to date by each
//! packet that is admitted. A marked packet that RED takes is dropped, not marked with ECN.
//!
//! Not given by any available source, and therefore our own: RED's parameters in that paper (here: Floyd's
//! recommendations, ns-2's defaults), where exactly it is placed, and whether slow links count. So nothing here can be
//! called a reproduction of its figures.
//!
//! Departures:
//! - RED runs at ports between switches, the marking leaf's own included. The last link to a host is the same for all
//!   paths: no queues there can differ.
//! - Slow links that are up affect no flow: LBSP speaks of failures.
//! - Acknowledgements of affected flows are marked too.

pub(crate) mod red;

use crate::{
    AtSwitch, Aware, Compared, Cx, Hooks, Layout, Listed, Needs, Packet, Peers, Policy, Port, Rule, Sees, Shape, Sheet,
    Sight, Span, Tier, Way, Wire, config,
};
use red::{Law, Red};

crate::params! {
    /// SRED's parameters.
    Config {
        /// Average queue up to which RED drops nothing, packets (Floyd's recommendation for RED, 1997: 5).
        min_packets: f64 = 5.0, Allowed::Number { min: 0.0, max: 1e5 };
        /// Average queue at which the drop probability is `max_probability`, packets (Floyd's recommendation: 3 times
        /// as long).
        max_packets: f64 = 15.0, Allowed::Number { min: 0.001, max: 1e5 };
        /// Drop probability at that average (Floyd's recommendation: 0.1).
        max_probability: f64 = 0.1, Allowed::Number { min: 0.0, max: 1.0 };
        /// Weight of a packet's queue in the average (Floyd's recommendation and ns-2: 0.002).
        weight: f64 = 0.002, Allowed::Number { min: 1e-6, max: 1.0 };
        /// Above `max_packets` the probability keeps growing, to 1 at twice that (ns-2's gentle RED); otherwise it is 1
        /// at once.
        gentle: bool = true, Allowed::Bool;
        /// Packet size by which the average decays while a line is idle, bytes (own choice: full packets).
        mean_packet_bytes: u32 = 1500, Allowed::Integer { min: 1.0, max: 65535.0 };
    }
}

/// In-band header: one bit of the IP header's type of service, so it adds no bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Whether the packet is of an affected flow.
    pub affected: bool,
}

impl Wire for Mark {
    #[inline]
    fn get(bytes: &[u8; 16]) -> Self {
        Mark { affected: bytes[0] == 1 }
    }

    #[inline]
    fn put(&self, bytes: &mut [u8; 16]) {
        bytes[0] = self.affected.into();
    }

    #[inline]
    fn wire(&self) -> u32 {
        0
    }
}

/// Row per leaf: the fault manager's answer; `None` if not asked yet.
pub type Affected = Option<bool>;

/// Random spraying, with RED for affected flows.
#[derive(Clone, Copy, Debug)]
pub struct Sred {
    law: Law,
    min_packets: f64,
    max_packets: f64,
}

crate::listed! {
    /// The rule that gave a packet its way.
    enum Why: Rule {
        Drawn = Rule::Chooses("every packet: an uplink drawn at random"),
    }
}

impl Policy for Sred {
    const SHEET: Sheet = Sheet {
        name: "sred",
        summary: "random packet spraying, with RED for flows that lose paths to links that are down from the start",
        source: "Dixit et al., INFOCOM 2013",
        unit: "packet",
        told: &["pairs of racks that lose paths to links that are down from the start, from a fault manager"],
        compared: Some(Compared {
            aware: Aware::Local,
            senses: &["own queues, averaged", "links down from the start, by a fault manager"],
            state: "per leaf at leaves, per port at every switch",
            needs: Needs::Switches,
            order: "early drops where queues would differ",
            pick: "O(1)",
            update: "O(1) per packet",
        }),
        sees: Sees { rules: Why::ALL, ..Sees::NOTHING },
        ..Sheet::AT_SWITCH
    };
    const HOOKS: Hooks = Hooks::EGRESS;
    type Site = AtSwitch;
    type Config = Config;
    crate::rows! { peer: Affected, port: Red, header: Mark }

    fn new(config: &Config) -> Self {
        Sred { law: Law::new(config), min_packets: config.min_packets, max_packets: config.max_packets }
    }

    fn layout(&self, shape: &Shape) -> Layout {
        let peers = if shape.tier == Tier::Leaf { Peers::Leaves } else { Peers::None };
        Layout { peers, actions: 1, ..Layout::default() }
    }

    fn clash(&self) -> Option<(&'static str, config::Allowed, &'static str)> {
        let allowed = config::Allowed::Number { min: self.min_packets + 0.001, max: 1e5 };
        (self.max_packets < self.min_packets + 0.001).then_some(("max_packets", allowed, "min_packets"))
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, _: &mut (), packet: &Packet, mark: &mut Mark) -> Way {
        if cx.view.is_first_leaf(packet) {
            let leaf = cx.peers.ids[cx.peers.current];
            let told = cx.view;
            mark.affected = *cx.peers.current().0.get_or_insert_with(|| told.told_loss(leaf));
        }
        Way(cx.rng.below(cx.view.candidates.len() as u32) as u16)
    }

    fn sees(&self, _: &Cx<'_, Self>, (): &(), _: &Packet, sight: &mut Sight<'_>) {
        sight.rule(Why::Drawn);
    }

    #[inline]
    fn egress(&self, cx: &mut Cx<'_, Self>, port: Port, packet: &Packet, mark: &mut Mark) {
        let (found, rate) = (cx.view.queue_packets(port), cx.view.rate(port));
        let red = &mut cx.ports[port.index()];
        red.found(found, cx.now, self.law.mean_packet(rate), &self.law);
        if mark.affected && red.drops(&self.law, cx.rng) {
            cx.out.discard();
        } else {
            red.taken(cx.now + cx.view.queueing_delay(port) + Span::sending(u64::from(packet.wire), rate));
        }
    }
}
