//! The shared buffer of a switch: which queue may use how much of it, and when upstream ports must pause.
//!
//! Every byte of data is accounted for twice. The **egress** account limits each queue to a guarantee plus a share of
//! the free buffer (dynamic thresholds: Choudhury and Hahne, IEEE/ACM ToN 1998). The **ingress** account is kept per
//! port and priority a packet came by: data above its own share of the free buffer makes the sender pause (IEEE
//! 802.1Qbb), and what arrives until the sender has reacted goes to the headroom. Control packets are not counted.

use crate::spec::sizing::{Cable, Parts, longest_wait};
use crate::spec::{EgressThreshold, HeadroomUse, PauseRenewal, SharedBufferSpec};
use spinewise_policy::{Span, Time};

/// An ingress: a port and a data priority.
#[derive(Clone, Copy, Debug, Default)]
struct Ingress {
    /// Bytes in the buffer that came in here, headroom not included.
    used: u64,
    /// Its bytes in the headroom.
    headroom: u64,
    /// The size of its headroom.
    headroom_limit: u64,
    /// It has asked the sender to pause until this instant.
    pausing_until: Time,
    /// How long before it expires a pause is renewed.
    renew_before: Span,
    /// Whether a renewal is planned.
    renews: bool,
    /// Flow control protects its priority.
    lossless: bool,
}

/// The shared buffer of one switch.
#[derive(Clone, Debug)]
pub struct SharedBuffer {
    spec: SharedBufferSpec,
    priorities: usize,
    ingress: Vec<Ingress>,
    /// Bytes that all queues may share, beyond guarantees.
    egress_limit: u64,
    /// Bytes of those in use.
    egress_used: u64,
    /// Bytes that all ingresses may share, beyond headroom and guarantees.
    ingress_limit: u64,
    /// Bytes of those in use.
    ingress_used: u64,
    /// Bytes in the buffer, headroom included.
    bytes: u64,
    /// The most there have been.
    most: u64,
    /// Most bytes of headroom that one ingress has used.
    most_headroom: u64,
}

/// Bytes that the followed program sets aside for port 0: it numbers ports from 1 and sums headroom from 0 (source:
/// ConWeave's public code).
const HEADROOM_OF_PORT_0: u64 = 14_596;

/// Port and priority that a packet came by; `None` for packets made here.
pub(super) type Came = Option<(u16, u8)>;

impl SharedBuffer {
    /// The buffer of a switch with these cables at its ports. `packet` is the largest packet in bytes.
    pub fn new(spec: &SharedBufferSpec, cables: &[Cable], packet: u64) -> SharedBuffer {
        let priorities = spec.priorities as usize;
        let parts = Parts::new(spec, cables, packet);
        let frames = spec.pause_bytes * spec.priorities;
        let of_port = |(cable, &headroom_limit): (&Cable, &u64)| {
            let renew_before = longest_wait(cable.outward, packet, frames);
            let of = move |priority| {
                let lossless = spec.protects(priority as u8);
                let headroom_limit = if lossless { headroom_limit } else { 0 };
                Ingress { headroom_limit, renew_before, lossless, ..Ingress::default() }
            };
            (0..priorities).map(of)
        };
        let egress_limit = spec.buffer.saturating_sub(parts.reserved);
        let headroom = match parts.headrooms.last() {
            Some(last) if spec.headroom_of_port_0 && spec.pfc => parts.all_headroom - last + HEADROOM_OF_PORT_0,
            _ => parts.all_headroom,
        };
        SharedBuffer {
            priorities,
            ingress: cables.iter().zip(&parts.headrooms).flat_map(of_port).collect(),
            egress_limit,
            egress_used: 0,
            ingress_limit: egress_limit.saturating_sub(headroom),
            ingress_used: 0,
            bytes: 0,
            most: 0,
            most_headroom: 0,
            spec: spec.clone(),
        }
    }

    #[inline]
    fn at(&self, (port, priority): (u16, u8)) -> usize {
        usize::from(port) * self.priorities + usize::from(priority).min(self.priorities - 1)
    }

