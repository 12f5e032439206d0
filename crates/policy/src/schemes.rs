//! The registry: one line per scheme. Dispatch, names, parameters and tables for users all come from it.

pub mod adaptive;
pub mod ars;
pub mod bitmap;
pub mod clove;
pub mod conga;
pub mod conweave;
pub mod drb;
pub mod drill;
pub mod ecmp;
pub mod elab;
pub mod flowbender;
pub mod flowcell;
pub mod hedera;
pub mod hermes;
pub mod hopper;
pub mod host_ar;
pub mod host_flowlet;
pub mod hula;
pub mod lbsp;
pub mod letflow;
pub mod loopback;
pub mod luopan;
pub mod meet;
pub mod mprdma_reuse;
pub mod mrc;
pub mod oblivious;
pub mod packet_scatter;
pub mod pdlb;
pub mod plb;
pub mod presto;
pub mod proportional;
pub mod qdaps;
pub mod reps;
pub mod reps_fifo;
pub mod resilient;
pub mod round_robin;
pub mod selb;
pub mod sred;
pub mod ttc;
pub mod txrehash;
pub mod uno;
pub mod wcmp;

/// Calls `$callback! { Variant: path, … }` with every scheme.
#[macro_export]
macro_rules! each_scheme {
    ($callback:ident) => {
        $callback! {
            Ecmp: $crate::schemes::ecmp::Ecmp,
            PacketScatter: $crate::schemes::packet_scatter::PacketScatter,
            Rps: $crate::schemes::packet_scatter::Rps,
            Sred: $crate::schemes::sred::Sred,
            Presto: $crate::schemes::presto::Presto,
            Drb: $crate::schemes::drb::Drb,
            LetFlow: $crate::schemes::letflow::LetFlow,
            Conga: $crate::schemes::conga::Conga,
            Hula: $crate::schemes::hula::Hula,
            Luopan: $crate::schemes::luopan::Luopan,
            ConWeave: $crate::schemes::conweave::ConWeave,
            Lbsp: $crate::schemes::lbsp::Lbsp,
            Hedera: $crate::schemes::hedera::Hedera,
            Wcmp: $crate::schemes::wcmp::Wcmp,
            Qdaps: $crate::schemes::qdaps::Qdaps,
            Adaptive: $crate::schemes::adaptive::Adaptive,
            RoundRobin: $crate::schemes::round_robin::RoundRobin,
            HostAr: $crate::schemes::host_ar::HostAr,
            Ars: $crate::schemes::ars::Ars,
            Resilient: $crate::schemes::resilient::Resilient,
            Drill: $crate::schemes::drill::Drill,
            Ttc: $crate::schemes::ttc::Ttc,
            Selb: $crate::schemes::selb::Selb,
            Meet: $crate::schemes::meet::Meet,
            Clove: $crate::schemes::clove::Clove,
            Pdlb: $crate::schemes::pdlb::Pdlb,
            Ag: $crate::schemes::pdlb::ag::Ag,
            Flowcell: $crate::schemes::flowcell::Flowcell,
            Proportional: $crate::schemes::proportional::Proportional,
            Elab: $crate::schemes::elab::Elab,
            Hermes: $crate::schemes::hermes::Hermes,
            FlowBender: $crate::schemes::flowbender::FlowBender,
            Plb: $crate::schemes::plb::Plb,
            Txrehash: $crate::schemes::txrehash::Txrehash,
            HostFlowlet: $crate::schemes::host_flowlet::HostFlowlet,
            Hopper: $crate::schemes::hopper::Hopper,
            Oblivious: $crate::schemes::oblivious::Oblivious,
            Bitmap: $crate::schemes::bitmap::Bitmap,
            Reps: $crate::schemes::reps::Reps,
            RepsFifo: $crate::schemes::reps_fifo::Fifo,
            UetMixed: $crate::schemes::reps_fifo::Mixed,
            Mrc: $crate::schemes::mrc::Mrc,
            Uno: $crate::schemes::uno::Uno,
            MpRdmaReuse: $crate::schemes::mprdma_reuse::MpRdmaReuse,
            LoopbackHost: $crate::schemes::loopback::LoopbackHost,
            LoopbackSwitch: $crate::schemes::loopback::LoopbackSwitch,
        }
    };
}
