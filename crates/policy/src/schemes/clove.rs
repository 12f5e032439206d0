//! CLOVE-ECN: flowlets at the edge, spread by weights that ECN marks shift from path to path.
//!
//! Katta, Hira, Ghag, Kim, Keslassy, Rexford, "CLOVE: how I learned to stop worrying about the core and love the edge",
//! HotNets 2016 (and "Clove: congestion-aware load balancing at the virtual edge", CoNEXT 2017). Site: the hypervisors
//! at both ends. Neither text was available: the rules follow the ELAB paper and the public ns-3 code of Hermes, and
//! are marked "own" where both are silent.
//!
//! | rule | function |
//! |---|---|
//! | a gap opens a flowlet, which keeps its path | `pick`, [`crate::flowlet::opens_flowlet`] |
//! | new flowlets take paths in turn by weight, or draw (ns-3 code) | [`weighted::take_turn`], [`weights::draw`] |
//! | the receiver relays the path of a mark, once per half RTT at most | [`Clove::note`], [`Clove::relay`] |
//! | the marked path loses a third of its weight, at most once per half RTT | [`Clove::heard`], [`weights::cut`] |
//! | the lost weight is spread over the paths without congestion (ELAB's text: it is not) | [`weights::cut`] |
//! | marks are hidden unless all paths have them (the ELAB paper, on CLOVE) | `ingress`, [`weights::all_congested_until`] |
//! | Edge-Flowlet: the path of each flowlet at random, without any feedback | `pick`, `mode = "edge_flowlet"` |
//!
//! | our word | the paper's |
//! |---|---|
//! | way | outer source port that traceroute found to lead over a path of its own |
//! | in-band header | context bits of the tunnel header (STT) |
//! | congested | marked within the last `congested_us` |
//!
//! Weights recover only through what other paths lose; without `redistribute`, only relatively, as other paths are cut
//! in turn (ELAB's example: 1, 2/3, 4/9, 2/3 …). In that case all weights are doubled when none is above half of the
//! initial one.
//!
//! Departures, and what the sources leave open:
//! - CLOVE-INT, which puts the utilisation of links into packets at every switch, is not built: no available source
//!   says how it sets weights from them, and the public code leaves it empty.
//! - No path discovery: hosts know the paths from the start, and paths do not change in a run.
//! - Own rule for uncongested paths: not marked for `congested_us`, one base RTT by default. If all others are
//!   congested, nothing is shifted. `redistribute = "others"` spreads over all others, as the ns-3 code does.
//! - Feedback rides on whatever goes the other way, mostly acknowledgements, as two bytes in the tunnel header. A mark
//!   not relayed for `congested_us` is forgotten. Feedback rides on acknowledgements even under presets in which no
//!   scheme sees them.
//! - Marks reach the receiver's TCP, whose echo is hidden at the source; the paper strips them at the receiver and
//!   makes the echo at the source. For DCTCP and RFC 3168's latched echo the two are equivalent.
//! - Hiding follows the rule, and the rule seldom shows marks: a flow that sends without gaps stays on one path, so the
//!   other paths to that host get no marks, whatever `congested_us`. TCP then reacts only to drops. DCTCP becomes
//!   NewReno, and where queues are long it retransmits as much as NewReno does (docs/reproduction/meet.md); nothing is
//!   out of order.
//! - Acknowledgements are flowlets like any other (`acks = "as_data"`); `acks = "fabric"` leaves their paths to the switches.
//! - Weights are kept in 65536ths of an equal share, and never fall below one of them.
//! - The first of equal paths in turn is drawn per pair of hosts, so that hosts do not all begin with the same one.

pub mod weights;

use crate::config::FLOWLET_GAP;
use crate::edge::acks::Acks;
use crate::edge::weighted::{self, Turns};
use crate::flowlet::{self, Flowlet};
use crate::{
    AtHost, Aware, Compared, Cx, Hooks, HostView, Kind, Layout, Listed, Needs, Packet, Peers, Policy, Quantity, Rule,
    Sees, Shape, Sheet, Sight, Span, Time, Verdict, Way, Wire,
    sees::{quantity, us_since},
};
use weights::{Redistribute, all_congested_until};

