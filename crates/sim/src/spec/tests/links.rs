//! The messages of refused graphs, word by word, and the parts of a graph that are accepted in two forms.

use serde_json::{Value, json};

use super::super::{PathTag, resolve};
use super::resolved;

/// Two racks of two hosts, switches 4 and 5, and a switch 6 between them.
fn two_racks() -> Value {
    json!({
        "kind": "links", "hosts": 4, "switches": 3,
        "links": [[0, 4, 10, 1000], [1, 4, 10, 1000], [2, 5, 10, 1000], [3, 5, 10, 1000], [4, 6, 40, 500], [5, 6, 40, 500]],
    })
}

/// The message for the two racks with these keys changed.
fn message(change: &Value) -> String {
    let mut topology = two_racks();
    for (key, value) in change.as_object().expect("a table of keys") {
        topology[key] = value.clone();
    }
    let traffic = json!([{"kind": "flows", "list": [{"src": 0, "dst": 2, "size_bytes": 1}]}]);
    match resolve(&json!({"topology": topology, "traffic": traffic})) {
        Ok(_) => format!("accepted: {topology}"),
        Err(error) => error.to_string(),
    }
}

/// The message when these links are added.
fn with_links(more: Value) -> String {
    let mut links = two_racks()["links"].as_array().expect("a list").clone();
    links.extend(more.as_array().expect("a list").iter().cloned());
    message(&json!({"links": links}))
}

#[test]
fn links() {
    let cases = [
        (
            json!([[4, 7, 10, 1000]]),
            "topology.links[6].b = 7: expected a node from 0 to 6: hosts 0 to 3, switches 4 to 6",
        ),
        (
            json!([{"a": 9, "b": 4, "rate_gbps": 10, "delay_ns": 1000}]),
            "topology.links[6].a = 9: expected a node from 0 to 6: hosts 0 to 3, switches 4 to 6",
        ),
        (json!([[6, 6, 10, 1000]]), "topology.links[6].b = 6: expected a node other than a"),
        (json!([[0, 3, 10, 1000]]), "topology.links[6].b = 3: expected a switch, 4 to 6: hosts are linked to switches"),
        (
            json!([[6, 2, 10, 1000]]),
            "topology.links[6] = [6,2,10,1000]: expected one link for each host; host 2 already has links[2]; a server with several NICs is as many hosts",
        ),
        (
            json!([[6, 4, 10]]),
            "topology.links[6] = [6,4,10]: expected [node, node, rate_gbps, delay_ns], or a table with a, b, rate_gbps and delay_ns",
        ),
        (
            json!([[4, 5, 0, 1000]]),
            "topology.links[6].rate_gbps = 0: expected a rate in Gbps from 0.000000001 to 100000, a whole number of bits per second",
        ),
        (
            json!([[4, 5, 10, -1]]),
            "topology.links[6].delay_ns = -1: expected a number of nanoseconds from 0 to 9000000000000",
        ),
        (
            json!([{"a": 4, "b": 5, "rate_gbps": 10}]),
            "topology.links[6].delay_ns is missing: expected a number of nanoseconds from 0 to 9000000000000",
        ),
        (json!([{"a": 4, "c": 5}]), "topology.links[6].c = 5: expected one of the keys a, b, rate_gbps, delay_ns"),
    ];
    for (more, expected) in cases {
        assert_eq!(with_links(more), expected);
    }
}

