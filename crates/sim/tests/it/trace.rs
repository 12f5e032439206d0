//! The choice trace: the observations and the actual state, the same in every engine, without effect on the run.

use crate::common::{
    events, graph, link, loss_column, merged, resolved, run, trace_column as column, traced as traced_with, whole,
};
use serde_json::{Value, json};
use spinewise_policy::Kind;
use spinewise_sim::bank::{Entry, REGISTRY};
use spinewise_sim::outcome::{Outcome, PACKET_COLUMNS};
use spinewise_sim::setup::{Failure, Tuning};
use spinewise_sim::spec::SpecError;
use spinewise_sim::trace::{Trace, simulate};
use std::collections::{BTreeMap, BTreeSet};

fn traced(spec: &Value, flows: &[u32]) -> (Outcome, Trace) {
    traced_with(spec, flows, Tuning::default())
}

/// A column of a scheme's quantities.
fn saw<'a>(trace: &'a Trace, name: &str) -> &'a [f64] {
    &trace.saw.iter().find(|saw| saw.name == name).unwrap_or_else(|| panic!("nothing saw {name}")).values
}

/// Whether two traces are alike. NaNs are equal too.
fn same(one: &Trace, other: &Trace) -> bool {
    let bits = |trace: &Trace| -> Vec<(String, Vec<u64>)> {
        let of = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect();
        trace.saw.iter().map(|saw| (saw.name.clone(), of(&saw.values))).collect()
    };
    (&one.rows, &one.offsets, &one.hops, &one.words) == (&other.rows, &other.offsets, &other.hops, &other.words)
        && (&one.losses, &one.loss_words) == (&other.losses, &other.loss_words)
        && bits(one) == bits(other)
}

/// Rows of each choice, as ranges.
fn choices(trace: &Trace) -> Vec<std::ops::Range<usize>> {
    let number = column(trace, "choice");
    let starts: Vec<usize> = (0..number.len()).filter(|&row| row == 0 || number[row] != number[row - 1]).collect();
    starts.iter().enumerate().map(|(at, &from)| from..*starts.get(at + 1).unwrap_or(&number.len())).collect()
}

/// Returns the word that a number encodes.
fn word(trace: &Trace, column: &str, number: u64) -> String {
    trace.words[column][number as usize].as_str().expect("a word").into()
}

fn small(change: Value) -> Value {
    let base = json!({
        "topology": {
            "leaves": 3, "spines": 3, "hosts_per_leaf": 4, "host_rate_gbps": 10.0, "fabric_rate_gbps": 10.0,
            "host_delay_ns": 1000, "fabric_delay_ns": 2000, "override": [{"spine": 1, "rate_gbps": 4.0}],
        },
        "traffic": [{"kind": "poisson", "cdf": "ali_storage", "load": 0.8, "duration_us": 1200}],
        "metrics": {"series_interval_us": 100},
    });
    merged(&base, &change)
}

/// The longest flows between racks of a run.
fn longest(outcome: &Outcome, many: usize) -> Vec<u32> {
    let specs = &outcome.specs;
    let mut flows: Vec<u32> = (0..specs.len() as u32).collect();
    flows.retain(|&flow| specs[flow as usize].src / 4 != specs[flow as usize].dst / 4);
    flows.sort_by_key(|&flow| std::cmp::Reverse(specs[flow as usize].size));
    flows.truncate(many);
    flows
}

