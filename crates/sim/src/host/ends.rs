//! The two ends of flows: what a host does with data, answers and the timers of transports. It queries the transport
//! through its contract (`transport/contract.rs`), and does what the transport says.

use super::Host;
use crate::address::Address;
use crate::flows::Carried;
use crate::ids::{FlowId, HostId, SubflowId};
use crate::packet::{BARE, CE, CNP, CWR, ECE, InHand, LAST_HOP, MASKED, NACK, Packet, RETRANSMIT, SYN, URGENT, flag};
use crate::shell::Shell;
use crate::timers::What;
use crate::transport::contract::{Answer, Arrival, Start, Told, TrimmedAt};
use crate::transport::{Expired, Heard};
use crate::workload::{FlowSpec, Upon};
use crate::world::World;
use spinewise_policy::{Event, FlowKey, Hooks, Kind, Span, Time, Way};

/// The step in which acknowledgements report one-way delays.
const ECHO_STEP: Span = Span::from_ns(256);

impl Host {
    pub(super) fn receive_data(&mut self, w: &mut World<'_>, hand: &InHand) {
        let packet = &hand.packet;
        let subflow = packet.subflow();
        w.log.arrived += 1;
        if packet.payload == 0 && !packet.is(BARE) {
            return self.receive_greeting(w, packet);
        }
        let flow = w.flows.flow_of(subflow);
        let record = &mut w.flows.records[flow];
        // A packet without payload is a header or a question, not data.
        record.arrived += u32::from(!packet.is(BARE));
        record.marks += u32::from(packet.is(CE) && !packet.is(BARE));
        if !w.flows.goes_by_transport(subflow) {
            self.receive_udp(w, packet);
        } else if w.flows.carried(flow).facts.resequences {
            self.resequence(w, subflow, arrival(packet, w.now));
        } else {
            self.take(w, subflow, &arrival(packet, w.now), || hand.option(w.net.options));
        }
    }

