//! The shell of the schemes: it keeps their rows and calls their hooks.
//!
//! All devices of a site run one scheme, so a bank is an enum of vectors of seats, and the branch is always the same.
//! The enum comes from the registry; everything else here is written once for all schemes.

mod seats;

pub use seats::{Fired, Places, Seats};

use crate::packet::{self, Hashing};
use spinewise_policy::config::{Param, Refused, Value};
use spinewise_policy::out::Action;
use spinewise_policy::site::{AtHost, AtSwitch, HostView, SwitchView};
use spinewise_policy::{
    About, Cx, Event, Feedback, FlowKey, Hooks, Key, Layout, Message, Packet, Params, Peers, Policy, Port, Queue, Rng,
    Sees, Sight, Site, Span, Time, Verdict, Way, Wire,
};

/// "This call concerns no peer."
pub const NO_PEER: u32 = u32::MAX;

/// Where a hook is called: the view of that place.
#[derive(Clone, Copy)]
pub enum Room<'a> {
    /// At a host.
    Host(HostView<'a>),
    /// At a switch.
    Switch(SwitchView<'a>),
}

/// A site that can be seen from a [`Room`]: ties the policy crate's markers to the engine's rooms.
pub trait Lend: Site {
    /// The view of this site.
    fn view<'a>(room: Room<'a>) -> Self::View<'a>;
}

impl Lend for AtHost {
    #[inline]
    fn view<'a>(room: Room<'a>) -> HostView<'a> {
        match room {
            Room::Host(view) => view,
            Room::Switch(_) => unreachable!("a host scheme is seated at hosts"),
        }
    }
}

impl Lend for AtSwitch {
    #[inline]
    fn view<'a>(room: Room<'a>) -> SwitchView<'a> {
        match room {
            Room::Switch(view) => view,
            Room::Host(_) => unreachable!("a switch scheme is seated at switches"),
        }
    }
}

/// One call: which seat, when, what it sees, and whom it concerns.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// Seat: the number of the host or switch.
    pub seat: u32,
    /// The present.
    pub now: Time,
    /// What it sees.
    pub room: Room<'a>,
    /// The peer, by host or leaf as the layout says; [`NO_PEER`] if none.
    pub peer: u32,
}

/// Actions and message bodies of one hook call, to be carried out when it has returned.
#[derive(Debug, Default)]
pub struct Asked {
    /// What to do, in order; the rest of the vector is unused room.
    pub actions: Vec<Action>,
    /// How many of them.
    pub len: usize,
    /// Bodies, by offset.
    pub bytes: Vec<u8>,
}

/// A parameter that could not be set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BadParam<'a> {
    /// Its name.
    pub name: &'a str,
    /// Why.
    pub why: Refused,
}

