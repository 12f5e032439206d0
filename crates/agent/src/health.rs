//! Dead paths: what is sent by them grows, what is confirmed stands still, and probes find nobody.
//!
//! A path is *suspect* when so many packets have gone by it since the last one that was confirmed, for half of
//! `silent_ms`; a probe is sent at once. It is *dead* when that probe has not come back for `silent_ms` either: packets
//! alone do not prove it, for a peer that sends nothing confirms nothing. Every path is probed each `probe_ms` besides; two
//! probes lost in a row make it dead, three answers in a row bring it back.

use crate::config;

/// Lost probes in a row that make a path dead.
const LOST: u8 = 2;
/// Answers in a row that bring it back.
const BACK: u8 = 3;

/// One path.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pulse {
    /// Packets sent, and confirmed, as last seen.
    sent: u64,
    confirmed: u32,
    /// Sent by then, when the last one was confirmed.
    sent_then: u64,
    /// First packet since then that is not confirmed, ns; 0: all are.
    waiting_since: u64,
    /// When a probe was last sent.
    probed: u64,
    /// When the last answer came, to a probe that was sent when.
    proven: u64,
    lost: u8,
    answered: u8,
    dead: bool,
}

/// What has become of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It has died.
    Died,
    /// It is back.
    Back,
}

impl Pulse {
    /// Is it held to be dead?
    pub fn is_dead(&self) -> bool {
        self.dead
    }

    /// Counts of packets sent by it and confirmed, now.
    pub fn look(&mut self, now: u64, sent: u64, confirmed: u32, rules: &config::Health) -> Option<Turn> {
        if confirmed != self.confirmed || sent < self.sent {
            (self.confirmed, self.sent_then, self.waiting_since) = (confirmed, self.sent, 0);
            self.lost = 0;
        }
        if sent > self.sent && self.waiting_since == 0 {
            self.waiting_since = now;
        }
        self.sent = sent;
        let silent = self.silent(now, rules);
        // What was answered to a probe sent after the silence began is proof enough.
        if silent >= rules.silent_ms * 1_000_000 && self.proven < self.waiting_since && self.was_probed(now, rules) {
            return self.die();
        }
        None
    }

    /// For how long too many packets have waited to be confirmed.
    fn silent(&self, now: u64, rules: &config::Health) -> u64 {
        let many = self.sent.saturating_sub(self.sent_then) >= u64::from(rules.packets);
        if self.waiting_since > 0 && many { now.saturating_sub(self.waiting_since) } else { 0 }
    }

    /// Was it probed since it fell silent, long enough ago for an answer?
    fn was_probed(&self, now: u64, rules: &config::Health) -> bool {
        self.probed >= self.waiting_since && now.saturating_sub(self.probed) >= rules.silent_ms * 1_000_000
    }

    /// Is a probe due?
    pub fn wants_probe(&mut self, now: u64, rules: &config::Health) -> bool {
        let suspect = self.silent(now, rules) >= rules.silent_ms * 500_000 && self.probed < self.waiting_since;
        let due = suspect || now.saturating_sub(self.probed) >= rules.probe_ms * 1_000_000;
        if due {
            self.probed = now;
        }
        due
    }

    /// A probe that was sent then has come back.
    pub fn answered(&mut self, sent: u64) -> Option<Turn> {
        self.proven = self.proven.max(sent);
        self.lost = 0;
        self.answered = self.answered.saturating_add(1);
        if self.dead && self.answered >= BACK {
            self.dead = false;
            (self.sent_then, self.waiting_since) = (self.sent, 0);
            return Some(Turn::Back);
        }
        None
    }

    /// A probe has not come back.
    pub fn lost(&mut self) -> Option<Turn> {
        self.answered = 0;
        self.lost = self.lost.saturating_add(1);
        if self.lost >= LOST { self.die() } else { None }
    }

    fn die(&mut self) -> Option<Turn> {
        self.answered = 0;
        let news = !self.dead;
        self.dead = true;
        news.then_some(Turn::Died)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: config::Health = config::Health { enabled: true, silent_ms: 20, packets: 5, probe_ms: 50 };
    const MS: u64 = 1_000_000;

    /// Steps of a millisecond: packets sent in each, whether they are confirmed, and whether probes are answered. Returns
    /// when what happened.
    fn run(steps: u64, sends: u64, confirms: impl Fn(u64) -> bool, answers: impl Fn(u64) -> bool) -> Vec<(u64, Turn)> {
        let mut pulse = Pulse::default();
        let (mut sent, mut confirmed) = (0, 0);
        let mut probes: Vec<u64> = Vec::new();
        let mut turns = Vec::new();
        for step in 1..=steps {
            let now = step * MS;
            sent += sends;
            confirmed += if confirms(step) { sends as u32 } else { 0 };
            turns.extend(pulse.look(now, sent, confirmed, &RULES).map(|turn| (step, turn)));
            probes.retain(|&at| {
                let came = answers(at / MS) && now > at;
                let lost = !came && now - at > 20 * MS;
                let turn = if came {
                    pulse.answered(at)
                } else if lost {
                    pulse.lost()
                } else {
                    None
                };
                turns.extend(turn.map(|turn| (step, turn)));
                !came && !lost
            });
            if pulse.wants_probe(now, &RULES) {
                probes.push(now);
            }
        }
        turns
    }

    #[test]
    fn a_path_that_goes_silent_dies_soon_and_comes_back() {
        let turns = run(1_000, 3, |step| !(300..600).contains(&step), |step| !(300..600).contains(&step));
        assert_eq!(turns.len(), 2, "{turns:?}");
        assert!(matches!(turns[0], (at, Turn::Died) if (320..=335).contains(&at)), "{turns:?}");
        assert!(matches!(turns[1], (at, Turn::Back) if (600..=760).contains(&at)), "{turns:?}");
    }

    #[test]
    fn a_peer_that_confirms_nothing_kills_no_path_that_answers() {
        assert!(run(5_000, 3, |_| false, |_| true).is_empty());
    }

    #[test]
    fn an_idle_path_dies_by_probes_alone() {
        let turns = run(1_000, 0, |_| false, |step| step < 500);
        assert!(matches!(turns[..], [(at, Turn::Died)] if (550..=650).contains(&at)), "{turns:?}");
    }

    #[test]
    fn an_hour_without_faults_is_an_hour_without_alarms() {
        assert!(run(3_600_000, 2, |step| step % 7 == 0, |step| step % 1_000 != 1).is_empty());
    }
}