    /// Gives the transport data that has arrived now or earlier.
    #[inline(always)]
    pub(super) fn take<'a>(
        &mut self,
        w: &mut World<'_>,
        subflow: SubflowId,
        data: &Arrival,
        option: impl FnOnce() -> &'a [u8],
    ) {
        if let Some(pacer) = &mut self.pacer {
            pacer.note(data);
        }
        let flow = w.flows.flow_of(subflow);
        let spec = w.flows.specs[flow];
        let record = &mut w.flows.records[flow];
        if record.fct != 0 {
            // Everything is here and has been acknowledged; the sender missed that. Reading what the sender has noted
            // looks at a distant node's state, which is allowed only in a run that follows a program event by event.
            let got = if record.sender_fct != 0 && w.net.habits.receivers_anew {
                w.flows.ends.on_data_anew(w.now, (subflow, spec.size), data, option)
            } else {
                w.flows.ends.late((flow, spec.size), data, option)
            };
            record.out_of_order += u32::from(got.out_of_order);
            self.answer_all(w, subflow, (spec.sender(), &got.answers), got.told);
            return;
        }
        let mut timer = Time::NEVER;
        let got = w.flows.ends.on_data(w.now, (subflow, spec.size), data, option, &mut timer);
        record.out_of_order += u32::from(got.out_of_order);
        record.received += got.new_bytes;
        self.tally.received += got.new_bytes;
        if got.completed {
            record.fct = w.now.since(spec.start).0.max(1);
        }
        self.answer_all(w, subflow, (spec.sender(), &got.answers), got.told);
        if got.asks {
            self.ask_for_credit(w, flow);
        }
        if got.completed {
            self.forget(w, flow);
            self.completed(w, flow, Upon::Received);
        } else if timer != Time::NEVER {
            self.timers.plan(timer, What::DelayedAck(subflow));
        }
    }

    /// Data of a UDP flow arrived.
    #[cold]
    fn receive_udp(&mut self, w: &mut World<'_>, packet: &Packet) {
        let flow = w.flows.flow_of(packet.subflow());
        let spec = w.flows.specs[flow];
        let record = &mut w.flows.records[flow];
        record.received += u64::from(packet.payload);
        self.tally.received += u64::from(packet.payload);
        if record.received == spec.size {
            record.fct = w.now.since(spec.start).0.max(1);
            if let Some(edge) = w.edge.as_mut() {
                edge.forget(self.id.number(), FlowKey::data(flow.number()));
            }
        }
    }

    /// This host has received all of `flow`, or all of it has been acknowledged: flows that wait for it may start.
    fn completed(&mut self, w: &mut World<'_>, flow: FlowId, upon: Upon) {
        for (gate, gap) in w.flows.gates.note(flow, upon) {
            self.timers.plan(w.now + gap, What::Gate(gate));
        }
        if !w.flows.operations.is_empty() {
            self.carried(w, flow, upon);
        }
    }

    /// The scheme may drop its rows of a finished flow, or of its subflows.
    fn forget(&self, w: &mut World<'_>, flow: FlowId) {
        let Some(edge) = w.edge.as_mut() else { return };
        for subflow in w.flows.subflows_of(flow) {
            edge.forget(self.id.number(), FlowKey::data(subflow.number()));
            edge.forget(self.id.number(), FlowKey::ack(subflow.number()));
        }
    }

    /// Tells the scheme of the start or the end of a flow; with MPTCP, of each of its subflows, which the scheme sees
    /// as flows.
    fn tell_all(&mut self, w: &mut World<'_>, flow: FlowId, event: Event) {
        let dst = w.flows.specs[flow].receiver();
        for subflow in w.flows.subflows_of(flow) {
            self.tell(w, Address::host(dst), (Way::ANY, Some(FlowKey::data(subflow.number()))), event);
        }
    }

    /// Sends the answers to data, each with the option.
    #[inline(always)]
    fn answer_all(
        &mut self,
        w: &mut World<'_>,
        subflow: SubflowId,
        (dst, answers): (HostId, &[Option<Answer>; 2]),
        told: Option<Told>,
    ) {
        let [first, second] = answers;
        if let (Some(first), Some(_)) = (first, second) {
            self.send_answer(w, subflow, (dst, first), told.clone());
        }
        let Some(last) = second.as_ref().or(first.as_ref()) else { return };
        if told.is_some() {
            return self.send_answer(w, subflow, (dst, last), told);
        }
        let (src, wire) = (self.id, w.flows.carried(subflow.as_whole()).frame.ack_bytes as u16);
        self.send(w, || answer_packet((src, dst), subflow, wire, last));
    }

    /// Sends an answer, possibly with an option.
    #[inline(never)]
    pub(super) fn send_answer(
        &mut self,
        w: &mut World<'_>,
        subflow: SubflowId,
        (dst, answer): (HostId, &Answer),
        told: Option<Told>,
    ) {
        let Carried { facts, frame } = w.flows.carried(subflow.as_whole());
        let wire = frame.ack_bytes as u16 + told.as_ref().map_or(0, |told| told.wire);
        let mut packet = answer_packet((self.id, dst), subflow, wire, answer);
        if facts.returns_tags {
            packet.way = Way(packet.echo);
        }
        let mut hand = match told {
            None => packet.into(),
            Some(told) => InHand::with_option(packet, told.option, w.net.options),
        };
        self.send_tagged(w, &mut hand);
    }

    pub(super) fn receive_ack(&mut self, w: &mut World<'_>, hand: &InHand) {
        let packet = &hand.packet;
        let subflow = packet.subflow();
        let (acked, may_send, timer) =
            match w.flows.ends.on_answer(w.now, subflow, &answer_of(packet), || hand.option(w.net.options)) {
                Heard::Nothing => return,
                Heard::Opened => return self.ready(w, w.flows.flow_of(subflow)),
                Heard::Acked { acked, may_send, timer } => (acked, may_send, timer),
                Heard::Trimmed(at, timer) => return self.hear_of_trim(w, packet, (at, timer)),
            };
        self.tally.dupack3 += u64::from(acked.dupack3);
        self.tell_of_ack(w, packet, acked.newly_acked);
        let flow = w.flows.flow_of(subflow);
        if acked.done {
            return self.finish(w, flow);
        }
        self.plan_timer(subflow, timer);
        if may_send {
            self.ready(w, flow);
        }
    }

    /// A packet was trimmed on its way. It may leave again before the scheme learns of its path.
    #[cold]
    fn hear_of_trim(&mut self, w: &mut World<'_>, packet: &Packet, (at, timer): (TrimmedAt, Time)) {
        self.plan_timer(packet.subflow(), timer);
        self.ready(w, w.flows.flow_of(packet.subflow()));
        let event = Event::Trimmed { last_hop: at == TrimmedAt::LastHop, marked: packet.is(ECE) };
        self.tell(w, packet.src, (Way(packet.echo), Some(FlowKey::data(packet.flow))), event);
    }

    /// Reports to the scheme an acknowledgement of this many new bytes.
    #[inline(always)]
    fn tell_of_ack(&mut self, w: &mut World<'_>, packet: &Packet, bytes: u64) {
        if w.edge.is_some() {
            let rtt = w.now.since(packet.stamp);
            let one_way = Span(u64::from(packet.payload) * ECHO_STEP.0);
            let event = Event::Ack { bytes, rtt, one_way, marked: packet.is(ECE) };
            self.tell(w, packet.src, (Way(packet.echo), Some(FlowKey::data(packet.flow))), event);
        }
    }

    /// Everything of a flow is acknowledged.
    fn finish(&mut self, w: &mut World<'_>, flow: FlowId) {
        // Before the scheme is told of the end, because it places these packets too.
        for subflow in w.flows.subflows_of(flow) {
            if w.flows.ends.is_open(subflow) {
                self.close(w, subflow);
            }
        }
        self.tell_all(w, flow, Event::FlowEnd);
        let start = w.flows.specs[flow].start;
        w.flows.records[flow].sender_fct = w.now.since(start).0.max(1);
        w.flows.keep_account(flow);
        if w.flows.has_heir(flow) {
            w.flows.ends.rest(flow);
        } else {
            w.flows.ends.finish(flow);
            self.forget(w, flow);
        }
        w.flows.open -= 1;
        self.completed(w, flow, Upon::Acknowledged);
    }

    /// Plans the timer of a sender, unless `at` is [`Time::NEVER`].
    #[inline(always)]
    pub(super) fn plan_timer(&mut self, subflow: SubflowId, at: Time) {
        if at != Time::NEVER {
            self.timers.plan(at, What::Retransmit(subflow));
        }
    }

    pub(super) fn start_flows(&mut self, w: &mut World<'_>) {
        while self.next_flow < self.last_flow {
            let flow = w.flows.by_host[self.next_flow as usize];
            let start = w.flows.specs[flow].start;
            if start > w.now {
                self.timers.plan(start, What::FlowStart);
                return;
            }
            self.next_flow += 1;
            self.start_flow(w, flow);
        }
    }

    /// The flows behind a gate start now.
    pub(super) fn open_gate(&mut self, w: &mut World<'_>, gate: u32) {
        let mut n = 0;
        while let Some(flow) = w.flows.gates.flow(gate, n) {
            w.flows.specs[flow].start = w.now;
            self.start_flow(w, flow);
            n += 1;
        }
    }

    pub(super) fn start_flow(&mut self, w: &mut World<'_>, flow: FlowId) {
        let spec @ FlowSpec { size, .. } = w.flows.specs[flow];
        let paths = w.flows.subflows_of(flow).len();
        let hops = w.net.topology.switches_between(self.id, spec.receiver());
        // The rate of its link as built: a present fault may pass.
        let rate = w.net.topology.links[w.net.topology.host_link(self.id)].rate;
        let base_rtt = w.net.base_rtt;
        let salt = flow.number();
        let after = w.flows.next_of_connection(flow);
        let frame = w.flows.carried(flow).frame;
        w.flows.start(&Start { now: w.now, flow, salt, size, paths, rate, hops, base_rtt, frame, after });
        if let Some(before) = after {
            self.inherit(w, before, flow);
        }
        let mut ended = false;
        if let Some((udp, _)) = w.flows.udp(flow) {
            match udp.machine.next_due() {
                Some(at) => self.timers.plan(at.max(w.now), What::Pace(flow)),
                // Its end comes before its first packet.
                None => ended = true,
            }
        }
        self.tell_all(w, flow, Event::FlowStart { size });
        if w.flows.has_transport(flow) {
            self.ready(w, flow);
        }
        if ended {
            self.sent_in_full(w, flow);
        }
    }

    /// A message starts with the scheme's row of the message before it on its connection, which may have finished.
    #[cold]
    fn inherit(&self, w: &mut World<'_>, before: FlowId, flow: FlowId) {
        let Some(edge) = w.edge.as_mut() else { return };
        edge.copy_row(self.id.number(), FlowKey::data(before.number()), FlowKey::data(flow.number()));
        if !w.flows.ends.sends(before) {
            edge.forget(self.id.number(), FlowKey::data(before.number()));
        }
    }

    /// A UDP flow has sent its last packet, or has none to send.
    pub(super) fn sent_in_full(&mut self, w: &mut World<'_>, flow: FlowId) {
        if !w.flows.is_background(flow) {
            w.flows.open -= 1;
        }
        let key = FlowKey::data(flow.number());
        self.tell(w, Address::host(w.flows.specs[flow].receiver()), (Way::ANY, Some(key)), Event::FlowEnd);
        if let Some(edge) = w.edge.as_mut() {
            edge.forget(self.id.number(), key);
        }
    }

    pub(super) fn retransmit(&mut self, w: &mut World<'_>, subflow: SubflowId) {
        let (gave_up, timer) = match w.flows.ends.expire(w.now, subflow) {
            Expired::Stale => return,
            Expired::Early(at) => return self.plan_timer(subflow, at),
            Expired::Sends(gave_up, timer) => (gave_up, timer),
        };
        let flow = w.flows.flow_of(subflow);
        if let Some(seq) = gave_up
            && w.edge.as_ref().is_some_and(|edge| edge.hooks().has(Hooks::LOSS))
        {
            let way = w.flows.lane(subflow).map_or(Way::ANY, |lane| lane.way_of(seq));
            let dst = w.flows.specs[flow].receiver();
            self.tell(w, Address::host(dst), (way, Some(FlowKey::data(subflow.number()))), Event::Timeout);
        }
        self.plan_timer(subflow, timer);
        self.ready(w, flow);
        while let Some(what) = w.flows.ends.beside(w.now, flow) {
            self.send_otherwise(w, flow, (what, Time::NEVER));
        }
    }

    pub(super) fn delayed_ack(&mut self, w: &mut World<'_>, subflow: SubflowId) {
        let (answer, timer) = w.flows.ends.delayed(w.now, subflow);
        if let Some((answer, told)) = answer {
            let flow = w.flows.flow_of(subflow);
            self.send_answer(w, subflow, (w.flows.specs[flow].sender(), &answer), told);
        }
        if timer != Time::NEVER {
            self.timers.plan(timer, What::DelayedAck(subflow));
        }
    }

    /// A packet of a UDP flow falls due.
    pub(super) fn pace(&mut self, w: &mut World<'_>, flow: FlowId) {
        let Some((udp, config)) = w.flows.udp(flow) else { return };
        udp.machine.fall_due(config);
        if let Some(at) = udp.machine.next_due() {
            self.timers.plan(at.max(w.now), What::Pace(flow));
        }
        self.ready(w, flow);
    }
}

