//! MEET in whole runs: what its messages cost, how old its view is, what probes find, and what a proxy's failure does.

use crate::common::{all_finished, counter, flow, flow_column, merged, run, run_both, series};
use serde_json::{Value, json};
use spinewise_sim::outcome::Outcome;
use spinewise_sim::spec::resolve;

/// 3 racks of 4 hosts, 4 paths, MEET's delays (10 µs per link); every host of a rack sends to the next rack,
/// repeatedly.
fn spec(params: Value, change: &Value) -> Value {
    let base = json!({
        "seed": 3, "preset": "ns3-hermes",
        "topology": {"leaves": 3, "spines": 4, "hosts_per_leaf": 4, "host_rate_gbps": 10, "fabric_rate_gbps": 10,
                     "host_delay_ns": 10_000, "fabric_delay_ns": 10_000},
        "scheme": {"name": "meet", "params": params},
        "traffic": [{"kind": "poisson", "cdf": "web_search", "load": 0.4, "duration_us": 20_000}],
        "run": {"until_us": 300_000},
    });
    merged(&base, change)
}

fn mean_fct_us(outcome: &Outcome) -> f64 {
    all_finished(outcome);
    let all: f64 = outcome.records.iter().map(|record| record.fct as f64 / 1e6).sum();
    all / outcome.records.len() as f64
}

/// Way 2 of all paths: one spine's links are so slow that a probe through it takes milliseconds.
fn crawling(rate_gbps: f64) -> Value {
    json!({"topology": {"override": [{"spine": 2, "rate_gbps": rate_gbps}]}})
}

/// §3.5: 64 paths of 8 bytes every 100 µs are 40.96 Mbps a host; headers come on top.
#[test]
fn reports_of_64_paths_every_100_us_cost_40_96_mbps_and_their_headers() {
    let idle = json!({
        "topology": {"leaves": 9, "spines": 8, "hosts_per_leaf": 2, "host_delay_ns": 10_000, "fabric_delay_ns": 10_000},
        "scheme": {"name": "meet", "params": {"t_update_us": 100, "t_probe_us": 100, "probe": "off"}},
        "traffic": [{"kind": "flows", "list": [{"src": 0, "dst": 2, "size_bytes": 1000, "start_ns": 0}]}],
        "run": {"stop": "time", "until_us": 10_000},
    });
    let outcome = run_both(&idle);
    let (packets, bytes) = (counter(&outcome, "messages", "packets"), counter(&outcome, "messages", "bytes"));
    // 9 hosts report and 9 proxies broadcast to the one other host, in each of the hundred periods.
    assert_eq!(packets, 1800);
    let headers = 42 + 16;
    let reported = bytes - 900 * (64 * 4 + headers) - 900 * headers;
    assert_eq!(reported as f64 * 8.0 / 9.0 / 10_000.0, 40.96, "Mbps a host");
}

#[test]
fn the_view_is_t_update_and_a_latency_old() {
    let outcome = run(&spec(json!({"t_update_us": 200, "t_probe_us": 200}), &json!({})));
    let values = |name: &str| series(&outcome, &format!("meet.{name}")).iter().map(|p| p.2).collect::<Vec<_>>();
    let (latency, delay) = (values("t_latency_us"), values("t_delay_us"));
    assert!(latency.len() > 200 && latency.len() == delay.len());
    for (latency, delay) in latency.iter().zip(&delay) {
        assert!((delay - latency - 200.0).abs() < 1e-6);
        // At least two crossings of the rack's leaf; at most a period of waiting, and the queue of a busy host's link.
        assert!(*latency > 20.0 && *latency < 200.0 + 20.0 + 1_000.0, "{latency} µs");
    }
    let mean = latency.iter().sum::<f64>() / latency.len() as f64;
    assert!(mean > 40.0 && mean < 240.0, "{mean} µs: a report waits for the broadcast, wherever in a period that is");
}

/// §4.2: "failed links will be considered as congested as probing packets will not get any response back".
#[test]
fn lost_probes_find_a_dead_path() {
    // 64 bytes at 20 kbps take 26 ms: a link that works for routing only. Only there: an answer that comes back over it
    // would be missed on a way that works.
    let dead = json!({"topology": {"override": [{"leaf": 0, "spine": 2, "direction": "up", "rate_gbps": 0.00002}]}});
    let flows: Vec<Value> = (0..160).map(|i| flow(i % 4, 4 + i % 4, 3_000, u64::from(i / 4) * 3_000_000)).collect();
    let few = json!({"traffic": [{"kind": "flows", "list": flows}], "run": {"until_us": 300_000}});
    let stuck = |params: Value| {
        let outcome = run_both(&spec(params, &merged(&dead, &few)));
        let lost: Vec<f64> = series(&outcome, "meet.lost_probe").iter().map(|point| point.2).collect();
        let (starts, fcts) = (flow_column(&outcome, "start_ps"), flow_column(&outcome, "fct_ps"));
        let late = starts.into_iter().zip(fcts).filter(|&(_, fct)| fct == 0 || fct > 4_000_000_000);
        (lost, late.map(|(start, _)| start).collect::<Vec<u64>>())
    };
    let (lost, late) = stuck(json!({}));
    assert!(lost.len() > 10 && lost.iter().all(|&way| way == 2.0), "{} lost", lost.len());
    // A rack needs to meet the path once; after that no new flow takes it.
    assert!(late.iter().all(|&start| start < 10_000_000_000), "{} flows stuck", late.len());
    let (lost, without) = stuck(json!({"probe": "off"}));
    assert!(lost.is_empty());
    let after = without.iter().filter(|&&start| start >= 10_000_000_000).count();
    assert!(after > 20, "data alone cannot tell: {after} flows stuck");
}

