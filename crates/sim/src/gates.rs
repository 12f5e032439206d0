//! Flows that wait for other flows: which gates are open, and how much the closed ones still wait for.
//!
//! Only the host of a gate's flows writes what the gate counts, when it has received a flow or one of its own is
//! acknowledged, so the order in which hosts are processed does not matter.

use crate::ids::{FlowId, Table};
use crate::workload::{FlowSpec, Gate, Upon};
use spinewise_policy::Span;

/// The gates of a run.
#[derive(Debug, Default)]
pub struct Gates {
    list: Vec<Gate>,
    /// Number of flows that each still waits for.
    left: Vec<u32>,
    /// Gates that wait for a flow: those at `first[2 * flow + upon]..first[2 * flow + upon + 1]`; empty without gates.
    waiting: Vec<u32>,
    first: Vec<u32>,
}

fn place(flow: FlowId, upon: Upon) -> usize {
    2 * flow.index() + upon as usize
}

impl Gates {
    /// Gates before flows that are numbered as in `specs`.
    ///
    /// # Panics
    /// If a gate waits for nothing, or for something that its host does not see.
    pub fn new(mut list: Vec<Gate>, specs: &Table<FlowId, FlowSpec>) -> Gates {
        if list.is_empty() {
            return Gates::default();
        }
        let mut first = vec![0; 2 * specs.len() + 1];
        for gate in &list {
            assert!(!gate.after.is_empty(), "a gate without a key");
            for &(flow, upon) in &gate.after {
                let flow = FlowId::new(flow);
                let spec = &specs[flow];
                assert_eq!(if upon == Upon::Received { spec.dst } else { spec.src }, gate.host, "news from elsewhere");
                first[place(flow, upon) + 1] += 1;
            }
            assert!(gate.flows.iter().all(|&flow| specs[FlowId::new(flow)].src == gate.host), "flows of elsewhere");
        }
        for at in 1..first.len() {
            first[at] += first[at - 1];
        }
        let mut at = first.clone();
        let mut waiting = vec![0; first[2 * specs.len()] as usize];
        let mut left = Vec::with_capacity(list.len());
        for (number, gate) in (0u32..).zip(&mut list) {
            left.push(gate.after.len() as u32);
            for (flow, upon) in std::mem::take(&mut gate.after) {
                let slot = &mut at[place(FlowId::new(flow), upon)];
                waiting[*slot as usize] = number;
                *slot += 1;
            }
        }
        Gates { list, left, waiting, first }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The flows behind a gate, shut or open.
    pub fn flows(&self) -> impl Iterator<Item = FlowId> {
        self.list.iter().flat_map(|gate| gate.flows.iter().copied()).map(FlowId::new)
    }

    /// This has happened to `flow`, for the first and only time: the gates that it opens, and how long after.
    pub fn note(&mut self, flow: FlowId, upon: Upon) -> impl Iterator<Item = (u32, Span)> {
        let Gates { list, left, waiting, first } = self;
        let at = place(flow, upon);
        let range = if list.is_empty() { 0..0 } else { first[at] as usize..first[at + 1] as usize };
        waiting[range].iter().filter_map(|&gate| {
            left[gate as usize] -= 1;
            (left[gate as usize] == 0).then(|| (gate, list[gate as usize].gap))
        })
    }

    /// The `n`-th flow behind a gate.
    pub fn flow(&self, gate: u32, n: usize) -> Option<FlowId> {
        self.list[gate as usize].flows.get(n).copied().map(FlowId::new)
    }

    /// Hashes the dependency graph, in an order of its own.
    pub fn fold(&self, start: u64, mix: impl Fn(u64, u64) -> u64) -> u64 {
        let gate = |h, gate: &Gate| gate.flows.iter().fold(mix(h, gate.gap.0), |h, &flow| mix(h, flow.into()));
        let all = self.list.iter().fold(start, gate);
        self.waiting.iter().chain(&self.first).fold(all, |h, &x| mix(h, x.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(src: u32, dst: u32) -> FlowSpec {
        FlowSpec { src, dst, size: 1, ..FlowSpec::default() }
    }

    #[test]
    fn a_gate_opens_with_the_last_of_what_it_waits_for() {
        let specs = [flow(0, 1), flow(1, 0), flow(1, 2), flow(1, 2), flow(2, 1)].into_iter().collect();
        let gate = |after: &[(u32, Upon)], gap, flows: &[u32]| Gate {
            host: 1,
            after: after.to_vec(),
            gap: Span(gap),
            flows: flows.to_vec(),
        };
        let received = |flow| (flow, Upon::Received);
        let mut gates = Gates::new(
            vec![gate(&[received(0), (1, Upon::Acknowledged)], 0, &[2]), gate(&[received(0), received(4)], 7, &[3])],
            &specs,
        );
        let mut opened = |flow, upon| gates.note(FlowId::new(flow), upon).collect::<Vec<_>>();
        assert_eq!(opened(0, Upon::Received), []);
        assert_eq!(opened(1, Upon::Received), [], "host 0 knows that, not host 1");
        assert_eq!(opened(1, Upon::Acknowledged), [(0, Span(0))]);
        assert_eq!(opened(4, Upon::Received), [(1, Span(7))]);
        assert_eq!(gates.flows().collect::<Vec<_>>(), [2, 3].map(FlowId::new));
        assert_eq!((gates.flow(1, 0), gates.flow(1, 1)), (Some(FlowId::new(3)), None));
        assert_eq!(Gates::default().note(FlowId::new(3), Upon::Received).count(), 0);
    }

    #[test]
    #[should_panic(expected = "news from elsewhere")]
    fn news_from_elsewhere_is_refused() {
        let gate = Gate { host: 1, after: vec![(0, Upon::Received)], gap: Span(0), flows: vec![1] };
        Gates::new(vec![gate], &[flow(1, 0), flow(1, 0)].into_iter().collect());
    }
}
