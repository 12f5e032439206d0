//! The sending end of a connection of Ultra Ethernet.

use super::config::Recovery;
use super::credit::{Allowance, Backlog};
use super::fields::{REQUEST, Sack, get_quanta, put_probe, put_quanta};
use super::records::Records;
use super::sleek::{Known, Sleek};
use super::{Cut, Psn, UetConfig};
use crate::packet::{ECT, RETRANSMIT, URGENT, flag};
use crate::rider::Rider;
use crate::transport::congestion::delivery::{self, Control};
use crate::transport::congestion::{Acked as Delivered, Trimmed, Window};
use crate::transport::contract::{Acked, Answer, Answered, Counts, Data, Outgoing, Start, TrimmedAt};
use spinewise_policy::time::{BYTE_PS, Span, Time};

/// The state of a sending end.
#[derive(Clone, Debug)]
pub struct UetSender {
    cut: Cut,
    packets: Psn,
    network_rtt: Span,
    /// The minimum round trip so far.
    pub(super) base_rtt: Span,
    pub(super) window: Window,
    control: Control,
    records: Records,
    /// Bytes on the wire in flight, according to the receiver's count. Negative while the count is being corrected.
    pub(super) flight: i64,
    /// Bytes on the wire that the receiver has counted.
    received: u64,
    /// The first packet that the receiver lacks, as far as it has reported.
    pub(super) expected: Psn,
    /// When the timer expires: that of the oldest packet, or of the one that it is held for.
    pub(super) deadline: Option<Time>,
    /// The packet that the timer is for, or was for last, while it need not be the oldest: since when it has been in
    /// flight, and its number.
    pub(super) held: Option<(Time, Psn)>,
    /// Where receivers pace: the credit it may use, and the number of flows that share the NIC with it.
    credit: Option<Allowance>,
    sharing: i64,
    /// A request is to be sent; and when the last one was.
    pub(super) asks: bool,
    asked: Option<Time>,
    /// When to ask again, if no credit comes earlier.
    ask_at: Option<Time>,
    /// Present where losses are found without trimming.
    pub(super) sleek: Option<Box<Sleek>>,
    /// When the NIC is free, as far as this flow knows; and the time of a byte there, ps.
    sent_until: Time,
    byte_time: u64,
    counts: Counts,
}

impl UetSender {
    pub(super) fn new(config: &UetConfig, start: &Start) -> Self {
        let mut window = Window { cwnd: 0, ssthresh: u64::MAX };
        let mut control = Control::new(config.kind, &config.control, start);
        control.open(&config.control, &mut window, u64::from(config.mss));
        let cut = Cut::of(start.size, config);
        let sleek = || Box::new(Sleek::new((start.rate, config.header), start.base_rtt, config.sleek_target));
        UetSender {
            cut,
            packets: cut.packets(),
            network_rtt: start.base_rtt,
            window,
            control,
            records: Records::default(),
            flight: 0,
            received: 0,
            expected: 0,
            deadline: None,
            held: None,
            base_rtt: start.base_rtt,
            credit: config.receiver_credit.then(|| Allowance::new(config.most_window)),
            sharing: 0,
            asks: false,
            asked: None,
            ask_at: None,
            sleek: (config.recovery == Recovery::Sleek).then(sleek),
            sent_until: Time::ZERO,
            byte_time: BYTE_PS / start.rate.max(1),
            counts: Counts::default(),
        }
    }

    /// Reduces it to the state in which the next message of the connection begins.
    pub(super) fn rest(&mut self) {
        self.records = Records::default();
        self.sleek = None;
    }

    /// Continues with the window and the base round trip of the previous message.
    pub(super) fn follow(&mut self, before: &UetSender) {
        self.window = before.window;
        self.control = before.control.clone();
        self.base_rtt = before.base_rtt;
    }

    /// The packet that goes next: the lowest of those to be sent again, if any.
    #[inline]
    fn upcoming(&self) -> Option<Psn> {
        let new = || Some(self.records.next()).filter(|&psn| psn < self.packets);
        self.records.first_queued().or_else(new)
    }

    /// Whether the window has room for a packet of `wire` bytes.
    #[inline]
    fn has_room(&self, wire: u32) -> bool {
        self.window.cwnd as i64 >= self.flight + i64::from(wire)
    }

    /// Whether a request or a probe is to be sent.
    pub(super) fn is_to_ask(&self) -> bool {
        self.asks || self.sleek.as_ref().is_some_and(|sleek| sleek.is_due())
    }