#[test]
fn a_slow_spine_is_avoided_by_every_reading() {
    let slow = crawling(1.0);
    let mut other = spec(json!({}), &slow);
    other["scheme"] = json!({"name": "ecmp"});
    let ecmp = mean_fct_us(&run(&other));
    for params in
        [json!({}), json!({"probe": "host", "route": "best_probe"}), json!({"probe": "proxy", "route": "best_probe"})]
    {
        let meet = mean_fct_us(&run_both(&spec(params.clone(), &slow)));
        assert!(meet < 0.8 * ecmp, "{meet} µs with MEET {params}, {ecmp} µs with ECMP");
    }
}

#[test]
fn the_best_probe_is_nobodys_without_probes() {
    let error = resolve(&spec(json!({"probe": "off", "route": "best_probe"}), &json!({}))).expect_err("refused");
    let message = "scheme.params.route = \"best_probe\": expected \"combined\"";
    assert!(error.to_string().contains(message), "{error}");
    assert!(error.to_string().contains("other parameters leave no other choice"), "{error}");
}

/// K is 20 µs above an empty path at any rate, so to a lone flow all paths are alike and it stays. At 1 Gbps its packets
/// take 58 µs there, 3 more than K would be with half of the round trip for its base.
#[test]
fn an_empty_path_is_not_congested_at_a_low_rate() {
    let slow = json!({
        "topology": {"leaves": 2, "spines": 4, "hosts_per_leaf": 1, "host_rate_gbps": 1, "fabric_rate_gbps": 1,
                     "host_delay_ns": 2_500, "fabric_delay_ns": 2_500},
        "scheme": {"name": "meet", "params": {"t_update_us": 200, "t_probe_us": 200, "flowlet_gap_us": 0}},
        "traffic": [{"kind": "flows", "list": [{"src": 0, "dst": 1, "size_bytes": 2_000_000, "start_ns": 0}]}],
    });
    let moves = |change: Value| {
        let outcome = run_both(&merged(&slow, &change));
        all_finished(&outcome);
        outcome.records[0].path_changes
    };
    assert_eq!(moves(json!({})), 0);
    assert!(moves(json!({"scheme": {"params": {"k_us": 50}}})) > 10, "it would move if its packets were late");
}

#[test]
fn every_choice_of_a_parameter_runs_alike_in_both_engines() {
    for params in [
        json!({"sample": "rtt"}),
        json!({"probe": "host", "t_probe_us": 130}),
        json!({"probe": "off", "tie": "random"}),
        json!({"k_us": 1, "message_header_bytes": 0, "probe_timeout_us": 50}),
        json!({"proxy_fails_at_ms": 3, "proxy_fails_leaf": 2, "takeover_periods": 1}),
    ] {
        let outcome = run_both(&spec(
            params.clone(),
            &json!({"traffic": [
            {"kind": "poisson", "cdf": "web_search", "load": 0.4, "duration_us": 4_000}]}),
        ));
        all_finished(&outcome);
    }
}

/// §5 leaves it open; here the next host takes over when the silence has lasted.
#[test]
fn a_failed_proxy_is_replaced_and_that_costs_a_blind_time() {
    let failing = json!({"proxy_fails_at_ms": 5, "proxy_fails_leaf": 1, "takeover_periods": 2});
    let outcome = run_both(&spec(failing, &crawling(1.0)));
    let takeovers = series(&outcome, "meet.takeover_us");
    let [(at, host, silence)] = &takeovers[..] else { panic!("one host takes over: {takeovers:?}") };
    assert_eq!(host, "host5", "the one after h4, the first of rack 1");
    // The last broadcast was at most a period before the failure; the silence lasts 2 periods, detected at a tick of
    // h5.
    assert!(*silence > 1_000.0 && *silence <= 1_500.0 + 50.0, "{silence} µs");
    assert!((6.0..6.6).contains(&(*at as f64 / 1e9 + 0.5)), "at {at} ps");
    // Before, and after it, the rack's last host gets its view.
    let views = series(&outcome, "meet.t_delay_us");
    let of_rack = |from: f64, to: f64| {
        let in_time = |at: u64| (from..to).contains(&(at as f64 / 1e9));
        views.iter().filter(|(at, host, _)| host == "host7" && in_time(*at)).count()
    };
    assert!(of_rack(0.0, 5.0) >= 8, "{} views before", of_rack(0.0, 5.0));
    assert_eq!(of_rack(5.2, *at as f64 / 1e9), 0, "none in between");
    assert!(of_rack(7.0, 17.0) >= 18, "{} views after", of_rack(7.0, 17.0));
}

