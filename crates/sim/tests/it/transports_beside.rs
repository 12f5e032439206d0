//! Traffic entries with a transport of their own: flows run as they would if it were the run's, share NICs with others, and
//! may be of a priority that flow control does not protect.

use crate::common::{counter, flow, flow_column, merged, run};
use serde_json::{Value, json};
use spinewise_sim::outcome::Outcome;
use spinewise_sim::spec::resolve;

/// Flows of an entry, and its transport if it has one of its own.
fn entry(name: &str, list: &[Value], transport: Option<Value>) -> Value {
    let mut entry = json!({"kind": "flows", "name": name, "list": list});
    if let Some(transport) = transport {
        entry["transport"] = transport;
    }
    entry
}

fn spec(transport: Value, traffic: Value) -> Value {
    json!({
        "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 4, "host_rate_gbps": 10, "fabric_rate_gbps": 10},
        "transport": transport, "traffic": traffic,
    })
}

/// Six flows into one host: enough for marks, drops and timeouts.
fn into_one(from: u32) -> Vec<Value> {
    (0..6).map(|n| flow((from + n) % 7, 7, 300_000 + 7_000 * u64::from(n), u64::from(n) * 1_000)).collect()
}

fn times(outcome: &Outcome) -> Vec<u64> {
    flow_column(outcome, "sender_fct_ps")
}

/// Where no flow has the run's transport, nothing of it shows but what it says of switches.
#[test]
fn flows_run_as_if_their_transport_were_the_runs() {
    for own in [
        json!({"kind": "dctcp"}),
        json!({"kind": "newreno", "recovery": "newreno", "mss_bytes": 900, "header_bytes": 100, "ack_bytes": 80}),
        json!({"kind": "cubic", "recovery": "rack", "handshake": true, "fin": true, "delayed_ack_segments": 2}),
        json!({"kind": "swift", "pacing": true}),
    ] {
        let switch = json!({"switch": {"buffer_packets": 40, "ecn_threshold_packets": 10}});
        let alone = run(&merged(&spec(own.clone(), json!([entry("a", &into_one(0), None)])), &switch));
        let main = json!({"kind": "reno", "recovery": "reno", "mss_bytes": 5000});
        let beside = run(&merged(&spec(main, json!([entry("a", &into_one(0), Some(own.clone()))])), &switch));
        assert_eq!(alone.records, beside.records, "{own}");
        for column in ["fct_ps", "ideal_fct_ps", "sender_fct_ps", "packets", "marks"] {
            assert_eq!(flow_column(&alone, column), flow_column(&beside, column), "{own}: {column}");
        }
        assert!(times(&alone).iter().all(|&fct| fct > 0), "{own}");
    }
}

/// On a NIC, queue pairs and connections have turns packet by packet: two long flows of one host, alike in size, are
/// done at about the same time, though one sends packets of 9000 bytes and is not held back by any window.
#[test]
fn a_nic_gives_turns_to_flows_of_all_transports() {
    let tcp = json!({"kind": "newreno", "mss_bytes": 1000, "header_bytes": 60, "initial_window_segments": 400});
    let traffic =
        json!(
            [entry("rdma", &[flow(0, 4, 3_000_000, 0)], None), entry("tcp", &[flow(0, 5, 3_000_000, 0)], Some(tcp)),]
        );
    let roomy = json!({"switch": {"model": "output_queued", "buffer_packets": 4000, "ecn_threshold_packets": 4000}});
    let rdma = json!({"kind": "rdma", "mss_bytes": 1000, "header_bytes": 60});
    let outcome = run(&merged(&spec(rdma, traffic), &roomy));
    let [rdma, tcp] = times(&outcome)[..] else { panic!("two flows") };
    // Each has half of 10 Gbps: 3 MB and headers take 5.1 ms.
    for fct in [rdma, tcp] {
        assert!((5_000_000_000..5_600_000_000).contains(&fct), "{rdma} {tcp}");
    }
}

/// Both classes send 8 into 1 at once: the lossless one is paused and loses nothing, the lossy one is dropped and its
/// senders are never paused.
#[test]
fn a_lossy_priority_is_dropped_where_a_lossless_one_is_paused() {
    let senders = |dst: u32| (0..7).map(|src| flow(src, dst, 400_000, 0)).collect::<Vec<_>>();
    let of = |priority: u8, lossy: Value| {
        let mut entry = entry("it", &senders(7), Some(json!({"kind": "newreno", "recovery": "rack"})));
        entry["priority"] = json!(priority);
        let base = spec(json!({"kind": "rdma"}), json!([entry]));
        run(&merged(
            &base,
            &json!({"preset": "selb", "switch": {
            "priorities": 2, "lossy_priorities": lossy, "buffer_bytes": 500_000, "headroom_bytes": 20_000,
            "ecn_min_bytes": 50_000, "ecn_max_bytes": 200_000}}),
        ))
    };
    let dropped = |outcome: &Outcome| counter(outcome, "dropped", "packets");
    let paused = |outcome: &Outcome| counter(outcome, "pause_frames", "packets");
    for (priority, lossy) in [(0, json!([1])), (1, json!([0])), (1, json!(null)), (0, json!([]))] {
        let lossless = of(priority, lossy.clone());
        assert!(paused(&lossless) > 0 && dropped(&lossless) == 0, "{priority} {lossy}");
    }
    for (priority, lossy) in [(0, json!([0])), (1, json!([1]))] {
        let lossy_run = of(priority, lossy.clone());
        assert!(paused(&lossy_run) == 0 && dropped(&lossy_run) > 0, "{priority} {lossy}");
        assert_eq!(lossy_run.report["counters"]["lossless_drops"], 0, "what is dropped was not protected");
        assert!(times(&lossy_run).iter().all(|&fct| fct > 0), "they are sent again");
    }
}

