//! ConWeave's source half with explicit times: the packets that the source leaf sends, and when, on which of its 4
//! uplinks.

use crate::common::conweave::{Leaf, US, classes, hear, leaf, points};
use crate::common::{ack, data};
use spinewise_policy::fabric::reorder::header::{CLEAR, Header, Mark, NO_QUEUE, Stamp};
use spinewise_policy::fabric::reorder::{UNLIMITED, queues};
use spinewise_policy::schemes::conweave::source::NoGoodPath;
use spinewise_policy::schemes::conweave::{ConWeave, Config, NOTIFY, REPLY};
use spinewise_policy::*;

/// Flow `flow`'s next data packet at the source leaf.
fn next(shell: &mut Leaf, flow: u32) -> Header {
    let mut header = Header::default();
    let way = shell.pick(1, &data(flow), &mut header);
    assert_eq!(way, header.way, "the header names the path taken");
    assert_eq!((header.stamped, header.tx), (true, Stamp::of(shell.now)));
    header
}

/// A flow in phase 1: its first packet at 1 µs, its TAIL one picosecond after the deadline. Returns the TAIL.
fn rerouted(shell: &mut Leaf, flow: u32) -> Header {
    next(shell, flow);
    shell.wait(Span(8 * US + 1));
    next(shell, flow)
}

#[test]
fn a_leaf_between_the_first_and_the_last_neither_stamps_nor_moves() {
    let mut shell = leaf(&Config::default(), 0);
    let stamped = next(&mut shell, 1);
    let passing = Packet { in_port: Port(4), ..data(7) };
    for before in [Header::default(), stamped] {
        let mut header = before;
        for _ in 0..20 {
            shell.wait(Span::from_us(100));
            shell.pick(1, &passing, &mut header);
            assert_eq!(header, before);
        }
        assert!(classes(&shell).is_empty());
    }
}

#[test]
fn a_flow_opens_an_epoch_and_asks_for_an_answer() {
    let mut shell = leaf(&Config::default(), 0);
    let first = next(&mut shell, 1);
    assert_eq!((first.epoch, first.mark, first.rerouted, first.wire()), (1, Mark::Init, false, 4));
    for _ in 0..7 {
        shell.wait(Span::from_us(1));
        let later = next(&mut shell, 1);
        assert_eq!((later.epoch, later.mark, later.rerouted, later.way), (1, Mark::Data, false, first.way));
    }
}

#[test]
fn an_answer_in_time_opens_the_next_epoch_on_the_same_path() {
    // The deadline is 8 µs after the INIT at 1 µs; an answer must come before it, and be of this epoch.
    for (at, epoch, in_time) in [(8 * US, 1, true), (9 * US - 1, 1, true), (9 * US, 1, false), (8 * US, 2, false)] {
        let mut shell = leaf(&Config::default(), 0);
        let first = next(&mut shell, 1);
        shell.now = Time(at);
        hear(&mut shell, 1, REPLY, 1, epoch, first.way);
        shell.now = Time(9 * US);
        let later = next(&mut shell, 1);
        let expected = if in_time { (2, Mark::Init) } else { (1, Mark::Data) };
        assert_eq!((later.epoch, later.mark), expected, "at {at} for epoch {epoch}");
        assert_eq!((later.way, later.rerouted), (first.way, false));
        // Once: the next packet is an ordinary one, and no old deadline makes it a TAIL.
        shell.wait(Span(1));
        let mark = if in_time { Mark::Data } else { Mark::Tail };
        assert_eq!(next(&mut shell, 1).mark, mark);
    }
}

