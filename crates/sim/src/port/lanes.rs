//! The queues of a commit-at-start port: it keeps its packets until their transmission starts.
//!
//! A port has a control queue of strict priority (if the fabric separates control), which pause frames overtake, data
//! queues served in turn, and held queues that are not served until they are released. A released queue joins the end
//! of its data queue at once: behind everything that waits there, ahead of everything that comes later.

use super::Pausing;
use super::held::{Drained, Held, Released};
use super::store::Store;
use super::trimming::Trimming;
use crate::packet::{Body, InHand, Packet};
use crate::prefetch;
use spinewise_policy::{Queue, Time};
use std::collections::VecDeque;

/// A queue of a port, not counting held ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Pause frames: made by the port itself, they wait for no other packet.
    Pause,
    /// Strict priority, never paused, never marked.
    Control,
    /// A data queue.
    Data(u8),
}

/// A data queue, with the places in it where released queues end.
#[derive(Debug, Default)]
struct Data {
    store: Store,
    /// Packets that have left it.
    served: u64,
    /// (value of `served` at which it has drained, held queue), in order.
    drains: VecDeque<(u64, u16)>,
    pausing: Pausing,
}

/// The queues of one port.
#[derive(Debug)]
pub struct Lanes {
    pauses: VecDeque<Packet>,
    control: Option<Store>,
    data: Vec<Data>,
    pub(super) held: Held,
    /// The data queue whose turn it is.
    turn: usize,
    /// When the planned transmit-done event is due, [`Time::NEVER`] if none is.
    pub armed: Time,
    /// How long data queues have been paused, all together, in ps; and how often.
    paused: (u64, u64),
    /// Present if data without room is trimmed.
    pub(super) trimming: Option<Trimming>,
}

/// The place where control packets wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// A queue of its own, which goes first.
    Apart,
    /// The data queues.
    WithData,
}

impl Lanes {
    /// Creates `data` data queues, control where it belongs, and `held` held queues.
    pub fn new(data: usize, control: Control, held: u16) -> Lanes {
        Lanes {
            pauses: VecDeque::new(),
            control: (control == Control::Apart).then(Store::default),
            data: (0..data.max(1)).map(|_| Data::default()).collect(),
            held: Held::new(held),
            turn: 0,
            armed: Time::NEVER,
            paused: (0, 0),
            trimming: None,
        }
    }

    /// Prefetches its data queues.
    #[inline]
    pub fn fetch_data(&self) {
        prefetch::all(&self.data);
    }

    /// Prefetches the first packet of each data queue, and room for one more.
    #[inline]
    pub fn fetch_first(&self) {
        for Data { store, .. } in &self.data {
            store.packets.fetch_first(1);
            store.packets.fetch_room(1);
        }
    }

    /// The queue a packet goes to.
    #[inline]
    pub fn lane_of(&self, packet: &Packet) -> Lane {
        if packet.is_control() && self.control.is_some() {
            Lane::Control
        } else {
            Lane::Data(packet.priority().min(self.data.len() as u8 - 1))
        }
    }

    /// Bytes in a data queue; not needed for control.
    #[inline]
    pub fn bytes(&self, lane: Lane) -> u64 {
        match lane {
            Lane::Pause | Lane::Control => self.control.as_ref().map_or(0, |store| store.bytes),
            Lane::Data(n) => self.data[usize::from(n)].store.bytes,
        }
    }

    /// Bytes in all data queues, where control has a queue of its own.
    pub fn data_apart(&self) -> Option<u64> {
        self.control.as_ref().map(|_| self.data.iter().map(|data| data.store.bytes).sum())
    }

    /// Bytes of the first `packets` that wait in the first data queue: where control is not separate, all packets are
    /// there.
    pub fn bytes_of_first(&self, packets: usize) -> u64 {
        self.data[0].store.packets.iter().take(packets).map(|packet| u64::from(packet.wire)).sum()
    }

    /// Bytes and packets in held queues together.
    pub fn held_in_all(&self) -> (u64, u32) {
        self.held.in_all()
    }

    /// Bytes in held queue `q`.
    pub fn bytes_held(&self, q: Queue) -> u64 {
        self.held.bytes(q)
    }

    /// Queues a packet that came by `in_port`.
    #[inline(always)]
    pub fn push(&mut self, lane: Lane, hand: &mut InHand, in_port: u16) {
        match (lane, &mut self.control) {
            (Lane::Data(n), _) => self.data[usize::from(n)].store.push(hand, in_port),
            (_, Some(control)) => control.push(hand, in_port),
            (_, None) => self.data[0].store.push(hand, in_port),
        }
    }

