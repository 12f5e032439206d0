//! The sending end of a TCP connection: what may be sent, what was lost, when to stop waiting.
//!
//! Slow start, congestion avoidance, fast retransmit and fast recovery of RFC 5681 with the NewReno modification of RFC
//! 6582 and the timer of RFC 6298. The [congestion control](super::congestion::window) decides how the window grows in
//! congestion avoidance, and how it reacts to a mark or a loss. Sequence numbers are byte offsets into the flow, so
//! that `recover`, `snd_una` and `snd_nxt` are all "one past the last byte". Choices where the RFCs leave one:
//! * Slow start grows by min(bytes acknowledged, SMSS) for an ACK (RFC 5681 eq. 2).
//! * Reno (RFC 5681 without RFC 6582) ends a fast recovery with any ACK of new data, and begins another with the next
//!   duplicates.
//! * After a NewReno fast recovery cwnd is min(ssthresh, max(FlightSize, SMSS) + SMSS), which prevents a burst.
//! * Limited transmit (RFC 3042), if on: each of the first two duplicates lets one new segment go beyond the window,
//!   and no other does.
//! * Only the first partial ACK restarts the timer ("Impatient", RFC 6582 §4).
//! * ACKs carry timestamps: each ACK of new data gives a round-trip sample, retransmitted or not.

use super::config::TcpConfig;
use super::congestion::window::Control;
use super::congestion::{Acked, Start, Window};
use super::contract::Answer;
use super::rtt::RttEstimator;
use spinewise_policy::hash;
use spinewise_policy::time::{Span, Time};

/// A segment to be sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its first byte.
    pub seq: u64,
    /// Its bytes of payload.
    pub len: u32,
    /// Whether its bytes had been sent before.
    pub retransmit: bool,
    /// It is the first new data since the window was reduced (RFC 3168: CWR).
    pub cwr: bool,
}

/// The effect of an acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckOutcome {
    /// Bytes acknowledged for the first time.
    pub newly_acked: u64,
    /// A fast retransmit has just begun.
    pub entered_recovery: bool,
    /// The third duplicate in a row has just arrived, counted whatever the threshold and the state.
    pub dupack3: bool,
    /// This ACK completed the flow.
    pub done: bool,
    /// The round-trip time of the packet that triggered the ACK, whether it was used or not.
    pub rtt: Span,
}

/// The reason of the last window cut, until everything sent or due by then has been acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    /// None, or that period is over.
    Over,
    /// Marks.
    ByMark,
    /// A loss.
    ByLoss,
    /// A loss, and this recovery has seen a partial ACK.
    PartlyRepaired,
}

/// The state of a TCP sender.
#[derive(Clone, Debug)]
pub struct TcpSender {
    size: u64,
    /// The first byte not acknowledged.
    snd_una: u64,
    /// The next byte to send; less than `snd_max` while going back after a timeout.
    snd_nxt: u64,
    /// One past the last byte ever sent.
    snd_max: u64,
    /// RFC 6582: `snd_max` at the last loss; zero before the first.
    recover: u64,
    window: Window,
    control: Control,
    /// The next reaction to marks needs an ACK beyond this byte: one for each window of data (RFC 3168 §6.1.2, RFC 8257
    /// §3.3).
    reduced_until: u64,
    /// The most that was in flight in this window of data, and where the window ends.
    peak_flight: u64,
    peak_until: u64,
    /// Bytes up to here may be sent: each event releases a burst ([`u64::MAX`] = no bound).
    released: u64,
    rtt: RttEstimator,
    /// When the retransmission timer expires, [`Time::NEVER`] while it is off.
    deadline: Time,
    /// The lowest bits of [`Start::salt`], for [`Self::tick`].
    salt: u16,
    /// Duplicate ACKs in a row.
    dupacks: u32,
    packets: u32,
    retransmits: u32,
    timeouts: u32,
    fast_retransmits: u32,
    dupack3_events: u32,
    /// Expiries of the timer since the last ACK of new data.
    backoff: u8,
    in_recovery: bool,
    /// What the window was cut for.
    cut: Cut,
    /// The segment at `snd_una` is to be sent again, whatever the window.
    retransmit_due: bool,
    /// The next new segment reports that the window was reduced.
    cwr_due: bool,
    /// Segments that went beyond the window since the last ACK of new data (RFC 3042).
    limited: u8,
}

impl TcpSender {
    /// A sender of a flow that has sent nothing.
    pub fn new(config: &TcpConfig, start: &Start) -> Self {
        let max_window = config.limit_bytes(config.max_window);
        Self {
            size: start.size,
            snd_una: 0,
            snd_nxt: 0,
            snd_max: 0,
            recover: 0,
            window: Window {
                cwnd: config.limit_bytes(config.initial_window.max(1)).min(max_window),
                ssthresh: config.limit_bytes(config.initial_ssthresh),
            },
            control: Control::new(config.kind, &config.control, start),
            reduced_until: 0,
            peak_flight: 0,
            peak_until: 0,
            released: config.limit_bytes(config.max_burst),
            rtt: RttEstimator::default(),
            deadline: Time::NEVER,
            salt: start.salt as u16,
            dupacks: 0,
            packets: 0,
            retransmits: 0,
            timeouts: 0,
            fast_retransmits: 0,
            dupack3_events: 0,
            backoff: 0,
            in_recovery: false,
            cut: Cut::Over,
            retransmit_due: false,
            cwr_due: false,
            limited: 0,
        }
    }