#[test]
fn without_an_answer_the_tail_goes_the_old_way_and_the_rest_the_new() {
    let mut moved = 0;
    for flow in 0..40 {
        let mut shell = leaf(&Config::default(), 0);
        shell.rng = Rng::stream(u64::from(flow), "test", 0);
        let first = next(&mut shell, flow);
        shell.wait(Span::from_us(8));
        assert_eq!(next(&mut shell, flow).mark, Mark::Data, "at the deadline itself");
        shell.wait(Span(1));
        let tail_at = shell.now;
        let tail = next(&mut shell, flow);
        assert_eq!((tail.mark, tail.rerouted, tail.way, tail.epoch), (Mark::Tail, false, first.way, 1));
        assert_eq!(tail.tail, Stamp::of(tail_at));
        assert_eq!(points(&shell, "tails"), [1.0]);
        let reroutes = points(&shell, "reroutes");
        shell.wait(Span(700));
        let after = next(&mut shell, flow);
        assert_eq!((after.mark, after.rerouted, after.epoch), (Mark::Data, true, 1));
        assert_eq!((after.tail, after.tx), (Stamp::of(tail_at), Stamp::of(tail_at + Span(700))));
        assert_eq!(reroutes, if after.way == first.way { vec![] } else { vec![f64::from(after.way.0)] });
        moved += usize::from(after.way != first.way);
    }
    assert!((20..40).contains(&moved), "a good path is drawn among all four, the present one too: {moved} of 40");
}

#[test]
fn one_reroute_is_outstanding_until_clear() {
    let mut shell = leaf(&Config::default(), 0);
    let tail = rerouted(&mut shell, 1);
    shell.wait(Span(1));
    let way = next(&mut shell, 1).way;
    for _ in 0..100 {
        shell.wait(Span::from_us(200));
        // Neither answers of phase 0 nor CLEARs of other epochs end phase 1.
        hear(&mut shell, 1, REPLY, 1, 1, tail.way);
        hear(&mut shell, 1, CLEAR, 1, 0, tail.way);
        hear(&mut shell, 1, CLEAR, 1, 2, tail.way);
        let header = next(&mut shell, 1);
        assert_eq!((header.mark, header.rerouted, header.way, header.epoch), (Mark::Data, true, way, 1));
    }
    hear(&mut shell, 1, CLEAR, 1, 1, tail.way);
    let header = next(&mut shell, 1);
    assert_eq!((header.mark, header.rerouted, header.way, header.epoch), (Mark::Init, false, way, 2));
    // A CLEAR that comes again is stale.
    hear(&mut shell, 1, CLEAR, 1, 2, tail.way);
    assert_eq!(next(&mut shell, 1).mark, Mark::Data);
    shell.wait(Span(8 * US + 1));
    assert_eq!(next(&mut shell, 1).mark, Mark::Tail, "a new deadline runs");
}

#[test]
fn a_silence_opens_an_epoch_on_a_new_path_from_either_phase() {
    let mut moved = 0;
    for flow in 0..40 {
        let mut shell = leaf(&Config::default(), 0);
        shell.rng = Rng::stream(u64::from(flow), "test", 1);
        let old = if flow % 2 == 0 { next(&mut shell, flow).way } else { rerouted(&mut shell, flow).way };
        let old = if flow % 2 == 0 { old } else { next(&mut shell, flow).way };
        shell.wait(Span::from_us(300));
        assert_ne!(next(&mut shell, flow).mark, Mark::Init, "300 µs are not longer than 300 µs");
        let old = if flow % 2 == 0 { next(&mut shell, flow).way } else { old };
        shell.wait(Span(300 * US + 1));
        let header = next(&mut shell, flow);
        assert_eq!((header.mark, header.rerouted, header.epoch), (Mark::Init, false, 2));
        let idle_moves = points(&shell, "idle_moves");
        assert_eq!(idle_moves, if header.way == old { vec![] } else { vec![f64::from(header.way.0)] });
        assert_eq!((points(&shell, "tails"), points(&shell, "reroutes")), (vec![], vec![]));
        moved += usize::from(header.way != old);
    }
    assert!((20..40).contains(&moved), "{moved} of 40");
}

