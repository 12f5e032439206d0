//! The values of one flow and their states.

use super::{Mrc, ROOM, Why};
use crate::{Rng, Time};

/// The state of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Good,
    Skip,
    /// The number of consecutive probes answered.
    AssumedBad(u8),
    Denied,
}

impl State {
    fn is_usable(self) -> bool {
        matches!(self, State::Good | State::Skip)
    }
}

/// Row per flow: its values and their states.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// Numbers: those in rotation, followed by the backups.
    slots: [u16; ROOM],
    /// Indexed by number.
    states: [State; ROOM],
    pub(super) begun: bool,
    /// Outstanding probes.
    pub(super) asks: u8,
    /// Added to a number, the same for all packets of the flow.
    pub(super) above: u16,
    /// The next slot.
    cursor: u16,
    /// The number of values assumed bad, and the last of them that was probed.
    pub(super) bad: u16,
    probed: u16,
    /// When the next round of probes may go.
    pub(super) probe_at: Time,
}

impl Default for Profile {
    fn default() -> Self {
        Profile {
            slots: [0; ROOM],
            states: [State::Good; ROOM],
            begun: false,
            asks: 0,
            above: 0,
            cursor: 0,
            bad: 0,
            probed: 0,
            probe_at: Time::ZERO,
        }
    }
}

impl Profile {
    /// Draws the order of the values, and where they begin. Once per flow.
    pub(super) fn begin(&mut self, mrc: &Mrc, rng: &mut Rng) {
        if self.begun {
            return;
        }
        let (values, all) = (usize::from(mrc.values), usize::from(mrc.all()));
        (0..).zip(&mut self.slots[..all]).for_each(|(number, slot)| *slot = number);
        // Fisher and Yates.
        (1..values).rev().for_each(|last| self.slots.swap(last, rng.below(last as u32 + 1) as usize));
        let block = u32::from(mrc.all()).next_power_of_two();
        // All bits set would mean no value.
        self.above = (rng.below(u32::from(u16::MAX) / block) * block) as u16;
        for number in 0..mrc.all() {
            let (plane, nth) = (mrc.plane(number), number / mrc.planes);
            if plane < mrc.denied_planes || nth < mrc.denied_values {
                self.states[usize::from(number)] = State::Denied;
                if plane >= mrc.denied_planes {
                    self.replace(mrc, number);
                }
            }
        }
        self.begun = true;
    }

    fn state(&self, number: u16) -> State {
        self.states[usize::from(number)]
    }

    /// The number of the next value, and why.
    #[inline]
    pub(super) fn next(&mut self, values: u16) -> (u16, Why) {
        let (mut restored, mut bad) = (None, None);
        for _ in 0..values {
            let slot = self.cursor;
            self.cursor = if slot + 1 == values { 0 } else { slot + 1 };
            let number = self.slots[usize::from(slot)];
            match self.state(number) {
                State::Good => return (number, if restored.is_none() { Why::Next } else { Why::PassesOver }),
                State::Skip if restored.is_none() => {
                    self.states[usize::from(number)] = State::Good;
                    restored = Some(slot);
                }
                State::AssumedBad(_) if bad.is_none() => bad = Some(slot),
                State::Skip | State::AssumedBad(_) | State::Denied => {}
            }
        }
        let (slot, why) = match (restored, bad) {
            (Some(slot), _) => (slot, Why::Restored),
            (None, slot) => (slot.unwrap_or(self.cursor), Why::NoneGood),
        };
        self.cursor = (slot + 1) % values;
        (self.slots[usize::from(slot)], why)
    }

    /// Its packet was marked, or trimmed inside the fabric.
    pub(super) fn skip(&mut self, number: u16) {
        if self.state(number) == State::Good {
            self.states[usize::from(number)] = State::Skip;
        }
    }

    /// Its packet was lost, and not trimmed. Returns whether it was in use until now.
    pub(super) fn fail(&mut self, mrc: &Mrc, number: u16) -> bool {
        let before = self.state(number);
        if before == State::Denied {
            return false;
        }
        self.states[usize::from(number)] = State::AssumedBad(0);
        if before.is_usable() {
            self.bad += 1;
            self.replace(mrc, number);
        }
        before.is_usable()
    }

