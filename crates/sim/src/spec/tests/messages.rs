//! The messages of refused specs, word by word.

mod buffers;
mod entropy;
mod files;
mod overrides;
mod steps;

use serde_json::{Value, json};

use super::super::resolve;
use super::udp;

/// The message for `spec`, which has the least traffic unless it gives its own.
fn message(mut spec: Value) -> String {
    if spec.is_object() && spec.get("traffic").is_none() {
        spec["traffic"] = udp();
    }
    match resolve(&spec) {
        Ok(_) => format!("accepted: {spec}"),
        Err(error) => error.to_string(),
    }
}

/// The names of all schemes, or of those at the switches that go under one at the hosts, as a message lists them.
fn schemes(site: &str) -> String {
    let fits = |entry: &&crate::bank::Entry| site.is_empty() || (entry.site == site && !entry.in_trees);
    let entries = crate::bank::REGISTRY.iter().filter(fits);
    crate::keys::one_of(entries.map(|entry| entry.name()))
}

/// Replaces the list of congestion controls in `said` by TCP and KINDS.
pub(super) fn without_kinds(said: &str) -> String {
    let names = crate::transport::congestion::window::Kind::NAMES.iter().copied();
    let kinds = crate::keys::one_of(names.clone().chain(["rdma", "uet"]));
    said.replace(&kinds, "KINDS").replace(&crate::keys::one_of(names), "TCP")
}

/// Checks each spec and its message; the lists of the registries are written as SCHEMES, SWITCH SCHEMES, TCP and KINDS.
fn check(cases: Vec<(Value, &str)>) {
    for (spec, expected) in cases {
        let said = message(spec).replace(&schemes(""), "SCHEMES").replace(&schemes("switch"), "SWITCH SCHEMES");
        assert_eq!(without_kinds(&said), expected);
    }
}

/// One entry of traffic.
fn traffic(entry: Value) -> Value {
    json!({"traffic": [entry]})
}

#[test]
fn top_level() {
    check(vec![
        (json!([]), "spec = []: expected a table of settings"),
        (
            json!({"topolgy": {}}),
            "topolgy = {}: expected one of the keys name, seed, preset, topology, switch, transport, scheme, traffic, fault, detection, run, follow, metrics; did you mean \"topology\"?",
        ),
        (
            json!({"leaves": 4}),
            "leaves = 4: expected one of the keys name, seed, preset, topology, switch, transport, scheme, traffic, fault, detection, run, follow, metrics; leaves is a key of [topology] kind = \"leaf_spine\"",
        ),
        (json!({"seed": -1}), "seed = -1: expected a whole number from 0 to 18446744073709551615"),
        (json!({"seed": 1.5}), "seed = 1.5: expected a whole number from 0 to 18446744073709551615"),
        (
            json!({"name": "a/b"}),
            "name = \"a/b\": expected a name of 1 to 100 printable characters other than / and \\, not starting with a dot or a blank",
        ),
        (
            json!({"name": "web\u{202e}txt"}),
            "name = \"web\u{202e}txt\": expected a name of 1 to 100 printable characters other than / and \\, not starting with a dot or a blank",
        ),
        (
            json!({"name": "\u{a0}"}),
            "name = \"\u{a0}\": expected a name of 1 to 100 printable characters other than / and \\, not starting with a dot or a blank",
        ),
        (
            json!({"preset": "ns2"}),
            "preset = \"ns2\": expected \"linux\", \"datacenter\", \"ns2-pdlb\", \"ns3-hermes\", \"selb\", \"conweave-ns3\", \"dcqcn-paper\", \"uet-htsim\" or \"uet\"; did you mean \"ns2-pdlb\"?",
        ),
        (json!({"switch": 3}), "switch = 3: expected a table [switch]"),
        (json!({"traffic": []}), "traffic = []: expected from 1 to 256 [[traffic]] tables"),
        (json!({"traffic": {"kind": "udp"}}), "traffic = {\"kind\":\"udp\"}: expected a list of [[traffic]] tables"),
        (
            json!({"name": "x".repeat(300)}),
            "name = \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…: expected a name of 1 to 100 printable characters other than / and \\, not starting with a dot or a blank",
        ),
        (json!({"traffic": null}), "traffic is missing: expected a list of [[traffic]] tables"),
    ]);
}

