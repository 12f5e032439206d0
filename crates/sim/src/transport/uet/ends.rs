//! Both ends of a connection of Ultra Ethernet, by the contract of transports.

use super::config::Requests;
use super::{UetConfig, UetReceiver, UetSender};
use crate::transport::contract::{
    Answer, Answered, Arrival, Asks, Counts, CreditPacing, Facts, Grant, Order, Outgoing, Protocol, Received, Receiver,
    Sender, Start, Transport,
};
use spinewise_policy::time::Time;

/// Connections of Ultra Ethernet.
#[derive(Debug)]
pub struct Connection;

impl Transport for Connection {
    type Config = UetConfig;
    type Sender = UetSender;
    type Receiver = UetReceiver;

    fn facts(config: &UetConfig) -> Facts {
        let mtu = config.mss + config.header;
        Facts {
            order: Order::RoundWithControl,
            protocol: Protocol::Uet,
            opens: false,
            closing: None,
            resequences: false,
            credit: config
                .receiver_credit
                .then_some(CreditPacing { share: config.pull_share, least: config.pull_least }),
            returns_tags: true,
            keeps_connections: true,
            looks_change: false,
            starts_slowly: false,
            answers_every: config.ack_every_bytes.div_ceil(mtu),
            patience: config.rto,
        }
    }
}

impl Sender for UetSender {
    type Config = UetConfig;

    fn new(config: &UetConfig, start: &Start) -> Self {
        UetSender::new(config, start)
    }

    #[inline]
    fn may_send_from(&self, config: &UetConfig) -> Time {
        if self.may_send() || config.requests == Requests::Data && self.is_to_ask() { Time::ZERO } else { Time::NEVER }
    }

    #[inline(always)]
    fn next(&mut self, config: &UetConfig, now: Time) -> Option<Outgoing> {
        if config.requests == Requests::Data {
            let asks = self.ask(config, now);
            if asks.is_some() {
                return asks;
            }
        }
        self.next(config, now)
    }

    #[inline]
    fn on_answer<'a>(
        &mut self,
        config: &UetConfig,
        now: Time,
        _: usize,
        answer: &Answer,
        option: impl FnOnce() -> &'a [u8],
    ) -> Answered {
        self.on_answer(config, now, answer, option())
    }

    fn share(&mut self, waiting: usize) {
        self.share(waiting);
    }

    #[inline]
    fn deadline(&self, _: usize) -> Option<Time> {
        self.deadline()
    }

    fn on_timeout(&mut self, config: &UetConfig, now: Time, _: usize) -> Option<u64> {
        self.on_timeout(config, now)
    }

    fn beside(&mut self, config: &UetConfig, now: Time) -> Option<Outgoing> {
        if config.requests == Requests::Control { self.ask(config, now) } else { None }
    }

    fn rest(&mut self) {
        self.rest();
    }

    fn follow(&mut self, before: &Self) {
        self.follow(before);
    }

    fn account(&self, counts: &mut Counts) {
        self.account(counts);
    }
}

impl Receiver for UetReceiver {
    type Config = UetConfig;

    fn new(config: &UetConfig, size: u64) -> Self {
        UetReceiver::new(config, size)
    }

    #[inline]
    fn on_data<'a>(
        &mut self,
        config: &UetConfig,
        _: Time,
        _: usize,
        data: &Arrival,
        option: impl FnOnce() -> &'a [u8],
    ) -> Received {
        self.on_data(config, data, option)
    }

    fn grant(&mut self, config: &UetConfig, asks: Asks) -> Option<Grant> {
        self.grant(config, asks)
    }

    fn is_over(&self, config: &UetConfig) -> bool {
        self.is_over(config)
    }

    fn late<'a>(config: &UetConfig, size: u64, data: &Arrival, _: impl FnOnce() -> &'a [u8]) -> Received {
        UetReceiver::full(config, size).on_data(config, data, || &[])
    }
}
