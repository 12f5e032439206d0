//! The ends of all flows of one transport, together with its configuration.
//!
//! Subflows of a flow with several paths have numbers above those of all flows; those of one flow are consecutive.

use super::contract::{
    Acked, Answer, Answered, Arrival, Asks, Counts, Facts, Grant, Outgoing, Received, Receiver, Sender,
};
use super::contract::{Start, Told, Transport, TrimmedAt};
use super::resequencer::Tally;
use crate::ids::{FlowId, SubflowId, Table};
use crate::prefetch;
use receiving::Receiving;
pub(crate) use sending::{Lane, Sending};
use spinewise_policy::Time;
use std::collections::BTreeMap;

mod receiving;
mod sending;
mod timer;

/// The ends of all flows of transport `T`.
#[derive(Debug)]
pub struct EndsOf<T: Transport> {
    config: T::Config,
    senders: Table<FlowId, Option<Box<Sending<T::Sender>>>>,
    receivers: Table<FlowId, Option<Box<Receiving<T::Receiver>>>>,
    /// Senders that have finished, whose connections continue.
    rested: BTreeMap<FlowId, T::Sender>,
    /// Subflows of each flow, 0 if it has one path.
    paths: usize,
}

/// A sending end in use, with the configuration and the path concerned.
type InUse<'a, T> = (&'a mut Sending<<T as Transport>::Sender>, &'a <T as Transport>::Config, usize);

/// The effect of an answer.
#[derive(Clone, Copy, Debug)]
pub enum Heard {
    /// Nothing waits for it.
    Nothing,
    /// Another path is open.
    Opened,
    /// It says how far data has arrived.
    Acked {
        /// What the acknowledgement did.
        acked: Acked,
        /// The flow may send something, now or later.
        may_send: bool,
        /// A timer to plan, or [`Time::NEVER`].
        timer: Time,
    },
    /// A packet was trimmed there, and will be sent again. A timer to plan, or [`Time::NEVER`].
    Trimmed(TrimmedAt, Time),
}

/// What the timer of a sender led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expired {
    /// Nothing: another one is planned, or none is wanted.
    Stale,
    /// Nothing yet: a timer must be planned for this instant, unless it is [`Time::NEVER`].
    Early(Time),
    /// Something may be sent. The byte that was waited for in vain, if the timer gives up something; and a timer to
    /// plan, or [`Time::NEVER`].
    Sends(Option<u64>, Time),
}

impl<T: Transport> EndsOf<T> {
    /// The ends of `flows` flows, none of which has started. Each has `paths` subflows, 0 if it has one path.
    pub fn new(config: T::Config, flows: usize, paths: usize) -> Self {
        let senders = (0..flows).map(|_| None).collect();
        let receivers = (0..flows).map(|_| None).collect();
        EndsOf { config, senders, receivers, rested: BTreeMap::new(), paths }
    }

    /// Subflows of each flow, 0 if it has one path.
    pub fn paths(&self) -> usize {
        self.paths
    }

    /// What the transport declares about itself.
    pub fn facts(&self) -> Facts {
        T::facts(&self.config)
    }

    /// The flow that a subflow belongs to, and the path it takes.
    #[inline(always)]
    fn place(&self, subflow: SubflowId) -> (FlowId, usize) {
        match subflow.index().checked_sub(self.senders.len()) {
            None => (subflow.as_whole(), 0),
            Some(above) => (FlowId::new((above / self.paths) as u32), above % self.paths),
        }
    }