#[test]
fn topology() {
    let topology = |keys: Value| json!({"topology": keys});
    let change = |keys: Value| json!({"topology": {"override": [{"spine": 0, "delay_ns": 5}, keys]}});
    check(vec![
        (
            topology(json!({"leafs": 4})),
            "topology.leafs = 4: expected one of the keys kind, leaves, spines, hosts_per_leaf, host_rate_gbps, fabric_rate_gbps, host_delay_ns, fabric_delay_ns, parallel_links, switch_latency_ns, tx_time_rounding, override; did you mean \"leaves\"?",
        ),
        (topology(json!({"leaves": 0})), "topology.leaves = 0: expected a whole number from 1 to 4096"),
        (
            topology(json!({"leaves": "8"})),
            "topology.leaves = \"8\": expected a whole number from 1 to 4096; a number has no quotes and no unit",
        ),
        (
            topology(json!({"host_rate_gbps": 0})),
            "topology.host_rate_gbps = 0: expected a rate in Gbps from 0.000000001 to 100000, a whole number of bits per second",
        ),
        (
            topology(json!({"host_rate_gbps": -10})),
            "topology.host_rate_gbps = -10: expected a rate in Gbps from 0.000000001 to 100000, a whole number of bits per second",
        ),
        (
            topology(json!({"host_rate": 10})),
            "topology.host_rate = 10: expected one of the keys kind, leaves, spines, hosts_per_leaf, host_rate_gbps, fabric_rate_gbps, host_delay_ns, fabric_delay_ns, parallel_links, switch_latency_ns, tx_time_rounding, override; did you mean \"host_rate_gbps\"?",
        ),
        (
            topology(json!({"fabric_rate_gbps": 1e-10})),
            "topology.fabric_rate_gbps = 1e-10: expected a rate in Gbps from 0.000000001 to 100000, a whole number of bits per second",
        ),
        (
            topology(json!({"fabric_rate_gbps": "10 Gbps"})),
            "topology.fabric_rate_gbps = \"10 Gbps\": expected a rate in Gbps from 0.000000001 to 100000, a whole number of bits per second; a number has no quotes and no unit",
        ),
        (
            topology(json!({"host_delay_ns": -1})),
            "topology.host_delay_ns = -1: expected a number of nanoseconds from 0 to 9000000000000",
        ),
        (
            topology(json!({"host_delay_us": 1})),
            "topology.host_delay_us = 1: expected one of the keys kind, leaves, spines, hosts_per_leaf, host_rate_gbps, fabric_rate_gbps, host_delay_ns, fabric_delay_ns, parallel_links, switch_latency_ns, tx_time_rounding, override; did you mean \"host_delay_ns\"?",
        ),
        (
            topology(json!({"kind": "torus"})),
            "topology.kind = \"torus\": expected \"leaf_spine\", \"fat_tree\" or \"links\"",
        ),
        (
            topology(json!({"leaves": 4096, "hosts_per_leaf": 4096})),
            "topology.hosts_per_leaf = 4096: expected at most 1048576 hosts on the 4096 leaves together",
        ),
        (
            topology(json!({"leaves": 4096, "parallel_links": 100})),
            "topology.parallel_links = 100: expected at most 65535 ports per switch; this makes 409600",
        ),
        (
            topology(json!({"spines": 17, "parallel_links": 64})),
            "topology.parallel_links = 64: expected at most 65534 paths between two leaves; this makes 69632",
        ),
        (change(json!({"leaf": 2, "up": false})), "topology.override[1].leaf = 2: expected a leaf from 0 to 1"),
        (change(json!({"host": 8, "up": true})), "topology.override[1].host = 8: expected a host from 0 to 7"),
        (
            change(json!({"up": false})),
            "topology.override[1] = {\"up\":false}: expected at least one of leaf, spine, link or host",
        ),
        (
            change(json!({"spine": 1})),
            "topology.override[1] = {\"spine\":1}: expected at least one of rate_gbps, delay_ns or up",
        ),
        (
            change(json!({"spine": 1, "host": 0, "rate_gbps": 1})),
            "topology.override[1].host = 0: expected either host or spine, since no link matches both",
        ),
        (
            change(json!({"spine": 1, "direction": "upp", "rate_gbps": 1})),
            "topology.override[1].direction = \"upp\": expected \"both\", \"up\" or \"down\"; did you mean \"up\"?",
        ),
        (
            change(json!({"leaf": 0, "up": false})),
            "topology.override[1].up = false: expected every host and leaf to remain reachable; the overrides leave \
             leaf 0 without a working link up",
        ),
        (
            change(json!({"leaf": 0, "up": false, "direction": "down"})),
            "topology.override[1].up = false: expected every host and leaf to remain reachable; the overrides leave leaf 0 without a working link down",
        ),
        (
            change(json!({"host": 3, "up": false})),
            "topology.override[1].up = false: expected every host and leaf to remain reachable; this cuts off host 3 (up)",
        ),
        (
            change(json!({"link": 0, "up": false})),
            "topology.override[1].up = false: expected every host and leaf to remain reachable; the overrides leave \
             leaf 0 without a working link up",
        ),
    ]);
}

