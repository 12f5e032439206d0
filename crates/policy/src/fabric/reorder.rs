//! The destination leaf's half: holds packets that overtook the TAIL of their flow in a reorder queue of its output
//! port, until the TAIL has come or should have come. ConWeave and SELB share it (SELB §III: reordering as in
//! ConWeave).
//!
//! # How a scheme uses it
//! - its `Header` is [`Header`], written by its own `pick`;
//! - its flow row has room for a [`Row`] (a flow's row at a leaf is either a source's or a destination's, so an enum
//!   serves), its port row for an [`InUse`];
//! - its series come after [`Points`]; its `Layout` has `queues: queues(n)` at leaves, `flow_idle` at
//!   most 0.2 s, at least [`ACTIONS`] actions and [`BYTES`] bytes, `peers: Peers::Leaves`;
//! - its hooks call [`Rules::arrives`] from `ingress` (data packets only), [`Rules::expires`] from `timer` for
//!   `Key::Flow(_, TIMER)` and [`Rules::drained`] from `drained`;
//! - its `message` hook, at the source leaf, gets [`CLEAR`](header::CLEAR) and
//!   [`NO_QUEUE`](header::NO_QUEUE) with a [`Body`] and the flow's row; a body of another epoch than the row's
//!   is stale.
//!
//! What it requires of the source: epochs of a flow follow one another; the packets of an epoch are of phase 0 on one
//! path, of which the last may be marked [`Mark::Tail`], then of phase 1 (`rerouted`) on another; no next epoch before
//! CLEAR has come, unless after a silence longer than any path's delay.
//!
//! | rule, as in conweave-ns3 | function |
//! |---|---|
//! | epochs: an older one passes, a newer one starts afresh | `Row::age` |
//! | phase 1 before TAIL is held; TAIL releases behind itself and is answered by CLEAR | [`Rules::arrives`] |
//! | TAIL expected at: last phase-0 arrival + (TAIL sent − it sent) + extra, or now + default + extra | `Rules::due` |
//! | expected and not come: released anyway | [`Rules::expires`] |
//! | no queue: this epoch's packets pass, out of order | `Rules::early` |
//!
//! Departures:
//! - Which of two epochs is newer is read off the times their packets were sent, not off the counter, which may wrap
//!   and starts again when a row was forgotten.
//! - A newer epoch that finds packets of an older one still held (the flow fell silent, its TAIL is lost or very late)
//!   joins them at their end and releases them. conweave-ns3 lets it overtake them.
//! - conweave-ns3 puts released packets into the port's queue at once, 1 ns after the TAIL. Here the queue resumes
//!   behind the queued packets and goes before later ones, so they leave in the same order; but their queue is not free
//!   before it has drained, and while held they take up buffer.
//!
//! With [`NewEpoch::Overtakes`] and [`Release::Late`] the last two are as in conweave-ns3: a TAIL sets the flow's timer to
//! 1 ns later.

pub mod header;

use crate::{Key, Out, Packet, Port, Queue, Series, Span, SwitchView, Time, Verdict, sees::series};
pub use header::{Body, Header, Mark};
use header::{CLEAR, NO_QUEUE, Stamp, microseconds};

/// The flow timer that this half arms; a scheme's own are numbered from 1.
pub const TIMER: u8 = 0;

/// Most actions of one call.
pub(crate) const ACTIONS: usize = 12;

/// Most message bytes of one call.
pub const BYTES: usize = 2 * header::BODY;

/// Held queues per port in place of "unlimited": more flows held at one host's port at one instant have not been seen
/// in any workload here, and `no_queue` would report it. A queue costs 48 bytes per port.
pub const UNLIMITED: u16 = 1024;

/// `Layout::queues` for a parameter that gives their number, 0 for no limit.
pub fn queues(parameter: u32) -> u16 {
    if parameter == 0 { UNLIMITED } else { parameter.min(u32::from(UNLIMITED)) as u16 }
}

crate::listed! {
    /// The first series of every scheme that uses this half.
    pub(crate) enum Points: Series {
        ReorderQueues = series("reorder_queues", "reorder queues in use at a port, after one was allocated"),
        HeldUs = series("held_us", "microseconds from the first packet held to the release of its queue"),
        HeldPackets = series("held_packets", "packets that a released queue had held"),
        EarlyUs = series("early_us", "microseconds by which the first packet held arrived before its TAIL"),
        EarlyMeanUs = series("early_mean_us", "the same, mean of the packets held in one queue"),
        Clears = series("clears", "1 for every TAIL that arrived and was answered by CLEAR"),
        Timeouts = series("timeouts", "microseconds held, for queues released by the prediction instead of the TAIL"),
        NoQueue = series("no_queue", "1 for every reroute whose first early packet found no free queue"),
        OutOfOrder = series(
            "out_of_order",
            "1 for every packet that passed before its TAIL, because no queue was free or after a timeout",
        ),
        DrainedQueues = series("drained_queues", "reorder queues still in use at a port, after one has drained"),
    }
}