#[test]
fn graphs() {
    let cases = [
        (
            json!({"hosts": 5, "links": [[0, 5, 1, 1], [1, 5, 1, 1], [2, 6, 1, 1], [4, 6, 1, 1], [5, 7, 1, 1], [6, 7, 1, 1]]}),
            "topology.hosts = 5: expected one link for each host; topology.links has none for host 3",
        ),
        (
            json!({"switches": 4}),
            "topology.switches = 4: expected switches that are all connected; no path leads from node 4 to node 7",
        ),
        (
            json!({"links": [[0, 4, 1, 1], [1, 4, 1, 1], [2, 5, 1, 1], [3, 5, 1, 1], [4, 6, 1, 1]]}),
            "topology.switches = 3: expected switches that are all connected; no path leads from node 4 to node 5",
        ),
        (json!({"links": null}), "topology.links is missing: expected a list of links"),
        (json!({"hosts": 0}), "topology.hosts = 0: expected a whole number from 1 to 1048576"),
        (
            json!({"leaves": 2}),
            "topology.leaves = 2: expected one of the keys kind, hosts, switches, names, links, routes, switch_latency_ns, tx_time_rounding; leaves is a key of [topology] kind = \"leaf_spine\"",
        ),
        (
            json!({"kind": "link"}),
            "topology.kind = \"link\": expected \"leaf_spine\", \"fat_tree\" or \"links\"; did you mean \"links\"?",
        ),
        (
            json!({"tx_time_rounding": "floor"}),
            "topology.tx_time_rounding = \"floor\": expected \"exact\" or \"floor_1ns\"; did you mean \"floor_1ns\"?",
        ),
    ];
    for (change, expected) in cases {
        assert_eq!(message(&change), expected);
    }
}

/// A star whose middle has more links than ports have numbers, and one with more racks than traffic can name.
#[test]
fn graphs_too_large() {
    let star = |hosts: u32| {
        let links: Vec<Value> = (0..hosts).map(|host| json!([host, hosts, 1, 1])).collect();
        message(&json!({"hosts": hosts, "switches": 1, "links": links}))
    };
    assert!(star(5).starts_with("accepted"), "{}", star(5));
    assert_eq!(star(65_535), "topology.switches = 1: expected at most 65534 links per switch; switch 65535 has 65535");
    let racks: u32 = 4097;
    let links: Vec<Value> =
        (0..racks).flat_map(|n| [json!([n, racks + n, 1, 1]), json!([racks + n, 2 * racks, 1, 1])]).collect();
    assert_eq!(
        message(&json!({"hosts": racks, "switches": racks + 1, "links": links})),
        "topology.switches = 4098: expected at most 4096 switches with hosts, and 16777216 pairs of a switch and a \
         switch with hosts; 4097 of these have hosts"
    );
}

#[test]
fn routes() {
    // A ring of four switches with a host each; clockwise is 4 -> 5 -> 6 -> 7 -> 4. Host 4 is beside host 2.
    let ring = |routes: Value| {
        let links = json!([
            [0, 5, 1, 1],
            [1, 6, 1, 1],
            [2, 7, 1, 1],
            [3, 8, 1, 1],
            [4, 7, 1, 1],
            [5, 6, 1, 1],
            [6, 7, 1, 1],
            [7, 8, 1, 1],
            [8, 5, 1, 1]
        ]);
        message(&json!({"hosts": 5, "switches": 4, "links": links, "routes": routes}))
    };
    assert!(ring(json!([[5, 3, 6], {"switch": 6, "dst": 3, "next": 7}, [5, 0, 0]])).starts_with("accepted"));
    let cases = [
        (
            json!([[9, 3, 6]]),
            "topology.routes[0].switch = 9: expected a node from 0 to 8: hosts 0 to 4, switches 5 to 8",
        ),
        (json!([[1, 3, 6]]), "topology.routes[0].switch = 1: expected a switch, 5 to 8; hosts have one link"),
        (json!([[5, 6, 6]]), "topology.routes[0].dst = 6: expected a host, 0 to 4"),
        (json!([[5, 3, 7]]), "topology.routes[0].next = 7: expected a switch linked to switch 5: 6, 8"),
        (json!([[5, 3, 0]]), "topology.routes[0].next = 0: expected a switch linked to switch 5: 6, 8"),
        (json!([[5, 0, 6]]), "topology.routes[0].next = 6: expected 0, which is linked to switch 5"),
        (
            json!([[5, 3, 6], [5, 3, 6]]),
            "topology.routes[1] = [5,3,6]: expected each route once; routes[0] is the same",
        ),
        (
            json!([[5, 3]]),
            "topology.routes[0] = [5,3]: expected [switch, host, node], or a table with switch, dst and next",
        ),
        (
            json!([[5, 2, 6]]),
            "topology.routes = from switch 5 to host 2 by [6], to host 4 by []: expected the same next nodes for all \
             hosts of switch 7 ([]: shortest paths)",
        ),
        (
            json!([[5, 3, 6], [6, 3, 5]]),
            "topology.routes = switch5 -> switch6 -> switch5: expected routes that end at switch8; packets to host 3 \
             would loop",
        ),
        (
            json!([[5, 1, 8], [8, 1, 7], [7, 1, 8]]),
            "topology.routes = switch8 -> switch7 -> switch8: expected routes that end at switch6; packets to host 1 \
             would loop",
        ),
    ];
    for (routes, expected) in cases {
        assert_eq!(ring(routes), expected);
    }
}

