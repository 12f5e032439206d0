//! MEET: the hosts of a rack pool the delays that their packets measure on each path; new flowlets take the least
//! congested path.
//!
//! Dong, Tan, Tian, Zhou, Wang, Dou, Chen, "MEET: Rack-Level Pooling Based Load Balancing in Datacenter Networks", IEEE
//! TPDS 33(12), 2022. Site: the sending host. Every host sums congestion values per path of each destination rack and
//! reports them to its rack's proxy; the proxy adds them up, probes, and broadcasts each path's value to the rack.
//!
//! | rule | function |
//! |---|---|
//! | Algorithm 1, a delay becomes a congestion value | [`congestion::congestion`] |
//! | Algorithm 2, lines 1–5, at a host and at the proxy | [`congestion::Tally::add`], [`congestion::Tally::merge`] |
//! | Algorithm 2, line 7 | [`congestion::Tally::score`] |
//! | §3.2, reports and broadcasts every T_update | `seat::report`, `seat::broadcast` |
//! | §3.3, three probes to each destination rack of current flows | `seat::probe_rack` |
//! | §3.3, "selects the path with the best probing result" (`route = "best_probe"`) | [`perception::settle`] |
//! | §3.3, "uncovered links with higher priority"; §4.2, a lost probe | `seat::probe_rack`, [`perception::perceive`] |
//! | §3.3, §3.4, the path of a new flowlet | [`perception::settle`], [`perception::choose`] |
//! | §3.5, K | [`Meet::threshold`] |
//! | §5, single point of failure | `seat::take_over` |
//!
//! | our word | the paper's |
//! |---|---|
//! | way | path (XPath's path ID) |
//! | score | (normalised) congestion value C\[path\] |
//! | tally | C_total, P_total |
//! | known, unknown | covered, uncovered by data |
//!
//! What the paper leaves open, and what is done:
//! - **RTT.** Its 40 µs are the one-way delay of the code it builds on (four links of 10 µs), and that code measures
//!   one-way delays. So `sample = "one_way"`: the data packet's own path and no other; clocks must agree. `"rtt"` takes
//!   the echoed timestamp. K is the base of whichever it is plus 20 µs; `k_us` sets it. With a K below the base every
//!   packet counts as congested, as §3.5 warns; paths keep their order where each has one sample, because a cube is
//!   monotonic, but means of several cubes may change theirs. Where NICs queue (preset `ns3-hermes`), delays include the
//!   wait in the host's own NIC, on any path. That preset's K is the paper's 60 µs, for one-way delays:
//!   `sample = "rtt"` there needs its own `k_us`.
//! - **A path without samples** has the value of its last probe, else zero, but after paths that are known to be at
//!   zero.
//! - **Probes and data together.** §3.3: "The host then selects the path with the best probing result for its flows."
//!   §3.4: "MEET selects a new path for that flow based on current perception." `route` has both. By default
//!   (`"combined"`) the candidates are the path of least value and the best one probed; the smaller value wins. Paths
//!   of equal value are drawn evenly, or a rack would move as one; a flow stays if its path is among them (`tie`).
//!   Values are whole 24-bit numbers, and are mostly equal at zero: K makes paths equal. With `"best_probe"` data
//!   choose only which paths are probed. A new flowlet takes the path with the least value among those probed in the
//!   last round, counted from the round's first answer on, by the same rule of ties. Two rounds without an answer (or
//!   none yet) leave the combined choice. Where the proxy probes, its broadcast passes over all other paths. The
//!   paper's own words are `probe = "host"` and `route = "best_probe"`.
//! - **Who probes.** §1 says the proxy, §3.3 each host. `probe = "proxy"`: results come with the broadcast, and racks
//!   that any host has flows to are probed, by a bit of its report. `"host"`: each for itself and the racks of its own
//!   flows.
//! - **The paths probed.** "The smallest aggregated congestion value" is that of the rack's data, however good the best
//!   probe was, which has a probe of its own.
//! - **A probe** is 64 bytes to the host of the same place in the other rack: the proxy's counterpart. It queues as
//!   data does. It is lost after T_probe (but not before two round trips of an empty path) and counts as that delay. If
//!   fewer than three ways differ, others are drawn; two ways have two probes. An answer takes the fabric's choice: one
//!   that is lost on its way back blames the path there. If the probe timeout is longer than T_probe, a loss is
//!   reported after answers to later probes and is then ignored.
//! - **The window** of the proxy lies between its own broadcasts. Ticks of hosts fall at random in a period, so a
//!   report waits up to T_update for the next broadcast: T_latency consists mostly of that wait, and is not small as
//!   §3.2 says. Series `t_latency_us` and `t_delay_us` measure it at the last host of each rack, which hears last. A
//!   report that crosses the end of a window counts in the next.
//! - **Bytes.** A report has 8 bytes a path, a float of 30 bits and an integer; a broadcast 4, for a mean needs no
//!   count. Both are cut at the MTU; each packet has 16 bytes of its own (first path, instant, term) and
//!   `message_header_bytes`. A broadcast is a packet to every host of the rack.
//! - **A failed proxy** is §5's open question. Hosts follow the proxy of the highest *term*, of equal terms the one
//!   with the lowest number, at first the rack's first host. The host d places after it steps up, with the next term,
//!   when it has heard nothing for d × `takeover_periods`. A view as old as one such silence is forgotten: then all
//!   paths are alike, and only own probes tell them apart. `proxy_fails_at_ms` stops the first proxy of one rack.
//!
//! Departures: a rack's own leaf and racks with a single path are not in the tables (the paper's 64 paths on 8 leaves
//! count the own one). To a single path, or to none, there is nothing to choose. In a rack of one host nothing is sent
//! but probes. Acknowledgements take the fabric's choice.

