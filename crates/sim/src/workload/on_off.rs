//! A given number of flows in bursts, with heavy-tailed sizes (source: PDLB, "Basic performance", first experiment).
//!
//! The paper says: arrivals at the edge follow an ON/OFF model; the time between the bursts is normally distributed;
//! 200 flows from 50 KB to 200 KB are heavy-tailed; their start times are Poisson. It gives no rate, no length of a
//! burst, no parameters of the normal distribution and no tail index, and does not say which host sends to which: those
//! defaults are assumptions of this simulator, marked as such at each field.

use core::cmp::Reverse;
use std::collections::BinaryHeap;

use spinewise_policy::rng::Rng;
use spinewise_policy::time::{Span, Time};

use super::pairs::{Matching, Pairs};
use super::{FLOW_BYTES, FlowSpec, MOST_FLOWS, Places, WorkloadError, entity, math};

const PS_PER_SECOND: f64 = 1e12;
/// A mean gap may last this many bursts; beyond that the bursts are too short to matter to the arrivals.
const MOST_BURSTS_PER_GAP: f64 = 10_000.0;

/// Flows from senders that each alternate between ON periods, with Poisson arrivals, and silent OFF periods.
#[derive(Clone, Debug, PartialEq)]
pub struct OnOff {
    /// Number of flows in all, counting the first of all senders together. Paper: 200.
    pub flows: u64,
    /// Smallest flow, in bytes. Paper: 50 KB (taken as 50 000).
    pub min_bytes: u64,
    /// Largest flow, in bytes. Paper: 200 KB (taken as 200 000).
    pub max_bytes: u64,
    /// Tail index of the bounded Pareto distribution of sizes, above 0; smaller is heavier. Assumed: 1.2.
    pub tail_index: f64,
    /// Flows per second from all senders together while all are ON. Assumed: 100 000, which with the other defaults
    /// offers about 36 Gbps on average, 45 % of the eight 10 Gbps paths.
    pub arrivals_per_second: f64,
    /// Length of an ON period, above 0. Assumed: 500 µs.
    pub on: Span,
    /// Mean of the normal distribution of OFF periods. Assumed: 500 µs.
    pub off_mean: Span,
    /// Its standard deviation; draws below zero count as zero. Assumed: 150 µs.
    pub off_sd: Span,
    /// The pairs of hosts. Assumed: each host under leaf 0 to its counterpart under leaf 1.
    pub pairs: Pairs,
    /// When the senders begin, each at its own random position in its first OFF period.
    pub start: Time,
}

impl Default for OnOff {
    fn default() -> OnOff {
        OnOff {
            flows: 200,
            min_bytes: 50_000,
            max_bytes: 200_000,
            tail_index: 1.2,
            arrivals_per_second: 100_000.0,
            on: Span::from_us(500),
            off_mean: Span::from_us(500),
            off_sd: Span::from_us(150),
            pairs: Pairs::OneToOne { from: 0, to: 1 },
            start: Time::ZERO,
        }
    }
}

/// One sender: its clock and its streams.
struct Source {
    host: u32,
    now: Time,
    /// The rest of the ON period it is in.
    on_left: Span,
    arrivals: Rng,
    off_periods: Rng,
    sizes: Rng,
    receivers: Rng,
}

impl OnOff {
    /// The flow size at the uniform draw `u` in [0, 1), in bytes: the inverse of the bounded Pareto distribution.
    pub fn size(&self, u: f64) -> u64 {
        let (low, high) = (self.min_bytes as f64, self.max_bytes as f64);
        // P(size > x) = ((low/x)^a − r) / (1 − r) with r = (low/high)^a.
        let r = math::pow(low / high, self.tail_index);
        let size = low * math::pow(1.0 - u * (1.0 - r), -1.0 / self.tail_index);
        ((size + 0.5) as u64).clamp(self.min_bytes, self.max_bytes)
    }

    fn check(&self) -> Result<(), WorkloadError> {
        let refuse = |key, value: &dyn core::fmt::Display, allowed: &str| Err(WorkloadError::new(key, value, allowed));
        if self.flows > MOST_FLOWS {
            return Err(WorkloadError::new("flows", self.flows, format!("from 0 to {MOST_FLOWS}")));
        }
        if self.min_bytes == 0 {
            return refuse("min_bytes", &self.min_bytes, "1 or more");
        }
        if self.max_bytes < self.min_bytes {
            return refuse("max_bytes", &self.max_bytes, &format!("{} (min_bytes) or more", self.min_bytes));
        }
        if !(self.tail_index > 0.0 && self.tail_index <= 100.0) {
            return refuse("tail_index", &self.tail_index, "above 0, up to 100");
        }
        if !(self.arrivals_per_second > 0.0 && self.arrivals_per_second <= PS_PER_SECOND) {
            return refuse("arrivals_per_second", &self.arrivals_per_second, "above 0, up to 1e12");
        }
        Ok(())
    }

