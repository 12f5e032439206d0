use super::*;

const RULES: config::Health = config::Health { enabled: true, silent_ms: 20, packets: 5, probe_ms: 50 };
const MS: u64 = 1_000_000;
const PATHS: usize = 4;

/// An agent over four paths, for a while.
struct Case<'a> {
    /// The time from one step of the agent to the next, by the number of the step, ms.
    step: &'a dyn Fn(u64) -> u64,
    /// When a probe or packet that leaves by a path at a millisecond is answered, if it is.
    answer: &'a dyn Fn(usize, u64) -> Option<u64>,
    /// Packets that leave by each path per millisecond.
    sends: u64,
}

impl Case<'_> {
    /// Runs until then, ms. Returns when which path turned how.
    fn run(&self, until: u64) -> Vec<(u64, usize, Turn)> {
        let (mut watch, mut awake) = (Watch::of(PATHS), Awake::since(0, MS));
        let mut probes: Vec<(usize, u64, u64)> = Vec::new();
        let mut turns = Vec::new();
        let (mut counts, mut seen) = ([(0, 0); PATHS], 0);
        let (mut now, mut number) = (0, 0);
        while now < until {
            now += (self.step)(number).max(1);
            number += 1;
            let awake = awake.step(now * MS);
            let arrived: Vec<_> = probes.iter().copied().filter(|(_, _, at)| *at <= now).collect();
            probes.retain(|(_, _, at)| *at > now);
            for (way, sent, at) in arrived {
                let turn = watch.answered(way, sent * MS, (at - sent) * MS);
                turns.extend(turn.map(|turn| (now, way, turn)));
            }
            for (way, (sent, confirmed)) in counts.iter_mut().enumerate() {
                *sent = self.sends * now;
                let came = |at: u64| (self.answer)(way, at).is_some_and(|then| then <= now);
                *confirmed += (self.sends * (seen..now).filter(|at| came(*at)).count() as u64) as u32;
            }
            seen = now;
            watch.look(awake, counts.into_iter());
            while let Some((way, why)) = watch.judge(awake, &RULES) {
                turns.push((now, way, Turn::Died(why)));
            }
            for way in watch.wants(awake, &RULES) {
                watch.asked(way, Moment { clock: now * MS, awake });
                probes.extend((self.answer)(way, now).map(|at| (way, now, at)));
            }
        }
        turns
    }
}

fn regular(_: u64) -> u64 {
    1
}

/// Which paths died, and when, ms.
fn deaths(turns: &[(u64, usize, Turn)]) -> Vec<(u64, usize)> {
    let died = turns.iter().filter(|(_, _, turn)| matches!(turn, Turn::Died(_)));
    died.map(|&(at, way, _)| (at, way)).collect()
}

#[test]
fn a_path_that_goes_silent_dies_soon_and_comes_back() {
    let hole = |way: usize, at: u64| (way != 2 || !(300..600).contains(&at)).then_some(at + 1);
    for sends in [0, 3] {
        let turns = Case { step: &regular, answer: &hole, sends }.run(1_000);
        let [(died, 2, Turn::Died(why)), (back, 2, Turn::Back)] = turns[..] else { panic!("{turns:?}") };
        // With traffic: suspect after half the patience, dead when the first probe after that is out for all of it.
        let latest = if sends > 0 { 340 } else { 375 };
        assert!((320..=latest).contains(&died), "{sends}: {turns:?}");
        assert!((600..=760).contains(&back), "{turns:?}");
        assert!(why.unanswered >= 3 && why.silent >= 20 * MS, "{why:?}");
    }
}