pub mod congestion;
pub(crate) mod perception;
mod seat;

use crate::config::FLOWLET_GAP;
use crate::edge::delay::Delay;
use crate::edge::pieces::{self, Piece};
use crate::flowlet::{self, Flowlet};
use crate::{
    AtHost, Aware, Compared, Cx, Device, Event, Feedback, Hooks, HostView, Key, Kind, Layout, Listed, Message, Needs,
    Packet, Peers, Phase, Policy, Quantity, Rule, Sees, Series, Shape, Sheet, Sight, Span, Time, Way,
    sees::{quantity, series},
};
use congestion::{STEP, Score, congestion};
use perception::{Peer, Probed, Route, choose};

crate::choice! {
    /// The hosts that probe.
    Probe {
        /// The rack's proxy, for all.
        Proxy = "proxy",
        /// Every host, for itself.
        Host = "host",
        /// None: only data measures paths.
        Off = "off",
    }
}

crate::choice! {
    /// The basis for the path of a new flowlet.
    RouteBy {
        /// The rack's data and the best probe: the smaller value.
        Combined = "combined",
        /// The best probe of the last round.
        BestProbe = "best_probe",
    }
}

crate::choice! {
    /// The action of a flow that is on one of the best paths.
    Tie {
        /// It stays.
        Keep = "keep",
        /// It draws among all of them.
        Random = "random",
    }
}

