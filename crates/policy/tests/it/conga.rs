//! CONGA: its equations one by one, then leaves and a spine with tables filled by hand.

use crate::common::{Shell, ack, data};
use spinewise_policy::fabric::dre::{decayed, full_register, quantised, time_constant};
use spinewise_policy::schemes::conga::*;
use spinewise_policy::{Kind, Packet, Port, Rng, Span, Tier, Time, Verdict, Way, Wire};

const KEEP: u32 = 52_429; // α = 0.2
const NOW: Time = Time(1_000_000_000_000);
const AGE: Span = Span::from_ms(10);

fn from(metric: u8, fed: Option<u8>) -> Congestion {
    Congestion { from: Some(metric), from_at: NOW, fed, ..Congestion::default() }
}

#[test]
fn steady_state_of_the_estimator_is_rate_times_tau() {
    let (period, rate) = (Span::from_us(30), 10_000_000_000u64);
    let tau = time_constant(period, KEEP);
    let full = full_register(rate, tau);
    assert!(full.abs_diff(187_500) < 5, "10 Gbps · 150 µs = 187,500 bytes, not {full}");
    for eighths in 0..=7u64 {
        // A little above the boundary between two steps, so that rounding cannot hide an error of one.
        let bytes_per_period = 37_500 * eighths / 8 + 40;
        let mut x = 0;
        for _ in 0..200 {
            x = decayed(x, 1, KEEP) + bytes_per_period;
        }
        assert_eq!(quantised(x, full, 3), eighths as u8, "X = {x}");
        let after = decayed(x, 1, KEEP);
        assert!(x - after >= x / 5 && x - after <= x / 5 + 1);
    }
}

#[test]
fn late_decay_equals_timely_decay() {
    for beats in 0..80 {
        let mut timely = 250_000;
        for _ in 0..beats {
            timely = decayed(timely, 1, KEEP);
        }
        assert_eq!(decayed(250_000, beats, KEEP), timely);
    }
    assert_eq!(decayed(u32::MAX as u64, u64::MAX, KEEP), 0);
}

#[test]
fn the_metric_is_clamped() {
    assert_eq!([0, 124, 125, 999, 1000, 5000].map(|x| quantised(x, 1000, 3)), [0, 0, 1, 7, 7, 7]);
    assert_eq!(quantised(5000, 1000, 8), 255);
}

#[test]
fn stale_metrics_are_zero() {
    assert_eq!(aged(5, NOW, NOW + AGE, AGE), 5);
    assert_eq!(aged(5, NOW, NOW + AGE + Span(1), AGE), 0);
}

#[test]
fn ties_keep_the_old_port_or_draw_evenly() {
    let scores = [3u8, 1, 1, 2, 1];
    let mut rng = Rng::stream(1, "test", 0);
    assert_eq!(choose_uplink(0..5, |w| scores[w], Some(2), (&mut rng, 2)), 2);
    let mut counts = [0u32; 5];
    for _ in 0..30_000 {
        counts[choose_uplink(0..5, |w| scores[w], Some(3), (&mut rng, 2))] += 1;
    }
    assert_eq!((counts[0], counts[3]), (0, 0));
    assert!([1, 2, 4].iter().all(|&w: &usize| counts[w].abs_diff(10_000) < 400), "{counts:?}");
    assert_eq!(choose_uplink(3..5, |w| scores[w], Some(1), (&mut rng, 2)), 4, "old is outside the range");
}

#[test]
fn feedback_goes_round_changed_entries_first() {
    let mut table = [from(1, Some(1)), from(2, Some(0)), Congestion::default(), from(3, None)];
    assert_eq!(choose_feedback(&table, 0, NOW, AGE), Some(1));
    table[1].fed = Some(2);
    assert_eq!(choose_feedback(&table, 2, NOW, AGE), Some(3));
    table[3].fed = Some(3);
    assert_eq!(choose_feedback(&table, 4, NOW, AGE), Some(0), "nothing changed: in turn");
    assert_eq!(choose_feedback(&table, 1, NOW, AGE), Some(1));
    assert_eq!(choose_feedback(&table, 2, NOW, AGE), Some(3), "2 was never heard of");
    assert_eq!(choose_feedback(&table, 0, NOW + AGE + Span(1), AGE), None, "all are stale");
}

