//! Poisson arrivals at a given load, independently at each host: the workload of most evaluations.

use core::cmp::Reverse;
use std::collections::BinaryHeap;

use spinewise_policy::rng::Rng;
use spinewise_policy::time::{Span, Time};

use super::cdf::Cdf;
use super::pairs::{Matching, Pairs};
use super::{Bounds, FLOW_BYTES, FlowSpec, MOST_FLOWS, Places, WorkloadError, entity, math};

const PS_PER_SECOND: f64 = 1e12;
const BITS_PER_BYTE: f64 = 8.0;

/// The capacity that a load of 1 fills.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadOf {
    /// The nominal uplinks of each sender's leaf, shared by its hosts (source: ns3-load-balance). With [`Pairs::Any`]
    /// some of the traffic stays in the rack, and the uplinks get that much less.
    #[default]
    LeafUplinks,
    /// The link of each sending host (source: conweave-ns3).
    HostLinks,
}

/// Flows arriving at every sending host as a Poisson process, with sizes from a distribution.
///
/// A host sends `load · capacity / (8 · mean size)` flows a second; load counts payload bytes only, and the mean is that
/// of the distribution, not of the draws.
#[derive(Clone, Debug, PartialEq)]
pub struct Poisson {
    /// Sizes in bytes.
    pub cdf: Cdf,
    /// Offered payload over capacity; 0 sends nothing.
    pub load: f64,
    /// The capacity that the load refers to.
    pub load_of: LoadOf,
    /// The pairs of hosts.
    pub pairs: Pairs,
    /// The hosts that send and receive, in order of their numbers, if not all do.
    pub hosts: Option<Vec<u32>>,
    /// When the processes begin; the first arrival is one gap later.
    pub start: Time,
    /// Arrivals come before `start + duration`; [`Span::FOREVER`] if only `max_flows` ends them.
    pub duration: Span,
    /// Maximum number of arrivals, the first of all hosts together; 0 = no limit.
    pub max_flows: u64,
}

/// One sending host: its next arrival and its streams.
struct Source {
    host: u32,
    /// Unit: picoseconds; infinite if it never sends.
    mean_gap: f64,
    arrivals: Rng,
    sizes: Rng,
    receivers: Rng,
}

impl Poisson {
    /// Flows between hosts of different racks at `load` of the leaf uplinks, from time zero, without an end: set
    /// `duration` or `max_flows`.
    pub fn new(cdf: Cdf, load: f64) -> Poisson {
        Poisson {
            cdf,
            load,
            load_of: LoadOf::default(),
            pairs: Pairs::default(),
            hosts: None,
            start: Time::ZERO,
            duration: Span::FOREVER,
            max_flows: 0,
        }
    }

    /// Mean flows per second from a host. All hosts of a leaf share its uplinks, whether they take part or not: `sharing`
    /// is their number.
    fn rate(&self, places: &Places, sharing: &[u32], host: u32) -> f64 {
        let leaf = places.leaf_of[host as usize];
        let capacity = match self.load_of {
            LoadOf::LeafUplinks => places.uplink_rate_of_leaf[leaf as usize] as f64 / f64::from(sharing[leaf as usize]),
            LoadOf::HostLinks => places.host_rates[host as usize] as f64,
        };
        self.load * capacity / (BITS_PER_BYTE * self.cdf.mean())
    }

    pub(super) fn generate(&self, seed: u64, entry: u8, places: &Places) -> Result<Vec<FlowSpec>, WorkloadError> {
        if !self.load.is_finite() || self.load < 0.0 {
            return Err(WorkloadError::new("load", self.load, "a finite number, 0 or more"));
        }
        let matching = Matching::new(self.pairs, self.hosts.as_deref(), places)?;
        let mut sharing = vec![0; places.leaves as usize];
        for &leaf in places.leaf_of {
            sharing[leaf as usize] += 1;
        }
        let rates: Vec<(u32, f64)> =
            matching.sources().iter().map(|&host| (host, self.rate(places, &sharing, host))).collect();
        if self.load > 0.0 && !rates.is_empty() && rates.iter().all(|&(_, rate)| rate <= 0.0) {
            return Err(WorkloadError::new("load_of", "leaf_uplinks", "host_links where no sender's leaf has uplinks"));
        }
        self.check_length(rates.iter().map(|(_, rate)| rate).sum(), &places.bounds)?;
        let sources = rates
            .into_iter()
            .filter(|&(_, rate)| rate > 0.0)
            .map(|(host, rate)| Source::new(seed, entry, host, PS_PER_SECOND / rate))
            .collect();
        Ok(self.merge(sources, entry, &matching, &places.bounds))
    }

