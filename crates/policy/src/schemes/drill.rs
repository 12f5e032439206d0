//! DRILL(d, m): every switch sends every packet to the shortest of d queues drawn at random and m remembered ones.
//!
//! Ghorbani, Yang, Godfrey, Ganjali, Firoozshahian, "DRILL: micro load balancing for low-latency data center networks",
//! SIGCOMM 2017. Details as in the public codes of ConWeave (conweave-ns3) and Hermes (ns3-load-balance).
//!
//! | rule | function |
//! |---|---|
//! | d different ports drawn at random, possibly including remembered ones | [`draw`] |
//! | the remembered ports come first; only a strictly shorter queue displaces another | [`Best::offer`] |
//! | the m shortest of those examined are remembered | [`Best`] |
//! | §3.4: a flow is hashed to a symmetric component of its paths, in proportion to the component's capacity | [`component`] |
//! | §3.4: within the component, DRILL | [`Choices`] |
//!
//! | our word | the paper's |
//! |---|---|
//! | `d`, `m` | samples, memory units |
//! | `engine`, `port` | forwarding engine: one per switch, or one per port that packets come by |
//! | `dst` | none: the memory of both public codes |
//! | map, label | Quiver, label |
//!
//! **Memory.** The paper remembers per forwarding engine. Both public codes remember per destination address, and the
//! RDMA comparisons (ConWeave, SELB) ran ConWeave's code, hence `memory = "dst"` by default. Per-destination memory is
//! also the one that makes sense where destinations have different sets of ports: a port that an engine remembers from
//! another destination need not lead to this one, and counts only if it does.
//!
//! **Symmetric components** (`components = "symmetric"`; off by default, and in neither code). Where a link is slow or
//! down, some paths are fed by more racks than others, and a flow on both kinds of path arrives out of order. A
//! controller labels every link with the pairs of leaves whose paths use it. Two paths of a pair are equivalent if
//! their links have, hop by hop, the same rate and the same label. Flows are hashed to the sets of equivalent paths, in
//! proportion to their capacity, by the same hash at every switch, so leaves and aggregation switches agree on a flow's
//! component. In a symmetric fabric there is one component, and nothing changes. Switches know the components of the
//! fabric as they see it: after a failure, once they have its new routes. The paper was not available; this part is
//! from memory and from a report of its talk.
//!
//! Departures:
//! - Queues are bytes at their port, whatever the link's rate, as in both codes.
//! - The paper's labels have a factor for capacities; here the rates themselves must be the same. A path's capacity is
//!   the share of its links that each pair of leaves would have if all sent equally; in two tiers its slowest link
//!   counts.
//! - Labels name pairs, not their amount of traffic: if an aggregation switch has lost one of two cores, the other
//!   core's links have the same labels as links that carry half as much.
//! - All components share one memory, which counts where it applies. Packets that belong to no flow choose among all
//!   ports.
//! - Queue lengths are exact and current; the paper's engines see each other's packets late.
//! - Every packet that the scheme is called for is spread, including those of no flow (probes).

use crate::fabric::draw::{MOST_D, draw};
use crate::{
    AtSwitch, Aware, Compared, Cx, Kind, Layout, Listed, Needs, Packet, Peers, Policy, Port, Quantity, Rule, Sees,
    Shape, Sheet, Sight, SwitchView, Way, sees::quantity,
};

crate::choice! {
    /// The owner of a memory.
    Memory {
        /// The destination host.
        Dst = "dst",
        /// The switch, which is one forwarding engine.
        Engine = "engine",
        /// The port a packet came by, which has a forwarding engine of its own.
        Port = "port",
    }
}

crate::choice! {
    /// The ports among which a packet's flow may choose.
    Within {
        /// All equal-cost ports.
        Off = "off",
        /// The ports of one symmetric component.
        Symmetric = "symmetric",
    }
}

/// The most ports remembered.
const MOST_M: usize = 8;

crate::params! {
    /// DRILL's parameters.
    Config {
        /// Ports d drawn for each packet, or all if there are fewer (SELB's and ConWeave's comparisons: 2).
        d: u32 = 2, Allowed::Integer { min: 1.0, max: MOST_D as f64 };
        /// Ports m remembered from the last packet (SELB's and ConWeave's comparisons: 1).
        m: u32 = 1, Allowed::Integer { min: 0.0, max: MOST_M as f64 };
        /// What has a memory: each destination host (both public codes), or a forwarding engine as in the paper, with
        /// one engine per switch or one per port that packets arrive at.
        memory: Memory = Memory::Dst, Allowed::Words(Memory::WORDS);
        /// Is a flow kept to one symmetric component of its paths (DRILL §3.4; no public code does this)? There are
        /// several only where links differ or are down.
        components: Within = Within::Off, Allowed::Words(Within::WORDS);
    }
}

