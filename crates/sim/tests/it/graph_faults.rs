//! Links of a graph that go down: other routes, packets that loop until all switches know, static routes, and one of
//! two parallel links.

use crate::common::{
    all_finished, counter, flow_column, graph, loss_column, merged, of_link, run_both, steps, traced, wired,
};
use serde_json::{Value, json};
use spinewise_policy::Time;
use spinewise_sim::faults::Step;
use spinewise_sim::setup::Tuning;

/// 10 Gbps, 1 us.
fn cable(a: u32, b: u32) -> Value {
    json!([a, b, 10, 1000])
}

const US: u64 = 1_000_000;

/// Host 0 at switch 2, host 1 at switch 3, and a link between the two. The other way leads over 4, 5 and 6, so that
/// from 4 the shortest way to host 1 is also back over 2.
fn detour() -> Value {
    let links = [cable(0, 2), cable(1, 3), cable(2, 3), cable(2, 4), cable(4, 5), cable(5, 6), cable(6, 3)];
    graph(2, 5, links.into())
}

/// One packet per 150 us, the direct link permanently down from 1 ms, and news that takes 500 us at each switch.
fn circling() -> Value {
    json!({
        "topology": detour(),
        "detection": {"carrier_us": 100, "flood_hop_us": 500, "control_plane_us": 1000},
        "fault": [{"kind": "down", "ends": ["switch2", "switch3"], "at_us": 1000}],
        "traffic": [{"kind": "udp", "src": 0, "dst": 1, "size_bytes": 30_000,
                     "schedule": [{"at_us": 0, "rate_gbps": 0.08}]}],
    })
}

/// Switch 2 uses its new route from 2.1 ms on, switch 4 from 501 us later. In between a packet bounces back and forth,
/// 2.2 us each way, and passes its 64th switch 138.6 us after the first.
#[test]
fn packets_circle_until_all_know_and_no_longer_than_their_hop_limit() {
    let outcome = run_both(&circling());
    let (from, until) = (2_100 * US, 2_601 * US);
    let at_first = |n: u64| n * 150 * US + 2_200_000;
    // The last that switch 4 examines is its 62nd visit; the 64th is not examined.
    let circles = |n: &u64| at_first(*n) >= from && at_first(*n) + 61 * 2_200_000 < until;
    let packets = || 0..20u64;
    let on_link = packets().filter(|&n| (1_000 * US..1_100 * US).contains(&at_first(n))).count();
    let no_way = packets().filter(|&n| (1_100 * US..from).contains(&at_first(n))).count();
    let circled = packets().filter(circles).count();
    assert_eq!((on_link, no_way, circled), (1, 6, 3));
    assert_eq!(counter(&outcome, "lost", "packets"), on_link as u64);
    assert_eq!(outcome.report["counters"]["unroutable"], json!(no_way + circled));
    assert_eq!(counter(&outcome, "delivered", "packets"), 20 - (on_link + no_way + circled) as u64);
    // A packet that set out in between came to switch 4 once more when that knew better.
    let late = packets().filter(|n| at_first(*n) >= from && at_first(*n) < until && !circles(n)).count();
    assert_eq!(late, 1);
    let (_, trace) = traced(&circling(), &[0], Tuning::default());
    let names = &trace.loss_words["fate"];
    let fates = loss_column(&trace, "fate").into_iter().map(|fate| names[fate as usize].as_str().unwrap_or_default());
    assert_eq!(fates.filter(|&fate| fate == "hop limit reached").count(), circled);
}

/// Nothing loops with an oracle, and TCP finishes over the other path.
#[test]
fn flows_take_the_other_way() {
    let spec = merged(
        &circling(),
        &json!({
            "detection": {"mode": "oracle"},
            "traffic": [{"kind": "flows", "list": [{"src": 0, "dst": 1, "size_bytes": 3_000_000}]}],
        }),
    );
    let outcome = run_both(&spec);
    all_finished(&outcome);
    assert!(of_link(&outcome, "switch5->switch6", "packets") > 1000);
    assert_eq!(outcome.report["counters"]["unroutable"], json!(0));
    assert!(flow_column(&outcome, "fct_ps")[0] < 10_000 * US);
}