#[test]
fn drawn_feedback_is_any_that_is_known() {
    let table = [from(1, Some(1)), from(2, Some(0)), Congestion::default(), from(3, None)];
    let mut rng = Rng::stream(1, "test", 0);
    let mut drawn = [0u32; 4];
    for _ in 0..3_000 {
        drawn[draw_feedback(&table, NOW, AGE, &mut rng).unwrap()] += 1;
    }
    assert_eq!(drawn[2], 0, "never heard of");
    assert!([0, 1, 3].iter().all(|&index: &usize| drawn[index].abs_diff(1_000) < 150), "{drawn:?}");
    assert_eq!(draw_feedback(&table, NOW + AGE + Span(1), AGE, &mut rng), None, "all are stale");
}

/// Leaf 1 is heard of on all three uplinks; what packets to it take back, in the order of tags.
fn taken_back(feedback: FeedbackBy) -> Vec<u16> {
    let mut shell = leaf(&Config { feedback, ..Config::default() });
    for tag in 0..3 {
        let mut header = Header { lb_tag: Some(tag), ce: 1, feedback: None, charged: 0 };
        shell.ingress(1, &Packet { src: 4, dst: 0, ..ack(1000) }, &mut header);
    }
    let mut tags = Vec::new();
    for _ in 0..12 {
        let mut header = Header::default();
        shell.pick(1, &data(1000), &mut header);
        tags.push(header.feedback.unwrap().0);
    }
    tags
}

#[test]
fn feedback_is_in_turn_or_drawn() {
    let in_turn: Vec<u16> = (0..12).map(|n| n % 3).collect();
    assert_eq!(taken_back(FeedbackBy::InTurn), in_turn);
    let drawn = taken_back(FeedbackBy::Random);
    assert_ne!(drawn, in_turn);
    assert!((0..3).all(|tag| drawn.contains(&tag)), "{drawn:?}");
}

#[test]
fn four_consecutive_never_wraps() {
    let mut rng = Rng::stream(1, "test", 0);
    let mut starts = [0u32; 5];
    for _ in 0..5_000 {
        let range = four_consecutive(8, &mut rng);
        assert_eq!(range.len(), 4);
        starts[range.start] += 1;
    }
    assert!(starts.iter().all(|n| n.abs_diff(1_000) < 150), "{starts:?}");
    assert_eq!(four_consecutive(3, &mut rng), 0..3);
}

#[test]
fn headers_survive_the_wire() {
    for lb_tag in [None, Some(0), Some(513)] {
        for feedback in [None, Some((0, 0)), Some((258, 7))] {
            let header = Header { lb_tag, ce: 6, feedback, charged: 50 };
            let mut bytes = [0xff; 16];
            header.put(&mut bytes);
            assert_eq!(Header::get(&bytes), header);
        }
    }
    assert_eq!(Header::get(&[0; 16]), Header::default());
}

/// Leaf 0 with uplinks 4 to 6 to three spines.
fn leaf(config: &Config) -> Shell<Conga> {
    let mut shell = Shell::new(config, Tier::Leaf, 0, 3);
    shell.now = NOW;
    shell
}

/// A packet from leaf 1 brings feedback on this leaf's uplink `tag`.
fn hear(shell: &mut Shell<Conga>, tag: u16, metric: u8) {
    let mut header = Header { lb_tag: Some(0), ce: 0, feedback: Some((tag, metric)), charged: 0 };
    assert_eq!(shell.ingress(1, &Packet { src: 4, dst: 0, ..ack(1000) }, &mut header), Verdict::Forward);
}

/// Sends on a port until its own metric is `metric` of 8.
fn load(shell: &mut Shell<Conga>, port: u16, metric: u64) {
    for _ in 0..metric * 16 {
        let packet = Packet { wire: 1470, ..data(999) };
        shell.egress(Port(port), &packet, &mut Header::default());
    }
}

fn pick(shell: &mut Shell<Conga>, flow: u32) -> (Way, Header) {
    let mut header = Header::default();
    let way = shell.pick(1, &data(flow), &mut header);
    (way, header)
}

