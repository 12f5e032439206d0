//! CONGA: leaf switches learn the congestion of every path from each other and send each flowlet on the best.
//!
//! Alizadeh, Edsall, Dharmapurikar, Vaidyanathan, Chu, Fingerhut, Lam, Matus, Pan, Yadav, Varghese, "CONGA: distributed
//! congestion-aware load balancing for datacenters", SIGCOMM 2014. Constants are those of the public ns-3 code of
//! Hermes (ns3-load-balance); where the paper's differ, both are named.
//!
//! | equation or rule | function |
//! |---|---|
//! | §3.2 DRE: X, its decay, the metric of a link | [`crate::fabric::dre`] |
//! | §3.3 CE = the greatest metric of the path's links | [`congestion_extent`] |
//! | §3.3 one feedback per reverse packet, in turn, changed ones first | [`choose_feedback`]; [`draw_feedback`] as ConWeave's code |
//! | §3.3 a metric not updated for long decays to zero | [`aged`] |
//! | §3.4 a gap longer than T_fl opens a flowlet | [`crate::flowlet::opens_flowlet`] |
//! | §3.5 min over uplinks of max(local, remote) | [`uplink_congestion`], [`choose_uplink`] |
//!
//! | our word | the paper's |
//! |---|---|
//! | `Route` row | Congestion-To-Leaf and Congestion-From-Leaf entry of (leaf, LBTag) |
//! | `lb_tag` | LBTag: the uplink's number at the source leaf |
//! | `ce`, `fb_tag`, `fb_metric` | CE, FB_LBTag, FB_Metric |
//!
//! **Bytes.** The four fields are 4 + 3 + 4 + 3 bits in reserved bits of the VXLAN header that the paper's overlay
//! carries under every scheme (§3.1). No scheme here is charged for an overlay, so neither is CONGA: `header_bytes =
//! 0`. Use 50 (Ethernet, IP, UDP, VXLAN) for a fabric that has an overlay only because of CONGA.
//!
//! Departures:
//! - Flowlets: exact times and rows instead of a hashed table with an age bit (which fires after 1–2 T_fl).
//! - The metric is clamped to 2^Q − 1; both public codes let it overflow its bits.
//! - Ageing: the paper does not define "gradually"; here, as in both codes, a metric is zero after `age_ms`. Age is
//!   checked on use; the codes check once per period, so up to twice as late.
//! - Tags and metrics have 16 and 8 bits, so that more than 16 uplinks and Q up to 8 work.
//! - Acknowledgements and packets of no flow are balanced too, the latter as flowlets of one packet.
//! - DRE and CE count the packet in hand. `ce_at_source = "local"` adds the first link to CE (ConWeave's code); the
//!   minimum over max(local, remote) includes it anyway, and more recent, hence "zero".

use crate::config::FLOWLET_GAP;
use crate::fabric::dre::{self, Dre, Register};
use crate::flowlet::{self, Flowlet};
use crate::{
    AtSwitch, Aware, Compared, Cx, Hooks, Kind, Layout, Listed, Needs, Packet, Peers, Policy, Port, Quantity, Rng,
    Rule, Sees, Shape, Sheet, Sight, Span, Tier, Time, Verdict, Way, Wire,
    sees::{quantity, us_since},
};

crate::choice! {
    /// The port that a tie of new flowlets favours.
    Tie {
        /// The port of the flow's last flowlet, if among the best: a flow moves only to a strictly better uplink.
        KeepOld = "keep_old",
        /// None: a draw among the best.
        Random = "random",
        /// The same; a number is taken even where one is best (ConWeave's code).
        Drawn = "drawn",
    }
}

crate::choice! {
    /// The uplinks among which a new flowlet chooses.
    Candidates {
        /// All.
        All = "all",
        /// Four neighbouring ones from a random start, without wrapping (ConWeave's code).
        FourConsecutive = "four_consecutive",
    }
}

crate::choice! {
    /// The value that the source leaf writes into CE.
    CeAtSource {
        /// Zero.
        Zero = "zero",
        /// Its own uplink's metric.
        Local = "local",
    }
}

