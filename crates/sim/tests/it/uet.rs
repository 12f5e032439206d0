//! Ultra Ethernet end to end: closed forms of the reference simulator, trimming, entropy values, credit.

use crate::common::{all_finished, counter, flow, flow_column, merged, run, run_both};
use serde_json::{Value, json};
use spinewise_sim::outcome::Outcome;
use spinewise_sim::spec::resolve;

/// The leaf-spine of 128 hosts in uet-htsim's recorded runs, at 100 Gbps and 1 us per link.
fn leaf_spine(gbps: u32) -> Value {
    json!({"kind": "leaf_spine", "leaves": 8, "spines": 16, "hosts_per_leaf": 16, "host_rate_gbps": gbps,
           "fabric_rate_gbps": gbps, "host_delay_ns": 1000, "fabric_delay_ns": 1000})
}

/// Their fat-tree of 256 hosts.
fn fat_tree(gbps: u32) -> Value {
    json!({"kind": "fat_tree", "pods": 8, "leaves_per_pod": 4, "aggregations_per_pod": 8, "cores_per_aggregation": 4,
           "hosts_per_leaf": 8, "host_rate_gbps": gbps, "fabric_rate_gbps": gbps, "core_rate_gbps": gbps,
           "host_delay_ns": 1000, "fabric_delay_ns": 1000, "core_delay_ns": 1000})
}

/// The schemes over entropy values.
pub(crate) const ENTROPY: &[&str] =
    &["oblivious", "bitmap", "reps", "reps_fifo", "uet_mixed", "mrc", "uno", "mprdma_reuse"];

fn spec(topology: Value, scheme: &str, flows: &[(u32, u32, u64)], more: Value) -> Value {
    let list: Vec<Value> = flows.iter().map(|&(src, dst, bytes)| flow(src, dst, bytes, 0)).collect();
    let base = json!({
        "preset": "uet-htsim", "topology": topology, "scheme": {"name": scheme},
        "traffic": [{"kind": "flows", "list": list}], "run": {"until_us": 20_000},
    });
    merged(&base, &more)
}

fn fct(outcome: &Outcome) -> Vec<u64> {
    flow_column(outcome, "sender_fct_ps")
}

/// The closed form of an idle path with `links` links: the flow's bytes once, a full packet on each further link, the
/// answer, and all delays.
fn alone(size: u64, links: u64, gbps: u64) -> u64 {
    let ps = |bytes: u64| bytes * 8_000 / gbps;
    let wire = size + 64 * size.div_ceil(4086);
    ps(wire) + 2 * links * 1_000_000 + (links - 1) * ps(4150) + links * ps(64)
}

#[test]
fn a_flow_alone_takes_the_closed_form_to_the_picosecond() {
    let cases = [
        (leaf_spine(100), 4, 100, 127, 171_525_280),
        (fat_tree(100), 6, 100, 250, 176_199_520),
        (leaf_spine(400), 4, 400, 127, 48_881_320),
        (fat_tree(400), 6, 400, 250, 53_049_880),
    ];
    for (topology, links, gbps, dst, recorded) in cases {
        assert_eq!(alone(2_000_000, links, gbps), recorded);
        for scheme in ENTROPY.iter().chain(&["ecmp", "rps"]) {
            let outcome = run(&spec(topology.clone(), scheme, &[(1, dst, 2_000_000)], json!({})));
            assert_eq!(fct(&outcome), [recorded], "{scheme}");
            // One answer for four packets, plus the first and the last.
            assert_eq!(counter(&outcome, "acks", "packets"), 124, "{scheme}");
        }
    }
}

#[test]
fn credit_alone_paces_a_flow_at_ninety_nine_percent() {
    let credit = json!({"transport": {"congestion_control": "none", "receiver_credit": true}});
    let outcome = run(&spec(leaf_spine(100), "oblivious", &[(1, 120, 2_000_000)], credit));
    // Recorded: 172.619 us.
    assert_eq!(fct(&outcome)[0] / 1_000, 172_619);
}

