//! The bank of the schemes: it keeps their rows (`seats.rs`) and calls their hooks (`hooks.rs`).
//!
//! All devices of a site run one scheme, so a bank is an enum of vectors of seats, and the branch is always the same.
//! The enum is generated from the registry; its last variant is for guests, schemes outside the registry (`guest.rs`).
//! Everything else is written once for all schemes.

mod guest;
mod hooks;
mod registry;
mod seats;

pub use crate::packet::Tags;
pub use guest::{Answer, Elsewhere, HEADER_ROOM, Header, Hook, Hosted, Lent, Row};
pub use hooks::Seated;
pub use registry::{Choice, Choose, Chosen, Entry, Given, Misfit, REGISTRY, Source};
pub use seats::{Fired, Places, Seats};

use crate::tape::Tape;
use spinewise_policy::out::Action;
use spinewise_policy::site::{AtHost, AtSwitch, HostView, SwitchView};
use spinewise_policy::{
    Feedback, FlowKey, Hashes, Hooks, Key, Layout, Message, Packet, Peers, Port, Queue, Rng, Sheet, Site, Span, Time,
    Verdict,
};
use std::sync::Arc;

/// Which hooks of a scheme are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Called {
    /// Those it declares.
    AsItSays,
    /// All: calling hooks that it does not have makes no difference, as tests show.
    Always,
}

/// Marks a call that concerns no peer.
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
    /// The current time.
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
    /// The number of actions.
    pub len: usize,
    /// Bodies, by offset.
    pub bytes: Vec<u8>,
}

/// The seats of one scheme, and room for what its hooks request.
pub struct Bank {
    /// The seats.
    pub seating: Seating,
    hooks: Hooks,
    /// Kind of each seat, and layout of each kind.
    kinds: Arc<[u16]>,
    layouts: Arc<[Layout]>,
    asked: Asked,
    /// Where a program is followed: the random numbers that all seats draw.
    pub tape: Option<Box<Tape>>,
}

impl From<Seating> for Bank {
    fn from(seating: Seating) -> Bank {
        let (hooks, kinds, layouts) = seating.facts();
        Bank { seating, hooks, kinds, layouts, asked: Asked::default(), tape: None }
    }
}

macro_rules! bank {
    ($($variant:ident: $policy:ty,)*) => {
        /// The seats of one scheme, by scheme.
        pub enum Seating {
            $(
                #[doc = "Seats of this scheme."]
                $variant(Seats<$policy>),
            )*
            /// Seats of a guest.
            Guest(Box<dyn Seated>),
        }

        /// An expression about the seats of a bank, whichever their scheme. With `registered`, they are no guest's.
        macro_rules! seated {
            (registered $of:expr, $seats:ident => $call:expr) => {
                match $of {
                    $(Seating::$variant($seats) => $call,)*
                    Seating::Guest(_) => unreachable!("guests are asked by Bank::pick_any"),
                }
            };
            ($of:expr, $seats:ident => $call:expr) => {
                match $of {
                    $(Seating::$variant($seats) => $call,)*
                    Seating::Guest($seats) => $call,
                }
            };
        }
    };
}
spinewise_policy::each_scheme!(bank);
use seated;

impl Seating {
    /// The hooks to call, the kind of each seat, and the layout of each kind.
    fn facts(&self) -> (Hooks, Arc<[u16]>, Arc<[Layout]>) {
        seated!(self, seats => seats.facts())
    }
}

impl Bank {
    /// The hooks to call.
    #[inline]
    pub fn hooks(&self) -> Hooks {
        self.hooks
    }

