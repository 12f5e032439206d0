//! Congestion control: how much a flow may have in flight, and how fast it may send.
//!
//! A controller is notified of events of its flow and answers with a window, a rate or both. It knows nothing about
//! losses, retransmissions or packets: that is loss recovery ([`super::tcp`], [`super::tcp::sack`],
//! [`super::rdma::sender`]), which combines with any controller of its family.
//!
//! | event | hook |
//! |---|---|
//! | new data is acknowledged: bytes, round trip, mark | [`Controller::on_ack`] |
//! | the same outside recovery, and the window was full: it may grow by congestion avoidance | [`Controller::grow`] |
//! | the network marked a packet (ECN-Echo, CNP), at most once in a window for windows | [`Controller::on_mark`] |
//! | a loss | [`Controller::on_loss`] |
//! | the retransmission timer expires | [`Controller::on_timeout`] |
//! | the window was cut for whatever reason | [`Controller::restart`] |
//! | the loss was not one | [`Controller::undo`] |
//! | a packet has left: when may the next of the window? | [`Controller::gap`] |
//! | a packet of a queue pair leaves | [`Controller::on_send`] |
//! | an answer echoes the reports of ports on the way (INT) | [`Controller::on_telemetry`] |
//! | a packet was trimmed | [`Controller::on_trim`] |
//!
//! A family is the set of controllers that one transport can use: windows drive TCP, rates drive queue pairs, and
//! windows in bytes on the wire drive the connections of Ultra Ethernet. Each controller is one file with its keys and
//! one line below. For a family the registry generates `Kind` (which one, by name), `Settings` (the parameters of each)
//! and `Control` (the state of the one that runs: an enum in place, so a flow's row holds it and an acknowledgement
//! follows no pointer).

pub(crate) use super::contract::Start;
use crate::keys::{Key, Reader, SpecError};
use crate::telemetry::Hops;
use spinewise_policy::time::{Span, Time};

pub(crate) mod cubic;
pub(crate) mod dcqcn;
pub(crate) mod dctcp;
mod ecn;
mod hpcc;
pub(crate) mod lia;
pub(crate) mod nscc;
mod per_mark;
mod reno;
mod steady;
pub(crate) mod swift;
pub(crate) mod timely;

/// The user documentation of a controller.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Its behaviour.
    pub about: &'static str,
    /// The place of its definition.
    pub source: &'static str,
}

/// The bytes that a flow may have in flight. Loss recovery also writes it while it lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The congestion window.
    pub cwnd: u64,
    /// The slow-start threshold ([`u64::MAX`]: unlimited).
    pub ssthresh: u64,
}

/// An acknowledgement of new data.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// When it arrived.
    pub now: Time,
    /// Bytes acknowledged for the first time.
    pub bytes: u64,
    /// The next byte the receiver expects, and the next byte to be sent.
    pub cumulative: u64,
    /// See `cumulative`.
    pub next: u64,
    /// It echoes a mark.
    pub marked: bool,
    /// Loss recovery is under way, and writes the window.
    pub recovering: bool,
    /// Payload of a full packet.
    pub mss: u64,
    /// Its round-trip time, and the smoothed one (queue pairs smooth nothing). The second is zero if the first is no
    /// sample of an average: the answer to a probe that was faster than data can be.
    pub rtt: Span,
    /// See `rtt`.
    pub srtt: Span,
}

impl Acked {
    /// Bytes in flight.
    #[inline]
    pub fn flight(&self) -> u64 {
        self.next.saturating_sub(self.cumulative)
    }

    /// The same, negative while a sender of Ultra Ethernet corrects its count.
    #[inline]
    pub fn signed_flight(&self) -> i64 {
        self.next.wrapping_sub(self.cumulative) as i64
    }
}

/// A packet of a connection that has lost its payload on the way.
#[derive(Clone, Copy, Debug)]
pub struct Trimmed {
    /// When its NACK arrived.
    pub now: Time,
    /// Its bytes on the wire when it was sent.
    pub bytes: u64,
    /// Bytes in flight, its own included. Negative while the count is being corrected.
    pub flight: i64,
    /// The time from its sending to the NACK.
    pub rtt: Span,
    /// Its receiver paces its senders and the packet lost its payload at the receiver's own port: the senders' windows
    /// need not shrink for that.
    pub excused: bool,
}