/// Packets that grant credit change their value each time, and switches hash it under any scheme. Answers of a flow
/// take one path under schemes at switches that hash small packets.
#[test]
fn grants_spread_under_schemes_at_switches() {
    for scheme in ["adaptive", "round_robin", "ecmp", "oblivious"] {
        for (values, spread) in [(128, true), (1, false)] {
            let params = if scheme == "oblivious" { json!({"values": 1}) } else { json!({}) };
            let credit = json!({"congestion_control": "none", "receiver_credit": true, "pull_values": values});
            let more = json!({"transport": credit, "scheme": {"params": params}});
            let outcome = run(&spec(leaf_spine(100), scheme, &[(1, 120, 2_000_000)], more));
            let links = outcome.report["links"].as_array().expect("links");
            let is_used = |link: &&Value| {
                link["name"].as_str().expect("a name").starts_with("leaf7->spine") && link["packets"] != json!(0)
            };
            let used = links.iter().filter(is_used).count();
            assert!(if spread { used == 16 } else { used <= 2 }, "{scheme}, {values} values: {used} uplinks");
        }
    }
}

/// Sixteen hosts send to one, and one more to its neighbour.
fn incast() -> Vec<(u32, u32, u64)> {
    (0..16).map(|n| (16 + 7 * n, 3, 1_000_000)).chain([(127, 5, 1_000_000)]).collect()
}

#[test]
fn an_incast_is_trimmed_at_the_last_hop_and_nothing_is_lost() {
    for credit in [false, true] {
        let more = json!({"transport": {"receiver_credit": credit}, "switch": {"mark_last_hop": !credit}});
        let outcome = run(&spec(leaf_spine(100), "oblivious", &incast(), more));
        let trimmed = counter(&outcome, "trimmed", "packets");
        assert!(trimmed > 100, "{trimmed}");
        assert_eq!(
            (counter(&outcome, "dropped", "packets"), &outcome.report["counters"]["headers_lost"]),
            (0, &json!(0))
        );
        assert_eq!(flow_column(&outcome, "nacks").iter().sum::<u64>(), trimmed, "each is told of");
        let at = |link: &Value| link["name"] == "leaf0->host3";
        let links = outcome.report["links"].as_array().expect("links");
        let there = links.iter().find(|&link| at(link)).expect("its port")["trimmed"].as_u64().expect("a count");
        assert!(there * 10 > trimmed * 9, "{there} of {trimmed}");
        // Sixteen megabytes and their headers on one link, and little more.
        let slowest = fct(&outcome)[..16].iter().copied().max().expect("flows");
        let bound = 16 * (1_000_000 + 64 * 245) * 80;
        assert!((bound..bound + bound / 20).contains(&slowest), "{slowest} {bound}");
    }
}

/// A full packet is on the line and a short one waits, so there is no room for another full one. The one chosen by the
/// coin is trimmed, and only that one, even if the short one makes less room than the other takes.
#[test]
fn one_packet_is_trimmed_for_one_that_has_no_room() {
    let flows = [flow(0, 3, 4_086, 0), flow(1, 3, 4_086, 200), flow(2, 3, 100, 400)];
    let more = json!({"switch": {"buffer_bytes": 4_500}, "traffic": [{"kind": "flows", "list": flows}]});
    let mut short_trimmed = 0;
    for seed in 1..20 {
        let outcome = run(&spec(leaf_spine(100), "ecmp", &[], merged(&more, &json!({"seed": seed}))));
        assert_eq!(counter(&outcome, "trimmed", "packets"), 1, "seed {seed}");
        short_trimmed += flow_column(&outcome, "nacks")[2];
    }
    assert!((1..19).contains(&short_trimmed), "{short_trimmed} of 19: by a coin");
}

