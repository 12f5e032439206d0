//! Schemes whose hooks run elsewhere, such as in Python: one [`Policy`] stands for all of them. It passes each hook to
//! a trait object with what the contract lends, and its rows are handles to what that object keeps.

use super::{Bank, Called, Lend, Places, Room, Seating, Seats};
use spinewise_policy::{
    Change, Cx, Feedback, Hooks, Key, Layout, Message, Packet, Policy, Port, Queue, Shape, Sheet, Site, Verdict, Way,
    Wire,
};
use std::any::Any;
use std::sync::Arc;

/// The content of a row: anything, or nothing yet. It is dropped with the row.
#[derive(Clone, Default)]
pub struct Row(pub Option<Arc<dyn Any + Send + Sync>>);

/// Bytes of an in-band header that the scheme may fill; the last of the 16 holds their number.
pub const HEADER_ROOM: usize = 15;

/// The in-band header: up to [`HEADER_ROOM`] bytes.
#[derive(Clone, Copy, Default)]
pub struct Header {
    raw: [u8; 16],
    /// Whether the scheme declares that it writes one.
    own: bool,
}

impl Header {
    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.raw[..usize::from(self.raw[HEADER_ROOM]).min(HEADER_ROOM)]
    }

    /// Replaces the header, if there is room.
    pub fn set(&mut self, bytes: &[u8]) -> bool {
        let fits = bytes.len() <= HEADER_ROOM;
        if fits {
            self.raw = [0; 16];
            self.raw[..bytes.len()].copy_from_slice(bytes);
            self.raw[HEADER_ROOM] = bytes.len() as u8;
        }
        fits
    }
}

impl Wire for Header {
    fn get(bytes: &[u8; 16]) -> Self {
        Header { raw: *bytes, own: false }
    }
    fn put(&self, bytes: &mut [u8; 16]) {
        *bytes = self.raw;
    }
    fn wire(&self) -> u32 {
        if self.own { self.bytes().len() as u32 } else { 0 }
    }
}

/// Which hook is called, and about what.
#[derive(Clone, Copy, Debug)]
pub enum Hook<'a> {
    /// [`Policy::pick`].
    Pick(&'a Packet),
    /// [`Policy::egress`].
    Egress(Port, &'a Packet),
    /// [`Policy::ingress`].
    Ingress(&'a Packet),
    /// [`Policy::feedback`].
    Feedback(&'a Feedback),
    /// [`Policy::message`].
    Message(&'a Message<'a>),
    /// [`Policy::timer`].
    Timer(Key),
    /// [`Policy::tick`].
    Tick,
    /// [`Policy::link`].
    Link(Port, Change),
    /// [`Policy::drained`].
    Drained(Port, Queue),
}

impl<'a> Hook<'a> {
    /// The packet in hand, if there is one.
    pub fn packet(&self) -> Option<&'a Packet> {
        match self {
            Hook::Pick(packet) | Hook::Egress(_, packet) | Hook::Ingress(packet) => Some(packet),
            _ => None,
        }
    }
}

/// What a hook is lent.
pub struct Lent<'c, 'a> {
    /// Which hook.
    pub hook: Hook<'c>,
    /// What every hook is lent.
    pub cx: &'c mut Cx<'a, Hosted>,
    /// The row of the flow it is about, if any.
    pub flow: Option<&'c mut Row>,
    /// The header of the packet in hand.
    pub header: Option<&'c mut Header>,
}

/// What a hook answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing.
    Nothing,
    /// To [`Policy::pick`].
    Way(Way),
    /// To [`Policy::ingress`].
    Verdict(Verdict),
}

/// The other end, which runs the hooks.
pub trait Elsewhere: Send + Sync {
    /// The hooks it has.
    fn hooks(&self) -> Hooks;
    /// Does it write the in-band header?
    fn writes_header(&self) -> bool;
    /// What a seat needs.
    fn layout(&self, shape: &Shape) -> Layout;
    /// Runs a hook that the scheme has.
    fn call(&self, lent: Lent<'_, '_>) -> Answer;
}

/// The scheme that stands for one elsewhere.
pub struct Hosted(Arc<dyn Elsewhere>);

impl Hosted {
    /// Seats of such a scheme.
    pub fn seat(
        elsewhere: Arc<dyn Elsewhere>,
        sheet: &'static Sheet,
        places: &Places,
        seed: u64,
        called: Called,
    ) -> Bank {
        Seating::Guest(Box::new(Seats::new(Hosted(elsewhere), sheet, places, seed, called))).into()
    }

    fn tell(&self, which: Hooks, cx: &mut Cx<'_, Self>, flow: Option<&mut Row>, hook: Hook<'_>) {
        if self.0.hooks().has(which) {
            self.0.call(Lent { hook, cx, flow, header: None });
        }
    }
}

/// A host or a switch.
pub enum Anywhere {}

impl Site for Anywhere {
    type View<'a> = Room<'a>;
    const NAME: &'static str = "host or switch";
}

impl Lend for Anywhere {
    fn view<'a>(room: Room<'a>) -> Room<'a> {
        room
    }
}