crate::choice! {
    /// The metric that a packet takes back.
    FeedbackBy {
        /// The next in turn, those that have changed first.
        InTurn = "in_turn",
        /// Any that is known, drawn (ConWeave's code).
        Random = "random",
        /// The same, drawn before the way is, and even of one (ConWeave's code to the letter).
        DrawnFirst = "drawn_first",
    }
}

crate::choice! {
    /// When estimators decay and tables age.
    Beats {
        /// At multiples of T_dre; tables whenever they are read.
        Clock = "clock",
        /// At multiples of T_dre, and of the age, after the first packet that the switch saw (ConWeave's code).
        FirstPacket = "first_packet",
    }
}

crate::params! {
    /// CONGA's parameters.
    Config {
        /// Period of the DRE's decay T_dre, microseconds (ns3-load-balance: 30; with α = 0.2, τ = 150; CONGA §3.6: τ = 160).
        dre_period_us: f64 = 30.0, Allowed::Number { min: 0.01, max: 1e6 };
        /// Share α that each decay takes off (ns3-load-balance and conweave-ns3: 0.2), kept as a multiple of 1/65536.
        dre_alpha: f64 = 0.2, Allowed::Number { min: 0.01, max: 0.99 };
        /// Bits Q of the congestion metric (CONGA §3.6: 3).
        metric_bits: u32 = 3, Allowed::Integer { min: 1.0, max: 8.0 };
        /// Flowlet gap T_fl, microseconds (CONGA §3.6: 500; 13000 is the paper's CONGA-Flow).
        flowlet_gap_us: f64 = 500.0, Allowed::Number { min: 0.0, max: 1e9 },
            FLOWLET_GAP;
        /// Age at which a metric without updates counts as zero and is no longer fed back, milliseconds (CONGA §3.3:
        /// 10).
        age_ms: f64 = 10.0, Allowed::Number { min: 0.001, max: 1e6 };
        /// How ties are broken (CONGA §3.5: the old port if among the best).
        tie: Tie = Tie::KeepOld, Allowed::Words(Tie::WORDS);
        /// Uplinks to choose among (CONGA §3.5: all).
        candidates: Candidates = Candidates::All, Allowed::Words(Candidates::WORDS);
        /// CE when a packet leaves the source leaf (CONGA §3.3: zero).
        ce_at_source: CeAtSource = CeAtSource::Zero, Allowed::Words(CeAtSource::WORDS);
        /// Metric that a packet carries back (CONGA §3.3: in turn, changed ones first).
        feedback: FeedbackBy = FeedbackBy::InTurn, Allowed::Words(FeedbackBy::WORDS);
        /// When estimators decay and tables age (CONGA §3.2: every T_dre; ConWeave's code: starting with the first
        /// packet).
        beats: Beats = Beats::Clock, Allowed::Words(Beats::WORDS);
        /// Arithmetic of the estimators (own choice: fixed; ConWeave's code: double).
        register: Register = Register::Fixed, Allowed::Words(Register::WORDS);
        /// Bytes charged to every packet that crosses the fabric (CONGA §3.1: in the overlay's header, so 0).
        header_bytes: u32 = 0, Allowed::Integer { min: 0.0, max: 64.0 };
    }
}

/// In-band header, seven of 16 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The uplink's number at the source leaf; none before that leaf has stamped the packet.
    pub lb_tag: Option<u16>,
    /// Greatest metric on the path so far.
    pub ce: u8,
    /// `(FB_LBTag, FB_Metric)`: how congested the *destination* leaf's uplink of this number was towards the source
    /// leaf.
    pub feedback: Option<(u16, u8)>,
    /// Bytes charged.
    pub charged: u8,
}

impl Wire for Header {
    #[inline]
    fn get(bytes: &[u8; 16]) -> Self {
        Header {
            lb_tag: (bytes[0] & 1 != 0).then(|| u16::from_le_bytes([bytes[2], bytes[3]])),
            ce: bytes[4],
            feedback: (bytes[0] & 2 != 0).then(|| (u16::from_le_bytes([bytes[6], bytes[7]]), bytes[5])),
            charged: bytes[1],
        }
    }

