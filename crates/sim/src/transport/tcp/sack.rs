//! The sending end of a TCP connection with selective acknowledgements: conservative recovery (RFC 6675), or RACK-TLP
//! (RFC 8985) with proportional rate reduction (RFC 6937) as Linux runs it.
//!
//! Window, estimate and timeout are those of the inner [`TcpSender`]; this module decides from the scoreboard which
//! segments are lost and what is sent when. `snd_nxt` never goes back: after a timeout lost segments go first, as
//! recorded on the board.
//! * Segments keep the boundaries at which the flow is cut, so RFC 6675's rules in bytes are rules in segments.
//! * A sender may send what `cwnd` leaves beyond the pipe, in every state: that is limited transmit (RFC 6675 §5 step
//!   3).
//! * After a timeout slow start fills in lost segments, lowest first (RFC 6675 §5.1 leaves this open).
//! * SACK information is kept across a timeout: no receiver here discards data it has reported.
//! * A rescue counts in the pipe like anything sent again, beside the segment that it repeats.

use super::{AckOutcome, Segment, TcpSender};
use crate::transport::config::{Recovery, TcpConfig};
use crate::transport::congestion::Marks;
use crate::transport::contract::Answer;
use crate::transport::sack::Sack;
use board::Board;
use rack::{Before, Rack};
use spinewise_policy::time::Time;

mod board;
mod rack;

/// The segment that may go next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    /// The next new segment.
    New,
    /// This one, sent before.
    Again(u64),
    /// The rescue retransmission of RFC 6675, of this segment.
    Rescue(u64),
}

/// The timer that has expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expired {
    /// The retransmission timeout.
    Timeout,
    /// A RACK-TLP timer: nothing is known to be lost except by its rules.
    Other,
}

/// The state of a sender with selective acknowledgements.
#[derive(Clone, Debug)]
pub struct SackSender {
    tcp: TcpSender,
    board: Board,
    /// None with RFC 6675.
    rack: Option<Box<Rack>>,
    due: Option<Due>,
    /// The due segment goes whatever the window.
    forced: bool,
    /// Segments that the bound on bursts still allows.
    burst: u64,
    /// A recovery after a timeout is under way.
    after_timeout: bool,
    /// RFC 6675's RescueRxt: the rescue of this recovery waits until all below this byte is acknowledged.
    rescue_from: u64,
    spurious: u32,
}

impl SackSender {
    /// A sender on a connection on which `tcp` has sent nothing yet.
    pub fn new(config: &TcpConfig, tcp: TcpSender) -> Self {
        let board = Board::new(config.mss, tcp.size);
        let rack = (config.recovery == Recovery::Rack).then(|| Box::new(Rack::new(tcp.srtt(), config.rack_least_rtt)));
        let (due, forced) = (None, false);
        let burst = if config.max_burst == 0 { u64::MAX } else { config.max_burst.into() };
        let mut sender =
            Self { tcp, board, rack, due, forced, burst, after_timeout: false, rescue_from: 0, spurious: 0 };
        sender.look_ahead(config);
        sender
    }

    /// The window, the estimate and the counters.
    pub fn tcp(&self) -> &TcpSender {
        &self.tcp
    }

    /// See [`TcpSender::couple`].
    pub fn couple(&mut self, window: u64) {
        self.tcp.couple(window);
    }

    /// See [`TcpSender::resize`]. What is outstanding must be full segments, unless it remains everything.
    pub fn resize(&mut self, config: &TcpConfig, size: u64) {
        if size != self.tcp.size {
            self.tcp.resize(size);
            self.board.resize(size, self.tcp.snd_max);
            self.look_ahead(config);
        }
    }

    /// Whether the segment that [`Self::next_segment`] would return has been sent before.
    pub fn repeats(&self) -> bool {
        matches!(self.due, Some(Due::Again(_) | Due::Rescue(_)))
    }

    /// Segments sent again that had arrived, as far as DSACK reported (RFC 2883).
    pub fn spurious_retransmits(&self) -> u32 {
        self.spurious
    }

    /// Whether [`Self::next_segment`] may be called.
    #[inline]
    pub fn can_send(&self) -> bool {
        self.due.is_some() && (self.forced || self.burst > 0 && self.fits())
    }

    /// RFC 6675 §5 step (C): whether the window leaves room for the due segment.
    #[inline]
    fn fits(&self) -> bool {
        let number = match self.due {
            None => return false,
            Some(Due::New) => self.board.end(),
            Some(Due::Again(number) | Due::Rescue(number)) => number,
        };
        self.board.pipe() + self.board.bytes(number).1 <= self.tcp.window.cwnd
    }

