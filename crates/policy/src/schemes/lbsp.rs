//! LBSP: packets are spread over one of several equal groups of paths; after a failure, over another group that is
//! still symmetric.
//!
//! "Enhancing robustness of per-packet load-balancing for fat-tree", Applied Sciences 11(6), 2664, 2021. Site: leaves
//! and aggregation switches of a fat-tree, and cores, which detect failures and pass messages on. Hosts are unmodified.
//! Our copy of the paper lacks Section 5 and the tables; their replacements are marked below.
//!
//! | rule | function |
//! |---|---|
//! | §3.2: link groups by the parity of port numbers, the group by a bit of the destination for each tier | [`Lbsp::wanted`] |
//! | §3.2: round robin within the group; downward by intervals of addresses | `pick`, [`Tree`] |
//! | §3.3.1: a failure message says type and range; it is flooded | `link`, `message`, [`Failure`] |
//! | Table 2 (reconstructed): type = 2 · level + group; leaves act on level 0, aggregation switches on level 1 | [`Lbsp::kind`] |
//! | §3.3.2: an alternative group for the destinations in the range | [`table::Place`], [`table::allowed`] |
//! | §3.4: more groups, or more paths in each | `leaf_bits`, `aggregation_bits` |
//! | §3.4: a degraded link is treated as a disconnected one | `link` |
//! | §3.4: groups by a hash | [`Lbsp::wanted`] |
//! | §5 (text missing): the input port plays a role, and part of the traffic migrates | [`Lbsp::wanted`], `tick` |
//!
//! | our word | the paper's |
//! |---|---|
//! | leaf | ToR switch |
//! | column of an aggregation switch | – (A(4p+j): j) |
//! | bits | mask register |
//!
//! **An uplink's failure** is flooded with the range of all hosts, as in the paper; but only the switch with the failed
//! link acts on it, or the whole tree would leave that group.
//!
//! **Escalation.** A dead aggregation switch takes cores of all groups of its column from its pod. The aggregation
//! switches of that column in other pods then have no whole group; they notify their leaves, which avoid the column's
//! group for that pod. The paper simulates this case but does not say how it is handled.
//!
//! **Lost messages.** A message is a packet and may be dropped. So each switch repeats the news of its own links, and an
//! aggregation switch what it last told its leaves, every `repeat_us`. The paper loses no message.
//!
//! **No group left.** Packets take all links in turn that still lead there.
//!
//! **Memory.** A switch remembers the state of at most 128 link ends: a quarter of an 8-ary tree. Neighbours whose link
//! comes up exchange all they know, so no switch is left behind.
//!
//! Departures:
//! - Messages name the detecting switch and port and count its news, or a flood would not end and a late copy would undo
//!   a repair. In the paper a message has type and range.
//! - They go everywhere, not just three hops: the switches that need them are at most three hops away only if
//!   everything else works.
//! - Where failures of several columns leave aggregation switches no group in common, each avoids its own.
//! - Of more than two groups the alternative is the next one.
//! - Detection (hello messages) is the fabric's part: a switch is notified about its own links.
//! - §5, static reading: the group is the destination's bits XOR those of the input port's number. Reactive reading: as
//!   long as the default group has over `migrate_delta_packets` more than the next, one more input port moves to that,
//!   and back below half of it. An aggregation switch decides independently, so a flow may then be spread over both of
//!   its groups.

pub mod failures;
pub mod table;

use crate::tree::{Spot, Tree};
use crate::{
    AtSwitch, Aware, Change, Compared, Cx, Hooks, Key, Layout, Listed, Message, Needs, Packet, Peers, Policy, Port,
    Rule, Sees, Series, Shape, Sheet, Span, Tier, To, Uneven, Way, sees::series,
};
use failures::{ESCALATION, ESCALATION_BYTES, Escalation, FAILURE, FAILURE_BYTES, Failure, Known, MOST_KNOWN, State};
use table::{MOST_UPLINKS, Place, Row, allowed, next_alive};

crate::choice! {
    /// The criterion for the path group of a packet.
    Assignment {
        /// The lowest bits of the destination (LBSP §3.2).
        Destination = "destination",
        /// A hash of the header, as ECMP's (LBSP §3.4).
        Hash = "hash",
    }
}

