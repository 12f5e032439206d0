//! Hermes: paths classified by delay and marks, flows moved promptly but only if it pays, failures inferred from
//! losses.
//!
//! Zhang, Zhang, Bai, Chen, Chowdhury, "Resilient datacenter load balancing in the wild", SIGCOMM 2017. Site: every
//! host, with one probing for each rack. The paper was not available: the rules follow later papers, the public ns-3
//! code (`ipv4-tlb.cc`, with its README's constants) and general knowledge.
//!
//! | algorithm or rule | function |
//! |---|---|
//! | Algorithm 1, class of a path; its table of corners | [`path::Route::class`], `path::corner` |
//! | Algorithm 1, blackholes: timeouts and nothing acknowledged | [`path::Route::timed_out`] |
//! | Algorithm 1, silent drops: retransmissions without congestion | [`path::Route::judge_losses`] |
//! | §3.1, probes: power of two choices and the best of before | [`probing::Peer::round`] |
//! | §3.1, one agent probes for the rack and shares the results | [`probing::Role::of`], `share` |
//! | Algorithm 2, new, timed-out and failed: placement | [`rerouting::place`] |
//! | Algorithm 2, congested: sent > S and rate < R | `may_move` |
//! | Algorithm 2, notably better by Δ_RTT and Δ_ECN | [`rerouting::Margins::are_met`], [`rerouting::better`] |
//! | the public code's rules, `compat = "ns3"` | [`released`] |
//!
//! | our word | the paper's |
//! |---|---|
//! | way | path p |
//! | delay | t_RTT |
//! | `rate` of a flow, of a way | r_f, r_p |
//! | bytes sent of a flow | s_sent |
//! | agent | probe agent |
//! | `compat = "ns3"`, released | TLB of ns3-load-balance |
//!
//! Departures, and what the sources leave open:
//! - `delay = "one_way"` (as in the ns-3 code): acknowledgements return over any path, so a measured round trip covers
//!   two paths. Where NICs queue (preset `ns3-hermes`), waits and marks of a host's own NIC count against whichever
//!   path its packets take.
//! - The README's 60, 180 and 100 µs for a base of 40 µs at 10 Gbps are here 20 and 140 µs above the base, and 100 µs;
//!   they are queues, so at other path rates they shrink or grow in proportion (`scale`). The base is the time of a
//!   full packet on an empty path, because that is what is measured. The README's base of 40 µs is four links of 10 µs
//!   without the time to send: there a full packet takes 44.7 and a probe 40.2, so that 60 µs leave the former 15 and
//!   the latter 20 µs of queues. Preset `ns3-hermes` sets `base_us = 40` and so has the README's 60 and 180 to the
//!   digit; with other links it needs its own base.
//! - f_ECN: counts of acknowledgements and of marked ones, halved each `ecn_half_life_us`. t_RTT: moving average with
//!   weight 1/2, as in the README. Values older than `stale_after_us` are unknown: gray, at T_RTT_low, no marks.
//! - Rates r_p and r_f fade by an eighth per eighth of `rate_window_us`. r_p is that of this host's flows to that rack.
//! - Rows are kept per destination rack, so a blackhole for one pair of hosts is found only if nothing else of this
//!   host gets through to that rack on that path.
//! - A path whose last probe was lost is congested; lost probes in a row count like timeouts. "Last" refers to the time
//!   of sending: a loss is reported late, and is ignored if a packet sent after that probe has got through. Answers
//!   return over any path, and an answer lost on the way counts against its probe's path.
//! - A share of retransmissions is judged on 100 packets or more. A failed path is tried again after `failed_for_us`;
//!   the paper has no way back. When all paths have failed, flows stay, and new ones are spread at random.
//! - Results of probes are shared when all probes of a round are answered, else before the next round. Agents always
//!   probe, whether there are flows or not. The first host of a rack is its agent; no other host takes over.
//! - `compat = "ns3"`, what it keeps of that code: one-way delays alone, halved into an average that starts at
//!   T_RTT_low and creeps to 1.5 T_RTT_low when idle (1 % per T1: the code resets its clock with each step); levels of
//!   10 µs, then fewest flows; S counted on the present path and in acknowledged bytes; a rate gate that is always
//!   true; no margin for good paths; the first bad path better by Δ_RTT; one attempt in two, 100 µs apart; records
//!   dropped after 1 ms without an acknowledgement, here when the flow sends next; no failed paths; timeouts make a
//!   path bad for T1. Probes: the i-th host for rack i, two random paths instead of the best and two, the first answer
//!   ignored, each result forwarded at once. Not kept: the pause of a flow before its first packet on another path, off
//!   there.

