//! RACK-TLP (RFC 8985): a segment is lost when one sent well after it has arrived, and the tail of a flow is probed.
//!
//! | Linux, `net/ipv4` | here |
//! |---|---|
//! | `tcp_recovery.c`: time-based detection, reordering window by DSACK | [`Rack::window`], `detect` |
//! | `tcp_output.c`: loss probe | `schedule_probe`, [`Rack::probes`] |
//! | `tcp_input.c`: proportional rate reduction (RFC 6937, with RFC 9937's RecoverFS and safe ACKs) | `reduce` |
//! | `tcp_input.c`: undo by time stamps (RFC 3522, 4015) and by DSACK (RFC 3708), not after ECN-Echo | `undo` |
//!
//! Differences: the reduction begins from what is in flight, as in the RFC, where Linux takes the window; the minimum round
//! trip is that of the whole connection; timers have no ticks; and the acknowledgement delay that a probe allows for is the
//! configured one.

use super::SackSender;
use super::board::Delivery;
use crate::transport::config::TcpConfig;
use crate::transport::contract::Answer;
use crate::transport::sack::Sack;
use crate::transport::tcp::TcpSender;
use crate::transport::tcp::recovery::BeforeCut;
use spinewise_policy::time::{Span, Time};

/// RFC 8985 §6.2 step 4: a wider window is kept for this many recoveries without DSACK.
const PERSIST: u32 = 16;

/// `tcp_recovery.c`: the window is at most this many quarters of the minimum round trip.
const MOST_STEPS: u32 = 255;

/// The sender before an acknowledgement: the first outstanding byte, and whether it was in a recovery, fast or after a
/// timeout.
pub(super) struct Before {
    pub(super) una: u64,
    pub(super) recovers: bool,
}

/// A recovery that has begun, until it is known to have been right.
#[derive(Clone, Debug)]
struct Undo {
    /// `snd_una` when the recovery began.
    una: u64,
    /// None: the window was cut with reason, by an ECN-Echo (RFC 4015 §3.4).
    before: Option<BeforeCut>,
    /// Segments sent again since, and how many of those DSACK has not reported.
    sent: u32,
    open: u32,
    /// When the first of them was sent again, and where it ends.
    first_at: Time,
    first_end: u64,
}

/// The state of RACK-TLP, in addition to the scoreboard.
#[derive(Clone, Debug)]
pub(super) struct Rack {
    min_rtt: Span,
    /// For the most recently sent of the segments that have arrived: when it was sent, its number, its round-trip time.
    xmit: Time,
    newest: u64,
    rtt: Span,
    /// One past the highest segment that has arrived.
    fack: u64,
    reordering_seen: bool,
    /// RACK.dsack_round: until this byte is acknowledged, further DSACKs do not widen the window.
    dsack_round: Option<u64>,
    reo_wnd_mult: u32,
    reo_wnd_persist: u32,
    /// The reordering timer and the probe timer, [`Time::NEVER`] while off.
    reorder_at: Time,
    probe_at: Time,
    /// The probe is to be sent now.
    probing: bool,
    /// TLP.end_seq and TLP.is_retrans of the probe in flight.
    probe_end: Option<u64>,
    probe_again: bool,
    /// There has been a round-trip sample since the last probe.
    sampled: bool,
    /// A recovery has just ended.
    left: bool,
    /// RFC 9937: bytes delivered and sent in this recovery, and in flight before the ACK with which it began.
    prr_delivered: u64,
    prr_out: u64,
    recover_fs: u64,
    undo: Option<Undo>,
}

impl Rack {
    /// Creates the state of a connection whose handshake took `srtt`, if there was one; `known` is a round trip known
    /// in advance, zero if none was.
    pub(super) fn new(srtt: Option<Span>, known: Span) -> Self {
        let known = if known == Span::ZERO { Span::FOREVER } else { known };
        Rack {
            min_rtt: srtt.map_or(known, |srtt| srtt.min(known)),
            xmit: Time::ZERO,
            newest: 0,
            rtt: Span::ZERO,
            fack: 0,
            reordering_seen: false,
            dsack_round: None,
            reo_wnd_mult: 1,
            reo_wnd_persist: PERSIST,
            reorder_at: Time::NEVER,
            probe_at: Time::NEVER,
            probing: false,
            probe_end: None,
            probe_again: false,
            sampled: srtt.is_some(),
            left: false,
            prr_delivered: 0,
            prr_out: 0,
            recover_fs: 0,
            undo: None,
        }
    }

    /// When the first of its timers expires.
    pub(super) fn deadline(&self) -> Time {
        self.reorder_at.min(self.probe_at)
    }

