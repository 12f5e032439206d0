//! HULA: switches forward probes and learn from them the least utilised next hop towards every leaf.
//!
//! Katta, Hira, Kim, Sivaraman, Rexford, "HULA: scalable load balancing using programmable data planes", SOSR 2016. The
//! paper was not available. The rules are those that papers citing it (MEET, PDLB) and public P4 programs based on it
//! agree on; whatever neither settles is a parameter or a departure.
//!
//! | rule | function |
//! |---|---|
//! | every leaf sends a probe up each of its links, each period | `tick` |
//! | a switch copies a probe to the switches that reach its leaf through this one, never back | [`passes_on`] |
//! | U = D + U · (1 − Δt / τ), for each link | [`Estimator::sent`], [`decayed`] |
//! | a probe carries the utilisation of the most utilised link between this switch and its leaf | [`path_util`] |
//! | per leaf, the best next hop, its path's utilisation, and when that was learned | [`Best`], [`replaces`] |
//! | an entry without updates yields to any probe | [`replaces`] |
//! | a flowlet keeps its hop; a new one takes the best | `pick` |
//!
//! | our word | the paper's |
//! |---|---|
//! | leaf | ToR |
//! | `Best` | row of the best hop and path utilisation tables |
//! | `aging_intervals` | failure detection time T_fail, keep-alive threshold |
//!
//! **A probe** is 64 bytes and carries 24 bits of leaf and 8 bits of utilisation: 256 steps of a link's rate, rounded
//! down. It travels against the traffic it describes, so the link measured is the one that leads back to where it came
//! from. A switch passes on the utilisation of its *best* path, because that is where it will send traffic.
//!
//! **Loops.** A switch accepts a probe only if it arrived on one of the switch's own shortest routes to that leaf, and
//! copies it to all other neighbouring switches. In a leaf-spine and in a fat-tree that is up, then down; in any other
//! graph it also ends, since each accepting switch is one hop farther away.
//!
//! **Cost.** In a leaf-spine each link carries one probe per leaf and period, as in the paper's overhead: probe_bytes ·
//! leaves / probe_interval. In three tiers a leaf receives a probe from another pod once per core.
//!
//! Departures:
//! - Leaves do not probe simultaneously, but each at its own phase.
//! - U is also updated when it is read; the paper relies on probes to keep every link's value fresh.
//! - Rows of flowlets are exact; the paper's table is hashed and may merge two flows.
//! - Before the first probe, or if the best hop has no route left, a flowlet is hashed.
//! - Links to hosts are not measured: all paths share them. Acknowledgements are flows of their own.

use crate::config::FLOWLET_GAP;
use crate::fabric::dre::{full_register, quantised};
use crate::flowlet::{self, Flowlet};
use crate::{
    AtSwitch, Aware, Compared, Cx, Hooks, Kind, Layout, Listed, Message, Needs, Packet, Peers, Phase, Policy, Port,
    Quantity, Rule, Sees, Shape, Sheet, Sight, Span, Tier, Time, To, Way,
    sees::{quantity, us_since},
};

crate::choice! {
    /// The effect of a probe by the best hop itself on its entry.
    SameHop {
        /// It always replaces it: knowledge of the best path is as fresh as its probes.
        Replaces = "replaces",
        /// It must be better or find the entry aged, as any other's (public P4 programs, whose aging is one interval).
        Competes = "competes",
    }
}

crate::params! {
    /// HULA's parameters.
    Config {
        /// Period of the probes of each leaf, microseconds (general knowledge of the paper: 200).
        probe_interval_us: f64 = 200.0, Allowed::Number { min: 0.1, max: 1e5 };
        /// A probe on the wire, bytes (general knowledge of the paper: a minimum-size packet).
        probe_bytes: u32 = 64, Allowed::Integer { min: 64.0, max: 1500.0 };
        /// Flowlet gap, microseconds: a longer idle time opens a new flowlet (general knowledge of the paper: 100).
        flowlet_gap_us: f64 = 100.0, Allowed::Number { min: 0.0, max: 1e9 },
            FLOWLET_GAP;
        /// Time constant τ of link utilisation, in probe intervals (general knowledge of the paper: at least 2).
        tau_intervals: f64 = 2.0, Allowed::Number { min: 1.0, max: 100.0 };
        /// An entry that no probe has renewed for this many probe intervals yields to any other (own choice; public
        /// P4 programs: 1).
        aging_intervals: f64 = 3.0, Allowed::Number { min: 1.0, max: 1000.0 };
        /// What probes from the best hop itself do (own choice: if they only compete, a path that fills up stays best
        /// until it ages).
        same_hop: SameHop = SameHop::Replaces, Allowed::Words(SameHop::WORDS);
    }
}

