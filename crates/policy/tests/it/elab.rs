//! ELAB between two hosts and a made-up fabric: shares, discovery over paths that come and go, lost feedback, and what
//! must not be trusted.

use crate::common::{Shell, ack, data};
use spinewise_policy::out::Action;
use spinewise_policy::schemes::elab::discovery::ports_needed;
use spinewise_policy::schemes::elab::header::{Header, Info, NO_PATH};
use spinewise_policy::schemes::elab::sender::{available, kbps, smoothed};
use spinewise_policy::schemes::elab::{Config, Counting, Discovery, Elab, Refused};
use spinewise_policy::*;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

const SENDER: u32 = 0;
const RECEIVER: u32 = 4;

fn shell(config: &Config, host: u32, ways: u16) -> Shell<Elab> {
    let mut shell = Shell::new(config, Tier::Host, host, ways);
    shell.now = Time::ZERO + Span::from_us(1);
    shell
}

/// Without probes: tags 0, 1, … are the paths.
fn blind() -> Config {
    Config { discovery: Discovery::Blind, rediscover_ms: 0.0, ..Config::default() }
}

fn from_receiver() -> Packet {
    Packet { src: RECEIVER, dst: SENDER, ..ack(7) }
}

/// Fake fabric: which spine a port leads over, and what is broken.
struct Fabric {
    spines: Vec<u32>,
    salt: u64,
    lost: BTreeSet<u32>,
}

impl Fabric {
    fn new(spines: u32) -> Self {
        Fabric { spines: (0..spines).collect(), salt: 99, lost: BTreeSet::new() }
    }

    fn spine(&self, port: u16) -> u32 {
        self.spines[hash::spread(hash::mix2(self.salt, u64::from(port)), self.spines.len() as u32) as usize]
    }

    /// The device that answers a probe with this TTL: leaf 0, the spine, leaf 1, the host.
    fn answers(&self, port: u16, ttl: u8) -> Option<(Device, Port)> {
        let spine = self.spine(port);
        match ttl {
            1 => Some((Device::Switch(0), Port(0))),
            _ if self.lost.contains(&spine) => None,
            2 => Some((Device::Switch(4 + spine), Port(0))),
            3 => Some((Device::Switch(1), Port(4 + spine as u16))),
            _ => Some((Device::Host(RECEIVER), Port(0))),
        }
    }
}

/// Answers all probes of `host` until none is outstanding, in the order they were sent; returns how many there were.
fn answer_all(host: &mut Shell<Elab>, fabric: &Fabric) -> u32 {
    let mut waiting: VecDeque<Action> = std::mem::take(&mut host.did).into();
    let mut probes = 0;
    while let Some(action) = waiting.pop_front() {
        let Action::Probe { to, way, ttl, give_up, .. } = action else { continue };
        assert_eq!(to, To::Host(RECEIVER));
        probes += 1;
        let event = match fabric.answers(way.0, ttl) {
            Some((by, port)) => {
                host.wait(Span::from_us(1));
                Event::ProbeReply { rtt: Span::from_us(9), one_way: Span::from_us(4), marked: false, by, port }
            }
            None => {
                host.wait(give_up);
                Event::ProbeLost
            }
        };
        host.feedback(RECEIVER, Feedback { way, flow: None, event });
        waiting.extend(std::mem::take(&mut host.did));
    }
    probes
}

/// The spines of the virtual paths in use.
fn reached(host: &Shell<Elab>, fabric: &Fabric) -> Vec<u32> {
    let vps = usize::from(host.peers[0].vps);
    let mut spines: Vec<u32> = host.routes[..vps].iter().map(|route| fabric.spine(route.vp.port)).collect();
    spines.sort_unstable();
    spines
}

fn send(host: &mut Shell<Elab>) -> (Way, Header) {
    let mut header = Header::default();
    let way = host.pick(RECEIVER, &data(7), &mut header);
    (way, header)
}