fn configure<'a, C: Params>(params: &'a [(String, Value<'a>)]) -> Result<C, BadParam<'a>> {
    let mut config = C::default();
    for (name, value) in params {
        config.set(name, *value).map_err(|why| BadParam { name, why })?;
    }
    Ok(config)
}

/// A scheme of the registry, for people and for the spec reader.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Facts.
    pub about: About,
    /// "host" or "switch".
    pub site: &'static str,
    /// Parameters.
    pub params: &'static [Param],
    /// Hooks.
    pub hooks: Hooks,
    /// What it tells about its choices.
    pub sees: Sees,
    /// Does it put a header into packets?
    pub header: bool,
    /// Does it work in fat-trees alone, and go round dead links by itself?
    pub in_trees: bool,
    /// What it does in three tiers.
    pub three_tiers: &'static str,
}

macro_rules! bank {
    ($($variant:ident: $policy:ty,)*) => {
        /// The seats of one scheme of the registry.
        pub enum Bank {
            $(
                #[doc = "Seats of this scheme."]
                $variant(Seats<$policy>),
            )*
        }

        /// All schemes.
        pub const REGISTRY: &[Entry] = &[$(Entry {
            about: <$policy as Policy>::ABOUT,
            site: <<$policy as Policy>::Site as Site>::NAME,
            params: <<$policy as Policy>::Config as Params>::PARAMS,
            hooks: <$policy as Policy>::HOOKS,
            sees: <$policy as Policy>::SEES,
            header: size_of::<<$policy as Policy>::Header>() > 0,
            in_trees: <$policy as Policy>::IN_TREES,
            three_tiers: <$policy as Policy>::IN_THREE_TIERS,
        },)*];

        impl Bank {
            /// The bank of the scheme called `name`; nothing if there is no such scheme.
            ///
            /// # Errors
            /// When a parameter is unknown or not allowed.
            pub fn new<'a>(
                name: &str,
                params: &'a [(String, Value<'a>)],
                places: &Places,
                seed: u64,
                all_hooks: bool,
            ) -> Option<Result<Bank, BadParam<'a>>> {
                $(
                    if name == <$policy as Policy>::ABOUT.name {
                        return Some(configure::<<$policy as Policy>::Config>(params)
                            .map(|config| Bank::$variant(Seats::new(&config, places, seed, all_hooks))));
                    }
                )*
                None
            }

            /// The hooks to call.
            #[inline]
            pub fn hooks(&self) -> Hooks {
                match self { $(Bank::$variant(seats) => seats.hooks,)* }
            }

            /// Facts of the scheme.
            pub fn about(&self) -> About {
                match self { $(Bank::$variant(_) => <$policy as Policy>::ABOUT,)* }
            }

            /// What the scheme tells about its choices.
            pub fn sees(&self) -> &'static Sees {
                match self { $(Bank::$variant(_) => &<$policy as Policy>::SEES,)* }
            }

            /// The layout of a seat.
            pub fn layout(&self, seat: u32) -> Layout {
                match self { $(Bank::$variant(seats) => seats.layouts[usize::from(seats.kinds[seat as usize])],)* }
            }

            /// Whom a seat keeps peer rows for.
            #[inline]
            pub fn peers(&self, seat: u32) -> Peers {
                match self { $(Bank::$variant(s) => s.layouts[usize::from(s.kinds[seat as usize])].peers,)* }
            }

            /// Does a host's scheme choose the ways of acknowledgements?
            #[inline]
            pub fn picks_acks(&self, seat: u32) -> bool {
                match self { $(Bank::$variant(s) => s.layouts[usize::from(s.kinds[seat as usize])].picks_acks,)* }
            }

            /// A seat's random stream for the phase of its ticks.
            pub fn phase(&self, seat: u32, period: Span) -> Span {
                let (seed, name) = match self { $(Bank::$variant(s) => (s.seed, <$policy as Policy>::ABOUT.name),)* };
                let mut rng = Rng::stream(seed ^ spinewise_policy::hash::name(name), "tick phase", u64::from(seat));
                Span(rng.bits() % period.0.max(1))
            }

            /// From now on the scheme follows the public ns-3 code of ConWeave ([`Policy::follow_ns3`]), and all seats draw
            /// from one stream, whoever [swaps](Bank::swap_stream) it in.
            #[cold]
            pub fn follow_ns3(&mut self, stream: Rng) {
                match self { $(Bank::$variant(seats) => seats.follow_ns3(stream),)* }
            }

            /// [`Policy::NS3_SHARES_FLOWLETS`].
            pub fn ns3_shares_flowlets(&self) -> bool {
                match self { $(Bank::$variant(_) => <$policy as Policy>::NS3_SHARES_FLOWLETS,)* }
            }

            /// Gives a seat the shared stream, if there is one, or takes it back.
            #[cold]
            pub fn swap_stream(&mut self, seat: u32) {
                match self { $(Bank::$variant(seats) => seats.swap_stream(seat),)* }
            }

            /// Makes a flow's row the same as another's.
            #[cold]
            pub fn copy_row(&mut self, seat: u32, from: FlowKey, to: FlowKey) {
                match self { $(Bank::$variant(seats) => seats.copy_row(seat, from, to),)* }
            }

            /// Takes what the last hook call asked for.
            pub fn asked(&mut self) -> Asked {
                match self { $(Bank::$variant(seats) => std::mem::take(&mut seats.asked),)* }
            }

            /// Did the last hook call ask for anything?
            #[inline]
            pub fn has_asked(&self) -> bool {
                match self { $(Bank::$variant(seats) => seats.asked.len > 0,)* }
            }

            /// Gives the room for actions back.
            pub fn give_back(&mut self, mut room: Asked) {
                room.len = 0;
                match self { $(Bank::$variant(seats) => seats.asked = room,)* }
            }

            /// [`Policy::pick`] for a packet that came in by `in_port`: the way, and the bytes the header takes on the wire.
            /// What the scheme is shown is made for each scheme apart: of its fields only those are worked out that it reads.
            #[inline(always)]
            pub fn pick(&mut self, call: Call<'_>, packet: &mut packet::Packet, seen: (&Hashing, u16)) -> (Way, u32) {
                match self {
                    $(Bank::$variant(seats) => {
                        let mut header = packet.header;
                        let picked = seats.pick(call, &packet.view(seen.0, seen.1, 0), &mut header);
                        packet.header = header;
                        picked
                    })*
                }
            }

            /// [`Bank::pick`] with [`Policy::sees`] before it.
            #[cold]
            pub fn pick_and_tell(
                &mut self,
                call: Call<'_>,
                packet: &mut packet::Packet,
                seen: (&Hashing, u16),
                sight: &mut Sight<'_>,
            ) -> (Way, u32) {
                let view = packet.view(seen.0, seen.1, 0);
                match self {
                    $(Bank::$variant(seats) => seats.pick_and_tell(call, &view, &mut packet.header, sight),)*
                }
            }

            /// [`Policy::egress`].
            #[inline]
            pub fn egress(&mut self, call: Call<'_>, port: Port, packet: &Packet, header: &mut [u8; 16]) {
                match self { $(Bank::$variant(seats) => seats.egress(call, port, packet, header),)* }
            }

            /// [`Policy::ingress`].
            #[inline]
            pub fn ingress(&mut self, call: Call<'_>, packet: &Packet, header: &mut [u8; 16]) -> Verdict {
                match self { $(Bank::$variant(seats) => seats.ingress(call, packet, header),)* }
            }

            /// [`Policy::feedback`].
            #[inline]
            pub fn feedback(&mut self, call: Call<'_>, feedback: &Feedback) {
                match self { $(Bank::$variant(seats) => seats.feedback(call, feedback),)* }
            }

            /// [`Policy::message`].
            pub fn message(&mut self, call: Call<'_>, message: &Message<'_>) {
                match self { $(Bank::$variant(seats) => seats.message(call, message),)* }
            }

            /// [`Policy::timer`], if `key` is still armed for this instant.
            pub fn timer(&mut self, call: Call<'_>, key: Key) -> Fired {
                match self { $(Bank::$variant(seats) => seats.timer(call, key),)* }
            }

            /// [`Policy::tick`].
            pub fn tick(&mut self, call: Call<'_>) {
                match self { $(Bank::$variant(seats) => seats.tick(call),)* }
            }

            /// [`Policy::link`].
            pub fn link(&mut self, call: Call<'_>, port: Port, change: spinewise_policy::Change) {
                match self { $(Bank::$variant(seats) => seats.link(call, port, change),)* }
            }

            /// [`Policy::drained`]; unpins the flow the queue was held for.
            pub fn drained(&mut self, call: Call<'_>, owner: Option<FlowKey>, port: Port, queue: Queue) {
                match self { $(Bank::$variant(seats) => seats.drained(call, owner, port, queue),)* }
            }

            /// Remembers that a timer is armed; pins the flow. Returns when its event must be planned, if it must.
            pub fn arm(&mut self, seat: u32, key: Key, at: Time) -> Option<Time> {
                match self { $(Bank::$variant(seats) => seats.arm(seat, key, at),)* }
            }

            /// Forgets an armed timer.
            pub fn cancel(&mut self, seat: u32, key: Key) {
                match self { $(Bank::$variant(seats) => seats.cancel(seat, key),)* }
            }

            /// Pins a flow's row.
            pub fn pin(&mut self, seat: u32, key: FlowKey) {
                match self { $(Bank::$variant(seats) => seats.pin(seat, key, true),)* }
            }

            /// Forgets a flow's row.
            pub fn forget(&mut self, seat: u32, key: FlowKey) {
                match self { $(Bank::$variant(seats) => seats.forget(seat, key),)* }
            }

            /// How many rows of flows there are.
            #[cfg(test)]
            pub fn flow_rows(&self) -> usize {
                match self { $(Bank::$variant(seats) => seats.seats.iter().flatten().map(|s| s.flows.kept()).sum(),)* }
            }
        }
    };
}
spinewise_policy::each_scheme!(bank);

