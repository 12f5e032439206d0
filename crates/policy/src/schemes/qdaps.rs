//! QDAPS: every packet to the shortest queue on which it cannot overtake the previous packet of its flow.
//!
//! Huang, Lyu, Li, Wang, He, "QDAPS: queueing delay aware packet spraying for load balancing in data center", ICNP 2018,
//! and "Mitigating packet reordering for random packet spraying in data center networks", IEEE/ACM Trans. Netw. 29(3),
//! 2021. Site: every switch with a choice, for every packet.
//!
//! **Sources.** The text of neither paper was available. The sources are their abstracts, other papers' descriptions,
//! and two programs by an author: QDAPS-NS2 (github.com/wenjun95/QDAPS-NS2, classifier/classifier-mpath.cc, for
//! ns-2.35) and QDAPS-Mininet (github.com/wenjun-1995/QDAPS-Mininet, qdaps/p4src/switch.p4). `rules = "released"`
//! follows the programs ([`released`]); `rules = "departures"`, the default, is our own, older interpretation, from
//! other papers' descriptions. The programs confirm a flow's first packet, the order and its "not less than", and that
//! a packet avoids a long queue even if it keeps order; they contradict our condition for that. Open questions:
//! - what 41 packets come from and whether they scale: both programs have them, for links of 1 Gbps (0.49 ms) and of
//!   20 Mbps (25 ms);
//! - whether only long flows are rerouted: PDLB §2 says "to reduce the queueing delay of long flows", the programs do not
//!   count what a flow has sent;
//! - the "power of n choices" that the second abstract has for several forwarding engines: which n, and drawn from what;
//! - acknowledgements, and what switches but the first do: QDAPS-NS2 knows the queues of one switch;
//! - which of all this PDLB's comparison ran.
//!
//! Claims about QDAPS in PDLB's comparison (its Figs. 11 and 12) are therefore judged by one of these two
//! interpretations. With one slow path of eight, as there, either puts about as many packets out of order as random
//! spraying (17 % each in a pilot): both know only the queues of their own switch.
//!
//! Our own interpretation:
//!
//! | rule | function |
//! |---|---|
//! | queueing delay of a port: what is ahead of a packet that joins it now | [`QueuedAt::at`] |
//! | remember when the flow's last packet leaves its queue | [`Sent`] |
//! | only queues whose delay is not less than the rest of that packet's | [`QueuedAt::keeps_order`] |
//! | of these the shortest; if there is none, the longest queue; for a first packet the shortest of all | `pick` |
//! | a long flow goes to the shortest queue if staying in order costs too much | [`Qdaps::reroutes`] |
//!
//! | our word | the paper's |
//! |---|---|
//! | way | output queue |
//! | leaves | when the packet departs from its queue |
//!
//! **Order.** "Not less than" is required at two places. At this switch: a packet's last bit leaves after that of the
//! one before. And where the paths meet again, `merge_hops` transmissions from here: a short packet that starts later
//! than a long one passes it on its way, as every hop stores it before it forwards it. When two packets arrive at the
//! same instant over two links, their order is undefined, so on another port a packet must be later, not equally late;
//! on the same port it is always behind. So with equal delays beyond, data arrives in order where no queue but those at
//! this switch counts, as between two leaves of a leaf-spine whose links have one rate (tested: none out of order).
//!
//! **Where it fails.** The switch knows only its own queues. With more than two leaves the spine's port to a leaf is
//! fed by several, its queue differs from spine to spine, and what left here in order can arrive out of order; so it
//! does where delays or rates of paths differ. In the tests' runs four leaves gave 55 % of the packets out of order
//! that random spraying gave, and two leaves with one path of four 76 µs longer 86 %. Acknowledgements can pass each
//! other where data packets that they meet at a spine are longer than they are.
//!
//! Departures:
//! - Delays are exact: of the packets waiting, at the rate of the port, and of the rest of the packet in transmission.
//!   Where ports are paused (RDMA) they are estimates.
//! - Ports are compared by when the packet would leave them, including its own transmission, which differs from the
//!   queueing delay only where rates differ. Ties are broken at random.
//! - A flow's own port always keeps order, so "none" means that it is gone from the group.
//! - Acknowledgements are separate flows, never rerouted. Packets of no flow (probes) take the shortest queue.
//! - Rerouting: constants are our own. The bytes of a flow are counted here, from when it was last idle for
//!   `flow_idle_us`; its base round-trip time must be given, as a switch cannot know it.

