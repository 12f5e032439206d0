//! Long work that may be stopped: setting up a huge fabric, drawing millions of flows, closing an account.
//!
//! Loops that can last ask `go_on` now and then, and stop when it says no. Their results are then incomplete; the
//! caller that began the work asks [`Warden::check`] before anything uses it.

use spinewise_policy::Time;
use std::cell::{Cell, RefCell};

/// The progress of a run; asked for now and then.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Simulated time.
    pub now: Time,
    /// Transmissions so far.
    pub packet_hops: u64,
    /// Flows not done yet.
    pub open: u64,
    /// All flows that end by themselves; 0 while the run is set up.
    pub flows: u64,
}

/// The caller asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted;

/// Called now and then with the progress; `false` stops the run.
pub type Watch<'a> = &'a mut dyn FnMut(Progress) -> bool;

/// Whether the work may continue. Cheap enough for a loop over flows.
pub type GoOn<'a> = &'a dyn Fn() -> bool;

/// It always may.
pub const ALWAYS: GoOn<'static> = &|| true;

/// Questions between two looks at the watch.
const EVERY: u32 = 8;

/// Asks the watch of a run while there is no run yet, or none any more.
pub struct Warden<'a> {
    watch: RefCell<Watch<'a>>,
    asked: Cell<u32>,
    stopped: Cell<bool>,
}

impl<'a> Warden<'a> {
    /// Creates it with this watch, which gets no progress.
    pub fn new(watch: Watch<'a>) -> Warden<'a> {
        Warden { watch: RefCell::new(watch), asked: Cell::new(0), stopped: Cell::new(false) }
    }

    /// Whether the work may continue. Once it may not, it never may again.
    pub fn goes_on(&self) -> bool {
        let asked = self.asked.get().wrapping_add(1);
        self.asked.set(asked);
        if asked.is_multiple_of(EVERY) { self.look() } else { !self.stopped.get() }
    }

    fn look(&self) -> bool {
        let nowhere = Progress { now: Time::ZERO, packet_hops: 0, open: 0, flows: 0 };
        if !self.stopped.get() && !(self.watch.borrow_mut())(nowhere) {
            self.stopped.set(true);
        }
        !self.stopped.get()
    }

    /// Looks at the watch, and whether the work was left off.
    ///
    /// # Errors
    /// [`Interrupted`] if it was.
    pub fn check(&self) -> Result<(), Interrupted> {
        if self.look() { Ok(()) } else { Err(Interrupted) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_asks_seldom_and_stops_for_good() {
        let mut asked = 0;
        let mut watch = |_: Progress| {
            asked += 1;
            asked < 3
        };
        {
            let warden = Warden::new(&mut watch);
            let went_on = (0..10 * EVERY).filter(|_| warden.goes_on()).count();
            assert_eq!(went_on as u32, 3 * EVERY - 1);
            assert_eq!(warden.check(), Err(Interrupted));
        }
        assert_eq!(asked, 3);
    }
}
