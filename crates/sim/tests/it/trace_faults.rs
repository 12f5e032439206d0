//! The choice trace of runs in which links break: choices are among the routes of their instant, and the reported state
//! was the actual one.

use crate::common::{events, loss_column, merged, of_link, run, trace_column as column, traced};
use serde_json::{Value, json};
use spinewise_sim::setup::Tuning;

/// A stream of 1,000 packets over three spines, whose links break in turn.
fn spec(scheme: Value) -> Value {
    json!({
        "topology": {"leaves": 2, "spines": 3, "hosts_per_leaf": 2, "host_rate_gbps": 10, "fabric_rate_gbps": 10,
                     "host_delay_ns": 1000, "fabric_delay_ns": 1000},
        "scheme": scheme,
        "traffic": [{"kind": "udp", "src": 0, "dst": 3, "size_bytes": 1_500_000,
                     "schedule": [{"at_us": 0, "rate_gbps": 8}]}],
        "detection": {"carrier_us": 100, "control_plane_us": 100},
        "fault": [
            {"kind": "down", "ends": ["leaf0", "spine0"], "at_us": 300, "until_us": 800},
            {"kind": "down", "switch": "spine2", "at_us": 700, "until_us": 1100},
            {"kind": "rate", "ends": ["leaf0", "spine1"], "at_us": 200, "until_us": 250, "rate_gbps": 5},
            {"kind": "delay", "ends": ["spine1", "leaf1"], "at_us": 100, "until_us": 150, "added_us": 50},
        ],
    })
}

#[test]
fn a_trace_with_faults_is_the_same_in_every_engine_and_the_run_as_without_it() {
    for scheme in ["rps", "drill", "conga", "letflow", "hermes", "presto", "clove", "hula", "ecmp", "wcmp", "resilient"]
    {
        let tcp = json!({"traffic": [{"kind": "flows", "list": [{"src": 0, "dst": 3, "size_bytes": 1_000_000}]}]});
        let spec = merged(&spec(json!({"name": scheme})), &tcp);
        let (outcome, trace) = traced(&spec, &[0], Tuning::default());
        assert_eq!(outcome.hash, run(&spec).hash, "{scheme}: the run");
        assert!(trace.offsets.len() > 100, "{scheme}: {} rows", trace.offsets.len());
        for tuning in [events(), Tuning { window_divisor: 7, ..Tuning::default() }] {
            let (_, other) = traced(&spec, &[0], tuning);
            assert_eq!((&trace.rows, &trace.offsets), (&other.rows, &other.offsets), "{scheme}: {tuning:?}");
            assert_eq!((&trace.hops, &trace.words), (&other.hops, &other.words), "{scheme}: {tuning:?}");
            assert_eq!((&trace.losses, &trace.loss_words), (&other.losses, &other.loss_words), "{scheme}: {tuning:?}");
        }
    }
}

#[test]
fn candidates_and_their_truth_are_those_of_the_instant() {
    let spec = spec(json!({"name": "rps"}));
    let (outcome, trace) = traced(&spec, &[0], Tuning::default());
    let [time, chosen, open, travel, slowest, choice, offered, previous] =
        ["time_ps", "chosen", "open", "travel_ps", "slowest_bps", "choice", "offered", "previous"]
            .map(|name| column(&trace, name));
    let links = column(&trace, "links");
    let name = |row: usize| trace.words["links"][links[trace.offsets[row] as usize] as usize].as_str();
    let rows = || (0..time.len()).map(|row| (row, time[row] as f64 / 1e6));
    for spine in 0..3 {
        let first = format!("leaf0->spine{spine}");
        let taken = rows().filter(|&(row, _)| chosen[row] == 1 && name(row) == Some(&first)).count() as u64;
        assert_eq!(of_link(&outcome, &first, "packets"), taken, "{first}");
    }
    for (row, at) in rows() {
        let first = name(row).expect("a link");
        let many = (0..choice.len()).filter(|&other| choice[other] == choice[row] && offered[other] == 1).count();
        // Detected 100 us after, and when spine 2 works again, used 100 us after its own port is detected to. From 800
        // us on only spine 1 remains, until 100 us after it is heard, at 911 us, that spine 0 sees its link up.
        let alone = (800.0..1011.0).contains(&at);
        let few = (400.0..1300.0).contains(&at);
        assert_eq!(
            many,
            if alone {
                1
            } else if few {
                2
            } else {
                3
            },
            "{first} at {at}"
        );
        assert!(offered[row] == 1 || previous[row] == 1 && chosen[row] == 0, "{first} at {at}: left, and no candidate");
        let dead = first == "leaf0->spine0" && (300.0..800.0).contains(&at)
            || first == "leaf0->spine2" && (700.0..1100.0).contains(&at);
        assert!(offered[row] == 1 || dead || first != "leaf0->spine1", "{first} at {at}: always a candidate");
        assert_eq!(open[row] == 0, dead, "{first} at {at}");
        let by_1 = first == "leaf0->spine1";
        let longer = if by_1 && (100.0..150.0).contains(&at) { 50_000_000 } else { 0 };
        let slower = if by_1 && (200.0..250.0).contains(&at) { 1_200_000 } else { 0 };
        // Three links of 1.2 + 1 us.
        assert_eq!(travel[row], 3 * 2_200_000 + longer + slower, "{first} at {at}");
        assert_eq!(slowest[row], if slower > 0 { 5_000_000_000 } else { 10_000_000_000 });
    }
}

