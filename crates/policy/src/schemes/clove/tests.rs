//! CLOVE: ELAB's example in a fluid model, then hypervisors at both ends of eight paths, packet by packet.

use super::weights::{ONE, cut, draw, even_out, fraction};
use super::*;
use crate::out::Action;
use crate::{FlowKey, Out, Rng, Table};
extern crate std;
use std::vec;
use std::vec::Vec;

const THIRD: f64 = 1.0 / 3.0;

fn paths(weights: &[u32]) -> Vec<Route> {
    weights.iter().map(|&weight| Route { weight, ..Route::default() }).collect()
}

fn weights(routes: &[Route]) -> Vec<u32> {
    routes.iter().map(|route| route.weight).collect()
}

/// ELAB §3.1: one flow over paths of 3 and 6 Gbps grows until one path is full, and that one is marked. Each line: the
/// ratio of the first path's flow to the second's, and the sum when a path is full.
fn elab_example(to: Redistribute, rounds: usize) -> Vec<(f64, f64)> {
    let rates = [3.0, 6.0];
    let mut routes = vec![Route::default(); 2];
    even_out(&mut routes);
    (0..rounds)
        .map(|_| {
            let weight = |at: usize| f64::from(routes[at].weight);
            let all = weight(0) + weight(1);
            let full_at = [0, 1].map(|at| rates[at] * all / weight(at));
            // When both are full at once (to within rounding) the wider one is marked last.
            let marked = usize::from(full_at[1] < full_at[0] * 1.001);
            let line = (weight(0) / weight(1), full_at[0].min(full_at[1]));
            cut(&mut routes, marked, fraction(THIRD), to, |_| false);
            line
        })
        .collect()
}

fn close(got: &[(f64, f64)], expected: &[(f64, f64)]) {
    assert_eq!(got.len(), expected.len());
    for (got, expected) in got.iter().zip(expected) {
        let near = |a: f64, b: f64| (a - b).abs() < 1e-3 * b;
        assert!(near(got.0, expected.0) && near(got.1, expected.1), "{got:?}, not {expected:?}");
    }
}

#[test]
fn elabs_example_without_redistribution_oscillates_between_two_thirds_and_four_ninths() {
    let (two_thirds, four_ninths) = ((2.0 / 3.0, 7.5), (4.0 / 9.0, 26.0 / 3.0));
    let expected = [(1.0, 6.0), two_thirds, four_ninths, two_thirds, four_ninths, two_thirds];
    close(&elab_example(Redistribute::Off, 6), &expected);
}

#[test]
fn with_redistribution_the_optimum_is_met_at_the_second_step_and_left_again() {
    let expected = [(1.0, 6.0), (0.5, 9.0), (1.25, 5.4), (10.0 / 17.0, 8.1)];
    close(&elab_example(Redistribute::Uncongested, 4), &expected);
}

#[test]
fn a_cut_conserves_the_sum_and_goes_to_those_it_should() {
    let third = fraction(THIRD);
    let mut routes = paths(&[30_000; 4]);
    routes[2].marked = Time(1);
    cut(&mut routes, 0, third, Redistribute::Uncongested, |route| route.marked != Time::ZERO);
    assert_eq!(weights(&routes), [20_000, 35_000, 30_000, 35_000], "congested paths get nothing");
    cut(&mut routes, 0, third, Redistribute::Others, |_| true);
    // 6,667 in three parts, the odd unit to the first.
    assert_eq!(weights(&routes), [13_333, 37_223, 32_222, 37_222]);
    let before = routes.clone();
    cut(&mut routes, 1, third, Redistribute::Uncongested, |_| true);
    assert_eq!(routes, before, "nobody to give to: nothing is taken");
    cut(&mut routes[..1], 0, third, Redistribute::Others, |_| false);
    assert_eq!(routes, before, "a single path keeps its weight");
}

#[test]
fn weights_never_vanish_and_off_keeps_proportions() {
    let mut routes = paths(&[ONE, ONE]);
    for _ in 0..200 {
        cut(&mut routes, 0, fraction(THIRD), Redistribute::Uncongested, |_| false);
    }
    assert_eq!(weights(&routes), [1, 2 * ONE - 1]);
    let mut routes = paths(&[ONE / 2, 3 * ONE / 4, ONE / 8]);
    cut(&mut routes, 1, fraction(0.5), Redistribute::Off, |_| false);
    assert_eq!(weights(&routes), [ONE, 3 * ONE / 4, ONE / 4], "halved, then all doubled");
}