/// Part of a port's row: how many reorder queues of the port are in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InUse(pub u16);

/// The state of the current epoch's TAIL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// No TAIL has come, and nothing that overtook it.
    #[default]
    Waiting,
    /// No TAIL has come; packets that overtook it are held here.
    Holding(Port, Queue),
    /// No TAIL has come, but packets that overtake it pass: there was no queue, or the time was up.
    Passing,
    /// The TAIL has come.
    Cleared,
}

/// A flow's row at its destination leaf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// When the first packet of this epoch that was seen here was sent.
    seen: Stamp,
    /// Last phase-0 packet of the epoch: arrival time minus sending time (by the two leaves' own clocks).
    lag: Stamp,
    /// When the TAIL was sent, according to phase-1 packets.
    tail: Stamp,
    /// When the first held packet arrived.
    since: Time,
    /// Sum over the held packets of how much later than the first they arrived.
    later: Span,
    /// Packets held.
    held: u32,
    order: Order,
    epoch: u8,
    known: bool,
    sampled: bool,
    /// The TAIL has come, and the held packets go a little later ([`Release::Late`]).
    tailed: bool,
}

const _: () = assert!(size_of::<Row>() <= 56, "with a tag it must fit 64 bytes");

/// A packet's epoch against its row's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Age {
    Older,
    Present,
    Newer,
}

/// The storage lent to the half in addition to rows: the parts of `Cx` it needs.
pub struct Place<'a, 'v, 'o> {
    /// The current time.
    pub now: Time,
    /// The leaf's view of itself.
    pub view: SwitchView<'v>,
    /// The requested actions.
    pub out: &'a mut Out<'o>,
}

/// The parameters of this half.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Waited beyond the time at which a TAIL is expected.
    pub extra_flush: Span,
    /// Waited, before the extra, for a TAIL whose path is unknown.
    pub default_wait: Span,
    /// Bytes of a control packet on the wire.
    pub control_bytes: u32,
    /// Whether the source leaf is notified when no queue was free.
    pub tell_no_queue: bool,
    /// How a newer epoch treats held packets of the last one.
    pub new_epoch: NewEpoch,
    /// When a TAIL releases the packets that overtook it.
    pub release: Release,
}

crate::choice! {
    /// The reaction of a newer epoch that finds packets of the last one still held.
    NewEpoch {
        /// It joins them at their end and releases them.
        Joins = "joins",
        /// It overtakes them (conweave-ns3).
        Overtakes = "overtakes",
    }
}

crate::choice! {
    /// When a TAIL releases the packets that overtook it.
    Release {
        /// At once.
        AtTail = "at_tail",
        /// At the flow's timer 1 ns later, and phase 1 is held until then; a packet of phase 0 puts off the timer of a
        /// TAIL that has not come (conweave-ns3).
        Late = "late",
    }
}

impl Rules {
    /// A data packet from leaf `leaf` at the last leaf of its path. `in_use` belongs to the port it will leave by.
    pub fn arrives(
        &self,
        at: &mut Place<'_, '_, '_>,
        in_use: &mut InUse,
        row: &mut Row,
        leaf: u32,
        packet: &Packet,
        header: &Header,
    ) -> Verdict {
        if !header.stamped {
            return Verdict::Forward;
        }
        let mut joins = None;
        match row.age(header) {
            Age::Older => return Verdict::Forward,
            Age::Present if header.tx.since(row.seen) > 0 => row.seen = header.tx,
            Age::Present => {}
            Age::Newer => {
                let before = *row;
                *row = Row { seen: header.tx, epoch: header.epoch, known: true, ..Row::default() };
                if let Order::Holding(_, queue) = before.order {
                    match self.new_epoch {
                        NewEpoch::Joins => {
                            self.release(at, &before, packet);
                            joins = Some(queue);
                        }
                        NewEpoch::Overtakes => {
                            let Row { tail, since, later, held, order, .. } = before;
                            *row = Row { tail, since, later, held, order, ..*row };
                        }
                    }
                }
            }
        }
        if header.rerouted {
            row.tail = header.tail;
            return self.early(at, in_use, row, leaf, packet, header);
        }
        (row.lag, row.sampled) = (Stamp::of(at.now).shifted(header.tx, Stamp::default()), true);
        if header.mark == Mark::Tail {
            self.tail(at, row, leaf, packet, header);
        } else if let Order::Holding(..) = row.order {
            let due = match self.release {
                Release::AtTail => self.due(row, at.now),
                Release::Late => self.due(row, at.now).max(at.now + self.extra_flush),
            };
            at.out.arm(Key::Flow(packet.flow, TIMER), due);
        }
        joins.map_or(Verdict::Forward, Verdict::Hold)
    }

