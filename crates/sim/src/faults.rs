//! What breaks during a run. The whole schedule stands in the spec, so everything about it is worked out before the
//! run, and no room looks into another: a receiver knows when the link into it was down, and a switch when it will hear
//! of it.
//!
//! | file | what it holds |
//! |---|---|
//! | `schedule.rs` | from the spec to the outages and losses of each link |
//! | `inlet.rs` | which packets a receiver never gets |
//! | `news.rs` | when each switch learns that a link is down or up again |
//! | `repair.rs` | which routes it uses from then on |

mod inlet;
mod news;
mod repair;
mod schedule;

use crate::spec::{Spec, SpecError};
use crate::topology::Topology;
pub use inlet::Frail;
use repair::Reach;
use schedule::LinkFaults;
use spinewise_policy::Time;
use std::collections::{BTreeMap, BTreeSet};

/// From an instant to another, which does not belong to it.
type Interval = (Time, Time);

/// What changes at a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It finds that the link at this port is down.
    Down(u16),
    /// It finds that the link at this port works, but at less than the rate it was built for.
    Degraded(u16),
    /// It finds that the link at this port works again.
    Up(u16),
    /// It uses the routes that begin at this row from now on: see [`Topology::choices`].
    Routes(u32),
}

/// All that the schedule of faults comes to.
#[derive(Debug, Default)]
pub struct Faults {
    /// By link.
    links: BTreeMap<u32, LinkFaults>,
    /// By switch, in order.
    steps: Vec<Vec<(Time, Step)>>,
}

impl Faults {
    /// From the spec. Adds to `topology` the routes that switches will use.
    ///
    /// # Errors
    /// When a fault names what is not there, or faults contradict each other.
    pub fn new(spec: &Spec, topology: &mut Topology) -> Result<Faults, SpecError> {
        let Some(faults) = &spec.faults else { return Ok(Faults::default()) };
        let links = schedule::links(&faults.faults, topology, spec.run.until)?;
        let news = news::by_switch(&links, &faults.detection, topology);
        let steps = repair::steps(&news, topology);
        Ok(Faults { links, steps })
    }

    /// Does nothing break?
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// What changes at a switch, and when.
    pub fn steps(&self, switch: u32) -> &[(Time, Step)] {
        self.steps.get(switch as usize).map_or(&[], Vec::as_slice)
    }

    /// Is a link down at this instant?
    fn is_down(&self, link: u32, at: Time) -> bool {
        self.links.get(&link).is_some_and(|link| link.outages.iter().any(|&(from, until)| from <= at && at < until))
    }

    /// Which pairs of these hosts no packet can cross at this instant, there or back.
    pub fn cut_off(&self, topology: &Topology, at: Time, pairs: &[(u32, u32)]) -> Vec<bool> {
        let down: BTreeSet<u32> = self.links.keys().copied().filter(|&link| self.is_down(link, at)).collect();
        if down.is_empty() {
            return vec![false; pairs.len()];
        }
        let reach = Reach::over(topology, &down);
        let wired = |host: u32| {
            let out = topology.out_number(host, 0);
            !down.contains(&out) && !down.contains(&topology.back(out))
        };
        let meets = |a: u32, b: u32| reach.reaches(topology.leaf_of[a as usize], topology.leaf_of[b as usize]);
        pairs.iter().map(|&(a, b)| !(wired(a) && wired(b) && meets(a, b) && meets(b, a))).collect()
    }
}
