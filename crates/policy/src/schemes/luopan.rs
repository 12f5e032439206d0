//! Luopan: cells of 64 KB, each on the shortest of a few paths that the leaf samples at random every period.
//!
//! Wang, Trimponias, Xu, Geng, "Luopan: sampling-based load balancing in data center networks", IEEE TPDS 30(1), 2019.
//! The only sources available were its abstract and PDLB's description: cells as in Presto, a few paths to each
//! destination switch sampled periodically, cells to the least congested of them, two samples suffice. Everything else
//! is our own choice, as noted below.
//!
//! | rule | function |
//! |---|---|
//! | each period, a few random paths to each destination leaf are sampled | `tick` |
//! | a sample adds up the queues along its path | [`Luopan::go_on`] |
//! | its answer carries the path and the sum to the leaf that asked | [`Luopan::hear`], [`Sampled::answered`] |
//! | a cell of 64 KB goes to the shortest sampled | [`Luopan::at_source`] |
//!
//! | our word | the paper's |
//! |---|---|
//! | leaf | edge switch, destination switch |
//! | cell | flowcell |
//! | sample | probe of one path |
//!
//! **Where it sits, what is measured.** At the source leaf, with the help of every switch. A sample is a packet of 64
//! bytes. Each switch adds the bytes queued at the port through which it forwards the sample, as found; the last leaf
//! sends the sum back by any path. A leaf's knowledge is therefore at least as old as that round trip, and up to a
//! period older.
//!
//! **Paths.** A sample draws its port at each switch that has a choice and notes it; a cell's packets carry the notes of
//! the path they should take, in bits that an overlay has to spare (`header_bytes = 0`). In a leaf-spine the first
//! choice is the path.
//!
//! Our own choices, where the sources are silent:
//! - The period: 100 µs, about two cells at 10 Gbps. Queue length: bytes, the sum along the path (`measure`).
//! - Samples go to all leaves that this one has ever sent to. Paths of one round differ in their first hop.
//! - A round's answers replace those of the round before as they come; between equal queues the first answer counts.
//! - Before the first answer a cell's path is drawn at random.
//!
//! Departures:
//! - The cell is cut by the leaf, in payload bytes of the flow; Presto's are cut by the sending host. Acknowledgements
//!   are cells of their own, by their bytes on the wire. Packets of no flow go as new cells do.
//! - Nothing here restores the order of cells; `transport.resequencing` does at receivers, as Presto's hosts would.

use crate::fabric::draw::draw;
use crate::{
    AtSwitch, Aware, Compared, Cx, Device, Hooks, Kind, Layout, Listed, Message, Needs, Packet, Peers, Phase, Policy,
    Port, Quantity, Rule, Sees, Shape, Sheet, Sight, Span, Tier, To, Way, Wire, sees::quantity,
};

crate::choice! {
    /// The measure of the queues along a path.
    Measure {
        /// Their sum.
        Sum = "sum",
        /// The longest of them.
        Longest = "longest",
    }
}

crate::params! {
    /// Luopan's parameters.
    Config {
        /// Paths d sampled towards each leaf in a period, or every first hop if there are fewer (general knowledge of
        /// the paper and its abstract: 2).
        samples: u32 = 2, Allowed::Integer { min: 1.0, max: 16.0 };
        /// Period of the samples, microseconds (own choice).
        period_us: f64 = 100.0, Allowed::Number { min: 1.0, max: 1e6 };
        /// A cell, bytes of payload (PDLB on Luopan: the greatest TSO size, 64 KB).
        cell_bytes: f64 = 65_536.0, Allowed::Number { min: 1.0, max: 1e12 };
        /// How the queues along a path are combined (own choice).
        measure: Measure = Measure::Sum, Allowed::Words(Measure::WORDS);
        /// A sample or its answer on the wire, bytes (own choice: a minimum-size packet).
        sample_bytes: u32 = 64, Allowed::Integer { min: 64.0, max: 1500.0 };
        /// Bytes charged to every packet that crosses the fabric (own choice: none, the path is in an overlay's label).
        header_bytes: u32 = 0, Allowed::Integer { min: 0.0, max: 64.0 };
    }
}

/// The most choices of a path that are recorded; beyond them packets are hashed.
const MOST: usize = 6;

