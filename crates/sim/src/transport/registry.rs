//! The list of transports: one line each, and an arm of [`Ends::new`] that says when it is used. `ends.rs` does the rest.

use super::ends::EndsOf;
use super::mptcp::Multipath;
use super::one_path::{PacedPlain, PacedSelective, Plain, Selective};
use super::rdma::{QueuePair, SplitQueuePairs};
use super::tcp::TcpSender;
use super::tcp::sack::SackSender;
use super::uet::Connection;
use super::{TcpConfig, TransportSpec};
use spinewise_policy::hash;

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
pub(super) use whichever;

#[cfg(test)]
mod tests;