    pub(super) fn may_send(&self) -> bool {
        let granted = self.credit.as_ref().is_none_or(Allowance::may_send);
        granted && self.upcoming().is_some_and(|psn| self.has_room(self.cut.wire(psn)) || self.recovers(psn))
    }

    /// Whether this packet is sent whatever is in flight.
    #[inline]
    fn recovers(&self, psn: Psn) -> bool {
        psn < self.records.next() && self.sleek.as_ref().is_some_and(|sleek| sleek.recovers())
    }

    /// This many flows of its host wait for the NIC.
    pub(super) fn share(&mut self, waiting: usize) {
        self.sharing = waiting as i64;
    }

    /// Returns the target up to which it requests credit.
    fn target(&mut self, config: &UetConfig) -> Option<u64> {
        let has_window = config.kind != delivery::Kind::None;
        let left = Backlog {
            new: self.cut.wire_from(self.records.next()) as i64,
            again: self.records.queued().map(|psn| i64::from(self.cut.wire(psn))).sum(),
            window: has_window.then_some(self.window.cwnd as i64),
            mtu: i64::from(config.mss + config.header),
            sharing: self.sharing,
        };
        Some(self.credit.as_mut()?.set_target(&left))
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        if self.sleek.is_none() && self.ask_at.is_none() {
            return self.deadline;
        }
        let sleek = self.sleek.as_ref().and_then(|sleek| sleek.deadline());
        [self.deadline, self.ask_at, sleek].into_iter().flatten().min()
    }

    /// Takes a request or a probe that is to be sent.
    pub(super) fn ask(&mut self, config: &UetConfig, now: Time) -> Option<Outgoing> {
        let seq = self.cut.seq(self.expected);
        let (flags, option) = if std::mem::take(&mut self.asks) {
            self.asked = Some(now);
            (URGENT, self.credit.as_ref().map_or(Rider::NONE, |credit| put_quanta(credit.target())))
        } else {
            // It must meet the same conditions as data: queues, marks, and losses.
            (ECT, put_probe(self.sleek.as_mut().filter(|sleek| sleek.is_due())?.send(now)))
        };
        Some(Outgoing::Question { seq, wire: config.header as u16, flags, option })
    }

    #[inline(always)]
    pub(super) fn next(&mut self, config: &UetConfig, now: Time) -> Option<Outgoing> {
        let psn = self.upcoming()?;
        let again = psn < self.records.next();
        let wire = self.cut.wire(psn);
        self.records.send(psn, now);
        self.flight += i64::from(wire);
        if let Some(credit) = &mut self.credit {
            credit.spend(wire);
        }
        let broke = self.credit.as_ref().is_some_and(|credit| !credit.may_send());
        self.counts.packets += 1;
        self.counts.retransmits += u32::from(again);
        self.ask_at = None;
        if self.deadline.is_none() {
            self.deadline = Some(now + config.rto);
            self.held = self.held.map(|_| (now, psn));
        }
        self.sent_until = now + Span(self.byte_time * u64::from(wire));
        // The last packet, or the last for now: nothing after it would request an answer.
        let last = self.records.next() == self.packets;
        let urgent = again || last || broke || self.flight + i64::from(wire) >= self.window.cwnd as i64;
        let data = Data {
            seq: self.cut.seq(psn),
            len: self.cut.len(psn) as u16,
            wire: wire as u16,
            flags: ECT | flag(RETRANSMIT, again) | flag(URGENT, urgent),
        };
        Some(match self.target(config) {
            None => Outgoing::Data(data),
            Some(target) => Outgoing::OnPath(0, data, put_quanta(target)),
        })
    }

    pub(super) fn on_answer(&mut self, config: &UetConfig, now: Time, answer: &Answer, option: &[u8]) -> Answered {
        if answer.nack_or_syn {
            return self.on_trimmed(config, now, answer);
        }
        let expected = self.cut.packets_by(answer.cumulative);
        match (Sack::get(option, expected), get_quanta(option), &mut self.credit) {
            (Some(sack), ..) => self.on_sack(config, now, answer, &sack),
            (None, Some(granted), Some(credit)) => {
                credit.take(granted);
                if credit.may_send() {
                    self.ask_at = None;
                }
                Answered::Opened
            }
            (None, ..) => Answered::Ignored,
        }
    }

