//! Bandwidth-proportional spreading, an oracle: packets in turn over all paths, in proportion to each path's given
//! rate.
//!
//! Chen, Zhang, "ELAB: end-host-based congestion aware load balancing for data center network", Journal on
//! Communications 40(3), 2019, §3.2 and the bar of 99.8 % in Fig. 2: what ELAB aims at. Site: every host.
//!
//! | rule | function |
//! |---|---|
//! | path i gets the share w_i = B_i / ΣB of the packets | [`share`], once per peer |
//! | weighted round robin, packet by packet | [`take_turn`] |
//!
//! | our word | the paper's |
//! |---|---|
//! | rate of a path, as given | B_i |
//! | weight | w_i |
//!
//! **An oracle.** No host knows these rates: a controller that knows the wiring gives each host, before the run, the
//! slowest link between the leaves on each path. It is an upper bound for a flow that has the paths to itself, for
//! comparison.
//!
//! Departures:
//! - The paper splits by *available* bandwidth, A_i = B_i - R_i, R_i being what the sender itself has on path i. With
//!   true B_i the result is the same: w_i = A_i / ΣA and R_i = w_i R have the single fixed point w_i = B_i / ΣB, for
//!   any R below ΣB. So rates are given, and nothing is measured.
//! - The traffic of others on a path is not known. With other traffic this is not an upper bound: it splits in
//!   proportion to total, not remaining, bandwidth.
//! - Turns are taken per pair of hosts, as ELAB keeps its state; the first of equal paths is drawn for each pair.
//! - Acknowledgements are spread by the switches.

use crate::edge::weighted::{Turns, WHOLE, share, take_turn};
use crate::sees::quantity;
use crate::{
    AtHost, Aware, Compared, Cx, Kind, Layout, Listed, Needs, Packet, Peers, Policy, Quantity, Rule, Sees, Shape,
    Sheet, Sight, Way,
};

crate::params! {
    /// Nothing to choose.
    Config {}
}

/// Row per destination host.
#[derive(Clone, Copy, Debug, Default)]
pub struct Peer {
    /// Whether its paths have their weights.
    ready: bool,
    /// The path that comes first among those with equal turns.
    first: u16,
}

/// Row per path to a host.
#[derive(Clone, Copy, Debug, Default)]
pub struct Route {
    /// Share of the packets, of `weighted::WHOLE`.
    weight: u32,
    /// Turns it is owed, in weight.
    owed: i64,
}

impl Turns for Route {
    fn weight(&self) -> u32 {
        self.weight
    }

    fn owed(&mut self) -> &mut i64 {
        &mut self.owed
    }
}

/// Packets by the rates of paths.
#[derive(Clone, Debug)]
pub struct Proportional;

crate::listed! {
    /// The rule that gave a packet its way.
    enum Why: Rule {
        InTurn = Rule::Chooses("every packet: the path whose turn it is by weight"),
    }

    /// Quantities of a candidate that it considers.
    enum OfWay: Quantity {
        Weight = quantity("weight", "share", "share of packets, by the given rates; none before the first"),
    }
}

impl Policy for Proportional {
    const SHEET: Sheet = Sheet {
        name: "proportional",
        summary: "an oracle: packets in turn over all paths, in proportion to each path's given rate (ELAB Fig. 2)",
        source: "Chen and Zhang, J. on Communications 2019, §3.2",
        unit: "packet",
        told: &["paths to each rack, and a tag that selects one", "rate of each path: an oracle"],
        three_tiers: "a tag names a whole path, one through each core; each of the paths that share an uplink has a \
                      share by its own slowest link",
        compared: Some(Compared {
            aware: Aware::No,
            senses: &["rates of paths, from an oracle"],
            state: "per (host, path), at the host",
            needs: Needs::Hosts,
            order: "nothing",
            pick: "O(n)",
            update: "once per host",
        }),
        sees: Sees { rules: Why::ALL, way: OfWay::ALL, ..Sees::NOTHING },
        ..Sheet::AT_HOST
    };
    type Site = AtHost;
    type Config = Config;
    crate::rows! { peer: Peer, route: Route }