    /// Refuses endless and absurdly long arrivals before any memory is allocated.
    fn check_length(&self, flows_per_second: f64, bounds: &Bounds) -> Result<(), WorkloadError> {
        let lasts = self.end(bounds).0.saturating_sub(self.start.0);
        let expected = flows_per_second * lasts as f64 / PS_PER_SECOND;
        let limited = if self.max_flows == 0 { expected } else { expected.min(self.max_flows as f64) };
        if self.max_flows == 0 && self.duration == Span::FOREVER {
            return Err(WorkloadError::new("duration_us", "none", "a duration, unless max_flows limits the flows"));
        }
        if self.max_flows > MOST_FLOWS {
            return Err(WorkloadError::new("max_flows", self.max_flows, format!("from 0 to {MOST_FLOWS}")));
        }
        let key = if self.max_flows == 0 { "duration_us" } else { "max_flows" };
        let value = if self.max_flows == 0 { self.duration.as_us_f64() } else { self.max_flows as f64 };
        bounds.refuse_too_many(key, value, limited as u64, FLOW_BYTES)
    }

    /// Whether it has reached its maximum number of flows.
    pub(super) fn is_limited(&self, drawn: u64) -> bool {
        self.max_flows > 0 && drawn >= self.max_flows
    }

    /// Returns when the arrivals end.
    pub(super) fn end(&self, bounds: &Bounds) -> Time {
        (self.start + self.duration).min(bounds.until)
    }

    /// Takes the arrivals of all sources in order of time (the lower host first at one instant) up to the limits.
    fn merge(&self, mut sources: Vec<Source>, entry: u8, matching: &Matching, bounds: &Bounds) -> Vec<FlowSpec> {
        let end = self.end(bounds);
        let limit = if self.max_flows == 0 { u64::MAX } else { self.max_flows };
        let mut next = BinaryHeap::with_capacity(sources.len());
        for (index, source) in sources.iter_mut().enumerate() {
            next.push(Reverse((source.after(self.start), source.host, index)));
        }
        let mut flows = Vec::new();
        while let Some(mut head) = next.peek_mut() {
            let Reverse((start, src, index)) = *head;
            if start >= end || flows.len() as u64 >= limit || !(bounds.go_on)() {
                break;
            }
            let source = &mut sources[index];
            let dst = matching.receiver(src, &mut source.receivers);
            let size = self.cdf.sample(source.sizes.unit());
            flows.push(FlowSpec { src, dst, size, start, entry, ..FlowSpec::default() });
            *head = Reverse((source.after(start), src, index));
        }
        flows
    }
}

impl Source {
    fn new(seed: u64, entry: u8, host: u32, mean_gap: f64) -> Source {
        let stream = |purpose| Rng::stream(seed, purpose, entity(entry, host));
        Source {
            host,
            mean_gap,
            arrivals: stream("arrivals"),
            sizes: stream("flow sizes"),
            receivers: stream("receivers"),
        }
    }

