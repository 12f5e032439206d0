//! Operations that wait for operations: start times computed by hand, and the same whatever the engine.

use crate::common::{events, flow_column, run, run_with};
use serde_json::{Value, json};
use spinewise_policy::hash;
use spinewise_sim::outcome::Outcome;
use spinewise_sim::setup::Tuning;
use std::path::PathBuf;

/// Packets of 1000 bytes, 1050 on the wire, at 10 Gbps over two links of 1 us, and back as 50 bytes; ps.
const THERE: u64 = 2 * (840_000 + 1_000_000);
const BACK: u64 = 2 * (40_000 + 1_000_000);

/// Writes a table to a file of its own.
fn table(header: &str, rows: &str) -> PathBuf {
    let text = format!("{header}\n{rows}");
    let path = std::env::temp_dir().join(format!("spinewise-dag-{:016x}.csv", hash::name(&text)));
    std::fs::write(&path, text).expect("a place for temporary files");
    path
}

/// One rack of four hosts with this traffic.
fn rack(path: &PathBuf, more: Value) -> Value {
    let mut entry = json!({"kind": "dag", "file": path});
    entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({
        "topology": {"leaves": 1, "spines": 1, "hosts_per_leaf": 4, "host_rate_gbps": 10, "host_delay_ns": 1000},
        "transport": {"mss_bytes": 1000, "header_bytes": 50, "ack_bytes": 50, "delayed_ack_segments": 1},
        "traffic": [entry],
    })
}

/// Source, destination and start of each flow.
fn starts(outcome: &Outcome) -> Vec<(u64, u64, u64)> {
    let [src, dst, start] = ["src", "dst", "start_ps"].map(|name| flow_column(outcome, name));
    (0..src.len()).map(|n| (src[n], dst[n], start[n])).collect()
}

/// Returns the outcome, which must be the same whatever the engine.
fn of_all_engines(spec: &Value) -> Outcome {
    let reference = run(spec);
    for tuning in [events(), Tuning { window_divisor: 7, ..Tuning::default() }] {
        let other = run_with(spec, tuning);
        assert_eq!(reference.hash, other.hash, "{tuning:?}");
        assert_eq!(reference.report["operations"], other.report["operations"], "{tuning:?}");
    }
    reference
}

#[test]
fn sends_and_computations_start_when_what_they_require_has_ended() {
    let path = table(
        "id,rank,op,peer,size_bytes,duration_ns,requires,irequires,start_ns",
        "work,0,calc,,,700,,,300\n\
         ping,0,send,1,1000,,work,,\n\
         got,1,recv,0,,,,,\n\
         think,1,calc,,,50,got,,\n\
         pong,1,send,0,1000,,think,,\n\
         early,1,send,2,1000,,,think,\n\
         late,0,send,3,1000,,ping,,\n\
         a,0,recv,1,,,,,\nb,2,recv,1,,,,,\nc,3,recv,0,,,,,\n\
         end,3,calc,,,2500,c,,\n",
    );
    let outcome = of_all_engines(&rack(&path, json!({})));
    let ping = 1_000_000;
    let (got, acknowledged) = (ping + THERE, ping + THERE + BACK);
    let expected = [(0, 1, ping), (0, 3, acknowledged), (1, 0, got + 50_000), (1, 2, got)];
    assert_eq!(starts(&outcome), expected);
    let told = &outcome.report["operations"][0];
    assert_eq!((&told["operations"], &told["ended"]), (&json!(11), &json!(11)));
    assert_eq!(told["end_ps"], acknowledged + THERE + 2_500_000, "the last computation ends the run");
    assert_eq!(told["waited_for"], json!([]));
}

#[test]
fn a_unit_does_one_thing_at_a_time_and_units_work_side_by_side() {
    let path = table(
        "id,rank,op,peer,size_bytes,tag,duration_ns,requires,irequires,unit",
        "a,0,calc,,,,100,,,\nb,0,calc,,,,100,,,\nc,0,calc,,,,150,,,1\n\
         s,0,send,1,1000,1,,b,,\nt,0,send,2,1000,2,,c,,\nu,0,send,3,1000,3,,,b,\n\
         x,1,recv,0,,1,,,,\ny,2,recv,0,,2,,,,\nz,3,recv,0,,3,,,,\n",
    );
    // b waits for a, c does not; u starts with b.
    assert_eq!(starts(&of_all_engines(&rack(&path, json!({})))), [(0, 1, 200_000), (0, 2, 150_000), (0, 3, 100_000)]);
}

#[test]
fn some_of_those_awaited_can_be_enough() {
    let path = table(
        "id,rank,op,peer,size_bytes,tag,duration_ns,requires,needs,unit",
        "a,0,calc,,,,100,,,1\nb,0,calc,,,,200,,,2\nc,0,calc,,,,300,,,3\n\
         s,0,send,1,1000,1,,a b c,1,\nt,0,send,2,1000,2,,a b c,2,\nu,0,send,3,1000,3,,a b c,,\n\
         x,1,recv,0,,1,,,,\ny,2,recv,0,,2,,,,\nz,3,recv,0,,3,,,,\n",
    );
    assert_eq!(starts(&of_all_engines(&rack(&path, json!({})))), [(0, 1, 100_000), (0, 2, 200_000), (0, 3, 300_000)]);
}

