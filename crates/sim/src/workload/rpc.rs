//! Fan-in of remote procedure calls: repeatedly, one host asks many at once, and their answers meet at its link.

use spinewise_policy::rng::Rng;
use spinewise_policy::time::{Span, Time};

use super::{
    Bounds, FlowSpec, GATED_FLOW_BYTES, Gate, Jobs, MOST_FLOWS, Place, Places, Plan, Upon, WorkloadError, draw, entity,
    math,
};

/// When requests are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrivals {
    /// One each period, the first at the start.
    #[default]
    Periodic,
    /// A Poisson process with the period as its mean gap, the first one gap after the start.
    Poisson,
}

/// Requests of one host to several others, drawn anew for each request.
#[derive(Clone, Debug, PartialEq)]
pub struct Rpc {
    /// The host that asks; `None` if it is also drawn for each request.
    pub receiver: Option<u32>,
    /// Number of hosts that answer.
    pub fan_in: u32,
    /// Size of each answer in bytes, at least 1.
    pub size: u64,
    /// Size of each request in bytes, sent as a separate flow: an answer starts when its sender has the request. 0 for
    /// requests that take no time, as in [`super::Incast`].
    pub request_size: u64,
    /// Number of requests.
    pub requests: u32,
    /// Start.
    pub start: Time,
    /// Time from one request to the next, on average.
    pub period: Span,
    /// The arrival process.
    pub arrivals: Arrivals,
}

impl Rpc {
    /// One request at time zero by some host to `fan_in` others.
    pub fn new(fan_in: u32, size: u64, period: Span) -> Rpc {
        Rpc {
            receiver: None,
            fan_in,
            size,
            request_size: 0,
            requests: 1,
            start: Time::ZERO,
            period,
            arrivals: Arrivals::default(),
        }
    }

    /// Checks that it fits this many hosts.
    ///
    /// # Errors
    /// An unknown receiver, more hosts to ask than there are, empty answers, no request or too many flows.
    pub fn check(&self, hosts: u32) -> Result<(), WorkloadError> {
        let others = hosts.saturating_sub(1);
        if let Some(receiver) = self.receiver.filter(|&receiver| receiver >= hosts) {
            return Err(WorkloadError::new("receiver", receiver, format!("a host from 0 to {others}")));
        }
        if self.fan_in == 0 || self.fan_in > others {
            let allowed = format!("from 1 to {others}, the hosts other than the receiver");
            return Err(WorkloadError::new("fan_in", self.fan_in, allowed));
        }
        if self.size == 0 {
            return Err(WorkloadError::new("size_bytes", self.size, "1 or more"));
        }
        let flows = self.flows_of_request();
        if self.requests == 0 || u64::from(self.requests) * flows > MOST_FLOWS {
            let allowed = format!("1 or more, at most {MOST_FLOWS} flows in total; a request makes {flows}");
            return Err(WorkloadError::new("requests", self.requests, allowed));
        }
        Ok(())
    }

    /// Returns the jobs that its flows are parts of: a gather of the answers, in the terms of NCCL's tests.
    pub(super) fn jobs(&self) -> Jobs {
        let ranks = self.fan_in + 1;
        let steps = if self.request_size > 0 { 2 } else { 1 };
        Jobs::of_one(steps, ranks, self.size.saturating_mul(ranks.into()))
    }

    /// Number of flows per request.
    pub(super) fn flows_of_request(&self) -> u64 {
        u64::from(self.fan_in) * if self.request_size > 0 { 2 } else { 1 }
    }

    /// Refuses more flows than there is memory for. Poisson gaps count with their average.
    fn check_room(&self, bounds: &Bounds) -> Result<(), WorkloadError> {
        let requests = bounds.rounds(self.start, self.period, self.requests);
        bounds.refuse_too_many(
            "requests",
            self.requests,
            u64::from(requests) * self.flows_of_request(),
            GATED_FLOW_BYTES,
        )
    }

    pub(super) fn generate(&self, seed: u64, entry: u8, places: &Places) -> Result<Plan, WorkloadError> {
        self.check(places.hosts)?;
        self.check_room(&places.bounds)?;
        let mut arrivals = Rng::stream(seed, "request arrivals", entity(entry, 0));
        let mut plan = Plan::default();
        let jobs = self.jobs();
        let mut now = self.start;
        for request in (0..self.requests).take_while(|_| (places.bounds.go_on)()) {
            match self.arrivals {
                Arrivals::Periodic if request == 0 => {}
                Arrivals::Periodic => now += self.period,
                // Each gap is rounded to whole picoseconds, so that no error accumulates.
                Arrivals::Poisson => {
                    now += Span((self.period.0 as f64 * math::exponential(&mut arrivals) + 0.5) as u64);
                }
            }
            if now >= places.bounds.until {
                break;
            }
            let mut rng = Rng::stream(seed, "request ends", entity(entry, request));
            let receiver = self.receiver.unwrap_or_else(|| rng.below(places.hosts));
            let others: Vec<u32> = (0..places.hosts).filter(|&host| host != receiver).collect();
            let part = jobs.part(Place { round: request, group: 0, step: 0 });
            let like = FlowSpec { start: now, entry, part, ..FlowSpec::default() };
            for sender in draw(others, self.fan_in, &mut rng) {
                self.ask(&mut plan, receiver, sender, like);
            }
        }
        Ok(plan)
    }