    /// Takes the packet that was queued last in the last data queue, and the port it came by.
    pub fn take_last(&mut self) -> Option<(InHand, u16)> {
        let data = self.data.last_mut()?;
        let last = data.store.pop_last()?;
        // A released queue that ended with this packet now ends before it.
        let end = data.served + data.store.packets.len() as u64;
        data.drains.iter_mut().rev().take_while(|(at, _)| *at > end).for_each(|(at, _)| *at = end);
        Some(last)
    }

    /// Queues a pause frame ahead of everything else. It replaces a frame that still waits for the same priority, which
    /// is now obsolete. Returns whether it is an additional frame.
    pub fn push_pause(&mut self, frame: &Packet) -> bool {
        if let Some(waiting) = self.pauses.iter_mut().find(|waiting| waiting.echo == frame.echo) {
            *waiting = *frame;
            return false;
        }
        self.pauses.push_back(*frame);
        true
    }

    /// Bytes of each data queue and of each held queue.
    pub fn queues(&self) -> impl Iterator<Item = u64> {
        let data = self.data.iter().map(|data| data.store.bytes);
        data.chain(self.held.queues())
    }

    /// Returns the packet that starts next at `now`: pause frames first, then control, then the data queues in turn,
    /// except paused ones.
    #[inline]
    pub fn next(&self, now: Time) -> Option<Next> {
        if let Some(frame) = self.pauses.front() {
            return Some(Next::new(Lane::Pause, frame, 0));
        }
        if let Some(packet) = self.control.as_ref().and_then(|control| control.packets.front()) {
            return Some(Next::new(Lane::Control, packet, 0));
        }
        let mut turn = self.turn;
        for _ in 0..self.data.len() {
            let data = &self.data[turn];
            if let Some(packet) = data.store.packets.front()
                && !data.pausing.is_on(now)
            {
                return Some(Next::new(Lane::Data(turn as u8), packet, data.store.bytes));
            }
            turn = self.after(turn);
        }
        None
    }

    /// The data queue that follows `n` in turn.
    #[inline]
    fn after(&self, n: usize) -> usize {
        if n + 1 == self.data.len() { 0 } else { n + 1 }
    }

    /// Moves the first packet of a queue, which must be there, into `slot`. Returns its body, if it has one.
    #[inline(always)]
    pub fn pop_into(&mut self, lane: Lane, slot: &mut Packet) -> Option<Body> {
        match lane {
            Lane::Pause => {
                *slot = self.pauses.pop_front()?;
                None
            }
            Lane::Control => self.control.as_mut()?.pop_into(slot),
            Lane::Data(n) => {
                self.turn = self.after(usize::from(n));
                let data = &mut self.data[usize::from(n)];
                data.served += 1;
                data.store.pop_into(slot)
            }
        }
    }

    /// Whether data queues can do without turns.
    pub fn has_one_data_queue(&self) -> bool {
        self.data.len() == 1
    }

    /// Returns when something that waits may start, if nothing else happens: `now`, the end of a pause, or never.
    #[inline]
    pub fn next_start(&self, now: Time) -> Time {
        let control = self.control.as_ref().is_some_and(|control| !control.packets.is_empty());
        if control || !self.pauses.is_empty() {
            return now;
        }
        let start =
            |data: &Data| if data.store.packets.is_empty() { Time::NEVER } else { data.pausing.until().max(now) };
        match &self.data[..] {
            [only] => start(only),
            all => all.iter().map(start).min().unwrap_or(Time::NEVER),
        }
    }

    /// Whether held queues may have drained. A quick check before [`Lanes::drained`].
    #[inline]
    pub fn drains(&self) -> bool {
        !self.held.is_empty()
    }

    /// A held queue that has drained from this data queue, if there is one left.
    #[inline]
    pub fn drained(&mut self, lane: Lane) -> Option<Drained> {
        let Lane::Data(n) = lane else { return None };
        let data = &mut self.data[usize::from(n)];
        let &(at, q) = data.drains.front()?;
        if at > data.served {
            return None;
        }
        data.drains.pop_front();
        Some(self.held.drained(Queue(q)))
    }

