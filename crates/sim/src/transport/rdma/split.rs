//! A message over all queue pairs of its connection: each carries an equal part, and the message is complete when all
//! parts are.
//!
//! This is how NCCL works with `NCCL_IB_SPLIT_DATA_ON_QPS = 1` (its documentation and scripts that set it; Gangidi et
//! al., "RDMA over Ethernet for Distributed AI Training at Meta Scale", SIGCOMM 2024, second-hand). Each queue pair has
//! its own congestion control, numbers and timer, and its own fields in the hash of switches. Parts differ by at most
//! one byte.
//!
//! Departure: at its NIC a message has one turn, which its queue pairs take in turn; at an RNIC each queue pair has
//! one.

use super::{QueuePair, RdmaConfig, RdmaReceiver, RdmaSender};
use crate::rider::Rider;
use crate::transport::contract::{
    Acked, Answer, Answered, Arrival, Counts, Facts, Outgoing, Received, Receiver, Sender, Start, Transport,
};
use spinewise_policy::time::Time;

/// Messages that are split over the queue pairs of their connections.
#[derive(Debug)]
pub struct SplitQueuePairs;

/// The part of `size` bytes that queue pair `n` of `pairs` carries.
fn part(size: u64, n: u64, pairs: u64) -> u64 {
    size / pairs + u64::from(n < size % pairs)
}

/// The parts of a message.
fn parts(size: u64, pairs: u32) -> impl Iterator<Item = u64> {
    let pairs = u64::from(pairs);
    (0..pairs).map(move |n| part(size, n, pairs))
}

/// Bytes on the wire of a message of `size` bytes in packets of up to `mss` with a `header` each.
pub(crate) fn wire_bytes(size: u64, pairs: u32, (mss, header): (u64, u64)) -> u64 {
    parts(size, pairs).map(|part| part + header * part.div_ceil(mss)).sum()
}

/// A queue pair's sending end, and its part of the message.
#[derive(Debug)]
struct Part {
    size: u64,
    sender: RdmaSender,
}

/// The sending ends of a message.
#[derive(Debug)]
pub struct SplitSender {
    parts: Vec<Part>,
    /// The queue pair that sent last.
    last: usize,
}

/// The receiving ends of a message, each with the size of its part.
#[derive(Debug)]
pub struct SplitReceiver {
    parts: Vec<(RdmaReceiver, u64)>,
}

impl Transport for SplitQueuePairs {
    type Config = RdmaConfig;
    type Sender = SplitSender;
    type Receiver = SplitReceiver;

    fn facts(config: &RdmaConfig) -> Facts {
        QueuePair::facts(config)
    }
}

impl Sender for SplitSender {
    type Config = RdmaConfig;

    fn new(config: &RdmaConfig, start: &Start) -> Self {
        let part = |size| Part { size, sender: RdmaSender::new(config, &Start { size, ..*start }) };
        SplitSender { parts: parts(start.size, config.split_over()).map(part).collect(), last: 0 }
    }

    fn may_send_from(&self, config: &RdmaConfig) -> Time {
        self.parts.iter().map(|part| part.sender.may_send_from(config)).min().unwrap_or(Time::NEVER)
    }

    fn paced_from(&self) -> Option<Time> {
        self.parts.iter().filter_map(|part| part.sender.paced_from()).min()
    }

    fn next(&mut self, config: &RdmaConfig, now: Time) -> Option<Outgoing> {
        let many = self.parts.len();
        let mut turns = (1..=many).map(|step| (self.last + step) % many);
        let path = turns.find(|&n| self.parts[n].sender.may_send_from(config) <= now)?;
        self.last = path;
        Some(match Sender::next(&mut self.parts[path].sender, config, now)? {
            Outgoing::Data(data) => Outgoing::OnPath(path, data, Rider::NONE),
            Outgoing::OnPath(_, data, option) => Outgoing::OnPath(path, data, option),
            other @ (Outgoing::Question { .. } | Outgoing::Greeting { .. }) => other,
        })
    }

    fn on_answer<'a>(
        &mut self,
        config: &RdmaConfig,
        now: Time,
        path: usize,
        answer: &Answer,
        option: impl FnOnce() -> &'a [u8],
    ) -> Answered {
        let part = &mut self.parts[path];
        if part.sender.is_done() {
            return Answered::Ignored;
        }
        // A receiver that has the whole message signals that with its size.
        let answer = Answer { cumulative: answer.cumulative.min(part.size), ..*answer };
        match Sender::on_answer(&mut part.sender, config, now, 0, &answer, option) {
            Answered::Acked(acked) => {
                let done = acked.done && self.parts.iter().all(|part| part.sender.is_done());
                Answered::Acked(Acked { done, ..acked })
            }
            other @ (Answered::Ignored | Answered::Opened | Answered::Trimmed(_)) => other,
        }
    }

    fn deadline(&self, path: usize) -> Option<Time> {
        Some(&self.parts[path].sender).filter(|sender| !sender.is_done())?.deadline()
    }

    fn on_timeout(&mut self, config: &RdmaConfig, now: Time, path: usize) -> Option<u64> {
        Sender::on_timeout(&mut self.parts[path].sender, config, now, 0)
    }

    fn account(&self, counts: &mut Counts) {
        self.parts.iter().for_each(|part| part.sender.account(counts));
    }
}

impl Receiver for SplitReceiver {
    type Config = RdmaConfig;

    fn new(config: &RdmaConfig, size: u64) -> Self {
        SplitReceiver { parts: parts(size, config.split_over()).map(|size| (RdmaReceiver::new(size), size)).collect() }
    }

    fn on_data<'a>(
        &mut self,
        config: &RdmaConfig,
        now: Time,
        path: usize,
        data: &Arrival,
        option: impl FnOnce() -> &'a [u8],
    ) -> Received {
        let (receiver, size) = &mut self.parts[path];
        if receiver.is_complete() {
            return <RdmaReceiver as Receiver>::late(config, *size, data, option);
        }
        let got = Receiver::on_data(receiver, config, now, 0, data, option);
        let completed = got.completed && self.parts.iter().all(|(receiver, _)| receiver.is_complete());
        Received { completed, ..got }
    }

    fn late<'a>(config: &RdmaConfig, size: u64, data: &Arrival, option: impl FnOnce() -> &'a [u8]) -> Received {
        <RdmaReceiver as Receiver>::late(config, size, data, option)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_equal_to_a_byte_and_make_the_whole() {
        assert_eq!(parts(10, 4).collect::<Vec<_>>(), [3, 3, 2, 2]);
        assert_eq!(parts(3, 3).collect::<Vec<_>>(), [1, 1, 1]);
        assert_eq!(parts(1_000_001, 8).sum::<u64>(), 1_000_001);
    }
}
