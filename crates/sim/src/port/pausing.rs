//! Records of pauses: since when and until when something is paused, and the total length and number of pauses.

use spinewise_policy::Time;

/// A data priority of a sender, as flow control sees it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pausing {
    until: Time,
    since: Time,
}

impl Pausing {
    /// Returns until when nothing starts ([`Time::NEVER`]: until resumed).
    #[inline]
    pub(crate) fn until(&self) -> Time {
        self.until
    }

    /// Whether it is paused.
    #[inline]
    pub(crate) fn is_on(&self, now: Time) -> bool {
        self.until > now
    }

    /// Pauses until `until`, or ends the pause if that is not in the future. Adds to `total`: how long (ps) and how
    /// often there have been pauses.
    pub(crate) fn set(&mut self, now: Time, until: Time, total: &mut (u64, u64)) {
        if self.is_on(now) {
            total.0 += now.since(self.since).0;
        } else {
            // A pause that expired ended when it did.
            total.0 += self.until.since(self.since).0;
            total.1 += u64::from(until > now);
        }
        *self = Pausing { since: now, until: until.max(now) };
    }

    /// Returns how long (ps) the last pause has lasted by `now`; this is not in the total yet.
    pub(crate) fn running(&self, now: Time) -> u64 {
        self.until.min(now).since(self.since).0
    }
}
