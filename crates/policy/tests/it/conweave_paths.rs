//! ConWeave's whole paths: a leaf with the ports 4 and 5 up, and two links behind each, hence four paths.

use crate::common::conweave::{Leaf, US, hear};
use crate::common::{ack, data};
use spinewise_policy::fabric::reorder::header::{Header, Mark};
use spinewise_policy::schemes::conweave::paths::PathIs;
use spinewise_policy::schemes::conweave::{Config, NOTIFY};
use spinewise_policy::*;

fn leaf(config: &Config) -> Leaf {
    // Rows for four paths to a leaf; of the four uplink ports, two are not routes.
    let mut shell = Leaf::new(config, Tier::Leaf, 0, 4);
    shell.room.candidates = vec![4, 5];
    shell.room.ports.hops = vec![4, 4, 5, 5];
    shell.now = Time(US);
    shell
}

/// An aggregation switch with these candidates: on paths 0 and 2 its port is 2, on paths 1 and 3 it is 3.
fn aggregation(config: &Config, candidates: &[u16]) -> Leaf {
    let mut shell = Leaf::new(config, Tier::Aggregation, 4, 4);
    shell.room.candidates = candidates.to_vec();
    shell.room.ports.hops = vec![2, 3, 2, 3];
    shell
}

/// The header and the candidate of flow `flow`'s next data packet.
fn next(shell: &mut Leaf, flow: u32) -> (Header, u16) {
    let mut header = Header::default();
    let way = shell.pick(1, &data(flow), &mut header);
    (header, way.0)
}

#[test]
fn all_paths_are_drawn_alike_and_leave_by_their_uplinks() {
    let mut shell = leaf(&Config::default());
    let mut drawn = [0u32; 4];
    for flow in 0..4000 {
        let (header, candidate) = next(&mut shell, flow);
        assert_eq!(candidate, header.way.0 / 2, "ports 4 and 5 are candidates 0 and 1");
        assert_eq!((header.mark, header.charged), (Mark::Init, 4));
        drawn[header.way.index()] += 1;
        assert_eq!(next(&mut shell, flow).0.way, header.way, "it stays there");
    }
    // Binomial: four standard deviations are 110.
    assert!(drawn.iter().all(|&count| count.abs_diff(1000) < 110), "{drawn:?}");
}

#[test]
fn a_busy_path_is_avoided_and_its_twin_on_the_same_uplink_is_not() {
    let mut shell = leaf(&Config { sampled_paths: 64, ..Config::default() });
    for path in [0, 2, 3] {
        hear(&mut shell, 1, NOTIFY, 9999, 0, Way(path));
    }
    for flow in 0..100 {
        assert_eq!((next(&mut shell, flow).0.way, next(&mut shell, flow).1), (Way(1), 0));
    }
}

#[test]
fn paths_of_a_dead_uplink_leave_the_set_and_their_flows_start_anew() {
    let mut shell = leaf(&Config::default());
    let before: Vec<Way> = (0..200).map(|flow| next(&mut shell, flow).0.way).collect();
    shell.room.candidates = vec![5];
    let mut drawn = [0u32; 4];
    for (flow, &old) in (0..).zip(&before) {
        let (header, candidate) = next(&mut shell, flow);
        assert_eq!(candidate, 0);
        let expected = if old.0 < 2 { Mark::Init } else { Mark::Data };
        assert_eq!(header.mark, expected, "flow {flow} was on path {}", old.0);
        assert!(old.0 < 2 || header.way == old);
        drawn[header.way.index()] += u32::from(old.0 < 2);
    }
    assert!(drawn[..2] == [0, 0] && drawn[2..].iter().all(|&count| count > 20), "{drawn:?}");
}

#[test]
fn a_switch_behind_obeys_the_header_while_the_port_lives() {
    let stamped = |path: u16| Header { stamped: true, way: Way(path), ..Header::default() };
    let config = Config::default();
    for path in 0..4 {
        for flow in 0..20 {
            let way = aggregation(&config, &[2, 3]).pick(1, &data(flow), &mut stamped(path));
            assert_eq!(way, Way(path % 2), "path {path}");
            // Port 3 is no longer a route, and another has come: what is on port 2 stays.
            let way = aggregation(&config, &[1, 2]).pick(1, &data(flow), &mut stamped(path));
            assert!(path % 2 == 1 || way == Way(1));
        }
    }
    // Hashed: packets that lost their port, non-data packets, unstamped packets, and where a path is an uplink.
    let uplink = Config { path: PathIs::Uplink, ..Config::default() };
    let spread = |config: &Config, candidates: &[u16], header: Header, packet: &dyn Fn(u32) -> Packet| {
        let hashed = |flow: u32| Hashed::Mixed { pair: 1, inner: u64::from(flow), tag: 0 };
        let mut taken = [0; 2];
        for flow in 0..100 {
            let packet = Packet { hashed: hashed(flow), ..packet(flow) };
            let way = aggregation(config, candidates).pick(1, &packet, &mut { header });
            assert_eq!(u32::from(way.0), packet.spread(99, 2));
            taken[way.index()] += 1;
        }
        taken.iter().all(|&count| count > 20)
    };
    assert!(spread(&config, &[1, 2], stamped(1), &data));
    assert!(spread(&config, &[2, 3], stamped(1), &ack));
    assert!(spread(&config, &[2, 3], Header::default(), &data));
    assert!(spread(&uplink, &[2, 3], stamped(1), &data));
}

#[test]
fn where_a_path_is_an_uplink_nobody_is_asked_for_whole_ones() {
    let mut shell = leaf(&Config { path: PathIs::Uplink, ..Config::default() });
    for flow in 0..100 {
        let (header, candidate) = next(&mut shell, flow);
        assert!(candidate == header.way.0 && candidate < 2);
    }
}

#[test]
fn where_an_uplink_leaves_flows_on_the_others_stay_without_a_tail() {
    let mut shell = leaf(&Config { path: PathIs::Uplink, ..Config::default() });
    shell.room.candidates = vec![4, 5, 6, 7];
    let before: Vec<Header> = (0..200).map(|flow| next(&mut shell, flow).0).collect();
    shell.room.candidates = vec![4, 6, 7];
    for (flow, old) in (0..).zip(before) {
        let (header, candidate) = next(&mut shell, flow);
        let port = shell.room.candidates[usize::from(candidate)];
        assert_eq!(port, 4 + header.way.0, "flow {flow}");
        if old.way == Way(1) {
            assert_eq!(header.mark, Mark::Init, "flow {flow} starts anew");
        } else {
            assert_eq!((header.mark, header.way), (Mark::Data, old.way), "flow {flow}");
        }
    }
}
