//! A run on several threads is the same run.

use crate::common::{fat_tree, flow, merged, resolved, run, run_with};
use serde_json::{Value, json};
use spinewise_sim::outcome::{Outcome, Values};
use spinewise_sim::setup::{Failure, Tuning, simulate};

fn by(threads: usize) -> Tuning {
    Tuning { threads, ..Tuning::default() }
}

fn busy(change: &Value) -> Value {
    let mut base = json!({
        "topology": {"leaves": 4, "spines": 3, "hosts_per_leaf": 4},
        "scheme": {"name": "letflow"},
        "traffic": [{"kind": "poisson", "cdf": "web_search", "load": 0.6, "duration_us": 2000}],
    });
    if change["topology"]["kind"] == "fat_tree" {
        base["topology"] = json!({});
    }
    merged(&base, change)
}

/// Returns why a run was made by one thread, if it was.
fn reason(spec: &Value) -> Option<String> {
    let outcome = run_with(spec, by(2));
    let warnings = outcome.report["warnings"].as_array().cloned().unwrap_or_default();
    let told = warnings.into_iter().find(|warning| warning["code"] == "one_thread")?;
    Some(told["text"].as_str().unwrap_or_default().to_owned())
}

/// Eight ranks pass data round and round. Two make a server, whose ranks are in different racks and send to each other
/// outside the network.
fn round_and_round() -> Value {
    let (ranks, rounds) = (8, 25);
    let mut rows = String::from("id,rank,op,peer,size_bytes,tag,duration_ns,requires\n");
    for (round, rank) in (0..rounds).flat_map(|round| (0..ranks).map(move |rank| (round, rank))) {
        let (next, last) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        let after = if round == 0 { String::new() } else { format!("r{}_{rank}", round - 1) };
        let size = 2000 + 137 * rank + round;
        rows += &format!("c{round}_{rank},{rank},calc,,,,{},{after}\n", 300 + 11 * rank);
        rows += &format!("s{round}_{rank},{rank},send,{next},{size},{round},,c{round}_{rank}\n");
        rows += &format!("r{round}_{rank},{rank},recv,{last},,{round},,\n");
    }
    let path = std::env::temp_dir().join(format!("spinewise-threads-{:016x}.csv", spinewise_policy::hash::name(&rows)));
    std::fs::write(&path, rows).expect("a place for temporary files");
    json!([{"kind": "dag", "file": path, "hosts": [0, 4, 1, 5, 2, 6, 3, 7], "local_ranks": 2, "local_rate_gbps": 8,
            "local_delay_ns": 30}])
}

#[test]
fn everything_that_is_told_is_the_same_by_any_number_of_threads() {
    let train = json!([{"kind": "all_reduce", "size_bytes": 400_000}]);
    for spec in [
        busy(&json!({"metrics": {"series_interval_us": 50, "series_links": "all", "facts": true}})),
        busy(&json!({"topology": fat_tree()})),
        busy(&json!({"preset": "selb", "scheme": {"name": "selb"}, "metrics": {"facts": true}})),
        // Flows that wait for others: hosts learn of their start only from their packets.
        busy(&json!({"traffic": train})),
        busy(&json!({"traffic": round_and_round()})),
        // Cut while flows that have started wait for their handshakes.
        busy(&json!({"traffic": [{"kind": "all_to_all", "size_bytes": 90_000}], "transport": {"handshake": true},
                     "run": {"stop": "time", "until_us": 3}})),
        busy(&json!({"metrics": {"capture": {"at": ["leaf0", "host9"]}}})),
        busy(&json!({"preset": "uet", "scheme": {"name": "reps"}, "topology": {"host_delay_ns": 700}})),
        busy(&json!({"run": {"stop": "time", "until_us": 700}})),
        busy(&json!({"fault": [{"kind": "loss", "ends": ["leaf0", "spine1"], "probability": 0.02, "at_us": 0}]})),
    ] {
        let alone = run(&spec);
        assert!(alone.report["packet_hops"].as_u64() > Some(20), "{spec}");
        for threads in [2, 3, 4, 64] {
            let together = run_with(&spec, by(threads));
            assert_eq!(together.hash, alone.hash, "{threads} threads\n{spec}");
            assert_eq!(together.report, alone.report, "{threads} threads\n{spec}");
            assert_eq!(together.records, alone.records, "{threads} threads\n{spec}");
            assert_eq!(together.flows, alone.flows, "{threads} threads\n{spec}");
            assert_eq!(together.series, alone.series, "{threads} threads\n{spec}");
            assert_eq!(together.collectives, alone.collectives, "{threads} threads\n{spec}");
            let captured = |outcome: &Outcome| outcome.packets.as_ref().map(|packets| packets.rows.clone());
            assert_eq!(captured(&together), captured(&alone), "{threads} threads\n{spec}");
        }
    }
}

