//! Schemes behind the contract, called hook by hook without an engine. One binary, so that one is linked:
//! `cargo test -p spinewise-policy --test it conga::` runs the tests of `conga.rs`.

mod adaptive;
mod ars;
mod common;
mod conga;
mod conweave_destination;
mod conweave_order;
mod conweave_paths;
mod conweave_source;
mod drill;
mod ecmp;
mod elab;
mod flowbender;
mod hermes;
mod hermes_probing;
mod hooks;
mod hopper;
mod host_ar;
mod host_flowlet;
mod hula;
mod lbsp;
mod loopback;
mod luopan;
mod meet;
mod meet_best_probe;
mod mprdma_reuse;
mod mrc;
mod no_path;
mod packet_scatter;
mod plb;
mod qdaps;
mod qdaps_released;
mod resilient;
mod round_robin;
mod selb;
mod selb_fabric;
mod selb_fig4;
mod selb_monitor;
mod spread;
mod sred;
mod ttc;
mod txrehash;
mod uno;
mod worked_example;

// The file of the worked example finds these at the root of the policy crate in its original location.
pub use spinewise_policy::*;