    /// The same on a connection opened after `syn_timeouts` SYNs were lost; the last SYN was answered after `rtt`.
    pub fn opened(config: &TcpConfig, start: &Start, rtt: Span, syn_timeouts: u32) -> Self {
        let mut sender = Self::new(config, start);
        sender.rtt.sample(rtt);
        sender.timeouts = syn_timeouts;
        if syn_timeouts > 0 {
            // RFC 5681 §3.1: one segment after a lost SYN
            sender.window.cwnd = u64::from(config.mss);
        }
        sender
    }

    /// Whether [`Self::next_segment`] may be called: a retransmission is due, or the whole next segment fits into the
    /// window beside what is in flight.
    #[inline(always)]
    pub fn can_send(&self, config: &TcpConfig) -> bool {
        if self.retransmit_due {
            return true;
        }
        let most = config.limit_bytes(config.max_window);
        let len = u64::from(config.mss).min(self.size - self.snd_nxt);
        if self.limited_due(config) {
            return len > 0 && self.flight() + len <= most;
        }
        len > 0 && self.flight() + len <= self.window.cwnd.min(most) && self.snd_nxt + len <= self.released
    }

    /// Takes the next segment to send at `now`, a due retransmission first.
    /// [`Self::can_send`] must hold.
    #[inline]
    pub fn next_segment(&mut self, config: &TcpConfig, now: Time) -> Segment {
        debug_assert!(self.can_send(config), "nothing may be sent");
        let seq = if self.retransmit_due { self.snd_una } else { self.snd_nxt };
        self.limited += u8::from(self.limited_due(config));
        self.retransmit_due = false;
        let len = u64::from(config.mss).min(self.size - seq);
        let retransmit = seq < self.snd_max;
        self.snd_nxt = self.snd_nxt.max(seq + len);
        self.snd_max = self.snd_max.max(self.snd_nxt);
        self.note_peak();
        self.packets += 1;
        self.retransmits += u32::from(retransmit);
        let cwr = self.cwr_due && !retransmit;
        self.cwr_due &= !cwr;
        if self.deadline == Time::NEVER {
            self.start_timer(config, now); // RFC 6298 (5.1)
        }
        Segment { seq, len: len as u32, retransmit, cwr }
    }

    /// Whether a duplicate lets a new segment go beyond the window: each of the first two lets one go (RFC 3042 §2).
    #[inline(always)]
    fn limited_due(&self, config: &TcpConfig) -> bool {
        let due = self.dupacks.min(2) > u32::from(self.limited) && config.limited_transmit;
        due && !self.in_recovery && self.snd_nxt == self.snd_max
    }

    /// Records what is in flight after a segment has been sent.
    #[inline(always)]
    fn note_peak(&mut self) {
        if self.snd_una >= self.peak_until || self.flight() > self.peak_flight {
            self.peak_flight = self.flight();
            self.peak_until = self.snd_nxt;
        }
    }

    /// Takes an acknowledgement that arrives at `now`.
    #[inline]
    pub fn on_ack(&mut self, config: &TcpConfig, now: Time, ack: &Answer) -> AckOutcome {
        debug_assert!(ack.cumulative <= self.snd_max, "acknowledges what was never sent");
        let mut out = AckOutcome { rtt: now.since(ack.echo), ..AckOutcome::default() };
        let ece = ack.ece && config.ecn();
        if config.max_burst > 0 {
            self.released = self.released.min(self.snd_una.saturating_add(self.window.cwnd));
        }
        if ack.cumulative > self.snd_una {
            self.on_new_ack(config, now, ack.cumulative, ece, &mut out);
        } else if ack.cumulative == self.snd_una && self.snd_max > self.snd_una {
            self.on_duplicate(config, now, ece, &mut out);
        } // else an ACK overtaken on its way, or one for a flow that is done: RFC 5681 §2 (a)
        let silent = config.limited_transmit && out.newly_acked == 0 && !self.in_recovery;
        if config.max_burst > 0 && !silent {
            self.release(config);
        }
        out
    }