/// The first of three uplinks goes, so the others move up in the list of candidates: the way reported for the previous
/// packet is still where it went.
#[test]
fn the_way_of_the_packet_before_is_the_one_it_took() {
    for scheme in ["rps", "drill", "letflow", "conga", "round_robin", "ecmp", "wcmp", "resilient"] {
        let stream = json!({"kind": "udp", "src": 0, "dst": 3, "size_bytes": 150_000,
                            "schedule": [{"at_us": 0, "rate_gbps": 0.8}]});
        let spec = merged(&spec(json!({"name": scheme})), &json!({"traffic": vec![stream; 8]}));
        let (outcome, trace) = traced(&spec, &[0, 1, 2, 3, 4, 5, 6, 7], Tuning::default());
        assert_eq!(outcome.hash, run(&spec).hash, "{scheme}: the run");
        let [flow, chosen, previous, choice, links] =
            ["flow", "chosen", "previous", "choice", "links"].map(|name| column(&trace, name));
        let link = |row: usize| links[trace.offsets[row] as usize];
        let (mut before, mut moves) = ([None; 8], 0);
        let rows: Vec<usize> = (0..choice.len()).collect();
        for rows in rows.chunk_by(|&a, &b| choice[a] == choice[b]) {
            let of = |marks: &[u64]| rows.iter().copied().find(|&row| marks[row] == 1).map(link);
            let before = &mut before[flow[rows[0]] as usize];
            assert_eq!(of(&previous), *before, "{scheme}: choice {}", choice[rows[0]]);
            moves += u32::from(before.is_some() && of(&chosen) != *before);
            *before = of(&chosen);
        }
        assert!(moves > 0, "{scheme}: a flow over spine 0 or 2 must leave it");
    }
}

/// A fault leaves switches within the fabric one port: what passes by it still has a row, though no scheme is asked.
#[test]
fn a_switch_above_the_leaves_with_one_port_left_still_has_rows() {
    let spec = |scheme: &str| {
        json!({
            "topology": {"kind": "fat_tree", "k": 4},
            "scheme": {"name": scheme},
            "traffic": [{"kind": "permutation", "size_bytes": 400_000}],
            "detection": {"carrier_us": 10, "control_plane_us": 20},
            "fault": [{"kind": "down", "ends": ["aggregation0", "core0"], "at_us": 100}],
        })
    };
    let flows: Vec<u32> = (0..16).collect();
    for scheme in ["resilient", "ecmp", "rps", "letflow"] {
        let spec = spec(scheme);
        let (outcome, trace) = traced(&spec, &flows, Tuning::default());
        assert_eq!(outcome.hash, run(&spec).hash, "{scheme}: the run");
        let [time, chosen, offered, links] = ["time_ps", "chosen", "offered", "links"].map(|name| column(&trace, name));
        let name = |row: usize| trace.words["links"][links[trace.offsets[row] as usize] as usize].as_str();
        let taken = |link: &str| (0..time.len()).filter(|&row| chosen[row] == 1 && name(row) == Some(link)).count();
        for link in ["aggregation0->core0", "aggregation0->core1", "aggregation1->core2"] {
            let sent = of_link(&outcome, link, "packets") + of_link(&outcome, link, "drops");
            assert_eq!(taken(link) as u64, sent, "{scheme}: {link}");
        }
        // Routes at the switch itself follow 10 us after the link goes.
        let late = |row: &usize| time[*row] > 110_000_000 && name(*row) == Some("aggregation0->core0");
        assert!((0..time.len()).filter(late).all(|row| offered[row] == 0 && chosen[row] == 0), "{scheme}");
        let left = (0..time.len()).filter(late).count();
        assert!(left > 0, "{scheme}: a flow over core 0 must leave it");
    }
}

/// The losses of a traced flow are all losses, data and acknowledgements, if there is no other traffic.
#[test]
fn each_loss_has_a_row_and_its_place() {
    let tcp = json!({"traffic": [{"kind": "flows", "list": [{"src": 0, "dst": 3, "size_bytes": 1_000_000},
                                                           {"src": 3, "dst": 0, "size_bytes": 1_000_000}]}]});
    for scheme in ["rps", "ecmp", "presto"] {
        let spec = merged(&spec(json!({"name": scheme})), &tcp);
        let (outcome, trace) = traced(&spec, &[0, 1], Tuning::default());
        let [fate, kind, time, rerouted] =
            ["fate", "kind", "time_ps", "rerouted_ps"].map(|name| loss_column(&trace, name));
        let of = |name: &str| {
            let code = trace.loss_words["fate"].as_array().expect("words").iter().position(|word| word == name);
            fate.iter().filter(|&&one| Some(one as usize) == code).count() as u64
        };
        let counters = &outcome.report["counters"];
        let lost = counters["lost"]["packets"].as_u64().expect("a number");
        assert_eq!(of("lost on the link") + of("died"), lost, "{scheme}");
        assert_eq!(Some(of("died")), counters["lost_in_switches"].as_u64(), "{scheme}");
        assert_eq!(Some(of("no way on")), counters["unroutable"].as_u64(), "{scheme}");
        assert_eq!(
            of("no room") + of("no way on"),
            counters["dropped"]["packets"].as_u64().expect("a number"),
            "{scheme}"
        );
        assert!(lost > 10, "{scheme}: {lost}");
        assert!(kind.contains(&0) && time.is_sorted());
        // A packet that is lost on its way may have left just before.
        assert!(rerouted.iter().zip(&time).all(|(&then, &at)| then == 0 || then + 5_000_000 > at), "{scheme}");
        assert!(rerouted.iter().any(|&then| then > 0), "{scheme}: somebody learns of it");
    }
}