spinewise_policy::params! {
    /// None: they are the scheme's own.
    NoConfig {}
}

impl Policy for Hosted {
    // The scheme's own sheet is given with its seats.
    const SHEET: Sheet = Sheet::AT_SWITCH;
    type Site = Anywhere;
    type Config = NoConfig;
    spinewise_policy::rows! { flow: Row, peer: Row, route: Row, port: Row, node: Row, header: Header }

    fn new(_: &NoConfig) -> Self {
        unreachable!("made by Hosted::seat")
    }

    fn hooks(&self) -> Hooks {
        self.0.hooks()
    }

    fn layout(&self, shape: &Shape) -> Layout {
        self.0.layout(shape)
    }

    #[inline(never)]
    fn pick(&self, cx: &mut Cx<'_, Self>, flow: &mut Row, packet: &Packet, header: &mut Header) -> Way {
        header.own = self.0.writes_header();
        // A switch must choose, whatever happens to a run in which one did not.
        let otherwise = if matches!(cx.view, Room::Host(_)) { Way::ANY } else { Way(0) };
        let lent = Lent { hook: Hook::Pick(packet), cx, flow: Some(flow), header: Some(header) };
        if let Answer::Way(way) = self.0.call(lent) { way } else { otherwise }
    }

    fn egress(&self, cx: &mut Cx<'_, Self>, port: Port, packet: &Packet, header: &mut Header) {
        if self.0.hooks().has(Hooks::EGRESS) {
            self.0.call(Lent { hook: Hook::Egress(port, packet), cx, flow: None, header: Some(header) });
        }
    }

    fn ingress(&self, cx: &mut Cx<'_, Self>, flow: &mut Row, packet: &Packet, header: &mut Header) -> Verdict {
        if !self.0.hooks().has(Hooks::INGRESS) {
            return Verdict::Forward;
        }
        let lent = Lent { hook: Hook::Ingress(packet), cx, flow: Some(flow), header: Some(header) };
        if let Answer::Verdict(verdict) = self.0.call(lent) { verdict } else { Verdict::Forward }
    }

    fn feedback(&self, cx: &mut Cx<'_, Self>, flow: Option<&mut Row>, feedback: &Feedback) {
        let which = if feedback.event.is_loss() { Hooks::LOSS } else { Hooks::FEEDBACK };
        self.tell(which, cx, flow, Hook::Feedback(feedback));
    }

    fn message(&self, cx: &mut Cx<'_, Self>, flow: Option<&mut Row>, message: &Message<'_>) {
        self.tell(Hooks::MESSAGE, cx, flow, Hook::Message(message));
    }

    fn timer(&self, cx: &mut Cx<'_, Self>, flow: Option<&mut Row>, key: Key) {
        self.tell(Hooks::TIMER, cx, flow, Hook::Timer(key));
    }

    fn tick(&self, cx: &mut Cx<'_, Self>) {
        self.tell(Hooks::TICK, cx, None, Hook::Tick);
    }

    fn link(&self, cx: &mut Cx<'_, Self>, port: Port, change: Change) {
        self.tell(Hooks::LINK, cx, None, Hook::Link(port, change));
    }

    fn drained(&self, cx: &mut Cx<'_, Self>, flow: Option<&mut Row>, port: Port, queue: Queue) {
        self.tell(Hooks::DRAINED, cx, flow, Hook::Drained(port, queue));
    }
}
