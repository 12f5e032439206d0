//! TCP on one path: which layers make its two ends.

use super::config::TcpConfig;
use super::contract::{Facts, Order, Protocol, Receiver, Sender, Transport};
use super::opening::Opened;
use super::pacing::PacedStream;
use super::receiver::{SackReceiver, TcpReceiver};
use super::resequencer::Rules;
use super::tcp::TcpSender;
use super::tcp::sack::SackSender;
use std::marker::PhantomData;

/// TCP on one path, with this sender behind a handshake and this receiver.
#[derive(Debug)]
pub struct OnePath<S, R>(PhantomData<(S, R)>);

/// TCP with cumulative acknowledgements only: Reno, NewReno.
pub(crate) type Plain = OnePath<TcpSender, TcpReceiver>;

/// TCP with selective acknowledgements: RFC 6675, RACK-TLP.
pub(crate) type Selective = OnePath<SackSender, SackReceiver>;

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
pub(crate) type PacedSelective = OnePath<PacedStream<SackSender>, SackReceiver>;

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