/// The cost of a failed proxy to its rack: mean completion time of the flows that start there after it, ten seeds
/// together.
#[test]
fn a_rack_without_a_proxy_suffers_and_one_with_the_next_does_not() {
    let fct_us = |params: &Value| {
        let of_seed = |seed: u64| {
            let change = merged(&crawling(1.0), &json!({"seed": seed, "run": {"until_us": 3_000_000}}));
            let outcome = run(&spec(params.clone(), &change));
            all_finished(&outcome);
            let [src, start, fct] = ["src", "start_ps", "fct_ps"].map(|name| flow_column(&outcome, name));
            let rows = (0..src.len()).filter(|&row| (4..8).contains(&src[row]) && start[row] > 5_000_000_000);
            let all: Vec<f64> = rows.map(|row| fct[row] as f64 / 1e6).collect();
            all.iter().sum::<f64>() / all.len() as f64
        };
        (1..=10).map(of_seed).sum::<f64>() / 10.0
    };
    let failing = |periods: u32| json!({"proxy_fails_at_ms": 5, "proxy_fails_leaf": 1, "takeover_periods": periods});
    let (never, replaced, alone) = (fct_us(&json!({})), fct_us(&failing(2)), fct_us(&failing(1_000_000)));
    assert!(replaced < 1.2 * never, "{replaced} µs with the next as proxy, {never} µs without a failure");
    assert!(alone > 1.5 * never.max(replaced), "{alone} µs without a proxy, {never} µs without a failure");
}

#[test]
fn bad_input_is_named() {
    for (params, key, allowed) in [
        (json!({"t_probe_us": 0}), "scheme.params.t_probe_us", "a number from 1 to 1000000"),
        (json!({"t_update_us": 0}), "scheme.params.t_update_us", "a number from 1 to 1000000"),
        (json!({"takeover_periods": 0}), "scheme.params.takeover_periods", "a whole number from 1 to 1000000"),
        (json!({"probe": "nobody"}), "scheme.params.probe", "proxy"),
        (json!({"proxy_fails_leaf": 3}), "scheme.params.proxy_fails_leaf", "a whole number from 0 to 2"),
        (json!({"k_us": -1}), "scheme.params.k_us", "a number from 0"),
    ] {
        let error = resolve(&spec(params.clone(), &json!({}))).expect_err("it is refused");
        assert_eq!(error.key, key, "{error}");
        assert!(error.to_string().contains(allowed), "{error}");
    }
    let error = resolve(&spec(json!({"proxy_fails_leaf": 3}), &json!({}))).expect_err("it is refused");
    assert!(error.to_string().contains("the fabric has 3 leaves"), "{error}");
    let error = resolve(&spec(json!({}), &json!({"scheme": {"path_tag": "outer"}}))).expect_err("it is refused");
    assert_eq!(error.key, "scheme.path_tag", "rows per rack need tags that name paths");
}

/// A rack with one host, a single path, and a destination in the own rack only: defined, and the run ends.
#[test]
fn small_fabrics_work() {
    let few = json!([{"kind": "permutation", "size_bytes": 200_000, "repeat": 5, "period_us": 1_000}]);
    for (topology, messages, probes) in [
        (json!({"hosts_per_leaf": 1}), false, true),
        (json!({"spines": 1}), false, false),
        (json!({"leaves": 2, "hosts_per_leaf": 1, "spines": 2}), false, true),
    ] {
        let outcome = run_both(&spec(json!({}), &json!({"topology": topology, "traffic": few})));
        all_finished(&outcome);
        assert_eq!(counter(&outcome, "messages", "packets") > 0, messages, "{topology}");
        assert_eq!(counter(&outcome, "probes", "packets") > 0, probes, "{topology}");
    }
}

/// Racks are probed as long as there are flows to them: a UDP flow whose end comes before its first packet does not
/// count.
#[test]
fn nobody_probes_for_a_flow_that_ends_before_it_begins() {
    let probes = |end_us: u64| {
        let udp = json!([{"kind": "udp", "src": 0, "dst": 4, "schedule": [{"at_us": 1_000, "rate_gbps": 1}],
                          "end_us": end_us}]);
        let until = json!({"run": {"stop": "time", "until_us": 10_000}, "traffic": udp});
        counter(&run_both(&spec(json!({}), &until)), "probes", "packets")
    };
    let [none, some, all] = [500, 5_000, 20_000].map(probes);
    assert_eq!(none, 0);
    assert!(some > 0 && all > some + some / 2, "{some} and {all}: as long as it lasts");
}