    /// The arrival after one at `now`. Each gap is rounded to whole picoseconds, so that no error accumulates.
    fn after(&mut self, now: Time) -> Time {
        now + Span((self.mean_gap * math::exponential(&mut self.arrivals) + 0.5) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Fabric;
    use super::*;

    fn small(load: f64) -> Poisson {
        Poisson { duration: Span::from_ms(100), ..Poisson::new(Cdf::parse("0 0\n20000 1").unwrap(), load) }
    }

    #[test]
    fn rate_and_load_are_those_asked_for() {
        let fabric = Fabric::new(4, 8, 4);
        for load_of in [LoadOf::LeafUplinks, LoadOf::HostLinks] {
            let poisson = Poisson { load_of, ..small(0.4) };
            let flows = poisson.generate(9, 0, &fabric.places()).unwrap();
            // Four leaves of 40 Gbps, or 32 hosts of 10 Gbps, for 0.1 s.
            let capacity = if load_of == LoadOf::LeafUplinks { 160e9 } else { 320e9 } * 0.1 / 8.0;
            let expected = 0.4 * capacity / 10_000.0;
            let count = flows.len() as f64;
            assert!((count - expected).abs() < 4.0 * expected.sqrt(), "{count} flows, {expected} expected");
            let bytes = flows.iter().map(|flow| flow.size as f64).sum::<f64>();
            // A compound Poisson sum: variance = count · E[size²].
            let sigma = (expected * 20_000f64.powi(2) / 3.0).sqrt();
            assert!((bytes - 0.4 * capacity).abs() < 4.0 * sigma, "{bytes} bytes");
        }
    }

    #[test]
    fn gaps_of_one_host_are_exponential() {
        let fabric = Fabric::new(2, 2, 2);
        let flows = small(0.9).generate(4, 0, &fabric.places()).unwrap();
        let starts: Vec<f64> = flows.iter().filter(|flow| flow.src == 1).map(|flow| flow.start.0 as f64).collect();
        let gaps: Vec<f64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        // 0.9 · 10 Gbps / 80 kbit: one flow in 8.888… µs.
        let expected = 1e12 / (0.9 * 10e9 / 80_000.0);
        let n = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / n;
        let variance = gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / n;
        assert!(n > 10_000.0);
        assert!((mean / expected - 1.0).abs() < 4.0 / n.sqrt(), "mean {mean}");
        assert!((variance / (expected * expected) - 1.0).abs() < 4.0 * (8.0 / n).sqrt(), "variance {variance}");
        let long = gaps.iter().filter(|&&gap| gap > 2.0 * expected).count() as f64;
        let p = (-2f64).exp();
        assert!((long - p * n).abs() < 4.0 * (n * p * (1.0 - p)).sqrt(), "{long} of {n} gaps above two means");
    }

    #[test]
    fn flows_leave_the_rack_within_the_duration() {
        let fabric = Fabric::new(4, 4, 4);
        let places = fabric.places();
        let poisson = Poisson { start: Time(7_000_000), duration: Span::from_ms(2), ..small(0.5) };
        let flows = poisson.generate(2, 3, &places).unwrap();
        assert!(flows.iter().all(|flow| fabric.leaf_of[flow.src as usize] != fabric.leaf_of[flow.dst as usize]));
        assert!(flows.iter().all(|flow| (7_000_000..2_007_000_000).contains(&flow.start.0)));
        assert!((0..16).all(|host| flows.iter().any(|flow| flow.src == host)));
    }

    #[test]
    fn max_flows_keeps_the_first_ones() {
        let fabric = Fabric::new(2, 8, 8);
        let all = small(0.5).generate(1, 0, &fabric.places()).unwrap();
        let limited = Poisson { max_flows: 100, ..small(0.5) }.generate(1, 0, &fabric.places()).unwrap();
        assert_eq!(limited, all[..100]);
        let endless = Poisson { duration: Span::FOREVER, max_flows: 100, ..small(0.5) };
        assert_eq!(endless.generate(1, 0, &fabric.places()).unwrap(), limited);
    }

    #[test]
    fn another_host_leaves_the_arrivals_of_the_rest_alone() {
        let of = |fabric: &Fabric, host: u32| -> Vec<(Time, u64)> {
            let poisson = Poisson { load_of: LoadOf::HostLinks, pairs: Pairs::Any, ..small(0.3) };
            let flows = poisson.generate(1, 0, &fabric.places()).unwrap();
            flows.iter().filter(|flow| flow.src == host).map(|flow| (flow.start, flow.size)).collect()
        };
        let (four, five) = (Fabric::new(1, 4, 1), Fabric::new(1, 5, 1));
        assert!((0..4).all(|host| of(&four, host) == of(&five, host)));
        assert!(of(&four, 0) != of(&four, 1));
    }

    #[test]
    fn load_moves_arrivals_but_neither_sizes_nor_receivers() {
        let fabric = Fabric::new(4, 1, 4);
        let of = |load: f64| -> Vec<(u32, u64)> {
            let flows = small(load).generate(1, 0, &fabric.places()).unwrap();
            flows.iter().filter(|flow| flow.src == 2).map(|flow| (flow.dst, flow.size)).take(100).collect()
        };
        assert_eq!(of(0.2), of(0.8));
    }

    #[test]
    fn bad_values_are_refused() {
        let fabric = Fabric::new(2, 2, 2);
        let key = |poisson: Poisson| poisson.generate(1, 0, &fabric.places()).err().map(|error| error.key);
        assert_eq!(key(small(f64::NAN)), Some("load".into()));
        assert_eq!(key(small(-0.1)), Some("load".into()));
        assert_eq!(key(Poisson { duration: Span::FOREVER, ..small(0.5) }), Some("duration_us".into()));
        assert_eq!(key(Poisson { duration: Span::from_ms(10_000_000), ..small(0.5) }), Some("duration_us".into()));
        assert_eq!(key(Poisson { max_flows: u64::MAX, ..small(0.5) }), Some("max_flows".into()));
        assert_eq!(key(Poisson { pairs: Pairs::LeafPair { from: 0, to: 5 }, ..small(0.5) }), Some("to_leaf".into()));
        assert_eq!(small(0.0).generate(1, 0, &fabric.places()), Ok(vec![]));
    }
}