impl<P: Policy> Seats<P>
where
    P::Site: Lend,
{
    #[inline(always)]
    fn pick(&mut self, call: Call<'_>, packet: &Packet, header: &mut [u8; 16]) -> (Way, u32) {
        self.with_header(Hooks::NONE, call, packet, header, |policy, cx, flow, header| {
            let way = policy.pick(cx, flow, packet, header);
            (way, header.wire())
        })
    }

    fn pick_and_tell(
        &mut self,
        call: Call<'_>,
        packet: &Packet,
        header: &mut [u8; 16],
        sight: &mut Sight<'_>,
    ) -> (Way, u32) {
        self.with_header(Hooks::NONE, call, packet, header, |policy, cx, flow, header| {
            policy.sees(cx, flow, packet, sight);
            let way = policy.pick(cx, flow, packet, header);
            (way, header.wire())
        })
    }

    #[inline]
    fn egress(&mut self, call: Call<'_>, port: Port, packet: &Packet, header: &mut [u8; 16]) {
        let mut own = P::Header::get(header);
        self.call(Hooks::EGRESS, call, None, |policy, cx, _| policy.egress(cx, port, packet, &mut own));
        put(&own, header);
    }

    #[inline]
    fn ingress(&mut self, call: Call<'_>, packet: &Packet, header: &mut [u8; 16]) -> Verdict {
        let hook = |policy: &P, cx: &mut Cx<'_, P>, flow: &mut P::Flow, header: &mut P::Header| {
            policy.ingress(cx, flow, packet, header)
        };
        self.with_header(Hooks::INGRESS, call, packet, header, hook)
    }

    /// Calls a hook about a packet: with its header decoded and the row of its flow (a blank one if it has no flow).
    #[inline(always)]
    fn with_header<R: Default>(
        &mut self,
        which: Hooks,
        call: Call<'_>,
        packet: &Packet,
        header: &mut [u8; 16],
        hook: impl FnOnce(&P, &mut Cx<'_, P>, &mut P::Flow, &mut P::Header) -> R,
    ) -> R {
        use spinewise_policy::Kind;
        let mut own = P::Header::get(header);
        let key = matches!(packet.kind, Kind::Data | Kind::Ack).then_some(packet.flow);
        let mut blank = P::Flow::default();
        let answer =
            self.call(which, call, key, |policy, cx, flow| hook(policy, cx, flow.unwrap_or(&mut blank), &mut own));
        put(&own, header);
        answer
    }

    #[inline]
    fn feedback(&mut self, call: Call<'_>, feedback: &Feedback) {
        let losses = matches!(feedback.event, Event::Retransmit | Event::Timeout);
        let which = if losses { Hooks::LOSS } else { Hooks::FEEDBACK };
        self.call(which, call, feedback.flow, |policy, cx, flow| policy.feedback(cx, flow, feedback));
    }

    fn message(&mut self, call: Call<'_>, message: &Message<'_>) {
        self.call(Hooks::MESSAGE, call, message.flow, |policy, cx, flow| policy.message(cx, flow, message));
    }

    fn timer(&mut self, call: Call<'_>, key: Key) -> Fired {
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
        self.call(Hooks::TIMER, call, flow, |policy, cx, flow| policy.timer(cx, flow, key));
        // Only now: a row must not have aged when its own timer finds it.
        if let Some(flow) = flow {
            self.pin(call.seat, flow, false);
        }
        Fired::Done
    }

    fn tick(&mut self, call: Call<'_>) {
        self.call(Hooks::TICK, call, None, |policy, cx, _| policy.tick(cx));
    }

    fn link(&mut self, call: Call<'_>, port: Port, change: spinewise_policy::Change) {
        self.call(Hooks::LINK, call, None, |policy, cx, _| policy.link(cx, port, change));
    }

    fn drained(&mut self, call: Call<'_>, owner: Option<FlowKey>, port: Port, queue: Queue) {
        if self.hooks.has(Hooks::DRAINED) {
            self.call(Hooks::DRAINED, call, owner, |policy, cx, flow| policy.drained(cx, flow, port, queue));
        }
        if let Some(owner) = owner {
            self.pin(call.seat, owner, false);
        }
    }
}

/// Writes a header back, unless the scheme has none.
#[inline]
fn put<H: Wire>(own: &H, header: &mut [u8; 16]) {
    if size_of::<H>() > 0 {
        own.put(header);
    }
}
