//! Loopback: not a load balancer but a test of the shell. It uses every hook and every action of the contract and
//! checks that the shell keeps its promises.
//!
//! Two schemes: [`LoopbackHost`] at hosts and [`LoopbackSwitch`] at switches. Each keeps a [`Witness`] in its device's
//! row. What it sees goes into series: `violation` gets a point *at once* whenever a promise is broken (its value is
//! the number of the [`Rule`]); the counts of [`Count`] are recorded at every tick in which they have grown. A run is
//! correct if `violation` is empty, and complete if the last value of every `calls_…` is above zero.
//!
//! | promise | checked by |
//! |---|---|
//! | a timer fires once, at the instant it was last armed for, never after its cancellation | [`Alarms`] |
//! | a held queue drains exactly once per release, and belongs to one flow until then | `switch::hold`, `drained` |
//! | rows stay with their flow, peer, way and port; pinned rows are not forgotten | owners in the rows |
//! | the 16 header bytes arrive as written, and every hop's `egress` sees them | [`Stamp`] |
//! | message bodies arrive whole; groups are expanded; a flood never goes back | [`Body`] |
//! | every probe is answered or lost, once, by the right device | `Route` rows |
//! | all bytes of a flow are acknowledged before its end is reported, and no packet leaves after | `LoopbackHost` |
//!
//! That released packets go *before* later ones cannot be seen from the leaf that holds them. With
//! `release = "timer"` everything that arrives while a packet is held is held behind it, so a flow on one path must show
//! no arrival out of order; with `"packet"` exactly one packet overtakes those held.

use crate::{Device, FlowKey, Key, Out, Series, Span, Time, Wire, sees::series};

mod host;
mod switch;

pub use host::LoopbackHost;
pub use switch::LoopbackSwitch;