    /// Bytes of a queue beyond its guarantee.
    #[inline]
    fn beyond(&self, queue: u64) -> u64 {
        queue.saturating_sub(self.spec.guaranteed)
    }

    /// Whether the queue of a priority that a packet has just left, and that still holds `queue` bytes, calls for a mark.
    #[inline]
    pub fn marks(&self, priority: u8, queue: u64, roll: impl FnOnce() -> f64) -> bool {
        self.spec.ramps[usize::from(priority).min(self.priorities - 1)].marks(self.beyond(queue), roll)
    }

    /// Returns how much of the shared part an ingress may use before it asks for a pause.
    #[inline]
    fn share(&self, less: u64) -> u64 {
        self.exact_share(less) as u64
    }

    /// The same, with its fraction of a byte.
    #[inline]
    fn exact_share(&self, less: u64) -> f64 {
        let free = self.ingress_limit.saturating_sub(self.ingress_used).saturating_sub(less);
        self.spec.ingress_alpha * free as i64 as f64
    }

    /// Whether these whole bytes exceed what an ingress may use of the shared part.
    #[inline]
    fn exceeds_share(&self, bytes: u64) -> bool {
        // A whole number of bytes that exceeds the whole bytes of the share also exceeds the share itself.
        bytes as i64 as f64 > self.exact_share(0)
    }

    /// Whether dynamic thresholds bound queues. Data whose senders are asked to pause must not be dropped for a queue's
    /// length.
    #[inline]
    fn bounds_queues(&self, lossless: bool) -> bool {
        !lossless || self.spec.egress_threshold == EgressThreshold::Always
    }

    /// Bytes that a queue may hold if all others are empty: q = guaranteed + alpha (limit - (q - guaranteed)).
    pub fn most_of_one_queue(&self) -> u64 {
        let (limit, alpha) = (self.egress_limit as f64, self.spec.egress_alpha);
        let shared = if self.bounds_queues(self.spec.pfc) { alpha * limit / (1.0 + alpha) } else { limit };
        self.spec.guaranteed + shared as u64
    }

    /// Takes `bytes` into the buffer, for a queue that holds `queue` bytes, if there is room.
    #[inline(always)]
    pub fn admit(&mut self, came: Came, queue: u64, bytes: u64) -> bool {
        let (before, after) = (self.beyond(queue), self.beyond(queue + bytes));
        let free = self.egress_limit.saturating_sub(self.egress_used);
        let lossless = came.map_or(self.spec.pfc, |came| self.ingress[self.at(came)].lossless);
        if self.bounds_queues(lossless) && after > 0 && after as f64 > self.spec.egress_alpha * free as f64 {
            return false;
        }
        if let Some(came) = came
            && !self.admit_ingress(self.at(came), bytes)
        {
            return false;
        }
        self.egress_used += after - before;
        self.bytes += bytes;
        self.most = self.most.max(self.bytes);
        true
    }

    #[inline]
    fn admit_ingress(&mut self, at: usize, bytes: u64) -> bool {
        let ingress = &mut self.ingress[at];
        let guaranteed = ingress.used + bytes <= self.spec.guaranteed;
        if guaranteed && ingress.headroom == 0 {
            ingress.used += bytes;
            self.ingress_used += bytes;
            return true;
        }
        let ingress = self.ingress[at];
        let full = self.ingress_used + bytes > self.ingress_limit;
        let over = self.spec.headroom_use == HeadroomUse::AboveThreshold
            && (ingress.headroom > 0 || self.exceeds_share(self.beyond(ingress.used + bytes)));
        if ingress.lossless && (over || full) {
            if ingress.headroom + bytes > ingress.headroom_limit {
                return false;
            }
            self.ingress[at].headroom += bytes;
            self.most_headroom = self.most_headroom.max(ingress.headroom + bytes);
            return true;
        }
        if full && !guaranteed {
            return false;
        }
        self.ingress[at].used += bytes;
        self.ingress_used += bytes;
        true
    }