use crate::{
    AtSwitch, Aware, Compared, Cx, Kind, Layout, Needs, Packet, Policy, Port, Rule, Sees, Sheet, Sight,
    sees::{quantity, us},
};
use crate::{Listed, Quantity, Shape, Span, SwitchView, Tier, Time, Way};

pub mod released;

crate::choice! {
    /// The origin of the rules.
    Rules {
        /// Our own: queues are compared by when packets leave, and long flows are rerouted if order costs too much.
        Departures = "departures",
        /// The authors' programs': queues are compared by packets waiting, and all flows leave a queue that is too
        /// long.
        Released = "released",
    }
}

crate::params! {
    /// QDAPS' parameters.
    Config {
        /// Our own rules, by packets' departure times, or those of the authors' released programs, by packets waiting.
        /// Each of the other parameters except flow_idle_us belongs to one of the two.
        rules: Rules = Rules::Departures, Allowed::Words(Rules::WORDS);
        /// Released rules: with more packets than this in the queue that keeps order, a packet takes the shortest queue
        /// (QDAPS-NS2, QDAPS-Mininet: 41).
        reroute_above_packets: u32 = 41, Allowed::Integer { min: 0.0, max: 1e6 };
        /// Bytes after which a flow is long and may be rerouted (own choice; PDLB calls flows of 100 KB long).
        reroute_after_bytes: f64 = 100_000.0, Allowed::Number { min: 0.0, max: 1e15 };
        /// A long flow is rerouted if staying in order costs more than this, µs: one base round-trip time (100 as in
        /// PDLB's Figs. 11 and 12). In effect never: 1e9.
        reroute_delay_us: f64 = 100.0, Allowed::Number { min: 0.0, max: 1e9 };
        /// Transmissions from a leaf's uplink until the paths meet again: 2 in a leaf-spine, up to 4 in a fat-tree. Too
        /// high a value is safe.
        merge_hops: u32 = 2, Allowed::Integer { min: 1.0, max: 16.0 };
        /// A flow without packets for this long is forgotten, µs; must exceed any queueing delay (own choice).
        flow_idle_us: f64 = 100_000.0, Allowed::Number { min: 1.0, max: 1e9 };
    }
}

/// Row per flow and direction: its last packet, and the bytes it has sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// When its last bit leaves this switch, rounded up.
    pub leaves: Time,
    /// When its last bit is where the paths meet again, without propagation, rounded up.
    pub meets: Time,
    /// Payload bytes of the flow so far.
    pub bytes: u64,
    /// Released rules: when it arrived.
    pub at: Time,
    /// Released rules: packets that it found waiting.
    pub found: u32,
    /// Released rules: the largest packet of the flow so far, wire bytes.
    pub wire: u32,
    /// Its port of this switch.
    pub port: u16,
    /// Whether there has been a packet.
    pub seen: bool,
}

/// A packet if it were queued at a port now; times rounded down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuedAt {
    port: u16,
    leaves: Time,
    meets: Time,
}

impl QueuedAt {
    /// Returns the state of the queue that a packet of `wire` bytes finds at `port`.
    #[inline]
    pub fn at(view: &SwitchView<'_>, now: Time, port: u16, wire: u32, hops: u64) -> QueuedAt {
        let start = now + view.queueing_delay(Port(port));
        let once = Span::sending(u64::from(wire), view.rate(Port(port)));
        QueuedAt { port, leaves: start + once, meets: start + once * hops }
    }

    /// Whether it stays behind the flow's last packet.
    #[inline]
    pub(crate) fn keeps_order(&self, last: &Sent) -> bool {
        !last.seen || self.port == last.port || (self.leaves > last.leaves && self.meets > last.meets)
    }
}

