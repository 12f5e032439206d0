//! SLEEK: the way a sender finds losses where nothing is trimmed, long before the timeout.
//!
//! | sign of a loss | function |
//! |---|---|
//! | more packets wait for a missing one than reordering explains | [`Sleek::lost`] |
//! | nothing is heard; a probe is answered, and finds next to no queue in which packets could still wait | [`Sleek::judge`] |
//!
//! After a loss, everything unacknowledged within a window of the first missing packet is sent again once, whatever is
//! in flight. Recovery ends when everything that had been sent at its start has arrived.
//!
//! A timeout during recovery sends nothing itself: [`Sleek::goes_back`].
//!
//! The rules and numbers are those of the reference simulator (`runSleek`, `sendProbe`, `rtxTimerExpired` and
//! `processAck` in `uec.cpp`).

use super::Psn;
use crate::transport::congestion::nscc::{averaged, bdp, window_of};
use spinewise_policy::time::{BYTE_PS, Span, Time};
use std::ops::Range;

/// Out-of-order packets that indicate a loss: the minimum, and the number in windows.
const LEAST: u64 = 5;
const WINDOWS: f64 = 1.5;
/// When a probe goes without an answer, in round trips: with data that was never sent, and after another probe.
const FIRST: u64 = 3;
const NEXT: u64 = 5;
/// Weight of a new sample in the average delay.
const WEIGHT: f64 = 0.0125;

/// A sender's knowledge when an answer arrives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// Packets at the receiver that wait for an earlier one.
    pub waiting: u32,
    /// The first packet that the receiver lacked when it answered, and the next new one.
    pub expected: Psn,
    /// See `expected`.
    pub next: Psn,
    /// The window, bytes, and the payload of a full packet.
    pub cwnd: u64,
    /// See `cwnd`.
    pub mss: u64,
    /// The minimum round trip so far.
    pub base_rtt: Span,
    /// Some wait to be sent again.
    pub queued: bool,
}

/// The state of SLEEK.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sleek {
    /// Bits per second, and the time that a probe takes at that rate.
    rate: u64,
    probe_time: Span,
    /// The minimum round trip when something was last heard, and the queueing delay below which nothing is held up.
    base_rtt: Span,
    target: Span,
    /// Average queueing delay, ps, for windows that keep none.
    average: u64,
    /// Recovery is under way, until all before `until` have arrived. All before `again` have been sent again.
    recovering: bool,
    until: Psn,
    again: Psn,
    /// When the next probe falls due; and whether one waits to be sent.
    probe_at: Option<Time>,
    due: bool,
    /// The latest probe and when it was sent.
    probe: u32,
    probed: Time,
}

impl Sleek {
    /// The state of a new flow. A probe has `probe_bytes` on the wire, `network_rtt` is the round trip of an empty network, and
    /// `target_rtts` the target in units of it.
    pub(super) fn new((rate, probe_bytes): (u64, u32), network_rtt: Span, target_rtts: f64) -> Self {
        Sleek {
            rate,
            probe_time: Span(u64::from(probe_bytes) * (BYTE_PS / rate.max(1))),
            base_rtt: network_rtt,
            target: Span((network_rtt.0 as f64 * target_rtts) as u64),
            average: 0,
            recovering: false,
            until: 0,
            again: 0,
            probe_at: None,
            due: false,
            probe: 0,
            probed: Time::ZERO,
        }
    }

    /// Whether retransmissions are sent whatever is in flight.
    #[inline]
    pub(super) fn recovers(&self) -> bool {
        self.recovering
    }

    /// When a probe falls due.
    #[inline]
    pub(super) fn deadline(&self) -> Option<Time> {
        self.probe_at
    }

    /// Whether a probe is to be sent.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        self.due
    }

    /// If a probe falls due at `now`, marks it to be sent, and schedules another in case it gets no answer.
    pub(super) fn expire(&mut self, now: Time) {
        if self.probe_at.is_some_and(|at| at <= now) {
            self.due = true;
            // A round trip learnt from a trimmed packet may be zero: probes go no faster than the line.
            self.probe_at = Some(now + (self.base_rtt * NEXT).max(self.probe_time));
        }
    }

    /// The number of the probe that is sent now.
    pub(super) fn send(&mut self, now: Time) -> u32 {
        self.due = false;
        self.probe += 1;
        self.probed = now;
        self.probe
    }

    /// The round trip of a probe; none unless it is the latest.
    pub(super) fn round_trip(&self, probe: u32, now: Time) -> Option<Span> {
        (probe == self.probe).then(|| now.since(self.probed))
    }

    /// Something has been heard. The delay of the next probe depends on whether data waits that was never sent, or only
    /// an answer is awaited.
    pub(super) fn hear(&mut self, now: Time, known: &Known, has_new: bool) {
        self.base_rtt = known.base_rtt;
        self.probe_at = match (has_new, known.expected < known.next) {
            (true, _) => Some(now + self.base_rtt * FIRST),
            (false, true) => Some(now + self.base_rtt + self.target),
            (false, false) => None,
        };
    }

    /// An answer that may echo a mark was delayed by this much, if it reveals that.
    pub(super) fn feel(&mut self, delay: Option<Span>, marked: bool) {
        if let Some(delay) = delay {
            self.average = averaged(self.average, (delay.0, marked), (self.base_rtt, self.target.0), WEIGHT);
        }
    }

    /// The average queueing delay.
    pub(super) fn delay(&self) -> Span {
        Span(self.average)
    }

    /// A probe has been answered: packets are delayed by this much.
    pub(super) fn judge(&mut self, delay: Span, known: &Known) {
        if delay < self.target {
            (self.recovering, self.until, self.again) = (true, known.next, known.expected);
        }
    }

    /// The range of packets among which all are lost that have not arrived and do not already wait to be sent again.
    pub(super) fn lost(&mut self, known: &Known) -> Range<Psn> {
        self.recovering &= known.expected < self.until;
        let most = window_of(bdp(self.base_rtt, self.rate)) as u64;
        let much = ((WINDOWS * known.cwnd as f64) as u64).min(most).max(LEAST * known.mss) / known.mss;
        if u64::from(known.waiting) < much && !self.recovering {
            return 0..0;
        }
        if !self.recovering && !known.queued {
            (self.recovering, self.until) = (true, known.next);
        }
        let window = known.expected.saturating_add((known.cwnd / known.mss) as Psn);
        self.again.max(known.expected)..self.until.min(window)
    }

    /// A packet is sent again for SLEEK.
    pub(super) fn takes(&mut self, psn: Psn) {
        self.again = psn + 1;
    }

    /// A packet that was sent again for SLEEK is presumed lost once more, and so are those behind it.
    pub(super) fn goes_back(&mut self, psn: Psn) {
        self.again = psn;
    }
}
