//! Constant-bit-rate UDP by a schedule of rates, paced exactly.
//!
//! The source is a fluid: work flows in at the scheduled rate and a packet leaves when a packet's worth has
//! accumulated; the first leaves when the first rate above zero starts. A bit rate in bits/s is a number of pico-bits
//! per picosecond, so all of this is exact in integers: within a stretch of constant rate, packet k leaves at the floor
//! of its exact rational instant, and a change of rate keeps the work already done. A rate of zero also keeps it until
//! the source resumes.

use super::contract::{Answer, Answered, Counts, Data, Outgoing, Sender, Start};
use spinewise_policy::time::{BYTE_PS, Time};
use std::collections::VecDeque;

/// Most bytes of a packet: they are counted in 16 bits.
pub(crate) const MOST_PACKET_BYTES: u32 = 65_000;

/// A constant-bit-rate source. Immutable during a run.
#[derive(Clone, Debug, PartialEq)]
pub struct UdpConfig {
    /// Bytes of a packet on the wire, headers included; 1 to [`MOST_PACKET_BYTES`].
    pub packet_bytes: u32,
    /// The rate from each instant on, in bits per second of wire bytes; 0 stops. Instants ascend strictly.
    pub schedule: Vec<(Time, u64)>,
    /// Wire bytes to send in all; the last packet is short if they do not divide. None = no bound.
    pub size_bytes: Option<u64>,
    /// No packet leaves at or after this instant ([`Time::NEVER`] = no end).
    pub end: Time,
}

/// The state of one constant-bit-rate source.
#[derive(Clone, Debug)]
pub(crate) struct UdpSender {
    /// Whole picoseconds of the next packet's instant, [`Time::NEVER`] when done.
    next: Time,
    /// The fraction of that instant, in units of 1 / rate picoseconds.
    fraction: u64,
    /// The time between packets at the current rate: whole picoseconds, and the fraction.
    interval: u64,
    interval_fraction: u64,
    /// The current rate, bits per second.
    rate: u64,
    /// The index of the next entry of the schedule.
    step: u32,
    packets: u32,
    sent: u64,
}

impl UdpSender {
    /// A source that has sent nothing.
    pub(crate) fn new(config: &UdpConfig) -> Self {
        debug_assert!((1..=MOST_PACKET_BYTES).contains(&config.packet_bytes), "packet size is checked with the spec");
        debug_assert!(config.schedule.is_sorted_by(|a, b| a.0 < b.0), "the schedule's order is checked with the spec");
        let mut sender = Self {
            next: Time::NEVER,
            fraction: 0,
            interval: 0,
            interval_fraction: 0,
            rate: 0,
            step: 0,
            packets: 0,
            sent: 0,
        };
        sender.enter(config, 0);
        sender.finish(config);
        sender
    }

    /// When the next packet leaves; none once the source is done.
    #[inline]
    pub(crate) fn next_time(&self) -> Option<Time> {
        (self.next != Time::NEVER).then_some(self.next)
    }

    /// Takes the packet due at [`Self::next_time`], which must exist. Returns its bytes on the wire.
    #[inline]
    pub(crate) fn next_packet(&mut self, config: &UdpConfig) -> u32 {
        debug_assert!(!self.is_done(), "no packet is due");
        let left = config.size_bytes.map_or(u64::MAX, |size| size - self.sent);
        let bytes = left.min(u64::from(config.packet_bytes)) as u32;
        self.sent += u64::from(bytes);
        self.packets += 1;
        let mut next = self.next.0.saturating_add(self.interval);
        self.fraction += self.interval_fraction;
        if self.fraction >= self.rate {
            self.fraction -= self.rate;
            next = next.saturating_add(1);
        }
        self.next = Time(next);
        if let Some(&(change, _)) = config.schedule.get(self.step as usize)
            && self.next >= change
        {
            // The missing part of the next packet when the rate changes, exact.
            let missing = u128::from(self.next.since(change).0) * u128::from(self.rate) + u128::from(self.fraction);
            self.enter(config, missing as u64);
        }
        self.finish(config);
        bytes
    }

