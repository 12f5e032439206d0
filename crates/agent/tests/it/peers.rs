//! A peer step by step, over a data path in memory: what is remembered of it, and for how long.

use crate::oracle::{TO, scheme, view};
use bytemuck::Zeroable;
use spinewise_agent::Failure;
use spinewise_agent::config::{Config, Health};
use spinewise_agent::health::Moment;
use spinewise_agent::layout::{Burst, COUNTERS, Echo, Event, HEADERS, Headers, Own, State, TICK_NS, Table};
use spinewise_agent::peer::{News, Peer, Stage, Step};
use spinewise_agent::plane::Plane;
use spinewise_agent::search::Path;
use spinewise_agent::slow::Slow;
use spinewise_agent::table::Paths;
use spinewise_policy::schemes::elab::header::{Header, Info};
use spinewise_policy::{Time, Way, Wire};
use std::cell::RefCell;

/// A data path whose counts are set by a test.
struct Memory {
    state: RefCell<State>,
    headers: Headers,
    table: Table,
}

impl Plane for Memory {
    fn own(&mut self, _: &Own) -> Result<(), Failure> {
        Ok(())
    }

    fn meet(&mut self, _: [u8; 4], _: u32) -> Result<(), Failure> {
        Ok(())
    }

    fn publish(&mut self, _: u32, table: &Table) -> Result<(), Failure> {
        self.table = *table;
        Ok(())
    }

    fn offer(&mut self, _: u32, headers: &Headers) -> Result<(), Failure> {
        self.headers = *headers;
        Ok(())
    }

    fn state(&self, _: u32) -> Result<State, Failure> {
        Ok(*self.state.borrow())
    }

    fn counters(&self) -> Result<[u64; COUNTERS.len()], Failure> {
        Ok([0; COUNTERS.len()])
    }

    fn events(&mut self) -> Result<Vec<Event>, Failure> {
        Ok(Vec::new())
    }

    fn keep_attached(&mut self) -> Result<bool, Failure> {
        Ok(false)
    }

    fn detach(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

const CONFIG: &str = r#"{
  "host": 0, "device": "eth0", "socket": "/tmp/x.sock",
  "hosts": [{"address": "10.0.0.1", "rack": 0}, {"address": "10.0.0.2", "rack": 0},
            {"address": "10.0.1.1", "rack": 1}, {"address": "10.0.1.2", "rack": 1}],
  "scheme": {"name": "elab"}, "health": {"enabled": false},
  "told": {"link_mbps": 200, "path_mbps": 200, "base_rtt_us": 500, "base_one_way_us": 250, "mss": 1448, "mtu": 1500}
}"#;

const MS: u64 = 1_000_000;
/// A port of the peer's.
const PORT: u16 = 50_000;

/// An agent's half of a pair under ELAB.
struct Case {
    config: Config,
    slow: Slow,
    plane: Memory,
    peer: Peer,
    now: u64,
}

impl Case {
    fn new(params: &str) -> Case {
        let mut peer = Peer::new(TO, [10, 0, 1, 1].into());
        peer.stage = Stage::Tunnelled;
        let plane = Memory { state: RefCell::new(State::zeroed()), headers: Headers::zeroed(), table: Table::zeroed() };
        let slow = Slow::new(scheme("elab", params), view(4), 1, 16);
        let mut case = Case { config: Config::parse(CONFIG).expect("good"), slow, plane, peer, now: 1_000 * MS };
        case.renew(3);
        case
    }

