//! Observation of ports at instants planned before the run: see [`crate::trace`].

use crate::link::Wires;
use crate::net::Net;
use crate::port::{Freed, Port};
use crate::timers::{Timers, What};
use spinewise_policy::{Span, Time};

/// The state of a port's link.
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

/// Observations of a port; a port not observed is taken to be empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Bytes queued, by the convention of the spec.
    pub queue: u64,
    /// Time that a packet would have waited there.
    pub wait: Span,
    /// Its link.
    pub state: State,
}

/// When a switch looks at which of its ports, and its observations, in order of time and port.
#[derive(Debug, Default)]
pub struct Looks {
    planned: Vec<(Time, u16)>,
    seen: Vec<Seen>,
}

impl Looks {
    /// Looks at these instants and ports, in order.
    pub fn new(planned: Vec<(Time, u16)>) -> Looks {
        Looks { seen: Vec::with_capacity(planned.len()), planned }
    }

    /// Looks at the ports due at this instant, and plans the next look.
    pub fn look(&mut self, now: Time, ports: &[Port], freed: Freed, net: &Net, wires: &Wires, timers: &mut Timers) {
        while let Some(&(at, port)) = self.planned.get(self.seen.len()) {
            if at > now {
                timers.plan(at, What::Look);
                return;
            }
            let port = &ports[usize::from(port)];
            let paused = port.lanes().is_some_and(|lanes| lanes.any_paused(now));
            self.seen.push(Seen {
                queue: port.queue(now, freed, net.rules.of(port.class()), wires).0,
                wait: port.queueing_delay(now, wires),
                state: if paused { State::Paused } else { State::Up },
            });
        }
    }

    /// Returns the observations of a port at an instant.
    pub fn at(&self, at: Time, port: u16) -> Seen {
        let place = self.planned.binary_search(&(at, port)).ok();
        place.and_then(|place| self.seen.get(place)).copied().unwrap_or_default()
    }
}