    /// Whether no packet will follow.
    #[inline]
    pub(crate) fn is_done(&self) -> bool {
        self.next == Time::NEVER
    }

    /// Packets taken so far.
    pub(crate) fn packets(&self) -> u32 {
        self.packets
    }

    #[cfg(test)]
    /// Wire bytes taken so far.
    pub(crate) fn sent_bytes(&self) -> u64 {
        self.sent
    }

    /// Goes through the schedule from its next entry until the `missing` pico-bits have flowed in.
    fn enter(&mut self, config: &UdpConfig, mut missing: u64) {
        let need = u64::from(config.packet_bytes) * BYTE_PS;
        while let Some(&(at, rate)) = config.schedule.get(self.step as usize) {
            self.step += 1;
            self.rate = rate;
            let until = config.schedule.get(self.step as usize).map_or(Time::NEVER, |entry| entry.0);
            if rate == 0 {
                continue;
            }
            let next = at.0.saturating_add(missing / rate);
            if next < until.0 {
                self.next = Time(next);
                self.fraction = missing % rate;
                self.interval = need / rate;
                self.interval_fraction = need % rate;
                return;
            }
            // `next >= until` bounds the product by `missing`.
            missing = missing.saturating_sub(until.since(at).0.saturating_mul(rate));
        }
        self.next = Time::NEVER;
    }

    /// Ends the source when its bytes or its time are used up.
    #[inline]
    fn finish(&mut self, config: &UdpConfig) {
        if self.next >= config.end || config.size_bytes.is_some_and(|size| self.sent >= size) {
            self.next = Time::NEVER;
        }
    }
}

/// The sending end of a UDP flow: a source, and the packets that are due and not yet sent, because others may be at the
/// NIC.
#[derive(Clone, Debug)]
pub struct Paced {
    source: UdpSender,
    /// The sizes of those packets.
    due: VecDeque<u32>,
}

impl Paced {
    /// When the next packet falls due; none once all have.
    pub fn next_due(&self) -> Option<Time> {
        self.source.next_time()
    }

    /// The next packet falls due.
    pub fn fall_due(&mut self, config: &UdpConfig) {
        self.due.push_back(self.source.next_packet(config));
    }

    /// Whether the last packet has been sent.
    pub fn is_sent(&self) -> bool {
        self.due.is_empty() && self.source.is_done()
    }

    /// Packets sent.
    fn packets(&self) -> u32 {
        self.source.packets() - self.due.len() as u32
    }
}

impl Sender for Paced {
    type Config = UdpConfig;

    fn new(config: &UdpConfig, _: &Start) -> Self {
        Paced { source: UdpSender::new(config), due: VecDeque::new() }
    }

    fn may_send_from(&self, _: &UdpConfig) -> Time {
        if self.due.is_empty() { Time::NEVER } else { Time::ZERO }
    }

    fn next(&mut self, config: &UdpConfig, _: Time) -> Option<Outgoing> {
        let seq = u64::from(self.packets()) * u64::from(config.packet_bytes);
        let bytes = self.due.pop_front()? as u16;
        Some(Outgoing::Data(Data { seq, len: bytes, wire: bytes, flags: 0 }))
    }