pub mod path;
pub mod probing;
pub mod released;
mod reported;
pub mod rerouting;
mod seat;

use crate::config::Allowed;
pub use crate::edge::delay::Delay;
use crate::{
    AtHost, Aware, Compared, Cx, Event, Feedback, Hooks, Kind, Layout, Listed, Message, Needs, Packet, Peers, Phase,
    Policy, Series, Shape, Sheet, Sight, Span, Time, Way, edge, sees::series,
};
use path::{Crossing, Limits, Meter, Route, Senses};
use probing::{ENTRY, News, Peer, Role};
use released::Record;

crate::choice! {
    /// The origin of the rules.
    Compat {
        /// The paper's.
        Paper = "paper",
        /// The public ns-3 code's, mistakes included.
        Ns3 = "ns3",
    }
}

crate::choice! {
    /// The signals of congestion.
    Signals {
        /// Delay and marks.
        RttEcn = "rtt_ecn",
        /// Delay alone, for transports without ECN.
        Rtt = "rtt",
    }
}

crate::choice! {
    /// The path rates at which the thresholds of delay hold.
    Scale {
        /// 10 Gbps, and in proportion to the time of a byte at others.
        PathRate = "path_rate",
        /// Any rate.
        Fixed = "fixed",
    }
}

crate::params! {
    /// Hermes' parameters.
    Config {
        /// The rules of the paper, or those of the public ns-3 code including its defects.
        compat: Compat = Compat::Paper, Allowed::Words(Compat::WORDS);
        /// What t_RTT is: the one-way time by synchronized clocks (ns-3 code), or the round trip (paper).
        delay: Delay = Delay::OneWay, Allowed::Words(Delay::WORDS);
        /// What signals congestion; delay alone for transports without ECN, for which compat = paper refuses the other:
        /// no acknowledgement would be marked, and no path congested.
        signals: Signals = Signals::RttEcn, Allowed::Words(Signals::WORDS);
        /// Delay of an empty path, which T_RTT_low and T_RTT_high are added to, µs; 0 = as given, for a full packet
        /// (README: 40, the delays of the links alone).
        base_us: f64 = 0.0, Allowed::Number { min: 0.0, max: 1e6 };
        /// T_RTT_low, µs above the delay of an empty path (README: 60 = 20 + base).
        t_rtt_low_us: f64 = T_RTT_US[0], Allowed::Number { min: 0.0, max: 1e6 };
        /// T_RTT_high, µs above the delay of an empty path, not below T_RTT_low (README: 180 at a base of 40).
        t_rtt_high_us: f64 = T_RTT_US[1], Allowed::Number { min: 0.0, max: 1e6 };
        /// Δ_RTT, µs: a path is notably better only if better by more than this (README).
        delta_rtt_us: f64 = 100.0, Allowed::Number { min: 0.0, max: 1e6 };
        /// Do these three apply at 10 Gbps and scale with the time of a byte, or apply at any path rate?
        scale: Scale = Scale::PathRate, Allowed::Words(Scale::WORDS);
        /// T_ECN, share of marked acknowledgements (40 %, as ELAB configures Hermes).
        t_ecn: f64 = 0.4, Allowed::Number { min: 0.0, max: 1.0 };
        /// Δ_ECN: a path is notably better only if better by more than this (paper: 3 to 10 %).
        delta_ecn: f64 = 0.05, Allowed::Number { min: 0.0, max: 1.0 };
        /// S, bytes: a flow that has sent no more than this stays where it is (README).
        s_bytes: u32 = 600_000, Allowed::Integer { min: 0.0, max: 4e9 };
        /// R, share of the host's link rate: a flow that sends no slower than this stays where it is (paper: 20 to 40
        /// %).
        r_share: f64 = 0.3, Allowed::Number { min: 0.0, max: 10.0 };
        /// Time over which rates are measured, µs (ns-3 code: 30 µs / 0.2).
        rate_window_us: f64 = 150.0, Allowed::Number { min: 1.0, max: 1e6 };
        /// Weight of a new delay in the average of its path (README: 1/2).
        rtt_gain: f64 = 0.5, Allowed::Number { min: 0.01, max: 1.0 };
        /// Counts of marks are halved once per this time, µs (own choice: a few round trips).
        ecn_half_life_us: f64 = 500.0, Allowed::Number { min: 1.0, max: 1e6 };
        /// Measurements older than this are ignored, µs (own choice).
        stale_after_us: f64 = 10_000.0, Allowed::Number { min: 1.0, max: 1e9 };
        /// This many timeouts on a path without an acknowledgement, or lost probes without an answer, count as a
        /// failure (paper: 3).
        timeouts: u32 = 3, Allowed::Integer { min: 1.0, max: 255.0 };
        /// A share of retransmissions above this on a path that is not congested counts as a failure (paper: 1 %).
        retransmitted: f64 = 0.01, Allowed::Number { min: 0.0, max: 1.0 };
        /// τ, the time over which retransmissions are counted, µs (paper: 10 ms).
        tau_us: f64 = 10_000.0, Allowed::Number { min: 1.0, max: 1e9 };
        /// A failed path is tried again after this time, µs (own choice).
        failed_for_us: f64 = 100_000.0, Allowed::Number { min: 1.0, max: 1e9 };
        /// Are paths probed for the rack?
        probing: bool = true, Allowed::Bool;
        /// Time between rounds of probes, µs (README: 100 to 500).
        probe_interval_us: f64 = 500.0, Allowed::Number { min: 1.0, max: 1e6 };
        /// Paths drawn for each round and rack, in addition to the best of the last round (paper: 2).
        probe_random: u32 = 2, Allowed::Integer { min: 1.0, max: 3.0 };
        /// Size of a probe on the wire, bytes (minimum Ethernet frame).
        probe_bytes: u32 = 64, Allowed::Integer { min: 40.0, max: 9000.0 };
        /// A probe without an answer for this long counts as lost, µs (own choice: as long as a TCP timeout).
        probe_give_up_us: f64 = 10_000.0, Allowed::Number { min: 1.0, max: 1e6 },
            crate::give_up!(10000.0);
        /// T1 of the released rules, µs (README: 60).
        t1_us: f64 = 60.0, Allowed::Number { min: 1.0, max: 1e6 };
        /// Idle time after which the released rules look for a better path, µs (README: 5 ms).
        flowlet_timeout_us: f64 = 5_000.0, Allowed::Number { min: 0.0, max: 1e9 };
    }
}

