//! REPS and MRC step by step: one flow over four spines, one of which is slow and one dies silently. What passed the
//! NIC is read off the wire, and each value is computed from it by rules written separately here.

use crate::common::wire::{Follows, Pass, What, left, wire, with_timeouts};
use crate::common::{all_finished, flow, flow_column, link, merged, run, series};
use serde_json::{Value, json};
use spinewise_sim::outcome::Outcome;
use std::collections::{BTreeMap, BTreeSet};

const US: u64 = 1_000_000;
/// When the link dies, and the retransmission timeout.
const DIES: u64 = 30 * US;
const RTO: u64 = 40 * US;
const DEAD: &str = "leaf0->spine2";

/// Two hosts. Each packet is answered separately. What leaf0 sends to spine2 is lost from some instant on, and nothing
/// reports that.
fn one_flow(scheme: Value, bytes: u64) -> Value {
    json!({
        "preset": "uet-htsim", "scheme": scheme,
        "topology": {"leaves": 2, "spines": 4, "hosts_per_leaf": 1, "host_rate_gbps": 100, "fabric_rate_gbps": 100,
                     "host_delay_ns": 1000, "fabric_delay_ns": 1000, "override": [{"spine": 1, "rate_gbps": 10}]},
        "transport": {"ack_every_bytes": 1, "rto_us": 40},
        "traffic": [{"kind": "flows", "list": [flow(0, 1, bytes, 0)]}],
        "fault": [{"kind": "down", "ends": ["leaf0", "spine2"], "direction": "forward", "at_us": 30}],
        "detection": {"mode": "never"},
        "run": {"until_us": 20_000},
    })
}

/// Each value keeps to one uplink, and all four are used: the value is what chooses.
fn uplinks(passes: &[Pass]) -> BTreeMap<u16, &str> {
    let mut of = BTreeMap::new();
    for pass in passes {
        if let What::Data { value, uplink, .. } = &pass.what {
            assert_eq!(*of.entry(*value).or_insert(uplink.as_str()), uplink, "value {value}");
        }
    }
    assert_eq!(of.values().collect::<BTreeSet<_>>().len(), 4);
    of
}

/// The packet in hand has this value by this rule, or not.
fn agree(what: &What, value: Option<u16>, says: &'static str) -> Result<(), String> {
    let What::Data { value: its, rule, .. } = what else { panic!("{what:?} is no data") };
    match rule.contains(says) && value.is_none_or(|value| value == *its) {
        true => Ok(()),
        false => Err(format!("{its} by \"{rule}\", not {value:?} by \"{says}\"")),
    }
}

/// REPS: the values that came through since the last thaw, each fresh until it is used. The last eight count.
#[derive(Clone, Default)]
struct Reps {
    came: Vec<(u16, bool)>,
    frozen: Option<u64>,
    used_frozen: usize,
    explore: usize,
    freezes: Vec<u64>,
    thaws: Vec<u64>,
    /// By rule: the number of packets, and how many of these took the dead link.
    met: BTreeMap<&'static str, (u32, u32)>,
}

impl Reps {
    const STAYS: u64 = 150 * US;
    const EXPLORE: usize = 5;

    /// Any event may thaw it.
    fn thaw(&mut self, now: u64) {
        if self.frozen.is_some_and(|since| now - since > Self::STAYS) {
            (self.frozen, self.explore) = (None, Self::EXPLORE);
            self.came.clear();
            self.thaws.push(now);
        }
    }

    /// The value that must be next, unless it is drawn; and a part of the rule's text.
    fn next(&mut self) -> (Option<u16>, &'static str) {
        let ring = self.came.len().saturating_sub(8);
        let fresh = self.came[ring..].iter().position(|&(_, fresh)| fresh).map(|at| ring + at);
        let (at, says) = match (self.explore, self.frozen, fresh) {
            (1.., _, _) => {
                self.explore -= 1;
                (None, "has just thawed")
            }
            (0, Some(_), _) => {
                // Slots are written in turn: the n-th value that came through is in slot n mod 8.
                let slot = self.used_frozen % self.came.len().clamp(1, 8);
                self.used_frozen += 1;
                ((ring..self.came.len()).find(|at| at % 8 == slot), "frozen")
            }
            (0, None, None) => (None, "no value that came through is left"),
            (0, None, fresh) => (fresh, "the oldest entropy value"),
        };
        if let Some(at) = at {
            self.came[at].1 = false;
        }
        (at.map(|at| self.came[at].0), says)
    }
}

