//! PDLB: flowcells whose size follows the diversity of the paths.
//!
//! Gao, Huang, Li, Zou, Wang, "PDLB: Path Diversity-aware Load Balancing with adaptive granularity in data center
//! networks", J. Cloud Computing 12:173, 2023. Site: the sending host. Every period it estimates the delay of each path
//! to each destination it has flows to, sorts the paths into congested and not, and solves a model for the number of
//! packets a flowcell should have; `pick` counts packets and draws a path per cell.
//!
//! | equation or rule | function |
//! |---|---|
//! | Eq. 1, P_g | [`model::good_probability`] |
//! | Eq. 2, Eq. 3, reordering probability | [`model::reordering_probability`], [`model::reordering_over_paths`] |
//! | Eq. 4, W_i | [`model::next_window`], [`model::cells`] |
//! | Eq. 5, Eq. 6, W_s and mean window | [`model::window_sum`], [`model::mean_window`] |
//! | Eq. 7, Eq. 8, round-trip time | [`model::round_trip_time`], [`model::round_trip_time_by_ratio`] |
//! | Eq. 9, FCT; Eq. 10, argmin | [`model::flow_completion_time`], [`model::best_granularity`] |
//! | congested paths (Algorithm 1) | [`classify::classify`] |
//! | share of ACKs with large RTT | [`estimate::Share`] |
//! | a cell keeps its path | [`Cell`] |
//!
//! | our word | the paper's |
//! |---|---|
//! | way | path |
//! | granularity, `gran` | flowcell size, gran |
//! | bad, `bad` | congested, N_b |
//! | period | sample interval, T |
//!
//! **Which model is the default, and why.** The paper claims finer cells while the paths are similar and coarser ones
//! as they diverge (abstract, Fig. 10a). Eq. 9 as printed cannot do that: its weight (N_b/m)^W̄ vanishes, X drops out,
//! and the optimum follows MaxW, for which no value is given (`paper`: 44 packets for any X, N_b and MaxW ≥ 44).
//! `repaired` reacts to X, but its windows collapse to about the granularity, so its optimum still sits near MaxW. The
//! objective of the authors' code (`released`) behaves as claimed, but counts the bandwidth of 44 paths when there are
//! 8, and so sprays at N_b = 4, X = 2; and it takes 23 packets for the whole of a window of 44. `authors`, the default,
//! is that objective with the whole of Eq. 2, real division, the paper's own n = min(m, W / gran), rounded up; it never
//! gets finer as X grows (tested). When it counts reordering it does not weigh *how much* slower a slow path is, so at
//! 10 Gbps any asymmetry that passes the gate asks for 22 packets or more, and queues of two packets pass it (of four,
//! with `delay = "rtt"`).
//!
//! Departures, and what the paper leaves open:
//! - `delay = "one_way"`: a path's delay is twice the time of its probe there. The paper speaks of the path's RTT and
//!   once of one-way delay; an answer comes back over whatever path the fabric hashes it to, so a measured RTT is that
//!   of two paths. Clocks must agree. `"rtt"` takes the measured one. Twice the time of one way counts a queue twice,
//!   where the authors' code adds it once: one and a half packets pass a gate of three. It matters little: without hot
//!   paths (Fig. 7) some path is congested in 58 % of ticks, and in 54 % with `gate_packets = 6`.
//! - `scope = "peer"`: Eqs. 1–10 are about the m paths of one pair, so each pair has its granularity. `"sender"` is the
//!   paper's "enforced on all active flows": all live paths to all active peers are classified together, then N_b and m
//!   are divided by the number of peers.
//! - A pair (with `scope = "sender"`, a host) not yet measured, or not for `stale_after_us`, starts with
//!   `initial_packets`, by default the paper's coarsest: a first window on one path loses little if the paths are alike,
//!   and is in order if they are not. Only pairs with active flows are probed. Nothing is planned before half of the
//!   live paths have been measured.
//! - A path silent for `dead_after_periods` beyond its round trip leaves m and gets no cells until it answers. The paper
//!   has no failures. If all are dead, all are used. Only probes can tell: the passive modes have no dead paths.
//! - `ack_share` needs a notion of "large" before it can count: that of the preceding count. A count is closed by the
//!   first tick at which it has those of m cells, for "the number of flowcells should generally be consistent with the
//!   number of paths": a few cells would be on a few paths and look similar.
//! - Acknowledgements take the fabric's choice: PDLB "is only deployed on the sender" of data.
//! - First ticks fall at random within a period, so that hosts do not all probe at once.

