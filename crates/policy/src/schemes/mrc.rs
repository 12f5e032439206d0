//! MRC's choice of entropy values: each is good, skipped once, assumed bad or denied. Backups of the same plane replace
//! values assumed bad, and probes bring them back.
//!
//! Multipath Reliable Connection: OCP MRC 1.0 (2026); Araujo et al., "Resilient AI supercomputer networking using MRC
//! and SRv6", arXiv 2605.04333; Sohan et al., "The Multipath Reliable Connection (MRC) transport", arXiv 2606.18170.
//! None of these texts was available. All rules are second-hand: from notes of others on both papers, and from the
//! design notes of two public emulators, one of which quotes the specification (7.5.5.5, 9.3.1, 11.2.2). Site: the
//! sending host.
//!
//! | rule | function |
//! |---|---|
//! | 128 to 256 values per queue pair, as many of each plane, and backups | [`Profile::begin`] |
//! | packets take the good values in turn, in a pseudo-random order | [`Profile::next`] |
//! | a mark, or a packet trimmed inside the fabric: GOOD becomes SKIP | [`Profile::skip`] |
//! | the rotation passes over SKIP once; it is GOOD from then on. A packet restores one value at most | [`Profile::next`] |
//! | a packet lost without being trimmed: ASSUMED_BAD, and a backup of the same plane takes its place | [`Profile::fail`] |
//! | ASSUMED_BAD is probed; an answer makes it GOOD, a marked one SKIP | [`Profile::answered`] |
//! | DENIED by a controller: never used | [`Profile::begin`] |
//!
//! | our word | MRC's |
//! |---|---|
//! | flow | queue pair |
//! | value | EV: UDP source port and flow label, 32 bits; 16 here |
//! | number | which of its profile's values it is; its plane is the number modulo the planes |
//!
//! Points that these sources leave open, each a parameter or an own choice here:
//! - Sizes of profile and backup set, how often and how long values are probed, how many answers it takes.
//! - A loss is detected by the transport's timeout, whose length is the transport's. The value is that of the lost
//!   packet.
//! - Backups are taken in the order of their numbers. A value that comes back is a backup from then on, or takes the place of one
//!   of its plane that is bad and had no backup.
//! - If no value in rotation is good or skipped, those assumed bad are used in turn.
//!
//! Departures:
//! - A fabric here has one plane. `planes` divides the values into classes that only backups know of; a host has one port, so
//!   there is no Port Status Update, and no choice among ports with room. Switches hash the value; there are no source routes.
//! - The controller denies at the start only, by plane or by a number of values.
//! - Receivers call for SKIP by marks alone, never for ALWAYS_SKIP. Probes belong to a flow, not to the node, and go
//!   out as the flow hears of its packets, no sooner than the period allows.
//! - Receivers keep no values of their own. An acknowledgement returns with the value of the packet it answers, so a
//!   loss on the way back is blamed on that value too.
//! - Where nothing is trimmed, a loss may be due to congestion but still counts as a failure.
//! - A mark means an uneven core only where the last hop does not mark (`switch.mark_last_hop = false`), as in MRC.

mod profile;

pub use profile::Profile;

use crate::edge::asked::Asked;
use crate::edge::entropy;
use crate::{
    AtHost, Aware, Compared, Cx, Event, Feedback, FlowKey, Hooks, Layout, Listed, Needs, Packet, Peers, Policy,
    Quantity, Rule, Sees, Series, Shape, Sheet, Sight, Span, To, Way, config,
    sees::{quantity, series},
};

/// The most values in rotation, and the most backups of all planes together.
const MOST: u32 = 256;
const MOST_BACKUPS: u32 = 128;
const ROOM: usize = (MOST + MOST_BACKUPS) as usize;
/// The most probes in one round.
const MOST_PROBES: usize = 8;

crate::params! {
    /// MRC's parameters.
    Config {
        /// Entropy values in rotation, a power of two (MRC: 128 to 256).
        values: u32 = 128, Allowed::PowerOfTwo { max: 256.0 };
        /// Planes, among which the values are split equally (MRC: 4 or 8; here classes of values, since the fabric has
        /// one plane).
        planes: u32 = 1, Allowed::PowerOfTwo { max: 16.0 };
        /// Backup values of each plane (own choice).
        backups: u32 = 16, Allowed::Integer { min: 0.0, max: 128.0 };
        /// A controller denies all values of this many planes from the start.
        denied_planes: u32 = 0, Allowed::Integer { min: 0.0, max: 15.0 };
        /// A controller denies this many values in rotation in each plane from the start; backups replace them.
        denied_values: u32 = 0, Allowed::Integer { min: 0.0, max: 255.0 };
        /// Least time between a flow's rounds of probes, and from a loss to the first round, microseconds (own choice).
        probe_period_us: f64 = 100.0, Allowed::Number { min: 1.0, max: 1e6 };
        /// Most values probed in a round (own choice).
        probes: u32 = 4, Allowed::Integer { min: 1.0, max: 8.0 };
        /// Bytes of a probe (own choice).
        probe_bytes: u32 = 64, Allowed::Integer { min: 40.0, max: 9000.0 };
        /// A probe without an answer for this long counts as lost, microseconds (own choice).
        probe_give_up_us: f64 = 100.0, Allowed::Number { min: 1.0, max: 1e6 },
            crate::give_up!(100.0);
        /// Consecutive answered probes that bring a value back (MRC: "enough").
        probes_to_return: u32 = 1, Allowed::Integer { min: 1.0, max: 255.0 };
    }
}