    /// The flow's timer is due: the TAIL should have come, or it has and the packets it held back go now.
    pub fn expires(&self, at: &mut Place<'_, '_, '_>, row: &mut Row) {
        if let Order::Holding(port, queue) = row.order {
            if !row.tailed {
                at.out.record(Points::Timeouts, microseconds(row.since, at.now));
            }
            record_held(at, row);
            at.out.release(port, queue);
            row.order = if row.tailed { Order::Cleared } else { Order::Passing };
        }
    }

    /// A released queue of this port has emptied.
    pub fn drained(&self, at: &mut Place<'_, '_, '_>, in_use: &mut InUse) {
        in_use.0 = in_use.0.saturating_sub(1);
        at.out.record(Points::DrainedQueues, f64::from(in_use.0));
    }

    /// A packet of phase 1.
    fn early(
        &self,
        at: &mut Place<'_, '_, '_>,
        in_use: &mut InUse,
        row: &mut Row,
        leaf: u32,
        packet: &Packet,
        header: &Header,
    ) -> Verdict {
        match row.order {
            Order::Cleared => Verdict::Forward,
            Order::Passing => {
                at.out.record(Points::OutOfOrder, 1.0);
                Verdict::Forward
            }
            Order::Holding(_, queue) => {
                row.held = row.held.saturating_add(1);
                row.later += at.now.since(row.since);
                Verdict::Hold(queue)
            }
            Order::Waiting => {
                let Some(queue) = at.view.free_queue(packet.out_port) else {
                    // conweave-p4: to the default queue, as the rest of the epoch. SELB §II-B: ECMP as a fallback.
                    row.order = Order::Passing;
                    at.out.record(Points::NoQueue, 1.0);
                    at.out.record(Points::OutOfOrder, 1.0);
                    if self.tell_no_queue {
                        Body::about(header).send(at.out, leaf, NO_QUEUE, packet.flow, self.control_bytes);
                    }
                    return Verdict::Forward;
                };
                row.order = Order::Holding(packet.out_port, queue);
                (row.since, row.later, row.held, row.tailed) = (at.now, Span::ZERO, 1, false);
                in_use.0 += 1;
                at.out.record(Points::ReorderQueues, f64::from(in_use.0));
                at.out.arm(Key::Flow(packet.flow, TIMER), self.due(row, at.now));
                Verdict::Hold(queue)
            }
        }
    }

    /// Handles the TAIL: packets that overtook it go behind it, and the source may reroute again.
    fn tail(&self, at: &mut Place<'_, '_, '_>, row: &mut Row, leaf: u32, packet: &Packet, header: &Header) {
        if let Order::Holding(..) = row.order {
            at.out.record(Points::EarlyUs, microseconds(row.since, at.now));
            let mean = Span(row.later.0 / u64::from(row.held));
            at.out.record(Points::EarlyMeanUs, microseconds(row.since + mean, at.now));
            match self.release {
                Release::AtTail => self.release(at, row, packet),
                Release::Late => {
                    row.tailed = true;
                    at.out.arm(Key::Flow(packet.flow, TIMER), at.now + Span::from_ns(1));
                }
            }
        }
        if !(self.release == Release::Late && matches!(row.order, Order::Holding(..))) {
            row.order = Order::Cleared;
        }
        at.out.record(Points::Clears, 1.0);
        Body::about(header).send(at.out, leaf, CLEAR, packet.flow, self.control_bytes);
    }

    fn release(&self, at: &mut Place<'_, '_, '_>, row: &Row, packet: &Packet) {
        if let Order::Holding(port, queue) = row.order {
            record_held(at, row);
            at.out.cancel(Key::Flow(packet.flow, TIMER));
            at.out.release(port, queue);
        }
    }

    /// Returns when the TAIL should have come. If early packets come after that: at once.
    fn due(&self, row: &Row, now: Time) -> Time {
        let expected =
            if row.sampled { row.tail.shifted(Stamp::default(), row.lag).near(now) } else { now + self.default_wait };
        (expected + self.extra_flush).max(now)
    }
}

impl Row {
    /// Everything of a newer epoch was sent after everything of an older one. An epoch's INIT is its first packet, so a
    /// later INIT belongs to a newer epoch even if the numbers agree, as they may after a row was forgotten.
    fn age(&self, header: &Header) -> Age {
        let after = header.tx.since(self.seen);
        let same = self.epoch == header.epoch;
        if !self.known || after > 0 && (!same || header.mark == Mark::Init) {
            Age::Newer
        } else if same {
            Age::Present
        } else {
            Age::Older
        }
    }

    /// Whether the row is at an epoch after this packet's.
    pub(crate) fn is_beyond(&self, header: &Header) -> bool {
        self.age(header) == Age::Older
    }

    /// The state of the current epoch's TAIL.
    pub fn order(&self) -> Order {
        self.order
    }
}

fn record_held(at: &mut Place<'_, '_, '_>, row: &Row) {
    at.out.record(Points::HeldUs, microseconds(row.since, at.now));
    at.out.record(Points::HeldPackets, f64::from(row.held));
}
