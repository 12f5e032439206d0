//! The shared buffer of a switch: who may use how much of it, and when upstream ports must pause.
//!
//! Two accounts are kept of every byte of data. The **egress** account bounds each queue by a share of what is free
//! (dynamic thresholds: Choudhury and Hahne, IEEE/ACM ToN 1998), beyond a guarantee. The **ingress** account is kept per
//! port and priority a packet came by: what is above its own share of the free buffer asks the sender to pause (IEEE
//! 802.1Qbb), and what comes until the sender has heard of it goes to the headroom. Control packets are not counted.

use crate::packet::Serializer;
use crate::spec::{HeadroomUse, SharedBufferSpec};
use spinewise_policy::{Rng, Span, Time};

/// An ingress: a port and a data priority.
#[derive(Clone, Copy, Debug, Default)]
struct Ingress {
    /// Bytes in the buffer that came by here, headroom not included.
    used: u64,
    /// Bytes of them in the headroom.
    headroom: u64,
    /// Room for them.
    headroom_limit: u64,
    /// It has asked the sender to pause until then.
    pausing_until: Time,
}

/// The shared buffer of one switch.
#[derive(Debug)]
pub struct SharedBuffer {
    spec: SharedBufferSpec,
    priorities: usize,
    ingress: Vec<Ingress>,
    /// Bytes that all queues may share, beyond guarantees.
    egress_limit: u64,
    /// Bytes of it in use, beyond guarantees.
    egress_used: u64,
    /// Bytes that all ingresses may share, beyond headroom and guarantees.
    ingress_limit: u64,
    /// Bytes of it in use.
    ingress_used: u64,
    /// Largest headroom in use so far, bytes.
    most_headroom: u64,
}

/// Port and priority that a packet came by; none for what was made here.
pub type Came = Option<(u16, u8)>;

