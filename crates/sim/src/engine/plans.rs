//! Planned events for engines that follow a program's order: by instant, and within one instant in the order of
//! planning.

use super::{Grid, Sim, WATCH_EVERY};
use crate::ids::{LinkId, NodeId, Table};
use crate::topology::Topology;
use crate::warden::{Interrupted, Watch};
use spinewise_policy::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Numbers below this are those of flows, in the order of the flow list: their starts are planned before everything
/// else.
pub(super) const FIRST: u64 = 1 << 32;

/// Plans by instant and number.
pub(super) struct Plans<E> {
    heap: BinaryHeap<Reverse<(Time, u64, E)>>,
    next: u64,
}

impl<E: Ord> Default for Plans<E> {
    fn default() -> Self {
        Plans { heap: BinaryHeap::new(), next: FIRST }
    }
}

impl<E: Ord> Plans<E> {
    /// Takes the number of the next plan.
    pub(super) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Plans an event.
    pub(super) fn plan(&mut self, at: Time, event: E) {
        let number = self.number();
        self.plan_as(number, at, event);
    }

    /// Plans something that already has a number.
    pub(super) fn plan_as(&mut self, number: u64, at: Time, event: E) {
        self.heap.push(Reverse((at, number, event)));
    }
}

/// The links out of each node, by port.
pub(super) fn outs(topology: &Topology) -> Table<NodeId, Vec<LinkId>> {
    let outs = |node| (0..topology.ports(node)).map(|port| topology.out_number(node, port)).collect();
    topology.node_ids().map(outs).collect()
}

/// The event order of a program.
pub(super) trait Order {
    /// A planned event.
    type Event: Ord;

    /// The plans so far.
    fn plans(&mut self) -> &mut Plans<Self::Event>;

    /// Handles the event planned under this number.
    fn happen(&mut self, sim: &mut Sim<'_>, now: Time, number: u64, event: Self::Event);
}

/// Runs to the end in this order. Returns the instant it stopped at.
///
/// # Errors
/// [`Interrupted`] if `watch` asks for it.
pub(super) fn run<O: Order>(order: &mut O, sim: &mut Sim<'_>, mut watch: Watch<'_>) -> Result<Time, Interrupted> {
    let mut grid = Grid::new(sim);
    let mut count = 0u64;
    loop {
        let now = order.plans().heap.peek().map_or(Time::NEVER, |event| event.0.0);
        if grid.is_due(now) {
            sim.publish();
        }
        if let Some(stop) = grid.over(now, sim)? {
            sim.sample_until(stop);
            return Ok(stop);
        }
        sim.sample_until(now);
        let Some(Reverse((_, number, event))) = order.plans().heap.pop() else { return Ok(sim.limits.until) };
        order.happen(sim, now, number, event);
        count += 1;
        if count.is_multiple_of(WATCH_EVERY) {
            sim.may_go_on(now, &mut watch)?;
        }
    }
}