/// Row per flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flow {
    /// s_sent, bytes.
    sent: u64,
    /// Used by the released rules.
    record: Record,
    /// r_f.
    rate: Meter,
    way: Way,
    placed: bool,
    /// if_timeout.
    timeout: bool,
}

/// Row of the host.
#[derive(Clone, Copy, Debug, Default)]
pub struct Node {
    limits: Limits,
    role: Role,
    /// Probes without an answer yet.
    outstanding: u32,
    /// An answer has come: the released rules ignore the first.
    heard: bool,
}

/// The settings a host uses, from the parameters.
#[derive(Clone, Debug)]
pub struct Hermes {
    config: Config,
    senses: Senses,
    /// T_RTT_low and T_RTT_high above the base, and Δ_RTT, all at 10 Gbps.
    thresholds: [Span; 3],
    r_millionths: u64,
    /// The base RTT, if given.
    base: Option<Span>,
    interval: Span,
    give_up: Span,
    /// Step of the meters of rates.
    step: Span,
    t1: Span,
    flowlet_timeout: Span,
}

/// Defaults of T_RTT_low and T_RTT_high, µs above the base.
const T_RTT_US: [f64; 2] = [20.0, 140.0];

/// Bytes of headers below a message's body: Ethernet, IP, UDP.
const BELOW: u32 = 42;

