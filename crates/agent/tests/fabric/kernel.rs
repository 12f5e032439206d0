//! The programs as the kernel runs them, on bytes, without a device (BPF_PROG_TEST_RUN).

use crate::oracle::{Oracle, TO, scheme, view};
use spinewise_agent::agent::clock;
use spinewise_agent::datapath::Datapath;
use spinewise_agent::layout::{COUNTERS, Event, Own, SLOTS, TICK_NS, Table};
use spinewise_agent::plane::Plane;
use spinewise_agent::probes::{By, Probe, Prober, Purpose};
use spinewise_agent::shim::{Kind, Outer, ROOM, Read, Refused, Shim};
use spinewise_agent::slow::Slow;
use spinewise_agent::table::{Manners, Paths, table};
use spinewise_policy::{Rng, Time};

const PORT: u16 = 57_771;
const ME: [u8; 4] = [10, 10, 0, 2];
const PEER: [u8; 4] = [10, 11, 0, 2];
const ETH: usize = 14;

/// Answers of tc programs.
/// It goes on to other filters (TC_ACT_UNSPEC).
const OK: u32 = u32::MAX;
const SHOT: u32 = 2;
const REDIRECT: u32 = 7;

fn loaded() -> Datapath {
    let mut plane = Datapath::load("lo").expect("root may load it");
    let own = Own {
        beat: u64::MAX / 2,
        lease_ns: 1 << 60,
        address: ME,
        port: PORT.to_be_bytes(),
        instance: 1,
        mtu: 9000,
        spare: 0,
    };
    plane.own(&own).expect("a table");
    plane.meet(PEER, TO).expect("a table");
    plane
}

fn framed(packet: &[u8]) -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend([8, 0]);
    frame.extend(packet);
    frame
}

