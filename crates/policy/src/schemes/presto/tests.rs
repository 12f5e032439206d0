use super::*;
use crate::{Out, Table, Time};
extern crate std;
use std::vec::Vec;

#[test]
fn cells_of_64_kb_hold_44_full_segments() {
    let (mut sent, mut packets) = (0, 0);
    while continues_cell(sent, 1460, 65_536) {
        sent += 1460;
        packets += 1;
    }
    assert_eq!(packets, Config::default().flowcell_packets);
}

#[test]
fn a_packet_larger_than_a_cell_is_a_cell() {
    assert!(continues_cell(0, 9000, 4000));
    assert!(!continues_cell(9000, 1, 4000));
}

#[test]
fn every_stride_goes_through_all_paths_once() {
    for paths in 1..=40u16 {
        for from in 0..=paths {
            let stride = coprime_stride(from, paths);
            let (mut path, mut seen) = (0, 0u64);
            for _ in 0..paths {
                seen |= 1 << path;
                path = next_path(path, stride, paths);
            }
            assert_eq!(seen.count_ones(), paths as u32, "{paths} paths, stride {stride}");
        }
    }
}

/// Three paths at 10, 10 and 2 Gbps, as configured by the controller.
const RATES: [u64; 6] = [0, 0, 0, 10_000_000_000, 10_000_000_000, 2_000_000_000];

fn picks(config: &Config, flow: u64, count: usize) -> Vec<u16> {
    picks_of(Kind::Data, config, flow, count)
}

fn picks_of(kind: Kind, config: &Config, flow: u64, count: usize) -> Vec<u16> {
    let scheme = Presto::new(config);
    let (mut rng, mut cell) = (Rng::stream(flow, "presto", 0), Cell::default());
    let view = HostView { leaf_of: &[0, 1], ways: &[0, 3], path_rates: &RATES, ..HostView::default() };
    let packet = Packet { kind, dst: 1, payload: 1460, ..Packet::default() };
    let pick = |_| {
        let peers = Table { ids: &[], peers: &mut [], routes: &mut [], stride: 0, current: 0 };
        let out = Out::new(&mut [], &mut []);
        let mut cx = Cx { now: Time::ZERO, node: &mut (), peers, ports: &mut [], view, rng: &mut rng, out };
        scheme.pick(&mut cx, &mut cell, &packet, &mut ()).0
    };
    (0..count).map(pick).collect()
}

#[test]
fn a_fifth_of_the_rate_is_a_cell_in_every_fifth_round() {
    for order in [Order::Ascending, Order::Strided] {
        let config = Config { weights: Weights::Cells, flowcell_packets: 4, order, ..Config::default() };
        let ways = picks(&config, 1, 4 * 110);
        let cells: Vec<u16> = ways.chunks(4).map(|cell| cell[0]).collect();
        assert!(ways.chunks(4).all(|cell| cell.iter().all(|&way| way == cell[0])), "cells keep their size");
        // Ten stretches of five rounds: 5 + 5 + 1 cells.
        let count = [0, 1, 2].map(|path| cells.iter().filter(|&&way| way == path).count());
        assert!(count[0].abs_diff(50) <= 1 && count[1].abs_diff(50) <= 1 && count[2].abs_diff(10) <= 1, "{count:?}");
        let slow: Vec<usize> = (0..cells.len()).filter(|&at| cells[at] == 2).collect();
        assert!(slow.windows(2).all(|two| (10..=12).contains(&(two[1] - two[0]))), "evenly spread: {slow:?}");
    }
}

#[test]
fn the_ns3_codes_cells_are_as_long_as_the_rate_deserves() {
    let config = Config { weights: Weights::CellSizes, flowcell_packets: 10, ..Config::default() };
    let ways = picks(&config, 2, 220);
    let runs: Vec<(u16, usize)> = ways.chunk_by(|a, b| a == b).map(|run| (run[0], run.len())).collect();
    for &(way, len) in &runs[..runs.len() - 1] {
        assert_eq!(len, if way == 2 { 2 } else { 10 }, "{runs:?}");
    }
    assert!(runs.windows(2).all(|two| two[1].0 == (two[0].0 + 1) % 3), "in turn: {runs:?}");
    assert_eq!([cell_size(10, 0), cell_size(44, ONE)], [1, 44]);
}

#[test]
fn a_first_cell_of_any_length_is_followed_by_full_ones() {
    let config = Config { first_cell: FirstCell::Any, flowcell_packets: 10, ..Config::default() };
    let mut lengths = [0u32; 10];
    for flow in 0..5_000 {
        let ways = picks(&config, flow, 45);
        let runs: Vec<usize> = ways.chunk_by(|a, b| a == b).map(<[u16]>::len).collect();
        assert!(runs[1..runs.len() - 1].iter().all(|&run| run == 10), "{runs:?}");
        lengths[runs[0] - 1] += 1;
    }
    // 500 of each; standard deviation 21.
    assert!(lengths.iter().all(|&count| count.abs_diff(500) < 100), "{lengths:?}");
}

#[test]
fn acknowledgements_go_in_cells_if_told_so() {
    let cells = Config { acks: Acks::Cells, flowcell_packets: 4, ..Config::default() };
    let ways = picks_of(Kind::Ack, &cells, 3, 12);
    let runs: Vec<usize> = ways.chunk_by(|a, b| a == b).map(<[u16]>::len).collect();
    assert_eq!(runs, [4, 4, 4]);
    assert!(picks_of(Kind::Ack, &Config::default(), 3, 12).iter().all(|&way| Way(way) == Way::ANY));
}

#[test]
fn short_flows_find_paths_by_their_rates_too() {
    let mut first = [0u32; 3];
    let config = Config { weights: Weights::Cells, ..Config::default() };
    for flow in 0..11_000 {
        first[usize::from(picks(&config, flow, 1)[0])] += 1;
    }
    // 5,000, 5,000 and 1,000; standard deviations 52 and 30.
    assert!(first[0].abs_diff(5_000) < 260 && first[1].abs_diff(5_000) < 260, "{first:?}");
    assert!(first[2].abs_diff(1_000) < 150, "{first:?}");
}

#[test]
fn rates_all_alike_weigh_as_equal_ones() {
    assert!((0..1_000).all(|round| is_due(round, ONE)));
    assert_eq!((0..5_000).filter(|&round| is_due(round, ONE / 5)).count(), 999, "13,107 of 65,536");
}