/// The best of the ways examined, by a key; among equal ones each is equally likely.
#[derive(Clone, Copy, Debug, Default)]
struct Choice<K> {
    way: usize,
    key: K,
    equal: u32,
}

impl<K: Copy + PartialEq> Choice<K> {
    /// Takes `way` if it goes `before` the one kept, or by a random draw if it is equal.
    #[inline]
    fn offer(&mut self, way: usize, key: K, before: bool, draw: impl FnOnce(u32) -> u32) {
        if self.equal == 0 || before {
            *self = Choice { way, key, equal: 1 };
        } else if key == self.key {
            self.equal += 1;
            if draw(self.equal) == 0 {
                self.way = way;
            }
        }
    }
}

/// Packet spraying by queueing delay, in order.
#[derive(Clone, Copy, Debug)]
pub struct Qdaps {
    rules: Rules,
    above: u32,
    long: u64,
    cost: Span,
    hops: u32,
    idle: Span,
}

impl Qdaps {
    /// Whether a flow that has sent `bytes` leaves its order, when its packet would leave in order at `ordered` and on
    /// the shortest queue at `shortest`.
    #[inline]
    pub fn reroutes(&self, bytes: u64, ordered: Time, shortest: Time) -> bool {
        bytes > self.long && ordered.since(shortest) > self.cost
    }

    /// Transmissions until the paths meet again.
    fn hops_from(&self, tier: Tier) -> u64 {
        // Parallel links of a top switch meet right behind them.
        if tier == Tier::Spine { 1 } else { u64::from(self.hops) }
    }

    fn shortest(&self, cx: &mut Cx<'_, Self>, packet: &Packet) -> Way {
        let mut best = Choice::default();
        for (way, &port) in cx.view.candidates.iter().enumerate() {
            let leaves = QueuedAt::at(&cx.view, cx.now, port, packet.wire, 1).leaves;
            best.offer(way, leaves, leaves < best.key, |n| cx.rng.below(n));
        }
        Way(best.way as u16)
    }
}

crate::listed! {
    /// The rule that gave a packet its way.
    enum Why: Rule {
        First = Rule::Chooses("first packet of the flow: the shortest queue"),
        Ordered = Rule::Chooses("the shortest of the queues that keep it behind the previous packet"),
        Longest = Rule::Chooses("no queue keeps it behind the previous packet: the longest"),
        Shortest = Rule::Chooses("keeping order costs too much: the shortest queue of all"),
        InTurn = Rule::Chooses("an acknowledgement under the released rules: the next uplink in turn"),
    }

    /// Quantities of a flow that it considers.
    enum OfFlow: Quantity {
        LastLeaves = quantity("last_leaves", "µs", "time until the flow's previous packet has left this switch"),
        Sent = quantity("sent", "bytes", "payload of the flow forwarded so far"),
    }

    /// Quantities of a candidate that it considers.
    enum OfWay: Quantity {
        Leaves = quantity("leaves", "µs", "time until it would have left by that uplink"),
        KeepsOrder = quantity("keeps_order", "", "1: stays behind the previous packet; 0: perhaps not"),
        Waiting = quantity("waiting", "packets", "packets in the queue there"),
    }
}

impl Policy for Qdaps {
    const SHEET: Sheet = Sheet {
        name: "qdaps",
        summary: "each packet to the shortest queue that cannot reorder it, at every switch",
        source: "Huang et al., IEEE/ACM ToN 29(3), 2021",
        unit: "packet",
        told: &["rates of its own links", "base RTT (in reroute_delay_us)", "hops until paths meet again (merge_hops)"],
        three_tiers: "every switch that has a choice decides independently; between pods, paths meet again after four \
                      links, so keeping order there requires merge_hops = 4",
        compared: Some(Compared {
            aware: Aware::Local,
            senses: &["own queues"],
            state: "per flow, at every switch",
            needs: Needs::Switches,
            order: "queues no shorter than what remains ahead of the last packet",
            pick: "O(n)",
            update: "–",
        }),
        sees: Sees { rules: Why::ALL, flow: OfFlow::ALL, way: OfWay::ALL, ..Sees::NOTHING },
        ..Sheet::AT_SWITCH
    };
    type Site = AtSwitch;
    type Config = Config;
    crate::rows! { flow: Sent, node: released::Turn }

