//! Luopan at one switch: what is sampled and when, what an answer changes, and which paths cells take.

use crate::common::{Shell, ack, data};
use spinewise_policy::out::Action;
use spinewise_policy::schemes::luopan::{ANSWER, BODY, Config, Header, Luopan, Measure, Path, SAMPLE, Sample};
use spinewise_policy::*;

/// Leaf 0 with uplinks at ports 4 to 7, or another switch.
fn at(config: &Config, tier: Tier, device: u32) -> Shell<Luopan> {
    Shell::new(config, tier, device, 4)
}

fn leaf() -> Shell<Luopan> {
    at(&Config::default(), Tier::Leaf, 0)
}

fn path(ports: &[u16]) -> Path {
    let mut path = Path::default();
    ports.iter().for_each(|&port| path.note(port));
    path
}

/// Returns what the last hook call sent: destination, class, body.
fn sent(shell: &Shell<Luopan>) -> Vec<(To, u8, Sample)> {
    let of = |action: &Action| match *action {
        Action::Send { to, class, flow: None, way: Way::ANY, at, len, wire: 64 } => {
            (to, class, Sample::get(&shell.bodies[at as usize..(at + len) as usize]).expect("a sample"))
        }
        _ => panic!("an odd action: {action:?}"),
    };
    shell.did.iter().map(of).collect()
}

fn hear(shell: &mut Shell<Luopan>, from: u32, class: u8, body: &[u8]) -> Vec<(To, u8, Sample)> {
    let message = Message { from: Device::Switch(from), class, flow: None, in_port: Port(4), body };
    shell.call(None, None, |policy, cx, _| policy.message(cx, None, &message));
    sent(shell)
}

/// An answer from leaf 1 about the path that begins with uplink `way`, from 0.
fn answer(shell: &mut Shell<Luopan>, round: u32, way: u16, queue: u64) {
    let sample = Sample { from: 0, to: 1, round, queue, path: path(&[4 + way]) };
    assert_eq!(hear(shell, 1, ANSWER, &sample.put()), []);
}

/// The way of a packet to leaf 1, and its header.
fn pick(shell: &mut Shell<Luopan>, packet: &Packet) -> (u16, Header) {
    let mut header = Header::default();
    let way = shell.pick(1, packet, &mut header);
    (way.0, header)
}

#[test]
fn a_leaf_samples_different_uplinks_towards_each_leaf_it_has_sent_to() {
    let mut shell = leaf();
    shell.tick();
    assert_eq!(sent(&shell), [], "it has sent to nobody");
    pick(&mut shell, &data(1));
    shell.room.ports.bytes = vec![9, 9, 9, 9, 100, 200, 300, 400];
    let mut seen = [0; 4];
    for round in 2..600 {
        shell.tick();
        let samples = sent(&shell);
        assert_eq!(samples.len(), 2);
        for (to, class, sample) in &samples {
            let port = sample.path.ports()[0];
            assert_eq!((*to, *class), (To::Port(Port(port)), SAMPLE));
            let queue = u64::from(port - 3) * 100;
            assert_eq!(*sample, Sample { from: 0, to: 1, round, queue, path: path(&[port]) });
            seen[usize::from(port - 4)] += 1;
        }
        assert_ne!(samples[0].2.path, samples[1].2.path);
    }
    assert!(seen.iter().all(|times: &u32| times.abs_diff(299) < 60), "{seen:?}");
}

#[test]
fn with_fewer_uplinks_than_samples_each_is_sampled_once() {
    let mut shell = at(&Config { samples: 9, ..Config::default() }, Tier::Leaf, 0);
    pick(&mut shell, &data(1));
    shell.tick();
    let mut ports: Vec<u16> = sent(&shell).iter().map(|(_, _, sample)| sample.path.ports()[0]).collect();
    ports.sort_unstable();
    assert_eq!(ports, [4, 5, 6, 7]);
}

#[test]
fn on_the_way_queues_add_up_and_only_choices_are_noted() {
    let sample = Sample { from: 0, to: 1, round: 7, queue: 250, path: path(&[2]) };
    for (measure, queue) in [(Measure::Sum, 650), (Measure::Longest, 400)] {
        let mut spine = at(&Config { measure, ..Config::default() }, Tier::Spine, 5);
        spine.room.ports.bytes[1] = 400;
        let passed = hear(&mut spine, 0, SAMPLE, &sample.put());
        assert_eq!(passed, [(To::Port(Port(1)), SAMPLE, Sample { queue, ..sample })]);
    }
    // Two ways on: each is taken now and then, and recorded.
    let mut switch = at(&Config::default(), Tier::Aggregation, 5);
    switch.room.ports.routes[1] = vec![2, 3];
    let mut seen = [0; 2];
    for _ in 0..200 {
        let passed = hear(&mut switch, 0, SAMPLE, &sample.put());
        let port = passed[0].2.path.ports()[1];
        assert_eq!(passed[0].0, To::Port(Port(port)));
        assert_eq!(passed[0].2.path, path(&[2, port]));
        seen[usize::from(port - 2)] += 1;
    }
    assert!(seen.iter().all(|&times| times > 60), "{seen:?}");
    switch.room.ports.routes[1].clear();
    assert_eq!(hear(&mut switch, 0, SAMPLE, &sample.put()), [], "there is no way on");
}

