//! Marking by a ramp.

/// ECN marking by a ramp, as RED does on the instantaneous queue: with no probability below `min` bytes, rising to
/// `probability` at `max`, and surely above.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ramp {
    /// Least queue that marks, bytes.
    pub min: u64,
    /// Greatest queue that may not mark, bytes.
    pub max: u64,
    /// Probability at `max`.
    pub probability: f64,
}

impl Ramp {
    /// Whether a queue of `bytes` calls for a mark.
    #[inline]
    pub fn marks(&self, bytes: u64, roll: impl FnOnce() -> f64) -> bool {
        if bytes <= self.min {
            return false;
        }
        if bytes > self.max {
            return true;
        }
        let share = (bytes - self.min) as f64 / (self.max - self.min).max(1) as f64;
        roll() < share * self.probability
    }
}