/// Lists and tables say the same, and what is resolved is the shorter form.
#[test]
fn both_forms_are_one() {
    let spec = |links: Value| {
        let mut topology = two_racks();
        topology["links"] = links;
        resolved(json!({"topology": topology, "traffic": [{"kind": "permutation", "size_bytes": 1}]}))
    };
    let list = two_racks()["links"].clone();
    let tables = list
        .as_array()
        .expect("a list")
        .iter()
        .map(|link| json!({"a": link[0], "b": link[1], "rate_gbps": link[2], "delay_ns": link[3]}));
    let tables = spec(tables.collect());
    assert_eq!(tables, spec(list.clone()));
    assert_eq!(tables.resolved["topology"]["links"], list);
}

/// Leaves in a row: two switches lie between the ends, so a tag names no whole path.
#[test]
fn host_schemes_in_deep_graphs() {
    let refused = |scheme: Value| {
        let links = json!([[0, 3, 1, 1], [1, 4, 1, 1], [2, 5, 1, 1], [3, 4, 1, 1], [4, 5, 1, 1]]);
        let topology = json!({"kind": "links", "hosts": 3, "switches": 3, "links": links});
        let traffic = json!([{"kind": "permutation", "size_bytes": 1}]);
        let preset = if scheme["name"] == "reps" { "uet-htsim" } else { "linux" };
        let spec = json!({"preset": preset, "topology": topology, "scheme": scheme, "traffic": traffic});
        resolve(&spec).map_err(|error| error.to_string())
    };
    let why = |name: &str| {
        format!(
            "{name} tags packets at the hosts, and tags name whole paths only where a packet has at most two choices: \
             at its leaf, and at a switch without hosts beyond it"
        )
    };
    for entry in crate::bank::REGISTRY.iter().filter(|entry| !entry.in_trees) {
        let name = entry.name();
        let got = refused(json!({"name": name}));
        match got {
            Ok(spec) if entry.site == "host" => {
                assert_eq!(spec.scheme.path_tag, PathTag::Outer, "{name} looks for its paths itself");
            }
            Ok(_) => {}
            Err(message) => assert!(entry.site == "host" && message.ends_with(&why(name)), "{name}: {message}"),
        }
    }
    assert_eq!(
        refused(json!({"name": "presto"})).unwrap_err(),
        format!("scheme.path_tag = \"explicit\": expected \"outer\" or \"inner\" in this graph; {}", why("presto"))
    );
    assert!(refused(json!({"name": "presto", "path_tag": "outer"})).is_ok());
}

// ---- names of nodes -----------------------------------------------------------------------------------------------

/// Names of the nodes of the two racks.
const CALLED: [&str; 7] = ["gpu00", "gpu01", "gpu02", "gpu03", "tor-a", "tor-b", "spine"];

/// The message for the two racks when node `node` is called `name`.
fn called(node: usize, name: &Value) -> String {
    let mut names: Vec<Value> = CALLED.map(Value::from).into();
    names[node] = name.clone();
    message(&json!({"names": names}))
}

