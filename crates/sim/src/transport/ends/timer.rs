//! A timer of an end, as planned by its host.

use spinewise_policy::Time;

/// When the planned timer fires, [`Time::NEVER`] if none is planned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timer(Time);

impl Timer {
    /// None is planned.
    pub(super) const NONE: Timer = Timer(Time::NEVER);

    /// The end must be woken at `deadline`: returns when to plan that, or [`Time::NEVER`]. Lazy: a timer that fires
    /// early is planned again, so moving a deadline later costs nothing now.
    #[inline(always)]
    pub(super) fn want(&mut self, deadline: Option<Time>) -> Time {
        match deadline {
            Some(at) if at < self.0 => {
                self.0 = at;
                at
            }
            Some(_) | None => Time::NEVER,
        }
    }

    /// A planned timer fires. Is it the current one? If so, none is planned any more.
    pub(super) fn fires(&mut self, now: Time) -> bool {
        let is_wanted = self.0 == now;
        if is_wanted {
            *self = Timer::NONE;
        }
        is_wanted
    }
}