/// Headroom is for priorities that are protected: the buffer of a switch needs less for fewer.
#[test]
fn lossy_priorities_have_no_headroom() {
    let least = |lossy: Value| {
        let base = spec(json!({"kind": "rdma"}), json!([entry("a", &into_one(0), None)]));
        let small = json!({"preset": "selb", "switch": {
            "priorities": 3, "lossy_priorities": lossy, "buffer_bytes": 2_000, "headroom_bytes": 900,
            "ecn_min_bytes": 100, "ecn_max_bytes": 200, "guaranteed_bytes": 0, "reserved_packets": 0,
            "pause_offset_bytes": 0}});
        let error = resolve(&merged(&base, &small)).expect_err("too small").to_string();
        error
            .split("need ")
            .nth(1)
            .and_then(|rest| rest.split(' ').next())
            .expect("bytes")
            .parse::<u64>()
            .expect("a number")
    };
    // A leaf has four hosts and two spines.
    assert_eq!(
        [least(json!([])), least(json!([2])), least(json!([0, 2]))],
        [3, 2, 1].map(|protected| 6 * 900 * protected)
    );
}

#[test]
fn what_cannot_be_beside_another_is_refused_by_name() {
    let of = |main: Value, own: Value, more: Value| {
        let base = spec(main, json!([entry("a", &into_one(0), None), entry("b", &into_one(1), Some(own))]));
        resolve(&merged(&base, &more)).expect_err("refused").to_string()
    };
    let tcp = || json!({"kind": "dctcp"});
    for (main, own, more, key) in [
        (tcp(), json!({"kind": "uet"}), json!({}), "traffic[1].transport.kind"),
        (json!({"kind": "uet"}), tcp(), json!({}), "transport.kind"),
        (tcp(), json!({"kind": "mptcp"}), json!({}), "traffic[1].transport.subflows"),
        (json!({"kind": "mptcp"}), tcp(), json!({}), "transport.subflows"),
        (tcp(), json!({"kind": "rdma", "queue_pairs": 2}), json!({}), "traffic[1].transport.queue_pairs"),
        (tcp(), json!({"kind": "dctpc"}), json!({}), "traffic[1].transport.kind"),
        (tcp(), json!({"mss": 5}), json!({}), "traffic[1].transport.mss"),
        (tcp(), json!({"mss_bytes": -5}), json!({}), "traffic[1].transport.mss_bytes"),
        (
            tcp(),
            json!({"kind": "cubic", "mss_bytes": 9000}),
            json!({"switch": {"buffer_bytes": 5000}}),
            "switch.buffer_bytes",
        ),
    ] {
        let told = of(main, own, more);
        assert!(told.starts_with(&format!("{key} ")), "{key}: {told}");
    }
    let lossy = |switch: Value| {
        of(tcp(), json!({"kind": "cubic"}), json!({"switch": merged(&json!({"model": "shared_buffer"}), &switch)}))
    };
    for (switch, key) in [
        (json!({"pfc": false, "lossy_priorities": [0]}), "switch.lossy_priorities"),
        (json!({"pfc": true, "priorities": 2, "lossy_priorities": [2]}), "switch.lossy_priorities[0]"),
        (json!({"pfc": true, "priorities": 3, "lossy_priorities": [1, 1]}), "switch.lossy_priorities[1]"),
        (json!({"pfc": true, "priorities": 2, "lossy_priorities": [1, 0]}), "switch.lossy_priorities"),
    ] {
        let told = lossy(switch);
        assert!(told.starts_with(&format!("{key} ")), "{key}: {told}");
    }
}

/// The same table twice is one transport, and a table that says what the run's says is that one.
#[test]
fn equal_transports_are_one() {
    let read = |own: &[Value]| {
        let entries: Vec<Value> =
            own.iter().enumerate().map(|(n, own)| entry(&format!("e{n}"), &into_one(0), Some(own.clone()))).collect();
        resolve(&merged(&json!({"preset": "datacenter"}), &spec(json!({"kind": "dctcp"}), json!(entries))))
            .expect("a spec")
    };
    let cubic = json!({"kind": "cubic"});
    let spec = read(&[cubic.clone(), json!({"kind": "dctcp"}), cubic, json!({"kind": "reno", "recovery": "reno"})]);
    let carriers: Vec<u8> = spec.traffic.iter().map(|entry| entry.carrier).collect();
    assert_eq!((carriers, spec.beside.len()), (vec![1, 0, 1, 2], 2));
    assert!(read(&[json!({"kind": "dctcp"})]).beside.is_empty());
}