    /// The retransmission timer has expired: the caller has seen `deadline() <= now`.
    pub fn on_timeout(&mut self, config: &TcpConfig, now: Time) {
        debug_assert!(self.deadline <= now && self.snd_una < self.snd_max, "no timeout is due");
        // RFC 5681 §3.1: ssthresh is held when the same segment times out again.
        if self.backoff == 0 {
            self.window.ssthresh = self.threshold(config, now);
        }
        self.window.cwnd = u64::from(config.mss); // the loss window, RFC 5681 §3.1
        self.snd_nxt = self.snd_una; // go back; RFC 6298 (5.4) follows by the next segment
        self.limited = 0;
        self.leave_recovery();
        self.mark_loss(); // RFC 6582 §3.2 step 4
        self.dupacks = 0;
        self.timeouts += 1;
        self.back_off(config, now);
        if config.max_burst > 0 {
            self.released = self.snd_nxt;
            self.release(config);
        }
    }

    /// An ACK of new data.
    #[inline]
    fn on_new_ack(&mut self, config: &TcpConfig, now: Time, cumulative: u64, ece: bool, out: &mut AckOutcome) {
        let acked = cumulative - self.snd_una;
        self.snd_una = cumulative;
        self.snd_nxt = self.snd_nxt.max(cumulative); // what arrived before going back need not be sent again
        self.dupacks = 0;
        self.limited = 0;
        self.rtt.sample(out.rtt);
        self.backoff = 0; // RFC 6298 §5: the new sample replaces the backed-off timeout
        let ack = self.acked_now(config, now, acked, ece, out.rtt);
        self.control.on_ack(&config.control, &mut self.window, &ack);
        let mut restart = true;
        if self.in_recovery {
            restart = self.on_ack_in_recovery(config, acked);
        } else if ece {
            self.on_mark(config, now);
        } else {
            if self.may_reduce() {
                self.cut = Cut::Over;
            }
            if !(config.hold_after_mark && self.cut == Cut::ByMark) {
                self.grow(config, &ack);
            }
        }
        if self.snd_una == self.snd_max {
            self.deadline = Time::NEVER; // RFC 6298 (5.2)
        } else if restart {
            self.start_timer(config, now); // RFC 6298 (5.3)
        }
        out.newly_acked = acked;
        out.done = self.is_done();
    }

    /// An acknowledgement of `bytes` new bytes, as the congestion control sees it.
    #[inline(always)]
    fn acked_now(&self, config: &TcpConfig, now: Time, bytes: u64, marked: bool, rtt: Span) -> Acked {
        Acked {
            now,
            bytes,
            cumulative: self.snd_una,
            next: self.snd_nxt,
            marked,
            recovering: self.in_recovery,
            mss: u64::from(config.mss),
            rtt,
            srtt: self.rtt.srtt().unwrap_or_default(),
        }
    }

    /// Whether a mark may cut the window now.
    #[inline]
    fn may_reduce(&self) -> bool {
        self.snd_una > self.reduced_until
    }

    /// Lets the window grow on an ACK, up to the receiver's bound and only if it has been used (RFC 7661 §4.3; the
    /// measure is Linux's: twice the peak flight in slow start, all of it afterwards). Otherwise a window that the NIC
    /// or the application cannot fill would make a later cut ineffective. A window that a bound on bursts keeps from
    /// being filled still grows: acknowledgements will fill it.
    #[inline]
    fn grow(&mut self, config: &TcpConfig, ack: &Acked) {
        if self.window.cwnd < self.window.ssthresh {
            if self.window.cwnd >= 2 * self.peak_flight && config.max_burst == 0 {
                return;
            }
            self.window.cwnd += ack.bytes.min(ack.mss); // RFC 5681 eq. (2)
        } else {
            if self.peak_flight + ack.mss <= self.window.cwnd && config.max_burst == 0 {
                return;
            }
            self.control.grow(&config.control, &mut self.window, ack);
        }
        self.window.cwnd = self.window.cwnd.min(config.limit_bytes(config.max_window));
    }

    /// An event lets a burst go beyond what has been sent, or could have been if the NIC had not been busy.
    fn release(&mut self, config: &TcpConfig) {
        self.released = self.released.max(self.snd_nxt) + config.limit_bytes(config.max_burst);
    }

    /// The timer has expired: informs the congestion control, and makes the next timer longer.
    fn back_off(&mut self, config: &TcpConfig, now: Time) {
        self.backoff = self.backoff.saturating_add(1); // RFC 6298 (5.5)
        self.control.on_timeout(&config.control, u32::from(self.backoff), now);
        self.start_timer(config, now); // RFC 6298 (5.6)
    }

    #[inline]
    fn start_timer(&mut self, config: &TcpConfig, now: Time) {
        self.deadline = now + self.rtt.rto(config, self.backoff);
        if config.rto_tick != Span::ZERO {
            self.deadline += self.tick(config, now);
        }
    }

    /// How late a timer set now is: somewhere in a tick.
    fn tick(&self, config: &TcpConfig, now: Time) -> Span {
        let roll = hash::mix2(config.dice ^ u64::from(self.salt), now.0);
        Span(((u128::from(roll) * u128::from(config.rto_tick.0)) >> 64) as u64)
    }
}

mod asked;
mod recovery;
pub(crate) mod sack;

#[cfg(test)]
mod both_ends;
#[cfg(test)]
mod tests;
