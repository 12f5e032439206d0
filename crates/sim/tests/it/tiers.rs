//! Every scheme in every kind of fabric: it carries all flows to their end, or reports that it cannot serve that
//! fabric. None fails in another way.

use crate::common::{all_finished, flow, graph, of_link, run, run_both, without_trimming};
use serde_json::{Value, json};
use spinewise_policy::Sheet;
use spinewise_sim::bank::REGISTRY;
use spinewise_sim::spec::resolve;

/// Fabrics of 16 hosts, or of those given.
fn fabrics() -> Vec<(&'static str, u32, Value)> {
    let clos = json!({"kind": "fat_tree", "pods": 3, "leaves_per_pod": 2, "aggregations_per_pod": 2,
                      "cores_per_aggregation": 2, "hosts_per_leaf": 6, "core_rate_gbps": 5});
    let one_pod = json!({"kind": "fat_tree", "pods": 1, "leaves_per_pod": 4, "aggregations_per_pod": 4,
                         "cores_per_aggregation": 1, "hosts_per_leaf": 4});
    vec![
        ("leaf_spine", 16, json!({"leaves": 4, "spines": 4, "hosts_per_leaf": 4})),
        ("fat_tree", 16, json!({"kind": "fat_tree", "k": 4})),
        ("larger fat_tree", 128, json!({"kind": "fat_tree", "k": 8})),
        ("oversubscribed", 36, clos),
        ("one pod", 16, one_pod),
        ("links of two tiers", 8, two_tiers()),
        ("links of a ring", 8, ring()),
    ]
}

/// Four leaves of two hosts under two spines, as a list of links.
fn two_tiers() -> Value {
    let hosts = (0..8).map(|host| json!([host, 8 + host / 2, 10, 1000]));
    let inner = (8..12).flat_map(|leaf| [12, 13].map(|spine| json!([leaf, spine, 10, 1000])));
    graph(8, 6, hosts.chain(inner).collect())
}

/// Four leaves of two hosts in a ring: leaves also forward traffic for others.
fn ring() -> Value {
    let hosts = (0..8).map(|host| json!([host, 8 + host / 2, 10, 1000]));
    let inner = [[8, 9], [9, 10], [10, 11], [11, 8]].map(|[a, b]| json!([a, b, 10, 1000]));
    graph(8, 4, hosts.chain(inner).collect())
}

fn spec(scheme: Value, topology: &Value, hosts: u32) -> Value {
    let far = |host: u32| (host + hosts / 2 + host % 3) % hosts;
    let list: Vec<Value> = (0..16).map(|n| flow(n % hosts, far(n % hosts), 90_000, 500 * u64::from(n))).collect();
    without_trimming(&json!({"topology": topology, "scheme": scheme, "traffic": [{"kind": "flows", "list": list}]}))
}

/// The schemes that refuse a fabric, and nothing else.
fn refusing(topology: &Value, hosts: u32) -> Vec<&'static str> {
    let mut refusing = vec![];
    for entry in REGISTRY {
        let name = entry.name();
        let spec = spec(json!({"name": name}), topology, hosts);
        match resolve(&spec) {
            Ok(_) => all_finished(&run_both(&spec)),
            Err(error) => {
                assert!(error.unserved, "{name}: {error}");
                let says = error.to_string();
                assert!(error.key.starts_with("scheme.") && !says.contains('\n'), "{name}: {says}");
                assert!(says.contains(name) || says.contains("link groups"), "{name}: {says}");
                refusing.push(name);
            }
        }
    }
    refusing
}

#[test]
fn each_scheme_finishes_or_says_that_it_cannot() {
    // Tags name no whole paths on a ring. Schemes that draw their own, and schemes at switches, do without.
    let draw = [&["elab", "plb", "txrehash", "host_flowlet", "hopper"], crate::uet::ENTROPY].concat();
    let hosts_with_tags: Vec<&str> = REGISTRY
        .iter()
        .map(|e| (e.site, e.name()))
        .filter(|e| e.0 == "host" && !draw.contains(&e.1))
        .map(|e| e.1)
        .collect();
    for (what, hosts, topology) in fabrics() {
        let mut refused = refusing(&topology, hosts);
        refused.retain(|&name| name != "lbsp");
        let expected: &[&str] = if what == "links of a ring" { &hosts_with_tags } else { &[] };
        assert_eq!(refused, expected, "{what}");
    }
}

