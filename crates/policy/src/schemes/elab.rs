//! ELAB: packets in proportion to what paths can still carry, measured by end hosts, over unmodified switches.
//!
//! Chen, Zhang, "ELAB: end-host-based congestion aware load balancing for data center network", Journal on
//! Communications 40(3), 2019 (in Chinese). Site: a shim between network and transport layer of both hosts.
//!
//! | equation or rule | function |
//! |---|---|
//! | §4.2, tunnel and info header | [`header::Shim`], [`header::Info`] |
//! | §4.3, virtual paths found by Paris traceroute | [`discovery::Search`] |
//! | Eq. (1) A_i = B_i − R_i | [`sender::available`] |
//! | Eq. (2) w_i = A_i / ΣA_j | [`sender::Paths::weigh`] |
//! | §4.4.1, weighted round robin per packet | [`sender::Paths::choose`], [`crate::edge::weighted`] |
//! | §4.4.2, counts by path, reported in turn and zeroed | [`receiver::Arrivals`] |
//! | Eq. (3) R_i = (1 − α)R_i* + α·RCnt_i/T_i | [`sender::smoothed`] |
//! | §4.4.3 (1), B_i as given by the operator | [`Elab::introduce`] |
//! | §4.4.3 (2), B_i := R_i on a mark | `Vp::reset` |
//! | §4.4.3 (3), bursts after T_explore without marks | `Paths::begin_burst`, `Arrivals::record`, `Vp::answered` |
//!
//! | our word | the paper's |
//! |---|---|
//! | virtual path, VP; its port | VP; source port of the L4 tunnel header |
//! | ceiling, rate, available | B_i, R_i, A_i |
//! | burst | 一组探测分组, group of probing packets |
//! | search, tracer | traceroute with a group of source ports |
//!
//! What the paper leaves open, and what is decided here:
//! - *Until a path is known*, all packets of the pair take the first traced port, as under ECMP. Paths are used as soon
//!   as they are found. A search ends when the probability of having missed one more path is `miss_probability`, by the
//!   stopping rule of Multipath Detection, or when all rows (one per path of the fabric) are in use.
//! - *Vanished and new paths* show in the next search, every `rediscover_ms` or after a path has died. Ports without a
//!   trace are dropped; of two ports on one path, one is dropped.
//! - *Units.* RCnt is in packets and B in bit/s: counts are turned into bits by the mean size of packets sent on that
//!   path. VP_RBurst_Rate is in kbit/s, as 32 bits of bit/s end at 4.29 Gbps (`rate_unit = "bps"`: they do).
//! - *T_i.* With a count on every ACK, T_i would be some packets long. Counts are summed up for `rate_interval_rtts`
//!   before Eq. (3); 0 is the equation with each count. An RTT fits the loop: the effect of a share is counted an RTT
//!   later.
//! - *A_i* is no less than `epsilon` of B_i, or a path marked once would have no packet until it is probed; where all
//!   A_i are zero shares go by B_i. *B_i* is no less than `floor` of the operator's value. Zero for either follows the
//!   paper literally.
//! - *A burst* is of data, as only data meets queues. It is over with C_burst packets, with the first of a newer one,
//!   or after an RTT; its rate is that of all packets but the first, from the first to the last. A path may be so slow
//!   that two packets are an RTT apart: the second is awaited for as long as a full packet takes at the least B_i.
//!   Measured values of B_i are capped at the rate of the host's link, which cannot send more. With no answer for
//!   T_explore there is another burst. Where several paths are due, one burst follows the other: the next begins when
//!   the last was answered, or an RTT after its newest packet, when it is over for its sender, too.
//! - *The operator's B_i* is the rate of the host's link (`initial_rate`), or `initial_gbps`.
//! - *If nothing goes back* for `feedback_after_rtts`, a separate message carries the info headers of all paths.
//! - *Lost feedback* takes its counts with it, and R_i is too low by that amount, once. `counting = "cumulative"`
//!   reports totals modulo 2¹⁶ instead of zeroing them, and nothing is lost.
//! - *A dead path* looks free: R_i falls to zero. A path on which three or more packets were sent and nothing has
//!   arrived for `dead_after_us` gets no packets, bursts neither; a search starts, and after ten times as long the path
//!   is tried again.
//! - *ECN* is passed to the transport (§4.1: transparent); `ecn = "hidden"` keeps it, and `"all_marked"` does unless
//!   all paths have marks, as the paper says of CLOVE.
//! - *The sequence numbers* of Burst_ID are of the pair, from 1, and wrap to 1. One up to 1024 ahead is new.
//!
//! Departures: tags are hashed with the two hosts only (`path_tag = "outer"`), as the inner flow is hidden. The
//! tunnel's destination port, lengths and checksum are in the codec, not in simulated packets. Probes of a search have
//! no info header. A receiver keeps one burst record per pair, because a sender has only one burst in flight at a time.