crate::choice! {
    /// The packets that take turns together.
    RoundRobin {
        /// All of the group at this switch.
        Switch = "switch",
        /// The packets for one host.
        Destination = "destination",
        /// The packets of one flow: 16 pointers for each leaf, which flows share by hash.
        Flow = "flow",
    }
}

crate::choice! {
    /// The role of the input port (LBSP §5, whose text is missing).
    InputPort {
        /// Nothing.
        Ignored = "ignored",
        /// The group is the destination's bits XOR the port's.
        Xor = "xor",
        /// Ports move to the next group one by one while their own is much fuller.
        Migrate = "migrate",
    }
}

/// The most address bits of one tier.
const MOST_BITS: u32 = 4;
/// The most groups of one tier.
const MOST_GROUPS: usize = 1 << MOST_BITS;

crate::params! {
    /// LBSP's parameters.
    Config {
        /// Bits of the destination that leaves compare, the lowest ones: 2^bits link groups (LBSP §3.2: one bit).
        leaf_bits: u32 = 1, Allowed::Integer { min: 1.0, max: MOST_BITS as f64 };
        /// Bits of the destination that aggregation switches compare, those after the leaves' (LBSP §3.2: one bit).
        aggregation_bits: u32 = 1, Allowed::Integer { min: 1.0, max: MOST_BITS as f64 };
        /// What decides the group (LBSP §3.2: the destination; §3.4: a hash).
        assignment: Assignment = Assignment::Destination, Allowed::Words(Assignment::WORDS);
        /// Who shares a round-robin pointer. LBSP §3.2 speaks of the "packets of a flow", of which scatter keeps no state: the
        /// default is one pointer for a switch and group.
        round_robin: RoundRobin = RoundRobin::Switch, Allowed::Words(RoundRobin::WORDS);
        /// Is a degraded link dealt with as one that is down (LBSP §3.4)?
        avoid_degraded: bool = true, Allowed::Bool;
        /// A failure message on the wire, bytes (own choice: a packet of least size).
        message_bytes: u32 = 64, Allowed::Integer { min: 64.0, max: 1500.0 };
        /// Interval at which messages are repeated, since they may be lost, microseconds (own choice); 0: never.
        repeat_us: f64 = 1000.0, Allowed::Number { min: 0.0, max: 1e9 };
        /// Role of the input port (LBSP §5, whose text is missing).
        input_port: InputPort = InputPort::Ignored, Allowed::Words(InputPort::WORDS);
        /// An input port migrates while its group has this many packets more than the next one, and returns below half
        /// of that (own choice).
        migrate_delta_packets: u32 = 25, Allowed::Integer { min: 1.0, max: 1e6 };
        /// Interval at which the queues of groups are compared, if ports migrate or the gap is recorded, microseconds
        /// (own choice).
        sample_interval_us: f64 = 100.0, Allowed::Number { min: 0.1, max: 1e6 };
        /// Record the gap between the fullest and the emptiest group at each comparison.
        record_gap: bool = false, Allowed::Bool;
    }
}

/// Pointers per leaf where flows share them by hash.
const FLOW_POINTERS: u16 = 16;
/// Salts of hashes; there is one per tier for groups, so that all switches of a tier agree.
const GROUP_SALTS: [u64; 2] = [0x6c62_7370_0001, 0x6c62_7370_0002];
const FLOW_SALT: u64 = 0x6c62_7370_0003;

/// Row per switch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Node {
    /// Round-robin pointer of each group.
    turns: [u16; MOST_GROUPS],
    /// Pointer over all links, used when no group is left.
    spray: u16,
    /// Number of input ports of each group that have migrated, counted from the first.
    migrated: [u16; MOST_GROUPS],
    /// Failures heard of.
    pub known: Known,
    /// Pods whose state was ever reported to the leaves below, one bit each: up to twice [`MOST_UPLINKS`].
    reported: u128,
    /// Messages are repeated.
    repeats: bool,
}

/// Row per port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// It is down, or degraded and avoided.
    gone: bool,
    /// It is down.
    down: bool,
    /// News about it so far.
    number: u32,
}

