//! The links that a candidate leads over.

use crate::engine::Sim;
use crate::ids::{HostId, LinkId, NodeId, SwitchId};
use crate::packet::{Packet, Tags};
use crate::switch::{Seen, State};
use crate::topology::LinkSpec;
use spinewise_policy::{Hashes, Span, Tier, Time, Way};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The way in which a packet is routed after the choice.
#[derive(Clone, Copy, Debug)]
enum Beyond {
    /// Choices are yet to be made: any of the equal-cost ports.
    Any,
    /// Its path tag decides, which was written below this leaf.
    Tagged(SwitchId, Packet),
    /// A hash that is known decides.
    Hashed(Packet),
}

/// A candidate of a choice: where it begins, and how it continues.
#[derive(Clone, Copy)]
pub(super) struct Candidate<'a> {
    sim: &'a Sim<'a>,
    /// When the choice was made: routes and links may change during a run.
    at: Time,
    /// The switch at which the path begins, and its first port if that was the choice. The port may not be a candidate:
    /// it is where the previous packet went.
    from: (SwitchId, Option<[u16; 1]>),
    /// The destination's leaf, and the link from there to the destination.
    leaf: SwitchId,
    last: &'a LinkSpec,
    beyond: Beyond,
    wire: u64,
    /// Time from the device to where the path begins.
    access: Span,
}

/// The path of a candidate that would have been fastest for a packet under the actual conditions.
#[derive(Clone, Debug, Default)]
pub(super) struct Path {
    /// Its links, by number, with the observations of their ports.
    pub hops: Vec<(LinkId, Seen)>,
    /// Waiting in queues, each as it was, less the part that drains until the packet is there.
    pub queueing: Span,
    /// Transmission and propagation.
    pub travel: Span,
    /// Bits per second of its slowest link between switches.
    pub slowest: u64,
    /// Number of paths that the candidate covers; 0 where a switch on the way had no next hop. Its links end there.
    pub paths: u32,
    /// A switch on the way had no next hop.
    cut: bool,
}

impl Path {
    /// Whether all its links work.
    pub(super) fn is_open(&self) -> bool {
        !self.cut && self.hops.iter().all(|(_, seen)| seen.state != State::Down)
    }

    /// Returns how long it would have taken.
    pub(super) fn time(&self) -> u64 {
        self.queueing.0.saturating_add(self.travel.0)
    }

    fn rank(&self) -> (bool, u64) {
        (!self.is_open(), self.time())
    }
}

impl<'a> Candidate<'a> {
    /// Candidate `way` of `packet` at `node`, at this instant.
    pub(super) fn new(sim: &'a Sim<'a>, at: Time, node: NodeId, packet: &Packet, way: Way) -> Self {
        let topology = &sim.net.topology;
        let dst = HostId::new(packet.dst.number());
        let leaf = topology.home(dst).leaf;
        let (last, wire) = (topology.last_link(dst), u64::from(packet.wire));
        let candidate = |from, beyond, access| Candidate { sim, at, from, leaf, last, beyond, wire, access };
        let hashes = sim.world.fabric.hashes() == Hashes::Evenly;
        let Some(host) = topology.as_host(node) else {
            let beyond = if hashes { Beyond::Hashed(*packet) } else { Beyond::Any };
            return candidate((topology.switch_number(node), Some([way.0])), beyond, Span::ZERO);
        };
        let first = topology.leaf(host);
        let beyond = match sim.net.hashing.tags {
            Tags::Explicit => Beyond::Tagged(first, Packet { way, ..*packet }),
            Tags::Outer | Tags::Inner if hashes => Beyond::Hashed(Packet { way, ..*packet }),
            Tags::Outer | Tags::Inner => Beyond::Any,
        };
        candidate((first, None), beyond, crossing(sim, at, topology.out(node, 0), wire))
    }

    /// The ports of `switch` that a packet may take.
    fn ports(&self, switch: SwitchId) -> &[u16] {
        let (net, topology) = (&self.sim.net, &self.sim.net.topology);
        let row = net.faults.row(topology, switch, self.at);
        let all = topology.choices(row, self.leaf);
        let one = |at: usize| &all[at % all.len()..][..1];
        let hashed = |packet: &Packet| {
            let view = packet.view(&net.hashing, 0, 0);
            one(view.spread(net.switch_salt(switch), all.len() as u32) as usize)
        };
        if let (true, Some(port)) = (switch == self.from.0, &self.from.1) {
            return port;
        }
        match self.beyond {
            _ if all.is_empty() => all,
            Beyond::Any => all,
            Beyond::Tagged(from, packet) => {
                let (first, second) = topology.split(from, self.leaf, packet.way.0);
                let named = usize::from(if topology.tier(switch) == Tier::Leaf { first } else { second });
                // The same as in `Switch::tagged`.
                let before = topology.uplinks(switch, self.leaf);
                let still = before.get(named % before.len().max(1)).and_then(|port| all.iter().position(|p| p == port));
                still.map_or_else(|| hashed(&packet), one)
            }
            Beyond::Hashed(packet) => hashed(&packet),
        }
    }

