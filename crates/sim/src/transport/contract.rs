//! What a transport is: a sending end, a receiving end, and the facts that the engine requests.
//!
//! An end is given the current time and what arrived. It says in plain values what to send, what it learnt and when it
//! must be woken. It keeps no clock and no timer, draws no random number, and knows neither hosts nor links. The host
//! builds packets from what the end says, plans its timers and keeps the record of the flow.
//!
//! A flow is sent on one *path* or on several (the subflows of MPTCP, the queue pairs of a split message), counted from 0.
//! Transports with one path ignore the argument.

use super::Frame;
use super::resequencer::Rules;
use crate::ids::FlowId;
use crate::rider::Rider;
use spinewise_policy::time::{Span, Time};

/// A transport, as the registry lists it.
pub trait Transport {
    /// Its parameters, shared by all flows.
    type Config;
    /// The sending end of a flow.
    type Sender: Sender<Config = Self::Config>;
    /// The receiving end of a flow.
    type Receiver: Receiver<Config = Self::Config>;

    /// What the engine asks of it once.
    fn facts(config: &Self::Config) -> Facts;

    /// What receivers hold back below it, if anything.
    fn resequencing(_: &Self::Config) -> Option<Rules> {
        None
    }
}

/// What a transport declares about itself.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// The order in which flows send at a NIC.
    pub order: Order,
    /// What its packets are on the wire.
    pub protocol: Protocol,
    /// Its flows open with a handshake.
    pub opens: bool,
    /// The bytes on the wire of the packet that closes a connection, if there is one.
    pub closing: Option<u16>,
    /// Receivers hold data back below it.
    pub resequences: bool,
    /// How receivers pace their senders, if they do.
    pub credit: Option<CreditPacing>,
    /// An answer returns with the path tag of the packet that it answers.
    pub returns_tags: bool,
    /// What the sender of a message has learnt is kept for the next message of its connection ([`Sender::follow`]).
    pub keeps_connections: bool,
    /// A NIC changes a sender by looking at it ([`Sender::looked_at`]).
    pub looks_change: bool,
    /// Its windows begin small and double each round trip.
    pub starts_slowly: bool,
    /// The number of in-order packets that one acknowledgement answers.
    pub answers_every: u32,
    /// It does not resend a packet of which it has heard nothing within this time.
    pub patience: Span,
}

/// How the receivers of a host pace their senders: with packets that grant credit, one after another.
#[derive(Clone, Copy, Debug)]
pub struct CreditPacing {
    /// The share of the host's rate that is granted.
    pub share: f64,
    /// The least fraction of that, where receivers adapt to the fabric; 1: they do not.
    pub least: f64,
}

/// Does a sender request credit, or is it given some because no other sender does?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    /// It asks.
    Yes,
    /// It does not.
    No,
}

/// A receiver's place in its host's queues after it has granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// Behind the others whose senders ask.
    Asks,
    /// Behind those whose senders do not.
    Idles,
    /// In no queue.
    Leaves,
}

/// A packet that grants credit.
#[derive(Clone, Debug)]
pub struct Grant {
    /// The grant, as an answer to nothing.
    pub answer: Answer,
    /// What it carries.
    pub told: Told,
    /// Its own entropy value, if it has one.
    pub value: Option<u16>,
    /// Quanta of 256 bytes that it grants.
    pub quanta: u64,
    /// Where its receiver is now.
    pub after: After,
}

/// In which order the flows of a host send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Round-robin: a flow that has sent goes to the end.
    Round,
    /// In turns by number; a flow held back by its pacing keeps its place.
    Turns,
    /// Round-robin, with answers waiting for the line as data does: ten of them go for each packet of data.
    RoundWithControl,
}

/// What packets are on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// RoCEv2.
    Roce,
    /// Ultra Ethernet's packet delivery, over UDP.
    Uet,
}

/// A flow that starts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Start {
    /// The current time.
    pub now: Time,
    /// The number of the flow.
    pub flow: FlowId,
    /// What its random draws are mixed with: its number; for a subflow, its place in the connection.
    pub salt: u32,
    /// Its bytes.
    pub size: u64,
    /// Its number of paths.
    pub paths: usize,
    /// The rate of its NIC, bits per second.
    pub rate: u64,
    /// Switches that its packets pass on a shortest path.
    pub hops: u32,
    /// The round trip of a full packet and its answer on the longest path of the empty fabric.
    pub base_rtt: Span,
    /// The sizes of packets.
    pub frame: Frame,
    /// The message before it on its connection, if what that message has learnt is kept.
    pub after: Option<FlowId>,
}

#[cfg(test)]
impl Start {
    /// A flow of `size` bytes, with defaults for everything else.
    pub(crate) fn sized(size: u64) -> Start {
        Start { size, ..Start::default() }
    }
}

/// The sending end of a flow.
pub trait Sender: Sized {
    /// See [`Transport::Config`].
    type Config;

