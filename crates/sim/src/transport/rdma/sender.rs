//! The sending end of a queue pair: packets that may leave, packets that must leave again, and the timeout.
//!
//! Go-back-N: a NACK or a timeout takes the next byte to send back to the oldest unacknowledged one. IRN: the first
//! NACK does so too and begins a recovery, in which packets reported by a NACK are skipped; it ends with an ACK that is
//! not a NACK, or when everything sent before it began is acknowledged. (The IRN paper sends only packets that are
//! provably missing; the public code sends everything that is not skipped.) As in that code, only the lowest reported
//! block is considered, and it is forgotten once skipped: a packet can be sent again though it has arrived.

use super::RdmaAck;
use super::blocks::Blocks;
use super::config::{RdmaConfig, Recovery};
use super::pacing::Pacing;
use crate::packet::Clock;
use crate::telemetry::Hops;
use crate::transport::congestion::rate::Control;
use crate::transport::congestion::{Acked, Start, Window};
use crate::transport::tcp::Segment;
use spinewise_policy::time::{Span, Time};

/// The effect of an answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct RdmaAckOutcome {
    /// Bytes acknowledged for the first time.
    pub newly_acked: u64,
    /// The answer made the sender go back.
    pub went_back: bool,
    /// The answer completed the flow.
    pub done: bool,
}

/// The state of a sending end.
#[derive(Clone, Debug)]
pub struct RdmaSender {
    size: u64,
    /// The first byte not acknowledged.
    snd_una: u64,
    /// The next byte to send.
    snd_nxt: u64,
    /// One past the last byte ever sent, and the first byte of that packet.
    snd_max: u64,
    newest: u64,
    /// IRN: `snd_nxt` as the recovery began.
    recover: u64,
    /// IRN: the packets reported by NACKs beyond `snd_una`.
    sacked: Blocks,
    pacing: Pacing,
    /// Bytes that may be in flight.
    window: Window,
    control: Control,
    /// When the retransmission timer expires, [`Time::NEVER`] while it is off.
    deadline: Time,
    packets: u32,
    retransmits: u32,
    timeouts: u32,
    nacks: u32,
    cnps: u32,
    in_recovery: bool,
}

impl RdmaSender {
    /// A sender of a flow that has sent nothing.
    pub fn new(config: &RdmaConfig, start: &Start) -> Self {
        let mut window =
            Window { cwnd: if config.window_bytes == 0 { u64::MAX } else { config.window_bytes }, ssthresh: 0 };
        let mut control = Control::new(config.kind, &config.control, start);
        control.open(&config.control, &mut window, u64::from(config.mss));
        Self {
            size: start.size,
            snd_una: 0,
            snd_nxt: 0,
            snd_max: 0,
            newest: 0,
            recover: 0,
            sacked: Blocks::default(),
            pacing: Pacing::new(start.now),
            window,
            control,
            deadline: Time::NEVER,
            packets: 0,
            retransmits: 0,
            timeouts: 0,
            nacks: 0,
            cnps: 0,
            in_recovery: false,
        }
    }

    /// Whether there is a packet to send and room for it in the window. [`Self::next_at`] says when it may leave.
    #[inline]
    pub fn may_send(&self, config: &RdmaConfig) -> bool {
        let len = u64::from(config.mss).min(self.size - self.snd_nxt);
        let fits = self.snd_nxt + len <= self.snd_una.saturating_add(self.window.cwnd);
        len > 0 && (fits || (config.window_from_newest && self.fits_from_newest(config, len)))
    }

    /// Whether there is data that has not been sent, or is to be sent again.
    pub fn has_unsent(&self) -> bool {
        self.snd_nxt < self.size
    }

    /// [`RdmaConfig::window_from_newest`]: a packet may start in the window, or the data in flight before the newest
    /// packet leaves room.
    #[cold]
    fn fits_from_newest(&self, config: &RdmaConfig, len: u64) -> bool {
        let room = self.newest >= self.snd_una && self.newest - self.snd_una + len < config.window_bytes;
        room || self.snd_nxt < self.snd_una + config.window_bytes
    }

    /// The next packet leaves no earlier than this.
    #[inline]
    pub fn next_at(&self) -> Time {
        self.pacing.next()
    }

    /// Takes the packet that starts on the wire at `now`. [`Self::may_send`] must hold, or have held before the last step.
    #[inline]
    pub fn next_packet(&mut self, config: &RdmaConfig, now: Time) -> Segment {
        debug_assert!(config.steps_at_looks || self.may_send(config), "nothing may be sent");
        debug_assert!(self.has_unsent() && now >= self.next_at(), "nothing may be sent now");
        let seq = self.snd_nxt;
        let len = u64::from(config.mss).min(self.size - seq) as u32;
        let retransmit = seq < self.snd_max;
        self.snd_nxt = seq + u64::from(len);
        self.newest = self.newest.max(seq);
        self.snd_max = self.snd_max.max(self.snd_nxt);
        self.packets += 1;
        self.retransmits += u32::from(retransmit);
        let wire = config.frame(len);
        let rate = self.control.on_send(&config.control, now, wire);
        match config.clock {
            Clock::Exact => self.pacing.sent(now, wire, rate),
            Clock::Floor1Ns => self.pacing.sent_floor_1ns(now, wire, rate),
            Clock::Ns3 => self.pacing.sent_ns3(now, wire, rate),
        }
        if !config.steps_at_looks {
            self.step();
        }
        self.deadline = now + self.timeout(config);
        Segment { seq, len, retransmit, cwr: false }
    }