/// The handling of marks of the network (ECN).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marks {
    /// Packets are not ECN-capable, so there are none.
    Unheard,
    /// RFC 3168: receivers repeat a mark until the sender reports that it has reduced its window (CWR). What is sent
    /// again is not ECN-capable (§6.1.5).
    Repeated,
    /// RFC 8257 §3.2: receivers report for each packet whether it was marked.
    Counted,
}

/// A congestion control. Hooks have empty defaults.
pub trait Controller: Clone + std::fmt::Debug {
    /// Its parameters.
    type Config;

    /// Whether its packets are spaced ([`Self::gap`]).
    const PACES: bool = false;
    /// Whether ports write telemetry into the headers of its packets. Only queue pairs support this.
    const COLLECTS_TELEMETRY: bool = false;

    /// Creates the state at the start of a flow.
    fn new(config: &Self::Config, start: &Start) -> Self;

    /// Called at the start of a queue pair whose window is bounded for other reasons, given the payload of a full
    /// packet.
    fn open(&mut self, _: &Self::Config, _: &mut Window, _mss: u64) {}

    /// Keys that are incompatible: one of them, and what is allowed.
    fn conflict(_: &Self::Config) -> Option<(&'static str, &'static str)> {
        None
    }

    /// Returns how marks are handled.
    fn marks(_: &Self::Config) -> Marks {
        Marks::Unheard
    }

    /// New data is acknowledged, in recovery or not.
    fn on_ack(&mut self, _: &Self::Config, _: &mut Window, _: &Acked) {}

    /// The same in congestion avoidance, for a window that was used: it may grow.
    fn grow(&mut self, _: &Self::Config, _: &mut Window, _: &Acked) {}

    /// An answer echoes telemetry, for controllers that collect it. It need not acknowledge anything new.
    fn on_telemetry(&mut self, _: &Self::Config, _: &mut Window, _: &Acked, _: Hops<'_>) {}

    /// A mark calls for a smaller window, or a lower rate.
    fn on_mark(&mut self, _: &Self::Config, _: &mut Window, _: Time) {}

    /// A switch has cut the payload off a packet, as the receiver reports.
    fn on_trim(&mut self, _: &Self::Config, _: &mut Window, _: &Trimmed) {}

    /// A loss, with `flight` bytes in flight: the new slow-start threshold (RFC 5681 eq. 4).
    fn on_loss(&mut self, _: &Self::Config, _: &Window, flight: u64, _: Time) -> u64 {
        flight / 2
    }

    /// The retransmission timer has expired for the `in_a_row`-th time since data was last acknowledged. The first of
    /// these is also a loss, which has already been reported.
    fn on_timeout(&mut self, _: &Self::Config, _in_a_row: u32, _: Time) {}

    /// The window has been cut, for a mark or a loss: counts towards its growth are void.
    fn restart(&mut self) {}

    /// The last loss turned out not to be one: restores the state `before` (RFC 4015).
    fn undo(&mut self, _before: &Self) {}

    /// The window grows as one of `window` bytes would, if that is larger (RFC 6356).
    fn couple(&mut self, _window: u64) {}

    /// The average queueing delay, for controllers that keep one.
    fn delay(&self) -> Option<Span> {
        None
    }

    /// The least time between two packets of a window; used only for controllers that pace.
    fn gap(&self, _: &Self::Config) -> Span {
        Span::ZERO
    }

    /// A packet of `wire` bytes of a queue pair leaves at `now`. Returns the rate that paces it, bits per second.
    fn on_send(&mut self, _: &Self::Config, _now: Time, _wire: u32) -> u64 {
        u64::MAX
    }
}

/// Generates the types of a family from its controllers: `name in specs: Variant(type) = user documentation;`.
macro_rules! controllers {
    ($(#[$meta:meta])* $family:ident { $( $name:ident: $variant:ident($type:ty) = $about:expr; )+ }) => {
        $(#[$meta])*
        pub(crate) mod $family {
            use super::*;

            /// A controller of this family.
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            #[allow(missing_docs)] // `Kind::about` documents it.
            pub enum Kind { $($variant),+ }

            impl Kind {
                /// All of them, in the order of the registry.
                pub const ALL: &'static [Kind] = &[$(Kind::$variant),+];
                /// Their names.
                pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),+];

                /// The name in specs.
                pub const fn name(self) -> &'static str {
                    Self::NAMES[self as usize]
                }

                /// Its user documentation.
                pub const fn about(self) -> &'static About {
                    match self { $( Kind::$variant => $about, )+ }
                }

                /// [`Controller::PACES`].
                pub const fn paces(self) -> bool {
                    match self { $( Kind::$variant => <$type as Controller>::PACES, )+ }
                }

                /// [`Controller::COLLECTS_TELEMETRY`].
                pub const fn collects_telemetry(self) -> bool {
                    match self { $( Kind::$variant => <$type as Controller>::COLLECTS_TELEMETRY, )+ }
                }

                /// Its own keys.
                pub(crate) const fn keys(self) -> &'static [Key] {
                    match self { $( Kind::$variant => <<$type as Controller>::Config>::KEYS, )+ }
                }
            }