#[test]
fn every_path_is_found_whatever_the_ports() {
    for (spines, seeds) in [(4, 200), (8, 100), (16, 50)] {
        let mut missed = 0;
        for seed in 0..seeds {
            // One row more than there are paths: the stopping rule must end the search.
            let mut host = shell(&Config::default(), SENDER, spines + 1);
            host.rng = Rng::stream(seed, "elab test", 0);
            let fabric = Fabric { salt: seed, ..Fabric::new(u32::from(spines)) };
            send(&mut host);
            let probes = answer_all(&mut host, &fabric);
            let found = reached(&host, &fabric);
            assert!(found.windows(2).all(|two| two[0] < two[1]), "one port for each path: {found:?}");
            missed += u32::from(found.len() < usize::from(spines));
            let tried = ports_needed(found.len(), (0.001 * (1u64 << 32) as f64) as u64);
            assert!(probes <= 4 * (tried + 16), "{probes} probes for {tried} ports");
        }
        // A search misses a path with a probability of at most 0.001.
        assert!(missed <= 1, "{spines} spines: {missed} of {seeds} searches missed a path");
    }
}

#[test]
fn the_stopping_rule_is_the_published_one() {
    // Augustin et al., E2EMON 2007, 95 %: 6, 11, 16, 21, 27, 33 probes for 1, 2, … paths.
    let five_percent = (0.05 * (1u64 << 32) as f64) as u64;
    assert_eq!([1, 2, 3, 4, 5, 6].map(|paths| ports_needed(paths, five_percent)), [6, 11, 16, 21, 27, 33]);
}

#[test]
fn until_paths_are_known_one_port_is_used_and_then_all() {
    let mut host = shell(&Config::default(), SENDER, 4);
    let (first, _) = send(&mut host);
    let probes = std::mem::take(&mut host.did);
    assert_eq!(probes.len(), 16, "a group at a time");
    assert!((0..20).all(|_| send(&mut host).0 == first), "nothing is known yet");
    host.did = probes;
    let fabric = Fabric::new(4);
    answer_all(&mut host, &fabric);
    let used: BTreeSet<u16> = (0..4).map(|_| send(&mut host).0.0).collect();
    assert_eq!(used.len(), 4, "equal shares: each once");
    assert!(host.did.is_empty(), "no further search before its time");
}

#[test]
fn paths_that_vanish_are_dropped_and_found_again_when_the_link_returns() {
    let config = Config { rediscover_ms: 10.0, ..Config::default() };
    let mut host = shell(&config, SENDER, 4);
    let mut fabric = Fabric::new(4);
    send(&mut host);
    answer_all(&mut host, &fabric);
    assert_eq!(reached(&host, &fabric), [0, 1, 2, 3]);
    // Switches hash over the remaining three: ports now lead elsewhere.
    fabric.spines = vec![0, 1, 3];
    host.wait(Span::from_ms(11));
    send(&mut host);
    assert!(answer_all(&mut host, &fabric) > 0, "it is time to look again");
    assert_eq!(reached(&host, &fabric), [0, 1, 3]);
    fabric.spines = vec![0, 1, 2, 3];
    host.wait(Span::from_ms(11));
    send(&mut host);
    answer_all(&mut host, &fabric);
    assert_eq!(reached(&host, &fabric), [0, 1, 2, 3]);
    // A spine that swallows everything, without a change of routes.
    fabric.lost.insert(2);
    host.wait(Span::from_ms(11));
    send(&mut host);
    answer_all(&mut host, &fabric);
    assert_eq!(reached(&host, &fabric), [0, 1, 3]);
    // All of them are lost: earlier knowledge is no worse than none.
    fabric.lost.extend(0..4);
    host.wait(Span::from_ms(11));
    send(&mut host);
    answer_all(&mut host, &fabric);
    assert_eq!(reached(&host, &fabric), [0, 1, 3]);
}

/// Eqs. 1 to 3 for two paths of 3 and 6 Gbps under a load, one update each time; the share of the first.
fn iterate(load_kbps: u64, epsilon: u32, times: u32) -> Vec<f64> {
    let (ceilings, alpha) = ([3_000_000u32, 6_000_000], (0.3 * 65_536.0) as u32);
    // Shares are equal again, as if nothing had been known.
    let mut rates = [load_kbps as u32 / 2; 2];
    let mut shares = vec![];
    for _ in 0..times {
        let free = [0, 1].map(|i| available(ceilings[i], rates[i], epsilon) as f64);
        let share = free[0] / (free[0] + free[1]);
        let time = Span::from_us(100);
        let sent = [share, 1.0 - share].map(|part| (load_kbps as f64 * part / 10.0) as u64);
        rates = [0, 1].map(|i| smoothed(rates[i], alpha, sent[i], time));
        shares.push(share);
    }
    shares
}