    /// Takes an answer that arrives at `now`.
    #[inline]
    pub fn on_ack(&mut self, config: &RdmaConfig, now: Time, ack: &RdmaAck) -> RdmaAckOutcome {
        debug_assert!(ack.cumulative <= self.snd_max, "acknowledges what was never sent");
        let mut out = RdmaAckOutcome::default();
        if self.is_done() {
            return out;
        }
        let before = self.snd_una;
        self.snd_una = before.max(ack.cumulative);
        self.nacks += u32::from(ack.nack);
        if let Some((seq, len)) = ack.sack {
            self.sacked.insert(seq, seq + u64::from(len));
        }
        if !self.sacked.is_empty() {
            self.clean_up();
        }
        // Data that arrived before the sender went back need not be sent again.
        self.snd_nxt = self.snd_nxt.max(self.snd_una);
        self.step();
        out.newly_acked = self.snd_una - before;
        if out.newly_acked > 0 {
            let acked = self.acked_by(config, now, ack, out.newly_acked);
            self.control.on_ack(&config.control, &mut self.window, &acked);
        }
        out.done = self.is_done();
        if self.snd_una == self.snd_max {
            self.deadline = Time::NEVER;
        } else if self.snd_nxt > self.snd_una {
            // InfiniBand o9-85: the timer restarts with each answer while others are awaited.
            self.deadline = now + self.timeout(config);
        }
        out.went_back = match config.recovery {
            Recovery::GoBackN => ack.nack,
            Recovery::Irn => self.recovers(ack.nack),
        } && !out.done;
        if out.went_back {
            self.snd_nxt = self.snd_una;
        }
        if ack.cnp && !out.done {
            self.cnps += 1;
            self.control.on_mark(&config.control, &mut self.window, now);
        }
        out
    }

    /// Telemetry of ports, echoed by an answer that has been [taken](Self::on_ack) and acknowledged this many bytes.
    pub fn on_telemetry(&mut self, config: &RdmaConfig, now: Time, (ack, bytes): (&RdmaAck, u64), hops: Hops<'_>) {
        let acked = self.acked_by(config, now, ack, bytes);
        self.control.on_telemetry(&config.control, &mut self.window, &acked, hops);
    }

    #[inline(always)]
    fn acked_by(&self, config: &RdmaConfig, now: Time, ack: &RdmaAck, bytes: u64) -> Acked {
        let rtt = now.since(ack.echo);
        Acked {
            now,
            bytes,
            cumulative: self.snd_una,
            next: self.snd_nxt,
            marked: ack.cnp,
            recovering: self.in_recovery,
            mss: u64::from(config.mss),
            rtt,
            srtt: rtt,
        }
    }

    /// When the retransmission timer expires, while anything is outstanding.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        (self.deadline != Time::NEVER).then_some(self.deadline)
    }

    /// The retransmission timer has expired: the caller has seen `deadline() <= now`.
    pub fn on_timeout(&mut self, config: &RdmaConfig, now: Time) {
        debug_assert!(self.deadline <= now && !self.is_done(), "no timeout is due");
        self.timeouts += 1;
        if config.steps_at_looks {
            self.step();
        }
        if config.recovery == Recovery::Irn {
            self.in_recovery = true;
            if !config.recover_kept_on_timeout {
                self.recover = self.snd_max;
            }
        }
        self.snd_nxt = self.snd_una;
        self.step();
        // The packet that follows restarts it.
        self.deadline = Time::NEVER;
    }

    /// Whether everything is acknowledged.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.snd_una >= self.size
    }

    /// Bytes acknowledged.
    pub fn acked(&self) -> u64 {
        self.snd_una
    }

    /// Bytes between the oldest unacknowledged one and the newest ever sent.
    pub fn flight(&self) -> u64 {
        self.snd_max - self.snd_una
    }

    /// Whether an IRN recovery is under way.
    pub fn in_recovery(&self) -> bool {
        self.in_recovery
    }

    /// Data packets sent, retransmissions included.
    pub fn packets(&self) -> u32 {
        self.packets
    }

    /// Data packets sent again.
    pub fn retransmits(&self) -> u32 {
        self.retransmits
    }

    /// Expiries of the retransmission timer.
    pub fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// NACKs that arrived before the flow was done.
    pub fn nacks(&self) -> u32 {
        self.nacks
    }

    /// CNPs that arrived before the flow was done.
    pub fn cnps(&self) -> u32 {
        self.cnps
    }

    /// IRN: does this answer begin a recovery? It may also end one.
    fn recovers(&mut self, nack: bool) -> bool {
        if !nack || self.snd_una >= self.recover {
            self.in_recovery = false;
        }
        // IRN §3.1: entered by a NACK, left when all that was sent before is acknowledged.
        let begins = nack && !self.in_recovery;
        if begins {
            self.in_recovery = true;
            self.recover = self.snd_nxt;
        }
        begins
    }

    /// Drops blocks before `snd_una`, and moves `snd_una` past a block that begins there.
    fn clean_up(&mut self) {
        self.sacked.remove_below(self.snd_una);
        if let Some((start, end)) = self.sacked.first()
            && start == self.snd_una
        {
            self.snd_una = end;
            self.sacked.remove_first();
        }
    }

    /// Moves `snd_nxt` past the lowest block if it begins there, and forgets the block.
    #[inline]
    pub(super) fn step(&mut self) {
        if let Some((start, end)) = self.sacked.first()
            && start == self.snd_nxt
        {
            self.snd_nxt = end;
            self.sacked.remove_first();
        }
    }

    fn timeout(&self, config: &RdmaConfig) -> Span {
        match config.recovery {
            Recovery::GoBackN => config.rto,
            Recovery::Irn => {
                let few = u64::from(config.rto_low_packets) * u64::from(config.mss);
                if self.newest.saturating_sub(self.snd_una) > few { config.rto_high } else { config.rto_low }
            }
        }
    }
}

#[cfg(test)]
mod tests;