    fn on_sack(&mut self, config: &UetConfig, now: Time, answer: &Answer, sack: &Sack) -> Answered {
        self.hear();
        let new = self.cut.wire_of(sack.expected + sack.waiting, sack.last).saturating_sub(self.received);
        self.received += new;
        self.flight -= new as i64;
        let measured = self.round_trip(now, answer, sack).unwrap_or(Span::ZERO);
        // A probe is short, and may be back before any packet of data could be: there is no delay then, and no sample of
        // one.
        let (rtt, srtt) = match measured < self.base_rtt && measured > Span::ZERO {
            true => (self.base_rtt, Span::ZERO),
            false => (measured, measured),
        };
        let newly_acked = self.arrive(sack);
        let received = self.received;
        let delivered = Delivered {
            now,
            bytes: new,
            cumulative: received,
            next: received.wrapping_add_signed(self.flight),
            marked: answer.ece,
            recovering: false,
            mss: u64::from(config.mss),
            rtt,
            srtt,
        };
        self.control.on_ack(&config.control, &mut self.window, &delivered);
        let starts = self.records.first_queued().is_none() && now >= self.sent_until;
        self.recover((now, rtt, srtt), answer, sack);
        if !(starts && self.restarts()) {
            self.watch(config, now);
        }
        Answered::Acked(Acked { newly_acked, dupack3: false, done: self.expected == self.packets })
    }

    /// The round trip of the packet that caused an answer, if the answer reveals it.
    fn round_trip(&mut self, now: Time, answer: &Answer, sack: &Sack) -> Option<Span> {
        if sack.probe != 0 {
            return self.sleek.as_ref()?.round_trip(sack.probe, now);
        }
        if sack.psn == REQUEST {
            // A request overtakes all data: it says nothing about an empty path.
            return Some(now.since(self.asked?)).filter(|&rtt| rtt >= self.base_rtt);
        }
        let rtt = now.since(self.records.timed(sack.psn, answer.echo_retransmit)?);
        self.base_rtt = self.base_rtt.min(rtt);
        Some(rtt)
    }

    /// Queues the packets that SLEEK presumes lost to be sent again. The answer may report less than an earlier one
    /// did.
    fn recover(&mut self, (now, rtt, srtt): (Time, Span, Span), answer: &Answer, sack: &Sack) {
        let Some(sleek) = &mut self.sleek else { return };
        let known = Known {
            waiting: sack.waiting,
            expected: sack.expected,
            next: self.records.next(),
            cwnd: self.window.cwnd,
            mss: u64::from(self.cut.mss),
            base_rtt: self.base_rtt,
            queued: self.records.first_queued().is_some(),
        };
        sleek.hear(now, &known, known.next < self.packets);
        let delay_of = |rtt: Span| rtt.0.checked_sub(self.base_rtt.0).map(Span);
        let delay = delay_of(rtt);
        sleek.feel(delay_of(srtt), answer.ece);
        if sack.probe != 0 {
            let average = || self.control.delay().unwrap_or(sleek.delay());
            sleek.judge(delay.unwrap_or_else(average), &known);
        }
        for psn in sleek.lost(&known) {
            if self.records.flying(psn).is_some() {
                self.records.queue(psn);
                self.flight -= i64::from(self.cut.wire(psn));
                sleek.takes(psn);
            }
        }
    }

    /// The receiver has been heard from.
    fn hear(&mut self) {
        if let Some(credit) = &mut self.credit {
            credit.hear();
        }
    }

    /// Marks as arrived what an answer reports. Returns the bytes of payload that it acknowledges in order and for the
    /// first time.
    fn arrive(&mut self, sack: &Sack) -> u64 {
        let before = self.cut.seq(self.expected);
        let (cut, flight) = (self.cut, &mut self.flight);
        // Packets that waited to be sent again were presumed lost, and no longer counted as in flight.
        self.records.all_arrived(sack.expected, |psn| *flight += i64::from(cut.wire(psn)));
        self.expected = self.expected.max(sack.expected);
        let mut bits = sack.bits;
        while bits != 0 {
            let psn = sack.base + bits.trailing_zeros();
            if self.records.arrived(psn) {
                self.flight += i64::from(self.cut.wire(psn));
            }
            bits &= bits - 1;
        }
        self.cut.seq(self.expected) - before
    }

    fn on_trimmed(&mut self, config: &UetConfig, now: Time, answer: &Answer) -> Answered {
        let psn = self.cut.psn(answer.cumulative);
        let Some(sent) = self.records.flying(psn) else { return Answered::Ignored };
        self.counts.nacks += 1;
        let wire = self.cut.wire(psn);
        let at = if answer.cnp { TrimmedAt::LastHop } else { TrimmedAt::Inside };
        let trimmed = Trimmed {
            now,
            bytes: u64::from(wire),
            flight: self.flight,
            rtt: now.since(sent),
            excused: self.credit.is_some() && at == TrimmedAt::LastHop,
        };
        if config.control.nscc.trims_tell_rtt {
            self.base_rtt = self.base_rtt.min(trimmed.rtt);
        }
        self.control.on_trim(&config.control, &mut self.window, &trimmed);
        self.hear();
        self.records.queue(psn);
        self.flight -= i64::from(wire);
        self.watch(config, now);
        Answered::Trimmed(at)
    }

