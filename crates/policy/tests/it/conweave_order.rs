//! ConWeave between two leaves with paths of arbitrary delays and an output port that keeps the contract of held
//! queues: order at the host, the life of every reorder queue, and one reroute at a time.

use crate::common::conweave::US;
use crate::common::last_hop::{Item, LastHop};
use crate::common::{Shell, data};
use spinewise_policy::fabric::reorder::InUse;
use spinewise_policy::fabric::reorder::header::{Body, CLEAR, Header, Mark, Stamp};
use spinewise_policy::out::Action;
use spinewise_policy::schemes::conweave::{ConWeave, Config};
use spinewise_policy::*;
use std::collections::BTreeMap;

fn header(epoch: u8, rerouted: bool, mark: Mark, tx: u64, tail: u64) -> Header {
    let tail = if rerouted || mark == Mark::Tail { Stamp::of(Time(tail)) } else { Stamp::default() };
    let way = Way(rerouted as u16);
    Header { stamped: true, rerouted, mark, charged: 0, way, epoch, tx: Stamp::of(Time(tx)), tail }
}

/// Every order in which 4 packets of the old path, the last a TAIL, and 4 of the new one can arrive.
#[test]
fn in_every_interleaving_the_host_sees_the_order_of_the_source() {
    let (old, new) = (4u64, 4u64);
    let mut held = 0;
    for mask in 0u32..1 << (old + new) {
        if mask.count_ones() != new as u32 {
            continue;
        }
        for (service, apart) in [(US / 10, US), (5 * US, US), (US, 2 * US)] {
            let mut last = LastHop::new(&Config::default(), service, 2);
            let (mut sent_old, mut sent_new) = (0, 0);
            for slot in 0..old + new {
                let now = 10 * US + slot * apart;
                if mask >> slot & 1 == 0 {
                    let mark = [Mark::Init, Mark::Data, Mark::Data, Mark::Tail][sent_old as usize];
                    last.arrive(now, (1, sent_old), &header(1, false, mark, sent_old * 100, 300), false, false);
                    sent_old += 1;
                } else {
                    let place = old + sent_new;
                    last.arrive(now, (1, place), &header(1, true, Mark::Data, place * 100, 300), false, false);
                    sent_new += 1;
                }
            }
            last.assert_empty();
            assert_eq!(last.host.iter().map(|item| item.1).collect::<Vec<_>>(), (0..8).collect::<Vec<_>>(), "{mask:b}");
            assert_eq!(last.count("held_us"), u32::from(last.drained == 1));
            held += last.drained;
        }
    }
    // All but the interleaving in which the whole old path comes first.
    assert_eq!(held, 3 * (70 - 1));
}

#[test]
fn a_queue_whose_first_packet_found_no_room_does_not_leak() {
    for by_timer in [false, true] {
        let mut last = LastHop::new(&Config::default(), US, 1);
        last.arrive(10 * US, (1, 1), &header(1, true, Mark::Data, 200, 100), false, true);
        assert!(last.lanes[0].taken && last.lanes[0].packets.is_empty());
        assert_eq!(last.leaf.ports[0], InUse(1));
        // No other flow gets it meanwhile.
        last.arrive(11 * US, (2, 1), &header(1, true, Mark::Data, 200, 100), false, false);
        assert_eq!((last.count("no_queue"), last.host.as_slice()), (1, [(2, 1)].as_slice()));
        if by_timer {
            let at = last.armed[&1];
            assert_eq!(at, (10 + 200 + 16) * US);
            last.expire(at, 1);
        } else {
            last.arrive(20 * US, (1, 0), &header(1, false, Mark::Tail, 100, 100), false, false);
        }
        assert_eq!(last.drained, 1, "an empty queue drains as it is released");
        last.assert_empty();
        // Flow 2's next epoch can have it.
        last.arrive(300 * US, (2, 2), &header(2, true, Mark::Data, 400, 300), false, false);
        assert!(last.lanes[0].taken);
    }
}

/// SELB's Fig. 1 with one reorder queue and three flows: one is put in order, two are not, and report it.
#[test]
fn one_queue_serves_one_of_three_flows_at_a_time() {
    let mut last = LastHop::new(&Config { reorder_queues: 1, ..Config::default() }, US / 10, 1);
    for flow in 1..=3u32 {
        let now = (10 + u64::from(flow)) * US;
        last.arrive(now, (flow, 1), &header(1, true, Mark::Data, 200, 100), false, false);
    }
    for flow in 1..=3u32 {
        let now = (20 + u64::from(flow)) * US;
        last.arrive(now, (flow, 0), &header(1, false, Mark::Tail, 100, 100), false, false);
    }
    last.assert_empty();
    assert_eq!(last.inverted(), [2, 3]);
    assert_eq!((last.count("no_queue"), last.count("out_of_order"), last.count("clears")), (2, 2, 3));
    let told: Vec<u32> = last.replies.iter().filter(|reply| reply.1 != CLEAR).map(|reply| reply.0).collect();
    assert_eq!(told, [2, 3]);
}