/// What a receiver echoes of a data packet that was sent at `stamp` and arrives now: its path tag, and above it the
/// one-way delay, in steps of [`ECHO_STEP`].
#[inline(always)]
pub(super) fn tag_of(now: Time, stamp: Time, way: Way) -> u32 {
    let steps = u16::try_from(now.since(stamp).0 / ECHO_STEP.0).unwrap_or(u16::MAX);
    u32::from(way.0) | u32::from(steps) << 16
}

/// A data or handshake packet that arrives now, in the form transports read.
#[inline(always)]
pub(super) fn arrival(packet: &Packet, now: Time) -> Arrival {
    Arrival {
        seq: packet.seq,
        len: u32::from(packet.payload),
        ce: packet.is(CE),
        cwr: packet.is(CWR),
        stamp: packet.stamp,
        retransmit: packet.is(RETRANSMIT),
        syn: packet.is(SYN),
        urgent: packet.is(URGENT),
        trimmed: match packet.is(BARE) && packet.payload > 0 {
            true if packet.is(LAST_HOP) => Some(TrimmedAt::LastHop),
            true => Some(TrimmedAt::Inside),
            false => None,
        },
        tag: tag_of(now, packet.stamp, packet.way),
    }
}

/// An answer in the form transports read.
#[inline(always)]
fn answer_of(packet: &Packet) -> Answer {
    Answer {
        cumulative: packet.seq,
        echo: packet.stamp,
        echo_tag: 0,
        echo_retransmit: packet.is(RETRANSMIT),
        ece: packet.flags & (ECE | MASKED) == ECE,
        nack_or_syn: packet.is(NACK),
        cnp: packet.flags & (CNP | MASKED) == CNP,
    }
}

/// An answer as it is sent.
#[inline(always)]
pub(super) fn answer_packet((src, dst): (HostId, HostId), subflow: SubflowId, wire: u16, answer: &Answer) -> Packet {
    Packet {
        stamp: answer.echo,
        seq: answer.cumulative,
        flow: subflow.number(),
        src: Address::host(src),
        dst: Address::host(dst),
        wire,
        way: Way::ANY,
        echo: answer.echo_tag as u16,
        payload: (answer.echo_tag >> 16) as u16,
        kind: Kind::Ack,
        flags: flag(ECE, answer.ece)
            | flag(RETRANSMIT, answer.echo_retransmit)
            | flag(NACK, answer.nack_or_syn)
            | flag(CNP, answer.cnp),
        ..Packet::default()
    }
}