    /// Whether a probe is to be sent now.
    pub(super) fn probes(&self) -> bool {
        self.probing
    }

    /// An acknowledgement arrived. Was a probe about to be sent? It is now cancelled.
    pub(super) fn begin_ack(&mut self, rtt: Span) -> bool {
        // RFC 8985 §6.2 step 1
        self.min_rtt = self.min_rtt.min(rtt);
        std::mem::take(&mut self.probing)
    }

    /// The end of the highest segment that has arrived.
    pub(super) fn highest(&self) -> u64 {
        self.fack
    }

    /// RFC 8985 §6.2 steps 2 and 3, for a segment that is newly acknowledged; `echo` is the timestamp that came back,
    /// and `highest` the end of the highest segment known to have arrived before it.
    pub(super) fn on_delivery(&mut self, now: Time, echo: Time, segment: Delivery, highest: u64) {
        self.reordering_seen |= segment.number < highest && !segment.again;
        self.fack = self.fack.max(segment.number + 1);
        let rtt = now.since(segment.sent);
        if segment.again && (echo < segment.sent || rtt < self.min_rtt) {
            return; // it is the first transmission that has arrived
        }
        self.rtt = rtt;
        if (segment.sent, segment.number) > (self.xmit, self.newest) {
            (self.xmit, self.newest) = (segment.sent, segment.number);
        }
    }

    /// A segment is sent.
    pub(super) fn on_send(&mut self, tcp: &TcpSender, segment: (u64, u64), retransmit: bool, now: Time) {
        let (seq, len) = segment;
        if std::mem::take(&mut self.probing) {
            (self.probe_end, self.probe_again, self.sampled) = (Some(tcp.snd_nxt), retransmit, false);
            return;
        }
        self.prr_out += len;
        if let Some(undo) = self.undo.as_mut().filter(|_| retransmit) {
            if undo.sent == 0 {
                (undo.first_at, undo.first_end) = (now, seq + len);
            }
            undo.sent += 1;
            undo.open += 1;
        }
    }

    /// A recovery, fast or after a timeout, is over.
    pub(super) fn left_recovery(&mut self) {
        self.left = true;
    }

    /// RFC 8985 §6.2 step 4: the effect of DSACK and of the end of a recovery on the window. `tcp` has taken the ACK.
    ///
    /// As in Linux, DSACK counts once reordering has been seen, and not if it reports a probe.
    fn adapt(&mut self, tcp: &TcpSender, duplicate: Option<(u64, u64)>) {
        let dsack = self.reordering_seen && duplicate.is_some_and(|(_, end)| !self.is_of_probe(end));
        let left = std::mem::take(&mut self.left);
        self.dsack_round = self.dsack_round.filter(|&round| tcp.snd_una < round);
        if dsack && self.dsack_round.is_none() {
            self.dsack_round = Some(tcp.snd_nxt);
            self.reo_wnd_mult = (self.reo_wnd_mult + 1).min(MOST_STEPS);
            self.reo_wnd_persist = PERSIST;
        } else if left {
            self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
            if self.reo_wnd_persist == 0 {
                self.reo_wnd_mult = 1;
            }
        }
    }

    /// RFC 8985 §6.2 step 4: how much later than one that has arrived a segment may arrive.
    fn window(&self, recovers: bool, sacked: u64, threshold: u32, srtt: Span) -> Span {
        let enough = threshold > 0 && sacked >= u64::from(threshold);
        if !self.reordering_seen && (recovers || enough) {
            return Span::ZERO;
        }
        Span((self.min_rtt.0 / 4).saturating_mul(u64::from(self.reo_wnd_mult)).min(srtt.0))
    }
}

impl SackSender {
    /// RACK-TLP's reaction to an acknowledgement, which reports `delivered` bytes as new.
    pub(super) fn rack_ack(
        &mut self,
        config: &TcpConfig,
        now: Time,
        (ack, sack): (&Answer, &Sack),
        before: &Before,
        delivered: u64,
    ) {
        let Some(rack) = self.rack.as_deref_mut() else { return };
        let (duplicate, ece) = (sack.duplicate(ack.cumulative), ack.ece && config.ecn());
        let advances = ack.cumulative > before.una;
        rack.sampled |= advances;
        rack.adapt(&self.tcp, duplicate);
        if ece {
            rack.on_mark(before.recovers);
        }
        if rack.judge(ack, before, duplicate) {
            self.undo();
        }
        self.probe_answered(config, now, ack, sack, before.una);
        let lost = self.detect(config, now, ece, delivered);
        self.reduce(config, delivered, advances && !lost);
        if delivered > 0 {
            self.schedule_probe(config, now);
        }
    }