#[test]
fn switch_and_transport() {
    check(vec![
        (
            json!({"switch": {"buffer_packets": 100, "buffer_bytes": 150000}}),
            "switch.buffer_bytes = 150000: expected either buffer_packets or buffer_bytes, not both",
        ),
        (
            json!({"switch": {"buffer_bytes": 1000}}),
            "switch.buffer_bytes = 1000: expected room for at least one packet, 1500 bytes (transport.mss_bytes + \
             header_bytes)",
        ),
        (
            json!({"switch": {"buffer": 100}}),
            "switch.buffer = 100: expected one of the keys model, buffer_packets, buffer_bytes, buffer_us, ecn_threshold_packets, ecn_threshold_bytes, ecn_threshold_us, ecn_at, device_queue_packets, nics, queue_counts, ports; did you mean \"buffer_packets\"?",
        ),
        (json!({"switch": {"ecn_at": "arrival"}}), "switch.ecn_at = \"arrival\": expected \"enqueue\" or \"dequeue\""),
        (
            json!({"switch": {"min_rto_us": 5}}),
            "switch.min_rto_us = 5: expected one of the keys model, buffer_packets, buffer_bytes, buffer_us, ecn_threshold_packets, ecn_threshold_bytes, ecn_threshold_us, ecn_at, device_queue_packets, nics, queue_counts, ports; min_rto_us is a key of [transport] kind = TCP",
        ),
        (json!({"transport": {"kind": "vegas"}}), "transport.kind = \"vegas\": expected KINDS"),
        (
            json!({"transport": {"kind": "newreno", "dctcp_g": 0.5}}),
            "transport.dctcp_g = 0.5: expected no such key with transport.kind = \"newreno\"; dctcp_g is a key of kind = \"dctcp\"",
        ),
        (
            json!({"transport": {"kind": "rdma", "congestion_control": "timely", "timely_t_low_us": 600}}),
            "transport.timely_t_low_us = 600: expected timely_t_high_us or less",
        ),
        (
            json!({"transport": {"kind": "mptcp", "pacing": true}}),
            "transport.pacing = true: expected false with transport.kind = \"mptcp\": which of its subflows sends next would depend on when each may",
        ),
        (json!({"transport": {"dctcp_g": 0}}), "transport.dctcp_g = 0: expected a number above 0, at most 1"),
        (
            json!({"transport": {"syn_timeout_us": 0}}),
            "transport.syn_timeout_us = 0: expected a number of microseconds from 0.000001 to 9000000000",
        ),
        (
            json!({"switch": {"nics": "pulls"}}),
            "switch.nics = \"pulls\": expected \"pull\" or \"queue\"; did you mean \"pull\"?",
        ),
        (
            json!({"switch": {"nics": "queue", "ecn_at": "dequeue"}}),
            "switch.nics = \"queue\": expected \"pull\" where packets are marked as they start (ecn_at)",
        ),
        (
            json!({"switch": {"device_queue_packets": 3, "ecn_at": "dequeue"}}),
            "switch.device_queue_packets = 3: expected 0 where packets are marked as they start (ecn_at)",
        ),
        (
            json!({"switch": {"device_queue_packets": 3, "queue_counts": "in_service"}}),
            "switch.device_queue_packets = 3: expected 0 where the packet in transmission counts as queued",
        ),
        (
            json!({"transport": {"max_burst_segments": -1}}),
            "transport.max_burst_segments = -1: expected a whole number from 0 to 4294967295",
        ),
        (
            json!({"transport": {"recovery": "rak"}}),
            "transport.recovery = \"rak\": expected \"newreno\", \"reno\", \"sack\" or \"rack\"; did you mean \"rack\"?",
        ),
        (
            json!({"transport": {"kind": "reno", "recovery": "sack"}}),
            "transport.recovery = \"sack\": expected \"reno\" with transport.kind = \"reno\"; other recoveries need \
             kind = \"newreno\", \"dctcp\" or \"ecn\"",
        ),
        (
            json!({"transport": {"kind": "newreno", "recovery": "reno"}}),
            "transport.recovery = \"reno\": expected \"newreno\", \"sack\" or \"rack\" with transport.kind = \
             \"newreno\"; Reno is a separate kind",
        ),
        (
            json!({"transport": {"kind": "mptcp", "recovery": "reno"}}),
            "transport.recovery = \"reno\": expected \"newreno\", \"sack\" or \"rack\" with transport.kind = \
             \"mptcp\"; Reno is a separate kind",
        ),
        (
            json!({"transport": {"subflows": 8}}),
            "transport.subflows = 8: expected 1 with transport.kind = \"dctcp\"; more subflows need kind = \"mptcp\"",
        ),
        (
            json!({"transport": {"kind": "mptcp", "subflows": 65}}),
            "transport.subflows = 65: expected a whole number from 1 to 64",
        ),
        (
            json!({"transport": {"kind": "mptcp", "resequencing": "on"}}),
            "transport.resequencing = \"on\": expected \"off\" with transport.kind = \"mptcp\": data held back below \
             TCP is passed on without its options, and MPTCP's options say where data belongs",
        ),
        (
            json!({"transport": {"kind": "mptcp", "dcqcn_g": 0.5}}),
            "transport.dcqcn_g = 0.5: expected no such key with transport.kind = TCP; dcqcn_g is a key of kind = \"rdma\"",
        ),
        (
            json!({"transport": {"kind": "mptcp"}, "scheme": {"name": "hermes"}}),
            "scheme.params.signals = \"rtt_ecn\": expected \"rtt\" with transport.kind = \"mptcp\"; hermes would wait \
             for ECN echoes that never arrive",
        ),
        (json!({"transport": {"handshake": "yes"}}), "transport.handshake = \"yes\": expected true or false"),
        (
            json!({"transport": {"min_rto_us": 1e9}}),
            "transport.max_rto_us = 60000000: expected min_rto_us, 1000000000, or more; unless it is given, min_rto_us follows from the rates and delays of the fabric",
        ),
        (
            json!({"transport": {"max_window_segments": 5}}),
            "transport.max_window_segments = 5: expected initial_window_segments or more, or 0 for no bound",
        ),
        (
            json!({"transport": {"delayed_ack_segments": 0}}),
            "transport.delayed_ack_segments = 0: expected a whole number from 1 to 1000000",
        ),
        (
            json!({"transport": {"kind": "swift", "delayed_ack_segments": 2}}),
            "transport.delayed_ack_segments = 2: expected 1 with transport.kind = \"swift\": the time that an \
             acknowledgement is held counts as fabric delay, and windows below one packet stay there",
        ),
    ]);
}

