//! When to greet a peer: seldom where nobody has answered for long, because any agent that starts greets first.

use super::Stage;

/// Interval at which agents greet each other, ns.
const USUAL: u64 = 500_000_000;
/// Interval after the first greeting of a peer that is plain; it doubles with each one.
const FIRST: u64 = 100_000_000;
/// Upper limit of that interval.
const LONGEST: u64 = 5_000_000_000;

/// The greetings of a peer so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Greetings {
    /// When the last one went out, ns.
    last: u64,
    /// How many have gone out in a row while it was plain.
    unanswered: u32,
}

impl Greetings {
    /// Whether one is due now, which then counts as sent.
    pub(crate) fn is_due(&mut self, now: u64, stage: Stage) -> bool {
        if stage != Stage::Plain {
            self.unanswered = 0;
        }
        let interval = match stage {
            Stage::Plain if self.unanswered == 0 => FIRST,
            Stage::Plain => LONGEST.min(FIRST << (self.unanswered - 1).min(16)),
            Stage::Searching | Stage::Tunnelled => USUAL,
        };
        let is_due = now.saturating_sub(self.last) >= interval;
        if is_due {
            self.last = now;
            self.unanswered += u32::from(stage == Stage::Plain);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// When greetings go out within a minute that begins at `from`, ms after it.
    fn within_a_minute(greetings: &mut Greetings, from: u64, stage: Stage) -> Vec<u64> {
        (0..60_000).filter(|ms| greetings.is_due((from + ms) * MS, stage)).collect()
    }

    #[test]
    fn a_peer_without_an_agent_is_greeted_less_and_less_often() {
        let mut greetings = Greetings::default();
        let first = within_a_minute(&mut greetings, 1_000, Stage::Plain);
        assert_eq!(first[..8], [0, 100, 300, 700, 1_500, 3_100, 6_300, 11_300]);
        assert_eq!(within_a_minute(&mut greetings, 61_000, Stage::Plain).len(), 12);
    }

    #[test]
    fn a_peer_that_was_there_is_greeted_often_again() {
        let mut greetings = Greetings::default();
        within_a_minute(&mut greetings, 1_000, Stage::Plain);
        assert!(within_a_minute(&mut greetings, 61_000, Stage::Tunnelled).len() >= 118);
        let again = within_a_minute(&mut greetings, 121_000, Stage::Plain);
        assert!(again[..4].iter().all(|ms| *ms <= 1_000), "{again:?}");
    }
}
