//! The plan of a workload: its flows, and the gates before those that wait for others.
//!
//! Most flows start by the clock. In a collective operation the next step starts when the previous one has finished,
//! which only the network decides. Such flows are behind a [`Gate`], and everything a gate waits for is known at the
//! host whose flows it holds back: flows which that host receives, or sends and has acknowledged. So no news travels
//! faster than packets do. Operations that also compute, or start before others have ended, form a [`Programme`]
//! instead.

use spinewise_policy::time::Span;

use super::FlowSpec;
use super::dag::Programme;

/// The event of a flow that is awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Upon {
    /// Its last missing byte arrives; its receiver knows.
    Received = 0,
    /// The acknowledgement of its last byte arrives; its sender knows.
    Acknowledged = 1,
}

/// Flows of one host that start together when other flows have finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    /// The host that sends the flows, and learns of everything that the gate waits for.
    pub host: u32,
    /// The events it waits for, by flow number; never empty.
    pub after: Vec<(u32, Upon)>,
    /// Time from the last of these to the start of the flows.
    pub gap: Span,
    /// The flows, by number; no flow is behind two gates.
    pub flows: Vec<u32>,
}

/// The flows of a workload, and the gates before some of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// All flows.
    pub flows: Vec<FlowSpec>,
    /// The gates; flow numbers are positions in `flows`.
    pub gates: Vec<Gate>,
    /// Operations that start flows, numbered in the same way.
    pub programmes: Vec<Programme>,
}

impl Plan {
    /// Flows that all start by the clock.
    pub fn free(flows: Vec<FlowSpec>) -> Plan {
        Plan { flows, ..Plan::default() }
    }

    /// The same, sorted by start. Flows that start at once keep their order.
    pub fn by_start(self) -> Plan {
        self.sorted_by(|flow| flow.start)
    }

    /// The same, sorted by start, then source, then destination. Flows alike in all three keep their original order.
    pub fn sorted(self) -> Plan {
        self.sorted_by(|flow| (flow.start, flow.src, flow.dst))
    }

    fn sorted_by<K: Ord>(self, key: impl Fn(&FlowSpec) -> K) -> Plan {
        let Plan { mut flows, mut gates, mut programmes } = self;
        if gates.is_empty() && programmes.is_empty() {
            flows.sort_by_key(key);
            return Plan { flows, gates, programmes };
        }
        let order = sort_by_key(&mut flows, key);
        gates.iter_mut().for_each(|gate| gate.renumber(&order));
        programmes.iter_mut().for_each(|programme| programme.renumber(|flow| order[flow as usize]));
        Plan { flows, gates, programmes }
    }
}

impl Gate {
    /// Renumbers flows: flow `number` has become `to[number]`.
    pub fn renumber(&mut self, to: &[u32]) {
        self.after.iter_mut().for_each(|(flow, _)| *flow = to[*flow as usize]);
        self.flows.iter_mut().for_each(|flow| *flow = to[*flow as usize]);
    }

    /// Moves every flow `by` places later.
    pub fn shift(&mut self, by: u32) {
        self.after.iter_mut().for_each(|(flow, _)| *flow += by);
        self.flows.iter_mut().for_each(|flow| *flow += by);
    }
}

/// Sorts `items`, keeping the order of equal ones, and returns where each has gone: the one that was first is now at
/// the first number returned.
pub fn sort_by_key<T, K: Ord>(items: &mut Vec<T>, key: impl Fn(&T) -> K) -> Vec<u32> {
    let mut numbered: Vec<(u32, T)> = (0u32..).zip(items.drain(..)).collect();
    numbered.sort_by_key(|(_, item)| key(item));
    let mut to = vec![0; numbered.len()];
    for (place, (number, item)) in (0u32..).zip(numbered) {
        to[number as usize] = place;
        items.push(item);
    }
    to
}

#[cfg(test)]
pub(crate) mod testing {
    //! Properties of every plan.

    use super::*;

    /// Checks that gates are local, hold each flow at most once and wait for something; then lets all flows pass in
    /// some order, and returns how many others in a row each starts after: 0 by the clock, `None` never.
    pub(crate) fn depths(plan: &Plan) -> Vec<Option<u32>> {
        let flows = &plan.flows;
        let mut gate_of = vec![None; flows.len()];
        for (number, gate) in plan.gates.iter().enumerate() {
            assert!(!gate.after.is_empty() && !gate.flows.is_empty(), "{gate:?}");
            for &flow in &gate.flows {
                assert_eq!(flows[flow as usize].src, gate.host, "{gate:?}");
                assert_eq!(gate_of[flow as usize].replace(number), None, "flow {flow} stands behind two gates");
            }
            for &(flow, upon) in &gate.after {
                let spec = &flows[flow as usize];
                let known_at = if upon == Upon::Received { spec.dst } else { spec.src };
                assert_eq!(known_at, gate.host, "{gate:?} cannot know of {spec:?}");
            }
        }
        let mut depth: Vec<Option<u32>> = gate_of.iter().map(|gate| gate.is_none().then_some(0)).collect();
        let mut shut: Vec<&Gate> = plan.gates.iter().collect();
        loop {
            let before = shut.len();
            shut.retain(|gate| {
                let after: Option<Vec<u32>> = gate.after.iter().map(|&(flow, _)| depth[flow as usize]).collect();
                let Some(after) = after else { return true };
                let own = 1 + after.iter().max().expect("a gate waits for something");
                gate.flows.iter().for_each(|&flow| depth[flow as usize] = Some(own));
                false
            });
            if shut.len() == before {
                return depth;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spinewise_policy::time::Time;

    fn flow(src: u32, dst: u32, start: u64) -> FlowSpec {
        FlowSpec { src, dst, size: u64::from(10 * src + dst), start: Time(start), ..FlowSpec::default() }
    }

    #[test]
    fn sorting_takes_the_gates_along() {
        let flows = vec![flow(2, 1, 5), flow(1, 0, 5), flow(0, 2, 1), flow(2, 1, 0)];
        let gate =
            Gate { host: 1, after: vec![(0, Upon::Received), (3, Upon::Received)], gap: Span(7), flows: vec![1] };
        let plan = Plan { flows: flows.clone(), gates: vec![gate.clone()], programmes: Vec::new() }.sorted();
        assert_eq!(plan.flows, [flows[3], flows[2], flows[1], flows[0]]);
        assert_eq!(
            plan.gates,
            [Gate { after: vec![(3, Upon::Received), (0, Upon::Received)], flows: vec![2], ..gate }]
        );
        assert_eq!(testing::depths(&plan), [Some(0), Some(0), Some(1), Some(0)]);
    }

    #[test]
    fn equals_keep_their_order_and_circles_never_start() {
        let mut items = vec![(1, 'a'), (0, 'b'), (1, 'c'), (0, 'd')];
        assert_eq!(sort_by_key(&mut items, |item| item.0), [2, 0, 3, 1]);
        assert_eq!(items, [(0, 'b'), (0, 'd'), (1, 'a'), (1, 'c')]);
        let gate =
            |host, after, flow| Gate { host, after: vec![(after, Upon::Received)], gap: Span(0), flows: vec![flow] };
        let gates = vec![gate(0, 1, 0), gate(1, 0, 1)];
        let plan = Plan { flows: vec![flow(0, 1, 0), flow(1, 0, 0)], gates, ..Plan::default() };
        assert_eq!(testing::depths(&plan), [None, None]);
    }
}