/// Values with states.
#[derive(Clone, Copy, Debug)]
pub struct Mrc {
    values: u16,
    planes: u16,
    /// Per plane.
    backups: u16,
    denied_planes: u16,
    denied_values: u16,
    period: Span,
    probes: u8,
    probe_bytes: u32,
    give_up: Span,
    probes_to_return: u8,
}

crate::listed! {
    /// The rule that gave a packet its way.
    enum Why: Rule {
        Next = Rule::Chooses("every packet: the next good entropy value of the rotation"),
        PassesOver = Rule::Chooses("a value that met a mark or a trim is skipped once: the next good one"),
        Restored = Rule::Chooses("no value is good: the first one that was to be skipped, after one round"),
        NoneGood = Rule::Chooses("no value is good or skipped: the next of those assumed bad"),
    }

    /// Quantities of a flow that it considers.
    enum OfFlow: Quantity {
        Plane = quantity("plane", "", "plane of the value"),
        Bad = quantity("bad", "values", "values assumed bad"),
    }

    /// Its series.
    enum Points: Series {
        Bad = series("assumed_bad", "a value whose packet was lost without being trimmed"),
        Back = series("back", "a value whose probes were answered"),
    }
}

impl Policy for Mrc {
    const SHEET: Sheet = Sheet {
        name: "mrc",
        summary: "every packet takes the next good value: marked ones skipped once, lost ones replaced until a probe \
                  returns",
        source: "OCP MRC 1.0; Araujo et al., arXiv 2605.04333, second-hand",
        unit: "packet",
        three_tiers: "switches at every tier hash the value",
        series: Points::ALL,
        compared: Some(Compared {
            aware: Aware::Paths,
            senses: &["ECN marks", "trimmed packets", "timeouts", "probes of lost values"],
            state: "per (flow, value), at the host",
            needs: Needs::Hosts,
            order: "nothing",
            pick: "O(n)",
            update: "O(1) per ACK; O(n) per loss",
        }),
        sees: Sees { rules: Why::ALL, flow: OfFlow::ALL, ..Sees::NOTHING },
        ..Sheet::AT_HOST
    };
    const HOOKS: Hooks = Hooks::FEEDBACK.and(Hooks::LOSS);
    type Site = AtHost;
    type Config = Config;
    crate::rows! { flow: Profile, peer: Asked<Option<bool>, 32> }

    fn new(config: &Config) -> Self {
        Mrc {
            values: config.values as u16,
            planes: config.planes as u16,
            backups: config.backups as u16,
            denied_planes: config.denied_planes as u16,
            denied_values: config.denied_values as u16,
            period: Span::from_us_f64(config.probe_period_us),
            probes: config.probes as u8,
            probe_bytes: config.probe_bytes,
            give_up: Span::from_us_f64(config.probe_give_up_us),
            probes_to_return: config.probes_to_return as u8,
        }
    }

    fn clash(&self) -> Option<(&'static str, config::Allowed, &'static str)> {
        let up_to = |max: u32| config::Allowed::Integer { min: 0.0, max: f64::from(max) };
        let [values, planes] = [self.values, self.planes].map(u32::from);
        if planes > values {
            return Some(("planes", config::Allowed::PowerOfTwo { max: f64::from(values) }, "values"));
        }
        if u32::from(self.backups) * planes > MOST_BACKUPS {
            return Some(("backups", up_to(MOST_BACKUPS / planes), "planes"));
        }
        if u32::from(self.denied_planes) >= planes {
            return Some(("denied_planes", up_to(planes - 1), "planes"));
        }
        (u32::from(self.denied_values) >= values / planes)
            .then(|| ("denied_values", up_to(values / planes - 1), "values"))
    }

    fn layout(&self, _: &Shape) -> Layout {
        Layout { peers: Peers::Hosts, actions: 2 * MOST_PROBES + 1, ..entropy::layout() }
    }