/// Round robin over symmetric path groups.
#[derive(Clone, Copy, Debug)]
pub struct Lbsp {
    /// Numbers of bits for a leaf, and for an aggregation switch.
    bits: [u32; 2],
    assignment: Assignment,
    round_robin: RoundRobin,
    avoid_degraded: bool,
    message_bytes: u32,
    repeat: Span,
    input_port: InputPort,
    delta: u32,
    sample: Span,
    record_gap: bool,
}

crate::listed! {
    /// Its series.
    enum Points: Series {
        GroupGap = series("group_gap", "packets in the fullest link group of a switch minus those in the emptiest"),
    }
}

impl Policy for Lbsp {
    const SHEET: Sheet = Sheet {
        name: "lbsp",
        summary: "packets in turn over the links of one of several equal groups, chosen by the destination's lowest \
                  bits",
        source: "Applied Sciences 11(6), 2664, 2021",
        unit: "packet",
        tiers: &["leaf", "aggregation"],
        told: &["numbering of the fat-tree", "state of its own links"],
        series: Points::ALL,
        three_tiers: "leaves and aggregation switches choose within groups of their uplinks, and cores have no choice; \
                      it needs three tiers",
        compared: Some(Compared {
            aware: Aware::No,
            senses: &["failures, from flooded messages"],
            state: "a pointer per group, plus failures while there are any, at every switch",
            needs: Needs::Switches,
            order: "paths of a group are symmetric",
            pick: "O(1)",
            update: "O(leaves) per failure",
        }),
        sees: Sees {
            rules: &[Rule::Chooses(
                "every packet: the next link in turn in its group, or among all that still lead there",
            )],
            ..Sees::NOTHING
        },
        ..Sheet::AT_SWITCH
    };
    const HOOKS: Hooks = Hooks::MESSAGE.and(Hooks::TICK).and(Hooks::TIMER).and(Hooks::LINK);
    const IN_TREES: bool = true;
    type Site = AtSwitch;
    type Config = Config;
    crate::rows! { peer: Row, route: u16, port: Link, node: Node }

    fn new(config: &Config) -> Self {
        let samples = config.record_gap || config.input_port == InputPort::Migrate;
        Lbsp {
            bits: [config.leaf_bits, config.aggregation_bits],
            assignment: config.assignment,
            round_robin: config.round_robin,
            avoid_degraded: config.avoid_degraded,
            message_bytes: config.message_bytes,
            repeat: Span::from_us_f64(config.repeat_us),
            input_port: config.input_port,
            delta: config.migrate_delta_packets,
            sample: if samples { Span::from_us_f64(config.sample_interval_us) } else { Span::ZERO },
            record_gap: config.record_gap,
        }
    }

    fn layout(&self, shape: &Shape) -> Layout {
        let leaves = shape.leaves as usize;
        Layout {
            peers: Peers::Leaves,
            all_peers: true,
            slots: match self.round_robin {
                RoundRobin::Switch => 1,
                RoundRobin::Destination => (shape.hosts / shape.leaves.max(1)).clamp(1, u32::from(u16::MAX)) as u16,
                RoundRobin::Flow => FLOW_POINTERS,
            },
            tick: if shape.tier == Tier::Spine { Span::ZERO } else { self.sample },
            // A link that comes up: its own news, everything known, and each pod's state; or that to all leaves below.
            actions: 2 + MOST_KNOWN + leaves,
            bytes: (1 + MOST_KNOWN) * FAILURE_BYTES + (1 + leaves) * ESCALATION_BYTES,
            ..Layout::default()
        }
    }

