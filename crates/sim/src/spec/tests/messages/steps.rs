//! Traffic whose flows wait for each other, and priorities.

use super::*;

#[test]
fn priorities() {
    check(vec![
        (
            traffic(json!({"kind": "on_off", "priority": 7})),
            "traffic[0].priority = 7: expected a whole number from 0 to 6",
        ),
        (
            traffic(json!({"kind": "all_reduce", "size_bytes": 100, "priority": -1})),
            "traffic[0].priority = -1: expected a whole number from 0 to 6",
        ),
    ]);
}

#[test]
fn traffic_in_steps() {
    let ring = |hosts: Value| traffic(json!({"kind": "all_reduce", "size_bytes": 100, "hosts": hosts}));
    let with = |mut entry: Value, keys: Value| {
        entry.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        traffic(entry)
    };
    let parted = |keys| with(json!({"kind": "all_reduce", "size_bytes": 100}), keys);
    let all = |keys| with(json!({"kind": "all_to_all"}), keys);
    let rpc = |keys| with(json!({"kind": "rpc", "fan_in": 3, "size_bytes": 1}), keys);
    let hosts = "\"all\", a list of hosts, or a list of such lists";
    check(vec![
        (ring(json!("some")), &format!("traffic[0].hosts = \"some\": expected {hosts} (groups)")),
        (ring(json!([])), &format!("traffic[0].hosts = []: expected {hosts}")),
        (parted(json!({"groups": 0})), "traffic[0].groups = 0: expected a whole number from 1 to 100000000"),
        (parted(json!({"groups": 5})), "traffic[0].groups = 5: expected at most 4: each has two hosts or more"),
        (
            parted(json!({"groups": 2, "hosts": [[0, 1], [2, 3]]})),
            "traffic[0].groups = 2: expected nothing, because hosts lists the groups",
        ),
        (
            parted(json!({"grouping": "rails"})),
            "traffic[0].grouping = \"rails\": expected nothing, unless groups says how many",
        ),
        (
            parted(json!({"groups": 4, "grouping": "rails"})),
            "traffic[0].groups = 4: expected so few that each has two hosts or more; rails are as many as leaves with hosts, at most",
        ),
        (parted(json!({"groups": 2, "hosts": [0, 1, 2, 9]})), "traffic[0].hosts = 9: expected hosts from 0 to 7"),
        (
            parted(json!({"groups": 2, "hosts": [0, 0, 1, 1], "grouping": "strided"})),
            "traffic[0].hosts = 0: expected each host once in a group",
        ),
        (
            parted(json!({"groups": 2, "hosts": []})),
            "traffic[0].hosts = []: expected \"all\", a list of hosts, or a list of such lists (groups)",
        ),
        (ring(json!([3])), "traffic[0].hosts = [3]: expected at least two hosts in each group"),
        (ring(json!([0, 8])), "traffic[0].hosts = 8: expected hosts from 0 to 7"),
        (ring(json!([0, 1, 0])), "traffic[0].hosts = 0: expected each host once in a group"),
        (ring(json!([0, -1])), "traffic[0].hosts[1] = -1: expected a host, a whole number from 0"),
        (ring(json!([[0, 1], [2, "b"]])), "traffic[0].hosts[1][1] = \"b\": expected a host, a whole number from 0"),
        (ring(json!([[0, 1], 2])), "traffic[0].hosts[1] = 2: expected a list of hosts"),
        (
            traffic(json!({"kind": "all_reduce", "size_bytes": 7})),
            "traffic[0].size_bytes = 7: expected 8 or more, a byte for each of 8 chunks",
        ),
        (
            traffic(json!({"kind": "all_reduce", "size_bytes": 8, "rounds": 1000000})),
            "traffic[0].rounds = 1000000: expected 1 or more, at most 100000000 flows in total; a round makes 112",
        ),
        (all(json!({})), "traffic[0].size_bytes is missing: expected a number of bytes, or pair_bytes"),
        (
            all(json!({"size_bytes": 9, "pair_bytes": 9})),
            "traffic[0].pair_bytes = 9: expected either size_bytes or pair_bytes, not both",
        ),
        (all(json!({"size_bytes": 6})), "traffic[0].size_bytes = 6: expected 7 or more, a byte for each of 7 blocks"),
        (
            all(json!({"pair_bytes": 0})),
            "traffic[0].pair_bytes = 0: expected a whole number from 1 to 9007199254740991",
        ),
        (rpc(json!({"fan_in": 8})), "traffic[0].fan_in = 8: expected from 1 to 7, the hosts other than the receiver"),
        (rpc(json!({"receiver": 8})), "traffic[0].receiver = 8: expected a host from 0 to 7"),
        (rpc(json!({"arrivals": "bursty"})), "traffic[0].arrivals = \"bursty\": expected \"periodic\" or \"poisson\""),
        (
            rpc(json!({"requests": 20000000, "request_bytes": 9})),
            "traffic[0].requests = 20000000: expected 1 or more, at most 100000000 flows in total; a request makes 6",
        ),
    ]);
    let one = &json!({"src": 0, "dst": 1, "size_bytes": 9});
    let again = |keys: Value| {
        let mut entry = json!({"kind": "flows", "list": [one]});
        entry.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        traffic(entry)
    };
    check(vec![
        (again(json!({"rounds": 0})), "traffic[0].rounds = 0: expected a whole number from 1 to 100000000"),
        (
            again(json!({"gap_us": -1})),
            "traffic[0].gap_us = -1: expected a number of microseconds from 0 to 9000000000",
        ),
        (
            again(json!({"rounds": 60_000_000, "list": [one, one]})),
            "traffic[0].rounds = 60000000: expected from 1 to 50000000, for this number of flows",
        ),
    ]);
    let mut one_host = ring(json!("all"));
    one_host["topology"] = json!({"leaves": 1, "hosts_per_leaf": 1});
    assert_eq!(message(one_host), "traffic[0].hosts = [0]: expected at least two hosts in each group");
}