#[test]
fn a_path_that_notify_names_is_avoided_for_theta_path_busy() {
    let config = Config { sampled_paths: 64, ..Config::default() };
    let mut shell = leaf(&config, 0);
    for way in 0..3 {
        hear(&mut shell, 1, NOTIFY, 7, 0, Way(way));
        assert_eq!(points(&shell, "notified"), [f64::from(way)]);
    }
    let before = shell.now;
    for flow in 0..100 {
        assert_eq!(next(&mut shell, flow).way, Way(3), "the only path that is not busy");
    }
    // Rows are per destination leaf: nothing is known of the paths to leaf 2.
    let mut used = [false; 4];
    for flow in 100..200 {
        let packet = Packet { dst: 8, ..data(flow) };
        used[shell.pick(2, &packet, &mut Header::default()).index()] = true;
    }
    assert_eq!(used, [true; 4]);
    for (at, all) in [(16 * US - 1, false), (16 * US, true)] {
        shell.now = before + Span(at);
        let used = (0..100).fold([false; 4], |mut used, flow| {
            used[next(&mut shell, 1000 + flow + all as u32 * 100).way.index()] = true;
            used
        });
        assert_eq!(used, [all, all, all, true], "{at} ps after the NOTIFY");
    }
}

#[test]
fn of_two_paths_drawn_with_replacement_the_first_good_one_is_taken() {
    // One of four is good: found with probability 1 − (3/4)^n.
    for (draws, expected) in [(1, 0.25), (2, 0.4375), (4, 0.6836)] {
        let mut shell = leaf(&Config { sampled_paths: draws, ..Config::default() }, 0);
        let flows: Vec<_> = (0..6000).filter(|&flow| next(&mut shell, flow).way != Way(3)).collect();
        shell.wait(Span(8 * US + 1));
        (0..3).for_each(|way| hear(&mut shell, 1, NOTIFY, 9999, 0, Way(way)));
        let mut moved = 0;
        for &flow in &flows {
            let tail = next(&mut shell, flow);
            let after = next(&mut shell, flow);
            assert_eq!((tail.mark, after.rerouted), (Mark::Tail, true), "the phase changes in any case");
            assert!(after.way == tail.way || after.way == Way(3));
            moved += usize::from(after.way == Way(3));
        }
        let share = moved as f64 / flows.len() as f64;
        let sigma = (expected * (1.0 - expected) / flows.len() as f64).sqrt();
        assert!((share - expected).abs() < 4.0 * sigma, "{draws} draws: {share} of flows moved");
    }
}

#[test]
fn with_no_good_path_a_flow_changes_phase_where_it_is_or_waits() {
    for (rule, marks) in [
        (NoGoodPath::Tail, [Mark::Tail, Mark::Data, Mark::Data]),
        (NoGoodPath::Wait, [Mark::Data, Mark::Data, Mark::Tail]),
    ] {
        let mut shell = leaf(&Config { no_good_path: rule, sampled_paths: 64, ..Config::default() }, 0);
        let first = next(&mut shell, 1);
        shell.wait(Span(8 * US + 1));
        let busy = shell.now;
        (0..4).for_each(|way| hear(&mut shell, 1, NOTIFY, 9, 0, Way(way)));
        for (at, mark) in [0, 10, 16].into_iter().zip(marks) {
            shell.now = busy + Span::from_us(at);
            let header = next(&mut shell, 1);
            assert_eq!((header.mark, header.way), (mark, first.way), "{rule:?} after {at} µs");
            assert_eq!(header.rerouted, rule == NoGoodPath::Tail && at > 0);
        }
    }
}