    /// Nothing answers UDP.
    fn on_answer<'a>(
        &mut self,
        _: &UdpConfig,
        _: Time,
        _: usize,
        _: &Answer,
        _: impl FnOnce() -> &'a [u8],
    ) -> Answered {
        Answered::Ignored
    }

    fn deadline(&self, _: usize) -> Option<Time> {
        None
    }

    fn on_timeout(&mut self, _: &UdpConfig, _: Time, _: usize) -> Option<u64> {
        None
    }

    fn account(&self, counts: &mut Counts) {
        counts.packets += self.packets();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(packet_bytes: u32, schedule: &[(u64, u64)]) -> UdpConfig {
        UdpConfig {
            packet_bytes,
            schedule: schedule.iter().map(|&(at, rate)| (Time(at), rate)).collect(),
            size_bytes: None,
            end: Time::NEVER,
        }
    }

    fn times(config: &UdpConfig, limit: usize) -> Vec<u64> {
        let mut sender = UdpSender::new(config);
        let mut times = Vec::new();
        while let Some(time) = sender.next_time() {
            if times.len() == limit {
                break;
            }
            times.push(time.0);
            sender.next_packet(config);
        }
        times
    }

    #[test]
    fn three_gigabits_pace_at_the_floor_of_the_exact_instant() {
        // 1250 bytes at 3 Gbps: 10^7 / 3 ps apart, which does not divide.
        let config = config(1250, &[(7, 3_000_000_000)]);
        for (k, time) in times(&config, 10_000).into_iter().enumerate() {
            let exact = 7 + (k as u128 * 10_000 * 1_000_000_000_000) / 3_000_000_000;
            assert_eq!(u128::from(time), exact, "packet {k}");
        }
    }

    /// The definition, packet by packet: the work done until `t` as a sum over the stretches, and
    /// the first `t` whose exact instant has floor `t`.
    fn by_definition(config: &UdpConfig, packets: u128) -> Vec<u64> {
        let need = u128::from(config.packet_bytes) * u128::from(BYTE_PS);
        let first = config.schedule.iter().find(|entry| entry.1 > 0).map(|entry| entry.0.0);
        let mut out: Vec<u64> = first.into_iter().collect();
        for k in 1..packets {
            let mut work = 0_u128;
            for (i, &(at, rate)) in config.schedule.iter().enumerate() {
                let until = config.schedule.get(i + 1).map_or(u64::MAX, |entry| entry.0.0);
                let rate = u128::from(rate);
                let length = u128::from(until - at.0);
                // Work that ends exactly at a change of rate belongs to the stretch that follows.
                if rate > 0 && work + rate * length > k * need {
                    out.push(at.0 + ((k * need - work) / rate) as u64);
                    break;
                }
                work += rate * length;
            }
        }
        out
    }

    #[test]
    fn changes_of_rate_are_exact() {
        let gbps = 1_000_000_000;
        let schedules: [&[(u64, u64)]; 6] = [
            &[(0, 3 * gbps), (10_000_001, 7 * gbps), (33_333_333, gbps / 3)],
            &[(5, 0), (100, 3 * gbps), (5_000_000, 0), (90_000_000, 7 * gbps)],
            &[(0, 999_999_937), (12_345_678, 1), (12_345_999, 0), (12_346_000, 40 * gbps)],
            // Work that is complete at the very instant of a stop waits for the restart.
            &[(0, 12 * gbps), (500_000, 6 * gbps), (1_500_000, 0), (2_000_000, 12 * gbps)],
            // A change at the very instant of a packet, and several between two packets.
            &[(0, 12 * gbps), (1_000_000, 3 * gbps), (5_000_000, 12 * gbps)],
            &[(0, gbps), (10, 2 * gbps), (20, 5 * gbps), (30, 0), (40, gbps), (12_000_040, 11)],
        ];
        for schedule in schedules {
            let config = config(1500, schedule);
            assert_eq!(times(&config, 200), by_definition(&config, 200), "{schedule:?}");
        }
    }

    #[test]
    fn a_final_zero_stops_the_source() {
        // 1500 bytes at 12 Gbps leave each microsecond: at 0, 1 and 2 us; the fourth would need 3 us.
        let config = config(1500, &[(0, 12_000_000_000), (3_000_000, 0)]);
        assert_eq!(times(&config, 10), [0, 1_000_000, 2_000_000]);
    }

    #[test]
    fn size_and_end_bound_the_source() {
        let mut config = config(1500, &[(0, 12_000_000_000)]);
        config.size_bytes = Some(3200);
        let mut sender = UdpSender::new(&config);
        let sizes: Vec<u32> = std::iter::from_fn(|| sender.next_time().map(|_| sender.next_packet(&config))).collect();
        assert_eq!(sizes, [1500, 1500, 200]);
        assert!(sender.is_done());
        assert_eq!((sender.packets(), sender.sent_bytes()), (3, 3200));
        config.size_bytes = None;
        config.end = Time(2_000_000);
        assert_eq!(times(&config, 10), [0, 1_000_000]);
        config.schedule.clear();
        assert!(UdpSender::new(&config).is_done());
    }
}