#[test]
fn what_has_no_room_for_its_header_is_lost_and_sent_again() {
    let more = json!({"switch": {"buffer_bytes": 8_300, "control_bytes": 128}});
    let outcome = run(&spec(leaf_spine(100), "oblivious", &incast(), more));
    assert!(outcome.report["counters"]["headers_lost"].as_u64() > Some(0));
    assert!(flow_column(&outcome, "timeouts").iter().sum::<u64>() > 0);
    assert!(flow_column(&outcome, "finished").iter().all(|&finished| finished == 1));
}

#[test]
fn links_too_slow_for_windows_or_headers_are_told_of() {
    let told = |outcome: &Outcome| -> Vec<(String, String)> {
        let word = |value: &Value| value.as_str().expect("a word").to_owned();
        let warnings = outcome.report["warnings"].as_array().expect("a list");
        warnings.iter().map(|warning| (word(&warning["code"]), word(&warning["text"]))).collect()
    };
    let slow = |changes: Value| merged(&leaf_spine(100), &json!({"override": changes}));
    let some = [(1, 127, 20_000), (2, 126, 20_000)];
    // A host that has nothing to send needs no window.
    for (host, sent) in [(1, [0, 1]), (3, [1, 1])] {
        let topology = slow(json!([{"host": host, "rate_gbps": 2}]));
        let outcome = run(&spec(topology, "reps", &some, json!({})));
        assert_eq!(flow_column(&outcome, "packets").iter().map(|&packets| packets.min(1)).collect::<Vec<_>>(), sent);
        let found = told(&outcome);
        assert_eq!(found.len(), usize::from(host == 1), "{found:?}");
        for (code, text) in found {
            assert_eq!(code, "window_below_packet");
            assert!(
                text.starts_with("host1 never sends: its window") && text.contains("2 Gbps, is 3505 bytes"),
                "{text}"
            );
        }
    }
    // 64 bytes of header for 4150 of data: one part in 64.8.
    for (gbps, full) in [(1.6, false), (1.5, true)] {
        let topology = slow(json!([{"leaf": 7, "spine": 3, "direction": "down", "rate_gbps": gbps}]));
        let found = told(&run(&spec(topology, "reps", &some, json!({}))));
        assert_eq!(found.len(), usize::from(full), "{found:?}");
        for (code, text) in found {
            assert_eq!(code, "headers_fill_link");
            assert!(text.starts_with("Headers of trimmed packets can fill spine3->leaf7 (1.5 Gbps)"), "{text}");
        }
    }
}

#[test]
fn flows_go_round_a_link_that_dies_in_silence_and_one_that_loses() {
    let flows: Vec<(u32, u32, u64)> = (0..8).map(|n| (n, 64 + n, 400_000)).collect();
    let quiet = json!({"detection": {"mode": "never"}});
    for fault in [
        json!({"kind": "down", "ends": ["leaf0", "spine3"], "at_us": 10}),
        json!({"kind": "loss", "ends": ["leaf0", "spine3"], "at_us": 0, "probability": 0.1}),
    ] {
        for scheme in ENTROPY {
            let more = merged(&quiet, &json!({"fault": [fault]}));
            let outcome = run_both(&spec(leaf_spine(100), scheme, &flows, more));
            all_finished(&outcome);
            assert!(flow_column(&outcome, "timeouts").iter().sum::<u64>() > 0, "{scheme}: {fault}");
        }
    }
}

#[test]
fn no_value_leaves_its_flow() {
    // Two flows of one pair: each has its own row and its own bits above the values. With one value each keeps to one
    // path, with many they use all.
    let flows = [(0, 127, 400_000), (0, 127, 400_000)];
    let uplinks = |values: u32| {
        let more = json!({"scheme": {"params": {"values": values}}});
        let outcome = run(&spec(leaf_spine(100), "oblivious", &flows, more));
        let links = outcome.report["links"].as_array().expect("links").clone();
        let used = |link: &&Value| {
            link["name"].as_str().is_some_and(|name| name.starts_with("leaf0->spine"))
                && link["packets"].as_u64() > Some(0)
        };
        links.iter().filter(used).count()
    };
    assert!(uplinks(1) <= 2 && uplinks(1024) == 16, "{} {}", uplinks(1), uplinks(1024));
}