    fn new(_: &Config) -> Self {
        Proportional
    }

    fn layout(&self, _: &Shape) -> Layout {
        Layout { peers: Peers::Hosts, path_rates: true, ..Layout::default() }
    }

    fn sees(&self, cx: &Cx<'_, Self>, _: &(), packet: &Packet, sight: &mut Sight<'_>) {
        sight.rule(Why::InTurn);
        let (peer, routes) = cx.peers.here();
        let ways = cx.view.ways_to_host(packet.dst);
        for (way, route) in routes[..usize::from(ways)].iter().enumerate().filter(|_| peer.ready) {
            sight.way(way, OfWay::Weight, f64::from(route.weight) / f64::from(WHOLE));
        }
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, _: &mut (), packet: &Packet, _: &mut ()) -> Way {
        let ways = cx.view.ways_to_host(packet.dst);
        if packet.kind != Kind::Data || ways == 0 {
            return Way::ANY;
        }
        let (peer, routes) = cx.peers.current();
        let routes = &mut routes[..usize::from(ways)];
        if !peer.ready {
            let rate = |way| cx.view.rate_to_host(packet.dst, way);
            weigh(routes, rate);
            *peer = Peer { ready: true, first: cx.rng.below(u32::from(ways)) as u16 };
        }
        take_turn(routes, peer.first).map_or(Way::ANY, Way)
    }
}

/// Gives each path its weight.
// ELAB Eq. 2, at its fixed point: w_i = B_i / ΣB.
fn weigh(routes: &mut [Route], rate: impl Fn(u16) -> u64) {
    let all = (0..routes.len() as u16).map(&rate).sum();
    for (way, route) in (0..).zip(routes) {
        route.weight = share(rate(way), all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HostView, Out, Rng, Table, Time};
    extern crate std;
    use std::vec::Vec;

    /// Two paths from rack 0 to rack 1, at 3 and 6 Gbps.
    const RATES: [u64; 4] = [0, 0, 3_000_000_000, 6_000_000_000];

    fn picks(kind: Kind, seed: u64, count: usize) -> Vec<u16> {
        let (mut rng, mut peers, mut routes) =
            (Rng::stream(seed, "proportional", 0), [Peer::default()], [Route::default(); 2]);
        let view = HostView { leaf_of: &[0, 1], ways: &[0, 2], path_rates: &RATES, ..HostView::default() };
        let pick = |_| {
            let peers = Table { ids: &[1], peers: &mut peers, routes: &mut routes, stride: 2, current: 0 };
            let out = Out::new(&mut [], &mut []);
            let mut cx = Cx { now: Time::ZERO, node: &mut (), peers, ports: &mut [], view, rng: &mut rng, out };
            let packet = Packet { kind, dst: 1, payload: 1460, ..Packet::default() };
            Proportional.pick(&mut cx, &mut (), &packet, &mut ()).0
        };
        (0..count).map(pick).collect()
    }

    #[test]
    fn three_and_six_gbps_are_one_packet_and_two() {
        for seed in 0..10 {
            let ways = picks(Kind::Data, seed, 30_000);
            for part in ways.chunks(30) {
                let slow = part.iter().filter(|&&way| way == 0).count();
                assert!(slow.abs_diff(10) <= 1, "{slow} of 30");
            }
            let slow = ways.iter().filter(|&&way| way == 0).count();
            assert!(slow.abs_diff(10_000) <= 2, "{slow} of 30,000");
        }
    }

    #[test]
    fn acknowledgements_are_left_to_the_fabric() {
        assert_eq!(picks(Kind::Ack, 1, 3), [Way::ANY.0; 3]);
    }
}
