//! Both ends of a queue pair, by the contract of transports.

use super::config::Recovery;
use super::{RdmaAck, RdmaConfig, RdmaReceiver, RdmaSender};
use crate::packet::{ECT, RETRANSMIT};
use crate::rider::Rider;
use crate::telemetry::{self, Hops};
use crate::transport::contract::{
    Acked, Answer, Answered, Arrival, Counts, Data, Facts, Order, Outgoing, Protocol, Received, Receiver, Sender,
    Start, Told, Transport,
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
            order: Order::Turns,
            protocol: Protocol::Roce,
            opens: false,
            closing: None,
            resequences: false,
            credit: None,
            returns_tags: false,
            keeps_connections: false,
            looks_change: config.steps_at_looks && config.recovery == Recovery::Irn,
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

    fn looked_at(&mut self, config: &RdmaConfig) -> bool {
        if config.steps_at_looks {
            self.step();
        }
        self.has_unsent()
    }

    #[inline(always)]
    fn next(&mut self, config: &RdmaConfig, now: Time) -> Option<Outgoing> {
        let segment = self.next_packet(config, now);
        let data = Data {
            seq: segment.seq,
            len: segment.len as u16,
            wire: (segment.len + config.header) as u16,
            flags: if config.ecn() { ECT } else { 0 } | if segment.retransmit { RETRANSMIT } else { 0 },
        };
        Some(match config.kind.collects_telemetry() {
            false => Outgoing::Data(data),
            true => Outgoing::OnPath(0, data, telemetry::header().into()),
        })
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
        if config.kind.collects_telemetry() {
            return self.on_told(config, now, answer, option());
        }
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
        option: impl FnOnce() -> &'a [u8],
    ) -> Received {
        let got = self.on_data(config, now, data);
        if config.kind.collects_telemetry() { echoing(got, option()) } else { got }
    }

    fn late<'a>(config: &RdmaConfig, size: u64, data: &Arrival, option: impl FnOnce() -> &'a [u8]) -> Received {
        let answer = Answer { cnp: data.ce, ..Answer::to(data, size) };
        let got = Received { answers: [Some(answer), None], out_of_order: data.end() < size, ..Received::default() };
        if config.kind.collects_telemetry() { echoing(got, option()) } else { got }
    }
}

impl RdmaSender {
    /// An answer whose option begins with an echoed header of [telemetry].
    #[cold]
    fn on_told(&mut self, config: &RdmaConfig, now: Time, answer: &Answer, option: &[u8]) -> Answered {
        let (header, rest) = telemetry::split(option);
        let ack = RdmaAck::read(answer, rest);
        let outcome = self.on_ack(config, now, &ack);
        if !outcome.done {
            self.on_telemetry(config, now, (&ack, outcome.newly_acked), Hops::of(header));
        }
        Answered::Acked(Acked { newly_acked: outcome.newly_acked, dupack3: false, done: outcome.done })
    }
}

/// The same with the header of [telemetry] that the data carries, ahead of anything else reported. Its bytes are part
/// of [every answer](RdmaConfig::ack_bytes).
#[cold]
fn echoing(got: Received, header: &[u8]) -> Received {
    let rest = got.told.iter().flat_map(|told| told.option.iter());
    let option: Vec<u8> = header.iter().chain(rest).copied().collect();
    Received { told: Some(Told { option: Rider::of(&option), wire: 0 }), ..got }
}
