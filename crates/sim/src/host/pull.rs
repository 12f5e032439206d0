//! A NIC that pulls: when its line is free for data it asks for one packet, so nothing queues in the host.

use super::control_queue::ControlQueue;
use super::turns::Turns;
use super::{Host, Nic};
use crate::ids::FlowId;
use crate::line::Line;
use crate::packet::{BODY, InHand, Packet};
use crate::port::Pausing;
use crate::transport::contract::Order;
use crate::world::World;
use spinewise_policy::{Kind, Time};
use std::collections::VecDeque;
use std::ops::Range;

impl Host {
    /// On a NIC that queues, takes everything that the transport gives now.
    #[cold]
    fn push(&mut self, w: &mut World<'_>, flow: FlowId) {
        while w.flows.stays(flow) {
            self.send_data(w, flow);
        }
    }

    /// A flow may send: it joins those that wait, and the NIC pulls if it is free.
    pub(super) fn ready(&mut self, w: &mut World<'_>, flow: FlowId) {
        match &mut self.nic {
            Nic::Queues(_) => self.push(w, flow),
            Nic::Pulls(pull) => {
                if pull.join(w, flow) {
                    self.set_going(w);
                }
            }
        }
    }

    /// Lets the NIC pull, now or as soon as it is free.
    pub(super) fn set_going(&mut self, w: &mut World<'_>) {
        let Nic::Pulls(pull) = &self.nic else { return };
        let until = pull.pulled_until;
        if w.now > until || (w.now == until && (self.is_freed || !w.net.habits.nic_ties_wait)) {
            self.pull(w);
        } else {
            self.wake = until;
        }
    }

    /// The NIC is free for data: builds and sends one packet. A waiting probe goes first; if the probe's priority is
    /// paused, data of others goes.
    pub(crate) fn pull(&mut self, w: &mut World<'_>) {
        self.wake = Time::NEVER;
        let Nic::Pulls(pull) = &self.nic else { return };
        let mut probes_from = Time::NEVER;
        if pull.has_others() {
            match self.pull_before_data(w) {
                Some(from) => probes_from = from,
                None => return,
            }
        }
        self.pull_data(w);
        if let Nic::Pulls(pull) = &self.nic
            && pull.has_others()
        {
            self.plan_others(w, probes_from);
        }
    }

    /// Sends the probe or the control packet whose turn it is. None if there was one, else when a waiting probe may be
    /// sent.
    fn pull_before_data(&mut self, w: &mut World<'_>) -> Option<Time> {
        let Nic::Pulls(pull) = &mut self.nic else { return None };
        let mut probes_from = Time::NEVER;
        match pull.next_probe(w.now) {
            Ok(Some(probe)) => {
                self.send_probe(w, probe);
                return None;
            }
            Ok(None) => {}
            Err(until) => probes_from = until,
        }
        if pull.control_goes() {
            self.send_control(w);
            return None;
        }
        Some(probes_from)
    }

    /// Data has had its turn: control goes now if there was no data, or next otherwise, and probes from when they may.
    fn plan_others(&mut self, w: &mut World<'_>, probes_from: Time) {
        let Nic::Pulls(pull) = &self.nic else { return };
        if pull.control.as_ref().is_some_and(|control| control.waits()) {
            match pull.line.free_at() {
                sending if sending > w.now => self.wake = sending,
                _ => self.send_control(w),
            }
        } else if !pull.parked.is_empty() {
            let sending = pull.pulled_until;
            self.wake = if sending > w.now { sending } else { self.wake.min(probes_from) };
        }
    }

    /// Sends a packet of the flow that is next.
    #[inline]
    fn pull_data(&mut self, w: &mut World<'_>) {
        let started = w.flows.facts.looks_change.then(|| self.places(&w.flows));
        let Nic::Pulls(pull) = &mut self.nic else { return };
        let next = if let Some(started) = started { pull.look(w, started) } else { pull.next(w) };
        match next {
            Err(wake) => self.wake = wake,
            Ok(flow) => {
                if self.pacer.is_some() {
                    w.flows.ends.share(flow, pull.waiting() + 1);
                }
                self.send_data(w, flow);
                if let Nic::Pulls(pull) = &mut self.nic
                    && let Some(wake) = pull.sent(w, flow)
                {
                    self.wake = wake;
                }
            }
        }
    }

    /// Sends the first waiting control packet.
    fn send_control(&mut self, w: &mut World<'_>) {
        let Nic::Pulls(pull) = &mut self.nic else { return };
        if let Some(mut hand) = pull.control.as_mut().and_then(|control| control.next()) {
            pull.put_whole(w, &mut hand);
        }
        pull.pulled_until = pull.line.free_at();
        self.wake = pull.pulled_until;
    }

    #[cold]
    fn send_probe(&mut self, w: &mut World<'_>, probe: Packet) {
        self.commit(w, &mut probe.into());
        if let Nic::Pulls(pull) = &mut self.nic {
            pull.pulled_until = pull.line.free_at();
            self.wake = pull.pulled_until;
        }
    }
}