impl Follows for Reps {
    fn follow(&mut self, at: u64, what: &What) -> Result<(), String> {
        match what {
            What::Ack { value, marked, .. } => {
                self.thaw(at);
                if !marked {
                    self.came.push((*value, true));
                }
            }
            What::Trim { last_hop: false, .. } => self.thaw(at),
            What::TimedOut { .. } => {
                self.thaw(at);
                if self.frozen.is_none() && self.explore == 0 {
                    (self.frozen, self.used_frozen) = (Some(at), 0);
                    self.freezes.push(at);
                }
            }
            What::Data { uplink, .. } => {
                let (value, says) = self.next();
                agree(what, value, says)?;
                let (all, dead) = self.met.entry(says).or_default();
                *all += 1;
                *dead += u32::from(at > DIES && uplink == DEAD);
            }
            What::Trim { last_hop: true, .. } | What::Probe { .. } | What::Reply { .. } => panic!("{what:?} of REPS"),
        }
        Ok(())
    }
}

#[test]
fn reps_recycles_freezes_and_thaws_packet_by_packet() {
    let params = json!({"values": 64, "frozen_us": 150, "explore": Reps::EXPLORE});
    let (outcome, _, passes) = wire(&one_flow(json!({"name": "reps", "params": params}), 4_000_000));
    all_finished(&outcome);
    let of = uplinks(&passes);
    let reps = Reps::default().follow_all(&with_timeouts(passes.clone(), RTO));
    assert_eq!(reps.met.len(), 4, "{:?}", reps.met);
    // Packets on the link as it died are also lost.
    let [first, ..] = reps.freezes[..] else { panic!("it never froze") };
    assert!((DIES + RTO - 3 * US..DIES + RTO + 3 * US).contains(&first), "{first}");
    let [thaw, ..] = reps.thaws[..] else { panic!("it never thawed") };
    assert!((Reps::STAYS..Reps::STAYS + 5 * US).contains(&(thaw - first)), "{thaw}");
    // Values that came through do not lead over the dead link; only drawn ones do.
    assert!(reps.met["frozen"].0 > 300 && reps.met["frozen"].1 == 0, "{:?}", reps.met);
    assert!(reps.met["no value that came through is left"].1 + reps.met["has just thawed"].1 > 0, "{:?}", reps.met);
    assert!(reps.freezes.len() > 1, "what explores may lose a packet there, and freezes anew");
    assert!(link(&outcome, DEAD)["lost"].as_u64() > Some(0) && of.len() > 32);
}

/// The state of a value of MRC.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Good,
    Skip,
    Bad,
}

/// A probe: of which number, when it was requested, and its outcome.
#[derive(Clone, Copy)]
struct Probe {
    number: u16,
    asked: u64,
    came: Option<(u64, Option<bool>)>,
}

/// MRC: sixteen values of four planes in one order, and a backup of each plane. A number is a value less that of the first.
#[derive(Clone)]
struct Mrc {
    above: u16,
    slots: Vec<u16>,
    backups: Vec<u16>,
    state: [State; 20],
    next: usize,
    probes: Vec<Probe>,
    probed: usize,
    probe_at: u64,
    /// Probes as they left: the number of each.
    left: BTreeMap<u64, u16>,
    met: BTreeMap<&'static str, u32>,
}

impl Mrc {
    const PERIOD: u64 = 50 * US;
    const GIVES_UP: u64 = 100 * US;

    fn of(&mut self, number: u16) -> &mut State {
        &mut self.state[usize::from(number)]
    }

    fn choose(&mut self) -> (u16, &'static str) {
        let mut restored = false;
        for at in (self.next..self.next + 16).map(|at| at % 16) {
            let number = self.slots[at];
            match *self.of(number) {
                State::Good => {
                    self.next = at + 1;
                    return (number, if restored { "is skipped once" } else { "the next good entropy value" });
                }
                State::Skip if !restored => (*self.of(number), restored) = (State::Good, true),
                State::Skip | State::Bad => {}
            }
        }
        panic!("there is always a good value here")
    }