    /// What the scheme declares about itself.
    pub fn sheet(&self) -> &'static Sheet {
        seated!(&self.seating, seats => seats.sheet())
    }

    /// What it sends where a hash of the header says.
    pub fn hashes(&self) -> Hashes {
        seated!(&self.seating, seats => seats.hashes())
    }

    /// The layout of a seat.
    pub fn layout(&self, seat: u32) -> Layout {
        self.layouts[usize::from(self.kinds[seat as usize])]
    }

    /// The peers a seat keeps rows for.
    #[inline]
    pub fn peers(&self, seat: u32) -> Peers {
        self.layouts[usize::from(self.kinds[seat as usize])].peers
    }

    /// Does a host's scheme choose the ways of acknowledgements?
    #[inline]
    pub fn picks_acks(&self, seat: u32) -> bool {
        self.layouts[usize::from(self.kinds[seat as usize])].picks_acks
    }

    /// A seat's random stream for the phase of its ticks.
    pub fn phase(&self, seat: u32, period: Span) -> Span {
        let seed = seated!(&self.seating, seats => seats.seed());
        let name = self.sheet().name;
        let mut rng = Rng::stream(seed ^ spinewise_policy::hash::name(name), "tick phase", u64::from(seat));
        Span(rng.bits() % period.0.max(1))
    }

    /// Gives a seat another stream, and returns its own in exchange.
    #[cold]
    pub fn swap_stream(&mut self, seat: u32, stream: &mut Rng) {
        seated!(&mut self.seating, seats => seats.swap_stream(seat, stream))
    }

    /// Copies another flow's row to a flow's row.
    #[cold]
    pub fn copy_row(&mut self, seat: u32, from: FlowKey, to: FlowKey) {
        seated!(&mut self.seating, seats => seats.copy_row(seat, from, to))
    }

    /// Takes what the last hook call requested.
    pub fn asked(&mut self) -> Asked {
        std::mem::take(&mut self.asked)
    }

    /// Did the last hook call request anything?
    #[inline]
    pub fn has_asked(&self) -> bool {
        self.asked.len > 0
    }

    /// Must the shell use [`Bank::pick_any`] at switches, for a guest or to lend the tape?
    #[inline]
    pub fn is_apart(&self) -> bool {
        self.is_guest() || self.tape.is_some()
    }

    /// Is the scheme a guest, outside the registry?
    #[inline]
    pub fn is_guest(&self) -> bool {
        matches!(self.seating, Seating::Guest(_))
    }

    /// Returns the room for actions.
    pub fn give_back(&mut self, mut room: Asked) {
        room.len = 0;
        self.asked = room;
    }

    /// Lets `run` call hooks of a seat without effect: afterwards its rows, its random stream and its timers
    /// are as before, and what the hooks requested is dropped.
    #[cold]
    pub fn rehearse<R>(&mut self, seat: u32, run: impl FnOnce(&mut Bank) -> R) -> R {
        seated!(&mut self.seating, seats => seats.keep(seat));
        let answer = run(self);
        seated!(&mut self.seating, seats => seats.restore(seat));
        self.asked.len = 0;
        answer
    }

    /// [`Policy::egress`].
    #[inline]
    pub fn egress(&mut self, call: Call<'_>, port: Port, packet: &Packet, header: &mut [u8; 16]) {
        seated!(&mut self.seating, seats => seats.egress(&mut self.asked, call, port, packet, header))
    }

    /// [`Policy::ingress`].
    #[inline]
    pub fn ingress(&mut self, call: Call<'_>, packet: &Packet, header: &mut [u8; 16]) -> Verdict {
        seated!(&mut self.seating, seats => seats.ingress(&mut self.asked, call, packet, header))
    }

    /// [`Policy::feedback`].
    #[inline]
    pub fn feedback(&mut self, call: Call<'_>, feedback: &Feedback) {
        seated!(&mut self.seating, seats => seats.feedback(&mut self.asked, call, feedback))
    }

    /// [`Policy::message`].
    pub fn message(&mut self, call: Call<'_>, message: &Message<'_>) {
        seated!(&mut self.seating, seats => seats.message(&mut self.asked, call, message))
    }

    /// [`Policy::timer`], if `key` is still armed for this instant.
    pub fn timer(&mut self, call: Call<'_>, key: Key) -> Fired {
        seated!(&mut self.seating, seats => seats.timer(&mut self.asked, call, key))
    }

    /// [`Policy::tick`].
    pub fn tick(&mut self, call: Call<'_>) {
        seated!(&mut self.seating, seats => seats.tick(&mut self.asked, call))
    }

    /// [`Policy::link`].
    pub fn link(&mut self, call: Call<'_>, port: Port, change: spinewise_policy::Change) {
        seated!(&mut self.seating, seats => seats.link(&mut self.asked, call, port, change))
    }

    /// [`Policy::drained`]; unpins the flow the queue was held for.
    pub fn drained(&mut self, call: Call<'_>, owner: Option<FlowKey>, port: Port, queue: Queue) {
        seated!(&mut self.seating, seats => seats.drained(&mut self.asked, call, owner, port, queue))
    }

    /// Remembers that a timer is armed; pins the flow. Returns when its event must be planned, if it must.
    pub fn arm(&mut self, seat: u32, key: Key, at: Time) -> Option<Time> {
        seated!(&mut self.seating, seats => seats.arm(seat, key, at))
    }

    /// Forgets an armed timer.
    pub fn cancel(&mut self, seat: u32, key: Key) {
        seated!(&mut self.seating, seats => seats.cancel(seat, key))
    }

    /// Pins a flow's row.
    pub fn pin(&mut self, seat: u32, key: FlowKey) {
        seated!(&mut self.seating, seats => seats.pin(seat, key, true))
    }

    /// Forgets a flow's row.
    pub fn forget(&mut self, seat: u32, key: FlowKey) {
        seated!(&mut self.seating, seats => seats.forget(seat, key))
    }

    /// Resets a peer's rows to their state when it was met.
    pub fn forget_peer(&mut self, seat: u32, peer: u32) {
        seated!(&mut self.seating, seats => seats.forget_peer(seat, peer))
    }

    /// How many rows of flows there are.
    pub fn flow_rows(&self) -> usize {
        seated!(&self.seating, seats => seats.flow_rows())
    }
}
