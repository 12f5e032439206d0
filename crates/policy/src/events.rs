//! What a hook is told, and what `ingress` answers.

use crate::{Device, FlowKey, Port, Queue, Span, Way};

/// What became of a flow, a path or a probe: input to [`Policy::feedback`](crate::Policy::feedback).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Feedback {
    /// The way it concerns ([`Way::ANY`] when none or unknown).
    pub way: Way,
    /// The flow it concerns, if any.
    pub flow: Option<FlowKey>,
    /// What happened.
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
        /// How long that data packet was under way, by the receiver's clock, which is in step: in steps of 256 ns, at
        /// most 16.8 ms. Where the host's own NIC queues, that wait is in it.
        one_way: Span,
        /// The acknowledgement carries the ECN echo. With DCTCP and RDMA the data packet it answers was marked; with
        /// `transport.kind = "ecn"` that one or one before: the receiver repeats the echo until the sender's CWR has
        /// come (RFC 3168, section 6.1.3), so one mark shows on the acknowledgements of about a round trip.
        marked: bool,
    },
    /// A packet sent on `way` has lost its payload to a full queue, and will be sent again.
    Trimmed {
        /// The queue was that of the destination: no other path would have helped.
        last_hop: bool,
        /// The packet had been marked before.
        marked: bool,
    },
    /// A segment sent on `way` is taken as lost and sent again.
    Retransmit,
    /// The retransmission timer expired; `way` is that of the oldest outstanding segment.
    Timeout,
    /// A probe came back.
    ProbeReply {
        /// There and back.
        rtt: Span,
        /// There only, by the stamp of the answering device.
        one_way: Span,
        /// The probe was marked on its way there.
        marked: bool,
        /// Who answered: the destination, or with a TTL the switch that counted it down.
        by: Device,
        /// The port by which it got the probe, as answers to traceroute name an interface; 0 of a host.
        port: Port,
    },
    /// No answer within `give_up`.
    ProbeLost,
}

impl Event {
    /// Is it a loss, which only schemes that list [`Hooks::LOSS`](crate::Hooks::LOSS) are told of?
    #[inline]
    pub const fn is_loss(&self) -> bool {
        matches!(self, Event::Retransmit | Event::Timeout)
    }
}

/// A message between schemes, a packet with a body that took bandwidth and time.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// Who sent it.
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
    /// The link works, but at less than the rate it was built for.
    Degraded,
}

/// What is to become of an arriving packet: the answer of [`Policy::ingress`](crate::Policy::ingress).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// Carry on.
    #[default]
    Forward,
    /// Park it in this held queue of its output port until released. From this answer on the queue is taken, even if the
    /// packet finds no room, until it has been released and [`Policy::drained`](crate::Policy::drained) was called.
    Hold(Queue),
    /// It was for the scheme; it goes no further.
    Consume,
}
