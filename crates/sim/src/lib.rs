//! The packet-level engine of Spinewise.
//!
//! A packet's path reads in [`host`] → [`link`] → [`switch`] → [`port`] → [`link`] → … → [`host`]; the [`engine`] only
//! says who is next. Data flows one way: a file becomes a [`spec::Spec`], which [`setup`] turns into a run, which leaves
//! an [`outcome::Outcome`].

pub mod bank;
pub mod bench;
pub mod capture;
mod choices;
mod columns;
pub mod control;
pub mod deadlock;
pub mod drawing;
pub mod engine;
pub mod estimate;
pub mod faults;
pub mod flows;
mod follow;
pub mod gates;
pub mod host;
pub mod ideal;
pub mod keys;
pub mod link;
pub mod log;
pub mod net;
pub mod operations;
pub mod outcome;
pub mod packet;
pub mod port;
mod ramp;
pub mod ring;
pub mod rows;
pub mod samples;
pub mod series;
pub mod setup;
pub mod spec;
pub mod summary;
pub mod switch;
pub mod timers;
pub mod topology;
pub mod trace;
pub mod transport;
pub mod warden;
pub mod workload;