    fn uneven(&self, tree: &Tree) -> Option<Uneven> {
        let tiers = [
            ("leaf_bits", self.bits[0], tree.columns, Tier::Leaf),
            ("aggregation_bits", self.bits[1], tree.cores_per_column, Tier::Aggregation),
        ];
        // LBSP §3.4: more path groups, or more paths in each; they must be of one size.
        let uneven = |&(_, bits, uplinks, _): &(_, u32, u32, _)| uplinks % (1 << bits) != 0 || uplinks > MOST_UPLINKS;
        let (param, bits, uplinks, tier) = tiers.into_iter().find(uneven)?;
        Some(Uneven { param, groups: 1 << bits, uplinks, tier })
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, _: &mut (), packet: &Packet, _: &mut ()) -> Way {
        let (tier, links) = (level(cx.view.tier), cx.view.candidates.len() as u32);
        let groups = 1 << self.bits[tier];
        if links < groups {
            return Way(0);
        }
        let mut wanted = self.wanted(packet, tier);
        // LBSP §5, reactive reading.
        if packet.in_port.0 < cx.node.migrated[wanted as usize] {
            wanted = (wanted + 1) % groups;
        }
        let (row, pointers) = cx.peers.current();
        let Some(group) = allowed(wanted, groups, row.forbidden) else {
            let link = next_alive(u32::from(cx.node.spray), links, row.dead);
            cx.node.spray = link as u16 + 1;
            return Way(link as u16);
        };
        let turn = match self.round_robin {
            RoundRobin::Switch => &mut cx.node.turns[group as usize],
            RoundRobin::Destination => &mut pointers[packet.dst as usize % pointers.len()],
            RoundRobin::Flow => &mut pointers[packet.spread(FLOW_SALT, pointers.len() as u32) as usize],
        };
        let now = if u32::from(*turn) < links / groups { *turn } else { 0 };
        *turn = now + 1;
        Way(group as u16 + (1 << self.bits[tier]) * now)
    }

    fn link(&self, cx: &mut Cx<'_, Self>, port: Port, change: Change) {
        let (Some(tree), switch) = (cx.view.tree(), cx.view.switch) else { return };
        let Some((first, last)) = tree.range(switch, port.0).filter(|_| port.0 >= cx.view.host_ports) else { return };
        let link = &mut cx.ports[port.index()];
        let back = link.down && change != Change::Down;
        // LBSP §3.4: a degraded link is dealt with in the same way.
        let gone = change == Change::Down || (change == Change::Degraded && self.avoid_degraded);
        let news = link.gone != gone;
        link.number += u32::from(news);
        *link = Link { gone, down: change == Change::Down, number: link.number };
        let number = link.number;
        if news {
            // LBSP §3.3.1: the range of the port, which for an uplink is that of all hosts.
            let kind = self.kind(&tree, switch, port);
            let failure = Failure { origin: switch, port: port.0, number, kind, gone, hops: 0, first, last };
            cx.node.known.learn(failure);
            self.flood(cx, failure, back.then_some(port));
            self.bring_up_to_date(cx, &tree, (first, last));
            self.repeat_later(cx);
        }
        if back {
            self.tell_all(cx, &tree, port);
        }
    }

    fn message(&self, cx: &mut Cx<'_, Self>, _: Option<&mut ()>, message: &Message<'_>) {
        let Some(tree) = cx.view.tree() else { return };
        match message.class {
            FAILURE => {
                let Some(failure) = Failure::get(message.body, &tree) else { return };
                let failure = Failure { hops: failure.hops.saturating_add(1), ..failure };
                // A switch knows best about its own links.
                if failure.origin != cx.view.switch && cx.node.known.learn(failure) {
                    self.flood(cx, failure, Some(message.in_port));
                    self.bring_up_to_date(cx, &tree, (failure.first, failure.last));
                }
            }
            ESCALATION => {
                let below = tree.uplink(cx.view.switch, message.in_port.0).filter(|_| cx.view.tier == Tier::Leaf);
                let (Some(link), Some(told)) = (below, Escalation::get(message.body, &tree)) else { return };
                self.heed(cx, &tree, link, told);
            }
            _ => {}
        }
    }

    fn timer(&self, cx: &mut Cx<'_, Self>, _: Option<&mut ()>, _: Key) {
        let Some(tree) = cx.view.tree() else { return };
        cx.node.repeats = false;
        for n in 0..cx.node.known.all().len() {
            let failure = cx.node.known.all()[n];
            if failure.origin == cx.view.switch {
                self.flood(cx, failure, None);
            }
        }
        for pod in 0..tree.pods {
            if cx.node.reported >> pod & 1 == 1 {
                let state = cx.peers.at((pod * tree.leaves_per_pod) as usize).0.state;
                self.escalate_to_all(cx, &tree, pod, state);
            }
        }
        self.repeat_later(cx);
    }

