//! QDAPS by the rules of its authors' programs: four uplinks of 10 Gbps, on which a packet of 1,500 bytes takes 1.2 µs.

use crate::common::{Shell, ack, data};
use spinewise_policy::schemes::qdaps::{Config, Qdaps, Rules, Sent};
use spinewise_policy::*;

const PACKET: Span = Span::from_ns(1_200);

fn leaf() -> Shell<Qdaps> {
    Shell::new(&Config { rules: Rules::Released, ..Config::default() }, Tier::Leaf, 0, 4)
}

/// Packets waiting at the uplinks.
fn waiting(shell: &mut Shell<Qdaps>, packets: [u32; 4]) {
    shell.room.ports.waiting = [&[0; 4][..], &packets].concat();
}

/// Returns where the next packet of a flow goes with these queues.
fn send(shell: &mut Shell<Qdaps>, packets: [u32; 4], packet: &Packet) -> usize {
    waiting(shell, packets);
    shell.pick(4, packet, &mut ()).index()
}

#[test]
fn what_is_left_of_the_last_packets_wait_shrinks_by_one_per_transmission() {
    let last = Sent { found: 3, at: Time(5_000_000), ..Sent::default() };
    let after = |span: Span| last.left(last.at + span, PACKET);
    assert_eq!(after(Span::ZERO), 4, "three before it, and itself");
    assert_eq!([after(PACKET), after(PACKET * 2), after(PACKET * 3)], [3, 2, 1]);
    assert_eq!(after(Span(PACKET.0 - 1)), 4, "whole transmissions count");
    assert_eq!([after(PACKET * 4), after(PACKET * 400)], [0, 0]);
}

#[test]
fn packets_follow_the_program_step_by_step() {
    let mut shell = leaf();
    assert_eq!(send(&mut shell, [9, 6, 3, 12], &data(1)), 2, "the first: the shortest queue");
    // 4 packets until it has left: 5 is the shortest of 9, 6, 5 and its own 4 or more.
    assert_eq!(send(&mut shell, [9, 6, 7, 5], &data(1)), 3);
    // 6 at once, and 4 after two transmissions: the queue of 4 is long enough, and shorter than its own.
    shell.wait(PACKET * 2);
    assert_eq!(send(&mut shell, [4, 3, 3, 5], &data(1)), 0);
    // 5, and nothing shorter than its own queue is as long.
    assert_eq!(send(&mut shell, [5, 4, 4, 6], &data(1)), 0);
    // All of it has left: the shortest.
    shell.wait(PACKET * 6);
    assert_eq!(send(&mut shell, [5, 4, 1, 6], &data(1)), 2);
    assert_eq!(send(&mut shell, [5, 0, 1, 6], &data(2)), 1, "another flow has no past");
}

#[test]
fn a_queue_of_more_than_41_packets_is_left_for_the_shortest_by_any_flow() {
    for (own, way) in [(41, 0), (42, 2)] {
        let mut shell = leaf();
        assert_eq!(send(&mut shell, [41, 60, 60, 60], &data(1)), 0);
        assert_eq!(send(&mut shell, [own, 30, 2, 31], &data(1)), way, "{own} packets, the flow's second packet");
        // After that, order is as there.
        let next = send(&mut shell, [own, 3, 9, 4], &data(1));
        assert_eq!(next, if way == 2 { 1 } else { own as usize - 41 });
    }
    let config = Config { rules: Rules::Released, reroute_above_packets: 7, ..Config::default() };
    let mut shell = Shell::<Qdaps>::new(&config, Tier::Leaf, 0, 4);
    assert_eq!(send(&mut shell, [7, 60, 60, 60], &data(1)), 0);
    assert_eq!(send(&mut shell, [8, 30, 31, 0], &data(1)), 3);
}

#[test]
fn a_transmission_is_of_the_flows_largest_packet_at_its_last_ports_rate() {
    let short = Packet { wire: 100, payload: 60, ..data(1) };
    for (rate, way) in [(10_000_000_000, 1), (1_000_000_000, 0)] {
        let mut shell = leaf();
        shell.room.ports.rates[4] = rate;
        assert_eq!(send(&mut shell, [2, 60, 60, 60], &data(1)), 0);
        assert_eq!(send(&mut shell, [3, 60, 60, 60], &short), 0);
        // 4 packets then. After four times 1.2 µs none is left at 10 Gbps, and all are at 1 Gbps.
        shell.wait(PACKET * 4);
        assert_eq!(send(&mut shell, [3, 0, 60, 60], &data(1)), way, "{rate} bit/s");
    }
}

#[test]
fn acknowledgements_go_in_turn_and_count_for_no_order() {
    let mut shell = leaf();
    let ways: Vec<usize> = (0..6).map(|n| send(&mut shell, [5, 5, 5, n], &ack(n))).collect();
    assert_eq!(ways, [0, 1, 2, 3, 0, 1]);
    assert_eq!(send(&mut shell, [5, 5, 5, 1], &data(9)), 3);
    shell.room.candidates.truncate(2);
    assert_eq!(send(&mut shell, [5; 4], &ack(1)), 0, "a turn beyond the last begins again");
}

#[test]
fn a_flow_whose_port_is_gone_begins_anew_and_equal_queues_are_drawn_from() {
    let mut shell = leaf();
    assert_eq!(send(&mut shell, [9, 9, 3, 9], &data(1)), 2);
    shell.room.candidates.retain(|port| *port != 6);
    assert_eq!(send(&mut shell, [2, 1, 0, 3], &data(1)), 1, "no queue would be as long as 4");
    let mut seen = [0u32; 4];
    let mut shell = leaf();
    for flow in 0..4_000 {
        seen[send(&mut shell, [3; 4], &data(flow))] += 1;
    }
    assert!(seen.iter().all(|n| n.abs_diff(1_000) < 150), "{seen:?}");
}