#[test]
fn what_does_not_go_together_is_refused() {
    let refused =
        |more: Value| resolve(&spec(leaf_spine(100), "oblivious", &[(0, 20, 1)], more)).unwrap_err().to_string();
    for (more, said) in [
        (
            json!({"transport": {"congestion_control": "none"}}),
            "transport.receiver_credit = false: expected true with transport.congestion_control = \"none\"",
        ),
        (
            json!({"scheme": {"params": {"values": 100}}}),
            "scheme.params.values = 100: expected a power of two from 1 to 32768",
        ),
        (
            json!({"switch": {"ecn_min_bytes": 9, "ecn_max_bytes": 8}}),
            "switch.ecn_max_bytes = 8: expected ecn_min_bytes or more",
        ),
        (
            json!({"transport": {"rto_low_us": 5}}),
            "transport.rto_low_us = 5: expected no such key with transport.kind = \"uet\"",
        ),
        (
            json!({"switch": {"trimmed_bytes": 1_500}, "transport": {"mss_bytes": 400}}),
            "switch.trimmed_bytes = 1500: expected no more",
        ),
    ] {
        let message = refused(more);
        assert!(message.starts_with(said), "{message}");
    }
}

#[test]
fn the_order_of_htsim_is_another_order_of_the_same_things() {
    let order = json!({"run": {"engine": "htsim"}});
    let alone = |more: Value| run(&spec(leaf_spine(100), "oblivious", &[(1, 127, 2_000_000)], more));
    assert_eq!(fct(&alone(order.clone())), fct(&alone(json!({}))), "nothing falls on one instant");
    for credit in [json!({}), json!({"transport": {"congestion_control": "none", "receiver_credit": true}})] {
        let outcome = run(&spec(leaf_spine(100), "oblivious", &incast(), merged(&order, &credit)));
        assert!(fct(&outcome).iter().all(|&time| time > 0));
        let count = |of: &str| counter(&outcome, of, "packets");
        assert_eq!(count("created"), count("delivered") + count("in_network_at_stop"), "nothing is lost");
        assert!(count("trimmed") > 0);
    }
}

#[test]
fn the_order_of_htsim_is_refused_elsewhere() {
    let refused = |more: Value| {
        let spec = merged(&spec(leaf_spine(100), "ecmp", &[(1, 20, 1_000)], json!({})), &more);
        resolve(&merged(&spec, &json!({"run": {"engine": "htsim"}}))).expect_err("it does not fit").to_string()
    };
    let fault = json!({"fault": [{"ends": ["leaf0", "spine3"], "at_us": 1.0, "kind": "down"}]});
    for more in [fault, json!({"preset": "datacenter"})] {
        let said = refused(more);
        assert!(said.contains("run.engine") && said.contains("transport.kind = \"uet\""), "{said}");
    }
}

/// A request for credit that goes unanswered is a timeout to the scheme, which leaves the dead path.
#[test]
fn flows_that_wait_for_credit_leave_a_dead_path() {
    let flows: Vec<_> = (0..32).map(|n| (n, (n + 8) % 32, 1_000_000)).collect();
    for scheme in ["plb", "txrehash"] {
        for control in ["none", "nscc"] {
            let topology = json!({"leaves": 4, "spines": 4, "hosts_per_leaf": 8, "host_rate_gbps": 100,
                                  "fabric_rate_gbps": 100, "host_delay_ns": 1000, "fabric_delay_ns": 1000});
            let outcome = run(&spec(
                topology,
                scheme,
                &flows,
                json!({
                    "preset": "uet", "transport": {"congestion_control": control, "receiver_credit": true},
                    "fault": [{"kind": "down", "switch": "spine0", "at_us": 15}], "detection": {"mode": "never"},
                    "run": {"until_us": 60_000},
                }),
            ));
            let done = outcome.records.iter().filter(|record| record.fct > 0).count();
            assert_eq!(done, flows.len(), "{scheme} by credit and {control}");
        }
    }
}