#[test]
fn scheme() {
    let scheme = |keys: Value| json!({"scheme": keys});
    check(vec![
        (scheme(json!({"name": "presot"})), "scheme.name = \"presot\": expected SCHEMES; did you mean \"presto\"?"),
        (scheme(json!({"name": 5})), "scheme.name = 5: expected the name of a scheme"),
        (
            json!({"scheme": {"name": "hermes", "params": {"probe_bytes": 1501}}, "transport": {"mss_bytes": 1460}}),
            "scheme.params.probe_bytes = 1501: expected at most 1500, the bytes of a full packet of the transport",
        ),
        (
            scheme(json!({"name": "ecmp", "params": {"gap_us": 5}})),
            "scheme.params.gap_us = 5: expected no parameters: ecmp has none",
        ),
        (
            scheme(json!({"name": "letflow", "params": {"flowlet_gap": 5}})),
            "scheme.params.flowlet_gap = 5: expected one of the parameters of letflow: flowlet_gap_us; did you mean \"flowlet_gap_us\"?",
        ),
        (
            scheme(json!({"name": "letflow", "params": {"flowlet_gap_us": -5}})),
            "scheme.params.flowlet_gap_us = -5: expected a number from 0 to 1000000000",
        ),
        (
            scheme(json!({"name": "letflow", "params": {"flowlet_gap_us": [5]}})),
            "scheme.params.flowlet_gap_us = [5]: expected a number from 0 to 1000000000",
        ),
        (
            scheme(json!({"name": "ecmp", "path_tag": "outer"})),
            "scheme.path_tag = \"outer\": expected no path_tag: ecmp sits at the switches, and path_tag is for host schemes",
        ),
        (
            json!({"topology": {"spines": 2}, "scheme": {"name": "selb", "params": {"k": 4}}}),
            "scheme.params.k = 4: expected a whole number from 1 to 2; the fabric has 2 leaves, and 2 paths between two of them",
        ),
        (
            scheme(json!({"name": "hermes", "params": {"t_rtt_low_us": 150}})),
            "scheme.params.t_rtt_low_us = 150: expected a number from 0 to 140; t_rtt_high_us is 140",
        ),
        (
            scheme(json!({"name": "hermes", "params": {"t_rtt_high_us": 10}})),
            "scheme.params.t_rtt_high_us = 10: expected a number from 20 to 1000000; t_rtt_low_us is 20",
        ),
        (
            json!({"transport": {"kind": "newreno"}, "scheme": {"name": "hermes"}}),
            "scheme.params.signals = \"rtt_ecn\": expected \"rtt\" with transport.kind = \"newreno\"; hermes would \
             wait for ECN echoes that never arrive",
        ),
        (
            json!({"transport": {"kind": "reno"}, "scheme": {"name": "hermes", "params": {"signals": "rtt_ecn"}}}),
            "scheme.params.signals = \"rtt_ecn\": expected \"rtt\" with transport.kind = \"reno\"; hermes would wait \
             for ECN echoes that never arrive",
        ),
        (
            scheme(json!({"name": "ecmp", "fabric": "rps"})),
            "scheme.fabric = \"rps\": expected no fabric: ecmp sits at the switches, and fabric is for host schemes",
        ),
        (
            scheme(json!({"name": "presto", "fabric": "presto"})),
            "scheme.fabric = \"presto\": expected SWITCH SCHEMES; presto sits at the host",
        ),
        (
            scheme(json!({"name": "presto", "fabric": "ecpm"})),
            "scheme.fabric = \"ecpm\": expected SWITCH SCHEMES; did you mean \"ecmp\"?",
        ),
        (
            scheme(json!({"name": "presto", "path_tag": "hidden"})),
            "scheme.path_tag = \"hidden\": expected \"explicit\", \"outer\" or \"inner\"",
        ),
    ]);
}