/// A path: the port taken at the first switch, and at each further one that has a choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Path {
    ports: [u16; MOST],
    len: u8,
}

impl Path {
    /// Records the next choice, if there is room.
    pub fn note(&mut self, port: u16) {
        if let Some(room) = self.ports.get_mut(usize::from(self.len)) {
            *room = port;
            self.len += 1;
        }
    }

    /// The choices, in order.
    pub fn ports(&self) -> &[u16] {
        &self.ports[..usize::from(self.len).min(MOST)]
    }

    /// Encodes.
    fn put(&self) -> [u8; PATH] {
        let mut bytes = [0; PATH];
        bytes[0] = self.len;
        for (pair, port) in bytes[1..].chunks_exact_mut(2).zip(self.ports) {
            pair.copy_from_slice(&port.to_le_bytes());
        }
        bytes
    }

    /// Decodes.
    fn get(bytes: &[u8; PATH]) -> Path {
        let mut path = Path { ports: [0; MOST], len: bytes[0] };
        for (port, pair) in path.ports.iter_mut().zip(bytes[1..].chunks_exact(2)) {
            *port = u16::from_le_bytes([pair[0], pair[1]]);
        }
        path
    }
}

/// In-band header: the path, and how many of its choices have been made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The path that the packet should take; empty before its first switch.
    pub path: Path,
    /// Choices made.
    pub made: u8,
    /// Bytes charged.
    pub charged: u8,
}

impl Wire for Header {
    #[inline]
    fn get(bytes: &[u8; 16]) -> Self {
        let path = bytes.first_chunk().map_or_else(Path::default, Path::get);
        Header { path, made: bytes[PATH], charged: bytes[PATH + 1] }
    }

    #[inline]
    fn put(&self, bytes: &mut [u8; 16]) {
        bytes[..PATH].copy_from_slice(&self.path.put());
        (bytes[PATH], bytes[PATH + 1]) = (self.made, self.charged);
    }

    #[inline]
    fn wire(&self) -> u32 {
        self.charged.into()
    }
}

/// Message class of a sample in transit.
pub const SAMPLE: u8 = 0;
/// Message class of its answer.
pub const ANSWER: u8 = 1;

/// Bytes of a path.
const PATH: usize = 1 + 2 * MOST;
/// Bytes of a body.
pub const BODY: usize = 20 + PATH;

/// Body of a sample and of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The leaf that asks.
    pub from: u32,
    /// The leaf that requests it.
    pub to: u32,
    /// Number of the round.
    pub round: u32,
    /// The sum of the queues so far, bytes.
    pub queue: u64,
    /// The path so far.
    pub path: Path,
}

impl Sample {
    /// Encodes.
    pub fn put(self) -> [u8; BODY] {
        let mut body = [0; BODY];
        body[..4].copy_from_slice(&self.from.to_le_bytes());
        body[4..8].copy_from_slice(&self.to.to_le_bytes());
        body[8..12].copy_from_slice(&self.round.to_le_bytes());
        body[12..20].copy_from_slice(&self.queue.to_le_bytes());
        body[20..].copy_from_slice(&self.path.put());
        body
    }

    /// Decodes; none if it is not a sample.
    pub fn get(body: &[u8]) -> Option<Sample> {
        let (head, rest) = body.split_first_chunk::<20>()?;
        let path = Path::get(rest.try_into().ok()?);
        let number = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let queue = u64::from(number(12)) | u64::from(number(16)) << 32;
        let fits = usize::from(path.len) <= MOST;
        fits.then_some(Sample { from: number(0), to: number(4), round: number(8), queue, path })
    }
}

/// Row per leaf: the shortest path sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sampled {
    /// Whether anything has been sent there.
    pub met: bool,
    /// The path; empty if none has been reported yet.
    pub path: Path,
    /// Bytes queued along it.
    pub queue: u64,
    /// The round it belongs to.
    pub round: u32,
}

impl Sampled {
    /// A sample came back.
    pub fn answered(&mut self, sample: &Sample) {
        let first = self.path.ports().is_empty() || sample.round > self.round;
        if first || (sample.round == self.round && sample.queue < self.queue) {
            *self = Sampled { met: true, path: sample.path, queue: sample.queue, round: sample.round };
        }
    }
}