    /// A request to one host, and its answer; `like` is a flow of the first step.
    fn ask(&self, plan: &mut Plan, receiver: u32, sender: u32, like: FlowSpec) {
        if self.request_size > 0 {
            let number = plan.flows.len() as u32;
            plan.flows.push(FlowSpec { src: receiver, dst: sender, size: self.request_size, ..like });
            let after = vec![(number, Upon::Received)];
            plan.gates.push(Gate { host: sender, after, gap: Span::ZERO, flows: vec![number + 1] });
        }
        let part = like.part + u32::from(self.request_size > 0);
        plan.flows.push(FlowSpec { src: sender, dst: receiver, size: self.size, part, ..like });
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::testing::depths;
    use super::super::testing::Fabric;
    use super::*;
    use std::collections::BTreeSet;

    fn flows(rpc: &Rpc, seed: u64) -> Vec<FlowSpec> {
        rpc.generate(seed, 1, &Fabric::new(2, 8, 1).places()).unwrap().flows
    }

    #[test]
    fn every_request_draws_its_ends_anew_and_evenly() {
        let rpc = Rpc { requests: 16_000, ..Rpc::new(5, 100, Span(7)) };
        let (mut asked, mut asking) = ([0u32; 16], [0u32; 16]);
        for (request, flows) in flows(&rpc, 1).chunks(5).enumerate() {
            let senders: BTreeSet<u32> = flows.iter().map(|flow| flow.src).collect();
            assert_eq!(senders.len(), 5);
            assert!(!senders.contains(&flows[0].dst));
            let alike = |flow: &FlowSpec| (flow.dst, flow.start, flow.part, flow.size);
            let expected = (flows[0].dst, Time(7 * request as u64), request as u32 + 1, 100);
            assert!(flows.iter().all(|flow| alike(flow) == expected));
            senders.iter().for_each(|&host| asked[host as usize] += 1);
            asking[flows[0].dst as usize] += 1;
        }
        // Binomial: 16,000 requests, each host asks in 1 of 16 and is asked in 5 of 16.
        let even = |counts: [u32; 16], p: f64| {
            let (mean, sigma) = (16_000.0 * p, (16_000.0 * p * (1.0 - p)).sqrt());
            counts.iter().all(|&count| (f64::from(count) - mean).abs() < 4.5 * sigma)
        };
        assert!(even(asking, 1.0 / 16.0), "{asking:?}");
        assert!(even(asked, 5.0 / 16.0), "{asked:?}");
    }

    #[test]
    fn poisson_requests_have_exponential_gaps() {
        let rpc = Rpc {
            receiver: Some(3),
            requests: 20_000,
            start: Time(1_000),
            arrivals: Arrivals::Poisson,
            ..Rpc::new(1, 1, Span::from_us(20))
        };
        let flows = flows(&rpc, 5);
        assert!(flows.iter().all(|flow| flow.dst == 3));
        let gaps: Vec<f64> = std::iter::once(Time(1_000))
            .chain(flows.iter().map(|flow| flow.start))
            .collect::<Vec<_>>()
            .windows(2)
            .map(|pair| pair[1].since(pair[0]).as_us_f64())
            .collect();
        let n = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / n;
        assert!((mean - 20.0).abs() < 4.0 * 20.0 / n.sqrt(), "{mean}");
        let long = gaps.iter().filter(|&&gap| gap > 40.0).count() as f64;
        let p = (-2f64).exp();
        assert!((long - p * n).abs() < 4.0 * (n * p * (1.0 - p)).sqrt(), "{long}");
    }

    #[test]
    fn an_answer_waits_for_its_own_request() {
        let rpc = Rpc { request_size: 64, requests: 3, ..Rpc::new(4, 1_000, Span(9)) };
        let plan = rpc.generate(1, 0, &Fabric::new(2, 8, 1).places()).unwrap().sorted();
        assert_eq!((plan.flows.len(), plan.gates.len()), (24, 12));
        for gate in &plan.gates {
            let ([(request, Upon::Received)], [answer]) = (&gate.after[..], &gate.flows[..]) else {
                panic!("{gate:?}")
            };
            let (request, answer) = (plan.flows[*request as usize], plan.flows[*answer as usize]);
            assert_eq!((request.src, request.dst, request.part + 1), (answer.dst, answer.src, answer.part));
            assert_eq!((request.size, answer.size), (64, 1_000));
        }
        let depths = depths(&plan);
        assert_eq!(depths.iter().filter(|depth| **depth == Some(0)).count(), 12);
        assert_eq!(depths.iter().filter(|depth| **depth == Some(1)).count(), 12);
    }

    #[test]
    fn bad_values_are_refused() {
        let fails = |rpc: Rpc| {
            let error = rpc.generate(1, 0, &Fabric::new(2, 2, 1).places()).unwrap_err();
            (error.key, error.value)
        };
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let rpc = Rpc::new(3, 1, Span(1));
        assert_eq!(fails(Rpc { receiver: Some(4), ..rpc.clone() }), pair("receiver", "4"));
        assert_eq!(fails(Rpc { fan_in: 4, ..rpc.clone() }), pair("fan_in", "4"));
        assert_eq!(fails(Rpc { fan_in: 0, ..rpc.clone() }), pair("fan_in", "0"));
        assert_eq!(fails(Rpc { size: 0, ..rpc.clone() }), pair("size_bytes", "0"));
        assert_eq!(fails(Rpc { requests: 0, ..rpc.clone() }), pair("requests", "0"));
        assert_eq!(fails(Rpc { requests: 50_000_000, ..rpc }), pair("requests", "50000000"));
    }
}
