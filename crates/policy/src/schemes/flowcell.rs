//! Flowcells of one fixed size: the baseline of PDLB.
//!
//! PDLB Figs. 3, 4 and 10 cut flows into cells of a fixed number of packets, each cell on its own path, to show the
//! effect of granularity on reordering, utilisation and completion time. There are no estimates or probes, and no state
//! except the cell.
//!
//! | our word | the paper's |
//! |---|---|
//! | `packets` | flowcell size, granularity of flowcell |
//!
//! 1 packet and `random` is random packet spraying by the sender; 44 packets and `round_robin` is Presto as the PDLB
//! paper describes it, except for its order.
//!
//! Departures: the paper does not say how its fixed schemes choose paths (random here, as in its model), nor what
//! becomes of acknowledgements (the fabric's choice here).

use crate::edge::cells::{Cell, Dispatch, Live, OfCell, Turn};
use crate::{AtHost, Aware, Compared, Cx, Kind, Listed, Needs, Packet, Policy, Sees, Sheet, Sight, Way};

crate::params! {
    /// The size, and how paths are chosen.
    Config {
        /// Packets per flowcell (PDLB: 1 to 44; 44 packets are 64 KB).
        packets: u32 = 44, Allowed::Integer { min: 1.0, max: 1e9 };
        /// How the path of the next cell is chosen.
        dispatch: Dispatch = Dispatch::Random, Allowed::Words(Dispatch::WORDS);
    }
}

/// Flowcells of a fixed size.
#[derive(Clone, Debug)]
pub struct Flowcell {
    config: Config,
}

impl Policy for Flowcell {
    const SHEET: Sheet = Sheet {
        name: "flowcell",
        summary: "flowcells of a fixed number of packets, each on a path drawn at random or in turn",
        source: "Gao et al., J. Cloud Computing 12:173, 2023, Figs. 3, 4, 10",
        unit: "flowcell",
        told: &["paths to each rack, and a tag that selects one"],
        compared: Some(Compared {
            aware: Aware::No,
            senses: &[],
            state: "per flow, at the host",
            needs: Needs::Hosts,
            order: "a flowcell stays on its path",
            pick: "O(1)",
            update: "–",
        }),
        sees: Sees { rules: Turn::ALL, flow: OfCell::ALL, ..Sees::NOTHING },
        ..Sheet::AT_HOST
    };
    type Site = AtHost;
    type Config = Config;
    crate::rows! { flow: Cell }

    fn new(config: &Config) -> Self {
        Flowcell { config: config.clone() }
    }

    fn sees(&self, cx: &Cx<'_, Self>, flow: &Cell, packet: &Packet, sight: &mut Sight<'_>) {
        let ways = cx.view.ways_to_host(packet.dst);
        flow.tell(self.config.packets, &Live { ways, dead: 0, is_dead: |_| false }, sight);
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, flow: &mut Cell, packet: &Packet, _: &mut ()) -> Way {
        let ways = cx.view.ways_to_host(packet.dst);
        if packet.kind != Kind::Data || ways == 0 {
            return Way::ANY;
        }
        let live = Live { ways, dead: 0, is_dead: |_| false };
        flow.next(self.config.packets, self.config.dispatch, &live, cx.rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HostView, Out, Rng, Span, Table, Time};

    fn picks(config: &Config, kind: Kind, count: usize) -> impl Iterator<Item = Way> {
        let scheme = Flowcell::new(config);
        let (mut rng, mut flow) = (Rng::stream(3, "flowcell", 0), Cell::default());
        (0..count).map(move |_| {
            let view = HostView {
                host: 0,
                leaf: 0,
                leaf_of: &[0, 1],
                ways: &[0, 8],
                link_rate: 1,
                path_rate: 1,
                path_rates: &[],
                base_rtt: Span::ZERO,
                base_one_way: Span::ZERO,
                mss: 1460,
                mtu: 1500,
            };
            let peers = Table { ids: &[], peers: &mut [], routes: &mut [], stride: 0, current: 0 };
            let out = Out::new(&mut [], &mut []);
            let mut cx = Cx { now: Time::ZERO, node: &mut (), peers, ports: &mut [], view, rng: &mut rng, out };
            scheme.pick(&mut cx, &mut flow, &Packet { kind, dst: 1, ..Packet::default() }, &mut ())
        })
    }

    #[test]
    fn cells_have_the_size_asked_for() {
        let config = Config { packets: 5, dispatch: Dispatch::RoundRobin };
        let mut run = 0;
        let mut last = Way::ANY;
        for (index, way) in picks(&config, Kind::Data, 500).enumerate() {
            if index % 5 == 0 {
                assert!(index == 0 || way == Way((last.0 + 1) % 8));
                run += 1;
            } else {
                assert_eq!(way, last);
            }
            last = way;
        }
        assert_eq!(run, 100);
    }

    #[test]
    fn only_data_is_cut_into_cells() {
        assert!(picks(&Config::default(), Kind::Ack, 20).all(|way| way == Way::ANY));
        assert!(picks(&Config::default(), Kind::Data, 20).all(|way| way.0 < 8));
    }
}
