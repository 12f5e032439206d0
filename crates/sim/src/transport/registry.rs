//! The list of transports: one line each, and an arm of [`Ends::new`] that says when it is used. `ends.rs` does the rest.

use super::contract::{Answer, Arrival, Asks, Counts, Facts, Grant, Outgoing, Received, Start, Told};
use super::ends::{EndsOf, Expired, Heard, Lane};
use super::mixed::Mixed;
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

impl Ends {
    /// The ends of `flows` flows over several transports, the first of which is the run's. Traffic entries have them by
    /// these places.
    pub fn of_several(transports: &[&TransportSpec], part_of_entry: Vec<u8>, seed: u64, flows: usize) -> Ends {
        let parts = transports.iter().map(|transport| Ends::new(transport, seed, flows, 0)).collect();
        Ends::Mixed(Box::new(Mixed::new(parts, part_of_entry)))
    }

    /// Flows are numbered: these are their traffic entries.
    pub fn number(&mut self, entries: impl Iterator<Item = u8>) {
        if let Ends::Mixed(mixed) = self {
            mixed.number(entries);
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
            /// Of several transports.
            Mixed(Box<Mixed>),
        }

        /// An expression about the [`EndsOf`] of a run, whichever its transport.
        macro_rules! whichever {
            ($of:expr, $ends:ident => $call:expr) => {
                match $of {
                    $(Ends::$variant($ends) => $call,)*
                    Ends::Mixed($ends) => $call,
                }
            };
        }
    };
}
each_transport!(ends);

/// Methods of [`Ends`] that are those of [`EndsOf`], whichever the transport. In brackets: the flow that a call is about, by
/// which [`Mixed`] knows the transport.
macro_rules! forward {
    (&self: $(
        [$flow:expr] $(#[$how:meta])? $name:ident$(<$life:lifetime>)?($($arg:ident: $type:ty),*) $(-> $returns:ty)?;
    )*) => {
        impl Ends {$(
            #[doc = concat!("[`EndsOf::", stringify!($name), "`].")]
            $(#[$how])?
            pub fn $name$(<$life>)?(&self, $($arg: $type),*) $(-> $returns)? {
                whichever!(self, ends => ends.$name($($arg),*))
            }
        )*}

        impl Mixed {$(
            fn $name$(<$life>)?(&self, $($arg: $type),*) $(-> $returns)? {
                self.of($flow).$name($($arg),*)
            }
        )*}
    };
    (&mut self: $(
        [$flow:expr] $(#[$how:meta])? $name:ident$(<$life:lifetime>)?($($arg:ident: $type:ty),*) $(-> $returns:ty)?;
    )*) => {
        impl Ends {$(
            #[doc = concat!("[`EndsOf::", stringify!($name), "`].")]
            $(#[$how])?
            pub fn $name$(<$life>)?(&mut self, $($arg: $type),*) $(-> $returns)? {
                whichever!(self, ends => ends.$name($($arg),*))
            }
        )*}

        impl Mixed {$(
            fn $name$(<$life>)?(&mut self, $($arg: $type),*) $(-> $returns)? {
                self.of_mut($flow).$name($($arg),*)
            }
        )*}
    };
}

forward! { &self:
    [flow] sends(flow: FlowId) -> bool;
    [flow] #[inline(always)] may_send_from(flow: FlowId) -> Option<Time>;
    [flow] paced_from(flow: FlowId) -> Option<Time>;
    [flow] account(flow: FlowId) -> Option<Counts>;
    [sized.0] late<'a>(sized: (FlowId, u64), data: &Arrival, option: impl FnOnce() -> &'a [u8]) -> Received;
    [subflow.as_whole()] welcome(subflow: SubflowId, greeting: &Arrival) -> u16;
    [flow] holds_greetings(flow: FlowId) -> bool;
    [flow] receives(flow: FlowId) -> bool;
    [subflow.as_whole()] #[inline(always)] fetch_receiver(subflow: SubflowId);
    [subflow.as_whole()] #[inline(always)] fetch_sender(subflow: SubflowId);
}

forward! { &mut self:
    [start.flow] start(start: &Start);
    [flow] finish(flow: FlowId);
    [flow] rest(flow: FlowId);
    [flow] #[inline(always)] enqueue(flow: FlowId) -> Option<bool>;
    [flow] #[inline(always)] stays(flow: FlowId) -> Option<bool>;
    [flow] look(flow: FlowId) -> Option<Time>;
    [flow] #[inline(always)] next(now: Time, flow: FlowId, timer: &mut Time) -> Option<Outgoing>;
    [subflow.as_whole()] #[inline(always)] on_answer<'a>(
        now: Time, subflow: SubflowId, answer: &Answer, option: impl FnOnce() -> &'a [u8]
    ) -> Heard;
    [subflow.as_whole()] expire(now: Time, subflow: SubflowId) -> Expired;
    [subflow.as_whole()] is_open(subflow: SubflowId) -> bool;
    [subflow.as_whole()] #[inline(always)] lane(subflow: SubflowId) -> Option<&mut Lane>;
    [sized.0.as_whole()] #[inline(always)] on_data<'a>(
        now: Time, sized: (SubflowId, u64), data: &Arrival, option: impl FnOnce() -> &'a [u8], timer: &mut Time
    ) -> Received;
    [sized.0.as_whole()] on_data_anew<'a>(
        now: Time, sized: (SubflowId, u64), data: &Arrival, option: impl FnOnce() -> &'a [u8]
    ) -> Received;
    [flow] beside(now: Time, flow: FlowId) -> Option<Outgoing>;
    [flow] share(flow: FlowId, waiting: usize);
    [flow] grant(flow: FlowId, asks: Asks) -> Option<Grant>;
    [subflow.as_whole()] delayed(now: Time, subflow: SubflowId) -> (Option<(Answer, Option<Told>)>, Time);
    [sized.0] hold(now: Time, sized: (FlowId, u64), packet: Arrival, ready: &mut Vec<Arrival>, tally: &mut Tally);
    [flow] release(now: Time, flow: FlowId, ready: &mut Vec<Arrival>, tally: &mut Tally) -> bool;
    [flow] release_at(flow: FlowId) -> Time;
}

impl Ends {
    /// [`EndsOf::facts`].
    pub fn facts(&self) -> Facts {
        whichever!(self, ends => ends.facts())
    }

    /// [`EndsOf::paths`].
    pub fn paths(&self) -> usize {
        whichever!(self, ends => ends.paths())
    }
}

#[cfg(test)]
mod tests;