    fn sees(&self, cx: &Cx<'_, Self>, profile: &Profile, _: &Packet, sight: &mut Sight<'_>) {
        let (mut profile, mut rng) = (*profile, *cx.rng);
        profile.begin(self, &mut rng);
        sight.flow(OfFlow::Bad, f64::from(profile.bad));
        let (number, why) = profile.next(self.values);
        sight.rule(why);
        sight.flow(OfFlow::Plane, f64::from(self.plane(number)));
        let after = profile.next(self.values).0;
        [number, after].into_iter().for_each(|number| sight.offer(Way(profile.above + number)));
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, profile: &mut Profile, packet: &Packet, _: &mut ()) -> Way {
        if !entropy::chooses(packet) {
            return Way::ANY;
        }
        profile.begin(self, cx.rng);
        Way(profile.above + profile.next(self.values).0)
    }

    fn feedback(&self, cx: &mut Cx<'_, Self>, profile: Option<&mut Profile>, feedback: &Feedback) {
        let way = feedback.way.0;
        match (feedback.event, profile, feedback.flow) {
            (Event::ProbeReply { marked, .. }, _, _) => cx.peers.current().0.answered(way, Some(marked)),
            (Event::ProbeLost, _, _) => cx.peers.current().0.answered(way, None),
            (Event::FlowEnd, Some(profile), Some(key)) if profile.asks > 0 => {
                cx.peers.current().0.forget(key);
                profile.asks = 0;
            }
            // The request of the previous message on this connection is answered to that message.
            (Event::FlowStart { .. }, Some(profile), _) => profile.asks = 0,
            (event @ (Event::Ack { .. } | Event::Trimmed { .. } | Event::Timeout), Some(profile), Some(key)) => {
                let number = way.wrapping_sub(profile.above);
                if profile.begun && number < self.all() {
                    self.learn(cx, profile, (number, event));
                }
                self.hear(cx, profile, key);
                self.probe(cx, profile, key);
            }
            (
                Event::FlowStart { .. }
                | Event::FlowEnd
                | Event::Retransmit
                | Event::Ack { .. }
                | Event::Trimmed { .. }
                | Event::Timeout,
                _,
                _,
            ) => {}
        }
    }
}

impl Mrc {
    /// All values of a flow.
    const fn all(&self) -> u16 {
        self.values + self.backups * self.planes
    }

    /// The plane of a number: the count of planes is a power of two.
    const fn plane(&self, number: u16) -> u16 {
        number & (self.planes - 1)
    }

    /// Records the outcome of a packet with this value.
    #[inline]
    fn learn(&self, cx: &mut Cx<'_, Self>, profile: &mut Profile, (number, event): (u16, Event)) {
        match event {
            Event::Ack { marked: true, .. } | Event::Trimmed { last_hop: false, .. } => profile.skip(number),
            Event::Timeout => {
                if profile.fail(self, number) {
                    cx.out.record(Points::Bad, f64::from(profile.above + number));
                    if profile.bad == 1 {
                        profile.probe_at = cx.now + self.period;
                    }
                }
            }
            // At the destination's port no other path would have helped.
            Event::Ack { marked: false, .. } | Event::Trimmed { last_hop: true, .. } => {}
            Event::FlowStart { .. } | Event::FlowEnd | Event::Retransmit => {}
            Event::ProbeReply { .. } | Event::ProbeLost => {}
        }
    }

    /// Takes the answers to the flow's probes.
    #[inline]
    fn hear(&self, cx: &mut Cx<'_, Self>, profile: &mut Profile, key: FlowKey) {
        while profile.asks > 0
            && let Some((value, marked)) = cx.peers.current().0.take(key)
        {
            profile.asks -= 1;
            if profile.answered(self, value - profile.above, marked) {
                cx.out.record(Points::Back, f64::from(value));
            }
        }
    }

    /// Begins a round of probes, if it is time.
    #[inline]
    fn probe(&self, cx: &mut Cx<'_, Self>, profile: &mut Profile, key: FlowKey) {
        if profile.bad == 0 || profile.asks > 0 || cx.now < profile.probe_at {
            return;
        }
        let many = cx.peers.current().0.room().min(usize::from(self.probes)).min(usize::from(profile.bad));
        let to = To::Host(cx.peers.ids[cx.peers.current]);
        for _ in 0..many {
            let Some(number) = profile.next_bad(self.all()) else { return };
            let value = profile.above + number;
            cx.peers.current().0.add(key, value);
            cx.out.probe(to, Way(value), self.probe_bytes, 0, self.give_up);
            profile.asks += 1;
        }
        profile.probe_at = cx.now + self.period;
    }
}