#[test]
fn every_node_has_one_name_that_reports_can_print() {
    let allowed = "expected a name of 1 to 60 printable characters, with no blank at either end, no # and no ->";
    let long = "x".repeat(61);
    for name in ["", " ", " a", "tor->1", "tor#1", "a\tb", "a\u{7}", "web\u{202e}txt", &long] {
        let value = json!(name);
        assert_eq!(called(1, &value), format!("topology.names[1] = {value}: {allowed}"));
    }
    assert_eq!(called(6, &json!(3)), format!("topology.names[6] = 3: {allowed}"));
    assert_eq!(
        called(6, &json!("gpu01")),
        "topology.names[6] = \"gpu01\": expected a name that no other node has; names[1] is the same"
    );
    assert_eq!(
        message(&json!({"names": ["a", "b"]})),
        "topology.names = 2 names: expected 7 names, one for each of 4 hosts and then 3 switches"
    );
    assert!(called(1, &json!("räck 3, GPU/7")).starts_with("accepted"));
}

#[test]
fn links_and_routes_may_name_nodes_by_their_names() {
    let traffic = json!([{"kind": "flows", "list": [{"src": 0, "dst": 2, "size_bytes": 1}]}]);
    let by = |node: &dyn Fn(usize) -> Value| {
        let cables = [(0, 4), (1, 4), (2, 5), (3, 5), (4, 6), (5, 6)];
        let mut links: Vec<Value> = cables.iter().map(|&(a, b)| json!([node(a), node(b), 10, 1000])).collect();
        links[5] = json!({"a": node(5), "b": node(6), "rate_gbps": 10, "delay_ns": 1000});
        let routes = [2, 3].map(|dst| json!([node(4), node(dst), node(6)]));
        json!({"topology": {"kind": "links", "hosts": 4, "switches": 3, "names": CALLED, "links": links,
                            "routes": routes}, "traffic": traffic})
    };
    let [named, numbered] = [by(&|node| json!(CALLED[node])), by(&|node| json!(node))].map(resolved);
    assert_eq!(named.resolved, numbered.resolved);
    assert_eq!(named.resolved["topology"]["links"][4], json!([4, 6, 10, 1000]));
    assert_eq!(named.resolved["topology"]["names"], json!(CALLED));
    let plain = resolved(json!({"topology": two_racks(), "traffic": traffic}));
    assert_eq!(plain.resolved["topology"].get("names"), None, "without names, the spec is as it always was");
}

#[test]
fn errors_of_named_graphs_name_nodes() {
    let with = |more: Value| {
        let mut links = two_racks()["links"].as_array().expect("a list").clone();
        links.extend(more.as_array().expect("a list").iter().cloned());
        message(&json!({"names": CALLED, "links": links}))
    };
    assert_eq!(
        with(json!([["tor-a", "spin", 10, 1000]])),
        "topology.links[6].b = \"spin\": expected the number or the name of a node: gpu00, gpu01, gpu02, gpu03, tor-a, \
         tor-b, spine; did you mean \"spine\"?"
    );
    assert_eq!(
        with(json!([["spine", "spine", 10, 1000]])),
        "topology.links[6].b = \"spine\": expected a node other than a"
    );
    assert_eq!(
        with(json!([["spine", "gpu02", 10, 1000]])),
        "topology.links[6] = [\"spine\",\"gpu02\",10,1000]: expected one link for each host; host \"gpu02\" already has \
         links[2]; a server with several NICs is as many hosts"
    );
    assert_eq!(
        message(&json!({"names": CALLED, "routes": [["tor-a", "gpu02", "tor-b"]]})),
        "topology.routes[0].next = \"tor-b\": expected a switch linked to switch \"tor-a\": \"spine\""
    );
    let unnamed = message(&json!({"routes": [["tor-a", "gpu02", "tor-b"]]}));
    assert_eq!(
        unnamed,
        "topology.routes[0].switch = \"tor-a\": expected the number of a node; nodes have names where topology.names \
         gives them"
    );
}