    #[inline]
    fn put(&self, bytes: &mut [u8; 16]) {
        let tag = self.lb_tag.unwrap_or(0).to_le_bytes();
        let (fb_tag, fb_metric) = self.feedback.unwrap_or((0, 0));
        let fb_tag = fb_tag.to_le_bytes();
        let flags = self.lb_tag.is_some() as u8 | (self.feedback.is_some() as u8) << 1;
        *bytes = [0; 16];
        bytes[..8].copy_from_slice(&[flags, self.charged, tag[0], tag[1], self.ce, fb_metric, fb_tag[0], fb_tag[1]]);
    }

    #[inline]
    fn wire(&self) -> u32 {
        self.charged as u32
    }
}

/// Row per (leaf, LBTag): one entry of both congestion tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Congestion {
    /// Congestion-To-Leaf: the metric of this leaf's uplink towards that leaf, as it was fed back.
    pub to: u8,
    /// When it was received.
    pub to_at: Time,
    /// Congestion-From-Leaf: the metric of that leaf's uplink towards this leaf, as seen in CE; none has come yet if `None`.
    pub from: Option<u8>,
    /// When it was seen.
    pub from_at: Time,
    /// The value of `from` that was last fed back.
    pub fed: Option<u8>,
}

/// Row per peer leaf: the entry to feed back next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn(pub u16);

/// Row per port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uplink {
    /// The use of its link.
    pub dre: Dre,
    /// max(local, remote) at the last choice: scratch between finding the least and drawing among the least.
    score: u8,
}

/// Row of the switch: when beats began, [`Time::ZERO`] where they count from the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Started(Time);

/// Congestion-aware flowlets from leaf to leaf.
#[derive(Clone, Copy, Debug)]
pub struct Conga {
    dre: dre::Rules,
    beats: Beats,
    gap: Span,
    age: Span,
    tie: Tie,
    candidates: Candidates,
    ce_at_source: CeAtSource,
    feedback: FeedbackBy,
    header_bytes: u8,
}

/// An idle row serves only to prefer its port in a tie: kept for a tenth of a second.
const REMEMBER: Span = Span::from_ms(100);

crate::listed! {
    /// The rule that gave a packet its way.
    enum Why: Rule {
        GoesOn = Rule::Keeps("a packet of the flow passed within the flowlet gap: the flowlet continues"),
        LeastCongested = Rule::Chooses("a new flowlet: the uplink whose larger metric, local or remote, is smallest"),
        Hashed = Rule::Keeps("parallel links from a spine to the leaf: by a hash of the header"),
    }

    /// Quantities of a candidate that it considers.
    enum OfWay: Quantity {
        Local = quantity("local", "of 2^Q - 1", "utilisation of the leaf's own uplink, from its rate estimator"),
        Remote = quantity("remote", "of 2^Q - 1", "utilisation of the path beyond, as fed back by the other leaf"),
        RemoteAge = quantity("remote_age", "µs", "time since that was fed back; none if never"),
    }
}

impl Policy for Conga {
    const SHEET: Sheet = Sheet {
        name: "conga",
        summary: "each flowlet on the uplink with the least congested path, learned from in-band feedback between \
                  leaves",
        source: "Alizadeh et al., SIGCOMM 2014",
        unit: "flowlet",
        tiers: &["leaf", "spine"],
        told: &["leaf of every host", "rates of its own links"],
        three_tiers: "leaves choose uplinks by the worst link that packets met beyond them, and aggregation switches \
                      hash by flow: an uplink stands for several paths, as the paper describes for larger fabrics \
                      (from memory)",
        compared: Some(Compared {
            aware: Aware::Shared,
            senses: &["utilisation of links, fed back by the leaves"],
            state: "per flow and per (leaf, uplink) at leaves, per port at every switch",
            needs: Needs::Switches,
            order: "gaps longer than the difference between paths",
            pick: "O(n)",
            update: "O(1) per packet",
        }),
        sees: Sees { rules: Why::ALL, flow: flowlet::Told::ALL, way: OfWay::ALL, ..Sees::NOTHING },
        ..Sheet::AT_SWITCH
    };
    const HOOKS: Hooks = Hooks::EGRESS.and(Hooks::INGRESS);
    type Site = AtSwitch;
    type Config = Config;
    crate::rows! { flow: Flowlet, peer: Turn, route: Congestion, port: Uplink, node: Started, header: Header }