    fn with<R>(&mut self, run: impl FnOnce(&mut Peer, &mut Step<'_>) -> R) -> R {
        let Case { config, slow, plane, peer, now } = self;
        run(peer, &mut Step { now: *now, awake: *now, slow, config, plane })
    }

    fn renew(&mut self, instance: u16) {
        self.with(|peer, step| peer.renew(step, instance)).expect("memory");
    }

    fn account(&mut self) {
        self.with(|peer, step| peer.account(step)).expect("memory");
    }

    /// The rest of a step. Returns stranded headers.
    fn step(&mut self) -> Vec<[u8; 16]> {
        let news = self.with(|peer, step| peer.step(step)).expect("memory");
        self.now += MS;
        let headers = news.into_iter().flat_map(|news| match news {
            News::Stranded(headers) => headers,
            News::Path(..) => Vec::new(),
        });
        headers.collect()
    }

    fn hear(&mut self, number: u16, header: [u8; 16]) {
        self.with(|peer, step| peer.hear(step, (number, 0, PORT), header));
    }

    /// This many packets have left.
    fn sent(&mut self, packets: u32) {
        let mut state = self.plane.state.borrow_mut();
        state.packets += packets;
        state.cursor += packets;
        state.sent[0].packets += u64::from(packets);
        state.sent[0].bytes += 1_500 * u64::from(packets);
    }

    /// Returns what the header of the next packet would report.
    fn tells(&mut self) -> Vec<Info> {
        let now = Time(self.now * 1_000);
        let told = self.slow.sent(now, TO, (1, 1), 1_500);
        told.iter().map(|header| Header::get(header).info).collect()
    }

    /// A burst of ten packets has arrived, and nothing after it.
    fn burst(&mut self, instance: u16, id: u16) {
        let (first, last) = (self.now - 2 * MS, self.now - 2 * MS + 200_000);
        let burst =
            Burst { first, last, bytes: 9 * 1_500, id, packets: 10, way: 0, port: PORT, instance, ..Burst::zeroed() };
        self.plane.state.borrow_mut().burst = burst;
        self.account();
        self.step();
    }
}

/// A header that reports no path.
fn blank() -> [u8; 16] {
    let mut header = [0; 16];
    Header { tunnel: 8, info: Info { vp_id: u16::MAX, ..Info::default() } }.put(&mut header);
    header
}

#[test]
fn another_life_of_a_peer_is_heard_from_its_first_header_and_burst_on() {
    let mut case = Case::new("{}");
    (1..=10).for_each(|number| case.hear(number, blank()));
    assert_eq!(case.tells()[0].vp_rcnt, 10);
    case.hear(10, blank());
    assert!(case.tells().is_empty(), "one that comes twice is heard once");
    case.burst(3, 40);
    assert!(case.tells()[0].rate.is_some(), "a burst has told its rate");
    case.burst(3, 12);
    assert_eq!(case.tells()[0].rate, None, "one of the past tells none");
    case.renew(5);
    case.hear(1, blank());
    assert_eq!(case.tells()[0].vp_rcnt, 1, "the first header of another life");
    // The data path still has the last one of the previous life.
    case.burst(3, 41);
    assert!(case.tells().is_empty(), "nothing is told of that one any more");
    case.burst(5, 1);
    assert!(case.tells()[0].rate.is_some(), "the first burst");
}

#[test]
fn counts_of_another_life_are_believed() {
    let mut case = Case::new(r#"{"counting": "cumulative", "dead_after_us": 0}"#);
    // The only path in use until a search has found more, and how many of its packets the peer reports as arrived.
    let refused = |case: &mut Case, count: u16| {
        case.tells();
        let now = Time(case.now * 1_000);
        let port = case.slow.rehearse(now, TO).offered[0].0;
        let mut header = [0; 16];
        Header { tunnel: 8, info: Info { vp_id: port, vp_rcnt: count, ..Info::default() } }.put(&mut header);
        case.slow.wishes();
        case.slow.heard(now, TO, Way(PORT), header);
        case.slow.wishes().iter().any(|wish| format!("{wish:?}").contains("refused"))
    };
    for count in 1..=50 {
        assert!(!refused(&mut case, count), "{count}");
    }
    case.renew(5);
    assert!(!refused(&mut case, 1), "it counts from zero");
    assert!(!refused(&mut case, 2));
}

#[test]
fn a_headers_own_burst_is_not_that_of_its_packet() {
    let mut case = Case::new("{}");
    let mut header = [0; 16];
    Header { tunnel: 8, info: Info { vp_id: u16::MAX, burst_id: 7, ..Info::default() } }.put(&mut header);
    // It was made for the first packet of the burst, and comes by another path.
    case.with(|peer, step| peer.hear(step, (1, 1, PORT + 1), header));
    case.burst(3, 7);
    let rates: Vec<_> = (0..2).flat_map(|_| case.tells()).filter_map(|info| info.rate).collect();
    assert_eq!(rates.len(), 1);
}

#[test]
fn bursts_go_on_in_number_though_the_scheme_begins_anew() {
    let mut case = Case::new("{}");
    let mut numbers = Vec::new();
    for life in [3, 5, 7] {
        case.renew(life);
        for _ in 0..2 {
            // A mark on a path: it is measured after T_explore, 200 round trips of 500 us.
            case.sent(1);
            case.account();
            case.step();
            let mut header = [0; 16];
            let vp_id = case.plane.table.ports[usize::from(case.plane.table.slots[0] & 63)];
            Header { tunnel: 8, info: Info { vp_id, marked: true, ..Info::default() } }.put(&mut header);
            let now = Time(case.now * 1_000);
            case.slow.heard(now, TO, Way(PORT), header);
            case.now += 101 * MS;
            for _ in 0..2 {
                case.account();
                case.step();
                numbers.push(case.plane.table.burst);
                case.sent(10);
            }
        }
    }
    numbers.retain(|number| *number > 0);
    numbers.dedup();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
}

/// A case in which one header has been stuck in the ring of a data path that has sent `tail` headers before it.
fn waiting(tail: u32) -> Case {
    let mut case = Case::new("{}");
    // The ring follows the data path when that is ahead.
    for tail in [tail.wrapping_sub(100), tail] {
        case.plane.state.borrow_mut().tail = tail;
        case.account();
        case.step();
    }
    for port in [PORT, PORT + 1] {
        let now = Time(case.now * 1_000);
        case.slow.arrived(now, TO, Way(port), (1_500, false), 0);
    }
    case.sent(2);
    case.account();
    assert!(case.step().is_empty());
    assert_eq!(case.plane.headers.head, tail.wrapping_add(2), "two headers wait");
    case
}

#[test]
fn headers_that_are_stranded_are_all_told_when_their_number_wraps() {
    let mut case = waiting(u32::MAX);
    let mut stranded = Vec::new();
    for _ in 0..10 {
        case.account();
        stranded.extend(case.step());
    }
    let ports: Vec<u16> = stranded.iter().map(|header| Header::get(header).info.vp_id).collect();
    assert_eq!(ports, [PORT, PORT + 1]);
}

#[test]
fn a_header_that_leaves_at_the_last_moment_is_not_told_twice() {
    let mut case = waiting(7);
    let mut stranded = Vec::new();
    for _ in 0..10 {
        case.account();
        // A packet leaves while the step is running, and takes the first header with it.
        case.plane.state.borrow_mut().tail = 8;
        stranded.extend(case.step());
        case.plane.state.borrow_mut().tail = if stranded.is_empty() { 7 } else { 8 };
    }
    let ports: Vec<u16> = stranded.iter().map(|header| Header::get(header).info.vp_id).collect();
    assert_eq!(ports, [PORT + 1]);
}

#[test]
fn headers_that_find_no_packets_do_not_pile_up() {
    // Each packet has a header with content, and a step takes no more of them than the ring has room for.
    let mut case = Case::new(r#"{"counting": "cumulative"}"#);
    case.account();
    case.step();
    for _ in 0..200 {
        let now = Time(case.now * 1_000);
        case.slow.arrived(now, TO, Way(PORT), (1_500, false), 0);
        case.sent(200);
        let tail = case.plane.headers.head;
        case.plane.state.borrow_mut().tail = tail;
        case.account();
        assert!(case.step().is_empty());
    }
    let stranded: Vec<_> = (0..10)
        .flat_map(|_| {
            case.account();
            case.step()
        })
        .collect();
    assert!((HEADERS..=5 * HEADERS).contains(&stranded.len()), "{}", stranded.len());
}

#[test]
fn a_peer_that_changes_its_port_and_back_is_counted_all_the_same() {
    let mut case = Case::new("{}");
    let came = |case: &mut Case, packets: u64, bytes: u64, marked: u64| {
        let mut state = case.plane.state.borrow_mut();
        let came = &mut state.received[0];
        (came.packets, came.bytes, came.marked, came.port, came.instance) = (packets, bytes, marked, PORT, 3);
    };
    came(&mut case, 3, 4_500, 3);
    case.account();
    case.step();
    assert_eq!(case.tells()[0].vp_rcnt, 3);
    // Counted from zero twice in between.
    came(&mut case, 4, 300, 0);
    case.account();
    case.step();
    let told = case.tells();
    assert_eq!((told[0].vp_rcnt, told[0].marked), (4, false));
}

#[test]
fn delays_there_do_not_depend_on_how_clocks_differ() {
    let told = |shift: u32| {
        let mut case = Case::new("{}");
        case.peer.paths = Paths::of(vec![PORT, PORT + 1]);
        // An empty path, and one with a queue of 4,000 ticks on the way there.
        for (way, there) in [(0, 400u32), (1, 4_400)] {
            let (rtt, origin) = (u64::from(there) + 400, there.wrapping_add(shift));
            let echo = Echo { rtt, origin, samples: 1, ..Echo::default() };
            case.plane.state.borrow_mut().echo[way] = echo;
        }
        case.account();
        case.step();
        [case.peer.delays[0].1, case.peer.delays[1].1]
    };
    for shift in [0, 1 << 25, 1 << 31, u32::MAX - 1_000] {
        assert_eq!(told(shift), [400 * TICK_NS, 4_400 * TICK_NS], "{shift}");
    }
}

#[test]
fn the_schemes_time_is_begun_anew_before_it_ends() {
    const DAY: u64 = 86_400_000_000_000;
    let slow = Case::new("{}").slow;
    // Picoseconds since its epoch: it saturates at the end.
    assert_eq!(slow.time(214 * DAY), slow.time(215 * DAY));
    assert!(!slow.is_outlived(199 * DAY) && slow.is_outlived(201 * DAY));
    assert!(slow.time(201 * DAY) < slow.time(202 * DAY));
}

#[test]
fn a_dead_path_stays_dead_when_another_one_vanishes() {
    let path = |spine: u8| Path { hops: vec![[10, 0, 0, spine].into()], port: PORT + u16::from(spine) };
    let mut peer = Peer::new(TO, [10, 0, 1, 1].into());
    peer.settle((0..4).map(path).collect(), 16);
    // Three probes of the third path are lost while those of the others are answered.
    for probe in 1..=3 {
        let at = Moment { clock: probe * 100 * MS, awake: probe * 100 * MS };
        for way in 0..4 {
            peer.watch.asked(way, at);
            if way != 2 {
                peer.watch.answered(way, at.clock, MS);
            }
        }
    }
    assert_eq!(peer.watch.judge(1_000 * MS, &Health::default()).map(|(way, _)| way), Some(2));
    peer.mark_dead();
    assert_eq!(peer.paths.alive, 0b1011);
    // A search no longer finds the first path.
    assert!(peer.settle((1..4).map(path).collect(), 16));
    assert_eq!((peer.paths.ports[1], peer.paths.alive), (PORT + 2, 0b101), "no traffic to the dead one");
}