crate::listed! {
    /// Its series.
    enum Points: Series {
        Rerouted = series("rerouted", "path that a flow moves to, away from a congested one"),
        Failed = series("failed", "path considered failed from now on"),
    }
}

impl Policy for Hermes {
    const SHEET: Sheet = Sheet {
        name: "hermes",
        summary: "flows go to paths with little delay and few marks, and move if it pays; losses reveal failed paths",
        source: "Zhang et al., SIGCOMM 2017",
        unit: "flow",
        told: &[
            "paths to each rack, and a tag that selects one",
            "the hosts of each rack, in a common order",
            "round-trip time of an empty path",
            "path rate, and rate of its link",
            "a common clock (delay = one_way)",
        ],
        series: Points::ALL,
        compared: Some(Compared {
            aware: Aware::Shared,
            senses: &["delays of ACKs and probes", "ECN marks", "losses"],
            state: "per flow and per (rack, path), at the host",
            needs: Needs::Hosts,
            order: "a flow moves only if it gains much",
            pick: "O(1); O(n) to place or to move",
            update: "O(1) per ACK; O(n) per period",
        }),
        sees: reported::SEES,
        ..Sheet::AT_HOST
    };
    const HOOKS: Hooks = Hooks::FEEDBACK.and(Hooks::LOSS).and(Hooks::MESSAGE).and(Hooks::TICK);
    type Site = AtHost;
    type Config = Config;
    crate::rows! { flow: Flow, peer: Peer, route: Route, node: Node }

    fn new(config: &Config) -> Self {
        let us = Span::from_us_f64;
        let senses = Senses {
            signals: config.signals,
            gain: (config.rtt_gain * 256.0 + 0.5) as i64,
            half_life: us(config.ecn_half_life_us),
            stale: us(config.stale_after_us),
            ecn: (config.t_ecn * 1e9 + 0.5) as u64,
            ecn_margin: (config.delta_ecn * 65_536.0 + 0.5) as u32,
            tau: us(config.tau_us),
            retransmitted: (config.retransmitted * 1e9 + 0.5) as u64,
            timeouts: config.timeouts as u8,
            failed_for: us(config.failed_for_us),
        };
        Hermes {
            senses,
            thresholds: [config.t_rtt_low_us, config.t_rtt_high_us, config.delta_rtt_us].map(us),
            base: (config.base_us > 0.0).then(|| us(config.base_us)),
            r_millionths: (config.r_share * 1e6 + 0.5) as u64,
            interval: us(config.probe_interval_us),
            give_up: us(config.probe_give_up_us),
            step: Span(us(config.rate_window_us).0 / 8),
            t1: us(config.t1_us),
            flowlet_timeout: us(config.flowlet_timeout_us),
            config: config.clone(),
        }
    }

    fn layout(&self, shape: &Shape) -> Layout {
        // There is at most one piece of news per path.
        let news = shape.leaves as usize * usize::from(shape.ways);
        let probes = shape.leaves as usize * edge::rounds::MOST;
        let (messages, bytes) = edge::pieces::room(news, ENTRY);
        Layout {
            peers: Peers::Leaves,
            all_peers: true,
            tick: if self.config.probing { self.interval } else { Span::ZERO },
            phase: Phase::Random,
            actions: messages + probes + 4,
            bytes,
            ..Layout::default()
        }
    }