/// An enumeration with a table of names and documentation.
macro_rules! numbered {
    ($(#[$meta:meta])* $name:ident { $( #[doc = $doc:literal] $variant:ident = $word:literal, )+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $( #[doc = $doc] $variant ),+ }

        impl $name {
            /// All of them, with names and meanings, in order.
            pub const TABLE: &'static [(&'static str, &'static str)] = &[ $( ($word, $doc) ),+ ];
        }
    };
}

numbered! {
    /// The events counted.
    Count {
        /// Calls of `pick`.
        Pick = "calls_pick",
        /// Calls of `egress`.
        Egress = "calls_egress",
        /// Calls of `ingress`.
        Ingress = "calls_ingress",
        /// Calls of `feedback`, losses excepted.
        Feedback = "calls_feedback",
        /// Calls of `feedback` for losses.
        Loss = "calls_loss",
        /// Calls of `message`.
        Message = "calls_message",
        /// Calls of `timer`.
        Timer = "calls_timer",
        /// Calls of `tick`.
        Tick = "calls_tick",
        /// Calls of `link`.
        Link = "calls_link",
        /// Calls of `drained`.
        Drained = "calls_drained",
        /// Starts of flows told.
        FlowStart = "flow_starts",
        /// Ends of flows told.
        FlowEnd = "flow_ends",
        /// Acknowledgements told.
        Ack = "acks",
        /// Retransmissions told.
        Retransmit = "retransmits",
        /// Timeouts told.
        Timeout = "timeouts",
        /// Probes sent.
        Probe = "probes",
        /// Probes answered by their peer.
        PeerReply = "peer_replies",
        /// Probes answered by a switch on their way.
        SwitchReply = "switch_replies",
        /// Probes lost.
        ProbeLost = "probes_lost",
        /// Packets held.
        Held = "held",
        /// Queues released by a timer.
        ReleasedByTimer = "released_by_timer",
        /// Queues released by a later packet.
        ReleasedByPacket = "released_by_packet",
        /// Packets forwarded because no held queue was free.
        NoQueue = "no_queue",
        /// Messages consumed at `ingress`.
        Consumed = "consumed",
        /// CE marks hidden from the transport.
        Masked = "masked",
        /// Messages heard that were sent to one host.
        HeardHost = "heard_host",
        /// Messages heard that were sent to a leaf.
        HeardLeaf = "heard_leaf",
        /// Messages heard that were sent to the rack.
        HeardRack = "heard_rack",
        /// Messages heard that were sent to the neighbours.
        HeardNeighbours = "heard_neighbours",
        /// Timers of flows that fired.
        FlowTimer = "flow_timers",
        /// Timers of ways that fired.
        RouteTimer = "route_timers",
        /// Timers of the device that fired.
        NodeTimer = "node_timers",
        /// Timers moved while armed.
        Moved = "timers_moved",
        /// Timers cancelled while armed.
        Cancelled = "timers_cancelled",
        /// Data packets that arrived at their host after later ones of the flow.
        Inversion = "inversions",
        /// Broken promises.
        Violation = "violations",
    }
}

numbered! {
    /// A promise of the shell. Its number in the series `violation` is its position here.
    Rule {
        /// Time never runs backwards at a device.
        Monotone = "monotone",
        /// A timer fires at its instant.
        TimerInstant = "timer_instant",
        /// A timer fires only while armed.
        TimerUnarmed = "timer_unarmed",
        /// An armed timer is not passed over.
        TimerMissed = "timer_missed",
        /// A flow's row is lent for that flow only, and whenever a flow is named.
        FlowRow = "flow_row",
        /// A peer's row is that of the peer the call is about.
        PeerRow = "peer_row",
        /// A free queue is free.
        QueueFree = "queue_free",
        /// A queue drains once, for its flow, after its release.
        DrainedOnce = "drained_once",
        /// A header arrives as written.
        Header = "header",
        /// A message arrives as sent.
        Body = "body",
        /// A flood does not return.
        Flood = "flood",
        /// A probe is answered or lost once.
        ProbeOnce = "probe_once",
        /// The right device answers a probe, in a time that can be.
        ProbeAnswer = "probe_answer",
        /// Ticks come a period apart, the first within a period.
        TickPeriod = "tick_period",
        /// A link goes down when up and up when down.
        LinkChange = "link_change",
        /// A flow starts once, and ends when all its bytes are acknowledged and all its packets sent.
        FlowLife = "flow_life",
        /// A masked mark is not echoed.
        Masked = "masked",
        /// A way told is a way there is.
        WayExists = "way_exists",
        /// Packets come and go by ports of the right side.
        PortSide = "port_side",
    }
}

/// Number of counts.
pub(crate) const COUNTS: usize = Count::TABLE.len();

/// The series of both schemes: `violation`, then the counts.
pub const SERIES: &[Series] = &{
    let mut all = [series("violation", "number of the broken rule"); COUNTS + 1];
    let mut i = 0;
    while i < COUNTS {
        let (name, meaning) = Count::TABLE[i];
        all[i + 1] = series(name, meaning);
        i += 1;
    }
    all
};

/// Room for the actions of one hook call: every count once, six timers, four messages, and violations.
const ACTIONS: usize = COUNTS + 32;

/// Room for the bodies of one hook call.
const BODIES: usize = 4 * Body::BYTES;

/// Wire size of a message: a minimal Ethernet frame with preamble and gap.
const MESSAGE_WIRE: u32 = 84;

/// A device's observations.
#[derive(Clone, Copy, Debug)]
pub struct Witness {
    /// Counts, by [`Count`].
    pub counts: [u32; COUNTS],
    published: [u32; COUNTS],
    last: Time,
    last_tick: Time,
}

impl Default for Witness {
    fn default() -> Self {
        Witness { counts: [0; COUNTS], published: [0; COUNTS], last: Time::ZERO, last_tick: Time::ZERO }
    }
}

impl Witness {
    /// The value of one count.
    pub const fn get(&self, count: Count) -> u32 {
        self.counts[count as usize]
    }

    fn add(&mut self, count: Count) {
        self.counts[count as usize] = self.counts[count as usize].saturating_add(1);
    }

    fn check(&mut self, kept: bool, rule: Rule, out: &mut Out<'_>) {
        if !kept {
            self.add(Count::Violation);
            out.record_at(0, rule as usize as f64);
        }
    }

    /// A hook is called.
    fn enter(&mut self, hook: Count, now: Time, out: &mut Out<'_>) {
        self.add(hook);
        self.check(now >= self.last, Rule::Monotone, out);
        self.last = now;
    }

    /// A tick: its instant is checked and the counts that have grown are recorded.
    fn tick(&mut self, now: Time, period: Span, out: &mut Out<'_>) {
        self.enter(Count::Tick, now, out);
        let passed = now.since(self.last_tick);
        let first = self.get(Count::Tick) == 1;
        self.check(passed == period || first && passed <= period, Rule::TickPeriod, out);
        self.last_tick = now;
        for (i, (count, published)) in self.counts.iter().zip(&mut self.published).enumerate() {
            if count != published {
                *published = *count;
                out.record_at(i as u16 + 1, *count as f64);
            }
        }
    }
}

/// Whether this row is `key`'s. A new row becomes it.
fn owns<K: PartialEq + Copy>(owner: &mut Option<K>, key: K) -> bool {
    *owner.get_or_insert(key) == key
}

/// Timers of one row and when they are due. 0 is armed when it is not (that of a device from within its hook), 1 is
/// moved while armed, 2 is cancelled while armed, [`Alarms::RELEASE`] belongs to the held queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Alarms {
    due: [Option<Time>; 4],
}