pub mod ag;
pub(crate) mod classify;
pub mod estimate;
pub mod model;

use crate::edge::cells::{Cell, Dispatch, Live, OfCell, Turn};
use crate::edge::delay::Delay;
use crate::{
    AtHost, Aware, Compared, Cx, Event, Feedback, Hooks, HostView, Kind, Layout, Listed, Needs, Packet, Params, Peers,
    Phase, Policy, Quantity, Sees, Series, Shape, Sheet, Sight, Span, Time, To, Way,
    sees::{quantity, series},
};
use classify::Classifier;
use core::marker::PhantomData;
use estimate::{Route, Share};
use model::{Cells, CellsLimit, Constants, MOST_CELLS, Model, Paths};

crate::choice! {
    /// The source of path delays.
    Estimate {
        /// Probes on every path.
        Probe = "probe",
        /// Timestamps echoed in acknowledgements, by the path of the data packet.
        AckTimestamps = "ack_timestamps",
        /// The share of acknowledgements with a large round-trip time.
        AckShare = "ack_share",
    }
}

crate::choice! {
    /// The granularities tried.
    Search {
        /// 1, 2, 3 … packets (Eq. 10).
        Packets = "packets",
        /// As many full packets as go into 1, 2, 4 … 64 KB, at least one (the paper's introduction).
        PowersOfTwoKb = "powers_of_two_kb",
    }
}

crate::choice! {
    /// The paths that decide together.
    Scope {
        /// The paths to one destination.
        Peer = "peer",
        /// The paths of one sender.
        Sender = "sender",
    }
}

crate::choice! {
    /// When the scheme's series get points (only while there are active flows).
    Record {
        /// At ticks at which the value differs from the last point.
        Changes = "changes",
        /// At every tick.
        Ticks = "ticks",
        /// Never.
        Off = "off",
    }
}

