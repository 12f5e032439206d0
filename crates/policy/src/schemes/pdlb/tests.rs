//! The whole scheme at a host, behind a minimal shell: probes come back after the delays a test sets, acknowledgements
//! when it says so.

use super::*;
use crate::out::Action;
use crate::{Device, FlowKey, Out, Rng, Table};
extern crate std;
use std::boxed::Box;
use std::vec;
use std::vec::Vec;

const WAYS: u16 = 8;
const PEERS: usize = 2;
const FLOW: FlowKey = FlowKey(0);

/// One sender on host 0 and two destinations in another rack, eight paths at 1 Gbps.
pub(crate) struct Bench<V: Variant> {
    scheme: Adaptive<V>,
    pub(crate) now: Time,
    node: Node,
    peers: [Peer; PEERS],
    routes: [Route; PEERS * WAYS as usize],
    flow: Cell,
    rng: Rng,
    delay: Box<dyn Fn(usize, u16) -> Option<u64>>,
    underway: Vec<(Time, usize, Feedback)>,
    pub(crate) probes: Vec<(Time, u32, Way)>,
    pub(crate) points: Vec<(Time, u16, f64)>,
}

impl<V: Variant> Bench<V> {
    pub(crate) fn new(config: &V::Config) -> Self {
        Bench {
            scheme: Adaptive::new(config),
            now: Time::ZERO,
            node: Node::default(),
            peers: [Peer::default(); PEERS],
            routes: [Route::default(); PEERS * WAYS as usize],
            flow: Cell::default(),
            rng: Rng::stream(1, "bench", 0),
            delay: Box::new(|_, _| Some(100)),
            underway: Vec::new(),
            probes: Vec::new(),
            points: Vec::new(),
        }
    }

    /// Sets the round-trip times of the ways from now on, µs, half of it each way.
    pub(crate) fn delays(&mut self, of: impl Fn(u16) -> u64 + 'static) {
        self.delay = Box::new(move |_, way| Some(of(way)));
    }

    /// The same by peer; `None` loses the probe.
    fn delays_or_loss(&mut self, of: impl Fn(usize, u16) -> Option<u64> + 'static) {
        self.delay = Box::new(of);
    }