crate::params! {
    /// MEET's parameters.
    Config {
        /// T_update, time between reports and between broadcasts, µs (MEET §4; "tens of the cross-rack RTT", §3.5).
        /// Below about two base round trips, a broadcast in flight is taken for silence, and a working proxy is
        /// replaced.
        t_update_us: f64 = 500.0, Allowed::Number { min: 1.0, max: 1e6 };
        /// T_probe, time between probes, µs ("supposed to be equal to T_update", MEET §3.5).
        t_probe_us: f64 = 500.0, Allowed::Number { min: 1.0, max: 1e6 };
        /// T_flowlet, µs: a longer idle time opens a flowlet (MEET §4).
        flowlet_gap_us: f64 = 500.0, Allowed::Number { min: 0.0, max: 1e9 },
            FLOWLET_GAP;
        /// What a packet's path delay is measured as.
        sample: Delay = Delay::OneWay, Allowed::Words(Delay::WORDS);
        /// K, µs, above which a delay is congestion; 0 = 20 µs more than on an empty path (MEET §3.5).
        k_us: f64 = 0.0, Allowed::Number { min: 0.0, max: 1e6 };
        /// Who probes (MEET §1: the proxy; §3.3: every host).
        probe: Probe = Probe::Proxy, Allowed::Words(Probe::WORDS);
        /// How the path of a new flowlet is chosen: the less congested of the best path in the rack's data and the best
        /// probed one (MEET §3.4, "current perception"), or only the last round's "best probing result" (MEET §3.3).
        route: RouteBy = RouteBy::Combined, Allowed::Words(RouteBy::WORDS);
        /// Size of a probe on the wire, bytes (the paper gives none: the minimum Ethernet frame).
        probe_bytes: u32 = 64, Allowed::Integer { min: 40.0, max: 9000.0 };
        /// A probe counts as lost after this time, µs; 0 = after T_probe, but no earlier than two round trips of an
        /// empty path.
        probe_timeout_us: f64 = 0.0, Allowed::Number { min: 0.0, max: 1e6 };
        /// What a flow on one of the best paths does when it opens a flowlet (the paper does not say).
        tie: Tie = Tie::Keep, Allowed::Words(Tie::WORDS);
        /// Headers of a report or broadcast packet below the scheme's own, bytes (Ethernet, IPv4 and UDP).
        message_header_bytes: u32 = 42, Allowed::Integer { min: 0.0, max: 512.0 };
        /// Periods without a broadcast after which the rack's next host becomes its proxy (§5 leaves it open).
        takeover_periods: u32 = 3, Allowed::Integer { min: 1.0, max: 1e6 };
        /// When the first proxy of one rack stops acting as proxy, ms, while the host itself continues; 0 = never.
        proxy_fails_at_ms: f64 = 0.0, Allowed::Number { min: 0.0, max: 1e9 };
        /// Leaf of the rack whose proxy fails.
        proxy_fails_leaf: u32 = 0, Allowed::Integer { min: 0.0, max: 4095.0 };
        /// Are the series recorded?
        record: bool = true, Allowed::Bool;
    }
}

crate::listed! {
    /// Its series.
    enum Points: Series {
        TLatency = series(
            "t_latency_us",
            "µs from the sending of reports (mean) to the arrival of the result at a rack's last host",
        ),
        TDelay = series("t_delay_us", "µs: T_update plus t_latency_us, the age of the data that a new view begins \
                                       with"),
        Takeover = series("takeover_us", "µs without a broadcast before this host became its rack's proxy"),
        LostProbe = series("lost_probe", "path of a probe that was lost"),
    }
}

/// Classes of messages.
mod class {
    pub(crate) const REPORT: u8 = 1;
    pub(crate) const BROADCAST: u8 = 2;
}

/// The timer of probes, if they are not sent with the ticks.
const PROBE_TIMER: Key = Key::Node(0);

/// Rack-level pooling.
#[derive(Clone, Debug)]
pub struct Meet {
    config: Config,
    t_update: Span,
    t_probe: Span,
    gap: Span,
    /// K and the patience with a probe, if given.
    k: Option<Span>,
    patience: Option<Span>,
    /// When the proxy of one leaf fails.
    fails: Option<(u32, Time)>,
}

/// Row of the host.
#[derive(Clone, Copy, Debug, Default)]
pub struct Node {
    /// Its position in the rack, once known.
    place: Option<u32>,
    /// Hosts of the rack.
    rack: u32,
    /// The proxy this host follows.
    proxy: u32,
    /// Term of that proxy in the rack's history.
    term: u32,
    /// When a broadcast was last heard or made.
    heard: Time,
    /// At the proxy: pieces of reports of this window, and the sum of the instants at which they were sent.
    reports: u32,
    sent: u128,
}

impl Meet {
    /// K.
    // MEET §3.5: base RTT and 20 µs.
    pub fn threshold(&self, view: &HostView<'_>) -> Span {
        self.k.unwrap_or(self.config.sample.base(view) + Span::from_us(20))
    }

    /// Returns how long a probe is awaited before it is given up.
    pub fn patience(&self, view: &HostView<'_>) -> Span {
        self.patience.unwrap_or(self.t_probe.max(view.base_rtt * 2))
    }

    /// The delay that a lost probe counts as: the time it was waited for, but enough above K to count as congestion.
    // MEET §4.2: "failed links will be considered as congested".
    pub(crate) fn penalty(&self, view: &HostView<'_>) -> Span {
        self.patience(view).max(self.threshold(view) + view.base_rtt.max(STEP))
    }
}