crate::params! {
    /// PDLB's parameters.
    Config {
        /// T, time between estimates and between probes, µs (PDLB: "every 100us"; 500 for its Fig. 10).
        period_us: f64 = 100.0, Allowed::Number { min: 1.0, max: 1e6 };
        /// Where path delays come from.
        estimate: Estimate = Estimate::Probe, Allowed::Words(Estimate::WORDS);
        /// What a probe's path delay is measured as; a measured round trip may return over any path.
        delay: Delay = Delay::OneWay, Allowed::Words(Delay::WORDS);
        /// Size of a probe on the wire, bytes (the paper gives none: the minimum Ethernet frame).
        probe_bytes: u32 = 64, Allowed::Integer { min: 40.0, max: 9000.0 };
        /// A path silent for this many periods beyond its round trip is removed (the paper does not mention failures).
        dead_after_periods: u32 = 3, Allowed::Integer { min: 1.0, max: 1e6 };
        /// The first answer is awaited for this many round-trip times of an empty path plus the periods above.
        patience_rtts: u32 = 10, Allowed::Integer { min: 1.0, max: 1e6 };
        /// Which paths are congested. The printed 2x mean misses 2 of 8 paths at three times the delay.
        classifier: Classifier = Classifier::GtMeanWithGate, Allowed::Words(Classifier::WORDS);
        /// Gate of gt_mean_with_gate, in transmission times of a full packet at path rate (authors' code, as intended:
        /// 3).
        gate_packets: f64 = 3.0, Allowed::Number { min: 0.0, max: 1e6 };
        /// What Eq. 10 minimises.
        model: Model = Model::Authors, Allowed::Words(Model::WORDS);
        /// How a window is cut into cells (the paper leaves it open; authors' code: floor).
        cells: Cells = Cells::Ceil, Allowed::Words(Cells::WORDS);
        /// Most cells at once in the authors model: the number of paths (Eq. 4), or no limit (authors' code).
        cells_limit: CellsLimit = CellsLimit::Paths, Allowed::Words(CellsLimit::WORDS);
        /// Window of the models authors and released, packets (authors' code: 44).
        window_packets: f64 = 44.0, Allowed::Number { min: 1.0, max: MOST_CELLS as f64 };
        /// MaxW of the models paper and repaired, packets; no value is published (authors' code: 44).
        max_window_packets: f64 = 44.0, Allowed::Number { min: 1.0, max: MOST_CELLS as f64 };
        /// F_size of the models paper and repaired, packets (PDLB, model verification: 10000). These models cost up to
        /// that many steps per granularity and period.
        flow_packets: f64 = 10_000.0, Allowed::Number { min: 1.0, max: 100_000.0 };
        /// The granularities tried.
        search: Search = Search::Packets, Allowed::Words(Search::WORDS);
        /// The coarsest granularity, packets (PDLB: 64 KB = 44 packets).
        max_packets: u32 = 44, Allowed::Integer { min: 1.0, max: 4096.0 };
        /// Granularity towards a destination not yet measured, packets.
        initial_packets: u32 = 44, Allowed::Integer { min: 1.0, max: 1e9 };
        /// What was learned about a destination without flows is forgotten after this time, µs.
        stale_after_us: f64 = 1_000.0, Allowed::Number { min: 0.0, max: 1e9 };
        /// Whose paths decide together.
        scope: Scope = Scope::Peer, Allowed::Words(Scope::WORDS);
        /// How the path of the next cell is chosen (PDLB's model: random; its estimation paragraph: polling).
        dispatch: Dispatch = Dispatch::Random, Allowed::Words(Dispatch::WORDS);
        /// When points of the series are recorded.
        record: Record = Record::Changes, Allowed::Words(Record::WORDS);
    }
}

/// A preset of the mechanism that is a named scheme.
pub trait Variant: 'static {
    /// Its declarations, in addition to those common to all variants.
    const SHEET: Sheet;
    /// Its parameters.
    type Config: Params;
    /// Returns the full configuration they imply.
    fn config(config: &Self::Config) -> Config;
}

/// PDLB proper.
#[derive(Clone, Copy, Debug)]
pub enum Published {}

impl Variant for Published {
    const SHEET: Sheet = Sheet {
        name: "pdlb",
        summary: "flowcells that grow with the asymmetry of the paths, measured with probes or acknowledgements",
        source: "Gao et al., J. Cloud Computing 12:173, 2023",
        ..SHEET
    };
    type Config = Config;

    fn config(config: &Config) -> Config {
        config.clone()
    }
}

crate::listed! {
    /// Quantities of a flow that it considers.
    enum OfFlow: Quantity after OfCell {
        BadPaths = quantity("bad_paths", "paths", "congested paths (N_b) behind the granularity in use"),
    }

    /// Quantities of a candidate that it considers.
    enum OfWay: Quantity {
        Delay = quantity("delay", "µs", "last measured delay, or how long nothing has come back"),
        Dead = quantity("dead", "", "1: considered dead"),
        Congested = quantity("congested", "", "1: congested, by its delay and those of the other live paths"),
    }
}