/// All schemes, under TCP; for those that act differently elsewhere, one more.
fn specs() -> Vec<(String, Value)> {
    // These are leaf-spines.
    let mut specs: Vec<(String, Value)> = REGISTRY
        .iter()
        .filter(|entry| !entry.in_trees)
        .map(|entry| (entry.name().into(), small(json!({"scheme": {"name": entry.name()}}))))
        .collect();
    let mut add = |name: &str, change: Value| specs.push((name.into(), small(change)));
    add("hermes, released", json!({"scheme": {"name": "hermes", "params": {"compat": "ns3", "s_bytes": 20_000}}}));
    add(
        "hermes, eager",
        json!({"scheme": {"name": "hermes", "params": {"s_bytes": 0, "r_share": 2.0, "delta_rtt_us": 1}}}),
    );
    add("flowbender, hashed", json!({"scheme": {"name": "flowbender", "path_tag": "inner"}}));
    add("letflow, short gap", json!({"scheme": {"name": "letflow", "params": {"flowlet_gap_us": 5}}}));
    add(
        "conga, four",
        json!({"scheme": {"name": "conga", "params": {"flowlet_gap_us": 5, "candidates": "four_consecutive"}}}),
    );
    add("clove, short gap", json!({"scheme": {"name": "clove", "params": {"flowlet_gap_us": 5}}}));
    add("meet, short gap", json!({"scheme": {"name": "meet", "params": {"flowlet_gap_us": 5, "tie": "random"}}}));
    add(
        "meet, best probe",
        json!({"scheme": {"name": "meet", "params": {"flowlet_gap_us": 5, "probe": "host", "route": "best_probe"}}}),
    );
    add(
        "qdaps, released",
        json!({"scheme": {"name": "qdaps", "params": {"rules": "released", "reroute_above_packets": 9}}}),
    );
    add("scatter as ns-2", json!({"scheme": {"name": "packet_scatter", "params": {"pointer": "destination"}}}));
    for (name, scheme) in [
        ("conweave, lossless", json!({"name": "conweave"})),
        ("selb, lossless", json!({"name": "selb"})),
        ("selb, since the last measurement", json!({"name": "selb", "params": {"monitor": "measured"}})),
        ("selb, by interval", json!({"name": "selb", "params": {"monitor": "interval"}})),
        ("drill, lossless", json!({"name": "drill"})),
    ] {
        add(
            name,
            json!({"preset": "selb", "scheme": scheme,
            "topology": {"host_rate_gbps": 100.0, "fabric_rate_gbps": 100.0, "override": [{"spine": 1, "rate_gbps": 40.0}]}}),
        );
    }
    specs
}

#[test]
fn a_trace_is_the_same_in_every_engine_and_the_run_as_without_it() {
    let base = Tuning::default();
    let tunings = [
        ("windows a seventh as long, commit at start", Tuning { window_divisor: 7, commit_at_start: true, ..base }),
        ("event queue, hook mask ignored", Tuning { all_hooks: true, ..events() }),
    ];
    for (name, spec) in specs() {
        let untraced = run(&spec);
        let flows = longest(&untraced, 4);
        let (outcome, trace) = traced(&spec, &flows);
        assert_eq!(outcome.hash, untraced.hash, "{name}: the run");
        assert!(choices(&trace).len() > 100, "{name}: {} choices", choices(&trace).len());
        for (what, tuning) in tunings {
            let (_, other) = traced_with(&spec, &flows, tuning);
            assert!(same(&trace, &other), "{name}: {what}");
        }
    }
}

/// The choices of an MPTCP connection are those of all its subflows, under the number of the flow.
#[test]
fn subflows_are_traced_with_their_flow() {
    let spec = small(json!({"scheme": {"name": "letflow"}, "transport": {"kind": "mptcp"}}));
    let untraced = run(&spec);
    let flows = longest(&untraced, 2);
    let (outcome, trace) = traced(&spec, &flows);
    assert_eq!(outcome.hash, untraced.hash);
    let rows = column(&trace, "flow");
    assert!(choices(&trace).len() > 100, "{} choices", choices(&trace).len());
    assert!(flows.iter().all(|&flow| rows.contains(&flow.into())));
    assert!(rows.iter().all(|&flow| flows.contains(&(flow as u32))));
}

