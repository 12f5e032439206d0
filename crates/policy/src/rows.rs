//! Storage of a scheme: rows, which the shell lends to its hooks, and the header of its packets.

/// A scheme's in-band header: at most 16 bytes, carried in the packet.
pub trait Wire: Copy + Default {
    /// Decodes; bytes come from the wire and must not be trusted.
    fn get(bytes: &[u8; 16]) -> Self;
    /// Encodes.
    fn put(&self, bytes: &mut [u8; 16]);
    /// Bytes it takes on the wire.
    fn wire(&self) -> u32;
}

impl Wire for () {
    #[inline]
    fn get(_: &[u8; 16]) -> Self {}
    #[inline]
    fn put(&self, _: &mut [u8; 16]) {}
    #[inline]
    fn wire(&self) -> u32 {
        0
    }
}

/// The rows of the peers this seat has met, and of the ways to each.
pub struct Table<'a, P, R> {
    /// Ids of the peers met, in the order of meeting.
    pub ids: &'a [u32],
    /// One row per peer met.
    pub peers: &'a mut [P],
    /// `stride` rows per peer met.
    pub routes: &'a mut [R],
    /// Ways per peer in `routes`.
    pub stride: usize,
    /// Index of the peer this call is about, or [`NOBODY`] in a call about none: `tick`, `link`, a timer of the device.
    pub current: usize,
}

/// The index of no peer.
pub const NOBODY: usize = usize::MAX;

impl<P, R> Table<'_, P, R> {
    /// Number of peers this seat has met.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether it has met no peer yet.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The rows of the `index`-th peer met.
    #[inline]
    pub fn at(&mut self, index: usize) -> (&mut P, &mut [R]) {
        let from = index * self.stride;
        (&mut self.peers[index], &mut self.routes[from..from + self.stride])
    }

    /// The rows of the peer this call is about: where the packet goes (`pick`) or comes from (`ingress`, `message`),
    /// or the far end of the flow or probe (`feedback`).
    ///
    /// # Panics
    /// In a call about no peer.
    #[inline]
    pub fn current(&mut self) -> (&mut P, &mut [R]) {
        self.at(self.current)
    }

    /// The position of peer `id`, if met.
    pub fn position(&self, id: u32) -> Option<usize> {
        self.ids.iter().position(|&met| met == id)
    }
}

/// Declares, in an `impl` of [`Policy`](crate::Policy), the rows that a scheme is lent and its in-band header; any that
/// is not named is `()` and costs nothing:
///
/// ```
/// # use spinewise_policy::*;
/// # struct Counting;
/// # spinewise_policy::params! { /// None.
/// Config {} }
/// impl Policy for Counting {
///     const SHEET: Sheet = Sheet::AT_SWITCH;
///     type Site = AtSwitch;
///     type Config = Config;
///     spinewise_policy::rows! { flow: u32, node: u64 }
/// #   fn new(_: &Config) -> Self { Counting }
/// #   fn pick(&self, cx: &mut Cx<'_, Self>, flow: &mut u32, _: &Packet, _: &mut ()) -> Way { *flow += 1; Way(0) }
/// }
/// ```
///
/// There are `flow` (per flow and direction), `peer`, `route` (per peer and way), `port`, `node` (per device) and
/// `header`, in this order.
#[macro_export]
macro_rules! rows {
    ($(flow: $flow:ty,)? $(peer: $peer:ty,)? $(route: $route:ty,)? $(port: $port:ty,)? $(node: $node:ty,)?
     $(header: $header:ty,)?) => {
        type Flow = $crate::row!($($flow)?);
        type Peer = $crate::row!($($peer)?);
        type Route = $crate::row!($($route)?);
        type Port = $crate::row!($($port)?);
        type Node = $crate::row!($($node)?);
        type Header = $crate::row!($($header)?);
    };
    ($($row:ident: $type:ty),+) => {
        $crate::rows! { $($row: $type,)+ }
    };
}

/// The type of a row that may not be named.
#[doc(hidden)]
#[macro_export]
macro_rules! row {
    () => {
        ()
    };
    ($type:ty) => {
        $type
    };
}
