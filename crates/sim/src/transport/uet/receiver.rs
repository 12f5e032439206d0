//! The receiving end of a connection of Ultra Ethernet: it takes packets in any order.

use super::credit::Account;
use super::fields::{REQUEST, Sack, first_told, get_probe, get_quanta, put_quanta};
use super::{Cut, Psn, UetConfig};
use crate::rider::Rider;
use crate::transport::contract::{Answer, Arrival, Asks, Grant, Received, Told, TrimmedAt};

/// The state of a receiving end.
#[derive(Clone, Debug)]
pub struct UetReceiver {
    cut: Cut,
    packets: Psn,
    /// The first packet that is not here.
    expected: Psn,
    /// One bit for each packet: here or not.
    here: Box<[u64]>,
    /// One past the last packet that is here.
    highest: Psn,
    /// Packets here that wait for an earlier one.
    waiting: u32,
    /// Bytes on the wire since the last answer.
    unanswered: u32,
    /// An answer was requested, and is due again when nothing waits any more.
    owes: bool,
    /// Present where receivers pace.
    credit: Option<Account>,
}

impl UetReceiver {
    pub(super) fn new(config: &UetConfig, size: u64) -> Self {
        let cut = Cut::of(size, config);
        let packets = cut.packets();
        let words = (packets as usize).div_ceil(64) + 2;
        UetReceiver {
            cut,
            packets,
            expected: 0,
            here: vec![0; words].into(),
            highest: 0,
            waiting: 0,
            unanswered: 0,
            owes: false,
            credit: config.receiver_credit.then(Account::new),
        }
    }

    /// A receiver that has everything.
    pub(super) fn full(config: &UetConfig, size: u64) -> Self {
        let cut = Cut::of(size, config);
        let packets = cut.packets();
        UetReceiver { expected: packets, highest: packets, ..UetReceiver::new(config, size) }
    }

    fn is_here(&self, psn: Psn) -> bool {
        psn < self.expected || self.here[psn as usize / 64] >> (psn % 64) & 1 == 1
    }

    /// The 64 bits from `psn` on.
    fn bits_from(&self, psn: Psn) -> u64 {
        let (word, shift) = (psn as usize / 64, psn % 64);
        let Some(low) = self.here.get(word) else { return 0 };
        let high = self.here.get(word + 1).map_or(0, |high| if shift == 0 { 0 } else { high << (64 - shift) });
        low >> shift | high
    }

    pub(super) fn on_data<'a>(
        &mut self,
        config: &UetConfig,
        data: &Arrival,
        option: impl FnOnce() -> &'a [u8],
    ) -> Received {
        let psn = self.cut.psn(data.seq);
        // A trimmed packet that is here already requires nothing.
        let stale = data.trimmed.is_some() && self.is_here(psn);
        let is_bare = data.trimmed.is_none() && data.len == 0;
        let option = if is_bare || self.credit.is_some() { option() } else { &[] };
        let probe = get_probe(option).filter(|_| is_bare).unwrap_or(0);
        let again = (data.trimmed.is_some() || is_bare && probe == 0) && !stale;
        let asks = match &mut self.credit {
            Some(credit) if !stale => credit.hear(get_quanta(option), again),
            Some(_) | None => false,
        };
        Received { asks, ..self.take_in(config, data, (psn, probe)) }
    }

    /// Takes its turn to grant.
    pub(super) fn grant(&mut self, config: &UetConfig, asks: Asks) -> Option<Grant> {
        let (quanta, granted, value, after) = self.credit.as_mut()?.grant(config, asks);
        let told = Told { option: put_quanta(granted), wire: 0 };
        Some(Grant { answer: Answer::default(), told, value, quanta, after })
    }

    /// Whether everything is here, with no turn to grant to come.
    pub(super) fn is_over(&self, config: &UetConfig) -> bool {
        let has_turn = || self.credit.as_ref().is_some_and(Account::has_turn);
        self.expected == self.packets && !(config.pull_after_end && has_turn())
    }

    fn take_in(&mut self, config: &UetConfig, data: &Arrival, (psn, probe): (Psn, u32)) -> Received {
        match data.trimmed {
            Some(at) => self.on_trimmed(data, psn, at),
            // A request is for a packet behind all that were sent: its bits report none.
            None if data.len == 0 && probe == 0 => self.tell(data, self.sack(REQUEST, self.highest)),
            None if data.len == 0 => self.tell(data, Sack { probe, ..self.sack(self.expected, self.base(psn)) }),
            None => self.on_payload(config, data, psn),
        }
    }

    fn on_payload(&mut self, config: &UetConfig, data: &Arrival, psn: Psn) -> Received {
        let wire = self.cut.wire(psn);
        self.unanswered += wire;
        if self.is_here(psn) {
            self.unanswered = 0;
            let base = if data.ce { psn } else { self.base(psn) };
            return Received { out_of_order: self.highest > psn + 1, ..self.answer(data, psn, base) };
        }
        let first = self.highest == 0;
        self.owes |= data.urgent;
        let out_of_order = self.highest > psn + 1;
        self.take(psn);
        let drained = self.waiting == 0 && self.owes && psn < self.expected;
        self.owes &= !drained;
        let due = self.unanswered >= config.ack_every_bytes;
        let mut got = if data.ce || due || first || data.urgent || drained {
            self.unanswered = 0;
            let base = if data.ce || data.urgent { psn } else { self.base(psn) };
            self.answer(data, psn, base)
        } else {
            Received::default()
        };
        (got.out_of_order, got.new_bytes) = (out_of_order, u64::from(self.cut.len(psn)));
        got.completed = self.expected == self.packets;
        got
    }

    /// A packet arrives that was not here.
    fn take(&mut self, psn: Psn) {
        self.here[psn as usize / 64] |= 1 << (psn % 64);
        self.highest = self.highest.max(psn + 1);
        if psn != self.expected {
            self.waiting += 1;
            return;
        }
        let before = self.expected;
        while self.expected < self.packets && self.here[self.expected as usize / 64] >> (self.expected % 64) & 1 == 1 {
            self.expected += 1;
        }
        self.waiting -= self.expected - before - 1;
    }

    fn on_trimmed(&self, data: &Arrival, psn: Psn, at: TrimmedAt) -> Received {
        if self.is_here(psn) {
            return self.answer(&Arrival { ce: false, ..*data }, psn, self.base(psn));
        }
        let nack = Answer { nack_or_syn: true, cnp: at == TrimmedAt::LastHop, ..Answer::to(data, data.seq) };
        let told = Some(Told { option: Rider::NONE, wire: 0 });
        Received { answers: [Some(nack), None], told, ..Received::default() }
    }

    /// The first packet covered by the bits of the answer that `psn` causes.
    fn base(&self, psn: Psn) -> Psn {
        first_told(psn, self.expected)
    }

    fn answer(&self, data: &Arrival, psn: Psn, base: Psn) -> Received {
        self.tell(data, self.sack(psn, base))
    }

    /// Reports the packets that are here, in bits from `base` on; packet `psn` caused the answer.
    fn sack(&self, psn: Psn, base: Psn) -> Sack {
        let last = self.is_here(self.packets - 1);
        let (expected, bits, waiting) = (self.expected, self.bits_from(base), self.waiting);
        Sack { expected, psn, base, bits, waiting, last, probe: 0 }
    }

    fn tell(&self, data: &Arrival, sack: Sack) -> Received {
        Received {
            answers: [Some(Answer::to(data, self.cut.seq(self.expected))), None],
            told: Some(Told { option: sack.put(), wire: 0 }),
            ..Received::default()
        }
    }
}
