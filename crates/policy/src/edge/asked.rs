//! Probes to one other host, until the flows that sent them have taken the answers. An answer reaches a host with only
//! the rows of the peer, so a flow leaves a record of its probes there, and checks it when it gets an acknowledgement.

use crate::FlowKey;

/// A probe: its flow, its label, and its outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Probe<A> {
    flow: FlowKey,
    label: u16,
    answer: Option<A>,
}

/// Row per other host: up to `ROOM` probes of the flows to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked<A, const ROOM: usize> {
    probes: [Option<Probe<A>>; ROOM],
}

impl<A: Copy, const ROOM: usize> Default for Asked<A, ROOM> {
    fn default() -> Self {
        Asked { probes: [None; ROOM] }
    }
}

impl<A: Copy, const ROOM: usize> Asked<A, ROOM> {
    /// The number of probes there is room for.
    pub fn room(&self) -> usize {
        self.probes.iter().filter(|probe| probe.is_none()).count()
    }

    /// A flow probes `label`. If there is no room nothing is kept.
    pub fn add(&mut self, flow: FlowKey, label: u16) {
        if let Some(free) = self.probes.iter_mut().find(|probe| probe.is_none()) {
            *free = Some(Probe { flow, label, answer: None });
        }
    }

    /// Records the outcome of the probe to `label`.
    pub fn answered(&mut self, label: u16, answer: A) {
        let waits = |probe: &&mut Probe<A>| probe.label == label && probe.answer.is_none();
        if let Some(probe) = self.probes.iter_mut().flatten().find(waits) {
            probe.answer = Some(answer);
        }
    }

    /// Whether `label` is being probed.
    pub fn has(&self, label: u16) -> bool {
        self.probes.iter().flatten().any(|probe| probe.label == label)
    }

    /// Whether an answer to a probe of this flow is awaited.
    pub fn awaits(&self, flow: FlowKey) -> bool {
        self.probes.iter().flatten().any(|probe| probe.flow == flow && probe.answer.is_none())
    }

    /// Takes a probe of this flow that has been answered: label and answer.
    pub fn take(&mut self, flow: FlowKey) -> Option<(u16, A)> {
        let done = |slot: &&mut Option<Probe<A>>| slot.is_some_and(|p| p.flow == flow && p.answer.is_some());
        let probe = self.probes.iter_mut().find(done)?.take()?;
        Some((probe.label, probe.answer?))
    }

    /// Forgets the probes of a flow.
    pub fn forget(&mut self, flow: FlowKey) {
        let of_flow = |slot: &&mut Option<Probe<A>>| slot.is_some_and(|probe| probe.flow == flow);
        self.probes.iter_mut().filter(of_flow).for_each(|slot| *slot = None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_flow_hears_of_its_own_probes_once() {
        let mut asked: Asked<u8, 3> = Asked::default();
        let [one, other] = [2, 4].map(FlowKey);
        asked.add(one, 70);
        asked.add(other, 71);
        assert!(asked.take(one).is_none() && asked.awaits(one) && asked.has(71));
        asked.answered(71, 5);
        asked.answered(71, 6);
        assert_eq!((asked.take(one), asked.take(other), asked.take(other)), (None, Some((71, 5)), None));
        assert_eq!((asked.room(), asked.awaits(other)), (2, false));
        asked.forget(one);
        assert_eq!((asked.room(), asked.awaits(one)), (3, false));
    }

    #[test]
    fn what_has_no_room_is_not_kept() {
        let mut asked: Asked<u8, 1> = Asked::default();
        asked.add(FlowKey(2), 1);
        asked.add(FlowKey(4), 2);
        assert!(asked.has(1) && !asked.has(2) && asked.room() == 0);
    }
}
