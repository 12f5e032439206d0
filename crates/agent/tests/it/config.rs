//! The configuration of an agent is read strictly, and refused with a message.

use spinewise_agent::config::Config;
use spinewise_agent::plan::plan;

const GOOD: &str = r#"{
  "host": 0, "device": "eth0", "socket": "/tmp/x.sock",
  "hosts": [{"address": "10.0.0.1", "rack": 0}, {"address": "10.0.1.1", "rack": 1}],
  "scheme": {"name": "presto", "params": {"flowcell_packets": 10}},
  "told": {"link_mbps": 200, "path_mbps": 200, "base_rtt_us": 500, "base_one_way_us": 250, "mss": 1448, "mtu": 1500}
}"#;

fn refused(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from));
    let changed = GOOD.replace(from, to);
    match Config::parse(&changed) {
        Err(words) => words,
        Ok(config) => plan(&config.scheme).expect_err("refused"),
    }
}

#[test]
fn a_good_one_is_read() {
    let config = Config::parse(GOOD).expect("good");
    let plan = plan(&config.scheme).expect("presto runs at hosts");
    assert_eq!((config.port, plan.moves, plan.chosen.name()), (28_771, "flowcell", "presto"));
}

#[test]
fn what_is_wrong_is_named_with_what_is_allowed() {
    for (from, to, words) in [
        (r#""host": 0"#, r#""host": 7"#, "host = 7: must be 0 to 1"),
        (r#""host": 0"#, r#""hots": 0"#, "unknown field `hots`"),
        ("10.0.1.1", "10.0.0.1", "already used by hosts[0]"),
        ("10.0.1.1", "10.0.0.300", "invalid IPv4 address"),
        (r#""mtu": 1500"#, r#""mtu": 10"#, "told.mtu = 10: must be 1448 to"),
        (
            r#""host": 0,"#,
            r#""host": 0, "discovery": {"rediscover_ms": 18446744073709551615},"#,
            "discovery.rediscover_ms = 18446744073709552000: must be 100 to",
        ),
        (r#""host": 0,"#, r#""host": 0, "step_us": 100000, "lease_ms": 900,"#, "lease_ms = 900: must be 1000 to"),
        (r#""base_one_way_us": 250"#, r#""base_one_way_us": 600"#, "told.base_one_way_us = 600: must be 0.5 to 500"),
        (
            r#"[{"address": "10.0.0.1", "rack": 0}, {"address": "10.0.1.1", "rack": 1}]"#,
            "[]",
            "hosts = []: must be 2 to 1024",
        ),
        (r#""mtu": 1500"#, r#""mtu": -1"#, "told.mtu: invalid value: integer `-1`, expected a whole number, 0 to"),
        (r#""rack": 1"#, r#""rack": "r1""#, r#"hosts[1].rack: invalid type: string "r1", expected a whole number"#),
        (
            r#""host": 0,"#,
            r#""host": 0, "port": 70000,"#,
            "port: invalid value: integer `70000`, expected a whole number",
        ),
        (
            r#""host": 0,"#,
            r#""host": 0, "port": [],"#,
            "port: invalid type: sequence, expected a whole number, 0 to 65535",
        ),
        (r#""host": 0,"#, r#""host": 0, "health": {"enabled": 1},"#, "health.enabled: invalid type: integer `1`"),
        (
            r#""link_mbps": 200"#,
            r#""link_mbps": "200""#,
            "told.link_mbps: invalid type: string \"200\", expected a number",
        ),
        ("eth0", "a-device-with-a-long-name", "device ="),
        ("flowcell_packets\": 10", "flowcell_packets\": 0", "flowcell_packets = 0: must be a whole number from 1 to"),
        ("flowcell_packets", "cells", "presto has flowcell_packets"),
        ("flowcell_packets\": 10", "order\": \"strided\"", "only \"ascending\""),
        (r#""presto", "params": {"flowcell_packets": 10}"#, r#""conga""#, "agents run ecmp"),
        ("presto", "prestissimo", "must be one of ecmp"),
    ] {
        let said = refused(from, to);
        assert!(said.contains(words), "{said}");
    }
}
