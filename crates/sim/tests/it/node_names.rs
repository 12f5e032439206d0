//! Nodes that a graph names: their names are in links, reports, errors, faults, series, captures and traces.

use crate::common::{all_finished, graph, merged, of_link, resolved, run, run_both, series, traced, wired};
use serde_json::{Value, json};
use spinewise_sim::drawing::drawing;
use spinewise_sim::ids::NodeId;
use spinewise_sim::setup::{Setup, Tuning};

const NAMES: [&str; 8] = ["gpu07", "gpu31", "host0", "7", "tor1", "spine-a", "spine-b", "tor 2"];

/// Two racks of two hosts under "tor1" and "tor 2", which are nodes 4 and 7, and two spines between them.
fn named() -> Value {
    let links = [(0, 4), (1, 7), (2, 4), (3, 7), (4, 5), (4, 6), (7, 5), (7, 6)];
    let links = links.map(|(a, b)| json!([NAMES[a], NAMES[b], 10, 1000]));
    merged(&graph(4, 4, links.into()), &json!({"names": NAMES}))
}

fn spec(more: &Value) -> Value {
    let flow = |src, dst| json!({"src": src, "dst": dst, "size_bytes": 300_000});
    let traffic = json!([{"kind": "flows", "list": [flow(0, 1), flow(3, 2)]}]);
    merged(&json!({"topology": named(), "scheme": {"name": "rps"}, "traffic": traffic}), more)
}

fn refused(more: &Value) -> String {
    match spinewise_sim::spec::resolve(&spec(more)).and_then(|spec| Setup::new(&spec, Tuning::default()).map(drop)) {
        Ok(()) => "accepted".into(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn nodes_and_links_have_the_names_of_the_spec() {
    let fabric = wired(&named());
    let names: Vec<String> = fabric.node_ids().map(|node| fabric.node_name(node)).collect();
    assert_eq!(names, ["gpu07", "gpu31", "host0", "7", "tor1", "tor 2", "spine-a", "spine-b"], "racks come first");
    assert_eq!(fabric.link_name(fabric.out_number(NodeId::new(0), 0)), "gpu07->tor1");
    assert!(fabric.is_graph());
    let parallel = merged(
        &named(),
        &json!({"links": [
            ["gpu07", "tor1", 10, 1000], ["gpu31", "tor 2", 10, 1000], ["host0", "tor1", 10, 1000], ["7", "tor 2", 10, 1000],
            ["tor1", "spine-a", 10, 1000], ["tor1", "spine-a", 10, 1000], ["tor 2", "spine-a", 10, 1000],
            ["spine-b", "spine-a", 10, 1000],
        ]}),
    );
    let fabric = wired(&parallel);
    let links: Vec<String> = fabric.links.ids().map(|link| fabric.link_name(link)).collect();
    assert!(links.contains(&"tor1->spine-a#1".into()), "{links:?}");
}

#[test]
fn names_change_nothing_of_a_run_but_what_nodes_are_called() {
    let links = [[0, 4], [1, 7], [2, 4], [3, 7], [4, 5], [4, 6], [7, 5], [7, 6]].map(|[a, b]| json!([a, b, 10, 1000]));
    let unnamed = json!({"topology": {"names": null, "links": links}});
    let (named, numbered) = (run_both(&spec(&json!({}))), run_both(&spec(&unnamed)));
    all_finished(&named);
    assert_eq!(named.hash, numbered.hash);
    assert!(of_link(&named, "gpu07->tor1", "packets") > 0);
    assert!(of_link(&named, "tor 2->spine-b", "packets") > 0);
}

#[test]
fn series_captures_and_traces_have_the_names_of_the_spec() {
    let kept = json!({"metrics": {"series_interval_us": 20, "series_links": ["tor 2->gpu31"],
                                  "capture": {"at": ["gpu07", "spine-a->tor 2", "7-tor 2"], "max_packets": 10}}});
    let outcome = run(&spec(&kept));
    assert!(!series(&outcome, "link_utilisation").is_empty());
    let captured = &outcome.packets.as_ref().expect("packets were captured").told;
    let told = format!("{captured:?}");
    assert!(told.contains("gpu07->tor1") && told.contains("spine-a->tor 2") && told.contains("7->tor 2"), "{told}");
    let (_, trace) = traced(&spec(&json!({})), &[0], Tuning::default());
    let words = |column: &str| trace.words[column].as_array().expect("a list of words").clone();
    assert!(words("links").contains(&json!("tor1->spine-a")), "{:?}", words("links"));
    assert!(words("device").contains(&json!("tor1")), "{:?}", words("device"));
}

#[test]
fn drawings_tell_tiers_whatever_the_names() {
    let told = drawing(&resolved(&spec(&json!({})))).expect("it can be built");
    let nodes: Vec<(&str, &str)> = told["nodes"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|node| Some((node["name"].as_str()?, node["tier"].as_str()?)))
        .collect();
    assert_eq!(nodes[..3], [("gpu07", "host"), ("gpu31", "host"), ("host0", "host")]);
    assert_eq!(nodes[4..], [("tor1", "leaf"), ("tor 2", "leaf"), ("spine-a", "spine"), ("spine-b", "spine")]);
    assert_eq!(told["nodes"][1]["leaf"], "tor 2");
    assert_eq!(told["links"][0]["to"], "gpu07");
}

#[test]
fn faults_take_the_names_of_the_spec_and_no_others() {
    let fault = |ends: [&str; 2]| {
        json!({"fault": [{"kind": "down", "ends": ends, "at_us": 10, "until_us": 400}],
               "detection": {"carrier_us": 10, "flood_hop_us": 10, "control_plane_us": 10}})
    };
    all_finished(&run_both(&spec(&fault(["tor1", "spine-a"]))));
    let told = drawing(&resolved(&spec(&fault(["tor1", "spine-a"])))).expect("it can be built");
    assert_eq!(told["faults"][0]["links"], json!(["tor1->spine-a", "spine-a->tor1"]));
    assert_eq!(
        refused(&fault(["tor1", "spine-c"])),
        "fault[0].ends = \"spine-c\": expected the name of a node: gpu07, gpu31, host0, 7, tor1, tor 2 and 2 more; did \
         you mean \"spine-a\"?"
    );
    assert_eq!(
        refused(&fault(["switch4", "spine-a"])),
        "fault[0].ends = \"switch4\": expected the name of a node: gpu07, gpu31, host0, 7, tor1, tor 2 and 2 more"
    );
    assert!(refused(&fault(["gpu07", "tor 2"])).ends_with("gpu07 is linked to tor1"));
    let for_good = json!({"fault": [{"kind": "down", "ends": ["gpu07", "tor1"], "at_us": 10}]});
    assert!(refused(&for_good).contains("gpu07 can no longer reach gpu31"), "{}", refused(&for_good));
}
