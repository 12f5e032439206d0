//! Second pass: ports looked at, by the switch they belong to.

use super::paths::Candidate;
use super::record::Choices;
use crate::engine::Sim;
use crate::link::Wires;
use crate::net::Net;
use crate::port::Port;
use crate::spec::SpecError;
use crate::timers::{Timers, What};
use spinewise_policy::{Span, Time};
use std::collections::{BTreeMap, BTreeSet};

/// What a port's link is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum State {
    /// It works.
    #[default]
    Up = 0,
    /// Priority flow control holds data back.
    Paused = 1,
    /// It does not work.
    Down = 2,
}

impl State {
    /// Names, by number.
    pub const NAMES: [&'static str; 3] = ["up", "paused", "down"];
}

/// What was seen of a port; of one not looked at, that it was empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Bytes queued, by the convention of the spec.
    pub queue: u64,
    /// How long a packet would have waited there.
    pub wait: Span,
    /// Its link.
    pub state: State,
}

/// When a switch looks at which of its ports, and what it has seen; in the order of time and port.
#[derive(Debug, Default)]
pub struct Looks {
    planned: Vec<(Time, u16)>,
    seen: Vec<Seen>,
}

impl Looks {
    /// Looks at the ports whose instant this is, and plans the next.
    pub fn look(&mut self, now: Time, ports: &[Port], freed: bool, net: &Net, wires: &Wires, timers: &mut Timers) {
        while let Some(&(at, port)) = self.planned.get(self.seen.len()) {
            if at > now {
                timers.plan(at, What::Look);
                return;
            }
            let port = &ports[usize::from(port)];
            let paused = port.lanes().is_some_and(|lanes| lanes.any_paused(now));
            self.seen.push(Seen {
                queue: port.queue(now, freed, net.rules.of(port), wires).0,
                wait: port.queueing_delay(now),
                state: if paused { State::Paused } else { State::Up },
            });
        }
    }

    fn at(&self, at: Time, port: u16) -> Seen {
        let place = self.planned.binary_search(&(at, port)).ok();
        place.and_then(|place| self.seen.get(place)).copied().unwrap_or_default()
    }
}

/// Plans the looks for these choices in a run at its start.
///
/// # Errors
/// When there are more than `most`.
pub fn plan(sim: &mut Sim, choices: &Choices, most: usize) -> Result<(), SpecError> {
    let mut wanted: BTreeMap<u32, Vec<(Time, u16)>> = BTreeMap::new();
    let (mut many, mut found) = (0, BTreeSet::new());
    for choice in &choices.all {
        found.clear();
        for &way in choices.ways(choice) {
            Candidate::new(sim, choice.at, choice.node, &choice.packet, way).places(&mut found);
        }
        many += found.len();
        if many > most {
            return Err(SpecError {
                key: "trace".into(),
                value: format!("{} choices", choices.all.len()),
                allowed: format!("up to {most} looks at ports"),
                hint: Some("trace fewer flows at a time, or shorter ones".into()),
                unserved: false,
            });
        }
        found.iter().for_each(|&(switch, port)| wanted.entry(switch).or_default().push((choice.at, port)));
    }
    for (switch, mut planned) in wanted {
        planned.sort_unstable();
        planned.dedup();
        let switch = &mut sim.switches[switch as usize];
        switch.timers.plan(planned[0].0, What::Look);
        switch.looks = Some(Box::new(Looks { seen: Vec::with_capacity(planned.len()), planned }));
    }
    Ok(())
}

/// What was seen, for a choice made at `at`, of a switch's port.
pub fn seen(sim: &Sim, at: Time, (switch, port): (u32, u16)) -> Seen {
    let looks = sim.switches[switch as usize].looks.as_deref();
    looks.map_or(Seen::default(), |looks| looks.at(at, port))
}