            impl crate::keys::Field for Kind {
                fn from_plain(plain: Option<crate::keys::Plain>) -> Option<Self> {
                    let Some(crate::keys::Plain::Text(word)) = plain else { return None };
                    Kind::ALL.iter().copied().find(|kind| kind.name() == word)
                }

                fn plain(&self, _: crate::keys::Kind) -> Option<crate::keys::Plain> {
                    Some(crate::keys::Plain::Text(self.name().into()))
                }
            }

            /// The parameters of each controller.
            #[derive(Clone, Debug, PartialEq)]
            #[allow(missing_docs)]
            pub struct Settings { $( pub $name: <$type as Controller>::Config, )+ }

            impl Default for Settings {
                fn default() -> Self {
                    Settings { $( $name: <<$type as Controller>::Config>::defaults(), )+ }
                }
            }

            impl Settings {
                /// Returns how `kind` handles marks.
                #[inline(always)]
                pub fn marks(&self, kind: Kind) -> Marks {
                    match kind { $( Kind::$variant => <$type as Controller>::marks(&self.$name), )+ }
                }

                /// Reads the keys of `kind`; the others stay as they are.
                pub(crate) fn read(&mut self, kind: Kind, reader: &mut Reader<'_>) -> Result<(), SpecError> {
                    match kind { $( Kind::$variant => self.$name = <<$type as Controller>::Config>::read(reader)?, )+ }
                    let conflict = match kind { $( Kind::$variant => <$type as Controller>::conflict(&self.$name), )+ };
                    conflict.map_or(Ok(()), |(key, allowed)| Err(reader.refuse(key, allowed)))
                }

                /// The values of the keys of `kind`.
                pub(crate) fn values(&self, kind: Kind) -> serde_json::Map<String, serde_json::Value> {
                    match kind { $( Kind::$variant => self.$name.values(), )+ }
                }
            }

            /// The controller of a flow.
            #[derive(Clone, Debug)]
            #[allow(missing_docs)]
            pub(crate) enum Control { $( $variant($type), )+ }

            #[allow(dead_code)] // A family need not use every hook.
            impl Control {
                /// A controller of `kind`.
                pub(crate) fn new(kind: Kind, settings: &Settings, start: &Start) -> Self {
                    match kind { $( Kind::$variant => Control::$variant(<$type>::new(&settings.$name, start)), )+ }
                }

                /// See [`Controller::on_ack`].
                #[inline(always)]
                pub(crate) fn on_ack(&mut self, settings: &Settings, window: &mut Window, ack: &Acked) {
                    match self { $( Control::$variant(control) => control.on_ack(&settings.$name, window, ack), )+ }
                }

                /// See [`Controller::open`].
                pub(crate) fn open(&mut self, settings: &Settings, window: &mut Window, mss: u64) {
                    match self { $( Control::$variant(control) => control.open(&settings.$name, window, mss), )+ }
                }

                /// See [`Controller::on_telemetry`].
                pub(crate) fn on_telemetry(&mut self, settings: &Settings, window: &mut Window, ack: &Acked, hops: Hops<'_>) {
                    match self {
                        $( Control::$variant(control) => control.on_telemetry(&settings.$name, window, ack, hops), )+
                    }
                }

                /// See [`Controller::grow`].
                #[inline(always)]
                pub(crate) fn grow(&mut self, settings: &Settings, window: &mut Window, ack: &Acked) {
                    match self { $( Control::$variant(control) => control.grow(&settings.$name, window, ack), )+ }
                }