#[test]
fn a_new_flowlet_takes_the_min_max_uplink() {
    // Remote and local metrics of the three uplinks, and the uplink they call for.
    for (remote, local, best) in [
        ([5, 2, 3], [0, 0, 0], 1),
        ([5, 2, 3], [0, 4, 0], 2),
        ([5, 2, 3], [0, 4, 6], 1),
        ([5, 2, 3], [0, 6, 6], 0),
        ([0, 0, 0], [1, 1, 0], 2),
        ([7, 7, 6], [0, 0, 5], 2),
        ([0, 7, 7], [7, 0, 5], 0),
    ] {
        let config = Config { tie: Tie::Random, ..Config::default() };
        let mut shell = leaf(&config);
        (0..3).for_each(|tag| hear(&mut shell, tag, remote[tag as usize]));
        (0..3).for_each(|tag| load(&mut shell, 4 + tag, local[tag as usize]));
        let worst = |way: usize| remote[way].max(local[way] as u8);
        let least = (0..3).map(worst).min().unwrap();
        let mut picked = [0; 3];
        (0..200).for_each(|flow| picked[pick(&mut shell, flow).0.index()] += 1);
        assert!(picked[best] > 0, "{remote:?} {local:?}: {picked:?}");
        for way in 0..3 {
            assert_eq!(picked[way] > 0, worst(way) == least, "{remote:?} {local:?}: {picked:?}");
        }
    }
}

#[test]
fn a_flow_moves_only_between_flowlets_and_only_to_a_strictly_better_uplink() {
    let mut shell = leaf(&Config::default());
    let old = pick(&mut shell, 1).0;
    hear(&mut shell, old.0, 3);
    shell.wait(Span::from_us(500));
    assert_eq!(pick(&mut shell, 1).0, old, "the flowlet goes on");
    for tag in 0..3 {
        hear(&mut shell, tag, 3);
    }
    for _ in 0..50 {
        shell.wait(Span(500_000_001));
        (0..3).for_each(|tag| hear(&mut shell, tag, 3));
        assert_eq!(pick(&mut shell, 1).0, old, "a tie");
    }
    let better = (old.0 + 1) % 3;
    hear(&mut shell, better, 2);
    shell.wait(Span(500_000_001));
    assert_eq!(pick(&mut shell, 1).0, Way(better));
}

#[test]
fn what_was_fed_back_long_ago_is_forgotten() {
    let mut shell = leaf(&Config { tie: Tie::Random, ..Config::default() });
    hear(&mut shell, 0, 1);
    hear(&mut shell, 1, 1);
    shell.wait(AGE);
    assert!((0..100).all(|flow| pick(&mut shell, flow).0 == Way(2)));
    shell.wait(Span(1));
    assert!((100..200).any(|flow| pick(&mut shell, flow).0 == Way(0)), "it is tried again");
}

#[test]
fn congestion_comes_back_from_the_destination_leaf() {
    let config = Config::default();
    let (mut source, mut spine) = (leaf(&config), Shell::<Conga>::new(&config, Tier::Spine, 4, 4));
    let mut destination = Shell::<Conga>::new(&config, Tier::Leaf, 1, 3);
    (spine.now, destination.now) = (NOW, NOW);
    load(&mut source, 5, 6);
    load(&mut spine, 1, 4);
    let (way, mut header) = pick(&mut source, 1);
    source.egress(Port(4 + way.0), &data(1), &mut header);
    assert_eq!((header.lb_tag, header.ce, header.feedback), (Some(way.0), 0, None));
    spine.egress(Port(1), &data(1), &mut header);
    assert_eq!(header.ce, 4, "the link from the spine to leaf 1");
    spine.egress(Port(2), &data(1), &mut header);
    assert_eq!(header.ce, 4, "an idle link leaves it alone");
    let mut bytes = [0; 16];
    header.put(&mut bytes);
    destination.ingress(0, &data(1), &mut Header::get(&bytes));
    assert_eq!(destination.routes[way.index()].from, Some(4));
    // The next packet the other way carries it.
    let mut back = Header::default();
    destination.pick(0, &Packet { src: 4, dst: 0, ..ack(2) }, &mut back);
    assert_eq!(back.feedback, Some((way.0, 4)));
    source.ingress(1, &ack(2), &mut back);
    assert_eq!(source.routes[way.index()].to, 4);
    // A flow that follows avoids that uplink, and the loaded one.
    let next = pick(&mut source, 2).0;
    assert!(next != way && next != Way(1), "{next:?}");
}