    /// A sender that has sent nothing.
    fn new(config: &Self::Config, start: &Start) -> Self;

    /// The time from which it may send; [`Time::NEVER`] if it has nothing that may go.
    fn may_send_from(&self, config: &Self::Config) -> Time;

    /// The time from which its pacing lets it send what it has left, whatever its window says; none if it has nothing
    /// left or no pacing.
    fn paced_from(&self) -> Option<Time> {
        None
    }

    /// Its NIC looks at it, having called [`Self::may_send_from`]. Is there anything left to send?
    fn looked_at(&mut self, _config: &Self::Config) -> bool {
        true
    }

    /// Takes what is to be sent at `now`, as [`Self::may_send_from`] allows.
    fn next(&mut self, config: &Self::Config, now: Time) -> Option<Outgoing>;

    /// An answer arrived. `option` gives the option it carries, empty if none.
    fn on_answer<'a>(
        &mut self,
        config: &Self::Config,
        now: Time,
        path: usize,
        answer: &Answer,
        option: impl FnOnce() -> &'a [u8],
    ) -> Answered;

    /// This many flows of its host wait for the NIC, itself included. Called only for transports whose receivers pace.
    fn share(&mut self, _waiting: usize) {}

    /// When its timer of this path expires, if it runs.
    fn deadline(&self, path: usize) -> Option<Time>;

    /// That timer has expired. Returns the first byte that waited for it in vain, unless this kind of timer gives up
    /// nothing.
    fn on_timeout(&mut self, config: &Self::Config, now: Time, path: usize) -> Option<u64>;

    /// What goes at once, beside data: called until there is nothing more, after its timer has expired.
    fn beside(&mut self, _config: &Self::Config, _now: Time) -> Option<Outgoing> {
        None
    }

    /// All of its message is acknowledged, and the next message of its connection will begin with what it has learnt:
    /// everything else is dropped.
    fn rest(&mut self) {}

    /// Begins with what the previous message on the same connection has learnt; that message may still be under way.
    fn follow(&mut self, _before: &Self) {}

    /// Does anything on this path have to be closed?
    fn is_open(&self, _path: usize) -> bool {
        true
    }

    /// Adds what it has counted.
    fn account(&self, counts: &mut Counts);
}

/// The receiving end of a flow.
pub trait Receiver: Sized {
    /// See [`Transport::Config`].
    type Config;

    /// The receiver of a flow of `size` bytes, none of which has arrived.
    fn new(config: &Self::Config, size: u64) -> Self;

    /// Data arrived. `option` gives the option it carries, empty if none.
    fn on_data<'a>(
        &mut self,
        config: &Self::Config,
        now: Time,
        path: usize,
        data: &Arrival,
        option: impl FnOnce() -> &'a [u8],
    ) -> Received;

    /// Data arrived of a flow of `size` bytes that is complete and fully acknowledged: its sender has missed that.
    fn late<'a>(config: &Self::Config, size: u64, data: &Arrival, option: impl FnOnce() -> &'a [u8]) -> Received;

    /// When its timer of this path expires, if it runs.
    fn deadline(&self, _path: usize) -> Option<Time> {
        None
    }

    /// That timer has expired. Returns what to answer.
    fn on_timeout(&mut self, _config: &Self::Config, _now: Time, _path: usize) -> Option<(Answer, Option<Told>)> {
        None
    }

    /// It is its turn to grant credit to its sender.
    fn grant(&mut self, _config: &Self::Config, _asks: Asks) -> Option<Grant> {
        None
    }

    /// Has it finished, now that all data is here or that it has had a turn to grant?
    fn is_over(&self, _config: &Self::Config) -> bool {
        true
    }

    /// The bytes on the wire of the answer to a handshake packet; 0 for transports that have none.
    fn welcome(_config: &Self::Config, _path: usize, _greeting: &Arrival) -> u16 {
        0
    }
}

/// What a sender sends.
#[derive(Clone, Debug)]
pub enum Outgoing {
    /// Data of a flow with one path and without options.
    Data(Data),
    /// Data with an option, on one of the paths of the flow, from 0.
    OnPath(usize, Data, Rider),
    /// A packet without payload that asks for an answer.
    Question {
        /// The first byte asked about.
        seq: u64,
        /// Bytes on the wire.
        wire: u16,
        /// `URGENT`: it goes before data; `ECT`: it goes with data, and may be marked.
        flags: u8,
        /// Its option, empty if none.
        option: Rider,
    },
    /// A handshake packet.
    Greeting {
        /// On this path.
        path: usize,
        /// Bytes on the wire.
        wire: u16,
        /// `SYN`, `RETRANSMIT`, as in packets.
        flags: u8,
        /// It opens the connection: data follows at once.
        follows: bool,
    },
}

impl Outgoing {
    /// The path it takes, if there are several.
    #[inline(always)]
    pub fn path(&self) -> usize {
        match self {
            Outgoing::Data(_) | Outgoing::Question { .. } => 0,
            Outgoing::OnPath(path, ..) | Outgoing::Greeting { path, .. } => *path,
        }
    }
}

