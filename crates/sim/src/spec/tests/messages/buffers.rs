//! Shared buffers: what does not fit in them, and what flow control needs.

use super::*;

/// Four hosts around a switch, 100 Gbps and 1 us each.
fn star(switch: Value, change: Value) -> Value {
    let mut table = json!({"model": "shared_buffer"});
    table.as_object_mut().unwrap().extend(switch.as_object().unwrap().clone());
    let links: Vec<Value> = (0..4).map(|host| json!([host, 4, 100, 1000])).collect();
    let mut spec = json!({
        "preset": "selb", "topology": {"kind": "links", "hosts": 4, "switches": 1, "links": links}, "switch": table,
        "traffic": [{"kind": "incast", "receiver": 0, "senders": 3, "size_bytes": 1000}],
    });
    spec.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    spec
}

fn switch(switch: Value) -> Value {
    star(switch, json!({}))
}

/// Adds a ramp that fits small buffers.
fn small(mut keys: Value) -> Value {
    keys["ecn_min_bytes"] = json!(1000);
    keys["ecn_max_bytes"] = json!(2000);
    switch(keys)
}

#[test]
fn a_buffer_smaller_than_its_headroom() {
    // 3 packets of 1048, a frame of 43 and 25 000 on the way, for each of 4 ports; and 8 packets of each.
    check(vec![
        (
            small(json!({"buffer_bytes": 100_000})),
            "switch.buffer_bytes = 100000: expected 147336 or more: the 4 ports of switch4 need 112752 bytes of \
             headroom (headroom_bytes, per port and priority) and 33536 of guarantees (reserved_packets, \
             guaranteed_bytes), plus room for one packet of 1048",
        ),
        (
            small(json!({"buffer_bytes": 147_335})),
            "switch.buffer_bytes = 147335: expected 147336 or more: the 4 ports of switch4 need 112752 bytes of \
             headroom (headroom_bytes, per port and priority) and 33536 of guarantees (reserved_packets, \
             guaranteed_bytes), plus room for one packet of 1048",
        ),
        (
            small(json!({"buffer_bytes": 147_336, "priorities": 2})),
            "switch.buffer_bytes = 147336: expected 260432 or more: the 4 ports of switch4 need 225848 bytes of \
             headroom (headroom_bytes, per port and priority) and 33536 of guarantees (reserved_packets, \
             guaranteed_bytes), plus room for one packet of 1048",
        ),
        (
            switch(json!({"headroom_bytes": 3_000_000})),
            "switch.buffer_bytes = 9437184: expected 12034584 or more: the 4 ports of switch4 need 12000000 bytes of \
             headroom (headroom_bytes, per port and priority) and 33536 of guarantees (reserved_packets, \
             guaranteed_bytes), plus room for one packet of 1048",
        ),
        (
            switch(json!({"guaranteed_bytes": 3_000_000})),
            "switch.buffer_bytes = 9437184: expected 12113800 or more: the 4 ports of switch4 need 112752 bytes of \
             headroom (headroom_bytes, per port and priority) and 12000000 of guarantees (reserved_packets, \
             guaranteed_bytes), plus room for one packet of 1048",
        ),
        (
            star(
                json!({"buffer_bytes": 100_000, "pfc": false, "reserved_packets": 30, "ecn_min_bytes": 0, "ecn_max_bytes": 1}),
                json!({"transport": {"kind": "rdma", "recovery": "irn"}}),
            ),
            "switch.buffer_bytes = 100000: expected 126808 or more: the 4 ports of switch4 need 0 bytes of headroom \
             (headroom_bytes, per port and priority) and 125760 of guarantees (reserved_packets, guaranteed_bytes), \
             plus room for one packet of 1048",
        ),
    ]);
    // The largest packet counts: a UDP source may send larger ones than the transport.
    let udp = json!([{"kind": "udp", "src": 0, "dst": 1, "packet_bytes": 9000, "schedule": [{"rate_gbps": 1}]}]);
    let said = message(star(json!({"buffer_bytes": 150_000, "ecn_max_bytes": 100_000}), json!({"traffic": udp})));
    assert!(
        said.contains("need 208176 bytes of headroom") && said.ends_with("plus room for one packet of 9000"),
        "{said}"
    );
    assert!(resolve(&small(json!({"buffer_bytes": 147_336}))).is_ok());
}

#[test]
fn flow_control_and_its_headroom() {
    check(vec![
        (
            switch(json!({"headroom_bytes": 0})),
            "switch.headroom_bytes = 0: expected some headroom with pfc, or leave it out for what each link needs",
        ),
        (
            star(
                json!({"pfc": false, "headroom_bytes": 30_000}),
                json!({"transport": {"kind": "rdma", "recovery": "irn"}}),
            ),
            "switch.headroom_bytes = 30000: expected no headroom without pfc: nothing pauses; switch.pfc = true pauses under \
             any loss recovery; by default IRN does without",
        ),
        (
            switch(json!({"headroom_bytes": 9 << 20})),
            "switch.headroom_bytes = 9437184: expected less than the buffer of the switch, buffer_bytes = 9437184",
        ),
        (
            switch(json!({"pause_us": 0.05})),
            "switch.pause_us = 0.05: expected more than 0.087281 us, or 0 (until the sender is told to resume): the \
             frame that renews a pause may wait that long behind a packet of 1048 bytes at switch4",
        ),
        (
            star(
                json!({"priorities": 2}),
                json!({"traffic": [{"kind": "incast", "receiver": 0, "senders": 3, "size_bytes": 1, "priority": 2}]}),
            ),
            "traffic[0].priority = 2: expected a priority below switch.priorities = 2",
        ),
    ]);
}