    fn new(config: &Config) -> Self {
        Conga {
            dre: dre::Rules::new(
                Span::from_us_f64(config.dre_period_us),
                config.dre_alpha,
                config.metric_bits,
                config.register,
            ),
            beats: config.beats,
            gap: Span::from_us_f64(config.flowlet_gap_us),
            age: Span::from_us_f64(config.age_ms * 1e3),
            tie: config.tie,
            candidates: config.candidates,
            ce_at_source: config.ce_at_source,
            feedback: config.feedback,
            header_bytes: config.header_bytes as u8,
        }
    }

    fn header_bytes(&self) -> u32 {
        u32::from(self.header_bytes)
    }

    fn layout(&self, shape: &Shape) -> Layout {
        // Spines only measure their ports.
        let peers = if shape.tier == Tier::Leaf { Peers::Leaves } else { Peers::None };
        Layout { peers, flow_idle: Span(self.gap.0.max(REMEMBER.0)), ..Layout::default() }
    }

    fn sees(&self, cx: &Cx<'_, Self>, flowlet: &Flowlet, _: &Packet, sight: &mut Sight<'_>) {
        if cx.view.tier != Tier::Leaf {
            sight.rule(Why::Hashed);
            return;
        }
        flowlet.tell(sight, cx.now, self.gap);
        let candidates = cx.view.candidates;
        let goes_on = flowlet.goes_on(cx.now, self.gap) && candidates.contains(&flowlet.to);
        sight.rule(if goes_on { Why::GoesOn } else { Why::LeastCongested });
        let range = self.range(candidates.len(), &mut cx.rng.clone());
        let (_, table) = cx.peers.here();
        for way in range {
            let port = candidates[way];
            let mut dre = cx.ports[usize::from(port)].dre;
            dre.catch_up(cx.node.clock(cx.now), cx.view.rate(Port(port)), &self.dre);
            sight.way(way, OfWay::Local, f64::from(dre.metric(&self.dre)));
            if let Some(entry) = table.get(usize::from(lb_tag(port, cx.view.host_ports))) {
                sight.way(way, OfWay::Remote, f64::from(aged(entry.to, entry.to_at, cx.now, self.age)));
                sight.way(way, OfWay::RemoteAge, us_since((entry.to_at > Time::ZERO).then_some(entry.to_at), cx.now));
            }
        }
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, flowlet: &mut Flowlet, packet: &Packet, header: &mut Header) -> Way {
        if cx.view.tier != Tier::Leaf {
            // CONGA §3.1: a spine with parallel links to the destination leaf hashes over them.
            let n = cx.view.candidates.len() as u32;
            return Way(packet.spread(cx.view.salt, n) as u16);
        }
        self.start(cx);
        let fed = (self.feedback == FeedbackBy::DrawnFirst).then(|| self.draw_first(cx));
        let way = if matches!(packet.kind, Kind::Data | Kind::Ack) {
            let way = self.follow(cx, flowlet);
            *flowlet = Flowlet::now(cx.now, cx.view.candidates[way]);
            way
        } else {
            self.decide(cx, None)
        };
        self.stamp(cx, cx.view.candidates[way], fed.flatten(), header);
        Way(way as u16)
    }

    #[inline]
    fn egress(&self, cx: &mut Cx<'_, Self>, port: Port, packet: &Packet, header: &mut Header) {
        self.start(cx);
        let rate = cx.view.rate(port);
        let dre = &mut cx.ports[port.index()].dre;
        dre.sent(packet.wire, cx.node.clock(cx.now), rate, &self.dre);
        if cx.view.tier != Tier::Leaf || self.ce_at_source == CeAtSource::Local {
            header.ce = congestion_extent(header.ce, dre.metric(&self.dre));
        }
    }

    #[inline]
    fn ingress(&self, cx: &mut Cx<'_, Self>, _: &mut Flowlet, _: &Packet, header: &mut Header) -> Verdict {
        self.start(cx);
        // A packet that stayed in its rack carries no stamp.
        if let Some(tag) = header.lb_tag {
            let now = cx.now;
            let (_, table) = cx.peers.current();
            // CONGA §3.3 step 3: the value of CE waits here for a packet the other way.
            if let Some(entry) = table.get_mut(tag as usize) {
                (entry.from, entry.from_at) = (Some(header.ce), now);
            }
            // CONGA §3.3 step 5: what comes back is about our own uplinks.
            if let Some((tag, metric)) = header.feedback
                && let Some(entry) = table.get_mut(tag as usize)
            {
                (entry.to, entry.to_at) = (metric, now);
            }
        }
        Verdict::Forward
    }
}

