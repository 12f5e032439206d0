//! What a bank asks of its seats, and how each hook is called: with the rows of its device and room for its actions.

use super::{Asked, Bank, Call, Fired, Lend, NO_PEER, Seating, Seats, seated};
use crate::packet::{self, Hashing};
use spinewise_policy::out::Action;
use spinewise_policy::rows::NOBODY;
use spinewise_policy::{
    Change, Cx, Feedback, FlowKey, Hashes, Hooks, Key, Kind, Layout, Message, Out, Packet, Peers, Policy, Port, Queue,
    Rng, Sheet, Sight, Table, Time, Verdict, Way, Wire,
};
use std::sync::Arc;

/// The seats of a scheme, whichever it is. The methods are those of [`Bank`], which explains them.
#[allow(missing_docs)]
pub trait Seated {
    fn sheet(&self) -> &'static Sheet;
    fn facts(&self) -> (Hooks, Arc<[u16]>, Arc<[Layout]>);
    fn hashes(&self) -> Hashes;
    fn seed(&self) -> u64;
    fn swap_stream(&mut self, seat: u32, stream: &mut Rng);
    fn copy_row(&mut self, seat: u32, from: FlowKey, to: FlowKey);
    fn pick(&mut self, asked: &mut Asked, call: Call<'_>, packet: &Packet, header: &mut [u8; 16]) -> (Way, u32);
    fn pick_and_tell(
        &mut self,
        asked: &mut Asked,
        call: Call<'_>,
        packet: &Packet,
        header: &mut [u8; 16],
        sight: &mut Sight<'_>,
    ) -> (Way, u32);
    fn egress(&mut self, asked: &mut Asked, call: Call<'_>, port: Port, packet: &Packet, header: &mut [u8; 16]);
    fn ingress(&mut self, asked: &mut Asked, call: Call<'_>, packet: &Packet, header: &mut [u8; 16]) -> Verdict;
    fn feedback(&mut self, asked: &mut Asked, call: Call<'_>, feedback: &Feedback);
    fn message(&mut self, asked: &mut Asked, call: Call<'_>, message: &Message<'_>);
    fn timer(&mut self, asked: &mut Asked, call: Call<'_>, key: Key) -> Fired;
    fn tick(&mut self, asked: &mut Asked, call: Call<'_>);
    fn link(&mut self, asked: &mut Asked, call: Call<'_>, port: Port, change: Change);
    fn drained(&mut self, asked: &mut Asked, call: Call<'_>, owner: Option<FlowKey>, port: Port, queue: Queue);
    fn arm(&mut self, seat: u32, key: Key, at: Time) -> Option<Time>;
    fn cancel(&mut self, seat: u32, key: Key);
    fn pin(&mut self, seat: u32, key: FlowKey, pinned: bool);
    fn forget(&mut self, seat: u32, key: FlowKey);
    fn forget_peer(&mut self, seat: u32, peer: u32);
    fn flow_rows(&self) -> usize;
    fn keep(&mut self, seat: u32);
    fn restore(&mut self, seat: u32);
}

impl Bank {
    /// [`Policy::pick`] for a packet that came in by `in_port`: the way, and the bytes the header takes on the wire. What
    /// the scheme is shown is compiled for each scheme separately, so only the fields that it reads are computed. A guest
    /// reads them all, and would undo that for every scheme: see [`Bank::pick_any`].
    ///
    /// # Panics
    /// If the scheme is a guest.
    #[inline(always)]
    pub fn pick(&mut self, call: Call<'_>, packet: &mut packet::Packet, seen: (&Hashing, u16)) -> (Way, u32) {
        seated!(registered &mut self.seating, seats => {
            let mut header = packet.header;
            let view = packet.view(seen.0, seen.1, 0);
            let picked = seats.pick(&mut self.asked, call, &view, &mut header);
            packet.header = header;
            picked
        })
    }

    /// [`Bank::pick`] of any scheme, guests included.
    #[cold]
    #[inline(never)]
    pub fn pick_any(&mut self, call: Call<'_>, packet: &mut packet::Packet, seen: (&Hashing, u16)) -> (Way, u32) {
        let view = packet.view(seen.0, seen.1, 0);
        seated!(&mut self.seating, seats => seats.pick(&mut self.asked, call, &view, &mut packet.header))
    }

    /// [`Bank::pick`] preceded by [`Policy::sees`].
    #[cold]
    pub fn pick_and_tell(
        &mut self,
        call: Call<'_>,
        packet: &mut packet::Packet,
        seen: (&Hashing, u16),
        sight: &mut Sight<'_>,
    ) -> (Way, u32) {
        let view = packet.view(seen.0, seen.1, 0);
        self.pick_for(call, &view, &mut packet.header, Some(sight))
    }

    /// [`Policy::pick`] without a simulated packet in hand: for a shell with packets of its own. With a `sight`,
    /// [`Policy::sees`] comes first.
    #[cold]
    pub fn pick_for(
        &mut self,
        call: Call<'_>,
        packet: &Packet,
        header: &mut [u8; 16],
        sight: Option<&mut Sight<'_>>,
    ) -> (Way, u32) {
        seated!(&mut self.seating, seats => match sight {
            Some(sight) => seats.pick_and_tell(&mut self.asked, call, packet, header, sight),
            None => seats.pick(&mut self.asked, call, packet, header),
        })
    }
}

impl<P: Policy> Seated for Seats<P>
where
    P::Site: Lend,
{
    fn sheet(&self) -> &'static Sheet {
        self.sheet
    }

    fn facts(&self) -> (Hooks, Arc<[u16]>, Arc<[Layout]>) {
        (self.hooks, self.kinds.clone(), self.layouts.clone())
    }

    fn hashes(&self) -> Hashes {
        P::HASHES
    }

    fn seed(&self) -> u64 {
        self.seed
    }

    #[cold]
    fn swap_stream(&mut self, seat: u32, stream: &mut Rng) {
        if self.seats[seat as usize].is_none() {
            self.take_seat(seat);
        }
        if let Some(seat) = &mut self.seats[seat as usize] {
            std::mem::swap(&mut seat.rng, stream);
        }
    }

    #[cold]
    fn copy_row(&mut self, seat: u32, from: FlowKey, to: FlowKey) {
        if let Some(seat) = &mut self.seats[seat as usize] {
            seat.flows.copy(P::row_of(from).0, P::row_of(to).0);
        }
    }

    #[inline(always)]
    fn pick(&mut self, asked: &mut Asked, call: Call<'_>, packet: &Packet, header: &mut [u8; 16]) -> (Way, u32) {
        self.with_header(asked, Hooks::NONE, call, packet, header, |policy, cx, flow, header| {
            let way = policy.pick(cx, flow, packet, header);
            (way, header.wire())
        })
    }

    fn pick_and_tell(
        &mut self,
        asked: &mut Asked,
        call: Call<'_>,
        packet: &Packet,
        header: &mut [u8; 16],
        sight: &mut Sight<'_>,
    ) -> (Way, u32) {
        self.with_header(asked, Hooks::NONE, call, packet, header, |policy, cx, flow, header| {
            policy.sees(cx, flow, packet, sight);
            let way = policy.pick(cx, flow, packet, header);
            (way, header.wire())
        })
    }

    #[inline]
    fn egress(&mut self, asked: &mut Asked, call: Call<'_>, port: Port, packet: &Packet, header: &mut [u8; 16]) {
        let mut own = P::Header::get(header);
        self.call(asked, Hooks::EGRESS, call, None, |policy, cx, _| policy.egress(cx, port, packet, &mut own));
        put(&own, header);
    }

    #[inline]
    fn ingress(&mut self, asked: &mut Asked, call: Call<'_>, packet: &Packet, header: &mut [u8; 16]) -> Verdict {
        let hook = |policy: &P, cx: &mut Cx<'_, P>, flow: &mut P::Flow, header: &mut P::Header| {
            policy.ingress(cx, flow, packet, header)
        };
        self.with_header(asked, Hooks::INGRESS, call, packet, header, hook)
    }

    #[inline]
    fn feedback(&mut self, asked: &mut Asked, call: Call<'_>, feedback: &Feedback) {
        let which = if feedback.event.is_loss() { Hooks::LOSS } else { Hooks::FEEDBACK };
        self.call(asked, which, call, feedback.flow, |policy, cx, flow| policy.feedback(cx, flow, feedback));
    }

    fn message(&mut self, asked: &mut Asked, call: Call<'_>, message: &Message<'_>) {
        self.call(asked, Hooks::MESSAGE, call, message.flow, |policy, cx, flow| policy.message(cx, flow, message));
    }

    fn timer(&mut self, asked: &mut Asked, call: Call<'_>, key: Key) -> Fired {
        let Some(seat) = self.seats[call.seat as usize].as_deref_mut() else { return Fired::Stale };
        match seat.armed.get_mut(&key) {
            Some(armed) if armed.at == call.now => {}
            Some(armed) if armed.planned == call.now => {
                armed.planned = armed.at;
                return Fired::Early(armed.at);
            }
            _ => return Fired::Stale,
        }
        seat.armed.remove(&key);
        let flow = if let Key::Flow(flow, _) = key { Some(flow) } else { None };
        self.call(asked, Hooks::TIMER, call, flow, |policy, cx, flow| policy.timer(cx, flow, key));
        // Only now: a row must not have aged when its own timer finds it.
        if let Some(flow) = flow {
            self.pin(call.seat, flow, false);
        }
        Fired::Done
    }

    fn tick(&mut self, asked: &mut Asked, call: Call<'_>) {
        self.call(asked, Hooks::TICK, call, None, |policy, cx, _| policy.tick(cx));
    }

    fn link(&mut self, asked: &mut Asked, call: Call<'_>, port: Port, change: Change) {
        self.call(asked, Hooks::LINK, call, None, |policy, cx, _| policy.link(cx, port, change));
    }

    fn drained(&mut self, asked: &mut Asked, call: Call<'_>, owner: Option<FlowKey>, port: Port, queue: Queue) {
        if self.hooks.has(Hooks::DRAINED) {
            self.call(asked, Hooks::DRAINED, call, owner, |policy, cx, flow| policy.drained(cx, flow, port, queue));
        }
        if let Some(owner) = owner {
            self.pin(call.seat, owner, false);
        }
    }

    /// When to plan the timer's event, if the one already planned does not serve.
    fn arm(&mut self, seat: u32, key: Key, at: Time) -> Option<Time> {
        let seat = self.seats[seat as usize].as_deref_mut()?;
        seat.arm(key, at)
    }

    fn cancel(&mut self, seat: u32, key: Key) {
        let Some(seat) = self.seats[seat as usize].as_deref_mut() else { return };
        if seat.armed.remove(&key).is_some()
            && let Key::Flow(flow, _) = key
        {
            seat.flows.unpin(P::row_of(flow).0);
        }
    }

    fn pin(&mut self, seat: u32, key: FlowKey, pinned: bool) {
        if let Some(seat) = self.seats[seat as usize].as_deref_mut() {
            let key = P::row_of(key).0;
            if pinned { seat.flows.pin(key) } else { seat.flows.unpin(key) }
        }
    }

    fn forget(&mut self, seat: u32, key: FlowKey) {
        if let Some(seat) = self.seats[seat as usize].as_deref_mut() {
            seat.flows.forget(P::row_of(key).0);
        }
    }

    #[cold]
    fn forget_peer(&mut self, seat: u32, peer: u32) {
        if let Some(seat) = self.seats[seat as usize].as_deref_mut() {
            seat.forget_peer(peer);
        }
    }

    fn flow_rows(&self) -> usize {
        self.seats.iter().flatten().map(|seat| seat.flows.kept()).sum()
    }

    fn keep(&mut self, seat: u32) {
        Seats::keep(self, seat);
    }

    fn restore(&mut self, seat: u32) {
        Seats::restore(self, seat);
    }
}

impl<P: Policy> Seats<P>
where
    P::Site: Lend,
{
    /// Calls a hook about a packet: with its header decoded and the row of its flow (a blank one if it has no flow).
    #[inline(always)]
    fn with_header<R: Default>(
        &mut self,
        asked: &mut Asked,
        which: Hooks,
        call: Call<'_>,
        packet: &Packet,
        header: &mut [u8; 16],
        hook: impl FnOnce(&P, &mut Cx<'_, P>, &mut P::Flow, &mut P::Header) -> R,
    ) -> R {
        let mut own = P::Header::get(header);
        let key = matches!(packet.kind, Kind::Data | Kind::Ack).then_some(packet.flow);
        let mut blank = P::Flow::default();
        let answer = self
            .call(asked, which, call, key, |policy, cx, flow| hook(policy, cx, flow.unwrap_or(&mut blank), &mut own));
        put(&own, header);
        answer
    }

    /// Does the peer that an unlisted hook is called about already have a row?
    #[cold]
    fn has_met(&self, call: Call<'_>) -> bool {
        let kind = usize::from(self.kinds[call.seat as usize]);
        let nobody = self.layouts[kind].peers == Peers::None || call.peer == NO_PEER;
        self.seats[call.seat as usize].as_deref().is_some_and(|seat| nobody || seat.index.contains_key(&call.peer))
    }

    /// Calls hook `which`: lends the rows, the flow's if `key` names one, and room for actions. A hook the scheme does
    /// not list is lent what exists; it creates no rows and refreshes none, because its call must have no effect.
    #[inline(always)]
    fn call<R: Default>(
        &mut self,
        asked: &mut Asked,
        which: Hooks,
        call: Call<'_>,
        key: Option<FlowKey>,
        hook: impl FnOnce(&P, &mut Cx<'_, P>, Option<&mut P::Flow>) -> R,
    ) -> R {
        let listed = self.policy.hooks().has(which);
        if !listed && !self.has_met(call) {
            return R::default();
        }
        if self.seats[call.seat as usize].is_none() {
            self.take_seat(call.seat);
        }
        if asked.actions.len() < self.room.0 {
            self.make_room(asked);
        }
        let Some(seat) = self.seats[call.seat as usize].as_deref_mut() else { unreachable!("seat taken above") };
        let stride = seat.stride;
        let current = if seat.meets && call.peer != NO_PEER { seat.meet(call.peer) } else { NOBODY };
        let flow = match key.map(P::row_of) {
            Some(key) if listed => Some(seat.flows.row(key.0, call.now)),
            Some(key) => seat.flows.known(key.0),
            None => None,
        };
        let mut cx = Cx {
            now: call.now,
            node: &mut seat.node,
            peers: Table { ids: &seat.ids, peers: &mut seat.peers, routes: &mut seat.routes, stride, current },
            ports: &mut seat.ports,
            view: <P::Site as Lend>::view(call.room),
            rng: &mut seat.rng,
            out: Out::new(&mut asked.actions, &mut asked.bytes),
        };
        let answer = hook(&self.policy, &mut cx, flow);
        asked.len = cx.out.len();
        answer
    }

    /// Makes room for actions, which is absent while earlier ones are carried out.
    #[cold]
    fn make_room(&self, asked: &mut Asked) {
        asked.actions.resize(self.room.0, Action::MaskEcn);
        asked.bytes.resize(self.room.1, 0);
    }
}

/// Writes a header back, unless the scheme has none.
#[inline]
fn put<H: Wire>(own: &H, header: &mut [u8; 16]) {
    if size_of::<H>() > 0 {
        own.put(header);
    }
}