#[test]
fn path_tags() {
    check(vec![(
        json!({"scheme": {"name": "loopback_host", "path_tag": "inner"}}),
        "scheme.path_tag = \"inner\": expected \"explicit\" or \"outer\"; loopback_host keeps state per host and path, \
         and an inner tag is a different path for each flow",
    )]);
}

#[test]
fn random_traffic() {
    let poisson = |more: Value| {
        let mut entry = json!({"kind": "poisson", "cdf": "web_search", "load": 0.5, "duration_us": 10});
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        traffic(entry)
    };
    check(vec![
        (
            traffic(json!({"load": 0.5})),
            "traffic[0].kind is missing: expected \"poisson\", \"on_off\", \"flows\", \"permutation\", \"incast\", \"rpc\", \"all_reduce\", \"all_to_all\", \"dag\" or \"udp\"",
        ),
        (
            traffic(json!({"kind": "poison"})),
            "traffic[0].kind = \"poison\": expected \"poisson\", \"on_off\", \"flows\", \"permutation\", \"incast\", \"rpc\", \"all_reduce\", \"all_to_all\", \"dag\" or \"udp\"; did you mean \"poisson\"?",
        ),
        (
            traffic(json!({"kind": "poisson", "cdf": "web_search", "duration_us": 5})),
            "traffic[0].load is missing: expected a number above 0, at most 2",
        ),
        (poisson(json!({"load": 0})), "traffic[0].load = 0: expected a number above 0, at most 2"),
        (poisson(json!({"load": 50})), "traffic[0].load = 50: expected a number above 0, at most 2"),
        (
            poisson(json!({"cdf": "websearhc"})),
            "traffic[0].cdf = \"websearhc\": expected \"web_search\", \"web_search_conweave\", \"web_search_packets\", \"data_mining\", \"data_mining_vl2\", \"data_mining_packets\", \"enterprise_meet\", \"ali_storage\", \"fb_hadoop\" or \"solar2022\"; did you mean \"web_search\"?",
        ),
        (
            poisson(json!({"cdf": null})),
            "traffic[0].cdf is missing: expected the name of a built-in distribution, or cdf_file",
        ),
        (
            poisson(json!({"cdf_file": "x.cdf"})),
            "traffic[0].cdf_file = \"x.cdf\": expected either cdf or cdf_file, not both",
        ),
        (poisson(json!({"hosts": [0, "a"]})), "traffic[0].hosts[1] = \"a\": expected a host, a whole number from 0"),
        (poisson(json!({"hosts": [0, 0]})), "traffic[0].hosts = 0: expected each host once in a group"),
        (
            poisson(json!({"cdf": null, "cdf_file": "no such file.cdf"})),
            "traffic[0].cdf_file = \"no such file.cdf\": expected a text file that can be read; No such file or directory (os error 2)",
        ),
        (
            poisson(json!({"duration_us": null})),
            "traffic[0].duration_us is missing: expected a number of microseconds above 0, unless max_flows limits the flows",
        ),
        (
            poisson(json!({"duration_ms": 5})),
            "traffic[0].duration_ms = 5: expected one of the keys kind, name, priority, cdf, cdf_file, cdf_file_digest, load, load_of, pairs, hosts, from_leaf, to_leaf, start_us, duration_us, max_flows, subflows, transport, size_classes; did you mean \"duration_us\"?",
        ),
        (poisson(json!({"pairs": "leaf_pair", "to_leaf": 2})), "traffic[0].to_leaf = 2: expected a leaf from 0 to 1"),
        (
            poisson(json!({"pairs": "one_to_one", "to_leaf": 0})),
            "traffic[0].to_leaf = 0: expected a leaf other than from_leaf, 0",
        ),
        (
            poisson(json!({"from_leaf": 1})),
            "traffic[0].from_leaf = 1: expected no from_leaf unless pairs is \"leaf_pair\" or \"one_to_one\"",
        ),
        (
            traffic(json!({"kind": "on_off", "min_bytes": 300000})),
            "traffic[0].max_bytes = 200000: expected min_bytes, 300000, or more",
        ),
    ]);
    let mut one_leaf = poisson(json!({}));
    one_leaf["topology"] = json!({"leaves": 1});
    assert_eq!(message(one_leaf), "traffic[0].pairs = \"inter_rack\": expected \"any\", since there is only one leaf");
}