#[test]
fn lbsp_serves_fat_trees_whose_links_up_make_groups() {
    for (what, hosts, topology) in fabrics() {
        let expected = match what {
            "fat_tree" | "larger fat_tree" | "oversubscribed" => None,
            "one pod" => Some(
                "scheme.params.aggregation_bits = 1: expected a fat-tree whose aggregation switch has an even number \
                 of uplinks (k a multiple of 4); 2 equal link groups would have to share the 1 uplinks of each aggregation switch",
            ),
            _ => Some(
                "scheme.name = \"lbsp\": expected any scheme that `spinewise schemes` lists except lbsp; lbsp relies \
                 on the numbering of a fat-tree: topology.kind = \"fat_tree\"",
            ),
        };
        let got = resolve(&spec(json!({"name": "lbsp"}), &topology, hosts));
        assert_eq!(got.err().map(|error| error.to_string()).as_deref(), expected, "{what}");
    }
}

/// A setting that does not fit is a mistake, not a fabric that a scheme does not serve.
#[test]
fn what_was_asked_for_is_no_excuse() {
    let unserved = |scheme: Value, topology: &Value| resolve(&spec(scheme, topology, 8)).expect_err("refused").unserved;
    let tree = json!({"kind": "fat_tree", "k": 4});
    assert!(!unserved(json!({"name": "lbsp", "params": {"leaf_bits": 2}}), &tree));
    assert!(!unserved(json!({"name": "presto", "path_tag": "explicit"}), &ring()));
    assert!(unserved(json!({"name": "presto"}), &ring()));
    assert!(unserved(json!({"name": "meet", "path_tag": "outer"}), &ring()), "no tag would do");
    assert!(!unserved(json!({"name": "letflow", "params": {"gap": 1}}), &tree));
}

/// A scheme that does not decide at every tier states what happens at the others.
#[test]
fn each_scheme_says_what_it_does_in_three_tiers() {
    for entry in REGISTRY {
        let (name, says) = (entry.name(), entry.sheet.three_tiers);
        let everywhere = entry.sheet.tiers.contains(&"aggregation") && entry.sheet.tiers.contains(&"leaf");
        assert!(!says.is_empty() && (everywhere || says != Sheet::AT_SWITCH.three_tiers), "{name}");
    }
}

/// Shares of the cores in traffic up, when core 0 has a fifth of the others' rate.
fn shares_of_cores(scheme: &str) -> [f64; 4] {
    let topology = json!({"kind": "fat_tree", "k": 4, "override": [{"core": 0, "rate_gbps": 2}]});
    let start = |host: u32, n: u32| 1000 * u64::from(400 * n + (37 * host + 11 * n) % 400);
    let one = |host: u32, n: u32| flow(host, (host + 4 + 4 * (host % 3)) % 16, 300_000, start(host, n));
    let list: Vec<Value> = (0..16).flat_map(|host| (0..12).map(move |n| one(host, n))).collect();
    let traffic = json!([{"kind": "flows", "list": list}]);
    let outcome = run(&json!({"topology": topology, "scheme": {"name": scheme}, "traffic": traffic}));
    all_finished(&outcome);
    let up = |core: u32| (0..4).map(move |pod| format!("aggregation{}->core{core}", 2 * pod + core / 2));
    let bytes = [0, 1, 2, 3].map(|core| up(core).map(|link| of_link(&outcome, &link, "bytes")).sum::<u64>() as f64);
    bytes.map(|own| own / bytes.iter().sum::<f64>())
}

/// Schemes that see whole paths, or decide at each tier, spare the one core that is slow; those that see uplinks of
/// leaves can only spare the aggregation switches in front of it. It has 2 / 32 of the capacity.
#[test]
fn who_sees_the_cores_spares_a_slow_one() {
    let blind = shares_of_cores("ecmp");
    assert!(blind[0] > 0.2, "{blind:?}");
    for scheme in [
        "hula",
        "luopan",
        "wcmp",
        "letflow",
        "drill",
        "meet",
        "clove",
        "pdlb",
        "elab",
        "hermes",
        "proportional",
        "conweave",
    ] {
        let shares = shares_of_cores(scheme);
        assert!(shares[0] < 0.15, "{scheme}: {shares:?}");
        assert!(shares[1..].iter().all(|&share| share > 0.2), "{scheme}: {shares:?}");
    }
    for scheme in ["conga", "selb"] {
        let shares = shares_of_cores(scheme);
        let in_front = shares[0] + shares[1];
        assert!((0.3..0.45).contains(&in_front) && shares[0] > 0.1, "{scheme}: {shares:?}");
    }
    // Hedera's controller knows only the links of leaves, all of which are alike.
    assert_eq!(shares_of_cores("hedera"), blind);
}