    fn clash(&self) -> Option<(&'static str, Allowed, &'static str)> {
        let (low, high) = (self.config.t_rtt_low_us, self.config.t_rtt_high_us);
        if low <= high {
            return None;
        }
        // The threshold that was set is refused; if both were, the upper one.
        Some(if high == T_RTT_US[1] {
            ("t_rtt_low_us", Allowed::Number { min: 0.0, max: high }, "t_rtt_high_us")
        } else {
            ("t_rtt_high_us", Allowed::Number { min: low, max: 1e6 }, "t_rtt_low_us")
        })
    }

    fn wants_ecn(&self) -> Option<(&'static str, Allowed)> {
        let waits = self.config.signals == Signals::RttEcn && self.config.compat == Compat::Paper;
        waits.then_some(("signals", Allowed::Words(&["rtt"])))
    }

    fn sees(&self, cx: &Cx<'_, Self>, flow: &Flow, packet: &Packet, sight: &mut Sight<'_>) {
        self.tell(cx, flow, packet, sight);
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, flow: &mut Flow, packet: &Packet, _: &mut ()) -> Way {
        let ways = cx.view.ways_to_host(packet.dst);
        if packet.kind != Kind::Data || ways == 0 {
            return Way::ANY;
        }
        self.prepare(cx);
        let step = self.step_at(cx.now);
        match self.config.compat {
            Compat::Paper => self.route(cx, flow, ways, step),
            Compat::Ns3 => self.route_as_released(cx, flow, ways),
        }
        flow.sent += u64::from(packet.payload);
        flow.rate.add(step, packet.wire);
        cx.peers.current().1[flow.way.index()].send(step, packet.wire);
        flow.way
    }

    fn feedback(&self, cx: &mut Cx<'_, Self>, flow: Option<&mut Flow>, feedback: &Feedback) {
        let (leaf, way) = (cx.peers.ids[cx.peers.current], feedback.way);
        let known = way.0 < cx.view.ways[leaf as usize];
        self.prepare(cx);
        match feedback.event {
            Event::Ack { bytes, rtt, one_way, marked } if known => {
                let delay = self.delay().of(one_way, rtt);
                self.acknowledged(cx, flow, way, bytes, Crossing { sent: cx.now - rtt, delay, marked });
            }
            Event::Retransmit if known => cx.peers.current().1[way.index()].retransmitted(),
            Event::Timeout => self.timed_out(cx, flow, way, known),
            Event::FlowStart { .. } => self.started(cx, flow),
            Event::FlowEnd => self.ended(cx, flow),
            Event::ProbeReply { rtt, one_way, marked, .. } if known => {
                let delay = self.delay().of(one_way, rtt);
                self.probed(cx, leaf, way, News { delay, marked, lost: false }, cx.now - rtt);
            }
            Event::ProbeLost if known => {
                let lost = News { delay: self.give_up, marked: true, lost: true };
                self.probed(cx, leaf, way, lost, cx.now - self.give_up);
            }
            _ => {}
        }
    }

    fn message(&self, cx: &mut Cx<'_, Self>, _: Option<&mut Flow>, message: &Message<'_>) {
        self.prepare(cx);
        for (leaf, way, news) in probing::entries(message.body) {
            if cx.view.ways.get(leaf as usize).is_some_and(|&ways| way.0 < ways) {
                // Packets of others do not disprove a loss here: the agent has seen to that.
                let sent = if news.lost { cx.now - news.delay } else { Time::ZERO };
                self.learn(cx, leaf, way, news, sent);
            }
        }
    }

    fn tick(&self, cx: &mut Cx<'_, Self>) {
        if cx.node.role == Role::Unknown {
            cx.node.role = Role::of(&cx.view, self.config.compat);
        }
        if cx.node.role != Role::None {
            self.prepare(cx);
            self.share(cx);
            self.probe(cx);
        }
    }
}