crate::choice! {
    /// The part of CLOVE that runs.
    Mode {
        /// Weights that follow ECN.
        Ecn = "ecn",
        /// Flowlets at random, without feedback; ECN is left alone.
        EdgeFlowlet = "edge_flowlet",
    }
}

crate::choice! {
    /// The choice of a new flowlet's path by weight.
    Choice {
        /// Taken in turn, as often as its weight says.
        RoundRobin = "weighted_round_robin",
        /// Drawn with that probability.
        Random = "weighted_random",
    }
}

crate::params! {
    /// CLOVE's parameters.
    Config {
        /// Which part of CLOVE runs; the public ns-3 code runs edge_flowlet by default.
        mode: Mode = Mode::Ecn, Allowed::Words(Mode::WORDS);
        /// Flowlet gap, microseconds: a longer idle time opens a new flowlet (scenarios of the ns-3 code: 500 us).
        flowlet_gap_us: f64 = 500.0, Allowed::Number { min: 0.0, max: 1e9 },
            FLOWLET_GAP;
        /// How a new flowlet's path is chosen by weight.
        choice: Choice = Choice::RoundRobin, Allowed::Words(Choice::WORDS);
        /// Fraction of its weight that a marked path loses (CLOVE: a third).
        cut_fraction: f64 = 1.0 / 3.0, Allowed::Number { min: 0.0, max: 0.99 };
        /// Which paths gain what a marked path loses: those without congestion (CLOVE), all others (ns-3 code), or none
        /// (ELAB).
        redistribute: Redistribute = Redistribute::Uncongested, Allowed::Words(Redistribute::WORDS);
        /// Least time between two relayed marks of a path, and between two cuts of its weight, microseconds; 0: half
        /// the base RTT.
        cut_interval_us: f64 = 0.0, Allowed::Number { min: 0.0, max: 1e9 };
        /// A path counts as congested for this long after a mark, microseconds; 0: the base RTT (own).
        congested_us: f64 = 0.0, Allowed::Number { min: 0.0, max: 1e9 };
        /// Are marks hidden from TCP unless all paths are congested?
        hide_ecn: bool = true, Allowed::Bool;
        /// Who chooses the paths of acknowledgements.
        acks: Acks = Acks::AsData, Allowed::Words(Acks::WORDS);
    }
}

/// Row per host: as a destination of this host's packets, and as their source.
#[derive(Clone, Copy, Debug, Default)]
pub struct Peer {
    /// Weights have been set.
    ready: bool,
    /// The path that comes first among those with equal turns.
    first: u16,
    /// Marks not relayed yet.
    pending: u16,
    /// Path whose mark is relayed next, if it has one.
    next: u16,
    /// Until when all paths to this host are congested.
    congested_until: Time,
}

/// Row per path to (and from) a host. An instant of zero means never: nothing arrives at the start of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// Share of new flowlets.
    pub weight: u32,
    /// Turns it is owed, in weight.
    pub owed: i64,
    /// When a mark on it was last reported.
    pub marked: Time,
    /// When its weight was last cut.
    cut: Time,
    /// When a marked packet of the other host last came by it.
    seen: Time,
    /// Time of the last report to that host.
    relayed: Time,
    /// Whether a report to it is pending.
    pending: bool,
}

impl Turns for Route {
    fn weight(&self) -> u32 {
        self.weight
    }

    fn owed(&mut self) -> &mut i64 {
        &mut self.owed
    }
}

/// In-band feedback: a path of the destination's on which packets arrived marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Feedback(pub Option<u16>);

impl Wire for Feedback {
    fn get(bytes: &[u8; 16]) -> Self {
        Feedback(u16::from_le_bytes([bytes[0], bytes[1]]).checked_sub(1))
    }

    fn put(&self, bytes: &mut [u8; 16]) {
        let path = self.0.map_or(0, |path| path.saturating_add(1));
        bytes[..2].copy_from_slice(&path.to_le_bytes());
    }

    fn wire(&self) -> u32 {
        if self.0.is_some() { 2 } else { 0 }
    }
}

/// Flowlets by weights that follow ECN.
#[derive(Clone, Debug)]
pub struct Clove {
    config: Config,
    gap: Span,
    interval: Span,
    window: Span,
    /// `cut_fraction` in 2⁻³².
    fraction: u64,
}