#[test]
fn draws_follow_the_weights() {
    let routes = paths(&[ONE, 2 * ONE, 0, 5 * ONE]);
    let (mut rng, mut count) = (Rng::stream(1, "draw", 0), [0u32; 4]);
    for _ in 0..80_000 {
        count[usize::from(draw(&routes, &mut rng))] += 1;
    }
    for (count, expected) in count.iter().zip([10_000, 20_000, 0, 50_000]) {
        assert!(count.abs_diff(expected) < 600, "{count} draws, expected {expected}");
    }
}

#[test]
fn feedback_survives_the_wire_and_costs_bytes_only_if_there_is_any() {
    for path in [None, Some(0), Some(7), Some(65_534)] {
        let mut bytes = [0; 16];
        Feedback(path).put(&mut bytes);
        assert_eq!(Feedback::get(&bytes), Feedback(path));
        assert_eq!(Feedback(path).wire(), if path.is_some() { 2 } else { 0 });
    }
}

const WAYS: u16 = 4;
const RTT: Span = Span::from_us(100);

/// One hypervisor, and the other host it talks to.
struct End {
    scheme: Clove,
    now: Time,
    peer: [Peer; 1],
    routes: [Route; WAYS as usize],
    flows: [Flowlet; 4],
    rng: Rng,
    masked: bool,
}

impl End {
    fn new(config: &Config) -> Self {
        End {
            scheme: Clove::new(config),
            now: Time(1),
            peer: [Peer::default()],
            routes: [Route::default(); WAYS as usize],
            flows: [Flowlet::default(); 4],
            rng: Rng::stream(1, "clove", 0),
            masked: false,
        }
    }

