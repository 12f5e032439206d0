//! The numbers of subflows: after those of all flows, those of one flow consecutive. A lookup by number, such as a
//! packet's, may find either.
//!
//! Queue pairs that a message is split over are numbered in the same way. Without either there are no such numbers, and
//! nothing here costs more than the bounds check it replaces.

use super::Flows;
use crate::ids::{FlowId, SubflowId};

impl Flows {
    /// Number of flows and subflows.
    pub fn count(&self) -> usize {
        self.specs.len() * (1 + self.subflows as usize)
    }

    /// The subflow of `flow` on this path.
    #[inline]
    pub fn subflow(&self, flow: FlowId, path: usize) -> SubflowId {
        match self.subflows {
            0 => flow.whole(),
            many => SubflowId::new(self.specs.len() as u32 + flow.number() * many + path as u32),
        }
    }

    /// The subflows that packets of `flow` belong to: the flow itself, or each of its subflows.
    pub fn subflows_of(&self, flow: FlowId) -> impl ExactSizeIterator<Item = SubflowId> + use<> {
        let (first, count) = match (self.subflows, self.specs[flow].subflows) {
            (0, _) => (flow.whole(), 1),
            _ if !self.has_transport(flow) => (flow.whole(), 1),
            (many, 0) => (self.subflow(flow, 0), many),
            (many, fewer) => (self.subflow(flow, 0), many.min(fewer.into())),
        };
        SubflowId::each(first..SubflowId::new(first.number() + count))
    }

    /// The flow it belongs to.
    #[inline]
    pub fn flow_of(&self, subflow: SubflowId) -> FlowId {
        match subflow.number().checked_sub(self.specs.len() as u32) {
            None => subflow.as_whole(),
            Some(above) => FlowId::new(above / self.subflows),
        }
    }

    /// Its path, if its flow has several.
    #[inline]
    pub fn path_of(&self, subflow: SubflowId) -> Option<u32> {
        Some(subflow.number().checked_sub(self.specs.len() as u32)? % self.subflows)
    }

    /// Whether this subflow joins a connection that others have opened.
    pub fn joins(&self, subflow: SubflowId) -> bool {
        self.path_of(subflow).is_some_and(|path| path > 0)
    }
}