// ---- both leaves --------------------------------------------------------------------------------------------------

enum Event {
    Send { flow: u32, place: u64 },
    Arrive { item: Item, header: Header },
    Reply { flow: u32, class: u8, body: Body },
    Expire { flow: u32 },
}

struct Case {
    config: Config,
    seed: u64,
    flows: u32,
    packets: u64,
    queues: usize,
    service: u64,
    /// One in this many packets is lost between the leaves, and one in this many finds no room to be held; 0: none.
    lost_of: u32,
    /// Maximum delay of a path.
    slowest: u64,
}

/// Two leaves, two paths whose delays jump, flows that pause now and then.
struct Net {
    case: Case,
    rng: Rng,
    first: Shell<ConWeave>,
    last: LastHop,
    plan: BTreeMap<(u64, u64), Event>,
    planned: u64,
    /// Arrival of the last packet of each path, and its current delay.
    paths: [(u64, u64); 2],
    /// The way every flow is on.
    on: BTreeMap<u32, Way>,
    /// Flows between TAIL and CLEAR, with the epoch.
    outstanding: BTreeMap<u32, u8>,
    last_sent: BTreeMap<u32, u64>,
    lost: u64,
    reroutes: u32,
}

impl Net {
    fn new(case: Case) -> Self {
        Net {
            rng: Rng::stream(case.seed, "net", 0),
            first: Shell::new(&case.config, Tier::Leaf, 0, 2),
            last: LastHop::new(&case.config, case.service, case.queues),
            plan: BTreeMap::new(),
            planned: 0,
            paths: [(0, 2 * US); 2],
            on: BTreeMap::new(),
            outstanding: BTreeMap::new(),
            last_sent: BTreeMap::new(),
            lost: 0,
            reroutes: 0,
            case,
        }
    }

    fn plan(&mut self, at: u64, event: Event) {
        self.plan.insert((at, self.planned), event);
        self.planned += 1;
    }

    fn one_in(&mut self, n: u32) -> bool {
        n > 0 && self.rng.below(n) == 0
    }

    fn run(mut self) -> Net {
        for flow in 0..self.case.flows {
            let at = u64::from(self.rng.below(20 * US as u32));
            self.plan(at, Event::Send { flow, place: 0 });
        }
        while let Some(((now, _), event)) = self.plan.pop_first() {
            match event {
                Event::Send { flow, place } => self.send(now, flow, place),
                Event::Arrive { item, header } => {
                    let (ce, full) = (self.one_in(7), self.one_in(self.case.lost_of));
                    self.last.arrive(now, item, &header, ce, full);
                    self.after(now, item.0);
                }
                Event::Expire { flow } => {
                    self.last.expire(now, flow);
                    self.after(now, flow);
                }
                Event::Reply { flow, class, body } => self.hear(now, flow, class, body),
            }
        }
        self.last.assert_empty();
        self
    }

    fn send(&mut self, now: u64, flow: u32, place: u64) {
        self.first.now = Time(now);
        let mut header = Header::default();
        let way = self.first.pick(1, &data(flow), &mut header);
        let silence = now - self.last_sent.insert(flow, now).unwrap_or(now);
        if silence > 300 * US {
            self.outstanding.remove(&flow);
            self.on.remove(&flow);
        }
        if self.outstanding.contains_key(&flow) {
            assert!(header.rerouted && header.mark == Mark::Data, "flow {flow}: TAIL and no CLEAR, yet {header:?}");
        }
        assert_eq!(way, *self.on.entry(flow).or_insert(way), "flow {flow}: moved without TAIL");
        if header.mark == Mark::Tail {
            self.outstanding.insert(flow, header.epoch);
            self.on.remove(&flow);
            let series = ConWeave::SHEET.series.iter().position(|series| series.name == "reroutes");
            let moved =
                |action: &Action| matches!(*action, Action::Record { series: s, .. } if Some(s as usize) == series);
            self.reroutes += u32::from(self.first.did.iter().any(moved));
        }
        if self.one_in(12) {
            self.paths[way.index()].1 = 2 * US + u64::from(self.rng.below(self.case.slowest as u32 - 2 * US as u32));
        }
        let (arrival, delay) = self.paths[way.index()];
        if self.one_in(self.case.lost_of) {
            self.lost += 1;
        } else {
            let arrival = (now + delay).max(arrival + 1);
            self.paths[way.index()].0 = arrival;
            self.plan(arrival, Event::Arrive { item: (flow, place), header });
        }
        if place + 1 < self.case.packets {
            let gap = if self.one_in(60) {
                250 * US as u32 + self.rng.below(120 * US as u32)
            } else {
                self.rng.below(3 * US as u32)
            };
            self.plan(now + 1 + u64::from(gap), Event::Send { flow, place: place + 1 });
        }
    }

