//! Presto: flowcells of 64 KB, sent over all paths in turn by the sending host's virtual switch.
//!
//! He, Rozner, Agarwal, Felter, Carter, Akella, "Presto: edge-based load balancing for fast datacenter networks",
//! SIGCOMM 2015. Constants as PDLB compares against it: cells of 44 segments of 1460 B.
//!
//! | equation or rule | function |
//! |---|---|
//! | Presto Algorithm 1, flowcell creation | [`continues_cell`] |
//! | Presto §3.1, round robin over the paths | [`next_path`] |
//! | own: an order of its own for each flow | [`coprime_stride`] |
//!
//! | our word | the paper's |
//! |---|---|
//! | way, path | shadow MAC, spanning tree |
//! | flowcell | flowcell |
//!
//! Departures:
//! - No controller: paths have equal weights. The paper's controller prunes or weights trees after a failure only.
//! - No GRO change at the receiver (the PDLB paper mentions none), so reordering shows as duplicate acknowledgements.
//! - Only data is cut into cells; acknowledgements are left to the fabric, as a cell of 44 pure acknowledgements is no
//!   64 KB. Algorithm 1 counts bytes; `count = "bytes"` does, `"packets"` is the PDLB paper's 44 segments. With full
//!   segments of 1460 B the two cut at the same packets.
//! - The first path is drawn at random per flow, so that equal flows do not march in step.

use crate::{About, AtHost, Aware, Compared, Cx, Kind, Needs, Packet, Policy, Rng, Way};

crate::choice! {
    /// What a flowcell's size is counted in.
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

crate::params! {
    /// Presto's parameters.
    Config {
        /// Flowcell size, data packets (PDLB: 64 KB = 44 segments of 1460 B).
        flowcell_packets: u32 = 44, Allowed::Integer { min: 1.0, max: 1e9 };
        /// Flowcell size, payload bytes, when `count` is "bytes" (Presto: the largest TSO segment).
        flowcell_bytes: u32 = 65_536, Allowed::Integer { min: 1.0, max: 1e9 };
        /// What cells are counted in.
        count: Count = Count::Packets, Allowed::Words(Count::WORDS);
        /// Order of rotation (Presto §3.1: round robin).
        order: Order = Order::Ascending, Allowed::Words(Order::WORDS);
    }
}

/// Row per flow: the flowcell being sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// Packets or bytes of it already sent.
    pub sent: u32,
    /// Its path.
    pub path: u16,
    /// Step to the next path; 0: the flow has sent nothing yet.
    pub stride: u16,
}

/// Flowcells in turn over all paths.
#[derive(Clone, Copy, Debug)]
pub struct Presto {
    count: Count,
    order: Order,
    size: u32,
}

impl Policy for Presto {
    const ABOUT: About = About {
        name: "presto",
        summary: "flowcells of 64 KB over all paths of the pair in turn, chosen by the sending host",
        source: "He et al., SIGCOMM 2015",
        unit: "flowcell",
        tiers: &["host"],
        told: &["paths to each leaf"],
        series: &[],
    };
    const COMPARED: Option<Compared> = Some(Compared {
        aware: Aware::No,
        senses: &[],
        state: "per flow, at the host",
        needs: Needs::Hosts,
        order: "a flowcell stays on its path",
        pick: "O(1)",
        update: "–",
    });
    type Site = AtHost;
    type Config = Config;
    type Flow = Cell;
    type Peer = ();
    type Route = ();
    type Port = ();
    type Node = ();
    type Header = ();

    fn new(config: &Config) -> Self {
        let size = match config.count {
            Count::Packets => config.flowcell_packets,
            Count::Bytes => config.flowcell_bytes,
        };
        Presto { count: config.count, order: config.order, size }
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, cell: &mut Cell, packet: &Packet, _: &mut ()) -> Way {
        let paths = cx.view.ways_to_host(packet.dst);
        if packet.kind != Kind::Data || paths == 0 {
            return Way::ANY;
        }
        let amount = match self.count {
            Count::Packets => 1,
            Count::Bytes => packet.payload,
        };
        if cell.stride == 0 {
            *cell = first_cell(cx.rng, paths, self.order);
        } else if !continues_cell(cell.sent, amount, self.size) {
            cell.path = next_path(cell.path, cell.stride, paths);
            cell.sent = 0;
        }
        cell.sent = cell.sent.saturating_add(amount);
        // The number of paths may have shrunk since the cell began.
        Way(if cell.path < paths { cell.path } else { cell.path % paths })
    }
}

/// The start of a flow: a random path, and the step of its rotation.
fn first_cell(rng: &mut Rng, paths: u16, order: Order) -> Cell {
    let path = rng.below(paths as u32) as u16;
    let stride = match order {
        Order::Ascending => 1,
        Order::Strided => coprime_stride(rng.below(paths as u32) as u16, paths),
    };
    Cell { sent: 0, path, stride }
}

/// Does a packet of `amount` still belong to a cell that holds `sent` of at most `size`? An empty cell takes any packet.
// Presto Algorithm 1: a new cell iff bytecount + len > threshold.
#[inline]
pub const fn continues_cell(sent: u32, amount: u32, size: u32) -> bool {
    sent == 0 || sent.saturating_add(amount) <= size
}

/// The path of the next cell.
// Presto §3.1: round robin.
#[inline]
pub const fn next_path(path: u16, stride: u16, paths: u16) -> u16 {
    ((path as u32 + stride as u32) % paths as u32) as u16
}

/// The first number from `from` upwards, round 1..=n, that shares no factor with `n`.
pub const fn coprime_stride(from: u16, n: u16) -> u16 {
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
mod tests {
    use super::*;

    #[test]
    fn cells_of_64_kb_hold_44_full_segments() {
        let (mut sent, mut packets) = (0, 0);
        while continues_cell(sent, 1460, 65_536) {
            sent += 1460;
            packets += 1;
        }
        assert_eq!(packets, Config::default().flowcell_packets);
    }

    #[test]
    fn a_packet_larger_than_a_cell_is_a_cell() {
        assert!(continues_cell(0, 9000, 4000));
        assert!(!continues_cell(9000, 1, 4000));
    }

    #[test]
    fn every_stride_goes_through_all_paths_once() {
        for paths in 1..=40u16 {
            for from in 0..=paths {
                let stride = coprime_stride(from, paths);
                let (mut path, mut seen) = (0, 0u64);
                for _ in 0..paths {
                    seen |= 1 << path;
                    path = next_path(path, stride, paths);
                }
                assert_eq!(seen.count_ones(), paths as u32, "{paths} paths, stride {stride}");
            }
        }
    }
}