crate::listed! {
    /// The rule that gave a packet its way.
    enum Why: Rule {
        GoesOn = Rule::Keeps("a packet of the flow left within the flowlet gap: the flowlet continues"),
        InTurn = Rule::Chooses("a new flowlet: the path whose turn it is by weight"),
        DrawnByWeight = Rule::Chooses("a new flowlet: a path drawn by weight"),
        Drawn = Rule::Chooses("a new flowlet: a path drawn at random"),
    }

    /// Quantities of a candidate that it considers.
    enum OfWay: Quantity {
        Weight = quantity("weight", "of an equal share", "share of new flowlets; none before the first"),
        Marked = quantity("marked", "µs", "time since a mark on it was last reported; none if never"),
    }
}

impl Policy for Clove {
    const SHEET: Sheet = Sheet {
        name: "clove",
        summary: "flowlets over paths in turn by weight; ECN marks shift weight from path to path (CLOVE-ECN)",
        source: "Katta et al., HotNets 2016",
        unit: "flowlet",
        told: &[
            "paths to each rack, and a tag that selects one",
            "round-trip time of an empty path (at least half of it between two cuts)",
        ],
        compared: Some(Compared {
            aware: Aware::Paths,
            senses: &["ECN marks", "gaps between packets"],
            state: "per flow and per (destination, path), at the host",
            needs: Needs::Hosts,
            order: "gaps longer than the difference between paths",
            pick: "O(n) per flowlet",
            update: "O(n) per mark reported",
        }),
        sees: Sees { rules: Why::ALL, flow: flowlet::Told::ALL, way: OfWay::ALL, ..Sees::NOTHING },
        ..Sheet::AT_HOST
    };
    const HOOKS: Hooks = Hooks::INGRESS;
    type Site = AtHost;
    type Config = Config;
    crate::rows! { flow: Flowlet, peer: Peer, route: Route, header: Feedback }

    fn new(config: &Config) -> Self {
        Clove {
            gap: Span::from_us_f64(config.flowlet_gap_us),
            interval: Span::from_us_f64(config.cut_interval_us),
            window: Span::from_us_f64(config.congested_us),
            fraction: weights::fraction(config.cut_fraction),
            config: config.clone(),
        }
    }

    fn layout(&self, _: &Shape) -> Layout {
        // Feedback rides on acknowledgements, whoever chooses their paths.
        let picks_acks = self.config.mode == Mode::Ecn || self.config.acks == Acks::AsData;
        // A row older than the gap carries no more information than no row.
        Layout { peers: Peers::Hosts, flow_idle: self.gap, actions: 1, picks_acks, ..Layout::default() }
    }

    fn sees(&self, cx: &Cx<'_, Self>, flowlet: &Flowlet, packet: &Packet, sight: &mut Sight<'_>) {
        flowlet.tell(sight, cx.now, self.gap);
        let ways = cx.view.ways_to_host(packet.dst);
        sight.rule(match (self.config.mode, self.config.choice) {
            _ if self.goes_on(cx.now, flowlet, ways) => Why::GoesOn,
            (Mode::EdgeFlowlet, _) => Why::Drawn,
            (Mode::Ecn, Choice::RoundRobin) => Why::InTurn,
            (Mode::Ecn, Choice::Random) => Why::DrawnByWeight,
        });
        let (peer, routes) = cx.peers.here();
        if peer.ready {
            for (way, route) in routes[..usize::from(ways)].iter().enumerate() {
                sight.way(way, OfWay::Weight, f64::from(route.weight) / f64::from(weights::ONE));
                sight.way(way, OfWay::Marked, us_since((route.marked > Time::ZERO).then_some(route.marked), cx.now));
            }
        }
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, flowlet: &mut Flowlet, packet: &Packet, header: &mut Feedback) -> Way {
        if self.config.mode == Mode::Ecn {
            let (interval, window) = (self.interval(&cx.view), self.window(&cx.view));
            let (peer, routes) = cx.peers.current();
            *header = Feedback(Self::relay(cx.now, interval, window, peer, routes));
        }
        let ways = cx.view.ways_to_host(packet.dst);
        if !self.config.acks.places(packet.kind) || ways == 0 {
            return Way::ANY;
        }
        let way = if self.goes_on(cx.now, flowlet, ways) { flowlet.to } else { self.place(cx, ways) };
        *flowlet = Flowlet::now(cx.now, way);
        Way(way)
    }

