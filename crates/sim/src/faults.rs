//! Faults during a run. The whole schedule is in the spec, so everything about it is computed before the run, and no
//! module needs another's state: a receiver knows when the link into it was down, and a switch when it will hear of
//! that.
//!
//! | file | contents |
//! |---|---|
//! | `select.rs` | which links a fault hits |
//! | `schedule.rs` | what each link and switch suffers |
//! | `inlet.rs` | which packets a receiver never gets |
//! | `outlet.rs` | rate and delay of a link that changes, at its sender |
//! | `detect.rs`, `hellos.rs` | when the ends of a link detect a change |
//! | `news.rs` | when each switch hears of that |
//! | `repair.rs` | which routes it uses from then on |
//! | `told.rs` | the schedule for people |

mod detect;
mod hellos;
mod inlet;
mod listing;
mod news;
mod outlet;
mod repair;
mod schedule;
mod select;

use crate::ids::{HostId, LinkId, SwitchId, Table};
use crate::spec::{DetectionMode, Nics, Spec, SpecError, SwitchSpec};
use crate::topology::{LinkSpec, Reach, Topology};
use crate::warden::{ALWAYS, GoOn};
pub use inlet::Frail;
pub use listing::listing;
pub use outlet::Outlet;
use repair::HOP_LIMIT;
use schedule::Schedule;
use serde_json::json;
use spinewise_policy::{Span, Time};
use std::collections::BTreeSet;

/// An interval between two instants, the second of which is excluded.
type Interval = (Time, Time);

/// A change at a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It dies, and loses what it holds.
    Dies,
    /// It detects that the link at this port is down.
    Down(u16),
    /// It detects that the link at this port works, but at less than the rate it was built for.
    Degraded(u16),
    /// It detects that the link at this port works again.
    Up(u16),
    /// It uses the routes that begin at this row from now on: see [`Topology::choices`].
    Routes(u32),
    /// It knows this map of the fabric from now on: see [`Faults::maps`].
    Map(u32),
}

/// The consequences of the schedule of faults.
#[derive(Debug, Default)]
pub struct Faults {
    schedule: Schedule,
    /// Steps in order of time.
    steps: Table<SwitchId, Vec<(Time, Step)>>,
    /// Sets of links that switches consider down, by number; the first is empty.
    maps: Vec<BTreeSet<LinkId>>,
    /// Whether switches stop using a cable that is down in one direction only.
    leave_cables: bool,
    /// Maximum number of switches a packet may pass; 0: any number, because no packet can loop.
    pub hop_limit: u8,
}

impl Faults {
    /// Reads the faults of the spec. Adds to `topology` the routes that switches will use.
    ///
    /// # Errors
    /// When a fault names something that does not exist, or faults contradict each other.
    pub fn new(spec: &Spec, topology: &mut Topology) -> Result<Faults, SpecError> {
        Faults::build(spec, topology, ALWAYS)
    }

    /// The same, as long as `go_on` allows it.
    ///
    /// # Errors
    /// The same.
    pub fn build(spec: &Spec, topology: &mut Topology, go_on: GoOn<'_>) -> Result<Faults, SpecError> {
        let Some(faults) = &spec.faults else { return Ok(Faults::default()) };
        let schedule = Schedule::new(&faults.faults, topology, spec.seed, spec.run.until)?;
        refuse_late_nics(spec, &schedule, topology)?;
        let (links, how) = (&schedule.links, &faults.detection);
        let changes = detect::changes(links, how, topology, (spec.seed, spec.run.until))?;
        let control = if how.mode == DetectionMode::Oracle { Span::ZERO } else { how.control_plane };
        let news = news::by_switch(links, &changes, how, topology, go_on);
        let (mut steps, maps) = repair::steps(&news, control, topology, go_on);
        for (&switch, deaths) in &schedule.deaths {
            let steps = &mut steps[switch];
            steps.extend(deaths.iter().map(|&at| (at, Step::Dies)));
            steps.sort_by_key(|&(at, step)| (at, step != Step::Dies));
        }
        let hop_limit = if maps.len() > 1 { hop_limit(topology)? } else { 0 };
        // A static route stays while its own link works.
        let leave_cables = how.mode != DetectionMode::Never && !topology.has_static_routes();
        Ok(Faults { schedule, steps, maps, leave_cables, hop_limit })
    }

    /// Whether nothing breaks.
    pub fn is_empty(&self) -> bool {
        self.schedule.links.is_empty()
    }

    /// The fabric as switches know it at any time: sets of links that are down, the first of which is empty.
    pub fn maps(&self) -> Vec<BTreeSet<LinkId>> {
        if self.maps.is_empty() { vec![BTreeSet::new()] } else { self.maps.clone() }
    }

    /// Returns the changes at a switch, and when they happen.
    pub fn steps(&self, switch: SwitchId) -> &[(Time, Step)] {
        self.steps.get(switch).map_or(&[], Vec::as_slice)
    }

    /// The routes a switch uses at this instant: see [`Topology::choices`].
    pub fn row(&self, topology: &Topology, switch: SwitchId, at: Time) -> u32 {
        let steps = self.steps(switch);
        let until = &steps[..steps.partition_point(|step| step.0 <= at)];
        let row = |&(_, step): &(Time, Step)| if let Step::Routes(row) = step { Some(row) } else { None };
        until.iter().rev().find_map(row).unwrap_or(topology.first_row(switch))
    }

