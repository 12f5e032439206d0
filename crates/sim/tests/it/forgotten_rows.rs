//! A host scheme's records of flows are dropped with them.

use serde_json::{Value, json};
use spinewise_sim::engine::Sim;
use spinewise_sim::setup::{Setup, Tuning};
use spinewise_sim::spec::resolve;
use spinewise_sim::warden::Progress;

/// Rows of flows at all hosts after 5 ms of this traffic between two racks.
fn rows_left(scheme: &str, traffic: &Value) -> usize {
    let spec = resolve(&json!({
        "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 2},
        "scheme": {"name": scheme}, "traffic": traffic, "run": {"stop": "time", "until_us": 5_000},
    }))
    .expect("a good spec");
    let setup = Setup::new(&spec, Tuning::default()).expect("a good spec");
    let mut sim = Sim::new(&setup.net, setup.start);
    let stop = sim.run(&spec, Tuning::default(), &mut |_: Progress| true).expect("nobody stops it");
    assert_eq!(stop.0, 5_000_000_000);
    sim.world.edge.expect("a scheme at the hosts").flow_rows()
}

/// 1 Gbps from host 0 to host 2, and what bounds it.
fn udp(bound: &str, value: u64, at_us: u64) -> Value {
    json!([{"kind": "udp", "src": 0, "dst": 2, "schedule": [{"at_us": at_us, "rate_gbps": 1}], bound: value}])
}

#[test]
fn rows_of_finished_flows_are_forgotten() {
    for scheme in ["meet", "hermes", "pdlb", "clove", "flowbender"] {
        let tcp = json!([{"kind": "flows", "list": [{"src": 0, "dst": 2, "size_bytes": 50_000}]}]);
        assert_eq!(rows_left(scheme, &tcp), 0, "{scheme}, TCP");
        assert_eq!(rows_left(scheme, &udp("size_bytes", 15_000, 0)), 0, "{scheme}, UDP with a size");
        // Without a size the receiving end cannot know which packet is the last.
        assert!(rows_left(scheme, &udp("end_us", 100, 0)) <= 1, "{scheme}, UDP with an end");
        assert_eq!(rows_left(scheme, &udp("end_us", 100, 200)), 0, "{scheme}, UDP that ends before it begins");
        assert!(rows_left(scheme, &udp("end_us", 6_000, 0)) > 0, "{scheme}, UDP that goes on");
    }
}
