//! Whether a peer's data path answers at all.
//!
//! An agent that talks may still be deaf to the tunnel: its programs have been removed from the device, or a firewall
//! lets one port through and not the other. Traffic to it must then be plain. So probes as long as the longest packet
//! of the tunnel are sent by the paths in turn. Any sign of life clears the suspicion: the answer to a probe of any
//! kind, or a packet confirmed.

/// Interval between probes while they are answered, ns.
const SELDOM: u64 = 500_000_000;
/// The same while the last one is not.
const OFTEN: u64 = 100_000_000;
/// Silence for which the tunnel is given up, ns.
const SILENT: u64 = 2_000_000_000;

/// What is known of it. All times are in time awake, ns.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reach {
    /// The first probe since the last sign of life.
    asked: Option<u64>,
    probed: Option<u64>,
    turn: usize,
}

impl Reach {
    /// Whether a probe is due. If so, the caller sends one; the number returned grows by one each time.
    pub fn wants(&mut self, awake: u64) -> Option<usize> {
        let period = if self.asked.is_some() { OFTEN } else { SELDOM };
        if self.probed.is_some_and(|probed| awake.saturating_sub(probed) < period) {
            return None;
        }
        self.probed = Some(awake);
        self.turn = self.turn.wrapping_add(1);
        Some(self.turn)
    }

    /// A probe was handed to the kernel, or refused by it, as if it were too long.
    pub fn asked(&mut self, awake: u64) {
        self.asked = self.asked.or(Some(awake));
    }

    /// Something has come back.
    pub fn answered(&mut self) {
        self.asked = None;
    }

    /// Whether it must be given up.
    pub fn is_lost(&self, awake: u64) -> bool {
        self.asked.is_some_and(|asked| awake.saturating_sub(asked) > SILENT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// The probes until the peer is lost, or 10 s have gone; `answers` says which are answered.
    fn probes(answers: impl Fn(usize) -> bool) -> (Vec<u64>, bool) {
        let (mut reach, mut sent) = (Reach::default(), Vec::new());
        for awake in (0..10_000).map(|ms| ms * MS) {
            if reach.wants(awake).is_some() {
                reach.asked(awake);
                if answers(sent.len()) {
                    reach.answered();
                }
                sent.push(awake / MS);
            }
            if reach.is_lost(awake) {
                return (sent, true);
            }
        }
        (sent, false)
    }

    #[test]
    fn one_answer_in_two_seconds_is_enough_and_none_is_not() {
        assert_eq!(probes(|_| true), ((0..20).map(|probe| probe * 500).collect(), false));
        assert!(!probes(|probe| probe % 15 == 0).1);
        let (sent, lost) = probes(|probe| probe < 3);
        assert_eq!((sent.len(), sent[3], sent[4], lost), (3 + 21, 1_500, 1_600, true));
    }
}
