//! TCP on one path: both ends of a flow as the contract of transports has them.

use super::Frame;
use super::config::TcpConfig;
use super::contract::{Answer, Arrival, Facts, Order, Protocol, Received, Receiver, Sender, Told, Transport};
use super::opening::Opened;
use super::pacing::PacedStream;
use super::receiver::TcpReceiver;
use super::resequencer::Rules;
use super::sack::Sack;
use super::tcp::TcpSender;
use super::tcp::sack::SackSender;
use spinewise_policy::time::Time;
use std::marker::PhantomData;

/// TCP on one path, with this sender behind a handshake and this receiver.
#[derive(Debug)]
pub struct OnePath<S, R>(PhantomData<(S, R)>);

/// TCP with cumulative acknowledgements alone: Reno, NewReno.
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

/// [`Plain`], its packets kept apart.
pub(crate) type PacedPlain = OnePath<PacedStream<TcpSender>, TcpReceiver>;

/// [`Selective`], its packets kept apart.
pub(crate) type PacedSelective = OnePath<PacedStream<SackSender>, Telling>;

/// What all kinds of TCP have in common.
pub(super) fn facts(config: &TcpConfig) -> Facts {
    let options = config.options();
    Facts {
        frame: Frame {
            mss: config.mss,
            header: config.header + options.data,
            ack_bytes: config.ack_bytes + options.ack,
        },
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

/// A receiver whose answers say what has arrived beyond a gap.
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

/// What answers data when all is here, without options.
fn late(size: u64, data: &Arrival) -> Received {
    Received { answers: [Some(Answer::to(data, size)), None], out_of_order: data.end() < size, ..Received::default() }
}

/// See [`Receiver::welcome`].
pub(super) fn welcome(config: &TcpConfig, path: usize, greeting: &Arrival) -> u16 {
    // RFC 8684 §3.2: only its acknowledgement opens a subflow that joins
    let bytes = if greeting.syn { config.syn_bytes + config.options().on_answer(path) } else { config.ack_bytes };
    bytes as u16
}
