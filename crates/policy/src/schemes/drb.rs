//! DRB: each packet on the next path in turn, chosen by the sending host.
//!
//! Cao, Xia, Yang, Guo, Lu, Yuan, Zheng, Wu, Xiong, Maltz, "Per-packet load-balanced, low-latency routing for
//! Clos-based data center networks", CoNEXT 2013. The paper was not available: the rule is that of the public ns-3 code
//! of Hermes.
//!
//! | rule | function |
//! |---|---|
//! | round robin over the paths, per pair of hosts | `pick`, [`Turn::next`] |
//! | the first path is drawn at random | [`Turn::next`] |
//!
//! | our word | the paper's |
//! |---|---|
//! | way, path | core switch that a packet bounces off |
//!
//! Departures:
//! - The paper goes through the cores in the order of their numbers' digits reversed, so that two packets in a row part
//!   early. Tags name whole paths only where one switch lies between two leaves: numbers of one digit, whose reversed
//!   order is the ascending one.
//! - `scope = "flow"` gives each flow its own turn; with a single flow per pair the two are equivalent.
//! - Acknowledgements are packets like any other, and take the turns of their pair; `acks = "fabric"` leaves them to the
//!   switches.

use crate::edge::acks::Acks;
use crate::{
    AtHost, Aware, Compared, Cx, Layout, Listed, Needs, Packet, Peers, Policy, Rng, Rule, Sees, Shape, Sheet, Sight,
    Way,
};

crate::choice! {
    /// The packets that take turns together.
    Scope {
        /// The packets of this host to one destination host.
        Destination = "destination",
        /// The packets of one flow and direction.
        Flow = "flow",
    }
}

crate::params! {
    /// DRB's parameters.
    Config {
        /// Which packets share a rotation (DRB: per pair of hosts).
        scope: Scope = Scope::Destination, Allowed::Words(Scope::WORDS);
        /// Who chooses the paths of acknowledgements.
        acks: Acks = Acks::AsData, Allowed::Words(Acks::WORDS);
    }
}

/// A position in the round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// The path of the last packet, plus one; 0: there was none.
    last: u16,
}

impl Turn {
    /// The path of the next packet, out of `paths`; the first one is random.
    #[inline]
    pub fn next(&mut self, paths: u16, rng: &mut Rng) -> u16 {
        let path = match self.last {
            0 => rng.below(u32::from(paths)) as u16,
            last if last < paths => last,
            _ => 0,
        };
        self.last = path + 1;
        path
    }
}

/// Packets in turn over all paths.
#[derive(Clone, Debug)]
pub struct Drb {
    config: Config,
}

crate::listed! {
    /// The rule that gave a packet its way.
    enum Why: Rule {
        First = Rule::Chooses("the first packet of the pair or flow: a path drawn at random"),
        Next = Rule::Chooses("the next path in turn, one packet per path"),
    }
}

impl Policy for Drb {
    const SHEET: Sheet = Sheet {
        name: "drb",
        summary: "each packet on the pair's next path in turn, chosen by the sending host",
        source: "Cao et al., CoNEXT 2013",
        unit: "packet",
        told: &["paths to each rack, and a tag that selects one"],
        compared: Some(Compared {
            aware: Aware::No,
            senses: &[],
            state: "per destination, at the host",
            needs: Needs::Hosts,
            order: "nothing but queues of similar length",
            pick: "O(1)",
            update: "–",
        }),
        sees: Sees { rules: Why::ALL, ..Sees::NOTHING },
        ..Sheet::AT_HOST
    };
    type Site = AtHost;
    type Config = Config;
    crate::rows! { flow: Turn, peer: Turn }

    fn new(config: &Config) -> Self {
        Drb { config: config.clone() }
    }

    fn layout(&self, _: &Shape) -> Layout {
        let peers = match self.config.scope {
            Scope::Destination => Peers::Hosts,
            Scope::Flow => Peers::None,
        };
        Layout { peers, picks_acks: self.config.acks == Acks::AsData, ..Layout::default() }
    }

