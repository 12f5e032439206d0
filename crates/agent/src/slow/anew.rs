//! Forgetting: everything that the scheme knows, or its knowledge about one host.

use super::{Slow, seated};
use spinewise_policy::{Peers, Time};

impl Slow {
    /// Makes the scheme start over: paths now have other numbers, and its knowledge was about the old ones. In the
    /// simulator they never change in a run, so schemes do not expect it.
    pub fn begin_anew(&mut self, now: Time) {
        self.bank = seated(&self.plan, &self.view, self.seed, self.most_paths);
        self.timers.clear();
        self.carriers.clear();
        let first = self.first_tick();
        self.next_tick = if first == Time::NEVER { first } else { now + first.since(Time::ZERO) };
    }

    /// Forgets the scheme's knowledge of a host: its agent has been replaced by one to which nothing was sent and from
    /// which nothing has come. Knowledge of a whole rack stays.
    pub fn forget(&mut self, host: u32) {
        if let Some((flow, _)) = self.carriers.remove(&host) {
            self.bank.forget(self.view.host, flow);
        }
        if self.bank.peers(self.view.host) == Peers::Hosts {
            self.bank.forget_peer(self.view.host, host);
        }
    }

    /// Whether the scheme's time ends soon. It must start over with a later epoch before that.
    pub fn is_outlived(&self, ns: u64) -> bool {
        /// 200 days.
        const LIFE: u64 = 200 * 86_400 * 1_000_000_000;
        ns.saturating_sub(self.epoch) > LIFE
    }
}