/// A packet of data.
// Ordered so that no two fields are adjacent both here and in a packet: read together, they would stall on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Data {
    /// Its first byte.
    pub seq: u64,
    /// Its bytes of payload.
    pub len: u16,
    /// `ECT`, `RETRANSMIT`, `CWR`, `URGENT`, as in packets.
    pub flags: u8,
    /// Its bytes on the wire.
    pub wire: u16,
}

/// Data, or a handshake packet, that arrives.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrival {
    /// Its first byte.
    pub seq: u64,
    /// Its bytes of payload; 0 for a handshake packet.
    pub len: u32,
    /// Its CE mark.
    pub ce: bool,
    /// CWR: its sender has reduced the window (RFC 3168).
    pub cwr: bool,
    /// When it was sent.
    pub stamp: Time,
    /// Whether its bytes had been sent before.
    pub retransmit: bool,
    /// Whether it opens a connection.
    pub syn: bool,
    /// Whether its receiver is to answer at once.
    pub urgent: bool,
    /// Where a switch has cut its payload off, if one has.
    pub trimmed: Option<TrimmedAt>,
    /// Anything that the caller needs echoed.
    pub tag: u32,
}

/// Where a packet lost its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrimmedAt {
    /// At the port of its destination.
    LastHop,
    /// Before that.
    Inside,
}

impl Arrival {
    /// One past its last byte.
    #[inline]
    pub fn end(&self) -> u64 {
        self.seq + u64::from(self.len)
    }
}

/// An answer to data, as it leaves the receiver and reaches the sender. Anything more that an answer reports travels in
/// an option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The next byte the receiver expects.
    pub cumulative: u64,
    /// When the packet it answers was sent.
    pub echo: Time,
    /// That packet's tag, for the caller alone.
    pub echo_tag: u32,
    /// Whether that packet was a retransmission.
    pub echo_retransmit: bool,
    /// ECN-Echo: with DCTCP, whether the packets it answers were CE-marked; with RFC 3168, whether one was since the last
    /// CWR; with RDMA, whether the packet it answers was.
    pub ece: bool,
    /// A bit shared by two protocols: with RDMA, something before the newest packet is missing; with TCP, the answer is
    /// to a SYN.
    pub nack_or_syn: bool,
    /// Congestion notification (DCQCN).
    pub cnp: bool,
}

impl Answer {
    /// The answer to `data` when the receiver expects byte `cumulative` next.
    #[inline]
    pub fn to(data: &Arrival, cumulative: u64) -> Answer {
        Answer {
            cumulative,
            echo: data.stamp,
            echo_tag: data.tag,
            echo_retransmit: data.retransmit,
            ece: data.ce,
            ..Answer::default()
        }
    }
}

/// The option of an answer.
#[derive(Clone, Debug)]
pub struct Told {
    /// The option as it travels.
    pub option: Rider,
    /// The bytes it takes on the wire.
    pub wire: u16,
}

/// The effect of data at its receiver.
#[derive(Clone, Debug, Default)]
pub struct Received {
    /// The answers to send, in order; a change of the CE state can need two.
    pub answers: [Option<Answer>; 2],
    /// The option that each of them carries.
    pub told: Option<Told>,
    /// A byte beyond this packet was already here. This also holds for packets that bring nothing new.
    pub out_of_order: bool,
    /// The last missing byte of the flow has just arrived.
    pub completed: bool,
    /// Bytes that were not here before.
    pub new_bytes: u64,
    /// Its sender is to be granted credit from now on.
    pub asks: bool,
}

/// The effect of an answer at its sender.
#[derive(Clone, Copy, Debug)]
pub enum Answered {
    /// Nothing: the answer is not for what is there now.
    Ignored,
    /// The path it came on is now open, or credit has come: more may be sent.
    Opened,
    /// It says how far data has arrived.
    Acked(Acked),
    /// A packet was trimmed, and will be sent again.
    Trimmed(TrimmedAt),
}

/// See [`Answered::Acked`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Acked {
    /// Bytes acknowledged for the first time.
    pub newly_acked: u64,
    /// It was the third duplicate in a row.
    pub dupack3: bool,
    /// Everything is now acknowledged.
    pub done: bool,
}

/// What a sender has counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Data packets sent, retransmissions included.
    pub packets: u32,
    /// Data packets sent again.
    pub retransmits: u32,
    /// Expiries of the retransmission timer, that of the SYN included.
    pub timeouts: u32,
    /// Fast retransmits.
    pub fast_retransmits: u32,
    /// Times a third duplicate acknowledgement arrived.
    pub dupack3_events: u32,
    /// Data packets sent again that had arrived, as far as DSACK reported.
    pub spurious_retransmits: u32,
    /// NACKs.
    pub nacks: u32,
    /// CNPs.
    pub cnps: u32,
}
