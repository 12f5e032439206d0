//! Operations at a host: those that are due start, and what ends lets others start.

use super::{Host, World};
use crate::operations::Due;
use crate::timers::What;
use crate::workload::Upon;
use spinewise_policy::Time;

impl Host {
    /// Operation `n` is due.
    pub(super) fn operate(&mut self, w: &mut World<'_>, now: Time, n: u32) {
        match w.flows.operations.due(n, now) {
            Due::Nothing => {}
            Due::Again(at) => self.timers.plan(at, What::Operation(n)),
            Due::Flow(flow) => {
                w.flows.specs[flow as usize].start = now;
                self.start_flow(w, now, flow);
            }
        }
        self.go_on(w);
    }

    /// The data of receive `n` has come without the network.
    pub(super) fn landed(&mut self, w: &mut World<'_>, now: Time, n: u32) {
        w.flows.operations.land(n, now);
        self.go_on(w);
    }

    /// This has happened to a flow of an operation.
    #[cold]
    pub(super) fn carried(&mut self, w: &mut World<'_>, now: Time, flow: u32, upon: Upon) {
        match upon {
            Upon::Received => w.flows.operations.received(flow, now),
            Upon::Acknowledged => w.flows.operations.acknowledged(flow, now),
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