    fn call<R>(&mut self, peer: usize, hook: impl FnOnce(&Adaptive<V>, &mut Cx<'_, Adaptive<V>>, &mut Cell) -> R) -> R {
        let shape = Shape { tier: crate::Tier::Host, hosts: PEERS as u32, leaves: 2, ports: 1, ways: WAYS };
        let mut actions = vec![Action::MaskEcn; self.scheme.layout(&shape).actions];
        let view = HostView {
            host: 0,
            leaf: 0,
            leaf_of: &[0, 1, 1],
            ways: &[0, WAYS],
            link_rate: 1_000_000_000,
            path_rate: 1_000_000_000,
            path_rates: &[],
            base_rtt: Span::from_us(100),
            base_one_way: Span::from_us(60),
            mss: 1460,
            mtu: 1500,
        };
        let mut cx = Cx {
            now: self.now,
            node: &mut self.node,
            peers: Table {
                ids: &[1, 2],
                peers: &mut self.peers,
                routes: &mut self.routes,
                stride: usize::from(WAYS),
                current: peer,
            },
            ports: &mut [],
            view,
            rng: &mut self.rng,
            out: Out::new(&mut actions, &mut []),
        };
        let answer = hook(&self.scheme, &mut cx, &mut self.flow);
        let len = cx.out.len();
        for action in &actions[..len] {
            self.perform(*action);
        }
        answer
    }

    fn perform(&mut self, action: Action) {
        match action {
            Action::Probe { to: To::Host(peer), way, wire, ttl, give_up } => {
                assert_eq!((wire, ttl, give_up), (64, 0, Span::from_us(1_300)));
                self.probes.push((self.now, peer, way));
                if let Some(us) = (self.delay)(peer as usize - 1, way.0) {
                    let (rtt, one_way) = (Span::from_us(us), Span::from_ns(us * 500));
                    let event =
                        Event::ProbeReply { rtt, one_way, marked: false, by: Device::Host(peer), port: crate::Port(0) };
                    self.underway.push((self.now + rtt, peer as usize - 1, Feedback { way, flow: None, event }));
                }
            }
            Action::Record { series, value } => self.points.push((self.now, series, value)),
            other => panic!("PDLB has no use for {other:?}"),
        }
    }

    pub(crate) fn tell(&mut self, peer: usize, way: Way, event: Event) {
        let feedback = Feedback { way, flow: Some(FLOW), event };
        self.call(peer, |scheme, cx, flow| scheme.feedback(cx, Some(flow), &feedback));
    }

    pub(crate) fn start(&mut self) {
        self.tell(0, Way::ANY, Event::FlowStart { size: 1_000_000 });
    }

    /// Periods of 100 µs, each with its answers and then its tick.
    pub(crate) fn run(&mut self, periods: usize) {
        for _ in 0..periods {
            let end = self.now + Span::from_us(100);
            self.underway.sort_by_key(|&(at, peer, feedback)| (at, peer, feedback.way));
            while self.underway.first().is_some_and(|&(at, ..)| at <= end) {
                let (at, peer, feedback) = self.underway.remove(0);
                self.now = at;
                self.call(peer, |scheme, cx, _| scheme.feedback(cx, None, &feedback));
            }
            self.now = end;
            self.call(0, |scheme, cx, _| scheme.tick(cx));
        }
    }

    pub(crate) fn granularity(&self) -> u32 {
        self.peers[0].gran
    }

    fn picks(&mut self, peer: usize, count: usize) -> Vec<u16> {
        let packet = Packet { kind: Kind::Data, dst: peer as u32 + 1, ..Packet::default() };
        (0..count).map(|_| self.call(peer, |scheme, cx, flow| scheme.pick(cx, flow, &packet, &mut ())).0).collect()
    }

    fn acks(&mut self, rtts: &[(u16, u64)]) {
        for &(way, us) in rtts {
            self.tell(
                0,
                Way(way),
                Event::Ack { bytes: 1460, rtt: Span::from_us(us), one_way: Span::from_us(us / 2), marked: false },
            );
        }
    }
}

fn bench() -> Bench<Published> {
    Bench::new(&Config::default())
}

/// The maximum length of runs of one way.
fn longest_run(ways: &[u16]) -> usize {
    ways.chunk_by(|a, b| a == b).map(<[u16]>::len).max().unwrap_or(0)
}

#[test]
fn it_probes_every_path_every_period_while_there_are_flows() {
    let mut bench = bench();
    bench.run(5);
    assert!(bench.probes.is_empty() && bench.points.is_empty(), "no flow, no probe");
    bench.start();
    bench.start();
    bench.run(3);
    assert_eq!(bench.probes.len(), 24);
    for (index, &(at, peer, way)) in bench.probes.iter().enumerate() {
        assert_eq!((at, peer, way.index()), (Time(0) + Span::from_us(600 + 100 * (index as u64 / 8)), 1, index % 8));
    }
    bench.tell(0, Way::ANY, Event::FlowEnd);
    bench.run(1);
    assert_eq!(bench.probes.len(), 32, "one flow is left");
    bench.tell(0, Way::ANY, Event::FlowEnd);
    bench.run(5);
    assert_eq!(bench.probes.len(), 32, "none is");
    bench.tell(1, Way::ANY, Event::FlowStart { size: 1 });
    bench.run(1);
    assert!(bench.probes[32..].iter().all(|&(_, peer, _)| peer == 2) && bench.probes.len() == 40);
}

#[test]
fn fine_cells_on_equal_paths_coarse_ones_on_unequal_and_back() {
    // The claim of Fig. 10a, with the delays set by hand.
    let mut bench = bench();
    bench.start();
    assert_eq!(longest_run(&bench.picks(0, 88)), 44, "nothing known: the coarsest");
    bench.run(6);
    assert_eq!(bench.granularity(), 1);
    bench.delays(|way| if way < 2 { 300 } else { 100 });
    bench.run(12);
    assert_eq!(bench.granularity(), 15, "N_b = 2, X = 3 at 1 Gbps");
    bench.delays(|_| 100);
    bench.run(12);
    assert_eq!(bench.granularity(), 1);
}

#[test]
fn slow_paths_of_a_new_pair_are_known_before_they_answer() {
    let mut bench = bench();
    bench.delays(|way| if way < 4 { 5_000 } else { 90 });
    bench.start();
    bench.run(1);
    assert_eq!(bench.granularity(), 0, "asked, not answered");
    bench.run(1);
    // Four answers of 90 µs, four paths silent for 100.
    assert_eq!(bench.granularity(), 1, "within the gate");
    bench.run(2);
    assert_eq!(bench.granularity(), 22, "silent for 300 µs");
}

#[test]
fn a_silent_path_dies_and_an_answer_revives_it() {
    let mut bench = bench();
    bench.start();
    bench.run(6);
    bench.delays_or_loss(|_, way| (way != 5).then_some(100));
    // The probe of 600 µs comes back, those from 700 on are lost.
    bench.run(5);
    assert_eq!((bench.peers[0].dead, bench.routes[5].dead), (0, false), "1,100: not beyond 3 T and a round trip");
    bench.run(1);
    assert_eq!((bench.peers[0].dead, bench.routes[5].dead), (1, true));
    assert_eq!(bench.granularity(), 1, "m is 7, all alike");
    let ways = bench.picks(0, 4_000);
    assert!(!ways.contains(&5) && (0..8).filter(|way| ways.contains(way)).count() == 7);
    let before = bench.probes.len();
    bench.run(1);
    assert_eq!(bench.probes.len() - before, 8, "a dead path is still probed");
    bench.delays(|_| 100);
    bench.run(2);
    assert_eq!((bench.peers[0].dead, bench.routes[5].dead), (0, false));
    assert!(bench.picks(0, 4_000).contains(&5));
}

#[test]
fn a_path_that_never_answers_is_given_its_patience() {
    let mut bench = bench();
    bench.delays_or_loss(|_, way| (way != 0).then_some(100));
    bench.start();
    bench.run(14);
    assert_eq!((bench.peers[0].dead, bench.peers[0].bad), (0, 1.0), "counts as slow");
    bench.run(1);
    assert_eq!((bench.peers[0].dead, bench.peers[0].bad), (1, 0.0), "1,400 µs after the first probe");
}

#[test]
fn when_all_paths_are_dead_all_are_used() {
    let mut bench = bench();
    bench.start();
    bench.run(4);
    bench.delays_or_loss(|_, _| None);
    bench.run(10);
    assert_eq!(bench.peers[0].dead, WAYS);
    let ways = bench.picks(0, 4_000);
    assert!((0..8).all(|way| ways.contains(&way)));
}

#[test]
fn a_plan_outlives_a_short_pause_and_no_long_one() {
    let mut bench = bench();
    bench.delays(|way| if way == 0 { 600 } else { 100 });
    bench.start();
    bench.run(20);
    assert_eq!(bench.granularity(), 15);
    bench.tell(0, Way::ANY, Event::FlowEnd);
    bench.run(9);
    bench.start();
    assert_eq!(bench.granularity(), 15);
    bench.run(1);
    assert_eq!((bench.granularity(), bench.peers[0].dead), (15, 0), "nobody was asked in the pause");
    bench.tell(0, Way::ANY, Event::FlowEnd);
    bench.run(11);
    assert_eq!(bench.granularity(), 15, "forgotten only when asked again");
    bench.start();
    assert_eq!(bench.granularity(), 0);
}

#[test]
fn the_way_back_does_not_count_by_default() {
    let slow_back = Event::ProbeReply {
        rtt: Span::from_us(900),
        one_way: Span::from_us(50),
        marked: false,
        by: Device::Host(1),
        port: crate::Port(0),
    };
    for (delay, expected) in [(Delay::OneWay, 0.0), (Delay::Rtt, 1.0)] {
        let mut bench = Bench::<Published>::new(&Config { delay, ..Config::default() });
        bench.start();
        bench.run(6);
        bench.tell(0, Way(3), slow_back);
        bench.run(1);
        assert_eq!(bench.peers[0].bad, expected, "{delay:?}");
    }
}

#[test]
fn timestamps_in_acknowledgements_do_without_probes() {
    let mut bench = Bench::<Published>::new(&Config { estimate: Estimate::AckTimestamps, ..Config::default() });
    bench.start();
    bench.acks(&[(0, 300), (1, 300), (2, 100)]);
    bench.run(1);
    assert_eq!(bench.granularity(), 0, "three of eight paths are not half");
    bench.acks(&[(3, 100), (4, 80), (4, 120), (5, 100), (6, 100), (7, 100)]);
    bench.acks(&[(Way::ANY.0, 9_000)]);
    bench.run(1);
    assert_eq!((bench.granularity(), bench.peers[0].bad), (15, 2.0));
    bench.run(100);
    assert_eq!((bench.granularity(), bench.peers[0].dead), (15, 0), "silence is no news here");
    assert!(bench.probes.is_empty());
}

#[test]
fn a_share_of_acknowledgements_is_enough() {
    for scope in [Scope::Peer, Scope::Sender] {
        let config = Config { estimate: Estimate::AckShare, scope, initial_packets: 1, ..Config::default() };
        let mut bench = Bench::<Published>::new(&config);
        bench.start();
        let gran = |bench: &Bench<Published>| if scope == Scope::Peer { bench.peers[0].gran } else { bench.node.gran };
        let ten: Vec<(u16, u64)> = (0..10).map(|ack| (Way::ANY.0, if ack % 5 == 0 { 300 } else { 100 })).collect();
        bench.acks(&ten[..7]);
        bench.run(1);
        assert_eq!(gran(&bench), 0, "seven acknowledgements say little of eight paths");
        bench.acks(&ten[7..]);
        bench.run(1);
        assert_eq!(gran(&bench), 1, "no idea yet of what is large");
        bench.acks(&ten);
        bench.run(1);
        // P_b = 0.2 of 8 paths: round(1.6) = 2, X = 3.
        assert_eq!(gran(&bench), 15);
        bench.acks(&[(0, 100); 119]);
        bench.run(1);
        assert_eq!(gran(&bench), 15, "not yet eight cells of fifteen");
        bench.acks(&[(0, 100)]);
        bench.run(1);
        assert_eq!(gran(&bench), 1);
        assert!(bench.probes.is_empty());
    }
}

#[test]
fn a_sender_s_plan_is_that_of_all_its_paths() {
    let mut bench = Bench::<Published>::new(&Config { scope: Scope::Sender, ..Config::default() });
    bench.delays_or_loss(|peer, way| Some(if peer == 0 && way < 2 { 300 } else { 100 }));
    bench.start();
    bench.run(12);
    assert_eq!((bench.node.gran, bench.peers[0].gran), (15, 0), "N_b = 2 of 8");
    bench.tell(1, Way::ANY, Event::FlowStart { size: 1 });
    bench.run(12);
    // 2 of 16 over two peers: N_b = 1 of 8.
    assert_eq!(bench.node.gran, 11);
    assert_eq!(longest_run(&bench.picks(1, 11)), 11, "enforced on all active flows");
    assert_eq!(bench.points.iter().rev().find(|point| point.1 == 1).unwrap().2, 1.0);
}

#[test]
fn a_sender_s_plan_is_forgotten_when_it_is_stale() {
    for (periods, left) in [(1, 15), (100, 0)] {
        let mut bench = Bench::<Published>::new(&Config { scope: Scope::Sender, ..Config::default() });
        bench.delays(|way| if way < 2 { 300 } else { 100 });
        bench.start();
        bench.run(12);
        assert_eq!(bench.node.gran, 15);
        bench.tell(0, Way::ANY, Event::FlowEnd);
        bench.run(periods);
        bench.start();
        assert_eq!(bench.node.gran, left, "after {periods} periods without a flow");
    }
}

#[test]
fn a_plan_is_carried_out_to_the_packet() {
    let mut bench = Bench::<Published>::new(&Config { dispatch: Dispatch::RoundRobin, ..Config::default() });
    bench.delays(|way| if way < 2 { 300 } else { 100 });
    bench.start();
    bench.run(12);
    let ways = bench.picks(0, 1_200);
    assert!(ways.chunks(15).all(|cell| longest_run(cell) == 15) && longest_run(&ways) == 15);
    let ack = Packet { kind: Kind::Ack, dst: 1, ..Packet::default() };
    assert_eq!(bench.call(0, |scheme, cx, flow| scheme.pick(cx, flow, &ack, &mut ())), Way::ANY);
}

#[test]
fn powers_of_two_kilobytes_are_whole_packets() {
    let mut bench = Bench::<Published>::new(&Config { search: Search::PowersOfTwoKb, ..Config::default() });
    bench.start();
    let mut seen = Vec::new();
    for slow in [100, 150, 200, 300, 600, 3_000] {
        bench.delays(move |way| if way < 2 { slow } else { 100 });
        bench.run(60);
        seen.push(bench.granularity());
    }
    // 1, 2, 4 … 64 KB hold 1, 1, 2, 5, 11, 22, 44 packets.
    assert!(seen.iter().all(|gran| [1, 2, 5, 11, 22, 44].contains(gran)), "{seen:?}");
    assert!(seen.is_sorted() && seen[0] == 1 && seen[5] > 1, "{seen:?}");
}

#[test]
fn series_get_points_as_asked() {
    let points = |record: Record| {
        let mut bench = Bench::<Published>::new(&Config { record, ..Config::default() });
        bench.start();
        bench.run(10);
        bench.points
    };
    assert!(points(Record::Off).is_empty());
    assert_eq!(points(Record::Ticks).len(), 30);
    let changes = points(Record::Changes);
    // Probes begin; two periods later the plan is 1.
    assert_eq!(changes.iter().map(|&(_, series, value)| (series, value)).collect::<Vec<_>>(), [(2, 8.0), (0, 1.0)]);
}

#[test]
fn parameters_are_read_by_name() {
    use crate::config::{Params, Value};
    let mut config = Config::default();
    config.set("model", Value::Word("repaired")).unwrap();
    assert_eq!(config.model, Model::Repaired);
    assert!(config.set("model", Value::Word("best")).is_err());
    assert!(config.set("period_us", Value::Number(0.0)).is_err());
}