                /// See [`Controller::on_mark`].
                pub(crate) fn on_mark(&mut self, settings: &Settings, window: &mut Window, now: Time) {
                    match self { $( Control::$variant(control) => control.on_mark(&settings.$name, window, now), )+ }
                }

                /// See [`Controller::on_loss`].
                pub(crate) fn on_loss(&mut self, settings: &Settings, window: &Window, flight: u64, now: Time) -> u64 {
                    match self { $( Control::$variant(control) => control.on_loss(&settings.$name, window, flight, now), )+ }
                }

                /// See [`Controller::on_trim`].
                pub(crate) fn on_trim(&mut self, settings: &Settings, window: &mut Window, trimmed: &Trimmed) {
                    match self { $( Control::$variant(control) => control.on_trim(&settings.$name, window, trimmed), )+ }
                }

                /// See [`Controller::on_timeout`].
                pub(crate) fn on_timeout(&mut self, settings: &Settings, in_a_row: u32, now: Time) {
                    match self { $( Control::$variant(control) => control.on_timeout(&settings.$name, in_a_row, now), )+ }
                }

                /// See [`Controller::restart`].
                pub(crate) fn restart(&mut self) {
                    match self { $( Control::$variant(control) => control.restart(), )+ }
                }

                /// See [`Controller::undo`].
                pub(crate) fn undo(&mut self, before: &Control) {
                    match self {
                        $( Control::$variant(control) => {
                            if let Control::$variant(before) = before {
                                control.undo(before);
                            }
                        } )+
                    }
                }

                /// See [`Controller::couple`].
                pub(crate) fn couple(&mut self, window: u64) {
                    match self { $( Control::$variant(control) => control.couple(window), )+ }
                }

                /// See [`Controller::delay`].
                pub(crate) fn delay(&self) -> Option<Span> {
                    match self { $( Control::$variant(control) => control.delay(), )+ }
                }

                /// See [`Controller::gap`].
                pub(crate) fn gap(&self, settings: &Settings) -> Span {
                    match self { $( Control::$variant(control) => control.gap(&settings.$name), )+ }
                }

                /// See [`Controller::on_send`].
                #[inline(always)]
                pub(crate) fn on_send(&mut self, settings: &Settings, now: Time, wire: u32) -> u64 {
                    match self { $( Control::$variant(control) => control.on_send(&settings.$name, now, wire), )+ }
                }
            }
        }
    };
}

controllers! {
    /// Windows: the congestion controls of TCP. `[transport] kind` names them.
    window {
        dctcp: Dctcp(dctcp::Dctcp) = &dctcp::ABOUT;
        newreno: NewReno(reno::Reno) = &reno::NEWRENO;
        reno: Reno(reno::Reno) = &reno::RENO;
        ecn: Ecn(ecn::Ecn) = &ecn::ABOUT;
        mptcp: Mptcp(lia::Lia) = &lia::ABOUT;
        cubic: Cubic(cubic::Cubic) = &cubic::ABOUT;
        swift: Swift(swift::Swift) = &swift::ABOUT;
    }
}

controllers! {
    /// Rates: the congestion controls of queue pairs. `[transport] congestion_control` names them.
    rate {
        dcqcn: Dcqcn(dcqcn::Dcqcn) = &dcqcn::ABOUT;
        timely: Timely(timely::Timely) = &timely::ABOUT;
        hpcc: Hpcc(hpcc::Hpcc) = &hpcc::ABOUT;
    }
}

controllers! {
    /// Windows in bytes on the wire: the congestion controls of Ultra Ethernet's connections. `[transport]
    /// congestion_control` names them.
    delivery {
        nscc: Nscc(nscc::Nscc) = &nscc::ABOUT;
        dctcp_per_mark: DctcpPerMark(per_mark::PerMark<3>) = &per_mark::THIRD;
        mprdma: MpRdma(per_mark::PerMark<4>) = &per_mark::QUARTER;
        constant: Constant(steady::Constant) = &steady::CONSTANT;
        none: None(steady::Unbounded) = &steady::NONE;
    }
}

crate::keys::keys! {
    /// The parameters of a controller without any.
    #[derive(PartialEq)]
    NoKeys {}
}
