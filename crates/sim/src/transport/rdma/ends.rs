//! Both ends of a queue pair as the contract of transports has them.

use super::{RdmaAck, RdmaConfig, RdmaReceiver, RdmaSender};
use crate::packet::{ECT, RETRANSMIT};
use crate::transport::Frame;
use crate::transport::contract::{
    Acked, Answer, Answered, Arrival, Counts, Data, Facts, Order, Outgoing, Protocol, Received, Receiver, Sender,
    Start, Transport,
};
use spinewise_policy::time::Time;

/// The queue pairs of RNICs.
#[derive(Debug)]
pub struct QueuePair;

impl Transport for QueuePair {
    type Config = RdmaConfig;
    type Sender = RdmaSender;
    type Receiver = RdmaReceiver;

    fn facts(config: &RdmaConfig) -> Facts {
        Facts {
            frame: Frame { mss: config.mss, header: config.header, ack_bytes: config.ack_bytes },
            order: Order::Turns,
            protocol: Protocol::Roce,
            opens: false,
            closing: None,
            resequences: false,
            starts_slowly: false,
            answers_every: 1,
            patience: config.rto.min(config.rto_low).min(config.rto_high),
        }
    }
}

impl Sender for RdmaSender {
    type Config = RdmaConfig;

    fn new(config: &RdmaConfig, start: &Start) -> Self {
        RdmaSender::new(config, start)
    }

    #[inline(always)]
    fn may_send_from(&self, config: &RdmaConfig) -> Time {
        if self.may_send(config) { self.next_at() } else { Time::NEVER }
    }

    fn paced_from(&self) -> Option<Time> {
        self.has_unsent().then(|| self.next_at())
    }

    #[inline(always)]
    fn next(&mut self, config: &RdmaConfig, now: Time) -> Option<Outgoing> {
        let segment = self.next_packet(config, now);
        Some(Outgoing::Data(Data {
            seq: segment.seq,
            len: segment.len as u16,
            wire: (segment.len + config.header) as u16,
            flags: if config.ecn() { ECT } else { 0 } | if segment.retransmit { RETRANSMIT } else { 0 },
        }))
    }

    #[inline(always)]
    fn on_answer<'a>(
        &mut self,
        config: &RdmaConfig,
        now: Time,
        _: usize,
        answer: &Answer,
        option: impl FnOnce() -> &'a [u8],
    ) -> Answered {
        let outcome = self.on_ack(config, now, &RdmaAck::read(answer, option()));
        Answered::Acked(Acked { newly_acked: outcome.newly_acked, dupack3: false, done: outcome.done })
    }

    #[inline(always)]
    fn deadline(&self, _: usize) -> Option<Time> {
        self.deadline()
    }

    fn on_timeout(&mut self, config: &RdmaConfig, now: Time, _: usize) -> Option<u64> {
        self.on_timeout(config, now);
        Some(self.acked())
    }

    fn account(&self, counts: &mut Counts) {
        counts.packets += self.packets();
        counts.retransmits += self.retransmits();
        counts.timeouts += self.timeouts();
        counts.nacks += self.nacks();
        counts.cnps += self.cnps();
    }
}

impl Receiver for RdmaReceiver {
    type Config = RdmaConfig;

    fn new(_: &RdmaConfig, size: u64) -> Self {
        RdmaReceiver::new(size)
    }

    #[inline(always)]
    fn on_data<'a>(
        &mut self,
        config: &RdmaConfig,
        now: Time,
        _: usize,
        data: &Arrival,
        _: impl FnOnce() -> &'a [u8],
    ) -> Received {
        self.on_data(config, now, data)
    }

    fn late<'a>(_: &RdmaConfig, size: u64, data: &Arrival, _: impl FnOnce() -> &'a [u8]) -> Received {
        let answer = Answer { cnp: data.ce, ..Answer::to(data, size) };
        Received { answers: [Some(answer), None], out_of_order: data.end() < size, ..Received::default() }
    }
}