#[test]
fn the_fixed_point_is_the_share_of_bandwidth() {
    assert_eq!(kbps(3_000, Span::from_us(1)), 3_000_000, "3,000 bits in a microsecond are 3 Gbps");
    for load in [1_000_000, 4_500_000, 7_000_000] {
        let last = iterate(load, 655, 400)[399];
        assert!((last - 1.0 / 3.0).abs() < 1e-4, "{last} at {load} kbit/s");
    }
    // The shares respond to the rates with a gain of R / (ΣB - R), which alpha damps up to a load of 1 - alpha / 2 of
    // ΣB.
    let swing = |load| {
        let shares = iterate(load, 0, 400);
        shares[300..].iter().map(|share| (share - 1.0 / 3.0).abs()).fold(0.0, f64::max)
    };
    assert!(swing(7_500_000) < 1e-3, "83 % of 9 Gbps: {}", swing(7_500_000));
    assert!(swing(8_000_000) > 0.01, "89 % of 9 Gbps: it swings, {}", swing(8_000_000));
}

/// Two hosts, two paths by tag: everything the sender sends on each arrives, and each packet is answered by one.
struct Pair {
    sender: Shell<Elab>,
    receiver: Shell<Elab>,
    sent: BTreeMap<u16, u32>,
}

impl Pair {
    fn new(config: &Config) -> Self {
        Pair { sender: shell(config, SENDER, 2), receiver: shell(config, RECEIVER, 2), sent: BTreeMap::new() }
    }

    fn wait(&mut self, span: Span) {
        self.sender.wait(span);
        self.receiver.wait(span);
    }

    /// A packet there, and its answer back unless that is lost.
    fn exchange(&mut self, ce: impl Fn(u16) -> bool, arrives: impl Fn(u16) -> bool, answered: bool) {
        let (way, mut header) = send(&mut self.sender);
        *self.sent.entry(way.0).or_default() += 1;
        if arrives(way.0) {
            let packet = Packet { way, ce: ce(way.0), wire: 1516, ..data(7) };
            self.receiver.ingress(SENDER, &packet, &mut header);
        }
        let mut back = Header::default();
        let way = self.receiver.pick(SENDER, &from_receiver(), &mut back);
        if answered {
            self.sender.ingress(RECEIVER, &Packet { way, wire: 56, ..from_receiver() }, &mut back);
        }
        self.wait(Span::from_ns(1200));
    }

    fn rates(&self) -> [u32; 2] {
        [0, 1].map(|at| self.sender.routes[at].vp.rate)
    }
}

#[test]
fn rates_are_measured_and_a_mark_sets_the_ceiling() {
    let mut pair = Pair::new(&blind());
    (0..2000).for_each(|_| pair.exchange(|_| false, |_| true, true));
    let each = 1516.0 * 8.0 / 1.2 / 2.0 * 1000.0;
    for rate in pair.rates() {
        assert!((f64::from(rate) / each - 1.0).abs() < 0.02, "{rate} of {each} kbit/s");
    }
    assert_eq!([0, 1].map(|at| pair.sender.routes[at].vp.ceiling), [10_000_000; 2], "the host's link");
    let before = pair.sent.clone();
    (0..40).for_each(|_| pair.exchange(|way| way == 0, |_| true, true));
    let vp = pair.sender.routes[0].vp;
    assert!(
        vp.ceiling < 5_200_000 && vp.ceiling >= 100_000,
        "{} kbit/s: what it carried, or carries still",
        vp.ceiling
    );
    assert!(vp.weight < pair.sender.routes[1].vp.weight);
    assert!(pair.sent[&0] - before[&0] < pair.sent[&1] - before[&1]);
    // 200 RTTs of 10 us after the last mark was reported, some packets ago.
    let wait = vp.explore.since(pair.sender.now);
    assert!((Span::from_us(1_900)..=Span::from_us(2_000)).contains(&wait), "{wait:?}");
}