impl Started {
    /// The current time, on the clock of the estimators.
    #[inline]
    fn clock(self, now: Time) -> Time {
        Time(now.0 - self.0.0)
    }
}

impl Conga {
    /// Starts the beats, if they start with this packet.
    #[inline]
    fn start(&self, cx: &mut Cx<'_, Self>) {
        if self.beats == Beats::FirstPacket && cx.node.0 == Time::ZERO {
            cx.node.0 = cx.now;
        }
    }

    /// The time for ageing tables: now, or the last beat.
    #[inline]
    fn aged_at(&self, cx: &Cx<'_, Self>) -> Time {
        match self.beats {
            Beats::Clock => cx.now,
            Beats::FirstPacket => Time(cx.now.0 - cx.node.clock(cx.now).0 % self.age.0.max(1)),
        }
    }

    /// The entry to feed back, drawn at random; a number is consumed even for one entry.
    #[cold]
    fn draw_first(&self, cx: &mut Cx<'_, Self>) -> Option<usize> {
        let at = self.aged_at(cx);
        let (_, table) = cx.peers.current();
        let known = || (0..table.len()).filter(|&index| table[index].is_known(at, self.age));
        let many = known().count() as u32;
        let skip = if many > 0 { cx.rng.below(many) } else { 0 };
        known().nth(skip as usize)
    }

    /// The way of the flow's next packet: that of its flowlet while that lasts.
    #[inline]
    fn follow(&self, cx: &mut Cx<'_, Self>, flowlet: &Flowlet) -> usize {
        if !flowlet.seen {
            return self.decide(cx, None);
        }
        // The port may have left the group since.
        let old = cx.view.way_of(flowlet.to);
        match old {
            Some(way) if flowlet.goes_on(cx.now, self.gap) => way,
            _ => self.decide(cx, old),
        }
    }

    /// The ways that a new flowlet chooses from, out of `n`.
    fn range(&self, n: usize, rng: &mut Rng) -> core::ops::Range<usize> {
        match self.candidates {
            Candidates::All => 0..n,
            Candidates::FourConsecutive => four_consecutive(n, rng),
        }
    }

    /// The way of a new flowlet.
    // CONGA §3.5
    fn decide(&self, cx: &mut Cx<'_, Self>, old: Option<usize>) -> usize {
        let candidates = cx.view.candidates;
        let range = self.range(candidates.len(), cx.rng);
        let (now, aged_at, host_ports) = (cx.node.clock(cx.now), self.aged_at(cx), cx.view.host_ports);
        for &port in &candidates[range.clone()] {
            let rate = cx.view.rate(Port(port));
            let uplink = &mut cx.ports[port as usize];
            uplink.dre.catch_up(now, rate, &self.dre);
            let local = uplink.dre.metric(&self.dre);
            let (_, table) = cx.peers.current();
            let remote =
                table.get(lb_tag(port, host_ports) as usize).map_or(0, |e| aged(e.to, e.to_at, aged_at, self.age));
            uplink.score = uplink_congestion(local, remote);
        }
        let (old, least) = match self.tie {
            Tie::KeepOld => (old, 2),
            Tie::Random => (None, 2),
            Tie::Drawn => (None, 1),
        };
        let score = |way: usize| cx.ports[candidates[way] as usize].score;
        choose_uplink(range, score, old, (cx.rng, least))
    }

