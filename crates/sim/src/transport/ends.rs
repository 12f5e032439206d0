//! The ends of all flows of one transport, beside its configuration.
//!
//! What is said here of a *number* holds for a flow with one path and for a path of one with several: those have numbers
//! of their own, above those of all flows, those of one flow in a row.

use super::contract::{Acked, Answer, Answered, Arrival, Counts, Facts, Outgoing, Received, Receiver, Sender};
use super::contract::{Start, Told, Transport};
use super::resequencer::{Buffer, Tally};
use spinewise_policy::{Time, Way};
use std::collections::VecDeque;

/// The ends of all flows of transport `T`.
#[derive(Debug)]
pub struct EndsOf<T: Transport> {
    config: T::Config,
    senders: Vec<Option<Box<Sending<T::Sender>>>>,
    receivers: Vec<Option<Box<Receiving<T::Receiver>>>>,
    /// Numbers that each flow has above those of all flows.
    paths: usize,
}

/// The sending end of a flow.
#[derive(Debug)]
pub struct Sending<S> {
    /// What sends.
    pub machine: S,
    /// It stands in the NIC's round.
    queued: bool,
    lane: Lane,
    /// Lanes of further paths.
    further: Vec<Lane>,
}

/// A sending end in use: with the configuration, and the path that is meant.
type InUse<'a, T> = (&'a mut Sending<<T as Transport>::Sender>, &'a <T as Transport>::Config, usize);

/// What is kept of one path at its sending end.
#[derive(Debug)]
pub struct Lane {
    /// When the planned timer fires, [`Time::NEVER`] if none is planned.
    timer_at: Time,
    /// Way of the last data packet.
    last_way: Way,
    /// Way of every outstanding segment by its first byte, kept only for schemes that ask for losses.
    ways: VecDeque<(u64, Way)>,
}

/// The receiving end of a flow.
#[derive(Debug)]
struct Receiving<R> {
    machine: R,
    /// When the planned timer of each path fires, [`Time::NEVER`] if none is planned.
    timer_at: Time,
    further: Vec<Time>,
    /// What waits below the transport, where receivers hold data back.
    waiting: Option<Box<Waiting>>,
}

/// Data that waits below its transport.
#[derive(Debug)]
struct Waiting {
    packets: Buffer<Arrival>,
    /// When the planned timer fires, [`Time::NEVER`] if none is planned.
    timer_at: Time,
}

/// What became of an answer.
#[derive(Clone, Copy, Debug)]
pub enum Heard {
    /// Nothing: nobody waits for it.
    Nothing,
    /// A further path is open.
    Opened,
    /// It says how far data has arrived.
    Acked {
        /// What it brought about.
        acked: Acked,
        /// The flow may send something, now or later.
        may_send: bool,
        /// A timer to plan, or [`Time::NEVER`].
        timer: Time,
    },
}

/// What the timer of a sender led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expired {
    /// Nothing: another one is planned, or none is wanted.
    Stale,
    /// Nothing yet: a timer is to be planned for this instant, or [`Time::NEVER`].
    Early(Time),
    /// Something may be sent. This byte was waited for in vain, if it was a timer that gives up something; and a timer to
    /// plan, or [`Time::NEVER`].
    Sends(Option<u64>, Time),
}

impl Default for Lane {
    fn default() -> Self {
        Lane { timer_at: Time::NEVER, last_way: Way::ANY, ways: VecDeque::new() }
    }
}

impl Lane {
    /// The way the segment that starts at `seq` was last sent on.
    pub fn way_of(&self, seq: u64) -> Way {
        self.ways.binary_search_by_key(&seq, |&(first, _)| first).map_or(Way::ANY, |at| self.ways[at].1)
    }

    /// A packet is sent on this way. Was the one before sent on another?
    pub fn goes(&mut self, way: Way) -> bool {
        let last = std::mem::replace(&mut self.last_way, way);
        last != way && last != Way::ANY
    }

    /// Remembers the way of a segment until it is acknowledged.
    pub fn remember(&mut self, seq: u64, way: Way) {
        match self.ways.binary_search_by_key(&seq, |&(first, _)| first) {
            Ok(at) => self.ways[at].1 = way,
            Err(at) => self.ways.insert(at, (seq, way)),
        }
    }

