//! The times at which SELB judges a path, and over which it measures growth: leaf 0 with four uplinks of 10 Gbps, step
//! by step.

use crate::common::{Shell, ack, data};
use spinewise_policy::fabric::reorder::header::{Header, Mark};
use spinewise_policy::schemes::selb::{Config, FirstPath, Monitor, Selb};
use spinewise_policy::*;

const UPLINKS: usize = 4;
/// Time that 1,000 bytes take at 10 Gbps.
const KILOBYTE: Span = Span::from_ns(800);

/// A leaf whose flows start on the path that their hash names, all on uplink 0, measured once at 10 µs.
fn leaf(monitor: Monitor, theta: f64) -> Shell<Selb> {
    let config = Config { monitor, theta, first_path: FirstPath::Ecmp, ..Config::default() };
    let mut shell = Shell::new(&config, Tier::Leaf, 0, UPLINKS as u16);
    measure(&mut shell, Span::from_us(10));
    shell
}

fn measure(shell: &mut Shell<Selb>, after: Span) {
    shell.wait(after);
    shell.tick();
}

/// Makes the queue of uplink `way` hold this many bytes from here on.
fn queue(shell: &mut Shell<Selb>, way: usize, bytes: u64) {
    shell.room.ports.bytes[4 + way] = bytes;
}

/// A flow whose hash names uplink `way`.
fn hashed_to(shell: &Shell<Selb>, way: usize) -> Hashed {
    let of = |inner| Hashed::Mixed { pair: 1, inner, tag: 0 };
    let names = |hashed: &Hashed| {
        let packet = Packet { hashed: *hashed, ..data(1) };
        packet.spread(99, shell.room.candidates.len() as u32) as usize == way
    };
    (0..).map(of).find(names).expect("a hash for every uplink")
}

/// The next data packet of a flow that starts on uplink `start`: its way and mark.
fn next(shell: &mut Shell<Selb>, flow: u32, start: usize) -> (usize, Mark) {
    let packet = Packet { hashed: hashed_to(shell, start), ..data(flow) };
    let mut header = Header::default();
    let way = shell.pick(1, &packet, &mut header).index();
    (way, header.mark)
}

#[test]
fn by_interval_growth_is_unseen_until_it_is_measured_and_then_holds_for_a_period() {
    let mut shell = leaf(Monitor::Interval, 0.2);
    assert_eq!(next(&mut shell, 1, 0), (0, Mark::Init));
    queue(&mut shell, 0, 100_000);
    shell.wait(Span::from_us(5));
    assert_eq!(next(&mut shell, 1, 0), (0, Mark::Data), "100 KB in 5 µs, and not measured yet");
    measure(&mut shell, Span::from_us(5));
    queue(&mut shell, 0, 99_000);
    shell.wait(Span::from_us(9));
    assert_eq!(next(&mut shell, 1, 0), (0, Mark::Tail), "it shrinks, but the mark holds");
    measure(&mut shell, Span::from_us(1));
    assert_eq!((next(&mut shell, 2, 0), next(&mut shell, 2, 0)), ((0, Mark::Init), (0, Mark::Data)), "no more");
}

#[test]
fn since_the_last_measurement_growth_is_seen_by_the_next_packet() {
    // 0.2 of 10 Gbps are 1,250 bytes in 5 µs.
    for (bytes, mark) in [(1_250, Mark::Data), (1_251, Mark::Tail)] {
        let mut shell = leaf(Monitor::Measured, 0.2);
        assert_eq!(next(&mut shell, 1, 0), (0, Mark::Init));
        shell.wait(Span::from_us(5));
        queue(&mut shell, 0, bytes);
        assert_eq!(next(&mut shell, 1, 0), (0, mark), "{bytes} bytes");
    }
    // Other packets that take the path meanwhile change nothing; time and a measurement do.
    let mut shell = leaf(Monitor::Measured, 0.2);
    next(&mut shell, 1, 0);
    queue(&mut shell, 0, 2_000);
    shell.wait(Span::from_us(5));
    next(&mut shell, 2, 0);
    shell.wait(Span::from_us(3));
    assert_eq!(next(&mut shell, 1, 0).1, Mark::Data, "2,000 bytes in 8 µs are 0.2 of the rate, and not more");
    measure(&mut shell, Span::from_us(2));
    shell.wait(Span(1));
    assert_eq!(next(&mut shell, 1, 0).1, Mark::Data, "no growth since this measurement");
    queue(&mut shell, 0, 2_001);
    assert_eq!(next(&mut shell, 1, 0).1, Mark::Tail, "a byte in a picosecond");
}

#[test]
fn per_packet_growth_is_from_what_the_last_packet_on_the_path_found() {
    // Packets of 1,000 bytes join uplink 0; the bound at θ = 0.25 is a gap of 800 / 1.25 = 640 ns between them.
    for (gap, mark) in [(640, Mark::Data), (639, Mark::Tail)] {
        let mut shell = leaf(Monitor::Packet, 0.25);
        queue(&mut shell, 0, 10_000);
        assert_eq!(next(&mut shell, 1, 0), (0, Mark::Init), "the first packet knows no growth");
        // It joins, and the queue drains at 10 Gbps: 1.25 bytes in a nanosecond.
        shell.wait(Span::from_ns(gap));
        queue(&mut shell, 0, 11_000 - gap * 5 / 4);
        assert_eq!(next(&mut shell, 1, 0), (0, mark), "{gap} ns");
    }
}

