//! The rules by which a port accepts, drops and marks packets.

use std::collections::BTreeSet;

use crate::spec::{EcnAt, Limit, QueueCounts, SwitchSpec};

/// The queueing rules of a switch, laid out for the hot path: those of a class fill one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Rules {
    pub(super) max_packets: u32,
    pub(super) max_bytes: u64,
    pub(super) mark_packets: u32,
    pub(super) mark_bytes: u64,
    pub(super) mark_at_dequeue: bool,
    pub(super) counts_in_service: bool,
    /// The first waiting packets, up to this many, are in the device, and neither rule counts them.
    pub(super) device_packets: u32,
    /// Thresholds below which, as far as is known without a look, a packet is taken unmarked.
    pub(super) lazy_packets: u32,
    pub(super) lazy_bytes: u64,
}

/// The state of the queue that an admitted packet found.
#[derive(Clone, Copy, Debug, Default)]
pub struct Found {
    pub(super) mark: bool,
}

/// A FIFO port checks which of its packets have started when this many may be waiting.
const LOOK_AT: u32 = 16;

impl Rules {
    /// Reads the rules of the spec, for a port of `rate` bits per second. A shared buffer has its own rules.
    pub fn new(spec: &SwitchSpec, rate: u64) -> Self {
        let SwitchSpec::OutputQueued(spec) = spec else { return Rules::boundless() };
        let (max_packets, max_bytes) = split(spec.buffer, rate);
        let (mark_packets, mark_bytes) = spec.ecn_threshold.map_or((u32::MAX, u64::MAX), |limit| split(limit, rate));
        let at_enqueue = spec.ecn_at != EcnAt::Dequeue;
        Rules {
            // One less, since the packet in service may count. Marks at dequeue need every packet examined in time.
            lazy_packets: if at_enqueue { LOOK_AT.min(mark_packets.min(max_packets).saturating_sub(1)) } else { 0 },
            lazy_bytes: max_bytes.min(mark_bytes.saturating_sub(1)),
            max_packets,
            max_bytes,
            mark_packets,
            mark_bytes,
            mark_at_dequeue: spec.ecn_at == EcnAt::Dequeue,
            device_packets: spec.device_queue,
            counts_in_service: spec.queue_counts == QueueCounts::InService,
        }
    }

    pub(super) fn boundless() -> Self {
        Rules {
            max_packets: u32::MAX,
            max_bytes: u64::MAX,
            mark_packets: u32::MAX,
            mark_bytes: u64::MAX,
            mark_at_dequeue: false,
            device_packets: 0,
            counts_in_service: false,
            lazy_packets: 0,
            lazy_bytes: 0,
        }
    }

    /// Whether marks are decided as a packet leaves the queue.
    #[inline]
    pub fn marks_at_dequeue(&self) -> bool {
        self.mark_at_dequeue
    }

    /// Bytes that there is room for, assuming packets of `mtu` bytes where the limit is in packets.
    pub fn room(&self, mtu: u32) -> u64 {
        if self.max_packets == u32::MAX { self.max_bytes } else { u64::from(self.max_packets) * u64::from(mtu) }
    }

    /// Drop-tail: whether a packet of `bytes` may join a queue of these bytes and packets, in addition to the held
    /// ones. If it `stays` there must be room. The bytes that wait `above` the number of packets in the device are
    /// requested only if the queue calls for it.
    #[inline(always)]
    pub(super) fn judge(
        &self,
        queue: (u64, u32),
        held: (u64, u32),
        stays: bool,
        bytes: u32,
        above: impl FnOnce(u32) -> (u64, u32),
    ) -> Option<Found> {
        let (mut queued, mut packets) = queue;
        let full = |queued: u64, packets: u32| {
            packets.saturating_add(held.1) >= self.max_packets || queued + held.0 + u64::from(bytes) > self.max_bytes
        };
        if self.device_packets > 0 && (full(queued, packets) || self.marks(queued, packets)) {
            (queued, packets) = above(self.device_packets);
        }
        if stays && full(queued, packets) {
            return None;
        }
        Some(Found { mark: !self.mark_at_dequeue && self.marks(queued, packets) })
    }

    #[inline]
    pub(super) fn marks(&self, bytes: u64, packets: u32) -> bool {
        packets >= self.mark_packets || bytes >= self.mark_bytes
    }
}

/// The rules of all ports: one set per link rate, where rules depend on the rate.
#[derive(Clone, Debug)]
pub struct AllRules {
    rates: Vec<u64>,
    by_class: Vec<Rules>,
}

impl AllRules {
    /// Derives the rules from the spec and the rates of all links.
    pub fn new(spec: &SwitchSpec, rates: impl Iterator<Item = u64>) -> AllRules {
        let line = |limit: &Limit| matches!(limit, Limit::Line { .. });
        let by_rate = matches!(spec, SwitchSpec::OutputQueued(spec)
            if line(&spec.buffer) || spec.ecn_threshold.as_ref().is_some_and(line));
        let rates: BTreeSet<u64> = if by_rate { rates.collect() } else { BTreeSet::new() };
        let rates: Vec<u64> = rates.into_iter().collect();
        let by_class = if by_rate { rates.as_slice() } else { &[0] }.iter().map(|&rate| Rules::new(spec, rate));
        AllRules { by_class: by_class.collect(), rates }
    }

    /// The rules of a class of ports.
    #[inline(always)]
    pub fn of(&self, class: u16) -> &Rules {
        &self.by_class[usize::from(class)]
    }

    /// The class of ports of this rate.
    pub fn class(&self, rate: u64) -> u16 {
        self.rates.binary_search(&rate).unwrap_or(0) as u16
    }

    /// Whether marks are decided as a packet leaves the queue.
    #[inline]
    pub fn marks_at_dequeue(&self) -> bool {
        self.by_class.first().is_some_and(Rules::marks_at_dequeue)
    }
}

fn split(limit: Limit, rate: u64) -> (u32, u64) {
    match limit {
        Limit::Packets(n) => (n, u64::MAX),
        Limit::Bytes(n) => (u32::MAX, n),
        Limit::Line { bytes, time } => (u32::MAX, bytes + time.carries(rate)),
    }
}