/// Ranks 0 and 1 share a server, 2 and 3 the next one.
#[test]
fn ranks_of_a_server_send_without_the_network_one_message_after_the_other() {
    let path = table(
        "id,rank,op,peer,size_bytes,tag,requires",
        "a,0,send,1,1000,1,\nb,0,send,1,500,2,\nx,1,recv,0,,1,\ny,1,recv,0,,2,\n\
         far,1,send,2,1000,,y\nz,2,recv,1,,,\nnear,2,send,3,10,,z\nw,3,recv,2,,,\n",
    );
    for (hosts, rest) in [(json!("all"), json!([1, 2])), (json!([3, 0, 1, 2]), json!([0, 1]))] {
        let local = json!({"hosts": hosts, "local_ranks": 2, "local_rate_gbps": 8, "local_delay_ns": 30});
        let outcome = of_all_engines(&rack(&path, local));
        // 1 ns a byte, then the delay.
        let far = 1_500_000 + 30_000;
        assert_eq!(starts(&outcome), [(rest[0].as_u64().unwrap(), rest[1].as_u64().unwrap(), far)]);
        assert_eq!(outcome.report["operations"][0]["end_ps"], (far + THERE + BACK).max(far + THERE + 40_000));
    }
}

#[test]
fn ranks_may_share_a_host() {
    let path = table(
        "id,rank,op,peer,size_bytes,requires",
        "a,0,send,1,1000,\nx,1,recv,0,,\nb,1,send,2,1000,x\ny,2,recv,1,,\n",
    );
    let outcome = of_all_engines(&rack(&path, json!({"hosts": [2, 2, 0], "local_rate_gbps": 80})));
    assert_eq!(starts(&outcome), [(2, 0, 100_000)]);
}

#[test]
fn batches_and_steps_are_those_of_the_table() {
    let path = table(
        "id,rank,op,peer,size_bytes,requires,batch,step",
        "a,0,send,1,1000,,1,1\nx,1,recv,0,,,,\nb,1,send,2,1000,x,1,2\ny,2,recv,1,,,,\nc,2,send,0,10,y,3,1\nz,0,recv,2,,,,\n",
    );
    let outcome = run(&rack(&path, json!({})));
    assert_eq!(flow_column(&outcome, "batch"), [1, 1, 3]);
    assert_eq!(flow_column(&outcome, "step"), [1, 2, 1]);
}

#[test]
fn operations_that_have_not_ended_are_named_with_what_waits_for_them() {
    let path = table(
        "id,rank,op,peer,size_bytes,duration_ns,requires",
        "big,0,send,1,9000000,,\ngot,1,recv,0,,,\nnext,1,calc,,,5,got\nlast,1,send,2,10,,next\nx,2,recv,1,,,\n\
         after,0,calc,,,1,big\n",
    );
    let mut spec = rack(&path, json!({}));
    spec["run"] = json!({"until_us": 500});
    let outcome = run(&spec);
    let told = &outcome.report["operations"][0];
    assert_eq!((&told["operations"], &told["ended"]), (&json!(6), &json!(0)));
    assert_eq!(told["waited_for"][0]["operation"], "big");
    assert_eq!(told["waited_for"][0]["waiting"], json!(["after", "got"]));
    let warning = outcome.report["warnings"].as_array().unwrap().iter().find(|w| w["code"] == "operations_unfinished");
    let text = warning.expect("a warning")["text"].as_str().unwrap();
    let start = "6 of 6 operations had not ended when the run did. Send big of rank 0 to rank 1 has delivered ";
    assert!(text.starts_with(start) && text.ends_with("(flow 0); waiting for it: after, got."), "{text}");
}

#[test]
fn operations_and_other_traffic_share_a_run() {
    let path = table(
        "id,rank,op,peer,size_bytes,requires",
        "a,0,send,1,40000,\nx,1,recv,0,,\nb,1,send,2,50000,x\ny,2,recv,1,,\nc,2,send,3,60000,y\nz,3,recv,2,,\n",
    );
    let mut spec = rack(&path, json!({}));
    let alone = run(&spec);
    spec["traffic"].as_array_mut().unwrap().insert(
        0,
        json!({"kind": "flows", "list": [{"src": 3, "dst": 1, "size_bytes": 3_000_000}, {"src": 0, "dst": 1, "size_bytes": 9}]}),
    );
    let twice = spec["traffic"][1].clone();
    spec["traffic"].as_array_mut().unwrap().push(twice);
    let outcome = of_all_engines(&spec);
    assert_eq!(outcome.report["finished"], 8);
    let entries: Vec<_> = outcome.report["operations"].as_array().unwrap().iter().map(|told| &told["entry"]).collect();
    assert_eq!(entries, [&json!(1), &json!(2)]);
    let end = |outcome: &Outcome| outcome.report["operations"][0]["end_ps"].as_u64().unwrap();
    assert!(end(&outcome) > end(&alone), "{} and {}", end(&outcome), end(&alone));
}