/// The mechanism's declarations about itself, for all variants.
pub(super) const SHEET: Sheet = Sheet {
    unit: "flowcell",
    told: &[
        "paths to each rack, and a tag that selects one",
        "path rate (C)",
        "round-trip time of an empty path (how long to wait for the first answer)",
        "a common clock (delay = one_way)",
    ],
    series: Points::ALL,
    compared: Some(Compared {
        aware: Aware::Paths,
        senses: &["delays of paths, from probes or ACKs"],
        state: "per flow and per (destination, path), at the host",
        needs: Needs::Hosts,
        order: "flowcells that grow with path differences",
        pick: "O(1)",
        update: "O(1) per ACK; O(n + gran) per period and destination",
    }),
    sees: Sees { rules: Turn::ALL, flow: OfFlow::ALL, way: OfWay::ALL, ..Sees::NOTHING },
    ..Sheet::AT_HOST
};

crate::listed! {
    /// Its series.
    enum Points: Series {
        Granularity = series(
            "granularity",
            "packets: mean over destinations with active flows and a plan, or the sender's",
        ),
        BadPaths = series("bad_paths", "congested paths (N_b): mean over the same"),
        Probes = series("probes", "probes sent at this tick"),
    }
}

/// The mechanism, under the parameters of variant `V`.
#[derive(Clone, Debug)]
pub struct Adaptive<V> {
    config: Config,
    period: Span,
    stale: Span,
    variant: PhantomData<fn() -> V>,
}

/// The registry's name of PDLB proper.
pub type Pdlb = Adaptive<Published>;

/// Row per destination host.
#[derive(Clone, Copy, Debug, Default)]
pub struct Peer {
    /// Active flows.
    active: u32,
    /// The plan: packets per cell; zero: none.
    gran: u32,
    /// Dead ways.
    dead: u16,
    /// When the plan was made.
    planned: Time,
    /// N_b behind the plan, for output.
    bad: f64,
    /// This period's acknowledgements.
    share: Share,
}

/// Row of the host.
#[derive(Clone, Copy, Debug, Default)]
pub struct Node {
    /// Destinations with active flows.
    active: u32,
    /// The plan of scope `sender`: packets per cell; zero: none.
    gran: u32,
    /// When it was made.
    planned: Time,
    /// Last points of the series.
    recorded: [f64; 3],
}

mod seat;

impl<V: Variant> Policy for Adaptive<V> {
    const SHEET: Sheet = V::SHEET;
    const HOOKS: Hooks = Hooks::FEEDBACK.and(Hooks::TICK);
    type Site = AtHost;
    type Config = V::Config;
    crate::rows! { flow: Cell, peer: Peer, route: Route, node: Node }

    fn new(config: &V::Config) -> Self {
        let config = V::config(config);
        let (period, stale) = (Span::from_us_f64(config.period_us), Span::from_us_f64(config.stale_after_us));
        Adaptive { config, period, stale, variant: PhantomData }
    }

    fn layout(&self, shape: &Shape) -> Layout {
        let probes = match self.config.estimate {
            Estimate::Probe => shape.hosts as usize * usize::from(shape.ways),
            Estimate::AckTimestamps | Estimate::AckShare => 0,
        };
        let actions = probes + Points::ALL.len();
        Layout { peers: Peers::Hosts, tick: self.period, phase: Phase::Random, actions, ..Layout::default() }
    }

    fn sees(&self, cx: &Cx<'_, Self>, flow: &Cell, packet: &Packet, sight: &mut Sight<'_>) {
        let ways = cx.view.ways_to_host(packet.dst);
        let (peer, routes) = cx.peers.here();
        let live = Live { ways, dead: peer.dead, is_dead: |way| routes[usize::from(way)].dead };
        flow.tell(self.size(self.plan(peer, cx.node)), &live, sight);
        sight.flow(OfFlow::BadPaths, peer.bad);
        let routes = &routes[..usize::from(ways)];
        let above = self.congested_above(cx.now, &cx.view, routes);
        for (way, route) in routes.iter().enumerate() {
            if let Some(delay) = route.believed(cx.now) {
                sight.way(way, OfWay::Delay, delay);
                sight.way(way, OfWay::Congested, f64::from(!route.dead && above.is_some_and(|above| delay > above)));
            }
            sight.way(way, OfWay::Dead, f64::from(route.dead));
        }
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, flow: &mut Cell, packet: &Packet, _: &mut ()) -> Way {
        let ways = cx.view.ways_to_host(packet.dst);
        if packet.kind != Kind::Data || ways == 0 {
            return Way::ANY;
        }
        let (peer, routes) = cx.peers.current();
        let size = self.size(self.plan(peer, cx.node));
        let live = Live { ways, dead: peer.dead, is_dead: |way| routes[usize::from(way)].dead };
        flow.next(size, self.config.dispatch, &live, cx.rng)
    }