    /// RFC 8985 §6.2 step 5: marks lost segments, begins a recovery, arms the reordering timer. `ece`: an
    /// acknowledgement with ECN-Echo is the reason to look; `delivered`: bytes that it reported. Returns whether anything
    /// was marked.
    fn detect(&mut self, config: &TcpConfig, now: Time, ece: bool, delivered: u64) -> bool {
        let Some(rack) = self.rack.as_deref_mut() else { return false };
        let recovers = self.tcp.in_recovery || self.after_timeout;
        let srtt = self.tcp.srtt().unwrap_or(Span::FOREVER);
        let wait = rack.rtt + rack.window(recovers, self.board.sacked(), config.dupack_threshold, srtt);
        let (newest, mut latest, mut lost) = ((rack.xmit, rack.newest), Time::NEVER, false);
        self.board.by_time(|board, number, sent| {
            if newest <= (sent, number) {
                return false;
            }
            if sent + wait <= now {
                board.lose(number);
                lost = true;
            } else {
                latest = sent + wait;
            }
            true
        });
        rack.reorder_at = latest;
        // What was marked in a recovery, and not sent again before its end, is lost still.
        if !recovers && (lost || self.board.next_lost().is_some()) {
            let before = (!ece && !self.tcp.is_cut_by_mark()).then(|| self.tcp.before_cut());
            self.begin(before, delivered);
            self.enter_recovery(config, now);
        }
        lost
    }

    /// A recovery begins, after `delivered` bytes have arrived. `before` is what it may return to.
    fn begin(&mut self, before: Option<BeforeCut>, delivered: u64) {
        let Some(rack) = self.rack.as_deref_mut() else { return };
        let in_flight = self.tcp.flight() - self.board.sacked_bytes() + delivered;
        (rack.prr_delivered, rack.prr_out, rack.recover_fs) = (0, 0, in_flight.max(1));
        (rack.probe_end, rack.probe_at, rack.probing) = (None, Time::NEVER, false);
        let una = self.tcp.snd_una;
        rack.undo = Some(Undo { una, before, sent: 0, open: 0, first_at: Time::NEVER, first_end: 0 });
    }

    /// Nothing was lost: the recovery ends, and its cut is taken back if the loss was its only reason.
    fn undo(&mut self) {
        let Some(undo) = self.rack.as_deref_mut().and_then(|rack| rack.undo.take()) else { return };
        let tcp = &mut self.tcp;
        match &undo.before {
            Some(before) => tcp.take_back(before),
            None if tcp.in_recovery => tcp.window.cwnd = tcp.window.ssthresh,
            None => {}
        }
        tcp.leave_recovery();
        self.after_timeout = false;
        self.forced = false;
        self.board.find_all();
    }

    /// RFC 6937 §3: the window of a recovery, after `delivered` further bytes have arrived. `safe`: the acknowledgement
    /// is of new data and reveals no loss (RFC 9937, SafeACK), so one segment more may go.
    fn reduce(&mut self, config: &TcpConfig, delivered: u64, safe: bool) {
        let Some(rack) = self.rack.as_deref_mut().filter(|_| self.tcp.in_recovery && delivered > 0) else { return };
        let (pipe, ssthresh, mss) = (self.board.pipe(), self.tcp.window.ssthresh, u64::from(config.mss));
        rack.prr_delivered += delivered;
        let more = if pipe > ssthresh {
            let due = u128::from(rack.prr_delivered) * u128::from(ssthresh);
            (due.div_ceil(u128::from(rack.recover_fs)) as u64).saturating_sub(rack.prr_out)
        } else {
            let limit = rack.prr_delivered.saturating_sub(rack.prr_out).max(delivered) + if safe { mss } else { 0 };
            // Linux counts segments: a short one that arrives lets a full one go.
            limit.next_multiple_of(mss).min(ssthresh - pipe)
        };
        self.tcp.window.cwnd = pipe + more;
    }

    /// Handles a timer of RACK-TLP that has expired, or the retransmission timeout. Returns whether it was only the
    /// former.
    pub(super) fn rack_timer(&mut self, config: &TcpConfig, now: Time) -> bool {
        let Some(rack) = self.rack.as_deref_mut() else { return false };
        let (reorder, probe) = (rack.reorder_at <= now, rack.probe_at <= now);
        if reorder {
            rack.reorder_at = Time::NEVER;
            let recovers = self.tcp.in_recovery;
            self.detect(config, now, false, 0);
            // As in Linux: a recovery that begins here sends something, though nothing has arrived.
            if !recovers {
                self.reduce(config, u64::from(config.mss), false);
            }
        } else if probe {
            rack.probe_at = Time::NEVER;
            rack.probing = true;
            self.tcp.start_timer(config, now); // RFC 8985 §7.3
        }
        (reorder || probe) && self.tcp.deadline > now
    }