impl Meet {
    /// The path of the flow's last flowlet, if the flowlet continues.
    #[inline]
    fn old(&self, flowlet: &Flowlet, ways: u16) -> Option<Way> {
        (flowlet.seen && flowlet.to < ways).then_some(Way(flowlet.to))
    }
}

crate::listed! {
    /// The rule that gave a packet its way.
    enum Why: Rule {
        GoesOn = Rule::Keeps("a packet of the flow left within the flowlet gap: the flowlet continues"),
        Unknown = Rule::Chooses("a new flowlet: nothing is known about the paths yet; one is drawn at random"),
        Kept = Rule::Chooses("a new flowlet: the current path is among the best and is kept"),
        Drawn = Rule::Chooses("a new flowlet: one of the best paths, drawn at random"),
    }

    /// Quantities of a candidate that it considers.
    enum OfWay: Quantity {
        Excess = quantity("excess", "µs", "estimated delay of the path above K (cubic mean); none if unknown"),
        Heard = quantity("heard", "µs", "the same from the rack's data alone"),
        Best = quantity("best", "", "1: no path is better"),
    }
}

impl Policy for Meet {
    const SHEET: Sheet = Sheet {
        name: "meet",
        summary: "each flowlet on the path that is least congested by the rack's pooled delays and probes",
        source: "Dong et al., IEEE TPDS 2022",
        unit: "flowlet",
        told: &[
            "paths to each rack, and a tag that selects one",
            "round-trip time of an empty path (K)",
            "the hosts of its rack, in a common order",
            "a common clock (sample = one_way)",
        ],
        series: Points::ALL,
        compared: Some(Compared {
            aware: Aware::Shared,
            senses: &["delays of data packets", "probes"],
            state: "per flow and per (rack, path), at the host; sums of the rack at one of its hosts",
            needs: Needs::Hosts,
            order: "a path is kept for a flowlet",
            pick: "O(1)",
            update: "O(1) per ACK; O(n) per period",
        }),
        sees: Sees { rules: Why::ALL, flow: flowlet::Told::ALL, way: OfWay::ALL, ..Sees::NOTHING },
        ..Sheet::AT_HOST
    };
    const HOOKS: Hooks = Hooks::FEEDBACK.and(Hooks::MESSAGE).and(Hooks::TIMER).and(Hooks::TICK);
    type Site = AtHost;
    type Config = Config;
    crate::rows! { flow: Flowlet, peer: Peer, route: Route, node: Node }

    fn new(config: &Config) -> Self {
        let us = Span::from_us_f64;
        let given = |span: f64| (span > 0.0).then(|| us(span));
        let fails = config.proxy_fails_at_ms;
        Meet {
            t_update: us(config.t_update_us),
            t_probe: us(config.t_probe_us),
            gap: us(config.flowlet_gap_us),
            k: given(config.k_us),
            patience: given(config.probe_timeout_us),
            fails: (fails > 0.0).then(|| (config.proxy_fails_leaf, Time::ZERO + us(fails * 1_000.0))),
            config: config.clone(),
        }
    }

    fn layout(&self, shape: &Shape) -> Layout {
        let paths = shape.leaves as usize * usize::from(shape.ways);
        let (packets, bytes) = pieces::room(paths, 8);
        let probes = shape.leaves as usize * seat::PROBES;
        Layout {
            peers: Peers::Leaves,
            all_peers: true,
            tick: self.t_update,
            phase: Phase::Random,
            actions: packets + probes + Points::ALL.len() + 1,
            bytes,
            ..Layout::default()
        }
    }

    fn misfit(&self, shape: &Shape) -> Option<(&'static str, crate::config::Allowed)> {
        if self.config.route == RouteBy::BestProbe && self.config.probe == Probe::Off {
            return Some(("route", crate::config::Allowed::Words(&["combined"])));
        }
        let last = shape.leaves.saturating_sub(1);
        let allowed = crate::config::Allowed::Integer { min: 0.0, max: f64::from(last) };
        (self.config.proxy_fails_leaf > last).then_some(("proxy_fails_leaf", allowed))
    }