    /// Takes the next segment to send at `now`. [`Self::can_send`] must hold.
    pub fn next_segment(&mut self, config: &TcpConfig, now: Time) -> Segment {
        debug_assert!(self.can_send(), "nothing may be sent");
        let (number, retransmit) = match self.due {
            Some(Due::Again(number)) => (number, true),
            Some(Due::Rescue(number)) => {
                self.rescue_from = u64::MAX; // one in each recovery
                (number, true)
            }
            Some(Due::New) | None => (self.board.end(), false),
        };
        let (seq, len) = self.board.bytes(number);
        if retransmit {
            self.board.again(number, now);
        } else {
            self.board.push(now);
        }
        let tcp = &mut self.tcp;
        tcp.snd_nxt = tcp.snd_nxt.max(seq + len);
        tcp.snd_max = tcp.snd_nxt;
        tcp.note_peak();
        tcp.packets += 1;
        tcp.retransmits += u32::from(retransmit);
        let cwr = tcp.cwr_due && !retransmit;
        tcp.cwr_due &= !cwr;
        if tcp.deadline == Time::NEVER {
            tcp.start_timer(config, now); // RFC 6298 (5.1)
        }
        self.forced = false;
        if config.max_burst > 0 {
            self.burst = self.burst.saturating_sub(1);
        }
        if let Some(rack) = &mut self.rack {
            rack.on_send(&self.tcp, (seq, len), retransmit, now);
            self.schedule_probe(config, now);
        }
        self.look_ahead(config);
        Segment { seq, len: len as u32, retransmit, cwr }
    }

    /// Takes an acknowledgement that arrives at `now`, with the SACK option it carries.
    pub fn on_ack(&mut self, config: &TcpConfig, now: Time, ack: &Answer, sack: &Sack) -> AckOutcome {
        let mut out = AckOutcome { rtt: now.since(ack.echo), ..AckOutcome::default() };
        self.release(config);
        let (una, before) = (self.tcp.snd_una, self.tcp.fast_retransmits);
        self.spurious += u32::from(sack.duplicate(ack.cumulative).is_some());
        if let Some(rack) = &mut self.rack
            && rack.begin_ack(out.rtt)
        {
            self.forced = false;
        }
        let recovers = self.tcp.in_recovery || self.after_timeout;
        let delivered = self.update(now, ack, sack);
        let ece = ack.ece && config.ecn();
        if ack.cumulative > una {
            self.on_new_data(config, now, ack, ece, &mut out);
        } else if ack.cumulative == una && self.tcp.snd_max > una {
            out.dupack3 = self.tcp.count_duplicate();
            if delivered > 0 && self.rack.is_some() {
                self.tcp.rtt.sample(out.rtt); // as in Linux, where what a block reports is new data, too
            }
            if ece && !recovers {
                self.tcp.on_mark(config, now);
            }
        }
        if self.rack.is_some() {
            self.rack_ack(config, now, (ack, sack), &Before { una, recovers }, delivered);
        } else {
            // RFC 6675 §5 steps (1) and (2) in one: n duplicates report n segments above; fewer do if some of them were
            // lost.
            self.board.lose_overtaken(u64::from(config.dupack_threshold));
            if self.board.first_is_lost() && !self.tcp.in_recovery && !self.after_timeout {
                self.enter_recovery(config, now);
            }
        }
        out.entered_recovery = self.tcp.fast_retransmits > before;
        self.look_ahead(config);
        out
    }

    /// A timer has expired: the caller has seen `deadline() <= now`.
    pub fn on_timeout(&mut self, config: &TcpConfig, now: Time) -> Expired {
        self.release(config);
        if self.rack.is_some() && self.rack_timer(config, now) {
            self.look_ahead(config);
            return Expired::Other;
        }
        let tcp = &mut self.tcp;
        // As in Linux (`tcp_enter_loss`): a window of data that has been cut is not cut again.
        let is_cut = tcp.in_recovery || tcp.is_cut_by_mark();
        let before = (!is_cut && !self.after_timeout).then(|| tcp.before_cut());
        if tcp.backoff == 0 && !(is_cut && self.rack.is_some()) {
            tcp.window.ssthresh = tcp.threshold(config, now);
        }
        tcp.window.cwnd = u64::from(config.mss);
        tcp.leave_recovery();
        // RFC 6675 §5.1: no recovery before all that was sent is acknowledged
        tcp.mark_loss();
        tcp.dupacks = 0;
        tcp.timeouts += 1;
        tcp.back_off(config, now);
        if self.rack.is_some() {
            self.rack_timeout(config, now, before);
        } else {
            self.board.lose_all();
        }
        self.after_timeout = true;
        self.board.rewind();
        self.forced = true;
        self.look_ahead(config);
        Expired::Timeout
    }