/// Row per flow and direction: its cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// Bytes sent of it.
    pub sent: u64,
    /// Its path.
    pub path: Path,
}

/// Cells on the shortest of the sampled paths.
#[derive(Clone, Copy, Debug)]
pub struct Luopan {
    samples: usize,
    period: Span,
    cell: u64,
    measure: Measure,
    sample_bytes: u32,
    header_bytes: u8,
}

crate::listed! {
    /// The rule that gave a packet its way.
    enum Why: Rule {
        GoesOn = Rule::Keeps("the cell continues"),
        Sampled = Rule::Chooses("a new cell: the shortest path of the latest samples"),
        Drawn = Rule::Chooses("a new cell, and no sample has come back: a path drawn at random"),
        Marked = Rule::Follows("the path was chosen at the first switch"),
    }

    /// Quantities of a flow that it considers.
    enum OfFlow: Quantity {
        Sent = quantity("cell_sent", "bytes", "bytes of the cell sent before this packet"),
        SampledQueue = quantity("sampled_queue", "bytes", "total of the queues on the shortest path sampled"),
    }

    /// Quantities of a candidate that it considers.
    enum OfWay: Quantity {
        Sampled = quantity("sampled", "", "1: the shortest path sampled starts here"),
    }
}

impl Policy for Luopan {
    const SHEET: Sheet = Sheet {
        name: "luopan",
        summary: "each cell of 64 KB on the shortest of a few paths that its leaf samples every period",
        source: "Wang et al., IEEE TPDS 2019",
        unit: "flowcell",
        told: &["leaf of every host"],
        compared: Some(Compared {
            aware: Aware::Shared,
            senses: &["queues along a few random paths, from samples"],
            state: "per flow and per leaf, at leaves",
            needs: Needs::Switches,
            order: "a cell stays on its path",
            pick: "O(n), to find its port in the group",
            update: "O(d) per leaf and period",
        }),
        sees: Sees { rules: Why::ALL, flow: OfFlow::ALL, way: OfWay::ALL, ..Sees::NOTHING },
        ..Sheet::AT_SWITCH
    };
    const HOOKS: Hooks = Hooks::MESSAGE.and(Hooks::TICK);
    type Site = AtSwitch;
    type Config = Config;
    crate::rows! { flow: Cell, peer: Sampled, node: u32, header: Header }

    fn new(config: &Config) -> Self {
        Luopan {
            samples: config.samples as usize,
            period: Span::from_us_f64(config.period_us),
            cell: config.cell_bytes as u64,
            measure: config.measure,
            sample_bytes: config.sample_bytes,
            header_bytes: config.header_bytes as u8,
        }
    }

    fn header_bytes(&self) -> u32 {
        u32::from(self.header_bytes)
    }

    fn layout(&self, shape: &Shape) -> Layout {
        let samples = if shape.tier == Tier::Leaf { self.samples * shape.leaves as usize } else { 1 };
        Layout {
            peers: Peers::Leaves,
            all_peers: true,
            tick: if shape.tier == Tier::Leaf { self.period } else { Span::ZERO },
            phase: Phase::Random,
            actions: samples,
            bytes: BODY * samples,
            ..Layout::default()
        }
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, cell: &mut Cell, packet: &Packet, header: &mut Header) -> Way {
        if cx.view.is_first_leaf(packet) {
            let path = self.at_source(cx, cell, packet);
            *header = Header { path, made: 0, charged: self.header_bytes };
        }
        let noted = header.path.ports().get(usize::from(header.made));
        header.made = header.made.saturating_add(1);
        let way = noted.and_then(|&port| cx.view.way_of(port));
        Way(way.map_or_else(|| packet.spread(cx.view.salt, cx.view.candidates.len() as u32) as u16, |way| way as u16))
    }

    fn sees(&self, cx: &Cx<'_, Self>, cell: &Cell, packet: &Packet, sight: &mut Sight<'_>) {
        if !cx.view.is_first_leaf(packet) {
            sight.rule(Why::Marked);
            return;
        }
        let sampled = cx.peers.here().0;
        sight.flow(OfFlow::Sent, cell.sent as f64);
        if let Some(first) = sampled.path.ports().first() {
            sight.flow(OfFlow::SampledQueue, sampled.queue as f64);
            for (way, port) in cx.view.candidates.iter().enumerate() {
                sight.way(way, OfWay::Sampled, f64::from(port == first));
            }
        }
        sight.rule(match sampled.path.ports() {
            _ if self.goes_on(cell, packet) => Why::GoesOn,
            [] => Why::Drawn,
            _ => Why::Sampled,
        });
    }