#[test]
fn a_burst_goes_by_one_path_and_its_rate_comes_back() {
    let mut pair = Pair::new(&Config { t_explore_rtts: 20.0, ..blind() });
    (0..500).for_each(|_| pair.exchange(|_| false, |_| true, true));
    (0..20).for_each(|_| pair.exchange(|way| way == 0, |_| true, true));
    let reset = pair.sender.routes[0].vp.ceiling;
    pair.wait(Span::from_us(200));
    let mut bursts = vec![];
    for _ in 0..30 {
        let (way, mut header) = send(&mut pair.sender);
        bursts.push((header.info.burst_id, way.0));
        pair.receiver.ingress(SENDER, &Packet { way, wire: 1516, ..data(7) }, &mut header);
        // A packet takes 4.04 us at 3 Gbps; ten of them exceed an RTT of 10 us, which ends the record.
        pair.wait(Span::from_ns(1010));
        let mut back = Header::default();
        let way = pair.receiver.pick(SENDER, &from_receiver(), &mut back);
        pair.sender.ingress(RECEIVER, &Packet { way, wire: 56, ..from_receiver() }, &mut back);
    }
    let burst: Vec<_> = bursts.iter().filter(|(id, _)| *id > 0).collect();
    assert!(burst.len() == 10 && burst.iter().all(|&&(id, way)| (id, way) == (1, 0)), "{bursts:?}");
    let vp = pair.sender.routes[0].vp;
    let measured = 1516.0 * 8.0 / 1.01 * 1000.0;
    assert!(vp.ceiling > reset && vp.ceiling == 10_000_000, "{measured} kbit/s, which the host's link bounds");
    assert_eq!(vp.explore, Time::NEVER, "until the next mark");
}

/// All paths were due at once, and each burst was cut off by the first packet of the next.
#[test]
fn bursts_over_several_paths_follow_each_other() {
    const WAYS: u16 = 4;
    let config = Config { t_explore_rtts: 20.0, ..blind() };
    let [mut sender, mut receiver] = [SENDER, RECEIVER].map(|host| shell(&config, host, WAYS));
    let mut exchange = |ce: bool| {
        let (way, mut header) = send(&mut sender);
        let sent = (header.info.burst_id, way.0);
        receiver.ingress(SENDER, &Packet { way, ce, wire: 1516, ..data(7) }, &mut header);
        let mut back = Header::default();
        let way = receiver.pick(SENDER, &from_receiver(), &mut back);
        sender.ingress(RECEIVER, &Packet { way, wire: 56, ..from_receiver() }, &mut back);
        [&mut sender, &mut receiver].into_iter().for_each(|host| host.wait(Span::from_ns(800)));
        sent
    };
    let marked: Vec<_> = (0..100).map(|_| exchange(true)).collect();
    assert!(marked.iter().all(|&(burst, _)| burst == 0));
    // Behind the last mark, 20 round trips of 10 us pass before the first burst.
    let mut bursts = BTreeMap::<u16, Vec<u16>>::new();
    for (burst, way) in (0..500).map(|_| exchange(false)).filter(|&(burst, _)| burst > 0) {
        bursts.entry(burst).or_default().push(way);
    }
    let ways: BTreeSet<u16> = bursts.values().map(|ways| ways[0]).collect();
    assert_eq!((bursts.len(), ways.len()), (usize::from(WAYS), usize::from(WAYS)), "{bursts:?}");
    assert!(bursts.values().all(|ways| ways.len() == 10 && ways.iter().all(|&way| way == ways[0])), "{bursts:?}");
    assert_eq!(receiver.node.refused[Refused::PastBurst as usize], 0);
}

#[test]
fn a_burst_over_a_path_slower_than_a_packet_a_round_trip_is_answered() {
    let mut pair = Pair::new(&Config { t_explore_rtts: 20.0, ..blind() });
    (0..500).for_each(|_| pair.exchange(|_| false, |_| true, true));
    (0..20).for_each(|_| pair.exchange(|way| way == 0, |_| true, true));
    pair.wait(Span::from_us(200));
    let mut ids = vec![];
    for _ in 0..10 {
        let (way, mut header) = send(&mut pair.sender);
        ids.push(header.info.burst_id);
        // 12.128 us a packet at 1 Gbps, where a round trip takes 10.
        pair.wait(Span::from_ns(12_128));
        pair.receiver.ingress(SENDER, &Packet { way, wire: 1516, ..data(7) }, &mut header);
        let mut back = Header::default();
        let way = pair.receiver.pick(SENDER, &from_receiver(), &mut back);
        pair.sender.ingress(RECEIVER, &Packet { way, wire: 56, ..from_receiver() }, &mut back);
    }
    assert_eq!(ids[0], 1, "there was a burst");
    assert_eq!(pair.sender.routes[0].vp.ceiling, 1_000_000, "kbit/s, by the gap of two packets");
}