    /// Whether a packet that finds its queue empty, and leaves it at once, stays within guarantees. If so it is not
    /// refused, no sender need pause or resume for it, and all accounts are the same afterwards.
    #[inline]
    pub fn passes(&mut self, came: (u16, u8), bytes: u64, now: Time) -> bool {
        let ingress = &self.ingress[self.at(came)];
        let passes = ingress.used + bytes <= self.spec.guaranteed.min(self.spec.pause_offset)
            && ingress.headroom == 0
            && ingress.pausing_until <= now;
        if passes {
            self.most = self.most.max(self.bytes + bytes);
        }
        passes
    }

    /// Returns to the buffer `bytes` that leave a queue which still holds `queue` bytes. Returns whether the sender
    /// behind their ingress may now resume, having been asked to pause, because the ingress is low again.
    #[inline(always)]
    pub fn leave(&mut self, came: Came, queue: u64, bytes: u64, now: Time) -> bool {
        self.bytes -= bytes;
        self.egress_used -= self.beyond(queue + bytes) - self.beyond(queue);
        let Some(came) = came else { return false };
        let at = self.at(came);
        let ingress = &mut self.ingress[at];
        let from_headroom = ingress.headroom.min(bytes);
        ingress.headroom -= from_headroom;
        ingress.used -= bytes - from_headroom;
        self.ingress_used -= bytes - from_headroom;
        ingress.pausing_until > now && self.resume(at, now)
    }

    #[inline(never)]
    fn resume(&mut self, at: usize, now: Time) -> bool {
        let resumes = self.is_under(at);
        if resumes {
            self.ingress[at].pausing_until = now;
        }
        resumes
    }

    /// Moves bytes from one queue, which is then empty, to another that held `queue` bytes.
    pub fn merge(&mut self, queue: u64, joined: u64) {
        self.egress_used -= self.beyond(joined);
        self.egress_used += self.beyond(queue + joined) - self.beyond(queue);
    }

    /// Whether this ingress, at which a packet has come in, holds enough for the sender to pause.
    #[inline]
    fn calls_for_pause(&self, came: (u16, u8)) -> bool {
        let ingress = &self.ingress[self.at(came)];
        let over = ingress.used > self.spec.pause_offset && self.exceeds_share(ingress.used - self.spec.pause_offset);
        ingress.lossless && (ingress.headroom > 0 || over)
    }

    /// Handles the arrival of a packet. Returns for how long the sender should pause now, if at all ([`Span::FOREVER`]:
    /// until a resume frame).
    #[inline(always)]
    pub fn pause(&mut self, came: (u16, u8), now: Time) -> Option<Span> {
        let at = self.at(came);
        if !self.calls_for_pause(came) || self.ingress[at].pausing_until == Time::NEVER {
            return None;
        }
        Some(self.start_pause(at, now))
    }

    /// Whether the sender may resume, having been asked to pause before, when a packet has come in that does not call
    /// for a pause.
    pub fn resumes_on_arrival(&mut self, came: (u16, u8), now: Time) -> bool {
        let at = self.at(came);
        self.spec.resume_on_arrival && self.ingress[at].pausing_until > now && self.resume(at, now)
    }

    #[cold]
    fn start_pause(&mut self, at: usize, now: Time) -> Span {
        let length = if self.spec.pause == Span::ZERO { Span::FOREVER } else { self.spec.pause };
        self.ingress[at].pausing_until = now + length;
        length
    }

    /// Returns when the pause of this ingress must be renewed, if nothing is planned for that yet.
    pub fn plan_renewal(&mut self, came: (u16, u8)) -> Option<Time> {
        let at = self.at(came);
        let ingress = &mut self.ingress[at];
        let by_timer = self.spec.pause_renewal == PauseRenewal::Timer && ingress.pausing_until != Time::NEVER;
        if !by_timer || std::mem::replace(&mut ingress.renews, true) {
            return None;
        }
        Some(ingress.pausing_until - ingress.renew_before)
    }