#[test]
fn two_of_four_paths_die_and_the_others_do_not() {
    let half = |way: usize, at: u64| (way > 1 || at < 300).then_some(at + 1);
    let found = deaths(&Case { step: &regular, answer: &half, sends: 3 }.run(1_000));
    assert_eq!(found.iter().map(|(_, way)| *way).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn a_peer_that_is_silent_on_all_paths_kills_none() {
    let nobody = |_: usize, at: u64| (!(300..900).contains(&at)).then_some(at + 1);
    assert_eq!(Case { step: &regular, answer: &nobody, sends: 3 }.run(2_000), []);
}

#[test]
fn an_agent_that_slept_does_not_take_that_for_silence() {
    // Every tenth step comes 90 ms late; answers take 25 ms, which is more than `silent_ms`.
    let sleepy = |step: u64| if step.is_multiple_of(10) { 90 } else { 1 };
    let slow = |way: usize, at: u64| Some(at + if way == 1 { 25 } else { 1 });
    assert_eq!(Case { step: &sleepy, answer: &slow, sends: 1 }.run(60_000), []);
    // The same agent finds a dead path.
    let hole = |way: usize, at: u64| (way != 3 || at < 5_000).then_some(at + 1);
    let found = deaths(&Case { step: &sleepy, answer: &hole, sends: 1 }.run(8_000));
    assert!(matches!(found[..], [(5_000..6_500, 3)]), "{found:?}");
}

#[test]
fn a_path_that_is_slow_is_not_dead() {
    // Answers of one path are held up for up to 60 ms, gradually more; those of the others are not.
    let held = |way: usize, at: u64| Some(at + 1 + if way == 0 { (at / 500).min(60) } else { 0 });
    assert_eq!(Case { step: &regular, answer: &held, sends: 2 }.run(60_000), []);
}

#[test]
fn lost_probes_of_a_path_that_confirms_packets_prove_nothing() {
    // Packets sent at an even millisecond do not arrive by path 1; those confirmed in between do.
    let half = |way: usize, at: u64| (way != 1 || at % 2 == 1).then_some(at + 1);
    assert_eq!(Case { step: &regular, answer: &half, sends: 1 }.run(20_000), []);
}

#[test]
fn an_hour_without_faults_is_an_hour_without_alarms() {
    // Every hundredth probe is lost, on another path each time.
    let lossy = |way: usize, at: u64| (!(at / 10 + 7 * way as u64).is_multiple_of(100)).then_some(at + 1);
    assert_eq!(Case { step: &regular, answer: &lossy, sends: 0 }.run(3_600_000), []);
}

#[test]
fn what_the_kernel_could_not_tell_excuses_all() {
    let mut watch = Watch::of(2);
    for probe in 0..3 {
        let at = Moment { clock: probe * 10 * MS, awake: probe * 10 * MS };
        watch.asked(0, at);
        watch.asked(1, at);
        assert_eq!(watch.answered(1, at.clock, MS), None);
    }
    assert!(watch.condemned(60 * MS, &RULES).is_some_and(|(way, _)| way == 0));
    watch.excuse();
    assert_eq!(watch.condemned(60 * MS, &RULES), None);
}

#[test]
fn the_slowest_answer_fades() {
    let mut watch = Watch::of(1);
    watch.answered(0, STRETCH, 40 * MS);
    assert_eq!(watch.slowest(), 40 * MS);
    watch.answered(0, 2 * STRETCH + 41 * MS, MS);
    assert_eq!(watch.slowest(), 40 * MS, "the stretch before counts");
    watch.answered(0, 4 * STRETCH, MS);
    assert_eq!(watch.slowest(), MS);
}

#[test]
fn paths_that_move_keep_what_is_known_of_them() {
    let mut watch = Watch::of(3);
    for probe in 0..3 {
        let at = Moment { clock: probe * 10 * MS, awake: probe * 10 * MS };
        (0..3).for_each(|way| watch.asked(way, at));
        watch.answered(1, at.clock, MS);
    }
    while watch.judge(60 * MS, &RULES).is_some() {}
    assert_eq!([0, 1, 2].map(|way| watch.is_dead(way)), [true, false, true]);
    let moved = watch.moved(&[Some((1, Same::All)), Some((2, Same::Path)), None, Some((0, Same::All))]);
    assert_eq!([0, 1, 2, 3].map(|way| moved.is_dead(way)), [false, true, false, true]);
    assert_eq!(moved.slowest(), watch.slowest());
}
