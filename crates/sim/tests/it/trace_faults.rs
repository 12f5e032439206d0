//! The choice trace of runs in which links break: choices are among the routes of their instant, and what is called true
//! was so then.

use crate::common::{events, merged, of_link, run, trace_column as column, traced};
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
    for scheme in ["rps", "drill", "conga", "letflow", "hermes", "presto", "clove", "hula"] {
        let tcp = json!({"traffic": [{"kind": "flows", "list": [{"src": 0, "dst": 3, "size_bytes": 1_000_000}]}]});
        let spec = merged(&spec(json!({"name": scheme})), &tcp);
        let (outcome, trace) = traced(&spec, &[0], Tuning::default());
        assert_eq!(outcome.hash, run(&spec).hash, "{scheme}: the run");
        assert!(trace.offsets.len() > 100, "{scheme}: {} rows", trace.offsets.len());
        for tuning in [events(), Tuning { window_divisor: 7, ..Tuning::default() }] {
            let (_, other) = traced(&spec, &[0], tuning);
            assert_eq!((&trace.rows, &trace.offsets), (&other.rows, &other.offsets), "{scheme}: {tuning:?}");
            assert_eq!((&trace.hops, &trace.words), (&other.hops, &other.words), "{scheme}: {tuning:?}");
        }
    }
}

#[test]
fn candidates_and_their_truth_are_those_of_the_instant() {
    let spec = spec(json!({"name": "rps"}));
    let (outcome, trace) = traced(&spec, &[0], Tuning::default());
    let [time, chosen, open, travel, slowest, choice] =
        ["time_ps", "chosen", "open", "travel_ps", "slowest_bps", "choice"].map(|name| column(&trace, name));
    let links = column(&trace, "links");
    let name = |row: usize| trace.words["links"][links[trace.offsets[row] as usize] as usize].as_str();
    let rows = || (0..time.len()).map(|row| (row, time[row] as f64 / 1e6));
    for spine in 0..3 {
        let first = format!("leaf0->spine{spine}");
        let taken = rows().filter(|&(row, _)| chosen[row] == 1 && name(row) == Some(&first)).count() as u64;
        // From 800 us on spine 1 alone is left, until 100 us after it is heard, at 911 us, that spine 0 sees its link up:
        // nothing is chosen, and there is no row.
        let alone = if spine == 1 { 211_000 / 1500 } else { 0 };
        let sent = of_link(&outcome, &first, "packets");
        assert!((alone..=alone + u64::from(spine == 1)).contains(&(sent - taken)), "{first}: {sent} {taken}");
    }
    for (row, at) in rows() {
        let first = name(row).expect("a link");
        let many = choice.iter().filter(|&&other| other == choice[row]).count();
        // Found 100 us after, and when spine 2 works again, used 100 us after its own port is found to.
        let few = (400.0..1300.0).contains(&at);
        assert_eq!(many, if few { 2 } else { 3 }, "{first} at {at}");
        let dead = first == "leaf0->spine0" && (300.0..400.0).contains(&at)
            || first == "leaf0->spine2" && (700.0..800.0).contains(&at);
        assert_eq!(open[row] == 0, dead, "{first} at {at}");
        let by_1 = first == "leaf0->spine1";
        let longer = if by_1 && (100.0..150.0).contains(&at) { 50_000_000 } else { 0 };
        let slower = if by_1 && (200.0..250.0).contains(&at) { 1_200_000 } else { 0 };
        // Three links of 1.2 + 1 us.
        assert_eq!(travel[row], 3 * 2_200_000 + longer + slower, "{first} at {at}");
        assert_eq!(slowest[row], if slower > 0 { 5_000_000_000 } else { 10_000_000_000 });
    }
}