    fn skip(&mut self, number: u16) {
        if *self.of(number) == State::Good {
            *self.of(number) = State::Skip;
        }
    }

    fn lose(&mut self, now: u64, number: u16) {
        if *self.of(number) == State::Bad {
            return;
        }
        if !self.state.contains(&State::Bad) {
            self.probe_at = now + Self::PERIOD;
        }
        *self.of(number) = State::Bad;
        self.fill(number);
    }

    /// Replaces a number in rotation with a backup of the same plane.
    fn fill(&mut self, number: u16) {
        let usable = |&backup: &u16| backup % 4 == number % 4 && self.state[usize::from(backup)] != State::Bad;
        let backup = self.backups.iter().position(usable);
        if let (Some(slot), Some(backup)) = (self.slots.iter().position(|&other| other == number), backup) {
            std::mem::swap(&mut self.slots[slot], &mut self.backups[backup]);
        }
    }

    /// After each news of a packet: answers to probes are taken, and other probes are sent.
    fn looks(&mut self, now: u64) {
        for probe in &mut self.probes {
            if probe.came.is_none() && probe.asked + Self::GIVES_UP <= now {
                probe.came = Some((probe.asked + Self::GIVES_UP, None));
            }
        }
        let heard = |probe: &Probe| probe.came.is_some_and(|(at, _)| at <= now);
        let (done, waiting): (Vec<Probe>, Vec<Probe>) = self.probes.iter().copied().partition(heard);
        self.probes = waiting;
        for Probe { number, came, .. } in done {
            let answer = came.and_then(|(_, marked)| marked);
            if let (Some(marked), State::Bad) = (answer, *self.of(number)) {
                *self.of(number) = if marked { State::Skip } else { State::Good };
                let empty = |&other: &u16| other % 4 == number % 4 && self.state[usize::from(other)] == State::Bad;
                if let Some(bad) = self.slots.iter().copied().find(|other| empty(other)) {
                    self.fill(bad);
                }
            }
        }
        if self.probes.is_empty() && self.state.contains(&State::Bad) && now >= self.probe_at {
            let in_turn = (1..=20).map(|n| (self.probed + n) % 20).filter(|&n| self.state[n] == State::Bad);
            let round: Vec<usize> = in_turn.take(2).collect();
            self.probed = round[round.len() - 1];
            self.probes = round.iter().map(|&n| Probe { number: n as u16, asked: now, came: None }).collect();
            self.probe_at = now + Self::PERIOD;
        }
    }
}

impl Follows for Mrc {
    fn follow(&mut self, at: u64, what: &What) -> Result<(), String> {
        match what {
            What::Ack { value, marked, .. } => {
                if *marked {
                    self.skip(value - self.above);
                }
                self.looks(at);
            }
            What::Trim { value, last_hop: false, .. } => {
                self.skip(value - self.above);
                self.looks(at);
            }
            What::TimedOut { value } => {
                self.lose(at, value - self.above);
                self.looks(at);
            }
            What::Data { .. } => {
                let (number, says) = self.choose();
                agree(what, Some(self.above + number), says)?;
                *self.met.entry(says).or_default() += 1;
            }
            What::Probe { value, number } => {
                let asked = self.probes.iter().any(|probe| probe.number + self.above == *value && probe.came.is_none());
                self.left.insert(*number, value - self.above);
                return if asked { Ok(()) } else { Err(format!("nobody asked for a probe of {value}")) };
            }
            What::Reply { number, marked } => {
                let of = self.left[number];
                if let Some(probe) = self.probes.iter_mut().find(|probe| probe.number == of && probe.came.is_none()) {
                    probe.came = Some((at, Some(*marked)));
                }
            }
            What::Trim { last_hop: true, .. } => panic!("{what:?}"),
        }
        Ok(())
    }
}