    /// Handles a planned renewal. Returns for how long the sender should pause from now on, if at all. Another renewal
    /// must be planned while the ingress still pauses its sender.
    pub fn renew(&mut self, came: (u16, u8), now: Time) -> Option<Span> {
        let at = self.at(came);
        self.ingress[at].renews = false;
        let ingress = &self.ingress[at];
        // A packet may have renewed the pause since.
        let due = ingress.pausing_until - ingress.renew_before <= now;
        (due && ingress.pausing_until > now && !self.is_under(at)).then(|| self.start_pause(at, now))
    }

    /// Whether this ingress still pauses its sender, so that a renewal must be planned.
    pub fn renews_later(&self, came: (u16, u8), now: Time) -> bool {
        let ingress = &self.ingress[self.at(came)];
        ingress.pausing_until - ingress.renew_before > now
    }

    /// Data priorities.
    pub fn priorities(&self) -> u8 {
        self.priorities as u8
    }

    /// Whether this ingress is low enough for its sender to resume.
    fn is_under(&self, at: usize) -> bool {
        let ingress = &self.ingress[at];
        let counted = ingress.used.saturating_sub(self.spec.pause_offset);
        if self.spec.resume_below_fraction {
            return ingress.headroom == 0 && (counted as f64) < self.exact_share(self.spec.resume_less);
        }
        ingress.headroom == 0 && counted < self.share(self.spec.resume_less).max(1)
    }

    /// Whether this ingress has asked its sender for a pause that still holds at `now`.
    pub fn is_pausing(&self, came: (u16, u8), now: Time) -> bool {
        self.ingress[self.at(came)].pausing_until > now
    }

    /// Whether this ingress would let its sender resume if everything left the buffer except these bytes of each
    /// ingress, by port and priority.
    pub fn would_resume(&self, came: (u16, u8), left: &[u64]) -> bool {
        let mut later = self.clone();
        later.ingress_used = 0;
        for (ingress, &left) in later.ingress.iter_mut().zip(left) {
            let gone = ingress.used + ingress.headroom - left;
            ingress.headroom = ingress.headroom.saturating_sub(gone);
            ingress.used = left - ingress.headroom;
            later.ingress_used += ingress.used;
        }
        later.is_under(later.at(came))
    }

    /// Returns the bytes of each ingress, by port and priority, among these packets, each with how it came; packets
    /// made here are not counted.
    pub fn by_ingress(&self, packets: impl Iterator<Item = (Came, u64)>) -> Vec<u64> {
        let mut sums = vec![0; self.ingress.len()];
        for (came, bytes) in packets {
            if let Some(came) = came {
                sums[self.at(came)] += bytes;
            }
        }
        sums
    }

    /// Whether the accounts agree with these packets (all that the ports hold) and with their queues and the bytes in
    /// them.
    pub fn agrees(&self, packets: &[(Came, u64)], queues: impl Iterator<Item = u64>) -> bool {
        let all: u64 = packets.iter().map(|&(_, bytes)| bytes).sum();
        let beyond: u64 = queues.map(|queue| self.beyond(queue)).sum();
        let used: u64 = self.ingress.iter().map(|ingress| ingress.used).sum();
        let by_ingress = self.by_ingress(packets.iter().copied());
        (self.bytes, self.egress_used, self.ingress_used) == (all, beyond, used)
            && self.ingress.iter().map(|ingress| ingress.used + ingress.headroom).eq(by_ingress)
    }

    /// Bytes in the buffer, headroom included.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Most bytes there have been in the buffer, and in the headroom of one ingress.
    pub fn most(&self) -> (u64, u64) {
        (self.most, self.most_headroom)
    }

    /// Whether a pause can last indefinitely.
    pub fn pauses_last(&self) -> bool {
        self.spec.pfc && (self.spec.pause == Span::ZERO || self.spec.pause_renewal == PauseRenewal::Timer)
    }
}