    /// Pauses a data queue until `until`, or resumes it if that is not in the future.
    pub fn pause(&mut self, priority: u8, now: Time, until: Time) {
        let Some(data) = self.data.get_mut(usize::from(priority)) else { return };
        data.pausing.set(now, until, &mut self.paused);
    }

    /// Returns how long (ps) and how often data queues have been paused by `now`.
    pub fn paused_by(&self, now: Time) -> (u64, u64) {
        let running: u64 = self.data.iter().map(|data| data.pausing.running(now)).sum();
        (self.paused.0 + running, self.paused.1)
    }

    /// Whether this data queue is paused.
    pub fn is_paused(&self, priority: u8, now: Time) -> bool {
        self.data[usize::from(priority)].pausing.is_on(now)
    }

    /// Whether any data queue is paused.
    pub fn any_paused(&self, now: Time) -> bool {
        self.data.iter().any(|data| data.pausing.is_on(now))
    }

    /// Packets that wait for this data queue to be served: its own, and those in held queues that will join it.
    pub fn waiting(&self, priority: u8) -> impl Iterator<Item = &Packet> {
        let last = self.data.len() as u8 - 1;
        let joining = self.held.packets().filter(move |packet| packet.priority().min(last) == priority);
        self.data[usize::from(priority)].store.packets.iter().chain(joining)
    }

    /// Releases held queue `q`: its packets join their data queue. Returns the queue if it drained at once, being
    /// empty, or the data queue with its bytes before and the bytes and packets that have joined it.
    pub fn release(&mut self, q: Queue) -> Released {
        let first = match self.held.first(q) {
            Ok(first) => first,
            Err(released) => return released,
        };
        let n = first.priority().min(self.data.len() as u8 - 1);
        let data = &mut self.data[usize::from(n)];
        let before = data.store.bytes;
        let (joined, packets) = self.held.join(q, &mut data.store);
        data.drains.push_back((data.served + data.store.packets.len() as u64, q.0));
        Released::Joined { before, joined, packets }
    }

    /// Takes a waiting packet, which may be held or paused, because it is lost. A held queue stays taken until it is
    /// released.
    pub fn lose(&mut self) -> Option<Lost> {
        let mut packet = Packet::default();
        let control = self.control.as_ref().is_some_and(|control| !control.packets.is_empty());
        let waits = |data: &Data| !data.store.packets.is_empty();
        let lane = match self.data.iter().position(waits) {
            _ if !self.pauses.is_empty() => Lane::Pause,
            _ if control => Lane::Control,
            Some(n) => Lane::Data(n as u8),
            None => return self.lose_held(),
        };
        self.pop_into(lane, &mut packet);
        Some(Lost { packet, lane, left: self.bytes(lane), was_held: false })
    }

    fn lose_held(&mut self) -> Option<Lost> {
        let (packet, left) = self.held.lose()?;
        Some(Lost { packet, lane: self.lane_of(&packet), left, was_held: true })
    }

    /// Number of free held queues.
    pub fn free_queues(&self) -> u16 {
        self.held.free_queues()
    }

    /// Number of taken held queues.
    pub fn taken(&self) -> usize {
        self.held.taken()
    }

    /// A free held queue.
    pub fn free_queue(&self) -> Option<Queue> {
        self.held.free_queue()
    }

    /// All packets kept.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        let data = self.data.iter().flat_map(|data| data.store.packets.iter());
        let control = self.control.iter().flat_map(|control| control.packets.iter());
        self.pauses.iter().chain(control).chain(data).chain(self.held.packets())
    }
}

/// A packet that is lost where it waits.
#[derive(Clone, Copy, Debug)]
pub struct Lost {
    /// The packet.
    pub packet: Packet,
    /// The queue it was in, or would have joined.
    pub lane: Lane,
    /// Bytes left behind where it was.
    pub left: u64,
    /// It was in a held queue.
    pub was_held: bool,
}

/// A packet that starts.
#[derive(Clone, Copy, Debug)]
pub struct Next {
    /// The queue it is at the head of.
    pub lane: Lane,
    /// The port it came by.
    pub in_port: u16,
    /// Its bytes.
    pub wire: u32,
    /// Bytes left behind in a data queue; not needed for control.
    pub left: u64,
}

impl Next {
    #[inline]
    fn new(lane: Lane, packet: &Packet, queue: u64) -> Next {
        let wire = u32::from(packet.wire);
        Next { lane, in_port: packet.came_by(), wire, left: queue.saturating_sub(u64::from(wire)) }
    }
}