    fn sees(&self, cx: &Cx<'_, Self>, flowlet: &Flowlet, packet: &Packet, sight: &mut Sight<'_>) {
        let ways = cx.view.ways_to_host(packet.dst);
        let old = self.old(flowlet, ways);
        flowlet.tell(sight, cx.now, self.gap);
        let (peer, routes) = cx.peers.here();
        sight.rule(match old {
            Some(_) if flowlet.goes_on(cx.now, self.gap) => Why::GoesOn,
            Some(way) if self.config.tie == Tie::Keep && (peer.tied == 0 || routes[way.index()].tied) => Why::Kept,
            _ if peer.tied == 0 => Why::Unknown,
            _ => Why::Drawn,
        });
        for (way, route) in routes[..usize::from(ways)].iter().enumerate() {
            sight.way(way, OfWay::Excess, route.score.excess_us());
            sight.way(way, OfWay::Heard, route.heard.excess_us());
            sight.way(way, OfWay::Best, f64::from(route.tied));
        }
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, flowlet: &mut Flowlet, packet: &Packet, _: &mut ()) -> Way {
        let ways = cx.view.ways_to_host(packet.dst);
        if packet.kind != Kind::Data || ways == 0 {
            return Way::ANY;
        }
        let old = self.old(flowlet, ways);
        // MEET §3.4
        let way = match old {
            Some(way) if flowlet.goes_on(cx.now, self.gap) => way,
            _ => {
                let (peer, routes) = cx.peers.current();
                let stays = old.filter(|_| self.config.tie == Tie::Keep);
                choose(peer.tied, &routes[..usize::from(ways)], stays, cx.rng)
            }
        };
        *flowlet = Flowlet::now(cx.now, way.0);
        way
    }

    fn feedback(&self, cx: &mut Cx<'_, Self>, _: Option<&mut Flowlet>, feedback: &Feedback) {
        let way = feedback.way;
        let leaf = cx.peers.ids[cx.peers.current];
        let is_path = way.0 < cx.view.ways[leaf as usize];
        let k = self.threshold(&cx.view);
        let (peer, routes) = cx.peers.current();
        match feedback.event {
            Event::FlowStart { .. } => peer.active += 1,
            Event::FlowEnd => peer.active = peer.active.saturating_sub(1),
            Event::Ack { rtt, one_way, .. } if is_path => {
                routes[way.index()].own.add(congestion(self.config.sample.of(one_way, rtt), k));
            }
            Event::ProbeReply { rtt, one_way, .. } if is_path => {
                let c = congestion(self.config.sample.of(one_way, rtt), k);
                peer.rounds.answered(way, c);
                routes[way.index()].proves(cx.now - rtt);
                self.learn(cx, way, Probed::Answered(Score::of(c)));
            }
            Event::ProbeLost if is_path => {
                if self.config.record {
                    cx.out.record(Points::LostProbe, f64::from(way.0));
                }
                if routes[way.index()].has_outdone(cx.now - self.patience(&cx.view)) {
                    return;
                }
                peer.rounds.lost(way);
                let penalty = congestion(self.penalty(&cx.view), k);
                self.learn(cx, way, Probed::Lost(Score::of(penalty)));
            }
            _ => {}
        }
    }

    fn message(&self, cx: &mut Cx<'_, Self>, _: Option<&mut Flowlet>, message: &Message<'_>) {
        let Device::Host(from) = message.from else { return };
        self.look_around(cx);
        match message.class {
            class::REPORT => {
                if let Some(piece) = Piece::read(message.body) {
                    self.take_report(cx, &piece);
                }
            }
            class::BROADCAST => {
                if let Some(piece) = Piece::read(message.body) {
                    self.take_broadcast(cx, from, &piece);
                }
            }
            _ => {}
        }
    }

    fn timer(&self, cx: &mut Cx<'_, Self>, _: Option<&mut Flowlet>, _: Key) {
        self.probe(cx);
        cx.out.arm(PROBE_TIMER, cx.now + self.t_probe);
    }

    fn tick(&self, cx: &mut Cx<'_, Self>) {
        if pieces::paths(&cx.view).next().is_none() {
            return;
        }
        self.look_around(cx);
        self.take_over(cx);
        if self.is_proxy(cx) {
            self.close_window(cx);
            self.broadcast(cx);
        } else {
            self.report(cx);
        }
        if self.t_probe == self.t_update {
            self.probe(cx);
        }
    }
}