#[test]
fn who_keeps_stays_and_schemes_that_tell_their_rules_always_do() {
    let mut met: BTreeMap<(String, String), u32> = BTreeMap::new();
    for (name, spec) in specs() {
        let scheme = spec["scheme"]["name"].as_str().unwrap_or_default();
        let tells = |entry: &&Entry| entry.name() == scheme && !entry.sheet.sees.rules.is_empty();
        if !REGISTRY.iter().any(|entry| tells(&entry)) {
            continue;
        }
        let (_, trace) = traced(&spec, &longest(&run(&spec), 8));
        let [chosen, previous, acts, rule, scheme] =
            ["chosen", "previous", "acts", "rule", "scheme"].map(|name| column(&trace, name));
        for rows in choices(&trace) {
            let first = rows.start;
            assert!(rule[first] < 255, "{name}: a choice without a rule");
            let says = word(&trace, "rule", rule[first]);
            *met.entry((word(&trace, "scheme", scheme[first]), says.clone())).or_default() += 1;
            assert_eq!(rows.clone().filter(|&row| chosen[row] == 1).count(), 1, "{name}");
            let moved = rows.clone().any(|row| previous[row] == 1 && chosen[row] == 0);
            assert!(!(acts[first] == 0 && moved), "{name} at {}: moved, but: {says}", column(&trace, "time_ps")[first]);
        }
    }
    // Rules that these runs should exercise: no test of them would notice if they were never reported.
    for (scheme, part) in [
        ("letflow", "a new flowlet"),
        ("conga", "a new flowlet"),
        ("clove", "whose turn it is"),
        ("presto", "is full"),
        ("hermes", "and is slower than R: to"),
        ("flowbender", "were marked"),
        ("qdaps", "that keep it behind"),
        ("qdaps", "order costs too much"),
        ("conweave", "no answer by the deadline"),
        ("conweave", "behind its TAIL"),
        ("selb", "grows faster than θ: TAIL"),
        ("selb", "behind its TAIL"),
        ("meet", "one of the best paths, drawn"),
        ("pdlb", "is full"),
    ] {
        assert!(met.keys().any(|(who, says)| who == scheme && says.contains(part)), "{scheme}: {part}\n{met:#?}");
    }
}

#[test]
fn a_switch_that_sees_its_queue_sees_the_truth() {
    let spec = small(json!({"scheme": {"name": "drill", "params": {"d": 3}}}));
    let (_, trace) = traced(&spec, &longest(&run(&spec), 3));
    let (queues, seen) = (column(&trace, "queue_bytes"), saw(&trace, "drill.queue"));
    let own = |row: usize| queues[trace.offsets[row] as usize] as f64;
    let differ = (0..seen.len()).filter(|&row| seen[row] != own(row)).count();
    // Two packets that come at one instant find each other; the actual state is as of before both.
    assert!(differ * 50 < seen.len(), "{differ} of {}", seen.len());
    assert!(seen.iter().filter(|&&bytes| bytes > 0.0).count() * 20 > seen.len(), "queues there must be");
}

#[test]
fn the_truth_is_that_of_a_recursion_by_hand() {
    // 1500 bytes every 4 us, on two paths in turn; the link to one spine takes 12 us for each, and hosts 1.2 us.
    let spec = json!({
        "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 1, "host_rate_gbps": 10.0, "fabric_rate_gbps": 10.0,
                     "host_delay_ns": 1000, "fabric_delay_ns": 2000, "override": [{"spine": 1, "rate_gbps": 1.0}]},
        "scheme": {"name": "drb"},
        "traffic": [{"kind": "udp", "src": 0, "dst": 1, "packet_bytes": 1500, "size_bytes": 300_000,
                     "schedule": [{"at_us": 0, "rate_gbps": 3.0}]}],
    });
    let (_, trace) = traced(&spec, &[0]);
    let [time, way, chosen, queues, queueing, worse, slowest] =
        ["time_ps", "way", "chosen", "queue_bytes", "queueing_ps", "worse_ps", "slowest_bps"]
            .map(|name| column(&trace, name));
    let (access, delay, service) = (1_200_000 + 1_000_000, 2_000_000, 12_000_000);
    let ours = (0..time.len()).filter(|&row| way[row] == 1 && chosen[row] == 1);
    let at_leaf: Vec<u64> = ours.map(|row| time[row] + access).collect();
    let at_spine: Vec<u64> = departures(&at_leaf, service).iter().map(|&at| at + delay).collect();
    let mut longest = 0;
    for row in (0..time.len()).filter(|&row| way[row] == 1) {
        let now = time[row];
        let ((waiting, first), (_, second)) = (backlog(&at_leaf, service, now), backlog(&at_spine, service, now));
        // The queue ahead of it drains while it is in flight.
        let first = first.saturating_sub(access);
        let second = second.saturating_sub(access + first + service + delay);
        assert_eq!(queues[trace.offsets[row] as usize], waiting * 1500, "at {now}");
        assert_eq!(queueing[row], first + second, "at {now}");
        assert_eq!(slowest[row], 1_000_000_000);
        // Both its links are slow: 10.8 us more of sending at each. The other path is empty.
        assert_eq!(worse[row], first + second + 2 * 10_800_000, "at {now}");
        longest = longest.max(waiting);
    }
    assert!(longest > 20, "the queue grows by one packet in 24 us: {longest}");
}