#[test]
fn per_packet_the_packets_of_all_flows_count_and_those_without_a_header_too() {
    for other in ["data", "ack"] {
        let mut shell = leaf(Monitor::Packet, 0.2);
        next(&mut shell, 1, 0);
        shell.wait(Span::from_us(50));
        // 9,000 bytes in 50 µs since flow 1's last packet are below θ; 1,000 in 100 ns since the other's are above.
        queue(&mut shell, 0, 8_000);
        if other == "data" {
            next(&mut shell, 2, 0);
        } else {
            let packet = Packet { hashed: hashed_to(&shell, 0), ..ack(2) };
            assert_eq!(shell.pick(1, &packet, &mut Header::default()).index(), 0);
        }
        shell.wait(Span::from_ns(100));
        queue(&mut shell, 0, 9_000);
        assert_eq!(next(&mut shell, 1, 0).1, Mark::Tail, "after {other}");
    }
    let mut alone = leaf(Monitor::Packet, 0.2);
    next(&mut alone, 1, 0);
    alone.wait(Span::from_us(50));
    queue(&mut alone, 0, 9_000);
    assert_eq!(next(&mut alone, 1, 0).1, Mark::Data);
}

#[test]
fn per_packet_two_packets_of_one_instant_exceed_every_theta() {
    let mut shell = leaf(Monitor::Packet, 1e3);
    next(&mut shell, 1, 0);
    assert_eq!(next(&mut shell, 1, 0).1, Mark::Data, "nothing joined");
    queue(&mut shell, 0, 1);
    assert_eq!(next(&mut shell, 1, 0).1, Mark::Tail);
}

#[test]
fn per_packet_a_mark_fades_as_its_queue_drains() {
    // A packet joins the empty uplink 1 at instant 0; flow 1 is on uplink 0, which grows; 2 and 3 have longer queues and
    // are of another class. θ = 1: uplink 1 is congested while 1,000 − 1.25 t > 1.25 t, for 400 ns.
    for (after, to) in [(399, None), (400, Some(1))] {
        let mut shell = leaf(Monitor::Packet, 1.0);
        [50_000, 50_000].iter().zip(2..).for_each(|(bytes, way)| queue(&mut shell, way, *bytes));
        measure(&mut shell, Span::from_us(10));
        let clusters: Vec<u8> = shell.ports[4..].iter().map(|port| port.cluster).collect();
        assert_eq!(clusters, [0, 0, 1, 1]);
        next(&mut shell, 2, 1);
        next(&mut shell, 1, 0);
        shell.wait(Span::from_ns(after));
        queue(&mut shell, 1, 1_000 - after * 5 / 4);
        queue(&mut shell, 0, 600);
        assert_eq!(next(&mut shell, 1, 0), (0, Mark::Tail));
        let backups = shell.did.iter().filter(|action| is_backup(action)).count();
        assert_eq!(
            backups,
            usize::from(to.is_none()),
            "{after} ns: the shortest queue, as no path of the class is free"
        );
    }
}

fn is_backup(action: &out::Action) -> bool {
    let index = Selb::SHEET.series.iter().position(|series| series.name == "backup_reroutes").expect("a series");
    matches!(action, out::Action::Record { series, .. } if usize::from(*series) == index)
}

#[test]
fn per_packet_a_flow_starts_on_a_path_that_does_not_grow() {
    let config = Config { monitor: Monitor::Packet, ..Config::default() };
    let mut shell = Shell::<Selb>::new(&config, Tier::Leaf, 0, UPLINKS as u16);
    // Packets took 0, 1 and 3, and more joined at the same instant.
    let mut taken = vec![];
    for flow in 0..40 {
        let mut header = Header::default();
        let way = shell.pick(1, &data(flow), &mut header).index();
        assert_eq!(header.mark, Mark::Init);
        assert!(!taken.contains(&way) || taken.len() == UPLINKS, "uplink {way} grows: {taken:?}");
        queue(&mut shell, way, 1_000);
        if !taken.contains(&way) {
            taken.push(way);
        }
    }
    assert_eq!(taken.len(), UPLINKS);
    shell.wait(KILOBYTE);
    (0..UPLINKS).for_each(|way| queue(&mut shell, way, 0));
    assert_eq!(shell.call(None, None, |policy, cx, _| policy.tick(cx)), ());
    assert!(shell.ports[4..].iter().all(|port| !port.congested), "all have drained");
}

#[test]
fn also_long_queues_count_under_every_monitor() {
    for monitor in [Monitor::Interval, Monitor::Measured, Monitor::Packet] {
        let config = Config { monitor, also_len_bytes: 40_000, first_path: FirstPath::Ecmp, ..Config::default() };
        let mut shell = Shell::<Selb>::new(&config, Tier::Leaf, 0, UPLINKS as u16);
        queue(&mut shell, 0, 40_001);
        measure(&mut shell, Span::from_us(10));
        next(&mut shell, 1, 0);
        assert_eq!(next(&mut shell, 1, 0).1, Mark::Tail, "{monitor:?}");
    }
}