pub mod discovery;
pub mod header;
pub mod receiver;
mod seat;
pub mod sender;

use crate::config::Allowed;
use crate::{
    AtHost, Aware, Compared, Cx, Feedback, Hooks, Key, Kind, Layout, Listed, Message, Needs, Packet, Peers, Policy,
    Series, Shape, Sheet, Sight, Span, Time, Verdict, Way, sees::series,
};
use discovery::Search;
use header::{Header, LONG_BYTES};
use receiver::{Entry, Record};
use sender::Vp;

crate::choice! {
    /// The operator's first ceiling of a path.
    InitialRate {
        /// The rate of the host's own link.
        Link = "link",
        /// The rate of an empty path.
        Path = "path",
    }
}

crate::choice! {
    /// The effect of a burst's rate on B_i.
    BurstResult {
        /// B_i is that rate.
        Taken = "taken",
        /// It may raise B_i only: a sender held back by its window measures too little.
        Raises = "raises",
    }
}

crate::choice! {
    /// Unit of VP_RBurst_Rate.
    RateUnit {
        /// kbit/s.
        Kbps = "kbps",
        /// bit/s: 4.29 Gbps at most.
        Bps = "bps",
    }
}

crate::choice! {
    /// The packets that VP_RCnt counts.
    Counting {
        /// Packets since the last report.
        Zeroed = "zeroed",
        /// All packets, modulo 2¹⁶.
        Cumulative = "cumulative",
    }
}

crate::choice! {
    /// The marks that the transport sees.
    Ecn {
        /// All.
        Passed = "passed",
        /// Nothing.
        Hidden = "hidden",
        /// All while all paths have marks, else nothing.
        AllMarked = "all_marked",
    }
}

crate::choice! {
    /// The tunnel.
    Tunnel {
        /// A UDP header.
        Udp = "udp",
        /// VXLAN: Ethernet, IP, UDP and VXLAN headers.
        Vxlan = "vxlan",
    }
}

crate::choice! {
    /// The way to find source ports.
    Discovery {
        /// Probes with a TTL.
        Traceroute = "traceroute",
        /// None: 0, 1, … are used, as many as there are paths.
        Blind = "blind",
    }
}