    /// A probe falls due; or the oldest packet has been in flight for too long: it alone is presumed lost. Returns its
    /// first byte; or, if nothing is in flight and a request for credit has had no answer, the first byte that is
    /// missing.
    pub(super) fn on_timeout(&mut self, config: &UetConfig, now: Time) -> Option<u64> {
        if let Some(sleek) = &mut self.sleek {
            sleek.expire(now);
        }
        let asks_again = self.ask_at.is_some_and(|at| at <= now);
        if asks_again {
            self.asks = true;
            self.watch(config, now);
        }
        if self.deadline.is_none_or(|at| at > now) {
            return asks_again.then(|| self.cut.seq(self.expected));
        }
        let (sent, psn) = self.records.oldest()?;
        self.counts.timeouts += 1;
        if self.sleek.as_ref().is_some_and(|sleek| sleek.recovers()) {
            self.leave_to_sleek(config, now, (sent, psn));
            return Some(self.cut.seq(psn));
        }
        self.held = None;
        let wire = self.cut.wire(psn);
        let others_wait = self.records.first_queued().is_some();
        if others_wait {
            self.hear();
        }
        self.records.queue(psn);
        self.flight -= i64::from(wire);
        let mtu = u64::from(config.mss + config.header);
        self.window.cwnd = self.window.cwnd.saturating_sub(u64::from(wire)).max(mtu);
        self.watch(config, now);
        // Where receivers pace, a request says that more waits. Otherwise a request goes for packets that cannot be
        // sent now, or, if they can, for one more packet: the reference checks for room after it has sent that packet.
        // With a window, once a round trip.
        let asks = if others_wait { self.credit.is_some() } else { !self.has_room_for(wire, now) };
        let recently = self.asked.is_some_and(|asked| now.since(asked) < self.network_rtt);
        self.asks |= asks && !(recently && config.kind != delivery::Kind::None);
        Some(self.cut.seq(psn))
    }

    /// Whether a packet of `wire` bytes can be sent, and if the NIC takes it at once, one more.
    fn has_room_for(&self, wire: u32, now: Time) -> bool {
        let all = if now >= self.sent_until { 2 * wire } else { wire };
        self.has_room(all) && self.credit.as_ref().is_none_or(|credit| credit.covers(all - wire))
    }

    /// The timer has expired while SLEEK recovers, which is responsible for the oldest packet: nothing is sent. If that
    /// packet had been sent again already, it is sent once more, with all behind it, and there is no timer until
    /// another packet goes.
    fn leave_to_sleek(&mut self, config: &UetConfig, now: Time, (sent, psn): (Time, Psn)) {
        self.records.untimed(sent, psn);
        if self.records.was_sent_again(psn) {
            if let Some(sleek) = &mut self.sleek {
                sleek.goes_back(psn);
            }
            self.held = self.held.or(Some((sent, psn)));
            self.deadline = None;
        } else {
            self.held = None;
            self.watch(config, now);
        }
    }

    /// Whether there is no timer, and SLEEK has just queued the packet that it was last for. If the NIC takes that
    /// packet at once, the timer becomes its own.
    fn restarts(&self) -> bool {
        self.deadline.is_none() && self.held.is_some_and(|(_, psn)| self.records.queued().any(|queued| queued == psn))
    }

    /// Sets the timer: for the oldest packet, unless the one that it is held for is still in flight; and when to ask
    /// again.
    fn watch(&mut self, config: &UetConfig, now: Time) {
        let oldest = self.records.oldest();
        if self.held.is_none_or(|(sent, psn)| self.records.flying(psn) != Some(sent)) {
            self.held = None;
            self.deadline = oldest.map(|(sent, _)| (sent + config.rto).max(now));
        }
        let waits = config.ask_again && oldest.is_none() && self.lacks_credit();
        self.ask_at = waits.then(|| now + config.rto);
    }

    /// Whether credit is the only thing it waits for.
    fn lacks_credit(&self) -> bool {
        self.upcoming().is_some() && self.credit.as_ref().is_some_and(|credit| !credit.may_send())
    }

    pub(super) fn account(&self, counts: &mut Counts) {
        counts.packets += self.counts.packets;
        counts.retransmits += self.counts.retransmits;
        counts.timeouts += self.counts.timeouts;
        counts.nacks += self.counts.nacks;
    }
}