    fn tick(&self, cx: &mut Cx<'_, Self>) {
        let Some(tree) = cx.view.tree() else { return };
        let (down, links) = (tree.downlinks(cx.view.switch), tree.uplinks(cx.view.switch));
        let groups = 1usize << self.bits[level(cx.view.tier)];
        let mut packets = [0u32; MOST_GROUPS];
        for link in 0..links {
            packets[link as usize % groups] += cx.view.queue_packets(Port((down + link) as u16));
        }
        let packets = &packets[..groups];
        let most = packets.iter().max().copied().unwrap_or(0);
        let least = packets.iter().min().copied().unwrap_or(0);
        if self.record_gap {
            cx.out.record(Points::GroupGap, f64::from(most - least));
        }
        if self.input_port == InputPort::Migrate {
            for (group, migrated) in cx.node.migrated[..groups].iter_mut().enumerate() {
                *migrated = migrate(*migrated, down, packets[group], packets[(group + 1) % groups], self.delta);
            }
        }
    }
}

impl Lbsp {
    /// The default group of a packet at a tier.
    // LBSP §3.2: the lowest bit at a ToR switch, the second at an aggregation switch.
    #[inline]
    pub fn wanted(&self, packet: &Packet, tier: usize) -> u32 {
        let groups = 1 << self.bits[tier];
        let default = match self.assignment {
            Assignment::Destination if tier == 0 => packet.dst & (groups - 1),
            Assignment::Destination => packet.dst >> self.bits[0] & (groups - 1),
            Assignment::Hash => packet.spread(GROUP_SALTS[tier], groups),
        };
        // LBSP §5, static reading.
        if self.input_port == InputPort::Xor { default ^ (u32::from(packet.in_port.0) & (groups - 1)) } else { default }
    }

    /// The type of a failure at a port of a switch.
    // LBSP Table 2 (reconstructed): 0, 1 between ToR and aggregation switches, 2, 3 between those and cores.
    pub fn kind(&self, tree: &Tree, switch: u32, port: Port) -> u8 {
        let own = tree.uplink(switch, port.0);
        let (level, link) = match (tree.spot(switch), own) {
            (Spot::Leaf { .. }, link) => (0, link.unwrap_or(0)),
            (Spot::Aggregation { .. }, Some(link)) => (1, link),
            (Spot::Aggregation { column, .. }, None) => (0, column),
            (Spot::Core { row, .. }, _) => (1, row),
        };
        (level * (1 << self.bits[0]) + link % (1 << self.bits[level as usize])) as u8
    }

    /// Sends a failure to every neighbour except the one behind `except`.
    fn flood(&self, cx: &mut Cx<'_, Self>, failure: Failure, except: Option<Port>) {
        cx.out.send(To::Neighbours { except }, FAILURE, None, Way::ANY, &failure.put(), self.message_bytes);
    }

    /// Recomputes the rows of these addresses, and notifies the leaves below of their changes.
    fn bring_up_to_date(&self, cx: &mut Cx<'_, Self>, tree: &Tree, (first, last): (u32, u32)) {
        let switch = cx.view.switch;
        // It knows its own links, however many failures elsewhere it has heard of.
        let gone = (0u16..).zip(&*cx.ports).filter(|(_, link)| link.gone);
        let own = gone.filter_map(|(port, _)| tree.uplink(switch, port)).fold(0, |dead, link| dead | 1 << link);
        let place = Place { tree: *tree, switch, groups: self.bits.map(|bits| 1 << bits), own };
        for leaf in first / tree.hosts_per_leaf..=last / tree.hosts_per_leaf {
            // All leaves are met from the start, in order.
            let (row, _) = cx.peers.at(leaf as usize);
            let before = row.state;
            place.work_out(&cx.node.known, leaf, row);
            let after = row.state;
            if after != before && leaf % tree.leaves_per_pod == 0 {
                let pod = leaf / tree.leaves_per_pod;
                cx.node.reported |= 1 << pod;
                self.escalate_to_all(cx, tree, pod, after);
                self.repeat_later(cx);
            }
        }
    }

    fn escalate_to_all(&self, cx: &mut Cx<'_, Self>, tree: &Tree, pod: u32, state: State) {
        for port in 0..tree.leaves_per_pod {
            self.escalate(cx, tree, pod, state, Port(port as u16));
        }
    }

