//! Presto: flowcells of 64 KB, sent over all paths in turn by the sending host's virtual switch.
//!
//! He, Rozner, Agarwal, Felter, Carter, Akella, "Presto: edge-based load balancing for fast datacenter networks",
//! SIGCOMM 2015. Constants as in PDLB's comparison: cells of 44 segments of 1460 B. In the preset `ns3-hermes` cells of
//! 10 segments of 1400 B, as in the public ns-3 code of Hermes, and two more rules of that code: a host cuts
//! acknowledgements into cells as it does data (`acks = "cells"`), and a flow starts anywhere in a round, so that its
//! first cell has any length up to a full one (`first_cell = "any"`).
//!
//! | equation or rule | function |
//! |---|---|
//! | Presto Algorithm 1, flowcell creation | [`continues_cell`] |
//! | Presto §3.1, round robin over the paths | [`next_path`] |
//! | Presto §3.3, paths weighted by their rates as given by the controller | [`Cell::turn`], [`is_due`] |
//! | the ns-3 code's weights: shorter cells on slower paths | [`cell_size`] |
//! | own: a separate order for each flow | [`coprime_stride`] |
//!
//! | our word | the paper's |
//! |---|---|
//! | way, path | shadow MAC, spanning tree |
//! | flowcell | flowcell |
//!
//! Departures:
//! - The controller is the operator: it gives each host the rates of the paths to each rack once, before the run
//!   ([`crate::HostView::rate_to_host`]). `weights = "cells"` gives a path full-size cells in proportion to its rate:
//!   the paper's labels that appear several times in the rotation. `"cell_sizes"` gives it one cell in every round,
//!   with a length in proportion to its rate, as in the public ns-3 code of Hermes (a fifth of the rate, a fifth of the
//!   packets). `"equal"`, the default, is the paper's before a failure.
//! - The receiver's change to GRO is not part of the scheme: `transport.resequencing` holds packets back. It is off by
//!   default (the PDLB paper mentions none), so reordering shows as duplicate acknowledgements.
//! - Only data is cut into cells by default; acknowledgements are left to the fabric, because a cell of 44 pure
//!   acknowledgements is not 64 KB. Algorithm 1 counts bytes; `count = "bytes"` does, `"packets"` is the PDLB paper's
//!   44 segments. With full segments of 1460 B the two cut at the same packets.
//! - The first path is drawn at random per flow, so that equal flows do not move in lockstep.

use crate::Way;
use crate::{
    AtHost, Aware, Compared, Cx, HostView, Kind, Layout, Listed, Needs, Packet, Policy, Quantity, Rng, Rule, Sees,
    Shape, Sheet, Sight, sees::quantity,
};

crate::choice! {
    /// The unit of a flowcell's size.
    Count {
        /// Data packets.
        Packets = "packets",
        /// Payload bytes.
        Bytes = "bytes",
    }
}

crate::choice! {
    /// The order in which a flow goes round the paths.
    Order {
        /// The next path by number.
        Ascending = "ascending",
        /// Steps of a length drawn per flow, coprime to the number of paths: every path once a round, and two flows
        /// seldom in the same order.
        Strided = "strided",
    }
}

crate::choice! {
    /// The use of the given rates of paths.
    Weights {
        /// None: all paths alike.
        Equal = "equal",
        /// Slower paths get fewer cells.
        Cells = "cells",
        /// Slower paths get shorter cells.
        CellSizes = "cell_sizes",
    }
}

crate::choice! {
    /// The device that chooses the paths of acknowledgements.
    Acks {
        /// The fabric.
        Fabric = "fabric",
        /// The host, in cells of their own.
        Cells = "cells",
    }
}

crate::choice! {
    /// The length of a flow's first cell.
    FirstCell {
        /// Like any other.
        Full = "full",
        /// Any length up to that, all equally likely.
        Any = "any",
    }
}

crate::params! {
    /// Presto's parameters.
    Config {
        /// Flowcell size, data packets (PDLB: 64 KB = 44 segments of 1460 B).
        flowcell_packets: u32 = 44, Allowed::Integer { min: 1.0, max: 1e9 };
        /// Flowcell size, payload bytes, if `count` is "bytes" (Presto: the largest TSO segment).
        flowcell_bytes: u32 = 65_536, Allowed::Integer { min: 1.0, max: 1e9 };
        /// The unit that cells are counted in.
        count: Count = Count::Packets, Allowed::Words(Count::WORDS);
        /// Order of rotation (Presto §3.1: round robin).
        order: Order = Order::Ascending, Allowed::Words(Order::WORDS);
        /// How the given path rates are used: not at all, as fewer cells on slower paths (Presto's weights after a
        /// failure), or as shorter cells there (public ns-3 code of Hermes).
        weights: Weights = Weights::Equal, Allowed::Words(Weights::WORDS);
        /// Who chooses the paths of acknowledgements: the fabric, or the host in cells (public ns-3 code of Hermes).
        acks: Acks = Acks::Fabric, Allowed::Words(Acks::WORDS);
        /// Length of a flow's first cell: full, or any length up to that (public ns-3 code of Hermes).
        first_cell: FirstCell = FirstCell::Full, Allowed::Words(FirstCell::WORDS);
    }
}