/// A static route stays as long as one of its links works; after that the shortest path by the switch's knowledge takes
/// its place.
/// The direct link has 100 us, and the way around it has one link more and 2 us: once the direct one is down, packets
/// are faster, and so is their ideal.
#[test]
fn a_flow_on_a_faster_detour_does_not_beat_its_ideal() {
    let links = vec![cable(0, 2), cable(1, 3), json!([2, 3, 10, 100_000]), cable(2, 4), cable(4, 3)];
    let outcome = run_both(&json!({
        "preset": "datacenter",
        "topology": graph(2, 3, links),
        "fault": [{"kind": "down", "ends": ["switch2", "switch3"], "at_us": 0, "until_us": 100_000}],
        "traffic": [{"kind": "flows", "list": [{"src": 0, "dst": 1, "size_bytes": 1460, "start_ns": 5_000_000}]}],
    }));
    // Four links of 1 us, each with 1.2 us for 1500 bytes.
    let [fct, ideal] = ["fct_ps", "ideal_fct_ps"].map(|name| flow_column(&outcome, name)[0]);
    assert_eq!((fct, ideal), (8_800_000, 8_800_000));
}

#[test]
fn a_static_route_gives_way_when_its_link_is_down() {
    let links = [cable(0, 2), cable(1, 3), cable(2, 3), cable(2, 4), cable(4, 3)];
    let spec = json!({
        "topology": merged(&graph(2, 3, links.into()), &json!({"routes": [[2, 1, 4]]})),
        "detection": {"mode": "oracle"},
        "fault": [{"kind": "down", "ends": ["switch4", "switch2"], "at_us": 1000, "until_us": 2000}],
        "traffic": [{"kind": "udp", "src": 0, "dst": 1, "size_bytes": 150_000,
                     "schedule": [{"at_us": 0, "rate_gbps": 0.4}]}],
    });
    let outcome = run_both(&spec);
    let [direct, by_4] = ["switch2->switch3", "switch2->switch4"].map(|link| of_link(&outcome, link, "packets"));
    // 100 packets in 3 ms, a third of them while the link is down.
    assert!(direct.abs_diff(33) <= 1 && by_4 + direct == 100, "{direct} and {by_4}");
    all_finished(&outcome);
}

/// Two switches with two links between them: both are used and named, each can fail separately, and then the other one
/// carries all packets.
#[test]
fn parallel_links_share_the_load_and_fail_one_by_one() {
    let links = [cable(0, 4), cable(1, 4), cable(2, 5), cable(3, 5), cable(4, 5), cable(5, 4)];
    let topology = graph(4, 2, links.into());
    let names: Vec<String> = {
        let wired = wired(&topology);
        wired
            .links
            .ids()
            .map(|link| wired.link_name(link))
            .filter(|name| name.starts_with("switch4->switch5"))
            .collect()
    };
    assert_eq!(names, ["switch4->switch5#0", "switch4->switch5#1"]);
    let spec = json!({
        "topology": topology, "scheme": {"name": "rps"}, "detection": {"carrier_us": 10},
        "fault": [{"kind": "down", "ends": ["switch4", "switch5"], "link": 1, "at_us": 500, "may_cut_off": true}],
        "traffic": [{"kind": "udp", "src": 0, "dst": 2, "size_bytes": 1_500_000,
                     "schedule": [{"at_us": 0, "rate_gbps": 8}]}],
    });
    let outcome = run_both(&spec);
    let carried = |link: &str| of_link(&outcome, link, "packets");
    let [first, second] = [carried("switch4->switch5#0"), carried("switch4->switch5#1")];
    // 1,000 packets, a third of them in the first half millisecond.
    assert!(first + second == 1000 && second.abs_diff(170) < 40, "{first} and {second}");
    let told: Vec<_> = steps(&spec).into_iter().filter(|(.., step)| matches!(step, Step::Down(_))).collect();
    assert_eq!(told, [(0, Time(510 * US), Step::Down(3)), (1, Time(510 * US), Step::Down(3))]);
}

/// A fabric whose paths are longer than the hop limit cannot have links that go down.
#[test]
fn paths_beyond_the_hop_limit_are_refused_with_faults() {
    let chain = |switches: u32| {
        let links = (0..switches - 1).map(|n| cable(2 + n, 3 + n)).chain([cable(0, 2), cable(1, 1 + switches)]);
        let change = json!({"topology": graph(2, switches, links.collect()), "fault": [
            {"kind": "down", "ends": ["switch2", "switch3"], "at_us": 1000, "until_us": 9000}]});
        let spec = crate::common::resolved(&merged(&circling(), &change));
        let mut topology = spinewise_sim::topology::Topology::new(&spec.topology).expect("a topology");
        spinewise_sim::faults::Faults::new(&spec, &mut topology).err().map(|error| error.to_string())
    };
    assert_eq!(chain(64), None);
    assert_eq!(
        chain(65).as_deref(),
        Some(
            "topology.links = a path of 65 switches: expected paths of at most 64 switches, the hop limit, where links go \
             down"
        )
    );
}
