//! The packet-level engine of Spinewise.
//!
//! A packet's path can be read in [`host`] → [`link`] → [`switch`] → [`port`] → [`link`] → … → [`host`]; the [`engine`]
//! only decides who is next. Data flows one way: a file becomes a [`spec::Spec`], which [`setup`] turns into a run,
//! which leaves an [`outcome::Outcome`].

mod address;
pub mod bank;
pub mod bench;
mod capture;
mod choices;
mod columns;
mod control;
mod deadlock;
pub mod drawing;
pub mod engine;
pub mod estimate;
pub mod faults;
pub mod flows;
mod follow;
mod gates;
mod host;
mod ideal;
pub mod ids;
mod keys;
mod line;
mod link;
pub mod log;
mod net;
mod operations;
pub mod outcome;
mod packet;
mod port;
mod prefetch;
mod ramp;
mod rider;
mod ring;
mod rows;
mod samples;
mod series;
pub mod setup;
mod shell;
pub mod spec;
mod summary;
mod switch;
mod tape;
mod telemetry;
mod timers;
pub mod topology;
pub mod trace;
mod transport;
mod trimming;
pub mod warden;
pub mod workload;
mod world;