/// Row per flow: the flowcell being sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// Packets or bytes of it already sent.
    pub sent: u32,
    /// Its path.
    pub path: u16,
    /// Its maximum in packets or bytes.
    pub size: u32,
    /// Step to the next path; 0: the flow has sent nothing yet.
    pub stride: u16,
    /// Paths passed, including those that were not due: counts rounds for weights.
    pub turn: u32,
}

/// Flowcells in turn over all paths.
#[derive(Clone, Copy, Debug)]
pub struct Presto {
    count: Count,
    order: Order,
    weights: Weights,
    acks: Acks,
    first_cell: FirstCell,
    size: u32,
}

crate::listed! {
    /// The rule that gave a packet its way.
    enum Why: Rule {
        GoesOn = Rule::Keeps("the flowcell is not full: it continues"),
        First = Rule::Chooses("the flow's first packet: a path drawn at random"),
        Full = Rule::Chooses("the flowcell is full: the next path in turn"),
    }

    /// Quantities of a flow that it considers.
    enum OfFlow: Quantity {
        Sent = quantity("cell_sent", "packets or bytes", "part of this flowcell sent so far, in units of count"),
        Size = quantity("cell_size", "packets or bytes", "size of a full flowcell"),
    }

    /// Quantities of a candidate that it considers.
    enum OfWay: Quantity {
        Weight = quantity("weight", "", "its rate as given, as a share of the fastest path's, if weights are in use"),
    }
}

impl Policy for Presto {
    const SHEET: Sheet = Sheet {
        name: "presto",
        summary: "flowcells of 64 KB over all paths of a pair in turn, chosen by the sending host",
        source: "He et al., SIGCOMM 2015",
        unit: "flowcell",
        told: &["paths to each leaf", "rate of each path (weights)"],
        compared: Some(Compared {
            aware: Aware::No,
            senses: &[],
            state: "per flow, at the host",
            needs: Needs::Hosts,
            order: "a flowcell stays on its path",
            pick: "O(1)",
            update: "–",
        }),
        sees: Sees { rules: Why::ALL, flow: OfFlow::ALL, way: OfWay::ALL, ..Sees::NOTHING },
        ..Sheet::AT_HOST
    };
    type Site = AtHost;
    type Config = Config;
    crate::rows! { flow: Cell }

    fn new(config: &Config) -> Self {
        let size = match config.count {
            Count::Packets => config.flowcell_packets,
            Count::Bytes => config.flowcell_bytes,
        };
        let Config { count, order, weights, acks, first_cell, .. } = *config;
        Presto { count, order, weights, acks, first_cell, size }
    }

    fn layout(&self, _: &Shape) -> Layout {
        let picks_acks = self.acks == Acks::Cells;
        Layout { path_rates: self.weights != Weights::Equal, picks_acks, ..Layout::default() }
    }

    fn sees(&self, cx: &Cx<'_, Self>, cell: &Cell, packet: &Packet, sight: &mut Sight<'_>) {
        let amount = self.amount(packet);
        sight.rule(match cell.stride {
            0 => Why::First,
            _ if continues_cell(cell.sent, amount, cell.size) => Why::GoesOn,
            _ => Why::Full,
        });
        if cell.stride > 0 {
            sight.flow(OfFlow::Sent, f64::from(cell.sent));
            sight.flow(OfFlow::Size, f64::from(cell.size));
        }
        if self.weights != Weights::Equal {
            for path in 0..cx.view.ways_to_host(packet.dst) {
                sight.way(usize::from(path), OfWay::Weight, weight(&cx.view, packet.dst, path) as f64 / ONE as f64);
            }
        }
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, cell: &mut Cell, packet: &Packet, _: &mut ()) -> Way {
        let paths = cx.view.ways_to_host(packet.dst);
        let is_own = packet.kind == Kind::Data || (packet.kind == Kind::Ack && self.acks == Acks::Cells);
        if !is_own || paths == 0 {
            return Way::ANY;
        }
        let amount = self.amount(packet);
        let weight = |path| weight(&cx.view, packet.dst, path);
        let fresh = cell.stride == 0;
        if fresh {
            *cell = first_cell(cx.rng, paths, self.order);
            if self.weights != Weights::Equal {
                draw_by_weight(cell, cx.rng, paths, weight);
            }
        }
        let over = !continues_cell(cell.sent, amount, cell.size);
        if over {
            match self.weights {
                Weights::Cells => cell.turn(paths, weight),
                Weights::Equal | Weights::CellSizes => cell.path = next_path(cell.path, cell.stride, paths),
            }
            cell.sent = 0;
        }
        if fresh || over {
            cell.size = match self.weights {
                Weights::CellSizes => cell_size(self.size, weight(cell.path)),
                Weights::Equal | Weights::Cells => self.size,
            };
        }
        if fresh && self.first_cell == FirstCell::Any {
            cell.sent = cx.rng.below(cell.size);
        }
        cell.sent = cell.sent.saturating_add(amount);
        // The number of paths may have shrunk since the cell began.
        Way(if cell.path < paths { cell.path } else { cell.path % paths })
    }
}