    /// Whether a link is down at this instant.
    pub fn is_down(&self, link: LinkId, at: Time) -> bool {
        self.schedule.links.get(&link).is_some_and(|faults| faults.is_down(at))
    }

    /// Rate and delay of a link at this instant.
    pub fn line(&self, link: LinkId, spec: &LinkSpec, at: Time) -> (u64, Span) {
        self.schedule.links.get(&link).map_or((spec.rate, spec.delay), |faults| {
            (faults.rate(at).unwrap_or(spec.rate), spec.delay + faults.added(at))
        })
    }

    /// Links whose receiver needs to know when each packet left, even where no loss depends on it.
    pub fn note_starts(&mut self, links: impl Iterator<Item = LinkId>) {
        for link in links {
            self.schedule.note_starts(link);
        }
    }

    /// Returns how a link changes for its sender, if it does.
    pub fn outlet(&self, link: LinkId, spec: &LinkSpec) -> Option<Box<Outlet>> {
        Outlet::new(link, self.schedule.links.get(&link)?, spec.rate, spec.delay)
    }

    /// Whether the ports of a switch must keep their packets until transmission starts. This holds for ports that may
    /// lose packets that wait there, or whose rate or delay is not known in advance.
    pub fn keeps(&self, switch: SwitchId, topology: &Topology) -> bool {
        let node = topology.switch_node(switch);
        let changes = |port| {
            let faults = self.schedule.links.get(&topology.out_number(node, port));
            faults.is_some_and(|faults| faults.changes())
        };
        self.schedule.deaths.contains_key(&switch) || (!self.is_empty() && (0..topology.ports(node)).any(changes))
    }

    /// Returns which pairs of these hosts no packet can cross at this instant, in either direction.
    pub fn cut_off(&self, topology: &Topology, at: Time, pairs: &[(HostId, HostId)]) -> Vec<bool> {
        let down = self.schedule.links.keys().copied().filter(|&link| self.is_down(link, at));
        cut_off(topology, &self.unused(topology, down), pairs)
    }

    /// The links that no packet crosses once switches have learned which are `down`.
    fn unused(&self, topology: &Topology, down: impl Iterator<Item = LinkId>) -> BTreeSet<LinkId> {
        if self.leave_cables { down.flat_map(|link| [link, topology.back(link)]).collect() } else { down.collect() }
    }

    /// Refuses faults that permanently cut off from each other hosts that have traffic.
    ///
    /// # Errors
    /// Names the fault and the hosts.
    pub fn refuse_cuts(&self, topology: &Topology, pairs: &[(HostId, HostId)]) -> Result<(), SpecError> {
        let down = self.unused(topology, self.schedule.for_good.iter().map(|&(_, link)| link));
        let cut = cut_off(topology, &down, pairs).iter().position(|&cut| cut);
        let (Some(cut), Some(&(n, _))) = (cut, self.schedule.for_good.last()) else { return Ok(()) };
        let (src, dst) = pairs[cut];
        let allowed = format!(
            "faults that end or leave a path; {} can no longer reach {}, or the reverse",
            topology.host_said(src),
            topology.host_said(dst)
        );
        let hint = "give until_us, or may_cut_off = true if this is intended";
        Err(SpecError::new(format!("fault[{n}]"), &json!("down for good"), allowed).hint(hint))
    }
}

/// Maximum number of switches a packet may pass, if some switches use recomputed routes.
///
/// # Errors
/// If a path of the whole fabric passes more.
fn hop_limit(topology: &Topology) -> Result<u8, SpecError> {
    if !topology.is_graph() {
        return Ok(0);
    }
    let longest = topology.nominal_path.len().saturating_sub(1);
    if longest > usize::from(HOP_LIMIT) {
        let allowed = format!("paths of at most {HOP_LIMIT} switches, the hop limit, where links go down");
        return Err(SpecError::said("topology.links", format!("a path of {longest} switches"), allowed));
    }
    Ok(HOP_LIMIT)
}

/// Returns which pairs of these hosts no packet can cross, in either direction, if these links are down.
fn cut_off(topology: &Topology, down: &BTreeSet<LinkId>, pairs: &[(HostId, HostId)]) -> Vec<bool> {
    if down.is_empty() {
        return vec![false; pairs.len()];
    }
    let reach = Reach::over(topology, down, ALWAYS);
    let wired = |host: HostId| {
        let out = topology.host_link(host);
        !down.contains(&out) && !down.contains(&topology.back(out))
    };
    let meets = |a: HostId, b: HostId| reach.reaches(topology.leaf(a), topology.leaf(b));
    pairs.iter().map(|&(a, b)| !(wired(a) && wired(b) && meets(a, b) && meets(b, a))).collect()
}

/// A NIC that queues puts packets on the line before they start, when it cannot know their delay.
fn refuse_late_nics(spec: &Spec, schedule: &Schedule, topology: &Topology) -> Result<(), SpecError> {
    let queues = matches!(&spec.switch, SwitchSpec::OutputQueued(queues) if queues.nics == Nics::Queue);
    let late = schedule.links.iter().filter(|(_, faults)| !faults.delays.is_empty()).map(|(&link, _)| link);
    let mut late = late.filter(|&link| topology.is_host(topology.links[link].from.0));
    match late.next() {
        Some(link) if queues && !spec.transport.sheet().pulls => {
            let allowed = format!("\"pull\" with a fault of kind \"delay\" at {}", topology.link_name(link));
            Err(SpecError::new("switch.nics", &json!("queue"), allowed))
        }
        _ => Ok(()),
    }
}
