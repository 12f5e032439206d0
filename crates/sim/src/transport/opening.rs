//! Opening a connection, at the end that opens it: the three-way handshake of RFC 9293 §3.5.
//!
//! A SYN goes out at the start of the flow, and again after each timeout; the SYN-ACK brings the first round-trip
//! sample; its acknowledgement leaves right before the first data. The other end keeps no state: each SYN is answered
//! by a SYN-ACK, and a lost SYN-ACK is repaired by the next SYN. The state is in [`Opening`] until the first data may
//! go; then [`Opening::sender`] makes the sender, so a sender knows nothing of handshakes. [`Opened`] is the layer
//! around both: the sending end of a flow, whether its configuration asks for a handshake or not.

use super::Greeting;
use super::config::TcpConfig;
use super::contract::{Acked, Answer, Answered, Counts, Data, Outgoing, Sender, Start};
use super::sack::Sack;
use super::stream::Stream;
use super::tcp::{Segment, TcpSender};
use crate::packet::{CWR, ECT, RETRANSMIT, SYN, flag};
use spinewise_policy::time::{Span, Time};

/// A connection that is not open yet.
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    /// What is to be sent now.
    due: Option<Greeting>,
    /// When the next SYN is due, [`Time::NEVER`] if none is awaiting its answer.
    deadline: Time,
    /// Round-trip time of the SYN that was answered.
    rtt: Span,
    timeouts: u32,
    /// It joins a connection: its acknowledgement must be acknowledged before it is open.
    joins: bool,
}

impl Default for Opening {
    fn default() -> Self {
        let due = Some(Greeting::Syn { again: false });
        Opening { due, deadline: Time::NEVER, rtt: Span::ZERO, timeouts: 0, joins: false }
    }
}

impl Opening {
    /// A further subflow of an MPTCP connection (RFC 8684 §3.2), which waits for [`Self::begin`].
    pub fn joining() -> Self {
        Opening { due: None, joins: true, ..Opening::default() }
    }

    /// A subflow that waits may begin; any other has begun already.
    pub fn begin(&mut self) {
        if self.due.is_none() && self.deadline == Time::NEVER && self.rtt == Span::ZERO {
            self.due = Some(Greeting::Syn { again: false });
        }
    }

    /// Whether [`Self::next`] has something to send.
    pub fn may_send(&self) -> bool {
        self.due.is_some()
    }

    /// Takes what is to be sent at `now`, if anything.
    pub fn next(&mut self, config: &TcpConfig, now: Time) -> Option<Greeting> {
        let due = self.due.take();
        // RFC 8684 §3.2: the third packet of MP_JOIN is sent again until it is acknowledged.
        if matches!(due, Some(Greeting::Syn { .. })) || due == Some(Greeting::Ack) && self.joins {
            // RFC 6298 (5.5): doubled for each expiry, and (2.5) bounded.
            let timeout = config.syn_timeout.0.saturating_mul(1 << self.timeouts.min(40));
            self.deadline = now + Span(timeout.min(config.max_rto.0.max(config.syn_timeout.0)));
        }
        due
    }

    /// A SYN-ACK arrived; its SYN was sent `rtt` ago. Only the first one counts.
    pub fn on_syn_ack(&mut self, rtt: Span) {
        if self.rtt == Span::ZERO {
            self.rtt = Span(rtt.0.max(1));
            self.deadline = Time::NEVER;
            self.due = Some(Greeting::Ack);
        }
    }

    /// When the next SYN is due, while one awaits its answer.
    pub fn deadline(&self) -> Option<Time> {
        (self.deadline != Time::NEVER).then_some(self.deadline)
    }

    /// No answer came in time.
    pub fn on_timeout(&mut self) {
        self.deadline = Time::NEVER;
        self.timeouts += 1;
        let answered = self.rtt > Span::ZERO;
        self.due = Some(if answered { Greeting::Ack } else { Greeting::Syn { again: true } });
    }

    /// Is it open once [`Greeting::Ack`] has been sent?
    pub fn opens_at_once(&self) -> bool {
        !self.joins
    }

    /// An acknowledgement of [`Greeting::Ack`] arrived: is it open now?
    pub fn on_confirmed(&self) -> bool {
        self.joins && self.rtt > Span::ZERO
    }

    /// SYNs, and third packets of MP_JOIN, that timed out without an answer.
    pub fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// The sender of a flow over the connection, once [`Greeting::Ack`] has been sent.
    pub fn sender(&self, config: &TcpConfig, start: &Start) -> TcpSender {
        TcpSender::opened(config, start, self.rtt, self.timeouts)
    }
}

/// A sender behind the handshake of its connection, if it has one.
#[derive(Debug)]
pub enum Opened<S> {
    /// The connection is not open yet.
    Opening {
        /// The handshake.
        opening: Opening,
        /// The flow that will be sent over it.
        start: Start,
    },
    /// The connection is open, or needs no handshake.
    Open(S),
}

impl<S: Stream> Opened<S> {
    /// A sender without a handshake.
    pub fn at_once(config: &TcpConfig, start: &Start) -> Self {
        Opened::Open(S::over(config, TcpSender::new(config, start)))
    }

    /// The sender, once there is one.
    pub fn open(&self) -> Option<&S> {
        match self {
            Opened::Opening { .. } => None,
            Opened::Open(stream) => Some(stream),
        }
    }

    /// The same.
    pub fn open_mut(&mut self) -> Option<&mut S> {
        match self {
            Opened::Opening { .. } => None,
            Opened::Open(stream) => Some(stream),
        }
    }

