//! Whole runs of the engine, against hand calculations, theory, papers and each other. One binary, so that one is linked:
//! `cargo test -p spinewise-sim --test it engines::` runs the tests of `engines.rs`.

mod adaptive;
mod bounds;
mod capture;
mod collectives;
mod common;
mod components;
mod congestion;
mod connections;
mod conservation;
mod conweave;
mod conweave_paths;
mod dag;
mod deadlock;
mod dynamics;
mod edge_spreading;
mod elab;
mod engines;
mod entries;
mod fat_tree;
mod fault_errors;
mod fault_kinds;
mod fault_properties;
mod faults;
mod flow_control;
mod follow;
mod forgotten_rows;
mod graph_faults;
mod graphs;
mod guests;
mod hedera;
mod held_queues;
mod hermes_preset;
mod hula;
mod ideal;
mod labels;
mod lbsp;
mod lbsp_faults;
mod links;
mod lossless;
mod luopan;
mod meet;
mod mptcp;
mod node_names;
mod parameters;
mod pdlb_fig1;
mod plb_by_step;
mod queue_aware;
mod queue_pairs;
mod random_graphs;
mod rdma;
mod rdma_theory;
mod recovery;
mod rerouting;
mod schemes;
mod selb;
mod sred;
mod theory;
mod threads;
mod tiers;
mod topology;
mod trace;
mod trace_faults;
mod transports_beside;
mod ttc;
mod uet;
mod uet_preset;
mod values_by_step;
mod warnings;

// The files of the worked examples find these at the root of the policy crate in their original location.
pub use spinewise_policy::{
    AtHost, AtSwitch, Cx, Event, Feedback, Hooks, Kind, Layout, Listed, Packet, Policy, Port, Rng, Series, Shape,
    Sheet, Span, Time, Way, listed, params, rows, sees,
};