#[test]
fn lost_feedback_costs_counts_unless_they_are_cumulative() {
    for (counting, least, most) in [(Counting::Zeroed, 0.4, 0.6), (Counting::Cumulative, 0.97, 1.03)] {
        let mut pair = Pair::new(&Config { counting, ..blind() });
        // Two of every four packets back, in which each path is reported twice, get lost.
        for turn in 0..4000 {
            pair.exchange(|_| false, |_| true, turn % 4 < 2);
        }
        let whole = 1516.0 * 8.0 / 1.2 * 1000.0;
        let seen = pair.rates().iter().map(|&rate| f64::from(rate)).sum::<f64>() / whole;
        assert!((least..most).contains(&seen), "{counting:?}: {seen} of what was sent");
        assert_eq!(pair.sender.node.refused, [0; Refused::KINDS], "losses are no lies");
    }
}

#[test]
fn a_path_that_swallows_all_is_left_and_tried_again() {
    let mut pair = Pair::new(&Config { dead_after_us: 1000.0, ..blind() });
    (0..1000).for_each(|_| pair.exchange(|_| false, |_| true, true));
    // A mark makes the path one that is to be probed by bursts.
    (0..20).for_each(|_| pair.exchange(|way| way == 0, |_| true, true));
    (0..2000).for_each(|_| pair.exchange(|_| false, |way| way != 0, true));
    assert!(pair.sender.routes[0].vp.state.dead, "2.4 ms without a packet");
    let before = pair.sent[&0];
    (0..2000).for_each(|_| pair.exchange(|_| false, |_| true, true));
    assert_eq!(pair.sent[&0], before, "dead paths have no share, however free they look");
    (0..7000).for_each(|_| pair.exchange(|_| false, |_| true, true));
    assert!(pair.sent[&0] > before && !pair.sender.routes[0].vp.state.dead, "it lives again");
}

#[test]
fn without_packets_back_feedback_is_a_message() {
    let mut pair = Pair::new(&blind());
    let mut armed = None;
    for _ in 0..40 {
        let (way, mut header) = send(&mut pair.sender);
        pair.receiver.ingress(SENDER, &Packet { way, wire: 1516, ..data(7) }, &mut header);
        for action in std::mem::take(&mut pair.receiver.did) {
            let Action::Arm { key, at } = action else { panic!("{action:?}") };
            assert!(armed.replace((key, at)).is_none(), "armed once");
        }
        pair.wait(Span::from_ns(200));
    }
    let (key, at) = armed.expect("a timer");
    assert_eq!((key, at), (Key::Route(SENDER, Way(0), 0), Time::ZERO + Span::from_us(11)), "an RTT after the first");
    pair.wait(Span::from_us(5));
    pair.receiver.call(Some(SENDER), None, |policy, cx, _| policy.timer(cx, None, key));
    let &[Action::Send { to: To::Host(SENDER), class, len, wire, .. }] = &pair.receiver.did[..] else {
        panic!("{:?}", pair.receiver.did)
    };
    assert_eq!((len, wire), (16, 64), "eight bytes each for two paths, in the least frame");
    let body = pair.receiver.bodies[..len as usize].to_vec();
    let told = |pair: &mut Pair, body: &[u8]| {
        let message = Message { from: Device::Host(RECEIVER), class, flow: None, in_port: Port(0), body };
        pair.sender.call(Some(RECEIVER), None, |policy, cx, _| policy.message(cx, None, &message));
    };
    assert_eq!([0, 1].map(|at| pair.sender.routes[at].vp.unconfirmed), [20, 20]);
    told(&mut pair, &body);
    assert_eq!([0, 1].map(|at| pair.sender.routes[at].vp.unconfirmed), [0, 0]);
    told(&mut pair, &body);
    assert_eq!(pair.sender.node.refused[Refused::Count as usize], 2, "the same packets cannot arrive twice");
    for cut in 1..8 {
        told(&mut pair, &body[..cut]);
    }
    assert_eq!(pair.sender.node.refused[Refused::Short as usize], 7);
}