    fn feedback(&self, cx: &mut Cx<'_, Self>, _: Option<&mut Cell>, feedback: &Feedback) {
        let host = cx.peers.ids[cx.peers.current];
        if cx.view.leaf_of[host as usize] == cx.view.leaf {
            return;
        }
        let (now, ways, way) = (cx.now, usize::from(cx.view.ways_to_host(host)), feedback.way);
        let (peer, routes) = cx.peers.current();
        let routes = &mut routes[..ways];
        match (feedback.event, self.config.estimate) {
            (Event::FlowStart { .. }, _) => self.flow_starts(now, cx.node, peer, routes),
            (Event::FlowEnd, _) => flow_ends(cx.node, peer),
            (Event::ProbeReply { rtt, one_way, .. }, Estimate::Probe) if way.index() < ways => {
                let delay = self.config.delay.of(one_way * 2, rtt);
                let route = &mut routes[way.index()];
                route.sample(delay);
                route.answered(now, rtt, self.period);
                if route.dead {
                    route.dead = false;
                    peer.dead -= 1;
                }
            }
            (Event::Ack { rtt, .. }, Estimate::AckTimestamps) if way.index() < ways => routes[way.index()].sample(rtt),
            (Event::Ack { rtt, .. }, Estimate::AckShare) => peer.share.count(rtt),
            _ => {}
        }
    }

    fn tick(&self, cx: &mut Cx<'_, Self>) {
        if cx.node.active == 0 {
            return;
        }
        let mut probes = 0;
        for index in 0..cx.peers.len() {
            let id = cx.peers.ids[index];
            let ways = usize::from(cx.view.ways_to_host(id));
            let (peer, routes) = cx.peers.at(index);
            if peer.active == 0 {
                continue;
            }
            let routes = &mut routes[..ways];
            self.settle(cx.now, &cx.view, peer, routes);
            if self.config.estimate == Estimate::Probe {
                for (way, route) in routes.iter_mut().enumerate() {
                    route.ask(cx.now);
                    // PDLB §"Path asymmetry estimation module"
                    cx.out.probe(To::Host(id), Way(way as u16), self.config.probe_bytes, 0, self.patience(&cx.view));
                }
                probes += ways;
            }
            if self.config.scope == Scope::Peer {
                self.plan_for_peer(cx.now, &cx.view, peer, routes);
            }
        }
        let (gran, bad) = match self.config.scope {
            Scope::Peer => means(cx.peers.peers),
            Scope::Sender => self.plan_for_sender(cx),
        };
        self.report(cx, [gran, bad, probes as f64]);
    }
}

/// Counts a flow out.
fn flow_ends(node: &mut Node, peer: &mut Peer) {
    if peer.active == 1 {
        node.active = node.active.saturating_sub(1);
    }
    peer.active = peer.active.saturating_sub(1);
}

/// Mean granularity and N_b over the peers with flows and a plan.
fn means(peers: &[Peer]) -> (f64, f64) {
    let (mut count, mut gran, mut bad) = (0.0, 0.0, 0.0);
    for peer in peers.iter().filter(|peer| peer.active > 0 && peer.gran > 0) {
        count += 1.0;
        gran += f64::from(peer.gran);
        bad += peer.bad;
    }
    if count > 0.0 { (gran / count, bad / count) } else { (0.0, 0.0) }
}

#[cfg(test)]
pub(crate) mod tests;