    /// A usable backup of the same plane takes the place of a number in rotation, if there is one.
    fn replace(&mut self, mrc: &Mrc, number: u16) {
        let (rotation, backups) = self.slots[..usize::from(mrc.all())].split_at_mut(usize::from(mrc.values));
        let fits = |backup: &&mut u16| {
            mrc.plane(**backup) == mrc.plane(number) && self.states[usize::from(**backup)].is_usable()
        };
        if let Some(slot) = rotation.iter_mut().find(|slot| **slot == number)
            && let Some(backup) = backups.iter_mut().find(fits)
        {
            core::mem::swap(slot, backup);
        }
    }

    /// A probe of it was answered, marked or not, or was lost. Returns whether it is back.
    pub(super) fn answered(&mut self, mrc: &Mrc, number: u16, marked: Option<bool>) -> bool {
        let State::AssumedBad(answers) = self.state(number) else { return false };
        let answers = if marked.is_some() { answers.saturating_add(1) } else { 0 };
        let state = &mut self.states[usize::from(number)];
        if answers < mrc.probes_to_return {
            *state = State::AssumedBad(answers);
            return false;
        }
        *state = if marked == Some(true) { State::Skip } else { State::Good };
        self.bad -= 1;
        let alike = |slot: &&u16| mrc.plane(**slot) == mrc.plane(number) && !self.state(**slot).is_usable();
        if let Some(&bad) = self.slots[..usize::from(mrc.values)].iter().find(alike) {
            self.replace(mrc, bad);
        }
        true
    }