/// Returns when packets that came at these instants have left a line that takes `service` for each.
fn departures(came: &[u64], service: u64) -> Vec<u64> {
    let mut free = 0;
    came.iter()
        .map(|&at| {
            free = at.max(free) + service;
            free
        })
        .collect()
}

/// Packets that wait there, and how long one that came `now` would.
fn backlog(came: &[u64], service: u64, now: u64) -> (u64, u64) {
    let before: Vec<u64> = came.iter().copied().filter(|&at| at < now).collect();
    let gone = departures(&before, service);
    let waiting = gone.iter().filter(|&&at| at - service > now).count() as u64;
    (waiting, gone.last().map_or(0, |at| at.saturating_sub(now)))
}

#[test]
fn the_path_shown_is_the_path_taken() {
    for (scheme, uplinks) in [
        (json!({"name": "drb", "path_tag": "explicit"}), 4),
        (json!({"name": "presto", "path_tag": "outer"}), 3),
        (json!({"name": "flowcell", "path_tag": "inner", "params": {"packets": 5}}), 3),
        (json!({"name": "rps"}), 8),
    ] {
        let spec = json!({
            "topology": {"leaves": 2, "spines": 4, "hosts_per_leaf": 2, "parallel_links": 2},
            "scheme": scheme,
            "traffic": [{"kind": "udp", "src": 0, "dst": 3, "packet_bytes": 1500, "size_bytes": 900_000,
                         "schedule": [{"at_us": 0, "rate_gbps": 3.0}]}],
        });
        let (outcome, trace) = traced(&spec, &[0]);
        let [chosen, links, device] = ["chosen", "links", "device"].map(|name| column(&trace, name));
        let mut taken: BTreeMap<String, u64> = BTreeMap::new();
        for row in (0..chosen.len()).filter(|&row| chosen[row] == 1) {
            let place = word(&trace, "device", device[row]);
            let hops = &links[trace.offsets[row] as usize..trace.offsets[row + 1] as usize];
            // A switch's choice settles the first link, a host's all of them.
            let settled = if place.starts_with("host") { hops } else { &hops[..1] };
            settled.iter().for_each(|&hop| *taken.entry(word(&trace, "links", hop)).or_default() += 1);
        }
        for (name, packets) in &taken {
            assert_eq!(link(&outcome, name)["packets"], *packets, "{scheme}: {name}");
        }
        let used = taken.keys().filter(|name| name.starts_with("leaf0->spine")).count();
        assert!(used >= uplinks, "{scheme}: {taken:?}");
    }
}

#[test]
fn behind_a_choice_that_leaves_more_to_choose_stands_the_best_path() {
    // Two pods of one edge switch and two aggregation switches, each of which sees two cores.
    let cable = |a: u32, b: u32, gbps: u32| json!([a, b, gbps, 1000]);
    let mut links = vec![cable(0, 2, 10), cable(1, 3, 10)];
    for pod in 0..2 {
        for at in 0..2 {
            links.push(cable(2 + pod, 4 + 2 * pod + at, 10));
            for core in 0..2 {
                links.push(cable(4 + 2 * pod + at, 8 + 2 * at + core, if core == 0 { 1 } else { 10 }));
            }
        }
    }
    let spec = json!({
        "topology": graph(2, 10, links), "scheme": {"name": "rps"},
        "traffic": [{"kind": "flows", "list": [{"src": 0, "dst": 1, "size_bytes": 200_000, "start_ns": 0}]}],
    });
    let (outcome, trace) = traced(&spec, &[0]);
    let [device, paths, slowest] = ["device", "paths", "slowest_bps"].map(|name| column(&trace, name));
    let at_edge =
        (0..device.len()).find(|&row| word(&trace, "device", device[row]) == "switch2").expect("a choice there");
    assert_eq!((paths[at_edge], slowest[at_edge]), (2, 10_000_000_000), "by the core that is not slow");
    assert!(device.iter().any(|&node| word(&trace, "device", node) == "switch4"), "aggregation switches choose too");
    assert!(outcome.report["finished"] == 1);
}

