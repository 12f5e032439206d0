//! The receiving end of a TCP connection: reassembly, when to acknowledge, and the echo of marks.
//!
//! An ACK carries the time stamp and the tag of the packet that arrived last, be it sent at once or
//! by the delayed-ACK timer. (RFC 7323 §4.3 would echo the oldest packet a delayed ACK covers; here
//! the round-trip time and the path tag an ACK brings back belong to one and the same packet.)

use super::config::{Kind, TcpConfig};
use super::sack::Sack;
use spinewise_policy::time::Time;

/// An acknowledgement to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckOut {
    /// The next byte expected.
    pub cumulative: u64,
    /// ECN-Echo: with DCTCP, whether the packets it answers were CE-marked; with RFC 3168, whether one was since the last
    /// CWR.
    pub ece: bool,
    /// When the packet it answers was sent.
    pub echo: Time,
    /// Whether that packet was a retransmission.
    pub echo_retransmit: bool,
    /// That packet's tag, as given to [`TcpReceiver::on_data`].
    pub echo_tag: u32,
}

/// A data packet that arrives.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrival {
    /// Its first byte.
    pub seq: u64,
    /// Its bytes of payload, above 0.
    pub len: u32,
    /// Its CE mark.
    pub ce: bool,
    /// CWR: its sender has reduced the window (RFC 3168).
    pub cwr: bool,
    /// When it was sent.
    pub stamp: Time,
    /// Its bytes had been sent before.
    pub retransmit: bool,
    /// Anything the caller wants echoed.
    pub tag: u32,
}

/// What the arrival of a data packet brought about.
#[derive(Clone, Copy, Debug, Default)]
pub struct Received {
    /// The acknowledgements to send, in order; a change of the CE state can need two.
    pub acks: [Option<AckOut>; 2],
    /// A byte beyond this packet was already here. True also of packets that bring nothing new.
    pub out_of_order: bool,
    /// Every byte of the packet was already here.
    pub duplicate: bool,
    /// Bytes that were not here before.
    pub new_bytes: u64,
    /// The last missing byte of the flow has just arrived.
    pub completed: bool,
}

/// The state of a TCP receiver.
#[derive(Clone, Debug)]
pub struct TcpReceiver {
    size: u64,
    /// RCV.NXT.
    expected: u64,
    /// What lies beyond a gap: ascending, disjoint, not touching, all beyond `expected`.
    beyond: Vec<(u64, u64)>,
    /// When the delayed ACK is due, [`Time::NEVER`] if none is.
    deadline: Time,
    /// Time stamp, tag and kind of the packet that arrived last.
    stamp: Time,
    tag: u32,
    retransmit: bool,
    /// DCTCP.CE of RFC 8257 §3.2; with RFC 3168, what is echoed until CWR.
    ce: bool,
    /// Packets in order that await their acknowledgement.
    pending: u32,
    out_of_order: u32,
    marks: u32,
    /// With selective acknowledgements, from the first packet out of order on.
    told: Option<Box<Told>>,
}

/// What selective acknowledgements tell next.
#[derive(Clone, Debug, Default)]
struct Told {
    /// A byte of each block beyond the gap that packets arrived in of late, the newest first.
    recent: Vec<u64>,
    /// The packet that has just arrived for the second time.
    duplicate: Option<(u64, u64)>,
}

impl TcpReceiver {
    /// A receiver of a flow of `size` bytes, of which none is here.
    pub fn new(size: u64) -> Self {
        Self {
            size,
            expected: 0,
            beyond: Vec::new(),
            deadline: Time::NEVER,
            stamp: Time::ZERO,
            tag: 0,
            retransmit: false,
            ce: false,
            pending: 0,
            out_of_order: 0,
            marks: 0,
            told: None,
        }
    }

    /// Takes a data packet.
    #[inline(always)]
    pub fn on_data(&mut self, config: &TcpConfig, now: Time, packet: &Arrival) -> Received {
        let Arrival { seq, len, ce, .. } = *packet;
        let end = seq + u64::from(len);
        debug_assert!(len > 0 && end <= self.size, "data outside the flow");
        let acknowledgeable = self.expected;
        let in_order = seq == self.expected && self.beyond.is_empty();
        let mut out = Received { out_of_order: self.highest() > end, ..Received::default() };
        out.new_bytes = if in_order {
            self.expected = end;
            u64::from(len)
        } else {
            self.store(seq, end)
        };
        out.duplicate = out.new_bytes == 0;
        out.completed = out.new_bytes > 0 && self.expected == self.size;
        self.out_of_order += u32::from(out.out_of_order);
        self.marks += u32::from(ce);

        // RFC 5681 §4.2: at once if out of order or if it fills (part of) a gap; every n-th segment
        // otherwise. The flow's last byte carries the FIN, which is acknowledged at once.
        let mut at_once = !in_order || out.completed;
        if config.kind == Kind::Ecn {
            // RFC 3168 §6.1.3: from a mark until CWR, and on if that packet is marked again
            self.ce = ce || self.ce && !packet.cwr;
        } else if config.dctcp() && ce != self.ce {
            // RFC 8257 §3.2: a change of the CE state is told at once, and what is still to be
            // acknowledged in the old state gets an ACK of its own.
            if self.pending > 0 {
                out.acks[0] = Some(self.acknowledge(acknowledgeable));
            }
            self.ce = ce;
            at_once = true;
        }
        if !in_order && config.recovery.has_sack() {
            self.note(seq, end, out.duplicate);
        }
        self.stamp = packet.stamp;
        self.tag = packet.tag;
        self.retransmit = packet.retransmit;
        self.pending += 1;
        if at_once || self.pending >= config.delayed_ack {
            let ack = self.acknowledge(self.expected);
            out.acks[usize::from(out.acks[0].is_some())] = Some(ack);
        } else if self.deadline == Time::NEVER {
            self.deadline = now + config.delayed_ack_timeout;
        }
        out
    }

