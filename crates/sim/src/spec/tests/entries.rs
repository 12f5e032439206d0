//! Names and size classes of the entries of the traffic.

use serde_json::{Value, json};

use super::super::resolve;
use super::resolved;

fn entry(kind: &str, more: &Value) -> Value {
    let mut entry = match kind {
        "incast" => json!({"kind": "incast", "receiver": 0, "senders": 2, "size_bytes": 1_000}),
        "udp" => json!({"kind": "udp", "src": 0, "dst": 1, "schedule": [{"rate_gbps": 1}]}),
        _ => json!({"kind": kind, "size_bytes": 1_000}),
    };
    more.as_object().into_iter().flatten().for_each(|(key, value)| entry[key] = value.clone());
    entry
}

/// Entries of these kinds with these names, if not empty.
fn spec(entries: &[(&str, &str)]) -> Value {
    let named = |&(kind, name): &(&str, &str)| match name {
        "" => entry(kind, &json!({})),
        name => entry(kind, &json!({"name": name})),
    };
    json!({"traffic": entries.iter().map(named).collect::<Vec<_>>()})
}

fn names(entries: &[(&str, &str)]) -> Vec<String> {
    let spec = resolved(spec(entries));
    let told = spec.resolved["traffic"].as_array().unwrap().iter();
    let told: Vec<&str> = told.map(|entry| entry["name"].as_str().unwrap()).collect();
    let names: Vec<String> = spec.traffic.into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, told);
    names
}

fn refused(spec: &Value) -> String {
    resolve(spec).expect_err("a refusal").to_string()
}

#[test]
fn an_entry_is_called_by_its_kind_and_by_its_place_where_that_is_not_enough() {
    assert_eq!(names(&[("incast", "")]), ["incast"]);
    assert_eq!(names(&[("incast", ""), ("permutation", ""), ("incast", "")]), ["incast-0", "permutation", "incast-2"]);
    assert_eq!(names(&[("incast", ""), ("udp", "incast")]), ["incast-0", "incast"]);
    assert_eq!(names(&[("incast", "web"), ("incast", "")]), ["web", "incast-1"]);
    assert_eq!(names(&[("incast", "αβγ 1/2"), ("udp", "")]), ["αβγ 1/2", "udp"]);
}

#[test]
fn names_are_checked() {
    let allowed = "expected a name of 1 to 40 printable characters that no other entry has, not \"all\"";
    for bad in ["all", " a", "a ", "a\tb", "a\u{1b}[0m", &"x".repeat(41)] {
        let said = refused(&spec(&[("incast", bad)]));
        assert!(said.starts_with("traffic[0].name = ") && said.ends_with(allowed), "{said}");
    }
    assert_eq!(refused(&spec(&[("incast", "\0")])), format!("traffic[0].name = \"\\u0000\": {allowed}"));
    let empty = json!({"traffic": [entry("incast", &json!({"name": ""}))]});
    assert_eq!(refused(&empty), format!("traffic[0].name = \"\": {allowed}"));
    let number = json!({"traffic": [entry("incast", &json!({"name": 5}))]});
    assert_eq!(refused(&number), format!("traffic[0].name = 5: {allowed}"));
    assert_eq!(
        refused(&spec(&[("incast", "web"), ("udp", "web")])),
        format!("traffic[1].name = \"web\": {allowed}; traffic[0] has that name; traffic[1] is \"web\"")
    );
    // It is the given name that is in the way, not the default.
    assert_eq!(
        refused(&spec(&[("udp", "incast-1"), ("incast", ""), ("incast", "")])),
        format!("traffic[0].name = \"incast-1\": {allowed}; traffic[1] has that name; traffic[0] is \"incast-1\"")
    );
}

#[test]
fn errors_of_one_entry_among_several_tell_its_name() {
    let of =
        |first: Value| json!({"traffic": [first, entry("incast", &json!({"receiver": 1_000, "name": "storage"}))]});
    let said = refused(&of(entry("permutation", &json!({}))));
    assert!(said.starts_with("traffic[1].receiver = 1000: expected a host from 0 to "), "{said}");
    assert!(said.ends_with("; traffic[1] is \"storage\""), "{said}");
    let unknown = json!({"traffic": [entry("permutation", &json!({})), entry("incst", &json!({}))]});
    assert!(refused(&unknown).ends_with("; did you mean \"incast\"?"), "what it is called says nothing of that");
    let long = spec(&[("incast", &"\n".repeat(3_000)), ("udp", "")]);
    assert!(refused(&long).len() < 1_000, "what is refused is not told at length");
    let alone = json!({"traffic": [entry("incast", &json!({"receiver": 1_000}))]});
    assert!(!refused(&alone).contains("traffic[0] is"), "one entry needs no name");
}

#[test]
fn an_entry_may_have_size_classes_of_its_own() {
    let own = json!([{"name": "chunk", "below_bytes": 2_000}]);
    let spec = resolved(
        json!({"traffic": [entry("incast", &json!({"size_classes": own})), entry("permutation", &json!({}))]}),
    );
    let classes = spec.traffic[0].size_classes.as_deref().unwrap();
    assert_eq!((classes[0].name.as_str(), classes[0].from, classes[0].below, classes.len()), ("chunk", 0, 2_000, 1));
    assert_eq!(spec.resolved["traffic"][0]["size_classes"][0]["from_bytes"], 0);
    assert_eq!((&spec.traffic[1].size_classes, spec.resolved["traffic"][1].get("size_classes")), (&None, None));
    assert_eq!(resolved(spec.resolved.clone()).traffic, spec.traffic);
    let bad = json!({"traffic": [entry("incast", &json!({"size_classes": [{"name": "all"}]}))]});
    let said = refused(&bad);
    assert!(said.starts_with("traffic[0].size_classes[0].name = \"all\""), "{said}");
    let said = refused(&json!({"traffic": [entry("udp", &json!({"size_classes": own}))]}));
    assert!(said.starts_with("traffic[0].size_classes = "), "{said}");
}