    /// All ports that the candidate may lead over, as (switch, port).
    pub(super) fn places(&self, found: &mut BTreeSet<(SwitchId, u16)>) {
        let topology = &self.sim.net.topology;
        let (mut open, mut met) = (vec![self.from.0], BTreeSet::from([self.from.0]));
        while let Some(switch) = open.pop() {
            for &port in if switch == self.leaf { &[] } else { self.ports(switch) } {
                found.insert((switch, port));
                let next = topology.behind(switch, port);
                if met.insert(next) {
                    open.push(next);
                }
            }
        }
        found.insert((topology.switch_number(self.last.from.0), self.last.from.1));
    }

    /// The best path, by the observations `seen` at (switch, port): the one on which the packet would get through first
    /// if it set out now and nothing else came.
    // Reaching a switch sooner is never worse: its queue drains no faster than time passes.
    pub(super) fn best(&self, seen: &dyn Fn(SwitchId, u16) -> Seen) -> Path {
        let topology = &self.sim.net.topology;
        let start = Path { slowest: u64::MAX, travel: self.access, ..Path::default() };
        let mut reached = BTreeMap::from([(self.from.0, start)]);
        let mut open = VecDeque::from([self.from.0]);
        while let Some(switch) = open.pop_front() {
            let so_far = reached[&switch].clone();
            for &port in if switch == self.leaf { &[] } else { self.ports(switch) } {
                let link = topology.out(topology.switch_node(switch), port);
                let path = self.extended(&so_far, link, seen);
                let next = topology.switch_number(link.to.0);
                if reached.get(&next).is_none_or(|best| path.rank() < best.rank()) {
                    reached.insert(next, path);
                    open.push_back(next);
                }
            }
        }
        let Some(there) = reached.remove(&self.leaf) else {
            let farthest = reached.into_values().max_by_key(|path| path.hops.len()).unwrap_or_default();
            return Path { cut: true, ..farthest };
        };
        let slowest = there.slowest;
        Path { slowest, paths: self.count(self.from.0, &mut BTreeMap::new()), ..self.extended(&there, self.last, seen) }
    }

    /// A path with one more link.
    fn extended(&self, path: &Path, link: &LinkSpec, seen: &dyn Fn(SwitchId, u16) -> Seen) -> Path {
        let topology = &self.sim.net.topology;
        let found = seen(topology.switch_number(link.from.0), link.from.1);
        let number = topology.out_number(link.from.0, link.from.1);
        let works = link.up && !self.sim.net.faults.is_down(number, self.at);
        let hop = (number, Seen { state: if works { found.state } else { State::Down }, ..found });
        Path {
            hops: path.hops.iter().copied().chain([hop]).collect(),
            queueing: path.queueing + Span(found.wait.0.saturating_sub(path.time())),
            travel: path.travel + crossing(self.sim, self.at, link, self.wire),
            slowest: path.slowest.min(self.sim.net.faults.line(number, link, self.at).0),
            paths: 0,
            cut: path.cut,
        }
    }

    /// Number of paths from `switch` on; `known` holds the earlier counts.
    fn count(&self, switch: SwitchId, known: &mut BTreeMap<SwitchId, u32>) -> u32 {
        if switch == self.leaf {
            return 1;
        }
        if let Some(&count) = known.get(&switch) {
            return count;
        }
        // The port that the previous packet took may lead back here by now.
        known.insert(switch, 0);
        let topology = &self.sim.net.topology;
        let behind = |&port: &u16| topology.behind(switch, port);
        let count =
            self.ports(switch).iter().map(behind).fold(0u32, |n, next| n.saturating_add(self.count(next, known)));
        known.insert(switch, count);
        count
    }
}

/// Returns how long `wire` bytes take over a link in its state at this instant.
fn crossing(sim: &Sim<'_>, at: Time, link: &LinkSpec, wire: u64) -> Span {
    let number = sim.net.topology.out_number(link.from.0, link.from.1);
    let (rate, delay) = sim.net.faults.line(number, link, at);
    Span(sim.net.clock.tx_time(wire, rate)) + delay
}

/// Returns the observations of a switch's port for a choice made at `at`.
pub(super) fn seen(sim: &Sim<'_>, at: Time, (switch, port): (SwitchId, u16)) -> Seen {
    let looks = sim.switches[switch].looks.as_deref();
    looks.map_or(Seen::default(), |looks| looks.at(at, port))
}