#[test]
fn given_traffic() {
    let flow = |keys: Value| traffic(json!({"kind": "flows", "list": [keys]}));
    let incast =
        |senders: Value| traffic(json!({"kind": "incast", "receiver": 0, "senders": senders, "size_bytes": 1}));
    let schedule = |steps: Value| traffic(json!({"kind": "udp", "src": 0, "dst": 1, "schedule": steps}));
    check(vec![
        (traffic(json!({"kind": "flows"})), "traffic[0].file is missing: expected the path of a CSV file, or list"),
        (flow(json!({"src": 0, "dst": 8, "size_bytes": 1})), "traffic[0].list[0].dst = 8: expected a host from 0 to 7"),
        (
            flow(json!({"src": 1, "dst": 1, "size_bytes": 1})),
            "traffic[0].list[0].dst = 1: expected a host other than src",
        ),
        (
            flow(json!({"src": 0, "dst": 1, "size_bytes": 0})),
            "traffic[0].list[0].size_bytes = 0: expected a whole number from 1 to 9007199254740991",
        ),
        (
            flow(json!({"src": 0, "dst": 1, "size": 100})),
            "traffic[0].list[0].size = 100: expected one of the keys src, dst, size_bytes, start_ns, batch; did you mean \"size_bytes\"?",
        ),
        (
            traffic(json!({"kind": "permutation", "size_bytes": 1, "repeat": 100000000})),
            "traffic[0].repeat = 100000000: expected at most 100000000 flows in total; a round makes 8",
        ),
        (
            incast(json!(8)),
            "traffic[0].senders = 8: expected a number of hosts from 1 to 7, or a list of hosts without the receiver",
        ),
        (incast(json!([1, 0])), "traffic[0].senders[1] = 0: expected a host other than the receiver"),
        (incast(json!([1, 1])), "traffic[0].senders[1] = 1: expected each host once"),
        (
            incast(json!([])),
            "traffic[0].senders = []: expected a number of hosts, or a list of hosts without the receiver",
        ),
        (incast(json!([1, 9])), "traffic[0].senders[1] = 9: expected a host from 0 to 7"),
        (schedule(json!([])), "traffic[0].schedule = []: expected at least one entry with a rate above 0"),
        (
            schedule(json!([{"at_us": 5, "rate_gbps": 1}, {"at_us": 5, "rate_gbps": 2}])),
            "traffic[0].schedule[1].at_us = 5: expected a time after that of the previous entry, 5",
        ),
        (
            schedule(json!([{"at_us": 5, "rate_gbps": -1}])),
            "traffic[0].schedule[0].rate_gbps = -1: expected a rate in Gbps from 0 to 100000, a whole number of bits per second",
        ),
        (
            traffic(json!({"kind": "udp", "src": 9, "dst": 1, "schedule": []})),
            "traffic[0].src = 9: expected a host from 0 to 7",
        ),
    ]);
}

