//! The defaults in the reference are those that a spec resolves to.

use super::*;

/// Returns the default in the reference under `preset`; `None` if it is in words.
fn told(default: &Value, preset: &str) -> Option<Value> {
    let Some(words) = default.as_str().and_then(|text| text.strip_prefix('(')) else { return Some(default.clone()) };
    let mut parts = words.trim_end_matches(')').split([';', ',']).map(str::trim);
    let said = parts.find_map(|part| part.strip_prefix(preset)?.strip_prefix(": "))?;
    Some(serde_json::from_str(said).expect("a value as in JSON"))
}

/// Counts the defaults of a table that agree with a resolved spec; panics at one that does not.
fn agreeing(described: &Value, header: &str, table: &Value, preset: &str) -> usize {
    let tables = described["spec"].as_array().unwrap();
    let keys = tables.iter().find(|table| table["name"] == header).expect("a table of the spec")["params"].as_array();
    let told = keys.unwrap().iter().filter_map(|key| Some((key["name"].as_str()?, told(&key["default"], preset)?)));
    let plain = |value: &Value| value.as_f64().map_or_else(|| value.clone(), |number| json!(number));
    told.filter(|(name, told)| !["kind", "model", "params"].contains(name) && told != "auto")
        .map(|(name, told)| assert_eq!(plain(&told), plain(&table[name]), "{header} {name} under {preset}"))
        .count()
}

#[test]
fn defaults_are_those_of_the_preset_whatever_the_transport_and_the_switch() {
    let described = describe();
    for preset in PRESETS.iter().map(|preset| preset.name) {
        for (kind, transport) in [("dctcp", tcp_table()), ("rdma", "[transport] kind = \"rdma\"".into())] {
            for model in ["output_queued", "shared_buffer"] {
                let spec = json!({
                    "preset": preset, "transport": {"kind": kind}, "switch": {"model": model},
                    "traffic": [{"kind": "permutation", "size_bytes": 1}],
                });
                let resolved = resolved(spec).resolved;
                let of = |header: &str, table| agreeing(&described, header, &resolved[table], preset);
                assert!(of(&transport, "transport") > 10);
                let own = if kind == "rdma" { ("congestion_control", "dcqcn") } else { ("kind", "dctcp") };
                assert!(of(&format!("[transport] {} = \"{}\"", own.0, own.1), "transport") > 1);
                assert!(of(&format!("[switch] model = \"{model}\""), "switch") > 3);
                assert!(of("[scheme]", "scheme") > 3);
                assert!(of("[topology] kind = \"leaf_spine\"", "topology") > 5);
            }
        }
    }
}