#[test]
fn mrc_skips_replaces_and_probes_packet_by_packet() {
    let params = json!({"values": 16, "planes": 4, "backups": 1, "probe_period_us": 50, "probes": 2});
    let mut spec = one_flow(json!({"name": "mrc", "params": params}), 6_000_000);
    spec["fault"][0]["until_us"] = json!(250);
    let (outcome, _, passes) = wire(&merged(&spec, &json!({"metrics": {"series_interval_us": 1000}})));
    all_finished(&outcome);
    let of = uplinks(&passes);
    // Before anything is heard each value has its first turn.
    let data = |pass: &Pass| if let What::Data { value, .. } = pass.what { Some(value) } else { None };
    let first: Vec<u16> = passes.iter().filter_map(data).take(16).collect();
    let above = first.iter().min().expect("values") / 32 * 32;
    let slots: Vec<u16> = first.iter().map(|value| value - above).collect();
    assert_eq!(slots.iter().copied().collect::<BTreeSet<_>>(), (0..16).collect());
    let (left, met) = (BTreeMap::new(), BTreeMap::new());
    let (backups, state) = ((16..20).collect(), [State::Good; 20]);
    let mrc = Mrc { above, slots, backups, state, next: 0, probes: vec![], probed: 0, probe_at: 0, left, met };
    let mrc = mrc.follow_all(&with_timeouts(passes.clone(), RTO));
    assert_eq!(mrc.met.len(), 2, "{:?}", mrc.met);
    // As many values of each plane are in rotation at the end as at the beginning.
    assert!((0..4).all(|plane| mrc.slots.iter().filter(|&&number| number % 4 == plane).count() == 4));
    // All values over the dead link are out within 90 us; when it is back, probes bring them back.
    let on_it = |pass: &&Pass| matches!(&pass.what, What::Data { uplink, .. } if uplink == DEAD);
    let there = |from: u64, to: u64| passes.iter().filter(on_it).filter(|p| (from..to).contains(&p.at)).count();
    let (out, back) = (DIES + 90 * US, 250 * US);
    assert!(there(DIES, out) > 0 && there(out, back) == 0 && there(back, u64::MAX) > 0);
    let told = |what: &str| -> Vec<(u64, u16)> {
        series(&outcome, what).iter().map(|&(at, _, value)| (at, value as u16)).collect()
    };
    let (bad, back) = (told("mrc.assumed_bad"), told("mrc.back"));
    assert!(bad.iter().all(|(_, value)| of[value] == DEAD) && bad.len() == back.len(), "{bad:?} {back:?}");
    assert!(back.iter().all(|&(at, _)| at > 250 * US));
}

#[test]
fn reps_leaves_a_dead_path_within_a_hundred_microseconds() {
    // The fabric of uet-htsim's recorded runs and its own numbers; REPS freezes by its rule, for 10 ms.
    let flows: Vec<Value> = (0..16).map(|n| flow(n, 16 + 7 * n, 20_000_000, 0)).collect();
    let spec = |name: &str| {
        json!({
            "preset": "uet-htsim", "scheme": {"name": name},
            "topology": {"leaves": 8, "spines": 16, "hosts_per_leaf": 16, "host_rate_gbps": 100,
                         "fabric_rate_gbps": 100, "host_delay_ns": 1000, "fabric_delay_ns": 1000},
            "traffic": [{"kind": "flows", "list": flows}],
            "fault": [{"kind": "down", "ends": ["leaf0", "spine5"], "direction": "forward", "at_us": 300}],
            "detection": {"mode": "never"}, "run": {"until_us": 9_000},
            "metrics": {"capture": {"at": ["leaf0->spine5"], "max_packets": 1_000_000}},
        })
    };
    // For how long each flow keeps losing packets there.
    let lost = |outcome: &Outcome| -> Vec<u64> {
        let mut of: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        for (at, flow) in left(outcome).into_iter().filter(|&(at, _)| at >= 300 * US) {
            of.entry(flow).or_insert((at, at)).1 = at;
        }
        of.into_values().map(|(first, last)| last - first).collect()
    };
    let timeouts = |outcome: &Outcome| flow_column(outcome, "timeouts").iter().sum::<u64>();
    let (reps, oblivious) = (run(&spec("reps")), run(&spec("oblivious")));
    all_finished(&reps);
    let spans = lost(&reps);
    assert!(spans.len() > 8 && spans.iter().all(|&span| span < 100 * US), "{spans:?}");
    // A scheme that sprays blindly loses packets there until the end.
    assert!(lost(&oblivious).iter().any(|&span| span > 1_000 * US) && timeouts(&reps) * 4 < timeouts(&oblivious));
}