impl Presto {
    /// Returns how much of a cell a packet takes.
    #[inline]
    fn amount(&self, packet: &Packet) -> u32 {
        match self.count {
            Count::Packets => 1,
            Count::Bytes => packet.payload,
        }
    }
}

/// The weight of the fastest path.
pub(crate) const ONE: u64 = 1 << 16;

/// The configured rate of a path to `host`, as a share of the fastest one's, in [`ONE`]ths.
fn weight(view: &HostView<'_>, host: u32, path: u16) -> u64 {
    let most = (0..view.ways_to_host(host)).map(|path| view.rate_to_host(host, path)).max().unwrap_or(1).max(1);
    (u128::from(view.rate_to_host(host, path)) * u128::from(ONE) / u128::from(most)) as u64
}

impl Cell {
    /// Moves on to the next path that is due by its weight. The fastest is due in every round.
    // Presto §3.3: labels of a path as often in the round as its weight says, here evenly over many rounds.
    pub fn turn(&mut self, paths: u16, weight: impl Fn(u16) -> u64) {
        for _ in 0..paths {
            self.path = next_path(self.path, self.stride, paths);
            self.turn = self.turn.wrapping_add(1);
            if is_due(u64::from(self.turn / u32::from(paths)), weight(self.path)) {
                return;
            }
        }
    }
}

/// Whether a path of this weight is due in this round. Over any number of rounds it is due as often as its weight says,
/// to within one.
#[inline]
pub const fn is_due(round: u64, weight: u64) -> bool {
    (round + 1) * weight / ONE > round * weight / ONE
}

/// The size of a cell on a path of this weight: at least 1.
#[inline]
pub(crate) const fn cell_size(size: u32, weight: u64) -> u32 {
    let size = (size as u64 * weight + ONE / 2) / ONE;
    if size == 0 { 1 } else { size as u32 }
}

/// Draws the first path by weight, and its round, so that short flows do not all avoid slow paths.
fn draw_by_weight(cell: &mut Cell, rng: &mut Rng, paths: u16, weight: impl Fn(u16) -> u64) {
    let total: u64 = (0..paths).map(&weight).sum();
    let mut left = ((u128::from(rng.bits()) * u128::from(total)) >> 64) as u64;
    cell.path = 0;
    while cell.path + 1 < paths && left >= weight(cell.path) {
        left -= weight(cell.path);
        cell.path += 1;
    }
    cell.turn = rng.below(1 << 20);
}

/// The start of a flow: a random path, and the step of its rotation.
fn first_cell(rng: &mut Rng, paths: u16, order: Order) -> Cell {
    let path = rng.below(paths as u32) as u16;
    let stride = match order {
        Order::Ascending => 1,
        Order::Strided => coprime_stride(rng.below(paths as u32) as u16, paths),
    };
    Cell { sent: 0, size: 0, path, stride, turn: 0 }
}

/// Whether a packet of `amount` still belongs to a cell that holds `sent` of at most `size`. An empty cell takes any
/// packet.
// Presto Algorithm 1: a new cell iff bytecount + len > threshold.
#[inline]
pub(crate) const fn continues_cell(sent: u32, amount: u32, size: u32) -> bool {
    sent == 0 || sent.saturating_add(amount) <= size
}

/// The path of the next cell.
// Presto §3.1: round robin.
#[inline]
pub(crate) const fn next_path(path: u16, stride: u16, paths: u16) -> u16 {
    ((path as u32 + stride as u32) % paths as u32) as u16
}

/// The first number from `from` upwards, wrapping within 1..=n, that shares no factor with `n`.
pub(crate) const fn coprime_stride(from: u16, n: u16) -> u16 {
    let mut stride = if from == 0 || from > n { 1 } else { from };
    while greatest_common_divisor(stride, n) != 1 {
        stride = if stride >= n { 1 } else { stride + 1 };
    }
    stride
}

const fn greatest_common_divisor(a: u16, b: u16) -> u16 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests;