#[test]
fn feedback_goes_round_and_ages() {
    let mut shell = leaf(&Config::default());
    let arrive = |shell: &mut Shell<Conga>, tag, ce| {
        let mut header = Header { lb_tag: Some(tag), ce, feedback: None, charged: 0 };
        shell.ingress(1, &Packet { src: 4, dst: 0, ..data(7) }, &mut header);
    };
    let fed = |shell: &mut Shell<Conga>| pick(shell, 1).1.feedback;
    assert_eq!(fed(&mut shell), None);
    (0..3).for_each(|tag| arrive(&mut shell, tag, tag as u8 + 1));
    let round = [0, 1, 2].map(|_| fed(&mut shell));
    assert_eq!(round, [Some((0, 1)), Some((1, 2)), Some((2, 3))]);
    assert_eq!(fed(&mut shell), Some((0, 1)), "nothing has changed: in turn");
    arrive(&mut shell, 0, 7);
    arrive(&mut shell, 2, 3);
    assert_eq!(fed(&mut shell), Some((0, 7)), "the changed one before 1 and 2");
    assert_eq!(fed(&mut shell), Some((1, 2)), "then in turn");
    shell.wait(AGE);
    arrive(&mut shell, 1, 5);
    shell.wait(Span(1));
    assert_eq!([fed(&mut shell), fed(&mut shell)], [Some((1, 5)); 2], "the others are stale");
    shell.wait(AGE);
    assert_eq!(fed(&mut shell), None);
}

#[test]
fn the_source_leaf_writes_its_own_metric_if_told_to() {
    for (ce_at_source, ce) in [(CeAtSource::Zero, 0), (CeAtSource::Local, 5)] {
        let mut shell = leaf(&Config { ce_at_source, ..Config::default() });
        load(&mut shell, 4, 5);
        let mut header = Header::default();
        shell.egress(Port(4), &data(1), &mut header);
        assert_eq!(header.ce, ce);
    }
}

#[test]
fn the_estimator_follows_a_steady_rate_on_ports_of_any_speed() {
    for (rate, share) in [(1u64, 3u64), (3, 5), (10, 2), (10, 7), (40, 4), (100, 6)] {
        let mut shell = leaf(&Config::default());
        shell.room.ports.rates[4] = rate * 1_000_000_000;
        // `share` eighths of the rate and 2 % more, to keep clear of the step's edge before a decay.
        let gap = Span(1500 * 8 * 1000 / rate * 8 * 100 / (share * 102));
        for _ in 0..2_000_000_000 / gap.0 {
            shell.wait(gap);
            shell.egress(Port(4), &data(1), &mut Header::default());
        }
        let dre = shell.ports[4].dre;
        let eighths = dre.bytes as f64 * 8.0 / dre.full as f64;
        // A fifth is lost at each beat and regained until the next; one packet more or less.
        let packet = 1500.0 * 8.0 / dre.full as f64;
        let (low, high) = (share as f64 * 1.02 * 0.8 - packet, share as f64 * 1.02 + packet);
        assert!(eighths > low && eighths < high, "{rate} Gbps, {share}/8: {eighths}");
    }
}

#[test]
fn spines_hash_over_parallel_links_and_stamp_nothing() {
    let mut spine = Shell::<Conga>::new(&Config::default(), Tier::Spine, 4, 4);
    let mut header = Header { lb_tag: Some(2), ce: 3, feedback: Some((1, 1)), charged: 0 };
    let before = header;
    let mut used = [0u32; 4];
    for flow in 0..4_000u64 {
        let packet = Packet { hashed: spinewise_policy::Hashed::Mixed { pair: 1, inner: flow, tag: 0 }, ..data(1) };
        let way = spine.pick(0, &packet, &mut header);
        assert_eq!(spine.pick(0, &packet, &mut header), way, "a flow stays");
        used[way.index()] += 1;
    }
    assert_eq!(header, before);
    assert!(used.iter().all(|n| n.abs_diff(1_000) < 150), "{used:?}");
}

#[test]
fn probes_are_flowlets_of_one_packet_and_bytes_are_charged_as_told() {
    let mut shell = leaf(&Config { header_bytes: 50, ..Config::default() });
    let way = pick(&mut shell, 1).0;
    hear(&mut shell, way.0, 5);
    let mut header = Header::default();
    let probe = Packet { kind: Kind::Probe, ..data(1) };
    assert_ne!(shell.pick(1, &probe, &mut header), way);
    assert_eq!(header.wire(), 50);
    assert_eq!(pick(&mut shell, 1).0, way, "the flow's row was not touched");
    // A packet that stayed in its rack was never stamped and teaches nothing.
    let before = shell.routes.clone();
    shell.ingress(0, &Packet { src: 1, dst: 0, ..data(5) }, &mut Header::default());
    assert_eq!(shell.routes[..3], before[..3]);
}
