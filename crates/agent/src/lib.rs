//! The schemes of Spinewise on real hosts.
//!
//! A daemon seats a scheme of `spinewise-policy` at this host and publishes its decisions to a data path in eBPF, which
//! sends each packet of the kernel's own TCP to a peer by a tunnel whose UDP source port names the path. The counts of
//! the peer's data path come back in the tunnel's shim and are reported to the scheme.
//!
//! ```text
//! config.rs, plan.rs   the request                  slow.rs     the scheme, its rows, rehearsals and replays
//! layout.rs, shim.rs   the formats of both halves   plane.rs    the fast half's interface; datapath.rs: the kernel's
//! view.rs              what the scheme may know     table.rs    its decisions, as the fast half reads them
//! talk.rs              agents among themselves      probes.rs   probes; search.rs: which port takes which path
//! health.rs            dead paths                   reach.rs    peers that do not answer by the tunnel
//! clocks.rs            one-way delays, two clocks   peer.rs     all of this for one peer
//! agent.rs             the loop that ties them      record.rs   events and series; status.rs: reports
//! main.rs, daemon.rs   the program                  route.rs    the device that packets to a peer take
//! ```

pub mod agent;
pub mod clocks;
pub mod config;
#[cfg(feature = "datapath")]
pub mod datapath;
pub mod health;
pub mod layout;
pub mod peer;
pub mod plan;
pub mod plane;
pub mod probes;
pub mod reach;
pub mod record;
pub mod search;
pub mod shim;
pub mod slow;
pub mod status;
pub mod table;
pub mod talk;
pub mod view;

use std::fmt;

/// Why the agent does not do what was requested.
#[derive(Debug)]
pub enum Failure {
    /// What was requested is wrong, and was refused before anything was changed.
    Refused(String),
    /// This machine does not allow it, or not yet; nothing was changed.
    Unable(String),
    /// It failed while running.
    Failed(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Refused(words) | Failure::Unable(words) | Failure::Failed(words) => f.write_str(words),
        }
    }
}

impl std::error::Error for Failure {}