crate::params! {
    /// ELAB's parameters.
    Config {
        /// T_explore, base RTTs: a marked path is probed this long after its last mark (§5.1; 100 to 500).
        t_explore_rtts: f64 = 200.0, Allowed::Number { min: 1.0, max: 1e6 };
        /// C_burst, packets of a burst (§5.1).
        c_burst: u32 = 10, Allowed::Integer { min: 2.0, max: 10_000.0 };
        /// alpha, weight of the newest rate in R_i (§5.1).
        alpha: f64 = 0.3, Allowed::Number { min: 0.001, max: 1.0 };
        /// A path's counts are summed over this many base RTTs before R_i is computed, at most T_explore; 0: with each
        /// count (own choice).
        rate_interval_rtts: f64 = 0.25, Allowed::Number { min: 0.0, max: 1e6 };
        /// What the operator configures as the first B_i, unless initial_gbps is set: the rate of the host's link
        /// (§4.4.3) or of an empty path.
        initial_rate: InitialRate = InitialRate::Link, Allowed::Words(InitialRate::WORDS);
        /// The first B_i, Gbps; 0: from initial_rate.
        initial_gbps: f64 = 0.0, Allowed::Number { min: 0.0, max: 4000.0 };
        /// B_i is at least this fraction of the first B_i; 0: no floor, as in the paper (own choice).
        floor: f64 = 0.01, Allowed::Number { min: 0.0, max: 1.0 };
        /// A_i is at least this fraction of B_i; 0: a full path gets nothing, as in the paper (own choice).
        epsilon: f64 = 0.01, Allowed::Number { min: 0.0, max: 1.0 };
        /// What the rate of a burst does to B_i: replaces it (§4.4.3), or only raises it.
        burst_result: BurstResult = BurstResult::Taken, Allowed::Words(BurstResult::WORDS);
        /// Unit of VP_RBurst_Rate; the paper names none.
        rate_unit: RateUnit = RateUnit::Kbps, Allowed::Words(RateUnit::WORDS);
        /// What VP_RCnt counts: packets since the last report (§4.4.2), or all packets, so that lost feedback does not
        /// matter.
        counting: Counting = Counting::Zeroed, Allowed::Words(Counting::WORDS);
        /// Bytes of a counted packet on the wire; 0: the mean of the packets sent on that path (own choice).
        packet_bytes: u32 = 0, Allowed::Integer { min: 0.0, max: 65_535.0 };
        /// What the transport sees of marks; the paper says that ELAB is transparent to it.
        ecn: Ecn = Ecn::Passed, Allowed::Words(Ecn::WORDS);
        /// The tunnel: a UDP header of 8 bytes (§4.2), or VXLAN's 50.
        tunnel: Tunnel = Tunnel::Udp, Allowed::Words(Tunnel::WORDS);
        /// How source ports are found: traceroute (§4.3), or blind: explicit tags are then the paths themselves, and
        /// hashed tags are what §4.3 warns of.
        discovery: Discovery = Discovery::Traceroute, Allowed::Words(Discovery::WORDS);
        /// Source ports traced at once (§4.3: a group).
        probe_group: u32 = 16, Allowed::Integer { min: 1.0, max: 16.0 };
        /// Probability that a search misses one of the existing paths, if all are equally likely (own choice).
        miss_probability: f64 = 0.001, Allowed::Number { min: 1e-6, max: 0.5 };
        /// Paths with more hops are ignored.
        max_hops: u32 = 16, Allowed::Integer { min: 2.0, max: 64.0 };
        /// Size of a search probe on the wire, bytes (minimum Ethernet frame).
        probe_bytes: u32 = 64, Allowed::Integer { min: 40.0, max: 9000.0 };
        /// A search probe without an answer for this long counts as lost, µs (own choice).
        probe_give_up_us: f64 = 10_000.0, Allowed::Number { min: 1.0, max: 1e6 },
            crate::give_up!(10000.0);
        /// From the end of a search to the next, while packets are sent, ms; 0: none (§4.3: very rarely).
        rediscover_ms: f64 = 10_000.0, Allowed::Number { min: 0.0, max: 1e9 };
        /// Most virtual paths for a pair of hosts; 0: as many as the fabric has paths.
        most_paths: u32 = 0, Allowed::Integer { min: 0.0, max: 65_535.0 };
        /// A path on which nothing has arrived for this long is dead, µs; 0: none ever is (own choice: 3 RTO of 10 ms).
        dead_after_us: f64 = 30_000.0, Allowed::Number { min: 0.0, max: 1e9 };
        /// Feedback is sent as a message if nothing else has gone back for this many base RTTs (own choice).
        feedback_after_rtts: f64 = 1.0, Allowed::Number { min: 0.01, max: 1e6 };
        /// Are B_i and R_i recorded as series, for the first eight paths to the first peer of each host?
        record_rates: bool = false, Allowed::Bool;
    }
}

/// The reason for rejecting, and dropping, input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// A header was cut short.
    Short,
    /// Feedback about a path that is not in use.
    UnknownPath,
    /// More packets counted than were sent.
    Count,
    /// A Burst_ID from the past.
    PastBurst,
    /// The rate of a burst that was not sent.
    Unasked,
}

impl Refused {
    /// Kinds.
    pub const KINDS: usize = 5;
}

/// Row of the host: how many times each [`Refused`] occurred.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Per kind.
    pub refused: [u32; Refused::KINDS],
}

/// The burst that is being sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Burst {
    /// The path of the burst.
    pub vp: u16,
    /// Packets of it still to be sent.
    pub left: u16,
    /// Its Burst_ID; 0: there was none yet.
    pub id: u16,
    /// It was answered.
    pub answered: bool,
    /// When its newest packet left.
    pub newest: Time,
}

