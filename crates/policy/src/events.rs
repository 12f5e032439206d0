//! The events a hook receives, and the answers of `ingress`.

use crate::{Device, FlowKey, Port, Queue, Span, Way};

/// The fate of a flow, a path or a probe: input to [`Policy::feedback`](crate::Policy::feedback).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Feedback {
    /// The way it concerns ([`Way::ANY`] when none or unknown).
    pub way: Way,
    /// The flow it concerns, if any.
    pub flow: Option<FlowKey>,
    /// The event.
    pub event: Event,
}

/// The kinds of [`Feedback`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// A flow of `size` bytes starts.
    FlowStart {
        /// Bytes to send.
        size: u64,
    },
    /// All data of a flow has been acknowledged, or, for UDP, sent (even if there was none).
    FlowEnd,
    /// An acknowledgement arrived; `way` is the path its data packet took.
    Ack {
        /// Bytes newly acknowledged (zero for a duplicate).
        bytes: u64,
        /// Round-trip time by the echoed timestamp.
        rtt: Span,
        /// One-way delay of that data packet, by the receiver's synchronized clock: in steps of 256 ns, at most 16.8
        /// ms. If the host's own NIC queues, that wait is included.
        one_way: Span,
        /// The acknowledgement carries the ECN echo. With DCTCP and RDMA the data packet it answers was marked; with
        /// `transport.kind = "ecn"` that one or an earlier one: the receiver repeats the echo until the sender's CWR
        /// arrives (RFC 3168, section 6.1.3), so one mark shows on the acknowledgements of about a round trip.
        marked: bool,
    },
    /// A packet sent on `way` has lost its payload to a full queue and will be retransmitted.
    Trimmed {
        /// The queue was the destination's: no other path would have helped.
        last_hop: bool,
        /// The packet had been marked before.
        marked: bool,
    },
    /// A segment sent on `way` is considered lost and is retransmitted.
    Retransmit,
    /// The retransmission timer expired; `way` is that of the oldest outstanding segment.
    Timeout,
    /// A probe came back.
    ProbeReply {
        /// Round-trip time.
        rtt: Span,
        /// One-way time, by the timestamp of the answering device.
        one_way: Span,
        /// The probe was marked on its way out.
        marked: bool,
        /// The device that answered: the destination, or with a TTL the switch at which it expired.
        by: Device,
        /// The port where it received the probe, as traceroute answers name an interface; 0 for a host.
        port: Port,
    },
    /// No answer within `give_up`.
    ProbeLost,
}

impl Event {
    /// Whether it is a loss, which is reported only to schemes that list [`Hooks::LOSS`](crate::Hooks::LOSS).
    #[inline]
    pub const fn is_loss(&self) -> bool {
        matches!(self, Event::Retransmit | Event::Timeout)
    }
}

/// A message between schemes, a packet with a body that took bandwidth and time.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// The sender.
    pub from: Device,
    /// The scheme's own message class.
    pub class: u8,
    /// The flow it names, if any; the shell has looked up its row.
    pub flow: Option<FlowKey>,
    /// The port it arrived at (switches).
    pub in_port: Port,
    /// Its bytes.
    pub body: &'a [u8],
}

/// A change of a link at one of this device's ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The link came up.
    Up,
    /// The link went down.
    Down,
    /// The link works, but below its nominal rate.
    Degraded,
}

/// The fate of an arriving packet: the answer of [`Policy::ingress`](crate::Policy::ingress).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// Carry on.
    #[default]
    Forward,
    /// Park it in this held queue of its output port until released. From this answer on, the queue is in use, even if
    /// the packet finds no room, until it has been released and [`Policy::drained`](crate::Policy::drained) has been
    /// called.
    Hold(Queue),
    /// The packet was for the scheme and goes no further.
    Consume,
}