#[test]
fn the_last_leaf_answers_the_leaf_that_asked() {
    let sample = Sample { from: 3, to: 0, round: 7, queue: 250, path: path(&[2, 1]) };
    assert_eq!(hear(&mut leaf(), 6, SAMPLE, &sample.put()), [(To::Leaf(3), ANSWER, sample)]);
}

#[test]
fn cells_take_the_shortest_path_of_the_latest_round() {
    let mut shell = at(&Config { cell_bytes: 1.0, ..Config::default() }, Tier::Leaf, 0);
    pick(&mut shell, &data(1));
    (0..5).for_each(|_| shell.tick());
    for (round, way, queue, then) in
        [(3, 2, 900, 2), (3, 1, 900, 2), (3, 3, 899, 3), (4, 0, 5_000, 0), (3, 1, 0, 0), (4, 1, 4_999, 1)]
    {
        answer(&mut shell, round, way, queue);
        let (way, header) = pick(&mut shell, &data(1));
        assert_eq!((way, header.path, header.made), (then, path(&[4 + then]), 1), "after way {way} of round {round}");
    }
}

#[test]
fn a_cell_of_64_kb_stays_on_its_path() {
    let mut shell = leaf();
    pick(&mut shell, &data(9));
    (0..2).for_each(|_| shell.tick());
    answer(&mut shell, 1, 0, 10);
    let ways: Vec<u16> = (0..60)
        .map(|n| {
            if n == 20 {
                answer(&mut shell, 2, 3, 10);
            }
            pick(&mut shell, &data(1)).0
        })
        .collect();
    // 44 packets of 1460 bytes are 64,240; the 45th would not fit into 65,536.
    let moved = ways.iter().position(|&way| way == 3);
    assert_eq!((moved, ways[0], ways[59]), (Some(44), 0, 3), "{ways:?}");
    assert!(ways.is_sorted());
    // The next cell of other flows begins now.
    assert_eq!(pick(&mut shell, &ack(2)).0, 3);
}

#[test]
fn before_any_answer_cells_are_drawn_at_random_and_later_hops_follow_notes() {
    let mut shell = leaf();
    let mut seen = [0u32; 4];
    (0..400).for_each(|flow| seen[usize::from(pick(&mut shell, &data(flow)).0)] += 1);
    assert!(seen.iter().all(|times| times.abs_diff(100) < 40), "{seen:?}");
    let mut switch = at(&Config::default(), Tier::Aggregation, 5);
    let mut header = Header { path: path(&[7, 2]), made: 1, charged: 0 };
    assert_eq!(switch.pick(1, &data(1), &mut header), Way(2));
    assert_eq!(header.made, 2);
    // Without a recorded choice, or with one of a port that no longer leads there, by hash.
    let hashed = Packet::default().spread(99, 4) as u16;
    assert_eq!(switch.pick(1, &data(1), &mut header), Way(hashed));
    let mut header = Header { path: path(&[7, 9]), made: 1, charged: 0 };
    assert_eq!(switch.pick(1, &data(1), &mut header), Way(hashed));
}

#[test]
fn where_an_uplink_leaves_cells_on_the_others_stay() {
    let mut shell = leaf();
    pick(&mut shell, &data(9));
    shell.tick();
    answer(&mut shell, 1, 2, 10);
    assert_eq!(pick(&mut shell, &data(1)).0, 2);
    shell.room.candidates = vec![4, 6, 7];
    // The third uplink is the second of those that remain.
    assert_eq!(pick(&mut shell, &data(1)).0, 1);
    assert_eq!(pick(&mut shell, &data(2)).0, 1, "and what was sampled is still its path");
}

#[test]
fn samples_and_headers_survive_the_wire() {
    let sample = Sample { from: 70_000, to: 3, round: u32::MAX - 1, queue: 1 << 40, path: path(&[1, 300, 65_535]) };
    assert_eq!(Sample::get(&sample.put()), Some(sample));
    let full = path(&[1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(full.ports(), [1, 2, 3, 4, 5, 6], "no more are noted");
    let header = Header { path: full, made: 4, charged: 50 };
    let mut bytes = [0; 16];
    header.put(&mut bytes);
    assert_eq!((Header::get(&bytes), header.wire()), (header, 50));
}

#[test]
fn what_is_no_sample_or_not_ours_is_ignored() {
    let mut shell = leaf();
    pick(&mut shell, &data(1));
    shell.tick();
    let good = Sample { from: 0, to: 1, round: 1, queue: 5, path: path(&[2]) };
    let before = shell.peers.clone();
    let mut long = good.put();
    long[20] = 7;
    let bodies = [
        vec![],
        vec![0; BODY - 1],
        vec![0; BODY + 1],
        long.to_vec(),
        Sample { from: 2, ..good }.put().to_vec(),
        Sample { to: 4, ..good }.put().to_vec(),
        Sample { to: 2, ..good }.put().to_vec(),
        Sample { round: 2, ..good }.put().to_vec(),
        Sample { path: Path::default(), ..good }.put().to_vec(),
    ];
    for body in bodies {
        assert_eq!(hear(&mut shell, 1, ANSWER, &body), [], "{body:?}");
        assert_eq!(shell.peers, before, "{body:?}");
    }
    assert_eq!(hear(&mut shell, 1, 9, &good.put()), []);
    assert_eq!(shell.peers, before, "of a class that is none");
    hear(&mut shell, 1, ANSWER, &good.put());
    assert_ne!(shell.peers, before);
}