impl Alarms {
    /// The timer that releases a held queue.
    pub const RELEASE: u8 = 3;

    /// Uses timers 0 to 2 once.
    fn exercise(&mut self, now: Time, delay: Span, key: impl Fn(u8) -> Key, witness: &mut Witness, out: &mut Out<'_>) {
        for due in &mut self.due {
            let missed = due.is_some_and(|at| at < now);
            witness.check(!missed, Rule::TimerMissed, out);
            if missed {
                *due = None;
            }
        }
        if self.due[0].is_none() {
            self.arm(0, now + delay, &key, out);
        }
        if self.due[1].is_some() {
            witness.add(Count::Moved);
        }
        self.arm(1, now + delay, &key, out);
        if self.due[2].is_some() {
            witness.add(Count::Cancelled);
            self.cancel(2, &key, out);
        } else {
            self.arm(2, now + delay, &key, out);
        }
    }

    fn arm(&mut self, which: u8, at: Time, key: impl Fn(u8) -> Key, out: &mut Out<'_>) {
        self.due[which as usize] = Some(at);
        out.arm(key(which), at);
    }

    fn cancel(&mut self, which: u8, key: impl Fn(u8) -> Key, out: &mut Out<'_>) {
        self.due[which as usize] = None;
        out.cancel(key(which));
    }

    /// Timer `which` fired.
    fn fired(&mut self, which: u8, now: Time, witness: &mut Witness, out: &mut Out<'_>) {
        match self.due.get_mut(which as usize).and_then(Option::take) {
            Some(at) => witness.check(at == now, Rule::TimerInstant, out),
            None => witness.check(false, Rule::TimerUnarmed, out),
        }
    }
}

/// In-band header, all 16 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Written by us? Default headers are not.
    pub ours: bool,
    /// Calls of `egress` so far.
    pub hops: u8,
    /// From: a switch's number, or a host's way.
    pub from: u16,
    /// To: a leaf's number, or a flow's key.
    pub to: u32,
    /// When it was written, picoseconds.
    pub at: u64,
}

/// Tells our headers from others.
const MAGIC: u8 = 0xa5;

impl Wire for Stamp {
    fn get(bytes: &[u8; 16]) -> Self {
        let [magic, hops, f0, f1, t0, t1, t2, t3, at @ ..] = *bytes;
        Stamp {
            ours: magic == MAGIC,
            hops,
            from: u16::from_le_bytes([f0, f1]),
            to: u32::from_le_bytes([t0, t1, t2, t3]),
            at: u64::from_le_bytes(at),
        }
    }

    fn put(&self, bytes: &mut [u8; 16]) {
        bytes[0] = if self.ours { MAGIC } else { 0 };
        bytes[1] = self.hops;
        bytes[2..4].copy_from_slice(&self.from.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.to.to_le_bytes());
        bytes[8..].copy_from_slice(&self.at.to_le_bytes());
    }

    fn wire(&self) -> u32 {
        if self.ours { 16 } else { 0 }
    }
}

/// The body of our messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Body {
    /// The target it was sent to.
    pub target: Count,
    /// Number of times it was passed on.
    pub hops: u8,
    /// Its author.
    pub origin: Device,
    /// When.
    pub at: Time,
    /// The flow it names.
    pub flow: Option<FlowKey>,
}