/// Message class of a probe.
pub const PROBE: u8 = 0;

/// Bits of the use of a path in a probe.
const UTIL_BITS: u32 = 8;

/// Body of a probe, four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The leaf that sent it, 24 bits.
    pub leaf: u32,
    /// Use of the most used link on the best path to that leaf from the switch that passed it on, 1/256.
    pub util: u8,
}

impl Probe {
    /// Encodes.
    pub const fn put(self) -> [u8; 4] {
        let [_, a, b, c] = self.leaf.to_be_bytes();
        [a, b, c, self.util]
    }

    /// Decodes; none if it is not a probe.
    pub fn get(body: &[u8]) -> Option<Probe> {
        let &[a, b, c, util] = body else { return None };
        Some(Probe { leaf: u32::from_be_bytes([0, a, b, c]), util })
    }
}

/// Row per leaf: the best next hop towards it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Best {
    /// A port of this switch; none before the first probe.
    pub port: Option<u16>,
    /// Use of the most used link on that path, 1/256.
    pub util: u8,
    /// When that was learnt.
    pub at: Time,
}

/// Row per port: the use of its link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimator {
    /// U, bytes; rate · τ on a fully used link.
    pub bytes: u64,
    /// When it was last brought up to date.
    pub at: Time,
}

/// Flowlets on the least used next hop, as learnt from probes.
#[derive(Clone, Copy, Debug)]
pub struct Hula {
    interval: Span,
    probe_bytes: u32,
    gap: Span,
    tau: Span,
    aging: Span,
    same_hop: SameHop,
}

crate::listed! {
    /// The rule that gave a packet its way.
    enum Why: Rule {
        GoesOn = Rule::Keeps("a packet of the flow passed within the flowlet gap: the flowlet continues"),
        Best = Rule::Chooses("a new flowlet: the best hop that probes have reported"),
        Hashed = Rule::Chooses("a new flowlet, and no probe has reported a hop: by a hash of the header"),
    }

    /// Quantities of a flow that it considers.
    enum OfFlow: Quantity after flowlet::Told {
        BestUse = quantity("best_use", "of 255", "utilisation of the best path's busiest link, from the probe"),
        BestAge = quantity("best_age", "µs", "time since the best hop was last reported"),
    }

    /// Quantities of a candidate that it considers.
    enum OfWay: Quantity {
        Best = quantity("best", "", "1: the best hop"),
    }
}

impl Policy for Hula {
    const SHEET: Sheet = Sheet {
        name: "hula",
        summary: "each flowlet to the next hop of the least utilised path, learned hop by hop from every leaf's probes",
        source: "Katta et al., SOSR 2016",
        unit: "flowlet",
        told: &["leaf of every host", "rates of its own links"],
        compared: Some(Compared {
            aware: Aware::Shared,
            senses: &["utilisation of links, from probes that every switch forwards"],
            state: "per flow, per leaf and per port, at every switch",
            needs: Needs::Switches,
            order: "gaps longer than the difference between paths",
            pick: "O(n), to find its port in the group",
            update: "O(ports) per probe",
        }),
        sees: Sees { rules: Why::ALL, flow: OfFlow::ALL, way: OfWay::ALL, ..Sees::NOTHING },
        ..Sheet::AT_SWITCH
    };
    const HOOKS: Hooks = Hooks::EGRESS.and(Hooks::MESSAGE).and(Hooks::TICK);
    type Site = AtSwitch;
    type Config = Config;
    crate::rows! { flow: Flowlet, peer: Best, port: Estimator }

