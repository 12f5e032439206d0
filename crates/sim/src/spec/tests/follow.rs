//! `[follow]`: the rules of a program that is followed.

use serde_json::{Value, json};

use super::{resolved, udp};
use crate::packet::Clock;
use crate::spec::follow::FollowKeys;
use crate::spec::presets::FOLLOWED;
use crate::spec::{Rules, SharedBufferSpec, Spec, SwitchSpec, resolve};
use crate::transport::TransportSpec;
use crate::transport::rdma::RdmaConfig;

/// A spec of a run that follows the program, with these rules.
fn following(rules: Value) -> Value {
    json!({
        "preset": "conweave-ns3",
        "topology": {"tx_time_rounding": "floor_1ns"},
        "run": {"follow": "conweave-ns3"},
        "follow": rules,
        "traffic": udp(),
    })
}

/// A spec that gives every rule.
pub(super) fn everything() -> Value {
    following(FollowKeys::KEYS.iter().map(|key| (key.name.to_string(), Value::from(false))).collect())
}

fn parts(spec: &Spec) -> (&RdmaConfig, &SharedBufferSpec) {
    match (&spec.transport, &spec.switch) {
        (TransportSpec::Rdma(rdma), SwitchSpec::SharedBuffer(buffer)) => (rdma, buffer),
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_rule_is_on_unless_it_is_turned_off() {
    let all = resolved(following(json!({})));
    let told = all.resolved["follow"].as_object().unwrap();
    assert_eq!(told.len(), FollowKeys::KEYS.len());
    assert!(told.values().all(|value| value == true));
    for key in FollowKeys::KEYS {
        let rules = |scheme: &str, value: bool| {
            let mut spec = following(json!({key.name: value}));
            spec["scheme"] = json!({"name": scheme});
            resolved(spec).rules
        };
        let differ = FOLLOWED.iter().any(|scheme| rules(scheme.name, true) != rules(scheme.name, false));
        assert!(differ, "{} does nothing", key.name);
        let one = resolved(following(json!({key.name: false})));
        assert_eq!(one.resolved["follow"][key.name], false);
    }
}

#[test]
fn rules_reach_their_owners_one_by_one() {
    let all = resolved(following(json!({})));
    let (rdma, buffer) = parts(&all);
    assert!(rdma.window_from_newest && rdma.recover_kept_on_timeout && rdma.control.dcqcn.cnp_before_slot);
    assert!(rdma.steps_at_looks && rdma.control.dcqcn.halves_cut && all.rules.habits.silent_arrivals);
    assert!(buffer.pauses_queue && buffer.resume_on_arrival && buffer.resume_below_fraction);
    assert!(buffer.headroom_of_port_0 && buffer.holds_outside);
    assert_eq!(rdma.clock, Clock::Ns3);
    let one = resolved(following(json!({"double_clock": false, "resume_on_arrival": false})));
    let (rdma, buffer) = parts(&one);
    assert_eq!(rdma.clock, Clock::Floor1Ns);
    assert!(!buffer.resume_on_arrival && buffer.resume_below_fraction && rdma.window_from_newest);
}

#[test]
fn what_rules_mean_for_schemes_is_said_of_rules() {
    for scheme in FOLLOWED {
        let rules = scheme.params.iter().map(|(rule, _)| rule).chain(scheme.draws.as_ref().map(|(rule, _)| rule));
        for rule in rules {
            assert!(FollowKeys::KEYS.iter().any(|key| key.name == *rule), "{}: {rule}", scheme.name);
        }
    }
}

#[test]
fn nothing_is_followed_unasked() {
    let mut spec = following(json!({}));
    spec["run"]["follow"] = "nothing".into();
    spec["follow"] = Value::Null;
    let plain = resolved(spec);
    assert_eq!(plain.rules, Rules::default());
    assert!(plain.resolved.get("follow").is_none());
    let (rdma, buffer) = parts(&plain);
    assert_eq!(rdma, &RdmaConfig::in_whole_ns(rdma.recovery));
    assert!(!buffer.holds_outside && !buffer.headroom_of_port_0);
}

#[test]
fn what_is_no_rule_is_refused() {
    let refused = |rules: Value, follow: &str| {
        let mut spec = following(rules);
        spec["run"]["follow"] = follow.into();
        resolve(&spec).unwrap_err().to_string()
    };
    let said = refused(json!({"resume_on_arival": false}), "conweave-ns3");
    assert!(
        said.starts_with("follow.resume_on_arival") && said.contains("did you mean \"resume_on_arrival\"?"),
        "{said}"
    );
    assert_eq!(
        refused(json!({"double_clock": "off"}), "conweave-ns3"),
        "follow.double_clock = \"off\": expected true or false"
    );
    assert_eq!(
        refused(json!({"double_clock": false}), "nothing"),
        "follow.double_clock = false: expected no [follow] without run.follow = \"conweave-ns3\", the program that \
         these rules describe"
    );
}
