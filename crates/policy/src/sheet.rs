//! The fact sheet of a scheme: its description for users. The command line, docs/registry.md, docs/schemes-compared.md
//! and the README take their tables from it. A new fact is a field here, with its default in [`Sheet::AT_HOST`] and
//! [`Sheet::AT_SWITCH`].

use crate::sees::{Sees, Series};

/// A scheme's description of itself.
///
/// It fills in only the differences from the base for its place:
///
/// ```
/// use spinewise_policy::{Aware, Compared, Needs, Sheet};
/// const SHEET: Sheet = Sheet {
///     name: "example",
///     summary: "flows leave paths that are marked",
///     source: "Somebody et al., SIGCOMM 2020",
///     unit: "flow",
///     compared: Some(Compared {
///         aware: Aware::Paths,
///         senses: &["round-trip times of ACKs", "ECN marks"],
///         state: "per flow and per (rack, path), at the host",
///         needs: Needs::Hosts,
///         order: "a flow moves only if it gains much",
///         pick: "O(n)",
///         update: "O(1) per ACK",
///     }),
///     ..Sheet::AT_HOST
/// };
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Sheet {
    /// Name in specs.
    pub name: &'static str,
    /// Its behaviour, in one line.
    pub summary: &'static str,
    /// The place of publication.
    pub source: &'static str,
    /// The unit that moves: "flow", "flowlet", "flowcell" or "packet".
    pub unit: &'static str,
    /// Tiers at which it decides.
    pub tiers: &'static [&'static str],
    /// Information it must be given to work as published.
    pub told: &'static [&'static str],
    /// Its own time series; see [`Out::record`](crate::Out::record).
    pub series: &'static [Series],
    /// Its behaviour in three-tier fabrics. Required of switch schemes that do not decide at every tier, and of all
    /// schemes that do something there that their authors would not.
    pub three_tiers: &'static str,
    /// Whether it was published for transports that acknowledge every packet, and learns from each acknowledgement.
    pub acks_of_all: bool,
    /// Facts for comparison with other schemes. Without them, its cells in docs/schemes-compared.md say that they are
    /// missing.
    pub compared: Option<Compared>,
    /// The reportable parts of its choices, for the choice trace: see [`Policy::sees`](crate::Policy::sees).
    pub sees: Sees,
}

impl Sheet {
    /// Facts common to schemes at the hosts.
    pub const AT_HOST: Sheet = Sheet {
        name: "",
        summary: "",
        source: "",
        unit: "",
        tiers: &["host"],
        told: &[],
        series: &[],
        three_tiers: "a tag names a whole path, and there is one through each core",
        acks_of_all: false,
        compared: None,
        sees: Sees::NOTHING,
    };

    /// Facts common to schemes at the switches.
    pub const AT_SWITCH: Sheet = Sheet {
        tiers: &["leaf", "aggregation", "spine"],
        three_tiers: "every switch that has a choice decides independently",
        ..Sheet::AT_HOST
    };
}

/// How far a scheme's knowledge of congestion reaches (the column *congestion-aware* of MEET's Table 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aware {
    /// It has none.
    No,
    /// Queues or links of the device that decides.
    Local,
    /// Whole paths, as one host or one of its flows has met them.
    Paths,
    /// Whole paths, gathered by a rack, a leaf or a controller.
    Shared,
}

impl Aware {
    /// The name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Aware::No => "no",
            Aware::Local => "its own queues or links",
            Aware::Paths => "paths it has met itself",
            Aware::Shared => "paths, gathered for many hosts",
        }
    }
}

/// The hardware needed to run it (the column *advanced hardware* of MEET's Table 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Switches and hosts as they are.
    Nothing,
    /// Changed hosts: hypervisor, stack or NIC. Switches as they are.
    Hosts,
    /// Changed leaves, and no other switches.
    Leaves,
    /// Changed switches at every tier.
    Switches,
}

impl Needs {
    /// The name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Needs::Nothing => "nothing new",
            Needs::Hosts => "new software at hosts",
            Needs::Leaves => "new leaves",
            Needs::Switches => "new switches",
        }
    }
}

/// Facts by which schemes are compared: [`Sheet::compared`].
#[derive(Clone, Copy, Debug)]
pub struct Compared {
    /// How far its knowledge of congestion reaches.
    pub aware: Aware,
    /// Quantities that it measures or considers when it decides, in as few words as possible; empty if none.
    pub senses: &'static [&'static str],
    /// The state kept, and where; "none" if there is none.
    pub state: &'static str,
    /// The hardware needed to run it.
    pub needs: Needs,
    /// The mechanism that keeps the packets of a flow in order if paths differ; "nothing" if nothing does.
    pub order: &'static str,
    /// Time of one decision against the number of paths n (the column of PDLB's Table 3), for this implementation.
    pub pick: &'static str,
    /// Time of one update of its state against n, and what an update is; "–" if there are none.
    pub update: &'static str,
}