/// Row per destination host, per port and per switch: the ports remembered, best first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Remembered {
    ports: [Option<u16>; MOST_M],
}

/// Micro load balancing by local queues.
#[derive(Clone, Copy, Debug)]
pub struct Drill {
    d: usize,
    m: usize,
    memory: Memory,
    within: Within,
}

/// The parts into which hashes divide the capacity of all components.
const PARTS: u32 = 1 << 16;

/// This switch's ports on the component that the flow of a packet is hashed to, in order; none if all paths are alike.
// DRILL §3.4
pub fn component<'a>(view: &'a SwitchView<'_>, packet: &Packet) -> &'a [u16] {
    if !matches!(packet.kind, Kind::Data | Kind::Ack) {
        return &[];
    }
    let (from, to) = (view.leaf_of(packet.src), view.leaf_of(packet.dst));
    let all = || (0..).map_while(|n| view.told_component(from, to, n));
    let total: u128 = all().map(|(capacity, _)| u128::from(capacity)).sum();
    if total == 0 {
        return &[];
    }
    let point = total * u128::from(packet.spread(view.fabric_salt(), PARTS)) / u128::from(PARTS);
    let mut end = 0;
    let chosen = all().find(|(capacity, _)| {
        end += u128::from(*capacity);
        point < end
    });
    chosen.map_or(&[], |(_, ports)| ports)
}

/// The candidates that a packet may take.
#[derive(Clone, Copy, Debug)]
pub struct Choices<'a> {
    candidates: &'a [u16],
    component: &'a [u16],
    len: usize,
}

impl<'a> Choices<'a> {
    /// The candidates in a component; all, if none of them is.
    #[inline]
    pub fn new(candidates: &'a [u16], component: &'a [u16]) -> Self {
        let within = candidates.iter().filter(|port| component.contains(port)).count();
        match within {
            0 => Choices { candidates, component: &[], len: candidates.len() },
            len => Choices { candidates, component, len },
        }
    }

    #[inline]
    fn has(&self, port: u16) -> bool {
        self.component.is_empty() || self.component.contains(&port)
    }

    /// The way by a port, if the port is a candidate.
    #[inline]
    fn position(&self, port: u16) -> Option<usize> {
        self.candidates.iter().position(|&candidate| candidate == port).filter(|_| self.has(port))
    }

    /// The `n`-th way.
    #[inline]
    pub fn way(&self, n: usize) -> usize {
        match self.component {
            [] => n,
            _ => (0..self.candidates.len()).filter(|&way| self.has(self.candidates[way])).nth(n).unwrap_or_default(),
        }
    }
}

impl Drill {
    #[inline]
    fn choices<'a>(&self, view: &'a SwitchView<'_>, packet: &Packet) -> Choices<'a> {
        match self.within {
            Within::Off => Choices { candidates: view.candidates, component: &[], len: view.candidates.len() },
            Within::Symmetric => Choices::new(view.candidates, component(view, packet)),
        }
    }
}

crate::listed! {
    /// The rule that gave a packet its way.
    enum Why: Rule {
        Shortest = Rule::Chooses("the shortest of the queues examined: some drawn at random, some remembered"),
    }

    /// Quantities of a candidate that it considers.
    enum OfWay: Quantity {
        Queue = quantity("queue", "bytes", "own queue at that uplink, if it was examined"),
        Remembered = quantity("remembered", "", "1: remembered from the last packet; 0: drawn"),
    }
}

impl Policy for Drill {
    const SHEET: Sheet = Sheet {
        name: "drill",
        summary: "each packet on the shortest of d queues drawn at random and m remembered ones, at every switch",
        source: "Ghorbani et al., SIGCOMM 2017",
        unit: "packet",
        told: &["with components: which paths are equivalent"],
        compared: Some(Compared {
            aware: Aware::Local,
            senses: &["own queues"],
            state: "per destination or forwarding engine, at every switch",
            needs: Needs::Switches,
            order: "nothing but queues of similar length",
            pick: "O(d² + m n), to find ports in the group",
            update: "–",
        }),
        sees: Sees { rules: Why::ALL, way: OfWay::ALL, ..Sees::NOTHING },
        ..Sheet::AT_SWITCH
    };
    type Site = AtSwitch;
    type Config = Config;
    crate::rows! { peer: Remembered, port: Remembered, node: Remembered }