    fn new(config: &Config) -> Self {
        Qdaps {
            rules: config.rules,
            above: config.reroute_above_packets,
            long: config.reroute_after_bytes as u64,
            cost: Span::from_us_f64(config.reroute_delay_us),
            hops: config.merge_hops,
            idle: Span::from_us_f64(config.flow_idle_us),
        }
    }

    fn layout(&self, _: &Shape) -> Layout {
        Layout { flow_idle: self.idle, ..Layout::default() }
    }

    fn sees(&self, cx: &Cx<'_, Self>, last: &Sent, packet: &Packet, sight: &mut Sight<'_>) {
        if last.seen {
            sight.flow(OfFlow::LastLeaves, us(last.leaves.since(cx.now)));
        }
        sight.flow(OfFlow::Sent, last.bytes as f64);
        if self.rules == Rules::Released {
            self.tell_released(cx, last, packet, sight);
            return;
        }
        let (mut ordered, mut shortest, mut longest) = (Time::NEVER, Time::NEVER, Time::ZERO);
        for (way, &port) in cx.view.candidates.iter().enumerate() {
            let queued = QueuedAt::at(&cx.view, cx.now, port, packet.wire, self.hops_from(cx.view.tier));
            let keeps = queued.keeps_order(last);
            sight.way(way, OfWay::Leaves, us(queued.leaves.since(cx.now)));
            sight.way(way, OfWay::KeepsOrder, f64::from(keeps));
            sight.way(way, OfWay::Waiting, f64::from(cx.view.queue_packets(Port(port))));
            (shortest, longest) = (shortest.min(queued.leaves), longest.max(queued.leaves));
            ordered = if keeps { ordered.min(queued.leaves) } else { ordered };
        }
        let chosen = if ordered == Time::NEVER { longest } else { ordered };
        sight.rule(match () {
            () if packet.kind == Kind::Data && self.reroutes(last.bytes, chosen, shortest) => Why::Shortest,
            () if !last.seen => Why::First,
            () if ordered == Time::NEVER => Why::Longest,
            () => Why::Ordered,
        });
    }

    fn pick(&self, cx: &mut Cx<'_, Self>, last: &mut Sent, packet: &Packet, _: &mut ()) -> Way {
        if !matches!(packet.kind, Kind::Data | Kind::Ack) {
            return self.shortest(cx, packet);
        }
        if self.rules == Rules::Released {
            return Way(self.released(cx, last, packet) as u16);
        }
        let hops = self.hops_from(cx.view.tier);
        let candidates = cx.view.candidates;
        let (mut ordered, mut shortest, mut longest) = (Choice::default(), Choice::default(), Choice::default());
        for (way, &port) in candidates.iter().enumerate() {
            let queued = QueuedAt::at(&cx.view, cx.now, port, packet.wire, hops);
            let leaves = queued.leaves;
            shortest.offer(way, leaves, leaves < shortest.key, |n| cx.rng.below(n));
            longest.offer(way, leaves, leaves > longest.key, |_| 1);
            if queued.keeps_order(last) {
                ordered.offer(way, leaves, leaves < ordered.key, |n| cx.rng.below(n));
            }
        }
        let mut choice = if ordered.equal > 0 { ordered } else { longest };
        if packet.kind == Kind::Data && self.reroutes(last.bytes, choice.key, shortest.key) {
            choice = shortest;
        }
        // Rounded up by one, so that a rate that does not divide hides no tie.
        let port = candidates[choice.way];
        let queued = QueuedAt::at(&cx.view, cx.now, port, packet.wire, hops);
        let (leaves, meets) = (queued.leaves + Span(1), queued.meets + Span(hops));
        *last =
            Sent { leaves, meets, bytes: last.bytes + u64::from(packet.payload), port, seen: true, ..Sent::default() };
        Way(choice.way as u16)
    }
}