    /// A waiting handshake may begin.
    pub fn begin(&mut self) {
        match self {
            Opened::Opening { opening, .. } => opening.begin(),
            Opened::Open(_) => {}
        }
    }

    /// Does it have a handshake packet to send?
    pub fn greets(&self) -> bool {
        match self {
            Opened::Opening { opening, .. } => opening.may_send(),
            Opened::Open(_) => false,
        }
    }

    /// Takes that packet.
    #[cold]
    pub fn greet(&mut self, config: &TcpConfig, now: Time, path: usize) -> Option<Outgoing> {
        let Opened::Opening { opening, .. } = self else { return None };
        let greeting = opening.next(config, now)?;
        let (wire, flags) = match greeting {
            // RFC 3168 §6.1.1: a SYN is not ECN-capable, nor is an acknowledgement.
            Greeting::Syn { again } => (config.syn_bytes, SYN | if again { RETRANSMIT } else { 0 }),
            Greeting::Ack => (config.ack_bytes, 0),
        };
        let wire = (wire + config.options().on_greeting(path, greeting)) as u16;
        let follows = greeting == Greeting::Ack && opening.opens_at_once();
        if follows {
            self.be_open(config);
        }
        Some(Outgoing::Greeting { path, wire, flags, follows })
    }

    /// The handshake is finished.
    fn be_open(&mut self, config: &TcpConfig) {
        if let Opened::Opening { opening, start } = self {
            *self = Opened::Open(S::over(config, opening.sender(config, start)));
        }
    }

    /// The handshake's reaction to an answer; none if the handshake is over.
    #[inline(always)]
    pub fn on_greeted(&mut self, config: &TcpConfig, now: Time, answer: &Answer) -> Option<Answered> {
        match self {
            Opened::Opening { .. } => Some(self.shake(config, now, answer)),
            // It answers a second SYN.
            Opened::Open(_) => answer.nack_or_syn.then_some(Answered::Ignored),
        }
    }

    #[cold]
    fn shake(&mut self, config: &TcpConfig, now: Time, answer: &Answer) -> Answered {
        let Opened::Opening { opening, .. } = self else { return Answered::Ignored };
        if answer.nack_or_syn {
            opening.on_syn_ack(now.since(answer.echo));
            Answered::Acked(Acked::default())
        } else if opening.on_confirmed() {
            self.be_open(config);
            Answered::Opened
        } else {
            Answered::Ignored
        }
    }
}

impl<S: Stream> Sender for Opened<S> {
    type Config = TcpConfig;

    fn new(config: &TcpConfig, start: &Start) -> Self {
        if config.handshake {
            Opened::Opening { opening: Opening::default(), start: *start }
        } else {
            Opened::at_once(config, start)
        }
    }

    #[inline(always)]
    fn may_send_from(&self, config: &TcpConfig) -> Time {
        match self {
            Opened::Opening { opening, .. } if opening.may_send() => Time::ZERO,
            Opened::Opening { .. } => Time::NEVER,
            Opened::Open(stream) => stream.may_send_from(config),
        }
    }

    #[inline(always)]
    fn next(&mut self, config: &TcpConfig, now: Time) -> Option<Outgoing> {
        match self {
            Opened::Opening { .. } => self.greet(config, now, 0),
            Opened::Open(stream) => Some(Outgoing::Data(data_of(config, &stream.next_segment(config, now)))),
        }
    }

    #[inline(always)]
    fn on_answer<'a>(
        &mut self,
        config: &TcpConfig,
        now: Time,
        _: usize,
        answer: &Answer,
        option: impl FnOnce() -> &'a [u8],
    ) -> Answered {
        if let Some(answered) = self.on_greeted(config, now, answer) {
            return answered;
        }
        let Opened::Open(stream) = self else { return Answered::Ignored };
        let outcome = stream.on_ack(config, now, answer, || Sack::decode(option()));
        Answered::Acked(Acked { newly_acked: outcome.newly_acked, dupack3: outcome.dupack3, done: outcome.done })
    }

    #[inline(always)]
    fn deadline(&self, _: usize) -> Option<Time> {
        match self {
            Opened::Opening { opening, .. } => opening.deadline(),
            Opened::Open(stream) => stream.deadline(),
        }
    }

    fn on_timeout(&mut self, config: &TcpConfig, now: Time, _: usize) -> Option<u64> {
        match self {
            Opened::Opening { opening, .. } => {
                opening.on_timeout();
                Some(0)
            }
            Opened::Open(stream) => stream.on_timeout(config, now),
        }
    }

    fn is_open(&self, _: usize) -> bool {
        self.open().is_some()
    }

    fn account(&self, counts: &mut Counts) {
        match self {
            Opened::Opening { opening, .. } => counts.timeouts += opening.timeouts(),
            Opened::Open(stream) => stream.add_counts(counts),
        }
    }
}

/// A segment as it is sent on a single-path connection.
#[inline(always)]
fn data_of(config: &TcpConfig, segment: &Segment) -> Data {
    let ect = if segment.retransmit { config.retransmissions_are_ect() } else { config.new_data_is_ect() };
    Data {
        seq: segment.seq,
        len: segment.len as u16,
        wire: (segment.len + config.header) as u16,
        flags: flag(ECT, ect) | flag(RETRANSMIT, segment.retransmit) | flag(CWR, segment.cwr),
    }
}

#[cfg(test)]
mod tests;
