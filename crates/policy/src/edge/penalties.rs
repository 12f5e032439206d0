//! Penalties of entropy values: those that met marks, trims or losses are passed over for a while (UecMpBitmap of uet-htsim,
//! `uec_mp.cpp`, from a description of it).

use crate::Rng;
use crate::edge::entropy::{Verdict, Walk};

/// The most values: each has four bits in the row of a flow.
const MOST: usize = 1_024;
/// Highest penalty.
const WORST: u8 = 15;

crate::choice! {
    /// The value that a timeout blames.
    Blames {
        /// The value of the packet that was waited for.
        Value = "value",
        /// The first value.
        First = "first",
    }
}

/// Row per flow: penalties of its values, four bits each, and the walk over them.
#[derive(Clone, Copy, Debug)]
pub struct Penalties {
    walk: Walk,
    bits: [u8; MOST / 2],
}

impl Default for Penalties {
    fn default() -> Self {
        Penalties { walk: Walk::default(), bits: [0; MOST / 2] }
    }
}

impl Penalties {
    fn of(&self, value: u16) -> u8 {
        let byte = self.bits[usize::from(value) / 2];
        if value.is_multiple_of(2) { byte & WORST } else { byte >> 4 }
    }

    fn set(&mut self, value: u16, penalty: u8) {
        let byte = &mut self.bits[usize::from(value) / 2];
        *byte = if value.is_multiple_of(2) { *byte & 0xf0 | penalty } else { *byte & WORST | penalty << 4 };
    }

    /// Records the outcome of a packet with this value.
    pub fn blame(&mut self, values: u16, value: u16, verdict: Verdict) {
        let more = match verdict {
            Verdict::Good => return,
            Verdict::Marked => 1,
            Verdict::Trimmed => 4,
            Verdict::Lost => WORST,
        };
        let value = value & (values - 1);
        self.set(value, (self.of(value) + more).min(WORST));
    }

    /// The value of the next packet.
    pub fn choose(&mut self, values: u16, rng: &mut Rng) -> u16 {
        self.walk.begin(values, rng);
        for passed in 0..=values {
            let value = self.walk.next(values);
            let penalty = self.of(value);
            if penalty == 0 {
                break;
            }
            if passed == 0 {
                self.set(value, penalty - 1);
            }
            // After as many steps as there are values, what is there is taken.
            if passed == values {
                break;
            }
            self.walk.go_on(values, rng);
        }
        let value = self.walk.whole(values);
        self.walk.go_on(values, rng);
        value
    }
}

impl Blames {
    /// The value that a verdict applies to.
    pub const fn blamed(self, value: u16, verdict: Verdict) -> u16 {
        match (self, verdict) {
            (Blames::First, Verdict::Lost) => 0,
            (Blames::First | Blames::Value, _) => value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blamed_value_is_passed_over_as_often_as_its_penalty_says() {
        let (mut rng, mut flow) = (Rng::stream(1, "test", 0), Penalties::default());
        flow.blame(4, 2, Verdict::Trimmed);
        let chosen: [u16; 40] = core::array::from_fn(|_| flow.choose(4, &mut rng) & 3);
        // Four rounds pass it over, once each; then it is like the others.
        assert!(chosen[..12].iter().all(|&value| value != 2), "{chosen:?}");
        assert_eq!(chosen[12..].iter().filter(|&&value| value == 2).count(), 7, "{chosen:?}");
    }

    #[test]
    fn penalties_add_up_to_fifteen() {
        let mut flow = Penalties::default();
        for (verdict, penalty) in [(Verdict::Good, 0), (Verdict::Marked, 1), (Verdict::Trimmed, 5), (Verdict::Lost, 15)]
        {
            flow.blame(8, 13, verdict);
            assert_eq!((flow.of(5), flow.of(4)), (penalty, 0), "value 13 of 8 is value 5");
        }
    }

    #[test]
    fn it_gives_up_after_as_many_steps_as_there_are_values() {
        let (mut rng, mut flow) = (Rng::stream(1, "test", 0), Penalties::default());
        (0..4).for_each(|value| flow.blame(4, value, Verdict::Lost));
        let (mut its_rng, mut walk) = (rng, flow.walk);
        walk.begin(4, &mut its_rng);
        (0..4).for_each(|_| walk.go_on(4, &mut its_rng));
        assert_eq!(flow.choose(4, &mut rng), walk.whole(4));
    }

    #[test]
    fn where_all_are_blamed_one_is_taken_all_the_same() {
        let (mut rng, mut flow) = (Rng::stream(1, "test", 0), Penalties::default());
        (0..4).for_each(|value| flow.blame(4, value, Verdict::Lost));
        flow.choose(4, &mut rng);
        let left: u32 = (0..4).map(|value| u32::from(flow.of(value))).sum();
        assert_eq!(left, 59, "one of them has lost one");
    }
}
