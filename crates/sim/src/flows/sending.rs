//! The interface to the sending end of a flow, either of its transport or of UDP, whose ends are kept separately.
//! A flow without a sending end in [`Ends`](crate::transport::Ends) uses UDP, or is done: then it has nothing to send.

use super::{Flows, NO_SCHEDULE};
use crate::ids::{FlowId, SubflowId};
use crate::packet::{BARE, Packet};
use crate::transport::contract::{Sender, Start};
use crate::transport::{Lane, Paced, Sending, UdpConfig};
use spinewise_policy::{Hooks, Time};

/// The sending end of a UDP flow, with its schedule.
pub(super) type Udp<'a> = (&'a mut Sending<Paced>, &'a UdpConfig);

impl Flows {
    /// The sending end of a UDP flow, if it is one that has started.
    pub fn udp(&mut self, flow: FlowId) -> Option<Udp<'_>> {
        let place = *self.udp_of.get(flow)? as usize;
        Some((self.udp_ends.get_mut(place)?.as_deref_mut()?, &self.udp[place]))
    }

    /// A flow starts.
    pub fn start(&mut self, start: &Start) {
        match self.udp_of[start.flow] {
            NO_SCHEDULE => self.ends.start(start),
            udp => {
                let machine = Paced::new(&self.udp[udp as usize], start);
                self.udp_ends[udp as usize] = Some(Sending::new(machine, 1));
            }
        }
    }

    /// Whether it is a UDP flow that has started.
    pub(super) fn paces(&self, flow: FlowId) -> bool {
        self.udp_ends.get(self.udp_of[flow] as usize).is_some_and(Option::is_some)
    }

    /// Whether this flow of the NIC's round has something to send. If not, it leaves the round.
    #[inline(always)]
    pub fn stays(&mut self, flow: FlowId) -> bool {
        self.ends.stays(flow).unwrap_or_else(|| self.udp_stays(flow))
    }

    #[cold]
    fn udp_stays(&mut self, flow: FlowId) -> bool {
        self.udp(flow).is_some_and(|(sending, config)| sending.stays(config))
    }

    /// Adds a flow to the NIC's round. Returns whether it was outside.
    #[inline(always)]
    pub fn enqueue(&mut self, flow: FlowId) -> bool {
        self.ends.enqueue(flow).unwrap_or_else(|| self.udp_enqueue(flow))
    }

    #[cold]
    fn udp_enqueue(&mut self, flow: FlowId) -> bool {
        self.udp(flow).is_some_and(|(sending, _)| sending.enqueue())
    }

    /// The time from which a flow may send; [`Time::NEVER`] if it has nothing that may go.
    #[inline(always)]
    pub fn may_send_from(&mut self, flow: FlowId) -> Time {
        self.ends.may_send_from(flow).unwrap_or_else(|| self.udp_from(flow))
    }

    #[cold]
    fn udp_from(&mut self, flow: FlowId) -> Time {
        self.udp(flow).map_or(Time::NEVER, |(sending, config)| sending.machine.may_send_from(config))
    }

    /// Returns the sender's state of a subflow.
    #[inline]
    pub fn lane(&mut self, subflow: SubflowId) -> Option<&mut Lane> {
        if self.goes_by_transport(subflow) {
            return self.ends.lane(subflow);
        }
        let flow = self.flow_of(subflow);
        self.udp(flow).map(|(sending, _)| sending.lane(0))
    }

    /// Records the way of a data packet: changes are counted. Where the scheme has [`Hooks::LOSS`], the way of an
    /// outstanding segment is kept until it is acknowledged; UDP is not acknowledged. A request for an answer is not a
    /// segment, though it names one.
    pub fn note_way(&mut self, packet: &Packet, hooks: Hooks) {
        let answered = self.goes_by_transport(packet.subflow());
        let Some(lane) = self.lane(packet.subflow()) else { return };
        let changed = lane.goes(packet.way);
        if answered && hooks.has(Hooks::LOSS) && !packet.is(BARE) {
            lane.remember(packet.seq, packet.way);
        }
        if changed {
            let flow = self.flow_of(packet.subflow());
            self.records[flow].path_changes += 1;
        }
    }

    /// Copies a sender's counts into its flow's record.
    pub fn keep_account(&mut self, flow: FlowId) {
        let counts = match self.ends.account(flow) {
            Some(counts) => counts,
            None => match self.udp(flow) {
                Some((sending, _)) => sending.account(),
                None => return,
            },
        };
        let record = &mut self.records[flow];
        record.packets = counts.packets;
        record.retransmits = counts.retransmits;
        record.timeouts = counts.timeouts;
        record.fast_retransmits = counts.fast_retransmits;
        record.dupack3_events = counts.dupack3_events;
        record.spurious_retransmits = counts.spurious_retransmits;
        record.nacks = counts.nacks;
        record.cnps = counts.cnps;
    }
}