    /// Everything below `seq` is acknowledged.
    #[inline]
    fn forget(&mut self, seq: u64) {
        while self.ways.front().is_some_and(|&(first, _)| first < seq) {
            self.ways.pop_front();
        }
    }
}

/// Takes note of a timer for `deadline`; says when it is to be planned, or [`Time::NEVER`]. Lazily: one that fires early
/// is planned again, so a later deadline costs nothing now.
#[inline(always)]
fn plan(timer_at: &mut Time, deadline: Option<Time>) -> Time {
    match deadline {
        Some(at) if at < *timer_at => {
            *timer_at = at;
            at
        }
        Some(_) | None => Time::NEVER,
    }
}

impl<S> Sending<S> {
    /// One with so many paths.
    pub fn new(machine: S, paths: usize) -> Box<Self> {
        let further = (1..paths).map(|_| Lane::default()).collect();
        Box::new(Sending { machine, queued: false, lane: Lane::default(), further })
    }

    /// The lane of a path.
    #[inline(always)]
    pub fn lane(&mut self, path: usize) -> &mut Lane {
        if path == 0 { &mut self.lane } else { &mut self.further[path - 1] }
    }

    /// It joins the NIC's round. Was it outside?
    #[inline(always)]
    pub fn enqueue(&mut self) -> bool {
        !std::mem::replace(&mut self.queued, true)
    }
}

impl<S: Sender> Sending<S> {
    /// Has it something to send? If not it leaves the NIC's round.
    #[inline(always)]
    pub fn stays(&mut self, config: &S::Config) -> bool {
        self.queued = self.machine.may_send_from(config) != Time::NEVER;
        self.queued
    }

    /// What it has counted.
    pub fn account(&self) -> Counts {
        let mut counts = Counts::default();
        self.machine.account(&mut counts);
        counts
    }

    #[inline(always)]
    fn plan(&mut self, path: usize) -> Time {
        let deadline = self.machine.deadline(path);
        plan(&mut self.lane(path).timer_at, deadline)
    }
}

impl<R: Receiver> Receiving<R> {
    fn new(config: &R::Config, size: u64, paths: usize) -> Box<Self> {
        let further = (1..paths).map(|_| Time::NEVER).collect();
        Box::new(Receiving { machine: R::new(config, size), timer_at: Time::NEVER, further, waiting: None })
    }

    #[inline(always)]
    fn timer_at(&mut self, path: usize) -> &mut Time {
        if path == 0 { &mut self.timer_at } else { &mut self.further[path - 1] }
    }

    #[inline(always)]
    fn plan(&mut self, path: usize) -> Time {
        let deadline = self.machine.deadline(path);
        plan(self.timer_at(path), deadline)
    }
}

impl<T: Transport> EndsOf<T> {
    /// Of `flows` flows, of which none has started. `paths` numbers stand above them for each, 0 if each has one path.
    pub fn new(config: T::Config, flows: usize, paths: usize) -> Self {
        let (mut senders, mut receivers) = (Vec::new(), Vec::new());
        senders.resize_with(flows, || None);
        receivers.resize_with(flows, || None);
        EndsOf { config, senders, receivers, paths }
    }

    /// Numbers that each flow has above those of all flows, 0 if it has one path.
    pub fn paths(&self) -> usize {
        self.paths
    }

    /// What the transport states of itself.
    pub fn facts(&self) -> Facts {
        T::facts(&self.config)
    }

    /// The flow and the path that a number stands for.
    #[inline(always)]
    fn place(&self, number: u32) -> (usize, usize) {
        match (number as usize).checked_sub(self.senders.len()) {
            None => (number as usize, 0),
            Some(above) => (above / self.paths, above % self.paths),
        }
    }