#[test]
fn what_is_said_of_single_priorities() {
    let two = |key: &str, value: Value| {
        let mut keys = json!({"priorities": 2});
        keys[key] = value;
        switch(keys)
    };
    let own =
        |priority: u64, bytes: [u64; 2]| json!({"priority": priority, "min_bytes": bytes[0], "max_bytes": bytes[1]});
    check(vec![
        (
            two("lossy_priorities", json!([1, 2])),
            "switch.lossy_priorities[1] = 2: expected a data priority from 0 to 1 (switch.priorities), each once",
        ),
        (
            two("lossy_priorities", json!([1, 1])),
            "switch.lossy_priorities[1] = 1: expected a data priority from 0 to 1 (switch.priorities), each once",
        ),
        (
            two("lossy_priorities", json!([0, 1])),
            "switch.lossy_priorities = [0,1]: expected at least one priority less than there are; switch.pfc = false \
             makes all of them lossy",
        ),
        (
            switch(json!({"pfc": false, "lossy_priorities": [0]})),
            "switch.lossy_priorities = [0]: expected no such list without pfc: no priority is lossless",
        ),
        (two("ecn", json!([7])), "switch.ecn[0] = 7: expected a table with priority, min_bytes and max_bytes"),
        (
            two("ecn", json!([{"priority": 1, "min_bytes": 5}])),
            "switch.ecn[0].max_bytes is missing: expected a whole number from 0 to 9007199254740991",
        ),
        (
            two("ecn", json!([own(2, [5, 5])])),
            "switch.ecn[0].priority = 2: expected a data priority from 0 to 1 (switch.priorities), each once",
        ),
        (
            two("ecn", json!([own(1, [5, 5]), own(1, [6, 6])])),
            "switch.ecn[1].priority = 1: expected a data priority from 0 to 1 (switch.priorities), each once",
        ),
        (two("ecn", json!([own(1, [5, 4])])), "switch.ecn[0].max_bytes = 4: expected min_bytes = 5 or more"),
        (
            two("ecn", json!([own(0, [5, 9_437_184])])),
            "switch.ecn[0].max_bytes = 9437184: expected less than the buffer of the switch, buffer_bytes = 9437184",
        ),
    ]);
}

#[test]
fn thresholds_above_the_buffer() {
    check(vec![
        (
            switch(json!({"ecn_max_bytes": 10_000_000})),
            "switch.ecn_max_bytes = 10000000: expected less than the buffer of the switch, buffer_bytes = 9437184",
        ),
        (
            switch(json!({"ecn_min_bytes": 500_000})),
            "switch.ecn_min_bytes = 500000: expected at most ecn_max_bytes = 400000",
        ),
        (
            switch(json!({"ecn_min_bytes": 500_000, "ecn_max_bytes": 200_000})),
            "switch.ecn_max_bytes = 200000: expected ecn_min_bytes or more",
        ),
        (switch(json!({"ecn_max_bytes": 90_000})), "switch.ecn_max_bytes = 90000: expected ecn_min_bytes or more"),
        // The preset's value is not to blame.
        (
            switch(json!({"buffer_bytes": 100_000})),
            "switch.buffer_bytes = 100000: expected more than ecn_max_bytes = 400000",
        ),
        (
            switch(json!({"guaranteed_bytes": 10_000_000})),
            "switch.guaranteed_bytes = 10000000: expected less than the buffer of the switch, buffer_bytes = 9437184",
        ),
        (
            switch(json!({"pause_offset_bytes": 9_437_184})),
            "switch.pause_offset_bytes = 9437184: expected less than the buffer of the switch, buffer_bytes = 9437184",
        ),
        (switch(json!({"ingress_alpha": 0})), "switch.ingress_alpha = 0: expected a number above 0, at most 1024"),
        (
            switch(json!({"egress_threshold": "never"})),
            "switch.egress_threshold = \"never\": expected \"without_pfc\" or \"always\"",
        ),
    ]);
}

#[test]
fn both_or_neither_of_flow_control_and_irn() {
    let of = |preset: &str, pfc: Value, recovery: &str| {
        let mut spec = switch(json!({"pfc": pfc}));
        spec["preset"] = json!(preset);
        spec["transport"] = json!({"kind": "rdma", "recovery": recovery});
        spec
    };
    check(vec![
        (
            of("selb", json!(true), "irn"),
            "switch.pfc = true: expected true with transport.recovery = \"go_back_n\", or false with \"irn\"; preset \
             selb has either flow control or IRN; preset datacenter allows any combination",
        ),
        (
            of("selb", json!(false), "go_back_n"),
            "switch.pfc = false: expected true with transport.recovery = \"go_back_n\", or false with \"irn\"; preset \
             selb has either flow control or IRN; preset datacenter allows any combination",
        ),
        // Its headroom is the preset's, not the user's.
        (
            of("conweave-ns3", json!(false), "go_back_n"),
            "switch.pfc = false: expected true with transport.recovery = \"go_back_n\", or false with \"irn\"; preset \
             conweave-ns3 has either flow control or IRN; preset datacenter allows any combination",
        ),
    ]);
    for (preset, pfc, recovery) in
        [("conweave-ns3", json!(false), "irn"), ("selb", Value::Null, "irn"), ("datacenter", json!(true), "irn")]
    {
        assert!(resolve(&of(preset, pfc, recovery)).is_ok(), "{preset}");
    }
}
