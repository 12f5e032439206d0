//! Captured packets: the same from both engines, and capturing does not change a run.

use crate::common::{events, link, merged, run, run_with};
use serde_json::{Value, json};
use spinewise_sim::outcome::{Outcome, Values};
use spinewise_sim::outcome::{PACKET_COLUMNS, Packets};
use spinewise_sim::setup::Tuning;

fn lossy() -> Value {
    let list: Vec<Value> = (0..4)
        .map(|n| json!({"src": n, "dst": 4 + n / 2, "size_bytes": 150_000 + 1000 * n, "start_ns": 700 * n}))
        .collect();
    json!({
        "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 4},
        "switch": {"buffer_bytes": 45_000},
        "transport": {"kind": "ecn", "recovery": "sack", "handshake": true},
        "scheme": {"name": "rps"},
        "traffic": [{"kind": "flows", "list": list}],
        "fault": [
            {"kind": "loss", "ends": ["leaf0", "spine1"], "probability": 0.02, "at_us": 0},
            {"kind": "rate", "ends": ["leaf1", "spine0"], "rate_gbps": 2, "at_us": 20, "until_us": 200},
        ],
    })
}

fn with_capture(spec: &Value, capture: &Value) -> Value {
    merged(spec, &json!({"metrics": {"capture": capture}}))
}

fn packets(outcome: &Outcome) -> &Packets {
    outcome.packets.as_ref().expect("packets were captured")
}

fn column<'a>(outcome: &'a Outcome, name: &str) -> &'a Values {
    let at = PACKET_COLUMNS.iter().position(|column| column.name == name);
    &packets(outcome).rows[at.unwrap_or_else(|| panic!("no column {name}"))]
}

#[test]
fn both_engines_capture_the_same_and_no_outcome_changes() {
    let spec = lossy();
    let places = json!({"at": ["host0", "leaf0", "spine1->leaf1"], "max_packets": 300});
    let (plain, captured) = (run(&spec), run(&with_capture(&spec, &places)));
    assert!(plain.packets.is_none());
    assert_eq!(plain.hash, captured.hash);
    for tuning in [
        events(),
        Tuning { window_divisor: 7, ..Tuning::default() },
        Tuning { commit_at_start: true, ..Tuning::default() },
        Tuning { threads: 2, ..Tuning::default() },
    ] {
        let other = run_with(&with_capture(&spec, &places), tuning);
        assert_eq!(other.hash, captured.hash);
        assert_eq!(packets(&other).rows, packets(&captured).rows);
        assert_eq!(packets(&other).blocks, packets(&captured).blocks);
        assert_eq!(packets(&other).told, packets(&captured).told);
    }
    assert!(packets(&captured).full().len() > 1, "some ports saw more than 300 packets");
}

#[test]
fn a_run_that_is_cut_short_captures_what_had_left() {
    let spec = merged(&lossy(), &json!({"run": {"stop": "time", "until_us": 60}}));
    let outcome = run(&with_capture(&spec, &json!({"at": ["leaf0", "host1"]})));
    let ports = packets(&outcome).told.as_array().expect("ports are listed");
    assert_eq!(ports.len(), 7, "six of the leaf, one of the host");
    let (Values::U8(outbound), Values::U32(interface)) = (column(&outcome, "outbound"), column(&outcome, "interface"))
    else {
        panic!("the columns of packets have changed")
    };
    for (number, port) in (0u32..).zip(ports) {
        let left = outbound.iter().zip(interface).filter(|&(&out, &at)| out == 1 && at == number).count() as u64;
        let name = port["name"].as_str().unwrap_or_default();
        let sent = link(&outcome, name)["packets"].as_u64();
        // A NIC counts what is committed by then: at most one packet more.
        let ahead = u64::from(name.starts_with("host"));
        assert!(sent.is_some_and(|sent| sent >= left && sent <= left + ahead), "{name}: {sent:?}, captured {left}");
        assert!(left > 0, "{name}");
    }
}