    /// The mean gap of one sender in ON time, in picoseconds.
    fn mean_gap(&self, senders: usize) -> Result<f64, WorkloadError> {
        let gap = PS_PER_SECOND * senders as f64 / self.arrivals_per_second;
        if (self.on.0 as f64) * MOST_BURSTS_PER_GAP < gap {
            let least = gap / MOST_BURSTS_PER_GAP / 1e6;
            let allowed = format!("{least} or more with these arrivals_per_second and {senders} senders");
            return Err(WorkloadError::new("on_us", self.on.as_us_f64(), allowed));
        }
        Ok(gap)
    }

    fn off_period(&self, rng: &mut Rng) -> Span {
        let length = self.off_mean.0 as f64 + self.off_sd.0 as f64 * math::normal(rng);
        // A negative length becomes zero in the conversion.
        Span((length + 0.5) as u64)
    }

    pub(super) fn generate(&self, seed: u64, entry: u8, places: &Places) -> Result<Vec<FlowSpec>, WorkloadError> {
        self.check()?;
        let matching = Matching::new(self.pairs, None, places)?;
        let mean_gap = self.mean_gap(matching.sources().len())?;
        let mut sources: Vec<Source> =
            matching.sources().iter().map(|&host| Source::new(self, seed, entry, host)).collect();
        let mut next = BinaryHeap::with_capacity(sources.len());
        for (index, source) in sources.iter_mut().enumerate() {
            next.push(Reverse((source.next(self, mean_gap), source.host, index)));
        }
        // At most the flows that would come if all senders were ON all the time.
        let lasts = places.bounds.until.0.saturating_sub(self.start.0) as f64 / PS_PER_SECOND;
        let flows = (self.flows as f64).min(lasts * self.arrivals_per_second) as u64;
        places.bounds.refuse_too_many("flows", self.flows, flows, FLOW_BYTES)?;
        let mut flows = Vec::new();
        while (flows.len() as u64) < self.flows && (places.bounds.go_on)() {
            let Some(mut head) = next.peek_mut() else { break };
            let Reverse((start, src, index)) = *head;
            if start >= places.bounds.until {
                break;
            }
            let source = &mut sources[index];
            let dst = matching.receiver(src, &mut source.receivers);
            let size = self.size(source.sizes.unit());
            flows.push(FlowSpec { src, dst, size, start, entry, ..FlowSpec::default() });
            *head = Reverse((source.next(self, mean_gap), src, index));
        }
        Ok(flows)
    }
}

impl Source {
    fn new(on_off: &OnOff, seed: u64, entry: u8, host: u32) -> Source {
        let stream = |purpose| Rng::stream(seed, purpose, entity(entry, host));
        let mut off_periods = stream("off periods");
        // Senders that all began with a burst would share one; the rest of an OFF period sets them apart.
        let wait = on_off.off_period(&mut off_periods).0 as f64 * off_periods.unit();
        Source {
            host,
            now: on_off.start + Span(wait as u64),
            on_left: on_off.on,
            arrivals: stream("arrivals"),
            off_periods,
            sizes: stream("flow sizes"),
            receivers: stream("receivers"),
        }
    }