#[test]
fn a_flow_that_found_no_queue_keeps_its_path_until_silent_or_for_the_time_given() {
    for (keep_path_us, ends) in [(1e9, false), (50.0, true)] {
        let mut shell = leaf(&Config { keep_path_us, ..Config::default() }, 0);
        let tail = rerouted(&mut shell, 1);
        let way = next(&mut shell, 1).way;
        hear(&mut shell, 1, NO_QUEUE, 1, 1, way);
        assert_eq!(points(&shell, "kept"), [f64::from(way.0)]);
        hear(&mut shell, 1, NO_QUEUE, 1, 1, way);
        assert_eq!(points(&shell, "kept"), [] as [f64; 0], "known");
        hear(&mut shell, 1, CLEAR, 1, 1, tail.way);
        let told = shell.now;
        for at in [10, 49, 51, 200, 400] {
            shell.now = told + Span::from_us(at);
            let header = next(&mut shell, 1);
            let kept = at < 50 || !ends;
            assert_eq!(header.way == way && header.epoch == 1 && header.mark == Mark::Data, kept, "{at} µs");
        }
        shell.wait(Span(300 * US + 1));
        assert_eq!(next(&mut shell, 1).mark, Mark::Init);
        shell.wait(Span(8 * US + 1));
        assert_eq!(next(&mut shell, 1).mark, Mark::Tail, "silence ends it");
    }
    // It says nothing about another epoch.
    let mut shell = leaf(&Config::default(), 0);
    next(&mut shell, 1);
    hear(&mut shell, 1, NO_QUEUE, 1, 0, Way(0));
    hear(&mut shell, 1, NO_QUEUE, 1, 1, Way(0));
    assert!(points(&shell, "kept").is_empty(), "nothing of phase 0 overtakes");
    shell.wait(Span(8 * US + 1));
    assert_eq!(next(&mut shell, 1).mark, Mark::Tail);
}

#[test]
fn all_but_data_with_a_choice_is_hashed_and_bears_no_header() {
    let mut shell = leaf(&Config::default(), 0);
    for packet in [ack(1), Packet { kind: Kind::Probe, ..data(1) }] {
        let mut header = Header::default();
        let way = shell.pick(1, &packet, &mut header);
        assert_eq!((header, shell.pick(1, &packet, &mut header)), (Header::default(), way));
    }
    shell.room.candidates = vec![6];
    let mut header = Header::default();
    assert_eq!((shell.pick(1, &data(2), &mut header), header), (Way(0), Header::default()));
    let mut spine = Leaf::new(&Config::default(), Tier::Spine, 4, 4);
    let stamped = Header { stamped: true, epoch: 9, way: Way(1), ..Header::default() };
    let mut header = stamped;
    let mut used = [0u32; 4];
    for inner in 0..400 {
        let packet = Packet { hashed: Hashed::Mixed { pair: 1, inner, tag: 0 }, ..data(1) };
        used[spine.pick(1, &packet, &mut header).index()] += 1;
    }
    assert_eq!(header, stamped, "a spine hashes over parallel links and leaves the header alone");
    assert!(used.iter().all(|&n| n > 60), "{used:?}");
}

#[test]
fn leaves_have_the_queues_asked_for_and_rows_outlive_a_silence() {
    let shape = |tier| Shape { tier, hosts: 16, leaves: 4, ports: 8, ways: 4 };
    for (reorder_queues, expected) in [(8, 8), (32, 32), (0, UNLIMITED), (1, 1)] {
        let policy = ConWeave::new(&Config { reorder_queues, ..Config::default() });
        assert_eq!(policy.layout(&shape(Tier::Leaf)).queues, expected);
        assert_eq!(policy.layout(&shape(Tier::Spine)).queues, 0);
    }
    assert_eq!(queues(u32::MAX), UNLIMITED);
    for theta_inactive_us in [300.0, 1e5] {
        let policy = ConWeave::new(&Config { theta_inactive_us, ..Config::default() });
        let idle = policy.layout(&shape(Tier::Leaf)).flow_idle;
        assert!(idle >= Span::from_us_f64(2.0 * theta_inactive_us) && idle <= Span::from_ms(200), "{idle:?}");
    }
}