    /// The next value assumed bad, after the one that was probed last.
    pub(super) fn next_bad(&mut self, all: u16) -> Option<u16> {
        let mut after = (1..=all).map(|step| (self.probed + step) % all);
        let found = after.find(|&number| matches!(self.state(number), State::AssumedBad(_)))?;
        self.probed = found;
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;
    use crate::Policy;

    /// Eight values in rotation, of four planes, and one backup of each: numbers 8 to 11.
    const EIGHT: Config = Config {
        values: 8,
        planes: 4,
        backups: 1,
        denied_planes: 0,
        denied_values: 0,
        probe_period_us: 100.0,
        probes: 4,
        probe_bytes: 64,
        probe_give_up_us: 100.0,
        probes_to_return: 2,
    };

    fn begun(config: &Config) -> (Mrc, Profile) {
        let (mrc, mut profile) = (Mrc::new(config), Profile::default());
        profile.begin(&mrc, &mut Rng::stream(5, "test", 0));
        (mrc, profile)
    }

    fn round(profile: &mut Profile) -> [u16; 8] {
        core::array::from_fn(|_| profile.next(8).0)
    }

    fn sorted(mut numbers: [u16; 8]) -> [u16; 8] {
        numbers.sort_unstable();
        numbers
    }

    #[test]
    fn each_round_has_each_value_once_in_one_order_that_is_drawn() {
        let (_, mut profile) = begun(&EIGHT);
        let first = round(&mut profile);
        assert_eq!((sorted(first), round(&mut profile)), ([0, 1, 2, 3, 4, 5, 6, 7], first));
        let other = |seed: u64| {
            let mut profile = Profile::default();
            profile.begin(&Mrc::new(&EIGHT), &mut Rng::stream(seed, "test", 0));
            assert!(profile.above <= u16::MAX - 16 && profile.above.is_multiple_of(16), "{}", profile.above);
            round(&mut profile)
        };
        assert!((6..16).any(|seed| other(seed) != first));
    }

    #[test]
    fn a_skipped_value_misses_one_turn() {
        let (_, mut profile) = begun(&EIGHT);
        let order = round(&mut profile);
        profile.skip(order[2]);
        profile.skip(order[2]);
        let [a, b, _, d, e, f, g, h] = order;
        assert_eq!([(); 7].map(|()| profile.next(8)).map(|(number, _)| number), [a, b, d, e, f, g, h]);
        assert_eq!(round(&mut profile), order, "marked twice, passed over once");
    }

    #[test]
    fn a_packet_restores_one_value_at_most() {
        let (_, mut profile) = begun(&EIGHT);
        let order = round(&mut profile);
        order[..3].iter().for_each(|&number| profile.skip(number));
        assert_eq!(profile.next(8), (order[3], Why::PassesOver));
        let states: [State; 3] = core::array::from_fn(|at| profile.state(order[at]));
        assert_eq!(states, [State::Good, State::Skip, State::Skip]);
        assert_eq!([(); 4].map(|()| profile.next(8).0), [order[4], order[5], order[6], order[7]]);
        assert_eq!(profile.next(8), (order[0], Why::Next));
        assert_eq!(profile.next(8), (order[3], Why::PassesOver));
    }

    #[test]
    fn where_all_are_to_be_skipped_the_first_goes_after_a_round() {
        let (_, mut profile) = begun(&EIGHT);
        let order = round(&mut profile);
        order.iter().for_each(|&number| profile.skip(number));
        assert_eq!(profile.next(8), (order[0], Why::Restored));
        assert_eq!(profile.next(8), (order[0], Why::PassesOver), "the second is good from now on");
        assert_eq!(profile.next(8), (order[1], Why::Next));
    }

    #[test]
    fn a_backup_of_the_same_plane_replaces_a_bad_value() {
        let (mrc, mut profile) = begun(&EIGHT);
        let order = round(&mut profile);
        assert!(profile.fail(&mrc, 5) && !profile.fail(&mrc, 5));
        let expected = order.map(|number| if number == 5 { 9 } else { number });
        assert_eq!((round(&mut profile), profile.bad), (expected, 1));
        // The only backup of that plane is in use: the place of the next one stays empty.
        profile.fail(&mrc, 9);
        assert!(round(&mut profile).iter().all(|&number| number != 9 && number != 5));
        // Other planes have kept theirs.
        assert_eq!(profile.slots[8..12], [8, 5, 10, 11]);
        profile.fail(&mrc, 2);
        assert_eq!(profile.slots[8..12], [8, 5, 2, 11]);
    }

    #[test]
    fn enough_answers_in_a_row_bring_a_value_back() {
        let (mrc, mut profile) = begun(&EIGHT);
        profile.fail(&mrc, 5);
        let mut hears = |marked: Option<bool>| profile.answered(&mrc, 5, marked);
        assert_eq!([Some(false), None, Some(false)].map(&mut hears), [false, false, false]);
        assert!(hears(Some(true)) && !hears(Some(false)), "no longer bad");
        assert_eq!((profile.state(5), profile.bad), (State::Skip, 0), "the last answer was marked");
        assert!(round(&mut profile).contains(&9), "it is a backup now");
        profile.fail(&mrc, 9);
        assert!(round(&mut profile).contains(&5) || round(&mut profile).contains(&5));
    }

    #[test]
    fn what_comes_back_fills_an_empty_place_of_its_plane() {
        let (mrc, mut profile) = begun(&EIGHT);
        for number in [5, 9, 6] {
            profile.fail(&mrc, number);
        }
        // 9 has no backup and keeps its place; 5 is out, and comes back for it.
        profile.answered(&mrc, 5, Some(false));
        assert!(profile.answered(&mrc, 5, Some(false)));
        assert_eq!(sorted(round(&mut profile)), [0, 1, 2, 3, 4, 5, 7, 10]);
    }

    #[test]
    fn the_denied_are_never_used_and_never_probed() {
        let config = Config { denied_planes: 1, denied_values: 1, ..EIGHT };
        let (mrc, mut profile) = begun(&config);
        // Plane 0 has 0, 4 and 8. Of the others 1, 2 and 3 are denied and replaced.
        let used = [(); 12].map(|()| profile.next(8).0);
        assert!(used.iter().all(|number| [5, 6, 7, 9, 10, 11].contains(number)), "{used:?}");
        assert!(!profile.fail(&mrc, 1) && profile.next_bad(12).is_none());
        [5, 6, 7, 9, 10, 11].iter().for_each(|&number| assert!(profile.fail(&mrc, number)));
        // Only values assumed bad are left.
        let (number, why) = profile.next(8);
        assert!(why == Why::NoneGood && [5, 6, 7, 9, 10, 11].contains(&number));
        assert_ne!(profile.next(8).0, number, "in turn");
    }

    #[test]
    fn bad_values_are_probed_in_turn() {
        let (mrc, mut profile) = begun(&EIGHT);
        [7, 1, 4].iter().for_each(|&number| _ = profile.fail(&mrc, number));
        assert_eq!([(); 4].map(|()| profile.next_bad(12)), [1, 4, 7, 1].map(Some));
    }
}