    fn ingress(&self, cx: &mut Cx<'_, Self>, _: &mut Flowlet, packet: &Packet, header: &mut Feedback) -> Verdict {
        if self.config.mode == Mode::EdgeFlowlet {
            return Verdict::Forward;
        }
        if packet.kind == Kind::Data && packet.ce {
            let (peer, routes) = cx.peers.current();
            Self::note(cx.now, peer, routes, packet.way);
        }
        if let Some(way) = header.0 {
            self.heard(cx, packet.src, way);
        }
        let (peer, _) = cx.peers.current();
        // ELAB §3.1: TCP sees ECN only when all paths have it.
        if packet.kind == Kind::Ack && self.config.hide_ecn && cx.now >= peer.congested_until {
            cx.out.mask_ecn();
        }
        Verdict::Forward
    }
}

impl Clove {
    fn interval(&self, view: &HostView<'_>) -> Span {
        if self.interval == Span::ZERO { Span(view.base_rtt.0 / 2) } else { self.interval }
    }

    fn window(&self, view: &HostView<'_>) -> Span {
        if self.window == Span::ZERO { view.base_rtt } else { self.window }
    }

    /// Whether a packet belongs to the flow's last flowlet.
    #[inline]
    fn goes_on(&self, now: Time, flowlet: &Flowlet, ways: u16) -> bool {
        flowlet.goes_on(now, self.gap) && flowlet.to < ways
    }

    /// The path of a new flowlet.
    fn place(&self, cx: &mut Cx<'_, Self>, ways: u16) -> u16 {
        if self.config.mode == Mode::EdgeFlowlet {
            return cx.rng.below(u32::from(ways)) as u16;
        }
        let (peer, routes) = cx.peers.current();
        let routes = &mut routes[..usize::from(ways)];
        if !peer.ready {
            weights::even_out(routes);
            *peer = Peer { ready: true, first: cx.rng.below(u32::from(ways)) as u16, ..*peer };
        }
        match self.config.choice {
            Choice::RoundRobin => weighted::take_turn(routes, peer.first).unwrap_or(0),
            Choice::Random => weights::draw(routes, cx.rng),
        }
    }

    /// Receiver: a marked packet came by `way` of its sender's.
    pub fn note(now: Time, peer: &mut Peer, routes: &mut [Route], way: Way) {
        let Some(route) = routes.get_mut(way.index()) else { return };
        route.seen = now;
        if !route.pending {
            route.pending = true;
            peer.pending += 1;
        }
    }

    /// Receiver: the path whose mark goes with this packet, in turn, each at most once per `interval`. A mark seen
    /// longer than `window` ago is not reported.
    pub(crate) fn relay(now: Time, interval: Span, window: Span, peer: &mut Peer, routes: &mut [Route]) -> Option<u16> {
        if peer.pending == 0 {
            return None;
        }
        let paths = routes.len();
        for step in 0..paths {
            let way = (usize::from(peer.next) + step) % paths;
            let route = &mut routes[way];
            if !route.pending || (route.relayed != Time::ZERO && now.since(route.relayed) < interval) {
                continue;
            }
            route.pending = false;
            peer.pending -= 1;
            if now.since(route.seen) <= window {
                route.relayed = now;
                peer.next = way as u16 + 1;
                return Some(way as u16);
            }
        }
        None
    }

    /// Source: packets to host `from` arrived marked by `way`.
    fn heard(&self, cx: &mut Cx<'_, Self>, from: u32, way: u16) {
        let (interval, window) = (self.interval(&cx.view), self.window(&cx.view));
        let (now, ways) = (cx.now, cx.view.ways_to_host(from));
        let (peer, routes) = cx.peers.current();
        let routes = &mut routes[..usize::from(ways)];
        // Bytes from the wire cannot be trusted; nor is it certain that this host has ever sent there.
        if way >= ways || !peer.ready {
            return;
        }
        let route = &mut routes[usize::from(way)];
        route.marked = now;
        if route.cut == Time::ZERO || now.since(route.cut) >= interval {
            route.cut = now;
            weights::cut(routes, usize::from(way), self.fraction, self.config.redistribute, |other| {
                other.marked != Time::ZERO && now.since(other.marked) < window
            });
        }
        peer.congested_until = all_congested_until(routes, window);
    }
}

#[cfg(test)]
mod tests;