#[test]
fn subflows_are_numbered_as_in_a_capture() {
    let list: Vec<Value> =
        (0..4).map(|n| json!({"src": 4 + n, "dst": 0, "size_bytes": 300_000, "start_ns": 0})).collect();
    let base = json!({
        "topology": {"leaves": 2, "spines": 4, "hosts_per_leaf": 4}, "switch": {"buffer_bytes": 30_000},
        "traffic": [{"kind": "flows", "list": list}], "metrics": {"capture": {"at": ["host4"]}},
    });
    let split = json!({
        "preset": "dcqcn-paper",
        "switch": {"pfc": false, "buffer_bytes": 72_000, "ecn_min_bytes": 20_000, "ecn_max_bytes": 25_000},
        "transport": {"recovery": "irn", "queue_pairs": 4, "queue_pair_use": "split"},
    });
    for (change, subflows) in [
        (json!({"preset": "datacenter"}), BTreeSet::from([0])),
        (json!({"preset": "datacenter", "transport": {"kind": "mptcp", "subflows": 4}}), (1..=4).collect()),
        (split, (1..=4).collect()),
    ] {
        let (outcome, trace) = traced(&merged(&base, &change), &[0]);
        let captured = outcome.packets.as_ref().expect("packets were captured");
        let of_capture = |name: &str| {
            let place = PACKET_COLUMNS.iter().position(|column| column.name == name);
            whole(&captured.rows[place.unwrap_or_else(|| panic!("no column {name}"))])
        };
        let [kind, outbound, number, seq] = ["kind", "outbound", "subflow", "seq"].map(of_capture);
        let mine = |&row: &usize| outbound[row] == 1 && kind[row] == Kind::Data as u64;
        let mut sent: Vec<(u64, u64)> = (0..seq.len()).filter(mine).map(|row| (number[row], seq[row])).collect();
        let [kind, chosen, number, seq] = ["kind", "chosen", "subflow", "seq"].map(|name| column(&trace, name));
        let mine = |&row: &usize| chosen[row] == 1 && kind[row] == 0;
        let mut chose: Vec<(u64, u64)> = (0..seq.len()).filter(mine).map(|row| (number[row], seq[row])).collect();
        sent.sort_unstable();
        chose.sort_unstable();
        assert_eq!(chose, sent, "{change}");
        assert_eq!(chose.iter().map(|&(subflow, _)| subflow).collect::<BTreeSet<_>>(), subflows, "{change}");
        let [kind, number, seq] = ["kind", "subflow", "seq"].map(|name| loss_column(&trace, name));
        let lost: Vec<(u64, u64)> =
            (0..seq.len()).filter(|&row| kind[row] == 0).map(|row| (number[row], seq[row])).collect();
        assert!(!lost.is_empty() && lost.iter().all(|packet| sent.contains(packet)), "{change}: {lost:?}");
    }
}

#[test]
fn quantities_have_names_of_their_own() {
    for entry in REGISTRY {
        let names: Vec<&str> =
            entry.sheet.sees.flow.iter().chain(entry.sheet.sees.way).map(|quantity| quantity.name).collect();
        let plain = |name: &&str| name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        assert!(names.iter().all(plain), "{}: {names:?}", entry.name());
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{}: {names:?}", entry.name());
    }
}

fn refused(spec: &Value, flows: &[u32]) -> SpecError {
    match simulate(&resolved(spec), Tuning::default(), flows, &mut |_| true) {
        Err(Failure::Spec(error)) => error,
        other => panic!("{:?}", other.map(|_| ())),
    }
}

#[test]
fn what_cannot_be_traced_is_refused_and_said_why() {
    let spec = |scheme: &str| {
        json!({
            "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 2}, "scheme": {"name": scheme},
            "traffic": [{"kind": "flows", "list": [{"src": 0, "dst": 1, "size_bytes": 2000, "start_ns": 0},
                                                   {"src": 0, "dst": 2, "size_bytes": 2000, "start_ns": 0}]}],
        })
    };
    let error = refused(&spec("letflow"), &[1, 2]);
    assert_eq!((error.key.as_str(), error.value.as_str()), ("trace", "2"));
    assert!(error.allowed.contains("0 to 1"), "{error}");
    let error = refused(&spec("letflow"), &[0]);
    assert!(error.hint.is_some_and(|hint| hint.contains("both at leaf0")));
    for scheme in ["letflow", "ecmp", "wcmp"] {
        assert!(choices(&traced(&spec(scheme), &[1]).1).len() > 1, "{scheme}");
    }
}