#[test]
fn run_and_metrics() {
    let class = |keys: Value| json!({"metrics": {"size_classes": [{"name": "short", "below_bytes": 9}, keys]}});
    check(vec![
        (
            json!({"run": {"until_us": 0}}),
            "run.until_us = 0: expected a number of microseconds from 0.000001 to 9000000000",
        ),
        (
            json!({"run": {"grid_ns": 0}}),
            "run.grid_ns = 0: expected a number of nanoseconds from 0.001 to 9000000000000",
        ),
        (
            json!({"run": {"follow": "conweave-ns3"}}),
            "run.follow = \"conweave-ns3\": expected \"nothing\", or preset = \"conweave-ns3\" with its switch, transport and clock, one data priority and no [[fault]]",
        ),
        (
            json!({"run": {"follow": "conweave-ns3", "engine": "events"}}),
            "run.engine = \"events\": expected \"auto\" with run.follow, which has its own engine",
        ),
        (
            json!({"run": {"window_ns": 2000}}),
            "run.window_ns = 2000: expected at most the shortest link delay, 1000 ns",
        ),
        (
            json!({"run": {"engine": "windows"}, "topology": {"host_delay_ns": 0}}),
            "run.engine = \"windows\": expected \"auto\" or \"events\"; a link without delay leaves no time window; \
             see the delays in [topology]",
        ),
        (
            class(json!({"name": "short"})),
            "metrics.size_classes[1].name = \"short\": expected a unique name other than \"all\"",
        ),
        (
            class(json!({"name": "all"})),
            "metrics.size_classes[1].name = \"all\": expected a unique name other than \"all\"",
        ),
        (
            class(json!({"name": "long", "from_bytes": 10, "below_bytes": 10})),
            "metrics.size_classes[1].below_bytes = 10: expected more than from_bytes, 10",
        ),
        (
            json!({"metrics": {"ideal_frames": [[1460, 40], [0, 40]]}}),
            "metrics.ideal_frames = [[1460,40],[0,40]]: expected a list of pairs [payload bytes, header bytes], such as \
             [[1460, 40], [4086, 64]]",
        ),
        (class(json!({"from_bytes": 10})), "metrics.size_classes[1].name is missing: expected a name"),
    ]);
}

#[test]
fn hermes_goes_with_transports_that_tell_what_it_acts_on() {
    let resolved = |transport: Value, params: Value, preset: &str| {
        let scheme = json!({"name": "hermes", "params": params});
        let udp = json!([{"kind": "udp", "src": 0, "dst": 5, "schedule": [{"rate_gbps": 1}]}]);
        super::resolve(&json!({"preset": preset, "transport": transport, "scheme": scheme, "traffic": udp}))
    };
    for (kind, params, preset) in [
        ("newreno", json!({"signals": "rtt"}), "datacenter"),
        ("newreno", json!({}), "ns3-hermes"),
        ("ecn", json!({}), "datacenter"),
        ("dctcp", json!({"t_rtt_low_us": 140}), "datacenter"),
        ("rdma", json!({}), "datacenter"),
    ] {
        let spec = resolved(json!({"kind": kind}), params, preset);
        assert!(spec.is_ok(), "{kind}, {preset}: {:?}", spec.err());
    }
}