    fn new(config: &Config) -> Self {
        Drill { d: config.d as usize, m: config.m as usize, memory: config.memory, within: config.components }
    }

    fn layout(&self, _: &Shape) -> Layout {
        let peers = if self.memory == Memory::Dst { Peers::Hosts } else { Peers::None };
        Layout { peers, components: self.within == Within::Symmetric, ..Layout::default() }
    }

    fn sees(&self, cx: &Cx<'_, Self>, _: &(), packet: &Packet, sight: &mut Sight<'_>) {
        sight.rule(Why::Shortest);
        let memory = match self.memory {
            Memory::Dst => cx.peers.here().0,
            Memory::Engine => &*cx.node,
            Memory::Port => cx.ports.get(packet.in_port.index()).unwrap_or(&*cx.node),
        };
        let choices = self.choices(&cx.view, packet);
        let (drawn, many) = draw(&mut cx.rng.clone(), choices.len, self.d);
        for (way, &port) in cx.view.candidates.iter().enumerate() {
            let remembered = memory.ports.contains(&Some(port)) && choices.has(port);
            if remembered || drawn[..many].iter().any(|&n| choices.way(n) == way) {
                sight.way(way, OfWay::Queue, cx.view.queue_bytes(Port(port)) as f64);
                sight.way(way, OfWay::Remembered, f64::from(remembered));
            }
        }
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, _: &mut (), packet: &Packet, _: &mut ()) -> Way {
        let (candidates, choices) = (cx.view.candidates, self.choices(&cx.view, packet));
        let memory = match self.memory {
            Memory::Dst => cx.peers.current().0,
            Memory::Engine => &mut *cx.node,
            // A packet made here came by no port.
            Memory::Port => cx.ports.get_mut(packet.in_port.index()).unwrap_or(&mut *cx.node),
        };
        let mut best = Best::new(self.m);
        for port in memory.ports.iter().flatten() {
            // The port may have left the group since, or belong to another destination's.
            if let Some(way) = choices.position(*port) {
                best.offer(way, cx.view.queue_bytes(Port(*port)));
            }
        }
        let (drawn, many) = draw(cx.rng, choices.len, self.d);
        for way in drawn[..many].iter().map(|&n| choices.way(n)) {
            best.offer(way, cx.view.queue_bytes(Port(candidates[way])));
        }
        *memory = Remembered::default();
        for (port, (way, _)) in memory.ports[..self.m].iter_mut().zip(best.ways()) {
            *port = Some(candidates[*way]);
        }
        Way(best.ways()[0].0 as u16)
    }
}

/// The shortest queues sampled, shortest first, as (way, bytes).
#[derive(Clone, Copy, Debug)]
pub struct Best {
    ways: [(usize, u64); MOST_M],
    len: usize,
    room: usize,
}

impl Best {
    /// Creates a memory of `m` ports, but at least one.
    pub fn new(m: usize) -> Self {
        Best { ways: [(0, 0); MOST_M], len: 0, room: m.clamp(1, MOST_M) }
    }

    /// The next queue sampled: placed behind all of equal length.
    #[inline]
    pub fn offer(&mut self, way: usize, bytes: u64) {
        if self.ways().iter().any(|(known, _)| *known == way) {
            return;
        }
        let at = self.ways().iter().position(|(_, other)| bytes < *other).unwrap_or(self.len);
        if at >= self.room {
            return;
        }
        self.len = (self.len + 1).min(self.room);
        self.ways[at..self.len].rotate_right(1);
        self.ways[at] = (way, bytes);
    }

    /// The queues kept.
    pub fn ways(&self) -> &[(usize, u64)] {
        &self.ways[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;

    #[test]
    fn only_a_strictly_shorter_queue_goes_before_another() {
        let mut best = Best::new(2);
        best.offer(4, 100);
        best.offer(1, 100);
        assert_eq!(best.ways(), [(4, 100), (1, 100)]);
        best.offer(2, 99);
        assert_eq!(best.ways(), [(2, 99), (4, 100)]);
        best.offer(4, 100);
        best.offer(3, 100);
        assert_eq!(best.ways(), [(2, 99), (4, 100)], "known or no shorter");
        let mut one = Best::new(0);
        one.offer(1, 5);
        one.offer(2, 4);
        assert_eq!(one.ways(), [(2, 4)], "without memory there still is a best");
    }
}