    fn new(config: &Config) -> Self {
        let intervals = |count: f64| Span::from_us_f64(config.probe_interval_us * count);
        Hula {
            interval: intervals(1.0),
            probe_bytes: config.probe_bytes,
            gap: Span::from_us_f64(config.flowlet_gap_us),
            tau: intervals(config.tau_intervals),
            aging: intervals(config.aging_intervals),
            same_hop: config.same_hop,
        }
    }

    fn layout(&self, shape: &Shape) -> Layout {
        let copies = usize::from(shape.ports);
        Layout {
            peers: Peers::Leaves,
            all_peers: true,
            // A row older than the gap carries no more information than no row.
            flow_idle: self.gap,
            tick: if shape.tier == Tier::Leaf { self.interval } else { Span::ZERO },
            phase: Phase::Random,
            actions: copies,
            bytes: 4 * copies,
            ..Layout::default()
        }
    }

    fn sees(&self, cx: &Cx<'_, Self>, flowlet: &Flowlet, _: &Packet, sight: &mut Sight<'_>) {
        flowlet.tell(sight, cx.now, self.gap);
        let (candidates, best) = (cx.view.candidates, cx.peers.here().0);
        if best.port.is_some() {
            sight.flow(OfFlow::BestUse, f64::from(best.util));
            sight.flow(OfFlow::BestAge, us_since(Some(best.at), cx.now));
        }
        for (way, &port) in candidates.iter().enumerate() {
            sight.way(way, OfWay::Best, f64::from(best.port == Some(port)));
        }
        sight.rule(match best.port {
            _ if flowlet.goes_on(cx.now, self.gap) && candidates.contains(&flowlet.to) => Why::GoesOn,
            Some(port) if candidates.contains(&port) => Why::Best,
            _ => Why::Hashed,
        });
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, flowlet: &mut Flowlet, packet: &Packet, _: &mut ()) -> Way {
        let candidates = cx.view.candidates;
        let of_flow = matches!(packet.kind, Kind::Data | Kind::Ack);
        let goes_on = of_flow && flowlet.goes_on(cx.now, self.gap);
        let kept = if goes_on { cx.view.way_of(flowlet.to) } else { None };
        let best = cx.peers.current().0.port;
        let way = kept
            .or_else(|| best.and_then(|port| cx.view.way_of(port)))
            .unwrap_or_else(|| packet.spread(cx.view.salt, candidates.len() as u32) as usize);
        if of_flow {
            *flowlet = Flowlet::now(cx.now, candidates[way]);
        }
        Way(way as u16)
    }

    #[inline]
    fn egress(&self, cx: &mut Cx<'_, Self>, port: Port, packet: &Packet, _: &mut ()) {
        cx.ports[port.index()].sent(packet.wire, cx.now, self.tau);
    }

    fn tick(&self, cx: &mut Cx<'_, Self>) {
        let probe = Probe { leaf: cx.view.switch, util: 0 };
        for port in cx.view.host_ports..cx.ports.len() as u16 {
            self.send(cx, port, probe);
        }
    }

    fn message(&self, cx: &mut Cx<'_, Self>, _: Option<&mut Flowlet>, message: &Message<'_>) {
        let Some(probe) = Probe::get(message.body).filter(|probe| (probe.leaf as usize) < cx.peers.len()) else {
            return;
        };
        let (view, port) = (cx.view, message.in_port);
        let routes = view.towards(probe.leaf);
        if !routes.contains(&port.0) {
            return;
        }
        let full = full_register(view.rate(port), self.tau);
        let link = quantised(cx.ports[port.index()].now(cx.now, self.tau), full, UTIL_BITS);
        let heard = Best { port: Some(port.0), util: path_util(probe.util, link), at: cx.now };
        // All leaves are met from the start, in order.
        let (best, _) = cx.peers.at(probe.leaf as usize);
        if replaces(best, &heard, self.aging, self.same_hop) {
            *best = heard;
        }
        let probe = Probe { util: best.util, ..probe };
        for out in view.host_ports..cx.ports.len() as u16 {
            if passes_on(routes, out) {
                self.send(cx, out, probe);
            }
        }
    }
}