#[test]
fn what_cannot_be_parted_is_one_threads_and_says_why() {
    assert_eq!(reason(&busy(&json!({}))), None);
    for (change, why) in [
        (json!({"run": {"engine": "events"}}), "the engine of events has no windows"),
        (
            json!({"run": {"follow": "conweave-ns3"}, "preset": "conweave-ns3", "transport": {"kind": "rdma", "recovery": "irn"},
            "topology": {"spines": 4, "host_rate_gbps": 100, "fabric_rate_gbps": 100, "host_delay_ns": 1000,
            "fabric_delay_ns": 1000, "tx_time_rounding": "floor_1ns"}, "switch": {"model": "shared_buffer", "pfc": false},
            "scheme": {"acks": "ecmp", "hash": "murmur3"},
            "traffic": [{"kind": "flows", "list": [flow(0, 9, 90_000, 0), flow(5, 2, 90_000, 0)]}]}),
            "it follows a program",
        ),
        (
            json!({"topology": {"leaves": 1}, "traffic": [{"kind": "poisson", "cdf": "web_search", "load": 0.6,
            "duration_us": 2000, "pairs": "any"}]}),
            "it has one rack",
        ),
    ] {
        let spec = busy(&change);
        let told = reason(&spec);
        assert!(told.as_ref().is_some_and(|told| told.contains(why)), "{told:?}\n{spec}");
        assert_eq!(run_with(&spec, by(4)).hash, run(&spec).hash);
    }
}

#[test]
fn rows_of_series_that_there_is_no_memory_for_are_refused_however_short_the_run_is() {
    let metrics = json!({"series_interval_us": 2, "series_links": "all"});
    let list = json!([{"kind": "flows", "list": [flow(0, 5, 1_000_000, 0), flow(9, 2, 1_000_000, 0)]}]);
    let spec = busy(&json!({"metrics": metrics, "run": {"stop": "time", "until_us": 100}, "traffic": list}));
    let Values::U64(times) = &run(&spec).series[0] else { panic!("a column of times") };
    let (rows, counted) = (times.len() as u64, 49 * 96);
    assert!(rows > counted, "those of links are counted before, and these are {rows}");
    // 31 kB of fabric and two flows, and one row less than there are.
    let room = 30_816 + 2 * 200 + (rows - 1) * 110;
    for threads in [1, 3] {
        let tuning = Tuning { memory: Some(room), ..by(threads) };
        match simulate(&resolved(&spec), tuning, &mut |_| true) {
            Err(Failure::Spec(error)) => assert!(error.allowed.contains("no memory for more"), "{error}"),
            other => panic!("{:?}", other.map(|_| ())),
        }
    }
}

#[test]
fn no_more_threads_work_than_there_is_memory_for() {
    // 16 hosts, 28 cables, 7 switches and 4 leaves take 31 kB, 400 flows 80 kB, again in each thread.
    let flows: Vec<Value> = (0..400).map(|n| flow(n % 16, (n + 5) % 16, 9000, 250 * u64::from(n))).collect();
    let spec = busy(&json!({"traffic": [{"kind": "flows", "list": flows}]}));
    let hash = run(&spec).hash;
    let told = |kilobytes: u64| {
        let outcome = run_with(&spec, Tuning { memory: Some(kilobytes * 1000), ..by(4) });
        assert_eq!(outcome.hash, hash, "{kilobytes} kB");
        outcome.report["warnings"].to_string().contains("memory has room for only one")
    };
    assert_eq!([460, 280, 200, 180].map(told), [false, false, true, true]);
}

#[test]
fn whoever_watches_sees_all_of_it_and_may_stop_it() {
    let spec = resolved(&busy(
        &json!({"traffic": [{"kind": "poisson", "cdf": "web_search", "load": 0.6, "duration_us": 9000}]}),
    ));
    let mut seen = Vec::new();
    let outcome = simulate(&spec, by(3), &mut |progress| {
        seen.push((progress.now, progress.packet_hops, progress.open));
        true
    });
    let hops = outcome.unwrap_or_else(|failure| panic!("{failure:?}")).report["packet_hops"].as_u64();
    assert!(seen.len() > 10, "{}", seen.len());
    assert!(seen.windows(2).all(|pair| pair[0].0 <= pair[1].0 || pair[1].0.0 == 0), "time goes on");
    let most = seen.iter().map(|&(_, hops, _)| hops).max();
    assert!(most <= hops && most.map(|most| most * 2) > hops, "the others' part is told: {most:?} of {hops:?}");
    // The first thread has nothing to do.
    let elsewhere = json!([{"kind": "flows", "list": [flow(13, 14, 90_000_000, 0)]}]);
    let spec = resolved(&busy(&json!({"traffic": elsewhere})));
    let mut looks = 0;
    let stopped = simulate(&spec, by(3), &mut |progress| {
        looks += u32::from(progress.packet_hops > 0);
        looks < 5
    });
    assert!(matches!(stopped, Err(Failure::Interrupted)), "{:?}", stopped.map(|_| ()));
}