    #[inline(always)]
    fn sending(&mut self, subflow: SubflowId) -> Option<InUse<'_, T>> {
        let (flow, path) = self.place(subflow);
        Some((self.senders[flow].as_deref_mut()?, &self.config, path))
    }

    /// A flow starts.
    pub fn start(&mut self, start: &Start) {
        let mut machine = T::Sender::new(&self.config, start);
        if let Some(before) = start.after {
            match (self.senders[before].as_deref(), self.rested.remove(&before)) {
                (Some(under_way), _) => machine.follow(&under_way.machine),
                (None, Some(rested)) => machine.follow(&rested),
                (None, None) => {}
            }
        }
        self.senders[start.flow] = Some(Sending::new(machine, start.paths));
    }

    /// Everything of a flow is acknowledged.
    pub fn finish(&mut self, flow: FlowId) {
        self.senders[flow] = None;
    }

    /// Everything of a message is acknowledged, and another message will follow on its connection.
    #[cold]
    pub fn rest(&mut self, flow: FlowId) {
        if let Some(mut sending) = self.senders[flow].take() {
            sending.machine.rest();
            self.rested.insert(flow, sending.machine);
        }
    }

    /// Does the flow have a sending end?
    pub fn sends(&self, flow: FlowId) -> bool {
        self.senders[flow].is_some()
    }

    /// [`Sending::enqueue`]; none without a sender.
    #[inline(always)]
    pub fn enqueue(&mut self, flow: FlowId) -> Option<bool> {
        Some(self.senders[flow].as_deref_mut()?.enqueue())
    }

    /// [`Sending::stays`]; none without a sender.
    #[inline(always)]
    pub fn stays(&mut self, flow: FlowId) -> Option<bool> {
        Some(self.senders[flow].as_deref_mut()?.stays(&self.config))
    }

    /// [`Sender::may_send_from`]; none without a sender.
    #[inline(always)]
    pub fn may_send_from(&self, flow: FlowId) -> Option<Time> {
        Some(self.senders[flow].as_deref()?.machine.may_send_from(&self.config))
    }

    /// A NIC looks at a flow, which may change it ([`Sender::looked_at`]). Returns from when on it may send, if it has
    /// anything left.
    pub fn look(&mut self, flow: FlowId) -> Option<Time> {
        let machine = &mut self.senders[flow].as_deref_mut()?.machine;
        let from = machine.may_send_from(&self.config);
        machine.looked_at(&self.config).then_some(from)
    }

    /// [`Sender::paced_from`].
    pub fn paced_from(&self, flow: FlowId) -> Option<Time> {
        self.senders[flow].as_deref()?.machine.paced_from()
    }

    /// [`Sender::next`]; `timer` is set to when a timer must be planned with it, if one must.
    // Does not return a pair: the result would be moved as a whole, and stall until its fields are stored.
    #[inline(always)]
    pub fn next(&mut self, now: Time, flow: FlowId, timer: &mut Time) -> Option<Outgoing> {
        let sending = self.senders[flow].as_deref_mut()?;
        let next = sending.machine.next(&self.config, now);
        if let Some(what) = &next {
            *timer = sending.plan(what.path());
        }
        next
    }

    /// [`Sender::on_answer`].
    #[inline(always)]
    pub fn on_answer<'a>(
        &mut self,
        now: Time,
        subflow: SubflowId,
        answer: &Answer,
        option: impl FnOnce() -> &'a [u8],
    ) -> Heard {
        let Some((sending, config, path)) = self.sending(subflow) else { return Heard::Nothing };
        let acked = match sending.machine.on_answer(config, now, path, answer, option) {
            Answered::Ignored => return Heard::Nothing,
            Answered::Opened => return Heard::Opened,
            Answered::Acked(acked) => acked,
            Answered::Trimmed(at) => return Heard::Trimmed(at, sending.plan(path)),
        };
        sending.lane(path).forget(answer.cumulative);
        if acked.done {
            return Heard::Acked { acked, may_send: false, timer: Time::NEVER };
        }
        let may_send = sending.machine.may_send_from(config) != Time::NEVER;
        Heard::Acked { acked, may_send, timer: sending.plan(path) }
    }

    /// The planned timer of a sender fires.
    pub fn expire(&mut self, now: Time, subflow: SubflowId) -> Expired {
        let Some((sending, config, path)) = self.sending(subflow) else { return Expired::Stale };
        if !sending.lane(path).timer.fires(now) {
            return Expired::Stale;
        }
        if sending.machine.deadline(path).is_none_or(|at| at > now) {
            return Expired::Early(sending.plan(path));
        }
        let gave_up = sending.machine.on_timeout(config, now, path);
        Expired::Sends(gave_up, sending.plan(path))
    }

    /// [`Sender::beside`].
    pub fn beside(&mut self, now: Time, flow: FlowId) -> Option<Outgoing> {
        self.senders[flow].as_deref_mut()?.machine.beside(&self.config, now)
    }

    /// [`Sender::is_open`].
    pub fn is_open(&mut self, subflow: SubflowId) -> bool {
        self.sending(subflow).is_some_and(|(sending, _, path)| sending.machine.is_open(path))
    }

    /// What the sender of a flow has counted.
    pub fn account(&self, flow: FlowId) -> Option<Counts> {
        Some(self.senders[flow].as_deref()?.account())
    }

    /// What is kept of a path at its sender.
    #[inline(always)]
    pub fn lane(&mut self, subflow: SubflowId) -> Option<&mut Lane> {
        let (sending, _, path) = self.sending(subflow)?;
        Some(sending.lane(path))
    }

    /// [`Receiver::on_data`] of a flow of `size` bytes; `timer` is set to when a timer must be planned, if one must.
    /// The receiving end is dropped with its last byte, or when it [is over](Receiver::is_over).
    #[inline(always)]
    pub fn on_data<'a>(
        &mut self,
        now: Time,
        (subflow, size): (SubflowId, u64),
        data: &Arrival,
        option: impl FnOnce() -> &'a [u8],
        timer: &mut Time,
    ) -> Received {
        let (flow, path) = self.place(subflow);
        let slot = &mut self.receivers[flow];
        let receiving = slot.get_or_insert_with(|| Receiving::new(&self.config, size, self.paths));
        let got = receiving.machine.on_data(&self.config, now, path, data, option);
        if !got.completed {
            *timer = receiving.plan(path);
        } else if receiving.machine.is_over(&self.config) {
            *slot = None;
        }
        got
    }

    /// [`Receiver::on_data`] of a finished flow: it meets a receiving end that starts afresh, and stays.
    pub fn on_data_anew<'a>(
        &mut self,
        now: Time,
        (subflow, size): (SubflowId, u64),
        data: &Arrival,
        option: impl FnOnce() -> &'a [u8],
    ) -> Received {
        let (flow, path) = self.place(subflow);
        let receiving = self.receivers[flow].get_or_insert_with(|| Receiving::new(&self.config, size, self.paths));
        receiving.machine.on_data(&self.config, now, path, data, option)
    }

    /// [`Sender::share`].
    pub fn share(&mut self, flow: FlowId, waiting: usize) {
        if let Some(sending) = self.senders[flow].as_deref_mut() {
            sending.machine.share(waiting);
        }
    }

    /// [`Receiver::grant`]; none without a receiver.
    pub fn grant(&mut self, flow: FlowId, asks: Asks) -> Option<Grant> {
        let slot = &mut self.receivers[flow];
        let machine = &mut slot.as_deref_mut()?.machine;
        let grant = machine.grant(&self.config, asks);
        if machine.is_over(&self.config) {
            *slot = None;
        }
        grant
    }

    /// [`Receiver::late`].
    pub fn late<'a>(&self, (_, size): (FlowId, u64), data: &Arrival, option: impl FnOnce() -> &'a [u8]) -> Received {
        T::Receiver::late(&self.config, size, data, option)
    }

    /// The planned timer of a receiver fires. Returns what to answer, and a timer to plan, or [`Time::NEVER`].
    pub fn delayed(&mut self, now: Time, subflow: SubflowId) -> (Option<(Answer, Option<Told>)>, Time) {
        let (flow, path) = self.place(subflow);
        let Some(receiving) = self.receivers[flow].as_deref_mut() else { return (None, Time::NEVER) };
        if !receiving.timer(path).fires(now) {
            return (None, Time::NEVER);
        }
        let is_due = receiving.machine.deadline(path).is_some_and(|at| at <= now);
        let answer = if is_due { receiving.machine.on_timeout(&self.config, now, path) } else { None };
        (answer, receiving.plan(path))
    }

    /// [`Receiver::welcome`].
    pub fn welcome(&self, subflow: SubflowId, greeting: &Arrival) -> u16 {
        let (_, path) = self.place(subflow);
        T::Receiver::welcome(&self.config, path, greeting)
    }

    /// Do handshake packets wait as data does?
    pub fn holds_greetings(&self, _: FlowId) -> bool {
        T::resequencing(&self.config).is_some_and(|rules| rules.periods.is_some())
    }

    /// Does the flow have a receiving end?
    pub fn receives(&self, flow: FlowId) -> bool {
        self.receivers.get(flow).is_some_and(Option::is_some)
    }

    /// A packet of a flow of `size` bytes arrives where data is held back. What may go on now is added to `ready`.
    pub fn hold(
        &mut self,
        now: Time,
        (flow, size): (FlowId, u64),
        packet: Arrival,
        ready: &mut Vec<Arrival>,
        tally: &mut Tally,
    ) {
        let Some(rules) = T::resequencing(&self.config) else { return ready.push(packet) };
        let slot = &mut self.receivers[flow];
        let receiving = slot.get_or_insert_with(|| Receiving::new(&self.config, size, self.paths));
        receiving.hold(&rules, now, packet, ready, tally);
    }

    /// The planned timer of what is held back fires. What may go on now is added to `ready`. Was it still wanted?
    pub fn release(&mut self, now: Time, flow: FlowId, ready: &mut Vec<Arrival>, tally: &mut Tally) -> bool {
        let Some(rules) = T::resequencing(&self.config) else { return false };
        let receiving = self.receivers[flow].as_deref_mut();
        receiving.is_some_and(|receiving| receiving.release(&rules, now, ready, tally))
    }

    /// The timer to plan for what is held back, or [`Time::NEVER`].
    pub fn release_at(&mut self, flow: FlowId) -> Time {
        let Some(rules) = T::resequencing(&self.config) else { return Time::NEVER };
        let receiving = self.receivers[flow].as_deref_mut();
        receiving.map_or(Time::NEVER, |receiving| receiving.release_at(&rules))
    }

    /// Prefetches the receiving end of this subflow.
    #[inline(always)]
    pub fn fetch_receiver(&self, subflow: SubflowId) {
        let receiver = self.receivers.get(subflow.as_whole()).and_then(Option::as_deref);
        receiver.into_iter().for_each(prefetch::one);
    }

    /// Prefetches the sending end of this subflow.
    #[inline(always)]
    pub fn fetch_sender(&self, subflow: SubflowId) {
        let sender = self.senders.get(subflow.as_whole()).and_then(Option::as_deref);
        sender.into_iter().for_each(prefetch::one);
    }
}
