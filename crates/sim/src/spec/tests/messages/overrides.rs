//! Overrides of links that select none, or cut somebody off.

use super::check;
use serde_json::{Value, json};

#[test]
fn an_override_is_named_as_it_was_given() {
    // Each entry with a list expands to several changes: the next entry still has its own number.
    let slow = json!({"leaf": [0, 1], "spine": 0, "rate_gbps": 5});
    let spine = |more: Value| json!({"topology": {"override": [slow.clone(), more]}});
    let tree = |more: Value| {
        let first = json!({"aggregation": [0, 1, 2], "rate_gbps": 5});
        json!({"topology": {"kind": "fat_tree", "k": 4, "override": [first, more]}})
    };
    check(vec![
        (
            spine(json!({"leaf": 0, "spine": [0, 1], "up": false})),
            "topology.override[1].up = false: expected every host and leaf to remain reachable; the overrides leave \
             leaf 0 without a working link up",
        ),
        (
            tree(json!({"leaf": 0, "core": 1, "rate_gbps": 5})),
            "topology.override[1] = selects no link: expected leaf or core, not both: no link leads from a leaf to a \
             core",
        ),
        (
            tree(json!({"aggregation": [2, 3], "core": [0, 2], "rate_gbps": 5})),
            "topology.override[1] = selects no link: expected switches that are linked, each of a list with each of the \
             other: aggregation switch 2 and core 2 are not",
        ),
        (
            tree(json!({"host": 3, "up": false})),
            "topology.override[1].up = false: expected every host and leaf to remain reachable; the overrides cut off \
             host 3",
        ),
    ]);
}