    fn call<R>(&mut self, flow: u32, hook: impl FnOnce(&Clove, &mut Cx<'_, Clove>, &mut Flowlet) -> R) -> R {
        let mut actions = [Action::MaskEcn; 1];
        let view = HostView { leaf_of: &[0, 1], ways: &[0, WAYS], base_rtt: RTT, ..HostView::default() };
        let (peers, routes) = (&mut self.peer, &mut self.routes);
        let mut cx = Cx {
            now: self.now,
            node: &mut (),
            peers: Table { ids: &[1], peers, routes, stride: usize::from(WAYS), current: 0 },
            ports: &mut [],
            view,
            rng: &mut self.rng,
            out: Out::new(&mut actions, &mut []),
        };
        let answer = hook(&self.scheme, &mut cx, &mut self.flows[flow as usize]);
        self.masked = !cx.out.is_empty();
        answer
    }

    fn wait(&mut self, us: u64) {
        self.now += Span::from_us(us);
    }

    /// Sends a packet of a flow. Returns its path and its content.
    fn send(&mut self, flow: u32, kind: Kind) -> (Way, Option<u16>) {
        let packet = Packet { kind, flow: FlowKey(flow), dst: 1, ..Packet::default() };
        let mut header = Feedback::default();
        let way = self.call(flow, |scheme, cx, flow| scheme.pick(cx, flow, &packet, &mut header));
        (way, header.0)
    }

    /// Data arrives by a path, marked.
    fn marked(&mut self, way: u16) {
        let packet = Packet { kind: Kind::Data, src: 1, ce: true, way: Way(way), ..Packet::default() };
        self.call(0, |scheme, cx, flow| scheme.ingress(cx, flow, &packet, &mut Feedback(None)));
    }

    /// An acknowledgement arrives. Returns whether an echo of marks that it may carry is hidden.
    fn hears(&mut self, feedback: Option<u16>) -> bool {
        let packet = Packet { kind: Kind::Ack, src: 1, ..Packet::default() };
        self.call(1, |scheme, cx, flow| scheme.ingress(cx, flow, &packet, &mut Feedback(feedback)));
        self.masked
    }

    fn weights(&self) -> Vec<u32> {
        weights(&self.routes)
    }
}

fn end() -> End {
    End::new(&Config::default())
}

#[test]
fn a_flowlet_keeps_its_path_and_the_next_takes_the_next() {
    let mut end = end();
    let first = end.send(0, Kind::Data).0;
    for _ in 0..10 {
        end.wait(500);
        assert_eq!(end.send(0, Kind::Data).0, first, "a gap of 500 us is none");
    }
    end.wait(501);
    assert_eq!(end.send(0, Kind::Data).0, Way((first.0 + 1) % WAYS));
    assert_eq!(end.send(1, Kind::Data).0, Way((first.0 + 2) % WAYS), "flows of a pair go round together");
    assert_eq!(end.send(2, Kind::Ack).0, Way((first.0 + 3) % WAYS), "acknowledgements are flowlets");
    let mut left = End::new(&Config { acks: Acks::Fabric, ..Config::default() });
    assert_eq!(left.send(2, Kind::Ack).0, Way::ANY);
}

#[test]
fn a_mark_is_relayed_once_per_half_rtt_and_path_in_turn() {
    let mut end = end();
    assert_eq!(end.send(1, Kind::Ack).1, None);
    for way in [2, 0, 2] {
        end.marked(way);
    }
    assert_eq!(
        [end.send(1, Kind::Ack).1, end.send(1, Kind::Ack).1, end.send(1, Kind::Ack).1],
        [Some(0), Some(2), None]
    );
    end.marked(2);
    end.wait(49);
    assert_eq!(end.send(1, Kind::Ack).1, None, "sooner than half an RTT");
    end.wait(1);
    assert_eq!(end.send(1, Kind::Data).1, Some(2), "data carries it as well");
    end.marked(1);
    end.wait(101);
    assert_eq!(end.send(1, Kind::Ack).1, None, "one RTT later it is no news");
    assert_eq!(end.peer[0].pending, 0);
}

#[test]
fn weights_are_cut_once_per_half_rtt() {
    let mut end = end();
    assert!(end.hears(Some(0)), "before anything is sent there is nothing to cut");
    assert_eq!(end.weights(), [0; 4]);
    end.send(0, Kind::Data);
    end.hears(Some(1));
    let once = [72_818, 43_691, 72_818, 72_817];
    assert_eq!(end.weights(), once);
    end.wait(49);
    end.hears(Some(1));
    assert_eq!(end.weights(), once, "sooner than half an RTT");
    end.wait(1);
    end.hears(Some(1));
    assert_eq!(end.weights(), [77_673, 29_127, 77_673, 77_671]);
    assert_eq!(end.weights().iter().sum::<u32>(), 4 * ONE);
    end.hears(Some(4));
    end.hears(Some(65_534));
    assert_eq!(end.weights().iter().sum::<u32>(), 4 * ONE, "paths that there are not");
    // One RTT after its last mark path 1 gets its share of what path 0 loses.
    end.wait(100);
    end.hears(Some(0));
    assert_eq!(end.weights(), [51_782, 37_758, 86_303, 86_301]);
}

#[test]
fn marks_are_hidden_until_all_paths_have_them() {
    let mut end = end();
    end.send(0, Kind::Data);
    for way in 0..3 {
        assert!(end.hears(Some(way)), "path {way}");
        end.wait(10);
    }
    assert!(!end.hears(Some(3)), "all paths are congested");
    assert!(!end.hears(None), "and stay so without further word");
    // Path 0 was marked 30 us ago.
    end.wait(69);
    assert!(!end.hears(None));
    end.wait(1);
    assert!(end.hears(None), "one RTT after its last mark a path is congested no more");
    let mut open = End::new(&Config { hide_ecn: false, ..Config::default() });
    open.send(0, Kind::Data);
    assert!(!open.hears(None));
}

#[test]
fn edge_flowlet_draws_and_leaves_ecn_alone() {
    let mut end = End::new(&Config { mode: Mode::EdgeFlowlet, ..Config::default() });
    let mut count = [0u32; WAYS as usize];
    for _ in 0..4_000 {
        let (way, feedback) = end.send(0, Kind::Data);
        count[way.index()] += 1;
        assert_eq!(feedback, None);
        end.marked(way.0);
        assert!(!end.hears(None));
        end.wait(501);
    }
    // 1,000 each, standard deviation 27.
    assert!(count.iter().all(|n| n.abs_diff(1_000) < 150), "{count:?}");
}

#[test]
fn drawn_flowlets_follow_the_weights() {
    let mut end = End::new(&Config { choice: Choice::Random, ..Config::default() });
    end.send(0, Kind::Data);
    for _ in 0..3 {
        end.hears(Some(0));
        end.wait(50);
    }
    let total = f64::from(4 * ONE);
    let share: Vec<f64> = end.weights().iter().map(|&weight| f64::from(weight) / total).collect();
    assert!((share[0] - 8.0 / 27.0 / 4.0).abs() < 1e-4, "{share:?}");
    let mut count = [0u32; WAYS as usize];
    for _ in 0..40_000 {
        end.wait(501);
        count[end.send(0, Kind::Data).0.index()] += 1;
    }
    for (&count, share) in count.iter().zip(share) {
        assert!((f64::from(count) - 40_000.0 * share).abs() < 450.0, "{count} of 40,000 at {share}");
    }
}