    fn tick(&self, cx: &mut Cx<'_, Self>) {
        *cx.node = cx.node.wrapping_add(1);
        for to in 0..cx.peers.len() as u32 {
            let view = cx.view;
            let routes = view.towards(to);
            if !cx.peers.at(to as usize).0.met || routes.is_empty() {
                continue;
            }
            let (drawn, many) = draw(cx.rng, routes.len(), self.samples);
            for &way in &drawn[..many] {
                let mut sample = Sample { from: view.switch, to, round: *cx.node, queue: 0, path: Path::default() };
                sample.path.note(routes[way]);
                self.send_on(cx, routes[way], sample);
            }
        }
    }

    fn message(&self, cx: &mut Cx<'_, Self>, _: Option<&mut Cell>, message: &Message<'_>) {
        let Some(sample) = Sample::get(message.body) else { return };
        let leaves = cx.peers.len() as u32;
        if sample.from >= leaves || sample.to >= leaves {
            return;
        }
        match message.class {
            SAMPLE if sample.to == cx.view.switch => {
                cx.out.send(To::Leaf(sample.from), ANSWER, None, Way::ANY, &sample.put(), self.sample_bytes);
            }
            SAMPLE => self.go_on(cx, sample),
            ANSWER => self.hear(cx, message.from, &sample),
            _ => {}
        }
    }
}

impl Luopan {
    /// The path of a packet at its first switch: that of its cell, or of a new one.
    #[inline]
    fn at_source(&self, cx: &mut Cx<'_, Self>, cell: &mut Cell, packet: &Packet) -> Path {
        let (sampled, _) = cx.peers.current();
        sampled.met = true;
        if !self.goes_on(cell, packet) {
            let mut path = sampled.path;
            if path.ports().is_empty() {
                path.note(cx.view.candidates[cx.rng.below(cx.view.candidates.len() as u32) as usize]);
            }
            *cell = Cell { sent: 0, path };
        }
        cell.sent += bytes_of(packet);
        cell.path
    }

    /// Whether the packet belongs to the cell of its flow.
    #[inline]
    fn goes_on(&self, cell: &Cell, packet: &Packet) -> bool {
        let of_flow = matches!(packet.kind, Kind::Data | Kind::Ack);
        of_flow && cell.sent > 0 && cell.sent + bytes_of(packet) <= self.cell
    }

    /// Sends a sample on towards its leaf, by a way drawn at random.
    fn go_on(&self, cx: &mut Cx<'_, Self>, mut sample: Sample) {
        let view = cx.view;
        let routes = view.towards(sample.to);
        let port = match routes {
            [] => return,
            // If there is no choice, none will be requested.
            &[port] => port,
            _ => {
                let port = routes[cx.rng.below(routes.len() as u32) as usize];
                sample.path.note(port);
                port
            }
        };
        self.send_on(cx, port, sample);
    }

    /// Sends a sample by `port`, whose queue it adds.
    fn send_on(&self, cx: &mut Cx<'_, Self>, port: u16, sample: Sample) {
        let own = cx.view.queue_bytes(Port(port));
        let queue = match self.measure {
            Measure::Sum => sample.queue.saturating_add(own),
            Measure::Longest => sample.queue.max(own),
        };
        let body = Sample { queue, ..sample }.put();
        cx.out.send(To::Port(Port(port)), SAMPLE, None, Way::ANY, &body, self.sample_bytes);
    }

    /// An answer comes back to the leaf that asked.
    fn hear(&self, cx: &mut Cx<'_, Self>, from: Device, sample: &Sample) {
        let ours = sample.from == cx.view.switch && from == Device::Switch(sample.to) && sample.round <= *cx.node;
        if ours && !sample.path.ports().is_empty() {
            cx.peers.at(sample.to as usize).0.answered(sample);
        }
    }
}

/// Bytes that a packet adds to its cell.
#[inline]
fn bytes_of(packet: &Packet) -> u64 {
    u64::from(if packet.kind == Kind::Data { packet.payload } else { packet.wire })
}