    /// Sends control packets and plans timers.
    fn after(&mut self, now: u64, flow: u32) {
        for (flow, class, body) in std::mem::take(&mut self.last.replies) {
            let at = now + US + u64::from(self.rng.below(9 * US as u32));
            self.plan(at, Event::Reply { flow, class, body });
        }
        if let Some(&at) = self.last.armed.get(&flow) {
            self.plan(at, Event::Expire { flow });
        }
    }

    fn hear(&mut self, now: u64, flow: u32, class: u8, body: Body) {
        self.first.now = Time(now);
        if class == CLEAR && self.outstanding.get(&flow) == Some(&body.epoch) {
            self.outstanding.remove(&flow);
        }
        let bytes = body.put();
        let message =
            Message { from: Device::Switch(1), class, flow: Some(FlowKey(flow)), in_port: Port(4), body: &bytes };
        self.first.call(Some(1), message.flow, |policy, cx, row| policy.message(cx, row, &message));
    }
}

fn case(seed: u64) -> Case {
    Case {
        config: Config::default(),
        seed,
        flows: 6,
        packets: 1500,
        queues: 64,
        service: US / 20,
        lost_of: 0,
        slowest: 190 * US,
    }
}

#[test]
fn with_enough_queues_and_a_tail_in_time_nothing_is_ever_out_of_order() {
    let (mut held, mut reroutes) = (0, 0);
    for seed in 0..40 {
        // A prediction so late that every TAIL comes before it; a port that is fast, just fast enough, and too slow.
        let config = Config { extra_flush_us: 1e5, default_wait_us: 1e5, ..Config::default() };
        let service = [US / 20, US / 4, US][seed as usize % 3];
        let net = Net::new(Case { config, service, ..case(seed) }).run();
        let last = &net.last;
        assert_eq!((last.count("timeouts"), last.count("no_queue"), last.count("out_of_order")), (0, 0, 0));
        assert_eq!(last.inverted(), [] as [u32; 0], "seed {seed}");
        assert_eq!(last.host.len() as u64, 6 * 1500);
        held += last.count("held_us");
        reroutes += net.reroutes;
        assert!(last.count("clears") >= net.reroutes);
    }
    assert!(held > 1_000 && reroutes > 2_000, "{held} queues for {reroutes} reroutes: too few to mean anything");
}

#[test]
fn whatever_is_out_of_order_is_accounted_for_and_no_queue_leaks() {
    let (mut inverted, mut timeouts, mut no_queue, mut lost) = (0, 0, 0, 0);
    for seed in 0..60 {
        let config = Config {
            extra_flush_us: [0.0, 2.0, 16.0][seed as usize % 3],
            default_wait_us: [1.0, 20.0, 200.0][seed as usize / 3 % 3],
            keep_path_us: if seed % 2 == 0 { 0.0 } else { 100.0 },
            ..Config::default()
        };
        let queues = [1, 2, 64][seed as usize / 9 % 3];
        let lost_of = if seed % 4 == 0 { 0 } else { 50 };
        let net = Net::new(Case { config, queues, lost_of, ..case(1000 + seed) }).run();
        let last = &net.last;
        for flow in last.inverted() {
            let of = |name| last.recorded.get(&(flow, name)).copied().unwrap_or(0);
            assert!(of("timeouts") + of("no_queue") > 0, "seed {seed}, flow {flow}: out of order for no reason");
            inverted += 1;
        }
        if lost_of == 0 {
            assert_eq!(last.host.len() as u64, 6 * 1500);
        }
        timeouts += last.count("timeouts");
        no_queue += last.count("no_queue");
        lost += net.lost;
    }
    assert!(inverted > 50 && timeouts > 500 && no_queue > 50 && lost > 1000, "{inverted} {timeouts} {no_queue} {lost}");
}