/// Data priorities.
const PRIORITIES: usize = 7;

/// Which flows wait to send, and which is next.
#[derive(Debug)]
enum Waiting {
    /// Flows wait in a round: one that has sent goes to the end.
    Round(VecDeque<FlowId>),
    /// Queue pairs take turns.
    Turns(Turns),
}

/// A NIC that pulls: a line, what is committed to it, and what waits for it.
#[derive(Debug)]
pub(super) struct Pull {
    pub(super) line: Line,
    waiting: Waiting,
    /// Control that waits for the line, where it is not committed at once.
    pub(super) control: Option<Box<ControlQueue>>,
    /// Packets that hosts make go straight on the line: no scheme tags them, and nothing waits.
    pub(super) is_plain: bool,
    /// End of the last data packet pulled, which is when the next is pulled.
    pub(super) pulled_until: Time,
    /// Probes that wait to be pulled: where data can be paused, probes follow its rules.
    pub(super) parked: VecDeque<Packet>,
    /// No data of a paused priority is pulled.
    pausing: Box<[Pausing; PRIORITIES]>,
    /// Whether any of these pauses ends in the future, as far as is known.
    paused: bool,
    /// How long, in ps, and how often data priorities have been paused, up to the last pause.
    pauses: (u64, u64),
}

impl Pull {
    /// Puts a packet and its body on the line behind what is committed.
    pub(super) fn put_whole(&mut self, w: &mut World<'_>, hand: &mut InHand) {
        self.put_on_line(w, hand.packet);
        if hand.packet.is(BODY) {
            w.wires.push_body(self.line.link, hand.body.take());
        }
    }

    /// Puts a packet on the line behind what is committed; its body goes [beside it](crate::link::Wires::push_body).
    #[inline(always)]
    pub(super) fn put_on_line(&mut self, w: &mut World<'_>, mut packet: Packet) {
        packet.limit_hops(w.net.hop_limit);
        let line = &mut self.line;
        let start = line.free_at().max(w.now);
        // A timestamp is written when a packet starts; a reply carries the one it echoes.
        let stamp = if matches!(packet.kind, Kind::Data | Kind::Probe) { start } else { packet.stamp };
        let arrives = line.send(start, u32::from(packet.wire), &mut w.wires);
        *w.wires.slot(line.link, arrives) = Packet { at: arrives, stamp, ..packet };
    }

    /// The same where a scheme tags what leaves.
    pub(super) fn tagged(self) -> Pull {
        Pull { is_plain: false, ..self }
    }

    /// A NIC on this line, for a transport whose flows send in this order.
    pub(super) fn new(line: Line, order: Order) -> Pull {
        let control = (order == Order::RoundWithControl).then(Box::default);
        Pull {
            line,
            is_plain: control.is_none(),
            control,
            waiting: match order {
                Order::Round | Order::RoundWithControl => Waiting::Round(VecDeque::new()),
                Order::Turns => Waiting::Turns(Turns::default()),
            },
            pulled_until: Time::ZERO,
            parked: VecDeque::new(),
            pausing: Box::new([Pausing::default(); PRIORITIES]),
            paused: false,
            pauses: (0, 0),
        }
    }

    /// Does this line carry anything that is no flow's data: control that waits its turn, probes that are pulled?
    #[inline]
    pub(super) fn has_others(&self) -> bool {
        self.control.is_some() || !self.parked.is_empty()
    }

    /// A flow may send: it waits for the line. Does it wait only from now on, so that the NIC must be set going?
    pub(super) fn join(&mut self, w: &mut World<'_>, flow: FlowId) -> bool {
        match &mut self.waiting {
            Waiting::Round(round) => {
                let joins = w.flows.enqueue(flow);
                if joins {
                    round.push_back(flow);
                }
                joins
            }
            Waiting::Turns(turns) => {
                let at = w.flows.may_send_from(flow);
                if at != Time::NEVER {
                    turns.join(flow, at);
                }
                at != Time::NEVER
            }
        }
    }

    /// The flow that sends next.
    ///
    /// # Errors
    /// When there may be a flow, if there is none now.
    #[inline(always)]
    pub(super) fn next(&mut self, w: &mut World<'_>) -> Result<FlowId, Time> {
        let pausing = self.paused.then_some(&*self.pausing);
        let held = |w: &World<'_>, flow: FlowId| pausing.map_or(Time::ZERO, |pausing| held_until(pausing, w, flow));
        match &mut self.waiting {
            Waiting::Round(round) => next_in_round(round, w, held),
            // Control goes first: what comes up before the line is free still overtakes the data.
            Waiting::Turns(_) if self.line.free_at() > w.now => Err(self.line.free_at()),
            Waiting::Turns(turns) => loop {
                let flow = turns.next(w, held)?;
                if w.flows.may_send_from(flow) != Time::NEVER {
                    turns.take(flow);
                    return Ok(flow);
                }
                turns.leave(flow);
            },
        }
    }