impl Hula {
    fn send(&self, cx: &mut Cx<'_, Self>, port: u16, probe: Probe) {
        cx.out.send(To::Port(Port(port)), PROBE, None, Way::ANY, &probe.put(), self.probe_bytes);
    }
}

impl Estimator {
    /// U at `now`.
    #[inline]
    pub const fn now(&self, now: Time, tau: Span) -> u64 {
        decayed(self.bytes, now.since(self.at), tau)
    }

    /// A packet of D = `wire` bytes is sent.
    // HULA: U = D + U · (1 − Δt / τ)
    #[inline]
    pub const fn sent(&mut self, wire: u32, now: Time, tau: Span) {
        *self = Estimator { bytes: wire as u64 + self.now(now, tau), at: now };
    }
}

/// U · (1 − Δt / τ), and zero after τ; Δt / τ is rounded down to 1 / 2²⁰, the product to whole bytes.
#[inline]
pub const fn decayed(bytes: u64, since: Span, tau: Span) -> u64 {
    if since.0 >= tau.0 {
        return 0;
    }
    let gone = (since.0 << 20) / tau.0;
    (bytes * ((1 << 20) - gone)) >> 20
}

/// Use of the most used link of a path that continues over `link`.
#[inline]
pub(crate) const fn path_util(beyond: u8, link: u8) -> u8 {
    if beyond > link { beyond } else { link }
}

/// Whether the entry `heard` replaces `best`.
pub fn replaces(best: &Best, heard: &Best, aging: Span, same_hop: SameHop) -> bool {
    let renews = best.port == heard.port && same_hop == SameHop::Replaces;
    best.port.is_none() || heard.util < best.util || renews || heard.at.since(best.at) > aging
}

/// Whether a probe of a leaf is forwarded through port `out` of a switch whose `routes` lead to that leaf.
#[inline]
pub(crate) fn passes_on(routes: &[u16], out: u16) -> bool {
    !routes.contains(&out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAU: Span = Span::from_us(400);

    #[test]
    fn a_link_in_full_use_reads_as_its_rate_times_tau() {
        // 10 Gbps, back to back: 1,500 bytes every 1.2 us. By the recursion in real numbers U tends to C·τ + D.
        let (mut link, mut exact, mut now) = (Estimator::default(), 0.0f64, Time::ZERO);
        for _ in 0..3_000 {
            now += Span::from_ns(1_200);
            link.sent(1_500, now, TAU);
            exact = 1_500.0 + exact * (1.0 - 1.2 / 400.0);
        }
        assert!((exact - 500_000.0).abs() < 100.0, "{exact}");
        assert!((link.bytes as f64 - exact).abs() < 0.001 * exact, "{} and {exact}", link.bytes);
        assert_eq!(quantised(link.bytes, full_register(10_000_000_000, TAU), UTIL_BITS), 255);
        // Half the rate gives half of it, and a quarter of τ later three quarters of that.
        for _ in 0..3_000 {
            now += Span::from_ns(2_400);
            link.sent(1_500, now, TAU);
        }
        assert!(link.bytes.abs_diff(250_000) < 800, "{}", link.bytes);
        let later = link.now(now + Span::from_us(100), TAU);
        assert!(later.abs_diff(link.bytes * 3 / 4) <= 1, "{later} of {}", link.bytes);
        assert_eq!(link.now(now + TAU, TAU), 0);
    }

    #[test]
    fn probes_are_four_bytes_and_others_are_none() {
        for probe in [Probe { leaf: 0, util: 255 }, Probe { leaf: 0x00ab_cdef, util: 7 }] {
            assert_eq!(Probe::get(&probe.put()), Some(probe));
        }
        assert_eq!(Probe { leaf: 0x0001_0203, util: 4 }.put(), [1, 2, 3, 4]);
        assert_eq!((Probe::get(&[]), Probe::get(&[1, 2, 3]), Probe::get(&[0; 5])), (None, None, None));
    }
}