#[test]
fn what_cannot_be_is_dropped_and_counted() {
    let mut pair = Pair::new(&blind());
    (0..100).for_each(|_| pair.exchange(|_| false, |_| true, true));
    let before = format!("{:?}", pair.sender.routes[0].vp);
    let hear = |pair: &mut Pair, info: Info| {
        let packet = Packet { way: Way(0), wire: 56, ..from_receiver() };
        pair.sender.ingress(RECEIVER, &packet, &mut Header { tunnel: 8, info });
    };
    hear(&mut pair, Info { vp_id: 60_000, vp_rcnt: 1, marked: true, ..Info::default() });
    hear(&mut pair, Info { vp_id: 1, vp_rcnt: u16::MAX, marked: true, ..Info::default() });
    hear(&mut pair, Info { vp_id: 1, rate: Some(1), marked: true, ..Info::default() });
    let refused = |pair: &Pair, why: Refused| pair.sender.node.refused[why as usize];
    for why in [Refused::UnknownPath, Refused::Count, Refused::Unasked] {
        assert_eq!(refused(&pair, why), 1, "{why:?}");
    }
    assert_eq!(format!("{:?}", pair.sender.routes[0].vp), before);
    // A burst's packets, then one of an earlier burst, one far ahead, and one of the same that took another path.
    let burst = |pair: &mut Pair, burst_id: u16, way: u16| {
        let info = Info { vp_id: NO_PATH, burst_id, ..Info::default() };
        let packet = Packet { way: Way(way), wire: 1516, ..from_receiver() };
        pair.sender.ingress(RECEIVER, &packet, &mut Header { tunnel: 8, info });
        pair.sender.wait(Span::from_ns(500));
        pair.sender.node.refused[Refused::PastBurst as usize]
    };
    let refusals = [(500, 1), (500, 1), (499, 1), (1, 1), (40_000, 1), (500, 0), (501, 0), (500, 1)];
    let counts: Vec<u32> = refusals.iter().map(|&(id, way)| burst(&mut pair, id, way)).collect();
    assert_eq!(counts, [0, 0, 1, 2, 3, 4, 4, 5]);
}

#[test]
fn arbitrary_headers_and_messages_never_lead_astray() {
    for (seed, counting) in [(1, Counting::Zeroed), (2, Counting::Cumulative)] {
        let config = Config { counting, t_explore_rtts: 5.0, floor: 0.0, epsilon: 0.0, ..blind() };
        let mut host = shell(&config, SENDER, 2);
        let mut rng = Rng::stream(seed, "fuzz", 0);
        for turn in 0..200_000u32 {
            host.wait(Span(rng.bits() >> 42));
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&rng.bits().to_le_bytes());
            bytes[8..].copy_from_slice(&rng.bits().to_le_bytes());
            if turn % 2 == 0 {
                // Half of them are about existing paths, with plausible counts and bursts.
                bytes[0..4].copy_from_slice(&[0, (rng.bits() & 1) as u8, 0, (rng.bits() & 15) as u8]);
                bytes[6] = 0;
            }
            match turn % 5 {
                0 | 1 => drop(send(&mut host)),
                2 => {
                    let len = rng.below(17) as usize;
                    let from = Device::Host(RECEIVER);
                    let message = Message { from, class: 0, flow: None, in_port: Port(0), body: &bytes[..len] };
                    host.call(Some(RECEIVER), None, |policy, cx, _| policy.message(cx, None, &message));
                }
                _ => {
                    let way = Way(rng.below(5) as u16 * 13);
                    let packet = Packet { way, ce: rng.below(2) == 0, wire: 1516, ..from_receiver() };
                    host.ingress(RECEIVER, &packet, &mut Header::get(&bytes));
                }
            }
            for route in host.routes.iter().filter(|_| host.peers[0].vps > 0) {
                let vp = &route.vp;
                assert!(vp.ceiling <= 10_000_000, "no path carries more than the host's link: {vp:?}");
                assert!(vp.weight <= 1 << 16 && vp.mean_wire <= 1550 << 8, "{vp:?}");
            }
        }
        assert_eq!(host.peers[0].vps, 2, "paths are those that were there");
        assert!(host.node.refused.iter().all(|&count| count > 100), "{:?}", host.node.refused);
    }
}