    /// When the next timer expires, while data is outstanding.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        let mut at = self.tcp.deadline;
        if let Some(rack) = &self.rack {
            at = at.min(rack.deadline());
        }
        (at != Time::NEVER).then_some(at)
    }

    /// Allows another burst after an event; anything the window prevented of the previous one is forfeit.
    fn release(&mut self, config: &TcpConfig) {
        if config.max_burst > 0 {
            let kept = if self.fits() { self.burst } else { 0 };
            self.burst = kept + u64::from(config.max_burst);
        }
    }

    /// RFC 6675 §4, Update. Returns the bytes that have newly arrived.
    ///
    /// As in Linux, blocks come in ascending order, and then what the ACK covers: that is out of order only if it is
    /// below what was known before this ACK.
    fn update(&mut self, now: Time, ack: &Answer, sack: &Sack) -> u64 {
        let mut delivered = 0;
        let (board, rack) = (&mut self.board, &mut self.rack);
        let before = rack.as_ref().map_or(0, |rack| rack.highest());
        for (start, end) in sack.fresh(ack.cumulative) {
            delivered += board.deliver(start, end, |segment| {
                if let Some(rack) = rack {
                    rack.on_delivery(now, ack.echo, segment, rack.highest());
                }
            });
        }
        if ack.cumulative > self.tcp.snd_una {
            delivered += board.advance(ack.cumulative, |segment| {
                if let Some(rack) = rack {
                    rack.on_delivery(now, ack.echo, segment, before);
                }
            });
        }
        delivered
    }

    /// The cumulative acknowledgement has advanced.
    fn on_new_data(&mut self, config: &TcpConfig, now: Time, ack: &Answer, ece: bool, out: &mut AckOutcome) {
        let tcp = &mut self.tcp;
        let acked = ack.cumulative - tcp.snd_una;
        tcp.snd_una = ack.cumulative;
        tcp.dupacks = 0;
        tcp.rtt.sample(out.rtt);
        tcp.backoff = 0;
        let acked_now = tcp.acked_now(config, now, acked, ece, out.rtt);
        tcp.control.on_ack(&config.control, &mut tcp.window, &acked_now);
        if tcp.in_recovery {
            if ack.cumulative >= tcp.recover {
                // RFC 6675 §5 step (A); RFC 6937 §3: the window is ssthresh in the end
                tcp.window.cwnd = tcp.window.ssthresh;
                tcp.leave_recovery();
                self.forced = false;
                if let Some(rack) = &mut self.rack {
                    rack.left_recovery();
                }
            }
        } else {
            if ece {
                tcp.on_mark(config, now);
            } else {
                tcp.grow(config, &acked_now);
            }
            if self.after_timeout && ack.cumulative >= tcp.recover {
                self.after_timeout = false;
                if let Some(rack) = &mut self.rack {
                    rack.left_recovery();
                }
            }
        }
        if tcp.snd_una == tcp.snd_max {
            tcp.deadline = Time::NEVER; // RFC 6298 (5.2)
        } else {
            tcp.start_timer(config, now); // RFC 6298 (5.3)
        }
        out.newly_acked = acked;
        out.done = tcp.is_done();
    }

    /// RFC 6675 §5 step (4).
    fn enter_recovery(&mut self, config: &TcpConfig, now: Time) {
        let tcp = &mut self.tcp;
        // RFC 3168 §6.1.2: one cut for what is marked and what is dropped in one window of data
        if !(config.marks() == Marks::Repeated && tcp.is_cut_by_mark()) {
            tcp.window.ssthresh = tcp.threshold(config, now);
        }
        tcp.window.cwnd = tcp.window.ssthresh;
        tcp.mark_loss();
        tcp.in_recovery = true;
        tcp.fast_retransmits += 1;
        self.forced = true; // step (4.3)
        let (seq, len) = self.board.bytes(self.board.first());
        self.rescue_from = seq + len;
        self.board.rewind();
    }

    /// Decides which segment may go next: RFC 6675 §4, NextSeg.
    fn look_ahead(&mut self, config: &TcpConfig) {
        let tcp = &self.tcp;
        let limit = tcp.snd_una.saturating_add(config.limit_bytes(config.max_window));
        let unsent = tcp.snd_nxt < tcp.size && (tcp.snd_nxt + u64::from(config.mss)).min(tcp.size) <= limit;
        if self.rack.as_ref().is_some_and(|rack| rack.probes()) {
            // RFC 8985 §7.3: new data if there is any, else the highest segment
            self.due = Some(if unsent { Due::New } else { Due::Again(self.board.end() - 1) });
            self.forced = true;
            return;
        }
        // Rule (1); data sent after a timeout waits for a recovery of its own.
        let waits = self.board.number(tcp.recover);
        let all = tcp.in_recovery || self.after_timeout && self.rack.is_some();
        let lost = self.board.next_lost().filter(|&number| all || self.after_timeout && number < waits);
        self.due = if let Some(number) = lost {
            Some(Due::Again(number))
        } else if unsent {
            Some(Due::New) // rule (2)
        } else if self.tcp.in_recovery && self.rack.is_none() {
            self.rules_3_and_4()
        } else {
            None
        };
        self.forced &= lost.is_some();
    }

    /// RFC 6675 §4, NextSeg rules (3) and (4), when there is no new data.
    fn rules_3_and_4(&mut self) -> Option<Due> {
        match self.board.next_hole() {
            Some(number) => Some(Due::Again(number)),
            None if self.tcp.snd_una < self.rescue_from => None,
            None => self.board.last_hole().map(Due::Rescue),
        }
    }
}

#[cfg(test)]
mod tests;