/// Row per host: the pair.
#[derive(Clone, Copy, Debug, Default)]
pub struct Peer {
    /// Virtual paths in use, in the first rows.
    pub vps: u16,
    /// When the next of them must be probed by a burst.
    pub explore: Time,
    /// The burst.
    pub burst: Burst,
    /// Until when all of them count as marked.
    pub all_marked_until: Time,
    /// Discovery.
    pub search: Search,
    /// Ports by which packets arrive, in the first rows.
    pub entries: u16,
    /// The one to report next.
    pub next: u16,
    /// The burst that is arriving.
    pub record: Record,
    /// When a packet with a header last went there.
    pub told: Time,
    /// The timer of feedback is armed.
    pub timer: bool,
    /// Configured: rate of this host's link, kbit/s; 0: not read yet.
    pub link_rate: u32,
    /// First B_i, kbit/s.
    pub told_rate: u32,
    /// Least B_i, kbit/s.
    pub floor: u32,
    /// Configured: base RTT.
    pub rtt: Span,
    /// How long the second packet of a burst is awaited.
    pub second: Span,
    /// T_explore.
    pub t_explore: Span,
    /// Least T_i.
    pub interval: Span,
    /// Patience of feedback.
    pub patience: Span,
}

impl Peer {
    /// A ceiling within its limits: at least the floor, at most what this host's link sends.
    #[inline]
    pub fn bounded(&self, rate: u32) -> u32 {
        rate.max(self.floor).min(self.link_rate)
    }
}

/// Row per host and path: one line of the sender's table, and one of the receiver's, which have nothing in common but
/// their number.
#[derive(Clone, Copy, Debug, Default)]
pub struct Route {
    /// A path to that host.
    pub vp: Vp,
    /// A path from it.
    pub entry: Entry,
}

/// Packets distributed by the spare capacity of paths.
#[derive(Clone, Debug)]
pub struct Elab {
    config: Config,
    /// First B_i, kbit/s; 0: from the host's configuration.
    initial: u32,
    /// Unit: thousandths of the base RTT.
    t_explore: u64,
    interval: u64,
    patience: u64,
    /// Unit: 1/65536.
    alpha: u32,
    epsilon: u32,
    floor: u32,
    /// Unit: 2⁻³².
    missed: u64,
    give_up: Span,
    rediscover: Span,
    dead_after: Span,
    tunnel: u8,
}

/// Message class of feedback.
const FEEDBACK: u8 = 0;
/// The most paths in one message.
const MOST_TOLD: usize = 64;

crate::listed! {
    /// Its series.
    enum Points: Series {
        Sensed = series("sensed", "virtual path (its row) whose B_i fell or rose by more than a tenth"),
        Probed = series("probed", "kbit/s: the rate of a burst, as reported by the peer"),
        Found = series("paths", "virtual paths to a host, at the end of a search"),
        Died = series("dead", "virtual path (its row) that is abandoned for now"),
        Refused = series(
            "refused",
            "0: truncated header, 1: unknown path, 2: impossible count, 3: old burst, 4: unrequested rate",
        ),
        B0 = series("b0", "kbit/s: B of the first virtual path to the first peer (record_rates)"),
        B1 = series("b1", "kbit/s: B of the second"),
        B2 = series("b2", "kbit/s: B of the third"),
        B3 = series("b3", "kbit/s: B of the fourth"),
        B4 = series("b4", "kbit/s: B of the fifth"),
        B5 = series("b5", "kbit/s: B of the sixth"),
        B6 = series("b6", "kbit/s: B of the seventh"),
        B7 = series("b7", "kbit/s: B of the eighth"),
        R0 = series("r0", "kbit/s: R of the first virtual path to the first peer (record_rates)"),
        R1 = series("r1", "kbit/s: R of the second"),
        R2 = series("r2", "kbit/s: R of the third"),
        R3 = series("r3", "kbit/s: R of the fourth"),
        R4 = series("r4", "kbit/s: R of the fifth"),
        R5 = series("r5", "kbit/s: R of the sixth"),
        R6 = series("r6", "kbit/s: R of the seventh"),
        R7 = series("r7", "kbit/s: R of the eighth"),
    }
}

/// B and R of the paths whose rates are recorded, by row.
const RATES: [(Points, Points); 8] = {
    use Points::*;
    [(B0, R0), (B1, R1), (B2, R2), (B3, R3), (B4, R4), (B5, R5), (B6, R6), (B7, R7)]
};