    /// The same for a NIC whose looks change the queue pairs: it looks at those that have `started`, in turn, until one
    /// may send.
    ///
    /// # Errors
    /// When there may be a flow, if there is none now.
    #[cold]
    pub(super) fn look(&mut self, w: &mut World<'_>, started: Range<usize>) -> Result<FlowId, Time> {
        let Waiting::Turns(turns) = &mut self.waiting else { return self.next(w) };
        if self.line.free_at() > w.now {
            return Err(self.line.free_at());
        }
        let (start, end) = (started.start, started.end);
        let first = start + turns.passed(&w.flows.by_host[started]);
        let mut wake = Time::NEVER;
        for place in (first..end).chain(start..first) {
            let flow = w.flows.by_host[place];
            let Some(from) = w.flows.ends.look(flow) else { continue };
            let at = if self.paused { from.max(held_until(&self.pausing, w, flow)) } else { from };
            if at <= w.now {
                turns.take(flow);
                return Ok(flow);
            }
            wake = wake.min(at);
        }
        Err(wake)
    }

    /// A packet of `flow` has been put on the line. Returns when the next is pulled, if any flow waits.
    #[inline]
    pub(super) fn sent(&mut self, w: &mut World<'_>, flow: FlowId) -> Option<Time> {
        self.pulled_until = self.line.free_at();
        let waits = match &mut self.waiting {
            Waiting::Round(round) => {
                if w.flows.stays(flow) {
                    round.push_back(flow);
                }
                !round.is_empty()
            }
            Waiting::Turns(turns) => {
                match w.flows.may_send_from(flow) {
                    Time::NEVER => turns.leave(flow),
                    at => turns.join(flow, at),
                }
                !turns.is_empty()
            }
        };
        waits.then_some(self.pulled_until)
    }

    /// The first waiting probe, if any.
    ///
    /// # Errors
    /// When its priority may send again, if it is paused.
    pub(super) fn next_probe(&mut self, now: Time) -> Result<Option<Packet>, Time> {
        let Some(probe) = self.parked.front() else { return Ok(None) };
        let pausing = self.pausing[place_of(u16::from(probe.priority()))];
        if pausing.is_on(now) { Err(pausing.until()) } else { Ok(self.parked.pop_front()) }
    }

    /// How many flows wait for the line.
    pub(super) fn waiting(&self) -> usize {
        match &self.waiting {
            Waiting::Round(round) => round.len(),
            Waiting::Turns(turns) => turns.len(),
        }
    }

    /// Is it control's turn, on a NIC where control waits for the line?
    #[inline]
    pub(super) fn control_goes(&mut self) -> bool {
        let Some(control) = &mut self.control else { return false };
        let data_waits = match &self.waiting {
            Waiting::Round(round) => !round.is_empty(),
            Waiting::Turns(turns) => !turns.is_empty(),
        };
        control.goes(data_waits)
    }

    /// The leaf asks for a pause of a priority until an instant, or lets it resume.
    pub(super) fn pause(&mut self, priority: u16, now: Time, until: Time) {
        let pausing = &mut self.pausing[place_of(priority)];
        pausing.set(now, until, &mut self.pauses);
        self.paused = self.pausing.iter().any(|pausing| pausing.is_on(now));
    }

    /// The end of the last pause of data.
    pub(super) fn paused_until(&self) -> Time {
        self.pausing.iter().map(|pausing| pausing.until()).max().unwrap_or(Time::ZERO)
    }

    /// How long, in ps, and how often its data priorities have been paused by `now`.
    pub(super) fn paused_by(&self, now: Time) -> (u64, u64) {
        let (paused, pauses) = self.pauses;
        let running: u64 = self.pausing.iter().map(|pausing| pausing.running(now)).sum();
        (paused + running, pauses)
    }
}

/// The flow of a round that sends next: one that is `held` until later goes to the end.
///
/// # Errors
/// When there may be a flow, if there is none now.
#[inline(always)]
fn next_in_round(
    round: &mut VecDeque<FlowId>,
    w: &mut World<'_>,
    held: impl Fn(&World<'_>, FlowId) -> Time,
) -> Result<FlowId, Time> {
    let (mut passed, mut wake) = (0, Time::NEVER);
    while passed < round.len()
        && let Some(flow) = round.pop_front()
    {
        let until = held(w, flow);
        if until > w.now {
            round.push_back(flow);
            wake = wake.min(until);
            passed += 1;
        } else if w.flows.stays(flow) {
            return Ok(flow);
        }
    }
    Err(wake)
}

/// The index of a priority's pauses.
fn place_of(priority: u16) -> usize {
    usize::from(priority).min(PRIORITIES - 1)
}

/// The end of the last pause of a flow's priority.
#[cold]
fn held_until(pausing: &[Pausing; PRIORITIES], w: &World<'_>, flow: FlowId) -> Time {
    pausing[place_of(u16::from(w.flows.specs[flow].priority))].until()
}