    fn sees(&self, cx: &Cx<'_, Self>, flow: &Turn, _: &Packet, sight: &mut Sight<'_>) {
        let turn = match self.config.scope {
            Scope::Destination => cx.peers.here().0,
            Scope::Flow => flow,
        };
        sight.rule(if turn.last > 0 { Why::Next } else { Why::First });
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, flow: &mut Turn, packet: &Packet, _: &mut ()) -> Way {
        let paths = cx.view.ways_to_host(packet.dst);
        if !self.config.acks.places(packet.kind) || paths == 0 {
            return Way::ANY;
        }
        let turn = match self.config.scope {
            Scope::Destination => cx.peers.current().0,
            Scope::Flow => flow,
        };
        Way(turn.next(paths, cx.rng))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FlowKey, HostView, Kind, Out, Table, Time};
    extern crate std;
    use std::vec::Vec;

    /// Host 0 and two hosts of another rack, eight paths away.
    struct Bench {
        scheme: Drb,
        rng: Rng,
        peers: [Turn; 2],
        flows: [Turn; 4],
    }

    impl Bench {
        fn new(config: &Config) -> Self {
            let rng = Rng::stream(3, "drb", 0);
            Bench { scheme: Drb::new(config), rng, peers: [Turn::default(); 2], flows: [Turn::default(); 4] }
        }

        fn pick(&mut self, dst: u32, flow: u32, kind: Kind) -> Way {
            let view = HostView { leaf_of: &[0, 1, 1], ways: &[0, 8], ..HostView::default() };
            let current = dst as usize - 1;
            let peers = Table { ids: &[1, 2], peers: &mut self.peers, routes: &mut [(); 0], stride: 0, current };
            let out = Out::new(&mut [], &mut []);
            let mut cx = Cx { now: Time::ZERO, node: &mut (), peers, ports: &mut [], view, rng: &mut self.rng, out };
            let packet = Packet { kind, flow: FlowKey(flow), dst, ..Packet::default() };
            self.scheme.pick(&mut cx, &mut self.flows[flow as usize], &packet, &mut ())
        }
    }

    #[test]
    fn packets_to_a_host_go_round_whatever_their_flow() {
        let mut bench = Bench::new(&Config::default());
        let ways: Vec<u16> = (0..80).map(|n| bench.pick(1, n % 3, Kind::Data).0).collect();
        assert!(ways.windows(2).all(|two| two[1] == (two[0] + 1) % 8), "{ways:?}");
        let other = bench.pick(2, 0, Kind::Data).0;
        assert_eq!(bench.pick(1, 3, Kind::Ack).0, (ways[79] + 1) % 8, "acknowledgements take turns too");
        assert_eq!(bench.pick(2, 1, Kind::Data).0, (other + 1) % 8, "each destination has its own turn");
    }

    #[test]
    fn flows_can_have_their_own_turns() {
        let mut bench = Bench::new(&Config { scope: Scope::Flow, acks: Acks::Fabric });
        let (a, b) = (bench.pick(1, 0, Kind::Data).0, bench.pick(1, 1, Kind::Data).0);
        assert_eq!(bench.pick(1, 0, Kind::Data).0, (a + 1) % 8);
        assert_eq!(bench.pick(2, 1, Kind::Data).0, (b + 1) % 8);
        assert_eq!(bench.pick(1, 2, Kind::Ack), Way::ANY);
    }

    #[test]
    fn the_first_path_is_any() {
        let mut count = [0u32; 8];
        let mut rng = Rng::stream(1, "drb", 0);
        for _ in 0..8_000 {
            count[usize::from(Turn::default().next(8, &mut rng))] += 1;
        }
        // 1,000 each, standard deviation 30.
        assert!(count.iter().all(|&n| n.abs_diff(1_000) < 150), "{count:?}");
    }

    #[test]
    fn fewer_paths_start_the_round_anew() {
        let (mut turn, mut rng) = (Turn { last: 7 }, Rng::stream(1, "drb", 0));
        assert_eq!([turn.next(8, &mut rng), turn.next(4, &mut rng), turn.next(1, &mut rng)], [7, 0, 0]);
    }
}