    /// The SACK option of the acknowledgement that answers the packet just taken; [`Sack::NONE`] without such options.
    /// What is told of a duplicate is told once.
    pub fn sack(&mut self) -> Sack {
        let Some(told) = &mut self.told else { return Sack::NONE };
        let mut blocks: Vec<(u64, u64)> = told.duplicate.take().into_iter().collect();
        let own = blocks.len();
        // RFC 2018 §4: the block the packet is in, then those told of most recently, none twice
        told.recent.retain(|&byte| {
            let at = self.beyond.partition_point(|block| block.1 <= byte);
            let block = self.beyond.get(at).filter(|block| block.0 <= byte);
            let new = block.filter(|block| !blocks[own..].contains(block));
            blocks.extend(new);
            new.is_some()
        });
        told.recent.truncate(3);
        Sack::of(&blocks)
    }

    /// When [`Self::on_timeout`] is due, if an acknowledgement is held back.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        (self.deadline != Time::NEVER).then_some(self.deadline)
    }

    /// The delayed-ACK timer: the acknowledgement held back, if it is still due at `now`.
    pub fn on_timeout(&mut self, _config: &TcpConfig, now: Time) -> Option<AckOut> {
        (self.deadline <= now && self.pending > 0).then(|| self.acknowledge(self.expected))
    }

    /// Whether every byte of the flow is here.
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.expected == self.size
    }

    /// The next byte expected.
    pub fn expected(&self) -> u64 {
        self.expected
    }

    /// Arrivals that found a later byte already here.
    pub fn out_of_order_arrivals(&self) -> u32 {
        self.out_of_order
    }

    /// CE-marked arrivals.
    pub fn marks(&self) -> u32 {
        self.marks
    }

    /// Notes a packet out of order for the acknowledgements to come.
    #[cold]
    fn note(&mut self, seq: u64, end: u64, duplicate: bool) {
        let told = self.told.get_or_insert_default();
        if duplicate {
            told.duplicate = Some((seq, end)); // RFC 2883 §4
        }
        if end > self.expected {
            told.recent.insert(0, seq);
        }
    }

    /// One past the last byte that is here.
    #[inline]
    fn highest(&self) -> u64 {
        self.beyond.last().map_or(self.expected, |last| last.1)
    }

    /// Builds an ACK and stops the delayed-ACK timer.
    #[inline]
    fn acknowledge(&mut self, cumulative: u64) -> AckOut {
        self.pending = 0;
        self.deadline = Time::NEVER;
        AckOut { cumulative, ece: self.ce, echo: self.stamp, echo_retransmit: self.retransmit, echo_tag: self.tag }
    }

    /// Takes bytes `seq..end` when they or others are out of order; returns how many are new.
    fn store(&mut self, seq: u64, end: u64) -> u64 {
        let start = seq.max(self.expected);
        if start >= end {
            return 0;
        }
        if start == self.expected {
            return self.fill(start, end);
        }
        // Packets mostly arrive at the end of what is here.
        match self.beyond.last_mut() {
            Some(last) if start == last.1 => {
                last.1 = end;
                end - start
            }
            Some(last) if start < last.1 => self.merge(start, end),
            _ => {
                self.beyond.push((start, end));
                end - start
            }
        }
    }

    /// Bytes at `expected`: takes them and what they join up with.
    fn fill(&mut self, start: u64, end: u64) -> u64 {
        let joined = self.beyond.partition_point(|interval| interval.0 <= end);
        let here = overlap(&self.beyond[..joined], start, end);
        self.expected = self.beyond[..joined].last().map_or(end, |last| last.1.max(end));
        self.beyond.drain(..joined);
        if self.is_complete() {
            self.beyond = Vec::new(); // gives the memory back
        }
        end - start - here
    }

    /// Bytes among the intervals beyond the gap: joins all that touch.
    fn merge(&mut self, start: u64, end: u64) -> u64 {
        let from = self.beyond.partition_point(|interval| interval.1 < start);
        let to = from + self.beyond[from..].partition_point(|interval| interval.0 <= end);
        let touching = &self.beyond[from..to];
        let here = overlap(touching, start, end);
        if let (Some(first), Some(last)) = (touching.first(), touching.last()) {
            self.beyond[from] = (first.0.min(start), last.1.max(end));
            self.beyond.drain(from + 1..to);
        } else {
            self.beyond.insert(from, (start, end));
        }
        end - start - here
    }
}

/// Bytes of `start..end` that lie in `intervals`.
fn overlap(intervals: &[(u64, u64)], start: u64, end: u64) -> u64 {
    intervals.iter().map(|i| i.1.min(end).saturating_sub(i.0.max(start))).sum()
}

#[cfg(test)]
mod tests;