    /// The next arrival. The Poisson process runs on ON time, so a gap that outlasts its burst continues in the next
    /// one.
    fn next(&mut self, on_off: &OnOff, mean_gap: f64) -> Time {
        let mut gap = Span((mean_gap * math::exponential(&mut self.arrivals) + 0.5) as u64);
        while gap > self.on_left {
            gap = gap - self.on_left;
            self.now = self.now + self.on_left + on_off.off_period(&mut self.off_periods);
            self.on_left = on_off.on;
        }
        self.on_left = self.on_left - gap;
        self.now += gap;
        self.now
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Fabric;
    use super::*;

    #[test]
    fn the_papers_flows_come_out() {
        let fabric = Fabric::new(2, 16, 8);
        let flows = OnOff::default().generate(1, 0, &fabric.places()).unwrap();
        assert_eq!(flows.len(), 200);
        assert!(flows.iter().all(|flow| flow.src < 16 && flow.dst == flow.src + 16));
        assert!(flows.iter().all(|flow| (50_000..=200_000).contains(&flow.size)));
        assert!(flows.is_sorted_by_key(|flow| flow.start));
    }

    #[test]
    fn sizes_are_bounded_pareto() {
        let on_off = OnOff { tail_index: 1.5, ..OnOff::default() };
        assert_eq!([on_off.size(0.0), on_off.size(1.0 - f64::EPSILON)], [50_000, 200_000]);
        // Index 1.5 and a ratio of 4 give r = 1/8: the median is 50 000 · (1 − 7/16)^(−2/3).
        assert_eq!(on_off.size(0.5), (50_000.0 * (9f64 / 16.0).powf(-2.0 / 3.0)).round() as u64);
        let n = 200_000;
        let mut rng = Rng::stream(5, "test", 0);
        let sizes: Vec<f64> = (0..n).map(|_| on_off.size(rng.unit()) as f64).collect();
        let mean = sizes.iter().sum::<f64>() / n as f64;
        // a/(a − 1) · low · (1 − ratio^(1−a)) / (1 − r) = 3 · 50 000 · (1 − 1/2) / (7/8).
        let expected = 3.0 * 50_000.0 * 0.5 / 0.875;
        let sigma = sizes.iter().map(|size| (size - mean) * (size - mean)).sum::<f64>().sqrt() / n as f64;
        assert!((mean - expected).abs() < 4.0 * sigma, "{mean} against {expected}");
        let constant = OnOff { max_bytes: 50_000, ..on_off };
        assert_eq!(constant.size(0.7), 50_000);
    }

    /// Without OFF periods the process is Poisson; with them the ON share of the time sets the rate.
    #[test]
    fn rates_follow_the_periods() {
        let fabric = Fabric::new(2, 4, 8);
        let rate = |off_us: u64| {
            let on_off = OnOff {
                flows: 40_000,
                off_mean: Span::from_us(off_us),
                off_sd: Span::from_us(off_us / 10),
                ..OnOff::default()
            };
            let flows = on_off.generate(3, 0, &fabric.places()).unwrap();
            flows.len() as f64 / (flows.last().unwrap().start.0 as f64 / 1e12)
        };
        let slack = 4.0 / 40_000f64.sqrt();
        assert!((rate(0) / 100_000.0 - 1.0).abs() < slack, "{}", rate(0));
        assert!((rate(500) / 50_000.0 - 1.0).abs() < 1.5 * slack, "{}", rate(500));
        assert!((rate(1500) / 25_000.0 - 1.0).abs() < 2.0 * slack, "{}", rate(1500));
    }

    #[test]
    fn arrivals_keep_to_the_on_periods() {
        let fabric = Fabric::new(2, 1, 1);
        let on_off = OnOff { flows: 5_000, off_sd: Span::ZERO, ..OnOff::default() };
        let flows = on_off.generate(3, 0, &fabric.places()).unwrap();
        // A constant OFF period puts all bursts on one grid of 1 ms, 500 µs wide.
        let phase: Vec<u64> = flows.iter().map(|flow| flow.start.0 % 1_000_000_000).collect();
        let first = flows[0].start.0 % 1_000_000_000;
        let spread = |from: u64| phase.iter().map(|p| (p + 1_000_000_000 - from) % 1_000_000_000).max().unwrap();
        let narrowest = phase.iter().map(|&from| spread(from)).min().unwrap().min(spread(first));
        assert!((450_000_000..=500_000_000).contains(&narrowest), "{narrowest}");
    }

    #[test]
    fn off_periods_are_truncated_normal() {
        let on_off = OnOff { off_mean: Span(1_000), off_sd: Span(1_000), ..OnOff::default() };
        let n = 100_000;
        let mut rng = Rng::stream(5, "test", 1);
        let lengths: Vec<u64> = (0..n).map(|_| on_off.off_period(&mut rng).0).collect();
        // P(X < 0) = Φ(−1); rounding moves the edge by half a step in a thousand.
        let zero = lengths.iter().filter(|&&length| length == 0).count() as f64 / n as f64;
        assert!((zero - 0.1587).abs() < 4.0 * 0.3654 / (n as f64).sqrt() + 2e-4, "{zero}");
        let above = lengths.iter().filter(|&&length| length > 1_000).count() as f64 / n as f64;
        assert!((above - 0.5).abs() < 4.0 * 0.5 / (n as f64).sqrt() + 2e-4, "{above}");
    }

    #[test]
    fn bad_values_are_refused() {
        let fabric = Fabric::new(2, 2, 2);
        let key = |on_off: OnOff| on_off.generate(1, 0, &fabric.places()).err().map(|error| error.key);
        let good = OnOff::default;
        assert_eq!(key(OnOff { min_bytes: 0, ..good() }), Some("min_bytes".into()));
        assert_eq!(key(OnOff { max_bytes: 10, ..good() }), Some("max_bytes".into()));
        assert_eq!(key(OnOff { tail_index: f64::NAN, ..good() }), Some("tail_index".into()));
        assert_eq!(key(OnOff { arrivals_per_second: 0.0, ..good() }), Some("arrivals_per_second".into()));
        assert_eq!(key(OnOff { on: Span::ZERO, ..good() }), Some("on_us".into()));
        assert_eq!(key(OnOff { flows: u64::MAX, ..good() }), Some("flows".into()));
        assert_eq!(key(OnOff { pairs: Pairs::LeafPair { from: 0, to: 2 }, ..good() }), Some("to_leaf".into()));
        assert_eq!(key(OnOff { flows: 0, ..good() }), None);
    }
}