    /// RFC 8985 §6.3: the segments that the retransmission timeout declares lost. `before` is the state before it,
    /// unless the window had been cut already.
    pub(super) fn rack_timeout(&mut self, config: &TcpConfig, now: Time, before: Option<BeforeCut>) {
        if before.is_some() {
            self.begin(before, 0);
        }
        let Some(rack) = self.rack.as_deref_mut() else { return };
        let srtt = self.tcp.srtt().unwrap_or_default();
        let wait = rack.rtt + rack.window(true, self.board.sacked(), config.dupack_threshold, srtt);
        (rack.reorder_at, rack.probe_at, rack.probing, rack.probe_end) = (Time::NEVER, Time::NEVER, false, None);
        let first = self.board.first();
        self.board.by_time(|board, number, sent| {
            if sent + wait <= now || number == first {
                board.lose(number);
            }
            true
        });
    }

    /// RFC 8985 §7.2: arms the probe timer unless a condition forbids it.
    pub(super) fn schedule_probe(&mut self, config: &TcpConfig, now: Time) {
        let Some(rack) = self.rack.as_deref_mut() else { return };
        let quiet = !self.tcp.in_recovery && !self.after_timeout && self.board.sacked() == 0;
        let may = rack.probe_end.is_none() && rack.sampled && !rack.probing;
        let srtt = self.tcp.srtt().filter(|_| quiet && may && self.board.len() > 0);
        rack.probe_at = srtt.map_or(Time::NEVER, |srtt| {
            let held =
                if self.board.len() == 1 && config.delayed_ack > 1 { config.delayed_ack_timeout } else { Span::ZERO };
            (now + srtt * 2 + held).min(self.tcp.deadline)
        });
    }

    /// RFC 8985 §7.4.2: the result of the probe in flight.
    fn probe_answered(&mut self, config: &TcpConfig, now: Time, ack: &Answer, sack: &Sack, una: u64) {
        let Some(rack) = self.rack.as_deref_mut() else { return };
        let Some(end) = rack.probe_end.filter(|&end| ack.cumulative >= end) else { return };
        let told = sack.duplicate(ack.cumulative).is_some_and(|block| block.1 == end);
        let repaired = rack.probe_again && !told && ack.cumulative > end;
        let plain_duplicate = ack.cumulative == una && sack.is_empty();
        if !rack.probe_again || told || repaired || plain_duplicate {
            rack.probe_end = None;
        }
        if repaired && !self.tcp.in_recovery && !self.after_timeout {
            // The probe has hidden a loss from the congestion control.
            self.tcp.window.ssthresh = self.tcp.threshold(config, now);
            self.tcp.window.cwnd = self.tcp.window.cwnd.min(self.tcp.window.ssthresh);
            self.tcp.mark_loss();
        }
    }
}

impl Rack {
    /// Whether a duplicate that ends there is the probe in flight.
    fn is_of_probe(&self, end: u64) -> bool {
        self.probe_again && self.probe_end == Some(end)
    }

    /// An ECN-Echo has arrived: whatever was lost, the window is right to be cut (RFC 4015 §3.4).
    fn on_mark(&mut self, recovers: bool) {
        match &mut self.undo {
            Some(undo) if recovers => undo.before = None,
            undo => *undo = None,
        }
    }

    /// Whether this acknowledgement shows that the last recovery was wrong.
    fn judge(&mut self, ack: &Answer, before: &Before, duplicate: Option<(u64, u64)>) -> bool {
        let of_data = duplicate.filter(|&(_, end)| !self.is_of_probe(end));
        let Some(undo) = self.undo.as_mut() else { return false };
        if of_data.is_some_and(|(start, _)| start >= undo.una) {
            undo.open = undo.open.saturating_sub(1);
        }
        let spurious = if undo.sent == 0 {
            // As in Linux (`tcp_packet_delayed`): new data is acknowledged before anything has been sent again.
            before.recovers && ack.cumulative > before.una
        } else {
            // RFC 3522 §3.2 step 4: the answer to the first transmission of data that was sent again
            let passes = before.una < undo.first_end && undo.first_end <= ack.cumulative;
            passes && ack.echo < undo.first_at || undo.open == 0
        };
        self.reordering_seen |= spurious;
        spurious
    }
}

#[cfg(test)]
mod tests;
