//! The list of transports. One line here is all it takes to add a transport; `ends.rs` does the rest.

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

        impl Ends {
            /// [`EndsOf::facts`].
            pub fn facts(&self) -> Facts {
                match self { $(Ends::$variant(ends) => ends.facts(),)* }
            }

            /// [`EndsOf::paths`].
            pub fn paths(&self) -> usize {
                match self { $(Ends::$variant(ends) => ends.paths(),)* }
            }

            /// [`EndsOf::start`].
            pub fn start(&mut self, start: &Start) {
                match self { $(Ends::$variant(ends) => ends.start(start),)* }
            }

            /// [`EndsOf::finish`].
            pub fn finish(&mut self, flow: FlowId) {
                match self { $(Ends::$variant(ends) => ends.finish(flow),)* }
            }

            /// [`EndsOf::rest`].
            pub fn rest(&mut self, flow: FlowId) {
                match self { $(Ends::$variant(ends) => ends.rest(flow),)* }
            }

            /// [`EndsOf::sends`].
            pub fn sends(&self, flow: FlowId) -> bool {
                match self { $(Ends::$variant(ends) => ends.sends(flow),)* }
            }

            /// [`EndsOf::enqueue`].
            #[inline(always)]
            pub fn enqueue(&mut self, flow: FlowId) -> Option<bool> {
                match self { $(Ends::$variant(ends) => ends.enqueue(flow),)* }
            }

            /// [`EndsOf::stays`].
            #[inline(always)]
            pub fn stays(&mut self, flow: FlowId) -> Option<bool> {
                match self { $(Ends::$variant(ends) => ends.stays(flow),)* }
            }

            /// [`EndsOf::may_send_from`].
            #[inline(always)]
            pub fn may_send_from(&self, flow: FlowId) -> Option<Time> {
                match self { $(Ends::$variant(ends) => ends.may_send_from(flow),)* }
            }

            /// [`EndsOf::look`].
            pub fn look(&mut self, flow: FlowId) -> Option<Time> {
                match self { $(Ends::$variant(ends) => ends.look(flow),)* }
            }

            /// [`EndsOf::paced_from`].
            pub fn paced_from(&self, flow: FlowId) -> Option<Time> {
                match self { $(Ends::$variant(ends) => ends.paced_from(flow),)* }
            }

            /// [`EndsOf::next`].
            #[inline(always)]
            pub fn next(&mut self, now: Time, flow: FlowId, timer: &mut Time) -> Option<Outgoing> {
                match self { $(Ends::$variant(ends) => ends.next(now, flow, timer),)* }
            }

            /// [`EndsOf::on_answer`].
            #[inline(always)]
            pub fn on_answer<'a>(
                &mut self,
                now: Time,
                subflow: SubflowId,
                answer: &Answer,
                option: impl FnOnce() -> &'a [u8],
            ) -> Heard {
                match self { $(Ends::$variant(ends) => ends.on_answer(now, subflow, answer, option),)* }
            }

            /// [`EndsOf::expire`].
            pub fn expire(&mut self, now: Time, subflow: SubflowId) -> Expired {
                match self { $(Ends::$variant(ends) => ends.expire(now, subflow),)* }
            }

            /// [`EndsOf::is_open`].
            pub fn is_open(&mut self, subflow: SubflowId) -> bool {
                match self { $(Ends::$variant(ends) => ends.is_open(subflow),)* }
            }

            /// [`EndsOf::account`].
            pub fn account(&self, flow: FlowId) -> Option<Counts> {
                match self { $(Ends::$variant(ends) => ends.account(flow),)* }
            }

            /// [`EndsOf::lane`].
            #[inline(always)]
            pub fn lane(&mut self, subflow: SubflowId) -> Option<&mut Lane> {
                match self { $(Ends::$variant(ends) => ends.lane(subflow),)* }
            }

            /// [`EndsOf::on_data`].
            #[inline(always)]
            pub fn on_data<'a>(
                &mut self,
                now: Time,
                sized: (SubflowId, u64),
                data: &Arrival,
                option: impl FnOnce() -> &'a [u8],
                timer: &mut Time,
            ) -> Received {
                match self { $(Ends::$variant(ends) => ends.on_data(now, sized, data, option, timer),)* }
            }

            /// [`EndsOf::on_data_anew`].
            pub fn on_data_anew<'a>(
                &mut self,
                now: Time,
                sized: (SubflowId, u64),
                data: &Arrival,
                option: impl FnOnce() -> &'a [u8],
            ) -> Received {
                match self { $(Ends::$variant(ends) => ends.on_data_anew(now, sized, data, option),)* }
            }

            /// [`EndsOf::beside`].
            pub fn beside(&mut self, now: Time, flow: FlowId) -> Option<Outgoing> {
                match self { $(Ends::$variant(ends) => ends.beside(now, flow),)* }
            }

            /// [`EndsOf::share`].
            pub fn share(&mut self, flow: FlowId, waiting: usize) {
                match self { $(Ends::$variant(ends) => ends.share(flow, waiting),)* }
            }

            /// [`EndsOf::grant`].
            pub fn grant(&mut self, flow: FlowId, asks: Asks) -> Option<Grant> {
                match self { $(Ends::$variant(ends) => ends.grant(flow, asks),)* }
            }

            /// [`EndsOf::late`].
            pub fn late<'a>(&self, size: u64, data: &Arrival, option: impl FnOnce() -> &'a [u8]) -> Received {
                match self { $(Ends::$variant(ends) => ends.late(size, data, option),)* }
            }

            /// [`EndsOf::delayed`].
            pub fn delayed(&mut self, now: Time, subflow: SubflowId) -> (Option<(Answer, Option<Told>)>, Time) {
                match self { $(Ends::$variant(ends) => ends.delayed(now, subflow),)* }
            }

            /// [`EndsOf::welcome`].
            pub fn welcome(&self, subflow: SubflowId, greeting: &Arrival) -> u16 {
                match self { $(Ends::$variant(ends) => ends.welcome(subflow, greeting),)* }
            }

            /// [`EndsOf::holds_greetings`].
            pub fn holds_greetings(&self) -> bool {
                match self { $(Ends::$variant(ends) => ends.holds_greetings(),)* }
            }

            /// [`EndsOf::receives`].
            pub fn receives(&self, flow: FlowId) -> bool {
                match self { $(Ends::$variant(ends) => ends.receives(flow),)* }
            }

            /// [`EndsOf::hold`].
            pub fn hold(
                &mut self,
                now: Time,
                sized: (FlowId, u64),
                packet: Arrival,
                ready: &mut Vec<Arrival>,
                tally: &mut Tally,
            ) {
                match self { $(Ends::$variant(ends) => ends.hold(now, sized, packet, ready, tally),)* }
            }

            /// [`EndsOf::release`].
            pub fn release(&mut self, now: Time, flow: FlowId, ready: &mut Vec<Arrival>, tally: &mut Tally) -> bool {
                match self { $(Ends::$variant(ends) => ends.release(now, flow, ready, tally),)* }
            }

            /// [`EndsOf::release_at`].
            pub fn release_at(&mut self, flow: FlowId) -> Time {
                match self { $(Ends::$variant(ends) => ends.release_at(flow),)* }
            }

            /// [`EndsOf::fetch_receiver`].
            #[inline(always)]
            pub fn fetch_receiver(&self, subflow: SubflowId) {
                match self { $(Ends::$variant(ends) => ends.fetch_receiver(subflow),)* }
            }

            /// [`EndsOf::fetch_sender`].
            #[inline(always)]
            pub fn fetch_sender(&self, subflow: SubflowId) {
                match self { $(Ends::$variant(ends) => ends.fetch_sender(subflow),)* }
            }
        }
    };
}
each_transport!(ends);

#[cfg(test)]
mod tests;
