//! TCP on one path: both ends of a flow, by the contract of transports.

use super::config::TcpConfig;
use super::contract::{
    Acked, Answer, Answered, Arrival, Counts, Data, Facts, Order, Outgoing, Protocol, Received, Receiver, Sender,
    Start, Told, Transport,
};
use super::opening::{Opened, Opening};
use super::pacing::PacedStream;
use super::receiver::TcpReceiver;
use super::resequencer::Rules;
use super::sack::Sack;
use super::stream::Stream;
use super::tcp::sack::SackSender;
use super::tcp::{Ack, Segment, TcpSender};
use crate::packet::{CWR, ECT, RETRANSMIT};
use spinewise_policy::time::Time;
use std::marker::PhantomData;

/// TCP on one path, with this sender behind a handshake and this receiver.
#[derive(Debug)]
pub struct OnePath<S, R>(PhantomData<(S, R)>);

/// TCP with cumulative acknowledgements only: Reno, NewReno.
pub(crate) type Plain = OnePath<TcpSender, TcpReceiver>;

/// TCP with selective acknowledgements: RFC 6675, RACK-TLP.
pub(crate) type Selective = OnePath<SackSender, Telling>;

impl<S, R: Receiver<Config = TcpConfig>> Transport for OnePath<S, R>
where
    Opened<S>: Sender<Config = TcpConfig>,
{
    type Config = TcpConfig;
    type Sender = Opened<S>;
    type Receiver = R;

    fn facts(config: &TcpConfig) -> Facts {
        facts(config)
    }

    fn resequencing(config: &TcpConfig) -> Option<Rules> {
        config.held_back()
    }
}

/// [`Plain`], with spaced packets.
pub(crate) type PacedPlain = OnePath<PacedStream<TcpSender>, TcpReceiver>;

/// [`Selective`], with spaced packets.
pub(crate) type PacedSelective = OnePath<PacedStream<SackSender>, Telling>;

/// What all kinds of TCP have in common.
pub(super) fn facts(config: &TcpConfig) -> Facts {
    Facts {
        order: if config.paces() { Order::Turns } else { Order::Round },
        protocol: Protocol::Tcp,
        opens: config.handshake,
        closing: config.fin.then_some(config.ack_bytes as u16),
        resequences: config.held_back().is_some(),
        credit: None,
        returns_tags: false,
        keeps_connections: false,
        looks_change: false,
        starts_slowly: true,
        answers_every: config.delayed_ack.max(1),
        patience: config.min_rto.min(config.initial_rto).min(config.max_rto),
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
        let outcome = stream.on_ack(config, now, &ack_of(answer), || Sack::decode(option()));
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
    let flag = |flag: u8, on: bool| if on { flag } else { 0 };
    let ect = if segment.retransmit { config.retransmissions_are_ect() } else { config.new_data_is_ect() };
    Data {
        seq: segment.seq,
        len: segment.len as u16,
        wire: (segment.len + config.header) as u16,
        flags: flag(ECT, ect) | flag(RETRANSMIT, segment.retransmit) | flag(CWR, segment.cwr),
    }
}

/// An answer in the form TCP reads.
#[inline(always)]
pub(super) fn ack_of(answer: &Answer) -> Ack {
    Ack { cumulative: answer.cumulative, echo: answer.echo, ece: answer.ece, echo_retransmit: answer.echo_retransmit }
}

impl Receiver for TcpReceiver {
    type Config = TcpConfig;

    fn new(_: &TcpConfig, size: u64) -> Self {
        TcpReceiver::new(size)
    }

    #[inline(always)]
    fn on_data<'a>(
        &mut self,
        config: &TcpConfig,
        now: Time,
        _: usize,
        data: &Arrival,
        _: impl FnOnce() -> &'a [u8],
    ) -> Received {
        self.on_data(config, now, data)
    }

    fn late<'a>(_: &TcpConfig, size: u64, data: &Arrival, _: impl FnOnce() -> &'a [u8]) -> Received {
        late(size, data)
    }

    #[inline(always)]
    fn deadline(&self, _: usize) -> Option<Time> {
        self.deadline()
    }

    fn on_timeout(&mut self, config: &TcpConfig, now: Time, _: usize) -> Option<(Answer, Option<Told>)> {
        Some((self.on_timeout(config, now)?, None))
    }

    fn welcome(config: &TcpConfig, path: usize, greeting: &Arrival) -> u16 {
        welcome(config, path, greeting)
    }
}

/// A receiver whose answers report what has arrived beyond a gap.
#[derive(Debug)]
pub struct Telling(TcpReceiver);

impl Receiver for Telling {
    type Config = TcpConfig;

    fn new(_: &TcpConfig, size: u64) -> Self {
        Telling(TcpReceiver::new(size))
    }

    #[inline(always)]
    fn on_data<'a>(
        &mut self,
        config: &TcpConfig,
        now: Time,
        _: usize,
        data: &Arrival,
        _: impl FnOnce() -> &'a [u8],
    ) -> Received {
        let got = self.0.on_data(config, now, data);
        Received { told: option(&self.0.sack()), ..got }
    }

    fn late<'a>(_: &TcpConfig, size: u64, data: &Arrival, _: impl FnOnce() -> &'a [u8]) -> Received {
        // RFC 2883 §4: it has come twice
        Received { told: option(&Sack::of(&[(data.seq, data.end())])), ..late(size, data) }
    }

    #[inline(always)]
    fn deadline(&self, _: usize) -> Option<Time> {
        self.0.deadline()
    }

    fn on_timeout(&mut self, config: &TcpConfig, now: Time, _: usize) -> Option<(Answer, Option<Told>)> {
        Some((self.0.on_timeout(config, now)?, None))
    }

    fn welcome(config: &TcpConfig, path: usize, greeting: &Arrival) -> u16 {
        welcome(config, path, greeting)
    }
}

/// A SACK option as it travels, unless it is empty.
#[inline(always)]
fn option(sack: &Sack) -> Option<Told> {
    (!sack.is_empty()).then(|| Told { option: sack.encode(), wire: sack.wire_bytes() as u16 })
}

/// The answer to data when everything is here, without options.
fn late(size: u64, data: &Arrival) -> Received {
    Received { answers: [Some(Answer::to(data, size)), None], out_of_order: data.end() < size, ..Received::default() }
}

/// See [`Receiver::welcome`].
pub(super) fn welcome(config: &TcpConfig, path: usize, greeting: &Arrival) -> u16 {
    // RFC 8684 §3.2: only its acknowledgement opens a subflow that joins
    let bytes = if greeting.syn { config.syn_bytes + config.options().on_answer(path) } else { config.ack_bytes };
    bytes as u16
}
