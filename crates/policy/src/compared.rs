//! What schemes are compared by: the facts behind the tables of docs/schemes-compared.md, beyond [`crate::About`].

/// How far what a scheme knows of congestion reaches (the column *congestion-aware* of MEET's Table 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aware {
    /// It knows nothing of it.
    No,
    /// Of the queues or links of the device that decides.
    Local,
    /// Of whole paths, as one host or flow of it has met them.
    Paths,
    /// Of whole paths, gathered by a rack, a leaf or a controller.
    Shared,
}

impl Aware {
    /// For people.
    pub const fn name(self) -> &'static str {
        match self {
            Aware::No => "no",
            Aware::Local => "its own queues or links",
            Aware::Paths => "paths it has met itself",
            Aware::Shared => "paths, gathered for many hosts",
        }
    }
}

/// What it takes to run it (the column *advanced hardware* of MEET's Table 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Switches as they are sold, hosts as they are.
    Nothing,
    /// Another host: hypervisor, stack or NIC. Switches as they are sold.
    Hosts,
    /// Another leaf, and no other switch.
    Leaves,
    /// Another switch at every tier.
    Switches,
}

impl Needs {
    /// For people.
    pub const fn name(self) -> &'static str {
        match self {
            Needs::Nothing => "nothing new",
            Needs::Hosts => "new software at hosts",
            Needs::Leaves => "new leaves",
            Needs::Switches => "new switches",
        }
    }
}

/// Facts by which schemes are compared: [`crate::Policy::COMPARED`].
///
/// A scheme fills it beside `ABOUT`:
///
/// ```
/// use spinewise_policy::compared::{Aware, Compared, Needs};
/// const COMPARED: Option<Compared> = Some(Compared {
///     aware: Aware::Paths,
///     senses: &["round-trip times of ACKs", "ECN marks"],
///     state: "per flow and per (rack, path), at the host",
///     needs: Needs::Hosts,
///     order: "a flow moves only if it gains much",
///     pick: "O(n)",
///     update: "O(1) per ACK",
/// });
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Compared {
    /// How far its knowledge of congestion reaches.
    pub aware: Aware,
    /// What it measures or looks at when it decides, with as few words as do; empty if nothing.
    pub senses: &'static [&'static str],
    /// Which state is kept where; "none" if there is none.
    pub state: &'static str,
    /// What it takes to run it.
    pub needs: Needs,
    /// What keeps the packets of a flow in order when paths differ; "nothing" if nothing does.
    pub order: &'static str,
    /// Time of one decision against the number of paths n (the column of PDLB's Table 3), for this implementation.
    pub pick: &'static str,
    /// Time of one update of its state against n, and what an update is; "–" if there are none.
    pub update: &'static str,
}
