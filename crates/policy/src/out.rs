//! The actions a hook requests: a list that the shell carries out when the hook has returned.

use crate::sees::{Listed, Series};
use crate::time::{Span, Time};
use crate::{FlowKey, Port, Queue, Way};

/// The recipients of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// A host.
    Host(u32),
    /// A leaf switch.
    Leaf(u32),
    /// Every other host of this rack (from a leaf: every host of it).
    Rack,
    /// Every neighbouring switch except the one behind `except` (switches only).
    Neighbours {
        /// The port not to flood to.
        except: Option<Port>,
    },
    /// The switch behind this port, over that link; no one if a host is there or the link is down (switches only).
    Port(Port),
}

/// The key of a timer: per flow, per (peer, way), or of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// A timer of a flow; pins its row.
    Flow(FlowKey, u8),
    /// A timer of a way to a peer, by the peer's id.
    Route(u32, Way, u8),
    /// A timer of this device.
    Node(u8),
}

/// One action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// Send a message.
    Send {
        /// The recipients.
        to: To,
        /// The scheme's message class.
        class: u8,
        /// The flow it names.
        flow: Option<FlowKey>,
        /// The way it should take.
        way: Way,
        /// Where its body starts in the space for message bodies.
        at: u32,
        /// Length of its body.
        len: u32,
        /// Bytes on the wire.
        wire: u32,
    },
    /// Send a probe.
    Probe {
        /// The recipient: one device.
        to: To,
        /// The way to send it on.
        way: Way,
        /// Bytes on the wire.
        wire: u32,
        /// 0: the device it is sent to answers; n: the n-th switch does.
        ttl: u8,
        /// Counts as lost if there is no answer within this time.
        give_up: Span,
    },
    /// Arm a timer.
    Arm {
        /// Which.
        key: Key,
        /// When.
        at: Time,
    },
    /// Cancel a timer.
    Cancel {
        /// Which.
        key: Key,
    },
    /// Release a held queue.
    Release {
        /// The port it is at.
        port: Port,
        /// This queue.
        queue: Queue,
    },
    /// Hide the mark of the packet in hand from the transport.
    MaskEcn,
    /// Drop the packet in hand.
    Discard,
    /// A point of one of the scheme's own series.
    Record {
        /// Index into [`Sheet::series`](crate::Sheet::series).
        series: u16,
        /// Value.
        value: f64,
    },
}

/// Space for actions and message bodies; the shell lends it, sized by `Layout`.
pub struct Out<'a> {
    actions: &'a mut [Action],
    len: usize,
    bytes: &'a mut [u8],
    used: usize,
}

impl<'a> Out<'a> {
    /// Uses lent storage.
    pub fn new(actions: &'a mut [Action], bytes: &'a mut [u8]) -> Self {
        Out { actions, len: 0, bytes, used: 0 }
    }

    /// Number of actions requested.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no actions were requested.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns how many more actions and bytes of message bodies there is room for.
    pub fn room(&self) -> (usize, usize) {
        (self.actions.len() - self.len, self.bytes.len() - self.used)
    }

    fn push(&mut self, action: Action) {
        assert!(self.len < self.actions.len(), "more actions in one hook call than Layout::actions allows");
        self.actions[self.len] = action;
        self.len += 1;
    }

    /// Sends a message of `class` with this body as a packet of `wire` bytes in total.
    pub fn send(&mut self, to: To, class: u8, flow: Option<FlowKey>, way: Way, body: &[u8], wire: u32) {
        let (at, end) = (self.used, self.used + body.len());
        assert!(end <= self.bytes.len(), "more message bytes in one hook call than Layout::bytes allows");
        self.bytes[at..end].copy_from_slice(body);
        self.used = end;
        self.push(Action::Send { to, class, flow, way, at: at as u32, len: body.len() as u32, wire });
    }

    /// Sends a probe of `wire` bytes to a host or a leaf on `way`; the answer, or its absence, comes back as feedback,
    /// with the rows of that host or, if rows are kept for leaves, of its leaf.
    pub fn probe(&mut self, to: To, way: Way, wire: u32, ttl: u8, give_up: Span) {
        assert!(matches!(to, To::Host(_) | To::Leaf(_)), "a probe goes to one device");
        self.push(Action::Probe { to, way, wire, ttl, give_up });
    }

    /// Arms a timer, or moves it if it is armed.
    pub fn arm(&mut self, key: Key, at: Time) {
        self.push(Action::Arm { key, at });
    }

    /// Cancels a timer if it is armed.
    pub fn cancel(&mut self, key: Key) {
        self.push(Action::Cancel { key });
    }

    /// Releases a held queue: it resumes when everything now in the port's default queue, including the packet in hand,
    /// has left, and it goes ahead of whatever arrives later.
    pub fn release(&mut self, port: Port, queue: Queue) {
        self.push(Action::Release { port, queue });
    }

    /// Hides the mark of the packet in hand from the transport: on data, CE from the receiver; on an acknowledgement,
    /// the echo of marks from the sender. Works only at [`ingress`](crate::Policy::ingress) of hosts.
    pub fn mask_ecn(&mut self) {
        self.push(Action::MaskEcn);
    }

    /// Drops the packet in hand, as if its port were full. Works only at [`egress`](crate::Policy::egress), where a
    /// queue can be managed.
    pub fn discard(&mut self) {
        self.push(Action::Discard);
    }

    /// Adds a point to a series of the scheme.
    pub fn record(&mut self, series: impl Listed<Item = Series>, value: f64) {
        self.record_at(series.place() as u16, value);
    }

    /// Adds a point to the series at this place of [`Sheet::series`](crate::Sheet::series).
    pub fn record_at(&mut self, series: u16, value: f64) {
        self.push(Action::Record { series, value });
    }
}
