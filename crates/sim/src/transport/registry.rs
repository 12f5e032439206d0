//! The list of transports: one line each, and an arm of [`Ends::new`] that says when it is used. `ends.rs` does the rest.

use super::contract::{Answer, Arrival, Asks, Counts, Facts, Grant, Outgoing, Received, Start, Told};
use super::ends::{EndsOf, Expired, Heard, Lane};
use super::mptcp::Multipath;
use super::one_path::{PacedPlain, PacedSelective, Plain, Selective};
use super::rdma::{QueuePair, SplitQueuePairs};
use super::resequencer::Tally;
use super::tcp::TcpSender;
use super::tcp::sack::SackSender;
use super::uet::Connection;
use super::{TcpConfig, TransportSpec};
use crate::ids::{FlowId, SubflowId};
use spinewise_policy::{Time, hash};

macro_rules! each_transport {
    ($callback:ident) => {
        $callback! {
            Plain: Plain,
            Selective: Selective,
            PacedPlain: PacedPlain,
            PacedSelective: PacedSelective,
            QueuePair: QueuePair,
            SplitQueuePairs: SplitQueuePairs,
            Connection: Connection,
            Multipath: Multipath<TcpSender>,
            SelectiveMultipath: Multipath<SackSender>,
        }
    };
}

impl Ends {
    /// The ends of `flows` flows over the transport of a spec, with `paths` further numbers each; `seed` is the run's.
    pub fn new(transport: &TransportSpec, seed: u64, flows: usize, paths: usize) -> Ends {
        match transport {
            TransportSpec::Tcp(config) => {
                let config = TcpConfig { dice: hash::mix2(seed, hash::name("ticks")), ..config.clone() };
                match (config.mptcp(), config.recovery.has_sack(), config.paces()) {
                    (false, false, false) => Ends::Plain(EndsOf::new(config, flows, paths)),
                    (false, true, false) => Ends::Selective(EndsOf::new(config, flows, paths)),
                    (false, false, true) => Ends::PacedPlain(EndsOf::new(config, flows, paths)),
                    (false, true, true) => Ends::PacedSelective(EndsOf::new(config, flows, paths)),
                    (true, false, _) => Ends::Multipath(EndsOf::new(config, flows, paths)),
                    (true, true, _) => Ends::SelectiveMultipath(EndsOf::new(config, flows, paths)),
                }
            }
            TransportSpec::Rdma(config) if config.split_over() > 0 => {
                Ends::SplitQueuePairs(EndsOf::new(config.clone(), flows, paths))
            }
            TransportSpec::Rdma(config) => Ends::QueuePair(EndsOf::new(config.clone(), flows, paths)),
            TransportSpec::Uet(config) => Ends::Connection(EndsOf::new(config.clone(), flows, paths)),
        }
    }
}

macro_rules! ends {
    ($($variant:ident: $transport:ty,)*) => {
        /// The ends of all flows of a run other than UDP, by transport. See [`EndsOf`] for what each method does.
        #[derive(Debug)]
        pub enum Ends {
            $(
                #[doc = "Of this transport."]
                $variant(EndsOf<$transport>),
            )*
        }

        /// An expression about the [`EndsOf`] of a run, whichever its transport.
        macro_rules! whichever {
            ($of:expr, $ends:ident => $call:expr) => {
                match $of { $(Ends::$variant($ends) => $call,)* }
            };
        }
    };
}
each_transport!(ends);

/// Methods of [`Ends`] that are those of [`EndsOf`], whichever the transport.
macro_rules! forward {
    (&self: $($(#[$how:meta])? $name:ident$(<$life:lifetime>)?($($arg:ident: $type:ty),*) $(-> $returns:ty)?;)*) => {$(
        #[doc = concat!("[`EndsOf::", stringify!($name), "`].")]
        $(#[$how])?
        pub fn $name$(<$life>)?(&self, $($arg: $type),*) $(-> $returns)? {
            whichever!(self, ends => ends.$name($($arg),*))
        }
    )*};
    (&mut self: $($(#[$how:meta])? $name:ident$(<$life:lifetime>)?($($arg:ident: $type:ty),*) $(-> $returns:ty)?;)*) => {$(
        #[doc = concat!("[`EndsOf::", stringify!($name), "`].")]
        $(#[$how])?
        pub fn $name$(<$life>)?(&mut self, $($arg: $type),*) $(-> $returns)? {
            whichever!(self, ends => ends.$name($($arg),*))
        }
    )*};
}

impl Ends {
    forward! { &self:
        facts() -> Facts;
        paths() -> usize;
        sends(flow: FlowId) -> bool;
        #[inline(always)] may_send_from(flow: FlowId) -> Option<Time>;
        paced_from(flow: FlowId) -> Option<Time>;
        account(flow: FlowId) -> Option<Counts>;
        late<'a>(size: u64, data: &Arrival, option: impl FnOnce() -> &'a [u8]) -> Received;
        welcome(subflow: SubflowId, greeting: &Arrival) -> u16;
        holds_greetings() -> bool;
        receives(flow: FlowId) -> bool;
        #[inline(always)] fetch_receiver(subflow: SubflowId);
        #[inline(always)] fetch_sender(subflow: SubflowId);
    }

    forward! { &mut self:
        start(start: &Start);
        finish(flow: FlowId);
        rest(flow: FlowId);
        #[inline(always)] enqueue(flow: FlowId) -> Option<bool>;
        #[inline(always)] stays(flow: FlowId) -> Option<bool>;
        look(flow: FlowId) -> Option<Time>;
        #[inline(always)] next(now: Time, flow: FlowId, timer: &mut Time) -> Option<Outgoing>;
        #[inline(always)] on_answer<'a>(
            now: Time, subflow: SubflowId, answer: &Answer, option: impl FnOnce() -> &'a [u8]
        ) -> Heard;
        expire(now: Time, subflow: SubflowId) -> Expired;
        is_open(subflow: SubflowId) -> bool;
        #[inline(always)] lane(subflow: SubflowId) -> Option<&mut Lane>;
        #[inline(always)] on_data<'a>(
            now: Time, sized: (SubflowId, u64), data: &Arrival, option: impl FnOnce() -> &'a [u8], timer: &mut Time
        ) -> Received;
        on_data_anew<'a>(
            now: Time, sized: (SubflowId, u64), data: &Arrival, option: impl FnOnce() -> &'a [u8]
        ) -> Received;
        beside(now: Time, flow: FlowId) -> Option<Outgoing>;
        share(flow: FlowId, waiting: usize);
        grant(flow: FlowId, asks: Asks) -> Option<Grant>;
        delayed(now: Time, subflow: SubflowId) -> (Option<(Answer, Option<Told>)>, Time);
        hold(now: Time, sized: (FlowId, u64), packet: Arrival, ready: &mut Vec<Arrival>, tally: &mut Tally);
        release(now: Time, flow: FlowId, ready: &mut Vec<Arrival>, tally: &mut Tally) -> bool;
        release_at(flow: FlowId) -> Time;
    }
}

#[cfg(test)]
mod tests;