impl SharedBuffer {
    /// For a switch with links of these rates and delays behind its ports. `packet` is the largest packet in bytes.
    pub fn new(spec: &SharedBufferSpec, links: &[(u64, Span)], packet: u64) -> SharedBuffer {
        let priorities = spec.priorities as usize;
        let headroom = |&(rate, delay): &(u64, Span)| {
            if spec.pfc {
                spec.headroom.unwrap_or_else(|| needed_headroom(rate, delay, packet, spec.pause_bytes))
            } else {
                0
            }
        };
        let headrooms: Vec<u64> = links.iter().map(headroom).collect();
        // As in the ns-3 code of ConWeave: a packet for each of eight queues of each port is set aside.
        let reserved = spec.reserved_packets * links.len() as u64 * packet;
        let egress_limit = spec.buffer.saturating_sub(reserved);
        let all: u64 = headrooms.iter().map(|&bytes| bytes * priorities as u64).sum();
        let ingress = headrooms
            .iter()
            .flat_map(|&headroom_limit| (0..priorities).map(move |_| Ingress { headroom_limit, ..Ingress::default() }))
            .collect();
        SharedBuffer {
            priorities,
            ingress,
            egress_limit,
            egress_used: 0,
            ingress_limit: egress_limit.saturating_sub(all),
            ingress_used: 0,
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

    /// Does a queue that has just been left by a packet, and still holds `queue` bytes, call for a mark?
    #[inline]
    pub fn marks(&self, queue: u64, dice: &mut Rng) -> bool {
        self.spec.ramp.marks(self.beyond(queue), dice)
    }

    /// What an ingress may use of the shared part before it asks for a pause.
    #[inline]
    fn share(&self, less: u64) -> u64 {
        let free = self.ingress_limit.saturating_sub(self.ingress_used).saturating_sub(less);
        (self.spec.ingress_alpha * free as f64) as u64
    }

    /// Takes `bytes` into the buffer, for a queue that holds `queue` bytes, if there is room.
    pub fn admit(&mut self, came: Came, queue: u64, bytes: u64) -> bool {
        let (before, after) = (self.beyond(queue), self.beyond(queue + bytes));
        let free = self.egress_limit.saturating_sub(self.egress_used);
        if after > 0 && after as f64 > self.spec.egress_alpha * free as f64 {
            return false;
        }
        if let Some(came) = came
            && !self.admit_ingress(self.at(came), bytes)
        {
            return false;
        }
        self.egress_used += after - before;
        true
    }

    fn admit_ingress(&mut self, at: usize, bytes: u64) -> bool {
        let ingress = self.ingress[at];
        let to_headroom = match self.spec.headroom_use {
            HeadroomUse::PoolFull => self.ingress_used + bytes > self.ingress_limit,
            HeadroomUse::AboveThreshold => {
                ingress.headroom > 0 || ingress.used + bytes > self.share(0) + self.spec.guaranteed
            }
        };
        if to_headroom && self.spec.pfc {
            if ingress.headroom + bytes > ingress.headroom_limit {
                return false;
            }
            self.ingress[at].headroom += bytes;
            self.most_headroom = self.most_headroom.max(ingress.headroom + bytes);
            return true;
        }
        if to_headroom && self.ingress_used + bytes > self.ingress_limit {
            return false;
        }
        self.ingress[at].used += bytes;
        self.ingress_used += bytes;
        true
    }

    /// Gives back `bytes` that leave a queue which still holds `queue` bytes.
    pub fn leave(&mut self, came: Came, queue: u64, bytes: u64) {
        self.egress_used -= self.beyond(queue + bytes) - self.beyond(queue);
        if let Some(came) = came {
            let at = self.at(came);
            let ingress = &mut self.ingress[at];
            let from_headroom = ingress.headroom.min(bytes);
            ingress.headroom -= from_headroom;
            ingress.used -= bytes - from_headroom;
            self.ingress_used -= bytes - from_headroom;
        }
    }

    /// Bytes move from one queue, which is then empty, to another that held `queue` bytes.
    pub fn merge(&mut self, queue: u64, joined: u64) {
        self.egress_used -= self.beyond(joined);
        self.egress_used += self.beyond(queue + joined) - self.beyond(queue);
    }

    /// A packet has come by: for how long the sender shall pause now, if it shall ([`Time::NEVER`]: until told).
    pub fn pause(&mut self, came: (u16, u8), now: Time) -> Option<Time> {
        let at = self.at(came);
        let ingress = &self.ingress[at];
        let over = ingress.headroom > 0 || ingress.used.saturating_sub(self.spec.pause_offset) > self.share(0);
        if !self.spec.pfc || !over {
            return None;
        }
        let until = if self.spec.pause == Span::ZERO { Time::NEVER } else { now + self.spec.pause };
        if until == Time::NEVER && ingress.pausing_until == Time::NEVER {
            return None;
        }
        self.ingress[at].pausing_until = until;
        Some(until)
    }

    /// A packet that had come by this ingress has left: may the sender go on now?
    pub fn resume(&mut self, came: (u16, u8), now: Time) -> bool {
        let at = self.at(came);
        let ingress = &self.ingress[at];
        let under = ingress.headroom == 0
            && ingress.used.saturating_sub(self.spec.pause_offset) < self.share(self.spec.resume_less).max(1);
        if ingress.pausing_until <= now || !under {
            return false;
        }
        self.ingress[at].pausing_until = now;
        true
    }

    /// Has this ingress asked its sender to pause, so that it still does at `now`?
    pub fn is_pausing(&self, port: u16, priority: u8, now: Time) -> bool {
        self.ingress[self.at((port, priority))].pausing_until > now
    }

    /// Bytes in the buffer, headroom included.
    pub fn bytes(&self) -> u64 {
        self.ingress.iter().map(|ingress| ingress.used + ingress.headroom).sum()
    }

    /// Most bytes of headroom that one ingress has used.
    pub fn most_headroom(&self) -> u64 {
        self.most_headroom
    }
}

/// Bytes that can still arrive once an ingress has asked for a pause: the packet that made it ask; the pause frame
/// waits for a packet in transmission, is sent and travels; the sender may just have started another packet; and what
/// is on the way travels too.
pub fn needed_headroom(rate: u64, delay: Span, packet: u64, pause_bytes: u32) -> u64 {
    let mut line = Serializer::new(rate);
    let frame = line.send(pause_bytes, true);
    let bits = u128::from(rate) * u128::from(2 * delay.0 + frame.0);
    let flying = bits.div_ceil(8_000_000_000_000) as u64;
    3 * packet + flying
}