    /// Writes the header at the source leaf.
    // CONGA §3.3 steps 1 and 4
    #[inline]
    fn stamp(&self, cx: &mut Cx<'_, Self>, port: u16, fed: Option<usize>, header: &mut Header) {
        let tag = lb_tag(port, cx.view.host_ports);
        let now = self.aged_at(cx);
        let (turn, table) = cx.peers.current();
        let chosen = match self.feedback {
            FeedbackBy::InTurn => choose_feedback(table, turn.0 as usize, now, self.age),
            FeedbackBy::Random => draw_feedback(table, now, self.age, cx.rng),
            FeedbackBy::DrawnFirst => fed,
        };
        let feedback = chosen.map(|index| {
            let entry = &mut table[index];
            entry.fed = entry.from;
            turn.0 = (index + 1) as u16;
            (index as u16, entry.from.unwrap_or(0))
        });
        *header = Header { lb_tag: Some(tag), ce: 0, feedback, charged: self.header_bytes };
    }
}

/// The number of an uplink, from zero.
#[inline]
pub const fn lb_tag(port: u16, host_ports: u16) -> u16 {
    port.saturating_sub(host_ports)
}

/// CE after a link with this metric.
// CONGA §3.3 step 2
#[inline]
pub(crate) const fn congestion_extent(ce: u8, metric: u8) -> u8 {
    if metric > ce { metric } else { ce }
}

/// Returns the value at `now` of a metric learnt at `at`.
// CONGA §3.3, ageing
#[inline]
pub const fn aged(metric: u8, at: Time, now: Time, age: Span) -> u8 {
    if now.since(at).0 > age.0 { 0 } else { metric }
}

/// The congestion of an uplink: its own metric or that of the rest of the path.
// CONGA §3.5
#[inline]
pub(crate) const fn uplink_congestion(local: u8, remote: u8) -> u8 {
    if local > remote { local } else { remote }
}

/// The uplink of `range` with the lowest score; among equals `old`, or a draw if there are `from` of them or more.
// CONGA §3.5
pub fn choose_uplink(
    range: core::ops::Range<usize>,
    score: impl Fn(usize) -> u8,
    old: Option<usize>,
    (rng, from): (&mut Rng, u32),
) -> usize {
    let (mut least, mut ties) = (u8::MAX, 0);
    for way in range.clone() {
        let s = score(way);
        if s < least {
            (least, ties) = (s, 0);
        }
        ties += (s == least) as u32;
    }
    if let Some(old) = old.filter(|old| range.contains(old) && score(*old) == least) {
        return old;
    }
    let mut skip = if ties >= from { rng.below(ties) } else { 0 };
    for way in range.clone() {
        if score(way) == least {
            if skip == 0 {
                return way;
            }
            skip -= 1;
        }
    }
    range.start
}

/// Four neighbouring candidates of `n`, or all if there are no more.
// ConWeave's code, conga-routing.cc GetBestPath: the start is drawn from 0..=n − 4, so the ends come up less often.
pub fn four_consecutive(n: usize, rng: &mut Rng) -> core::ops::Range<usize> {
    if n <= 4 {
        return 0..n;
    }
    let start = rng.below((n - 3) as u32) as usize;
    start..start + 4
}

/// The entry to feed back, drawn among those heard of that are no older than `age`.
// ConWeave's code, conga-routing.cc RouteInput
pub fn draw_feedback(table: &[Congestion], now: Time, age: Span, rng: &mut Rng) -> Option<usize> {
    let many = table.iter().filter(|entry| entry.is_known(now, age)).count() as u32;
    let skip = if many > 1 { rng.below(many) } else { 0 };
    (0..table.len()).filter(|index| table[*index].is_known(now, age)).nth(skip as usize)
}

impl Congestion {
    /// Whether Congestion-From-Leaf has been heard of within `age`.
    #[inline]
    fn is_known(&self, now: Time, age: Span) -> bool {
        self.from.is_some() && now.since(self.from_at).0 <= age.0
    }
}

/// The entry to feed back: from `turn` on round the table, the first that has changed since it was last fed back, else
/// the first; entries never heard of or older than `age` are skipped.
// CONGA §3.3 step 4
pub fn choose_feedback(table: &[Congestion], turn: usize, now: Time, age: Span) -> Option<usize> {
    let (before, after) = (0..turn.min(table.len()), turn.min(table.len())..table.len());
    let mut first = None;
    for index in after.chain(before) {
        let entry = &table[index];
        if !entry.is_known(now, age) {
            continue;
        }
        if entry.from != entry.fed {
            return Some(index);
        }
        first = first.or(Some(index));
    }
    first
}