impl Policy for Elab {
    const SHEET: Sheet = Sheet {
        name: "elab",
        summary: "packets in proportion to what a pair's paths can still carry, measured by both ends (ELAB)",
        source: "Chen, Zhang, J. Commun. 2019",
        unit: "packet",
        told: &[
            "rate of the host's link or of an empty path, as the first B_i",
            "round-trip time of an empty path (T_explore)",
            "the number of paths (rows of the table)",
        ],
        series: Points::ALL,
        three_tiers: "tunnel ports are traced through all tiers, so a virtual path is a whole path, possibly one \
                      through each core",
        compared: Some(Compared {
            aware: Aware::Paths,
            senses: &["arrival rates, as counted by receivers", "ECN marks", "probes"],
            state: "per (host, path), at both hosts",
            needs: Needs::Hosts,
            order: "nothing",
            pick: "O(n)",
            update: "O(n) per packet received",
        }),
        sees: seat::SEES,
        ..Sheet::AT_HOST
    };
    const HOOKS: Hooks = Hooks::INGRESS.and(Hooks::FEEDBACK).and(Hooks::MESSAGE).and(Hooks::TIMER);
    type Site = AtHost;
    type Config = Config;
    crate::rows! { peer: Peer, route: Route, node: Node, header: Header }

    fn new(config: &Config) -> Self {
        let part = |of_one: f64| (of_one * 65_536.0 + 0.5) as u32;
        let thousandths = |rtts: f64| (rtts * 1000.0 + 0.5) as u64;
        Elab {
            initial: (config.initial_gbps * 1e6) as u32,
            t_explore: thousandths(config.t_explore_rtts),
            interval: thousandths(config.rate_interval_rtts),
            patience: thousandths(config.feedback_after_rtts),
            alpha: part(config.alpha),
            epsilon: part(config.epsilon),
            floor: part(config.floor),
            missed: (config.miss_probability * (1u64 << 32) as f64) as u64,
            give_up: Span::from_us_f64(config.probe_give_up_us),
            rediscover: if config.rediscover_ms == 0.0 {
                Span::FOREVER
            } else {
                Span::from_us_f64(config.rediscover_ms * 1000.0)
            },
            dead_after: Span::from_us_f64(config.dead_after_us),
            tunnel: match config.tunnel {
                Tunnel::Udp => header::UDP_BYTES as u8,
                // RFC 7348: outer Ethernet, IPv4, UDP, VXLAN.
                Tunnel::Vxlan => 14 + 20 + 8 + 8,
            },
            config: config.clone(),
        }
    }

    fn layout(&self, shape: &Shape) -> Layout {
        let told = usize::from(shape.ways).min(MOST_TOLD);
        Layout {
            peers: Peers::Hosts,
            // A group of probes; and everything that one info header of each path can lead to.
            actions: discovery::GROUP + 8 * (told + 1),
            bytes: told * LONG_BYTES,
            picks_acks: true,
            draws_tags: self.config.discovery == Discovery::Traceroute,
            ..Layout::default()
        }
    }

    fn misfit(&self, shape: &Shape) -> Option<(&'static str, Allowed)> {
        let ways = f64::from(shape.ways);
        (f64::from(self.config.most_paths) > ways).then_some(("most_paths", Allowed::Integer { min: 0.0, max: ways }))
    }

    fn clash(&self) -> Option<(&'static str, Allowed, &'static str)> {
        let most = self.config.t_explore_rtts;
        (self.config.rate_interval_rtts > most).then_some((
            "rate_interval_rtts",
            Allowed::Number { min: 0.0, max: most },
            "t_explore_rtts",
        ))
    }

    fn sees(&self, cx: &Cx<'_, Self>, (): &(), packet: &Packet, sight: &mut Sight<'_>) {
        self.tell(cx, packet, sight);
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, (): &mut (), packet: &Packet, header: &mut Header) -> Way {
        self.send(cx, packet, header)
    }

    #[inline]
    fn ingress(&self, cx: &mut Cx<'_, Self>, (): &mut (), packet: &Packet, header: &mut Header) -> Verdict {
        if header.tunnel > 0 && matches!(packet.kind, Kind::Data | Kind::Ack) {
            self.receive(cx, packet, header);
        }
        Verdict::Forward
    }

    fn feedback(&self, cx: &mut Cx<'_, Self>, _: Option<&mut ()>, feedback: &Feedback) {
        self.probe_came_back(cx, feedback);
    }

    fn message(&self, cx: &mut Cx<'_, Self>, _: Option<&mut ()>, message: &Message<'_>) {
        if message.class == FEEDBACK {
            self.read_message(cx, message.body);
        }
    }

    fn timer(&self, cx: &mut Cx<'_, Self>, _: Option<&mut ()>, key: Key) {
        if let Key::Route(host, _, _) = key {
            self.patience_is_over(cx, host);
        }
    }
}