    #[inline(always)]
    fn sending(&mut self, number: u32) -> Option<InUse<'_, T>> {
        let (flow, path) = self.place(number);
        Some((self.senders[flow].as_deref_mut()?, &self.config, path))
    }

    /// A flow starts.
    pub fn start(&mut self, start: &Start) {
        let machine = T::Sender::new(&self.config, start);
        self.senders[start.number as usize] = Some(Sending::new(machine, start.paths));
    }

    /// Everything of a flow is acknowledged.
    pub fn finish(&mut self, flow: u32) {
        self.senders[flow as usize] = None;
    }

    /// Is there a sending end?
    pub fn sends(&self, flow: u32) -> bool {
        self.senders[flow as usize].is_some()
    }

    /// [`Sending::enqueue`]; none without a sender.
    #[inline(always)]
    pub fn enqueue(&mut self, flow: u32) -> Option<bool> {
        Some(self.senders[flow as usize].as_deref_mut()?.enqueue())
    }

    /// [`Sending::stays`]; none without a sender.
    #[inline(always)]
    pub fn stays(&mut self, flow: u32) -> Option<bool> {
        Some(self.senders[flow as usize].as_deref_mut()?.stays(&self.config))
    }

    /// [`Sender::may_send_from`]; none without a sender.
    #[inline(always)]
    pub fn may_send_from(&self, flow: u32) -> Option<Time> {
        Some(self.senders[flow as usize].as_deref()?.machine.may_send_from(&self.config))
    }

    /// [`Sender::paced_from`].
    pub fn paced_from(&self, flow: u32) -> Option<Time> {
        self.senders[flow as usize].as_deref()?.machine.paced_from()
    }

    /// [`Sender::next`], and a timer to plan, or [`Time::NEVER`].
    #[inline(always)]
    pub fn next(&mut self, now: Time, flow: u32) -> Option<(Outgoing, Time)> {
        let sending = self.senders[flow as usize].as_deref_mut()?;
        let next = sending.machine.next(&self.config, now)?;
        let path = match next {
            Outgoing::Data(_) => 0,
            Outgoing::OnPath(path, ..) | Outgoing::Greeting { path, .. } => path,
        };
        let timer = sending.plan(path);
        Some((next, timer))
    }

    /// [`Sender::on_answer`].
    #[inline(always)]
    pub fn on_answer<'a>(
        &mut self,
        now: Time,
        number: u32,
        answer: &Answer,
        option: impl FnOnce() -> &'a [u8],
    ) -> Heard {
        let Some((sending, config, path)) = self.sending(number) else { return Heard::Nothing };
        let acked = match sending.machine.on_answer(config, now, path, answer, option) {
            Answered::Ignored => return Heard::Nothing,
            Answered::Opened => return Heard::Opened,
            Answered::Acked(acked) => acked,
        };
        sending.lane(path).forget(answer.cumulative);
        if acked.done {
            return Heard::Acked { acked, may_send: false, timer: Time::NEVER };
        }
        let may_send = sending.machine.may_send_from(config) != Time::NEVER;
        Heard::Acked { acked, may_send, timer: sending.plan(path) }
    }

    /// The planned timer of a sender fires.
    pub fn expire(&mut self, now: Time, number: u32) -> Expired {
        let Some((sending, config, path)) = self.sending(number) else { return Expired::Stale };
        if sending.lane(path).timer_at != now {
            return Expired::Stale;
        }
        sending.lane(path).timer_at = Time::NEVER;
        if sending.machine.deadline(path).is_none_or(|at| at > now) {
            return Expired::Early(sending.plan(path));
        }
        let gave_up = sending.machine.on_timeout(config, now, path);
        Expired::Sends(gave_up, sending.plan(path))
    }

    /// [`Sender::is_open`].
    pub fn is_open(&mut self, number: u32) -> bool {
        self.sending(number).is_some_and(|(sending, _, path)| sending.machine.is_open(path))
    }

    /// What the sender of a flow has counted.
    pub fn account(&self, flow: u32) -> Option<Counts> {
        Some(self.senders[flow as usize].as_deref()?.account())
    }

    /// What is kept of a path at its sender.
    #[inline(always)]
    pub fn lane(&mut self, number: u32) -> Option<&mut Lane> {
        let (sending, _, path) = self.sending(number)?;
        Some(sending.lane(path))
    }

    /// [`Receiver::on_data`] of a flow of `size` bytes, and a timer to plan, or [`Time::NEVER`]. The receiving end goes
    /// with its last byte.
    #[inline(always)]
    pub fn on_data<'a>(
        &mut self,
        now: Time,
        (number, size): (u32, u64),
        data: &Arrival,
        option: impl FnOnce() -> &'a [u8],
    ) -> (Received, Time) {
        let (flow, path) = self.place(number);
        let slot = &mut self.receivers[flow];
        let receiving = slot.get_or_insert_with(|| Receiving::new(&self.config, size, self.paths));
        let got = receiving.machine.on_data(&self.config, now, path, data, option);
        let timer = if got.completed {
            *slot = None;
            Time::NEVER
        } else {
            receiving.plan(path)
        };
        (got, timer)
    }

    /// [`Receiver::late`].
    pub fn late<'a>(&self, size: u64, data: &Arrival, option: impl FnOnce() -> &'a [u8]) -> Received {
        T::Receiver::late(&self.config, size, data, option)
    }

    /// The planned timer of a receiver fires: what to answer, and a timer to plan, or [`Time::NEVER`].
    pub fn delayed(&mut self, now: Time, number: u32) -> (Option<(Answer, Option<Told>)>, Time) {
        let (flow, path) = self.place(number);
        let Some(receiving) = self.receivers[flow].as_deref_mut() else { return (None, Time::NEVER) };
        if *receiving.timer_at(path) != now {
            return (None, Time::NEVER);
        }
        *receiving.timer_at(path) = Time::NEVER;
        let is_due = receiving.machine.deadline(path).is_some_and(|at| at <= now);
        let answer = if is_due { receiving.machine.on_timeout(&self.config, now, path) } else { None };
        (answer, receiving.plan(path))
    }

    /// [`Receiver::welcome`].
    pub fn welcome(&self, number: u32, greeting: &Arrival) -> u16 {
        let (_, path) = self.place(number);
        T::Receiver::welcome(&self.config, path, greeting)
    }

    /// Do packets of a handshake wait as data does?
    pub fn holds_greetings(&self) -> bool {
        T::resequencing(&self.config).is_some_and(|rules| rules.periods.is_some())
    }

    /// Is there a receiving end?
    pub fn receives(&self, flow: u32) -> bool {
        self.receivers.get(flow as usize).is_some_and(Option::is_some)
    }

    /// A packet arrives of a flow of `size` bytes where data is held back. What may go on now is added to `ready`.
    pub fn hold(
        &mut self,
        now: Time,
        (flow, size): (u32, u64),
        packet: Arrival,
        ready: &mut Vec<Arrival>,
        tally: &mut Tally,
    ) {
        let Some(rules) = T::resequencing(&self.config) else { return ready.push(packet) };
        let slot = &mut self.receivers[flow as usize];
        let receiving = slot.get_or_insert_with(|| Receiving::new(&self.config, size, self.paths));
        let waiting = receiving
            .waiting
            .get_or_insert_with(|| Box::new(Waiting { packets: Buffer::new(rules), timer_at: Time::NEVER }));
        if packet.syn {
            waiting.packets.greet(rules, now, packet);
        } else {
            waiting.packets.arrive(rules, now, (packet.seq, packet.len), packet, ready, tally);
        }
    }

    /// The planned timer of what is held back fires. What may go on now is added to `ready`. Was it still wanted?
    pub fn release(&mut self, now: Time, flow: u32, ready: &mut Vec<Arrival>, tally: &mut Tally) -> bool {
        let Some(rules) = T::resequencing(&self.config) else { return false };
        let receiving = self.receivers[flow as usize].as_deref_mut();
        let waiting = receiving.and_then(|receiving| receiving.waiting.as_deref_mut());
        let Some(waiting) = waiting.filter(|waiting| waiting.timer_at == now) else { return false };
        waiting.timer_at = Time::NEVER;
        waiting.packets.expire(rules, now, ready, tally);
        true
    }

    /// The timer to plan for what is held back, or [`Time::NEVER`].
    pub fn release_at(&mut self, flow: u32) -> Time {
        let Some(rules) = T::resequencing(&self.config) else { return Time::NEVER };
        let receiving = self.receivers[flow as usize].as_deref_mut();
        let waiting = receiving.and_then(|receiving| receiving.waiting.as_deref_mut());
        waiting.map_or(Time::NEVER, |waiting| plan(&mut waiting.timer_at, waiting.packets.deadline(rules)))
    }

    /// Reads what data of this number will need, to have it in the cache.
    #[inline(always)]
    pub fn touch_receiver(&self, number: u32) -> u64 {
        self.receivers.get(number as usize).and_then(Option::as_deref).map_or(0, |end| end.timer_at.0)
    }

    /// Reads what an answer of this number will need, to have it in the cache.
    #[inline(always)]
    pub fn touch_sender(&self, number: u32) -> u64 {
        self.senders.get(number as usize).and_then(Option::as_deref).map_or(0, |end| end.lane.timer_at.0)
    }
}