/// The targets of messages, by number on the wire.
const TARGETS: [Count; 4] = [Count::HeardHost, Count::HeardLeaf, Count::HeardRack, Count::HeardNeighbours];

impl Body {
    /// Its size.
    pub const BYTES: usize = 24;

    /// Encodes it as bytes.
    pub fn put(&self) -> [u8; Self::BYTES] {
        let target = TARGETS.iter().position(|t| *t == self.target).unwrap_or(TARGETS.len());
        let (tier, number) = match self.origin {
            Device::Host(n) => (0, n),
            Device::Switch(n) => (1, n),
        };
        let mut bytes = [0; Self::BYTES];
        bytes[..6].copy_from_slice(&[MAGIC, target as u8, self.hops, tier, self.flow.is_some() as u8, 0]);
        bytes[8..12].copy_from_slice(&number.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.flow.unwrap_or_default().0.to_le_bytes());
        bytes[16..].copy_from_slice(&self.at.0.to_le_bytes());
        bytes
    }

    /// Parses bytes, if they are ours.
    pub fn get(bytes: &[u8]) -> Option<Body> {
        let bytes: &[u8; Self::BYTES] = bytes.try_into().ok()?;
        let [magic, target, hops, tier, named, _, _, _, n0, n1, n2, n3, f0, f1, f2, f3, at @ ..] = *bytes;
        let number = u32::from_le_bytes([n0, n1, n2, n3]);
        (magic == MAGIC).then_some(())?;
        Some(Body {
            target: *TARGETS.get(target as usize)?,
            hops,
            origin: if tier == 0 { Device::Host(number) } else { Device::Switch(number) },
            at: Time(u64::from_le_bytes(at)),
            flow: (named != 0).then_some(FlowKey(u32::from_le_bytes([f0, f1, f2, f3]))),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::out::Action;

    #[test]
    fn bodies_and_headers_survive_the_wire() {
        for target in TARGETS {
            for (origin, flow) in [(Device::Host(70_000), None), (Device::Switch(3), Some(FlowKey(u32::MAX)))] {
                let body = Body { target, hops: 2, origin, at: Time(1 << 60), flow };
                assert_eq!(Body::get(&body.put()), Some(body));
                assert_eq!(Body::get(&body.put()[1..]), None);
            }
        }
        let stamp = Stamp { ours: true, hops: 3, from: 0x1234, to: 0x89ab_cdef, at: u64::MAX - 5 };
        let mut bytes = [0; 16];
        stamp.put(&mut bytes);
        assert_eq!(Stamp::get(&bytes), stamp);
        assert_eq!(Stamp::get(&[0; 16]), Stamp::default());
    }

    #[test]
    fn series_are_the_violation_and_all_counts() {
        assert_eq!(SERIES[0].name, "violation");
        assert_eq!(SERIES[Count::Violation as usize + 1].name, "violations");
        assert_eq!(SERIES.len(), COUNTS + 1);
    }

    #[test]
    fn alarms_notice_early_late_and_cancelled_timers() {
        let (mut actions, mut bytes) = ([Action::MaskEcn; 16], [0; 0]);
        let mut out = Out::new(&mut actions, &mut bytes);
        let (mut alarms, mut witness) = (Alarms::default(), Witness::default());
        let delay = Span(10);
        alarms.exercise(Time(0), delay, Key::Node, &mut witness, &mut out);
        alarms.fired(0, Time(10), &mut witness, &mut out);
        assert_eq!(witness.get(Count::Violation), 0);
        alarms.fired(0, Time(10), &mut witness, &mut out);
        assert_eq!(witness.get(Count::Violation), 1, "it fired twice");
        alarms.fired(1, Time(9), &mut witness, &mut out);
        assert_eq!(witness.get(Count::Violation), 2, "it fired early");
        alarms.exercise(Time(10), delay, Key::Node, &mut witness, &mut out);
        assert_eq!(witness.get(Count::Cancelled), 1);
        alarms.fired(2, Time(10), &mut witness, &mut out);
        assert_eq!(witness.get(Count::Violation), 3, "it fired after its cancellation");
        alarms.exercise(Time(21), delay, Key::Node, &mut witness, &mut out);
        assert_eq!(witness.get(Count::Violation), 5, "0 and 1 were passed over");
    }
}