/// An IPv4 packet with a TCP segment.
fn inner(src: [u8; 4], dst: [u8; 4], port: u16, payload: usize) -> Vec<u8> {
    let mut packet = vec![0x45, 0];
    packet.extend(((40 + payload) as u16).to_be_bytes());
    packet.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
    packet.extend(src);
    packet.extend(dst);
    packet.extend(port.to_be_bytes());
    packet.extend([0x13, 0x89, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
    packet.resize(40 + payload, 9);
    packet
}

fn spoiled(rng: &mut Rng, round: u32) -> Vec<u8> {
    let inside = inner(PEER, ME, 4000, 8);
    let shim = Shim {
        kind: if round % 8 == 7 { 1 } else { 0 },
        way: rng.below(64) as u16,
        echo_way: rng.below(65) as u16,
        instance: 3,
        ..Shim::default()
    };
    let outer = Outer {
        src: PEER,
        dst: ME,
        from: 50_000,
        to: PORT,
        length: (ROOM + inside.len()) as u16,
        tos: 2,
        ttl: 60,
        id: 0,
    };
    let mut bytes = shim.write(&outer).to_vec();
    bytes.extend(inside);
    match round % 4 {
        // The outer header stays, or most would not be for this host.
        0 => bytes[24..].iter_mut().for_each(|byte| *byte = rng.bits() as u8),
        1 => bytes.truncate(20 + rng.below(bytes.len() as u32 - 20) as usize),
        2 => bytes[20 + rng.below(90) as usize] = rng.bits() as u8,
        _ => bytes[rng.below(100) as usize] = rng.bits() as u8,
    }
    bytes
}

#[test]
fn a_million_malformed_packets_neither_crash_nor_go_astray_and_all_are_counted() {
    let mut plane = loaded();
    let mut rng = Rng::stream(5, "kernel fuzz", 0);
    let mut expected = [0u64; COUNTERS.len()];
    for round in 0..1_000_000u32 {
        let bytes = spoiled(&mut rng, round);
        let (answer, out) = plane.test_run("edge_in", &framed(&bytes)).expect("it runs");
        let (read, _) = Shim::read(&bytes, bytes.len(), PORT);
        let mine = bytes.len() >= 28 && bytes[16..20] == ME && bytes[9] == 17;
        let known = bytes.len() >= 16 && bytes[12..16] == PEER;
        let (verdict, counter) = match read {
            _ if !mine => (OK, None),
            Read::NotOurs => (OK, None),
            _ if !known => (OK, Some(11)),
            Read::Refused(Refused::Short) => (SHOT, Some(7)),
            Read::Refused(Refused::Foreign) => (SHOT, Some(8)),
            Read::Refused(Refused::OtherVersion) => (SHOT, Some(9)),
            Read::Refused(Refused::Malformed) => (SHOT, Some(10)),
            Read::Ours(Kind::Data) => (OK, Some(2)),
            Read::Ours(Kind::Probe) => (REDIRECT, Some(6)),
            Read::Ours(Kind::Reply) => (SHOT, None),
        };
        assert_eq!(answer, verdict, "{read:?}: {bytes:02x?}");
        if let Some(counter) = counter {
            expected[counter] += 1;
        }
        if answer == OK && read == Read::Ours(Kind::Data) && mine {
            // The result is the inner packet, between the same two hosts.
            assert_eq!(out[ETH..], bytes[ROOM..], "{bytes:02x?}");
            assert_eq!((&out[ETH + 12..ETH + 16], &out[ETH + 16..ETH + 20]), (&PEER[..], &ME[..]));
        }
    }
    let mut counted = plane.counters().expect("counters");
    // Answers to probes that were never sent are reported to the agent, which recognizes them; there is no room for all
    // of them.
    counted[12] = 0;
    assert_eq!(counted, expected);
    assert!([2, 7, 8, 9, 10].iter().all(|&which| expected[which] > 1_000), "{expected:?}");
}

#[test]
fn the_kernel_goes_the_ways_that_pick_goes() {
    for (name, params) in [
        ("ecmp", "{}"),
        ("packet_scatter", "{}"),
        ("flowcell", r#"{"packets": 7, "dispatch": "random"}"#),
        ("flowcell", r#"{"packets": 7, "dispatch": "round_robin"}"#),
        ("presto", r#"{"flowcell_packets": 10}"#),
        ("pdlb", r#"{"initial_packets": 9}"#),
        // No gap between these packets opens a flowlet.
        ("clove", r#"{"flowlet_gap_us": 1e9}"#),
        ("meet", r#"{"flowlet_gap_us": 1e9}"#),
        ("letflow", r#"{"flowlet_gap_us": 1e9}"#),
    ] {
        let plan = scheme(name, params);
        let mut plane = loaded();
        let mut slow = Slow::new(plan.clone(), view(4), 11, 16);
        let mut oracle = Oracle::new(&plan, 4, 11);
        let paths = Paths::of(vec![50_000, 51_000, 52_000, 53_000]);
        let mut rng = Rng::stream(11, "packets", 0);
        let (mut told, now) = ((0, 0), 1_000_000_000u64);
        for place in 0..2_000u32 {
            let state = plane.state(TO).expect("a table");
            if place % 100 == 0 || state.cursor - told.0 > SLOTS as u32 - 2 {
                let at = Time(now * 1000);
                slow.sent(at, TO, (state.cursor - told.0, state.packets - told.1), 1500);
                told = (state.cursor, state.packets);
                let said = slow.rehearse(at, TO);
                let next = table(&plan, &said, &paths, Manners::default(), (state.cursor, 1448));
                plane.publish(TO, &next).expect("a table");
            }
            let flow = rng.below(12);
            let packet = inner(ME, PEER, 4000 + flow as u16, 100);
            let (answer, out) = plane.test_run("edge_out", &framed(&packet)).expect("it runs");
            assert_eq!(answer, OK);
            let (read, shim) = Shim::read(&out[ETH..], out.len() - ETH, PORT);
            assert_eq!(read, Read::Ours(Kind::Data), "{name}: {out:02x?}");
            assert_eq!(out[ETH + ROOM..], packet[..], "the packet itself is untouched");
            let expected = usize::from(oracle.pick(now, flow).0);
            assert_eq!(usize::from(shim.way), expected, "{name}, packet {place}, flow {flow}");
            let port = u16::from_be_bytes([out[ETH + 20], out[ETH + 21]]);
            assert_eq!(port, paths.ports[expected], "the source port names the path");
        }
    }
}

/// A packet of the peer with this shim.
fn from_peer(shim: &Shim) -> Vec<u8> {
    let inside = inner(PEER, ME, 4000, 8);
    let inside = if shim.kind == Kind::Data as u8 { &inside[..] } else { &[] };
    let length = (ROOM + inside.len()) as u16;
    let outer = Outer { src: PEER, dst: ME, from: 50_000, to: PORT, length, tos: 2, ttl: 60, id: 0 };
    framed(&[&shim.write(&outer), inside].concat())
}

fn comes(plane: &mut Datapath, shim: Shim) {
    plane.test_run("edge_in", &from_peer(&shim)).expect("it runs");
}

/// The shim of a packet that leaves.
fn leaves(plane: &mut Datapath) -> Shim {
    let (_, out) = plane.test_run("edge_out", &framed(&inner(ME, PEER, 4000, 100))).expect("it runs");
    let (read, shim) = Shim::read(&out[ETH..], out.len() - ETH, PORT);
    assert_eq!(read, Read::Ours(Kind::Data));
    shim
}

fn tunnelled(plane: &mut Datapath) {
    let mut table: Table = bytemuck::Zeroable::zeroed();
    (table.tunnel, table.ways, table.open, table.ports[0]) = (1, 1, 1, 50_000);
    plane.publish(TO, &table).expect("a table");
}

/// `echo_way` of a packet that reports none.
const NONE: u16 = 64;

#[test]
fn another_life_of_a_peer_counts_from_the_beginning() {
    let mut plane = loaded();
    let shim = Shim { echo_way: NONE, ..Shim::default() };
    let burst = |plane: &Datapath| {
        let burst = plane.state(TO).expect("a table").burst;
        (burst.id, burst.packets)
    };
    comes(&mut plane, Shim { instance: 3, burst: 2_000, header_seq: 1, ..shim });
    comes(&mut plane, Shim { instance: 3, burst: 2_000, ..shim });
    comes(&mut plane, Shim { instance: 3, burst: 1_990, ..shim });
    assert_eq!(burst(&plane), (2_000, 2), "what comes after a newer one is over");
    assert_eq!(plane.events().expect("events").len(), 1);
    comes(&mut plane, Shim { instance: 5, burst: 1, header_seq: 1, ..shim });
    comes(&mut plane, Shim { instance: 5, burst: 1, ..shim });
    assert_eq!(burst(&plane), (1, 2), "the first of another life");
    assert_eq!(plane.events().expect("events").len(), 1, "so is its first header");
}

#[test]
fn a_peer_is_not_told_of_packets_that_its_agent_of_before_sent() {
    let mut plane = loaded();
    tunnelled(&mut plane);
    let shim = Shim { echo_way: NONE, ..Shim::default() };
    (0..3).for_each(|way| comes(&mut plane, Shim { instance: 3, way, ..shim }));
    comes(&mut plane, Shim { instance: 5, way: 1, ..shim });
    let told: Vec<(u16, u32)> = (0..6).map(|_| leaves(&mut plane)).map(|s| (s.echo_way, s.echo_packets)).collect();
    assert!(told.contains(&(1, 1)), "{told:?}");
    assert!(told.iter().all(|(way, _)| *way == 1 || *way == NONE), "{told:?}");
}

#[test]
fn a_path_whose_port_is_another_is_confirmed_from_zero() {
    let mut plane = loaded();
    let at = (clock() / TICK_NS) as u32;
    let told = |echo_packets, ago: u32| Shim {
        instance: 3,
        echo_way: 0,
        echo_packets,
        stamp: at,
        echo_stamp: at.wrapping_sub(ago),
        echo_arrived: at,
        ..Shim::default()
    };
    let confirmed = |plane: &Datapath| plane.state(TO).expect("a table").echo[0].packets;
    comes(&mut plane, told(1_000, 900));
    comes(&mut plane, told(990, 910));
    assert_eq!(confirmed(&plane), 1_000, "one that was overtaken says nothing new");
    comes(&mut plane, told(3, 800));
    assert_eq!(confirmed(&plane), 3);
}

#[test]
fn nobody_sends_by_the_tunnel_but_the_agent() {
    let mut plane = loaded();
    let to_peer = |plane: &mut Datapath, kind: u8| {
        let inside = inner(ME, PEER, 4000, 8);
        let inside = if kind == Kind::Data as u8 { &inside[..] } else { &[] };
        let length = (ROOM + inside.len()) as u16;
        let outer = Outer { src: ME, dst: PEER, from: 40_000, to: PORT, length, tos: 0, ttl: 64, id: 0 };
        let frame = framed(&[&Shim { kind, ..Shim::default() }.write(&outer), inside].concat());
        plane.test_run("edge_out", &frame).expect("it runs").0
    };
    assert_eq!(to_peer(&mut plane, Kind::Data as u8), SHOT, "a packet that another process has made up");
    assert_eq!(to_peer(&mut plane, Kind::Reply as u8), SHOT, "an answer that no peer has asked for");
    assert_eq!(to_peer(&mut plane, Kind::Probe as u8), OK);
    assert_eq!(plane.counters().expect("counters")[11], 2);
}

#[test]
fn answers_to_an_agent_before_are_not_taken_for_own_ones() {
    let mut plane = loaded();
    let shim = Shim { kind: Kind::Reply as u8, echo_way: NONE, ..Shim::default() };
    comes(&mut plane, Shim { instance: 9, ..shim });
    assert_eq!(plane.events().expect("events").len(), 0);
    comes(&mut plane, Shim { instance: 1, ..shim });
    assert_eq!(plane.events().expect("events").len(), 1);
}

#[test]
fn no_answer_takes_longer_than_since_its_probe_left() {
    let mut prober = Prober::open([127, 0, 0, 1].into(), PORT, 1).expect("root may open it");
    let (sent, way, ttl) = (clock(), 0, 0);
    let (purpose, to, address) = (Purpose::Health, TO, [127, 0, 0, 1].into());
    prober.send(Probe { purpose, to, address, port: 50_000, way, ttl, length: 0, sent, give_up: 1_000_000_000 });
    // The peer that answers invents the time at which the probe was sent.
    let event = Event { at: sent + 3_000_000, peer: TO, probe: 1, rtt: u32::MAX, port: 50_000, ..Event::default() };
    let (_, by) = prober.answered(&event).expect("it is under way");
    assert_eq!(by, By::Host { rtt: 3_000_000, apart: 0, marked: false });
}

#[test]
fn clocks_that_differ_make_samples_all_the_same() {
    for shift in [0u32, 1 << 25, 1 << 31, u32::MAX - 100] {
        let mut plane = loaded();
        let now = (clock() / TICK_NS) as u32;
        // Two packets of one path: their ways there took 300 and 500 ticks more than what the clocks differ by.
        for (echo_packets, ago, there) in [(1, 900, 300u32), (2, 800, 500)] {
            let echo_stamp = now.wrapping_sub(ago);
            let echo_arrived = echo_stamp.wrapping_add(there).wrapping_add(shift);
            let shim = Shim { instance: 3, echo_way: 0, echo_packets, echo_stamp, echo_arrived, ..Shim::default() };
            comes(&mut plane, Shim { stamp: echo_arrived, ..shim });
        }
        let echo = plane.state(TO).expect("a table").echo[0];
        assert_eq!((echo.samples, echo.origin, echo.apart), (2, shift.wrapping_add(300), 200), "{shift}");
    }
}

#[test]
fn outer_headers_have_the_class_of_the_packet_inside() {
    let mut plane = loaded();
    tunnelled(&mut plane);
    for tos in [0, 0xb8, 0xb9, 0x22] {
        let mut packet = inner(ME, PEER, 4000, 100);
        packet[1] = tos;
        let (_, out) = plane.test_run("edge_out", &framed(&packet)).expect("it runs");
        assert_eq!((out[ETH + 1], out[ETH + ROOM + 1]), (tos, tos));
    }
}

#[test]
fn long_probes_have_short_answers() {
    let mut plane = loaded();
    let shim = Shim { kind: Kind::Probe as u8, echo_way: NONE, instance: 3, ..Shim::default() };
    let outer = Outer { src: PEER, dst: ME, from: 50_000, to: PORT, length: 1_576, tos: 2, ttl: 60, id: 0 };
    let mut bytes = shim.write(&outer).to_vec();
    bytes.resize(1_576, 0);
    let (answer, out) = plane.test_run("edge_in", &framed(&bytes)).expect("it runs");
    assert_eq!((answer, out.len()), (REDIRECT, ETH + ROOM));
    let (read, shim) = Shim::read(&out[ETH..], ROOM, PORT);
    assert_eq!((read, shim.instance), (Read::Ours(Kind::Reply), 3));
}
