//! Operations at a host: due operations start, and those that end let others start.

use super::Host;
use crate::ids::FlowId;
use crate::operations::Due;
use crate::timers::What;
use crate::workload::Upon;
use crate::world::World;

impl Host {
    /// Operation `n` is due.
    pub(super) fn operate(&mut self, w: &mut World<'_>, n: u32) {
        match w.flows.operations.due(n, w.now) {
            Due::Nothing => {}
            Due::Again(at) => self.timers.plan(at, What::Operation(n)),
            Due::Flow(flow) => {
                w.flows.specs[flow].start = w.now;
                self.start_flow(w, flow);
            }
        }
        self.go_on(w);
    }

    /// The data of receive `n` has come outside the network.
    pub(super) fn landed(&mut self, w: &mut World<'_>, n: u32) {
        w.flows.operations.land(n, w.now);
        self.go_on(w);
    }

    /// This has happened to a flow of an operation.
    #[cold]
    pub(super) fn carried(&mut self, w: &mut World<'_>, flow: FlowId, upon: Upon) {
        match upon {
            Upon::Received => w.flows.operations.received(flow, w.now),
            Upon::Acknowledged => w.flows.operations.acknowledged(flow, w.now),
        }
        self.go_on(w);
    }

    /// Plans what may start now.
    fn go_on(&mut self, w: &mut World<'_>) {
        while let Some((n, at)) = w.flows.operations.next_ready() {
            self.timers.plan(at, What::Operation(n));
        }
    }
}
