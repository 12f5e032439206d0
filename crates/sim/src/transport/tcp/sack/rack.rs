//! RACK-TLP (RFC 8985): a segment is lost when one sent well after it has arrived, and the tail of a flow is probed.
//!
//! | Linux, `net/ipv4` | here |
//! |---|---|
//! | `tcp_recovery.c`: time-based detection, reordering window by DSACK | [`Rack::window`], `detect` |
//! | `tcp_output.c`: loss probe | `schedule_probe`, [`Rack::probes`] |
//! | `tcp_input.c`: proportional rate reduction (RFC 6937) | `reduce` |
//! | `tcp_input.c`: undo by time stamps (RFC 3522, 4015) and by DSACK (RFC 3708) | `undo` |
//!
//! Differences: the minimum round trip is that of the whole connection, timers have no ticks, and the acknowledgement
//! delay that a probe allows for is the configured one.

use super::SackSender;
use super::board::Delivery;
use crate::transport::config::TcpConfig;
use crate::transport::congestion::Window;
use crate::transport::congestion::window::Control;
use crate::transport::contract::Answer;
use crate::transport::sack::Sack;
use crate::transport::tcp::TcpSender;
use spinewise_policy::time::{Span, Time};

/// RFC 8985 §6.2 step 4: a wider window is kept for this many recoveries without DSACK.
const PERSIST: u32 = 16;

/// `tcp_recovery.c`: the window is at most this many quarters of the minimum round trip.
const MOST_STEPS: u32 = 255;

/// The changes of a window reduction, until it is known to have been right.
#[derive(Clone, Debug)]
struct Undo {
    /// `snd_una` when the recovery began.
    una: u64,
    window: Window,
    control: Control,
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
    /// RFC 6937: bytes delivered and sent in this recovery, and in flight when it began.
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
    fn adapt(&mut self, tcp: &TcpSender, dsack: bool) {
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
    /// RACK-TLP's reaction to an acknowledgement: `una` was the first outstanding byte before it, `duplicate` is the
    /// block it reports as a duplicate, `delivered` the bytes it reports as new.
    pub(super) fn rack_ack(
        &mut self,
        config: &TcpConfig,
        now: Time,
        ack: &Answer,
        sack: &Sack,
        una: u64,
        delivered: u64,
    ) {
        let Some(rack) = self.rack.as_deref_mut() else { return };
        let duplicate = sack.duplicate(ack.cumulative);
        if ack.cumulative > una {
            rack.sampled = true;
        }
        rack.adapt(&self.tcp, duplicate.is_some());
        let spurious = rack.judge(ack, una, duplicate);
        if spurious {
            self.undo();
        }
        self.probe_answered(config, now, ack, sack, una);
        self.detect(config, now);
        self.reduce(config, delivered);
        if delivered > 0 {
            self.schedule_probe(config, now);
        }
    }

    /// RFC 8985 §6.2 step 5: marks lost segments, begins a recovery, arms the reordering timer.
    fn detect(&mut self, config: &TcpConfig, now: Time) {
        let Some(rack) = self.rack.as_deref_mut() else { return };
        let recovers = self.tcp.in_recovery || self.after_timeout;
        let srtt = self.tcp.srtt().unwrap_or_default();
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
            self.save(self.tcp.window, self.tcp.control.clone());
            self.enter_recovery(config, now);
        }
    }

    /// Remembers the window as a reduction begins.
    fn save(&mut self, window: Window, control: Control) {
        let Some(rack) = self.rack.as_deref_mut() else { return };
        (rack.prr_delivered, rack.prr_out, rack.recover_fs) = (0, 0, self.tcp.flight().max(1));
        (rack.probe_end, rack.probe_at, rack.probing) = (None, Time::NEVER, false);
        let una = self.tcp.snd_una;
        rack.undo = Some(Undo { una, window, control, sent: 0, open: 0, first_at: Time::NEVER, first_end: 0 });
    }

    /// The reduction was wrong (RFC 4015 §3.2): nothing was lost but time.
    fn undo(&mut self) {
        let Some(undo) = self.rack.as_deref_mut().and_then(|rack| rack.undo.take()) else { return };
        let tcp = &mut self.tcp;
        if tcp.window.cwnd < undo.window.cwnd {
            tcp.control.undo(&undo.control); // RFC 9438 §4.9.2; else it has grown beyond
        }
        tcp.window.cwnd = tcp.window.cwnd.max(undo.window.cwnd);
        tcp.window.ssthresh = tcp.window.ssthresh.max(undo.window.ssthresh);
        tcp.leave_recovery();
        self.after_timeout = false;
        self.forced = false;
        self.board.find_all();
    }

    /// RFC 6937 §3: the window of a recovery, after `delivered` further bytes have arrived.
    fn reduce(&mut self, config: &TcpConfig, delivered: u64) {
        let Some(rack) = self.rack.as_deref_mut().filter(|_| self.tcp.in_recovery && delivered > 0) else { return };
        let (pipe, ssthresh, mss) = (self.board.pipe(), self.tcp.window.ssthresh, u64::from(config.mss));
        rack.prr_delivered += delivered;
        let more = if pipe > ssthresh {
            let due = u128::from(rack.prr_delivered) * u128::from(ssthresh);
            (due.div_ceil(u128::from(rack.recover_fs)) as u64).saturating_sub(rack.prr_out)
        } else {
            // the slow-start bound, RFC 6937 §3
            let limit = rack.prr_delivered.saturating_sub(rack.prr_out).max(delivered) + mss;
            limit.min(ssthresh - pipe)
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
            self.detect(config, now);
            // As in Linux: a recovery that begins here sends something, though nothing has arrived.
            if !recovers {
                self.reduce(config, u64::from(config.mss));
            }
        } else if probe {
            rack.probe_at = Time::NEVER;
            rack.probing = true;
            self.tcp.start_timer(config, now); // RFC 8985 §7.3
        }
        (reorder || probe) && self.tcp.deadline > now
    }

    /// RFC 8985 §6.3: the segments that the retransmission timeout declares lost. `before` is the state before it,
    /// unless a recovery was under way.
    pub(super) fn rack_timeout(&mut self, config: &TcpConfig, now: Time, before: Option<(Window, Control)>) {
        if let Some((window, control)) = before {
            self.save(window, control);
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
    /// Whether this acknowledgement shows that the last reduction was wrong.
    fn judge(&mut self, ack: &Answer, una: u64, duplicate: Option<(u64, u64)>) -> bool {
        let of_probe = |end: u64| self.probe_again && self.probe_end == Some(end);
        let Some(undo) = self.undo.as_mut().filter(|undo| undo.sent > 0) else { return false };
        if duplicate.is_some_and(|(start, end)| start >= undo.una && !of_probe(end)) {
            undo.open = undo.open.saturating_sub(1);
        }
        // RFC 3522 §3.2 step 4: the answer to the first transmission of data that was sent again
        let first_arrived = una < undo.first_end && undo.first_end <= ack.cumulative && ack.echo < undo.first_at;
        let spurious = first_arrived || undo.open == 0;
        self.reordering_seen |= spurious;
        spurious
    }
}

#[cfg(test)]
mod tests;