    /// Sets the timer, unless it is set.
    fn repeat_later(&self, cx: &mut Cx<'_, Self>) {
        if self.repeat > Span::ZERO && !cx.node.repeats {
            cx.node.repeats = true;
            cx.out.arm(Key::Node(0), cx.now + self.repeat);
        }
    }

    /// Tells the leaf behind `port` this aggregation switch's state towards a pod.
    fn escalate(&self, cx: &mut Cx<'_, Self>, tree: &Tree, pod: u32, state: State, port: Port) {
        let hosts = tree.hosts_per_leaf * tree.leaves_per_pod;
        let told = Escalation { state, first: pod * hosts, last: (pod + 1) * hosts - 1 };
        cx.out.send(To::Port(port), ESCALATION, None, Way::ANY, &told.put(), self.message_bytes);
    }

    /// Handles a message to a leaf from the aggregation switch at uplink `link`.
    fn heed(&self, cx: &mut Cx<'_, Self>, tree: &Tree, link: u32, told: Escalation) {
        for leaf in told.first / tree.hosts_per_leaf..=told.last / tree.hosts_per_leaf {
            let (row, _) = cx.peers.at(leaf as usize);
            for (bits, state) in row.told.iter_mut().zip([State::Uneven, State::Lost]) {
                *bits = *bits & !(1 << link) | u64::from(told.state == state) << link;
            }
        }
        self.bring_up_to_date(cx, tree, (told.first, told.last));
    }

    /// Handles a link that came up: sends the switch behind it everything it may have missed.
    fn tell_all(&self, cx: &mut Cx<'_, Self>, tree: &Tree, port: Port) {
        for failure in cx.node.known.all() {
            cx.out.send(To::Port(port), FAILURE, None, Way::ANY, &failure.put(), self.message_bytes);
        }
        let Spot::Aggregation { pod: own, .. } = tree.spot(cx.view.switch) else { return };
        if tree.uplink(cx.view.switch, port.0).is_none() {
            for pod in (0..tree.pods).filter(|&pod| pod != own) {
                let state = cx.peers.at((pod * tree.leaves_per_pod) as usize).0.state;
                self.escalate(cx, tree, pod, state, port);
            }
        }
    }
}

/// 0 at a leaf, 1 at an aggregation switch.
#[inline]
const fn level(tier: Tier) -> usize {
    if matches!(tier, Tier::Leaf) { 0 } else { 1 }
}

/// Returns how many of `ports` input ports migrate when their group and the next one have these numbers of packets.
// LBSP §5, reactive reading.
pub fn migrate(migrated: u16, ports: u32, own: u32, next: u32, delta: u32) -> u16 {
    let gap = own.saturating_sub(next);
    match () {
        () if gap > delta && u32::from(migrated) < ports => migrated + 1,
        () if 2 * gap < delta => migrated.saturating_sub(1),
        () => migrated,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_those_of_the_worked_examples() {
        let tree = Tree { pods: 8, leaves_per_pod: 4, columns: 4, cores_per_column: 4, hosts_per_leaf: 4 };
        let lbsp = Lbsp::new(&Config::default());
        let kind = |switch, port| lbsp.kind(&tree, switch, Port(port));
        assert_eq!(kind(32 + 31, 3), 1, "LBSP section 3.3.1: A31-T31");
        assert_eq!(kind(64 + 15, 7), 3, "LBSP section 3.3.2: A31-C15, told by the core");
        assert_eq!([kind(32 + 28, 0), kind(64 + 4, 0), kind(31, 4 + 3), kind(32 + 31, 4 + 2)], [0, 2, 1, 2]);
    }

    #[test]
    fn ports_migrate_one_by_one_and_come_back() {
        let mut migrated = 0;
        for expected in [1, 2, 3, 4, 4] {
            migrated = migrate(migrated, 4, 126, 100, 25);
            assert_eq!(migrated, expected);
        }
        for (own, next, expected) in [(125, 100, 4), (113, 100, 4), (112, 100, 3), (0, 100, 2)] {
            migrated = migrate(migrated, 4, own, next, 25);
            assert_eq!(migrated, expected, "{own} against {next}");
        }
    }
}
