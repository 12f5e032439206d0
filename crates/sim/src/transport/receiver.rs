//! The receiving end of a TCP connection: reassembly, when to acknowledge, and the echo of marks.
//!
//! An ACK carries the timestamp and the tag of the packet that arrived last, whether it is sent at once or by the
//! delayed-ACK timer. (RFC 7323 §4.3 would echo the oldest packet a delayed ACK covers; here the round-trip time and
//! the path tag an ACK brings back belong to one and the same packet.)

use super::config::TcpConfig;
use super::congestion::Marks;
use super::contract::{Answer, Arrival, Received, Receiver, Told};
use super::reassembly::Reassembly;
use super::sack::Sack;
use spinewise_policy::time::Time;

/// The state of a TCP receiver.
#[derive(Clone, Debug)]
pub struct TcpReceiver {
    size: u64,
    /// What is here, up to RCV.NXT and beyond.
    here: Reassembly,
    /// When the delayed ACK is due, [`Time::NEVER`] if none is.
    deadline: Time,
    /// Timestamp, tag and kind of the packet that arrived last.
    stamp: Time,
    tag: u32,
    retransmit: bool,
    /// DCTCP.CE of RFC 8257 §3.2; with RFC 3168, what is echoed until CWR.
    ce: bool,
    /// In-order packets that await their acknowledgement.
    pending: u32,
    /// With selective acknowledgements, from the first out-of-order packet on.
    reports: Option<Box<Reports>>,
}

/// What selective acknowledgements report next.
#[derive(Clone, Debug, Default)]
struct Reports {
    /// A byte of each block beyond the gap that packets have arrived in recently, the newest first.
    recent: Vec<u64>,
    /// The packet that has just arrived for the second time.
    duplicate: Option<(u64, u64)>,
}

impl TcpReceiver {
    /// The receiver of a flow of `size` bytes, none of which has arrived.
    pub fn new(size: u64) -> Self {
        Self {
            size,
            here: Reassembly::default(),
            deadline: Time::NEVER,
            stamp: Time::ZERO,
            tag: 0,
            retransmit: false,
            ce: false,
            pending: 0,
            reports: None,
        }
    }

    /// The packet that ends in byte `end` is the last one: a subflow of MPTCP learns its share as it goes.
    pub fn finish_with(&mut self, end: u64) {
        self.size = end.max(self.here.highest());
    }

    /// Takes a data packet.
    #[inline(always)]
    pub fn on_data(&mut self, config: &TcpConfig, now: Time, packet: &Arrival) -> Received {
        let Arrival { seq, len, ce, .. } = *packet;
        let end = seq + u64::from(len);
        debug_assert!(len > 0 && end <= self.size, "data outside the flow");
        let acknowledgeable = self.here.expected();
        let in_order = self.here.is_next(seq);
        let mut out = Received { out_of_order: self.here.highest() > end, ..Received::default() };
        out.new_bytes = self.here.take(seq, end);
        let duplicate = out.new_bytes == 0;
        out.completed = out.new_bytes > 0 && self.here.expected() == self.size;
        if !config.ack_duplicates && end < acknowledgeable && packet.stamp < self.stamp + config.min_rto {
            return out;
        }

        // RFC 5681 §4.2: at once if out of order or if it fills (part of) a gap; every n-th segment
        // otherwise. The flow's last byte carries the FIN, which is acknowledged at once.
        let mut at_once = !in_order || out.completed;
        let marks = config.marks();
        if marks == Marks::Repeated {
            // RFC 3168 §6.1.3: from a mark until CWR, and on if that packet is marked again
            self.ce = ce || self.ce && !packet.cwr;
        } else if marks == Marks::Counted && ce != self.ce {
            // RFC 8257 §3.2: a change of the CE state is reported at once, and what is still to be acknowledged in the
            // old state gets an ACK of its own.
            if self.pending > 0 {
                out.answers[0] = Some(self.acknowledge(acknowledgeable));
            }
            self.ce = ce;
            at_once = true;
        }
        if !in_order && config.recovery.has_sack() {
            self.note(seq, end, duplicate);
        }
        self.stamp = packet.stamp;
        self.tag = packet.tag;
        self.retransmit = packet.retransmit;
        self.pending += 1;
        if at_once || self.pending >= config.delayed_ack {
            let ack = self.acknowledge(self.here.expected());
            out.answers[usize::from(out.answers[0].is_some())] = Some(ack);
        } else if self.deadline == Time::NEVER {
            self.deadline = now + config.delayed_ack_timeout;
        }
        out
    }

    /// The SACK option of the acknowledgement that answers the packet just taken; [`Sack::NONE`] without such options.
    /// A duplicate is reported once.
    pub fn sack(&mut self) -> Sack {
        let Some(reports) = &mut self.reports else { return Sack::NONE };
        let mut blocks: Vec<(u64, u64)> = reports.duplicate.take().into_iter().collect();
        let own = blocks.len();
        // RFC 2018 §4: the block the packet is in, then those reported most recently, none twice
        reports.recent.retain(|&byte| {
            let beyond = self.here.beyond();
            let at = beyond.partition_point(|block| block.1 <= byte);
            let block = beyond.get(at).filter(|block| block.0 <= byte);
            let new = block.filter(|block| !blocks[own..].contains(block));
            blocks.extend(new);
            new.is_some()
        });
        reports.recent.truncate(3);
        Sack::of(&blocks)
    }

    /// When [`Self::on_timeout`] is due, if an acknowledgement is held back.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        (self.deadline != Time::NEVER).then_some(self.deadline)
    }

    /// The delayed-ACK timer: the acknowledgement held back, if it is still due at `now`.
    pub fn on_timeout(&mut self, _config: &TcpConfig, now: Time) -> Option<Answer> {
        (self.deadline <= now && self.pending > 0).then(|| self.acknowledge(self.here.expected()))
    }

    /// Whether every byte of the flow is here.
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.here.expected() == self.size
    }

    /// The next byte expected.
    pub fn expected(&self) -> u64 {
        self.here.expected()
    }

    /// Records an out-of-order packet for the acknowledgements to come.
    #[cold]
    fn note(&mut self, seq: u64, end: u64, duplicate: bool) {
        let reports = self.reports.get_or_insert_default();
        if duplicate {
            reports.duplicate = Some((seq, end)); // RFC 2883 §4
        }
        if end > self.here.expected() {
            reports.recent.insert(0, seq);
        }
    }

    /// Builds an ACK and stops the delayed-ACK timer.
    #[inline]
    fn acknowledge(&mut self, cumulative: u64) -> Answer {
        self.pending = 0;
        self.deadline = Time::NEVER;
        Answer {
            cumulative,
            ece: self.ce,
            echo: self.stamp,
            echo_retransmit: self.retransmit,
            echo_tag: self.tag,
            ..Answer::default()
        }
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

/// A receiver whose answers report what has arrived beyond a gap.
#[derive(Debug)]
pub struct SackReceiver(TcpReceiver);

impl Receiver for SackReceiver {
    type Config = TcpConfig;

    fn new(_: &TcpConfig, size: u64) -> Self {
        SackReceiver(TcpReceiver::new(size))
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

#[cfg(test)]
mod tests;
